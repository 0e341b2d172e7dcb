"""The figures of prediction against reality: predictions beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Canvas, Figure, canvas
from costfigures.chart import (
    MARKS,
    bar_chart,
    dots,
    grouped,
    legend,
    lines,
    names,
    note,
    percent,
    ticks,
)
from costfigures.sketch import WIDTH, Point, sketch
from costlib.layers.matmul import linear
from costlib.measured import Measurement, calibrate, error, parts
from costlib.measured.timing import machine
from costlib.timing.roofline import time
from costlib.units.device import Device
from costlib.units.display import quantity

Points = Mapping[str, Sequence[Point]]
Groups = Mapping[str, Sequence[float]]


def predicted_against_measured(groups: Points, level: str) -> Figure:
    """How many times longer than predicted each row took, a row of dots for each group.

    Of each pair (predicted, measured) in seconds; a bar marks a group's median.
    """
    slower = {name: [m / p for p, m in pairs] for name, pairs in groups.items()}
    errors = {name: [error(*pair) for pair in pairs] for name, pairs in groups.items()}
    every = [times for group in slower.values() for times in group]
    what = (
        f"Dots at measured over predicted time, a row for each group, logarithmic. "
        f"{sum(times > 1 for times in every)} of {len(every)} rows are predicted too short"
    )
    level = f"{level[0].upper()}{level[1:]}"
    with strip_chart(level, what, slower, errors, 0.42) as drawing:
        pass
    return drawing.result


@contextmanager
def strip_chart(
    level: str, what: str, slower: Groups, errors: Groups, tall: float
) -> Iterator[Canvas]:
    """The chart of `strips`, and a text alternative of ``what`` it shows and of median errors."""
    middles = {name: np.median(np.abs(each)) for name, each in errors.items()}
    title = f"{level}: {np.median(np.abs(np.concatenate(list(errors.values())))):.0%} off in the "
    told = "; ".join(
        f"{name}, {len(errors[name])} rows, median error {middle:.0%}"
        for name, middle in middles.items()
    )
    with canvas(f"{title}median", f"{what}. {told}.", height=tall * len(slower) + 1) as drawing:
        strips(drawing.axes, slower)
        yield drawing


def strips(axes: Any, groups: Groups) -> None:
    """A row of dots for each group on a logarithmic axis, its median, and where twice too long is.

    Dots of a row lie at heights that spread them evenly, and mean nothing.
    """
    least, most = min(map(min, groups.values())), max(map(max, groups.values()))
    is_wide = least < 0.5 or most > 2
    ends = (
        (min(least / 1.15, 0.45), max(1.15 * most, 2.2)) if is_wide else (least / 1.1, 1.1 * most)
    )
    axes.set_xscale("log")
    axes.axvspan(0.5, 2, color=COLOURS[4], alpha=0.18 if is_wide else 0, linewidth=0)
    axes.axvline(1, color=INK, linewidth=1.2)
    for row, (values, colour) in enumerate(zip(groups.values(), COLOURS, strict=False)):
        dots(axes, [(value, row + dot_height(values, value)) for value in values], colour)
        axes.plot([np.median(values)] * 2, [row - 0.44, row + 0.44], color=INK, linewidth=2)
    axes.minorticks_off()
    names(axes, groups)
    axes.set(xlim=ends, xlabel="times as long as predicted")


def dot_height(values: Sequence[float], value: float) -> float:
    """Where in its row the dot of a value lies, so that neighbours are apart.

    >>> [round(dot_height([1, 2, 3], value), 2) for value in (1, 2, 3)]
    [-0.33, 0.08, -0.17]
    """
    place = sorted(values).index(value)
    return 0.66 * (place * 0.618034 % 1 - 0.5)


def errors_by_regime(table: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Of errors without their signs the median, a bar for each level, and a line to the 90th
    percentile, which stands in brackets. The axis ends where the longest line does; a line much
    longer than all bars goes on beyond it, with an arrow."""
    regimes, levels = list(table), list(next(iter(table.values())))
    ends = {
        regime: {level: np.quantile(row[level], [0.5, 0.9]) for level in levels}
        for regime, row in table.items()
    }
    title, alt = _told(ends, levels)
    bars, far = np.array([end for row in ends.values() for end in row.values()]).T
    most = max(far[far < 2.5 * max(bars)], default=max(bars))
    with canvas(title, alt, height=0.68 * len(regimes) + 1.3) as drawing:
        axes = drawing.axes
        middles = {level: [row[level][0] for row in ends.values()] for level in levels}
        rows = [fill(regime, 17) for regime in regimes]
        for level, where in grouped(axes, rows, middles).items():
            _whiskers(axes, where, middles[level], [row[level][1] for row in ends.values()], most)
        axes.set_xlabel("error without its sign", x=0.5 / 1.55)
        axes.set(xlim=(0, 1.55 * most))
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= most])
        axes.spines["bottom"].set_bounds(0, most)
        percent(axes.xaxis)
    return drawing.result


