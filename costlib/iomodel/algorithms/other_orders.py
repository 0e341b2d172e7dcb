"""Schedules made to beat the lower bounds. None does; each comes close for its own reason.

They are this book's own, built to attack the two bounds whose constants are its own.

- `sawtooth`: FlashAttention-2's order, but every other block of queries walks the keys backwards,
  so that the tile of K and V at the turn need not be read again.
- `recomputed`: a block of queries keeps some columns of O resident and computes the scores again
  for every further set of columns, from thin slices of Q and K.

`square_tiles.fused` is the third: the tile of scores stays resident, V and O are streamed.
"""

from __future__ import annotations

from typing import Any

from costlib.iomodel.algorithms.runs import Run, Workplace, attention_inputs, block_size, row_state
from costlib.iomodel.algorithms.tiles import cut, fold_scores, score_tile
from costlib.iomodel.memory import Block, TwoLevelMemory, spans

__all__ = ["recomputed", "sawtooth"]


def sawtooth(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int,
    block_cols: int = 1,
    scale: float = 1.0,
) -> Run:
    """FlashAttention-2's order with the inner loop turning round: the tile at the turn stays.

    >>> import numpy as np
    >>> x = np.eye(6, 2)
    >>> run = sawtooth(x, x, x, 100, block_rows=2, block_cols=2)
    >>> run.reads, run.writes
    (68, 12)
    """
    work = attention_inputs(memory, Q, K, V)
    length, width = work.arrays["Q"].shape
    block_rows = block_size("block_rows", block_rows, length)
    block_cols = block_size("block_cols", block_cols, length)
    counted, output = work.memory, work.memory.reserve("O", length, width)
    tiles = list(spans(length, block_cols))
    kept: tuple[slice, Block, Block] | None = None
    for i, rows in enumerate(spans(length, block_rows)):
        counted.step("queries", i)
        column = (cut(rows), 1)
        with (
            counted.load(work.arrays["Q"], rows) as query,
            row_state(counted, O=(cut(rows), width), m=column, l=column, r=column) as row,
        ):
            for cols in tiles if i % 2 == 0 else reversed(tiles):
                counted.step("tile", i, cols.start)
                kept = _turn(work, kept, cols)
                _fold_tile(counted, query, kept, row, scale)
            row[0] /= row[2]
            counted.store(row[0], output, rows)
    if kept is not None:
        counted.drop(*kept[1:])
    return work.finish(output, blocks={"block_rows": block_rows, "block_cols": block_cols})


def _turn(
    work: Workplace, kept: tuple[slice, Block, Block] | None, cols: slice
) -> tuple[slice, Block, Block]:
    """The tile of K and V for these columns: the one already resident, or a new one instead."""
    if kept is not None:
        if kept[0] == cols:
            return kept
        work.memory.drop(*kept[1:])
    key = work.memory.load(work.arrays["K"], cols)
    return cols, key, work.memory.load(work.arrays["V"], cols)


def _fold_tile(
    memory: TwoLevelMemory,
    query: Block,
    kept: tuple[slice, Block, Block],
    row: list[Block],
    scale: float,
) -> None:
    (_, key, value), (out, top, total, change) = kept, row
    with memory.allocate("S", query.shape[0], key.shape[0]) as tile:
        tile.set_product(query, key.T)
        if scale != 1.0:
            tile *= scale
        fold_scores(tile, top, total, change)
        out *= change
        out.add_product(tile, value)


def recomputed(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    tile_rows: int,
    tile_cols: int,
    value_cols: int,
    scale: float = 1.0,
) -> Run:
    """Scores computed again for every ``value_cols`` columns of O; no N² memory, O written once.

    >>> import numpy as np
    >>> x = np.eye(6, 4)
    >>> run = recomputed(x, x, x, 100, tile_rows=3, tile_cols=2, value_cols=2)
    >>> run.reads, run.writes
    (288, 24)
    """
    work = attention_inputs(memory, Q, K, V)
    length, width = work.arrays["Q"].shape
    blocks = {
        "tile_rows": block_size("tile_rows", tile_rows, length),
        "tile_cols": block_size("tile_cols", tile_cols, length),
        "value_cols": block_size("value_cols", value_cols, width),
    }
    counted, output = work.memory, work.memory.reserve("O", length, width)
    for i, rows in enumerate(spans(length, blocks["tile_rows"])):
        for t, part in enumerate(spans(width, blocks["value_cols"])):
            counted.step("queries", i, t)
            column = (cut(rows), 1)
            with row_state(counted, O=(cut(rows), cut(part)), m=column, l=column, r=column) as row:
                for cols in spans(length, blocks["tile_cols"]):
                    _recomputed_tile(work, row, rows, cols, part, scale)
                row[0] /= row[2]
                counted.store(row[0], output, rows, part)
    return work.finish(output, blocks=blocks)


def _recomputed_tile(
    work: Workplace, row: list[Block], rows: slice, cols: slice, part: slice, scale: float
) -> None:
    memory, arrays = work.memory, work.arrays
    out, top, total, change = row
    with score_tile(memory, arrays["Q"], arrays["K"], rows, cols, 1, scale, False) as tile:
        fold_scores(tile, top, total, change)
        out *= change
        for number, key in enumerate(spans(cut(cols), 1)):
            key_row = slice(cols.start + number, cols.start + number + 1)
            with memory.load(arrays["V"], key_row, part) as value:
                out.add_product(tile.part(cols=key), value)
