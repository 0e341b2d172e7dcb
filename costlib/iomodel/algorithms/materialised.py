"""Naive attention on the counted memory: the scores and the weights are matrices in slow memory.

Three passes: S = Q Kᵀ is written, P = softmax(S) is written, O = P V is written. Everything moves
through slow memory in between, N² entries at a time, whatever the capacity.

The softmax has three forms, told apart by how often each score is read: ``"three-pass"`` (maximum,
sum, normalise: 3 times), ``"online"`` (maximum and sum together, then normalise: twice) and
``"row"`` (a whole row resident: once).
"""

from __future__ import annotations

from typing import Any

from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    live_columns,
    resolved_blocks,
    row_state,
    temporaries,
)
from costlib.iomodel.algorithms.tiles import cut, fold_scores, multiply, score_tile
from costlib.iomodel.memory import TwoLevelMemory, spans

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

    >>> import numpy as np
    >>> x = np.eye(8, 4)
    >>> run = naive(x, x, x, 64, tile=4, inner=4)
    >>> run.reads, run.writes, run.peak
    (384, 160, 48)
    """
    if softmax not in SOFTMAX_FORMS:
        raise ValueError(f"softmax must be one of {SOFTMAX_FORMS}, got {softmax!r}")
    work = attention_inputs(memory, Q, K, V, causal, scale)
    if tile is not None and inner is None:
        inner = 1
    blocks = resolved_blocks("naive", work, {"tile": tile, "inner": inner}, softmax=softmax)
    tile, length = blocks["tile"], work.length
    inner = min(blocks["inner"], tile, length)
    work.reserve(S=(length, length), P=(length, length), O=(length, work.width))
    for i, rows in enumerate(spans(length, tile)):
        for cols in work.seen(i, rows, tile, "scores"):
            with score_tile(work, rows, cols, min(inner, work.width)) as scored:
                work.store(scored, "S", rows, cols)
    _softmax(work, min(tile, length), softmax)
    multiply(work, "P", "V", "O", (tile, tile, inner))
    return work.finish("O", blocks={"tile": tile, "inner": inner})


def _softmax(work: Workplace, tile: int, form: str) -> None:
    """P = softmax(S) over the columns that a tile-wise product has written."""
    for _, rows in work.blocks("softmax", tile):
        needed = live_columns(rows, tile, work.length, work.causal)
        if form == "row":
            for row in range(rows.start, rows.stop):
                _softmax_row(work, slice(row, row + 1), slice(0, needed))
        else:
            _softmax_stream(work, rows, list(spans(needed, max(1, tile - 1))), form)


def _softmax_row(work: Workplace, row: slice, cols: slice) -> None:
    with (
        work.load("S", row, cols) as weight,
        temporaries(work.memory, m=(1, 1), l=(1, 1)) as (top, total),
    ):
        top.set_row_maxima(weight)
        weight -= top
        weight.exp()
        total.set_row_sums(weight)
        weight /= total
        work.store(weight, "P", row, cols)


def _softmax_stream(work: Workplace, rows: slice, chunks: list[slice], form: str) -> None:
    """Row statistics while streaming over the scores, then once more to normalise.

    Chunks are a column narrower than the tiles of the products, so that the row statistics fit in
    the room which the products need in any case.
    """
    column = (cut(rows), 1)
    with row_state(work.memory, m=column, l=column) as (top, total):
        if form == "online":
            with work.memory.allocate("r", *column) as change:
                for cols in chunks:
                    with work.load("S", rows, cols) as weight:
                        fold_scores(weight, top, total, change)
        else:
            for cols in chunks:
                with work.load("S", rows, cols) as score:
                    top.raise_to_row_maxima(score)
            for cols in chunks:
                with work.load("S", rows, cols) as weight:
                    weight -= top
                    weight.exp()
                    total.add_row_sums(weight)
        for cols in chunks:
            with work.load("S", rows, cols) as weight:
                weight -= top
                weight.exp()
                weight /= total
                work.store(weight, "P", rows, cols)
