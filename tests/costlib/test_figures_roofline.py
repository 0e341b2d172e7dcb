"""The figures of chapter 5: their words agree with numbers computed another way."""

from __future__ import annotations

import re

import pytest

import costlib
from costfigures import Figure, hardware
from costfigures import rooflines as figures
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    check_words_apart,
)

pytestmark = pytest.mark.slow

A100 = costlib.devices["A100-80GB"]
LLAMA = costlib.models["llama-2-7b"]
PEAK, BANDWIDTH = 312e12, 2039e9


def numbers(text: str) -> list[float]:
    """The numbers of a text, thousands separators read."""
    return [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def check_drawing(figure: Figure) -> None:
    check_described(figure)
    check_colours(figure)
    check_small_and_readable(figure)
    check_words_apart(figure)


def test_phases_tell_what_is_memory_bound() -> None:
    prefill, decode = LLAMA.prefill(1, 512), LLAMA.decode(1, 511)
    figure = figures.phases({"prefill": prefill, "decode": decode}, A100)
    check_drawing(figure)
    bound, total = 0.0, 0.0
    for op in prefill:
        seconds = max(op.flops / PEAK, op.bytes() / BANDWIDTH)
        total += seconds if op.flops else 0
        bound += seconds if op.flops / PEAK < op.bytes() / BANDWIDTH else 0
    assert 0.05 < bound / total < 0.7
    assert f"prefill, {bound / total:.0%} of the time memory bound" in figure.alt
    assert "decode, 100% of the time memory bound" in figure.alt
    up = (2 * 512 * 4096 * 11008) / (2 * (4096 * 11008 + 512 * (4096 + 11008)))
    assert re.search(rf"ffn\.up {up:.1f} and \d+%", figure.alt)
    shares = [int(each) for each in re.findall(r"and (\d+)%", figure.alt)]
    assert len(shares) == 32
    assert sum(shares[:16]) == pytest.approx(100, abs=5)  # of whole per cents


def test_a_journey_below_the_roof() -> None:
    figure = figures.journey(LLAMA, A100, cached=2048, prompts=[128, 2048])
    check_drawing(figure)
    stops = re.findall(
        r"(\d+ users?|prompt of [\d,]+) at ([\d.,]+) with ([\d.]+) TFLOP", figure.alt
    )
    assert stops[0][0] == "1 user"
    assert len(stops) == 5
    for _, intensity, rate in stops:
        roof = min(PEAK, float(intensity.replace(",", "")) * BANDWIDTH)
        assert 0.5 * roof < float(rate) * 1e12 < 1.03 * roof
    seconds = sum(max(op.flops / PEAK, op.bytes() / BANDWIDTH) for op in LLAMA.prefill(1, 2048))
    share = LLAMA.prefill(1, 2048).flops / seconds / PEAK
    assert figure.title.endswith(f"of the peak to {share:.0%}")


@pytest.mark.parametrize("name", ["A100-80GB", "H100-SXM"])
def test_a_device_is_drawn_as_its_datasheet_says(name: str) -> None:
    device = costlib.devices[name]
    figure = hardware.gpu(device)
    check_drawing(figure)
    (cells,) = (
        path for path in re.findall(r'<path d="([^"]+)"', figure.svg) if path.count("z") > 50
    )
    assert cells.count("z") == device.cores
    assert f"{device.cores * device.on_chip / 1e6:.1f} MB in all" in figure.alt
    figure = hardware.memories(device, LLAMA)
    check_drawing(figure)
    assert f"{device.cores * device.on_chip / device.capacity:.3%}" in figure.title
    assert f"{2 * LLAMA.params() / 1e9:.1f} GB" in figure.alt
    squares = [
        [float(number) for number in re.findall(r"[\d.]+", path)]
        for path in re.findall(r'<path d="([^"]+)"', figure.svg)[1:]
    ]
    sides = [max(path[::2]) - min(path[::2]) for path in squares]
    assert sides[2] / sides[0] == pytest.approx((device.cache / device.capacity) ** 0.5, rel=0.01)


def test_a_drawing_needs_the_datasheet() -> None:
    bare = costlib.Device("bare", {"bf16": 1e12}, 1e11)
    with pytest.raises(ValueError, match="bare needs cores"):
        hardware.gpu(bare)


def test_decode_batches_level_off_where_the_caches_say() -> None:
    alt = figures.decode_batches(LLAMA, A100, [512, 4096]).alt
    assert f"The ridge is {PEAK / BANDWIDTH:.0f}" in alt
    weights = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000
    ends = re.findall(r"([\d,]+) keys [\d.]+ at 1 and ([\d.]+) at 4,096", alt)
    for (told, end), keys in zip(ends, (512, 4096), strict=True):
        assert told == f"{keys:,}"
        flops = 4096 * (2 * weights + 4 * 32 * keys * 4096)
        moved = 2 * weights + 4096 * 2 * 32 * keys * 4096 * 2
        assert float(end) == pytest.approx(flops / moved, rel=0.05)  # without activations


def test_prompts_tell_where_each_kind_of_attention_ends() -> None:
    alt = figures.prompts(LLAMA, A100, 328).alt
    ends = [numbers(each)[0] for each in re.findall(r"and ([\d,.]+) at 131,072", alt)]
    seq, per_token = 131072, 2 * (32 * (4 * 4096**2 + 3 * 4096 * 11008)) * 131072
    pairs = 32 * 32 * seq * (seq + 1) // 2
    flops = per_token + pairs * 4 * 128
    assert pairs * (4 * 128 + 5) / (8 * pairs) < ends[2] < 1.4 * flops / (8 * pairs)
    again = pairs * 4 * 128 / 328
    assert flops / again * 0.85 < ends[1] < flops / again
    assert 1 / ends[1] == pytest.approx(1 / ends[0] + again / flops, rel=0.02)
    (crossing,) = numbers(re.findall(r"near \d+ tokens", alt)[0])
    assert 153 < crossing < 200


def test_guesses_share_the_cache_and_a_batch_does_not() -> None:
    alt = figures.guesses(LLAMA, A100, [131072]).alt

    def intensity(new: int) -> float:
        weights = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000
        pairs = new * 131072 + new * (new + 1) / 2
        flops = 2 * weights * new + 4 * 32 * 4096 * pairs
        return flops / (2 * (weights + 2 * 32 * 4096 * (131072 + new)))

    first = next(new for new in range(1, 513) if intensity(new) >= PEAK / BANDWIDTH)
    told = re.search(r"new tokens of one sequence: ([\d.]+) for one, the ridge at (\d+)", alt)
    assert told is not None
    assert float(told[1]) == pytest.approx(intensity(1), rel=0.02)
    assert first <= int(told[2]) <= first + 6  # the formula leaves activations out
    assert "sequences of a batch: 1.01 for one, no ridge" in alt


def test_splits_tell_work_and_messages() -> None:
    model, device = costlib.models["llama-3.1-70b"], costlib.devices["H100-SXM"]
    alt = figures.splits(model, device, 4096, [1, 8]).alt
    told = re.findall(r"work ([\d.]+), all-reduces ([\d.]+\d)", alt)
    (alone, none), (work, sent) = [[float(each) for each in pair] for pair in told]
    messages = 160 * 2 * 7 / 8 * 4096 * 8192 * 2 / 450e9
    assert none == 0
    assert sent == pytest.approx(1e3 * messages, rel=0.01)
    assert alone / 8 <= work < alone / 6  # norms and residuals do not divide
    products = 2 * 69.5e9 * 4096 / 989.4e12  # of all weights but the embedding
    assert 1e3 * products < alone < 1.2e3 * products


def test_tiles_and_waves() -> None:
    alt = figures.tile_waves(A100).alt
    assert f"{32**2 / (108 * 128**2):.2%} at n = 32" in alt
    assert f"{1024 / 1080:.1%} at n = 4,096" in alt  # 1024 tiles, ten waves of 108
    assert "100.0% (n = 2,304)" in alt  # 18² tiles are three waves
    with pytest.raises(ValueError, match="needs cores"):
        figures.tile_waves(A100.with_(cores=None))
