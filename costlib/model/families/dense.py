"""More plain decoders: attention and one dense feed-forward layer in every layer."""

from __future__ import annotations

from costlib.layers import Attention, Block, PerToken
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    QKV,
    QKVO,
    SLIDING,
    biases,
    grouped,
    head_dim,
    layer,
    mlp,
    optional_window,
    rotary,
    said_null,
    sliding,
    window,
)


@family("ministral", "MinistralForCausalLM", tied=False)
def ministral(c: Config, i: int) -> Block:
    """Mistral with a window in some layers."""
    reach = window(c, i, usual=4096)
    return layer(grouped(c, or_one_each=said_null(c), window=reach), mlp(c))


@family("ministral3", "Ministral3ForCausalLM", tied=False)
def ministral3(c: Config, i: int) -> Block:
    """Mistral, usually without a window."""
    return layer(grouped(c, window=window(c, i)), mlp(c))


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
    return layer(grouped(c), mlp(c), norms=4)


def _glm_attention(c: Config) -> Attention:
    found = biases(c, "attention_bias", True, QKV)
    return grouped(c, biases=found, rotary_dim=rotary(c, head_dim(c), 0.5))


@family("olmo3", "Olmo3ForCausalLM", tied=False)
def olmo3(c: Config, i: int) -> Block:
    """OLMo 2 with a window in three layers of four."""
    found = biases(c, "attention_bias", False, QKVO)
    reach = sliding(c, i, lambda i: SLIDING if (i + 1) % 4 else FULL)
    attention = grouped(c, or_one_each=True, qk_norm="full", biases=found, window=reach)
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
        c, or_one_each=said_null(c), qk_norm="head", window=reach, rotary_dim=None if rotates else 0
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
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, or_one_each=True, qk_norm="head", biases=found), mlp(c))


@family("stablelm", "StableLmForCausalLM", tied=False, norm="layer_norm")
def stablelm(c: Config, i: int) -> Block:
    """Layer norms; a quarter of each head rotated; perhaps a norm for every single head."""
    norm, is_parallel = "layer_norm", c.flag("use_parallel_residual", False)
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
    return layer(attention, mlp(c), norms=norms, norm=norm, parallel=is_parallel)


@family("apertus", "ApertusForCausalLM", tied=False)
def apertus(c: Config, i: int) -> Block:
    """Norms of each head, no gate, and an activation with two numbers of its own (xIELU)."""
    found = biases(c, "attention_bias", False, QKVO)
    attention = grouped(c, or_one_each=True, qk_norm="head", biases=found)
    feed = mlp(c, gated=False, default="xielu")
    learned = (PerToken("ffn.xielu", weights=2),) if feed.activation == "xielu" else ()
    return layer(attention, feed, extra=learned)


@family("arcee", "ArceeForCausalLM", tied=False)
def arcee(c: Config, i: int) -> Block:
    """Llama with squared ReLU and no gate."""
    found = biases(c, "attention_bias", False, QKVO)
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias", False), default="relu2")
    return layer(grouped(c, or_one_each=True, biases=found), feed)


@family("nanochat", "NanoChatForCausalLM", tied=False, norm="plain_norm", embedding_norm=True)
def nanochat(c: Config, i: int) -> Block:
    """Norms without weights, one of each head and one of the embedding; squared ReLU, no gate."""
    norm, found = "plain_norm", biases(c, "attention_bias", False, QKVO)
    attention = grouped(c, or_one_each=True, qk_norm="head", norm=norm, biases=found)
    return layer(attention, mlp(c, gated=False, default="relu2"), norm=norm)


@family("qwen3_vl_text", "Qwen3VLForConditionalGeneration", tied=False)
def qwen3_vl_text(c: Config, i: int) -> Block:
    """Qwen 3 inside a model that sees."""
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, needs_head_dim=True, qk_norm="head", biases=found), mlp(c))


@family("mimo", "MiMoForCausalLM", tied=False)
def mimo(c: Config, i: int) -> Block:
    """Qwen 2 with an MTP layer."""
    found = biases(c, "attention_bias", True, QKV)
    return layer(grouped(c, biases=found, window=optional_window(c, i)), mlp(c))
