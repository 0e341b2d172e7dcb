"""What costlib predicts of the cases of `measure_gpu.py`, and how far measurements are from it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from statistics import median
from typing import Any

from costlib import Ledger, Precision, Transformer, attention, devices, matmul
from costlib.layers.attention import attention_backward
from costlib.measured import LEVELS, Measurement, calibrate, error, fused, published
from costlib.measured.calibration import IDEAL
from costlib.measured.timing import copy
from costlib.timing.roofline import time
from costlib.units.ledger import Elements, Op
from costlib.units.precision import precision_of

Case = dict[str, Any]

#: Rows of queries that one block of FlashAttention 2 holds: K and V come once for each block.
QUERY_ROWS = 128
#: Where a case is a prediction's too: memory, launches and watts are not computed by costlib.
PREDICTED = ("copy", "gemm", "attention", "decode", "cached_attention")
#: Rows that others published of an H100 (of decode steps, of an A100), whose constants are carried.
CARRIED = {
    "gemm": ("gemm", "H100-SXM"),
    "attention": ("attention_prefill", "H100-SXM"),
    "cached_attention": ("attention_decode", "H100-SXM"),
    "decode": ("decode", "A100-80GB"),
}


def work_of(case: Case) -> tuple[Any, Any]:
    """What costlib counts for a case, and the precision it is done in."""
    sizes = dict(case)
    kind = sizes.pop("kind")
    if kind == "copy":
        return copy(**sizes), None
    if kind == "gemm":
        eight = Precision(weights=1, activations=1, compute="fp8")
        m, k, n = sizes["m"], sizes["k"], sizes["n"]
        ops = [*([cast(m * k), cast(n * k)] if sizes.get("casts") else []), matmul(m, k, n)]
        return Ledger(tuple(ops)), eight if sizes["precision"] == "fp8" else None
    if kind == "attention":
        return attention_of(sizes), None
    if kind == "cached_attention":
        batch, heads, head_dim = (sizes[name] for name in ("batch", "heads", "head_dim"))
        over = {"kv_heads": sizes["kv_heads"], "context": sizes["context"]}
        return fused(attention(batch, 1, heads, head_dim, **over), "cached attention"), None
    batch, context = sizes.pop("batch"), sizes.pop("context")
    whole = Transformer(vocab=1, rotary_dim=0, **sizes).decode(batch, context - 1)
    return whole.without("embedding", "unembedding", "final_norm"), None


def cast(elements: int) -> Any:
    """From bf16 to fp8 with a scale of its own: two bytes are read for the largest entry and two to
    divide by it, one is written. In bytes, as the product beside it has one for each element."""
    read, written = Elements(activations=4 * elements), Elements(activations=elements)
    return Op("cast", 0, elements_read=read, elements_written=written)


def attention_of(sizes: dict[str, Any]) -> Any:
    """Attention as its kernels run: op by op with the squares in memory, or one kernel a pass."""
    shape = sizes["batch"], sizes["N"], sizes["heads"], sizes["d"]
    is_math = sizes["how"] == "math"
    scores = "materialised" if is_math else "on-chip"
    forward = attention(*shape, scores=scores)
    back = attention_backward(*shape, scores=scores) if sizes["backward"] else None
    passes = {"forward": forward, **({"backward": back} if back else {})}
    if is_math:
        return Ledger(tuple(op for ledger in passes.values() for op in ledger))
    ops = [fused(ledger, name) for name, ledger in passes.items()]
    return Ledger((*ops, *([second_pass(*shape)] if sizes["how"] == "flex" else [])))


def second_pass(batch: int, length: int, heads: int, d: int) -> Any:
    """What a backward pass of two passes does twice: S and dP, and reading Q, K, V and dO."""
    tensor = batch * length * heads * d
    return Op("second pass", 4 * tensor * length, elements_read=Elements(activations=4 * tensor))


def l2_bytes(case: Case) -> dict[str, float]:
    """Bytes between L2 and the cores if nothing stays in a core from one tile to the next. For
    attention: Q and O once, K and V once for each of ⌈N/rows⌉ blocks of queries. For a product:
    each tile of the result reads its rows and its columns."""
    if case["kind"] == "gemm" and case.get("tile"):
        m, k, n, tile = (case[name] for name in ("m", "k", "n", "tile"))
        return {
            "l2_bytes": 2.0 * (m * k * math.ceil(n / tile) + k * n * math.ceil(m / tile) + m * n)
        }
    if case.get("how") not in ("flash", "tiled") or case["backward"]:
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


def predicted(case: Case, name: str) -> Case:
    """The seconds and bytes of a case by costlib's ideal roofline on a device, and the seconds with
    constants that others' rows gave, where there are such rows."""
    work, precision = work_of(case)
    seconds = float(time(work, devices[name], precision=precision))
    moved = float(work.bytes(precision_of(precision)))
    how = carried(case["kind"], name) if case.get("how") != "math" else None
    told = {"carried": float(time(work, how, precision=precision))} if how else {}
    return {"case": case, "seconds": seconds, **told, "bytes": moved, **l2_bytes(case)}


