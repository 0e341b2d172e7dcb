"""The figures of chapter 1: one product, its rounding, its intensity, its backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from costfigures.canvas import ARRAYS, COLOURS, Figure, canvas
from costfigures.chart import lines, mark, note
from costfigures.sketch import TINT, Point, Sketch, sketch
from costlib.layers.matmul import exact, matmul, matmul_backward
from costlib.units.display import quantity
from costlib.units.precision import Precision

# ---------------------------------------------------------------- one output


def one_output(
    row: Sequence[int] = (2, 1, 3, 1, 2),
    column: Sequence[int] = (1, 4, 2, 5, 3),
    m: int = 4,
    n: int = 3,
) -> Figure:
    """One output of an m×k by k×n product: its row, its column, and the chain of FMAs."""
    if len(row) != len(column):
        raise ValueError(f"row and column must be of one length, got {len(row)} and {len(column)}")
    k = len(row)
    sums = [int(total) for total in np.cumsum(np.multiply(row, column))]
    title = f"{k} multiply-adds make one output; {m}×{n} outputs take {matmul(m, k, n).flops // 2}"
    steps = ", ".join(
        f"{a} times {b} makes {total}" for a, b, total in zip(row, column, sums, strict=True)
    )
    alt = (
        f"Three grids: A is {m} by {k}, B is {k} by {n}, C is {m} by {n}. The second row of A and "
        f"the second column of B are filled with numbers and meet in one cell of C. Below, a "
        f"chain of {k} boxes, each a multiplication and an addition, takes a pair of them and "
        f"passes its sum to the next box, starting from 0: {steps}, which is the cell of C."
    )
    with sketch(title, alt, height=272) as drawing:
        _three_grids(drawing, row, column, (m, n), sums[-1])
        _chain(drawing, 180, row, column, sums)
    return drawing.result


def _three_grids(
    drawing: Sketch, row: Sequence[int], column: Sequence[int], shape: tuple[int, int], result: int
) -> None:
    side, top, k, (m, n) = 20, 26, len(row), shape
    lefts = (6, 6 + k * side + 46, 6 + (k + n) * side + 92)
    for left, name, size, words in (
        (lefts[0], "A", (m, k), {(1, i): a for i, a in enumerate(row)}),
        (lefts[1], "B", (k, n), {(i, 1): b for i, b in enumerate(column)}),
        (lefts[2], "C", (m, n), {(1, 1): result}),
    ):
        drawing.grid((left, top), *size, side, ARRAYS[name] + TINT, words, words=words)
        drawing.text((left, top - 12), f"{name}: {size[0]} × {size[1]}")
    for sign, right in zip("×=", lefts[1:], strict=True):
        drawing.text((right - 23, top + 2 * side), sign, align="middle")


def _chain(
    drawing: Sketch, top: float, row: Sequence[int], column: Sequence[int], sums: Sequence[int]
) -> None:
    """A box for each FMA, two numbers from above, the sum so far from the left."""
    step, wide, middle = 284 / (len(row) - 1), 34, top + 34
    held = [0, *sums]
    for i, (a, b) in enumerate(zip(row, column, strict=True)):
        left = 36 + i * step
        drawing.arrow((left - step + wide, middle), (left, middle))
        before = left - (step - wide) / 2 - 2
        drawing.text((before, middle - 8), str(held[i]), align="middle", bold=True)
        for at, number, colour in ((wide / 2 - 9, a, ARRAYS["A"]), (wide / 2 + 9, b, ARRAYS["B"])):
            drawing.box((left + at - 8, top - 19), 16, 16, str(number), fill=colour + TINT)
            drawing.arrow((left + at, top - 3), (left + at, top + 18))
        drawing.box((left, top + 18), wide, 32, "× +")
    end = 36 + (len(row) - 1) * step + wide / 2
    drawing.arrow((end, top + 50), (end, top + 64))
    drawing.box((end - 12, top + 64), 24, 20, str(sums[-1]), fill=ARRAYS["C"] + TINT, bold=True)


# ---------------------------------------------------------------- rounding and intensity


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
    with canvas(title, alt, height=3.2) as drawing:
        drawing.axes.loglog(k, 100 * excess, color=COLOURS[0])
        for length, value in at.items():
            drawing.axes.plot([length], [100 * value], "o", color=COLOURS[1])
            note(drawing.axes, (length, 100 * value), f"k = {length:,}: {value:.2%}", (8, 4))
        drawing.axes.set(xlabel="inner length k", ylabel="excess over the exact count, %")
        drawing.axes.set(xlim=(0.8, 60000), ylim=(2e-3, 300))
    return drawing.result


def matmul_intensity(ridges: Mapping[str, float], bytes_per_element: float = 2) -> Figure:
    """Arithmetic intensity of square and matrix-vector products against n, beside ridge points."""
    n = np.arange(1, 16385)
    precision = Precision.uniform(bytes_per_element)
    square = matmul(n, n, n).intensity(precision)
    vector = matmul(n, n, 1).intensity(precision)
    crossings = {name: int(n[np.argmax(square > ridge)]) for name, ridge in ridges.items()}
    title = "A square product grows past every ridge; a matrix-vector product stays below 1"
    alt = (
        f"FLOPs per byte against n on log-log axes at {bytes_per_element} bytes per element. The "
        f"square product rises in a straight line to {square[-1]:,.0f} at n = {n[-1]:,}. The "
        f"matrix-vector product levels off at {vector[-1]:.2f}. Horizontal lines mark ridges: "
        + ", ".join(
            f"{name} at {ridge:,.0f}, which the square product passes at n = {crossings[name]:,}"
            for name, ridge in ridges.items()
        )
        + "."
    )
    shown = np.unique(np.geomspace(1, 16384, 40).astype(int)) - 1
    with canvas(title, alt) as drawing:
        axes = drawing.axes
        found = {"n×n times n×n": square[shown], "n×n times n×1": vector[shown]}
        lines(axes, n[shown], found)
        for name, ridge in ridges.items():
            mark(axes, f"{name}: ridge {ridge:,.0f}", y=ridge)
            axes.plot([crossings[name]], [ridge], "o", color=COLOURS[0])
            note(axes, (crossings[name], ridge), f"n = {crossings[name]:,}", (6, -5))
        axes.set(xlabel="n", ylabel="FLOPs per byte")
    return drawing.result


# ---------------------------------------------------------------- backward


_PRODUCTS = {  # each matrix with its rows and columns; a prime is a gradient
    "forward": ("A mk", "B kn", "C mn"),
    "gradient of A": ("C′ mn", "Bᵀ nk", "A′ mk"),
    "gradient of B": ("Aᵀ km", "C′ mn", "B′ kn"),
}


def backward_products(m: int = 6, k: int = 4, n: int = 3) -> Figure:
    """The forward product and the two of the backward pass, drawn to scale."""
    sizes = {"m": m, "k": k, "n": n}
    forward, *backward = (op.flops for op in (matmul(m, k, n), *matmul_backward(m, k, n)))
    times = sum(backward) // forward
    title = f"Backward is {times} products of the forward product's size"
    told = "; ".join(
        f"{name}, "
        + "{} ({}×{}) times {} ({}×{}) gives {} ({}×{})".format(
            *(word for each in matrices for word in _parts(each))
        )
        for name, matrices in _PRODUCTS.items()
    )
    alt = (
        f"Three rows of rectangles to scale, two factors and their product: {told}. In each row "
        "the length that both factors share is summed over and drawn heavy: k forward, n and m "
        "backward. Each row takes 2·m·k·n FLOPs."
    )
    unit, top = 13.0, 36.0
    with sketch(title, alt, height=unit * (2 * m + max(k, m)) + 142) as drawing:
        for name, matrices in _PRODUCTS.items():
            tallest = max(sizes[_parts(each)[1]] for each in matrices)
            middle = top + unit * tallest / 2
            drawing.text((4, top - 27), name, bold=True)
            _product(drawing, (24.0, middle), matrices, sizes, unit)
            drawing.text((282, middle - 8), f"sums over {matrices[0][-1]}")
            drawing.text((282, middle + 8), "2·m·k·n FLOPs")
            top += unit * tallest + 48
    return drawing.result


def _parts(matrix: str) -> tuple[str, str, str]:
    """The name of a matrix, the letter of its rows, the letter of its columns."""
    return matrix[:-3], matrix[-2], matrix[-1]


def _product(
    drawing: Sketch, at: Point, matrices: Sequence[str], sizes: Mapping[str, int], unit: float
) -> None:
    """Two factors and their product around a line, the shared length of the factors heavy."""
    (left, middle), shared = at, matrices[0][-1]
    for matrix, sign in zip(matrices, ("×", "=", ""), strict=True):
        name, rows, columns = _parts(matrix)
        wide, high = unit * sizes[columns], unit * sizes[rows]
        top = middle - high / 2
        colour = ARRAYS[matrix[0]]
        drawing.box((left, top), wide, high, name, fill=colour + TINT)
        if columns == shared and sign == "×":
            drawing.line((left, top), (left + wide, top), colour=colour, width=4)
        if rows == shared and sign == "=":
            drawing.line((left, top), (left, top + high), colour=colour, width=4)
        drawing.text((left - 9, middle), rows, align="middle", italic=True)
        drawing.text((left + wide / 2, top - 9), columns, align="middle", italic=True)
        drawing.text((left + wide + 13, middle), sign, align="middle")
        left += wide + 44


# ---------------------------------------------------------------- measured


def matmul_rates(sizes: Sequence[int], seconds: Sequence[float]) -> Figure:
    """Measured FLOP/s of n×n products against n."""
    rates = [matmul(n, n, n).flops / time for n, time in zip(sizes, seconds, strict=True)]
    best = max(rates)
    title = f"This machine's NumPy reaches {quantity(best, 'FLOP/s', 3)}"
    alt = "Measured rate against n: " + ", ".join(
        f"{quantity(rate, 'FLOP/s', 3)} at n = {n}" for n, rate in zip(sizes, rates, strict=True)
    )
    with canvas(title, alt, height=2.9) as drawing:
        drawing.axes.loglog(sizes, [rate / 1e9 for rate in rates], "o-", color=COLOURS[0])
        fastest = sizes[rates.index(best)], best / 1e9
        note(drawing.axes, fastest, quantity(best, "FLOP/s", 3), (-0.01, 6))
        drawing.axes.margins(y=0.2)
        drawing.axes.set(xlabel="n", ylabel="GFLOP/s")
    return drawing.result
