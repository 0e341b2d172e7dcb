"""The red-blue pebble game: I/O of a calculation as moves of pebbles on its graph.

>>> best = Game(Dag.fft(points=4), red=3).optimal()
>>> best.cost, best.proved
(14, True)
"""

from costlib.iomodel.pebbles.dag import Dag
from costlib.iomodel.pebbles.game import Game
from costlib.iomodel.pebbles.partition import (
    Subset,
    fewest_parts,
    io_bound,
    minimum_dominator,
    minimum_set,
    partition,
    verify,
)
from costlib.iomodel.pebbles.replay import replay
from costlib.iomodel.pebbles.rules import Board, IllegalMove, Move, Pebbling, moves
from costlib.iomodel.pebbles.search import Optimum, Progress

__all__ = [
    "Board",
    "Dag",
    "Game",
    "IllegalMove",
    "Move",
    "Optimum",
    "Subset",
    "Pebbling",
    "Progress",
    "fewest_parts",
    "io_bound",
    "minimum_dominator",
    "minimum_set",
    "moves",
    "partition",
    "replay",
    "verify",
]
