"""The figures of the chapter on agents: their words agree with numbers computed another way."""

from __future__ import annotations

import numpy as np
import pytest

import costlib
from costfigures import agents as figures
from costlib import serving
from costlib.serving import Server, Session

pytestmark = pytest.mark.slow

H100 = costlib.devices["H100-SXM"]
LLAMA = Server("llama-3.1-8b", H100)
SESSION = Session(calls=8, first=4000, answer=200, result=1000)


def test_prefix() -> None:
    alt = figures.prefix(SESSION).alt
    assert f"The first prompt has 4,000, the last {4000 + 7 * 1200:,}" in alt
    assert "all but 1,001 of them" in alt


def test_session() -> None:
    alt = figures.session(LLAMA, SESSION, batch=2).alt
    whole = sum(LLAMA.prefill(4000 + 1200 * call) for call in range(8))
    first = LLAMA.prefill(4000)
    assert f"prefill, no cache {first:.3g} at 1 and {whole:.3g} at 8;" in alt


def test_tiers() -> None:
    alt = figures.tiers(LLAMA, {"a bus": 64e9}, most=8192).alt
    assert f"and {1000 * LLAMA.prefill(8192):,.0f} at 8,192" in alt
    starts, ends = (1000 * tokens * 131_072 / 64e9 for tokens in (256, 8192))
    assert f"a bus {starts:.3g} at 256 and {ends:.3g} at 8,192" in alt


def test_evictions() -> None:
    calls = serving.agent_calls(6, SESSION, calls=400)
    alt = figures.evictions(calls, [20_000, 60_000], shared=4000, warm=50, marked=30_000).alt
    rooms = (20_000, 60_000)
    ends = [serving.reuse(calls, room, shared=4000, warm=50).hit_rate for room in rooms]
    assert f"LRU {100 * ends[0]:.3g} at 20 and {100 * ends[1]:.3g} at 60" in alt


def test_offloading() -> None:
    card = Server("llama-3.1-8b", "RTX-4090")
    alt = figures.offloading({"dense": (card, "all")}, {"bus": 32e9}, 1000).alt
    bus = 1 / serving.offloaded_step(card, 1, 1000, link=32e9)
    assert f"dense, bus {1 / card.step(1, 1000):.3g} at 0 and {bus:.3g} at 100" in alt


def test_waves() -> None:
    [run] = serving.rollout(LLAMA, range(100, 740, 10), prompt=100, group=16, most=16)
    figure, ends = figures.waves(run), np.sort(run.finish)
    assert figure.title.startswith(
        f"Half of the answers are complete after {ends[32] / ends[-1]:.0%}"
    )
    assert "64 bars in time" in figure.alt
    assert f"the last after {ends[-1]:.0f} s" in figure.alt
    assert "Up to 16 answers are generated at a time" in figure.alt


def test_phases() -> None:
    step = serving.PolicyStep(50, 20, 30, 0.5, 64, 10, 8, 40)
    alt = figures.phases({"a step": step}).alt
    assert "a step, 100 s: rollout 50, scoring 20, update 30, shipping 0" in alt
    assert "asynchronous steps end, after 60 s" in alt
