"""Chapter 3: what a transformer costs.

Nearly every step treats all tokens alike: so many FLOPs and elements a token, and weights that are
read once however many tokens there are. A model is a table of such steps, made once, and attention.
Parameters, prefill, decode and training are four readings of that table.

Each step reads its inputs from memory and writes its outputs. Left out: the scales of scores and
embeddings, soft caps, dropout, sampling, and the optimizer's own arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from costlib.attention import (
    FLOPS_PER_ELEMENT,
    FORMS,
    MASKED,
    SCORES,
    choose,
    keys_unchecked,
    latent_stages,
    pairs_unchecked,
    stages,
    stages_backward,
)
from costlib.ledger import Elements, Ledger, Op, Precision
from costlib.matmul import FLOPS_PER_MULTIPLY_ADD
from costlib.numbers import Number, divides, exact_div, minimum, size

if TYPE_CHECKING:
    from costlib.kvcache import Memory

__all__ = ["MLA", "MoE", "PerToken", "Transformer", "experts_bound", "experts_expected"]

#: Weights per element that a normalisation stores.
NORM_WEIGHTS = {"rms_norm": 1, "layer_norm": 2, "layer_norm_no_bias": 1, "plain_norm": 0}
ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu", "relu2")
BIASES = ("qkv", "o_proj", "ffn", "router", "experts", "unembedding")
LOGITS = ("all", "last")
EXPERTS = ("expected", "bound", "all")
RECOMPUTE = (None, "selective", "full")


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
        for name in ("experts", "per_token", "width"):
            _set(self, name, size(name, getattr(self, name)))
        for name in ("shared_width", "dense_layers"):
            _set(self, name, size(name, getattr(self, name), least=0))
        size("experts - per_token", self.experts - self.per_token, least=0)


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
        for name in ("kv_rank", "nope_dim", "rope_dim", "value_dim"):
            _set(self, name, size(name, getattr(self, name)))
        if self.q_rank is not None:
            _set(self, "q_rank", size("q_rank", self.q_rank))


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

    def op(self, tokens: Number, experts: Number = 1) -> Op:
        """The step for so many tokens that use so many experts."""
        weights = self.weights * experts if self.is_expert else self.weights
        return Op(
            self.name,
            self.flops * tokens,
            Elements(weights=weights + self.rows * tokens, activations=self.reads * tokens),
            Elements(activations=self.writes * tokens, kv=self.kv_writes * tokens),
            self.is_matmul,
            self.times,
        )

    def backward(self, tokens: Number, experts: Number = 1) -> Ledger:
        """The gradients: of a matmul's inputs and of its weights, or of both in one op."""
        weights = self.weights * experts if self.is_expert else self.weights
        into, out = self.reads * tokens, (self.writes + self.kv_writes) * tokens
        stored = Elements(weights=weights + self.rows * tokens)
        if not self.is_matmul:
            return Ledger(
                (
                    Op(
                        f"{self.name}.backward",
                        self.flops * self.gradient * tokens,
                        stored + Elements(activations=into + out),
                        stored + Elements(activations=into),
                        count=self.times,
                    ),
                )
            )
        flops = self.flops * tokens
        into_, out_ = Elements(activations=into), Elements(activations=out)
        return Ledger(
            (
                Op(f"{self.name}.grad_input", flops, stored + out_, into_, True, self.times),
                Op(f"{self.name}.grad_weights", flops, into_ + out_, stored, True, self.times),
            )
        )


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
    _table: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        for name in ("layers", "d_model", "heads", "d_ff", "vocab"):
            _set(self, name, size(name, getattr(self, name)))
        _complete(self)
        for name in ("positions", "rotary_dim", "local_layers", "norms"):
            _set(self, name, size(name, getattr(self, name), least=0))
        size("layers - local_layers", self.layers - self.local_layers, least=0)
        choose("activation", self.activation, ACTIVATIONS)
        choose("norm", self.norm, tuple(NORM_WEIGHTS))
        for bias in self.biases:
            choose("biases", bias, BIASES)
        if self.qk_norm is not None:
            choose("qk_norm", self.qk_norm, ("head", "full"))
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
        """The same model with some of its sizes changed.

        >>> Transformer(2, 64, 4, 256, 1000).with_(kv_heads=1).kv_heads
        1
        """
        return replace(self, **changes)

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
        of_steps = sum(
            step.weights * (experts if step.is_expert else 1)
            for step in self.steps()
            if not (self.tied and step.name == "unembedding")
        )
        latent = self.mla
        of_latents = (
            self.layers * self.heads * latent.kv_rank * (latent.nope_dim + latent.value_dim)
            if latent
            else 0
        )
        return of_steps + of_latents + (self.vocab + self.positions) * self.d_model

    def prefill(self, batch: Number, seq: Number, *, logits: str = "all", **options: Any) -> Ledger:
        """A pass over a prompt of ``seq`` tokens, nothing cached yet.

        ``logits="last"`` unembeds only the last position of each sequence, as serving does. The
        options are those of `decode`.

        >>> Transformer(2, 64, 4, 256, 1000).prefill(1, 16, logits="last")["unembedding"].flops
        128000
        """
        batch, seq = size("batch", batch), size("seq", seq)
        return self._pass(batch, seq, seq, logits=logits, **options)

    def decode(
        self,
        batch: Number,
        context: Number,
        new: Number = 1,
        *,
        logits: str = "all",
        **options: Any,
    ) -> Ledger:
        """A pass over ``new`` tokens, with ``context`` tokens cached before: keys = context + new.

        Options: ``scores`` ("materialised" or "on-chip"), ``masked`` ("skipped" or "computed": see
        `costlib.attention.pairs`), ``mla`` ("naive" or "absorbed"), and ``experts``, whose weights
        are read ("expected", "bound" or "all").

        >>> Transformer(2, 64, 4, 256, 1000).decode(1, 15)["scores"].flops  # 2 layers, 16 keys
        4096
        """
        batch, new = size("batch", batch), size("new", new)
        context = size("context", context, least=0)
        return self._pass(batch, new, context + new, logits=logits, **options)

    def decode_steps(self, batch: Number, context: Number, steps: Number, **options: Any) -> Ledger:
        """So many decode steps of one token, the cache growing by one each: a closed form.

        >>> model = Transformer(2, 64, 4, 256, 1000)
        >>> model.decode_steps(1, 10, 2).flops == (model.decode(1, 10) + model.decode(1, 11)).flops
        True
        """
        batch, steps = size("batch", batch), size("steps", steps, least=0)
        context = size("context", context, least=0)
        return self._pass(batch, steps, context + steps, one_by_one=True, **options)

    def generate(self, batch: Number, prompt: Number, new: Number, **options: Any) -> Ledger:
        """A whole generation: prefill gives the first new token, then ``new`` − 1 decode steps.

        >>> model = Transformer(2, 64, 4, 256, 1000)
        >>> model.generate(1, 10, 1).flops == model.prefill(1, 10, logits="last").flops
        True
        """
        steps = size("new", new) - 1
        prefill = self.prefill(batch, prompt, logits="last", **options)
        return prefill + self.decode_steps(batch, prompt, steps, **options)

    def training_step(
        self,
        batch: Number,
        seq: Number,
        *,
        recompute: str | None = None,
        scores: str = "materialised",
        masked: str = "skipped",
    ) -> Ledger:
        """Forward and backward: each matmul, logits included, once and then twice.

        ``recompute`` runs again, before the backward pass: attention's scores, softmax and values
        ("selective"), or all of each layer ("full").

        >>> model = Transformer(2, 64, 4, 256, 1000)
        >>> model.training_step(1, 16).matmul_flops == 3 * model.prefill(1, 16).matmul_flops
        True
        """
        if recompute not in RECOMPUTE:
            raise ValueError(f"recompute must be None, 'selective' or 'full', got {recompute!r}")
        batch, seq = size("batch", batch), size("seq", seq)
        forward = self._pass(batch, seq, seq, scores=scores, masked=masked)
        again = {
            None: lambda _: False,
            "selective": lambda op: op.name in ("scores", "softmax", "values"),
            "full": lambda op: op.name not in _OUTSIDE_LAYERS,
        }[recompute]
        repeated = Ledger(tuple(op.named(f"{op.name}.recomputed") for op in forward.where(again)))
        return forward + repeated + self._backward(batch, seq, scores, masked)

    def kv_elements_per_token(self) -> Number:
        """Elements that each token adds to the cache of all layers: 2·L·K·h, or L·(r + rope).

        >>> Transformer(32, 4096, 32, 11008, 32000).kv_elements_per_token()
        262144
        """
        return self.layers * self.kv_elements_per_layer()

    def kv_elements_per_layer(self) -> Number:
        """Elements that each token adds to the cache of one layer."""
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
        self,
        batch: Number,
        context: Number,
        precision: Precision | None = None,
        *,
        new: Number = 1,
        scores: str = "on-chip",
    ) -> Memory:
        """Bytes of weights, cache and activations while ``new`` tokens join ``context`` cached."""
        from costlib.kvcache import memory

        return memory(self, batch, context, precision, new=new, scores=scores)

    def _pass(
        self,
        batch: Number,
        seq: Number,
        context: Number,
        *,
        logits: str = "all",
        scores: str = "materialised",
        masked: str = "skipped",
        mla: str = "naive",
        experts: str = "expected",
        one_by_one: bool = False,
    ) -> Ledger:
        for name, value, among in (
            ("logits", logits, LOGITS),
            ("scores", scores, SCORES),
            ("masked", masked, MASKED),
            ("mla", mla, FORMS),
            ("experts", experts, EXPERTS),
        ):
            choose(name, value, among)
        before, after, last = self._table
        tokens = batch if one_by_one else batch * seq
        steps = seq if one_by_one else 1
        used = self._experts(tokens, experts)
        core = self._attention(batch, seq, context, scores, masked, mla, one_by_one)
        unembedded = batch if logits == "last" else tokens
        ops = [step.op(tokens, used) for step in before + after]
        ops += [step.op(unembedded) for step in last]
        if one_by_one:
            ops = [op * steps for op in ops]
        return Ledger((*ops[: len(before)], *core, *ops[len(before) :]))

    def _attention(
        self,
        batch: Number,
        seq: Number,
        context: Number,
        scores: str,
        masked: str,
        form: str,
        one_by_one: bool,
    ) -> tuple[Op, ...]:
        """Attention of all layers. Steps one by one read in all as many keys as they meet."""
        ops: tuple[Op, ...] = ()
        steps = seq if one_by_one else 1
        for layers, window in self._spans():
            if one_by_one:
                met = read = pairs_unchecked(seq, context, True, window, "skipped")
            else:
                met = pairs_unchecked(seq, context, True, window, masked)
                read = keys_unchecked(seq, context, window)
            if self.mla:
                latent = _latent(self.heads, self.mla)
                ops += latent_stages(
                    batch, seq, met, read, latent,
                    form=form, scores=scores, times=layers, steps=steps,
                )  # fmt: skip
            else:
                ops += stages(
                    batch, seq, met, read, self.heads, self.kv_heads, self.head_dim,
                    self.head_dim, scores=scores, times=layers, steps=steps,
                )  # fmt: skip
        return ops

    def _spans(self) -> list[tuple[Number, Number | None]]:
        """How many layers attend to everything, and how many within a window."""
        spans = [(self.layers - self.local_layers, None), (self.local_layers, self.window)]
        return [span for span in spans if not (type(span[0]) is int and span[0] == 0)]

    def _experts(self, tokens: Number, which: str) -> Number:
        moe = self.moe
        if moe is None:
            return 1
        if which == "all":
            return moe.experts
        count = experts_expected if which == "expected" else experts_bound
        return count(moe.experts, moe.per_token, tokens)

    def _backward(self, batch: Number, seq: Number, scores: str, masked: str) -> Ledger:
        """The backward pass, last step first."""
        before, after, last = self._table
        tokens, ledger = batch * seq, Ledger()
        used = self._experts(tokens, "expected")
        for step in reversed(after + last):
            ledger += step.backward(tokens, used)
        for layers, window in self._spans():
            met = pairs_unchecked(seq, seq, True, window, masked)
            ledger += Ledger(self._core_backward(batch, seq, met, scores, layers))
        for step in reversed(before):
            ledger += step.backward(tokens, used)
        return ledger

    def _core_backward(
        self, batch: Number, seq: Number, met: Number, scores: str, layers: Number
    ) -> tuple[Op, ...]:
        if self.mla is None:
            return stages_backward(
                batch, seq, met, seq, self.heads, self.kv_heads, self.head_dim, self.head_dim,
                scores=scores, times=layers,
            )  # fmt: skip
        m, heads = self.mla, self.heads
        core = stages_backward(
            batch, seq, met, seq, heads, heads, m.nope_dim + m.rope_dim, m.value_dim,
            scores=scores, times=layers,
        )  # fmt: skip
        expand = _linear("kv_b_proj", m.kv_rank, heads * (m.nope_dim + m.value_dim), layers)
        return core + expand[0].backward(batch * seq).ops


