"""Chapter 1: what a matrix product costs.

A product of an m×k and a k×n matrix has m·n outputs. Each is a dot product of length k: k
multiplications and k − 1 additions. Counting a multiply-add as 2 FLOPs rounds the additions up by
one per output, and gives the formula that everybody uses, 2·m·k·n.

Left out: the cost of the loops themselves, and all that makes one kernel faster than another.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, size, sizes
from costlib.units.precision import KINDS

__all__ = [
    "FLOPS_PER_MULTIPLY_ADD",
    "ExactCount",
    "einsum",
    "exact",
    "linear",
    "linear_backward",
    "matmul",
    "matmul_backward",
    "product_flops",
]

#: A multiplication and an addition. One instruction does both (fused multiply-add), and is still
#: two operations: peak rates on datasheets count it so.
FLOPS_PER_MULTIPLY_ADD = 2


def product_flops(m: Number, k: Number, n: Number) -> Any:
    """FLOPs of an m×k matrix times a k×n matrix: 2·m·k·n. Every product of the library asks here.

    >>> product_flops(2, 3, 4)
    48
    """
    return FLOPS_PER_MULTIPLY_ADD * m * k * n


@dataclass(frozen=True, slots=True)
class ExactCount:
    """Multiplications and additions, one by one."""

    multiplications: Number
    additions: Number

    @property
    def total(self) -> Any:
        """Both together."""
        return self.multiplications + self.additions


def exact(m: Number, k: Number, n: Number) -> ExactCount:
    """The exact count of an m×k by k×n product: m·n·k multiplications, m·n·(k − 1) additions.

    >>> count = exact(2, 3, 4)
    >>> count.multiplications, count.additions, count.total
    (24, 16, 40)
    """
    m, k, n = sizes(m=m, k=k, n=n)
    return ExactCount(multiplications=m * k * n, additions=m * (k - 1) * n)


def matmul(
    m: Number,
    k: Number,
    n: Number,
    *,
    batch: Number = 1,
    left: str = "activations",
    right: str = "activations",
    out: str = "activations",
    name: str = "matmul",
) -> Op:
    """An m×k matrix times a k×n matrix: 2·m·k·n FLOPs; reads m·k + k·n, writes m·n.

    With ``batch`` the same again for each pair of matrices. ``left``, ``right`` and ``out`` name
    the kind of tensor (weights, activations, kv, scores), so that each can have its own precision.

    >>> op = matmul(2, 3, 4)
    >>> op.flops, op.reads, op.writes
    (48, 18, 8)
    >>> from costlib.units.numbers import symbols
    >>> m, k, n = symbols("m k n")
    >>> matmul(m, k, n).flops
    2*k*m*n
    """
    m, k, n, batch = sizes(m=m, k=k, n=n, batch=batch)
    return Op(
        name,
        product_flops(batch * m, k, n),
        elements_read=_of(left, batch * m * k) + _of(right, batch * k * n),
        elements_written=_of(out, batch * m * n),
        is_matmul=True,
    )


def linear(
    tokens: Number, d_in: Number, d_out: Number, *, bias: bool = False, name: str = "linear"
) -> Ledger:
    """A linear layer: tokens×d_in activations times d_in×d_out weights, then perhaps a bias.

    The bias is an op of its own, one addition per output, so that a matmul-only count can drop it.
    It is added before the outputs leave the chip: only its d_out weights are moved. (The layers of
    a model are made of `linear_step` of `costlib/layers/parts.py`, which counts alike.)

    >>> linear(10, 3, 4).flops, linear(10, 3, 4, bias=True).flops
    (240, 280)
    """
    tokens, d_in, d_out = sizes(tokens=tokens, d_in=d_in, d_out=d_out)
    product = matmul(tokens, d_in, d_out, right="weights", name=name)
    if not bias:
        return Ledger((product,))
    added = Op(f"{name}.bias", tokens * d_out, elements_read=Elements(weights=d_out))
    return Ledger((product, added))


def matmul_backward(m: Number, k: Number, n: Number, *, name: str = "matmul") -> Ledger:
    """Both gradients of C = A·B, each a product of the forward pass's size: 4·m·k·n FLOPs.

    dA = dC·Bᵀ is m×n by n×k, dB = Aᵀ·dC is k×m by m×n.

    >>> matmul_backward(2, 3, 4).flops == 2 * matmul(2, 3, 4).flops
    True
    """
    m, k, n = sizes(m=m, k=k, n=n)
    return matmul(m, n, k, name=f"{name}.grad_left") + matmul(k, m, n, name=f"{name}.grad_right")


def linear_backward(
    tokens: Number, d_in: Number, d_out: Number, *, bias: bool = False, name: str = "linear"
) -> Ledger:
    """Both gradients of a linear layer, 4·tokens·d_in·d_out FLOPs, and the bias's: token sums.

    >>> linear_backward(10, 3, 4).flops, linear_backward(10, 3, 4, bias=True).flops
    (480, 516)
    """
    tokens, d_in, d_out = sizes(tokens=tokens, d_in=d_in, d_out=d_out)
    inputs = matmul(tokens, d_out, d_in, right="weights", name=f"{name}.grad_input")
    weights = matmul(d_in, tokens, d_out, out="weights", name=f"{name}.grad_weights")
    if not bias:
        return inputs + weights
    sums = Op(
        f"{name}.grad_bias", (tokens - 1) * d_out, elements_written=Elements(weights=d_out)
    )  # its input, the gradient of the outputs, is on chip already
    return inputs + weights + sums


def einsum(equation: str, **lengths: Number) -> Op:
    """A contraction as one nest of loops, from its einsum equation and the length of each letter.

    Each combination of all letters costs one multiplication per operand after the first, and one
    addition if any letter is summed over. A matmul is ``mk,kn->mn``. More than two operands are
    one nest here too; two at a time, an op each, usually costs less.

    >>> einsum("mk,kn->mn", m=2, k=3, n=4).flops
    48
    >>> einsum("bhqd,bhkd->bhqk", b=1, h=2, q=5, k=5, d=3).flops
    300
    >>> einsum("ij,jk,kl->il", i=2, j=3, k=4, l=5).flops
    360
    >>> (einsum("ij,jk->ik", i=2, j=3, k=4) + einsum("ik,kl->il", i=2, k=4, l=5)).flops
    128
    """
    operands, result = _parse(equation)
    letters = dict.fromkeys("".join([*operands, result]))
    unknown, missing = set(lengths) - set(letters), set(letters) - set(lengths)
    if unknown or missing:
        raise ValueError(
            f"einsum {equation!r} needs a length for each of {', '.join(letters)}; "
            + (f"missing {', '.join(sorted(missing))}" if missing else "")
            + (f"unknown {', '.join(sorted(unknown))}" if unknown else "")
        )
    of = {letter: size(letter, lengths[letter]) for letter in letters}
    is_summed = any(letter not in result for letter in letters)
    per_combination = (len(operands) - 1) + (1 if is_summed else 0)
    read = sum(prod(of[letter] for letter in operand) for operand in operands)
    return Op(
        equation,
        per_combination * prod(of.values()),
        elements_read=Elements(activations=read),
        elements_written=Elements(activations=prod(of[letter] for letter in result)),
        is_matmul=is_summed and len(operands) > 1,
    )


def _parse(equation: str) -> tuple[list[str], str]:
    if not isinstance(equation, str):
        raise TypeError(f"an einsum equation is a text such as 'mk,kn->mn', got {equation!r:.60}")
    left, arrow, result = equation.replace(" ", "").partition("->")
    operands = left.split(",")
    if not arrow or not all(part.isalpha() for part in operands):
        raise ValueError(f"an einsum equation looks like 'mk,kn->mn', got {equation!r}")
    if not set(result) <= set(left) or any(len(set(p)) < len(p) for p in [*operands, result]):
        raise ValueError(
            f"einsum {equation!r}: an output letter must be in an input, and none twice in one"
        )
    return operands, result


def _of(kind: str, count: Number) -> Elements:
    if kind not in KINDS:
        raise ValueError(f"the kind of a tensor is one of {', '.join(KINDS)}, got {kind!r:.200}")
    return Elements(**{kind: count})
