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

from costlib.serving.clock import Clock
from costlib.serving.contexts import Lines, crossings, even_context, mixing_flops, read_lines
from costlib.serving.disaggregation import disaggregate, machine_ratio, transfer
from costlib.serving.fleet import Fleet, fewest_devices, fleets
from costlib.serving.frontier import (
    Best,
    Frontier,
    Regimes,
    RoomGain,
    best_batch,
    frontier,
    regimes,
    room_gain,
)
from costlib.serving.load import Overloaded, Saturation, chunk_extra_reads, saturation
from costlib.serving.low_precision import ridge_batch, weight_gain
from costlib.serving.mixtures import expert_exchange, experts_share, tokens_per_expert
from costlib.serving.money import RENTALS, Bill, Rental, bill, per_million
from costlib.serving.offloading import least_offloaded, offloaded_step, offloaded_work
from costlib.serving.pages import Pages, empty_slots, mean_empty, prefix_saving
from costlib.serving.prefix_cache import (
    POLICIES,
    ROUTINGS,
    Call,
    PrefixCache,
    Reuse,
    agent_calls,
    reuse,
)
from costlib.serving.requests import Requests, listed, lognormal, poisson, uniform
from costlib.serving.rollouts import PolicyStep, full_rate, policy_step, rollout
from costlib.serving.run import ServingRun
from costlib.serving.server import Server
from costlib.serving.sessions import Session, SessionCost, session_cost
from costlib.serving.simulator import Policy, simulate
from costlib.serving.speculation import (
    best_drafts,
    best_length,
    expected_tokens,
    lambert_w,
    pays_up_to,
    speculate,
    speed_up,
)
from costlib.serving.tensor_limit import TensorLimit, tensor_limit
from costlib.serving.tiers import HeldPrefix, even_link, even_prefix, held_prefix

__all__ = [
    "least_offloaded",
    "offloaded_step",
    "offloaded_work",
    "POLICIES",
    "ROUTINGS",
    "Call",
    "PrefixCache",
    "Reuse",
    "agent_calls",
    "reuse",
    "PolicyStep",
    "full_rate",
    "policy_step",
    "rollout",
    "Session",
    "SessionCost",
    "session_cost",
    "HeldPrefix",
    "even_link",
    "even_prefix",
    "held_prefix",
    "RENTALS",
    "Best",
    "Bill",
    "Clock",
    "Fleet",
    "Frontier",
    "Lines",
    "Overloaded",
    "Pages",
    "Policy",
    "Regimes",
    "Rental",
    "RoomGain",
    "Requests",
    "ServingRun",
    "Saturation",
    "Server",
    "TensorLimit",
    "best_batch",
    "best_drafts",
    "best_length",
    "bill",
    "chunk_extra_reads",
    "crossings",
    "disaggregate",
    "empty_slots",
    "even_context",
    "expected_tokens",
    "expert_exchange",
    "experts_share",
    "fewest_devices",
    "fleets",
    "frontier",
    "lambert_w",
    "listed",
    "lognormal",
    "machine_ratio",
    "mean_empty",
    "mixing_flops",
    "pays_up_to",
    "per_million",
    "poisson",
    "prefix_saving",
    "read_lines",
    "regimes",
    "room_gain",
    "ridge_batch",
    "saturation",
    "simulate",
    "speculate",
    "speed_up",
    "tokens_per_expert",
    "tensor_limit",
    "transfer",
    "uniform",
    "weight_gain",
]
