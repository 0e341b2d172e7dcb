"""The FLOPs of a training step by every usual convention, MFU and HFU.

Model FLOPs are those that the gradients need, once: a forward pass and two products back for each
of its products. Hardware FLOPs add what is computed again. Utilisation is either of them over what
the devices could have done, by their dense peak: MFU never counts recomputation, HFU does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from costlib.layers.matmul import product_flops
from costlib.layers.parts import PerToken
from costlib.model.catalog import device_of, model_of
from costlib.model.transformer import Transformer
from costlib.training.recipes import Recipe, adapter_params, recipe_of, target_names, targeted
from costlib.units.device import Device
from costlib.units.display import quantity
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, amount, choose, exceeds, is_lazy, is_symbolic, size

__all__ = ["CONVENTIONS", "adapter_step", "flops_per_token", "hfu_over_mfu", "mfu"]


def _ledger(model: Transformer, seq: Number, masked: str) -> Any:
    step = model.training_step(1, seq, scores="materialised", masked=masked)
    return step.matmul_flops / seq


def _six(model: Transformer, _: Number) -> Any:
    return 6 * model.active_params()


def _palm(model: Transformer, seq: Number) -> Any:
    _check_alike(model)
    return _six(model, seq) + 12 * model.layers * model.heads * model.head_dim * seq


def _megatron(model: Transformer, seq: Number, passes: int) -> Any:
    """24·L·D² for each pass, and as much for the rest as its shares say."""
    _check_alike(model)
    layers, h, vocab = model.layers, model.d_model, model.vocab
    ends = vocab / (4 * passes * h * layers)
    return 24 * passes * layers * h**2 * (1 + seq / (6 * h) + ends)


def _check_alike(model: Transformer) -> None:
    if not model.is_uniform:
        raise ValueError("the layers of this model differ: count with convention='ledger' or '6N'")


#: FLOPs of training per token, as people count them; a model and a sequence's length go in.
#:
#:     ledger            products of the model, masked pairs left out
#:     ledger-full       products of the model, masked pairs counted
#:     6N                six for each parameter that a token uses
#:     palm              6N + 12·L·H·h·S (Chowdhery et al. 2022, appendix B)
#:     megatron          72·L·D²·(1 + S/6D + V/12DL) (Korthikanti et al. 2022, appendix A)
#:     megatron-again    96·L·D²·(1 + S/6D + V/16DL): full recomputation (Narayanan et al. 2021)
CONVENTIONS: dict[str, Callable[[Transformer, Number], Any]] = {
    "ledger": lambda model, seq: _ledger(model, seq, "skipped"),
    "ledger-full": lambda model, seq: _ledger(model, seq, "computed"),
    "6N": _six,
    "palm": _palm,
    "megatron": lambda model, seq: _megatron(model, seq, 3),
    "megatron-again": lambda model, seq: _megatron(model, seq, 4),
}


def flops_per_token(model: Transformer | str, seq: Number, convention: str = "ledger") -> Any:
    """FLOPs of training for each token of sequences of ``seq``, by a convention by name.

    >>> from costlib import models
    >>> model = models["llama-2-7b"]
    >>> for name in ("6N", "ledger", "ledger-full", "palm"):
    ...     print(f"{name:12} {flops_per_token(model, 4096, name) / 1e9:.1f}")
    6N           40.4
    ledger       42.9
    ledger-full  46.1
    palm         46.9
    """
    choose("convention", convention, tuple(CONVENTIONS))
    return CONVENTIONS[convention](model_of(model), size("seq", seq))


def mfu(
    model: Transformer | str,
    device: Device | str,
    *,
    tokens_per_s: Number,
    seq: Number,
    devices: Number = 1,
    convention: str = "ledger",
    compute: str | None = None,
    peak: Number | None = None,
) -> Any:
    """Model FLOPs utilisation: FLOPs of a second's tokens, divided by what the devices could do.

    ``tokens_per_s`` is of all ``devices`` together. The peak is the device's dense one in a format
    (16 bits unless said), or yours: twice the dense one is the rate for sparse matrices, and is
    refused, as is a rate above the peak.

    >>> from costlib import devices, models
    >>> round(mfu(models["llama-2-7b"], devices["A100-80GB"], tokens_per_s=3000, seq=4096), 3)
    0.412
    >>> mfu(models["llama-2-7b"], devices["H100-SXM"], tokens_per_s=9000, seq=4096, peak=1979e12)
    Traceback (most recent call last):
        ...
    ValueError: 1.979 PFLOP/s is H100-SXM's rate for sparse matrices: its dense one is 989.4 TFLOP/s
    """
    used = amount("tokens_per_s", tokens_per_s, least=0) * share_of_token(
        model, device, seq=seq, devices=devices, convention=convention, compute=compute, peak=peak
    )
    if exceeds(used, 1):
        most = used if isinstance(used, float) else used.max()
        text = f"tokens_per_s is more than devices={devices} can compute at their peak: the MFU"
        raise ValueError(f"{text} would be {most:.3g}, and is at most 1")
    return used


def share_of_token(
    model: Transformer | str,
    device: Device | str,
    *,
    seq: Number,
    devices: Number,
    convention: str,
    compute: str | None,
    peak: Number | None = None,
) -> Any:
    """The share of a second of all devices, at their peak, that one token takes."""
    offered = size("devices", devices) * _peak(device_of(device), compute, peak)
    return flops_per_token(model, seq, convention) / offered


def _peak(device: Device, compute: str | None, peak: Number | None) -> Any:
    """The dense peak of a device in a format, without its efficiency; or a given one, checked."""
    name = device.sixteen_bits if compute is None else compute
    ideal = device.with_(compute_efficiency=1)
    if peak is None:
        return ideal.compute_rate(name)
    amount("peak", peak)
    dense = device.flops_per_s.get(name)
    known = dense is not None and not any(is_symbolic(x) or is_lazy(x) for x in (dense, peak))
    if known and bool(np.any(abs(peak / (2 * dense) - 1) < 0.01)):  # type: ignore[operator]
        sparse, right = (quantity(times * (dense or 0), "FLOP/s") for times in (2, 1))
        text = f"{sparse} is {device.name}'s rate for sparse matrices"
        raise ValueError(f"{text}: its dense one is {right}")
    return peak


def hfu_over_mfu(
    model: Transformer | str,
    seq: Number,
    *,
    recompute: str | None = None,
    scores: str = "materialised",
    masked: str = "skipped",
) -> Any:
    """Hardware FLOPs over model FLOPs: what a policy's recomputation makes of MFU.

    Full recomputation is 4/3 only in the limit, as nothing outside the layers is run again. With
    ``scores="on-chip"`` the kernel's own recomputation of scores counts as well.

    >>> from costlib import models
    >>> gpt = models["llama-2-7b"]
    >>> [round(hfu_over_mfu(gpt, 4096, recompute=p), 3) for p in (None, "selective", "full")]
    [1.0, 1.025, 1.327]
    """
    model, batch = model_of(model), {"batch": 1, "seq": size("seq", seq), "masked": masked}
    needed = model.training_step(**batch, scores="materialised")
    done = model.training_step(**batch, scores=scores, recompute=recompute)
    return done.matmul_flops / needed.matmul_flops


def adapter_step(
    model: Transformer | str, batch: Number, seq: Number, recipe: Recipe, **how: Any
) -> Ledger:
    """A training step of adapters beside a frozen model, as `costlib.training.lora` makes them.

    Frozen matrices have no gradients of weights; the projections of the first layer need none of
    their inputs either, since nothing below them learns. Attention has all of its gradients.

    >>> from costlib import models
    >>> from costlib.training.recipes import lora
    >>> model = models["llama-2-7b"]
    >>> whole, part = model.training_step(1, 4096), adapter_step(model, 1, 4096, lora(16))
    >>> round(part.matmul_flops / whole.matmul_flops, 3)
    0.694
    """
    adapters = recipe_of(recipe).adapters
    if adapters is None:
        raise ValueError("recipe has no adapters: make one with costlib.training.lora()")
    model = model_of(model)
    whole = model.training_step(batch, seq, **how)
    tokens = size("batch", batch) * size("seq", seq)
    lowest = {step.name: step for step in _first_products(model)}
    kept = []
    for op in whole:
        name, _, part = op.name.rpartition(".")
        if part == "grad_weights":
            continue
        if part == "grad_input" and name in lowest:
            op = _less(op, lowest.pop(name).flops * tokens)
        if op.name == "embedding.backward":
            continue
        kept.append(op)
    own = [*_adapter_ops(model, recipe, tokens)]
    unused = product_flops(
        tokens, adapters.rank, _first_adapters(model, target_names(model, adapters))
    )
    own = [_less(op, unused) if op.name == "adapters.grad_input" else op for op in own]
    return replace(whole, ops=(*kept, *own))


def _first_products(model: Transformer) -> list[PerToken]:
    """Products that read the first layer's input, and so the embedding."""
    part = next(part for part in model.blocks[0].parts if part.before(model.d_model))
    first = [step for step in part.before(model.d_model) if step.is_matmul]
    return [step for step in first if is_same(step.reads, model.d_model)]


