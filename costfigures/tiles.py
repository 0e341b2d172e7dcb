"""Figures of tiles: what fast memory holds during one of them, and in which order they are walked.

Drawn to scale from a run that you pass, or from the closed forms of what moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from costfigures.canvas import ARRAYS, COLOURS, Figure
from costfigures.sketch import TINT, WIDTH, Point, Sketch, sketch
from costlib.iomodel import counts
from costlib.iomodel.algorithms.runs import Run
from costlib.iomodel.memory import Event
from costlib.units.numbers import sizes

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
    scale = (WIDTH - 4) / room
    with sketch(title, alt, height=52 * len(frames)) as drawing:
        for row, (caption, held) in enumerate(frames):
            top = 20.0 + 52 * row
            drawing.text((2, top - 11), caption)
            drawing.box((2, top), room * scale, 28)
            for name, place, size in held:
                words = name if size > room / 12 else ""
                colour, corner = ARRAYS.get(name, COLOURS[4]), (2 + place * scale, top)
                drawing.box(corner, size * scale, 28, words, fill=colour + "88", edge=colour)
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
    cell = 132 / tiles
    with sketch(title, alt, height=246) as drawing:
        for left, by_rows, count in ((42, False, columns), (222, True, rows)):
            middle = left + 66
            drawing.text((middle, 10), f"FlashAttention-{1 + by_rows}", align="middle", bold=True)
            _walk(drawing, (left, 66), tiles, cell, by_rows)
            words = f"{count.reads:,} read\n{count.writes:,} written"
            drawing.text((middle, 222), words, align="middle")
    return drawing.result


def _walk(drawing: Sketch, corner: Point, tiles: int, cell: float, by_rows: bool) -> None:
    """The grid with its visits numbered, and its inputs: solid where they stay, hatched else."""
    (left, top), first = corner, [(0, n) if by_rows else (n, 0) for n in range(tiles)]
    visits = {
        (row, column): 1 + (row * tiles + column if by_rows else column * tiles + row)
        for row in range(tiles)
        for column in range(tiles)
    }
    drawing.grid(corner, tiles, tiles, cell, COLOURS[4] + "66", first, words=visits)
    for name, stays in (("Q, O", by_rows), ("K, V", not by_rows)):
        colour, words = ARRAYS[name[0]], f"{name} {'stay' if stays else 'pass'}"
        for index in range(tiles):
            place = (left - 24, top + index * cell) if name[0] == "Q" else (left + index * cell, 42)
            size = (18, cell) if name[0] == "Q" else (cell, 18)
            fill = colour if stays and index == 0 else "none"
            drawing.box(place, *size, fill=fill, edge=colour, hatch="" if stays else "///")
        if name[0] == "Q":
            drawing.text((left - 34, top + 66), words, align="middle", upright=True)
        else:
            drawing.text((left + 66, 31), words, align="middle")


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


def _product_step(drawing: Sketch, corner: Point, tiles: int, step: tuple[int, int, int]) -> None:
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
        drawing.grid(at, tiles, tiles, cell, colour, [now])
        beside = (at[0] - 8, at[1] + 6) if name != "C" else (at[0] + span + 8, at[1] + 6)
        drawing.text(beside, name, align="middle", bold=True)