def _whiskers(axes: Any, where: Any, values: Any, far: Any, most: float) -> None:
    """Lines from bars to the 90th percentiles, cut where much longer than all bars."""
    axes.hlines(where, values, np.minimum(far, most), color=INK, linewidth=1.2)
    for at, value, end in zip(where, values, far, strict=True):
        axes.plot([min(end, most)], [at], ">" if end > most else "|", color=INK)
        words = f"{value:.0%} ({end:,.0%})"
        note(axes, (min(end, most), at), words, (9 if end > most else 4, 0))


def _told(ends: Mapping[str, Mapping[str, Any]], levels: Sequence[str]) -> tuple[str, str]:
    """The bars of `errors_by_regime` in words."""
    medians = {level: np.median([row[level][0] for row in ends.values()]) for level in levels}
    told = "; ".join(
        f"{regime}: "
        + ", ".join(f"{level} {row[level][0]:.0%} and {row[level][1]:.0%}" for level in levels)
        for regime, row in ends.items()
    )
    return (
        "Median error " + ", ".join(f"{medians[level]:.0%} {level}" for level in levels),
        "Horizontal bars of the median error on rows not used for fitting, each with a line to the "
        f"90th percentile. {told}.",
    )


def waterfall(rows: Mapping[str, Measurement], device: Device) -> Figure:
    """From the ideal time to the measured one, a stacked bar of shares for each row."""
    shares: dict[str, list[float]] = {}
    for row in rows.values():
        found = parts(row, device)
        found["unexplained"] = row.seconds - sum(found.values())
        for part, seconds in found.items():
            shares.setdefault(part, []).append(seconds / row.seconds)
    ideal, rest = shares["ideal"], shares["unexplained"]
    title = f"The ideal time is {min(ideal):.0%} to {max(ideal):.0%} of the measured one"
    what = "Stacked bars in shares of the measured time. Negative: predicted too long"
    look: dict[str, Any] = {"height": 0.55 * len(rows) + 1.9, "sums": ""}
    with bar_chart(title, what, rows, shares, ".0%", **look) as drawing:
        axes = drawing.axes
        axes.axvline(1, color=INK, linewidth=1.5)
        top = max(1.0, *(1 - value for value in rest))
        axes.set(xlim=(0, 1.04 * top), xlabel="share of measured time")
        percent(axes.xaxis)
    return drawing.result


def short_steps(points: Points, devices: Mapping[str, Device]) -> Figure:
    """Times of steps on short sequences against the heads served, and each device's floor.

    A point is (KV heads of all sequences, seconds).
    """
    every = [heads for group in points.values() for heads, _ in group]
    ends = np.geomspace(min(every), max(every), 200)
    told = "; ".join(
        f"{name}: {len(points[name])} steps, {quantity(device.overhead_per_op, 's', 3)} a call and "
        f"{quantity(device.floor_per_head, 's', 3)} of a core for each head"
        for name, device in devices.items()
    )
    alt = f"Log-log chart of the time of a step of attention against the heads it serves. {told}."
    floors = {
        name: (device.overhead_per_op + device.floor_per_head / (device.cores or 1) * ends) * 1e6
        for name, device in devices.items()
    }
    with canvas("Many short sequences: a step costs by the head", alt, height=3.9) as drawing:
        axes = drawing.axes
        lines(axes, ends, floors)
        for number, name in enumerate(devices):
            heads, seconds = np.array(points[name]).T
            axes.plot(heads, seconds * 1e6, MARKS[number], color=COLOURS[number], markersize=5)
        axes.set(xlabel="sequences × KV heads", ylabel="µs")
        ticks(axes.xaxis, [8, 64, 512, 4096, 32768])
    return drawing.result


def staircase(
    points: Sequence[tuple[int, float]], k: int, n: int, levels: Mapping[str, Device]
) -> Figure:
    """Measured times of m×k by k×n against m, and the curve of each level."""
    first, last = min(m for m, _ in points), max(m for m, _ in points)
    rows = np.unique(np.geomspace(first, last, 400).astype(int))
    curves = {
        name: np.array([time(linear(int(m), k, n), device) for m in rows])
        for name, device in levels.items()
    }
    errors = {
        name: np.abs([error(time(linear(m, k, n), device), t) for m, t in points])
        for name, device in levels.items()
    }
    told = "; ".join(f"{name} {np.median(each):.1%}" for name, each in errors.items())
    title = f"m×{k} by {k}×{n}: whole waves of tiles make steps"
    alt = f"Times of {len(points)} products against m, logarithmic. Median errors: {told}."
    with canvas(title, alt, height=4.2) as drawing:
        axes = drawing.axes
        lines(axes, rows, {name: curve * 1e6 for name, curve in curves.items()}, at="legend")
        for line, dash in zip(axes.lines, ("--", "-.", "-"), strict=False):
            line.set_linestyle(dash)
        places = [(m, t * 1e6) for m, t in points]
        axes.plot(*zip(*places, strict=True), "o", color=INK, markersize=4, label="measured")
        axes.set(xlabel="rows m of the first factor", ylabel="µs")
        ticks(axes.xaxis, [1, 8, 64, 512, 4096])
        legend(axes, 4)
    return drawing.result


