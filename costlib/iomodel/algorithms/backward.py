"""FlashAttention's backward pass on the counted memory (Algorithm 4 of Dao et al. 2022).

The tile of weights is computed again from Q, K and the row statistics l and m that the forward pass
left in slow memory, instead of being read back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from costlib.iomodel.algorithms.runs import Run, Workplace, resolved_blocks, row_state, temporaries
from costlib.iomodel.algorithms.tiles import cut, finish_scores
from costlib.iomodel.memory import HeldBlock, SlowArray, TwoLevelMemory, spans

__all__ = ["flash_backward", "reference_gradients"]

Array = np.ndarray[Any, Any]


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
    work, blocks, grads = begin("flash_backward", memory, sizes, causal, arrays)
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    for rows in spans(length, blocks["block_rows"]):
        counted.step("initialise", rows.start)
        with counted.allocate("dQ", cut(rows), width, fill=0.0) as zeros:
            counted.store(zeros, grads[0], rows)

    def tile(rows: slice, cols: slice, column: list[HeldBlock]) -> None:
        _backward_tile(work, grads[0], column, rows, cols, causal, scale)

    by_columns(work, grads, blocks["block_rows"], blocks["block_cols"], causal, tile)
    return work.finish(*grads, blocks=blocks)


def by_columns(
    work: Workplace,
    grads: Sequence[SlowArray],
    block_rows: int,
    block_cols: int,
    causal: bool,
    tile: Callable[[slice, slice, list[HeldBlock]], None],
) -> None:
    """dK and dV of each block of keys and values, summed on chip while blocks of queries pass.

    ``tile`` is given the rows and columns of each tile with K, V, dK and dV, and adds to these.
    """
    counted, (length, width) = work.memory, work.arrays["Q"].shape
    for j, cols in enumerate(spans(length, block_cols)):
        counted.step("keys and values", j)
        shape = (cut(cols), width)
        with (
            counted.load(work.arrays["K"], cols) as key,
            counted.load(work.arrays["V"], cols) as value,
            row_state(counted, dK=shape, dV=shape) as sums,
        ):
            for i, rows in enumerate(spans(length, block_rows)):
                if causal and rows.stop <= cols.start:
                    continue
                counted.step("tile", i, j)
                tile(rows, cols, [key, value, *sums])
            counted.step("gradients of keys and values", j)
            for total, array in zip(sums, grads[1:], strict=True):
                counted.store(total, array, cols)


def begin(
    algorithm: str,
    memory: int | TwoLevelMemory | None,
    sizes: Mapping[str, int | None],
    causal: bool,
    arrays: dict[str, Any],
) -> tuple[Workplace, dict[str, int], list[SlowArray]]:
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
    work = Workplace(memory, **arrays)
    blocks = resolved_blocks(algorithm, work, sizes, causal=causal)
    return work, blocks, [work.memory.reserve(name, *shape) for name in ("dQ", "dK", "dV")]


def _backward_tile(
    work: Workplace,
    query_gradient: SlowArray,
    column: list[HeldBlock],
    rows: slice,
    cols: slice,
    causal: bool,
    scale: float,
) -> None:
    """One tile: weights again, then its share of dV, dQ and dK."""
    memory, arrays = work.memory, work.arrays
    key, value, key_gradient, value_gradient = column
    shape = (cut(rows), cut(cols))
    with (
        memory.load(arrays["Q"], rows) as query,
        memory.load(arrays["O"], rows) as out,
        memory.load(arrays["dO"], rows) as out_gradient,
        memory.load(query_gradient, rows) as gradient,
        memory.load(arrays["l"], rows) as total,
        memory.load(arrays["m"], rows) as top,
        temporaries(memory, P=shape, dS=shape, D=(cut(rows), 1)) as (weight, change, share),
    ):
        weight.set_product(query, key.T)
        finish_scores(weight, rows, cols, scale, causal)
        weight -= top
        weight.exp()
        weight /= total
        value_gradient.add_product(weight.T, out_gradient)
        change.set_product(out_gradient, value.T)
        out *= out_gradient
        share.set_row_sums(out)
        change -= share
        change *= weight
        if scale != 1.0:
            change *= scale
        gradient.add_product(change, key)
        memory.store(gradient, query_gradient, rows)
        key_gradient.add_product(change.T, query)


def reference_gradients(
    Q: Any, K: Any, V: Any, dO: Any, *, causal: bool = False, scale: float = 1.0
) -> tuple[Array, Array, Array]:
    """(dQ, dK, dV) in float64 in one piece, uncounted.

    >>> dQ, dK, dV = reference_gradients([[1.0]], [[2.0]], [[3.0]], [[1.0]])
    >>> dV
    array([[1.]])
    """
    queries, keys, values, gradient = (np.asarray(x, dtype=np.float64) for x in (Q, K, V, dO))
    scores = scale * (queries @ keys.T)
    if causal:
        scores[np.triu_indices(len(queries), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    change = gradient @ values.T
    change = scale * weights * (change - (weights * change).sum(axis=1, keepdims=True))
    return change @ keys, change.T @ queries, weights.T @ gradient
