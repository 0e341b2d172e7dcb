"""The seconds of a plan's step by what they are spent on, and the bytes of the fullest device.

The formulas are plain arithmetic over layers, stages and microbatches, and so take one plan or
arrays of them. With F and B the seconds of one microbatch on a stage, forward and back, messages
that do not hide included, T = F + B, m microbatches and v chunks a device,

    step = m·max T + (Σ T − max T)/v + data + optimizer

over the stages: the slowest one is always busy, and all others are passed once at the beginning and
the end. With stages alike that is the bubble's m·T + (p − 1)·T/v.

A message that may hide takes max(0, its seconds − share · seconds of what it hides behind). What
each axis hides behind, and the share unless told:

    context     attention of the same layer (it waits for an all-to-all: nothing)  1
    tensor      products of the same layer                                        0
    sequence    the same: gathering again what was kept in parts                  1
    expert      products of the same layer                                        0
    pipeline    all that a stage computes of a microbatch                         0
    data        a stage's backward pass (sums), its forward pass (gathers)        1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from costlib.model.kvcache import Memory
from costlib.parallel.cluster import Tiers
from costlib.parallel.pipeline import in_flight
from costlib.parallel.stages import Stage
from costlib.parallel.work import (
    Cut,
    Work,
    base_name,
    ends,
    layers,
    outside,
    share_of,
    single_layers,
)
from costlib.timing.roofline import time
from costlib.training import Recipe, activations
from costlib.units.device import Device
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, ceil_div, is_zero, maximum, where
from costlib.units.precision import FORMATS, Precision

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["COMPUTING", "HIDES", "PARTS", "SENDING"]

#: The share of what it could hide behind that each axis' messages do hide behind.
HIDES: Mapping[str, float] = {
    "tensor": 0.0,
    "sequence": 1.0,
    "context": 1.0,
    "expert": 0.0,
    "pipeline": 0.0,
    "data": 1.0,
}

#: Where a step's seconds go, in the order of a table.
COMPUTING = ("products", "attention", "logits", "elementwise")
SENDING = ("tensor", "sequence", "context", "expert", "pipeline")
PARTS = (*COMPUTING, *SENDING, "bubble", "data", "optimizer", "overhead")

Both = tuple[Any, Any]  # forward and back


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters on one device before ZeRO: the layers' matrices, experts' apart, and others."""

    matrices: Number = 0
    others: Number = 0
    experts: Number = 0

    def __add__(self, more: Params) -> Params:
        return Params(
            self.matrices + more.matrices, self.others + more.others, self.experts + more.experts
        )

    def __mul__(self, times: int) -> Params:
        return Params(self.matrices * times, self.others * times, self.experts * times)

    def bytes(self, kind: str, recipe: Recipe, among: Number = 1, among_experts: Number = 1) -> Any:
        """Bytes of weights, gradients or optimizer state on one of ``among`` devices."""
        rest = recipe.others or recipe
        return (
            ceil_div(self.matrices, among) * _each(kind, recipe)
            + ceil_div(self.others, among) * _each(kind, rest)
            + ceil_div(self.experts, among_experts) * _each(kind, recipe)
        )

    @property
    def count(self) -> Any:
        """All of them."""
        return self.matrices + self.others + self.experts

    def wire(self, kind: str, recipe: Recipe) -> tuple[Any, Any]:
        """Bytes of gradients or weights that are sent: of what all replicas have, and of experts.

        Sums are sent in 32 bits at most, weights in 16.
        """
        most, rest = (4 if kind == "gradients" else 2), recipe.others or recipe
        each, other = (min(_each(kind, one), most) for one in (recipe, rest))
        return self.matrices * each + self.others * other, self.experts * each


def _each(kind: str, recipe: Recipe) -> Any:
    return recipe.master + recipe.moments if kind == "optimizer" else getattr(recipe, kind)