def predictions(name: str, cases: Iterable[Case]) -> list[Case]:
    """Those of the cases that costlib has a word on."""
    return [predicted(case, name) for case in cases if case["kind"] in PREDICTED]


def compared(rows: list[Case], told: list[Case], name: str, busy: dict[str, Case]) -> str:
    """How far predictions are from what was measured: those that were told, by the datasheet, and
    fits of each half of the rows to the other half; every row that the datasheet has more than half
    wrong; bytes counted beside bytes predicted; and joules."""
    stood = {json.dumps(row["case"]): row for row in told}
    lines = [f"{'rows':24}{'n':>4}{'level':>12}{'median':>9}{'90th':>9}{'worst':>9}"]
    far = []
    for label, group in measurements(rows).items():
        ideal = [
            (error(stood[m.name]["seconds"], m.seconds), m.name) for m in group if m.name in stood
        ]
        off = {"ideal": ideal} if ideal else {}
        for fit, held in ((group[::2], group[1::2]), (group[1::2], group[::2])):
            for level in LEVELS if len(fit) >= 4 else ():
                on = calibrate(name, fit, level=level)
                missed = [(error(m.predicted(on), m.seconds), m.name) for m in held]
                off[level] = off.get(level, []) + missed
        for level, errors in off.items():
            low = sorted(abs(value) for value, _ in errors)
            shown = (median(low), low[math.ceil(0.9 * len(low)) - 1], low[-1])
            figures = "".join(f"{value:>9.0%}" for value in shown)
            lines.append(f"{label:24}{len(low):>4}{level:>12}{figures}")
        far += [f"{value:+.0%} {case}" for value, case in ideal if abs(value) > 0.5]
    more = [*counted(rows, stood), *joules(rows, busy)]
    return "\n".join([*lines, "", "datasheet more than half wrong:", *far, *more])


def counted(rows: Iterable[Case], stood: dict[str, Case]) -> list[str]:
    """Bytes that ncu counted, as a multiple of those that were predicted."""
    lines = [
        f"{kind} {row[kind] / stood[name][kind]:.2f} times {name}"
        for row, name in ((row, json.dumps(row["case"])) for row in rows)
        for kind in ("bytes", "l2_bytes")
        if row.get(kind) and stood.get(name, {}).get(kind)
    ]
    return lines and ["", "counted as a multiple of predicted:", *lines]


def joules(rows: Iterable[Case], busy: dict[str, Case]) -> list[str]:
    """Picojoules above idle for each FLOP of a product and each byte of a copy, run as busy."""
    power = {row["case"]["how"]: row for row in rows if row["case"]["kind"] == "power"}
    lines, idle = [], power.get("idle", {}).get("watts")
    for how, unit in (("gemm", "FLOP"), ("copy", "byte")):
        row = power.get(how, {})
        if idle and row.get("watts"):
            work = work_of(busy[how])[0]
            each = float(work.flops if unit == "FLOP" else work.bytes("bf16"))
            spent = (row["watts"] - idle) * row["seconds"] / each
            lines.append(f"{spent * 1e12:.2f} pJ a {unit} above idle")
    return lines and ["", *lines]


def measurements(rows: Iterable[Case]) -> dict[str, list[Any]]:
    """The timed rows that costlib can predict, by kind, as its measurements."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        case = row["case"]
        if case["kind"] not in PREDICTED or not row.get("seconds"):
            continue
        work, precision = work_of(case)
        words = [case["kind"], *(case[k] for k in ("precision", "how") if k in case)]
        words += ["both ways"] if case.get("backward") else []
        made = Measurement(work, row["seconds"], precision=precision, name=json.dumps(case))
        groups.setdefault(" ".join(words), []).append(made)
    return groups
