"""The figures of chapter 3: a block's matrices, where parameters and FLOPs are, and three rules.

Everything drawn is counted by the library when you call the function. Hatches, dashes and markers
say what colours say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import cos, radians, sin
from typing import Any

import numpy as np

from costfigures.canvas import ARRAYS, COLOURS, INK, Figure, canvas
from costfigures.sketch import SMALL, TINT, Point, Sketch, sketch
from costlib.model.catalog import models
from costlib.model.transformer import MoE, Transformer, experts_bound, experts_expected
from costlib.units.display import quantity
from costlib.units.ledger import Ledger

__all__ = [
    "block_matrices",
    "block_weights",
    "block_wires",
    "experts_touched",
    "flops_against_context",
    "flops_against_size",
    "parameter_shares",
    "rule_against_context",
    "training_rule",
    "turned_pair",
    "whole_model",
]

#: Narrow enough that no text is scaled below 10 px on a page 375 px wide.
WIDTH = 5.0

_SMALL = 10.5
#: Colour and hatch of each part, the same in every figure.
_LOOKS = {
    "feed-forward": (COLOURS[0], ""),
    "q, k, v, o": (COLOURS[1], "//"),
    "scores, values": (COLOURS[2], ".."),
    "unembedding": (COLOURS[3], "xx"),
    "embeddings": (COLOURS[3], "xx"),
    "the rest": (COLOURS[4], "\\\\"),
}
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
_MARKERS = "os^Dv"
_ROW = 2.4  # from one row of matrices to the next, in units of their height

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
    with canvas(title, f"Rectangles to scale. {told}.", width=WIDTH, height=2.3) as drawing:
        axes, left = drawing.axes, 0.0
        for row, (name, each) in enumerate(shapes.items()):
            top = -row * _ROW
            axes.text(0, top + 0.2, f"{name}: {_last_three(each):.0%} feed-forward", fontsize=11)
            right = _draw_matrices(axes, top, each)
            left = max(left, right)
        axes.set(aspect="equal", xlim=(-0.05, left), ylim=(-_ROW * len(shapes) + 0.5, 0.85))
        axes.axis("off")
    return drawing.result


def _shapes(model: Transformer) -> dict[str, tuple[Any, Any]]:
    """Rows and columns of each matrix, the model's width as rows."""
    d, kv = model.d_model, model.kv_heads * model.head_dim
    widths = {"q": model.heads * model.head_dim, "k": kv, "v": kv, "o": d}
    widths |= dict.fromkeys(("gate", "up", "down"), model.d_ff)
    return {name: (d, width) for name, width in widths.items()}


def _last_three(shapes: Mapping[str, tuple[int, int]]) -> float:
    areas = [rows * columns for rows, columns in shapes.values()]
    return sum(areas[4:]) / sum(areas)


def _draw_matrices(axes: Any, top: float, shapes: Mapping[str, tuple[int, int]]) -> float:
    """Draw them side by side, the height of each the model's width; where they end."""
    from matplotlib.patches import Rectangle

    left = 0.0
    for name, (rows, columns) in shapes.items():
        width, is_attention = columns / rows, len(name) == 1
        colour, hatch = _LOOKS["q, k, v, o" if is_attention else "feed-forward"]
        box = Rectangle(
            (left, top - 1), width, 1, facecolor=colour + "88", edgecolor=INK, hatch=hatch
        )
        axes.add_patch(box)
        axes.text(left + width / 2, top - 1.08, name, ha="center", va="top", fontsize=_SMALL)
        left += width + 0.16
    return left


#: The rows of the whole model: what a reader calls them, their steps, which part they belong to.
_CARD: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("embedding", ("embedding",), "unembedding"),
    ("norm", ("norms",), "the rest"),
    ("q, k, v", ("q_proj", "k_proj", "v_proj"), "q, k, v, o"),
    ("rotary", ("rotary",), "the rest"),
    ("scores", ("scores",), "scores, values"),
    ("softmax", ("softmax",), "the rest"),
    ("values", ("values",), "scores, values"),
    ("o", ("o_proj",), "q, k, v, o"),
    ("add", ("residual",), "the rest"),
    ("norm", ("norms",), "the rest"),
    ("gate, up, down", ("ffn.gate", "ffn.up", "ffn.down"), "feed-forward"),
    ("activation", ("ffn.activation",), "the rest"),
    ("add", ("residual",), "the rest"),
    ("norm", ("final_norm",), "the rest"),
    ("unembedding", ("unembedding",), "unembedding"),
)
_IN_BLOCK = range(1, 13)
_BRANCHES = (range(1, 9), range(9, 13), range(13, 15))  # from a norm to what it leads to


