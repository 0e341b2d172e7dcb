"""Collectives as programs for the counted machine, and how much each device must send.

A collective is known by what every device holds before and after. Here x_r is the value of device
r, E its elements, n the devices, and a part of a value is one of its n equal pieces of ⌈E/n⌉
elements, the last padded with zeros:

    all_reduce       everyone ends with the sum of all x_r
    reduce_scatter   device r ends with part r of that sum
    all_gather       device r begins with part r, everyone ends with all parts
    all_to_all       device r ends with part r of everybody's value
    broadcast        everyone ends with the value of device 0

What any algorithm for these must do, whichever way it sends (one port):

Bandwidth. Take one element of an all-reduce, and a device that knows its sum first. Each of the
other n − 1 sent a message that was on its way there, or its own number would be missing. Each of
them learns the sum in the same round or later, by a message to itself, too late to be on the way to
the first: n − 1 messages more. That is 2(n − 1) sends of one element. Over all E elements the n
devices send at least 2(n − 1)·E, so the busiest at least 2(n − 1)·E/n. The first half of the
argument gives (n − 1)·E/n for a reduce-scatter, the second for an all-gather. In an all-to-all each
device has (n − 1)/n of what it holds to give away.

Latency. Whatever depends on one device's value is known to one device at first, and to at most
twice as many after each round. Everyone's result depends on everyone's value, so ⌈log₂ n⌉ rounds
are needed. Behind a switch a device may send to all others in one round: it then has many ports,
and one round is enough.

Left out: switches that add up what passes through them, which break a premise of the first
argument: `costlib.parallel.network` has them, and how long all of this takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from costlib.parallel.machine import Program, together, within
from costlib.units.messages import PHASES, collective
from costlib.units.numbers import Number, ceil_div, doublings, one_size, size

__all__ = ["ALGORITHMS", "Algorithm", "least_rounds", "least_sent", "parts", "two_tier_sent"]


def parts(value: Any, count: int) -> list[Any]:
    """A value divided into ``count`` equal pieces, the last padded with zeros.

    >>> [part.tolist() for part in parts(np.array([1, 2, 3]), 2)]
    [[1, 2], [3, 0]]
    """
    flat = np.ravel(value)
    each = -(-flat.size // count)
    padded = np.zeros(each * count, flat.dtype)
    padded[: flat.size] = flat
    return list(padded.reshape(count, each))


# ------------------------------------------------------------------------------------- rings


def ring_reduce_scatter(rank: int, devices: int, value: Any) -> Program:
    """A partial sum of every part travels once around; it ends where that part belongs."""
    mine, right, left = parts(value, devices), (rank + 1) % devices, (rank - 1) % devices
    for step in range(devices - 1):
        arrived = yield {right: mine[(rank - step - 1) % devices]}
        mine[(rank - step - 2) % devices] += arrived[left]
    return mine[rank]


def ring_all_gather(rank: int, devices: int, part: Any) -> Program:
    """Every part travels once around, and everybody keeps a copy."""
    found, right, left = {rank: part}, (rank + 1) % devices, (rank - 1) % devices
    for step in range(devices - 1):
        arrived = yield {right: found[(rank - step) % devices]}
        found[(rank - step - 1) % devices] = arrived[left]
    return np.concatenate([found[which] for which in range(devices)])


def ring_all_reduce(rank: int, devices: int, value: Any) -> Program:
    """Reduce-scatter, then all-gather."""
    part = yield from ring_reduce_scatter(rank, devices, value)
    whole = yield from ring_all_gather(rank, devices, part)
    return whole[: np.size(value)].reshape(np.shape(value))


def two_way_ring_all_reduce(rank: int, devices: int, value: Any) -> Program:
    """Half of the value goes round to the right, half to the left, at the same time."""
    first, second = parts(value, 2)
    reversed_ring = [-place % devices for place in range(devices)]
    other = within(reversed_ring, ring_all_reduce(-rank % devices, devices, second))
    halves = yield from together(ring_all_reduce(rank, devices, first), other)
    return np.concatenate(halves)[: np.size(value)].reshape(np.shape(value))


# ------------------------------------------------------------------------------ trees and cubes


def tree_broadcast(rank: int, devices: int, value: Any) -> Program:
    """Every device that has the value sends it on, so that twice as many have it after each
    round."""
    reach = 1
    while reach < devices:
        if rank < reach:
            yield {rank + reach: value} if rank + reach < devices else {}
        else:
            arrived = yield {}
            value = arrived.get(rank - reach, value)
        reach *= 2
    return value


def tree_all_reduce(rank: int, devices: int, value: Any) -> Program:
    """Sums flow to device 0 along a binomial tree, and the total flows back."""
    reach = 1 << max(devices - 1, 0).bit_length() >> 1
    total = np.array(value)
    while reach:
        if reach <= rank < 2 * reach:
            yield {rank - reach: total}
        else:
            arrived = yield {}
            total = sum(arrived.values(), total)
        reach //= 2
    return (yield from tree_broadcast(rank, devices, total))


def halving_reduce_scatter(rank: int, devices: int, value: Any) -> Program:
    """Give the half that is not yours to the device across, add what it gives, and halve again."""
    mine, low, high = parts(value, devices), 0, devices
    while high - low > 1:
        middle = (low + high) // 2
        across = rank + (high - low) // 2 if rank < middle else rank - (high - low) // 2
        keep, give = (low, middle), (middle, high)
        if rank >= middle:
            keep, give = give, keep
        arrived = yield {across: np.concatenate(mine[slice(*give)])}
        for which, part in zip(range(*keep), parts(arrived[across], middle - low), strict=True):
            mine[which] = mine[which] + part
        low, high = keep
    return mine[rank]


def doubling_all_gather(rank: int, devices: int, part: Any) -> Program:
    """Exchange all that you have with the device across, then across twice as far."""
    found, reach = part, 1
    while reach < devices:
        across = rank ^ reach
        arrived = yield {across: found}
        pair = (found, arrived[across]) if rank < across else (arrived[across], found)
        found, reach = np.concatenate(pair), reach * 2
    return found


def halving_all_reduce(rank: int, devices: int, value: Any) -> Program:
    """Reduce-scatter by halving, then all-gather by doubling: few rounds, and no element more."""
    part = yield from halving_reduce_scatter(rank, devices, value)
    whole = yield from doubling_all_gather(rank, devices, part)
    return whole[: np.size(value)].reshape(np.shape(value))


# ------------------------------------------------------------------------ all others at once


def direct_reduce_scatter(rank: int, devices: int, value: Any) -> Program:
    """Everybody sends everybody's part at once, and adds up what arrives of its own."""
    mine = parts(value, devices)
    if devices > 1:
        arrived = yield {to: mine[to] for to in range(devices) if to != rank}
        mine[rank] = sum(arrived.values(), mine[rank])
    return mine[rank]


