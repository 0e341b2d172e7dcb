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

#: From this many times d² on, the closed form of `backward_large_cache` holds.
LEAST_LARGE_CACHE = 4.5


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

    Any schedule. Below 4.5·d² it is the bound at 4.5·d²: less memory never needs less. Proof.
    (1) Prune and charge as in `bounds.large_cache`: every read, and the first product, within a
    segment, of a gradient tree that is neither red at the segment's start nor read earlier in it.
    Each of the latter begins a live interval of its tree, which contains a write, so the charges
    are at most Q. With M charges a segment has T = 2M items at hand.
    (2) Let a pairs with products in the segment have a vertex of their pair tree at hand. For any
    other pair P_ij is made from all of Q_i and K_j, and dS_ij from all of dO_i and V_j too.
    (3) Of the other pairs, let those with products into dV or any gradient lie in I × J, and those
    with products into dQ or dK in I' × J', with I' ⊆ I and J' ⊆ J; call the sizes r, c, r', c'. Let
    ō and w̄, means over the d columns, be the entries of dO_I and trees of dV_J at hand, and x̄ ≤ r'
    and ȳ ≤ c' those of trees of dQ_I' and dK_J'. Rows take d(r + ō + x̄), columns d(c + c' + ȳ + w̄).
    (4) Products into dQ are at most d·x̄·c', into dK d·r'·ȳ, into dV d·β with β the mean of o·w.
    Then 4(x̄c' + r'ȳ + β) ≤ (r + ō + x̄)(c + c' + ȳ + w̄), see below. The sum of rows and columns is
    at most T − a, so these products are at most (T − a)²/16d.
    (5) The a pairs make at most 3d·a products, and at most √a·(T − a)/2, since a column with x and
    k items of two kinds allows min(a, x·k).
    (6) The sum of (4) and (5) is convex in a while 3d·a is the smaller; from there on it falls, if
    M ≥ 4.32d². So it is at most T²/16d = M²/4d, or its value where the two are equal,
    a = d²(√(9 + 2M/d²) − 3)², which is 21·d·a/4. The first is larger from M = 14.51d² on.
    (7) Divide 3|P|·d products by the largest, and multiply by M.

    Step (4): put r = r' + r₁, o = r' + o₁ with o₁ ≤ r₁, c = c' + c₁, and w = w' + w₁ with w' ≤ c'
    and w₁ ≤ c₁. With ξ = x̄/r' and κ = (ȳ + w̄')/c', rows r' against columns c' alone give
    r'c'((2 + ξ)(2 + κ) − 4(ξ + κ)) = r'c'(2 − ξ)(2 − κ) ≥ 0. Rows r' against c₁ and w₁ give
    2r'(c₁ + w̄₁) ≥ 4r'w̄₁. What is added by r₁ and o₁ is (r₁ + ō₁)(c + w̄) at least, and four times
    the mean of o₁·w at most: because that mean is at most r₁w̄ and at most cō₁, it is half of
    r₁w̄ + cō₁ at most, and half of r₁c + ō₁w̄ at most.

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

    Proof. (1) Prune and charge as in `bounds.small_cache`: reads of inputs, and the first read or
    product, per segment, of a tree of either kind that is not red at its start. Segments of 2M
    charges have 3M items at hand.
    (2) Give a product for Q_i·K_j the weight s = 1/(2x), one into dQ or dK the weight p = √(1 − s),
    one for dO_i·V_j or into dV 1/√2. With z pair trees and, in a column, q, k, o, v, x, y, w items
    at hand, the weights of the column's products are at most √z times
    s√(qk) + p√(xk) + p√(yq) + √(ov/2) + √(ow/2) ≤ (q + k + o + v + x + y + w)/2,
    because s√(qk) ≤ s(q + k)/2, p√(xk) ≤ (x + p²k)/2, p² + s = 1, √(ov/2) ≤ (v + o/2)/2. So a
    segment holds at most √z·(3M − z)/2 ≤ M^(3/2).
    (3) As there, each charge is paid by an I/O of its own, but for E live intervals of pair trees
    that begin with a product and contain no read or write. What leaves such a tree is the score
    or later, so all d products of Q_i·K_j are made inside, in segments of the interval's own.
    (4) Q ≥ (2/√M)·(2p|P|d + √2|P|d + s·d·max(|P|, E)) − 2M − E, and 2sd/√M = 1.

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

    Proof. (1) Let an interval (half-open) be a longest time in which an entry, or a gradient tree,
    is red. An interval of an input begins with a read. A gradient tree with n intervals costs at
    least 2n − 1: each contains a write, the last one of an output, and what the others write is
    read again. So with weights 1/2 for the beginning and the end of an input's interval, 1 for
    those of a tree's, the weights add up to at most Q + 3N·d.
    (2) Count at each beginning and end, with its weight, the entries at hand of the six other
    matrices: at most M − 1 each time. So the counts add up to at most (M − 1)(Q + 3N·d).
    (3) Take one column of each matrix, seven columns: each row of a matrix is one entry now. When
    intervals of an entry of a row (of Q, dO, dQ) and of a column (of K, V, dK, dV) overlap, the
    later beginning and the earlier end count it: 1 for two inputs, 2 for two trees, and for an
    input and a tree 1, and 1/2 more for each of these two ends that is the tree's.
    (4) For a pair, let X, Y, W be the trees' intervals at the three moments (dQ, dK, dV). The trees
    with the inputs at their moments count 2 each, Q and dO with K and V at X's moment 4: in all 10.
    If X overlaps Y and W, these count 2 each, so 14. If not, other overlaps and the halves of (3)
    make up for it, but for a lack of at most 1 where X and Y are disjoint and share the intervals
    of all four inputs, or at most 1/2 where X and W do and share those of Q, dO and K.
    (5) In the cases with a lack, inputs of i and j stay at hand between the end of one tree and the
    beginning of the other. Join these two events by an edge e–f, e the earlier. Let A be the place
    of e among the edges of f, from the earliest, and B that of f among those of e, from the latest.
    Then at e two entries of each of A rows are at hand, and at f two (or one: K) of each of B
    columns. Nothing has counted these yet: they are of the event's own side. With a_e the largest A
    and b_f the largest B there are at most Σ a_e + Σ b_f edges: an edge with B ≤ a_e is one of a_e
    of its e, any other has A ≤ a_e < B ≤ b_f and is one of b_f of its f. So these counts are enough
    for the lack, and each seven columns have counts of at least 14|P|.
    (6) There are d^7 choices of seven columns. A count of two entries is in d^5 of them. Hence
    14·|P|·d^7 ≤ d^5·(M − 1)(Q + 3N·d).

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
