"""Decoders of the years before 2024: GPT-2 and its kin, OPT, BLOOM, falcons."""

from __future__ import annotations

from typing import Any

from costlib.layers import Block, Mlp, PerToken, linear_step
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import QKVO, activation, grouped, head_dim, layer, mlp, rotary


def gpt(c: Config, feed: Mlp | None = None, **more: Any) -> Block:
    """A layer of GPT-2: keys and values for every head, no rotation, biases, no gate."""
    attention = grouped(c, **{"one_each": True, "biases": QKVO, "rotary_dim": 0, **more})
    if feed is None:
        feed = mlp(c, usual=4 * c.d_model, gated=False, bias=True, default="gelu_tanh")
    return layer(attention, feed)


#: What GPT-J and CodeGen share, whose queries, keys and values are made by one matrix.
GPTJ: dict[str, Any] = {"tied": False, "norm": "layer_norm", "unembedding_bias": True}


@family("codegen", "CodeGenForCausalLM", **GPTJ)
@family("gptj", "GPTJForCausalLM", **GPTJ)
def gptj(c: Config, i: int) -> Block:
    """Both parts read one norm; biases in the feed-forward layer and the unembedding."""
    width, rotated = head_dim(c, stated=False), c.count("rotary_dim", least=0)
    c.require(rotated <= width, f"'rotary_dim' is {rotated}, but a head is {width} wide")
    attention = grouped(c, one_each=True, rotary_dim=rotated, biases=())
    feed = mlp(c, usual=4 * c.d_model, gated=False, bias=True, default="gelu_tanh")
    return layer(attention, feed, norms=1, parallel=True)


@family("gpt2", "GPT2LMHeadModel", tied=True, norm="layer_norm", positions=0)
def gpt2(c: Config, i: int) -> Block:
    """Layer norms, biases, learned positions."""
    return gpt(c)


def _opt_norm(c: Config) -> str:
    return "layer_norm" if c.flag("layer_norm_elementwise_affine", True) else "plain_norm"


@family(
    "opt",
    "OPTForCausalLM",
    tied=True,
    norm=_opt_norm,
    positions=2,
    first=lambda c: _opt_projection(c, "into"),
    last=lambda c: _opt_projection(c, "out_of"),
    size=lambda c: _opt_sizes(c),
)
def opt(c: Config, i: int) -> Block:
    """GPT-2 with ReLU; its position table has two rows more than positions. In one size norms are
    after the parts, none is at the end, and the embedding is narrower than the rest."""
    found = c.flag("enable_bias", True)
    feed = mlp(c, gated=False, bias=found, default="relu")
    return gpt(c, feed, biases=QKVO if found else ())


def _opt_sizes(c: Config) -> dict[str, Any]:
    at_end = c.flag("do_layer_norm_before", True) and not c.flag("_remove_final_layer_norm", False)
    width = c.count("word_embed_proj_dim", c.d_model)
    narrow = {} if width == c.d_model else {"embedding_width": width}
    return {"final_norm": at_end, **narrow}


def _opt_projection(c: Config, way: str) -> tuple[PerToken, ...]:
    """Between a narrower embedding and the rest."""
    d, width = c.d_model, c.count("word_embed_proj_dim", c.d_model)
    sizes = {"into": (width, d), "out_of": (d, width)}[way]
    return () if width == d else linear_step(f"project_{way}", *sizes)


@family("bloom", "BloomForCausalLM", tied=True, norm="layer_norm", embedding_norm=True)
def bloom(c: Config, i: int) -> Block:
    """GPT-2 without positions: ALiBi adds a slope to the scores. Four times as wide inside."""
    return gpt(c, Mlp(width=4 * c.d_model, gated=False, bias=True, activation="gelu_tanh"))


@family("falcon", "FalconForCausalLM", tied=True, norm="layer_norm")
def falcon(c: Config, i: int) -> Block:
    """One KV head for all, or (since Falcon 40B) one a group; both parts read one norm, or one
    each; ALiBi or rotation. Its newer code keeps keys and values once for every query head."""
    found, is_new = c.flag("bias", False), c.flag("new_decoder_architecture", False)
    heads, is_parallel = c.count("num_attention_heads"), c.flag("parallel_attn", True)
    if is_new:
        kv_heads = c.count("num_key_value_heads", heads)
    else:
        kv_heads = 1 if c.flag("multi_query", True) else heads
    attention = grouped(
        c,
        kv_heads=kv_heads,
        head_dim=head_dim(c, stated=False),
        biases=QKVO if found else (),
        rotary_dim=0 if c.flag("alibi", False) else None,
        repeats_kv=is_new,
    )
    usual = 2 if is_new else 1
    norms = c.count("num_ln_in_parallel_attn", usual) if is_parallel else 2
    c.require(norms <= 2, f"'num_ln_in_parallel_attn' must be 1 or 2, got {norms}")
    feed = mlp(c, usual=4 * c.d_model, gated=False, bias=found, default="gelu")
    return layer(attention, feed, norms=norms, parallel=is_parallel and norms == 1)


