"""Chapter 2: what attention costs.

Each of S queries meets up to T keys: a score is a dot product of length h, a softmax turns each
query's scores into weights, and the weighted sum of values is a second product. GQA lets several
query heads share one KV head: that saves KV traffic, never FLOPs. What a mask leaves is counted
exactly, as a number of (query, key) pairs.

Left out: the scale 1/√h (folded into the queries), the mask's own additions, soft caps, dropout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.matmul import product_flops
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import (
    Number,
    certain,
    choose,
    divides,
    flag,
    is_one,
    is_symbolic,
    is_zero,
    maximum,
    minimum,
    size,
    sizes,
    triangle,
    where,
)
from costlib.units.precision import KINDS

__all__ = [
    "FLOPS_PER_ELEMENT",
    "MLA",
    "attention",
    "attention_backward",
    "keys_read",
    "latent_attention",
    "pairs",
]

#: FLOPs per element of every step that is not a matmul: a convention, stated here once. An exp,
#: a tanh, a division and a comparison are each counted as one.
FLOPS_PER_ELEMENT = {
    "softmax": 5,  # max, subtract it, exp, sum, divide
    "softmax.backward": 4,  # times its gradient, sum over the row, subtract, times the weight
    "rms_norm": 4,  # square, sum, times 1/rms, times the weight
    "layer_norm": 7,  # sum, subtract the mean, square, sum, times 1/std, times weight, plus bias
    "layer_norm_no_bias": 6,  # the same without the bias
    "plain_norm": 5,  # the same without weight and bias
    "silu": 4,  # x / (1 + exp(−x)): negate, exp, add, divide
    "gelu": 5,  # x/2 · (1 + erf(x/√2)): scale, erf, add, times x, halve
    "gelu_tanh": 9,  # x/2 · (1 + tanh(a·(x + b·x³))): two for x³, b, add, a, tanh, add, x, halve
    "relu": 1,
    "relu2": 2,  # relu, square
    "xielu": 6,  # a·(exp(x) − 1 − x) + b·x, the longer of its two halves
    "gate": 1,  # the product of the two halves of a gated feed-forward layer
    "sigmoid_gate": 4,  # x / (1 + exp(−g)): negate, exp, add, divide
    "silu_gate": 5,  # silu, product
    "gelu_gate": 10,  # gelu_tanh, product
    "rotary": 3,  # two multiplications and an addition
    "residual": 1,
    "bias": 1,
    "combine": 2,  # times the router's weight, add
}

SCORES = ("on-chip", "materialised")
MASKED = ("skipped", "computed")
FORMS = ("cheaper", "naive", "absorbed")


@dataclass(frozen=True, slots=True, kw_only=True)
class MLA:
    """Multi-head latent attention: widths of the latents and of the parts of a head.

    ``q_rank`` is None where queries are projected in one step.
    """

    kv_rank: Number
    nope_dim: Number
    rope_dim: Number
    value_dim: Number
    q_rank: Number | None = None

    def __post_init__(self) -> None:
        check_sizes(self, "kv_rank", "nope_dim", "value_dim")
        check_sizes(self, "rope_dim", least=0)
        if self.q_rank is not None:
            check_sizes(self, "q_rank")

    @property
    def head_dim(self) -> Any:
        """Width of a head's queries and keys: a part without rotation and a part with."""
        return self.nope_dim + self.rope_dim


def pairs(
    seq: Number,
    context: Number | None = None,
    *,
    causal: bool = False,
    window: Number | None = None,
    masked: str = "skipped",
) -> Any:
    """(Query, key) pairs that attention computes for the last ``seq`` of ``context`` tokens.

    Full S·T; causal S·(T − S) + S·(S + 1)/2. In a window each query sees itself and the
    ``window`` − 1 tokens before it: the first r = min(S, W − (T − S)) queries (if any) see all
    before them, r·(T − S) + r·(r + 1)/2, and the others W each. With ``masked="computed"`` every
    query meets every key that is read, as in most counters.

    >>> pairs(4, causal=True), pairs(4, 10, causal=True), pairs(4, 10, window=3)
    (10, 34, 12)
    >>> pairs(4, 10, causal=True, masked="computed")
    40
    >>> from costlib.units.numbers import symbols
    >>> S, T = symbols("S T")
    >>> pairs(S, T, causal=True)
    S*(-S + T) + S*(S + 1)/2
    """
    seq, context, _, window = _checked_span(seq, context, causal, window)
    choose("masked", masked, MASKED)
    flag("causal", causal)
    return pairs_unchecked(seq, context, causal, window, masked)


