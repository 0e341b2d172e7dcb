"""The explorer of the chapter on many devices: a mesh folded over a cluster."""

from __future__ import annotations

from typing import Any

from costfigures.canvas import Figure
from costfigures.chart import bar_chart
from costfigures.explorers.page import Explorer
from costlib.model.catalog import nodes as catalogued
from costlib.parallel import Cluster, Plan

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
        kind: [sum(one.parts[part] for part in parts) for one in found.values()]
        for kind, parts in kinds.items()
    }
    what = "Bars of the seconds of a step, for four folds"
    with bar_chart(title, what, found, spent, ".1f") as drawing:
        drawing.axes.set(xlabel="seconds of a step", title=title.replace(": ", ":\n"))
    return drawing.result
