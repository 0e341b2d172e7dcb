"""The explorer of the chapter on lower bounds: a game of pebbles."""

from __future__ import annotations

from costfigures.explorers.page import Explorer
from costfigures.pebbles import pebbling
from costlib.iomodel.pebbles import Dag, Game

#: The boards of the pebble game: title, graph, and how many red pebbles to choose from.
BOARDS: dict[str, tuple[str, Dag, tuple[int, ...]]] = {
    "chain": ("chain of 6", Dag.chain(6), (2, 3)),
    "tree": ("sum of 8", Dag.tree(8), (3, 4, 5)),
    "diamond": ("diamond, 3 by 3", Dag.grid(3, 3), (3, 4)),
    "matmul": ("2×2 by 2×2 product", Dag.matmul(2, 2, 2, fma=True), (4, 5, 6)),
    "fft": ("FFT of 4 points", Dag.fft(4), (3, 4, 5)),
}


def pebbles() -> Explorer:
    """A best pebbling of the diamond, and the optima of the other boards."""
    best = {name: Game(dag, reds[0]).optimal() for name, (_, dag, reds) in BOARDS.items()}
    rows = [
        [title, str(reds[0]), str(best[name].cost), str(dag.compulsory)]
        for name, (title, dag, reds) in BOARDS.items()
    ]
    _, dag, reds = BOARDS["diamond"]
    figure = pebbling(Game(dag, reds[0]), best["diamond"].moves)
    columns = ["graph", "red pebbles", "optimum", "inputs and outputs alone"]
    return Explorer("pebbles", figure, columns, rows)
