"""A cluster: nodes of devices, links inside a node, the network between nodes, and meshes on it.

A mesh numbers the devices of a cluster along axes. The first axis of its order is innermost: its
neighbours are next to one another, so that they share a node, and the last axis is spread widest.
How many devices of an axis share a node decides which links its messages cross, and that is all
that placement does here.

Left out: switches above the nodes that are shared by more than they can carry, and traffic of
other jobs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from costlib.model.catalog import Node, device_of, devices, nodes
from costlib.units.device import Device, Link
from costlib.units.ledger import Ledger
from costlib.units.messages import collective
from costlib.units.numbers import (
    Number,
    ceil_div,
    is_one,
    is_symbolic,
    maximum,
    minimum,
    one_size,
    where,
)

__all__ = ["Cluster", "Tiers", "cluster_of", "machine_of", "placed", "times"]


#: Seconds of a round between nodes: a hop of a tree's short messages, as NCCL reckons when it
#: chooses an algorithm (src/graph/tuning.cc, hwLat of NET).
NETWORK_ROUND = 5e-6


@dataclass(frozen=True, slots=True)
class Tiers:
    """Devices of an axis that share a node, and the nodes (or parts of nodes) that it spans.

    ``fits`` says whether every group of the axis is cut alike by the nodes' edges.

    >>> Tiers(8, 4) * Tiers(1, 2)
    Tiers(inside=8, across=8, fits=True)
    """

    inside: Number = 1
    across: Number = 1
    fits: Any = True

    def __mul__(self, other: Tiers) -> Tiers:
        """The tiers of two axes taken as one."""
        fits = self.fits & other.fits
        return Tiers(self.inside * other.inside, self.across * other.across, fits)

    @property
    def devices(self) -> Any:
        """Devices of the axis."""
        return self.inside * self.across

    def send(self, does: str, elements: Number, axis: str, **how: Any) -> Ledger:
        """What one of these devices sends for a collective; nothing where it is alone.

        >>> Tiers(8, 2).send("all_reduce", 4096, "data").over("data.network").sends
        512
        """
        if is_one(self.inside) and is_one(self.across):
            return Ledger()
        tiers: dict[str, Any] = {"inside": self.inside, "across": self.across}
        return collective(does, elements, axis=axis, **tiers, **how)


@dataclass(frozen=True, slots=True, init=False)
class Cluster:
    """A number of nodes of one kind; a node is a `costlib.catalog.Node`, a device, or a name of
    either.

    ``per_node`` uses fewer devices of each node than it has: jobs on racks of 72 often use 64.
    ``latency`` is the seconds that each round of a collective waits inside a node. Unless given,
    training waits what is published of this node, and nothing where nothing is. Between nodes a
    round waits `NETWORK_ROUND`; with a latency of 0 none waits. A server's times are the least that
    a datasheet allows: there no round waits unless told (see `costlib.serving.Server`).

    >>> cluster = Cluster("DGX-H100", nodes=16)
    >>> cluster.devices, cluster.device.name, cluster.device.link("data.network")
    (128, 'H100-SXM', (50000000000, 5e-06))
    >>> Cluster("GB200-NVL72", nodes=8, per_node=64).devices
    512
    >>> Cluster("T4").devices
    1
    """

    node: Node
    nodes: int
    per_node: int
    latency: Number | None

    def __init__(
        self,
        node: Node | Device | str,
        nodes: int = 1,
        *,
        per_node: int | None = None,
        latency: Number | None = None,
    ) -> None:
        found = _node_of(node)
        if per_node is not None:
            given = one_size("per_node", per_node)
            if given > found.devices:
                text = f"per_node must be at most {found.devices}, all devices of a {found.name}"
                raise ValueError(f"{text}, got {given}")
            found = found.with_(devices=given)
        object.__setattr__(self, "node", found)
        object.__setattr__(self, "nodes", one_size("nodes", nodes))
        object.__setattr__(self, "per_node", found.devices)
        object.__setattr__(self, "latency", latency)

    def with_(self, *, nodes: int | None = None, **changes: Any) -> Cluster:
        """The same cluster with another number of nodes, or with changes to its devices: see
        `Device.with_`.

        >>> slower = Cluster("DGX-H100").with_(nodes=4, interconnect_efficiency=0.8)
        >>> slower.nodes, slower.device.link("data.network")
        (4, (40000000000.0, 5e-06))
        """
        found = self.node.with_(device=self.node.device.with_(**changes))
        many = self.nodes if nodes is None else nodes
        return Cluster(found, many, latency=self.latency)

    @property
    def devices(self) -> int:
        """All of them."""
        return self.nodes * self.node.devices

    @property
    def device(self) -> Device:
        """One device with the links it has here: of the whole node, and of the network."""
        return self.device_on({})

    @property
    def wait(self) -> Any:
        """Seconds that a round inside a node waits: ``latency``, or what is published of it."""
        own = 0 if self.node.latency is None else self.node.latency
        return own if self.latency is None else self.latency

    def device_on(self, axes: Mapping[str, Tiers], wait: Number | None = None) -> Device:
        """One device with the links that each axis has; devices of a mesh or torus reach some of
        their neighbours with a share of their links alone, and on a torus a round goes all the way
        round a ring, hop by hop."""
        node = self.node
        near = self.wait if wait is None else wait
        told = self.latency if wait is None else wait
        far = NETWORK_ROUND if told is None else where(told > 0, NETWORK_ROUND, 0)
        links = {}
        if node.network is not None:
            links["network"] = Link(node.network, far)
        if node.link is not None:
            links["node"] = Link(node.link, near)
            if node.topology != "switch":
                for axis, tiers in axes.items():
                    hops = maximum(tiers.inside - 1, 1) if node.topology == "torus" else 1
                    links[axis] = Link(node.link_among(tiers.inside), hops * near)
        return node.device.with_(links=links)

    def tiers(self, devices: Number, stride: Number = 1) -> Tiers:
        """How an axis of ``devices`` devices, each ``stride`` from the next, lies in the nodes.

        >>> cluster = Cluster("DGX-H100", nodes=4)
        >>> cluster.tiers(8), cluster.tiers(16, 2), cluster.tiers(4, 8)
        (Tiers(inside=8, across=1, fits=True), Tiers(inside=4, across=4, fits=True), \
Tiers(inside=1, across=4, fits=True))
        >>> cluster.tiers(3).fits  # three do not divide eight: some groups would straddle
        False
        """
        each: Any = self.node.devices
        room = maximum(each // stride, 1)
        inside = minimum(devices, room)
        across = ceil_div(devices, inside)
        if is_symbolic(devices, stride):
            return Tiers(inside, across)
        is_even = (each % stride == 0) | (stride % each == 0)
        fits = is_even & (room % inside == 0) & (devices % inside == 0)
        return Tiers(inside, across, fits | (devices == 1))


def placed(cluster: Cluster, sizes: Mapping[str, Number], order: Sequence[str]) -> dict[str, Tiers]:
    """The tiers of every axis of a mesh, the first of the order innermost.

    >>> cluster = Cluster("DGX-H100", nodes=4)
    >>> sizes = {"tensor": 8, "pipeline": 2, "data": 2}
    >>> found = placed(cluster, sizes, ("tensor", "pipeline", "data"))
    >>> found["tensor"].inside, found["pipeline"].across, found["data"].across
    (8, 2, 2)
    """
    stride: Any = 1
    found = {}
    for axis in order:
        found[axis] = cluster.tiers(sizes[axis], stride)
        stride = stride * sizes[axis]
    return found


def cluster_of(given: Cluster | Node | Device | str) -> Cluster:
    """A cluster, or the one that a name, a node or a device stands for.

    ``DGX-H100x16`` is a cluster of sixteen nodes, ``H100-SXMx8`` one node of eight devices.

    >>> cluster_of("DGX-H100x16").devices, cluster_of("H100-SXMx8").nodes
    (128, 1)
    """
    if isinstance(given, Cluster):
        return given
    if not isinstance(given, (str, Node, Device)):
        text = "cluster must be a Cluster or a name such as 'DGX-H100x16'"
        raise TypeError(f"{text}, got {given!r:.200}")
    if not isinstance(given, str):
        return Cluster(_node_of(given))
    name, many = times(given)
    if name in nodes or name not in devices:
        return Cluster(nodes[name], nodes=many or 1)
    one, many = devices[name], many or 1
    if one.interconnect is None and many > 1:
        text = f"no link between devices of {given} is known"
        raise ValueError(f"{text}: list(costlib.nodes) lists machines with one")
    alike = (nodes[each] for each in nodes if nodes[each].device.name == one.name)
    wait = next((node.latency for node in alike), None)
    node = Node(name=given, device=one, devices=many, link=one.interconnect, latency=wait)
    return Cluster(node)


_TIMES = re.compile(
    r"(?P<name>.*\S)\s*[x×*]\s*(?P<many>\d+)|(?P<first>\d+)\s*[x×*]\s*(?P<last>\S.*)"
)


def times(text: str) -> tuple[str, int | None]:
    """A name, and the number if one is given: ``H100-SXMx8`` and ``8xH100-SXM`` are eight.

    >>> times("H100-SXMx8"), times("8 x T4"), times("RTX-4090")
    (('H100-SXM', 8), ('T4', 8), ('RTX-4090', None))
    """
    found = None if text in devices or text in nodes else _TIMES.fullmatch(text.strip())
    if not found:
        return text, None
    name, many = found["name"] or found["last"], int(found["many"] or found["first"])
    if many < 1:
        raise ValueError(f"{text!r} names no device: the number must be at least 1")
    return name, many


def machine_of(given: Cluster | Node | Device | str) -> tuple[Cluster | Device, int | None]:
    """The machine that a name stands for: a cluster, or a device with its number where one is
    given.

    >>> machine_of("A100-80GBx4")[1], machine_of("DGX-H100x2")[0].devices
    (4, 16)
    """
    if isinstance(given, str):
        name, many = times(given)
        if name not in nodes or name in devices:
            return devices[name], many
        return Cluster(nodes[name], 1 if many is None else many), None
    if isinstance(given, Node):
        return Cluster(given), None
    if isinstance(given, Cluster):
        return given, None
    return device_of(given), None


def _node_of(given: Node | Device | str) -> Node:
    """A node, or a device alone as one."""
    if isinstance(given, str):
        if given not in nodes and given in devices:
            given = devices[given]
        else:
            return nodes[given]
    if isinstance(given, Device):
        return Node(name=given.name, device=given, devices=1, link=given.interconnect)
    if not isinstance(given, Node):
        raise TypeError(f"node must be a Node or the name of one, got {given!r}")
    return given
