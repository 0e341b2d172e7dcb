"""Plain decoders: attention and one feed-forward layer, or a mixture, in every layer."""

from __future__ import annotations

from math import isqrt
from typing import Any

from costlib.layers import (
    Attention,
    Block,
    DifferentialAttention,
    Mixture,
    Mlp,
    Part,
    PerToken,
    ValueMaskedAttention,
    WhereSeen,
    elementwise,
    linear_step,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    QKV,
    QKVO,
    SLIDING,
    activation,
    biases,
    experts,
    grouped,
    head_dim,
    latent,
    layer,
    mlp,
    optional_window,
    patterned,
    rotary,
    said_null,
    sliding,
    window,
)


@family("llama", "LlamaForCausalLM", tied=False)
@family("granite", "GraniteForCausalLM", tied=False)
def llama(c: Config, i: int) -> Block:
    """Llama and Granite: biases only where the config asks for them."""
    return layer(grouped(c), mlp(c, bias=c.flag("mlp_bias", False)))


@family("smollm3", "SmolLM3ForCausalLM", tied=True)
def smollm3(c: Config, i: int) -> Block:
    """Llama with layers that have no rotary positions."""
    rotated = c.each_layer("no_rope_layers", int)
    every = c.count("no_rope_layer_interval", 4)
    is_rotated = rotated[i] != 0 if rotated else (i + 1) % every != 0
    attention = grouped(c, window=optional_window(c, i), rotary_dim=None if is_rotated else 0)
    return layer(attention, mlp(c, bias=c.flag("mlp_bias", False)))


@family("mistral", "MistralForCausalLM", tied=False)
def mistral(c: Config, i: int) -> Block:
    """Llama with a window in every layer, where the config has one."""
    return layer(grouped(c, window=window(c, i, usual=4096), biases=()), mlp(c))


@family("mixtral", "MixtralForCausalLM", tied=False)
def mixtral(c: Config, i: int) -> Block:
    """Mistral with a mixture of experts in every layer."""
    feed = experts(c, "num_local_experts", width="intermediate_size")
    return layer(grouped(c, window=window(c, i), biases=()), feed)


@family("phi3", "Phi3ForCausalLM", tied=False)
def phi3(c: Config, i: int) -> Block:
    """Mistral; a part of each head may be left without rotation."""
    attention = grouped(c, window=window(c, i), rotary_dim=rotary(c, head_dim(c)), biases=())
    return layer(attention, mlp(c))


@family("qwen2_5_vl_text", "Qwen2_5_VLForConditionalGeneration", tied=False)
@family("qwen2_vl_text", "Qwen2VLForConditionalGeneration", tied=False)
@family("qwen2", "Qwen2ForCausalLM", tied=False)
def qwen2(c: Config, i: int) -> Block:
    """Llama with biases on queries, keys and values."""
    return layer(grouped(c, biases=QKV, window=optional_window(c, i)), mlp(c))


@family("qwen2_moe", "Qwen2MoeForCausalLM", tied=False)
def qwen2_moe(c: Config, i: int) -> Block:
    """Qwen 2 with experts, and a shared one that has a gate."""
    found = biases(c, "qkv_bias", True, QKV)
    attention = grouped(c, biases=found, window=optional_window(c, i))
    if not is_sparse(c, i):
        return layer(attention, mlp(c))
    beside = "shared_expert_intermediate_size"
    return layer(attention, _qwen_experts(c, beside=beside, shared_gate=True))


@family("qwen3", "Qwen3ForCausalLM", tied=False)
def qwen3(c: Config, i: int) -> Block:
    """Llama with a norm of each head's queries and keys."""
    return layer(_qwen3_attention(c, i), mlp(c))


@family("qwen3_moe", "Qwen3MoeForCausalLM", tied=False)
def qwen3_moe(c: Config, i: int) -> Block:
    """Qwen 3 with experts."""
    feed = _qwen_experts(c) if is_sparse(c, i) else mlp(c)
    return layer(_qwen3_attention(c, i, needs_head_dim=False), feed)


