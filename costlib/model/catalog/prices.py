"""What an hour of a device costs to rent, and what it may draw: dated, with a source, or unknown.

>>> listed("H100-SXM").dollars_per_hour, listed("H100-SXM5").watts
(3.99, 700)
>>> listed("T4").dollars_per_hour is None
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from costlib.model.catalog import devices

__all__ = ["Listed", "listed"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A rent and a power, None where nobody printed one that was found; and whose rent of when."""

    dollars_per_hour: float | None = None
    watts: float | None = None
    source: str = ""

    @property
    def why(self) -> str:
        """The rent in words.

        >>> listed("H200").why
        '$3.99 an hour (Hyperstack, one device on demand, 2026-08-26)'
        """
        return f"${self.dollars_per_hour:g} an hour ({self.source})" if self.source else ""


@cache
def _data() -> Mapping[str, Any]:
    text = Path(__file__).with_name("prices.json").read_text("utf-8")
    return dict(json.loads(text))


def listed(device: str) -> Listed:
    """What is known of a device of the catalogue, by any of its names.

    >>> listed("A100-80GB").dollars_per_hour, listed("L4")
    (1.79, Listed(dollars_per_hour=None, watts=72, source=''))
    """
    data = _data()
    entry = data["devices"].get(devices.resolve(device), {})
    rent, watts = entry.get("dollars_per_hour"), entry.get("watts")
    about = data["sources"][rent["source"]] if rent else None
    return Listed(
        dollars_per_hour=rent["value"] if rent else None,
        watts=watts["value"] if watts else None,
        source=f"{about['title']}, {about['date']}" if about else "",
    )
