# ruff: noqa: PT017, PERF203  (an error is one of two right answers: raises() cannot say that)
"""Any config.json: exact parameters, or a clear error; never a wrong number."""

import copy
import functools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampling
from costlib.model.families import MOST_BYTES
from costlib.model.transformer import Transformer
from paths import DATA

MODELS = {r["model"]: r for r in json.loads((DATA / "models.json").read_text())["models"]}
EXTRA = json.loads((DATA / "extra_models.json").read_text())["models"]
CONFIGS = {name: json.loads((DATA / "configs" / f"{name}.json").read_text()) for name in MODELS}
from_hf = Transformer.from_hf


def one_of_each():
    """Of each family the model with the fewest layers: random configs are many."""
    found = {}
    for name in sorted(CONFIGS, key=lambda name: from_hf(CONFIGS[name]).layers):
        found.setdefault(CONFIGS[name]["model_type"], name)
    return list(found.values())


ONE_EACH = one_of_each()


def with_few_layers(config, few=6):
    """The config with its first layers alone: what is wrong with a field is wrong in any number."""
    layers = next(n for n in ("num_hidden_layers", "n_layer") if n in config)
    cut = {name: value[:few] for name, value in config.items() if isinstance(value, list)}
    return {**config, **cut, layers: min(config[layers], few)}


SMALL = {name: with_few_layers(config) for name, config in CONFIGS.items()}


@functools.cache
def whole(name):
    """The model of a small config that nothing was done to."""
    return from_hf(SMALL[name])


@pytest.mark.parametrize("name", MODELS)
def test_parameters_to_the_last_one(name):
    model, row = from_hf(CONFIGS[name]), MODELS[name]
    assert model.params() == row["params_total"]
    assert model.active_params() == row["params_active_per_token"]
    assert model.vocab * model.d_model == row["input_embedding"]
    assert model.positions * model.d_model == row["position_embedding"]
    assert model.tied == row["tied"]


@pytest.mark.parametrize("row", EXTRA, ids=lambda row: row["name"])
def test_parameters_of_other_variants(row):
    assert from_hf(row["config"]).params() == row["params"]


