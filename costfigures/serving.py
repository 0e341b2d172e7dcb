"""The figures of the chapter on serving: a step's limits, frontiers, queues, drafts and prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.batches import apart, filling, life, longest_pause, refilled, token_times
from costfigures.canvas import COLOURS, INK, Figure, canvas, name_ends, name_line
from costfigures.sketch import SMALL, TINT, Sketch, sketch
from costlib.model.transformer import Transformer
from costlib.serving import (
    Server,
    ServingRun,
    best_batch,
    expected_tokens,
    frontier,
    per_million,
    poisson,
    read_lines,
    regimes,
    saturation,
    simulate,
    tensor_limit,
    weight_gain,
)
from costlib.units.display import quantity

__all__ = [
    "apart",
    "cache_cuts",
    "drafts",
    "energy",
    "filling",
    "frontiers",
    "gains",
    "latencies",
    "life",
    "longest_pause",
    "prices",
    "reads",
    "refilled",
    "step",
    "tensor_limits",
    "timelines",
]

#: Narrow enough that no text is scaled below 10 px on a page 375 px wide.
WIDTH = 5.2

_SMALL = 10.5
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (4, 1, 1, 1, 1, 1)))
_MARKERS = "os^Dv"


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number], "linestyle": _DASHES[number % len(_DASHES)]}


def step(server: Server, context: int, target: float) -> Figure:
    """Seconds of a step against the batch: two straight lines, a target, and where memory ends."""
    best, lines = best_batch(server, context, target), regimes(server, context)
    room = int(server.room(context + 1))
    batches = np.unique(np.rint(np.geomspace(1, 4 * max(room, best.batch), 120)))
    spent = server.step(batches, context, too_large="ignore")
    seconds = np.broadcast_to(spent, batches.shape)
    title = f"{best.batch:,} sequences get a token each in {1000 * best.tpot:.1f} ms"
    alt = (
        f"Milliseconds of a step against the batch, log-log. One sequence takes "
        f"{1000 * seconds[0]:.2f}, and {room:,}, the most that fit, "
        f"{1000 * server.step(room, context):.1f}. Two straight lines bound the curve from below: "
        f"weights and caches, and caches and arithmetic. A level line marks the target."
    )
    with canvas(title, alt, width=WIDTH) as drawing:
        axes, fits = drawing.axes, batches <= room
        axes.loglog(batches[fits], 1000 * seconds[fits], **_look(0))
        axes.loglog(batches[~fits], 1000 * seconds[~fits], alpha=0.4, color=COLOURS[0])
        read = lines.weights + batches * lines.reading
        axes.loglog(batches, 1000 * read, **_look(1))
        done = lines.rest + batches * lines.computing
        axes.loglog(batches, 1000 * done, **_look(2))
        axes.axhline(1000 * target, color=COLOURS[4], linewidth=1.2, linestyle=":")
        axes.axvline(room, color=COLOURS[4], linewidth=1.2, linestyle="-.")
        axes.plot([best.batch], [1000 * best.tpot], "o", color=COLOURS[0])
        axes.set(xlabel="batch size", ylabel="milliseconds", ylim=(0.2 * 1000 * seconds[0], None))
        at = (room, 0.5 * 1000 * seconds[0])
        axes.annotate("memory full", at, (4, 0), textcoords="offset points", fontsize=_SMALL)
        name_line(axes, (1, 1000 * seconds[0]), "decode step", 0, xytext=(0, 8))
        name_line(axes, (1, 1000 * read[0]), "reading weights and caches", 1, xytext=(0, -18))
        some = len(batches) // 4
        at = (batches[some], 1000 * done[some])
        name_line(axes, at, "caches and arithmetic", 2, xytext=(8, 0), va="center")
    return drawing.result


def frontiers(servers: Mapping[str, Server], context: int) -> Figure:
    """Tokens a second for one against tokens a second of each device, for all batches that fit."""
    curves = {}
    for name, server in servers.items():
        room = server.room(context + 1)
        if room < 1:
            continue
        batches = np.unique(np.rint(np.geomspace(1, room, 60)))
        curves[name] = frontier(server, context, batches, prompt=1)
    if not curves:
        raise ValueError("none of these servers has room for a sequence: give them more devices")
    told = "; ".join(
        f"{name} from {found.per_user[0]:.0f} for one user to {found.per_user[-1]:.0f} for each "
        f"of {int(found.batch[-1]):,}, {found.throughput[-1] / found.server.devices:,.0f} a device"
        for name, found in curves.items()
    )
    title = "Speed for one user against throughput for all"
    alt = f"Tokens a second: {told}. Each curve falls to the right, and ends where memory is full."
    with canvas(title, alt, width=WIDTH, height=3.9) as drawing:
        axes = drawing.axes
        for number, found in enumerate(curves.values()):
            each = found.throughput / found.server.devices
            axes.loglog(found.per_user, each, **_look(number))
            axes.plot(found.per_user[-1:], each[-1:], _MARKERS[number], color=COLOURS[number])
        axes.set(xlabel="tokens/s per user", ylabel="tokens/s per device")
        _plain_ticks(axes)
        low = [float(found.throughput[0] / found.server.devices) for found in curves.values()]
        name_ends(axes, list(zip(low, curves, strict=True)))
    return drawing.result


def _plain_ticks(axes: Any) -> None:
    """Ones, twos and fives on the level axis, as plain numbers."""
    low, high = axes.get_xlim()
    marks = [digit * 10**power for power in range(-3, 6) for digit in (1, 2, 5)]
    axes.set_xticks(shown := [mark for mark in marks if low <= mark <= high])
    axes.set_xticklabels([f"{mark:g}" for mark in shown])
    axes.minorticks_off()


def latencies(
    server: Server, shares: Sequence[float], *, prompt: int, answer: int, count: int, most: int
) -> Figure:
    """p50 and p99 of TTFT and TPOT against the load, as a share of saturation."""
    full = saturation(server, prompt, answer, most=most)
    rows = []
    for share in shares:
        asked = poisson(share * full.requests_per_s, count, prompt=prompt, answer=answer, seed=1)
        run = simulate(asked, server, most=most)
        first, later = run.ttft, run.tpot
        rows.append([*np.percentile(first, [50, 99]), *np.percentile(later, [50, 99])])
    table = 1000 * np.array(rows)
    names = ("TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99")
    told = "; ".join(
        f"{name} {table[0, n]:.3g} at {shares[0]:.0%} and {table[-1, n]:.3g} at {shares[-1]:.0%}"
        for n, name in enumerate(names)
    )
    title = "TTFT and TPOT grow with the load"
    alt = f"Milliseconds against the load as a share of the most that can be served: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number in range(len(names)):
            at = 100 * np.array(shares)
            axes.semilogy(at, table[:, number], marker=_MARKERS[number], **_look(number))
        axes.axvline(100, color=COLOURS[4], linewidth=1.2, linestyle=":")
        axes.set(xlabel="load, % of saturation", ylabel="milliseconds")
        name_ends(axes, list(zip(table[-1], names, strict=True)))
    return drawing.result


def timelines(
    runs: Mapping[str, ServingRun], many: int, *, window: tuple[float, float] | None = None
) -> Figure:
    """The first requests of several runs in time: queue, prefill, and each token.

    The runs take every step by itself. ``window`` is from when to when, in seconds.
    """
    told = "; ".join(
        f"{name}, the longest ITL is {1000 * longest_pause(run):.0f} ms"
        for name, run in runs.items()
    )
    until = max(float(run.finish[:many].max()) for run in runs.values())
    ends = window or (0.0, until)
    title = "A whole prefill stops the decode of all others"
    alt = f"{many} requests in time: queue, prefill, a tick for each token. {told}."
    with canvas(title, alt, width=WIDTH, height=4.4) as drawing:
        axes, top = drawing.axes, 0.0
        for name, run in runs.items():
            axes.text(ends[0], top - 0.1, name, fontsize=_SMALL, va="bottom")
            for who in range(many):
                _bars(axes, run, who, top + 0.5 + who, ends)
            top += many + 2
        axes.set(xlim=ends, ylim=(top - 1, -1.6), xlabel="seconds", yticks=[])
        axes.grid(False, axis="y")
        axes.spines["left"].set_visible(False)  # names begin there
    return drawing.result


def _bars(axes: Any, run: ServingRun, who: int, height: float, ends: tuple[float, float]) -> None:
    """One request: an empty bar while it waits, a hatched one while it is read, then its tokens."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    arrival, began = run.requests.arrival[who], run.started[who]
    first, times = run.first[who], token_times(run)
    edges = {"edgecolor": INK, "linewidth": 0.4}
    axes.barh([height], [began - arrival], 0.5, [arrival], color="none", **edges)
    axes.barh([height], [first - began], 0.5, [began], color=COLOURS[1], hatch="//", **edges)
    mine = [first, *times[(times > first) & (times <= run.finish[who])]]
    if seen := [time for time in mine if ends[0] <= time <= ends[1]]:
        places = [(time, height + way) for time in seen for way in (-0.4, 0.4)]
        strokes = Path(places, [Path.MOVETO, Path.LINETO] * len(seen))
        strokes.should_simplify = False
        axes.add_patch(PathPatch(strokes, edgecolor=COLOURS[0], linewidth=1, fill=False))


