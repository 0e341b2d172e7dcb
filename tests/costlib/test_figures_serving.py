"""The figures of serving: their words agree with numbers computed another way."""

from __future__ import annotations

import numpy as np
import pytest

import costlib
from costfigures import serving as figures
from costlib.serving import Server, listed, poisson, saturation, simulate
from costlib.timing import roofline

pytestmark = pytest.mark.slow

MODEL, H100 = costlib.models["llama-3.1-8b"], costlib.devices["H100-SXM"]
LLAMA = Server(MODEL, H100)
FP8 = Server(MODEL, H100, "fp8")


def seconds(batch: int, context: int) -> float:
    return float(roofline.time(MODEL.decode(batch, context), H100, too_large="ignore"))


def test_step() -> None:
    figure = figures.step(LLAMA, 1000, 0.025)
    assert figure.title == f"443 sequences get a token each in {1000 * seconds(443, 1000):.1f} ms"
    assert f"One sequence takes {1000 * seconds(1, 1000):.2f}" in figure.alt
    assert f"the most that fit, {1000 * seconds(465, 1000):.1f}" in figure.alt


def test_frontiers() -> None:
    alt = figures.frontiers({"16 bits": LLAMA, "fp8": FP8}, 1000).alt
    room = LLAMA.room(1001)
    each = 1 / seconds(room, 1000)
    alone = 1 / seconds(1, 1000)
    assert f"16 bits {room * each:,.0f} at {each:.3g} and {alone:.0f} at {alone:.0f}" in alt
    with pytest.raises(ValueError, match="none of these servers has room"):
        figures.frontiers({"much": Server("llama-3.1-405b", H100)}, 1000)


def test_latencies() -> None:
    alt = figures.latencies(LLAMA, [0.2, 0.8], prompt=500, answer=50, count=200, most=64).alt
    rate = 0.2 * saturation(LLAMA, 500, 50, most=64).requests_per_s
    run = simulate(poisson(rate, 200, prompt=500, answer=50, seed=1), LLAMA, most=64)
    assert f"TTFT p50 {1000 * np.median(run.ttft):.3g} at 20 and" in alt


def test_timelines() -> None:
    asked = listed([0.0, 0.05], [200, 3000], 30)
    run = simulate(asked, LLAMA, one_by_one=True)
    alt = figures.timelines({"whole": run}, 2).alt
    pause = LLAMA.prefill(3000) + LLAMA.step(2, 1600)  # about: the prompt, and a step
    told = float(alt.split("the longest ITL is ")[1].split(" ms")[0])
    assert told == pytest.approx(1000 * pause, rel=0.02)


def test_gains() -> None:
    alt = figures.gains(H100, ["int4", "fp8"]).alt
    assert f"int4 {2 / 0.515625:.3g} at 1 and 1 at 2,048" in alt
    assert "fp8 2 at 1 and 2 at 2,048" in alt


def test_drafts() -> None:
    alt = figures.drafts(LLAMA, [100], accepted=0.8, number=4, draft_cost=0.1).alt
    check = roofline.time(MODEL.decode(1, 100, 5), H100)
    speed = 3.3616 * seconds(1, 100) / (check + 0.4 * seconds(1, 100))
    assert f"100 tokens cached {speed:.3g} at 1 and" in alt


def test_tensor_limits() -> None:
    alt = figures.tensor_limits(LLAMA, 1000, [1e-5], most=64).alt
    waits = 2 * 2 * MODEL.layers * 1e-5
    read = float(MODEL.decode(1, 1000, logits="last").bytes(LLAMA.precision)) / H100.memory_rate
    sent = 2 * 2 * MODEL.layers * 2 * MODEL.d_model / H100.link_rate
    assert f"{1e3 * (waits + read / 64 + sent * 63 / 64):.2g} ms" in alt
    assert f"equal at {read / (waits + sent):,.0f} devices" in alt


def test_reads() -> None:
    alt = figures.reads({"llama": MODEL}, most=2**20).alt
    assert f"llama {130 * 131072 / 1e9:.3g} at 128 and" in alt


def test_prices() -> None:
    alt = figures.prices({"one": LLAMA, "much": Server("llama-3.1-405b", H100)}, 1000, 3.6).alt
    assert f"one {1000 * seconds(1, 1000):.3g} at {1000 * seconds(1, 1000):.3g} and" in alt
    assert "much" not in alt
