"""The two products of attention, a tile at a time: the steps that several algorithms share."""

from __future__ import annotations

from costlib.iomodel.memory import HeldBlock, SlowArray, TwoLevelMemory, spans

__all__ = ["live_columns"]  # the rest is what the algorithms are built of


def live_columns(rows: slice, block_cols: int, length: int, causal: bool) -> int:
    """How many columns the tiles cover that these rows need; tiles above the diagonal are skipped.

    >>> live_columns(slice(4, 8), 5, 12, causal=True)
    10
    >>> live_columns(slice(4, 8), 5, 12, causal=False)
    12
    """
    return min(length, -(-rows.stop // block_cols) * block_cols) if causal else length


def cut(where: slice) -> int:
    """The length of a slice with both ends given."""
    return int(where.stop - where.start)


def finish_scores(tile: HeldBlock, rows: slice, cols: slice, scale: float, causal: bool) -> None:
    """Scale a tile of scores and mask the future, in place."""
    if scale != 1.0:
        tile *= scale
    if causal:
        tile.mask_future(rows.start, cols.start)


def score_tile(
    memory: TwoLevelMemory,
    queries: SlowArray,
    keys: SlowArray,
    rows: slice,
    cols: slice,
    inner: int,
    scale: float,
    causal: bool,
) -> HeldBlock:
    """A tile of scores, summed over slices of ``inner`` columns of Q and K; the caller drops it."""
    tile = memory.allocate("S", cut(rows), cut(cols), fill=0.0)
    for slice_of_width in spans(queries.shape[1], inner):
        with (
            memory.load(queries, rows, slice_of_width) as query,
            memory.load(keys, cols, slice_of_width) as key,
        ):
            tile.add_product(query, key.T)
    finish_scores(tile, rows, cols, scale, causal)
    return tile


def value_tile(
    memory: TwoLevelMemory,
    weights: SlowArray,
    values: SlowArray,
    rows: slice,
    width: slice,
    inner: int,
    needed: int,
    row_maxima: HeldBlock | None = None,
    *,
    transposed: bool = False,
) -> HeldBlock:
    """A tile of P V, summed over slices of ``inner`` keys up to ``needed``; the caller drops it.

    With ``row_maxima`` the slow array holds raw scores, which become weights on the way. It is
    Pᵀ V of a ``transposed`` P.
    """
    tile = memory.allocate("O", cut(rows), cut(width), fill=0.0)
    for keys in spans(needed, inner):
        where = (keys, rows) if transposed else (rows, keys)
        with memory.load(weights, *where) as weight, memory.load(values, keys, width) as value:
            if row_maxima is not None:
                weight -= row_maxima
                weight.exp()
            tile.add_product(weight.T if transposed else weight, value)
    return tile


def fold_scores(tile: HeldBlock, top: HeldBlock, total: HeldBlock, change: HeldBlock) -> None:
    """The online softmax: a tile of scores becomes weights, folded into row maxima and sums.

    ``change`` becomes the factor exp(old maximum − new maximum), by which everything that was
    summed before shrinks. It is at most 1, so nothing overflows; the other way round it would grow.
    """
    change.copy_from(top)
    top.raise_to_row_maxima(tile)
    weigh(tile, change, top, total)


def weigh(tile: HeldBlock, old_top: HeldBlock, new_top: HeldBlock, total: HeldBlock) -> None:
    """`fold_scores` with the new maxima known: ``old_top`` is what becomes the factor."""
    old_top -= new_top
    old_top.exp()
    tile -= new_top
    tile.exp()
    total *= old_top
    total.add_row_sums(tile)
