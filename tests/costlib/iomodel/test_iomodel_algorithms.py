"""Every algorithm on real arrays: right output, count equal to the closed form, no bound beaten."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedules
from costlib.iomodel import CapacityError, TwoLevelMemory, algorithms, bounds, counts
from costlib.iomodel.algorithms.runs import block_size
from costlib.iomodel.counting.block_sizes import (
    ALGORITHMS,
    best_blocks,
    published_blocks,
    shrunk_blocks,
)

pytestmark = pytest.mark.slow

FORWARD = {
    "naive": [{"softmax": "online"}, {"softmax": "row"}, {"softmax": "three-pass"}],
    "flash": [{"lazy_init": False}, {"lazy_init": True}],
    "flash2": [{"lean": True}, {"lean": False, "log_sum_exp": True}],
    "small_cache": [{"stable": False}, {"stable": True}],
    "fused": [{}],
}
CASES = [(name, options) for name, variants in FORWARD.items() for options in variants]

quick = settings(max_examples=60, deadline=None, derandomize=True)


def inputs(N, d, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(3, N, d))


def drawn_blocks(data, algorithm, N, causal):
    names = ALGORITHMS[algorithm]
    blocks = {name: data.draw(st.integers(1, N + 2), label=name) for name in names}
    if algorithm == "small_cache" and causal:
        blocks["value_rows"] = blocks["tile"]
    return blocks


def check(run, count, N, d, causal):
    assert (run.reads, run.writes, run.peak) == (count.reads, count.writes, count.peak)
    assert all(isinstance(value, int) for value in (count.reads, count.writes, count.peak))
    # The bound falls with M, so the least memory in which this run fits is the hardest test.
    assert run.total >= bounds.attention(N, d, run.peak, causal=causal)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
@quick
@given(data=st.data(), N=st.integers(1, 24), d=st.integers(1, 9), causal=st.booleans())
def test_run_equals_closed_form_and_reference(name, options, data, N, d, causal):
    blocks = drawn_blocks(data, name, N, causal)
    count = getattr(counts, name)(N, d, **blocks, **options, causal=causal)
    Q, K, V = inputs(N, d, seed=N)
    algorithm = getattr(algorithms, name)
    run = algorithm(Q, K, V, count.peak, **blocks, **options, causal=causal)
    check(run, count, N, d, causal)
    np.testing.assert_allclose(
        run.output, algorithms.reference_attention(Q, K, V, causal=causal), rtol=1e-8, atol=1e-10
    )
    with pytest.raises(CapacityError):
        algorithm(Q, K, V, count.peak - 1, **blocks, **options, causal=causal)


@quick
@given(
    m=st.integers(1, 20),
    n=st.integers(1, 20),
    k=st.integers(1, 20),
    tile=st.tuples(*[st.integers(1, 22)] * 3),
)
def test_matmul_runs(m, n, k, tile):
    rng = np.random.default_rng(m)
    A, B = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    blocks = dict(zip(("tile_rows", "tile_cols", "inner"), tile, strict=True))
    count = counts.matmul(m, k, n, *tile)
    run = schedules.matmul(A, B, count.peak, **blocks)
    assert (run.reads, run.writes, run.peak) == (count.reads, count.writes, count.peak)
    np.testing.assert_allclose(run.output, A @ B, rtol=1e-10, atol=1e-12)
    assert run.total >= bounds.matmul_total(m, k, n, run.peak)


@quick
@given(
    N=st.integers(1, 14),
    d=st.integers(1, 6),
    rows=st.integers(1, 16),
    cols=st.integers(1, 16),
    causal=st.booleans(),
    scale=st.sampled_from([1.0, 0.5]),
)
def test_backward_pass(N, d, rows, cols, causal, scale):
    Q, K, V = inputs(N, d)
    dO = np.random.default_rng(9).normal(size=(N, d))
    shared = {"block_rows": rows, "block_cols": cols, "causal": causal}
    forward = algorithms.flash(Q, K, V, None, **shared, scale=scale)
    count = counts.flash_backward(N, d, **shared)
    run = algorithms.flash_backward(
        Q,
        K,
        V,
        forward.output,
        dO,
        forward.extras["l"],
        forward.extras["m"],
        count.peak,
        **shared,
        scale=scale,
    )
    assert (run.reads, run.writes, run.peak) == (count.reads, count.writes, count.peak)
    wanted = algorithms.reference_gradients(Q, K, V, dO, causal=causal, scale=scale)
    for found, right in zip(run.output, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["flash2_backward", "two_pass_backward"])
@quick
@given(
    N=st.integers(1, 14),
    d=st.integers(1, 6),
    sizes=st.tuples(*[st.integers(1, 16)] * 3),
    causal=st.booleans(),
    scale=st.sampled_from([1.0, 0.5]),
)
def test_lean_backward_passes(name, N, d, sizes, causal, scale):
    Q, K, V = inputs(N, d)
    dO = np.random.default_rng(9).normal(size=(N, d))
    forward = algorithms.flash2(
        Q, K, V, None, block_rows=3, block_cols=2, log_sum_exp=True, causal=causal, scale=scale
    )
    blocks = dict(zip(ALGORITHMS[name], sizes, strict=False))
    count = getattr(counts, name)(N, d, **blocks, causal=causal)
    given = (Q, K, V, forward.output, dO, forward.extras["L"])
    options = {**blocks, "causal": causal, "scale": scale}
    run = getattr(algorithms, name)(*given, count.peak, **options)
    assert (run.reads, run.writes, run.peak) == (count.reads, count.writes, count.peak)
    wanted = algorithms.reference_gradients(Q, K, V, dO, causal=causal, scale=scale)
    for found, right in zip(run.output, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-10)
    with pytest.raises(CapacityError):
        getattr(algorithms, name)(*given, count.peak - 1, **options)


@pytest.mark.parametrize("causal", [False, True])
def test_reference_gradients_agree_with_differences(causal):
    Q, K, V = inputs(5, 3)
    dO = np.random.default_rng(2).normal(size=(5, 3))
    gradients = algorithms.reference_gradients(Q, K, V, dO, causal=causal, scale=0.7)
    step = 1e-6
    for which, gradient in enumerate(gradients):
        for entry in np.ndindex(5, 3):
            losses = []
            for sign in (1, -1):
                moved = [Q.copy(), K.copy(), V.copy()]
                moved[which][entry] += sign * step
                output = algorithms.reference_attention(*moved, causal=causal, scale=0.7)
                losses.append((output * dO).sum())
            assert gradient[entry] == pytest.approx((losses[0] - losses[1]) / (2 * step), abs=1e-7)


@quick
@given(N=st.integers(1, 20), d=st.integers(1, 7), rows=st.integers(1, 22), cols=st.integers(1, 22))
def test_orders_made_to_beat_the_bounds_do_not_beat_the_bounds(N, d, rows, cols):
    Q, K, V = inputs(N, d)
    reference = algorithms.reference_attention(Q, K, V)
    turning = schedules.sawtooth_count(N, d, rows, cols)
    run = schedules.sawtooth(Q, K, V, turning.peak, block_rows=rows, block_cols=cols)
    check(run, turning, N, d, False)
    np.testing.assert_allclose(run.output, reference, rtol=1e-9, atol=1e-12)
    width = 1 + (rows + cols) % d
    again = schedules.recomputed_count(N, d, rows, cols, width)
    run = schedules.recomputed(
        Q, K, V, again.peak, tile_rows=rows, tile_cols=cols, value_cols=width
    )
    check(run, again, N, d, False)
    np.testing.assert_allclose(run.output, reference, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_no_tile_shape_beats_the_bounds_at_real_sizes():
    rng = np.random.default_rng(3)
    points = 200_000
    N = rng.integers(1, 2 ** rng.integers(1, 15, points))
    d = rng.integers(1, 2 ** rng.integers(1, 9, points))
    sizes = [np.minimum(N, rng.integers(1, 2 ** rng.integers(1, 13, points))) for _ in range(2)]
    width = rng.integers(1, d + 1)
    for count in (
        counts.flash(N, d, *sizes, lazy_init=True),
        counts.flash2(N, d, *sizes),
        counts.fused(N, d, *sizes),
        counts.small_cache(N, d, sizes[0], 1, sizes[1], width),
        counts.naive(N, d, sizes[0], softmax="row"),
        schedules.sawtooth_count(N, d, *sizes),
        schedules.recomputed_count(N, d, *sizes, width),
    ):
        assert (count.total >= bounds.attention(N, d, count.peak)).all()
    for count in (
        counts.flash(N, d, *sizes, lazy_init=True, causal=True),
        counts.flash2(N, d, *sizes, causal=True),
        counts.fused(N, d, *sizes, causal=True),
        counts.naive(N, d, sizes[0], softmax="row", causal=True),
    ):
        assert (count.total >= bounds.attention(N, d, count.peak, causal=True)).all()


ONLINE = [
    ("flash", {"block_rows": 3, "block_cols": 4}),
    ("flash2", {"block_rows": 3, "block_cols": 4}),
    ("fused", {"tile_rows": 3, "tile_cols": 4}),
    ("small_cache", {"tile": 3, "stable": True}),
    ("naive", {"tile": 3}),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "blocks"), ONLINE, ids=[name for name, _ in ONLINE])
def test_large_scores_do_not_overflow(name, blocks, dtype, causal):
    Q, K, V = inputs(10, 4, scale=100.0).astype(dtype)
    assert np.abs(Q @ K.T).max() > 10_000
    run = getattr(algorithms, name)(Q, K, V, None, **blocks, causal=causal)
    assert run.output.dtype == dtype
    reference = algorithms.reference_attention(Q, K, V, causal=causal)
    np.testing.assert_allclose(run.output, reference, rtol=5e-3, atol=1e-3)


def test_the_published_small_cache_algorithm_does_overflow():
    Q, K, V = inputs(6, 4, scale=100.0)
    with np.errstate(over="ignore", invalid="ignore"):
        run = algorithms.small_cache(Q, K, V, None, tile=3)
    assert not np.isfinite(run.output).all()


def test_scale_is_applied_by_every_algorithm():
    Q, K, V = inputs(9, 4)
    reference = algorithms.reference_attention(Q, K, V, scale=0.5)
    for name, blocks in ONLINE:
        run = getattr(algorithms, name)(Q, K, V, None, **blocks, scale=0.5)
        np.testing.assert_allclose(run.output, reference, rtol=1e-10)


def test_log_sum_exp_is_what_it_says():
    Q, K, V = inputs(9, 4)
    run = algorithms.flash2(Q, K, V, None, block_rows=2, block_cols=4, log_sum_exp=True)
    wanted = np.log(np.exp(Q @ K.T).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(run.extras["L"], wanted, rtol=1e-12)


def test_published_flash_blocks_do_not_fit_and_shrunk_ones_do():
    N, d, M = 64, 8, 512
    Q, K, V = inputs(N, d)
    published = published_blocks("flash", d, M)
    with pytest.raises(CapacityError, match=r"step 'tile \(0, 0\)'"):
        algorithms.flash(Q, K, V, M, **published)
    over = algorithms.flash(Q, K, V, TwoLevelMemory(None), **published)
    assert (over.reads, over.writes, over.peak) == (5632, 3200, 560)
    shrunk = shrunk_blocks("flash", N, d, M)
    run = algorithms.flash(Q, K, V, M, **shrunk)
    assert run.peak <= M
    wider = {**shrunk, "block_cols": shrunk["block_cols"] + 1}
    assert counts.flash(N, d, **wider).peak > M, "the next size does not fit"


def test_without_block_sizes_the_best_are_taken():
    Q, K, V = inputs(20, 4)
    for name in FORWARD:
        run = getattr(algorithms, name)(Q, K, V, 90)
        choice = best_blocks(name, 20, 4, 90)
        assert (run.blocks, run.total) == (choice.blocks, choice.count.total)
        assert run.peak <= 90


def test_the_outer_product_order_comes_near_the_bound():
    side, M = 180, 32 * 32 - 1
    A, B = np.random.default_rng(0).normal(size=(2, side, side))
    run = schedules.matmul_outer(A, B, M)
    tile = run.blocks["tile_rows"]
    assert tile == 31
    aligned = counts.matmul(31 * 50, 31 * 50, 31 * 50, 31, 31)
    assert 1 < aligned.reads / bounds.matmul(31 * 50, 31 * 50, 31 * 50, M) < 1.04
    three_tiles = counts.matmul(18 * 80, 18 * 80, 18 * 80, 18, 18, 18)
    ratio = three_tiles.reads / bounds.matmul(18 * 80, 18 * 80, 18 * 80, M)
    assert ratio == pytest.approx(math.sqrt(3), rel=0.05)


def test_errors_name_what_is_wrong():
    Q, K, V = inputs(6, 4)
    with pytest.raises(ValueError, match="Q, K and V must be three N×d matrices"):
        algorithms.flash2(Q, K[:5], V, 100)
    with pytest.raises(ValueError, match="block_rows must be a whole number of at least 1, got 0"):
        algorithms.flash2(Q, K, V, 100, block_rows=0, block_cols=1)
    with pytest.raises(ValueError, match="block_cols missing"):
        algorithms.flash2(Q, K, V, 100, block_rows=2)
    with pytest.raises(
        CapacityError, match="flash2 needs at least 17 entries for d = 4, got M = 5"
    ):
        algorithms.flash2(Q, K, V, 5)
    with pytest.raises(ValueError, match="A has 4 columns and B 6 rows"):
        schedules.matmul(Q, Q, 100, tile_rows=2, tile_cols=2)
    with pytest.raises(TypeError, match="Q must hold real numbers"):
        algorithms.flash2(1j * Q, 1j * K, 1j * V, 100)
    with pytest.raises(ValueError, match="softmax must be one of"):
        algorithms.naive(Q, K, V, 100, tile=2, softmax="fast")
    with pytest.raises(ValueError, match="value_rows must be the tile under a causal mask"):
        algorithms.small_cache(Q, K, V, 100, tile=2, value_rows=3, causal=True)
    with pytest.raises(ValueError, match=r"l must have shape \(6, 1\)"):
        algorithms.flash_backward(Q, K, V, V, V, V, V, 100)
    assert block_size("tile", np.int64(3), 5) == 3


def test_integer_inputs_are_computed_in_float64():
    x = np.eye(4, dtype=int)
    run = algorithms.flash2(x, x, x, 100)
    np.testing.assert_allclose(run.output, algorithms.reference_attention(x, x, x))