@family("mpt", "MptForCausalLM", tied=True, norm="layer_norm_no_bias")
def mpt(c: Config, i: int) -> Block:
    """Layer norms without biases, no biases elsewhere, ALiBi; four times as wide inside."""
    return gpt(c, Mlp(width=4 * c.d_model, gated=False, activation="gelu"), biases=())


@family("gpt_bigcode", "GPTBigCodeForCausalLM", tied=True, norm="layer_norm", positions=0)
def gpt_bigcode(c: Config, i: int) -> Block:
    """GPT-2 with one KV head for all."""
    heads = c.count("num_attention_heads")
    kv_heads = 1 if c.flag("multi_query", True) else heads
    c.same("num_key_value_heads", kv_heads, "'multi_query'")
    return gpt(c, kv_heads=kv_heads)


@family("gpt_neo", "GPTNeoForCausalLM", tied=True, norm="layer_norm", positions=0)
def gpt_neo(c: Config, i: int) -> Block:
    """GPT-2 with a window in some layers, which its code masks and nothing else: all keys are kept
    and multiplied, and so counted."""
    _check_kinds(c)
    return gpt(c, biases=("o_proj",))


def _check_kinds(c: Config) -> None:
    """attention_types holds groups of kinds, and how often each is repeated."""
    count = 0
    for group in c.entries("attention_types", list):
        is_group = len(group) == 2 and isinstance(group[0], list) and type(group[1]) is int
        is_group = is_group and set(map(str, group[0])) <= {"global", "local"}
        text = "'attention_types' must be groups of 'global' and 'local', and a number"
        c.require(is_group, text)
        count += len(group[0]) * group[1]
    text = f"'attention_types' has {count} layers, but there are {c.layers}"
    c.require(count in (0, c.layers), text)


@family("persimmon", "PersimmonForCausalLM", tied=False, norm="layer_norm")
def persimmon(c: Config, i: int) -> Block:
    """Layer norms, one of each head too, biases, squared ReLU, half of each head rotated."""
    normed = "head" if c.flag("qk_layernorm", True) else None
    rotated = rotary(c, head_dim(c, stated=False), 0.5)
    heads = c.count("num_attention_heads")
    attention = grouped(
        c,
        kv_heads=heads,
        head_dim=head_dim(c, stated=False),
        biases=QKVO,
        qk_norm=normed,
        rotary_dim=rotated,
    )
    feed = mlp(c, gated=False, bias=True, default="relu2")
    return layer(attention, feed)


@family("biogpt", "BioGptForCausalLM", tied=True, norm="layer_norm", positions=2)
@family("xglm", "XGLMForCausalLM", tied=True, norm="layer_norm")
def xglm(c: Config, i: int) -> Block:
    """GPT-2; XGLM computes its positions, BioGPT stores two rows more than it has positions."""
    return gpt(c, mlp(c, gated=False, bias=True, default="gelu"))


@family(
    "openai-gpt",
    "OpenAIGPTLMHeadModel",
    tied=True,
    norm="layer_norm",
    final_norm=False,
    positions=0,
)
def openai_gpt(c: Config, i: int) -> Block:
    """The first GPT: norms after the parts, and so none at the end. Its code keeps no cache; passes
    after others are counted as if it did."""
    kind = activation(c, "gelu_tanh", "afn")
    return gpt(c, Mlp(width=4 * c.d_model, gated=False, bias=True, activation=kind))


@family("ctrl", "CTRLLMHeadModel", tied=True, norm="layer_norm", unembedding_bias=True)
def ctrl(c: Config, i: int) -> Block:
    """GPT-2 with ReLU, and positions that are computed, not stored."""
    return gpt(c, mlp(c, gated=False, bias=True, activation="relu"))


@family("gpt_neox_japanese", "GPTNeoXJapaneseForCausalLM", tied=True, norm="layer_norm")
def gpt_neox_japanese(c: Config, i: int) -> Block:
    """GPT-NeoX without biases, but for that of the last layer's attention."""
    width = head_dim(c, stated=False)
    found = ("o_proj",) if i == c.layers - 1 else ()
    rotated = rotary(c, width, 1, "rotary_pct")
    attention = grouped(c, one_each=True, biases=found, rotary_dim=rotated)
    times = c.count("intermediate_multiple_size", 4)
    feed = Mlp(width=times * c.d_model, gated=False, activation=activation(c, "gelu"))
    return layer(attention, feed)
