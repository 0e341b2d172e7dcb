"""The figures of chapter 3: a block's matrices, where parameters and FLOPs are, and three rules.

Everything drawn is counted by the library when you call the function. Hatches, dashes and markers
say what colours say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import cos, radians, sin
from typing import Any

import numpy as np

from costfigures.canvas import ARRAYS, COLOURS, INK, Canvas, Figure, canvas
from costfigures.chart import (
    MARKS,
    bar_chart,
    legend,
    line_chart,
    lines,
    mark,
    note,
    percent,
    ticks,
)
from costfigures.sketch import TINT, WIDTH, Point, Sketch, sketch
from costlib.model.catalog import models
from costlib.model.transformer import MoE, Transformer, experts_bound, experts_expected
from costlib.units.display import quantity
from costlib.units.ledger import Ledger

#: Colour and hatch of each part, the same in every figure.
_LOOKS = {
    "feed-forward": (COLOURS[0], ""),
    "q, k, v, o": (COLOURS[1], "//"),
    "scores, values": (COLOURS[2], "--"),
    "unembedding": (COLOURS[3], "xx"),
    "embeddings": (COLOURS[3], "xx"),
    "the rest": (COLOURS[4], "\\\\"),
}

#: Which ops belong to which part of a model; what no part claims is in the last one.
_PARTS: Mapping[str, Callable[[str], bool]] = {
    "feed-forward": lambda name: name.split(".")[0] in ("ffn", "experts", "shared", "router"),
    "q, k, v, o": lambda name: name in ("q_proj", "k_proj", "v_proj", "o_proj"),
    "scores, values": lambda name: name in ("scores", "values"),
    "unembedding": lambda name: name == "unembedding",
}


def block_matrices(names: Sequence[str] = ("llama-2-7b", "llama-3.1-8b")) -> Figure:
    """The weight matrices of one block, drawn to scale, a row for each model."""
    title = "A gated block is seven matrices, and three of them hold most of it"
    shapes = {name: _shapes(models[name]) for name in names}
    told = "; ".join(
        f"{name}: "
        + ", ".join(f"{matrix} {rows}×{columns}" for matrix, (rows, columns) in each.items())
        + f", of which the last three hold {_last_three(each):.0%}"
        for name, each in shapes.items()
    )
    longest = max(
        sum(columns / rows for rows, columns in each.values()) for each in shapes.values()
    )
    side = (WIDTH - 4 - 6 * _APART) / longest
    with sketch(title, f"Rectangles to scale. {told}.", height=76 * len(shapes)) as drawing:
        for row, (name, each) in enumerate(shapes.items()):
            words = f"{name}: {_last_three(each):.0%} feed-forward"
            drawing.text((2, 76 * row + 12), words)
            _draw_matrices(drawing, 76 * row + 24, each, side)
    return drawing.result


_APART = 6.0


def _shapes(model: Transformer) -> dict[str, tuple[Any, Any]]:
    """Rows and columns of each matrix, the model's width as rows."""
    d, kv = model.d_model, model.kv_heads * model.head_dim
    widths = {"q": model.heads * model.head_dim, "k": kv, "v": kv, "o": d}
    widths |= dict.fromkeys(("gate", "up", "down"), model.d_ff)
    return {name: (d, width) for name, width in widths.items()}


def _last_three(shapes: Mapping[str, tuple[int, int]]) -> float:
    areas = [rows * columns for rows, columns in shapes.values()]
    return sum(areas[4:]) / sum(areas)


def _draw_matrices(
    drawing: Sketch, top: float, shapes: Mapping[str, tuple[int, int]], side: float
) -> None:
    """Draw them side by side, the height of each the model's width."""
    left = 2.0
    for name, (rows, columns) in shapes.items():
        width = side * columns / rows
        colour, hatch = _LOOKS["q, k, v, o" if len(name) == 1 else "feed-forward"]
        drawing.box((left, top), width, side, fill=colour + "88", hatch=hatch)
        drawing.text((left + width / 2, top + side + 10), name, align="middle")
        left += width + _APART


