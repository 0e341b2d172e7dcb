"""Families with linear attention, a recurrence or a short convolution in most of their layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import (
    RGLRU,
    Attention,
    Block,
    DeltaRule,
    LightningAttention,
    Mixture,
    Mlp,
    Part,
    PerToken,
    ShortConvolution,
    TimeMix,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.model.families.config import MOST_LAYERS, Config
from costlib.model.families.decoders import is_sparse
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    LINEAR,
    QKV,
    QKVO,
    SLIDING,
    biases,
    dense_first,
    experts,
    grouped,
    head_dim,
    latent,
    layer,
    mlp,
    rotary,
)
from costlib.model.families.streams import begun, over_blocks

CONV, LAYERS, NARROW = "conv", "num_hidden_layers", "routed_expert_hidden_size"


@family(
    "qwen3_next",
    "Qwen3NextForCausalLM",
    tied=False,
    mtp_layer=lambda c: layer(_qwen_attention(c), _qwen_experts(c)),
)
def qwen3_next(c: Config, i: int) -> Block:
    """Gated delta rule, and in every fourth layer attention with a gate; many small experts."""
    if not is_sparse(c, i) or c.count("num_experts", least=0) == 0:
        return layer(_qwen_mixer(c, i), mlp(c, usual=5632))
    return layer(_qwen_mixer(c, i), _qwen_experts(c))


@family(
    "qwen3_5_text",
    "Qwen3_5ForCausalLM",
    tied=False,
    mtp_layer=lambda c: layer(_qwen_attention(c), mlp(c)),
)
def qwen3_5_text(c: Config, i: int) -> Block:
    """Qwen3-Next with dense feed-forward layers."""
    return layer(_qwen_mixer(c, i), mlp(c))


@family(
    "qwen3_5_moe_text",
    "Qwen3_5MoeForCausalLM",
    tied=False,
    mtp_layer=lambda c: layer(_qwen_attention(c), _qwen_experts(c)),
)
def qwen3_5_moe_text(c: Config, i: int) -> Block:
    """Qwen3-Next with experts in every layer."""
    return layer(_qwen_mixer(c, i), _qwen_experts(c))


def _qwen_mixer(c: Config, i: int) -> Part:
    every = c.count("full_attention_interval")
    if c.kind(i, lambda i: LINEAR if (i + 1) % every else FULL, FULL, LINEAR) == LINEAR:
        return delta_rule(c)
    return _qwen_attention(c)


def _qwen_attention(c: Config) -> Attention:
    """A gate on the output, and a quarter of each head rotated."""
    found = biases(c, "attention_bias", False, (*QKVO, "gate_proj"))
    rotated = rotary(c, head_dim(c), 0.25)
    return grouped(c, qk_norm="head", gate="element", biases=found, rotary_dim=rotated)


def _qwen_experts(c: Config) -> Mixture:
    shared = c.count("shared_expert_intermediate_size")
    return experts(c, "num_experts", shared_width=shared, shared_gate=True)


def delta_rule(c: Config) -> DeltaRule:
    """Keys and values of a width and a number of their own; one decay a head."""
    keys, values = c.count("linear_num_key_heads"), c.count("linear_num_value_heads")
    text = f"'linear_num_key_heads' must divide 'linear_num_value_heads' ({values}), got {keys}"
    c.require(values % keys == 0, text)
    return DeltaRule(
        key_heads=keys,
        value_heads=values,
        key_dim=c.count("linear_key_head_dim"),
        value_dim=c.count("linear_value_head_dim"),
        kernel=c.count("linear_conv_kernel_dim", 4),
    )


def _olmo_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Sizes of the delta rule that follow from others: as many heads, keys of 3/4 their share."""
    found = {name: value for name, value in fields.items() if value is not None}
    heads, d = found.get("num_attention_heads"), found.get("hidden_size")
    for name in ("num_key_value_heads", "linear_num_key_heads", "linear_num_value_heads"):
        found.setdefault(name, heads)
    keys = found["linear_num_key_heads"]
    if type(keys) is int and keys > 0 and type(d) is int:
        found.setdefault("linear_key_head_dim", 3 * d // (4 * keys))
    width = found.get("linear_key_head_dim")
    found.setdefault("linear_value_head_dim", 2 * width if type(width) is int else None)
    return found


@family("olmo_hybrid", "OlmoHybridForCausalLM", tied=False, rewrite=_olmo_fields)
def olmo_hybrid(c: Config, i: int) -> Block:
    """Gated delta rule, and in every fourth layer OLMo 2's attention."""
    last = c.layers - 1 if c.layers < 4 else None  # there is always one with attention
    rule = {True: FULL, False: LINEAR}
    if c.kind(i, lambda i: rule[i % 4 == 3 or i == last], FULL, LINEAR) == LINEAR:
        return layer(delta_rule(c), mlp(c))
    rope = c.get("rope_parameters")
    is_rotated = isinstance(rope, Mapping) and rope.get("rope_theta") is not None
    found = biases(c, "attention_bias", False, QKVO)
    rotated = None if is_rotated else 0
    return layer(grouped(c, qk_norm="full", biases=found, rotary_dim=rotated), mlp(c))


def linear_object(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The published form has the linear layers' sizes in an object."""
    inner, found = fields.get("linear_attn_config"), dict(fields)
    for new, old in (
        ("linear_head_dim", "head_dim"),
        ("linear_num_heads", "num_heads"),
        ("linear_conv_kernel_dim", "short_conv_kernel_size"),
        ("linear_full_rank_gate", "use_full_rank_gate"),
    ):
        if isinstance(inner, Mapping) and inner.get(old) is not None:
            found[new] = inner[old]
    return found


def _kimi_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published form lists layers of each kind from 1."""
    inner, found = fields.get("linear_attn_config"), linear_object(fields)
    if not isinstance(inner, Mapping):
        return found
    full: Any = inner.get("full_attn_layers")
    kda: Any = inner.get("kda_layers")
    count = found.get(LAYERS)
    is_listed = (
        isinstance(full, list) and isinstance(kda, list) and found.get("layer_types") is None
    )
    if is_listed and type(count) is int and count <= MOST_LAYERS:
        kinds = {(True, False): FULL, (False, True): LINEAR}
        listed = [(i in full, i in kda) for i in range(1, count + 1)]
        found["layer_types"] = [kinds.get(pair, "in both lists or in none") for pair in listed]
    return found


def _kimi_end(c: Config) -> tuple[PerToken, ...]:
    """Kimi K3: what the end of the model reads of earlier layers."""
    each = c.optional("attn_res_block_size")
    return () if each is None else over_blocks(c, "end", begun(c.layers, each), norm="rms_norm")


@family(
    "kimi_linear", "KimiLinearForCausalLM", always_tied=False, rewrite=_kimi_fields, last=_kimi_end
)
def kimi_linear(c: Config, i: int) -> Block:
    """Kimi delta attention (one decay for each key element), and latent attention in the rest. K3
    has gates of full rank on both, experts of a narrower stream, and parts that attend to what
    earlier blocks of layers began with."""
    each = c.optional("attn_res_block_size")
    around: tuple[PerToken, ...] = ()
    if each is not None:
        around = over_blocks(c, "attention_input", begun(i, each), norm="rms_norm")
        around += over_blocks(c, "ffn_input", begun(i + 1, each), norm="rms_norm")
    kind = c.kind(i, lambda i: LINEAR if i == 0 or i % 4 else FULL, FULL, LINEAR)
    if kind == FULL:
        found = biases(c, "attention_bias", False, ("q_a_proj", "kv_a_proj", "o_proj"))
        gate = "element" if c.flag("mla_use_output_gate", False) else None
        return layer(latent(c, biases=found, gate=gate), _kimi_feed(c, i), extra=around)
    width = c.count("linear_head_dim")
    rank = None if c.flag("linear_full_rank_gate", False) else width
    mixer = kda(c, decay_rank=width, output_rank=rank)
    return layer(mixer, _kimi_feed(c, i), extra=around)


def _bailing_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Heads of the linear layers: as many and as wide as 'head_dim' says, unless it says so."""
    found = dict(fields)
    for name, same_as, usual in (
        ("linear_head_dim", "head_dim", 128),
        ("linear_num_heads", "num_attention_heads", None),
        ("linear_conv_kernel_dim", "short_conv_kernel_size", 4),
    ):
        if found.get(name) is None:
            found[name] = found.get(same_as, usual)
    return found


@family("bailing_hybrid", "BailingHybridForCausalLM", always_tied=False, rewrite=_bailing_fields)
def bailing_hybrid(c: Config, i: int) -> Block:
    """Kimi Linear with full-rank gates, and one gate a head on latent attention's output."""
    every = c.count("layer_group_size")
    if c.kind(i, lambda i: LINEAR if (i + 1) % every else FULL, FULL, LINEAR) == LINEAR:
        return layer(kda(c), _kimi_feed(c, i))
    found = biases(c, "attention_bias", False, ("kv_a_proj", "o_proj"))
    return layer(latent(c, biases=found, gate="head"), _kimi_feed(c, i))


def kda(c: Config, **ranks: Any) -> DeltaRule:
    """Kimi's delta attention: heads of one number and width, a decay for each key element."""
    heads, width = c.count("linear_num_heads"), c.count("linear_head_dim")
    return DeltaRule(
        key_heads=heads,
        value_heads=heads,
        key_dim=width,
        value_dim=width,
        kernel=c.count("linear_conv_kernel_dim"),
        decay="element",
        **ranks,
    )


def _kimi_feed(c: Config, i: int) -> Mlp | Mixture:
    """Dense layers first, or where mlp_layer_types says so; shared experts make one layer."""
    dense, narrow = c.count("first_k_dense_replace", least=0), c.optional(NARROW)
    more: dict[str, Any] = {"shared": "n_shared_experts"}
    if narrow is not None:
        has_norm = c.flag("latent_moe_use_norm", False)
        normed = (normalisation("experts.norm", narrow, "rms_norm"),) if has_norm else ()
        more |= {"latent": narrow, "extra": normed}
    return dense_first(c, i, dense, "num_experts", **more)


@family("minimax", "MiniMaxForCausalLM", tied=False)
def minimax(c: Config, i: int) -> Block:
    """Lightning attention and full attention by turns, experts in every layer."""
    feed = experts(c, "num_local_experts", width="intermediate_size")
    if c.kind(i, lambda i: LINEAR if i % 2 else FULL, FULL, LINEAR) == FULL:
        return layer(grouped(c), feed)
    heads, block = c.count("num_attention_heads"), c.count("block_size", 256)
    return layer(LightningAttention(heads=heads, head_dim=head_dim(c), block=block), feed)


@family("lfm2", "Lfm2ForCausalLM", tied=True)
def lfm2(c: Config, i: int) -> Block:
    """Short convolutions, and attention in some layers; the stated width is cut by a third."""
    attends = c.entries("full_attn_idxs", int) if c.has("full_attn_idxs") else range(c.layers)
    kind = c.kind(i, lambda i: FULL if i in attends else CONV, FULL, CONV)
    mixer = _convolution(c) if kind == CONV else grouped(c, qk_norm="head")
    return layer(mixer, Mlp(width=_lfm_width(c)))


def _lfm_width(c: Config) -> int:
    """Two thirds of what is stated, times a factor, rounded up to a multiple."""
    width = c.count("intermediate_size")
    if not c.flag("block_auto_adjust_ff_dim", True):
        return width
    width, factor = int(2 * width / 3), c.fields.get("block_ffn_dim_multiplier", 1.0)
    if factor is None:
        return width
    c.require(
        type(factor) in (int, float) and 0 < factor < 10**6,
        f"'block_ffn_dim_multiplier' must be a number above 0, got {factor!r}",
    )
    multiple = c.count("block_multiple_of", 256)
    return -(-int(factor * width) // multiple) * multiple


@family("lfm2_moe", "Lfm2MoeForCausalLM", tied=True)
def lfm2_moe(c: Config, i: int) -> Block:
    """LFM2 with experts after the first layers; widths are as stated."""
    mixer = _convolution(c)
    if c.kind(i, None, FULL, CONV) == FULL:
        return layer(grouped(c, qk_norm="head"), _lfm_feed(c, i))
    return layer(mixer, _lfm_feed(c, i))


def _lfm_feed(c: Config, i: int) -> Mlp | Mixture:
    return mlp(c) if i < c.count("num_dense_layers", 2, least=0) else experts(c, "num_experts")


@family("lfm3", "Lfm3ForCausalLM", tied=True)
def lfm3(c: Config, i: int) -> Block:
    """LFM2 with windows in some layers, a gate a head, and norms after the parts too."""
    kinds = {2: FULL, 0: SLIDING}
    kind = c.kind(i, lambda i: kinds.get(i % 4, CONV) if i else CONV, FULL, SLIDING, CONV)
    norms = 4 if c.flag("use_sandwich_norm", True) else 2
    if kind == CONV:
        return layer(_convolution(c), mlp(c), norms=norms)
    attention = grouped(
        c,
        qk_norm="head",
        gate="head" if c.flag("use_attention_gate", True) else None,
        biases=biases(c, "attention_bias", False, QKVO),
        window=c.count("sliding_window") if kind == SLIDING else None,
    )
    return layer(attention, mlp(c), norms=norms)


def _convolution(c: Config) -> ShortConvolution:
    kernel, bias = c.count("conv_L_cache", 3), c.flag("conv_bias", False)
    return ShortConvolution(width=c.d_model, kernel=kernel, bias=bias)


def _griffin_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every query head has a KV head of its own, unless it is said."""
    kv_heads = fields.get("num_key_value_heads") or fields.get("num_attention_heads")
    return {**fields, "num_key_value_heads": kv_heads}


@family("recurrent_gemma", "RecurrentGemmaForCausalLM", tied=True, rewrite=_griffin_fields)
def recurrent_gemma(c: Config, i: int) -> Block:
    """Griffin: two layers of a gated recurrence, one of attention in a window, and so on."""
    kinds = c.entries("block_types", str)
    c.require(
        bool(kinds) and set(kinds) <= {"recurrent", "attention"},
        f"'block_types' must name 'recurrent' and 'attention' layers, got {kinds!r}",
    )
    feed = Mlp(width=c.count("intermediate_size") // 2, bias=True, activation="gelu_tanh")
    if kinds[i % len(kinds)] == "recurrent":
        heads, width = c.count("num_attention_heads"), c.count("lru_width", c.d_model)
        c.require(width % heads == 0, f"'num_attention_heads' ({heads}) must divide the recurrence")
        return layer(RGLRU(width=width, heads=heads, kernel=c.count("conv1d_width")), feed)
    found = (*biases(c, "attention_bias", False, QKV), "o_proj")
    window, rotated = c.count("attention_window_size"), rotary(c, head_dim(c, stated=False), 0.5)
    return layer(grouped(c, biases=found, window=window, rotary_dim=rotated), feed)


@family("rwkv", "RwkvForCausalLM", tied=False, norm="layer_norm", embedding_norm=True)
def rwkv(c: Config, i: int) -> Block:
    """RWKV-4: a recurrence in place of attention, and both parts look back one token."""
    d, width = c.d_model, c.count("attention_hidden_size", c.d_model)
    shift = elementwise("ffn.shift", 2 * d, "residual", reads=2 * d, weights=2 * d)
    gate = (*linear_step("ffn.receptance", d, d), elementwise("ffn.gated", d, "sigmoid_gate"))
    feed = Mlp(
        width=c.count("intermediate_size", 4 * d),
        gated=False,
        activation="relu2",
        extra=(shift, *gate),
    )
    return layer(TimeMix(width=width, d_in=d), feed, norm="layer_norm")
