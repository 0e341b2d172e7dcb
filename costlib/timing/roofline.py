"""Chapter 5: how long a cost takes on a device. `time` is the one answer to that question.

A step of intensity I (FLOPs per byte) runs at no more than min(peak, I·bandwidth). Computing and
moving overlap, so the longer of the two binds; launching and sending come on top. The same formula
serves ideal and calibrated devices: it reads what a `Device` says of itself.

Left out: what devices leave out (see `costlib.Device`), and sending that hides behind computing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any
from warnings import warn

from costlib.model.catalog import device_of
from costlib.model.kvcache import held_bytes
from costlib.units.device import Device
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import (
    Number,
    ceil_div,
    choose,
    extra,
    is_lazy,
    is_symbolic,
    is_zero,
    maximum,
    minimum,
    square_root,
    where,
)
from costlib.units.precision import Precision, precision_of

__all__ = [
    "TILES",
    "Device",
    "DoesNotFit",
    "Limit",
    "fits",
    "heads_served",
    "limits",
    "overlapped",
    "product_shape",
    "table",
    "time",
    "wave_factors",
]

_PLAIN = frozenset({int, float})
_ZERO = 0  # compared by identity, the quickest way to see that there is nothing to add
_HEAD = 128  # columns of a head that one core takes
_STEP = 16  # query rows for each key, up to which attention is a step's and not a prompt's
OVERLAPS = ("perfect", "none")
GRANULARITIES = ("op", "step")
TOO_LARGE = ("warn", "ignore", "error")

#: Rows and columns of outputs that one core computes at a time; a library picks the best.
TILES = (
    *((256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64)),
    *((128, 32), (32, 128), (128, 16), (16, 128)),
)


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
        return _ratio(self.flops, self.bytes)

    @property
    def time(self) -> Any:
        """Seconds: computing and moving as they overlap, then the overhead and the sending."""
        return _total([self.busy, self.overhead, self.sending_time])

    @property
    def busy(self) -> Any:
        """Seconds of computing and moving, as they overlap, and no less than the floor."""
        busy = overlapped(self.compute_time, self.memory_time, self.blend)
        return busy if self.floor is _ZERO else maximum(busy, self.floor)

    @property
    def rate(self) -> Any:
        """FLOP/s over the op's whole time: what it attains."""
        return _ratio(self.flops, self.time)

    @property
    def attainable(self) -> Any:
        """FLOP/s on the roofline itself, without overhead and sending."""
        return _ratio(self.flops, self.busy)

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
    each = _precision(work, precision, device)
    compute = each.compute or device.sixteen_bits
    rates = device.compute_rate(compute), device.memory_rate
    return tuple(
        Limit(op.name, op.flops, op.bytes(each), *_seconds(op, device, each, rates), compute)
        for op in _ops(work)
    )


def time(
    work: Ledger | Op,
    device: Device | str,
    *,
    precision: Precision | str | None = None,
    overlap: str = "perfect",
    granularity: str = "op",
    steps: Number = 1,
    too_large: str = "warn",
) -> Any:
    """Seconds that work takes on a device: ideal, calibrated or shaped, with what it sends.

    Overlap "perfect" takes the larger of computing and moving (or what the device's ``blend`` makes
    of them), "none" their sum; granularity "op" does so for each op and adds up, "step" for the
    totals. Op by op is never faster than the step as a whole, and no overlap at most twice as slow
    as perfect overlap. ``steps`` is how many passes the work is, each with the device's overhead.
    Without a precision, a packed checkpoint's own, else 16 bits in whichever format the device is
    best at. Work that cannot lie in the device's memory is timed all the same, with a warning:
    `fits` asks beforehand.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12, "fp8": 200e12}, 1e12)
    >>> time(matmul(1000, 1000, 1000), toy)
    2e-05
    >>> time(matmul(1, 1000, 1000), toy)  # the weights alone are 2 MB
    2.004e-06
    >>> time(matmul(1, 1000, 1000), toy, precision="fp8")
    1.002e-06
    """
    choose("overlap", overlap, OVERLAPS)
    choose("granularity", granularity, GRANULARITIES)
    device = device_of(device)
    each = _precision(work, precision, device)
    ops = _ops(work)
    _check_room(work, device, each, too_large)
    rates = device.compute_rate(each.compute), device.memory_rate
    spent: list[Number] = [device.overhead_per_step * steps]
    computing, moving, floors = [], [], []
    for op in ops:
        compute, memory, overhead, sending, blend, floor = _seconds(op, device, each, rates)
        if granularity == "op" or overlap == "none":
            busy = compute + memory if overlap == "none" else overlapped(compute, memory, blend)
            spent.append(busy if floor is _ZERO else maximum(busy, floor))
        else:
            computing.append(compute)
            moving.append(memory)
            floors.append(floor)
        if overhead is not _ZERO:
            spent.append(overhead)
        if sending is not _ZERO:
            spent.append(sending)
    if computing:
        busy = overlapped(_total(computing), _total(moving), device.blend)
        spent.append(maximum(busy, _total(floors)))
    return _total(spent)


