"""A drawing: boxes, arrows, grids and words at places given in points, the y axis pointing down.

What `canvas` is for charts, `sketch` is for diagrams. A point is a pixel of a page on which the
figure has its own size, and a phone's page is about 343 wide: keep a drawing near `WIDTH`, its
words in `TEXT`, and it is legible everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import hypot
from typing import Any

from costfigures.canvas import INK, Figure, canvas, halo

WIDTH = 360  #: of a drawing, unless there is a reason
TEXT = 11.0  #: of all words, which are then as large as those of charts
TINT = "55"  #: put behind a colour, it lets ink be read on it, on light and dark pages

Point = tuple[float, float]  #: from the left, from the top
_ACROSS = {"left": "left", "middle": "center", "right": "right"}


class Sketch:
    """What can be drawn; `sketch` makes one. Afterwards ``.result`` is the Figure."""

    result: Figure

    def __init__(self, axes: Any) -> None:
        self.axes = axes
        self._drawn = 0

    def _next(self) -> float:
        """What is drawn later lies above; words, which Matplotlib puts at 3, above everything."""
        self._drawn += 1
        return 1 + self._drawn / 1e4

    def text(
        self,
        at: Point,
        words: str,
        *,
        align: str = "left",
        colour: str = INK,
        bold: bool = False,
        italic: bool = False,
        upright: bool = False,
        clear: bool = False,
    ) -> None:
        """Words whose left end, middle or right end stands ``at`` a place, half above, half below.

        ``upright`` words are read from below, and no line runs through ``clear`` ones.
        """
        drawn = self.axes.text(
            *at, words, ha=_ACROSS[align], va="center_baseline" if not upright else "center"
        )
        drawn.set(fontsize=TEXT, color=colour, rotation=90 if upright else 0)
        if clear:
            halo(drawn)
        drawn.set(weight="bold" if bold else "normal", style="italic" if italic else "normal")

    def box(
        self,
        corner: Point,
        width: float,
        height: float,
        words: str = "",
        *,
        colour: str = "",
        fill: str = "none",
        edge: str = INK,
        line: float = 1.0,
        hatch: str = "",
        dashed: bool = False,
        **text: Any,
    ) -> None:
        """A rectangle from its upper left corner, with words in its middle.

        A ``colour`` is its edge, and fills it as a tint.
        """
        from matplotlib.patches import Rectangle

        fill, edge = (colour + TINT, colour) if colour else (fill, edge)
        style: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "hatch": hatch}
        style["linewidth"] = line
        style |= {"linestyle": "--" if dashed else "-", "zorder": self._next()}
        self.axes.add_patch(Rectangle(corner, width, height, **style))
        if words:
            middle = corner[0] + width / 2, corner[1] + height / 2
            self.text(middle, words, align="middle", **text)

    def line(
        self, *points: Point, colour: str = INK, width: float = 1.2, dashed: bool = False
    ) -> None:
        """A line through points."""
        style: dict[str, Any] = {"linestyle": (0, (3, 2)) if dashed else "-"}
        across, down = zip(*points, strict=True)
        self.axes.plot(across, down, color=colour, lw=width, zorder=self._next(), **style)

    def arrow(
        self, *points: Point, colour: str = INK, width: float = 1.2, dashed: bool = False
    ) -> None:
        """A line through points that ends in a head at the last one."""
        from matplotlib.patches import Polygon

        (x, y), (from_x, from_y) = points[-1], points[-2]
        length = hypot(x - from_x, y - from_y)
        along, across = (x - from_x) / length, (y - from_y) / length
        long, half = 4 + 2 * width, 1.5 + 1.3 * width
        neck = x - long * along, y - long * across
        sides = [
            (neck[0] + side * half * across, neck[1] - side * half * along) for side in (-1, 1)
        ]
        self.line(*points[:-1], neck, colour=colour, width=width, dashed=dashed)
        head = Polygon([(x, y), *sides], facecolor=colour, linewidth=0, zorder=self._next())
        self.axes.add_patch(head)

    def dimension(self, start: Point, end: Point, words: str, *, colour: str = INK) -> None:
        """A length with its ends marked, level or upright; its words stand above or at its left."""
        (x, y), (to_x, to_y) = start, end
        is_level = y == to_y
        for px, py in (start, end):
            across, down = (0, 3) if is_level else (3, 0)
            self.line((px - across, py - down), (px + across, py + down), colour=colour, width=1)
        self.line(start, end, colour=colour, width=1)
        middle = (x + to_x) / 2, (y + to_y) / 2
        if is_level:
            self.text((middle[0], middle[1] - 8), words, align="middle", colour=colour)
        else:
            self.text((middle[0] - 5, middle[1]), words, align="right", colour=colour)

    def cells(
        self, corner: Point, rows: int, columns: int, side: float | Point, *, line: float = 0.8
    ) -> None:
        """The lines of a grid, as one element however many there are."""
        wide, high = (side, side) if isinstance(side, int | float) else side
        (left, top), right, bottom = corner, corner[0] + columns * wide, corner[1] + rows * high
        level = [[(left, top + row * high), (right, top + row * high)] for row in range(rows + 1)]
        upright = [
            [(left + column * wide, top), (left + column * wide, bottom)]
            for column in range(columns + 1)
        ]
        self._strokes([*level, *upright], line)

    def fill(self, corner: Point, cells: Iterable[Point], side: float | Point, colour: str) -> None:
        """Cells of a grid, each a row and a column, filled; one element for all of them."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        wide, high = (side, side) if isinstance(side, int | float) else side
        paths = []
        for row, column in cells:
            x, y = corner[0] + column * wide, corner[1] + row * high
            around = [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)]
            paths.append(Path(around, closed=True))
        if paths:
            whole = Path.make_compound_path(*paths)
            style = {"facecolor": colour, "linewidth": 0, "zorder": self._next()}
            self.axes.add_patch(PathPatch(whole, **style))

    def grid(
        self,
        corner: Point,
        rows: int,
        columns: int,
        side: float | Point,
        colour: str,
        cells: Iterable[Point] | None = None,
        *,
        line: float = 0.8,
        words: Mapping[Any, Any] | None = None,
    ) -> None:
        """A grid with all its cells filled, or some, and words in the middle of some."""
        every = [(row, column) for row in range(rows) for column in range(columns)]
        self.fill(corner, every if cells is None else cells, side, colour)
        self.cells(corner, rows, columns, side, line=line)
        wide, high = (side, side) if isinstance(side, int | float) else side
        for (row, column), word in (words or {}).items():
            middle = corner[0] + (column + 0.5) * wide, corner[1] + (row + 0.5) * high
            self.text(middle, str(word), align="middle")

    def row(self, corner: Point, high: float, parts: Iterable[tuple[str, float, str]]) -> None:
        """Boxes one after another, each with its words if they fit, its width and its colour."""
        left, top = corner
        for words, wide, fill in parts:
            fitting = words if wide > 6.5 * len(words) + 4 else ""
            edge = fill[:7] if len(fill) > 7 else "none"
            self.box((left, top), wide, high, fitting, fill=fill, edge=edge)
            left += wide

    def key(self, corner: Point, colours: Mapping[str, str], step: float) -> None:
        """What colours mean, side by side."""
        for number, (name, colour) in enumerate(colours.items()):
            x, y = corner[0] + step * number, corner[1]
            self.box((x, y - 6), 12, 12, fill=colour, edge=colour[:7])
            self.text((x + 17, y), name)

    def _strokes(self, lines: Sequence[Sequence[Point]], width: float) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        whole = Path.make_compound_path(*(Path(line) for line in lines))
        style = {"edgecolor": INK, "linewidth": width, "zorder": self._next()}
        self.axes.add_patch(PathPatch(whole, fill=False, **style))


