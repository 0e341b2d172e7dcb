"""Chapter 4: what a transformer keeps in memory, and what fits.

Every token leaves a key and a value in each layer's cache. A layer with a window keeps the newest
``window`` tokens, so its cache stops growing. Weights, cache and activations share a device's
memory: what they leave free is how far batch and context can go.

Of a device's memory a `RESERVE` is not usable. Left out: fragmentation, and whatever else
runs on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

from costlib.layers.attention import SCORES
from costlib.model.catalog.lookup import named
from costlib.model.engines import Engine, engine_of
from costlib.units.device import RESERVE, Device
from costlib.units.display import latex
from costlib.units.ledger import Holding
from costlib.units.numbers import (
    Number,
    amount,
    choose,
    is_one,
    is_symbolic,
    is_zero,
    maximum,
    minimum,
    plus,
    size,
    total,
)
from costlib.units.precision import Precision, precision_of

__all__ = [
    "RESERVE",
    "Fit",
    "Memory",
    "cached_tokens",
    "held_bytes",
    "kv_bytes",
    "kv_elements",
    "largest_batch",
    "largest_context",
    "memory",
]


Model = Any  #: a `costlib.Transformer`, which is built on this module, or the name of one


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes by what they are for; ``buffers``: what one of many devices has whole for a moment.

    >>> Memory(weights=10, kv=5).total
    15
    """

    weights: Number
    kv: Number = 0
    activations: Number = 0
    gradients: Number = 0
    optimizer: Number = 0
    buffers: Number = 0

    @property
    def total(self) -> Any:
        """All of them."""
        state = self.weights + self.gradients + self.optimizer
        return state + self.kv + self.activations + self.buffers


@dataclass(frozen=True, slots=True)
class Fit:
    """The largest value that fits, and the inequality it solves, as LaTeX with the numbers in.

    ``largest`` is 0 where not even one fits, and infinite where nothing grows any more.
    """

    largest: Number
    inequality: str

    def _repr_latex_(self) -> str:
        return f"${self.inequality}$"


def cached_tokens(context: Number, window: Number | None = None) -> Any:
    """Tokens of the context that one layer's cache holds: T, or with a window min(T, W).

    >>> cached_tokens(1000), cached_tokens(1000, 4096), cached_tokens(10_000, 4096)
    (1000, 1000, 4096)
    """
    context = size("context", context, least=0)
    return context if window is None else minimum(context, size("window", window))


def kv_elements(model: Model, batch: Number, context: Number, encoded: Number = 0) -> Any:
    """Elements of the cache of all layers: per token and layer 2·K·h, or r + rope with MLA.

    What does not grow counts too: the states of scans and convolutions, where a model has them, and
    keys and values of the ``encoded`` tokens that an encoder has read.

    >>> from costlib.model.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000, kv_heads=8)
    >>> kv_elements(model, 1, 1000)
    65536000
    """
    batch, context = size("batch", batch), size("context", context, least=0)
    model = named("model", model)
    model.check_context(context)
    kept = [layers * cache.elements(context) for cache, layers in model.caches()]
    if hasattr(context, "shape"):
        kept.append(0 * context)  # states too, one a context
    if not is_zero(encoded):
        kept.append(size("encoded", encoded) * _of_all_parts(model, "cached_of_encoded"))
    return batch * total(kept)


def _of_all_parts(model: Model, name: str) -> Any:
    """The sum over all layers of one number of their parts."""
    return total(b.layers * getattr(p, name) for b in model.blocks for p in b.parts)


def kv_bytes(
    model: Model, batch: Number, context: Number, precision: Precision | str | None = None
) -> Any:
    """Bytes of the cache: elements times the bytes of one.

    >>> from costlib.model.transformer import Transformer
    >>> model = Transformer(
    ...     layers=32, d_model=4096, heads=32, d_ff=14336, vocab=32000,
    ...     kv_heads=8, window=4096,
    ... )
    >>> kv_bytes(model, 1, 4096) == kv_bytes(model, 1, 100_000)
    True
    """
    model = named("model", model)
    return kv_elements(model, batch, context) * _own(model, precision).kv


