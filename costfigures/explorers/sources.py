"""The explorers of the chapter on sources: intensities as published and as counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from costfigures.canvas import Figure, canvas
from costfigures.chart import lines, mark
from costfigures.explorers.page import Explorer
from costlib.model.catalog import devices, models
from costlib.sources import jamesnulliu
from costlib.timing.roofline import Device


def prefill(model: str = "llama-2-7b", device: str = "A100-80GB") -> Explorer:
    """Arithmetic intensity of prefill against the sequence, published and counted."""
    chosen, seqs = models[model], 2 ** np.arange(0, 18)
    notes = _notes(chosen)
    published = jamesnulliu.prefill(1, seqs, **notes).intensity()
    counted = chosen.prefill(1, seqs, logits="last", scores="on-chip").intensity()
    figure = _against_ridge(
        "tokens in the sequence",
        seqs,
        {"as published": published, "every op counted": counted},
        devices[device],
        f"Prefill of {model}, batch 1",
    )
    rows = [
        [f"{seq:,}", f"{one:,.1f}", f"{other:,.1f}"]
        for seq, one, other in zip(seqs, published, counted, strict=True)
        if seq in (1, 128, 1024, 8192, 131072)
    ]
    columns = ["tokens", "FLOPs per byte, as published", "every op counted"]
    return Explorer("prefill", figure, columns, rows)


def speculative(
    model: str = "llama-2-7b", device: str = "A100-80GB", batch: int = 16, cached: int = 4096
) -> Explorer:
    """Arithmetic intensity of a step against its new tokens, three ways."""
    chosen, new = models[model], 2 ** np.arange(0, 13)
    sizes = {"B": batch, "S_i": new, "S_c": cached, **_notes(chosen)}
    curves = {
        "as published": jamesnulliu.decode(**sizes).intensity(),
        "its slips corrected": jamesnulliu.corrected_decode(**sizes).intensity(),
        "every op counted": chosen.decode(
            batch, cached, new, logits="last", scores="on-chip"
        ).intensity(),
    }
    title = f"A step of {model}: {cached:,} cached tokens, batch {batch}"
    figure = _against_ridge("new tokens per step", new, curves, devices[device], title)
    rows = [
        [f"{count:,}", *(f"{values[at]:,.1f}" for values in curves.values())]
        for at, count in enumerate(new)
        if count in (1, 8, 64, 256, 4096)
    ]
    return Explorer("speculative", figure, ["new tokens", *curves], rows)


def _notes(model: Any) -> dict[str, Any]:
    """The sizes that the notes take of a model."""
    return {"H": model.d_model, "N": model.layers, "Z": model.params() / 1e9}


def _against_ridge(
    label: str, across: Any, curves: dict[str, Any], device: Device, title: str
) -> Figure:
    ridge = device.ridge()
    reached = {
        name: next((int(x) for x, y in zip(across, values, strict=True) if y >= ridge), None)
        for name, values in curves.items()
    }
    said = "; ".join(
        f"{name}: from {x:,} on" if x else f"{name}: never" for name, x in reached.items()
    )
    alt = (
        f"Log-log chart of FLOPs per byte against {label}. At these powers of two the ridge of "
        f"{device.name}, {ridge:,.0f} FLOPs per byte, is reached {said}."
    )
    with canvas(title, alt) as drawing:
        lines(drawing.axes, across, curves)
        mark(drawing.axes, f"ridge {ridge:,.0f}", y=ridge)
        drawing.axes.set(xlabel=label, ylabel="FLOPs per byte")
        drawing.axes.set_title(title.replace(": ", ":\n"))
    return drawing.result
