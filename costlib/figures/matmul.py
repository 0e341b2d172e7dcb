"""The figures of chapter 1: one product, its rounding, its intensity, its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from costlib.display import quantity
from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.matmul import exact, matmul
from costlib.precision import Precision

__all__ = [
    "backward_products",
    "exact_against_rounded",
    "matmul_intensity",
    "matmul_rates",
    "one_output",
]


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
            cell = Rectangle((left + column, top - row - 1), 1, 1, facecolor=fill, edgecolor=INK)
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
    title = "A square product grows past every ridge; a matrix-vector product stays below 1"
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
    sizes = {"m": m, "k": k, "n": n}
    products = {
        "forward": ("A mk", "B kn", "C mn"),
        "gradient of A": ("C′ mn", "Bᵀ nk", "A′ mk"),
        "gradient of B": ("Aᵀ km", "C′ mn", "B′ kn"),
    }
    told = "; ".join(
        f"{name}, " + "{} ({}×{}) times {} ({}×{}) gives {} ({}×{})".format(*_words(matrices))
        for name, matrices in products.items()
    )
    alt = f"Three rows of rectangles: {told}. Each product takes 2·m·k·n FLOPs."
    with canvas(title, alt, width=5.2, height=4.9) as drawing:
        axes, top = drawing.axes, 0.0
        for name, matrices in products.items():
            axes.text(0, top + 1.5, name, fontsize=12)
            left, tallest = 1.0, max(sizes[matrix[-2]] for matrix in matrices)
            for matrix, sign in zip(matrices, ("×", "=", ""), strict=True):
                rows, columns = (sizes[letter] for letter in matrix[-2:])
                _labelled(axes, (left, top - (tallest - rows) / 2), (rows, columns), matrix)
                axes.text(left + columns + 0.9, top - tallest / 2, sign, ha="center", fontsize=14)
                left += columns + 3.1
            top -= tallest + 3.4
        axes.set(aspect="equal", xlim=(-0.2, m + n + k + 7.4), ylim=(top + 2.6, 2.6))
        axes.axis("off")
    return drawing.result


def _words(matrices: Sequence[str]) -> list[str]:
    return [word for matrix in matrices for word in (matrix[:-3], matrix[-2], matrix[-1])]


def _labelled(axes: Any, corner: tuple[float, float], shape: tuple[int, int], matrix: str) -> None:
    """A matrix as a rectangle of its kind's colour; its name inside, its lengths at its sides."""
    (left, top), (rows, columns) = corner, shape
    colour = COLOURS["ABC".index(matrix[0])]
    _grid(axes, corner, rows, columns, "", lambda *_: True, colour)
    name = axes.text(left + columns / 2, top - rows / 2, matrix[:-3], ha="center", va="center")
    name.set(color="#ffffff", fontsize=15, fontweight="bold")
    name.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 2})
    axes.text(left - 0.25, top - rows / 2, matrix[-2], ha="right", va="center", style="italic")
    axes.text(left + columns / 2, top + 0.25, matrix[-1], ha="center", style="italic")


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
