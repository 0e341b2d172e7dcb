"""Plans on clusters: what a device holds, computes and sends, against sums made another way."""

import itertools
import pickle
import random

import numpy as np
import pytest

from costlib import Precision, models, symbols
from costlib.layers import Mixture
from costlib.model.transformer import MoE, Transformer
from costlib.parallel import (
    HIDES,
    Cluster,
    Plan,
    Planned,
    Tiers,
    bubble,
    dealt,
    in_flight,
    optimizer_memory,
    played,
    price,
    stages,
)
from costlib.parallel.cluster import NETWORK_ROUND
from costlib.timing import roofline
from costlib.training import activations, state_bytes
from costlib.units.device import Device, Link

H100 = Cluster("DGX-H100", nodes=8)
TINY = Transformer(layers=8, d_model=64, heads=8, d_ff=256, vocab=1024)
EXPERTS = TINY.with_(moe=MoE(experts=8, per_token=2, width=96, shared_width=32, dense_layers=1))


# ------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("recompute", [None, "selective", "full"])
@pytest.mark.parametrize(
    "name", ["gpt2", "llama-3-8b", "mixtral-8x7b", "gemma-2-9b", "granite-4.0-h-1b"]
)
def test_a_plan_of_one_device_is_a_training_step(name, recompute):
    model, alone = models[name], Cluster("H100-SXM")
    found = Plan(recompute=recompute).on(model, alone, batch=1, seq=1024)
    step = model.training_step(1, 1024, recompute=recompute)
    ledger = found.ledger().without("optimizer")
    assert ledger.flops == pytest.approx(step.flops, rel=1e-12)
    assert ledger.bytes() == pytest.approx(step.bytes(), rel=1e-12)
    assert ledger.sends == 0
    seconds = roofline.time(step, "H100-SXM", too_large="ignore")
    assert found.step - found.parts["optimizer"] == pytest.approx(seconds, rel=1e-12)
    held, state = activations(model, 1, 1024, recompute=recompute), state_bytes(model)
    # Of layers that differ, activations() takes the most of each kind of number that one holds.
    near = 1e-3 if len(found.kinds[0]) > 1 else 1e-12
    assert found.memory.activations == pytest.approx(held.bytes(), rel=near)
    assert found.memory.weights + found.memory.gradients == state.weights + state.gradients
    assert found.memory.optimizer == state.optimizer


# ----------------------------------------------------------------- all devices are one model


def shares(found):
    """Of every stage, how many of its devices there are in the cluster, and one device's step."""
    each = found.plan.devices // found.plan.pipeline
    for stage in range(found.plan.pipeline):
        yield each, found.ledger(stage).without("optimizer")


@pytest.mark.parametrize(
    "plan",
    [
        Plan(tensor=8, data=8),
        Plan(tensor=4, pipeline=4, data=4, sequence=True),
        Plan(tensor=2, pipeline=4, chunks=2, data=8, microbatch=2),
        Plan(tensor=2, context=4, data=8, zero=3),
        Plan(context=8, data=8, context_by="all_to_all"),
        Plan(pipeline=8, data=8, recompute="full"),
    ],
)
def test_devices_together_compute_what_the_model_does(plan):
    found = plan.on(TINY, H100, batch=128, seq=256)
    whole = TINY.training_step(128, 256, recompute=plan.recompute)
    done = sum(count * ledger.matmul_flops for count, ledger in shares(found))
    assert done == pytest.approx(whole.matmul_flops, rel=1e-12)


