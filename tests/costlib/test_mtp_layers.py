"""MTP layers against what publishers say of theirs, and against their model."""

import json

import pytest

from costlib import models
from costlib.layers.parts import linear_step
from costlib.model.transformer import Transformer
from paths import DATA

ROWS = {row["name"]: row for row in json.loads((DATA / "families.json").read_text("utf-8"))["rows"]}


def of(name):
    model = Transformer.from_hf(ROWS[name]["config"])
    return model, model.with_mtp_layers()


def test_glm_has_as_many_as_its_file_holds():
    """A quantised GLM 5.2 without the layer, and with it in 16 bits, taken from the original: index
    files of huggingface.co/sant1an/GLM-5.2-NVFP4-MTP. One tensor, 256 numbers added to a router's,
    is in 32 bits, and a buffer."""
    held = 459_748_734_800 - 439_842_893_136
    model, heads = of("glm-5.2")
    assert heads.params() - model.params() == (held - 4 * 256) / 2


def test_deepseek_has_as_many_as_it_says():
    """README_WEIGHTS.md of DeepSeek-V3: 671B and 14B for the module, in which embedding and
    unembedding stand once more; 11.5B of its own and 2.4B active, which leaves out what joins its
    inputs."""
    model = models["deepseek-v3"]
    heads, stored = model.with_mtp_layers(), model.with_mtp_layers(own_embeddings=True)
    d, joined = model.d_model, linear_step("joined", 2 * model.d_model, model.d_model)[0].weights
    embeddings = 2 * model.vocab * d
    assert round((heads.params() - model.params() - joined) / 1e9, 1) == 11.5
    active = heads.active_params() - model.active_params() - joined + embeddings
    assert round(active / 1e9, 1) == 2.4
    assert stored.params() - heads.params() == embeddings
    assert round((stored.params() - model.params()) / 1e9) == 13  # they say 14: 685 less 671
    assert round(model.params() / 1e9) == 671
    assert 684 < stored.params() / 1e9 < 685


@pytest.mark.parametrize("name", ["deepseek-v3.2", "glm-5.2", "qwen3.5-397b-a17b"])
def test_a_head_costs_a_layer_and_the_unembedding_once_more(name):
    """Which is what a model of that one layer costs."""
    model, heads = of(name)
    one = model.with_(blocks=model.mtp_blocks)
    for count in (
        lambda model: model.decode(4, 1000),
        lambda model: model.decode(4, 1000, new=2),
        lambda model: model.prefill(2, 64),
        lambda model: model.prefill(2, 64, logits="last"),
        lambda model: model.training_step(2, 64),
    ):
        more = count(heads).matmul_flops - count(model).matmul_flops
        assert more == count(one).matmul_flops
    per_token = sum(layers * cache.per_token for cache, layers in one.caches())
    assert heads.kv_elements_per_token() - model.kv_elements_per_token() == per_token


def test_weights_are_read_once_more_and_stored_once():
    model, heads = of("glm-5.2")
    again = heads.decode(1, 100)["mtp.unembedding"]
    assert again.elements_read.weights == model.vocab * model.d_model
    own = sum(block.layers * block.parameters(model.d_model) for block in model.mtp_blocks)
    assert heads.params() == model.params() + own


def test_a_model_without_heads_says_so():
    with pytest.raises(ValueError, match="this model has no MTP layers"):
        models["llama-3-8b"].with_mtp_layers()
