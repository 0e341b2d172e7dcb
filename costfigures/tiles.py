"""Figures of tiles: what fast memory holds during one of them, and in which order they are walked.

Drawn to scale from a run that you pass, or from the closed forms of what moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from costfigures.canvas import ARRAYS, COLOURS, Figure, canvas
from costfigures.sketch import SMALL as TINY
from costfigures.sketch import TINT, Sketch, sketch
from costlib.iomodel import counts
from costlib.iomodel.algorithms.runs import Run
from costlib.iomodel.memory import Event
from costlib.units.numbers import sizes

__all__ = ["tile_life", "tiles_order", "tiles_of_product"]

#: Narrow enough that no text is scaled below 10 px on a page 375 px wide.
WIDTH = 5.0

SMALL = 10.5
GREY = COLOURS[4]


def ink() -> str:
    """The colour that becomes the page's own text colour, inside a canvas."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


# ---------------------------------------------------------------- one tile's life


def tile_life(run: Run, step: str = "tile (0, 1)") -> Figure:
    """Fast memory during one step of a traced run: a bar for each block that arrives or is made.

    Bars are to scale, so what is free is seen. The last shows what stays for the next step.

    >>> import numpy as np
    >>> from costlib.iomodel import TwoLevelMemory, flash2
    >>> x = np.eye(8, 2)
    >>> tile_life(flash2(x, x, x, TwoLevelMemory(64, trace=True), block_rows=4, block_cols=4)).title
    'One tile: 16 entries read, 0 written, and 16 scores that never leave'
    """
    events = [index for index, event in enumerate(run.trace) if event.step == step]
    if not events:
        raise ValueError(f"step must be one of the traced run's, got {step!r}: is trace=True set?")
    frames = _frames(run.trace, events)
    part = [run.trace[index] for index in events]
    read, written = (sum(e.entries for e in part if e.kind == k) for k in ("load", "store"))
    scores = sum(event.entries for event in part if event.kind == "alloc")
    title = f"One tile: {read:,} entries read, {written:,} written"
    title += f", and {scores:,} scores that never leave" if scores and not written else ""
    room = run.capacity or run.peak
    told = "; ".join(
        f"{caption}: " + ", ".join(f"{name} {size}" for name, _, size in held)
        for caption, held in frames
    )
    alt = (
        f"Bars of fast memory, {room:,} entries long, one after each arrival in {step}. {told}. "
        "What is at the left stays in its place throughout."
    )
    with canvas(title, alt, width=WIDTH, height=0.35 + 0.72 * len(frames)) as drawing:
        _bars(drawing.axes, frames, room)
    return drawing.result


_Frame = tuple[str, list[tuple[str, int, int]]]  #: a caption; names, places and sizes of blocks


def _frames(trace: Sequence[Event], events: Sequence[int]) -> list[_Frame]:
    """What is resident after each arrival of a step, and at its end, each block in its place."""
    held: dict[int, tuple[str, int, int]] = {}
    frames: list[_Frame] = []
    words: list[str] = []
    arrived = False
    for index, event in enumerate(trace[: events[-1] + 1]):
        if arrived and index in events:
            frames.append((", ".join(words), sorted(held.values(), key=lambda one: one[1])))
            words = []
        arrived = index in events and event.kind in ("load", "alloc")
        if event.kind in ("load", "alloc"):
            place = _first_gap(held.values(), event.entries)
            held[event.block] = (event.array, place, event.entries)
        elif event.kind == "drop":
            del held[event.block]
        if index in events and event.kind in _TOLD:
            words.append(_TOLD[event.kind].format(event.array, event.entries))
    return [*frames, (", ".join(words), sorted(held.values(), key=lambda one: one[1]))]


_TOLD = {
    "load": "{} arrives: {} read",
    "alloc": "{} is made",
    "drop": "{} leaves",
    "store": "{} is written: {}",
}


def _first_gap(held: Iterable[tuple[str, int, int]], entries: int) -> int:
    """The lowest place at which ``entries`` entries are free."""
    place = 0
    for _, start, size in sorted(held, key=lambda one: one[1]):
        if start - place >= entries:
            break
        place = start + size
    return place


