"""The figures of the chapter on many devices: what lies where, what moves, and who waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import bar_chart, dots, legend, line_chart, mark, note, said, tiles
from costfigures.cluster import experts, folded, hidden, ring_rounds  # noqa: F401 - of this chapter
from costfigures.sketch import Point, Sketch, sketch
from costlib.parallel import Layout, Timeline, Way, cheapest, played
from costlib.units.display import quantity


def times(
    found: Mapping[str, Any],
    sizes: Any,
    measured: Mapping[float, float],
    crossing: float,
    where: str,
) -> Figure:
    """Seconds of an all-reduce against its bytes: formulas as lines, measurements as points."""
    names = list(found)
    title = "Latency limits small all-reduces, and bandwidth limits large ones"
    points = [(size, 1e3 * seconds) for size, seconds in measured.items()]
    what = (
        f"Milliseconds of an all-reduce by bytes, log-log, on {where}. {names[0]} and {names[1]} "
        f"cross at {quantity(crossing, 'B', 3)}. Measured {said(points[0][1])} to "
        f"{said(points[-1][1])}"
    )
    in_ms = {name: 1e3 * line for name, line in found.items()}
    with line_chart(title, what, sizes, in_ms, at="legend", height=3.7) as drawing:
        axes = drawing.axes
        style = {"color": COLOURS[4], "markersize": 5, "label": "measured"}
        axes.plot(*zip(*points, strict=True), "o", **style)
        mark(axes, x=crossing)
        axes.set(xlabel="bytes of the tensor", ylabel="milliseconds")
        legend(axes, 2)
    return drawing.result


# ------------------------------------------------------------------------------- products

#: The four cases: what is cut, and where the product is wanted.
CASES = {
    "1 · A by m, B whole": Layout("m", None, "m"),
    "2 · A by m, B by k": Layout("m", "k", "m"),
    "3 · A by k, B by k": Layout("k", "k", None),
    "4 · A by m, B by n": Layout("m", "n", "m"),
}


def products(devices: int = 4) -> Figure:
    """The four cases of a product whose matrices are cut, and what each must send."""
    side = 4 * devices
    found = {
        name: cheapest(layout, m=side, k=side, n=side, devices=devices)
        for name, layout in CASES.items()
    }
    told = "; ".join(
        f"case {name}: A {_cut(CASES[name].a)}, B {_cut(CASES[name].b)}: {_sends(way)}"
        for name, way in found.items()
    )
    title = "The sharded dimension decides what has to be sent"
    alt = f"Squares for A, B and C = A·B, in slices coloured by device, four rows. {told}."
    with sketch(title, alt, height=98 * len(CASES) - 4) as drawing:
        for row, (name, layout) in enumerate(CASES.items()):
            _case(drawing, 98 * row, name, layout, found[name])
    return drawing.result


def _cut(letter: str | None) -> str:
    return f"sharded along {letter}" if letter else "whole everywhere"


def _sends(way: Way) -> str:
    names = {"all_reduce": "all-reduce C", "reduce_scatter": "reduce-scatter C"}
    done = [f"gather {which.upper()}" for which in way.gathers]
    return " and ".join([*done, *([names[way.then]] if way.then else [])]) or "nothing to send"


def _case(drawing: Sketch, top: float, name: str, layout: Layout, way: Way) -> None:
    drawing.text((0, top + 8), f"{name}: {_sends(way)}")
    cuts = (("A", "mk", layout.a), ("B", "kn", layout.b), ("C", "mn", layout.c))
    for left, sign, matrix in zip((18, 112, 206), ("·", "=", ""), cuts, strict=True):
        if way.then and matrix[0] == "C":
            for step in range(4):
                corner = (left + 7 * step, top + 17 + 5 * step)
                drawing.box(corner, 46, 46, fill=COLOURS[step] + "bb", line=0.6)
            drawing.text((left + 76, top + 48), "one partial\nsum each")
        else:
            _matrix(drawing, (left, top + 17), *matrix)
        drawing.text((left + 69, top + 47), sign, align="middle")


def _matrix(drawing: Sketch, corner: Point, name: str, letters: str, cut: str | None) -> None:
    """A square, its letters at its sides, in slices coloured by device."""
    (left, top), side = corner, 60.0
    for number in range(4 if cut else 1):
        thin = side / (4 if cut else 1)
        fill = COLOURS[number] + "88" if cut else COLOURS[4] + "22"
        if cut == letters[0]:
            drawing.box((left, top + number * thin), side, thin, fill=fill, line=0.6)
        else:
            drawing.box((left + number * thin, top), thin, side, fill=fill, line=0.6)
    drawing.text((left + side / 2, top + side / 2), name, align="middle", bold=True, clear=True)
    drawing.text((left - 9, top + side / 2), letters[0], align="middle", italic=True)
    drawing.text((left + side / 2, top + side + 9), letters[1], align="middle", italic=True)


# ------------------------------------------------------------------------------------ memory


def held(stages: Mapping[str, Mapping[str, float]], capacity: float, name: str) -> Figure:
    """Bytes that a device holds, in parts, for several ways to hold them; and what it has."""
    title = "ZeRO shards what plain data parallelism copies"
    what = f"Bars of GB held by one device. {name} has {quantity(capacity, 'B')} usable"
    kinds = {
        kind: [parts[kind] / 1e9 for parts in stages.values()]
        for kind in next(iter(stages.values()))
    }
    with bar_chart(title, what, stages, kinds, ".1f", height=3.3) as drawing:
        axes = drawing.axes
        axes.axvline(capacity / 1e9, color=INK, linewidth=1, linestyle="--")
        note(axes, (capacity / 1e9, 2.5), f"usable,\n{name}", (4, 0))
        axes.set(xlabel="GB on each device")
    return drawing.result


# --------------------------------------------------------------------------------- pipelines


_SAID = {
    "gpipe": "all forward, then all backward",
    "1f1b": "one forward, one backward",
    "interleaved": "interleaved, two stages a device",
    "zb-h1": "ZB-H1, gradients of weights apart",
    "zb-h2": "ZB-H2, more forward passes early",
    "dualpipe": "DualPipe, microbatches from both ends",
}


def pipelines(*orders: str, stages: int = 4, microbatches: int = 8) -> Figure:
    """Who does what when, for some orders; from the simulator, to one scale of time."""
    done = {}
    for how in orders:
        chunks = 2 if how == "interleaved" else 1
        sizes = {"stages": stages, "microbatches": microbatches, "chunks": chunks}
        done[how] = played(how, **sizes, forward=1 / chunks, backward=2 / chunks)
    lines = {how: f"{_SAID[how]}: {_idle(how, each)}" for how, each in done.items()}
    told = "; ".join(
        f"{line}, at most {done[how].most_held(0) / (2 if how == 'interleaved' else 1):g} "
        "microbatches held by the first device"
        for how, line in lines.items()
    )
    alt = (
        f"Time runs to the right, {stages} devices are rows, a forward pass takes 1 unit and a "
        f"backward pass 2, {microbatches} microbatches. {told}."
    )
    with canvas("When devices of a pipeline wait", alt, height=5.2) as drawing:
        axes = drawing.axes
        for block, (how, line) in enumerate(lines.items()):
            top = block * (stages + 1.7)
            axes.text(0, top - 0.25, line)
            _schedule(axes, top, done[how])
        longest = max(float(each.seconds) for each in done.values())
        axes.set(xlim=(-0.2, longest + 0.2), ylim=(len(orders) * (stages + 1.7) - 1.2, -1.1))
        axes.set_yticks([])
        axes.set_xlabel("time, in forward passes of a stage")
        axes.spines["left"].set_visible(False)
        axes.grid(False)
    return drawing.result


def _idle(how: str, done: Timeline) -> str:
    """How much a device waits in a step, or in its own part of it if the next follows at once."""
    if how == "zb-h2":
        most = max(float(done.waits(device)) for device in range(len(done.devices)))
        return f"{most:.0%} idle once begun"
    return f"{float(done.idle() / done.seconds):.0%} of the time idle"


def _schedule(axes: Any, top: float, done: Timeline) -> None:
    """All tasks; those of the first microbatch are framed, those of the first device numbered."""
    kinds: dict[tuple[int, bool], list[tuple[float, ...]]] = {}
    framed = []
    for device, tasks in enumerate(done.devices):
        for task, begin, end in tasks:
            at = (float(begin), top + device, float(end - begin), 1.0)
            kind = 2 if task.of == "weights" else int(task.backward)
            kinds.setdefault((kind, task.piece != device), []).append(at)
            framed += [at] if task.microbatch == 0 else []
            if not device and end - begin >= 1:
                words = str(task.microbatch + 1)
                middle = at[0] + at[2] / 2, top + 0.55
                axes.text(*middle, words, va="center", ha="center")
    for (kind, is_other), places in kinds.items():
        colour = COLOURS[kind] + ("aa" if is_other else "55")
        tiles(axes, places, facecolor=colour, edgecolor=INK, linewidth=0.5)
    tiles(axes, framed, fill=False, edgecolor=INK, linewidth=1.8)


# ---------------------------------------------------------------------------------- sequence


def causal_slices(devices: int = 4) -> Figure:
    """The pairs of a causal mask by the device that computes them, cut two ways."""
    pieces = 2 * devices
    owners = {
        "one slice each": [piece // 2 for piece in range(pieces)],
        "a zigzag": [min(piece, pieces - 1 - piece) for piece in range(pieces)],
    }
    work = {name: _shares(owner, devices) for name, owner in owners.items()}
    title = "In a zigzag all devices have equal work"
    told = "; ".join(
        f"{name}: " + ", ".join(f"{share:.1%}" for share in shares) for name, shares in work.items()
    )
    alt = f"Two triangles of causal pairs, rows coloured by device. Shares of the pairs: {told}."
    side = 136 / pieces
    with sketch(title, alt, height=164) as drawing:
        for number, (name, owner) in enumerate(owners.items()):
            corner, most = (16 + 184 * number, 24), max(work[name]) * devices
            drawing.text((corner[0], 9), f"{name}: {most:.2f} × fair share")
            _triangle(drawing, corner, owner, side)
    return drawing.result


def _shares(owner: Sequence[int], devices: int) -> list[float]:
    """Each device's share of the pairs, if piece i sees i whole pieces and half of itself."""
    pairs = [0.0] * devices
    for piece, device in enumerate(owner):
        pairs[device] += piece + 0.5
    return [each / sum(pairs) for each in pairs]