#: The rows of one block: what a reader calls them, their ops, the part they belong to, and how
#: wide the wire below is.
_BLOCK: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("norm", ("norms",), "the rest", "width"),
    ("q, k, v", ("q_proj", "k_proj", "v_proj"), "q, k, v, o", "qkv"),
    ("rotary", ("rotary",), "the rest", "qkv"),
    ("scores", ("scores",), "scores, values", "scores"),
    ("softmax", ("softmax",), "the rest", "scores"),
    ("values", ("values",), "scores, values", "heads"),
    ("o", ("o_proj",), "q, k, v, o", "width"),
    ("add", ("residual",), "the rest", ""),
    ("norm", ("norms",), "the rest", "width"),
    ("gate, up", ("ffn.gate", "ffn.up"), "feed-forward", "both"),
    ("activation", ("ffn.activation",), "the rest", "wide"),
    ("down", ("ffn.down",), "feed-forward", "width"),
    ("add", ("residual",), "the rest", ""),
)
#: The rows of the whole model.
_CARD = (
    ("embedding", ("embedding",), "unembedding", ""),
    *_BLOCK,
    ("norm", ("final_norm",), "the rest", "width"),
    ("unembedding", ("unembedding",), "unembedding", ""),
)
_IN_BLOCK = range(1, 1 + len(_BLOCK))


def whole_model() -> Figure:
    """Every step of a gated decoder in order: its weights, and its FLOPs for one token."""
    rows = [
        (name, *_card_row(names, row), look) for row, (name, names, look, _) in enumerate(_CARD)
    ]
    title = "A whole model: what is stored, and what a token costs"
    told = "; ".join(f"{name}: {weights}, {flops}" for name, weights, flops, _ in rows)
    alt = (
        "A column of steps from the embedding down to the unembedding, those of a block in a frame "
        "that says times L. A line at the left, the residual stream, forks at each norm and is "
        f"joined again at each add. Beside each step its weights and its FLOPs per token. {told}."
    )
    with sketch(title, alt, height=24 * len(rows) + 22) as drawing:
        for x, text in ((54, "step"), (150, "weights"), (246, "FLOPs per token")):
            drawing.text((x, 8), text, bold=True)
        for row, (name, weights, flops, look) in enumerate(rows):
            (colour, hatch), y = _LOOKS[look], 32.0 + 24 * row
            fill, hatch = ("none", "") if look == "the rest" else (colour + "88", hatch)
            drawing.box((36, y - 8), 10, 16, fill=fill, hatch=hatch, line=0.8)
            for x, text in ((54, name), (150, weights), (246, flops)):
                drawing.text((x, y), text)
            _branch(drawing, y, name, (8, 36), 1.2)
        drawing.line((8, 32), (8, 32 + 24 * (_IN_BLOCK.stop)), width=1.6)
        for row in (row for row, (*_, wire) in enumerate(_CARD) if wire):
            drawing.line((41, 40 + 24 * row), (41, 48 + 24 * row))
        top, high = 20 + 24 * _IN_BLOCK.start, 24 * len(_IN_BLOCK)
        drawing.box((25, top), 333, high, dashed=True)
        drawing.text((352, top + high - 10), "× L", align="right", bold=True)
    return drawing.result


def _card_row(names: Sequence[str], row: int) -> tuple[str, str]:
    """Weights and FLOPs per token of a row, of one layer where it is inside the block."""
    from costlib.units.numbers import symbols

    T, L, D, H, K, h, F, V = symbols("T L D H K h F V")
    sizes = {"layers": L, "d_model": D, "heads": H, "kv_heads": K, "head_dim": h, "d_ff": F}
    model = Transformer(vocab=V, **sizes)
    work = model.decode(1, T - 1)  # T keys, the token's own among them
    twice = 2 if names[0] in ("norms", "residual") else 1
    times = L * twice if row in _IN_BLOCK else 1
    weights = sum(s.weights + s.table for s in model.steps() if s.name in names) / times
    return _formula(weights), _formula(work.only(*names).flops / times)


def _formula(expression: Any) -> str:
    """A formula as text that fits in a line, its letters in the order of the notation page."""
    from sympy import factor

    text = str(factor(expression)).replace("**2", "²").replace("*", "·")
    return "–" if text == "0" else text


_PITCH = 27  # from one op of a block to the next


