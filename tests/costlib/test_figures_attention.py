"""The figures of chapter 2: their words agree with counts made here, and each is one clean SVG."""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree import ElementTree

import numpy as np
import pytest

import costlib
from costfigures import COLOURS, Figure
from costfigures import attention as figures
from costlib.model.transformer import MLA, Transformer
from costlib.sources import deepml
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    figures_of,
)

pytestmark = pytest.mark.slow

SCORES = (0.0, 1.0, -0.5, 1.5, 1.2, 3.5, 2.0, 3.0)
SHARED = {
    "all": Transformer(layers=2, d_model=64, heads=8, d_ff=256, vocab=1000, head_dim=8),
    "grouped": Transformer(
        layers=2, d_model=64, heads=8, d_ff=256, vocab=1000, head_dim=8, kv_heads=2
    ),
    "latent": costlib.models["deepseek-v3"],
}
LATENT = MLA(kv_rank=512, nope_dim=128, rope_dim=64, value_dim=128)

DRAWINGS = {
    "one_query": figures.one_query,
    "layer_shares": lambda: figures.layer_shares(deepml.layer(1, 128, 8, 64), "a layer"),
    "score_intensity": lambda: figures.score_intensity(8, 64, {"a machine": 153}),
    "running_maximum": lambda: figures.running_maximum(SCORES),
    "mask_shapes": figures.mask_shapes,
    "kv_kept": lambda: figures.kv_kept(SHARED),
    "latent_forms": lambda: figures.latent_forms(128, LATENT, 16384),
}


@lru_cache
def drawn(name: str) -> Figure:
    return DRAWINGS[name]()


def numbers(text: str) -> list[float]:
    """Every number of a text, without its separators."""
    return [float(found.replace(",", "")) for found in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def test_every_figure_is_tested():
    assert set(DRAWINGS) == figures_of(figures)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_described_readable_and_in_the_book_s_colours(name):
    check_described(drawn(name))
    check_small_and_readable(drawn(name))
    check_colours(drawn(name))


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_the_same_when_drawn_again(name):
    assert DRAWINGS[name]().svg == drawn(name).svg


def test_one_query_says_its_sizes():
    assert "two products take 7·5 multiply-adds each" in figures.one_query(7, 5).alt


def test_layer_shares_are_those_of_the_table():
    B, S, H, h = 1, 128, 8, 64
    x, d, matrix = B * S * H * h, H * h, B * H * S * S
    flops = [6 * x * d, 2 * x * S, 5 * matrix, 2 * x * S, 2 * x * d]
    moved = [4 * x + 3 * d * d, 2 * x + matrix, 2 * matrix, matrix + 2 * x, 2 * x + d * d]
    expected = [
        round(100 * part / sum(whole), 1)
        for pair in zip(flops, moved, strict=True)
        for part, whole in zip(pair, (flops, moved), strict=True)
    ]
    assert numbers(drawn("layer_shares").alt.partition(":")[2]) == expected
    title = [round(100 * sum(part[1:4]) / sum(part)) for part in (flops, moved)]
    assert numbers(drawn("layer_shares").title) == title


def test_score_intensity_levels_off_where_the_limit_says():
    alt, seq, h = drawn("score_intensity").alt, 65536, 64
    in_memory = (4 * h + 5) * seq / (8 * (seq + h))
    assert re.search(rf"in memory [\d.]+ at 16 and {in_memory:.1f} at {seq:,}", alt)
    assert f"and {(4 * h + 5) * seq / (8 * h):,.0f} at {seq:,}" in alt
    assert "a machine at 153" in alt


def test_running_maximum_counts_its_changes_and_their_factors():
    assert drawn("running_maximum").title == "8 scores, 3 rescalings"
    factors = {2: np.exp(0.0 - 1.0), 4: np.exp(1.0 - 1.5), 6: np.exp(1.5 - 3.5)}
    told = ", ".join(f"{factor:.2f} at score {at}" for at, factor in factors.items())
    assert drawn("running_maximum").alt.endswith(f"below one: {told}.")


def test_masks_tell_the_pairs_that_are_filled():
    figure = drawn("mask_shapes")
    assert numbers(figure.alt) == [6, 6, 36, 36, 6, 6, 21, 36, 4, 6, 18, 24, 3, 6, 6, 15, 36]
    for count in (36, 21, 18, 15):
        assert f">{count} pairs<" in figure.svg


def test_masks_fill_the_cells_that_a_mask_leaves():
    root = ElementTree.fromstring(drawn("mask_shapes").svg)
    paths = root.iter("{http://www.w3.org/2000/svg}path")
    filled = [path.get("d") for path in paths if f"fill: {COLOURS[0]}" in path.get("style", "")]
    assert [path.count("z") for path in filled] == [36, 21, 18, 15]


def test_kv_kept_tells_elements_and_shares():
    alt = drawn("kv_kept").alt
    assert "all, 8 query heads, 8 KV: 128 elements per token and layer, 100.0%" in alt
    assert "grouped, 8 query heads, 2 KV: 32 elements per token and layer, 25.0%" in alt
    latent, full = 512 + 64, 128 * (128 + 64 + 128)
    assert f"one latent: {latent} elements per token and layer, {latent / full:.1%}" in alt


def test_latent_forms_cross_where_their_products_are_equal():
    r, nope, rope, v, T, H = 512, 128, 64, 128, 16384, 128

    def flops(S: int) -> tuple[int, int]:
        pairs = S * (T - S) + S * (S + 1) // 2
        widths = nope + v
        naive = 2 * T * r * H * widths + (2 * (widths + rope) + 5) * H * pairs
        return naive, 2 * S * r * H * widths + (2 * (2 * r + rope) + 5) * H * pairs

    first = next(S for S in range(1, T) if flops(S)[0] < flops(S)[1])
    alt = drawn("latent_forms").alt
    assert f"from {first} new tokens on" in alt
    assert f"takes {flops(1)[0] / flops(1)[1]:.0f} times the FLOPs of the absorbed" in alt
    assert f"takes {flops(T)[1] / flops(T)[0]:.1f} times as many" in alt
