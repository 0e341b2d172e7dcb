"""What a plan's ledger says is sent is what the counted machine sends, doing the arithmetic."""

import numpy as np
import pytest

from costlib import models
from costlib.model.transformer import MoE, Transformer
from costlib.parallel import Cluster, Machine, Plan
from costlib.parallel.collectives import (
    pairwise_all_to_all,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    two_tier_sent,
)
from device_programs import (
    attention_by_heads,
    ring_attention,
    ring_backward,
    two_tier_all_gather,
    two_tier_reduce_scatter,
    zigzag,
)

RNG = np.random.default_rng(0)


def cluster(devices):
    return Cluster("DGX-H100", per_node=devices)


def sent(plan, model, axis, *, batch, seq):
    """Elements that one device sends over an axis."""
    ledger = plan.on(model, cluster(plan.devices), batch=batch, seq=seq).ledger().over(axis)
    return ledger.sends


# ------------------------------------------------------------------------------- attention


def whole_attention(q, k, v):
    """Causal attention and its gradients for an output gradient of ones, at once."""
    share = len(q) // len(k)
    keys, values = np.repeat(k, share, 0), np.repeat(v, share, 0)
    scores = q @ keys.swapaxes(1, 2) / np.sqrt(q.shape[2])
    scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out, given = weights @ values, np.ones_like(q)
    to_scores = weights * (given @ values.swapaxes(1, 2) - (given * out).sum(-1, keepdims=True))
    to_scores /= np.sqrt(q.shape[2])
    shape = (len(k), share, *k.shape[1:])
    to_keys = (to_scores.swapaxes(1, 2) @ q).reshape(shape).sum(1)
    to_values = (weights.swapaxes(1, 2) @ given).reshape(shape).sum(1)
    return out, (to_scores @ keys, to_keys, to_values)


def dealt(whole, places):
    return [whole[:, here] for here in places]


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_a_ring_of_attention(devices):
    model = Transformer(layers=1, d_model=64, heads=8, d_ff=8, vocab=8, kv_heads=4)
    seq, places = 32, zigzag(32, devices)
    q, k, v = (RNG.normal(size=(heads, seq, 8)) for heads in (8, 4, 4))
    out, gradients = whole_attention(q, k, v)
    held = list(zip(*(dealt(each, places) for each in (q, k, v)), strict=True))
    machine = Machine(devices)
    found = machine.run(ring_attention, held, places=places)
    for mine, right in zip(found, dealt(out, places), strict=True):
        assert np.allclose(mine[0], right)
    back = Machine(devices)
    held = [(*h, *f, np.ones_like(f[0])) for h, f in zip(held, found, strict=True)]
    for mine, *right in zip(
        back.run(ring_backward, held, places=places),
        *(dealt(each, places) for each in gradients),
        strict=True,
    ):
        for one, other in zip(mine, right, strict=True):
            assert np.allclose(one, other)
    tally = sent(Plan(context=devices), model, "context", batch=1, seq=seq)
    assert machine.busiest + back.busiest == tally
    assert machine.busiest == (devices - 1) * 2 * 4 * 8 * seq // devices


@pytest.mark.parametrize("devices", [2, 4])
def test_attention_by_heads(devices):
    model = Transformer(layers=1, d_model=64, heads=8, d_ff=8, vocab=8, kv_heads=4)
    seq, places = 32, zigzag(32, devices)
    q, k, v = (RNG.normal(size=(heads, seq, 8)) for heads in (8, 4, 4))
    held = list(zip(*(dealt(each, places) for each in (q, k, v)), strict=True))
    machine = Machine(devices)
    found = machine.run(attention_by_heads, held, places=places)
    for mine, right in zip(found, dealt(whole_attention(q, k, v)[0], places), strict=True):
        assert np.allclose(mine, right)
    plan = Plan(context=devices, context_by="all_to_all")
    tally = sent(plan, model, "context", batch=1, seq=seq)
    assert 2 * machine.busiest == tally  # gradients go the same ways back


# ------------------------------------------------------------------- products cut by tensors


