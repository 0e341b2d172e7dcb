"""The figures of five sources: each as steps down to the ledger, and one model counted often.

A waterfall starts from what a source counts and ends at what the ledger counts; each step between
is one named difference. The numbers are a `Reconciliation`'s, so the steps sum up exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from costlib.display import quantity
from costlib.figures.canvas import COLOURS, INK, Figure, canvas

if TYPE_CHECKING:
    from costlib.sources import Reconciliation

__all__ = ["answers", "recorded", "same_step", "waterfall"]

_SMALL = 10.5
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def waterfall(found: Reconciliation, title: str, unit: str) -> Figure:
    """How far a source is from the ledger, and each named difference in turn, down to nothing.

    The axis is the distance from the ledger, so that small terms beside a large total still show.
    """
    steps = {reason: -float(term) for reason, term in found.terms.items() if term}
    told = "; ".join(f"{reason}, {_signed(step, unit)}" for reason, step in steps.items())
    alt = (
        f"The source counts {_amount(found.published, unit)}, the ledger "
        f"{_amount(found.ledger, unit)}: {_signed(found.difference, unit)}. {len(steps)} steps "
        f"lead from the one to the other: {told}."
    )
    labels = ["the source", *(fill(reason, 25) for reason in steps), "the ledger"]
    ends = np.cumsum([float(found.difference), *steps.values()])
    with canvas(title, alt, width=5.6, height=0.7 + 0.56 * len(labels)) as drawing:
        axes = drawing.axes
        _bar(axes, 0, 0.0, float(found.difference), COLOURS[4], "")
        _note(axes, 0, max(0.0, ends[0]), _amount(found.published, unit))
        for row, (step, end) in enumerate(zip(steps.values(), ends[1:], strict=True), start=1):
            colour, hatch = (COLOURS[1], "///") if step < 0 else (COLOURS[0], "")
            _bar(axes, row, end - step, step, colour, hatch)
            axes.plot([end - step] * 2, [row - 1, row], color=INK, linewidth=0.7, linestyle=":")
            _note(axes, row, max(end, end - step, 0.0), _signed(step, unit))
        last = len(labels) - 1
        axes.plot([0], [last], "D", color=COLOURS[2], markersize=8)
        _note(axes, last, 0.0, _amount(found.ledger, unit))
        low, high = min(0.0, *ends), max(0.0, *ends)
        axes.set(xlim=(low - 0.06 * (high - low), high + 0.6 * (high - low)))
        axes.set(ylim=(last + 0.5, -0.6), xticks=[])
        axes.set_yticks(range(len(labels)), labels, fontsize=_SMALL)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.grid(False)
        axes.spines["bottom"].set_visible(False)
    return drawing.result


def same_step(counts: Mapping[str, tuple[float | None, float | None]]) -> Figure:
    """FLOPs and bytes of one step by source, as multiples of the ledger's (the last entry)."""
    *_, (_, ledger) = counts.items()
    ratios = {name: _ratios(pair, ledger) for name, pair in counts.items()}
    told = "; ".join(
        f"{name} "
        + " and ".join(
            f"{ratio:.3g} times the {what}"
            for ratio, what in zip(pair, ("FLOPs", "bytes"), strict=True)
            if ratio is not None
        )
        for name, pair in ratios.items()
    )
    flops = [pair[0] for pair in ratios.values() if pair[0] is not None]
    title = f"One step, and FLOPs that differ by a factor of {max(flops) / min(flops):.0f}"
    with canvas(
        title, f"Dots for each source, log scale: {told}.", width=5.6, height=2.9
    ) as drawing:
        axes = drawing.axes
        for column, (what, colour) in enumerate((("FLOPs", COLOURS[0]), ("bytes", COLOURS[1]))):
            row_ratios = enumerate(pair[column] for pair in ratios.values())
            shown = [(ratio, row) for row, ratio in row_ratios if ratio is not None]
            shift = 0.13 if column else -0.13
            axes.plot(
                [x for x, _ in shown],
                [row + shift for _, row in shown],
                _MARKS[column],
                color=colour,
                markersize=9,
                label=what,
            )
            for x, row in shown:
                _note(axes, row + shift, x, f"{x:.3f}" if x < 10 else f"{x:.0f}")
        axes.set_xscale("log")
        axes.set_xlim(0.5, 300)
        axes.set_xticks([1, 10, 100], ["1", "10", "100"])  # no small superscripts
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(ratios)), list(ratios), fontsize=_SMALL)
        axes.set(ylim=(len(ratios) - 0.5, -0.6), xlabel="times what the ledger counts")
        axes.legend(loc="center right", fontsize=_SMALL)
    return drawing.result


