"""The figures of chapter 5: what a device allows, and where the ops of a step stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import MARKS, bar_chart, legend, line_chart, lines, mark, note
from costfigures.sketch import Point
from costlib.layers.matmul import matmul
from costlib.model.kvcache import largest_batch
from costlib.model.transformer import Transformer
from costlib.parallel import tensor_parallel
from costlib.timing.roofline import Device, limits, time
from costlib.units.display import quantity
from costlib.units.ledger import Ledger
from costlib.units.numbers import ceil_div


def phases(ledgers: Mapping[str, Ledger], device: Device) -> Figure:
    """Each op in a row of its own: its intensity in each ledger, and its share of the time.

    An op that a ledger lacks leaves its row to the others; areas are shares of each one's time.
    """
    parts = {
        name: [p for p in limits(of, device) if p.flops and np.isfinite(p.intensity)]
        for name, of in ledgers.items()
    }
    totals = {name: sum(point.time for point in points) for name, points in parts.items()}
    bound = {
        name: sum(point.time for point in points if not point.is_compute_bound) / totals[name]
        for name, points in parts.items()
    }
    title = "; ".join(
        f"{name}: {share:.0%} of the time memory bound" for name, share in bound.items()
    )
    if len(ledgers) == 1:
        title = f"{next(iter(bound.values())):.0%} of the time memory bound on {device.name}"
    told = "; ".join(
        f"{name}, {bound[name]:.0%} of the time memory bound: "
        + ", ".join(f"{p.name} {p.intensity:,.1f} and {p.time / totals[name]:.0%}" for p in points)
        for name, points in parts.items()
    )
    alt = (
        f"A row for each op, with a marker for each of {' and '.join(ledgers)} at its FLOPs per "
        f"byte, logarithmic. A line marks the ridge of {device.name}, {device.ridge():.0f}; beside "
        f"each row stand shares of the time. {told}."
    )
    names = dict.fromkeys(point.name for points in parts.values() for point in points)
    rows = {name: row for row, name in enumerate(names)}
    with canvas(title, alt, height=0.245 * len(rows) + 1.0) as drawing:
        room = 1 - 0.125 * len(parts)
        drawing.figure.get_layout_engine().set(rect=(0, 0, room, 1))
        for number, (name, points) in enumerate(parts.items()):
            shares = [(rows[p.name], p.intensity, p.time / totals[name]) for p in points]
            _one_phase(drawing.axes, name, number, shares)
        _names_and_ridge(drawing.axes, list(rows), device.ridge())
    return drawing.result


def _one_phase(
    axes: Any, name: str, number: int, shares: Sequence[tuple[int, float, float]]
) -> None:
    """Markers of a phase, row by row, and its column of percentages."""
    colour, marker = COLOURS[number], MARKS[number]
    rows, places, parts = zip(*shares, strict=True)
    areas = [14 + 330 * part for part in parts]
    axes.scatter(places, rows, areas, color=colour, marker=marker, linewidth=0)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center"}
    beside |= {"color": colour, "in_layout": False}
    across = 1.18 + 0.22 * number
    for row, part in zip(rows, parts, strict=True):
        words = f"{part:.0%}" if part >= 0.005 else "–"
        axes.text(across, row, words, ha="right", **beside)
    axes.text(across, -1.15, name, ha="right", **beside)


def _names_and_ridge(axes: Any, names: Sequence[str], ridge: float) -> None:
    axes.axvline(ridge, color=INK, linewidth=1.2, linestyle=":")
    axes.text(ridge * 0.85, -1.15, f"ridge {ridge:.0f}", ha="right", va="center")
    axes.set_yticks(range(len(names)), names)
    axes.set(xscale="log", xlabel="FLOPs per byte", ylim=(len(names) - 0.4, -1.8))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def journey(model: Transformer, device: Device, cached: int, prompts: Sequence[int]) -> Figure:
    """One model under a roof with its two regions: decode from one user to a full device, prompts.

    A point is a whole step: its FLOPs per byte, and its FLOPs over its time, op by op. So it lies
    below the roof wherever its ops wait for different things.
    """
    full = int(largest_batch(model, device, cached).largest)
    users = sorted({1, 8, full} if full > 8 else {1, max(full, 1)})
    steps = {f"{n} user{'s'[: n - 1]}": model.decode(n, cached - 1) for n in users}
    reads = {f"prompt of {n:,}": model.prefill(1, n) for n in prompts}
    peak, ridge = device.compute_rate(), device.ridge()
    at = {
        name: (float(work.intensity()), work.flops / time(work, device, too_large="ignore"))
        for name, work in {**steps, **reads}.items()
    }
    shares = [rate / peak for _, rate in at.values()]
    title = f"One model, one device: from {shares[0]:.1%} of the peak to {max(shares):.0%}"
    told = ", ".join(
        f"{name} at {intensity:,.1f} with {quantity(rate, 'FLOP/s', 3)}"
        for name, (intensity, rate) in at.items()
    )
    alt = (
        f"FLOP/s against FLOPs per byte, log-log, under the roof of {device.name}. Left of its "
        f"ridge of {ridge:.0f} the bytes take longer, right of it the FLOPs. The model's steps: "
        f"{told}. Users have {cached:,} tokens cached each."
    )
    with canvas(title, alt, height=3.7) as drawing:
        axes = drawing.axes
        ends = np.array([0.4, ridge, 6000])
        axes.loglog(ends, device.attainable(ends), color=INK, linewidth=1.6)
        _regions(axes, ridge, peak)
        for number, works in enumerate((steps, reads)):
            _path(axes, number, {name: at[name] for name in works}, ridge)
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s", xlim=(0.4, 6000))
        axes.set_ylim(device.memory_rate * 0.25, peak * 6)
    return drawing.result


def _regions(axes: Any, ridge: float, peak: float) -> None:
    """What is longer on each side of the ridge, in words and as a shade."""
    axes.axvspan(0.4, ridge, color=COLOURS[0], alpha=0.1, linewidth=0)
    axes.axvspan(ridge, 6000, color=COLOURS[1], alpha=0.1, linewidth=0)
    style: dict[str, Any] = {"ha": "center", "va": "center"}
    axes.text((0.4 * ridge) ** 0.5, peak * 3, "bytes take longer", **style)
    axes.text((6000 * ridge) ** 0.5, peak * 3, "FLOPs do", **style)


def _path(axes: Any, number: int, places: Mapping[str, Point], ridge: float) -> None:
    """Steps of one kind, joined in their order; the second kind is named above the slope."""
    colour, marker = COLOURS[number], MARKS[number]
    axes.plot(*zip(*places.values(), strict=True), "--", color=colour, linewidth=1.2)
    axes.plot(*zip(*places.values(), strict=True), marker, color=colour, markersize=7)
    for name, place in places.items():
        offset, align = ((-8, 8), "right") if number else ((9, -9), "left")
        if place[0] > ridge:
            offset, align = (0, -16), "center"
        note(axes, place, name, offset, va="center", ha=align, clear=False)


def decode_batches(model: Transformer, device: Device, contexts: Sequence[int]) -> Figure:
    """Intensity of a decode step against the batch, for several lengths of context."""
    batch = np.unique(np.geomspace(1, 4096, 80).astype(int))
    found = {
        f"{context:,} keys": model.decode(batch, context - 1, scores="on-chip").intensity()
        for context in contexts
    }
    ridge = device.ridge()
    title = "The cache sets a ceiling that no batch can pass"
    what = f"FLOPs per byte by batch, log-log. The ridge is {ridge:.0f}. The lines level off"
    with line_chart(title, what, batch, found) as drawing:
        mark(drawing.axes, f"ridge {ridge:.0f}", y=ridge)
        drawing.axes.set(xlabel="batch", ylabel="FLOPs per byte", ylim=(None, 2.2 * ridge))
    return drawing.result


def prompts(model: Transformer, device: Device, rows: int) -> Figure:
    """Intensity of a prompt against its length, by what attention does with scores and keys."""
    seq = np.unique(np.geomspace(16, 131072, 120).astype(int))
    fused = model.prefill(1, seq, scores="on-chip")
    again = fused.only("scores", "values").flops / rows  # bytes, at 2 an element
    once, every, stored = (
        "keys and values read once",
        f"read for every {rows} queries",
        "scores through memory",
    )
    found = {
        once: fused.intensity(),
        every: fused.flops / (fused.bytes() + again),
        stored: model.prefill(1, seq, scores="materialised").intensity(),
    }
    ridge = device.ridge()
    first = int(seq[np.argmax(found[once] >= ridge)])
    title = "What attention moves decides what a long prompt costs"
    told = ", ".join(f"{line.max():,.0f}" for line in found.values())
    what = (
        f"FLOPs per byte by length of the prompt, log-log. All lines pass the ridge of {ridge:.0f} "
        f"near {first} tokens, part further on and are {told} at most"
    )
    with line_chart(title, what, seq, found, height=3.9) as drawing:
        mark(drawing.axes, f"ridge {ridge:.0f}", y=ridge)
        drawing.axes.set(xlabel="tokens of the prompt", ylabel="FLOPs per byte", ylim=(10, 1e4))
    return drawing.result


def guesses(model: Transformer, device: Device, cached: Sequence[int]) -> Figure:
    """Intensity of a step against its new tokens, for several caches; a batch for comparison."""
    new, ridge = np.arange(1, 513), device.ridge()
    found = {
        f"{context:,} cached, new tokens of one sequence": model.decode(1, context, new).intensity()
        for context in cached
    }
    most = max(cached)
    found[f"{most:,} cached, sequences of a batch"] = model.decode(new, most).intensity()
    title = "New tokens share the cache, a batch does not"
    told = "; ".join(
        f"{name}: {line[0]:.2f} for one, {_met(line, ridge)}" for name, line in found.items()
    )
    alt = f"FLOPs per byte against tokens of a step, log-log. {told}. The ridge is {ridge:.0f}."
    with canvas(title, alt, height=3.9) as drawing:
        lines(drawing.axes, new, found, at="legend")
        mark(drawing.axes, f"ridge {ridge:.0f}", y=ridge)
        drawing.axes.set(xlabel="tokens in one step", ylabel="FLOPs per byte", ylim=(0.7, 1000))
        legend(drawing.axes, 1)
    return drawing.result


def _met(line: Any, ridge: float) -> str:
    """Where a line that begins at 1 meets the ridge, in words."""
    return f"the ridge at {np.argmax(line >= ridge) + 1}" if line.max() >= ridge else "no ridge"


def splits(model: Transformer, device: Device, seq: int, devices: Sequence[int]) -> Figure:
    """Time of a prompt on several devices: each one's share, and its all-reduces."""
    works, sends = [], []
    for count in devices:
        share = tensor_parallel(model, count).prefill(1, seq)
        works.append(time(share.where(lambda op: not op.axis), device))
        sends.append(time(share.over("tensor"), device))
    title = "Work divides among devices, messages do not"
    what = f"Bars of milliseconds of a prompt of {seq:,} tokens on {device.name}"
    parts = {"work": 1e3 * np.array(works), "all-reduces": 1e3 * np.array(sends)}
    names = [f"{count} device{'s'[: count - 1]}" for count in devices]
    with bar_chart(title, what, names, parts, ".1f", sums=".0f") as drawing:
        drawing.axes.set(xlabel="milliseconds")
    return drawing.result


