"""Collectives that others timed, to hold formulas to.

The tables are in collectives.json, each with its source. A program that times them prints
bytes/seconds (algbw) and a rate that is meant to be the link's (busbw): the same, times what a ring
sends for each byte of the value. `bus_factor` is that number. `read_collectives` reads such rates
of others from a CSV, and says of what it does not understand why.

Left out: runs with other settings or with faults, and devices that reach one another through PCIe;
the sources have more.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from costlib.model.catalog import Node, nodes
from costlib.parallel.network import collective_seconds
from costlib.units.messages import PHASES
from costlib.units.numbers import Number, size

__all__ = [
    "Collective",
    "bus_factor",
    "collective_names",
    "collectives",
    "one_rate",
    "read_collectives",
]

_FILE = Path(__file__).parent / "collectives.json"


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
    by: str = ""  #: who published it

    @property
    def bus_rates(self) -> dict[int, float]:
        """Bytes/s as such programs print them, by bytes of the value."""
        factor = bus_factor(self.does, self.devices)
        return {bytes_: factor * bytes_ / seconds for bytes_, seconds in self.seconds.items()}

    def predicted(self, bytes_: Number) -> Any:
        """Seconds that `costlib.parallel.collective_seconds` says.

        >>> table = collectives("32xH200")
        >>> [round(float(table.predicted(n)) / t, 2) for n, t in table.seconds.items()]
        [0.82]
        """
        sums = {"ring": "none", "not said": None}.get(self.algorithm, "node")
        how: dict[str, Any] = {"nodes": self.nodes, "per_node": self.devices // self.nodes}
        return collective_seconds(self.does, bytes_, self.node, sums=sums, **how)

    @property
    def errors(self) -> list[float]:
        """Predicted over measured, less 1, of each size."""
        return [float(self.predicted(n)) / t - 1 for n, t in self.seconds.items()]

    def by_rate(self, shares: Mapping[str, float]) -> list[float]:
        """The same of the rival: bytes over a constant share of the link's rate (`one_rate`)."""
        rate = shares["network" if self.nodes > 1 else "link"] * self.wire
        factor = bus_factor(self.does, self.devices)
        return [factor * n / rate / t - 1 for n, t in self.seconds.items()]

    @property
    def wire(self) -> float:
        """Bytes/s of what its rings pass through: a device's link, or all network cards of a
        node."""
        cards = self.devices // self.nodes * (self.node.network or 0)
        return float(cards if self.nodes > 1 else self.node.link_among(self.devices))


def one_rate(tables: Iterable[Collective]) -> dict[str, float]:
    """The simplest rival: one share of every link's rate, and one of every network's, whatever the
    size; each the median of these tables'.

    >>> found = one_rate(map(collectives, collective_names()))
    >>> {kind: round(share, 1) for kind, share in found.items()}
    {'link': 0.8, 'network': 0.9}
    """
    shares: dict[str, list[float]] = {"link": [], "network": []}
    for table in tables:
        kind = "network" if table.nodes > 1 else "link"
        shares[kind] += [rate / table.wire for rate in table.bus_rates.values()]
    return {kind: float(np.median(found)) for kind, found in shares.items() if found}


def collective_names() -> list[str]:
    """The carried tables.

    >>> collective_names()[:2], len(collective_names())
    (['8xA100', '8xH200 ring'], 24)
    """
    return [*_tables()]


def bus_factor(does: str, devices: Number) -> Any:
    """What a ring sends for each byte of the value: 2·(n − 1)/n for an all-reduce.

    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 8)
    (1.75, 0.875)
    """
    if does not in PHASES:
        raise ValueError(f"does must be one of {', '.join(PHASES)}, got {does!r}")
    devices = size("devices", devices)
    return PHASES[does] * (devices - 1) / devices


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
            node=_of_network(nodes[row["node"]], row.get("network")),
            nodes=row["nodes"],
            devices=row["devices"],
            seconds=seconds,
            source=told["sources"][row["source"]]["url"],
            by=row["source"],
        )
    return found


def _of_network(node: Node, rate: float | None) -> Node:
    """A node whose network is another one's than its maker's, in GB/s of a device."""
    return node if rate is None else node.with_(network=rate * 1e9)


def collectives(name: str) -> Collective:
    """One table by its name: "8xA100", "8xH200 ring", "96xH100", "72xGB200" and others.

    >>> collectives("96xH100").nodes
    12
    """
    if name not in _tables():
        raise ValueError(f"name must be one of {', '.join(_tables())}, got {name!r}")
    return _tables()[name]


# ------------------------------------------------------------------------------- rows of others

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMG]i?)?B\b", re.I)
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_EXACT = 100  # GB/s, printed to hundredths, from which on a quotient tells how many devices
_USUAL = 2**34  # bytes of "a large payload", where links are full whatever the size
_KINDS = (
    ("gb300", "GB300-NVL72"),
    ("gb200", "GB200-NVL72"),
    ("b300", "DGX-B300"),
    ("b200", "DGX-B200"),
    ("h200", "DGX-H200"),
    ("h100", "DGX-H100"),
    ("a100", "DGX-A100"),
    ("mi300", "8xMI300X"),
    ("mi355", "8xMI355X"),
)
_COLLECTIVES = {
    "all_reduce": r"all.?reduce",
    "all_gather": r"all.?gather",
    "reduce_scatter": r"reduce.?scatter",
    "all_to_all": r"all.?to.?all",
}


