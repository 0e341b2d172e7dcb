"""What costlib predicts of the cases of `measure_gpu.py`, and how far measurements are from it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from statistics import median
from typing import Any

from costlib import devices
from costlib.measured import LEVELS, calibrate, error, published
from costlib.measured.calibration import IDEAL
from costlib.measured.gpus import (
    BUSY,
    GpuRow,
    beside,
    energies,
    gpu_rows,
    group_of,
    halves,
    work_of,
)
from costlib.timing.roofline import time
from costlib.units.precision import precision_of

Case = dict[str, Any]

#: Rows of queries that one block of FlashAttention 2 holds: K and V come once for each block.
QUERY_ROWS = 128
#: Where a case is a prediction's too: memory, launches and watts are not computed by costlib.
PREDICTED = ("copy", "scale", "read", "write", "gemm", "attention", "decode", "cached_attention")
#: Watts that an H100 or an H200 may take.
LIMIT = 700
#: Rows that others published of an H100 (of decode steps, of an A100), whose constants are carried.
CARRIED = {
    "gemm": ("gemm", "H100-SXM"),
    "attention": ("attention_prefill", "H100-SXM"),
    "cached_attention": ("attention_decode", "H100-SXM"),
    "decode": ("decode", "A100-80GB"),
}


def l2_bytes(case: Case) -> dict[str, float]:
    """Bytes between L2 and the cores if nothing stays in a core from one tile to the next. For
    attention: Q and O once, K and V once for each of ⌈N/rows⌉ blocks of queries. For a product:
    each tile of the result reads its rows and its columns."""
    if case["kind"] == "gemm" and case.get("tile"):
        m, k, n, tile = (case[name] for name in ("m", "k", "n", "tile"))
        return {
            "l2_bytes": 2.0 * (m * k * math.ceil(n / tile) + k * n * math.ceil(m / tile) + m * n)
        }
    if case.get("how") not in ("flash", "tiled") or case["backward"] or case.get("causal"):
        return {}
    tensor = case["batch"] * case["heads"] * case["N"] * case["d"]
    rows = case.get("rows", QUERY_ROWS)
    return {"l2_bytes": 2.0 * tensor * 2 * (1 + math.ceil(case["N"] / rows))}


@cache
def carried(kind: str, name: str) -> Any:
    """A device with the constants that published rows of that kind gave another, or nothing."""
    if kind not in CARRIED:
        return None
    rows, other = CARRIED[kind]
    whole = [r.measurement for r in published(rows, device=other) if r.get("gpus", 1) == 1]
    fitted = calibrate(
        other, [m for m in whole if precision_of(m.precision).weights == 2], level="shaped"
    )
    return devices[name].with_(**{constant: getattr(fitted, constant) for constant in IDEAL})


#: FLOPs that FlashAttention 2 did in a second on our H100, at 128 columns and 4,096 tokens, and the
#: share of the bandwidth that a long copy reached.
FLASH_RATE, COPIED = 3.62e14, 0.9


def padded_flops(case: Case) -> float:
    """FLOPs of attention in a step if a kernel computes a whole block of query rows for each KV
    head of each sequence, of which a token fills only the few heads that share the KV head. With
    few of these pieces, a kernel with blocks of 64 rows divides the cache. The limit stands here as
    it was told; the kernel's own is twice as high."""
    pieces = case["batch"] * case["kv_heads"]
    rows = QUERY_ROWS if pieces > 0.8 * 132 else QUERY_ROWS // 2
    layers = case.get("layers", 1)
    return 4.0 * layers * pieces * rows * case["context"] * case["head_dim"]


def padded_seconds(case: Case, name: str) -> float:
    """Seconds of attention in a step, or of a whole step, with those blocks."""
    alone = case if case["kind"] != "decode" else {**case, "kind": "cached_attention"}
    moved = float(work_of(alone)[0].bytes("bf16")) * case.get("layers", 1)
    there = devices[name]
    padded = max(padded_flops(case) / FLASH_RATE, moved / (COPIED * there.bytes_per_s))
    if case["kind"] == "cached_attention":
        return padded
    rest = work_of(case)[0].without("scores", "softmax", "values")
    return padded + float(time(rest, from_h100("decode", name)))


@cache
def from_h100(group: str, name: str) -> Any:
    """A device with the constants of our rows of an H100 of that group, or nothing."""
    rows = measurements(gpu_rows("H100")).get(group, [])
    if len(rows) < 4:
        return None
    fitted = calibrate("H100-SXM", rows, level="shaped")
    return devices[name].with_(**{constant: getattr(fitted, constant) for constant in IDEAL})


def busy_joules(case: Case, name: str) -> Case:
    """Seconds and joules of one run of what keeps a GPU busy, by the energies of our H100. Where it
    would take more than its limit, the limit says how long it takes."""
    run = BUSY[case["how"]]
    work, precision = work_of(run)
    spent = energies(gpu_rows("H100"))
    dynamic = float(work.bytes(precision_of(precision))) * spent["byte"]
    dynamic += float(work.flops) * spent["fp8" if run.get("precision") == "fp8" else "bf16"]
    like = from_h100(group_of(run), name) or from_h100("copy", name)
    seconds = float(time(work, like, precision=precision))
    if run["kind"] == "decode":
        dynamic += padded_flops(run) * spent["bf16"]
        seconds = padded_seconds(run, name)
    seconds = max(seconds, dynamic / (LIMIT - spent["idle"]))
    return {"case": case, "seconds": seconds, "joules": dynamic + spent["idle"] * seconds}