@pytest.mark.parametrize("whole_experts", [False, True])
@pytest.mark.parametrize("sequence", [False, True])
def test_experts_devices_compute_what_the_mixture_does(whole_experts, sequence):
    plan = Plan(tensor=2, data=32, expert=8, whole_experts=whole_experts, sequence=sequence)
    found = plan.on(EXPERTS, H100, batch=64, seq=256)
    whole = EXPERTS.training_step(64, 256)
    names = ("experts.up", "experts.down.grad_weights", "shared.up", "q_proj")
    for name in names:
        assert found.ledger()[name].flops * 64 == pytest.approx(whole[name].flops), name
    stored = sum(
        part.experts
        for block in EXPERTS.blocks
        for part in block.parts
        if isinstance(part, Mixture)
    )
    matrices = 3 * 64 * 96 * EXPERTS.moe.experts * 7
    assert stored == 8
    assert found.kinds[0][1].params.experts * 7 == matrices / (8 if whole_experts else 16)


# --------------------------------------------------------------- one reading of one formula


def random_plans(model, cluster, count, seed=0, **fixed):
    """Legal plans, at random, that can be one array."""
    drawn, found = random.Random(seed), []
    while len(found) < count:
        tensor, context = drawn.choice([1, 2, 4, 8]), drawn.choice([1, 2, 4])
        data = cluster.devices // (tensor * context * fixed.get("pipeline", 1))
        named = {"tensor": tensor, "context": context, "data": max(data, 1)}
        named |= {"microbatch": drawn.choice([1, 2]), "zero": drawn.choice(range(4))}
        named["expert"] = drawn.choice([1, 2, 4, 8] if model.moe else [1])
        try:
            Plan(**named, **fixed).check(model, cluster, 256, 4096)
        except ValueError:
            continue
        found.append(named)
    return found


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("llama-3-8b", {"pipeline": 2, "sequence": True}),
        ("llama-3-8b", {"pipeline": 4, "chunks": 4, "recompute": "full"}),
        ("mixtral-8x7b", {"pipeline": 4, "recompute": "selective"}),
        ("deepseek-v3", {"pipeline": 4, "sequence": True, "whole_experts": True}),
        ("gemma-2-9b", {"schedule": "gpipe", "pipeline": 2}),
    ],
)
def test_many_plans_at_once_are_each_plan_alone(name, fixed):
    model, cluster = models[name], Cluster("DGX-H100", nodes=16)
    drawn = random_plans(model, cluster, 12, **fixed)
    columns = {key: np.array([each[key] for each in drawn]) for key in drawn[0]}
    many = Planned(Plan(**columns, **fixed), model, cluster, 256, 4096)
    for at, each in enumerate(drawn):
        one = Plan(**each, **fixed).on(model, cluster, batch=256, seq=4096)
        assert (many.step[at], many.memory.total[at]) == (one.step, one.memory.total), each
        assert many.binds[at] == one.binds


def test_a_plan_is_a_formula_too():
    S, node = symbols("S"), Cluster("DGX-H100")
    plan = Plan(tensor=4, data=2, zero=1, sequence=True)
    formula = plan.on(TINY, node, batch=2, seq=S)
    assert repr(formula) == "<Planned: a formula of S>"
    large = Plan(data=8).on("llama-3.1-70b", Cluster("DGX-H100"), batch=8, seq=8192)
    assert repr(large).endswith(" GB a device, which does not fit 77.3 GB>")
    assert repr(Plan(data=8).on("gpt2", large.cluster, batch=8, seq=64)).endswith(" GB a device>")
    alone = plan.on(TINY, node, batch=2, seq=4096)
    assert float(formula.step.subs(S, 4096)) == pytest.approx(alone.step, rel=1e-12)
    assert formula.memory.activations.subs(S, 4096) == alone.memory.activations
    assert formula.ledger().sends.subs(S, 4096) == alone.ledger().sends


