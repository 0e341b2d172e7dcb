"""One function per figure, and the one way a figure reaches a page.

A figure is SVG that says what it shows in words, looks right on light and dark pages, and is the
same text on every machine, so that a test can compare it. Matplotlib is imported when a figure is
drawn, not before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any
from zlib import crc32

import numpy as np

from costlib.display import quantity
from costlib.ledger import Ledger, Precision
from costlib.matmul import exact, matmul
from costlib.roofline import Device, Limit, limits

__all__ = [
    "COLOURS",
    "Figure",
    "backward_products",
    "best_batch",
    "canvas",
    "exact_against_rounded",
    "matmul_intensity",
    "matmul_rates",
    "one_output",
    "roofline",
]

#: Seven hues that keep a contrast of 3:1 on white and on the dark page, told apart by colour-blind
#: readers in this order (blue, orange, green, purple, grey, violet, ochre).
COLOURS = ("#2f7fc1", "#d0640c", "#14916a", "#b5559b", "#808080", "#7a74c9", "#a8801a")

_INK = "#010203"  # stands for the page's own text colour until the SVG is finished
_FONTS = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif'
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
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    **dict.fromkeys(
        ["text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "grid.color"], _INK
    ),
    **dict.fromkeys(["xtick.color", "ytick.color"], _INK),
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
    title: str, alt: str, *, columns: int = 1, width: float = 6.0, height: float = 3.6
) -> Iterator[_Canvas]:
    """Draw on ``.axes`` inside the block; afterwards ``.result`` is the Figure.

    ``title`` states the point, ``alt`` says what a reader who cannot see it would want to know.
    """
    import matplotlib
    from matplotlib.figure import Figure as MatplotlibFigure

    if not title.strip() or not alt.strip():
        raise ValueError("a figure needs a title and a text alternative")
    drawing = _Canvas()
    with matplotlib.rc_context(_STYLE):
        drawing.figure = MatplotlibFigure(figsize=(width, height), layout="constrained")
        drawing.axes = drawing.figure.subplots(1, columns)
        yield drawing
        raw = StringIO()
        drawing.figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None})
    drawing.result = Figure(_finish(raw.getvalue(), title, alt), title, alt)


def _finish(svg: str, title: str, alt: str) -> str:
    """Matplotlib's SVG, made accessible, themeable, and equal on every machine."""
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Matplotlib's ids hash coordinates, whose last digits depend on the processor; these depend on
    # what is said about the figure, and differ between the figures of a page.
    prefix = f"f{crc32((title + alt).encode()):08x}"
    for number, name in enumerate(dict.fromkeys(re.findall(r' id="([^"]+)"', svg))):
        svg = re.sub(
            rf'( id="|"#|url\(#){re.escape(name)}(?=["\)])', rf"\g<1>{prefix}-{number}", svg
        )
    svg = re.sub(r"<[^>]+>", lambda tag: _round(tag[0]), svg)
    svg = svg.replace(_INK, "currentColor").replace("'DejaVu Sans'", escape(_FONTS, quote=True))
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


# ---------------------------------------------------------------- chapter 1: matmul FLOPs


def one_output(m: int = 4, k: int = 5, n: int = 3) -> Figure:
    """One output of a matrix product is one row times one column."""
    title = "Each output is one row times one column"
    alt = (
        f"Three grids. A has {m} rows and {k} columns, B has {k} rows and {n} columns, "
        f"C has {m} rows and {n} columns. The second row of A and the second column of B are "
        f"filled; they meet in one filled cell of C, which takes {k} multiplications and "
        f"{k - 1} additions. C has {m * n} such cells."
    )
    with canvas(title, alt, width=6.0, height=2.5) as drawing:
        axes = drawing.axes
        _grid(axes, (0, 0), m, k, f"A: {m} × {k}", lambda row, _: row == 1, COLOURS[0])
        _grid(axes, (k + 1.4, 0), k, n, f"B: {k} × {n}", lambda _, col: col == 1, COLOURS[1])
        _grid(axes, (k + n + 3.2, 0), m, n, f"C: {m} × {n}", lambda r, c: r == c == 1, COLOURS[2])
        axes.text(k + 0.7, -2, "×", ha="center", va="center", fontsize=16)
        axes.text(k + n + 2.3, -2, "=", ha="center", va="center", fontsize=16)
        axes.set(aspect="equal", xlim=(-0.2, k + 2 * n + 3.6), ylim=(-max(m, k) - 0.2, 0.9))
        axes.axis("off")
    return drawing.result


