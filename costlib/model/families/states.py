"""Families whose layers keep a state: linear attention, recurrences, convolutions, Mamba."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import (
    RGLRU,
    Attention,
    Block,
    DeltaRule,
    LightningAttention,
    Mamba,
    Mamba2,
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
    activation,
    agreed,
    biases,
    dense_first,
    either,
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
    beside = "shared_expert_intermediate_size"
    return experts(c, "num_experts", beside=beside, shared_gate=True)


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


@family("olmo_hybrid", "OlmoHybridForCausalLM", tied=False)
def olmo_hybrid(c: Config, i: int) -> Block:
    """Gated delta rule, and in every fourth layer OLMo 2's attention."""
    last = c.layers - 1 if c.layers < 4 else None  # there is always one with attention
    rule = {True: FULL, False: LINEAR}
    if c.kind(i, lambda i: rule[i % 4 == 3 or i == last], FULL, LINEAR) == LINEAR:
        keys = c.count(
            "linear_key_head_dim", 3 * c.d_model // (4 * c.count("linear_num_key_heads"))
        )
        values = c.count("linear_value_head_dim", 2 * keys)
        c = c.but({"linear_key_head_dim": keys, "linear_value_head_dim": values})
        return layer(delta_rule(c), mlp(c))
    rope = c.get("rope_parameters")
    is_rotated = isinstance(rope, Mapping) and rope.get("rope_theta") is not None
    rotated = None if is_rotated else 0
    return layer(grouped(c, qk_norm="full", rotary_dim=rotated), mlp(c))


def _kimi_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The published form lists layers of each kind from 1."""
    inner, found = fields.get("linear_attn_config"), dict(fields)
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


@family("bailing_hybrid", "BailingHybridForCausalLM", always_tied=False)
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
    narrow = c.optional(NARROW)
    more: dict[str, Any] = {"shared": "n_shared_experts"}
    if narrow is not None:
        has_norm = c.flag("latent_moe_use_norm", False)
        normed = (normalisation("experts.norm", narrow, "rms_norm"),) if has_norm else ()
        more |= {"latent": narrow, "extra": normed}
    return dense_first(c, i, "num_experts", **more)


@family("minimax", "MiniMaxForCausalLM", tied=False)
def minimax(c: Config, i: int) -> Block:
    """Lightning attention and full attention by turns, experts in every layer."""
    feed = experts(c, "num_local_experts", width="intermediate_size")
    if c.kind(i, lambda i: LINEAR if i % 2 else FULL, FULL, LINEAR) == FULL:
        return layer(grouped(c, biases=()), feed)
    heads, block = c.count("num_attention_heads"), c.count("block_size", 256)
    return layer(LightningAttention(heads=heads, head_dim=head_dim(c), block=block), feed)


@family("lfm2", "Lfm2ForCausalLM", tied=True)
def lfm2(c: Config, i: int) -> Block:
    """Short convolutions, and attention in some layers; the stated width is cut by a third."""
    attends = c.entries("full_attn_idxs", int) if c.has("full_attn_idxs") else range(c.layers)
    kind = c.kind(i, lambda i: FULL if i in attends else CONV, FULL, CONV)
    mixer = _convolution(c) if kind == CONV else grouped(c, qk_norm="head", biases=())
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
        return layer(grouped(c, qk_norm="head", biases=()), _lfm_feed(c, i))
    return layer(mixer, _lfm_feed(c, i))


def _lfm_feed(c: Config, i: int) -> Mlp | Mixture:
    return either(c, i >= c.count("num_dense_layers", 2, least=0), "num_experts")


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
        window=c.count("sliding_window") if kind == SLIDING else None,
    )
    return layer(attention, mlp(c), norms=norms)


def _convolution(c: Config) -> ShortConvolution:
    kernel, bias = c.count("conv_L_cache", 3), c.flag("conv_bias", False)
    return ShortConvolution(width=c.d_model, kernel=kernel, bias=bias)


@family("recurrent_gemma", "RecurrentGemmaForCausalLM", tied=True)
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
    return layer(TimeMix(width=width, d_in=d), feed)


@family("mamba", "MambaForCausalLM", tied=True)
def mamba(c: Config, i: int) -> Block:
    """A state space of the first kind and nothing else."""
    return layer(_mamba(c, c.count("intermediate_size", _expanded(c))), norms=1)


@family("falcon_mamba", "FalconMambaForCausalLM", tied=True)
def falcon_mamba(c: Config, i: int) -> Block:
    """Mamba with norms, without weights, of what steers the scan."""
    width = c.count("intermediate_size", _expanded(c))  # falcon-mamba-7b says 'expand' of 16, and 2
    return layer(_mamba(c, width, inner_norms=3, weightless_norms=True), norms=1)


@family("mamba2", "Mamba2ForCausalLM", tied=False)
def mamba2(c: Config, i: int) -> Block:
    """A state space of the second kind and nothing else."""
    return layer(_mamba2(c, _expanded(c)), norms=1)


@family("jamba", "JambaForCausalLM", tied=False)
def jamba(c: Config, i: int) -> Block:
    """Mamba, attention in every eighth layer, experts in every other one; nothing is rotated."""
    kind = agreed(c, i, lambda i: FULL if _is_turn(c, i, "attn_layer") else LINEAR)
    mixer = grouped(c, rotary_dim=0, biases=()) if kind == FULL else _mamba(c, inner_norms=3)
    if not _is_turn(c, i, "expert_layer") or c.count("num_experts", least=0) < 2:
        return layer(mixer, mlp(c))
    return layer(mixer, experts(c, "num_experts", width="intermediate_size"))


def _is_turn(c: Config, i: int, name: str) -> bool:
    period, offset = c.count(f"{name}_period"), c.count(f"{name}_offset", least=0)
    text = f"'{name}_offset' must be less than '{name}_period' ({period}), got {offset}"
    c.require(offset < period, text)
    return i % period == offset


@family("bamba", "BambaForCausalLM", tied=False)
def bamba(c: Config, i: int) -> Block:
    """Mamba-2, and attention in the layers that are named; half of each head is rotated."""
    attends = c.entries("attn_layer_indices", int)
    kind = agreed(c, i, lambda i: FULL if i in attends else LINEAR)
    if kind == LINEAR:
        mixer: Part = _mamba2(c, _expanded(c))
    else:
        mixer = grouped(c, rotary_dim=head_dim(c) // 2)
    return layer(mixer, mlp(c, bias=c.flag("mlp_bias", False)))


@family("granitemoehybrid", "GraniteMoeHybridForCausalLM", tied=False)
def granitemoehybrid(c: Config, i: int) -> Block:
    """Mamba-2 or attention; experts, if there are any, beside a dense layer that always is."""
    if c.kind(i, lambda _: LINEAR, FULL, LINEAR) == LINEAR:
        mixer: Part = _mamba2(c, _expanded(c))
    else:
        is_rotated = c.get("position_embedding_type") == "rope"
        mixer = grouped(c, rotary_dim=None if is_rotated else 0)
    if c.count("num_local_experts", least=0) == 0:
        return layer(mixer, mlp(c, width="shared_intermediate_size", name="shared"))
    shared = c.count("shared_intermediate_size")
    feed = experts(c, "num_local_experts", width="intermediate_size", shared_width=shared)
    return layer(mixer, feed)


@family("falcon_h1", "FalconH1ForCausalLM", tied=False)
def falcon_h1(c: Config, i: int) -> Block:
    """Attention and Mamba-2 side by side in every layer, both reading one norm."""
    attention = grouped(c)
    width = c.count("mamba_d_ssm") if c.has("mamba_d_ssm") else _expanded(c)
    scan = _mamba2(
        c,
        width,
        gate_norm=c.flag("mamba_rms_norm", False),
        out_bias=c.flag("projectors_bias", False),
    )
    return layer(attention, scan, mlp(c, bias=c.flag("mlp_bias", False)))


def _nemotron_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Kinds of layer are a list, or letters; how many layers there are follows from it."""
    kinds, letters = fields.get("layers_block_type"), fields.get("hybrid_override_pattern")
    if kinds is None and isinstance(letters, str) and set(letters) <= set(_LETTERS):
        kinds = [_LETTERS[letter] for letter in letters]
    found = dict(fields) if kinds is None else {**fields, "layers_block_type": kinds}
    if isinstance(kinds, list) and found.get("num_hidden_layers") is None:
        found["num_hidden_layers"] = len(kinds)
    return found


