"""The explorer of the chapter on training: a run's bill."""

from __future__ import annotations

import numpy as np

from costfigures.canvas import COLOURS, Figure, canvas
from costfigures.chart import MARKS, note
from costfigures.explorers.page import Explorer
from costlib import training
from costlib.model.catalog import devices, models
from costlib.units.numbers import ceil_div


def budget(
    model: str = "llama-3.1-8b",
    device: str = "H100-SXM",
    tokens: float = 15e12,
    count: int = 1024,
    mfu: float = 0.4,
    seq: int = 8192,
) -> Explorer:
    """A training run's bill, and the size that its FLOPs were best spent on."""
    chosen, machine, fit = models[model], devices[device], training.FITS["besiroglu"]
    run = training.TrainingRun(
        model=chosen, tokens=tokens, device=machine, devices=count, mfu=mfu, seq=seq
    )
    state, saved = training.state_bytes(chosen).total, training.checkpoint_bytes(chosen)
    between, write = 50_000 / count, saved / 20e9 / 3600
    failures = training.likely_failures(24 * run.days, count, 50_000)
    spent = 6 * chosen.active_params() * tokens
    size, many = fit.best(spent)
    rows = [
        ["days", f"{run.days:.2f}"],
        ["device-hours", f"{run.device_hours:,.0f}"],
        ["dollars, at 2 an hour", f"{run.dollars(per_device_hour=2):,.0f}"],
        ["MWh, at 770 W", f"{run.energy_kwh(watts=770) / 1e3:,.0f}"],
        ["GB of state", f"{state / 1e9:.1f}"],
        ["devices that hold it", f"{ceil_div(state, machine.usable):,}"],
        ["failures, one in 50,000 device-hours", f"{failures:.1f}"],
        ["hours between checkpoints, written at 20 GB/s", f"{training.young(write, between):.2f}"],
        ["best size, 10⁹ parameters", f"{size / 1e9:.1f}"],
        ["best tokens, 10⁹", f"{many / 1e9:,.0f}"],
    ]
    title = f"{model} and {tokens / 1e12:g} trillion tokens"
    figure = _valley(fit, spent, chosen.active_params(), title)
    return Explorer("budget", figure, ["of the run", "it takes"], rows)


def _valley(fit: training.LossFit, spent: float, chosen: float, title: str) -> Figure:
    size, tokens = fit.best(spent)
    sizes = np.geomspace(min(size / 20, chosen / 2), max(size * 20, chosen * 2), 97)
    here, least = fit.loss(chosen, spent / 6 / chosen), fit.loss(size, tokens)
    alt = (
        f"Fitted loss against parameters for {spent:.2e} FLOPs, a valley: {chosen / 1e9:.1f} "
        f"billion parameters reach {here:.3f}, the best size, {size / 1e9:.1f} billion, "
        f"{least:.3f}."
    )
    with canvas(title, alt, height=3.4) as drawing:
        axes = drawing.axes
        axes.semilogx(sizes / 1e9, fit.loss(sizes, spent / 6 / sizes), color=COLOURS[0])
        inside, below = (3, 8), (0.01, -7)
        for number, name, x, y, shift in (
            (1, "this run", chosen, here, inside),
            (2, "best size", size, least, below),
        ):
            axes.plot(x / 1e9, y, MARKS[number], color=COLOURS[number])
            note(axes, (x / 1e9, y), name, shift, color=COLOURS[number])
        axes.margins(y=0.14)
        axes.set(xlabel="parameters, billions", ylabel="loss that the fit predicts", title=title)
    return drawing.result
