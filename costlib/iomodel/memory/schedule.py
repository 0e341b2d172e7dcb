"""A schedule as plain data: moves that one program writes down and another counts.

A `Schedule` is written like a run on a `TwoLevelMemory`, with the same calls, but without data: it
notes what is loaded, stored and dropped, and every step of arithmetic in between. `play` makes
these moves on a memory and on data of its own. So nothing that the first program says of its counts
is believed, and since the moves were fixed before the data were known, none of them can depend on
a value.

A move is a list: its kind, then whole numbers, names and scalars. A block is called by its number,
in the order of loads and allocations; a part of it by ``[number, row, end, column, end]``, with a
1 behind it if it is transposed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.iomodel.memory.blocks import STEPS, Array, HeldBlock, ResidencyError, Steps
from costlib.iomodel.memory.two_level import TwoLevelMemory

__all__ = ["Played", "Schedule", "Tile", "play"]

MOST_MOVES = 200_000
MOST_RESERVED = 1_000_000  # entries of slow memory, beside the inputs
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]{0,19}")


@dataclass(frozen=True)
class Played:
    """What moves did: entries read and written, the most resident at once, what lies there now."""

    reads: int
    writes: int
    peak: int
    arrays: dict[str, Array]  #: slow memory at the end

    @property
    def total(self) -> int:
        """Reads plus writes."""
        return self.reads + self.writes


def play(moves: Any, capacity: int, **inputs: Any) -> Played:
    """Make the moves on a memory of ``capacity`` entries that holds these inputs, and count.

    The moves may come from anybody: they can compute nothing but what a `Schedule` offers, and the
    first one that is not legal is a ValueError that says which it is and why.

    >>> schedule = Schedule(4, A=(2, 2))
    >>> with schedule.load("A") as block:
    ...     block *= 10
    ...     schedule.store(block.T, "A")
    >>> schedule.moves[1]
    ['multiply', [0], 10]
    >>> played = play(schedule.moves, 4, A=[[1.0, 2.0], [3.0, 4.0]])
    >>> played.total, played.arrays["A"].tolist()
    (8, [[10.0, 30.0], [20.0, 40.0]])
    >>> play([["load", "A", 0, 2, 0, 2]], 3, A=np.eye(2))
    Traceback (most recent call last):
        ...
    ValueError: move 0, load: step 'start': loading A[0:2, 0:2] needs 4 entries, but 3 of 3 are \
free (nothing is resident)
    """
    if type(moves) is not list or len(moves) > MOST_MOVES:
        raise ValueError(f"a schedule is a list of at most {MOST_MOVES:,} moves")
    hands = _Hands(capacity, inputs)
    with np.errstate(all="ignore"):
        for place, move in enumerate(moves):
            _make(hands, place, move)
    if hands.memory.resident:
        raise ValueError(f"at the end fast memory holds {hands.memory.resident} entries: drop them")
    memory = hands.memory
    arrays = {name: memory.contents(array) for name, array in hands.arrays.items()}
    return Played(memory.reads, memory.writes, memory.peak, arrays)


def _make(hands: _Hands, place: int, move: Any) -> None:
    """One move of anybody's; an error says which, in words that they did not choose."""
    kind = move[0] if type(move) is list and move and type(move[0]) is str else ""
    if kind not in KINDS:
        raise ValueError(f"move {place} is of no kind that a schedule knows")
    try:
        hands.make(move)
    except (ValueError, ResidencyError) as error:
        raise ValueError(f"move {place}, {kind}: {str(error)[:300]}") from None
    except (TypeError, IndexError, OverflowError):
        raise ValueError(f"move {place}, {kind}: it does not have the form of its kind") from None