def gains(device: Any, names: Sequence[str], most: int = 2048) -> Figure:
    """How much faster a GEMM with weights gets in fewer bits, against its rows."""
    batches = np.unique(np.rint(np.geomspace(1, most, 200)))
    lines = {name: weight_gain(device, name, batches) for name in names}
    told = "; ".join(
        f"{name} {line[0]:.2f} times for one row and {line[-1]:.2f} for {most:,}"
        for name, line in lines.items()
    )
    title = "Weight-only quantization helps until GEMMs are compute bound"
    alt = f"Speed of a GEMM relative to 16 bits, by its rows, on {device.name}: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            axes.semilogx(batches, line, **_look(number))
            is_first = line[0] == max(each[0] for each in lines.values())
            name_line(axes, (1, line[0]), name, number, xytext=(0, 6 if is_first else -16))
        axes.axhline(1, color=COLOURS[4], linewidth=1.2, linestyle=":")
        axes.set(xlabel="rows of the GEMM", ylabel="speed relative to 16 bits")
        axes.set_ylim(0, 1.12 * max(line[0] for line in lines.values()))
    return drawing.result


def drafts(
    server: Server, contexts: Sequence[int], *, accepted: float, number: int, draft_cost: float
) -> Figure:
    """Speed-up of checking drafts against the batch, for several contexts."""
    batches = np.unique(np.rint(np.geomspace(1, 1024, 80)))
    tokens = expected_tokens(accepted, number)
    lines = {}
    for context in contexts:
        plain = server.step(batches, context, too_large="ignore")
        spent = server.step(batches, context, number + 1, too_large="ignore")
        spent = spent + number * draft_cost * plain
        lines[context] = tokens * plain / spent
    told = "; ".join(
        f"with {context:,} cached {line[0]:.2f} for one and {line[-1]:.2f} for {batches[-1]:,.0f}"
        for context, line in lines.items()
    )
    title = "Drafts pay at every batch size if contexts are long"
    alt = f"Speed-up of {number} drafts at {accepted:.0%} accepted against the batch: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for place, line in enumerate(lines.values()):
            axes.semilogx(batches, line, **_look(place))
        axes.axhline(1, color=COLOURS[4], linewidth=1.2, linestyle=":")
        axes.set(xlabel="batch size", ylabel="speed-up", ylim=(0, None))
        name_ends(axes, [(line[-1], f"{n:,} tokens\ncached") for n, line in lines.items()], 0.15)
    return drawing.result


