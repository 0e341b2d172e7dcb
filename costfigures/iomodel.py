"""Figures of the I/O model: what moves against fast memory, what it holds, in which order.

Each function returns a `costfigures.Figure`. What is drawn is counted or computed when you
call it, on your own run. Shapes, dashes and hatches say what colours say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.canvas import ARRAYS, COLOURS, INK, Figure, canvas
from costfigures.chart import legend, mark, note
from costfigures.copying import overlap, stay_and_pass, traffic  # noqa: F401 - of this chapter
from costfigures.hardware import CACHE, CORE, MEMORY
from costfigures.tiles import tile_life, tiles_order  # noqa: F401 - of this chapter
from costlib.iomodel import algorithms, bounds
from costlib.iomodel.algorithms.runs import Run
from costlib.iomodel.counting.block_sizes import staircase
from costlib.iomodel.memory import Event
from costlib.model.catalog import devices
from costlib.units.numbers import sizes

Array = np.ndarray[Any, Any]


#: How each algorithm is drawn wherever it appears: label, colour, marker, dashes.
_LOOKS: dict[str, tuple[str, str, str, Any]] = {
    "naive": ("standard", COLOURS[3], "s", ":"),
    "flash": ("FlashAttention-1", COLOURS[1], "^", "--"),
    "flash2": ("FlashAttention-2", COLOURS[0], "o", "-"),
    "small_cache": ("small cache", COLOURS[2], "D", "-."),
    "stored_scores": ("stored scores", COLOURS[5], "P", (0, (4, 1.5))),
    "fused": ("fused", COLOURS[6], "v", (0, (6, 1, 1, 1, 1, 1))),
}


def look(name: str) -> dict[str, Any]:
    """Colour, dashes and label of an algorithm's line, the same in every chart.

    >>> look("flash2")["label"]
    'FlashAttention-2'
    """
    label, colour, _, dashes = _LOOKS[name]
    return {"color": colour, "linestyle": dashes, "label": label}


# ---------------------------------------------------------------- I/O against M

_BYTES_PER_ENTRY = 2


def measured_runs(N: int, d: int, capacities: Sequence[int]) -> dict[str, dict[int, Run]]:
    """Every attention algorithm, run and counted at every capacity in which it fits.

    Each takes its best blocks. The matrices are random; their values change no count.

    >>> runs = measured_runs(N=32, d=4, capacities=[16, 64])
    >>> {M: run.total for M, run in runs["flash2"].items()}, sorted(runs["small_cache"])
    ({64: 2304}, [16, 64])
    """
    Q, K, V = np.random.default_rng(0).normal(size=(3, N, d))
    return {
        name: {
            M: getattr(algorithms, name)(Q, K, V, M)
            for M in capacities
            if staircase(name, N, d).step_at(M) >= 0
        }
        for name in _LOOKS
    }


def io_against_memory(N: int = 128, d: int = 16, capacities: Sequence[int] | None = None) -> Figure:
    """Entries moved against M: closed forms as lines, counted runs as dots, bounds shaded below.

    The runs are at M = d²/4, d², 4d² and 16d² unless you choose; ``capacities=()`` draws the lines
    alone, which is quick for any N.

    >>> io_against_memory(N=32, d=4, capacities=[64]).title
    'N = 32, d = 4: counted runs move 2.40 to 7.47 times the lower bound'
    """
    N, d = sizes(N=N, d=d)
    if capacities is None:
        capacities = [max(4, d * d // 4), d * d, 4 * d * d, 16 * d * d]
    runs = measured_runs(N, d, capacities)
    with canvas(_io_title(N, d, runs), _io_alt(N, d, runs, capacities), height=5.6) as drawing:
        axes = drawing.axes
        for name, (label, colour, marker, dashes) in _LOOKS.items():
            M, total = _visible_steps(name, N, d)
            style: dict[str, Any] = {"color": colour, "linestyle": dashes}
            axes.step(M / d**2, total, where="post", lw=1.6, **style)
            axes.plot([], [], marker, label=label, **style)
            for capacity, run in runs[name].items():
                axes.plot(capacity / d**2, run.total, marker, color=colour, markersize=6)
        _shade_bounds(axes, N, d)
        _mark_regimes(axes)
        axes.set(xlabel="fast memory M, in units of d²", ylabel="entries read and written")
        legend(drawing.axes, 2)
    return drawing.result


def _visible_steps(name: str, N: int, d: int) -> tuple[Array, Array]:
    """The staircase of an algorithm; of steps closer than 2 % only the first is kept."""
    steps = staircase(name, N, d)
    end = _largest_marked(N, d)
    kept = [0]
    for index in range(1, steps.step_at(end) + 1):
        if steps.totals[index] < 0.98 * steps.totals[kept[-1]]:
            kept.append(index)
    M, totals = steps.capacities[kept], steps.totals[kept]
    return np.append(M, end), np.append(totals, totals[-1])


def _io_title(N: int, d: int, runs: Mapping[str, Mapping[int, Run]]) -> str:
    times = [
        run.total / float(bounds.attention(N, d, M))
        for of in runs.values()
        for M, run in of.items()
    ]
    if not times:
        return f"N = {N:,}, d = {d}: I/O against fast memory, closed forms and lower bounds"
    return (
        f"N = {N:,}, d = {d}: counted runs move {min(times):.2f} to {max(times):.2f} times the "
        "lower bound"
    )


def _io_alt(
    N: int, d: int, runs: Mapping[str, Mapping[int, Run]], capacities: Sequence[int]
) -> str:
    told = []
    for M in capacities:
        moved = ", ".join(
            f"{label} {runs[name][M].total:,}"
            for name, (label, *_) in _LOOKS.items()
            if M in runs[name]
        )
        told.append(
            f"At M = {M:,} ({M / d**2:.3g}·d²) the bound is "
            f"{math.ceil(bounds.attention(N, d, M)):,}; counted: {moved}. "
        )
    return (
        f"Log-log chart of entries moved against M/d² for N = {N}, d = {d}. Every curve falls in "
        "steps; below them the lower bounds are shaded and a line marks the compulsory "
        f"{bounds.compulsory(N, d):,}. {''.join(told).strip()}"
    )


def _largest_marked(N: int, d: int) -> float:
    """The right end of the chart: past every step."""
    return 1.6 * max(float(staircase(name, N, d).capacities[-1]) for name in ("flash", "flash2"))


def _shade_bounds(axes: Any, N: int, d: int) -> None:
    M = np.unique(np.geomspace(4, _largest_marked(N, d), 200).astype(int))
    # less memory never moves less, so what binds a larger one binds every smaller one too
    floor = np.maximum.accumulate(bounds.attention(N, d, M)[::-1])[::-1]
    must = float(bounds.compulsory(N, d))
    axes.set(xscale="log", yscale="log", xlim=(M[0] / d**2, M[-1] / d**2))
    axes.minorticks_off()  # a hundred marks that say little
    axes.fill_between(M / d**2, must / 30, floor, color=COLOURS[4], alpha=0.25, linewidth=0)
    axes.plot(M / d**2, floor, color=COLOURS[4], linewidth=1.2)
    axes.axhline(must, color=COLOURS[4], linewidth=1, linestyle="--")
    axes.text(M[0] / d**2 * 1.3, must / 1.5, f"compulsory 4·N·d = {int(must):,}")
    axes.text(M[0] / d**2 * 1.3, must * 3.2, "lower bounds")
    axes.set_ylim(must / 6)


def _mark_regimes(axes: Any) -> None:
    bottom, top = axes.get_ylim()
    for boundary, label in ((1.0, "d²"), (4.0, "4d²")):
        axes.plot([boundary] * 2, [6 * bottom, top], ":", color=COLOURS[4], linewidth=1)
        axes.text(boundary * 1.06, top / 1.35, label)
    axes.set_ylim(bottom, top)


# ---------------------------------------------------------------- leading orders


def _over_tiles(x: Array) -> Array:
    """min(k + x²/k) over whole k, the number of tiles across d: weights and values read again."""
    lower = np.maximum(np.floor(x), 1)
    least: Array = np.minimum(lower + x**2 / lower, lower + 1 + x**2 / (lower + 1))
    return least


def _bound(x: Array) -> Array:
    """4x² from M = 4d² on, 4x − 1 below: the leading terms of the two bounds."""
    return np.where(x <= 0.5, 4 * x**2, 4 * x - 1)


#: Tiles or strips of scores, and the second phase; the words are of their best, or of whole rows.
_LEADING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "flash": (lambda x: 6 * x**2, "6x²"),
    "flash2": (lambda x: 4 * x**2, "4x²"),
    "stored_scores": (lambda x: x**2 + 1 + _over_tiles(x), "2x² + 2"),
    "small_cache": (lambda x: 2 * x + 1 + _over_tiles(x), "about 4x + 1"),
    "fused": (lambda x: 2 * math.sqrt(6) * x, "2√6·x"),
}

#: x where 4x² = 2x² + 2, FlashAttention-2's order and stored scores; and where x² + 1 = 2x + 1,
#: the first phases of stored scores and of the small cache.
_MEETINGS = (1.0, 2.0)


def regimes(largest: float = 2.5) -> Figure:
    """I/O in units of N² against x = d/√M, to leading order: whose order is best where.

    Left out: whatever does not grow with N², statistics, and what whole blocks round up.

    >>> regimes().title
    'To leading order FlashAttention-2 is best from M = d² on, stored scores to M = 0.25·d²'
    """
    x = np.linspace(0.05, largest, 300)
    first, second = _MEETINGS
    title = (
        "To leading order FlashAttention-2 is best from M = d² on, stored scores to "
        f"M = {second**-2:.2f}·d²"
    )
    alt = _regimes_alt(largest)
    with canvas(title, alt, height=4.6) as drawing:
        axes = drawing.axes
        axes.fill_between(x, 0, _bound(x), color=COLOURS[4], alpha=0.25, linewidth=0)
        _leading_curves(axes, x, x, np.ones_like(x))
        for meeting, label in ((first, "M = d²"), (second, "M = d²/4")):
            height = float(_LEADING["stored_scores"][0](np.array(meeting)))
            axes.plot([meeting], [height], "o", color=_LOOKS["stored_scores"][1], markersize=7)
            note(axes, (meeting, height), label, (8, -7), clear=False)
        axes.text(0.75 * largest, 2.5 * largest / 2, "lower bounds", ha="center")
        axes.set(xlabel="x = d/√M  (larger M to the left)", ylabel="entries moved, in units of N²")
        axes.set(xlim=(0, largest), ylim=(0, 5.2 * largest))
        mark(axes, "M = 4d²", x=0.5, at=0.93)
        legend(drawing.axes, 2)
    return drawing.result


def _regimes_alt(largest: float) -> str:
    one = np.array(1.0)
    told = ", ".join(
        f"{_LOOKS[name][0]} {float(curve(one)):.2f}" for name, (curve, _) in _LEADING.items()
    )
    heights = [float(_LEADING["stored_scores"][0](np.array(x))) for x in _MEETINGS]
    return (
        "Leading order only. Entries moved, divided by N², against x = d/√M from 0 to "
        f"{largest:g}. At x = 1, where M = d²: {told}, and the lower bound "
        f"{float(_bound(one)):.2f}. FlashAttention-2 and stored scores cross there, at "
        f"{heights[0]:.2f}; stored scores and the small cache at x = {_MEETINGS[1]:g}, M = "
        f"{_MEETINGS[1] ** -2:.2f}·d², at {heights[1]:.2f}. Up to x = 0.5, M = 4d², "
        "FlashAttention-2 lies on the lower bound."
    )


def bound_gap() -> Figure:
    """How many times the lower bound each order moves, to leading order, against M/d².

    >>> bound_gap().title
    'To leading order the best of these orders stays within 1.33 of the lower bound'
    """
    x = np.geomspace(0.125, 16, 400)
    crossing = np.array(_MEETINGS[0])
    worst = float(_LEADING["flash2"][0](crossing) / _bound(crossing))
    title = f"To leading order the best of these orders stays within {worst:.2f} of the lower bound"
    ends = ", ".join(
        f"{_LOOKS[name][0]} {float(curve(x[:1])[0] / _bound(x[:1])[0]):.2f} and "
        f"{float(curve(x[-1:])[0] / _bound(x[-1:])[0]):.2f}"
        for name, (curve, _) in _LEADING.items()
    )
    alt = (
        "Leading order only. Entries moved, divided by the lower bound, against M/d². "
        "FlashAttention-2 is at 1 from M = 4d² on; the small cache falls towards 1 as M shrinks. "
        f"FlashAttention-2 and stored scores cross at M = d², {worst:.2f} times the bound. At the "
        f"right and left ends, M = {x[0] ** -2:.0f}·d² and {x[-1] ** -2:.4f}·d²: {ends}."
    )
    with canvas(title, alt, height=4.6) as drawing:
        axes = drawing.axes
        _leading_curves(axes, x**-2, x, _bound(x))
        axes.axhline(1, color=COLOURS[4], linewidth=1.2)
        axes.plot([float(crossing) ** -2], [worst], "o", color=COLOURS[0], markersize=7)
        note(axes, (1, worst), f"{worst:.2f}", (0, -8))
        axes.set(xscale="log", xlabel="fast memory M, in units of d²", ylim=(0.7, 4))
        axes.set(ylabel="times the lower bound", xlim=(x[-1] ** -2, x[0] ** -2))
        legend(drawing.axes, 2)
    return drawing.result


def _leading_curves(axes: Any, across: Array, x: Array, unit: Array) -> None:
    for name, (curve, formula) in _LEADING.items():
        line = look(name)
        axes.plot(across, curve(x) / unit, **line | {"label": f"{line['label']}: {formula}"})


# ---------------------------------------------------------------- what fast memory holds

#: Told apart by hatch as well as colour. Dots would make a drawing ten times larger.
_HATCHES = ("", "///", "---", "\\\\\\", "|||", "xxx")
_ARRAYS_SHOWN = 5


def cache_contents(run: Run, *, first: int = 0, events: int = 120) -> Figure:
    """What a traced run holds in fast memory, event by event, stacked by array.

    Run on ``TwoLevelMemory(M, trace=True)``. A long run is shown from event ``first`` on, for so
    many events. Arrays that hold little are summed as "others".

    >>> from costlib.iomodel import TwoLevelMemory, flash2
    >>> x = np.eye(8, 4)
    >>> run = flash2(x, x, x, TwoLevelMemory(64, trace=True))
    >>> cache_contents(run).title
    'At most 64 of 64 entries in use; 160 read and 32 written'
    """
    if not run.trace:
        raise ValueError(
            "run.trace must have events, got none: run on TwoLevelMemory(M, trace=True)"
        )
    if not 0 <= first < len(run.trace) or events < 2:
        raise ValueError(
            f"first must be one of the {len(run.trace)} events and events at least 2, "
            f"got first = {first}, events = {events}"
        )
    holdings = _holdings(run.trace)
    part = slice(first, min(first + events, len(run.trace)))
    of_capacity = "" if run.capacity is None else f" of {run.capacity:,}"
    title = (
        f"At most {run.peak:,}{of_capacity} entries in use; {run.reads:,} read and "
        f"{run.writes:,} written"
    )
    shown = {name: held[part] for name, held in holdings.items() if held[part].any()}
    with canvas(title, _contents_alt(run, shown, part), height=3.9) as drawing:
        axes = drawing.axes
        _stack(axes, shown, part)
        _rugs(axes, run.trace[part], part, run.capacity or run.peak)
        _capacity_line(axes, run.capacity, part.start)
        axes.set(xlabel="event of the run", ylabel="entries held", xlim=(part.start, part.stop))
        legend(axes, 6)
    return drawing.result


def _holdings(trace: Sequence[Event]) -> dict[str, Array]:
    """For each array the entries held after each event; those that hold least as "others"."""
    held: dict[str, Array] = {}
    for index, event in enumerate(trace):
        change = {"load": event.entries, "alloc": event.entries, "drop": -event.entries}
        steps = held.setdefault(event.array, np.zeros(len(trace), dtype=int))
        steps[index] += change.get(event.kind, 0)
    held = {name: np.cumsum(steps) for name, steps in held.items()}
    by_size = sorted(held, key=lambda name: -int(held[name].max()))
    small = by_size[_ARRAYS_SHOWN:]
    shown = {name: steps for name, steps in held.items() if name not in small}
    if small:
        shown["others"] = np.sum([held[name] for name in small], axis=0)
    return shown


def _contents_alt(run: Run, shown: Mapping[str, Array], part: slice) -> str:
    most = ", ".join(f"{name} {int(held.max()):,}" for name, held in shown.items())
    events = run.trace[part]
    reads = sum(event.entries for event in events if event.kind == "load")
    writes = sum(event.entries for event in events if event.kind == "store")
    line = "" if run.capacity is None else f" A line marks the capacity, {run.capacity:,}."
    return (
        f"Entries held in fast memory over events {part.start + 1} to {part.stop} of "
        f"{len(run.trace)}, stacked by array. Most held of each: {most}.{line} Ticks below mark "
        f"loads and stores; in these events {reads:,} entries are read and {writes:,} written."
    )


def _stack(axes: Any, shown: Mapping[str, Array], part: slice) -> None:
    bottom = np.zeros(part.stop - part.start, dtype=int)
    colours = _colours(shown)
    for index, (name, held) in enumerate(shown.items()):
        top = bottom + held
        changes = np.flatnonzero(np.diff(bottom, prepend=-1) | np.diff(top, prepend=-1))
        corners = np.append(changes, len(top) - 1)
        across = part.start + np.append(changes, len(top))
        axes.fill_between(
            across,
            bottom[corners],
            top[corners],
            step="post",
            facecolor=colours[name] + "99",
            edgecolor=INK,
            hatch=_HATCHES[index],
            linewidth=0,
            label=name,
        )
        bottom = top


def _colours(names: Iterable[str]) -> dict[str, str]:
    """Of each array: its own, or one that no other has; grey for those that are summed."""
    found = {name: COLOURS[4] if name == "others" else ARRAYS.get(name, "") for name in names}
    spare = iter([colour for colour in COLOURS if colour not in found.values()])
    return {name: colour or next(spare) for name, colour in found.items()}


def _capacity_line(axes: Any, capacity: int | None, left: int) -> None:
    if capacity is not None:
        axes.axhline(capacity, linestyle="--", color=INK, linewidth=1.5)
        note(axes, (left, capacity), f"M = {capacity:,}", (5, 3))


def _rugs(axes: Any, events: Sequence[Event], part: slice, capacity: int) -> None:
    """A row of ticks for the loads and one for the stores, below zero."""
    names = {"load": ("read", -0.09), "store": ("write", -0.19)}
    for kind, (_, height) in names.items():
        at = [part.start + index for index, event in enumerate(events) if event.kind == kind]
        axes.plot(at, [height * capacity] * len(at), "|", color=INK, markersize=7)
    ticks = [0, capacity // 2, capacity]
    axes.set_yticks(
        [*(height * capacity for _, height in names.values()), *ticks],
        [*(name for name, _ in names.values()), *(f"{tick:,}" for tick in ticks)],
    )
    axes.set_ylim(-0.28 * capacity, 1.15 * capacity)


# ---------------------------------------------------------------- the ladder of real chips

_LADDER = ("A100-80GB", "H100-SXM", "B200", "MI300X", "RTX-4090", "TPU-v5e")
_RUNGS = (
    ("one core's own", "o", COLOURS[6]),
    ("all cores' own", "D", CORE),
    ("last cache", "s", CACHE),
    ("main memory", "^", MEMORY),
)


def ladder(N: int = 16384, d: int = 128, chips: Sequence[str] = _LADDER) -> Figure:
    """How many entries each level of real chips holds, beside what one head of attention needs.

    Entries of 2 bytes. ``chips`` are names of `costlib.devices` whose on-chip memory is known; a
    chip without a cache between its cores and its memory has no square.

    >>> ladder(chips=["A100-80GB", "H100-SXM"]).title
    'At d = 128 the memory of one core holds 1.3 to 1.8 times 4d² entries'
    """
    N, d = sizes(N=N, d=d)
    rungs = {name: _rungs(name) for name in chips}
    own = [held["one core's own"] / (4 * d * d) for held in rungs.values()]
    title = (
        f"At d = {d} the memory of one core holds {_times(min(own))} to {_times(max(own))} "
        "times 4d² entries"
    )
    wanted = {"4d²": 4 * d * d, "K and V": 2 * N * d, "N²": N * N}
    with canvas(title, _ladder_alt(rungs, wanted, N, d), height=3.8) as drawing:
        axes = drawing.axes
        for row, held in enumerate(rungs.values()):
            axes.plot(
                list(held.values()), [-row] * len(held), color=COLOURS[4], linewidth=1, zorder=1
            )
            for label, marker, colour in _RUNGS:
                if label in held:
                    axes.plot([held[label]], [-row], marker, color=colour, markersize=9)
        for label, marker, colour in _RUNGS:
            axes.plot([], [], marker, color=colour, label=label)
        for name, entries in wanted.items():
            axes.plot([entries] * 2, [-len(rungs) + 0.4, 0.5], ":", color=INK, linewidth=1)
            note(axes, (entries, 0.5), name, (0, 3))
        axes.set(xscale="log", xlabel="entries of 2 bytes", ylim=(-len(rungs) + 0.4, 1.0))
        axes.set_yticks([-row for row in range(len(rungs))], list(rungs))
        legend(drawing.axes, 2)
    return drawing.result


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def _rungs(name: str) -> dict[str, int]:
    """Entries of a core's own memory, of all cores' together, of the last cache, of main memory."""
    device = devices[name]
    if not device.on_chip or not device.cores or not device.capacity:
        raise ValueError(f"chips: how much a core of {name!r} holds is not in the catalogue")
    own = int(device.on_chip) // _BYTES_PER_ENTRY
    held = {"one core's own": own, "all cores' own": own * int(device.cores)}
    if device.cache:
        held["last cache"] = int(device.cache) // _BYTES_PER_ENTRY
    return {**held, "main memory": int(device.capacity) // _BYTES_PER_ENTRY}


def _ladder_alt(
    rungs: Mapping[str, Mapping[str, int]], wanted: Mapping[str, int], N: int, d: int
) -> str:
    told = " ".join(
        f"{name}: {', '.join(f'{label} {size:,}' for label, size in held.items())}."
        for name, held in rungs.items()
    )
    needs = ", ".join(f"{name} {entries:,}" for name, entries in wanted.items())
    return (
        "Entries of 2 bytes that each level of memory holds, a row for each chip, on a logarithmic "
        f"axis. {told} Dotted lines mark what one head needs at N = {N:,}, d = {d}: {needs}."
    )
