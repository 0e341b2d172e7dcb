"""Prompts read on some machines, answers written on others: what crosses, and how many of each.

A prompt is arithmetic, an answer is memory traffic, and each disturbs the other. On machines of
their own neither waits, but every prompt's cache crosses a link: κ·S bytes.

Left out: links that several caches share at once, and caches that are sent layer by layer while the
rest is still read.
"""

from __future__ import annotations

from heapq import heapreplace
from typing import Any

import numpy as np

from costlib.serving.requests import Requests, listed
from costlib.serving.run import ServingRun
from costlib.serving.server import Server, server_of
from costlib.serving.simulator import simulate
from costlib.units.numbers import Number, amount, one_size, size

__all__ = ["disaggregate", "machine_ratio", "transfer"]


def transfer(server: Server | str, prompt: Number, link: float) -> Any:
    """Seconds in which a prompt's cache crosses a link of so many bytes/s.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> print(f"{1000 * transfer(server, 4096, 50e9):.1f} ms")
    10.7 ms
    """
    return server_of(server).cache_bytes(size("prompt", prompt)) / amount("link", link)


def machine_ratio(
    reader: Server | str, writer: Server | str, prompt: Number, answer: Number, batch: Number
) -> Any:
    """Machines that read for each that writes with ``batch`` places: B·p(S) / ((η − 1)·t(B, T̄)).

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> round(machine_ratio(server, server, 4096, 256, 64), 2)
    1.15
    """
    prompt, answer = size("prompt", prompt), size("answer", answer, least=2)
    reader, writer = server_of(reader, "reader"), server_of(writer, "writer")
    if all(isinstance(each, int) for each in (prompt, answer, batch)):
        reader.check(int(prompt))
        writer.check(int(prompt + answer // 2), max(1, int(batch)))
    writing = (answer - 1) * writer.step(batch, prompt + answer / 2 - 1)
    return batch * reader.prefill(prompt) / writing


def disaggregate(
    requests: Requests,
    reader: Server | str,
    writer: Server | str,
    *,
    link: float,
    readers: int = 1,
    writers: int = 1,
    **policy: Any,
) -> ServingRun:
    """What happens to every request where ``readers`` read, one prompt at a time, and others write.

    Who is read is sent to the writers in turn. The rest are fields of `costlib.serving.Policy`.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> run = disaggregate(listed([0.0, 0.1], 4096, 50), server, server, link=50e9)
    >>> run.written, [round(each, 3) for each in run.time_to_first.tolist()]
    (100, [0.07, 0.07])
    """
    readers, writers = one_size("readers", readers), one_size("writers", writers)
    reader, writer = server_of(reader, "reader"), server_of(writer, "writer")
    reader.check(int(requests.prompt.max()))
    began, first = _read(requests, reader, readers)
    sent = np.array([transfer(writer, p, link) for p in np.unique(requests.prompt)])
    arrived = first + sent[np.searchsorted(np.unique(requests.prompt), requests.prompt)]
    turn = np.argsort(arrived, kind="stable")
    total = None
    finish: np.ndarray[Any, Any] = np.empty(len(requests))
    for place in range(writers):
        mine = turn[place::writers]
        if len(mine) == 0:
            continue
        part = listed(arrived[mine], requests.prompt[mine], requests.answer[mine])
        run = simulate(part, writer, reads=False, **policy)
        finish[mine] = run.finish
        total = _sum(total, run)
    assert total is not None
    finish = np.where(requests.answer == 1, first, finish)
    found = ServingRun(requests, total.pages, began, first, finish, rows=total.rows)
    found.steps, found.passes, found.written = total.steps, total.passes, total.written
    found.read, found.put_back = int(requests.prompt.sum()) + total.read, total.put_back
    return found


def _read(requests: Requests, reader: Server, readers: int) -> tuple[Any, Any]:
    """When each prompt is begun and read: in order, on whichever machine is free first."""
    lengths = np.unique(requests.prompt)
    seconds = np.broadcast_to(reader.prefill(lengths.astype(float)), lengths.shape)
    each = seconds[np.searchsorted(lengths, requests.prompt)]
    free, began, done = [0.0] * readers, [], []
    for arrival, spent in zip(requests.arrival.tolist(), each.tolist(), strict=True):
        start = max(arrival, free[0])
        heapreplace(free, start + spent)
        began.append(start)
        done.append(start + spent)
    return np.array(began), np.array(done)


def _sum(total: ServingRun | None, run: ServingRun) -> ServingRun:
    """Totals of several machines; the trace is the first one's."""
    if total is None:
        return run
    for name in ("steps", "passes", "read", "written", "put_back"):
        setattr(total, name, getattr(total, name) + getattr(run, name))
    return total
