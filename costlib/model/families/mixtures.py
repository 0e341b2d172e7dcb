"""Families with experts in place of some feed-forward layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import (
    Attention,
    Block,
    ConvolvedAttention,
    Indexer,
    Mixture,
    Mlp,
    PerToken,
    RoutedAttention,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.decoders import exaone_attention, is_sparse
from costlib.model.families.family import family
from costlib.model.families.latents import feed, shared_and_routed
from costlib.model.families.readers import (
    FULL,
    QKV,
    QKVO,
    SLIDING,
    biases,
    dense_first,
    either,
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

SPARSE = "minimax_m3_sparse"


@family("granitemoe", "GraniteMoeForCausalLM", tied=False)
@family("granitemoeshared", "GraniteMoeSharedForCausalLM", tied=False)
def granitemoeshared(c: Config, i: int) -> Block:
    """Granite with a mixture of experts in every layer, and a dense layer beside them where it has
    a width."""
    shared = c.count("shared_intermediate_size", 0, least=0)
    feed = experts(c, "num_local_experts", width="intermediate_size", shared_width=shared)
    return layer(grouped(c), feed)


@family("hy_v3", "HYV3ForCausalLM", tied=False)
def hy_v3(c: Config, i: int) -> Block:
    """Norms of each head's queries and keys; a dense layer, then experts beside shared ones."""
    attention, bias = grouped(c, qk_norm="head"), c.flag("mlp_bias", False)
    feed = dense_first(c, i, "num_experts", dense=1, shared="num_shared_experts", bias=bias)
    return layer(attention, feed)


@family("minimax_m2", "MiniMaxM2ForCausalLM", tied=False)
def minimax_m2(c: Config, i: int) -> Block:
    """Norms of all queries and of all keys, half of each head rotated, experts in every layer."""
    attention = grouped(c, qk_norm="full", rotary_dim=_rotated(c), biases=())
    return layer(attention, experts(c, "num_local_experts", width="intermediate_size"))


def _rotated(c: Config) -> int:
    """How much of each head is rotated: rotary_dim, or else a part of it."""
    width = head_dim(c)
    rotated = c.count("rotary_dim", rotary(c, width))
    c.require(rotated <= width, f"'rotary_dim' is {rotated}, but a head is {width} wide")
    return rotated


