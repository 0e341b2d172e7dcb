"""Chapter 3: what a transformer costs.

Nearly every step treats all tokens alike: so many FLOPs and elements a token, and weights that are
read once however many tokens there are. A model is a table of such steps, made once, and attention.
Parameters, prefill, decode and training are four readings of that table.

Each step reads its inputs from memory and writes its outputs. Left out: the scales of scores and
embeddings, soft caps, dropout, sampling, and the optimizer's own arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from costlib.attention import (
    FLOPS_PER_ELEMENT,
    FORMS,
    MASKED,
    MLA,
    SCORES,
    Core,
    check_groups,
    check_sizes,
    keys_unchecked,
    latent_stages,
    pairs_unchecked,
)
from costlib.ledger import Elements, Ledger, Op
from costlib.matmul import FLOPS_PER_MULTIPLY_ADD
from costlib.numbers import Number, choose, divides, exact_div, is_zero, minimum, size
from costlib.precision import Precision

if TYPE_CHECKING:
    from costlib.kvcache import Memory

__all__ = ["MLA", "MoE", "PerToken", "Transformer", "experts_bound", "experts_expected"]

#: Weights per element that a normalisation stores.
NORM_WEIGHTS = {"rms_norm": 1, "layer_norm": 2, "layer_norm_no_bias": 1, "plain_norm": 0}
ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "relu2")
BIASES = ("qkv", "o_proj", "ffn", "router", "experts", "unembedding")
RECOMPUTE = (None, "selective", "full")

#: The options of a pass, each with its values.
OPTIONS = {
    "logits": ("all", "last"),
    "scores": SCORES,
    "masked": MASKED,
    "mla": FORMS,
    "experts": ("expected", "bound", "all"),
}


def experts_expected(experts: Number, per_token: Number, tokens: Number) -> Number:
    """Distinct experts that tokens touch on average: E·(1 − (1 − k/E)^T), each choosing evenly.

    >>> experts_expected(8, 2, 1), round(experts_expected(8, 2, 8), 3)
    (2.0, 7.199)
    """
    return experts * (1 - (1 - per_token / experts) ** tokens)


def experts_bound(experts: Number, per_token: Number, tokens: Number) -> Number:
    """Distinct experts that tokens can touch at most: min(E, T·k).

    >>> experts_bound(8, 2, 1), experts_bound(8, 2, 100)
    (2, 8)
    """
    return minimum(experts, tokens * per_token)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoE:
    """A mixture of experts: ``per_token`` of ``experts`` feed-forward layers of ``width`` each.

    ``shared_width`` is one more that all tokens use (``shared_gate``: scaled by a gate of its own);
    the first ``dense_layers`` layers have a plain feed-forward layer instead.
    """

    experts: Number
    per_token: Number
    width: Number
    shared_width: Number = 0
    shared_gate: bool = False
    dense_layers: Number = 0

    def __post_init__(self) -> None:
        check_sizes(self, "experts", "per_token", "width")
        check_sizes(self, "shared_width", "dense_layers", least=0)
        size("experts - per_token", self.experts - self.per_token, least=0)


@dataclass(frozen=True, slots=True)
class PerToken:
    """A step that treats all tokens alike, ``times`` over; every number is for all times together.

    Per token: FLOPs, activations read and written, elements written to the cache, and rows of
    weights looked up. Once: ``weights``; if ``is_expert``, once for each expert in use.
    ``gradient`` is the FLOPs of the backward pass for each of the forward pass.

    >>> step = PerToken("up", flops=24, reads=3, writes=4, weights=12, is_matmul=True)
    >>> step.op(10).flops, step.op(10).reads
    (240, 42)
    """

    name: str
    flops: Number = 0
    reads: Number = 0
    writes: Number = 0
    kv_writes: Number = 0
    rows: Number = 0
    weights: Number = 0
    is_expert: bool = False
    is_matmul: bool = False
    gradient: Number = 2
    times: Number = 1

    def __mul__(self, times: Number) -> PerToken:
        """The step so many times over."""
        return self._scaled(times, (*_PER_TOKEN, "weights", "times"))

    def routed(self, experts: Number) -> PerToken:
        """The step of one expert, done by so many for each token; it has weights in each in use."""
        return replace(self._scaled(experts, _PER_TOKEN), is_expert=not is_zero(self.weights))

    def _scaled(self, by: Number, names: tuple[str, ...]) -> PerToken:
        values = {name: getattr(self, name) for name in names}
        return replace(self, **{k: v * by for k, v in values.items() if not is_zero(v)})

    def op(self, tokens: Number, experts: Number = 1) -> Op:
        """The step for so many tokens that use so many experts."""
        weights = self.weights * experts if self.is_expert else self.weights
        reads = Elements(weights=weights + self.rows * tokens, activations=self.reads * tokens)
        writes = Elements(activations=self.writes * tokens, kv=self.kv_writes * tokens)
        return Op(self.name, self.flops * tokens, reads, writes, self.is_matmul, self.times)

    def backward(self, tokens: Number, experts: Number = 1) -> Ledger:
        """The gradients: of a matmul's inputs and of its weights, or of both in one op."""
        weights = self.weights * experts if self.is_expert else self.weights
        stored = Elements(weights=weights + self.rows * tokens)
        into = Elements(activations=self.reads * tokens)
        out = Elements(activations=(self.writes + self.kv_writes) * tokens)

        def op(part: str, gradient: Number, reads: Elements, writes: Elements) -> Op:
            flops = self.flops * gradient * tokens
            return Op(f"{self.name}.{part}", flops, reads, writes, self.is_matmul, self.times)

        if not self.is_matmul:
            return Ledger((op("backward", self.gradient, stored + into + out, stored + into),))
        of_input = op("grad_input", 1, stored + out, into)
        return Ledger((of_input, op("grad_weights", 1, into + out, stored)))


