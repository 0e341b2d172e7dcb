"""Models of 2026 against transformers and torch, to the integer: families.json, a model a line."""

import json
from collections import Counter

import pytest

from costlib.model.families import FAMILIES
from costlib.model.families.family import WRAPPERS
from costlib.model.transformer import Transformer
from paths import DATA

ROWS = json.loads((DATA / "families.json").read_text("utf-8"))["rows"]

#: Rows that are not equal yet, and why. This list only shrinks: a row that becomes right fails here
#: until its name is taken out.
NOT_YET = {
    "rwkv": "its code mixes the sequences of a batch in a step: twice the products for two",
}

#: Models that transformers does not build under this name, and what has rows in their place.
UNWITNESSED = {
    "exaone4_5_text": "exaone4, whose class it names",
    "minimax_m3": "minimax_m3_vl_text",
    "deepseek_ref": "deepseek_v4",
    "mimo": "qwen2, whose class it inherits",
    "nemotron-nas": "nothing: see test_sparse_configs.py",
}

#: As torch counts a pass: masked pairs computed, latents expanded.
AS_RUN = {"masked": "computed", "mla": "naive", "scores": "materialised"}


def plain(value):
    """JSON has no infinity: here it is {"__float__": "Infinity"}."""
    if isinstance(value, dict):
        if set(value) == {"__float__"}:
            return float(value["__float__"])
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def model_of(row):
    return Transformer.from_hf(plain(row["config"]))


def kept(row):
    """Elements of a sequence in all layers: a token's, a token's inside each window, and a state's.

    A window that the oracle's passes did not fill shows as growth for each token.
    """
    per_token, inside, state = 0, Counter(), 0
    for group in row["cache"]:
        grows, near = (group["layers"] * group.get(name, 0) for name in ("per_token", "in_window"))
        if "window" in group and not near:
            near, grows = grows, 0
        inside[group.get("window")] += near
        per_token += grows
        state += group["layers"] * sum(group.get(name, 0) for name in ("state", "conv", "other"))
    return per_token, {window: held for window, held in inside.items() if held}, state


def kept_here(model):
    per_token, inside, state = 0, Counter(), 0
    for cache, layers in model.caches():
        if cache.window is not None:
            inside[cache.window] += layers * cache.per_token
        else:
            per_token += layers * cache.per_token / cache.every
        state += layers * cache.state
    return per_token, {window: held for window, held in inside.items() if held}, state


def passes(row):
    """Each pass that torch counted: the arguments of ours, and torch's total."""
    for counted in row["flops"]:
        batch, new, past, *encoded = counted["case"]
        more = {"encoded": encoded[0]} if encoded else {}
        yield (batch, new, past, more), counted["total"]


def matmul_flops(model, batch, new, past, more):
    if past:
        return model.decode(batch, past, new, **AS_RUN, **more).matmul_flops
    return model.prefill(batch, new, **AS_RUN, **more).matmul_flops


def kind_of(config):
    """The family, or that of the language model inside."""
    inside, wrapper = config.get("text_config") or {}, WRAPPERS.get(config["model_type"])
    return inside.get("model_type", wrapper.text if wrapper else config["model_type"])


def check(row):
    model = model_of(row)
    assert model.params() == row["params"]
    assert model.active_params() == row["active"]
    if row["cache"]:
        assert kept_here(model) == kept(row)
    for arguments, total in passes(row):
        assert matmul_flops(model, *arguments) == total, arguments


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_model_equals_what_other_peoples_code_counted(row):
    if row["name"] in NOT_YET:
        with pytest.raises((AssertionError, TypeError, ValueError)):
            check(row)
    else:
        check(row)


TRAINED = [row for row in ROWS if "training" in row]

#: Rows whose training step is not equal, and why; as above, the list only shrinks.
NOT_TRAINED = {
    "shrunk-minimax-a": "its first block has no state to learn from",
    "hrm-text": "gradients go through its last cycles alone",
}


@pytest.mark.parametrize("row", TRAINED, ids=lambda row: row["name"])
def test_a_training_step_equals_what_torch_counted(row):
    """Forward and backward of every kind of layer, encoders and cross attention among them."""
    batch, new, _, *encoded = row["training"]["case"]
    more = {"encoded": encoded[0]} if encoded else {}
    step = model_of(row).training_step(batch, new, scores="materialised", masked="computed", **more)
    is_right = step.matmul_flops == row["training"]["total"]
    assert is_right != (row["name"] in NOT_TRAINED)


def test_encoders_are_trained_too():
    kinds = {row["config"]["model_type"] for row in TRAINED if len(row["training"]["case"]) > 3}
    assert kinds >= {"t5", "mt5", "umt5", "bart", "mbart", "marian", "m2m_100", "pegasus"}


def test_layers_that_see_cost_what_torch_counts_with_something_to_see():
    """Mllama with 33 tokens of pictures, counted by make/counting.py with cross_attention_states
    given: run(model, 2, 24, cross_attention_states=zeros(2, 33, 64))."""
    model = model_of(next(row for row in ROWS if row["name"] == "mllama"))
    assert model.prefill(2, 24, encoded=33, **AS_RUN).matmul_flops == 16_379_904
    seen = model.memory(1, 10, encoded=33).kv - model.memory(1, 10).kv
    assert seen == 2 * 33 * 2 * 2 * 16  # bytes, tokens, keys and values, KV heads, width


def test_what_is_not_yet_right_is_there():
    assert set(NOT_YET) <= {row["name"] for row in ROWS}


def test_families_that_nothing_witnesses():
    """An entry with no row would be a guess."""
    elsewhere = {"extra_models.json", "models.json"}
    witnessed = {kind_of(row["config"]) for row in ROWS}
    for name in elsewhere:
        rows = json.loads((DATA / name).read_text("utf-8"))["models"]
        witnessed |= {row["config"]["model_type"] for row in rows if "config" in row}
    assert set(FAMILIES) - witnessed <= {"gpt2", *UNWITNESSED}


def test_learned_scales_of_scores_take_three_operations_a_head():
    """A position's scale, its product with a learned factor, and with the query's scores."""
    model = model_of(next(row for row in ROWS if row["name"] == "mistral-large4"))
    prompt = model.prefill(1, 24)
    assert prompt["scores.scale"].flops == 3 * 4 * 24 * 4  # heads, tokens, layers
    assert prompt["indexer.scale"].flops == 3 * 3 * 24 * 4
