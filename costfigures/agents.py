"""The figures of the chapter on agents: prefixes, tiers, evictions, offloading, rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.batches import bars, seats
from costfigures.canvas import COLOURS, INK, Figure, canvas, name_ends, name_line
from costlib.serving import (
    POLICIES,
    Call,
    PolicyStep,
    Server,
    ServingRun,
    Session,
    least_offloaded,
    offloaded_step,
    reuse,
    session_cost,
    transfer,
)

__all__ = ["evictions", "offloading", "phases", "prefix", "session", "tiers", "waves"]

#: Narrow enough that no text is scaled below 10 px on a page 375 px wide.
WIDTH = 5.2

_SMALL = 10.5
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (4, 1, 1, 1, 1, 1)))


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number], "linestyle": _DASHES[number % len(_DASHES)]}


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
    parts = (("computed by earlier calls", prompts - new), ("new", new))
    with canvas(title, alt, width=WIDTH, height=3.4) as drawing:
        axes, left = drawing.axes, np.zeros(of.calls)
        for number, (name, width) in enumerate((*parts, ("answer", np.full(of.calls, of.answer)))):
            look = {"color": COLOURS[number] + ("77" if number == 0 else ""), "linewidth": 0}
            axes.barh(calls, width / 1000, 0.8, left / 1000, label=name, **look)
            left = left + width
        axes.set(xlabel="thousand tokens", ylabel="call", ylim=(of.calls + 1, 0))
        axes.set_yticks([1, *range(10, of.calls + 1, 10)])
        axes.grid(visible=False, axis="y")
        axes.legend(fontsize=_SMALL, loc="upper right")
    return drawing.result


def session(server: Server, of: Session, batch: int) -> Figure:
    """Seconds of a server against the calls so far: prefill with and without a cache, decode."""
    costs = [session_cost(server, of, cached=cached, batch=batch) for cached in (False, True)]
    lines = {
        "prefill, no cache": np.cumsum(costs[0].prefill),
        f"decode, batch {batch}": np.cumsum(costs[1].decode),
        "prefill, prefix cache": np.cumsum(costs[1].prefill),
    }
    calls = np.arange(1, of.calls + 1)
    told = "; ".join(f"{name} {line[-1]:.3g} s" for name, line in lines.items())
    title = "Without a prefix cache the cost of a session grows with the square of its calls"
    alt = f"Seconds of the server, summed over calls. After {of.calls} calls: {told}."
    with canvas(title, alt, width=WIDTH, height=3.2) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            axes.semilogy(calls, line, **_look(number))
            side, place = ("top", 0.7) if number == 1 else ("bottom", 1.15)
            name_line(axes, (calls[-1], place * line[-1]), name, number, ha="right", va=side)
        axes.set(xlabel="calls", ylabel="seconds of the server")
        axes.set_ylim(None, 3 * max(line[-1] for line in lines.values()))
    return drawing.result


def tiers(server: Server, links: Mapping[str, float], most: int = 2**17) -> Figure:
    """Seconds until a prefix is in HBM against its length: computed again, or over a link."""
    lengths = np.unique(np.rint(np.geomspace(256, most, 60)))
    lines = {"recompute": np.array([float(server.prefill(int(n))) for n in lengths])}
    lines |= {
        name: np.array([float(transfer(server, int(n), rate * server.per_copy)) for n in lengths])
        for name, rate in links.items()
    }
    told = "; ".join(f"{name} {1000 * line[-1]:,.0f} ms" for name, line in lines.items())
    title = "The time of a reload grows with the prefix, and that of a prefill grows faster"
    alt = f"Milliseconds against the tokens of a prefix, log-log. At {most:,} tokens: {told}."
    with canvas(title, alt, width=WIDTH, height=3.6) as drawing:
        axes = drawing.axes
        for number, line in enumerate(lines.values()):
            axes.loglog(lengths, 1000 * line, **_look(number))
        axes.set(xlabel="tokens of the prefix", ylabel="milliseconds")
        name_ends(axes, [(1000 * line[-1], name) for name, line in lines.items()])
    return drawing.result


def evictions(
    calls: Sequence[Call], capacities: Sequence[int], *, shared: int, warm: int, marked: int
) -> Figure:
    """The hit rate of a prefix cache against its capacity, by eviction policy."""
    names = {"future": "knows the future", "lru": "LRU", "random": "random", "longest": "longest"}
    lines = {
        name: [reuse(calls, c, policy=p, shared=shared, warm=warm).hit_rate for c in capacities]
        for p, name in names.items()
        if p in POLICIES
    }
    told = "; ".join(f"{name} {line[0]:.0%} to {line[-1]:.0%}" for name, line in lines.items())
    title = "Where not all prefixes fit, the policy decides how many tokens are found"
    alt = (
        f"Share of prompt tokens that are found against capacity in thousand tokens, from "
        f"{capacities[0] / 1000:,.0f} to {capacities[-1] / 1000:,.0f}: {told}."
    )
    at = np.array(capacities) / 1000
    with canvas(title, alt, width=WIDTH, height=3.4) as drawing:
        axes = drawing.axes
        for number, line in enumerate(lines.values()):
            axes.plot(at, 100 * np.array(line), **_look(number))
        axes.axvline(marked / 1000, color=INK, linewidth=1, linestyle=":")
        beside = {"xytext": (4, 0), "textcoords": "offset points", "fontsize": _SMALL}
        axes.annotate("HBM of one device", (marked / 1000, 3), **beside)
        axes.set(xlabel="capacity, thousand tokens", ylabel="hit rate, %", ylim=(0, 100))
        # Lines that end together are named in the order in which they came there.
        ends = ((100 * line[-1] - 0.1 * n, name) for n, (name, line) in enumerate(lines.items()))
        name_ends(axes, list(ends))
    return drawing.result


def offloading(
    servers: Mapping[str, tuple[Server, str]], links: Mapping[str, float], context: int
) -> Figure:
    """Tokens per second of one user against the share of weights in host memory.

    Each server comes with which of its weights that share is of: see `costlib.serving`.
    """
    lines: dict[str, tuple[Any, Any]] = {}
    for name, (one, what) in servers.items():
        least = min(1.0, least_offloaded(one, context, what=what))
        for how, rate in links.items():
            shares = np.linspace(least, 1, 41)
            spent = [offloaded_step(one, 1, context, link=rate, share=s, what=what) for s in shares]
            lines[f"{name}, {how}"] = 100 * shares, 1 / np.array(spent)
    told = "; ".join(
        f"{name} {rate[0]:.2g} at {at[0]:.0f} % and {rate[-1]:.2g} at 100 %"
        for name, (at, rate) in lines.items()
    )
    title = "The link decides the speed as soon as some weights are in host memory"
    alt = (
        f"Tokens per second against the share of weights in host memory, from the least with which "
        f"the rest fits on the device: {told}."
    )
    with canvas(title, alt, width=WIDTH, height=3.6) as drawing:
        axes = drawing.axes
        for number, (name, (at, rate)) in enumerate(lines.items()):
            axes.semilogy(at, rate, label=name, **_look(number))
            axes.plot(at[:1], rate[:1], "o", color=COLOURS[number])
        axes.set(xlabel="% of these weights in host memory", ylabel="tokens/s for one user")
        top = 6 * max(rate[0] for _, rate in lines.values())  # room for the legend
        axes.set(xlim=(0, 102), ylim=(None, top))
        axes.legend(fontsize=_SMALL)
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
    with canvas(title, alt, width=WIDTH, height=3.4) as drawing:
        axes = drawing.axes
        shown = np.maximum(run.first, run.finish - 0.005 * last)  # a gap shows the next answer
        bars(axes, run.first, shown, place, COLOURS[0] + "77")
        axes.step(seconds, writing, where="post", color=COLOURS[1], linewidth=1.8)
        axes.axvline(half, color=INK, linestyle=":", linewidth=1.4)
        axes.text(half, 1.04 * place.max(), " half are complete", fontsize=_SMALL, va="bottom")
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
    told = "; ".join(
        f"{label}: {step.seconds:.0f} s, "
        + ", ".join(f"{n} {part / step.seconds:.0%}" for n, part in zip(names, row, strict=True))
        + f", asynchronously {step.asynchronous:.0f} s"
        for (label, step), row in zip(steps.items(), table, strict=True)
    )
    title = "The rollout is the longest phase of a step"
    alt = (
        f"Bars with the shares of a step's phases; a mark is the end of asynchronous steps. {told}."
    )
    with canvas(title, alt, width=WIDTH, height=1.1 + 0.5 * len(steps)) as drawing:
        axes, left, heights = drawing.axes, np.zeros(len(steps)), np.arange(len(steps))[::-1]
        for number, name in enumerate(names):
            share = 100 * table[:, number] / totals
            look = {"color": COLOURS[number] + "77", "edgecolor": COLOURS[number]}
            hatch = ("", "//", "..", "xx")[number]
            axes.barh(heights, share, 0.62, left, label=name, hatch=hatch, **look)
            left = left + share
        axes.plot(
            100 * ahead,
            heights,
            "|",
            color=INK,
            markersize=20,
            markeredgewidth=2.5,
            label="asynchronous",
        )
        labels = [f"{label}\n{step.seconds:,.0f} s" for label, step in steps.items()]
        axes.set_yticks(heights, labels)
        axes.set(xlabel="% of a step whose phases follow one another", xlim=(0, 100))
        axes.grid(visible=False, axis="y")
        drawing.figure.legend(loc="outside upper left", ncols=3, fontsize=_SMALL)
    return drawing.result