_PER_TOKEN = ("flops", "reads", "writes", "kv_writes", "rows")


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over ``seq`` new tokens at the end of ``context``, with the options of `decode`."""

    batch: Number
    seq: Number
    context: Number
    _: KW_ONLY
    logits: str = "all"
    scores: str = "materialised"
    masked: str = "skipped"
    mla: str = "naive"
    experts: str = "expected"
    one_by_one: bool = False

    def __post_init__(self) -> None:
        for name, among in OPTIONS.items():
            choose(name, getattr(self, name), among)

    @property
    def tokens(self) -> Number:
        """Tokens at a time."""
        return self.batch if self.one_by_one else self.batch * self.seq


@dataclass(frozen=True, slots=True)
class Transformer:
    """A decoder-only transformer, by its sizes. The defaults are those of Llama.

    ``local_layers`` of the layers attend within ``window`` (all of them unless given). ``norms``
    are per layer; ``qk_norm`` is "head" (one norm of head_dim for all heads) or "full";
    ``positions`` is the rows of a learned position table; ``rotary_dim`` is head_dim unless given,
    0 for none. ``parallel``: attention and feed-forward layer read the same input. ``biases`` names
    what has one: qkv, o_proj, ffn, router, experts, unembedding.

    >>> llama = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> llama.params()
    6738415616
    >>> llama.decode(1, 4096).matmul_flops
    15362162688
    """

    layers: Number
    d_model: Number
    heads: Number
    d_ff: Number
    vocab: Number
    _: KW_ONLY
    kv_heads: Number = None
    head_dim: Number = None
    gated: bool = True
    activation: str = "silu"
    tied: bool = False
    norm: str = "rms_norm"
    norms: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    qk_norm: str | None = None
    biases: tuple[str, ...] = ()
    positions: Number = 0
    rotary_dim: Number = None
    parallel: bool = False
    window: Number = None
    local_layers: Number = None
    sinks: bool = False
    moe: MoE | None = None
    mla: MLA | None = None
    _derived: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    _table: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        check_sizes(self, "layers", "d_model", "heads", "d_ff", "vocab")
        _complete(self)
        check_sizes(self, "positions", "rotary_dim", "local_layers", "norms", least=0)
        size("layers - local_layers", self.global_layers, least=0)
        choose("activation", self.activation, ACTIVATIONS)
        choose("norm", self.norm, tuple(NORM_WEIGHTS))
        choose("qk_norm", self.qk_norm, (None, "head", "full"))
        for bias in self.biases:
            choose("biases", bias, BIASES)
        if self.mla and (self.window is not None or self.qk_norm or self.biases or self.sinks):
            raise ValueError("mla goes with no window, qk_norm, biases or sinks")
        _set(self, "_table", _steps(self))

    @classmethod
    def from_hf(cls, config: Mapping[str, Any] | str | os.PathLike[str]) -> Transformer:
        """The model of a Hugging Face config.json: a dict, a path, or the JSON text itself.

        >>> Transformer.from_hf({"model_type": "perceiver"})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: model_type 'perceiver' is not one that costlib knows; it knows ...
        """
        from costlib.families import from_hf

        return from_hf(config)

    def with_(self, **changes: Any) -> Transformer:
        """The same model with some of its sizes changed; what was not given follows them.

        >>> Transformer(2, 64, 4, 256, 1000).with_(kv_heads=1).kv_heads
        1
        >>> wider = Transformer(2, 64, 4, 256, 1000).with_(d_model=128, heads=8)
        >>> wider.kv_heads, wider.head_dim
        (8, 16)
        """
        return replace(self, **{**dict.fromkeys(self._derived), **changes})

    def params(self) -> Number:
        """Parameters stored: a tied unembedding and the embedding are one matrix."""
        return self._parameters(self.moe.experts if self.moe else 1)

    def active_params(self) -> Number:
        """Parameters that a token uses: of the experts, those it is routed to.

        >>> moe = MoE(experts=8, per_token=2, width=14336)
        >>> mixtral = Transformer(32, 4096, 32, 14336, 32000, kv_heads=8, moe=moe)
        >>> mixtral.params(), mixtral.active_params()
        (46702792704, 12879925248)
        """
        return self._parameters(self.moe.per_token if self.moe else 1)

    def _parameters(self, experts: Number) -> Number:
        total = (self.vocab + self.positions) * self.d_model
        for step in self.steps():
            if not (self.tied and step.name == "unembedding"):
                total = total + step.weights * (experts if step.is_expert else 1)
        return total + self.layers * _expand(self.heads, self.mla).weights if self.mla else total

    def prefill(self, batch: Number, seq: Number, *, logits: str = "all", **options: Any) -> Ledger:
        """A pass over a prompt of ``seq`` tokens, nothing cached yet.

        ``logits="last"`` unembeds only the last position of each sequence, as serving does. The
        options are those of `decode`.

        >>> Transformer(2, 64, 4, 256, 1000).prefill(1, 16, logits="last")["unembedding"].flops
        128000
        """
        batch, seq = size("batch", batch), size("seq", seq)
        return self._forward(Pass(batch, seq, seq, logits=logits, **options))

    def decode(
        self, batch: Number, context: Number, new: Number = 1, *,
        logits: str = "all", **options: Any,
    ) -> Ledger:  # fmt: skip
        """A pass over ``new`` tokens, with ``context`` tokens cached before: keys = context + new.

        Options: ``scores`` ("materialised" or "on-chip"), ``masked`` ("skipped" or "computed": see
        `costlib.attention.pairs`), ``mla`` ("naive" or "absorbed"), and ``experts``, whose weights
        are read ("expected", "bound" or "all").

        >>> Transformer(2, 64, 4, 256, 1000).decode(1, 15)["scores"].flops  # 2 layers, 16 keys
        4096
        """
        batch, new = size("batch", batch), size("new", new)
        context = size("context", context, least=0)
        return self._forward(Pass(batch, new, context + new, logits=logits, **options))

    def decode_steps(self, batch: Number, context: Number, steps: Number, **options: Any) -> Ledger:
        """So many decode steps of one token, the cache growing by one each: a closed form.

        >>> model = Transformer(2, 64, 4, 256, 1000)
        >>> model.decode_steps(1, 10, 2).flops == (model.decode(1, 10) + model.decode(1, 11)).flops
        True
        """
        batch, steps = size("batch", batch), size("steps", steps, least=0)
        context = size("context", context, least=0)
        return self._forward(Pass(batch, steps, context + steps, one_by_one=True, **options))

    def generate(self, batch: Number, prompt: Number, new: Number, **options: Any) -> Ledger:
        """A whole generation: prefill gives the first new token, then ``new`` − 1 decode steps.

        >>> model = Transformer(2, 64, 4, 256, 1000)
        >>> model.generate(1, 10, 1).flops == model.prefill(1, 10, logits="last").flops
        True
        """
        prompt, steps = size("prompt", prompt), size("new", new) - 1
        prefill = self.prefill(batch, prompt, logits="last", **options)
        return prefill + self.decode_steps(batch, prompt, steps, **options)

    def training_step(
        self, batch: Number, seq: Number, *,
        recompute: str | None = None, scores: str = "materialised", masked: str = "skipped",
    ) -> Ledger:  # fmt: skip
        """Forward and backward: each matmul, logits included, once and then twice.

        ``recompute`` runs again, before the backward pass: attention's scores, softmax and values
        ("selective"), or all of each layer ("full").

        >>> model = Transformer(2, 64, 4, 256, 1000)
        >>> model.training_step(1, 16).matmul_flops == 3 * model.prefill(1, 16).matmul_flops
        True
        """
        choose("recompute", recompute, RECOMPUTE)
        batch, seq = size("batch", batch), size("seq", seq)
        run = Pass(batch, seq, seq, scores=scores, masked=masked)
        forward = self._forward(run)
        again = {
            None: Ledger(),
            "selective": forward.only("scores", "softmax", "values"),
            "full": forward.where(lambda op: op.name not in _OUTSIDE_LAYERS),
        }[recompute]
        repeated = Ledger(tuple(op.named(f"{op.name}.recomputed") for op in again))
        return forward + repeated + self._backward(run)

    def kv_elements_per_token(self) -> Number:
        """Elements that each token adds to the cache of all layers: 2·L·K·h, or L·(r + rope).

        >>> Transformer(32, 4096, 32, 11008, 32000).kv_elements_per_token()
        262144
        """
        return self.layers * self.kv_elements_per_layer()

    def kv_elements_per_layer(self) -> Number:
        """Elements that each token adds to the cache of one layer.

        >>> Transformer(32, 4096, 32, 11008, 32000).kv_elements_per_layer()
        8192
        """
        if self.mla:
            return self.mla.kv_rank + self.mla.rope_dim
        return 2 * self.kv_heads * self.head_dim

    @property
    def global_layers(self) -> Number:
        """Layers that attend to the whole context."""
        return self.layers - self.local_layers

    def steps(self) -> tuple[PerToken, ...]:
        """Every step that treats all tokens alike, in order; attention's own are not among them.

        >>> [step.name for step in Transformer(2, 64, 4, 256, 1000).steps()][:3]
        ['embedding', 'norms', 'q_proj']
        """
        before, after, last = self._table
        return (*before, *after, *last)

    def kv_bytes(
        self, batch: Number, context: Number, precision: Precision | None = None
    ) -> Number:
        """Bytes of the cache of ``context`` tokens; a layer with a window keeps the last of them.

        >>> Transformer(32, 4096, 32, 11008, 32000).kv_bytes(1, 4096) / 2**30
        2.0
        """
        from costlib.kvcache import kv_bytes

        return kv_bytes(self, batch, context, precision)

    def memory(
        self, batch: Number, context: Number, precision: Precision | None = None, *,
        new: Number = 1, scores: str = "on-chip",
    ) -> Memory:  # fmt: skip
        """Bytes of weights, cache and activations while ``new`` tokens join ``context`` cached.

        >>> held = Transformer(32, 4096, 32, 11008, 32000).memory(1, 4095)
        >>> held.weights == 2 * 6738415616, held.kv == 2 * 2**30
        (True, True)
        """
        from costlib.kvcache import memory

        return memory(self, batch, context, precision, new=new, scores=scores)

    def _forward(self, run: Pass) -> Ledger:
        before, after, last = self._table
        used = self._experts(run)
        unembedded = run.batch if run.logits == "last" else run.tokens
        ops = [step.op(run.tokens, used) for step in before + after]
        ops += [step.op(unembedded) for step in last]
        if run.one_by_one:
            ops = [op * run.seq for op in ops]
        return Ledger((*ops[: len(before)], *self._attention(run), *ops[len(before) :]))

    def _attention(self, run: Pass) -> list[Op]:
        """Attention of all layers."""
        cores = self._cores(run)
        if self.mla:
            return [op for core in cores for op in latent_stages(core, self.mla, run.mla)]
        return [op for core in cores for op in core.forward()]

    def _cores(self, run: Pass) -> list[Core]:
        """Attention in global and in local layers; one by one, steps read all keys they meet."""
        mla, cores = self.mla, []
        sizes = (self.heads, self.kv_heads, self.head_dim, self.head_dim)
        if mla:
            sizes = (self.heads, self.heads, mla.head_dim, mla.value_dim)
        for layers, window in ((self.global_layers, None), (self.local_layers, self.window)):
            if is_zero(layers):
                continue
            masked = "skipped" if run.one_by_one else run.masked
            met = pairs_unchecked(run.seq, run.context, True, window, masked)
            read = met if run.one_by_one else keys_unchecked(run.seq, run.context, window)
            steps = run.seq if run.one_by_one else 1
            cores.append(Core(run.batch, run.seq, met, read, *sizes, run.scores, layers, steps))
        return cores

    def _experts(self, run: Pass) -> Number:
        """Experts whose weights are read."""
        moe = self.moe
        if moe is None or run.experts == "all":
            return moe.experts if moe else 1
        count = experts_expected if run.experts == "expected" else experts_bound
        return count(moe.experts, moe.per_token, run.tokens)

    def _backward(self, run: Pass) -> Ledger:
        """The backward pass, last step first."""
        before, after, last = self._table
        used = self._experts(run)
        ops = [op for step in reversed(after + last) for op in step.backward(run.tokens, used)]
        ops += [op for core in self._cores(run) for op in core.backward()]
        if self.mla:
            before = (*before, _expand(self.heads, self.mla) * self.layers)
        ops += [op for step in reversed(before) for op in step.backward(run.tokens, used)]
        return Ledger(tuple(ops))


_OUTSIDE_LAYERS = ("embedding", "positions", "embedding_norm", "final_norm", "unembedding",
                   "unembedding.bias")  # fmt: skip


def _complete(model: Transformer) -> None:
    """Fill in what follows from the other sizes, and check what must agree."""
    heads, mla = model.heads, model.mla
    optional = ("kv_heads", "head_dim", "rotary_dim", "local_layers")
    _set(model, "_derived", tuple(name for name in optional if getattr(model, name) is None))
    if model.kv_heads is None:
        _set(model, "kv_heads", heads)
    if model.head_dim is None:
        if mla is None and not divides(heads, model.d_model):
            raise ValueError(
                f"d_model={model.d_model} is not a multiple of heads={heads}: give head_dim"
            )
        _set(model, "head_dim", mla.head_dim if mla else exact_div(model.d_model, heads))
    check_sizes(model, "kv_heads", "head_dim", *([] if model.window is None else ["window"]))
    check_groups(heads, model.kv_heads)
    if model.rotary_dim is None:
        _set(model, "rotary_dim", mla.rope_dim if mla else model.head_dim)
    if model.window is None and model.local_layers:
        raise ValueError("local_layers needs a window")
    if model.local_layers is None:
        _set(model, "local_layers", 0 if model.window is None else model.layers)


def _steps(model: Transformer) -> tuple[tuple[PerToken, ...], ...]:
    """The model's steps: until attention, from there to the last norm, and the unembedding."""
    d, layers, norm = model.d_model, model.layers, model.norm
    first = [PerToken("embedding", rows=d, writes=d)]
    if not is_zero(model.positions):
        first.append(_elementwise("positions", d, "residual", rows=d))
    if model.embedding_norm:
        first.append(_norm("embedding_norm", d, norm))
    projections = _latent_projections(model, model.mla) if model.mla else _projections(model)
    norms = (_norm("norms", d, norm),)
    head_dim = model.mla.value_dim if model.mla else model.head_dim
    output = _linear("o_proj", model.heads * head_dim, d, bias="o_proj" in model.biases)
    residual = _elementwise("residual", d, "residual", reads=2 * d, gradient=1) * (2 * layers)
    final = [_norm("final_norm", d, norm)] if model.final_norm else []
    return (
        (*first, *_times(norms, model.norms * layers), *_times(projections, layers)),
        (*_times(output, layers), *_feed_forward(model), residual, *final),
        _linear("unembedding", d, model.vocab, bias="unembedding" in model.biases),
    )


