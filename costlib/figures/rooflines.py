"""The figures of chapter 5: what a device allows, and where the ops of a step stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costlib.display import quantity
from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.ledger import Elements, Ledger, Op
from costlib.matmul import matmul
from costlib.numbers import ceil_div
from costlib.parallel import tensor_parallel
from costlib.precision import Precision, precision_of
from costlib.roofline import GRANULARITIES, OVERLAPS, Device, Limit, limits, time
from costlib.sources import jamesnulliu
from costlib.transformer import Transformer

__all__ = [
    "decode_batches",
    "phases",
    "prefill_intensity",
    "readings",
    "ridges",
    "roofline",
    "roofs",
    "speculative_intensity",
    "splits",
    "tile_waves",
]

#: Narrow enough that no text is scaled below 10 px on a page 375 px wide.
WIDTH = 5.2

_SMALL = 10.5
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":")
_MARKERS = "os^D"


def roofline(
    ledger: Ledger,
    device: Device,
    *,
    precision: Precision | None = None,
    named: int = 5,
) -> Figure:
    """Every op of a ledger as a point under a device's roofline; the slowest ones are named.

    Compute-bound ops are squares, memory-bound ones circles; area grows with the share of time.
    """
    points = [p for p in limits(ledger, device, precision) if p.flops]
    total = sum(point.time for point in points)
    slowest = _slowest(points, total)[:named]
    compute = precision_of(precision).compute
    ridge = device.ridge(compute)
    memory = sum(point.time for point in points if not point.is_compute_bound) / total
    title = f"{memory:.0%} of the time memory bound on {device.name} (ridge {ridge:,.0f})"
    shares = "; ".join(
        f"{text} of the time, {point.intensity:.3g} FLOPs per byte, {point.bound} bound"
        for text, point in slowest
    )
    alt = (
        "Log-log chart of FLOP/s against FLOPs per byte. The roof rises to "
        f"{quantity(device.compute_rate(compute), 'FLOP/s')} at the ridge and is flat from there. "
        f"{shares}. {len(points)} ops in all."
    )
    with canvas(title, alt, height=4.2) as drawing:
        axes = drawing.axes
        _roof(axes, device, compute, [point.intensity for point in points])
        _ops(axes, points, total)
        for line, (text, point) in enumerate(slowest):
            axes.annotate(
                text,
                (point.intensity, point.rate),
                (0.98, 0.42 - 0.08 * line),
                textcoords="axes fraction",
                ha="right",
                fontsize=10,
                arrowprops={"arrowstyle": "-", "color": COLOURS[4], "linewidth": 0.6},
            )
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s", title=title)
        axes.legend(loc="upper left", fontsize=10)
    return drawing.result


def _slowest(points: Sequence[Limit], total: float) -> list[tuple[str, Limit]]:
    """Ops that share a place on the roofline, with their share of the time, slowest first."""
    places: dict[str, list[Limit]] = {}
    for point in sorted(points, key=lambda point: -point.time):
        places.setdefault(f"{point.intensity:.2g} {point.is_compute_bound}", []).append(point)
    shares = {place: sum(p.time for p in there) / total for place, there in places.items()}
    named = []
    for place, there in sorted(places.items(), key=lambda item: -shares[item[0]]):
        names = ", ".join(point.name for point in there[:2])
        others = f" + {len(there) - 2}" if len(there) > 2 else ""
        named.append((f"{names}{others}: {shares[place]:.0%}", there[0]))
    return [each for each in named if not each[0].endswith(": 0%")]


def _roof(axes: Any, device: Device, compute: str | None, intensities: Sequence[float]) -> None:
    ridge = device.ridge(compute)
    ends = [min(0.1, *intensities) / 2, ridge, max(ridge * 10, *intensities)]
    axes.loglog(ends, device.attainable(np.array(ends), compute), color=INK, linewidth=1.5)
    axes.axvline(ridge, color=COLOURS[4], linewidth=1, linestyle=":")


def _ops(axes: Any, points: Sequence[Limit], total: float) -> None:
    for compute_bound, marker, colour in ((True, "s", COLOURS[1]), (False, "o", COLOURS[0])):
        label = "compute bound" if compute_bound else "memory bound"
        axes.plot([], [], marker, color=colour, label=label)
        chosen = [point for point in points if point.is_compute_bound == compute_bound]
        axes.scatter(
            [point.intensity for point in chosen],
            [point.rate for point in chosen],
            [20 + 400 * point.time / total for point in chosen],
            color=colour,
            marker=marker,
            alpha=0.7,
        )


def roofs(devices: Mapping[str, Device], compute: str = "fp16") -> Figure:
    """What each device attains at each intensity: its slope, its ridge, its roof."""
    ridges_ = {name: device.ridge(compute) for name, device in devices.items()}
    title = "A roof has two parts: bandwidth is the slope, peak the flat"
    told = "; ".join(
        f"{name} rises to {quantity(device.compute_rate(compute), 'FLOP/s')} at its ridge of "
        f"{ridges_[name]:.0f} and is flat from there"
        for name, device in devices.items()
    )
    intensity = np.geomspace(0.5, 4000, 200)
    with canvas(title, f"FLOP/s against FLOPs per byte, log-log. {told}.", width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (name, device) in enumerate(devices.items()):
            look = {"color": COLOURS[number], "linestyle": _DASHES[number]}
            axes.loglog(intensity, device.attainable(intensity, compute), label=name, **look)
            top = device.compute_rate(compute)
            axes.plot([ridges_[name]], [top], _MARKERS[number], color=COLOURS[number])
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s")
        axes.legend(loc="lower right", fontsize=_SMALL)
    return drawing.result


def readings(ledgers: Mapping[str, Ledger], device: Device) -> Figure:
    """Four times of each ledger: by op or by step, with overlap or without, to the smallest."""
    kinds = [(g, o) for g in GRANULARITIES for o in OVERLAPS]
    spent = {
        name: [time(work, device, overlap=o, granularity=g) for g, o in kinds]
        for name, work in ledgers.items()
    }
    most = max(max(times) / min(times) for times in spent.values())
    title = f"Four readings of one ledger differ by {most - 1:.0%} at most here"
    alt = "Bars of time over the shortest reading. " + "; ".join(
        f"{name}: "
        + ", ".join(
            f"by {g}, {_overlap(o)} {value / min(times):.3f}"
            for (g, o), value in zip(kinds, times, strict=True)
        )
        for name, times in spent.items()
    )
    with canvas(title, f"{alt}.", width=WIDTH, height=3.2) as drawing:
        axes = drawing.axes
        for number, (name, times) in enumerate(spent.items()):
            places = [row + 0.38 * number for row in range(len(kinds))]
            bars = axes.barh(
                places, [t / min(times) for t in times], 0.36, color=COLOURS[number], label=name
            )
            axes.bar_label(bars, [quantity(t, "s", 3) for t in times], padding=3, fontsize=_SMALL)
        axes.set_yticks([row + 0.19 for row in range(len(kinds))])
        axes.set_yticklabels([f"by {g},\n{_overlap(o)}" for g, o in kinds], fontsize=_SMALL)
        axes.set(xlabel="time over the shortest reading", xlim=(0, most * 1.32))
        axes.invert_yaxis()
        axes.grid(False)
        drawing.figure.legend(loc="outside upper left", ncols=2, fontsize=_SMALL)
    return drawing.result


def phases(ledgers: Mapping[str, Ledger], device: Device) -> Figure:
    """Every op of several ledgers as a point under one roof, a colour and a marker for each."""
    shares, drawn = [], {}
    for name, ledger in ledgers.items():
        points = [point for point in limits(ledger, device) if point.flops]
        total = sum(point.time for point in points)
        bound = sum(point.time for point in points if point.is_compute_bound) / total
        shares.append(f"{name}: {len(points)} ops, {bound:.0%} of the time compute bound")
        drawn[name] = points, total
    title = "The same ops, far apart: " + " and ".join(ledgers)
    alt = (
        f"FLOP/s against FLOPs per byte under the roof of {device.name}, with its ridge at "
        f"{device.ridge():.0f}. {'; '.join(shares)}. Areas are shares of each one's time."
    )
    with canvas(title, alt, width=WIDTH, height=4) as drawing:
        axes = drawing.axes
        every = [point for points, _ in drawn.values() for point in points]
        _roof(axes, device, None, [point.intensity for point in every])
        for number, (name, (points, total)) in enumerate(drawn.items()):
            look = {"color": COLOURS[number], "marker": _MARKERS[number]}
            sizes = [16 + 350 * point.time / total for point in points]
            places = [(point.intensity, point.rate) for point in points]
            axes.scatter(*zip(*places, strict=True), sizes, alpha=0.7, **look)
            axes.plot([], [], linestyle="", label=name, **look)
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s")
        axes.legend(loc="upper left", fontsize=_SMALL)
    return drawing.result


def decode_batches(model: Transformer, device: Device, contexts: Sequence[int]) -> Figure:
    """Intensity of a decode step against the batch, for several lengths of context."""
    batch = np.unique(np.geomspace(1, 4096, 80).astype(int))
    lines = {
        context: model.decode(batch, context - 1, scores="on-chip").intensity()
        for context in contexts
    }
    ridge = device.ridge()
    title = "The cache sets a ceiling that no batch can pass"
    told = ", ".join(f"{line[-1]:.3g} with {context:,} keys" for context, line in lines.items())
    alt = (
        f"FLOPs per byte against batch, log-log. All lines begin near {_start(lines):.2f} and "
        f"level off: at a batch of {batch[-1]:,} they are at {told}. The ridge is {ridge:.0f}."
    )
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (context, line) in enumerate(lines.items()):
            look = {"color": COLOURS[number], "linestyle": _DASHES[number]}
            axes.loglog(batch, line, **look)
            axes.text(4600, line[-1], f"{context:,} keys", fontsize=_SMALL, color=COLOURS[number])
        axes.axhline(ridge, color=COLOURS[4], linewidth=1, linestyle=":")
        axes.text(1, ridge * 1.12, f"ridge {ridge:.0f}", fontsize=_SMALL)
        axes.set(xlabel="batch", ylabel="FLOPs per byte", xlim=(0.9, 60000))
        axes.set_xticks([1, 10, 100, 1000])
    return drawing.result


def _overlap(kind: str) -> str:
    return f"{'no' if kind == 'none' else kind} overlap"


def _start(lines: Mapping[int, Any]) -> float:
    """Where the first of several lines begins."""
    return float(next(iter(lines.values()))[0])


def prefill_intensity(
    device: Device = jamesnulliu.A100, heads: int = 32, shape: Mapping[str, int] | None = None
) -> Figure:
    """jamesnulliu's first graph: intensity of prefill, as published and with scores that move."""
    shape = shape or jamesnulliu.LLAMA_7B
    seq = np.unique(np.geomspace(16, 131072, 120).astype(int))
    published = jamesnulliu.prefill(1, seq, **shape)
    moved = Elements(scores=2 * shape["N"] * heads * seq * seq)
    right = (published + Op("scores", 0, moved, moved)).intensity()
    as_published, ridge = published.intensity(), device.ridge("fp16")
    first = int(seq[np.argmax(as_published >= ridge)])
    title = "Prefill, as published, and if its scores go through memory"
    alt = (
        f"FLOPs per byte against the length of the prompt, log-log. As published the line passes "
        f"the ridge of {ridge:.0f} near {first} tokens and rises to {as_published[-1]:,.0f} at "
        f"{seq[-1]:,}. With scores moved it has its top, {right.max():.0f}, at "
        f"{seq[np.argmax(right)]:,} tokens and falls to {right[-1]:.0f}, below the ridge."
    )
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        axes.loglog(seq, as_published, color=COLOURS[0], label="as published: scores on chip")
        axes.loglog(seq, right, "--", color=COLOURS[1], label="scores through memory")
        _ridge_line(axes, ridge, 16)
        axes.set(xlabel="tokens of the prompt", ylabel="FLOPs per byte", ylim=(10, 3e6))
        axes.legend(loc="upper left", fontsize=_SMALL)
    return drawing.result