def keys_read(seq: Number, context: Number | None = None, window: Number | None = None) -> Any:
    """Keys that at least one of the last ``seq`` queries sees: T, in a window min(T, W − 1 + S).

    >>> keys_read(1, 5000, window=4096), keys_read(10, 5000, window=4096), keys_read(1, 5000)
    (4096, 4105, 5000)
    """
    seq, context, _, window = _checked_span(seq, context, False, window)
    return keys_unchecked(seq, context, window)


def attention(
    batch: Number,
    seq: Number,
    heads: Number,
    head_dim: Number,
    *,
    kv_heads: Number | None = None,
    context: Number | None = None,
    causal: bool = False,
    window: Number | None = None,
    scores: str = "on-chip",
    masked: str = "skipped",
    value_dim: Number | None = None,
) -> Ledger:
    """Attention of ``seq`` queries to ``context`` keys (cached and new; ``seq`` unless given).

    scores 2·B·H·h·pairs, softmax 5·B·H·pairs, values 2·B·H·h·pairs FLOPs; see `pairs`. K and V are
    read once per KV head. On chip, scores are never moved; materialised, they are written, read
    and written by the softmax, and read again. A window looks back only: it is causal.

    >>> ledger = attention(1, 2, 1, 4, scores="materialised")
    >>> ledger.names, ledger.flops, ledger.elements
    (('scores', 'softmax', 'values'), 84, 48)
    >>> from costlib.units.numbers import symbols
    >>> B, T, H, h = symbols("B T H h")
    >>> attention(B, 1, H, h, context=T)["scores"].flops
    2*B*H*T*h
    """
    widths, span = (heads, kv_heads, head_dim, value_dim), (seq, context, causal, window)
    return Ledger(_core(batch, widths, span, scores, masked).forward())


def attention_backward(
    batch: Number,
    seq: Number,
    heads: Number,
    head_dim: Number,
    *,
    kv_heads: Number | None = None,
    context: Number | None = None,
    causal: bool = False,
    window: Number | None = None,
    scores: str = "on-chip",
    masked: str = "skipped",
    value_dim: Number | None = None,
) -> Ledger:
    """The gradients of `attention`: two products for each of its two.

    dV = Pᵀ·dO and dP = dO·Vᵀ, the softmax's gradient dS, then dQ = dS·K and dK = dSᵀ·Q. Scores
    kept on chip in the forward pass are gone: they are computed again, a fifth product.

    >>> forward, backward = attention(1, 64, 4, 16), attention_backward(1, 64, 4, 16)
    >>> backward.matmul_flops / forward.matmul_flops
    2.5
    >>> kept = attention_backward(1, 64, 4, 16, scores="materialised")
    >>> kept.matmul_flops / forward.matmul_flops
    2.0
    """
    widths, span = (heads, kv_heads, head_dim, value_dim), (seq, context, causal, window)
    return Ledger(_core(batch, widths, span, scores, masked).backward())


def latent_attention(
    batch: Number,
    seq: Number,
    heads: Number,
    *,
    kv_rank: Number,
    nope_dim: Number,
    rope_dim: Number,
    value_dim: Number,
    context: Number | None = None,
    causal: bool = False,
    form: str = "cheaper",
    scores: str = "on-chip",
    masked: str = "skipped",
) -> Ledger:
    """Multi-head latent attention: one latent of ``kv_rank`` and one rotary key for all heads.

    naive: the latents of all T keys are expanded to H keys and values, 2·B·T·r·H·(nope + v) FLOPs,
    then attention with head_dim nope + rope. absorbed: each query is moved into the latent space
    instead, 2·B·S·H·nope·r, meets the T latents as one KV head of width r + rope, and the result
    is moved back, 2·B·S·H·r·v. cheaper: the one with fewer FLOPs for these sizes (for one query,
    the absorbed one).

    >>> sizes = dict(kv_rank=512, nope_dim=128, rope_dim=64, value_dim=128, context=4096)
    >>> latent_attention(1, 1, 16, **sizes).names
    ('q_absorb', 'scores', 'softmax', 'values', 'v_absorb')
    >>> latent_attention(1, 4096, 16, **sizes).names
    ('kv_b_proj', 'scores', 'softmax', 'values')
    """
    mla = MLA(kv_rank=kv_rank, nope_dim=nope_dim, rope_dim=rope_dim, value_dim=value_dim)
    widths, span = (heads, heads, mla.head_dim, mla.value_dim), (seq, context, causal, None)
    choose("form", form, FORMS)
    return Ledger(latent_stages(_core(batch, widths, span, scores, masked), mla, form))


# What follows is called with sizes that have been checked, also by the transformer's blocks.


