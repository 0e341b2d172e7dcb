"""How well published throughputs of served models are predicted, at three levels.

    python -m tools.bench.served             # the book's tables
    python -m tools.bench.served ROWS.csv    # tables of one's own

A file has one row a measurement, and these columns, in any order (others are not looked at):

    what                the table that a row is of: its name
    model, device       "Llama 3.1 8B", "H100 SXM 80GB x2" (or "H200 x8 per node, 2 node(s)")
    framework+version   such as "TensorRT-LLM v1.0", "vLLM 0.10.0", "llama.cpp"
    plan                TP4; TP2 PP4; DEP8 for attention in parallel and experts divided; or empty
    precision           FP8; NVFP4; MXFP4; W4A16; INT8; FP16; GGUF Q4_K_M; with "kv fp8" for a cache
    load                "batch 64", "concurrency 64", "limits p99 ... TPOT 40 ms", else all that fit
    input_len, output_len   tokens of a prompt and of an answer
    metric, value, unit     "output tokens/s", 1234, "tokens/s" or "tokens/s/GPU" or "requests/s"
    source, read        where it is from, and "yes" if somebody has read it there

What is printed: errors by table and by regime, at the levels of `costlib.measured.served`, beside
the simplest rival, one constant rate (FLOP/s) of a device, told by the library's own rows or by the
same two rows of a table; which
constants carry best; the rows that are furthest off; and what could not be predicted, and why.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path

import numpy as np

from costlib.measured import (
    DATASHEET,
    TYPICAL,
    Served,
    TableError,
    fit_served,
    grouped_rows,
    held_errors,
    read_served,
    table_error,
    understood,
)
from costlib.measured.served import WIDTHS, carried_facts

TOLD = (("compute", "memory"), ("compute", "memory", "launch"), tuple(WIDTHS))
FAR = 0.5  # a row that is off by more is named


def shown(error: float) -> str:
    """An error as a percentage; a dash where there is none."""
    return "–" if isnan(error) else f"{error:.0%}"


LEVELS = {
    "datasheet": "datasheet",
    "typical": "typical",
    "rate": "one rate a device",
    "fitted": "two rows fitted (90th)",
    "rate_fitted": "one rate, the same rows",
}


def by_table(errors: Sequence[TableError]) -> list[str]:
    """The first table: a line for each, and the medians over all of them and over those that two
    rows were fitted of."""
    lines = [f"| table | rows | {' | '.join(LEVELS.values())} |", "|---|---:" + 5 * "|---:" + "|"]
    for each in errors:
        told = {level: shown(getattr(each, level)) for level in LEVELS}
        told["fitted"] += f" ({shown(each.worst)})"
        lines.append(f"| {each.name} | {each.rows} | {' | '.join(told.values())} |")
    long = [each for each in errors if not isnan(each.fitted)]
    lines.append(
        f"\nMedian of the tables' medians, of {len(errors)} tables, and of the {len(long)}"
    )
    lines.append(f"with four rows or more ({len(errors) - len(long)} are shorter):\n")
    for level, name in LEVELS.items():
        every = float("nan") if "fitted" in level else middle(errors, level)
        lines.append(f"  {name}: {exact(every)}, {exact(middle(long, level))}")
    inside = sum(each.fitted <= 0.2 for each in long)
    lines.append(f"\nWith two rows fitted {inside} of {len(long)} are within 20 %.")
    return lines


def middle(errors: Sequence[TableError], level: str) -> float:
    """The median over tables, of a level."""
    return float(np.median([getattr(each, level) for each in errors])) if errors else float("nan")


def exact(error: float) -> str:
    """A percentage with a decimal; a dash where there is none."""
    return "–" if isnan(error) else f"{error:.1%}"


def by_kind(groups: Mapping[str, Sequence[Served]]) -> list[str]:
    """Typical errors of mixtures and of dense models, medians of the tables that have them."""
    lines = []
    for name, is_mixture in (("mixtures of experts", True), ("dense models", False)):
        found = []
        for rows in groups.values():
            here = [row for row in rows if has_experts(row) == is_mixture]
            ratios = [row.predicted() / row.value for row in here]
            found += [float(np.median(np.abs(np.array(ratios) - 1)))] if ratios else []
        if found:
            lines.append(f"Typical, {name}: {np.median(found):.1%}, of {len(found)} tables.")
    return lines


def has_experts(row: Served) -> bool:
    """Whether a row's model is a mixture."""
    return any(step.is_expert for step in row.setup.model.steps())


