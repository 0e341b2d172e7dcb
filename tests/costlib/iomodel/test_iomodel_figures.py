"""The figures of the chapters on I/O: their words agree with counts made here, each is one SVG."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

import numpy as np
import pytest

from costfigures import Figure, copying, tiles
from costfigures import iomodel as figures
from costfigures import lowerbounds as pictures
from costfigures import pebbles as games
from costlib.iomodel import TwoLevelMemory, bounds, counts, flash, flash2, naive
from costlib.iomodel.counting.block_sizes import best_blocks, crossovers, staircase
from costlib.iomodel.pebbles import Dag, Game, minimum_dominator, minimum_set
from costlib.model.catalog import devices
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    check_words_apart,
)

pytestmark = pytest.mark.slow

N, WIDTH = 32, 4
CAPACITIES = (16, 40, 64, 256)
PYRAMID = Dag.pyramid(height=4)
PARTS = [(0, 1, 2, 3, 4, 5, 6, 7, 8), (9, 10, 11, 12, 13), (14,)]
GRID = Game(Dag.grid(rows=3, columns=3), red=3)


@lru_cache
def optimum():
    return GRID.optimal().moves


def traced(algorithm=flash2, M=60):
    x = np.random.default_rng(1).normal(size=(12, 4))
    return algorithm(x, x, x, TwoLevelMemory(M, trace=True))


DRAWINGS = {
    "io_against_memory": lambda: figures.io_against_memory(N, WIDTH, CAPACITIES),
    "io_lines_alone": lambda: figures.io_against_memory(1024, 64, ()),
    "regimes": figures.regimes,
    "bound_gap": figures.bound_gap,
    "cache_contents": lambda: figures.cache_contents(traced()),
    "cache_of_flash": lambda: figures.cache_contents(traced(flash), first=20, events=60),
    "tiles_order": figures.tiles_order,
    "pebbling": lambda: games.pebbling(GRID, optimum()),
    "dominator": lambda: games.dominator(PYRAMID, PARTS, 1),
    "ladder": figures.ladder,
    "tile_life": lambda: figures.tile_life(traced(M=80)),
    "pebbling_by_transfer": lambda: games.pebbling(GRID, optimum(), by="transfer"),
    "segment": pictures.segment,
    "at_hand": pictures.at_hand,
    "more_at_hand": lambda: pictures.at_hand(M=30, d=3),
    "traffic": lambda: figures.traffic({"all written": traced(naive), "kept": traced()}),
    "stay_and_pass": figures.stay_and_pass,
    "gaps": pictures.gaps,
    "overlap": lambda: figures.overlap(devices["H100-SXM"], 128, 116736),
}


@lru_cache
def drawn(name: str) -> Figure:
    return DRAWINGS[name]()


def numbers(text: str) -> list[int]:
    """Every whole number of a text, without its separators."""
    return [int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text)]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_described_readable_and_in_the_book_s_colours(name):
    check_described(drawn(name))
    check_small_and_readable(drawn(name))
    check_colours(drawn(name))
    check_words_apart(drawn(name))
    assert DRAWINGS[name]().svg == drawn(name).svg, "the same when drawn again"


UNTRACED = flash2(*np.ones((3, 4, 2)), 64)
WRONG = {
    "trace=True": lambda: figures.cache_contents(UNTRACED),
    "first must be one of": lambda: figures.cache_contents(traced(), first=10**6),
    "tiles must be 2 to 6 and divide N = 48": lambda: figures.tiles_order(5, N=48),
    "first must be below 12": lambda: games.pebbling(GRID, optimum(), first=12),
    "part must name one of": lambda: games.dominator(PYRAMID, PARTS, 3),
    "core of 'TPU-v4' holds is not in the cat": lambda: figures.ladder(chips=["TPU-v4"]),
    "need 36 entries, 2M is 32": lambda: pictures.segment(rows=5, cols=4, d=2, M=16),
    "at most N = 3": lambda: pictures.segment(rows=4, cols=4, N=3),
    "step must be one of": lambda: figures.tile_life(traced(M=80), "tile (9, 9)"),
    "by must be 'computation' or 'transfer'": lambda: games.pebbling(GRID, "R0", by="move"),
    "'b' has no trace": lambda: figures.traffic({"a": traced(), "b": UNTRACED}),
    "runs must be two, got 1: a": lambda: figures.traffic({"a": traced()}),
    "two blocks of 16 keys and a query, got 4,0": lambda: figures.overlap(
        devices["H100-SXM"], 128, 4000
    ),
    "M must be 3 to 10 times d = 2, got 100": lambda: pictures.at_hand(M=100, d=2),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_drawn_is_refused(message):
    with pytest.raises(ValueError, match=message):
        WRONG[message]()


def test_dots_are_counted_and_lie_on_the_closed_forms_above_the_bounds():
    runs = figures.measured_runs(N, WIDTH, CAPACITIES)
    dots = [(name, M, run) for name, of in runs.items() for M, run in of.items()]
    at_most = len(figures._LOOKS) * len(CAPACITIES)
    assert len(dots) >= at_most - 3  # orders that keep whole rows may not fit in 16 entries
    assert {name for name, M, _ in dots if CAPACITIES[0] == M} >= {"naive", "small_cache", "fused"}
    for name, M, run in dots:
        form = best_blocks(name, N, WIDTH, M).count
        assert (run.reads, run.writes, run.peak) == (form.reads, form.writes, form.peak)
        assert run.total == staircase(name, N, WIDTH).total_at(M)
        assert run.peak <= M
        assert run.total >= bounds.attention(N, WIDTH, M)
        assert f"{run.total:,}" in drawn("io_against_memory").alt


def test_io_alt_tells_the_bound_at_each_capacity():
    alt = drawn("io_against_memory").alt
    for M in CAPACITIES:
        bound = int(np.ceil(bounds.attention(N, WIDTH, M)))
        assert f"At M = {M:,} ({M / 16:.3g}·d²) the bound is {bound:,}" in alt
    assert f"compulsory {4 * N * WIDTH:,}" in alt


def test_io_title_tells_the_closest_run_and_the_farthest():
    runs = figures.measured_runs(N, WIDTH, CAPACITIES)
    times = [
        run.total / bounds.attention(N, WIDTH, M) for of in runs.values() for M, run in of.items()
    ]
    told = re.search(r"move ([\d.]+) to ([\d.]+) times", drawn("io_against_memory").title)
    assert told.groups() == (f"{min(times):.2f}", f"{max(times):.2f}")
    assert "runs" not in drawn("io_lines_alone").title


LARGE = 1 << 20  # long enough for the terms in N·d to vanish beside those in N²


@pytest.mark.parametrize("x", [0.25, 0.5, 1.0, 1.2, 2.0])
@pytest.mark.parametrize("name", list(figures._LEADING))
def test_leading_orders_are_those_of_the_closed_forms(name, x):
    d = 1024
    curve, _ = figures._LEADING[name]
    counted = staircase(name, LARGE, d).total_at(int((d / x) ** 2)) / LARGE**2
    assert counted == pytest.approx(float(curve(np.array(x))), rel=0.03)


@pytest.mark.parametrize("x", [0.25, 0.49, 0.51, 1.0, 2.0, 4.0])
def test_leading_bound_is_that_of_the_bounds(x):
    bound = bounds.attention(LARGE, 1024, int((1024 / x) ** 2)) / LARGE**2
    assert float(figures._bound(np.array(x))) == pytest.approx(bound, rel=0.003)


def test_regimes_tell_the_crossovers_of_the_closed_forms():
    told = float(re.search(r"M = ([\d.]+)·d²", drawn("regimes").title)[1])
    last = crossovers("flash2", "stored_scores", 65536, 256)[-1]
    assert last.cheaper == "flash2"
    assert abs(last.M / 256**2 - 1) < 0.03
    before = [
        each for each in crossovers("stored_scores", "small_cache", 65536, 256) if each.cheaper
    ]
    assert before[-1].cheaper == "stored_scores"
    assert abs(before[-1].M / 256**2 - told) < 0.03
    alt = drawn("regimes").alt
    assert "FlashAttention-1 6.00, FlashAttention-2 4.00, stored scores 4.00, small cache 5" in alt


def test_each_order_is_the_best_of_all_where_the_title_says_so():
    x = np.linspace(0.05, 20, 4001)
    others = figures._LEADING
    first, second = figures._MEETINGS
    best = np.where(x < second, others["stored_scores"][0](x), others["small_cache"][0](x))
    best = np.where(x < first, others["flash2"][0](x), best)
    for curve, _ in others.values():
        assert (best <= curve(x) + 1e-12).all()


def test_the_gap_told_is_the_largest():
    x = np.geomspace(0.05, 50, 20_001)
    best = np.min([curve(x) for curve, _ in figures._LEADING.values()], axis=0)
    told = float(re.search(r"within ([\d.]+)", drawn("bound_gap").title)[1])
    assert np.max(best / figures._bound(x)) == pytest.approx(told, abs=0.005)
    assert np.min(best / figures._bound(x)) >= 1 - 1e-12


@pytest.mark.parametrize("algorithm", [flash, flash2])
def test_what_is_stacked_is_what_was_resident(algorithm):
    run = traced(algorithm)
    held = figures._holdings(run.trace)
    assert np.array_equal(sum(held.values()), [event.resident for event in run.trace])
    assert max(sum(held.values())) == run.peak
    assert len(held) <= 6
    assert list(held)[-1] == "others"


def test_cache_contents_tell_the_run_and_the_window():
    run = traced(flash)
    figure = drawn("cache_of_flash")
    assert numbers(figure.title) == [run.peak, 60, run.reads, run.writes]
    window = run.trace[20:80]
    reads = sum(event.entries for event in window if event.kind == "load")
    writes = sum(event.entries for event in window if event.kind == "store")
    assert f"events 21 to 80 of {len(run.trace)}" in figure.alt
    assert figure.alt.endswith(f"{reads:,} entries are read and {writes:,} written.")


def test_cache_contents_without_a_capacity_draw_no_line():
    figure = figures.cache_contents(traced(M=None))
    assert "capacity" not in figure.alt
    assert "M = " not in figure.svg


def test_tiles_order_tells_both_counts():
    figure = figures.tiles_order(3, N=48, d=4)
    columns, rows = counts.flash(48, 4, 16, 16), counts.flash2(48, 4, 16, 16)
    assert numbers(figure.title) == [9, columns.total, rows.total]
    for number in (columns.reads, columns.writes, rows.reads, rows.writes):
        assert f"{number:,}" in figure.alt


def test_tiles_are_numbered_in_the_order_of_the_runs():
    """The numbers in the grids, read row by row, are the visits of the traced algorithms."""
    texts = re.findall(r">(\d+)</text>", drawn("tiles_order").svg)
    down, along = np.reshape([int(text) for text in texts], (2, 4, 4))
    x = np.random.default_rng(0).normal(size=(16, 2))
    for algorithm, pictured in ((flash, down), (flash2, along)):
        run = algorithm(x, x, x, TwoLevelMemory(None, trace=True), block_rows=4, block_cols=4)
        visits = dict.fromkeys(
            e.step for e in run.trace if re.fullmatch(r"tile \(\d, \d\)", e.step)
        )
        order = [tuple(int(index) for index in re.findall(r"\d", step)) for step in visits]
        assert [int(pictured[tile]) for tile in order] == list(range(1, 17))


def test_pebbling_tells_each_board_of_the_game():
    figure = drawn("pebbling")
    played = GRID.play(optimum())
    assert numbers(figure.title) == [3, played.cost]
    stages = games._stages(list(GRID.boards(optimum())))
    assert " ".join(stage.caption for stage in stages) == str(played)
    assert stages[-1].paid == played.cost == 5
    for stage in stages:
        moves = sum(len(s.caption.split()) for s in stages[: stages.index(stage) + 1])
        assert stage.board == list(GRID.boards(optimum()))[moves]
        red = " ".join(map(str, sorted(stage.board.red))) or "none"
        assert f"after {stage.caption}: red {red}, blue " in figure.alt
        verb, vertex = stage.caption[0], stage.caption.split()[0][1:]
        words = {"R": "read", "C": "compute", "W": "write"}
        assert verb not in words or f"{words[verb]} {vertex}" in figure.svg


def test_a_long_pebbling_is_shown_in_parts():
    figure = games.pebbling(GRID, optimum(), first=4, panels=3)
    assert figure.alt.startswith("Pictures 5 to 7 of 12 ")


@pytest.mark.parametrize(
    "dag",
    [
        Dag.fft(points=8),
        Dag.tree(leaves=8),
        PYRAMID,
        GRID.dag,
        Dag.chain(5),
        Dag.matmul(m=2, k=2, n=2),
        Dag.attention(seq=2, head_dim=2),
    ],
)
def test_no_two_vertices_share_a_place_and_edges_go_up(dag):
    places = games._places(dag)
    assert len(set(places)) == len(dag.parents)
    assert all(places[parent][1] < places[child][1] for parent, child in dag.edges)
    for x, y in places:
        assert all(abs(x - other) >= 0.999 for other, at in places if at == y and other != x)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_dominator_tells_the_smallest_sets(part):
    figure = games.dominator(PYRAMID, PARTS, part)
    dominating, minimum = minimum_dominator(PYRAMID, PARTS[part]), minimum_set(PYRAMID, PARTS[part])
    assert numbers(figure.title) == [part, len(PARTS[part]), len(dominating), len(minimum)]
    assert f"dominator {' '.join(map(str, dominating))}, framed" in figure.alt
    assert f"minimum set {' '.join(map(str, minimum))} is framed" in figure.alt


def test_dominator_takes_the_partition_of_a_pebbling():
    parts = GRID.partition(optimum())
    figure = games.dominator(GRID.dag, parts, 0)
    assert f"Part 0 is {' '.join(map(str, parts[0].vertices))}, " in figure.alt


def test_the_ladder_tells_what_the_catalogue_says():
    alt = figures.ladder(N=1024, d=64, chips=["H100-SXM", "TPU-v5e"]).alt
    h100, tpu = devices["H100-SXM"], devices["TPU-v5e"]
    sizes = [h100.on_chip, h100.on_chip * h100.cores, h100.cache, h100.capacity]
    for entries in [*(size // 2 for size in sizes), tpu.on_chip // 2, 4 * 64**2, 1024**2]:
        assert f" {entries:,}" in alt
    assert alt.count("last cache") == 1, "the other chip has none"


def test_the_segment_reaches_the_bound_s_own_count():
    """d = 2, M = 16: the best that step 5 of the bound allows is M²/4d products."""
    figure = pictures.segment(rows=4, cols=4, d=2, M=16)
    assert numbers(figure.title) == [32, 16, 16**2 // (4 * 2)]


def test_a_tile_s_life_is_the_run_s_own():
    run = traced(M=80)
    events = [i for i, event in enumerate(run.trace) if event.step == "tile (0, 1)"]
    frames = tiles._frames(run.trace, events)
    assert [sum(size for _, _, size in held) for _, held in frames] == [
        run.trace[i].resident for i in events if run.trace[i].kind in ("load", "alloc")
    ] + [run.trace[events[-1]].resident]
    for _, held in frames:
        ends = [0, *(place + size for _, place, size in held)]
        assert all(place >= end for (_, place, _), end in zip(held, ends, strict=False))
    places = [{name: place for name, place, _ in held} for _, held in frames]
    assert len({place["Q"] for place in places}) == len({place["O"] for place in places}) == 1
    K, V = (next(e.entries for e in run.trace if e.array == name) for name in "KV")
    assert numbers(drawn("tile_life").title)[:2] == [K + V, 0]


def test_a_pebbling_by_transfer_pays_in_each_picture():
    stages = games._stretches(list(GRID.boards(optimum())))
    assert " ".join(stage.caption for stage in stages) == str(GRID.play(optimum()))
    paid = [0, *(stage.paid for stage in stages)]
    assert all(after > before for before, after in itertools.pairwise(paid))
    assert paid[-1] == 5


# ---------------------------------------------------------------- copying


def test_traffic_tells_what_each_run_counted():
    runs = {"all written": traced(naive), "kept": traced()}
    figure = drawn("traffic")
    for name, run in runs.items():
        assert f"{name} {run.total:,}" in figure.title
        told = re.search(rf"{name}: ([^;.]*)[;.]", figure.alt)[1]
        assert sum(numbers(told)) == run.total
    assert "of S written" in figure.alt.split("kept:")[0]
    assert not re.search("of [SP] ", figure.alt.split("kept:")[1])


@pytest.mark.parametrize(("copy", "work"), [(1, 1), (3, 1), (2, 5)])
def test_two_buffers_take_the_larger_of_two_times_and_one_buffer_their_sum(copy, work):
    for buffers, each in ((1, copy + work), (2, max(copy, work)), (3, max(copy, work))):
        copies, works = copying._played(copy, work, 40, buffers)
        assert works[-1][1] - works[20][1] == 19 * each
        for number in range(buffers, 40):  # no copy into a buffer in use
            assert copies[number][0] >= works[number - buffers][1]


def test_overlap_has_the_device_s_rates_and_the_room_of_a_run():
    device = devices["H100-SXM"]
    for buffers in (1, 2):
        rows = copying.queries_at_hand(116736, 128, 16, buffers)
        beside = (buffers - 1) * 16 * 128  # the count knows one buffer
        held = [counts.flash2(10**5, 128, at, 16).peak + beside for at in (rows, rows + 1)]
        assert held[0] <= 116736 < held[1]
    copied, worked = copying.block_times(device, 128, 16, 100)
    assert copied == pytest.approx(16 * 128 * 2 * device.cores / device.bytes_per_s)
    assert worked / copied == pytest.approx(100 / device.ridge())


def test_at_hand_counts_scores_of_rows_that_cost_all_values():
    figure = drawn("more_at_hand")  # 60 values: 20 rows of 3
    assert figure.title.startswith("With 60 values at hand: 100 scores from a square, 96 from")
    for rows, columns in ((10, 10), (12, 8)):
        told = f"{rows} rows of Q and {columns} of K, {3 * rows} and {3 * columns} values, make"
        assert f"{told} {rows * columns} scores" in figure.alt
    best = max(r * ((60 - 3 * r) // 3) for r in range(21))
    assert best == 100


def test_areas_are_the_constants_that_counts_tend_to():
    told = dict(re.findall(r"(?:^|[.;] )([^;.]+?): [^;]+ area (\d+)", drawn("stay_and_pass").alt))
    names = ("flash2", "flash", "flash_backward", "flash2_backward", "two_pass_backward")
    assert len(copying.ORDERS) == len(names)
    width, M = 512, 64 * 512**2
    for (order, passes), name in zip(copying.ORDERS.items(), names, strict=True):
        area = sum(len(stay) * len(passing) for stay, passing in passes)
        moved = best_blocks(name, 2**22, width, M).count.total
        assert area == int(moved * M / (2**22 * width) ** 2)
        assert told.get(order, str(area)) == str(area)
    assert drawn("stay_and_pass").title.endswith("4, 6, 20, 16, 14")


def test_gaps_tell_what_the_counts_and_the_bounds_give():
    alt = drawn("gaps").alt
    M = 116_736
    plain = best_blocks("flash2", 16384, 128, M).count.total / bounds.attention(16384, 128, M)
    told = re.search(r"plain, d = 128: on MI300X [\d.]+, A100-80GB [\d.]+, H100-SXM ([\d.]+)", alt)
    assert float(told[1]) == pytest.approx(plain, abs=0.006)
    assert "decode: 4 queries, d = 128: on MI300X 1.00, A100-80GB 1.00, H100-SXM 1.00" in alt


@pytest.mark.parametrize("shape", pictures.SHAPES, ids=lambda shape: shape.name)
def test_no_schedule_of_a_gap_is_below_its_bound(shape):
    M = np.unique(np.geomspace(2**12, 2**22, 25).astype(int))
    low, high = shape.bound(M), shape.schedule(M)
    assert (low <= high * (1 + 1e-12)).all()
    assert (np.diff(low) <= 0).all()
    assert (np.diff(high) <= 0).all()
