"""The figures of chapter 4: what the cache saves, what it holds, what fits and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costlib.display import quantity
from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.kvcache import kv_bytes, largest_batch
from costlib.numbers import ceil_div
from costlib.roofline import Device, time
from costlib.serving import expected_tokens
from costlib.transformer import Transformer

__all__ = [
    "block_table",
    "bytes_per_token",
    "fits",
    "generation",
    "speculation",
    "step_times",
    "throughput",
    "windows",
]

#: Narrow enough that no text is scaled below 10 px on a page 375 px wide.
WIDTH = 5.2

_SMALL = 10.5
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (4, 1, 1, 1, 1, 1)))
_MARKERS = "os^Dv"


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number], "linestyle": _DASHES[number]}


def generation(model: Transformer, prompt: int, most: int) -> Figure:
    """FLOPs of an answer against its length, with a cache and without one."""
    without = np.cumsum(model.prefill(1, np.arange(prompt, prompt + most), logits="last").flops)
    steps = np.arange(0, most)
    cached = model.prefill(1, prompt, logits="last").flops
    cached = cached + np.array([model.decode_steps(1, prompt, int(n)).flops for n in steps])
    ratio = without[-1] / cached[-1]
    title = f"Without a cache {most:,} tokens cost {ratio:,.0f} times as much"
    alt = (
        f"FLOPs against tokens written after a prompt of {prompt:,}, log-log. Both lines start at "
        f"{quantity(cached[0], 'FLOP', 3)}. At {most:,} tokens the line with a cache is at "
        f"{quantity(cached[-1], 'FLOP', 3)}, the one without at {quantity(without[-1], 'FLOP', 3)}."
    )
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        axes.loglog(steps + 1, without, label="without a cache", **_look(1))
        axes.loglog(steps + 1, cached, label="with a cache", **_look(0))
        axes.set(xlabel=f"tokens written after a prompt of {prompt:,}", ylabel="FLOPs")
        axes.legend(fontsize=_SMALL)
    return drawing.result


def _kind(model: Transformer) -> int:
    """Which sort of attention: 0 MHA, 1 GQA, 2 MQA, 3 MLA."""
    if model.mla:
        return 3
    return 0 if model.kv_heads == model.heads else 2 if model.kv_heads == 1 else 1


_KINDS = ("MHA", "GQA", "MQA", "MLA")


def bytes_per_token(models: Mapping[str, Transformer]) -> Figure:
    """Bytes that each token leaves in the cache of each model, 16 bits, sorted."""
    sized = sorted((int(kv_bytes(m, 1, 1)), name, _kind(m)) for name, m in models.items())
    title = f"A token takes from {sized[0][0] / 1e3:.0f} kB to {sized[-1][0] / 1e3:,.0f} kB"
    told = ", ".join(
        f"{name} ({_KINDS[kind]}) {size / 1e3:.1f}" for size, name, kind in reversed(sized)
    )
    alt = f"Dots at the kB of cache per token at 16 bits, log scale: {told}."
    with canvas(title, alt, width=WIDTH, height=0.34 * len(sized) + 1.1) as drawing:
        axes = drawing.axes
        for kind, label in enumerate(_KINDS):
            rows = [row for row, each in enumerate(sized) if each[2] == kind]
            sizes = [sized[row][0] / 1e3 for row in rows]
            look = {"color": COLOURS[kind], "markersize": 9, "linestyle": ""}
            if rows:
                axes.plot(sizes, rows, _MARKERS[kind], label=label, **look)
            for row, size in zip(rows, sizes, strict=True):
                axes.text(1.18 * size, row, f"{size:,.0f}", va="center", fontsize=_SMALL)
        axes.set_yticks(range(len(sized)), [name for _, name, _ in sized], fontsize=_SMALL)
        axes.set(xscale="log", xlim=(8, sized[-1][0] / 1e3 * 4), xlabel="kB per token, 16 bits")
        axes.legend(loc="lower right", fontsize=_SMALL)
    return drawing.result


def windows(models: Mapping[str, Transformer], most: int = 131072) -> Figure:
    """Bytes of one sequence's cache against its length: windows bend the line."""
    context = np.unique(np.geomspace(64, most, 200).astype(int))
    lines = {name: kv_bytes(model, 1, context) for name, model in models.items()}
    title = "A window stops a layer's cache from growing"
    told = "; ".join(
        f"{name} {quantity(float(kv_bytes(model, 1, 4096)), 'B', 3)} at 4,096 tokens and "
        f"{quantity(float(lines[name][-1]), 'B', 3)} at {most:,}"
        for name, model in models.items()
    )
    alt = f"Bytes of cache against tokens of context, log-log, 16 bits: {told}."
    with canvas(title, alt, width=WIDTH, height=4) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            axes.loglog(context, line / 1e9, label=name, **_look(number))
        axes.set(xlabel="tokens of context", ylabel="GB of cache, one sequence")
        axes.legend(fontsize=_SMALL)
    return drawing.result