def speculative_intensity(
    cached: Sequence[int],
    device: Device = jamesnulliu.A100,
    batch: int = 1,
    shape: Mapping[str, int] | None = None,
) -> Figure:
    """jamesnulliu's second graph: intensity against new tokens, as published and corrected."""
    shape = shape or jamesnulliu.LLAMA_7B
    new, ridge = np.arange(1, 513), device.ridge("fp16")
    title = "Several new tokens at once share every read"
    lines = []
    for context in cached:
        pair = [
            count(batch, new, context, **shape).intensity()
            for count in (jamesnulliu.decode, jamesnulliu.corrected_decode)
        ]
        lines.append((context, pair))
    told = "; ".join(
        f"{context:,} cached: {a[0]:.2f} as published and {b[0]:.2f} corrected for one new token, "
        f"{new[np.argmax(a >= ridge)]} and {new[np.argmax(b >= ridge)]} new tokens at the ridge"
        for context, (a, b) in lines
    )
    alt = f"FLOPs per byte against new tokens, batch {batch}. {told}. The ridge is {ridge:.0f}."
    with canvas(title, alt, width=WIDTH, height=3.9) as drawing:
        for number, (context, pair) in enumerate(lines):
            for line, dash, kind in zip(pair, "-:", ("as published", "corrected"), strict=True):
                label = f"{context:,} cached, {kind}"
                style: Any = (0, (2, 1.5)) if dash == ":" else dash
                width = 2 if number else 1.4
                drawing.axes.loglog(
                    new, line, color=COLOURS[number], ls=style, lw=width, label=label
                )
        _ridge_line(drawing.axes, ridge, 1)
        drawing.axes.set(xlabel="new tokens in one pass", ylabel="FLOPs per byte", ylim=(0.7, 3000))
        drawing.figure.legend(loc="outside upper left", fontsize=_SMALL)
    return drawing.result


