"""Looking entries up by name: the mapping that every catalogue is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

__all__ = ["Catalog", "UnknownName", "named"]

Entry = TypeVar("Entry")

_FOLDER = Path(__file__).parent

#: The catalogue of each kind, as it was made first: costlib's own.
_FIRST: dict[str, Any] = {}


class UnknownName(KeyError):
    """A name that is in no catalogue, or that could mean several entries."""

    def __str__(self) -> str:
        return str(self.args[0])


class Catalog(Mapping[str, Entry], Generic[Entry]):
    """A mapping from names and aliases to entries, read when first asked.

    Case, spaces and punctuation do not matter, but the dot of a number does; iterating gives the
    names proper. Entries of one's own are added with ``register``, for the session.

    >>> from costlib.model.catalog import devices
    >>> devices["tesla t4"].name, "rtx 4090" in devices, len(devices) >= 20
    ('T4', True, True)
    >>> devices["H10"]
    Traceback (most recent call last):
        ...
    costlib.model.catalog.lookup.UnknownName: 'H10' could be H100-SXM or H100-PCIe
    """

    def __init__(
        self, kind: str, build: Callable[[str, Mapping[str, Any]], Entry], has: str, more: str = ""
    ) -> None:
        _FIRST.setdefault(kind, self)
        self._kind = kind
        self._build = build
        #: What all of its entries have, and nothing else; what else will do for a name.
        self._has, self._else = has, more
        self._built: dict[str, Entry] = {}
        self._own: dict[str, Entry] = {}

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The data file as it is: sources, entries, and what its fields mean."""
        return content(self._kind)

    @cached_property
    def _entries(self) -> Mapping[str, Mapping[str, Any]]:
        entries: Mapping[str, Mapping[str, Any]] = self.data[f"{self._kind}s"]
        return entries

    @cached_property
    def _name_of(self) -> dict[str, str]:
        return {
            plain(alias): name
            for name, entry in self._entries.items()
            for alias in (name, *entry["aliases"])
        }

    def resolve(self, name: str) -> str:
        """The entry's own name for a name or an alias.

        >>> from costlib.model.catalog import models
        >>> models.resolve("meta-llama/Llama-2-7b-hf"), models.resolve("llama2-7b")
        ('llama-2-7b', 'llama-2-7b')
        """
        if not isinstance(name, str):
            raise TypeError(f"a {self._kind} is looked up by name, got {name!r:.200}")
        if name in self._entries:
            return name
        if plain(name) in self._name_of:
            return self._name_of[plain(name)]
        raise UnknownName(self._why_not(name))

    def _why_not(self, name: str) -> str:
        """Names that go on where this one ends, or the one that is spelt most like it."""
        known, sought = self._name_of, plain(name)
        longer = {known[alias]: None for alias in known if sought and alias.startswith(sought)}
        if len(longer) > 1:
            *most, last = longer
            return f"{name!r} could be {', '.join(most)} or {last}"
        if "://" in name:
            text = f"no {self._kind} is known by the address {name!r:.200}, and none is fetched"
            return f"{text}: save the config.json that stands there, and give its path"
        near = get_close_matches(sought, known, n=8, cutoff=0.5)  # best first
        size = _size(sought)
        near = sorted(near, key=lambda alias: (_size(alias) != size, -_begin_alike(alias, sought)))
        nearest = [*longer] or [known[alias] for alias in near]
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        every = f"list(costlib.{self._kind}s) has them all"
        return f"no {self._kind} named {name!r:.200}{hint} ({every}{self._else})"

    def of(self, given: Any) -> Entry:
        """An entry, or the one of that name: what every function that takes one accepts.

        >>> from costlib.model.catalog import devices
        >>> devices.of("T4") is devices["T4"], devices.of(devices["T4"]) is devices["T4"]
        (True, True)
        """
        return self._entry(given)

    def _entry(self, given: Any) -> Entry:
        if isinstance(given, str):
            return self[given]
        if not hasattr(given, self._has):
            kind = "Transformer" if self._kind == "model" else self._kind.capitalize()
            text = f"{self._kind} must be a {kind} or the name of one"
            raise TypeError(f"{text}, got {given!r:.200}")
        entry: Entry = given
        return entry

    def provenance(self, name: str) -> Mapping[str, Any]:
        """Where an entry's figures come from: title, address and date of each source.

        Empty for an entry of one's own.

        >>> from costlib.model.catalog import devices
        >>> devices.provenance("H200")["bf16"]["halved_from"]
        1979000000000000
        """
        name = self.resolve(name)
        if name in self._own:
            return {}
        entry, sources = self._entries[name], self.data["sources"]
        figures = {**entry.get("flops_per_s", {}), **entry}
        return {
            figure: {**about, "source": sources[about["source"]]}
            for figure, about in figures.items()
            if isinstance(about, dict) and "source" in about
        }

    def _register(self, name: str, entry: Entry) -> Entry:
        """Add an entry of one's own; a cell that runs twice replaces its own, and no other."""
        spelt = plain(name)
        taken = self._name_of.get(spelt, name)
        if not spelt:
            raise ValueError(f"a {self._kind} needs a name with a letter or a digit, got {name!r}")
        if taken in self._entries or taken != name:
            raise ValueError(f"{name!r} is taken by {taken}: give your {self._kind} another name")
        self._own[name], self._name_of[spelt] = entry, name
        return entry

    def forget(self, name: str) -> None:
        """Take an entry of one's own out again."""
        name = self.resolve(name)
        if name not in self._own:
            raise ValueError(f"{name} is the catalogue's: only a {self._kind} of one's own can go")
        del self._own[name], self._name_of[plain(name)]

    def __getitem__(self, name: str) -> Entry:
        name = self.resolve(name)
        if name in self._own:
            return self._own[name]
        if name not in self._built:
            self._built[name] = self._build(name, self._entries[name])
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._entries or plain(name) in self._name_of)

    def __iter__(self) -> Iterator[str]:
        yield from self._entries
        yield from self._own

    def __len__(self) -> int:
        return len(self._entries) + len(self._own)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._kind}s: {', '.join(self)}>"

    def _ipython_key_completions_(self) -> list[str]:
        """What a notebook offers after ``catalogue["``."""
        return list(self)


