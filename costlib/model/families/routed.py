"""Decoders with attention of many kinds and experts in place of some feed-forward layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import Attention, Block, Mixture
from costlib.model.families.config import Config
from costlib.model.families.dense import exaone_attention
from costlib.model.families.family import family
from costlib.model.families.latents import feed, shared_and_routed
from costlib.model.families.readers import (
    FULL,
    QKV,
    QKVO,
    SLIDING,
    added,
    biases,
    dense_first,
    experts,
    grouped,
    head_dim,
    layer,
    mlp,
    rotary,
    said_null,
    sliding,
    sparse,
    window,
)

CHUNKED = "chunked_attention"


@family("llama4_text", "Llama4ForCausalLM", tied=False)
def llama4_text(c: Config, i: int) -> Block:
    """Chunks of text that do not see one another, in layers that rotate; the others see all and do
    not. Each token goes to one expert and to a shared one, in every layer or every other."""
    turned = c.entries("no_rope_layers", int)
    every = c.count("no_rope_layer_interval", 4)
    c.require(len(turned) in (0, c.layers), "'no_rope_layers' must have an entry for each layer")
    rotates = bool(turned[i]) if turned else (i + 1) % every != 0
    kind = c.kind(i, lambda _: CHUNKED if rotates else FULL, FULL, CHUNKED)
    attention = grouped(
        c,
        or_one_each=True,
        biases=biases(c, "attention_bias", False, QKVO),
        norm="plain_norm",
        qk_norm="head" if rotates and c.flag("use_qk_norm", True) else None,
        rotary_dim=None if rotates else 0,
        chunk=c.optional("attention_chunk_size") if kind == CHUNKED else None,
    )
    step, among = c.count("interleave_moe_layer_step", 1), c.entries("moe_layers", int)
    is_sparse = i in among if c.has("moe_layers") else i % step == step - 1
    if not is_sparse:
        return layer(attention, mlp(c, width="intermediate_size_mlp"))
    width = c.count("intermediate_size")
    routed = experts(
        c, "num_local_experts", width="intermediate_size", shared_width=width, runs_all=True
    )
    return layer(attention, routed)


@family("glm4_moe", "Glm4MoeForCausalLM", tied=False)
def glm4_moe(c: Config, i: int) -> Block:
    """GLM 4 with experts beside shared ones after the first layers, and perhaps norms of heads."""
    normed = "head" if c.flag("use_qk_norm", False) else None
    dense = c.count("first_k_dense_replace", 1, least=0)
    return layer(_glm_attention(c, False, qk_norm=normed), feed(c, i, dense))


@family("glm4v_moe_text", "Glm4vMoeForConditionalGeneration", tied=False)
def glm4v_moe_text(c: Config, i: int) -> Block:
    """GLM 4.5 inside a model that sees."""
    return layer(_glm_attention(c, True), feed(c, i, c.count("first_k_dense_replace", 1, least=0)))


@family("solar_open", "SolarOpenForCausalLM", tied=False)
def solar_open(c: Config, i: int) -> Block:
    """GLM 4.5 without dense layers."""
    found = biases(c, "attention_bias", False, QKV)
    return layer(grouped(c, biases=found), shared_and_routed(c))


def _glm_attention(c: Config, has_biases: bool, **more: Any) -> Attention:
    found = biases(c, "attention_bias", has_biases, QKV)
    width = c.optional("head_dim") or c.d_model // c.count("num_attention_heads")  # cut, if need be
    c.require(width > 0, f"'hidden_size' ({c.d_model}) leaves nothing for each head")
    rotated = rotary(c, width, 0.5)
    return grouped(c, head_dim=width, biases=found, rotary_dim=rotated, **more)


@family("dots1", "Dots1ForCausalLM", tied=False)
def dots1(c: Config, i: int) -> Block:
    """DeepSeek's experts with plain attention and norms of heads."""
    found = biases(c, "attention_bias", False, QKVO)
    first = c.count("max_window_layers", 62, least=0)
    if not c.has("sliding_window") and "sliding_window" not in c.fields:
        c = c.but({"sliding_window": 4096})
    has_window = c.has("sliding_window")
    reach = sliding(c, i, lambda i: SLIDING if has_window and i >= first else FULL)
    attention = grouped(c, or_one_each=said_null(c), qk_norm="head", biases=found, window=reach)
    return layer(attention, feed(c, i, c.count("first_k_dense_replace", 0, least=0)))


