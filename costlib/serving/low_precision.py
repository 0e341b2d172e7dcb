"""Fewer bits when serving: where a GEMM meets the ridge, and what packed weights gain.

A product of B rows with weights of e bytes takes B·2/π seconds of arithmetic and e/β of reading for
each weight. They meet at B = π·e/(2β): half the ridge of the format that is computed in, times the
bytes of a weight. For fp8 × fp8 that is the batch of bf16 × bf16, as rate and bytes both change by
2; for weights alone in fewer bits it is smaller, and what they bring ends where 16 bits meet it.

Left out: the time of unpacking, and what fewer bits do to what a model says.
"""

from __future__ import annotations

from typing import Any

from costlib.model.catalog import device_of
from costlib.units.device import Device
from costlib.units.numbers import Number, maximum, size
from costlib.units.precision import Precision, precision_of

__all__ = ["ridge_batch", "weight_gain"]


def ridge_batch(
    device: Device | str,
    precision: Precision | str | None = None,
    *,
    experts: Number = 1,
    per_token: Number = 1,
) -> Any:
    """The batch size at which a GEMM takes as long to compute as its weights take to read:
    π·e/(2β).

    Rows and results are left out, which are few beside the weights. In a mixture each token uses
    ``per_token`` of ``experts``, all of which are read: E/k as many.

    >>> [round(ridge_batch("H100-SXM", name)) for name in ("bf16", "fp8", "int4")]
    [295, 295, 76]
    >>> round(ridge_batch("H100-SXM", "fp8", experts=256, per_token=8))
    9451
    """
    each, experts = precision_of(precision), size("experts", experts)
    rows = device_of(device).ridge(each.compute) * each.weights / 2
    return rows * experts / size("per_token", per_token)


def weight_gain(
    device: Device | str, precision: Precision | str, batch: Number, *, plain: str | None = None
) -> Any:
    """How many times as fast as in 16 bits a GEMM with the weights is at a batch size.

    At first the ratio of the bytes; from `ridge_batch` on less; none where 16 bits meet the ridge,
    unless the arithmetic got faster too.

    >>> [round(weight_gain("H100-SXM", "int4", batch), 2) for batch in (1, 76, 150, 295, 1000)]
    [3.88, 3.88, 1.97, 1.0, 1.0]
    >>> [round(weight_gain("H100-SXM", "fp8", batch), 2) for batch in (1, 295, 1000)]
    [2.0, 2.0, 2.0]
    """
    device, batch = device_of(device), size("batch", batch)
    times = []
    for each in (precision_of(plain), precision_of(precision)):
        computing = 2 * batch / device.compute_rate(each.compute)
        times.append(maximum(computing, each.weights / device.memory_rate))
    return times[0] / times[1]
