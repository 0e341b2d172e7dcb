"""Families with one latent, or one compressed key, a token in place of keys and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costlib.layers import (
    Block,
    CompressedAttention,
    Indexer,
    Latent,
    Mixture,
    Mlp,
    PerToken,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.decoders import deepseek_v3
from costlib.model.families.family import FAMILIES, family
from costlib.model.families.readers import (
    LINEAR,
    SLIDING,
    biases,
    dense_first,
    experts,
    latent,
    layer,
    mlp,
)
from costlib.model.families.states import kda
from costlib.model.families.streams import streams, streams_head, streams_mean

INDEXED = "indexed_attention"

LATENT_BIASES = ("q_a_proj", "kv_a_proj", "o_proj")


def feed(c: Config, i: int, dense: int | None = None) -> Mlp | Mixture:
    """DeepSeek's experts after the first dense layers, or where mlp_layer_types says so."""
    return dense_first(c, i, "n_routed_experts", dense=dense, shared="n_shared_experts")


def shared_and_routed(c: Config) -> Mixture:
    """DeepSeek's experts in every layer."""
    return experts(c, "n_routed_experts", shared="n_shared_experts")


def _latent(c: Config, **more: object) -> Latent:
    found = biases(c, "attention_bias", False, LATENT_BIASES)
    return latent(c, rank=c.usual.get("q_lora_rank"), biases=found, **more)


family("kimi_k2", "DeepseekV3ForCausalLM", tied=False)(deepseek_v3)


@family("glm4_moe_lite", "Glm4MoeLiteForCausalLM", tied=False)
def glm4_moe_lite(c: Config, i: int) -> Block:
    """GLM 4.7 Flash: DeepSeek-V3 with one dense layer."""
    c.same("head_dim", c.count("qk_rope_head_dim"), "'qk_rope_head_dim'")
    return layer(_latent(c), feed(c, i))


@family("mistral4", "Mistral4ForCausalLM", tied=False)
def mistral4(c: Config, i: int) -> Block:
    """DeepSeek-V3 without dense layers, unless the config has some."""
    return layer(_latent(c), feed(c, i))


@family("youtu", "YoutuForCausalLM", tied=True)
def youtu(c: Config, i: int) -> Block:
    """Latent attention and dense layers."""
    return layer(_latent(c), mlp(c))


