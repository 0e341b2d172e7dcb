"""What was typed, read: models by name or file, devices with a number, ranges."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from costlib.catalog import models
from costlib.numbers import size
from costlib.parallel import Cluster
from costlib.parallel.cluster import times
from costlib.serving.server import CUTS
from costlib.transformer import Transformer

__all__ = ["MOST", "cluster", "model", "numbers", "plan", "times"]

#: Numbers of a range, and rows of a sweep, that are taken.
MOST = 1_000_000


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


def plan(text: str) -> dict[str, int]:
    """How a server is cut: ``tensor=4,pipeline=2``.

    >>> plan("tensor=4,pipeline=2")
    {'tensor': 4, 'pipeline': 2}
    """
    found = {}
    for part in text.split(","):
        name, _, many = (each.strip() for each in part.partition("="))
        if name not in CUTS or not many.isdecimal():
            raise ValueError(f"{part!r} is no cut such as {', '.join(f'{c}=2' for c in CUTS)}")
        found[name] = int(size(name, int(many)))
    return found


def cluster(text: str) -> Cluster:
    """So many nodes: ``DGX-H100x16`` are sixteen; a device alone is a node of one.

    >>> cluster("DGX-H100x16").devices
    128
    """
    name, many = times(text)
    given: Any = name  # Cluster looks it up
    return Cluster(given, nodes=many or 1)


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
