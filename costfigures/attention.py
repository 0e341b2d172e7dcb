"""The figures of chapter 2: one query, a layer's shares, masks, and shared keys."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from costfigures.canvas import ARRAYS, COLOURS, Figure, canvas
from costfigures.chart import grouped, line_chart, lines, mark, note
from costfigures.sketch import TINT, Point, Sketch, sketch
from costlib.layers.attention import MLA, attention, latent_attention, pairs
from costlib.units.ledger import Ledger

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

ATTENTION_OPS = ("scores", "softmax", "values")


def one_query(keys: int = 6, head_dim: int = 4) -> Figure:
    """A query's scores with every key become weights, and the output is their sum of the values."""
    title = "One query is compared with every key, then takes a weighted sum of the values"
    alt = (
        f"A query of {head_dim} entries stands above a grid of {keys} keys, the rows, of "
        f"{head_dim} entries each. Each row gives one of {keys} scores, softmax turns them into "
        f"{keys} weights, one larger than the others, and each weight stands beside a row of the "
        f"grid of {keys} values. Below the values stands the output, {head_dim} entries. The two "
        f"products take {keys}·{head_dim} multiply-adds each."
    )
    weights = np.exp(-np.abs(np.arange(keys) - keys * 0.6))
    strength = 0.12 + 0.88 * weights / weights.max()
    side, down = 22.0, 22.0 * keys
    with sketch(title, alt, height=down + 128) as drawing:
        for name, left, top, rows, columns in (
            ("query q", 4, 18, 1, head_dim),
            ("keys K", 4, 62, keys, head_dim),
            ("scores", 124, 62, keys, 1),
            ("weights", 204, 62, keys, 1),
            ("values V", 264, 62, keys, head_dim),
            ("output o", 264, down + 80, 1, head_dim),
        ):
            colour = ARRAYS[_NAMED.get(name, name[-1].upper())]
            shades = strength if name == "weights" else [0.55] * rows
            for row, shade in enumerate(shades):
                fill = f"{colour}{round(255 * shade):02x}"
                drawing.fill((left, top), [(row, place) for place in range(columns)], side, fill)
            drawing.cells((left, top), rows, columns, side)
            if name[-1] != "o":
                drawing.text((left + columns * side / 2, top - 9), name, align="middle")
        drawing.text((258, down + 91), "output o", align="right")
        for left in (95, 162, 232):
            drawing.arrow((left, 62 + down / 2), (left + 26, 62 + down / 2))
        drawing.text((175, 52 + down / 2), "softmax", align="middle")
    return drawing.result


#: The letters of arrays whose names do not end with them.
_NAMED = {"scores": "S", "weights": "P"}


def layer_shares(ledger: Ledger, name: str) -> Figure:
    """Each step's share of a layer's FLOPs and of the bytes it moves, as two bars."""
    flops = [op.flops / ledger.flops for op in ledger]
    moved = [op.bytes() / ledger.bytes() for op in ledger]
    scored = [i for i, op in enumerate(ledger) if op.name in ATTENTION_OPS]
    title = (
        f"A {sum(flops[i] for i in scored):.0%} share of the FLOPs moves "
        f"{sum(moved[i] for i in scored):.0%} of the bytes"
    )
    told = "; ".join(
        f"{op.name} {f:.1%} of the FLOPs and {b:.1%} of the bytes"
        for op, f, b in zip(ledger, flops, moved, strict=True)
    )
    with canvas(title, f"Pairs of bars for {name}: {told}.", height=3.7) as drawing:
        axes, found = drawing.axes, {"FLOPs": flops, "bytes": moved}
        for group, places in grouped(axes, ledger.names, found).items():
            for share, place in zip(found[group], places, strict=True):
                note(axes, (share, place), f"{share:.1%}", (4, 0))
        axes.set_xlim(0, max(*flops, *moved) * 1.2)
        axes.set_xticks([])
    return drawing.result


def score_intensity(heads: int, head_dim: int, ridges: Mapping[str, float]) -> Figure:
    """Attention's intensity against the sequence, scores in memory and on chip, beside ridges."""
    seq = np.unique(np.geomspace(16, 65536, 80).astype(int))
    found = {
        name: attention(1, seq, heads, head_dim, scores=scores).intensity()
        for name, scores in (("scores on chip", "on-chip"), ("scores in memory", "materialised"))
    }
    title = "With its scores in memory, attention levels off"
    what = (
        f"FLOPs per byte by sequence length, log-log, {heads} heads of width {head_dim}, no mask. "
        "Horizontal lines mark ridges: "
    )
    what += "".join(f"{name} at {ridge:,.0f}. " for name, ridge in ridges.items())
    with line_chart(title, f"{what}The lines", seq, found) as drawing:
        for name, ridge in ridges.items():
            mark(drawing.axes, f"{name}: {ridge:,.0f}", y=ridge, at=0.98)
        drawing.axes.set(xlabel="sequence length S", ylabel="FLOPs per byte")
    return drawing.result


