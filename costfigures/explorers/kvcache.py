"""The explorer of the chapter on caches: what a memory holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.explorers.page import Explorer
from costlib.model import kvcache
from costlib.model.catalog import devices, models
from costlib.units.precision import Precision

__all__ = ["memory"]


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
            [name, f"{held.kv / 1e9:.2f}", "without end" if longest == np.inf else f"{longest:,}"]
        )
    columns = ["cache", "GB of cache", f"longest context at batch {batch}"]
    figure = _held(parts, capacity, f"{model} on {device}: batch {batch}, {context:,} tokens")
    return Explorer("memory", figure, columns, rows)


def _held(parts: dict[str, Any], capacity: Any, title: str) -> Figure:
    said = "; ".join(f"{name} {sum(values) / 1e9:.1f} GB" for name, values in parts.items())
    alt = f"Bars of memory by kind of cache: {said}. The device has {capacity / 1e9:.1f} GB usable."
    with canvas(title, alt, width=5.6, height=3.2) as drawing:
        left: Any = np.zeros(len(parts))
        for at, kind in enumerate(("weights", "cache", "activations")):
            values = np.array([each[at] for each in parts.values()]) / 1e9
            drawing.axes.barh(
                list(parts),
                values,
                left=left,
                color=COLOURS[at],
                label=kind,
                hatch=("", "//", "")[at],
                edgecolor=COLOURS[at] if at != 1 else "white",
            )
            left = left + values
        drawing.axes.axvline(capacity / 1e9, color=INK, linewidth=1.5)
        drawing.axes.invert_yaxis()
        drawing.axes.set(xlabel=f"GB (the line: {capacity / 1e9:.1f})", title=title)
        drawing.figure.legend(loc="outside lower center", ncols=3, fontsize=11)
    return drawing.result
