"""Facts about serving: layouts to the byte, drafts against the formula, traces that are drawn."""

import json
from pathlib import Path

import numpy as np
import pytest

import costlib.measured
from costlib import models
from costlib.measured import acceptance, layouts, token_prices, traces
from costlib.model.families.quantisation import storage_of
from costlib.model.transformer import Transformer
from costlib.serving.speculation import expected_tokens
from costlib.units.precision import FORMATS

FACTS = json.loads((Path(costlib.measured.__file__).parent / "serving_facts.json").read_text())

#: Layouts that are formats of `costlib.units.precision`, or what a checkpoint's config is read as.
AS_FORMATS = {
    "compressed-tensors W4A16, groups of 128": "int4",
    "compressed-tensors NVFP4": "nvfp4",
    "compressed-tensors MXFP4": "mxfp4",
    "ModelOpt MXFP4": "mxfp4",
    "gpt-oss MXFP4": "mxfp4",
    "GGUF MXFP4": "mxfp4",
    "GGUF NVFP4": "nvfp4",
    "GGUF F16": "fp16",
    "GGUF BF16": "bf16",
    "GGUF F32": "fp32",
}
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
AS_CONFIGS = {
    "GPTQ, groups of 128": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    "AWQ, groups of 128": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
    "bitsandbytes 4 bits": NF4,
    "bitsandbytes 4 bits, scales quantised again": NF4 | {"bnb_4bit_use_double_quant": True},
}


@pytest.mark.parametrize("name", layouts())
def test_a_block_is_its_codes_and_what_stands_beside_them(name):
    layout = layouts()[name]
    assert layout.bytes == layout.published
    assert layout.source


@pytest.mark.parametrize("name", AS_FORMATS)
def test_formats_have_the_bytes_of_the_layouts_that_they_name(name):
    assert layouts()[name].bytes / layouts()[name].weights == FORMATS[AS_FORMATS[name]]


@pytest.mark.parametrize("name", AS_CONFIGS)
def test_configs_are_read_as_the_layouts_that_their_makers_write(name):
    fields = {"model_type": "llama", "quantization_config": AS_CONFIGS[name]}
    packing = storage_of(fields, "llama").packing
    weights, inputs = 4096 * 4096, 4096
    beside = 4 * inputs if name.startswith("GPTQ") else 0  # which group each input is of
    layout = layouts()[name]
    assert packing.bytes(weights, inputs) == pytest.approx(
        weights * layout.bytes / layout.weights + beside, rel=1e-12
    )


def test_whole_files_have_the_bits_that_their_makers_print():
    """23 files of one model: bits a weight and GiB, printed apart, say the same."""
    params = models["llama-3.1-8b"].params()
    assert len(FACTS["gguf_8b"]) == 23
    for name, (bits, gib) in FACTS["gguf_8b"].items():
        assert params * bits / 8 / 2**30 == pytest.approx(gib, abs=0.006), name
    for name, kind in (("Q6_K", "GGUF Q6_K"), ("Q8_0", "GGUF Q8_0"), ("F16", "GGUF F16")):
        assert FACTS["gguf_8b"][name][0] == pytest.approx(layouts()[kind].bits_per_weight, abs=2e-3)


def test_published_checkpoints_have_the_bytes_of_their_models():
    """gpt-oss-120b: 65.2 and 65.3 GB are listed. A BLOOM checkpoint states its sum to the byte."""
    assert models["gpt-oss-120b"].weight_bytes() / 1e9 == pytest.approx(65.25, abs=0.06)
    bloom = Transformer(
        layers=70,
        d_model=14336,
        heads=112,
        d_ff=4 * 14336,
        vocab=250880,
        gated=False,
        activation="gelu_tanh",
        norm="layer_norm",
        tied=True,
        embedding_norm=True,
        biases=("qkv", "o_proj", "ffn"),
        rotary_dim=0,
    )
    assert 2 * bloom.params() == 352494542848


# --------------------------------------------------------------------------------------- drafts


def told(what, metric, **facts):
    return [row.value for row in acceptance(what, **facts) if row.metric.startswith(metric)]


