"""Figures of prediction: their words agree with numbers computed another way."""

from __future__ import annotations

import re

import numpy as np
import pytest

from costfigures import measured as figures
from costfigures.canvas import canvas
from costlib import Device, matmul
from costlib.measured import Measurement, splits
from costlib.measured.timing import copy
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    check_words_apart,
)

pytestmark = pytest.mark.slow

TOY = Device("toy", {"bf16": 100e12}, 1e12, cores=100)


def test_predicted_against_measured_tells_medians_and_sides() -> None:
    groups = {"a": [(1.0, 2.0), (3.0, 4.0)], "b": [(5.0, 4.0)]}
    figure = figures.predicted_against_measured(groups, "ideal")
    assert figure.title == "Ideal: 25% off in the median"  # of 50, 25 and 25 per cent
    assert "a, 2 rows, median error 38%" in figure.alt
    assert "b, 1 rows, median error 25%" in figure.alt
    assert "2 of 3 rows are predicted too short" in figure.alt


def test_dots_lie_at_measured_over_predicted() -> None:
    groups = {"a": [(1.0, 2.0), (3.0, 4.0)], "b": [(5.0, 4.0), (1.0, 50.0)]}
    with canvas("Dots", "Dots of two groups and their medians.") as drawing:
        figures.strips(drawing.axes, {n: [m / p for p, m in each] for n, each in groups.items()})
        dots = [patch.get_path().vertices for patch in drawing.axes.patches[1:]]
        medians = [line.get_xdata()[0] for line in drawing.axes.lines[1:]]
    assert [sorted(set(each[:, 0])) for each in dots] == [[4 / 3, 2], [0.8, 50]]
    assert all(abs(each[:, 1] - row).max() < 0.34 for row, each in enumerate(dots))
    assert medians == [np.mean([4 / 3, 2]), np.mean([0.8, 50])]


def test_waves_of_tiles() -> None:
    figure = figures.waves([256, 257], 512, 128, 256, 3)  # 4 tiles, and 6
    assert figure.title == "256 rows: 4 tiles, 2 waves. 257 rows: 6 tiles, 2 waves"
    assert "4 tiles, 2 waves, 67% busy; 257 rows: 6 tiles, 2 waves, 100% busy" in figure.alt
    for check in (check_described, check_colours, check_words_apart):
        check(figure)
    check_small_and_readable(figure)


def test_own_roofline_has_a_roof_for_what_a_cache_serves() -> None:
    rows = [
        Measurement(copy(10**8), 0.1, "fp32"),
        Measurement(copy(10**5), 1e-5, "fp32"),
        Measurement(matmul(512, 512, 512), 1e-3, "fp32"),
    ]
    figure = figures.own_roofline(rows, "mine")
    assert figure.title == "mine: 268 GFLOP/s, 8 GB/s from memory, 80 from a cache"
    assert "ridge at 33.6 and that of a cache, by the fastest copy, at 3.4" in figure.alt


def test_errors_by_regime_tells_every_bar() -> None:
    spread = [0.5, 0.8, 1.0, 1.2, 2.0]  # a median of 1, and a 90th percentile of 1.68
    table = {
        regime: {level: [each * middle for each in spread] for level, middle in row.items()}
        for regime, row in {
            "x": {"ideal": 0.3, "fitted": 0.04},
            "y": {"ideal": 0.5, "fitted": 0.02},
        }.items()
    }
    figure = figures.errors_by_regime(table)
    assert figure.title == "Median error 40% ideal, 3% fitted"
    assert "x: ideal 30% and 50%, fitted 4% and 7%; y: ideal 50% and 84%" in figure.alt
    assert figure.svg.count(">4% (7%)<") == 1
    assert "polyline" not in figure.svg
    figures.errors_by_regime({"x": {"ideal": [0.1, 0.1, 9.0]}})  # a line that is cut


def test_waterfall_shares_are_of_the_measured_time() -> None:
    slow = TOY.with_(compute_efficiency=0.5, overhead_per_op=1e-5)
    row = Measurement(matmul(1000, 1000, 1000), 1e-4)  # 20 µs ideal, 20 for the rate, 10 launch
    figure = figures.waterfall({"one": row}, slow)
    told = "ideal 20%, rates 20%, shapes 0%, launches 10%, messages 0%, unexplained 50%"
    assert f"one: {told}" in figure.alt
    assert figure.title == "The ideal time is 20% to 20% of the measured one"


def test_short_steps_tells_the_floor_of_each_device() -> None:
    device = TOY.with_(overhead_per_op=8e-6, floor_per_head=3e-6)
    figure = figures.short_steps({"toy": [(8, 8e-6), (4096, 1.3e-4)]}, {"toy": device})
    assert "toy: 2 steps, 8 µs a call and 3 µs of a core for each head" in figure.alt


def test_staircase_tells_the_error_of_each_level() -> None:
    points = [(16, 1e-5), (256, 4e-5), (4096, 4e-4)]
    ideal = [max(2 * m * 512**2 / 100e12, 2 * (2 * m * 512 + 512**2) / 1e12) for m, _ in points]
    error = np.median([abs(p / t - 1) for p, (_, t) in zip(ideal, points, strict=True)])
    figure = figures.staircase(points, 512, 512, {"ideal": TOY})
    assert f"ideal {error:.1%}" in figure.alt
    assert "3 products" in figure.alt


def test_under_the_roof_tells_what_is_reached() -> None:
    rows = [Measurement(matmul(4096, 4096, 4096), t) for t in (2e-3, 4e-3)]
    figure = figures.under_the_roof({"squares": rows}, TOY)
    best, least = (2 * 4096**3 / t / 100e12 for t in (2e-3, 4e-3))
    assert figure.title == f"The best row reaches {best:.0%} of the peak of toy"
    assert f"squares reach {least:.0%} to {best:.0%} of the roof" in figure.alt


def test_own_roofline_tells_the_rates_of_the_rows() -> None:
    rows = [Measurement(matmul(100, 100, 100), 1e-3), Measurement(copy(1000), 1e-6)]
    figure = figures.own_roofline(rows, "mine")
    assert figure.title == "mine: 2 GFLOP/s, 4 GB/s from memory, 4 from a cache"
    assert "ridge at 0.5" in figure.alt
    assert "1 products" in figure.alt


@pytest.mark.parametrize("level", ["ideal", "calibrated", "shaped"])
def test_the_page_has_the_words_of_its_rows(level: str) -> None:
    split = splits("products")[0]
    device = split.devices()[level]
    points = [(row["m"], row.measurement.seconds) for row in split.fit if row["n"] == 4096]
    figure = figures.staircase(points, 4096, 4096, {level: device})
    assert re.search(rf"Median errors: {level} \d+\.\d%", figure.alt)
    assert "step" in figure.title
