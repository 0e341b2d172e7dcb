"""The figures of five sources: what parts each from the ledger, and one model counted often.

Totals are bars from zero, and so are the named differences below them, each to its own side. The
numbers are a `Reconciliation`'s, so the differences sum up exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import MARKS, legend, mark, names, note, ticks
from costfigures.sketch import WIDTH, Point, Sketch, sketch
from costlib.units.display import quantity

if TYPE_CHECKING:
    from costlib.sources import Reconciliation

#: Where totals begin and how long the longest is; the height of a difference.
_FROM, _LONG, _ROW = 70.0, 190.0, 31.0


def differences(found: Reconciliation, title: str, unit: str) -> Figure:
    """What a source and the ledger count, and each named difference: too much, or too little.

    All bars begin at zero. The differences are drawn to the totals' scale, or to a round multiple
    of it that the drawing says. Those below a hundredth of the largest are one row.
    """
    rows = _terms(found)
    told = "; ".join(f"{reason}, {_signed(term, unit)}" for reason, term in rows.items())
    alt = (
        f"Bars from zero: the source counts {_amount(found.published, unit)}, the ledger "
        f"{_amount(found.ledger, unit)}. Below, what the source has too much, to the right of a "
        f"line, or too little, to its left: {told}; together "
        f"{_signed(found.difference, unit)}."
    )
    rows["together"] = float(found.difference)
    scale = _LONG / max(float(found.published), float(found.ledger))
    beside = 7 * max(len(_signed(term, unit)) for term in rows.values()) + 6
    factor, zero = _magnified(rows.values(), scale, beside)
    with sketch(title, alt, height=66 + _ROW * len(rows)) as drawing:
        totals = {"the source": found.published, "the ledger": found.ledger}
        for row, (name, total) in enumerate(totals.items()):
            y, wide = 4 + 18 * row, float(total) * scale
            drawing.text((_FROM - 6, y + 7), name, align="right")
            drawing.box((_FROM, y), wide, 14, fill=COLOURS[4] + "77", edge=COLOURS[4])
            drawing.text((_FROM + wide + 5, y + 7), _amount(total, unit))
        size = {1: "to this scale", 2: "twice as long"}.get(factor, f"{factor} times as long")
        drawing.text((0, 54), f"the differences, {size}:", italic=True)
        for row, (reason, term) in enumerate(rows.items()):
            place, wide = (zero, 64 + _ROW * row), term * scale * factor
            _difference(drawing, place, wide, reason, _signed(term, unit))
    return drawing.result


def _terms(found: Reconciliation) -> dict[str, float]:
    """The differences from the largest on, small ones together."""
    every = {reason: float(term) for reason, term in found.terms.items() if term}
    most = max(map(abs, every.values()), default=0.0)
    small = [reason for reason, term in every.items() if abs(term) < most / 100]
    rows = sorted((r for r in every if r not in small), key=lambda reason: -abs(every[reason]))
    kept = {reason: every[reason] for reason in rows}
    if len(small) == 1:
        kept[small[0]] = every[small[0]]
    elif small:
        kept[f"{len(small)} smaller ones"] = sum(every[reason] for reason in small)
    return kept


def _magnified(terms: Iterable[float], scale: float, beside: float) -> tuple[int, float]:
    """The largest round factor at which all bars and their values fit, and where zero is then."""
    low, high = min(0.0, *terms) * scale, max(0.0, *terms) * scale
    room = WIDTH - beside * ((low < 0) + (high > 0)) - 4
    fitting = [
        digit * 10**power
        for power in range(4)
        for digit in (1, 2, 5)
        if digit * 10**power * (high - low) <= room
    ]
    factor = max(fitting, default=1)
    return factor, (beside if low else 2.0) - factor * low


def _difference(drawing: Sketch, place: Point, wide: float, reason: str, words: str) -> None:
    """A row: what it is, and its bar from zero to its side."""
    zero, top = place
    is_sum, is_more = reason == "together", wide > 0
    colour = COLOURS[4] if is_sum else COLOURS[1] if is_more else COLOURS[0]
    hatch = "///" if is_more and not is_sum else ""
    drawing.text((0, top + 7), reason, bold=is_sum)
    drawing.line((zero, top + 14), (zero, top + 28), colour=INK, width=1)
    corner = (min(zero, zero + wide), top + 15)
    edge = INK if hatch else colour
    drawing.box(corner, abs(wide), 12, fill=colour + "99", edge=edge, line=0.8, hatch=hatch)
    at = zero + wide + (4 if is_more else -4)
    drawing.text((at, top + 21), words, align="left" if is_more else "right")


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
    alt = f"Dots for each source, log scale: {told}."
    with canvas(title, alt, height=3.1) as drawing:
        axes = drawing.axes
        for column, what in enumerate(("FLOPs", "bytes")):
            axes.plot([], [], MARKS[column], color=COLOURS[column], markersize=9, label=what)
            for row, pair in enumerate(ratios.values()):
                if (times := pair[column]) is not None:
                    place = times, row + (0.13 if column else -0.13)
                    axes.plot(*place, MARKS[column], color=COLOURS[column], markersize=9)
                    note(axes, place, f"{times:.3f}" if times < 10 else f"{times:.0f}", (8, 0))
        axes.set(xscale="log", xlim=(0.5, 300), xlabel="times what the ledger counts")
        mark(axes, x=1)
        names(axes, ratios)
        legend(axes)
        ticks(axes.xaxis, [1, 10, 100])
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
    with canvas(title, alt, height=1.4 + 0.36 * len(ordered)) as drawing:
        axes = drawing.axes
        for number, kind in enumerate(kinds):
            axes.plot([], [], MARKS[number], color=COLOURS[number], markersize=8, label=kind)
        for row, (_, (flops, kind)) in enumerate(ordered):
            number = kinds.index(kind)
            axes.plot(flops / 1e12, row, MARKS[number], color=COLOURS[number], markersize=8)
            note(axes, (flops / 1e12, row), f"{flops / 1e12:.2f}", (8, 0))
        axes.set(xlim=(0, highest * 1.17e-12), xlabel="TFLOP")
        names(axes, dict(ordered))
        legend(axes)
    return drawing.result


def recorded(parts: Mapping[str, Sequence[float]], tools: Sequence[str], unit: str) -> Figure:
    """Totals of two tools as stacked parts, and the parts of what one has more, magnified."""
    totals = [sum(values) for values in zip(*parts.values(), strict=True)]
    title = f"Two tools, {totals[-1] / totals[0] - 1:.0%} apart, and every operation explained"
    told = "; ".join(
        f"{name}: "
        + ", ".join(f"{part} {_amount(values[i], unit)}" for part, values in parts.items())
        for i, name in enumerate(tools)
    )
    gap = {part: float(values[-1] - values[0]) for part, values in parts.items()}
    more = {part: size for part, size in gap.items() if size}
    alt = f"Stacked bars. {told}. The gap: " + ", ".join(
        f"{part} {_signed(size, unit)}" for part, size in more.items()
    )
    scale = 300 / max(totals)
    factor = int(300 / (sum(more.values()) * scale))
    with sketch(title, f"{alt}.", height=112 + 20 * len(more)) as drawing:
        colours = dict(zip(parts, COLOURS, strict=False))
        for row, name in enumerate(tools):
            drawing.text((38, 12 + 26 * row), name, align="right")
            sizes = {part: float(values[row]) * scale for part, values in parts.items()}
            boxes = [(part, wide, colours[part] + "66") for part, wide in sizes.items()]
            drawing.row((44, 3 + 26 * row), 18, boxes)
        drawing.text((0, 66), f"the gap, {factor} times as long:", italic=True)
        x = 44.0
        for row, (part, size) in enumerate(more.items()):
            wide, colour = size * scale * factor, colours[part]
            drawing.box((x, 76), wide, 18, fill=colour + "66", edge=colour)
            place = (min(x + wide / 2, WIDTH - 2), 106 + 20 * row)
            drawing.line((place[0], 95), (place[0], place[1] - 7), colour=colour, width=1)
            align = "middle" if wide > 80 else "right"
            drawing.text(place, f"{part}: {_amount(size, unit)}", align=align)
            x += wide
    return drawing.result


def _ratios(pair: Sequence[Any], ledger: Sequence[Any]) -> tuple[float | None, ...]:
    both = zip(pair, ledger, strict=True)
    return tuple(None if one is None else float(one) / float(own) for one, own in both)


def _amount(value: Any, unit: str) -> str:
    """FLOP and B take a prefix, words stand apart from it."""
    return quantity(value, unit) if unit in ("FLOP", "B") else f"{quantity(value)} {unit}"


def _signed(value: Any, unit: str) -> str:
    return f"{'−' if value < 0 else '+'}{_amount(abs(value), unit)}"
