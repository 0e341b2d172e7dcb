"""The figures of the chapter on training: what is held and when, how busy devices are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, INK, Figure, canvas
from costfigures.chart import (
    bar_chart,
    legend,
    lines,
    mark,
    names,
    note,
    percent,
    points,
    ticks,
    value_chart,
)
from costfigures.step import lives, three_products  # noqa: F401 - of this chapter
from costlib import training
from costlib.measured.runs import PublishedRun
from costlib.model.transformer import Transformer
from costlib.training import Recipe, activations, state_bytes
from costlib.units.device import Device
from costlib.units.precision import FORMATS


def states(model: Transformer, recipes: Mapping[str, Recipe]) -> Figure:
    """Bytes of each parameter in each recipe: weights, gradients, optimizer's state."""
    held = {name: state_bytes(model, recipe) for name, recipe in recipes.items()}
    count = float(model.params())
    parts = ("weights", "gradients", "optimizer")
    rows = {
        name: [float(getattr(each, part)) / count for part in parts] for name, each in held.items()
    }
    least, most = min(map(sum, rows.values())), max(map(sum, rows.values()))
    title = f"Training keeps {least:.1f} to {most:.0f} bytes per parameter"
    what = "Stacked bars of bytes per parameter"
    sizes = dict(zip(parts, np.array(list(rows.values())).T, strict=True))
    with bar_chart(title, what, rows, sizes, ".2f", sums=".1f") as drawing:
        drawing.axes.set(xlabel="bytes per parameter")
    return drawing.result


def layer(model: Transformer, seq: int, *, scores: str = "on-chip") -> Figure:
    """What one layer keeps of a token, term by term."""
    first = next(block for block in model.blocks if block.layers)
    one = model.with_(blocks=(replace(first, layers=1),))
    held = activations(one, 1, seq, scores=scores)
    rows = [
        (row.name, float(row.bytes()) / seq / 1e3) for row in held.rows if row.place == "layers"
    ]
    total = sum(size for _, size in rows)
    inner = sum(size for name, size in rows if name.startswith("ffn"))
    title = f"{inner / total:.0%} of what a layer keeps is inside its feed-forward layer"
    what = f"Bars of kB that one layer keeps per token, {total:.0f} kB in all"
    inside = [name.startswith("ffn") for name, _ in rows]
    with value_chart(title, what, dict(rows), ".1f", inside) as drawing:
        drawing.axes.set(xlabel="kB per token")
    return drawing.result


#: How activations are kept: a name, whether scores are stored, what is recomputed.
WAYS = (
    ("scores stored", "materialised", None),
    ("scores recomputed", "on-chip", None),
    ("full recomputation", "on-chip", "full"),
)


def tide(model: Transformer, seq: int) -> Figure:
    """All that is held while a step runs, for each way to keep activations, to one scale."""
    state = float(state_bytes(model).total)
    found = {
        name: _held_over_time(model, seq, scores, recompute) for name, scores, recompute in WAYS
    }
    peaks = {name: max(line) for name, (_, line) in found.items()}
    title = f"{state / 1e9:.0f} GB of states, and {_range(peaks.values())} GB of activations"
    told = "; ".join(f"{name}, at most {peak / 1e9:.1f} GB" for name, peak in peaks.items())
    alt = (
        f"GB held against progress in one step on a sequence of {seq:,} tokens, in three charts. "
        f"Weights, gradients and optimizer are a level band of {state / 1e9:.1f} GB. Activations "
        f"on top of it rise layer by layer in the forward pass and fall in the backward pass: "
        f"{told}."
    )
    with canvas(title, alt, rows=len(found), height=4.8) as drawing:
        for number, (axes, (name, (where, line))) in enumerate(
            zip(drawing.axes, found.items(), strict=True)
        ):
            axes.fill_between([0, 2], 0, state / 1e9, color=COLOURS[4], alpha=0.4, linewidth=0)
            tops = (state + np.array(line)) / 1e9
            axes.fill_between(where, state / 1e9, tops, color=COLOURS[number], alpha=0.7)
            axes.text(0.02, state / 2e9, "weights, gradients, optimizer", va="center")
            words = f"{name}: at most {peaks[name] / 1e9:.1f} GB of activations"
            axes.set_title(words)
            axes.set(xlim=(0, 2), ylim=(0, (state + max(peaks.values())) / 1e9 * 1.05))
            axes.set_xticks([0.5, 1.5], ["layers forward", "layers backward"])
            axes.label_outer()
        drawing.axes[1].set_ylabel("GB")
    return drawing.result


def _range(sizes: Iterable[float]) -> str:
    every = [size / 1e9 for size in sizes]
    return f"{min(every):.0f} to {max(every):.0f}"


