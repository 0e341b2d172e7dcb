"""Chapter 2: what attention costs.

Each of S queries meets up to T keys: a score is a dot product of length h, a softmax turns each
query's scores into weights, and the weighted sum of values is a second product. GQA lets several
query heads share one KV head: that saves KV traffic, never FLOPs. What a mask leaves is counted
exactly, as a number of (query, key) pairs.

Left out: the scale 1/√h (folded into the queries), the mask's own additions, soft caps, dropout.
"""

from __future__ import annotations

from collections.abc import Sequence

from costlib.ledger import Elements, Ledger, Op
from costlib.matmul import FLOPS_PER_MULTIPLY_ADD
from costlib.numbers import Number, divides, exact_div, maximum, minimum, size, sizes

__all__ = [
    "FLOPS_PER_ELEMENT",
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
    "gate": 1,  # the product of the two halves of a gated feed-forward layer
    "rotary": 3,  # two multiplications and an addition
    "residual": 1,
    "bias": 1,
    "combine": 2,  # times the router's weight, add
}

SCORES = ("materialised", "on-chip")
MASKED = ("skipped", "computed")
FORMS = ("naive", "absorbed")


def pairs(
    seq: Number,
    context: Number | None = None,
    *,
    causal: bool = False,
    window: Number | None = None,
    masked: str = "skipped",
) -> Number:
    """(Query, key) pairs that attention computes for the last ``seq`` of ``context`` tokens.

    Full S·T; causal S·(T − S) + S·(S + 1)/2. In a window each query sees itself and the
    ``window`` − 1 tokens before it: the first r = min(S, W − (T − S)) queries (if any) see all
    before them, r·(T − S) + r·(r + 1)/2, and the others W each. With ``masked="computed"`` every
    query meets every key that is read, as in most counters.

    >>> pairs(4, causal=True), pairs(4, 10, causal=True), pairs(4, 10, window=3)
    (10, 34, 12)
    >>> pairs(4, 10, causal=True, masked="computed")
    40
    >>> from costlib.numbers import symbols
    >>> S, T = symbols("S T")
    >>> pairs(S, T, causal=True)
    S*(-S + T) + S*(S + 1)/2
    """
    seq, context, window = _checked_span(seq, context, causal, window)
    choose("masked", masked, MASKED)
    return pairs_unchecked(seq, context, causal, window, masked)


def keys_read(seq: Number, context: Number | None = None, window: Number | None = None) -> Number:
    """Keys that at least one of the last ``seq`` queries sees: T, in a window min(T, W − 1 + S).

    >>> keys_read(1, 5000, window=4096), keys_read(10, 5000, window=4096), keys_read(1, 5000)
    (4096, 4105, 5000)
    """
    seq, context, window = _checked_span(seq, context, window is not None, window)
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
    scores: str = "materialised",
    masked: str = "skipped",
    value_dim: Number | None = None,
) -> Ledger:
    """Attention of ``seq`` queries to ``context`` keys (cached and new; ``seq`` unless given).

    scores 2·B·H·h·pairs, softmax 5·B·H·pairs, values 2·B·H·h·pairs FLOPs; see `pairs`. K and V are
    read once per KV head. Materialised scores are written, read and written by the softmax, and
    read again; on chip they are never moved. A window looks back only: it is causal.

    >>> ledger = attention(1, 2, 1, 4)
    >>> ledger.names, ledger.flops, ledger.elements
    (('scores', 'softmax', 'values'), 84, 48)
    >>> from costlib.numbers import symbols
    >>> B, T, H, h = symbols("B T H h")
    >>> attention(B, 1, H, h, context=T)["scores"].flops
    2*B*H*T*h
    """
    seq, context, window = _checked_span(seq, context, causal, window)
    batch, heads, head_dim, kv_heads, value_dim = _checked_heads(
        batch, heads, head_dim, kv_heads, value_dim
    )
    choose("scores", scores, SCORES)
    choose("masked", masked, MASKED)
    met = pairs_unchecked(seq, context, causal, window, masked)
    read = keys_unchecked(seq, context, window)
    return Ledger(
        stages(batch, seq, met, read, heads, kv_heads, head_dim, value_dim, scores=scores)
    )


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
    scores: str = "materialised",
    masked: str = "skipped",
    value_dim: Number | None = None,
) -> Ledger:
    """The gradients of `attention`: two products for each of its two.

    dV = Pᵀ·dO and dP = dO·Vᵀ, the softmax's gradient dS, then dQ = dS·K and dK = dSᵀ·Q. Scores
    kept on chip in the forward pass are gone: they are computed again, a fifth product.

    >>> forward, backward = attention(1, 64, 4, 16), attention_backward(1, 64, 4, 16)
    >>> backward.matmul_flops / forward.matmul_flops
    2.0
    >>> attention_backward(1, 64, 4, 16, scores="on-chip").matmul_flops / forward.matmul_flops
    2.5
    """
    seq, context, window = _checked_span(seq, context, causal, window)
    batch, heads, head_dim, kv_heads, value_dim = _checked_heads(
        batch, heads, head_dim, kv_heads, value_dim
    )
    choose("scores", scores, SCORES)
    choose("masked", masked, MASKED)
    met = pairs_unchecked(seq, context, causal, window, masked)
    read = keys_unchecked(seq, context, window)
    return Ledger(
        stages_backward(batch, seq, met, read, heads, kv_heads, head_dim, value_dim, scores=scores)
    )


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
    form: str = "naive",
    scores: str = "materialised",
    masked: str = "skipped",
) -> Ledger:
    """Multi-head latent attention: one latent of ``kv_rank`` and one rotary key for all heads.

    naive: the latents of all T keys are expanded to H keys and values, 2·B·T·r·H·(nope + v) FLOPs,
    then attention with head_dim nope + rope. absorbed: each query is moved into the latent space
    instead, 2·B·S·H·nope·r, meets the T latents as one KV head of width r + rope, and the result
    is moved back, 2·B·S·H·r·v.

    >>> sizes = dict(kv_rank=512, nope_dim=128, rope_dim=64, value_dim=128, context=4096)
    >>> latent_attention(1, 1, 16, **sizes).names
    ('kv_b_proj', 'scores', 'softmax', 'values')
    >>> latent_attention(1, 1, 16, **sizes, form="absorbed").names
    ('q_absorb', 'scores', 'softmax', 'values', 'v_absorb')
    """
    seq, context, _ = _checked_span(seq, context, causal, None)
    batch, *latent = sizes(
        batch=batch, heads=heads, kv_rank=kv_rank, nope_dim=nope_dim, rope_dim=rope_dim,
        value_dim=value_dim,
    )  # fmt: skip
    choose("form", form, FORMS)
    choose("scores", scores, SCORES)
    choose("masked", masked, MASKED)
    met = pairs_unchecked(seq, context, causal, None, masked)
    return Ledger(latent_stages(batch, seq, met, context, latent, form=form, scores=scores))