def answers(counts: Mapping[str, tuple[float, str]], workload: str) -> Figure:
    """One model by several conventions: FLOPs and the kind of each, from few to many."""
    ordered = sorted(counts.items(), key=lambda item: item[1][0])
    kinds = list(dict.fromkeys(kind for _, kind in counts.values()))
    lowest, highest = ordered[0][1][0], ordered[-1][1][0]
    different = len({f"{flops:.3g}" for flops, _ in counts.values()})
    title = f"One model, {different} answers: a factor of {highest / lowest:.1f}"
    told = ", ".join(f"{name} {quantity(flops, 'FLOP', 3)}" for name, (flops, _) in ordered)
    alt = f"Dots from few to many for {workload}: {told}."
    with canvas(title, alt, width=5.6, height=1.1 + 0.36 * len(ordered)) as drawing:
        axes = drawing.axes
        for number, kind in enumerate(kinds):
            points = [
                (flops / 1e12, row)
                for row, (_, (flops, which)) in enumerate(ordered)
                if which == kind
            ]
            axes.plot(
                [x for x, _ in points],
                [row for _, row in points],
                _MARKS[number],
                color=COLOURS[number],
                markersize=8,
                label=kind,
            )
        for row, (_, (flops, _)) in enumerate(ordered):
            _note(axes, row, flops / 1e12, f"{flops / 1e12:.2f}")
        axes.set_yticks(range(len(ordered)), [name for name, _ in ordered], fontsize=_SMALL)
        axes.set(ylim=(len(ordered) - 0.4, -0.6), xlim=(0, highest * 1.17e-12), xlabel="TFLOP")
        axes.legend(loc="lower left", fontsize=_SMALL)
    return drawing.result


def recorded(parts: Mapping[str, Sequence[float]], names: Sequence[str], unit: str) -> Figure:
    """Totals of several tools as stacked parts, each part explained by a formula."""
    totals = [sum(values) for values in zip(*parts.values(), strict=True)]
    title = f"Two tools, {totals[-1] / totals[0] - 1:.0%} apart, and every operation explained"
    told = "; ".join(
        f"{name}: "
        + ", ".join(f"{part} {_amount(values[i], unit)}" for part, values in parts.items())
        for i, name in enumerate(names)
    )
    with canvas(title, f"Stacked bars. {told}.", width=5.6, height=2.5) as drawing:
        axes, left = drawing.axes, [0.0] * len(names)
        for (part, values), colour, hatch in zip(
            parts.items(), COLOURS, ("", "///", ".."), strict=False
        ):
            scaled = [value / 1e9 for value in values]
            axes.barh(
                range(len(names)),
                scaled,
                left=left,
                color=colour,
                hatch=hatch,
                edgecolor=INK,
                linewidth=0.6,
                height=0.5,
                label=part,
            )
            left = [a + b for a, b in zip(left, scaled, strict=True)]
        axes.set_yticks(range(len(names)), list(names), fontsize=_SMALL)
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel=f"billion {unit}")
        drawing.figure.legend(loc="outside upper left", fontsize=_SMALL, ncols=1)
        axes.grid(False, axis="y")
    return drawing.result


def _ratios(pair: Sequence[Any], ledger: Sequence[Any]) -> tuple[float | None, ...]:
    both = zip(pair, ledger, strict=True)
    return tuple(None if one is None else float(one) / float(own) for one, own in both)


def _amount(value: Any, unit: str) -> str:
    """FLOP and B take a prefix, words stand apart from it."""
    return quantity(value, unit) if unit in ("FLOP", "B") else f"{quantity(value)} {unit}"


def _signed(value: Any, unit: str) -> str:
    return f"{'−' if value < 0 else '+'}{_amount(abs(value), unit)}"


def _bar(axes: Any, row: int, left: float, width: float, colour: str, hatch: str) -> None:
    style = {"color": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6, "height": 0.55}
    axes.barh(row, width, left=left, **style)


def _note(axes: Any, row: float, right: float, text: str) -> None:
    axes.annotate(
        text, (right, row), (8, 0), textcoords="offset points", va="center", fontsize=_SMALL
    )