def tensor_limits(server: Server, context: int, waits: Sequence[float], most: int = 256) -> Figure:
    """Milliseconds of a step for one sequence against the devices that share it, for each wait."""
    devices = np.unique(np.rint(np.geomspace(1, most, 50)))
    ends = {f"latency {1e6 * w:g} µs": tensor_limit(server, context, latency=w) for w in waits}
    lines = {name: 1e3 * end.step(devices) for name, end in ends.items()}
    told = "; ".join(
        f"{name} {lines[name][-1]:.2g} ms, both parts are equal at {end.devices:,.0f} devices"
        for name, end in ends.items()
    )
    title = "Longer latencies end the gain from more devices earlier"
    alt = f"Milliseconds of a decode step against devices, log-log. At {most} devices: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            axes.loglog(devices, line, **_look(number))
            equal = ends[name].devices
            if equal < most:
                axes.plot(equal, 1e3 * ends[name].step(equal), "o", color=COLOURS[number])
        axes.set(xlabel="devices", ylabel="milliseconds of a step")
        _plain_ticks(axes)
        name_ends(axes, [(line[-1], name) for name, line in lines.items()])
    return drawing.result


def reads(models: Mapping[str, Transformer], most: int = 2**20) -> Figure:
    """Bytes of cache that one step moves for one sequence, against its context."""
    contexts = np.geomspace(128, most, 120)
    lines = {name: read_lines(model)(contexts) for name, model in models.items()}
    told = "; ".join(
        f"{name} {quantity(float(line[0]), 'B', 3)} at 128 tokens and "
        f"{quantity(float(line[-1]), 'B', 3)} at {most:,}"
        for name, line in lines.items()
    )
    title = "Bytes of the cache in a decode step, by kind of attention"
    alt = f"Bytes that a step moves against the context, log-log: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, line in enumerate(lines.values()):
            axes.loglog(contexts, line, **_look(number))
        axes.set(xlabel="context, tokens", ylabel="bytes per step")
        name_ends(axes, [(line[-1], name) for name, line in lines.items()])
    return drawing.result


