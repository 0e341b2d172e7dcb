"""A blocked run replayed as pebble moves: a schedule is a pebbling.

The trace of a counted memory names rectangles that are loaded, stored and dropped. It does not say
what is computed in between, and need not: the calculation's graph does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from costlib.iomodel.memory import Event
from costlib.iomodel.pebbles.dag import Dag
from costlib.iomodel.pebbles.rules import Move

__all__ = ["replay"]


def replay(
    dag: Dag, trace: Iterable[Event], names: Mapping[str, str] | None = None
) -> tuple[Move, ...]:
    """The pebble moves of a run: the same reads and writes, computing as soon as parents are red.

    ``names`` says how an array's entries are called in the graph, such as ``{"O":
    "Y[{row},{col}]"}``; without an entry there, ``A`` has vertices ``A[row,col]``. Arrays with no
    vertex are temporaries, and their events are passed over.

    A computed vertex is deleted once all its children are computed. Since no pebble slides, an
    accumulator takes a second pebble while it is updated: allow one red pebble more than the
    entries of the run. Left out: runs that compute a value, drop it, and compute it again.

    >>> import numpy as np
    >>> from costlib.iomodel import TwoLevelMemory, flash2
    >>> from costlib.iomodel.pebbles import Game
    >>> x, memory = np.eye(4, 2), TwoLevelMemory(24, trace=True)
    >>> run = flash2(x, x, x, memory, block_rows=2, block_cols=2)
    >>> dag = Dag.attention(seq=4, head_dim=2)
    >>> moves = replay(dag, memory.trace, {"O": "Y[{row},{col}]"})
    >>> run.total, Game(dag, red=24).play(moves).cost
    (48, 48)
    """
    table = _Table(dag, names or {})
    moved = {"load": table.load, "store": table.store, "drop": table.drop}
    for event in trace:
        if event.kind in moved:
            moved[event.kind](event)
    return tuple(table.moves)


class _Table:
    """The red pebbles, the vertices computed so far, and the moves that led there."""

    def __init__(self, dag: Dag, names: Mapping[str, str]) -> None:
        self.dag = dag
        self.names = names
        self.moves: list[Move] = []
        self._number = {name: vertex for vertex, name in enumerate(dag.names)}
        self._children = dag.children
        self._red: set[int] = set()
        self._loaded: dict[int, list[int]] = {}
        self._computed: set[int] = set()

    def vertices(self, event: Event) -> list[int]:
        """The vertices of the event's rectangle, none if the array is a temporary."""
        pattern = self.names.get(event.array, event.array + "[{row},{col}]")
        entries = (
            pattern.format(row=row, col=col)
            for row in range(*event.rows)
            for col in range(*event.cols)
        )
        return [self._number[entry] for entry in entries if entry in self._number]

    def load(self, event: Event) -> None:
        self._loaded[event.block] = self.vertices(event)
        for vertex in self._loaded[event.block]:
            self._red.add(vertex)
            self.moves.append(Move("R", vertex))
        while (ready := next(self._ready(), None)) is not None:
            self._compute(ready)

    def store(self, event: Event) -> None:
        for vertex in self.vertices(event):
            if vertex not in self._red:
                raise ValueError(
                    f"{event.array} is stored before {self.dag.names[vertex]} can be computed: the "
                    "trace and the graph do not belong together"
                )
            self.moves.append(Move("W", vertex))
            if not self._children[vertex]:
                self._delete(vertex)

    def drop(self, event: Event) -> None:
        for vertex in self._loaded.get(event.block, []):
            if vertex in self._red:
                self._delete(vertex)

    def _ready(self) -> Iterator[int]:
        touched = {child for parent in self._red for child in self._children[parent]}
        for vertex in sorted(touched - self._computed):
            if self._red.issuperset(self.dag.parents[vertex]):
                yield vertex

    def _compute(self, vertex: int) -> None:
        self._computed.add(vertex)
        self._red.add(vertex)
        self.moves.append(Move("C", vertex))
        for parent in self.dag.parents[vertex]:
            if parent in self._computed and self._computed.issuperset(self._children[parent]):
                self._delete(parent)

    def _delete(self, vertex: int) -> None:
        self._red.remove(vertex)
        self.moves.append(Move("D", vertex))
