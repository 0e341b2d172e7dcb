"""What joins devices: the node, the rack or the pod slice that they are rented in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from costlib.units.device import Device
from costlib.units.numbers import Number, maximum, where

__all__ = ["Node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Devices that reach one another over fast links, and the slower network to the next ones.

    Rates are bytes/s, each way, per device, over all of its links together. In a torus the links
    of one axis have ``link / axes`` of it; through a switch every peer gets all of it. A figure
    that nobody publishes is None.

    >>> from costlib.model.catalog import nodes
    >>> h100 = nodes["DGX H100"]
    >>> h100.devices, h100.device.name, h100.link, h100.network
    (8, 'H100-SXM', 450000000000, 50000000000)
    >>> nodes["TPU v5e pod"].link_per_axis
    100000000000.0
    """

    name: str
    device: Device
    devices: int
    link: Number | None
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
            if isinstance(value, (str, bool)) or (value is not None and not value > 0):
                text = f"{name} of {self.name} must be a positive number or None"
                raise ValueError(f"{text}, got {value!r}")

    def with_(self, **changes: Any) -> Node:
        """The same node with some of its figures changed.

        >>> from costlib.model.catalog import nodes
        >>> nodes["NVL72"].with_(devices=64).devices
        64
        """
        return replace(self, **changes)

    @property
    def link_per_axis(self) -> Any:
        """Bytes/s each way over the links of one axis of a torus; all of them through a switch."""
        return self._link / self.axes

    @property
    def _link(self) -> Any:
        if self.link is None:
            raise ValueError(f"{self.name} has no link: give it one with with_()")
        return self.link

    def link_among(self, devices: Number) -> Any:
        """Bytes/s each way between ``devices`` devices of the node.

        Through a switch all of ``link``, in a mesh the share of the links that lead to them, in a
        torus the links of as many axes as they fill.

        >>> from costlib.model.catalog import nodes
        >>> nodes["DGX-H100"].link_among(2) == nodes["DGX-H100"].link
        True
        >>> nodes["8xMI300X"].link_among(8) / nodes["8xMI300X"].link_among(2)
        7.0
        >>> pod = nodes["TPU-v5e-pod"]  # 16 by 16
        >>> pod.link_among(16) == pod.link_per_axis, pod.link_among(256) == pod.link
        (True, True)
        """
        if self.topology == "mesh":
            return self._link * (maximum(devices, 2) - 1) / (self.devices - 1)
        if self.topology != "torus":
            return self._link
        rate, side = self.link_per_axis, self.devices ** (1 / self.axes)
        for axis in range(1, self.axes):
            filled = where(devices > side**axis * 1.001, 1, 0)
            rate = rate + filled * self.link_per_axis
        return rate
