"""Figures of the pebble game: a pebbling in pictures, and a part of a partition with its sets.

Each function returns a `costfigures.Figure`, drawn of your own game or partition. Shapes say
what colours say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Any

from costfigures.canvas import COLOURS, RED, Figure
from costfigures.sketch import WIDTH, Point, Sketch, sketch
from costlib.iomodel.pebbles import Board, Dag, Game, Move, Subset, minimum_dominator, minimum_set
from costlib.units.numbers import choose


def _places(dag: Dag) -> list[Point]:
    """Where each vertex is drawn: inputs below, each vertex over the middle of its parents.

    An input sits right below its first child. Where two vertices of a row would touch or change
    places, the row is spread evenly.
    """
    level = [0] * len(dag.parents)
    for vertex, parents in enumerate(dag.parents):
        level[vertex] = 1 + max((level[parent] for parent in parents), default=-1)
    for vertex in dag.inputs:
        level[vertex] = min(level[child] for child in dag.children[vertex]) - 1
    across = [0.0] * len(level)
    for height in range(max(level) + 1):
        row = [vertex for vertex, at in enumerate(level) if at == height]
        for vertex, x in _row_places(row, _pulls(dag, row, level, across)).items():
            across[vertex] = x
    left = min(across)
    return [(x - left, float(y)) for x, y in zip(across, level, strict=True)]


def _pulls(
    dag: Dag, row: Sequence[int], level: Sequence[int], across: Sequence[float]
) -> dict[int, list[float]]:
    """For each vertex of a row, where what it should stand over is: its parents.

    An input has none and should stand near what it is used with.
    """
    pulls = {v: [across[parent] for parent in dag.parents[v]] for v in row if dag.parents[v]}
    for vertex in (v for v in row if not dag.parents[v]):
        partners = {p for child in dag.children[vertex] for p in dag.parents[child]} - {vertex}
        pulls[vertex] = [
            _mean(pulls[p]) if p in pulls else across[p]
            for p in sorted(partners)
            if level[p] < level[vertex] or (p in pulls and dag.parents[p])
        ]
    return pulls


def _row_places(row: Sequence[int], pulls: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Each vertex over the middle of its pulls; else evenly, in the order of shorter edges."""
    wanted = {vertex: _mean(pulls[vertex]) for vertex in row}
    if all(wanted[after] - wanted[before] >= 1 for before, after in pairwise(row)):
        return wanted
    left = _mean(list(wanted.values())) - (len(row) - 1) / 2

    def edges(order: Sequence[int]) -> float:
        return sum(abs(left + i - x) for i, vertex in enumerate(order) for x in pulls[vertex])

    shortest = min(row, sorted(row, key=lambda vertex: (wanted[vertex], vertex)), key=edges)
    return {vertex: left + i for i, vertex in enumerate(shortest)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _draw_edges(axes: Any, lines: Iterable[tuple[Point, Point]]) -> None:
    """Many edges as one line with gaps."""
    x, y = [], []
    for start, end in lines:
        x += [start[0], end[0], math.nan]
        y += [start[1], end[1], math.nan]
    axes.plot(x, y, color=COLOURS[4], linewidth=1, zorder=1)


#: Pebbles by shape: a disc is red, a square is blue, a disc on a square is both; with the size of
#: the marker. Told above the pictures.
_PEBBLES = (
    ("no pebble", "o", "none", COLOURS[4], 16.0),
    ("blue: slow memory", "s", COLOURS[0] + "55", COLOURS[0], 19.0),
    ("red: fast memory", "o", RED + "aa", RED, 15.0),
)

#: Distances in points, which are also the units of a pebbling's axes.
_ROW = 32.0
_LINE = 13.0


def pebbling(
    game: Game,
    moves: str | Iterable[Move | str],
    *,
    first: int = 0,
    panels: int = 12,
    columns: int = 3,
    by: str = "computation",
) -> Figure:
    """A pebbling as small pictures: the board after each computation, and what led there.

    With ``by="transfer"`` there is a picture before each read or write that follows other moves.

    Of a long play at most ``panels`` pictures are shown, starting at ``first``. What is deleted or
    erased is not told below a picture: it is gone from it.

    >>> from costlib.iomodel.pebbles import Dag, Game
    >>> pebbling(Game(Dag.tree(leaves=2), red=3), "R0 R1 C2 W2").title
    'A pebbling with 3 red pebbles: 3 reads and writes'
    """
    boards = list(game.boards(moves))
    paid = sum(board.move.cost for board in boards if board.move is not None)
    choose("by", by, ("computation", "transfer"))
    stages = _stages(boards) if by == "computation" else _stretches(boards)
    if not 0 <= first < len(stages) or panels < 1 or columns < 1:
        raise ValueError(
            f"first must be below {len(stages)}, panels and columns at least 1, got first = "
            f"{first}, panels = {panels}, columns = {columns}"
        )
    shown = stages[first : first + panels]
    title = f"A pebbling with {game.red} red pebbles: {paid} reads and writes"
    alt = _pebbling_alt(game, shown, first, len(stages))
    sheet = _sheet(game.dag, shown, columns)
    with sketch(title, alt, height=sheet.height + 24) as drawing:
        _legend(drawing)
        _draw_boards(drawing, game.dag, sheet, [stage.board for stage in shown])
        for lines, (x, y) in zip(sheet.captions, sheet.corners, strict=True):
            for number, line in enumerate(lines):
                at = (x + sheet.width / 2, y + 22 + _LINE * number)
                drawing.text(at, line, align="middle", bold=not number)
    return drawing.result


def _legend(drawing: Sketch) -> None:
    for x, (words, marker, colour, edge, size) in zip((12, 96, 228), _PEBBLES, strict=True):
        look = {"markerfacecolor": colour, "markeredgecolor": edge, "markersize": size * 0.75}
        drawing.axes.plot([x], [11], marker, **look)
        drawing.text((x + 13, 11), words)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Where the pictures of a pebbling stand, in points, y pointing down."""

    places: Sequence[Point]  #: of the vertices, from a picture's lower left corner
    corners: Sequence[Point]
    captions: Sequence[Sequence[str]]
    width: float  #: of one picture
    height: float  #: of all


def _sheet(dag: Dag, shown: Sequence[_Stage], columns: int) -> _Sheet:
    width = WIDTH / min(columns, len(shown))
    places = _scaled_places(dag, width)
    captions = [_caption(stage, int(width / 6.3)) for stage in shown]
    tall = max(y for _, y in places) + 26
    below = max(map(len, captions)) * _LINE + 22
    corners = [
        (i % columns * width, 10 + tall + i // columns * (tall + below)) for i in range(len(shown))
    ]
    return _Sheet(
        [(x, -y) for x, y in places], corners, captions, width, corners[-1][1] + below - 22
    )


def _caption(stage: _Stage, width: int) -> list[str]:
    """The I/O so far, and the moves in words, without what is taken away."""
    words: list[str] = []
    for move in stage.caption.split():
        verb = {"R": "read", "W": "write", "C": "compute"}.get(move[0])
        if verb is None:
            continue
        if words and words[-1].startswith(verb):
            words[-1] += f" {move[1:]}"
        else:
            words.append(f"{verb} {move[1:]}")
    told = ", ".join(words)
    lines = wrap(told, width)
    if len(lines) > 1:  # a line for each kind of move, so that no list goes on below
        lines = [line for part in told.replace(", ", ",|").split("|") for line in wrap(part, width)]
    return [f"I/O {stage.paid}", *lines]


def _scaled_places(dag: Dag, width: float) -> list[Point]:
    """Where each vertex is, in points, in a panel of this width."""
    places = _places(dag)
    wide = max(x for x, _ in places)
    step = min(44.0, (width - 34) / max(wide, 1))
    left = (width - wide * step) / 2
    return [(left + x * step, y * _ROW) for x, y in places]


@dataclass(frozen=True, slots=True)
class _Stage:
    """A picture: the board after some moves, those moves, and the I/O so far."""

    board: Board
    caption: str
    paid: int


def _cut(boards: Sequence[Board], ends: Callable[[list[Move], Move], bool]) -> list[_Stage]:
    """The boards in stages: one ends where its moves and the one that follows say so."""
    stages = []
    moves: list[Move] = []
    paid = 0
    for board, after in zip(boards[1:], [*boards[2:], None], strict=True):
        assert board.move is not None
        moves.append(board.move)
        paid += board.move.cost
        following = None if after is None else after.move
        if following is None or ends(moves, following):
            stages.append(_Stage(board, " ".join(map(str, moves)), paid))
            moves = []
    return stages


def _stages(boards: Sequence[Board]) -> list[_Stage]:
    """A stage ends with a computation and its write; what comes after the last is one more."""

    def ends(moves: list[Move], following: Move) -> bool:
        computed = any(move.kind == "C" for move in moves)
        return computed and following != Move("W", moves[-1].vertex)

    return _cut(boards, ends)


def _stretches(boards: Sequence[Board]) -> list[_Stage]:
    """A stage begins with a read or write and ends before the next that follows free moves."""
    return _cut(boards, lambda moves, following: bool(following.cost and not moves[-1].cost))


def _pebbling_alt(game: Game, shown: Sequence[_Stage], first: int, total: int) -> str:
    told = "; ".join(
        f"after {stage.caption}: red {_listed(stage.board.red)}, blue {_listed(stage.board.blue)}, "
        f"I/O {stage.paid}"
        for stage in shown
    )
    return (
        f"Pictures {first + 1} to {first + len(shown)} of {total} of a graph of "
        f"{len(game.dag.parents)} vertices and {len(game.dag.edges)} edges; {told}."
    )


def _listed(vertices: Iterable[int]) -> str:
    return " ".join(map(str, sorted(vertices))) or "none"


def _draw_boards(drawing: Sketch, dag: Dag, sheet: _Sheet, boards: Sequence[Board]) -> None:
    """The graph once for each board, all pebbles of one kind in one go."""
    shifted = [[(x + left, y + bottom) for x, y in sheet.places] for left, bottom in sheet.corners]
    edges = [_between(at[parent], at[child]) for at in shifted for parent, child in dag.edges]
    _draw_edges(drawing.axes, edges)
    everywhere = frozenset(range(len(dag.parents)))
    holders = (
        [everywhere - board.red - board.blue for board in boards],
        [board.blue for board in boards],
        [board.red for board in boards],
    )
    for (_, marker, colour, edge, size), held in zip(_PEBBLES, holders, strict=True):
        points = [
            at[vertex]
            for at, vertices in zip(shifted, held, strict=True)
            for vertex in sorted(vertices)
        ]
        look = {"markerfacecolor": colour, "markeredgecolor": edge, "markersize": size}
        drawing.axes.plot([x for x, _ in points], [y for _, y in points], marker, **look)
    for at in shifted:
        for vertex, place in enumerate(at):
            drawing.text(place, str(vertex), align="middle")


def _between(start: Point, end: Point, gap: float = 10.0) -> tuple[Point, Point]:
    """An edge without its ends, where pebbles lie."""
    along = math.dist(start, end)
    across, down = ((b - a) * gap / along for a, b in zip(start, end, strict=True))
    return (start[0] + across, start[1] + down), (end[0] - across, end[1] - down)


def dominator(dag: Dag, parts: Sequence[Subset | Sequence[int]], part: int = 0) -> Figure:
    """One part of a partition of a graph, with a smallest dominator and its minimum set.

    Every path from an input to the part meets the dominator. The minimum set is what the part hands
    on: its vertices without a child in it. The numbers are those of the vertices.

    >>> from costlib.iomodel.pebbles import Dag
    >>> dominator(Dag.tree(leaves=4), [(0, 1, 4), (2, 3, 5, 6)], part=1).title
    'Part 1: 4 vertices behind a dominator of 3, minimum set 1'
    """
    sets = [tuple(one.vertices if isinstance(one, Subset) else one) for one in parts]
    if not 0 <= part < len(sets) or not sets[part]:
        raise ValueError(
            f"part must name one of {len(sets)} parts that has vertices, got part = {part}"
        )
    dominating, minimum = minimum_dominator(dag, sets[part]), minimum_set(dag, sets[part])
    title = (
        f"Part {part}: {len(sets[part])} vertices behind a dominator of {len(dominating)}, "
        f"minimum set {len(minimum)}"
    )
    tall = max(y for _, y in _scaled_places(dag, WIDTH))
    places = [(x, 48 + 1.8 * (tall - y)) for x, y in _scaled_places(dag, WIDTH)]
    frames = (
        ("minimum set", "D", 22, COLOURS[2], minimum, ""),
        ("dominator", "s", 22, COLOURS[1], dominating, ""),
        (f"part {part}", "o", 17, COLOURS[0], sets[part], "66"),
    )
    alt = _dominator_alt(dag, part, sets[part], dominating, minimum)
    with sketch(title, alt, height=1.8 * tall + 70) as drawing:
        for start, end in dag.edges:
            drawing.arrow(*_between(places[start], places[end], 13), colour=COLOURS[4], width=0.9)
        for number, (words, marker, size, colour, vertices, shade) in enumerate(frames):
            look: dict[str, Any] = {"markeredgecolor": colour, "markeredgewidth": 1.8}
            look["markerfacecolor"] = colour + shade if shade else "none"
            drawing.axes.plot([16 + 120 * number], [12], marker, markersize=size / 2, **look)
            drawing.text((30 + 120 * number, 12), words)
            across, down = zip(*(places[v] for v in vertices), strict=True)
            drawing.axes.plot(across, down, marker, markersize=size, **look)
        for vertex, place in enumerate(places):
            drawing.text(place, str(vertex), align="middle")
    return drawing.result


def _dominator_alt(
    dag: Dag, part: int, vertices: Sequence[int], dominating: Sequence[int], minimum: Sequence[int]
) -> str:
    return (
        f"A graph of {len(dag.parents)} numbered vertices. Part {part} is {_listed(vertices)}, "
        f"drawn as discs. Every path to it from an input meets its dominator "
        f"{_listed(dominating)}, framed by squares. Its minimum set {_listed(minimum)} is framed "
        "by diamonds."
    )