@family("minicpm3", "MiniCPM3ForCausalLM", tied=True)
def minicpm3(c: Config, i: int) -> Block:
    """Latent attention and dense layers; a value is as wide as d_model shared by the heads."""
    if not c.has("v_head_dim"):
        heads = c.count("num_attention_heads")
        c.require(
            c.d_model % heads == 0,
            f"'v_head_dim' is missing, and {heads} heads do not divide 'hidden_size' ({c.d_model})",
        )
        c = c.but({"v_head_dim": c.d_model // heads})
    return layer(_latent(c), mlp(c, bias=c.flag("mlp_bias", False)))


def _indexer(c: Config, *, ranked: bool = True) -> Indexer:
    """A few small heads that score every key; the best are attended to. ``ranked``: their queries
    are made of the middle of attention's."""
    return Indexer(
        heads=c.count("index_n_heads"),
        head_dim=c.count("index_head_dim"),
        top=c.count("index_topk"),
        query_width=c.count("q_lora_rank") if ranked else None,
        rotary_dim=c.count("qk_rope_head_dim", least=0),
    )


@family("deepseek_v32", "DeepseekV32ForCausalLM", tied=False)
def deepseek_v32(c: Config, i: int) -> Block:
    """DeepSeek-V3 that attends to the keys its indexer chooses."""
    c.kind(i, lambda _: INDEXED, INDEXED)
    return layer(_latent(c, indexer=_indexer(c)), feed(c, i))


@family(
    "glm_moe_dsa",
    "GlmMoeDsaForCausalLM",
    tied=False,
    mtp_layer=lambda c: layer(_latent(c, indexer=_indexer(c)), shared_and_routed(c)),
)
def glm_moe_dsa(c: Config, i: int) -> Block:
    """GLM 5: DeepSeek-V3.2, whose layers may use what the indexer of an earlier one chose."""
    c.kind(i, lambda _: INDEXED, INDEXED)
    if _has_indexer(c, i):
        attention = _latent(c, indexer=_indexer(c))
    else:
        attention = _latent(c, top=c.count("index_topk"))
    return layer(attention, feed(c, i))


def _has_indexer(c: Config, i: int) -> bool:
    """By indexer_types, a pattern of F and S, or at a regular interval after the first layers."""
    if not c.has("indexer_types") and c.has("index_topk_pattern"):
        pattern, names = c.get("index_topk_pattern"), {"F": "full", "S": "shared"}
        if isinstance(pattern, str):
            pattern = [names.get(one, one) for one in pattern]
        c.require(isinstance(pattern, list), "'index_topk_pattern' must be a string or a list")
        c = c.but({"indexer_types": pattern})
    every, offset = c.count("index_topk_freq", 1), c.count("index_skip_topk_offset", 2, least=0)
    return _is_full(c, i, lambda i: max(i - offset + 1, 0) % every == 0)


def _is_full(c: Config, i: int, rule: Callable[[int], bool]) -> bool:
    """Whether a layer has an indexer, by indexer_types or else by a rule."""
    words = {True: "full", False: "shared"}
    kind = c.kind(i, lambda i: words[rule(i)], *words.values(), name="indexer_types")
    return kind == "full"


@family("longcat_flash", "LongcatFlashForCausalLM", tied=False)
def longcat_flash(c: Config, i: int) -> Block:
    """Each layer is two of attention and a dense feed-forward layer, and a mixture beside them.
    Experts that do nothing are refused: how many of a token's are such, only the router knows."""
    c.require(c.get("zero_expert_num") is not None, "'zero_expert_num' is missing")
    routed = experts(c, "n_routed_experts", router_bias=c.flag("router_bias", False))
    return layer(_latent(c), mlp(c), _latent(c), mlp(c), routed, norms=4)


@family("axk1", "AXK1ForCausalLM", tied=False)
def axk1(c: Config, i: int) -> Block:
    """DeepSeek-V3 with a norm after each mixture too."""
    found = feed(c, i)
    return layer(_latent(c), found, norms=3 if isinstance(found, Mixture) else 2)


@family("axk2", "AXK2ForCausalLM", tied=False)
def axk2(c: Config, i: int) -> Block:
    """DeepSeek-V3.2 with a gate on attention's output that is made with the queries, and norms that
    a narrow network scales (in a dense layer the first one alone)."""
    c.kind(i, lambda _: INDEXED, INDEXED)
    d, rank = c.d_model, c.count("gated_norm_rank", 16)
    found = feed(c, i)
    scaled = (
        *linear_step("norm.down", d, rank),
        *linear_step("norm.up", rank, d),
        elementwise("norm.gate", d, "sigmoid_gate"),
    )
    times = 2 if isinstance(found, Mixture) else 1
    attention = _latent(c, indexer=_indexer(c), gate="fused")
    return layer(attention, found, extra=tuple(step * times for step in scaled))


@family("hy_v4", "HYV4ForCausalLM", tied=False, last=streams_head)
def hy_v4(c: Config, i: int) -> Block:
    """Latent attention with sinks and a gate on its output, whose layers mostly use what the
    indexer of an earlier one chose; four residual streams; a dense layer, then experts."""
    c.kind(i, lambda _: INDEXED, INDEXED)
    own = _is_full(c, i, lambda i: i == 0 or (i - 1) % 4 == 0)
    chosen: dict[str, Any] = {"indexer": _indexer(c)} if own else {"top": c.count("index_topk")}
    attention = _latent(c, sinks=True, gate="element", **chosen)
    return layer(attention, feed(c, i, 1), residuals=0, extra=streams(c, combined=False))


@family(
    "glm5_next_text",
    "Glm5NextForConditionalGeneration",
    tied=False,
    last=streams_mean,
    mtp_layer=lambda c: layer(
        _pooled_latent(c, own=True), shared_and_routed(c), residuals=0, extra=streams(c)
    ),
)
def glm5_next_text(c: Config, i: int) -> Block:
    """Kimi delta attention in three layers of four; latent attention without rotation in the
    others, to keys that an indexer picks by the pool; four residual streams."""
    c.require(c.count("qk_rope_head_dim", least=0) == 0, "'qk_rope_head_dim' must be 0")
    found = feed(c, i, 3)
    if c.kind(i, lambda i: LINEAR if i % 4 != 3 else INDEXED, LINEAR, INDEXED) == LINEAR:
        width = c.count("linear_head_dim")
        mixer = kda(c, decay_rank=width, output_rank=width)
        return layer(mixer, found, residuals=0, extra=streams(c))
    mixed = _pooled_latent(c, own=_has_indexer(c, i))
    return layer(mixed, found, residuals=0, extra=streams(c))


def _pooled_latent(c: Config, *, own: bool) -> Latent:
    pool, top = c.count("index_kpool"), c.count("index_topk")
    c.require(top % pool == 0, f"'index_topk' is {top}, not a multiple of 'index_kpool' ({pool})")
    if not own:
        return _latent(c, top=top)
    indexer = Indexer(
        heads=c.count("index_n_heads"),
        head_dim=c.count("index_head_dim"),
        top=top,
        query_width=c.count("q_lora_rank"),
        pool=pool,
        gated=True,
    )
    return _latent(c, indexer=indexer)


@family("mistral_large4_text", "MistralLarge4ForConditionalGeneration", tied=False)
def mistral_large4_text(c: Config, i: int) -> Block:
    """GLM 5 with queries made in one step, learned scales of scores that grow with the position,
    every fourth layer without rotation, and layers that may use an earlier one's latents."""
    c.kind(i, lambda _: INDEXED, INDEXED)
    rotated = c.each_layer("no_rope_layers", int)
    rotates = rotated[i] != 0 if rotated else (i + 1) % c.count("no_rope_layer_interval", 4) != 0
    if not rotates:
        nope, rope = c.count("qk_nope_head_dim"), c.count("qk_rope_head_dim", least=0)
        c = c.but({"qk_nope_head_dim": nope + rope, "qk_rope_head_dim": 0})
    heads, index_heads = c.count("num_attention_heads"), c.count("index_n_heads")
    scales = [PerToken("scores.scale", 3 * heads, weights=2 * heads)]
    chosen: dict[str, Any] = {"top": c.count("index_topk")}
    if _has_indexer(c, i):
        scales.append(PerToken("indexer.scale", 3 * index_heads, weights=2 * index_heads))
        scales.append(normalisation("indexer.input_norm", c.d_model, "layer_norm"))
        chosen = {"indexer": _indexer(c, ranked=False)}
    shares = _source(c, i) != i
    attention = _latent(c, shares_kv=shares, extra=tuple(scales), **chosen)
    return layer(attention, feed(c, i))


def _source(c: Config, i: int) -> int:
    """The layer whose latents are used: its own, unless kv_source_layers says an earlier one's."""
    sources = c.each_layer("kv_source_layers", int)
    is_earlier = all(0 <= j <= at and sources[j] == j for at, j in enumerate(sources))
    c.require(is_earlier, "'kv_source_layers' must name earlier layers that use their own")
    return sources[i] if sources else i


#: Sizes that layers with a window have under names of their own.
_NEAR = ("num_attention_heads", "num_key_value_heads", "q_lora_rank", "kv_lora_rank")
_NEAR_HEAD = ("head_dim", "qk_nope_head_dim", "v_head_dim")


@family("dots3_note_text", "Dots3NoteForConditionalGeneration", tied=False)
def dots3_note_text(c: Config, i: int) -> Block:
    """Latent attention to keys that an indexer picks, or in a window with sizes of its own; one
    gate a head; a norm of the rotated key."""
    has_windows = c.get("use_sliding_window") is not False
    rule = {True: SLIDING, False: INDEXED}
    kind = c.kind(i, lambda i: rule[has_windows and i >= 2 and i % 4 != 1], INDEXED, SLIDING)
    if kind == SLIDING and not c.has("per_layer_config"):
        c = c.but({name: c.get(f"swa_{name}") for name in (*_NEAR, *_NEAR_HEAD)})
        rotated = c.count("head_dim") - c.count("qk_nope_head_dim")
        c = c.but({"qk_rope_head_dim": c.count("swa_qk_rope_head_dim", rotated, least=0)})
    near = kind == SLIDING
    reach = {"window": c.count("sliding_window")} if near else {"indexer": _indexer(c)}
    rope = normalisation("k_rope_norm", c.count("qk_rope_head_dim"), "rms_norm")
    attention = _latent(c, gate="head", extra=(rope,), **reach)
    shared = c.count("n_shared_experts") * c.count("shared_experts_intermediate_size")
    return layer(attention, dense_first(c, i, "n_routed_experts", shared_width=shared))


SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"
_BY_RATIO = {0: SLIDING, 4: SPARSE, 128: HEAVY}
_RATES = {SPARSE: 4, HEAVY: 128}


def _now(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of older configs as they are spelled now."""
    found = dict(fields)
    ratios, layers = fields.get("compress_ratios"), fields.get("num_hidden_layers")
    if isinstance(ratios, list) and fields.get("layer_types") is None and isinstance(layers, int):
        unknown = [ratio for ratio in ratios if ratio not in _BY_RATIO]
        if unknown:
            raise ValueError(
                f"deepseek_v4 config: 'compress_ratios' has {unknown[0]!r}, not 0, 4, 128"
            )
        found["layer_types"] = [_BY_RATIO[ratio] for ratio in ratios[:layers]]
    rates = dict(_RATES)
    rates |= fields["compress_rates"] if isinstance(fields.get("compress_rates"), Mapping) else {}
    for kind, name in ((SPARSE, "compress_rate_csa"), (HEAVY, "compress_rate_hca")):
        rates[kind] = rates[kind] if fields.get(name) is None else fields[name]
    return {**found, "compress_rates": rates}


@family("deepseek_v4", "DeepseekV4ForCausalLM", tied=False, rewrite=_now, last=streams_head)
def deepseek_v4(c: Config, i: int) -> Block:
    """Keys that are values, kept for a window and compressed 4 or 128 to 1 beyond it."""
    kind = c.kind(i, _usual_kind, SLIDING, SPARSE, HEAVY)
    rates = c.inside("compress_rates")
    indexer = Indexer(
        heads=c.count("index_n_heads"),
        head_dim=c.count("index_head_dim"),
        top=c.count("index_topk"),
    )
    width, heads = c.count("head_dim", 512), c.count("num_attention_heads")
    groups = c.count("o_groups")
    text = f"'o_groups' must divide 'num_attention_heads' ({heads}), got {groups}"
    c.require(heads % groups == 0, text)
    attention = CompressedAttention(
        heads=heads,
        head_dim=width,
        window=c.count("sliding_window"),
        q_rank=c.count("q_lora_rank"),
        output_groups=groups,
        output_rank=c.count("o_lora_rank"),
        every=None if kind == SLIDING else rates.count(kind),
        indexer=indexer if kind == SPARSE else None,
        rotary_dim=_rotated(c, width),
    )
    hashed = c.each_layer("mlp_layer_types", str)
    is_hashed = hashed[i] == "hash_moe" if hashed else i < c.count("num_hash_layers", 3, least=0)
    feed = experts(c, "n_routed_experts", shared="n_shared_experts", routed_by_hash=is_hashed)
    return layer(attention, feed, residuals=0, extra=streams(c))


def _usual_kind(i: int) -> str:
    return SPARSE if i % 2 and i >= 2 else HEAVY


def _rotated(c: Config, width: int) -> int:
    share = c.share("partial_rotary_factor", 64 / 512)
    return c.optional("qk_rope_head_dim") or int(share * width)


#: As some checkpoints in the reference implementation's own form call it.
FAMILIES["deepseek_ref"] = FAMILIES["deepseek_v4"]
