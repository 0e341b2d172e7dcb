"""FlashAttention on the counted memory: Algorithm 1 as published, and FlashAttention-2's order.

Both walk over tiles of the scores that never leave fast memory, and rescale what they have summed
whenever a row's maximum grows: by exp(m_old − m_new), which is at most 1, so nothing overflows.

They differ in which loop is outside. FlashAttention-1 keeps a block of keys and values and lets the
outputs pass by, reading and writing them once per block; FlashAttention-2 keeps a block of queries
and outputs and lets keys and values pass by.

Left out: the scale 1/√d, unless you pass it, and dropout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    resolved_blocks,
    row_state,
    temporaries,
)
from costlib.iomodel.algorithms.tiles import cut, finish_scores, live_columns, weigh
from costlib.iomodel.memory import HeldBlock, SlowArray, TwoLevelMemory, spans

__all__ = ["flash", "flash2"]


def flash(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int | None = None,
    block_cols: int | None = None,
    lazy_init: bool = False,
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """FlashAttention-1: Algorithm 1 of Dao et al. 2022, in its order and with its initialisation.

    With T_c = ⌈N/block_cols⌉ it reads 2N·d + T_c·N(2d + 2) and writes (T_c + 1)·N(d + 2), whatever
    the block of rows. The published block sizes (`best.published_blocks`) do not fit in M below
    about 8d², once the tile of scores and the statistics are counted; without block sizes the
    cheapest that fit are taken. ``lazy_init=True`` saves writing the first zeros and reading them
    back.

    Under a causal mask, tiles wholly above the diagonal are skipped (the paper's algorithm has no
    mask).

    >>> x = np.eye(8, 4)
    >>> run = flash(x, x, x, 64, block_rows=1, block_cols=4)
    >>> run.reads, run.writes, run.peak
    (224, 144, 50)
    """
    work = attention_inputs(memory, Q, K, V)
    blocks = resolved_blocks(
        "flash",
        work,
        {"block_rows": block_rows, "block_cols": block_cols},
        causal=causal,
        lazy_init=lazy_init,
    )
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    state = tuple(counted.reserve(x, length, n) for x, n in (("O", width), ("l", 1), ("m", 1)))
    if not lazy_init:
        _initialise(counted, state, blocks["block_rows"])
    for j, cols in enumerate(spans(length, blocks["block_cols"])):
        counted.step("keys and values", j)
        with (
            counted.load(work.arrays["K"], cols) as key,
            counted.load(work.arrays["V"], cols) as value,
        ):
            for i, rows in enumerate(spans(length, blocks["block_rows"])):
                if causal and rows.stop <= cols.start:
                    continue
                counted.step("tile", i, j)
                first = lazy_init and j == 0
                _flash_tile(work, state, key, value, rows, cols, first, causal, scale)
    return work.finish(state[0], blocks=blocks, extras=state[1:])


def _initialise(memory: TwoLevelMemory, state: tuple[SlowArray, ...], block_rows: int) -> None:
    """O = 0, l = 0, m = −∞ in slow memory."""
    length = state[0].shape[0]
    for rows in spans(length, block_rows):
        memory.step("initialise", rows.start)
        for array, value in zip(state, (0.0, 0.0, -np.inf), strict=True):
            with memory.allocate(array.name, cut(rows), array.shape[1], fill=value) as block:
                memory.store(block, array, rows)


def _flash_tile(
    work: Workplace,
    state: tuple[SlowArray, ...],
    key: HeldBlock,
    value: HeldBlock,
    rows: slice,
    cols: slice,
    first: bool,
    causal: bool,
    scale: float,
) -> None:
    """Lines 8 to 13 of Algorithm 1: one tile of scores, folded into O, l and m."""
    memory, column = work.memory, (cut(rows), 1)
    tile_shape = (cut(rows), cut(cols))
    with (
        memory.load(work.arrays["Q"], rows) as query,
        _state_block(memory, state[0], rows, first, 0.0) as out,
        _state_block(memory, state[1], rows, first, 0.0) as total,
        _state_block(memory, state[2], rows, first, -np.inf) as top,
        temporaries(memory, S=tile_shape, m_tile=column, l_tile=column) as of_tile,
        temporaries(memory, m_new=column, l_new=column) as (new_top, new_total),
    ):
        tile, tile_top, tile_total = of_tile
        tile.set_product(query, key.T)
        finish_scores(tile, rows, cols, scale, causal)
        tile_top.set_row_maxima(tile)
        tile -= tile_top
        tile.exp()
        tile_total.set_row_sums(tile)
        new_top.set_maximum(top, tile_top)
        _merge_sums(top, total, tile_top, tile_total, new_top, new_total)
        out *= total
        tile *= tile_top
        out.add_product(tile, value)
        out /= new_total
        for block, array in zip((out, new_total, new_top), state, strict=True):
            memory.store(block, array, rows)


def _merge_sums(
    top: HeldBlock,
    total: HeldBlock,
    tile_top: HeldBlock,
    tile_total: HeldBlock,
    new_top: HeldBlock,
    new_total: HeldBlock,
) -> None:
    """l_new = exp(m − m_new)·l + exp(m_tile − m_new)·l_tile.

    Afterwards ``total`` is the first term, the weight of what O holds, and ``tile_top`` the factor
    of the second, the weight of the tile.
    """
    top -= new_top
    top.exp()
    total *= top
    tile_top -= new_top
    tile_top.exp()
    new_total.copy_from(tile_total)
    new_total *= tile_top
    new_total += total


def _state_block(
    memory: TwoLevelMemory, array: SlowArray, rows: slice, first: bool, start: float
) -> HeldBlock:
    if first:
        return memory.allocate(array.name, cut(rows), array.shape[1], fill=start)
    return memory.load(array, rows)


def flash2(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int | None = None,
    block_cols: int | None = None,
    lean: bool = True,
    log_sum_exp: bool = False,
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """FlashAttention-2's order: a block of queries sees all keys; its output is written once.

    With T_r = ⌈N/block_rows⌉ it reads N·d + 2T_r·N·d and writes N·d, whatever the block of columns;
    N more writes if the log-sum-exp is kept for the backward pass. ``lean`` drops K_j before V_j is
    loaded; without it both are resident together. Without block sizes the cheapest that fit are
    taken.

    >>> x = np.eye(8, 4)
    >>> run = flash2(x, x, x, 64, block_rows=2, block_cols=3)
    >>> run.reads, run.writes, run.peak
    (288, 32, 42)
    """
    work = attention_inputs(memory, Q, K, V)
    blocks = resolved_blocks(
        "flash2",
        work,
        {"block_rows": block_rows, "block_cols": block_cols},
        causal=causal,
        lean=lean,
        log_sum_exp=log_sum_exp,
    )
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    output = counted.reserve("O", length, width)
    statistics = (counted.reserve("L", length, 1),) if log_sum_exp else ()
    for i, rows in enumerate(spans(length, blocks["block_rows"])):
        counted.step("queries", i)
        column = (cut(rows), 1)
        with (
            counted.load(work.arrays["Q"], rows) as query,
            row_state(counted, O=(cut(rows), width), m=column, l=column) as start,
            temporaries(counted, m_new=column, r=column) as scratch,
        ):
            needed = live_columns(rows, blocks["block_cols"], length, causal)
            for j, cols in enumerate(spans(needed, blocks["block_cols"])):
                counted.step("tile", i, j)
                _flash2_tile(work, query, [*start, *scratch], rows, cols, lean, causal, scale)
            counted.step("output", i)
            _finish_rows(counted, start, rows, output, statistics)
    return work.finish(output, blocks=blocks, extras=statistics)


def _finish_rows(
    memory: TwoLevelMemory,
    row: list[HeldBlock],
    rows: slice,
    output: SlowArray,
    statistics: tuple[SlowArray, ...],
) -> None:
    """Write O = O/l, and the log-sum-exp m + log l where it is kept."""
    out, top, total = row
    out /= total
    memory.store(out, output, rows)
    for array in statistics:
        total.log()
        total += top
        memory.store(total, array, rows)


def _flash2_tile(
    work: Workplace,
    query: HeldBlock,
    row: list[HeldBlock],
    rows: slice,
    cols: slice,
    lean: bool,
    causal: bool,
    scale: float,
) -> None:
    """One tile of scores, folded into the resident O, m and l of its rows."""
    memory = work.memory
    out, top, total, new_top, change = row
    key = memory.load(work.arrays["K"], cols)
    value = None if lean else memory.load(work.arrays["V"], cols)
    with memory.allocate("S", cut(rows), cut(cols)) as tile:
        tile.set_product(query, key.T)
        if value is None:
            memory.drop(key)
            value = memory.load(work.arrays["V"], cols)
        finish_scores(tile, rows, cols, scale, causal)
        new_top.copy_from(top)
        new_top.raise_to_row_maxima(tile)
        change.copy_from(top)
        weigh(tile, change, new_top, total)
        out *= change
        out.add_product(tile, value)
        top.copy_from(new_top)
        memory.drop(value)
    if not lean:
        memory.drop(key)
