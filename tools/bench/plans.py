"""How well steps of training are predicted from a datasheet, from what is known, and from two rows.

    python -m tools.bench.plans              # the library's rows
    python -m tools.bench.plans ROWS.csv     # tables of others

A file has the columns what, model, devices, plan, metric, value, unit, source, read, table: one
number a line. Lines that agree in table, what, model, devices and plan are one set-up. What the
texts may say is told in `costlib.measured.plan_rows`. For every table with four set-ups or more,
two of them tell two constants, for every pair of them (or many), and the rest are predicted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from costlib.measured.plan_rows import PlanRow, plan_rows, read_plans
from costlib.measured.plans import PlanErrors, plan_errors, plan_of

LEVELS = ("ideal", "known", "fitted")


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
        plan_of(row)
    except ValueError as reason:
        return str(reason)
    return None


def shown(values: Sequence[float]) -> str:
    """The median, and the 90th percentile."""
    return f"{np.median(values):.1%} ({np.quantile(values, 0.9):.0%})"


def report(tables: Sequence[PlanErrors], *, least: float = 0.15) -> None:
    """A line for each table, and one for all of them."""
    print("Medians, and 90th percentiles, of errors without their signs\n")
    print(f"| table | rows | {' | '.join(LEVELS)} |")
    print("|---|---:" + "|---:" * len(LEVELS) + "|")
    for table in tables:
        told = " | ".join(shown(getattr(table, level)) for level in LEVELS)
        print(f"| {table.table} | {len(table.rows)} | {told} |")
    if not tables:
        return
    medians = {level: [table.median(level) for table in tables] for level in LEVELS}
    told = ", ".join(f"{level} {np.median(found):.1%}" for level, found in medians.items())
    below = sum(each <= least for each in medians["fitted"])
    print(f"\nMedian of the tables' medians: {told}.")
    print(f"Fitted on two rows, {below} of {len(tables)} tables are within {least:.0%}.")


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a CSV; without one, the library's rows")
    parser.add_argument("--pairs", type=int, default=60, help="pairs of rows to fit on, a table")
    chosen = parser.parse_args(arguments)
    rows, unread = read_plans(chosen.file) if chosen.file else (plan_rows(), [])
    good, refused = readable(rows)
    tables = plan_errors(good, pairs=chosen.pairs)
    report(tables)
    few = len({row.table for row in good}) - len(tables)
    print(f"{few} tables have fewer than four set-ups: none of theirs can be held out.")
    for name, reason in (*unread, *refused):
        print(f"not predicted: {name}: {reason}")
    for row in good:
        if row.assumed:
            print(f"assumed: {row.table} | {row.name} | {row.plan}: {'; '.join(row.assumed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
