"""A lower bound on the I/O still to come: the game played on one group of vertices at a time.

Split the vertices into disjoint groups. The **projected game** of a group has pebbles on the
group's vertices only. A vertex of the group may be computed when its parents in the group are red
and there is room: the group's red pebbles, all parents and the vertex itself are at most M
together. Vertices outside the group are free: no pebble, no cost, at hand whenever they are needed.

Claim: from any position, the projected optima of all groups add up to at most the true optimum.

Proof. Take a cheapest pebbling from that position, and keep its moves on the group's vertices. A
read, a write or a removal stays legal: it asks for nothing outside its vertex, and there are fewer
red pebbles than before. A computation stays legal: in the full game its parents, the vertex and the
group's red pebbles were red together, so they are at most M. At the end the group's outputs are
blue. So the kept moves solve the projected game, and cost at least its optimum. Each read or write
of the full pebbling is on one vertex, so it is kept for one group: the sum counts nothing twice. If
a vertex may be computed once only, the full game has fewer moves, and the same argument holds.

The sum is also consistent: a move changes the position of one group only, and lowers that group's
optimum by at most the cost of the move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from costlib.iomodel.pebbles.dag import Dag

__all__ = ["Projection", "projections"]

#: The largest table of one group: positions, and sets of red vertices among them.
MOST_ENTRIES = 2**20
MOST_ROWS = 2**14

#: Table entries stop here. A larger optimum is entered as this, which is still a lower bound.
CEILING = 200


class Projection:
    """The projected optimum of one group from each of its positions.

    >>> tree = Dag.tree(leaves=4)
    >>> Projection(tree, red=3, group=range(7)).bound(red=0, blue=0)
    7
    """

    def __init__(self, dag: Dag, red: int, group: Sequence[int]) -> None:
        self._dag = dag
        self._red = red
        self._group = tuple(group)
        self._stored = [
            v for v in group if dag.parents[v]
        ]  # an input is always blue: it needs no bit
        self._rows = {mask: row for row, mask in enumerate(_small_sets(self._group, red))}
        self._columns = _numbered_subsets(self._stored)
        self._group_mask = sum(1 << v for v in group)
        self._stored_mask = sum(1 << v for v in self._stored)
        self._width = len(self._columns)
        self._optima = self._solve().tobytes()

    def bound(self, red: int, blue: int) -> int:
        """The least I/O on the group from these red and blue vertices, given as bit masks."""
        row = self._rows[red & self._group_mask]
        return self._optima[row * self._width + self._columns[blue & self._stored_mask]]

    def _solve(self) -> np.ndarray[Any, Any]:
        """Lower every entry to a move plus the entry after it, until nothing changes."""
        optima = np.full((len(self._rows), self._width), CEILING, dtype=np.uint8)
        goal = sum(1 << v for v in self._stored if v in self._dag.outputs)
        optima[:, [column for blue, column in self._columns.items() if blue & goal == goal]] = 0
        moves = [self._moves(vertex) for vertex in self._group]
        before = -1
        while before != (before := int(optima.sum())):
            for without, placed, ready, ready_placed, bit in moves:
                _read_write_delete(optima, without, placed, bit)
                optima[ready] = np.minimum(optima[ready], optima[ready_placed])
        return optima

    def _moves(self, vertex: int) -> tuple[Any, Any, Any, Any, int | None]:
        """Rows where the vertex is not red and where it then is, for reading and for computing."""
        bit = 1 << vertex
        parents = sum(1 << parent for parent in self._dag.parents[vertex])
        without = [mask for mask in self._rows if not mask & bit and mask | bit in self._rows]
        ready = [
            mask
            for mask in without
            if parents
            and not parents & self._group_mask & ~mask
            and (mask | parents | bit).bit_count() <= self._red
        ]
        stored = self._stored.index(vertex) if parents else None
        return (
            self._row_numbers(without),
            self._row_numbers([mask | bit for mask in without]),
            self._row_numbers(ready),
            self._row_numbers([mask | bit for mask in ready]),
            stored,
        )

    def _row_numbers(self, masks: list[int]) -> np.ndarray[Any, Any]:
        return np.array([self._rows[mask] for mask in masks], dtype=np.intp)


@lru_cache(maxsize=4)  # both forms of a game use the same ones
def projections(dag: Dag, red: int) -> list[Projection]:
    """Projections on disjoint groups: of four ways to group, the best bound at the start."""
    groupings = [list(_groups(dag, red, order)) for order in _orders(dag)]
    different = {group for grouping in groupings for group in grouping}  # most occur in all four
    tables = {group: Projection(dag, red, group) for group in different}
    choices = [[tables[group] for group in grouping] for grouping in groupings]
    return max(choices, key=lambda choice: sum(table.bound(0, 0) for table in choice))


def _orders(dag: Dag) -> Iterator[list[list[int]]]:
    """What each output needs and no earlier output does, in four orders."""
    seen: set[int] = set()
    own = [_needs(dag, output, seen) for output in dag.outputs]
    by_number = [sorted(vertices) for vertices in own]
    for order in (own, by_number):
        yield order
        yield [vertices[::-1] for vertices in order]


def _needs(dag: Dag, output: int, seen: set[int]) -> list[int]:
    """The ancestors of an output that are not seen yet, depth first."""
    needs = []
    waiting = [output]
    while waiting:
        vertex = waiting.pop()
        if vertex not in seen:
            seen.add(vertex)
            needs.append(vertex)
            waiting += reversed(dag.parents[vertex])
    return needs


def _groups(dag: Dag, red: int, own: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Whole outputs together while a table holds them; an output too large for one is cut."""
    group: list[int] = []
    for vertices in own:
        if group and not _fits(dag, red, group + vertices):
            yield tuple(sorted(group))
            group = []
        for vertex in vertices:
            if group and not _fits(dag, red, [*group, vertex]):
                yield tuple(sorted(group))
                group = []
            group.append(vertex)
    yield tuple(sorted(group))


def _fits(dag: Dag, red: int, group: list[int]) -> bool:
    rows = sum(comb(len(group), count) for count in range(red + 1))
    return rows <= MOST_ROWS and rows << sum(1 for v in group if dag.parents[v]) <= MOST_ENTRIES


def _small_sets(vertices: tuple[int, ...], most: int) -> Iterator[int]:
    for count in range(most + 1):
        for chosen in combinations(vertices, count):
            yield sum(1 << v for v in chosen)


def _numbered_subsets(vertices: list[int]) -> dict[int, int]:
    """Every subset as a mask, with its number: bit i for the i-th vertex."""
    numbers = {0: 0}
    for i, vertex in enumerate(vertices):
        numbers |= {mask | 1 << vertex: number | 1 << i for mask, number in numbers.items()}
    return numbers


def _read_write_delete(optima: Any, without: Any, placed: Any, bit: int | None) -> None:
    """Lower the optima by these moves of one vertex; bit is its place in the column number."""
    off, on = optima[without], optima[placed]
    if bit is None:  # an input: blue in every position
        np.minimum(off, on + 1, out=off)
    else:
        shape = (len(without), -1, 2, 1 << bit)
        off_by_blue, on_by_blue = off.reshape(shape), on.reshape(shape)
        for_blue = on_by_blue[:, :, 1] + 1
        np.minimum(on_by_blue[:, :, 0], for_blue, out=on_by_blue[:, :, 0])
        np.minimum(off_by_blue[:, :, 1], for_blue, out=off_by_blue[:, :, 1])
    np.minimum(on, off, out=on)
    optima[without], optima[placed] = off, on
