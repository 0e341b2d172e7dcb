"""How long a collective takes on the links of a machine, as libraries do it.

Its bytes are those of `costlib.units.messages`: in two tiers the longer of both times, as pieces
are inside a node while others are across, on every network card of the node at once. What comes
on top are a launch, and the depth of what the first piece passes through, one device after another:

    seconds = launch + (√depth + √bytes)²
    depth   = hop·(a − 1) + 2·network_hop·⌈log₂ b⌉      a devices inside, b nodes
    bytes   = max(inside / (share·link), across / (network_share·network))

The square is what the best cut into pieces costs. If a value takes t seconds over a link, and each
of k devices on its way adds s seconds to a piece, c pieces take (k + c)·(s + t/c) seconds. Over all
c that is least at c = √(k·t/s), where it is (√(k·s) + √t)².

Where switches add up, a device sends each byte of an all-reduce once and not twice; it gains less
than two, as `Reached` says. Servers use other kernels for short values: in two shots everybody
sends everybody its part, so that the depth is two hops; in one shot everybody sends everybody the
whole value, n − 1 times the bytes of one.

Left out: protocols that trade bytes for latency (between 1 and 4 MiB they cost or save up to a
third), switches above the nodes that are shared, and faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.model import catalog
from costlib.model.catalog import Node
from costlib.units.messages import collective
from costlib.units.numbers import Number, choose, doublings, maximum, minimum, size

__all__ = ["ADDING", "REACHED", "WAYS", "Reached", "collective_seconds"]

#: Ways of a collective: a library's for any size, and what servers use for short all-reduces.
WAYS = ("library", "two-shot", "one-shot")
#: Which switches add up what passes through them: none, those in a node, those between nodes too.
SUMS = ("none", "node", "network")
#: Devices whose switches add up (NVLink SHARP), from the third NVSwitch on.
ADDING = ("H100-SXM", "H200", "B200", "B300", "GB200", "GB300")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What is reached of links, and the seconds beside their rates: a reason for each.

    ``launch``: two published sweeps, on A100s and on H200s, take 44 and 40 µs however short the
    value; of these the first piece's way is a tenth. ``hop`` and ``network_hop`` are those that
    NCCL reckons with for short messages (src/graph/tuning.cc: 0.5 and 5.0 µs). ``share``: rings of
    large values reach 0.78 to 0.82 of NVLink's rate on three generations, because every packet
    carries a header. ``network_share``: network cards lose less to theirs. ``gain``: sums in
    switches are 1.25 to 1.31 times as fast as a ring, and of few devices ``sums_share`` of what
    their bytes alone would allow.
    """

    launch: float = 35e-6
    hop: float = 0.5e-6
    network_hop: float = 5e-6
    share: float = 0.8
    network_share: float = 0.9
    gain: float = 1.3
    sums_share: float = 0.84


REACHED = Reached()


def collective_seconds(
    does: str,
    value: Number,
    node: Node | str,
    *,
    nodes: Number = 1,
    per_node: Number | None = None,
    way: str = "library",
    sums: str | None = None,
    reached: Reached = REACHED,
) -> Any:
    """Seconds of a collective on ``value`` bytes (for an all_gather, of the whole result).

    ``sums`` is where switches add up: "none", "node" or "network"; unless told, in the node if its
    switches can.

    >>> round(1e6 * collective_seconds("all_reduce", 32768, "DGX-A100"))  # 44 measured
    41
    >>> 1.75 * 2**34 / collective_seconds("all_reduce", 2**34, "DGX-H200", sums="none") // 1e9
    355.0
    >>> 1.9375 * 2**34 / collective_seconds("all_reduce", 2**34, "DGX-H200", nodes=4) // 1e9
    448.0
    """
    node = catalog.nodes.of(node)
    choose("way", way, WAYS)
    able = "node" if node.device.name in ADDING else "none"
    sums = able if sums is None else sums
    choose("sums", sums, SUMS)
    inside = size("per_node", node.devices if per_node is None else per_node)
    nodes = size("nodes", nodes)
    sent = collective(does, value, inside=inside, across=nodes, axis="any")
    near, far = (_sent(sent, axis) for axis in ("any", "any.network"))
    if does == "all_reduce" and way == "one-shot":
        near = (inside - 1) * value
    elif does == "all_reduce" and sums != "none" and way == "library":
        near = near / _gain(inside, reached)
    if does == "all_reduce" and sums == "network":
        far = far * (nodes + 1) / maximum(2 * (nodes - 1), 1)
    spent = near / (reached.share * node.link_among(inside))
    hops = inside - 1 if way == "library" else WAYS.index("one-shot") - WAYS.index(way) + 1
    depth = reached.hop * minimum(hops, inside - 1)
    if node.network is not None:
        spent = maximum(spent, far / (reached.network_share * node.network))
        depth = depth + 2 * reached.network_hop * doublings(nodes)
    return reached.launch + (depth**0.5 + spent**0.5) ** 2


def _sent(sent: Any, axis: str) -> Any:
    return sum(op.sends for op in sent if op.axis == axis)


def _gain(devices: Number, reached: Reached) -> Any:
    """How much faster switches add up than a ring does: a device sends Z·(n + 1)/n bytes for
    2·Z·(n − 1)/n."""
    fewer = reached.sums_share * 2 * (devices - 1) / (devices + 1)
    return maximum(1, minimum(reached.gain, fewer))
