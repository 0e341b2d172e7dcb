"""Backward passes on the counted memory that compute each tile of weights again.

FlashAttention's first (Algorithm 4 of Dao et al. 2022) takes the row statistics l and m of `flash`.
Two move less: they take the log-sum-exp L that `flash2` leaves when asked. With D_i the sum of
dO_i ∘ O_i, a row's share of every gradient of its scores, the gradient of a tile of scores is
P ∘ (dO Vᵀ − D); they compute D once, before its tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from costlib.iomodel.algorithms.runs import (
    Array,
    Run,
    Workplace,
    reference_weights,
    resolved_blocks,
    row_state,
    temporaries,
)
from costlib.iomodel.algorithms.tiles import cut, finish_scores
from costlib.iomodel.memory import HeldBlock, TwoLevelMemory

__all__ = ["flash2_backward", "flash_backward", "reference_gradients", "two_pass_backward"]


def flash_backward(
    Q: Any,
    K: Any,
    V: Any,
    O: Any,  # noqa: E741 - the paper's letter for the output
    dO: Any,
    l: Any,  # noqa: E741 - the paper's letter for the row sums
    m: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int | None = None,
    block_cols: int | None = None,
    causal: bool = False,
    scale: float = 1.0,
) -> Run:
    """The gradients (dQ, dK, dV) from the output's gradient and the forward pass's O, l and m.

    With T_c = ⌈N/block_cols⌉ it reads 2N·d + T_c·N(4d + 2) and writes (T_c + 3)·N·d. Only dQ is
    set to zero in slow memory: dK and dV are summed on chip and written once.

    >>> x = np.eye(4, 2)
    >>> from costlib.iomodel.algorithms.flash_attention import flash
    >>> forward = flash(x, x, x, 100, block_rows=2, block_cols=2)
    >>> run = flash_backward(
    ...     x, x, x, forward.output, x, forward.extras["l"], forward.extras["m"], 100,
    ...     block_rows=2, block_cols=2,
    ... )
    >>> run.reads, run.writes, run.peak
    (96, 40, 46)
    """
    sizes = {"block_rows": block_rows, "block_cols": block_cols}
    arrays = {"Q": Q, "K": K, "V": V, "O": O, "dO": dO, "l": l, "m": m}
    work, blocks = begin("flash_backward", memory, sizes, causal, scale, **arrays)
    _add_all(work, blocks)
    return work.finish("dQ", "dK", "dV", blocks=blocks)


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
    work, blocks = begin("flash2_backward", memory, sizes, causal, scale, **arrays)
    store_shares(work, blocks["block_rows"])
    _add_all(work, blocks)
    return work.finish("dQ", "dK", "dV", blocks=blocks)


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
    work, blocks = begin("two_pass_backward", memory, sizes, causal, scale, **arrays)
    work.reserve(D=(work.length, 1))
    for i, rows in work.blocks("queries", blocks["block_rows"]):
        _add_row(work, i, rows, blocks["stream"])
    add_columns(work, blocks["stream"], blocks["block_cols"])
    return work.finish("dQ", "dK", "dV", blocks=blocks)


def begin(
    algorithm: str,
    memory: int | TwoLevelMemory | None,
    sizes: Mapping[str, int | None],
    causal: bool,
    scale: float,
    **arrays: Any,
) -> tuple[Workplace, dict[str, int]]:
    """What a backward pass begins with: its inputs, its block sizes, and room for dQ, dK, dV.

    Inputs are matrices of one shape, and statistics a column each.
    """
    shape = np.shape(arrays["Q"])
    for name, values in arrays.items():
        wanted = (shape[0], 1) if name in "lmL" else shape
        if name in "lmL" and np.ndim(values) == 1:
            arrays[name] = np.reshape(values, (-1, 1))
        if np.shape(arrays[name]) != wanted:
            raise ValueError(f"{name} must have shape {wanted}, got {np.shape(values)}")
    work = Workplace(memory, causal=causal, scale=scale, **arrays)
    blocks = resolved_blocks(algorithm, work, sizes)
    work.reserve(dQ=shape, dK=shape, dV=shape)
    return work, blocks


def _add_all(work: Workplace, blocks: Mapping[str, int]) -> None:
    """The three gradients in one pass over columns: dQ is read, added to and written each time."""
    work.initialise(blocks["block_rows"], dQ=0.0)

    def add(rows: slice, _: slice, change: HeldBlock, key: HeldBlock) -> None:
        with work.load("dQ", rows) as total:
            total.add_product(change, key)
            work.store(total, "dQ", rows)

    add_columns(work, blocks["block_rows"], blocks["block_cols"], add)


def add_columns(
    work: Workplace,
    block_rows: int,
    block_cols: int,
    also: Callable[[slice, slice, HeldBlock, HeldBlock], None] | None = None,
) -> None:
    """dK and dV of each block of keys and values, summed on chip while queries pass.

    ``also`` is given the rows and columns of a tile, the gradient of its scores, and its keys.
    """
    for j, cols in work.blocks("keys and values", block_cols):
        shape = (cut(cols), work.width)
        with (
            work.loaded(cols, "K", "V") as (key, value),
            row_state(work.memory, dK=shape, dV=shape) as (key_gradient, value_gradient),
        ):
            for rows in work.seeing(j, cols, block_rows):
                with (
                    _row(work, rows) as (query, gradient, *row),
                    _tile(work, query, gradient, row, key, value, rows, cols) as (weight, change),
                ):
                    key_gradient.add_product(change.T, query)
                    value_gradient.add_product(weight.T, gradient)
                    if also:
                        also(rows, cols, change, key)
            work.memory.step("gradients of keys and values", j)
            work.store(key_gradient, "dK", cols)
            work.store(value_gradient, "dV", cols)


def _add_row(work: Workplace, i: int, rows: slice, stream: int) -> None:
    """dQ of a block of queries, summed on chip while keys and values pass; D on the way."""
    with (
        work.load("dO", rows) as gradient,
        _share(work, gradient, rows) as share,
        work.loaded(rows, "Q", "L") as (query, log_sum),
        work.memory.allocate("dQ", cut(rows), work.width, fill=0.0) as total,
    ):
        for cols in work.seen(i, rows, stream):
            with (
                work.loaded(cols, "K", "V") as (key, value),
                _tile(work, query, gradient, [share, log_sum], key, value, rows, cols) as made,
            ):
                total.add_product(made[1], key)
        work.memory.step("gradient of queries", i)
        work.store(total, "dQ", rows)


def store_shares(work: Workplace, block_rows: int) -> None:
    """D of every row, in slow memory, before the tiles begin."""
    work.reserve(D=(work.length, 1))
    for _, rows in work.blocks("row sums", block_rows):
        with work.load("dO", rows) as gradient:
            work.memory.drop(_share(work, gradient, rows))


def _share(work: Workplace, gradient: HeldBlock, rows: slice) -> HeldBlock:
    """D of a block of rows, written and still resident; O is read for it and dropped."""
    share = work.memory.allocate("D", cut(rows))
    with work.load("O", rows) as out:
        out *= gradient
        share.set_row_sums(out)
    work.store(share, "D", rows)
    return share


@contextmanager
def _row(work: Workplace, rows: slice) -> Iterator[list[HeldBlock]]:
    """Q, dO, D and the statistics of a block of queries; without D in slow memory from O, kept."""
    if "D" in work.arrays:
        with work.loaded(rows, "Q", "dO", "D", "L") as row:
            yield row
        return
    with (
        work.loaded(rows, "Q", "dO", "m", "l", "O") as (query, gradient, *statistics, out),
        work.memory.allocate("D", cut(rows)) as share,
    ):
        out *= gradient
        share.set_row_sums(out)
        yield [query, gradient, share, *statistics]


@contextmanager
def _tile(
    work: Workplace,
    query: HeldBlock,
    gradient: HeldBlock,
    row: list[HeldBlock],
    key: HeldBlock,
    value: HeldBlock,
    rows: slice,
    cols: slice,
) -> Iterator[list[HeldBlock]]:
    """A tile of weights, computed again, and the gradient of its scores."""
    share, top, *total = row
    shape = (cut(rows), cut(cols))
    with temporaries(work.memory, P=shape, dS=shape) as (weight, change):
        weight.set_product(query, key.T)
        finish_scores(work, weight, rows, cols)
        weight -= top
        weight.exp()
        for sums in total:
            weight /= sums
        change_scores(work, change, weight, gradient, value, share)
        yield [weight, change]


def change_scores(
    work: Workplace,
    change: HeldBlock,
    weight: HeldBlock,
    gradient: HeldBlock,
    value: HeldBlock,
    share: HeldBlock,
) -> None:
    """The gradient of a tile of scores: P ∘ (dO Vᵀ − D), times the scale."""
    change.set_product(gradient, value.T)
    change -= share
    change *= weight
    if work.scale != 1.0:
        change *= work.scale


def reference_gradients(
    Q: Any, K: Any, V: Any, dO: Any, *, causal: bool = False, scale: float = 1.0
) -> tuple[Array, Array, Array]:
    """(dQ, dK, dV) in float64 in one piece, uncounted.

    >>> dQ, dK, dV = reference_gradients([[1.0]], [[2.0]], [[3.0]], [[1.0]])
    >>> dV
    array([[1.]])
    """
    keys, values, gradient = (np.asarray(array, dtype=np.float64) for array in (K, V, dO))
    weights, queries = reference_weights(Q, K, causal, scale), np.asarray(Q, dtype=np.float64)
    change = gradient @ values.T
    change = scale * weights * (change - (weights * change).sum(axis=1, keepdims=True))
    return change @ keys, change.T @ queries, weights.T @ gradient
