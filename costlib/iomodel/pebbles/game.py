"""The red-blue pebble game with its answers: what is legal, what is best, what any play implies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from costlib.iomodel.pebbles.partition import Subset, partition
from costlib.iomodel.pebbles.rules import Move, Rules
from costlib.iomodel.pebbles.search import Optimum, Progress, optimal
from costlib.units.numbers import size

__all__ = ["Game"]


@dataclass(frozen=True, slots=True)
class Game(Rules):
    """The game on one graph with a number of red pebbles: the fast memory M, in entries.

    >>> from costlib.iomodel.pebbles import Dag
    >>> game = Game(Dag.tree(leaves=2), red=3)
    >>> game.play("R0 R1 C2 W2").cost
    3
    >>> game.optimal().cost
    3
    """

    def optimal(
        self,
        *,
        states: int = 5_000_000,
        progress: Callable[[Progress], None] | None = None,
    ) -> Optimum:
        """The least I/O of any complete pebbling, with the moves that reach it.

        A* over positions right after a computation. Its estimate of the I/O still to come is never
        too high: the proof is in ``costlib.iomodel.pebbles.projection``, and ``search`` says why
        these positions suffice. After ``states`` positions the search gives up. Then the result
        says ``proved == False``, and carries the best lower bound and the best pebbling found.
        ``progress`` is called now and then: ``progress=print`` shows how far the search is.

        >>> from costlib.iomodel.pebbles import Dag
        >>> Game(Dag.grid(rows=3, columns=3), red=3).optimal().cost
        5
        >>> Game(Dag.grid(rows=3, columns=3), red=3, recompute=False).optimal().cost
        6
        """
        return optimal(self, size("states", states), progress)

    def partition(self, moves: str | Iterable[Move | str]) -> tuple[Subset, ...]:
        """Hong and Kung's partition with limit 2M that a complete pebbling gives.

        >>> from costlib.iomodel.pebbles import Dag
        >>> game = Game(Dag.chain(4), red=2)
        >>> [part.vertices for part in game.partition("R0 C1 D0 C2 D1 C3 W3")]
        [(0, 1, 2, 3)]
        """
        return partition(self, moves)