# What follows is called with sizes that have been checked, also by the transformer's room.


def pairs_unchecked(
    seq: Number, context: Number, causal: bool, window: Number | None, masked: str
) -> Number:
    """See `pairs`."""
    if masked == "computed":
        return seq * keys_unchecked(seq, context, window)
    if window is None:
        return seq * (context - seq) + exact_div(seq * (seq + 1), 2) if causal else seq * context
    cached = context - seq
    ramp = maximum(0, minimum(seq, window - cached))
    return ramp * cached + exact_div(ramp * (ramp + 1), 2) + (seq - ramp) * window


def keys_unchecked(seq: Number, context: Number, window: Number | None) -> Number:
    """See `keys_read`."""
    return context if window is None else minimum(context, window - 1 + seq)


def stages(
    batch: Number, seq: Number, met: Number, read: Number,
    heads: Number, kv_heads: Number, head_dim: Number, value_dim: Number, *,
    scores: str, times: Number = 1, steps: Number = 1, keys_are: str = "kv", shared: bool = False,
) -> tuple[Op, Op, Op]:  # fmt: skip
    """The three ops of attention over ``met`` pairs and ``read`` keys, in ``times`` layers.

    Products are formed so that arrays broadcast late: (batch, 1) meets (1, context) once an op.
    ``shared`` says that values are part of the keys: kept on chip, they are read once.
    """
    queries, cached = batch * (times * heads), batch * (times * kv_heads)
    matrix = Elements(scores=queries * met) if scores == "materialised" else Elements()
    keys = Elements(**{keys_are: cached * head_dim * read})
    values_are_here = shared and scores == "on-chip"
    values = Elements() if values_are_here else Elements(**{keys_are: cached * value_dim * read})
    query = Elements(activations=queries * head_dim * seq)
    out = Elements(activations=queries * value_dim * seq)
    by_head = queries * (FLOPS_PER_MULTIPLY_ADD * head_dim) * met
    by_value = queries * (FLOPS_PER_MULTIPLY_ADD * value_dim) * met
    by_softmax = queries * FLOPS_PER_ELEMENT["softmax"] * met
    return (
        Op("scores", by_head, query + keys, matrix, True, times * steps),
        Op("softmax", by_softmax, matrix, matrix, False, times * steps),
        Op("values", by_value, matrix + values, out, True, times * steps),
    )