def _projections(model: Transformer) -> list[PerToken]:
    """What makes queries, keys and values of a layer's input; keys and values are cached."""
    d, bias, norm = model.d_model, "qkv" in model.biases, model.norm
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    steps = [
        *_linear("q_proj", d, queries, bias=bias),
        *_linear("k_proj", d, keys, bias=bias, cached=True),
        *_linear("v_proj", d, keys, bias=bias, cached=True),
    ]
    if model.qk_norm:
        stored = 2 * model.head_dim if model.qk_norm == "head" else queries + keys
        steps.append(_norm("qk_norm", queries + keys, norm, stored))
    if not is_zero(model.rotary_dim):
        rotated = (model.heads + model.kv_heads) * model.rotary_dim
        steps.append(_elementwise("rotary", rotated, "rotary", gradient=1))
    if model.sinks:  # one more entry in each row of the softmax: an exp and an addition
        steps.append(PerToken("sinks", 2 * model.heads, weights=model.heads))
    return steps


def _latent_projections(model: Transformer, m: MLA) -> list[PerToken]:
    """What makes queries and the cached latents of a layer's input (kv_b_proj is attention's)."""
    d, norm = model.d_model, model.norm
    queries = model.heads * m.head_dim
    if m.q_rank is None:
        steps = [*_linear("q_proj", d, queries)]
    else:
        down, up = _linear("q_a_proj", d, m.q_rank), _linear("q_b_proj", m.q_rank, queries)
        steps = [*down, _norm("q_norm", m.q_rank, norm), *up]
    return [
        *steps,
        *_linear("kv_a_proj", d, m.kv_rank + m.rope_dim, cached=True),
        _norm("kv_norm", m.kv_rank, norm),
        _elementwise("rotary", (model.heads + 1) * m.rope_dim, "rotary", gradient=1),
    ]