def _qwen3_attention(c: Config, i: int, needs_head_dim: bool = True) -> Attention:
    reach = optional_window(c, i)
    return grouped(c, needs_head_dim=needs_head_dim, qk_norm="head", window=reach)


def is_sparse(c: Config, i: int) -> bool:
    """Qwen: experts in every decoder_sparse_step-th layer but those of mlp_only_layers."""
    step = c.count("decoder_sparse_step", 1)
    return (i + 1) % step == 0 and i not in c.entries("mlp_only_layers", int)


def _qwen_experts(c: Config, **shared: Any) -> Mixture:
    name = "num_experts" if c.has("num_experts") else "num_local_experts"
    if c.has("num_local_experts"):
        c.same("num_experts", c.get("num_local_experts"), "'num_local_experts'")
    return experts(c, name, **shared)


@family("gemma", "GemmaForCausalLM", tied=True)
def gemma(c: Config, i: int) -> Block:
    """Llama with heads of a stated width and GELU."""
    return layer(grouped(c, needs_head_dim=True), mlp(c, default="gelu_tanh"))


@family("gemma2", "Gemma2ForCausalLM", tied=True)
def gemma2(c: Config, i: int) -> Block:
    """Four norms a layer; every other layer has a window, the first one has."""
    reach = sliding(c, i, lambda i: FULL if i % 2 else SLIDING)
    attention = grouped(c, needs_head_dim=True, window=reach)
    return layer(attention, mlp(c, default="gelu_tanh"), norms=4)


@family("gemma3_text", "Gemma3ForCausalLM", tied=True)
def gemma3_text(c: Config, i: int) -> Block:
    """Gemma 2 with norms of queries and keys; every sixth layer is global."""
    attention = grouped(c, needs_head_dim=True, qk_norm="head", window=patterned(c, i))
    return layer(attention, mlp(c, default="gelu_tanh"), norms=4)


@family("gpt_oss", "GptOssForCausalLM", tied=False)
def gpt_oss(c: Config, i: int) -> Block:
    """Attention sinks, a window in every other layer, experts with biases."""
    found = biases(c, "attention_bias", True, QKVO)
    reach = sliding(c, i, lambda i: FULL if i % 2 else SLIDING)
    attention = grouped(c, needs_head_dim=True, biases=found, window=reach, sinks=True)
    feed = experts(c, "num_local_experts", width="intermediate_size", router_bias=True, bias=True)
    return layer(attention, feed)


@family("deepseek_v2", "DeepseekV2ForCausalLM", tied=False)
def deepseek_v2(c: Config, i: int) -> Block:
    """DeepSeek-V3 before its router. A config that the library wrote has qk_head_dim and no nulls:
    a rank that it leaves out was null; what the code takes for any other is 1536."""
    return _latent_layer(c, i, rank=None if c.has("qk_head_dim") else 1536)


@family("deepseek_v3", "DeepseekV3ForCausalLM", tied=False)
def deepseek_v3(c: Config, i: int) -> Block:
    """Latent attention; first dense layers, then experts beside shared ones."""
    return _latent_layer(c, i, rank=1536)


def _latent_layer(c: Config, i: int, rank: int | None) -> Block:
    found = biases(c, "attention_bias", False, ("q_a_proj", "kv_a_proj", "o_proj"))
    return layer(latent(c, rank=rank, biases=found), deepseek_feed(c, i))


def deepseek_feed(c: Config, i: int) -> Mlp | Mixture:
    """The first layers are dense; shared experts are one layer of their joint width."""
    dense = c.count("first_k_dense_replace", least=0)
    text = f"'first_k_dense_replace' is {dense}, but 'num_hidden_layers' is {c.layers}"
    c.require(dense <= c.layers, text)
    if c.has("num_experts") and c.has("n_routed_experts"):
        c.same("num_experts", c.get("n_routed_experts"), "'n_routed_experts'")
    routed, plain = experts(c, "n_routed_experts", shared="n_shared_experts"), mlp(c)
    return plain if i < dense else routed


@family("olmo", "OlmoForCausalLM", tied=False, norm="plain_norm")
def olmo(c: Config, i: int) -> Block:
    """Llama with norms that have no weights."""
    return layer(grouped(c), mlp(c))


