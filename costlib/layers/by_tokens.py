"""Decode context parallelism: a KV cache that several devices share by tokens.

Heads divide a cache only while there are as many of them as devices; a latent is kept whole by
every device. Tokens divide both: of n devices each keeps every n-th token, meets it with the
queries of all, and what they find is merged by its sums of exponentials,

    o = Σ exp(l_i − l) o_i      with l = log Σ exp l_i,

once a layer. So a device keeps and reads 1/n of the cache, and the arithmetic is what it was.

Left out: that a step's new tokens are one device's to write, and its FLOPs for the merge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from costlib.layers.indexer import Indexer
from costlib.layers.parts import Cache, Part, Pass, PerToken, elementwise, gradient_of, linear_step
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.messages import collective
from costlib.units.numbers import (
    Number,
    ceil_div,
    divides,
    exact_div,
    is_one,
    is_zero,
    minimum,
)

#: Elements of 16 bits that a query's sum of exponentials takes on its way: one number of 32 bits.
SUMS = 2


class Attending(Part):
    """Attention with a cache of tokens: `costlib.layers.Attention` and `costlib.layers.Latent`.

    ``context_parallel`` devices, in ``context_nodes`` nodes, take the tokens in turn. A kind says
    what a token leaves, ``kept``, and what one head sends for a token and gets back, ``asked``.
    """

    __slots__ = ()

    heads: Number
    kv_heads: Number
    head_dim: Number
    value_dim: Number
    window: Number | None
    biases: tuple[str, ...]
    gate: str | None
    extra: tuple[PerToken, ...]
    indexer: Indexer | None
    context_parallel: Number
    context_nodes: Number

    @property
    def kept(self) -> Any:
        """Elements that a token leaves in the cache, those of an indexer aside."""
        return 0

    @property
    def asked(self) -> Any:
        """Elements of a head's query and of what it finds."""
        return 0

    @property
    def reach(self) -> Any:
        """Tokens that a query sees at most; None where there is no limit."""
        return self.window

    @property
    def score_heads(self) -> Any:
        """See `Part.score_heads`."""
        return self.heads

    def attend(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Scores, softmax, values, once the keys are picked."""
        return ()

    def attend_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """Their gradients."""
        return ()

    def mixing(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The indexer picks keys, which queries meet."""
        first = (self.indexer.mixing(run, layers),) if self.indexer else ()
        return of_some_tokens((*first, *self.attend(run, layers)), self.context_parallel)

    def mixing_backward(self, run: Pass, layers: Number) -> tuple[Op, ...]:
        """The gradients of both."""
        last = (gradient_of(self.indexer.mixing(run, layers)),) if self.indexer else ()
        return (*self.attend_backward(run, layers), *last)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """A device's part of what a token leaves, and of an indexer's key."""
        kept = []
        if not is_zero(self.kept):
            kept.append(Cache(per_token=self._own(self.kept), window=self.reach))
        if self.indexer is not None:
            kept.append(Cache(per_token=self._own(self.indexer.cached)))
        return tuple(kept)

    def _own(self, width: Number) -> Any:
        """A device's part of each token, on average over the tokens."""
        many = self.context_parallel
        if is_one(many):
            return width
        return exact_div(width, many) if divides(many, width) else width / many

    @property
    def sends(self) -> bool:
        """Where a cache is shared by tokens."""
        return not is_one(self.context_parallel)

    def messages(self, run: Pass, layers: Number, d: Number) -> Ledger:
        """What devices send that keep different tokens of a cache, in each layer.

        Queries are gathered, then sums of exponentials, then outputs are scattered while they are
        added: (n − 1)/n of what the heads of all need, in three messages. For a prompt the cache
        itself may be less, and is gathered.

        >>> from costlib.layers import Attention
        >>> four = Attention(heads=8, head_dim=64, kv_heads=1, context_parallel=4)
        >>> [op] = four.messages(Pass(1, 1, 5000), 2, 512)
        >>> op.sends, op.rounds  # of 2 layers; 3/4 of 4 · 8 heads · 130 elements
        (6246, 6)
        """
        many, made = self.context_parallel, self.heads * (self.asked + SUMS)
        whole = minimum(run.tokens * many * made, run.batch * run.context * self.kept)
        return collective(
            "all_gather",
            ceil_div(whole, 3),
            inside=exact_div(many, self.context_nodes),
            across=self.context_nodes,
            axis="tensor",
            count=3 * layers * run.steps,
            name="merge",
        )

    def linear(self, name: str, d_in: Number, d_out: Number, cached: bool = False) -> Any:
        """A projection, with a bias if ``biases`` names it."""
        return linear_step(name, d_in, d_out, bias=name in self.biases, cached=cached)

    def gating(self, d: Number) -> tuple[PerToken, ...]:
        """What makes the output's gates: one for each element, or one a head."""
        each = self.value_dim if self.gate == "element" else 1
        found: tuple[PerToken, ...] = self.linear("gate_proj", d, self.heads * each)
        return found

    def beside(self, d: Number) -> tuple[PerToken, ...]:
        """Further steps, and those of an indexer."""
        return (*self.extra, *(self.indexer.steps(d) if self.indexer else ()))

    def after(self, d: Number) -> tuple[PerToken, ...]:
        """The gate and the output projection."""
        width = self.heads * self.value_dim
        gate = (elementwise("attention.gate", width, "sigmoid_gate"),) if self.gate else ()
        return (*gate, *self.linear("o_proj", width, d))


def of_some_tokens(ops: tuple[Op, ...], devices: Number) -> tuple[Op, ...]:
    """Ops of a device that keeps a part of the tokens: it meets them with the heads of all who
    share them, so that the arithmetic is what it was, and reads its part of the cache alone.

    >>> [op] = of_some_tokens((Op("scores", 100, Elements(kv=64), Elements(scores=8)),), 4)
    >>> op.flops, op.elements_read.kv
    (100, 16)
    """
    if is_one(devices):
        return ops
    found = []
    for op in ops:
        read = op.elements_read
        own = Elements(read.weights, read.activations, ceil_div(read.kv, devices), read.scores)
        found.append(replace(op, elements_read=own))
    return tuple(found)