def prices(servers: Mapping[str, Server], context: int, per_hour: float) -> Figure:
    """Dollars for a million output tokens against TPOT, for all batches that fit."""
    curves = {}
    for name, server in servers.items():
        if server.room(context + 1) < 1:
            continue
        batches = np.unique(np.rint(np.geomspace(1, server.room(context + 1), 60)))
        seconds = server.step(batches, context)
        curves[name] = 1000 * seconds, per_million(seconds / batches, per_hour * server.per_copy)
    told = "; ".join(
        f"{name} {money[0]:.2f} at {wait[0]:.1f} ms and {money[-1]:.3f} at {wait[-1]:.1f}"
        for name, (wait, money) in curves.items()
    )
    title = "A longer TPOT makes tokens cheaper"
    alt = f"Dollars for a million tokens against milliseconds of each, log-log: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (wait, money) in enumerate(curves.values()):
            axes.loglog(wait, money, **_look(number))
            axes.plot(wait[-1:], money[-1:], _MARKERS[number], color=COLOURS[number])
        axes.set(xlabel="TPOT, ms", ylabel="dollars per million tokens")
        _plain_ticks(axes)
        name_ends(axes, [(money[-1], name) for name, (_, money) in curves.items()])
    return drawing.result


def energy(
    server: Server,
    batches: Sequence[int],
    context: int,
    *,
    idle: float,
    per_flop: float,
    per_byte: float,
) -> Figure:
    """Where the joules of an output token go: idle power, FLOPs and bytes, as shares, by batch."""
    rows = []
    for batch in batches:
        work = server.share.decode(batch, context)
        spent = (idle * server.step(batch, context), per_flop * work.flops)
        rows.append([float(each) / batch for each in (*spent, per_byte * work.bytes())])
    table = np.array(rows)
    totals, names = table.sum(axis=1), ("idle power", "FLOPs", "bytes of HBM")
    told = "; ".join(
        f"batch {batch:,}: {total:.2g} J, "
        + ", ".join(f"{name} {part / total:.0%}" for name, part in zip(names, row, strict=True))
        for batch, total, row in zip(batches, totals, table, strict=True)
    )
    title = "A larger batch divides the energy of the weights among its tokens"
    alt = f"Bars of shares of the energy of an output token. {told}."
    with canvas(title, alt, width=WIDTH, height=2.6) as drawing:
        axes, left = drawing.axes, np.zeros(len(batches))
        heights = np.arange(len(batches))[::-1]
        for number, name in enumerate(names):
            share = 100 * table[:, number] / totals
            look = {"color": COLOURS[number] + "77", "edgecolor": COLOURS[number]}
            axes.barh(
                heights, share, 0.62, left, label=name, hatch=("", "//", "..")[number], **look
            )
            left = left + share
        labels = [f"batch {b:,}\n{t:.2g} J" for b, t in zip(batches, totals, strict=True)]
        axes.set_yticks(heights, labels)
        axes.set(xlabel="% of the energy of an output token", xlim=(0, 100))
        axes.grid(visible=False, axis="y")
        drawing.figure.legend(loc="outside upper left", ncols=3, fontsize=_SMALL)
    return drawing.result


