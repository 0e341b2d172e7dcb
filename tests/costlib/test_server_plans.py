"""Servers cut four ways: what devices hold and do adds up to the whole, and plans are refused."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import costlib
from costlib import Transformer, answer, models
from costlib.model.transformer import MoE
from costlib.parallel import Cluster, Plan, Tiers, expert_parallel, tensor_parallel
from costlib.parallel.cluster import NETWORK_ROUND
from costlib.parallel.work import layers
from costlib.serving import (
    Server,
    best_batch,
    bill,
    expert_exchange,
    frontier,
    saturation,
    simulate,
)
from costlib.serving.requests import listed
from costlib.units.messages import all_reduce

MIXTURE = "mixtral-8x7b"
#: Tied ends, layers packed alike and each in its own way, a mixture behind dense layers, windows in
#: turn, heads that look ahead.
PIPED = {
    "tied": models["gpt2"],
    "packed": models["gpt-oss-120b"],
    "packed by layers": models["nemotron-3.5-lightning-30b-a3b-nvfp4"],
    "mixed": models["deepseek-v3"],
    "windows": models["gemma-2-9b"],
    "ahead": models["deepseek-v3"].with_mtp_layers(),
    "by its sizes": Transformer(layers=7, d_model=64, heads=4, d_ff=256, vocab=1000),
}
#: A model with an encoder.
ENCODED = Transformer.from_hf(
    {
        "model_type": "t5",
        "vocab_size": 100,
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 128,
        "num_layers": 4,
        "num_heads": 4,
    }
)


@pytest.mark.parametrize("pipeline", [2, 3, 7])
@pytest.mark.parametrize("name", PIPED)
def test_stages_add_up_to_the_whole(name, pipeline):
    whole = PIPED[name]
    server = Server(whole, "H200", pipeline=pipeline)
    assert sum(alike for _, alike in server.stages) == pipeline
    twice = (
        whole.vocab * whole.d_model * (whole.tied + (whole.mtp_layers and not whole.mtp_embeddings))
    )
    assert sum(n * stage.params() for stage, n in server.stages) == whole.params() + twice
    plain = 2 if whole.storage is None else whole.storage.plain
    held = sum(n * stage.weight_bytes() for stage, n in server.stages)
    assert held == pytest.approx(whole.weight_bytes() + plain * twice, rel=1e-12)
    for batch, context, new in ((3, 1000, 1), (1, 0, 500)):
        work = whole.decode(batch, context, new, logits="last")
        passes = server.passes(batch, context, new, logits="last")
        assert sum(n * part.flops for part, n in passes) == work.flops
        moved = sum(n * part.bytes(part.at()) for part, n in passes)
        assert moved == pytest.approx(work.bytes(work.at()), rel=1e-12)
        sent = [part.over("pipeline").sends for part, _ in passes]
        assert sent == [batch * new * whole.d_model] * (len(passes) - 1) + [0]
    assert server.cache_bytes(1000) == pytest.approx(whole.kv_bytes(1, 1000))


def test_the_cache_of_all_devices_is_the_models():
    server, model = (Server("llama-3.1-70b", "H100-SXM", tensor=8, pipeline=3), "llama-3.1-70b")
    assert server.cache_bytes(1000, batch=5) == models[model].kv_bytes(5, 1000)


def played(times: list[float], groups: int, rounds: int = 400) -> float:
    """Seconds of a round in which every group goes once through all stages, one at a time each."""
    free, back = [0.0] * len(times), [0.0] * groups
    for _ in range(rounds):
        for group in range(groups):
            now = back[group]
            for stage, spent in enumerate(times):
                now = free[stage] = max(now, free[stage]) + spent
            back[group] = now
    return back[0] / rounds


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 8, 64])
def test_a_batch_goes_round_as_when_it_is_played(batch):
    server = Server("llama-3.1-8b", "H100-SXM", pipeline=4)
    groups, each = server.groups(batch)
    assert groups == min(batch, 4)
    assert groups * each >= batch > (groups - 1) * each - server.pipeline
    times = [server.seconds(work) for work, n in server.passes(each, 2000, 1) for _ in range(n)]
    assert server.step(batch, 2000) == pytest.approx(played(times, groups), rel=0.01)
    assert server.prefill(2000) == pytest.approx(
        sum(n * server.seconds(w) for w, n in server.passes(1, 0, 2000, logits="last"))
    )


def test_the_fullest_stage_says_what_fits():
    server = Server("llama-3.1-405b", "H100-SXM", tensor=8, pipeline=4)
    held = [costlib.model.kvcache.memory(stage, 1, 8191) for stage, _ in server.stages]
    assert server.fullest(1, 8191)[1].total == max(each.total for each in held)
    room = server.room(8192)
    given = server.device.usable
    assert all(each.weights + room * (each.kv + each.activations) <= given for each in held)
    assert any(each.weights + (room + 1) * (each.kv + each.activations) > given for each in held)


def test_copies_multiply_what_is_made_and_paid_and_nothing_else():
    how = {"batch": 8, "price_per_hour": 3.0, "watts": 700}
    one = answer("llama-3.1-70b", "H100-SXM", tensor=4, **how)
    four = answer("llama-3.1-70b", "H100-SXM", tensor=4, data=4, **how)
    assert four["output_tokens_per_s"] == 4 * one["output_tokens_per_s"]
    assert four.server.devices == 4 * one.server.devices
    changed = {key for key, value in four.plain().items() if value != one[key]}
    assert changed == {
        "output_tokens_per_s",
        "full_batch_output_tokens_per_s",
        "int4_full_batch_output_tokens_per_s",
    }
    servers = one.server, four.server
    assert [best_batch(s, 2000, 0.05).batch for s in servers][1:] == [
        best_batch(servers[0], 2000, 0.05).batch
    ]
    made = [best_batch(s, 2000, 0.05).throughput for s in servers]
    assert made[1] == 4 * made[0]
    curves = [frontier(s, 2000, [1, 8]) for s in servers]
    assert (curves[1].throughput == 4 * curves[0].throughput).all()
    bills = [bill(s, prompt=2000, answer=200, batch=8, per_hour=3) for s in servers]
    assert bills[0] == bills[1]


TIERS = ("tensor", "tensor.network")


@pytest.mark.parametrize("name", ["llama-3.1-70b", "gpt-oss-120b"])
def test_tensor_alone_is_what_it_was(name):
    server, model = Server(name, "H100-SXM", tensor=8), models[name]
    assert server.share == tensor_parallel(model, 8)
    work = server.share.decode(3, 1000)
    [sums] = work.over("tensor")
    assert sums.count == 2 * model.layers
    assert sums.sends == sums.count * all_reduce(3 * model.d_model, 8)
    assert server.device is costlib.devices["H100-SXM"]
    assert server.step(3, 1000) == costlib.time(work, "H100-SXM", too_large="ignore")
    for same in ("H100-SXMx8", "DGX-H100"):
        other = Server(name, same)
        assert (other.tensor, other.devices) == (8, 8)
        assert other.step(3, 1000) == pytest.approx(server.step(3, 1000), rel=1e-12)
    waiting = server.step(3, 1000) + 1e-6 * sum(op.rounds for op in work)
    for same, tensor in (("H100-SXM", 8), ("H100-SXMx8", None), ("DGX-H100", None)):
        other = Server(name, same, tensor=tensor, latency=1e-6)
        assert other.step(3, 1000) == pytest.approx(waiting, rel=1e-12)
        assert other.with_(latency=0).step(3, 1000) == pytest.approx(server.step(3, 1000))


@pytest.mark.parametrize("batch", [1, 3, 100])
@pytest.mark.parametrize("expert", [1, 2, 8])
def test_experts_on_many_devices_are_those_of_one_that_has_all_tokens(batch, expert):
    server = Server(MIXTURE, "H100-SXM", expert=expert, data=8)
    whole, work = models[MIXTURE].decode(expert * batch, 1000), server.share.decode(batch, 1000)
    for name in ("experts.gate", "experts.up", "experts.down"):
        assert expert * work[name].flops == whole[name].flops
        read = work[name].elements_read.weights
        assert expert * read == pytest.approx(whole[name].elements_read.weights, rel=1e-12)
    stored = sum(s.parameters() for s in models[MIXTURE].steps() if s.is_expert)
    rest = models[MIXTURE].params() - stored
    assert expert * server.share.params() == expert * rest + stored
    dense = models[MIXTURE].decode(batch, 1000)
    for name in ("q_proj", "scores", "router"):
        assert work[name].elements == dense[name].elements


def test_all_weights_of_a_server_are_the_models_and_its_copies():
    model = Transformer(
        layers=6, d_model=64, heads=8, d_ff=256, vocab=1024,
        moe=MoE(experts=8, per_token=2, width=64, shared_width=32),
    )  # fmt: skip
    server = Server(model, "H200", tensor=2, pipeline=3, expert=4, data=8)
    held = 2 * 8 * sum(n * stage.params() for stage, n in server.stages)
    parts = Counter()
    for step in model.steps():
        kind = "experts" if step.is_expert else "whole" if "norm" in step.name else "cut"
        parts["whole" if step.name == "router" else kind] += step.parameters()
    assert sum(parts.values()) == model.params()
    assert held == 2 * parts["experts"] + 8 * parts["cut"] + 16 * parts["whole"]


def test_messages_are_those_of_training():
    """Sums, all-to-alls and what goes to the next stage: a training plan's, forward."""
    model, cluster = models[MIXTURE], Cluster("DGX-H100", nodes=4, latency=1e-6)
    server = Server(model, cluster, tensor=4, pipeline=2, expert=4, data=4)
    plan = Plan(tensor=4, pipeline=2, expert=4, data=4)
    found = plan.on(model, cluster, batch=4, seq=500)
    [work] = layers(model, found.cut)
    for stage, (ledger, _) in zip(server.stages, server.passes(1, 0, 500), strict=True):
        for axis in ("tensor", "expert"):
            mine, its = ledger.over(axis), work.forward.over(axis)
            assert mine.sends == stage[0].layers * its.sends > 0
            assert {op.axis for op in mine} == {op.axis for op in its}
    assert found.sending.keys() >= {"pipeline.network"}
    assert server.passes(1, 0, 500)[0][0].over("pipeline.network").sends == 500 * model.d_model
    assert found.device.links == server.device.links