_OUTSIDE_LAYERS = ("embedding", "positions", "embedding_norm", "final_norm", "unembedding",
                   "unembedding.bias")  # fmt: skip


def _complete(model: Transformer) -> None:
    """Fill in what follows from the other sizes, and check what must agree."""
    heads = model.heads
    kv_heads = heads if model.kv_heads is None else size("kv_heads", model.kv_heads)
    if not divides(kv_heads, heads):
        raise ValueError(f"kv_heads must divide heads, got kv_heads={kv_heads}, heads={heads}")
    if model.head_dim is None and model.mla is None and not divides(heads, model.d_model):
        raise ValueError(
            f"d_model={model.d_model} is not a multiple of heads={heads}: give head_dim"
        )
    head_dim = model.head_dim
    if head_dim is None:
        head_dim = 1 if model.mla else exact_div(model.d_model, heads)
    _set(model, "kv_heads", kv_heads)
    _set(model, "head_dim", size("head_dim", head_dim))
    if model.rotary_dim is None:
        _set(model, "rotary_dim", model.mla.rope_dim if model.mla else model.head_dim)
    if model.window is None and model.local_layers:
        raise ValueError("local_layers needs a window")
    if model.window is not None:
        _set(model, "window", size("window", model.window))
    if model.local_layers is None:
        _set(model, "local_layers", 0 if model.window is None else model.layers)


