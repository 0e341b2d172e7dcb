"""How few entries any schedule can move: lower bounds for attention and for matrix products.

Three kinds of statement live here, and each says which it is.

- *The paper's*: the theorems of Saha and Ye (2024), up to constants that are not given. A
  `Theorem` holds the expression inside Θ, Ω or O, its regime and the terms that must be added.
- *The literature's*: the matrix product bound of Smith, Lowery, Langou and van de Geijn (2019),
  with its constant.
- *The book's own*: three bounds for attention with every constant explicit, proved below, and
  those of its backward pass, proved in `costlib.iomodel.counting.bounds_backward`.

The model of the book's own bounds. The red-blue pebble game with M red pebbles, cost reads +
writes, recomputation and sliding allowed, deletion free, nothing in fast memory at the start, every
output in slow memory at the end. Q, K, V are distinct inputs. P is the set of (query, key) pairs.
For a pair, the *S-tree* (i, j) holds the d products q_il·k_jl, their partial sums, the score and
what is computed from the score for this pair alone, up to the weight A_ij; only the score and what
follows it is used outside the tree. The *O-tree* (i, t) holds the products A_ij·v_jt, their partial
sums, rescalings and the output, and nothing in it is used outside it. Sums may be formed in any
order; maxima, row sums and factors may be kept and only take room. Not covered: Strassen-like
products, approximate attention, several values packed in one entry. That the inputs are distinct is
needed: with K = V FlashAttention-2's order costs half of the first bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from costlib.iomodel.counting.bounds_backward import (
    backward,
    backward_compulsory,
    backward_large_cache,
    backward_small_cache,
    backward_whole_rows,
)
from costlib.units.numbers import Number, maximum, minimum, sizes, square_root, triangle, where

__all__ = [
    "THEOREMS",
    "Theorem",
    "attention",
    "backward",
    "backward_compulsory",
    "backward_large_cache",
    "backward_small_cache",
    "backward_whole_rows",
    "compulsory",
    "hong_kung",
    "large_cache",
    "matmul",
    "matmul_total",
    "pairs",
    "scores_only",
    "small_cache",
]


def attention(N: Number, d: Number, M: Number, *, causal: bool = False) -> Any:
    """The largest of the lower bounds with explicit constants: no schedule moves fewer entries.

    The compulsory 4N·d; the bound from the scores alone; and, from M = 4d² on `large_cache`, below
    it `small_cache`. Left out: cross-attention, where queries and keys differ in number.

    >>> round(attention(N=16384, d=128, M=8 * 128**2))
    134086656
    >>> attention(N=64, d=8, M=100_000) == compulsory(N=64, d=8)
    True
    """
    N, d, M = sizes(N=N, d=d, M=M)
    with_constants = where(
        4 * d**2 <= M,
        large_cache(N, d, M, causal=causal),
        small_cache(N, d, M, causal=causal),
    )
    weaker = maximum(compulsory(N, d), scores_only(N, d, M, causal=causal))
    return maximum(weaker, with_constants)


def compulsory(N: Number, d: Number) -> Any:
    """Q, K and V must be read and O written: 4N·d.

    >>> compulsory(1024, 64)
    262144
    """
    N, d = sizes(N=N, d=d)
    return 4 * N * d


def pairs(N: Number, *, causal: bool = False) -> Any:
    """How many (query, key) pairs there are: N², under a causal mask N(N + 1)/2.

    >>> pairs(4), pairs(4, causal=True)
    (16, 10)
    """
    (N,) = sizes(N=N)
    return triangle(N) if causal else N * N


def scores_only(N: Number, d: Number, M: Number, *, causal: bool = False) -> Any:
    """Bound 0, the book's own: min(|P|·d²/M, |P|/2) − M + N·d, for every M.

    Proof. Cut the schedule after every M reads. In one segment at most 2M items are available: red
    at its start, or read. A score first computed in it either has a vertex of its S-tree available,
    which happens for at most a pairs if a items are such vertices, or all of Q_i and K_j are. The
    latter takes d(|I| + |J|) ≤ 2M − a items and gives |I|·|J| ≤ (2M − a)²/4d² pairs. The sum is
    convex in a, so it is at most max(2M, M²/d²). There are |P| scores, and every segment but the
    last has M reads. The N·d outputs are written besides.

    >>> scores_only(N=64, d=4, M=64)
    1216.0
    """
    N, d, M = sizes(N=N, d=d, M=M)
    scores = pairs(N, causal=causal)
    return minimum(scores * d**2 / M, scores / 2) - M + N * d


def large_cache(N: Number, d: Number, M: Number, *, causal: bool = False) -> Any:
    """Bound A, the book's own: 4·|P|·d²/M − M, valid for M ≥ 4d² only.

    Proof. (1) Keep one write per output, and drop every event on which no kept write depends: the
    schedule stays legal and costs no more. Call a maximal stretch of time in which a tree has a red
    vertex its live interval. Each live interval of an O-tree contains a write of that tree: a
    useful value stays red, itself or in what is computed from it, until something is written.
    (2) Charge every read, and every *fresh* event: the first product, within a segment, of an
    O-tree that is neither red when the segment starts nor read earlier in it. A fresh event begins
    a live interval, so it has a write of its own, and the charges are at most Q.
    (3) Cut before every (M + 1)-th charge. In one segment at most T = 2M distinct items are
    available: red at its start, read, or an O-tree begun.
    (4) Let s pairs serve products with V in the segment. For a of them a vertex of the S-tree is
    available; the others lie in I × J with all of Q_I and K_J available. So
    a + d(|I| + |J|) + U ≤ T, where U counts the available entries of V and O-trees, and
    |I| + |J| ≥ 2√(s − a).
    (5) For each t, o_t O-trees and v_t entries of V allow at most min(s, o_t·v_t) different
    products, in all at most min(d·s, √s·U/2).
    (6) a + 2d√(s − a) is concave in a, so at least min(s, 2d√s). For s ≥ 4d² this gives
    U ≤ T − 2d√s and at most T²/16d products; for s < 4d² there are fewer than 4d³, which is at most
    T²/16d because M ≥ 4d².
    (7) |P|·d different products, at most M²/4d in a segment, make at least 4·|P|·d²/M² segments of
    M charges, of which the last may be partial.

    >>> large_cache(N=1024, d=64, M=4 * 64**2)
    1032192.0
    """
    N, d, M = sizes(N=N, d=d, M=M)
    return 4 * pairs(N, causal=causal) * d**2 / M - M


def small_cache(N: Number, d: Number, M: Number, *, causal: bool = False) -> Any:
    """Bound B, the book's own: 4·|P|·d/√M − |P| − 2M, valid for M ≤ 4d² only.

    Proof. (1) Prune as for `large_cache`. Charge reads of inputs, and openings: the first read or
    product, per segment, of a tree that is not red at the segment's start. Cut into 2M charges,
    so that T = 3M items are available: inputs, S-trees, O-trees.
    (2) Slice the products by l (scores) and by t (values). With s S-trees available, a slice with x
    and y items of its two other kinds allows at most min(s, x·y) ≤ √s·(x + y)/2 products. In all at
    most √s·(T − s)/2, largest at s = M: a segment holds at most M^(3/2) different products.
    (3) An opening by a product begins a live interval. A read of the tree later in it is not
    charged, and a write never is: either pays for it. In O-trees there is always a write. Let E
    live intervals of S-trees, begun by such an opening, contain neither. What leaves such a tree is
    the score or later, so all d products are computed inside; the tree's next opening lies in a
    later segment, at whose start this interval is over. So these intervals own at least d
    (segment, product) pairs each, disjointly.
    (4) The segments hold |P|·d products with V and d·max(|P|, E) for scores, so
    Q ≥ charges − E ≥ (2/√M)·(|P|·d + d·max(|P|, E)) − 2M − E. Because 2d/√M ≥ 1 this is least at
    E = |P|.

    >>> small_cache(N=1024, d=64, M=1024)
    7337984.0
    """
    N, d, M = sizes(N=N, d=d, M=M)
    scores = pairs(N, causal=causal)
    return 4 * scores * d / square_root(M) - scores - 2 * M


def matmul(m: Number, k: Number, n: Number, M: Number) -> Any:
    """The literature's bound on the reads of an m×k by k×n product: 2·m·n·k/√M − 2M.

    Smith, Lowery, Langou and van de Geijn (2019); tight to the leading term: `matmul_outer` nearly
    reaches it. It is vacuous (below m·k + k·n) once M is large.

    >>> round(matmul(8, 8, 8, M=12), 3)
    271.603
    """
    m, k, n, M = sizes(m=m, k=k, n=n, M=M)
    return 2 * m * n * k / square_root(M) - 2 * M


def matmul_total(m: Number, k: Number, n: Number, M: Number) -> Any:
    """Reads and writes of a matrix product: the larger of `matmul` and m·k + k·n, and m·n writes.

    >>> matmul_total(8, 4, 2, M=10_000)
    56
    """
    m, k, n, M = sizes(m=m, k=k, n=n, M=M)
    return maximum(matmul(m, k, n, M), m * k + k * n) + m * n


def hong_kung(parts: Number, M: Number) -> Any:
    """The literature's bound from partitions: M·(P(2M) − 1) (Hong and Kung 1981).

    A calculation with M red pebbles gives a partition whose parts have dominators and minimum sets
    of at most **2M**, and its last part may be partial: "parts times M" forgets both.

    >>> hong_kung(parts=1, M=3)
    0
    """
    parts, M = sizes(parts=parts, M=M)
    return M * (parts - 1)


@dataclass(frozen=True, slots=True)
class Theorem:
    """A published statement about I/O up to a constant that is not given."""

    name: str
    says: str  #: "Θ", "Ω" or "O"
    expression: Callable[[Number, Number, Number], Number]  #: of N, d, M
    regime: str
    about: str
    source: str

    def __call__(self, N: Number, d: Number, M: Number) -> Any:
        """The expression inside Θ, Ω or O: a shape, not a number of entries."""
        N, d, M = sizes(N=N, d=d, M=M)
        return self.expression(N, d, M)


def _standard(N: Number, d: Number, M: Number) -> Any:
    return minimum(N**2 * d**2 / M, N**2 * d / square_root(M)) + N * d


def _small_cache_algorithm(N: Number, d: Number, M: Number) -> Any:
    return N**2 * d / square_root(M) + N * d


def _any_product(N: Number, d: Number, M: Number) -> Any:
    return minimum(N**2 * d**2 / M, N**2) + N * d


def _backward(N: Number, d: Number, M: Number) -> Any:
    large = (N**2 * d**2 + N * d**3) / M
    return minimum(large, (N**2 * d + N * d**2) / square_root(M)) + N * d


_SAHA_YE = "Saha and Ye 2024, arXiv 2402.07443"

#: The published theorems. N·d, the compulsory reads and writes, is added to each: for M far above
#: N·d the expressions alone fall below it.
THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        "theorem 1",
        "Θ",
        _standard,
        "every M: N²d²/M from M = d² on, N²d/√M below",
        "attention with standard matrix products; FlashAttention is optimal for M ≥ d² only",
        _SAHA_YE,
    ),
    Theorem(
        "theorem 2",
        "O",
        _small_cache_algorithm,
        "M < d²",
        "reached by the small-cache algorithm, which needs N² of slow memory",
        _SAHA_YE,
    ),
    Theorem(
        "theorem 3",
        "Ω",
        _any_product,
        "every M",
        "attention with any matrix product that forms each score, for the worst input, over a "
        "large finite field",
        _SAHA_YE,
    ),
    Theorem(
        "theorem 4",
        "Θ",
        _small_cache_algorithm,
        "M < d²",
        "attention and the product Q Kᵀ have the same I/O, with standard matrix products",
        _SAHA_YE,
    ),
    Theorem(
        "backward pass",
        "Θ",
        _backward,
        "every M",
        "the gradients of attention with standard matrix products",
        "arXiv 2410.09397",
    ),
)
