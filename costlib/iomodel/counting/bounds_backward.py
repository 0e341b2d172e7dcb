"""How few entries any schedule of attention's backward pass can move, with every constant.

All three bounds are the book's own. The model is that of `costlib.iomodel.bounds`: the red-blue
pebble game with M red pebbles, recomputation and sliding allowed. The inputs are Q, K, V and dO,
all distinct, and for each row its log-sum-exp and the sum D_i of dO_i ∘ O_i. For a pair (i, j) of P

    P_ij = exp(Q_i·K_j − L_i),   dS_ij = P_ij (dO_i·V_j − D_i),

and the outputs are the sums of the products dS_ij·k_jt (into dQ_it), dS_ij·q_it (into dK_jt) and
P_ij·dO_it (into dV_jt). The *pair tree* (i, j) holds both dot products of the pair, their partial
sums, and what is computed from them for this pair alone; only the score, P_ij, dS_ij and what
follows them are used outside. The *gradient tree* of an output holds the products and sums that
lead to it, and nothing in it is used outside. Sums may be formed in any order.

Not covered: products other than these (Strassen's, or the two parts of dS summed apart),
approximate gradients, several values packed in one entry, several heads on one K and V.
"""

from __future__ import annotations

from typing import Any

from costlib.units.numbers import Number, maximum, sizes, square_root, triangle, where

__all__ = [
    "backward",
    "backward_compulsory",
    "backward_large_cache",
    "backward_small_cache",
    "backward_whole_rows",
]

#: From this many times d² on, the form of `backward_large_cache` holds: theorem F, step 5.
LEAST_LARGE_CACHE = 4.32


def backward(
    N: Number, d: Number, M: Number, *, causal: bool = False, pairs: Number | None = None
) -> Any:
    """The largest of the lower bounds for the backward pass: no schedule moves fewer entries.

    ``pairs`` is the number of (query, key) pairs under any other mask.

    >>> round(backward(N=16384, d=128, M=32 * 128**2))
    100139008
    >>> backward(N=64, d=8, M=10**6) == backward_compulsory(N=64, d=8)
    True
    """
    N, d, M = sizes(N=N, d=d, M=M)
    large = backward_large_cache(N, d, M, causal=causal, pairs=pairs)
    small = backward_small_cache(N, d, M, causal=causal, pairs=pairs)
    with_constants = where(4 * d**2 < M, large, maximum(small, large))
    return maximum(backward_compulsory(N, d), with_constants)


def backward_compulsory(N: Number, d: Number) -> Any:
    """Q, K, V and dO must be read, dQ, dK and dV written: 7N·d. Every row needs a pair.

    >>> backward_compulsory(1024, 64)
    458752
    """
    N, d = sizes(N=N, d=d)
    return 7 * N * d


def backward_large_cache(
    N: Number, d: Number, M: Number, *, causal: bool = False, pairs: Number | None = None
) -> Any:
    """12·|P|·d²/M − M from M = 14.51·d² on; below, 12 shrinks by (√(9 + 2M/d²) + 3)²/84.

    Any schedule. Below 4.32·d² it is the bound at 4.32·d²: less memory never needs less. The proof
    is that of theorem F on the page of bounds, `book/io_bounds.md`.

    >>> backward_large_cache(N=1024, d=64, M=16 * 64**2)
    720896.0
    """
    N, d, M = sizes(N=N, d=d, M=M)
    room = maximum(M, LEAST_LARGE_CACHE * d**2)
    root = square_root(9 + 2 * room / d**2)
    shrink = where((root + 3) ** 2 >= 84, 1.0, (root + 3) ** 2 / 84)
    return 12 * _pairs(N, causal, pairs) * d**2 / room * shrink - room


def backward_small_cache(
    N: Number, d: Number, M: Number, *, causal: bool = False, pairs: Number | None = None
) -> Any:
    """|P|·(2√(2x(2x − 1)) + 2√2·x) − 2M with x = d/√M, valid for M ≤ 4d² only; any schedule.

    The proof follows that of theorem F on the page of bounds, `book/io_bounds.md`.

    >>> round(backward_small_cache(N=1024, d=64, M=32**2))
    13194341
    """
    N, d, M = sizes(N=N, d=d, M=M)
    x = d / square_root(M)
    above = maximum(2 * x - 1, 0 * x)  # a root of what is outside the bound's range is not asked
    root_two = square_root(2.0)
    scale = 2 * square_root(2 * x * above) + 2 * root_two * x
    return _pairs(N, causal, pairs) * scale - 2 * M


def backward_whole_rows(
    N: Number, d: Number, M: Number, *, causal: bool = False, pairs: Number | None = None
) -> Any:
    """14·|P|·d²/(M − 1) − 3N·d, for schedules with whole rows at hand; every M.

    Hypothesis: sums are added to in fast memory only (no atomic adds, see below). And when second
    writes of a value that is in slow memory, and then events on which no write of an output
    depends, are dropped, there is for each pair of P and each of the three
    gradients a moment at which all entries of the rows concerned are red: Q_i, K_j, dO_i and dV_j;
    Q_i, K_j, dO_i, V_j and dQ_i; and the same four with dK_j, where a row of a gradient is red if
    each of its d trees has a red vertex. The orders of FlashAttention-1, -2 and -3 and two passes
    do this, as they are counted here, but nothing that keeps P or dS. Rows may be read entry by
    entry, and recomputed.

    If an entry in slow memory could be added to for one write and no read, as an atomic add does,
    FlashAttention-2's order would move 12·N²·d²/M to leading order: below this bound, and it would
    reach `backward_large_cache`, which holds with that rule too.

    The proof is that of theorem G on the page of bounds, `book/io_bounds.md`.

    >>> round(backward_whole_rows(N=1024, d=64, M=16 * 64**2))
    720910
    """
    N, d, M = sizes(N=N, d=d, M=M)
    return 14 * _pairs(N, causal, pairs) * d**2 / (M - 1) - 3 * N * d


def _pairs(N: Number, causal: bool, pairs: Number | None) -> Any:
    if pairs is not None:
        (pairs,) = sizes(pairs=pairs)
        return pairs
    return triangle(N) if causal else N * N
