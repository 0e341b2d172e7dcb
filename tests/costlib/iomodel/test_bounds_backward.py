"""The backward pass and the gap near M = d²: bounds, the schedules beside them, the key steps."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.iomodel import bounds, counts
from costlib.iomodel.counting.block_sizes import ALGORITHMS, staircase
from costlib.units.numbers import symbols
from tools.bench import backward_orders

quick = settings(max_examples=15, deadline=None, derandomize=True)
STORED = "stored_backward", "four_pass_backward"
BACKWARD = ("flash_backward", "flash2_backward", "two_pass_backward", *STORED)


def drawn(data, algorithm, N):
    return {name: data.draw(st.integers(1, N + 2), label=name) for name in ALGORITHMS[algorithm]}


@pytest.mark.parametrize("d", [8, 64])
def test_no_backward_count_is_below_a_bound(d):
    """From d²/32 to 64·d², at sizes where the quadratic terms rule and where they do not."""
    for N in (8 * d, 2048 * d):
        for share in np.geomspace(1 / 32, 64, 34):
            M = round(share * d * d)
            for name in BACKWARD:
                least = staircase(name, N, d).total_at(M)
                assert least >= bounds.backward(N, d, M), (name, N, M)
                if name not in STORED:
                    assert least >= bounds.backward_whole_rows(N, d, M), (name, N, M)


@quick
@given(
    data=st.data(),
    N=st.integers(1, 40),
    d=st.integers(1, 9),
    name=st.sampled_from(BACKWARD[:3]),
    causal=st.booleans(),
)
def test_no_causal_backward_count_is_below_a_bound(data, N, d, name, causal):
    count = getattr(counts, name)(N, d, **drawn(data, name, N), causal=causal)
    assert count.total >= bounds.backward(N, d, count.peak, causal=causal)
    assert count.total >= bounds.backward_whole_rows(N, d, count.peak, causal=causal)


def test_values_by_hand():
    N, d = 100, 2
    assert bounds.backward_compulsory(N, d) == 1400
    assert bounds.backward_large_cache(N, d, 64) == 12 * 10_000 * 4 / 64 - 64
    assert bounds.backward_large_cache(N, d, 64, causal=True) == 12 * 5050 * 4 / 64 - 64
    assert bounds.backward_large_cache(N, d, 64, pairs=5050) == 12 * 5050 * 4 / 64 - 64
    # 2M/d² = 16, so the root is 5 and 12 shrinks by 64/84
    assert bounds.backward_large_cache(N, d, 32) == pytest.approx(12e4 * 4 / 32 * 64 / 84 - 32)
    assert bounds.backward_large_cache(N, 5, 20) == bounds.backward_large_cache(N, 5, 108)  # 4.32d²
    # x = 1
    assert bounds.backward_small_cache(N, d, 4) == pytest.approx(1e4 * 4 * 2**0.5 - 8)
    assert bounds.backward_whole_rows(N, d, 15) == 14 * 10_000 * 4 / 14 - 600
    assert bounds.backward(N, d, 10**6) == 1400


def test_arrays_and_symbols_give_the_same_bounds():
    points = np.array([[64, 8, 20], [640, 8, 300], [6400, 8, 2000]])
    for row, value in zip(points.tolist(), bounds.backward(*points.T), strict=True):
        assert value == pytest.approx(bounds.backward(*row), rel=1e-14)
    letters, here = symbols("N d M"), (640, 8, 200)
    for bound in (bounds.backward_small_cache, bounds.backward_whole_rows):
        symbolic = bound(*letters).subs(dict(zip(letters, here, strict=True)))
        assert float(symbolic) == pytest.approx(bound(*here), rel=1e-12)


def test_the_rectangles_of_a_segment():
    """The lemma of theorem F on drawn segments, and two that attain it."""
    rng = np.random.default_rng(0)

    def part():
        return rng.choice([0.0, 1.0, rng.random()])

    def ratio(r, c, inner_r, inner_c, o, w, xi, eta):
        rows = r + np.mean(o) + xi * inner_r
        cols = c + (1 + eta) * inner_c + np.mean(w)
        made = (xi + eta) * inner_r * inner_c + np.mean(np.multiply(o, w))
        return rows * cols / made if made else np.inf

    least = np.inf
    for _ in range(1500):
        r, c = rng.random(2) + 1e-9
        inner_r, inner_c, d = part() * r, part() * c, rng.integers(1, 4)
        o = [inner_r + part() * (r - inner_r) for _ in range(d)]
        w = [part() * c for _ in range(d)]
        least = min(least, ratio(r, c, inner_r, inner_c, o, w, part(), part()))
    assert 4 - 1e-9 < least < 4.3
    assert ratio(4, 3, 4, 3, [4], [3], 1, 1) == 4, "everything at once"
    assert ratio(5, 2, 0, 0, [5], [2], 0, 0) == 4, "dV alone"


@pytest.mark.parametrize("share", [4.32, 6, 10, 14, 14.6, 30, 64])
def test_pairs_made_before_do_not_help_more_than_is_said(share):
    """Theorem F, step 5: the best number of such pairs, searched on a grid."""
    at_hand = 2 * share
    a = np.linspace(0, at_hand, 20_001)
    made = (at_hand - a) ** 2 / 16 + np.minimum(3 * a, np.sqrt(a) * (at_hand - a) / 2)
    N, d = 10**6, 100
    M = round(share * d * d)
    claimed = 3 * N * N * d * M / (bounds.backward_large_cache(N, d, M) + M)  # a segment's products
    assert made.max() * d**3 == pytest.approx(claimed, rel=1e-4)


def weighted_products(items, weights):
    """Prices of the products of one column, at z = 1: theorem F for a small memory, step 3."""
    q, k, o, v, x, y, w = np.sqrt(items)
    s, p, g = weights
    return s * q * k + p * x * k + p * y * q + g * o * v + g * o * w


@pytest.mark.parametrize("x", [0.5, 0.7, 1, 2, 8])
def test_the_weights_of_a_column(x):
    s = 1 / (2 * x)
    weights = s, np.sqrt(1 - s), np.sqrt(0.5)
    rng = np.random.default_rng(1)
    most = max(weighted_products(u, weights) / u.sum() for u in rng.random((3000, 7)) ** 4)
    assert 0.4 < most < 0.5 + 1e-12


@pytest.mark.parametrize(
    ("share", "square", "stored"), [(64, 14, 0), (2.6, 14, 0), (2.4, 9, 2), (1.4, 9, 2), (1, 5, 5)]
)
def test_the_cheapest_plan_of_passes(share, square, stored):
    """Of all orders of whole rows: two passes, then dS stored, then P and dS stored."""
    cost, plan = backward_orders.cheapest(share**-0.5)
    assert cost == pytest.approx(square / share + stored)
    assert len(plan) == (4 if stored == 5 else 2)
    nothing_stored, _ = backward_orders.cheapest(share**-0.5, storing=False)
    assert nothing_stored == pytest.approx(14 / share)
    N, d = 10**9, 1000
    assert cost * N**2 > bounds.backward(N, d, round(share * d * d))


NEEDS = {"Q": "XYW", "dO": "XYW", "K": "XYW", "V": "XY"}  # X, Y, W: the trees' own moments


def stays(order, moments):
    """Every way in which an input can stay between its moments or be fetched again."""
    line = [moment for moment in order if moment in moments]
    for fetched in itertools.product((0, 1), repeat=len(line) - 1):
        yield dict(zip(line, itertools.accumulate((0, *fetched)), strict=True))


def counted_of_a_pair(order, inputs, meets):
    """What one pair counts beside its trees with their inputs: theorem G, step 4."""
    meetings = {
        (row, inputs[row][at], column, inputs[column][at])
        for at in order
        for row, column in itertools.product(("Q", "dO"), ("K", "V"))
        if at in inputs[column]
    }
    halves = set()
    for tree in {"Y", "W"} - meets:
        later = order.index(tree) > order.index("X")
        for name, at in inputs.items():
            if tree in at and at["X"] == at[tree]:  # stays from one tree to the other
                mine = tree if name in ("Q", "dO") else "X"
                halves.add((mine, name, later))
    return 6 + len(meetings) + 2 * len(meets) + len(halves) / 2


def test_what_a_pair_lacks_of_fourteen():
    """Theorem G, step 4: all orders of the moments, all that can stay."""
    lacks = set()
    for order in itertools.permutations("XYW"):
        for ways in itertools.product(*(stays(order, NEEDS[name]) for name in NEEDS)):
            inputs = dict(zip(NEEDS, ways, strict=True))
            for meets in (set(), {"Y"}, {"W"}, {"Y", "W"}):
                lack = 14 - counted_of_a_pair(order, inputs, meets)
                if lack <= 0:
                    continue
                kept = {
                    tree
                    for tree in {"Y", "W"} - meets
                    if all(at["X"] == at[tree] for at in inputs.values() if tree in at)
                }
                one_side = order[1] != "X"
                lacks.add((lack, "".join(sorted(meets)), "".join(sorted(kept)), one_side))
    assert lacks == {
        (1, "", "WY", True),
        (0.5, "", "Y", True),
        (0.5, "", "WY", False),
        (0.5, "Y", "W", True),
        (0.5, "Y", "W", False),
    }


ROWS, COLUMNS = ("Q", "dO", "dQ"), ("K", "V", "dK", "dV")
MOMENTS = {
    "dQ": (("Q", "dO", "dQ"), ("K", "V")),
    "dK": (("Q", "dO"), ("K", "V", "dK")),
    "dV": (("Q", "dO"), ("K", "dV")),
}


def counted_meetings(N, events):
    """The counts of theorem G, steps 3 to 5, at d = 1, and whether all is made.

    An event is a matrix and a row: the row comes if it is absent and goes if it is present.
    """
    here = {name: set() for name in ROWS + COLUMNS}
    made = {name: set() for name in MOMENTS}
    total = 0.0
    for name, index in events:
        coming = index not in here[name]
        here[name].discard(index)
        own = ROWS if name in ROWS else COLUMNS
        other = COLUMNS if own is ROWS else ROWS
        tree = name in MOMENTS
        met = sum(len(here[each]) for each in other)
        met += sum(len(here[each]) for each in own if tree and each not in MOMENTS)
        total += met if tree else met / 2
        if coming:
            here[name].add(index)
            for gradient, (rows, cols) in MOMENTS.items():
                i = set.intersection(*(here[each] for each in rows))
                j = set.intersection(*(here[each] for each in cols))
                made[gradient] |= {(a, b) for a in i for b in j}
    return total, all(len(pairs) == N * N for pairs in made.values())


def emptied(events):
    """The events, and at the end everything that is present goes."""
    left = set()
    for event in events:
        left ^= {event}
    return [*events, *sorted(left)]


@pytest.mark.parametrize("N", [1, 2])
def test_every_pair_counts_fourteen_meetings(N):
    """A search for a schedule of whole rows with fewer, by random changes."""
    draw = random.Random(N)
    items = [(name, index) for name in ROWS + COLUMNS for index in range(N)]
    least = np.inf
    for _ in range(4):
        events = draw.sample(items, len(items))
        best, done = counted_meetings(N, emptied(events))
        assert done, "everything present at once"
        for step in range(240):
            tried = list(events)
            place = draw.randrange(len(tried))
            kind = draw.random()
            if kind < 0.3:
                tried.pop(place)
            elif kind < 0.6:
                tried.insert(place, draw.choice(items))
            else:
                tried.insert(draw.randrange(len(tried)), tried.pop(place))
            total, done = counted_meetings(N, emptied(tried))
            if done and total <= best + (step < 120) * draw.random():
                events, best = tried, total
                least = min(least, best)
    assert least >= 14 * N * N