def by_regime(groups: Mapping[str, Sequence[Served]]) -> list[str]:
    """Errors of rows by what sets their pace, over all tables."""
    regimes: dict[str, list[tuple[float, float, float]]] = {}
    for rows in groups.values():
        if len(rows) < 4:
            continue
        constants = fit_served(rows)
        for row in rows:
            told = (row.predicted(each) / row.value for each in (DATASHEET, TYPICAL, constants))
            one = [abs(ratio - 1) for ratio in told]
            regimes.setdefault(row.setup.regime, []).append((one[0], one[1], one[2]))
    lines = [
        "| regime | rows | datasheet | typical | whole table fitted |",
        "|---|---:|---:|---:|---:|",
    ]
    for regime, found in sorted(regimes.items()):
        middle = (shown(float(each)) for each in np.median(found, axis=0))
        lines.append(f"| {regime} | {len(found)} | {' | '.join(middle)} |")
    return lines


def by_constants(groups: Mapping[str, Sequence[Served]], pairs: int) -> list[str]:
    """Which constants carry best from two rows to the others of a table."""
    lines = ["| constants | median | tables within 20 % |", "|---|---:|---:|"]
    tables = [rows for rows in groups.values() if len(rows) >= 4]
    for names in TOLD:
        medians = [float(np.median(held_errors(rows, pairs, names))) for rows in tables]
        inside = sum(each <= 0.2 for each in medians)
        name = "all" if names == tuple(WIDTHS) else " and ".join(names)
        lines.append(f"| {name} | {np.median(medians):.1%} | {inside} |")
    return lines


def furthest(groups: Mapping[str, Sequence[Served]], most: int = 40) -> list[str]:
    """Rows that the constants of their own whole table miss by far, and what is known of each."""
    found = []
    for name, rows in groups.items():
        constants = fit_served(rows)
        for row in rows:
            ratio = row.predicted(constants) / row.value
            if abs(ratio - 1) > FAR or row.is_beyond:
                beyond = ", faster than its datasheet allows" if row.is_beyond else ""
                found.append((abs(np.log(ratio)), f"- {ratio:.2f}×{beyond}: {name}: {row.name}"))
    found.sort(reverse=True)
    more = [f"- and {len(found) - most} more"] if len(found) > most else []
    return [line for _, line in found[:most]] + more


def reasons(others: Sequence[tuple[Mapping[str, str], str]]) -> list[str]:
    """What was not predicted, by reason."""
    rest = " a throughput that is known", " are not predicted", " the latency of a token"
    kept = "they are percentiles, or neither throughputs nor times of a token"
    counted = Counter((row["what"], kept if why.endswith(rest) else why) for row, why in others)
    return [f"- {count} of {what}: {why}" for (what, why), count in counted.most_common()]


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a CSV; without one, the book's tables")
    parser.add_argument("--pairs", type=int, default=24, help="pairs of rows to fit on, a table")
    parser.add_argument("--constants", action="store_true", help="compare choices of constants too")
    chosen = parser.parse_args(arguments)
    try:
        facts = read_served(chosen.file) if chosen.file else carried_facts()
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    rows, others = understood(facts)
    groups = grouped_rows(row for row in rows if not row.is_latency)
    slow = grouped_rows(row for row in rows if row.is_latency)
    for tables, what in ((groups, "throughput"), (slow, "latency")):
        count = sum(map(len, tables.values()))
        print(f"{count} rows of {len(tables)} tables; errors of {what}, without sign\n")
        errors = [table_error(*each, chosen.pairs) for each in tables.items()]
        print(*(by_table(errors) if errors else ()), "", sep="\n")
    gone = {row["what"] for row, _ in others} - {row.facts["what"] for row in rows}
    print(f"{len(gone)} more tables have no row that is predicted: {'; '.join(sorted(gone))}")
    print(*by_kind(groups), sep="\n")
    print("\nBy regime\n", *by_regime(groups), sep="\n")
    if chosen.constants:
        print("\nWhich constants\n", *by_constants(groups, chosen.pairs), sep="\n")
    print(f"\nRows off by more than {FAR:.0%} with their whole table fitted\n", sep="\n")
    print(*furthest(groups), sep="\n")
    print("\nNot predicted\n", *reasons(others), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
