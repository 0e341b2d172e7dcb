"""Where sending hides: closed forms, against what plans compute and send."""

import numpy as np
import pytest

from costlib import models, nodes, symbols
from costlib.model.transformer import MoE, Transformer
from costlib.parallel import Cluster, Plan, hiding

#: A model that is nearly its products alone, and large enough to be bound by computing.
WIDE = Transformer(layers=16, d_model=8192, heads=64, d_ff=28672, vocab=64, kv_heads=8)
SPREAD = Cluster("DGX-H100", nodes=8, latency=0)


def ridge_of(cluster, does="all_gather"):
    node = cluster.node
    return hiding.ridge(
        node.device.compute_rate(),
        node.link,
        inside=node.devices,
        across=cluster.nodes,
        network=node.network,
        does=does,
    )


@pytest.mark.parametrize("recipe", ["bf16", "bf16-fp32-grads"])
@pytest.mark.parametrize("zero", [0, 1, 3])
def test_gradients_and_gathers_hide_from_so_many_tokens_on(zero, recipe):
    """A plan's messages take as much of its products' time as tokens fall short."""
    gradients = 4 if recipe == "bf16-fp32-grads" else 2
    tokens = 1024
    found = Plan(data=64, zero=zero, recipe=recipe).on(WIDE, SPREAD, batch=64, seq=tokens)
    sent, products = max(found.sending.values()), found.parts["products"]  # of two tiers
    if zero == 3:
        expected = (2 * 2 + gradients) / 6 * ridge_of(SPREAD)  # both passes together
        backward = (2 + gradients) / 4 * ridge_of(SPREAD)
        assert hiding.fsdp_tokens(ridge_of(SPREAD), gradients=gradients) == backward
    else:
        halves = (gradients + (2 if zero else gradients)) / 2
        assert hiding.data_tokens(ridge_of(SPREAD), gradients=halves) * 2 / 3 == pytest.approx(
            halves * ridge_of(SPREAD) / 3
        )
        expected = halves * ridge_of(SPREAD) / 3
    assert sent / products == pytest.approx(expected / tokens, rel=0.01)


@pytest.mark.parametrize("zero", [1, 3])
def test_from_there_on_nothing_shows(zero):
    threshold = hiding.fsdp_tokens(ridge_of(SPREAD))
    for factor, shows in ((0.8, True), (1.05, False)):
        tokens = int(threshold * factor) // 64 * 64
        found = Plan(data=64, zero=zero).on(WIDE, SPREAD, batch=64, seq=tokens)
        assert bool(found.parts["data"] > 0) == shows, (factor, found.parts)


def test_tensors_over_so_many_devices_send_as_long_as_they_compute():
    node, layer = nodes["DGX-H100"], 8192 * 8192 * 2 + 2 * 8192 * 1024 + 3 * 8192 * 28672
    widest = hiding.tensor_devices(
        node.device.compute_rate(), node.link, parameters=layer, d_model=8192
    )
    for devices in (2, 8):
        cluster = Cluster("DGX-H100", per_node=devices, latency=0)
        found = Plan(tensor=devices).on(WIDE, cluster, batch=1, seq=8192)
        # One more sum for the embedding, and one for the unembedding's input: of 16 layers' 64.
        sent = found.parts["tensor"] * 64 / 66
        products = 16 * 6 * layer * 8192 / devices / node.device.compute_rate()
        assert sent / products == pytest.approx((devices - 1) / (widest - 1), rel=1e-9)


def test_experts_so_wide_compute_as_long_as_their_tokens_travel():
    model = WIDE.with_(moe=MoE(experts=64, per_token=4, width=4096))
    for cluster in (SPREAD, Cluster("GB200-NVL72", per_node=64, latency=0)):
        found = Plan(data=64, expert=64, zero=1).on(model, cluster, batch=64, seq=16384)
        experts = found.ledger().where(lambda op: op.name.startswith("experts.") and op.is_matmul)
        seconds = experts.flops / cluster.device.compute_rate()
        width = hiding.expert_width(ridge_of(cluster, "all_to_all"))
        sent = max(found.sending.get(f"expert{tier}", 0) for tier in ("", ".network"))
        assert sent / seconds == pytest.approx(width / 4096, rel=0.01)


@pytest.mark.parametrize("devices", [2, 8])
def test_rings_hide_behind_slices_of_so_many_tokens(devices):
    cluster = Cluster("DGX-H100", per_node=devices, latency=0)
    node, seq = cluster.node, 8192
    shortest = hiding.slice_tokens(node.device.compute_rate(), node.link, heads=64, kv_heads=8)
    found = Plan(context=devices, zero=3).on(WIDE, cluster, batch=1, seq=seq)
    [kind], forward = found.kinds[0], 0
    pairs = 4 * 64 * 128 * seq * seq / 2 / devices  # of one device; the diagonal aside
    sent = kind.sending["context"][forward] * devices / (devices - 1)  # and its own slice
    assert sent / (pairs / node.device.compute_rate()) == pytest.approx(
        shortest / (seq / devices), rel=0.01
    )


def test_when_a_ring_hides_at_a_million_tokens():
    """Llama 3 8B's heads, over the network of H100s: slices of ten thousand, a hundred devices."""
    H100, model = nodes["DGX-H100"], models["llama-3-8b"]
    shortest = hiding.slice_tokens(
        H100.device.compute_rate(), H100.network, heads=model.heads, kv_heads=model.kv_heads
    )
    assert shortest == pytest.approx(2 * 8 / 32 * 989.4e12 / 50e9, rel=1e-3)
    assert 10**6 // shortest == 101
    assert hiding.slice_tokens(
        H100.device.compute_rate(), H100.network, heads=32, kv_heads=8, causal=False
    ) == pytest.approx(shortest / 2)


@pytest.mark.parametrize(
    ("node", "near", "far"),
    [("DGX-A100", 910, 1365), ("DGX-H100", 1924, 2164), ("NVL72", 2687, 2734)],
)
def test_tokens_that_hide_fsdp_on_three_nodes(node, near, far):
    """On 8 devices and on 64, of the nodes that the chapter compares."""
    node = nodes[node]
    inside = min(64, 2 ** (node.devices.bit_length() - 1))
    how = {"network": node.network, "across": 64 // inside}
    rate = node.device.compute_rate()
    assert hiding.fsdp_tokens(hiding.ridge(rate, node.link, inside=8)) == pytest.approx(
        near, abs=500
    )
    far_ridge = hiding.ridge(rate, node.link, inside=inside, **how)
    assert round(hiding.fsdp_tokens(far_ridge)) == far


def test_formulas_are_symbols_and_arrays():
    pi, beta, wide, H, K = symbols("pi beta Q H K")
    found = hiding.tensor_devices(pi, beta, parameters=wide, d_model=H)
    assert found.subs({pi: 4, beta: 2, wide: 32, H: 2}) == 4
    assert hiding.slice_tokens(pi, beta, heads=H, kv_heads=K) == 2 * K * pi / (H * beta)
    assert hiding.fsdp_tokens(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_a_network_is_asked_for():
    with pytest.raises(ValueError, match="network must be bytes/s"):
        hiding.ridge(1e12, 1e9, inside=8, across=2)
