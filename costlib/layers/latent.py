"""Multi-head latent attention as a layer has it (DeepSeek-V2 and those after it)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import (
    MLA,
    Core,
    check_sizes,
    keys_unchecked,
    latent_stages,
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
    linear_step,
    normalisation,
)
from costlib.units.ledger import Op
from costlib.units.numbers import Number, choose, is_zero


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent(Attending):
    """Multi-head latent attention: one latent and one rotary key a token serve all heads.

    ``biases`` names those of q_proj, q_a_proj, q_b_proj, kv_a_proj and o_proj that have one.
    ``top``: the number of keys that are attended to, which the indexer of an earlier layer chose;
    ``window``: the last ones. ``gate`` is one for each "element" or one a "head", or made with the
    queries from their middle before its norm and after it ("fused": A.X K2). ``shares_kv``: latents
    are those of an earlier layer, and expanded anew. ``context_parallel`` is that of `Attention`.
    """

    heads: Number
    mla: MLA
    norm: str = "rms_norm"
    biases: tuple[str, ...] = ()
    gate: str | None = None
    sinks: bool = False
    shares_kv: bool = False
    indexer: Indexer | None = None
    top: Number | None = None
    window: Number | None = None
    extra: tuple[PerToken, ...] = ()
    context_parallel: Number = 1
    context_nodes: Number = 1

    def __post_init__(self) -> None:
        check_sizes(self, "heads")
        choose("gate", self.gate, (None, "element", "head", "fused"))

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("heads",), ()

    def without_reach(self) -> Latent:
        """See `Part.without_reach`."""
        return replace(self, window=None)

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """What makes queries and the cached latents (kv_b_proj belongs to the mixing)."""
        m, queries = self.mla, self.heads * self.head_dim
        if m.q_rank is None:
            steps = [*self.linear("q_proj", d, queries)]
        else:
            normed = normalisation("q_norm", m.q_rank, self.norm)
            steps = [*self.linear("q_a_proj", d, m.q_rank), normed]
            if self.gate == "fused":
                both = queries + self.heads * self.value_dim
                steps += linear_step("q_gate_proj", 2 * m.q_rank, both)
            else:
                steps += self.linear("q_b_proj", m.q_rank, queries)
        rotated = (self.heads + (0 if self.shares_kv else 1)) * m.rope_dim
        if not self.shares_kv:
            steps += self.linear("kv_a_proj", d, m.kv_rank + m.rope_dim, cached=True)
            steps.append(normalisation("kv_norm", m.kv_rank, self.norm))
        if self.sinks:
            steps.append(PerToken("sinks", 2 * self.heads, weights=self.heads))
        if not is_zero(m.rope_dim):
            steps.append(elementwise("rotary", rotated, "rotary", gradient=1))
        steps += self.gating(d) if self.gate in ("element", "head") else ()
        return (*steps, *self.beside(d))

    def expand(self) -> PerToken:
        """From a latent to keys and values: the mixing has it, once for every key."""
        width = self.heads * (self.mla.nope_dim + self.mla.value_dim)
        return linear_step("kv_b_proj", self.mla.kv_rank, width)[0]

    def _core(self, run: Pass, layers: Number) -> Core:
        masked = run.masking
        top = self.top if self.indexer is None else self.indexer.top
        top = top if masked == "skipped" else None
        seen = self.window if top is None else top
        met = pairs_unchecked(run.seq, run.context, True, seen, masked)
        read = met if run.one_by_one else keys_unchecked(run.seq, run.context, seen)
        widths = (self.heads, self.heads, self.head_dim, self.value_dim)
        return Core(run.batch, run.seq, met, read, *widths, run.scores, layers, run.steps)

    @property
    def kv_heads(self) -> Any:  # type: ignore[override]
        """Expanded, every head has keys and values of its own."""
        return self.heads

    @property
    def head_dim(self) -> Any:  # type: ignore[override]
        """Width of a head's queries and keys."""
        return self.mla.head_dim

    @property
    def value_dim(self) -> Any:  # type: ignore[override]
        """Width of a head's values."""
        return self.mla.value_dim

    @property
    def kept(self) -> Any:
        """The latent and the rotary key, unless they are an earlier layer's."""
        return 0 if self.shares_kv else self.mla.kv_rank + self.mla.rope_dim

    @property
    def asked(self) -> Any:
        """An absorbed query, and the sum of latents that it finds."""
        return 2 * self.mla.kv_rank + self.mla.rope_dim

    def attend(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Attention over latents, expanded (naive) or as they are (absorbed)."""
        return latent_stages(self._core(run, layers), self.mla, run.mla)

    def attend_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of the naive form: training has every key at hand."""
        expand = (self.expand() * layers).backward(run.tokens)
        return (*self._core(run, layers).backward(), *expand)

    @property
    def mixed(self) -> tuple[PerToken, ...]:
        """The expansion of latents, which the absorbed form does in two halves."""
        return (self.expand(),)

    def saved(self, d: Number) -> tuple[Saved, ...]:
        """Latents before and after their norms, expanded keys and values, and o_proj's input."""
        m, ranks = self.mla, self.mla.kv_rank
        if self.mla.q_rank is not None:
            ranks = ranks + self.mla.q_rank
        return (
            Saved("norms of latents", ranks + m.rope_dim, split="sequence"),
            Saved("latents", ranks, "inputs", split="sequence", feeds=("q_b_proj", "kv_b_proj")),
            Saved("queries", self.heads * self.head_dim),
            Saved("keys", self.heads * self.head_dim),
            Saved("values", self.heads * self.value_dim),
            replace(input_of("o_proj", self.heads * self.value_dim), by_kernel=True),
        )
