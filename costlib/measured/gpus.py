"""Measurements of GPUs that we made, each beside what was predicted before it ran.

`tools/bench/measure_gpu.py` wrote the rows, on four GPUs that were lent for minutes each: two H100s
(the clock of the second fell in its run) and two H200s. The predictions of a GPU stood in the
repository before it ran.

Left out: what other programs, frameworks and kernels would have taken. All rows are of PyTorch
2.11.0 with CUDA 13.0, on one GPU, and no clock or limit was changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from costlib.layers.attention import attention, attention_backward
from costlib.layers.matmul import matmul
from costlib.measured.calibration import Measurement, calibrate, error
from costlib.measured.published import fused
from costlib.measured.timing import copy
from costlib.model.transformer import Transformer
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.precision import Precision

__all__ = [
    "BUSY",
    "GPUS",
    "GpuRow",
    "beside",
    "energies",
    "gpu_about",
    "gpu_rows",
    "group_of",
    "halves",
    "served_run",
    "work_of",
]

#: The GPUs in the order they ran, each with its device in the catalogue.
GPUS = {
    "H100": "H100-SXM",
    "H100, slow": "H100-SXM",
    "H200": "H200",
    "H200, again": "H200",
}

_FOLDER = Path(__file__).parent / "gpus"
_EIGHT = Precision(weights=1, activations=1, compute="fp8")
#: What keeps a GPU busy while its joules are read, where the case of the row doesn't say.
_BLOCK = {"layers": 8, "d_model": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "d_ff": 14336}
_SQUARE = {"kind": "gemm", **dict.fromkeys("mkn", 8192)}
BUSY: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind, "elements": 2**30} for kind in ("copy", "read", "write")},
    "gemm": {**_SQUARE, "precision": "bf16"},
    "fp8 gemm": {**_SQUARE, "precision": "fp8"},
    **{
        name: {"kind": "decode", "batch": batch, "context": context, **_BLOCK}
        for name, batch, context in (
            *(("decode", 8, 4096), ("decode 1", 1, 512), ("decode 64", 64, 512)),
            *(("decode 256", 256, 512), ("decode 1024", 1024, 512)),
            *(("decode long", 32, 16384), ("decode many", 512, 2048)),
        )
    },
    "decode small": {
        "kind": "decode",
        "batch": 128,
        "context": 1024,
        **_BLOCK,
        "d_model": 2048,
        "heads": 16,
        "kv_heads": 4,
        "d_ff": 8192,
    },
}


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One case that ran on a GPU: what was found, and what had been told before.

    ``found`` has seconds, and where they were counted the bytes between HBM and the L2 cache and
    between L2 and the cores, or the joules of a run. ``told`` has the predictions under the same
    names, and further seconds: "carried" by constants of rows that others published, "from_h100" by
    constants of our H100, "padded" with the query rows that an attention kernel computes.

    >>> row = gpu_rows("H100", kind="copy")[-1]
    >>> row["elements"], round(row.found["seconds"] * 1e3, 2), round(row.told["seconds"] * 1e3, 2)
    (2147483648, 2.84, 2.56)
    """

    case: Mapping[str, Any]
    found: Mapping[str, Any] = field(repr=False)
    told: Mapping[str, Any] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.case[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A size of the case, or the default if the case does not have it."""
        return self.case.get(name, default)

    @property
    def measurement(self) -> Measurement:
        """The work that ran, as costlib counts it, and its seconds."""
        work, precision = work_of(self.case)
        return Measurement(
            work, self.found["seconds"], precision=precision, name=json.dumps(self.case)
        )


def gpu_rows(name: str, **sizes: Any) -> list[GpuRow]:
    """The rows of a GPU whose cases have these sizes, in the order they ran.

    >>> [row["how"] for row in gpu_rows("H200", kind="attention", backward=True)]
    ['math', 'flash', 'flex']
    >>> gpu_rows("H300")
    Traceback (most recent call last):
        ...
    ValueError: the GPUs that ran are H100, H100, slow, H200, H200, again, got 'H300'
    """
    return [row for row in _rows(name) if all(row.get(k) == v for k, v in sizes.items())]


def gpu_errors(name: str, group: str, told: str = "seconds") -> list[float]:
    """Errors of the predicted seconds of a group of rows (see `group_of`), where there are any.

    >>> [round(each, 2) for each in gpu_errors("H200", "copy", "from_h100")]
    [-0.01, -0.01, -0.02, -0.01]
    """
    return [
        error(row.told[told], row.found["seconds"])
        for row in _rows(name)
        if told in row.told and group_of(row.case) == group
    ]


def halves(rows: Sequence[GpuRow], device: str, level: str = "shaped") -> list[float]:
    """Errors on each half of the rows of constants that a level fits to the other half; none where
    a half has fewer than four rows.

    >>> rows = [row for row in gpu_rows("H200") if group_of(row.case) == "gemm bf16"]
    >>> len(rows), len(halves(rows, "H200")), halves(rows[:6], "H200")
    (38, 38, [])
    """
    every = [row.measurement for row in rows]
    found: list[float] = []
    for fit, held in ((every[::2], every[1::2]), (every[1::2], every[::2])):
        if len(fit) >= 4:
            on = calibrate(device, fit, level=level)
            found += [error(each.predicted(on), each.seconds) for each in held]
    return found


def gpu_about(name: str) -> dict[str, Any]:
    """Device, driver, clocks, power limit, versions, seed and date of a GPU's rows.

    >>> gpu_about("H200")["power_limit"], gpu_about("H200")["torch"]
    ('700 W', '2.11.0+cu130')
    """
    return {key: value for key, value in _content(name).items() if key != "rows"}


def beside(rows: Iterable[Mapping[str, Any]], told: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Rows of a file of `measure_gpu.py` with what a file of predictions tells of their cases.

    >>> [row] = beside([{"case": {"kind": "copy"}, "seconds": 2}], [])
    >>> row.found, row.told
    ({'seconds': 2}, {})
    """
    stood = {json.dumps(row["case"]): row for row in told}

    def without_case(row: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if key != "case"}

    return tuple(
        GpuRow(row["case"], without_case(row), without_case(stood.get(json.dumps(row["case"]), {})))
        for row in rows
        if "error" not in row
    )


def served_run() -> dict[str, Any]:
    """One engine that served a model on our first H100: what it said at its start, and how long it
    took from the first token of any request to the last.

    >>> run = served_run()
    >>> run["model"], run["said"]["num_blocks"], [row["requests"] for row in run["rows"]]
    ('llama-3.1-8b', 1508, [1, 8, 64, 128])
    """
    content: dict[str, Any] = json.loads((_FOLDER / "served_h100.json").read_text("utf-8"))
    return content


def work_of(case: Mapping[str, Any]) -> tuple[Any, Any]:
    """What costlib counts for a case of `measure_gpu.py`, and the precision it is done in.

    >>> work, precision = work_of({"kind": "gemm", "precision": "fp8", "m": 2, "k": 3, "n": 4})
    >>> work.flops, work.bytes(precision)
    (48, 26)
    """
    kind = case["kind"]
    if kind in ("copy", "scale"):
        return copy(case["elements"]), None
    if kind in ("read", "write"):
        moved, none = Elements(activations=case["elements"]), Elements()
        there = (moved, none) if kind == "read" else (none, moved)
        return Op(kind, 0, *there), None
    if kind == "gemm":
        m, k, n = case["m"], case["k"], case["n"]
        ops = [*([_cast(m * k), _cast(n * k)] if case.get("casts") else []), matmul(m, k, n)]
        return Ledger(tuple(ops)), _EIGHT if case["precision"] == "fp8" else None
    if kind == "attention":
        return _attention(case), None
    if kind == "cached_attention":
        over = {"kv_heads": case["kv_heads"], "context": case["context"]}
        step = attention(case["batch"], 1, case["heads"], case["head_dim"], **over)
        return fused(step, "cached attention"), None
    if kind != "decode":
        raise ValueError(f"a case of the kind {kind!r} is no work that costlib counts")
    names = ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff")
    whole = Transformer(vocab=1, rotary_dim=0, **{name: case[name] for name in names})
    work = whole.decode(case["batch"], case["context"] - 1)
    return work.without("embedding", "unembedding", "final_norm"), None


def group_of(case: Mapping[str, Any]) -> str:
    """Which rows share their constants: the kind of work, its format, its kernel.

    >>> group_of({"kind": "gemm", "precision": "fp8", "casts": True, "m": 64})
    'gemm fp8 casts'
    """
    words = [case["kind"], *(case[k] for k in ("precision", "how") if k in case)]
    marks = {"backward": "both ways", "causal": "causal", "casts": "casts", "tile": "tiled"}
    return " ".join([*words, *(word for mark, word in marks.items() if case.get(mark))])


def energies(rows: Iterable[GpuRow]) -> dict[str, float]:
    """Watts of an idle GPU whose clock is high, and above them the joules of a byte of a copy, and
    of a FLOP of a product in each format, apart from its bytes.

    >>> found = energies(gpu_rows("H100"))
    >>> round(found["idle"]), round(found["byte"] * 1e12), round(found["bf16"] * 1e12, 2)
    (117, 123, 0.81)
    """
    power = {row["how"]: row.found for row in rows if row["kind"] == "power"}
    found = {"idle": power["idle"]["watts"], "byte": 0.0}
    for how, unit in (("copy", "byte"), ("gemm", "bf16"), ("fp8 gemm", "fp8")):
        work, precision = work_of(BUSY[how])
        moved = float(work.bytes(precision or "bf16"))
        above = power[how]["joules"] - found["idle"] * power[how]["seconds"]
        found[unit] = (above - moved * found["byte"]) / float(work.flops or moved)
    return found


def _cast(elements: int) -> Any:
    """From bf16 to fp8 with a scale of its own: two bytes are read for the largest entry and two to
    divide by it, one is written. In bytes, as the product beside it has one for each element."""
    read, written = Elements(activations=4 * elements), Elements(activations=elements)
    return Op("cast", 0, elements_read=read, elements_written=written)


def _attention(case: Mapping[str, Any]) -> Ledger:
    """Attention as its kernels run: op by op with the squares in memory, or one kernel a pass."""
    shape = case["batch"], case["N"], case["heads"], case["d"]
    is_math = case["how"] == "math"
    scores = "materialised" if is_math else "on-chip"
    passes = {"forward": attention(*shape, scores=scores, causal=case.get("causal", False))}
    if case["backward"]:
        passes["backward"] = attention_backward(*shape, scores=scores)
    if is_math:
        return Ledger(tuple(op for ledger in passes.values() for op in ledger))
    ops = [fused(ledger, name) for name, ledger in passes.items()]
    return Ledger((*ops, *([_second_pass(*shape)] if case["how"] == "flex" else [])))


def _second_pass(batch: int, length: int, heads: int, d: int) -> Op:
    """What a backward pass of two passes does twice: S and dP, and reading Q, K, V and dO."""
    tensor = batch * length * heads * d
    return Op("second pass", 4 * tensor * length, elements_read=Elements(activations=4 * tensor))


def _content(name: str, start: str = "") -> dict[str, Any]:
    if name not in GPUS:
        raise ValueError(f"the GPUs that ran are {', '.join(GPUS)}, got {name!r}")
    file = _FOLDER / f"{start}{name.lower().replace(', ', '_')}.json"
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


@cache
def _rows(name: str) -> tuple[GpuRow, ...]:
    # what was told of an H100 holds for the second one too
    told = _content("H100" if "slow" in name else name, "told_")
    return beside(_content(name)["rows"], told["rows"])
