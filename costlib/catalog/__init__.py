"""Devices and models by name, read from data files in which every figure names its source.

>>> devices["a100-80gb"].ridge()
153.01618440411966
>>> devices["A100"]
Traceback (most recent call last):
    ...
costlib.catalog.UnknownName: 'A100' could be A100-40GB or A100-80GB
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from costlib.device import Device

__all__ = ["Catalog", "UnknownName", "devices", "models"]

Entry = TypeVar("Entry")

_FOLDER = Path(__file__).parent


class UnknownName(KeyError):
    """A name that is in no catalogue, or that could mean several entries."""

    def __str__(self) -> str:
        return str(self.args[0])


class Catalog(Mapping[str, Entry], Generic[Entry]):
    """A read-only mapping from names and aliases to entries, read when first asked.

    Case, spaces and punctuation do not matter; iterating gives the names proper.

    >>> devices["tesla t4"].name, "rtx 4090" in devices, len(devices) >= 20
    ('T4', True, True)
    >>> devices["H10"]
    Traceback (most recent call last):
        ...
    costlib.catalog.UnknownName: 'H10' could be H100-SXM or H100-PCIe
    """

    def __init__(self, kind: str, build: Callable[[str, Mapping[str, Any]], Entry]) -> None:
        self._kind = kind
        self._build = build
        self._built: dict[str, Entry] = {}

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The data file as it is: sources, entries, and what its fields mean."""
        content: Mapping[str, Any] = json.loads(
            (_FOLDER / f"{self._kind}s.json").read_text(encoding="utf-8")
        )
        return content

    @cached_property
    def _entries(self) -> Mapping[str, Mapping[str, Any]]:
        entries: Mapping[str, Mapping[str, Any]] = self.data[f"{self._kind}s"]
        return entries

    @cached_property
    def _name_of(self) -> Mapping[str, str]:
        return {
            _plain(alias): name
            for name, entry in self._entries.items()
            for alias in (name, *entry["aliases"])
        }

    def resolve(self, name: str) -> str:
        """The entry's own name for a name or an alias.

        >>> models.resolve("meta-llama/Llama-2-7b-hf"), models.resolve("llama2-7b")
        ('llama-2-7b', 'llama-2-7b')
        """
        if not isinstance(name, str):
            raise TypeError(f"a {self._kind} is looked up by name, got {name!r}")
        plain = _plain(name)
        if plain in self._name_of:
            return self._name_of[plain]
        raise UnknownName(self._why_not(name, plain))

    def _why_not(self, name: str, plain: str) -> str:
        known = self._name_of
        longer = {known[alias]: None for alias in known if plain and alias.startswith(plain)}
        if len(longer) > 1:
            *most, last = longer
            return f"{name!r} could be {', '.join(most)} or {last}"
        near = get_close_matches(plain, known, n=1, cutoff=0.5)
        nearest = [*longer] or [known[alias] for alias in near]
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        return f"no {self._kind} named {name!r}{hint} (list(costlib.{self._kind}s) has them all)"

    def provenance(self, name: str) -> Mapping[str, Any]:
        """Where an entry's figures come from: title, address and date of each source.

        >>> devices.provenance("H200")["bf16"]["halved_from"]
        1979000000000000
        """
        entry = self._entries[self.resolve(name)]
        sources = self.data["sources"]
        figures = {**entry.get("flops_per_s", {}), **entry}
        return {
            figure: {**about, "source": sources[about["source"]]}
            for figure, about in figures.items()
            if isinstance(about, dict) and "source" in about
        }

    def __getitem__(self, name: str) -> Entry:
        name = self.resolve(name)
        if name not in self._built:
            self._built[name] = self._build(name, self._entries[name])
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _plain(name) in self._name_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._kind}s: {', '.join(self)}>"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _device(name: str, entry: Mapping[str, Any]) -> Device:
    figures = {
        figure: about["value"]
        for figure, about in entry.items()
        if isinstance(about, dict) and "value" in about
    }
    rates = {dtype: about["value"] for dtype, about in entry["flops_per_s"].items()}
    return Device(name, rates, **figures, provenance=devices.provenance(name))


def _model(_: str, entry: Mapping[str, Any]) -> Any:
    from costlib.transformer import Transformer

    return Transformer.from_hf(entry["config"]["value"])


devices: Catalog[Device] = Catalog("device", _device)
models: Catalog[Any] = Catalog("model", _model)