def test_a_tokens_copies_are_those_that_the_chapter_counts():
    model = models["deepseek-v3"]
    counted = expert_exchange(model, 128, 64)
    sent = expert_parallel(model, 64).decode(128, 4000).over("expert")
    assert (sent.sends, sent.count) == (counted.sends, counted.count)


def test_groups_in_several_nodes_cross_the_network():
    near, far = (Server("llama-3.1-70b", name, tensor=16) for name in ("H100-SXM", "DGX-H100x2"))
    work = far.share.decode(1, 1000)
    assert {op.axis for op in work.over("tensor")} == {"tensor", "tensor.network"}
    tiers = Tiers(8, 2).send("all_reduce", models["llama-3.1-70b"].d_model, "tensor", count=160)
    assert work.over("tensor").sends == tiers.sends
    waits = [each.with_(latency=1e-6).step(1, 1000) for each in (near, far)]
    assert waits[1] > waits[0]
    assert Server("llama-3.1-70b", Cluster("DGX-H100", nodes=2)).step(1, 1000) == far.step(1, 1000)
    near, across = (sum(op.rounds for op in work if op.axis == axis) for axis in TIERS)
    for waits in (
        Server("llama-3.1-70b", Cluster("DGX-H100", nodes=2, latency=3.1e-6)),
        Server("llama-3.1-70b", Cluster("DGX-H100", nodes=2, latency=1), latency=3.1e-6),
        Server("llama-3.1-70b", "DGX-H100x2", latency=3.1e-6),
    ):
        assert waits.step(1, 1000) - far.step(1, 1000) == pytest.approx(
            near * 3.1e-6 + across * NETWORK_ROUND
        )


