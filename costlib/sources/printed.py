"""The figures that the five sources print: results beside what their formulas give, and inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from costlib.sources import deepml, jamesnulliu, saha_ye, sparq, suresh
from costlib.units.display import quantity
from costlib.units.numbers import choose

__all__ = ["PrintedFigure", "printed"]


#: What is printed, the text, its value here, and True for an input.
_Row = tuple[str, str, str] | tuple[str, str, str, bool]


class PrintedFigure(NamedTuple):
    """A figure as printed, and as computed here, written with as many digits.

    An input of the source, such as a bandwidth, follows from no formula: what stands for it in
    `computed` is the constant that was copied from the source, so it tests the copy alone.
    """

    what: str
    printed: str
    computed: str
    is_input: bool = False


def printed(source: str) -> list[PrintedFigure]:
    """The figures of a source, results and inputs.

    >>> [each.printed for each in printed("deepml")[:3]]
    ['320', '340', '1.0625']
    >>> all(each.printed == each.computed for each in printed("suresh"))
    True
    >>> [each.printed for each in printed("suresh") if each.is_input]
    ['101']
    """
    choose("source", source, tuple(_SOURCES))
    return [PrintedFigure(*row) for row in _SOURCES[source]()]


def _deepml() -> Iterator[_Row]:
    for sizes, *texts in deepml.PUBLISHED:
        names = ("bytes", "FLOPs", "FLOPs per byte")
        for name, text, own in zip(names, texts, deepml.answer(*sizes), strict=True):
            yield f"{sizes} {name}", f"{text:,}", f"{own:,}"


def _sparq() -> Iterator[_Row]:
    for (batch, context), texts in sparq.PUBLISHED.items():
        step = sparq.step(batch, context, **sparq.LLAMA_2_7B)
        times = sparq.latency(step, sparq.HARDWARE["A100"])
        shares = sparq.shares(times)
        for name, (milliseconds, percent) in texts.items():
            yield f"{name}, S = {context}, ms", milliseconds, f"{1e3 * times[name]:.3f}"
            yield f"{name}, S = {context}, %", percent, f"{shares[name]:.1f}"
    hardware = {
        "A10": ("125 TFLOP/s", "600 GB/s", "24 GB"),
        "A100": ("312 TFLOP/s", "1.56 TB/s", "40 GB"),
    }
    for name, three in hardware.items():
        device = sparq.HARDWARE[name]
        own = device.compute_rate("fp16"), device.memory_rate, device.capacity
        for text, value, unit in zip(three, own, ("FLOP/s", "B/s", "B"), strict=True):
            yield name, text, quantity(value, unit), True


def _suresh() -> Iterator[_Row]:
    for row in suresh.PUBLISHED:
        made = {
            "teraflops": suresh.forward(row.L, row.d, row.V).flops / 1e12,
            "gigabytes": suresh.kv_bytes(row.L, row.d, 1000) / 1e9,
        }
        for name, value in made.items():
            text = getattr(row, name)
            yield f"{row.name}, {name}", text, _like(value, text, name in row.cut_off)
    peak = suresh.RTX_3060_AS_PUBLISHED / 1e12
    cached = 9e9 / suresh.kv_bytes(48, 1600)
    yield "2×3 by 3×4, exact", "40", str(suresh.exact_product(2, 3, 4))
    yield "2×3 by 3×4, usual", "48", str(suresh.product(2, 3, 4))
    yield "RTX 3060, TFLOP/s", "101", f"{peak:.0f}", True
    yield "tokens/s of Llama 3.1 8B", "23", f"{peak / 4.307:.0f}"
    yield "GPT-2 XL tokens in 9 GB, thousands", "30", f"{round(cached, -4) / 1e3:.0f}"


def _like(value: float, text: str, cut: bool) -> str:
    """A number with as many digits as a text: rounded, or cut off as two of that table are."""
    digits = len(text.partition(".")[2])
    kept = int(value * 10**digits) / 10**digits if cut else value
    return f"{kept:.{digits}f}"


def _jamesnulliu() -> Iterator[_Row]:
    yield "A100, FLOPs per byte", "153", f"{jamesnulliu.A100.ridge('fp16'):.0f}"
    for phase, sizes, *texts in jamesnulliu.PUBLISHED:
        work = getattr(jamesnulliu, phase)(**sizes, **jamesnulliu.LLAMA_7B)
        label = phase + " " + ", ".join(f"{name} = {value}" for name, value in sizes.items())
        own = work.flops, work.bytes(), _like(float(work.intensity()), str(texts[2]), cut=False)
        for name, text, value in zip(("FLOPs", "bytes", "ratio"), texts, own, strict=True):
            if text is not None:
                yield f"{label}: {name}", str(text), str(value)


def _saha_ye() -> Iterator[_Row]:
    slides = {"on chip": ("19 TB/s", "20 MB"), "HBM": ("1.5 TB/s", "40 GB")}
    slides["host"] = "12.8 GB/s", "1 TB"
    for name, pair in slides.items():
        for text, own, unit in zip(pair, saha_ye.HIERARCHY[name], ("B/s", "B"), strict=True):
            yield name, text, quantity(own, unit), True


_SOURCES: dict[str, Callable[[], Any]] = {
    "deepml": _deepml,
    "sparq": _sparq,
    "suresh": _suresh,
    "saha-ye": _saha_ye,
    "jamesnulliu": _jamesnulliu,
}
