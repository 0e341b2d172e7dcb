"""The figures of chapter 1: their words agree with numbers computed another way."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from costfigures import Figure
from costfigures import matmul as figures
from costfigures.tiles import tiles_of_product
from costlib.iomodel.memory import TwoLevelMemory
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    check_words_apart,
)
from schedules import matmul as tiled

pytestmark = pytest.mark.slow

DRAWINGS = {
    "one output": figures.one_output,
    "rounding": figures.exact_against_rounded,
    "intensity": lambda: figures.matmul_intensity({"A100-80GB": 312e12 / 2039e9}),
    "backward": figures.backward_products,
    "tiles": tiles_of_product,
}


@cache
def drawn(name: str) -> Figure:
    return DRAWINGS[name]()


@pytest.mark.parametrize("name", DRAWINGS)
def test_seen_by_everybody(name: str) -> None:
    figure = drawn(name)
    check_described(figure)
    check_colours(figure)
    check_small_and_readable(figure)
    check_words_apart(figure)


def test_one_output() -> None:
    row, column = (3, 0, 5), (2, 7, 4)
    figure = figures.one_output(row, column, m=2, n=4)
    assert figure.title == "3 multiply-adds make one output; 2×4 outputs take 24"
    assert "3 times 2 makes 6, 0 times 7 makes 6, 5 times 4 makes 26" in figure.alt
    assert figure.svg.count(">26<") + figure.svg.count("26\n") == 2  # in C, and below the chain
    with pytest.raises(ValueError, match="one length, got 2 and 3"):
        figures.one_output((1, 2), (1, 2, 3))


def test_intensity() -> None:
    alt = drawn("intensity").alt
    n = next(n for n in range(1, 10_000) if 2 * n**3 / (2 * 3 * n**2) > 312e12 / 2039e9)
    assert f"A100-80GB at 153, which the square product passes at n = {n}" in alt


def test_backward_multiplies_what_fits() -> None:
    found = re.findall(r"(\S+) \((\w)×(\w)\)", drawn("backward").alt)
    assert len(found) == 9
    sizes = {"m": 6, "k": 4, "n": 3}
    for first, second, result in (found[:3], found[3:6], found[6:]):
        assert (first[1], first[2], second[2]) == (result[1], second[1], result[2])
        assert np.prod([sizes[letter] for letter in (*first[1:], second[2])]) == 72


@pytest.mark.parametrize(("n", "tiles"), [(16, 4), (12, 3)])
def test_tiles_of_a_product_are_those_of_a_traced_run(n: int, tiles: int) -> None:
    side = n // tiles
    memory = TwoLevelMemory(3 * side**2, trace=True)
    run = tiled(
        np.ones((n, n)), np.ones((n, n)), memory, tile_rows=side, tile_cols=side, inner=side
    )
    figure = tiles_of_product(n, tiles)
    assert f"{run.reads:,} entries read and {run.writes:,} written" in figure.alt
    assert f"{run.peak} entries at most" in figure.alt
    assert f"{run.reads / (2 * n * n):.0f} times what" in figure.title
    steps = re.findall(r"step (\d+): .*?(\d+) entries read so far", figure.alt)
    for step, read in steps:
        loads = [event for event in run.trace if event.kind == "load"][: 2 * int(step)]
        assert sum(event.entries for event in loads) == int(read)
    with pytest.raises(ValueError, match="tiles must be"):
        tiles_of_product(16, 5)
