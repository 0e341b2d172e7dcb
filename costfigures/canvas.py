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
from html import escape
from io import StringIO
from typing import Any
from zlib import crc32

from costlib.units.numbers import extra

__all__ = [
    "ARRAYS",
    "COLOURS",
    "INK",
    "PAGE",
    "PAPER",
    "RED",
    "Figure",
    "canvas",
    "name_ends",
    "name_line",
]

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
_FONTS = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif'
#: What a page is made of: white, where it does not say.
PAGE = "var(--pst-color-background, #ffffff)"
_STYLE = {
    "svg.hashsalt": "costlib",
    "svg.fonttype": "none",  # text stays text: small, searchable, sharp
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.facecolor": PAPER,
    "legend.edgecolor": COLOURS[4],
    "legend.framealpha": 1,
    "legend.fancybox": False,
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


class _Canvas:
    """The Matplotlib figure while it is being drawn, then the Figure."""

    figure: Any
    axes: Any
    result: Figure


@contextmanager
def canvas(
    title: str,
    alt: str,
    *,
    rows: int = 1,
    columns: int = 1,
    width: float = 6.0,
    height: float = 3.6,
) -> Iterator[_Canvas]:
    """Draw on ``.axes`` inside the block; afterwards ``.result`` is the Figure.

    ``title`` states the point, ``alt`` says what a reader who cannot see it would want to know.
    """
    with extra("figures"):
        import matplotlib

    if not title.strip() or not alt.strip():
        raise ValueError("a figure needs a title and a text alternative")
    drawing = _Canvas()
    with matplotlib.rc_context(_STYLE):
        drawing.figure = _paper()(figsize=(width, height), layout="constrained")
        drawing.axes = drawing.figure.subplots(rows, columns)
        yield drawing
        _plain_powers(drawing.figure)
        for legend in drawing.figure.legends:  # beside the data, where no frame is needed
            legend.set_frame_on(False)
        raw = StringIO()
        drawing.figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None})
    drawing.result = Figure(_finish(raw.getvalue(), title, alt), title, alt)


def name_line(axes: Any, at: tuple[float, float], words: str, number: int, **more: Any) -> None:
    """A line's name beside it, on paper so that lines do not run through it."""
    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
    more = {"fontsize": 10.5, "color": COLOURS[number], "bbox": box, **more}
    axes.annotate(words, at, **{"textcoords": "offset points", "xytext": (0, 0), **more})


def name_ends(axes: Any, ends: Sequence[tuple[float, str]], gap: float = 0.085) -> None:
    """Lines' names to the right of the axes, each at the height of its line's end, or as near to it
    as its neighbours allow. ``ends``: height and name, in the order of the colours; limits first.
    """
    axes.autoscale_view()
    shares = axes.transData + axes.transAxes.inverted()
    heights = [shares.transform((1, height))[1] for height, _ in ends]
    rising, places = sorted(range(len(ends)), key=heights.__getitem__), list[float]()
    for number in rising:
        places.append(max([heights[number], *(places[-1:] and [places[-1] + gap])]))
    for number, place in zip(rising, places, strict=True):
        top = 1.0 - gap * (len(places) - 1 - rising.index(number))
        look = {"color": COLOURS[number], "fontsize": 10.5, "va": "center"}
        axes.text(1.02, min(place, top), ends[number][1], transform=axes.transAxes, **look)


@cache
def _paper() -> Any:
    """Matplotlib's figure, but for this: it draws once to lay out and once to save, and the first
    needs no more than the layout."""
    from matplotlib.figure import Figure as MatplotlibFigure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class Paper(MatplotlibFigure):
        def draw(self, renderer: Any) -> None:
            engine = self.get_layout_engine()
            if isinstance(engine, ConstrainedLayoutEngine):
                engine.execute(self)
            else:
                super().draw(renderer)

    return Paper


def _plain_powers(figure: Any) -> None:
    """Numbers on logarithmic axes in one size: Matplotlib's exponents are too small on a phone."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Plain(LogFormatterSciNotation):
        """Labels what its base would, in other words."""

        def __call__(self, value: float, place: Any = None) -> str:
            axis: Any = self.axis
            low, high = sorted(axis.get_view_interval())
            form = _in_full if low > 5e-4 and high < 5e5 else power_of_ten
            return form(value) if super().__call__(value, place) else ""

    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
            axis.set_major_formatter(Plain(labelOnlyBase=True))
            axis.set_minor_formatter(Plain())


def _in_full(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def power_of_ten(value: float) -> str:
    """10⁴, or 2·10⁴, in one size.

    >>> power_of_ten(1e4), power_of_ten(2e-12)
    ('10⁴', '2·10⁻¹²')
    """
    digit, exponent = f"{value:.0e}".split("e")
    power = "10" + str(int(exponent)).translate(_RAISED)
    return power if digit == "1" else f"{digit}·{power}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _finish(svg: str, title: str, alt: str) -> str:
    """Matplotlib's SVG, made accessible, themeable, and equal on every machine."""
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Matplotlib's ids hash coordinates, whose last digits depend on the processor; these depend on
    # what is said about the figure, and differ between the figures of a page.
    prefix = f"f{crc32((title + alt).encode()):08x}"
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
