"""Long contexts: what a token reads and computes, as a function of its position.

The bytes that a step reads of a sequence's cache are a few straight lines in its context: full
attention a + b·T, a window b·min(T, W), a state a. Where two models cost the same is where their
lines cross.

Left out: FLOPs that no formula of `costlib.layers` has, such as the choice of the best keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.layers import Attending, CompressedAttention
from costlib.model.catalog import model_of
from costlib.model.transformer import Transformer
from costlib.units.numbers import Number, size
from costlib.units.precision import Precision, precision_of

__all__ = ["Lines", "crossings", "even_context", "mixing_flops", "read_lines"]

_FAR = 2**22


@dataclass(frozen=True, slots=True)
class Lines:
    """A number for each context: straight from one knot to the next, and on beyond the last."""

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, context: Any) -> Any:
        beyond = np.maximum(0, np.asarray(context, dtype=float) - self.knots[-1])
        return np.interp(context, self.knots, self.values) + beyond * self.slope

    @property
    def slope(self) -> float:
        """What each token adds in the end."""
        if len(self.knots) < 2:
            return 0.0
        (a, b), (c, d) = self.knots[-2:], self.values[-2:]
        return (d - c) / (b - a)


def read_lines(model: Transformer | str, precision: Precision | str | None = None) -> Lines:
    """Bytes of cache that a step moves for one sequence, read and written, against its context.

    >>> from costlib import models
    >>> lines = read_lines(models["llama-3.1-8b"])
    >>> lines.slope, float(lines(1000) - lines(999))  # 2 · 32 layers · 8 heads · 128 · 2 bytes
    (131072.0, 131072.0)
    """
    model = model_of(model)
    each = (model.precision if precision is None else precision_of(precision)).kv
    knots = sorted({1, _FAR, *(k + d for k in _bends(model) for d in (-1, 0, 1) if k + d > 1)})
    values = []
    for context in knots:
        step = model.decode(1, context)
        values.append(float((step.elements_read.kv + step.elements_written.kv) * each))
    return Lines(tuple(map(float, knots)), tuple(values))


def mixing_flops(model: Transformer | str, context: Number) -> Any:
    """FLOPs with which one new token is mixed with its context: scores, values, states.

    >>> from costlib import models
    >>> round(mixing_flops(models["llama-3.1-8b"], 8192) / 1e9, 1)  # 4 · 32 · 32 · 128 · 8193, ...
    4.3
    """
    model = model_of(model)
    step = model.decode(1, size("context", context))
    fixed = {each.name for each in model.steps()}
    return step.where(lambda op: op.name not in fixed).flops


def crossings(one: Lines, other: Lines) -> tuple[float, ...]:
    """Contexts at which two cost the same: on each piece, and beyond, where the lines cross.

    >>> full, state = Lines((1, 101), (10, 1010)), Lines((1, 101), (505, 505))
    >>> crossings(full, state)
    (50.5,)
    >>> crossings(full, Lines((1, 101), (2020, 2020)))
    (202.0,)
    """
    knots = np.array(sorted({*one.knots, *other.knots}))
    apart = one(knots) - other(knots)
    found = []
    for low, high, a, b in zip(knots, knots[1:], apart, apart[1:], strict=False):
        if a * b < 0 or (b == 0 and a != 0):
            found.append(float(low + (high - low) * a / (a - b)))
    steeper = one.slope - other.slope
    if apart[-1] * steeper < 0:
        found.append(float(knots[-1] - apart[-1] / steeper))
    return tuple(found)


def even_context(state: Number, per_token: Number) -> Any:
    """The context at which a KV cache is as large as a state: state elements / elements per token.

    >>> even_context(32 * 128 * 128, 2 * 8 * 128)
    256.0
    """
    return size("state", state) / size("per_token", per_token)


def _bends(model: Transformer) -> set[int]:
    """Contexts at which a layer's reads bend: full windows, and as many keys as are picked."""
    found = {cache.window for cache, _ in model.caches() if cache.window is not None}
    for block in model.blocks:
        for part in block.parts:
            if isinstance(part, (Attending, CompressedAttention)):
                indexer = getattr(part, "indexer", None)
                every = getattr(part, "every", None) or 1
                found |= {indexer.top * every} if indexer else set()
    return {int(each) for each in found}
