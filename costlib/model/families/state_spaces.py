"""Families with state spaces: Mamba alone, beside attention, or taking turns with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.layers import (
    Attention,
    Block,
    Mamba,
    Mamba2,
    Mixture,
    Mlp,
    Part,
    PerToken,
    linear_step,
    normalisation,
)
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import (
    FULL,
    LINEAR,
    QKV,
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
    mixer = grouped(c, rotary_dim=0) if kind == FULL else _mamba(c, inner_norms=3)
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
        found = biases(c, "attention_bias", False, QKVO)
        mixer = grouped(c, biases=found, rotary_dim=head_dim(c) // 2)
    return layer(mixer, mlp(c, bias=c.flag("mlp_bias", False)))


@family("granitemoehybrid", "GraniteMoeHybridForCausalLM", tied=False)
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


@family("falcon_h1", "FalconH1ForCausalLM", tied=False)
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


@family("nemotron_h", "NemotronHForCausalLM", always_tied=False, rewrite=_nemotron_fields)
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
