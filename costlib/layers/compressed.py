"""DeepSeek-V4's attention: the last tokens as they are, the others compressed, many to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.layers.attention import (
    Core,
    check_groups,
    check_sizes,
    keys_unchecked,
    pairs_unchecked,
)
from costlib.layers.indexer import Indexer, pooled
from costlib.layers.matmul import product_flops
from costlib.layers.parts import (
    Cache,
    Divided,
    Part,
    Pass,
    PerToken,
    elementwise,
    gradient_of,
    linear_step,
    normalisation,
)
from costlib.units.ledger import Elements, Op
from costlib.units.numbers import Number, exact_div, is_zero, minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedAttention(Part):
    """One key a token for all heads, its value too: those of a window, and compressed ones.

    Every ``every`` tokens are added up, by weights of their own, into one entry that all later
    queries can see; with an ``indexer`` (and entries that overlap by half) only its best ones. With
    ``every`` None there is the window alone. Queries have a narrow middle of ``q_rank``; the output
    projection too, in ``output_groups`` groups of heads, each to ``output_rank``.
    """

    heads: Number
    head_dim: Number
    window: Number
    q_rank: Number
    output_groups: Number
    output_rank: Number
    every: Number | None = None
    indexer: Indexer | None = None
    rotary_dim: Number = 0
    norm: str = "rms_norm"

    def __post_init__(self) -> None:
        check_sizes(self, "heads", "head_dim", "window", "q_rank", "output_groups", "output_rank")
        check_groups(self.heads, self.output_groups)
        if self.every is not None:
            check_sizes(self, "every")

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return ("heads", "output_groups"), ()

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, the key, and what is compressed."""
        queries, dim = self.heads * self.head_dim, self.head_dim
        steps = [
            *linear_step("q_a_proj", d, self.q_rank),
            normalisation("q_norm", self.q_rank, self.norm),
            *linear_step("q_b_proj", self.q_rank, queries),
            normalisation("qk_norm", queries, "plain_norm"),
            *linear_step("kv_proj", d, dim, cached=True),
            normalisation("kv_norm", dim, self.norm),
            PerToken("sinks", 2 * self.heads, weights=self.heads),
        ]
        if not is_zero(self.rotary_dim):  # queries, the key, and the output back
            rotated = (2 * self.heads + 1) * self.rotary_dim
            steps.append(elementwise("rotary", rotated, "rotary", gradient=1))
        if self.every is not None:
            steps += self._compressor("compressor", d, dim, self.every)
            if self.indexer:
                steps += self._compressor("indexer", d, self.indexer.head_dim, self.every)
                width = self.indexer.heads * self.indexer.head_dim
                steps += linear_step("indexer.q_proj", self.q_rank, width)
                steps += linear_step("indexer.weights", d, self.indexer.heads)
        return tuple(steps)

    def _compressor(self, name: str, d: Number, dim: Number, every: Number) -> list[PerToken]:
        """What a token gives to its entry (to two of them where they overlap), and its weights."""
        width = 2 * dim if self.indexer else dim
        entry = exact_div(dim, every) if dim % every == 0 else dim / every
        return [
            *linear_step(f"{name}.kv_proj", d, width),
            *linear_step(f"{name}.gate_proj", d, width),
            # a softmax over the tokens of an entry, and their weighted sum
            PerToken(
                f"{name}.add_up", 8 * width, 2 * width, kv_writes=entry, weights=every * width
            ),
            PerToken(f"{name}.norm", 4 * entry, weights=dim),
        ]

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """Groups of heads to a narrow middle, and all of them to d_model."""
        into, middle = self.heads * self.head_dim, self.output_groups * self.output_rank
        each = exact_div(into, self.output_groups)
        grouped = PerToken(
            "o_a_proj",
            product_flops(1, each, middle),
            into,
            middle,
            weights=each * middle,
            is_matmul=True,
        )
        return (grouped, *linear_step("o_b_proj", middle, d))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The indexer's scores; queries with keys of the window and compressed ones."""
        return (*self._indexed(run, layers), *self._core(run, layers).forward(shared=True))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        last = map(gradient_of, self._indexed(run, layers))
        return (*self._core(run, layers).backward(), *last)

    def _core(self, run: Pass, layers: Number) -> Core:
        masked = run.masking
        met = pairs_unchecked(run.seq, run.context, True, self.window, masked)
        read = keys_unchecked(run.seq, run.context, self.window)
        if self.every is not None:
            top = self.indexer.top if self.indexer else None
            entries = run.context // self.every
            met = met + self._met(run, top, masked)
            read = read + (entries if top is None else minimum(entries, top + run.seq - 1))
        read = met if run.one_by_one else read
        widths = (self.heads, 1, self.head_dim, self.head_dim)
        return Core(run.batch, run.seq, met, read, *widths, run.scores, layers, run.steps)

    def _met(self, run: Pass, top: Number | None, masked: str) -> Any:
        """Pairs of queries and compressed entries: of those before a query, the best or all."""
        if masked == "computed":
            return run.seq * (run.context // self.every)
        every: Any = self.every
        return _entries(run.context, every, top) - _entries(run.cached, every, top)

    def _indexed(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The indexer's queries meet a key of each entry, where there is one."""
        indexer, every = self.indexer, self.every
        if indexer is None or every is None:
            return ()
        met, width = self._met(run, None, run.masking), indexer.heads * indexer.head_dim
        read = met if run.one_by_one else run.context // every
        moved = Elements(
            activations=run.batch * (layers * width) * run.seq,
            kv=run.batch * (layers * indexer.head_dim) * read,
        )
        flops = run.batch * product_flops(1, layers * width, 1) * met
        return (Op("indexer.scores", flops, moved, Elements(), True, layers * run.steps),)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The window's keys, entries, the indexer's entries, and what the next one overlaps."""
        near = Cache(per_token=self.head_dim, window=self.window)
        if self.every is None:
            return (near,)
        far = Cache(per_token=self.head_dim, every=self.every)
        if self.indexer is None:
            return (near, far)
        overlap = 2 * self.every * (self.head_dim + self.indexer.head_dim)
        index = Cache(per_token=self.indexer.head_dim, every=self.every, state=overlap)
        return (near, far, index)

    @property
    def score_heads(self) -> Any:
        """See `Part.score_heads`."""
        return self.heads


def _entries(tokens: Number, every: Number, top: Number | None) -> Any:
    """Entries that the first tokens see in all: ⌊t / every⌋ by the t-th, at most ``top``."""
    near = tokens if top is None else minimum(tokens, every * top)
    seen = pooled(near, every)
    return seen if top is None else seen + (tokens - near) * top
