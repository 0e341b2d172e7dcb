"""Closed forms in every reading, best blocks against exhaustive search, and exact crossovers."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import devices, models
from costlib.iomodel import CapacityError, bounds, counts, fast_memory, head_width
from costlib.iomodel.counting.block_sizes import (
    ALGORITHMS,
    best_blocks,
    crossovers,
    plain_blocks,
    published_blocks,
    shrunk_blocks,
    staircase,
)
from costlib.units.numbers import symbols

quick = settings(max_examples=80, deadline=None, derandomize=True)


@quick
@given(N=st.integers(1, 60), rows=st.integers(1, 64), cols=st.integers(1, 64))
def test_coverage_is_the_sum_over_live_tiles(N, rows, cols):
    live = [
        (range(r, min(r + rows, N)), range(c, min(c + cols, N)))
        for r in range(0, N, rows)
        for c in range(0, N, cols)
        if min(r + rows, N) - 1 >= c
    ]
    assert counts.covered_columns(N, rows, cols, causal=True) == sum(len(c) for _, c in live)
    assert counts.covered_rows(N, rows, cols, causal=True) == sum(len(r) for r, _ in live)
    if rows == cols:
        area = sum(len(r) * len(c) for r, c in live)
        assert counts.covered_entries(N, rows, causal=True) == area


def test_causal_is_about_half_plus_the_diagonal():
    N = 4096
    for tile in (1, 16, 64):
        half = N * (N + tile) // 2  # whole tiles on the diagonal
        assert counts.covered_entries(N, tile, causal=True) == half


FORMS = {
    "matmul": ("m n k b_m b_n b_k", {}),
    "naive": ("N d b b_k", {"softmax": "online"}),
    "flash": ("N d B_r B_c", {}),
    "flash2": ("N d B_r B_c", {}),
    "flash_backward": ("N d B_r B_c", {}),
    "flash2_backward": ("N d B_r B_c", {}),
    "two_pass_backward": ("N d B_r B_c s", {}),
    "small_cache": ("N d B b_k r c", {}),
    "fused": ("N d r c w", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_ints_arrays_and_symbols_agree(name, causal):
    letters, options = FORMS[name]
    if name != "matmul":
        options = {**options, "causal": causal}
    form = getattr(counts, name)
    sizes = np.random.default_rng(1).integers(1, 30, size=(len(letters.split()), 25))
    if name == "small_cache" and causal:
        sizes[4] = sizes[2]
    swept = form(*sizes, **options)
    variables = symbols(letters)
    if name == "small_cache" and causal:
        variables = (*variables[:4], variables[2], variables[5])
    formula = form(*variables, **options)
    for point in range(25):
        ints = [int(size) for size in sizes[:, point]]
        exact = form(*ints, **options)
        for field in ("reads", "writes", "peak", "total"):
            wanted = getattr(exact, field)
            assert isinstance(wanted, int)
            assert getattr(swept, field)[point] == wanted
        if point < 3:
            values = dict(zip(variables, ints, strict=True))
            for field in ("reads", "writes", "peak"):
                value = sympy.sympify(getattr(formula, field)).subs(values).doit()
                assert value == getattr(exact, field)


def test_symbols_give_the_formulas_of_the_book():
    N, d, B_r, B_c, T = symbols("N d B_r B_c T")
    assert sympy.simplify(counts.flash2(N, d, N / T, B_c).reads - (N * d + 2 * T * N * d)) == 0
    first = counts.flash(N, d, B_r, N / T)
    assert sympy.expand(first.reads - (2 * N * d + T * N * (2 * d + 2))) == 0
    assert sympy.expand(first.writes - (T + 1) * N * (d + 2)) == 0
    assert B_r not in first.total.free_symbols, "FlashAttention-1's total does not depend on B_r"
    assert B_c not in counts.flash2(N, d, B_r, B_c).total.free_symbols


def test_exact_at_any_size():
    N = 10**12
    assert counts.flash2(N, 128, 10**6, 1).reads == N * 128 + 2 * 10**6 * N * 128
    assert counts.flash2(N, 128, 1000, 7, causal=True).reads > N * N // 1000 * 128


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"fused"}))
def test_plain_blocks_are_the_largest_that_fit(name):
    for N, d in ((50, 3), (200, 8), (5000, 64)):
        for M in (4, 9, 30, 5 * d, 7 * d + 9, d * d + 1, 4 * d * d, 9 * d * d + 5):
            blocks = plain_blocks(name, d, M)
            if min(blocks.values()) < 1:
                continue
            assert getattr(counts, name)(N, d, **blocks).peak <= M
            more = plain_blocks(name, d, 4 * M + 9)
            for size in [each for each in blocks if more[each] > blocks[each]]:
                if size.startswith("value") or blocks[size] >= (d if size == "tile" else N):
                    continue  # as large as the phase before needs it, or all there is
                grown = {**blocks, size: blocks[size] + 1}
                assert getattr(counts, name)(N, d, **grown).peak > M, (N, d, M, size)


STORED = "stored_scores", "stored_backward", "four_pass_backward"  # these have no causal form


def total_of(name, N, d, blocks, causal):
    return getattr(counts, name)(N, d, *blocks, causal=causal)


@pytest.mark.parametrize(
    ("name", "causal"),
    [(name, causal) for name in ALGORITHMS for causal in (False, True)[: 1 + (name not in STORED)]],
)
def test_best_blocks_are_the_best_of_all(name, causal):
    for N, d in ((1, 1), (3, 7), (5, 3), (7, 2), (9, 5), (12, 4)):
        ranges = [range(1, max(N, d) + 1)] * len(ALGORITHMS[name])
        if name == "small_cache":
            ranges = [range(1, N + 1), range(1, 2), range(1, N + 1), range(1, d + 1)]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")])
        if name == "small_cache" and causal:
            grid = grid[:, grid[0] == grid[2]]
        every = total_of(name, N, d, grid, causal)
        for M in range(1, int(every.peak.max()) + 3):
            fits = every.peak <= M
            if not fits.any():
                with pytest.raises(CapacityError, match=f"{name} needs at least"):
                    best_blocks(name, N, d, M, causal=causal)
                continue
            choice = best_blocks(name, N, d, M, causal=causal)
            assert choice.count.total == every.total[fits].min(), (N, d, M)
            assert choice.count.peak <= M
            again = getattr(counts, name)(N, d, **choice.blocks, causal=causal)
            assert choice.count == again


def test_a_staircase_falls():
    steps = staircase("fused", 60, 8)
    assert (np.diff(steps.capacities) > 0).all()
    assert (np.diff(steps.totals) < 0).all()
    assert steps.total_at(steps.capacities[0] - 1) == math.inf


def least_total(name, N, d, M):
    try:
        return best_blocks(name, N, d, M).count.total
    except CapacityError:
        return math.inf


def test_crossovers_are_exact():
    N, d = 40, 6
    found = crossovers("flash2", "small_cache", N, d)
    starts = {crossing.M: crossing for crossing in found}
    current = None
    for M in range(found[0].M, int(staircase("flash2", N, d).capacities[-1]) + 50):
        totals = [least_total(name, N, d, M) for name in ("flash2", "small_cache")]
        if totals[0] == totals[1]:
            cheaper = None
        else:
            cheaper = "flash2" if totals[0] < totals[1] else "small_cache"
        assert (M in starts) == (cheaper != current), M
        if M in starts:
            assert (starts[M].cheaper, starts[M].totals) == (cheaper, tuple(totals))
        current = cheaper


@pytest.mark.parametrize(
    ("pair", "where"), [(("flash2", "small_cache"), 0.68), (("flash", "small_cache"), 1.34)]
)
def test_where_flash_attention_overtakes(pair, where):
    N, d = 65536, 256
    last = crossovers(*pair, N, d)
    settled = [crossing for crossing in last if crossing.M / (d * d) < 4][-1]
    assert settled.cheaper == pair[0]
    assert settled.M / d**2 == pytest.approx(where, rel=0.03)


def leading(name, x, d=512, N=2**20):
    """The best total in units of N², far from the edges."""
    M = round((d / x) ** 2)
    return staircase(name, N, d).total_at(M) / N**2


@pytest.mark.parametrize("x", [0.25, 0.125])
def test_leading_terms(x):
    assert leading("flash2", x) == pytest.approx(4 * x**2, rel=0.04)
    assert leading("flash", x) == pytest.approx(6 * x**2, rel=0.04)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "constant"),
    [("flash_backward", 20), ("flash2_backward", 16), ("two_pass_backward", 14)],
)
def test_leading_terms_of_the_backward_passes(name, constant):
    assert leading(name, 0.125) == pytest.approx(constant * 0.125**2, rel=0.04)


@pytest.mark.parametrize("x", [1.0, 4.0, 8.0])
def test_leading_terms_of_the_small_cache(x):
    general = 2 * x + 1 + min(k + x**2 / k for k in range(1, 50))
    assert leading("small_cache", x) == pytest.approx(general, rel=0.03)
    assert leading("naive", x) >= leading("small_cache", x)


@pytest.mark.parametrize("x", [4.0, 8.0])
def test_leading_term_of_the_fused_variant(x):
    steps = staircase("fused", 2**14, 512)
    M = round((512 / x) ** 2)
    assert steps.total_at(M) / 2**28 == pytest.approx(2 * math.sqrt(6) * x, rel=0.06)


def test_the_published_blocks_move_twice_as_much():
    N, d = 2**16, 256
    M = 4 * d * d
    blocks = published_blocks("flash", d, M)
    assert counts.flash(N, d, **blocks).total / N**2 == pytest.approx(12 * d * d / M, rel=0.03)
    small = d * d // 16
    x = d / math.sqrt(small)
    blocks = published_blocks("small_cache", d, small)
    assert counts.small_cache(N, d, **blocks).total / N**2 == pytest.approx(8 * x + 1, rel=0.01)


def test_what_the_model_says_of_a_published_measurement():
    """FlashAttention paper, Figure 2: N = 1024, d = 64, 16 heads, batch 64, 2 bytes: 4.4 GB.

    The published blocks at the whole 192 KB of an A100's multiprocessor come near. That proves
    little: they do not fit, a program may use 164 KB of the 192, and what fits is on both sides.
    """

    def gigabytes(M, find):
        forward = counts.flash(1024, 64, **find("flash", M))
        backward = counts.flash_backward(1024, 64, **find("flash_backward", M))
        over = max(forward.peak, backward.peak) / M
        return (forward.total + backward.total) * 16 * 64 * 2 / 1e9, over

    def published(name, M):
        return published_blocks(name, 64, M)

    def shrunk(name, M):
        return shrunk_blocks(name, 1024, 64, M)

    def best(name, M):
        return best_blocks(name, 1024, 64, M).blocks

    for kilobytes, as_published, *that_fit in ((192, 4.34, 5.69, 3.93), (164, 5.42, 6.77, 4.60)):
        M = kilobytes * 1024 // 2
        moved, over = gigabytes(M, published)
        assert moved == pytest.approx(as_published, abs=0.005)
        assert 1.5 < over < 1.8
        for find, known in zip((shrunk, best), that_fit, strict=True):
            moved, over = gigabytes(M, find)
            assert moved == pytest.approx(known, abs=0.005)
            assert over <= 1


def test_wrong_names_are_refused():
    with pytest.raises(ValueError, match="algorithm must be one of"):
        best_blocks("flash3", 8, 4, 100)
    with pytest.raises(ValueError, match="no other has published sizes"):
        published_blocks("flash2", 8, 100)
    with pytest.raises(ValueError, match="causal pairs"):
        best_blocks("fused", 5000, 4, 100, causal=True)
    with pytest.raises(ValueError, match="N must be at least 1"):
        counts.flash2(0, 4, 1, 1)
    assert bounds.compulsory(1, 1) == 4


def test_letters_come_from_a_model_and_a_device():
    assert (head_width(models["gpt2"]), fast_memory(devices["A100-80GB"])) == (64, 83_968)
    assert fast_memory(devices["H100-SXM"], bytes_per_entry=1) == 228 * 1024
    for name in ("deepseek-v3", "falcon-mamba-7b"):
        with pytest.raises(ValueError, match="choose another, such as 'llama-3-8b'"):
            head_width(models[name])
    with pytest.raises(ValueError, match="on a core of M4-Max is not in the catalogue"):
        fast_memory(devices["M4-Max"])
    with pytest.raises(ValueError, match="bytes_per_entry must be at least 1"):
        fast_memory(devices["T4"], 0)
