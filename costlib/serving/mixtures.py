"""Mixtures of experts when serving: the weights that a batch reads, and what expert parallelism
sends.

Left out: experts that are asked more often than others, and copies of those.
"""

from __future__ import annotations

from typing import Any

from costlib.model.catalog import model_of
from costlib.model.transformer import Transformer, experts_expected
from costlib.units.ledger import Op
from costlib.units.messages import message
from costlib.units.numbers import Number, exact_div, size

__all__ = ["expert_exchange", "experts_expected", "experts_share", "tokens_per_expert"]


def experts_share(model: Transformer | str, tokens: Number) -> Any:
    """The share of its experts that a pass over ``tokens`` tokens uses, if all are chosen evenly.

    >>> from costlib import models
    >>> [round(experts_share(models["deepseek-v3"], n), 2) for n in (1, 32, 256)]
    [0.03, 0.64, 1.0]
    """
    moe = _mixture(model)
    return experts_expected(moe.experts, moe.per_token, size("tokens", tokens)) / moe.experts


def tokens_per_expert(model: Transformer | str, tokens: Number) -> Any:
    """Tokens that each expert gets on average: T·k/E.

    >>> from costlib import models
    >>> tokens_per_expert(models["deepseek-v3"], 4096)
    128.0
    """
    moe = _mixture(model)
    return size("tokens", tokens) * moe.per_token / moe.experts


def expert_exchange(model: Transformer | str, tokens: Number, devices: Number) -> Op:
    """What each device sends where experts lie on ``devices`` of them, and so do the tokens.

    In each layer with experts every token goes to k of them, and k results come back: two
    all-to-alls of T·k·D elements, of which (G − 1)/G leave a device that has T of the tokens.

    >>> from costlib import models
    >>> sent = expert_exchange(models["deepseek-v3"], 128, 32)
    >>> sent.count, sent.sends / 128 / 7168  # per token: 2 · 58 layers · 8 · 31/32
    (116, 899.0)
    """
    moe, devices, model = _mixture(model), size("devices", devices), model_of(model)
    layers = model.layers - moe.dense_layers
    each = size("tokens", tokens) * moe.per_token * model.d_model * (devices - 1)
    return message(
        "all_to_all",
        2 * layers,
        exact_div(each, devices) if _whole(each, devices) else each / devices,
        "expert",
    )


def _whole(value: Any, by: Any) -> bool:
    return isinstance(value, int) and isinstance(by, int) and value % by == 0


def _mixture(model: Transformer | str) -> Any:
    model = model_of(model)
    if model.moe is None:
        raise ValueError("this model has no experts, or its mixtures differ from layer to layer")
    return model.moe