def ridges(devices: Mapping[str, tuple[int, Device]], compute: str = "fp16") -> Figure:
    """The ridge of each device against the year it was announced in."""
    points = {name: (year, device.ridge(compute)) for name, (year, device) in devices.items()}
    low, high = (f(ridge for _, ridge in points.values()) for f in (min, max))
    title = f"Ridges between {low:.0f} and {high:.0f}, and no straight road"
    told = ", ".join(f"{name} in {year} {ridge:.0f}" for name, (year, ridge) in points.items())
    with canvas(title, f"FLOPs per byte at the ridge, {compute}: {told}.", width=WIDTH) as drawing:
        axes = drawing.axes
        axes.plot(*zip(*points.values(), strict=True), "o--", color=COLOURS[0], linewidth=1)
        for name, (year, ridge) in points.items():
            above = ridge > 250 or ridge < 150
            axes.annotate(
                name,
                (year, ridge),
                (0, 8) if above else (4, -16),
                textcoords="offset points",
                ha="center" if above else "left",
                fontsize=_SMALL,
            )
        years = [year for year, _ in points.values()]
        axes.set(xlim=(min(years) - 1, max(years) + 1), ylim=(0, high * 1.2), xlabel="announced")
        axes.set_ylabel("ridge, FLOPs per byte")
    return drawing.result


