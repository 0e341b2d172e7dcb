"""Counted schedules that only tests run: products, and orders made to beat the lower bounds.

`sawtooth` and `recomputed` were built to attack the bounds whose constants are the book's own. None
goes below them; each comes close for its own reason.

- `sawtooth`: FlashAttention-2's order, but every other block of queries walks the keys backwards,
  so that the tile of K and V at the turn need not be read again.
- `recomputed`: a block of queries keeps some columns of O resident and computes the scores again
  for every further set of columns, from thin slices of Q and K.

`matmul` is a product in tiles, and `lru_matmul` the same loops on a cache that manages itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Any

from costlib.iomodel.algorithms.lru import Access, cached
from costlib.iomodel.algorithms.runs import Run, Workplace, attention_inputs, row_state
from costlib.iomodel.algorithms.tiles import cut, fold_scores, score_tile
from costlib.iomodel.counting.counts import Count
from costlib.iomodel.memory import HeldBlock, TwoLevelMemory, spans
from costlib.units.numbers import Number, ceil_div, minimum, sizes


def sawtooth(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int,
    block_cols: int = 1,
) -> Run:
    """FlashAttention-2's order with the inner loop turning round: the tile at the turn stays.

    >>> import numpy as np
    >>> x = np.eye(6, 2)
    >>> run = sawtooth(x, x, x, 100, block_rows=2, block_cols=2)
    >>> run.reads, run.writes
    (68, 12)
    """
    work = attention_inputs(memory, Q, K, V, False, 1.0)
    counted, tiles = work.memory, list(spans(work.length, min(block_cols, work.length)))
    work.reserve(O=(work.length, work.width))
    kept: tuple[slice, HeldBlock, HeldBlock] | None = None
    for i, rows in work.blocks("queries", min(block_rows, work.length)):
        column = (cut(rows), 1)
        with (
            work.load("Q", rows) as query,
            row_state(counted, O=query.shape, m=column, l=column, r=column) as row,
        ):
            for cols in tiles if i % 2 == 0 else reversed(tiles):
                if kept is None or kept[0] != cols:
                    counted.drop(*kept[1:] if kept else ())
                    kept = cols, work.load("K", cols), work.load("V", cols)
                with counted.allocate("S", cut(rows), cut(cols)) as tile:
                    tile.set_product(query, kept[1].T)
                    fold_scores(tile, *row[1:])
                    row[0] *= row[3]
                    row[0].add_product(tile, kept[2])
            row[0] /= row[2]
            work.store(row[0], "O", rows)
    counted.drop(*kept[1:] if kept else ())
    return work.finish("O", blocks={})


def recomputed(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    tile_rows: int,
    tile_cols: int,
    value_cols: int,
) -> Run:
    """Scores computed again for every ``value_cols`` columns of O; no N² memory, O written once.

    >>> import numpy as np
    >>> x = np.eye(6, 4)
    >>> run = recomputed(x, x, x, 100, tile_rows=3, tile_cols=2, value_cols=2)
    >>> run.reads, run.writes
    (288, 24)
    """
    work = attention_inputs(memory, Q, K, V, False, 1.0)
    work.reserve(O=(work.length, work.width))
    for rows in spans(work.length, tile_rows):
        for part in spans(work.width, value_cols):
            column = (cut(rows), 1)
            state = {"O": (cut(rows), cut(part)), "m": column, "l": column, "r": column}
            with row_state(work.memory, **state) as row:
                for cols in spans(work.length, tile_cols):
                    with score_tile(work, rows, cols, 1) as tile:
                        fold_scores(tile, *row[1:])
                        row[0] *= row[3]
                        for j in range(cols.start, cols.stop):
                            key = slice(j - cols.start, j - cols.start + 1)
                            with work.load("V", slice(j, j + 1), part) as value:
                                row[0].add_product(tile.part(cols=key), value)
                row[0] /= row[2]
                work.store(row[0], "O", rows, part)
    return work.finish("O", blocks={})


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


def matmul(
    A: Any,
    B: Any,
    memory: int | TwoLevelMemory | None,
    *,
    tile_rows: int,
    tile_cols: int,
    inner: int = 1,
) -> Run:
    """A · B in tiles of the result, summed over slices of ``inner``.

    For m×k times k×n: ⌈n/tile_cols⌉·m·k + ⌈m/tile_rows⌉·k·n reads and m·n writes.

    >>> import numpy as np
    >>> run = matmul(np.eye(4), np.eye(4), 12, tile_rows=2, tile_cols=2, inner=2)
    >>> run.reads, run.writes, run.peak
    (64, 16, 12)
    """
    work = Workplace(memory, A=A, B=B)
    (m, k), (k_right, n) = (array.shape for array in work.arrays.values())
    if k != k_right:
        raise ValueError(f"A has {k} columns and B {k_right} rows: the product needs them equal")
    work.reserve(C=(m, n))
    for rows in spans(m, tile_rows):
        for cols in spans(n, tile_cols):
            with work.memory.allocate("C", cut(rows), cut(cols), fill=0.0) as tile:
                for part in spans(k, inner):
                    with work.load("A", rows, part) as left, work.load("B", part, cols) as right:
                        tile.add_product(left, right)
                work.store(tile, "C", rows, cols)
    return work.finish("C", blocks={"tile_rows": tile_rows})


def matmul_outer(A: Any, B: Any, memory: int | TwoLevelMemory) -> Run:
    """A · B as outer products added to the largest square tile that fits, side ⌊√(M + 1)⌋ − 1.

    One column of A and one row of B at a time leave nearly all of the memory to the tile, so the
    reads come near the lower bound 2·m·n·k/√M − 2·M. Three square tiles of side √(M/3) read √3
    times as much.

    >>> import numpy as np
    >>> run = matmul_outer(np.eye(18), np.eye(18), 99)
    >>> run.blocks["tile_rows"], run.reads, run.peak
    (9, 1296, 99)
    """
    capacity = memory.capacity if isinstance(memory, TwoLevelMemory) else memory
    if capacity is None or capacity < 3:
        raise ValueError(f"memory must hold at least 3 entries for a 1×1 tile, got {capacity}")
    side = isqrt(capacity + 1) - 1
    return matmul(A, B, memory, tile_rows=side, tile_cols=side, inner=1)


def lru_matmul(
    m: int, k: int, n: int, M: int, *, tile_rows: int, tile_cols: int, inner: int = 1
) -> Count:
    """The tiled product on an LRU cache of M entries.

    With the room that an explicit schedule needs, LRU lets the slices that stream past push the
    tile of the result out. Here it takes twice the room to move as little.

    >>> from costlib.iomodel import counts
    >>> explicit = counts.matmul(27, 27, 27, 9, 9)
    >>> explicit.peak, explicit.total
    (99, 5103)
    >>> lru_matmul(27, 27, 27, 99, tile_rows=9, tile_cols=9).total
    42543
    >>> lru_matmul(27, 27, 27, 198, tile_rows=9, tile_cols=9).total
    5103
    """
    blocks = {"tile_rows": tile_rows, "tile_cols": tile_cols, "inner": inner}
    return cached(matmul_accesses(m, k, n, **blocks), M)


def matmul_accesses(
    m: int, k: int, n: int, *, tile_rows: int, tile_cols: int, inner: int = 1
) -> Iterator[Access]:
    """Every touch of the tiled product in the order of its loops.

    >>> list(matmul_accesses(1, 1, 1, tile_rows=1, tile_cols=1))
    [(2, False, True), (0, True, False), (1, True, False), (2, True, True)]
    """
    right, result = m * k, m * k + k * n
    for rows in spans(m, tile_rows):
        for cols in spans(n, tile_cols):
            for i in range(rows.start, rows.stop):
                for j in range(cols.start, cols.stop):
                    yield result + i * n + j, False, True
            for depth in spans(k, inner):
                for p in range(depth.start, depth.stop):
                    for i in range(rows.start, rows.stop):
                        for j in range(cols.start, cols.stop):
                            yield i * k + p, True, False
                            yield right + p * n + j, True, False
                            yield result + i * n + j, True, True