def _grid(
    axes: Any,
    corner: tuple[float, float],
    rows: int,
    columns: int,
    label: str,
    is_filled: Callable[[int, int], bool],
    colour: str,
) -> None:
    from matplotlib.patches import Rectangle

    left, top = corner
    for row in range(rows):
        for column in range(columns):
            fill = colour if is_filled(row, column) else "none"
            cell = Rectangle((left + column, top - row - 1), 1, 1, facecolor=fill, edgecolor=_INK)
            axes.add_patch(cell)
    axes.text(left, top + 0.3, label, fontsize=11)


def exact_against_rounded(lengths: Sequence[int] = (1, 3, 64, 4096)) -> Figure:
    """By how much 2·m·k·n exceeds the exact count, against the inner length k."""
    k = np.unique(np.geomspace(1, 16384, 200).astype(int))
    count = exact(1, k, 1)
    excess = matmul(1, k, 1).flops / count.total - 1
    at = {length: matmul(1, length, 1).flops / exact(1, length, 1).total - 1 for length in lengths}
    told = ", ".join(
        f"{value:.3g} of the exact count at k = {length}" for length, value in at.items()
    )
    title = "2·m·k·n rounds up by 1/(2k − 1)"
    alt = f"A falling straight line on log-log axes. The excess is {told}."
    with canvas(title, alt) as drawing:
        drawing.axes.loglog(k, excess, color=COLOURS[0])
        for length, value in at.items():
            drawing.axes.plot([length], [value], "o", color=COLOURS[1])
            drawing.axes.annotate(
                f"k = {length:,}: {value:.2%}", (length, value), (8, 4), textcoords="offset points"
            )
        drawing.axes.set(xlabel="inner length k", ylabel="excess over the exact count")
        drawing.axes.set(xlim=(0.8, 60000), ylim=(2e-5, 3))
        drawing.axes.set_title(title)
    return drawing.result


def matmul_intensity(ridges: Mapping[str, float], bytes_per_element: float = 2) -> Figure:
    """Arithmetic intensity of square and matrix-vector products against n, beside ridge points."""
    n = np.unique(np.geomspace(1, 16384, 60).astype(int))
    precision = Precision.uniform(bytes_per_element)
    square = matmul(n, n, n).intensity(precision)
    vector = matmul(n, n, 1).intensity(precision)
    title = "A square product grows past every ridge; a matrix-vector product never leaves 1"
    alt = (
        f"FLOPs per byte against n on log-log axes at {bytes_per_element} bytes per element. The "
        f"square product rises in a straight line to {square[-1]:,.0f} at n = {n[-1]:,}. The "
        f"matrix-vector product levels off at {vector[-1]:.2f}. Horizontal lines mark ridges: "
        + ", ".join(f"{name} at {ridge:,.0f}" for name, ridge in ridges.items())
        + "."
    )
    with canvas(title, alt, height=4.2) as drawing:
        axes = drawing.axes
        axes.loglog(n, square, color=COLOURS[0])
        axes.loglog(n, vector, color=COLOURS[1], linestyle="--")
        axes.text(60, 40, "n×n times n×n", color=COLOURS[0], ha="right")
        axes.text(300, 1.25, "n×n times n×1", color=COLOURS[1])
        for name, ridge in ridges.items():
            axes.axhline(ridge, color=COLOURS[4], linewidth=1, linestyle=":")
            axes.text(1, ridge * 1.08, f"{name}: ridge {ridge:,.0f}", fontsize=10)
        axes.set(xlabel="n", ylabel="FLOPs per byte", ylim=(0.2, 8000))
    return drawing.result


