"""What no formula can take is refused where it is given, in a sentence that fits a screen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_names import OF_MODELS

import costlib
from costlib import parallel, serving, training
from costlib.layers.attention import pairs
from costlib.serving import Server
from costlib.training import goodput, lora
from costlib.units.device import Device
from costlib.units.precision import Precision, precision_of

MODEL, DEVICE = costlib.models["llama-3.1-8b"], costlib.devices["H100-SXM"]
LONG = "x" * 1_000_000


def refused(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    """What a call says that it cannot do."""
    with pytest.raises((TypeError, ValueError, KeyError)) as error:
        call(*given, **named)
    return str(error.value)


@pytest.mark.parametrize("wrong", [7, None, [MODEL], {"model_type": "perceiver"}, DEVICE, LONG])
@pytest.mark.parametrize("call", sorted({*OF_MODELS} - {"sweep"}))  # which takes several
def test_what_is_no_model_is_called_so(call: str, wrong: Any) -> None:
    said = refused(OF_MODELS[call], wrong)
    assert "model" in said
    assert len(said) < 500


SERVER = Server(MODEL, DEVICE)


@pytest.mark.parametrize("name", ["compute_efficiency", "bandwidth_efficiency", "blend", "edge"])
def test_a_figure_that_every_device_has_is_a_number(name: str) -> None:
    assert f"{name} must be a number, got None" in refused(DEVICE.with_, **{name: None})
    assert DEVICE.with_(on_chip=None).on_chip is None


@pytest.mark.parametrize("links", [5, None, {"node": 5e9}, ["node"]])
def test_links_are_links(links: Any) -> None:
    assert "links must name a Link for each axis" in refused(DEVICE.with_, links=links)


@pytest.mark.parametrize("by_step", [5, None, ((1, 2, 3),), {"up": 2}])
def test_bytes_by_step_are_pairs(by_step: Any) -> None:
    assert "by_step must be pairs" in refused(Precision, by_step=by_step)


def test_a_sequence_is_not_shorter_than_nothing() -> None:
    for wrong in ([-1.0], [3, -1], [1.5], [math.nan]):
        assert "lengths" in refused(serving.rollout, SERVER, wrong, prompt=1, group=1)


FLAGS: dict[str, Callable[[Any], Any]] = {
    "dropout": lambda it: training.activations(MODEL, 1, 8, dropout=it),
    "sequence": lambda it: training.activations(MODEL, 1, 8, sequence=it),
    "fused": lambda it: training.training_memory(MODEL, 1, 8, fused=it),
    "resume": lambda it: training.checkpoint_bytes(MODEL, resume=it),
    "causal": lambda it: pairs(4, 8, causal=it),
    "all_rows": lambda it: costlib.sweep(MODEL, DEVICE, batch=1, context=8, all_rows=it),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(name: str) -> None:
    for wrong in (math.nan, 1.0, "no", None):
        assert f"{name} must be True or False" in refused(FLAGS[name], wrong)
    assert FLAGS[name](np.True_) is not None


def test_failures_so_rare_that_nothing_is_lost() -> None:
    assert goodput(8, 2, 10**18) == pytest.approx(0.8, rel=1e-12)
    assert goodput(np.array([8.0]), 2, 1e18)[0] == pytest.approx(0.8, rel=1e-12)


RAW: dict[str, tuple[Callable[[], Any], str]] = {
    "no models": (lambda: costlib.sweep([], DEVICE, batch=1, context=1), "at least one model"),
    "no devices": (lambda: costlib.sweep(MODEL, [], batch=1, context=1), "at least one model"),
    "an equation": (lambda: costlib.einsum(5), "an einsum equation is a text"),  # type: ignore[arg-type]
    "symbols": (lambda: costlib.symbols(5), "named by a text"),  # type: ignore[arg-type]
    "less than no steps": (
        lambda: costlib.time(costlib.matmul(1, 2, 3), DEVICE, steps=-1),
        "steps must be at least 0",
    ),
}


@pytest.mark.parametrize(("call", "words"), RAW.values(), ids=RAW)
def test_what_python_alone_would_say_is_said_in_a_sentence(
    call: Callable[[], Any], words: str
) -> None:
    assert words in refused(call)


QUOTING: dict[str, Callable[[], Any]] = {
    "an option": lambda: training.activations(MODEL, 1, 8, scores=LONG),
    "a model": lambda: costlib.models[LONG],
    "a device": lambda: costlib.devices[LONG],
    "a precision": lambda: precision_of(LONG),
    "bytes": lambda: Precision(kv=LONG),
    "a recipe": lambda: training.state_bytes(MODEL, LONG),
    "targets": lambda: lora(targets=LONG),
    "a base": lambda: lora(base=LONG),
    "a stage of ZeRO": lambda: parallel.optimizer_memory(MODEL, zero=LONG),
    "a plan": lambda: parallel.Plan(order=LONG),
    "an axis": lambda: costlib.sweep(MODEL, DEVICE, batch=LONG, context=1),
    "a kind": lambda: costlib.matmul(1, 2, 3, left=LONG),
    "a figure": lambda: Device(name="d", flops_per_s={"bf16": 1e12}, bytes_per_s=LONG),
    "links": lambda: DEVICE.with_(links=LONG),
}


@pytest.mark.parametrize("call", QUOTING.values(), ids=QUOTING)
def test_a_message_quotes_no_more_than_its_beginning(call: Callable[[], Any]) -> None:
    said = refused(call)
    assert "xxx" in said
    assert len(said) < 1000
