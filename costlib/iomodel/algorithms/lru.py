"""A plain LRU cache, to show what explicit control of fast memory buys.

A cache that manages itself decides by recency alone. It keeps what was touched last, needed or not,
and it cannot be told that a temporary is dead, so it writes scratch back that an explicit schedule
drops. The loop nests below are those of the counted algorithms, entry by entry.

One entry is one cache line. A write to an absent entry does not fetch it, since it overwrites the
whole line. At the end everything that was written and not yet written back is. Left out: sets and
ways, lines of several entries, prefetching.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from costlib.iomodel.counting.counts import Count
from costlib.iomodel.memory import spans

__all__ = ["cached", "flash2", "flash2_accesses"]

#: What a loop nest touches: an address, whether its old value is read, whether it is written.
Access = tuple[int, bool, bool]


def cached(accesses: Iterable[Access], capacity: int) -> Count:
    """What a fully associative cache of ``capacity`` entries moves, from cold to the final flush.

    A miss that reads fetches its entry, and the least recently used one makes room.

    >>> cached([(address, True, False) for address in (1, 2, 1, 3, 2)], 2)
    Count(reads=4, writes=0, peak=2)
    """
    if capacity < 1:
        raise ValueError(f"capacity must be at least 1 entry, got {capacity}")
    reads = writes = peak = 0
    dirty: dict[int, bool] = {}  # in order of last use, the oldest first
    for address, read, write in accesses:
        if address in dirty:
            dirty[address] = dirty.pop(address) or write
            continue
        reads += read
        if len(dirty) == capacity:
            writes += dirty.pop(next(iter(dirty)))
        dirty[address] = write
        peak = max(peak, len(dirty))
    return Count(reads, writes + sum(dirty.values()), peak)


def flash2(N: int, d: int, M: int, *, block_rows: int, block_cols: int) -> Count:
    """FlashAttention-2's order on an LRU cache of M entries.

    >>> from costlib.iomodel import counts
    >>> explicit = counts.flash2(24, 4, 4, 4)
    >>> cached = flash2(24, 4, explicit.peak, block_rows=4, block_cols=4)
    >>> cached.total > explicit.total
    True
    """
    return cached(flash2_accesses(N, d, block_rows=block_rows, block_cols=block_cols), M)


def flash2_accesses(N: int, d: int, *, block_rows: int, block_cols: int) -> Iterator[Access]:
    """Every touch of FlashAttention-2's order: Q, K, V, O, the tile of scores and two statistics.

    The tile of scores and the statistics are scratch, at the same addresses for every tile.

    >>> len({address for address, *_ in flash2_accesses(4, 2, block_rows=2, block_cols=2)})
    40
    """
    size = N * d
    scores, total, top = 4 * size, 4 * size + block_rows * block_cols, -block_rows
    for rows in spans(N, block_rows):
        for i in range(rows.start, rows.stop):
            yield from ((3 * size + i * d + t, False, True) for t in range(d))
            yield total + i - rows.start, False, True
            yield top + i - rows.start, False, True
        for cols in spans(N, block_cols):
            for i in range(rows.start, rows.stop):
                row = scores + (i - rows.start) * block_cols - cols.start
                for j in range(cols.start, cols.stop):
                    for t in range(d):
                        yield i * d + t, True, False
                        yield size + j * d + t, True, False
                    yield row + j, False, True
                yield top + i - rows.start, True, True
                yield from ((row + j, True, True) for j in range(cols.start, cols.stop))
                yield total + i - rows.start, True, True
                yield from ((3 * size + i * d + t, True, True) for t in range(d))
                for j in range(cols.start, cols.stop):
                    yield row + j, True, False
                    for t in range(d):
                        yield 2 * size + j * d + t, True, False
                        yield 3 * size + i * d + t, True, True
        for i in range(rows.start, rows.stop):
            yield total + i - rows.start, True, False
            yield from ((3 * size + i * d + t, True, True) for t in range(d))
