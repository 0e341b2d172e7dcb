"""Serving: from a latency target to a batch size, a number of servers and a price.

>>> server = Server("llama-3.1-8b", "H100-SXM")
>>> best = best_batch(server, context=2000, tpot=0.025)
>>> best.batch, best.limit, round(best.throughput)
(233, 'memory', 9887)
>>> requests = poisson(10, 1000, prompt=1000, answer=uniform(100, 300))
>>> run = simulate(requests, server)
>>> run.written == int(requests.answer.sum()), round(run.throughput, -2)
(True, 2000.0)
"""

from costlib.serving.clock import *
from costlib.serving.contexts import *
from costlib.serving.disaggregation import *
from costlib.serving.fleet import *
from costlib.serving.frontier import *
from costlib.serving.load import *
from costlib.serving.low_precision import *
from costlib.serving.mixtures import *
from costlib.serving.money import *
from costlib.serving.offloading import *
from costlib.serving.pages import *
from costlib.serving.prefix_cache import *
from costlib.serving.requests import *
from costlib.serving.rollouts import *
from costlib.serving.run import *
from costlib.serving.server import *
from costlib.serving.sessions import *
from costlib.serving.simulator import *
from costlib.serving.speculation import *
from costlib.serving.tensor_limit import *
from costlib.serving.tiers import *
from costlib.units.display import show as _show

_show(__name__)