def _steps(model: Transformer) -> tuple[tuple[PerToken, ...], ...]:
    """The model's steps: until attention, from there to the last norm, and the unembedding."""
    d, layers, norm = model.d_model, model.layers, model.norm
    first = [PerToken("embedding", rows=d, writes=d)]
    if not _is_zero(model.positions):
        first.append(_elementwise("positions", d, "residual", rows=d))
    if model.embedding_norm:
        first.append(_norm("embedding_norm", d, norm))
    projections = _latent_projections(model) if model.mla else _projections(model)
    norms = _norm("norms", d, norm, model.norms * layers)
    residual = _elementwise("residual", d, "residual", 2 * layers, reads=2 * d, gradient=1)
    output = _linear(
        "o_proj",
        model.heads * (model.mla.value_dim if model.mla else model.head_dim),
        d,
        layers,
        bias="o_proj" in model.biases,
    )
    final = [_norm("final_norm", d, norm)] if model.final_norm else []
    unembedding = _linear("unembedding", d, model.vocab, bias="unembedding" in model.biases)
    after = (*output, *_feed_forward(model), residual, *final)
    return (*first, norms, *projections), after, unembedding


def _projections(model: Transformer) -> tuple[PerToken, ...]:
    """What makes queries, keys and values of a layer's input; keys and values are cached."""
    d, layers, bias = model.d_model, model.layers, "qkv" in model.biases
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    steps = [
        *_linear("q_proj", d, queries, layers, bias=bias),
        *_linear("k_proj", d, keys, layers, bias=bias, cached=True),
        *_linear("v_proj", d, keys, layers, bias=bias, cached=True),
    ]
    if model.qk_norm:
        stored = 2 * model.head_dim if model.qk_norm == "head" else queries + keys
        steps.append(_norm("qk_norm", queries + keys, model.norm, layers, stored))
    if not _is_zero(model.rotary_dim):
        rotated = (model.heads + model.kv_heads) * model.rotary_dim
        steps.append(_elementwise("rotary", rotated, "rotary", layers, gradient=1))
    if model.sinks:  # one more entry in each row of the softmax: an exp and an addition
        steps.append(
            PerToken("sinks", 2 * model.heads * layers, weights=model.heads * layers, times=layers)
        )
    return tuple(steps)


