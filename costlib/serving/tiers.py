"""Prefixes in tiers: HBM, host memory, disk, another machine; reload, recompute, or hold.

A prefix that has left HBM comes back over a link, κ·S bytes, or is prefilled again. The bandwidth
at which both take equally long is bytes over seconds of prefill. While it stays, it takes memory
that running sequences could have used: see `hold_seconds`.

Left out: reloads that overlap with the prefill of what is new, the latency of a tier, and several
prefixes on one link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.serving.server import Server, server_of
from costlib.units.numbers import Number, amount, one_size, size

__all__ = ["HeldPrefix", "even_link", "even_prefix", "held_prefix"]

_FAR = 2**24


def even_link(server: Server | str, prefix: Number) -> Any:
    """Bytes/s into each device at which a reload of ``prefix`` tokens takes as long as their
    prefill.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> [round(even_link(server, tokens) / 1e9, 1) for tokens in (1000, 32_000)]
    [7.9, 5.4]
    """
    server, prefix = server_of(server), size("prefix", prefix)
    seconds = server.prefill(prefix, too_large="ignore")  # a part of it may lie elsewhere
    return server.cache_bytes(prefix) / server.per_copy / seconds


def even_prefix(server: Server | str, bytes_per_s: float) -> float:
    """The shortest prefix, of a thousand tokens or more, that a link reloads in the time of a
    prefill; infinite where none is long enough.

    >>> round(even_prefix(Server("llama-3.1-8b", "H100-SXM"), 5e9), -2)
    38500.0
    """
    rate = amount("bytes_per_s", bytes_per_s)
    low, high = 1000, _FAR
    if even_link(server, low) <= rate:
        return float(low)
    if even_link(server, high) > rate:
        return float("inf")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if even_link(server, middle) <= rate else (middle, high)
    return float(high)


@dataclass(frozen=True, slots=True)
class HeldPrefix:
    """What it costs to hold a prefix in HBM, and for how long that pays.

    ``share`` is the prefix's part of the memory for caches. ``elasticity`` says by how many per
    cent throughput falls where one per cent fewer sequences fit; while memory traffic is the limit,
    that is the part of a decode step in which weights are read. ``prefill`` are the seconds of
    computing the prefix again. Held for ``seconds``, it costs as many tokens as that.
    """

    share: float
    elasticity: float
    prefill: float

    @property
    def seconds(self) -> float:
        """prefill / (share · elasticity); infinite where memory is not what limits."""
        lost = self.share * self.elasticity
        return self.prefill / lost if lost > 0 else float("inf")


def held_prefix(server: Server | str, prefix: int, *, context: int) -> HeldPrefix:
    """How long it pays to hold a prefix, on a server that is full of sequences of ``context``.

    >>> found = held_prefix(Server("llama-3.1-8b", "H100-SXM"), 32_000, context=8000)
    >>> round(found.share, 3), round(found.elasticity, 2), round(found.seconds)
    (0.069, 0.2, 57)
    """
    prefix, context = one_size("prefix", prefix), one_size("context", context)
    server = server_of(server)
    server.check(max(prefix, context))
    room = int(server.room(context))
    full, fewer = (
        n / server.step(n, context, too_large="ignore") for n in (room, max(1, room - 1))
    )
    elasticity = room * (full - fewer) / full if room > 1 else 1.0
    share = server.cache_bytes(prefix) / (room * server.cache_bytes(context))
    return HeldPrefix(float(share), float(max(0.0, elasticity)), float(server.prefill(prefix)))