def test_one_cost_of_a_draft_explains_speed_ups_at_every_depth():
    """tokens / (1 + c·k), c from one draft, for as many as five; the tokens are as published."""
    tokens = told("TRT-LLM blog1 MTP depth", "mean accepted tokens")
    faster = told("TRT-LLM blog1 MTP depth", "speed-up")
    cost = tokens[1] / faster[1] - 1
    assert 0.07 < cost < 0.09
    for drafts in range(2, 6):
        assert tokens[drafts] / (1 + cost * drafts) == pytest.approx(faster[drafts], rel=0.03)
    assert faster.index(max(faster)) == 3  # tokens grow to the end, the speed-up does not


def test_one_probability_does_not_explain_a_head_that_is_used_again():
    """A head for the next token but one, run again on its own guess, is accepted ever less."""
    tokens = told("TRT-LLM blog1 MTP depth", "mean accepted tokens")
    first = tokens[1] - 1
    assert expected_tokens(first, 1) == pytest.approx(tokens[1])
    assert expected_tokens(first, 5) > 1.6 * tokens[5]
    kept = np.diff(tokens)
    assert np.all(np.diff(kept) < 0)
    assert expected_tokens([first, *(kept[1:] / kept[:-1])]) == pytest.approx(tokens[5])


def test_one_probability_from_three_drafts_overstates_seven():
    """By a fifth at most, and hardly ever understates them: later places are accepted less."""
    ratios = []
    for method in ("P-EAGLE", "EAGLE-3"):
        three, seven = (
            told("vLLM blog P-EAGLE", "acceptance length", method=f"{method} linear K={drafts}")
            for drafts in (3, 7)
        )
        grid = np.linspace(0.01, 0.99, 9801)
        alphas = [grid[np.argmin(np.abs(expected_tokens(grid, 3) - each))] for each in three]
        ratios += [expected_tokens(a, 7) / b for a, b in zip(alphas, seven, strict=True)]
    assert len(ratios) == 6
    assert 0.9 < min(ratios) < max(ratios) < 1.2
    assert np.median(ratios) > 1


def test_speculation_pays_less_the_more_there_is_at_once():
    falling = told("vLLM blog EAGLE 3.1", "speed-up")
    assert falling == sorted(falling, reverse=True)
    assert min(told("vLLM blog spec-decode", "slow-down")) < 1


def test_no_method_is_faster_than_its_tokens_a_step():
    rows = acceptance("Spec-Bench leaderboard")
    runs = {(row.model, row.device, row.method) for row in rows}
    compared = 0
    for run in runs:
        mine = [row for row in rows if (row.model, row.device, row.method) == run]
        steps = [row.value for row in mine if row.metric.startswith("mean accepted")]
        faster = [row.value for row in mine if row.metric == "speed-up"]
        if steps and faster:
            compared += 1
            assert faster[0] < 1.02 * steps[0], run
    assert compared >= 30


# --------------------------------------------------------------------------------- traces, prices


@pytest.mark.parametrize("name", traces())
def test_drawn_lengths_have_the_quantiles_and_nearly_the_mean(name):
    trace = traces()[name]
    for of, drawn in zip((trace.prompt, trace.answer), trace.draw(40_000, 1), strict=True):
        for quantile in ("p10", "p50", "p90"):
            below, at = (
                np.mean(compare(drawn, of[quantile])) for compare in (np.less, np.less_equal)
            )
            assert below - 0.01 <= float(quantile[1:]) / 100 <= at + 0.01
        assert drawn.min() >= 1
        assert drawn.mean() == pytest.approx(of["mean"], rel=0.2)
    again = trace.draw(100, 7)
    assert np.array_equal(again[0], trace.draw(100, 7)[0])
    assert not np.array_equal(again[0], trace.draw(100, 8)[0])


def test_as_many_are_drawn_as_asked_for():
    trace = traces()["azure-code"]
    assert [len(each) for each in trace.draw(3)] == [3, 3]
    with pytest.raises(ValueError, match="count must be at least 1"):
        trace.draw(0)


def test_every_fact_has_a_source_and_prices_a_date():
    assert all(trace.source and trace.licence for trace in traces().values())
    assert all(row.source for row in acceptance())
    for price in token_prices():
        assert price.model in models
        assert price.date[:2] == "20"
        assert price.input <= price.output
        assert price.cached is None or price.cached < price.input
