"""All steps of a model, those that are alike as one: what every pass is read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from costlib.layers.attention_kinds import Attention
from costlib.layers.parts import (
    Block,
    Part,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
    plus,
    same,
    times,
)
from costlib.units.numbers import Number, is_zero


class Model(Protocol):
    """What a table is made from: `costlib.Transformer` has it."""

    @property
    def blocks(self) -> tuple[Block, ...]: ...
    @property
    def d_model(self) -> Number: ...
    @property
    def vocab(self) -> Number: ...
    @property
    def norm(self) -> str: ...
    @property
    def final_norm(self) -> bool: ...
    @property
    def embedding_norm(self) -> bool: ...
    @property
    def embedding_width(self) -> Number | None: ...
    @property
    def positions(self) -> Number: ...
    @property
    def biases(self) -> tuple[str, ...]: ...
    @property
    def first(self) -> tuple[PerToken, ...]: ...
    @property
    def last(self) -> tuple[PerToken, ...]: ...
    @property
    def head(self) -> tuple[PerToken, ...]: ...
    @property
    def predicted(self) -> Number: ...
    @property
    def copied(self) -> bool: ...
    @property
    def is_first(self) -> bool: ...
    @property
    def hands_on(self) -> str: ...


class Table:
    """A model's steps: until tokens are mixed, from there to the last norm, and the unembedding.

    Layers that do the same are one row, so many times over.
    """

    __slots__ = ("after", "before", "caches", "last", "mixers", "own", "packed", "params")

    def __init__(self, model: Model) -> None:
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
        residual = elementwise("residual", d, "residual", reads=2 * d, gradient=1)
        final = [normalisation("final_norm", d, norm)] if model.final_norm else []
        is_last = not model.hands_on
        bias = "unembedding" in model.biases
        self.before = (*_first(model), *_all(norms), *_rows(shapes, "before", d))
        self.after = (
            *_rows(shapes, "after", d),
            *_all(extra),
            *times([residual], added),
            *((*final, *model.last) if is_last else ()),
        )
        width = d if model.embedding_width is None else model.embedding_width
        unembedding = linear_step("unembedding", width, model.vocab, bias=bias)
        again = replace(unembedding[0], name="ahead.unembedding", borrowed=not model.copied)
        ending = (*(model.head or unembedding), *times([again], model.predicted))
        self.last = ending if is_last else ()
        # global layers come first
        self.mixers = tuple(sorted(mixers, key=lambda row: _is_local(row[0])))
        self.caches = tuple(caches)


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


def _rows(shapes: list[tuple[Part, Number]], side: str, d: Number) -> list[PerToken]:
    """The steps of all parts on one side of the mixing."""
    rows: list[tuple[PerToken, Number]] = []
    for part, layers in shapes:
        for step in getattr(part, side)(d):
            count_rows(rows, step, layers)
    return _all(rows)


def _first(model: Model) -> list[PerToken]:
    """The embedding and what belongs to it, and that of heads for further tokens, which stand
    behind the last layer."""
    first = _embedding(model) if model.is_first else []
    if not is_zero(model.predicted) and not model.hands_on:
        d, is_own = model.d_model, model.copied or not model.is_first
        table = model.vocab * d if is_own else 0
        first.append(PerToken("ahead.embedding", rows=d, writes=d, table=table) * model.predicted)
    return [*first, *(model.first if model.is_first else ())]


def _embedding(model: Model) -> list[PerToken]:
    d = model.d_model
    width = d if model.embedding_width is None else model.embedding_width
    first = [PerToken("embedding", rows=width, writes=width, table=model.vocab * width)]
    if not is_zero(model.positions):
        rows = {"rows": d, "table": model.positions * d}
        first.append(elementwise("positions", d, "residual", **rows))
    if model.embedding_norm:
        first.append(normalisation("embedding_norm", d, model.norm))
    return first
