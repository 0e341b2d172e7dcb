"""What a device is, from its datasheet: its cores, its memories, and how wide the ways between."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from costfigures.canvas import COLOURS, Figure
from costfigures.sketch import TINT, Point, Sketch, sketch
from costlib.model.transformer import Transformer
from costlib.units.device import Device
from costlib.units.display import quantity

#: The levels of a memory, each in one colour in every chapter.
MEMORY, CACHE, CORE = COLOURS[0], COLOURS[3], COLOURS[1]


def gpu(device: Device) -> Figure:
    """Memory, cache, cores and links of a device, counted; ways as wide as what they carry."""
    cores, on_chip, cache, capacity, link = _datasheet(device)
    each = device.compute_rate() / cores
    title = f"{device.name} is {cores} cores with {_size(on_chip)} each, in front of one "
    title += "memory"
    alt = (
        f"From left to right: a memory of {_size(capacity)}, a cache of "
        f"{_size(cache)}, and a grid of {cores} cores. Each core computes "
        f"{quantity(each, 'FLOP/s', 3)} and has {_size(on_chip)} of its own, "
        f"{_size(cores * on_chip)} in all. A broad arrow between memory and cache "
        f"carries {quantity(device.memory_rate, 'B/s', 3)}, a thin one to and from other devices "
        f"{quantity(link, 'B/s', 3)} each way: widths are to scale."
    )
    with sketch(title, alt, height=262) as drawing:
        drawing.box((120, 34), 236, 162, dashed=True)
        drawing.text((126, 25), "the chip")
        drawing.box((6, 40), 58, 150, fill=MEMORY + TINT)
        drawing.text((35, 115), f"memory\n{_size(capacity)}", align="middle")
        drawing.fill((65, 95), [(0, 0)], (60, _BROAD), MEMORY)
        drawing.text((92, 84), quantity(device.memory_rate, "B/s", 3), align="middle")
        drawing.box((126, 40), 54, 150, fill=CACHE + TINT)
        drawing.text((153, 115), f"cache\n{_size(cache)}", align="middle")
        for end in (192, 232):
            thin = max(1.0, _BROAD * link / device.memory_rate)
            drawing.arrow((35, 212), (35, end), width=thin, colour=MEMORY)
        told = f"other devices: {quantity(link, 'B/s', 3)} each way"
        drawing.text((6, 243), told)
        _cores(drawing, (190, 40), cores)
        drawing.text((190, 10), f"{cores} cores", bold=True)
        drawing.text((190, 24), f"{quantity(device.compute_rate(), 'FLOP/s', 3)} in all")
        drawing.box((190, 212), 10, 10, fill=CORE)
        drawing.text((205, 217), f"in each {_size(on_chip)}")
        drawing.text((205, 231), f"and {quantity(each, 'FLOP/s', 2)}")
    return drawing.result


_BROAD = 40.0  #: the way between memory and cache


def _datasheet(device: Device) -> tuple[Any, ...]:
    """Cores, bytes in each, cache, memory and links, or which of them nobody printed."""
    names = ("cores", "on_chip", "cache", "capacity", "interconnect")
    for name in names:
        if getattr(device, name) is None:
            raise ValueError(f"{device.name} needs {name}: the drawing shows it")
    return tuple(getattr(device, name) for name in names)


def _size(count: Any) -> str:
    return quantity(count, "B", 3)


def _cores(drawing: Sketch, corner: Point, cores: int) -> None:
    """A square for each core, the last row as full as it is."""
    columns = ceil(sqrt(cores))
    side = min(14.0, 164 / columns)
    cells = [divmod(core, columns) for core in range(cores)]
    inner = (side * 0.8, side * 0.8)
    for_each = [(row * side / inner[1], column * side / inner[0]) for row, column in cells]
    start = corner[0] + side * 0.1, corner[1] + side * 0.1
    drawing.fill(start, for_each, inner, CORE)


def memories(device: Device, model: Transformer) -> Figure:
    """Areas to scale: a device's memory, what a model leaves of it, cache and cores' memories."""
    cores, on_chip, cache, capacity, _ = _datasheet(device)
    side, weights = 236.0, model.memory(1, 0).weights
    own = cores * on_chip
    share = own / capacity
    title = f"All {cores} cores together hold {share:.3%} of what the memory holds"
    held = {
        "memory": (capacity, MEMORY),
        "cache": (cache, CACHE),
        "cores, all": (own, CORE),
        "one core": (on_chip, CORE),
    }
    told = ", ".join(f"{name} {_size(size)}" for name, (size, _) in held.items())
    alt = (
        f"Squares whose areas are to scale: {told}. In the memory's square the part that the "
        f"model's weights take is marked: {_size(weights)}, "
        f"{weights / capacity:.0%}."
    )
    with sketch(title, alt, height=254) as drawing:
        drawing.box((8, 10), side, side, fill=MEMORY + TINT)
        part = side * float(weights / capacity)
        drawing.box((8, 10 + side - min(part, side)), side, min(part, side), fill=MEMORY)
        drawing.text((18, 28), f"memory: {_size(capacity)}", bold=True)
        drawing.text((18, 1 + side - part), f"a model's weights: {_size(weights)}")
        for row, name in enumerate(("cache", "cores, all", "one core")):
            size, colour = held[name]
            edge = side * sqrt(size / capacity)
            top = 40 + 62 * row
            is_seen = edge >= 1
            if is_seen:
                drawing.box((258, top - edge / 2), edge, edge, fill=colour, line=0)
            drawing.text((258 + (edge + 6) * is_seen, top), name, bold=True)
            drawing.text((258, top + 17), _size(size) + ("" if is_seen else ", invisible"))
    return drawing.result
