"""Figures of the lower bounds: what one segment of a schedule holds, and what it can do with it.

Each function returns a `costlib.figures.Figure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from costlib.figures.canvas import COLOURS, Figure, canvas
from costlib.figures.tiles import GREY, SMALL, WIDTH
from costlib.numbers import sizes

__all__ = ["segment"]


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
    with canvas(title, alt, width=WIDTH, height=4.4) as drawing:
        axes = drawing.axes
        _grid(axes, N, rows, cols)
        _strip(axes, "Q", N, rows, d, at=-0.4, upright=True, colour=0)
        _strip(axes, "O", N, rows, d, at=-0.4 - d - 0.9, upright=True, colour=2)
        _strip(axes, "K", N, cols, d, at=0.4, upright=False, colour=1)
        _strip(axes, "V", N, cols, d, at=0.4 + d + 0.9, upright=False, colour=3)
        _tally(axes, parts, N, M)
        axes.set(aspect="equal", xlim=(-2 * d - 3.2, N + 6.4), ylim=(-N - 0.6, 2 * d + 3))
        axes.axis("off")
    return drawing.result


def _grid(axes: Any, N: int, rows: int, cols: int) -> None:
    """All pairs, and those whose scores can be made in the segment."""
    for row in range(N):
        for column in range(N):
            _box(axes, column, -row - 1, GREY, "55" if row < rows and column < cols else "")
    axes.text(cols / 2, -rows / 2, f"{rows * cols} pairs", ha="center", va="center", fontsize=12)


def _strip(
    axes: Any, name: str, N: int, whole: int, d: int, *, at: float, upright: bool, colour: int
) -> None:
    """A matrix along a side of the grid, d entries to a row; the available ones are filled."""
    for index in range(N):
        for entry in range(d):
            x, y = (at - entry - 1, -index - 1) if upright else (index, at + entry)
            _box(axes, x, y, COLOURS[colour], "88" if index < whole else "")
    middle = (at - d / 2, 0.5) if upright else (N + 0.5, at + d / 2)
    axes.text(*middle, name, ha="center", va="center", fontsize=12)


def _box(axes: Any, x: float, y: float, colour: str, filled: str) -> None:
    from matplotlib.patches import Rectangle

    face = colour + filled if filled else "none"
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor=colour, linewidth=0.8))


def _tally(axes: Any, parts: dict[str, int], N: int, M: int) -> None:
    """The entries, added up beside the grid."""
    words = {"Q": "of Q", "K": "of K", "V": "of V", "O": "output trees"}
    lines: Sequence[str] = [f"{parts[name]:3} {words[name]}" for name in words]
    text = "\n".join([*lines, "", f"{sum(parts.values())} of 2M = {2 * M}"])
    axes.text(N + 0.9, -N / 2, text, ha="left", va="center", fontsize=SMALL)