def whole_model() -> Figure:
    """Every step of a gated decoder in order: its weights, and its FLOPs for one token."""
    rows = [(name, *_card_row(names, row), look) for row, (name, names, look) in enumerate(_CARD)]
    title = "A whole model: what is stored, and what a token costs"
    told = "; ".join(f"{name}: {weights}, {flops}" for name, weights, flops, _ in rows)
    alt = (
        "A column of steps from the embedding down to the unembedding, those of a block in a frame "
        "that says times L. A line at the left, the residual stream, forks at each norm and is "
        f"joined again at each add. Beside each step its weights and its FLOPs per token. {told}."
    )
    with canvas(title, alt, width=WIDTH, height=5.2) as drawing:
        axes = drawing.axes
        for x, text in ((0.95, "step"), (3.0, "weights"), (5.2, "FLOPs per token")):
            axes.text(x, 1, text, fontsize=11, fontweight="bold", va="center")
        for row, each in enumerate(rows):
            _draw_step(axes, -row, *each)
        _draw_stream(axes, rows)
        axes.set(xlim=(-0.1, 7.6), ylim=(-len(rows) + 0.3, 1.5))
        axes.axis("off")
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


def _draw_step(axes: Any, y: int, name: str, weights: str, flops: str, look: str) -> None:
    from matplotlib.patches import Rectangle

    colour, hatch = _LOOKS[look]
    faded = look == "the rest"
    axes.add_patch(
        Rectangle(
            (0.6, y - 0.33),
            0.2,
            0.66,
            facecolor="none" if faded else colour + "88",
            edgecolor=INK,
            linewidth=0.8,
            hatch="" if faded else hatch,
        )
    )
    for x, text in ((0.95, name), (3.0, weights), (5.2, flops)):
        axes.text(x, y, text, fontsize=_SMALL, va="center")


def _draw_stream(axes: Any, rows: Sequence[tuple[str, str, str, str]]) -> None:
    """The residual stream with its branches, and a frame around what is there L times."""
    from matplotlib.patches import Rectangle

    axes.plot([0.15, 0.15], [0, -_BRANCHES[-1].start], color=INK, linewidth=1.6)
    for row, (name, *_) in enumerate(rows):
        if end := {"norm": "->", "add": "<-", "embedding": "<-"}.get(name):
            arrow = {"arrowstyle": end, "color": INK, "linewidth": 1.2}
            axes.annotate("", (0.6, -row), (0.15, -row), arrowprops=arrow)
    for row in (row for branch in _BRANCHES for row in branch[:-1]):
        axes.plot([0.7, 0.7], [-row - 0.33, -row - 0.67], color=INK, linewidth=1.2)
    top, bottom = 0.5 - _IN_BLOCK.start, 0.5 - _IN_BLOCK.stop
    frame = Rectangle(
        (0.38, bottom), 7.1, top - bottom, facecolor="none", edgecolor=INK, linestyle="--"
    )
    axes.add_patch(frame)
    axes.text(7.4, bottom + 0.12, "× L", fontsize=12, ha="right", va="bottom", fontweight="bold")


#: The rows of one block: what a box says, its ops, the part it belongs to; how the wire below it
#: is told, and how wide it is.
_WIRED: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
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
        for (name, _, _, wire), (read, flops) in zip(_WIRED, costs, strict=True)
    )
    alt = (
        f"One block from top to bottom for one token that sees {keys:,} keys: a box for each op, "
        "between them lines as broad as the vector they carry, at the left the residual stream, "
        "which each norm copies and each add joins. Beside each box the weights or cached numbers "
        f"that it reads, and its FLOPs as a bar. {told}."
    )
    with sketch(title, alt, height=_PITCH * len(_WIRED) + 34) as drawing:
        for x, words, align in ((104, "op", "middle"), (216, "reads", "right")):
            drawing.text((x, 12), words, align=align, bold=True)
        drawing.text((288, 12), "FLOPs", align="right", bold=True)
        for row, ((name, _, part, wire), cost) in enumerate(zip(_WIRED, costs, strict=True)):
            top = 28.0 + _PITCH * row
            _op(drawing, top, name, part, cost, max(flops for _, flops in costs))
            _wire(drawing, top + 16, wires[wire], max(wires.values()))
            _branch(drawing, top, name)
        _stream(drawing, model.d_model, max(wires.values()))
    return drawing.result


