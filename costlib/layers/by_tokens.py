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
from typing import Any, Protocol

from costlib.layers.parts import Cache, Pass
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.messages import collective
from costlib.units.numbers import Number, ceil_div, divides, exact_div, is_one, minimum

__all__ = ["SUMS", "kept", "merged", "of_some_tokens"]

#: Elements of 16 bits that a query's sum of exponentials takes on its way: one number of 32 bits.
SUMS = 2


class Cached(Protocol):
    """Attention with a cache: `costlib.layers.Attention` and `costlib.layers.Latent`."""

    @property
    def indexer(self) -> Any: ...
    @property
    def reach(self) -> Any: ...
    @property
    def context_parallel(self) -> Any: ...
    @property
    def context_nodes(self) -> Any: ...


def kept(part: Cached, width: Number) -> tuple[Cache, ...]:
    """What a device keeps of a token: keys and values, or a latent, and the indexer's keys.

    >>> from costlib.layers import Attention
    >>> kept(Attention(heads=8, head_dim=64, kv_heads=1, context_parallel=4), 128)
    (Cache(per_token=32, window=None, every=1, state=0),)
    """
    many = part.context_parallel
    own = Cache(per_token=_split(width, many), window=part.reach)
    if part.indexer is None:
        return (own,)
    return (own, Cache(per_token=_split(part.indexer.cached, many)))


def _split(width: Number, devices: Number) -> Any:
    """A device's part of each token, on average over the tokens."""
    if is_one(devices):
        return width
    return exact_div(width, devices) if divides(devices, width) else width / devices


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


def merged(part: Cached, run: Pass, layers: Number, made: Number, width: Number) -> Ledger:
    """What devices send that keep different tokens of a cache, in each layer.

    Queries are gathered, then sums of exponentials, then outputs are scattered while they are
    added: (n − 1)/n of what the heads of all need, in three messages. For a prompt the cache
    itself may be less, and is gathered. ``made`` is elements a token of a device's own heads,
    ``width`` those that a token leaves in the cache.

    >>> from costlib.layers import Attention
    >>> four = Attention(heads=8, head_dim=64, kv_heads=1, context_parallel=4)
    >>> [op] = merged(four, Pass(1, 1, 5000), 2, 8 * (64 + 64 + SUMS), 128)
    >>> op.sends, op.rounds  # of 2 layers; 3/4 of 4 · 8 heads · 130 elements
    (6246, 6)
    """
    many = part.context_parallel
    whole = minimum(run.tokens * many * made, run.batch * run.context * width)
    return collective(
        "all_gather",
        ceil_div(whole, 3),
        inside=exact_div(many, part.context_nodes),
        across=part.context_nodes,
        axis="tensor",
        count=3 * layers * run.steps,
        name="merge",
    )