def _m3_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published form has kinds of layer as 0 and 1."""
    inner, found = fields.get("sparse_attention_config"), dict(fields)
    marked = inner.get("sparse_attention_freq") if isinstance(inner, Mapping) else None
    for name, marks, no, yes in (
        ("layer_types", marked, FULL, SPARSE),
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
    attention = grouped(c, qk_norm="head", rotary_dim=_rotated(c), indexer=indexer, biases=())
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
    plain, d = grouped(c, rotary_dim=head_dim(c) // 2, biases=()), c.d_model
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
        window=c.count("sliding_window", 513) if kind == SLIDING else None,
    )
    routes = is_sparse(c, i) and c.count("num_experts", least=0) > 0
    beside = "shared_expert_intermediate_size"
    return layer(attention, either(c, routes, "num_experts", beside=beside))


@family("kolibri1", "Kolibri1ForCausalLM", tied=False)
def kolibri1(c: Config, i: int) -> Block:
    """Norms on both sides of each part and of heads, a window in four layers of five, experts
    beside a shared one."""
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % 5 else FULL)
    feed = experts(c, "num_experts", beside="shared_expert_intermediate_size")
    return layer(grouped(c, qk_norm="head", window=reach, biases=()), feed, norms=4)


@family("beam", "BeamForCausalLM", tied=False)
def beam(c: Config, i: int) -> Block:
    """Norms on both sides of each part and of heads, a gate on attention's output with one bias a
    head, a window in five layers of six; the others do not rotate."""
    last = c.layers - 1
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % 6 and i < last else FULL)
    rope = c.get("rope_parameters")
    stated = rope if isinstance(rope, Mapping) else {SLIDING: {}}
    rotates = stated.get(SLIDING if reach else FULL) is not None
    plain = grouped(c, biases=())
    gate = PerToken("gate_proj.bias", plain.heads * plain.head_dim, weights=plain.heads)
    attention = grouped(
        c,
        qk_norm="head",
        gate="element",
        extra=(gate,),
        window=reach,
        rotary_dim=None if rotates else 0,
    )
    return layer(attention, dense_first(c, i, "num_experts", dense=3), norms=4)


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
    how: dict[str, Any] = {"shared": "moe_num_shared_experts", "shared_bias": found}
    return layer(attention, experts(c, "num_experts", adds=True, extra=_for_pictures(c), **how))


def _for_pictures(c: Config) -> tuple[PerToken, ...]:
    """Weights that a token of text is never sent to."""
    count, d, width = c.count("num_experts"), c.d_model, c.count("picture_intermediate_size")
    unused = PerToken("experts.for_pictures", weights=3 * d * width, experts=count)
    return (unused, PerToken("router.for_pictures", table=(d + 1) * count))


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
        norm="plain_norm",
        qk_norm="head" if rotates and c.flag("use_qk_norm", True) else None,
        rotary_dim=None if rotates else 0,
        chunk=c.optional("attention_chunk_size") if kind == CHUNKED else None,
    )
    step, among = c.count("interleave_moe_layer_step", 1), c.entries("moe_layers", int)
    is_sparse = i in among if c.has("moe_layers") else i % step == step - 1
    if not is_sparse:
        return layer(attention, mlp(c, width="intermediate_size_mlp"))
    width = "intermediate_size"
    feed = experts(c, "num_local_experts", width=width, beside=width, runs_all=True)
    return layer(attention, feed)


@family("glm4_moe", "Glm4MoeForCausalLM", tied=False)
def glm4_moe(c: Config, i: int) -> Block:
    """GLM 4 with experts beside shared ones after the first layers, and perhaps norms of heads."""
    normed = "head" if c.flag("use_qk_norm", False) else None
    return layer(_glm_attention(c, False, qk_norm=normed), feed(c, i))


@family("glm4v_moe_text", "Glm4vMoeForConditionalGeneration", tied=False)
def glm4v_moe_text(c: Config, i: int) -> Block:
    """GLM 4.5 inside a model that sees."""
    return layer(_glm_attention(c, True), feed(c, i))


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
    first = c.count("max_window_layers", 62, least=0)
    if not c.has("sliding_window") and "sliding_window" not in c.fields:
        c = c.but({"sliding_window": 4096})
    has_window = c.has("sliding_window")
    reach = sliding(c, i, lambda i: SLIDING if has_window and i >= first else FULL)
    attention = grouped(c, or_one_each=said_null(c), qk_norm="head", window=reach)
    return layer(attention, feed(c, i))


@family("flex_olmo", "FlexOlmoForCausalLM", tied=False)
@family("olmoe", "OlmoeForCausalLM", tied=False)
def olmoe(c: Config, i: int) -> Block:
    """Llama with a norm of all queries and one of all keys, and experts in every layer; FlexOlmo
    has its norms after the parts."""
    routed = experts(c, "num_experts", width="intermediate_size")
    return layer(grouped(c, or_one_each=True, qk_norm="full"), routed)


@family("exaone_moe", "ExaoneMoeForCausalLM", tied=False)
def exaone_moe(c: Config, i: int) -> Block:
    """EXAONE 4 with norms before the parts, and experts beside shared ones."""
    feed = dense_first(c, i, "num_experts", shared="num_shared_experts")
    return layer(exaone_attention(c, i), feed)


@family(
    "ernie4_5_moe",
    "Ernie4_5_MoeForCausalLM",
    tied=True,
    unembedding_bias=lambda c: c.flag("use_bias", False),
)
def ernie4_5_moe(c: Config, i: int) -> Block:
    """ERNIE 4.5 with experts beside shared ones in a range of layers."""
    found = c.flag("use_bias", False)
    attention = grouped(c, or_one_each=said_null(c), biases=QKVO if found else ())
    first = c.count("moe_layer_start_index", 1, least=0)
    last, every = c.count("moe_layer_end_index", -1, least=-1), c.count("moe_layer_interval", 1)
    routes = (i + 1) % every == 0 and first <= i <= (c.layers - 1 if last == -1 else last)
    shared = "moe_num_shared_experts"
    feed = either(c, routes, "num_experts", shared=shared, adds=True, bias=found)
    return layer(attention, feed)


@family("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", tied=False)
def hunyuan_v1_moe(c: Config, i: int) -> Block:
    """Hunyuan with experts of the dense layer's width beside a shared one."""
    own = c.of_layer(i, "num_experts", "num_experts_per_tok")
    c.require(isinstance(c.get("num_experts"), int), "'num_experts' must be one number here")
    width = "intermediate_size"
    routed = experts(own, "num_experts", width=width, beside=width)
    return layer(grouped(c, or_one_each=True, qk_norm="head"), routed)


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
    return layer(attention, dense_first(c, i, "n_routed_experts", dense=1))


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
    unembedding_bias=lambda c: c.flag("lm_head_bias", False),
)
def phimoe(c: Config, i: int) -> Block:
    """Mixtral with layer norms; its router always chooses two."""
    attention = grouped(c, window=window(c, i))
    two = c.but({"num_experts_per_tok": 2})
    routed = experts(two, "num_local_experts", width="intermediate_size")
    return layer(attention, routed)


