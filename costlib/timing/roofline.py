"""Chapter 5: how long a cost takes on a device. `time` is the one answer to that question.

A step of intensity I (FLOPs per byte) runs at no more than min(peak, I·bandwidth). Computing and
moving overlap, so the longer of the two binds; launching and sending come on top. The same formula
serves ideal and calibrated devices: it reads what a `Device` says of itself.

Left out: what devices leave out (see `costlib.Device`), and sending that hides behind computing.
"""

from __future__ import annotations

from typing import Any
from warnings import warn

from costlib.model.catalog import device_of, model_of
from costlib.model.engines import Engine
from costlib.model.kvcache import held_bytes, largest_batch
from costlib.model.transformer import Transformer
from costlib.timing import sweeps
from costlib.timing.limits import (
    DoesNotFit,
    Limit,
    as_computed,
    each_seconds,
    limits,
    meant,
    ops_of,
    overlapped,
    ratio,
    total,
)
from costlib.timing.waves import TILES, heads_served, may_hold, product_shape, wave_factors
from costlib.units.device import Device
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import (
    Number,
    amount,
    choose,
    extra,
    is_lazy,
    is_one,
    is_symbolic,
    is_zero,
    maximum,
)
from costlib.units.precision import Precision
from costlib.units.unfolded import Unfolded

__all__ = [
    "TILES",
    "Device",
    "DoesNotFit",
    "Limit",
    "as_computed",
    "fits",
    "heads_served",
    "limits",
    "overlapped",
    "product_shape",
    "table",
    "time",
    "wave_factors",
]

OVERLAPS = ("perfect", "none")
GRANULARITIES = ("op", "step")
TOO_LARGE = ("warn", "ignore", "error")


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
    choose("too_large", too_large, TOO_LARGE)
    steps, device = amount("steps", steps, least=0), device_of(device)
    each = meant(work, precision, device)
    is_plain = (overlap, granularity) == ("perfect", "op")
    if isinstance(work, Unfolded) and is_plain and (found := sweeps.seconds(work, device, each)):
        check_room(found[1], device, too_large)
        return total([found[0], device.overhead_per_step * steps])
    ops = ops_of(work)
    if isinstance(work, Ledger) and work.holds is not None and too_large != "ignore":
        check_room(held_bytes(work.holds, each), device, too_large)
    rates = device.compute_rate(each.compute), device.memory_rate
    each_op = each_seconds(ops, device, each, rates)
    spent: list[Number] = [device.overhead_per_step * steps]
    if each_op and overlap == "perfect" and granularity == "step":
        computing, moving, waiting, sending, _, floors = map(list, zip(*each_op, strict=True))
        busy = overlapped(total(computing), total(moving), device.blend)
        return total([*spent, maximum(busy, total(floors)), *waiting, *sending])
    for compute, memory, waits, sends, blend, floor in each_op:
        busy = compute + memory if overlap == "none" else overlapped(compute, memory, blend)
        spent += (busy if is_zero(floor) else maximum(busy, floor), waits, sends)
    return total(spent)


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
    columns = {name: [*values, total(values)] for name, values in columns.items()}
    rows = pd.DataFrame(columns, pd.Index([*(point.name for point in points), "total"], name="op"))
    rows["intensity"] = [*map(ratio, columns["flops"], columns["bytes"])]
    rows["rate"] = [*map(ratio, columns["flops"], columns["time"])]
    rows["share"] = [ratio(each, columns["time"][-1]) for each in columns["time"]]
    rows["bound"] = [*(point.bound for point in points), ""]
    rows["computed in"] = [*(point.compute for point in points), ""]
    return rows


def fits(
    work: Ledger | Transformer | str,
    device: Device | str,
    precision: Precision | str | None = None,
    *,
    batch: Number = 1,
    context: Number = 0,
    engine: Engine | str | None = None,
) -> Any:
    """Whether what a pass holds, weights and cache, lies in the device's memory less its reserve.

    Of a model, or the name of one, a decode step of ``batch`` sequences with ``context`` tokens
    cached each: unless told, one sequence and none. With an ``engine`` ("vllm", "sglang",
    "llama.cpp", "tensorrt-llm"): whether that engine would take the pass's sequences on, with its
    pages and what it keeps for itself.

    >>> from costlib import Transformer
    >>> llama = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> fits(llama.decode(1, 4096), "RTX-4090"), fits(llama.decode(8, 4096), "RTX-4090")
    (True, False)
    >>> fits(llama, "RTX-4090", batch=8, context=4096)
    False
    >>> fits("llama-3.1-70b", "H100-SXM"), fits("llama-3.1-70b", "H100-SXM", "int4")
    (False, True)
    >>> from costlib import models
    >>> step = models["gemma-3-12b"].decode(9, 16_383)
    >>> fits(step, "A100-40GB"), fits(step, "A100-40GB", engine="vllm")
    (True, False)
    """
    device = device_of(device)
    if not isinstance(work, (Ledger, Op)):
        work = model_of(work).decode(batch, context)
    elif not (is_one(batch) and is_zero(context)):
        raise ValueError("batch and context belong to a model, and work is the ledger of a pass")
    if isinstance(work, Op) or work.holds is None:
        raise ValueError("only a whole pass, such as model.decode(1, 4096), says what it holds")
    if engine is not None:
        held = work.holds
        found = largest_batch(held.model, device, held.context, precision, engine=engine)
        return found.largest >= held.batch
    return held_bytes(work.holds, work.at(precision)) <= device.usable


def check_room(
    held: Any,
    device: Device,
    too_large: str,
    what: str = "this pass holds",
    kinds: str = "weights and cache",
    more: str = "costlib.fits asks beforehand, and too_large='ignore' times the pass nevertheless",
) -> None:
    """Warn or raise, for the caller of who asks, if so many bytes do not fit the device."""
    choose("too_large", too_large, TOO_LARGE)
    if device.capacity is None or too_large == "ignore":
        return
    if is_symbolic(held, device.capacity) or is_lazy(held) or not may_hold(held > device.usable):
        return
    text = (
        f"{what} {_gigabytes(held)} of {kinds}, and {device.name} has {_gigabytes(device.usable)} "
        f"of usable memory ({_gigabytes(device.capacity)} in all): {more}"
    )
    if too_large == "error":
        raise ValueError(text)
    warn(text, DoesNotFit, stacklevel=3)


def _gigabytes(count: Any) -> str:
    largest = count if isinstance(count, (int, float)) else count.max()
    return f"{float(largest) / 1e9:.1f} GB"
