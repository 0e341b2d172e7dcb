"""What devices send one another: a message is an op that sends over an axis of the mesh.

Left out: how a message is cut into packets, and what crosses a link twice because it failed.
"""

from __future__ import annotations

from typing import Any

from costlib.ledger import Elements, Op
from costlib.numbers import Number, ceil_div, size

__all__ = ["all_reduce", "all_reduces", "message"]


def all_reduce(elements: Number, devices: Number) -> Any:
    """Elements that each device of a ring sends: 2·(n − 1) chunks of ⌈elements / n⌉.

    >>> all_reduce(4096, 1), all_reduce(4096, 2), all_reduce(4096, 8)
    (0, 4096, 7168)
    """
    elements, devices = size("elements", elements), size("devices", devices)
    return 2 * (devices - 1) * ceil_div(elements, devices)


def all_reduces(count: Number, elements: Number, devices: Number, axis: str) -> Op:
    """So many all-reduces of so many elements each, over an axis of so many devices.

    >>> all_reduces(2, 4096, 8, "tensor")
    <Op all_reduce: 0 FLOPs, reads 0, writes 0, sends 14,336 over tensor>
    """
    return message("all_reduce", count, all_reduce(elements, devices), axis)


def message(name: str, count: Number, elements: Number, axis: str) -> Op:
    """So many messages of so many elements each, as one device sends them.

    >>> message("send", 2, 100, "pipeline").bytes_sent()
    400
    """
    sent = Elements(activations=count * elements)
    return Op(name, 0, count=count, elements_sent=sent, axis=axis)
