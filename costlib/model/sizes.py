"""A model's layers in two ways: by the sizes that all of them share, and block by block.

`blocks_of` writes the blocks that sizes stand for, `sizes_in` reads the sizes that blocks share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import check_groups, check_sizes
from costlib.layers.by_tokens import Attending
from costlib.layers.feed import ACTIVATIONS, Mixture, Mlp
from costlib.layers.grouped_attention import Attention
from costlib.layers.latent import Latent
from costlib.layers.parts import Block, Part, same
from costlib.model.table import count_rows
from costlib.units.numbers import (
    Number,
    choose,
    divides,
    exact_div,
    is_zero,
    maximum,
    minimum,
    size,
    suggests,
    total,
)

BIASES = ("qkv", "o_proj", "ffn", "router", "experts", "unembedding")

#: The sizes that say how layers are made, each with what it is where it is not given.
SIZES: dict[str, Any] = {
    **dict.fromkeys(("layers", "heads", "d_ff", "kv_heads", "head_dim", "rotary_dim")),
    **dict.fromkeys(("window", "local_layers", "qk_norm", "moe", "mla")),
    "gated": True,
    "activation": "silu",
    "norms": 2,
    "parallel": False,
    "sinks": False,
}

#: Biases of attention by the products that have them.
_ATTENTION_BIASES = {"qkv": ("q_proj", "k_proj", "v_proj"), "o_proj": ("o_proj",)}


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class MoE:
    """A mixture of experts: ``per_token`` of ``experts`` feed-forward layers of ``width`` each.

    ``shared_width`` is one more that all tokens use (``shared_gate``: scaled by a gate of its own);
    the first ``dense_layers`` layers have a plain feed-forward layer instead.
    """

    experts: Number
    per_token: Number
    width: Number
    shared_width: Number = 0
    shared_gate: bool = False
    dense_layers: Number = 0

    def __post_init__(self) -> None:
        check_sizes(self, "experts", "per_token", "width")
        check_sizes(self, "shared_width", "dense_layers", least=0)
        size("experts - per_token", self.experts - self.per_token, least=0)


# From sizes to blocks.


def completed(model: Any) -> dict[str, Any]:
    """The sizes that follow from those of a model that are given; what must agree is checked."""
    heads, mla, window = model.heads, model.mla, model.window
    head_dim = size("head_dim", _head_dim(model))
    usual = {
        "kv_heads": heads,
        "rotary_dim": mla.rope_dim if mla else head_dim,
        "local_layers": 0 if window is None else model.layers,
    }
    given = {name: getattr(model, name) for name in usual}
    found = {name: usual[name] if value is None else value for name, value in given.items()}
    size("kv_heads", found["kv_heads"])
    check_groups(heads, found["kv_heads"])
    if window is None and found["local_layers"]:
        raise ValueError("local_layers needs a window")
    for name in ("rotary_dim", "local_layers"):
        found[name] = size(name, found[name], least=0)
    size("layers - local_layers", model.layers - found["local_layers"], least=0)
    choose("activation", model.activation, ACTIVATIONS)
    choose("qk_norm", model.qk_norm, (None, "head", "full"))
    if mla and (window is not None or model.qk_norm or model.biases or model.sinks):
        raise ValueError("mla cannot be combined with a window, qk_norm, biases or sinks")
    return {**found, "head_dim": head_dim}


def _head_dim(model: Any) -> Any:
    if model.head_dim is not None:
        return model.head_dim
    if model.mla is not None:
        return model.mla.head_dim
    if not divides(model.heads, model.d_model):
        sizes = f"d_model={model.d_model} is not a multiple of heads={model.heads}"
        raise ValueError(f"{sizes}: give head_dim")
    return exact_div(model.d_model, model.heads)


def blocks_of(model: Any) -> tuple[Block, ...]:
    """The blocks that sizes stand for: dense layers first, and of each kind global ones first."""
    everywhere, local = _mixers(model)
    dense, sparse = _feeds(model)
    plain: Number = model.moe.dense_layers if model.moe else model.layers
    rest = model.layers - plain
    if is_zero(model.local_layers):
        counts: tuple[Number, ...] = (plain, 0, rest, 0)
    elif is_zero(model.global_layers):
        counts = (0, plain, 0, rest)
    elif model.moe is None:
        counts = (model.global_layers, model.local_layers, 0, 0)
    elif is_zero(plain):
        counts = (0, 0, model.global_layers, model.local_layers)
    else:
        both = minimum(plain, model.global_layers)
        late = maximum(0, plain - model.global_layers)
        counts = (both, late, model.global_layers - both, model.local_layers - late)
    kinds = ((everywhere, dense), (local, dense), (everywhere, sparse), (local, sparse))
    how: dict[str, Any] = {"norms": model.norms, "norm": model.norm, "parallel": model.parallel}
    return tuple(
        Block(layers=count, parts=parts, **how)
        for count, parts in zip(counts, kinds, strict=True)
        if not is_zero(count)
    )


def _mixers(model: Any) -> tuple[Part, Part]:
    """Attention of global and of local layers."""
    if model.mla:
        latent = Latent(heads=model.heads, mla=model.mla, norm=model.norm)
        return latent, latent
    short = [bias for bias in _ATTENTION_BIASES if bias in model.biases]
    everywhere = Attention(
        heads=model.heads,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        biases=tuple(name for bias in short for name in _ATTENTION_BIASES[bias]),
        norm=model.norm,
        qk_norm=model.qk_norm,
        rotary_dim=model.rotary_dim,
        sinks=model.sinks,
    )
    return everywhere, replace(everywhere, window=model.window)


def _feeds(model: Any) -> tuple[Mlp, Part]:
    """The dense feed-forward layer, and the mixture."""
    moe = model.moe
    kind: dict[str, Any] = {"gated": model.gated, "activation": model.activation}
    dense = Mlp(width=model.d_ff, bias="ffn" in model.biases, **kind)
    if moe is None:
        return dense, dense
    sparse = Mixture(
        experts=moe.experts,
        per_token=moe.per_token,
        width=moe.width,
        shared_width=moe.shared_width,
        shared_gate=moe.shared_gate,
        router_bias="router" in model.biases,
        bias="experts" in model.biases,
        **kind,
    )
    return dense, sparse


# From blocks to sizes.


def sizes_in(blocks: Sequence[Block], biases: Iterable[str] = ()) -> dict[str, Any]:
    """The sizes that blocks share, and the short names of their biases; None where they differ."""
    parts = [(part, block.layers) for block in blocks for part in block.parts]
    layers = total(block.layers for block in blocks)
    return {
        "layers": layers,
        "norms": _common(block.norms for block in blocks),
        "parallel": any(block.parallel for block in blocks),
        "biases": tuple(bias for bias in BIASES if bias in {*biases, *_biases_in(parts)}),
        **_of_attention(parts),
        **_of_feeds(parts, layers),
    }


def _of_attention(parts: list[tuple[Part, Number]]) -> dict[str, Any]:
    plain = [(part, layers) for part, layers in parts if isinstance(part, Attention)]
    mixers = [part for part, _ in parts if isinstance(part, Attending)]
    local = [(part.reach, layers) for part, layers in plain if part.reach is not None]
    found = {
        name: _common(getattr(part, name) for part, _ in plain)
        for name in ("kv_heads", "head_dim", "rotary_dim", "qk_norm")
    }
    found |= {
        "heads": _common(part.heads for part in mixers),
        "mla": _common(getattr(part, "mla", None) for part in mixers),
        "sinks": any(part.sinks for part, _ in plain),
        "window": _common(reach for reach, _ in local),
        "local_layers": total(layers for _, layers in local),
    }
    if mla := found["mla"]:
        widths = {"head_dim": mla.head_dim, "rotary_dim": mla.rope_dim}
        found |= {"kv_heads": found["heads"], **widths}
    return found


def _of_feeds(parts: list[tuple[Part, Number]], layers: Number) -> dict[str, Any]:
    dense = [part for part, _ in parts if isinstance(part, Mlp)]
    mixtures = [(part, count) for part, count in parts if isinstance(part, Mixture)]
    every: list[Mlp | Mixture] = [*dense, *(part for part, _ in mixtures)]
    found = {
        "d_ff": _common(part.width for part in dense),
        "gated": all(part.gated for part in every),
        "activation": _common(part.activation for part in every),
    }
    mixture = _common(part for part, _ in mixtures)
    if mixture is None:
        return found
    names = ("experts", "per_token", "width", "shared_width", "shared_gate")
    sizes = {name: getattr(mixture, name) for name in names}
    found["moe"] = MoE(dense_layers=layers - total(count for _, count in mixtures), **sizes)
    return found if dense else {**found, "d_ff": mixture.width}


def _biases_in(parts: list[tuple[Part, Number]]) -> set[str]:
    """The short names of biases that parts have."""
    found = set()
    for part, _ in parts:
        if isinstance(part, Attention):
            found |= {bias for bias, names in _ATTENTION_BIASES.items() if names[0] in part.biases}
        if isinstance(part, Mlp) and part.bias:
            found.add("ffn")
        if isinstance(part, Mixture):
            found |= {"router"} if part.router_bias else set()
            found |= {"experts"} if part.bias else set()
    return found


def same_layers(some: Sequence[Block], others: Sequence[Block]) -> bool:
    """Whether there are as many layers of each kind, in whatever order."""
    counts = []
    for blocks in (some, others):
        rows: list[tuple[Block, Number]] = []
        for block in blocks:
            count_rows(rows, replace(block, layers=1), block.layers)
        counts.append(rows)
    return len(counts[0]) == len(counts[1]) and all(
        any(same(one, other) and same(count, number) for other, number in counts[1])
        for one, count in counts[0]
    )


def _common(values: Iterable[Any]) -> Any:
    """What all of them are, or None."""
    found = list(values)
    is_common = bool(found) and all(same(found[0], other) for other in found[1:])
    return found[0] if is_common else None
