"""What a config leaves out, or says twice: a right number, or an error that names the field."""

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
