"""Bytes of packed checkpoints: each layout summed tensor by tensor, apart from the library."""

import contextlib
import json
import re
from math import ceil

import pytest

import costlib
from costlib.model import checkpoint
from costlib.model.transformer import Transformer

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


#: Names of modules that would be tried for hours, or are none.
HOSTILE = (
    *("re:^(([a-z.0-9])+.)+!", "re:(a|a|aa)+!", "re:(.*)*!", "re:(?:a{1,9}){9}!"),
    *("*".join("abcdef"), "re:.*.*.*.*!", "re:(.|.)" + "(.|.)" * 30 + "!", "re:" + "a?" * 40 + "!"),
    *("re:(", "re:[a", "re:(?P<a>a)", "re:(?i)A", "re:a**", "re:" + "a" * 2000),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_modules_that_take_hours_are_refused(name):
    kept = {**FP8, "modules_to_not_convert": ["lm_head", name]}
    model = Transformer.from_hf(CONFIG | {"quantization_config": kept})
    with pytest.raises(ValueError, match=r"modules"):
        model.weight_bytes()


def test_a_few_stars_are_read_and_hundreds_are_not():
    some = ["re:.*self_attn.*", "*.mlp.*", "re:.*mlp\\.(gate|up)_proj.*", "re:.*a.*b"]
    for names, read in ((some, True), ([f"re:.*{i}.*b" for i in range(99)], False)):
        kept = {**FP8, "modules_to_not_convert": names}
        model = Transformer.from_hf(CONFIG | {"quantization_config": kept})
        with contextlib.nullcontext() if read else pytest.raises(ValueError, match="stars"):
            assert model.weight_bytes() == 2 * model.params()


#: Names that tell layers apart, each in its own way, and that do not.
TELLING = (
    *("re:.*[.]1[.].*q_proj", "model.layers.6*", r"re:model\.layers\.[0-3].*", "re:.*_proj"),
    *("re:model.layers...mlp.*", r"re:.*\.\d\d\.mlp.*", "*.2*.self_attn.*", "re:.*12?.*up_proj"),
    *(r"re:model\.layers\.(?:3|12)\.mlp(?:\..*)?$", "model.layers.7.mlp.up_proj", "lm_head"),
    *(r"re:model\.layers\.(?:3|12)\.self_at.*", "model.layers.3.ml*", "model.layers.*", "model.*"),
)


@pytest.mark.parametrize("name", TELLING)
@pytest.mark.parametrize("step", ["q_proj", "ffn.up"])
def test_a_name_means_the_layers_that_its_expression_fits(name, step):
    """Each layer's paths tried on the expression itself, one by one."""
    storage = checkpoint.Storage(name="", packing=checkpoint.Packing(bits=4), kept=(name,))
    written = name.removeprefix("re:")
    if written == name:
        written = name.replace(".", r"\.").replace("*", ".*") + r"(?:\..*)?$"
    expression = re.compile(written)
    paths = {"q_proj": "self_attn.q_proj", "ffn.up": "mlp.up_proj"}
    for layer in (*range(40), 60, 61, 112):
        is_kept = bool(expression.match(f"model.layers.{layer}.{paths[step]}"))
        assert (storage.of(step, layer) is None) == is_kept, layer


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


def test_a_step_of_gpt_oss_reads_experts_in_4_bits_and_all_else_in_16():
    """As its tensors are: experts' matrices in MXFP4, biases, attention, router, head in bf16."""
    model = costlib.models["gpt-oss-20b"]
    layers, d, vocab, heads, kv, h = 24, 2880, 201_088, 64, 8, 64
    experts, chosen, f = 32, 4, 2880
    attention = d * (heads + 2 * kv) * h + heads * h * d + (heads + 2 * kv) * h + d + heads
    outside = (
        layers * (attention + experts * (d + 1) + 2 * d) + d + vocab * d + d
    )  # one row, looked up
    matrices, biases = layers * chosen * 3 * d * f, layers * chosen * (2 * f + d)
    step = model.decode(1, 1000)
    read = step.elements_read.weights
    assert read == outside + matrices + biases
    without = costlib.Precision(weights=2)
    assert step.bytes() - step.bytes(without) == pytest.approx(matrices * (0.53125 - 2))
    average = costlib.Precision(weights=model.precision.weights)
    assert step.bytes() > 1.4 * step.bytes(average)  # what one number for all weights would say


@pytest.mark.parametrize("name", LAYOUTS)
def test_reading_every_weight_is_reading_the_checkpoint(name):
    """All but the embedding's table, of which a step looks up a row a token."""
    stated, _ = LAYOUTS[name]
    model = Transformer.from_hf(CONFIG | {"quantization_config": stated})
    step = model.decode(1, 0)
    weights = sum(op.elements_read.weights * model.precision.weights_in(op.name) for op in step)
    assert weights == pytest.approx(model.weight_bytes() - 2 * (V - 1) * D)


def test_an_encoder_is_packed_too():
    """T5 in 4 bits: encoder, cross attention and decoder; tables and norms stay."""
    sizes = {"d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 2, "num_heads": 8}
    config = {"model_type": "t5", "vocab_size": 1000, **sizes}
    model = Transformer.from_hf(config)
    packed = Transformer.from_hf(config | {"quantization_config": NF4})
    inner = 8 * 64
    matrices = 2 * (4 * 512 * inner + 2 * 512 * 1024) + 2 * (8 * 512 * inner + 2 * 512 * 1024)
    each = 0.5 + 4 / 64
    assert model.weight_bytes() - packed.weight_bytes() == matrices * (2 - each)
    run = packed.prefill(1, 8, encoded=16)
    assert run["encoder.q_proj"].bytes(packed.precision) < run["encoder.q_proj"].bytes("bf16")


def test_experts_beside_a_dense_feed_forward_are_not_inside_of_it():
    """Gemma 4 keeps `layers.*.mlp*` in 16 bits; its experts are `layers.*.experts`, and packed."""
    model = costlib.models["gemma-4-26b-a4b-nvfp4"]
    routed = 30 * 128 * 3 * 2816 * 704
    assert model.weight_bytes() == pytest.approx(
        2 * (model.params() - routed) + routed * (0.5 + 1 / 16), rel=1e-3
    )


#: What a weight of a published checkpoint takes on average, by its packing and what it leaves.
AVERAGES = {
    "deepseek-v3": 1.0,
    "kimi-k2": 1.0,
    "minimax-m2.5": 1.0,
    "qwen3-235b-a22b-fp8": 1.0,
    "kimi-k2.5": 0.5 + 2 / 32,
    "deepseek-v3.1-nvfp4": 0.5625,
    "minimax-m3-nvfp4": 0.5625,
    "nemotron-3-ultra-550b-a55b-nvfp4": 0.5625,
    "glm-5.2-nvfp4": 0.5625,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", costlib.models)
def test_every_checkpoint_of_the_catalogue_can_be_read(name):
    model = costlib.models[name]
    average = model.weight_bytes() / model.params()
    assert (average == 2) == (model.storage is None)
    assert 0.5 < average <= 2
    least = AVERAGES.get(name, 0.5)
    assert least <= average <= (least + 0.04 if name in AVERAGES else 2)