@family("olmo2", "Olmo2ForCausalLM", tied=False)
def olmo2(c: Config, i: int) -> Block:
    """Norms after the parts, and one of all queries and of all keys."""
    return layer(grouped(c, qk_norm="full"), mlp(c))


@family("cohere", "CohereForCausalLM", tied=True, norm="layer_norm_no_bias")
def cohere(c: Config, i: int) -> Block:
    """Both parts read one norm, which has no bias; perhaps a norm of every head."""
    normed = "full" if c.flag("use_qk_norm", False) else None
    attention = grouped(c, or_one_each=True, qk_norm=normed)
    return layer(attention, mlp(c), norms=1, parallel=True)


@family("cohere2", "Cohere2ForCausalLM", tied=True, norm="layer_norm_no_bias")
def cohere2(c: Config, i: int) -> Block:
    """Cohere with a window in all but every n-th layer; those global layers do not rotate."""
    reach = patterned(c, i)
    rotary_dim = 0 if reach is None else None
    attention = grouped(c, or_one_each=True, window=reach, rotary_dim=rotary_dim)
    return layer(attention, mlp(c), norms=1, parallel=True)


@family("starcoder2", "Starcoder2ForCausalLM", tied=True, norm="layer_norm")
def starcoder2(c: Config, i: int) -> Block:
    """Mistral with layer norms, biases and no gate."""
    found = c.flag("use_bias", True)
    attention = grouped(c, biases=QKVO if found else (), window=window(c, i))
    feed = mlp(c, gated=False, bias=found, default="gelu_tanh")
    return layer(attention, feed)


@family("nemotron", "NemotronForCausalLM", tied=False, norm="layer_norm")
def nemotron(c: Config, i: int) -> Block:
    """Layer norms, squared ReLU without a gate, half of each head rotated."""
    rotated = rotary(c, head_dim(c), 0.5)
    attention = grouped(c, rotary_dim=rotated)
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias", False), default="relu2")
    return layer(attention, feed)


@family("phi", "PhiForCausalLM", tied=False, norm="layer_norm", unembedding_bias=True)
def phi(c: Config, i: int) -> Block:
    """Both parts read one norm; biases everywhere; half of each head rotated."""
    normed = "head" if c.flag("qk_layernorm", False) else None
    rotated = rotary(c, head_dim(c), 0.5)
    attention = grouped(c, biases=QKVO, qk_norm=normed, rotary_dim=rotated)
    feed = mlp(c, gated=False, bias=True, default="gelu_tanh")
    return layer(attention, feed, norms=1, parallel=True)


@family("gpt_neox", "GPTNeoXForCausalLM", tied=False, norm="layer_norm")
def gpt_neox(c: Config, i: int) -> Block:
    """Layer norms, biases, no gate, a quarter of each head rotated."""
    found = biases(c, "attention_bias", True, QKVO)
    rotated = rotary(c, head_dim(c, stated=False), 0.25, "rotary_pct")
    attention = grouped(c, one_each=True, biases=found, rotary_dim=rotated)
    return layer(attention, mlp(c, gated=False, bias=True, default="gelu"))


@family("ministral", "MinistralForCausalLM", tied=False)
def ministral(c: Config, i: int) -> Block:
    """Mistral with a window in some layers."""
    reach = window(c, i, usual=4096)
    return layer(grouped(c, or_one_each=said_null(c), window=reach, biases=()), mlp(c))


@family("ministral3", "Ministral3ForCausalLM", tied=False)
def ministral3(c: Config, i: int) -> Block:
    """Mistral, usually without a window."""
    return layer(grouped(c, window=window(c, i), biases=()), mlp(c))


@family("glm", "GlmForCausalLM", tied=False)
def glm(c: Config, i: int) -> Block:
    """Llama with biases on queries, keys and values; half of each head rotated."""
    return layer(_glm_attention(c), mlp(c))


@family("glm4", "Glm4ForCausalLM", tied=False)
def glm4(c: Config, i: int) -> Block:
    """GLM with norms on both sides of each part."""
    return layer(_glm_attention(c), mlp(c), norms=4)


