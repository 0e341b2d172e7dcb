"""Drawn diagrams of a server in time, by the simulator: batch slots, and a request's life."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import tiles
from costfigures.sketch import WIDTH, Lanes, Point, sketch
from costlib.serving import Requests, Server, ServingRun, disaggregate, listed, simulate, transfer
from costlib.units.numbers import size


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
    with canvas(title, alt) as drawing:
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
    with sketch(title, alt, height=136) as drawing:
        lanes = Lanes(drawing, 4, (WIDTH - 8) / finish)
        drawing.text((0, 9), "prefill of other requests")
        for who in (0, 2):
            lanes.bar(17, (run.started[who], run.first[who]), colour=COLOURS[4])
        drawing.text((0, 42), "this request", bold=True)
        lanes.bar(52, (arrival, began), "queue", dashed=True)
        lanes.bar(52, (began, first), "prefill", colour=COLOURS[1])
        for time in map(lanes.at, mine):
            drawing.line((time, 48), (time, 70), colour=COLOURS[0], width=2)
        for y, begin, end, words in (
            (92, arrival, first, "TTFT"),
            (92, *mine[worst : worst + 2], "longest ITL"),
            (118, first, finish, "decode: TPOT is the mean ITL"),
        ):
            drawing.dimension((lanes.at(begin), y), (lanes.at(end), y), words)
    return drawing.result


def bars(axes: Any, begin: Any, end: Any, place: Any, colour: str) -> None:
    """Many bars as one path."""
    boxes = [(a, y + 0.1, b - a, 0.8) for a, b, y in zip(begin, end, place, strict=True)]
    tiles(axes, boxes, facecolor=colour, linewidth=0)


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
    names = (f"static batching: {last:.2f} s", f"continuous batching: {soon:.2f} s")
    alt = (
        f"Two charts of {places} batch slots in time, {len(answers)} numbered answers of "
        f"{min(answers)} to {max(answers)} tokens as bars. {names[0]}, slots are taken "
        f"{shares[0]:.0%} of the time; {names[1]}, {shares[1]:.0%}."
    )
    tall = 24 + _ROW * places
    with sketch(title, alt, height=2 * tall + 4) as drawing:
        for panel, (name, times) in enumerate(zip(names, (waits, goes), strict=True)):
            drawing.text((0, panel * tall + 9), name, bold=True)
            lanes = Lanes(drawing, 1, (WIDTH - 2) / last)
            _places(lanes, panel * tall + 19, times, places, soon if panel else last)
    return drawing.result


def _places(lanes: Lanes, top: float, times: Sequence[Any], places: int, end: float) -> None:
    """A row for each place, and in it the prefills and answers that take it."""
    for place in range(places):
        lanes.bar(top + _ROW * place, (0, end), edge=COLOURS[4], line=0.6, dashed=True)
    started, first, finish = times
    for who, place in enumerate(seats(started, finish)):
        y = top + _ROW * place
        lanes.bar(y, (first[who], finish[who]), str(who + 1), colour=COLOURS[0])
        look: dict[str, Any] = {"fill": COLOURS[1], "edge": COLOURS[1], "line": 0.6}
        lanes.bar(y, (started[who], first[who]), **look)


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
    tall = 24 + _ROW * many
    with sketch(title, alt, height=2 * tall + 2 * _ROW + 16) as drawing:
        lanes = Lanes(drawing, 46, (WIDTH - 50) / max(one.seconds, two.seconds))
        drawing.text((0, 9), f"one server: ITL of up to {pauses[0]}", bold=True)
        reading = list(zip(one.started.tolist(), one.first.tolist(), strict=True))
        for who, (begin, first) in enumerate(reading):
            y, written = 19 + _ROW * who, _without(first, float(one.finish[who]), reading)
            for stretch in written:
                lanes.bar(y, stretch, colour=COLOURS[0], line=0.6)
            for (_, stops), (goes_on, _) in pairwise(written):
                drawing.line((lanes.at(stops), y + 7), (lanes.at(goes_on), y + 7), width=0.8)
            lanes.bar(y, (begin, first), str(who + 1), colour=COLOURS[1], line=0.6)
        words = f"a prefill and a decode server: up to {pauses[1]}"
        drawing.text((0, tall + 9), words, bold=True)
        arrives = two.first + transfer(server, requests.prompt, link)
        _machines(lanes, tall + 19, two, arrives)
        y = 2 * tall + 2 * _ROW + 10
        drawing.dimension((lanes.at(0), y), (lanes.at(0.1), y), "0.1 s")
    return drawing.result


def _without(begin: float, end: float, breaks: Sequence[Point]) -> list[Any]:
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


def _machines(lanes: Lanes, top: float, run: ServingRun, arrives: Any) -> None:
    """A lane of prefills, one of transfers, and one for each request in decode."""
    for lane, name in enumerate(("prefill", "link", "decode")):
        lanes.drawing.text((0, top + _ROW * lane + 7), name)
    for who, first in enumerate(run.first):
        for lane, span, number in (
            (0, (run.started[who], first), 1),
            (1, (first, arrives[who]), 2),
            (2 + who, (arrives[who], run.finish[who]), 0),
        ):
            lanes.bar(top + _ROW * lane, span, str(who + 1), colour=COLOURS[number], line=0.6)