def tensor_layer(rank, devices, value, *, whole, sequence):
    """relu(x·A)·B and its gradients for an output gradient of ones: A by columns, B by rows."""
    x, (a, b) = value, whole
    a, b = np.split(a, devices, 1)[rank], np.split(b, devices, 0)[rank]
    shape = (x.shape[0] * (devices if sequence else 1), x.shape[1])

    def gathered(part):
        if not sequence:
            return part
        return (yield from ring_all_gather(rank, devices, part.ravel())).reshape(shape)

    def summed(part):
        if not sequence:
            return (yield from ring_all_reduce(rank, devices, part))
        flat = yield from ring_reduce_scatter(rank, devices, part)
        return flat.reshape(-1, shape[1])

    inner = np.maximum((yield from gathered(x)) @ a, 0)
    out = yield from summed(inner @ b)
    given = yield from gathered(np.ones_like(out))
    to_inner = given @ b.T * (inner > 0)
    again = yield from gathered(x)  # kept in parts
    of_a, of_b = again.T @ to_inner, inner.T @ given
    of_x = yield from summed(to_inner @ a.T)
    return out, of_x, of_a, of_b


@pytest.mark.parametrize("sequence", [False, True])
def test_tensor_and_sequence_parallel_layers(sequence):
    devices, tokens, d, width = 4, 8, 16, 32
    x, a, b = (RNG.normal(size=shape) for shape in ((tokens, d), (d, width), (width, d)))
    machine = Machine(devices)
    given = np.split(x, devices) if sequence else [x] * devices
    found = machine.run(tensor_layer, given, whole=(a, b), sequence=sequence)
    inner = np.maximum(x @ a, 0)
    out, of_x = inner @ b, (np.ones((tokens, d)) @ b.T * (inner > 0)) @ a.T
    join = np.concatenate if sequence else (lambda parts: parts[0])
    assert np.allclose(join([each[0] for each in found]), out)
    assert np.allclose(join([each[1] for each in found]), of_x)
    assert np.allclose(
        np.concatenate([each[2] for each in found], 1),
        x.T @ (np.ones((tokens, d)) @ b.T * (inner > 0)),
    )
    sizes = {"layers": 2, "d_model": d, "heads": 4, "d_ff": width, "vocab": 8}
    two, four = (
        sent(Plan(tensor=4, sequence=sequence), model, "tensor", batch=1, seq=tokens)
        for model in (Transformer(**sizes), Transformer(**sizes | {"layers": 4}))
    )
    assert machine.busiest == (four - two) / 2 / 2  # of two layers more, each with two such pairs


# ------------------------------------------------------------------------ replicas of weights


def fsdp_layer(rank, devices, value, *, shape):
    """x·W and the gradient of W, of which each device keeps a part; output gradients are ones."""
    x, part = value
    w = (yield from ring_all_gather(rank, devices, part)).reshape(shape)
    out = x @ w
    again = (yield from ring_all_gather(rank, devices, part)).reshape(shape)
    assert np.allclose(again, w)
    return out, (yield from ring_reduce_scatter(rank, devices, x.T @ np.ones_like(out)))


