"""Families whose experts, or how tokens get to them, are their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import (
    Block,
    ConvolvedAttention,
    Indexer,
    Mlp,
    PerToken,
    RoutedAttention,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.decoders import is_sparse
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    QKVO,
    SLIDING,
    added,
    biases,
    experts,
    grouped,
    head_dim,
    layer,
    mlp,
    rotary,
    sliding,
    sparse,
)

SPARSE = "minimax_m3_sparse"


@family("granitemoe", "GraniteMoeForCausalLM", tied=False)
@family("granitemoeshared", "GraniteMoeSharedForCausalLM", tied=False)
def granitemoeshared(c: Config, i: int) -> Block:
    """Granite with a mixture of experts in every layer, and a dense layer beside them where it has
    a width."""
    shared = c.count("shared_intermediate_size", 0, least=0)
    feed = experts(c, "num_local_experts", width="intermediate_size", shared_width=shared)
    return layer(grouped(c, biases=biases(c, "attention_bias", False, QKVO)), feed)


@family("hy_v3", "HYV3ForCausalLM", tied=False)
def hy_v3(c: Config, i: int) -> Block:
    """Norms of each head's queries and keys; a dense layer, then experts beside shared ones."""
    found = biases(c, "attention_bias", False, QKVO)
    attention, bias = grouped(c, qk_norm="head", biases=found), c.flag("mlp_bias", False)
    if not sparse(c, i, lambda i: i > 0):
        return layer(attention, mlp(c, bias=bias))
    feed = experts(c, "num_experts", shared="num_shared_experts", shared_bias=bias)
    return layer(attention, feed)


@family("minimax_m2", "MiniMaxM2ForCausalLM", tied=False)
def minimax_m2(c: Config, i: int) -> Block:
    """Norms of all queries and of all keys, half of each head rotated, experts in every layer."""
    attention = grouped(c, qk_norm="full", rotary_dim=_rotated(c))
    return layer(attention, experts(c, "num_local_experts", width="intermediate_size"))


def _rotated(c: Config) -> int:
    """How much of each head is rotated: rotary_dim, or else a part of it."""
    width = head_dim(c)
    rotated = c.count("rotary_dim", rotary(c, width))
    c.require(rotated <= width, f"'rotary_dim' is {rotated}, but a head is {width} wide")
    return rotated


def _m3_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published form has the indexer's sizes in an object, and kinds of layer as 0 and 1."""
    inner, found = fields.get("sparse_attention_config"), dict(fields)
    inner = inner if isinstance(inner, Mapping) else {}
    for new, old in (
        ("index_n_heads", "sparse_num_index_heads"),
        ("index_head_dim", "sparse_index_dim"),
        ("index_block_size", "sparse_block_size"),
        ("index_topk_blocks", "sparse_topk_blocks"),
    ):
        found[new] = inner.get(old, found.get(new))
    for name, marks, no, yes in (
        ("layer_types", inner.get("sparse_attention_freq"), FULL, SPARSE),
        ("mlp_layer_types", fields.get("moe_layer_freq"), "dense", "sparse"),
    ):
        if found.get(name) is None and isinstance(marks, list):
            found[name] = [yes if mark else no for mark in marks]
    return {name: value for name, value in found.items() if value is not None}


@family("minimax_m3", "MiniMaxM3ForCausalLM", tied=False, rewrite=_m3_fields)
@family("minimax_m3_vl_text", "MiniMaxM3VLForCausalLM", tied=False, rewrite=_m3_fields)
def minimax_m3(c: Config, i: int) -> Block:
    """Attention to blocks of keys that an indexer picks; dense layers, then experts."""
    kind = c.kind(i, lambda _: FULL, FULL, SPARSE)
    indexer = _block_indexer(c) if kind == SPARSE else None
    attention = grouped(c, qk_norm="head", rotary_dim=_rotated(c), indexer=indexer)
    if not sparse(c, i, lambda _: True):
        return layer(attention, Mlp(width=c.count("dense_intermediate_size")))
    shared = c.count("shared_intermediate_size")
    feed = experts(
        c, "num_local_experts", width="intermediate_size", shared_width=shared, activation="silu"
    )
    return layer(attention, feed)


def _block_indexer(c: Config) -> Indexer:
    block = c.count("index_block_size")
    return Indexer(
        heads=c.count("index_n_heads"),
        head_dim=c.count("index_head_dim"),
        top=c.count("index_topk_blocks") * block,
        block=block,
        key_norm="rms_norm",
        query_norm="rms_norm",
        weighted=False,
    )


@family("jetmoe", "JetMoeForCausalLM", tied=True)
def jetmoe(c: Config, i: int) -> Block:
    """Queries and outputs of attention are experts too, with one head for each KV head."""
    each, chosen = c.count("num_key_value_heads"), c.count("num_experts_per_tok")
    c.same("num_attention_heads", each * chosen, "num_key_value_heads times num_experts_per_tok")
    bias = PerToken("experts.bias", c.d_model, weights=c.d_model, gradient=1)
    feed = experts(c, "num_local_experts", width="intermediate_size", extra=(bias,))
    attention = RoutedAttention(
        heads=each * chosen,
        kv_heads=each,
        head_dim=c.count("head_dim"),
        experts=feed.experts,
        per_token=chosen,
    )
    return layer(attention, feed)


def _zaya_scale(c: Config) -> tuple[PerToken, ...]:
    return (elementwise("embedding.scale", c.d_model, "residual", weights=2 * c.d_model),)