@family("afmoe", "AfmoeForCausalLM", tied=False)
def afmoe(c: Config, i: int) -> Block:
    """A gate on every element of attention's output, four norms, windows in three layers of four,
    whose complement does not rotate; experts after the first dense layers."""
    every = c.count("global_attn_every_n_layers", 4)
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % every else FULL)
    attention = grouped(
        c,
        or_one_each=True,
        qk_norm="head",
        gate="element",
        window=reach,
        rotary_dim=None if reach else 0,
    )
    routes = i >= c.count("num_dense_layers", 1, least=0)
    feed = either(c, routes, "num_experts", shared="num_shared_experts", adds=True)
    return layer(attention, feed, norms=4)


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
        window=c.count("sliding_window", 512) if kind == SLIDING else None,
        rotary_dim=rotary(c, c.count("head_dim"), 0.5 if kind == FULL else 1, among=kind),
    )
    beside = "shared_expert_intermediate_size"
    feed = dense_first(c, i, "num_experts", dense=1, beside=beside, adds=True)
    return layer(attention, feed)


def output_gate(c: Config) -> str:
    """One gate a head, or else one for every element."""
    stated = c.get("gating")
    is_known = stated is None or type(stated) is bool or stated in ("per-head", "per-element")
    c.require(is_known, f"'gating' must be true, 'per-head' or 'per-element', got {stated!r}")
    return "head" if stated in (None, True, "per-head") else "element"


@family("qwen3_vl_moe_text", "Qwen3VLMoeForConditionalGeneration", tied=True)
def qwen3_vl_moe_text(c: Config, i: int) -> Block:
    """Qwen 3 with experts inside a model that sees."""
    attention = grouped(c, qk_norm="head")
    step = c.count("decoder_sparse_step", 1)
    is_dense = i in c.entries("mlp_only_layers", int) or (i + 1) % step
    return layer(attention, mlp(c) if is_dense else experts(c, "num_experts"))


def _step_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published form has lists that go on over the MTP layers."""
    found = dict(fields)
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
        window=c.count("sliding_window") if kind == SLIDING else None,
    )
    routes, bias = sparse(c, i, lambda i: i in _step_sparse(c)), c.flag("mlp_bias", False)
    feed = either(c, routes, "n_routed_experts", beside="share_expert_dim", bias=bias)
    return layer(attention, feed)


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
    inner, outer = c.inside("ffn_config"), c.inside("attn_config")
    attention = grouped(
        c,
        kv_heads=outer.count("kv_n_heads", 1),
        head_dim=head_dim(c, stated=False),
        biases=(),
    )
    kind = inner.inside("ffn_act_fn").read("name", str, "silu")
    c.require(kind == "silu", f"'ffn_act_fn' must be 'silu' to be counted here, got {kind!r}")
    count, chosen = inner.count("moe_num_experts", 4), inner.count("moe_top_k", 1)
    c.require(chosen <= count, f"'moe_top_k' is {chosen}, but 'moe_num_experts' is {count}")
    width = inner.count("ffn_hidden_size", 3584)
    return layer(attention, Mixture(experts=count, per_token=chosen, width=width))


def _cohere_norm(c: Config) -> str:
    return "rms_norm" if c.get("rms_norm_eps") is not None else "layer_norm_no_bias"


@family("cohere2_moe", "Cohere2MoeForCausalLM", tied=True, norm=_cohere_norm)
def cohere2_moe(c: Config, i: int) -> Block:
    """Cohere 2 with experts after the first dense layers, whose global layers do rotate."""
    dense = c.count("first_k_dense_replace", 0, least=0)
    early = c.count("prefix_dense_sliding_window_pattern", 1)
    late = c.count("sliding_window_pattern", 4)

    def rule(i: int) -> str:
        is_local = (i + 1) % early if i < dense else (i - dense + 1) % late
        return SLIDING if is_local else FULL

    is_sparse = sparse(c, i, lambda i: i >= dense)
    reach = c.count("sliding_window", 4096) if c.kind(i, rule, FULL, SLIDING) == SLIDING else None
    rotates = reach is not None or (not is_sparse and early == 1)
    attention = grouped(c, or_one_each=True, window=reach, rotary_dim=None if rotates else 0)
    if is_sparse:
        width, shared = "intermediate_size", "num_shared_experts"
        feed = experts(c, "num_experts", width=width, shared=shared)
        return layer(attention, feed, norms=1, parallel=True)
    name = "prefix_dense_intermediate_size"
    plain = mlp(c, width=name if c.has(name) else "intermediate_size")
    return layer(attention, plain, norms=1, parallel=True)
