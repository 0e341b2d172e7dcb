"""What joins devices: the node, the rack or the pod slice that they are rented in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from costlib.device import Device
from costlib.numbers import Number

__all__ = ["Node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Devices that reach one another over fast links, and the slower network to the next ones.

    Rates are bytes/s, each way, per device, over all of its links together. In a torus the links
    of one axis have ``link / axes`` of it; through a switch every peer gets all of it. A figure
    that nobody publishes is None.

    >>> from costlib.catalog import nodes
    >>> h100 = nodes["DGX H100"]
    >>> h100.devices, h100.device.name, h100.link, h100.network
    (8, 'H100-SXM', 450000000000, 50000000000)
    >>> nodes["TPU v5e pod"].link_per_axis
    100000000000.0
    """

    name: str
    device: Device
    devices: int
    link: Number
    topology: str = "switch"
    axes: int = 1
    latency: Number | None = None
    network: Number | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("devices", "axes"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} of a node must be a whole number from 1, got {value!r}")
        for name in ("link", "network", "latency"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} of {self.name} must be positive or None, got {value!r}")

    @property
    def link_per_axis(self) -> Any:
        """Bytes/s each way over the links of one axis of a torus; all of them through a switch."""
        return self.link / self.axes
