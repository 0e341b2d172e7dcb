"""Kinds of attention: every query meets keys, all of them or some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import (
    MLA,
    Core,
    check_groups,
    check_sizes,
    keys_unchecked,
    latent_stages,
    pairs_unchecked,
)
from costlib.layers.matmul import product_flops
from costlib.layers.parts import (
    Cache,
    Part,
    Pass,
    PerToken,
    Saved,
    elementwise,
    gradient_of,
    input_of,
    linear_step,
    normalisation,
    same,
    set_field,
)
from costlib.units.ledger import Elements, Op
from costlib.units.numbers import Number, choose, exact_div, is_zero, minimum, triangle


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """What picks the keys that a sparse layer attends to: DeepSeek's lightning indexer.

    ``heads`` small queries a token, made of a vector of ``query_width`` (None: of the layer's own
    input), meet one key a token of ``head_dim``; the ``top`` best keys are attended to. The keys
    are cached. With ``block`` keys are picked in blocks of so many (MiniMax). With ``pool`` each so
    many tokens make one key, of which queries meet the complete ones: their mean, or a sum weighted
    by a gate (``gated``), which is then cached beside the keys. ``one_by_one``: code that goes
    query by query, and so computes nothing that is masked.
    """

    heads: Number
    head_dim: Number
    top: Number
    query_width: Number | None = None
    rotary_dim: Number = 0
    key_norm: str | None = "layer_norm"
    query_norm: str | None = None
    weighted: bool = True
    block: Number | None = None
    pool: Number | None = None
    gated: bool = False
    one_by_one: bool = False

    @property
    def cached(self) -> Any:
        """Elements kept of a token: its key, and perhaps its gate and a flag."""
        return 2 * self.head_dim + 1 if self.gated else self.head_dim

    def steps(self, d: Number) -> tuple[PerToken, ...]:
        """Its projections."""
        width = d if self.query_width is None else self.query_width
        queries, dim = self.heads * self.head_dim, self.head_dim
        found = [
            *linear_step("indexer.q_proj", width, queries),
            *linear_step("indexer.k_proj", d, dim, cached=True),
        ]
        if self.key_norm:
            found.append(normalisation("indexer.k_norm", dim, self.key_norm))
        if self.query_norm:
            found.append(normalisation("indexer.q_norm", queries, self.query_norm, dim))
        if not is_zero(self.rotary_dim):
            rotated = (self.heads + 1) * self.rotary_dim
            found.append(elementwise("indexer.rotary", rotated, "rotary", gradient=1))
        if self.weighted:
            found += linear_step("indexer.weights", d, self.heads)
        if self.gated and self.pool is not None:
            found += linear_step("indexer.gate", d, dim, cached=True)
            found.append(PerToken("indexer.pool", 8 * dim, 2 * dim, weights=self.pool * dim))
        return tuple(found)

    def _met(self, run: Pass) -> Any:
        """Pairs of queries and keys, or pools of keys, that came before them."""
        masked = "skipped" if self.one_by_one else _masked(run)
        if self.pool is None:
            return pairs_unchecked(run.seq, run.context, True, None, masked)
        if masked == "computed":
            return run.seq * (run.context // self.pool)
        return pooled(run.context, self.pool) - pooled(run.cached, self.pool)

    def mixing(self, run: Pass, layers: Number) -> Op:
        """Every query meets every key before it; heads are added up with weights."""
        met = self._met(run)
        read = met if run.one_by_one else run.context
        per_pair = self.heads * (self.head_dim + (1 if self.weighted else 0))
        flops = run.batch * product_flops(1, layers * per_pair, 1) * met
        queries = run.batch * (layers * self.heads * self.head_dim) * run.seq
        keys = run.batch * (layers * self.head_dim) * read
        moved = Elements(activations=queries, kv=keys)
        chosen = Elements(activations=run.batch * layers * minimum(self.top, run.context) * run.seq)
        return Op("indexer.scores", flops, moved, chosen, True, layers * run.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Part):
    """Softmax attention: every query meets the keys it may see.

    ``kv_heads`` keys and values are shared by ``heads`` queries; a value may have another width.
    ``window``: a query sees so many tokens, itself included. ``chunk``: it sees those of its own
    chunk of the text (Llama 4). Not ``causal``: it sees all (encoders), or a window to both sides.

    ``qk_norm`` is "head" (one norm for all heads), "each" (one for every head) or "full";
    ``value_norm`` one without weights on values. ``gate`` multiplies the output by a sigmoid, one
    for each "element" or one a "head". ``keys_are_values``: values are the keys before their norm
    (both are cached). ``shares_kv``: keys and values are an earlier layer's; ``repeats_kv``: they
    are kept once for every query head. ``cross``: they are an encoder's. ``biases`` names the
    projections that have one. ``d_in`` is the width of the input where it is not the model's.
    """

    heads: Number
    head_dim: Number
    kv_heads: Number = None  # type: ignore[assignment]  # filled in while made
    value_dim: Number = None  # type: ignore[assignment]  # filled in while made
    window: Number | None = None
    chunk: Number | None = None
    causal: bool = True
    rotary_dim: Number = None  # type: ignore[assignment]  # filled in while made
    biases: tuple[str, ...] = ()
    norm: str = "rms_norm"
    qk_norm: str | None = None
    value_norm: bool = False
    sinks: bool = False
    gate: str | None = None
    keys_are_values: bool = False
    shares_kv: bool = False
    repeats_kv: bool = False
    cross: bool = False
    indexer: Indexer | None = None
    d_in: Any = None  # a Number where there is cross attention
    extra: tuple[PerToken, ...] = ()

    def __post_init__(self) -> None:
        for name, otherwise in (("kv_heads", "heads"), ("value_dim", "head_dim")):
            if getattr(self, name) is None:
                set_field(self, name, getattr(self, otherwise))
        if self.rotary_dim is None:
            set_field(self, "rotary_dim", self.head_dim)
        check_sizes(self, "heads", "kv_heads", "head_dim", "value_dim")
        check_sizes(self, "rotary_dim", least=0)
        check_groups(self.heads, self.kv_heads)
        choose("qk_norm", self.qk_norm, (None, "head", "each", "full"))
        choose("gate", self.gate, (None, "element", "head"))
        if self.cross and self.d_in is None:
            raise ValueError("cross attention needs d_in, the width of what the encoder made")

    def without_reach(self) -> Attention:
        """See `Part.without_reach`."""
        return replace(self, window=None, chunk=None, causal=True)

    @property
    def reach(self) -> Any:
        """Tokens that a query sees at most; None where there is no limit."""
        return self.window if self.chunk is None else self.chunk

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """See `Part.before`."""
        d = d if self.d_in is None else self.d_in
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        values = self.kv_heads * self.value_dim
        steps = [*self._linear("q_proj", d, queries)]
        if not (self.shares_kv or self.cross):
            steps += self._linear("k_proj", d, keys, cached=True)
            if self.keys_are_values:
                steps.append(PerToken("v_proj", kv_writes=values, gradient=1))
            else:
                steps += self._linear("v_proj", d, values, cached=True)
        if self.repeats_kv:
            more = self.kept_heads - self.kv_heads
            steps.append(PerToken("kv.repeat", kv_writes=more * (self.head_dim + self.value_dim)))
        steps += self._normed(queries, 0 if self.shares_kv or self.cross else keys, values)
        if self.gate:
            gates = self.heads * (self.value_dim if self.gate == "element" else 1)
            steps += self._linear("gate_proj", d, gates)
        if self.sinks:  # one more entry in each row of the softmax: an exp and an addition
            steps.append(PerToken("sinks", 2 * self.heads, weights=self.heads))
        return (*steps, *self.extra, *(self.indexer.steps(d) if self.indexer else ()))

    def _normed(self, queries: Number, keys: Number, values: Number) -> list[PerToken]:
        """Norms and rotation of queries and keys."""
        steps, has_keys = [], not is_zero(keys)
        if self.qk_norm:
            width = queries + keys
            heads = 2 if has_keys else 1
            stored = {"head": heads * self.head_dim}.get(self.qk_norm, width)
            steps.append(normalisation("qk_norm", width, self.norm, stored))
        if self.value_norm and has_keys:
            steps.append(normalisation("v_norm", values, "plain_norm"))
        if not is_zero(self.rotary_dim):
            rotated = (self.heads + (self.kv_heads if has_keys else 0)) * self.rotary_dim
            steps.append(elementwise("rotary", rotated, "rotary", gradient=1))
        return steps

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """See `Part.after`."""
        width = self.heads * self.value_dim
        gate = (elementwise("attention.gate", width, "sigmoid_gate"),) if self.gate else ()
        return (*gate, *self._linear("o_proj", width, d))

    def _linear(self, name: str, d_in: Number, d_out: Number, cached: bool = False) -> Any:
        return linear_step(name, d_in, d_out, bias=name in self.biases, cached=cached)

    def _core(self, run: Pass, layers: Number) -> Core:
        masked = _masked(run)
        if self.cross:
            if is_zero(run.encoded):
                raise ValueError("give encoded=, the number of tokens that the encoder reads")
            seq, context, causal, window = run.seq, run.encoded, False, None
        else:
            seq, context, causal, window = run.seq, run.context, self.causal, self.reach
        if not (causal or self.cross or run.is_first):
            raise ValueError("an encoder reads a text at once: it has a prefill and no decode")
        if self.indexer is not None and masked == "skipped":
            window = self.indexer.top
        if self.chunk is not None and masked == "skipped":
            met = _in_chunks(context, self.chunk) - _in_chunks(run.cached, self.chunk)
            read = context - run.cached // self.chunk * self.chunk
        elif window is not None and not causal and masked == "skipped":
            met, read = _on_both_sides(seq, window), context
        else:
            met = pairs_unchecked(seq, context, causal, window, masked)
            read = keys_unchecked(seq, context, window)
        read = met if run.one_by_one else read
        widths = (self.heads, self.kept_heads, self.head_dim, self.value_dim)
        return Core(run.batch, run.seq, met, read, *widths, run.scores, layers, run.steps)

    @property
    def kept_heads(self) -> Any:
        """Heads of keys and values as they are kept."""
        return self.heads if self.repeats_kv else self.kv_heads

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Scores, softmax, values."""
        first = (self.indexer.mixing(run, layers),) if self.indexer else ()
        seen = self._seen(run, layers) if self.cross else ()
        return (*first, *seen, *self._core(run, layers).forward())

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        last = (gradient_of(self.indexer.mixing(run, layers)),) if self.indexer else ()
        seen = self._seen_backward(run, layers) if self.cross else ()
        return (*self._core(run, layers).backward(), *seen, *last)

    def _seen(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Keys and values of an encoder's tokens, made once."""
        inner = replace(run, seq=run.encoded, context=run.encoded)
        return tuple(inner.of(step, layers) for step in self.mixed) if run.is_first else ()

    def _seen_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        inner = replace(run, seq=run.encoded, context=run.encoded)
        back = ((step * layers).backward(inner.tokens) for step in reversed(self.mixed))
        return tuple(op for ledger in back for op in ledger)

    @property
    def mixed(self) -> tuple[PerToken, ...]:
        """What makes keys and values that are an encoder's."""
        if not self.cross:
            return ()
        keys, values = self.kv_heads * self.head_dim, self.kv_heads * self.value_dim
        stored = self.head_dim if self.qk_norm == "head" else keys
        normed = (normalisation("k_norm", keys, self.norm, stored),) if self.qk_norm else ()
        return (
            *self._linear("k_proj", self.d_in, keys, cached=True),
            *normed,
            *self._linear("v_proj", self.d_in, values, cached=True),
        )

    @property
    def caches(self) -> tuple[Cache, ...]:
        """Keys and values, and the indexer's keys."""
        if self.shares_kv or self.cross or not self.causal:
            return ()
        width = self.kept_heads * (self.head_dim + self.value_dim)
        own = Cache(per_token=width, window=self.reach)
        return (own, Cache(per_token=self.indexer.cached)) if self.indexer else (own,)

    @property
    def cached_of_encoded(self) -> Any:
        """Keys and values of an encoder's tokens."""
        return self.kv_heads * (self.head_dim + self.value_dim) if self.cross else 0

    @property
    def score_heads(self) -> Any:
        """See `Part.score_heads`."""
        return self.heads

    def scores(self, seq: Number, encoded: Number) -> Any:
        """See `Part.scores`."""
        return self.heads * seq * (encoded if self.cross else seq)

    def saved_of_encoded(self, d: Number) -> tuple[Saved, ...]:
        """Keys (before a norm too) and values of an encoder's tokens."""
        return self._saved_kv() if self.cross else ()

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """Queries and keys (before a norm too), values, and o_proj's input."""
        queries = Saved("queries", (2 if self.qk_norm else 1) * self.heads * self.head_dim)
        kept = () if self.shares_kv or self.cross else self._saved_kv()
        made = replace(input_of("o_proj", self.heads * self.value_dim), by_kernel=True)
        return (queries, *kept, made)

    def _saved_kv(self) -> tuple[Saved, ...]:
        keys = (2 if self.qk_norm else 1) * self.kv_heads * self.head_dim
        values = self.kv_heads * self.value_dim
        ways = None if same(self.kv_heads, self.heads) else self.kv_heads
        return (Saved("keys", keys, ways=ways), Saved("values", values, ways=ways))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedAttention(Attention):
    """Attention whose queries and outputs are experts (JetMoE): a token is sent to ``per_token``.

    Each of ``experts`` has its own projections for an equal part of the heads that a token uses;
    keys and values serve all of them.
    """

    experts: Number
    per_token: Number

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """A router, then queries of the experts it chose, and keys and values."""
        scored = elementwise("attention.router.softmax", self.experts, "softmax")
        router = linear_step("attention.router", d, self.experts)
        return (*router, scored, *Attention.before(self, d))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """Each chosen expert's output, added up, and a bias."""
        return (*Attention.after(self, d), PerToken("o_proj.bias", d, weights=d, gradient=1))

    def _linear(self, name: str, d_in: Number, d_out: Number, cached: bool = False) -> Any:
        if name == "q_proj":
            d_out = exact_div(d_out, self.per_token)
        elif name == "o_proj":
            d_in = exact_div(d_in, self.per_token)
        else:
            return Attention._linear(self, name, d_in, d_out, cached)
        return [s.routed(self.experts, self.per_token) for s in linear_step(name, d_in, d_out)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialAttention(Attention):
    """Attention in pairs of heads, one of which is taken off the other (Diff Transformer).

    Both heads of a pair meet the values of both, which is run as attention twice over: once for
    each half of the values. Four vectors as wide as a head make the factor of what is taken off.
    """

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, keys and values, and what the factor is made of."""
        factor = PerToken("lambda", weights=4 * self.head_dim)
        return (*Attention.before(self, d), factor)

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The difference and its norm, which has no weights, and the output projection."""
        width = self.heads * self.value_dim
        taken = elementwise("difference", width, "residual", reads=2 * width)
        norm = normalisation("head_norm", width, "plain_norm")
        return (taken, norm, *Attention.after(self, d))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Attention to each half of the values."""
        return tuple(op * 2 for op in Attention.mixing(self, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of both."""
        return tuple(op * 2 for op in Attention.mixing_backward(self, run, layers))


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMaskedAttention(Attention):
    """Attention whose mask is made of the values that are cached, anew in each pass (Doge)."""

    @property
    def mixed(self) -> tuple[PerToken, ...]:
        """What makes the mask: a number for each KV head and token."""
        product = self._linear("dt_proj", self.kv_heads * self.value_dim, self.kv_heads)
        scaled = PerToken("dt", 6 * self.kv_heads, self.kv_heads, self.kv_heads)
        return (*product, replace(scaled, weights=self.kv_heads))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """A mask of the whole context, and attention with it."""
        return (*self._masks(run, layers), *Attention.mixing(self, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of attention and of its mask."""
        masks = reversed(self._masks(run, layers))
        return (*Attention.mixing_backward(self, run, layers), *map(gradient_of, masks))

    def _masks(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Steps one by one make it anew for each context, which is as many tokens as pairs."""
        read = run.context
        if run.one_by_one:
            read = pairs_unchecked(run.seq, run.context, True, None, "skipped")
        found = []
        for step in self.mixed:
            op = (step * layers).op(run.batch * read)
            into, weights = op.elements_read.activations, op.elements_read.weights * run.steps
            reads = Elements(weights=weights, kv=into if op.is_matmul else 0)
            found.append(replace(op, elements_read=reads, count=op.count * run.steps))
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolvedAttention(Attention):
    """Attention whose queries and keys pass two short convolutions first (ZAYA).

    The first convolves each channel with ``kernels[0]`` entries, the second the channels of each
    head with one another. Half of each value is the previous token's. ``d_in`` must be given.
    """

    kernels: tuple[int, int] = (2, 2)

    def __post_init__(self) -> None:
        Attention.__post_init__(self)
        check_sizes(self, "d_in")

    @property
    def channels(self) -> Any:
        """Queries and keys."""
        return (self.heads + self.kv_heads) * self.head_dim

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, keys, both halves of values, and one scale for each KV head's keys."""
        scale = PerToken("k_scale", self.kv_heads * self.head_dim, weights=self.kv_heads)
        return (*Attention.before(self, d), scale)

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The convolutions, then attention; before the first token there is a value of zeros."""
        first, second = self.kernels
        each = run.batch * product_flops(1, 1, layers * self.channels)
        padded = run.seq + (second - 1 if run.masked == "computed" else 0)
        moved = Elements(activations=run.batch * run.seq * (layers * self.channels))
        count = layers * run.steps
        weights = Elements(weights=layers * self.mixing_weights * run.steps)
        ops = [
            Op("conv", each * first * padded, moved + weights, moved, True, count),
            Op("conv.heads", each * self.head_dim * second * run.seq, moved, moved, True, count),
        ]
        if run.masked == "computed" and run.is_first:
            halves, width = layers * self.kv_heads * (self.value_dim // 2), self.d_in or 0
            flops = run.batch * product_flops(1, width, halves)
            ops.append(Op("v_proj.zeros", flops, is_matmul=True, count=layers))
        return (*ops, *Attention.mixing(self, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Two products for each of the convolutions', and attention's gradients."""
        convolved = [op for op in self.mixing(run, layers) if op.name.startswith("conv")]
        found = Attention.mixing_backward(self, run, layers)
        return (*found, *(gradient_of(op) for op in reversed(convolved)))

    @property
    def mixing_weights(self) -> Any:
        """Both convolutions, each with a bias for every channel."""
        first, second = self.kernels
        return self.channels * (first + self.head_dim * second + 2)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """Keys and values, the convolutions' last inputs, and half a value."""
        width = self.kv_heads * (self.head_dim + self.value_dim)
        inputs = self.channels * (sum(self.kernels) - 2)
        state = inputs + self.kv_heads * (self.value_dim // 2)
        return (Cache(per_token=width, window=self.reach), Cache(state=state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent(Part):
    """Multi-head latent attention: one latent and one rotary key a token serve all heads.

    ``biases`` names those of q_proj, q_a_proj, q_b_proj, kv_a_proj and o_proj that have one.
    ``top``: so many keys are attended to, which the indexer of an earlier layer chose; ``window``:
    the last ones. ``gate`` is one for each "element" or one a "head", or made with the queries from
    their middle before its norm and after it ("fused": A.X K2). ``shares_kv``: latents are those of
    an earlier layer, and expanded anew.
    """

    heads: Number
    mla: MLA
    norm: str = "rms_norm"
    biases: tuple[str, ...] = ()
    q_normed: bool = True
    gate: str | None = None
    sinks: bool = False
    shares_kv: bool = False
    indexer: Indexer | None = None
    top: Number | None = None
    window: Number | None = None
    extra: tuple[PerToken, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self, "heads")
        choose("gate", self.gate, (None, "element", "head", "fused"))

    def without_reach(self) -> Latent:
        """See `Part.without_reach`."""
        return replace(self, window=None)

    @property
    def reach(self) -> Any:
        """Tokens that a query sees at most; None where there is no limit."""
        return self.window

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """What makes queries and the cached latents (kv_b_proj belongs to the mixing)."""
        m, queries = self.mla, self.heads * self.mla.head_dim
        if m.q_rank is None:
            steps = [*self._linear("q_proj", d, queries)]
        else:
            normed = (normalisation("q_norm", m.q_rank, self.norm),) if self.q_normed else ()
            steps = [*self._linear("q_a_proj", d, m.q_rank), *normed]
            if self.gate == "fused":
                both = queries + self.heads * m.value_dim
                steps += linear_step("q_gate_proj", 2 * m.q_rank, both)
            else:
                steps += self._linear("q_b_proj", m.q_rank, queries)
        rotated = (self.heads + (0 if self.shares_kv else 1)) * m.rope_dim
        if not self.shares_kv:
            steps += self._linear("kv_a_proj", d, m.kv_rank + m.rope_dim, cached=True)
            steps.append(normalisation("kv_norm", m.kv_rank, self.norm))
        if self.sinks:
            steps.append(PerToken("sinks", 2 * self.heads, weights=self.heads))
        if not is_zero(m.rope_dim):
            steps.append(elementwise("rotary", rotated, "rotary", gradient=1))
        if self.gate in ("element", "head"):
            gates = self.heads * (m.value_dim if self.gate == "element" else 1)
            steps += self._linear("gate_proj", d, gates)
        return (*steps, *self.extra, *(self.indexer.steps(d) if self.indexer else ()))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """See `Part.after`."""
        width = self.heads * self.mla.value_dim
        gate = (elementwise("attention.gate", width, "sigmoid_gate"),) if self.gate else ()
        return (*gate, *self._linear("o_proj", width, d))

    def _linear(self, name: str, d_in: Number, d_out: Number, cached: bool = False) -> Any:
        return linear_step(name, d_in, d_out, bias=name in self.biases, cached=cached)

    def expand(self) -> PerToken:
        """From a latent to keys and values: the mixing has it, once for every key."""
        width = self.heads * (self.mla.nope_dim + self.mla.value_dim)
        return linear_step("kv_b_proj", self.mla.kv_rank, width)[0]

    def _core(self, run: Pass, layers: Number) -> Core:
        masked = _masked(run)
        top = self.top if self.indexer is None else self.indexer.top
        top = top if masked == "skipped" else None
        seen = self.window if top is None else top
        met = pairs_unchecked(run.seq, run.context, True, seen, masked)
        read = met if run.one_by_one else keys_unchecked(run.seq, run.context, seen)
        widths = (self.heads, self.heads, self.mla.head_dim, self.mla.value_dim)
        return Core(run.batch, run.seq, met, read, *widths, run.scores, layers, run.steps)

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Attention over latents, expanded (naive) or as they are (absorbed)."""
        first = (self.indexer.mixing(run, layers),) if self.indexer else ()
        return (*first, *latent_stages(self._core(run, layers), self.mla, run.mla))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of the naive form: training has every key at hand."""
        expand = (self.expand() * layers).backward(run.tokens)
        last = (gradient_of(self.indexer.mixing(run, layers)),) if self.indexer else ()
        return (*self._core(run, layers).backward(), *expand, *last)

    @property
    def mixed(self) -> tuple[PerToken, ...]:
        """The expansion of latents, which the absorbed form does in two halves."""
        return (self.expand(),)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The latent and the rotary key, and the indexer's keys."""
        if self.shares_kv:
            return (Cache(per_token=self.indexer.cached),) if self.indexer else ()
        own = Cache(per_token=self.mla.kv_rank + self.mla.rope_dim, window=self.window)
        return (own, Cache(per_token=self.indexer.cached)) if self.indexer else (own,)

    @property
    def score_heads(self) -> Any:
        """See `Part.score_heads`."""
        return self.heads

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """Latents before and after their norms, expanded keys and values, and o_proj's input."""
        m, ranks = self.mla, self.mla.kv_rank
        if self.mla.q_rank is not None:
            ranks = ranks + self.mla.q_rank
        return (
            Saved("norms of latents", ranks + m.rope_dim, split="sequence"),
            Saved("latents", ranks, "inputs", split="sequence", feeds=("q_b_proj", "kv_b_proj")),
            Saved("queries", self.heads * m.head_dim),
            Saved("keys", self.heads * m.head_dim),
            Saved("values", self.heads * m.value_dim),
            replace(input_of("o_proj", self.heads * m.value_dim), by_kernel=True),
        )


def _masked(run: Pass) -> str:
    """Steps one by one compute nothing that is masked."""
    return "skipped" if run.one_by_one else run.masked


def _on_both_sides(tokens: Number, window: Number) -> Any:
    """Pairs when each token sees itself and window − 1 tokens before it and after it."""
    far = minimum(window, tokens) - 1
    return tokens + 2 * far * tokens - far * (far + 1)


def _in_chunks(tokens: Number, chunk: Number) -> Any:
    """Pairs of the first tokens when each sees its own chunk up to itself."""
    full, rest = tokens // chunk, tokens % chunk
    return full * triangle(chunk) + triangle(rest)


def pooled(tokens: Number, pool: Number) -> Any:
    """Complete pools that the first tokens see in all: ⌊t / pool⌋ by the t-th.

    >>> pooled(11, 4)  # none for three tokens, one for four, two for four
    12
    """
    full, rest = tokens // pool, tokens % pool
    return pool * triangle(full) - full * (pool - 1 - rest)