def _held_over_time(
    model: Transformer, seq: int, scores: str, recompute: str | None
) -> tuple[list[float], list[float]]:
    """When (0 to 1 forward, 1 to 2 back) and bytes then, layer by layer; what runs again, too."""
    held = activations(model, 1, seq, scores=scores, recompute=recompute)
    layers = int(model.layers)
    each, again = float(held.of_layers()) / layers, float(held.again())
    when = [done / layers for done in range(layers + 1)]
    size = [each * done for done in range(layers + 1)]
    when, size = [*when, 1.0], [*size, size[-1] + float(held.outside())]
    for left in range(layers, 0, -1):
        begun = 1 + (layers - left) / layers
        when += [begun, begun + 1 / layers, begun + 1 / layers]
        size += [each * left + again, each * left + again, each * (left - 1)]
    return when, size


def readings(model: Transformer, device: Device, tokens_per_s: float, seq: int) -> Figure:
    """One measured speed as a utilisation, by every convention."""
    peak = float(device.flops_per_s[device.sixteen_bits])
    rate: dict[str, Any] = {"tokens_per_s": tokens_per_s, "seq": seq}
    model_flops = float(training.mfu(model, device, **rate))
    named = {
        "against the sparse peak": model_flops / 2,
        "6N": float(training.mfu(model, device, convention="6N", **rate)),
        "ledger: MFU": model_flops,
        "masked pairs counted": float(
            training.mfu(model, device, convention="ledger-full", **rate)
        ),
        "HFU, scores recomputed": model_flops
        * float(training.hfu_over_mfu(model, seq, scores="on-chip")),
        "HFU, layers recomputed": model_flops
        * float(training.hfu_over_mfu(model, seq, recompute="full")),
    }
    low, high = min(named.values()), max(named.values())
    title = f"One speed is a utilisation of {low:.0%} or of {high:.0%}"
    what = (
        f"Bars of the share of {device.name}'s {peak / 1e12:.0f} TFLOP/s that "
        f"{tokens_per_s:,.0f} tokens per second are"
    )
    ours = [0 if "MFU" in name else 4 for name in named]
    with value_chart(title, what, named, ".1%", ours) as drawing:
        percent(drawing.axes.xaxis)
        drawing.axes.set(xlabel="share of the peak")
    return drawing.result


def shares(found: Sequence[PublishedRun]) -> Figure:
    """The share of the peak that published hours imply, and what was printed while runs ran."""
    rows = sorted(
        (run for run in found if run.implied_mfu is not None), key=lambda run: run.implied_mfu or 0
    )
    implied = [run.implied_mfu or 0 for run in rows]
    middle = float(np.median(implied))
    title = f"Whole runs use {min(implied):.0%} to {max(implied):.0%} of the peak"
    told = "; ".join(
        f"{run.name} {share:.0%}" + (f", printed {_printed(run)}" if run.printed_mfu else "")
        for run, share in zip(rows, implied, strict=True)
    )
    alt = f"Dots at the model FLOPs utilisation that the hours of each run imply: {told}."
    with canvas(title, alt, height=0.3 * len(rows) + 1.4) as drawing:
        axes = drawing.axes
        mark(axes, x=middle)
        axes.plot(implied, range(len(rows)), "o", color=COLOURS[0], label="implied by hours")
        shown = [(at, run.printed_mfu) for at, run in enumerate(rows) if run.printed_mfu]
        for number, (at, (low, high)) in enumerate(shown):
            label = "printed, while it ran" if not number else None
            axes.plot([low, high], [at, at], "D-", color=COLOURS[1], markersize=5, label=label)
        names(axes, [run.name for run in rows], up=True)
        axes.set(xlabel="share of the dense 16-bit peak", xlim=(0.1, 0.6))
        percent(axes.xaxis)
        legend(axes)
    return drawing.result


def _printed(run: PublishedRun) -> str:
    low, high = run.printed_mfu or (0, 0)
    return f"{low:.0%}" if low == high else f"{low:.0%} to {high:.0%}"


def failures(write: float, between: float, restart: float, seed: int = 0) -> Figure:
    """Share of time that is work against the interval: formula, and failures drawn at random."""
    minutes = np.geomspace(write, between, 200)
    line = np.asarray(training.goodput(minutes, write, between, restart))
    best = float(training.daly(write, between))
    top = float(training.goodput(best, write, between, restart))
    draw = np.random.default_rng(seed)
    tried = np.geomspace(write * 1.3, between * 0.9, 7)
    drawn = [_drawn(draw, work, write, between, restart) for work in tried]
    title = f"A checkpoint every {best:.0f} minutes leaves {top:.0%} of the time for work"
    told = ", ".join(f"{w:.0f} min {g:.1%}" for w, g in zip(tried, drawn, strict=True))
    alt = (
        f"Share of time that is work against minutes between checkpoints, log axis: a hill with "
        f"its top of {top:.1%} at {best:.0f} minutes. Runs with failures drawn at random: {told}."
    )
    with canvas(title, alt) as drawing:
        axes = drawing.axes
        axes.semilogx(minutes, line, color=COLOURS[0])
        axes.plot(tried, drawn, "s", color=COLOURS[1])
        axes.plot([best], [top], "^", color=COLOURS[2], markersize=10)
        note(axes, (minutes[20], line[20]), "formula", (10, 0), color=COLOURS[0])
        note(axes, (tried[-2], drawn[-2]), "2,000 stretches drawn", (-9, 0), color=COLOURS[1])
        note(axes, (best, top), "Daly's interval", (0, 8), color=COLOURS[2])
        axes.set(xlabel="minutes of work between checkpoints", ylabel="share of time that is work")
        axes.margins(y=0.12)
        percent(axes.yaxis)
    return drawing.result


