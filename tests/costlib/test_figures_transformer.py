"""The figures of chapter 3: their words agree with numbers computed another way."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sympy import sympify

import costlib
from costfigures import transformer as figures
from costlib.model.transformer import MoE
from figure_checks import check_colours, check_small_and_readable, check_words_apart

pytestmark = pytest.mark.slow

NAMES = ["gpt2", "llama-2-7b", "llama-3.1-8b", "gemma-2b", "mixtral-8x7b"]


def told(alt: str, name: str) -> str:
    """What a text alternative says of one model, up to the next one."""
    return alt.split(name)[1].split(";")[0]


def percentages(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"([+-]?\d+(?:\.\d+)?)%", text)]


def attention_weights(name: str) -> int:
    m = costlib.models[name]
    return 2 * m.d_model * m.head_dim * (m.heads + m.kv_heads)


def feed_forward_weights(name: str, experts: int = 1) -> int:
    m = costlib.models[name]
    matrices = 3 if m.gated else 2
    router = m.d_model * m.moe.experts if m.moe else 0
    return matrices * m.d_model * m.d_ff * experts + router


def test_matrices_are_told_with_their_shapes() -> None:
    figure = figures.block_matrices()
    for name, part in (("llama-2-7b", 67), ("llama-3.1-8b", 81)):
        m = costlib.models[name]
        text = told(figure.alt, name)
        assert f"q 4096×4096, k 4096×{128 * m.kv_heads}" in text
        assert f"down 4096×{m.d_ff}" in text
        share = 3 * 4096 * m.d_ff / (3 * 4096 * m.d_ff + attention_weights(name))
        assert round(100 * share) == part == percentages(text)[0]


def test_weights_of_a_block() -> None:
    figure = figures.block_weights(NAMES)
    totals = []
    for name in NAMES:
        m, used = costlib.models[name], 2 if name.startswith("mixtral") else 1
        attention, rest = attention_weights(name), feed_forward_weights(name, used)
        totals.append((attention + rest) / m.d_model**2)
        shares = attention / m.d_model**2, rest / m.d_model**2
        assert f"{name}: q, k, v, o {shares[0]:.2f}, feed-forward {shares[1]:.2f}" in figure.alt
    assert figure.title == f"Weights of a block, from {min(totals):.1f}·D² to {max(totals):.1f}·D²"
    assert "gpt2: q, k, v, o 4.00, feed-forward 8.00" in figure.alt


def test_turned_pair_keeps_its_angle() -> None:
    figure = figures.turned_pair(15, ((4, 2), (9, 7)))
    turns = re.findall(r"turned by (\d+)°.*?by (\d+)°, which is (\d+)°", figure.alt)
    assert [[int(angle) for angle in turn] for turn in turns] == [[60, 30, 30], [135, 105, 30]]
    figure = figures.turned_pair()
    check_small_and_readable(figure)
    check_words_apart(figure)
    check_colours(figure)


def test_parameter_shares() -> None:
    figure = figures.parameter_shares(NAMES)
    for name in NAMES:
        m, stored = costlib.models[name], 8 if name.startswith("mixtral") else 1
        rows = {"gpt2": m.vocab + 1024, "gemma-2b": m.vocab}.get(name, 2 * m.vocab)
        share = rows * m.d_model / m.params()
        text = percentages(told(figure.alt, f"{name}: "))
        assert text[0] == pytest.approx(100 * share, abs=0.051)
        assert text[1] == pytest.approx(
            100 * m.layers * attention_weights(name) / m.params(), abs=0.15
        )
        assert text[2] == pytest.approx(
            100 * m.layers * feed_forward_weights(name, stored) / m.params(), abs=0.15
        )
    assert figure.title == "Embeddings: 32% of gpt2, 1% of mixtral-8x7b"


def test_rule_against_context() -> None:
    figure = figures.rule_against_context(["gpt2", "llama-2-7b"], 8192)
    weights = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000
    for keys in (128, 8192):
        products = 2 * weights + 32 * 4 * 4096 * keys
        [ratio] = re.findall(rf"(\d(?:\.\d+)?) at {keys:,}", told(figure.alt, "llama-2-7b"))
        assert float(ratio) == pytest.approx(products / (2 * 6738415616), abs=0.01)
    reach = int(re.findall(r"at ([\d,]+)", told(figure.alt, "gpt2"))[-1].replace(",", ""))
    assert 900 < reach <= 1024  # GPT-2 has no more positions


def test_block_wires_add_up() -> None:
    model = costlib.models["llama-3.1-8b"]
    figure = figures.block_wires(model, keys=2048)
    check_small_and_readable(figure)
    check_words_apart(figure)
    check_colours(figure)
    rows = re.findall(r"(\w[\w, ]*?) reads ([\d,]+) and does ([\d,]+) FLOPs", figure.alt)
    reads, flops = ([int(row[i].replace(",", "")) for row in rows] for i in (1, 2))
    assert len(rows) == 13
    weights = 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336 + 2)
    assert sum(reads) == weights + 2 * 2048 * 1024
    around = 2 * 4096 * 128256 + 4 * 4096
    assert 32 * sum(flops) == model.decode(1, 2047).flops - around
    assert "scores reads 2,097,152 and does 16,777,216 FLOPs, and passes on 65,536" in figure.alt
    for name in ("mixtral-8x7b", "deepseek-v3", "gpt2"):
        with pytest.raises(ValueError, match="equal blocks"):
            figures.block_wires(costlib.models[name], keys=1024)


def test_whole_model_adds_up() -> None:
    told = figures.whole_model().alt.split("FLOPs per token. ")[1].rstrip(".")
    rows = [row.split(": ")[1].split(", ") for row in told.split("; ")]
    assert len(rows) == 16
    sizes = {"layers": 5, "d_model": 96, "heads": 6, "kv_heads": 2}
    sizes |= {"head_dim": 24, "d_ff": 200, "vocab": 1000}
    letters = dict(zip("LDHKhFV", sizes.values(), strict=True)) | {"T": 77}
    stored, spent = (
        sum(
            (5 if 0 < place < 14 else 1)
            * sympify(text.replace("–", "0").replace("·", "*"), letters)
            for place, text in enumerate(column)
        )
        for column in zip(*rows, strict=True)
    )
    model = costlib.Transformer(**sizes)
    assert stored == model.params()
    assert spent == model.decode(1, 76).flops


def test_flops_against_size() -> None:
    figure = figures.flops_against_size(["gpt2", "llama-2-7b"], 1024)
    parts = {
        "feed-forward": 32 * 3 * 4096 * 11008,
        "q, k, v, o": 32 * 4 * 4096**2,
        "scores, values": 32 * 2 * 4096 * 1025 / 2,
        "unembedding": 4096 * 32000,
    }
    text = told(figure.alt, "llama-2-7b")
    for part, multiplied in parts.items():
        [share] = re.findall(rf"{part} (\d+\.\d)%", text)
        assert float(share) == pytest.approx(100 * multiplied / sum(parts.values()), abs=0.1)
    assert figure.title == "llama-2-7b spends 64% in feed-forward layers, gpt2 42%"


def test_flops_against_context() -> None:
    figure = figures.flops_against_context("llama-3.1-8b", 65536)
    [half] = re.findall(r"one half at ([\d,]+) tokens", figure.alt)
    reached = int(half.replace(",", ""))
    for prompt, above in ((reached, True), (reached - 1, False)):
        ledger = costlib.models["llama-3.1-8b"].prefill(1, prompt)
        share = ledger.only("scores", "values").flops / ledger.flops
        assert (share > 0.5) is above
    assert "never pass one half" in figures.flops_against_context(longest=4096).alt


def test_experts_touched() -> None:
    mixtures = {
        "small": MoE(experts=8, per_token=2, width=1),
        "many": MoE(experts=256, per_token=8, width=1),
    }
    figure = figures.experts_touched(mixtures)
    for name, (experts, used) in {"small": (8, 2), "many": (256, 8)}.items():
        tokens = 1
        while (1 - used / experts) ** tokens > 0.05:
            tokens += 1
        text = told(figure.alt, name)
        assert f"({used} of {experts})" in text
        assert f"passes 95% at {tokens} tokens" in text
        assert percentages(text)[0] == pytest.approx(100 * used / experts, abs=0.05)
    assert figure.title == "11 to 95 tokens read nearly every expert"


def test_training_rule() -> None:
    figure = figures.training_rule("llama-2-7b", 4096)
    weights = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000
    for length in (512, 4096):
        attention = 32 * 4 * 4096 * (length + 1) / 2
        outside = 2 * 4096 * 32000
        lines = {
            "no recomputation": 6 * weights + 3 * attention,
            "selective": 6 * weights + 4 * attention,
            "full": 8 * weights - outside + 4 * attention,
        }
        for kind, flops in lines.items():
            text = told(figure.alt, f"{kind} ")
            [said] = re.findall(rf"(\d+\.\d+) at {length:,}", text)
            assert float(said) == pytest.approx(flops / 6738415616, rel=0.004)
    assert "5.94" in figure.title
    assert "7.89" in figure.title


@pytest.mark.parametrize(
    ("draw", "given"),
    [
        (figures.block_matrices, {}),
        (figures.block_weights, {"names": NAMES}),
        (figures.training_rule, {"longest": 1024}),
    ],
)
def test_figures_are_narrow_and_described(draw: Any, given: dict[str, Any]) -> None:
    figure = draw(**given)
    [width] = re.findall(r'viewBox="0 0 ([\d.]+)', figure.svg)
    assert float(width) <= 6 * 72
    assert figure.alt in figure.svg.replace("&lt;", "<").replace("&amp;", "&")
