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

__all__ = [
    "LRUCache",
    "flash2",
    "flash2_accesses",
]

#: What a loop nest touches: an address, whether its old value is read, whether it is written.
Access = tuple[int, bool, bool]


class LRUCache:
    """A fully associative cache of ``capacity`` entries that evicts the least recently used.

    >>> cache = LRUCache(2)
    >>> for address in (1, 2, 1, 3, 2):
    ...     cache.touch(address, read=True, write=False)
    >>> cache.reads, cache.writes
    (4, 0)
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1 entry, got {capacity}")
        self.capacity = capacity
        self.reads = 0
        self.writes = 0
        self.peak = 0
        self._dirty: dict[int, bool] = {}  # in order of last use, the oldest first

    def touch(self, address: int, *, read: bool, write: bool) -> None:
        """Use one entry: a miss that reads fetches it, and the oldest entry makes room."""
        lines = self._dirty
        if address in lines:
            lines[address] = lines.pop(address) or write
            return
        self.reads += read
        if len(lines) == self.capacity:
            self.writes += lines.pop(next(iter(lines)))
        lines[address] = write
        self.peak = max(self.peak, len(lines))

    def flush(self) -> None:
        """Write back what is dirty and empty the cache."""
        self.writes += sum(self._dirty.values())
        self._dirty.clear()

    def run(self, accesses: Iterable[Access]) -> Count:
        """Play a loop nest from a cold cache to the final flush."""
        before = self.reads, self.writes
        for address, read, write in accesses:
            self.touch(address, read=read, write=write)
        self.flush()
        return Count(self.reads - before[0], self.writes - before[1], self.peak)


def flash2(N: int, d: int, M: int, *, block_rows: int, block_cols: int) -> Count:
    """FlashAttention-2's order on an LRU cache of M entries.

    >>> from costlib.iomodel import counts
    >>> explicit = counts.flash2(24, 4, 4, 4)
    >>> cached = flash2(24, 4, explicit.peak, block_rows=4, block_cols=4)
    >>> cached.total > explicit.total
    True
    """
    return LRUCache(M).run(flash2_accesses(N, d, block_rows=block_rows, block_cols=block_cols))


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
                yield from _score_row(i, cols, row, d, size)
                yield top + i - rows.start, True, True
                yield from ((row + j, True, True) for j in range(cols.start, cols.stop))
                yield total + i - rows.start, True, True
                yield from ((3 * size + i * d + t, True, True) for t in range(d))
                yield from _value_row(i, cols, row, d, size)
        for i in range(rows.start, rows.stop):
            yield total + i - rows.start, True, False
            yield from ((3 * size + i * d + t, True, True) for t in range(d))


def _score_row(i: int, cols: slice, row: int, d: int, size: int) -> Iterator[Access]:
    for j in range(cols.start, cols.stop):
        for t in range(d):
            yield i * d + t, True, False
            yield size + j * d + t, True, False
        yield row + j, False, True


def _value_row(i: int, cols: slice, row: int, d: int, size: int) -> Iterator[Access]:
    for j in range(cols.start, cols.stop):
        yield row + j, True, False
        for t in range(d):
            yield 2 * size + j * d + t, True, False
            yield 3 * size + i * d + t, True, True
