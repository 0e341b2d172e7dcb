"""Queries stay while keys pass: the schedule that attains this book's bounds for many shapes.

It is FlashAttention-2's order with one key at a time. What it adds: queries and keys may differ in
number, and keys and values in width; the mask may be any; values may be the first columns of the
keys, which are then read once for both; and queries come and go one at a time. The last makes
windows as cheap as full attention: each key meets its own queries, the first block of them when the
first of them is there, and none is left over at the edge of a block.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from costlib.iomodel.algorithms.runs import Run, Workplace, block_size
from costlib.iomodel.algorithms.tiles import cut, fold_scores
from costlib.iomodel.counting.counts import streamed_rows
from costlib.iomodel.memory import CapacityError, HeldBlock, TwoLevelMemory, spans

__all__ = ["streamed"]


def streamed(
    Q: Any,
    K: Any,
    V: Any,
    memory: int | TwoLevelMemory | None,
    *,
    block_rows: int | None = None,
    value_width: int | None = None,
    value_cols: int | None = None,
    mask: Any = None,
    scale: float = 1.0,
) -> Run:
    """Attention with ``block_rows`` queries at hand and one key at a time; `counts.streamed`.

    ``V=None`` means that a value is the first ``value_width`` entries of its key. ``mask`` says
    which query (row) sees which key (column); it is known beforehand and takes no room. Queries of
    a group of heads that share their keys are stacked, as `Heads.mask` has them. Without
    ``block_rows`` as many queries are kept as fit. ``value_cols`` makes a pass for each block of
    this many columns of the values, and computes the scores anew in each.

    >>> Q, K, V = np.eye(8, 4), np.eye(6, 4), np.eye(6, 3)
    >>> run = streamed(Q, K, V, None, block_rows=4)
    >>> run.reads, run.writes, run.peak
    (116, 24, 45)
    >>> run = streamed(Q, K, None, None, block_rows=4, value_width=3)
    >>> run.reads, run.writes, run.peak
    (80, 24, 42)
    """
    latent = V is None
    work = Workplace(memory, scale=scale, Q=Q, K=K, **({} if latent else {"V": V}))
    d = work.width
    wanted = _wanted(work, mask, latent)
    if latent:
        width = block_size("value_width", d if value_width is None else value_width, d)
        if value_cols is not None:
            raise ValueError("value_cols is for values of their own: a latent is read once")
    else:
        width = work.arrays["V"].shape[1]
    cols = width if value_cols is None else block_size("value_cols", value_cols, width)
    block = _block(work, block_rows, d, cols, latent)
    work.reserve(O=(work.length, width))
    meetings = _meetings(wanted, block)
    for part in spans(width, cols):
        _pass(work, part, block, meetings, wanted)
    return work.finish("O", blocks={"block_rows": block, "value_cols": cols})


def _wanted(work: Workplace, mask: Any, latent: bool) -> np.ndarray[Any, Any]:
    """The mask as an array of truth values; matrices that do not belong together are refused."""
    shapes = {name: array.shape for name, array in work.arrays.items()}
    if shapes["Q"][1] != shapes["K"][1] or not (latent or shapes["V"][0] == shapes["K"][0]):
        raise ValueError(
            f"Q and K must have one width, and K and V as many rows as one another, got {shapes}"
        )
    shape = (shapes["Q"][0], shapes["K"][0])
    wanted = np.ones(shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if wanted.shape != shape:
        raise ValueError(f"mask must have shape {shape}, got {wanted.shape}")
    blind = np.flatnonzero(~wanted.any(axis=1))
    if blind.size:
        raise ValueError(f"every query must see a key, but query {blind[0]} sees none")
    return wanted


def _block(work: Workplace, given: int | None, d: int, cols: int, latent: bool) -> int:
    rows, capacity = work.length, work.memory.capacity
    if given is not None or capacity is None:
        return block_size("block_rows", rows if given is None else given, rows)
    fits = int(streamed_rows(d, capacity, value_width=cols, latent=latent))
    if fits < 1:
        least = d + cols + 4 + (d if latent else d + cols)
        raise CapacityError(f"streamed needs at least {least} entries, got M = {capacity}")
    return min(fits, rows)


def _meetings(wanted: np.ndarray[Any, Any], block: int) -> dict[int, list[int]]:
    """Which keys pass when x is the first query at hand: those whose turn it is.

    Key j passes whenever x is a multiple of ``block`` beyond the first query that sees it. A query
    is at hand while ``block`` different x go by, so it meets every key exactly once.
    """
    meetings: dict[int, set[int]] = defaultdict(set)
    for j in np.flatnonzero(wanted.any(axis=0)).tolist():
        queries = np.flatnonzero(wanted[:, j])
        for x in (queries - (queries - queries[0]) % block).tolist():
            meetings[x].add(j)
    return {x: sorted(keys) for x, keys in meetings.items()}


def _pass(
    work: Workplace,
    part: slice,
    block: int,
    meetings: dict[int, list[int]],
    wanted: np.ndarray[Any, Any],
) -> None:
    """All queries once, for some columns of the values."""
    memory, rows = work.memory, work.length
    at_hand: dict[int, tuple[HeldBlock, ...]] = {}
    for x in range(rows):
        while len(at_hand) < block and x + len(at_hand) < rows:
            i = x + len(at_hand)
            memory.step("query", i)
            query = work.load("Q", slice(i, i + 1))
            out = memory.allocate("O", 1, cut(part), fill=0.0)
            top = memory.allocate("m", 1, 1, fill=-np.inf)
            at_hand[i] = query, out, top, memory.allocate("l", 1, 1, fill=0.0)
        for j in meetings.get(x, ()):
            memory.step("key", j, x)
            _meet(work, j, part, at_hand, wanted[:, j])
        memory.step("output", x)
        query, out, top, total = at_hand.pop(x)
        out /= total
        work.store(out, "O", slice(x, x + 1), part)
        memory.drop(query, out, top, total)


def _meet(
    work: Workplace,
    j: int,
    part: slice,
    at_hand: dict[int, tuple[HeldBlock, ...]],
    sees: np.ndarray[Any, Any],
) -> None:
    """One key and its value, against every query at hand that sees it."""
    memory, row = work.memory, slice(j, j + 1)
    held = [work.load("K", row)]
    if "V" in work.arrays:
        held.append(work.load("V", row, part))
    key, value = held[0], held[-1] if len(held) > 1 else held[0].part(cols=part)
    with memory.allocate("S", 1, 1) as score, memory.allocate("r", 1, 1) as change:
        for i, (query, out, top, total) in at_hand.items():
            if sees[i]:
                score.set_product(query, key.T)
                if work.scale != 1.0:
                    score *= work.scale
                fold_scores(score, top, total, change)
                out *= change
                out.add_product(score, value)
    memory.drop(*held)
