"""jamesnulliu's notes: the arithmetic intensity of language models.

B batch, S sequence, H hidden width, N layers, Z billions of parameters, fp16; S_i new tokens
against S_c cached. Transformer layers only: no embedding, no output layer.

Wrong or unsaid as published: of the cached K and V only one is read; the new tokens do not attend
to one another; scores move nothing (a fused kernel); tensor parallelism squares the division.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlib.model.transformer import Transformer
from costlib.sources.op_groups import ELEMENTWISE, FEED_FORWARD, PROJECTIONS
from costlib.timing.roofline import Device
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, exact_div, sizes, triangle
from costlib.units.precision import Precision

__all__ = [
    "A100",
    "LLAMA_7B",
    "PUBLISHED",
    "REASONS",
    "all_reduce_bytes",
    "corrected_decode",
    "corrected_split",
    "decode",
    "prefill",
    "sides",
    "split",
]

#: The notes' device: a ridge ("machine balance") of about 153 FLOPs per byte.
A100 = Device("A100-80GB", {"fp16": 312 * 10**12}, 2039 * 10**9)

#: The shape of the published figures.
LLAMA_7B: Mapping[str, int] = {"H": 4096, "N": 32, "Z": 7}

#: Phase and sizes -> FLOPs, bytes, intensity (None where only the intensity is printed).
PUBLISHED = (
    ("prefill", {"B": 1, "S": 1024}, 13_743_895_347_200, 14_536_870_912, "945.45"),
    ("prefill", {"B": 1, "S": 128}, None, None, "117.85"),
    ("decode", {"B": 1, "S_i": 1, "S_c": 1024}, 13_421_772_800, 14_269_484_032, "0.9406"),
    ("decode", {"B": 64, "S_i": 1, "S_c": 1024}, None, None, "27.4904"),
)

REASONS = {
    "flops": (
        ("full width instead of the real KV heads", f"(projections|{PROJECTIONS}) flops"),
        (
            "prefill: masked pairs are counted; decode: the new tokens' own pairs are not",
            "(attention|scores|values) flops",
        ),
        ("16·H² instead of the real feed-forward layer", f"(ffn|{FEED_FORWARD}) flops"),
        ("the output layer, left out", "unembedding flops"),
        (
            "softmax, norms, rotary, activations and residuals, left out",
            f"(weights|activations|kv cache|{ELEMENTWISE}) flops",
        ),
    ),
    "bytes": (
        ("Z·10⁹ weights instead of those that are read", ".* weights read"),
        ("one read for cached K and V, none for new ones", ".* kv read"),
        ("prefill: writes of new K and V, left out", ".* kv written"),
        ("two moves per layer instead of all between the steps", ".* activations (read|written)"),
        ("the scores, left out", ".* scores (read|written)"),
    ),
}


def prefill(B: Number, S: Number, H: Number, N: Number, Z: Number) -> Ledger:
    """N·(24·B·S·H² + 4·B·S²·H) FLOPs over 2·Z·10⁹ + 4·N·B·S·H bytes.

    >>> round(prefill(B=1, S=1024, **LLAMA_7B).intensity(), 2)
    945.45
    """
    B, S, H, N = sizes(B=B, S=S, H=H, N=N)
    return _layers(B * S, H, N, Z) + Op("attention", 4 * N * B * S**2 * H, is_matmul=True)


def decode(B: Number, S_i: Number, S_c: Number, H: Number, N: Number, Z: Number) -> Ledger:
    """N·(24·B·S_i·H² + 4·B·S_i·S_c·H) FLOPs over 2·Z·10⁹ + 8·N·B·S_i·H + 2·N·B·S_c·H bytes.

    >>> round(decode(B=1, S_i=1, S_c=1024, **LLAMA_7B).intensity(), 4)
    0.9406
    """
    B, S_i, S_c, H, N = sizes(B=B, S_i=S_i, S_c=S_c, H=H, N=N)
    return _decode(B, S_i, H, N, Z, pairs=S_i * S_c, read=N * B * S_c * H)


def corrected_decode(
    B: Number, S_i: Number, S_c: Number, H: Number, N: Number, Z: Number
) -> Ledger:
    """Both K and V are read, and each new token attends to itself and the new ones before it.

    >>> corrected = corrected_decode(B=1, S_i=1, S_c=10**6, **LLAMA_7B)
    >>> round(decode(B=1, S_i=1, S_c=10**6, **LLAMA_7B).intensity() / corrected.intensity(), 2)
    1.95
    """
    B, S_i, S_c, H, N = sizes(B=B, S_i=S_i, S_c=S_c, H=H, N=N)
    pairs = S_i * S_c + triangle(S_i)
    return _decode(B, S_i, H, N, Z, pairs=pairs, read=N * 2 * B * S_c * H)


def split(B: Number, S: Number, H: Number, N: Number, Z: Number, gpus: Number) -> Ledger:
    """Prefill on one of several GPUs as published: hidden width and weights divided by ``gpus``.

    >>> whole = prefill(B=1, S=1024, **LLAMA_7B)["ffn"].flops
    >>> whole / split(B=1, S=1024, **LLAMA_7B, gpus=4)["ffn"].flops  # four GPUs, a sixteenth each
    16.0
    """
    H, gpus = sizes(H=H, gpus=gpus)
    return prefill(B, S, exact_div(H, gpus), N, Z / gpus)


def corrected_split(B: Number, S: Number, H: Number, N: Number, Z: Number, gpus: Number) -> Ledger:
    """Heads and FFN width are divided, not the residual stream: every FLOP count by ``gpus`` once.

    >>> whole = prefill(B=1, S=1024, **LLAMA_7B)["ffn"].flops
    >>> whole / corrected_split(B=1, S=1024, **LLAMA_7B, gpus=4)["ffn"].flops
    4.0
    """
    (gpus,) = sizes(gpus=gpus)
    whole = prefill(B, S, H, N, Z)
    return Ledger(
        tuple(
            Op(
                op.name,
                exact_div(op.flops, gpus),
                Elements(op.elements_read.weights / gpus, op.elements_read.activations),
                op.elements_written,
                op.is_matmul,
            )
            for op in whole
        )
    )


def all_reduce_bytes(B: Number, S: Number, H: Number, N: Number, gpus: Number) -> Any:
    """What the source omits: two all-reduces a layer, each GPU sending 2·(gpus − 1)/gpus of B·S·H.

    >>> all_reduce_bytes(B=1, S=1024, H=4096, N=32, gpus=2)
    536870912.0
    """
    B, S, H, N, gpus = sizes(B=B, S=S, H=H, N=N, gpus=gpus)
    return 2 * N * (2 * (gpus - 1) * B * S * H * 2) / gpus


def sides(
    model: Transformer,
    B: Number,
    Z: Number,
    *,
    S: Number | None = None,
    S_i: Number = 1,
    S_c: Number | None = None,
) -> tuple[Ledger, Ledger, Precision]:
    """The source and the model's ledger: prefill if S is given, else decode against S_c.

    >>> llama = Transformer(layers=32, d_model=4096, heads=32, d_ff=11008, vocab=32000)
    >>> [round(side.intensity(), 2) for side in sides(llama, B=1, Z=7, S_c=1024)[:2]]
    [0.94, 1.0]
    """
    H, N = model.d_model, model.layers
    if S is not None:
        return prefill(B, S, H, N, Z), model.prefill(B, S, scores="materialised"), Precision()
    if S_c is None:
        raise ValueError("give S for prefill or S_c (cached tokens) for decode")
    return (
        decode(B, S_i, S_c, H, N, Z),
        model.decode(B, S_c, S_i, scores="materialised"),
        Precision(),
    )


def _layers(tokens: Number, H: Number, N: Number, Z: Number) -> Ledger:
    moved = Elements(activations=N * tokens * H)
    return Ledger(
        (
            Op("projections", 8 * N * tokens * H**2, is_matmul=True),
            Op("ffn", 16 * N * tokens * H**2, is_matmul=True),
            Op("weights", 0, Elements(weights=Z * 10**9)),
            Op("activations", 0, moved, moved),
        )
    )


def _decode(
    B: Number, S_i: Number, H: Number, N: Number, Z: Number, *, pairs: Number, read: Number
) -> Ledger:
    """A decode step of so many pairs of tokens a layer, which reads so much of the cache."""
    attention = Op("attention", 4 * N * B * pairs * H, is_matmul=True)
    cache = Op("kv cache", 0, Elements(kv=read), Elements(kv=N * 2 * B * S_i * H))
    return _layers(B * S_i, H, N, Z) + attention + cache
