"""A Hugging Face config.json, read field by field: a right value, or an error that names the field.

A config is a dict, a path, or JSON text. Null and missing mean the same. A field has one type, and
fields that say the same thing twice must agree.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["MOST_BYTES", "Config", "fields_of", "parsed"]

#: A config is a page of text. Far more than that is something else: weights, or an accident.
MOST_BYTES = 5_000_000
#: Of lists and objects in each other, and of digits: less than any Python refuses by itself.
DEEPEST, MOST_DIGITS = 500, 4000

#: Kinds of layer that older configs have under another name.
OLD_KINDS = {
    "attention": "full_attention",
    "mamba": "linear_attention",
    "deepseek_sparse_attention": "indexed_attention",
}

#: No size of a model comes near these; a larger one is a slip, and would overflow a float.
MOST_OF_A_SIZE = 10**12
MOST_LAYERS = 1_000

#: Fields of the whole model, which no layer can have for itself.
_OF_THE_MODEL = {"hidden_size", "vocab_size", "num_hidden_layers", "layer_types", "skip"}

_KINDS = {int: "a whole number", bool: "true or false", str: "a string", list: "a list"}
_KINDS |= {dict: "an object", float: "a number"}


class Config:
    """A config's fields, read by name and type; an error names the field and the family.

    A field is asked for by its usual name; ``names`` has those that the family spells its own way,
    one spelling or several, and ``usual`` what a field means that is not there: a value, or the
    field that it is ``same_as``. ``entry`` is the
    family's, with what its code fixes.

    >>> config = Config({"hidden_size": 64, "bias": "no"}, "llama")
    >>> config.count("hidden_size")
    64
    >>> config.flag("bias")
    Traceback (most recent call last):
        ...
    TypeError: llama config: 'bias' must be true or false, got 'no' (str)
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        family: str,
        names: Mapping[str, str | Sequence[str]] | None = None,
        usual: Mapping[str, Any] | None = None,
        entry: Any = None,
    ) -> None:
        self.fields, self.family, self.names = fields, family, names or {}
        self.usual, self.entry = usual or {}, entry
        self.kinds = OLD_KINDS if entry is None else {**OLD_KINDS, **entry.written.kinds}
        self._right: set[str] = set()  # lists that were looked through: once, not a layer

    def error(self, text: str, kind: type[Exception] = ValueError) -> Exception:
        """An error that says whose config it is."""
        return kind(f"{self.family} config: {text}")

    def require(self, is_right: bool, text: str) -> None:
        """Stop with an error unless this holds."""
        if not is_right:
            raise self.error(text)

    def said(self, spelling: str, otherwise: Any = None) -> Any:
        """What stands under this name; with a dot in it, inside an object.

        >>> Config({"attn": {"heads": 8}}, "mine").said("attn.heads")
        8
        """
        *objects, last = spelling.split(".")
        found: Any = self.fields
        for name in objects:
            found = found.get(name, {})
            found = found if isinstance(found, Mapping) else {}
        return found.get(last, otherwise)

    def spelled(self, name: str) -> str:
        """A field's name in this family: of several spellings the one that is there."""
        spellings = self.names.get(name, name)
        if isinstance(spellings, str):
            return spellings
        stated = [s for s in spellings if self.said(s) is not None]
        for other in stated[1:]:
            first, second = self.said(stated[0]), self.said(other)
            text = f"{stated[0]!r} is {first!r}, but {other!r}, which says the same, is {second!r}"
            self.require(first == second and type(first) is type(second), text)
        return (stated or [spellings[0]])[0]

    def has(self, name: str) -> bool:
        """Whether a field is there, and not null, or else has a usual value."""
        return self.get(name) is not None

    def get(self, name: str) -> Any:
        """A field's value, or its usual one; null and missing are both None."""
        usual = self.usual.get(name)
        value = self.said(self.spelled(name), usual)
        if isinstance(usual, Mapping) and (value is None or value is usual):
            return self.get(usual["same_as"])
        return value

    def stated(self, name: str) -> Any:
        """A field's value where it is there, whatever is usual."""
        return self.said(self.spelled(name))

    def read(self, name: str, kind: type, default: Any = None) -> Any:
        """A field of one type; missing is an error unless there is a default."""
        value = self.get(name)
        value = default if value is None else value
        if value is None:
            raise self.error(f"{self.spelled(name)!r} is missing")
        if type(value) is not kind:
            raise self._wrong(name, _KINDS[kind], value)
        return value

    def count(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number."""
        value: int = self.read(name, int, default)
        if value < least:
            shown = value if value > -MOST_OF_A_SIZE else "far less"
            raise self.error(f"{self.spelled(name)!r} must be at least {least}, got {shown}")
        most = MOST_LAYERS if name == "num_hidden_layers" else MOST_OF_A_SIZE
        if value > most:  # perhaps of too many digits to be printed
            raise self.error(f"{self.spelled(name)!r} must be at most {most:,}")
        return value

    def optional(self, name: str, *, least: int = 1) -> int | None:
        """A whole number, or None where it is missing or null."""
        return self.count(name, least=least) if self.has(name) else None

    def flag(self, name: str, default: bool | None = None) -> bool:
        """true or false."""
        value: bool = self.read(name, bool, default)
        return value

    def share(self, name: str, default: float | None = None) -> float:
        """A fraction of 1."""
        value: Any = default if self.get(name) is None else self.get(name)
        is_share = type(value) in (int, float) and 0 < value <= 1
        self.require(is_share, f"{name!r} must be a fraction of 1, got {value!r}")
        return float(value)

    def number(self, name: str) -> float:
        """A number above 0, whole or not."""
        value = self.get(name)
        is_number = type(value) in (int, float) and 0 < value < MOST_OF_A_SIZE
        self.require(is_number, f"{self.spelled(name)!r} must be a number above 0, got {value!r}")
        return float(value)

    def entries(self, name: str, kind: type) -> list[Any]:
        """A list whose entries have one type; empty where it is missing."""
        values: list[Any] = self.read(name, list, [])
        looked_for = f"{name} {_KINDS[kind]}"
        if looked_for not in self._right:
            if not set(map(type, values)) <= {kind}:
                raise self._wrong(name, f"a list, each entry {_KINDS[kind]}", values)
            self._right.add(looked_for)
        return values

    def each_layer(self, name: str, kind: type) -> list[Any]:
        """A list with an entry for each layer; empty where it is missing."""
        values, layers = self.entries(name, kind), self.layers
        if values and len(values) != layers:
            text = f"{name!r} has {len(values)} entries, but 'num_hidden_layers' is {layers}"
            raise self.error(text)
        return values

    def of_layer(self, i: int, *names: str) -> Config:
        """The config of layer i: of these fields, where there is a list, its entry.

        >>> Config({"num_hidden_layers": 2, "width": [8, 16]}, "mine").of_layer(1, "width").fields
        {'num_hidden_layers': 2, 'width': 16}
        """
        found = {}
        for name in names:
            values = self.get(name)
            if isinstance(values, list):
                text = f"{name!r} has {len(values)} entries, but 'num_hidden_layers' is"
                self.require(len(values) == self.layers, f"{text} {self.layers}")
                found[self.spelled(name)] = values[i]
        return self.but(found) if found else self

    def at(self, i: int) -> Config:
        """The config of layer i as per_layer_config has it, for those that differ."""
        everywhere = self.fields.get("per_layer_config")
        if everywhere is None:
            return self
        self.read("per_layer_config", dict)
        numbered = {}
        for key, changes in everywhere.items():
            is_layer = str(key).isdecimal() and int(key) < self.layers
            text = f"'per_layer_config' has {key!r}, which is not the number of a layer"
            self.require(is_layer and isinstance(changes, Mapping), text)
            fixed = sorted(_OF_THE_MODEL & set(changes))
            text = f"'per_layer_config' changes {', '.join(fixed)}, which is not counted here"
            self.require(not fixed, text)
            numbered[int(key)] = changes
        return self.but(numbered[i]) if i in numbered else self

    def but(self, changes: Mapping[str, Any]) -> Config:
        """The same config with some fields changed."""
        fields = {**self.fields, **changes}
        return Config(fields, self.family, self.names, self.usual, self.entry)

    def inside(self, name: str) -> Config:
        """The fields of an object inside this one; empty where it is missing."""
        return Config(self.read(name, dict, {}), f"{self.family} {name}")

    def same(self, name: str, value: Any, why: str) -> None:
        """A field that may be there, and then must agree with the others."""
        stated = self.stated(name)
        text = f"{self.spelled(name)!r} is {stated!r}, but {why} makes it {value!r}"
        self.require(stated is None or stated == value, text)

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return self.count("num_hidden_layers")

    @property
    def norm(self) -> str:
        """The norm of layers and of the end."""
        stated = self.entry.norm
        return str(stated if isinstance(stated, str) else stated(self))

    @property
    def d_model(self) -> int:
        """The width of the residual stream."""
        return self.count("hidden_size")

    def kind(
        self,
        i: int,
        rule: Callable[[int], str] | None = None,
        *among: str,
        name: str = "layer_types",
    ) -> str:
        """The kind of layer i: as layer_types says, or else as the family's rule does.

        >>> config = Config({"num_hidden_layers": 2, "layer_types": ["full", "sliding"]}, "mine")
        >>> config.kind(1, None, "full", "sliding")
        'sliding'
        """
        kinds = self.each_layer(name, str)
        looked_for = " ".join((name, *among))
        if looked_for not in self._right:
            unknown = sorted({self.kinds.get(kind, kind) for kind in set(kinds)} - set(among))
            text = f"{self.spelled(name)!r} has {unknown}, which is not counted here"
            self.require(not unknown or not among, text)
            self._right.add(looked_for)
        if kinds:
            return str(self.kinds.get(kinds[i], kinds[i]))
        if rule is None:
            raise self.error(f"{self.spelled(name)!r} is missing")
        return rule(i)

    def _wrong(self, name: str, wanted: str, value: object) -> Exception:
        try:
            shown = repr(value)
        except ValueError:  # an int of too many digits to print
            shown = "a very long number"
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        text = f"{self.spelled(name)!r} must be {wanted}, got {shown} ({type(value).__name__})"
        return self.error(text, TypeError)


def fields_of(source: Mapping[str, Any] | str | os.PathLike[str]) -> Mapping[str, Any]:
    """The config as a dict, from whatever form it has.

    >>> fields_of('{"model_type": "gpt2"}')
    {'model_type': 'gpt2'}
    """
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return parsed(source)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a config is a dict, a path or JSON text, got {type(source).__name__}")
    return _of_path(Path(source))


def _of_path(path: Path) -> Mapping[str, Any]:
    """The config in a file, or in a folder."""
    beside = None
    try:
        if path.is_dir():
            path, beside = path / "config.json", path / "hf_quant_config.json"
        is_file = path.is_file()
    except (OSError, ValueError):  # too long for a path, or a null character in it
        is_file = False
    if not is_file:
        raise ValueError(f"no config at {str(path)[:200]!r}: give a path, a dict or JSON text")
    fields = _parsed_file(path)
    if beside is None or not beside.is_file() or "quantization_config" in fields:
        return fields
    return {**fields, "quantization_config": _parsed_file(beside).get("quantization")}


def _parsed_file(path: Path) -> Mapping[str, Any]:
    """A file of JSON; modelopt writes its quantisation into one of its own."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is {path.stat().st_size:,} bytes: that is not a config.json")
    try:
        return parsed(path.read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path} is not JSON: it is not even text") from problem