def is_same(a: Number, b: Number) -> bool:
    """Whether two numbers are known to be equal."""
    return bool(np.all(np.asarray(a == b)))


def _first_adapters(model: Transformer, targets: tuple[str, ...]) -> Any:
    """Widths of the inputs of those adapters that read the first layer's input."""
    return sum(step.reads for step in _first_products(model) if step.name in targets)


def _adapter_ops(model: Transformer, recipe: Recipe, tokens: Number) -> list[Op]:
    """Two thin products for each matrix, forward, and two for each of them back."""
    adapters = recipe_of(recipe).adapters
    assert adapters is not None
    through: Number = 0  # parameters that a token goes through: of experts, the chosen ones
    for step in targeted(model, adapters):
        through = through + adapters.rank * (step.reads + step.writes + step.kv_writes)
    each = product_flops(tokens, 1, through)
    stored = adapter_params(model, recipe)
    reads = Elements(weights=stored)
    return [
        Op("adapters", each, reads, is_matmul=True),
        Op("adapters.grad_input", each, reads, is_matmul=True),
        Op("adapters.grad_weights", each, elements_written=reads, is_matmul=True),
    ]


def _less(op: Op, flops: Number) -> Op:
    """The same op with fewer FLOPs."""
    return replace(op, flops=op.flops - flops)
