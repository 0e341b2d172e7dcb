"""One device's ledger of a whole training step: its layers, its messages, its optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from costlib.parallel.price import (
    BETWEEN_REPLICAS,
    GRADIENTS,
    Kind,
    Params,
    StepLayout,
    by_zero,
    of_stage,
    over_replicas,
)
from costlib.parallel.stages import Stage
from costlib.parallel.work import Cut, ends, layers
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import is_zero, minimum
from costlib.units.precision import Precision

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

Found = tuple[Sequence[Kind], Kind, Kind]


def whole_step(
    model: Transformer, cut: Cut, found: Found, layout: StepLayout, stage: int = 0
) -> Ledger:
    """Layers forward and back for every microbatch, what goes to other stages and replicas, and the
    optimizer."""
    held, step = _stage_of(layout, stage), Ledger()
    params = of_stage(held, found, layout).params
    first, last = ends(model, cut)
    for work, count in zip(layers(model, cut), held.layers, strict=True):
        step = step + (work.both * count if count else Ledger())
    step = step + (first.both if held.is_first else Ledger())
    step = step + (last.both if held.is_last else Ledger())
    if layout.pipeline > 1:
        passed = 2 * layout.chunks - held.is_first - held.is_last
        step = step + layout.neighbour.send("send", layout.stream, "pipeline", count=passed)
    step = step * layout.microbatches + _of_data(params, layout)
    return Ledger(step.ops, own=_precision(params, layout))


def _stage_of(layout: StepLayout, stage: int) -> Stage:
    """The stages that a stage is like."""
    if not 0 <= stage < layout.pipeline:
        raise ValueError(f"stage must be from 0 to {layout.pipeline - 1}, got {stage}")
    return next(each for each in layout.stages if stage in each.devices)


def _of_data(params: Params, layout: StepLayout) -> Ledger:
    """Gradients and weights between replicas, and the optimizer's own reading and writing."""
    found, often = Ledger(), by_zero(layout.microbatches)[int(layout.zero)]
    groups = [(params.matrices + params.others, layout.replicas)]
    groups.append((params.experts, layout.expert_replicas))
    for count, tiers in groups:
        for does, times in zip(BETWEEN_REPLICAS, often, strict=True):
            if not (is_zero(count) or is_zero(times)):
                found = found + over_replicas(does, count, tiers) * times
    updated = Elements(weights=params.count)
    return found + Op("optimizer", 0, updated, updated)


def _precision(params: Params, layout: StepLayout) -> Precision:
    """Bytes of gradients and weights that are sent, and of what the optimizer touches: on average
    over a stage's parameters, each at its recipe's."""
    recipe, count = layout.recipe, params.count
    wire = {kind: sum(params.wire(kind, recipe)) / count for kind in ("gradients", "weights")}
    plain = recipe.precision.with_(weights=minimum(recipe.weights, 2))
    steps = (
        (GRADIENTS, wire["gradients"]),
        (f"{GRADIENTS}.reduce_scatter", wire["gradients"]),
        ("weights.all_gather", wire["weights"]),
        ("optimizer", layout.optimizer_bytes(params) / (2 * count)),
        ("", plain.weights),
    )
    return plain.with_(weights=plain.weights, by_step=steps)