def _latent_projections(model: Transformer) -> tuple[PerToken, ...]:
    """What makes queries and the cached latents of a layer's input (kv_b_proj is attention's)."""
    m, d, layers, norm = model.mla, model.d_model, model.layers, model.norm
    assert m is not None
    queries = model.heads * (m.nope_dim + m.rope_dim)
    if m.q_rank is None:
        query = _linear("q_proj", d, queries, layers)
    else:
        query = (
            *_linear("q_a_proj", d, m.q_rank, layers),
            _norm("q_norm", m.q_rank, norm, layers),
            *_linear("q_b_proj", m.q_rank, queries, layers),
        )
    return (
        *query,
        *_linear("kv_a_proj", d, m.kv_rank + m.rope_dim, layers, cached=True),
        _norm("kv_norm", m.kv_rank, norm, layers),
        _elementwise("rotary", (model.heads + 1) * m.rope_dim, "rotary", layers, gradient=1),
    )


def _feed_forward(model: Transformer) -> tuple[PerToken, ...]:
    """The feed-forward layers: dense ones, and where there are experts the mixture."""
    moe, d = model.moe, model.d_model
    dense = model.layers if moe is None else moe.dense_layers
    steps: tuple[PerToken, ...] = ()
    if not _is_zero(dense):
        steps += _mlp(model, "ffn", model.d_ff, dense, "ffn" in model.biases)
    if moe is None:
        return steps
    sparse = model.layers - moe.dense_layers
    steps += _linear("router", d, moe.experts, sparse, bias="router" in model.biases)
    steps += (_elementwise("router.softmax", moe.experts, "softmax", sparse),)
    experts = _mlp(model, "experts", moe.width, sparse, "experts" in model.biases, moe.per_token)
    chosen = moe.per_token * d
    steps += (
        *experts,
        _elementwise("experts.combine", chosen, "combine", sparse, writes=d, gradient=2),
    )
    if not _is_zero(moe.shared_width):
        steps += _mlp(model, "shared", moe.shared_width, sparse, bias=False)
    if moe.shared_gate:
        steps += _linear("shared_gate", d, 1, sparse)
    return steps