def predicted(case: Case, name: str) -> Case:
    """The seconds and bytes of a case by costlib's ideal roofline on a device, and the seconds with
    constants that others' rows gave, where there are such rows."""
    work, precision = work_of(case)
    seconds = float(time(work, devices[name], precision=precision))
    moved = float(work.bytes(precision_of(precision)))
    how = carried(case["kind"], name) if case.get("how") != "math" else None
    told = {"carried": float(time(work, how, precision=precision))} if how else {}
    own = from_h100(group_of(case), name) if name != "H100-SXM" else None
    told |= {"from_h100": float(time(work, own, precision=precision))} if own else {}
    if case["kind"] in ("decode", "cached_attention"):
        told["padded"] = padded_seconds(case, name)
    return {"case": case, "seconds": seconds, **told, "bytes": moved, **l2_bytes(case)}


def predictions(name: str, cases: Iterable[Case]) -> list[Case]:
    """Those of the cases that costlib has a word on; joules, where another GPU has told its own."""
    told = list(cases)
    found = [predicted(case, name) for case in told if case["kind"] in PREDICTED]
    others = [c for c in told if c["kind"] == "power" and c["how"] in BUSY and name != "H100-SXM"]
    return [*found, *(busy_joules(case, name) for case in others)]


#: What was told before a run, and under which name: by the datasheet alone, with constants of rows
#: that others published, with constants of our H100.
TOLD = {"ideal": "seconds", "carried": "carried", "from H100": "from_h100", "padded": "padded"}


def compared(rows: list[Case], told: list[Case], name: str) -> str:
    """How far predictions are from what was measured: those that were told, and fits of each half
    of the rows to the other half; every row that the datasheet has more than half wrong; bytes
    counted beside bytes predicted; and joules."""
    every = beside(rows, told)
    lines = [f"{'rows':24}{'n':>4}{'level':>12}{'median':>9}{'90th':>9}{'worst':>9}"]
    groups: dict[str, list[GpuRow]] = {}
    for row in every:
        if row["kind"] in PREDICTED:
            groups.setdefault(group_of(row.case), []).append(row)
    for group, of_group in groups.items():
        for level, errors in {**told_errors(of_group), **fitted_errors(of_group, name)}.items():
            low = sorted(map(abs, errors))
            shown = (median(low), low[math.ceil(0.9 * len(low)) - 1], low[-1])
            figures = "".join(f"{value:>9.0%}" for value in shown)
            lines.append(f"{group:24}{len(low):>4}{level:>12}{figures}")
    ideal = [(error(r.told["seconds"], r.found["seconds"]), r) for r in every if "bytes" in r.told]
    far = [f"{value:+.0%} {json.dumps(row.case)}" for value, row in ideal if abs(value) > 0.5]
    return "\n".join(
        [*lines, "", "datasheet more than half wrong:", *far, *counted(every), *joules(every)]
    )


def told_errors(rows: Iterable[GpuRow]) -> dict[str, list[float]]:
    """Errors of what was told before the run, by the name it was told under."""
    off: dict[str, list[float]] = {}
    for row in rows:
        for level, key in TOLD.items():
            if key in row.told:
                off.setdefault(level, []).append(error(row.told[key], row.found["seconds"]))
    return off


def fitted_errors(rows: list[GpuRow], name: str) -> dict[str, list[float]]:
    """Errors on each half of the rows of what each level fits to the other, where there are any."""
    found = {level: halves(rows, name, level) for level in LEVELS}
    return {level: errors for level, errors in found.items() if errors}


def joules(rows: Iterable[GpuRow]) -> list[str]:
    """Watts of an idle GPU, energies above them, and joules beside those that were told."""
    power = [row for row in rows if row["kind"] == "power" and row.found.get("joules")]
    if not {"idle", "copy", "gemm", "fp8 gemm"} <= {row["how"] for row in power}:
        return []
    found = energies(power)
    lines = ["", f"{found.pop('idle'):.0f} W idle"]
    lines += [f"{each * 1e12:.2f} pJ above idle, {unit}" for unit, each in found.items()]
    for row in power:
        each, told = row.found, row.told
        beside_it = f", told {told['joules']:.3g} J and {told['seconds']:.3g} s" if told else ""
        lines.append(f"{row['how']}: {each['joules']:.3g} J, {each['seconds']:.3g} s{beside_it}")
    return lines


def counted(rows: Iterable[GpuRow]) -> list[str]:
    """Bytes that ncu counted, as a multiple of those that were predicted."""
    lines = [
        f"{kind} {row.found[kind] / row.told[kind]:.2f} times {json.dumps(row.case)}"
        for row in rows
        for kind in ("bytes", "l2_bytes")
        if row.found.get(kind) and row.told.get(kind)
    ]
    return lines and ["", "counted as a multiple of predicted:", *lines]


def measurements(rows: Iterable[GpuRow]) -> dict[str, list[Any]]:
    """The timed rows that costlib can predict, by group, as its measurements."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        if row["kind"] in PREDICTED and row.found.get("seconds"):
            groups.setdefault(group_of(row.case), []).append(row.measurement)
    return groups
