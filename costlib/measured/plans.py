"""Plans against published training runs: seconds of a step, predicted at three levels.

Ideal: the plan's own time, computing at the peaks of the datasheet, every message seen.
Known: what is true of most machines, as the numbers of `KNOWN`: how much slower attention is than
other products, how much of each axis' messages shows, what a pass through a layer costs beside its
arithmetic. Fitted: two constants of a table, told by two of its rows. ``compute`` is the share of
the peak that arithmetic reaches; ``rest`` stretches everything else (moving data, sending, calling
kernels). A table's other rows are then predictions.

The seconds of a step are

    m·(C/compute + rest·O)·(1 + bubble) + rest·(data + optimizer)

with C the arithmetic of a microbatch on the slowest stage, and O what else it does. Between two
rows the fit has a choice; it takes what is nearest to the usual (compute 0.62, rest 1.1).

Left out: experts that get more than their share, sizes that no tile divides, whatever a release of
a framework does better than the one before.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from costlib.layers import Mixture
from costlib.measured.plan_rows import PlanRow, plan_rows
from costlib.parallel import Cluster, Plan
from costlib.training import RECIPES, Recipe, flops_per_token

__all__ = [
    "KNOWN",
    "USUAL",
    "PlanConstants",
    "PlanErrors",
    "fit_plans",
    "ideal_seconds",
    "peak_seconds",
    "plan_errors",
    "plan_of",
    "plan_seconds",
    "shares",
    "terms",
]

#: What is true of most machines. Chosen once on all given tables together, and rounded. Chosen
#: without one publisher's tables (compute, rest, mixture and experts, of a coarse grid), they miss
#: that publisher's by 8 to 13 per cent in the median.
KNOWN: Mapping[str, float] = {
    "attention": 2.0,  # fused attention takes this much longer than other products
    "attention in parts": 1.5,  # the same, in kernels of their own, before fusing was usual
    "unaligned": 8.0,  # the same, with heads of a width that 8 does not divide: no matrix units
    "logits": 1.5,  # with the loss, which reads and writes them again
    "fp4": 1.2,  # products below 8 bits need scales and rounding beside them
    "narrow": 0.125,  # products slow down with 1024 over their width
    "mixture": 1.8,  # products of experts are many and small, and tokens are sorted for them
    "hot": 1.2,  # B200 and GB200 cannot hold their peak clocks
    "casting": 0.75,  # what writing narrow copies adds to element-wise work
    "tensor": 0.4,  # of the messages, how much shows
    "expert": 0.3,
    "expert.network": 1.0,  # of a token's copies for one node, one is sent
    "data": 0.5,
    "hidden": 0.4,  # gathered weights (FSDP) hide behind so much of a step
    "gathered": 1.2,  # and take so much longer than a link's rate says
    "layer": 2e-4,  # seconds a pass through a layer that are spent on calling its kernels
    "experts": 5e-4,  # the same for a layer with experts
    "even": 0.6,  # how far frameworks even out stages that the ends make longer
    "host": 1 / 25e9,  # seconds a byte, of state kept in the host's memory
}


@dataclass(frozen=True, slots=True)
class PlanConstants:
    """What two rows tell of a table: see the top of this module.

    Products reach 0.62 of a datasheet's peak, because clocks fall under load and tiles do not
    divide sizes. Other work takes a tenth longer than its rates say.

    >>> USUAL
    PlanConstants(compute=0.62, rest=1.1)
    """

    compute: float = 0.62
    rest: float = 1.1


#: The constants before anything was fitted.
USUAL = PlanConstants()

_FORMATS: Mapping[str, Recipe] = {
    "bf16": RECIPES["bf16-fp32-grads"],
    "fp16": RECIPES["fp16-megatron"],
    "fp8": RECIPES["fp8-te"],
    "fp4": replace(RECIPES["fp8-te"], compute="fp4"),
}
#: Before 2023 attention was several kernels, which computed masked pairs too.
_IN_PARTS = ("megatron SC21", "bigscience", "bloom", "korthikanti", "mt-nlg", "opt-", "gpt-neox")
#: Of three products with a matrix two are left when it is frozen.
_FROZEN = 2 / 3
_SEEN = dict.fromkeys(("tensor", "sequence", "context", "expert", "pipeline", "data"), 0.0)


def plan_of(row: PlanRow) -> Any:
    """A row's plan on its cluster, every message seen: `costlib.parallel.Plan.on`'s answer.

    >>> found = plan_of(plan_rows("megatron SC21 table 1")[-1])
    >>> found.plan.tensor, found.plan.pipeline, found.cluster.nodes, found.binds
    (8, 64, 384, 'products')
    """
    return _planned(row)


@cache
def _planned(row: PlanRow) -> Any:
    in_parts = row.table.startswith(_IN_PARTS)
    divides = row.tensor > 1 and row.seq % (row.tensor * row.context) == 0
    plan = Plan(
        tensor=row.tensor,
        pipeline=row.pipeline,
        chunks=row.chunks,
        context=row.context,
        expert=row.expert,
        data=row.data,
        zero=row.zero,
        shard=row.shard,
        microbatch=row.microbatch,
        recompute=row.recompute,
        recipe=_FORMATS[row.precision],
        sequence=divides and not (in_parts and row.recompute != "selective"),
        whole_experts=True,
    )
    return plan.on(
        row.model,
        _cluster(row),
        batch=row.batch,
        seq=row.seq,
        strict=False,
        hides=_SEEN,
        scores="materialised" if in_parts else "on-chip",
        masked="computed" if in_parts else "skipped",
    )


def _cluster(row: PlanRow) -> Cluster:
    """As many nodes as it takes; of a rack of 72 jobs use 64 devices, of a pod what they need."""
    each = row.node.devices
    if 8 < each < 1024:
        each = 64 if row.devices % 64 == 0 else each
    each = min(each, row.devices)
    return Cluster(row.node, nodes=-(-row.devices // each), per_node=each)


def ideal_seconds(row: PlanRow) -> float:
    """Seconds of a step by the datasheet alone, every message seen.

    >>> row = plan_rows("korthikanti table 5")[-1]
    >>> round(ideal_seconds(row)), round(row.seconds)
    (54, 71)
    """
    return float(plan_of(row).step)


# ------------------------------------------------------------------------------------- terms


@dataclass(frozen=True, slots=True)
class Terms:
    """Ideal seconds of one step, sorted by what the constants act on."""

    computing: float  #: divided by ``compute``
    moving: float  #: stretched by ``rest``
    factor: float  #: of both, for the bubble and uneven stages
    data: float  #: of weights and gradients, stretched by ``rest``
    hides: float  #: how much of a step the data's messages hide behind
    after: float  #: the optimizer, stretched by ``rest``
    fixed: float  #: state in the host's memory


def terms(row: PlanRow) -> Terms:
    """What the two constants act on, in seconds: the plan's parts, with what is `KNOWN`.

    >>> row = plan_rows("megatron SC21 table 1")[-1]
    >>> found = terms(row)
    >>> found.computing > 10 * found.moving, found.factor > 1
    (True, True)
    """
    return _terms(row)


@cache
def _terms(row: PlanRow) -> Terms:
    planned, known = plan_of(row), KNOWN
    parts = {name: float(each) for name, each in planned.parts.items()}
    sent = {name: float(each) for name, each in planned.sending.items()}
    is_sharded = row.zero >= 3
    data = sent.get("data", 0.0) + sent.get("data.network", 0.0)
    if row.adapters:  # frozen weights are gathered twice, and nothing of them is summed
        data *= 2 / 3 if is_sharded else 0.0
    return Terms(
        computing=_computing(row, parts),
        moving=_moving(row, parts, sent),
        factor=_factor(row, parts),
        data=data * known["gathered" if is_sharded else "data"],
        hides=known["hidden"] if is_sharded else 0.0,
        after=0.0 if row.adapters else parts["optimizer"],
        fixed=_fixed(row),
    )


def _computing(row: PlanRow, parts: Mapping[str, float]) -> float:
    known = KNOWN
    hot = known["hot"] if row.device.name in ("B200", "GB200") else 1.0
    narrow = known["fp4"] if row.precision == "fp4" else 1.0
    width = float(row.model.d_model) / row.tensor
    trained = _FROZEN if row.adapters else 1.0
    many = known["mixture"] if _mixtures(row) else 1.0
    products = parts["products"] * trained * narrow * hot * many
    products *= 1 + known["narrow"] * 1024 / width
    products += parts["attention"] * _slower(row) + known["logits"] * parts["logits"]
    return products / row.power  # a device that is held to less power computes as much less


def _mixtures(row: PlanRow) -> list[tuple[float, Mixture]]:
    """Layers with experts: how many of each kind, and the kind."""
    return [
        (float(block.layers), part)
        for block in row.model.blocks
        for part in block.parts
        if isinstance(part, Mixture)
    ]


def _slower(row: PlanRow) -> float:
    """How much longer attention takes than other products of as many FLOPs."""
    if row.model.is_uniform and int(row.model.head_dim) % 8:
        return KNOWN["unaligned"]
    return KNOWN["attention in parts" if row.table.startswith(_IN_PARTS) else "attention"]


def _moving(row: PlanRow, parts: Mapping[str, float], sent: Mapping[str, float]) -> float:
    known = KNOWN
    casting = 1 + known["casting"] * (row.precision in ("fp8", "fp4"))
    found = _mixtures(row)
    messages = known["tensor"] * parts["tensor"] + known["expert"] * sent.get("expert", 0.0)
    if found:
        once = _once_a_node(row, float(found[0][1].per_token))
        messages += known["expert.network"] * once * sent.get("expert.network", 0.0)
    passes = row.microbatches / row.pipeline * (4 if row.recompute == "full" else 3)
    calls = known["layer"] * float(row.model.layers)
    calls += known["experts"] * sum(count for count, _ in found)
    return casting * parts["elementwise"] + messages + passes * calls


def _once_a_node(row: PlanRow, copies: float) -> float:
    """Nodes that a token's experts lie in, for each of its copies: inside one they share a copy."""
    reached = max(1.0, row.expert / min(row.node.devices, 64))
    return float(reached * (1 - (1 - 1 / reached) ** copies) / copies) if reached > 1 else 1.0


