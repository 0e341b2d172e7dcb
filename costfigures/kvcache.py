"""The figures of chapter 4: what the cache saves, what it holds, what fits and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costfigures.attention import kind
from costfigures.canvas import COLOURS, Figure, canvas
from costfigures.chart import MARKS, legend, line_chart, lines, mark, names, note, points, ticks
from costfigures.sketch import TINT, Point, Sketch, sketch
from costlib.model.kvcache import kv_bytes, largest_batch
from costlib.model.transformer import Transformer
from costlib.serving import expected_tokens
from costlib.timing.roofline import Device, time
from costlib.units.display import quantity
from costlib.units.ledger import Ledger
from costlib.units.numbers import ceil_div


def prefill_and_decode(model: Transformer, device: Device, prompt: int) -> Figure:
    """A prompt and one token through the same weights: what is moved, done, and waited for."""
    works = {
        f"{prompt:,} tokens at once": model.prefill(1, prompt, logits="last", scores="on-chip"),
        "one token": model.decode(1, prompt, scores="on-chip"),
    }
    moved = [work.bytes() for work in works.values()]
    flops = [work.flops for work in works.values()]
    title = f"A prompt of {prompt:,} does {flops[0] / flops[1]:,.0f} times the FLOPs of a token "
    title += f"and moves {moved[0] / moved[1]:.1f} times the bytes"
    spent = [
        (b / device.memory_rate, f / device.compute_rate())
        for b, f in zip(moved, flops, strict=True)
    ]
    weights = [_weights_read(model, work) / work.bytes() for work in works.values()]
    told = "; ".join(
        f"{name}: {quantity(moved[i], 'B', 3)} moved in {quantity(spent[i][0], 's', 3)}, "
        f"{weights[i]:.0%} of them weights, and {quantity(flops[i], 'FLOP', 3)} done in "
        f"{quantity(spent[i][1], 's', 3)}"
        for i, name in enumerate(works)
    )
    alt = (
        f"Two columns. Left, prefill: a sheet of {prompt:,} rows meets a matrix of weights. Right, "
        "decode: one row meets the same matrix. Under each two bars, all on one scale: the time "
        f"that its bytes take on {device.name}, those of the weights solid, and that of its "
        f"FLOPs. {told}."
    )
    scale = 160 / max(max(pair) for pair in spent)
    with sketch(title, alt, height=246) as drawing:
        for place, name in enumerate(works):
            left = 8 + 180 * place
            drawing.text((left, 12), ("prefill", "decode")[place], bold=True)
            drawing.text((left, 29), name)
            _meeting(drawing, (left, 46), (prompt, 1)[place], model.d_model)
            amounts = quantity(moved[place], "B", 3), quantity(flops[place], "FLOP", 3)
            _two_bars(drawing, (left, 158), amounts, spent[place], weights[place], scale)
    return drawing.result


def _two_bars(
    drawing: Sketch,
    corner: Point,
    amounts: tuple[str, str],
    seconds: Point,
    weights: float,
    scale: float,
) -> None:
    """The times of bytes, with the share of the weights, and of FLOPs, so much for a second."""
    left, top = corner
    for row, (amount, each) in enumerate(zip(amounts, seconds, strict=True)):
        drawing.text((left, top + 44 * row), f"{amount}: {quantity(each, 's', 3)}")
    moving, computing = (max(1.0, scale * each) for each in seconds)
    drawing.box((left, top + 9), moving, 15, fill=COLOURS[0] + TINT, edge=COLOURS[0])
    drawing.box((left, top + 9), moving * weights, 15, fill=COLOURS[0], line=0)
    shade = COLOURS[1]
    drawing.box((left, top + 53), computing, 15, fill=shade + TINT, edge=shade)


def _weights_read(model: Transformer, work: Ledger) -> Any:
    """Bytes of weights that a pass reads, in the bits that the model ships in."""
    return sum(op.elements_read.weights * model.precision.weights_in(op.name) for op in work)


def _meeting(drawing: Sketch, corner: Point, rows: int, width: Any) -> None:
    """Activations, a row for each token, times a square of weights, both to scale."""
    (left, top), side = corner, 66.0
    high = min(90.0, max(1.5, side * rows / width))
    middle = top + 39
    drawing.box((left, middle - high / 2), side, high, fill=COLOURS[2] + TINT)
    drawing.text((left + side / 2, top + 83), "activations", align="middle")
    drawing.text((left + side + 13, middle), "×", align="middle")
    weights = left + side + 26, middle - side / 2
    drawing.box(weights, side, side, "weights", fill=COLOURS[0] + TINT)
    drawing.text((left + side * 1.5 + 26, top + 83), f"{width:,} wide", align="middle")


def generation(model: Transformer, prompt: int, most: int) -> Figure:
    """FLOPs of an answer against its length, with a cache and without one."""
    without = np.cumsum(model.prefill(1, np.arange(prompt, prompt + most), logits="last").flops)
    steps = np.arange(0, most)
    cached = model.prefill(1, prompt, logits="last").flops
    cached = cached + np.array([model.decode_steps(1, prompt, int(n)).flops for n in steps])
    ratio = without[-1] / cached[-1]
    title = f"Without a cache {most:,} tokens cost {ratio:,.0f} times as much"
    what = f"TFLOP by tokens written after a prompt of {prompt:,}, log-log"
    found = {"with a cache": cached / 1e12, "without a cache": without / 1e12}
    with line_chart(title, what, steps + 1, found) as drawing:
        drawing.axes.set(xlabel=f"tokens written after a prompt of {prompt:,}", ylabel="TFLOP")
    return drawing.result


_KINDS = ("MHA", "GQA", "MQA", "MLA")


def bytes_per_token(models: Mapping[str, Transformer]) -> Figure:
    """Bytes that each token leaves in the cache of each model, 16 bits, sorted."""
    sized = sorted((int(kv_bytes(m, 1, 1)), name, kind(m)) for name, m in models.items())
    title = f"A token takes from {sized[0][0] / 1e3:.0f} kB to {sized[-1][0] / 1e3:,.0f} kB"
    told = ", ".join(f"{name} ({of}) {size / 1e3:.1f}" for size, name, of in reversed(sized))
    alt = f"Dots at the kB of cache per token at 16 bits, log scale: {told}."
    with canvas(title, alt, height=0.34 * len(sized) + 1.1) as drawing:
        axes = drawing.axes
        for number, of in enumerate(_KINDS):
            axes.plot([], [], MARKS[number], color=COLOURS[number], markersize=9, label=of)
        for row, (size, _, of) in enumerate(sized):
            number = _KINDS.index(of)
            axes.plot(size / 1e3, row, MARKS[number], color=COLOURS[number], markersize=9)
            note(axes, (size / 1e3, row), f"{size / 1e3:,.0f}", (8, 0))
        names(axes, [name for _, name, _ in sized], up=True)
        axes.set(xscale="log", xlim=(8, sized[-1][0] / 1e3 * 4), xlabel="kB per token, 16 bits")
        ticks(axes.xaxis, [10, 100, 1000])
        legend(axes, 4)
    return drawing.result


def windows(models: Mapping[str, Transformer], most: int = 131072) -> Figure:
    """Bytes of one sequence's cache against its length: windows bend the line."""
    context = np.unique(np.geomspace(64, most, 200).astype(int))
    found = {name: kv_bytes(model, 1, context) / 1e9 for name, model in models.items()}
    title = "A window stops a layer's cache from growing"
    what = "GB of cache of one sequence by its tokens, 16 bits"
    with line_chart(title, what, context, found, height=4) as drawing:
        drawing.axes.set(xlabel="tokens of context", ylabel="GB of cache, one sequence")
    return drawing.result


