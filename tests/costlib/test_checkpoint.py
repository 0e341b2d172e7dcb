"""Bytes of packed checkpoints: each layout summed tensor by tensor, apart from the library."""

import json
from math import ceil

import pytest

import costlib
from costlib.transformer import Transformer

#: A decoder small enough to sum by hand, in llama's fields, whose sizes groups and blocks divide.
D, F, LAYERS, HEADS, KV, H, V = 1024, 4096, 3, 8, 2, 128, 32000
CONFIG = {
    "model_type": "llama", "hidden_size": D, "intermediate_size": F, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV, "head_dim": H, "vocab_size": V,
    "tie_word_embeddings": False,
}  # fmt: skip
MATRICES = [(D, HEADS * H), (D, KV * H), (D, KV * H), (HEADS * H, D), (D, F), (D, F), (F, D)]
PLAIN = 2 * (2 * V * D + D + 2 * LAYERS * D)  # embedding and unembedding, norms


def grouped(bits, group, scale, zeros=0):
    return lambda i, o: ceil(i * bits / 8) * o + i // group * o * (scale + zeros)


#: Layouts as their makers' code registers tensors: quantization_config, bytes of an i by o matrix.
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
NVFP4 = {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}
INT4 = {
    "quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
        "num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}}},
}  # fmt: skip
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
LAYOUTS = {
    "gptq": (GPTQ, lambda i, o: grouped(4, 128, 2, 0.5)(i, o) + 4 * i),
    "awq": (AWQ, grouped(4, 128, 2, 0.5)),
    "fp8 blocks": (FP8, lambda i, o: i * o + 4 * ceil(i / 128) * ceil(o / 128)),
    "nvfp4": (NVFP4, lambda i, o: i * o // 2 + i // 16 * o + 8),
    "int4 groups": (INT4, grouped(4, 32, 2)),
    "nf4": (NF4, lambda i, o: i * o // 2 + 4 * i * o // 64),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_the_sum_of_its_tensors(name):
    stated, packed = LAYOUTS[name]
    model = Transformer.from_hf(CONFIG | {"quantization_config": stated})
    held = PLAIN + LAYERS * sum(packed(i, o) for i, o in MATRICES)
    assert model.weight_bytes() == pytest.approx(held, rel=1e-3)
    assert model.params() == Transformer.from_hf(CONFIG).params()
    assert model.weight_bytes("bf16") == 2 * model.params()
    assert model.memory(1, 100).weights == model.weight_bytes()


def test_modules_that_stay_as_they_are():
    kept = {**FP8, "modules_to_not_convert": ["lm_head", "model.layers.1.mlp", "re:.*q_proj"]}
    some = Transformer.from_hf(CONFIG | {"quantization_config": kept}).weight_bytes()
    every = Transformer.from_hf(CONFIG | {"quantization_config": FP8}).weight_bytes()
    plain = 3 * D * F + LAYERS * D * HEADS * H
    assert some - every == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize("folder", [False, True])
def test_a_checkpoint_that_cannot_be_read_is_named_when_asked_for(folder, tmp_path):
    config = CONFIG | ({} if folder else {"quantization_config": {"quant_method": "magic"}})
    (tmp_path / "config.json").write_text(json.dumps(config))
    if folder:  # modelopt's own file beside the config
        found = {"quantization": {"quant_algo": "magic"}}
        (tmp_path / "hf_quant_config.json").write_text(json.dumps(found))
    model = Transformer.from_hf(tmp_path)
    assert model.params() == Transformer.from_hf(CONFIG).params()
    with pytest.raises(ValueError, match="magic"):
        model.weight_bytes()


#: GB that published checkpoints take, by their pages and indexes.
PUBLISHED = {"gpt-oss-20b": 13.76, "gpt-oss-120b": 65.25}


@pytest.mark.parametrize("name", PUBLISHED)
def test_mxfp4_of_gpt_oss(name):
    assert costlib.models[name].weight_bytes() / 1e9 == pytest.approx(PUBLISHED[name], rel=1e-3)