@family("flex_olmo", "FlexOlmoForCausalLM", tied=False)
@family("olmoe", "OlmoeForCausalLM", tied=False)
def olmoe(c: Config, i: int) -> Block:
    """Llama with a norm of all queries and one of all keys, and experts in every layer; FlexOlmo
    has its norms after the parts."""
    found = biases(c, "attention_bias", False, QKVO)
    routed = experts(c, "num_experts", width="intermediate_size")
    return layer(grouped(c, or_one_each=True, qk_norm="full", biases=found), routed)


@family("exaone_moe", "ExaoneMoeForCausalLM", tied=False)
def exaone_moe(c: Config, i: int) -> Block:
    """EXAONE 4 with norms before the parts, and experts beside shared ones."""
    dense = c.count("first_k_dense_replace", 1, least=0)
    feed = dense_first(c, i, dense, "num_experts", shared="num_shared_experts")
    return layer(exaone_attention(c, i), feed)


@family(
    "ernie4_5_moe",
    "Ernie4_5_MoeForCausalLM",
    tied=True,
    size=lambda c: {"biases": ("unembedding",) if c.flag("use_bias", False) else ()},
)
def ernie4_5_moe(c: Config, i: int) -> Block:
    """ERNIE 4.5 with experts beside shared ones in a range of layers."""
    found = c.flag("use_bias", False)
    attention = grouped(c, or_one_each=said_null(c), biases=QKVO if found else ())
    first, last = (
        c.count("moe_layer_start_index", 1, least=0),
        c.count("moe_layer_end_index", -1, least=-1),
    )
    every, last = c.count("moe_layer_interval", 1), c.layers - 1 if last == -1 else last
    if not ((i + 1) % every == 0 and first <= i <= last):
        return layer(attention, mlp(c, bias=found))
    extra, shared = (added(c.count("num_experts")),), "moe_num_shared_experts"
    routed = experts(c, "num_experts", shared=shared, shared_bias=found, extra=extra)
    return layer(attention, routed)


@family("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", tied=False)
def hunyuan_v1_moe(c: Config, i: int) -> Block:
    """Hunyuan with experts of the dense layer's width beside a shared one."""
    found, own = (
        biases(c, "attention_bias", False, QKVO),
        c.of_layer(i, "num_experts", "num_experts_per_tok"),
    )
    c.require(isinstance(c.get("num_experts"), int), "'num_experts' must be one number here")
    routed = experts(
        own, "num_experts", width="intermediate_size", shared_width=c.count("intermediate_size")
    )
    return layer(grouped(c, or_one_each=True, qk_norm="head", biases=found), routed)


@family("mimo_v2_flash", "MiMoV2FlashForCausalLM", tied=False)
def mimo_v2_flash(c: Config, i: int) -> Block:
    """Values narrower than keys; layers with a window have sinks and twice the KV heads."""
    kind = c.kind(i, lambda i: FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING, FULL, SLIDING)
    is_local, kv_heads = kind == SLIDING, c.count("num_key_value_heads")
    width = c.count("head_dim")
    attention = grouped(
        c,
        kv_heads=2 * kv_heads if is_local else kv_heads,
        head_dim=width,
        sinks=is_local,
        value_dim=c.count("v_head_dim"),
        biases=biases(c, "attention_bias", False, QKV),
        window=_mimo_window(c) if is_local else None,
        rotary_dim=rotary(c, width, 0.334, among=kind),
    )
    if not sparse(c, i, lambda i: i > 0):
        return layer(attention, mlp(c))
    return layer(attention, experts(c, "n_routed_experts"))


def _mimo_window(c: Config) -> int:
    """A window's size counts earlier tokens; sliding_window counts the token itself too."""
    if c.has("sliding_window_size"):
        return c.count("sliding_window_size") + 1
    return c.count("sliding_window", 129)