def _begin_alike(one: str, other: str) -> int:
    """Characters until two names differ.

    >>> _begin_alike("h 100 sxm", "h 1000"), _begin_alike("v 100", "h 1000")
    (5, 0)
    """
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _size(spelt: str) -> str:
    """The billions of parameters that a name tells, if it does.

    >>> _size("llama 3 70 b"), _size("gpt 2")
    ('70', '')
    """
    before, billions, _ = f"{spelt} ".partition(" b ")
    return before.split(" ")[-1] if billions else ""


def named(kind: str, given: Any) -> Any:
    """A device, node or model, or the one of that name: for what a model is made of, which stands
    below the catalogues.

    >>> named("device", "T4").name
    'T4'
    """
    return _FIRST[kind].of(given)


def content(kind: str) -> Mapping[str, Any]:
    """A data file as it is, by the kind of its entries."""
    found: Mapping[str, Any] = json.loads((_FOLDER / f"{kind}s.json").read_text("utf-8"))
    return found


def plain(name: str) -> str:
    """A name's letters and numbers, in which alone two names can differ.

    A dot within a number counts: opt-1.3b is not opt-13b. So does where a number ends: qwen3-4b is
    not qwen-34b.

    >>> plain("Llama_2 7B"), plain("llama2-7b"), plain("https://huggingface.co/facebook/opt-1.3b")
    ('llama 2 7 b', 'llama 2 7 b', 'facebook opt 1.3 b')
    >>> plain("https://huggingface.co/openai-community/gpt2/blob/main/config.json")
    'openai community gpt 2'
    """
    name = name.casefold().strip()
    for start in _ADDRESS:
        name = name[len(start) :] if name.startswith(start) else name
    for branch in _BRANCHES:
        name = name.partition(branch)[0]
    return " ".join(re.findall(r"\d+(?:\.\d+)*|[^\W\d_]+", name))


#: What stands before a name in the address of a model's page.
_ADDRESS = ("https://", "http://", "www.", "huggingface.co/", "hf.co/")
#: What stands behind it in the address of one of its files.
_BRANCHES = ("/blob/", "/tree/", "/resolve/", "/raw/")