@dataclass(frozen=True, slots=True)
class Kind:
    """One layer of a kind, or an end of the model, on one device and for one microbatch.

    ``computing`` and ``exposed`` are seconds forward and back by their part of the step,
    ``sending`` those of all messages, hidden or not, by axis and tier. ``kept`` bytes of
    activations stay until the backward pass, ``again`` are held while a layer is run again.
    """

    computing: Mapping[str, Both] = field(default_factory=dict)
    exposed: Mapping[str, Both] = field(default_factory=dict)
    sending: Mapping[str, Both] = field(default_factory=dict)
    params: Params = Params()
    kept: Number = 0
    again: Number = 0

    def take(self, which: Any) -> Kind:
        """Of arrays, the entries at these places."""

        def at(value: Any) -> Any:
            return value[which] if isinstance(value, np.ndarray) else value

        def of(table: Mapping[str, Both]) -> dict[str, Both]:
            return {name: (at(f), at(b)) for name, (f, b) in table.items()}

        own = self.params
        params = Params(at(own.matrices), at(own.others), at(own.experts))
        tables = (of(self.computing), of(self.exposed), of(self.sending))
        return Kind(*tables, params, at(self.kept), at(self.again))


def kinds(
    model: Transformer,
    cut: Cut,
    device: Device,
    recipe: Recipe,
    hides: Mapping[str, float] = HIDES,
    *,
    tied: bool = True,
) -> tuple[tuple[Kind, ...], Kind, Kind]:
    """A layer of each block, and the two ends; ``tied``: where the model ties them, both ends are
    on one device, which stores one matrix."""
    if cut.context_by == "all_to_all":
        hides = {**hides, "context": 0.0}
    found = []
    held: dict[str, Any] = {"recompute": cut.recompute, "scores": cut.scores}
    held |= {"tensor": cut.tensor, "sequence": cut.sequence}
    for one_layer, work in zip(single_layers(model), layers(model, cut), strict=True):
        kept = activations(one_layer, cut.microbatch, cut.local, **held)
        params = params_of(share_of(one_layer, cut.tensor), cut)
        one = _priced(work, device, recipe, hides)
        here = {"kept": kept.of_layers(recipe), "again": kept.again(recipe)}
        found.append(replace(one, params=params, **here))
    first, last = (_priced(work, device, recipe, hides) for work in ends(model, cut))
    share = share_of(model, cut.tensor)
    own = [of_end(share, which, is_stored_once=tied and model.tied) for which in (0, 1)]
    first = replace(first, params=own[0])
    last = replace(last, params=own[1], kept=kept.outside(recipe))
    return tuple(found), first, last


def params_of(share: Transformer, cut: Cut) -> Params:
    """Parameters of one layer: experts are divided among their devices."""
    block, d = share.blocks[0], share.d_model
    total = block.parameters(d) - block.shared_parameters
    steps = [*block.extra]
    for part in block.parts:
        steps += [*part.before(d), *part.after(d), *part.mixed]
    matrices = sum(step.parameters() for step in steps if step.is_matmul)
    routed = [step for step in steps if step.is_expert]
    experts = sum(step.parameters() for step in routed)
    inside = sum(step.parameters() for step in routed if step.is_matmul)
    own = ceil_div(experts * (cut.tensor if cut.whole_experts else 1), cut.expert)
    return Params(
        matrices - inside - block.shared_parameters,
        total + block.shared_parameters - matrices - experts + inside,
        own,
    )


def of_end(share: Transformer, which: int, *, is_stored_once: bool) -> Params:
    """Parameters of the embedding's end, or the unembedding's."""
    names, total = outside(share)[which], 0
    for step in share.steps():
        if step.name in names and not (is_stored_once and step.name == "unembedding"):
            total = total + step.parameters()
    return Params(others=total)


def _priced(work: Work, device: Device, recipe: Recipe, hides: Mapping[str, float]) -> Kind:
    """Seconds of what a device does, by part."""
    passes = [sorted_out(ledger, work) for ledger in (work.forward, work.backward)]
    full = recipe.precision.with_(weights=min(recipe.weights, 2))
    sixteen = full if _is_wide(full.compute) else full.with_(compute=None)
    times: list[dict[str, Any]] = []
    for ops in passes:
        found = {}
        for name, these in ops.items():
            own = full if name == "products" else sixteen
            found[name] = _time(Ledger(tuple(these)), device, own)
        times.append(found)
    computing = {name: _pair(times, name) for name in COMPUTING}
    exposed = {}
    for axis in SENDING[:-1]:
        behind = computing["attention" if axis == "context" else "products"]
        exposed[axis] = tuple(
            _exposed(each, hides[axis], over)
            for each, over in zip(_pair(times, axis), behind, strict=True)
        )
    sending: dict[str, Both] = {}
    for which, ops in enumerate(passes):
        for op in (op for name in SENDING for op in ops.get(name, ()) if op.axis):
            both = [*sending.get(op.axis, (0, 0))]
            both[which] = both[which] + _time(Ledger((op,)), device, sixteen)
            sending[op.axis] = (both[0], both[1])
    return Kind(computing, exposed, sending)


