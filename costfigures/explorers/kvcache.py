"""The explorers of the chapter on caches: what a memory holds, and a token's way through layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, PAPER, Figure, canvas
from costfigures.chart import bar_chart, legend, note
from costfigures.explorers.page import Explorer
from costlib.model import kvcache
from costlib.model.catalog import devices, models
from costlib.model.layer_by_layer import layer_by_layer
from costlib.timing.limits import limits
from costlib.units.display import quantity
from costlib.units.precision import Precision


def memory(
    model: str = "llama-3-8b", device: str = "A100-80GB", batch: int = 16, context: int = 8192
) -> Explorer:
    """What a device's memory holds with four kinds of cache, and how far each goes."""
    chosen, capacity = models[model], devices[device].usable
    kinds = {
        "as it is": chosen,
        "MHA": chosen.with_(kv_heads=chosen.heads),
        "MQA": chosen.with_(kv_heads=1),
        "window 4,096": chosen.with_(window=4096),
    }
    rows, parts = [], {}
    weights = chosen.params() * Precision().weights
    for name, kind in kinds.items():
        held = kvcache.memory(kind, batch, context - 1)
        longest = kvcache.largest_context(kind, capacity - weights + held.weights, batch).largest
        parts[name] = (weights, held.kv, held.activations)
        rows.append(
            [name, f"{held.kv / 1e9:.2f}", "unlimited" if longest == np.inf else f"{longest:,}"]
        )
    columns = ["cache", "GB of cache", f"longest context at batch {batch}"]
    figure = _held(parts, capacity, f"{model} on {device}: batch {batch}, {context:,} tokens")
    return Explorer("memory", figure, columns, rows)


def _held(parts: dict[str, Any], capacity: Any, title: str) -> Figure:
    what = f"Bars of GB by kind of cache. The device has {capacity / 1e9:.1f} GB usable"
    named = dict(
        zip(("weights", "cache", "activations"), zip(*parts.values(), strict=True), strict=True)
    )
    sizes = {name: np.array(each) / 1e9 for name, each in named.items()}
    with bar_chart(title, what, parts, sizes, ".1f", height=3.2) as drawing:
        drawing.axes.axvline(capacity / 1e9, color=INK, linewidth=1.5)
        note(drawing.axes, (capacity / 1e9, 2.5), f"usable:\n{capacity / 1e9:.1f}", (-4, 0))
        drawing.axes.set(xlabel="GB", title=title.replace(": ", ":\n"))
    return drawing.result


def token_film(
    model: str = "llama-3.1-8b", device: str = "H100-SXM", batch: int = 1, context: int = 8192
) -> Explorer:
    """What a decode step reads in each layer, and how long that takes."""
    passed = layer_by_layer(models[model], batch, context)
    seconds = [sum(place.time for place in limits(each.work, device)) for each in passed]
    ends, layers = (0, len(passed) - 1), slice(1, -1)
    rows = [
        _passed(name, [passed[at] for at in which], [seconds[at] for at in which])
        for name, which in (
            ("embedding", ends[:1]),
            ("a layer", (1,)),
            ("all layers", range(len(passed))[layers]),
            ("unembedding", ends[1:]),
        )
    ]
    columns = ["part", "weights", "cache", "work", "time"]
    title = f"One token through {model} on {device}, {context:,} tokens cached"
    return Explorer("token_film", _journey(passed, seconds, title), columns, rows)


def _passed(name: str, passed: list[Any], seconds: list[float]) -> list[str]:
    moved = [each.work.elements_read.in_bytes() for each in passed]
    return [
        name,
        quantity(sum(each.weights for each in moved), "B"),
        quantity(sum(each.kv for each in moved), "B"),
        quantity(sum(each.work.flops for each in passed), "FLOP"),
        quantity(sum(seconds), "s"),
    ]


def _journey(passed: Any, seconds: list[float], title: str) -> Figure:
    """Bytes of each layer, as wide as it takes: weights below, the cache on top."""
    ends, wide = np.cumsum(seconds) * 1e3, np.array(seconds) * 1e3
    moved = [each.work.elements_read.in_bytes() for each in passed]
    weights, cache = (np.array([getattr(each, k) for each in moved]) for k in ("weights", "kv"))
    alt = (
        f"Bars of bytes read, one for each of {len(passed) - 2} layers and the unembedding, on an "
        f"axis of {ends[-1]:.2f} ms: a layer reads {weights[1] / 1e6:.0f} MB of weights and "
        f"{cache[1] / 1e6:.0f} MB of cache, the unembedding {weights[-1] / 1e6:,.0f} MB of weights."
    )
    with canvas(title, alt, height=3.2) as drawing:
        axes, under = drawing.axes, np.zeros_like(wide)
        drawn: dict[str, Any] = {"width": wide, "align": "edge", "edgecolor": PAPER}
        for number, (name, held) in enumerate({"weights": weights, "KV cache": cache}.items()):
            drawn |= {"color": COLOURS[number], "label": name, "linewidth": 0.5}
            axes.bar(ends - wide, held / wide / 1e6, bottom=under, **drawn)
            under = under + held / wide / 1e6
        axes.set(
            xlabel="ms of a decode step", ylabel="GB/s read", title="One token, layer by layer"
        )
        legend(axes)
    return drawing.result
