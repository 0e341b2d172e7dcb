"""The explorer of the chapter on rooflines: a step, op by op."""

from __future__ import annotations

from costfigures.explorers.page import Explorer
from costfigures.rooflines import phases
from costlib.model.catalog import devices, models
from costlib.timing.roofline import table as times
from costlib.units.display import quantity


def step(
    model: str = "llama-3-8b", device: str = "A100-80GB", batch: int = 64, context: int = 4096
) -> Explorer:
    """Every op of a decode step under the roofline."""
    ledger = models[model].decode(batch, context, logits="last", scores="on-chip")
    spent = times(ledger, devices[device])
    slowest = spent.iloc[:-1].sort_values("time", ascending=False, kind="stable").head(5)
    rows = [
        [
            name,
            quantity(row["flops"], "FLOP"),
            quantity(row["bytes"], "B"),
            f"{row['time'] * 1e3:.3f}",
        ]
        for name, row in [*slowest.iterrows(), ("all ops", spent.iloc[-1])]
    ]
    figure = phases({"time": ledger}, devices[device])
    return Explorer("step", figure, ["op", "work", "moved", "ms"], rows)
