"""The cheapest pebbling, found by A* over positions right after a computation.

One step of the search makes room, reads what the next computation needs, and computes. So it visits
only pebblings in a **normal form**. Each rule of the form keeps at least one optimum:

1. A vertex is read right before the computation that uses it: until then the pebble only takes
   room.
2. A pebble is removed only when its room is needed: an extra red pebble forbids nothing while there
   is room.
3. A vertex is written right before its red pebble is removed: a later write changes nothing before
   it.
4. An output is written and removed as soon as it is computed: one write must be paid, and an output
   has no other use.
5. A pebble without use is removed first. A vertex has a use while a child of it may still be
   computed to some purpose: a child not computed yet, or with recomputation a child from which an
   unwritten output can be reached. With recomputation a red vertex whose only such child is red has
   no use either: let the child stand wherever the vertex would have stood; whatever the vertex was
   kept for is done already. And a blue vertex whose only such child is blue has none: reading the
   child instead costs no more and needs no other parent.
6. With room to spare, an output whose parents are all red is computed (its write is due in any
   case), and so is a vertex that is the only use left of one of its parents: by rule 5 it then
   takes over that parent's place.

The estimate of what is still to pay is the larger of two lower bounds, both never too high and both
consistent (a move lowers them by at most its cost), so a position once expanded is done with:

- the sum of projected optima, see ``projection``;
- one write for each output not blue, and one read for each vertex that must be read: with
  recomputation, the inputs that an unwritten output can be traced back to through vertices with no
  pebble, as each of those must be computed; without it, every value that is not red, exists, and
  has a child still to be computed.

A pebbling that computes each vertex once is legal in both games and far quicker to find. With
recomputation the search therefore starts with that one, and ends when nothing cheaper is left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

from costlib.iomodel.pebbles.dag import Dag
from costlib.iomodel.pebbles.projection import Projection, projections
from costlib.iomodel.pebbles.rules import Move, Pebbling, Rules

__all__ = ["Optimum", "Progress", "optimal"]

#: Positions between two reports of progress.
REPORT_EVERY = 10_000

#: A cost that no pebbling reaches.
NEVER = sys.maxsize


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: every pebbling costs at least lower_bound; states positions are done."""

    lower_bound: int
    states: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Optimum:
    """The end of a search. ``cost`` is optimal only if ``proved``.

    ``pebbling`` is the best one found, None if there is none yet; ``lower_bound`` holds in any
    case.
    """

    lower_bound: int
    pebbling: Pebbling | None
    states: int

    @property
    def proved(self) -> bool:
        """True if the pebbling's cost equals the lower bound, so nothing is cheaper."""
        return self.pebbling is not None and self.pebbling.cost == self.lower_bound

    @property
    def cost(self) -> int:
        """The optimal cost; an error if the search ended before it was proved."""
        if self.pebbling is None or not self.proved:
            best = "no pebbling" if self.pebbling is None else f"one of cost {self.pebbling.cost}"
            raise ValueError(
                f"the optimum is not known: after {self.states} positions the search had {best} "
                f"and the lower bound {self.lower_bound}; allow more with optimal(states=...)"
            )
        return self.pebbling.cost

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves of the best pebbling found; none if there is no pebbling."""
        return self.pebbling.moves if self.pebbling else ()


class Position(NamedTuple):
    """Bit masks: red vertices, blue ones other than inputs, computed ones where that matters."""

    red: int
    blue: int
    computed: int


class Step(NamedTuple):
    """A computation with what comes before it, its cost, and the position it leads to."""

    cost: int
    after: Position
    vertex: int
    removed: int
    written: int


def optimal(game: Rules, states: int, progress: Callable[[Progress], None] | None) -> Optimum:
    """The optimum of a game, or the best bounds after ``states`` states: `Game.optimal` calls it.

    >>> optimal(Rules(Dag.tree(4), 3), 10**6, None).cost
    7
    """
    tables = projections(game.dag, game.red)
    once = _Search(_NormalForm(game.dag, game.red, recompute=False), tables, progress)
    again = _Search(_NormalForm(game.dag, game.red, recompute=True), tables, progress)
    if game.recompute and progress:  # what computing once must cost is no bound for this game
        least = again.estimate(again.start)
        once.progress = lambda so_far: progress(replace(so_far, lower_bound=least))
    once.run(states)
    pebbling = game.play(once.moves()) if once.goal else None
    if not game.recompute:
        return Optimum(once.lower_bound, pebbling, once.states)
    again.states = once.states
    again.run(states, below=pebbling.cost if pebbling else NEVER)
    if again.goal:
        pebbling = game.play(again.moves())
    return Optimum(again.lower_bound, pebbling, again.states)


class _NormalForm:
    """The moves of a game in normal form, on bit masks."""

    def __init__(self, dag: Dag, red: int, recompute: bool) -> None:
        self.red = red
        self.recompute = recompute
        self.parents = [_mask(parents) for parents in dag.parents]
        self.children = [_mask(children) for children in dag.children]
        self.inputs = _mask(dag.inputs)
        self.outputs = _mask(dag.outputs)
        self._inner = _mask(range(len(dag.parents))) & ~self.inputs
        self._needed: list[int] = []
        for vertex in range(len(dag.parents)):
            above = [self._needed[parent] for parent in dag.parents[vertex]]
            self._needed.append(1 << vertex | _union(above))

    def open(self, blue: int, computed: int) -> int:
        """The vertices that may still be computed to some purpose."""
        if not self.recompute:
            return self._inner & ~computed
        unwritten = self.outputs & ~blue
        return _union(self._needed[output] for output in _bits(unwritten)) & self._inner

    def above(self, vertices: int) -> int:
        """The parents of all these vertices."""
        return _union(self.parents[vertex] for vertex in _bits(vertices))

    def due(self, position: Position) -> int:
        """Writes and reads that any pebbling from here must still make."""
        red, blue, computed = position
        unwritten = self.outputs & ~blue
        if not self.recompute:
            to_compute = self._inner & ~computed
            used = self.above(to_compute)
            return unwritten.bit_count() + (used & ~red & ~to_compute).bit_count()
        frontier = must = unwritten & ~red
        while frontier:
            frontier = self.above(frontier) & ~(red | blue | must)
            must |= frontier
        return unwritten.bit_count() + (must & self.inputs).bit_count()

    def steps(self, position: Position) -> Iterator[Step]:
        """Every next computation, with every choice of what to remove and write before it."""
        red, blue, computed = position
        at_hand = red | blue | self.inputs
        for vertex in _bits(self.open(blue, computed) & ~red):
            parents, bit = self.parents[vertex], 1 << vertex
            if parents & ~at_hand:
                continue
            reads = (parents & ~red).bit_count()
            crowd = red | parents | bit
            written_now = bit & self.outputs
            done = 0 if self.recompute else computed | bit
            for removed in _subsets(red & ~parents, crowd.bit_count() - self.red):
                for written in self._choices(removed & ~blue & ~self.inputs):
                    held = crowd & ~removed & ~written_now
                    cost, after = self.settle(
                        Position(held, blue | written | written_now, done), []
                    )
                    cost += reads + (written | written_now).bit_count()
                    yield Step(cost, after, vertex, removed, written)

    def settle(self, position: Position, moves: list[Move]) -> tuple[int, Position]:
        """Rules 5 and 6, until neither does anything: the cost and the position; adds the moves."""
        red, blue, computed = position
        cost = 0
        while True:
            open_now = self.open(blue, computed)
            useful = self._useful(red, open_now)
            if useful != red:
                moves += [Move("D", vertex) for vertex in _bits(red & ~useful)]
                red = useful
            vertex = self._forced(red, open_now) if red.bit_count() < self.red else None
            if vertex is None:
                blue = self._useful(blue & ~self.outputs, open_now) | blue & self.outputs
                return cost, Position(red, blue, computed)
            moves.append(Move("C", vertex))
            bit = 1 << vertex
            if not self.recompute:
                computed |= bit
            if bit & self.outputs:
                moves += [Move("W", vertex), Move("D", vertex)]
                blue |= bit
                cost += 1
            else:
                red |= bit

    def moves(self, position: Position, step: Step) -> list[Move]:
        """The moves of one step."""
        red, blue, computed = position
        moves = []
        for vertex in _bits(step.removed):
            moves += [Move("W", vertex)] if step.written >> vertex & 1 else []
            moves.append(Move("D", vertex))
        parents, bit = self.parents[step.vertex], 1 << step.vertex
        moves += [Move("R", vertex) for vertex in _bits(parents & ~red)]
        moves.append(Move("C", step.vertex))
        written_now = bit & self.outputs
        if written_now:
            moves += [Move("W", step.vertex), Move("D", step.vertex)]
        red = (red | parents | bit) & ~step.removed & ~written_now
        done = 0 if self.recompute else computed | bit
        self.settle(Position(red, blue | step.written | written_now, done), moves)
        return moves

    def _choices(self, lost: int) -> Iterator[int]:
        """What to write of the values that would be lost: all, unless they can be recomputed."""
        yield lost
        written = lost if self.recompute else 0
        while written:
            written = (written - 1) & lost
            yield written

    def _useful(self, pebbled: int, open_now: int) -> int:
        """The vertices with a use by rule 5; parents first, so that a chain of uses collapses."""
        for vertex in _bits(pebbled):
            uses = self.children[vertex] & open_now
            if not uses or (not uses & (uses - 1) and uses & pebbled):
                pebbled &= ~(1 << vertex)
        return pebbled

    def _forced(self, red: int, open_now: int) -> int | None:
        """A vertex that rule 6 computes, if there is one."""
        for vertex in _bits(red):
            uses = self.children[vertex] & open_now
            for child in _bits(uses & ~red):
                only_use = uses == 1 << child
                if not self.parents[child] & ~red and (only_use or self.outputs >> child & 1):
                    return child
        return None


class _Search:
    """A* with one bucket of positions for each estimated total, the newest first."""

    def __init__(
        self,
        rules: _NormalForm,
        tables: list[Projection],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.rules = rules
        self.tables = tables
        self.progress = progress
        self.lower_bound = 0
        self.states = 0
        self.goal: Position | None = None
        self.start = Position(0, 0, 0)
        self._cost = {self.start: 0}
        self._before: dict[Position, Position] = {}

    def run(self, states: int, below: int = NEVER) -> None:
        """Search until the goal, the proof that no pebbling is cheaper than below, or the limit."""
        waiting = {self.estimate(self.start): [self.start]}
        done: set[Position] = set()
        while waiting and (lowest := min(waiting)) < below:
            self.lower_bound = lowest
            if not waiting[lowest]:
                del waiting[lowest]
                continue
            position = waiting[lowest].pop()
            if position in done:
                continue
            if not self.rules.outputs & ~position.blue:
                self.goal = position
                return
            if self.states >= states:
                return
            self._report(waiting)
            self.states += 1
            done.add(position)
            for total, after in self._improved(position):
                if total < below:
                    waiting.setdefault(total, []).append(after)
        self.lower_bound = below

    def moves(self) -> list[Move]:
        """The moves that lead to the goal."""
        assert self.goal is not None
        path = [self.goal]
        while path[-1] in self._before:
            path.append(self._before[path[-1]])
        path.reverse()
        moves: list[Move] = []
        for position, after in pairwise(path):
            cost = self._cost[after] - self._cost[position]
            moves += self.rules.moves(
                position,
                next(s for s in self.rules.steps(position) if (s.cost, s.after) == (cost, after)),
            )
        return moves

    def _improved(self, position: Position) -> Iterator[tuple[int, Position]]:
        """Positions reached more cheaply than before, each with its estimated total."""
        so_far = self._cost[position]
        for step in self.rules.steps(position):
            cost, after = so_far + step.cost, step.after
            if cost < self._cost.get(after, NEVER):
                self._cost[after] = cost
                self._before[after] = position
                yield cost + self.estimate(after), after

    def estimate(self, position: Position) -> int:
        red, blue, _ = position
        projected = sum([table.bound(red, blue) for table in self.tables])
        return max(projected, self.rules.due(position))

    def _report(self, waiting: dict[int, list[Position]]) -> None:
        if self.progress and self.states % REPORT_EVERY == 0:
            count = sum(map(len, waiting.values()))
            self.progress(Progress(self.lower_bound, self.states, count))


def _mask(vertices: Iterable[int]) -> int:
    return sum(1 << vertex for vertex in vertices)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


@lru_cache(maxsize=2**16)  # a search asks for the same masks again and again
def _bits(mask: int) -> tuple[int, ...]:
    """The vertices in a mask, in ascending order."""
    vertices = []
    while mask:
        low = mask & -mask
        vertices.append(low.bit_length() - 1)
        mask ^= low
    return tuple(vertices)


def _subsets(mask: int, count: int) -> Iterator[int]:
    """The subsets of a mask with this many vertices; the empty one if count is not positive."""
    if count <= 0:
        yield 0
        return
    for chosen in combinations([1 << vertex for vertex in _bits(mask)], count):
        yield sum(chosen)