def _is_wide(compute: str | None) -> bool:
    """Whether attention and logits have this format too: below 16 bits products alone do."""
    return compute is None or FORMATS.get(compute, 2) >= 2


def sorted_out(ledger: Ledger, work: Work) -> dict[str, list[Op]]:
    """Ops by their part of the step, messages of both tiers together."""
    found: dict[str, list[Op]] = {}
    for op in ledger:
        if op.axis:
            name = "sequence" if op.name == "gather_again" else op.axis.partition(".")[0]
        elif op.name in work.mixing:
            name = "attention"
        elif not op.is_matmul:
            name = "elementwise"
        else:
            is_logits = base_name(op.name).endswith("unembedding")
            name = "logits" if is_logits else "products"
        found.setdefault(name, []).append(op)
    return found


def _time(work: Ledger, device: Device, precision: Precision | None = None) -> Any:
    return time(work, device, precision=precision, steps=0) if work.ops else 0


def _pair(times: Sequence[Mapping[str, Any]], name: str) -> Both:
    return times[0].get(name, 0), times[1].get(name, 0)


def _plus(pairs: Sequence[Both]) -> Both:
    return sum(f for f, _ in pairs), sum(b for _, b in pairs)


def _exposed(sent: Number, share: float, behind: Number) -> Any:
    """What of sending is not hidden."""
    if is_zero(sent) or share == 0:
        return sent
    return maximum(0, sent - share * behind)


# ------------------------------------------------------------------------------- a whole step


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLayout:
    """All that a step's time and memory follow from, beside the kinds of layers."""

    stages: tuple[Stage, ...]
    pipeline: int
    chunks: int
    schedule: str
    microbatches: Number
    zero: Number
    stream: Number  #: elements that a stage sends to the next for one microbatch
    neighbour: Tiers  #: the farthest two stages that follow one another
    replicas: tuple[Tiers, Tiers]  #: that share weights in ZeRO, and that those groups repeat in
    expert_replicas: tuple[Tiers, Tiers]
    device: Device
    recipe: Recipe
    hides: Mapping[str, float]

    def among(self, zero: int) -> tuple[Any, Any]:
        """Devices that divide something from a stage of ZeRO on, and those that do of experts."""
        own, experts = self.replicas[0].devices, self.expert_replicas[0].devices
        return where(self.zero >= zero, own, 1), where(self.zero >= zero, experts, 1)

    def optimizer_bytes(self, params: Params) -> Any:
        """Bytes that updating one device's part reads and writes: gradients are read, weights
        written, and its state both."""
        among = self.among(1)
        moved = params.bytes("gradients", self.recipe, *among)
        moved = moved + params.bytes("weights", self.recipe, *among)
        return moved + 2 * params.bytes("optimizer", self.recipe, *among)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Sums over a stage's layers, of one microbatch."""

    computing: Mapping[str, Both]
    exposed: Mapping[str, Both]
    sending: Mapping[str, Both]
    params: Params

    @property
    def busy(self) -> Both:
        """Seconds of computing, forward and back."""
        return _plus([*self.computing.values()])

    @property
    def seconds(self) -> Any:
        """Seconds with messages that do not hide."""
        forward, backward = _plus([self.busy, *self.exposed.values()])
        return forward + backward

    @property
    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Seconds by part, and of messages by tier."""
        parts = {name: f + b for name, (f, b) in {**self.computing, **self.exposed}.items()}
        return parts, {name: f + b for name, (f, b) in self.sending.items()}


def seconds(
    found: tuple[Sequence[Kind], Kind, Kind], layout: StepLayout
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where a step's seconds go, by part: they add up. And seconds of all messages, by tier."""
    held = [of_stage(stage, found, layout) for stage in layout.stages]
    parts, sent = held[0].parts
    slowest = held[0].seconds
    total = layout.stages[0].alike * slowest
    for stage, each in zip(layout.stages[1:], held[1:], strict=True):
        total = total + stage.alike * each.seconds
        later = each.seconds > slowest
        own, own_sent = each.parts
        parts = {name: where(later, own.get(name, 0), value) for name, value in parts.items()}
        sent = {name: where(later, own_sent.get(name, 0), value) for name, value in sent.items()}
        slowest = where(later, each.seconds, slowest)
    parts = {name: layout.microbatches * value for name, value in parts.items()}
    sent = {name: layout.microbatches * value for name, value in sent.items()}
    parts["bubble"] = (total - slowest) / layout.chunks
    data = [_data(each, layout) for each in held]
    parts["data"] = reduce(maximum, [exposed for exposed, _ in data])
    for name in data[0][1]:
        sent[name] = reduce(maximum, [each[name] for _, each in data])
    parts["optimizer"] = reduce(maximum, [_optimizer(each.params, layout) for each in held])
    parts["overhead"] = layout.device.overhead_per_step
    return {name: parts[name] for name in PARTS}, sent