def _bars(axes: Any, frames: Sequence[_Frame], room: int) -> None:
    from matplotlib.patches import Rectangle

    for row, (caption, held) in enumerate(frames):
        bottom = -row * 1.7
        axes.text(0, bottom + 1.08, caption, fontsize=SMALL, va="bottom")
        axes.add_patch(Rectangle((0, bottom), room, 1, facecolor="none", edgecolor=ink()))
        for name, place, size in held:
            colour = ARRAYS.get(name, GREY)
            box = Rectangle((place, bottom), size, 1, facecolor=colour + "88", edgecolor=colour)
            axes.add_patch(box)
            if size > room / 12:
                middle = (place + size / 2, bottom + 0.5)
                axes.text(*middle, name, ha="center", va="center", fontsize=11)
    axes.set(xlim=(-0.5, room + 0.5), ylim=(-1.7 * (len(frames) - 1) - 0.2, 1.8))
    axes.axis("off")


# ---------------------------------------------------------------- the order of the tiles


def tiles_order(tiles: int = 4, *, N: int = 64, d: int = 8) -> Figure:
    """The same square tiles of the N×N scores, walked down columns and along rows.

    FlashAttention-1 keeps K and V while Q and O pass by, and O is written every time it passes.
    FlashAttention-2 keeps Q and O while K and V pass by. ``tiles`` is how many there are each way.

    >>> tiles_order().title
    'The same 16 tiles: walked by columns 8,832 entries move, by rows 5,120'
    """
    tiles, N, d = sizes(tiles=tiles, N=N, d=d)
    if not 2 <= tiles <= 6 or N % tiles:
        raise ValueError(f"tiles must be 2 to 6 and divide N = {N}, got {tiles}")
    side = N // tiles
    columns, rows = counts.flash(N, d, side, side), counts.flash2(N, d, side, side)
    title = (
        f"The same {tiles**2} tiles: walked by columns {columns.total:,} entries move, "
        f"by rows {rows.total:,}"
    )
    alt = (
        f"Two grids of {tiles} by {tiles} score tiles with the order of the visits, N = {N}, "
        f"d = {d}. Left, FlashAttention-1: down each column. A block of K and V stays, the blocks "
        f"of Q and O stream past: {columns.reads:,} reads, {columns.writes:,} writes. Right, "
        f"FlashAttention-2: along each row. A block of Q and O stays, K and V stream past: "
        f"{rows.reads:,} reads, {rows.writes:,} writes."
    )
    with canvas(title, alt, columns=2, width=WIDTH, height=3.6) as drawing:
        for axes, by_rows, count in zip(drawing.axes, (False, True), (columns, rows), strict=True):
            _walk(axes, tiles, by_rows)
            axes.text(tiles / 2, 1.75, f"FlashAttention-{1 + by_rows}", ha="center", fontsize=12)
            axes.text(
                tiles / 2,
                -tiles - 0.35,
                f"{count.reads:,} read\n{count.writes:,} written",
                ha="center",
                va="top",
                fontsize=11,
            )
    return drawing.result


def _walk(axes: Any, tiles: int, by_rows: bool) -> None:
    """The grid with its visits numbered, and its inputs: solid where they stay, hatched else."""
    from matplotlib.patches import Rectangle

    for row in range(tiles):
        for column in range(tiles):
            visit = 1 + (row * tiles + column if by_rows else column * tiles + row)
            in_round = visit <= tiles
            axes.add_patch(
                Rectangle(
                    (column, -row - 1),
                    1,
                    1,
                    facecolor=COLOURS[4] + ("66" if in_round else "00"),
                    edgecolor=COLOURS[4],
                )
            )
            axes.text(column + 0.5, -row - 0.5, str(visit), ha="center", va="center", fontsize=11)
    beside, above = ("Q, O", "K, V")
    _band(axes, beside, tiles, upright=True, stays=by_rows)
    _band(axes, above, tiles, upright=False, stays=not by_rows)
    axes.set(aspect="equal", xlim=(-1.7, tiles + 0.1), ylim=(-tiles - 1.7, 2.4))
    axes.axis("off")