def test_every_form_of_a_config(tmp_path):
    config = CONFIGS["llama-2-7b"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    forms = [config, json.dumps(config), str(tmp_path / "config.json"), tmp_path]
    assert len({from_hf(form).params() for form in forms}) == 1


def test_the_text_model_of_one_that_sees():
    inner = CONFIGS["gemma-3-1b"]
    outer = {"model_type": "gemma3", "text_config": inner, "vision_config": {}}
    assert from_hf(outer).params() == from_hf(inner).params()


#: Fields that change no cost: any value, or none, must leave the answer alone.
IRRELEVANT = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "initializer_range",
    "rms_norm_eps",
    "attention_dropout",
    "rope_theta",
    "torch_dtype",
    "use_cache",
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.floats(allow_nan=True),
    st.text(max_size=5),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@pytest.mark.parametrize("name", ONE_EACH)
@settings(max_examples=sampling.number(10, 30))
@given(field=st.sampled_from(IRRELEVANT), value=VALUES)
def test_fields_that_cost_nothing_change_nothing(name, field, value):
    assert from_hf(SMALL[name] | {field: value}) == whole(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_EACH)
@settings(max_examples=sampling.number(8, 60))
@given(data=st.data())
def test_a_field_of_another_type_is_refused_or_does_not_matter(name, data):
    config = SMALL[name]
    field = data.draw(st.sampled_from(sorted(k for k, v in config.items() if v is not None)))
    wrong = data.draw(VALUES.filter(lambda v: v is not None and type(v) is not type(config[field])))
    try:
        model = from_hf(config | {field: wrong})
    except (TypeError, ValueError) as problem:
        assert field in str(problem)
    else:
        assert model == whole(name), field


def test_a_window_that_is_null_is_none_and_a_missing_one_is_the_codes():
    config = CONFIGS["mistral-7b-v0.1"]
    assert from_hf(config | {"sliding_window": None}).window is None
    assert from_hf({k: v for k, v in config.items() if k != "sliding_window"}).window == 4096


def test_a_missing_rank_is_the_codes_unless_the_library_wrote_the_config():
    """The library writes qk_head_dim and drops nulls; who writes by hand drops neither."""
    whole = CONFIGS["deepseek-v2-lite"]
    written = {key: value for key, value in whole.items() if key != "q_lora_rank"}
    by_hand = {key: value for key, value in written.items() if key != "qk_head_dim"}
    assert from_hf(written).mla.q_rank is None
    assert from_hf(by_hand).mla.q_rank == 1536
    assert from_hf(by_hand | {"q_lora_rank": None}).mla.q_rank is None


@pytest.mark.parametrize(
    ("name", "changes", "complaint"),
    [
        ("llama-2-7b", {"hidden_size": "4096"}, "'hidden_size' must be a whole number"),
        ("llama-2-7b", {"hidden_size": 4096.0}, "'hidden_size' must be a whole number"),
        ("llama-2-7b", {"hidden_size": True}, "'hidden_size' must be a whole number"),
        ("llama-2-7b", {"hidden_size": -1}, "'hidden_size' must be at least 1"),
        ("llama-2-7b", {"num_key_value_heads": 5}, "'num_key_value_heads' must divide"),
        ("llama-2-7b", {"architectures": ["LlamaForSequenceClassification"]}, "'architectures'"),
        ("llama-2-7b", {"architectures": ["MistralForCausalLM"]}, "'architectures'"),
        ("llama-2-7b", {"model_type": "perceiver"}, "model_type 'perceiver'"),
        ("llama-2-7b", {"hidden_act": "magic"}, "'hidden_act' must be one of"),
        (
            "llama-2-7b",
            {"head_dim": None, "hidden_size": 4097},
            "'hidden_size' is 4097, which is not",
        ),
        ("llama-2-7b", {"tie_word_embeddings": "no"}, "'tie_word_embeddings' must be true or"),
        ("gpt2", {"add_cross_attention": True}, "'add_cross_attention' must be False"),
        ("gpt2", {"hidden_act": "relu"}, "'activation_function' is 'gelu_new': leave one of them"),
        ("gpt2", {"hidden_size": 512}, "'n_embd' is 768, but 'hidden_size', which says the same"),
        ("gpt2", {"num_hidden_layers": 3}, "'n_layer' is 12, but 'num_hidden_layers'"),
        ("llama-2-7b", {"hidden_size": 10**400}, "'hidden_size' must be at most"),
        ("llama-2-7b", {"num_hidden_layers": 10**400}, "'num_hidden_layers' must be at most"),
        ("deepseek-v3", {"num_experts": 16}, "'num_experts' is 16, but 'n_routed_experts'"),
        ("opt-6.7b", {"do_layer_norm_before": 0}, "'do_layer_norm_before' must be true or false"),
        ("opt-6.7b", {"word_embed_proj_dim": 0}, "'word_embed_proj_dim' must be at least 1"),
        (
            "gemma-2-2b",
            {"layer_types": ["full_attention"]},
            "1 entries, but 'num_hidden_layers' is 26",
        ),
        ("gemma-2-2b", {"layer_types": ["linear_attention"] * 26}, "'linear_attention'"),
        ("gemma-2-2b", {"head_dim": None}, "'head_dim' is missing"),
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "'num_experts_per_tok' is 9"),
        ("qwen3-30b-a3b", {"num_experts": 64}, "'num_experts' is 64"),
        ("deepseek-v3", {"qk_head_dim": 100}, "'qk_head_dim' is 100"),
        ("deepseek-v3", {"first_k_dense_replace": 62}, "'first_k_dense_replace' is 62"),
        ("deepseek-v3", {"moe_layer_freq": 2}, "'moe_layer_freq' must be 1"),
        ("deepseek-v3", {"num_key_value_heads": 8}, "'num_key_value_heads' is 8"),
        ("pythia-6.9b", {"num_key_value_heads": 4}, "'num_key_value_heads' is 4"),
        ("phi-2", {"rope_parameters": {"partial_rotary_factor": 2}}, "fraction of 1"),
        ("qwen2.5-7b", {"layer_types": ["sliding_attention"] * 28}, "'use_sliding_window' is off"),
    ],
)
def test_what_is_wrong_is_named(name, changes, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        from_hf(CONFIGS[name] | changes)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("{", "not valid JSON"),
        ("[]", "must hold an object"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "'model_type' is there twice"),
        ("no/such/config.json", "no config at"),
        ({}, "'model_type'"),
        ({"model_type": 3}, "'model_type' must be a string"),
        (7, "a dict, a path or JSON text, got int"),
        (None, "a dict, a path or JSON text, got NoneType"),
    ],
    ids=str,
)
def test_what_is_no_config_is_refused(source, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        from_hf(source)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lama", "llama"),
        ("mistal", "mistral"),
        ("Qwen3", "qwen3"),
        ("phi-3", "phi3"),
        ("gpt-neox", "gpt_neox"),
        ("gpt_os", "gpt_oss"),
        ("deepseekv3", "deepseek_v3"),
        ("falcn", "falcon"),
        ("mixtrall", "mixtral"),
        ("bloomz", "bloom"),
        *((each, None) for each in ("whisper", "resnet", "unet", "yolo", "detr", "clip", "sam")),
        *((each, None) for each in ("wav2vec2", "tacotron", "foo", "x")),
    ],
)
def test_a_family_is_suggested_where_one_was_mistyped_alone(typed, meant):
    with pytest.raises(ValueError, match="is not one that costlib knows") as found:
        from_hf({"model_type": typed})
    said = str(found.value)
    assert ("the nearest is" in said) == (meant is not None)
    assert meant is None or f"the nearest is {meant!r};" in said


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_truncated_config_is_an_error(cut):
    text = json.dumps(CONFIGS["llama-3-8b"])
    with pytest.raises(ValueError, match="not valid JSON"):
        from_hf(text[: len(text) * cut // 40])


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)  # sparse: takes no space
    with pytest.raises(ValueError, match="100,000,000 bytes"):
        from_hf(path)
    with pytest.raises(ValueError, match="characters"):
        from_hf("{" + " " * MOST_BYTES)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not even text"):
        from_hf(path)


def test_a_config_is_left_as_it_was():
    config = copy.deepcopy(CONFIGS["gemma-3-1b"])
    from_hf({"model_type": "gemma3", "text_config": config})
    assert config == CONFIGS["gemma-3-1b"]


ODD = [None, True, "x", 0, -1, 1, 3, 10**30, 1.5, float("nan"), [], {}, [1], ["full_attention"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampling.some(ONE_EACH, 12, "any value"))
def test_any_value_of_any_field_counts_or_names_the_field(name):
    config = SMALL[name]
    for field in (*config, "sliding_window", "num_experts", "head_dim", "text_config"):
        for value in ODD:
            try:
                model = from_hf(config | {field: value})
                flops = model.prefill(1, min(8, model.learned_positions or 8)).flops
            except (TypeError, ValueError) as problem:
                assert field in str(problem), (field, value)
            else:
                assert type(flops) is int, (field, value)
                assert flops > 0, (field, value)


#: A small decoder in the usual fields.
TINY = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 512,
}
ROUTED = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 128,
}
BLOOM = {"model_type": "bloom", "vocab_size": 1000, "n_layer": 2, "n_head": 4}


