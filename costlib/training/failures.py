"""What failures cost: how often to write a checkpoint, and what share of the time is work.

Devices fail at random, so that failures of a machine of n come n times as often. Work since the
last checkpoint is lost, and a restart takes time. All times are in one unit, whichever it is.
"""

from __future__ import annotations

from math import e, expm1
from typing import Any

import numpy as np

from costlib.units.numbers import Number, amount, is_lazy, is_symbolic, square_root

__all__ = ["daly", "goodput", "likely_failures", "young"]


def likely_failures(hours: Number, devices: Number, hours_between: Number) -> Any:
    """Failures to expect: device-hours over the hours that one device runs between failures.

    >>> round(likely_failures(54 * 24, 16384, 50_000))
    425
    """
    amount("hours", hours, least=0), amount("devices", devices)
    return hours * devices / amount("hours_between", hours_between)


def young(write: Number, between: Number) -> Any:
    """The work between checkpoints that loses least time, to first order: √(2·write·between).

    ``write`` is what one checkpoint takes, ``between`` the mean time between failures.

    >>> young(write=2, between=100)
    20.0
    """
    return square_root(2 * amount("write", write, least=0) * amount("between", between))


def daly(write: Number, between: Number) -> Any:
    """The same to third order (Daly 2006), for writes shorter than twice the time between failures.

    >>> round(daly(write=2, between=100), 2), round(daly(write=0.002, between=100), 3)
    (18.69, 0.631)
    >>> daly(write=300, between=100)
    Traceback (most recent call last):
        ...
    ValueError: write must be less than twice the time between failures, 200, got 300
    """
    first, twice = young(write, between), 2 * between
    known = not (is_symbolic(write, between) or is_lazy(write) or is_lazy(between))
    if known and np.any(write >= twice):
        text = f"write must be less than twice the time between failures, {twice}"
        raise ValueError(f"{text}, got {write}")
    ratio = write / twice
    return first * (1 + square_root(ratio) / 3 + ratio / 9) - write


def goodput(work: Number, write: Number, between: Number, restart: Number = 0) -> Any:
    """The share of time that is work, with a checkpoint after each ``work``.

    Failures are a Poisson process: a stretch of work and write that needs t without a failure takes
    between·(exp(t/between) − 1) on average, and each failure costs a restart, which can fail too.

    >>> [round(goodput(work, 2, 100), 3) for work in (8, daly(2, 100), 60)]
    [0.761, 0.813, 0.699]
    """
    amount("work", work), amount("write", write, least=0), amount("between", between)
    stretch, again = (work + write) / between, amount("restart", restart, least=0) / between
    # 1 - exp(-x), also where failures are so rare that 1 - x is 1
    if is_symbolic(stretch) or is_lazy(stretch):
        lost = 1 - e**-stretch
    else:
        lost = -(expm1 if isinstance(stretch, (int, float)) else np.expm1)(-stretch)
    return work * e ** -(stretch + again) / (between * lost)