@family("zaya", "ZayaForCausalLM", tied=True, first=_zaya_scale)
def zaya(c: Config, i: int) -> Block:
    """Queries and keys are convolved; one expert a token, or none, by a router of three layers."""
    kind = c.kind(i, lambda _: "hybrid", "hybrid", "hybrid_sliding")
    plain, d = grouped(c, rotary_dim=head_dim(c) // 2), c.d_model
    attention = ConvolvedAttention(
        heads=plain.heads,
        kv_heads=plain.kv_heads,
        head_dim=plain.head_dim,
        rotary_dim=plain.rotary_dim,
        d_in=d,
        window=c.count("sliding_window") if kind == "hybrid_sliding" else None,
        biases=biases(c, "attention_bias", False, QKVO),
        kernels=(c.count("cca_time0", 2), c.count("cca_time1", 2)),
    )
    feed = experts(c, "num_experts", router=_zaya_router(c, i))
    scaled = elementwise("residual.scale", 2 * d, "residual", weights=4 * d)
    return layer(attention, feed, extra=(scaled, scaled))


def _zaya_router(c: Config, i: int) -> tuple[PerToken, ...]:
    """A narrow network that also reads what the router of the layer before it made."""
    width, classes = c.count("router_hidden_size"), c.count("num_experts") + 1
    carried = elementwise("router.carried", width, "residual", weights=width)
    return (
        *linear_step("router.down", c.d_model, width, bias=True),
        *((carried,) if i else ()),
        normalisation("router.norm", width, "rms_norm"),
        *linear_step("router.first", width, width, bias=True),
        *linear_step("router.second", width, width, bias=True),
        *linear_step("router", width, classes),
    )


@family("flint", "FlintForCausalLM", tied=False)
def flint(c: Config, i: int) -> Block:
    """Qwen 3's mixture with attention sinks, a window in most layers, and a shared expert."""
    rule = {True: FULL, False: SLIDING}
    kind = c.kind(i, lambda i: rule[i < 2 or i % 4 == 1 or i == c.layers - 1], FULL, SLIDING)
    attention = grouped(
        c,
        qk_norm="head",
        sinks=True,
        biases=biases(c, "attention_bias", False, QKVO),
        window=c.count("sliding_window", 513) if kind == SLIDING else None,
    )
    if not is_sparse(c, i) or c.count("num_experts", least=0) == 0:
        return layer(attention, mlp(c))
    width = c.count("shared_expert_intermediate_size")
    return layer(attention, experts(c, "num_experts", shared_width=width))


@family("kolibri1", "Kolibri1ForCausalLM", tied=False)
def kolibri1(c: Config, i: int) -> Block:
    """Norms on both sides of each part and of heads, a window in four layers of five, experts
    beside a shared one."""
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % 5 else FULL)
    shared = c.count("shared_expert_intermediate_size")
    feed = experts(c, "num_experts", shared_width=shared)
    return layer(grouped(c, qk_norm="head", window=reach), feed, norms=4)


@family("beam", "BeamForCausalLM", tied=False)
def beam(c: Config, i: int) -> Block:
    """Norms on both sides of each part and of heads, a gate on attention's output with one bias a
    head, a window in five layers of six; the others do not rotate."""
    last = c.layers - 1
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % 6 and i < last else FULL)
    rope = c.get("rope_parameters")
    stated = rope if isinstance(rope, Mapping) else {SLIDING: {}}
    rotates = stated.get(SLIDING if reach else FULL) is not None
    plain = grouped(c)
    gate = PerToken("gate_proj.bias", plain.heads * plain.head_dim, weights=plain.heads)
    attention = grouped(
        c,
        qk_norm="head",
        gate="element",
        extra=(gate,),
        biases=biases(c, "attention_bias", False, QKVO),
        window=reach,
        rotary_dim=None if rotates else 0,
    )
    if not sparse(c, i, lambda i: i >= 3):
        return layer(attention, mlp(c), norms=4)
    return layer(attention, experts(c, "num_experts"), norms=4)


def _text_of_lists(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Widths of experts are a list: for text, and for pictures."""
    widths, found = fields.get("moe_intermediate_size"), dict(fields)
    if isinstance(widths, list) and len(widths) == 2:
        found["moe_intermediate_size"], found["picture_intermediate_size"] = widths
    return found


@family(
    "ernie4_5_vl_moe_text",
    "Ernie4_5_VLMoeForConditionalGeneration",
    tied=True,
    rewrite=_text_of_lists,
)
def ernie4_5_vl_moe_text(c: Config, i: int) -> Block:
    """ERNIE 4.5 inside a model that sees. Experts for pictures, and their router, are stored, and
    text does not use them."""
    found = c.flag("use_bias", False)
    attention = grouped(c, biases=QKVO if found else ())
    if not sparse(c, i, lambda i: i > 0):
        return layer(attention, mlp(c, bias=found))
    extra = (added(c.count("num_experts")), *_for_pictures(c))
    shared = "moe_num_shared_experts"
    feed = experts(c, "num_experts", shared=shared, shared_bias=found, extra=extra)
    return layer(attention, feed)


def _for_pictures(c: Config) -> tuple[PerToken, ...]:
    """Weights that a token of text is never sent to."""
    count, d, width = c.count("num_experts"), c.d_model, c.count("picture_intermediate_size")
    unused = PerToken("experts.for_pictures", weights=3 * d * width, experts=count)
    return (unused, PerToken("router.for_pictures", table=(d + 1) * count))