def of_stage(stage: Stage, found: tuple[Sequence[Kind], Kind, Kind], layout: StepLayout) -> _Stage:
    """What a stage does for one microbatch."""
    each, first, last = found
    rows = [(kind, count) for kind, count in zip(each, stage.layers, strict=True) if count]
    rows += [(first, 1)] * stage.is_first + [(last, 1)] * stage.is_last
    tables: dict[str, dict[str, Both]] = {"computing": {}, "exposed": {}, "sending": {}}
    for name, table in tables.items():
        for kind, count in rows:
            for part, (f, b) in getattr(kind, name).items():
                table[part] = _plus([table.get(part, (0, 0)), (count * f, count * b)])
    params = Params()
    for kind, count in rows:
        params = params + kind.params * count
    exposed = _to_next_stage(tables["computing"], tables["sending"], stage, layout)
    tables["exposed"]["pipeline"] = exposed
    return _Stage(**tables, params=params)


def _to_next_stage(
    computing: Mapping[str, Both], sending: dict[str, Both], stage: Stage, layout: StepLayout
) -> Both:
    """Every piece sends on, but the last; and back, but the first. What does not hide."""
    if layout.pipeline == 1:
        return (0, 0)
    busy = _plus([*computing.values()])
    total: Both = (0, 0)
    for op in layout.neighbour.send("send", layout.stream, "pipeline"):
        one = _time(Ledger((op,)), layout.device, layout.recipe.precision)
        forward = (layout.chunks - stage.is_last) * one
        sending[op.axis] = (forward, (layout.chunks - stage.is_first) * one)
        total = _plus([total, sending[op.axis]])
    share = layout.hides["pipeline"]
    return _exposed(total[0], share, busy[0]), _exposed(total[1], share, busy[1])


#: Bytes are sent as they are: how many a gradient or a weight takes is the recipe's.
_BYTES = Precision(weights=1)


#: Collectives between replicas; those of gradients first.
BETWEEN_REPLICAS = ("all_reduce", "reduce_scatter", "all_gather")
GRADIENTS = "gradients"


def by_zero(m: Number) -> tuple[tuple[Number, ...], ...]:
    """How often each of `BETWEEN_REPLICAS` is done in a step of m microbatches, by stage of
    ZeRO."""
    return (1, 0, 0), (0, 1, 1), (0, m, 1), (0, m, 2 * m)


def over_replicas(does: str, count: Number, groups: tuple[Tiers, Tiers]) -> Ledger:
    """What one device sends of ``count`` elements that replicas have, among those that divide the
    state, and for sums also among the groups of them."""
    (inner, outer), how = groups, {"axis": "data", "kind": "weights"}
    if does == "all_reduce":
        return (inner * outer).send(does, count, name=GRADIENTS, **how)
    if does == "all_gather":
        return inner.send(does, count, name=f"weights.{does}", **how)
    part = ceil_div(count, inner.devices)
    scattered = inner.send(does, count, name=f"{GRADIENTS}.{does}", **how)
    return scattered + outer.send("all_reduce", part, name=GRADIENTS, **how)


