"""What was typed, read: models by name or file, devices with a number, ranges."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from costlib.catalog import devices, models, nodes
from costlib.device import Device
from costlib.numbers import size
from costlib.parallel import Cluster
from costlib.transformer import Transformer

__all__ = ["MOST", "cluster", "machine", "model", "numbers"]

#: Numbers of a range, and rows of a sweep, that are taken.
MOST = 1_000_000

_TIMES = re.compile(
    r"(?P<name>.*\S)\s*[x×*]\s*(?P<many>\d+)|(?P<first>\d+)\s*[x×*]\s*(?P<last>\S.*)"
)


def model(text: str) -> Transformer:
    """A model of the catalogue by its name, or of a config.json by its path; ``-`` reads one.

    >>> model("gpt2").layers
    12
    """
    if text == "-":
        return Transformer.from_hf(sys.stdin.read())
    if text in models:
        return models[text]
    path = Path(text)
    if path.is_dir() and (path / "config.json").is_file():
        path = path / "config.json"
    if path.is_file() or path.suffix == ".json":
        return Transformer.from_hf(path)
    return models[text]  # says which name is near


def times(text: str) -> tuple[str, int]:
    """A name, and how many: ``H100-SXMx8`` and ``8xH100-SXM`` are eight.

    >>> times("H100-SXMx8"), times("8 x T4"), times("RTX-4090")
    (('H100-SXM', 8), ('T4', 8), ('RTX-4090', 1))
    """
    found = None if text in devices or text in nodes else _TIMES.fullmatch(text.strip())
    if not found:
        return text, 1
    name, many = found["name"] or found["last"], int(found["many"] or found["first"])
    if many < 1:
        raise ValueError(f"{text!r} names no device: the number must be at least 1")
    return name, many


def machine(text: str) -> tuple[Device, int]:
    """A device, and how many share the model; a node is all of its devices.

    >>> machine("A100-80GBx4")[1], machine("DGX-H100")[1]
    (4, 8)
    """
    name, many = times(text)
    if name not in nodes or name in devices:
        return devices[name], many
    node = nodes[name]
    if many > 1:
        text = f"a server shares every layer, which stays in a node: write {name}"
        raise ValueError(f"{text} or {node.device.name}x{node.devices}, and count the copies")
    return node.device.with_(interconnect=node.link), node.devices


def cluster(text: str) -> Cluster:
    """So many nodes: ``DGX-H100x16`` are sixteen; a device alone is a node of one.

    >>> cluster("DGX-H100x16").devices
    128
    """
    name, many = times(text)
    given: Any = name  # Cluster looks it up
    return Cluster(given, nodes=many)


def numbers(text: str) -> list[int]:
    """Whole numbers: ``4``, ``1,8,64``, ``1:64``, ``1:64:8`` (both ends count), ``1:64:x2``.

    >>> numbers("1:8:x2"), numbers("3,5:9:2")
    ([1, 2, 4, 8], [3, 5, 7, 9])
    """
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d+)(?::(\d+)(?::(x?)(\d+))?)?\s*", part)
        if not ends:
            raise ValueError(f"{part!r} is no number or range such as 8, 1:64, 1:64:8 or 1:64:x2")
        first, last, step = int(ends[1]), int(ends[2] or ends[1]), int(ends[4] or 1)
        if last < first:
            raise ValueError(f"{part!r} ends before it begins; write {last}:{first}")
        some = _doubled(first, last, step) if ends[3] else range(first, last + 1, max(1, step))
        if len(some) > MOST:
            raise ValueError(f"{part!r} are more than {MOST:,} numbers: take steps, as 1:64:8")
        found += some
    return [int(size("numbers", each)) for each in found]


def _doubled(first: int, last: int, factor: int) -> list[int]:
    if factor < 2 or first < 1:
        raise ValueError(
            f"a range by factors needs a start from 1 and a factor from 2, not {factor}"
        )
    found: list[Any] = []
    while first <= last:
        found.append(first)
        first *= factor
    return found
