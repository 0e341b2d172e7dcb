"""Heads of attention as the lower bounds see them: which pairs are computed, and what is shared.

A bound asks how many (query, key) pairs there are, how wide queries and values are, and which
entries are the same. Everything else about a model, from its mask to its cache, comes down to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.iomodel.counting.coverage import sum_of_quotients
from costlib.units.numbers import (
    Number,
    ceil_div,
    is_lazy,
    is_symbolic,
    maximum,
    minimum,
    sizes,
    triangle,
)

__all__ = ["Heads"]


@dataclass(frozen=True, slots=True)
class Heads:
    """``heads`` heads of keys and values, and ``group`` heads of queries for each of them.

    Every query head has N queries of width d. There are ``keys`` keys, N unless given, and values
    of ``value_width`` entries, d unless given. With ``causal`` the queries are the last N positions
    of the keys, and each sees the keys up to its own. With ``window=w`` it sees the last w of
    these. With ``latent`` a value is the first ``value_width`` entries of its key, as in multi-head
    latent attention, and not a source of its own. Left out: masks that are neither full, causal nor
    a window; the bounds need only their pairs, see `bounds.by_keys`.

    >>> Heads(4, 2).pairs, Heads(4, 2, causal=True).pairs, Heads(4, 2, window=2).pairs
    (16, 10, 7)
    >>> Heads(1, 128, keys=4096, heads=8, group=4).compulsory
    8396800
    """

    N: Any
    d: Any
    keys: Any = None
    value_width: Any = None
    heads: Any = 1
    group: Any = 1
    causal: bool = False
    window: Any = None
    latent: bool = False

    def __post_init__(self) -> None:
        keys = self.N if self.keys is None else self.keys
        value_width = self.d if self.value_width is None else self.value_width
        checked = sizes(N=self.N, d=self.d, heads=self.heads, group=self.group)
        others = sizes(keys=keys, value_width=value_width)
        names = ("N", "d", "heads", "group", "keys", "value_width")
        for name, value in zip(names, checked + others, strict=True):
            object.__setattr__(self, name, value)
        if self.window is not None:
            (window,) = sizes(window=self.window)
            object.__setattr__(self, "causal", True)
            object.__setattr__(self, "window", minimum(window, self.keys))
        if self.causal and _fails(self.keys >= self.N):
            raise ValueError(
                "under a causal mask the queries are the last N keys, so keys must be at least "
                f"N = {self.N}, got {self.keys}"
            )
        if self.latent and _fails(self.value_width <= self.d):
            raise ValueError(
                "a latent's values are columns of its keys, so value_width must be at most "
                f"d = {self.d}, got {self.value_width}"
            )

    @property
    def pairs(self) -> Any:
        """(query, key) pairs that are computed, over all query heads."""
        if not self.causal:
            seen = self.N * self.keys
        elif self.window is None and self.keys is self.N:
            seen = triangle(self.N)
        else:
            seen = self._over_keys(triangle, lambda n: n)
        return seen * self.heads * self.group

    @property
    def compulsory(self) -> Any:
        """Entries that any schedule moves: sources that are used read once, outputs written."""
        used = self.keys
        if self.window is not None:
            used = minimum(self.keys, self.N + self.window - 1)
        queries = self.group * self.N * (self.d + self.value_width)
        return self.heads * (queries + used * self.entries_of_key)

    @property
    def entries_of_key(self) -> Any:
        """Sources of one key and its value: d + value_width, in a latent d."""
        return self.d if self.latent else self.d + self.value_width

    def loads(self, block_rows: Number) -> Any:
        """Rows of keys read where each is read once for every ``block_rows`` of its queries.

        A key that n queries of a group see is read ⌈n/block_rows⌉ times, as in `counts.streamed`.
        Summed over the heads of keys.

        >>> Heads(4, 2).loads(2), Heads(4, 2, causal=True).loads(2), Heads(4, 2, window=2).loads(2)
        (8, 6, 4)
        """
        (block_rows,) = sizes(block_rows=block_rows)
        if not self.causal:
            return self.heads * self.keys * ceil_div(self.group * self.N, block_rows)
        return self.heads * self._over_keys(
            lambda n: sum_of_quotients(n, self.group, block_rows, up=True),
            lambda n: ceil_div(self.group * n, block_rows),
        )

    def mask(self) -> np.ndarray[Any, Any]:
        """Which stacked query sees which key, for a run of one head of keys; whole numbers only.

        The queries of a group are stacked position by position, so row i is position i // group.

        >>> Heads(2, 1, keys=3, group=2, causal=True).mask().astype(int)
        array([[1, 1, 0],
               [1, 1, 0],
               [1, 1, 1],
               [1, 1, 1]])
        """
        if not self.causal:
            return np.ones((self.group * self.N, self.keys), dtype=bool)
        position = np.repeat(np.arange(self.N) + self.keys - self.N, self.group)[:, None]
        behind = position - np.arange(self.keys)
        found: np.ndarray[Any, Any] = (behind >= 0) & (behind < self._reach)
        return found

    @property
    def _reach(self) -> Any:
        return self.keys if self.window is None else self.window

    def _over_keys(self, summed: Any, value: Any) -> Any:
        """Σ value(n) over the keys, n the queries of one head that see a key; under a mask.

        Where all windows lie inside the keys, n climbs 1, 2, … to its height, stays, and comes down
        again; keys before the first are left away. ``summed(n)`` is value(1) + … + value(n).
        """
        height = minimum(self._reach, self.N)
        before = maximum(0 * self.N, self._reach - 1 - (self.keys - self.N))
        slope = minimum(before, height)
        top = value(height)
        whole = 2 * summed(height - 1) + (self.N + self._reach + 1 - 2 * height) * top
        return whole - summed(slope) - (before - slope) * top


def _fails(condition: Any) -> bool:
    """True if a condition is known not to hold somewhere."""
    return not (is_symbolic(condition) or is_lazy(condition) or bool(np.all(condition)))