def stages_backward(
    batch: Number, seq: Number, met: Number, read: Number,
    heads: Number, kv_heads: Number, head_dim: Number, value_dim: Number, *,
    scores: str, times: Number = 1,
) -> tuple[Op, ...]:  # fmt: skip
    """The gradients of `stages`; gradients of K and V are kv, like K and V themselves."""
    queries, cached = batch * (times * heads), batch * (times * kv_heads)
    matrix = Elements(scores=queries * met) if scores == "materialised" else Elements()
    key, value = Elements(kv=cached * head_dim * read), Elements(kv=cached * value_dim * read)
    query = Elements(activations=queries * head_dim * seq)
    out = Elements(activations=queries * value_dim * seq)
    by_head = queries * (FLOPS_PER_MULTIPLY_ADD * head_dim) * met
    by_value = queries * (FLOPS_PER_MULTIPLY_ADD * value_dim) * met
    by_softmax = queries * FLOPS_PER_ELEMENT["softmax.backward"] * met
    again = (Op("scores.recomputed", by_head, query + key, matrix, True, times),)
    return (
        *(again if scores == "on-chip" else ()),
        Op("values.grad_values", by_value, matrix + out, value, True, times),
        Op("values.grad_scores", by_value, out + value, matrix, True, times),
        Op("softmax.backward", by_softmax, matrix + matrix, matrix, False, times),
        Op("scores.grad_queries", by_head, matrix + key, query, True, times),
        Op("scores.grad_keys", by_head, matrix + query, key, True, times),
    )


def latent_stages(
    batch: Number,
    seq: Number,
    met: Number,
    read: Number,
    latent: Sequence[Number],
    *,
    form: str,
    scores: str,
    times: Number = 1,
    steps: Number = 1,
) -> tuple[Op, ...]:
    """The ops of `latent_attention`; weights are read once for each of ``steps``."""
    heads, rank, nope, rope, value_dim = latent
    if form == "naive":
        weights = times * heads * (nope + value_dim) * rank
        cached = Elements(weights=steps * weights, kv=batch * (times * (rank + rope)) * read)
        width = nope + rope + value_dim  # the rotary key is copied to every head's keys
        expanded = Elements(activations=batch * (times * heads * width) * read)
        flops = batch * (FLOPS_PER_MULTIPLY_ADD * weights) * read
        expand = Op("kv_b_proj", flops, cached, expanded, True, times * steps)
        core = stages(
            batch, seq, met, read, heads, heads, nope + rope, value_dim,
            scores=scores, times=times, steps=steps, keys_are="activations",
        )  # fmt: skip
        return (expand, *core)
    core = stages(
        batch, seq, met, read, heads, 1, rank + rope, rank,
        scores=scores, times=times, steps=steps, shared=True,
    )  # fmt: skip
    tokens = batch * seq
    return (
        _absorb("q_absorb", tokens, heads, nope, rank, times, steps),
        *core,
        _absorb("v_absorb", tokens, heads, rank, value_dim, times, steps),
    )


def choose(name: str, value: str, among: tuple[str, ...]) -> None:
    """Check that an option is one of those there are."""
    if value not in among:
        raise ValueError(f"{name} must be {' or '.join(map(repr, among))}, got {value!r}")


def _absorb(
    name: str, tokens: Number, heads: Number, d_in: Number, d_out: Number, times: Number,
    steps: Number,
) -> Op:  # fmt: skip
    per_token = times * heads * d_in * d_out
    return Op(
        name,
        tokens * (FLOPS_PER_MULTIPLY_ADD * per_token),
        Elements(weights=steps * per_token, activations=tokens * (times * heads * d_in)),
        Elements(activations=tokens * (times * heads * d_out)),
        is_matmul=True,
        count=times * steps,
    )


def _checked_span(
    seq: Number, context: Number | None, causal: bool, window: Number | None
) -> tuple[Number, Number, Number | None]:
    seq = size("seq", seq)
    context = seq if context is None else size("context", context)
    if window is not None:
        window = size("window", window)
    if causal or window is not None:
        size("context - seq (the cached tokens)", context - seq, least=0)
    return seq, context, window


def _checked_heads(
    batch: Number,
    heads: Number,
    head_dim: Number,
    kv_heads: Number | None,
    value_dim: Number | None,
) -> tuple[Number, Number, Number, Number, Number]:
    kv_heads = heads if kv_heads is None else kv_heads
    value_dim = head_dim if value_dim is None else value_dim
    batch, heads, head_dim, kv_heads, value_dim = sizes(
        batch=batch, heads=heads, head_dim=head_dim, kv_heads=kv_heads, value_dim=value_dim
    )
    if not divides(kv_heads, heads):
        raise ValueError(f"kv_heads must divide heads, got kv_heads={kv_heads}, heads={heads}")
    return batch, heads, head_dim, kv_heads, value_dim