def block_wires(model: Transformer, keys: int) -> Figure:
    """One block for one token: every op with what it reads and does, every wire as wide as it is.

    ``keys`` is how many keys the token sees, its own among them.
    """
    wires = {
        "width": model.d_model,
        "heads": model.heads * model.head_dim,
        "qkv": (model.heads + 2 * model.kv_heads) * model.head_dim,
        "scores": model.heads * keys,
        "wide": model.d_ff,
        "both": 2 * model.d_ff,
        "": 0,
    }
    costs = _costs_of_a_block(model, keys)
    title = f"A token is {wires['width']:,} numbers wide between its ops, and up to "
    title += f"{max(wires.values()):,} within"
    told = "; ".join(
        f"{name} reads {read:,} and does {flops:,} FLOPs"
        + (f", and passes on {wires[wire]:,} numbers" if wire else "")
        for (name, _, _, wire), (read, flops) in zip(_BLOCK, costs, strict=True)
    )
    alt = (
        f"One block from top to bottom for one token that sees {keys:,} keys: a box for each op, "
        "between them lines as broad as the vector they carry, at the left the residual stream, "
        "which each norm copies and each add joins. Beside each box the weights or cached numbers "
        f"that it reads, and its FLOPs as a bar. {told}."
    )
    with sketch(title, alt, height=_PITCH * len(_BLOCK) + 34) as drawing:
        for x, words, align in ((104, "op", "middle"), (216, "reads", "right")):
            drawing.text((x, 12), words, align=align, bold=True)
        drawing.text((288, 12), "FLOPs", align="right", bold=True)
        for row, ((name, _, part, wire), cost) in enumerate(zip(_BLOCK, costs, strict=True)):
            top = 28.0 + _PITCH * row
            _op(drawing, top, name, part, cost, max(flops for _, flops in costs))
            _wire(drawing, top + 16, wires[wire], max(wires.values()))
            _branch(drawing, top + 8, name, (14, 68), 1.6)
        _stream(drawing, model.d_model, max(wires.values()))
    return drawing.result


def _stream(drawing: Sketch, numbers: Any, most: Any) -> None:
    """The residual stream at the left, as broad as a wire of ``numbers`` numbers."""
    ends = (14, 22), (14, 30 + _PITCH * len(_BLOCK))
    drawing.line(*ends, width=84 * numbers / most)
    words, middle = f"residual stream: {numbers:,}", 28 + _PITCH * 4
    drawing.text((33, middle), words, align="middle", upright=True)


