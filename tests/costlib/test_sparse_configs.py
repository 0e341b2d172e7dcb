"""What configs leave out, say twice or say layer by layer: a right number, or an error that names
the field.
"""

import json

import pytest

from costlib.model.transformer import Transformer
from paths import DATA

ROWS = {
    row["name"]: row["config"]
    for row in json.loads((DATA / "families.json").read_text("utf-8"))["rows"]
}

#: Rows of families whose code takes a number of its own for KV heads that are not stated.
OWN_NUMBER = (
    "shrunk-dots1-b",
    "shrunk-ernie4-5-a",
    "shrunk-ernie4-5-moe-b",
    "shrunk-exaone4-b",
    "shrunk-exaone-moe-b",
    "shrunk-seed-oss-b",
    "shrunk-stablelm-a",
    "zamba",
)


@pytest.mark.parametrize("name", OWN_NUMBER)
def test_missing_kv_heads_are_not_one_for_each_query_head(name):
    config = {k: v for k, v in ROWS[name].items() if k != "num_key_value_heads"}
    with pytest.raises(ValueError, match="'num_key_value_heads' is missing"):
        Transformer.from_hf(config)


@pytest.mark.parametrize("name", [*OWN_NUMBER, "shrunk-llama4-text-a"])
def test_null_kv_heads_are_one_for_each_query_head(name):
    config = ROWS[name]
    inner = config.get("text_config", config)
    nulled, stated = (
        {**inner, "num_key_value_heads": value} for value in (None, inner["num_attention_heads"])
    )
    assert Transformer.from_hf(nulled).params() == Transformer.from_hf(stated).params()


#: Fields that the code of a family takes as one, under two names.
TWICE = [
    ("dbrx", "d_model", "hidden_size"),
    ("dbrx", "n_layers", "num_hidden_layers"),
    ("m2m-100", "d_model", "hidden_size"),
    ("marian", "decoder_layers", "num_hidden_layers"),
    ("mt5", "num_decoder_layers", "num_hidden_layers"),
    ("mt5", "d_kv", "head_dim"),
    ("umt5", "num_heads", "num_attention_heads"),
    ("xglm", "num_layers", "num_hidden_layers"),
]


@pytest.mark.parametrize(("name", "own", "usual"), TWICE)
def test_a_size_said_twice_must_agree(name, own, usual):
    config = ROWS[name]
    value, params = config[own], Transformer.from_hf(config).params()
    assert Transformer.from_hf({**config, usual: value}).params() == params
    with pytest.raises(ValueError, match=f"{own!r} is {value}, but {usual!r}"):
        Transformer.from_hf({**config, usual: 2 * value})


def test_what_a_wrapper_leaves_out_of_its_text_model():
    """Voxtral's code fills in the sizes of its first model; GLM-ASR's too."""
    config = {**ROWS["voxtral"], "text_config": {**ROWS["voxtral"]["text_config"]}}
    config["text_config"].pop("head_dim", None)
    assert Transformer.from_hf(config).params() == 520768  # counted by transformers 5.23
    assert Transformer.from_hf({"model_type": "glmasr", "text_config": {}}).layers == 28


# Which layers look back through a window where a config has no layer_types: each family's rule. The
# kinds are those that its own configuration class writes; local is L, full is F. Sums over layers
# hide an order, so the rule is compared with a config that names every layer.

SIZES = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "vocab_size": 128,
    "sliding_window": 8,
}
QWEN = {"use_sliding_window": True, "max_window_layers": 2}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
RULES = {
    "qwen2": (QWEN, "FFLLL"),
    "qwen3": (QWEN, "FFLLL"),
    "qwen3_moe": (QWEN | EXPERTS, "FFLLL"),
    "gemma2": ({}, "LFLFL"),
    "gemma3_text": ({"sliding_window_pattern": 3}, "LLFLL"),
    "cohere2": ({"sliding_window_pattern": 4}, "LLLFL"),
    "gpt_oss": ({"num_local_experts": 4, "num_experts_per_tok": 2}, "LFLFL"),
    "olmo3": ({}, "LLLFL"),
}
NAMES = {"L": "sliding_attention", "F": "full_attention"}


@pytest.mark.parametrize("family", RULES)
def test_the_familys_rule_is_what_naming_each_layer_says(family):
    more, kinds = RULES[family]
    config = {"model_type": family, "num_hidden_layers": len(kinds), **SIZES, **more}

    def named(each):
        return Transformer.from_hf(config | {"layer_types": [NAMES[kind] for kind in each]})

    model = Transformer.from_hf(config)
    assert model == named(kinds)
    for wrong in (kinds[1:] + kinds[:1], kinds[::-1], kinds.translate({70: 76, 76: 70})):
        assert wrong == kinds or model != named(wrong), wrong


# Layers that a search made unlike one another.

SEARCHED = {
    "model_type": "nemotron-nas",
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "vocab_size": 100,
    "num_attention_heads": 8,
    "num_key_value_heads": None,
    "intermediate_size": None,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "attention_bias": False,
    "block_configs": [
        {"attention": {"n_heads_in_group": 4, "no_op": False}, "ffn": {"ffn_mult": 5.25}},
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0}},
        {"attention": {"n_heads_in_group": 8}, "ffn": {"no_op": True}},
    ],
}


def test_a_layer_has_what_its_block_says():
    """Widths 224 and 42.67 of 64, each up to 256; two KV heads of eight in one layer, and one."""
    model = Transformer.from_hf(SEARCHED)
    first = 64 * 64 * 2 + 2 * 64 * 16 + 3 * 64 * 256 + 2 * 64
    second = 3 * 64 * 256 + 64
    third = 64 * 64 * 2 + 2 * 64 * 8 + 64
    assert model.params() == first + second + third + 2 * 100 * 64 + 64
    assert model.kv_elements_per_token() == 2 * (16 + 8)
    assert model.decode(1, 9)["scores"].flops == 2 * 2 * 8 * 8 * 10


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ({"attention": {"replace_with_linear": True}, "ffn": {}}, "'replace_with_linear' must be"),
        ({"attention": {"n_heads_in_group": 3}, "ffn": {}}, "'n_heads_in_group' is 3"),
        ({"attention": {"no_op": True}, "ffn": {"ffn_mult": -1}}, "'ffn_mult' must be a number"),
        ({"attention": {}, "ffn": {}}, "'n_heads_in_group' is missing"),
    ],
)
def test_what_is_not_counted_is_named(block, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        Transformer.from_hf(SEARCHED | {"block_configs": [block] * 3})


def test_a_model_without_blocks_is_refused():
    with pytest.raises(ValueError, match="'block_configs' is missing"):
        Transformer.from_hf({k: v for k, v in SEARCHED.items() if k != "block_configs"})
