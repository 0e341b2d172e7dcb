"""The one way a figure reaches a page.

A figure is SVG that says what it shows in words, looks right on light and dark pages, and is the
same text on every machine, so that a test can compare it. Matplotlib is imported when a figure is
drawn, not before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from io import StringIO
from typing import Any
from zlib import crc32

from costlib.units.display import quantity
from costlib.units.numbers import extra

#: Seven hues that keep a contrast of 3:1 on white and on the dark page, told apart by colour-blind
#: readers in this order (blue, orange, green, purple, grey, violet, ochre).
COLOURS = ("#2f7fc1", "#d0640c", "#14916a", "#b5559b", "#808080", "#7a74c9", "#a8801a")

#: Of red pebbles alone, which are always discs: it is too near to the other hues.
RED = "#d5403a"

#: The arrays of a product and of attention, each in one colour in every chapter.
ARRAYS = dict(zip("ABCQKOVSP", (*COLOURS[:3], *COLOURS[:4], *COLOURS[5:]), strict=True))

#: Stands for the page's own text colour until the SVG is finished.
INK = "#010203"
#: Stands for what the page is made of, behind words that lie on lines.
PAPER = "#fdfcfb"
#: Of all words in a chart, in points: a phone has about one pixel for each, a desk 1.4.
TEXT = 11.5
_FONTS = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif'
#: What a page is made of: white, where it does not say.
PAGE = "var(--pst-color-background, #ffffff)"
_HALO = f"paint-order: stroke; stroke: {PAPER}; stroke-width: 3px; stroke-linejoin: round"
_STYLE = {
    "svg.hashsalt": "costlib",
    "svg.fonttype": "none",  # text stays text: small, searchable, sharp
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.titlelocation": "left",
    "figure.labelsize": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.facecolor": PAPER,
    "legend.edgecolor": COLOURS[4],
    "legend.framealpha": 1,
    "legend.fancybox": False,
    "legend.fontsize": TEXT,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 2,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    **dict.fromkeys(
        ["text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "hatch.color"], INK
    ),
    **dict.fromkeys(["grid.color", "xtick.color", "ytick.color"], INK),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A finished figure: SVG, its title and its text alternative. A notebook shows it."""

    svg: str
    title: str
    alt: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": f"{self.title}. {self.alt}"}


class Canvas:
    """The Matplotlib figure while it is being drawn, then the Figure."""

    figure: Any
    axes: Any
    result: Figure

    def done(self) -> None:
        """What is known only when all is drawn: numbers of axes, frames, names that are apart."""
        _plain_numbers(self.figure)
        _name_sides(self.figure)
        for legend in self.figure.legends:  # beside the data, where no frame is needed
            legend.set_frame_on(False)
        if self.figure.ends:
            self.figure.get_layout_engine().execute(self.figure)
            _part(self.figure)


@contextmanager
def canvas(
    title: str,
    alt: str,
    *,
    rows: int = 1,
    columns: int = 1,
    width: float = 5.2,
    height: float = 3.6,
) -> Iterator[Canvas]:
    """Draw on ``.axes`` inside the block; afterwards ``.result`` is the Figure.

    ``title`` states the point, ``alt`` says what a reader who cannot see it would want to know.
    """
    with extra("figures"):
        import matplotlib

    if not title.strip() or not alt.strip():
        raise ValueError("a figure needs a title and a text alternative")
    drawing = Canvas()
    with matplotlib.rc_context(_STYLE):
        drawing.figure = _paper()(figsize=(width, height), layout="constrained")
        drawing.axes = drawing.figure.subplots(rows, columns)
        yield drawing
        drawing.done()
        raw = StringIO()
        drawing.figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None})
    drawing.result = Figure(_finish(raw.getvalue(), title, alt), title, alt)


def halo(words: Any) -> None:
    """Let no line run through these words: the page's paper is around every letter."""
    words.set_gid("halo")


def _part(figure: Any) -> None:
    """Move names of lines that end near one another apart, each with a line back to its end."""
    renderer = figure._get_renderer()
    spans = [(name.get_window_extent(renderer), name) for name in figure.ends]
    groups: list[list[tuple[Any, Any]]] = []
    for span, name in sorted(spans, key=lambda each: each[0].y0 + each[0].y1):
        below = groups[-1][-1][0] if groups else span
        is_near = (
            span.y0 < below.y1 + 0.8 * span.height and below.x0 < span.x1 and span.x0 < below.x1
        )
        groups += [] if groups and is_near else [[]]
        groups[-1].append((span, name))
    for group in groups:
        middles = [(span.y0 + span.y1) / 2 for span, _ in group]
        places = spread(middles, [span.height + 2 for span, _ in group])
        right = max(span.x0 for span, _ in group)
        moves = [
            ((right - span.x0) * 72 / figure.dpi, (then - now) * 72 / figure.dpi)
            for (span, _), now, then in zip(group, middles, places, strict=True)
        ]
        is_far = any(max(aside, abs(moved)) > 6 for aside, moved in moves)
        for (_, name), (aside, moved) in zip(group, moves, strict=True):
            across, up = name.get_position()
            name.set_position((across + aside + 5 * is_far, up + moved))
            name.arrow_patch.set_visible(is_far)


def spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Middles of what is so high, one above the other, as near as can be to where they are wanted.

    >>> spread([0, 10, 11, 30], [5, 5, 5, 5])
    [0.0, 8.0, 13.0, 30.0]
    """
    below = [float(sum(heights[:n]) + high / 2 - heights[0] / 2) for n, high in enumerate(heights)]
    pools: list[tuple[float, int]] = []  # the mean of what its members want, and how many they are
    for place, under in zip(wanted, below, strict=True):
        mean, count = place - under, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    level = [mean for mean, count in pools for _ in range(count)]
    return [mean + under for mean, under in zip(level, below, strict=True)]


@cache
def _paper() -> Any:
    """Matplotlib's figure, but for this: it draws once to lay out and once to save, and the first
    needs no more than the layout."""
    from matplotlib.figure import Figure as MatplotlibFigure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class Paper(MatplotlibFigure):
        def __init__(self, **size: Any) -> None:
            super().__init__(**size)
            self.ends: list[Any] = []  # names of lines, which may have to part

        def draw(self, renderer: Any) -> None:
            engine = self.get_layout_engine()
            if isinstance(engine, ConstrainedLayoutEngine):
                engine.execute(self)
            else:
                super().draw(renderer)

    return Paper


#: Sides of words, as SVG calls them, and how much of their width lies left of there.
_ANCHORS = {"center": ("middle", 0.5), "right": ("end", 1.0)}


def _name_sides(figure: Any) -> None:
    """Say of words in several lines on which side these are flush, which Matplotlib's SVG does not.

    It says where each line begins, by the widths of a font that a page does not have.
    """
    from matplotlib.text import Text

    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # which writes them
    for words in figure.findobj(Text):
        side = words.get_horizontalalignment()
        if "\n" in words.get_text() and side in _ANCHORS and not words.get_rotation():
            words.set_gid(f"{side} halo" if words.get_gid() else side)


def _anchored(group: re.Match[str]) -> str:
    """Words in several lines, each placed by its middle or its end, and not by where it begins."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    side, halo, lines = group.groups()
    anchor, share = _ANCHORS[side]

    def placed(line: re.Match[str]) -> str:
        style, size, x, rest = line.groups()
        weight = "bold" if "700" in style else "normal"
        font = FontProperties(family="DejaVu Sans", size=float(size), weight=weight)
        words = unescape(rest[rest.index(">") + 1 : -1])
        wide, _, _ = text_to_path.get_text_width_height_descent(words, font, False)
        return (
            f'{style}; text-anchor: {anchor}" transform="translate({float(x) + share * wide} {rest}'
        )

    line = r'(style="[^"]*?([\d.]+)px[^"]*)" transform="translate\((\S+) ([^<]*<)'
    named = ' id="halo"' if halo else ""
    return f"<g{named}>{re.sub(line, placed, lines)}</g>"


def _plain_numbers(figure: Any) -> None:
    """Numbers with commas, and in one size: Matplotlib's exponents are too small on a phone.

    A logarithmic axis of two decades also has twos and fives.
    """
    from matplotlib.ticker import (
        LogFormatterSciNotation,
        LogLocator,
        NullFormatter,
        NullLocator,
        ScalarFormatter,
    )

    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
            low, high = sorted(axis.get_view_interval())
            if high < 150 * low:
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(_in_full if low > 5e-4 and high < 5e5 else _with_prefix)
            axis.set_minor_formatter(NullFormatter())
        elif type(axis.get_major_formatter()) is ScalarFormatter:
            axis.set_major_formatter(_commas()())


@cache
def _commas() -> Any:
    """Matplotlib's numbers of an axis, but for thousands, which have commas."""
    from matplotlib.ticker import ScalarFormatter

    class Commas(ScalarFormatter):
        def __call__(self, value: float, place: int | None = None) -> str:
            text = str(super().__call__(value, place))
            return text if abs(value) < 1000 or self.get_offset() else f"{value:,.0f}"

    return Commas


def _in_full(value: float, _: Any = None) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def _with_prefix(value: float, _: Any = None) -> str:
    return quantity(value, "", 3).strip()


def _finish(svg: str, title: str, alt: str) -> str:
    """Matplotlib's SVG, made accessible, themeable, and equal on every machine."""
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Matplotlib's ids hash coordinates, whose last digits depend on the processor; these depend on
    # what is said about the figure, and differ between the figures of a page.
    prefix = f"f{crc32((title + alt).encode()):08x}"
    svg = re.sub('<g id="(center|right)( halo)?">(.*?)</g>', _anchored, svg, flags=re.DOTALL)
    svg = svg.replace('<g id="halo"', f'<g style="{_HALO}"')
    found = dict.fromkeys(re.findall(r' id="([^"]+)"', svg))
    names = {name: f"{prefix}-{number}" for number, name in enumerate(found)}
    uses = re.compile(r'( id="|"#|url\(#)([^")]+)(?=["\)])')
    svg = uses.sub(lambda use: use[1] + names.get(use[2], use[2]), svg)
    svg = re.sub(r"<[^>]+>", lambda tag: _round(tag[0]), svg)
    svg = (
        svg.replace(INK, "currentColor")
        .replace(PAPER, PAGE)
        .replace("'DejaVu Sans'", escape(_FONTS, quote=True))
    )
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None
    head = (
        '<svg class="costlib-figure" role="img" color="#1f2328" '
        f'aria-labelledby="{prefix}-title {prefix}-alt" '
        f'width="{size[1]}" height="{size[2]}" viewBox="0 0 {size[1]} {size[2]}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">\n'
        f'<title id="{prefix}-title">{escape(title)}</title>\n'
        f'<desc id="{prefix}-alt">{escape(alt)}</desc>\n'
        '<rect class="paper" width="100%" height="100%" fill="#ffffff"/>'
    )
    return re.sub(r"<svg[^>]*>", lambda _: head, svg, count=1).rstrip() + "\n"


def _round(tag: str) -> str:
    """A tag with its coordinates to a hundredth of a point."""

    def hundredths(number: re.Match[str]) -> str:
        text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text

    return re.sub(r"-?\d+\.\d+", hundredths, tag)