@family(
    "phimoe",
    "PhimoeForCausalLM",
    tied=False,
    norm="layer_norm",
    size=lambda c: {"biases": ("unembedding",) if c.flag("lm_head_bias", False) else ()},
)
def phimoe(c: Config, i: int) -> Block:
    """Mixtral with layer norms; its router always chooses two."""
    found, norm = biases(c, "attention_bias", False, QKVO), "layer_norm"
    attention = grouped(c, biases=found, window=window(c, i), norm=norm)
    two = c.but({"num_experts_per_tok": 2})
    routed = experts(two, "num_local_experts", width="intermediate_size")
    return layer(attention, routed, norm=norm)


@family("afmoe", "AfmoeForCausalLM", tied=False)
def afmoe(c: Config, i: int) -> Block:
    """A gate on every element of attention's output, four norms, windows in three layers of four,
    whose complement does not rotate; experts after the first dense layers."""
    every = c.count("global_attn_every_n_layers", 4)
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % every else FULL)
    attention = grouped(
        c,
        or_one_each=True,
        biases=biases(c, "attention_bias", False, QKVO),
        qk_norm="head",
        gate="element",
        window=reach,
        rotary_dim=None if reach else 0,
    )
    if i < c.count("num_dense_layers", 1, least=0):
        return layer(attention, mlp(c), norms=4)
    extra = (added(c.count("num_experts")),)
    routed = experts(c, "num_experts", shared="num_shared_experts", extra=extra)
    return layer(attention, routed, norms=4)


@family("laguna", "LagunaForCausalLM", tied=False)
def laguna(c: Config, i: int) -> Block:
    """A gate on attention's output, a number of heads for each layer, a shared expert."""
    of_each = c.each_layer("num_attention_heads_per_layer", int)
    kind = c.kind(i, lambda _: FULL, FULL, SLIDING)
    attention = grouped(
        c,
        heads=of_each[i] if of_each else None,
        qk_norm="head",
        gate=output_gate(c),
        biases=biases(c, "attention_bias", False, QKVO),
        window=c.count("sliding_window", 512) if kind == SLIDING else None,
        rotary_dim=rotary(c, c.count("head_dim"), 0.5 if kind == FULL else 1, among=kind),
    )
    if not sparse(c, i, lambda i: i > 0):
        return layer(attention, mlp(c))
    width = c.count("shared_expert_intermediate_size")
    extra = (added(c.count("num_experts")),)
    return layer(attention, experts(c, "num_experts", shared_width=width, extra=extra))


def output_gate(c: Config) -> str:
    """One gate a head, or else one for every element."""
    stated = c.get("gating")
    is_known = stated is None or type(stated) is bool or stated in ("per-head", "per-element")
    c.require(is_known, f"'gating' must be true, 'per-head' or 'per-element', got {stated!r}")
    return "head" if stated in (None, True, "per-head") else "element"


@family("qwen3_vl_moe_text", "Qwen3VLMoeForConditionalGeneration", tied=True)
def qwen3_vl_moe_text(c: Config, i: int) -> Block:
    """Qwen 3 with experts inside a model that sees."""
    attention = grouped(c, qk_norm="head", biases=biases(c, "attention_bias", False, QKVO))
    step = c.count("decoder_sparse_step", 1)
    is_dense = i in c.entries("mlp_only_layers", int) or (i + 1) % step
    return layer(attention, mlp(c) if is_dense else experts(c, "num_experts"))


