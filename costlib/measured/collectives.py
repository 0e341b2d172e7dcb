"""Collectives that others timed, to hold formulas to.

The tables are in collectives.json, each with its source. A program that times them prints
bytes/seconds (algbw) and a rate that is meant to be the link's (busbw): the same, times what a ring
sends for each byte of the value. `bus_factor` is that number.

Left out: runs on other topologies, with other settings, or with faults; the sources have more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from costlib.model.catalog import Node, nodes
from costlib.units.numbers import Number, size

__all__ = ["Collective", "bus_factor", "collectives"]

_FILE = Path(__file__).parent / "collectives.json"
_TIMES = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1}


@dataclass(frozen=True, slots=True)
class Collective:
    """One table: what ran on which node, and seconds by bytes of the value.

    >>> ring = collectives("8xA100")
    >>> ring.node.name, ring.seconds[32768], f"{ring.bus_rates[2**34]:.4g}"
    ('DGX-A100', 4.383e-05, '2.349e+11')
    """

    name: str
    does: str
    algorithm: str
    node: Node
    nodes: int
    devices: int
    seconds: dict[int, float]  #: by bytes of the value
    source: str

    @property
    def bus_rates(self) -> dict[int, float]:
        """Bytes/s as such programs print them, by bytes of the value."""
        factor = bus_factor(self.does, self.devices)
        return {bytes_: factor * bytes_ / seconds for bytes_, seconds in self.seconds.items()}


def bus_factor(does: str, devices: Number) -> Any:
    """What a ring sends for each byte of the value: 2·(n − 1)/n for an all-reduce.

    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 8)
    (1.75, 0.875)
    """
    if does not in _TIMES:
        raise ValueError(f"does must be one of {', '.join(_TIMES)}, got {does!r}")
    devices = size("devices", devices)
    return _TIMES[does] * (devices - 1) / devices


@cache
def _tables() -> dict[str, Collective]:
    told = json.loads(_FILE.read_text("utf-8"))
    found = {}
    for row in told["tables"]:
        seconds = {bytes_: round(us * 1e-6, 12) for bytes_, us in row.get("bytes_us", ())}
        for bytes_, rate in row.get("bytes_busbw", ()):
            factor = bus_factor(row["collective"], row["devices"])
            seconds[bytes_] = factor * bytes_ / (rate * 1e9)
        found[row["name"]] = Collective(
            name=row["name"],
            does=row["collective"],
            algorithm=row["algorithm"],
            node=nodes[row["node"]],
            nodes=row["nodes"],
            devices=row["devices"],
            seconds=seconds,
            source=told["sources"][row["source"]]["url"],
        )
    return found


def collectives(name: str) -> Collective:
    """One table by its name: "8xA100", "8xH200 ring", "96xH100", "72xGB200" and others.

    >>> collectives("96xH100").nodes
    12
    """
    if name not in _tables():
        raise ValueError(f"name must be one of {', '.join(_tables())}, got {name!r}")
    return _tables()[name]
