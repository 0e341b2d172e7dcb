"""Backward passes that move less than FlashAttention's first: row sums once, and two passes.

Both take the log-sum-exp L that `flash2` leaves when asked, and both compute a tile of weights
again. With D_i the sum of dO_i ∘ O_i, a row's share of every gradient of its scores, the gradient
of a tile of scores is P ∘ (dO Vᵀ − D).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from costlib.iomodel.algorithms.backward import begin, by_columns
from costlib.iomodel.algorithms.runs import Run, Workplace, temporaries
from costlib.iomodel.algorithms.tiles import cut, finish_scores, live_columns
from costlib.iomodel.memory import HeldBlock, SlowArray, TwoLevelMemory, spans

__all__ = ["flash2_backward", "two_pass_backward"]


def flash2_backward(
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
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """(dQ, dK, dV) in FlashAttention-2's way: the row sums D are computed once, before the tiles.

    With T_c = ⌈N/block_cols⌉ it reads 4N·d + T_c·N(3d + 2) and writes (T_c + 3)·N·d + N.

    >>> import numpy as np
    >>> x = np.eye(4, 2)
    >>> from costlib.iomodel.algorithms.flash_attention import flash2
    >>> forward = flash2(x, x, x, 100, block_rows=2, block_cols=2, log_sum_exp=True)
    >>> run = flash2_backward(
    ...     x, x, x, forward.output, x, forward.extras["L"], 100, block_rows=2, block_cols=2
    ... )
    >>> run.reads, run.writes, run.peak
    (96, 44, 40)
    """
    sizes = {"block_rows": block_rows, "block_cols": block_cols}
    arrays = {"Q": Q, "K": K, "V": V, "O": O, "dO": dO, "L": L}
    work, blocks, grads = begin("flash2_backward", memory, sizes, causal, arrays)
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    shares = all_row_shares(work, blocks["block_rows"])
    for rows in spans(length, blocks["block_rows"]):
        counted.step("initialise", rows.start)
        with counted.allocate("dQ", cut(rows), width, fill=0.0) as zeros:
            counted.store(zeros, grads[0], rows)

    def add_to_queries(rows: slice, _: slice, change: HeldBlock, key: HeldBlock) -> None:
        with counted.load(grads[0], rows) as total:
            total.add_product(change, key)
            counted.store(total, grads[0], rows)

    columns(
        work,
        shares,
        grads,
        blocks["block_rows"],
        blocks["block_cols"],
        causal,
        scale,
        add_to_queries,
    )
    return work.finish(*grads, blocks=blocks)


def two_pass_backward(
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
    stream: int | None = None,
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """(dQ, dK, dV) in two passes: rows for dQ, columns for dK and dV; no gradient is read again.

    Each tile of weights is computed twice. With T_r = ⌈N/block_rows⌉ and T_c = ⌈N/block_cols⌉ it
    reads 5N·d + N + 2T_r·N·d + T_c·N(2d + 2) and writes 3N·d + N. ``stream`` is how many keys, or
    queries, pass at a time.

    >>> import numpy as np
    >>> x = np.eye(4, 2)
    >>> from costlib.iomodel.algorithms.flash_attention import flash2
    >>> forward = flash2(x, x, x, 100, block_rows=2, block_cols=2, log_sum_exp=True)
    >>> run = two_pass_backward(
    ...     x, x, x, forward.output, x, forward.extras["L"], 100,
    ...     block_rows=2, block_cols=2, stream=1,
    ... )
    >>> run.reads, run.writes, run.peak
    (124, 28, 26)
    """
    sizes = {"block_rows": block_rows, "block_cols": block_cols, "stream": stream}
    arrays = {"Q": Q, "K": K, "V": V, "O": O, "dO": dO, "L": L}
    work, blocks, grads = begin("two_pass_backward", memory, sizes, causal, arrays)
    length = work.arrays["Q"].shape[0]
    shares = work.memory.reserve("D", length, 1)
    for i, rows in enumerate(spans(length, blocks["block_rows"])):
        _rows(work, grads[0], shares, i, rows, blocks["stream"], causal, scale)
    columns(work, shares, grads, blocks["stream"], blocks["block_cols"], causal, scale)
    return work.finish(*grads, blocks=blocks)


def all_row_shares(work: Workplace, block_rows: int) -> SlowArray:
    """D of every row, in slow memory, before the tiles begin."""
    counted, length = work.memory, work.arrays["Q"].shape[0]
    shares = counted.reserve("D", length, 1)
    for i, rows in enumerate(spans(length, block_rows)):
        counted.step("row sums", i)
        with counted.load(work.arrays["dO"], rows) as gradient:
            counted.drop(row_shares(work, gradient, shares, rows))
    return shares


def row_shares(work: Workplace, gradient: HeldBlock, shares: SlowArray, rows: slice) -> HeldBlock:
    """D of a block of rows, written and still resident; O is read for it and dropped."""
    memory = work.memory
    share = memory.allocate("D", cut(rows), 1)
    with memory.load(work.arrays["O"], rows) as out:
        out *= gradient
        share.set_row_sums(out)
    memory.store(share, shares, rows)
    return share


def _rows(
    work: Workplace,
    grads: SlowArray,
    shares: SlowArray,
    i: int,
    rows: slice,
    stream: int,
    causal: bool,
    scale: float,
) -> None:
    """The first pass: dQ of a block of queries, summed on chip while keys and values pass."""
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    counted.step("queries", i)
    with (
        counted.load(work.arrays["dO"], rows) as gradient,
        row_shares(work, gradient, shares, rows) as share,
        counted.load(work.arrays["Q"], rows) as query,
        counted.load(work.arrays["L"], rows) as log_sum,
        counted.allocate("dQ", cut(rows), width, fill=0.0) as total,
    ):
        state = [query, gradient, log_sum, share]
        for j, cols in enumerate(spans(live_columns(rows, stream, length, causal), stream)):
            counted.step("tile", i, j)
            with (
                counted.load(work.arrays["K"], cols) as key,
                counted.load(work.arrays["V"], cols) as value,
                backward_tile(counted, state, key, value, rows, cols, causal, scale) as (_, change),
            ):
                total.add_product(change, key)
        counted.step("gradient of queries", i)
        counted.store(total, grads, rows)


def columns(
    work: Workplace,
    shares: SlowArray,
    grads: Sequence[SlowArray],
    block_rows: int,
    block_cols: int,
    causal: bool,
    scale: float,
    also: Callable[[slice, slice, HeldBlock, HeldBlock], None] | None = None,
) -> None:
    """dK and dV of each block of keys and values, summed on chip while queries pass.

    ``also`` is given the rows and columns of a tile, the gradient of its scores, and its keys.
    """
    counted = work.memory
    queries = [*(work.arrays[name] for name in ("Q", "dO", "L")), shares]

    def tile(rows: slice, cols: slice, column: list[HeldBlock]) -> None:
        key, value, key_gradient, value_gradient = column
        state = [counted.load(array, rows) for array in queries]
        with backward_tile(counted, state, key, value, rows, cols, causal, scale) as made:
            weight, change = made
            key_gradient.add_product(change.T, state[0])
            value_gradient.add_product(weight.T, state[1])
            if also:
                also(rows, cols, change, key)
        counted.drop(*state)

    by_columns(work, grads, block_rows, block_cols, causal, tile)


@contextmanager
def backward_tile(
    memory: TwoLevelMemory,
    state: Sequence[HeldBlock],
    key: HeldBlock,
    value: HeldBlock,
    rows: slice,
    cols: slice,
    causal: bool,
    scale: float,
) -> Iterator[tuple[HeldBlock, HeldBlock]]:
    """A tile of weights, computed again, and the gradient of its scores."""
    query, gradient, log_sum, share = state
    shape = (cut(rows), cut(cols))
    with temporaries(memory, P=shape, dS=shape) as (weight, change):
        weight.set_product(query, key.T)
        finish_scores(weight, rows, cols, scale, causal)
        weight -= log_sum
        weight.exp()
        change.set_product(gradient, value.T)
        change -= share
        change *= weight
        if scale != 1.0:
            change *= scale
        yield weight, change
