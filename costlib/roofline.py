"""Chapter 5: what a cost takes in time on a device.

A device does at most so many FLOPs a second and moves at most so many bytes a second. A step of
intensity I (FLOPs per byte) therefore runs at no more than min(peak, I·bandwidth); the two meet at
the ridge, peak / bandwidth. Times are in seconds, rates in FLOP/s and bytes/s (decimal).

Left out: caches that serve a second read, kernels too small to fill the device, clocks that fall
under load. An empirical device has factors for what is left: see `Device.with_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from costlib.ledger import Ledger, Op
from costlib.numbers import Number, is_zero, maximum, minimum
from costlib.precision import Precision

if TYPE_CHECKING:
    from costlib.calibration import Empirical, Measurement

__all__ = ["Device", "Limit", "calibrate", "limits", "table", "time"]

OVERLAPS = ("perfect", "none")
GRANULARITIES = ("op", "step")


@dataclass(frozen=True, slots=True)
class Device:
    """What a device can do at most: dense FLOP/s by number format, and bytes/s to its memory.

    ``capacity`` (memory), ``cache`` (shared by all cores) and ``on_chip`` (of one core) are bytes,
    ``interconnect`` is bytes/s each way. The efficiencies (fractions of the peaks) and overheads
    (seconds) are 1 and 0 for the ideal device; ``with_`` makes an empirical one.

    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> toy.ridge("bf16"), toy.attainable(10), toy.attainable(1000)
    (100.0, 10000000000000.0, 100000000000000.0)
    >>> toy.with_(bandwidth_efficiency=0.5).ridge()
    200.0
    >>> toy.ridge("fp8")
    Traceback (most recent call last):
        ...
    ValueError: toy has no peak rate for 'fp8'; it has bf16
    """

    name: str
    flops_per_s: Mapping[str, Number] = field(hash=False)
    bytes_per_s: Number
    capacity: Number | None = None
    on_chip: Number | None = None
    cache: Number | None = None
    cores: int | None = None
    interconnect: Number | None = None
    compute_efficiency: Number = 1
    bandwidth_efficiency: Number = 1
    overhead_per_op: Number = 0
    overhead_per_step: Number = 0
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.flops_per_s:
            raise ValueError(f"{self.name} needs a peak rate for at least one number format")
        rates = {f"flops_per_s[{dtype!r}]": rate for dtype, rate in self.flops_per_s.items()}
        for name, rate in {**rates, "bytes_per_s": self.bytes_per_s}.items():
            _check(name, rate, 1, 1e30)
        for part in ("compute", "bandwidth"):
            _check(f"{part}_efficiency", getattr(self, f"{part}_efficiency"), 1e-9, 1)
        for part in ("op", "step"):
            _check(f"overhead_per_{part}", getattr(self, f"overhead_per_{part}"), 0, 1e9)
        object.__setattr__(self, "flops_per_s", MappingProxyType(dict(self.flops_per_s)))

    def __reduce__(self) -> Any:  # a read-only mapping cannot be pickled, and clusters pickle
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(Device, **values | {"flops_per_s": dict(self.flops_per_s)}), ()

    def with_(self, **changes: Any) -> Device:
        """The same device with some of its figures changed."""
        return replace(self, **changes)

    def compute_rate(self, dtype: str = "bf16") -> Number:
        """FLOP/s reached where compute binds: the dense peak times its efficiency."""
        if dtype not in self.flops_per_s:
            raise ValueError(
                f"{self.name} has no peak rate for {dtype!r}; it has {', '.join(self.flops_per_s)}"
            )
        return self.flops_per_s[dtype] * self.compute_efficiency

    @property
    def memory_rate(self) -> Number:
        """Bytes/s reached where memory binds: the bandwidth times its efficiency."""
        return self.bytes_per_s * self.bandwidth_efficiency

    def ridge(self, dtype: str = "bf16") -> Number:
        """The intensity (FLOPs per byte) from which compute binds: compute rate / memory rate."""
        return self.compute_rate(dtype) / self.memory_rate

    def attainable(self, intensity: Number, dtype: str = "bf16") -> Number:
        """FLOP/s at an intensity: min(compute rate, intensity · memory rate), the roofline."""
        return minimum(self.compute_rate(dtype), intensity * self.memory_rate)


@dataclass(frozen=True, slots=True)
class Limit:
    """One op on a device: a point of the roofline figure, a row of `table`."""

    name: str
    flops: Number
    bytes: Number
    compute_time: Number
    memory_time: Number
    overhead: Number

    @property
    def intensity(self) -> Number:
        """FLOPs per byte; 0 where nothing moves."""
        return _ratio(self.flops, self.bytes)

    @property
    def time(self) -> Number:
        """Seconds: the larger of computing and moving, and the overhead."""
        return _total([_larger(self.compute_time, self.memory_time), self.overhead])

    @property
    def rate(self) -> Number:
        """FLOP/s over the op's whole time: what it attains."""
        return _ratio(self.flops, self.time)

    @property
    def attainable(self) -> Number:
        """FLOP/s on the roofline itself, without the overhead."""
        return _ratio(self.flops, _larger(self.compute_time, self.memory_time))

    @property
    def is_compute_bound(self) -> Any:
        """True where computing takes at least as long as moving: elementwise, or a relation."""
        return self.compute_time >= self.memory_time

    @property
    def bound(self) -> str:
        """What takes longest, in a word; for a single configuration."""
        times = {
            "compute": self.compute_time, "memory": self.memory_time, "overhead": self.overhead
        }  # fmt: skip
        return max(times, key=lambda name: times[name])