def waves(m: Sequence[int], n: int, rows: int, columns: int, cores: int) -> Figure:
    """Tiles of m×n outputs on the cores of a device, a line for each wave, for several m.

    >>> waves([1664, 1792], 4096, 128, 256, 108).title
    '1,664 rows: 208 tiles, 2 waves. 1,792 rows: 224 tiles, 3 waves'
    """
    tiles = {each: -(-each // rows) * -(-n // columns) for each in m}
    needed = {each: -(-count // cores) for each, count in tiles.items()}
    told = [f"{each:,} rows: {tiles[each]:,} tiles, {needed[each]} waves" for each in m]
    title = ". ".join([told[0], told[-1]])
    busy = [
        f"{text}, {tiles[each] / needed[each] / cores:.0%} busy"
        for text, each in zip(told, m, strict=True)
    ]
    alt = (
        f"Strips of {cores} squares, one for each core, a strip for each wave of {rows}×{columns} "
        f"tiles; squares without a tile are empty. {'; '.join(busy)}."
    )
    side, top = (WIDTH - 2) / cores, 0.0
    with sketch(title, alt, height=sum(24 + 16 * count for count in needed.values())) as drawing:
        for words, each in zip(busy, m, strict=True):
            drawing.text((0, top + 9), words, bold=True)
            for wave in range(needed[each]):
                y, here = top + 19 + 16 * wave, min(cores, tiles[each] - wave * cores)
                colour = COLOURS[0] if here == cores else COLOURS[1]
                drawing.box((1, y), here * side, 12, fill=colour + "aa", line=0)
                drawing.cells((1, y), 1, cores, (side, 12), line=0.3)
            top += 24 + 16 * needed[each]
    return drawing.result


def under_the_roof(rows: Mapping[str, Sequence[Measurement]], device: Device) -> Figure:
    """Rates reached against intensity under a device's ideal roof, a marker for each group."""
    points = {
        name: [_place(row) for row in group if row.work.flops] for name, group in rows.items()
    }
    peak = device.compute_rate()
    best = max(rate for group in points.values() for _, rate in group)
    told = "; ".join(
        f"{name} reach {min(_shares(group, device)):.0%} to {max(_shares(group, device)):.0%} "
        "of the roof above them"
        for name, group in points.items()
    )
    title = f"The best row reaches {best / peak:.0%} of the peak of {device.name}"
    alt = f"Log-log chart of FLOP/s against FLOPs per byte. {told}."
    with canvas(title, alt, height=4.2) as drawing:
        _roof(drawing.axes, device, device.sixteen_bits, points)
        legend(drawing.axes)
    return drawing.result


def own_roofline(rows: Sequence[Measurement], name: str = "this machine") -> Figure:
    """The machine's own roofline, from its best rates, with what was measured as points."""
    device = machine(rows, name)
    fitted = calibrate(device, rows)
    [dtype] = device.flops_per_s
    points = {"products": [_place(row) for row in rows if row.work.flops]}
    moved = [float(row.work.bytes(row.precision)) / row.seconds for row in rows]
    cache = device.with_(bytes_per_s=max(moved))
    title = f"{name}: {quantity(device.compute_rate(dtype), 'FLOP/s', 3)}, "
    title += f"{device.bytes_per_s / 1e9:.3g} GB/s from memory, {max(moved) / 1e9:.3g} from a cache"
    alt = (
        f"Log-log chart of FLOP/s against FLOPs per byte: {len(points['products'])} products under "
        f"two roofs, that of memory with its ridge at {device.ridge(dtype):.1f} and that of a "
        f"cache, by the fastest copy, at {cache.ridge(dtype):.1f}. A call costs "
        f"{quantity(fitted.overhead_per_op, 's', 2)}."
    )
    with canvas(title, alt, height=4.2) as drawing:
        _roof(drawing.axes, device, dtype, points)
        left = drawing.axes.get_xlim()[0]
        ends = np.array([left, float(cache.ridge(dtype))])
        look = {"color": INK, "linewidth": 1.2, "linestyle": "--", "label": "roof of a cache"}
        drawing.axes.loglog(ends, cache.attainable(ends, dtype), **look)
        drawing.axes.set_xlim(left, None)
        legend(drawing.axes)
    return drawing.result


def _place(row: Measurement) -> Point:
    """Intensity, and the FLOP/s reached."""
    return float(row.work.intensity(row.precision)), float(row.work.flops) / row.seconds


def _shares(points: Sequence[Point], device: Device) -> list[float]:
    return [rate / float(device.attainable(intensity)) for intensity, rate in points]


def _roof(axes: Any, device: Device, dtype: str, points: Points) -> None:
    every = [place for group in points.values() for place in group]
    ridge = float(device.ridge(dtype))
    left, right = min(x for x, _ in every) / 2, max(ridge * 4, *(2 * x for x, _ in every))
    ends = np.array([left, ridge, right])
    axes.loglog(ends, device.attainable(ends, dtype), color=INK, linewidth=1.5, label="roof")
    for (name, group), colour, marker in zip(points.items(), COLOURS, MARKS, strict=False):
        axes.plot(*zip(*group, strict=True), marker, color=colour, markersize=5, label=name)
    axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s")
