"""The figures of chapter 4: their words agree with numbers computed another way."""

from __future__ import annotations

import re

import pytest

import costlib
from costfigures import Figure
from costfigures import kvcache as figures
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    check_words_apart,
)

pytestmark = pytest.mark.slow


def check_drawing(figure: Figure) -> None:
    check_described(figure)
    check_colours(figure)
    check_small_and_readable(figure)
    check_words_apart(figure)


A100 = costlib.devices["A100-80GB"]
LLAMA2, LLAMA3, LLAMA1B = (
    costlib.models[name] for name in ("llama-2-7b", "llama-3.1-8b", "llama-3.2-1b")
)
BANDWIDTH = 2039e9
PER_TOKEN = 2 * 32 * 8 * 128 * 2  # Llama 3.1 8B, 16 bits
WEIGHTS = 2 * (LLAMA3.params() - 128256 * 4096)  # all but the embedding table


def test_generation() -> None:
    figure = figures.generation(LLAMA2, 100, 50)
    without = sum(LLAMA2.prefill(1, 100 + i, logits="last").flops for i in range(50))
    cached = LLAMA2.prefill(1, 100, logits="last").flops
    cached += sum(LLAMA2.decode(1, 100 + i).flops for i in range(49))
    assert figure.title == f"Without a cache 50 tokens cost {without / cached:.0f} times as much"
    assert re.search(rf"with a cache [\d.]+ at 1 and {cached / 1e12:.3g} at 50", figure.alt)
    assert re.search(rf"without a cache [\d.]+ at 1 and {without / 1e12:.3g} at 50", figure.alt)


def test_bytes_per_token() -> None:
    names = ("llama-2-7b", "llama-3.1-8b", "gemma-2b", "deepseek-v3")
    figure = figures.bytes_per_token({name: costlib.models[name] for name in names})
    expected = {
        "llama-2-7b (MHA)": 32 * 2 * 32 * 128,
        "llama-3.1-8b (GQA)": 32 * 2 * 8 * 128,
        "gemma-2b (MQA)": 18 * 2 * 1 * 256,
        "deepseek-v3 (MLA)": 61 * (512 + 64),
    }
    for name, elements in expected.items():
        assert f"{name} {2 * elements / 1e3:.1f}" in figure.alt
    assert figure.title == "A token takes from 18 kB to 524 kB"


def test_windows() -> None:
    names = ("llama-3.1-8b", "mistral-7b-v0.1", "gemma-2-9b")
    alt = figures.windows({name: costlib.models[name] for name in names}).alt
    each = 2 * 8 * 256 * 2  # gemma 2 9B: half its 42 layers keep 4,096
    gemma = 21 * each * (131072 + 4096)
    llama = PER_TOKEN / 1e9
    assert f"llama-3.1-8b {64 * llama:.3g} at 64 and {131072 * llama:.3g} at 131,072" in alt
    assert f"mistral-7b-v0.1 {64 * llama:.3g} at 64 and {4096 * llama:.3g} at 131,072" in alt
    assert f"gemma-2-9b {64 * 2 * 21 * each / 1e9:.3g} at 64 and {gemma / 1e9:.3g}" in alt


def test_fits() -> None:
    alt = figures.fits({"llama-3.1-8b": LLAMA3}, A100).alt
    said = re.search(r"llama-3.1-8b ([\d,]+) at 256 and (\d+) at ([\d,]+)", alt)
    assert said is not None
    for batch, context in ((said[1], "256"), (said[2], said[3])):
        many, long = int(batch.replace(",", "")), int(context.replace(",", ""))
        assert LLAMA3.memory(many, long - 1).total <= 72 * 2**30  # nine tenths of 80
        assert LLAMA3.memory(many + 1, long - 1).total > 72 * 2**30


