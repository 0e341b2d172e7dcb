"""The figure of published throughputs: predictions beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.canvas import INK, Figure, canvas
from costfigures.measured import dot_height, strips
from costlib.measured import DATASHEET, Constants, Served, error

__all__ = ["predicted_against_published"]

WIDTH = 5.2
_SMALL = 10.5


def predicted_against_published(
    tables: Mapping[str, Sequence[Served]], constants: Mapping[str, Constants], level: str
) -> Figure:
    """How many times slower than predicted each row is, a row of dots for each regime.

    ``constants`` has those of each table; a ring is around rows that are faster than a datasheet
    allows to what they describe.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    beyond = []
    for name, rows in tables.items():
        for row in rows:
            pair = row.value, row.predicted(constants.get(name, DATASHEET))
            found.setdefault(row.setup.regime, []).append(pair)
            if row.is_beyond:
                beyond.append((row.setup.regime, *pair))
    every = [pair for pairs in found.values() for pair in pairs]
    errors = np.abs([error(predicted, value) for value, predicted in every])
    title = f"{level}: {np.median(errors):.0%} off in the median"
    told = "; ".join(
        f"{regime}, {len(pairs)} rows, median error "
        f"{np.median(np.abs([error(predicted, value) for value, predicted in pairs])):.0%}"
        for regime, pairs in sorted(found.items())
    )
    alt = (
        f"Dots at predicted over published throughput, a row for each regime, logarithmic. {told}. "
        f"{len(beyond)} of {len(every)} rows are faster than a datasheet allows."
    )
    slower = {
        regime: [predicted / value for value, predicted in pairs]
        for regime, pairs in sorted(found.items())
    }
    with canvas(title, alt, width=WIDTH, height=0.6 * len(slower) + 1.0) as drawing:
        strips(drawing.axes, slower)
        ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
        for number, (regime, value, predicted) in enumerate(beyond):
            times = predicted / value
            height = list(slower).index(regime) + dot_height(slower[regime], times)
            label = None if number else "beyond a datasheet"
            drawing.axes.plot([times], [height], "o", label=label, **ring)
        if beyond:
            drawing.figure.legend(fontsize=_SMALL, loc="outside upper left")
    return drawing.result