def running_maximum(scores: Sequence[float]) -> Figure:
    """Scores read one by one, the largest so far, and the factor whenever that changes."""
    tops = np.maximum.accumulate(scores)
    changed = [i for i in range(1, len(tops)) if tops[i] > tops[i - 1]]
    factors = [float(np.exp(tops[i - 1] - tops[i])) for i in changed]
    title = f"{len(scores)} scores, {len(changed)} rescalings"
    alt = (
        f"{len(scores)} scores as dots in the order they are read, from {min(scores):.2f} to "
        f"{max(scores):.2f}, and a staircase above them, their largest so far. It rises "
        f"{len(changed)} times after the first score, and each time the sums so far are "
        "multiplied by a factor below one: "
        + ", ".join(f"{f:.2f} at score {i + 1}" for f, i in zip(factors, changed, strict=True))
        + "."
    )
    with canvas(title, alt) as drawing:
        axes, order = drawing.axes, np.arange(1, len(scores) + 1)
        axes.plot(order, scores, "o", color=COLOURS[0], markersize=4.5)
        axes.step(order, tops, where="post", color=COLOURS[1])
        for i, factor in zip(changed, factors, strict=True):
            axes.plot([i + 1], [tops[i]], "s", color=COLOURS[1], markersize=6)
            note(axes, (i + 1, tops[i]), f"× {factor:.2f}", (-3, 5))
        low, high = float(min(scores)), float(max(scores))
        axes.set(xlabel="key", ylabel="score", ylim=(low - 0.2, high + 0.18 * (high - low)))
    return drawing.result


def mask_shapes(seq: int = 6, new: int = 4, context: int = 6, window: int = 3) -> Figure:
    """Which keys each query sees, under four masks, and how many pairs that makes."""
    panels: list[tuple[str, int, int, dict[str, Any]]] = [
        ("full", seq, seq, {}),
        ("causal", seq, seq, {"causal": True}),
        ("with a cache", new, context, {"causal": True}),
        (f"window {window}", seq, seq, {"window": window}),
    ]
    counts = [pairs(rows, keys, **options) for _, rows, keys, options in panels]
    title = "The pairs of queries and keys that a mask leaves"
    alt = "Four grids, a row for each query and a column for each key. " + " ".join(
        f"{name.capitalize()}: {rows} queries and {keys} keys, {count} of {rows * keys} filled."
        for (name, rows, keys, _), count in zip(panels, counts, strict=True)
    )
    side = 82 / max(keys for _, _, keys, _ in panels)
    with sketch(title, alt, height=side * max(seq, new) + 44) as drawing:
        for place, ((name, rows, keys, options), count) in enumerate(
            zip(panels, counts, strict=True)
        ):
            left, seen = 2 + 91 * place, []
            for row in range(rows):
                last = keys - rows + row + 1 if options else keys
                first = max(0, last - window) if "window" in options else 0
                seen += [(row, key) for key in range(first, last)]
            drawing.grid((left, 22), rows, keys, side, COLOURS[0], seen, line=0.6)
            middle = left + side * keys / 2
            drawing.text((middle, 9), name, align="middle")
            drawing.text((middle, 34 + side * rows), f"{count} pairs", align="middle")
    return drawing.result


def kv_kept(models: Mapping[str, Transformer]) -> Figure:
    """Heads, groups and latents side by side: who shares what, and what a token leaves behind."""
    kept, lines = {}, []
    for name, model in models.items():
        width = model.mla.head_dim + model.mla.value_dim if model.mla else 2 * model.head_dim
        kept[name] = model.kv_elements_per_layer() / (model.heads * width)
        read = "one latent" if model.mla else f"{model.kv_heads} KV"
        held = f"{model.kv_elements_per_layer():,} elements"
        lines.append(f"{model.heads} query heads, {read}: {held}")
    title = "Fewer KV heads cache fewer elements, and compute as many scores"
    told = "; ".join(
        f"{name}, {line} per token and layer, {share:.1%}"
        for (name, share), line in zip(kept.items(), lines, strict=True)
    )
    alt = (
        f"A column for each of {len(models)} models. On top {_SHOWN} of its query heads, each "
        "joined to the key and value that it reads: its own, that of its group, the only one, or "
        "the latent that all heads share. Below, a square whose area is what one layer caches of "
        f"one token. {told} of a key and a value for every head."
    )
    most = max(model.kv_elements_per_layer() for model in models.values())
    step = 360 / len(models)
    with sketch(title, alt, height=290) as drawing:
        drawing.text((6, 48), f"{_SHOWN} of the query heads, and the keys and values they read")
        drawing.text((6, 143), "elements cached for a token in a layer, to scale")
        for place, (name, model) in enumerate(models.items()):
            left = 6 + place * step
            drawing.text((left, 10), kind(model), bold=True)
            drawing.text((left, 26), name)
            _sharing(drawing, (left, 60), model)
            elements = model.kv_elements_per_layer()
            side = 74 * math.sqrt(elements / most)
            shades = [_LATENT] if model.mla else [ARRAYS["K"], ARRAYS["V"]]
            high = side / len(shades)
            for part, shade in enumerate(shades):
                drawing.box((left, 157 + part * high), side, high, fill=shade + TINT)
            drawing.text((left, 246), f"{elements:,}", bold=True)
            drawing.text((left, 262), f"{kept[name]:.1%}")
        drawing.text((6, 279), "of a key and a value for every head")
    return drawing.result


