"""What a kernel computes in excess: tiles at the edges, and waves that are not full.

A calibrated device has these corrections (`costlib.measured.calibrate`); an ideal one has none. All
is read off an op's costs: the sizes of a product, and the heads that attention serves.
"""

from __future__ import annotations

from typing import Any

from costlib.units.ledger import Op
from costlib.units.numbers import (
    Number,
    ceil_div,
    is_lazy,
    is_symbolic,
    is_zero,
    maximum,
    square_root,
    where,
)

__all__ = ["TILES", "heads_served", "product_shape", "wave_factors"]

_HEAD = 128  # columns of a head that one core takes
_STEP = 16  # query rows for each key, up to which attention is a step's and not a prompt's

#: Rows and columns of outputs that one core computes at a time; a library picks the best.
TILES = (
    *((256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64)),
    *((128, 32), (32, 128), (128, 16), (16, 128)),
)


def product_shape(op: Op) -> tuple[Any, Any, Any] | None:
    """The m, k and n of one matrix product, read off its costs; None if it is no plain product.

    With weights: k·n of them, m·k and m·n activations. Otherwise from m·k + k·n, m·n and m·k·n.

    >>> from costlib import linear, matmul
    >>> product_shape(linear(7, 512, 2048).ops[0] * 32)
    (7.0, 512.0, 2048.0)
    >>> product_shape(matmul(100, 64, 10))
    (100.0, 64.0, 10.0)
    """
    shape = _shape(op)
    if shape is None:
        return None
    m, k, n, is_one = shape
    return (m, k, n) if _always(is_one) else None


def _shape(op: Op) -> tuple[Number, Number, Number, Any] | None:
    """m, k, n, and where they are those of one product: not of several, as experts are."""
    read, written, count = op.elements_read, op.elements_written, op.count
    if not op.is_matmul or not is_zero(read.kv) or not is_zero(read.scores):
        return None
    if is_zero(made := written.total) or is_zero(count):
        return None
    out, inner = made / count, op.flops / 2 / made
    if not is_zero(read.weights):
        m, n = read.activations / count / inner, read.weights / count / inner
    else:
        both = read.activations / count / inner
        root = square_root(maximum(both * both / 4 - out, 0.0))
        m, n = both / 2 + root, both / 2 - root
    product = m * n / out
    near = is_symbolic(product) or (product > 1 - 1e-6) & (product < 1 + 1e-6)
    return _rounded(m), _rounded(inner), _rounded(n), near


def wave_factors(op: Op, cores: int | None) -> list[Number]:
    """How much more is computed than is asked for if the last wave of tiles is paid in full.

    One number for each of `TILES`; none if an op is no single product or the cores are not known.

    >>> from costlib import linear
    >>> round(wave_factors(linear(1, 4096, 4096).ops[0], 108)[-1], 2)  # 1 row of 16: 16 × 108 / 32
    54.0
    """
    shape = _shape(op)
    if shape is None or not cores:
        return []
    m, _, n, is_one = shape
    if not may_hold(is_one):
        return []
    factors = []
    for rows, columns in TILES:
        waves = ceil_div(ceil_div(m, rows) * ceil_div(n, columns), cores)
        paid = waves * (cores * rows * columns) / (m * n)
        factors.append(paid if _always(is_one) else where(is_one, paid, 1.0))
    return factors


def heads_served(op: Op) -> Any:
    """Heads of all sequences that attention serves, each a piece of work that one core begins.

    In a step the query heads that share a KV head are one piece; in a prompt each is its own (and
    counts twice where half of it is masked). Read off the costs, as heads of 128 columns: for a
    step activations · kv / FLOPs. None where no keys and values are read.

    >>> from costlib import attention
    >>> step = attention(16, 1, 32, 128, kv_heads=8, context=1000, scores="on-chip")
    >>> round(sum(heads_served(op) for op in step), 6), heads_served(step["softmax"].ops[0])
    (128.0, 0)
    >>> prompt = attention(16, 1000, 32, 128, kv_heads=8, causal=False, scores="on-chip")
    >>> round(sum(heads_served(op) for op in prompt), 6)
    512.0
    """
    kv = op.elements_read.kv
    if is_zero(kv) or is_zero(op.flops):
        return 0
    beside = op.elements_read.activations + op.elements_written.activations
    shared = where(op.flops > 2 * _STEP * kv, beside, kv)
    return beside * (shared / op.flops) / _HEAD


def _rounded(value: Any) -> Any:
    """Rounded to a millionth: a size was divided out of products, and is whole but for that."""
    if is_symbolic(value):
        return value
    return round(value, 6) if isinstance(value, (int, float)) else value.round(6)


def may_hold(condition: Any) -> bool:
    """Whether this can hold somewhere; of what cannot be looked at yet, it can."""
    if is_lazy(condition):
        return True
    return bool(condition.any() if hasattr(condition, "any") else condition)


def _always(condition: Any) -> bool:
    """Whether this is known to hold everywhere."""
    return not is_lazy(condition) and bool(
        condition.all() if hasattr(condition, "all") else condition
    )
