"""How well each level predicts products and attention calls that it was not fitted to.

    python -m tools.bench.prediction            # the book's rows
    python -m tools.bench.prediction OPS.csv    # a table of others: see `read`

Two tables. In the first, the rows of a device and framework are cut into halves by chance, fitted
on one and tested on the other, both ways, several times. In the second nothing of a device is
fitted: it takes the constants of another one, with its own datasheet.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from costlib import Device, attention, devices, linear
from costlib.measured import LEVELS, Measurement, calibrate, error, fused, published

KINDS = {
    "gemm": "products",
    "attention_prefill": "attention, prompt",
    "attention_decode": "attention, step",
    "context_attention": "attention, prompt",
    "generation_attention": "attention, step",
}
SYSTEMS = {
    "a100_sxm": "A100-80GB",
    "h100_sxm": "H100-SXM",
    "h200_sxm": "H200",
    "b200_sxm": "B200",
    "l40s": "L40S",
}
CONSTANTS = (
    *("compute_efficiency", "bandwidth_efficiency", "overhead_per_op"),
    *("blend", "edge", "floor_per_head"),
)

Group = tuple[str, str, str]


def carried() -> Iterator[tuple[Group, Measurement]]:
    """The book's own products and attention calls: kind, device, framework, and the row."""
    for kind in ("gemm", "attention_prefill", "attention_decode"):
        for row in published(kind):
            yield (KINDS[kind], row["device"], row["framework"]), row.measurement


def read(path: Path) -> Iterator[tuple[Group, Measurement]]:
    """The rows of a CSV with the columns op, system, framework, version, latency_ms; M, N and K of
    a product, or B, S, step, H, Hkv and D of attention: S new tokens after ``step`` cached ones."""
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        framework = f"{row['framework']} {row['version']}"
        group = KINDS[row["op"]], SYSTEMS[row["system"]], framework
        yield group, Measurement(work(row), float(row["latency_ms"]) * 1e-3)


def work(row: dict[str, str]) -> Any:
    """What a row of such a table ran."""
    if row["op"] == "gemm":
        m, k, n = (int(float(row[name])) for name in "MKN")
        return linear(m, k, n)
    batch, seq, cached, heads, kv_heads, width = (
        int(float(row[name])) for name in ("B", "S", "step", "H", "Hkv", "D")
    )
    is_step = row["op"] == "generation_attention"
    context = cached + 1 if is_step else cached + seq
    sizes = {"kv_heads": kv_heads, "context": context, "causal": True, "scores": "on-chip"}
    return fused(attention(batch, 1 if is_step else seq, heads, width, **sizes), "attention")


def halves(rows: list[Measurement], device: Device, level: str, times: int) -> list[float]:
    """Errors without their signs on the half that was not fitted, over both halves of each cut."""
    errors = []
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(len(rows))
        one, other = ([rows[i] for i in order[part::2]] for part in (0, 1))
        for fit, test in ((one, other), (other, one)):
            errors += misses(test, calibrate(device, fit, level=level))
    return errors


def misses(rows: Iterable[Measurement], device: Device) -> list[float]:
    """Errors without their signs."""
    return [abs(error(row.predicted(device), row.seconds)) for row in rows]


def moved(rows: list[Measurement], source: str, target: str, level: str) -> Device:
    """A device with the constants that another one's rows tell, and its own datasheet."""
    fitted = calibrate(devices[source], rows, level=level)
    changed: Device = devices[target].with_(**{name: getattr(fitted, name) for name in CONSTANTS})
    return changed


def shown(errors: list[float]) -> str:
    """The median, and the 90th percentile."""
    return f"{np.median(errors):.1%} ({np.quantile(errors, 0.9):.0%})"


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a CSV; without one, the book's rows")
    parser.add_argument("--times", type=int, default=3, help="cuts into halves")
    chosen = parser.parse_args(arguments)
    groups: dict[Group, list[Measurement]] = {}
    for group, row in read(chosen.file) if chosen.file else carried():
        groups.setdefault(group, []).append(row)
    print("Medians, and 90th percentiles, of the error on the half that was not fitted\n")
    print(f"| what | device | framework | rows | ideal | {' | '.join(LEVELS)} |")
    print("|---|---|---|---:|---:" + "|---:" * len(LEVELS) + "|")
    for (kind, name, framework), rows in groups.items():
        ideal = shown(misses(rows, devices[name]))
        told = (shown(halves(rows, devices[name], level, chosen.times)) for level in LEVELS)
        print(f"| {kind} | {name} | {framework} | {len(rows)} | {ideal} | {' | '.join(told)} |")
    print("\nWith another device's constants, and only the datasheet changed\n")
    print(f"| what | fitted on | tested on | rows | {' | '.join(LEVELS)} |")
    print("|---|---|---|---:" + "|---:" * len(LEVELS) + "|")
    for (kind, source, _), fit in groups.items():
        for (other, target, _), test in groups.items():
            if kind == other and source != target:
                carry = (shown(misses(test, moved(fit, source, target, x))) for x in LEVELS)
                print(f"| {kind} | {source} | {target} | {len(test)} | {' | '.join(carry)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