class Schedule:
    """Moves on a memory of ``capacity`` entries, written down; inputs are named by their shapes.

    What is not legal is refused at once, as on a `TwoLevelMemory`.

    >>> schedule = Schedule(5, A=(4, 2))
    >>> schedule.reserve("sums", 1, 2)
    >>> with schedule.allocate("sum", 1, 2, fill=0) as total:
    ...     for row in range(4):
    ...         with schedule.load("A", slice(row, row + 1)) as entries:
    ...             total += entries
    ...     schedule.store(total, "sums")
    >>> schedule.reads, schedule.writes, schedule.total, len(schedule.moves)
    (8, 2, 10, 16)
    """

    def __init__(self, capacity: int, **inputs: tuple[int, int]) -> None:
        self.moves: list[list[Any]] = []
        self._hands = _Hands(capacity, {name: np.zeros(shape) for name, shape in inputs.items()})

    def __repr__(self) -> str:
        return f"Schedule of {len(self.moves)} moves: {self._hands.memory!r}"

    @property
    def reads(self) -> int:
        """Entries read so far."""
        return self._hands.memory.reads

    @property
    def writes(self) -> int:
        """Entries written so far."""
        return self._hands.memory.writes

    @property
    def total(self) -> int:
        """Reads plus writes."""
        return self.reads + self.writes

    @property
    def free(self) -> int:
        """Entries of fast memory that are free now."""
        memory = self._hands.memory
        return int(memory.capacity or 0) - memory.resident

    def reserve(self, name: str, rows: int, cols: int) -> None:
        """Room in slow memory for a result."""
        self._note("reserve", name, rows, cols)

    def load(self, name: str, rows: slice = slice(None), cols: slice = slice(None)) -> Tile:
        """Read a rectangle of an array into fast memory."""
        return self._hold("load", name, *self._corners(name, rows, cols))

    def allocate(self, name: str, rows: int, cols: int = 1, *, fill: float | None = None) -> Tile:
        """Room in fast memory for a temporary; NaN unless filled."""
        value = () if fill is None else (_written(fill),)
        return self._hold("allocate", name, rows, cols, *value)

    def store(
        self, tile: Tile, name: str, rows: slice = slice(None), cols: slice = slice(None)
    ) -> None:
        """Write a tile to a rectangle of an array."""
        self._note("store", tile.written, name, *self._corners(name, rows, cols))

    def drop(self, *tiles: Tile) -> None:
        """Free the room of blocks."""
        for tile in tiles:
            if not tile.whole:
                raise ResidencyError("this is a part of a block: drop the whole block")
            self._note("drop", tile.number)

    def _hold(self, *move: Any) -> Tile:
        self._note(*move)
        rows, cols = self._hands.blocks[-1].shape
        return Tile(self, len(self._hands.blocks) - 1, (0, rows, 0, cols))

    def _note(self, *move: Any) -> None:
        with np.errstate(all="ignore"):
            self._hands.make(move)
        self.moves.append(list(move))

    def _corners(self, name: str, rows: slice, cols: slice) -> tuple[int, int, int, int]:
        return _corners(self._hands.array(name).shape, rows, cols)


class Tile(Steps):
    """A block in a schedule, or a part of one: its shape, and the steps that it can take.

    They are a `HeldBlock`'s own.
    """

    def __init__(
        self,
        schedule: Schedule,
        number: int,
        corners: tuple[int, int, int, int],
        *,
        whole: bool = True,
        flipped: bool = False,
    ) -> None:
        self.number, self.whole = number, whole
        self._schedule, self._corners, self._flipped = schedule, corners, flipped

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"Tile({self.number}, {rows}×{cols})"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        top, bottom, left, right = self._corners
        shape = (bottom - top, right - left)
        return (shape[1], shape[0]) if self._flipped else shape

    @property
    def T(self) -> Tile:
        """The same entries with rows and columns exchanged; takes no room."""
        return self._view(self._corners, not self._flipped)

    def part(self, rows: slice = slice(None), cols: slice = slice(None)) -> Tile:
        """Some rows and columns of the tile, without a copy; takes no room."""
        a, b, c, d = _corners(self.shape, rows, cols)
        if self._flipped:
            a, b, c, d = c, d, a, b
        top, _, left, _ = self._corners
        return self._view((top + a, top + b, left + c, left + d), self._flipped)

    @property
    def written(self) -> list[int]:
        """How a move calls it."""
        if self.whole:
            return [self.number]
        return [self.number, *self._corners, *([1] if self._flipped else [])]

    def _view(self, corners: tuple[int, int, int, int], flipped: bool) -> Tile:
        return Tile(self._schedule, self.number, corners, whole=False, flipped=flipped)

    def _do(self, name: str, *operands: Tile | float) -> Tile:
        for operand in operands:
            if isinstance(operand, Tile) and operand._schedule is not self._schedule:
                raise ValueError(f"{operand!r} belongs to another schedule")
        said = [o.written if isinstance(o, Tile) else _written(o) for o in operands]
        self._schedule._note(name, self.written, *said)
        return self

    def __enter__(self) -> Tile:
        return self

    def __exit__(self, *_: object) -> None:
        memory = self._schedule._hands.memory
        if memory.holds(self._schedule._hands.blocks[self.number]):
            self._schedule.drop(self)