def test_many_batches_are_as_one_after_another():
    server = Server(MIXTURE, "H100-SXM", tensor=2, pipeline=3, expert=2, data=2)
    batches = np.array([1, 2, 3, 4, 10, 300])
    each = [server.step(int(batch), 1000) for batch in batches]
    assert server.step(batches, 1000) == pytest.approx(each, rel=1e-12)
    B = costlib.symbols("B")
    formula = server.step(B, 1000)
    assert float(formula.subs(B, 10)) == pytest.approx(server.step(10, 1000), rel=1e-9)


#: A plan on a device, and the words that refuse it, which training's are.
REFUSED = {
    "llama-3-8b tensor=3": "tensor=3 does not divide the model: devices must divide kv_heads=8 or "
    "be a multiple, got 3; the nearest is 2",
    "llama-3-8b pipeline=33": "pipeline=33 is more stages than the model's 32 layers",
    "llama-3-8b expert=2 data=2": "expert=2 needs a mixture of experts, and this model has none; "
    "the nearest is 1",
    "mixtral-8x7b expert=3 data=3": "expert=3 must divide the 8 experts; the nearest is 2",
    "mixtral-8x7b expert=4 data=2": "expert=4 must divide data=2 (data=4 would do, on 4 "
    "devices or more); the nearest is 2",
}


