"""Deep-ML, problem 416: the memory traffic and FLOPs of a multi-head self-attention layer.

B batch, S sequence, H heads, D head dimension, d = H·D, e bytes per element. Every op reads its
inputs from memory and writes its outputs to it; Q, K and V are projected from one read of the
input. Not counted, as published: the scale 1/√D, masks and biases.
"""

from __future__ import annotations

from typing import Any

from costlib.layers.attention import attention
from costlib.layers.matmul import linear
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, is_symbolic, size
from costlib.units.precision import Precision

__all__ = ["PUBLISHED", "REASONS", "SOFTMAX_FLOPS", "answer", "layer", "sides"]

#: A convention: maximum, subtraction, exponential, sum and division, one each per score.
SOFTMAX_FLOPS = 5

#: The problem's own figures: (B, S, H, D) and then bytes (2 per element), FLOPs, intensity.
PUBLISHED = (
    ((1, 2, 1, 4), 320, 340, 1.0625),
    ((1, 128, 8, 64), 4_456_448, 302_645_248, 67.9118),
    ((1, 2048, 32, 128), 1_375_731_712, 344_268_472_320, 250.2439),
)

_STEPS = (
    ("one read of the input for Q, K and V together, not three", "(projections|[qkv]_proj) .*"),
    ("scores, softmax and values: nothing", "(scores|softmax|values) .*"),
    ("output projection: nothing", "(output|o_proj) .*"),
)
REASONS = {"flops": _STEPS, "bytes": _STEPS}


def layer(B: Number, S: Number, H: Number, D: Number) -> Ledger:
    """The five steps, each with its FLOPs and the elements it reads and writes.

    >>> layer(1, 128, 8, 64).flops, layer(1, 128, 8, 64).bytes()
    (302645248, 4456448)
    """
    named = {"B": B, "S": S, "H": H, "D": D}
    B, S, H, D = (size(name, value, least=0) for name, value in named.items())
    d = H * D
    rows, scores = B * S * d, B * H * S**2
    return Ledger(
        (
            _op("projections", 3 * 2 * rows * d, 3 * d**2 + rows, 3 * rows, True),
            _op("scores", 2 * scores * D, 2 * rows, scores, True),
            _op("softmax", SOFTMAX_FLOPS * scores, scores, scores),
            _op("values", 2 * scores * D, scores + rows, rows, True),
            _op("output", 2 * rows * d, d**2 + rows, rows, True),
        )
    )


def answer(B: Number, S: Number, H: Number, D: Number, e: Number = 2) -> tuple[Any, Any, Any]:
    """What the problem asks for: total bytes, total FLOPs, intensity to 4 places (0 of nothing).

    >>> answer(1, 2048, 32, 128)
    (1375731712, 344268472320, 250.2439)
    """
    ledger, precision = layer(B, S, H, D), Precision.uniform(e)
    intensity = ledger.intensity(precision)
    if not is_symbolic(intensity):
        intensity = intensity.round(4) if hasattr(intensity, "round") else round(intensity, 4)
    return ledger.bytes(precision), ledger.flops, intensity


def sides(
    B: Number, S: Number, H: Number, D: Number, e: Number = 2
) -> tuple[Ledger, Ledger, Precision]:
    """The source and the ledger: three projections, attention and the output projection.

    >>> [side.bytes() for side in sides(1, 128, 8, 64)[:2]]
    [4456448, 4718592]
    """
    d = H * D
    before, after = (
        sum((linear(B * S, d, d, name=f"{name}_proj") for name in names), Ledger())
        for names in ("qkv", "o")
    )
    core = attention(B, S, H, D, scores="materialised")
    return layer(B, S, H, D), before + core + after, Precision.uniform(e)


def _op(name: str, flops: Number, reads: Number, writes: Number, is_matmul: bool = False) -> Op:
    # One number of bytes serves every element here, so their kinds do not matter.
    return Op(name, flops, Elements(activations=reads), Elements(activations=writes), is_matmul)
