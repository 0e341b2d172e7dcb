"""The two products of attention, a tile at a time: the steps that several algorithms share."""

from __future__ import annotations

from costlib.iomodel.algorithms.runs import Workplace
from costlib.iomodel.memory import HeldBlock, spans

__all__ = ["cut", "finish_scores", "fold_scores", "score_tile", "value_tile", "weigh"]


def cut(where: slice) -> int:
    """The length of a slice with both ends given."""
    return int(where.stop - where.start)


def finish_scores(work: Workplace, tile: HeldBlock, rows: slice, cols: slice) -> None:
    """Scale a tile of scores and mask the future, in place."""
    if work.scale != 1.0:
        tile *= work.scale
    if work.causal:
        tile.mask_future(rows.start, cols.start)


def score_tile(work: Workplace, rows: slice, cols: slice, inner: int) -> HeldBlock:
    """A tile of scores, summed over slices of ``inner`` columns of Q and K; the caller drops it."""
    tile = work.memory.allocate("S", cut(rows), cut(cols), fill=0.0)
    for part in spans(work.width, inner):
        with work.load("Q", rows, part) as query, work.load("K", cols, part) as key:
            tile.add_product(query, key.T)
    finish_scores(work, tile, rows, cols)
    return tile


def value_tile(
    work: Workplace,
    weights: str,
    values: str,
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
    tile = work.memory.allocate("O", cut(rows), cut(width), fill=0.0)
    for keys in spans(needed, inner):
        where = (keys, rows) if transposed else (rows, keys)
        with work.load(weights, *where) as weight, work.load(values, keys, width) as value:
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
