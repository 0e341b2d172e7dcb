"""What a simulated server did: the times of every request, and a trace of its load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from costlib.serving.pages import Pages
from costlib.serving.requests import Requests
from costlib.units.numbers import choose

__all__ = ["ServingRun"]


@dataclass(slots=True)
class ServingRun:
    """For each request the seconds at which its prefill, its first and its last token came; and
    totals.

    ``steps`` are decode steps, ``passes`` those and the passes over prompts alone; ``read`` and
    ``hit`` are tokens of prompts that were read and that a prefix cache had; ``written`` are tokens
    of answers. ``rows`` has one for each event: seconds, sequences that write, that wait, blocks
    taken, tokens cached by those that write, and steps so far.
    """

    requests: Requests
    pages: Pages
    started: Any
    first: Any
    finish: Any
    trace: Any = None
    steps: int = 0
    passes: int = 0
    read: int = 0
    hit: int = 0
    written: int = 0
    preemptions: int = 0
    rows: list[tuple[float, int, int, int, int, int]] = field(default_factory=list, repr=False)

    @property
    def seconds(self) -> float:
        """From 0 to the last token."""
        return float(self.finish.max())

    @property
    def throughput(self) -> float:
        """Output tokens a second."""
        return self.written / self.seconds

    @property
    def waited(self) -> Any:
        """Seconds from arrival until the prefill begins."""
        return self.started - self.requests.arrival

    @property
    def ttft(self) -> Any:
        """Time to first token (TTFT) in seconds, from arrival on."""
        return self.first - self.requests.arrival

    @property
    def tpot(self) -> Any:
        """Time per output token (TPOT) in seconds, of requests with more than one output token."""
        more = self.requests.answer - 1
        return (self.finish - self.first)[more > 0] / more[more > 0]

    @property
    def latency(self) -> Any:
        """Seconds from arrival to the last token."""
        return self.finish - self.requests.arrival

    def column(self, name: str) -> Any:
        """One column of the trace: seconds, writing, waiting, blocks, tokens or steps.

        Each value holds until the next row's time.
        """
        names = ("seconds", "writing", "waiting", "blocks", "tokens", "steps")
        if self.trace is None or len(self.trace) != len(self.rows):
            self.trace = np.array(self.rows, dtype=float).reshape(-1, len(names))
        choose("name", name, names)
        return self.trace[:, names.index(name)]

    def mean(self, name: str) -> float:
        """A column's average over time; the last value of a run that is one event."""
        spans = np.diff(self.column("seconds"))
        if not np.sum(spans) > 0:
            return float(self.column(name)[-1])
        return float(np.sum(self.column(name)[:-1] * spans) / np.sum(spans))

    def little(self) -> tuple[float, float]:
        """The average number of requests in the system, counted at arrivals and ends; and λ·W."""
        count, arrival = len(self.requests), self.requests.arrival
        times = np.concatenate([arrival, self.finish])
        changes = np.concatenate([np.ones(count), -np.ones(count)])
        order = np.argsort(times, kind="stable")
        inside = np.cumsum(changes[order])[:-1]
        average = float(np.sum(inside * np.diff(times[order])) / self.seconds)
        return average, count / self.seconds * float(np.mean(self.latency))