@dataclass(frozen=True, slots=True)
class Lanes:
    """Time from left to right in a sketch: where its zero is, and how long a second."""

    drawing: Sketch
    left: float
    scale: float

    def at(self, seconds: float) -> float:
        """Where a time is."""
        return self.left + float(seconds) * self.scale

    def bar(
        self, y: float, span: Sequence[float], words: str = "", high: float = 14, **look: Any
    ) -> None:
        """A box from one time to another, with words if they fit."""
        begin, end = map(self.at, span)
        fitting = words if end - begin > 6.5 * len(words) + 4 else ""
        self.drawing.box((begin, y), end - begin, high, fitting, **look)


@contextmanager
def sketch(title: str, alt: str, *, width: float = WIDTH, height: float) -> Iterator[Sketch]:
    """Draw inside the block; ``title`` states the point, ``alt`` tells what is to be seen.

    >>> with sketch("One box", "A box, 100 points wide.", height=60) as drawing:
    ...     drawing.box((10, 10), 100, 40, "a box")
    >>> drawing.result.title
    'One box'
    """
    with canvas(title, alt, width=width / 72, height=height / 72) as paper:
        paper.figure.set_layout_engine("none")
        paper.axes.set_position([0, 0, 1, 1])
        paper.axes.set(xlim=(0, width), ylim=(height, 0))
        paper.axes.axis("off")
        drawing = Sketch(paper.axes)
        yield drawing
    drawing.result = paper.result
