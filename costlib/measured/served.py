"""Published throughputs of served models, predicted from a datasheet, then with constants fitted on
two rows of the same table, and the errors that are left.

A copy of a model that serves B requests, each of S prompt tokens and R answered ones, spends on
each of its rounds R decode steps for all and a prefill for each,

    requests/s = B / (R · step(B) + B · prefill),

B being what memory leaves room for, what the row says, or what a latency limit allows. Both times
are those of `costlib.roofline`, with whatever devices send one another. `Constants` says what is
reached of a datasheet. `DATASHEET` is the ideal; `TYPICAL` is what the carried tables have in
common, each constant rounded to a digit; and `fit_served` tells from two rows of a table how its
own differ, each held near the typical one.

Left out: what `costlib.measured.tables` cannot read, queues and their percentiles (a latency limit
is met on average, with a margin), power, and how well each attention kernel suits its model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlib.measured.tables import (
    COLUMNS,
    SECONDS,
    Setup,
    Unread,
    content,
    model_named,
    setup,
)
from costlib.model.kvcache import kv_elements
from costlib.model.transformer import Transformer
from costlib.parallel import tensor_parallel
from costlib.timing.roofline import limits, overlapped
from costlib.units.device import Device
from costlib.units.ledger import Ledger, Op
from costlib.units.messages import message
from costlib.units.numbers import choose
from costlib.units.precision import Precision

__all__ = [
    "DATASHEET",
    "HELD_BACK",
    "TYPICAL",
    "WIDTHS",
    "Constants",
    "Served",
    "TableError",
    "carried_facts",
    "device_rates",
    "fit_served",
    "grouped_rows",
    "held_errors",
    "served_rows",
    "table_error",
    "understood",
]

Floats = NDArray[np.float64]

#: Of a device's memory: what weights and the driver may fill, and what the cache gets of the rest.
_WHOLE, _REST = 0.97, 0.93
#: Most requests that a server runs at once unless told otherwise.
_MOST = 2048
#: Bytes/s between devices that have no link of their own: PCIe 4 of 16 lanes, with a host between.
_NO_LINK = 25e9
_TENSOR = (1, 2, 4, 8, 16)
_GRID = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What is reached of a datasheet: shares of its rates, and seconds that come on top.

    ``four_bits`` is a further share of the rate of 4-bit products, ``held_back`` one of computing
    on `HELD_BACK`, and ``ported`` one of llama.cpp. Products of routed experts take ``routed``
    times as long as others, and if devices divide experts, their number to the power ``uneven``
    longer. ``launch`` and ``sequence`` are the host's seconds for each kernel of a pass, and for
    each sequence in it; ``blend`` is the exponent with which computing and moving overlap;
    ``margin`` is the mean time per token that a server runs at, as a share of its target for the
    99th percentile.

    >>> TYPICAL.scaled(compute=0.5, launch=2).launch / TYPICAL.launch, DATASHEET.compute
    (2.0, 1)
    """

    compute: float = 1
    memory: float = 1
    links: float = 1
    four_bits: float = 1
    routed: float = 1
    uneven: float = 0
    held_back: float = 1
    ported: float = 1
    message: float = 0
    launch: float = 0
    sequence: float = 0
    blend: float = inf
    margin: float = 1

    def scaled(self, **multiples: float) -> Constants:
        """The same with some of `WIDTHS` multiplied."""
        for name in multiples:
            choose("multiples", name, tuple(WIDTHS))
        changes = {name: factor * getattr(self, name) for name, factor in multiples.items()}
        return replace(self, **changes)


#: What can be told by rows: the constants that a table may have of its own, and how far each is
#: expected to lie from the typical one, as a logarithm: shares by a third, the host's seconds, of
#: which a server's software decides more, by a factor of e.
WIDTHS = {
    **dict.fromkeys(("compute", "memory", "links", "four_bits", "routed", "held_back"), 0.3),
    **dict.fromkeys(("message", "launch", "sequence"), 1.0),
}
_ERROR = 0.1  # of a prediction, that counts as much as a width

