"""Families of plain decoders: attention and a feed-forward layer in every layer."""

from __future__ import annotations

from typing import Any

from costlib.layers import Attention, Block, Mixture, Mlp, PerToken, linear_step
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    QKV,
    QKVO,
    SLIDING,
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
    sliding,
    window,
)


@family("llama", "LlamaForCausalLM", tied=False)
@family("granite", "GraniteForCausalLM", tied=False)
def llama(c: Config, i: int) -> Block:
    """Llama and Granite: biases only where the config asks for them."""
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, biases=found), mlp(c, bias=c.flag("mlp_bias", False)))


@family("smollm3", "SmolLM3ForCausalLM", tied=True)
def smollm3(c: Config, i: int) -> Block:
    """Llama with layers that have no rotary positions."""
    found = biases(c, "attention_bias", False, QKVO)
    rotated = c.each_layer("no_rope_layers", int)
    every = c.count("no_rope_layer_interval", 4)
    is_rotated = rotated[i] != 0 if rotated else (i + 1) % every != 0
    attention = grouped(
        c, biases=found, window=optional_window(c, i), rotary_dim=None if is_rotated else 0
    )
    return layer(attention, mlp(c, bias=c.flag("mlp_bias", False)))


@family("mistral", "MistralForCausalLM", tied=False)
def mistral(c: Config, i: int) -> Block:
    """Llama with a window in every layer, where the config has one."""
    return layer(grouped(c, window=window(c, i, usual=4096)), mlp(c))


@family("mixtral", "MixtralForCausalLM", tied=False)
def mixtral(c: Config, i: int) -> Block:
    """Mistral with a mixture of experts in every layer."""
    feed = experts(c, "num_local_experts", width="intermediate_size")
    return layer(grouped(c, window=window(c, i)), feed)


@family("phi3", "Phi3ForCausalLM", tied=False)
def phi3(c: Config, i: int) -> Block:
    """Mistral; a part of each head may be left without rotation."""
    attention = grouped(c, window=window(c, i), rotary_dim=rotary(c, head_dim(c)))
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
    width = c.count("shared_expert_intermediate_size")
    if not is_sparse(c, i):
        return layer(attention, mlp(c))
    return layer(attention, _qwen_experts(c, shared_width=width, shared_gate=True))


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
    found, reach = biases(c, "attention_bias", False, QKVO), optional_window(c, i)
    return grouped(c, needs_head_dim=needs_head_dim, qk_norm="head", biases=found, window=reach)


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
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, needs_head_dim=True, biases=found), mlp(c, default="gelu_tanh"))


@family("gemma2", "Gemma2ForCausalLM", tied=True)
def gemma2(c: Config, i: int) -> Block:
    """Four norms a layer; every other layer has a window, the first one has."""
    found = biases(c, "attention_bias", False, QKVO)
    reach = sliding(c, i, lambda i: FULL if i % 2 else SLIDING)
    attention = grouped(c, needs_head_dim=True, biases=found, window=reach)
    return layer(attention, mlp(c, default="gelu_tanh"), norms=4)


@family("gemma3_text", "Gemma3ForCausalLM", tied=True)
def gemma3_text(c: Config, i: int) -> Block:
    """Gemma 2 with norms of queries and keys; every sixth layer is global."""
    found = biases(c, "attention_bias", False, QKVO)
    attention = grouped(
        c, needs_head_dim=True, qk_norm="head", biases=found, window=patterned(c, i)
    )
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
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, biases=found), mlp(c), norm="plain_norm")


@family("olmo2", "Olmo2ForCausalLM", tied=False)
def olmo2(c: Config, i: int) -> Block:
    """Norms after the parts, and one of all queries and of all keys."""
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, qk_norm="full", biases=found), mlp(c))


@family("cohere", "CohereForCausalLM", tied=True, norm="layer_norm_no_bias")
def cohere(c: Config, i: int) -> Block:
    """Both parts read one norm, which has no bias; perhaps a norm of every head."""
    found, norm = biases(c, "attention_bias", False, QKVO), "layer_norm_no_bias"
    normed = "full" if c.flag("use_qk_norm", False) else None
    attention = grouped(c, or_one_each=True, qk_norm=normed, biases=found, norm=norm)
    return layer(attention, mlp(c), norms=1, parallel=True, norm=norm)


@family("cohere2", "Cohere2ForCausalLM", tied=True, norm="layer_norm_no_bias")
def cohere2(c: Config, i: int) -> Block:
    """Cohere with a window in all but every n-th layer; those global layers do not rotate."""
    found, norm = biases(c, "attention_bias", False, QKVO), "layer_norm_no_bias"
    reach = patterned(c, i)
    rotary_dim = 0 if reach is None else None
    attention = grouped(
        c, or_one_each=True, biases=found, norm=norm, window=reach, rotary_dim=rotary_dim
    )
    return layer(attention, mlp(c), norms=1, parallel=True, norm=norm)


@family("starcoder2", "Starcoder2ForCausalLM", tied=True, norm="layer_norm")
def starcoder2(c: Config, i: int) -> Block:
    """Mistral with layer norms, biases and no gate."""
    found, norm = c.flag("use_bias", True), "layer_norm"
    attention = grouped(c, biases=QKVO if found else (), norm=norm, window=window(c, i))
    feed = mlp(c, gated=False, bias=found, default="gelu_tanh")
    return layer(attention, feed, norm=norm)