def _data(stage: _Stage, layout: StepLayout) -> tuple[Any, dict[str, Any]]:
    """Seconds of gradients and weights between replicas: what does not hide, and all by tier."""
    zero, m, sent = layout.zero, layout.microbatches, dict[str, Any]()
    forward, backward = (layout.hides["data"] * each for each in stage.busy)
    once, tables = zip(*(_gradients(stage, layout, does) for does in BETWEEN_REPLICAS), strict=True)
    whole = maximum(0, once[0] - backward)
    scatter, gather = maximum(0, once[1] - backward), maximum(0, once[2] - forward)
    both = maximum(0, once[2] + once[1] - backward)
    ways = (whole, scatter + gather, m * scatter + gather, m * (gather + both))
    for axis in ("data", "data.network"):
        each = [table.get(axis, 0) for table in tables]
        of_zero = [sum(n * spent for n, spent in zip(row, each, strict=True)) for row in by_zero(m)]
        sent[axis] = _by_stage(zero, of_zero)
    return _by_stage(zero, ways), sent


def _gradients(stage: _Stage, layout: StepLayout, does: str) -> tuple[Any, dict[str, Any]]:
    """Seconds of one collective over all replicas, and by tier."""
    wire = stage.params.wire("weights" if does == "all_gather" else GRADIENTS, layout.recipe)
    found: dict[str, Any] = {}
    total: Any = 0
    for count, groups in zip(wire, (layout.replicas, layout.expert_replicas), strict=True):
        sent = over_replicas(does, count, groups)
        total = total + _time(sent, layout.device, _BYTES)
        for op in sent:
            found[op.axis] = found.get(op.axis, 0) + _time(Ledger((op,)), layout.device, _BYTES)
    return total, found


def _by_stage(zero: Number, values: Sequence[Any]) -> Any:
    """The value for a stage of ZeRO."""
    found = values[0]
    for stage in (1, 2, 3):
        found = where(zero == stage, values[stage], found)
    return found


def _optimizer(params: Params, layout: StepLayout) -> Any:
    """Seconds of reading and writing all that the optimizer needs, and nothing else."""
    op = Op("optimizer", 0, Elements(weights=layout.optimizer_bytes(params)))
    return _time(Ledger((op,)), layout.device, _BYTES)


# ----------------------------------------------------------------------------------- memory


def memory(found: tuple[Sequence[Kind], Kind, Kind], layout: StepLayout) -> list[Memory]:
    """What a device of each stage holds, those alike as one."""
    return [_memory(stage, found, layout) for stage in layout.stages]


def fullest(held: Sequence[Memory]) -> Memory:
    """The stage that holds most.

    >>> fullest([Memory(weights=3), Memory(weights=1, activations=5)]).activations
    5
    """
    most = held[0]
    for each in held[1:]:
        more = each.total > most.total
        names = ("weights", "activations", "gradients", "optimizer", "buffers")
        values = {name: where(more, getattr(each, name), getattr(most, name)) for name in names}
        most = Memory(**values)
    return most


def _memory(stage: Stage, found: tuple[Sequence[Kind], Kind, Kind], layout: StepLayout) -> Memory:
    each, _, last = found
    rows = [(kind, count) for kind, count in zip(each, stage.layers, strict=True) if count]
    held, recipe = of_stage(stage, found, layout), layout.recipe
    m, v = layout.microbatches, layout.chunks
    begun = in_flight(layout.schedule, stage.devices[0], layout.pipeline, m, v)
    kept: Any = sum(count * kind.kept for kind, count in rows) * begun
    kept = kept if v == 1 else kept / v
    if stage.is_last:
        kept = kept + last.kept * (m if layout.schedule == "gpipe" else 1)
    again = reduce(maximum, [kind.again for kind, _ in rows] or [0])
    return Memory(
        weights=held.params.bytes("weights", recipe, *layout.among(3)),
        gradients=held.params.bytes("gradients", recipe, *layout.among(2)),
        optimizer=held.params.bytes("optimizer", recipe, *layout.among(1)),
        activations=kept + again,
        buffers=_buffers([kind.params for kind, _ in rows] or [held.params], layout),
    )


def _buffers(params: Sequence[Params], layout: StepLayout) -> Any:
    """What is whole for a moment where only parts are kept: in ZeRO 3 the weights of a layer and of
    the next one; from ZeRO 2 on the gradients of a layer."""
    is_divided = where(layout.replicas[0].devices > 1, 1, 0)
    weights = reduce(maximum, [sum(each.wire("weights", layout.recipe)) for each in params])
    gradients = reduce(maximum, [sum(each.wire("gradients", layout.recipe)) for each in params])
    return is_divided * _by_stage(layout.zero, [0, 0, gradients, 2 * weights + gradients])
