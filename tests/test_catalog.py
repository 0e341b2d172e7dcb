"""The catalogue: every figure has a source and a date, and every name is found or explained."""

import re

import pytest

import costlib
from costlib.catalog import _plain, devices, models

FIGURES = [
    (name, figure, about) for name in devices for figure, about in devices.provenance(name).items()
]
WANTED = {
    "A10",
    "A100-40GB",
    "A100-80GB",
    "H100-SXM",
    "H100-PCIe",
    "H200",
    "B200",
    "L4",
    "L40S",
    "T4",
    "V100",
    "RTX-3060",
    "RTX-4090",
    "MI300X",
    "TPU-v5e",
    "TPU-v5p",
    "TPU-v6e",
    "M1-Max",
    "EPYC-7763",
}


def test_there_are_enough():
    assert len(devices) >= 20
    assert len(models) >= 40
    assert set(devices) >= WANTED


@pytest.mark.parametrize("name", devices)
def test_every_device_is_whole(name):
    device = devices[name]
    assert device.name == name
    assert 1e11 < device.bytes_per_s < 1e13, "bytes/s, decimal"
    assert device.capacity >= 12 * 2**30
    assert all(2e12 < rate < 1e16 for rate in device.flops_per_s.values())
    figures = set(devices.provenance(name))
    assert {"bytes_per_s", "capacity", *device.flops_per_s} <= figures


@pytest.mark.parametrize(("name", "figure", "about"), FIGURES)
def test_every_figure_has_a_source_and_a_date(name, figure, about):
    source = about["source"]
    assert source["title"], (name, figure)
    assert source["url"].startswith("https://")
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", source["date"])
    assert isinstance(about["value"], int)
    if "checked" in about:
        assert "read" in devices.data["sources"][about["checked"]]


def test_sparse_figures_are_halved_once_and_say_so():
    halved = [(name, figure, about) for name, figure, about in FIGURES if "halved_from" in about]
    assert {name for name, _, _ in halved} >= {"H200", "B200", "L4", "RTX-3060"}
    for _, _, about in halved:
        assert 2 * about["value"] == about["halved_from"]
    # One dense peak everywhere for the same silicon, to the rounding of what is printed.
    for dtype in ("bf16", "fp8"):
        h100, h200 = (devices[name].flops_per_s[dtype] for name in ("H100-SXM", "H200"))
        assert h200 == pytest.approx(h100, rel=2e-4)


def test_fp8_and_int8_double_the_16_bit_rate_where_both_are_dense():
    for name in ("A100-80GB", "H100-SXM", "H200", "B200", "L4", "MI300X", "TPU-v6e"):
        rates = devices[name].flops_per_s
        for dtype in {"fp8", "int8"} & set(rates):
            assert rates[dtype] / rates["bf16"] == pytest.approx(2, rel=5e-3), (name, dtype)


def test_the_two_a100_differ():
    small, large = devices["A100-40GB"], devices["A100-80GB"]
    assert (small.bytes_per_s, large.bytes_per_s) == (1555 * 10**9, 2039 * 10**9)
    assert (small.capacity, large.capacity) == (40 * 2**30, 80 * 2**30)
    with pytest.raises(KeyError, match="'a100' could be A100-40GB or A100-80GB"):
        devices["a100"]


@pytest.mark.parametrize("catalog", [devices, models], ids=["devices", "models"])
def test_no_alias_is_taken_twice(catalog):
    owner = {}
    for name, entry in catalog._entries.items():
        for alias in {_plain(alias) for alias in (name, *entry["aliases"])}:
            assert owner.setdefault(alias, name) == name


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("llama2-7b", "llama-2-7b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("Llama_2_7B", "llama-2-7b"),
        ("openai-community/gpt2", "gpt2"),
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("deepseek-r1", "deepseek-v3"),
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


def test_costlib_offers_the_catalogue():
    assert costlib.devices is devices
    assert costlib.models is models
    assert costlib.devices["h200"] is devices["H200"]


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