def _factor(row: PlanRow, parts: Mapping[str, float]) -> float:
    """One and the bubble, times how much shorter the slowest stage is made by evening out."""
    own = sum(parts[name] for name in _OF_STAGES)
    slowest = own / row.microbatches
    mean = (parts["bubble"] * row.chunks + slowest) / row.pipeline
    even = KNOWN["even"]
    alike = (row.pipeline - 1) / (row.chunks * row.microbatches)
    bubble = (1 - even) * parts["bubble"] / own + even * alike
    return float((mean / slowest) ** even * (1 + bubble))


_OF_STAGES = ("products", "attention", "logits", "elementwise", *_SEEN)[:-1]


def _fixed(row: PlanRow) -> float:
    """State that stays with the host is read and written there, 30 bytes a parameter, twice."""
    if not row.offload:
        return 0.0
    return 60 * float(row.model.params()) / row.data * KNOWN["host"]


# --------------------------------------------------------------------------------- constants


def plan_seconds(row: PlanRow, constants: PlanConstants = USUAL) -> float:
    """Predicted seconds of a step.

    >>> row = plan_rows("korthikanti table 5")[-1]
    >>> abs(plan_seconds(row) / row.seconds - 1) < 0.25
    True
    """
    return float(_seconds(terms(row), constants.compute, constants.rest))


