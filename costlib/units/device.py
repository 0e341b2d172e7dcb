"""Chapter 5: a device, by what it can do at most.

FLOPs per second in each number format, bytes per second to its memory and to its
neighbours. The ridge, peak / bandwidth, is the intensity at which the first two meet. Rates are in
FLOP/s and bytes/s (decimal).

Left out: caches that serve a second read, kernels too small to fill the device, clocks that fall
under load. A calibrated device has constants for what is left: see `costlib.measured.calibrate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from costlib.units.display import facts_html, quantity
from costlib.units.numbers import Number, is_lazy, is_symbolic, minimum, suggests
from costlib.units.precision import SIXTEEN_BITS, spelt

__all__ = ["RESERVE", "Device", "Link"]

#: The share of a device's memory that is never given to weights and cache: the driver's own, a
#: context, workspaces, fragments. Serving systems leave 8 to 10 per cent free.
RESERVE = 0.1

#: What a figure may be, from least to most: TFLOP/s that are given as FLOP/s, gigabytes as bytes
#: or milliseconds as seconds are out of any machine's range.
_RATES = (1e6, 1e29)
_MEMORY = (1e5, 1e30)
_CACHES = (1, 1e30)
_SECONDS = (0, 1)
_SHARES = (1e-9, 1)
#: What is meant by a figure, where its name does not say.
_UNITS = {
    _RATES: " a second (4e12 for 4 TFLOP/s or TB/s)",
    _MEMORY: " bytes (80e9 for 80 GB)",
    _SECONDS: " seconds",
}


@dataclass(frozen=True, slots=True)
class Link:
    """What a device reaches others over: bytes/s each way, and seconds until a message arrives.

    >>> Link(450e9).latency
    0
    """

    bytes_per_s: Number
    latency: Number = 0

    def __post_init__(self) -> None:
        rate = _figure("bytes_per_s of a link", self.bytes_per_s, *_RATES)
        object.__setattr__(self, "bytes_per_s", rate)
        object.__setattr__(self, "latency", _figure("latency", self.latency, *_SECONDS))


@suggests
@dataclass(frozen=True, slots=True)
class Device:
    """What a device can do at most: dense FLOP/s by number format, and bytes/s to its memory.

    ``capacity`` (memory), ``cache`` (the last one before it) and ``on_chip`` (of one core) are
    bytes, ``interconnect`` is bytes/s each way; ``links`` names others, by the axis of a mesh or by
    its tier: what "data.network" sends goes over the link of that name, else over "network"; what
    "data" sends over "data", else "node"; and else over the interconnect. The ideal device has
    efficiencies of 1 and overheads of 0 (seconds per op, per message, per step), and overlaps
    moving with computing perfectly: with an exponent ``blend`` of q together they take
    (compute^q + memory^q)^(1/q). Where that is finite, products are also rounded up to whole waves
    of tiles, which pay ``edge`` for their edges. Attention takes at least ``floor_per_head``
    seconds of a core for each sequence and KV head, however short the cache.

    >>> toy = Device("toy", {"bf16": 100e12}, 1e12)
    >>> toy.ridge(), toy.attainable(10), toy.attainable(1000)
    (100.0, 10000000000000.0, 100000000000000.0)
    >>> toy.with_(bandwidth_efficiency=0.5).ridge()
    200.0
    >>> toy.ridge("fp8")
    Traceback (most recent call last):
        ...
    ValueError: toy has no peak rate for 'fp8'; it has bf16
    >>> Device("toy", 100e12, 1e12)
    Traceback (most recent call last):
        ...
    TypeError: flops_per_s must name a rate for each number format, such as {'bf16': 1e+14}, \
