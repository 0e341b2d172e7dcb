"""How well steps of training are predicted from a datasheet, from what is known, and from two rows.

    python -m tools.bench.plans              # the library's rows
    python -m tools.bench.plans ROWS.csv     # tables of others

A file has the columns what, model, devices, plan, metric, value, unit, source, read, table: one
number a line. Lines that agree in table, what, model, devices and plan are one set-up. What the
texts may say is told in `costlib.measured.plan_rows`. For every table with four set-ups or more,
two of them tell two constants, for every pair of them (or many), and the rest are predicted. Beside
them stands the simplest rival, one constant share of the peak: of all the library's rows of that
format, or told by the same two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from costlib.measured.plan_rows import PlanRow, plan_rows, read_plans
from costlib.measured.plans import PlanErrors, plan_errors, plan_of

LEVELS = {
    "ideal": "ideal",
    "known": "known",
    "share": "a share by format",
    "fitted": "two rows fitted",
    "share_fitted": "a share, the same rows",
}
#: Of tables with fewer rows nothing is held out.
LEAST = 4
#: A state so many times as large as a device's memory was cut in a way that its table does not say.
FAR_BEYOND = 4


def readable(rows: Iterable[PlanRow]) -> tuple[list[PlanRow], list[tuple[str, str]]]:
    """Rows whose plan can be priced; and the others, with the reason."""
    good, bad = [], []
    for row in rows:
        reason = refusal(row)
        if reason is None:
            good.append(row)
        else:
            bad.append((f"{row.table} | {row.name} | {row.devices} | {row.plan}", reason))
    return good, bad


def refusal(row: PlanRow) -> str | None:
    """Why a plan cannot be priced, if it cannot."""
    try:
        over = excess(row)
    except ValueError as reason:
        return str(reason)
    if over > FAR_BEYOND:
        return f"its text does not tell how it was cut: {over:.0f} times what a device holds"
    return None


def excess(row: PlanRow) -> float:
    """Weights, gradients and optimizer over a device's memory, whatever is computed again; 0 where
    some of it is no such state: beside adapters, or in the host's memory."""
    held, has = plan_of(row).memory, row.device.capacity
    if has is None or row.adapters or row.offload:
        return 0.0
    return float((held.weights + held.gradients + held.optimizer) / has)


def shown(values: Sequence[float]) -> str:
    """The median, and the 90th percentile."""
    return f"{np.median(values):.1%} ({np.quantile(values, 0.9):.0%})" if len(values) else "–"


def report(tables: Sequence[PlanErrors], *, within: float = 0.15) -> None:
    """A line for each table, and for all of them: no table is left out of the unfitted medians."""
    print("Medians, and 90th percentiles, of errors without their signs\n")
    print(f"| table | rows | {' | '.join(LEVELS.values())} |")
    print("|---|---:" + "|---:" * len(LEVELS) + "|")
    for table in tables:
        is_long = len(table.rows) >= LEAST
        told = " | ".join(
            shown(getattr(table, level) if is_long or "fitted" not in level else ())
            for level in LEVELS
        )
        print(f"| {table.table} | {len(table.rows)} | {told} |")
    if not tables:
        return
    long = [table for table in tables if len(table.rows) >= LEAST]
    print(f"\nMedian of the tables' medians, of {len(tables)} tables, and of the {len(long)} that")
    print(f"have {LEAST} set-ups or more ({len(tables) - len(long)} are shorter):\n")
    for level, name in LEVELS.items():
        some = [np.median([t.median(level) for t in each]) for each in (tables, long) if each]
        every = "–" if "fitted" in level else f"{some[0]:.1%}"
        print(f"  {name}: {every}, {some[-1]:.1%}" if long else f"  {name}: {every}")
    if not long:
        return
    below = sum(each.median() <= within for each in long)
    print(f"\nFitted on two rows, {below} of {len(long)} tables are within {within:.0%}.")
    kinds = {"mixtures of experts": True, "dense models": False}
    for name, is_mixture in kinds.items():
        found = [
            np.median(errors)
            for table in tables
            if (
                errors := [
                    e
                    for e, row in zip(table.known, table.rows, strict=True)
                    if has_experts(row) == is_mixture
                ]
            )
        ]
        if found:
            print(f"Known, {name}: {np.median(found):.1%} in the median of {len(found)} tables.")


def beyond(rows: Iterable[PlanRow]) -> list[str]:
    """Set-ups whose weights, gradients and optimizer alone are more than a device holds, whatever
    is computed again: their tables do not tell all of how they were cut."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if (over := excess(row)) > 1:
            found.setdefault(row.table, []).append(over)
    return [
        f"{len(each)} of {table}: up to {max(each):.1f} times as much"
        for table, each in found.items()
    ]


def has_experts(row: PlanRow) -> bool:
    """Whether a row's model is a mixture."""
    return any(step.is_expert for step in row.model.steps())


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a CSV; without one, the library's rows")
    parser.add_argument("--pairs", type=int, default=60, help="pairs of rows to fit on, a table")
    chosen = parser.parse_args(arguments)
    rows, unread = read_plans(chosen.file) if chosen.file else (plan_rows(), [])
    good, refused = readable(rows)
    report(plan_errors(good, pairs=chosen.pairs, least=1))
    known = {row.table for row in good}
    gone = {name.partition(" | ")[0] for name, _ in (*unread, *refused)} - known
    print(f"{len(gone)} more tables have no set-up that is predicted: {', '.join(sorted(gone))}")
    for line in beyond(good):
        print(f"beyond the device's memory, as read: {line}")
    for name, reason in (*unread, *refused):
        print(f"not predicted: {name}: {reason}")
    for row in good:
        if row.assumed:
            print(f"assumed: {row.table} | {row.name} | {row.plan}: {'; '.join(row.assumed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
