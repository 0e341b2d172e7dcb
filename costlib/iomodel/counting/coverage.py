"""What the live tiles of a causal mask cover: tiles wholly above the diagonal are skipped.

The cover is a sum of floors, found in O(log N) steps for ints and arrays; with symbols it stays a
sum. Only the causal forms look at the numbers to find it, so lazy arrays can be passed to the
others alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from costlib.units.numbers import Number, ceil_div, is_symbolic, minimum, sizes, triangle

__all__ = ["covered_columns", "covered_entries", "covered_rows", "sum_of_quotients"]


def covered_columns(
    N: Number, block_rows: Number, block_cols: Number, *, causal: bool = False
) -> Any:
    """Columns covered by the live tiles, summed over the blocks of rows: ⌈N/block_rows⌉·N unmasked.

    Causal: block i of rows needs min(N, block_cols·⌈i·block_rows/block_cols⌉) columns, and the last
    block needs all N.

    >>> covered_columns(10, 4, 3), covered_columns(10, 4, 3, causal=True)
    (30, 25)
    """
    N, block_rows, block_cols = sizes(N=N, block_rows=block_rows, block_cols=block_cols)
    blocks = ceil_div(N, block_rows)
    if not causal:
        return blocks * N
    whole = block_cols * (N // block_cols)
    inside = minimum(whole // block_rows, blocks - 1)  # blocks whose tiles end within whole tiles
    ceilings = sum_of_quotients(inside, block_rows, block_cols, up=True)
    return block_cols * ceilings + (blocks - inside) * N


def covered_rows(N: Number, block_rows: Number, block_cols: Number, *, causal: bool = False) -> Any:
    """Rows covered by the live tiles, summed over the blocks of columns: ⌈N/block_cols⌉·N unmasked.

    Causal: block j of columns is needed from row block_rows·⌊j·block_cols/block_rows⌋ on.

    >>> covered_rows(10, 4, 3), covered_rows(10, 4, 3, causal=True)
    (40, 28)
    """
    N, block_rows, block_cols = sizes(N=N, block_rows=block_rows, block_cols=block_cols)
    blocks = ceil_div(N, block_cols)
    if not causal:
        return blocks * N
    return blocks * N - block_rows * sum_of_quotients(blocks - 1, block_cols, block_rows)


def covered_entries(N: Number, tile: Number, *, causal: bool = False) -> Any:
    """Scores in the live square tiles: N² unmasked; causal about half, plus a diagonal excess.

    >>> covered_entries(10, 4), covered_entries(10, 4, causal=True)
    (100, 68)
    """
    N, tile = sizes(N=N, tile=tile)
    if not causal:
        return N * N
    whole = ceil_div(N, tile) - 1
    return triangle(whole) * tile * tile + (N - whole * tile) * N


def sum_of_quotients(terms: Number, step: Number, divisor: Number, *, up: bool = False) -> Any:
    """Σ ⌊i·step/divisor⌋ for i = 1 … terms, or of the ceilings, by the steps of Euclid's algorithm.

    Counting the lattice points under a line: whole slopes and offsets are summed directly, and what
    is left is the same count with the axes exchanged.

    >>> sum_of_quotients(4, 3, 2), sum_of_quotients(4, 3, 2, up=True)
    (14, 16)
    """
    if is_symbolic(terms, step, divisor):
        import sympy

        # From 1, because a sum of floors from 0 sometimes takes ⌊0⌋ for −1 (SymPy 1.14).
        i = sympy.Dummy("i", integer=True, positive=True)
        rounded = (sympy.ceiling if up else sympy.floor)(step * i / divisor)
        return sympy.Sum(rounded, (i, 1, terms))
    line: tuple[Any, ...] = (terms, divisor, step, step + divisor - 1 if up else step)
    if any(isinstance(value, np.ndarray) for value in line):
        return _floor_sums(*np.broadcast_arrays(*line))
    return _floor_sum(*line)


def _floor_sum(terms: int, divisor: int, step: int, start: int) -> int:
    """Σ ⌊(step·i + start)/divisor⌋ for i = 0 … terms − 1."""
    total = 0
    while terms > 0:
        total += terms * (terms - 1) // 2 * (step // divisor) + terms * (start // divisor)
        step, start = step % divisor, start % divisor
        terms, start = divmod(step * terms + start, divisor)
        divisor, step = step, divisor
    return total


def _floor_sums(*arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`_floor_sum` at every point of four arrays; points that are done drop out of the steps."""
    flat: list[Any] = [array.ravel() for array in arrays]
    terms, divisor, step, start = flat
    totals = 0 * terms
    left: Any = np.arange(terms.size)
    while True:
        alive = terms > 0
        if not alive.all():
            left = left[alive]
            terms, divisor, step, start = (x[alive] for x in (terms, divisor, step, start))
        if not left.size:
            break
        slopes, offsets = step // divisor, start // divisor
        totals[left] += terms * (terms - 1) // 2 * slopes + terms * offsets
        step, start = step - slopes * divisor, start - offsets * divisor
        end = step * terms + start
        terms = end // divisor
        start = end - terms * divisor
        divisor, step = step, divisor
    result: np.ndarray[Any, Any] = totals.reshape(arrays[0].shape)
    return result
