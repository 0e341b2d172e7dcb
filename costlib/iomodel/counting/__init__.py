"""Counts without a run: what each algorithm moves and holds, and what any schedule must move."""

from costlib.iomodel.counting import block_sizes, bounds, compression, counts, coverage
from costlib.iomodel.counting.counts import Count

__all__ = ["Count", "block_sizes", "bounds", "compression", "counts", "coverage"]