def _stream(drawing: Sketch, numbers: Any, most: Any) -> None:
    """The residual stream at the left, as broad as a wire of ``numbers`` numbers."""
    ends = (14, 22), (14, 30 + _PITCH * len(_WIRED))
    drawing.line(*ends, width=84 * numbers / most)
    words, middle = f"residual stream: {numbers:,}", 28 + _PITCH * 4
    drawing.text((33, middle), words, align="middle", upright=True)


def _costs_of_a_block(model: Transformer, keys: int) -> list[tuple[int, int]]:
    """What each op of one block reads for a token, weights or cached numbers, and its FLOPs."""
    work = model.decode(1, keys - 1, scores="on-chip")
    costs = []
    for _, names, _, _ in _WIRED:
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
    drawing.box((68, top), 72, 16, name, fill=fill, size=_SMALL)
    for x, number in ((216, read), (288, flops)):
        words = quantity(number, "", 3).strip() if number else "–"
        drawing.text((x, top + 8), words, align="right", size=_SMALL)
    shade = COLOURS[4] if plain else colour
    drawing.box((296, top + 2), max(1.0, 60 * flops / most), 13, fill=shade, edge=shade, line=0)


def _wire(drawing: Sketch, top: float, numbers: int, most: int) -> None:
    """The wire below a box, its breadth to scale, with how many numbers it carries."""
    if numbers:
        breadth = 84 * numbers / most
        drawing.fill((104 - breadth / 2, top), [(0, 0)], (breadth, _PITCH - 16), COLOURS[4] + "66")
        drawing.text((150, top + 5.5), f"{numbers:,}", size=SMALL)


def _branch(drawing: Sketch, top: float, name: str) -> None:
    """Norms take a copy of the residual stream, adds give their result to it."""
    if name == "norm":
        drawing.arrow((14, top + 8), (67, top + 8), width=1.6)
    elif name == "add":
        drawing.arrow((68, top + 8), (17, top + 8), width=1.6)


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
            drawing.text(
                (middle[0] + 36, middle[1] + 10), "not rotated", align="middle", size=SMALL
            )
            arc = [_turned(middle, 34, degrees * n / 8) for n in range(8 * key, 8 * query + 1)]
            drawing.line(*arc)
            apart = _turned(middle, 49, degrees * (query + key) / 2)
            drawing.text(apart, f"{degrees * (query - key)}°", align="middle", size=SMALL)
            for name, at in (("query", query), ("key", key)):
                colour, end = ARRAYS[name[0].upper()], _turned(middle, 72, degrees * at)
                drawing.arrow(middle, end, colour=colour, width=1.8)
                side, shift = ("left", 5) if degrees * at < 90 else ("right", -5)
                words = f"{name} at {at}: {degrees * at}°"
                drawing.text((end[0] + shift, end[1]), words, align=side, size=SMALL)
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
    told = "; ".join(
        f"{name} {attention:.2f} and {rest:.2f}, together {attention + rest:.2f}"
        for name, attention, rest in zip(names, *parts.values(), strict=True)
    )
    alt = f"Stacked bars in units of D², attention and feed-forward layer: {told}. A line is at 12."
    with canvas(title, alt, width=WIDTH, height=0.36 * len(names) + 1.3) as drawing:
        axes = drawing.axes
        _bars(axes, names, parts)
        for row, total in enumerate(totals):
            axes.text(max(total, 12) + 0.3, row, f"{total:.1f}", va="center", fontsize=_SMALL)
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
    told = "; ".join(
        f"{name} {table:.1%}, {attention:.1%} and {rest:.1%}"
        for name, table, attention, rest in zip(names, *parts.values(), strict=True)
    )
    alt = f"Stacked bars of embedding tables, attention and feed-forward layers: {told}."
    with canvas(title, alt, width=WIDTH, height=0.36 * len(names) + 1.3) as drawing:
        _bars(drawing.axes, names, parts)
        drawing.axes.set(xlabel="share of the stored parameters", xlim=(0, 1))
        drawing.axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return drawing.result


