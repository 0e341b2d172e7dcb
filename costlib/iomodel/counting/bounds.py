"""How few entries any schedule can move: lower bounds for attention and for matrix products.

All are the book's own: a bound for matrix products, with the constant that Smith, Lowery, Langou
and van de Geijn (2019) have for another case; bounds for attention with every constant explicit;
and those of its backward pass. The page of bounds, `book/io_bounds.md`, has the proofs that are not
below. Those of Saha and Ye, up to constants, are in `costlib.sources.saha_ye`, and Hong and Kung's
bound from partitions is `costlib.iomodel.pebbles.io_bound`.

The model. The red-blue pebble game with M red pebbles, cost reads + writes, recomputation and
sliding allowed, deletion free, nothing in fast memory at the start, every output in slow memory at
the end. The entries of Q, K and V are inputs: projections that make them inside the kernel are
outside the model. P is the set of (query, key) pairs that are computed, whatever the mask; over
several heads it is the union. For a pair, the
*S-tree* holds the d products of the score, their partial sums, the score and what is computed from
the score for this pair alone, up to the weight; only the score and what follows it is used outside
the tree. The *O-tree* (query, t) holds the products of weights with entries of column t of V, their
partial sums, rescalings and the output entry, and nothing in it is used outside it. Sums may be
formed in any order; maxima, row sums and factors may be kept and only take room. Not covered:
Strassen-like products, approximate attention, several values packed in one entry.

What may be shared. Different query heads may share keys or values in any pattern (`Heads` names the
usual ones). All entries of Q are different, and none is an entry of K or V. Within a head all
entries of K are different, and so are all entries of V. That no entry is both a key's and a value's
is needed for the bounds of *distinct* keys and values; the bounds for a *latent* are those for
values that are the first columns of the keys.

Every function takes ``keys``, ``value_width``, ``heads``, ``group``, ``window`` and ``latent`` as
`Heads` does. A schedule for M entries is one for more, so a bound that holds from some M on also
holds below it with its value there; `attention` uses that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from costlib.iomodel.counting.bounds_backward import (
    backward,
    backward_compulsory,
    backward_large_cache,
    backward_small_cache,
    backward_whole_rows,
)
from costlib.iomodel.counting.heads import Heads
from costlib.units.numbers import Number, maximum, minimum, size, sizes, square_root, where

__all__ = [
    "attention",
    "backward",
    "backward_compulsory",
    "backward_large_cache",
    "backward_small_cache",
    "backward_whole_rows",
    "by_keys",
    "compulsory",
    "large_cache",
    "large_cache_from",
    "matmul",
    "matmul_total",
    "pairs",
    "scores_only",
    "small_cache",
    "together",
]


def attention(N: Number, d: Number, M: Number, *, causal: bool = False, **shape: Any) -> Any:
    """The largest of the lower bounds with explicit constants: no schedule moves fewer entries.

    The compulsory traffic; the bound from the scores alone; `large_cache`, below `large_cache_from`
    with its value there; and `small_cache` as far as it is valid.

    >>> round(attention(N=16384, d=128, M=8 * 128**2))
    134086656
    >>> attention(N=64, d=8, M=100_000) == compulsory(N=64, d=8)
    True

    128 heads of queries over one latent, 0.4 times d·value_width entries of fast memory:

    >>> latent = dict(value_width=512, group=128, latent=True, causal=True)
    >>> round(attention(4096, 576, 116_736, **latent) / pairs(4096, group=128, causal=True), 2)
    4.31
    """
    heads = Heads(N, d, causal=causal, **shape)
    (M,) = sizes(M=M)
    weaker = maximum(heads.compulsory, _scores_only(heads, M))
    starts = _large_cache_from(heads)
    held = maximum(weaker, _large_cache(heads, maximum(M, starts)))
    return maximum(held, where(_small_cache_until(heads) >= M, _small_cache(heads, M), 0))


def compulsory(N: Number, d: Number, **shape: Any) -> Any:
    """Q, K and V must be read and O written: 4N·d for one plain head.

    For decoding it is all there is. n stacked queries (the group times the new tokens) over
    ``keys`` keys move exactly this as long as `counts.streamed` holds them all: every entry of it
    is read or written by any schedule, and one pass moves nothing else.

    >>> compulsory(1024, 64)
    262144
    >>> compulsory(1, 128, keys=100_000, group=8) == 2 * 100_000 * 128 + 2 * 8 * 128
    True
    """
    return Heads(N, d, **shape).compulsory


def pairs(N: Number, *, causal: bool = False, **shape: Any) -> Any:
    """How many (query, key) pairs there are: N², under a causal mask N(N + 1)/2.

    >>> pairs(4), pairs(4, causal=True), pairs(4, keys=10, causal=True), pairs(4, window=3)
    (16, 10, 34, 9)
    >>> pairs(4, heads=2, group=3)
    96
    """
    return Heads(N, 1, causal=causal, **shape).pairs


def scores_only(N: Number, d: Number, M: Number, *, causal: bool = False, **shape: Any) -> Any:
    """Bound 0, the book's own: min(|P|·d²/M, |P|/2) − M + N·d, for every M.

    Proof. Cut the schedule after every M reads. In one segment at most 2M items are available: red
    at its start, or read. A score first computed in it either has a vertex of its S-tree available,
    which happens for at most a pairs if a items are such vertices, or all of Q_i and K_j are. Let
    r be the number of such queries over all heads and c the most such keys that one head has. The
    latter pairs are at most r·c, and take d(r + c) ≤ 2M − a items, so (2M − a)²/4d² at most. The
    sum is convex in a, so it is at most max(2M, M²/d²). There are |P| scores, and every segment but
    the last has M reads. The outputs, N·d for one plain head, are written besides.

    >>> scores_only(N=64, d=4, M=64)
    1216.0
    """
    (M,) = sizes(M=M)
    return _scores_only(Heads(N, d, causal=causal, **shape), M)


def _scores_only(heads: Heads, M: Any) -> Any:
    outputs = heads.heads * heads.group * heads.N * heads.value_width
    scores = heads.pairs
    return minimum(scores * heads.d**2 / M, scores / 2) - M + outputs


def large_cache(N: Number, d: Number, M: Number, *, causal: bool = False, **shape: Any) -> Any:
    """Bound A, the book's own: 4·|P|·d²/M − M, valid from M = `large_cache_from` = 4d² on.

    With values of width v: (d + v)²·|P|/M − M for v ≤ d, and 4·d·v·|P|/M − M for v ≥ d. In a
    latent: d(d + v)·|P|/M − M.

    The proofs are theorems A, C and D of the page of bounds, `book/io_bounds.md`, also for heads
    that share keys or values in any pattern.

    >>> large_cache(N=1024, d=64, M=4 * 64**2)
    1032192.0
    >>> large_cache(1024, 192, 131_072, value_width=128), 1024**2 * 320**2 / 131_072 - 131_072
    (688128.0, 688128.0)
    >>> large_cache(1024, 64, 8192, latent=True) == 2 * 1024**2 * 64**2 / 8192 - 8192
    True
    """
    (M,) = sizes(M=M)
    return _large_cache(Heads(N, d, causal=causal, **shape), M)


def _large_cache(heads: Heads, M: Any) -> Any:
    return _price(heads) * heads.pairs / M - M


def _price(heads: Heads) -> Any:
    """What a pair costs in a large fast memory, times M."""
    d, v = heads.d, heads.value_width
    if heads.latent:
        return d * (d + v)
    return (d + v) ** 2 if v is d else where(v <= d, (d + v) ** 2, 4 * d * v)


def large_cache_from(d: Number, *, value_width: Number | None = None, latent: bool = False) -> Any:
    """The M from which `large_cache` is proved: 4d² for a plain head.

    With values of width v: 2d(d + v) for v ≤ d, 5d² for v > d. In a latent, with g² = d(d + v):
    8g⁴/27v², which is 32d²/27 for v = d, and 2g(g − v) where 2g ≥ 3v.

    >>> large_cache_from(128), large_cache_from(192, value_width=128)
    (65536, 122880)
    >>> round(large_cache_from(576, value_width=512, latent=True))
    442740
    """
    return _large_cache_from(Heads(1, d, value_width=value_width, latent=latent))


def _large_cache_from(heads: Heads) -> Any:
    d, v = heads.d, heads.value_width
    if heads.latent:
        square = d * (d + v)
        curved = 8 * square**2 / (27 * v**2)
        return where(4 * square <= 9 * v**2, curved, 2 * square - 2 * v * square_root(square))
    return 4 * d**2 if v is d else where(v <= d, 2 * d * (d + v), 5 * d**2)


def small_cache(N: Number, d: Number, M: Number, *, causal: bool = False, **shape: Any) -> Any:
    """Bound B, the book's own: 4·|P|·d/√M − |P| − 2M, valid up to M = 4d².

    With values of width v it is 2·|P|(d + v)/√M − |P| − 2M. In a latent it is
    2·|P|(√2·v + d − v)/√M − |P| − 2M, valid up to M = 2(v + √2(d − v))², and for M ≤ (32d/33)² also
    2·|P|(d + v)/√M − 33/16·|P| − 2M: far below d² sharing saves nothing to leading order.

    The proofs are theorem B of the page of bounds, `book/io_bounds.md`, and for a latent its
    theorem D, where the memory is small.

    >>> small_cache(N=1024, d=64, M=1024)
    7337984.0
    >>> round(small_cache(1024, 64, 1024, latent=True) / small_cache(1024, 64, 1024), 2)
    0.85
    """
    (M,) = sizes(M=M)
    return _small_cache(Heads(N, d, causal=causal, **shape), M)


def _small_cache(heads: Heads, M: Any) -> Any:
    d, v, scores = heads.d, heads.value_width, heads.pairs
    root = square_root(M)
    if not heads.latent:
        return 2 * scores * (d + v) / root - scores - 2 * M
    doubled = 2 * scores * (_ROOT_OF_TWO * v + d - v) / root - scores - 2 * M
    mixed = 2 * scores * (d + v) / root - 33 * scores / 16 - 2 * M
    return maximum(doubled, where((32 * d) ** 2 >= 33**2 * M, mixed, doubled))


#: √2, rounded down, so that a bound is never rounded up.
_ROOT_OF_TWO = 1.414213562373095


def _small_cache_until(heads: Heads) -> Any:
    d, v = heads.d, heads.value_width
    return 2 * (v + _ROOT_OF_TWO * (d - v)) ** 2 if heads.latent else 4 * d**2


def by_keys(
    queries: Any,
    keys: Any,
    d: Number,
    M: Number,
    *,
    value_width: Number | None = None,
    latent: bool = False,
) -> Any:
    """Any mask, key by key: each key costs its share of `large_cache` or one read, the larger.

    ``queries`` and ``keys`` are two lists: keys[i] keys are each seen by queries[i] stacked queries
    (over a group of heads, the new tokens, and the sequences of a batch that share the key). With v
    the width of the values, Q ≥ Σ keys·(d + v)·max(1, queries·(d + v)/M) − M for v ≤ d. No entry
    may belong to two keys, to two values or, but in a latent, to a key and a value.

    The proof is theorem E of the page of bounds, `book/io_bounds.md`.

    Sixteen sequences of eight queries share 8192 keys of width 128, and each has 1000 of its own:

    >>> round(by_keys([128, 8], [8192, 16_000], 128, M=65_536))
    6127616
    """
    heads = Heads(1, d, value_width=value_width, latent=latent)
    given = [
        np.asarray(size(name, np.asarray(many)))
        for name, many in (("queries", queries), ("keys", keys))
    ]
    (M,) = sizes(M=M)
    M = maximum(M, _large_cache_from(heads))
    once = heads.entries_of_key
    each = np.maximum(once, given[0] * (_price(heads) / M))
    return (given[1] * each).sum() - M


def together(*heads: Heads, M: Number) -> Any:
    """Several independent heads of any shapes in one schedule: their bounds add, less M once.

    Q ≥ Σ price·|P|/M − M, the price as in `large_cache`, and at least all compulsory traffic.

    The proof follows theorem A on the page of bounds, `book/io_bounds.md`.

    >>> one = Heads(1024, 64, causal=True)
    >>> together(one, one, M=16_384) == large_cache(1024, 64, 16_384, causal=True, heads=2)
    True
    """
    (M,) = sizes(M=M)
    least = sum(one.compulsory for one in heads)
    for one in heads:
        M = maximum(M, _large_cache_from(one))
    return maximum(least, sum(_price(one) * one.pairs for one in heads) / M - M)


def matmul(m: Number, k: Number, n: Number, M: Number) -> Any:
    """Reads and writes of an m×k by k×n product C = AB: at least 2·m·n·k/√M − 2M.

    With recomputation. Proof. Charge reads of A and B, and openings of trees of C as in
    `small_cache`: each has its own read or write. A segment of 2M charges has 3M items at hand, and
    with z trees the slice l allows min(z, a_l·b_l) ≤ √z(a_l + b_l)/2 products, so M^(3/2) in all.
    Outer products added to a tile of side √(M + 1) − 1 nearly reach it. Smith, Lowery, Langou and
    van de Geijn (2019) have this number for the reads alone of C = AB + C, where C is read too. It
    does not bound the reads of C = AB.

    >>> round(matmul(8, 8, 8, M=12), 3)
    271.603
    """
    m, k, n, M = sizes(m=m, k=k, n=n, M=M)
    return 2 * m * n * k / square_root(M) - 2 * M


def matmul_total(m: Number, k: Number, n: Number, M: Number) -> Any:
    """Reads and writes of C = AB: the larger of `matmul` and the compulsory m·k + k·n + m·n.

    >>> matmul_total(8, 4, 2, M=10_000)
    56
    """
    m, k, n, M = sizes(m=m, k=k, n=n, M=M)
    return maximum(matmul(m, k, n, M), m * k + k * n + m * n)
