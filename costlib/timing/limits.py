"""Where one op stands under a device's roofline: seconds of computing, moving, sending and waiting.

A step of intensity I (FLOPs per byte) runs at no more than min(peak, I·bandwidth): computing and
moving overlap, so the longer of the two binds. What follows an op's costs through a `Device` is
here; `costlib.time` adds it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from costlib.model.catalog import device_of
from costlib.timing.waves import TILES, heads_served, wave_factors
from costlib.units.device import Device
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import Number, is_zero, maximum, minimum
from costlib.units.precision import Precision, precision_of

__all__ = ["DoesNotFit", "Limit", "as_computed", "limits", "overlapped"]

_PLAIN = frozenset({int, float})


class DoesNotFit(UserWarning):
    """What a pass holds is more than the memory of the device that it is timed on."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One op on a device: a point of the roofline figure, a row of `table`.

    ``compute_time``, ``memory_time``, ``sending_time``, ``overhead`` and ``floor`` are seconds;
    ``compute`` is the number format whose rate was used.
    """

    name: str
    flops: Number
    bytes: Number
    compute_time: Number
    memory_time: Number
    overhead: Number = 0
    sending_time: Number = 0
    blend: Number = inf
    floor: Number = 0
    compute: str = ""

    @property
    def intensity(self) -> Any:
        """FLOPs per byte; 0 where nothing moves."""
        return ratio(self.flops, self.bytes)

    @property
    def time(self) -> Any:
        """Seconds: computing and moving as they overlap, then the overhead and the sending."""
        return total([self.busy, self.overhead, self.sending_time])

    @property
    def busy(self) -> Any:
        """Seconds of computing and moving, as they overlap, and no less than the floor."""
        busy = overlapped(self.compute_time, self.memory_time, self.blend)
        return busy if is_zero(self.floor) else maximum(busy, self.floor)

    @property
    def rate(self) -> Any:
        """FLOP/s over the op's whole time: what it attains."""
        return ratio(self.flops, self.time)

    @property
    def attainable(self) -> Any:
        """FLOP/s on the roofline itself, without overhead and sending."""
        return ratio(self.flops, self.busy)

    @property
    def is_compute_bound(self) -> Any:
        """True where computing takes at least as long as moving: elementwise, or a relation."""
        return self.compute_time >= self.memory_time

    @property
    def bound(self) -> str:
        """What takes longest, in a word; for a single configuration."""
        times = {
            "compute": self.compute_time,
            "memory": self.memory_time,
            "overhead" if is_zero(self.sending_time) else "waiting": self.overhead,
            "sending": self.sending_time,
            "floor": self.floor,
        }
        return max(times, key=lambda name: times[name])


def limits(
    work: Ledger | Op, device: Device | str, precision: Precision | str | None = None
) -> tuple[Limit, ...]:
    """Each op's place under the roofline.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> [point] = limits(matmul(1, 1000, 1000), toy)
    >>> point.bound, round(point.intensity, 3), round(point.rate / 1e12, 3), point.compute
    ('memory', 0.998, 0.998, 'bf16')
    """
    device = device_of(device)
    each = meant(work, precision, device)
    compute = each.compute or device.sixteen_bits
    rates = device.compute_rate(compute), device.memory_rate
    ops = ops_of(work)
    return tuple(
        Limit(op.name, op.flops, op.bytes(each), *seconds, compute)
        for op, seconds in zip(ops, each_seconds(ops, device, each, rates), strict=True)
    )


def overlapped(compute: Number, memory: Number, blend: Number = inf) -> Any:
    """Seconds of computing and moving at once: (c^q + m^q)^(1/q), the larger where q is infinite.

    >>> overlapped(3.0, 4.0), overlapped(3.0, 4.0, 2), overlapped(3.0, 4.0, 1)
    (4.0, 5.0, 7.0)
    """
    if blend is inf:
        if type(compute) in _PLAIN and type(memory) in _PLAIN:
            return compute if compute > memory else memory
        if is_zero(compute) or is_zero(memory):
            return memory if is_zero(compute) else compute
        return maximum(compute, memory)
    longer = maximum(compute, memory)
    ratio = minimum(compute, memory) / (longer + (longer == 0))  # 0 seconds of each are 0 seconds
    return longer * (1 + ratio**blend) ** (1 / blend)


