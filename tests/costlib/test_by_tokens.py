"""Caches cut by tokens: who keeps and reads what, what is sent, and what a server gains."""

import numpy as np
import pytest

from costlib import answer, devices, models
from costlib.command import main
from costlib.parallel import context_parallel, tensor_parallel
from costlib.serving import Server, tensor_limit

pytestmark = pytest.mark.slow


def test_deepseek_on_eight_holds_nine_times_the_sequences():
    """44 of 131,072 tokens where each device has an eighth of a cache, 5 where it has all of it."""
    whole, apart = (Server("deepseek-v3", "H200x8", dcp=many) for many in (1, 8))
    assert whole.room(131_072) == 5
    assert apart.room(131_072) == 44
    assert apart.cache_bytes(131_072) * 8 == whole.cache_bytes(131_072)


@pytest.mark.parametrize(
    ("name", "tensor", "many"), [("deepseek-v3", 8, 4), ("llama-3.1-70b", 16, 2)]
)
def test_a_device_reads_its_tokens_alone_and_computes_what_it_did(name, tensor, many):
    model = models[name]
    share = tensor_parallel(model, tensor)
    apart = context_parallel(share, model, many)
    for context in (15, 4095, 100_000):
        one, other = (each.decode(3, context) for each in (share, apart))
        assert other.flops == one.flops
        assert other.elements_read.weights == one.elements_read.weights
        kept = -(-one.elements_read.kv // many)
        assert other.elements_read.kv == pytest.approx(kept, abs=len(one))


def test_one_merge_a_layer_of_queries_sums_and_outputs():
    model, batch, many = models["deepseek-v3"], 6, 8
    apart = context_parallel(tensor_parallel(model, 8), model, many)
    sent = [op for op in apart.decode(batch, 4000) if op.name == "merge"]
    heads = 128  # of the eight together: 16 each
    whole = batch * heads * (576 + 512 + 2)
    expected = 61 * (many - 1) * whole / many
    assert sum(op.sends for op in sent) == pytest.approx(expected, rel=1e-4)
    assert sum(op.rounds for op in sent) == 61 * 3  # behind a switch each takes one


def test_a_prompt_sends_no_more_than_its_cache():
    model = models["deepseek-v3"]
    apart = context_parallel(tensor_parallel(model, 8), model, 8)
    sent = sum(op.sends for op in apart.prefill(1, 10_000) if op.name == "merge")
    assert sent <= 61 * 10_000 * 576 * 7 / 8 * 1.001


def test_a_merge_is_softmax_over_all_keys():
    """o = Σ exp(l_i − l) o_i, l = log Σ exp l_i, for keys dealt in turn to four devices."""
    random = np.random.default_rng(0)
    query, keys, values = (random.normal(size=shape) for shape in [(8,), (103, 8), (103, 5)])

    def attend(at):
        scores = keys[at] @ query
        most = scores.max()
        weights = np.exp(scores - most)
        return weights @ values[at] / weights.sum(), most + np.log(weights.sum())

    found = [attend(np.arange(first, 103, 4)) for first in range(4)]
    outputs, sums = np.array([o for o, _ in found]), np.array([logs for _, logs in found])
    whole = sums.max() + np.log(np.exp(sums - sums.max()).sum())
    merged = np.exp(sums - whole) @ outputs
    np.testing.assert_allclose(merged, attend(np.arange(103))[0])


@pytest.mark.parametrize(
    ("model", "device", "plan", "why"),
    [
        ("llama-3.1-70b", "H100-SXMx8", {"dcp": 2}, "kv_heads=8 there is 1 for each head"),
        ("llama-3.1-70b", "H100-SXM", {"tensor": 16, "dcp": 4}, "there are 2 for each head"),
        ("deepseek-v3", "H200x8", {"dcp": 3}, "a latent there are 8 for each latent"),
        ("mamba-codestral-7b", "H100-SXMx2", {"dcp": 2}, "no layer of this model keeps"),
        ("deepseek-v3", "H200x8", {"dcp": 0}, "dcp must be"),
    ],
)
def test_what_cannot_be_cut_is_said(model, device, plan, why):
    with pytest.raises(ValueError, match=why):
        Server(model, device, **plan)


def test_windows_are_left_as_they_are():
    server = Server("gpt-oss-20b", "H100-SXM", tensor=16, dcp=2)
    local, full = sorted(server.share.caches(), key=lambda row: row[0].window is None)
    assert (local[0].window, full[0].window) == (128, None)
    assert local[0].per_token == 2 * full[0].per_token


def test_plans_of_all_kinds_take_it():
    both = Server("deepseek-v3", "DGX-H200x2", tensor=8, data=2, expert=2, dcp=8)
    assert both.machine.endswith("(tensor=8, expert=2, data=2, dcp=8)")
    staged = Server("deepseek-v3", "DGX-H200x2", tensor=8, pipeline=2, dcp=4)
    assert staged.room(131_072) > Server("deepseek-v3", "DGX-H200x2", tensor=8, pipeline=2).room(
        131_072
    )
    across = Server("deepseek-v3", "DGX-H200x2", tensor=16, dcp=16)
    assert any(
        op.axis == "tensor.network" for op in across.share.decode(1, 10) if op.name == "merge"
    )
    engine = Server("deepseek-v3", "H200x8", dcp=8, engine="vllm")
    alone = Server("deepseek-v3", "H200x8", engine="vllm")
    assert engine.room(131_072) >= 7 * alone.room(131_072)


def test_it_is_asked_for_by_name(capsys):
    found = answer("deepseek-v3", "H200x8", dcp=8, batch=40, context=131_071)
    assert found.fits
    assert found["largest_batch"] == 44
    words = "deepseek-v3 --on H200x8 --plan dcp=8 --batch 40 --context 131071"
    assert main(words.split()) == 0
    assert "dcp=8" in capsys.readouterr().out


# ---------------------------------------------------------------- the limit of sharing layers


def waiting(name, latency):
    return Server(name, devices["H100-SXM"], latency=latency)


@pytest.mark.parametrize("name", ["llama-3.1-70b", "qwen3-32b", "deepseek-v3"])
@pytest.mark.parametrize("latency", [0, 1.3e-6, 3.1e-6])
def test_the_closed_form_is_the_ledgers_step(name, latency):
    """Where memory binds, devices are no more than heads, and all weights are read."""
    found = tensor_limit(waiting(name, latency), 4000, latency=latency)
    for many in (1, 2, 4, 8):
        server = Server(name, "H100-SXM", tensor=many, latency=latency)
        step = float(server.step(1, 4000, too_large="ignore"))
        assert step == pytest.approx(found.step(many), rel=0.06)


def test_a_step_falls_to_its_floor_and_half_of_it_where_said():
    found = tensor_limit(waiting("llama-3.1-70b", 0), 4000, 8, latency=2e-6)
    steps = found.step(np.arange(2, 200))
    assert (np.diff(steps) < 0).all()
    assert steps.min() > found.floor
    assert found.step(10**9) == pytest.approx(found.floor)
    assert found.step(found.devices) == pytest.approx(2 * found.floor)


def test_a_latent_is_a_floor_under_all_devices():
    short, long = (tensor_limit(Server("deepseek-v3", "H200x8"), c, 8) for c in (1000, 100_000))
    latents = 8 * 99_000 * 61 * 576 * 2
    apart = (long.kept - short.kept) * devices["H200"].bytes_per_s
    assert apart == pytest.approx(latents, rel=0.01)
    assert long.floor > long.kept > 2 * short.kept