DATASHEET = Constants()

#: Devices whose products reach less of their datasheet than others': cards that are held to 400
#: watts or fewer, so that their clocks fall, and AMD's, whose kernels came later.
HELD_BACK = (
    *("H100-PCIe", "H100-NVL", "A100-PCIe", "A40", "A10", "L4", "L40S"),
    *("MI300X", "MI325X", "MI355X"),
)

#: What the carried tables have in common, each rounded. The rates are told best: a quarter more or
#: less, and the median error of the tables grows by a third; of the others it hardly does. Products
#: of experts take longer, as each is small and waits for its tokens to be sorted; and the longer
#: the more devices divide them, as the one that has most tokens is waited for. A step's time on the
#: host is of its kernels, which a deep model has more of. llama.cpp's kernels are its own, written
#: for many makers' devices.
TYPICAL = Constants(
    compute=0.65,
    memory=0.8,
    links=0.5,
    four_bits=0.6,
    routed=1.6,
    uneven=0.2,
    held_back=0.7,
    ported=0.7,
    message=1e-5,
    launch=6e-6,
    sequence=8e-6,
    blend=2,
    margin=0.8,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """Seconds of a pass on one device, op by op and for each of some batches, on the datasheet."""

    compute: Floats
    memory: Floats
    is_four_bits: NDArray[np.bool_]
    is_routed: NDArray[np.bool_]
    sending: Floats
    messages: float
    kernels: float
    batches: Floats

    def seconds(self, constants: Constants) -> Floats:
        """With what is reached of the datasheet; one number for each batch."""
        share = np.where(self.is_four_bits, constants.four_bits, 1) * constants.compute
        busy = overlapped(
            self.compute / share[:, None], self.memory / constants.memory, constants.blend
        )
        busy = busy * np.where(self.is_routed, constants.routed, 1)[:, None]
        sent = self.sending / constants.links + self.messages * constants.message
        host = constants.launch * self.kernels + constants.sequence * self.batches
        total: Floats = busy.sum(0) + sent + host
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """One row of a table: what it says, what ran, and the passes that it is made of.

    >>> [row] = served_rows("LMDeploy A100", load="batch 64", input_len="128", output_len="2048")
    >>> row.value, row.setup.name, row.copies
    (1852.06, 'llama-2-7b', 1)
    >>> round(row.predicted(DATASHEET)), 0.7 < row.predicted() / row.value < 1.3
    (2477, True)
    """

    facts: Mapping[str, str]
    setup: Setup
    #: Copies of the model, devices of each, and of these how many have sequences of their own.
    copies: int
    devices: int
    groups: int
    #: Sequences of one group at once, each alternative of them.
    batch: Floats
    step: _Pass
    #: A pass over some prompts at once, and how many.
    prefill: _Pass
    prompts: int
    #: The step of the last round, where the number of requests is known, and its sequences.
    rounds: int = 1
    last: _Pass | None = None
    left: int = 0

    @property
    def value(self) -> float:
        """As published, in the row's own unit."""
        return float(self.facts["value"].replace(",", ""))

    @property
    def name(self) -> str:
        """The row in a few words, for reports."""
        asked = ("model", "device", "plan", "precision", "load", "input_len", "output_len")
        return " | ".join(str(self.facts[each])[:40] for each in asked if self.facts[each])

    @property
    def is_beyond(self) -> bool:
        """Whether it is faster than a datasheet allows to what the row describes."""
        ideal = self.predicted(DATASHEET)
        return self.value < ideal if self.is_latency else self.value > ideal

    @property
    def is_latency(self) -> bool:
        """Whether the row tells a time of a token, and no throughput."""
        return self.setup.measures in ("per token", "first token")

    def predicted(self, constants: Constants = TYPICAL) -> float:
        """What the row measures, in the row's own unit."""
        ran, stages, constants = self.setup, self.setup.pipeline, self._own(constants)
        step = self.step.seconds(constants)
        prefill = float(self.prefill.seconds(constants)[0]) / self.prompts
        if ran.measures == "prefill":
            parts = ceil(ran.prompt / ran.chunk)
            piped = prefill * (parts + stages - 1) / (parts * stages)
            return ran.prompt / piped / _sharers(self)
        if self.is_latency:
            return self._latency(float(step[0]), prefill) / SECONDS[self.facts["unit"].lower()]
        if ran.measures == "user" or (ran.batch == 1 and stages > 1):
            return 1 / float(step[0])
        step, prefill = step / stages, prefill / stages  # stages work on groups of their own
        step = step if "decode" in ran.does else np.zeros_like(step)
        prefill = prefill if "prefill" in ran.does else 0.0
        rate = self._requests(constants, step, prefill) * self.groups * self.copies
        rate = rate if ran.offered is None else min(rate, ran.offered)
        return rate * _tokens(ran) / _sharers(self)

    def _own(self, told: Constants) -> Constants:
        """The constants of this row's device, server and number of devices that divide experts."""
        is_ported = "llama.cpp" in self.facts["framework+version"]
        held = told.held_back if self.setup.device.name in HELD_BACK else 1
        return replace(
            told,
            compute=told.compute * held * (told.ported if is_ported else 1),
            routed=told.routed * self.setup.expert**told.uneven,
        )

    def _latency(self, step: float, prefill: float) -> float:
        """Seconds of a token of a batch: the first comes after the prompts of all that were sent at
        once, or of a request among others after its own and a step; the next ones after a step,
        with what the others' prompts take of it where each comes when another is done."""
        ran, batch = self.setup, float(self.batch[0])
        is_sent_at_once = re.search(r"batch", self.facts["load"], re.I) is not None
        if ran.measures == "first token":
            return prefill * batch if is_sent_at_once else prefill + step * (batch > 1)
        others = 0.0 if is_sent_at_once else (batch - 1) * prefill / ran.answer
        is_usual = re.search(r"p50|median", self.facts["metric"], re.I) is not None
        return step + (0.0 if is_usual else others)

    @property
    def flops_per_s(self) -> float:
        """The rate at which each device did the row, of no more FLOPs than two a parameter."""
        found = self.value / self.of_a_flop
        return 1 / found if self.is_latency else found

    def at_rate(self, flops_per_s: float) -> float:
        """What the row would measure if each device did ``flops_per_s``: the simplest rival."""
        return self.of_a_flop * (1 / flops_per_s if self.is_latency else flops_per_s)

    @property
    def of_a_flop(self) -> float:
        """What the row would measure if each device did one FLOP/s, and no more than two for each
        parameter of a token: all that the simplest rival, one constant rate of a device, knows.

        >>> row = served_rows("LMDeploy A100", load="batch 64", output_len="2048")[0]
        >>> f"{row.flops_per_s / 1e12:.0f} TFLOP/s"
        '27 TFLOP/s'
        """
        ran, devices = self.setup, self.copies * self.devices
        flops = 2 * float(ran.model.active_params())
        if self.is_latency:
            tokens = ran.prompt if ran.measures == "first token" else 1
            seconds = flops * tokens * (ran.batch or 1) / devices
            return seconds / SECONDS[self.facts["unit"].lower()]
        if ran.measures == "prefill":
            return devices / flops / _sharers(self)
        if ran.measures == "user":
            return devices / flops / (ran.batch or 1)
        tokens = ran.prompt * ("prefill" in ran.does) + ran.answer * ("decode" in ran.does)
        return devices / flops / tokens * _tokens(ran) / _sharers(self)

    def _requests(self, constants: Constants, step: Floats, prefill: float) -> float:
        """Requests/s of one group of devices that has sequences of its own."""
        ran, batch = self.setup, self.batch
        if ran.limit is not None:
            seconds = ran.answer * step + batch * prefill
            return _under(batch / seconds, seconds / ran.answer, ran.limit * constants.margin)
        steps, requests = self.rounds * float(step[0]), self.rounds * float(batch[0])
        if self.last is not None:
            steps += float(self.last.seconds(constants)[0]) / ran.pipeline
            requests += self.left
        return requests / (ran.answer * steps + requests * prefill)


def _under(rates: Floats, seconds: Floats, limit: float) -> float:
    """The rate at the largest batch whose seconds per token are within the limit, between those
    that were tried; the smallest batch's where none is."""
    if seconds[0] >= limit:
        return float(rates[0])
    inside = int(np.max(np.flatnonzero(seconds <= limit)))
    if inside == len(rates) - 1:
        return float(rates[-1])
    near = slice(inside, inside + 2)
    return float(np.exp(np.interp(np.log(limit), np.log(seconds[near]), np.log(rates[near]))))


def _tokens(ran: Setup) -> float:
    """What is counted for each request."""
    counted = {"requests": 1, "input": ran.prompt, "both": ran.prompt + ran.answer}
    return counted.get(ran.measures, ran.answer)


def _sharers(row: Served) -> float:
    """Devices, or nodes of eight, that share what is counted."""
    devices = row.copies * row.devices
    return {"device": devices, "node": devices / 8}.get(row.setup.per, 1)


# ------------------------------------------------------------------------------- rows that ran


def served_rows(table: str = "", **facts: str) -> list[Served]:
    """The carried rows of tables whose name begins so, with these columns.

    >>> len(served_rows("TRT-LLM perf overview v1.0: Llama 3.3 70B", input_len="128"))
    12
    >>> served_rows("no such table")
    Traceback (most recent call last):
        ...
    ValueError: no table's name begins with 'no such table'; one is 'TRT-LLM perf overview v1.0: \
Llama 3.3 70B'
    """
    every = carried_facts()
    found = [at for at, row in enumerate(every) if row["what"].startswith(table)]
    if not found:
        one = every[0]["what"]
        raise ValueError(f"no table's name begins with {table!r}; one is {one!r}")
    wanted = [at for at in found if all(every[at][key] == facts[key] for key in facts)]
    return [row for row in map(_carried, wanted) if row is not None]


@cache
def _carried(at: int) -> Served | None:
    """A carried row; None for one that is carried as a fact alone."""
    rows, _ = understood([carried_facts()[at]])
    return rows[0] if rows else None


@cache
def carried_facts() -> tuple[Mapping[str, str], ...]:
    """The carried rows as texts, in the columns of a CSV.

    >>> set(carried_facts()[0]) == set(COLUMNS)
    True
    """
    rows = []
    for table in content()["tables"]:
        same = {name: value for name, value in table.items() if name not in ("columns", "rows")}
        for values in table["rows"]:
            row = dict.fromkeys(COLUMNS, "") | same
            rows.append(row | dict(zip(table["columns"], map(str, values), strict=True)))
    return tuple(rows)


def understood(
    rows: Iterable[Mapping[str, str]],
) -> tuple[list[Served], list[tuple[Mapping[str, str], str]]]:
    """The rows that can be predicted, and the others, each with the reason.

    >>> rows, others = understood([dict.fromkeys(COLUMNS, "")])
    >>> rows, others[0][1]
    ([], "'' in '' is not a throughput that is known")
    """
    found, others, rows = [], [], list(rows)
    told = {_where(row) for row in rows if row["unit"].startswith("tokens/s")}
    for row in rows:
        if row["unit"] == "requests/s" and _where(row) in told:
            others.append((row, "its table gives tokens/s too"))
            continue
        try:
            found.append(_ran(row, setup(row)))
        except (ValueError, LookupError, TypeError, ArithmeticError) as reason:
            others.append((row, str(reason)))  # such as heads that a plan does not divide
    return found, others


def _where(row: Mapping[str, str]) -> tuple[str, ...]:
    """The run that a row is of, whatever was measured."""
    return tuple(row[each] for each in COLUMNS if each not in ("metric", "value", "unit"))


def _ran(facts: Mapping[str, str], ran: Setup) -> Served:
    """The row with its passes; with the fastest cut where the source does not say one."""
    if ran.tensor is not None:
        return _cut(facts, ran, ran.tensor)
    tried, why = [], "it fits on none of its devices"
    for tensor in _TENSOR:
        if tensor <= ran.devices:
            try:
                tried.append(_cut(facts, ran, tensor))
            except ValueError as reason:
                why = str(reason)
    if not tried:
        raise Unread(why)
    return max(tried, key=Served.predicted)


def _cut(facts: Mapping[str, str], ran: Setup, tensor: int) -> Served:
    """The row with each copy of the model on ``tensor`` devices."""
    ran = replace(ran, tensor=tensor)
    devices = tensor * ran.expert * ran.pipeline
    if devices > ran.devices:
        raise Unread(f"its plan takes {devices} devices, and it has {ran.devices}")
    copies, groups = ran.devices // devices, ran.expert
    batch = _batch(ran, copies)
    sizes = np.array([batch])
    if ran.limit is not None and ran.batch is None:
        sizes = np.unique(np.round(np.geomspace(1, batch, _GRID)).astype(int))
    prompts = max(1, min(ran.chunk // ran.prompt, batch if ran.batch else _MOST))
    rounds, left, last = 1, 0, None
    if ran.requests is not None and ran.batch is None:
        shared = ran.requests // (copies * groups * ran.pipeline)
        rounds, left = divmod(max(shared, batch), batch)
        last = _decode(ran, np.array([left])) if left else None
    return Served(
        *(facts, ran, copies, devices, groups, sizes.astype(float)),
        *(_decode(ran, sizes), _prefill(ran, prompts), prompts, rounds, last, left),
    )


def _batch(ran: Setup, copies: int) -> int:
    """Sequences at once on each group of devices with sequences of its own, and on each stage."""
    share = copies * ran.expert * ran.pipeline
    if ran.batch is not None:
        return max(1, round(ran.batch / share))
    room = int(_room(ran) / ran.pipeline)
    if room < 1:
        held = float(ran.model.params()) * ran.products.weights / 1e9
        raise Unread(f"{held:.0f} GB of weights and one sequence do not fit on its devices")
    sent = inf if ran.requests is None else max(1, ran.requests // share)
    return int(min(room, _MOST, sent))


def _room(ran: Setup) -> float:
    """Sequences that fit on a group of devices beside the weights, at their full length."""
    whole = _weight_bytes(ran)
    routed = _routed(ran.name)
    held = whole * (routed / ran.expert + 1 - routed) / ((ran.tensor or 1) * ran.pipeline)
    free = (float(ran.device.capacity or inf) * _WHOLE - held) * _REST
    tokens = ran.prompt + ran.beams * ran.answer
    cache = float(kv_elements(ran.model, 1, tokens)) * float(ran.rest.kv) / ran.pipeline
    return max(0.0, free) / (cache / _cache_sharers(ran))


def _weight_bytes(ran: Setup) -> float:
    """With the embedding and the unembedding in 16 bits where other weights have fewer."""
    each = float(ran.products.weights)
    if ran.products.by_step or each >= 2:
        return float(ran.model.params()) * each
    kept = 2 * float(ran.model.vocab * ran.model.d_model)
    return (float(ran.model.params()) - kept) * each + 2 * kept


def _cache_sharers(ran: Setup) -> int:
    """Devices that divide a sequence's cache: no more than there are KV heads, one for latents."""
    try:
        heads = 1 if ran.model.mla is not None else ran.model.kv_heads
    except (AttributeError, ValueError):
        heads = 1
    return int(min(ran.tensor or 1, heads or 1))


# ------------------------------------------------------------------------------------- passes


def _decode(ran: Setup, batches: NDArray[Any]) -> _Pass:
    """A step for each number of sequences, halfway through their answers."""
    context = ran.prompt // ran.beams + (ran.answer - 1) // 2  # beams share the prompt's cache

    def run(model: Transformer, of: int) -> Ledger:
        return model.decode(batches * ran.beams * of, context, scores="on-chip")

    return _pass(ran, run, batches, batches)


def _prefill(ran: Setup, prompts: int) -> _Pass:
    """A pass over ``prompts`` prompts; of a prompt that takes several passes, all of them, each
    reading the weights again and attending to half of the others' tokens in the cache."""
    passes = ceil(ran.prompt / ran.chunk) if prompts == 1 else 1
    tokens = ceil(ran.prompt / passes)

    def run(model: Transformer, of: int) -> Ledger:
        earlier = (ran.prompt - tokens) // 2
        return passes * model.decode(prompts * of, earlier, tokens, logits="last", scores="on-chip")

    weights = ran.products.weights + ran.unpacked
    if ran.unpacked:
        ran = replace(ran, products=ran.products.with_(weights=weights))
    one = np.array([1])
    return _pass(ran, run, one * prompts * ran.prompt, one)


def _pass(ran: Setup, run: Any, tokens: NDArray[Any], batches: NDArray[Any]) -> _Pass:
    """What one device computes, moves and sends: its share of all, or all of its own sequences and
    a share of everybody's experts."""
    ledger = run(_share(ran.name, ran.tensor or 1), 1)
    device = ran.device
    if device.interconnect is None:
        device = device.with_(interconnect=_NO_LINK)
    own = [op for op in ledger.ops if op.axis or _is_kernel(op)]
    if ran.expert == 1:
        return _priced(ran, own, [], device, batches)
    everybody = [op for op in run(ran.model, ran.expert).ops if _is_routed(op)]
    own = [op for op in own if not _is_routed(op)] + _all_to_all(ran, tokens)
    return _priced(ran, own, everybody, device, batches)


@cache
def _share(name: str, tensor: int) -> Transformer:
    return tensor_parallel(model_named(name), tensor)


@cache
def _routed(name: str) -> float:
    """The share of a model's weights that is routed experts'."""
    model = model_named(name)
    experts = sum(float(step.parameters()) for step in model.steps() if step.is_expert)
    return experts / float(model.params())


def _is_kernel(op: Op) -> bool:
    """Whether an op runs by itself: most element-wise ones ride along in the products' kernels."""
    return op.is_matmul or op.name == "residual" or op.name.startswith(("scan", "conv"))


def _is_routed(op: Op) -> bool:
    return op.is_matmul and op.name.startswith("experts.")


def _all_to_all(ran: Setup, tokens: NDArray[Any]) -> list[Op]:
    """Tokens go to their experts in 8 bits, and come back in 16: in units of 16-bit elements."""
    steps = [step for step in ran.model.steps() if step.name == "experts.up"]
    sent: list[Op] = []
    for step in steps:
        layers = int(step.times)
        reached = min(int(step.chosen), ran.expert) * (ran.expert - 1) / ran.expert
        elements = tokens * reached * ran.model.d_model * 0.75
        sent.append(message("all_to_all", 2 * layers, elements, "expert"))
    return sent


def _priced(
    ran: Setup, own: Sequence[Op], shared: Sequence[Op], device: Device, batches: NDArray[Any]
) -> _Pass:
    """Each op under the roofline of its own precision; of shared ones, a device's share."""
    sending, messages = np.zeros(len(batches)), 0.0
    compute, memory, four, routed, kernels = [], [], [], [], 0.0
    kinds = _by_precision(ran, own, 1.0) + _by_precision(ran, shared, 1 / ran.expert)
    for precision, ops, share in kinds:
        for op, limit in zip(ops, limits(Ledger(tuple(ops)), device, precision), strict=True):
            if op.axis:
                sending, messages = sending + limit.sending_time, messages + float(op.count)
                continue
            compute.append(np.broadcast_to(limit.compute_time * share, len(batches)))
            memory.append(np.broadcast_to(limit.memory_time * share, len(batches)))
            four.append(limit.compute == "fp4")
            kernels += float(op.count)
            routed.append(_is_routed(op))
    return _Pass(
        compute=np.array(compute, float),
        memory=np.array(memory, float),
        is_four_bits=np.array(four, bool),
        is_routed=np.array(routed, bool),
        sending=sending,
        messages=messages,
        kernels=kernels,
        batches=batches.astype(float),
    )


def _by_precision(
    ran: Setup, ops: Sequence[Op], share: float
) -> list[tuple[Precision, list[Op], float]]:
    """The ops that are computed in the format of packed products, and the others."""
    packed = [op for op in ops if _is_packed(op, ran)]
    others = [op for op in ops if not _is_packed(op, ran)]
    return [(ran.products, packed, share), (ran.rest, others, share)]


def _is_packed(op: Op, ran: Setup) -> bool:
    """GEMMs with the weights are computed in their own format; attention, the unembedding, and what
    a checkpoint leaves in 16 bits, in 16 bits."""
    if not op.is_matmul or op.name == "unembedding":
        return False
    has_weights = bool(np.any(np.asarray(op.elements_read.weights, float) > 0))
    kept = ran.products.by_step and ran.products.weights_in(op.name) >= 2
    return has_weights and not kept


def fit_served(
    rows: Sequence[Served], start: Constants = TYPICAL, free: tuple[str, ...] = tuple(WIDTHS)
) -> Constants:
    """The constants that explain some rows, each as near to its typical value as they allow.

    Least squares on the logarithms of predicted / published and of the constants over typical
    ones, the latter in units of `WIDTHS`: what the rows cannot tell stays typical, so two rows
    are enough for all.

    >>> rows = served_rows("LMDeploy A100")[:2]
    >>> found = fit_served(rows)
    >>> all(abs(row.predicted(found) / row.value - 1) < 0.1 for row in rows)
    True
    """
    widths = np.array([WIDTHS[name] for name in free])

    def told(logs: Floats) -> Constants:
        return start.scaled(**dict(zip(free, map(float, np.exp(logs * widths)), strict=True)))

    def residuals(logs: Floats) -> Floats:
        constants = told(logs)
        errors = [np.log(row.predicted(constants) / row.value) / _ERROR for row in rows]
        return np.array([*errors, *logs])

    at, step, units = np.zeros(len(free)), 1.0, np.eye(len(free))
    found = residuals(at)
    for _ in range(20):
        slopes = np.stack([(residuals(at + 1e-3 * unit) - found) / 1e-3 for unit in units])
        move = -np.linalg.solve(slopes @ slopes.T, slopes @ found)
        while (tried := residuals(at + step * move)) @ tried > found @ found and step > 1e-3:
            step /= 2
        at, found, moved = at + step * move, tried, np.abs(step * move).max()
        if moved < 1e-2:
            break
        step = min(1.0, 2 * step)
    return told(at)


def device_rates(rows: Iterable[Served]) -> dict[str, float]:
    """The simplest rival: one rate of each device, in FLOP/s, the median of these rows'.

    >>> rates = device_rates(served_rows("LMDeploy A100"))
    >>> [f"{name} {rate / 1e12:.0f}" for name, rate in rates.items()]
    ['A100-80GB 21']
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row.setup.device.name, []).append(row.flops_per_s)
    return {name: float(np.median(each)) for name, each in found.items()}


@cache
def _carried_rates() -> Mapping[str, float]:
    """The rival's rates as all carried rows tell them; "" is of a device that none is of, as a
    share of its peak."""
    rows = served_rows()
    rates = device_rates(rows)
    shares = [rate / _peak(name, rows) for name, rate in rates.items()]
    return {**rates, "": float(np.median(shares))}


def _peak(name: str, rows: Iterable[Served]) -> float:
    device = next(row.setup.device for row in rows if row.setup.device.name == name)
    return float(device.compute_rate())


def _by_rate(row: Served) -> float:
    """What the rival says of a row, told by all carried ones."""
    rates, device = _carried_rates(), row.setup.device
    rate = rates.get(device.name, rates[""] * float(device.compute_rate()))
    return row.at_rate(rate)


@dataclass(frozen=True, slots=True)
class TableError:
    """How far off a table's rows are predicted: medians without sign, and 90th percentiles.

    ``fitted`` is over the rows that were not fitted, for many pairs of rows that were. ``rate`` and
    ``rate_fitted`` are the rival's, one constant rate of a device: that of all carried rows, or
    told by the same pairs.
    """

    name: str
    rows: int
    datasheet: float
    typical: float
    fitted: float
    worst: float
    rate: float
    rate_fitted: float


def table_error(name: str, rows: Sequence[Served], pairs: int = 24) -> TableError:
    """The errors of a table, at each level.

    >>> found = table_error("LMDeploy", served_rows("LMDeploy A100"), pairs=6)
    >>> found.rows, found.fitted < 0.2 < found.datasheet
    (20, True)
    """
    ideal, typical = (
        [abs(row.predicted(constants) / row.value - 1) for row in rows]
        for constants in (DATASHEET, TYPICAL)
    )
    rate = [abs(_by_rate(row) / row.value - 1) for row in rows]
    is_long = len(rows) >= 4
    held = held_errors(rows, pairs) if is_long else [float("nan")]
    held_rate = _held_by_rate(rows, pairs) if is_long else [float("nan")]
    return TableError(
        *(name, len(rows), float(np.median(ideal)), float(np.median(typical))),
        *(float(np.median(held)), float(np.quantile(held, 0.9))),
        *(float(np.median(rate)), float(np.median(held_rate))),
    )


def _pairs(rows: Sequence[Served], pairs: int) -> list[tuple[int, int]]:
    """All pairs of rows, or at most ``pairs`` of them, drawn with a fixed seed."""
    chosen = list(combinations(range(len(rows)), 2))
    if len(chosen) <= pairs:
        return chosen
    order = np.random.default_rng(0).permutation(len(chosen))
    return [chosen[i] for i in order[:pairs]]


def _held_by_rate(rows: Sequence[Served], pairs: int) -> list[float]:
    """The rival's errors on the rows that did not tell its rate."""
    errors = []
    for pair in _pairs(rows, pairs):
        told = float(np.sqrt(np.prod([rows[i].flops_per_s for i in pair])))
        rest = (row for i, row in enumerate(rows) if i not in pair)
        errors += [abs(row.at_rate(told) / row.value - 1) for row in rest]
    return errors


def held_errors(
    rows: Sequence[Served], pairs: int = 24, free: tuple[str, ...] = tuple(WIDTHS)
) -> list[float]:
    """Errors without sign on the rows that were not fitted, over many pairs of rows that were.

    All pairs where there are no more than ``pairs``, else that number of them, drawn with a fixed
    seed.

    >>> len(held_errors(served_rows("LMDeploy A100")[:4]))
    12
    """
    errors = []
    for pair in _pairs(rows, pairs):
        constants = fit_served([rows[i] for i in pair], free=free)
        rest = (row for i, row in enumerate(rows) if i not in pair)
        errors += [abs(row.predicted(constants) / row.value - 1) for row in rest]
    return errors


def grouped_rows(rows: Iterable[Served]) -> dict[str, list[Served]]:
    """The rows by table; a table of several models, or several servers, is several tables where
    at least two of them have four rows.

    >>> [*grouped_rows(served_rows("LMDeploy A"))], [*grouped_rows(served_rows("LMDeploy w"))]
    (['LMDeploy A100 static inference llama2-7b'], ['LMDeploy w4a16 engines'])
    """
    tables: dict[str, list[Served]] = {}
    for row in rows:
        latency = f", {row.setup.measures}" if row.is_latency else ""
        tables.setdefault(row.facts["what"] + latency, []).append(row)
    return _split(_split(tables, lambda row: row.setup.name), _server)


def _server(row: Served) -> str:
    """The software, without its version."""
    return re.split(r"\s+v?\d|[,(]", row.facts["framework+version"])[0].strip()


def _split(
    tables: Mapping[str, list[Served]], kind: Callable[[Served], str]
) -> dict[str, list[Served]]:
    found: dict[str, list[Served]] = {}
    for name, each in tables.items():
        kinds: dict[str, list[Served]] = {}
        for row in each:
            kinds.setdefault(kind(row), []).append(row)
        if sum(len(of) >= 4 for of in kinds.values()) > 1:
            found.update({f"{name}, {one}": of for one, of in kinds.items()})
        else:
            found[name] = each
    return found
