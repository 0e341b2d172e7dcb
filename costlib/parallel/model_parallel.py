"""Many devices for one model: what each of them holds, computes and sends.

Tensor parallelism divides heads and feed-forward widths, not d_model: the products with d_model
stay whole on one side, so that FLOPs are divided, not squared. Two all-reduces a layer put the
parts together. Expert parallelism deals a mixture's experts to devices with tokens of their own.

A whole plan of training, with every axis and its messages, is `costlib.parallel.Plan`, one of
serving `costlib.serving.Server`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from costlib.layers import (
    Attending,
    Attention,
    Mixture,
    Part,
)
from costlib.model.catalog import model_of
from costlib.model.kvcache import Memory
from costlib.model.transformer import Transformer
from costlib.training.recipes import Recipe, state_bytes
from costlib.units.numbers import Number, ceil_div, divides, exact_div, is_one, is_zero, size, where

__all__ = ["context_parallel", "degrees", "expert_parallel", "optimizer_memory", "tensor_parallel"]


def remembered(function: Any, *arguments: Any) -> Any:
    """A cached function's answer, kept for the next plan of the same model; arrays are not kept."""
    try:
        hash(arguments)
    except TypeError:
        return function.__wrapped__(*arguments)
    return function(*arguments)


def tensor_parallel(model: Transformer | str, devices: Number, *, nodes: Number = 1) -> Transformer:
    """One device's share of a model: heads, widths and vocabulary divided, d_model whole.

    KV heads fewer than the devices are replicated: each device has one. So are norms, the router
    and the latent projections of MLA. Scans and linear attention are divided by heads or channels.
    Its passes hold what it sends: an all-reduce of B·S·D elements over the axis "tensor" wherever a
    layer adds to the residual stream, twice for most (once where attention and feed-forward layer
    are parallel), and as many in the backward pass; in two tiers where the devices lie in several
    ``nodes``.

    >>> llama = Transformer(layers=32, d_model=4096, heads=32, d_ff=14336, vocab=128256, kv_heads=8)
    >>> share = tensor_parallel(llama, 4)
    >>> share.heads, share.kv_heads, share.head_dim, share.d_ff
    (8, 2, 128, 3584)
    >>> tensor_parallel(llama, 16).kv_heads
    1
    >>> share.decode(1, 100)["q_proj"].flops * 4 == llama.decode(1, 100)["q_proj"].flops
    True
    >>> share.decode(1, 100).over("tensor").count, share.decode(1, 100).bytes_sent()
    (64, 786432)
    """
    model, devices = model_of(model), size("devices", devices)
    if is_one(devices):
        return model
    share: Transformer = remembered(_tensor_parallel, model, devices, nodes)
    return share


@lru_cache(maxsize=256)
def _tensor_parallel(model: Transformer, devices: Number, nodes: Number) -> Transformer:
    vocab = ceil_div(model.vocab, devices)  # the last part is padded, as in practice
    if not model.is_uniform:  # norms, routers and other steps are replicated
        shared = _with_parts(model, lambda part: _share_of_part(part, devices))
        return shared.with_(vocab=vocab, tensor_parallel=devices, tensor_nodes=nodes)
    kv_heads, moe = _shared_part("kv_heads", model.kv_heads, devices), model.moe
    if moe is not None:
        moe = replace(
            moe,
            width=_part("the experts' width", moe.width, devices),
            shared_width=_part("shared_width", moe.shared_width, devices),
        )
    return model.with_(
        heads=_part("heads", model.heads, devices),
        kv_heads=kv_heads,
        head_dim=model.head_dim,
        d_ff=_part("d_ff", model.d_ff, devices),
        vocab=vocab,
        tensor_parallel=devices,
        tensor_nodes=nodes,
        moe=moe,
    )


def expert_parallel(model: Transformer | str, devices: Number, *, nodes: Number = 1) -> Transformer:
    """One device's share of a model whose experts are dealt to devices with tokens of their own.

    Each has E/e of a layer's experts, and all of what is no expert. A token's copies are sent to
    their experts and back, two all-to-alls a layer over the axis "expert". A device's experts get
    as many copies as it sends, and meet the tokens of all e devices: a few of its own are enough to
    read every expert that it has.

    >>> from costlib import models
    >>> whole, share = models["mixtral-8x7b"], expert_parallel(models["mixtral-8x7b"], 8)
    >>> [round(model.params() / 1e9, 1) for model in (whole, share)]
    [46.7, 7.2]
    >>> share.decode(1, 100)["experts.up"].flops == whole.decode(1, 100)["experts.up"].flops
    True
    >>> share.decode(1, 100).over("expert").sends == 2 * 32 * 7 * 2 * 4096 // 8
    True
    """
    model, devices = model_of(model), size("devices", devices)
    if is_one(devices):
        return model

    def dealt(part: Part) -> Part:
        if not isinstance(part, Mixture):
            return part
        return replace(part, expert_parallel=devices, nodes=nodes)

    return _with_parts(model, dealt)


