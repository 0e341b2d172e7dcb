"""Prediction against reality: fits, published rows, and timing one's own machine.

>>> published("generate", model="gpt-20b")[0].measurement.steps
8
"""

from costlib.measured.calibration import (
    LEVELS,
    Empirical,
    Measurement,
    calibrate,
    error,
    interval,
    median_error,
    parts,
)
from costlib.measured.collectives import Collective, bus_factor, collectives
from costlib.measured.plan_rows import (
    PlanRow,
    UnreadRow,
    plan_rows,
    plan_sources,
    read_plans,
)
from costlib.measured.published import (
    KEPT,
    KINDS,
    REGIMES,
    Prediction,
    Row,
    Split,
    fused,
    held_out,
    published,
    regime_errors,
    sources,
    splits,
)
from costlib.measured.runs import PublishedRun, run_sources, runs
from costlib.measured.served import (
    DATASHEET,
    TYPICAL,
    Constants,
    Served,
    TableError,
    fit_served,
    grouped_rows,
    held_errors,
    served_rows,
    table_error,
    understood,
)
from costlib.measured.tables import read_served
from costlib.measured.timing import best_seconds, machine, measure, report

__all__ = [
    "DATASHEET",
    "KEPT",
    "KINDS",
    "LEVELS",
    "REGIMES",
    "TYPICAL",
    "Collective",
    "Constants",
    "Empirical",
    "Measurement",
    "PlanRow",
    "Prediction",
    "PublishedRun",
    "Row",
    "Served",
    "Split",
    "TableError",
    "UnreadRow",
    "best_seconds",
    "bus_factor",
    "calibrate",
    "collectives",
    "error",
    "fit_served",
    "fused",
    "grouped_rows",
    "held_errors",
    "held_out",
    "interval",
    "machine",
    "measure",
    "median_error",
    "parts",
    "plan_rows",
    "plan_sources",
    "published",
    "read_plans",
    "read_served",
    "regime_errors",
    "report",
    "run_sources",
    "runs",
    "served_rows",
    "sources",
    "splits",
    "table_error",
    "understood",
]
