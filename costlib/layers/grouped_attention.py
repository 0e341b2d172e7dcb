"""Softmax attention as a layer has it: projections, norms, rotation, heads that share keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import (
    Core,
    check_groups,
    check_sizes,
    keys_unchecked,
    pairs_unchecked,
)
from costlib.layers.by_tokens import Attending
from costlib.layers.indexer import Indexer
from costlib.layers.parts import (
    Divided,
    Pass,
    PerToken,
    Saved,
    elementwise,
    input_of,
    normalisation,
    same,
)
from costlib.units.ledger import Op
from costlib.units.numbers import Number, choose, is_zero, minimum, set_field, triangle


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Attending):
    """Softmax attention: every query meets the keys it may see.

    ``kv_heads`` keys and values are shared by ``heads`` queries; a value may have another width.
    ``window``: a query sees that number of tokens, itself included. ``chunk``: it sees those of its
    own chunk of the text (Llama 4). Not ``causal``: it sees all (encoders), or a window to both
    sides.

    ``qk_norm`` is "head" (one norm for all heads), "each" (one for every head) or "full";
    ``value_norm`` one without weights on values. ``gate`` multiplies the output by a sigmoid, one
    for each "element" or one a "head". ``keys_are_values``: values are the keys before their norm
    (both are cached). ``shares_kv``: keys and values are an earlier layer's; ``repeats_kv``: they
    are kept once for every query head. ``cross``: they are an encoder's. ``biases`` names the
    projections that have one. ``d_in`` is the width of the input where it is not the model's.
    ``context_parallel`` devices, in ``context_nodes`` nodes, take in turn the cached tokens of the
    same heads: see `costlib.parallel.context_parallel`.
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
    context_parallel: Number = 1
    context_nodes: Number = 1

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

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("heads",), ("kv_heads",)

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
        steps = [*self.linear("q_proj", d, queries)]
        if not (self.shares_kv or self.cross):
            steps += self.linear("k_proj", d, keys, cached=True)
            if self.keys_are_values:
                steps.append(PerToken("v_proj", kv_writes=values, gradient=1))
            else:
                steps += self.linear("v_proj", d, values, cached=True)
        if self.repeats_kv:
            more = self.kept_heads - self.kv_heads
            steps.append(PerToken("kv.repeat", kv_writes=more * (self.head_dim + self.value_dim)))
        steps += self._normed(queries, 0 if self.shares_kv or self.cross else keys, values)
        steps += self.gating(d) if self.gate else ()
        if self.sinks:  # one more entry in each row of the softmax: an exp and an addition
            steps.append(PerToken("sinks", 2 * self.heads, weights=self.heads))
        return (*steps, *self.beside(d))

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

    def _core(self, run: Pass, layers: Number) -> Core:
        masked = run.masking
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

    @property
    def asked(self) -> Any:
        """A query, and the sum of values that it finds."""
        return self.head_dim + self.value_dim

    def attend(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Scores, softmax, values, once there are keys and values of an encoder's tokens."""
        seen = self._seen(run, layers) if self.cross else ()
        return (*seen, *self._core(run, layers).forward())

    def attend_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        seen = self._seen_backward(run, layers) if self.cross else ()
        return (*self._core(run, layers).backward(), *seen)

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
            *self.linear("k_proj", self.d_in, keys, cached=True),
            *normed,
            *self.linear("v_proj", self.d_in, values, cached=True),
        )

    @property
    def kept(self) -> Any:
        """A key and a value of each head, unless they are another layer's, or an encoder's."""
        if self.shares_kv or self.cross or not self.causal:
            return 0
        return self.kept_heads * (self.head_dim + self.value_dim)

    @property
    def cached_of_encoded(self) -> Any:
        """Keys and values of an encoder's tokens."""
        return self.kv_heads * (self.head_dim + self.value_dim) if self.cross else 0

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


def _on_both_sides(tokens: Number, window: Number) -> Any:
    """Pairs when each token sees itself and window − 1 tokens before it and after it."""
    far = minimum(window, tokens) - 1
    return tokens + 2 * far * tokens - far * (far + 1)


def _in_chunks(tokens: Number, chunk: Number) -> Any:
    """Pairs of the first tokens when each sees its own chunk up to itself."""
    full, rest = tokens // chunk, tokens % chunk
    return full * triangle(chunk) + triangle(rest)