def backward_products(m: int = 6, k: int = 4, n: int = 3) -> Figure:
    """The forward product and the two of the backward pass, drawn to scale."""
    title = "Backward is two products of the forward product's size"
    products = [
        ("forward: C = A·B", (m, k), (k, n), (m, n)),
        ("dA = dC·Bᵀ", (m, n), (n, k), (m, k)),
        ("dB = Aᵀ·dC", (k, m), (m, n), (k, n)),
    ]
    alt = "Three rows of rectangles: " + "; ".join(
        f"{name}, {a[0]}×{a[1]} times {b[0]}×{b[1]} gives {c[0]}×{c[1]}"
        for name, a, b, c in products
    )
    with canvas(title, f"{alt}. Each takes 2·{m}·{k}·{n} FLOPs.", columns=3, height=1.7) as drawing:
        for axes, (name, *shapes) in zip(drawing.axes, products, strict=True):
            left = 0.0
            for shape, sign, colour in zip(shapes, ("×", "=", ""), COLOURS, strict=False):
                _grid(axes, (left, 0), *shape, "", lambda *_: True, colour)
                axes.text(left + shape[1] + 0.6, -2, sign, ha="center", va="center", fontsize=13)
                left += shape[1] + 1.2
            axes.set(aspect="equal", xlim=(-0.2, left), ylim=(-m - 0.2, 0.8))
            axes.set_title(name, fontsize=10.5)
            axes.axis("off")
    return drawing.result


def matmul_rates(sizes: Sequence[int], seconds: Sequence[float]) -> Figure:
    """Measured FLOP/s of n×n products against n."""
    rates = [matmul(n, n, n).flops / time for n, time in zip(sizes, seconds, strict=True)]
    best = max(rates)
    title = f"This machine's NumPy reaches {quantity(best, 'FLOP/s', 3)}"
    alt = "Measured rate against n: " + ", ".join(
        f"{quantity(rate, 'FLOP/s', 3)} at n = {n}" for n, rate in zip(sizes, rates, strict=True)
    )
    with canvas(title, alt, height=3.2) as drawing:
        drawing.axes.loglog(sizes, [rate / 1e9 for rate in rates], "o-", color=COLOURS[0])
        drawing.axes.set(xlabel="n", ylabel="GFLOP/s", title=title)
    return drawing.result


# ---------------------------------------------------------------- chapter 5: roofline


def roofline(
    ledger: Ledger,
    device: Device,
    *,
    dtype: str = "bf16",
    precision: Precision | None = None,
    named: int = 5,
) -> Figure:
    """Every op of a ledger as a point under a device's roofline; the slowest ones are named.

    Compute-bound ops are squares, memory-bound ones circles; area grows with the share of time.
    """
    points = [p for p in limits(ledger, device, dtype=dtype, precision=precision) if p.flops]
    total = sum(point.time for point in points)
    slowest = _slowest(points, total)[:named]
    ridge = device.ridge(dtype)
    memory = sum(point.time for point in points if not point.is_compute_bound) / total
    title = f"{memory:.0%} of the time memory bound on {device.name} (ridge {ridge:,.0f})"
    shares = "; ".join(
        f"{text} of the time, {point.intensity:.3g} FLOPs per byte, {point.bound} bound"
        for text, point in slowest
    )
    alt = (
        "Log-log chart of FLOP/s against FLOPs per byte. The roof rises to "
        f"{quantity(device.compute_rate(dtype), 'FLOP/s')} at the ridge and is flat from there. "
        f"{shares}. {len(points)} ops in all."
    )
    with canvas(title, alt, height=4.2) as drawing:
        axes = drawing.axes
        _roof(axes, device, dtype, [point.intensity for point in points])
        _ops(axes, points, total)
        for line, (text, point) in enumerate(slowest):
            axes.annotate(
                text,
                (point.intensity, point.rate),
                (0.98, 0.42 - 0.08 * line),
                textcoords="axes fraction",
                ha="right",
                fontsize=10,
                arrowprops={"arrowstyle": "-", "color": COLOURS[4], "linewidth": 0.6},
            )
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s", title=title)
        axes.legend(loc="upper left", fontsize=10)
    return drawing.result


