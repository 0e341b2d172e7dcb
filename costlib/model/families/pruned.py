"""Models whose layers were made unlike one another by a search."""

from __future__ import annotations

from costlib.layers import Block, Mlp, Part
from costlib.model.families.config import Config
from costlib.model.families.family import family
from costlib.model.families.readers import QKVO, activation, biases, grouped, layer

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
    found = biases(c, "attention_bias", False, QKVO)
    return [grouped(c, kv_heads=heads // group, biases=found)]


def _feed(c: Config, one: Config) -> list[Part]:
    """A width is two thirds of a multiple of d_model, up to the next multiple of 256."""
    if not _check(one):
        return []
    width = one.optional("intermediate_size")
    if width is None:
        exact = int(2 * one.number("ffn_mult") * c.d_model / 3)
        width = -(-exact // 256) * 256
    return [Mlp(width=width, bias=c.flag("mlp_bias", False), activation=activation(c))]
