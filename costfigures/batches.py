"""Drawn diagrams of a server in time, by the simulator: batch slots, and a request's life."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.sketch import SMALL, TINT, WIDTH, Sketch, sketch
from costlib.serving import Requests, Server, ServingRun, disaggregate, listed, simulate, transfer
from costlib.units.numbers import size

__all__ = ["apart", "bars", "filling", "life", "longest_pause", "refilled", "seats", "token_times"]


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


def filling(run: ServingRun, until: float) -> Figure:
    """The places of a server over the first seconds of a run, and the average of all of it.

    A request takes the lowest free place; a line says how many write at a time.
    """
    seconds, writing, waiting = (run.column(name) for name in ("seconds", "writing", "waiting"))
    shown = seconds <= max(until, seconds[0])
    mean, most = run.mean("writing"), int(writing[shown].max())
    title = f"The batch fills up, and settles about {mean:.0f}"
    alt = (
        f"Bars in time, one for each request, at the lowest place that is free when it comes, and "
        f"a line for the batch size. They rise from 0 to about {mean:.0f} on average and reach "
        f"{most}; at most {waiting[shown].max():.0f} wait."
    )
    come = np.flatnonzero(run.started < until)
    place = np.array(seats(run.started[come], run.finish[come]))
    with canvas(title, alt, width=WIDTH / 72, height=3.6) as drawing:
        axes, ends = drawing.axes, np.minimum(run.finish[come], until)
        bars(axes, run.started[come], ends, place, COLOURS[0] + "77")
        axes.step(seconds[shown], writing[shown], where="post", color=COLOURS[1], linewidth=1.6)
        axes.axhline(mean, color=INK, linestyle=":", linewidth=1.8)
        axes.text(0.01 * until, mean + 0.6, f"mean {mean:.1f}", va="bottom")
        axes.set(xlim=(0, until), ylim=(0, place.max() + 2), xlabel="seconds")
        axes.set_ylabel("batch slot, and batch size")
        axes.grid(visible=False)
    return drawing.result


def life(server: Server) -> Figure:
    """One request from its arrival to its last token, with two others on the same server.

    The first is in prefill when it arrives, the prefill of the last interrupts its decode. Every
    time is the simulator's.
    """
    step, wait = server.step(1, 1500), server.prefill(2000)
    requests = listed([0, wait / 3, 2 * wait + 6 * step], [2000, 1500, 1500], [14, 13, 2])
    run = simulate(requests, server, one_by_one=True)
    arrival, began, first = (float(each[1]) for each in (requests.arrival, run.started, run.first))
    times, finish = token_times(run), float(run.finish[1])
    mine = [first, *(t for t in times.tolist() if first < t <= finish + 1e-12)]
    pauses = [late - early for early, late in pairwise(mine)]
    worst = int(np.argmax(pauses))
    title = "TTFT is queueing and prefill, TPOT the mean time between later tokens"
    alt = (
        f"One request in time. It waits {1000 * (began - arrival):.0f} ms in a queue while another "
        f"prompt is prefilled, then its own prefill takes {1000 * (first - began):.0f} ms: TTFT is "
        f"the sum. Then come {len(mine) - 1} more tokens, {1000 * min(pauses):.1f} ms apart, but "
        f"{1000 * max(pauses):.0f} ms where the prompt of another request is prefilled between "
        f"them. TPOT, the mean, is {1000 * np.mean(pauses):.1f} ms."
    )
    scale = (WIDTH - 8) / finish

    def at(seconds: float) -> float:
        return 4 + seconds * scale

    with sketch(title, alt, height=136) as drawing:
        drawing.text((0, 9), "prefill of other requests", size=SMALL)
        for who in (0, 2):
            start, end = float(run.started[who]), float(run.first[who])
            look: dict[str, Any] = {"edge": COLOURS[4], "fill": COLOURS[4] + TINT}
            drawing.box((at(start), 17), (end - start) * scale, 13, **look)
        drawing.text((0, 42), "this request", size=SMALL, bold=True)
        drawing.box((at(arrival), 50), (began - arrival) * scale, 20, "queue", dashed=True)
        look = {"edge": COLOURS[1], "fill": COLOURS[1] + TINT}
        drawing.box((at(began), 50), (first - began) * scale, 20, "prefill", **look)
        for time in mine:
            drawing.line((at(time), 48), (at(time), 72), colour=COLOURS[0], width=2)
        drawing.dimension((at(arrival), 92), (at(first), 92), "TTFT")
        drawing.dimension((at(mine[worst]), 92), (at(mine[worst + 1]), 92), "longest ITL")
        drawing.dimension((at(first), 118), (at(finish), 118), "decode: TPOT is the mean ITL")
    return drawing.result


def bars(axes: Any, begin: Any, end: Any, place: Any, colour: str) -> None:
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
    title = f"Continuous batching: {len(answers)} answers in {soon:.2f} s instead of {last:.2f}"
    shares = [
        float(np.sum(finish - started)) / (places * end)
        for (started, _, finish), end in ((waits, last), (goes, soon))
    ]
    names = (
        f"static batching: {last:.2f} s",
        f"continuous batching: {soon:.2f} s",
    )
    alt = (
        f"Two charts of {places} batch slots in time, {len(answers)} numbered answers of "
        f"{min(answers)} to {max(answers)} tokens as bars. {names[0]}, slots are taken "
        f"{shares[0]:.0%} of the time; {names[1]}, {shares[1]:.0%}."
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


# ---------------------------------------------------------------- read here, written there


def token_times(run: ServingRun) -> Any:
    """Seconds at which steps end."""
    steps = run.column("steps")
    return run.column("seconds")[1:][np.diff(steps) > 0]


def longest_pause(run: ServingRun) -> float:
    """The longest time that a sequence waited for its next token.

    >>> run = simulate(listed([0], 100, 3), Server("gpt2", "T4"), one_by_one=True)
    >>> round(longest_pause(run) / Server("gpt2", "T4").step(1, 101), 6)
    1.0
    """
    times = token_times(run)
    pauses = []
    for begin, end in zip(run.first, run.finish, strict=True):
        mine = times[(times > begin) & (times <= end)]
        pauses += np.diff([begin, *mine]).tolist()
    return float(max(pauses))


_LEFT = 46.0  #: of time, beside the names of lanes


def apart(server: Server, requests: Requests, link: float) -> Figure:
    """Requests on one server, and on one for prefill and one for decode, in time.

    A link of ``link`` bytes/s joins the two; every time is the simulator's.
    """
    one = simulate(requests, server, one_by_one=True)
    two = disaggregate(requests, server, server, link=link, one_by_one=True)
    pauses = [f"{1000 * longest_pause(run):.0f} ms" for run in (one, two)]
    many, ends = len(requests), [f"{run.seconds:.2f} s" for run in (one, two)]
    title = f"Prefill on another server: the longest ITL falls from {pauses[0]} to {pauses[1]}"
    alt = (
        f"{many} requests in time. On one server the bars of decode are broken wherever a prompt "
        f"is prefilled, for {pauses[0]} at most, and the last is done after {ends[0]}. Below, one "
        f"server prefills one prompt after another, each cache is transferred over a link, and on "
        f"another server the bars are whole: {pauses[1]} at most, and done after {ends[1]}."
    )
    scale, tall = (WIDTH - _LEFT - 4) / max(one.seconds, two.seconds), 24 + _ROW * many
    with sketch(title, alt, height=2 * tall + 2 * _ROW + 16) as drawing:
        drawing.text((0, 9), f"one server: ITL of up to {pauses[0]}", bold=True)
        reading = list(zip(one.started.tolist(), one.first.tolist(), strict=True))
        for who, (begin, first) in enumerate(reading):
            y, finish = 19 + _ROW * who, float(one.finish[who])
            written = _without(first, finish, reading)
            for stretch in written:
                _stretch(drawing, y, stretch, scale, COLOURS[0])
            for (_, stops), (goes_on, _) in pairwise(written):
                drawing.line((_at(stops, scale), y + 7), (_at(goes_on, scale), y + 7), width=0.8)
            _stretch(drawing, y, (begin, first), scale, COLOURS[1], str(who + 1))
        words = f"a prefill and a decode server: up to {pauses[1]}"
        drawing.text((0, tall + 9), words, bold=True)
        arrives = two.first + transfer(server, requests.prompt, link)
        _machines(drawing, tall + 19, two, arrives, scale)
        y = 2 * tall + 2 * _ROW + 10
        drawing.dimension((_LEFT, y), (_at(0.1, scale), y), "0.1 s")
    return drawing.result


def _at(seconds: float, scale: float) -> float:
    return _LEFT + seconds * scale


def _without(begin: float, end: float, breaks: Sequence[tuple[float, float]]) -> list[Any]:
    """What of a stretch of time is left without its breaks, which are in order.

    >>> _without(1, 9, [(0, 1), (2, 3), (5, 6), (9, 10)])
    [(1, 2), (3, 5), (6, 9)]
    """
    left = []
    for start, stop in breaks:
        if begin <= start < end:
            left.append((begin, start))
            begin = stop
    return [*left, (begin, end)]


def _stretch(
    drawing: Sketch, y: float, span: Sequence[float], scale: float, colour: str, words: str = ""
) -> None:
    """A bar in time, with a number that finds room in it."""
    begin, end = (_at(float(each), scale) for each in span)
    look: dict[str, Any] = {"fill": colour + TINT, "edge": colour, "line": 0.6, "size": SMALL}
    drawing.box((begin, y), end - begin, _ROW - 3, words, **look)


def _machines(drawing: Sketch, top: float, run: ServingRun, arrives: Any, scale: float) -> None:
    """A lane of prefills, one of transfers, and one for each request in decode."""
    for lane, name in enumerate(("prefill", "link", "decode")):
        drawing.text((0, top + _ROW * lane + 7), name)
    for who, first in enumerate(run.first):
        _stretch(drawing, top, (run.started[who], first), scale, COLOURS[1], str(who + 1))
        _stretch(drawing, top + _ROW, (first, arrives[who]), scale, COLOURS[2])
        y, span = top + _ROW * (2 + who), (arrives[who], run.finish[who])
        _stretch(drawing, y, span, scale, COLOURS[0], str(who + 1))
