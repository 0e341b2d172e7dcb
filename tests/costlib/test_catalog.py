"""The catalogue: every name is found or explained, and a reader adds entries of his own."""

import copy
import json
import re
import subprocess
import sys

import pytest

import costlib
import sampling
from costlib.model.catalog import (
    Catalog,
    Devices,
    Models,
    device_of,
    devices,
    model_of,
    models,
    nodes,
)
from costlib.model.catalog.lookup import plain
from costlib.units.device import Device
from paths import DATA


@pytest.mark.parametrize("catalog", [devices, nodes, models], ids=["devices", "nodes", "models"])
def test_no_alias_is_taken_twice(catalog):
    owner = {}
    for name, entry in catalog._entries.items():
        for alias in {plain(alias) for alias in (name, *entry["aliases"])}:
            assert owner.setdefault(alias, name) == name


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("llama2-7b", "llama-2-7b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("Llama_2_7B", "llama-2-7b"),
        ("openai-community/gpt2", "gpt2"),
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
    ],
)
def test_model_aliases(alias, name):
    assert models.resolve(alias) == name
    assert alias in models


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(KeyError, match="no device named 'H2000'; the nearest is H200"):
        devices["H2000"]
    with pytest.raises(KeyError, match="no model named 'lama-2-7b'; the nearest is llama-2-7b"):
        models["lama-2-7b"]
    with pytest.raises(KeyError, match=r"no device named '\?' \(list"):
        devices["?"]
    with pytest.raises(TypeError, match="looked up by name, got 7"):
        devices[7]
    assert "H2000" not in devices
    assert devices.get("H2000") is None


def test_a_dot_and_the_end_of_a_number_are_part_of_a_name():
    own = Catalog("model", lambda name, _: name, "params")
    own.__dict__["data"] = {
        "models": {
            "opt-13b": {"aliases": ["facebook/opt-13b"]},
            "qwen3-4b": {"aliases": ["Qwen/Qwen3-4B"]},
        }
    }
    assert own["facebook/OPT 13B"] == "opt-13b"
    assert own["qwen_3-4b"] == "qwen3-4b"
    for other in ("facebook/opt-1.3b", "opt-1.3b", "qwen-34b", "qwen34-b", "qwen3.4b"):
        assert other not in own
        with pytest.raises(KeyError, match="no model named"):
            own[other]


def test_every_name_and_alias_of_the_catalogue_is_found():
    for catalog in (devices, nodes, models):
        for name, entry in catalog._entries.items():
            for alias in (name, *entry["aliases"]):
                assert catalog.resolve(alias) == name
                assert catalog.resolve(alias.upper().replace("-", " ")) == name


def test_a_notebook_completes_names():
    assert devices._ipython_key_completions_() == list(devices)
    assert "llama-3.1-8b" in models._ipython_key_completions_()


def test_costlib_offers_the_catalogue():
    assert costlib.devices is devices
    assert costlib.models is models
    assert costlib.devices["h200"] is devices["H200"]


def test_a_device_or_its_name():
    assert device_of("rtx4090") is devices["RTX-4090"]
    assert device_of(devices["T4"]) is devices["T4"]
    assert model_of("gpt2") is model_of(models["gpt2"]) is models["gpt2"]
    for wrong in (None, 7, models["gpt2"]):
        with pytest.raises(TypeError, match="device must be a Device or the name of one, got"):
            device_of(wrong)
    with pytest.raises(TypeError, match="model must be a Transformer or the name of one, got"):
        model_of(devices["T4"])


def test_a_device_of_ones_own():
    mine = Devices("device", devices._build, "ridge")
    first = Device("my card", {"bf16": 1e14}, 1e12)
    assert mine.register(first) is first is mine["My-Card"]
    assert "my card" in mine
    assert list(mine)[-1] == "my card"
    assert len(mine) == len(devices) + 1
    assert mine.provenance("my card") == {}
    again = Device("my card", {"bf16": 2e14}, 1e12)  # the cell runs a second time
    assert mine.register(again) is mine["my card"] is again
    assert len(mine) == len(devices) + 1
    with pytest.raises(ValueError, match="'my-card' is taken by my card"):
        mine.register(Device("my-card", {"bf16": 1e14}, 1e12))
    for taken in ("T4", "tesla t4"):
        with pytest.raises(ValueError, match=f"'{taken}' is taken by T4: give your device another"):
            mine.register(Device(taken, {"bf16": 1e14}, 1e12))
    with pytest.raises(ValueError, match="a letter or a digit, got '--'"):
        mine.register(Device("--", {"bf16": 1e14}, 1e12))
    with pytest.raises(TypeError, match="takes a Device, got 'T4'"):
        mine.register("T4")
    mine.forget("My Card")
    assert "my card" not in mine
    assert list(mine) == list(devices)
    with pytest.raises(ValueError, match="T4 is the catalogue's"):
        mine.forget("T4")


def test_a_model_of_ones_own():
    mine = Models("model", models._build, "params")
    small = costlib.Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    assert mine.register("tiny", small) is small is mine["Tiny"]
    assert "tiny" not in models
    with pytest.raises(TypeError, match="takes a name and a Transformer, got 'gpt2'"):
        mine.register("tiny", "gpt2")


