"""What devices send one another: a message is an op that sends over an axis of the mesh.

The devices of an axis can lie in several nodes. What they do together is then done in two tiers,
by ``inside`` devices of a node and ``across`` nodes: a piece is summed or gathered inside
first, and what is left crosses the network; an all-to-all has nothing to add up. With E elements, a
inside and b across, one device sends

    all_reduce                    2(a−1)·E/a inside, 2(b−1)·E/(ab) across
    reduce_scatter, all_gather    (a−1)·E/a inside, (b−1)·E/(ab) across
    all_to_all                    (a−1)·E/(ab) inside, (b−1)·E/b across
    send                          E to one neighbour: (a, b) is (2, 1) in the node, (1, 2) across

where E is what one device holds, or for an all_gather what it ends with. Each is what the counted
machine of `costlib.parallel.collectives` tallies. Values are cut into pieces, so that one is inside
while another is across: together the two tiers take the longer of their times, not the sum (see
`costlib.time`).

Rounds are those of short messages. Behind a switch a device reaches all others at once, so that an
all-reduce takes two rounds, one that adds up and one that hands out, and whatever does half of that
takes one. Between nodes halving and doubling, or a tree, take ⌈log₂ b⌉ each way. None of them sends
an element more than a ring, whose rounds grow with the devices.

Left out: how a message is cut into packets, and what crosses a link twice because it failed.
"""

from __future__ import annotations

from typing import Any

from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.numbers import Number, ceil_div, choose, doublings, is_zero, minimum, size

__all__ = ["COLLECTIVES", "PHASES", "all_reduce", "all_reduces", "collective", "message"]

COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send")
#: Times that a device sends its share of what all others need: an all-reduce sums, then gathers.
PHASES = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1}


def all_reduce(elements: Number, devices: Number) -> Any:
    """Elements that each device of a ring sends: 2·(n − 1) chunks of ⌈elements / n⌉.

    >>> all_reduce(4096, 1), all_reduce(4096, 2), all_reduce(4096, 8)
    (0, 4096, 7168)
    """
    elements, devices = size("elements", elements), size("devices", devices)
    return PHASES["all_reduce"] * (devices - 1) * ceil_div(elements, devices)


def all_reduces(count: Number, elements: Number, devices: Number, axis: str) -> Op:
    """``count`` all-reduces of ``elements`` elements each, over an axis of ``devices`` devices.

    >>> all_reduces(2, 4096, 8, "tensor")
    <Op all_reduce: 0 FLOPs, reads 0, writes 0, sends 14,336 over tensor>
    """
    rounds = PHASES["all_reduce"] * minimum(devices - 1, 1)
    return message("all_reduce", count, all_reduce(elements, devices), axis, rounds)


def message(
    name: str,
    count: Number,
    elements: Number,
    axis: str,
    rounds: Number = 1,
    *,
    kind: str = "activations",
) -> Op:
    """``count`` messages of ``elements`` elements each, as one device sends them, in rounds.

    >>> message("send", 2, 100, "pipeline").bytes_sent()
    400
    """
    sent = Elements(**{kind: count * elements})
    return Op(name, 0, count=count, elements_sent=sent, axis=axis, rounds=count * rounds)


def collective(
    does: str,
    elements: Number,
    *,
    inside: Number = 1,
    across: Number = 1,
    axis: str,
    count: Number = 1,
    name: str | None = None,
    kind: str = "activations",
) -> Ledger:
    """What one device sends for a collective in two tiers: see the top of this module.

    >>> for op in collective("all_reduce", 4096, inside=8, across=4, axis="data"):
    ...     print(op.axis, op.sends, op.rounds)
    data 7168 2
    data.network 768 4
    """
    choose("does", does, COLLECTIVES)
    inside, across = size("inside", inside), size("across", across)
    rows = []
    for axis_name, sent, rounds in zip(
        (axis, f"{axis}.network"),
        _sent(does, elements, inside, across),
        _rounds(does, inside, across),
        strict=True,
    ):
        if not is_zero(rounds):
            rows.append(message(name or does, count, sent, axis_name, rounds, kind=kind))
    return Ledger(tuple(rows))


def _sent(does: str, elements: Number, inside: Number, across: Number) -> tuple[Any, Any]:
    """Elements that one device sends inside its node, and across."""
    if does == "send":  # to one neighbour, which is in the node or across
        return (inside - 1) * elements, (across - 1) * elements
    if does == "all_to_all":
        part = ceil_div(elements, inside * across)
        return (inside - 1) * part, inside * (across - 1) * part
    part = ceil_div(elements, inside)
    times = PHASES[does]
    return times * (inside - 1) * part, times * (across - 1) * ceil_div(part, across)


def _rounds(does: str, inside: Number, across: Number) -> tuple[Any, Any]:
    """Rounds of a short message: see the top of this module."""
    near, far = minimum(inside - 1, 1), minimum(across - 1, 1)
    if does in ("send", "all_to_all"):
        return near, far
    return PHASES[does] * near, PHASES[does] * doublings(across)