def test_links_are_an_axis_own():
    """A torus gives an axis the links of as many of its own axes as it fills."""
    pod = Cluster("TPU-v5e-pod")
    one = Plan(tensor=16, data=16).on(TINY.with_(heads=16), pod, batch=16, seq=256)
    assert one.device.link("tensor")[0] == pod.node.link_per_axis
    both = Plan(data=256).on(TINY, pod, batch=256, seq=256)
    assert both.device.link("data")[0] == pod.node.link
    toy = Device("toy", {"bf16": 1e15}, 1e15, interconnect=1e9)
    sent = Tiers(4, 2).send("all_reduce", 10**9, "data")
    with_links = toy.with_(links={"data": Link(2e9, 1e-3), "network": Link(1e8, 1e-2)})
    inside, across = (op.bytes_sent() for op in sent)
    assert roofline.time(sent, toy) == pytest.approx((inside + across) / 1e9)
    expected = max(inside / 2e9, across / 1e8) + 2 * 1e-3 + 2 * 1e-2
    assert roofline.time(sent, with_links) == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(with_links)) == with_links


# ------------------------------------------------------------------------------ who holds what


def test_stages_have_all_layers_between_them():
    for layers, pieces in itertools.product((1, 7, 32, 61, 126), (1, 2, 7, 16, 128)):
        assert sum(dealt(layers, pieces)) == layers
        assert max(dealt(layers, pieces)) - min(dealt(layers, pieces)) <= 1
    for name, pipeline, chunks in (("deepseek-v3", 16, 1), ("gemma-2-9b", 4, 3)):
        found = stages(models[name], pipeline, chunks)
        assert sum(sum(stage.layers) * stage.alike for stage in found) == models[name].layers
        assert sorted(d for stage in found for d in stage.devices) == [*range(pipeline)]


def test_llama_405b_has_nothing_but_an_embedding_in_its_first_piece():
    pieces = dealt(126, 16 * 8)
    assert (pieces[0], pieces[-1], sum(pieces)) == (0, 0, 126)
    assert {*pieces[1:-1]} == {1}


def test_the_zero_papers_7_5_billion_on_64_devices():
    """Rajbhandari et al. 2020, figure 1: 120, 31.4, 16.6 and 1.9 GB with Adam in 16 bits."""
    shape = {"layers": 1, "d_model": 64, "heads": 1, "d_ff": 64, "vocab": 64}
    model = Transformer(**shape)
    for zero, gigabytes in enumerate((120, 31.4, 16.6, 1.9)):
        held = optimizer_memory(model, data=64, zero=zero)
        assert held.total / model.params() * 7.5 == pytest.approx(gigabytes, abs=0.06), zero


@pytest.mark.parametrize("zero", range(4))
def test_an_8b_model_on_64_devices(zero):
    """What `Plan` holds of weights, gradients and optimizer is what ZeRO's formula says."""
    model = models["llama-3-8b"]
    found = Plan(data=64, zero=zero).on(model, H100, batch=64, seq=8192).memory
    kept = found.weights + found.gradients + found.optimizer
    parameters = model.params()
    each = (16, 4 + 12 / 64, 2 + 14 / 64, 16 / 64)[zero]
    assert kept == pytest.approx(each * parameters, rel=1e-6)