def rule_against_context(names: Sequence[str], longest: int = 131072) -> Figure:
    """A decode step's FLOPs over 2 per parameter, against the keys; a diamond at 6·D."""
    keys = np.unique(np.geomspace(128, longest, 80).astype(int))
    lines = {}
    for name in names:
        model = models[name]
        seen = keys[keys <= model.positions] if model.positions else keys
        lines[name] = (seen, _over_the_rule(model, seen))
    told = "; ".join(
        f"{name} {ratio[0]:.2f} at {at[0]:,} and {ratio[-1]:.2f} at {at[-1]:,}"
        for name, (at, ratio) in lines.items()
    )
    title = "2·P per token: right at short contexts, far too low at long ones"
    alt = f"A step's FLOPs over 2·P against the keys it sees, log-log. {told}."
    with canvas(title, alt, width=WIDTH, height=3.8) as drawing:
        axes = drawing.axes
        for number, (name, (at, ratio)) in enumerate(lines.items()):
            colour = COLOURS[number]
            axes.loglog(at, ratio, color=colour, linestyle=_DASHES[number], label=name)
            if (turn := 6 * models[name].d_model) <= at[-1]:
                there = _over_the_rule(models[name], np.array([turn]))
                axes.plot([turn], there, "D", color=colour, markersize=7)
        axes.plot([], [], "D", color=COLOURS[4], markersize=7, label="at 6·D keys")
        axes.axhline(1, color=INK, linewidth=1)
        top = 1.25 * max(ratio[-1] for _, ratio in lines.values())
        axes.set(xlabel="keys that the token sees", ylabel="FLOPs / (2·P)", ylim=(0.8, top))
        axes.set_yticks([1, 2, 4, 6], ["1", "2", "4", "6"])
        axes.minorticks_off()
        axes.set_xticks([128, 1024, 8192, 65536], ["128", "1,024", "8,192", "65,536"])
        axes.legend(fontsize=_SMALL, loc="upper left")
    return drawing.result


def _over_the_rule(model: Transformer, keys: Any) -> Any:
    return model.decode(1, keys - 1).flops / (2 * model.active_params())


def flops_against_size(names: Sequence[str], seq: int = 1024) -> Figure:
    """Which part of a model does the FLOPs of a prefill, a bar for each model."""
    shares = [_shares(models[name].prefill(1, seq)) for name in names]
    parts = {part: [each[part] for each in shares] for part in shares[0]}
    first, last = shares[0]["feed-forward"], shares[-1]["feed-forward"]
    title = f"{names[-1]} spends {last:.0%} in feed-forward layers, {names[0]} {first:.0%}"
    alt = f"Stacked bars of the FLOPs of a prefill of {seq:,} tokens. " + "; ".join(
        f"{name}: " + ", ".join(f"{part} {share:.1%}" for part, share in each.items())
        for name, each in zip(names, shares, strict=True)
    )
    with canvas(title, f"{alt}.", width=WIDTH, height=0.36 * len(names) + 1.6) as drawing:
        _bars(drawing.axes, names, parts)
        drawing.axes.set(xlabel=f"share of the FLOPs, {seq:,} tokens", xlim=(0, 1))
        drawing.axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
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
    with canvas(title, f"{alt}. Scores and values {passed}.", width=WIDTH, height=3.6) as drawing:
        axes = drawing.axes
        areas = axes.stackplot(lengths, *shares.values(), labels=list(shares))
        for area, part in zip(areas, shares, strict=True):
            colour, hatch = _LOOKS[part]
            area.set(facecolor=colour + "88", hatch=hatch, edgecolor=INK, linewidth=0.8)
        axes.set_xscale("log")
        axes.set(xlim=(lengths[0], lengths[-1]), ylim=(0, 1), xlabel="tokens of the prompt")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xticks([1024, 8192, 65536], ["1,024", "8,192", "65,536"])
        _legend_above(axes, 3)
    return drawing.result


def _first_above_half(model: Transformer, longest: int) -> int | None:
    """The shortest prompt at which scores and values take more than half of the FLOPs."""
    every = np.arange(1, longest + 1)
    above = _shares(model.prefill(1, every))["scores, values"] > 0.5
    return int(every[int(np.argmax(above))]) if above[-1] else None


