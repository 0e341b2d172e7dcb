"""Whole rows stay, and what the second half needs is stored: this book's own, for M near d².

Where M is near d², N² entries cost no more than a few passes over the rows. `stored_scores` writes
the scores once, so that the rows of Q and those of O need not be resident at the same time.
`stored_backward` does the same for dQ in the backward pass: it writes the gradient of the scores.
`four_pass_backward` writes the weights too. None of them has a causal form.
"""

from __future__ import annotations

from typing import Any

from costlib.iomodel.algorithms.backward import add_columns, begin, change_scores, store_shares
from costlib.iomodel.algorithms.flash_attention import store_log_sums
from costlib.iomodel.algorithms.runs import (
    Run,
    Workplace,
    attention_inputs,
    resolved_blocks,
    row_state,
)
from costlib.iomodel.algorithms.tiles import cut, finish_scores, fold_scores, multiply
from costlib.iomodel.memory import HeldBlock, TwoLevelMemory, spans

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
    work = attention_inputs(memory, Q, K, V, False, scale)
    sizes = {"block_rows": block_rows, "value_rows": value_rows, "value_cols": value_cols}
    blocks = resolved_blocks("stored_scores", work, sizes)
    length = work.length
    work.reserve(S=(length, length), L=(length, 1), O=(length, work.width))
    for _, rows in work.blocks("queries", blocks["block_rows"]):
        column = (cut(rows), 1)
        with (
            work.load("Q", rows) as query,
            row_state(work.memory, m=column, l=column, r=column) as (top, total, change),
        ):
            for key_row in spans(length, 1):
                with _scores(work, "S", query, rows, key_row) as tile:
                    work.store(tile, "S", rows, key_row)
                    fold_scores(tile, top, total, change)
            store_log_sums(work, top, total, rows)
    shape = blocks["value_rows"], blocks["value_cols"], 1
    multiply(work, "S", "V", "O", shape, minus="L")
    return work.finish("O", blocks=blocks)


def _scores(work: Workplace, name: str, query: HeldBlock, rows: slice, key_row: slice) -> HeldBlock:
    """The scores of a resident block of queries with one key; the caller drops them."""
    tile = work.memory.allocate(name, cut(rows), 1)
    with work.load("K", key_row) as key:
        tile.set_product(query, key.T)
    finish_scores(work, tile, rows, key_row)
    return tile


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
    work, blocks = begin("stored_backward", memory, sizes, False, scale, **arrays)
    store_shares(work, 1)
    work.reserve(dS=(work.length, work.length))

    def store(rows: slice, cols: slice, change: HeldBlock, _: HeldBlock) -> None:
        work.store(change, "dS", rows, cols)

    add_columns(work, 1, blocks["block_cols"], store)
    multiply(work, "dS", "K", "dQ", (blocks["grad_rows"], blocks["grad_cols"], 1))
    return work.finish("dQ", "dK", "dV", blocks=blocks)


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
    sizes = {"block_rows": block_rows, "block_cols": block_cols}
    sizes |= {"grad_rows": grad_rows, "grad_cols": grad_cols}
    arrays = {"Q": Q, "K": K, "V": V, "O": O, "dO": dO, "L": L}
    work, blocks = begin("four_pass_backward", memory, sizes, False, scale, **arrays)
    store_shares(work, 1)
    work.reserve(P=(work.length, work.length), dS=(work.length, work.length))
    for _, rows in work.blocks("weights", blocks["block_rows"]):
        with work.loaded(rows, "Q", "L") as (query, log_sum):
            for key_row in spans(work.length, 1):
                with _scores(work, "P", query, rows, key_row) as weight:
                    weight -= log_sum
                    weight.exp()
                    work.store(weight, "P", rows, key_row)
    for _, cols in work.blocks("gradient of values", blocks["block_cols"]):
        _store_changes(work, cols)
    for other, gradient in (("K", "dQ"), ("Q", "dK")):
        multiply(work, "dS", other, gradient, (blocks["grad_rows"], blocks["grad_cols"], 1))
    return work.finish("dQ", "dK", "dV", blocks=blocks)


def _store_changes(work: Workplace, cols: slice) -> None:
    """dV of a block of values, summed on chip, and dS of its pairs, a query at a time."""
    memory = work.memory
    with (
        work.load("V", cols) as value,
        memory.allocate("dV", cut(cols), work.width, fill=0.0) as total,
    ):
        for row in spans(work.length, 1):
            with (
                work.loaded(row, "dO", "D") as (gradient, share),
                work.load("P", row, cols) as weight,
                memory.allocate("dS", 1, cut(cols)) as change,
            ):
                total.add_product(weight.T, gradient)
                change_scores(work, change, weight, gradient, value, share)
                work.store(change, "dS", row, cols)
        work.store(total, "dV", cols)