def pairs_unchecked(
    seq: Number, context: Number, causal: bool, window: Number | None, masked: str
) -> Any:
    """See `pairs`."""
    if masked == "computed":
        return seq * keys_unchecked(seq, context, window)
    if window is None:
        return seq * (context - seq) + triangle(seq) if causal else seq * context
    cached = context - seq
    ramp = maximum(0, minimum(seq, window - cached))
    return ramp * cached + triangle(ramp) + (seq - ramp) * window


def keys_unchecked(seq: Number, context: Number, window: Number | None) -> Any:
    """See `keys_read`."""
    return context if window is None else minimum(context, window - 1 + seq)


@dataclass(frozen=True, slots=True)
class Core:
    """Attention over ``met`` pairs and ``read`` keys, in ``times`` layers, ``steps`` times over.

    Products are formed so that arrays broadcast late: (batch, 1) meets (1, context) once an op.
    """

    batch: Number
    seq: Number
    met: Number
    read: Number
    heads: Number
    kv_heads: Number
    head_dim: Number
    value_dim: Number
    scores: str
    times: Number = 1
    steps: Number = 1

    def forward(self, keys_are: str = "kv", *, shared: bool = False) -> tuple[Op, ...]:
        """Scores, softmax, values; ``shared``: values are part of the keys, on chip read once."""
        matrix, keys = self._matrix(), self._keys(self.head_dim, keys_are)
        values_are_here = shared and self.scores == "on-chip"
        values = Elements() if values_are_here else self._keys(self.value_dim, keys_are)
        queries, outputs = self._queries(self.head_dim), self._queries(self.value_dim)
        softmax = self._flops(FLOPS_PER_ELEMENT["softmax"])
        return (
            self.op("scores", self._product(self.head_dim), queries + keys, matrix),
            self.op("softmax", softmax, matrix, matrix, is_matmul=False),
            self.op("values", self._product(self.value_dim), matrix + values, outputs),
        )

    def backward(self) -> tuple[Op, ...]:
        """The gradients of `forward`; those of K and V are kv, like K and V themselves."""
        matrix, keys, values = self._matrix(), self._keys(self.head_dim), self._keys(self.value_dim)
        queries, outputs = self._queries(self.head_dim), self._queries(self.value_dim)
        by_head, by_value = self._product(self.head_dim), self._product(self.value_dim)
        softmax = self._flops(FLOPS_PER_ELEMENT["softmax.backward"])
        again = self.op("scores.recomputed", by_head, queries + keys, matrix)
        return (
            *((again,) if self.scores == "on-chip" else ()),
            self.op("values.grad_values", by_value, matrix + outputs, values),
            self.op("values.grad_scores", by_value, outputs + values, matrix),
            self.op("softmax.backward", softmax, matrix + matrix, matrix, is_matmul=False),
            self.op("scores.grad_queries", by_head, matrix + keys, queries),
            self.op("scores.grad_keys", by_head, matrix + queries, keys),
        )

    def absorb(self, name: str, d_in: Number, d_out: Number) -> Op:
        """A product of every query with its head's own matrix, read once for each step."""
        tokens, width = self.batch * self.seq, self.times * self.heads
        into = Elements(weights=self.steps * width * d_in * d_out) + self._queries(d_in)
        flops = tokens * product_flops(1, d_in, width * d_out)
        return self.op(name, flops, into, self._queries(d_out))

    def _flops(self, per_pair: Number) -> Any:
        return self.batch * (self.times * self.heads * per_pair) * self.met

    def _product(self, width: Number) -> Any:
        return self._flops(product_flops(1, width, 1))

    def _matrix(self) -> Elements:
        if self.scores == "on-chip":
            return Elements()
        return Elements(scores=self.batch * (self.times * self.heads) * self.met)

    def _queries(self, width: Number) -> Elements:
        each = self.batch * (self.times * self.heads * width)
        one = type(self.seq) is int and self.seq == 1  # an array is not gone through for nothing
        return Elements(activations=each if one else each * self.seq)

    def _keys(self, width: Number, kind: str = "kv") -> Elements:
        return Elements(**{kind: self.batch * (self.times * self.kv_heads * width) * self.read})

    def op(
        self, name: str, flops: Number, reads: Elements, writes: Elements, is_matmul: bool = True
    ) -> Op:
        """One op of all layers and steps."""
        return Op(name, flops, reads, writes, is_matmul, self.times * self.steps)


