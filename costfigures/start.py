"""The first page's figures: one model on one device, users who join, and what each of them gets."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, Figure
from costfigures.chart import line_chart, mark
from costfigures.explorers import Explorer
from costfigures.sketch import WIDTH, Sketch, sketch
from costlib.model.catalog import device_of, model_of
from costlib.model.kvcache import largest_batch, memory
from costlib.model.transformer import Transformer
from costlib.timing import roofline
from costlib.timing.roofline import Device
from costlib.units.display import quantity

_LEFT, _BAR = 6.0, WIDTH - 12  # where bars begin, and how long the longest is
_ROW = 104.0
_SPENT = dict(zip(("weights", "caches", "computing"), COLOURS, strict=False))


@dataclass(frozen=True, slots=True)
class _Moment:
    """A step of ``users`` users: seconds by what they are spent on, and bytes that are held."""

    users: int
    weights: float
    caches: float
    arithmetic: float
    rest: float
    busy: float
    held_weights: float
    held_caches: float

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return self.weights + self.caches + self.arithmetic + self.rest


def _moment(model: Transformer, device: Device, count: int, context: int) -> _Moment:
    """What a step of ``count`` users is spent on: arithmetic, if an op is compute bound."""
    ledger = model.decode(count, context)
    each, spent = ledger.at(), dict.fromkeys(("weights", "kv", "arithmetic", "rest"), 0.0)
    for op, place in zip(ledger, roofline.limits(ledger, device), strict=True):
        if place.compute_time >= place.memory_time:
            spent["arithmetic"] += place.compute_time
            continue
        for kind in ("weights", "kv"):
            elements = getattr(op.elements_read + op.elements_written, kind)
            seconds = elements * getattr(each, kind) / device.memory_rate
            spent[kind] += seconds
            spent["rest"] -= seconds
        spent["rest"] += place.memory_time
    held = memory(model, count, context)
    busy = ledger.flops / device.compute_rate()
    kept = float(held.weights), float(held.kv)
    weights, caches, arithmetic, rest = spent.values()
    return _Moment(count, weights, caches, arithmetic, rest, busy, *kept)


def _told(model: Transformer, device: Device, context: int) -> list[_Moment]:
    """One user; as many as make caches longer to read than weights; all that fit."""
    most = int(largest_batch(model, device, context + 1).largest)
    if most < 1:
        raise ValueError(
            f"not one user with {context:,} tokens fits on {device.name} beside the weights: take "
            "a smaller model or a larger device"
        )
    cost = model.precision

    def mostly_caches(count: int) -> bool:
        step = model.decode(count, context)
        moved = step.elements_read + step.elements_written
        return bool(moved.kv * cost.kv >= moved.weights * cost.weights)

    even = 1 + bisect_left(range(1, most + 1), True, key=mostly_caches)
    told = dict.fromkeys([1, min(even, most), most])
    return [_moment(model, device, count, context) for count in told]


def users(
    model: Transformer | str = "llama-3-8b", device: Device | str = "A100-80GB", context: int = 4096
) -> Explorer:
    """What fills memory and takes time as users join, at the moments when that changes."""
    chosen, on = model_of(model), device_of(device)
    told = _told(chosen, on, context)
    rows = [
        [
            f"{each.users:,}",
            f"{1 / each.seconds:,.0f}",
            f"{each.users / each.seconds:,.0f}",
            *(f"{t * 1e3:.2f}" for t in (each.seconds, each.weights, each.caches, each.busy)),
            f"{(each.held_weights + each.held_caches) / 1e9:.1f}",
        ]
        for each in told
    ]
    columns = ["users", "tokens/s per user", "tokens/s in total", "ms per step"]
    columns += ["reading weights, ms", "reading caches, ms", "computing, ms", "GB in memory"]
    return Explorer("users", _joining(told, on), columns, rows)


def _joining(told: list[_Moment], device: Device) -> Figure:
    """Under each number of users memory that fills, and the time of a step on the same axis."""
    last = told[-1]
    end = max(last.seconds, device.usable / device.memory_rate)
    title = f"{last.users} users fill the memory: {_gain(told):.0f} times the tokens of one"
    said = " ".join(
        f"{_people(each)}: {each.seconds * 1e3:.1f} ms per step, {each.weights * 1e3:.1f} of them "
        f"reading weights, {each.caches * 1e3:.1f} reading caches; {_gets(each)}."
        for each in told
    )
    alt = f"Bars of memory and time on {device.name} as users join. {said}"
    with sketch(title, alt, height=_ROW * len(told) + 16) as drawing:
        for row, each in enumerate(told):
            binds = "memory is full" if each is last else _binds(each)
            _state(drawing, row * _ROW, each, device, _BAR / end, binds)
        y = _ROW * len(told) + 6
        drawing.key((_LEFT, y), _SPENT, 90)
    return drawing.result


def _state(
    drawing: Sketch, top: float, each: _Moment, device: Device, scale: float, binds: str
) -> None:
    """One number of users: what each gets, the memory, and the step with its arithmetic below."""
    drawing.text((_LEFT, top + 10), _people(each), bold=True)
    drawing.text((WIDTH - 6, top + 28), binds, align="right", italic=True)
    drawing.text((WIDTH - 6, top + 10), _gets(each), align="right")
    rate = scale / device.memory_rate
    held = (("", each.held_weights * rate, COLOURS[0]), ("", each.held_caches * rate, COLOURS[1]))
    drawing.row((_LEFT, top + 36), 16, held)
    drawing.box((_LEFT, top + 36), device.usable * rate, 16, line=1.2)
    used = (each.held_weights + each.held_caches) / 1e9
    words = f"memory: {used:.1f} of {device.usable / 1e9:.1f} GB"
    drawing.text((_LEFT, top + 28), words)
    drawing.text((_LEFT, top + 64), f"a step: {each.seconds * 1e3:.1f} ms")
    spent = zip((each.weights, each.caches, each.arithmetic, each.rest), (0, 1, 2, 4), strict=True)
    drawing.row((_LEFT, top + 72), 12, [("", of * scale, COLOURS[number]) for of, number in spent])
    drawing.box((_LEFT, top + 86), each.busy * scale, 5, fill=COLOURS[2], line=0)


def _people(each: _Moment) -> str:
    return f"{each.users:,} user{'s' if each.users > 1 else ''}"


def _gets(each: _Moment) -> str:
    """Tokens a second, in words."""
    alone, together = f"{1 / each.seconds:,.0f}", f"{each.users / each.seconds:,.0f}"
    return f"{alone} tokens/s" + (f" each, {together} in all" if each.users > 1 else "")


def _binds(each: _Moment) -> str:
    """What takes longest, in words."""
    spent = {"weights": each.weights, "caches": each.caches, "computing": each.arithmetic}
    longest = max(spent, key=spent.__getitem__)
    return "most is arithmetic" if longest == "computing" else f"most is reading {longest}"


def _gain(told: list[_Moment]) -> Any:
    """How many times the tokens all together get, against one alone."""
    return told[-1].users * told[0].seconds / told[-1].seconds


def tokens_per_second(model: Transformer, device: Device, context: int) -> Figure:
    """Tokens per second of a decode step against batch: for each user, and in all."""
    most = int(largest_batch(model, device, context + 1).largest)  # the new token's too
    if most < 1:
        raise ValueError(
            f"not one user with {context:,} tokens fits on {device.name} beside the weights: put a "
            "smaller model or a larger device into the first cell"
        )
    batch = np.unique(np.geomspace(1, most, 60).astype(int))
    times = roofline.time(model.decode(batch=batch, context=context), device)
    each, every = 1 / times, batch / times
    title = f"{most} users share what one leaves idle: {every[-1] / every[0]:,.0f} times the tokens"
    what = (
        f"Tokens per second of {device.name} by batch, log-log, at {context:,} tokens of context, "
        "until memory is full"
    )
    found = {"all users": every, "each user": each}
    with line_chart(title, what, batch, found, height=3.4) as drawing:
        mark(drawing.axes, quantity(every[0], "tokens/s", 3), y=every[0], at=0.98)
        drawing.axes.set(xlabel="batch", ylabel="tokens/s")
    return drawing.result
