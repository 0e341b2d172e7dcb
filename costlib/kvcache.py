"""Chapter 4: what a transformer keeps in memory, and what fits.

Every token leaves a key and a value in each layer's cache. A layer with a window keeps the newest
``window`` tokens, so its cache stops growing. Weights, cache and activations share a device's
memory: what they leave free is how far batch and context can go.

Left out: fragmentation, the allocator's reserve, and whatever else runs on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from costlib.attention import SCORES
from costlib.ledger import Holding
from costlib.numbers import Number, ceil_div, choose, is_symbolic, maximum, minimum, size
from costlib.precision import Precision, precision_of

if TYPE_CHECKING:
    from costlib.transformer import Transformer

__all__ = [
    "ADAM_BYTES",
    "Fit",
    "Memory",
    "cached_tokens",
    "held_bytes",
    "kv_bytes",
    "kv_elements",
    "largest_batch",
    "largest_context",
    "memory",
    "saved_activations",
    "training_memory",
]

#: Bytes per parameter that mixed-precision training with Adam keeps.
ADAM_BYTES = {
    "weights": 2,  # what the forward pass reads, in 16 bits
    "gradients": 2,
    "master weights": 4,  # in 32 bits, so that small updates are not rounded away
    "first moment": 4,
    "second moment": 4,
}


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes by what they are for.

    >>> Memory(weights=10, kv=5).total
    15
    """

    weights: Number
    kv: Number = 0
    activations: Number = 0
    gradients: Number = 0
    optimizer: Number = 0

    @property
    def total(self) -> Number:
        """All of them."""
        return self.weights + self.kv + self.activations + self.gradients + self.optimizer


@dataclass(frozen=True, slots=True)
class Fit:
    """The largest value that fits, and the inequality it solves, as LaTeX with the numbers in.

    ``largest`` is 0 where not even one fits, and infinite where nothing grows any more.
    """

    largest: Number
    inequality: str

    def _repr_latex_(self) -> str:
        return f"${self.inequality}$"


def cached_tokens(context: Number, window: Number | None = None) -> Number:
    """Tokens of the context that one layer's cache holds: T, or with a window min(T, W).

    >>> cached_tokens(1000), cached_tokens(1000, 4096), cached_tokens(10_000, 4096)
    (1000, 1000, 4096)
    """
    context = size("context", context, least=0)
    return context if window is None else minimum(context, size("window", window))


def kv_elements(model: Transformer, batch: Number, context: Number) -> Number:
    """Elements of the cache of all layers: per token and layer 2·K·h, or r + rope with MLA.

    >>> from costlib.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000, kv_heads=8)
    >>> kv_elements(model, 1, 1000)
    65536000
    """
    batch = size("batch", batch)
    tokens = model.global_layers * cached_tokens(context)
    if model.window is not None:
        tokens = tokens + model.local_layers * cached_tokens(context, model.window)
    return batch * (model.kv_elements_per_layer() * tokens)


def kv_bytes(
    model: Transformer, batch: Number, context: Number, precision: Precision | str | None = None
) -> Number:
    """Bytes of the cache: elements times the bytes of one.

    >>> from costlib.transformer import Transformer
    >>> model = Transformer(
    ...     layers=32, d_model=4096, heads=32, d_ff=14336, vocab=32000,
    ...     kv_heads=8, window=4096,
    ... )
    >>> kv_bytes(model, 1, 4096) == kv_bytes(model, 1, 100_000)
    True
    """
    return kv_elements(model, batch, context) * precision_of(precision).kv


def held_bytes(holds: Holding, precision: Precision | str | None = None) -> Number:
    """Bytes of weights and cache that lie in memory while a pass runs.

    >>> from costlib.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> held_bytes(model.decode(1, 4095).holds)
    15624314880
    """
    each = precision_of(precision)
    cache = kv_elements(holds.model, holds.batch, holds.context) * each.kv
    return holds.model.params() * each.weights + cache


def memory(
    model: Transformer, batch: Number, context: Number, precision: Precision | str | None = None, *,
    new: Number = 1, scores: str = "on-chip",
) -> Memory:  # fmt: skip
    """What inference keeps while ``new`` tokens a sequence join ``context`` cached ones.

    Weights, the cache of context + new tokens, and peak activations: the residual stream and the
    widest step's inputs and outputs, one layer at a time, logits included.

    >>> from costlib.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> model.memory(1, 4095).kv / 2**30
    2.0
    """
    precision = precision_of(precision)
    choose("scores", scores, SCORES)
    batch, new = size("batch", batch), size("new", new)
    keys = size("context", context, least=0) + new
    matrix = batch * model.heads * new * keys if scores == "materialised" else 0
    return Memory(
        weights=model.params() * precision.weights,
        kv=kv_bytes(model, batch, keys, precision),
        activations=batch * new * (model.d_model + _widest_step(model)) * precision.activations
        + 2 * matrix * precision.scores,
    )


