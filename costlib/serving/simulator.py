"""A server's whole day in a second: requests arrive, wait, are read, write and leave.

The loop goes from event to event. Between two of them the same sequences take one step after
another, each one token longer: a sum that `Clock` knows, so that a thousand steps cost as much as
one. Whenever a pass ends, the server looks who has come and admits from the front of the line, as
long as there is a place and memory. Then it does one of three things:

- it reads a piece of a prompt: all of it while the others wait, or a ``chunk`` beside their steps;
- it takes steps until somebody arrives, is done, or needs memory that is not there;
- it waits for the next arrival.

Memory is blocks of ``block`` tokens. ``reserve="answer"`` keeps room for a whole answer from the
start, as if its length were known. ``reserve="blocks"`` takes a block when it is needed; if there
is none, the newest sequence goes back to the front of the line, to be read again with what it
wrote. With a ``prefix_cache`` the full blocks of a group's shared beginning stay, until memory is
needed.

Left out: pieces of two prompts in one pass, and caches that are moved to another memory.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf, isnan, nan

import numpy as np

from costlib.serving.clock import Clock
from costlib.serving.load import warn_if_overloaded
from costlib.serving.pages import Pages
from costlib.serving.requests import Requests
from costlib.serving.run import ServingRun
from costlib.serving.server import Server, server_of
from costlib.units.display import bar
from costlib.units.numbers import choose, size, suggests

__all__ = ["Policy", "simulate"]


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a server decides; see the top of this module.

    ``most`` sequences are in it at once. Without a ``chunk`` prompts are prefilled whole.
    ``reads=False`` is of a server that gets prompts read, with their caches. ``one_by_one`` takes
    every step by itself, so that the trace has each of them.
    """

    most: int = 256
    chunk: int | None = None
    block: int = 16
    reserve: str = "answer"
    prefix_cache: bool = False
    reads: bool = True
    one_by_one: bool = False

    def __post_init__(self) -> None:
        size("most", self.most)
        size("block", self.block)
        if self.chunk is not None:
            size("chunk", self.chunk)
        choose("reserve", self.reserve, ("answer", "blocks"))
        for name in ("prefix_cache", "reads", "one_by_one"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")


def simulate(
    requests: Requests,
    server: Server | str,
    *,
    progress: bool = False,
    **policy: int | str | bool | None,
) -> ServingRun:
    """What happens to every request on one copy of a server; the rest are fields of `Policy`.

    >>> from costlib.serving import Server, poisson
    >>> requests = poisson(2, 100, prompt=1000, answer=100)
    >>> run = simulate(requests, Server("llama-3.1-8b", "H100-SXM"), most=64)
    >>> run.written, run.read, round(float(np.median(run.ttft)), 4)
    (10000, 100000, 0.0169)
    """
    if not isinstance(requests, Requests):
        raise TypeError(f"requests must be of poisson() or listed(), got {requests!r:.60}")
    chosen, server = Policy(**policy), server_of(server)  # type: ignore[arg-type]
    loop = _Loop(requests, server, chosen)
    if chosen.reads:
        warn_if_overloaded(requests, server, chosen.most, chosen.chunk, chosen.block)
    return loop.run(progress)


class _Loop:
    """One run: what time it is, who waits, who writes, and what memory holds."""

    def __init__(self, requests: Requests, server: Server, policy: Policy) -> None:
        self.policy = policy
        self.pages = Pages(server, block=policy.block, sequences=policy.most)
        self.pages.check(requests)
        self.arrival = [*requests.arrival.tolist(), inf]
        self.prompt: list[int] = requests.prompt.tolist()
        self.answer: list[int] = requests.answer.tolist()
        blocks = requests.shared // policy.block * policy.prefix_cache * self.pages.grows
        self.shared: list[int] = blocks.tolist()
        self.group: list[int] = requests.group.tolist()
        longest = int((requests.prompt + requests.answer).max())
        self.clock = Clock(server, sequences=policy.most, longest=longest)
        self.clock.learn(self.all_pieces())
        started, first, finish = (np.full(len(requests), nan) for _ in range(3))
        self.result = ServingRun(requests, self.pages, started, first, finish)
        self.now, self.step, self.next, self.gone = 0.0, 0, 0, 0
        self.line: deque[int] = deque()
        self.reading: tuple[int, int, int] | None = None  # who, tokens cached, tokens wanted
        self.left: list[int] = self.answer.copy()  # tokens still to write
        self.began: dict[int, tuple[int, int]] = {}  # who writes: since which step, tokens then
        self.ends: list[tuple[int, int]] = []  # the step after which somebody is done, as a heap
        self.cached = 0  # tokens of all that write
        self.phases = [0] * policy.block  # how many need a block at a step, modulo the block
        self.free = self.pages.blocks
        self.kept: OrderedDict[int, int] = OrderedDict()  # blocks of each group's beginning
        self.users: dict[int, int] = {}  # how many use them

    def all_pieces(self) -> list[tuple[int, int]]:
        """Every piece of every prompt, so that the ledger is asked about all at once."""
        pairs = {(prompt, 0) for prompt in self.prompt}
        pairs |= {
            (p, min(s * self.policy.block, p - 1))
            for p, s in zip(self.prompt, self.shared, strict=True)
        }
        found = []
        for end, start in pairs if self.policy.reads else ():
            each = self.policy.chunk or end
            found += [(min(each, end - at), at) for at in range(start, end, each)]
        return found

    def run(self, progress: bool) -> ServingRun:
        """Until everybody has left."""
        total, shown = len(self.prompt), 0
        while self.gone < total:
            while self.arrival[self.next] <= self.now:
                self.line.append(self.next)
                self.next += 1
            while self.line and self.reading is None and self.admit(self.line[0]):
                self.line.popleft()
            if self.reading is not None:
                self.read()
            elif self.began:
                self.write()
            elif self.gone < total:
                assert not self.line, "whoever is alone fits: Pages.check"
                self.now = self.arrival[self.next]
            used = self.pages.blocks - self.free
            row = (self.now, len(self.began), len(self.line), used, self.cached, self.step)
            self.result.rows.append(row)
            if progress and (self.gone - shown > total // 100 or self.gone == total):
                shown = self.gone
                bar(shown, total, "requests")
        return self.result

    def admit(self, who: int) -> bool:
        """Take blocks for a request and begin with it, if there is a place and room."""
        if len(self.began) >= self.policy.most:
            return False
        tokens, last = self.tokens_of(who)
        group, shared = self.group[who], self.shared[who]
        kept = self.kept.get(group, 0) if shared else 0
        own, more = self.blocks_of(who, tokens), max(0, shared - kept)
        slack = self.pages.of(min(tokens + 1, last)) - self.pages.of(tokens)
        if not self.make_room(own + more + slack, group):
            return False
        self.free -= own + more
        if shared:
            self.users[group] = self.users.get(group, 0) + 1
            self.kept[group] = kept + more
            self.kept.move_to_end(group)
        start = min(min(kept, shared) * self.policy.block, tokens - 1)
        if isnan(self.result.started[who]):
            self.result.started[who] = self.now
        if self.policy.reads or self.left[who] < self.answer[who]:
            self.reading = who, start, tokens
            self.result.hit += start
        else:
            self.begin(who, tokens)
        return True

    def tokens_of(self, who: int) -> tuple[int, int]:
        """Tokens that a request brings to be read, and those in the cache when it is done."""
        total = self.prompt[who] + self.answer[who]
        return total - self.left[who], total - 1

    def blocks_of(self, who: int, tokens: int) -> int:
        """Blocks of its own that a request holds with ``tokens`` tokens in the cache."""
        last = self.prompt[who] + self.answer[who] - 1
        held = last if self.policy.reserve == "answer" else tokens
        return self.pages.of(held) + self.pages.fixed(last) - self.shared[who]

    def make_room(self, wanted: int, group: int | None = None) -> bool:
        """Whether ``wanted`` blocks are free once unused prefixes are evicted."""
        while self.free < wanted:
            idle = (each for each in self.kept if not self.users.get(each) and each != group)
            if (dropped := next(idle, None)) is None:
                return False
            self.free += self.kept.pop(dropped)
        return True

    def read(self) -> None:
        """One pass over a piece of a prompt; with a chunk the others take a step in it."""
        assert self.reading is not None
        who, start, end = self.reading
        new = min(self.policy.chunk or end, end - start)
        together = self.policy.chunk is not None and self.grow(1) > 0
        others = len(self.began) if together else 0
        is_last = start + new == end
        self.now += self.clock.mixed(others, self.cached, new, start, is_last)
        self.result.passes += 1
        self.result.read += new
        if others:
            self.advance(1)
        self.reading = None if is_last else (who, start + new, end)
        if is_last:
            self.begin(who, end)

    def begin(self, who: int, tokens: int) -> None:
        """A prompt is prefilled, which yields a token: steps yield the others."""
        self.result.written += 1
        self.left[who] -= 1
        if isnan(self.result.first[who]):
            self.result.first[who] = self.now
        self.began[who] = self.step, tokens
        self.cached += tokens
        self.phases[(self.step - tokens) % self.policy.block] += 1
        heappush(self.ends, (self.step + self.left[who], who))
        if self.left[who] == 0:
            self.advance(0)

    def write(self) -> None:
        """Steps of all that write, until something changes."""
        batch, steps = len(self.began), 1
        while self.ends[0][1] not in self.began or self.end_of(self.ends[0][1]) != self.ends[0][0]:
            heappop(self.ends)  # of one that was put back
        if not self.policy.one_by_one:
            steps = min(self.ends[0][0] - self.step, self.clock.until_bend(batch, self.cached))
            if not self.line:  # whoever arrives can be admitted; else somebody stands before them
                gap = self.arrival[self.next] - self.now
                steps = self.clock.steps_within(batch, self.cached, gap, steps)
        if steps := self.grow(steps):
            self.now += self.clock.steps(len(self.began), self.cached, steps)
            self.result.passes += steps
            self.advance(steps)

    def advance(self, steps: int) -> None:
        """So many tokens more for all that write; whoever is done leaves."""
        self.step += steps
        self.cached += steps * len(self.began)
        self.result.steps += steps
        self.result.written += steps * len(self.began)
        while self.ends and self.ends[0][0] <= self.step:
            end, who = heappop(self.ends)
            if who in self.began and self.end_of(who) == end:
                self.remove(who)
                self.left[who] = 0
                self.result.finish[who] = self.now
                self.gone += 1

    def end_of(self, who: int) -> int:
        """The step after which a sequence that writes is done."""
        return self.began[who][0] + self.left[who]

    def remove(self, who: int) -> int:
        """Take a sequence out, with its blocks; the steps that it took."""
        start, tokens = self.began.pop(who)
        steps = self.step - start
        self.cached -= tokens + steps
        self.phases[(start - tokens) % self.policy.block] -= 1
        self.free += self.blocks_of(who, tokens + steps)
        if self.shared[who]:
            self.users[self.group[who]] -= 1
        return steps

    def grow(self, steps: int) -> int:
        """Take the blocks of ``steps`` steps, or of as many as there is room for.

        If there is no room for one step, the newest goes back to the front of the line.
        """
        if self.policy.reserve == "answer" or not self.pages.grows:
            return steps
        while self.began and not self.make_room(self.phases[self.step % self.policy.block]):
            newest = next(reversed(self.began))
            self.left[newest] -= self.remove(newest)
            self.line.appendleft(newest)
            self.result.preemptions += 1
        if not self.began:
            return 0
        block, batch = self.policy.block, len(self.began)
        cycles = min(steps // block, self.free // batch)  # each takes a block every ``block`` steps
        self.free -= cycles * batch
        for taken in range(cycles * block, steps):
            needed = self.phases[(self.step + taken) % block]
            if needed > self.free:
                return taken
            self.free -= needed
        return steps
