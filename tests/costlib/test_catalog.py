"""The catalogue: every name is found or explained, and a reader adds entries of his own."""

import re
import subprocess
import sys

import pytest

import costlib
from costlib.catalog import (
    Catalog,
    Devices,
    Models,
    device_of,
    devices,
    model_of,
    models,
    nodes,
)
from costlib.catalog.lookup import plain
from costlib.device import Device


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
    own = Catalog("model", lambda name, _: name)
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
    mine = Devices("device", devices._build)
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
    mine = Models("model", models._build)
    small = costlib.Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    assert mine.register("tiny", small) is small is mine["Tiny"]
    assert "tiny" not in models
    with pytest.raises(TypeError, match="takes a name and a Transformer, got 'gpt2'"):
        mine.register("tiny", "gpt2")


def test_a_device_is_looked_up_without_the_model():
    """Whoever asks for a device does not wait for the model's modules."""
    code = "import costlib.catalog as c, sys; c.devices['T4']; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "costlib.device" in said.stdout.split()
    assert "costlib.transformer" not in said.stdout.split()


@pytest.mark.parametrize("name", models)
def test_every_model_has_its_source(name):
    [about] = models.provenance(name).values()
    assert about["source"]["url"].startswith("https://")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", about["source"]["date"])
    assert models._entries[name]["repository"].count("/") == 1


#: Billions of parameters (all, and active per token) that the publishers' model cards and papers
#: print; the configurations come from elsewhere.
CARDS = {
    "llama-7b": (6.7, None),
    "llama-13b": (13.0, None),
    "llama-33b": (32.5, None),
    "llama-65b": (65.2, None),
    "llama-3.1-70b": (70.6, None),
    "llama-3.2-1b": (1.23, None),
    "llama-3.2-3b": (3.21, None),
    "yi-34b": (34.4, None),
    "mistral-7b-v0.3": (7.25, None),
    "mixtral-8x22b": (141, 39),
    "qwen2.5-1.5b": (1.54, None),
    "qwen2.5-14b": (14.7, None),
    "qwen2.5-32b": (32.8, None),
    "qwen3-0.6b": (0.6, None),
    "qwen3-1.7b": (1.72, None),
    "qwen3-4b": (4.02, None),
    "qwen3-14b": (14.8, None),
    "qwen3-235b-a22b": (235, 22),
    "qwen3-coder-480b-a35b": (480, 35),
    "gemma-2-27b": (27.2, None),
    "gpt2-large": (0.774, None),
    "gpt-oss-120b": (117, None),
    "kimi-k2": (1026, 32),
    "deepseek-v3": (671, 37),
}


@pytest.mark.parametrize("name", models)
def test_every_model_builds(name):
    model = models[name]
    assert model is models[name.upper()]
    assert model.params() >= model.active_params() > 10**8
    assert model.decode(1, 100).flops > 0


@pytest.mark.parametrize(("name", "printed"), CARDS.items())
def test_models_have_the_parameters_their_publishers_print(name, printed):
    total, active = printed
    assert models[name].params() / 1e9 == pytest.approx(total, rel=0.01)
    if active is not None:
        assert models[name].active_params() / 1e9 == pytest.approx(active, rel=0.03)