def training_memory(
    model: Transformer, batch: Number, seq: Number, precision: Precision | str | None = None, *,
    recompute: str | None = None, scores: str = "on-chip",
) -> Memory:  # fmt: skip
    """What a training step with Adam keeps, in mixed precision: see `ADAM_BYTES`.

    Activations: what each step read, kept until its gradient needs it. ``recompute="selective"``
    keeps no scores; ``"full"`` keeps only each layer's input, and one layer's worth while it is
    run again. Logits are kept once, and so is their gradient.

    >>> from costlib.transformer import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> training_memory(tiny, 1, 16).optimizer
    3112704
    """
    precision = precision_of(precision)
    choose("scores", scores, SCORES)
    choose("recompute", recompute, (None, "selective", "full"))
    batch, seq = size("batch", batch), size("seq", seq)
    tokens, parameters = batch * seq, model.params()
    kept = tokens * saved_activations(model) * precision.activations
    if scores == "materialised" and recompute is None:
        kept = kept + model.layers * batch * model.heads * seq * seq * precision.scores
    if recompute == "full":
        inputs = model.layers * tokens * model.d_model * precision.activations
        kept = inputs + ceil_div(kept, model.layers)  # layers may differ: the average one
    return Memory(
        weights=parameters * ADAM_BYTES["weights"],
        gradients=parameters * ADAM_BYTES["gradients"],
        optimizer=parameters * sum(list(ADAM_BYTES.values())[2:]),
        activations=kept + 2 * tokens * model.vocab * precision.activations,
    )


def saved_activations(model: Transformer) -> Number:
    """Activations per token that the backward pass of all layers needs, scores aside.

    Each layer: the inputs of its norms, what they feed to the projections and the feed-forward
    layer, queries, keys and values, o_proj's input, and the feed-forward layer's inner ones.

    >>> from costlib.transformer import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> saved_activations(tiny)  # 2 layers of 4·64 + 4·64 + 3·256
    2560
    """
    heads, m, moe, inner = model.heads, model.mla, model.moe, 3 if model.gated else 2
    if m:
        latents = m.kv_rank + m.rope_dim + (0 if m.q_rank is None else m.q_rank)
        projected = latents + 2 * heads * (m.head_dim + m.value_dim)
    else:
        # queries and keys; values and o_proj's input together are as many
        made = (heads + model.kv_heads) * model.head_dim
        projected = (3 if model.qk_norm else 2) * made
    each = (model.norms + (1 if model.parallel else 2)) * model.d_model + projected
    if moe is None:
        return model.layers * (each + inner * model.d_ff)
    sparse = moe.per_token * (inner * moe.width + 2 * model.d_model) + inner * moe.shared_width
    dense = moe.dense_layers * inner * model.d_ff
    return model.layers * each + dense + (model.layers - moe.dense_layers) * sparse


def largest_batch(
    model: Transformer, capacity: Number, context: Number, precision: Precision | str | None = None
) -> Fit:
    """The most sequences of ``context`` tokens that fit: ⌊(capacity − weights) / cache of one⌋.

    >>> from costlib.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> fit = largest_batch(model, 80 * 10**9, 4096)
    >>> fit.largest, fit.inequality
    (30, '13476831232 + B \\\\cdot 2147564032 \\\\le 80000000000')
    """
    one = memory(model, 1, size("context", context) - 1, precision)
    each = one.kv + one.activations
    largest = maximum(0, (capacity - one.weights) // each)
    return Fit(largest, f"{_tex(one.weights)} + B \\cdot {_tex(each)} \\le {_tex(capacity)}")


def largest_context(
    model: Transformer, capacity: Number, batch: Number, precision: Precision | str | None = None
) -> Fit:
    """The longest context that fits ``batch`` sequences beside the weights.

    The cache grows by a bytes a token in global layers and by b in local ones, up to the window:
    min((a + b)·T, a·T + b·W) must fit, so that T is the larger of the two answers.

    >>> from costlib.transformer import Transformer
    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> largest_context(model, 80 * 10**9, 1).largest
    126882
    """
    precision, batch = precision_of(precision), size("batch", batch)
    one = memory(model, batch, 0, precision)
    free = capacity - one.weights - one.activations
    each = batch * model.kv_elements_per_layer() * precision.kv
    growing, bounded = each * model.global_layers, each * model.local_layers
    longest = free // (growing + bounded)
    left = f"{_tex(one.weights)} + {_tex(one.activations)} + T \\cdot {_tex(growing)}"
    right = f" \\le {_tex(capacity)}"
    if model.window is None:
        return Fit(maximum(0, longest), left + right)
    inequality = f"{left} + \\min(T, {_tex(model.window)}) \\cdot {_tex(bounded)}{right}"
    beyond = free - bounded * model.window
    if isinstance(growing, (int, float)) and growing == 0:
        return Fit(inf if beyond >= 0 else maximum(0, longest), inequality)
    return Fit(maximum(0, maximum(longest, beyond // growing)), inequality)


def _widest_step(model: Transformer) -> Number:
    """The most activations per token that one step reads and writes."""
    widest: Number = 0
    for step in model.steps():
        widest = maximum(widest, (step.reads + step.writes + step.kv_writes) // step.times)
    return widest


def _tex(value: Number) -> str:
    if is_symbolic(value):
        from costlib.display import latex

        return latex(value)
    return str(int(value)) if isinstance(value, (int, float)) else "(\\ldots)"
