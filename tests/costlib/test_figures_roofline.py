"""The figures of chapter 5: their words agree with numbers computed another way."""

from __future__ import annotations

import re

import pytest

import costlib
from costlib.figures import rooflines as figures

A100 = costlib.devices["A100-80GB"]
LLAMA = costlib.models["llama-2-7b"]
PEAK, BANDWIDTH = 312e12, 2039e9


def numbers(text: str) -> list[float]:
    """The numbers of a text, thousands separators read."""
    return [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def test_roofs_tell_peak_and_ridge() -> None:
    alt = figures.roofs({"a": A100, "b": costlib.devices["RTX-3060"]}).alt
    assert f"a rises to 312 TFLOP/s at its ridge of {PEAK / BANDWIDTH:.0f} and is flat" in alt
    assert f"b rises to 25.25 TFLOP/s at its ridge of {25.25e12 / 360e9:.0f} and" in alt


def test_readings_are_the_four_ways_to_add() -> None:
    work = LLAMA.prefill(1, 512)
    compute = [op.flops / PEAK for op in work]
    memory = [op.bytes() / BANDWIDTH for op in work]
    both = sum(compute) + sum(memory)
    times = [sum(map(max, compute, memory)), both, max(sum(compute), sum(memory)), both]
    figure = figures.readings({"it": work}, A100)
    ways = [f"by {g}, {o} overlap" for g in ("op", "step") for o in ("perfect", "no")]
    for way, seconds in zip(ways, times, strict=True):
        assert f"{way} {seconds / min(times):.3f}" in figure.alt
    assert f"differ by {max(times) / min(times) - 1:.0%}" in figure.title


def test_phases_tell_what_is_compute_bound() -> None:
    prefill, decode = LLAMA.prefill(1, 512), LLAMA.decode(1, 511)
    alt = figures.phases({"prefill": prefill, "decode": decode}, A100).alt
    bound, total = 0.0, 0.0
    for op in prefill:
        seconds = max(op.flops / PEAK, op.bytes() / BANDWIDTH)
        total += seconds if op.flops else 0
        bound += seconds if op.flops / PEAK >= op.bytes() / BANDWIDTH else 0
    assert 0.3 < bound / total < 0.95
    assert f"prefill: 16 ops, {bound / total:.0%} of the time compute bound" in alt
    assert "decode: 16 ops, 0% of the time compute bound" in alt


def test_decode_batches_level_off_where_the_caches_say() -> None:
    alt = figures.decode_batches(LLAMA, A100, [512, 4096]).alt
    assert f"The ridge is {PEAK / BANDWIDTH:.0f}" in alt
    weights = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000
    ends = numbers(alt.split("they are at")[1])
    for keys, end in ((512, ends[0]), (4096, ends[2])):
        flops = 4096 * (2 * weights + 4 * 32 * keys * 4096)
        moved = 2 * weights + 4096 * 2 * 32 * keys * 4096 * 2
        assert end == pytest.approx(flops / moved, rel=0.05)  # the formula leaves activations out
    assert [ends[1], ends[3]] == [512, 4096]


def prefill_flops(seq: int) -> int:
    return 32 * (24 * seq * 4096**2 + 4 * seq**2 * 4096)


def test_prefill_as_published_and_with_scores() -> None:
    alt = figures.prefill_intensity().alt
    last = 131072
    plain = 14 * 10**9 + 4 * 32 * last * 4096
    moved = plain + 2 * 4 * 32 * 32 * last**2
    assert f"rises to {prefill_flops(last) / plain:,.0f} at 131,072" in alt
    assert f"falls to {prefill_flops(last) / moved:.0f}, below the ridge" in alt
    (crossing,) = numbers(re.findall(r"near \d+ tokens", alt)[0])
    at = prefill_flops(int(crossing)) / (14 * 10**9 + 4 * 32 * crossing * 4096)
    assert at == pytest.approx(PEAK / BANDWIDTH, rel=0.08)


def test_speculative_as_published_and_corrected() -> None:
    alt = figures.speculative_intensity([131072]).alt

    def intensity(new: int, caches: int, own: float) -> float:
        flops = 32 * (24 * new * 4096**2 + 4 * new * (131072 + own) * 4096)
        moved = 14 * 10**9 + 8 * 32 * new * 4096 + caches * 2 * 32 * 131072 * 4096
        return flops / moved

    first = [
        next(new for new in range(1, 513) if intensity(new, *way(new)) >= PEAK / BANDWIDTH)
        for way in (lambda _: (1, 0), lambda new: (2, (new + 1) / 2))
    ]
    one = f"{intensity(1, 1, 0):.2f} as published and {intensity(1, 2, 1):.2f} corrected"
    assert f"131,072 cached: {one} for one new token, {first[0]} and {first[1]} new tokens" in alt


def test_ridges_by_year() -> None:
    figure = figures.ridges({"A": (2020, A100), "H": (2022, costlib.devices["H100-SXM"])})
    assert f"A in 2020 {312e12 / 2039e9:.0f}, H in 2022 {989.4e12 / 3350e9:.0f}" in figure.alt
    assert figure.title.startswith("Ridges between 153 and 295")


def test_splits_tell_work_and_messages() -> None:
    model, device = costlib.models["llama-3.1-70b"], costlib.devices["H100-SXM"]
    alt = figures.splits(model, device, 4096, [1, 8]).alt
    told = re.findall(r"([\d.]+) ms of work and ([\d.]+) m?s of messages", alt)
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