@family("glm4v_text", "Glm4vForConditionalGeneration", tied=False)
def glm4v_text(c: Config, i: int) -> Block:
    """GLM 4 inside a model that sees."""
    attention = grouped(c, biases=QKV, rotary_dim=rotary(c, head_dim(c), 0.5))
    return layer(attention, mlp(c), norms=4)


@family("glm_ocr_text", "GlmOcrForConditionalGeneration", tied=False)
def glm_ocr_text(c: Config, i: int) -> Block:
    """GLM 4 without biases, inside a model that reads pictures of text."""
    return layer(grouped(c, biases=()), mlp(c), norms=4)


def _glm_attention(c: Config) -> Attention:
    found = biases(c, "attention_bias", True, QKV)
    return grouped(c, biases=found, rotary_dim=rotary(c, head_dim(c), 0.5))


@family("olmo3", "Olmo3ForCausalLM", tied=False)
def olmo3(c: Config, i: int) -> Block:
    """OLMo 2 with a window in three layers of four."""
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % 4 else FULL)
    attention = grouped(c, or_one_each=True, qk_norm="full", window=reach)
    return layer(attention, mlp(c))


@family("exaone4_5_text", "Exaone4ForCausalLM", tied=False)
@family("exaone4", "Exaone4ForCausalLM", tied=False)
def exaone4(c: Config, i: int) -> Block:
    """Norms after the parts and of each head; where there is a window, layers without one do not
    rotate."""
    return layer(exaone_attention(c, i), mlp(c))


def exaone_attention(c: Config, i: int) -> Attention:
    """Norms of heads, and a window in most layers, whose complement does not rotate."""
    reach = _exaone_window(c, i)
    rotates = reach is not None or not c.has("sliding_window")
    return grouped(
        c,
        or_one_each=said_null(c),
        qk_norm="head",
        window=reach,
        rotary_dim=None if rotates else 0,
        biases=(),
    )


def _exaone_window(c: Config, i: int) -> int | None:
    """Every n-th layer is global; a pattern can be n, or a string with a letter for each layer."""
    if c.get("sliding_window") is None:
        c.kind(i, lambda _: FULL, FULL)
        return None
    if c.entries("layer_types", str):
        return sliding(c, i, lambda _: FULL)
    pattern = c.get("sliding_window_pattern")
    if isinstance(pattern, str):
        text = "'layer_types' is missing, and 'sliding_window_pattern' must be of L and G"
        c.require(bool(pattern) and set(pattern) <= set("LG"), text)
        is_local = i < c.layers - 1 and pattern[i % len(pattern)] == "L"
    else:
        is_local = bool((i + 1) % c.count("sliding_window_pattern", 4))
    return c.count("sliding_window") if is_local else None


@family("ernie4_5", "Ernie4_5ForCausalLM", tied=True)
def ernie4_5(c: Config, i: int) -> Block:
    """Llama; one flag gives biases to everything."""
    found = c.flag("use_bias", False)
    attention = grouped(c, or_one_each=said_null(c), biases=QKVO if found else ())
    return layer(attention, mlp(c, bias=found))


@family("seed_oss", "SeedOssForCausalLM", tied=False)
def seed_oss(c: Config, i: int) -> Block:
    """Llama with biases on queries, keys and values, and a flag for every other."""
    found = biases(c, "attention_bias", True, QKV)
    found += biases(c, "attention_out_bias", False, ("o_proj",))
    attention = grouped(c, or_one_each=said_null(c), biases=found)
    return layer(attention, mlp(c, bias=c.flag("mlp_bias", False)))


@family("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", tied=False)
def hunyuan_v1_dense(c: Config, i: int) -> Block:
    """Llama with a norm of each head's queries and keys."""
    return layer(grouped(c, or_one_each=True, qk_norm="head"), mlp(c))