def _mlp(
    model: Transformer,
    name: str,
    width: Number,
    times: Number,
    bias: bool,
    per_token: Number | None = None,
) -> tuple[PerToken, ...]:
    """up, activation, down, and perhaps a gate; ``per_token`` experts of it for each token."""
    d, copies = model.d_model, 1 if per_token is None else per_token
    per_element = FLOPS_PER_ELEMENT[model.activation]
    if model.gated:
        per_element += FLOPS_PER_ELEMENT["gate"]
    read = (2 if model.gated else 1) * width * copies * times
    activation = PerToken(
        f"{name}.activation",
        per_element * width * copies * times,
        read,
        width * copies * times,
        times=times,
    )
    options: Any = {"bias": bias, "copies": copies, "is_expert": per_token is not None}
    gate = _linear(f"{name}.gate", d, width, times, **options) if model.gated else ()
    up = _linear(f"{name}.up", d, width, times, **options)
    down = _linear(f"{name}.down", width, d, times, **options)
    return (*gate, *up, activation, *down)


def _linear(
    name: str,
    d_in: Number,
    d_out: Number,
    times: Number = 1,
    *,
    bias: bool = False,
    cached: bool = False,
    copies: Number = 1,
    is_expert: bool = False,
) -> tuple[PerToken, ...]:
    """A linear layer, ``times`` over, for ``copies`` of each token; its outputs may be cached."""
    made = d_out * times * copies
    product = PerToken(
        name,
        FLOPS_PER_MULTIPLY_ADD * d_in * made,
        reads=d_in * times * copies,
        writes=0 if cached else made,
        kv_writes=made if cached else 0,
        weights=d_in * d_out * times,
        is_expert=is_expert,
        is_matmul=True,
        times=times,
    )
    if not bias:
        return (product,)
    added = PerToken(
        f"{name}.bias",
        FLOPS_PER_ELEMENT["bias"] * made,
        weights=d_out * times,
        is_expert=is_expert,
        gradient=1,
        times=times,
    )  # added before the outputs leave the chip
    return (product, added)


def _norm(
    name: str, width: Number, norm: str, times: Number = 1, stored: Number | None = None
) -> PerToken:
    """A normalisation of ``width`` elements; its weights are as many unless ``stored`` is given."""
    weights = NORM_WEIGHTS[norm] * (width if stored is None else stored)
    return PerToken(
        name,
        FLOPS_PER_ELEMENT[norm] * width * times,
        reads=width * times,
        writes=width * times,
        weights=weights * times,
        times=times,
    )


def _elementwise(
    name: str,
    width: Number,
    kind: str,
    times: Number = 1,
    *,
    reads: Number | None = None,
    writes: Number | None = None,
    rows: Number = 0,
    gradient: Number = 2,
) -> PerToken:
    """So many FLOPs for each of ``width`` elements; as many are read and written unless given."""
    return PerToken(
        name,
        FLOPS_PER_ELEMENT[kind] * width * times,
        reads=(width if reads is None else reads) * times,
        writes=(width if writes is None else writes) * times,
        rows=rows,
        gradient=gradient,
        times=times,
    )


def _latent(heads: Number, mla: MLA) -> tuple[Number, Number, Number, Number, Number]:
    return heads, mla.kv_rank, mla.nope_dim, mla.rope_dim, mla.value_dim


def _is_zero(value: Number) -> bool:
    return type(value) is int and value == 0


def _set(instance: object, name: str, value: Any) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(instance, name, value)
