"""What costlib predicts of the cases of `measure_gpu.py`, and how far measurements are from it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
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


def work_of(case: Case) -> tuple[Any, Any]:
    """What costlib counts for a case, and the precision it is done in."""
    sizes = dict(case)
    kind = sizes.pop("kind")
    if kind in ("copy", "scale"):
        return copy(**sizes), None
    if kind in ("read", "write"):
        moved = Elements(activations=sizes["elements"])
        there = {"elements_read" if kind == "read" else "elements_written": moved}
        return Op(kind, 0, **there), None
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
    forward = attention(*shape, scores=scores, causal=sizes.get("causal", False))
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
    fewer pieces of work than cores, a kernel with blocks of 64 rows cuts the cache in parts."""
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
def measured_rows() -> list[Case]:
    """What we measured on an H100 before any other GPU."""
    path = Path(__file__).with_name("measured_h100.json")
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.exists() else []


def label(case: Case) -> str:
    """Which rows share their constants."""
    words = [case["kind"], *(case[k] for k in ("precision", "how") if k in case)]
    marks = {"backward": "both ways", "causal": "causal", "casts": "casts", "tile": "tiled"}
    return " ".join([*words, *(word for mark, word in marks.items() if case.get(mark))])


@cache
def from_h100(group: str, name: str) -> Any:
    """A device with the constants of our rows of an H100 of that group, or nothing."""
    rows = measurements(measured_rows()).get(group, [])
    if len(rows) < 4:
        return None
    fitted = calibrate("H100-SXM", rows, level="shaped")
    return devices[name].with_(**{constant: getattr(fitted, constant) for constant in IDEAL})


def busy_joules(case: Case, name: str, busy: dict[str, Case]) -> Case:
    """Seconds and joules of one run of what keeps a GPU busy, by the energies of our H100. Where it
    would take more than its limit, the limit says how long it takes."""
    run = busy[case["how"]]
    work, precision = work_of(run)
    spent = energies(measured_rows(), busy)
    rate = "fp8" if run.get("precision") == "fp8" else "bf16"
    dynamic = (
        float(work.flops) * spent[rate] + float(work.bytes(precision_of(precision))) * spent["byte"]
    )
    like = from_h100(label(run), name) or from_h100("copy", name)
    seconds = float(time(work, like, precision=precision))
    if run["kind"] == "decode":
        dynamic += padded_flops(run) * spent["bf16"]
        seconds = padded_seconds(run, name)
    seconds = max(seconds, dynamic / (LIMIT - spent["idle"]))
    return {"case": case, "seconds": seconds, "joules": dynamic + spent["idle"] * seconds}


def energies(rows: Iterable[Case], busy: dict[str, Case]) -> dict[str, float]:
    """Watts of an idle GPU whose clock is high, and above them the joules of a byte of a copy, and
    of a FLOP of a product in each format, beside its bytes."""
    power = {row["case"]["how"]: row for row in rows if row["case"]["kind"] == "power"}
    found = {"idle": power["idle"]["watts"], "byte": 0.0}
    for how, unit in (("copy", "byte"), ("gemm", "bf16"), ("fp8 gemm", "fp8")):
        work, precision = work_of(busy[how])
        moved = float(work.bytes(precision_of(precision)))
        above = power[how]["joules"] - found["idle"] * power[how]["seconds"]
        found[unit] = (above - moved * found["byte"]) / float(work.flops or moved)
    return found


def predicted(case: Case, name: str) -> Case:
    """The seconds and bytes of a case by costlib's ideal roofline on a device, and the seconds with
    constants that others' rows gave, where there are such rows."""
    work, precision = work_of(case)
    seconds = float(time(work, devices[name], precision=precision))
    moved = float(work.bytes(precision_of(precision)))
    how = carried(case["kind"], name) if case.get("how") != "math" else None
    told = {"carried": float(time(work, how, precision=precision))} if how else {}
    own = from_h100(label(case), name) if name != "H100-SXM" else None
    told |= {"from_h100": float(time(work, own, precision=precision))} if own else {}
    if case["kind"] in ("decode", "cached_attention"):
        told["padded"] = padded_seconds(case, name)
    return {"case": case, "seconds": seconds, **told, "bytes": moved, **l2_bytes(case)}


