"""Requests for the simulator, listed or drawn with a seed.

Left out: users who wait for an answer before they ask again, unless you list them so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.units.numbers import Number, one_size, size

__all__ = ["Requests", "listed", "lognormal", "poisson", "uniform"]

#: A length for all, one for each request, or what draws a number of them with a generator.
Lengths = int | Sequence[int] | Callable[[Any, int], Any]


@dataclass(frozen=True, slots=True)
class Requests:
    """Arrivals in seconds, prompts and answers in tokens, one entry each, in order of arrival.

    The first ``shared`` tokens of a prompt are those of all requests of its ``group``, which has
    one such length.
    """

    arrival: Any
    prompt: Any
    answer: Any
    shared: Any
    group: Any

    def __post_init__(self) -> None:
        times = self.arrival
        if not (np.ndim(times) == 1 and np.size(times) and np.all(np.isfinite(times))):
            raise ValueError(f"arrival must list at least one time in seconds, got {times!r:.60}")
        if times[0] < 0 or np.any(np.diff(times) < 0):
            raise ValueError("arrival must be in order, from 0 on: see costlib.serving.listed")
        for name in ("prompt", "answer", "shared", "group"):
            if np.shape(getattr(self, name)) != np.shape(times):
                raise ValueError(f"{name} must have {len(times)} entries, one for each arrival")

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def rate(self) -> float:
        """Requests a second, from the first arrival to the last."""
        span = float(self.arrival[-1] - self.arrival[0])
        return (len(self) - 1) / span if span > 0 else float("inf")


def listed(
    arrival: Any, prompt: Lengths, answer: Lengths, *, shared: Lengths = 0, group: Any = 0
) -> Requests:
    """Requests with the arrivals that you give, in order of arrival.

    >>> listed([3.0, 1.0], [100, 200], 50).prompt.tolist()
    [200, 100]
    """
    times = np.atleast_1d(np.asarray(arrival))
    is_list = times.ndim == 1 and times.size > 0 and times.dtype.kind in "iuf"
    if not is_list or not np.all(np.isfinite(times)) or times.min() < 0:
        raise ValueError(f"arrival must hold seconds from 0 on, got {arrival!r:.60}")
    times = times.astype(float)
    return _made(times, prompt, answer, shared, group, np.random.default_rng(0))


def poisson(
    rate: float,
    count: int,
    *,
    prompt: Lengths,
    answer: Lengths,
    shared: Lengths = 0,
    group: Any = 0,
    seed: int = 0,
) -> Requests:
    """Requests that arrive independently of one another, at ``rate`` a second on average.

    >>> found = poisson(2, 1000, prompt=500, answer=uniform(50, 150), seed=1)
    >>> round(found.rate, 2), round(found.answer.mean())
    (1.98, 100)
    """
    if not (isinstance(rate, (int, float, np.number)) and 0 < rate < float("inf")):
        raise ValueError(f"rate must be a positive number of requests a second, got {rate!r}")
    random = np.random.default_rng(seed)
    times = np.cumsum(random.exponential(1 / float(rate), one_size("count", count)))
    return _made(times, prompt, answer, shared, group, random)


def uniform(low: Number, high: Number) -> Callable[[Any, int], Any]:
    """Lengths between two, all equally likely.

    >>> uniform(3, 5)(np.random.default_rng(0), 6).tolist()
    [5, 4, 4, 3, 3, 3]
    """
    low, high = one_size("low", low), one_size("high", high)
    if high < low:
        raise ValueError(f"high must be at least low={low}, got {high}")
    return lambda random, count: random.integers(low, high + 1, count)


def lognormal(median: Number, mean: Number, most: Number) -> Callable[[Any, int], Any]:
    """Log-normal lengths: many short ones and a few very long ones, none above ``most``.

    >>> found = lognormal(100, 200, 4000)(np.random.default_rng(0), 10_000)
    >>> round(np.median(found)), round(found.mean())
    (99, 198)
    """
    median, mean = one_size("median", median), one_size("mean", mean)
    longest = one_size("most", most, least=median)
    if mean <= median:
        raise ValueError(f"mean must be more than the median of {median}, got {mean}")
    sigma = np.sqrt(2 * np.log(mean / median))

    def drawn(random: Any, count: int) -> Any:
        found = random.lognormal(np.log(median), sigma, count)
        return np.clip(np.rint(found), 1, longest).astype(int)

    return drawn


def _made(times: Any, prompt: Any, answer: Any, shared: Any, group: Any, random: Any) -> Requests:
    order = np.argsort(times, kind="stable")
    prompts = _lengths("prompt", prompt, random, len(times))
    common = _lengths("shared", shared, random, len(times), least=0)
    if np.any(common > prompts):
        at = int(np.argmax(common > prompts))
        text = f"shared must be at most the prompt, got {common[at]} of {prompts[at]} tokens"
        raise ValueError(text)
    groups = _lengths("group", group, random, len(times), least=0)
    _check_groups(groups, common)
    answers = _lengths("answer", answer, random, len(times))
    return Requests(times[order], *(each[order] for each in (prompts, answers, common, groups)))


def _check_groups(groups: Any, common: Any) -> None:
    """One beginning for each group."""
    lengths: dict[int, int] = {}
    for group, shared in zip(groups.tolist(), common.tolist(), strict=True):
        if lengths.setdefault(group, shared) != shared:
            text = f"shared must be one length a group, got {lengths[group]} and {shared}"
            raise ValueError(f"{text} for group {group}")


def _lengths(name: str, given: Any, random: Any, count: int, *, least: int = 1) -> Any:
    found = given(random, count) if callable(given) else given
    if np.ndim(found) == 0:
        return np.full(count, one_size(name, found, least=least))
    found = np.asarray(size(name, np.asarray(found), least=least)).astype(int)
    if len(found) != count:
        raise ValueError(f"{name} must be one length or {count}, one each, got {len(found)}")
    return found
