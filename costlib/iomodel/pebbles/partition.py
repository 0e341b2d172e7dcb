"""Hong and Kung's partitions: why a pebbling with little I/O cannot exist.

A **partition with limit S** cuts the vertices into parts such that

1. every vertex is in exactly one part;
2. each part has a dominator of at most S vertices: every path from an input to the part meets it;
3. each part has a minimum set of at most S vertices: those of its vertices with no child in the
   part;
4. the parts do not depend on one another in a circle.

A pebbling with M red pebbles and Q reads and writes gives a partition with limit 2M and h parts,
M·h ≥ Q ≥ M·(h − 1). So if every such partition has at least P parts, every pebbling costs at least
M·(P − 1). On graphs small enough to solve exactly the bound is often 0: it speaks about large ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from costlib.iomodel.pebbles.dag import Dag
from costlib.iomodel.pebbles.rules import Move, Rules
from costlib.units.numbers import size

__all__ = [
    "Subset",
    "fewest_parts",
    "io_bound",
    "minimum_dominator",
    "minimum_set",
    "partition",
    "verify",
]

#: Sets of vertices closed under taking parents that fewest_parts looks at before it gives up.
MOST_IDEALS = 20_000


@dataclass(frozen=True, slots=True)
class Subset:
    """The vertices first pebbled in one stretch of a pebbling, with a dominator from its reads."""

    vertices: tuple[int, ...]
    dominator: tuple[int, ...]
    minimum: tuple[int, ...]


def partition(game: Rules, moves: str | Iterable[Move | str]) -> tuple[Subset, ...]:
    """The partition with limit 2M that a complete pebbling with M red pebbles gives.

    Cut the moves into stretches of M reads and writes (fewer in the last). A part holds the
    vertices that get their first red pebble in a stretch. Then

    - dominator: vertices red when the stretch starts, and those read in it, at most M + M. A vertex
      computed in the stretch has its parents red, so going up any path ends at one of these.
    - minimum set: a computation whose pebble is neither used nor written is dropped first. Any
      other vertex without a child in its part is written or read in the stretch, or still red at
      its end: at most M + M. For a use in the stretch would put a child in the same part.
    - no circle: a parent gets its first red pebble before its child does.

    >>> from costlib.iomodel.pebbles import Game
    >>> game = Game(Dag.tree(leaves=4), red=3)
    >>> [part.vertices for part in partition(game, game.optimal().moves)]
    [(2, 3, 5), (0, 1, 4, 6), ()]
    """
    pebbling = game.play(moves)
    if not pebbling.complete:
        raise ValueError(f"moves must leave every output blue, got {pebbling.unwritten} unwritten")
    parts = []
    seen: set[int] = set()
    for red_before, stretch in _stretches(game, _without_idle_computations(game, pebbling.moves)):
        new = {move.vertex for move in stretch if move.kind in "RC"} - seen
        read = {move.vertex for move in stretch if move.kind == "R"}
        seen |= new
        dominator = tuple(sorted(red_before | read))
        parts.append(Subset(tuple(sorted(new)), dominator, minimum_set(game.dag, new)))
    return tuple(parts)


def verify(dag: Dag, parts: Sequence[Sequence[int]], limit: int) -> tuple[str, ...]:
    """The conditions of a partition with this limit that fail, in words; none if it is one.

    The dominators are the smallest possible, computed here, whatever a pebbling may have suggested.

    >>> verify(Dag.chain(4), [(0, 1), (2, 3)], limit=1)
    ()
    >>> verify(Dag.chain(4), [(0, 3), (1, 2)], limit=1)[1]
    'circle: parts 0, 1 depend on one another'
    """
    limit = size("limit", limit)
    failures = []
    for vertex in range(len(dag.parents)):
        count = sum(list(part).count(vertex) for part in parts)
        if count != 1:
            failures.append(f"partition: vertex {vertex} is in {count} parts")
    for index, part in enumerate(parts):
        dominator, minimum = minimum_dominator(dag, part), minimum_set(dag, part)
        if len(dominator) > limit:
            failures.append(f"dominator: part {index} needs {len(dominator)}, limit {limit}")
        if len(minimum) > limit:
            failures.append(f"minimum set: part {index} has {len(minimum)}, limit {limit}")
    circle = _circle(dag, parts)
    if circle:
        listed = ", ".join(map(str, circle))
        failures.append(f"circle: parts {listed} depend on one another")
    return tuple(failures)


def minimum_set(dag: Dag, part: Iterable[int]) -> tuple[int, ...]:
    """The vertices of a part that have no child in it.

    >>> minimum_set(Dag.tree(leaves=4), (0, 1, 4, 2))
    (2, 4)
    """
    vertices = set(part)
    inner = {parent for vertex in vertices for parent in dag.parents[vertex]}
    return tuple(sorted(vertices - inner))


def minimum_dominator(dag: Dag, part: Iterable[int]) -> tuple[int, ...]:
    """A smallest set of vertices that every path from an input to the part meets.

    By Menger's theorem it has as many vertices as there are paths to the part without a common
    vertex, so it is a smallest cut where each vertex lets one path through (Ford and Fulkerson).

    >>> minimum_dominator(Dag.fft(points=4), (8, 10)), minimum_dominator(Dag.fft(points=4), (8, 9))
    ((4, 6), (8, 9))
    """
    left = _network(dag, frozenset(part))
    while path := _path(left):
        for start, end in pairwise(path):
            left[start][end] -= 1
            left[end][start] = left[end].get(start, 0) + 1
    reached = _reached(left)
    return tuple(
        v for v in range(len(dag.parents)) if ("into", v) in reached and ("out", v) not in reached
    )


def fewest_parts(dag: Dag, limit: int) -> int:
    """The fewest parts of any partition with this limit, by exhaustive search on a small graph.

    Without a circle the parts can be put in order, so a partition is a growing sequence of sets
    closed under taking parents; breadth-first search finds the shortest.

    >>> fewest_parts(Dag.fft(points=4), limit=6), fewest_parts(Dag.fft(points=4), limit=3)
    (1, 3)
    """
    limit = size("limit", limit)
    everything = frozenset(range(len(dag.parents)))
    reached = {frozenset[int]()}
    frontier = set(reached)
    parts = 1
    while not any(_is_part(dag, everything - ideal, limit) for ideal in frontier):
        frontier = {larger for ideal in frontier for larger in _grown(dag, ideal, limit)} - reached
        reached |= frontier
        parts += 1
    return parts


def io_bound(dag: Dag, red: int) -> int:
    """Hong and Kung's lower bound on the I/O with M red pebbles: M·(P − 1), P = fewest_parts(2M).

    >>> from costlib.iomodel.pebbles import Game
    >>> io_bound(Dag.fft(points=4), red=3), Game(Dag.fft(points=4), red=3).optimal().cost
    (0, 14)
    """
    return red * (fewest_parts(dag, 2 * red) - 1)


def _stretches(
    game: Rules, moves: Sequence[Move]
) -> Iterator[tuple[frozenset[int], Sequence[Move]]]:
    """The moves in pieces of M reads and writes, each with the vertices red when it starts."""
    boards = list(game.boards(moves))
    paying = [index for index, move in enumerate(moves) if move.cost]
    for start, end in pairwise([0, *paying[game.red :: game.red], len(moves)]):
        yield boards[start].red, moves[start:end]


def _without_idle_computations(game: Rules, moves: Sequence[Move]) -> list[Move]:
    """The moves without the computations whose pebble is neither used nor written; the same I/O."""
    keep = [True] * len(moves)
    used: set[int] = set()
    removal: dict[int, int] = {}
    for index in reversed(range(len(moves))):
        kind, vertex = moves[index]
        if kind == "D":
            removal[vertex] = index
        elif kind == "W":
            used.add(vertex)
        elif kind in "RC":
            removed = removal.pop(vertex, None)
            if kind == "C" and vertex not in used:
                keep[index] = False
                if removed is not None:
                    keep[removed] = False
            elif kind == "C":
                used.update(game.dag.parents[vertex])
            used.discard(vertex)
    return [move for index, move in enumerate(moves) if keep[index]]


def _circle(dag: Dag, parts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The parts on circles of dependence, or between two of them."""
    home = {vertex: index for index, part in enumerate(parts) for vertex in part}
    arrows = {
        (home[parent], home[child])
        for parent, child in dag.edges
        if parent in home and child in home and home[parent] != home[child]
    }
    left = set(range(len(parts)))
    while True:
        before = {end for start, end in arrows if start in left}
        after = {start for start, end in arrows if end in left}
        still = left & before & after
        if still == left:
            return tuple(sorted(left))
        left = still


