"""The counted two-level memory: a fast level of M entries, a slow level without limit.

Arrays live in slow memory. An algorithm loads blocks, allocates temporaries, computes on what is
resident, stores and drops. Every entry that crosses between the levels is counted, the most that
was ever resident is known, and a step that would exceed the capacity is refused.

What makes the count honest is what an algorithm cannot do. A `SlowArray` gives its data to nobody
but the memory. A `HeldBlock` never hands out a NumPy array: you compute on it with NumPy's own
functions and ``out=``, and a block that was dropped refuses. Nothing is free but scalars known
before the run, and the registers of the arithmetic itself: one compute step may read a resident
operand entry by entry and add to a resident result, so a product that accumulates needs no room
for the bare product.

The unit is the entry, whatever its bytes. Left out: cache lines, levels beyond two, and time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.iomodel.memory.blocks import (
    Array,
    CapacityError,
    HeldBlock,
    ResidencyError,
    SlowArray,
    opened,
)

__all__ = ["Event", "TwoLevelMemory", "spans"]


@dataclass(frozen=True, slots=True)
class Event:
    """One movement in the trace: what, when, where, how many, and what is resident afterwards."""

    step: str
    kind: str  #: "load", "store", "alloc" or "drop"
    array: str
    rows: tuple[int, int]
    cols: tuple[int, int]
    entries: int
    resident: int  #: entries in fast memory after the event
    block: int  #: the number of the block: its load or alloc, stores and drop share it

    @property
    def region(self) -> tuple[slice, slice]:
        """The rows and columns of the array, as slices."""
        return slice(*self.rows), slice(*self.cols)


def spans(length: int, step: int) -> Iterator[slice]:
    """Consecutive slices of ``step`` that cover ``length``; the last one may be shorter.

    >>> [(s.start, s.stop) for s in spans(10, 4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


class TwoLevelMemory:
    """A fast memory of ``capacity`` entries over a slow one, with every transfer counted.

    ``capacity=None`` counts without a limit. With ``trace=True`` every movement is kept in
    ``memory.trace``.

    >>> memory = TwoLevelMemory(6)
    >>> A = memory.place("A", np.arange(6.0).reshape(3, 2))
    >>> with memory.load(A, slice(0, 2)) as top, memory.allocate("sum", 1, 2) as total:
    ...     _ = np.add.reduce(top, axis=0, keepdims=True, out=total)
    ...     memory.store(total, A, slice(0, 1))
    >>> memory.reads, memory.writes, memory.peak
    (4, 2, 6)
    >>> memory.contents(A)[0]
    array([2., 4.])
    >>> memory.load(memory.place("B", np.ones((4, 4))))
    Traceback (most recent call last):
        ...
    costlib.iomodel.memory.blocks.CapacityError: step 'start': loading B[0:4, 0:4] needs 16 \
entries, but 6 of 6 are free (nothing is resident)
    """

    def __init__(self, capacity: int | None, *, trace: bool = False) -> None:
        if capacity is not None and (isinstance(capacity, bool) or int(capacity) != capacity):
            raise TypeError(f"capacity must be a whole number of entries, got {capacity!r}")
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity must be at least 1 entry, got {capacity}")
        self.capacity = None if capacity is None else int(capacity)
        self.reads = 0
        self.writes = 0
        self.peak = 0
        self.resident = 0
        self.trace: list[Event] = []
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        self._tracing = trace
        self._resident_blocks: dict[int, HeldBlock] = {}
        self._next = 0
        self._step: tuple[str, tuple[int, ...]] = ("start", ())

    def __repr__(self) -> str:
        return (
            f"TwoLevelMemory({self.capacity}): {self.reads} reads, {self.writes} writes, "
            f"peak {self.peak}, {self.resident} resident"
        )

    def step(self, name: str, *indices: int) -> None:
        """Name what comes next, for the trace and for error messages."""
        self._step = (name, indices)

    def place(self, name: str, values: Any) -> SlowArray:
        """Put a copy of a matrix into slow memory, where inputs are before the run: no cost."""
        data = np.array(values)
        if data.ndim != 2:
            raise ValueError(f"{name} must be a matrix, got an array of shape {data.shape}")
        return SlowArray(self, name, data)

    def reserve(self, name: str, rows: int, cols: int) -> SlowArray:
        """Room in slow memory for a result; every entry is NaN until it is stored."""
        return SlowArray(self, name, np.full((rows, cols), np.nan, dtype=self.dtype))

    def load(
        self, array: SlowArray, rows: slice = slice(None), cols: slice = slice(None)
    ) -> HeldBlock:
        """Read a rectangle of a slow array into fast memory: one read for each entry."""
        rows, cols = self._region(array, rows, cols)
        entries = (rows.stop - rows.start) * (cols.stop - cols.start)
        self._make_room(entries, "loading", array.name, rows, cols)
        self.reads += entries
        block = self._hold(array.name, array._data[rows, cols].copy(), rows, cols)
        self._record("load", block)
        return block

    def allocate(
        self, name: str, rows: int, cols: int = 1, *, fill: float | None = None
    ) -> HeldBlock:
        """Room in fast memory for a temporary; NaN unless filled. Costs space, but no transfer."""
        region = slice(0, rows), slice(0, cols)
        self._make_room(rows * cols, "allocating", name, *region)
        value = np.nan if fill is None else float(fill)
        block = self._hold(name, np.full((rows, cols), value, dtype=self.dtype), *region)
        self._record("alloc", block)
        return block

    def store(
        self,
        block: HeldBlock,
        array: SlowArray,
        rows: slice = slice(None),
        cols: slice = slice(None),
    ) -> None:
        """Write a resident block to a rectangle of a slow array: one write for each entry."""
        data = opened(block)
        rows, cols = self._region(array, rows, cols)
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        if block._memory is not self or shape != block.shape:
            raise ValueError(
                f"{self._where()}: {block!r} does not fit {array.name}{_text(rows, cols)}, "
                f"which is {shape[0]}×{shape[1]}"
            )
        array._data[rows, cols] = data
        self.writes += block.entries
        self._record("store", block, array.name, (rows, cols))

    def drop(self, *blocks: HeldBlock) -> None:
        """Free the room of resident blocks. What was not stored is lost."""
        for block in blocks:
            if block._owner is not block:
                raise ResidencyError(f"{block!r} is a part of a block: drop the whole block")
            opened(block).fill(np.nan)  # whoever kept the data itself computes with NaN from here
            del self._resident_blocks[block._number]
            self.resident -= block.entries
            self._record("drop", block)

    def holds(self, block: HeldBlock) -> bool:
        """True while a block is resident."""
        return block._memory is self and block._number in self._resident_blocks

    def contents(self, array: SlowArray) -> Array:
        """A copy of a slow array, for after the run: refused while anything is resident."""
        if self.resident:
            raise ResidencyError(
                f"{array.name} can be looked at when fast memory is empty, but it holds "
                f"{self._inventory()}"
            )
        data: Array = array._data.copy()
        return data

    def _region(self, array: SlowArray, rows: slice, cols: slice) -> tuple[slice, slice]:
        if array._memory is not self:
            raise ValueError(f"{self._where()}: {array!r} belongs to another memory")
        return _span(array, rows, 0), _span(array, cols, 1)

    def _make_room(self, entries: int, doing: str, name: str, rows: slice, cols: slice) -> None:
        if entries < 1:
            raise ValueError(f"{self._where()}: {doing} {name}{_text(rows, cols)} moves no entry")
        wanted = self.resident + entries
        if self.capacity is not None and wanted > self.capacity:
            free = self.capacity - self.resident
            raise CapacityError(
                f"{self._where()}: {doing} {name}{_text(rows, cols)} needs {entries} entries, but "
                f"{free} of {self.capacity} are free ({self._inventory()})"
            )
        self.resident = wanted
        if wanted > self.peak:
            self.peak = wanted

    def _hold(self, name: str, data: Array, rows: slice, cols: slice) -> HeldBlock:
        block = HeldBlock(self, name, data, self._next)
        block._region = rows, cols
        self._resident_blocks[self._next] = block
        self._next += 1
        return block

    def _inventory(self) -> str:
        if not self._resident_blocks:
            return "nothing is resident"
        held = (f"{b.name} {b.shape[0]}×{b.shape[1]}" for b in self._resident_blocks.values())
        return "resident: " + ", ".join(held)

    def _step_text(self) -> str:
        name, indices = self._step
        return f"{name} ({', '.join(map(str, indices))})" if indices else name

    def _where(self) -> str:
        return f"step '{self._step_text()}'"

    def _record(
        self,
        kind: str,
        block: HeldBlock,
        name: str | None = None,
        region: tuple[slice, slice] | None = None,
    ) -> None:
        if not self._tracing:
            return
        rows, cols = ((part.start, part.stop) for part in region or block._region)
        place = name or block.name, rows, cols, block.entries
        self.trace.append(Event(self._step_text(), kind, *place, self.resident, block._number))


def _span(array: SlowArray, wanted: slice, axis: int) -> slice:
    """A slice with its ends written out; beyond the array or with a stride it is an error."""
    length = array.shape[axis]
    start = 0 if wanted.start is None else wanted.start
    stop = length if wanted.stop is None else wanted.stop
    if wanted.step not in (None, 1) or not 0 <= start <= stop <= length:
        kind = ("rows", "cols")[axis]
        raise ValueError(f"{kind} of {array!r} must be a slice within 0:{length}, got {wanted}")
    return slice(start, stop)


def _text(rows: slice, cols: slice) -> str:
    return f"[{rows.start}:{rows.stop}, {cols.start}:{cols.stop}]"
