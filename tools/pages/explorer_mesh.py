"""What the explorer of a mesh runs on: a layer's ledger on one device, as JavaScript.

A plan is a sum over layers, microbatches and stages of what a layer does, and only these sums are
the script's own. A layer's ops and messages, what it keeps, and its parameters are those of
`costlib.parallel`, asked of a model whose sizes are symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

import costlib
from costlib.model.catalog import nodes
from costlib.model.transformer import MoE, Transformer
from costlib.parallel import HIDES, Cluster, Tiers, tensor_parallel
from costlib.parallel.price import Params, of_end, params_of, sorted_out
from costlib.parallel.stages import layer_kinds
from costlib.parallel.work import Cut, Work, ends_of, layer
from costlib.training import RECIPES, activations, flops_per_token, hfu_over_mfu
from costlib.units.ledger import Op
from costlib.units.messages import collective
from costlib.units.numbers import is_zero
from tools.pages.printing import constant, drawable, family, function, parts, symbolic

#: Models to divide: three sizes of one kind, and mixtures of few and of many experts.
MODELS = (
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "llama-2-7b",
    "mixtral-8x7b",
    "mixtral-8x22b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b",
    "deepseek-v3",
)
#: Nodes whose devices reach one another through a switch, and how many of each are used: a power
#: of two, so that a mesh can be folded.
NODES = {
    "DGX-A100": 8,
    "DGX-H100": 8,
    "DGX-H200": 8,
    "DGX-B200": 8,
    "DGX-B300": 8,
    "GB200-NVL72": 64,
    "GB300-NVL72": 64,
}
CHOSEN_RECIPES = ("bf16", "bf16-fp32-grads", "fp8", "adam-8bit")
DEGREES = (1, 2, 4, 8, 16, 32, 64)
POLICIES = (None, "full")
#: Kinds of what is kept for the backward pass, which a recipe has bytes for.
KEPT = ("inputs", "activations", "fp32")
_AXES = ("tensor", "context", "expert")


def text() -> str:
    """The whole file."""
    written, layouts = [], dict[str, Any]()
    for model in _families().values():
        for key, ledger, values in _pieces(model):
            written.append(function(key, _arguments(model), values))
            layouts[key] = ledger
    written.append(constant("layouts", layouts))
    written.append(f"export const pieces = {{{', '.join(layouts)}}};\n")
    written += [_collective(does) for does in ("all_reduce", "reduce_scatter", "all_gather")]
    written += [_flops(name) for name in MODELS]
    written.append(f"export const flops = {{{', '.join(map(_flops_name, MODELS))}}};\n")
    written.append(constant("models", [_model(name) for name in MODELS]))
    written.append(constant("nodes", [_node(name, each) for name, each in NODES.items()]))
    written.append(constant("recipes", {name: _recipe(name) for name in CHOSEN_RECIPES}))
    written.append(constant("hides", dict(HIDES)))
    return "".join(written)


def _families() -> dict[tuple[Any, ...], str]:
    """The first model of each family."""
    found: dict[tuple[Any, ...], str] = {}
    for name in MODELS:
        found.setdefault(family(drawable()[name]), name)
    return found


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


# ------------------------------------------------------------------------------- one layer


def _symbols() -> dict[str, Any]:
    """What says how a microbatch is cut; the tiers of an axis come as a pair."""
    named = {name: costlib.symbols(name) for name in ("microbatch", "seq", *_AXES)}
    for axis in _AXES:
        named[f"{axis}_tiers"] = costlib.symbols(f"{axis}_inside {axis}_across")
    return named


def _arguments(name: str) -> tuple[Any, ...]:
    """How the cut is, the sizes of one device's share, and those of the whole model."""
    _, own = symbolic(drawable()[name])
    return (*_symbols().values(), own, tuple(_whole(size) for size in own))


def _whole(size: sympy.Symbol) -> sympy.Symbol:
    """A model's size, where the symbol itself stands for that of one device's share."""
    return costlib.symbols(f"whole_{size}")


def _pieces(name: str) -> Iterator[tuple[str, Any, list[Any]]]:
    """A name, what its numbers are, and the numbers: of each kind of layer in each policy, and of
    both ends, which are the same in all.
    """
    model, sizes = symbolic(drawable()[name])
    if model.tied:
        raise ValueError(f"{name} is tied: a pipeline of one stage would store it once")
    named = _symbols()
    tiers = {axis: Tiers(*named[f"{axis}_tiers"]) for axis in _AXES}
    degrees = {each: named[each] for each in ("microbatch", "seq", *_AXES)}
    cuts = [Cut(**degrees, sequence=True, recompute=again, tiers=tiers) for again in POLICIES]
    blocks = [replace(b, layers=1) for b in model.blocks if not is_zero(b.layers)]
    ones = [model.with_(blocks=(block,)) for block in blocks]
    wholes = {size: _whole(size) for size in sizes}

    def piece(ending: str, work: Work, params: Params, kept: list[Any]) -> Any:
        layout, values = _ledger(work)
        own = [params.matrices, params.others, params.experts]
        held = [sympy.sympify(each).xreplace(wholes) for each in kept]
        return f"{_identifier(name)}_{ending}", layout, [*own, *held, *values]

    for cut in cuts:
        for at, one in enumerate(ones):
            held = _kept(one, cut)
            rows = [*held["layers"], *held["again"]]
            key = f"{cut.recompute or 'none'}_{at}"
            yield piece(key, layer(one, cut), params_of(one, cut), rows)
    nothing, outside = [0] * len(KEPT), _kept(ones[0], cuts[0])["outside"]
    ends = zip(("first", "last"), ends_of(ones[0], cuts[0]), strict=True)
    for at, (ending, work) in enumerate(ends):
        rows = [*(outside if at else nothing), *nothing]
        yield piece(ending, work, of_end(model, at, is_stored_once=False), rows)