_LETTERS = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}


@family("nemotron_h", "NemotronHForCausalLM", always_tied=False, rewrite=_nemotron_fields)
def nemotron_h(c: Config, i: int) -> Block:
    """One part a layer, with one norm: Mamba-2, attention, or a feed-forward layer (no gates)."""
    kind = c.kind(i, None, FULL, LINEAR, "mlp", "moe")
    if kind == LINEAR:
        width = c.count("mamba_n_heads") * c.count("mamba_d_head")
        return layer(_mamba2(c, width), norms=1)
    if kind == FULL:
        return layer(grouped(c, rotary_dim=0, biases=()), norms=1)
    return layer(_nemotron_feed(c, kind), norms=1)


def _nemotron_feed(c: Config, kind: str) -> Mlp | Mixture:
    """Experts may read a narrower, projected input; the shared one reads it all."""
    bias, act = c.flag("mlp_bias", False), activation(c, "relu2", "mlp_hidden_act")
    if kind == "mlp":
        return mlp(c, gated=False, bias=bias, activation=act)
    text = "'mlp_bias' with 'moe_latent_size' is not counted here"
    c.require(not (bias and c.has("moe_latent_size")), text)
    return experts(
        c,
        "n_routed_experts",
        gated=False,
        activation=act,
        shared_bias=bias,
        shared_width=c.count("moe_shared_expert_intermediate_size"),
        latent=c.optional("moe_latent_size"),
    )


HYBRID = "hybrid"