def _step_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published form has heads of window layers in an object, layers with experts as a string,
    and lists that go on over the MTP layers."""
    found = dict(fields)
    other = found.pop("attention_other_setting", None)
    if found.get("num_sliding_attention_heads") is None and isinstance(other, Mapping):
        found["num_sliding_attention_heads"] = other.get("num_attention_heads")
    layers, more = found.get("num_hidden_layers"), found.get("num_nextn_predict_layers")
    if type(layers) is int and type(more) is int:
        for name in ("layer_types", "mlp_layer_types"):
            if isinstance(found.get(name), list) and len(found[name]) == layers + more:
                found[name] = found[name][:layers]
    return found


@family("step3p5", "Step3p7ForConditionalGeneration", tied=False, rewrite=_step_fields)
def step3p5(c: Config, i: int) -> Block:
    """A gate on each head's output, more heads in layers with a window, experts beside a shared
    one."""
    kind = c.kind(i, lambda _: FULL, FULL, SLIDING)
    heads = c.count("num_attention_heads")
    if kind == SLIDING and not c.has("per_layer_config"):
        heads = c.count("num_sliding_attention_heads", heads)
    attention = grouped(
        c,
        heads=heads,
        qk_norm="head",
        gate=output_gate(c),
        biases=biases(c, "attention_bias", False, QKVO),
        window=c.count("sliding_window") if kind == SLIDING else None,
    )
    has_bias = c.flag("mlp_bias", False)
    if not sparse(c, i, lambda i: i in _step_sparse(c)):
        return layer(attention, mlp(c, bias=has_bias))
    width = c.count("share_expert_dim")
    return layer(
        attention, experts(c, "n_routed_experts", shared_width=width, shared_bias=has_bias)
    )


def _step_sparse(c: Config) -> set[int]:
    """Layers with experts: listed, or all but the first three."""
    listed = c.get("moe_layers_enum")
    if listed is None:
        return set(range(3, c.layers))
    entries = listed.split(",") if isinstance(listed, str) else listed
    is_list = isinstance(entries, list) and all(str(entry).strip().isdecimal() for entry in entries)
    c.require(is_list, f"'moe_layers_enum' must list layers, got {listed!r}")
    return {int(entry) for entry in entries}


@family("dbrx", "DbrxForCausalLM", tied=False, norm="layer_norm_no_bias")
def dbrx(c: Config, i: int) -> Block:
    """Layer norms without biases, experts in every layer; sizes in two objects."""
    norm, inner, outer = "layer_norm_no_bias", c.inside("ffn_config"), c.inside("attn_config")
    attention = grouped(
        c, kv_heads=outer.count("kv_n_heads", 1), head_dim=head_dim(c, stated=False), norm=norm
    )
    kind = inner.inside("ffn_act_fn").read("name", str, "silu")
    c.require(kind == "silu", f"'ffn_act_fn' must be 'silu' to be counted here, got {kind!r}")
    count, chosen = inner.count("moe_num_experts", 4), inner.count("moe_top_k", 1)
    c.require(chosen <= count, f"'moe_top_k' is {chosen}, but 'moe_num_experts' is {count}")
    width = inner.count("ffn_hidden_size", 3584)
    return layer(attention, Mixture(experts=count, per_token=chosen, width=width), norm=norm)


def _cohere_norm(c: Config) -> str:
    return "rms_norm" if c.get("rms_norm_eps") is not None else "layer_norm_no_bias"


@family(
    "cohere2_moe",
    "Cohere2MoeForCausalLM",
    tied=True,
    norm="layer_norm_no_bias",
    size=lambda c: {"norm": _cohere_norm(c)},
)
def cohere2_moe(c: Config, i: int) -> Block:
    """Cohere 2 with experts after the first dense layers, whose global layers do rotate."""
    dense, norm = c.count("first_k_dense_replace", 0, least=0), _cohere_norm(c)
    early, late = (
        c.count("prefix_dense_sliding_window_pattern", 1),
        c.count("sliding_window_pattern", 4),
    )

    def rule(i: int) -> str:
        is_local = (i + 1) % early if i < dense else (i - dense + 1) % late
        return SLIDING if is_local else FULL

    is_sparse = sparse(c, i, lambda i: i >= dense)
    reach = c.count("sliding_window", 4096) if c.kind(i, rule, FULL, SLIDING) == SLIDING else None
    rotates = reach is not None or (not is_sparse and early == 1)
    attention = grouped(
        c,
        or_one_each=True,
        biases=biases(c, "attention_bias", False, QKVO),
        norm=norm,
        window=reach,
        rotary_dim=None if rotates else 0,
    )
    if is_sparse:
        width, shared = "intermediate_size", "num_shared_experts"
        feed = experts(c, "num_experts", width=width, shared=shared)
        return layer(attention, feed, norms=1, parallel=True, norm=norm)
    name = "prefix_dense_intermediate_size"
    plain = mlp(c, width=name if c.has(name) else "intermediate_size")
    return layer(attention, plain, norms=1, parallel=True, norm=norm)
