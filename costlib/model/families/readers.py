"""What many families share: heads, windows, rotation, feed-forward layers, as configs have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costlib.layers import Attention, Block, Latent, Mixture, Mlp, Part, PerToken
from costlib.layers.attention import MLA
from costlib.model.families.config import Config

FIRST = "first_k_dense_replace"
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
QKV = ("q_proj", "k_proj", "v_proj")
QKVO = (*QKV, "o_proj")

#: Activations, by the names that configs have for them.
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
    "swigluoai": "silu",
    "situ": "silu",  # both halves of the gate are capped by a tanh
    "xielu": "xielu",
}
_SPELLINGS = ("hidden_activation", "hidden_act", "activation_function", "ffn_act")


def layer(*parts: Part, norms: int = 2, **more: Any) -> Block:
    """One layer of these parts, each added to the residual stream."""
    return Block(layers=1, parts=parts, norms=norms, **more)


def activation(c: Config, default: str = "silu", *names: str) -> str:
    """The activation under any of its names; a config without one has its family's.

    Which of two names a family's code reads, only that code knows: they must agree.
    """
    one, other = (c.stated(name) for name in ("hidden_act", "activation_function"))
    text = f"'hidden_act' is {one!r}, but 'activation_function' is {other!r}: leave one of them out"
    c.require(None in (one, other) or one == other, text)
    for name in names or _SPELLINGS:
        if c.has(name):
            value = c.read(name, str)
            text = f"{name!r} must be one of {', '.join(ACTIVATIONS)}, got {value!r}"
            c.require(value in ACTIVATIONS, text)
            return ACTIVATIONS[value]
    return default


def biases(c: Config, name: str, default: bool, which: tuple[str, ...]) -> tuple[str, ...]:
    """These projections have a bias where a flag says so."""
    return which if c.flag(name, default) else ()


def grouped(
    c: Config,
    *,
    one_each: bool = False,
    or_one_each: bool = False,
    needs_head_dim: bool = False,
    **more: Any,
) -> Attention:
    """Attention with KV heads shared by groups of query heads, or ``one_each``.

    ``or_one_each``: that is what a config means that does not say. Sizes can be given, where a
    layer's own are not those of the config. Every projection has a bias where 'attention_bias' asks
    for it, unless ``biases`` says which have one.
    """
    if "biases" not in more:
        more["biases"] = biases(c, "attention_bias", False, QKVO)
    more = {"norm": c.norm, **more}
    heads, by = more.pop("heads", None), c.spelled("num_attention_heads")
    heads = c.count("num_attention_heads") if heads is None else heads
    kv_heads = more.pop("kv_heads", None)
    if kv_heads is None:
        kv_heads = _kv_heads(c, heads, one_each, or_one_each)
    text = f"'num_key_value_heads' must divide {by!r} ({heads}), got {kv_heads}"
    c.require(heads % kv_heads == 0, text)
    width = more.pop("head_dim", None)
    if width is None:
        width = head_dim(c, stated=not one_each, needed=needs_head_dim)
    return Attention(heads=heads, kv_heads=kv_heads, head_dim=width, **more)


def _kv_heads(c: Config, heads: int, one_each: bool, or_one_each: bool) -> int:
    if one_each:
        c.same("num_key_value_heads", heads, repr(c.spelled("num_attention_heads")))
        return heads
    if or_one_each and (said_null(c) or not c.has("num_key_value_heads")):
        return heads
    text = "'num_key_value_heads' is missing; if every query head has a KV head of its own, "
    c.require(c.has("num_key_value_heads"), f"{text}add it with the value {heads}")
    return c.count("num_key_value_heads")


def said_null(c: Config) -> bool:
    """Whether num_key_value_heads is null: one for each query head, in code that takes a number of
    its own where the field is not there at all."""
    return c.fields.get("num_key_value_heads", ...) is None


def head_dim(c: Config, *, stated: bool = True, needed: bool = False) -> int:
    """The width of a head: stated, or d_model divided by the heads."""
    if needed or (stated and c.has("head_dim")):
        return c.count("head_dim")
    heads, by = c.count("num_attention_heads"), c.spelled("num_attention_heads")
    text = (
        f"{c.spelled('hidden_size')!r} is {c.d_model}, which is not a multiple of {by!r} ({heads})"
    )
    c.require(c.d_model % heads == 0, text)
    return c.d_model // heads


def latent(c: Config, *, rank: int | None = None, **more: Any) -> Latent:
    """MLA's widths; fields that repeat one another must agree.

    ``rank`` is what the code takes where q_lora_rank is missing; null says that there is none.
    """
    heads = c.count("num_attention_heads")
    nope, rope = c.count("qk_nope_head_dim"), c.count("qk_rope_head_dim", least=0)
    c.same("qk_head_dim", nope + rope, "qk_nope_head_dim + qk_rope_head_dim")
    c.same("num_key_value_heads", heads, "'num_attention_heads'")
    widths = {"nope_dim": nope, "rope_dim": rope, "value_dim": c.count("v_head_dim")}
    q_rank = c.optional("q_lora_rank") if "q_lora_rank" in c.fields else rank
    mla = MLA(kv_rank=c.count("kv_lora_rank"), q_rank=q_rank, **widths)
    return Latent(heads=heads, mla=mla, **more)


def agreed(c: Config, i: int, rule: Callable[[int], str]) -> str:
    """The kind of layer i by the family's rule; layer_types may be there, and then must agree."""
    ruled = rule(i)
    kind = c.kind(i, rule)
    text = (
        f"{c.spelled('layer_types')!r} has {kind!r} for layer {i}, but other fields say {ruled!r}"
    )
    c.require(kind == ruled, text)
    return kind


