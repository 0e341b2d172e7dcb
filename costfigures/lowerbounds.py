"""Figures of the lower bounds: what one segment of a schedule holds, and what it can do with it.

What it holds is also a message: whoever could form scores from it could tell them to somebody else.

Each function returns a `costfigures.Figure`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from costfigures.canvas import ARRAYS, COLOURS, Figure, canvas
from costfigures.chart import legend, note
from costfigures.sketch import TINT, Point, Sketch, sketch
from costlib.iomodel import Heads, bounds, compression, counts
from costlib.iomodel.counting.block_sizes import staircase
from costlib.iomodel.letters import fast_memory
from costlib.model.catalog import devices
from costlib.units.numbers import sizes

Array = np.ndarray[Any, Any]


def at_hand(M: int = 16, d: int = 2) -> Figure:
    """A schedule cut after every M reads, and how many scores the 2M values of a segment can make.

    Three ways to spend them: as many queries as keys, a few more queries than keys, and scores that
    were made before. A query and a key cost d values each, a finished score one.

    >>> at_hand().title
    'With 32 values at hand: 64 scores from a square, 60 from a longer one, 32 if kept'
    """
    M, d = sizes(M=M, d=d)
    side = M // d
    if M % d or not 3 <= side <= 10:
        raise ValueError(f"M must be 3 to 10 times d = {d}, got {M}")
    ways = [(side, side), (side + 2, side - 2)]
    made = [rows * columns for rows, columns in ways] + [2 * M]
    title = (
        f"With {2 * M} values at hand: {made[0]} scores from a square, {made[1]} from a longer "
        f"one, {made[2]} if kept"
    )
    told = "; ".join(
        f"{rows} rows of Q and {columns} of K, {d * rows} and {d * columns} values, make "
        f"{rows * columns} scores"
        for rows, columns in ways
    )
    alt = (
        f"Above, a schedule as a row of segments, each of {M} reads. In one of them {M} values are "
        f"there when it begins and {M} are read, {2 * M} together. Below, grids of scores with the "
        f"rows of Q beside them and those of K above: {told}; or all {2 * M} values are scores "
        "that were made before."
    )
    cell = 84 / (side + 2)
    with sketch(title, alt, height=232) as drawing:
        _cut(drawing, 9, M)
        for number, (rows, columns) in enumerate(ways):
            _spent(drawing, 4 + 124 * number, (rows, columns), d, cell)
        _kept(drawing, 262, 2 * M, cell)
    return drawing.result


def _cut(drawing: Sketch, top: float, M: int) -> None:
    """The schedule, a segment of it, and what is at hand there."""
    drawing.text((0, top), f"a schedule, cut after every {M} reads:", bold=True)
    wide = 72.0
    for number in range(5):
        is_one = number == 2
        fill = COLOURS[0] + TINT if is_one else "none"
        words = f"{M} reads" if number < 4 else "…"
        drawing.box((wide * number, top + 11), wide - 3, 18, words, fill=fill, edge=COLOURS[0])
    below = 2 * wide + 34
    drawing.arrow((below, top + 31), (below, top + 47), colour=COLOURS[0])
    words = f"at hand: {M} held when it begins + {M} read in it = {2 * M}"
    drawing.text((180, top + 57), words, align="middle", bold=True)


def _spent(drawing: Sketch, left: float, shape: tuple[int, int], d: int, cell: float) -> None:
    """A rectangle of scores, the rows of Q beside it and the columns of K above, to scale."""
    rows, columns = shape
    x, y = left + d * cell + 14, 92 + d * cell + 4
    for corner, size, name, colour in (
        ((x, y - d * cell - 3), (d, columns), "K", ARRAYS["K"]),
        ((x - d * cell - 3, y), (rows, d), "Q", ARRAYS["Q"]),
        ((x, y), (rows, columns), "", ARRAYS["S"]),
    ):
        drawing.grid(corner, *size, cell, colour + TINT, line=0.5)
        if name == "K":
            drawing.text((x + columns * cell + 5, y - d * cell / 2 - 3), name)
        elif name:
            drawing.text((x - d * cell - 8, y + rows * cell / 2), name, align="right")
    drawing.text((left + 52, 206), f"{rows} + {columns} rows of {d}:", align="middle")
    drawing.text((left + 52, 222), f"{rows * columns} scores", align="middle", bold=True)


def _kept(drawing: Sketch, left: float, count: int, cell: float) -> None:
    """Scores made before, each a value of its own."""
    rows = -(-count // 8)
    cells = [divmod(number, 8) for number in range(count)]
    corner = (left + 6, 92 + 3 * cell)
    drawing.grid(corner, rows, 8, cell, ARRAYS["S"] + TINT, cells, line=0.5)
    drawing.text((left + 44, 206), f"{count} made before:", align="middle")
    drawing.text((left + 44, 222), f"{count} scores", align="middle", bold=True)


def message(side: int = 6, d: int = 2) -> Figure:
    """Alice tells Bob a square of scores: the rows they come from, and no message much shorter.

    Below it a segment of a schedule whose numbers at hand are as many as that message has.

    >>> message().title
    '36 scores from 24 numbers, in the worst case from no fewer than 12'
    """
    side, d = sizes(side=side, d=d)
    if not 2 * d < side <= 8:
        raise ValueError(f"side must be more than 2d = {2 * d} and at most 8, got {side}")
    wanted, sent = side**2, 2 * d * side
    least = compression.free_entries(compression.square(wanted), d)
    title = f"{wanted} scores from {sent} numbers, in the worst case from no fewer than {least}"
    alt = (
        f"Alice has {side} rows of Q and {side} of K, each of {d} numbers; Bob wants the {wanted} "
        f"scores of them all. Between them one message: {d * side} numbers of Q and {d * side} of "
        f"K. Bars to scale: {wanted} numbers if she sends the scores, {sent} for the rows they "
        f"come from, {least} that the worst case needs. Below, a schedule cut after every "
        f"{d * side} reads; in one segment {d * side} values are held and {d * side} read, "
        f"{sent} together: the message again."
    )
    with sketch(title, alt, height=272) as drawing:
        _told(drawing, side, d)
        bars: list[tuple[int, str, dict[str, Any]]] = [
            (wanted, "numbers: the scores themselves", {"fill": ARRAYS["S"] + TINT}),
            (sent, "numbers: the rows they come from", {"fill": COLOURS[4] + TINT}),
            (least, "numbers: needed in the worst case", {"dashed": True}),
        ]
        for number, (count, words, look) in enumerate(bars):
            y, wide = 124 + 18 * number, count * 144 / wanted
            drawing.box((2, y), wide, 13, **look)
            drawing.text((wide + 8, y + 7), f"{count} {words}")
        _cut(drawing, 192, d * side)
        words = "its scores are made of these alone: they are the message"
        drawing.text((180, 265), words, align="middle")
    return drawing.result


def _told(drawing: Sketch, side: int, d: int) -> None:
    """What Alice knows, her message, and what Bob makes of it."""
    cell, top = 66 / side, 24.0
    across, down = 4 + d * cell + 4, top + d * cell + 4
    drawing.text((0, 9), "Alice knows Q and K", bold=True)
    drawing.text((358, 9), f"Bob wants {side**2} scores", bold=True, align="right")
    for corner, shape, name in (
        ((4, down), (side, d), "Q"),
        ((across, top), (d, side), "K"),
        ((284, down), (side, side), "S"),
        ((130, 48), (1, d * side), "Q"),
        ((130, 48 + 11 + 3), (1, d * side), "K"),
    ):
        of = 11 if shape[0] == 1 else cell
        drawing.grid(corner, *shape, of, ARRAYS[name] + TINT, line=0.5)
    names: list[tuple[Point, str]] = [
        ((4 + d * cell / 2, down - 8), "Q"),
        ((across + side * cell + 9, top + d * cell / 2), "K"),
        ((122, 53), "Q"),
        ((122, 67), "K"),
        ((317, down - 8), "QKᵀ"),
    ]
    for at, name in names:
        drawing.text(at, name, align="middle")
    drawing.text((196, 36), "one message", align="middle")
    drawing.arrow((118, 86), (276, 86))


def segment(rows: int = 4, cols: int = 4, d: int = 2, M: int = 16, N: int = 8) -> Figure:
    """One segment of a schedule: what is available in it, and the products that this allows.

    At most 2M entries: whole rows of Q and K, whose scores can be made, and for the products with V
    the rows of V and the output trees that go with them.

    >>> segment().title
    'One segment: 32 entries available, 16 pairs, 32 products with V'
    """
    rows, cols, d, M, N = sizes(rows=rows, cols=cols, d=d, M=M, N=N)
    parts = {"Q": rows * d, "K": cols * d, "V": cols * d, "O": rows * d}
    if sum(parts.values()) > 2 * M:
        raise ValueError(f"rows and cols need {sum(parts.values())} entries, 2M is {2 * M}")
    if max(rows, cols) > N:
        raise ValueError(f"rows and cols must be at most N = {N}, got {rows} and {cols}")
    held, pairs = sum(parts.values()), rows * cols
    title = f"One segment: {held} entries available, {pairs} pairs, {pairs * d} products with V"
    alt = (
        f"A grid of {N} queries by {N} keys. Of it {rows} by {cols} pairs are shaded: their "
        f"scores can be made, because {rows} rows of Q and {cols} rows of K are available, "
        f"{parts['Q']} and {parts['K']} entries. Beside the same rows stand {parts['O']} output "
        f"trees and above the same columns {parts['V']} entries of V: each pair then serves {d} "
        f"products with V, {pairs * d} in all. Together {held} of 2M = {2 * M} entries."
    )
    side = 240 / (N + 2 * d + 2)
    left, top = (2 * d + 1.6) * side, (2 * d + 1.6) * side
    with sketch(title, alt, height=top + N * side + 4) as drawing:
        shaded = [(row, column) for row in range(rows) for column in range(cols)]
        drawing.grid((left, top), N, N, side, COLOURS[4] + "66", shaded)
        for name, gap, whole in (("Q", 0, rows), ("O", 1, rows), ("K", 0, cols), ("V", 1, cols)):
            near = (d * (gap + 1) + 0.4 + 0.9 * gap) * side
            cells = [(row, entry) for row in range(whole) for entry in range(d)]
            if name in "QO":
                drawing.grid((left - near, top), N, d, side, ARRAYS[name] + "88", cells)
                drawing.text((left - near + d * side / 2, top - 9), name, align="middle")
            else:
                cells = [(entry, column) for column, entry in cells]
                drawing.grid((left, top - near), d, N, side, ARRAYS[name] + "88", cells)
                drawing.text((left + N * side + 10, top - near + d * side / 2), name)
        words = {"Q": "of Q", "K": "of K", "V": "of V", "O": "output trees"}
        told = "\n".join(f"{parts[name]} {what}" for name, what in words.items())
        place = left + N * side + 10, top + N * side / 2
        drawing.text(place, f"{told}\n\n{held} of 2M = {2 * M}\n{pairs} pairs, grey")
    return drawing.result


# ---------------------------------------------------------------- bound and schedule by shape

#: Whose shared memory is marked, in 2-byte entries.
_CHIPS = ("MI300X", "A100-80GB", "H100-SXM")
_POINTS = 40


@dataclass(frozen=True, slots=True)
class Gap:
    """A shape of attention: its lower bound and the best schedule known, per pair, for any M."""

    name: str
    N: int
    d: int
    shape: Mapping[str, Any] = field(default_factory=dict)
    is_backward: bool = False

    @property
    def pairs(self) -> float:
        """(Query, key) pairs that are computed."""
        return float(bounds.pairs(self.N, **self._mask))

    @property
    def _mask(self) -> dict[str, Any]:
        return {name: value for name, value in self.shape.items() if name != "value_width"}

    def bound(self, M: Array) -> Array:
        """Entries per pair below which no schedule is; less memory never needs less."""
        find = bounds.backward if self.is_backward else bounds.attention
        least = [float(find(self.N, self.d, int(m), **self.shape)) for m in M]
        held = np.maximum.accumulate(np.array(least)[::-1])[::-1]
        return np.asarray(held / self.pairs)

    def schedule(self, M: Array) -> Array:
        """Entries per pair of the best schedule known; more memory never hurts."""
        moved = [min(self._counted(int(m)), self._stored(float(m))) for m in M]
        return np.asarray(np.minimum.accumulate(moved) / self.pairs)

    def _counted(self, M: int) -> float:
        """Exact counts of schedules that write no scores, and of all backward passes."""
        if self.is_backward:
            orders = [
                staircase(f"{each}_backward", self.N, self.d)
                for each in ("two_pass", "stored", "four_pass")
            ]
            at = [order.totals[order.step_at(M)] for order in orders if order.step_at(M) >= 0]
            return float(min(at, default=math.inf))
        widths = {key: self.shape[key] for key in ("value_width", "latent") if key in self.shape}
        rows = counts.streamed_rows(self.d, M, **widths)
        if rows < 1:
            return math.inf
        return float(counts.streamed(self.N, self.d, int(rows), **self.shape).total)

    def _stored(self, M: float) -> float:
        """Schedules that write the scores or keep a tile of them: leading terms, and compulsory."""
        if self.is_backward:
            return math.inf
        heads = Heads(self.N, self.d, **self.shape)
        d, v = float(heads.d), float(heads.value_width)
        second = min(k + v * v / (M * k) for k in range(1, 1 + math.ceil(1 + v / math.sqrt(M))))
        first = min(d * d / M, 2 * d / math.sqrt(M)) + 1
        fused = 2 * math.sqrt((d + 2 * v) * (d + v) / M)
        return min(first + second, fused) * self.pairs + float(heads.compulsory)


#: One head of Llama 3 8B, its group of four, a layer of DeepSeek-V3, and a step of decoding.
SHAPES = (
    Gap("plain, d = 128", 16384, 128),
    Gap("causal, d = 128", 16384, 128, {"causal": True}),
    Gap("grouped: 4 heads, causal", 16384, 128, {"causal": True, "group": 4}),
    Gap(
        "latent, 128 heads, causal",
        16384,
        576,
        {"value_width": 512, "latent": True, "group": 128, "causal": True},
    ),
    Gap("decode: 4 queries, d = 128", 1, 128, {"keys": 16384, "group": 4}),
    Gap("backward, d = 128", 16384, 128, is_backward=True),
)


def gaps(shapes: Sequence[Gap] = SHAPES) -> Figure:
    """Lower bound and best schedule known against M, a panel for each shape, the gap shaded.

    Backward passes and schedules that keep the scores on the chip are exact counts; forward passes
    that store scores, best for small M only, are leading terms with the compulsory traffic.

    >>> gaps(SHAPES[:2]).title
    'Best schedule over lower bound on an H100: 1.06 to 1.10'
    """
    M = np.unique(np.geomspace(2**12, 2**22, _POINTS).astype(int))
    chips = {name: fast_memory(devices[name]) for name in _CHIPS}
    h100 = chips["H100-SXM"]
    lines = [(shape.bound(M), shape.schedule(M)) for shape in shapes]
    at_h100 = [_over(shape, h100) for shape in shapes]
    title = f"Best schedule over lower bound on an H100: {min(at_h100):.2f} to {max(at_h100):.2f}"
    told = ""
    for shape, (low, high) in zip(shapes, lines, strict=True):
        each = ", ".join(f"{chip} {_over(shape, m):.2f}" for chip, m in chips.items())
        told += f"{shape.name}: on {each}; at most {float(np.max(high / low)):.2f}. "
    alt = (
        "Panels with entries moved, over the lower bound, against fast memory M. In each "
        "the lower bound is the line at 1, the best schedule known lies above it, and the gap "
        f"between them is shaded. Best schedule over bound, {told}Dotted lines mark what a core's "
        f"memory holds: {', '.join(f'{chip} {m:,}' for chip, m in chips.items())} entries."
    )
    rows = -(-len(shapes) // 2)
    with canvas(title, alt, rows=rows, columns=2, height=0.9 + 1.75 * rows) as drawing:
        grid = np.ravel(drawing.axes)
        for axes, shape, (low, high) in zip(grid, shapes, lines, strict=False):
            _gap(axes, M, low, high, list(chips.values()))
            axes.set_title(shape.name)
        _chips(grid[0], chips)
        for axes in grid[len(shapes) :]:
            axes.axis("off")
        for axes in grid[max(0, len(shapes) - 2) : len(shapes)]:
            axes.set_xlabel("M, entries")
        legend(grid[0], 2)
        drawing.figure.supylabel("entries moved, times the lower bound")
    return drawing.result


def _over(shape: Gap, M: int) -> float:
    """How many times its bound the best schedule known moves."""
    at = np.array([M])
    return float(shape.schedule(at)[0] / shape.bound(at)[0])


def _chips(axes: Any, chips: Mapping[str, int]) -> None:
    """Names at the upper ends of their lines, read from below, left of all but the last."""
    for chip, held in chips.items():
        shift, side = ((2, 0), "left") if held == max(chips.values()) else ((-1, 0), "right")
        words: dict[str, Any] = {"rotation": 90, "va": "top", "ha": side}
        name, places = chip.partition("-")[0], axes.get_xaxis_transform()
        note(axes, (held, 0.98), name, shift, xycoords=places, **words)


#: Where the memory of one core of a chip ends.
_OF_A_CORE = {"color": COLOURS[4], "linewidth": 1.2, "linestyle": ":"}


def _gap(axes: Any, M: Array, low: Array, high: Array, marks: Sequence[int]) -> None:
    """The best schedule over the bound, which is the line at 1, and the chips."""
    over = high / low
    axes.fill_between(M, 1, over, color=COLOURS[1], alpha=0.3, linewidth=0, label="gap")
    axes.plot(M, over, color=COLOURS[0], lw=1.6, label="best schedule known")
    axes.plot(M, np.ones_like(over), color=COLOURS[4], lw=1.6, linestyle="--", label="lower bound")
    for mark in marks:
        axes.axvline(mark, **_OF_A_CORE)
    axes.plot([], [], label="memory of a core", **_OF_A_CORE)
    axes.set(xscale="log", xticks=[10**4, 10**5, 10**6], xlim=(M[0], M[-1]))
    axes.set(ylim=(0.9, max(2.1, 1.1 * float(over.max()))))
    axes.minorticks_off()