def table(work: Ledger | Op, device: Device | str, precision: Precision | str | None = None) -> Any:
    """A DataFrame: each op's times, what binds it and its share of the whole; the last row totals.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> table(matmul(1, 1000, 1000) + matmul(1000, 1000, 1000), toy)["bound"].tolist()
    ['memory', 'compute', '']
    """
    with extra("tables"):
        import pandas as pd

    points = limits(work, device, precision)
    added = ["flops", "bytes", "compute_time", "memory_time", "time"]
    if any(not is_zero(point.sending_time) for point in points):
        added.insert(4, "sending_time")
    columns = {name: [getattr(point, name) for point in points] for name in added}
    columns = {name: [*values, _total(values)] for name, values in columns.items()}
    rows = pd.DataFrame(columns, pd.Index([*(point.name for point in points), "total"], name="op"))
    rows["intensity"] = [*map(_ratio, columns["flops"], columns["bytes"])]
    rows["rate"] = [*map(_ratio, columns["flops"], columns["time"])]
    rows["share"] = [_ratio(each, columns["time"][-1]) for each in columns["time"]]
    rows["bound"] = [*(point.bound for point in points), ""]
    rows["computed in"] = [*(point.compute for point in points), ""]
    return rows


def fits(work: Ledger, device: Device | str, precision: Precision | str | None = None) -> Any:
    """Whether what a pass holds, weights and cache, lies in the device's memory less its reserve.

    >>> from costlib import Transformer
    >>> llama = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> fits(llama.decode(1, 4096), "RTX-4090"), fits(llama.decode(8, 4096), "RTX-4090")
    (True, False)
    """
    device = device_of(device)
    if work.holds is None:
        raise ValueError("only a whole pass, such as model.decode(1, 4096), says what it holds")
    return held_bytes(work.holds, work.at(precision)) <= device.usable


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


def product_shape(op: Op) -> tuple[Any, Any, Any] | None:
    """The m, k and n of one matrix product, read off its costs; None if it is no plain product.

    With weights: k·n of them, m·k and m·n activations. Otherwise from m·k + k·n, m·n and m·k·n.

    >>> from costlib import linear, matmul
    >>> product_shape(linear(7, 512, 2048).ops[0] * 32)
    (7.0, 512.0, 2048.0)
    >>> product_shape(matmul(100, 64, 10))
    (100.0, 64.0, 10.0)
    """
    shape = _shape(op)
    if shape is None:
        return None
    m, k, n, is_one = shape
    return (m, k, n) if _always(is_one) else None


def _shape(op: Op) -> tuple[Number, Number, Number, Any] | None:
    """m, k, n, and where they are those of one product: not of several, as experts are."""
    read, written, count = op.elements_read, op.elements_written, op.count
    if not op.is_matmul or not is_zero(read.kv) or not is_zero(read.scores):
        return None
    if is_zero(made := written.total) or is_zero(count):
        return None
    out, inner = made / count, op.flops / 2 / made
    if not is_zero(read.weights):
        m, n = read.activations / count / inner, read.weights / count / inner
    else:
        both = read.activations / count / inner
        root = square_root(maximum(both * both / 4 - out, 0.0))
        m, n = both / 2 + root, both / 2 - root
    product = m * n / out
    near = is_symbolic(product) or (product > 1 - 1e-6) & (product < 1 + 1e-6)
    return _rounded(m), _rounded(inner), _rounded(n), near


