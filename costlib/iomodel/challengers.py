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

from costlib.iomodel.counts import Count
from costlib.iomodel.memory import Block, TwoLevelMemory, spans
from costlib.iomodel.runs import Run, Workplace, attention_inputs, block_size, row_state
from costlib.iomodel.tiles import cut, score_tile
from costlib.numbers import Number, ceil_div, minimum, sizes

__all__ = ["recomputed", "recomputed_count", "sawtooth", "sawtooth_count"]


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
    _, key, value = kept
    with memory.allocate("S", query.shape[0], key.shape[0]) as tile:
        tile.set_product(query, key.T)
        if scale != 1.0:
            tile *= scale
        _rescale(tile, row)
        row[0].add_product(tile, value)


def _rescale(tile: Block, row: list[Block]) -> None:
    """Make a tile of scores weights, and rescale O and l to the new maxima."""
    out, top, total, change = row
    change.copy_from(top)
    top.raise_to_row_maxima(tile)
    change -= top
    change.exp()
    tile -= top
    tile.exp()
    total *= change
    total.add_row_sums(tile)
    out *= change


def sawtooth_count(N: Number, d: Number, block_rows: Number, block_cols: Number = 1) -> Count:
    """N·d + 2T_r·N·d reads less 2d for each column of the tiles at the T_r − 1 turns.

    The turns alternate between the last tile, which may be short, and the first.

    >>> sawtooth_count(6, 2, 2, 2)
    Count(reads=68, writes=12, peak=26)
    """
    N, d = sizes(N=N, d=d)
    block_rows, block_cols = sizes(block_rows=block_rows, block_cols=block_cols)
    rows, cols = minimum(block_rows, N), minimum(block_cols, N)
    blocks = ceil_div(N, block_rows)
    last = N - (ceil_div(N, block_cols) - 1) * block_cols
    saved = (blocks // 2) * last + ((blocks - 1) // 2) * cols
    return Count(
        reads=N * d + 2 * blocks * N * d - 2 * saved * d,
        writes=N * d,
        peak=2 * rows * d + 2 * cols * d + rows * cols + 3 * rows,
    )


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
    with score_tile(memory, arrays["Q"], arrays["K"], rows, cols, 1, scale, False) as tile:
        _rescale(tile, row)
        for number, key in enumerate(spans(cut(cols), 1)):
            key_row = slice(cols.start + number, cols.start + number + 1)
            with memory.load(arrays["V"], key_row, part) as value:
                row[0].add_product(tile.part(cols=key), value)


def recomputed_count(
    N: Number, d: Number, tile_rows: Number, tile_cols: Number, value_cols: Number
) -> Count:
    """⌈d/value_cols⌉·(⌈N/tile_cols⌉ + ⌈N/tile_rows⌉)·N·d + ⌈N/tile_rows⌉·N·d reads, N·d writes.

    >>> recomputed_count(6, 4, 3, 2, 2)
    Count(reads=288, writes=24, peak=26)
    """
    N, d, value_cols = sizes(N=N, d=d, value_cols=value_cols)
    tile_rows, tile_cols = sizes(tile_rows=tile_rows, tile_cols=tile_cols)
    rows, cols, part = minimum(tile_rows, N), minimum(tile_cols, N), minimum(value_cols, d)
    row_blocks = ceil_div(N, tile_rows)
    again = ceil_div(d, value_cols) * (ceil_div(N, tile_cols) + row_blocks)
    streamed = rows + cols + part - minimum(rows + cols, part)  # the wider of the two phases
    return Count(
        reads=again * N * d + row_blocks * N * d,
        writes=N * d,
        peak=rows * cols + rows * part + 3 * rows + streamed,
    )
