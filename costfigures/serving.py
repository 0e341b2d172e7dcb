"""The figures of the chapter on serving: a step's limits, frontiers, queues, drafts and prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.batches import apart, filling, life, longest_pause, refilled, token_times  # noqa: F401 - of this chapter
from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import (
    MARKS,
    bar_chart,
    line_chart,
    line_ends,
    lines,
    look,
    mark,
    note,
    points,
    ticks,
)
from costfigures.sketch import TINT, Point, Sketch, sketch
from costlib import serving
from costlib.model.transformer import Transformer
from costlib.serving import Server, ServingRun


def step(server: Server, context: int, target: float) -> Figure:
    """Seconds of a step against the batch: two straight lines, a target, and where memory ends."""
    best, limits = serving.best_batch(server, context, target), serving.regimes(server, context)
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
    read = limits.weights + batches * limits.reading
    done = limits.rest + batches * limits.computing
    with canvas(title, alt) as drawing:
        axes, fits = drawing.axes, batches <= room
        axes.loglog(batches[fits], 1000 * seconds[fits], **look(0))
        axes.loglog(batches[~fits], 1000 * seconds[~fits], alpha=0.4, color=COLOURS[0])
        axes.loglog(batches, 1000 * read, **look(1))
        axes.loglog(batches, 1000 * done, **look(2))
        mark(axes, "target", y=1000 * target)
        mark(axes, "memory full", x=room, at=0.15)
        axes.plot([best.batch], [1000 * best.tpot], "o", color=COLOURS[0])
        axes.set(xlabel="batch size", ylabel="milliseconds", ylim=(0.2 * 1000 * seconds[0], None))
        note(axes, (1, 1000 * seconds[0]), "decode step", (0.01, 7), color=COLOURS[0])
        words = "reading weights and caches"
        note(axes, (1, 1000 * read[0]), words, (0.01, -7), color=COLOURS[1])
        some = int(np.searchsorted(done, 0.25 * seconds[0]))
        at = (batches[some], 1000 * done[some])
        note(axes, at, "caches and arithmetic", (6, 0), color=COLOURS[2])
    return drawing.result


def frontiers(servers: Mapping[str, Server], context: int) -> Figure:
    """Tokens a second for one against tokens a second of each device, for all batches that fit."""
    curves = {}
    for name, server in servers.items():
        room = server.room(context + 1)
        if room < 1:
            continue
        batches = np.unique(np.rint(np.geomspace(1, room, 60)))
        curves[name] = serving.frontier(server, context, batches, prompt=1)
    if not curves:
        raise ValueError("none of these servers has room for a sequence: give them more devices")
    found = {
        name: (each.per_user[::-1], (each.throughput / each.server.devices)[::-1])
        for name, each in curves.items()
    }
    title = "Speed for one user against throughput for all"
    what = "Tokens/s of a device by tokens/s of each user, from where memory is full"
    with line_chart(title, what, None, found, height=3.9) as drawing:
        points(drawing.axes, [(across[0], up[0]) for across, up in found.values()])
        drawing.axes.set(xlabel="tokens/s per user", ylabel="tokens/s per device")
    return drawing.result


def latencies(
    server: Server, shares: Sequence[float], *, prompt: int, answer: int, count: int, most: int
) -> Figure:
    """p50 and p99 of TTFT and TPOT against the load, as a share of saturation."""
    full = serving.saturation(server, prompt, answer, most=most)
    rows = []
    for share in shares:
        asked = serving.poisson(
            share * full.requests_per_s, count, prompt=prompt, answer=answer, seed=1
        )
        run = serving.simulate(asked, server, most=most)
        first, later = run.ttft, run.tpot
        rows.append([*np.percentile(first, [50, 99]), *np.percentile(later, [50, 99])])
    table = 1000 * np.array(rows)
    names = ("TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99")
    title = "TTFT and TPOT grow with the load"
    found, at = dict(zip(names, table.T, strict=True)), 100 * np.array(shares)
    what = "Milliseconds by load in %"
    with line_chart(title, what, at, found, "y", marks=MARKS, at="") as drawing:
        mark(drawing.axes, x=100)
        line_ends(drawing.axes, [(100, line[-1], name) for name, line in found.items()])
        drawing.axes.set(xlabel="load, % of saturation", ylabel="milliseconds")
    return drawing.result


def timelines(runs: Mapping[str, ServingRun], many: int, *, window: Point | None = None) -> Figure:
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
    with canvas(title, alt, height=3.9) as drawing:
        axes, top = drawing.axes, 0.0
        for name, run in runs.items():
            note(axes, (ends[0], top), name, (0.01, 1))
            for who in range(many):
                _bars(axes, run, who, top + 0.5 + who, ends)
            top += many + 2
        axes.set(xlim=ends, ylim=(top - 1, -1.6), xlabel="seconds", yticks=[])
        axes.grid(False, axis="y")
        axes.spines["left"].set_visible(False)  # names begin there
    return drawing.result


def _bars(axes: Any, run: ServingRun, who: int, height: float, ends: Point) -> None:
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
    found = {name: serving.weight_gain(device, name, batches) for name in names}
    title = "Weight-only quantization helps until GEMMs are compute bound"
    what = f"Speed of a GEMM relative to 16 bits by its rows, on {device.name}"
    with line_chart(title, what, batches, found, "x", at="") as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(found.items()):
            is_first = line[0] == max(each[0] for each in found.values())
            note(axes, (1, line[0]), name, (0.01, 5 if is_first else -6), color=COLOURS[number])
        mark(axes, y=1)
        axes.set(xlabel="rows of the GEMM", ylabel="speed relative to 16 bits")
        axes.set_ylim(0, 1.12 * max(line[0] for line in found.values()))
    return drawing.result


def drafts(
    server: Server, contexts: Sequence[int], *, accepted: float, number: int, draft_cost: float
) -> Figure:
    """Speed-up of checking drafts against the batch, for several contexts."""
    batches = np.unique(np.rint(np.geomspace(1, 1024, 80)))
    tokens = serving.expected_tokens(accepted, number)
    found = {}
    for context in contexts:
        plain = server.step(batches, context, too_large="ignore")
        spent = server.step(batches, context, number + 1, too_large="ignore")
        spent = spent + number * draft_cost * plain
        found[f"{context:,} tokens cached"] = tokens * plain / spent
    title = "Drafts pay at every batch size if contexts are long"
    what = f"Speed-up of {number} drafts at {accepted:.0%} accepted by batch"
    with line_chart(title, what, batches, found, "x") as drawing:
        mark(drawing.axes, y=1)
        drawing.axes.set(xlabel="batch size", ylabel="speed-up", ylim=(0, None))
    return drawing.result


def tensor_limits(server: Server, context: int, waits: Sequence[float], most: int = 256) -> Figure:
    """Milliseconds of a step for one sequence against the devices that share it, for each wait."""
    devices = np.unique(np.rint(np.geomspace(1, most, 50)))
    ends = {
        f"latency {1e6 * w:g} µs": serving.tensor_limit(server, context, latency=w) for w in waits
    }
    found = {name: 1e3 * end.step(devices) for name, end in ends.items()}
    told = "; ".join(
        f"{name} {found[name][-1]:.2g} ms, both parts are equal at {end.devices:,.0f} devices"
        for name, end in ends.items()
    )
    title = "With longer latencies, fewer devices bring a step within twice its shortest time"
    alt = f"Milliseconds of a decode step against devices, log-log. At {most} devices: {told}."
    with canvas(title, alt) as drawing:
        axes = drawing.axes
        lines(axes, devices, found)
        for number, end in enumerate(ends.values()):
            if end.devices < most:
                axes.plot(end.devices, 1e3 * end.step(end.devices), "o", color=COLOURS[number])
        axes.set(xlabel="devices", ylabel="milliseconds of a step")
        ticks(axes.xaxis, [n for n in (1, 4, 16, 64, 256) if n <= most])
    return drawing.result


def reads(models: Mapping[str, Transformer], most: int = 2**20) -> Figure:
    """Bytes of cache that one step moves for one sequence, against its context."""
    contexts = np.geomspace(128, most, 120)
    found = {name: serving.read_lines(model)(contexts) / 1e9 for name, model in models.items()}
    title = "Bytes of the cache in a decode step, by kind of attention"
    with line_chart(title, "GB that a step moves by context", contexts, found) as drawing:
        drawing.axes.set(xlabel="context, tokens", ylabel="GB per step")
    return drawing.result


def prices(servers: Mapping[str, Server], context: int, per_hour: float) -> Figure:
    """Dollars for a million output tokens against TPOT, for all batches that fit."""
    curves = {}
    for name, server in servers.items():
        if server.room(context + 1) < 1:
            continue
        batches = np.unique(np.rint(np.geomspace(1, server.room(context + 1), 60)))
        seconds = server.step(batches, context)
        curves[name] = (
            1000 * seconds,
            serving.per_million(seconds / batches, per_hour * server.per_copy),
        )
    title = "A longer TPOT makes tokens cheaper"
    with line_chart(title, "Dollars for a million tokens by ms of each", None, curves) as drawing:
        points(drawing.axes, [(wait[-1], money[-1]) for wait, money in curves.values()])
        drawing.axes.set(xlabel="TPOT, ms", ylabel="dollars per million tokens")
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
    title = "A larger batch divides the energy of the weights among its tokens"
    what = "Bars of shares of the energy of an output token, per cent"
    labels = [f"batch {b:,}\n{t:.2g} J" for b, t in zip(batches, totals, strict=True)]
    parts = dict(zip(names, 100 * table.T / totals, strict=True))
    with bar_chart(title, what, labels, parts, ".0f", sums="", height=2.6) as drawing:
        drawing.axes.set(xlabel="% of the energy of an output token", xlim=(0, 100))
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
        drawing.text((4, 188), "latents: one row for all heads")
        names = {f"device {n + 1}": COLOURS[n] + TINT for n in range(4)}
        drawing.key((4, 282), names, 88)
    return drawing.result


def _layer(drawing: Sketch, corner: Point, heads: int, layer: int, axis: int) -> None:
    """The cache of a layer, eight tokens wide, in the colours of the devices that keep it.

    Latents have no heads to divide, so every device keeps them: that is grey.
    """
    side = (13.5, 8.0 if heads > 1 else 12.0)
    kept: dict[str, list[Point]] = {}
    for head in range(heads):
        for token in range(8):
            device = (layer, head, token)[axis] % 4 if heads > 1 or axis != 1 else 4
            kept.setdefault(COLOURS[device] + TINT, []).append((head, token))
    for colour, cells in kept.items():
        drawing.fill(corner, cells, side, colour)
    drawing.cells(corner, heads, 8, side)
