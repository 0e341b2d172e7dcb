"""Chapter 8: what a device reaches, fitted to measurements, and predictions at three levels.

Ideal: the roofline of `costlib.roofline`, nothing fitted. Calibrated: one efficiency for compute,
one for bandwidth, one overhead per op (and per step, and per message between devices). Shaped: the
same, with products rounded up to whole tiles and waves of tiles, and with computing and moving that
overlap only in part.

Left out: clocks that fall under load, caches that serve a second read, kernels that differ by
framework. Whatever is left out ends in the residuals, which an empirical device carries along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from costlib.ledger import Ledger, Op
from costlib.parallel import Messages
from costlib.precision import Precision
from costlib.roofline import Device

__all__ = [
    "LEVELS", "TILES", "Empirical", "Measurement", "error", "fit", "median_error", "parts",
    "predict", "product_shape",
]  # fmt: skip

#: What is fitted: two rates and the overheads, or these with tiles, waves and partial overlap.
LEVELS = ("calibrated", "shaped")

#: Rows and columns of outputs that one core computes at a time; a library picks the best.
TILES = (
    (256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64),
    (128, 32), (32, 128), (128, 16), (16, 128),
)  # fmt: skip

_SMOOTH = 0.02  # errors below two per cent weigh as squares, larger ones by their size
_RIDGE = 1e-5  # keeps a constant that no measurement speaks of where it started
_STARTS = (1e-6, 1e-5)  # seconds an op, where the search begins


@dataclass(frozen=True, slots=True)
class Measurement:
    """Work that ran on one device, and the seconds that it took.

    ``steps`` is how many passes the work is (each has its own overhead), ``messages`` what the
    device sent meanwhile; ``name`` says which row it is.

    >>> from costlib import matmul
    >>> Measurement(matmul(1, 4096, 4096), 26.6e-6).seconds
    2.66e-05
    >>> Measurement(matmul(1, 4096, 4096), -1)
    Traceback (most recent call last):
        ...
    ValueError: seconds must be a positive number, got -1
    """

    work: Ledger | Op
    seconds: float
    dtype: str = "bf16"
    precision: Precision | None = None
    steps: int = 1
    messages: Messages | None = None
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


@dataclass(frozen=True, slots=True)
class Empirical(Device):
    """A device as measurements found it: a `Device` with constants, and the residuals of the fit.

    ``residuals`` are predicted / measured − 1, a number for each measurement in its order. At level
    "shaped", ``blend`` is the exponent q of (compute^q + memory^q)^(1/q), infinite for a perfect
    overlap, and ``edge`` what a tile pays for its edges: 1 + edge·(1/rows + 1/columns).
    """

    level: str = "calibrated"
    interconnect_efficiency: float = 1
    overhead_per_message: float = 0
    blend: float = np.inf
    edge: float = 0
    residuals: tuple[float, ...] = field(default=(), repr=False)

    @property
    def median_error(self) -> float:
        """The median of the residuals without their signs: on what was fitted, so a best case."""
        return float(np.median(np.abs(self.residuals))) if self.residuals else 0.0

    def __reduce__(self) -> Any:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return partial(Empirical, **values | {"flops_per_s": dict(self.flops_per_s)}), ()


def predict(work: Measurement | Ledger | Op, device: Device, **options: Any) -> float:
    """Seconds that work takes on a device: ideal for a `Device`, fitted for an `Empirical` one.

    ``options`` are the fields of a `Measurement`: dtype, precision, steps, messages.

    >>> from costlib import devices, matmul
    >>> round(predict(matmul(4096, 4096, 4096), devices["A100-80GB"]) * 1e6, 1)
    440.5
    """
    if not isinstance(work, Measurement):
        work = Measurement(work, 1.0, **options)
    return float(_predictions(_flat([work], device), _constants(device))[0])


def parts(work: Measurement | Ledger | Op, device: Device, **options: Any) -> dict[str, float]:
    """Where the predicted seconds go, from the ideal time on; the values add up to `predict`.

    "ideal" is the roofline's time, "rates" what the fitted efficiencies add, "shapes" what tiles,
    waves and partial overlap add, "launches" the overheads, "messages" the communication.

    >>> from costlib import devices, matmul
    >>> slow = Empirical("toy", {"bf16": 1e14}, 1e12, compute_efficiency=0.5, overhead_per_op=1e-6)
    >>> {part: round(us * 1e6, 2) for part, us in parts(matmul(1000, 1000, 1000), slow).items()}
    {'ideal': 20.0, 'rates': 20.0, 'shapes': 0.0, 'launches': 1.0, 'messages': 0.0}
    """
    if not isinstance(work, Measurement):
        work = Measurement(work, 1.0, **options)
    flat, full = _flat([work], device), _constants(device)
    none = _Constants()
    rates = replace(none, compute=full.compute, bandwidth=full.bandwidth)
    shapes = replace(rates, blend=full.blend, edge=full.edge)
    launched = replace(shapes, op=full.op, step=full.step)
    silent = _without_messages(flat)
    totals = [
        0.0,
        *(float(_predictions(silent, each)[0]) for each in (none, rates, shapes, launched)),
        float(_predictions(flat, full)[0]),
    ]
    names = ("ideal", "rates", "shapes", "launches", "messages")
    return dict(zip(names, np.diff(totals).tolist(), strict=True))


def error(predicted: float, measured: float) -> float:
    """Predicted over measured, minus 1: −0.2 is a prediction that is a fifth too short.

    >>> round(error(8.0, 10.0), 3)
    -0.2
    """
    return predicted / measured - 1


def median_error(measurements: Iterable[Measurement], device: Device) -> float:
    """The median of the errors without their signs.

    >>> from costlib import matmul
    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> rows = [Measurement(matmul(1000, 1000, 1000), t) for t in (20e-6, 25e-6, 40e-6)]
    >>> round(median_error(rows, toy), 3)
    0.2
    """
    rows = _checked(measurements)
    found = _predictions(_flat(rows, device), _constants(device))
    return float(np.median(np.abs(found / [row.seconds for row in rows] - 1)))


def product_shape(op: Op) -> tuple[float, float, float] | None:
    """The m, k and n of one matrix product, read off its costs; None if it is no plain product.

    With weights: k·n of them, m·k and m·n activations. Otherwise from m·k + k·n, m·n and m·k·n.

    >>> from costlib import linear, matmul
    >>> product_shape(linear(7, 512, 2048).ops[0] * 32)
    (7.0, 512.0, 2048.0)
    >>> product_shape(matmul(100, 64, 10))
    (100.0, 64.0, 10.0)
    """
    read, written, count = op.elements_read, op.elements_written, float(op.count)
    if not op.is_matmul or count <= 0 or read.kv or read.scores or written.total <= 0:
        return None
    out, inner = written.total / count, op.flops / 2 / written.total
    if read.weights:
        m, n = read.activations / count / inner, read.weights / count / inner
    else:
        both = read.activations / count / inner
        root = max(both**2 / 4 - out, 0.0) ** 0.5
        m, n = both / 2 + root, both / 2 - root
    if min(m, n, inner) <= 0 or abs(m * n / out - 1) > 1e-6:
        return None  # several products in one op: experts, or a batch
    return round(m, 6), round(inner, 6), round(n, 6)


def fit(
    device: Device,
    measurements: Iterable[Measurement | Sequence[Any]],
    *,
    level: str = "calibrated",
    keep: Iterable[str] = (),
) -> Empirical:
    """The device that explains the measurements best: see `costlib.roofline.calibrate`.

    Least squares on the logarithm of predicted / measured, large errors weighted down so that the
    fit follows the median row. A rate that no row depends on stays ideal. ``keep`` names constants
    that stay what they are in ``device``, which other measurements may have told: fields of
    `Empirical` such as "overhead_per_op".

    >>> from costlib import devices, matmul
    >>> rows = [(matmul(1, 4096, 4096), 27e-6), (matmul(4096, 4096, 4096), 549e-6)]
    >>> [round(abs(residual), 2) for residual in fit(devices["A100-80GB"], rows).residuals]
    [0.0, 0.0]
    """
    if level not in LEVELS:
        raise ValueError(f"level must be {' or '.join(map(repr, LEVELS))}, got {level!r}")
    for name in (keep := tuple(keep)):
        if name not in _FIELDS:
            raise ValueError(f"keep takes {', '.join(_FIELDS)}, got {name!r}")
    rows = _checked(measurements)
    flat, measured = _flat(rows, device), np.array([float(row.seconds) for row in rows])
    search = _Search(_free(flat, level, keep), _constants(device) if keep else _Constants(), keep)

    def residual(point: Any) -> Any:
        return np.log(_predictions(flat, search.constants(point)) / measured)

    found = [_descend(residual, *search.start(seconds)) for seconds in _STARTS]
    best = min(found, key=lambda pair: pair[1])[0]
    return _empirical(device, search.constants(best), level, np.expm1(residual(best)))


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
}
_RATES = ("compute_efficiency", "bandwidth_efficiency", "interconnect_efficiency")


def _free(flat: _Flat, level: str, keep: tuple[str, ...]) -> tuple[str, ...]:
    """The constants that these measurements can tell, less those to keep."""
    names = ["compute_efficiency", "bandwidth_efficiency", "overhead_per_op"]
    if flat.messages.any():
        names += ["overhead_per_message", "interconnect_efficiency"]
    if level == "shaped":
        names += ["blend", "edge"]
        ops = np.bincount(flat.row, flat.count, len(flat.steps)) / flat.steps
        if ops.min() > 1 and ops.max() > 1.2 * ops.min():  # else a step is so many ops, always
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
    blend: float = np.inf
    edge: float = 0.0


@dataclass(frozen=True, slots=True)
class _Search:
    """Constants as a vector of logarithms: those that are free, with the rest as they are."""

    free: tuple[str, ...]
    rest: _Constants
    keep: tuple[str, ...]

    def start(self, seconds: float) -> tuple[Any, Any]:
        """Where the search begins, and where a constant stays that nothing depends on."""
        begin = [np.log(seconds) if n == "overhead_per_op" else _FIELDS[n][1] for n in self.free]
        prior = [0.0 if name in _RATES else _FIELDS[name][1] for name in self.free]
        return np.array(begin), np.array(prior)

    def constants(self, point: Any) -> _Constants:
        """The constants at a point: no rate above its peak, a blend of 1 to 55."""
        values = {}
        for name, value in zip(self.free, map(float, point), strict=True):
            if name in _RATES:
                value = max(value, 0.0)
            shift, most = (1.0, 4.0) if name == "blend" else (0.0, 50.0)
            values[_FIELDS[name][0]] = shift + float(np.exp(min(value, most)))
        kept = {_FIELDS[name][0]: getattr(self.rest, _FIELDS[name][0]) for name in self.keep}
        return replace(_Constants(), **kept | values)


@dataclass(frozen=True, slots=True)
class _Flat:
    """Every op of every measurement, one array a column; ``row`` says whose op it is."""

    row: Any
    compute: Any  # ideal seconds
    memory: Any
    count: Any
    tiles: Any  # ideal seconds with whole waves, a line for each kind of tile
    steps: Any
    messages: Any
    sending: Any


def _flat(rows: Sequence[Measurement], device: Device) -> _Flat:
    columns: list[tuple[float, ...]] = []
    tiles = []
    for number, row in enumerate(rows):
        peak = float(device.compute_rate(row.dtype)) / float(device.compute_efficiency)
        for op in (row.work,) if isinstance(row.work, Op) else row.work.ops:
            compute = float(op.flops) / peak
            memory = float(op.bytes(row.precision)) / float(device.bytes_per_s)
            columns.append((number, compute, memory, float(op.count)))
            tiles.append(_whole_waves(op, compute, device.cores))
    whose, compute_times, memory_times, counts = np.array(columns).T
    sent = [(row.messages or Messages(0, 0), row.precision) for row in rows]
    link = float(device.interconnect or np.inf)
    return _Flat(
        row=whose.astype(int),
        compute=compute_times,
        memory=memory_times,
        count=counts,
        tiles=np.array(tiles).T,
        steps=np.array([float(row.steps) for row in rows]),
        messages=np.array([float(each.count) for each, _ in sent]),
        sending=np.array([float(each.bytes(precision)) / link for each, precision in sent]),
    )


def _whole_waves(op: Op, compute: float, cores: int | None) -> list[float]:
    """Ideal seconds of computing if the last wave of tiles is paid in full, for each tile."""
    shape = product_shape(op) if cores else None
    if shape is None or cores is None:
        return [compute] * len(TILES)
    m, _, n = shape
    times = []
    for rows, columns in TILES:
        waves = np.ceil(np.ceil(m / rows) * np.ceil(n / columns) / cores)
        times.append(compute * waves * cores * rows * columns / (m * n))
    return times


_EDGES = np.array([[1 / rows + 1 / columns] for rows, columns in TILES])


def _predictions(flat: _Flat, constants: _Constants) -> Any:
    computing = flat.compute
    if np.isfinite(constants.blend):
        paid = (flat.tiles * (1 + constants.edge * _EDGES)).min(axis=0)
        computing = np.where(flat.tiles[0] == flat.compute, flat.compute, paid)
    spent = _blended(constants.compute * computing, constants.bandwidth * flat.memory, constants)
    spent = spent + constants.op * flat.count
    total = np.bincount(flat.row, spent, len(flat.steps)) + constants.step * flat.steps
    return total + constants.message * flat.messages + constants.link * flat.sending


def _blended(compute: Any, memory: Any, constants: _Constants) -> Any:
    longer, shorter = np.maximum(compute, memory), np.minimum(compute, memory)
    if not np.isfinite(constants.blend):
        return longer
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(longer > 0, shorter / longer, 0.0)
    return longer * (1 + ratio**constants.blend) ** (1 / constants.blend)


def _without_messages(flat: _Flat) -> _Flat:
    return replace(flat, messages=0 * flat.messages, sending=0 * flat.sending)


def _constants(device: Device) -> _Constants:
    common = {
        "compute": 1 / float(device.compute_efficiency),
        "bandwidth": 1 / float(device.bandwidth_efficiency),
        "op": float(device.overhead_per_op),
        "step": float(device.overhead_per_step),
    }
    if not isinstance(device, Empirical):
        return _Constants(**common)
    return _Constants(
        **common,
        message=device.overhead_per_message,
        link=1 / device.interconnect_efficiency,
        blend=device.blend,
        edge=device.edge,
    )


def _empirical(device: Device, found: _Constants, level: str, residuals: Any) -> Empirical:
    same = {each.name: getattr(device, each.name) for each in fields(Device)}
    fitted = {
        "compute_efficiency": 1 / found.compute,
        "bandwidth_efficiency": 1 / found.bandwidth,
        "overhead_per_op": found.op if found.op > 1e-10 else 0.0,
        "overhead_per_step": found.step if found.step > 1e-10 else 0.0,
        "interconnect_efficiency": 1 / found.link,
        "overhead_per_message": found.message,
        "blend": found.blend,
        "edge": found.edge,
    }
    return Empirical(**same | fitted, level=level, residuals=tuple(map(float, residuals)))


def _descend(
    residual: Callable[[Any], Any], start: Any, prior: Any, most: int = 200
) -> tuple[Any, float]:
    """Levenberg and Marquardt's least squares, with weights that make large errors count less."""
    point, damping = start, 1e-2

    def cost(at: Any) -> float:
        errors = residual(at)
        return float(np.sum(np.hypot(errors, _SMOOTH)) + _RIDGE * np.sum((at - prior) ** 2))

    value = cost(point)
    for _ in range(most):
        errors = residual(point)
        slopes = np.column_stack(
            [(residual(point + step) - errors) / 1e-5 for step in 1e-5 * np.eye(len(point))]
        )
        weighted = slopes / np.hypot(errors, _SMOOTH)[:, None]
        ridge = _RIDGE * np.eye(len(point))
        gradient = weighted.T @ errors + 2 * ridge @ (point - prior)
        curve = weighted.T @ slopes + 2 * ridge
        step = np.linalg.solve(curve + damping * np.diag(np.diag(curve)), -gradient)
        moved = cost(point + step)
        if moved < value:
            done = value - moved < 1e-9 * value
            point, value, damping = point + step, moved, max(damping / 3, 1e-9)
            if done:
                break
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
        elif isinstance(each, (tuple, list)) and 2 <= len(each) <= 4:
            rows.append(Measurement(*each))
        else:
            raise TypeError(
                "a measurement is a Measurement or (work, seconds[, dtype[, precision]]), "
                f"got {each!r} at place {number}"
            )
    if not rows:
        raise ValueError("measurements must hold at least one row")
    for number, row in enumerate(rows):
        if not (row.work.flops or row.work.elements):
            raise ValueError(f"the work of measurement {number} does nothing and moves nothing")
    return rows
