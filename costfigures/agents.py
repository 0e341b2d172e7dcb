"""The figures of the chapter on agents: prefixes, tiers, evictions, offloading, rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.batches import bars, seats
from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import bar_chart, line_chart, line_ends, mark, note, points
from costlib import serving
from costlib.serving import Call, PolicyStep, Server, ServingRun, Session


def prefix(of: Session) -> Figure:
    """A bar for each call: tokens that the cache has, tokens to be prefilled, tokens generated."""
    new, prompts = of.new, of.prompts
    title = "Each prompt is the last one and a little more"
    alt = (
        f"{of.calls} horizontal bars, one for each call, in tokens. The first prompt has "
        f"{of.first:,}, the last {int(prompts[-1]):,}. From the second call on all but "
        f"{int(new[-1]):,} of them were computed before; each answer adds {of.answer:,}."
    )
    calls = np.arange(1, of.calls + 1)
    parts = {"computed by earlier calls": prompts - new, "new": new}
    with canvas(title, alt, height=3.4) as drawing:
        axes, left = drawing.axes, np.zeros(of.calls)
        every = {**parts, "answer": np.full(of.calls, of.answer)}
        for (name, width), shade in zip(every.items(), ("77", "", ""), strict=True):
            style = {"color": COLOURS[len(axes.containers)] + shade, "linewidth": 0}
            axes.barh(calls, width / 1000, 0.8, left / 1000, label=name, **style)
            left = left + width
        axes.set(xlabel="thousand tokens", ylabel="call", ylim=(of.calls + 1, 0))
        axes.set_yticks([1, *range(10, of.calls + 1, 10)])
        axes.grid(visible=False, axis="y")
        axes.legend(loc="upper right")
    return drawing.result


def session(server: Server, of: Session, batch: int) -> Figure:
    """Seconds of a server against the calls so far: prefill with and without a cache, decode."""
    costs = [
        serving.session_cost(server, of, cached=cached, batch=batch) for cached in (False, True)
    ]
    calls = np.arange(1, of.calls + 1)
    found = {
        "prefill, no cache": np.cumsum(costs[0].prefill),
        f"decode, batch {batch}": np.cumsum(costs[1].decode),
        "prefill, prefix cache": np.cumsum(costs[1].prefill),
    }
    title = "Without a prefix cache the cost of a session grows with the square of its calls"
    what = "Seconds of the server, summed over calls"
    with line_chart(title, what, calls, found, "y", height=3.2) as drawing:
        drawing.axes.set(xlabel="calls", ylabel="seconds of the server")
    return drawing.result


def tiers(server: Server, links: Mapping[str, float], most: int = 2**17) -> Figure:
    """Seconds until a prefix is in HBM against its length: computed again, or over a link."""
    lengths = np.unique(np.rint(np.geomspace(256, most, 60)))
    found = {"recompute": np.array([1e3 * server.prefill(int(n)) for n in lengths])}
    found |= {
        name: np.array([1e3 * serving.transfer(server, n, rate * server.per_copy) for n in lengths])
        for name, rate in links.items()
    }
    title = "The time of a reload grows with the prefix, and that of a prefill grows faster"
    with line_chart(title, "Milliseconds by tokens of a prefix", lengths, found) as drawing:
        drawing.axes.set(xlabel="tokens of the prefix", ylabel="milliseconds")
    return drawing.result


def evictions(
    calls: Sequence[Call], capacities: Sequence[int], *, shared: int, warm: int, marked: int
) -> Figure:
    """The hit rate of a prefix cache against its capacity, by eviction policy."""
    names = {"future": "knows the future", "lru": "LRU", "random": "random", "longest": "longest"}
    found = {
        name: [
            100 * serving.reuse(calls, room, policy=p, shared=shared, warm=warm).hit_rate
            for room in capacities
        ]
        for p, name in names.items()
        if p in serving.POLICIES
    }
    title = "Where not all prefixes fit, the policy decides how many tokens are found"
    what = "Per cent of the prompt tokens that are found, by capacity in thousand tokens"
    at = np.array(capacities) / 1000
    with line_chart(title, what, at, found, "", height=3.4, at="") as drawing:
        axes = drawing.axes
        mark(axes, "HBM of one device", x=marked / 1000)
        axes.set(xlabel="capacity, thousand tokens", ylabel="hit rate, %", ylim=(0, 100))
        # Lines that end together are named in the order in which they came there.
        ends = enumerate(found.items())
        line_ends(axes, [(at[-1], line[-1] - 0.1 * n, name) for n, (name, line) in ends])
    return drawing.result


def offloading(
    servers: Mapping[str, tuple[Server, str]], links: Mapping[str, float], context: int
) -> Figure:
    """Tokens per second of one user against the share of weights in host memory.

    Each server comes with which of its weights that share is of: see `costlib.serving`.
    """
    found: dict[str, tuple[Any, Any]] = {}
    for name, (one, what) in servers.items():
        least = min(1.0, serving.least_offloaded(one, context, what=what))
        for how, rate in links.items():
            shares = np.linspace(least, 1, 41)
            spent = [
                serving.offloaded_step(one, 1, context, link=rate, share=s, what=what)
                for s in shares
            ]
            found[f"{name}, {how}"] = 100 * shares, 1 / np.array(spent)
    title = "The link decides the speed from a few per cent of weights in host memory on"
    what = (
        "Tokens per second by per cent of the weights in host memory, from the least with which "
        "the rest fits on the device"
    )
    with line_chart(title, what, None, found, "y") as drawing:
        points(drawing.axes, [(at[0], rate[0]) for at, rate in found.values()], "o" * len(found))
        drawing.axes.set(xlabel="% of these weights in host memory", ylabel="tokens/s for one user")
    return drawing.result


def waves(run: ServingRun) -> Figure:
    """A rollout: each answer as a bar in its slot, and how many are generated at a time."""
    seconds, writing, waiting = (run.column(name) for name in ("seconds", "writing", "waiting"))
    ends, last = np.sort(run.finish), run.seconds
    half = float(ends[len(ends) // 2])
    waits = float(seconds[waiting > 0][-1]) if np.any(waiting > 0) else 0.0
    title = f"Half of the answers are complete after {half / last:.0%} of the rollout"
    alt = (
        f"{len(ends)} bars in time, one for each answer in its slot, and a line for the batch "
        f"size. Up to {int(writing.max())} answers are generated at a time; answers wait until "
        f"{waits:.0f} s, half are complete after {half:.0f} s, nine in ten after "
        f"{ends[int(0.9 * len(ends))]:.0f} s and the last after {last:.0f} s."
    )
    place = np.array(seats(run.started, run.finish))
    with canvas(title, alt, height=3.4) as drawing:
        axes = drawing.axes
        shown = np.maximum(run.first, run.finish - 0.005 * last)  # a gap shows the next answer
        bars(axes, run.first, shown, place, COLOURS[0] + "77")
        axes.step(seconds, writing, where="post", color=COLOURS[1], linewidth=1.8)
        axes.axvline(half, color=INK, linestyle=":", linewidth=1.4)
        note(axes, (half, 1.06 * place.max()), "half are complete", va="bottom")
        axes.set(xlim=(0, last), ylim=(0, 1.18 * place.max()), xlabel="seconds")
        axes.set_ylabel("slot, and batch size")
        axes.grid(visible=False)
    return drawing.result


def phases(steps: Mapping[str, PolicyStep]) -> Figure:
    """Where the seconds of a step go, as shares of the step with its phases in turn."""
    names = ("rollout", "scoring", "update", "shipping")
    table = np.array([[getattr(step, name) for name in names] for step in steps.values()])
    totals = table.sum(axis=1)
    ahead = np.array([step.asynchronous for step in steps.values()]) / totals
    told = ", ".join(f"{step.asynchronous:.0f} s" for step in steps.values())
    title = "The rollout is the longest phase of a step"
    what = f"Bars of a step's phases in per cent; marks where asynchronous steps end, after {told}"
    labels = [f"{label}\n{step.seconds:,.0f} s" for label, step in steps.items()]
    parts = dict(zip(names, 100 * table.T / totals, strict=True))
    look: dict[str, Any] = {"height": 1.1 + 0.5 * len(steps), "sums": ""}
    with bar_chart(title, what, labels, parts, ".0f", **look) as drawing:
        style: dict[str, Any] = {"markersize": 20, "markeredgewidth": 2.5, "color": INK}
        drawing.axes.plot(100 * ahead, range(len(steps)), "|", **style)
        note(drawing.axes, (100 * ahead[0], 0), "asynchronous", (0, 15))
        drawing.axes.set(xlabel="% of a step whose phases follow one another", xlim=(0, 100))
    return drawing.result