class _Unread(ValueError):
    """A row that does not tell what a prediction needs."""


def read_collectives(path: Path | str) -> tuple[list[Collective], list[tuple[str, str]]]:
    """One-row tables of a CSV (what, devices, plan, metric, value, unit, source, table), and the
    rows that are not understood, each with the reason.

    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "rows.csv"
    >>> head = "what,model,devices,plan,metric,value,unit,source,read,table"
    >>> row = "all-reduce payload 1GiB,-,8 x H200,-,busbw,463.58,GB/s,,yes,mine"
    >>> _ = file.write_text(f"{head}\\n{row}\\nsendrecv,-,8 x T4,-,busbw,1,GB/s,,yes,mine")
    >>> [table], others = read_collectives(file)
    >>> table.node.name, [f"{1e3 * t:.2f} ms" for t in table.seconds.values()], others[0][1]
    ('DGX-H200', ['4.05 ms'], "'sendrecv' is no collective that is known")
    """
    found: dict[tuple[str, ...], dict[str, Mapping[str, str]]] = {}
    with Path(path).open(newline="", encoding="utf-8") as lines:
        for line in csv.DictReader(lines):
            key = tuple(line[name] for name in ("table", "what", "devices", "plan"))
            found.setdefault(key, {})[line["metric"].split()[0]] = line
    tables, others = [], []
    for key, metrics in found.items():
        row = _row_or_reason(key, metrics)
        if isinstance(row, Collective):
            tables.append(row)
        else:
            others.append((" | ".join(key), row))
    return tables, others


def _row_or_reason(
    key: tuple[str, ...], metrics: Mapping[str, Mapping[str, str]]
) -> Collective | str:
    table, what, machine, plan = key
    try:
        return _of_row(table, what, machine, plan, metrics)
    except _Unread as reason:
        return str(reason)


def _of_row(
    table: str, what: str, devices: str, plan: str, metrics: Mapping[str, Mapping[str, str]]
) -> Collective:
    does = next((d for d, words in _COLLECTIVES.items() if re.search(words, what, re.I)), None)
    if does is None or re.search("non-all", what):
        raise _Unread(f"{what!r} is no collective that is known")
    if re.search(r"misconfig|faulty|average", what):
        raise _Unread("it is no one set-up that worked")
    node, count, many = _machine(devices)
    rates = {name: _number(line) for name, line in metrics.items()}
    if {"busbw", "algbw"} <= {*rates} and does == "all_reduce" and rates["algbw"] > _EXACT:
        told = round(2 / (2 - rates["busbw"] / rates["algbw"]))  # the factor's devices
        if told % node.devices == 0:
            many, count = told // node.devices, told
    asked = f"{what} {plan} {devices}"
    if (cards := re.search(r"(\d+) ?x ?(\d+) Gb/s", devices)) is not None:
        node = node.with_(network=int(cards[1]) * int(cards[2]) / 8 * 1e9 / node.devices)
    size_ = _SIZE.search(what)
    bytes_ = _USUAL if size_ is None else int(float(size_[1]) * _UNITS[(size_[2] or "").lower()])
    return Collective(
        name=f"{table}: {what}",
        does=does,
        algorithm=_algorithm(asked),
        node=node,
        nodes=many,
        devices=count,
        seconds={bytes_: _seconds(does, bytes_, count, rates)},
        source=next(iter(metrics.values())).get("source", ""),
        by=table.split()[0],
    )


def _algorithm(asked: str) -> str:
    """Where sums were made, as far as the words of a row tell."""
    if re.search(r"without SHARP|NVLS off|NVLS_ENABLE=0|\bRing\b", asked):
        return "ring"
    return "sums in the switches" if re.search("SHARP|NVLS", asked) else "not said"


def _machine(text: str) -> tuple[Node, int, int]:
    """A node, the devices in all, and the nodes that they are in."""
    low = text.lower()
    kind = next((name for word, name in _KINDS if word in low), None)
    many = re.search(r"(\d+)(?: of \d+)? ?x ", low)
    if kind is None or many is None:
        raise _Unread(f"devices {text!r}: which and how many is not given")
    if re.search(r"pcie|\bnvl\b(?! ?72)", low) and "nvl72" not in low:
        raise _Unread(f"devices {text!r}: links of PCIe cards are in no node that is known")
    node, count = nodes[kind], int(many[1])
    said = re.search(r"(\d+) (?:nodes?|racks?)\b", low)
    most = node.devices
    return node, count, int(said[1]) if said else -(-count // most)


def _number(line: Mapping[str, str]) -> float:
    found = re.fullmatch(r"[\d,]+(\.\d+)?", line["value"].strip())
    if found is None:
        raise _Unread(f"its value, {line['value']!r}, is not a number")
    return float(line["value"].replace(",", ""))


def _seconds(does: str, bytes_: int, devices: int, rates: Mapping[str, float]) -> float:
    if "time" in rates:
        return rates["time"] * 1e-6
    if "algbw" in rates:
        return bytes_ / (rates["algbw"] * 1e9)
    if "busbw" in rates:
        return float(bus_factor(does, devices)) * bytes_ / (rates["busbw"] * 1e9)
    raise _Unread(f"no time and no rate among {', '.join(rates)}")