def _band(axes: Any, name: str, tiles: int, *, upright: bool, stays: bool) -> None:
    """The blocks of an input along one side of the grid: the first is resident, or all pass by."""
    from matplotlib.patches import Rectangle

    colour = ARRAYS[name[0]]
    for index in range(tiles):
        corner = (-0.8, -index - 1) if upright else (index, 0.2)
        shape = (0.6, 1) if upright else (1, 0.6)
        filled = stays and index == 0
        axes.add_patch(
            Rectangle(
                corner,
                *shape,
                facecolor=colour if filled else "none",
                edgecolor=colour,
                hatch=None if stays else "///",
            )
        )
    label = f"{name} {'stay' if stays else 'pass'}"
    middle = (-1.2, -tiles / 2) if upright else (tiles / 2, 1.2)
    axes.text(*middle, label, ha="center", va="center", rotation=90 * upright, fontsize=11)


# ---------------------------------------------------------------- the tiles of a product


def tiles_of_product(n: int = 16, tiles: int = 4) -> Figure:
    """An n×n product in square tiles: what stands in fast memory at four of its steps.

    One tile of C stays while tiles of A and B pass by in pairs; then the next one.

    >>> tiles_of_product().title
    'Three tiles are enough: 2,048 entries are read, 4 times what the matrices hold'
    """
    n, tiles = sizes(n=n, tiles=tiles)
    if not 3 <= tiles <= 6 or n % tiles:
        raise ValueError(f"tiles must be 3 to 6 and divide n = {n}, got {tiles}")
    side = n // tiles
    count = counts.matmul(n, n, n, side, side, side)
    once = counts.matmul(n, n, n, n, n, n).reads
    title = (
        f"Three tiles are enough: {count.reads:,} entries are read, {count.reads // once} times "
        "what the matrices hold"
    )
    steps = [(0, 0, 0), (0, 0, 1), (0, 0, tiles - 1), (0, 1, 0)]
    told = []
    for i, j, p in steps:
        number = (i * tiles + j) * tiles + p + 1
        told.append(
            f"step {number}: tile ({i + 1}, {p + 1}) of A, ({p + 1}, {j + 1}) of B, "
            f"({i + 1}, {j + 1}) of C, {2 * number * side**2} entries read so far"
        )
    alt = (
        f"Four pictures of A, B above and C at the right, each cut into {tiles} by {tiles} tiles "
        f"of {side} by {side} entries. Filled are the three that stand in fast memory, "
        f"{count.peak} entries at most. {'; '.join(told)}. A tile of C is written when its row of "
        f"A and its column of B have passed. In all {tiles**3} steps, {count.reads:,} entries "
        f"read and {count.writes:,} written; a memory for all three matrices would read {once:,}."
    )
    with sketch(title, alt, height=362) as drawing:
        for place, step in enumerate(steps):
            _product_step(drawing, (22 + 178 * (place % 2), 12 + 184 * (place // 2)), tiles, step)
            number = (step[0] * tiles + step[1]) * tiles + step[2] + 1
            after = {tiles: ", C written", tiles + 1: ", A again"}.get(number, "")
            told_here = f"step {number}: {2 * number * side**2} read{after}"
            middle = 22 + 178 * (place % 2) + 69, 12 + 184 * (place // 2) + 156
            drawing.text(middle, told_here, align="middle")
    return drawing.result


def _product_step(
    drawing: Sketch, corner: tuple[float, float], tiles: int, step: tuple[int, int, int]
) -> None:
    """A, B and C as grids of tiles; what is in memory solid, what has passed tinted."""
    (left, top), (i, j, p), span = corner, step, 62.0
    cell = span / tiles
    right, below = left + span + 14, top + span + 14
    passed = [(row, column) for row in range(tiles) for column in range(tiles)]
    done = [(row, column) for row, column in passed if row * tiles + column < i * tiles + j]
    for at, name, before, now, colour in (
        ((left, below), "A", [(i, q) for q in range(p)], (i, p), ARRAYS["A"]),
        ((right, top), "B", [(q, j) for q in range(p)], (p, j), ARRAYS["B"]),
        ((right, below), "C", done, (i, j), ARRAYS["C"]),
    ):
        drawing.fill(at, before, cell, colour + TINT)
        drawing.fill(at, [now], cell, colour)
        drawing.cells(at, tiles, tiles, cell)
        beside = (at[0] - 8, at[1] + 6) if name != "C" else (at[0] + span + 8, at[1] + 6)
        drawing.text(beside, name, align="middle", size=TINY, bold=True)
