"""Matrix products on the counted memory: entry by entry, in tiles, and in outer-product order.

Every order keeps a tile of the result resident while it is summed and writes it once. What differs
is the shape of the tile, and how wide a slice of the two factors is loaded at a time. The slice
width changes the room that is needed and never the transfers.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from costlib.iomodel.algorithms.runs import Run, Workplace, block_size
from costlib.iomodel.algorithms.tiles import cut
from costlib.iomodel.memory import TwoLevelMemory, spans

__all__ = ["matmul", "matmul_entries", "matmul_outer"]


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
    left, right = work.arrays["A"], work.arrays["B"]
    (m, k), (k_right, n) = left.shape, right.shape
    if k != k_right:
        raise ValueError(f"A has {k} columns and B {k_right} rows: the product needs them equal")
    tile_rows = block_size("tile_rows", tile_rows, m)
    tile_cols = block_size("tile_cols", tile_cols, n)
    inner = block_size("inner", inner, k)
    counted = work.memory
    result = counted.reserve("C", m, n)
    for i, rows in enumerate(spans(m, tile_rows)):
        for j, cols in enumerate(spans(n, tile_cols)):
            counted.step("tile", i, j)
            with counted.allocate("C", cut(rows), cut(cols), fill=0.0) as tile:
                for slice_of_inner in spans(k, inner):
                    with (
                        counted.load(left, rows, slice_of_inner) as a,
                        counted.load(right, slice_of_inner, cols) as b,
                    ):
                        tile.add_product(a, b)
                counted.store(tile, result, rows, cols)
    blocks = {"tile_rows": tile_rows, "tile_cols": tile_cols, "inner": inner}
    return work.finish(result, blocks=blocks)


def matmul_entries(A: Any, B: Any, memory: int | TwoLevelMemory | None) -> Run:
    """A · B one entry at a time: 2·m·n·k reads, m·n writes, 3 entries of room.

    >>> import numpy as np
    >>> run = matmul_entries(np.eye(4), np.eye(4), 3)
    >>> run.reads, run.writes, run.peak
    (128, 16, 3)
    """
    return matmul(A, B, memory, tile_rows=1, tile_cols=1, inner=1)


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