def _expand(heads: Number, m: MLA) -> PerToken:
    """MLA's step from a latent to keys and values: attention has it, once for every key."""
    return _linear("kv_b_proj", m.kv_rank, heads * (m.nope_dim + m.value_dim))[0]


def _feed_forward(model: Transformer) -> tuple[PerToken, ...]:
    """The feed-forward layers: dense ones, and where there are experts the mixture."""
    moe, d = model.moe, model.d_model
    dense = _mlp(model, "ffn", model.d_ff)
    if moe is None:
        return _times(dense, model.layers)
    steps = [
        *_linear("router", d, moe.experts, bias="router" in model.biases),
        _elementwise("router.softmax", moe.experts, "softmax"),
        *(step.routed(moe.per_token) for step in _mlp(model, "experts", moe.width)),
        _elementwise("experts.combine", moe.per_token * d, "combine", writes=d),
    ]
    if not is_zero(moe.shared_width):
        steps += _mlp(model, "shared", moe.shared_width)
    if moe.shared_gate:
        steps += _linear("shared_gate", d, 1)
    sparse = model.layers - moe.dense_layers
    return _times(dense, moe.dense_layers) + _times(steps, sparse)


def _mlp(model: Transformer, name: str, width: Number) -> list[PerToken]:
    """up, activation, down, and perhaps a gate."""
    d, bias = model.d_model, name in model.biases
    flops, read = FLOPS_PER_ELEMENT[model.activation], 1
    gate: tuple[PerToken, ...] = ()
    if model.gated:
        flops, read = flops + FLOPS_PER_ELEMENT["gate"], 2
        gate = _linear(f"{name}.gate", d, width, bias=bias)
    return [
        *gate,
        *_linear(f"{name}.up", d, width, bias=bias),
        PerToken(f"{name}.activation", flops * width, read * width, width),
        *_linear(f"{name}.down", width, d, bias=bias),
    ]


