"""What charts share: lines with names at their ends, stacked bars, notes on paper, marks, ticks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Canvas, canvas, halo
from costfigures.sketch import Point

#: Said beside colours, and in their order. Dots of a hatch would make a drawing ten times larger.
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (4, 1, 1, 1, 1, 1)), (0, (6, 2)))
MARKS = "os^DvPX"
HATCHES = ("", "//", "\\\\", "xx", "--", "||", "++")

Lines = Mapping[str, Any]  #: by name: heights, or a pair of places across and heights


def look(number: int) -> dict[str, Any]:
    """Colour and dashes of a chart's line."""
    return {"color": COLOURS[number], "linestyle": DASHES[number % len(DASHES)]}


def note(
    axes: Any,
    at: Sequence[Any],
    words: str,
    shift: Sequence[float] = (6, 0),
    *,
    clear: bool = True,
    **more: Any,
) -> Any:
    """Words so many points from a place, on the side to which they are shifted.

    Lines behind them are interrupted, unless they stand on a shade.
    """
    across, up = shift
    style = {"ha": "left" if across > 0 else "right" if across else "center"}
    style |= {"va": "bottom" if up > 0 else "top" if up else "center"}
    drawn = axes.annotate(words, at, shift, textcoords="offset points", **style | more)
    if clear:
        halo(drawn)
    return drawn


@contextmanager
def line_chart(
    title: str, what: str, across: Any, found: Lines, scale: str = "xy", **how: Any
) -> Iterator[Canvas]:
    """A chart of lines, and a text alternative of ``what`` they are and where they begin and end.

    ``how`` has the height of the chart, and what `lines` takes.

    >>> with line_chart("Two lines", "Squares and cubes", [1, 10], {"x²": [1, 100]}) as drawing:
    ...     mark(drawing.axes, x=5)
    >>> drawing.result.alt
    'Squares and cubes: x² 1 at 1 and 100 at 10.'
    """
    pairs = {name: of if isinstance(of, tuple) else (across, of) for name, of in found.items()}
    told = "; ".join(
        f"{name} {said(up[0])} at {said(x[0])} and {said(up[-1])} at {said(x[-1])}"
        for name, (x, up) in pairs.items()
    )
    with canvas(title, f"{what}: {told}.", height=how.pop("height", 3.6)) as drawing:
        lines(drawing.axes, across, found, scale, **how)
        yield drawing


