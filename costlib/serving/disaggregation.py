"""Disaggregation: prefill on some servers and decode on others, what is sent, and how many of each.

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
    """Seconds to send the KV cache of a prompt over a ``link`` in bytes/s.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> print(f"{1000 * transfer(server, 4096, 50e9):.1f} ms")
    10.7 ms
    """
    return server_of(server).cache_bytes(size("prompt", prompt)) / amount("link", link)


def machine_ratio(
    prefill_server: Server | str,
    decode_server: Server | str,
    prompt: Number,
    answer: Number,
    batch: Number,
) -> Any:
    """Prefill servers for each decode server with ``batch`` slots: B·p(S) / ((η − 1)·t(B, T̄)).

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> round(machine_ratio(server, server, 4096, 256, 64), 2)
    1.15
    """
    prompt, answer = size("prompt", prompt), size("answer", answer, least=2)
    batch = size("batch", batch)
    prefill_server, decode_server = _both(prefill_server, decode_server)
    if all(isinstance(each, int) for each in (prompt, answer, batch)):
        prefill_server.check(int(prompt))
        decode_server.check(int(prompt + answer // 2), max(1, int(batch)))
    writing = (answer - 1) * decode_server.step(batch, prompt + answer / 2 - 1)
    return batch * prefill_server.prefill(prompt) / writing


def disaggregate(
    requests: Requests,
    prefill_server: Server | str,
    decode_server: Server | str,
    *,
    link: float,
    prefill_servers: int = 1,
    decode_servers: int = 1,
    **policy: Any,
) -> ServingRun:
    """A run in which ``prefill_servers`` prefill, one prompt at a time, and the others decode.

    Caches of prefilled prompts are sent to the decode servers in turn. The rest are fields of
    `costlib.serving.Policy`.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> run = disaggregate(listed([0.0, 0.1], 4096, 50), server, server, link=50e9)
    >>> run.written, [round(each, 3) for each in run.ttft.tolist()]
    (100, [0.07, 0.07])
    """
    prefill_servers = one_size("prefill_servers", prefill_servers)
    decode_servers = one_size("decode_servers", decode_servers)
    prefill_server, decode_server = _both(prefill_server, decode_server)
    prefill_server.check(int(requests.prompt.max()))
    began, first = _read(requests, prefill_server, prefill_servers)
    sent = np.array([transfer(decode_server, p, link) for p in np.unique(requests.prompt)])
    arrived = first + sent[np.searchsorted(np.unique(requests.prompt), requests.prompt)]
    turn = np.argsort(arrived, kind="stable")
    total = None
    finish: np.ndarray[Any, Any] = np.empty(len(requests))
    for place in range(decode_servers):
        mine = turn[place::decode_servers]
        if len(mine) == 0:
            continue
        part = listed(arrived[mine], requests.prompt[mine], requests.answer[mine])
        run = simulate(part, decode_server, reads=False, **policy)
        finish[mine] = run.finish
        total = _sum(total, run)
    assert total is not None
    finish = np.where(requests.answer == 1, first, finish)
    found = ServingRun(requests, total.pages, began, first, finish, rows=total.rows)
    found.steps, found.passes, found.written = total.steps, total.passes, total.written
    found.read, found.preemptions = int(requests.prompt.sum()) + total.read, total.preemptions
    return found


def _both(prefill: Server | str, decode: Server | str) -> tuple[Server, Server]:
    return server_of(prefill, "prefill_server"), server_of(decode, "decode_server")


def _read(requests: Requests, prefill_server: Server, prefill_servers: int) -> tuple[Any, Any]:
    """When each prefill begins and ends: in order, on the server that is free first."""
    lengths = np.unique(requests.prompt)
    seconds = np.broadcast_to(prefill_server.prefill(lengths.astype(float)), lengths.shape)
    each = seconds[np.searchsorted(lengths, requests.prompt)]
    free, began, done = [0.0] * prefill_servers, [], []
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
    for name in ("steps", "passes", "read", "written", "preemptions"):
        setattr(total, name, getattr(total, name) + getattr(run, name))
    return total