def limits(
    ledger: Ledger | Op, device: Device, dtype: str = "bf16", precision: Precision | None = None
) -> tuple[Limit, ...]:
    """Each op's place under the roofline.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> [point] = limits(matmul(1, 1000, 1000), toy)
    >>> point.bound, round(point.intensity, 3), round(point.rate / 1e12, 3)
    ('memory', 0.998, 0.998)
    """
    flop_rate, byte_rate = device.compute_rate(dtype), device.memory_rate
    points = []
    for op in (ledger,) if isinstance(ledger, Op) else ledger:
        moved, overhead = op.bytes(precision), op.count * device.overhead_per_op
        times = op.flops / flop_rate, moved / byte_rate, overhead
        points.append(Limit(op.name, op.flops, moved, *times))
    return tuple(points)


def time(
    ledger: Ledger | Op,
    device: Device,
    *,
    dtype: str = "bf16",
    precision: Precision | None = None,
    overlap: str = "perfect",
    granularity: str = "op",
) -> Number:
    """Seconds a ledger takes on a device.

    Overlap "perfect" takes the larger of computing and moving, "none" their sum; granularity "op"
    does so for each op and adds up, "step" for the totals. Op by op is never faster than the step
    as a whole, and no overlap at most twice as slow as perfect overlap.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> time(matmul(1000, 1000, 1000), toy)
    2e-05
    >>> time(matmul(1, 1000, 1000), toy)  # the weights alone are 2 MB
    2.004e-06
    """
    for name, value, among in (
        ("overlap", overlap, OVERLAPS),
        ("granularity", granularity, GRANULARITIES),
    ):
        if value not in among:
            raise ValueError(f"{name} must be {' or '.join(map(repr, among))}, got {value!r}")
    points = limits(ledger, device, dtype, precision)
    compute = [point.compute_time for point in points]
    memory = [point.memory_time for point in points]
    if overlap == "none":
        spent = compute + memory
    elif granularity == "step":
        spent = [_larger(_total(compute), _total(memory))]
    else:
        spent = [_larger(*both) for both in zip(compute, memory, strict=True)]
    return _total([*spent, *(point.overhead for point in points), device.overhead_per_step])


def table(
    ledger: Ledger | Op, device: Device, dtype: str = "bf16", precision: Precision | None = None
) -> Any:
    """A DataFrame: each op's times, what binds it and its share of the whole; the last row totals.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> table(matmul(1, 1000, 1000) + matmul(1000, 1000, 1000), toy)["bound"].tolist()
    ['memory', 'compute', '']
    """
    import pandas as pd

    points = limits(ledger, device, dtype, precision)
    added = ("flops", "bytes", "compute_time", "memory_time", "time")
    columns = {name: [getattr(point, name) for point in points] for name in added}
    columns = {name: [*values, _total(values)] for name, values in columns.items()}
    rows = pd.DataFrame(columns, pd.Index([*(point.name for point in points), "total"], name="op"))
    rows["intensity"] = [*map(_ratio, columns["flops"], columns["bytes"])]
    rows["rate"] = [*map(_ratio, columns["flops"], columns["time"])]
    rows["share"] = [_ratio(each, columns["time"][-1]) for each in columns["time"]]
    rows["bound"] = [*(point.bound for point in points), ""]
    return rows


def calibrate(
    device: Device,
    measurements: Iterable[Measurement | Sequence[Any]],
    *,
    level: str = "calibrated",
    keep: Iterable[str] = (),
) -> Empirical:
    """The device as measurements find it: efficiencies and overheads, with residuals (chapter 8).

    A measurement is (ledger or op, seconds), with a dtype and a precision after them if they are
    not bf16 and 16 bits, or a `costlib.calibration.Measurement`. What comes back is a `Device`:
    `time` takes it. Level "shaped" adds tiles and partial overlap, for `calibration.predict`;
    ``keep`` names constants of ``device`` that are not to be fitted again.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> ops = [matmul(m, 4096, 4096) for m in (1, 64, 512, 4096)]
    >>> ops.append(matmul(1, 512, 512))
    >>> real = toy.with_(compute_efficiency=0.7, bandwidth_efficiency=0.8, overhead_per_op=4e-6)
    >>> found = calibrate(toy, [(op, time(op, real)) for op in ops])
    >>> round(found.compute_efficiency, 2), round(found.bandwidth_efficiency, 2)
    (0.7, 0.8)
    >>> round(found.overhead_per_op * 1e6, 1), round(found.median_error, 2)
    (4.0, 0.0)
    """
    from costlib.calibration import fit

    return fit(device, measurements, level=level, keep=keep)


def _larger(a: Number, b: Number) -> Number:
    """The larger time; a plain 0 costs no comparison."""
    if is_zero(a) or is_zero(b):
        return b if is_zero(a) else a
    return maximum(a, b)


def _total(times: list[Number]) -> Number:
    """The sum, small arrays first: a grid is then only touched for what truly fills it."""
    total: Number = 0
    for value in sorted(times, key=lambda each: getattr(each, "size", 1)):
        if not is_zero(value):
            total = value if is_zero(total) else total + value
    return total


def _ratio(a: Number, b: Number) -> Number:
    return 0.0 if is_zero(b) else a / b


def _check(name: str, value: Number, least: float, most: float) -> None:
    """Check a plain number; arrays and symbols stand for many, and are taken as they are."""
    if isinstance(value, (bool, str)) or value is None:
        raise TypeError(f"{name} must be a number, got {value!r}")
    if isinstance(value, (int, float)) and not least <= value <= most:
        raise ValueError(f"{name} must be between {least:g} and {most:g}, got {value}")
