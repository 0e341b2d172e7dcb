"""The explorer of the chapter on many devices: a mesh folded over a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, Figure, canvas
from costfigures.explorers.page import Explorer
from costlib.model.catalog import nodes as catalogued
from costlib.parallel import Cluster, Plan

__all__ = ["MESSAGES", "mesh"]

#: The parts of a step that are messages which do not hide.
MESSAGES = ("tensor", "sequence", "context", "expert", "pipeline", "data")


def mesh(
    model: str = "llama-3.1-70b",
    node: str = "DGX-H100",
    nodes: int = 16,
    batch: int = 128,
    seq: int = 8192,
) -> Explorer:
    """What a device holds, and where a step's seconds go, for some ways to fold a mesh."""
    cluster, found, rows = Cluster(catalogued[node], nodes), {}, []
    for tensor, pipeline in ((8, 4), (8, 1), (4, 4), (16, 2)):
        data = cluster.devices // (tensor * pipeline)
        plan = Plan(tensor=tensor, pipeline=pipeline, data=data, sequence=True, zero=1)
        one = plan.on(model, cluster, batch=batch, seq=seq)
        name = f"{tensor} × {pipeline} × {data}"
        found[name] = one
        held, parts = one.memory.total, one.parts
        rows.append(
            [
                name,
                f"{held / 1e9:.1f}",
                f"{one.step:.2f}",
                *(f"{parts[each] / one.step:.0%}" for each in ("tensor", "bubble")),
                f"{one.mfu:.1%}",
            ]
        )
    title = f"{model} on {cluster.devices} of {node}: tensor × pipeline × data"
    columns = ["tensor × pipeline × data", "GB per device", "s per step", "tensor", "bubble", "MFU"]
    return Explorer("mesh", _folded(found, title), columns, rows)


def _folded(found: dict[str, Any], title: str) -> Figure:
    kinds = {
        "computing": ("products", "attention", "logits", "elementwise", "optimizer"),
        "messages": MESSAGES,
        "bubble": ("bubble",),
    }
    spent = {
        name: [sum(one.parts[part] for part in parts) for parts in kinds.values()]
        for name, one in found.items()
    }
    said = "; ".join(
        f"{name}: " + ", ".join(f"{s:.1f} s {kind}" for kind, s in zip(kinds, each, strict=True))
        for name, each in spent.items()
    )
    alt = f"Bars of the seconds of a step, for four folds. {said}."
    with canvas(title, alt, width=5.6, height=3.2) as drawing:
        left: Any = np.zeros(len(found))
        for at, kind in enumerate(kinds):
            values = np.array([each[at] for each in spent.values()])
            style = {"hatch": ("", "//", "..")[at], "edgecolor": (COLOURS[0], "white", "white")[at]}
            colour = (COLOURS[0], COLOURS[1], COLOURS[4])[at]
            drawing.axes.barh(list(found), values, left=left, color=colour, label=kind, **style)
            left = left + values
        drawing.axes.invert_yaxis()
        drawing.axes.set(xlabel="seconds of a step", title=title.replace(": ", ":\n"))
        drawing.figure.legend(loc="outside lower center", ncols=3, fontsize=11)
    return drawing.result
