"""When sending hides behind computing: closed forms, in every reading.

A message hides if what can go on meanwhile takes as long. Both sides grow alike, so that what
decides is the `ridge` of a link: the FLOPs π/β that a device does while a byte leaves it, times the
part of a value that leaves. Messages (`units.messages`) are priced in the tiers of a cluster.

    data      4·P·T/π ≥ 2·g·P·(G−1)/(G·β)             T ≥ g/2 · ridge
    ZeRO 3    2·P·T/π ≥ w·P·(G−1)/(G·β)               T ≥ w/2 · ridge
              4·P·T/π ≥ (w+g)·P·(G−1)/(G·β)           T ≥ (w+g)/4 · ridge
    tensor    6·Q·T/(G·π) ≥ 4·r·a·D·T·(G−1)/(G·β)     G ≤ 1 + 3·Q·β/(2·r·a·D·π)
    experts   18·F·D·T/π ≥ 4·a·D·T·(G−1)/(G·β)        F ≥ 2·a/9 · ridge
    ring      2·H·h·s²/π ≥ 2·K·h·a·s/β                s ≥ a·K/H · π/β

G devices have P parameters, of w bytes a weight and g a gradient; a layer has Q of them, and r sums
of D elements of a bytes. T are a device's tokens of a step, in ZeRO 3 of a microbatch; F is the
width of a gated expert, s a slice of a causal sequence. The ring is of the forward pass; backward
there is more to hide behind.

Left out: latency, and that what computes and what sends share a memory.
"""

from __future__ import annotations

from typing import Any

from costlib.units.messages import collective
from costlib.units.numbers import Number, maximum

__all__ = ["data_tokens", "expert_width", "fsdp_tokens", "ridge", "slice_tokens", "tensor_devices"]


def ridge(
    rate: Number,
    link: Number,
    *,
    inside: Number,
    across: Number = 1,
    network: Number | None = None,
    does: str = "all_gather",
) -> Any:
    """FLOPs that a device does while a collective sends its share of each byte of a value.

    ``rate`` is its FLOP/s, ``link`` and ``network`` bytes/s within a node and between nodes, and
    ``inside`` and ``across`` the devices of the axis: see `costlib.units.messages`. Two tiers work
    at the same time, so that the longer one counts.

    >>> from costlib import symbols
    >>> pi, beta, G = symbols("pi beta G")
    >>> ridge(pi, beta, inside=G)
    pi*(G - 1)/(G*beta)
    >>> round(ridge(989e12, 450e9, inside=8, across=8, network=50e9))  # 64 of 8 in a node
    2163
    """
    seconds: Any = 0
    whole = inside * across  # bytes that divide evenly, so that none is rounded up
    for op in collective(does, whole, inside=inside, across=across, axis="axis"):
        wire = link if op.axis == "axis" else network
        if wire is None:
            raise ValueError("network must be bytes/s where devices lie in several nodes, got None")
        seconds = maximum(seconds, op.sends / whole / wire)
    return rate * seconds


def data_tokens(ridge: Number, *, gradients: Number = 2) -> Any:
    """Tokens of a device and step behind which an all-reduce of gradients hides.

    >>> data_tokens(4000.0), data_tokens(4000.0, gradients=4)
    (4000.0, 8000.0)
    """
    return gradients * ridge / 2


def fsdp_tokens(ridge: Number, *, weights: Number = 2, gradients: Number = 2) -> Any:
    """Tokens of a device and microbatch behind which ZeRO 3 hides, forward and back.

    >>> fsdp_tokens(4000.0), fsdp_tokens(4000.0, gradients=4)
    (4000.0, 6000.0)
    """
    return maximum(weights / 2, (weights + gradients) / 4) * ridge


def tensor_devices(
    rate: Number,
    link: Number,
    *,
    parameters: Number,
    d_model: Number,
    sums: Number = 2,
    activations: Number = 2,
) -> Any:
    """The most devices among which a layer still computes as long as it sends.

    >>> round(tensor_devices(989e12, 450e9, parameters=218_103_808, d_model=4096), 1)
    10.1
    """
    return 1 + 3 * parameters * link / (2 * sums * activations * d_model * rate)


def expert_width(ridge: Number, *, activations: Number = 2, gated: bool = True) -> Any:
    """The width of an expert that computes for as long as its tokens travel.

    The ridge is that of an all-to-all.

    >>> round(expert_width(ridge(989e12, 450e9, inside=8, does="all_to_all")))
    855
    """
    products = 3 if gated else 2
    return 2 * activations * ridge / (3 * products)


def slice_tokens(
    rate: Number,
    link: Number,
    *,
    heads: Number,
    kv_heads: Number,
    activations: Number = 2,
    causal: bool = True,
) -> Any:
    """Tokens of a device's slice behind whose attention a ring's keys and values hide.

    >>> round(slice_tokens(989e12, 50e9, heads=32, kv_heads=8))
    9890
    """
    masked = 1 if causal else 2
    return activations * kv_heads * rate / (heads * link * masked)
