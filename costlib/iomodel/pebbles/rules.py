"""The red-blue pebble game of Hong and Kung (1981).

A red pebble is a value in fast memory, which has room for ``red`` of them. A blue pebble is a value
in slow memory. At the start the inputs are blue, at the end the outputs must be. The moves:

====  ========  =====================================================  ====
kind  name      rule                                                   I/O
====  ========  =====================================================  ====
R     read      a red pebble on a vertex with a blue one               1
W     write     a blue pebble on a vertex with a red one               1
C     compute   a red pebble on a vertex whose parents are all red     0
D     delete    take a red pebble away                                 0
E     erase     take a blue pebble away                                0
====  ========  =====================================================  ====

The parents stay red while their child gets its pebble: no pebble slides. Inputs are never computed.
With ``recompute=False`` each vertex is computed at most once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from costlib.iomodel.pebbles.dag import Dag
from costlib.units.numbers import size

__all__ = ["Board", "IllegalMove", "Move", "Pebbling", "Rules", "moves"]

KINDS = {"R": "read", "W": "write", "C": "compute", "D": "delete", "E": "erase"}


class Move(NamedTuple):
    """One move: its kind (R, W, C, D or E) and the vertex.

    >>> print(Move("R", 3))
    R3
    """

    kind: str
    vertex: int

    def __str__(self) -> str:
        return f"{self.kind}{self.vertex}"

    @property
    def cost(self) -> int:
        """1 for a read or a write, otherwise 0."""
        return int(self.kind in "RW")


def moves(text: str) -> tuple[Move, ...]:
    """The moves written in a text.

    >>> moves("R0 C1 W1")
    (Move(kind='R', vertex=0), Move(kind='C', vertex=1), Move(kind='W', vertex=1))
    """
    return tuple(_move(word) for word in text.split())


@dataclass(frozen=True, slots=True)
class Board:
    """The pebbles after a move (None at the start)."""

    move: Move | None
    red: frozenset[int]
    blue: frozenset[int]


@dataclass(frozen=True, slots=True)
class Pebbling:
    """What legal moves did: their I/O, the most red pebbles at once, outputs not written."""

    moves: tuple[Move, ...]
    reads: int
    writes: int
    computations: int
    peak: int
    unwritten: tuple[int, ...]

    @property
    def cost(self) -> int:
        """Reads plus writes."""
        return self.reads + self.writes

    @property
    def complete(self) -> bool:
        """True if every output is blue at the end."""
        return not self.unwritten

    def __str__(self) -> str:
        return " ".join(map(str, self.moves))


class IllegalMove(ValueError):
    """A move that breaks a rule: which move, which rule, and the pebbles at that moment."""

    def __init__(self, index: int, move: Move, rule: str, board: Board) -> None:
        self.index = index
        self.move = move
        self.rule = rule
        self.board = board
        super().__init__(
            f"move {index}, {move} ({KINDS[move.kind]} vertex {move.vertex}): {rule}. "
            f"Red: {_listed(board.red)}; blue: {_listed(board.blue)}"
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """What is legal on one graph with a number of red pebbles: the fast memory M, in entries.

    >>> rules = Rules(Dag.tree(leaves=2), red=3)
    >>> rules.play("R0 R1 C2 W2").cost
    3
    >>> rules.play("R0 C2")
    Traceback (most recent call last):
        ...
    costlib.iomodel.pebbles.rules.IllegalMove: move 1, C2 (compute vertex 2): a vertex is \
computed when all its parents are red, and 1 is not. Red: 0; blue: 0, 1
    """

    dag: Dag
    red: int
    recompute: bool = True

    def __post_init__(self) -> None:
        least = self.dag.max_in_degree + 1
        object.__setattr__(self, "red", size("red", self.red))
        if self.red < least:
            raise ValueError(
                f"red must be at least {least} here (the {least - 1} parents of a vertex and the "
                f"vertex itself), got {self.red}"
            )

    def play(self, moves: str | Iterable[Move | str]) -> Pebbling:
        """Make the moves, refusing the first illegal one, and count.

        >>> Rules(Dag.chain(2), red=2).play("R0 C1").unwritten
        (1,)
        """
        played = []
        peak = 0
        board = self.start
        for board in self.boards(moves):
            peak = max(peak, len(board.red))
            if board.move is not None:
                played.append(board.move)
        kinds = [move.kind for move in played]
        unwritten = tuple(output for output in self.dag.outputs if output not in board.blue)
        return Pebbling(
            tuple(played), kinds.count("R"), kinds.count("W"), kinds.count("C"), peak, unwritten
        )

    @property
    def start(self) -> Board:
        """The board before the first move: a blue pebble on each input."""
        return Board(None, frozenset(), frozenset(self.dag.inputs))

    def boards(self, moves: str | Iterable[Move | str]) -> Iterator[Board]:
        """The board at the start and after each move: a pebbling as a sequence of pictures.

        >>> [sorted(board.red) for board in Rules(Dag.chain(2), red=2).boards("R0 C1 W1 D0")]
        [[], [0], [0, 1], [0, 1], [1]]
        """
        board = self.start
        computed: set[int] = set()
        yield board
        for index, given in enumerate(moves.split() if isinstance(moves, str) else moves):
            move = _move(given)
            rule = self._broken_rule(move, board, computed)
            if rule:
                raise IllegalMove(index, move, rule, board)
            if move.kind == "C":
                computed.add(move.vertex)
            board = _after(move, board)
            yield board

    def _broken_rule(self, move: Move, board: Board, computed: set[int]) -> str:
        """What forbids the move, or an empty text."""
        kind, vertex = move
        if not 0 <= vertex < len(self.dag.parents):
            return f"the graph has vertices 0 to {len(self.dag.parents) - 1}"
        if kind in "RC" and vertex in board.red:
            return "the vertex is red already"
        if kind in "WD" and vertex not in board.red:
            return "the vertex has no red pebble"
        if kind in "RE" and vertex not in board.blue:
            return "the vertex has no blue pebble"
        if kind == "W" and vertex in board.blue:
            return "the vertex is blue already"
        if kind == "C":
            rule = self._cannot_compute(vertex, board, computed)
            if rule:
                return rule
        if kind in "RC" and len(board.red) == self.red:
            return f"all {self.red} red pebbles are on the board: delete one first"
        return ""

    def _cannot_compute(self, vertex: int, board: Board, computed: set[int]) -> str:
        if not self.dag.parents[vertex]:
            return "an input cannot be computed, only read"
        for parent in self.dag.parents[vertex]:
            if parent not in board.red:
                return f"a vertex is computed when all its parents are red, and {parent} is not"
        if vertex in computed and not self.recompute:
            return "this game lets a vertex be computed once only"
        return ""


def _after(move: Move, board: Board) -> Board:
    kind, vertex = move
    red, blue = board.red, board.blue
    if kind in "RC":
        red = red | {vertex}
    elif kind == "D":
        red = red - {vertex}
    elif kind == "W":
        blue = blue | {vertex}
    else:
        blue = blue - {vertex}
    return Board(move, red, blue)


def _move(given: Move | str) -> Move:
    if isinstance(given, Move):
        kind, digits = given.kind, str(given.vertex)
    else:
        kind, digits = given[:1], given[1:]
    if kind not in KINDS or not digits.isdecimal():
        raise ValueError(
            f"a move must be one of {', '.join(KINDS)} and a vertex number, as in R3, got {given!r}"
        )
    return Move(kind, int(digits))


def _listed(vertices: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(vertices))) or "none"
