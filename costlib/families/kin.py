"""Families that are Llama, Granite, Gemma or Qwen with one thing changed."""

from __future__ import annotations

from costlib.families.config import Config
from costlib.families.family import family
from costlib.families.readers import (
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
from costlib.layers import Attention, Block


@family("iquestcoder", "IQuestCoderForCausalLM", tied=False, usual={"head_dim": 128})
@family("internlm3", "InternLM3ForCausalLM", tied=False, usual={"head_dim": 128})
def internlm3(c: Config, i: int) -> Block:
    """Llama with heads of a stated width; one switch for biases of attention, one for the rest."""
    found = biases(c, "attention_bias", c.flag("qkv_bias", False), QKVO)
    bias = c.flag("mlp_bias", c.flag("bias", False))
    return layer(grouped(c, biases=found), mlp(c, bias=bias))


@family("helium", "HeliumForCausalLM", tied=False, usual={"head_dim": 128})
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


@family("cwm", "CwmForCausalLM", tied=False, usual={"head_dim": 128, "sliding_window": 8192})
def cwm(c: Config, i: int) -> Block:
    """Llama with a window in three layers of four; the first one is global."""
    feed = mlp(c, bias=c.flag("mlp_bias", False))
    return layer(grouped(c, window=_first_of_four(c, i)), feed)


def _first_of_four(c: Config, i: int) -> int | None:
    return sliding(c, i, lambda i: SLIDING if i % 4 else FULL)


@family("granite_swa", "GraniteSWAForCausalLM", tied=True, usual={"sliding_window": 128})
def granite_swa(c: Config, i: int) -> Block:
    """Granite with attention sinks, and a window in three layers of four."""
    return layer(_granite_attention(c, i), mlp(c, bias=c.flag("mlp_bias", False)))


@family(
    "granitemoe_swa",
    "GraniteMoeSWAForCausalLM",
    tied=False,
    usual={"sliding_window": 128, "num_local_experts": 8, "num_experts_per_tok": 2},
)
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


@family(
    "mellum",
    "MellumForCausalLM",
    tied=False,
    names={"num_experts": ("num_experts", "num_local_experts")},
    usual={"head_dim": 128},
)
def mellum(c: Config, i: int) -> Block:
    """Qwen 3's mixture with windows, and dense layers where mlp_layer_types says so."""
    found = biases(c, "attention_bias", False, QKVO)
    attention = grouped(c, qk_norm="head", biases=found, window=sliding(c, i, lambda _: FULL))
    kinds = ("dense", "sparse")
    kind = c.kind(i, lambda _: "sparse", *kinds, name="mlp_layer_types")
    return layer(attention, mlp(c) if kind == "dense" else experts(c, "num_experts"))


@family(
    "vaultgemma",
    "VaultGemmaForCausalLM",
    tied=True,
    usual={"head_dim": 256, "sliding_window": 4096},
)
def vaultgemma(c: Config, i: int) -> Block:
    """Gemma 2 with two norms a layer."""
    reach = sliding(c, i, lambda i: FULL if i % 2 else SLIDING)
    found = biases(c, "attention_bias", False, QKVO)
    return layer(grouped(c, biases=found, window=reach), mlp(c, default="gelu_tanh"))