@family("stablelm", "StableLmForCausalLM", tied=False, norm="layer_norm")
def stablelm(c: Config, i: int) -> Block:
    """Layer norms; a quarter of each head rotated; perhaps a norm for every single head."""
    is_parallel = c.flag("use_parallel_residual", False)
    attention = grouped(
        c,
        or_one_each=said_null(c),
        head_dim=head_dim(c, stated=False),
        biases=biases(c, "use_qkv_bias", False, QKV),
        norm="layer_norm_no_bias",
        qk_norm="each" if c.flag("qk_layernorm", False) else None,
        rotary_dim=rotary(c, head_dim(c, stated=False), 0.25),
    )
    norms = 1 if is_parallel else 2
    return layer(attention, mlp(c), norms=norms, parallel=is_parallel)


@family("apertus", "ApertusForCausalLM", tied=False)
def apertus(c: Config, i: int) -> Block:
    """Norms of each head, no gate, and an activation with two numbers of its own (xIELU)."""
    attention = grouped(c, or_one_each=True, qk_norm="head")
    feed = mlp(c, gated=False, default="xielu")
    learned = (PerToken("ffn.xielu", weights=2),) if feed.activation == "xielu" else ()
    return layer(attention, feed, extra=learned)


@family("arcee", "ArceeForCausalLM", tied=False)
def arcee(c: Config, i: int) -> Block:
    """Llama with squared ReLU and no gate."""
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias", False), default="relu2")
    return layer(grouped(c, or_one_each=True), feed)


@family("nanochat", "NanoChatForCausalLM", tied=False, norm="plain_norm", embedding_norm=True)
def nanochat(c: Config, i: int) -> Block:
    """Norms without weights, one of each head and one of the embedding; squared ReLU, no gate."""
    attention = grouped(c, or_one_each=True, qk_norm="head")
    return layer(attention, mlp(c, gated=False, default="relu2"))


@family("qwen3_vl_text", "Qwen3VLForConditionalGeneration", tied=False)
def qwen3_vl_text(c: Config, i: int) -> Block:
    """Qwen 3 inside a model that sees."""
    return layer(grouped(c, needs_head_dim=True, qk_norm="head"), mlp(c))


@family("mimo", "MiMoForCausalLM", tied=False)
def mimo(c: Config, i: int) -> Block:
    """Qwen 2 with an MTP layer."""
    found = biases(c, "attention_bias", True, QKV)
    return layer(grouped(c, biases=found, window=optional_window(c, i)), mlp(c))


@family("iquestcoder", "IQuestCoderForCausalLM", tied=False)
@family("internlm3", "InternLM3ForCausalLM", tied=False)
def internlm3(c: Config, i: int) -> Block:
    """Llama with heads of a stated width; one switch for biases of attention, one for the rest."""
    found = biases(c, "attention_bias", c.flag("qkv_bias", False), QKVO)
    bias = c.flag("mlp_bias", c.flag("bias", False))
    return layer(grouped(c, biases=found), mlp(c, bias=bias))


@family("helium", "HeliumForCausalLM", tied=False)
def helium(c: Config, i: int) -> Block:
    """Llama whose output projection never has a bias."""
    attention = grouped(c, biases=biases(c, "attention_bias", False, QKVO[:3]))
    text = f"{attention.heads} heads of {attention.head_dim} must make up 'hidden_size'"
    c.require(attention.heads * attention.head_dim == c.d_model, text)
    return layer(attention, mlp(c, bias=c.flag("mlp_bias", False)))


@family("jais2", "Jais2ForCausalLM", tied=False, norm="layer_norm")
def jais2(c: Config, i: int) -> Block:
    """Llama with layer norms, biases, and squared ReLU without a gate."""
    attention = grouped(c, biases=biases(c, "attention_bias", True, QKVO))
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias", True), default="relu2")
    return layer(attention, feed)


@family("hyperclovax", "HyperCLOVAXForCausalLM", tied=False)
def hyperclovax(c: Config, i: int) -> Block:
    """Granite with norms after the parts too."""
    attention = grouped(c)
    norms = 4 if c.flag("use_post_norm", True) else 2
    return layer(attention, mlp(c, bias=c.flag("mlp_bias", False)), norms=norms)


@family("cwm", "CwmForCausalLM", tied=False)
def cwm(c: Config, i: int) -> Block:
    """Llama with a window in three layers of four; the first one is global."""
    feed = mlp(c, bias=c.flag("mlp_bias", False))
    return layer(grouped(c, window=_first_of_four(c, i), biases=()), feed)


