"""The pebble game in which a sum may be left unfinished: written, read back and continued.

Papp, Sobczyk and Yzelman (2025, arXiv 2506.10854) let the inputs of a vertex be aggregated one by
one. Here that holds for sums. A vertex has **terms**, each a set of parents: two factors of a
product, or one addend. A term is added when its parents are red and finished; the unfinished sum is
one red pebble. An ordinary vertex has a single term, all of its parents. A write keeps the sum as
far as it is, and a term added later leaves that copy as it was. A sum may be thrown away and begun
again: the paper's game is played once only, this one also with recomputation.

Adding a term is a computation whose pebble slides from the old partial sum to the new one. So a
play is one of the ordinary game, with sliding, on the graph in which each sum is replaced by the
partial sums that occurred, and every bound in `costlib.iomodel.bounds` that allows sliding and any
order of summation holds here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

from costlib.iomodel.pebbles.dag import Dag
from costlib.units.numbers import size, sizes

__all__ = ["PartialGame", "PartialOptimum"]

Terms = tuple[tuple[int, ...], ...]

#: No copy of a vertex: neither finished nor begun.
ABSENT = -1


class PartialOptimum(NamedTuple):
    """The least I/O, and how many positions the search has seen."""

    cost: int
    states: int


class _Position(NamedTuple):
    """For each vertex the terms that are in, as a bit mask, in fast memory and in slow memory."""

    red: tuple[int, ...]
    blue: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartialGame:
    """A graph by the terms of each vertex (none for an input), and the red pebbles there are.

    >>> product = PartialGame.matmul(m=1, k=2, n=1, red=3)
    >>> product.names[-1], product.terms[-1]
    ('C[0,0]', ((0, 2), (1, 3)))
    >>> product.optimal().cost
    5
    """

    terms: tuple[Terms, ...]
    names: tuple[str, ...]
    red: int

    def __post_init__(self) -> None:
        size("red", self.red)
        least = 1 + max(len(term) for terms in self.terms for term in terms)
        if self.red < least:
            raise ValueError(
                f"red must be at least {least} here (the parents of a term and the sum), got "
                f"{self.red}"
            )

    @property
    def outputs(self) -> tuple[int, ...]:
        """The vertices that nothing is computed from.

        >>> PartialGame.matmul(m=1, k=1, n=2, red=3).outputs
        (3, 4)
        """
        used = {parent for terms in self.terms for term in terms for parent in term}
        return tuple(v for v in range(len(self.terms)) if v not in used)

    @classmethod
    def matmul(cls, m: int, k: int, n: int, *, red: int) -> PartialGame:
        """The product of an m×k and a k×n matrix: each entry a sum of k terms of two factors.

        >>> len(PartialGame.matmul(m=2, k=2, n=2, red=3).terms)
        12
        """
        m, k, n = sizes(m=m, k=k, n=n)
        build = _Builder()
        a, b = build.matrix("A", m, k), build.matrix("B", k, n)
        for i in range(m):
            for j in range(n):
                build.add(f"C[{i},{j}]", *((a[i][step], b[step][j]) for step in range(k)))
        return build.game(red)

    @classmethod
    def attention(cls, seq: int, head_dim: int, *, red: int) -> PartialGame:
        """Attention without scaling or maximum; a finished score stands for its exponential too.

        >>> PartialGame.attention(seq=1, head_dim=1, red=3).names
        ('Q[0,0]', 'K[0,0]', 'V[0,0]', 'A[0,0]', 'L[0]', 'O[0,0]', 'Y[0,0]')
        """
        seq, head_dim = sizes(seq=seq, head_dim=head_dim)
        build = _Builder()
        q, k, v = (build.matrix(name, seq, head_dim) for name in "QKV")
        for i in range(seq):
            row = [build.add(f"A[{i},{j}]", *zip(q[i], k[j], strict=True)) for j in range(seq)]
            total = build.add(f"L[{i}]", *((weight,) for weight in row))
            for t in range(head_dim):
                column = [values[t] for values in v]
                out = build.add(f"O[{i},{t}]", *zip(row, column, strict=True))
                build.add(f"Y[{i},{t}]", (out, total))
        return build.game(red)

    @classmethod
    def attention_gradients(cls, seq: int, head_dim: int, *, red: int) -> PartialGame:
        """The backward pass without its row statistics: weights A, dot products G, dS, gradients.

        >>> PartialGame.attention_gradients(seq=1, head_dim=1, red=3).names[4:]
        ('A[0,0]', 'G[0,0]', 'dS[0,0]', 'dQ[0,0]', 'dK[0,0]', 'dV[0,0]')
        """
        seq, head_dim = sizes(seq=seq, head_dim=head_dim)
        build = _Builder()
        q, k, v, g = (build.matrix(name, seq, head_dim) for name in ("Q", "K", "V", "dO"))
        rows = range(seq)
        weight: dict[tuple[int, int], int] = {}
        change: dict[tuple[int, int], int] = {}
        for i, j in product(rows, rows):
            weight[i, j] = build.add(f"A[{i},{j}]", *zip(q[i], k[j], strict=True))
            share = build.add(f"G[{i},{j}]", *zip(g[i], v[j], strict=True))
            change[i, j] = build.add(f"dS[{i},{j}]", (weight[i, j], share))
        for i, t in product(rows, range(head_dim)):
            build.add(f"dQ[{i},{t}]", *((change[i, j], k[j][t]) for j in rows))
            build.add(f"dK[{i},{t}]", *((change[j, i], q[j][t]) for j in rows))
            build.add(f"dV[{i},{t}]", *((weight[j, i], g[j][t]) for j in rows))
        return build.game(red)

    def chained(self) -> Dag:
        """The ordinary game's graph: each sum a chain of its terms, in the order given.

        >>> PartialGame.matmul(m=1, k=2, n=1, red=3).chained().names[-2:]
        ('C[0,0].0', 'C[0,0].1')
        """
        parents: list[tuple[int, ...]] = []
        names: list[str] = []
        finished: list[int] = []
        for terms, name in zip(self.terms, self.names, strict=True):
            if not terms:
                parents.append(())
                names.append(name)
            for number, term in enumerate(terms):
                before = () if number == 0 else (len(parents) - 1,)
                parents.append(tuple(sorted({*(finished[parent] for parent in term), *before})))
                names.append(f"{name}.{number}")
            finished.append(len(parents) - 1)
        return Dag(tuple(parents), tuple(names))

    def optimal(self, states: int = 2_000_000) -> PartialOptimum:
        """The least I/O, by A*; a ValueError after so many positions.

        The search moves in a normal form that keeps an optimum. A pebble is removed only when all
        are in use, for it forbids nothing until then; a vertex is written right before, since a
        later write changes nothing earlier. A term is added to a red sum as soon as its parents are
        red: a sum with more terms can do whatever one with fewer can. A finished output is written
        and removed at once. A vertex without a use left is removed first. What is still to pay is
        at least a write for each output, and a read for each input that is not red and belongs to a
        term that neither copy of a sum has which an output still needs.

        >>> PartialGame.matmul(m=2, k=1, n=2, red=3).optimal().cost
        9
        """
        search = _Search(self)
        known = {search.start: 0}
        waiting = [(search.least(search.start), 0, search.start)]
        for seen in range(states):
            estimate, _, position = heappop(waiting)
            while known[position] + search.least(position) < estimate:  # reached more cheaply since
                estimate, _, position = heappop(waiting)
            so_far = known[position]
            if all(position.blue[v] == search.full[v] for v in self.outputs):
                return PartialOptimum(so_far, seen)
            for cost, after in search.moves(position):
                total = so_far + cost
                if total < known.get(after, total + 1):
                    known[after] = total
                    heappush(waiting, (total + search.least(after), -len(known), after))
        raise ValueError(f"the optimum is not known after {states} positions")


class _Builder:
    """Vertices collected one by one, each with its terms."""

    def __init__(self) -> None:
        self.terms: list[Terms] = []
        self.names: list[str] = []

    def add(self, name: str, *terms: tuple[int, ...]) -> int:
        self.terms.append(terms)
        self.names.append(name)
        return len(self.terms) - 1

    def matrix(self, name: str, rows: int, columns: int) -> list[list[int]]:
        return [[self.add(f"{name}[{i},{j}]") for j in range(columns)] for i in range(rows)]

    def game(self, red: int) -> PartialGame:
        return PartialGame(tuple(self.terms), tuple(self.names), red)


class _Search:
    """The moves of a game in normal form."""

    def __init__(self, game: PartialGame) -> None:
        self.terms = game.terms
        self.red = game.red
        self.full = [(1 << len(terms)) - 1 for terms in game.terms]
        self.outputs = game.outputs
        self._needs: dict[_Position, tuple[int, frozenset[int]]] = {}
        nothing = [ABSENT] * len(game.terms)
        inputs = [0 if not terms else ABSENT for terms in game.terms]
        self.start = _Position(tuple(nothing), tuple(inputs))

    def least(self, position: _Position) -> int:
        return self._needed(position)[0]

    def _needed(self, position: _Position) -> tuple[int, frozenset[int]]:
        """The least that is still to pay, and the vertices that may still be of use."""
        if position not in self._needs:
            red, blue = position
            unwritten = [v for v in self.outputs if blue[v] != self.full[v]]
            must_read, must, may = set(), set(unwritten), set(unwritten)
            frontier = list(unwritten)
            while frontier:  # what has to be made, with the terms that no copy has
                vertex = frontier.pop()
                have = (max(red[vertex], 0) | max(blue[vertex], 0)) if self.terms[vertex] else 0
                for number, term in enumerate(self.terms[vertex]):
                    if have >> number & 1:
                        continue
                    for parent in term:
                        finished = self.full[parent] in (red[parent], blue[parent])
                        if not self.terms[parent] and red[parent] == ABSENT:
                            must_read.add(parent)
                        elif not finished and parent not in must:
                            must.add(parent)
                            frontier.append(parent)
            frontier = list(unwritten)
            while frontier:  # everything that leads to an output
                for term in self.terms[frontier.pop()]:
                    for parent in term:
                        if parent not in may:
                            may.add(parent)
                            frontier.append(parent)
            self._needs[position] = len(unwritten) + len(must_read), frozenset(may)
        return self._needs[position]

    def moves(self, position: _Position) -> Iterator[tuple[int, _Position]]:
        """Every next read or new vertex, with every choice of what makes room for it."""
        red, blue = position
        may = self._needed(position)[1]
        wanted: list[tuple[int, int, int, tuple[int, ...]]] = []
        for vertex, terms in enumerate(self.terms):
            if vertex not in may or red[vertex] != ABSENT:
                continue
            if blue[vertex] != ABSENT:
                wanted.append((1, vertex, blue[vertex], ()))
            wanted += [
                (0, vertex, 1 << number, term)
                for number, term in enumerate(terms)
                if all(red[parent] == self.full[parent] for parent in term)
            ]
        present = [v for v, mask in enumerate(red) if mask != ABSENT]
        for cost, vertex, mask, kept in wanted:
            if len(present) < self.red:
                yield self._settled(cost, _with(red, vertex, mask), blue)
                continue
            for gone in present:
                if gone in kept:
                    continue
                after = _with(_with(red, gone, ABSENT), vertex, mask)
                yield self._settled(cost, after, blue)
                if self.terms[gone] and blue[gone] != red[gone]:
                    yield self._settled(cost + 1, after, _with(blue, gone, red[gone]))

    def _settled(
        self, cost: int, held: tuple[int, ...], written: tuple[int, ...]
    ) -> tuple[int, _Position]:
        """The position after a move, with every free addition made and finished outputs written."""
        red, blue = list(held), list(written)
        changed = True
        while changed:
            changed = False
            for sum_, terms in enumerate(self.terms):
                if red[sum_] == ABSENT or not terms:
                    continue
                for number, term in enumerate(terms):
                    ready = all(red[parent] == self.full[parent] for parent in term)
                    if ready and not red[sum_] >> number & 1:
                        red[sum_] |= 1 << number
                        changed = True
                if sum_ in self.outputs and red[sum_] == self.full[sum_]:
                    blue[sum_], red[sum_] = red[sum_], ABSENT
                    cost += 1
        may = self._needed(_Position(tuple(red), tuple(blue)))[1]
        kept = (held if v in may else ABSENT for v, held in enumerate(red))
        return cost, _Position(tuple(kept), tuple(blue))


def _with(masks: tuple[int, ...], vertex: int, mask: int) -> tuple[int, ...]:
    return (*masks[:vertex], mask, *masks[vertex + 1 :])