_LATENT = COLOURS[4]  #: what keys and values are made from
_SHOWN = 8  #: query heads that are drawn of each model


def kind(model: Transformer) -> str:
    """Which sort of attention a model has."""
    if model.mla:
        return "MLA"
    return {model.heads: "MHA", 1: "MQA"}.get(model.kv_heads, "GQA")


def _sharing(drawing: Sketch, corner: Point, model: Transformer) -> None:
    """Query heads above, what they read below, and lines between them."""
    (left, top), cell, step = corner, 7.0, 9.4
    below = top + 50
    groups = 1 if model.mla else max(1, _SHOWN * model.kv_heads // model.heads)
    middles = [left + cell / 2 + step * head for head in range(_SHOWN)]
    shared = [
        float(np.mean(middles[group * _SHOWN // groups : (group + 1) * _SHOWN // groups]))
        for group in range(groups)
    ]
    for head, x in enumerate(middles):
        drawing.box((x - cell / 2, top), cell, 14, fill=ARRAYS["Q"] + TINT, line=0.8)
        ends = (x, top + 14), (shared[head * groups // _SHOWN], below)
        drawing.line(*ends, width=0.8, dashed=bool(model.mla))
    if model.mla:
        span = (_SHOWN - 1) * step + cell
        drawing.box((left, below), span, 16, fill=_LATENT + TINT, line=0.8)
    else:
        for x in shared:
            drawing.box((x - cell / 2, below), cell, 8, fill=ARRAYS["K"] + TINT, line=0.8)
            drawing.box((x - cell / 2, below + 8), cell, 8, fill=ARRAYS["V"] + TINT, line=0.8)


def latent_forms(heads: int, mla: MLA, context: int) -> Figure:
    """FLOPs of latent attention's two forms against the new tokens, with the cache in place."""
    new = np.unique(np.geomspace(1, context, 120).astype(int))
    widths = {name: getattr(mla, name) for name in ("kv_rank", "nope_dim", "rope_dim", "value_dim")}
    naive, absorbed = _both_forms(heads, widths, context, new)
    dearer = _break_even(heads, widths, context)
    title = "Absorb for a few new tokens, expand for many"
    alt = (
        f"FLOPs of one layer against the new tokens on log-log axes, {context:,} keys, {heads} "
        f"heads. With one new token the naive form takes {naive[0] / absorbed[0]:.0f} times the "
        f"FLOPs of the absorbed one; from {dearer} new tokens on the naive form takes fewer; when "
        f"all keys are new, the absorbed form takes {absorbed[-1] / naive[-1]:.1f} times as many."
    )
    with canvas(title, alt) as drawing:
        axes, at = drawing.axes, float(np.interp(dearer, new, naive)) / 1e9
        found = {"naive: expand every key": naive / 1e9, "absorbed: move queries": absorbed / 1e9}
        lines(axes, new, found, at="")
        note(axes, (1.2, naive[0] / 1e9), "naive: expand every key", (0.01, 6), color=COLOURS[0])
        words = "absorbed: move the queries"
        note(axes, (400, absorbed[-1] / 1e9), words, (-4, -2), color=COLOURS[1], va="center")
        axes.plot([dearer], [at], "o", color=COLOURS[4])
        note(axes, (dearer, at), f"{dearer} new", (8, -4))
        axes.set(xlabel=f"new tokens, of {context:,} keys", ylabel="GFLOP in a layer")
    return drawing.result


def _both_forms(heads: int, widths: Mapping[str, Any], context: int, new: Any) -> tuple[Any, Any]:
    """FLOPs of latent attention, naive and absorbed."""
    shape = {"context": context, "causal": True, **widths}
    naive, absorbed = (
        latent_attention(1, new, heads, form=form, **shape).flops for form in ("naive", "absorbed")
    )
    return naive, absorbed


def _break_even(heads: int, widths: Mapping[str, Any], context: int) -> int:
    """The fewest new tokens for which the naive form takes fewer FLOPs."""

    def naive_is_cheaper(new: int) -> bool:
        naive, absorbed = _both_forms(heads, widths, context, new)
        return bool(naive < absorbed)

    return 1 + bisect_left(range(1, context), True, key=naive_is_cheaper)