def fits(models: Mapping[str, Transformer], device: Device) -> Figure:
    """The largest batch that fits a device beside the weights, against the context."""
    context = np.unique(np.geomspace(256, 262144, 160).astype(int))
    found: dict[str, Any] = {
        name: largest_batch(model, device, context).largest for name, model in models.items()
    }
    fitting = {name: (context[line >= 1], line[line >= 1]) for name, line in found.items()}
    title = f"Batch times context is what {device.name} has room for"
    what = "Sequences that fit by the tokens of each"
    with line_chart(title, what, None, fitting, at="legend") as drawing:
        legend(drawing.axes, 2)
        drawing.axes.set(xlabel="tokens of context, each sequence", ylabel="sequences that fit")
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
    found = {f"batch {b}": 1e3 * _step(model, device, b, context) for b in batches}
    with canvas(title, alt, height=4) as drawing:
        axes = drawing.axes
        lines(axes, context, found)
        steps = [1e3 * _step(model, device, b, round(at)) for b, at in places.items()]
        points(axes, zip(places.values(), steps, strict=True))
        mark(axes, y=floor)
        note(axes, (context[0], floor), f"weights alone: {floor:.1f} ms", (0.01, -4))
        axes.set(xlabel="tokens cached, each sequence", ylabel="milliseconds per step")
        axes.set(ylim=(floor * 0.65, None))
    return drawing.result


