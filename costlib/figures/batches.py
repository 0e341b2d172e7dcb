"""Drawn diagrams of a server's places: who sits in which, from when to when, by the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.figures.sketch import SMALL, TINT, WIDTH, Sketch, sketch
from costlib.numbers import size
from costlib.serving import Run, Server, listed, simulate

__all__ = ["filling", "refilled", "seats"]


def seats(started: Sequence[float], finish: Sequence[float]) -> list[int]:
    """The lowest free place for each, in the order in which they start.

    >>> seats([0, 0, 2, 3], [3, 2, 4, 5])
    [0, 1, 1, 0]
    """
    until: list[float] = []
    found = [0] * len(started)
    for who in sorted(range(len(started)), key=lambda one: (started[one], one)):
        free = [place for place, end in enumerate(until) if end <= started[who] + 1e-12]
        place = free[0] if free else len(until)
        until[place : place + 1] = [finish[who]]
        found[who] = place
    return found


def filling(run: Run, until: float) -> Figure:
    """The places of a server over the first seconds of a run, and the average of all of it.

    A request takes the lowest free place; a line says how many write at a time.
    """
    seconds, writing, waiting = (run.column(name) for name in ("seconds", "writing", "waiting"))
    shown = seconds <= max(until, seconds[0])
    mean, most = run.mean("writing"), int(writing[shown].max())
    title = f"The batch fills up, and settles about {mean:.0f}"
    alt = (
        f"Bars in time, one for each request, at the lowest place that is free when it comes, and "
        f"a line for how many write. They rise from 0 to about {mean:.0f} on average and reach "
        f"{most}; at most {waiting[shown].max():.0f} wait."
    )
    come = np.flatnonzero(run.started < until)
    place = np.array(seats(run.started[come], run.finish[come]))
    with canvas(title, alt, width=WIDTH / 72, height=3.6) as drawing:
        axes, ends = drawing.axes, np.minimum(run.finish[come], until)
        _bars(axes, run.started[come], ends, place, COLOURS[0] + "77")
        axes.step(seconds[shown], writing[shown], where="post", color=COLOURS[1], linewidth=1.6)
        axes.axhline(mean, color=INK, linestyle=":", linewidth=1.8)
        axes.text(0.01 * until, mean + 0.6, f"average {mean:.1f}", va="bottom")
        axes.set(xlim=(0, until), ylim=(0, place.max() + 2), xlabel="seconds")
        axes.set_ylabel("place, and how many write")
        axes.grid(visible=False)
    return drawing.result


def _bars(axes: Any, begin: Any, end: Any, place: Any, colour: str) -> None:
    """Many bars as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = [
        Path([(a, y + 0.1), (b, y + 0.1), (b, y + 0.9), (a, y + 0.9), (a, y + 0.1)], closed=True)
        for a, b, y in zip(begin, end, place, strict=True)
    ]
    axes.add_patch(PathPatch(Path.make_compound_path(*corners), facecolor=colour, linewidth=0))


_ROW = 17.0


def refilled(server: Server, prompt: int, answers: Sequence[int], places: int = 4) -> Figure:
    """The same answers in batches that wait for their longest, and with places that are refilled.

    All requests are there from the start; every time is the simulator's.
    """
    places = int(size("places", places))
    groups = [answers[at : at + places] for at in range(0, len(answers), places)]
    alone = [
        simulate(listed(np.zeros(len(g)), prompt, list(g)), server, most=places) for g in groups
    ]
    begun = np.cumsum([0.0, *(run.seconds for run in alone)])
    together = simulate(listed(np.zeros(len(answers)), prompt, list(answers)), server, most=places)
    waits = [
        np.concatenate([getattr(r, name) + at for r, at in zip(alone, begun, strict=False)])
        for name in ("started", "first", "finish")
    ]
    goes = [together.started, together.first, together.finish]
    last, soon = float(begun[-1]), together.seconds
    title = f"Refilled places write {len(answers)} answers in {soon:.2f} s instead of {last:.2f}"
    shares = [
        float(np.sum(finish - started)) / (places * end)
        for (started, _, finish), end in ((waits, last), (goes, soon))
    ]
    names = (
        f"batches that wait for their longest: {last:.2f} s",
        f"a place is refilled when it is free: {soon:.2f} s",
    )
    alt = (
        f"Two charts of {places} places in time, {len(answers)} numbered answers of {min(answers)} "
        f"to {max(answers)} tokens as bars. {names[0]}, places are taken {shares[0]:.0%} of the "
        f"time; {names[1]}, {shares[1]:.0%}."
    )
    tall = 24 + _ROW * places
    with sketch(title, alt, height=2 * tall + 4) as drawing:
        for panel, (name, times) in enumerate(zip(names, (waits, goes), strict=True)):
            drawing.text((0, panel * tall + 9), name, bold=True)
            end = begun[-1] if not panel else soon
            _places(drawing, panel * tall + 19, times, places, (WIDTH - 2) / last, float(end))
    return drawing.result


def _places(
    drawing: Sketch, top: float, times: Sequence[Any], places: int, scale: float, end: float
) -> None:
    started, first, finish = times
    for place in range(places):
        y = top + _ROW * place
        drawing.box((1, y), end * scale, _ROW - 3, edge=COLOURS[4], line=0.6, dashed=True)
    for who, place in enumerate(seats(started, finish)):
        y, corner = top + _ROW * place, started[who] * scale + 1
        reading, writing = (first[who] - started[who]) * scale, (finish[who] - first[who]) * scale
        words = str(who + 1) if writing > 14 else ""
        look: dict[str, Any] = {"fill": COLOURS[0] + TINT, "edge": COLOURS[0], "size": SMALL}
        drawing.box((corner + reading, y), writing, _ROW - 3, words, **look)
        drawing.box((corner, y), reading, _ROW - 3, fill=COLOURS[1], edge=COLOURS[1], line=0.6)
