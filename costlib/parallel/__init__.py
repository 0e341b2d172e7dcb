"""Many devices for one model: what each holds, computes and sends; collectives, counted.

>>> import numpy as np
>>> machine = Machine(4)
>>> machine.run(ALGORITHMS["ring all-reduce"].program, [np.arange(8)] * 4)[0]
array([ 0,  4,  8, 12, 16, 20, 24, 28])
>>> machine.busiest == all_reduce(8, 4)
True
"""

from costlib.parallel import hiding
from costlib.parallel.cluster import Cluster, Tiers
from costlib.parallel.collectives import (
    ALGORITHMS,
    Algorithm,
    least_rounds,
    least_sent,
    two_tier_sent,
)
from costlib.parallel.machine import Machine, TooManyMessages, together, within
from costlib.parallel.model_parallel import (
    context_parallel,
    expert_parallel,
    optimizer_memory,
    tensor_parallel,
)
from costlib.parallel.network import REACHED, Reached, collective_seconds
from costlib.parallel.pipeline import ORDERS, Task, Timeline, bubble, in_flight, order, played
from costlib.parallel.plan import Plan, Planned
from costlib.parallel.price import HIDES
from costlib.parallel.ring_attention import (
    attention_by_heads,
    ring_attention,
    ring_backward,
    zigzag,
)
from costlib.parallel.search import plan_of, search
from costlib.parallel.sharding import Layout, Way, cheapest, gradients, product, ways
from costlib.parallel.stages import Stage, dealt, stage_models, stages
from costlib.units.messages import all_reduce

__all__ = [
    "ALGORITHMS",
    "HIDES",
    "ORDERS",
    "REACHED",
    "Algorithm",
    "Cluster",
    "Layout",
    "Machine",
    "Plan",
    "Planned",
    "Reached",
    "Timeline",
    "Stage",
    "Task",
    "Tiers",
    "TooManyMessages",
    "Way",
    "all_reduce",
    "attention_by_heads",
    "bubble",
    "cheapest",
    "collective_seconds",
    "context_parallel",
    "dealt",
    "expert_parallel",
    "gradients",
    "hiding",
    "in_flight",
    "least_rounds",
    "least_sent",
    "optimizer_memory",
    "order",
    "played",
    "plan_of",
    "product",
    "ring_attention",
    "ring_backward",
    "search",
    "stage_models",
    "stages",
    "tensor_parallel",
    "together",
    "two_tier_sent",
    "ways",
    "within",
    "zigzag",
]