def _seconds(found: Terms, compute: Any, rest: Any) -> Any:
    run = (found.computing / compute + rest * found.moving) * found.factor
    data = np.maximum(0, rest * found.data - found.hides * run)
    return run + data + rest * found.after + found.fixed


_COMPUTE = np.exp(np.linspace(np.log(0.2), np.log(1.3), 57))[:, None]
_REST = np.exp(np.linspace(np.log(0.15), np.log(8.0), 45))[None, :]
_WEIGHT = 0.02  # of a constant's distance from the usual, against a row's error
_DOUBT = _WEIGHT * (np.log(_COMPUTE / USUAL.compute) ** 2 + np.log(_REST / USUAL.rest) ** 2)


@cache
def _misses(row: PlanRow) -> Any:
    """Logarithms of predicted over measured, on a grid of both constants."""
    return np.log(_seconds(terms(row), _COMPUTE, _REST) / row.seconds)


def fit_plans(rows: Iterable[PlanRow]) -> PlanConstants:
    """The two constants that explain these rows best, and are not far from the usual.

    >>> found = fit_plans(plan_rows("megatron SC21 table 1")[:2])
    >>> 0.4 < found.compute < 1.3
    True
    """
    rows = list(rows)
    if not rows:
        raise ValueError("rows must hold at least one row")
    cost = sum((_misses(row) ** 2 for row in rows), _DOUBT)
    first, second = np.unravel_index(np.argmin(cost), cost.shape)
    return PlanConstants(float(_COMPUTE[first, 0]), float(_REST[0, second]))


# ------------------------------------------------------------------------------- the rival


