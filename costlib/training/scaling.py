"""How large a model and how many tokens for a budget: Chinchilla as an optimisation.

The loss is fitted as L(N, D) = E + A/N^α + B/D^β, N parameters and D tokens (Hoffmann et al. 2022).
A budget buys D tokens at the FLOPs of one token; the best N balances the two terms. With 6·N
FLOPs a token there is a closed form, with any other count a search.

Left out: what the fit was not made of, such as data seen again and again, and mixtures of experts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any

from costlib.units.numbers import Number, amount, choose

__all__ = ["FITS", "LossFit", "ComputeOptimum", "optimum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossFit:
    """Constants of the loss: its floor, and two terms that fall with size and tokens.

    >>> round(FITS["hoffmann"].loss(70e9, 1.4e12), 3)
    1.921
    """

    floor: float
    of_size: float
    of_tokens: float
    size_power: float
    token_power: float

    def loss(self, params: Number, tokens: Number) -> Any:
        """E + A/N^α + B/D^β."""
        of_size = self.of_size / amount("params", params) ** self.size_power
        return self.floor + of_size + self.of_tokens / amount("tokens", tokens) ** self.token_power

    def best(self, flops: Number) -> tuple[Any, Any]:
        """The best parameters and tokens for a budget of 6·N·D FLOPs, in closed form.

        N = G·(C/6)^(β/(α+β)) and D = (C/6)^(α/(α+β))/G, with G = (αA/βB)^(1/(α+β)).

        >>> size, tokens = FITS["besiroglu"].best(5.76e23)
        >>> round(size / 1e9, 1), round(tokens / size, 1)
        (72.2, 18.4)
        """
        a, b = self.size_power, self.token_power
        balance = (a * self.of_size / (b * self.of_tokens)) ** (1 / (a + b))
        params = balance * (amount("flops", flops) / 6) ** (b / (a + b))
        return params, flops / 6 / params


#: Published constants: Hoffmann et al. 2022 (third approach, with the digits that Besiroglu et
#: al. found in its source), and Besiroglu et al. 2024, who fitted the data of its figures again.
FITS = {
    "hoffmann": LossFit(
        floor=1.6934, of_size=406.4, of_tokens=410.7, size_power=0.3392, token_power=0.2849
    ),
    "besiroglu": LossFit(
        floor=1.8172, of_size=482.01, of_tokens=2085.43, size_power=0.3478, token_power=0.3658
    ),
}


@dataclass(frozen=True, slots=True)
class ComputeOptimum:
    """The best use of a budget: parameters, tokens, and the loss that the fit predicts."""

    params: float
    tokens: float
    loss: float


def optimum(
    flops: float,
    fit: str = "besiroglu",
    *,
    train: Callable[[float], float] | None = None,
    serve: Callable[[float], float] | None = None,
    served: float = 0,
) -> ComputeOptimum:
    """The model size that makes the most of a budget, whatever its FLOPs a token are.

    ``train`` says FLOPs of training per token of a model of N parameters (6·N unless given),
    ``serve`` those of answering (a third of it); ``served`` tokens are paid from the same budget.

    >>> found, (size, tokens) = optimum(5.76e23), FITS["besiroglu"].best(5.76e23)
    >>> abs(found.params / size - 1) < 1e-4, abs(found.tokens / tokens - 1) < 1e-4
    (True, True)
    >>> optimum(5.76e23, served=5e12).params < found.params
    True
    >>> optimum(1e20, served=1e18)
    Traceback (most recent call last):
        ...
    ValueError: served=1e+18 tokens leave nothing of flops=1e+20 to train with
    """
    choose("fit", fit, tuple(FITS))
    amount("flops", flops), amount("served", served, least=0)
    for name, given in (("train", train), ("serve", serve)):
        if given is not None and not callable(given):
            raise TypeError(f"{name} must be a function of a model's parameters, got {given!r}")
    each = (lambda n: 6 * n) if train is None else train
    answer = (lambda n: each(n) / 3) if serve is None else serve

    def tokens(params: float) -> float:
        return (flops - answer(params) * served) / each(params)

    def loss(at: float) -> float:
        left = tokens(exp(at))
        return FITS[fit].loss(exp(at), left) if left > 0 else float("inf")

    best = exp(_lowest(loss, log(1e3), log(flops) / 2))
    if not tokens(best) > 0:
        text = f"served={served:g} tokens leave nothing of flops={flops:g} to train with"
        raise ValueError(text)
    return ComputeOptimum(best, tokens(best), loss(log(best)))


def _lowest(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is lowest, by golden sections."""
    golden = (5**0.5 - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = of(left), of(right)
    while high - low > 1e-9:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = of(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = of(right)
    return (low + high) / 2
