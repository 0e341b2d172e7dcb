"""The lower bounds: regimes, constants and readings."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.iomodel import bounds, counts, lru
from costlib.iomodel.counting.block_sizes import staircase
from costlib.units.numbers import symbols
from schedules import lru_matmul

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("share", [1 / 4, 1 / 16, 1 / 64])
def test_the_small_cache_algorithm_nears_the_small_cache_bound(share):
    N, d = 2**17, 1024
    M = round(d * d * share)
    x = d / math.sqrt(M)
    ratio = staircase("small_cache", N, d).total_at(M) / bounds.attention(N, d, M)
    assert 1 < ratio < 1.05 * (4 * x + 1) / (4 * x - 1)


def test_one_entry_more_below_four_d_squared_raises_no_bound():
    """Just below 4d² the bound from 4d² on is the larger, and is taken there too."""
    N, d = 1024, 64
    meet = 4 * d * d
    assert bounds.small_cache(N, d, meet - 1) < bounds.large_cache(N, d, meet)
    assert bounds.attention(N, d, meet - 1) == bounds.attention(N, d, meet) == 1_032_192


def test_values_by_hand():
    N, d = 100, 5
    assert bounds.large_cache(N, d, 200) == 4 * 10_000 * 25 / 200 - 200
    assert bounds.small_cache(N, d, 25) == 4 * 10_000 * 5 / 5 - 10_000 - 50
    assert bounds.scores_only(N, d, 25) == 10_000 / 2 - 25 + 500
    assert bounds.scores_only(N, d, 1000) == 10_000 * 25 / 1000 - 1000 + 500
    assert bounds.attention(N, d, 10**6) == 4 * 100 * 5
    assert bounds.pairs(N, causal=True) == 5050
    causal = bounds.large_cache(N, d, 200, causal=True)
    assert causal == 4 * 5050 * 25 / 200 - 200
    assert bounds.matmul(4, 6, 5, 9) == 2 * 120 / 3 - 18
    assert bounds.matmul_total(4, 6, 5, 10**4) == 4 * 6 + 6 * 5 + 4 * 5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(N=st.integers(1, 500), d=st.integers(1, 64), M=st.integers(3, 20_000), causal=st.booleans())
def test_the_bound_falls_with_memory_and_keeps_the_compulsory_part(N, d, M, causal):
    here = bounds.attention(N, d, M, causal=causal)
    assert here >= 4 * N * d
    slack = 2 * M + 2  # the additive terms differ where the two bounds meet
    assert bounds.attention(N, d, M + 1, causal=causal) <= here + slack


def test_arrays_and_symbols_give_the_same_bounds():
    N, d, M = symbols("N d M")
    points = np.array([[64, 8, 100], [64, 8, 256], [64, 8, 2000], [9, 2, 100_000]])
    swept = bounds.attention(*points.T)
    formula = bounds.attention(N, d, M)
    for row, value in zip(points.tolist(), swept, strict=True):
        exact = bounds.attention(*row)
        assert value == pytest.approx(exact, rel=1e-15)
        symbolic = formula.subs(dict(zip((N, d, M), row, strict=True)))
        assert float(symbolic) == pytest.approx(float(exact), rel=1e-12)
    assert bounds.small_cache(N, d, M) == 4 * N**2 * d / sympy.sqrt(M) - N**2 - 2 * M


@pytest.mark.parametrize(("m", "k", "n", "M", "moved"), [(4, 1, 8, 6, 44), (2, 2, 25, 8, 104)])
def test_a_product_with_a_held_matrix_may_read_less_than_its_bound(m, k, n, M, moved):
    """A stays, the columns of B pass, each entry of the product is summed in one place and leaves.

    Reads and writes respect the bound. "Reads at least `matmul`, and the writes besides" is false.
    """
    places = m * k + k + 1
    reads, writes = m * k + k * n, m * n
    assert places <= M
    assert reads + writes == moved >= bounds.matmul_total(m, k, n, M)
    assert max(bounds.matmul(m, k, n, M), reads) + writes > moved


def test_the_explicit_bounds_have_the_shape_of_theorem_1():
    N, d = 2**20, 256
    for M in (d * d // 64, d * d // 4, 8 * d * d, 64 * d * d):
        shape = min(N**2 * d**2 / M, N**2 * d / math.sqrt(M)) + N * d
        assert 1 < bounds.attention(N, d, M) / shape < 4.1


def misses_by_reuse_distance(addresses, capacity):
    """A second definition: an access misses if enough others came since its last use."""
    last, misses = {}, 0
    for time, address in enumerate(addresses):
        new = address not in last
        misses += new or len(set(addresses[last[address] + 1 : time])) >= capacity
        last[address] = time
    return misses


@settings(max_examples=60, deadline=None, derandomize=True)
@given(addresses=st.lists(st.integers(0, 9), max_size=60), capacity=st.integers(1, 8))
def test_lru_misses_are_the_long_reuse_distances(addresses, capacity):
    count = lru.cached([(address, True, False) for address in addresses], capacity)
    assert count.reads == misses_by_reuse_distance(addresses, capacity)
    assert count.writes == 0
    assert count.peak <= capacity


def test_lru_writes_back_what_is_dirty_once():
    touched = [(1, False, True), (2, True, False), (3, True, False), *[(1, True, True)] * 2]
    count = lru.cached(touched, 2)
    assert (count.reads, count.writes) == (3, 2), "evicted once, flushed once"


def test_explicit_control_halves_the_room():
    explicit = counts.matmul(24, 24, 24, 8, 8)
    blocks = {"tile_rows": 8, "tile_cols": 8}
    assert lru_matmul(24, 24, 24, explicit.peak, **blocks).total > 3 * explicit.total
    assert lru_matmul(24, 24, 24, 2 * explicit.peak, **blocks).total == explicit.total
    attention = counts.flash2(24, 4, 4, 4)
    cached = lru.flash2(24, 4, attention.peak, block_rows=4, block_cols=4)
    assert cached.total > 1.5 * attention.total
    assert cached.reads >= attention.reads


def test_lru_runs_do_not_beat_the_bounds():
    for M in (20, 60, 200):
        assert lru.flash2(16, 4, M, block_rows=4, block_cols=2).total >= bounds.attention(16, 4, M)
        product = lru_matmul(12, 12, 12, M, tile_rows=3, tile_cols=3)
        assert product.total >= bounds.matmul_total(12, 12, 12, M)


def test_an_lru_cache_that_holds_everything_moves_what_must():
    count = lru_matmul(2, 3, 5, 100, tile_rows=2, tile_cols=2)
    assert (count.reads, count.writes) == (2 * 3 + 3 * 5, 2 * 5)


def test_what_the_exercises_prove_beside_the_bounds():
    """Shared keys and values have half of bound A; heads that share keys add their pairs."""
    for N, d, factor in ((4096, 64, 2), (16_384, 128, 8), (65_536, 64, 30)):
        M = factor * d * d
        rows = (M - d) // (2 * d + 5)
        shared = 2 * N * d + -(-N // rows) * N * d
        proved = 2 * N * N * d * d / M - M
        assert proved <= shared
        group = 8
        stacked = 2 * group * N * d + 2 * -(-group * N // rows) * N * d
        assert stacked >= 4 * group * N * N * d * d / M - M
    assert shared < 1.2 * proved, "and is reached, to leading order"