def peak_seconds(row: PlanRow) -> float:
    """Seconds of a step's model FLOPs at the peak of the row's format: all that the rival knows.

    >>> row = plan_rows("korthikanti table 5")[-1]
    >>> round(peak_seconds(row) / row.seconds, 2)  # its MFU
    0.56
    """
    rates = row.device.flops_per_s
    peak = float(rates[row.precision if row.precision in rates else row.device.sixteen_bits])
    done = float(flops_per_token(row.model, row.seq)) * row.batch * row.seq
    return done / row.devices / peak


def shares(rows: Iterable[PlanRow]) -> dict[str, float]:
    """The simplest rival: one share of the peak for each format, the median of these rows'.

    >>> {name: round(share, 1) for name, share in shares(plan_rows()).items()}
    {'fp8': 0.3, 'bf16': 0.3, 'fp16': 0.3, 'fp4': 0.2}
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row.precision, []).append(peak_seconds(row) / row.seconds)
    return {name: float(np.median(each)) for name, each in found.items()}


@cache
def _carried_shares() -> Mapping[str, float]:
    return shares(row for row in plan_rows() if _can_be_priced(row))


def _can_be_priced(row: PlanRow) -> bool:
    try:
        plan_of(row)
    except ValueError:
        return False
    return True


# ----------------------------------------------------------------------------------- errors


@dataclass(frozen=True, slots=True)
class PlanErrors:
    """How far off the rows of one table are: errors without their signs, for each level.

    ``fitted`` has every row that was not among the two that told the constants, for every pair of
    rows (or as many pairs as were asked for). ``share`` and ``share_fitted`` are the rival's, one
    share of the peak: that of the row's format in all carried tables, or told by the same pairs.
    """

    table: str
    rows: tuple[PlanRow, ...] = field(repr=False)
    ideal: tuple[float, ...] = field(repr=False)
    known: tuple[float, ...] = field(repr=False)
    fitted: tuple[float, ...] = field(repr=False)
    share: tuple[float, ...] = field(repr=False)
    share_fitted: tuple[float, ...] = field(repr=False)

    @property
    def by(self) -> str:
        """Who published it."""
        return self.rows[0].by

    def median(self, level: str = "fitted") -> float:
        """The median of a level's errors; not a number where a table is too short to be fitted."""
        found = getattr(self, level)
        return float(np.median(found)) if found else float("nan")

    def tail(self, level: str = "fitted") -> float:
        """The 90th percentile of a level's errors."""
        return float(np.quantile(getattr(self, level), 0.9))


def plan_errors(
    rows: Iterable[PlanRow] | None = None, *, pairs: int = 60, least: int = 4, seed: int = 0
) -> list[PlanErrors]:
    """The errors of every table with at least ``least`` rows; of all carried ones by default.

    Of a table with fewer than three rows nothing can be held out: its fitted levels are empty.

    >>> [table] = plan_errors(plan_rows("megatron SC21 table 1"))
    >>> table.median("fitted") < table.median("known") < table.median("ideal")
    True
    """
    tables: dict[str, list[PlanRow]] = {}
    for row in plan_rows() if rows is None else rows:
        tables.setdefault(row.table, []).append(row)
    return [
        _errors(name, found, pairs, seed) for name, found in tables.items() if len(found) >= least
    ]


def _errors(name: str, rows: Sequence[PlanRow], pairs: int, seed: int) -> PlanErrors:
    every = list(combinations(range(len(rows)), 2)) if len(rows) > 2 else []
    chosen = every if len(every) <= pairs else random.Random(seed).sample(every, pairs)
    fitted: list[float] = []
    share_fitted: list[float] = []
    for pair in chosen:
        constants = fit_plans(rows[index] for index in pair)
        told = [peak_seconds(rows[index]) / rows[index].seconds for index in pair]
        share = float(np.sqrt(told[0] * told[1]))
        held = [row for index, row in enumerate(rows) if index not in pair]
        fitted += [_error(plan_seconds(row, constants), row) for row in held]
        share_fitted += [_error(peak_seconds(row) / share, row) for row in held]
    known_shares = _carried_shares()
    usual = float(np.median([*known_shares.values()]))
    return PlanErrors(
        table=name,
        rows=tuple(rows),
        ideal=tuple(_error(ideal_seconds(row), row) for row in rows),
        known=tuple(_error(plan_seconds(row), row) for row in rows),
        fitted=tuple(fitted),
        share=tuple(
            _error(peak_seconds(row) / known_shares.get(row.precision, usual), row) for row in rows
        ),
        share_fitted=tuple(share_fitted),
    )


def _error(predicted: float, row: PlanRow) -> float:
    return abs(predicted / row.seconds - 1)
