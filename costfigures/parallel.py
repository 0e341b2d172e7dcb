"""The figures of the chapter on many devices: what lies where, what moves, and who waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, PAPER, Figure, canvas
from costfigures.cluster import experts, folded, hidden, ring_rounds
from costfigures.measured import dots
from costlib.parallel import (
    Layout,
    Timeline,
    Way,
    cheapest,
    played,
)
from costlib.units.display import quantity

__all__ = [
    "causal_slices",
    "experts",
    "folded",
    "frontier",
    "held",
    "hidden",
    "pipelines",
    "products",
    "ring_rounds",
    "times",
]

WIDTH = 5.2
_SMALL = 10.5


# ------------------------------------------------------------------------------ collectives


def _box(
    axes: Any,
    place: tuple[float, float],
    width: float,
    height: float,
    colour: str,
    shade: float = 0.6,
    hatch: str | None = None,
) -> None:
    """A rectangle: a pale fill and a line round it."""
    x, y = place
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    axes.fill(*zip(*corners, strict=True), color=colour, alpha=shade, linewidth=0)
    if hatch:
        axes.fill(*zip(*corners, strict=True), fill=False, hatch=hatch, edgecolor=INK, linewidth=0)
    closed = [*corners, corners[0]]
    axes.plot(*zip(*closed, strict=True), color=INK, linewidth=0.6)


def times(
    lines: Mapping[str, Any],
    sizes: Any,
    measured: Mapping[float, float],
    crossing: float,
    where: str,
) -> Figure:
    """Seconds of an all-reduce against its bytes: formulas as lines, measurements as points."""
    names = list(lines)
    title = "Latency limits small all-reduces, and bandwidth limits large ones"
    told = "; ".join(
        f"{name}: {quantity(line[0], 's')} at {quantity(sizes[0], 'B')}, "
        f"{quantity(line[-1], 's')} at {quantity(sizes[-1], 'B')}"
        for name, line in lines.items()
    )
    points = [(size, seconds) for size, seconds in measured.items()]
    alt = (
        f"Seconds against bytes, log-log, on {where}. {told}. {names[0]} and {names[1]} cross at "
        f"{quantity(crossing, 'B', 3)}. Measured: {quantity(points[0][1], 's')} at "
        f"{quantity(points[0][0], 'B')}, {quantity(points[-1][1], 's')} at "
        f"{quantity(points[-1][0], 'B')}."
    )
    with canvas(title, alt, width=WIDTH, height=3.7) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            dash = ("-", "--", "-.", ":")[number]
            axes.loglog(sizes, line, dash, color=COLOURS[number], label=name)
        axes.loglog(
            *zip(*points, strict=True), "o", color=COLOURS[4], markersize=5, label="measured"
        )
        axes.axvline(crossing, color=COLOURS[4], linewidth=1, linestyle=":")
        axes.set(xlabel="bytes of the tensor", ylabel="seconds")
        drawing.figure.legend(loc="outside upper left", ncols=2, fontsize=_SMALL)
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
    with canvas(title, alt, width=WIDTH, height=5.4) as drawing:
        axes = drawing.axes
        for row, (name, layout) in enumerate(CASES.items()):
            _case(axes, 4.6 * row, name, layout, found[name])
        axes.set(xlim=(-0.2, 16.6), ylim=(18.6, -1.1))
        axes.set_aspect("equal")
        axes.axis("off")
    return drawing.result


def _cut(letter: str | None) -> str:
    return f"sharded along {letter}" if letter else "whole everywhere"


def _sends(way: Way) -> str:
    names = {"all_reduce": "all-reduce C", "reduce_scatter": "reduce-scatter C"}
    done = [f"gather {which.upper()}" for which in way.gathers]
    return " and ".join([*done, *([names[way.then]] if way.then else [])]) or "nothing to send"


def _case(axes: Any, top: float, name: str, layout: Layout, way: Way) -> None:
    axes.text(0, top - 0.3, f"{name}: {_sends(way)}", fontsize=_SMALL)
    places = (0.9, 5.0, 9.1)
    cuts = (("A", "mk", layout.a), ("B", "kn", layout.b))
    for left, (matrix, letters, cut) in zip(places, cuts, strict=False):
        _matrix(axes, left, top, matrix, letters, cut)
    axes.text(4.15, top + 1.45, "·", ha="center", va="center", fontsize=16)
    axes.text(8.25, top + 1.45, "=", ha="center", va="center", fontsize=13)
    if way.then:
        for step in range(4):
            place = (places[2] + 0.35 * step, top + 0.25 * step)
            _box(axes, place, 2.2, 2.2, COLOURS[step], 0.75)
        axes.text(12.8, top + 1.6, "one partial\nsum each", va="center", fontsize=_SMALL)
    else:
        _matrix(axes, places[2], top, "C", "mn", layout.c)


def _matrix(
    axes: Any, left: float, top: float, name: str, letters: str, cut: str | None, side: float = 2.9
) -> None:
    """A square, its letters at its sides, in slices coloured by device."""
    slices = 4 if cut else 1
    for number in range(slices):
        thin = side / slices
        place = (left, top + number * thin) if cut == letters[0] else (left + number * thin, top)
        size = (side, thin) if cut == letters[0] else (thin, side)
        _box(axes, place, *size, COLOURS[number] if cut else COLOURS[4], 0.55 if cut else 0.15)
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 12, "weight": "bold"}
    ground = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}  # or lines run through it
    axes.text(left + side / 2, top + side / 2, name, bbox=ground, **look)
    axes.text(left - 0.35, top + side / 2, letters[0], ha="center", va="center", fontsize=_SMALL)
    axes.text(left + side / 2, top + side + 0.45, letters[1], ha="center", fontsize=_SMALL)


# ------------------------------------------------------------------------------------ memory


def held(stages: Mapping[str, Mapping[str, float]], capacity: float, name: str) -> Figure:
    """Bytes that a device holds, in parts, for several ways to hold them; and what it has."""
    totals = {stage: sum(parts.values()) for stage, parts in stages.items()}
    title = "ZeRO shards what plain data parallelism copies"
    told = "; ".join(
        f"{stage}: {quantity(totals[stage], 'B')} ("
        + ", ".join(f"{kind} {quantity(size, 'B')}" for kind, size in parts.items())
        + ")"
        for stage, parts in stages.items()
    )
    alt = f"Bars of bytes held by one device. {told}. {name} has {quantity(capacity, 'B')} usable."
    with canvas(title, alt, width=WIDTH, height=3.3) as drawing:
        axes = drawing.axes
        _stacked(axes, stages)
        for row, total in enumerate(totals.values()):
            axes.text(total / 1e9 + 1, row, f"{total / 1e9:.1f}", va="center", fontsize=_SMALL)
        axes.axvline(capacity / 1e9, color=INK, linewidth=1, linestyle="--")
        axes.text(capacity / 1e9 + 1, 2.5, f"usable,\n{name}", fontsize=_SMALL, va="center")
        axes.invert_yaxis()
        axes.set(xlabel="GB on each device", xlim=(0, 1.12 * max(*totals.values(), capacity) / 1e9))
        drawing.figure.legend(loc="outside upper left", ncols=3, fontsize=_SMALL)
        axes.grid(False)
    return drawing.result


def _stacked(axes: Any, stages: Mapping[str, Mapping[str, float]]) -> None:
    base = np.zeros(len(stages))
    for number, kind in enumerate(next(iter(stages.values()))):
        sizes = np.array([parts[kind] / 1e9 for parts in stages.values()])
        axes.barh(
            list(stages),
            sizes,
            left=base,
            color=COLOURS[number],
            hatch=("", "//", "\\\\")[number],
            edgecolor=INK,
            linewidth=0.6,
            label=kind,
        )
        base = base + sizes


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
    with canvas("When devices of a pipeline wait", alt, width=WIDTH, height=5.2) as drawing:
        axes = drawing.axes
        for block, (how, line) in enumerate(lines.items()):
            top = block * (stages + 1.7)
            axes.text(0, top - 0.25, line, fontsize=_SMALL)
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
                axes.text(
                    at[0] + at[2] / 2, top + 0.55, words, va="center", ha="center", fontsize=10
                )
    for (kind, is_other), places in kinds.items():
        colour = COLOURS[kind] + ("aa" if is_other else "55")
        _tiles(axes, places, facecolor=colour, edgecolor=INK, linewidth=0.5)
    _tiles(axes, framed, fill=False, edgecolor=INK, linewidth=1.8)


def _tiles(axes: Any, places: Sequence[tuple[float, ...]], **look: Any) -> None:
    """Many rectangles (left, top, width, height) as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    outlines = [
        Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], closed=True)
        for x, y, w, h in places
    ]
    axes.add_patch(PathPatch(Path.make_compound_path(*outlines), **look))


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
    with canvas(title, alt, width=WIDTH, height=2.9) as drawing:
        axes = drawing.axes
        for number, (name, owner) in enumerate(owners.items()):
            left = number * (pieces + 3)
            most = max(work[name]) * devices
            axes.text(left, -0.5, f"{name}: {most:.2f} × fair share", fontsize=_SMALL)
            _triangle(axes, left, owner)
        axes.set(xlim=(-1.1, 2 * pieces + 3.6), ylim=(pieces + 0.3, -1.6))
        axes.set_aspect("equal")
        axes.axis("off")
    return drawing.result