def fits(models: Mapping[str, Transformer], device: Device) -> Figure:
    """The largest batch that fits a device beside the weights, against the context."""
    context = np.unique(np.geomspace(256, 262144, 160).astype(int))
    lines: dict[str, Any] = {
        name: largest_batch(model, device, context).largest for name, model in models.items()
    }
    title = f"Batch times context is what {device.name} has room for"
    told = "; ".join(
        f"{name} {_batch(model, device, 4096):,} sequences of 4,096 tokens and "
        f"{_batch(model, device, 65536):,} of 65,536"
        for name, model in models.items()
    )
    with canvas(title, f"Largest batch against context, log-log: {told}.", width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (name, line) in enumerate(lines.items()):
            shown = np.where(line >= 1, line, np.nan)
            axes.loglog(context, shown, label=name, **_look(number))
        axes.set(xlabel="tokens of context, each sequence", ylabel="sequences that fit")
        axes.legend(fontsize=_SMALL)
    return drawing.result


def _batch(model: Transformer, device: Device, context: int) -> int:
    return int(largest_batch(model, device, context).largest)


def step_times(
    model: Transformer, device: Device, batches: Sequence[int], most: int = 262144
) -> Figure:
    """Milliseconds of a decode step against the context, and where the cache equals the weights."""
    context = np.unique(np.geomspace(128, most, 160).astype(int))
    weights = float(model.decode(1, 0).elements_read.weights) * 2
    places = {batch: weights / (batch * float(kv_bytes(model, 1, 1))) for batch in batches}
    title = "The cache overtakes the weights at a context that the batch divides"
    told = "; ".join(
        f"batch {batch} at {place:,.0f} tokens, where a step takes "
        f"{1e3 * _step(model, device, batch, round(place)):.1f} ms"
        for batch, place in places.items()
    )
    floor = 1e3 * weights / device.memory_rate
    alt = (
        f"Milliseconds of a decode step on {device.name} against context, log-log. A dotted floor "
        f"at {floor:.1f} ms is the weights' share. The cache's share equals it: {told}."
    )
    with canvas(title, alt, width=WIDTH, height=4) as drawing:
        axes = drawing.axes
        for number, batch in enumerate(batches):
            line = _step(model, device, batch, context)
            axes.loglog(context, 1e3 * line, label=f"batch {batch}", **_look(number))
            at = 1e3 * _step(model, device, batch, round(places[batch]))
            axes.plot([places[batch]], [at], _MARKERS[number], color=COLOURS[number], markersize=8)
        axes.axhline(floor, color=COLOURS[4], linewidth=1.2, linestyle=":")
        axes.text(140, floor * 0.74, f"weights alone: {floor:.1f} ms", fontsize=_SMALL)
        axes.set(xlabel="tokens cached, each sequence", ylabel="ms a step")
        axes.set(ylim=(floor * 0.65, floor * 90))
        axes.legend(loc="upper left", fontsize=_SMALL)
    return drawing.result


def _step(model: Transformer, device: Device, batch: Any, context: Any, new: int = 1) -> Any:
    # a curve goes on where memory ends, which the figure marks
    work = model.decode(batch, context, new, scores="on-chip")
    return time(work, device, too_large="ignore")


def throughput(model: Transformer, device: Device, contexts: Sequence[int]) -> Figure:
    """Tokens per second against the batch, until memory is full."""
    title = "Long contexts cap what a batch can buy, and then memory is full"
    ends, lines = [], []
    for context in contexts:
        most = _batch(model, device, context)
        batch = np.unique(np.geomspace(1, most, 60).astype(int))
        rate = batch / _step(model, device, batch, context - 1)
        ends.append(f"{context:,} tokens: {rate[-1]:,.0f} tokens/s with {most}, memory full")
        lines.append((context, batch, rate))
    alt = f"Tokens per second on {device.name} against batch, log-log. {'; '.join(ends)}."
    with canvas(title, alt, width=WIDTH, height=4) as drawing:
        axes = drawing.axes
        for number, (context, batch, rate) in enumerate(lines):
            label = f"context {context:,}"
            axes.loglog(batch, rate, label=label, **_look(number))
            axes.plot(batch[-1:], rate[-1:], _MARKERS[number], color=COLOURS[number], markersize=8)
        axes.set(xlabel="batch", ylabel="tokens per second")
        axes.legend(fontsize=_SMALL)
    return drawing.result


def block_table(lengths: Sequence[int] = (10, 6, 13), block: int = 4, blocks: int = 12) -> Figure:
    """Sequences cut into blocks that lie anywhere in memory, found through a block table."""
    tables = _deal(lengths, block, blocks)
    wasted = sum(ceil_div(length, block) * block - length for length in lengths)
    title = f"Blocks anywhere: {wasted} slots wasted, none between sequences"
    told = "; ".join(
        f"sequence {name} of {length} tokens in blocks {', '.join(map(str, table))}"
        for name, length, table in zip("ABC", lengths, tables, strict=True)
    )
    used = sum(map(len, tables))
    alt = (
        f"Memory drawn as {blocks} blocks of {block} slots. {told}. {wasted} slots at the ends "
        f"are empty, and {blocks - used} blocks are free."
    )
    with canvas(title, alt, width=WIDTH, height=2.7) as drawing:
        axes = drawing.axes
        owners = {
            place: (number, order)
            for number, table in enumerate(tables)
            for order, place in enumerate(table)
        }
        for place in range(blocks):
            _draw_block(axes, place, block, owners.get(place), lengths)
        for number, (table, length) in enumerate(zip(tables, lengths, strict=True)):
            axes.text(
                0,
                -5.8 - 0.95 * number,
                f"{'ABC'[number]}: {length} tokens, blocks {' '.join(map(str, table))}",
                color=COLOURS[number],
                fontsize=11.5,
            )
        axes.set(xlim=(-0.2, 4 * (block + 0.8)), ylim=(-8, 0.9), aspect="equal")
        axes.axis("off")
    return drawing.result


def _deal(lengths: Sequence[int], block: int, blocks: int) -> list[list[int]]:
    """Block tables as they arise when sequences grow by turns, a block whenever one is full."""
    tables: list[list[int]] = [[] for _ in lengths]
    free = iter(range(blocks))
    for token in range(max(lengths)):
        for table, length in zip(tables, lengths, strict=True):
            if token < length and token % block == 0:
                table.append(next(free))
    return tables


def _draw_block(
    axes: Any, place: int, block: int, owner: tuple[int, int] | None, lengths: Sequence[int]
) -> None:
    from matplotlib.patches import Rectangle

    left, top = (place % 4) * (block + 0.8), -(place // 4) * 1.95
    axes.text(left, top + 0.12, str(place), fontsize=_SMALL)
    for slot in range(block):
        number, order = owner or (0, 0)
        filled = owner is not None and order * block + slot < lengths[number]
        colour = COLOURS[number] if filled else "none"
        axes.add_patch(Rectangle((left + slot, top - 0.9), 1, 0.9, facecolor=colour, edgecolor=INK))
        if filled:
            axes.text(
                left + slot + 0.5,
                top - 0.47,
                "ABC"[number],
                ha="center",
                va="center",
                fontsize=_SMALL,
                color="white",
            )


def speculation(
    model: Transformer,
    draft: Transformer,
    device: Device,
    batches: Sequence[int],
    accepted: float = 0.7,
    cached: int = 2048,
    most: int = 8,
) -> Figure:
    """Speed-up of speculative decoding against the tokens guessed, for several batches."""
    guesses = np.arange(most + 1)
    expected = expected_tokens(accepted, guesses)
    lines = {}
    for batch in batches:
        plain = _step(model, device, batch, cached)
        drafting = _step(draft, device, batch, cached)
        checking = [_step(model, device, batch, cached, int(g) + 1) for g in guesses]
        lines[batch] = expected * plain / (np.array(checking) + guesses * drafting)
    title = "Guessing far ahead pays for few users and loses for many"
    told = "; ".join(
        f"batch {batch} best {line.max():.2f} with {int(np.argmax(line))} guessed, "
        f"{line[-1]:.2f} with {most}"
        for batch, line in lines.items()
    )
    alt = f"Speed-up against tokens guessed for each step on {device.name}: {told}."
    with canvas(title, alt, width=WIDTH) as drawing:
        axes = drawing.axes
        for number, (batch, line) in enumerate(lines.items()):
            marker = _MARKERS[number]
            axes.plot(guesses, line, marker=marker, label=f"batch {batch}", **_look(number))
        axes.axhline(1, color=COLOURS[4], linewidth=1.2, linestyle=":")
        axes.set(xlabel="tokens guessed ahead", ylabel="speed-up", ylim=(0.5, 2.15))
        axes.legend(ncols=2, loc="upper right", fontsize=_SMALL)
    return drawing.result
