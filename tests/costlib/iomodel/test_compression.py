"""Matrix compression: the protocol works, and over tiny fields no shorter message can."""

from __future__ import annotations

from itertools import chain, combinations, count, product
from math import sqrt
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlib.iomodel.counting.compression import (
    Message,
    decode,
    encode,
    free_entries,
    square,
)

# ---------------------------------------------------------------- what the protocol is held to


def lower_bound(budget, head_dim):
    """Saha and Ye's min(B, d·√B), in field elements, without the constant of their Ω."""
    return min(budget, head_dim * sqrt(budget))


def outcomes(pairs, head_dim, prime):
    """In how many ways the wanted entries can come out, by trying every Q and K over a tiny field.

    >>> outcomes(square(4), head_dim=1, prime=2)
    10
    """
    rows, columns = ({pair[axis] for pair in pairs} for axis in (0, 1))
    vectors = list(product(range(prime), repeat=head_dim))
    seen = set()
    for chosen in product(vectors, repeat=len(rows) + len(columns)):
        query = dict(zip(rows, chosen, strict=False))
        key = dict(zip(columns, chosen[len(rows) :], strict=True))
        seen.add(tuple(sum(map(mul, query[i], key[j])) % prime for i, j in pairs))
    return len(seen)


def elements_needed(outcomes, prime):
    """The shortest message that tells so many outcomes apart: the least t with q^t ≥ outcomes."""
    return next(t for t in count() if prime**t >= outcomes)


def matrices_of_rank_at_most(rank, rows, columns, prime):
    """How many matrices over F_q have at most this rank: the outcomes of a full block of pairs.

    Of rank r there are Π_{i<r} (q^rows − q^i)·(q^columns − q^i) / (q^r − q^i).
    """
    total = 0
    for exact in range(min(rank, rows, columns) + 1):
        above = below = 1
        for i in range(exact):
            above *= (prime**rows - prime**i) * (prime**columns - prime**i)
            below *= prime**exact - prime**i
        total += above // below
    return total


PRIMES = [2, 3, 5, 101, 2_147_483_647]


def matrices(draw, rows, head_dim, prime):
    entry = st.integers(0, prime - 1)
    row = st.lists(entry, min_size=head_dim, max_size=head_dim)
    return draw(st.lists(row, min_size=rows, max_size=rows))


@given(st.data())
def test_bob_gets_exactly_the_wanted_entries(data):
    prime = data.draw(st.sampled_from(PRIMES))
    rows, head_dim = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    Q = matrices(data.draw, rows, head_dim, prime)
    K = matrices(data.draw, rows, head_dim, prime)
    every = list(product(range(rows), repeat=2))
    pairs = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    message = encode(Q, K, pairs, prime)
    assert decode(message, pairs, head_dim, prime) == {
        (i, j): sum(Q[i][c] * K[j][c] for c in range(head_dim)) % prime for i, j in pairs
    }
    touched = len({i for i, _ in pairs}) + len({j for _, j in pairs})
    assert len(message) == min(len(pairs), head_dim * touched)
    assert free_entries(pairs, head_dim) <= len(message)


@pytest.mark.parametrize(("side", "head_dim"), list(product((1, 2, 3, 5, 8, 20), (1, 2, 3, 7))))
def test_on_squares_the_message_is_within_twice_the_bound(side, head_dim):
    pairs = square(side * side)
    Q = K = [[1] * head_dim for _ in range(side)]
    sent = len(encode(Q, K, pairs, prime=7))
    bound = lower_bound(side * side, head_dim)
    assert sent == min(side * side, 2 * head_dim * side)
    assert bound == free_entries(pairs, head_dim) == min(side * side, head_dim * side)
    assert bound <= sent <= 2 * bound


@pytest.mark.parametrize(
    ("side", "head_dim", "prime"),
    [(1, 1, 2), (2, 1, 2), (2, 2, 2), (3, 1, 2), (2, 1, 3), (2, 1, 5)],
)
def test_every_outcome_needs_a_message_of_its_own(side, head_dim, prime):
    pairs = square(side * side)
    found = outcomes(pairs, head_dim, prime)
    assert found == matrices_of_rank_at_most(head_dim, side, side, prime)
    needed = elements_needed(found, prime)
    assert needed >= lower_bound(side * side, head_dim)
    assert prime ** (needed - 1) < found  # one element fewer: more outcomes than messages
    Q = K = [[0] * head_dim for _ in range(side)]
    assert len(encode(Q, K, pairs, prime)) >= needed


def test_the_protocol_reaches_every_outcome_over_a_tiny_field():
    """All 3^4 inputs: as many decoded outcomes as there are matrices of rank at most 1."""
    pairs = square(4)
    decoded = set()
    for q0, q1, k0, k1 in product(range(3), repeat=4):
        message = encode([[q0], [q1]], [[k0], [k1]], pairs, prime=3)
        decoded.add(tuple(decode(message, pairs, 1, prime=3).values()))
    assert len(decoded) == matrices_of_rank_at_most(1, 2, 2, 3) == 33


def test_no_shorter_code_exists_by_trying_them_all():
    """Over F_2 with B = 2 pairs and d = 1: no map from inputs to one element lets Bob decode."""
    pairs = ((0, 0), (1, 1))
    inputs = list(product(range(2), repeat=4))
    wanted = [(q0 * k0 % 2, q1 * k1 % 2) for q0, q1, k0, k1 in inputs]
    assert len(encode([[1], [1]], [[1], [1]], pairs, prime=2)) == 2

    def decodable(code):
        """Bob can decode if inputs with the same message want the same entries."""
        meaning = {}
        return all(
            meaning.setdefault(sent, entries) == entries
            for sent, entries in zip(code, wanted, strict=True)
        )

    assert not any(decodable(code) for code in product(range(2), repeat=len(inputs)))


def sets_of_pairs(side):
    every = list(product(range(side), repeat=2))
    return chain.from_iterable(combinations(every, count) for count in range(1, len(every) + 1))


@pytest.mark.parametrize("head_dim", [1, 2, 3])
def test_no_choice_of_pairs_is_worth_less_than_half_the_bound(head_dim):
    for pairs in sets_of_pairs(3):
        bound = min(len(pairs), head_dim * sqrt(len(pairs)))
        assert free_entries(pairs, head_dim) >= bound / 2


@pytest.mark.parametrize(("head_dim", "prime"), [(1, 2), (2, 2), (1, 3)])
def test_free_entries_can_be_given_any_values(head_dim, prime):
    """q^free outcomes at least, counted by brute force, for every set of pairs that fits."""
    side = 2 if head_dim == 2 or prime == 3 else 3
    for pairs in sets_of_pairs(side):
        assert outcomes(pairs, head_dim, prime) >= prime ** free_entries(pairs, head_dim)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="prime must be a prime number, got 91"):
        encode([[1]], [[1]], [(0, 0)], prime=91)
    with pytest.raises(ValueError, match="all different"):
        encode([[1]], [[1]], [(0, 0), (0, 0)], prime=7)
    with pytest.raises(ValueError, match="budget must be a square number"):
        square(8)
    with pytest.raises(ValueError, match="zip"):
        decode(Message("entries", (1, 2, 3)), square(4), head_dim=1, prime=7)
