"""Naive attention on the counted memory: the scores and the weights are matrices in slow memory.

Three passes: S = Q Kᵀ is written, P = softmax(S) is written, O = P V is written. Everything moves
through slow memory in between, N² entries at a time, whatever the capacity.

The softmax has three forms, told apart by how often each score is read: ``"three-pass"`` (maximum,
sum, normalise: 3 times), ``"online"`` (maximum and sum together, then normalise: twice) and
``"row"`` (a whole row resident: once).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    resolved_blocks,
    temporaries,
)
from costlib.iomodel.algorithms.tiles import (
    cut,
    fold_scores,
    live_columns,
    score_tile,
    value_tile,
)
from costlib.iomodel.memory import SlowArray, TwoLevelMemory, spans

__all__ = ["naive"]

SOFTMAX_FORMS = ("online", "row", "three-pass")


def naive(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    tile: int | None = None,
    inner: int | None = None,
    softmax: str = "online",
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """Attention with S and P in slow memory, both products in square tiles.

    Reads 3⌈N/b⌉·N·d + (c + ⌈d/b⌉)·N² with b the tile and c = 3, 2 or 1 reads of each score in the
    softmax; writes 2N² + N·d. Without a tile the cheapest that fits is taken. Causal: tiles wholly
    above the diagonal are never touched.

    >>> x = np.eye(8, 4)
    >>> run = naive(x, x, x, 64, tile=4, inner=4)
    >>> run.reads, run.writes, run.peak
    (384, 160, 48)
    """
    if softmax not in SOFTMAX_FORMS:
        raise ValueError(f"softmax must be one of {SOFTMAX_FORMS}, got {softmax!r}")
    work = attention_inputs(memory, Q, K, V)
    counted, queries = work.memory, work.arrays["Q"]
    length, width = queries.shape
    if tile is not None and inner is None:
        inner = 1
    blocks = resolved_blocks(
        "naive",
        work,
        {"tile": tile, "inner": inner},
        causal=causal,
        softmax=softmax,
    )
    tile = blocks["tile"]
    inner = min(blocks["inner"], tile, length)
    scores = counted.reserve("S", length, length)
    weights = counted.reserve("P", length, length)
    output = counted.reserve("O", length, width)
    _score_tiles(work, scores, tile, min(inner, width), causal, scale)
    _softmax(counted, scores, weights, min(tile, length), softmax, causal)
    _value_tiles(work, weights, output, tile, inner, causal)
    return work.finish(output, blocks={"tile": tile, "inner": inner})


def _score_tiles(
    work: Workplace, scores: SlowArray, tile: int, inner: int, causal: bool, scale: float
) -> None:
    """S = Q Kᵀ, written tile by tile."""
    counted, queries, keys = work.memory, work.arrays["Q"], work.arrays["K"]
    length = queries.shape[0]
    for i, rows in enumerate(spans(length, tile)):
        for j, cols in enumerate(spans(live_columns(rows, tile, length, causal), tile)):
            counted.step("scores", i, j)
            with score_tile(counted, queries, keys, rows, cols, inner, scale, causal) as scored:
                counted.store(scored, scores, rows, cols)


def _value_tiles(
    work: Workplace, weights: SlowArray, output: SlowArray, tile: int, inner: int, causal: bool
) -> None:
    """O = P V, written tile by tile."""
    counted, values = work.memory, work.arrays["V"]
    length, width = values.shape
    for i, rows in enumerate(spans(length, tile)):
        needed = live_columns(rows, tile, length, causal)
        for t, cols in enumerate(spans(width, tile)):
            counted.step("values", i, t)
            with value_tile(counted, weights, values, rows, cols, inner, needed) as out:
                counted.store(out, output, rows, cols)


def _softmax(
    memory: TwoLevelMemory,
    scores: SlowArray,
    weights: SlowArray,
    tile: int,
    form: str,
    causal: bool,
) -> None:
    """P = softmax(S) over the columns that a tile-wise product has written."""
    length = scores.shape[0]
    for i, tile_rows in enumerate(spans(length, tile)):
        needed = slice(0, live_columns(tile_rows, tile, length, causal))
        memory.step("softmax", i)
        if form == "row":
            for row in range(tile_rows.start, tile_rows.stop):
                _softmax_row(memory, scores, weights, slice(row, row + 1), needed)
        else:
            _softmax_stream(memory, scores, weights, tile_rows, needed.stop, tile, form)


def _softmax_row(
    memory: TwoLevelMemory, scores: SlowArray, weights: SlowArray, row: slice, cols: slice
) -> None:
    with (
        memory.load(scores, row, cols) as weight,
        temporaries(memory, m=(1, 1), l=(1, 1)) as (top, total),
    ):
        top.set_row_maxima(weight)
        weight -= top
        weight.exp()
        total.set_row_sums(weight)
        weight /= total
        memory.store(weight, weights, row, cols)


def _softmax_stream(
    memory: TwoLevelMemory,
    scores: SlowArray,
    weights: SlowArray,
    rows: slice,
    needed: int,
    tile: int,
    form: str,
) -> None:
    """Row statistics while streaming over the scores, then once more to normalise.

    Chunks are a column narrower than the tiles of the products, so that the row statistics fit in
    the room which the products need in any case.
    """
    chunks = list(spans(needed, max(1, tile - 1)))
    column = (cut(rows), 1)
    with temporaries(memory, m=column, l=column) as (top, total):
        top.fill(-np.inf)
        total.fill(0.0)
        if form == "online":
            _online_statistics(memory, scores, rows, chunks, top, total)
        else:
            _two_pass_statistics(memory, scores, rows, chunks, top, total)
        for cols in chunks:
            with memory.load(scores, rows, cols) as weight:
                weight -= top
                weight.exp()
                weight /= total
                memory.store(weight, weights, rows, cols)


def _online_statistics(
    memory: TwoLevelMemory, scores: SlowArray, rows: slice, chunks: Any, top: Any, total: Any
) -> None:
    """Maximum and sum in one pass."""
    with memory.allocate("r", cut(rows)) as change:
        for cols in chunks:
            with memory.load(scores, rows, cols) as weight:
                fold_scores(weight, top, total, change)


def _two_pass_statistics(
    memory: TwoLevelMemory, scores: SlowArray, rows: slice, chunks: Any, top: Any, total: Any
) -> None:
    for cols in chunks:
        with memory.load(scores, rows, cols) as score:
            top.raise_to_row_maxima(score)
    for cols in chunks:
        with memory.load(scores, rows, cols) as weight:
            weight -= top
            weight.exp()
            total.add_row_sums(weight)
