"""All the counted algorithms in one place, and what they are checked against.

Each takes matrices and a memory (a capacity in entries, a `TwoLevelMemory`, or None for no limit)
and returns a `Run`: output, reads, writes, peak.
"""

from costlib.iomodel.algorithms import lru
from costlib.iomodel.algorithms.backward import (
    flash2_backward,
    flash_backward,
    reference_gradients,
    two_pass_backward,
)
from costlib.iomodel.algorithms.flash_attention import flash, flash2
from costlib.iomodel.algorithms.materialised import naive
from costlib.iomodel.algorithms.runs import Run, reference_attention
from costlib.iomodel.algorithms.square_tiles import fused, small_cache
from costlib.iomodel.algorithms.stored_tiles import (
    four_pass_backward,
    stored_backward,
    stored_scores,
)
from costlib.iomodel.algorithms.streamed import streamed

__all__ = [
    "Run",
    "flash",
    "flash2",
    "flash2_backward",
    "flash_backward",
    "four_pass_backward",
    "fused",
    "lru",
    "naive",
    "reference_attention",
    "reference_gradients",
    "small_cache",
    "stored_backward",
    "stored_scores",
    "streamed",
    "two_pass_backward",
]
