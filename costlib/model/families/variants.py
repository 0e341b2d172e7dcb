"""Families that are Llama, Granite, Gemma or Qwen with one thing changed."""

from __future__ import annotations

from math import isqrt

from costlib.layers import (
    Attention,
    Block,
    DifferentialAttention,
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
    QKVO,
    SLIDING,
    biases,
    experts,
    grouped,
    head_dim,
    layer,
    mlp,
    sliding,
)


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
    attention = grouped(c, norm="layer_norm", biases=biases(c, "attention_bias", True, QKVO))
    feed = mlp(c, gated=False, bias=c.flag("mlp_bias", True), default="relu2")
    return layer(attention, feed, norm="layer_norm")


@family("hyperclovax", "HyperCLOVAXForCausalLM", tied=False)
def hyperclovax(c: Config, i: int) -> Block:
    """Granite with norms after the parts too."""
    attention = grouped(c, biases=biases(c, "attention_bias", False, QKVO))
    norms = 4 if c.flag("use_post_norm", True) else 2
    return layer(attention, mlp(c, bias=c.flag("mlp_bias", False)), norms=norms)


@family("cwm", "CwmForCausalLM", tied=False)
def cwm(c: Config, i: int) -> Block:
    """Llama with a window in three layers of four; the first one is global."""
    feed = mlp(c, bias=c.flag("mlp_bias", False))
    return layer(grouped(c, window=_first_of_four(c, i)), feed)


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
    found, thetas = biases(c, "attention_bias", False, QKVO), c.get("layer_rope_theta")
    is_rotated = not isinstance(thetas, list) or len(thetas) <= i or bool(thetas[i])
    rotated = head_dim(c) if is_rotated else 0
    return grouped(c, biases=found, sinks=True, window=_first_of_four(c, i), rotary_dim=rotated)


@family("mellum", "MellumForCausalLM", tied=False)
def mellum(c: Config, i: int) -> Block:
    """Qwen 3's mixture with windows, and dense layers where mlp_layer_types says so."""
    found = biases(c, "attention_bias", False, QKVO)
    attention = grouped(c, qk_norm="head", biases=found, window=sliding(c, i, lambda _: FULL))
    kinds = ("dense", "sparse")
    kind = c.kind(i, lambda _: "sparse", *kinds, name="mlp_layer_types")
    return layer(attention, mlp(c) if kind == "dense" else experts(c, "num_experts"))


@family("vaultgemma", "VaultGemmaForCausalLM", tied=True)
def vaultgemma(c: Config, i: int) -> Block:
    """Gemma 2 with two norms a layer."""
    reach = sliding(c, i, lambda i: FULL if i % 2 else SLIDING)
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, biases=found, window=reach), mlp(c, default="gelu_tanh"))


@family("bitnet", "BitNetForCausalLM", tied=False)
def bitnet(c: Config, i: int) -> Block:
    """Llama with squared ReLU, and a norm before each part's last projection. Weights are three
    values each, which quantization_config says."""
    inner = normalisation("attention.norm", c.d_model, "rms_norm")
    found = biases(c, "attention_bias", False, QKVO)
    attention = grouped(c, biases=found, extra=(inner,))
    text = f"{attention.heads} heads of {attention.head_dim} must make up 'hidden_size'"
    c.require(attention.heads * attention.head_dim == c.d_model, text)
    normed = normalisation("ffn.norm", c.count("intermediate_size"), "rms_norm")
    return layer(attention, mlp(c, default="relu2", extra=(normed,)))


@family("diffllama", "DiffLlamaForCausalLM", tied=False)
def diffllama(c: Config, i: int) -> Block:
    """Llama whose heads are pairs: one attends, the other is taken off, by a learned factor."""
    plain = grouped(c, or_one_each=True, biases=biases(c, "attention_bias", False, QKVO))
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
    plain = grouped(c, or_one_each=True, qk_norm="head")
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
        return layer(grouped(c, head_dim=head_dim(c, stated=False)), mlp(c))
    width, d = head_dim(c, stated=False), c.d_model
    cross = grouped(c, head_dim=width, qk_norm="head", cross=True, d_in=d, rotary_dim=0)
    gates = (elementwise("gates", 2 * d, "gate", weights=2),)
    seen = WhereSeen(d_model=d, blocks=(layer(cross, mlp(c), extra=gates),))
    return layer(seen, norms=0, residuals=0)
