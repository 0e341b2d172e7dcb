"""Programs for the counted machine that only tests run: divided attention, and two tiers.

Each device has the queries, keys and values of its own tokens: arrays of heads, tokens, width.
``places`` says where in the sequence every device's tokens are; slices in order make the last
device of a causal model work most, `zigzag` gives each an early and a late piece.

    ring_attention       keys and values go around a ring; of what was seen, running sums are kept
    ring_backward        they go around again, and their gradients follow them home
    attention_by_heads   an all-to-all deals out heads instead of tokens, another one deals back

Devices of several nodes do a collective in two tiers: inside a node, and each part between nodes.

Left out: messages that travel while a device computes; the machine counts, it has no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costlib.parallel.collectives import (
    pairwise_all_to_all,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
from costlib.parallel.machine import Program, within
from costlib.units.numbers import divides, size


def zigzag(seq: int, devices: int) -> list[Any]:
    """An early and a late piece of the sequence for each device, so that all see as many pairs."""
    seq, devices = size("seq", seq), size("devices", devices)
    if not divides(2 * devices, seq):
        raise ValueError(f"seq must be a multiple of {2 * devices}, twice the devices, got {seq}")
    pieces = np.arange(seq).reshape(2 * devices, -1)
    return [np.concatenate([pieces[r], pieces[-1 - r]]) for r in range(devices)]


def ring_attention(rank: int, devices: int, value: Any, *, places: Sequence[Any]) -> Program:
    """The output of a device's queries, and the logarithm of each one's sum of exponentials."""
    queries, keys, values = value
    right, left = (rank + 1) % devices, (rank - 1) % devices
    total, seen = 0.0, np.full(queries.shape[:2], -np.inf)
    for step in range(devices):
        scores = _scores(queries, keys, places[rank], places[(rank - step) % devices])
        own = np.logaddexp(seen, _log_sum(scores))
        total = total * np.exp(seen - own)[..., None]
        total = total + np.exp(scores - own[..., None]) @ _for_each(values, queries)
        seen = own
        if step < devices - 1:
            arrived = yield {right: (keys, values)}
            keys, values = arrived[left]
    return total, seen


def ring_backward(rank: int, devices: int, value: Any, *, places: Sequence[Any]) -> Program:
    """Gradients of a device's queries, keys and values.

    ``value`` is its queries, keys, values, what `ring_attention` gave, and the output's gradient.
    A gradient follows its keys one step behind, from the first device that they visit until the
    last one sends it home.
    """
    queries, keys, values, output, seen, given = value
    right, left = (rank + 1) % devices, (rank - 1) % devices
    against = (given * output).sum(-1, keepdims=True)
    of_queries, at_home, passing = 0.0, None, None
    for step in range(devices):
        which = (rank - step) % devices
        scores = _scores(queries, keys, places[rank], places[which])
        weights = np.exp(scores - seen[..., None])
        to_scores = weights * (given @ _for_each(values, queries).swapaxes(1, 2) - against)
        to_scores = to_scores / np.sqrt(queries.shape[2])
        of_queries = of_queries + to_scores @ _for_each(keys, queries)
        own = _added(to_scores, queries, keys), _added(weights, given, values)
        if step == 0:
            at_home = own
        else:
            own = own if passing is None else (own[0] + passing[0], own[1] + passing[1])
        going = ((keys, values) if step < devices - 1 else None, own if step else None)
        if devices == 1:
            break
        arrived = (yield {right: going})[left]
        (keys, values), passing = arrived[0] or (keys, values), arrived[1]
    if passing is not None and at_home is not None:
        at_home = at_home[0] + passing[0], at_home[1] + passing[1]
    assert at_home is not None
    return of_queries, *at_home


def attention_by_heads(rank: int, devices: int, value: Any, *, places: Sequence[Any]) -> Program:
    """The output of a device's queries: for the time of attention it has all tokens, some heads."""
    order = np.argsort(np.concatenate(list(places)))
    dealt = []
    for each in value:
        found = yield from _by_heads(rank, devices, each)
        dealt.append(found[:, order])
    queries, keys, values = dealt
    everywhere = np.arange(len(order))
    scores = _scores(queries, keys, everywhere, everywhere)
    weights = np.exp(scores - _log_sum(scores)[..., None])
    output = weights @ _for_each(values, queries)
    back = output[:, np.argsort(order)]
    pieces = np.split(back, devices, axis=1)  # each device's tokens, of these heads
    flat = np.concatenate([piece.ravel() for piece in pieces])
    found = yield from pairwise_all_to_all(rank, devices, flat)
    return np.concatenate([part.reshape(pieces[0].shape) for part in np.split(found, devices)])


def _by_heads(rank: int, devices: int, mine: Any) -> Program:
    """All tokens of some heads, from some tokens of all heads."""
    shape = (mine.shape[0] // devices, *mine.shape[1:])
    found = yield from pairwise_all_to_all(rank, devices, mine.ravel())
    return np.concatenate([part.reshape(shape) for part in np.split(found, devices)], axis=1)


def _scores(queries: Any, keys: Any, later: Any, earlier: Any) -> Any:
    """Scores of pairs, those that the mask leaves out at minus infinity."""
    found = queries @ _for_each(keys, queries).swapaxes(1, 2) / np.sqrt(queries.shape[2])
    return np.where(later[:, None] >= earlier[None, :], found, -np.inf)


def _for_each(shared: Any, queries: Any) -> Any:
    """Keys or values once for every query head."""
    return np.repeat(shared, len(queries) // len(shared), axis=0)


def _log_sum(scores: Any) -> Any:
    most = scores.max(-1)
    safe = np.where(np.isfinite(most), most, 0)
    with np.errstate(divide="ignore"):  # a row that sees none of these keys
        return safe + np.log(np.exp(scores - safe[..., None]).sum(-1))


def _added(weights: Any, of: Any, shared: Any) -> Any:
    """Gradients of keys or values: those of the query heads that share them, added up."""
    each = weights.swapaxes(1, 2) @ of
    return each.reshape(len(shared), -1, *each.shape[1:]).sum(1)


# ---------------------------------------------------------------------------------- two tiers


def two_tier_all_reduce(rank: int, devices: int, value: Any, *, node: int) -> Program:
    """Reduce-scatter inside a node, all-reduce of each part between nodes, all-gather inside."""
    first = rank // node * node
    inside, across = range(first, first + node), range(rank % node, devices, node)
    part = yield from within(inside, ring_reduce_scatter(rank - first, node, value))
    part = yield from within(across, ring_all_reduce(rank // node, devices // node, part))
    whole = yield from within(inside, ring_all_gather(rank - first, node, part))
    return whole[: np.size(value)].reshape(np.shape(value))


def two_tier_reduce_scatter(rank: int, devices: int, value: Any, *, node: int) -> Program:
    """Reduce-scatter inside a node, then of each part between nodes.

    Device i of node j ends with part (i, j): the nodes' parts lie inside the devices'.
    """
    first = rank // node * node
    inside, across = range(first, first + node), range(rank % node, devices, node)
    part = yield from within(inside, ring_reduce_scatter(rank - first, node, value))
    return (yield from within(across, ring_reduce_scatter(rank // node, devices // node, part)))


def two_tier_all_gather(rank: int, devices: int, part: Any, *, node: int) -> Program:
    """All-gather between nodes, while parts are small, then inside a node."""
    first = rank // node * node
    inside, across = range(first, first + node), range(rank % node, devices, node)
    row = yield from within(across, ring_all_gather(rank // node, devices // node, part))
    return (yield from within(inside, ring_all_gather(rank - first, node, row)))
