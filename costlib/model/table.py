"""All steps of a model, those that are alike as one: what every pass is read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from costlib.layers.grouped_attention import Attention
from costlib.layers.parts import (
    Part,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
    residual_step,
    same,
)
from costlib.units.numbers import Number, is_zero, plus


class StepTable:
    """A `costlib.Transformer`'s steps: until tokens are mixed, to the last norm, the unembedding.

    Layers that do the same are one row with their number.
    """

    def __init__(self, model: Any) -> None:
        self.params: Any = None  # counted when first asked for
        self.packed: Any = None
        self.own: Any = None
        d, norm = model.d_model, model.norm
        shapes: list[tuple[Part, Number]] = []
        mixers: list[tuple[Part, Number]] = []
        caches: list[tuple[Any, Number]] = []
        norms: list[tuple[PerToken, Number]] = []
        extra: list[tuple[PerToken, Number]] = []
        added: Number = 0
        for block in model.blocks:
            count_rows(norms, block.norm_step(d), block.norms * block.layers)
            added = plus(added, block.added * block.layers)
            for part in block.parts:
                count_rows(mixers, part, block.layers)
                count_rows(shapes, part.without_reach(), block.layers)
            for cache in block.caches:
                count_rows(caches, cache, block.layers)
            for step in block.extra:
                count_rows(extra, step, block.layers)
        final = [normalisation("final_norm", d, norm)] if model.final_norm else []
        is_last = not model.sends_over
        self.first = tuple(_first(model))
        self.final = (*final, *model.last) if is_last else ()
        before = _rows((part.before(d), layers) for part, layers in shapes)
        self.before = (*self.first, *_all(norms), *before)
        self.learns_positions = any(step.name == "positions" for step in self.before)
        self.after = (
            *_rows((part.after(d), layers) for part, layers in shapes),
            *_all(extra),
            *_repeated(residual_step(d), added),
            *self.final,
        )
        self.last = _last(model) if is_last else ()
        self.mixers = tuple(sorted(mixers, key=lambda row: _is_local(row[0])))  # global ones first
        self.caches = tuple(caches)
        self.senders = [(p, block.layers) for block in model.blocks for p in block.parts if p.sends]


def _repeated(step: PerToken, count: Number) -> list[PerToken]:
    return [] if is_zero(count) else [step * count]


def _is_local(part: Part) -> bool:
    return isinstance(part, Attention) and part.reach is not None


def count_rows(rows: list[tuple[Any, Number]], thing: Any, layers: Number) -> None:
    """Add layers to the row of the same thing, or begin one."""
    if is_zero(layers):
        return
    for index, (other, count) in enumerate(rows):
        if same(thing, other):
            rows[index] = (other, count + layers)
            return
    rows.append((thing, layers))


def _all(rows: Iterable[tuple[PerToken, Number]]) -> list[PerToken]:
    return [step * count for step, count in rows]


def _rows(steps: Iterable[tuple[Iterable[PerToken], Number]]) -> list[PerToken]:
    """The steps of all parts, those that are alike as one."""
    rows: list[tuple[PerToken, Number]] = []
    for some, layers in steps:
        for step in some:
            count_rows(rows, step, layers)
    return _all(rows)


def _first(model: Any) -> list[PerToken]:
    """The embedding and what belongs to it, and that of the MTP layers, which stand
    behind the last layer."""
    first = _embedding(model) if model.is_first else []
    if not is_zero(model.mtp_layers) and not model.sends_over:
        d, is_own = model.d_model, model.mtp_embeddings or not model.is_first
        table = model.vocab * d if is_own else 0
        first.append(PerToken("mtp.embedding", rows=d, writes=d, table=table) * model.mtp_layers)
    return [*first, *(model.first if model.is_first else ())]


def _last(model: Any) -> tuple[PerToken, ...]:
    """The unembedding or a classifier in its place, and that of the MTP layers."""
    width = model.d_model if model.embedding_width is None else model.embedding_width
    bias = "unembedding" in model.biases
    unembedding = linear_step("unembedding", width, model.vocab, bias=bias)
    again = replace(unembedding[0], name="mtp.unembedding", tied=not model.mtp_embeddings)
    return (*(model.head or unembedding), *_repeated(again, model.mtp_layers))


def _embedding(model: Any) -> list[PerToken]:
    d = model.d_model
    width = d if model.embedding_width is None else model.embedding_width
    first = [PerToken("embedding", rows=width, writes=width, table=model.vocab * width)]
    if not is_zero(model.positions):
        rows = {"rows": d, "table": model.positions * d}
        first.append(elementwise("positions", d, "residual", **rows))
    if model.embedding_norm:
        first.append(normalisation("embedding_norm", d, model.norm))
    return first