def op_seconds(
    op: Op, device: Device, precision: Precision, rates: tuple[Number, Number]
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """An op's seconds of computing, moving, overhead and sending, how the first two blend, and
    its floor."""
    compute, memory = op.flops / rates[0], op.bytes(precision) / rates[1]
    blend = device.blend
    if blend is not inf and (factors := wave_factors(op, device.cores)):
        best: Number = inf
        for (rows, columns), factor in zip(TILES, factors, strict=True):
            best = minimum(best, factor * (1 + device.edge * (1 / rows + 1 / columns)))
        compute = compute * best
    floor: Number = 0
    if not is_zero(device.floor_per_head) and device.cores:
        floor = heads_served(op) * device.floor_per_head / device.cores
    if not op.axis:
        overhead = device.overhead_per_op
        return compute, memory, 0 if is_zero(overhead) else op.count * overhead, 0, blend, floor
    rate, latency = device.link(op.axis)
    overhead = op.count * device.overhead_per_message
    if not is_zero(latency):
        overhead = overhead + op.rounds * latency
    return compute, memory, overhead, op.bytes_sent(precision) / rate, blend, floor


def each_seconds(
    ops: tuple[Op, ...], device: Device, precision: Precision, rates: tuple[Number, Number]
) -> list[tuple[Any, Any, Any, Any, Any, Any]]:
    """What `op_seconds` says of each op, with the two tiers of a collective at once.

    Pieces are inside a node while others are across, so that the second tier adds no more than what
    it takes longer than the first. On one link for both they take turns.
    """
    found: list[tuple[Any, Any, Any, Any, Any, Any]] = []
    name, axis = "", ""
    inside: Any = 0
    for op in ops:
        compute, memory, overhead, sending, blend, floor = op_seconds(op, device, precision, rates)
        if op.axis:
            own = sending
            first, _, tier = op.axis.partition(".")
            has_own = "network" in device.links or op.axis in device.links
            if tier == "network" and has_own and name == op.name and axis == first:
                sending = maximum(0, sending - inside)
            name, axis, inside = op.name, op.axis, own
        found.append((compute, memory, overhead, sending, blend, floor))
    return found


def meant(work: Ledger | Op, precision: Precision | str | None, device: Device) -> Precision:
    """The precision that is meant; a checkpoint's own format that a device has no rate for is
    unpacked and multiplied in 16 bits, while one that was asked for is an error."""
    each = work.at(precision) if isinstance(work, Ledger) else precision_of(precision)
    return each if precision is not None else as_computed(each, device)


def as_computed(own: Precision, device: Device) -> Precision:
    """A checkpoint's own precision on a device: in 16 bits where its format has no rate there.

    >>> as_computed(precision_of("fp8"), device_of("A100-80GB")).compute is None
    True
    """
    is_known = own.compute is None or own.compute in device.flops_per_s
    return own if is_known else own.with_(compute=None)


def ops_of(work: Ledger | Op) -> tuple[Op, ...]:
    if isinstance(work, Ledger):
        return work.ops
    if isinstance(work, Op):
        return (work,)
    raise TypeError(
        f"work must be a Ledger or an Op, such as model.decode(1, 4096), got {work!r:.80}"
    )


def total(times: list[Number]) -> Any:
    """The sum: plain numbers, then arrays, small ones first, so that a grid is touched last."""
    total: Number = 0
    arrays = []
    for value in times:
        if type(value) in _PLAIN:
            total += value
        else:
            arrays.append(value)
    for value in sorted(arrays, key=lambda each: getattr(each, "size", 1)):
        total = value if is_zero(total) else total + value
    return total


def ratio(a: Number, b: Number) -> Any:
    return 0.0 if is_zero(b) else a / b
