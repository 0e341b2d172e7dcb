"""Devices, plans, servers and configs that nobody would write: an answer that can be one, or a
sentence.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import costlib
from costlib import Device, Transformer, answer, devices, matmul, models, nodes
from costlib.parallel import Plan
from costlib.serving import Server, best_batch, bill, saturation, speculate
from costlib.units.precision import RECIPES

pytestmark = pytest.mark.slow

FUZZED = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
REFUSED = (ValueError, TypeError, KeyError)

#: What somebody may give for a number: little, much, none at all, and other things.
SIZES = st.one_of(
    st.integers(-2, 300),
    st.sampled_from([2**20, 10**9, 10**30, 10**31, 10**400]),
    st.sampled_from([0.5, 8.0, -1.0, math.nan, math.inf, -math.inf, 1e308]),
    st.sampled_from([None, True, "8", [8], {}, b"8"]),
)
RATES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e12, 989e12, 3.35e12, 80e9, 0, -1, 10**400, None, "1e12", True, [1e12]]),
)
MODELS = st.sampled_from(
    ["gpt2", "llama-3.2-1b", "mixtral-8x7b", "deepseek-v3", "falcon-mamba-7b", "gpt-oss-20b"]
)
PLACES = st.sampled_from(["T4", "H100", "H100-SXMx8", "DGX-H100x2", "MI300X", "8xL40S", "TPU-v5e"])
CUTS = st.dictionaries(
    st.sampled_from(["tensor", "pipeline", "expert", "data", "dcp"]),
    st.one_of(st.sampled_from([1, 2, 4, 8, 16]), SIZES),
    max_size=3,
)


def said(problem: BaseException) -> None:
    """An error is a sentence, on a screen."""
    assert len(str(problem).split()) >= 4, repr(problem)
    assert len(str(problem)) < 1000


def right(value: Any, *, may_be_zero: bool = False) -> None:
    """A cost is a number, and more than nothing."""
    assert value == value, "NaN"
    assert (value >= 0) if may_be_zero else (value > 0), value


@FUZZED
@given(st.dictionaries(st.sampled_from(["bf16", "FP8", "int8"]), RATES, max_size=2), RATES, RATES)
def test_a_device_times_or_is_refused(rates: Any, memory: Any, capacity: Any) -> None:
    try:
        device = Device("mine", rates, memory, capacity=capacity)
    except REFUSED as problem:
        said(problem)
        return
    right(costlib.time(matmul(64, 64, 64), device, precision=next(iter(rates)).lower()))
    right(device.ridge(next(iter(rates))))


@FUZZED
@given(st.dictionaries(st.sampled_from(sorted(Device.__dataclass_fields__)), RATES, max_size=3))
def test_a_changed_device_times_or_is_refused(changes: dict[str, Any]) -> None:
    try:
        device = devices["H100-SXM"].with_(**changes)
        found = costlib.time(models["llama-3.2-1b"].decode(8, 100), device, too_large="ignore")
    except REFUSED as problem:
        said(problem)
        return
    right(found)


@FUZZED
@given(MODELS, PLACES, CUTS, SIZES, SIZES, st.sampled_from([None, *RECIPES, "fp9"]))
@example("gpt2", "T4", {}, 10**400, 8, None)
def test_a_server_answers_or_is_refused(
    model: str, place: str, cuts: dict[str, Any], batch: Any, context: Any, precision: Any
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = answer(
                model, place, **cuts, batch=batch, context=context, precision=precision, watts=100
            )
        except REFUSED as problem:
            said(problem)
            return
    for row in found:
        if not isinstance(row.value, (str, bool)):
            right(row.value, may_be_zero=row.key in ("largest_batch", "largest_context"))
    assert max(map(len, str(found).splitlines())) <= 80


@FUZZED
@given(MODELS, SIZES, SIZES, SIZES)
def test_a_served_load_has_a_price_or_is_refused(
    model: str, prompt: Any, written: Any, batch: Any
) -> None:
    server = Server(model, "DGX-H200" if model == "deepseek-v3" else "H200")
    calls: list[Any] = [
        lambda: saturation(server, prompt, written, batch=batch).requests_per_s,
        lambda: bill(server, prompt=prompt, answer=written, batch=batch, per_hour=1).output,
        lambda: best_batch(server, prompt, written).throughput,
        lambda: speculate(
            server, server, batch=batch, context=prompt, accepted=0.5, drafts=written
        ),
    ]
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                right(call())
            except REFUSED as problem:
                said(problem)


@FUZZED
@given(
    MODELS,
    st.sampled_from(sorted(nodes)),
    st.dictionaries(
        st.sampled_from(sorted(Plan.__dataclass_fields__)),
        st.one_of(SIZES, st.sampled_from(["full", "fp8", "bf16", "1f1b"])),
        max_size=3,
    ),
    SIZES,
    SIZES,
)
def test_a_plan_takes_time_or_is_refused(
    model: str, node: str, cuts: dict[str, Any], batch: Any, seq: Any
) -> None:
    try:
        found = Plan(**cuts).on(model, node, batch=batch, seq=seq)
        step, total = found.step, found.memory.total
    except REFUSED as problem:
        said(problem)
        return
    right(step)
    right(total)


@FUZZED
@given(
    MODELS,
    st.dictionaries(st.integers(0, 60), st.one_of(SIZES, st.text(max_size=3)), max_size=4),
)
def test_a_config_counts_or_is_refused(model: str, changes: dict[int, Any]) -> None:
    config = dict(models.data["models"][model]["config"]["value"])
    fields = sorted(config)
    config |= {fields[at % len(fields)]: value for at, value in changes.items()}
    try:
        found = Transformer.from_hf(config)
        stored = found.weight_bytes()
    except REFUSED as problem:
        said(problem)
        return
    right(found.params())
    right(stored)
    right(found.decode(1, 1).flops)
    right(costlib.time(found.decode(1, 1), "H100-SXM", too_large="ignore"))