def held_bytes(holds: Holding, precision: Precision | str | None = None) -> Any:
    """Bytes of weights and cache that lie in memory while a pass runs.

    >>> from costlib.model.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> held_bytes(model.decode(1, 4095).holds)
    15624314880
    """
    each = _own(holds.model, precision)
    cache = kv_elements(holds.model, holds.batch, holds.context, holds.encoded) * each.kv
    return holds.model.weight_bytes(precision) + cache


def memory(
    model: Model,
    batch: Number,
    context: Number,
    precision: Precision | str | None = None,
    *,
    new: Number = 1,
    scores: str = "on-chip",
    encoded: Number = 0,
) -> Memory:
    """What inference keeps while ``new`` tokens a sequence join ``context`` cached ones.

    Weights, the cache of context + new tokens (and of those that an encoder has read), and peak
    activations: the residual stream and the widest step's inputs and outputs, one layer at a time,
    logits included. Without a precision, a model whose checkpoint is packed has its own, others 16
    bits.

    >>> from costlib.model.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> model.memory(1, 4095).kv / 2**30
    2.0
    """
    model = named("model", model)
    each = _own(model, precision)
    choose("scores", scores, SCORES)
    batch, new = size("batch", batch), size("new", new)
    keys = size("context", context, least=0) + new
    matrix = batch * _score_heads(model) * new * keys if scores == "materialised" else 0
    return Memory(
        weights=model.weight_bytes(precision),
        kv=kv_elements(model, batch, keys, encoded) * each.kv,
        activations=batch * new * (model.d_model + _widest_step(model)) * each.activations
        + 2 * matrix * each.scores,
    )


def _whole(count: Any) -> Any:
    """A count as an int: bytes of packed weights are fractions, and so was what came of them."""
    return int(count) if isinstance(count, float) and count.is_integer() else count


