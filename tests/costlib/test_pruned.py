"""Models whose layers differ because a search made them so."""

import pytest

from costlib.model.transformer import Transformer

CONFIG = {
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
    model = Transformer.from_hf(CONFIG)
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
        Transformer.from_hf(CONFIG | {"block_configs": [block] * 3})


def test_a_model_without_blocks_is_refused():
    with pytest.raises(ValueError, match="'block_configs' is missing"):
        Transformer.from_hf({k: v for k, v in CONFIG.items() if k != "block_configs"})