def tile_waves(device: Device, tile: int = 128, depth: int = 4096, most: int = 4096) -> Figure:
    """The share of the peak that whole tiles and whole waves leave to an n×n output."""
    if device.cores is None:
        raise ValueError(f"{device.name} needs cores: waves are counted on them")
    n = np.arange(tile // 4, most + 1, tile // 4)
    tiles = ceil_div(n, tile) ** 2
    waves = ceil_div(tiles, device.cores)
    useful = matmul(n, depth, n).flops / (waves * device.cores * matmul(tile, depth, tile).flops)
    best = int(np.argmax(useful))
    title = "Whole tiles and whole waves: the useful share is a saw"
    alt = (
        f"Useful share of the peak against n, on {device.cores} cores with {tile}×{tile} tiles. A "
        f"rising saw: {useful[0]:.2%} at n = {n[0]}, its highest tooth {useful[best]:.1%} (n = "
        f"{n[best]:,}), {useful[-1]:.1%} at n = {n[-1]:,}."
    )
    with canvas(title, alt, height=3.2) as drawing:
        drawing.axes.plot(n, 100 * useful, color=COLOURS[0], linewidth=1.4)
        drawing.axes.set(xlabel="n of an n×n output", ylabel="useful share of the peak, %")
        drawing.axes.set(ylim=(0, 104), xlim=(0, most))
    return drawing.result
