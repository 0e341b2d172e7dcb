"""Constants chosen without one publisher's tables, and that publisher's tables predicted with them.

    python -m tools.bench.left_out                     # the library's tables
    python -m tools.bench.left_out PLANS.csv SERVING.csv

Of a coarse grid around the library's constants those are chosen that have the least median over the
tables of all other publishers. What is printed, for training and for serving: each publisher, how
many tables it has, the constants without it, and the median error of its tables with them and with
the library's; then the same over all tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from costlib.measured import (
    TYPICAL,
    PlanConstants,
    Served,
    grouped_rows,
    plan_rows,
    plan_seconds,
    read_plans,
    read_served,
    understood,
)
from costlib.measured.plan_rows import PlanRow
from costlib.measured.served import carried_facts
from tools.bench.plans import readable

#: Beginnings of tables' names that are one publisher's.
PUBLISHERS = {
    "NVIDIA": ("NeMo", "nemo", "megatron", "korthikanti", "mt-nlg", "automodel", "TRT-LLM"),
    **{name: (name,) for name in ("bigscience", "torchtitan", "torchtune", "tpu-recipes")},
    **{name: (name,) for name in ("maxtext", "llmfoundry", "stas", "MLPerf", "llama.cpp")},
    **{name: (name,) for name in ("LMDeploy", "vLLM", "SGLang", "InferenceX")},
}
#: What is tried of the constants of serving that move its errors most.
SERVING = {
    "compute": (0.6, 0.65, 0.7),
    "memory": (0.75, 0.8, 0.85),
    "launch": (4e-6, 6e-6, 8e-6),
    "routed": (1.4, 1.6, 2),
    "uneven": (0.1, 0.2, 0.3),
}
Tables = Mapping[str, Sequence[Any]]


def publisher(table: str) -> str:
    """Who published a table, by the beginning of its name."""
    found = (name for name, begun in PUBLISHERS.items() if table.startswith(begun))
    return next(found, table)


def left_out(
    tables: Tables, grid: Iterable[Any], ratio: Callable[[Any, Any], float]
) -> list[tuple[str, Any, list[float]]]:
    """For each publisher the constants that are best without it, and its tables' errors."""
    errors = {
        constants: {
            name: float(np.median([abs(ratio(row, constants) - 1) for row in rows]))
            for name, rows in tables.items()
        }
        for constants in grid
    }
    found = []
    for one in sorted({publisher(name) for name in tables}):
        own = [name for name in tables if publisher(name) == one]
        rest = [name for name in tables if name not in own]
        if rest:
            best = min(errors, key=lambda key: float(np.median([errors[key][n] for n in rest])))
            found.append((one, best, [errors[best][name] for name in own]))
    return found


def report(
    title: str, tables: Tables, grid: Sequence[Any], usual: Any, ratio: Callable[[Any, Any], float]
) -> None:
    """A line for each publisher, and for all."""
    print(f"\n{title}\n\n| publisher | tables | left out | the library's | constants |")
    print("|---|---:|---:|---:|---|")
    known = {
        name: float(np.median([abs(ratio(row, usual) - 1) for row in rows]))
        for name, rows in tables.items()
    }
    every = []
    for one, best, errors in left_out(tables, grid, ratio):
        own = [known[name] for name in tables if publisher(name) == one]
        every += errors
        told = ", ".join(f"{name} {value:g}" for name, value in changed(best, usual).items())
        print(
            f"| {one} | {len(errors)} | {np.median(errors):.1%} | {np.median(own):.1%} | {told} |"
        )
    print(f"| all | {len(every)} | {np.median(every):.1%} | {np.median([*known.values()]):.1%} | |")


def changed(best: Any, usual: Any) -> dict[str, float]:
    """The constants that differ from the library's."""
    names = type(usual).__dataclass_fields__
    return {n: getattr(best, n) for n in names if getattr(best, n) != getattr(usual, n)}


def of_plan(row: PlanRow, constants: PlanConstants) -> float:
    """Predicted over measured."""
    return plan_seconds(row, constants) / row.seconds


def of_served(row: Served, constants: Any) -> float:
    """Predicted over measured."""
    return row.predicted(constants) / row.value


def main(arguments: Sequence[str]) -> int:
    """The command line: see the top of this file."""
    files = dict(zip(("plans", "serving"), arguments, strict=False))
    plans = read_plans(files["plans"])[0] if "plans" in files else plan_rows()
    by_table: dict[str, list[PlanRow]] = {}
    for row in readable(plans)[0]:
        by_table.setdefault(row.table, []).append(row)
    grid: list[Any] = [
        PlanConstants(compute, rest)
        for compute, rest in product((0.54, 0.58, 0.62, 0.66, 0.7), (0.9, 1.1, 1.3))
    ]
    report("Training", by_table, grid, PlanConstants(), of_plan)
    facts = read_served(files["serving"]) if "serving" in files else carried_facts()
    rows, _ = understood(facts)
    tables = grouped_rows(row for row in rows if not row.is_latency)
    served = [
        replace(TYPICAL, **dict(zip(SERVING, values, strict=True)))
        for values in product(*SERVING.values())
    ]
    report("Serving", tables, served, TYPICAL, of_served)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