def _slowest(points: Sequence[Limit], total: float) -> list[tuple[str, Limit]]:
    """Ops that share a place on the roofline, with their share of the time, slowest first."""
    places: dict[str, list[Limit]] = {}
    for point in sorted(points, key=lambda point: -point.time):
        places.setdefault(f"{point.intensity:.2g} {point.is_compute_bound}", []).append(point)
    shares = {place: sum(p.time for p in there) / total for place, there in places.items()}
    named = []
    for place, there in sorted(places.items(), key=lambda item: -shares[item[0]]):
        names = ", ".join(point.name for point in there[:2])
        others = f" + {len(there) - 2}" if len(there) > 2 else ""
        named.append((f"{names}{others}: {shares[place]:.0%}", there[0]))
    return [each for each in named if not each[0].endswith(": 0%")]


def _roof(axes: Any, device: Device, dtype: str, intensities: Sequence[float]) -> None:
    ridge = device.ridge(dtype)
    ends = [min(0.1, *intensities) / 2, ridge, max(ridge * 10, *intensities)]
    axes.loglog(ends, device.attainable(np.array(ends), dtype), color=_INK, linewidth=1.5)
    axes.axvline(ridge, color=COLOURS[4], linewidth=1, linestyle=":")


def _ops(axes: Any, points: Sequence[Limit], total: float) -> None:
    for compute_bound, marker, colour in ((True, "s", COLOURS[1]), (False, "o", COLOURS[0])):
        label = "compute bound" if compute_bound else "memory bound"
        axes.plot([], [], marker, color=colour, label=label)
        chosen = [point for point in points if point.is_compute_bound == compute_bound]
        axes.scatter(
            [point.intensity for point in chosen],
            [point.rate for point in chosen],
            [20 + 400 * point.time / total for point in chosen],
            color=colour,
            marker=marker,
            alpha=0.7,
        )


# ---------------------------------------------------------------- sweeps


def best_batch(
    contexts: Sequence[int],
    most_that_fit: Sequence[int],
    most_in_time: Sequence[int],
    tokens_per_second: Sequence[float],
) -> Figure:
    """The two limits on the batch, and the rate of the best one, against the context length."""
    memory_stops = np.asarray(most_that_fit) < np.asarray(most_in_time)
    crossing = int(contexts[int(memory_stops.argmax())]) if memory_stops.any() else None
    stopped = "time" if crossing is None else f"time up to {crossing:,} tokens, then memory"
    title = f"What limits the batch: {stopped}"
    at = [list(contexts).index(c) for c in (1024, 4096, 16000) if c in contexts]
    alt = "Two panels against context length on logarithmic axes. " + "; ".join(
        f"at {contexts[i]:,} tokens {most_that_fit[i]} sequences fit, {most_in_time[i]} are in "
        f"time, and the best rate is {tokens_per_second[i]:,.0f} tokens per second"
        for i in at
    )
    with canvas(title, alt, columns=2, height=3.3) as drawing:
        left, right = drawing.axes
        left.loglog(contexts, most_that_fit, color=COLOURS[4], label="fit")
        left.loglog(contexts, most_in_time, ":", color=COLOURS[1], label="in time")
        best = np.minimum(most_that_fit, most_in_time)
        left.loglog(contexts, best, color=COLOURS[0], linewidth=3, alpha=0.5, label="best")
        left.set(xlabel="context", title="sequences")
        left.legend(fontsize=10)
        right.loglog(contexts, tokens_per_second, color=COLOURS[0])
        right.set(xlabel="context", title="tokens/s")
    return drawing.result
