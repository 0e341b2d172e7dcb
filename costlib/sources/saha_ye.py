"""Saha and Ye, 2024 (arXiv 2402.07443): how few entries attention can move.

Q, K, V are N×d, M is the fast memory in entries. The theorems are Θ, Ω or O: these are the
expressions inside, without constants, lower-order terms, or the entries of the inputs and output.
`costlib.iomodel.counting.bounds` has bounds with their constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers.attention import attention
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, sizes, square_root
from costlib.units.precision import Precision

__all__ = ["HIERARCHY", "REASONS", "flash", "parts", "sides", "small_cache", "standard"]

#: The slides' memory hierarchy: bytes/s and bytes of each level.
HIERARCHY: Mapping[str, tuple[Number, Number]] = {
    "on chip": (19 * 10**12, 20 * 10**6),
    "HBM": (1500 * 10**9, 40 * 10**9),
    "host": (128 * 10**8, 10**12),  # "> 1 TB"
}

REASONS = {
    "entries": (
        ("rows of K and V are read again for every block that fits", "flash .*"),
        ("the scores are written: nothing", "scores scores written"),
        ("the softmax reads and writes the scores", "softmax .*"),
        ("the product with V reads the scores again", "values scores read"),
        ("Q, K, V and the output are moved once each", ".* (activations|kv) .*"),
    )
}


def standard(N: Number) -> Any:
    """Standard attention writes the score matrix: at least N² entries.

    >>> standard(1024)
    1048576
    """
    (N,) = sizes(N=N)
    return N**2


def flash(N: Number, d: Number, M: Number) -> Any:
    """FlashAttention: O(N²·d²/M).

    >>> flash(1024, 64, 65536)
    65536.0
    """
    N, d, M = sizes(N=N, d=d, M=M)
    return N**2 * d**2 / M


def small_cache(N: Number, d: Number, M: Number) -> Any:
    """Theorem 2, an algorithm for M < d²: O(N²·d/√M).

    >>> small_cache(1024, 64, 1024)
    2097152.0
    """
    N, d, M = sizes(N=N, d=d, M=M)
    return N**2 * d / square_root(M)


def parts(N: Number, d: Number, M: Number) -> Any:
    """Parts of an M-partition of attention: Ω(N²·d²/M²), as each holds O(M²/d²) scores.

    >>> parts(1024, 64, 4096)
    256.0
    """
    return flash(N, d, M) / M


def sides(N: Number, d: Number, M: Number | None = None) -> tuple[Ledger, Ledger, Precision]:
    """Standard attention, or FlashAttention in a memory of M entries, against one head's ledger.

    >>> [side.elements for side in sides(1024, 64)[:2]]
    [1048576, 4456448]
    """
    if M is None:
        published = Op("scores", 0, elements_written=Elements(scores=standard(N)))
        written = attention(1, N, 1, d, scores="materialised")
        return Ledger((published,)), written, Precision.uniform(1)
    published = Op("flash", 0, Elements(kv=flash(N, d, M)))
    on_chip = attention(1, N, 1, d, scores="on-chip")
    return Ledger((published,)), on_chip, Precision.uniform(1)