def direct_all_gather(rank: int, devices: int, part: Any) -> Program:
    """Everybody sends its part to all others at once."""
    found = {rank: part}
    if devices > 1:
        found |= yield {to: part for to in range(devices) if to != rank}
    return np.concatenate([found[which] for which in range(devices)])


def two_shot_all_reduce(rank: int, devices: int, value: Any) -> Program:
    """A round that adds up parts, and one that hands them out: no element more than a ring."""
    part = yield from direct_reduce_scatter(rank, devices, value)
    whole = yield from direct_all_gather(rank, devices, part)
    return whole[: np.size(value)].reshape(np.shape(value))


def one_shot_all_reduce(rank: int, devices: int, value: Any) -> Program:
    """Everybody sends its whole value to all others, and all add up: one round, many bytes."""
    if devices == 1:
        return value
    arrived = yield {to: value for to in range(devices) if to != rank}
    return sum(arrived.values(), value)


# ------------------------------------------------------------------------------- all to all


def pairwise_all_to_all(rank: int, devices: int, value: Any) -> Program:
    """In round s everybody sends the device s places on what is meant for it."""
    mine = parts(value, devices)
    found = {rank: mine[rank]}
    for step in range(1, devices):
        receiver, sender = (rank + step) % devices, (rank - step) % devices
        arrived = yield {receiver: mine[receiver]}
        found[sender] = arrived[sender]
    return np.concatenate([found[which] for which in range(devices)])


def bruck_all_to_all(rank: int, devices: int, value: Any) -> Program:
    """A part that must go s places on takes the steps of s written in binary (Bruck et al.)."""
    mine = parts(value, devices)
    on_the_way = {step: mine[(rank + step) % devices] for step in range(devices)}
    reach = 1
    while reach < devices:
        moving = [step for step in range(devices) if step & reach]
        arrived = yield {(rank + reach) % devices: tuple(on_the_way[step] for step in moving)}
        (found,) = arrived.values()
        on_the_way.update(zip(moving, found, strict=True))
        reach *= 2
    # What went s places on, and is here now, came from the device s places back.
    return np.concatenate([on_the_way[(rank - which) % devices] for which in range(devices)])


