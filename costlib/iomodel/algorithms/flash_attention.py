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
from costlib.iomodel.algorithms.tiles import cut, finish_scores, weigh
from costlib.iomodel.memory import HeldBlock, TwoLevelMemory

__all__ = ["flash", "flash2"]

#: What FlashAttention-1 begins with in slow memory.
START = {"O": 0.0, "l": 0.0, "m": -np.inf}


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
    the block of rows. The published block sizes (`published_blocks`) do not fit in M below
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
    work = attention_inputs(memory, Q, K, V, causal, scale)
    sizes = {"block_rows": block_rows, "block_cols": block_cols}
    blocks = resolved_blocks("flash", work, sizes, lazy_init=lazy_init)
    work.reserve(O=(work.length, work.width), l=(work.length, 1), m=(work.length, 1))
    if not lazy_init:
        work.initialise(blocks["block_rows"], **START)
    for j, cols in work.blocks("keys and values", blocks["block_cols"]):
        with work.loaded(cols, "K", "V") as (key, value):
            for rows in work.seeing(j, cols, blocks["block_rows"]):
                _flash_tile(work, key, value, rows, cols, first=lazy_init and j == 0)
    return work.finish("O", blocks=blocks, extras=("l", "m"))


def _flash_tile(
    work: Workplace, key: HeldBlock, value: HeldBlock, rows: slice, cols: slice, first: bool
) -> None:
    """Lines 8 to 13 of Algorithm 1: one tile of scores, folded into O, l and m."""
    memory, column = work.memory, (cut(rows), 1)
    with (
        work.load("Q", rows) as query,
        _state(work, "O", rows, first) as out,
        _state(work, "l", rows, first) as total,
        _state(work, "m", rows, first) as top,
        temporaries(memory, S=(cut(rows), cut(cols)), m_tile=column, l_tile=column) as of_tile,
        temporaries(memory, m_new=column, l_new=column) as (new_top, new_total),
    ):
        tile, tile_top, tile_total = of_tile
        tile.set_product(query, key.T)
        finish_scores(work, tile, rows, cols)
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
        for block, name in zip((out, new_total, new_top), START, strict=True):
            work.store(block, name, rows)


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


def _state(work: Workplace, name: str, rows: slice, first: bool) -> HeldBlock:
    if first:
        width = work.arrays[name].shape[1]
        return work.memory.allocate(name, cut(rows), width, fill=START[name])
    return work.load(name, rows)


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
    work = attention_inputs(memory, Q, K, V, causal, scale)
    sizes = {"block_rows": block_rows, "block_cols": block_cols}
    blocks = resolved_blocks("flash2", work, sizes, lean=lean, log_sum_exp=log_sum_exp)
    kept = ("L",) if log_sum_exp else ()
    work.reserve(O=(work.length, work.width), **dict.fromkeys(kept, (work.length, 1)))
    for i, rows in work.blocks("queries", blocks["block_rows"]):
        column = (cut(rows), 1)
        with (
            work.load("Q", rows) as query,
            row_state(work.memory, O=query.shape, m=column, l=column) as (out, top, total),
            temporaries(work.memory, m_new=column, r=column) as scratch,
        ):
            for cols in work.seen(i, rows, blocks["block_cols"]):
                _flash2_tile(work, query, [out, top, total, *scratch], rows, cols, lean)
            work.memory.step("output", i)
            out /= total
            work.store(out, "O", rows)
            if log_sum_exp:
                store_log_sums(work, top, total, rows)
    return work.finish("O", blocks=blocks, extras=kept)


def store_log_sums(work: Workplace, top: HeldBlock, total: HeldBlock, rows: slice) -> None:
    """Write the log-sum-exp m + log l of a block of rows."""
    total.log()
    total += top
    work.store(total, "L", rows)


def _flash2_tile(
    work: Workplace, query: HeldBlock, row: list[HeldBlock], rows: slice, cols: slice, lean: bool
) -> None:
    """One tile of scores, folded into the resident O, m and l of its rows."""
    memory = work.memory
    out, top, total, new_top, change = row
    key = work.load("K", cols)
    value = None if lean else work.load("V", cols)
    with memory.allocate("S", cut(rows), cut(cols)) as tile:
        tile.set_product(query, key.T)
        if value is None:
            memory.drop(key)
            value = work.load("V", cols)
        finish_scores(work, tile, rows, cols)
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
