"""Which layers look back through a window where a config has no layer_types: each family's rule.

The kinds are those that each family's own configuration class writes; local is L, full is F. Cache
and FLOPs of a pass differ by layer only through the window, and sums over layers hide an order, so
the rule is compared with a config that names every layer.
"""

import pytest

from costlib.model.transformer import Transformer

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