def _drawn(draw: Any, work: float, write: float, between: float, restart: float) -> float:
    """Work over time when 2,000 stretches are tried until each is done."""
    clock, stretches = 0.0, 2000
    for _ in range(stretches):
        while (life := draw.exponential(between)) < work + write:
            clock += life + restart
        clock += work + write
    return float(stretches * work / clock)


def precisions(model: Transformer, device: Device, seq: int) -> Figure:
    """Seconds of a step's products and casts in 16 bits, MXFP8 and NVFP4, at datasheet rates."""
    step = model.training_step(1, seq)
    slow = ("scores", "values", "unembedding")
    fast = sum(float(op.flops) for op in step if op.is_matmul and not op.name.startswith(slow))
    rest = float(step.matmul_flops) - fast
    kv, d, f = model.kv_heads * model.head_dim, model.d_model, model.d_ff
    cast = float(model.layers * (6 * d + 2 * kv + 3 * f) * seq)
    cast += float(training.params_by_kind(model)["matrices"])
    usual = device.compute_rate("bf16")
    rows = {}
    for name, kind, size in (
        ("bf16", "bf16", None),
        ("MXFP8", "fp8", "mxfp8"),
        ("NVFP4", "fp4", "nvfp4"),
    ):
        moved = cast * (2 + 2 * FORMATS[size]) if size else 0.0
        parts = (fast / device.compute_rate(kind), rest / usual, moved / device.bytes_per_s)
        rows[name] = [1e3 * float(part) for part in parts]
    parts = ("weight GEMMs", "attention and logits", "casts")
    title = "Low precision shortens the weight GEMMs alone"
    what = f"Stacked bars of milliseconds of a training step on {device.name}"
    sizes = dict(zip(parts, np.array(list(rows.values())).T, strict=True))
    with bar_chart(title, what, rows, sizes, ".0f", columns=2) as drawing:
        drawing.axes.set(xlabel="ms per step")
    return drawing.result


def critical() -> Figure:
    """Steps and tokens to one loss, over the fewest, against the batch over its critical size."""
    ratios = np.geomspace(1 / 16, 16, 81)
    title = "At the critical batch size steps and tokens are both twice their minimum"
    alt = (
        "Two curves against the batch over its critical size, log axes. Steps fall from 17 times "
        "the fewest at a sixteenth of it to 2 at the critical size and 1.06 at sixteen times it. "
        "Tokens rise the other way, from 1.06 times the fewest to 2 and 17."
    )
    with canvas(title, alt, height=3.4) as drawing:
        axes = drawing.axes
        lines(axes, ratios, {"steps": 1 + 1 / ratios, "tokens": 1 + ratios})
        axes.plot([1], [2], "o", color=INK)
        ticks(axes.yaxis, [1, 2, 4, 8, 16])
        ticks(axes.xaxis, [1 / 16, 1 / 4, 1, 4, 16])
        axes.set_xticklabels(["1/16", "1/4", "1", "4", "16"])
        axes.set(xlabel="batch over critical batch", ylabel="times the fewest")
    return drawing.result


def _power(number: float) -> str:
    """A number as powers are written.

    >>> _power(1e20), _power(3e24)
    ('10²⁰', '3·10²⁴')
    """
    first, _, exponent = f"{number:.0e}".partition("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if first == "1" else f"{first}·10{raised}"


def valleys(budgets: Sequence[float], fit: str = "besiroglu") -> Figure:
    """Loss against size for some budgets of FLOPs: one valley each."""
    constants, bottoms = training.FITS[fit], []
    title = "Every budget has one best size, and its valley is flat"
    found = {}
    for budget in budgets:
        best, tokens = constants.best(budget)
        sizes = np.geomspace(best / 30, best * 30, 160)
        loss = constants.loss(sizes, budget / 6 / sizes)
        bottoms.append((best, constants.loss(best, tokens), tokens / best))
        inside = loss < bottoms[0][1] + 0.34
        found[f"{_power(budget)} FLOPs"] = sizes[inside] / 1e9, loss[inside]
    told = "; ".join(
        f"{name}, {best / 1e9:.2g}B parameters, {ratio:.0f} tokens each"
        for name, (best, _, ratio) in zip(found, bottoms, strict=True)
    )
    alt = f"Fitted loss against parameters, one curve per budget; the lowest points: {told}."
    with canvas(title, alt, height=3.8) as drawing:
        axes = drawing.axes
        lines(axes, None, found, "x")
        path = [(best / 1e9, low) for best, low, _ in bottoms]
        axes.plot(*zip(*path, strict=True), ":", color=INK, linewidth=1)
        points(axes, path)
        axes.set(xlabel="parameters, billions", ylabel="loss that the fit predicts")
        axes.set(ylim=(min(low for _, low in path) - 0.12, path[0][1] + 0.35))
    return drawing.result
