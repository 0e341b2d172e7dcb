"""Measure the machine that runs this: products and copies, with NumPy or with torch.

Every row is a `costlib.measured.Measurement`, so that what was measured here can be calibrated
and predicted like what others published. `costlib measure` in a shell prints the table and draws
the machine's own roofline.

Left out: everything but plain products and copies, and what else the machine was doing meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from costlib.layers.matmul import matmul
from costlib.measured.calibration import Measurement, calibrate, error
from costlib.units.device import Device
from costlib.units.display import quantity
from costlib.units.ledger import Elements, Op
from costlib.units.precision import precision_of

__all__ = [
    "COPIES",
    "PRODUCTS",
    "best_seconds",
    "copy",
    "machine",
    "measure",
    "report",
    "summary",
    "table",
]

#: Products that are timed, as (m, k, n): squares, and a matrix times few vectors.
PRODUCTS = (
    (64, 64, 64),
    (128, 128, 128),
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (1, 2048, 2048),
    (8, 2048, 2048),
    (64, 2048, 2048),
)

#: Elements of the arrays that are copied.
COPIES = (10**5, 10**6, 10**7, 3 * 10**7)


def best_seconds(run: Callable[[], Any], repeats: int = 5, least: float = 0.1) -> float:
    """Seconds of the fastest of ``repeats`` runs, or of more until ``least`` seconds have passed.

    The shortest and not the mean: other programs can only make a run longer.

    >>> best_seconds(lambda: None) < 1
    True
    """
    run()  # does not count: it starts threads and fills caches
    begun, runs, best = perf_counter(), 0, float("inf")
    while runs < repeats or perf_counter() - begun < least:
        start = perf_counter()
        run()
        best, runs = min(best, perf_counter() - start), runs + 1
    return best


def copy(elements: int) -> Op:
    """A copy of ``elements`` elements: each is read and written, and there are no FLOPs.

    >>> copy(1000).flops, copy(1000).bytes("fp32")
    (0, 8000)
    """
    moved = Elements(activations=elements)
    return Op("copy", 0, elements_read=moved, elements_written=moved)


def measure(
    products: Sequence[tuple[int, int, int]] = PRODUCTS,
    copies: Sequence[int] = COPIES,
    *,
    device: str = "cpu",
    repeats: int = 5,
) -> list[Measurement]:
    """Time products and copies here: NumPy in fp32 on "cpu", torch in bf16 on "cuda".

    >>> [row.name for row in measure([(8, 8, 8)], [1000], repeats=1)]
    ['8×8 by 8×8', 'copy of 1 k']
    """
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    runs: _Numpy | _Torch = _Numpy() if device == "cpu" else _Torch()
    precision = "fp32" if device == "cpu" else "bf16"
    rows = []
    for m, k, n in products:
        seconds = best_seconds(runs.product(m, k, n), repeats)
        name = f"{m}×{k} by {k}×{n}"
        rows.append(Measurement(matmul(m, k, n), seconds, precision, name=name))
    for elements in copies:
        seconds = best_seconds(runs.copy(elements), repeats)
        name = f"copy of {quantity(elements, '').strip()}"
        rows.append(Measurement(copy(elements), seconds, precision, name=name))
    return rows


def machine(rows: Sequence[Measurement], name: str = "this machine") -> Device:
    """A device with the measured rates of the best product and the largest copy.

    A small copy may be served from a cache, and then it is faster than the memory.

    >>> rows = [Measurement(matmul(100, 100, 100), 1e-3), Measurement(copy(1000), 1e-6)]
    >>> machine(rows).bytes_per_s
    4000000000.0
    """
    products = [row for row in rows if row.work.flops]
    copies = [row for row in rows if not row.work.flops]
    if not (products and copies):
        raise ValueError("a machine needs at least one product and one copy")
    peak = max(row.work.flops / row.seconds for row in products)
    largest = max(copies, key=lambda row: row.work.bytes(row.precision))
    bandwidth = largest.work.bytes(largest.precision) / largest.seconds
    compute = precision_of(products[0].precision).compute or "bf16"
    return Device(name, {compute: peak}, bandwidth)


def report(rows: Sequence[Measurement]) -> str:
    """The table and the summary of the rows as text.

    >>> rows = [Measurement(matmul(100, 100, 100), 1e-3, name="p"), Measurement(copy(1000), 1e-6)]
    >>> print(report(rows).splitlines()[0].split())
    ['what', 'time', 'FLOP/s', 'B/s', 'predicted', 'error']
    """
    told = table(rows)
    lines = [dict(zip(told[0], told[0], strict=True)), *told]
    widths = (-23, 10, 15, 13, 11, 8)
    texts = ("".join(map(_aligned, line.values(), widths)) for line in lines)
    return "\n".join((*texts, summary(rows)))


def _aligned(text: str, width: int) -> str:
    """At the left of ``width`` places if it is negative, and at the right if not."""
    return text.ljust(-width) if width < 0 else text.rjust(width)


def table(rows: Sequence[Measurement]) -> list[dict[str, str]]:
    """Each row in words: seconds, rates, and what the calibrated roofline predicts.

    >>> rows = [Measurement(matmul(100, 100, 100), 1e-3, name="p"), Measurement(copy(1000), 1e-6)]
    >>> table(rows)[0]["time"], table(rows)[0]["FLOP/s"]
    ('1 ms', '2 GFLOP/s')
    """
    fitted = calibrate(machine(rows), rows)
    return [
        {
            "what": row.name,
            "time": quantity(row.seconds, "s", 3),
            "FLOP/s": quantity(row.work.flops / row.seconds, "FLOP/s", 3)
            if row.work.flops
            else "–",
            "B/s": quantity(row.work.bytes(row.precision) / row.seconds, "B/s", 3),
            "predicted": quantity(predicted := row.predicted(fitted), "s", 3),
            "error": f"{error(predicted, row.seconds):+.0%}",
        }
        for row in rows
    ]


def summary(rows: Sequence[Measurement]) -> str:
    """The best rates of the rows, and the calibration to them, in two lines.

    >>> rows = [Measurement(matmul(100, 100, 100), 1e-3, name="p"), Measurement(copy(1000), 1e-6)]
    >>> summary(rows).splitlines()[0]
    'best: 2 GFLOP/s (bf16), 4 GB/s, ridge 0.5 FLOPs per byte'
    """
    ideal = machine(rows)
    fitted = calibrate(ideal, rows)
    [(compute, peak)] = ideal.flops_per_s.items()
    return (
        f"best: {quantity(peak, 'FLOP/s')} ({compute}), "
        f"{quantity(ideal.bytes_per_s, 'B/s')}, ridge {ideal.ridge(compute):.1f} FLOPs per byte\n"
        f"calibrated: {quantity(fitted.overhead_per_op, 's')} a call; "
        f"median error {fitted.median_error:.0%}"
    )


class _Numpy:
    """Runs that NumPy does, in 32 bits."""

    def product(self, m: int, k: int, n: int) -> Callable[[], Any]:
        left, right = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
        out = np.empty((m, n), np.float32)
        return lambda: np.matmul(left, right, out=out)

    def copy(self, elements: int) -> Callable[[], Any]:
        source, target = np.ones(elements, np.float32), np.empty(elements, np.float32)
        return lambda: np.copyto(target, source)


class _Torch:
    """Runs that torch does on a GPU, in bf16; each waits until the GPU is done."""

    def __init__(self) -> None:
        try:
            self.torch: Any = __import__("torch")
        except ImportError:
            raise RuntimeError("device 'cuda' needs torch, which is not installed") from None
        if not self.torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU here: measure the CPU instead")

    def product(self, m: int, k: int, n: int) -> Callable[[], Any]:
        left, right = self._ones(m, k), self._ones(k, n)
        return lambda: (left @ right, self.torch.cuda.synchronize())

    def copy(self, elements: int) -> Callable[[], Any]:
        source, target = self._ones(elements), self._ones(elements)
        return lambda: (target.copy_(source), self.torch.cuda.synchronize())

    def _ones(self, *shape: int) -> Any:
        return self.torch.ones(shape, dtype=self.torch.bfloat16, device="cuda")