def test_a_device_is_looked_up_without_the_model():
    """Whoever asks for a device does not wait for the model's modules."""
    code = "import costlib.model.catalog as c, sys; c.devices['T4']; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "costlib.units.device" in said.stdout.split()
    assert "costlib.model.transformer" not in said.stdout.split()


@pytest.mark.parametrize("name", models)
def test_every_model_has_its_source(name):
    for about in models.provenance(name).values():
        assert about["source"]["url"].startswith("https://")
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", about["source"]["date"])
    assert models._entries[name]["repository"].count("/") == 1


def test_every_model_says_how_long_it_was_trained_for_or_why_that_is_not_known():
    """Published lengths, and four that nobody printed or that are no property of the model."""
    for name, model in models.items():
        said = models._entries[name]["config"].get("note", "")
        assert (model.context_length is None) == ("no context length: " in said), name
    known = {"llama-3-8b": 8192, "llama-2-70b": 4096, "gemma-3-1b": 32768, "phi-2": 2048}
    known |= {"glm-4.5": 131_072, "glm-4.6": 202_752}  # of the same sizes
    assert {name: models[name].context_length for name in known} == known


#: Parameters of every model of the catalogue, as other people's code counts them from its config.
RELEASED = json.loads((DATA / "released.json").read_text("utf-8"))
#: Models whose config is that of another, but for how long they were trained.
LONGER = {"glm-4.6": "glm-4.5"}
#: Models that transformers does not build, and the one beside it whose sizes are the same.
SAME = LONGER | {
    "deepseek-v4-flash-fp8": "deepseek-v4-flash",
    "deepseek-v4-pro-fp8": "deepseek-v4-pro",
    "minimax-m3": "minimax-m3-nvfp4",
}
#: Billions of parameters, all and active per token, that the publishers' model cards and papers
#: print, with as many digits as they print; the configurations come from elsewhere.
CARDS = json.loads((DATA / "cards.json").read_text("utf-8"))
#: Counted without the embedding by its publisher.
WITHOUT_EMBEDDING = ("gpt-oss-20b", "gpt-oss-120b")


@pytest.mark.parametrize("name", models)
def test_every_model_is_what_other_peoples_code_counts(name):
    model, counted = models[name], RELEASED[SAME.get(name, name)]
    assert model is models[name.upper()]
    assert model.params() >= model.active_params() > 10**8
    assert model.decode(1, 100).flops > 0
    if "not_built" in counted:  # then its card
        assert name in CARDS
    else:
        assert model.params() == counted["params"]
        assert model.active_params() == counted.get("active", model.active_params())


def test_the_defaults_of_a_class_are_a_model_only_if_its_card_agrees():
    kinds = {name: models.provenance(name)["config"]["source"]["kind"] for name in models}
    defaults = {name for name, kind in kinds.items() if kind == "class default"}
    assert defaults <= {*CARDS}
    assert len(kinds) - len(defaults) >= 120


def test_no_row_is_of_a_model_that_is_gone():
    assert list(RELEASED) == [name for name in models if name in RELEASED]
    assert {*models} - {*RELEASED} <= {*LONGER}


@pytest.mark.parametrize(("name", "other"), LONGER.items())
def test_a_model_that_is_not_counted_has_the_config_of_one_that_is(name, other):
    fields = [models._entries[each]["config"]["value"] for each in (name, other)]
    both = zip(*(each.items() for each in fields), strict=True)
    assert [one[0] for one, two in both if one != two] == ["max_position_embeddings"]


#: A field of each kind, by the names that families have for it; the first that is there.
SIZES = (
    ("num_hidden_layers", "n_layer", "num_layers", "vocab_size"),
    ("hidden_size", "n_embd", "d_model"),
    ("moe_intermediate_size", "shared_intermediate_size", "intermediate_size", "vocab_size"),
    ("vocab_size",),
)


#: Published, and read by nobody: a width of experts that are switched off, and one that is
#: expand x hidden_size whatever it says.
UNREAD = {
    ("gemma-4-31b", "moe_intermediate_size"),
    ("mamba-codestral-7b", "intermediate_size"),
}


CHANGES = [(name, wanted) for wanted in SIZES for name in models]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wanted"),
    sampling.some(CHANGES, 150, "a changed field"),
    ids=lambda each: each if isinstance(each, str) else each[0],
)
def test_one_changed_field_is_noticed(name, wanted):
    """The comparison above can fail: another size is another number, or is refused."""
    config = copy.deepcopy(models._entries[name]["config"]["value"])
    inside = config.get("text_config", config)
    field = next(field for field in wanted if field in inside)
    inside[field] += 1
    counted = RELEASED[SAME.get(name, name)].get("params")
    try:
        changed = costlib.Transformer.from_hf(config)
    except (TypeError, ValueError):
        return
    assert (changed.params() == counted) == ((name, field) in UNREAD)


@pytest.mark.parametrize("name", CARDS)
def test_models_have_the_parameters_their_publishers_print(name):
    """Cards round up and down: within one of the last digit."""
    model, (total, *active) = models[name], CARDS[name]
    found = [(model.params(), total)]
    if active:
        used = model.active_params()
        if name in WITHOUT_EMBEDDING:
            used -= model.vocab * model.d_model
        found.append((used, *active))
    for count, printed in found:
        digits = len(printed.partition(".")[2])
        assert abs(count / 1e9 - float(printed)) < 1.2 * 10**-digits, printed
