"""Heads of any shape: their pairs, their schedule and their bounds, each checked by other means."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib.iomodel import CapacityError, Heads, TwoLevelMemory, bounds, counts, streamed
from costlib.iomodel.pebbles import Dag, Game

SHAPES = [
    {"latent": latent, **mask}
    for latent in (False, True)
    for mask in ({}, {"causal": True}, {"window": 3})
]


@st.composite
def small_heads(draw):
    N, d = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    latent = draw(st.booleans())
    return Heads(
        N,
        d,
        keys=N + draw(st.integers(0, 5)),
        value_width=draw(st.integers(1, d if latent else 6)),
        heads=draw(st.integers(1, 2)),
        group=draw(st.integers(1, 3)),
        causal=draw(st.booleans()),
        window=draw(st.none() | st.integers(1, 15)),
        latent=latent,
    )


def shape_of(heads):
    names = ("keys", "value_width", "heads", "group", "causal", "window", "latent")
    return {name: getattr(heads, name) for name in names}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(heads=small_heads(), block=st.integers(1, 9))
def test_pairs_loads_and_sources_are_those_of_the_mask(heads, block):
    seen = heads.mask().sum(axis=0)
    d, width = heads.d, heads.value_width
    assert heads.pairs == heads.heads * seen.sum()
    assert heads.loads(block) == heads.heads * sum(-(-int(n) // block) for n in seen)
    entries = np.count_nonzero(seen) * (d if heads.latent else d + width)
    assert heads.compulsory == heads.heads * (entries + len(heads.mask()) * (d + width))


def reference(Q, K, V, mask, scale):
    scores = np.where(mask, scale * (Q @ K.T), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ V


def sources(heads, seed):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(heads.N * heads.group, heads.d))
    K = rng.normal(size=(heads.keys, heads.d))
    V = None if heads.latent else rng.normal(size=(heads.keys, heads.value_width))
    return Q, K, V


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    heads=small_heads(),
    block=st.integers(1, 12),
    cols=st.integers(1, 6),
    scale=st.sampled_from([1.0, 0.5]),
)
def test_a_run_gives_the_output_the_count_and_no_less_than_the_bound(heads, block, cols, scale):
    shape = shape_of(heads)
    cols = None if heads.latent else min(cols, heads.value_width)
    count = counts.streamed(heads.N, heads.d, block, value_cols=cols, **shape)
    memory, mask = TwoLevelMemory(count.peak), heads.mask()
    options = {"block_rows": block, "value_width": heads.value_width, "value_cols": cols}
    for number in range(heads.heads):
        Q, K, V = sources(heads, number)
        run = streamed(Q, K, V, memory, mask=mask, scale=scale, **options)
        values = K[:, : heads.value_width] if V is None else V
        np.testing.assert_allclose(run.output, reference(Q, K, values, mask, scale), rtol=1e-9)
        assert run.peak == count.peak
    assert (memory.reads, memory.writes) == (count.reads, count.writes)
    assert count.total >= bounds.attention(heads.N, heads.d, count.peak, **shape)
    with pytest.raises(CapacityError):
        streamed(Q, K, V, count.peak - 1, mask=mask, **options)


def drawn(rng, most, points):
    """Whole numbers from 1 on, spread over the powers of two up to 2**most."""
    return rng.integers(1, 2 ** rng.integers(1, most + 1, points))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_count_is_below_its_bound(shape):
    """Sizes, masks, groups and widths; the peak of a count is the least M in which it fits."""
    rng, points = np.random.default_rng(7), 20_000
    N, d = drawn(rng, 14, points), drawn(rng, 8, points)
    value_width = rng.integers(1, d + 1) if shape["latent"] else drawn(rng, 8, points)
    wide = {"keys": N + drawn(rng, 13, points), "value_width": value_width}
    several = {"heads": drawn(rng, 3, points), "group": drawn(rng, 4, points)}
    every = {**shape, **wide, **several}
    if "window" in shape:
        every["window"] = drawn(rng, 14, points)
    run = counts.streamed(N, d, drawn(rng, 12, points), value_cols=drawn(rng, 8, points), **every)
    assert (run.total >= bounds.attention(N, d, run.peak, **every)).all()
    if "causal" in shape or "window" in shape:
        return
    rows = several["group"] * N
    for _ in range(3):  # stored scores: a product, an exponential on the way out, a product
        tiles = [drawn(rng, 10, points) for _ in range(4)]
        first = counts.matmul(rows, d, wide["keys"], *tiles[:2])
        second = counts.matmul(rows, wide["keys"], value_width, *tiles[2:])
        peak = np.maximum(first.peak, second.peak)
        moved = several["heads"] * (first.total + second.total)
        assert (moved >= bounds.attention(N, d, peak, **every)).all()


def test_no_count_is_below_its_bound_from_a_32nd_of_d_squared_to_64_times_it():
    N, d = 4096, 64
    for share, group, width in itertools.product(
        np.geomspace(1 / 32, 64, 12), (1, 8), (16, 64, 96)
    ):
        M = round(share * d * d)
        for shape in SHAPES:
            if shape["latent"] and width > d:
                continue
            every = {**shape, "group": group, "value_width": width}
            rows = counts.streamed_rows(d, M, value_width=width, latent=shape["latent"])
            least = bounds.attention(N, d, M, **every)
            if rows >= 1:
                assert counts.streamed(N, d, rows, **every).total >= least
            if not shape["latent"] and width == d and group == 1 and "window" not in shape:
                tile = math.isqrt(M // 3)
                causal = shape.get("causal", False)
                assert counts.fused(N, d, tile, tile, causal=causal).total >= least


LARGE = {
    "plain": {},
    "causal": {"causal": True},
    "groups": {"causal": True, "group": 8, "heads": 4},
    "window": {"window": 8192},
    "fewer queries": {"keys": 2**17},
    "narrow values": {"value_width": 32},
    "latent": {"latent": True},
    "narrow latent": {"latent": True, "value_width": 48},
    "causal latent, grouped": {"latent": True, "value_width": 56, "causal": True, "group": 16},
}


@pytest.mark.parametrize("shape", LARGE.values(), ids=list(LARGE))
def test_the_schedule_attains_the_bound(shape):
    """Within the stated term: queries and outputs once, blocks not full, and 2 statistics a row."""
    N, d = 2**15, 64
    heads = Heads(N, d, **shape)
    for M in (16384, 20000, 32768):
        assert bounds.large_cache_from(d, value_width=heads.value_width, latent=heads.latent) <= M
        rows = counts.streamed_rows(d, M, value_width=heads.value_width, latent=heads.latent)
        moved = counts.streamed(N, d, rows, **shape).total
        widths = d + heads.value_width
        least = bounds.large_cache(N, d, M, **shape)
        stated = (least + M) * M / (widths * rows) + heads.compulsory
        assert least <= moved <= stated
        assert M / (widths * rows) <= (1 + 2 / widths) * M / (M - 2 * widths - 4)
        assert moved < 1.08 * least


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    N=st.integers(1, 400),
    d=st.integers(1, 64),
    window=st.integers(1, 50),
    latent=st.booleans(),
    group=st.integers(1, 4),
)
def test_windows_and_decoding_that_fit_move_what_must_be_moved(N, d, window, latent, group):
    shape = {"window": window, "latent": latent, "group": group}
    whole = counts.streamed(N, d, group * window, **shape)
    assert whole.total == Heads(N, d, **shape).compulsory
    assert whole.total == bounds.attention(N, d, whole.peak, **shape)
    decoding = {"keys": N + 7, "causal": True, "latent": latent, "group": group}
    tokens = min(3, N)
    step = counts.streamed(tokens, d, group * tokens, **decoding)
    assert step.total == bounds.attention(tokens, d, step.peak, **decoding)


def batch(prefix, suffixes, group):
    """The mask of sequences that share a prefix: group queries each, at the end of their own."""
    keys = prefix + sum(suffixes)
    mask = np.zeros((group * len(suffixes), keys), dtype=bool)
    mask[:, :prefix] = True
    start = prefix
    for number, own in enumerate(suffixes):
        mask[group * number : group * (number + 1), start : start + own] = True
        start += own
    return mask


@pytest.mark.parametrize("fits", [True, False])
def test_sequences_that_share_a_prefix(fits):
    prefix, suffixes, group, d = 40, [5, 1, 8, 3], 4, 2
    mask = batch(prefix, suffixes, group)
    rng = np.random.default_rng(0)
    Q, K, V = (rng.normal(size=(n, d)) for n in (len(mask), mask.shape[1], mask.shape[1]))
    rows = len(mask) if fits else 2 * group
    M = rows * (2 * d + 2) + 2 * d + 2
    run = streamed(Q, K, V, M, mask=mask)
    np.testing.assert_allclose(run.output, reference(Q, K, V, mask, 1.0), rtol=1e-9)
    compulsory = 2 * d * (len(mask) + mask.shape[1])
    assert run.total == compulsory + (0 if fits else 2 * d * prefix)
    per_key = bounds.by_keys(mask.sum(axis=0), np.ones(mask.shape[1]), d, M)
    same = bounds.by_keys([len(mask), group], [prefix, sum(suffixes)], d, M)
    assert per_key == pytest.approx(same)
    assert same <= run.total


def test_heads_of_several_shapes_together():
    plain, latent = Heads(4096, 64, causal=True), Heads(4096, 96, value_width=64, latent=True)
    M = 20_000
    found = bounds.together(plain, latent, M=M)
    apart = bounds.large_cache(4096, 64, M, causal=True) + bounds.large_cache(
        4096, 96, M, value_width=64, latent=True
    )
    assert found == pytest.approx(apart + M)
    assert bounds.together(plain, latent, M=10**8) == plain.compulsory + latent.compulsory


def test_values_of_the_bounds_by_hand():
    assert bounds.large_cache(100, 4, 48, value_width=2) == 36 * 10_000 / 48 - 48
    assert bounds.large_cache(100, 2, 48, value_width=6) == 48 * 10_000 / 48 - 48
    assert bounds.large_cache(100, 4, 48, value_width=2, latent=True) == 24 * 10_000 / 48 - 48
    assert bounds.small_cache(100, 4, 36, value_width=2) == 2 * 10_000 - 10_000 - 72
    latent = bounds.small_cache(100, 66, 4096, latent=True)
    assert latent == pytest.approx(2 * 10_000 * 132 / 64 - 33 * 625 - 8192)
    past = bounds.small_cache(100, 66, 4097, latent=True)
    assert past == pytest.approx(2**1.5 * 10_000 * 66 / 4097**0.5 - 10_000 - 8194)
    assert bounds.scores_only(100, 5, 25, keys=50, value_width=3) == 2500 - 25 + 300
    assert bounds.attention(10, 4, 10**6, keys=7) == 8 * 17
    assert bounds.large_cache_from(9, value_width=9, latent=True) == 32 * 81 / 27
    assert bounds.large_cache_from(27, value_width=26, latent=True) == 8 * 1431**2 / (27 * 676)
    assert bounds.large_cache_from(8, value_width=1, latent=True) == 144 - 2 * 72**0.5
    # Between the regimes the bound is the one at the next M: Q falls with M.
    between = bounds.attention(2**14, 32, 4500, value_width=128)
    assert between == bounds.large_cache(2**14, 32, 5 * 32**2, value_width=128)


X = np.eye(4, 2)
WRONG = {
    "keys must be at least N = 4, got 3": lambda: Heads(4, 2, keys=3, causal=True),
    "at most d = 2, got 3": lambda: bounds.attention(4, 2, 9, value_width=3, latent=True),
    "query 1 sees none": lambda: streamed(X, X, X, None, mask=np.diag([1, 0, 1, 1])),
    r"mask must have shape \(4, 4\)": lambda: streamed(X, X, X, None, mask=np.ones((2, 2))),
    "Q and K must have one width": lambda: streamed(X, np.eye(4, 3), X, None),
    "a latent is read once": lambda: streamed(X, X, None, None, value_cols=1),
    "streamed needs at least 12 entries, got M = 11": lambda: streamed(X, X, X, 11),
}


@pytest.mark.parametrize("message", WRONG)
def test_errors_say_what_is_wrong(message):
    with pytest.raises(ValueError, match=message):
        WRONG[message]()
    assert streamed(X, X, X, 12).peak == 12


# ---- the key inequalities, without the steps that prove them


def best_columns(budget, columns, products):
    """The most products of some columns that share a budget of items, by trying every split."""
    one = [products(items) for items in range(budget + 1)]
    best = [0] * (budget + 1)
    for _ in range(columns):
        best = [max(best[b - u] + one[u] for u in range(b + 1)) for b in range(budget + 1)]
    return best[budget]


def most_products(T, d, width, latent):
    """The most value products of a segment with T items, over all whole numbers of each kind."""
    most = 0
    for r, c in itertools.product(range(T // d + 1), repeat=2):
        for a in range(T - d * (r + c) + 1):
            pairs, left = r * c + a, T - d * (r + c) - a
            if width * pairs <= most:
                continue

            def products(items, pairs=pairs, c=c):
                free = c if latent else 0  # keys at hand are values already
                return max(min(pairs, (items - x) * (free + x)) for x in range(items + 1))

            most = max(most, best_columns(left, width, products))
    return most


@pytest.mark.parametrize(
    ("d", "width", "latent"),
    [
        *((1, 1, False), (2, 1, False), (2, 2, False), (1, 2, False), (1, 3, False)),
        *((1, 1, True), (2, 1, True), (2, 2, True), (3, 2, True)),
    ],
)
def test_no_whole_numbers_make_more_products_in_a_segment(d, width, latent):
    start = math.ceil(bounds.large_cache_from(d, value_width=width, latent=latent))
    price = bounds.large_cache(1, d, 1, value_width=width, latent=latent) + 1
    reached = 0.0
    for M in range(start, start + 4):
        most = most_products(2 * M, d, width, latent)
        assert most <= width * M * M / price
        reached = max(reached, most / (width * M * M / price))
    assert reached > 0.9


def excess(M, d, width, latent):
    """Products of a segment over their limit, where the scores may have been made before.

    z pairs take z items if their scores were made before. If they are made now from whole rows they
    take at least 2d√z, but the first case alone decides for a latent: theorem D, step 4.
    """
    z = np.linspace(0, 2 * M if latent else M * M / d / d, 100_001)
    left = 2 * M - (z if latent else np.minimum(z, 2 * d * np.sqrt(z)))
    made = np.minimum(width * z, np.sqrt(z) * np.maximum(left, 0) / 2)
    price = bounds.large_cache(1, d, 1, value_width=width, latent=latent) + 1
    return made.max() / (width * M * M / price)


@pytest.mark.parametrize(
    ("d", "width", "latent"),
    [
        *((d, width, True) for d, width in ((1, 1), (27, 26), (53, 50), (11, 10), (9, 8), (3, 2))),
        *((d, width, False) for d, width in ((1, 1), (64, 63), (3, 2), (192, 128), (8, 1))),
        *((4, 1, True), (64, 80, False), (1, 4, False)),
    ],
)
def test_from_where_on_scores_made_before_do_not_help(d, width, latent):
    """On a grid: sharp at `large_cache_from`, which is rounded up for wide values, true beyond."""
    start = bounds.large_cache_from(d, value_width=width, latent=latent)
    sharp = start if width <= d else 128 * d * d / 27
    assert 0.94 * start < sharp <= start
    if width != 80:  # whose own limit, a product for each pair and column, is lower
        assert excess(0.9998 * sharp, d, width, latent) > 1
    assert (
        max(excess(start * more, d, width, latent) for more in np.geomspace(1, 100, 12)) < 1.000001
    )


def every_set(N, d, T, latent):
    """For each kind of item, which of them are at hand, in every choice of T items."""
    kinds = {"Q": (N, d), "K": (N, d), "V": (N, d), "O": (N, d), "S": (N, N)}
    if latent:
        del kinds["V"]
    sizes = [math.prod(shape) for shape in kinds.values()]
    chosen = np.array(list(itertools.combinations(range(sum(sizes)), T)))
    at_hand = np.zeros((len(chosen), sum(sizes)), dtype=bool)
    np.put_along_axis(at_hand, chosen, True, axis=1)
    parts = np.split(at_hand, np.cumsum(sizes)[:-1], axis=1)
    items = {
        kind: part.reshape(-1, *shape)
        for (kind, shape), part in zip(kinds.items(), parts, strict=True)
    }
    items["V"] = items["K" if latent else "V"]
    return items


def most_of_any_set(N, d, T, latent, both):
    """The most products that T items allow, straight from what each product needs.

    ``both``: those for scores too, and each needs its score tree. Otherwise a score tree may also
    be made from all of its query and key.
    """
    items = every_set(N, d, T, latent)
    scores = np.einsum("xil,xjl->xij", items["Q"].astype(int), items["K"].astype(int))
    values = np.einsum("xit,xjt->xij", items["O"].astype(int), items["V"].astype(int))
    if both:
        return ((scores + values) * items["S"]).sum(axis=(1, 2)).max()
    return (values * (items["S"] | (scores == d))).sum(axis=(1, 2)).max()


@pytest.mark.parametrize(
    ("N", "d", "M", "latent", "both", "limit", "found"),
    [
        (3, 1, 4, False, False, 4**2 / 4, 4),
        (3, 1, 6, False, False, 6**2 / 4, 9),
        (3, 1, 2, True, False, 2**2 / 2, 2),
        (3, 1, 4, True, False, 4**2 / 2, 6),
        (3, 1, 3, False, True, 3**1.5, 4),
        (2, 2, 4, False, True, 4**1.5, 8),
        (3, 1, 3, True, True, 2**0.5 * 3**1.5, 6),
        (2, 2, 4, True, True, 2**0.5 * 4**1.5, 9),
    ],
)
def test_no_set_of_items_allows_more_products(N, d, M, latent, both, limit, found):
    most = most_of_any_set(N, d, 3 * M if both else 2 * M, latent, both)
    assert most == found
    assert most <= limit


def test_a_grid_of_shares_respects_the_mixed_inequality():
    """√(z_s·q·k) + √(z_v·o·k) for a latent: trees of both kinds cost at most 17/32·√M each."""
    grid = np.linspace(0, 3, 19)  # in units of M
    z, y, k, q = np.meshgrid(grid, grid, grid, grid, indexing="ij", sparse=True)
    o = 3 - z - k - q
    possible = (o >= 0) & (y <= z)
    worst = 0.0
    for share in np.linspace(0, 1, 9):  # of the trees that take part one way, with scores
        scored, weighed = y + share * (z - y), y + (1 - share) * (z - y)
        made = np.sqrt(np.maximum(scored * q * k, 0)) + np.sqrt(np.maximum(weighed * o * k, 0))
        allowed = np.minimum((1 + y / 3) ** 1.5, 2**0.5)
        assert (np.where(possible, made - allowed, -1) <= 1e-12).all()
        worst = max(worst, np.where(possible, made / (1 + 17 / 32 * y), 0).max())
    assert 0.95 < worst <= 1


# ---- tiny graphs, by exhaustive search


def attention_graph(queries, keys, latent, window=None):
    """Width 1: scores, exponentials, running sums, outputs; no maximum."""
    parents, number = [], itertools.count()

    def add(*given):
        parents.append(tuple(sorted(given)))
        return next(number)

    Q, K = [add() for _ in range(queries)], [add() for _ in range(keys)]
    V = K if latent else [add() for _ in range(keys)]
    for i in range(queries):
        total = out = None
        for j in range(keys):
            if window is not None and not 0 <= i + keys - queries - j < window:
                continue
            weight = add(add(Q[i], K[j]))
            total = weight if total is None else add(total, weight)
            out = add(weight, V[j]) if out is None else add(out, weight, V[j])
        add(out, total)
    return Dag(tuple(parents))


@pytest.mark.parametrize("latent", [False, True])
@pytest.mark.parametrize(
    ("queries", "keys", "window"), [(1, 2, None), (1, 3, None), (2, 1, None), (2, 2, 1)]
)
def test_optimal_pebblings_of_tiny_shapes(queries, keys, window, latent):
    dag = attention_graph(queries, keys, latent, window)
    shape = {"keys": keys, "latent": latent, "window": window}
    held = queries if window is None else 1
    enough = held * 4 + (1 if latent else 2) + 2 + 1  # one more: no pebble slides
    for red in (dag.max_in_degree + 1, enough) if keys < 3 else (enough,):
        found = Game(dag, red=red).optimal().cost
        assert found >= bounds.attention(queries, 1, red, **shape)
    assert found == dag.compulsory == Heads(queries, 1, **shape).compulsory