class _Hands:
    """A counted memory, and what makes one move after the other on it."""

    def __init__(self, capacity: int, inputs: dict[str, Any]) -> None:
        self.memory = TwoLevelMemory(capacity)
        self.arrays = {name: self.memory.place(name, values) for name, values in inputs.items()}
        self.blocks: list[HeldBlock] = []
        self._reserved = 0

    def make(self, move: Sequence[Any]) -> None:
        """One move, or an error: ValueError, ResidencyError, TypeError, IndexError, Overflow."""
        kind, *operands = move
        if kind in STEPS:
            self._compute(kind, *operands)
        else:
            getattr(self, f"_{kind}")(*operands)

    def array(self, name: Any) -> Any:
        """An array of slow memory by its name."""
        if type(name) is not str or name not in self.arrays:
            raise ValueError(f"slow memory has {', '.join(self.arrays)}, and no other array")
        return self.arrays[name]

    def _reserve(self, name: Any, rows: Any, cols: Any) -> None:
        _check_name(name)
        if name in self.arrays:
            raise ValueError(f"there is an array {name} already")
        self._reserved += _count(rows) * _count(cols)
        if self._reserved > MOST_RESERVED:
            raise ValueError(f"a schedule may reserve {MOST_RESERVED:,} entries")
        self.arrays[name] = self.memory.reserve(name, rows, cols)

    def _load(self, name: Any, *corners: Any) -> None:
        array = self.array(name)
        self.blocks.append(self.memory.load(array, *_rectangle(array.shape, corners)))

    def _allocate(self, name: Any, rows: Any, cols: Any, *fill: Any) -> None:
        _check_name(name)
        value = _scalar(*fill) if fill else None
        rows, cols = _count(rows), _count(cols)
        self.blocks.append(self.memory.allocate(name, rows, cols, fill=value))

    def _store(self, tile: Any, name: Any, *corners: Any) -> None:
        array = self.array(name)
        self.memory.store(self._tile(tile), array, *_rectangle(array.shape, corners))

    def _drop(self, number: Any) -> None:
        self.memory.drop(self._block(number))

    def _compute(self, kind: str, tile: Any, *operands: Any) -> None:
        _, takes = STEPS[kind]
        if len(operands) != len(takes):
            raise TypeError
        opened = [self._operand(each, wanted) for each, wanted in zip(operands, takes, strict=True)]
        target = self._tile(tile)
        for each in operands:
            if type(each) is list and each != tile and self._overlap(each, tile):
                raise ResidencyError("a step reads its own target whole, or nothing of it")
        target._do(kind, *opened)

    def _overlap(self, one: list[int], other: list[int]) -> bool:
        """Whether two parts share an entry: then a step in place would need room to remember."""
        if one[0] != other[0]:
            return False
        rows, cols = self.blocks[one[0]].shape
        (a, b, c, d), (e, f, g, h) = (part[1:5] or (0, rows, 0, cols) for part in (one, other))
        return a < f and e < b and c < h and g < d

    def _operand(self, operand: Any, wanted: str) -> HeldBlock | float:
        tile = wanted == "t" or (wanted == "e" and type(operand) is list)
        return self._tile(operand) if tile else _scalar(operand)

    def _block(self, number: Any) -> HeldBlock:
        place = _count(number, 0)
        if place >= len(self.blocks):
            raise ValueError(f"there is no block {place} yet")
        return self.blocks[place]

    def _tile(self, said: Any) -> HeldBlock:
        if type(said) is not list:
            raise TypeError
        number, *rest = said
        block = self._block(number)
        if not rest:
            return block
        part = block.part(*_rectangle(block.shape, rest[:4]))
        return part.T if rest[4:] == [1] else part


#: Every kind of move.
KINDS = {"reserve", "load", "allocate", "store", "drop", *STEPS}


def _check_name(name: Any) -> None:
    if type(name) is not str or not NAME.fullmatch(name):
        raise ValueError("a name is a letter, then at most 19 letters, digits and underscores")


def _count(value: Any, least: int = 1) -> int:
    """A whole number of entries, and nothing that behaves like one."""
    if type(value) is not int or not least <= value <= 10**9:
        raise ValueError(f"whole numbers from {least} on count rows, columns and blocks")
    return value


def _scalar(value: Any) -> float:
    """A scalar of the schedule; infinities are text, since no number of JSON says them."""
    if type(value) not in (int, float) and value not in ("inf", "-inf"):
        raise TypeError
    return float(value)


def _written(value: Any) -> float | str:
    """A scalar as a move holds it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _corners(shape: tuple[int, int], rows: slice, cols: slice) -> tuple[int, int, int, int]:
    """A rectangle's ends, written out."""
    (a, b), (c, d) = (
        (0 if s.start is None else int(s.start), length if s.stop is None else int(s.stop))
        for s, length in zip((rows, cols), shape, strict=True)
    )
    _rectangle(shape, (a, b, c, d))
    if {rows.step, cols.step} - {None, 1}:
        raise ValueError("a rectangle has no stride")
    return a, b, c, d


def _rectangle(shape: tuple[int, int], corners: Sequence[Any]) -> tuple[slice, slice]:
    """Rows and columns within a shape, at least one of each."""
    a, b, c, d = corners
    for start, stop, length in ((a, b, shape[0]), (c, d, shape[1])):
        if not _count(start, 0) < _count(stop) <= length:
            raise ValueError(f"a rectangle must lie within {shape[0]}×{shape[1]} entries")
    return slice(a, b), slice(c, d)
