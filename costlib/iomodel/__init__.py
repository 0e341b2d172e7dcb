"""What attention moves between a fast memory of M entries and a slow one.

Run an algorithm on a counted memory and it returns its output with what it read, wrote and held:

>>> import numpy as np
>>> from costlib import iomodel
>>> Q, K, V = np.random.default_rng(0).normal(size=(3, 32, 4))
>>> run = iomodel.flash2(Q, K, V, 100)
>>> run.reads, run.writes, run.peak
(1408, 128, 95)
>>> run.total >= iomodel.bounds.attention(32, 4, 100)
True
"""

from costlib.iomodel import algorithms, counting, memory, pebbles
from costlib.iomodel.algorithms import (
    Run,
    flash,
    flash2,
    flash2_backward,
    flash_backward,
    four_pass_backward,
    fused,
    lru,
    naive,
    reference_attention,
    reference_gradients,
    small_cache,
    stored_backward,
    stored_scores,
    streamed,
    two_pass_backward,
)
from costlib.iomodel.counting import bounds, compression, counts
from costlib.iomodel.counting.block_sizes import (
    best_blocks,
    crossovers,
    published_blocks,
    shrunk_blocks,
)
from costlib.iomodel.counting.heads import Heads
from costlib.iomodel.letters import fast_memory, head_width
from costlib.iomodel.memory import CapacityError, ResidencyError, Schedule, TwoLevelMemory, play

__all__ = [
    "CapacityError",
    "Heads",
    "ResidencyError",
    "Run",
    "Schedule",
    "TwoLevelMemory",
    "algorithms",
    "best_blocks",
    "bounds",
    "compression",
    "counting",
    "counts",
    "crossovers",
    "fast_memory",
    "flash",
    "flash2",
    "flash2_backward",
    "flash_backward",
    "four_pass_backward",
    "fused",
    "head_width",
    "lru",
    "memory",
    "naive",
    "pebbles",
    "play",
    "published_blocks",
    "reference_attention",
    "reference_gradients",
    "shrunk_blocks",
    "small_cache",
    "stored_backward",
    "stored_scores",
    "streamed",
    "two_pass_backward",
]
