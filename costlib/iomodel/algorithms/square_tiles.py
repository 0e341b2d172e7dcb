"""Attention for a fast memory too small to hold whole rows: square tiles of the scores.

`small_cache` is the algorithm of Saha and Ye for M < d²: it treats attention as two matrix products
and writes the N² weights to slow memory between them. `fused` is this book's own variant: it keeps
each tile of weights resident and streams V and O past it, so it needs no N² memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    live_columns,
    resolved_blocks,
    row_state,
)
from costlib.iomodel.algorithms.tiles import cut, fold_scores, multiply, score_tile
from costlib.iomodel.memory import HeldBlock, TwoLevelMemory, spans

__all__ = ["fused", "small_cache"]


def small_cache(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    tile: int | None = None,
    inner: int | None = None,
    value_rows: int | None = None,
    value_cols: int | None = None,
    stable: bool = False,
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """The small-cache algorithm: exp(Q Kᵀ) to slow memory by tiles, then its product with V.

    With T = ⌈N/tile⌉ and square tiles throughout it reads 3T·N·d + ⌈d/tile⌉·N² + N and writes
    N² + N + N·d. The published tile is ⌊√(M/4)⌋ with slices as wide. The tiles of O may have a
    shape of their own, ``value_rows`` × ``value_cols``: this book's addition, which lowers the
    transfers where d is not a multiple of the tile.

    As published there is no row maximum: scores beyond about 88 (float32) or 709 (float64)
    overflow. ``stable=True`` stores raw scores and each row's maximum, N more reads and writes.

    >>> import numpy as np
    >>> x = np.eye(12, 4)
    >>> run = small_cache(x, x, x, 40, tile=3, inner=3)
    >>> run.reads, run.writes, run.peak
    (876, 204, 30)
    """
    work = attention_inputs(memory, Q, K, V, causal, scale)
    if tile is not None:
        inner = 1 if inner is None else min(inner, tile)
        value_rows = tile if value_rows is None else value_rows
        value_cols = tile if value_cols is None else value_cols
        if causal and value_rows != tile:
            raise ValueError(f"value_rows must be the tile under a causal mask, got {value_rows}")
    sizes = {"tile": tile, "inner": inner, "value_rows": value_rows, "value_cols": value_cols}
    blocks = resolved_blocks("small_cache", work, sizes, stable=stable)
    length, written = work.length, "S" if stable else "P"
    statistics = ("l", "m") if stable else ("l",)
    work.reserve(**{written: (length, length)}, **dict.fromkeys(statistics, (length, 1)))
    work.reserve(O=(length, work.width))
    for i, rows in work.blocks("row statistics", blocks["tile"]):
        _score_row(work, i, rows, blocks, written)
    shape = blocks["value_rows"], blocks["value_cols"], blocks["inner"]
    minus = "m" if stable else ""
    multiply(work, written, "V", "O", shape, tile=blocks["tile"], minus=minus, over="l")
    return work.finish("O", blocks=blocks)


def _score_row(
    work: Workplace, i: int, rows: slice, blocks: Mapping[str, int], written: str
) -> None:
    """A row of tiles of weights P, or of raw scores S and their maxima, and the row sums."""
    memory, column, stable = work.memory, (cut(rows), 1), written == "S"
    with row_state(memory, **({"m": column} if stable else {}), l=column) as state:
        top, total = state[0], state[-1]
        for cols in work.seen(i, rows, blocks["tile"], "scores"):
            with score_tile(work, rows, cols, min(blocks["inner"], work.width)) as weight:
                if not stable:
                    weight.exp()
                    total.add_row_sums(weight)
                work.store(weight, written, rows, cols)
                if stable:
                    with memory.allocate("r", *column) as change:
                        fold_scores(weight, top, total, change)
        for block in reversed(state):
            work.store(block, block.name, rows)


def fused(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    tile_rows: int | None = None,
    tile_cols: int | None = None,
    inner: int | None = None,
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """A tile of weights stays resident while V and O stream past it: small cache, no N² memory.

    With T_c = ⌈N/tile_cols⌉ and T_r = ⌈N/tile_rows⌉ it reads 2T_c·N·d + 2T_r·N·d − N·d and writes
    T_c·N·d. This variant and its count are the book's own. The softmax is online, so it is stable.

    >>> import numpy as np
    >>> x = np.eye(12, 4)
    >>> run = fused(x, x, x, 40, tile_rows=3, tile_cols=6)
    >>> run.reads, run.writes, run.peak
    (528, 96, 36)
    """
    work = attention_inputs(memory, Q, K, V, causal, scale)
    if tile_rows is not None and inner is None:
        inner = 1
    sizes = {"tile_rows": tile_rows, "tile_cols": tile_cols, "inner": inner}
    blocks = resolved_blocks("fused", work, sizes)
    work.reserve(O=(work.length, work.width))
    for i, rows in work.blocks("row statistics", blocks["tile_rows"]):
        column = (cut(rows), 1)
        with row_state(work.memory, m=column, l=column, r=column) as (top, total, change):
            needed = live_columns(rows, blocks["tile_cols"], work.length, causal)
            for cols in work.seen(i, rows, blocks["tile_cols"]):
                with score_tile(work, rows, cols, blocks["inner"]) as tile:
                    fold_scores(tile, top, total, change)
                    last = total if cols.stop == needed else None
                    _stream_values(work, tile, change, rows, cols, blocks["inner"], last)
    return work.finish("O", blocks=blocks)


def _stream_values(
    work: Workplace,
    tile: HeldBlock,
    change: HeldBlock,
    rows: slice,
    cols: slice,
    inner: int,
    last: HeldBlock | None,
) -> None:
    """Add a resident tile of weights times V to O, some columns of V and O at a time.

    The last tile of its rows divides O by the row sums.
    """
    for part in spans(work.width, inner):
        if cols.start == 0:
            out = work.memory.allocate("O", cut(rows), cut(part), fill=0.0)
        else:
            out = work.load("O", rows, part)
        with out, work.load("V", cols, part) as value:
            out *= change
            out.add_product(tile, value)
            if last is not None:
                out /= last
            work.store(out, "O", rows, part)