# ------------------------------------------------------------------- how much, and at the least


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to do a collective: its program, what its busiest device sends, and its rounds."""

    does: str
    program: Callable[..., Program]
    sent: Callable[[Number, Number], Any]  #: of elements and devices
    rounds: Callable[[Any], Any]  #: of devices
    ports: int = 1
    powers_of_two: bool = False  #: whether the number of devices must be one


def _around(times: int) -> Callable[[Number, Number], Any]:
    """Every part but one, ``times`` times."""
    return lambda elements, devices: times * (devices - 1) * ceil_div(elements, devices)


def _down_a_tree(elements: Number, devices: Any) -> Any:
    """The root sends the whole value in every round; nobody sends more."""
    return doublings(devices) * elements


def _bruck_sent(elements: Number, devices: Any) -> Any:
    steps = range(doublings(devices))
    moved = sum(sum(which >> bit & 1 for which in range(devices)) for bit in steps)
    return moved * ceil_div(elements, devices)


def _at_once(rounds: int) -> Callable[[Any], Any]:
    """So many rounds, however many devices there are."""
    return lambda devices: rounds * min(devices - 1, 1)


#: Ports of a device behind a switch: it reaches all others at once.
SWITCHED = 2**20

#: By name. Elements are those of one device's value; of the whole result for an all-gather.
ALGORITHMS = {
    "ring reduce-scatter": Algorithm(
        "reduce_scatter", ring_reduce_scatter, _around(1), lambda n: n - 1
    ),
    "ring all-gather": Algorithm("all_gather", ring_all_gather, _around(1), lambda n: n - 1),
    "ring all-reduce": Algorithm("all_reduce", ring_all_reduce, _around(2), lambda n: 2 * (n - 1)),
    "two-way ring all-reduce": Algorithm(
        "all_reduce",
        two_way_ring_all_reduce,
        lambda elements, n: 2 * _around(2)(ceil_div(elements, 2), n),
        lambda n: 2 * (n - 1),
        ports=2,
    ),
    "tree broadcast": Algorithm("broadcast", tree_broadcast, _down_a_tree, doublings),
    "tree all-reduce": Algorithm(
        "all_reduce", tree_all_reduce, _down_a_tree, lambda n: 2 * doublings(n)
    ),
    "halving reduce-scatter": Algorithm(
        "reduce_scatter", halving_reduce_scatter, _around(1), doublings, powers_of_two=True
    ),
    "doubling all-gather": Algorithm(
        "all_gather", doubling_all_gather, _around(1), doublings, powers_of_two=True
    ),
    "halving all-reduce": Algorithm(
        "all_reduce", halving_all_reduce, _around(2), lambda n: 2 * doublings(n), powers_of_two=True
    ),
    "direct reduce-scatter": Algorithm(
        "reduce_scatter", direct_reduce_scatter, _around(1), _at_once(1), ports=SWITCHED
    ),
    "direct all-gather": Algorithm(
        "all_gather", direct_all_gather, _around(1), _at_once(1), ports=SWITCHED
    ),
    "two-shot all-reduce": Algorithm(
        "all_reduce", two_shot_all_reduce, _around(2), _at_once(2), ports=SWITCHED
    ),
    "one-shot all-reduce": Algorithm(
        "all_reduce",
        one_shot_all_reduce,
        lambda elements, n: (n - 1) * elements,
        _at_once(1),
        ports=SWITCHED,
    ),
    "pairwise all-to-all": Algorithm(
        "all_to_all", pairwise_all_to_all, _around(1), lambda n: n - 1
    ),
    "Bruck all-to-all": Algorithm("all_to_all", bruck_all_to_all, _bruck_sent, doublings),
}


def least_sent(does: str, elements: Number, devices: Number) -> Any:
    """Elements that the busiest device must send, whichever way: see the top of this module.

    >>> least_sent("all_reduce", 4096, 8), least_sent("all_to_all", 4096, 8)
    (7168, 3584)
    >>> least_sent("all_reduce", 10, 4)
    15
    """
    elements, devices = size("elements", elements), size("devices", devices)
    _check(does)
    return ceil_div(PHASES[does] * (devices - 1) * elements, devices)


def two_tier_sent(does: str, elements: Number, *, node: Number, nodes: Number) -> tuple[Any, Any]:
    """Elements that each device sends inside its node, and to other nodes.

    Sums and copies are made in the node first, so that each device has a ``node``-th of the value
    to send across. An all-to-all has nothing to add up: what is meant for another node crosses.

    >>> two_tier_sent("all_reduce", 4096, node=8, nodes=4)
    (7168, 768)
    >>> two_tier_sent("all_to_all", 4096, node=8, nodes=4)
    (896, 3072)
    """
    elements, node, nodes = size("elements", elements), size("node", node), size("nodes", nodes)
    _check(does)
    sent = collective(does, elements, inside=node, across=nodes, axis="any")
    return sum(op.sends for op in sent if op.axis == "any"), sent.over("any.network").sends


def _check(does: str) -> None:
    if does not in PHASES:
        raise ValueError(f"does must be one of {', '.join(PHASES)}, got {does!r}")


def least_rounds(devices: int, ports: int = 1) -> int:
    """Rounds in which what one device knows can reach all others: at best it is known to
    ``ports`` + 1 times as many after each.

    >>> least_rounds(8), least_rounds(9), least_rounds(9, ports=8)
    (3, 4, 1)
    """
    devices, ports = one_size("devices", devices), one_size("ports", ports)
    rounds, known = 0, 1
    while known < devices:
        rounds, known = rounds + 1, known * (ports + 1)
    return rounds