def _kept(one: Transformer, cut: Cut) -> dict[str, list[Any]]:
    """Elements that a layer keeps, holds while it is run again, and that are kept outside."""
    how: dict[str, Any] = {"recompute": cut.recompute, "tensor": cut.tensor, "sequence": True}
    found = {place: dict.fromkeys(KEPT, 0) for place in ("layers", "again", "outside")}
    for row in activations(one, cut.microbatch, cut.local, **how).rows:
        found[row.place][row.kind] += row.elements
    return {place: [*elements.values()] for place, elements in found.items()}


def _ledger(work: Work) -> tuple[list[Any], list[Any]]:
    """Parts of the step, forward and back, each with its ops' axes ("" where none is sent over);
    and the ops' numbers.

    Of an op its FLOPs, elements of weights and others; of a message its elements and rounds.
    """
    layout, values = [], []
    for ledger in (work.forward, work.backward):
        these = sorted_out(ledger, work)
        layout.append([[name, [op.axis for op in ops]] for name, ops in these.items()])
        for ops in these.values():
            for op in ops:
                values += _numbers(op)
    return layout, values


def _numbers(op: Op) -> list[Any]:
    if op.axis:
        return [op.elements_sent.activations, op.rounds]
    moved = op.elements_read + op.elements_written
    return [op.flops, moved.weights, moved.activations + moved.kv + moved.scores]


# ------------------------------------------------------------------------- what else is asked


def _collective(does: str) -> str:
    """What is sent inside a node and across, and in how many rounds."""
    size, a, b = costlib.symbols("size inside across")
    sent = collective(does, size, inside=a, across=b, axis="axis")
    return function(does, (size, a, b), [x for op in sent for x in (op.sends, op.rounds)])


def _flops_name(name: str) -> str:
    return f"flops_{_identifier(name)}"


def _flops(name: str) -> str:
    """FLOPs of a token, and how many times as many are done if layers are run again."""
    model, seq = drawable()[name], costlib.symbols("seq")
    more = [hfu_over_mfu(model, seq, recompute=again) for again in POLICIES]
    values = [sympy.factor(each) for each in (flops_per_token(model, seq), *more)]
    return function(_flops_name(name), (seq,), values)


def _model(name: str) -> dict[str, Any]:
    """What the page knows of a model: its sizes, whole and of each device's share."""
    model = drawable()[name]
    _, used = symbolic(model)
    kinds, order = layer_kinds(model)
    shares = {}
    for devices in DEGREES:
        try:
            sizes = parts(tensor_parallel(model, devices))
        except ValueError:
            continue
        shares[devices] = [sizes[str(symbol)] for symbol in used]
    sizes = parts(model)
    return {
        "name": name,
        "family": _identifier(_families()[family(model)]),
        "params": model.params(),
        "d_model": model.d_model,
        "layers": [order.count(kind) for kind in range(len(kinds))],
        "experts": _experts(model.moe),
        "whole": [sizes[str(symbol)] for symbol in used],
        "shares": shares,
        "flops": _flops_name(name),
    }


def _experts(moe: MoE | None) -> int:
    return 0 if moe is None else int(moe.experts)


def _node(name: str, devices: int) -> dict[str, Any]:
    """What the page knows of a node: its devices, and the links that each has."""
    cluster = Cluster(name, per_node=devices)
    device = cluster.device
    rates: Mapping[str, Any] = {None: device.compute_rate(None)}
    formats = {RECIPES[recipe].compute for recipe in CHOSEN_RECIPES} - {None}
    rates = {**rates, **{f: device.compute_rate(f) for f in formats if f in device.flops_per_s}}
    return {
        "name": name,
        "device": device.name,
        "devices": devices,
        "all": nodes[name].devices,
        "rates": {each or "sixteen": rate for each, rate in rates.items()},
        "memory": device.memory_rate,
        "usable": device.usable,
        "links": {"node": device.link("axis"), "network": device.link("axis.network")},
    }


def _recipe(name: str) -> dict[str, Any]:
    """Bytes of a parameter of matrices and of others, of what is kept, and on the wire."""
    recipe = RECIPES[name]
    state = {
        which: {
            "weights": each.weights,
            "gradients": each.gradients,
            "optimizer": each.master + each.moments,
        }
        for which, each in (("matrices", recipe), ("others", recipe.others or recipe))
    }
    kept = [float(recipe.bytes_of(kind)) for kind in KEPT]
    moved = recipe.precision
    if not moved.activations == moved.scores == moved.kv == 2:
        raise ValueError(f"{name}: a page reads and writes activations in 2 bytes")
    return {**state, "kept": kept, "compute": recipe.compute or "sixteen"}
