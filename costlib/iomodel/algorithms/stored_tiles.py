"""Whole rows stay, and what the second half needs is stored: this book's own, for M near d².

Where M is near d², N² entries cost no more than a few passes over the rows. `stored_scores` writes
the scores once, so that the rows of Q and those of O need not be resident at the same time.
`stored_backward` does the same for dQ in the backward pass: it writes the gradient of the scores.
`four_pass_backward` writes the weights too. None of them has a causal form.
"""

from __future__ import annotations

from collections.abc import Mapping
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

__all__ = ["four_pass_backward", "stored_backward", "stored_scores"]


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
    counted, length = work.memory, work.arrays["Q"].shape[0]
    shares, changes = all_row_shares(work, 1), counted.reserve("dS", length, length)

    def store(rows: slice, cols: slice, change: HeldBlock, _: HeldBlock) -> None:
        counted.store(change, changes, rows, cols)

    columns(work, shares, grads, 1, blocks["block_cols"], False, scale, store)
    _gradient(work, changes, "K", grads[0], blocks)
    return work.finish(*grads, blocks=blocks)


def four_pass_backward(
    Q: Any,
    K: Any,
    V: Any,
    O: Any,  # noqa: E741 - the paper's letter for the output
    dO: Any,
    L: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int | None = None,
    block_cols: int | None = None,
    grad_rows: int | None = None,
    grad_cols: int | None = None,
    scale: float = 1.0,
) -> Run:
    """(dQ, dK, dV): weights written, then dV with dS written, then dQ = dS·K and dK = dSᵀ·Q.

    In the first pass rows of Q stay, in the second those of V and dV, in the others tiles of a
    gradient. With T_q = ⌈N/block_rows⌉, T_c = ⌈N/block_cols⌉ and T_g = ⌈N/grad_rows⌉ it reads
    4N·d + N + (T_q + 2T_g)·N·d + T_c·N(d + 1) + (1 + 2⌈d/grad_cols⌉)·N² and writes
    2N² + 3N·d + N.

    >>> import numpy as np
    >>> from costlib.iomodel.algorithms.flash_attention import flash2
    >>> x = np.eye(4, 2)
    >>> forward = flash2(x, x, x, 100, block_rows=2, block_cols=2, log_sum_exp=True)
    >>> run = four_pass_backward(
    ...     x, x, x, forward.output, x, forward.extras["L"], 100,
    ...     block_rows=2, block_cols=2, grad_rows=2, grad_cols=2,
    ... )
    >>> run.reads, run.writes, run.peak
    (156, 60, 15)
    """
    sizes = {
        "block_rows": block_rows,
        "block_cols": block_cols,
        "grad_rows": grad_rows,
        "grad_cols": grad_cols,
    }
    arrays = {"Q": Q, "K": K, "V": V, "O": O, "dO": dO, "L": L}
    work, blocks, grads = begin("four_pass_backward", memory, sizes, False, arrays)
    length = work.arrays["Q"].shape[0]
    shares = all_row_shares(work, 1)
    weights, changes = (work.memory.reserve(name, length, length) for name in ("P", "dS"))
    for i, rows in enumerate(spans(length, blocks["block_rows"])):
        work.memory.step("weights", i)
        _store_weights(work, weights, rows, scale)
    for j, cols in enumerate(spans(length, blocks["block_cols"])):
        work.memory.step("gradient of values", j)
        _store_changes(work, weights, shares, changes, grads[2], cols, scale)
    _gradient(work, changes, "K", grads[0], blocks)
    _gradient(work, changes, "Q", grads[1], blocks)
    return work.finish(*grads, blocks=blocks)


def _store_weights(work: Workplace, weights: SlowArray, rows: slice, scale: float) -> None:
    """The weights of a block of queries, a key at a time."""
    memory = work.memory
    with (
        memory.load(work.arrays["Q"], rows) as query,
        memory.load(work.arrays["L"], rows) as log_sum,
    ):
        for key_row in spans(work.arrays["K"].shape[0], 1):
            with memory.allocate("P", cut(rows), 1) as weight:
                with memory.load(work.arrays["K"], key_row) as key:
                    weight.set_product(query, key.T)
                if scale != 1.0:
                    weight *= scale
                weight -= log_sum
                weight.exp()
                memory.store(weight, weights, rows, key_row)


def _store_changes(
    work: Workplace,
    weights: SlowArray,
    shares: SlowArray,
    changes: SlowArray,
    value_gradient: SlowArray,
    cols: slice,
    scale: float,
) -> None:
    """dV of a block of values, summed on chip, and dS of its pairs, a query at a time."""
    memory, (length, width) = work.memory, work.arrays["V"].shape
    with (
        memory.load(work.arrays["V"], cols) as value,
        memory.allocate("dV", cut(cols), width, fill=0.0) as total,
    ):
        for row in spans(length, 1):
            with (
                memory.load(work.arrays["dO"], row) as gradient,
                memory.load(shares, row) as share,
                memory.load(weights, row, cols) as weight,
                memory.allocate("dS", 1, cut(cols)) as change,
            ):
                total.add_product(weight.T, gradient)
                change.set_product(gradient, value.T)
                change -= share
                change *= weight
                if scale != 1.0:
                    change *= scale
                memory.store(change, changes, row, cols)
        memory.store(total, value_gradient, cols)


def _gradient(
    work: Workplace,
    changes: SlowArray,
    other: str,
    gradient: SlowArray,
    blocks: Mapping[str, int],
) -> None:
    """dQ = dS·K, or dK = dSᵀ·Q, a tile at a time, from the dS that was written."""
    length, width = gradient.shape
    for i, rows in enumerate(spans(length, blocks["grad_rows"])):
        work.memory.step(f"gradient {gradient.name}", i)
        for part in spans(width, blocks["grad_cols"]):
            with value_tile(
                work.memory,
                changes,
                work.arrays[other],
                rows,
                part,
                1,
                length,
                transposed=other == "Q",
            ) as total:
                work.memory.store(total, gradient, rows, part)
