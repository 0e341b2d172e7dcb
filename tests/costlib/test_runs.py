"""Published training runs: what they imply, against what was printed."""

from __future__ import annotations

import pytest

from costlib.measured import run_sources, runs


@pytest.mark.parametrize("run", runs(), ids=lambda run: run.name)
def test_every_run_has_a_source_and_implies_no_more_than_the_device_can(run):
    assert run.source in run_sources()
    if run.implied_mfu is not None:
        assert 0.1 < run.implied_mfu < 0.55


@pytest.mark.parametrize("name", ["GPT-3 175B", "PaLM 540B", "Llama 3.1 405B"])
def test_six_flops_a_parameter_are_what_was_printed(name):
    run = runs(name)
    assert run.six_p_t == pytest.approx(run.flops, rel=0.003)
    assert 1.0 < run.ledger_flops / run.six_p_t < 1.05


def test_what_hours_imply_is_no_more_than_what_was_printed_of_the_running_machine():
    for run in runs():
        if run.printed_mfu is not None and run.implied_mfu is not None:
            assert run.implied_mfu < run.printed_mfu[0] * 1.001, run.name


def test_hours_without_tokens_imply_nothing():
    run = runs("gpt-oss-120b")
    assert run.implied_mfu is None
    assert run.six_p_t is None
    with pytest.raises(ValueError, match="gpt-oss-120b was published without its tokens"):
        run.hours_at(0.4)


def test_energy_is_hours_times_power_times_overhead():
    for run in runs():
        if run.megawatt_hours and run.source == "llama":
            assert run.megawatt_hours == pytest.approx(run.hours * 400 * 1.1 / 1e6, rel=0.02)
