"""The memory of the model: a fast level of M entries that counts, over a slow one without limit."""

from costlib.iomodel.memory.blocks import CapacityError, HeldBlock, ResidencyError, SlowArray
from costlib.iomodel.memory.schedule import Played, Schedule, Tile, play
from costlib.iomodel.memory.two_level import Event, TwoLevelMemory, spans

__all__ = [
    "HeldBlock",
    "CapacityError",
    "Event",
    "Played",
    "ResidencyError",
    "Schedule",
    "SlowArray",
    "Tile",
    "TwoLevelMemory",
    "play",
    "spans",
]