#: The axes of a cache, and which of a layer, a head and a token decides.
_CUTS = {"by heads": 1, "by layers": 0, "by tokens": 2}


def cache_cuts() -> Figure:
    """A KV cache of four layers and four KV heads, and one of latents, on four devices.

    >>> "by tokens" in cache_cuts().alt
    True
    """
    title = "Three ways to divide a KV cache over four devices"
    alt = (
        "Two rows of three drawings, by heads, by layers and by tokens. Each has four blocks, the "
        "layers, with tokens from left to right. Above, a block has four KV heads: by heads each "
        "device has one row of every block, by layers one whole block, by tokens every fourth "
        "column. Below, a block is a row of latents without heads: by heads all of it is grey, "
        "since every device keeps it; by layers and by tokens it is divided as above."
    )
    with sketch(title, alt, height=292) as drawing:
        for number, (name, axis) in enumerate(_CUTS.items()):
            left = 4 + 121 * number
            drawing.text((left + 54, 9), name, align="middle", bold=True)
            for layer in range(4):
                _layer(drawing, (left, 22 + 38 * layer), 4, layer, axis)
                _layer(drawing, (left, 200 + 18 * layer), 1, layer, axis)
        drawing.text((4, 188), "latents: one row for all heads", size=SMALL)
        for number in range(4):
            look: dict[str, Any] = {"fill": COLOURS[number] + TINT, "edge": COLOURS[number]}
            drawing.box((4 + 88 * number, 276), 12, 12, **look)
            drawing.text((21 + 88 * number, 282), f"device {number + 1}", size=SMALL)
    return drawing.result


def _layer(drawing: Sketch, corner: tuple[float, float], heads: int, layer: int, axis: int) -> None:
    """The cache of a layer, eight tokens wide, in the colours of the devices that keep it.

    Latents have no heads to divide, so every device keeps them: that is grey.
    """
    side = (13.5, 8.0 if heads > 1 else 12.0)
    kept: dict[str, list[tuple[float, float]]] = {}
    for head in range(heads):
        for token in range(8):
            device = (layer, head, token)[axis] % 4 if heads > 1 or axis != 1 else 4
            kept.setdefault(COLOURS[device] + TINT, []).append((head, token))
    for colour, cells in kept.items():
        drawing.fill(corner, cells, side, colour)
    drawing.cells(corner, heads, 8, side)