def _first_of_four(c: Config, i: int) -> int | None:
    return sliding(c, i, lambda i: SLIDING if i % 4 else FULL)


@family("granite_swa", "GraniteSWAForCausalLM", tied=True)
def granite_swa(c: Config, i: int) -> Block:
    """Granite with attention sinks, and a window in three layers of four."""
    return layer(_granite_attention(c, i), mlp(c, bias=c.flag("mlp_bias", False)))


@family("granitemoe_swa", "GraniteMoeSWAForCausalLM", tied=False)
def granitemoe_swa(c: Config, i: int) -> Block:
    """The same with experts, and a dense layer beside them unless its width is 0."""
    shared = c.count("shared_intermediate_size", 0, least=0)
    feed = experts(c, "num_local_experts", width="intermediate_size", shared_width=shared)
    return layer(_granite_attention(c, i), feed)


def _granite_attention(c: Config, i: int) -> Attention:
    thetas = c.get("layer_rope_theta")
    is_rotated = not isinstance(thetas, list) or len(thetas) <= i or bool(thetas[i])
    rotated = head_dim(c) if is_rotated else 0
    return grouped(c, sinks=True, window=_first_of_four(c, i), rotary_dim=rotated)


@family("mellum", "MellumForCausalLM", tied=False)
def mellum(c: Config, i: int) -> Block:
    """Qwen 3's mixture with windows, and dense layers where mlp_layer_types says so."""
    attention = grouped(c, qk_norm="head", window=sliding(c, i, lambda _: FULL))
    kinds = ("dense", "sparse")
    kind = c.kind(i, lambda _: "sparse", *kinds, name="mlp_layer_types")
    return layer(attention, mlp(c) if kind == "dense" else experts(c, "num_experts"))


@family("vaultgemma", "VaultGemmaForCausalLM", tied=True)
def vaultgemma(c: Config, i: int) -> Block:
    """Gemma 2 with two norms a layer."""
    reach = sliding(c, i, lambda i: FULL if i % 2 else SLIDING)
    return layer(grouped(c, window=reach), mlp(c, default="gelu_tanh"))


@family("bitnet", "BitNetForCausalLM", tied=False)
def bitnet(c: Config, i: int) -> Block:
    """Llama with squared ReLU, and a norm before each part's last projection. Weights are three
    values each, which quantization_config says."""
    inner = normalisation("attention.norm", c.d_model, "rms_norm")
    attention = grouped(c, extra=(inner,))
    text = f"{attention.heads} heads of {attention.head_dim} must make up 'hidden_size'"
    c.require(attention.heads * attention.head_dim == c.d_model, text)
    normed = normalisation("ffn.norm", c.count("intermediate_size"), "rms_norm")
    return layer(attention, mlp(c, default="relu2", extra=(normed,)))


@family("diffllama", "DiffLlamaForCausalLM", tied=False)
def diffllama(c: Config, i: int) -> Block:
    """Llama whose heads are pairs: one attends, the other is taken off, by a learned factor."""
    plain = grouped(c, or_one_each=True)
    text = f"'num_key_value_heads' must be even, got {plain.kv_heads}"
    c.require(plain.kv_heads % 2 == 0, text)
    attention = DifferentialAttention(
        heads=plain.heads, kv_heads=plain.kv_heads, head_dim=plain.head_dim, biases=plain.biases
    )
    return layer(attention, mlp(c))


@family("doge", "DogeForCausalLM", tied=False)
def doge(c: Config, i: int) -> Block:
    """Llama with norms of heads, a mask that values make, and scaled residuals; its experts, where
    it has them, are two vectors each, chosen by products of two short lists of keys."""
    plain = grouped(c, or_one_each=True, qk_norm="head", biases=())
    attention = ValueMaskedAttention(
        heads=plain.heads,
        kv_heads=plain.kv_heads,
        head_dim=plain.head_dim,
        qk_norm="head",
        biases=biases(c, "attention_bias", False, (*QKVO, "dt_proj")),
    )
    d = c.d_model
    scaled = elementwise("residual.scale", 2 * d, "gate", weights=2 * d)
    beside = _retrieved(c) if c.flag("is_moe", False) else ()
    feed = mlp(c, bias=c.flag("mlp_bias", False), extra=beside)
    return layer(attention, feed, extra=(scaled,))