def sliding(
    c: Config, i: int, rule: Callable[[int], str], *, name: str = "sliding_window"
) -> int | None:
    """Layer i's window, by layer_types or else by the family's rule."""
    return c.count(name) if c.kind(i, rule, FULL, SLIDING) == SLIDING else None


def window(c: Config, i: int, usual: int | None = None) -> int | None:
    """Every layer has the window, where there is one; null says that there is none."""
    if not c.has("sliding_window"):
        c.kind(i, lambda _: FULL, FULL)
        return None if "sliding_window" in c.fields else usual
    return sliding(c, i, lambda _: SLIDING)


def optional_window(c: Config, i: int) -> int | None:
    """Qwen: a window only if use_sliding_window, and then from layer max_window_layers on."""
    if not c.flag("use_sliding_window", False) or not c.has("sliding_window"):
        text = "'layer_types' has sliding layers, but 'use_sliding_window' is off"
        c.require(SLIDING not in c.entries("layer_types", str), text)
        c.kind(i, lambda _: FULL, FULL, SLIDING)
        return None
    first = c.count("max_window_layers", least=0)
    return sliding(c, i, lambda i: SLIDING if i >= first else FULL)


def patterned(c: Config, i: int, *names: str) -> int | None:
    """Every n-th layer is global (Gemma 3, Cohere 2): by layer_types, or a field with n."""
    names = names or ("sliding_window_pattern", "_sliding_window_pattern")
    stated = [name for name in names if c.has(name)]
    is_known = bool(stated or c.entries("layer_types", str))
    c.require(is_known, f"'layer_types' is missing, and so is {names[0]!r}")
    if not stated:
        return sliding(c, i, lambda _: FULL)
    every = c.count(stated[0])
    return sliding(c, i, lambda i: SLIDING if (i + 1) % every else FULL)


def rotary(
    c: Config,
    width: int,
    default: float = 1,
    name: str = "partial_rotary_factor",
    *,
    among: str | None = None,
) -> int:
    """How much of each head is rotated; it costs FLOPs, not parameters.

    ``among``: layers of this kind, where each kind has a rotation of its own.
    """
    rope = c.get("rope_parameters")
    if among is not None and isinstance(rope, Mapping):
        rope = rope.get(among)
    stated = rope.get("partial_rotary_factor") if isinstance(rope, Mapping) else None
    share: Any = stated
    for otherwise in (c.get(name), default):
        share = otherwise if share is None else share
    is_share = type(share) in (int, float) and 0 < share <= 1
    c.require(is_share, f"{name!r} must be a fraction of 1, got {share!r}")
    return int(share * width)


def mlp(
    c: Config,
    *,
    width: str = "intermediate_size",
    usual: int | None = None,
    times: int = 1,
    **more: Any,
) -> Mlp:
    """A dense feed-forward layer; its ``width`` is a field, which may have a ``usual`` value."""
    more = {"activation": activation(c, more.pop("default", "silu")), **more}
    return Mlp(width=times * c.count(width, usual), **more)


def sparse(c: Config, i: int, rule: Callable[[int], bool]) -> bool:
    """Whether layer i has experts: by mlp_layer_types, or else by the family's rule."""
    kind = c.kind(
        i, lambda i: "sparse" if rule(i) else "dense", "dense", "sparse", name="mlp_layer_types"
    )
    return kind == "sparse"


def experts(
    c: Config,
    name: str,
    *,
    width: str = "moe_intermediate_size",
    chosen: str = "num_experts_per_tok",
    shared: str | None = None,
    beside: str | None = None,
    adds: bool = False,
    default: str = "silu",
    **more: Any,
) -> Mixture:
    """A mixture of experts of one width, which sends each token to some of them.

    ``shared`` is the field with the number of those that all tokens use, which are one layer of
    their joint width; ``beside`` that with the width of one such layer. ``adds``: numbers that are
    parameters are added to the router's before it chooses.
    """
    count, per_token = c.count(name), c.count(chosen)
    text = f"{c.spelled(chosen)!r} is {per_token}, but {c.spelled(name)!r} is {count}"
    c.require(per_token <= count, text)
    more = {"activation": activation(c, default), **more}
    if shared is not None:
        more["shared_width"] = c.count(shared, least=0) * c.count(width)
    if beside is not None:
        more["shared_width"] = c.count(beside)
    if adds:
        added = PerToken("router.added", count, weights=count)
        more["extra"] = (added, *more.get("extra", ()))
    return Mixture(experts=count, per_token=per_token, width=c.count(width), **more)


def either(
    c: Config, is_sparse: bool, name: str, *, bias: bool = False, **more: Any
) -> Mlp | Mixture:
    """A mixture, or a dense feed-forward layer; both have biases or none."""
    return experts(c, name, shared_bias=bias, **more) if is_sparse else mlp(c, bias=bias)


def dense_first(
    c: Config, i: int, name: str, *, dense: int | None = None, **more: Any
) -> Mlp | Mixture:
    """A mixture after the first dense layers, or where mlp_layer_types says so."""
    if dense is None:
        dense = c.count(FIRST, c.usual.get(FIRST), least=0)
    first = dense
    return either(c, sparse(c, i, lambda i: i >= first), name, **more)
