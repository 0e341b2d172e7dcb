"""An agent's session: calls of a model whose prompt is the last call and a little more.

An agent calls a model, runs the tool that the answer names, and calls again with everything so far
and the tool's result. So prompts grow, and each begins with all of the one before. Without a prefix
cache every call prefills all of its prompt, with one only what is new: the result, and the last
token of the answer, whose keys and values no step has computed.

Left out: the time that tools take, calls that branch, and prompts that are shortened on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.serving.server import Server, server_of
from costlib.units.numbers import Number, flag, one_size, size, suggests

__all__ = ["Session", "SessionCost", "session_cost"]


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of ``calls`` calls: the first prompt, each answer, and the result that a tool adds.

    >>> session = Session(calls=50, first=4000, answer=200, result=1000)
    >>> session.prompts[:3].tolist(), session.new[:3].tolist()
    ([4000, 5200, 6400], [4000, 1001, 1001])
    >>> session.prefilled(cached=False), session.prefilled(cached=True)
    (1670000, 53049)
    """

    calls: int
    first: int
    answer: int
    result: int

    def __post_init__(self) -> None:
        for name in ("calls", "first", "answer", "result"):
            object.__setattr__(self, name, one_size(name, getattr(self, name)))

    @property
    def grows(self) -> int:
        """Tokens that a call adds to the next one's prompt."""
        return self.answer + self.result

    @property
    def prompts(self) -> Any:
        """Tokens of each call's prompt."""
        return self.first + self.grows * np.arange(self.calls)

    @property
    def new(self) -> Any:
        """Those of them that no earlier call has computed keys and values for."""
        return np.where(np.arange(self.calls) == 0, self.first, self.result + 1)

    @property
    def last(self) -> int:
        """Tokens in the cache when the last answer is complete."""
        return int(self.prompts[-1]) + self.answer - 1

    def prefilled(self, *, cached: bool) -> int:
        """Tokens of prompts that are prefilled, with a prefix cache or without one.

        With n calls: S + (n − 1)·(result + 1), or n·S + (answer + result)·n·(n − 1)/2.
        """
        return int(np.sum(self.new if flag("cached", cached) else self.prompts))


@dataclass(frozen=True, slots=True)
class SessionCost:
    """What a session takes of one copy of a server: FLOPs, and seconds for each call.

    ``prefill`` is each call's TTFT where nobody else is served, ``decode`` the rest of its answer.
    """

    flops: Any
    prefill: Any
    decode: Any

    @property
    def seconds(self) -> float:
        """Of all calls; what tools take comes on top."""
        return float(np.sum(self.prefill) + np.sum(self.decode))


def session_cost(
    server: Server | str, session: Session, *, cached: bool, batch: Number = 1
) -> SessionCost:
    """FLOPs and seconds of a session, whose steps are shared by ``batch`` sequences like it.

    FLOPs are of all devices that share a layer; a step's seconds are divided by the batch, and a
    prompt is prefilled alone.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> session = Session(calls=50, first=4000, answer=200, result=1000)
    >>> slow, fast = (session_cost(server, session, cached=each) for each in (False, True))
    >>> [round(float(np.sum(cost.prefill)), 1) for cost in (slow, fast)]
    [45.5, 1.7]
    """
    prompts = session.prompts
    new = session.new if flag("cached", cached) else prompts
    server, batch = server_of(server), size("batch", batch)
    found, model = prompts - new, server.model
    server.check(session.last, batch if isinstance(batch, int) else 1)
    steps = session.answer - 1
    middle = prompts + (steps - 1) // 2  # a step's time is a line in what is cached
    each = [
        (
            model.decode(1, int(f), int(n), logits="last")
            if f
            else model.prefill(1, int(n), logits="last")
        ).flops
        + steps * model.decode(1, int(m)).flops
        for f, n, m in zip(found, new, middle, strict=True)
    ]
    prefill = np.array(
        [server.prefill(int(n), cached=int(f)) for f, n in zip(found, new, strict=True)], float
    )
    decode = np.array([steps * server.step(batch, int(m)) / batch for m in middle], float)
    return SessionCost(np.array(each), prefill, decode)
