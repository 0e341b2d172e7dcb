"""The rules of an assignment: until when, what a late notebook loses, which of several counts.

In a checks file:

    POOLS = {"bandwidth": 1}  # of the questions with pool="bandwidth" each student gets one
    DEADLINE = Deadline("2026-11-30 23:59 +01:00", per_day=10, at_most=50, grace=15)
    KEEP = "best"  # of what one student handed in: "last" (if left out), "first" or "best"
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

__all__ = ["Deadline", "Rules", "read_time"]

POLICIES = ("last", "first", "best")


@dataclass(frozen=True)
class Deadline:
    """Until when, and how many per cent of the points each day that begins after it costs.

    ``grace`` is in minutes; ``at_most`` is the largest loss in per cent; who is in ``extended`` has
    a time of their own.

    >>> rule = Deadline("2026-11-30 23:59", per_day=10, extended={"ada": "2026-12-02 12:00"})
    >>> rule.loss("bob", read_time("2026-12-01 08:00")), rule.loss("ada", read_time("2026-12-01"))
    (0.1, 0.0)
    """

    until: str
    per_day: float = 100
    at_most: float = 100
    grace: float = 0
    extended: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for time in (self.until, *self.extended.values()):
            read_time(time)
        for name in ("per_day", "at_most"):
            if not 0 <= getattr(self, name) <= 100:
                raise ValueError(f"{name} is in per cent, from 0 to 100: {getattr(self, name)!r}")
        if not self.grace >= 0:
            raise ValueError(f"grace is in minutes, from 0 on: {self.grace!r}")

    def days_late(self, student: str, time: datetime) -> int:
        """How many days have begun since the deadline and its grace."""
        until = read_time(self.extended.get(student, self.until))
        late = time - until
        if late <= timedelta(minutes=self.grace):
            return 0
        return math.ceil(late / timedelta(days=1))

    def loss(self, student: str, time: datetime) -> float:
        """The share of the points that is lost."""
        return min(self.days_late(student, time) * self.per_day, self.at_most) / 100


@dataclass(frozen=True)
class Rules:
    """What a checks file says beside its questions."""

    pools: Mapping[str, int] = field(default_factory=dict)
    deadline: Deadline | None = None
    keep: str = "last"

    @classmethod
    def of(cls, namespace: Mapping[str, Any]) -> Rules:
        """The rules among the names of a checks file."""
        pools, deadline = namespace.get("POOLS", {}), namespace.get("DEADLINE")
        keep = namespace.get("KEEP", "last")
        if keep not in POLICIES:
            raise ValueError(f"KEEP is one of {', '.join(POLICIES)}, got {keep!r}")
        if deadline is not None and not isinstance(deadline, Deadline):
            raise ValueError(f"DEADLINE is a Deadline(...), got {deadline!r}")
        if not isinstance(pools, dict) or not all(type(n) is int and n > 0 for n in pools.values()):
            raise ValueError(f"POOLS says how many of each pool everybody gets, got {pools!r}")
        return cls(pools, deadline, keep)


def read_time(text: str) -> datetime:
    """A time as people and systems write it; without a zone it is this machine's.

    >>> read_time("2026-11-30T23:59:00Z") == read_time("2026-12-01 00:59 +01:00")
    True
    >>> read_time("tomorrow")
    Traceback (most recent call last):
    ValueError: 'tomorrow' is no time: write 2026-11-30 23:59, or 2026-11-30 23:59 +01:00
    """
    plain = re.sub(r"\.\d+", "", " ".join(str(text).split()))  # of a second
    plain = plain.replace(" UTC", "+00:00").replace("Z", "+00:00")
    if plain.count(" ") == 2:  # before the zone
        plain = "".join(plain.rsplit(" ", 1))
    if plain[-5:-4] in ("+", "-") and plain[-4:].isdigit() and ":" in plain[:-5]:
        plain = f"{plain[:-2]}:{plain[-2:]}"  # +0100
    try:
        return datetime.fromisoformat(plain).astimezone()
    except (ValueError, OverflowError, OSError):  # a year that no clock has
        raise ValueError(
            f"{text!r} is no time: write 2026-11-30 23:59, or 2026-11-30 23:59 +01:00"
        ) from None