def _shares(owner: Sequence[int], devices: int) -> list[float]:
    """Each device's share of the pairs, if piece i sees i whole pieces and half of itself."""
    pairs = [0.0] * devices
    for piece, device in enumerate(owner):
        pairs[device] += piece + 0.5
    return [each / sum(pairs) for each in pairs]


def _triangle(axes: Any, left: float, owner: Sequence[int]) -> None:
    for row, device in enumerate(owner):
        for column in range(row):
            _box(axes, (left + column, row), 1, 1, COLOURS[device], 0.6)
        corners = [
            (left + row, row),
            (left + row, row + 1),
            (left + row + 1, row + 1),
        ]  # half is masked
        axes.fill(*zip(*corners, strict=True), color=COLOURS[device], alpha=0.6, linewidth=0.6)
        axes.text(left - 0.25, row + 0.55, str(device), ha="right", va="center", fontsize=_SMALL)


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
    with canvas(title, alt, width=WIDTH, height=5) as drawing:
        axes = drawing.axes
        for tensor, (colour, label) in _TENSORS.items():
            chosen = near & (found["tensor"] >= tensor[0]) & (found["tensor"] <= tensor[1])
            places = _thinned(held[chosen], step[chosen])
            axes.set(xscale="log", yscale="log")
            dots(axes, list(zip(*places, strict=True)), colour)
            axes.plot([], [], "o", color=colour, label=label)
        axes.loglog(best["memory_bytes"] / 1e9, best["step_s"], color=INK, label="frontier")
        for letter, (at, text) in zip("ABCDEF", told.items(), strict=False):
            row = best.iloc[at]
            axes.plot(row["memory_bytes"] / 1e9, row["step_s"], "o", color=INK, markersize=5)
            place = (row["memory_bytes"] / 1e9, row["step_s"])
            axes.annotate(letter, place, (-6, -12), textcoords="offset points", ha="right")
            axes.plot([], [], " ", label=f"{letter}: {text}")
        axes.axvline(capacity / 1e9, color=INK, linewidth=1, linestyle="--")
        _numbered(axes, held[near], step[near])
        drawing.figure.legend(loc="outside upper left", fontsize=_SMALL, ncols=2)
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
    degrees = "·".join(str(row[name]) for name in ("tensor", "pipeline", "data"))
    return f"{degrees}, ZeRO-{row['zero']}{again}"


def _thinned(x: Any, y: Any, steps: int = 32) -> tuple[Any, Any]:
    """One point for each place that can be told apart, with ``steps`` places to a decade."""
    rounded = np.round(np.log10(np.stack([x, y])) * steps)
    _, first = np.unique(rounded, axis=1, return_index=True)
    return np.asarray(x)[first], np.asarray(y)[first]


def _numbered(axes: Any, held: Any, step: Any) -> None:
    """Ticks with plain numbers, and names."""
    for axis, values in ((axes.xaxis, held), (axes.yaxis, step)):
        round_numbers = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
        ticks = [n for n in round_numbers if values.min() / 1.4 <= n <= values.max()]
        axis.set_ticks(ticks, [f"{n}" for n in ticks])
        axis.set_ticks([], minor=True)
    axes.set(xlim=(held.min() / 1.4, held.max()), ylim=(step.min() / 1.4, step.max()))
    axes.set(xlabel="GB on the fullest device", ylabel="seconds per step")