def splits(model: Transformer, device: Device, seq: int, devices: Sequence[int]) -> Figure:
    """Time of a prompt on several devices: each one's share, and its all-reduces."""
    works, sends = [], []
    for count in devices:
        share = tensor_parallel(model, count).prefill(1, seq)
        works.append(time(share.where(lambda op: not op.axis), device))
        sends.append(time(share.over("tensor"), device))
    title = "Work divides among devices, messages do not"
    alt = f"Bars for a prompt of {seq:,} tokens on {device.name}: " + "; ".join(
        f"{count} device{'s'[: count - 1]} {quantity(work, 's', 3)} of work and "
        f"{quantity(sent, 's', 3)} of messages"
        for count, work, sent in zip(devices, works, sends, strict=True)
    )
    with canvas(title, f"{alt}.", width=WIDTH) as drawing:
        axes, places = drawing.axes, range(len(devices))
        axes.bar(places, [1e3 * w for w in works], color=COLOURS[0], label="work")
        axes.bar(
            places,
            [1e3 * s for s in sends],
            bottom=[1e3 * w for w in works],
            color=COLOURS[1],
            hatch="//",
            edgecolor=INK,
            linewidth=0.6,
            label="all-reduces",
        )
        axes.set_xticks(places, [str(count) for count in devices])
        axes.set(xlabel="devices", ylabel="milliseconds")
        axes.legend(fontsize=_SMALL)
        axes.grid(False)
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
    with canvas(title, alt, width=WIDTH, height=3.2) as drawing:
        drawing.axes.plot(n, 100 * useful, color=COLOURS[0], linewidth=1.4)
        drawing.axes.set(xlabel="n of an n×n output", ylabel="useful share of the peak, %")
        drawing.axes.set(ylim=(0, 104), xlim=(0, most))
    return drawing.result


def _ridge_line(axes: Any, ridge: float, left: float) -> None:
    axes.axhline(ridge, color=COLOURS[4], linewidth=1, linestyle=":")
    axes.text(left, ridge * 1.12, f"ridge {ridge:.0f}", fontsize=_SMALL)
