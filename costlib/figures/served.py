"""The figure of published throughputs: predictions beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.measured import DATASHEET, Constants, Served, error

__all__ = ["predicted_against_published"]

WIDTH = 5.6
_SMALL = 11
_MARKERS = ("o", "s", "^", "D")


def predicted_against_published(
    tables: Mapping[str, Sequence[Served]], constants: Mapping[str, Constants], level: str
) -> Figure:
    """Predicted over published throughput on logarithmic axes, a marker for each regime.

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
                beyond.append(pair)
    every = [pair for pairs in found.values() for pair in pairs]
    errors = np.abs([error(predicted, value) for value, predicted in every])
    title = f"{level}: {np.median(errors):.0%} off in the median"
    told = "; ".join(
        f"{regime}, {len(pairs)} rows, median error "
        f"{np.median(np.abs([error(predicted, value) for value, predicted in pairs])):.0%}"
        for regime, pairs in sorted(found.items())
    )
    alt = (
        f"Log-log chart of predicted against published throughput. {told}. {len(beyond)} of "
        f"{len(every)} rows are faster than a datasheet allows."
    )
    with canvas(title, alt, width=WIDTH, height=4.8) as drawing:
        axes = drawing.axes
        ends = np.array([min(map(min, every)) / 2, max(map(max, every)) * 2])
        axes.loglog(ends, ends, color=INK, linewidth=1.2, label="equal")
        axes.loglog(ends, 2 * ends, color=INK, linewidth=0.8, linestyle=":", label="twice")
        looks = zip(sorted(found.items()), COLOURS, _MARKERS, strict=False)
        for (regime, pairs), colour, marker in looks:
            x, y = zip(*pairs, strict=True)
            axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.6, label=regime)
        if beyond:
            x, y = zip(*beyond, strict=True)
            ring = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
            axes.plot(x, y, "o", label="beyond a datasheet", **ring)
        axes.set(xlim=ends, ylim=ends, xlabel="published tokens/s", ylabel="predicted tokens/s")
        axes.legend(fontsize=_SMALL, loc="upper left", labelspacing=0.25, handletextpad=0.4)
    return drawing.result