def largest_batch(
    model: Model,
    room: Number | Device | str,
    context: Number,
    precision: Precision | str | None = None,
    *,
    engine: Engine | str | None = None,
) -> Fit:
    """The most sequences of ``context`` tokens that fit: ⌊(room − weights) / cache of one⌋.

    ``room`` is bytes, or a device: its memory less the `RESERVE`. With an ``engine`` they are as
    many as that engine would take on: what it gives its caches, by what it charges a sequence (see
    `costlib.model.engines`).

    >>> from costlib.model.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> fit = largest_batch(model, 80 * 10**9, 4096)
    >>> fit.largest, fit.inequality
    (30, '13476831232 + B \\\\cdot 2147564032 \\\\le 80000000000')
    >>> from costlib import devices
    >>> largest_batch(model, devices["A100-80GB"], 4096).largest
    29
    >>> largest_batch(model, devices["A100-80GB"], 4096, engine="vllm").largest
    29
    """
    model, found = named("model", model), _room(room)
    if engine is not None:
        return _charged_batch(model, found, context, precision, engine)
    given = _bytes(found)
    one = memory(model, 1, size("context", context) - 1, precision)
    each = one.kv + one.activations
    largest = maximum(0, (given - one.weights) // each)
    return Fit(_whole(largest), f"{_tex(one.weights)} + B \\cdot {_tex(each)} \\le {_tex(given)}")


def _charged_batch(
    model: Model,
    room: Number | Device,
    context: Number,
    precision: Precision | str | None,
    engine: Engine | str,
) -> Fit:
    """The most sequences that an engine would take on."""
    _bytes(room)  # says so where there is no capacity
    whole, name = (room.capacity, room.name) if isinstance(room, Device) else (room, "")
    charges = engine_of(engine, whole, name)
    given = charges.given(model, whole, precision)
    each = charges.charged(model, size("context", context), precision)
    largest = _whole(maximum(0, given // each))
    return Fit(largest, f"B \\cdot {_tex(each)} \\le {_tex(given)}")


def largest_context(
    model: Model,
    room: Number | Device | str,
    batch: Number,
    precision: Precision | str | None = None,
) -> Fit:
    """The longest context that fits ``batch`` sequences beside the weights, as `largest_batch`.

    The cache grows by a bytes a token in global layers and by b in local ones, up to the window:
    min((a + b)·T, a·T + b·W) must fit, so that T is the larger of the two answers. What has one
    size, as the states of scans have, is taken from the room first. It is never more than there are
    learned positions.

    >>> from costlib.model.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> largest_context(model, 80 * 10**9, 1).largest
    126882
    """
    model, given, batch = named("model", model), _bytes(_room(room)), size("batch", batch)
    one = memory(model, batch, 0, precision)
    each = batch * _own(model, precision).kv
    grows = [(c, layers) for c, layers in model.caches() if not is_zero(c.per_token)]
    fixed: Number = one.activations
    for cache, layers in model.caches():
        fixed = plus(fixed, 0 if is_zero(cache.state) else each * layers * cache.state)
    growing: Number = 0
    bounded: list[tuple[Number, Number]] = []
    for cache, layers in grows:
        rate = each * layers * cache.per_token
        rate = rate if is_one(cache.every) else rate / cache.every
        if cache.window is None:
            growing = plus(growing, rate)
        else:
            bounded.append((cache.window, rate))
    largest = _longest(given - one.weights - fixed, growing, bounded)
    if model.learned_positions is not None:
        largest = minimum(largest, model.learned_positions)
    text = f"{_tex(one.weights)} + {_tex(fixed)} + T \\cdot {_tex(growing)}"
    for window, rate in bounded:
        text += f" + \\min(T, {_tex(window)}) \\cdot {_tex(rate)}"
    return Fit(_whole(largest), f"{text} \\le {_tex(given)}")


def _longest(free: Number, growing: Number, bounded: Sequence[tuple[Number, Number]]) -> Any:
    """The largest T with growing·T + Σ rate·min(T, window) ≤ free.

    Each minimum is at most either side: the sum is the least over all ways to choose a side, and T
    is the largest of their answers.
    """
    longest: Number = 0
    for sides in product((True, False), repeat=len(bounded)):
        rate, room = growing, free
        for is_full, (window, each) in zip(sides, bounded, strict=True):
            rate, room = (rate, room - each * window) if is_full else (plus(rate, each), room)
        if is_zero(rate):
            longest = maximum(longest, inf if room >= 0 else 0)
        else:
            longest = maximum(longest, room // rate)
    return longest


def _bytes(room: Number | Device) -> Any:
    """The bytes that there are for weights and cache."""
    return room.usable if isinstance(room, Device) else room


def _room(room: Number | Device | str) -> Any:
    """Bytes, or a device, perhaps by its name."""
    if isinstance(room, (str, Device)):
        return named("device", room)
    return amount("room", room, least=0)


def _own(model: Model, precision: Precision | str | None) -> Precision:
    """The precision asked for, or else the model's own."""
    return model.precision if precision is None else precision_of(precision)


def _score_heads(model: Model) -> Any:
    """The most heads that a layer has scores of."""
    most: Number = 0
    for block in model.blocks:
        for part in block.parts:
            most = maximum(most, part.score_heads)
    return most


def _widest_step(model: Model) -> Any:
    """The most activations per token that one step reads and writes."""
    widest: Number = 0
    for step in model.steps():
        widest = maximum(widest, (step.reads + step.writes + step.kv_writes) // step.times)
    return widest


def _tex(value: Number) -> str:
    if is_symbolic(value):
        return latex(value)
    return str(int(value)) if isinstance(value, (int, float)) else "(\\ldots)"
