"""What failures cost: how often to write a checkpoint, and what share of the time is work.

Devices fail at random, so that failures of a machine of n come n times as often. Work since the
last checkpoint is lost, and a restart takes time. All times are in one unit, whichever it is.
"""

from __future__ import annotations

from math import e
from typing import Any

from costlib.numbers import Number, square_root

__all__ = ["daly", "goodput", "likely_failures", "young"]


def likely_failures(hours: Number, devices: Number, hours_between: Number) -> Any:
    """Failures to expect: device-hours over the hours that one device runs between failures.

    >>> round(likely_failures(54 * 24, 16384, 50_000))
    425
    """
    return hours * devices / hours_between


def young(write: Number, between: Number) -> Any:
    """Work between checkpoints that loses least, to first order: √(2·write·between).

    ``write`` is what one checkpoint takes, ``between`` the mean time between failures.

    >>> young(write=2, between=100)
    20.0
    """
    return square_root(2 * write * between)


def daly(write: Number, between: Number) -> Any:
    """The same to third order (Daly 2006), for writes shorter than twice the time between failures.

    >>> round(daly(write=2, between=100), 2), round(daly(write=0.002, between=100), 3)
    (18.69, 0.631)
    """
    ratio = write / (2 * between)
    return young(write, between) * (1 + square_root(ratio) / 3 + ratio / 9) - write


def goodput(work: Number, write: Number, between: Number, restart: Number = 0) -> Any:
    """The share of time that is work, with a checkpoint after each ``work``.

    Failures are a Poisson process: a stretch of work and write that needs t without a failure takes
    between·(exp(t/between) − 1) on average, and each failure costs a restart, which can fail too.

    >>> [round(goodput(work, 2, 100), 3) for work in (8, daly(2, 100), 60)]
    [0.761, 0.813, 0.699]
    """
    lost = between * e ** (restart / between) * (e ** ((work + write) / between) - 1)
    return work / lost
