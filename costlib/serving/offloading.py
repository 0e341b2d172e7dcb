"""Weights in host memory: what a decode step takes where a part of them crosses a link.

An op whose weights lie elsewhere reads them at the link's rate, and everything else at that of the
device's memory. The link may be a bus, over which weights come to the device, or the host's own
memory, from which a processor beside it computes.

Left out: weights that are fetched while something else is computed, experts that stay because they
were used a moment ago, and the arithmetic of a slow processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costlib.serving.server import Server, server_of
from costlib.timing.roofline import time
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import Number, amount, choose, is_zero

__all__ = ["least_offloaded", "offloaded_step", "offloaded_work"]

_ALL = 10**6  # tokens of a pass that touches every expert


def _is_there(what: str) -> Callable[[Op], bool]:
    """Whether an op's weights are among those in host memory."""
    choose("what", what, ("all", "experts"))
    named = "experts." if what == "experts" else ""
    return lambda op: not is_zero(op.elements_read.weights) and op.name.startswith(named)


def offloaded_work(
    server: Server | str, batch: Number, context: Number, *, what: str = "all"
) -> Ledger:
    """The ops of a decode step whose weights are in host memory: "all", or those of "experts".

    >>> server = Server("qwen3-30b-a3b", "RTX-4090", "int4")
    >>> print(f"{offloaded_work(server, 1, 1000, what='experts').bytes('int4') / 1e9:.2f} GB")
    0.94 GB
    """
    return server_of(server).share.decode(batch, context).where(_is_there(what))


def least_offloaded(server: Server | str, context: Number, *, what: str = "all") -> float:
    """The share of these weights that has to be in host memory for one sequence to fit.

    It is 0 where everything fits on the device, and more than 1 where nothing would do.

    >>> round(least_offloaded(Server("llama-3.1-70b", "RTX-4090", "int4"), 1000), 2)
    0.38
    """
    server = server_of(server)
    once, twice = (
        offloaded_work(server, n, 1, what=what).bytes(server.precision) for n in (_ALL, 2 * _ALL)
    )
    stored = 2 * once - twice  # all bytes but the weights' double with the tokens
    over = server.fullest(1, context)[1].total - server.device.usable
    return float(max(0.0, over / stored)) if stored > 0 else 0.0


def offloaded_step(
    server: Server | str,
    batch: Number,
    context: Number,
    *,
    link: float,
    share: Number = 1,
    what: str = "all",
) -> Any:
    """Seconds of a decode step with a ``share`` of some weights behind a ``link`` in bytes/s.

    Whose weights these are, `offloaded_work` says.

    >>> server = Server("llama-3.1-70b", "RTX-4090", "int4")
    >>> one, half = (offloaded_step(server, 1, 1000, link=32e9, share=s) for s in (1, 0.5))
    >>> print(f"{1 / one:.2f}, {1 / half:.2f} tokens/s")
    0.89, 1.73 tokens/s
    """
    server = server_of(server)
    moved, there = offloaded_work(server, batch, context, what=what), _is_there(what)
    stays = server.share.decode(batch, context).where(lambda op: not there(op))
    device, precision = server.device, server.precision
    slow = device.with_(bytes_per_s=amount("link", link), bandwidth_efficiency=1)
    far, near = (
        time(moved, place, precision=precision, too_large="ignore") for place in (slow, device)
    )
    rest = time(stays, device, precision=precision, too_large="ignore")
    return share * far + (1 - share) * near + rest
