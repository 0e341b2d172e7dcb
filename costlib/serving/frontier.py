"""Throughput of a server against its speed for each user, and the largest batch within a target.

A decode step reads the weights once and each sequence's cache. With B sequences, until arithmetic
binds, it takes

    t(B) = (weights + B·cache) / β          and beyond the crossing   t(B) = B·(seconds each),

the token's latency; B/t(B) is the throughput. Memory ends the curve. All times here are
`costlib.time` of `model.decode`, for many batches at once; `Regimes` has the two straight
lines, which the same function gives at both ends.

Left out: prompts that are read in between (`costlib.serving.simulate` has them).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from costlib.serving.server import OutOfReach, Server, server_of
from costlib.units.numbers import Number, amount, one_size, size, within_seconds
from costlib.units.precision import precision_of

__all__ = [
    "Best",
    "Frontier",
    "Regimes",
    "RoomGain",
    "best_batch",
    "frontier",
    "regimes",
    "room_gain",
]

_POINTS = 10_000
_FAR = 2**24  # sequences: a batch in which all that can be compute bound is


@dataclass(frozen=True, slots=True)
class Frontier:
    """Batches of a server at one context: TPOT, output tokens a second, and what fits.

    ``tpot`` and ``ttft`` are in seconds. The TTFT is that of one prompt with an empty queue.
    """

    server: Server
    context: int
    batch: Any
    tpot: Any
    ttft: float
    largest: Any

    @property
    def throughput(self) -> Any:
        """Output tokens a second of all sequences and copies together."""
        return self.server.data * self.batch / self.tpot

    @property
    def per_user(self) -> Any:
        """Output tokens a second of one sequence."""
        return 1 / self.tpot

    @property
    def fits(self) -> Any:
        """Where weights and caches lie in memory."""
        return self.batch <= self.largest


def frontier(
    server: Server | str, context: Number, batches: Any = None, *, prompt: Number | None = None
) -> Frontier:
    """Every batch that fits, or those given, with ``context`` tokens cached in each sequence.

    Where more than ten thousand fit, as many are taken between one and the most.

    >>> from costlib.serving import Server
    >>> found = frontier(Server("llama-3.1-8b", "H100-SXM"), 8192)
    >>> int(found.batch[-1]), round(found.throughput[-1]), round(found.per_user[-1])
    (57, 2483, 44)
    """
    server, context = server_of(server), one_size("context", context)
    if batches is None:
        server.check(context + 1)
        room = int(server.room(context + 1))
        batches = np.arange(1, room + 1)
        if room > _POINTS:
            batches = np.unique(np.rint(np.geomspace(1, room, _POINTS)))
    batch = np.asarray(size("batches", np.atleast_1d(np.asarray(batches))), dtype=float)
    return Frontier(
        server,
        context,
        batch,
        np.broadcast_to(server.step(batch, context, too_large="ignore"), batch.shape),
        server.prefill(context if prompt is None else one_size("prompt", prompt)),
        server.room(context + 1),
    )


@dataclass(frozen=True, slots=True)
class Regimes:
    """A step's two straight lines in the batch, in seconds: the step is never below either.

    While memory binds: ``weights`` + B·``reading``. Once every GEMM that can be compute bound is:
    ``rest`` + B·``computing``, where ``rest`` is the reading of the weights that takes time at
    every batch size. ``capacity`` is the largest batch that fits.
    """

    weights: float
    reading: float
    rest: float
    computing: float
    capacity: float

    @property
    def bend(self) -> float:
        """The critical batch size: the lines cross, and beyond it the GEMMs are compute bound.

        Infinite where most of the reading of the weights takes time at every batch size, because
        GEMMs are so narrow that their rows take longer to move than to multiply.

        >>> from costlib.serving import Server
        >>> regimes(Server("qwen3-next-80b-a3b", "H100-SXM", tensor=4), 1000).bend
        inf
        """
        slope = self.computing - self.reading
        hides = slope > 0 and self.rest < self.weights / 2
        return (self.weights - self.rest) / slope if hides else inf

    @property
    def even(self) -> float:
        """The batch at which caches take as long to read as weights."""
        return self.weights / self.reading

    @property
    def most(self) -> float:
        """Output tokens a second that no batch size can exceed."""
        return 1 / max(self.reading, self.computing)

    @property
    def full(self) -> float:
        """Output tokens a second of as many sequences as fit, or 0 if none fits."""
        return float(self.capacity / self.step(self.capacity)) if self.capacity else 0.0

    @property
    def ends_in(self) -> str:
        """What ends the throughput of a full server: "memory", so that whatever makes room raises
        it, or "arithmetic", so that room buys nothing.

        >>> Regimes(weights=4e-3, reading=1e-4, rest=0, computing=2e-4, capacity=30).ends_in
        'memory'
        """
        return "memory" if self.capacity < self.bend else "arithmetic"

    def step(self, batch: Any) -> Any:
        """The larger of the two lines."""
        return np.maximum(self.weights + batch * self.reading, self.rest + batch * self.computing)

    def batch_within(self, seconds: float) -> float:
        """The largest batch, not rounded, whose step takes ``seconds`` by these lines.

        >>> Regimes(weights=4e-3, reading=1e-4, rest=0, computing=2e-4, capacity=50).batch_within(
        ...     8e-3)
        40.0
        """
        by_memory = (seconds - self.weights) / self.reading
        by_arithmetic = (seconds - self.rest) / self.computing
        return max(0.0, min(by_memory, by_arithmetic, self.capacity))


def regimes(server: Server | str, context: Number) -> Regimes:
    """The lines of a server at one context, from the ledger at both ends.

    Of a mixture the weights are those of all experts, which many sequences touch; a few read less.

    >>> from costlib.serving import Server
    >>> lines = regimes(Server("llama-3.1-8b", "H100-SXM"), 1000)
    >>> round(lines.bend), round(lines.even), lines.capacity
    (331, 105, 465)
    """
    server, context = server_of(server), size("context", context)
    few = [server.seconds(server.share.decode(b, context, experts="all")) for b in (1, 2)]
    many = [server.seconds(server.share.decode(b, context)) for b in (_FAR, 2 * _FAR)]
    reading, computing = few[1] - few[0], (many[1] - many[0]) / _FAR
    rest = max(0.0, many[0] - _FAR * computing)
    rest = 0.0 if rest < 1e-9 * many[0] else rest
    return Regimes(few[0] - reading, reading, rest, computing, server.room(context + 1))


@dataclass(frozen=True, slots=True)
class RoomGain:
    """What a full server gains by a format: how many sequences fit, and tokens a second of all,
    before and after.

    >>> RoomGain(before=10, after=40, throughput_before=100.0, throughput_after=250.0).gain
    2.5
    """

    before: int
    after: int
    throughput_before: float
    throughput_after: float

    @property
    def gain(self) -> float:
        """The throughput after, divided by that before."""
        return self.throughput_after / self.throughput_before if self.before else inf


def room_gain(server: Server | str, context: Number, weights: Any = "int4") -> RoomGain:
    """What fewer bits of weights gain a full server: room for sequences, hence throughput.

    The same model with its weights in another format, caches and arithmetic as they were. While
    memory ends the batch, the bytes saved hold more caches; where arithmetic does, they buy
    nothing.

    >>> from costlib.serving import Server
    >>> found = room_gain(Server("llama-3.1-70b", "H100-SXM", tensor=2), 1000)
    >>> found.before, found.after, round(found.gain, 2)
    (41, 360, 4.35)
    >>> round(room_gain(Server("llama-3.1-70b", "H100-SXM", tensor=4), 1000).gain, 2)
    1.0
    """
    server, context = server_of(server), one_size("context", context)
    own = server.model.precision if server.precision is None else precision_of(server.precision)
    packed = server.with_(precision=own.with_(weights=weights))
    rooms = [int(each.room(context + 1)) for each in (server, packed)]
    rates = [
        server.data * many / float(each.step(many, context)) if many else 0.0
        for each, many in zip((server, packed), rooms, strict=True)
    ]
    return RoomGain(*rooms, *rates)


@dataclass(frozen=True, slots=True)
class Best:
    """The largest batch within a target, what it gives, and what keeps a larger one out.

    Where that is "memory", whatever makes room gives more: fewer bits (`room_gain`), a cache shared
    by tokens, more devices.
    """

    batch: int
    tpot: float
    throughput: float
    limit: str


def best_batch(
    server: Server | str, context: Number, tpot: float = inf, *, per_token: float | None = None
) -> Best:
    """The largest batch whose step takes at most ``tpot`` seconds, by halving.

    ``per_token`` is what version 0.1 called ``tpot``, and still works.

    A step only gets longer with the batch, so that the throughput is largest there, too. ``limit``
    says what ends it: "latency" or "memory".

    >>> from costlib.serving import Server
    >>> best_batch(Server("llama-3.1-8b", "H100-SXM"), 2000, 0.025).batch
    233
    >>> best_batch(Server("llama-3.1-8b", "H100-SXM"), 2000, 0.004)
    Traceback (most recent call last):
        ...
    costlib.serving.server.OutOfReach: no batch has a TPOT of 4 ms: one sequence takes \