def parsed(text: str, where: str = "the JSON text") -> Mapping[str, Any]:
    """The config in a text; an error says where that stood.

    >>> parsed("meta-llama/Llama-3.1-8B")
    Traceback (most recent call last):
        ...
    ValueError: the JSON text must hold an object, {...}, but begins with 'meta-llama/Llama-3.1'
    """
    text = text.lstrip("\ufeff")
    if len(text) > MOST_BYTES:
        raise ValueError(f"{where} is {len(text):,} characters: that is not a config.json")
    begun = text.lstrip(" \t\r\n")[:20]
    if begun[:1] not in ("{", "["):
        begun = f"begins with {begun!r}" if begun else "is empty"
        raise ValueError(f"{where} must hold an object, {{...}}, but {begun}")
    try:
        fields = json.loads(text, object_pairs_hook=_without_repeats, parse_int=_whole)
        depth = _depth(fields)
    except json.JSONDecodeError as problem:
        # in words of our own: Pythons differ in theirs, and in where a comma too many stands
        read = text[: problem.pos].strip(" \t\r\n,")
        depth = sum(len(read.split(mark)) for mark in "{[")
        depth -= sum(len(read.split(mark)) for mark in "}]")
        if depth <= DEEPEST:
            said = f"{where} is not valid JSON (cut off?) after {read[-30:]!r}"
            raise ValueError(said) from problem
    except RecursionError:
        depth = DEEPEST + 1
    if depth > DEEPEST:
        raise ValueError(f"{where} is nested too deeply to be a config")
    if not isinstance(fields, dict):
        raise TypeError(f"{where} must hold an object, {{...}}, got a {type(fields).__name__}")
    return fields


def _depth(fields: Any) -> int:
    """How many lists and objects are in each other."""
    depth, level = 0, [fields]
    while level:
        depth += 1
        inside = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for values in inside for each in values if isinstance(each, (dict, list))]
    return depth


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits):,} digits is in no config")
    return int(digits)


def _without_repeats(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in entries:
        if name in fields and fields[name] != value:
            raise ValueError(f"{name!r} is there twice: {fields[name]!r} and {value!r}")
        fields[name] = value
    return fields