def predictions(name: str, cases: Iterable[Case], busy: dict[str, Case]) -> list[Case]:
    """Those of the cases that costlib has a word on; joules, where another GPU has told its own."""
    told = list(cases)
    found = [predicted(case, name) for case in told if case["kind"] in PREDICTED]
    others = [c for c in told if c["kind"] == "power" and c["how"] in busy and name != "H100-SXM"]
    return [*found, *(busy_joules(case, name, busy) for case in others)]


#: What was told before a run, and under which name: by the datasheet alone, with constants of rows
#: that others published, with constants of our H100.
TOLD = {"ideal": "seconds", "carried": "carried", "from H100": "from_h100", "padded": "padded"}


def compared(rows: list[Case], told: list[Case], name: str, busy: dict[str, Case]) -> str:
    """How far predictions are from what was measured: those that were told, and fits of each half
    of the rows to the other half; every row that the datasheet has more than half wrong; bytes
    counted beside bytes predicted; and joules."""
    stood = {json.dumps(row["case"]): row for row in told}
    lines = [f"{'rows':24}{'n':>4}{'level':>12}{'median':>9}{'90th':>9}{'worst':>9}"]
    far = []
    for group_label, group in measurements(rows).items():
        off: dict[str, list[float]] = {}
        for m in group:
            for level, key in TOLD.items():
                if key in stood.get(m.name, {}):
                    off.setdefault(level, []).append(error(stood[m.name][key], m.seconds))
        for fit, held in ((group[::2], group[1::2]), (group[1::2], group[::2])):
            for level in LEVELS if len(fit) >= 4 else ():
                on = calibrate(name, fit, level=level)
                off.setdefault(level, []).extend(error(m.predicted(on), m.seconds) for m in held)
        for level, errors in off.items():
            low = sorted(map(abs, errors))
            shown = (median(low), low[math.ceil(0.9 * len(low)) - 1], low[-1])
            figures = "".join(f"{value:>9.0%}" for value in shown)
            lines.append(f"{group_label:24}{len(low):>4}{level:>12}{figures}")
        wrong = (
            (error(stood[m.name]["seconds"], m.seconds), m.name) for m in group if m.name in stood
        )
        far += [f"{value:+.0%} {case}" for value, case in wrong if abs(value) > 0.5]
    more = [*counted(rows, stood), *joules(rows, stood, busy)]
    return "\n".join([*lines, "", "datasheet more than half wrong:", *far, *more])


def joules(rows: list[Case], stood: dict[str, Case], busy: dict[str, Case]) -> list[str]:
    """Watts of an idle GPU, energies above them, and joules beside those that were told."""
    power = [row for row in rows if row["case"]["kind"] == "power" and row.get("joules")]
    if not {"idle", "copy", "gemm", "fp8 gemm"} <= {row["case"]["how"] for row in power}:
        return []
    found = energies(rows, busy)
    lines = ["", f"{found.pop('idle'):.0f} W idle"]
    lines += [f"{each * 1e12:.2f} pJ above idle, {unit}" for unit, each in found.items()]
    for row in power:
        told = stood.get(json.dumps(row["case"]))
        beside = f", told {told['joules']:.3g} J and {told['seconds']:.3g} s" if told else ""
        lines.append(f"{row['case']['how']}: {row['joules']:.3g} J, {row['seconds']:.3g} s{beside}")
    return lines


def counted(rows: Iterable[Case], stood: dict[str, Case]) -> list[str]:
    """Bytes that ncu counted, as a multiple of those that were predicted."""
    lines = [
        f"{kind} {row[kind] / stood[name][kind]:.2f} times {name}"
        for row, name in ((row, json.dumps(row["case"])) for row in rows)
        for kind in ("bytes", "l2_bytes")
        if row.get(kind) and stood.get(name, {}).get(kind)
    ]
    return lines and ["", "counted as a multiple of predicted:", *lines]


def measurements(rows: Iterable[Case]) -> dict[str, list[Any]]:
    """The timed rows that costlib can predict, by kind, as its measurements."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        case = row["case"]
        if case["kind"] not in PREDICTED or not row.get("seconds"):
            continue
        work, precision = work_of(case)
        made = Measurement(work, row["seconds"], precision=precision, name=json.dumps(case))
        groups.setdefault(label(case), []).append(made)
    return groups
