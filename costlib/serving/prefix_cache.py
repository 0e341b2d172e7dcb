"""A prefix cache of limited size: which prefixes stay, which calls find them, and on which server.

A server keeps the tokens of each session from the beginning on. Where room is needed, the eviction
policy names a session, and the end of its prefix goes first, because a beginning without an end is
of use and an end without its beginning is not. What all sessions begin with is kept once.

Left out: seconds (the order of the calls is all), calls that run at the same time, and blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from costlib.serving.sessions import Session
from costlib.units.numbers import Number, choose, one_size

__all__ = ["POLICIES", "ROUTINGS", "Call", "PrefixCache", "Reuse", "agent_calls", "reuse"]

#: Whose prefix is cut first.
POLICIES = {
    "lru": "the session whose last call is longest ago (least recently used)",
    "random": "any session, by a seed",
    "longest": "the session with the longest prefix",
    "future": "the session whose next call is furthest ahead, which nobody knows",
}
#: Which server a call goes to.
ROUTINGS = {
    "random": "any server, by a seed",
    "prefix": "the server with most of the session's own prefix, else the one that prefilled least",
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a session: its prompt, and the tokens in the cache after its answer.

    ``following`` is the number of the session's next call, infinite after its last.
    """

    session: int
    prompt: int
    last: int
    following: float = inf


def agent_calls(agents: int, session: Session, *, calls: int, seed: int = 0) -> list[Call]:
    """``calls`` calls of agents that each run one session after another, with pauses in between.

    Who calls next is drawn evenly, as if all thought equally long on average. Each agent begins
    somewhere in a session, so that prompts of all lengths are there from the start.

    >>> session = Session(calls=50, first=4000, answer=200, result=1000)
    >>> [(call.session, call.prompt) for call in agent_calls(3, session, calls=4, seed=1)]
    [(2, 48400), (0, 31600), (0, 32800), (2, 49600)]
    """
    random, found = np.random.default_rng(seed), list[tuple[int, int]]()
    agents, calls = one_size("agents", agents), one_size("calls", calls)
    at, who = random.integers(0, session.calls, agents), np.arange(agents)
    for one in random.integers(0, agents, calls).tolist():
        found.append((int(who[one]), session.first + session.grows * int(at[one])))
        at[one] += 1
        if at[one] == session.calls:
            at[one], who[one] = 0, who[one] + agents
    following: dict[int, int] = {}
    made = []
    for number in reversed(range(calls)):
        name, prompt = found[number]
        after = following.get(name, inf)
        made.append(Call(name, prompt, prompt + session.answer - 1, after))
        following[name] = number
    return made[::-1]


@dataclass(slots=True)
class PrefixCache:
    """A cache of ``capacity`` tokens; the first ``shared`` tokens of every session are the same.

    >>> cache = PrefixCache(100)
    >>> [cache.serve(Call(who, 60, 60)) for who in (0, 1, 0, 1)]  # each cuts the other's end
    [0, 0, 40, 40]
    """

    capacity: Number
    policy: str = "lru"
    shared: int = 0
    seed: int = 0
    #: Tokens that are held of each session, those that all begin with included.
    held: dict[int, int] = field(default_factory=dict, init=False)
    following: dict[int, float] = field(default_factory=dict, init=False)
    used: int = field(default=0, init=False)
    _random: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        choose("policy", self.policy, tuple(POLICIES))
        self._random = np.random.default_rng(self.seed)

    def has(self, session: int) -> int:
        """Tokens of a session's prefix that are here."""
        return self.held.get(session, self.shared if self.held else 0)

    def serve(self, call: Call) -> int:
        """Keep what a call leaves, cut others' ends for it, and say how many tokens it found."""
        if call.last > self.capacity:
            text = f"capacity must be at least {call.last:,}, the tokens of one call"
            raise ValueError(f"{text}, got {self.capacity:,}")
        found = min(self.has(call.session), call.prompt - 1)
        was = self.held.pop(call.session, self.shared if self.held else 0)
        self.used += call.last - was
        while self.used > self.capacity:
            self._cut(self._victim())
        self.held[call.session] = call.last  # now the latest
        self.following[call.session] = call.following
        return found

    def _victim(self) -> int:
        """Who loses the end of a prefix: dictionaries are in the order of the last call."""
        if self.policy == "lru":
            return next(iter(self.held))
        if self.policy == "random":
            return int(self._random.choice(list(self.held)))
        key = self.following if self.policy == "future" else self.held
        return max(self.held, key=lambda who: key[who])

    def _cut(self, who: int) -> None:
        own = self.held[who] - self.shared
        over = min(own, self.used - int(self.capacity))
        self.held[who] -= over
        self.used -= over
        if over == own:
            del self.held[who]


@dataclass(frozen=True, slots=True)
class Reuse:
    """Tokens of prompts, those of them that were found, and what each server had to prefill."""

    asked: int
    found: int
    prefilled: tuple[int, ...]

    @property
    def hit_rate(self) -> float:
        """Found over asked."""
        return self.found / self.asked

    @property
    def imbalance(self) -> float:
        """Tokens prefilled by the busiest server, over the mean."""
        return max(self.prefilled) * len(self.prefilled) / sum(self.prefilled)


def reuse(
    calls: Sequence[Call],
    capacity: Number,
    *,
    policy: str = "lru",
    servers: int = 1,
    routing: str = "random",
    shared: int = 0,
    seed: int = 0,
    warm: int = 0,
) -> Reuse:
    """What prefix caches of ``capacity`` tokens find of calls, with one cache on each server.

    The first ``warm`` calls fill the caches and are not counted.

    >>> session = Session(calls=50, first=4000, answer=200, result=1000)
    >>> calls = agent_calls(20, session, calls=3000)
    >>> for capacity in (300_000, 600_000, 1_200_000):
    ...     print(f"{reuse(calls, capacity, shared=4000, warm=500).hit_rate:.3f}")
    0.542
    0.898
    0.971
    """
    choose("routing", routing, tuple(ROUTINGS))
    random, servers = np.random.default_rng(seed), one_size("servers", servers)
    caches = [PrefixCache(capacity, policy, shared, seed + n) for n in range(servers)]
    asked, found, prefilled, done = 0, 0, [0] * servers, [0] * servers
    for number, call in enumerate(calls):
        at = int(random.integers(servers))
        if routing == "prefix":
            own = [cache.held.get(call.session, 0) for cache in caches]
            at = max(range(servers), key=lambda n: (own[n], -done[n]))
        hit = caches[at].serve(call)
        done[at] += call.prompt - hit
        if number >= warm:
            asked, found = asked + call.prompt, found + hit
            prefilled[at] += call.prompt - hit
    return Reuse(asked, found, tuple(prefilled))