4.56 ms on 1 × H100-SXM; tensor=2 takes 2.28 ms
    """
    server, context = server_of(server), one_size("context", context)
    server.check(context + 1)
    tpot = tpot if per_token is None else per_token
    if tpot != inf:  # no target is one, too
        tpot = float(within_seconds("tpot", amount("tpot", tpot), 1))
    low, high = 0, int(server.room(context + 1)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if server.step(middle, context) <= tpot else (low, middle)
    if low == 0:
        _say_what_would_do(server, context, tpot)
    seconds = float(server.step(low, context))
    limit = "memory" if low == server.room(context + 1) else "latency"
    return Best(low, seconds, server.data * low / seconds, limit)


def _say_what_would_do(server: Server, context: int, tpot: float) -> None:
    one = server.step(1, context)
    text = (
        f"no batch has a TPOT of {1000 * tpot:g} ms: one sequence takes "
        f"{1000 * one:.3g} ms on {server.machine}"
    )
    least = one, server.tensor
    while server.device.interconnect is not None:
        try:
            more = server.with_(tensor=2 * least[1])
        except ValueError:  # heads cannot be divided any further, or there are no more devices
            break
        faster = more.step(1, context), more.tensor
        if faster[0] >= least[0]:
            break
        least = faster
        if least[0] <= tpot:
            break
    if least[1] > server.tensor:
        even = "" if least[0] <= tpot else "even "
        text += f"; {even}tensor={least[1]} takes {1000 * least[0]:.3g} ms"
    raise OutOfReach(text)
