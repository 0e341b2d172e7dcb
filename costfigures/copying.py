"""Drawn diagrams of copying: how much two memories exchange, and what hides behind arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from costfigures.canvas import ARRAYS, COLOURS, Figure
from costfigures.sketch import TINT, WIDTH, Lanes, Point, Sketch, sketch
from costlib.iomodel.algorithms.runs import Run
from costlib.units.device import Device
from costlib.units.display import quantity
from costlib.units.numbers import sizes

# ---------------------------------------------------------------- between two memories

_VERBS = {"load": "read", "store": "written"}
_GAP = 7.0
_WORDS = 13.0  #: a thinner arrow has its words above it

_Flows = dict[tuple[str, str], int]  #: entries by matrix and kind of move, as they first come


def traffic(runs: Mapping[str, Run]) -> Figure:
    """What two traced runs move, matrix by matrix: arrows as thick as the entries counted.

    >>> import numpy as np
    >>> from costlib.iomodel import TwoLevelMemory, flash2, naive
    >>> x = np.eye(8, 2)
    >>> runs = {f.__name__: f(x, x, x, TwoLevelMemory(64, trace=True)) for f in (naive, flash2)}
    >>> traffic(runs).title
    'Entries moved: naive 432, flash2 96'
    """
    if len(runs) != 2:
        raise ValueError(f"runs must be two, got {len(runs)}: {', '.join(runs) or 'none'}")
    flows = {name: _flows(name, run) for name, run in runs.items()}
    title = "Entries moved: " + ", ".join(f"{n} {run.total:,}" for n, run in runs.items())
    told = "; ".join(
        f"{name}: " + ", ".join(f"{n:,} of {of} {_VERBS[kind]}" for (of, kind), n in found.items())
        for name, found in flows.items()
    )
    alt = (
        "Two pairs of boxes, slow memory left and fast memory right, joined by arrows as thick as "
        f"what they carry. {told}."
    )
    scale = 240 / max(run.total for run in runs.values())
    tall = max(sum(_thick(n, scale) for n in found.values()) for found in flows.values())
    with sketch(title, alt, height=tall + 30) as drawing:
        for number, (name, found) in enumerate(flows.items()):
            left = 2 + number * (WIDTH / 2 + 5)
            words = f"{name}: {runs[name].total:,}"
            drawing.text((left + 86, 10), words, align="middle", bold=True)
            _exchange(drawing, left, 26, scale, found)
    return drawing.result


def _flows(name: str, run: Run) -> _Flows:
    if not run.trace:
        raise ValueError(f"runs: {name!r} has no trace; run it on TwoLevelMemory(M, trace=True)")
    found: _Flows = {}
    for event in run.trace:
        if event.kind in _VERBS:
            of = (event.array, event.kind)
            found[of] = found.get(of, 0) + event.entries
    return found


def _thick(entries: int, scale: float) -> float:
    """How much of the height an arrow and its words need."""
    thick = entries * scale
    return thick + _GAP + (_WORDS if thick < _WORDS else 0)


def _exchange(drawing: Sketch, left: float, top: float, scale: float, found: _Flows) -> None:
    """Slow memory, fast memory, and the arrows between them, from the top down."""
    tall = sum(_thick(n, scale) for n in found.values())
    for x, name in ((left, "slow memory"), (left + 148, "fast memory")):
        drawing.box((x, top), 24, tall, edge=COLOURS[4], fill=COLOURS[4] + "33")
        name = name if tall > 80 else name.split()[0]
        drawing.text((x + 12, top + tall / 2), name, align="middle", upright=True)
    y = top
    for (name, kind), entries in found.items():
        step = _thick(entries, scale)
        ends = (left + 26, left + 146)
        start, end = ends if kind == "load" else ends[::-1]
        thick, colour = entries * scale, ARRAYS.get(name, COLOURS[4])
        _flow(drawing, start, end, y + step - (thick + _GAP) / 2, thick, colour)
        middle = y + (step if thick >= _WORDS else _WORDS) / 2
        drawing.text((left + 86, middle), f"{name}: {entries:,} {_VERBS[kind]}", align="middle")
        y += step


def _flow(drawing: Sketch, start: float, end: float, y: float, thick: float, colour: str) -> None:
    """A level arrow as thick as what it carries."""
    way = 1 if end > start else -1
    neck, half = end - way * min(10.0, thick / 2 + 4), thick / 2
    wide = half + min(3.0, half / 2 + 1)
    upper = [(start, y - half), (neck, y - half), (neck, y - wide), (end, y)]
    lower = [(x, 2 * y - at) for x, at in reversed(upper[:-1])]
    look = {"facecolor": colour + TINT, "edgecolor": colour, "linewidth": 0.8}
    drawing.axes.fill(*zip(*upper, *lower, strict=True), **look)


# ---------------------------------------------------------------- copies behind arithmetic

_BYTES = 2


def overlap(
    device: Device, d: int, M: int, *, keys: int = 16, blocks: int = 6, rate: float | None = None
) -> Figure:
    """One core takes blocks of keys and values: copies and products in time, three ways.

    With one buffer for a block it copies or computes. With two the next block arrives during the
    products. With few queries at hand the copies are longer, and the products hide behind them.
    ``rate`` is how fast the fast memories of all cores together are filled, in bytes/s; unless
    given, every block comes from main memory.

    >>> from costlib import devices
    >>> overlap(devices["H100-SXM"], 128, 116736).title
    'A second buffer: a block takes 223 ns instead of 388'
    """
    d, M, keys, blocks = sizes(d=d, M=M, keys=keys, blocks=blocks)
    rows = [queries_at_hand(M, d, keys, buffers) for buffers in (1, 2)]
    if rows[1] < 1:
        raise ValueError(f"M must hold two blocks of {keys} keys and a query, got {M:,}")
    cases = [(rows[0], 1), (rows[1], 2), (max(1, rows[1] // 8), 2)]
    found = [block_times(device, d, keys, count, rate) for count, _ in cases]
    plays = [_played(*times, blocks, n) for times, (_, n) in zip(found, cases, strict=True)]
    each = [sum(found[0]), max(found[1]), max(found[2])]
    title = (
        f"A second buffer: a block takes {quantity(each[1], 's', 3)} instead of {each[0] * 1e9:.0f}"
    )
    names = [
        f"{'one buffer' if n == 1 else 'two buffers'}, {count:,} queries: "
        f"{quantity(seconds, 's', 3)} a block"
        for (count, n), seconds in zip(cases, each, strict=True)
    ]
    told = "; ".join(
        f"{name} ({quantity(copy, 's', 3)} to copy, {quantity(work, 's', 3)} to compute)"
        for name, (copy, work) in zip(names, found, strict=True)
    )
    alt = (
        f"Three timelines of {blocks} blocks of {keys} keys or values, a core of {device.name}, "
        f"a lane for copies and one for products. {told}. In the last two copies and products run "
        "at once."
    )
    longest = max(work[-1][1] for _, work in plays)
    with sketch(title, alt, height=206) as drawing:
        for row, (name, play) in enumerate(zip(names, plays, strict=True)):
            lanes = Lanes(drawing, 62, (WIDTH - 64) / longest)
            _lanes(lanes, 10 + 70 * row, name, play)
    return drawing.result


def queries_at_hand(M: int, d: int, keys: int, buffers: int) -> int:
    """The most queries of FlashAttention-2's order beside ``buffers`` blocks of keys or values.

    >>> [queries_at_hand(116736, 128, 16, buffers) for buffers in (1, 2)]
    [415, 408]
    """
    return (M - buffers * keys * d) // (2 * d + keys + 4)


def block_times(
    device: Device, d: int, keys: int, queries: int, rate: float | None = None
) -> Point:
    """Seconds to copy a block and to multiply it, on one core with its share of the rates."""
    cores = int(device.cores or 1)
    copy = _BYTES * keys * d / (float(rate or device.memory_rate) / cores)
    return copy, 2 * queries * keys * d / (float(device.compute_rate()) / cores)


_Spans = list[Point]


def _played(copy: float, work: float, blocks: int, buffers: int) -> tuple[_Spans, _Spans]:
    """When each block is copied and used: a copy waits for a free buffer, a product for its block.

    >>> _played(1, 2, blocks=3, buffers=2)
    ([(0, 1), (1, 2), (3, 4)], [(1, 3), (3, 5), (5, 7)])
    """
    copies: _Spans = []
    works: _Spans = []
    for number in range(blocks):
        free = works[number - buffers][1] if number >= buffers else 0
        begun = max(copies[-1][1] if copies else 0, free)
        copies.append((begun, begun + copy))
        ready = max(begun + copy, works[-1][1] if works else 0)
        works.append((ready, ready + work))
    return copies, works


def _lanes(lanes: Lanes, top: float, name: str, play: tuple[_Spans, _Spans]) -> None:
    """A lane for copies and one for products, blocks of values paler than those of keys."""
    lanes.drawing.text((0, top), name, bold=True)
    for lane, (what, spans) in enumerate(zip(("copies", "products"), play, strict=True)):
        y = top + 10 + 17 * lane
        lanes.drawing.text((56, y + 8.5), what, align="right")
        lanes.drawing.line((62, y + 17), (WIDTH - 2, y + 17), width=0.4, colour=COLOURS[4])
        for number, span in enumerate(spans):
            words, shade = f"{'KV'[number % 2]}{number // 2 + 1}", "33" if number % 2 else "77"
            lanes.bar(y + 1, span, words, fill=COLOURS[lane] + shade, edge=COLOURS[lane])


# ---------------------------------------------------------------- rows that stay, rows that pass

#: Of each order and each of its passes: which rows of d entries stay, and which pass.
ORDERS = {
    "FlashAttention-2": ((("Q", "O"), ("K", "V")),),
    "FlashAttention-1": ((("K", "V"), ("Q", "O", "O")),),
    "backward, as first published": ((("K", "V", "K′", "V′"), ("Q", "O", "O′", "Q′", "Q′")),),
    "backward, row sums once": ((("K", "V", "K′", "V′"), ("Q", "O′", "Q′", "Q′")),),
    "backward, two passes": (
        (("Q", "Q′", "O′"), ("K", "V")),
        (("K", "V", "K′", "V′"), ("Q", "O′")),
    ),
}


def stay_and_pass() -> Figure:
    """The constant of N²d²/M as an area: rows that stay times rows that pass, order by order.

    What is read and written again stands twice. A prime marks a gradient.

    >>> stay_and_pass().title
    'Rows that stay times rows that pass: 4, 6, 20, 16, 14'
    """
    areas = {name: sum(len(s) * len(p) for s, p in passes) for name, passes in ORDERS.items()}
    title = f"Rows that stay times rows that pass: {', '.join(map(str, areas.values()))}"
    told = "; ".join(
        f"{name}: "
        + " and ".join(f"{' '.join(stay)} stay, {' '.join(pass_)} pass" for stay, pass_ in passes)
        + f", area {areas[name]}"
        for name, passes in ORDERS.items()
    )
    alt = (
        "Rectangles of unit squares, one or two for each order of loops: as high as rows of d "
        f"entries stay, as wide as rows pass, what is written and read again counted twice. {told}."
    )
    places = ((0, 0), (186, 0), (0, 92), (186, 92), (0, 206))
    with sketch(title, alt, height=322) as drawing:
        for (name, passes), (left, top) in zip(ORDERS.items(), places, strict=True):
            drawing.text((left, top + 8), name, bold=True)
            x = left + 24.0
            for stay, pass_ in passes:
                _area(drawing, (x, top + 34), stay, pass_)
                x += _SQUARE * len(pass_) + 44
            drawing.text((x - 34, top + 34 + _SQUARE), f"= {areas[name]}", bold=True)
    return drawing.result


_SQUARE = 19.0


def _area(drawing: Sketch, corner: Point, stay: tuple[str, ...], pass_: tuple[str, ...]) -> None:
    """A rectangle of squares with what stays at its left and what passes above it."""
    drawing.grid(corner, len(stay), len(pass_), _SQUARE, COLOURS[4] + TINT)
    for number, name in enumerate(stay):
        drawing.text((corner[0] - 5, corner[1] + (number + 0.5) * _SQUARE), name, align="right")
    for number, name in enumerate(pass_):
        place = (corner[0] + (number + 0.5) * _SQUARE, corner[1] - 8)
        drawing.text(place, name, align="middle")
