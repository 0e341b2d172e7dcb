"""How much of a class is done, and how long the rest will take."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable

__all__ = ["Progress"]


class Progress:
    """A bar with the time left, where somebody looks; a line now and then elsewhere."""

    def __init__(
        self,
        total: int,
        what: str,
        say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
    ) -> None:
        self.total, self.what, self.say = total, what, say
        self.done, self.begin, self.last = 0, time.monotonic(), 0.0

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        now = time.monotonic() - self.begin
        left = now / self.done * (self.total - self.done)
        if sys.stderr.isatty():
            bar = "█" * (30 * self.done // self.total)
            line = f"\r{bar:·<30} {self.done}/{self.total}, {left:.0f} s left "
            with contextlib.suppress(OSError):
                sys.stderr.write(line + ("\n" if self.done == self.total else ""))
                sys.stderr.flush()
        elif now - self.last > 5 or self.done == self.total:
            self.last = now
            self.say(f"{self.done}/{self.total} {self.what}, {left:.0f} s left")