def context_parallel(share: Transformer, model: Transformer, devices: Number) -> Transformer:
    """One device's share where ``devices`` of those that share a model keep its cache by tokens.

    They are devices that would keep the same: a latent is on all of them, keys and values of a head
    on as many as there are for each. A layer with a window keeps few tokens, and is left as it is.
    See `costlib.layers.by_tokens`.

    >>> from costlib import models
    >>> model = models["deepseek-v3"]
    >>> share = tensor_parallel(model, 8)
    >>> apart = context_parallel(share, model, 8)
    >>> share.kv_bytes(1, 4096) // apart.kv_bytes(1, 4096)
    8
    >>> context_parallel(tensor_parallel(models["llama-3.1-70b"], 8), models["llama-3.1-70b"], 2)
    Traceback (most recent call last):
        ...
    ValueError: dcp=2 must divide the devices that keep the same keys and values: with tensor=8 \
and kv_heads=8 there is 1 for each head
    """
    if is_one(devices):
        return share
    tensor, blocks, found = share.tensor_parallel, [], False
    inside = exact_div(tensor, share.tensor_nodes)
    nodes = 1 if devices <= inside else exact_div(devices, inside)
    for at, block in enumerate(share.blocks):
        parts = []
        for which, part in enumerate(block.parts):
            if isinstance(part, Attending) and part.caches and part.reach is None:
                alike = len(share.blocks) == len(model.blocks)  # else sizes say all of it
                before = model.blocks[at].parts[which] if alike else model
                _check_copies(part, before, tensor, devices)
                part = replace(part, context_parallel=devices, context_nodes=nodes)  # type: ignore[type-var]
                found = True
            parts.append(part)
        blocks.append(replace(block, parts=tuple(parts)))
    if not found:
        raise ValueError(f"dcp={devices}: no layer of this model keeps a whole context")
    return share.with_(blocks=tuple(blocks))


def _check_copies(part: Attending, before: Any, tensor: Number, devices: Number) -> None:
    """Say so if there are not as many devices with the same cache."""
    copies, of, each = tensor, "a latent", "latent"
    if isinstance(part, Attention):
        whole = before.kept_heads if isinstance(before, Attention) else before.kv_heads
        copies, of, each = exact_div(tensor * part.kept_heads, whole), f"kv_heads={whole}", "head"
    if not divides(devices, copies):
        raise ValueError(
            f"dcp={devices} must divide the devices that keep the same keys and values: with "
            f"tensor={tensor} and {of} there {'is' if copies == 1 else 'are'} {copies} for each "
            f"{each}"
        )


def _with_parts(model: Transformer, change: Callable[[Part], Part]) -> Transformer:
    """The same model with every part of every block changed."""
    changed = [replace(b, parts=tuple(change(part) for part in b.parts)) for b in model.blocks]
    return model.with_(blocks=tuple(changed))


def degrees(model: Transformer | str) -> list[int]:
    """The only numbers of devices that can share every layer: divisors of all that is divided.

    Of what is replicated where there is less of it than devices, they may be multiples too.

    >>> from costlib import models
    >>> degrees(models["gpt2"]), degrees(models["phi-4"])  # the second has 40 heads and 10 KV heads
    ([1, 2, 3, 4, 6, 12], [1, 2, 5, 10, 20, 40])
    """
    parts = [part for block in model_of(model).blocks for part in block.parts]
    cut = [(part, part.divided) for part in parts if part.divided is not None]
    if len(cut) < len(parts):
        return [1]
    split, shared = (
        {int(getattr(part, name)) for part, names in cut for name in names[which]} - {0}
        for which in (0, 1)
    )
    return [
        each
        for each in range(1, min(split) + 1)
        if all(of % each == 0 for of in split)
        and all(of % each == 0 or each % of == 0 for of in shared)
    ]


def _share_of_part(part: Part, devices: Number) -> Part:
    kind = type(part).__name__
    if part.divided is None:
        raise ValueError(f"how {kind} is divided over devices is not known: divide it yourself")
    split, shared = part.divided
    changes = {name: _part(f"{kind}.{name}", getattr(part, name), devices) for name in split}
    for name in shared:
        changes[name] = _shared_part(f"{kind}.{name}", getattr(part, name), devices)
    return replace(part, **changes)  # type: ignore[type-var]


def _shared_part(name: str, whole: Number, devices: Number) -> Any:
    """A device's part of what is replicated where there are fewer than devices."""
    if divides(devices, whole):
        return exact_div(whole, devices)
    fewer = whole % devices != 0  # elementwise: in a sweep some devices are more, others fewer
    if not divides(whole, where(fewer, devices, whole)):
        raise ValueError(f"devices must divide {name}={whole} or be a multiple, got {devices}")
    return where(fewer, 1, whole // devices)


def optimizer_memory(
    model: Transformer | str, recipe: Recipe | str | None = None, *, data: Number = 1, zero: int = 0
) -> Memory:
    """Weights, gradients and optimizer state on one of ``data`` devices; ZeRO divides some of them.

    Stage 1 divides the optimizer's state, stage 2 the gradients too, stage 3 the weights too. The
    recipe says in how many bytes: see `costlib.training.RECIPES`.

    >>> model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> optimizer_memory(model).total / model.params()
    16.0
    >>> optimizer_memory(model, data=8, zero=1).total / model.params()
    5.5
    """
    if zero not in (0, 1, 2, 3):
        raise ValueError(f"zero must be 0, 1, 2 or 3, got {zero!r:.200}")
    held, data = state_bytes(model, recipe), size("data", data)
    return Memory(
        weights=ceil_div(held.weights, data) if zero >= 3 else held.weights,
        gradients=ceil_div(held.gradients, data) if zero >= 2 else held.gradients,
        optimizer=ceil_div(held.optimizer, data) if zero >= 1 else held.optimizer,
    )


def _part(name: str, whole: Number, devices: Number) -> Any:
    if is_zero(whole):
        return 0
    if not divides(devices, whole):
        raise ValueError(f"devices must divide {name}={whole}, got {devices}")
    return exact_div(whole, devices)
