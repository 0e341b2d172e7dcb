"""The figure of published throughputs: predictions beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from costfigures.canvas import INK, Figure
from costfigures.chart import legend
from costfigures.measured import dot_height, strip_chart
from costlib.measured import DATASHEET, Constants, Served, error


def predicted_against_published(
    tables: Mapping[str, Sequence[Served]], constants: Mapping[str, Constants], level: str
) -> Figure:
    """How many times slower than predicted each row is, a row of dots for each regime.

    ``constants`` has those of each table; a ring is around rows that are faster than a datasheet
    allows to what they describe.
    """
    slower: dict[str, list[float]] = {}
    errors: dict[str, list[float]] = {}
    beyond = []
    every = [(name, row) for name, rows in tables.items() for row in rows]
    for name, row in sorted(every, key=lambda each: each[1].setup.regime):
        regime, predicted = row.setup.regime, row.predicted(constants.get(name, DATASHEET))
        slower.setdefault(regime, []).append(predicted / row.value)
        errors.setdefault(regime, []).append(error(predicted, row.value))
        beyond += [(regime, predicted / row.value)] if row.is_beyond else []
    what = (
        "Dots at predicted over published throughput, a row for each regime, logarithmic. "
        f"{len(beyond)} of {len(every)} rows are faster than a datasheet allows"
    )
    with strip_chart(level, what, slower, errors, 0.6) as drawing:
        ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
        for number, (regime, times) in enumerate(beyond):
            height = list(slower).index(regime) + dot_height(slower[regime], times)
            label = None if number else "beyond a datasheet"
            drawing.axes.plot([times], [height], "o", label=label, **ring)
        if beyond:
            legend(drawing.axes)
    return drawing.result