@family("nemotron", "NemotronForCausalLM", tied=False, norm="layer_norm")
def nemotron(c: Config, i: int) -> Block:
    """Layer norms, squared ReLU without a gate, half of each head rotated."""
    norm, found = "layer_norm", biases(c, "attention_bias", False, QKVO)
    rotated = rotary(c, head_dim(c), 0.5)
    attention = grouped(c, norm=norm, biases=found, rotary_dim=rotated)
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias", False), default="relu2")
    return layer(attention, feed, norm=norm)


@family("phi", "PhiForCausalLM", tied=False, norm="layer_norm", unembedding_bias=True)
def phi(c: Config, i: int) -> Block:
    """Both parts read one norm; biases everywhere; half of each head rotated."""
    norm = "layer_norm"
    normed = "head" if c.flag("qk_layernorm", False) else None
    rotated = rotary(c, head_dim(c), 0.5)
    attention = grouped(c, biases=QKVO, qk_norm=normed, norm=norm, rotary_dim=rotated)
    feed = mlp(c, gated=False, bias=True, default="gelu_tanh")
    return layer(attention, feed, norms=1, parallel=True, norm=norm)


@family("gpt_neox", "GPTNeoXForCausalLM", tied=False, norm="layer_norm")
def gpt_neox(c: Config, i: int) -> Block:
    """Layer norms, biases, no gate, a quarter of each head rotated."""
    norm, found = "layer_norm", biases(c, "attention_bias", True, QKVO)
    rotated = rotary(c, head_dim(c, stated=False), 0.25, "rotary_pct")
    attention = grouped(c, one_each=True, biases=found, norm=norm, rotary_dim=rotated)
    return layer(attention, mlp(c, gated=False, bias=True, default="gelu"), norm=norm)


#: What GPT-J and CodeGen share, whose queries, keys and values are made by one matrix.
GPTJ: dict[str, Any] = {"tied": False, "norm": "layer_norm", "unembedding_bias": True}


@family("codegen", "CodeGenForCausalLM", **GPTJ)
@family("gptj", "GPTJForCausalLM", **GPTJ)
def gptj(c: Config, i: int) -> Block:
    """Both parts read one norm; biases in the feed-forward layer and the unembedding."""
    norm, width = "layer_norm", head_dim(c, stated=False)
    rotated = c.count("rotary_dim", least=0)
    c.require(rotated <= width, f"'rotary_dim' is {rotated}, but a head is {width} wide")
    attention = grouped(c, one_each=True, norm=norm, rotary_dim=rotated)
    feed = mlp(c, usual=4 * c.d_model, gated=False, bias=True, default="gelu_tanh")
    return layer(attention, feed, norms=1, parallel=True, norm=norm)


@family("gpt2", "GPT2LMHeadModel", tied=True, norm="layer_norm", positions=0)
def gpt2(c: Config, i: int) -> Block:
    """Layer norms, biases, learned positions."""
    norm = "layer_norm"
    attention = grouped(c, one_each=True, biases=QKVO, norm=norm, rotary_dim=0)
    feed = mlp(c, usual=4 * c.d_model, gated=False, bias=True, default="gelu_tanh")
    return layer(attention, feed, norm=norm)


@family(
    "opt",
    "OPTForCausalLM",
    tied=True,
    norm="layer_norm",
    positions=2,
    first=lambda c: _opt_projection(c, "into"),
    last=lambda c: _opt_projection(c, "out_of"),
    size=lambda c: _opt_sizes(c),
)
def opt(c: Config, i: int) -> Block:
    """GPT-2 with ReLU; its position table has two rows more than positions. In one size norms are
    after the parts, none is at the end, and the embedding is narrower than the rest."""
    norm, found = _opt_norm(c), c.flag("enable_bias", True)
    attention = grouped(c, one_each=True, biases=QKVO if found else (), norm=norm, rotary_dim=0)
    return layer(attention, mlp(c, gated=False, bias=found, default="relu"), norm=norm)


def _opt_norm(c: Config) -> str:
    return "layer_norm" if c.flag("layer_norm_elementwise_affine", True) else "plain_norm"


def _opt_sizes(c: Config) -> dict[str, Any]:
    at_end = c.flag("do_layer_norm_before", True) and not c.flag("_remove_final_layer_norm", False)
    width = c.count("word_embed_proj_dim", c.d_model)
    narrow = {} if width == c.d_model else {"embedding_width": width}
    return {"norm": _opt_norm(c), "final_norm": at_end, **narrow}


def _opt_projection(c: Config, way: str) -> tuple[PerToken, ...]:
    """Between a narrower embedding and the rest."""
    d, width = c.d_model, c.count("word_embed_proj_dim", c.d_model)
    sizes = {"into": (width, d), "out_of": (d, width)}[way]
    return () if width == d else linear_step(f"project_{way}", *sizes)


@family("bloom", "BloomForCausalLM", tied=True, norm="layer_norm", embedding_norm=True)
def bloom(c: Config, i: int) -> Block:
    """GPT-2 without positions: ALiBi adds a slope to the scores. Four times as wide inside."""
    norm = "layer_norm"
    attention = grouped(c, one_each=True, biases=QKVO, norm=norm, rotary_dim=0)
    feed = Mlp(width=4 * c.d_model, gated=False, bias=True, activation="gelu_tanh")
    return layer(attention, feed, norm=norm)
