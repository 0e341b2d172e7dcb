"""All the counted algorithms in one place, and what they are checked against.

Each takes matrices and a memory (a capacity in entries, a `TwoLevelMemory`, or None for no limit)
and returns a `Run`: output, reads, writes, peak.
"""

from costlib.iomodel.backward import flash_backward, reference_gradients
from costlib.iomodel.challengers import recomputed, sawtooth
from costlib.iomodel.flash_attention import flash, flash2
from costlib.iomodel.materialised import naive, naive_entries, naive_rows
from costlib.iomodel.products import matmul, matmul_entries, matmul_outer
from costlib.iomodel.runs import Run, reference_attention
from costlib.iomodel.square_tiles import fused, small_cache

__all__ = [
    "Run",
    "flash",
    "flash2",
    "flash_backward",
    "fused",
    "matmul",
    "matmul_entries",
    "matmul_outer",
    "naive",
    "naive_entries",
    "naive_rows",
    "recomputed",
    "reference_attention",
    "reference_gradients",
    "sawtooth",
    "small_cache",
]