@pytest.mark.parametrize(("stage_of_p", "chunks"), [(4, 1), (4, 2), (8, 4)])
def test_the_first_stage_holds_what_korthikanti_say(stage_of_p, chunks):
    """L layers' activations with 1F1B, L·(1 + (p − 1)/(p·v)) interleaved."""
    p, v = stage_of_p, chunks
    model = TINY.with_(layers=32)
    plan = Plan(pipeline=p, chunks=v, data=64 // p)
    found = plan.on(model, H100, batch=64 // p * 32, seq=256)
    layer = activations(model.with_(layers=1), 1, 256).of_layers()
    expected = 32 * layer * (1 if v == 1 else 1 + (p - 1) / (p * v))
    assert found.memories[0].activations == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------------------------- time


@pytest.mark.parametrize(("p", "m", "v"), [(8, 32, 1), (8, 32, 4), (4, 4, 1)])
def test_stages_alike_wait_as_the_bubble_says(p, m, v):
    """A model of layers alone, whose stages are alike but for nearly nothing."""
    model = TINY.with_(layers=32, vocab=1, tied=True)
    found = Plan(pipeline=p, chunks=v, data=64 // p).on(model, H100, batch=64 // p * m, seq=4096)
    parts = found.parts
    inside = sum(parts.values()) - parts["data"] - parts["optimizer"]
    assert parts["bubble"] / inside == pytest.approx(bubble(p, m, v), rel=0.02)


@pytest.mark.parametrize("recompute", [None, "full"])
def test_stages_that_differ_take_as_long_as_they_are_played(recompute):
    """Gemma's last stage multiplies by a vocabulary that no other has: every stage waits for it."""
    model, m, p = models["gemma-2-9b"], 12, 4
    plan = Plan(pipeline=p, data=2, recompute=recompute)
    found = plan.on(model, Cluster("DGX-H100"), batch=2 * m, seq=1024)
    passes = {}
    for stage in found.stages:
        held = price.of_stage(stage, found.kinds, found.layout)
        rows = [held.busy, *held.exposed.values()]
        each = tuple(sum(row[way] for row in rows) for way in (0, 1))
        passes |= dict.fromkeys(stage.devices, each)
    forward, backward = zip(*(passes[device] for device in range(p)), strict=True)
    done = played("1f1b", stages=p, microbatches=m, forward=forward, backward=backward)
    parts = found.parts
    step = found.step - parts["data"] - parts["optimizer"]
    assert float(done.seconds) == pytest.approx(step, rel=1e-9)


@pytest.mark.parametrize(
    "plan",
    [
        Plan(data=64),
        Plan(tensor=4, data=16, zero=1, sequence=True, recipe="bf16-fp32-grads"),
        Plan(tensor=2, data=32, zero=2, expert=8, recompute="full", imbalance=1.25),
        Plan(context=4, data=16, zero=3, shard=8, expert=8),
        Plan(tensor=2, data=32, zero=3, expert=4, whole_experts=True, sequence=True),
        Plan(tensor=8, data=8, zero=1, expert=8, nodes_per_token=1, microbatch=2),
    ],
)
def test_one_time_serves_the_ledger_and_the_plan(plan):
    """What `roofline.time` says of a device's ledger is what the parts say, nothing hidden."""
    model, nothing = models["mixtral-8x7b"], dict.fromkeys(HIDES, 0)
    found = plan.on(model, H100, batch=128, seq=4096, hides=nothing)
    ledger, computing = found.ledger(), ("products", "attention", "logits", "elementwise")
    sent = ledger.where(lambda op: bool(op.axis))
    parts = sum(found.parts[part] for part in (*price.SENDING, "data"))
    assert roofline.time(sent, found.device) == pytest.approx(parts)
    assert parts <= sum(found.sending.values()) * (1 + 1e-9)
    done = ledger.where(lambda op: not op.axis).without("optimizer")
    seconds = sum(found.parts[part] for part in computing)
    assert roofline.time(done, found.device) == pytest.approx(seconds)
    assert roofline.time(ledger["optimizer"], found.device) == pytest.approx(
        found.parts["optimizer"]
    )
    assert roofline.time(ledger, found.device) == pytest.approx(found.step)


def test_parts_add_up():
    found = Plan(tensor=2, pipeline=4, data=8, zero=1).on(TINY, H100, batch=64, seq=256)
    assert found.step == pytest.approx(sum(found.parts.values()))
    table = found.table()
    assert table["seconds"].iloc[:-1].sum() == pytest.approx(found.step)
    assert table["share"].iloc[-1] == 1


@pytest.mark.parametrize("constant", ["compute_efficiency", "interconnect_efficiency"])
def test_a_cluster_may_be_slower_than_its_datasheet(constant):
    """Products take twice as long on half the rate, and messages over half the link."""
    plan = Plan(tensor=8, pipeline=2, data=4, zero=3)
    model, cluster = models["llama-3-8b"], Cluster("DGX-H100", nodes=8, latency=0)
    fast = plan.on(model, cluster, batch=64, seq=8192)
    slow = plan.on(model, cluster.with_(**{constant: 0.5}), batch=64, seq=8192)
    products, tensor = ("products", "tensor")
    times = {products: 2, tensor: 1} if constant[0] == "c" else {products: 1, tensor: 2}
    for part, factor in times.items():
        assert slow.parts[part] / fast.parts[part] == pytest.approx(factor, rel=0.05), part
    sent = {axis: seconds / fast.sending[axis] for axis, seconds in slow.sending.items() if seconds}
    assert {round(ratio, 6) for ratio in sent.values()} == {times[tensor]}
    waiting = {"overhead_per_step": 0.25}
    late = plan.on(model, cluster.with_(**waiting), batch=64, seq=8192)
    assert late.step - fast.step == pytest.approx(0.25)


# ----------------------------------------------------------------- what a reader can answer


def test_fsdp_bytes_a_step():
    """Three times 2 bytes of 63 of 64 parts: 47.4 GB of an 8B model, for each microbatch."""
    found = Plan(data=64, zero=3).on("llama-3-8b", H100, batch=64, seq=8192)
    assert found.ledger().over("data").bytes_sent() == 6 * 63 * 8030261248 // 64
    twice = Plan(data=64, zero=3).on("llama-3-8b", H100, batch=128, seq=8192)
    assert twice.ledger().over("data").bytes_sent() == 12 * 63 * 8030261248 // 64
    fp32 = Plan(data=64, recipe="bf16-fp32-grads").on("llama-3-8b", H100, batch=64, seq=8192)
    plain = Plan(data=64).on("llama-3-8b", H100, batch=64, seq=8192)
    ratio = fp32.ledger().over("data").bytes_sent() / plain.ledger().over("data").bytes_sent()
    assert ratio == 2


def test_an_all_to_all_over_two_tiers():
    """1 GB on each of 64 devices: 56/64 of it across, which takes longer than 7/64 in the node."""
    sent = Tiers(8, 8).send("all_to_all", 10**9, "expert")
    seconds = roofline.time(sent, H100.device, precision=Precision.uniform(1))
    waits = H100.node.latency + NETWORK_ROUND
    assert seconds == pytest.approx(1e9 * max(7 / 64 / 450e9, 56 / 64 / 50e9) + waits, rel=1e-6)


def test_two_tiers_take_the_longer_of_their_times():
    """16 GB of gradients over eight nodes of eight: 70 ms, and the network is what takes longer."""
    sent = Tiers(8, 8).send("all_reduce", 16 * 10**9, "data")
    cluster = Cluster("DGX-H100", nodes=8, latency=0)
    one = Precision.uniform(1)
    both = roofline.time(sent, cluster.device, precision=one)
    assert both == pytest.approx(2 * 16e9 / 8 * max(7 / 450e9, 7 / 8 / 50e9))
    tiers = [roofline.time(op, cluster.device, precision=one) for op in sent]
    assert both == max(tiers) < sum(tiers)
    points = roofline.limits(sent, cluster.device, one)
    assert sum(point.time for point in points) == pytest.approx(both)
    slow = Cluster(cluster.node.with_(link=10e9), nodes=8, latency=0)  # now the node takes longer
    assert roofline.time(sent, slow.device, precision=one) == pytest.approx(4e9 * 7 / 10e9)


@pytest.mark.parametrize("name", ["DGX-A100", "DGX-H200", "8xMI300X", "TPU-v5e-pod"])
def test_a_round_waits_what_is_published_of_its_own_machine(name):
    cluster = Cluster(name, nodes=2)
    wait = cluster.node.latency or 0
    hops = 7 if cluster.node.topology == "torus" else 1
    axes = {"tensor": Tiers(8, 1)}
    assert cluster.device_on(axes).link("tensor")[1] == hops * wait
    assert cluster.device.link("tensor.network")[1] == NETWORK_ROUND
    told = Cluster(name, nodes=2, latency=1e-6).device_on(axes)
    assert told.link("tensor")[1] == hops * 1e-6
    assert told.link("tensor.network")[1] == NETWORK_ROUND
    quiet = Cluster(name, nodes=2, latency=0).device_on(axes)
    assert quiet.link("tensor")[1] == quiet.link("tensor.network")[1] == 0


def test_sixteen_tensors_over_two_nodes_or_in_a_rack():
    model, shape = models["llama-3.1-70b"], {"batch": 1, "seq": 8192}
    nodes = Cluster("DGX-B200", nodes=2, latency=0)
    rack = Cluster("GB200-NVL72", per_node=16, latency=0)
    found = [Plan(tensor=16).on(model, where, **shape).parts["tensor"] for where in (nodes, rack)]
    inside, across = 2 * 7 / 8 / 900e9, 2 / 8 / 2 / 50e9
    longer = max(inside, across)
    assert found[0] / found[1] == pytest.approx(longer / (2 * 15 / 16 / 900e9), rel=1e-4)
    assert found[0] / found[1] == pytest.approx(1.2, abs=0.05)


@pytest.mark.parametrize(
    ("recompute", "least", "most"), [(None, 1, 1), ("selective", 1.02, 1.06), ("full", 1.28, 4 / 3)]
)
def test_hfu_from_mfu(recompute, least, most):
    found = Plan(data=64, zero=1, recompute=recompute).on("llama-3-8b", H100, batch=64, seq=8192)
    assert least <= found.hfu / found.mfu <= most
    assert found.mfu == pytest.approx(found.utilisation("ledger"))
    assert found.utilisation("ledger-full") > found.mfu


# --------------------------------------------------------------------------------- refusals


#: A plan, what it is asked of, and what is said against it.
ILLEGAL = [
    ({"tensor": 3, "data": 64}, {}, r"tensor=3 .* the nearest is 2"),
    ({"data": 60}, {}, r"data=60 makes a plan for 60 devices, and there are 64; data=64 would do"),
    ({"data": 128}, {}, r"data=128 makes a plan for 128 devices, .* 64; data=64 would do"),
    ({"pipeline": 16, "data": 4}, {}, r"pipeline=16 is more stages than the model's 8 layers"),
    ({"pipeline": 8, "chunks": 2, "data": 8}, {}, r"chunks=2 makes 16 .*; the nearest is 1"),
    ({"chunks": 2, "data": 64}, {}, r"chunks=2 needs a pipeline"),
    ({"pipeline": 4, "chunks": 2, "data": 16}, {"batch": 96}, r"makes 6 microbatches.* 4 stages"),
    ({"microbatch": 3, "data": 64}, {}, r"microbatch=3 .* batch=128; the nearest is 2"),
    ({"data": 64}, {"batch": 100}, r"batch=100 must be a multiple of data=64; .* is 128"),
    ({"expert": 2, "data": 64}, {}, r"expert=2 needs a mixture .* the nearest is 1"),
    ({"data": 64, "expert": 16}, {"model": EXPERTS}, r"16 must divide the 8 .*; the nearest is 8"),
    (
        {"data": 4, "tensor": 8, "pipeline": 2, "expert": 8},
        {"model": EXPERTS},
        r"expert=8 must divide data=4 .*; the nearest is 4",
    ),
    ({"tensor": 8, "data": 8}, {"cluster": H100.node.with_(network=None)}, "has no network"),
    ({"tensor": 8, "data": 8}, {"cluster": H100.node.with_(link=None)}, "has no link"),
    ({"tensor": 4, "data": 12}, {"per_node": 6, "batch": 144}, "straddle nodes of 6"),
    ({"zero": 4}, {}, "zero must be 0, 1, 2 or 3"),
    ({"zero": -1}, {}, "zero must be 0, 1, 2 or 3"),
    ({"zero": "1"}, {}, "zero must be 0, 1, 2 or 3"),
    ({"tensor": 8, "sequence": "yes"}, {}, "sequence must be True or False, got 'yes'"),
]


@pytest.mark.parametrize(("plan", "asked", "said"), ILLEGAL)
def test_illegal_plans_are_refused_by_name(plan, asked, said):
    asked = {"model": TINY, "cluster": H100.node, "batch": 128, "per_node": 8, **asked}
    cluster = Cluster(asked["cluster"], nodes=8, per_node=asked["per_node"])
    with pytest.raises((ValueError, TypeError), match=said):
        Plan(**plan).on(asked["model"], cluster, batch=asked["batch"], seq=256)


@pytest.mark.parametrize(
    "plan", [{"context": 64}, {"context": 8, "data": 8, "context_by": "all_to_all"}]
)
def test_legal_plans_are_let_pass(plan):
    Plan(**plan).check(TINY, H100, 128, 256)


def test_what_is_no_cluster_is_refused_by_name():
    with pytest.raises(TypeError, match="cluster must be a Cluster or a name such as"):
        Plan(data=64).on(TINY, None, batch=64, seq=256)
    with pytest.raises(ValueError, match="network of DGX-H100 must be a positive number or None"):
        H100.node.with_(network="50")


def test_attention_waits_for_an_all_to_all_and_not_for_a_ring():
    ring = Plan(context=8, data=8).on("llama-3-8b", H100, batch=64, seq=131072)
    heads = Plan(context=8, data=8, context_by="all_to_all").on(
        "llama-3-8b", H100, batch=64, seq=131072
    )
    assert heads.sending["context"] < ring.sending["context"]
    assert heads.parts["context"] == pytest.approx(heads.sending["context"])
    assert ring.parts["context"] == 0


# ---------------------------------------------------------------------------------- clusters


def test_axes_lie_as_their_order_says():
    from costlib.parallel.mesh import Mesh

    mesh = Mesh(Plan(tensor=8, pipeline=4, data=2), H100)
    assert (mesh.axes["tensor"], mesh.axes["pipeline"]) == (Tiers(8, 1), Tiers(1, 4))
    inner = Mesh(Plan(tensor=2, pipeline=4, data=8), H100)
    assert (inner.axes["pipeline"], inner.axes["data"]) == (Tiers(4, 1), Tiers(1, 8))
    assert inner.neighbour.inside == 2
    order = ("tensor", "context", "expert", "data", "pipeline")
    turned = Mesh(Plan(tensor=2, pipeline=4, data=8, order=order), H100)
    assert (turned.axes["data"], turned.axes["pipeline"]) == (Tiers(4, 2), Tiers(1, 4))


def test_tiers_by_counting_ranks():
    """Ranks of every group, and the nodes that they lie in."""
    for each, many, stride in itertools.product((4, 8), (2, 4, 8, 16), (1, 2, 4, 8)):
        cluster = Cluster(H100.node, nodes=64, per_node=each)
        tiers = cluster.tiers(many, stride)
        ranks = [stride * place for place in range(many)]
        nodes = {rank // each for rank in ranks}
        assert tiers.fits
        assert (tiers.across, tiers.inside) == (len(nodes), many // len(nodes))


def test_in_flight_takes_arrays():
    found = in_flight("1f1b", 0, 4, np.array([2, 8]))
    assert found.tolist() == [2, 4]


def test_zero_3_holds_two_layers_whole_and_zero_2_one_layer_of_gradients():
    cluster, layer = (
        Cluster("DGX-H100", nodes=1),
        4096 * (2 * 4096 + 2 * 1024 + 3 * 14336) + 2 * 4096,
    )
    buffers = [
        Plan(data=8, zero=zero).on("llama-3-8b", cluster, batch=8, seq=4096).memory.buffers
        for zero in range(4)
    ]
    assert buffers == [0, 0, 2 * layer, 2 * layer + 2 * 2 * layer]  # bytes: 2 an element
