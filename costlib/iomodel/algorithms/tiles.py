"""The two products of attention, a tile at a time: the steps that several algorithms share."""

from __future__ import annotations

from costlib.iomodel.algorithms.runs import Workplace, live_columns
from costlib.iomodel.memory import HeldBlock, spans

__all__: list[str] = []  # what the algorithms are built of


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


def multiply(
    work: Workplace,
    weights: str,
    values: str,
    result: str,
    shape: tuple[int, int, int],
    *,
    tile: int | None = None,
    minus: str = "",
    over: str = "",
) -> None:
    """O = P V a tile at a time, from a P in slow memory; ``shape``: rows, columns, keys at a time.

    P is there as far as square tiles of side ``tile`` cover what is seen. Scores become weights on
    the way, by the statistics that ``minus`` names. O is divided by those that ``over`` names.
    If the result is dK, it is Pᵀ V.
    """
    turned, kept = result == "dK", [name for name in (over, minus) if name]
    for i, rows in work.blocks("row statistics", shape[0]):
        needed = live_columns(rows, tile or shape[0], work.length, work.causal)
        with work.loaded(rows, *kept) as statistics:
            held = dict(zip(kept, statistics, strict=True))
            for t, part in enumerate(spans(work.width, shape[1])):
                work.memory.step("values", i, t)
                with work.memory.allocate("O", cut(rows), cut(part), fill=0.0) as out:
                    for keys in spans(needed, shape[2]):
                        where = (keys, rows) if turned else (rows, keys)
                        with (
                            work.load(weights, *where) as weight,
                            work.load(values, keys, part) as value,
                        ):
                            if minus:
                                weight -= held[minus]
                                weight.exp()
                            out.add_product(weight.T if turned else weight, value)
                    if over:
                        out /= held[over]
                    work.store(out, result, rows, part)


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
