"""Graphcore's SparQ notebook: where the time of one generation step goes.

B batch, S cached tokens, n_layers, d width, g query heads per KV head, V vocabulary. One new token
a sequence. Compute and memory times are added: nothing overlaps.

As published, and not so here: the whole input-embedding table is read, of which a step needs B
rows; 12·d² stands for a layer's weights, whatever its FFN; the query's own traffic is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.model.transformer import Transformer
from costlib.sources.op_groups import ELEMENTWISE, FEED_FORWARD, PROJECTIONS
from costlib.timing.roofline import Device
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, exact_div, size, sizes
from costlib.units.precision import Precision

__all__ = [
    "HARDWARE",
    "LLAMA_2_7B",
    "PUBLISHED",
    "REASONS",
    "kv_elements",
    "latency",
    "shares",
    "sides",
    "step",
]

#: The notebook's hardware, fp16; its A100 is the 40 GB one at 1560 GB/s (datasheet: 1555).
HARDWARE: Mapping[str, Device] = {
    "A10": Device("A10", {"fp16": 125 * 10**12}, 600 * 10**9, capacity=24 * 10**9),
    "A100": Device("A100", {"fp16": 312 * 10**12}, 1560 * 10**9, capacity=40 * 10**9),
}

#: The shape of the published table.
LLAMA_2_7B: Mapping[str, int] = {"n_layers": 32, "d": 4096, "V": 32000, "g": 1}

#: (B, S) -> milliseconds and percentages as printed, on the A100.
PUBLISHED: Mapping[tuple[int, int], Mapping[str, tuple[str, str]]] = {
    (1, 1024): {
        "attention compute": ("0.002", "0.0"),
        "attention memory": ("0.344", "3.8"),
        "model compute": ("0.042", "0.5"),
        "model memory": ("8.596", "95.7"),
    },
    (1, 128000): {
        "attention compute": ("0.215", "0.4"),
        "attention memory": ("43.019", "82.9"),
        "model compute": ("0.042", "0.1"),
        "model memory": ("8.596", "16.6"),
    },
}

REASONS = {
    "flops": (
        ("the new token attends to itself too", "(attention|scores|values) flops"),
        ("12·d² instead of a layer's real weights", f"(layers|{PROJECTIONS}|{FEED_FORWARD}) flops"),
        ("output layer: nothing", "unembedding flops"),
        ("softmax, norms, rotary, activations and residuals, left out", f"{ELEMENTWISE} flops"),
    ),
    "bytes": (
        ("reads of the new token's K and V, left out", ".* kv read"),
        ("writes of the new token's K and V, left out", ".* kv written"),
        ("the whole embedding table, of which B rows are read", "embedding weights read"),
        ("output layer: nothing", "unembedding weights read"),
        ("12·d² instead of a layer's real weights and norms", ".* weights read"),
        ("what passes between the steps, left out", ".* activations (read|written)"),
        ("the scores, left out", ".* scores (read|written)"),
    ),
}


def kv_elements(B: Number, S: Number, n_layers: Number, d: Number, g: Number = 1) -> Any:
    """E = B·n_layers·2·S·d / g, rounded down.

    >>> kv_elements(1, 1024, 32, 4096)
    268435456
    """
    B, S, n_layers, d, g = sizes(B=B, S=S, n_layers=n_layers, d=d, g=g)
    return B * n_layers * 2 * S * d // g


def step(B: Number, S: Number, n_layers: Number, d: Number, V: Number = 0, g: Number = 1) -> Ledger:
    """One step: attention 2·E·g FLOPs over E elements; the model 2·B FLOPs a parameter.

    >>> step(1, 1024, **LLAMA_2_7B).flops
    13683916800
    """
    attention, *model = _parts(B, S, n_layers, d, V, g)
    whole = Ledger(tuple(model))
    return attention + Op("model", whole.flops, whole.elements_read, is_matmul=True)


def _parts(
    B: Number, S: Number, n_layers: Number, d: Number, V: Number, g: Number
) -> tuple[Op, ...]:
    E, V = kv_elements(B, S, n_layers, d, g), size("V", V, least=0)
    B, n_layers, d, g = sizes(B=B, n_layers=n_layers, d=d, g=g)
    P_emb, P_model = d * V, n_layers * 12 * d**2
    return (
        Op("attention", 2 * E * g, Elements(kv=E), is_matmul=True),
        Op("layers", 2 * B * P_model, Elements(weights=P_model), is_matmul=True),
        Op("embedding", 0, Elements(weights=P_emb)),
        Op("unembedding", 2 * B * P_emb, Elements(weights=P_emb), is_matmul=True),
    )


def sides(model: Transformer, B: Number, S: Number) -> tuple[Ledger, Ledger, Precision]:
    """The source and the model's ledger, decoding one token a sequence against S cached.

    >>> model = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> published, ledger, _ = sides(model, B=1, S=1024)
    >>> published.flops, ledger.flops
    (13683916800, 13760672768)
    """
    g = exact_div(model.heads, model.kv_heads)
    published = Ledger(_parts(B, S, model.layers, model.d_model, model.vocab, g))
    return published, model.decode(B, S, scores="materialised"), Precision()


def latency(
    ledger: Ledger, device: Device, precision: Precision | None = None
) -> Mapping[str, Number]:
    """The four times in seconds, which the notebook adds.

    >>> times = latency(step(1, 1024, **LLAMA_2_7B), HARDWARE["A100"])
    >>> round(1e3 * times["model memory"], 3)
    8.596
    """
    return {
        f"{op.name} {what}": seconds
        for op in ledger
        for what, seconds in (
            ("compute", op.flops / device.compute_rate("fp16")),
            ("memory", op.bytes(precision) / device.memory_rate),
        )
    }


def shares(times: Mapping[str, Number]) -> Mapping[str, Number]:
    """Each time as a percentage of their sum.

    >>> shares({"compute": 1.0, "memory": 3.0})
    {'compute': 25.0, 'memory': 75.0}
    """
    total = sum(times.values())
    return {name: 100 * seconds / total for name, seconds in times.items()}
