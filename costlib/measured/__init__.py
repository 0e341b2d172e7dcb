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
from costlib.measured.timing import best_seconds, machine, measure, report

__all__ = [
    "KEPT",
    "KINDS",
    "LEVELS",
    "REGIMES",
    "Collective",
    "Empirical",
    "Measurement",
    "PlanRow",
    "Prediction",
    "PublishedRun",
    "Row",
    "Split",
    "UnreadRow",
    "best_seconds",
    "bus_factor",
    "calibrate",
    "collectives",
    "error",
    "fused",
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
    "regime_errors",
    "report",
    "run_sources",
    "runs",
    "sources",
    "splits",
]
