"""Whole rows stay, and what the second half needs is stored: this book's own, for M near d².

Where M is near d², N² entries cost no more than a few passes over the rows. `stored_scores` writes
the scores once, so that the rows of Q and those of O need not be resident at the same time.
`stored_backward` does the same for dQ in the backward pass: it writes the gradient of the scores.
Neither has a causal form.
"""

from __future__ import annotations

from typing import Any

from costlib.iomodel.algorithms.backward import begin
from costlib.iomodel.algorithms.lean_backward import all_row_shares, columns
from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    resolved_blocks,
    row_state,
)
from costlib.iomodel.algorithms.tiles import cut, fold_scores, value_tile
from costlib.iomodel.memory import HeldBlock, SlowArray, TwoLevelMemory, spans

__all__ = ["stored_backward", "stored_scores"]


def stored_scores(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int | None = None,
    value_rows: int | None = None,
    value_cols: int | None = None,
    scale: float = 1.0,
) -> Run:
    """Rows of Q stay while K passes and the scores are written; then tiles of O stay.

    With T_q = ⌈N/block_rows⌉ and T_o = ⌈N/value_rows⌉ it reads
    N·d + (T_q + T_o)·N·d + ⌈d/value_cols⌉·N² + N and writes N² + N·d + N: raw scores, the
    log-sum-exp of each row, and O.

    >>> import numpy as np
    >>> x = np.eye(12, 4)
    >>> run = stored_scores(x, x, x, 40, block_rows=4, value_rows=6, value_cols=4)
    >>> run.reads, run.writes, run.peak
    (444, 204, 40)
    """
    work = attention_inputs(memory, Q, K, V)
    length, width = work.arrays["Q"].shape
    blocks = resolved_blocks(
        "stored_scores",
        work,
        {"block_rows": block_rows, "value_rows": value_rows, "value_cols": value_cols},
        causal=False,
    )
    slow = {
        "S": work.memory.reserve("S", length, length),
        "L": work.memory.reserve("L", length, 1),
        "O": work.memory.reserve("O", length, width),
    }
    for i, rows in enumerate(spans(length, blocks["block_rows"])):
        _store_scores(work, slow, i, rows, scale)
    for i, rows in enumerate(spans(length, blocks["value_rows"])):
        work.memory.step("values", i)
        with work.memory.load(slow["L"], rows) as log_sum:
            for cols in spans(width, blocks["value_cols"]):
                with value_tile(
                    work.memory, slow["S"], work.arrays["V"], rows, cols, 1, length, log_sum
                ) as out:
                    work.memory.store(out, slow["O"], rows, cols)
    return work.finish(slow["O"], blocks=blocks)


def _store_scores(
    work: Workplace, slow: dict[str, SlowArray], i: int, rows: slice, scale: float
) -> None:
    """The scores of a block of queries, a key at a time, and each row's log-sum-exp."""
    memory, column = work.memory, (cut(rows), 1)
    memory.step("queries", i)
    with (
        memory.load(work.arrays["Q"], rows) as query,
        row_state(memory, m=column, l=column, r=column) as (top, total, change),
    ):
        for key_row in spans(work.arrays["K"].shape[0], 1):
            with memory.allocate("S", *column) as tile:
                with memory.load(work.arrays["K"], key_row) as key:
                    tile.set_product(query, key.T)
                if scale != 1.0:
                    tile *= scale
                memory.store(tile, slow["S"], rows, key_row)
                fold_scores(tile, top, total, change)
        total.log()
        total += top
        memory.store(total, slow["L"], rows)


def stored_backward(
    Q: Any,
    K: Any,
    V: Any,
    O: Any,  # noqa: E741 - the paper's letter for the output
    dO: Any,
    L: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_cols: int | None = None,
    grad_rows: int | None = None,
    grad_cols: int | None = None,
    scale: float = 1.0,
) -> Run:
    """(dQ, dK, dV): columns for dK and dV as in two passes, with dS stored; then dQ = dS·K.

    With T_c = ⌈N/block_cols⌉ and T_r = ⌈N/grad_rows⌉ it reads
    4N·d + T_c·N(2d + 2) + T_r·N·d + ⌈d/grad_cols⌉·N² and writes N² + 3N·d + N. dS is the gradient
    of the scaled scores.

    >>> import numpy as np
    >>> from costlib.iomodel.algorithms.flash_attention import flash2
    >>> x = np.eye(4, 2)
    >>> forward = flash2(x, x, x, 100, block_rows=2, block_cols=2, log_sum_exp=True)
    >>> run = stored_backward(
    ...     x, x, x, forward.output, x, forward.extras["L"], 100,
    ...     block_cols=2, grad_rows=2, grad_cols=2,
    ... )
    >>> run.reads, run.writes, run.peak
    (112, 44, 26)
    """
    sizes = {"block_cols": block_cols, "grad_rows": grad_rows, "grad_cols": grad_cols}
    arrays = {"Q": Q, "K": K, "V": V, "O": O, "dO": dO, "L": L}
    work, blocks, grads = begin("stored_backward", memory, sizes, False, arrays)
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    shares, changes = all_row_shares(work, 1), counted.reserve("dS", length, length)

    def store(rows: slice, cols: slice, change: HeldBlock, _: HeldBlock) -> None:
        counted.store(change, changes, rows, cols)

    columns(work, shares, grads, 1, blocks["block_cols"], False, scale, store)
    for i, rows in enumerate(spans(length, blocks["grad_rows"])):
        counted.step("gradient of queries", i)
        for part in spans(width, blocks["grad_cols"]):
            with value_tile(counted, changes, work.arrays["K"], rows, part, 1, length) as total:
                counted.store(total, grads[0], rows, part)
    return work.finish(*grads, blocks=blocks)
