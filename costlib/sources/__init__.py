"""Five published sources, each exactly as it is published, and what explains their differences.

    deepml        attention's memory traffic and FLOPs (Deep-ML, problem 416)
    sparq         where a generation step's time goes (Graphcore's SparQ Attention notebook)
    suresh        a transformer's FLOPs and memory (Varun Suresh, 2025)
    saha_ye       the I/O complexity of attention (Barna Saha and Christopher Ye, 2024)
    jamesnulliu   the arithmetic intensity of language models (jamesnulliu's notes)

Each module keeps its source's own letters, holds its figures as ``PUBLISHED``, and puts a corrected
formula beside a wrong one. `printed` has every figure of a source beside what its formula gives;
`reconcile` sets a source against this book's ledger.
"""

from costlib.sources import deepml, jamesnulliu, saha_ye, sparq, suresh
from costlib.sources.printed import printed
from costlib.sources.reconciliation import Reconciliation, reconcile

__all__ = [
    "Reconciliation",
    "deepml",
    "jamesnulliu",
    "printed",
    "reconcile",
    "saha_ye",
    "sparq",
    "suresh",
]
