"""Kimi K3, which transformers does not build, against an inventory of its published files.

Tensors by dtype and by place, as readers of all 96 files' headers tell them (public repositories on
GitHub, 2026-08 and 2026-09): BF16 57,179,884,544 and F32 11,122,432 numbers, experts' 4-bit ones
2,722,740,830,208, and 1,560,860,324,864 bytes in all.
"""

import pytest

from costlib.model.transformer import Transformer

FULL = [*range(4, 93, 4), 93]
TEXT = {
    "model_type": "kimi_linear", "hidden_size": 7168, "intermediate_size": 33792,
    "vocab_size": 163840, "num_hidden_layers": 93, "num_attention_heads": 96,
    "num_key_value_heads": 96, "hidden_act": "situ", "attn_res_block_size": 12,
    "first_k_dense_replace": 1, "num_experts": 896, "num_experts_per_token": 16,
    "num_shared_experts": 2, "moe_intermediate_size": 3072, "moe_layer_freq": 1,
    "routed_expert_hidden_size": 3584, "latent_moe_use_norm": True, "num_nextn_predict_layers": 0,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "mla_use_nope": True, "mla_use_output_gate": True,
    "tie_word_embeddings": False,
    "linear_attn_config": {
        "head_dim": 128, "num_heads": 96, "short_conv_kernel_size": 4, "use_full_rank_gate": True,
        "full_attn_layers": FULL, "kda_layers": [i for i in range(1, 94) if i not in FULL],
    },
}  # fmt: skip
PACKED = {
    "quant_method": "compressed-tensors",
    "format": "mxfp4-pack-quantized",
    "ignore": [
        "re:.*self_attn.*",
        "re:.*shared_experts.*",
        "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
        "re:.*lm_head.*",
    ],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 4, "type": "float", "group_size": 32, "symmetric": True},
        }
    },
}
CONFIG = {"model_type": "kimi_k3", "text_config": TEXT, "vision_config": {}}

BF16, F32, EXPERTS = 57_179_884_544, 11_122_432, 2_722_740_830_208
TOWERS = 92_289_024 + 802_428_928  # bytes of the projector and of the vision tower
ROUTERS = 92 * 896  # numbers added to the routers', which are buffers
PADDING = 69 * 32  # each layer's decays are stored for 128 heads, of which there are 96


def test_parameters_are_those_of_the_files():
    model = Transformer.from_hf(CONFIG)
    assert model.params() == BF16 + F32 + EXPERTS - TOWERS // 2 - ROUTERS - PADDING
    assert round(model.params() / 1e12, 1) == 2.8
    embedding = model.vocab * model.d_model  # looked up, and so not among the 104B they tell
    assert round((model.active_params() - embedding) / 1e9) == 104
    assert model.left_out == ("vision_config",)


def test_bytes_are_those_of_the_files():
    model = Transformer.from_hf(CONFIG | {"quantization_config": PACKED})
    assert model.weight_bytes() == pytest.approx(1_560_860_324_864 - TOWERS, rel=1e-4)
    each = dict(model.precision.by_step)
    assert each["experts.up"] * EXPERTS == 1_446_456_066_048
    assert each["q_b_proj"] == each["shared.up"] == 2


def test_a_token_costs_what_its_layers_keep():
    """24 layers keep a latent and 64 more for each token, 69 a state of 128 x 128 for each head."""
    model = Transformer.from_hf(CONFIG)
    assert model.kv_elements_per_token() == 24 * (512 + 64)
    assert model.state_elements() == 69 * 96 * (128 * 128 + 3 * 128 * 4)
