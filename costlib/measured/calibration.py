"""What a device reaches, fitted to measurements, at three levels.

Ideal: the datasheet, nothing fitted. Calibrated: one efficiency for compute, one for bandwidth, one
overhead per op (and per step, and per message between devices). Shaped: the same, with products
rounded up to whole tiles and waves of tiles, with computing and moving that overlap only in part,
and with a floor for each head of attention: as far as the measurements can tell. What comes back is
a `costlib.Device`, which `costlib.time` takes like any other.

Left out: clocks that fall under load, caches that serve a second read, kernels that differ by
framework. Whatever is left out ends in the residuals, which a fitted device carries along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import inf
from typing import Any

import numpy as np

from costlib.model.catalog import device_of
from costlib.timing.roofline import TILES, heads_served, overlapped, time, wave_factors
from costlib.units.device import Device
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import choose
from costlib.units.precision import Precision, precision_of

__all__ = [
    "LEVELS",
    "Empirical",
    "Measurement",
    "calibrate",
    "error",
    "interval",
    "median_error",
    "parts",
]

#: What is fitted: two rates and the overheads, or these with tiles, waves and partial overlap.
LEVELS = ("calibrated", "shaped")

_SMOOTH = 0.02  # errors below two per cent weigh as squares, larger ones by their size
_RIDGE = 1e-5  # keeps a constant that no measurement speaks of where it started
_SLOW, _DOUBT = np.log(8), 0.1  # a rate under an eighth of its peak must be told clearly
_STARTS = (1e-6, 1e-5)  # seconds an op, where the search begins
_LEAST = {"blend": 1}
_OCTAVES = 12  # how far an interval is followed
_TOLD = 1.92  # of log likelihood, that a constant must be worth: 95 per cent
_DOUBTED = ("blend", "edge", "floor_per_head", "overhead_per_step")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Work that ran on one device, messages included, and the seconds that it took.

    ``steps`` is how many passes the work is (each has its own overhead); ``name`` says which row it
    is.

    >>> from costlib import matmul
    >>> row = Measurement(matmul(1, 4096, 4096), 26.6e-6)
    >>> row.seconds, round(row.predicted("A100-80GB") * 1e6, 1)
    (2.66e-05, 16.5)
    >>> Measurement(matmul(1, 4096, 4096), -1)
    Traceback (most recent call last):
        ...
    ValueError: seconds must be a positive number, got -1
    """

    work: Ledger | Op
    seconds: float
    precision: Precision | str | None = None
    steps: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.work, (Ledger, Op)):
            raise TypeError(f"work must be a Ledger or an Op, got {self.work!r}")
        seconds = self.seconds
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)):
            raise TypeError(f"seconds must be a number, got {seconds!r}")
        if not (np.isfinite(seconds) and seconds > 0):
            raise ValueError(f"seconds must be a positive number, got {seconds}")
        if not self.steps >= 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")
        object.__setattr__(self, "precision", precision_of(self.precision))

    def predicted(self, device: Device | str) -> float:
        """Seconds that `costlib.time` says on a device; the work ran, so it did fit."""
        seconds = time(
            self.work, device, precision=self.precision, steps=self.steps, too_large="ignore"
        )
        return float(seconds)


@dataclass(frozen=True, slots=True)
class Empirical(Device):
    """A device as measurements found it: a `Device` with constants, and the residuals of the fit.

    ``residuals`` are predicted / measured − 1, a number for each measurement in its order;
    ``fitted`` are the constants that were fitted.
    """

    level: str = "calibrated"
    fitted: tuple[str, ...] = ()
    residuals: tuple[float, ...] = field(default=(), repr=False)

    @property
    def median_error(self) -> float:
        """The median of the residuals without their signs: on what was fitted, so a best case."""
        return float(np.median(np.abs(self.residuals))) if self.residuals else 0.0


#: The constants of a device that measurements can tell, each with its ideal value.
IDEAL = {
    "compute_efficiency": 1,
    "bandwidth_efficiency": 1,
    "blend": inf,
    "edge": 0,
    "floor_per_head": 0,
    "overhead_per_op": 0,
    "overhead_per_step": 0,
    "overhead_per_message": 0,
    "interconnect_efficiency": 1,
}

#: What each part of a time adds to the one before it.
_ADDED = {
    "rates": ("compute_efficiency", "bandwidth_efficiency"),
    "shapes": ("blend", "edge", "floor_per_head"),
    "launches": ("overhead_per_op", "overhead_per_step"),
}


