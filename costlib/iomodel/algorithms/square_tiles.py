"""Attention for a fast memory too small to hold whole rows: square tiles of the scores.

`small_cache` is the algorithm of Saha and Ye for M < d²: it treats attention as two matrix products
and writes the N² weights to slow memory between them. `fused` is this book's own variant: it keeps
each tile of weights resident and streams V and O past it, so it needs no N² memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    resolved_blocks,
    row_state,
)
from costlib.iomodel.algorithms.tiles import cut, fold_scores, live_columns, score_tile, value_tile
from costlib.iomodel.memory import HeldBlock, SlowArray, TwoLevelMemory, spans

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

    >>> x = np.eye(12, 4)
    >>> run = small_cache(x, x, x, 40, tile=3, inner=3)
    >>> run.reads, run.writes, run.peak
    (876, 204, 30)
    """
    work = attention_inputs(memory, Q, K, V)
    length, width = work.arrays["Q"].shape
    if tile is not None:
        inner = 1 if inner is None else min(inner, tile)
        value_rows = tile if value_rows is None else value_rows
        value_cols = tile if value_cols is None else value_cols
        if causal and value_rows != tile:
            raise ValueError(f"value_rows must be the tile under a causal mask, got {value_rows}")
    blocks = resolved_blocks(
        "small_cache",
        work,
        {"tile": tile, "inner": inner, "value_rows": value_rows, "value_cols": value_cols},
        causal=causal,
        stable=stable,
    )
    counted = work.memory
    slow = {
        "P": counted.reserve("S" if stable else "P", length, length),
        "l": counted.reserve("l", length, 1),
        "m": counted.reserve("m", length, 1),
        "O": counted.reserve("O", length, width),
    }
    _score_phase(work, slow, blocks, stable, causal, scale)
    _value_phase(work, slow, blocks, stable, causal)
    return work.finish(slow["O"], blocks=blocks)


def _score_phase(
    work: Workplace,
    slow: Mapping[str, SlowArray],
    blocks: Mapping[str, int],
    stable: bool,
    causal: bool,
    scale: float,
) -> None:
    """Write every tile of weights (or raw scores) and the statistics of every row."""
    memory, queries = work.memory, work.arrays["Q"]
    length, tile = queries.shape[0], blocks["tile"]
    inner = min(blocks["inner"], queries.shape[1])
    for i, rows in enumerate(spans(length, tile)):
        memory.step("row statistics", i)
        top = memory.allocate("m", cut(rows), fill=-np.inf) if stable else None
        with memory.allocate("l", cut(rows), fill=0.0) as total:
            for j, cols in enumerate(spans(live_columns(rows, tile, length, causal), tile)):
                memory.step("scores", i, j)
                with score_tile(
                    memory, queries, work.arrays["K"], rows, cols, inner, scale, causal
                ) as weight:
                    if top is None:
                        weight.exp()
                        total.add_row_sums(weight)
                        memory.store(weight, slow["P"], rows, cols)
                    else:
                        memory.store(weight, slow["P"], rows, cols)
                        with memory.allocate("r", cut(rows)) as change:
                            fold_scores(weight, top, total, change)
            memory.store(total, slow["l"], rows)
        if top is not None:
            memory.store(top, slow["m"], rows)
            memory.drop(top)


def _value_phase(
    work: Workplace,
    slow: Mapping[str, SlowArray],
    blocks: Mapping[str, int],
    stable: bool,
    causal: bool,
) -> None:
    """Multiply by V tile by tile, and divide by the row sums."""
    memory, values = work.memory, work.arrays["V"]
    length, width = values.shape
    for i, rows in enumerate(spans(length, blocks["value_rows"])):
        memory.step("row statistics", i)
        needed = live_columns(rows, blocks["tile"], length, causal)
        with memory.load(slow["l"], rows) as total:
            top = memory.load(slow["m"], rows) if stable else None
            for t, cols in enumerate(spans(width, blocks["value_cols"])):
                memory.step("values", i, t)
                with value_tile(
                    memory, slow["P"], values, rows, cols, blocks["inner"], needed, top
                ) as out:
                    out /= total
                    memory.store(out, slow["O"], rows, cols)
            if top is not None:
                memory.drop(top)


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

    >>> x = np.eye(12, 4)
    >>> run = fused(x, x, x, 40, tile_rows=3, tile_cols=6)
    >>> run.reads, run.writes, run.peak
    (528, 96, 36)
    """
    work = attention_inputs(memory, Q, K, V)
    length, width = work.arrays["Q"].shape
    if tile_rows is not None and inner is None:
        inner = 1
    blocks = resolved_blocks(
        "fused",
        work,
        {"tile_rows": tile_rows, "tile_cols": tile_cols, "inner": inner},
        causal=causal,
    )
    output = work.memory.reserve("O", length, width)
    for i, rows in enumerate(spans(length, blocks["tile_rows"])):
        work.memory.step("row statistics", i)
        column = (cut(rows), 1)
        with row_state(work.memory, m=column, l=column, r=column) as row:
            needed = live_columns(rows, blocks["tile_cols"], length, causal)
            for j, cols in enumerate(spans(needed, blocks["tile_cols"])):
                work.memory.step("tile", i, j)
                last = cols.stop == needed
                _fused_tile(work, output, row, rows, cols, blocks["inner"], last, causal, scale)
    return work.finish(output, blocks=blocks)


def _fused_tile(
    work: Workplace,
    output: SlowArray,
    row: list[HeldBlock],
    rows: slice,
    cols: slice,
    inner: int,
    last: bool,
    causal: bool,
    scale: float,
) -> None:
    """One tile of weights, and its share of O; the last one of its rows divides O by l."""
    memory, (top, total, change) = work.memory, row
    queries, keys = work.arrays["Q"], work.arrays["K"]
    with score_tile(memory, queries, keys, rows, cols, inner, scale, causal) as tile:
        fold_scores(tile, top, total, change)
        _stream_values(work, output, tile, change, rows, cols, inner, total if last else None)


def _stream_values(
    work: Workplace,
    output: SlowArray,
    tile: HeldBlock,
    change: HeldBlock,
    rows: slice,
    cols: slice,
    inner: int,
    last: HeldBlock | None,
) -> None:
    """Add a resident tile of weights times V to O, some columns of V and O at a time."""
    memory = work.memory
    for width in spans(output.shape[1], inner):
        if cols.start == 0:
            out = memory.allocate("O", cut(rows), cut(width), fill=0.0)
        else:
            out = memory.load(output, rows, width)
        with out, memory.load(work.arrays["V"], cols, width) as value:
            out *= change
            out.add_product(tile, value)
            if last is not None:
                out /= last
            memory.store(out, output, rows, width)
