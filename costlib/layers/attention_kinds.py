"""Attention with experts, differences of heads, masks made of values, or convolutions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.attention import (
    check_sizes,
    pairs_unchecked,
)
from costlib.layers.grouped_attention import Attention
from costlib.layers.matmul import product_flops
from costlib.layers.parts import (
    Cache,
    Divided,
    Pass,
    PerToken,
    elementwise,
    gradient_of,
    linear_step,
    normalisation,
)
from costlib.units.ledger import Elements, Op
from costlib.units.numbers import Number, exact_div


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedAttention(Attention):
    """Attention whose queries and outputs are experts (JetMoE): a token is sent to ``per_token``.

    Each of ``experts`` has its own projections for an equal part of the heads that a token uses;
    keys and values serve all of them.
    """

    experts: Number
    per_token: Number

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return None

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """A router, then queries of the experts it chose, and keys and values."""
        scored = elementwise("attention.router.softmax", self.experts, "softmax")
        router = linear_step("attention.router", d, self.experts)
        return (*router, scored, *Attention.before(self, d))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """Each chosen expert's output, added up, and a bias."""
        return (*Attention.after(self, d), PerToken("o_proj.bias", d, weights=d, gradient=1))

    def linear(self, name: str, d_in: Number, d_out: Number, cached: bool = False) -> Any:
        if name == "q_proj":
            d_out = exact_div(d_out, self.per_token)
        elif name == "o_proj":
            d_in = exact_div(d_in, self.per_token)
        else:
            return Attention.linear(self, name, d_in, d_out, cached)
        return [s.routed(self.experts, self.per_token) for s in linear_step(name, d_in, d_out)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialAttention(Attention):
    """Attention in pairs of heads, one of which is taken off the other (Diff Transformer).

    Both heads of a pair meet the values of both, which is run as attention twice over: once for
    each half of the values. Four vectors as wide as a head make the factor of what is taken off.
    """

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, keys and values, and what the factor is made of."""
        factor = PerToken("lambda", weights=4 * self.head_dim)
        return (*Attention.before(self, d), factor)

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The difference and its norm, which has no weights, and the output projection."""
        width = self.heads * self.value_dim
        taken = elementwise("difference", width, "residual", reads=2 * width)
        norm = normalisation("head_norm", width, "plain_norm")
        return (taken, norm, *Attention.after(self, d))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Attention to each half of the values."""
        return tuple(op * 2 for op in Attention.mixing(self, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of both."""
        return tuple(op * 2 for op in Attention.mixing_backward(self, run, layers))


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMaskedAttention(Attention):
    """Attention whose mask is made of the values that are cached, anew in each pass (Doge)."""

    @property
    def mixed(self) -> tuple[PerToken, ...]:
        """What makes the mask: a number for each KV head and token."""
        product = self.linear("dt_proj", self.kv_heads * self.value_dim, self.kv_heads)
        scaled = PerToken("dt", 6 * self.kv_heads, self.kv_heads, self.kv_heads)
        return (*product, replace(scaled, weights=self.kv_heads))

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """A mask of the whole context, and attention with it."""
        return (*self._masks(run, layers), *Attention.mixing(self, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of attention and of its mask."""
        masks = reversed(self._masks(run, layers))
        return (*Attention.mixing_backward(self, run, layers), *map(gradient_of, masks))

    def _masks(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Steps one by one make it anew for each context, which is as many tokens as pairs."""
        read = run.context
        if run.one_by_one:
            read = pairs_unchecked(run.seq, run.context, True, None, "skipped")
        found = []
        for step in self.mixed:
            op = (step * layers).op(run.batch * read)
            into, weights = op.elements_read.activations, op.elements_read.weights * run.steps
            reads = Elements(weights=weights, kv=into if op.is_matmul else 0)
            found.append(replace(op, elements_read=reads, count=op.count * run.steps))
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolvedAttention(Attention):
    """Attention whose queries and keys pass two short convolutions first (ZAYA).

    The first convolves each channel with ``kernels[0]`` entries, the second the channels of each
    head with one another. Half of each value is the previous token's. ``d_in`` must be given.
    """

    kernels: tuple[int, int] = (2, 2)

    def __post_init__(self) -> None:
        Attention.__post_init__(self)
        check_sizes(self, "d_in")

    @property
    def divided(self) -> Divided:
        """See `Part.divided`."""
        return None

    @property
    def channels(self) -> Any:
        """Queries and keys."""
        return (self.heads + self.kv_heads) * self.head_dim

    def before(self, d: Number) -> tuple[PerToken, ...]:
        """Queries, keys, both halves of values, and one scale for each KV head's keys."""
        scale = PerToken("k_scale", self.kv_heads * self.head_dim, weights=self.kv_heads)
        return (*Attention.before(self, d), scale)

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The convolutions, then attention; before the first token there is a value of zeros."""
        first, second = self.kernels
        each = run.batch * product_flops(1, 1, layers * self.channels)
        padded = run.seq + (second - 1 if run.masked == "computed" else 0)
        moved = Elements(activations=run.batch * run.seq * (layers * self.channels))
        count = layers * run.steps
        weights = Elements(weights=layers * self.mixing_weights * run.steps)
        ops = [
            Op("conv", each * first * padded, moved + weights, moved, True, count),
            Op("conv.heads", each * self.head_dim * second * run.seq, moved, moved, True, count),
        ]
        if run.masked == "computed" and run.is_first:
            halves, width = layers * self.kv_heads * (self.value_dim // 2), self.d_in or 0
            flops = run.batch * product_flops(1, width, halves)
            ops.append(Op("v_proj.zeros", flops, is_matmul=True, count=layers))
        return (*ops, *Attention.mixing(self, run, layers))

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Two products for each of the convolutions', and attention's gradients."""
        convolved = [op for op in self.mixing(run, layers) if op.name.startswith("conv")]
        found = Attention.mixing_backward(self, run, layers)
        return (*found, *(gradient_of(op) for op in reversed(convolved)))

    @property
    def mixing_weights(self) -> Any:
        """Both convolutions, each with a bias for every channel."""
        first, second = self.kernels
        return self.channels * (first + self.head_dim * second + 2)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """Keys and values, the convolutions' last inputs, and half a value."""
        width = self.kv_heads * (self.head_dim + self.value_dim)
        inputs = self.channels * (sum(self.kernels) - 2)
        state = inputs + self.kv_heads * (self.value_dim // 2)
        return (Cache(per_token=width, window=self.reach), Cache(state=state))