def _triangle(drawing: Sketch, corner: Point, owner: Sequence[int], side: float) -> None:
    """A row for each piece, its squares in its device's colour; of the last half is masked."""
    for row, device in enumerate(owner):
        left, top = corner[0], corner[1] + row * side
        drawing.grid((left, top), 1, row, side, COLOURS[device] + "99", line=0.6)
        right = left + row * side
        half = [(right, top), (right, top + side), (right + side, top + side)]
        drawing.axes.fill(*zip(*half, strict=True), color=COLOURS[device] + "99", linewidth=0)
        drawing.text((left - 5, top + side / 2), str(device), align="right")


# ------------------------------------------------------------------------------------- plans


def frontier(found: Any, capacity: float, name: str, named: Sequence[int] = ()) -> Figure:
    """All plans of a search by memory and time, and the line of those that no other one beats.

    ``named`` are places on the line, from the fastest, whose plans are told.
    """
    held, step = found["memory_bytes"] / 1e9, found["step_s"]
    best = found[found["frontier"]]
    told = {at: _told(best.iloc[at]) for at in named}
    title = f"Of {len(found):,} plans {len(best)} are on the frontier"
    points = "; ".join(
        f"{text}: {best['step_s'].iloc[at]:.3g} s, {best['memory_bytes'].iloc[at] / 1e9:.3g} GB"
        for at, text in told.items()
    )
    alt = (
        f"Seconds of a step against GB on each device, log-log: {len(found):,} plans as points, "
        f"from {step.min():.3g} to {step.max():.3g} s and {held.min():.3g} to {held.max():.3g} GB. "
        f"{name} has {capacity / 1e9:.3g} GB usable; {len(best)} of those that fit make a line "
        f"that falls to the right. {points}."
    )
    near = (held < 4 * capacity / 1e9) & (step < 6 * best["step_s"].min())
    with canvas(title, alt, height=5) as drawing:
        axes = drawing.axes
        axes.set(xscale="log", yscale="log")
        for tensor, (colour, label) in _TENSORS.items():
            chosen = near & (found["tensor"] >= tensor[0]) & (found["tensor"] <= tensor[1])
            places = _thinned(held[chosen], step[chosen])
            dots(axes, list(zip(*places, strict=True)), colour)
            axes.plot([], [], "o", color=colour, label=label)
        axes.plot(best["memory_bytes"] / 1e9, best["step_s"], color=INK, label="frontier")
        for letter, (at, text) in zip("ABCDEF", told.items(), strict=False):
            row = best.iloc[at]
            place = (row["memory_bytes"] / 1e9, row["step_s"])
            axes.plot(*place, "o", color=INK, markersize=5)
            note(axes, place, letter, (-5, -4))
            axes.plot([], [], " ", label=f"{letter}: {text}")
        axes.axvline(capacity / 1e9, color=INK, linewidth=1, linestyle="--")
        axes.set(xlabel="GB on the fullest device", ylabel="seconds per step")
        axes.set(xlim=(held[near].min() / 1.4, 1.07 * held[near].max()))
        axes.set(ylim=(step[near].min() / 1.4, 1.07 * step[near].max()))
        legend(axes, 1)
    return drawing.result


#: Colours by the degree of tensor parallelism.
_TENSORS = {
    (1, 1): (COLOURS[0], "tensor 1"),
    (2, 8): (COLOURS[2], "tensor 2 to 8"),
    (9, 10**6): (COLOURS[1], "over more than 8"),
}


def _told(row: Any) -> str:
    """A plan in a few words: its degrees, and whether all is computed again."""
    again = ", recomputed" if row["recompute"] == "full" else ""
    degrees = "·".join(str(row[name]) for name in ("tensor", "context", "pipeline", "data"))
    return f"{degrees}, ZeRO-{row['zero']}{again}"


def _thinned(x: Any, y: Any, steps: int = 32) -> tuple[Any, Any]:
    """One point for each place that can be told apart, with ``steps`` places to a decade."""
    rounded = np.round(np.log10(np.stack([x, y])) * steps)
    _, first = np.unique(rounded, axis=1, return_index=True)
    return np.asarray(x)[first], np.asarray(y)[first]