def wave_factors(op: Op, cores: int | None) -> list[Number]:
    """How much more is computed than is asked for if the last wave of tiles is paid in full.

    One number for each of `TILES`; none if an op is no single product or the cores are not known.

    >>> from costlib import linear
    >>> round(wave_factors(linear(1, 4096, 4096).ops[0], 108)[-1], 2)  # 1 row of 16: 16 × 108 / 32
    54.0
    """
    shape = _shape(op)
    if shape is None or not cores:
        return []
    m, _, n, is_one = shape
    if not _any(is_one):
        return []
    factors = []
    for rows, columns in TILES:
        waves = ceil_div(ceil_div(m, rows) * ceil_div(n, columns), cores)
        paid = waves * (cores * rows * columns) / (m * n)
        factors.append(paid if _always(is_one) else where(is_one, paid, 1.0))
    return factors


def heads_served(op: Op) -> Any:
    """Heads of all sequences that attention serves, each a piece of work that one core begins.

    In a step the query heads that share a KV head are one piece; in a prompt each is its own (and
    counts twice where half of it is masked). Read off the costs, as heads of 128 columns: for a
    step activations · kv / FLOPs. None where no keys and values are read.

    >>> from costlib import attention
    >>> step = attention(16, 1, 32, 128, kv_heads=8, context=1000, scores="on-chip")
    >>> round(sum(heads_served(op) for op in step), 6), heads_served(step["softmax"].ops[0])
    (128.0, 0)
    >>> prompt = attention(16, 1000, 32, 128, kv_heads=8, causal=False, scores="on-chip")
    >>> round(sum(heads_served(op) for op in prompt), 6)
    512.0
    """
    kv = op.elements_read.kv
    if kv is _ZERO or is_zero(kv) or is_zero(op.flops):
        return 0
    beside = op.elements_read.activations + op.elements_written.activations
    shared = where(op.flops > 2 * _STEP * kv, beside, kv)
    return beside * (shared / op.flops) / _HEAD


def _seconds(
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
    if device.floor_per_head is not _ZERO and device.cores:
        floor = heads_served(op) * device.floor_per_head / device.cores
    if not op.axis:
        overhead = device.overhead_per_op
        return compute, memory, 0 if overhead is _ZERO else op.count * overhead, 0, blend, floor
    rate, latency = device.link(op.axis)
    overhead = op.count * device.overhead_per_message
    if latency is not _ZERO:
        overhead = overhead + op.rounds * latency
    return compute, memory, overhead, op.bytes_sent(precision) / rate, blend, floor


def _check_room(work: Ledger | Op, device: Device, precision: Precision, too_large: str) -> None:
    """Say so if what the work holds does not fit the device."""
    choose("too_large", too_large, TOO_LARGE)
    holds = work.holds if isinstance(work, Ledger) else None
    if holds is None or device.capacity is None or too_large == "ignore":
        return
    held = held_bytes(holds, precision)
    if is_symbolic(held, device.capacity) or is_lazy(held) or not _any(held > device.usable):
        return
    text = (
        f"this pass holds {_gigabytes(held)} of weights and cache, and {device.name} gives out "
        f"{_gigabytes(device.usable)} of its {_gigabytes(device.capacity)}: costlib.fits "
        "asks beforehand, too_large='ignore' times it all the same"
    )
    if too_large == "error":
        raise ValueError(text)
    warn(text, DoesNotFit, stacklevel=3)


def _gigabytes(count: Any) -> str:
    largest = count if isinstance(count, (int, float)) else count.max()
    return f"{float(largest) / 1e9:.1f} GB"


def _precision(work: Ledger | Op, precision: Precision | str | None, device: Device) -> Precision:
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


def _ops(work: Ledger | Op) -> tuple[Op, ...]:
    if isinstance(work, Ledger):
        return work.ops
    if isinstance(work, Op):
        return (work,)
    raise TypeError(
        f"work must be a Ledger or an Op, such as model.decode(1, 4096), got {work!r:.80}"
    )


def _total(times: list[Number]) -> Any:
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


def _ratio(a: Number, b: Number) -> Any:
    return 0.0 if is_zero(b) else a / b


def _rounded(value: Any) -> Any:
    """Rounded to a millionth: a size was divided out of products, and is whole but for that."""
    if is_symbolic(value):
        return value
    return round(value, 6) if isinstance(value, (int, float)) else value.round(6)


def _any(condition: Any) -> bool:
    """Whether this can hold somewhere; of what cannot be looked at yet, it can."""
    if is_lazy(condition):
        return True
    return bool(condition.any() if hasattr(condition, "any") else condition)


def _always(condition: Any) -> bool:
    """Whether this is known to hold everywhere."""
    return not is_lazy(condition) and bool(
        condition.all() if hasattr(condition, "all") else condition
    )
