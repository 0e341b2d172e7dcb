"""Closed forms in every reading, best blocks against exhaustive search, and exact crossovers."""

import math
from functools import partial

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import devices, models
from costlib.iomodel import CapacityError, counts, fast_memory, head_width
from costlib.iomodel.counting.block_sizes import (
    ALGORITHMS,
    best_blocks,
    crossovers,
    plain_blocks,
    published_blocks,
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


FORMS = {
    **{name: f"N d {' '.join(sizes)}" for name, sizes in ALGORITHMS.items()},
    "matmul": "m n k tile_rows tile_cols inner",
}
STORED = "stored_scores", "stored_backward", "four_pass_backward"  # these have no causal form


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "causal"),
    [(name, causal) for name in FORMS for causal in (False, True)[: 1 + (name not in STORED)]],
)
def test_ints_arrays_and_symbols_agree(name, causal):
    letters = FORMS[name].split()
    form = getattr(counts, name)
    if name not in (*STORED, "matmul"):
        form = partial(form, causal=causal)
    sizes = np.random.default_rng(1).integers(1, 30, size=(len(letters), 25))
    if name == "small_cache" and causal:
        sizes[4], letters[4] = sizes[2], letters[2]
    swept, variables = form(*sizes), symbols(" ".join(letters))
    formula = form(*variables)
    for point, ints in enumerate(sizes.T.tolist()):
        exact = form(*ints)
        for field in ("reads", "writes", "peak"):
            wanted = getattr(exact, field)
            assert isinstance(wanted, int)
            assert getattr(swept, field)[point] == wanted
            if point < 3:
                values = dict(zip(variables, ints, strict=True))
                assert sympy.sympify(getattr(formula, field)).subs(values).doit() == wanted
        assert swept.total[point] == exact.total


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
        every = getattr(counts, name)(N, d, *grid, causal=causal)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "x", "leading"),
    [
        ("flash_backward", 0.125, 20 * 0.125**2),
        ("flash2_backward", 0.125, 16 * 0.125**2),
        ("two_pass_backward", 0.125, 14 * 0.125**2),
        ("stored_backward", 1.0, 9 + 2),
        ("four_pass_backward", 1.0, 5 + 5),
    ],
)
def test_leading_terms(name, x, leading):
    """The best total in units of N², far from the edges; x is d/√M. Figures tell the others."""
    found = staircase(name, 2**20, 512).total_at(round((512 / x) ** 2)) / 2**40
    assert found == pytest.approx(leading, rel=0.04)


def test_the_published_blocks_move_twice_as_much():
    N, d = 2**16, 256
    M = 4 * d * d
    blocks = published_blocks("flash", d, M)
    assert counts.flash(N, d, **blocks).total / N**2 == pytest.approx(12 * d * d / M, rel=0.03)
    small = d * d // 16
    x = d / math.sqrt(small)
    blocks = published_blocks("small_cache", d, small)
    assert counts.small_cache(N, d, **blocks).total / N**2 == pytest.approx(8 * x + 1, rel=0.01)


WRONG = {
    "algorithm must be one of": lambda: best_blocks("flash3", 8, 4, 100),
    "no other has published sizes": lambda: published_blocks("flash2", 8, 100),
    "causal pairs": lambda: best_blocks("fused", 5000, 4, 100, causal=True),
    "N must be at least 1": lambda: counts.flash2(0, 4, 1, 1),
    "on a core of M4-Max is not in the cat": lambda: fast_memory(devices["M4-Max"]),
    "bytes_per_entry must be at least 1": lambda: fast_memory(devices["T4"], 0),
    "different widths .* such as 'llama-3-8b'": lambda: head_width(models["deepseek-v3"]),
    "no heads .* such as 'llama-3-8b'": lambda: head_width(models["falcon-mamba-7b"]),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_named(message):
    with pytest.raises(ValueError, match=message):
        WRONG[message]()


def test_letters_come_from_a_model_and_a_device():
    assert (head_width(models["gpt2"]), fast_memory(devices["A100-80GB"])) == (64, 83_968)
    assert fast_memory(devices["H100-SXM"], bytes_per_entry=1) == 228 * 1024