def said(value: Any) -> str:
    """A number in words, to three digits.

    >>> said(0.12345), said(12345.6)
    ('0.123', '12,346')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


@contextmanager
def bar_chart(
    title: str, what: str, rows: Iterable[str], parts: Mapping[str, Any], form: str, **how: Any
) -> Iterator[Canvas]:
    """A chart of `stacked` bars, and a text alternative of ``what`` they are and each part.

    ``form`` writes a part, and a sum at its bar's end unless ``how`` has another for it.

    >>> with bar_chart("One bar", "Bars of shares", ["a"], {"x": [1], "y": [2]}, ".1f") as drawing:
    ...     mark(drawing.axes, x=1)
    >>> drawing.result.alt
    'Bars of shares. a: x 1.0, y 2.0.'
    """
    every = list(rows)
    told = "; ".join(
        f"{name}: ".replace("\n", ", ")
        + ", ".join(f"{part} {values[row]:{form}}" for part, values in parts.items())
        for row, name in enumerate(every)
    )
    with canvas(title, f"{what}. {told}.", height=how.pop("height", 0.36 * len(every) + 1.4)) as (
        drawing
    ):
        stacked(drawing.axes, every, parts, how.pop("sums", form), **how)
        yield drawing


def lines(
    axes: Any, across: Any, found: Lines, scale: str = "xy", *, marks: str = "", at: str = "end"
) -> None:
    """A line for each name; ``scale`` says which axes are logarithmic, ``at`` where names are.

    They stand at the "end" of their lines, or are left to a "legend".
    """
    ends = []
    for number, (name, line) in enumerate(found.items()):
        places, heights = line if isinstance(line, tuple) else (across, line)
        marker = marks[number : number + 1] or None
        axes.plot(places, heights, marker=marker, label=name, **look(number))
        ends.append((places[-1], heights[-1], name))
    axes.set(xscale="log" if "x" in scale else "linear", yscale="log" if "y" in scale else "linear")
    if at == "end":
        line_ends(axes, ends)


def points(axes: Any, places: Iterable[Sequence[float]], marks: str = MARKS) -> None:
    """A marker for each line of a chart, in its colour."""
    for number, place in enumerate(places):
        axes.plot(*place, marks[number], color=COLOURS[number], markersize=7)


def line_ends(axes: Any, ends: Iterable[tuple[float, float, str]]) -> None:
    """Names of lines at the right of their ends, in the order of the colours; long ones in two."""
    for number, (x, y, name) in enumerate(ends):
        words = name
        if len(name) > 16:
            words = name.replace(", ", ",\n") if ", " in name else fill(name, 14, **_WHOLE)
        back = {"arrowstyle": "-", "color": COLOURS[4], "lw": 0.8, "shrinkA": 1, "shrinkB": 4}
        arrow = {**back, "relpos": (0, 0.5)}
        drawn = note(axes, (x, y), words, (8, 0), color=COLOURS[number], arrowprops=arrow)
        axes.figure.ends.append(drawn)


_WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@contextmanager
def value_chart(
    title: str, what: str, values: Mapping[str, float], form: str, looks: Sequence[int]
) -> Iterator[Canvas]:
    """A level bar for each name with its value at its end, and a text alternative of ``what``.

    ``looks`` are the numbers of colours and hatches.
    """
    told = ", ".join(f"{name} {value:{form}}" for name, value in values.items())
    with canvas(title, f"{what}: {told}.", height=0.3 * len(values) + 1.1) as drawing:
        axes = drawing.axes
        for row, (value, number) in enumerate(zip(values.values(), looks, strict=True)):
            style = {"color": COLOURS[number] + "88", "hatch": HATCHES[number], "edgecolor": INK}
            axes.barh(row, value, 0.7, linewidth=0.8, **style)
            note(axes, (value, row), format(value, form), (4, 0))
        names(axes, values)
        axes.set_xlim(0, 1.16 * max(values.values()))
        yield drawing


def stacked(
    axes: Any,
    rows: Iterable[str],
    parts: Mapping[str, Sequence[float]],
    form: str = "",
    *,
    looks: Iterable[tuple[str, str]] = tuple(zip(COLOURS, HATCHES, strict=True)),
    columns: int = 3,
) -> None:
    """Level bars of parts, the first row on top; ``form`` writes their sums at their ends."""
    left: Any = 0.0
    for (name, values), (colour, hatch) in zip(parts.items(), looks, strict=False):
        style = {"color": colour + "88", "hatch": hatch, "edgecolor": INK, "linewidth": 0.8}
        axes.barh(np.arange(len(values)), values, 0.7, left, label=name, **style)
        left = left + np.asarray(values)
    if form:
        for row, total in enumerate(left):
            note(axes, (total, row), format(total, form), (4, 0))
        axes.set_xlim(0, 1.13 * max(left))
    names(axes, rows)
    legend(axes, columns)


def grouped(
    axes: Any, rows: Iterable[str], groups: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    """A level bar of each group for each row, one below the other; the heights where they lie."""
    high, found = 0.84 / len(groups), {}
    for number, (name, values) in enumerate(groups.items()):
        places = np.arange(len(values)) + (number - (len(groups) - 1) / 2) * high
        found[name] = places
        style = {"color": COLOURS[number] + "88", "hatch": HATCHES[number], "edgecolor": INK}
        axes.barh(places, values, high, label=name, linewidth=0.8, **style)
    names(axes, rows)
    legend(axes)
    return found


def names(axes: Any, rows: Iterable[str], *, up: bool = False) -> None:
    """Names at the left of rows, the first on top, or from below ``up``."""
    every = list(rows)
    axes.set_yticks(range(len(every)), every)
    ends = -0.5, len(every) - 0.5
    axes.set_ylim(ends if up else ends[::-1])
    axes.grid(visible=False, axis="y")


def legend(axes: Any, columns: int = 3) -> None:
    """What the looks mean, above the chart."""
    named = axes.get_legend_handles_labels()
    axes.figure.legend(*named, ncols=columns, loc="outside upper left")


def mark(
    axes: Any, words: str = "", *, x: float | None = None, y: float | None = None, at: float = 0.03
) -> None:
    """A dotted line at a place on one axis, with words beside it ``at`` a share of the other."""
    style = {"color": COLOURS[4], "linewidth": 1.2, "linestyle": ":"}
    if x is not None:
        axes.axvline(x, **style)
        note(axes, (x, at), words, (4, 0), xycoords=axes.get_xaxis_transform())
    if y is not None:
        axes.axhline(y, **style)
        side, places = "left" if at < 0.5 else "right", axes.get_yaxis_transform()
        note(axes, (at, y), words, (0.01, 3), xycoords=places, ha=side)


def ticks(axis: Any, values: Iterable[float]) -> None:
    """These numbers and no others, in full."""
    every = list(values)
    axis.set_ticks(every, [f"{value:,g}" for value in every])
    axis.set_ticks([], minor=True)


def percent(axis: Any) -> None:
    """Shares of 1 as per cent."""
    axis.set_major_formatter(lambda value, _: f"{value:.0%}")


def dots(axes: Any, places: Sequence[Point], colour: str) -> None:
    """Many dots as one path of strokes without a length, which is a tenth of the bytes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ends = [end for place in places for end in (place, place)]
    strokes = Path(ends, [Path.MOVETO, Path.LINETO] * len(places))
    strokes.should_simplify = False
    style = {"edgecolor": colour + "bb", "linewidth": 4, "capstyle": "round", "fill": False}
    axes.add_patch(PathPatch(strokes, **style))


def tiles(axes: Any, places: Iterable[Sequence[float]], **style: Any) -> None:
    """Many rectangles (left, bottom, width, height) as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    outlines = [
        Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], closed=True)
        for x, y, w, h in places
    ]
    axes.add_patch(PathPatch(Path.make_compound_path(*outlines), **style))