def parts(
    work: Measurement | Ledger | Op, device: Device | str, **options: Any
) -> dict[str, float]:
    """Where the seconds of `costlib.time` go, from the ideal on; they add up to it.

    "ideal" is the roofline's time, "rates" what the fitted efficiencies add, "shapes" what tiles,
    waves and partial overlap add, "launches" the overheads, "messages" the communication.
    ``options`` are the fields of a `Measurement`.

    >>> from costlib import matmul
    >>> slow = Device("toy", {"bf16": 1e14}, 1e12, compute_efficiency=0.5, overhead_per_op=1e-6)
    >>> {part: round(us * 1e6, 2) for part, us in parts(matmul(1000, 1000, 1000), slow).items()}
    {'ideal': 20.0, 'rates': 20.0, 'shapes': 0.0, 'launches': 1.0, 'messages': 0.0}
    """
    row = work if isinstance(work, Measurement) else Measurement(work, 1.0, **options)
    device, ops = device_of(device), (row.work,) if isinstance(row.work, Op) else row.work.ops
    silent = replace(row, work=Ledger(tuple(op for op in ops if not op.axis)))
    on = device.with_(**IDEAL)
    found = {"ideal": silent.predicted(on)}
    for part, names in _ADDED.items():
        on = on.with_(**{name: getattr(device, name) for name in names})
        found[part] = silent.predicted(on) - sum(found.values())
    return {**found, "messages": row.predicted(device) - sum(found.values())}


def error(predicted: float, measured: float) -> float:
    """Predicted over measured, minus 1: −0.2 is a prediction that is a fifth too short.

    >>> round(error(8.0, 10.0), 3)
    -0.2
    """
    return predicted / measured - 1


def median_error(measurements: Iterable[Measurement], device: Device | str) -> float:
    """The median of the errors without their signs.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> rows = [Measurement(matmul(1000, 1000, 1000), t) for t in (20e-6, 25e-6, 40e-6)]
    >>> round(median_error(rows, toy), 3)
    0.2
    """
    found = [error(row.predicted(device), row.seconds) for row in _checked(measurements)]
    return float(np.median(np.abs(found)))


