"""Families with state spaces: Mamba alone, beside attention, or taking turns with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.families.config import Config
from costlib.families.family import family
from costlib.families.readers import (
    FULL,
    LINEAR,
    QKVO,
    activation,
    agreed,
    biases,
    experts,
    grouped,
    head_dim,
    layer,
    mlp,
)
from costlib.layers import Block, Mamba, Mamba2, Mixture, Mlp, Part

#: What a missing field means in most of these families.
MAMBA2 = {
    "mamba_n_heads": 128,
    "mamba_d_head": "auto",
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_chunk_size": 256,
    "mamba_conv_bias": True,
    "mamba_proj_bias": False,
}
MAMBA1 = {
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_dt_rank": "auto",
    "mamba_conv_bias": True,
    "mamba_proj_bias": False,
}

#: How Mamba's own two families spell these, and Nemotron-H.
OWN_NAMES = {
    "mamba_n_heads": "num_heads",
    "mamba_d_head": "head_dim",
    "mamba_n_groups": "n_groups",
    "mamba_d_state": "state_size",
    "mamba_d_conv": "conv_kernel",
    "mamba_expand": "expand",
    "mamba_chunk_size": "chunk_size",
    "mamba_conv_bias": "use_conv_bias",
    "mamba_proj_bias": "use_bias",
    "mamba_dt_rank": "time_step_rank",
}
NEMOTRON_NAMES = {
    **OWN_NAMES,
    "mamba_n_heads": "mamba_num_heads",
    "mamba_d_head": "mamba_head_dim",
    "mamba_d_state": "ssm_state_size",
    "mamba_n_groups": ("n_groups", "mamba_n_groups"),
    "mamba_d_conv": ("conv_kernel", "mamba_d_conv"),
    "mamba_chunk_size": ("chunk_size", "mamba_chunk_size"),
    "mamba_conv_bias": ("use_conv_bias", "mamba_conv_bias"),
    "layer_types": ("layers_block_type", "layer_types"),
}


@family("mamba", "MambaForCausalLM", tied=True, names=OWN_NAMES, usual=MAMBA1)
def mamba(c: Config, i: int) -> Block:
    """A state space of the first kind and nothing else."""
    return layer(_mamba(c), norms=1)


@family("falcon_mamba", "FalconMambaForCausalLM", tied=True, names=OWN_NAMES, usual=MAMBA1)
def falcon_mamba(c: Config, i: int) -> Block:
    """Mamba with norms, without weights, of what steers the scan."""
    return layer(_mamba(c, inner_norms=3, weightless_norms=True), norms=1)


@family(
    "mamba2",
    "Mamba2ForCausalLM",
    tied=False,
    names=OWN_NAMES,
    usual={**MAMBA2, "mamba_d_head": 64, "mamba_n_groups": 8, "mamba_d_state": 128},
)
def mamba2(c: Config, i: int) -> Block:
    """A state space of the second kind and nothing else."""
    return layer(_mamba2(c, _expanded(c)), norms=1)


@family(
    "jamba",
    "JambaForCausalLM",
    tied=False,
    names={"num_experts": ("num_experts", "num_local_experts")},
    usual={
        **MAMBA1,
        "attn_layer_period": 8,
        "attn_layer_offset": 4,
        "expert_layer_period": 2,
        "expert_layer_offset": 1,
        "num_experts": 16,
        "num_experts_per_tok": 2,
        "num_key_value_heads": 8,
    },
)
def jamba(c: Config, i: int) -> Block:
    """Mamba, attention in every eighth layer, experts in every other one; nothing is rotated."""
    kind = agreed(c, i, lambda i: FULL if _is_turn(c, i, "attn_layer") else LINEAR)
    mixer = grouped(c, rotary_dim=0) if kind == FULL else _mamba(c, inner_norms=3)
    if not _is_turn(c, i, "expert_layer") or c.count("num_experts", least=0) < 2:
        return layer(mixer, mlp(c))
    return layer(mixer, experts(c, "num_experts", width="intermediate_size"))


def _is_turn(c: Config, i: int, name: str) -> bool:
    period, offset = c.count(f"{name}_period"), c.count(f"{name}_offset", least=0)
    text = f"'{name}_offset' must be less than '{name}_period' ({period}), got {offset}"
    c.require(offset < period, text)
    return i % period == offset


@family(
    "bamba",
    "BambaForCausalLM",
    tied=False,
    usual={**MAMBA2, "num_key_value_heads": 8},
    names={"layer_types": ("layer_types", "layers_block_type")},
)
def bamba(c: Config, i: int) -> Block:
    """Mamba-2, and attention in the layers that are named; half of each head is rotated."""
    attends = c.entries("attn_layer_indices", int)
    kind = agreed(c, i, lambda i: FULL if i in attends else LINEAR)
    if kind == LINEAR:
        mixer: Part = _mamba2(c, _expanded(c))
    else:
        found = biases(c, "attention_bias", False, QKVO)
        mixer = grouped(c, biases=found, rotary_dim=head_dim(c) // 2)
    return layer(mixer, mlp(c, bias=c.flag("mlp_bias", False)))


@family(
    "granitemoehybrid",
    "GraniteMoeHybridForCausalLM",
    tied=False,
    names={"layer_types": ("layer_types", "layers_block_type")},
    usual={
        **MAMBA2,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "shared_intermediate_size": 1024,
    },
)
def granitemoehybrid(c: Config, i: int) -> Block:
    """Mamba-2 or attention; experts, if there are any, beside a dense layer that always is."""
    if c.kind(i, lambda _: LINEAR, FULL, LINEAR) == LINEAR:
        mixer: Part = _mamba2(c, _expanded(c))
    else:
        is_rotated = c.get("position_embedding_type") == "rope"
        found = biases(c, "attention_bias", False, QKVO)
        mixer = grouped(c, biases=found, rotary_dim=None if is_rotated else 0)
    if c.count("num_local_experts", least=0) == 0:
        return layer(mixer, mlp(c, width="shared_intermediate_size", name="shared"))
    shared = c.count("shared_intermediate_size")
    feed = experts(c, "num_local_experts", width="intermediate_size", shared_width=shared)
    return layer(mixer, feed)


@family(
    "falcon_h1",
    "FalconH1ForCausalLM",
    tied=False,
    usual={**MAMBA2, "mamba_d_ssm": 1024, "num_key_value_heads": 8},
)
def falcon_h1(c: Config, i: int) -> Block:
    """Attention and Mamba-2 side by side in every layer, both reading one norm."""
    attention = grouped(c, biases=biases(c, "attention_bias", False, QKVO))
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


@family(
    "nemotron_h",
    "NemotronHForCausalLM",
    always_tied=False,
    rewrite=_nemotron_fields,
    names=NEMOTRON_NAMES,
    usual={
        **MAMBA2,
        "mamba_d_head": 64,
        "mamba_n_groups": 8,
        "mamba_d_state": 128,
        "mamba_chunk_size": 128,
        "num_key_value_heads": 8,
        "head_dim": 128,
    },
)
def nemotron_h(c: Config, i: int) -> Block:
    """One part a layer, with one norm: Mamba-2, attention, or a feed-forward layer (no gates)."""
    kind = c.kind(i, None, FULL, LINEAR, "mlp", "moe")
    if kind == LINEAR:
        width = c.count("mamba_n_heads") * c.count("mamba_d_head")
        return layer(_mamba2(c, width), norms=1)
    if kind == FULL:
        return layer(grouped(c, rotary_dim=0), norms=1)
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


def _expanded(c: Config) -> int:
    """Channels of the scan: a multiple of the width of the residual stream."""
    return c.count("mamba_expand") * c.d_model


def _mamba(c: Config, **more: Any) -> Mamba:
    """A state space of the first kind; the rank of its steps is a 16th of d_model if "auto"."""
    is_auto = c.get("mamba_dt_rank") == "auto"
    rank = -(-c.d_model // 16) if is_auto else c.count("mamba_dt_rank")
    return Mamba(
        width=_expanded(c),
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
    c.require(width % heads == 0, f"{by!r} ({heads}) must divide the scan's width, {width}")
    if c.get("mamba_d_head") != "auto":
        text = f"{c.spelled('mamba_d_head')!r} times {by!r} must be the scan's width, {width}"
        c.require(c.count("mamba_d_head") * heads == width, text)
    return Mamba2(
        heads=heads,
        head_dim=width // heads,
        state_dim=c.count("mamba_d_state"),
        groups=c.count("mamba_n_groups"),
        kernel=c.count("mamba_d_conv"),
        chunk=c.count("mamba_chunk_size"),
        bias=c.flag("mamba_proj_bias"),
        conv_bias=c.flag("mamba_conv_bias"),
        **more,
    )