def _linear(
    name: str, d_in: Number, d_out: Number, *, bias: bool = False, cached: bool = False
) -> tuple[PerToken, ...]:
    """A linear layer; its outputs may be cached."""
    flops, out = FLOPS_PER_MULTIPLY_ADD * d_in * d_out, "kv_writes" if cached else "writes"
    made = {out: d_out}
    product = PerToken(name, flops, d_in, weights=d_in * d_out, is_matmul=True, **made)
    if not bias:
        return (product,)
    flops = FLOPS_PER_ELEMENT["bias"] * d_out  # added before the outputs leave the chip
    return (product, PerToken(f"{name}.bias", flops, weights=d_out, gradient=1))


def _norm(name: str, width: Number, norm: str, stored: Number | None = None) -> PerToken:
    """A normalisation of ``width`` elements; its weights are as many unless ``stored`` is given."""
    stored = width if stored is None else stored
    return _elementwise(name, width, norm, weights=NORM_WEIGHTS[norm] * stored)


def _elementwise(name: str, width: Number, kind: str, **others: Number) -> PerToken:
    """So many FLOPs for each of ``width`` elements; as many are read and written unless given."""
    moved = {"reads": width, "writes": width, **others}
    return PerToken(name, FLOPS_PER_ELEMENT[kind] * width, **moved)


def _times(steps: Iterable[PerToken], times: Number) -> tuple[PerToken, ...]:
    """The steps so many times over; none where there is no time."""
    return () if is_zero(times) else tuple(step * times for step in steps)


def _set(instance: object, name: str, value: Any) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(instance, name, value)