def calibrate(
    device: Device | str,
    measurements: Iterable[Measurement | Sequence[Any]],
    *,
    level: str = "calibrated",
    keep: Iterable[str] = (),
) -> Empirical:
    """The device that explains the measurements best: efficiencies, overheads, and residuals.

    A measurement is (ledger or op, seconds), with a precision after them if it is not 16 bits, or a
    `Measurement`. Least squares on the logarithm of predicted / measured, large errors weighted
    down so that the fit follows the median row. A rate that no row depends on stays ideal. Level
    "shaped" adds tiles, partial overlap, and a floor for each head of attention, as far as the
    rows can tell them: what they cannot stays ideal. ``keep`` names constants of ``device`` that
    are not to be fitted again, because other measurements have told them.

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
    choose("level", level, LEVELS)
    for name in (keep := tuple(keep)):
        choose("keep", name, tuple(_FIELDS))
    device = device_of(device)
    rows = _checked(measurements)
    flat, measured = _flat(rows, device), np.array([float(row.seconds) for row in rows])
    search = _Search(_free(flat, level, keep), _constants(device) if keep else _Constants(), keep)
    search, (found, _) = _told(search, flat, measured)
    fitted = replace(_empirical(device, found, level), fitted=search.free)
    errors = tuple(error(row.predicted(fitted), row.seconds) for row in rows)
    return replace(fitted, residuals=errors)


def interval(
    fitted: Empirical, measurements: Iterable[Measurement | Sequence[Any]], name: str
) -> tuple[float, float]:
    """The values of a fitted constant that the measurements do not rule out, at 95 per cent.

    Each value is tried with all other constants fitted anew (a profile of the likelihood, for
    errors of Laplace's kind). An interval of many octaves says: these rows cannot tell.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> real = toy.with_(bandwidth_efficiency=0.8, overhead_per_op=4e-6)
    >>> rows = [(matmul(1, k, 4096), time(matmul(1, k, 4096), real)) for k in (64, 1024, 16384)]
    >>> low, high = interval(calibrate(toy, rows), rows, "overhead_per_op")
    >>> 3.5e-6 < low < 4e-6 < high < 4.5e-6
    True
    """
    choose("name", name, fitted.fitted)
    rows = _checked(measurements)
    flat, measured = _flat(rows, fitted), np.array([float(row.seconds) for row in rows])
    free = tuple(each for each in fitted.fitted if each != name)
    rest, key = _constants(fitted), _FIELDS[name][0]
    kept = tuple(each for each in _FIELDS if each not in free)
    least = _best(_Search(fitted.fitted, rest, tuple(set(kept) - {name})), flat, measured)[1]
    enough = float(least * np.exp(_TOLD / len(rows)))

    def is_likely(value: float) -> bool:
        if value < _LEAST.get(name, 0):
            return False
        search = _Search(free, replace(rest, **{key: value}), kept)
        found = _best(search, flat, measured, enough)
        return bool(found[1] <= enough)

    ideal, start = getattr(_Constants(), key), getattr(rest, key)
    ends = sorted(_end(is_likely, start, factor, ideal) for factor in (0.5, 2.0))
    return (1 / ends[1], 1 / ends[0]) if name in _RATES else (ends[0], ends[1])


def _end(is_likely: Callable[[float], bool], start: float, factor: float, ideal: float) -> float:
    """How far a constant can be moved by halving or doubling: where it stops being likely."""
    inside, is_towards_ideal = start, ideal <= start if factor < 1 else ideal > start
    if is_towards_ideal and is_likely(ideal):
        return ideal
    for _ in range(_OCTAVES):
        if not is_likely(inside * factor):
            break
        inside *= factor
    outside = inside * factor
    for _ in range(6):
        middle = float(np.sqrt(inside * outside))
        inside, outside = (middle, outside) if is_likely(middle) else (inside, middle)
    return inside


def _told(search: _Search, flat: _Flat, measured: Any) -> tuple[_Search, tuple[_Constants, float]]:
    """The search with as few constants as the rows can tell, and the best of them.

    A constant is fitted if without it the rows are so much less likely (under errors of Laplace's
    kind, of whatever size fits best) that its interval of 95 per cent would not hold the ideal.
    """
    best = _best(search, flat, measured)
    while True:
        without = {name: search.without(name) for name in search.free if name in _DOUBTED}
        found = {name: _best(each, flat, measured) for name, each in without.items()}
        least = min(found, key=lambda name: found[name][1], default=None)
        if least is None or len(measured) * np.log(found[least][1] / best[1]) > _TOLD:
            return search, best
        search, best = without[least], found[least]


def _best(
    search: _Search, flat: _Flat, measured: Any, enough: float = 0.0
) -> tuple[_Constants, float]:
    """The constants that explain the rows best, or well enough, and what is left."""

    def residuals(points: Any) -> Any:
        return np.log(_predictions(flat, search.at(points)) / measured)

    found: list[tuple[Any, float]] = []
    for seconds in _STARTS:
        found.append(_descend(residuals, *search.start(seconds), enough))
        if found[-1][1] <= enough:
            break
    point, cost = min(found, key=lambda pair: pair[1])
    return search.constants(point), cost


#: Fields of an empirical device, the constant of the search that each stands for, and where the
#: logarithm of that constant (of blend − 1) begins.
_FIELDS = {
    "compute_efficiency": ("compute", 0.25),
    "bandwidth_efficiency": ("bandwidth", 0.25),
    "overhead_per_op": ("op", -13.8),
    "overhead_per_step": ("step", -9.2),
    "overhead_per_message": ("message", -11.5),
    "interconnect_efficiency": ("link", 0.5),
    "blend": ("blend", 0.7),
    "edge": ("edge", 1.4),
    "floor_per_head": ("floor", -12.7),
}
_RATES = ("compute_efficiency", "bandwidth_efficiency", "interconnect_efficiency")


def _free(flat: _Flat, level: str, keep: tuple[str, ...]) -> tuple[str, ...]:
    """The constants that these measurements can tell, less those to keep."""
    names = ["compute_efficiency", "bandwidth_efficiency", "overhead_per_op"]
    if flat.messages.any():
        names += ["overhead_per_message", "interconnect_efficiency"]
    if level == "shaped":
        names += ["blend"]
        names += ["edge"] if flat.shape.any() else []
        names += ["floor_per_head"] if flat.heads.any() else []
        ops = flat.per_row(flat.launches)[0] / flat.steps
        if ops.min() > 1 and ops.max() > 1.2 * ops.min():  # else steps have equally many ops
            names.append("overhead_per_step")
    return tuple(name for name in names if name not in keep)


@dataclass(frozen=True, slots=True)
class _Constants:
    """What is fitted, as factors of time (1 is ideal) and seconds."""

    compute: float = 1.0
    bandwidth: float = 1.0
    op: float = 0.0
    step: float = 0.0
    message: float = 0.0
    link: float = 1.0
    blend: float = inf
    edge: float = 0.0
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class _Search:
    """Constants as a vector of logarithms: those that are free, with the rest as they are."""

    free: tuple[str, ...]
    rest: _Constants
    keep: tuple[str, ...]

    def without(self, name: str) -> _Search:
        """The same search with one constant at its ideal."""
        return replace(self, free=tuple(each for each in self.free if each != name))

    def start(self, seconds: float) -> tuple[Any, Any, Any]:
        """Where the search begins, where a constant stays that nothing depends on, and from
        where on it is doubted."""
        begin = [np.log(seconds) if n == "overhead_per_op" else _FIELDS[n][1] for n in self.free]
        prior = [0.0 if name in _RATES else _FIELDS[name][1] for name in self.free]
        slow = [_SLOW if name in _RATES else inf for name in self.free]
        return np.array(begin), np.array(prior), np.array(slow)

    def at(self, points: Any) -> _Constants:
        """The constants at points, one a line: no rate above its peak, a blend of 1 to 55."""
        least, most, shift = _ranges(self.free)
        columns = (shift + np.exp(np.minimum(np.maximum(points, least), most))).T[:, :, None]
        values = {_FIELDS[name][0]: getattr(self.rest, _FIELDS[name][0]) for name in self.keep}
        for name, column in zip(self.free, columns, strict=True):
            values[_FIELDS[name][0]] = column
        return _Constants(**values)

    def constants(self, point: Any) -> _Constants:
        """The constants at one point, as numbers."""
        found = self.at(point[None, :])
        values = {_FIELDS[name][0]: getattr(found, _FIELDS[name][0]).item() for name in self.free}
        return replace(found, **values)


@cache
def _ranges(names: tuple[str, ...]) -> Any:
    """The least and the largest logarithm of each constant, and what is added to its value."""
    least = [0.0 if name in _RATES else -inf for name in names]
    most = [4.0 if name == "blend" else 50.0 for name in names]
    return np.array([least, most, [float(name == "blend") for name in names]])


@dataclass(frozen=True, slots=True)
class _Flat:
    """Every op of every measurement: ``row`` says whose it is, ``kind`` which of the kinds.

    A kind is what `costlib.time` computes with, one array a column, on the device without
    its constants. Layers are alike, so kinds are fewer than ops; a fit tries thousands of constants
    on them.
    """

    row: Any
    kind: Any
    compute: Any  # ideal seconds
    memory: Any
    launches: Any
    messages: Any
    sending: Any
    heads: Any  # KV heads that each core serves
    shape: Any  # which of the columns of waves; the first is of what is no product
    waves: Any  # how much more is computed with whole waves, a line for each kind of tile
    steps: Any  # one a measurement

    def per_row(self, seconds: Any) -> Any:
        """What kinds take, a line for each choice of constants, summed over each measurement."""
        lines, rows = np.atleast_2d(seconds)[:, self.kind], len(self.steps)
        whose = self.row + rows * np.arange(len(lines))[:, None]
        return np.bincount(whose.ravel(), lines.ravel(), rows * len(lines)).reshape(-1, rows)


def _flat(rows: Sequence[Measurement], device: Device) -> _Flat:
    ideal, whose, kinds = device.with_(**IDEAL), [], []
    shapes: dict[tuple[float, ...], int] = {(): 0}
    for number, row in enumerate(rows):
        precision = precision_of(row.precision)
        rates = float(ideal.compute_rate(precision.compute)), float(ideal.memory_rate)
        for op in (row.work,) if isinstance(row.work, Op) else row.work.ops:
            sent = float(op.bytes_sent(precision) / ideal.link_rate) if op.axis else 0.0
            times = float(op.flops) / rates[0], float(op.bytes(precision)) / rates[1]
            counts = (0.0, float(op.count)) if op.axis else (float(op.count), 0.0)
            heads = float(heads_served(op)) / device.cores if device.cores else 0.0
            factors = tuple(map(float, wave_factors(op, device.cores)))
            whose.append(number)
            kinds.append((*times, *counts, sent, heads, shapes.setdefault(factors, len(shapes))))
    alike, kind = np.unique(np.array(kinds), axis=0, return_inverse=True)
    compute, memory, launches, messages, sending, heads, shape = alike.T
    return _Flat(
        row=np.array(whose),
        kind=kind.ravel(),
        compute=compute,
        memory=memory,
        launches=launches,
        messages=messages,
        sending=sending,
        heads=heads,
        shape=shape.astype(int),
        waves=np.array([each or (1.0,) * len(TILES) for each in shapes]).T,
        steps=np.array([float(row.steps) for row in rows]),
    )


_EDGES = np.array([[1 / rows + 1 / columns] for rows, columns in TILES])


def _predictions(flat: _Flat, constants: _Constants) -> Any:
    """Seconds of every row, a line for each choice of constants: `costlib.time`, for all
    ops at once."""
    computing = constants.compute * flat.compute
    if np.all(np.isfinite(constants.blend)):
        edge = np.reshape(constants.edge, (-1, 1, 1))
        paid = (flat.waves * (1 + edge * _EDGES)).min(axis=1)
        paid[:, 0] = 1.0
        computing = computing * paid[:, flat.shape]
    busy = overlapped(computing, constants.bandwidth * flat.memory, constants.blend)
    busy = np.maximum(busy, constants.floor * flat.heads)
    called = constants.op * flat.launches + constants.message * flat.messages
    total = flat.per_row(busy + called + constants.link * flat.sending)
    return total + constants.step * flat.steps


def _constants(device: Device) -> _Constants:
    return _Constants(
        compute=1 / float(device.compute_efficiency),
        bandwidth=1 / float(device.bandwidth_efficiency),
        op=float(device.overhead_per_op),
        step=float(device.overhead_per_step),
        message=float(device.overhead_per_message),
        link=1 / float(device.interconnect_efficiency),
        blend=float(device.blend),
        edge=float(device.edge),
        floor=float(device.floor_per_head),
    )


def _empirical(device: Device, found: _Constants, level: str) -> Empirical:
    same = {each.name: getattr(device, each.name) for each in fields(Device) if each.init}
    fitted = {
        "compute_efficiency": 1 / found.compute,
        "bandwidth_efficiency": 1 / found.bandwidth,
        "overhead_per_op": found.op if found.op > 1e-10 else 0.0,
        "overhead_per_step": found.step if found.step > 1e-10 else 0.0,
        "interconnect_efficiency": 1 / found.link,
        "overhead_per_message": found.message,
        "blend": found.blend,
        "edge": found.edge,
        "floor_per_head": found.floor,
    }
    return Empirical(**same | fitted, level=level)


def _descend(
    residuals: Callable[[Any], Any], start: Any, prior: Any, slow: Any, enough: float = 0.0
) -> tuple[Any, float]:
    """Levenberg and Marquardt's least squares, with weights that make large errors count less.

    It ends where what is left is little ``enough``.
    """
    point, damping, nudges = start, 1e-2, 1e-5 * np.eye(len(start))

    def cost(at: Any) -> float:
        [errors] = residuals(at[None, :])
        held = _RIDGE * (at - prior) ** 2 + _DOUBT * np.maximum(at - slow, 0) ** 2
        return float(np.sum(np.hypot(errors, _SMOOTH)) + np.sum(held))

    def downhill() -> tuple[Any, Any]:
        errors, *nudged = residuals(np.vstack([point, point + nudges]))
        slopes = np.column_stack([(each - errors) / 1e-5 for each in nudged])
        weighted = slopes / np.hypot(errors, _SMOOTH)[:, None]
        doubt = _DOUBT * np.maximum(point - slow, 0)
        gradient = weighted.T @ errors + 2 * (_RIDGE * (point - prior) + doubt)
        return gradient, weighted.T @ slopes + 2 * np.diag(_RIDGE + _DOUBT * (point > slow))

    value, (gradient, curve) = cost(point), downhill()
    for _ in range(200):
        if value <= enough:
            break
        step = np.linalg.solve(curve + damping * np.diag(np.diag(curve)), -gradient)
        moved = cost(point + step)
        if moved < value:
            done = value - moved < 1e-9 * value
            point, value, damping = point + step, moved, max(damping / 3, 1e-9)
            if done:
                break
            gradient, curve = downhill()
        elif damping > 1e6:
            break
        else:
            damping *= 4
    return point, value


def _checked(measurements: Iterable[Measurement | Sequence[Any]]) -> list[Measurement]:
    rows = []
    for number, each in enumerate(measurements):
        if isinstance(each, Measurement):
            rows.append(each)
        elif isinstance(each, (tuple, list)) and 2 <= len(each) <= 3:
            rows.append(Measurement(*each))
        else:
            raise TypeError(
                "a measurement is a Measurement or (work, seconds[, precision]), "
                f"got {each!r} at place {number}"
            )
    if not rows:
        raise ValueError("measurements must hold at least one row")
    for number, row in enumerate(rows):
        if not (row.work.flops or row.work.elements):
            raise ValueError(f"the work of measurement {number} does nothing and moves nothing")
    return rows
