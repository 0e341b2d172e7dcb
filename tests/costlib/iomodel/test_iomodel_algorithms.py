"""Every algorithm on real arrays: right output, count equal to the closed form, no bound beaten."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedules
from costlib.iomodel import CapacityError, TwoLevelMemory, algorithms, bounds, counts
from costlib.iomodel.counting.block_sizes import (
    ALGORITHMS,
    best_blocks,
    published_blocks,
    shrunk_blocks,
)

pytestmark = pytest.mark.slow

FORMS = {
    "naive": [{"softmax": form} for form in ("online", "row", "three-pass")],
    "flash": [{"lazy_init": False}, {"lazy_init": True}],
    "flash2": [{"lean": True}, {"lean": False, "log_sum_exp": True}],
    "small_cache": [{"stable": False}, {"stable": True}],
}
CASES = [(name, options) for name in ALGORITHMS for options in FORMS.get(name, [{}])]
UNMASKED = "stored_scores", "stored_backward", "four_pass_backward"

quick = settings(max_examples=40, deadline=None, derandomize=True)


def inputs(N, d, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(3, N, d))


def problem(name, N, d, **how):
    """What an algorithm is given, and the matrices that it must give."""
    Q, K, V = inputs(N, d, seed=N)
    if not name.endswith("backward"):
        return (Q, K, V), (algorithms.reference_attention(Q, K, V, **how),)
    if name == "flash_backward":
        forward = algorithms.flash(Q, K, V, None, block_rows=3, block_cols=2, **how)
    else:
        forward = algorithms.flash2(Q, K, V, None, log_sum_exp=True, **how)
    dO = np.random.default_rng(9).normal(size=(N, d))
    given = Q, K, V, forward.output, dO, *forward.extras.values()
    return given, algorithms.reference_gradients(Q, K, V, dO, **how)


def check(run, count, N, d, causal=False, bound=bounds.attention):
    assert (run.reads, run.writes, run.peak) == (count.reads, count.writes, count.peak)
    assert all(isinstance(value, int) for value in (count.reads, count.writes, count.peak))
    # The bound falls with M, so the least memory in which this run fits is the hardest test.
    assert run.total >= bound(N, d, run.peak, causal=causal)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
@quick
@given(
    data=st.data(),
    N=st.integers(1, 20),
    d=st.integers(1, 9),
    causal=st.booleans(),
    scale=st.sampled_from([1.0, 0.5]),
)
def test_run_equals_closed_form_and_reference(name, options, data, N, d, causal, scale):
    blocks = {size: data.draw(st.integers(1, N + 2), label=size) for size in ALGORITHMS[name]}
    causal = causal and name not in UNMASKED
    if name == "small_cache" and causal:
        blocks["value_rows"] = blocks["tile"]
    masked = {} if name in UNMASKED else {"causal": causal}
    count = getattr(counts, name)(N, d, **blocks, **options, causal=causal)
    algorithm = getattr(algorithms, name)
    matrices, wanted = problem(name, N, d, causal=causal, scale=scale)
    every = {**blocks, **options, **masked, "scale": scale}
    run = algorithm(*matrices, count.peak, **every)
    bound = bounds.backward if name.endswith("backward") else bounds.attention
    check(run, count, N, d, causal, bound)
    outputs = run.output if isinstance(run.output, tuple) else (run.output,)
    for found, right in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-7, atol=1e-9)
    with pytest.raises(CapacityError):
        algorithm(*matrices, count.peak - 1, **every)


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


@pytest.mark.parametrize("causal", [False, True])
def test_reference_gradients_agree_with_differences(causal):
    Q, K, V = inputs(5, 3)
    dO = np.random.default_rng(2).normal(size=(5, 3))
    gradients = algorithms.reference_gradients(Q, K, V, dO, causal=causal, scale=0.7)
    for which, entry in itertools.product(range(3), np.ndindex(5, 3)):
        losses = []
        for sign in (1, -1):
            moved = [Q.copy(), K.copy(), V.copy()]
            moved[which][entry] += sign * 1e-6
            output = algorithms.reference_attention(*moved, causal=causal, scale=0.7)
            losses.append((output * dO).sum())
        assert gradients[which][entry] == pytest.approx((losses[0] - losses[1]) / 2e-6, abs=1e-7)


@quick
@given(N=st.integers(1, 20), d=st.integers(1, 7), rows=st.integers(1, 22), cols=st.integers(1, 22))
def test_orders_made_to_beat_the_bounds_do_not_beat_the_bounds(N, d, rows, cols):
    Q, K, V = inputs(N, d)
    reference = algorithms.reference_attention(Q, K, V)
    turning = schedules.sawtooth_count(N, d, rows, cols)
    run = schedules.sawtooth(Q, K, V, turning.peak, block_rows=rows, block_cols=cols)
    check(run, turning, N, d)
    np.testing.assert_allclose(run.output, reference, rtol=1e-9, atol=1e-12)
    width = 1 + (rows + cols) % d
    again = schedules.recomputed_count(N, d, rows, cols, width)
    run = schedules.recomputed(
        Q, K, V, again.peak, tile_rows=rows, tile_cols=cols, value_cols=width
    )
    check(run, again, N, d)
    np.testing.assert_allclose(run.output, reference, rtol=1e-9, atol=1e-12)


def test_no_tile_shape_beats_the_bounds_at_real_sizes():
    rng = np.random.default_rng(3)
    points = 200_000
    N = rng.integers(1, 2 ** rng.integers(1, 15, points))
    d = rng.integers(1, 2 ** rng.integers(1, 9, points))
    sizes = [np.minimum(N, rng.integers(1, 2 ** rng.integers(1, 13, points))) for _ in range(2)]
    width = rng.integers(1, d + 1)
    for causal in (False, True):
        stored = {"causal": True} if causal else {"value_rows": sizes[1], "value_cols": width}
        masked = {"causal": causal}
        for count in (
            counts.flash(N, d, *sizes, lazy_init=True, **masked),
            counts.flash2(N, d, *sizes, **masked),
            counts.fused(N, d, *sizes, **masked),
            counts.small_cache(N, d, sizes[0], **stored),
            counts.naive(N, d, sizes[0], softmax="row", **masked),
        ):
            assert (count.total >= bounds.attention(N, d, count.peak, **masked)).all()
    for count in (
        schedules.sawtooth_count(N, d, *sizes),
        schedules.recomputed_count(N, d, *sizes, width),
    ):
        assert (count.total >= bounds.attention(N, d, count.peak)).all()


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
    for name in ("naive", "flash", "flash2", "small_cache", "fused"):
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


X = inputs(6, 4)
WRONG = {
    "Q, K and V must be three N×d matrices": lambda: algorithms.flash2(X[0], X[1][:5], X[2], 100),
    "block_rows must be a whole number of at least 1, got 0": lambda: algorithms.flash2(
        *X, 100, block_rows=0, block_cols=1
    ),
    "block_cols missing": lambda: algorithms.flash2(*X, 100, block_rows=2),
    "flash2 needs at least 17 entries for d = 4, got M = 5": lambda: algorithms.flash2(*X, 5),
    "A has 4 columns and B 6 rows": lambda: schedules.matmul(
        X[0], X[0], 100, tile_rows=2, tile_cols=2
    ),
    "Q must hold real numbers": lambda: algorithms.flash2(*(1j * X), 100),
    "softmax must be one of": lambda: algorithms.naive(*X, 100, tile=2, softmax="fast"),
    "value_rows must be the tile under a causal mask": lambda: algorithms.small_cache(
        *X, 100, tile=2, value_rows=3, causal=True
    ),
    r"l must have shape \(6, 1\)": lambda: algorithms.flash_backward(*X, *X, X[0], 100),
    "causal must be False for stored_scores": lambda: best_blocks(
        "stored_scores", 8, 2, 100, causal=True
    ),
    "causal must be False for stored_backward": lambda: counts.stored_backward(
        8, 2, 1, 1, 1, causal=True
    ),
    "causal must be False for four_pass": lambda: counts.four_pass_backward(
        8, 2, 1, 1, 1, 1, causal=True
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_errors_name_what_is_wrong(message):
    with pytest.raises((ValueError, TypeError), match=message):
        WRONG[message]()


def test_integer_inputs_are_computed_in_float64():
    x = np.eye(4, dtype=int)
    run = algorithms.flash2(x, x, x, 100)
    np.testing.assert_allclose(run.output, algorithms.reference_attention(x, x, x))
