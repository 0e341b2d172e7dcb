"""The red-blue pebble game: I/O of a calculation as moves of pebbles on its graph.

>>> best = Game(Dag.fft(points=4), red=3).optimal()
>>> best.cost, best.proved
(14, True)
"""

from costlib.iomodel.pebbles.dag import Dag
from costlib.iomodel.pebbles.game import (
    Board,
    Game,
    IllegalMove,
    Move,
    Optimum,
    Pebbling,
    Progress,
    moves,
)
from costlib.iomodel.pebbles.partition import (
    Part,
    fewest_parts,
    io_bound,
    minimum_dominator,
    minimum_set,
    partition,
    verify,
)
from costlib.iomodel.pebbles.replay import replay

__all__ = [
    "Board",
    "Dag",
    "Game",
    "IllegalMove",
    "Move",
    "Optimum",
    "Part",
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
