"""How fast for one, how much for all: the frontier of a server, its bend, and the best batch.

A decode step reads the weights once and each sequence's cache. With B sequences, until arithmetic
binds, it takes

    t(B) = (weights + B·cache) / β          and from the bend on      t(B) = B·(seconds each),

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
_FAR = 2**24  # sequences: so many that whatever can be computed faster than read, is


@dataclass(frozen=True, slots=True)
class Frontier:
    """Batches of a server at one context: seconds a token, tokens a second, and what fits.

    ``first`` is the seconds to the first token of one prompt of as many tokens, with no queue.
    """

    server: Server
    context: int
    batch: Any
    per_token: Any
    first: float
    largest: Any

    @property
    def throughput(self) -> Any:
        """Tokens a second of all sequences of all copies together."""
        return self.server.data * self.batch / self.per_token

    @property
    def per_user(self) -> Any:
        """Tokens a second of one sequence."""
        return 1 / self.per_token

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
        np.broadcast_to(server.step(batch, context), batch.shape),
        server.prefill(context if prompt is None else one_size("prompt", prompt)),
        server.room(context + 1),
    )


@dataclass(frozen=True, slots=True)
class Regimes:
    """A step's two straight lines in the batch, in seconds: the step is never below either.

    While memory binds: ``weights`` + B·``reading``. Once arithmetic does: ``rest`` + B·
    ``computing``. ``capacity`` is the largest batch that fits.
    """

    weights: float
    reading: float
    rest: float
    computing: float
    capacity: float

    @property
    def bend(self) -> float:
        """The batch at which the lines cross: from here on a token costs arithmetic."""
        slope = self.computing - self.reading
        return (self.weights - self.rest) / slope if slope > 0 else inf

    @property
    def even(self) -> float:
        """The batch at which caches take as long to read as weights."""
        return self.weights / self.reading

    @property
    def most(self) -> float:
        """Tokens a second that no batch can pass."""
        return 1 / max(self.reading, self.computing)

    @property
    def full(self) -> float:
        """Tokens a second of as many sequences as fit, 0 where none does."""
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
        """The largest batch, not rounded, whose step takes so many seconds by these lines.

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
        """How many times the throughput."""
        return self.throughput_after / self.throughput_before if self.before else inf


def room_gain(server: Server | str, context: Number, weights: Any = "int4") -> RoomGain:
    """What fewer bits of weights buy a full server: room first, and by it throughput.

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
    per_token: float
    throughput: float
    limit: str


def best_batch(server: Server | str, context: Number, per_token: float) -> Best:
    """The largest batch whose step takes at most ``per_token`` seconds, by halving.

    A step only gets longer with the batch, so that the throughput is largest there, too. ``limit``
    says what ends it: "latency" or "memory".

    >>> from costlib.serving import Server
    >>> best_batch(Server("llama-3.1-8b", "H100-SXM"), 2000, 0.025).batch
    233
    >>> best_batch(Server("llama-3.1-8b", "H100-SXM"), 2000, 0.004)
    Traceback (most recent call last):
        ...
    costlib.serving.server.OutOfReach: no batch writes a token in 4 ms: one sequence takes \
4.56 ms on 1 × H100-SXM; tensor=2 takes 2.28 ms
    """
    server, context = server_of(server), one_size("context", context)
    server.check(context + 1)
    if per_token != inf:  # no target is one, too
        per_token = float(within_seconds("per_token", amount("per_token", per_token), 1))
    low, high = 0, int(server.room(context + 1)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if server.step(middle, context) <= per_token else (low, middle)
    if low == 0:
        _say_what_would_do(server, context, per_token)
    seconds = float(server.step(low, context))
    limit = "memory" if low == server.room(context + 1) else "latency"
    return Best(low, seconds, server.data * low / seconds, limit)


def _say_what_would_do(server: Server, context: int, per_token: float) -> None:
    one = server.step(1, context)
    text = (
        f"no batch writes a token in {1000 * per_token:g} ms: one sequence takes "
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
        if least[0] <= per_token:
            break
    if least[1] > server.tensor:
        even = "" if least[0] <= per_token else "even "
        text += f"; {even}tensor={least[1]} takes {1000 * least[0]:.3g} ms"
    raise OutOfReach(text)