_Node = tuple[str, int]
_SOURCE: _Node = ("source", 0)
_SINK: _Node = ("sink", 0)


def _network(dag: Dag, part: frozenset[int]) -> dict[_Node, dict[_Node, int]]:
    """How many paths to the part may still use each arrow: one through a vertex, many beyond."""
    many = len(dag.parents)
    left: dict[_Node, dict[_Node, int]] = {_SOURCE: {}, _SINK: {}}
    for vertex, parents in enumerate(dag.parents):
        left["into", vertex] = {("out", vertex): 1}
        left["out", vertex] = {_SINK: many} if vertex in part else {}
        for parent in parents:
            left["out", parent]["into", vertex] = many
        if not parents:
            left[_SOURCE]["into", vertex] = many
    return left


def _reached(left: dict[_Node, dict[_Node, int]]) -> dict[_Node, _Node]:
    """The nodes that one more path could reach, each with the node before it."""
    before = {_SOURCE: _SOURCE}
    waiting = [_SOURCE]
    for node in waiting:
        for after, paths in left[node].items():
            if paths and after not in before:
                before[after] = node
                waiting.append(after)
    return before


def _path(left: dict[_Node, dict[_Node, int]]) -> list[_Node]:
    """One more path from source to sink; empty if there is none."""
    before = _reached(left)
    if _SINK not in before:
        return []
    path = [_SINK]
    while path[-1] != _SOURCE:
        path.append(before[path[-1]])
    return path[::-1]


def _grown(dag: Dag, ideal: frozenset[int], limit: int) -> set[frozenset[int]]:
    """The larger closed sets that add a part within the limit."""
    looked_at = {ideal}
    waiting = [ideal]
    fitting = set()
    for current in waiting:
        for vertex, parents in enumerate(dag.parents):
            if vertex in current or not current.issuperset(parents):
                continue
            larger = current | {vertex}
            if larger in looked_at:
                continue
            if len(looked_at) > MOST_IDEALS:
                raise ValueError(f"the graph has too many closed sets: more than {MOST_IDEALS}")
            looked_at.add(larger)
            if len(minimum_dominator(dag, larger - ideal)) > limit:
                continue  # a larger part needs a dominator at least as large
            waiting.append(larger)
            if len(minimum_set(dag, larger - ideal)) <= limit:
                fitting.add(larger)
    return fitting


def _is_part(dag: Dag, part: frozenset[int], limit: int) -> bool:
    return max(len(minimum_set(dag, part)), len(minimum_dominator(dag, part))) <= limit