def _retrieved(c: Config) -> tuple[PerToken, ...]:
    """Experts of one hidden unit each: a row of a table in, a row of another out."""
    d, count = c.d_model, c.count("num_experts", 16384)
    chosen, keys = c.count("num_experts_per_tok", 64), isqrt(count)
    text = f"'num_experts_per_tok' is {chosen}, but the router has {keys} x {keys} experts"
    c.require(chosen <= keys * keys, text)
    unit = (*linear_step("experts.down", d, 1), *linear_step("experts.up", 1, d))
    return (
        *linear_step("router", d, 2 * keys),
        elementwise("router.softmax", keys * keys, "softmax"),
        *(step.routed(count, chosen) for step in unit),
    )


def _picture_rows(c: Config) -> tuple[PerToken, ...]:
    """Eight more rows of the embedding, for pictures, which the unembedding has not."""
    return (PerToken("embedding.pictures", table=8 * c.d_model),)


@family("mllama_text_model", "MllamaForConditionalGeneration", tied=False, first=_picture_rows)
def mllama_text_model(c: Config, i: int) -> Block:
    """Llama with layers among its own that attend to pictures, ``encoded`` tokens of them, and are
    passed over where there are none."""
    seeing = c.entries("cross_attention_layers", int) or list(range(3, 40, 5))
    if i not in seeing:
        return layer(grouped(c, head_dim=head_dim(c, stated=False), biases=()), mlp(c))
    width, d = head_dim(c, stated=False), c.d_model
    cross = grouped(c, head_dim=width, qk_norm="head", cross=True, d_in=d, rotary_dim=0, biases=())
    gates = (elementwise("gates", 2 * d, "gate", weights=2),)
    seen = WhereSeen(d_model=d, blocks=(layer(cross, mlp(c), extra=gates),))
    return layer(seen, norms=0, residuals=0)


#: What a block of these configs can have, and only so is counted here.
PLAIN = {
    "replace_with_linear": False,
    "num_sink_tokens": None,
    "window_length": None,
    "sparsify": None,
    "unshifted_sink": False,
    "is_mamba": False,
    "llama4": None,
    "moe": None,
}


@family("nemotron-nas", "DeciLMForCausalLM", tied=False)
def nemotron_nas(c: Config, i: int) -> Block:
    """Llama with layers of different widths, of which some lack attention or all of the rest; what
    a layer lacks has no norm either."""
    blocks = c.each_layer("block_configs", dict)
    c.require(bool(blocks), "'block_configs' is missing")
    name = f"block_configs[{i}]"
    one = Config(blocks[i], f"{c.family} {name}")
    parts = [*_attention(c, one.inside("attention")), *_feed(c, one.inside("ffn"))]
    return layer(*parts, norms=len(parts))


def _check(one: Config) -> bool:
    """Whether the part is there; what it must not be is refused."""
    for name, only in PLAIN.items():
        text = f"{name!r} must be {only!r} to be counted here, got {one.get(name)!r}"
        one.require(one.get(name) in (only, None), text)
    return not one.flag("no_op", False)


def _attention(c: Config, one: Config) -> list[Part]:
    if not _check(one):
        return []
    heads, group = c.count("num_attention_heads"), one.count("n_heads_in_group")
    one.require(heads % group == 0, f"'n_heads_in_group' is {group}, but there are {heads} heads")
    return [grouped(c, kv_heads=heads // group)]


def _feed(c: Config, one: Config) -> list[Part]:
    """A width is two thirds of a multiple of d_model, up to the next multiple of 256."""
    if not _check(one):
        return []
    width = one.optional("intermediate_size")
    if width is None:
        exact = int(2 * one.number("ffn_mult") * c.d_model / 3)
        width = -(-exact // 256) * 256
    return [Mlp(width=width, bias=c.flag("mlp_bias", False), activation=activation(c))]
