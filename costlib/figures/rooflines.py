"""The figures of chapter 5: what a device allows, and where the ops of a step stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costlib.display import quantity
from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.ledger import Ledger
from costlib.matmul import matmul
from costlib.numbers import ceil_div
from costlib.parallel import tensor_parallel
from costlib.precision import Precision, precision_of
from costlib.roofline import Device, Limit, limits, time
from costlib.transformer import Transformer

__all__ = [
    "decode_batches",
    "guesses",
    "phases",
    "prompts",
    "roofline",
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
    with canvas(title, alt, width=WIDTH, height=4.2) as drawing:
        axes = drawing.axes
        _roof(axes, device, compute, [point.intensity for point in points])
        _ops(axes, points, total)
        _name(axes, slowest, INK, is_left=False)
        axes.set_ylim(top=40 * device.compute_rate(compute))
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s")
        axes.legend(loc="upper left", fontsize=_SMALL)
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


def phases(ledgers: Mapping[str, Ledger], device: Device, named: int = 4) -> Figure:
    """Every op of several ledgers as a point under one roof; the slowest of each are named."""
    shares, drawn = [], {}
    for name, ledger in ledgers.items():
        points = [point for point in limits(ledger, device) if point.flops]
        total = sum(point.time for point in points)
        bound = sum(point.time for point in points if point.is_compute_bound) / total
        slowest = _slowest(points, total)[:named]
        told = ", ".join(f"{text} near {point.intensity:,.1f}" for text, point in slowest)
        shares.append(
            f"{name}: {len(points)} ops, {bound:.0%} of the time compute bound; slowest {told}"
        )
        drawn[name] = points, total, slowest
    title = "The same ops, far apart: " + " and ".join(ledgers)
    alt = (
        f"FLOP/s against FLOPs per byte under the roof of {device.name}, with its ridge at "
        f"{device.ridge():.0f}. {'; '.join(shares)}. Areas are shares of each one's time."
    )
    with canvas(title, alt, width=WIDTH, height=5) as drawing:
        axes = drawing.axes
        places = [p.intensity for points, _, _ in drawn.values() for p in points if p.intensity]
        top = device.compute_rate()
        _roof(axes, device, None, places)
        for number, (name, (points, total, slowest)) in enumerate(drawn.items()):
            look = {"color": COLOURS[number], "marker": _MARKERS[number]}
            sizes = [16 + 350 * point.time / total for point in points]
            at = [(point.intensity, point.rate) for point in points]
            axes.scatter(*zip(*at, strict=True), sizes, alpha=0.7, **look)
            axes.plot([], [], linestyle="", label=name, **look)
            _name(axes, slowest, COLOURS[number], is_left=not number)
        axes.set(xlim=(min(places) / 8, 8e3), ylim=(None, 12 * top))
        axes.set(xlabel="FLOPs per byte", ylabel="FLOP/s")
        axes.legend(loc="upper left", fontsize=_SMALL)
    return drawing.result


def _name(axes: Any, slowest: Sequence[tuple[str, Limit]], colour: str, is_left: bool) -> None:
    """Names beside points: above the flat roof, else above the slope's left or below its right."""
    last, lines = 0.0, 0
    for text, point in sorted(slowest, key=lambda each: -each[1].intensity):
        lines = lines + 1 if last / 4 < point.intensity and last else 0
        last = point.intensity
        if point.is_compute_bound:
            place, align = (4, 14 + 15 * lines), "right"
        elif is_left:
            place, align = (-12, 4 + 15 * lines), "right"
        else:
            place, align = (10, -12 - 15 * lines), "left"
        axes.annotate(
            text,
            (point.intensity, point.rate),
            place,
            textcoords="offset points",
            ha=align,
            fontsize=_SMALL,
            color=colour,
        )


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


def _start(lines: Mapping[int, Any]) -> float:
    """Where the first of several lines begins."""
    return float(next(iter(lines.values()))[0])


def prompts(model: Transformer, device: Device, rows: int) -> Figure:
    """Intensity of a prompt against its length, by what attention does with scores and keys."""
    seq = np.unique(np.geomspace(16, 131072, 120).astype(int))
    fused = model.prefill(1, seq, scores="on-chip")
    again = fused.only("scores", "values").flops / rows  # bytes, at 2 an element
    lines = {
        "keys and values read once": fused.intensity(),
        f"read for every {rows} queries": fused.flops / (fused.bytes() + again),
        "scores through memory": model.prefill(1, seq, scores="materialised").intensity(),
    }
    ridge = device.ridge()
    first = int(seq[np.argmax(lines["keys and values read once"] >= ridge)])
    title = "What attention moves decides what a long prompt costs"
    told = "; ".join(
        f"{name}: {line.max():,.0f} at most, {line[-1]:,.0f} at {seq[-1]:,}"
        for name, line in lines.items()
    )
    alt = (
        f"FLOPs per byte against the length of the prompt, log-log. All lines pass the ridge of "
        f"{ridge:.0f} near {first} tokens and part further on. {told}."
    )
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            axes.loglog(seq, line, _DASHES[number], color=COLOURS[number], label=name)
        _ridge_line(axes, ridge, 16)
        axes.set(xlabel="tokens of the prompt", ylabel="FLOPs per byte", ylim=(10, 1e5))
        axes.legend(loc="upper left", fontsize=_SMALL)
    return drawing.result


def guesses(model: Transformer, device: Device, cached: Sequence[int]) -> Figure:
    """Intensity of a step against its new tokens, for several caches; a batch for comparison."""
    new, ridge = np.arange(1, 513), device.ridge()
    lines = {
        f"{context:,} cached, new tokens of one sequence": model.decode(1, context, new).intensity()
        for context in cached
    }
    most = max(cached)
    lines[f"{most:,} cached, sequences of a batch"] = model.decode(new, most).intensity()
    title = "New tokens share the cache, a batch does not"
    told = "; ".join(
        f"{name}: {line[0]:.2f} for one, {_met(line, ridge)}" for name, line in lines.items()
    )
    alt = f"FLOPs per byte against tokens of a step, log-log. {told}. The ridge is {ridge:.0f}."
    with canvas(title, alt, width=WIDTH, height=3.9) as drawing:
        for number, (name, line) in enumerate(lines.items()):
            look: dict[str, Any] = {"color": COLOURS[number], "linestyle": _DASHES[number]}
            drawing.axes.loglog(new, line, label=name, **look)
        _ridge_line(drawing.axes, ridge, 1)
        drawing.axes.set(xlabel="tokens in one step", ylabel="FLOPs per byte", ylim=(0.7, 1000))
        drawing.figure.legend(loc="outside upper left", fontsize=_SMALL)
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