def experts_touched(mixtures: Mapping[str, MoE], most: int = 512) -> Figure:
    """Experts in use against the tokens of a pass: the expectation, and the bound as dots."""
    tokens = np.unique(np.geomspace(1, most, 60).astype(int))
    lines = {
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
        f"{name} ({m.per_token} of {m.experts}) reads {lines[name][0][0]:.1%} for one token and "
        f"passes 95% at {reached[name]} tokens"
        for name, m in mixtures.items()
    )
    alt = f"Share of the experts in use against tokens, logarithmic. {told}. Bounds lie above."
    with canvas(title, alt, width=WIDTH, height=3.6) as drawing:
        axes = drawing.axes
        for (name, (mean, bound)), colour, dashes in zip(
            lines.items(), COLOURS, _DASHES, strict=False
        ):
            axes.semilogx(tokens, mean, color=colour, linestyle=dashes, label=name)
            axes.semilogx(tokens[::4], bound[::4], ".", color=colour, markersize=7)
        axes.plot([], [], ".", color=COLOURS[4], markersize=7, label="at most")
        axes.set(xlabel="tokens in the pass", ylabel="experts in use", ylim=(0, 1.05))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xticks([1, 8, 64, 512], ["1", "8", "64", "512"])
        axes.legend(fontsize=_SMALL, loc="lower right")
    return drawing.result


_EXPERTS = (experts_expected, experts_bound)


def training_rule(name: str = "llama-2-7b", longest: int = 65536) -> Figure:
    """FLOPs of training per parameter and token against the sequence, with recomputation."""
    model, lengths = models[name], 2 ** np.arange(9, int(longest).bit_length())
    tokens = model.active_params() * lengths
    lines = {
        str(kind).replace("None", "no recomputation"): (
            model.training_step(1, lengths, recompute=kind, scores="materialised").flops / tokens
        )
        for kind in (None, "selective", "full")
    }
    ends = [line[0] for line in lines.values()]
    title = f"Training takes {ends[0]:.2f} FLOPs per parameter and token at {lengths[0]:,} tokens"
    title += f", {ends[2]:.2f} if each layer is computed again"
    told = "; ".join(
        f"{kind}: {line[0]:.2f} at {lengths[0]:,} tokens, {line[-1]:.2f} at {lengths[-1]:,}"
        for kind, line in lines.items()
    )
    alt = f"FLOPs per parameter and token of {name} against the sequence length. {told}."
    with canvas(title, alt, width=WIDTH, height=3.6) as drawing:
        axes = drawing.axes
        for (kind, line), colour, dashes, marker in zip(
            lines.items(), COLOURS, _DASHES, _MARKERS, strict=False
        ):
            axes.semilogx(
                lengths, line, marker, color=colour, linestyle=dashes, label=kind, markersize=5
            )
        axes.axhline(6, color=INK, linewidth=1)
        axes.set(xlabel="tokens of a sequence", ylabel="FLOPs / (P · tokens)", ylim=(5, None))
        axes.set_xticks([512, 4096, 32768], ["512", "4,096", "32,768"])
        axes.legend(fontsize=_SMALL, loc="upper left")
    return drawing.result


def _shares(ledger: Ledger) -> dict[str, Any]:
    """Each part's share of a ledger's FLOPs, in the order of the parts; the rest comes last."""
    named = {
        part: sum(op.flops for op in ledger if op.is_matmul and belongs(op.name)) / ledger.flops
        for part, belongs in _PARTS.items()
    }
    return {**named, "the rest": 1 - sum(named.values())}


def _bars(
    axes: Any, labels: Sequence[str], parts: Mapping[str, Sequence[float]], columns: int = 3
) -> None:
    """Stacked horizontal bars, the first on top."""
    start = np.zeros(len(labels))
    rows = np.arange(len(labels))
    for part, values in parts.items():
        colour, hatch = _LOOKS[part]
        axes.barh(
            rows,
            values,
            0.7,
            start,
            color=colour + "88",
            edgecolor=INK,
            hatch=hatch,
            label=part,
            linewidth=0.8,
        )
        start = start + np.asarray(values)
    axes.set_yticks(rows, labels, fontsize=_SMALL)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    _legend_above(axes, columns)


def _legend_above(axes: Any, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    axes.figure.legend(
        handles,
        labels,
        ncols=columns,
        fontsize=_SMALL,
        loc="outside upper left",
        handlelength=1.4,
        columnspacing=1.2,
    )
