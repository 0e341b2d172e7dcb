"""The highest rate of requests that a server can take, in closed form.

A request of S tokens and an answer of η holds one of B slots while its prompt is prefilled, which
takes p(S) and nobody else writes, and for η − 1 steps, which B share:

    requests a second = 1 / (p(S) + (η − 1)·t(B, T̄)/B)

with T̄ the mean context of a step, S + η/2 − 1. In pieces of c tokens the others write beside it:
⌈S/c⌉ passes take a step with them, and only the steps that are left are taken alone. In a pipeline
both are seconds of the slowest stage, and copies of a server add up.

Left out: places that are empty because memory is short for some and not for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Any
from warnings import warn

import numpy as np

from costlib.serving.clock import Clock
from costlib.serving.pages import Pages
from costlib.serving.requests import Requests
from costlib.serving.server import Server, server_of
from costlib.units.numbers import Number, ceil_div, one_size, size

__all__ = ["Overloaded", "Saturation", "chunk_extra_reads", "saturation"]


class Overloaded(UserWarning):
    """More requests arrive than can be served."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """What a server does while requests always wait; ``batch`` slots in each copy."""

    batch: int
    requests_per_s: float
    output_tokens_per_s: float
    #: The share of time that is spent on prefill.
    reading: float


def saturation(
    server: Server | str,
    prompt: Any,
    answer: Any,
    *,
    batch: int | None = None,
    chunk: int | None = None,
    block: int = 16,
    most: int = 4096,
) -> Saturation:
    """The highest rate of such requests that a server can take; lengths are numbers or lists.

    Without a ``batch`` there are as many slots as fit in memory if room is reserved for every
    answer, up to ``most``.

    >>> full = saturation(Server("llama-3.1-8b", "H100-SXM"), 1000, 200, batch=128)
    >>> round(full.requests_per_s, 1), round(full.output_tokens_per_s), round(full.reading, 2)
    (30.5, 6107, 0.5)
    """
    prompts, answers = np.atleast_1d(prompt), np.atleast_1d(answer)
    if prompts.size != answers.size and 1 not in (prompts.size, answers.size):
        raise ValueError(f"answer must be one length or {prompts.size}, got {answers.size}")
    prompts, answers = np.broadcast_arrays(size("prompt", prompts), size("answer", answers))
    chunk = None if chunk is None else one_size("chunk", chunk)
    server, last = server_of(server), prompts + answers - 1
    server.check(int(last.max()))
    steps = answers - 1
    mean = float(np.sum(steps * (prompts + answers / 2 - 1)) / max(1, np.sum(steps)))
    if server.pipeline > 1:
        if chunk is not None:
            raise ValueError(f"chunk={chunk} is not supported with pipeline={server.pipeline}")
        places = min(most, server.room(int(last.max()))) if batch is None else batch
        return _of_stages(server, one_size("batch", places), prompts, answers, mean)
    pages = Pages(server, block=block)
    each = np.mean([pages.of(int(t)) + pages.fixed(int(t)) for t in last])
    room = max(1, min(int(pages.blocks // each), one_size("most", most)))
    places = room if batch is None else one_size("batch", batch)
    if places > room and places > server.room(int(np.mean(last))):
        server.check(int(np.mean(last)), places)
    count, clock = len(prompts), Clock(server, sequences=places, longest=int(last.max()) + 1)
    others = places - 1 if chunk is not None else 0
    read, passes = _reading(clock, prompts, others, mean, chunk)
    left = float(np.sum(steps)) / count - others * passes
    if left < 0:  # prompts are never done: as many write as keep up with those that are read
        few, share = divmod(others + left / passes, 1)
        both = [_reading(clock, prompts, int(few) + more, mean, chunk)[0] for more in (0, 1)]
        read, left = both[0] + share * (both[1] - both[0]), 0.0
    spent = read + left / places * clock.steps(places, round(places * mean), 1)
    return _at(server, places, spent, read, answers)


def _of_stages(server: Server, places: int, prompts: Any, answers: Any, mean: float) -> Saturation:
    """The same of a pipeline, whose slowest stage has always a prompt or a group to do."""
    server.check(int(np.mean(prompts + answers - 1)), places)
    read = float(np.mean([server.busy(int(prompt)) for prompt in prompts]))
    each = server.step(places, round(mean)) / places
    return _at(server, places, read + float(np.mean(answers - 1)) * each, read, answers)


def _at(server: Server, places: int, spent: float, read: float, answers: Any) -> Saturation:
    """The rates of a server whose copies spend ``spent`` seconds on a request, ``read`` of them on
    its prefill."""
    rate = server.data / spent
    return Saturation(places, rate, float(np.mean(answers)) * rate, read / spent)


def _reading(
    clock: Clock, prompts: Any, others: int, mean: float, chunk: int | None
) -> tuple[float, float]:
    """Seconds of the passes over one prompt on average, others writing beside, and how many."""
    spent, passes = 0.0, 0
    lengths, counts = np.unique(prompts, return_counts=True)
    for length, times in zip(lengths.astype(int).tolist(), counts.tolist(), strict=True):
        each = chunk or length
        pieces = [(min(each, length - at), at) for at in range(0, length, each)]
        clock.learn(pieces)
        for new, at in pieces:
            is_last = at + new == length
            spent += times * clock.mixed(others, round(others * mean), new, at, is_last)
        passes += times * len(pieces)
    return spent / len(prompts), passes / len(prompts)


def warn_if_overloaded(
    requests: Requests, server: Server, most: int, chunk: int | None, block: int
) -> None:
    """Warn if more requests arrive than one copy can serve."""
    if not requests.rate < inf:  # all at once: nobody expects them to be served as they come
        return
    some = slice(None, None, max(1, len(requests) // 500))
    lengths = requests.prompt[some], requests.answer[some]
    full = saturation(server, *lengths, chunk=chunk, block=block, most=most)
    each = full.requests_per_s / server.data
    if requests.rate > each:
        needed = ceil(requests.rate / each)
        warn(
            f"{requests.rate:.3g} requests a second arrive, and at most "
            f"{each:.3g} can be served: the queue keeps growing; "
            f"{needed} such servers would be enough",
            Overloaded,
            stacklevel=3,
        )


def chunk_extra_reads(prompt: Number, chunk: Number) -> Any:
    """Keys that are read again because a prompt is prefilled in n = ⌈S/c⌉ chunks: c·n·(n − 1)/2.

    Each chunk reads all keys before it. Times κ they are bytes. The FLOPs stay what they are;
    the weights are read n times, unless steps of others need them anyway.

    >>> chunk_extra_reads(4096, 512), chunk_extra_reads(4096, 4096)
    (14336, 0)
    """
    chunk = size("chunk", chunk)
    pieces = ceil_div(size("prompt", prompt), chunk)
    return chunk * pieces * (pieces - 1) // 2