def test_fsdp_gathers_twice_and_scatters_once():
    devices, shape = 4, (8, 12)
    w, xs = RNG.normal(size=shape), RNG.normal(size=(devices, 3, 8))
    machine = Machine(devices)
    held = list(zip(xs, np.split(w.ravel(), devices), strict=True))
    found = machine.run(fsdp_layer, held, shape=shape)
    gradient = sum(x.T @ np.ones((3, 12)) for x in xs)
    assert np.allclose(np.concatenate([each[1] for each in found]).reshape(shape), gradient)
    assert np.allclose(found[2][0], xs[2] @ w)
    model = models["gpt2"]
    plan = Plan(data=devices, zero=3)
    tally = sent(plan, model, "data", batch=devices, seq=8)
    assert tally == 3 * (devices - 1) * -(-model.params() // devices)
    assert machine.busiest == 3 * (devices - 1) * w.size // devices
    plain = sent(Plan(data=devices), model, "data", batch=devices, seq=8)
    assert plain == 2 * (devices - 1) * -(-model.params() // devices)


@pytest.mark.parametrize(("node", "devices"), [(2, 8), (4, 8), (3, 6)])
def test_replicas_in_two_tiers(node, devices):
    values = RNG.integers(0, 9, (devices, 24))
    machine = Machine(devices)
    parts = machine.run(two_tier_reduce_scatter, values, node=node)
    scattered = machine.sent
    machine = Machine(devices)
    for whole in machine.run(two_tier_all_gather, parts, node=node):
        assert sorted(whole.tolist()) == sorted(values.sum(0).tolist())
    for does, carried in (("reduce_scatter", scattered), ("all_gather", machine.sent)):
        inside, across = two_tier_sent(does, 24, node=node, nodes=devices // node)
        for device in range(devices):
            mine = {to: n for (of, to), n in carried.items() if of == device}
            near = sum(n for to, n in mine.items() if to // node == device // node)
            assert (near, sum(mine.values()) - near) == (inside, across)


# ---------------------------------------------------------------------------------- experts


def expert_layer(rank, devices, tokens, *, experts, chosen):
    """Expert e multiplies by e + 2; everybody knows which experts the tokens of all have chosen."""
    each, total = experts // devices, np.zeros_like(tokens)

    def copies(device):
        """Tokens that go to a device, and to which of its experts."""
        return [(t, e) for t, ids in enumerate(chosen) for e in ids if e // each == device]

    def computed(rows):
        return rows * np.array([[e + 2] for _, e in copies(rank)])

    for step in range(devices):
        to, sender = (rank + step) % devices, (rank - step) % devices
        going = np.array([tokens[t] for t, _ in copies(to)])
        if step == 0:
            done = computed(going)
        else:
            arrived = yield {to: going}
            back = yield {sender: computed(arrived[sender])}
            done = back[to]
        for row, (t, _) in zip(done, copies(to), strict=True):
            total[t] += row
    return total


def test_experts_are_sent_copies_and_send_them_back():
    devices, experts, per_token, tokens, d = 4, 8, 2, 8, 16
    chosen = [[(2 * t + n) % experts for n in range(per_token)] for t in range(tokens)]
    values = RNG.normal(size=(devices, tokens, d))
    machine = Machine(devices)
    found = machine.run(expert_layer, list(values), experts=experts, chosen=chosen)
    for mine, value in zip(found, values, strict=True):
        assert np.allclose(mine, value * np.array([[sum(e + 2 for e in c)] for c in chosen]))
    moe = MoE(experts=experts, per_token=per_token, width=8)
    model = Transformer(layers=3, d_model=d, heads=2, d_ff=8, vocab=8, moe=moe)
    plan = Plan(data=devices, expert=devices)
    tally = sent(plan, model, "expert", batch=devices, seq=tokens)
    assert tally == 3 * 2 * machine.busiest  # forward and back
    unbalanced = sent(plan.with_(imbalance=1.5), model, "expert", batch=devices, seq=tokens)
    assert unbalanced == 1.5 * tally


def test_tokens_that_cross_once_for_each_node():
    """DeepSeek-V3: eight experts on at most four nodes: half of the bytes on the network."""
    model, spread = models["deepseek-v3"], Cluster("DGX-H100", nodes=8)
    plan = Plan(data=64, expert=64, zero=1)
    each = [
        p.on(model, spread, batch=64, seq=4096).ledger().over("expert")
        for p in (plan, plan.with_(nodes_per_token=4))
    ]
    layers, copies = 58 * 4, 4096 * 8 * 7168
    direct, limited = (ledger.over("expert.network").sends for ledger in each)
    assert direct == layers * copies * 7 // 8
    assert limited == direct / 2
    inside = [ledger.sends - ledger.over("expert.network").sends for ledger in each]
    assert inside == [layers * copies * 7 // 64, layers * copies * 7 // 8]


def test_a_pairwise_all_to_all_is_the_experts_formula():
    machine = Machine(4)
    machine.run(pairwise_all_to_all, [np.arange(64)] * 4)
    inside, across = two_tier_sent("all_to_all", 64, node=4, nodes=1)
    assert (machine.busiest, across) == (inside, 0)


# --------------------------------------------------------------------------------- pipelines


@pytest.mark.parametrize("chunks", [1, 2])
def test_stages_send_what_the_pieces_hand_on(chunks):
    stages, microbatches, seq, model = (
        4,
        8,
        16,
        Transformer(layers=8, d_model=64, heads=8, d_ff=8, vocab=8),
    )
    plan = Plan(pipeline=stages, chunks=chunks)
    found = plan.on(model, cluster(stages), batch=microbatches, seq=seq)
    pieces = stages * chunks
    carried = np.zeros(stages)
    for _ in range(microbatches):
        for piece in range(pieces):
            if piece < pieces - 1:
                carried[piece % stages] += seq * 64  # activations on
            if piece:
                carried[piece % stages] += seq * 64  # gradients back
    tallies = [found.ledger(stage).over("pipeline").sends for stage in range(stages)]
    assert tallies == carried.tolist()