def _costs_of_a_block(model: Transformer, keys: int) -> list[tuple[int, int]]:
    """What each op of one block reads for a token, weights or cached numbers, and its FLOPs."""
    work = model.decode(1, keys - 1, scores="on-chip")
    costs = []
    for _, names, _, _ in _BLOCK:
        ops = [op for op in work if op.name in names]
        times = model.layers * (2 if names[0] in ("norms", "residual") else 1)
        read = sum(op.elements_read.weights + op.elements_read.kv for op in ops)
        costs.append((int(read) // times, int(sum(op.flops for op in ops)) // times))
    around = work.only("final_norm", "unembedding").flops
    if model.layers * sum(flops for _, flops in costs) != work.flops - around:
        raise ValueError("model must be of equal blocks with a gated feed-forward layer each")
    return costs


def _op(
    drawing: Sketch, top: float, name: str, part: str, costs: tuple[int, int], most: int
) -> None:
    """A box with its op's name; what it reads, its FLOPs, and a bar of them."""
    (read, flops), (colour, _) = costs, _LOOKS[part]
    plain = part == "the rest"
    fill = "none" if plain else colour + TINT
    drawing.box((68, top), 72, 16, name, fill=fill)
    for x, number in ((216, read), (288, flops)):
        words = quantity(number, "", 3).strip() if number else "–"
        drawing.text((x, top + 8), words, align="right")
    shade = COLOURS[4] if plain else colour
    drawing.box((296, top + 2), max(1.0, 60 * flops / most), 13, fill=shade, edge=shade, line=0)


def _wire(drawing: Sketch, top: float, numbers: int, most: int) -> None:
    """The wire below a box, its breadth to scale, with how many numbers it carries."""
    if numbers:
        breadth = 84 * numbers / most
        drawing.fill((104 - breadth / 2, top), [(0, 0)], (breadth, _PITCH - 16), COLOURS[4] + "66")
        drawing.text((150, top + 5.5), f"{numbers:,}")


def _branch(drawing: Sketch, y: float, name: str, ends: Point, width: float) -> None:
    """Norms take a copy of the residual stream at the left, adds give their result to it."""
    stream, box = (ends[0], y), (ends[1], y)
    if name == "norm":
        drawing.arrow(stream, box, width=width)
    elif name in ("add", "embedding"):
        drawing.arrow(box, (stream[0] + 2 * (width > 1.5), y), width=width)


def turned_pair(
    degrees: int = 20, positions: Sequence[tuple[int, int]] = ((3, 1), (7, 5))
) -> Figure:
    """A pair of entries of a query and of a key, rotated by their positions, as arrows."""
    title = "Positions at the same distance leave the same angle between query and key"
    told = "; ".join(
        f"query at {query} turned by {degrees * query}° and key at {key} by {degrees * key}°, "
        f"which is {degrees * (query - key)}° between them"
        for query, key in positions
    )
    alt = f"Two arrows that pointed the same way, rotated {degrees}° a position. {told}."
    with sketch(title, alt, height=106) as drawing:
        for middle, (query, key) in zip(((42, 88), (282, 88)), positions, strict=True):
            drawing.line(middle, _turned(middle, 72, 0), dashed=True)
            drawing.text((middle[0] + 36, middle[1] + 10), "not rotated", align="middle")
            arc = [_turned(middle, 34, degrees * n / 8) for n in range(8 * key, 8 * query + 1)]
            drawing.line(*arc)
            apart = _turned(middle, 49, degrees * (query + key) / 2)
            drawing.text(apart, f"{degrees * (query - key)}°", align="middle")
            for name, at in (("query", query), ("key", key)):
                colour, end = ARRAYS[name[0].upper()], _turned(middle, 72, degrees * at)
                drawing.arrow(middle, end, colour=colour, width=1.8)
                side, shift = ("left", 5) if degrees * at < 90 else ("right", -5)
                words = f"{name} at {at}: {degrees * at}°"
                drawing.text((end[0] + shift, end[1]), words, align=side)
    return drawing.result


def _turned(middle: Point, length: float, degrees: float) -> Point:
    """Where an arrow ends that points to the right before it is turned to the left."""
    angle = radians(degrees)
    return middle[0] + length * cos(angle), middle[1] - length * sin(angle)


def block_weights(names: Sequence[str]) -> Figure:
    """Weights of one block in units of D², attention's and the feed-forward layer's."""
    parts: dict[str, list[float]] = {"q, k, v, o": [], "feed-forward": []}
    for name in names:
        model = models[name]
        for part, values in parts.items():
            steps = [step for step in model.steps() if _PARTS[part](step.name) and step.is_matmul]
            active = model.moe.per_token if model.moe else 1
            count = sum(step.weights * (active if step.is_expert else 1) for step in steps)
            values.append(count / model.layers / model.d_model**2)
    totals = [sum(each) for each in zip(*parts.values(), strict=True)]
    title = f"Weights of a block, from {min(totals):.1f}·D² to {max(totals):.1f}·D²"
    what = "Stacked bars in units of D², with a line at 12"
    with _bars(title, what, names, parts, ".2f") as drawing:
        axes = drawing.axes
        for row, total in enumerate(totals):
            note(axes, (max(total, 12), row), f"{total:.1f}", (4, 0))
        axes.axvline(12, color=INK, linewidth=1.2, linestyle="--")
        axes.set(xlabel="weights of a block / D²", xlim=(0, 1.12 * max(totals)))
    return drawing.result


def parameter_shares(names: Sequence[str]) -> Figure:
    """Where the stored parameters of models are: embeddings, attention, feed-forward layers."""
    parts: dict[str, list[float]] = {"embeddings": [], "q, k, v, o": [], "feed-forward": []}
    for name in names:
        model = models[name]
        total = model.params()
        tables = model.vocab * (1 if model.tied else 2) + model.positions
        parts["embeddings"].append(tables * model.d_model / total)
        experts = model.moe.experts if model.moe else 1
        for part in ("q, k, v, o", "feed-forward"):
            steps = [step for step in model.steps() if _PARTS[part](step.name)]
            count = sum(step.weights * (experts if step.is_expert else 1) for step in steps)
            parts[part].append(count / total)
    table_shares = parts["embeddings"]
    title = (
        f"Embeddings: {table_shares[0]:.0%} of {names[0]}, {table_shares[-1]:.0%} of {names[-1]}"
    )
    with _bars(title, "Stacked bars of shares of what is stored", names, parts) as drawing:
        drawing.axes.set(xlabel="share of the stored parameters")
    return drawing.result


def rule_against_context(names: Sequence[str], longest: int = 131072) -> Figure:
    """A decode step's FLOPs over 2 per parameter, against the keys; a diamond at 6·D."""
    keys = np.unique(np.geomspace(128, longest, 80).astype(int))
    found = {}
    for name in names:
        model = models[name]
        seen = keys[keys <= model.positions] if model.positions else keys
        found[name] = (seen, _over_the_rule(model, seen))
    title = "2·P per token: right at short contexts, far too low at long ones"
    what = "A step's FLOPs over 2·P by the keys it sees, log-log"
    with line_chart(title, what, None, found, height=4, at="legend") as drawing:
        axes = drawing.axes
        legend(axes)
        for number, (name, (at, _)) in enumerate(found.items()):
            if (turn := 6 * models[name].d_model) <= at[-1]:
                there = _over_the_rule(models[name], np.array([turn]))
                axes.plot([turn], there, "D", color=COLOURS[number], markersize=7)
        axes.axhline(1, color=INK, linewidth=1)
        axes.set(xlabel="keys that the token sees", ylabel="FLOPs / (2·P)", ylim=(0.8, None))
        ticks(axes.yaxis, [1, 2, 4, 6])
        ticks(axes.xaxis, [128, 1024, 8192, 65536])
    return drawing.result


def _over_the_rule(model: Transformer, keys: Any) -> Any:
    return model.decode(1, keys - 1).flops / (2 * model.active_params())


def flops_against_size(names: Sequence[str], seq: int = 1024) -> Figure:
    """Which part of a model does the FLOPs of a prefill, a bar for each model."""
    shares = [_shares(models[name].prefill(1, seq)) for name in names]
    parts = {part: [each[part] for each in shares] for part in shares[0]}
    first, last = shares[0]["feed-forward"], shares[-1]["feed-forward"]
    title = f"{names[-1]} spends {last:.0%} in feed-forward layers, {names[0]} {first:.0%}"
    what = f"Stacked bars of the FLOPs of a prefill of {seq:,} tokens"
    with _bars(title, what, names, parts) as drawing:
        drawing.axes.set(xlabel=f"share of the FLOPs, {seq:,} tokens")
    return drawing.result


def flops_against_context(name: str = "llama-3.1-8b", longest: int = 131072) -> Figure:
    """Which part of a model does the FLOPs of a prefill, against the length of the prompt."""
    lengths = np.unique(np.geomspace(512, longest, 60).astype(int))
    shares = _shares(models[name].prefill(1, lengths))
    scores = shares["scores, values"]
    half = _first_above_half(models[name], longest)
    title = f"Scores and values: {scores[0]:.0%} of the FLOPs at {lengths[0]:,} tokens, "
    title += f"{scores[-1]:.0%} at {lengths[-1]:,}"
    passed = "never pass one half" if half is None else f"pass one half at {half:,} tokens"
    alt = f"Stacked areas for {name} against the length of the prompt, logarithmic: " + ", ".join(
        f"{part} from {share[0]:.1%} to {share[-1]:.1%}" for part, share in shares.items()
    )
    with canvas(title, f"{alt}. Scores and values {passed}.") as drawing:
        axes = drawing.axes
        areas = axes.stackplot(lengths, *shares.values(), labels=list(shares))
        for area, part in zip(areas, shares, strict=True):
            colour, hatch = _LOOKS[part]
            area.set(facecolor=colour + "88", hatch=hatch, edgecolor=INK, linewidth=0.8)
        axes.set_xscale("log")
        axes.set(xlim=(lengths[0], lengths[-1]), ylim=(0, 1), xlabel="tokens of the prompt")
        percent(axes.yaxis)
        ticks(axes.xaxis, [1024, 8192, 65536])
        legend(axes)
    return drawing.result


def _first_above_half(model: Transformer, longest: int) -> int | None:
    """The shortest prompt at which scores and values take more than half of the FLOPs."""
    every = np.arange(1, longest + 1)
    above = _shares(model.prefill(1, every))["scores, values"] > 0.5
    return int(every[int(np.argmax(above))]) if above[-1] else None


def experts_touched(mixtures: Mapping[str, MoE], most: int = 512) -> Figure:
    """Experts in use against the tokens of a pass: the expectation, and the bound as dots."""
    tokens = np.unique(np.geomspace(1, most, 60).astype(int))
    found = {
        name: [f(m.experts, m.per_token, tokens) / m.experts for f in _EXPERTS]
        for name, m in mixtures.items()
    }
    every = np.arange(1, most + 1)
    reached = {
        name: int(np.argmax(experts_expected(m.experts, m.per_token, every) >= 0.95 * m.experts))
        + 1
        for name, m in mixtures.items()
    }
    title = f"{min(reached.values())} to {max(reached.values())} tokens read nearly every expert"
    told = "; ".join(
        f"{name} ({m.per_token} of {m.experts}) reads {found[name][0][0]:.1%} for one token and "
        f"passes 95% at {reached[name]} tokens"
        for name, m in mixtures.items()
    )
    alt = f"Share of the experts in use against tokens, logarithmic. {told}. Bounds lie above."
    with canvas(title, alt) as drawing:
        axes = drawing.axes
        means = {name: mean for name, (mean, _) in found.items()}
        lines(axes, tokens, means, "x", at="legend")
        for number, (_, bound) in enumerate(found.values()):
            axes.plot(tokens[::4], bound[::4], ".", color=COLOURS[number], markersize=7)
        axes.plot([], [], ".", color=COLOURS[4], markersize=7, label="at most")
        legend(axes, 2)
        axes.set(xlabel="tokens in the pass", ylabel="experts in use", ylim=(0, 1.05))
        percent(axes.yaxis)
        ticks(axes.xaxis, [1, 8, 64, 512])
    return drawing.result


_EXPERTS = (experts_expected, experts_bound)


def training_rule(name: str = "llama-2-7b", longest: int = 65536) -> Figure:
    """FLOPs of training per parameter and token against the sequence, with recomputation."""
    model, lengths = models[name], 2 ** np.arange(9, int(longest).bit_length())
    tokens = model.active_params() * lengths
    found = {
        str(kind).replace("None", "no recomputation"): (
            model.training_step(1, lengths, recompute=kind, scores="materialised").flops / tokens
        )
        for kind in (None, "selective", "full")
    }
    ends = [line[0] for line in found.values()]
    title = f"Training takes {ends[0]:.2f} FLOPs per parameter and token at {lengths[0]:,} tokens"
    title += f", {ends[2]:.2f} if each layer is computed again"
    what = f"FLOPs per parameter and token of {name} by sequence length"
    with line_chart(title, what, lengths, found, "x", marks=MARKS) as drawing:
        axes = drawing.axes
        mark(axes, y=6)
        axes.set(xlabel="tokens of a sequence", ylabel="FLOPs / (P · tokens)", ylim=(5, None))
        ticks(axes.xaxis, [512, 4096, 32768])
    return drawing.result


def _shares(ledger: Ledger) -> dict[str, Any]:
    """Each part's share of a ledger's FLOPs, in the order of the parts; the rest comes last."""
    named = {
        part: sum(op.flops for op in ledger if op.is_matmul and belongs(op.name)) / ledger.flops
        for part, belongs in _PARTS.items()
    }
    return {**named, "the rest": 1 - sum(named.values())}


@contextmanager
def _bars(
    title: str, what: str, names: Sequence[str], parts: Mapping[str, Any], form: str = ".1%"
) -> Iterator[Canvas]:
    """Stacked bars in the looks of the parts, of shares unless ``form`` says otherwise."""
    looks = [_LOOKS[part] for part in parts]
    with bar_chart(title, what, names, parts, form, sums="", looks=looks) as drawing:
        if "%" in form:
            drawing.axes.set_xlim(0, 1)
            percent(drawing.axes.xaxis)
        yield drawing
