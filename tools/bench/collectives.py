"""How well published times of collectives are predicted, beside one constant rate a link.

    python -m tools.bench.collectives              # the library's tables
    python -m tools.bench.collectives ROWS.csv     # rows of others

A file has the columns what, model, devices, plan, metric, value, unit, source, read, table: such as
"all-reduce payload 32MiB", "8 x H200", "busbw", 275.84, "GB/s". Its rows are predicted with the
constants as they are; the rival's two rates are the medians of the very rows that it is held to,
and so flattered. Without a file the rival is also told by all publishers but one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from costlib.measured.collectives import (
    Collective,
    collective_names,
    collectives,
    one_rate,
    read_collectives,
)


def errors(tables: Sequence[Collective], rates: dict[str, float] | None = None) -> list[float]:
    """Errors without sign, of the model or of the rival."""
    found = (table.errors if rates is None else table.by_rate(rates) for table in tables)
    return [abs(each) for errors in found for each in errors]


def shown(found: Sequence[float]) -> str:
    """Median, and the 90th percentile."""
    return f"{np.median(found):.1%} ({np.quantile(found, 0.9):.0%})" if len(found) else "–"


def report(tables: Sequence[Collective], rates: dict[str, float]) -> None:
    """Errors on one node and on several, of the model and of the rival."""
    print("| rows | how many | model | one constant rate a link |\n|---|--:|--:|--:|")
    for name, several in (("one node", False), ("several nodes", True)):
        kept = [table for table in tables if (table.nodes > 1) == several]
        count = sum(len(table.seconds) for table in kept)
        print(f"| {name} | {count} | {shown(errors(kept))} | {shown(errors(kept, rates))} |")


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a CSV; without one, the library's rows")
    chosen = parser.parse_args(arguments)
    carried = [collectives(name) for name in collective_names()]
    tables, others = read_collectives(chosen.file) if chosen.file else (carried, [])
    print("Errors of seconds without sign: medians, and 90th percentiles\n")
    report(tables, one_rate(tables))
    print("\n| table | rows | model | rate |\n|---|--:|--:|--:|")
    by_name: dict[str, list[Collective]] = {}
    for table in tables:
        by_name.setdefault(table.name.partition(":")[0], []).append(table)
    for name, these in by_name.items():
        rates = one_rate(tables)
        count = sum(len(table.seconds) for table in these)
        print(f"| {name} | {count} | {shown(errors(these))} | {shown(errors(these, rates))} |")
    for by in sorted({table.by for table in tables}) if not chosen.file else ():
        rest = [table for table in tables if table.by != by]
        held = [table for table in tables if table.by == by]
        print(f"\nThe rival told without {by}, held to it:")
        report(held, {**one_rate(tables), **one_rate(rest)})
    for name, reason in others:
        print(f"not predicted: {name}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