def small(model_type, **more):
    return Transformer.from_hf({**TINY, "model_type": model_type, **more})


def test_fields_that_publishers_write_and_few_read():
    plain, bare = (small("qwen2_moe", **ROUTED, qkv_bias=has) for has in (True, False))
    assert plain.params() - bare.params() == 4 * (256 + 2 * 128)
    assert small("phi3").rotary_dim == 64
    assert small("phi3", partial_rotary_factor=0.75).rotary_dim == 48
    assert small("mistral").window == 4096
    assert small("mistral", sliding_window=None).window is None
    windows = {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2}
    for name, more in (("qwen3_moe", ROUTED), ("qwen2_moe", ROUTED), ("smollm3", {})):
        model = small(name, **more, **windows)
        assert (model.window, model.local_layers) == (16, 2), name


@pytest.mark.parametrize(
    ("name", "more"), [("smollm3", {}), ("cohere2", {"sliding_window_pattern": 4})]
)
def test_every_fourth_layer_turns_nothing(name, more):
    """No rotary embedding: SmolLM3's every fourth layer, Cohere 2's global ones."""
    model = small(name, **more, sliding_window=16)
    turned = [(block.layers, block.parts[0].rotary_dim) for block in model.blocks]
    assert turned == [(3, 64), (1, 0)]


def test_two_spellings_and_a_stray_one_of_the_same_model():
    """BLOOM is published with `n_embed`, and with `hidden_size`; its inner width is no field."""
    one = Transformer.from_hf({**BLOOM, "n_embed": 256})
    other = {**BLOOM, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1}
    del other["n_head"]
    assert one == Transformer.from_hf(other)


def test_a_nested_config_says_little_and_the_wrapper_ties():
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    text |= {"model_type": "gemma3_text", "sliding_window": 1024, "tie_word_embeddings": False}
    nested = {"model_type": "gemma3", "text_config": text, "tie_word_embeddings": True}
    model = Transformer.from_hf(nested)
    assert model.tied
    assert 3.8e9 < model.params() < 3.9e9


def test_a_byte_order_mark_is_no_part_of_a_config(tmp_path):
    text = json.dumps({**TINY, "model_type": "llama"})
    (tmp_path / "config.json").write_bytes(text.encode("utf-8-sig"))
    assert Transformer.from_hf(tmp_path) == Transformer.from_hf("\ufeff" + text)
    with pytest.raises(ValueError, match="no config at"):
        Transformer.from_hf("x" * 10_000)
    with pytest.raises(ValueError, match="'rotary_dim' is 1000000, but a head is 64 wide"):
        Transformer.from_hf({**BLOOM, "model_type": "gptj", "n_embd": 256, "rotary_dim": 10**6})