@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_not_legal_is_refused_as_in_training(typed):
    name, *cuts = typed.split()
    plan = {cut.partition("=")[0]: int(cut.partition("=")[2]) for cut in cuts}
    words = f"^{re.escape(REFUSED[typed])}$"
    with pytest.raises(ValueError, match=words):
        Server(name, "H100-SXM", **plan)
    many = plan.get("tensor", 1) * plan.get("pipeline", 1) * plan.get("data", 1)
    cluster = Cluster(costlib.nodes["DGX-H100"].with_(devices=many))
    with pytest.raises(ValueError, match=words):
        Plan(**plan).on(name, cluster, batch=2 * many, seq=1024)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            lambda: Server("llama-3-8b", "DGX-H100", tensor=4),
            "tensor=4 makes a plan for 4 devices, and there are 8; data=2 would do$",
        ),
        (
            lambda: Server("llama-3-8b", "H100-SXMx8", tensor=16),
            "tensor=16 makes a plan for 16 devices, and there are 8; tensor=8 would do$",
        ),
        (
            lambda: Server("llama-3-8b", "H100-SXMx8", tensor=8, pipeline=2),
            "pipeline=2 · tensor=8 makes a plan for 16 devices, and there are 8; pipeline=1 would",
        ),
        (
            lambda: Server("llama-3-8b", "H100-SXMx6", tensor=2, pipeline=3, data=2),
            "data=2 · pipeline=3 · tensor=2 makes a plan for 12 devices, and there are 6; data=1",
        ),
        (lambda: Server("mixtral-8x7b", "H100-SXMx4", expert=8), "data=8 would do, on 8 .* more.$"),
        (
            lambda: Server(
                "llama-3-8b", Cluster("DGX-H100", nodes=2, per_node=6), tensor=4, data=3
            ),
            "straddle nodes",
        ),
        (lambda: Server(ENCODED, "H200", pipeline=2), "with an encoder are not known"),
        (lambda: Server("zamba2-7b", "H200", pipeline=2), "layers of this model share weights"),
        (lambda: Server("llama-3-8b", "A100-80GB", pipeline=2).share, "use tensor=... instead"),
    ],
)
def test_what_else_is_refused(made, words):
    with pytest.raises(ValueError, match=words):
        made()


#: A node that holds a fourth of a small model.
SMALL = costlib.nodes["DGX-H100"].with_(
    device=costlib.devices["H100-SXM"].with_(capacity=10**9 * 3 // 4)
)


def test_what_would_do_is_named_and_does():
    for server, words in (
        (Server("llama-3.1-70b", "H100-SXM"), "tensor=2 would do"),
        (Server("llama-3.1-70b", "DGX-H100", data=8), "tensor=2, data=4 would do"),
        (Server("llama-3.1-405b", "DGX-H100"), "; 2 nodes would do"),
        (Server("llama-3.1-8b", Cluster(SMALL)), "; 4 nodes would do"),
        (Server("gpt2", costlib.devices["T4"].with_(capacity=2 * 10**8)), "tensor=2 would do"),
        (
            Server("gpt2", costlib.devices["T4"].with_(capacity=6 * 10**7), tensor=4),
            "pipeline=2 would do",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            server.check(1000)


def test_a_full_pipeline_reads_or_writes_in_its_slowest_stage():
    server = Server("llama-3.1-70b", "H100-SXM", tensor=2, pipeline=4)
    read = saturation(server, 2000, 1)
    assert read.requests_per_s == pytest.approx(1 / server.busy(2000))
    assert read.requests_per_s > 3.5 / server.prefill(2000)
    write = saturation(server, 1, 100_000, batch=8)
    assert write.output_tokens_per_s == pytest.approx(8 / server.step(8, 50_000), rel=1e-3)
    four = saturation(server.with_(data=4), 2000, 200, batch=8)
    one = saturation(server, 2000, 200, batch=8)
    assert four.requests_per_s == pytest.approx(4 * one.requests_per_s)
    assert four.reading == one.reading
    with pytest.raises(ValueError, match="chunk=64 is not supported with pipeline=4"):
        saturation(server, 2000, 200, batch=8, chunk=64)


def test_who_knows_one_stage_alone_says_so():
    server = Server("llama-3.1-8b", "H100-SXM", pipeline=2)
    with pytest.raises(ValueError, match="pipeline=2 is not supported here"):
        simulate(listed([0.0], 100, 3), server)
