"""Seconds of any pass of a server, looked up: what the ledger says, worked out once for all.

An op takes the longer of computing and moving, and a pass takes the sum of its ops. Steps that
treat all tokens alike depend on how many tokens there are. What mixes tokens depends, for those
that are decoding, on their number and on what they have cached; for a piece of a prompt on its
length and on what came before. So a pass with both is a sum of three tables:

    seconds = alike[tokens] + decoding[sequences](mean context) + reading(new, cached)

Attention's bytes and FLOPs are sums over sequences, so that the mean context says all: a straight
line, or with windows and latents a few, between contexts where the ledger was asked.

Left out: how sequences of one step differ where the lines bend (a window full for some of them).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np

from costlib.layers.parts import Pass
from costlib.serving.server import Server, server_of
from costlib.units.ledger import Ledger
from costlib.units.numbers import one_size

__all__ = ["Clock"]

_CLOSE = 1e-6  # how near a straight line must be to the ledger halfway, or it is divided
_PIECES = 32

#: Sequences, and tokens of one, that tables are made for.
MOST = 2**22


class Clock:
    """Tables of one server, for up to ``sequences`` at once of at most ``longest`` tokens.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> clock = Clock(server, sequences=64, longest=10_000)
    >>> abs(clock.steps(32, 32 * 5000, 1) / server.step(32, 5000) - 1) < 1e-9
    True
    >>> ten = sum(server.step(32, 5000 + more) for more in range(10))
    >>> abs(clock.steps(32, 32 * 5000, 10) / ten - 1) < 1e-9
    True
    """

    def __init__(self, server: Server, *, sequences: int, longest: int, tokens: int = 0) -> None:
        sequences, longest = one_size("sequences", sequences), one_size("longest", longest)
        for name, asked in (("sequences", sequences), ("longest", longest)):
            if asked > MOST:  # the tables have a line for each
                raise ValueError(f"{name} must be at most {MOST:,}, got {asked:,}")
        self._server = server_of(server)
        self._prompts: dict[tuple[int, int], float] = {}
        self._alike, self._written = self._tables(sequences, max(tokens, longest) + sequences)
        self._batches = np.arange(1.0, sequences + 1)
        self.contexts = self._knots(max(2, longest))
        at = [self._mixing(self._batches, context) for context in self.contexts]
        widths = np.diff(self.contexts)
        slopes = [(b - a) / w for a, b, w in zip(at, at[1:], widths, strict=False)]
        self._lines = [
            ([0.0, *(a - s * c).tolist()], [0.0, *s.tolist()])
            for a, s, c in zip(at, slopes, self.contexts, strict=False)
        ]

    def steps(self, sequences: int, cached: int, count: int) -> float:
        """Seconds of ``count`` steps in a row; ``cached`` tokens in all before the first."""
        first, slope = self._line(sequences, cached / sequences)
        one = self._alike[sequences] + self._written[sequences] + first
        return count * one + slope * (count * (count - 1) // 2)

    def steps_within(self, sequences: int, cached: int, seconds: float, most: int) -> int:
        """The fewest steps, from 1 to ``most``, after which ``seconds`` have passed.

        >>> clock = Clock(Server("llama-3.1-8b", "H100-SXM"), sequences=8, longest=2000)
        >>> clock.steps_within(8, 8000, clock.steps(8, 8000, 5) - 1e-6, 100)
        5
        """
        first, slope = self._line(sequences, cached / sequences)
        one = self._alike[sequences] + self._written[sequences] + first
        if most * one + slope * (most * (most - 1) // 2) < seconds:
            return most
        half = one - slope / 2  # of slope/2·n² + half·n = seconds, the positive root
        root = 2 * max(seconds, 0.0) / (half + sqrt(half * half + 2 * slope * max(seconds, 0.0)))
        count = ceil(root - 1e-9)
        return max(1, min(count, most))

    def until_bend(self, sequences: int, cached: int) -> int:
        """Steps until the mean context comes to the end of its line."""
        mean = cached / sequences
        piece = bisect_right(self.contexts, mean)
        return max(1, ceil(self.contexts[piece] - mean)) if piece < len(self.contexts) else 1 << 60

    def mixed(self, sequences: int, cached: int, new: int, before: int, is_last: bool) -> float:
        """Seconds of one pass: a step of those that decode, and a piece of a prompt.

        The last piece of a prompt writes its first token.
        """
        first = self._line(sequences, cached / sequences)[0] if sequences else 0.0
        written = self._written[max(1, sequences + is_last)]
        return self._alike[sequences + new] + written + first + self.reading(new, before)

    def reading(self, new: int, before: int) -> float:
        """Seconds of mixing the tokens of a piece of a prompt with one another and with others."""
        if (new, before) not in self._prompts:
            self.learn([(new, before)])
        return self._prompts[new, before]

    def learn(self, pieces: Iterable[tuple[int, int]]) -> None:
        """Ask the ledger about many pieces of prompts at once."""
        unknown = sorted(set(pieces) - self._prompts.keys())
        if self._server.share.state_elements() != 0:  # a first piece finds no state to read
            for new, before in unknown:
                self._prompts[new, before] = self._asked(Pass(1, new, new + before))
            return
        for first in (True, False):
            some = [piece for piece in unknown if (piece[1] == 0) == first]
            if some:
                new, before = np.array(some, dtype=float).T
                run = Pass(1.0, new, new if first else new + before)
                found = np.broadcast_to(self._asked(run), len(some))
                self._prompts.update(zip(some, found.tolist(), strict=True))

    def _asked(self, run: Pass) -> Any:
        """Seconds of what mixes tokens; each pass's own overhead is with the other steps."""
        share, server = self._server.share, self._server
        own = None if share.storage is None else share.precision
        return server.seconds(Ledger(tuple(share.mixing(run)), own=own)) - (
            server.device.overhead_per_step
        )

    def _mixing(self, sequences: Any, context: float) -> Any:
        found = self._asked(Pass(sequences, 1, context + 1))
        return np.broadcast_to(found, np.shape(sequences))

    def _tables(self, sequences: int, tokens: int) -> tuple[list[float], list[float]]:
        """Seconds of what treats tokens alike, one position unembedded; and of further ones."""
        server = self._server
        new = np.arange(1.0, tokens + 1)
        read = server.seconds(server.share.prefill(1, new, logits="last"))
        read = read - self._asked(Pass(1, new, new))
        batch = new[: sequences + 1]
        written = (
            server.step(batch, 1, too_large="ignore")
            - self._mixing(batch, 1)
            - read[: sequences + 1]
        )
        return [0.0, *np.broadcast_to(read, len(new)).tolist()], [0.0, *written.tolist()]

    def _knots(self, longest: int) -> list[float]:
        """Contexts between which seconds are straight lines, for one sequence and for many."""
        few = self._batches[[0, len(self._batches) // 2, -1]]
        windows = {c.window for c, _ in self._server.share.caches() if c.window is not None}
        inside = {float(w + d) for w in windows for d in (-1, 0) if 1 < w + d < longest}
        knots = sorted({1.0, *inside, float(longest)})
        waiting = [*pairwise(knots)]
        while waiting and len(knots) < _PIECES:
            low, high = waiting.pop(0)
            middle = float((low + high) // 2)
            if not low < middle < high:
                continue
            ends = [self._mixing(few, each) for each in (low, middle, high)]
            share = (middle - low) / (high - low)
            straight = ends[0] + share * (ends[2] - ends[0])
            if np.max(np.abs(straight / ends[1] - 1)) > _CLOSE:
                knots = sorted({*knots, middle})
                waiting += [(low, middle), (middle, high)]
        return knots

    def _line(self, sequences: int, mean: float) -> tuple[float, float]:
        """Seconds at a mean context, and how many more each further token takes."""
        piece = min(max(bisect_right(self.contexts, mean), 1), len(self._lines)) - 1
        base, slope = self._lines[piece]
        return base[sequences] + slope[sequences] * mean, slope[sequences]