def _step(model: Transformer, device: Device, batch: Any, context: Any, new: int = 1) -> Any:
    # a curve goes on where memory ends, which the figure marks
    work = model.decode(batch, context, new, scores="on-chip")
    return time(work, device, too_large="ignore")


def throughput(model: Transformer, device: Device, contexts: Sequence[int]) -> Figure:
    """Tokens per second against the batch, until memory is full."""
    title = "Long contexts cap what a batch can buy, and then memory is full"
    found = {}
    for context in contexts:
        batch = np.unique(np.geomspace(1, _batch(model, device, context), 60).astype(int))
        rate = batch / _step(model, device, batch, context - 1)
        found[f"context {context:,}"] = batch, rate
    what = f"Tokens per second on {device.name} by batch, until memory is full"
    with line_chart(title, what, None, found, height=4) as drawing:
        points(drawing.axes, [(batch[-1], rate[-1]) for batch, rate in found.values()])
        drawing.axes.set(xlabel="batch", ylabel="tokens per second")
    return drawing.result


def block_table(lengths: Sequence[int] = (10, 6, 13), block: int = 4, blocks: int = 12) -> Figure:
    """The same memory, reserved for the longest answer or in pages, as sequences grow."""
    tables = _deal(lengths, block, blocks)
    piece = blocks * block // len(lengths)
    wasted = sum(ceil_div(length, block) * block - length for length in lengths)
    unused = sum(piece - length for length in lengths)
    title = f"Paging wastes {wasted} slots, reserving for the longest answer {unused}"
    told = "; ".join(
        f"sequence {name} of {length} tokens in blocks {', '.join(map(str, table))}"
        for name, length, table in zip(_NAMES, lengths, tables, strict=False)
    )
    used = sum(map(len, tables))
    stages = [max(lengths) * part // 4 for part in (1, 2, 3, 4)]
    alt = (
        f"One memory of {blocks * block} slots, drawn as strips. In the first each sequence has "
        f"{piece} slots in one piece; {unused} stay empty in all. In the others it is cut into "
        f"{blocks} blocks of {block} slots, after {', '.join(map(str, stages[:-1]))} and "
        f"{stages[-1]} turns in which each grew by a token: whoever fills a block takes the next "
        f"free one. At the end, {told}. {wasted} slots at the ends are empty, and "
        f"{blocks - used} blocks are free."
    )
    with sketch(title, alt, height=258) as drawing:
        drawing.text((6, 12), "a piece for each sequence, for the longest answer", bold=True)
        _pieces(drawing, 24, lengths, piece)
        told = ", ".join(map(str, stages[:-1]))
        drawing.text((6, 68), f"pages, after {told} and {stages[-1]} turns", bold=True)
        for row, stage in enumerate(stages):
            top = 80 + 28 * row
            drawing.text((6, top + 10), f"{stage}")
            _pages(drawing, top, [min(stage, length) for length in lengths], block, blocks)
        _tables(drawing, 199, tables, blocks)
    return drawing.result


_NAMES = "ABCDEFG"
_LEFT, _SPAN = 24.0, 330.0  # of a strip of memory


def _tables(drawing: Sketch, top: float, tables: Sequence[Sequence[int]], blocks: int) -> None:
    """The numbers of the blocks, and for each sequence where its own are."""
    for place in range(blocks):
        middle = _LEFT + (place + 0.5) * _SPAN / blocks - 1.5
        drawing.text((middle, top), str(place), align="middle")
    drawing.text((6, top + 25), "block tables at the end", bold=True)
    for number, table in enumerate(tables):
        words = f"{_NAMES[number]}: {' '.join(map(str, table))}"
        drawing.box((6 + 116 * number, top + 36), 14, 14, fill=COLOURS[number] + TINT)
        drawing.text((26 + 116 * number, top + 43), words)


def _deal(lengths: Sequence[int], block: int, blocks: int) -> list[list[int]]:
    """Block tables as they arise when sequences grow by turns, a block whenever one is full."""
    tables: list[list[int]] = [[] for _ in lengths]
    free = iter(range(blocks))
    for token in range(max(lengths)):
        for table, length in zip(tables, lengths, strict=True):
            if token < length and token % block == 0:
                table.append(next(free))
    return tables


def _pieces(drawing: Sketch, top: float, lengths: Sequence[int], piece: int) -> None:
    """Memory as one piece for each sequence, filled as far as it got."""
    slot = _SPAN / (piece * len(lengths))
    for number, length in enumerate(lengths):
        left = _LEFT + number * piece * slot
        _slots(drawing, (left, top), (slot, 18), piece, length, number)
        drawing.box((left, top), piece * slot, 18, line=1.4)
        drawing.text((left + length * slot / 2, top + 6), _NAMES[number], align="middle")


def _slots(
    drawing: Sketch, corner: Point, slot: Point, many: int, filled: int, number: int
) -> None:
    """Slots side by side, some of them filled, with a scale at their foot that leaves room for a
    name above it."""
    (left, top), (wide, high) = corner, slot
    drawing.fill(corner, [(0, place) for place in range(filled)], slot, COLOURS[number] + TINT)
    drawing.cells((left, top + high - 5), 1, many, (wide, 5), line=0.4)


def _pages(drawing: Sketch, top: float, lengths: Sequence[int], block: int, blocks: int) -> None:
    """Memory as blocks, each filled as far as its owner got."""
    wide = _SPAN / blocks
    slot = (wide - 3) / block
    drawing.cells((_LEFT, top), 1, blocks, (wide, 20))
    for number, table in enumerate(_deal(lengths, block, blocks)):
        for order, place in enumerate(table):
            left = _LEFT + place * wide + 1.5
            held = min(block, lengths[number] - order * block)
            _slots(drawing, (left, top + 1.5), (slot, 17), block, held, number)
            # in the larger part, the filled or the empty one, and not across its edge
            middle = held / 2 if 2 * held >= block else (held + block) / 2
            drawing.text((left + middle * slot, top + 7), _NAMES[number], align="middle")


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
    found = {}
    for batch in batches:
        plain = _step(model, device, batch, cached)
        drafting = _step(draft, device, batch, cached)
        checking = [_step(model, device, batch, cached, int(g) + 1) for g in guesses]
        found[f"batch {batch}"] = expected * plain / (np.array(checking) + guesses * drafting)
    title = "Guessing far ahead pays for few users and loses for many"
    told = "; ".join(
        f"{batch} best {line.max():.2f} with {int(np.argmax(line))} guessed, "
        f"{line[-1]:.2f} with {most}"
        for batch, line in found.items()
    )
    alt = f"Speed-up against tokens guessed for each step on {device.name}: {told}."
    with canvas(title, alt) as drawing:
        lines(drawing.axes, guesses, found, "", marks=MARKS)
        mark(drawing.axes, y=1)
        drawing.axes.set(xlabel="draft tokens", ylabel="speed-up")
    return drawing.result