def latent_stages(core: Core, mla: MLA, form: str) -> tuple[Op, ...]:
    """The ops of `latent_attention`; ``core`` is that of the expanded heads."""
    if form == "cheaper":
        return _cheaper_stages(core, mla)
    if form == "absorbed":
        width, rank = mla.kv_rank + mla.rope_dim, mla.kv_rank
        moved = replace(core, kv_heads=1, head_dim=width, value_dim=rank)
        return (
            core.absorb("q_absorb", mla.nope_dim, rank),
            *moved.forward(shared=True),
            core.absorb("v_absorb", rank, mla.value_dim),
        )
    batch, times, read = core.batch, core.times, core.read
    weights = times * core.heads * (mla.nope_dim + mla.value_dim) * mla.kv_rank
    latents = batch * (times * (mla.kv_rank + mla.rope_dim)) * read
    width = mla.head_dim + mla.value_dim  # the rotary key is copied to every head's keys
    expanded = Elements(activations=batch * (times * core.heads * width) * read)
    flops = batch * product_flops(1, 1, weights) * read
    into = Elements(weights=core.steps * weights, kv=latents)
    expand = core.op("kv_b_proj", flops, into, expanded)
    return (expand, *core.forward(keys_are="activations"))


def _cheaper_stages(core: Core, mla: MLA) -> tuple[Op, ...]:
    """The form with fewer FLOPs; one token after others is absorbed, which moves far less.

    Where an array holds passes of both kinds, each has its own form.
    """
    if not is_one(core.steps):
        return latent_stages(core, mla, "absorbed")
    cached, expansion = core.read - core.seq, mla.kv_rank * (mla.nope_dim + mla.value_dim)
    wider = 2 * mla.kv_rank - mla.nope_dim - mla.value_dim
    if core.read is core.seq and certain(wider > 0):  # a prompt: nothing is cached
        return latent_stages(core, mla, "naive")
    if is_symbolic(cached, core.met, wider):  # cannot be compared: what is cached decides
        nothing = is_zero(cached) or getattr(cached, "is_zero", False) is True
        return latent_stages(core, mla, "naive" if nothing else "absorbed")
    is_step = (core.seq == 1) & (cached > 0)
    is_absorbed = is_step | (expansion * cached >= core.met * wider)
    known = certain(is_absorbed)
    if known is not None:
        return latent_stages(core, mla, "absorbed" if known else "naive")
    ops = {form: {op.name: op for op in latent_stages(core, mla, form)} for form in FORMS[1:]}
    names = ("kv_b_proj", "q_absorb", "scores", "softmax", "values", "v_absorb")
    return tuple(
        _either(is_absorbed, ops["absorbed"].get(name), ops["naive"].get(name)) for name in names
    )


def _either(condition: Any, yes: Op | None, no: Op | None) -> Op:
    """One op where a condition holds and another elsewhere; None costs nothing."""
    nothing = Op("", 0, count=0)
    some, others = yes or nothing, no or nothing
    known = some if yes is not None else others

    def moved(a: Elements, b: Elements) -> Elements:
        return Elements(*(where(condition, getattr(a, k), getattr(b, k)) for k in KINDS))

    return Op(
        known.name,
        where(condition, some.flops, others.flops),
        moved(some.elements_read, others.elements_read),
        moved(some.elements_written, others.elements_written),
        known.is_matmul,
        where(condition, some.count, others.count),
    )


def check_groups(heads: Number, kv_heads: Number) -> None:
    """Check that every KV head serves as many query heads."""
    if not divides(kv_heads, heads):
        raise ValueError(f"kv_heads must divide heads, got kv_heads={kv_heads}, heads={heads}")


def check_sizes(instance: object, *names: str, least: int = 1) -> None:
    """Check these fields of a frozen dataclass while it is made."""
    for name in names:
        object.__setattr__(instance, name, size(name, getattr(instance, name), least=least))


def _core(
    batch: Number, widths: Sequence[Any], span: Sequence[Any], scores: str, masked: str
) -> Core:
    """Check heads, kv_heads, head_dim, value_dim, and seq, context, causal, window."""
    seq, context, causal, window = _checked_span(*span)
    heads, kv_heads, head_dim, value_dim = widths
    kv_heads = heads if kv_heads is None else kv_heads
    value_dim = head_dim if value_dim is None else value_dim
    batch, heads, head_dim, kv_heads, value_dim = sizes(
        batch=batch, heads=heads, head_dim=head_dim, kv_heads=kv_heads, value_dim=value_dim
    )
    check_groups(heads, kv_heads)
    choose("scores", scores, SCORES)
    choose("masked", masked, MASKED)
    met = pairs_unchecked(seq, context, causal, window, masked)
    read = keys_unchecked(seq, context, window)
    return Core(batch, seq, met, read, heads, kv_heads, head_dim, value_dim, scores)


def _checked_span(
    seq: Number, context: Number | None, causal: bool, window: Number | None
) -> tuple[Number, Number, bool, Number | None]:
    seq = size("seq", seq)
    context = seq if context is None else size("context", context)
    window = None if window is None else size("window", window)
    if causal or window is not None:
        size("context - seq (the cached tokens)", context - seq, least=0)
    return seq, context, causal, window