@family("zamba2", "Zamba2ForCausalLM", tied=True)
def zamba2(c: Config, i: int) -> Block:
    """Mamba-2; in some layers a block of attention and feed-forward comes first, used again and
    again with small adapters. It reads the embedding too, and so is twice as wide."""
    scan = _mamba2(c, _expanded(c))
    if c.kind(i, None, HYBRID, LINEAR) == LINEAR:
        return layer(scan, norms=1)
    d, rank, bias = c.d_model, c.count("adapter_rank"), c.flag("mamba_proj_bias")
    width = c.count("intermediate_size", 4 * d)
    feed = Mlp(width=width, bias=bias, activation=activation(c, "gelu"))
    around = linear_step("adapter.down", d, rank) + linear_step("adapter.up", rank, 2 * width)
    if c.flag("use_shared_attention_adapter", False):
        for name in QKV:
            around += linear_step(f"{name}.down", 2 * d, rank) + linear_step(
                f"{name}.up", rank, 2 * d
            )
    rotated = None if c.flag("use_mem_rope", False) else 0
    return _hybrid(c, i, (_wide_attention(c, rotary_dim=rotated), feed), scan, around)


@family("zamba", "ZambaForCausalLM", tied=True)
def zamba(c: Config, i: int) -> Block:
    """Mamba, and one block of attention and feed-forward that is used again and again."""
    scan = _mamba(c)
    if c.kind(i, None, HYBRID, LINEAR) == LINEAR:
        return layer(scan, norms=1)
    c.require("num_key_value_heads" in c.fields, "'num_key_value_heads' is missing")
    shared = (_wide_attention(c, rotary_dim=0), mlp(c, default="gelu"))
    return _hybrid(c, i, shared, scan)


def _wide_attention(c: Config, **more: Any) -> Attention:
    """Attention that reads the residual stream beside the embedding."""
    heads, d = c.count("num_attention_heads"), c.d_model
    kv_heads = c.count("num_key_value_heads", heads)
    text = f"'num_attention_heads' ({heads}) must divide twice 'hidden_size' ({d})"
    c.require(2 * d % heads == 0, text)
    c.require(heads % kv_heads == 0, f"'num_key_value_heads' must divide {heads}, got {kv_heads}")
    c.same("attention_hidden_size", 2 * d, "'hidden_size'")
    c.same("attention_head_dim", 2 * d // heads, "'hidden_size'")
    return Attention(heads=heads, kv_heads=kv_heads, head_dim=2 * d // heads, d_in=2 * d, **more)


def _hybrid(
    c: Config, i: int, shared: tuple[Part, ...], scan: Part, around: tuple[PerToken, ...] = ()
) -> Block:
    """A shared block, a projection of its output, and a scan; the block may be another layer's."""
    wide = normalisation("shared.norm", 2 * c.d_model, "rms_norm")
    block = layer(*shared, norms=1, extra=(wide,))
    before = [c.kind(j, None, HYBRID, LINEAR) for j in range(i)].count(HYBRID)
    is_again = before >= c.count("num_mem_blocks")
    text = "'tie_word_embeddings' is off, which unties the shared blocks too: not counted here"
    c.require(c.flag("tie_word_embeddings", True) or not is_again, text)
    shared_parameters = block.parameters(c.d_model) if is_again else 0
    own = linear_step("shared.proj", c.d_model, c.d_model)
    return layer(*shared, scan, extra=(wide, *own, *around), shared_parameters=shared_parameters)


def _expanded(c: Config) -> int:
    """Channels of the scan: a multiple of the width of the residual stream."""
    return c.count("mamba_expand") * c.d_model


def _mamba(c: Config, width: int | None = None, **more: Any) -> Mamba:
    """A state space of the first kind; the rank of its steps is a 16th of d_model if "auto"."""
    is_auto = c.get("mamba_dt_rank") == "auto"
    rank = -(-c.d_model // 16) if is_auto else c.count("mamba_dt_rank")
    return Mamba(
        width=_expanded(c) if width is None else width,
        state_dim=c.count("mamba_d_state"),
        step_rank=rank,
        kernel=c.count("mamba_d_conv"),
        bias=c.flag("mamba_proj_bias"),
        conv_bias=c.flag("mamba_conv_bias"),
        **more,
    )


def _mamba2(c: Config, width: int, **more: Any) -> Mamba2:
    """A state space of the second kind; its heads make up its width."""
    heads, by = c.count("mamba_n_heads"), c.spelled("mamba_n_heads")
    groups = c.count("mamba_n_groups")
    text = f"{c.spelled('mamba_n_groups')!r} must divide {by!r} ({heads}), got {groups}"
    c.require(heads % groups == 0, text)
    c.require(width % heads == 0, f"{by!r} ({heads}) must divide the scan's width, {width}")
    if c.get("mamba_d_head") != "auto":
        text = f"{c.spelled('mamba_d_head')!r} times {by!r} must be the scan's width, {width}"
        c.require(c.count("mamba_d_head") * heads == width, text)
    return Mamba2(
        heads=heads,
        head_dim=width // heads,
        state_dim=c.count("mamba_d_state"),
        groups=groups,
        kernel=c.count("mamba_d_conv"),
        chunk=c.count("mamba_chunk_size"),
        bias=c.flag("mamba_proj_bias"),
        conv_bias=c.flag("mamba_conv_bias"),
        **more,
    )
