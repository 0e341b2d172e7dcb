"""Families with latent attention (MLA): one latent a token in place of keys and values."""

from __future__ import annotations

from costlib.families.config import Config
from costlib.families.decoders import deepseek_v3
from costlib.families.family import family
from costlib.families.readers import biases, experts, latent, layer, mlp, sparse
from costlib.layers import Block, Indexer, Latent, Mixture, Mlp

LATENT_BIASES = ("q_a_proj", "kv_a_proj", "o_proj")


def shared_and_routed(c: Config, name: str = "n_routed_experts") -> Mixture:
    """Routed experts beside shared ones, which are one layer of their joint width."""
    width = c.count("n_shared_experts", least=0) * c.count("moe_intermediate_size")
    return experts(c, name, shared_width=width)


def feed(c: Config, i: int, dense: int) -> Mlp | Mixture:
    """Dense in the first layers, or where mlp_layer_types says so."""
    return shared_and_routed(c) if sparse(c, i, lambda i: i >= dense) else mlp(c)


def _latent(c: Config, **more: object) -> Latent:
    found = biases(c, "attention_bias", False, LATENT_BIASES)
    return latent(c, rank=c.usual.get("q_lora_rank"), biases=found, **more)


family(
    "kimi_k2",
    "DeepseekV3ForCausalLM",
    tied=False,
    wrapped_by={"kimi_k25": True},
    ahead="num_nextn_predict_layers",
    refuse={"moe_layer_freq": 1},
)(deepseek_v3)


@family(
    "glm4_moe_lite",
    "Glm4MoeLiteForCausalLM",
    tied=False,
    ahead="num_nextn_predict_layers",
    usual={"q_lora_rank": 768},
)
def glm4_moe_lite(c: Config, i: int) -> Block:
    """GLM 4.7 Flash: DeepSeek-V3 with one dense layer."""
    c.same("head_dim", c.count("qk_rope_head_dim"), "'qk_rope_head_dim'")
    return layer(_latent(c), feed(c, i, c.count("first_k_dense_replace", 1, least=0)))


@family("mistral4", "Mistral4ForCausalLM", tied=False, usual={"q_lora_rank": 1024})
def mistral4(c: Config, i: int) -> Block:
    """DeepSeek-V3 without dense layers, unless the config has some."""
    return layer(_latent(c), feed(c, i, c.count("first_k_dense_replace", 0, least=0)))


@family("youtu", "YoutuForCausalLM", tied=True, usual={"q_lora_rank": 1536})
def youtu(c: Config, i: int) -> Block:
    """Latent attention and dense layers."""
    return layer(_latent(c), mlp(c))


@family("minicpm3", "MiniCPM3ForCausalLM", tied=True, usual={"q_lora_rank": 768})
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


def _indexer(c: Config) -> Indexer:
    """A few small heads that score every key; the best are attended to."""
    return Indexer(
        heads=c.count("index_n_heads"),
        head_dim=c.count("index_head_dim"),
        top=c.count("index_topk"),
        query_width=c.count("q_lora_rank"),
        rotary_dim=c.count("qk_rope_head_dim"),
    )


@family(
    "deepseek_v32",
    "DeepseekV32ForCausalLM",
    tied=False,
    ahead="num_nextn_predict_layers",
    usual={"q_lora_rank": 1536, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 64},
    refuse={"moe_layer_freq": 1, "mlp_bias": False},
)
def deepseek_v32(c: Config, i: int) -> Block:
    """DeepSeek-V3 that attends to the keys its indexer chooses."""
    c.kind(i, lambda _: "indexed_attention", "indexed_attention")
    dense = c.count("first_k_dense_replace", 3, least=0)
    return layer(_latent(c, indexer=_indexer(c)), feed(c, i, dense))


@family(
    "glm_moe_dsa",
    "GlmMoeDsaForCausalLM",
    tied=False,
    ahead="num_nextn_predict_layers",
    ahead_layer=lambda c: layer(_latent(c, indexer=_indexer(c)), shared_and_routed(c)),
    usual={"q_lora_rank": 2048, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32},
    refuse={"moe_layer_freq": 1, "mlp_bias": False},
)
def glm_moe_dsa(c: Config, i: int) -> Block:
    """GLM 5: DeepSeek-V3.2, whose layers may use what the indexer of an earlier one chose."""
    c.kind(i, lambda _: "indexed_attention", "indexed_attention")
    dense = c.count("first_k_dense_replace", 3, least=0)
    if _has_indexer(c, i):
        attention = _latent(c, indexer=_indexer(c))
    else:
        attention = _latent(c, top=c.count("index_topk"))
    return layer(attention, feed(c, i, dense))


def _has_indexer(c: Config, i: int) -> bool:
    """By indexer_types, a pattern of F and S, or every so many layers after the first."""
    if not c.has("indexer_types") and c.has("index_topk_pattern"):
        pattern, names = c.get("index_topk_pattern"), {"F": "full", "S": "shared"}
        if isinstance(pattern, str):
            pattern = [names.get(one, one) for one in pattern]
        c.require(isinstance(pattern, list), "'index_topk_pattern' must be a string or a list")
        c = c.but({"indexer_types": pattern})
    every, offset = c.count("index_topk_freq", 1), c.count("index_skip_topk_offset", 2, least=0)

    def rule(i: int) -> str:
        return "full" if max(i - offset + 1, 0) % every == 0 else "shared"

    return c.kind(i, rule, "full", "shared", name="indexer_types") == "full"


@family(
    "longcat_flash",
    "LongcatFlashForCausalLM",
    tied=False,
    names={
        "num_hidden_layers": "num_layers",
        "intermediate_size": ("ffn_hidden_size", "intermediate_size"),
        "moe_intermediate_size": ("expert_ffn_hidden_size", "moe_intermediate_size"),
        "num_experts_per_tok": ("moe_topk", "num_experts_per_tok"),
    },
    usual={"q_lora_rank": 1536},
    refuse={"zero_expert_num": 0},
)
def longcat_flash(c: Config, i: int) -> Block:
    """Each layer is two of attention and a dense feed-forward layer, and a mixture beside them.
    Experts that do nothing are refused: how many of a token's are such, only the router knows."""
    c.require(c.get("zero_expert_num") is not None, "'zero_expert_num' is missing")
    routed = experts(c, "n_routed_experts", router_bias=c.flag("router_bias", False))
    return layer(_latent(c), mlp(c), _latent(c), mlp(c), routed, norms=4)


@family(
    "axk1", "AXK1ForCausalLM", tied=False, usual={"q_lora_rank": 1536}, refuse={"moe_layer_freq": 1}
)
def axk1(c: Config, i: int) -> Block:
    """DeepSeek-V3 with a norm after each mixture too."""
    found = feed(c, i, c.count("first_k_dense_replace", 1, least=0))
    return layer(_latent(c), found, norms=3 if isinstance(found, Mixture) else 2)
