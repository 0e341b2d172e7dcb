"""Matrix compression: how few numbers let somebody else write down B entries of Q Kᵀ?

Alice knows Q and K, matrices over a prime field F_q with rows of length d. Bob knows neither. Both
know which B index pairs (i, j) are wanted. Alice sends one message, and Bob must write down exactly
those entries of Q Kᵀ. Saha and Ye: the message has Ω(min(B, d·√B)) field elements.

Fast memory is such a message. A stretch of an algorithm with M reads and writes begins with M
entries in fast memory and reads at most M more. From these 2M numbers it cannot form more entries
of Q Kᵀ than a message of 2M elements allows, however it multiplies: Strassen's way included.

Left out: decoding that may fail with a small probability, which the theorem allows for as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isqrt

from costlib.units.numbers import size

__all__ = [
    "Message",
    "decode",
    "encode",
    "free_entries",
    "square",
]

Pair = tuple[int, int]
Matrix = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Message:
    """What Alice sends: field elements, in one of two forms agreed on beforehand.

    ``"entries"`` are the wanted entries themselves, ``"factors"`` the rows of Q and of K they come
    from.
    """

    form: str
    elements: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.elements)


def encode(Q: Matrix, K: Matrix, pairs: Iterable[Pair], prime: int) -> Message:
    """Alice's message: the wanted entries, or the rows they come from if those are fewer numbers.

    B elements, or d·(r + c) for pairs that touch r rows of Q and c rows of K. For a square of pairs
    that is min(B, 2d·√B), at most twice the lower bound.

    >>> Q, K = [[1], [2], [3]], [[4], [5], [6]]
    >>> encode(Q, K, square(9), prime=7)
    Message(form='factors', elements=(1, 2, 3, 4, 5, 6))
    >>> encode(Q, K, [(0, 0), (1, 2)], prime=7)
    Message(form='entries', elements=(4, 5))
    """
    pairs = _checked_pairs(pairs)
    _check_prime(prime)
    rows, columns = _touched(pairs)
    entries = [_dot(Q[i], K[j], prime) for i, j in pairs]
    factors = [x % prime for i in rows for x in Q[i]] + [x % prime for j in columns for x in K[j]]
    if len(factors) < len(entries):
        return Message("factors", tuple(factors))
    return Message("entries", tuple(entries))


def decode(message: Message, pairs: Iterable[Pair], head_dim: int, prime: int) -> dict[Pair, int]:
    """Bob's answer: the wanted entries, from the message and the pairs alone.

    >>> decode(Message("factors", (1, 2, 3, 4, 5, 6)), square(9), head_dim=1, prime=7)[2, 2]
    4
    """
    pairs = _checked_pairs(pairs)
    _check_prime(prime)
    if message.form == "entries":
        return dict(zip(pairs, message.elements, strict=True))
    rows, columns = _touched(pairs)
    vectors = zip(*[iter(message.elements)] * head_dim, strict=True)
    query = {i: next(vectors) for i in rows}
    key = {j: next(vectors) for j in columns}
    return {(i, j): _dot(query[i], key[j], prime) for i, j in pairs}


def square(budget: int) -> tuple[Pair, ...]:
    """The pairs of a √B × √B square: the B entries that share the fewest rows.

    >>> square(4)
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """
    side = isqrt(size("budget", budget))
    if side * side != budget:
        raise ValueError(f"budget must be a square number such as {side * side}, got {budget}")
    return tuple((i, j) for i in range(side) for j in range(side))


def free_entries(pairs: Iterable[Pair], head_dim: int) -> int:
    """How many of the wanted entries can be given any values at once: a proved lower bound.

    The larger of Σ_i min(d, pairs in row i) and Σ_j min(d, pairs in column j). Proof: choose K with
    any d of its rows independent (powers of different field elements, so q ≥ its rows). Then row i
    of Q can give d of the entries wanted in row i, or all if they are fewer, any values. So at
    least q^free outcomes occur, and each needs a message of its own.

    For a square of pairs this is min(B, d·√B). For any B pairs it is at least half of that (the
    argument is this book's own). Call a row full if it holds d pairs or more; let h rows be full.
    If half the pairs are in rows that are not full, the rows give B/2. Otherwise B/2 pairs are in
    full rows. If h ≥ √B/2, the full rows give d·h ≥ d·√B/2. If h < √B/2, a column holds c ≤ h of
    those pairs and gives min(d, c) ≥ c·min(1, d/h): together at least min(B/2, d·B/2h) ≥ min(B/2,
    d·√B).

    >>> free_entries(square(16), head_dim=2)
    8
    """
    pairs = _checked_pairs(pairs)
    head_dim = size("head_dim", head_dim)
    return max(
        sum(min(head_dim, count) for count in Counter(pair[axis] for pair in pairs).values())
        for axis in (0, 1)
    )


def _dot(left: Sequence[int], right: Sequence[int], prime: int) -> int:
    return sum(x * y for x, y in zip(left, right, strict=True)) % prime


def _touched(pairs: tuple[Pair, ...]) -> tuple[list[int], list[int]]:
    """The rows of Q and the rows of K that the pairs need."""
    return sorted({i for i, _ in pairs}), sorted({j for _, j in pairs})


def _checked_pairs(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    listed = tuple(pairs)
    if not listed or len(set(listed)) != len(listed):
        raise ValueError(f"pairs must be at least one pair, all different, got {listed}")
    return listed


def _check_prime(prime: int) -> None:
    prime = size("prime", prime, least=2)
    if any(prime % factor == 0 for factor in range(2, isqrt(prime) + 1)):
        raise ValueError(f"prime must be a prime number, got {prime}")