def test_step_times() -> None:
    alt = figures.step_times(LLAMA3, A100, [1, 32]).alt
    assert f"floor at {WEIGHTS / BANDWIDTH * 1e3:.1f} ms" in alt
    for batch in (1, 32):
        place = WEIGHTS / (batch * PER_TOKEN)
        said = re.search(rf"batch {batch} at ([\d,]+) tokens, where a step takes ([\d.]+)", alt)
        assert said is not None
        assert float(said[1].replace(",", "")) == pytest.approx(place, abs=1)
        assert float(said[2]) == pytest.approx(2e3 * WEIGHTS / BANDWIDTH, rel=0.03)


def test_throughput() -> None:
    alt = figures.throughput(LLAMA3, A100, [8192, 131072]).alt
    for context, most in ((8192, 57), (131072, 3)):
        said = re.search(rf"context {context:,} [\d.]+ at 1 and ([\d,.]+) at {most}\b", alt)
        assert said is not None
        bound = most * BANDWIDTH / (WEIGHTS + most * context * PER_TOKEN)
        assert 0.97 * bound < float(said[1].replace(",", "")) <= bound + 0.5  # three digits


def test_prefill_and_decode() -> None:
    figure = figures.prefill_and_decode(LLAMA3, A100, 2048)
    check_drawing(figure)
    whole = LLAMA3.prefill(1, 2048, logits="last", scores="on-chip")
    one = LLAMA3.decode(1, 2048, scores="on-chip")
    assert f"does {whole.flops / one.flops:,.0f} times the FLOPs" in figure.title
    assert f"{WEIGHTS / whole.bytes():.0%} of them weights, and 29.7 TFLOP" in figure.alt
    assert f"{WEIGHTS / one.bytes():.0%} of them weights, and 16.1 GFLOP" in figure.alt
    assert f"15.3 GB moved in {1e3 * one.bytes() / BANDWIDTH:.1f} ms" in figure.alt
    assert f"done in {1e3 * whole.flops / 312e12:.1f} ms" in figure.alt
    packed = figures.prefill_and_decode(costlib.models["gpt-oss-20b"], A100, 64).alt
    assert max(int(share) for share in re.findall(r"(\d+)% of them weights", packed)) <= 100


def test_blocks() -> None:
    figure = figures.block_table((10, 6, 13), block=4, blocks=12)
    check_drawing(figure)
    tables = [
        [int(number) for number in table.split(", ")]
        for table in re.findall(r"in blocks ([\d, ]+)(?:;|\.)", figure.alt)
    ]
    assert [len(table) for table in tables] == [3, 2, 4]
    assert sorted(number for table in tables for number in table) == list(range(9))
    assert figure.title.startswith(f"Paging wastes {9 * 4 - 29} slots")
    assert figure.title.endswith(f"for the longest answer {48 - 29}")
    assert "3 blocks are free" in figure.alt


def test_speculation() -> None:
    alt = figures.speculation(LLAMA3, LLAMA1B, A100, [1, 128]).alt

    def read(model: costlib.Transformer, batch: int) -> float:
        table = model.vocab * model.d_model * (0 if model.tied else 1)
        return 2 * (model.params() - table) + batch * 2048 * float(model.kv_bytes(1, 1))

    large, small = read(LLAMA3, 1), read(LLAMA1B, 1)
    rates = [sum(0.7**k for k in range(g + 1)) * large / (large + g * small) for g in range(9)]
    said = re.search(r"batch 1 best ([\d.]+) with (\d) guessed, ([\d.]+) with 8", alt)
    assert said is not None
    assert int(said[2]) == rates.index(max(rates))
    assert float(said[1]) == pytest.approx(max(rates), rel=0.01)
    assert float(said[3]) == pytest.approx(rates[8], rel=0.01)
    full = re.search(r"batch 128 best ([\d.]+) with 1 guessed, ([\d.]+) with 8", alt)
    assert full is not None
    assert float(full[1]) < 1.3
    assert float(full[2]) < 0.8
