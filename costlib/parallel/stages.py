"""The layers of each stage of a pipeline, by kind.

Pieces are as even as can be. Where layers do not divide, some pieces have one fewer: those at the
ends first, as they have the unembedding and the embedding to do as well. (Llama 3.1 405B has 126
layers in 128 pieces of one: the first and the last have none.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from costlib.layers import Block
from costlib.layers.parts import same
from costlib.model.catalog import model_of
from costlib.parallel.model_parallel import remembered
from costlib.units.numbers import one_size

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["Stage", "dealt", "layer_kinds", "stage_models", "stages"]


@dataclass(frozen=True, slots=True)
class Stage:
    """Stages that have the same: which devices they are on, and their layers.

    ``layers`` counts them by kind; ``is_first`` has the embedding, ``is_last`` the
    unembedding.
    """

    layers: tuple[int, ...]
    devices: tuple[int, ...] = (0,)
    is_first: bool = True
    is_last: bool = True

    @property
    def alike(self) -> int:
        """How many stages these are."""
        return len(self.devices)


def dealt(layers: int, pieces: int) -> list[int]:
    """How many layers each piece has.

    >>> dealt(32, 4), dealt(61, 16)
    ([8, 8, 8, 8], [3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3])
    """
    layers, pieces = one_size("layers", layers), one_size("pieces", pieces)
    most = -(-layers // pieces)
    found = [most] * pieces
    for which in range(most * pieces - layers):
        found[-1 - which // 2 if which % 2 == 0 else which // 2] -= 1
    return found


def stages(model: Transformer | str, pipeline: int, chunks: int = 1) -> tuple[Stage, ...]:
    """The stages of a model, those that have the same as one.

    >>> from costlib import models
    >>> [(s.layers, s.devices) for s in stages(models["llama-3-8b"], 4)]
    [((8,), (0,)), ((8,), (1, 2)), ((8,), (3,))]
    >>> [s.layers for s in stages(models["deepseek-v3"], 16)]  # three dense layers come first
    [(3, 0), (0, 4), (0, 3), (0, 3)]
    """
    different, order = layer_kinds(model)
    held, start = [[0] * len(different) for _ in range(pipeline)], 0
    for piece, count in enumerate(dealt(len(order), pipeline * chunks)):
        for kind in order[start : start + count]:
            held[piece % pipeline][kind] += 1
        start += count
    found: dict[tuple[tuple[int, ...], bool, bool], list[int]] = {}
    for device, counts in enumerate(held):
        key = (tuple(counts), device == 0, device == pipeline - 1)
        found.setdefault(key, []).append(device)
    return tuple(
        Stage(counts, tuple(devices), first, last)
        for (counts, first, last), devices in found.items()
    )


def stage_models(
    model: Transformer | str, pipeline: int, *, axis: str = "pipeline"
) -> tuple[tuple[Transformer, int], ...]:
    """Each stage of a model as a model that can be asked alone, those alike as one, and how many.

    The first stage has the embedding, the last the unembedding, of its own where the model ties the
    two; every other one sends what it makes to the next, over ``axis``.

    >>> from costlib import models
    >>> [(stage.layers, alike) for stage, alike in stage_models(models["llama-3-8b"], 5)]
    [(6, 1), (7, 2), (6, 1), (6, 1)]
    """
    model = model_of(model)
    if pipeline == 1:
        return ((model, 1),)
    found: tuple[tuple[Transformer, int], ...] = remembered(_stage_models, model, pipeline, axis)
    return found


@lru_cache(maxsize=256)
def _stage_models(
    model: Transformer, pipeline: int, axis: str
) -> tuple[tuple[Transformer, int], ...]:
    different, order = layer_kinds(model)
    found: list[tuple[Transformer, int]] = []
    start = 0
    for at, count in enumerate(dealt(len(order), pipeline)):
        blocks = _in_blocks([different[kind] for kind in order[start : start + count]])
        storage = model.storage and replace(model.storage, first_layer=start)
        ends = {"is_first": at == 0, "sends_over": "" if at == pipeline - 1 else axis}
        stage = model.with_(blocks=blocks, storage=storage, tied=False, **ends)
        if found and _alike(stage, found[-1][0]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((stage, 1))
        start += count
    return tuple(found)


def _in_blocks(layers: list[Block]) -> tuple[Block, ...]:
    """Layers in order, those alike that follow one another as one block."""
    found: list[Block] = []
    for layer in layers:
        if found and same(replace(found[-1], layers=1), layer):
            found[-1] = replace(found[-1], layers=found[-1].layers + 1)
        else:
            found.append(layer)
    return tuple(found)


def _alike(one: Transformer, other: Transformer) -> bool:
    """Whether two stages hold and do the same, packed weights too."""
    ends = [(stage.is_first, stage.sends_over) for stage in (one, other)]
    if ends[0] != ends[1] or not same(one.blocks, other.blocks):
        return False
    return one.storage is None or one.precision == other.precision


def layer_kinds(model: Transformer | str) -> tuple[tuple[Block, ...], list[int]]:
    """The different layers of a model, and of which kind each is, in order.

    A model that is given by its sizes does not say where its layers with a window are: they are
    spread evenly.

    >>> from costlib import models
    >>> different, order = layer_kinds(models["gemma-2-9b"])
    >>> len(different), order[:4]
    (2, [0, 1, 0, 1])
    """
    model = model_of(model)
    different: list[Block] = []
    counts: list[tuple[int, int]] = []
    for block in model.blocks:
        one = replace(block, layers=1)
        kind = next((k for k, other in enumerate(different) if same(one, other)), len(different))
        if kind == len(different):
            different.append(one)
        counts.append((kind, one_size("layers", block.layers)))
    order = [kind for kind, count in counts for _ in range(count)]
    if "blocks" in model._derived and model.moe is None:
        places = [((at + 0.5) / count, kind) for kind, count in counts for at in range(count)]
        order = [kind for _, kind in sorted(places)]
    return tuple(different), order
