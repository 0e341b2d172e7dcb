"""pebbles.json: optima of the red-blue pebble game, by an exhaustive search of its positions.

A position is the set of vertices in fast memory (red) and the set written below (blue). Moves that
never help are left out: a pebble is removed only to make room, and a vertex is written only as it
is removed, or at the end. Where a vertex may be computed once, one that is still needed is not
removed unwritten, and one that is not goes first. What is left is a shortest path, found by A*.
"""

import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "pebbles.json"
POSITIONS = 3_000_000  # a search that visits more gives up, and the row stays as it was
Position = tuple[int, int, int]  # red, blue, computed before (or 0 where it may be again)


class Game:
    """One graph and one size of fast memory."""

    def __init__(self, graph: dict[str, Any], fast: int, once: bool) -> None:
        self.fast, self.once = fast, once
        self.all = range(graph["vertices"])
        self.parents = [sum(1 << a for a, b in graph["edges"] if b == v) for v in self.all]
        self.children = [sum(1 << b for a, b in graph["edges"] if a == v) for v in self.all]
        self.inputs = sum(1 << v for v in self.all if not self.parents[v])
        self.outputs = sum(1 << v for v in self.all if not self.children[v]) & ~self.inputs
        self.start: Position = (0, self.inputs, 0)

    def still_to_pay(self, position: Position) -> int:
        """Moves that no play from here can save: unread inputs, unwritten outputs."""
        red, blue, _ = position
        unwritten = self.outputs & ~blue
        needed, seen = unwritten & ~red, 0
        while needed:
            lowest = needed & -needed
            seen |= lowest
            # What is below may be read or, where that is allowed, made again.
            stop = red | seen | (self.inputs if self.once else blue)
            below = self.parents[lowest.bit_length() - 1]
            seen |= below & self.inputs & ~red
            if self.once:
                seen |= below & blue & ~red
                stop |= blue
            needed = (needed ^ lowest) | (below & ~stop & ~self.inputs)
        reads = (seen & (self.inputs | (blue if self.once else 0))).bit_count()
        return reads + unwritten.bit_count()

    def moves(self, position: Position) -> Iterator[tuple[int, Position]]:
        """What each move costs, and where it leads: a vertex comes in, another may go."""
        red, blue, made = position
        for vertex in self.all:
            bit = 1 << vertex
            if red & bit:
                continue
            parents = self.parents[vertex]
            if blue & bit and not self.spent(vertex, position):
                yield from self.placing(position, bit, cost=1, keep=0)
            if parents and not parents & ~red and not made & bit:
                yield from self.placing(position, bit, cost=0, keep=parents)

    def placing(
        self, position: Position, bit: int, cost: int, keep: int
    ) -> Iterator[tuple[int, Position]]:
        red, blue, made = position
        if self.once and not cost:
            made |= bit
        if red.bit_count() < self.fast:
            yield cost, (red | bit, blue, made)
            return
        victims = [v for v in self.all if red & ~keep & (1 << v)]
        spent = [v for v in victims if self.spent(v, (red, blue, made))]
        for victim in spent[:1] or victims:
            out = 1 << victim
            after = (red ^ out) | bit
            if not self.once or blue & out or spent:
                yield cost, (after, blue, made)
            if not blue & out and not spent:
                yield cost + 1, (after, blue | out, made)

    def spent(self, vertex: int, position: Position) -> bool:
        """Whether nothing will ask for a vertex again, where each is computed once."""
        _, blue, made = position
        kept = self.outputs & ~blue & (1 << vertex)
        return self.once and not self.children[vertex] & ~made and not kept

    def optimum(self) -> int | None:
        """Fewest moves to the end, or None where the search grew too large."""
        best = {self.start: 0}
        heap = [(self.still_to_pay(self.start), 0, self.start)]
        while heap:
            bound, paid, position = heapq.heappop(heap)
            if paid > best[position]:
                continue
            red, blue, _ = position
            if not self.outputs & ~(red | blue):
                return bound
            for cost, after in self.moves(position):
                if paid + cost < best.get(after, 1 << 30):
                    best[after] = paid + cost
                    heapq.heappush(
                        heap, (paid + cost + self.still_to_pay(after), paid + cost, after)
                    )
            if len(best) > POSITIONS:
                return None
        return None


def make(names: list[str]) -> None:
    """Solve every game of the file again, or those on the graphs that are named."""
    held = json.loads(FILE.read_text("utf-8"))
    for graph in held["graphs"]:
        if not names or graph["name"] in names:
            for row in graph["optima"]:
                solve(graph, row)
    FILE.write_text(written(held), encoding="utf-8")


def solve(graph: dict[str, Any], row: dict[str, int]) -> None:
    """Renew the optima of one graph at one size, as far as the search gets."""
    for rule in ("recompute", "once"):
        if rule in row:
            found = Game(graph, row["M"], once=rule == "once").optimum()
            verdict = "gave up" if found is None else "same" if found == row[rule] else "differs"
            print(graph["name"], f"M={row['M']}", rule, found, verdict, flush=True)
            row[rule] = row[rule] if found is None else found


def written(held: dict[str, Any]) -> str:
    """The file: a graph a line."""
    graphs = ",\n  ".join(json.dumps(graph) for graph in held["graphs"])
    head = {name: value for name, value in held.items() if name != "graphs"}
    return json.dumps(head, indent=1)[:-2] + f',\n "graphs": [\n  {graphs}\n ]\n}}\n'
