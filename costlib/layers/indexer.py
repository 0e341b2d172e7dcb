"""What picks the keys that a sparse layer attends to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.layers.attention import (
    pairs_unchecked,
)
from costlib.layers.matmul import product_flops
from costlib.layers.parts import (
    Pass,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.units.ledger import Elements, Op
from costlib.units.numbers import Number, is_zero, minimum, triangle


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """The indexer of a sparse layer, which selects the keys: DeepSeek's lightning indexer.

    ``heads`` small queries a token, made of a vector of ``query_width`` (None: of the layer's own
    input), meet one key a token of ``head_dim``; the ``top`` best keys are attended to. The keys
    are cached, and are picked in blocks of ``block`` (MiniMax). Every ``pool`` tokens make one key,
    of which queries meet the complete ones: their mean, or a sum weighted by a gate (``gated``),
    which is then cached beside the keys. ``one_by_one``: code that goes
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
        masked = "skipped" if self.one_by_one else run.masking
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


def pooled(tokens: Number, pool: Number) -> Any:
    """Complete pools that the first tokens see in all: ⌊t / pool⌋ by the t-th.

    >>> pooled(11, 4)  # none for three tokens, one for four, two for four
    12
    """
    full, rest = tokens // pool, tokens % pool
    return pool * triangle(full) - full * (pool - 1 - rest)