got 100000000000000.0
    """

    name: str
    flops_per_s: Mapping[str, Number] = field(hash=False)
    bytes_per_s: Number
    capacity: Number | None = None
    on_chip: Number | None = None
    cache: Number | None = None
    cores: int | None = None
    interconnect: Number | None = None
    compute_efficiency: Number = 1
    bandwidth_efficiency: Number = 1
    interconnect_efficiency: Number = 1
    overhead_per_op: Number = 0
    overhead_per_message: Number = 0
    overhead_per_step: Number = 0
    blend: Number = inf
    edge: Number = 0
    floor_per_head: Number = 0
    links: Mapping[str, Link] = field(default_factory=dict, hash=False, repr=False)
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    #: The format that stands for 16 bits here: the faster of bf16 and fp16, else what there is.
    sixteen_bits: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.flops_per_s, Mapping):
            raise TypeError(
                "flops_per_s must name a rate for each number format, such as {'bf16': 1e+14}, "
                f"got {self.flops_per_s!r}"
            )
        if not self.flops_per_s:
            raise ValueError(f"{self.name} needs a peak rate for at least one number format")
        rates = {
            spelt(str(dtype)): _figure(f"flops_per_s[{dtype!r}]", rate, *_RATES)
            for dtype, rate in self.flops_per_s.items()
        }
        object.__setattr__(self, "flops_per_s", MappingProxyType(rates))
        links = self.links.values() if isinstance(self.links, Mapping) else [None]
        if not all(isinstance(link, Link) for link in links):
            text = "links must name a Link for each axis, such as {'network': Link(5e9)}"
            raise TypeError(f"{text}, got {self.links!r:.200}")
        object.__setattr__(self, "links", MappingProxyType(dict(self.links)))
        object.__setattr__(self, "sixteen_bits", _sixteen_bits(rates))
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                object.__setattr__(self, name, _figure(name, value, least, most))

    def __reduce__(self) -> Any:  # a read-only mapping cannot be pickled, and clusters pickle
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        plain = {name: dict(values[name]) for name in ("flops_per_s", "links")}
        return partial(type(self), **values | plain), ()

    def with_(self, **changes: Any) -> Device:
        """The same device with some of its figures changed."""
        return replace(self, **changes)

    def _repr_html_(self) -> str | None:
        figures = [*self.flops_per_s.values(), self.bytes_per_s, self.capacity, self.interconnect]
        if not all(isinstance(each, (int, float, type(None))) for each in figures):
            return None
        peaks = self.flops_per_s.items()
        rows = [(f"{name} peak", quantity(rate, "FLOP/s")) for name, rate in peaks]
        rows.append(("memory reads", quantity(self.bytes_per_s, "B/s")))
        if self.capacity is not None:
            rows.append(("memory", quantity(self.capacity, "B")))
        if self.interconnect is not None:
            rows.append(("to other devices, each way", quantity(self.interconnect, "B/s")))
        rows.append(("ridge", f"{self.ridge():.4g} FLOP a byte"))
        return facts_html([("device", self.name), *rows])

    def compute_rate(self, compute: str | None = None) -> Any:
        """FLOP/s reached where compute binds: the dense peak of a format times its efficiency.

        Without a format, in 16 bits.
        """
        compute = self.sixteen_bits if compute is None else spelt(compute)
        if compute not in self.flops_per_s:
            raise ValueError(
                f"{self.name} has no peak rate for {compute!r}; it has "
                f"{', '.join(self.flops_per_s)}"
            )
        return self.flops_per_s[compute] * self.compute_efficiency

    @property
    def memory_rate(self) -> Any:
        """Bytes/s reached where memory binds: the bandwidth times its efficiency."""
        return self.bytes_per_s * self.bandwidth_efficiency

    @property
    def link_rate(self) -> Any:
        """Bytes/s reached to other devices, each way: the link's rate times its efficiency."""
        if self.interconnect is None:
            raise ValueError(f"{self.name} has no interconnect: give it one with with_()")
        return self.interconnect * self.interconnect_efficiency

    def link(self, axis: str) -> tuple[Any, Any]:
        """Bytes/s reached over an axis of a mesh, and the seconds that each round waits there.

        >>> toy = Device("toy", {"bf16": 1e12}, 1e11, interconnect=4e10)
        >>> toy = toy.with_(interconnect_efficiency=0.5, links={"network": Link(5e9, 1e-5)})
        >>> toy.link("data"), toy.link("data.network")
        ((20000000000.0, 0), (2500000000.0, 1e-05))
        """
        found = self.links.get(axis) or self.links.get(axis.partition(".")[2] or "node")
        if found is None:
            return self.link_rate, 0
        return found.bytes_per_s * self.interconnect_efficiency, found.latency

    @property
    def usable(self) -> Any:
        """Bytes of memory that can be used: the capacity less the `RESERVE`."""
        if self.capacity is None:
            raise ValueError(f"{self.name} has no capacity: give it one with with_()")
        if isinstance(self.capacity, int):
            return self.capacity - int(RESERVE * self.capacity)
        return self.capacity * (1 - RESERVE)

    def ridge(self, compute: str | None = None) -> Any:
        """The intensity (FLOPs per byte) from which compute binds: compute rate / memory rate."""
        return self.compute_rate(compute) / self.memory_rate

    def attainable(self, intensity: Number, compute: str | None = None) -> Any:
        """FLOP/s at an intensity: min(compute rate, intensity · memory rate), the roofline."""
        return minimum(self.compute_rate(compute), intensity * self.memory_rate)


_LIMITS = {
    "bytes_per_s": _RATES,
    "capacity": _MEMORY,
    "on_chip": _CACHES,
    "cache": _CACHES,
    "interconnect": _RATES,
    "compute_efficiency": _SHARES,
    "bandwidth_efficiency": _SHARES,
    "interconnect_efficiency": _SHARES,
    "overhead_per_op": _SECONDS,
    "overhead_per_message": _SECONDS,
    "overhead_per_step": _SECONDS,
    "blend": (1, inf),
    "edge": (0, 1e9),
    "floor_per_head": _SECONDS,
}


_OPTIONAL = ("capacity", "on_chip", "cache", "interconnect")


def _sixteen_bits(rates: Mapping[str, Number]) -> str:
    """The format that 16-bit work is done in.

    >>> _sixteen_bits({"fp32": 8e12, "fp16": 65e12}), _sixteen_bits({"fp32": 8e12})
    ('fp16', 'fp32')
    """
    known = [each for each in SIXTEEN_BITS if each in rates] or [*rates]
    if known[:2] == ["bf16", "fp16"] and np.all(rates["fp16"] > rates["bf16"]):
        return "fp16"
    return known[0]


def _figure(name: str, value: Number, least: float, most: float) -> Any:
    """A figure of a device, checked, in a type that cannot wrap; a symbol is taken as it is."""
    if is_symbolic(value) or is_lazy(value):
        return value
    is_array = getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u", "f")
    if isinstance(value, (bool, str)) or not (is_array or isinstance(value, (int, float))):
        raise TypeError(f"{name} must be a number, got {value!r:.200}")
    if type(value) is int and value > 1e30:  # perhaps more than a float can be
        raise ValueError(f"{name} must be at most 1e30, got a larger whole number")
    if not np.all((np.asarray(value) >= least) & (np.asarray(value) <= most)):
        unit = _UNITS.get((least, most), "")
        raise ValueError(f"{name} must be between {least:g} and {most:g}{unit}, got {value}")
    if isinstance(value, float) and value == inf:
        return inf  # the very object, so that "overlaps perfectly" is seen at once
    return value if isinstance(value, (int, float)) else value * 1.0
