"""Chapter 4: in how many bytes a checkpoint holds a model's weights.

A quantised checkpoint packs the matrices of its layers and leaves the rest, and some modules by
name, in 16 bits. Packed weights bring scales: one for each group, block, row or tensor. A `Storage`
says which module is packed how, so that `Transformer.weight_bytes` is the sum of the checkpoint's
tensors. The publisher's quantization_config is read by `costlib.model.families.quantisation`.

Left out: a few numbers a tensor (its shape, a global scale), and how bits are packed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import Any

from costlib.layers.encoder import Encoder, WhereSeen
from costlib.layers.parts import Block, PerToken, same
from costlib.units.numbers import Number, is_zero

__all__ = ["Packing", "Storage", "layers_bytes", "step_bytes", "weight_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How a matrix is packed: ``bits`` a weight, and bytes beside them.

    ``beside``: bytes a weight for the scales of groups or blocks; ``per_row`` and ``per_column``:
    bytes for each output and each input of the matrix.

    >>> nvfp4 = Packing(bits=4, beside=1 / 16)  # an 8-bit scale for each 16 weights
    >>> nvfp4.bytes(4096 * 4096, 4096) / 4096**2
    0.5625
    """

    bits: Number
    beside: Number = 0
    per_row: Number = 0
    per_column: Number = 0

    def bytes(self, weights: Number, inputs: Number) -> Any:
        """Bytes of a matrix with ``weights`` elements and ``inputs`` inputs."""
        each = self.bits / 8 + self.beside + self.per_row / inputs
        return weights * each + self.per_column * inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Which modules of a checkpoint are packed, and how.

    ``packing`` is that of every matrix inside the layers but those that ``kept`` names; ``special``
    names modules with a packing of their own, ``experts`` is that of routed experts. Names are
    paths of modules as in the checkpoint; ``*`` stands for anything, and "re:" begins a regular
    expression. What is not packed takes ``plain`` bytes. ``kv`` is the format of the cache and
    ``compute`` the one that products are computed in, as `costlib.precision` names them. ``unread``
    says why a checkpoint's layout is not known; its bytes are then an error. ``first_layer`` is the
    number of the first layer that is counted: a pipeline's stage begins further up.
    """

    name: str
    packing: Packing | None = None
    experts: Packing | None = None
    kept: tuple[str, ...] = ()
    special: tuple[tuple[str, Packing], ...] = ()
    plain: Number = 2
    kv: str | None = None
    compute: str | None = None
    unread: str = ""
    first_layer: int = 0
    _special: tuple[tuple[Packing, tuple[str, ...]], ...] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        groups: dict[Packing, list[str]] = {}
        for pattern, packing in self.special:
            groups.setdefault(packing, []).append(pattern)
        found = tuple((packing, tuple(patterns)) for packing, patterns in groups.items())
        object.__setattr__(self, "_special", found)

    def of(self, step: str, layer: int, *, beside: bool = False) -> Packing | None:
        """The packing of one step's matrix in one layer; None if it is left as it is.

        ``beside``: routed experts stand beside a dense feed-forward, not inside of it.
        """
        if step in _NEVER_PACKED:
            return None
        packing = self.experts if step.startswith("experts.") and self.experts else self.packing
        if not self.kept and not self.special:
            return packing
        where = (step, layer, beside)
        for special, patterns in self._special:
            if _names(patterns, *where):
                return special
        return None if packing is None or _names(self.kept, *where) else packing


def weight_bytes(
    blocks: tuple[Block, ...], d_model: Number, params: Number, storage: Storage
) -> Any:
    """Bytes of a model's weights as a checkpoint holds them: all plain, less what packing saves.

    >>> from costlib import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> weight_bytes(tiny.blocks, 64, tiny.params(), Storage(name="plain")) == 2 * tiny.params()
    True
    """
    if storage.unread:
        raise ValueError(storage.unread)
    saved: Number = 0
    for matrix in _matrices(blocks, d_model, storage):
        saved = saved + matrix.weights * storage.plain - matrix.bytes
    return params * storage.plain - saved


def step_bytes(
    blocks: tuple[Block, ...], d_model: Number, storage: Storage
) -> tuple[tuple[str, Number], ...]:
    """Bytes that a weight takes in each step of a pass that is a product inside the layers.

    >>> from costlib import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> packed = Storage(name="int8", packing=Packing(bits=8), kept=("mlp.down_proj",))
    >>> each = dict(step_bytes(tiny.blocks, 64, packed))
    >>> each["ffn.up"], each["ffn.down"]
    (1.0, 2.0)
    """
    weights: dict[str, Number] = {}
    held: dict[str, Number] = {}
    for matrix in _matrices(blocks, d_model, storage):
        for name in (matrix.name, *_HALVES.get(matrix.name, ())):
            weights[name] = weights.get(name, 0) + matrix.weights
            held[name] = held.get(name, 0) + matrix.bytes
    return tuple((name, held[name] / weights[name]) for name in weights)


def layers_bytes(
    block: Block, d_model: Number, storage: Storage, layers: range
) -> Iterator[tuple[tuple[str, Number], ...]]:
    """`step_bytes` of each of these layers, which do the same and may be packed differently.

    >>> from costlib import Transformer
    >>> tiny = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    >>> kept = ("model.layers.0.mlp.down_proj",)
    >>> packed = Storage(name="int8", packing=Packing(bits=8), kept=kept)
    >>> [dict(each)["ffn.down"] for each in layers_bytes(tiny.blocks[0], 64, packed, range(2))]
    [2.0, 1.0]
    """
    one = replace(block, layers=1)
    steps, beside = _products(one, d_model)
    has_blocks = any(isinstance(part, (Encoder, WhereSeen)) for part in block.parts)
    known: dict[Any, tuple[tuple[str, Number], ...]] = {}
    for layer in layers:
        alike = tuple(storage.of(step.name, layer, beside=beside) for step in steps)
        key = (alike, layer if has_blocks else None)
        if key not in known:
            known[key] = step_bytes((one,), d_model, replace(storage, first_layer=layer))
        yield known[key]


@dataclass(frozen=True, slots=True)
class _Matrices:
    """One product's matrices in a block: weights of all of them together, and their bytes."""

    name: str
    weights: Number
    bytes: Number

    def times(self, layers: Number, prefix: str) -> _Matrices:
        return _Matrices(f"{prefix}{self.name}", self.weights * layers, self.bytes * layers)


def _matrices(blocks: tuple[Block, ...], d_model: Number, storage: Storage) -> Iterator[_Matrices]:
    """Each product inside the layers, those of an encoder among them."""
    first = storage.first_layer
    seen: list[tuple[Block, tuple[list[PerToken], bool]]] = []  # kinds of layers take turns
    for block in blocks:
        layers = int(block.layers)
        if not is_zero(block.shared_parameters):
            raise ValueError("layers share weights: what packing saves of them is not counted")
        alike = (known for other, known in seen[-8:] if _alike(other, block))
        products = next(alike, None)
        if products is None:
            products = _products(block, d_model)
            seen.append((block, products))
        steps, beside = products
        for step in steps:
            packings = _packings(storage, step.name, first, layers, beside)
            yield _packed(step, packings, storage.plain)
        for part in block.parts:
            if isinstance(part, (Encoder, WhereSeen)):
                prefix = "encoder." if isinstance(part, Encoder) else ""
                for matrix in _matrices(part.blocks, part.d_model, storage):
                    yield matrix.times(block.layers, prefix)
        first += layers


@lru_cache(maxsize=4096)
def _packings(
    storage: Storage, step: str, first: int, layers: int, beside: bool
) -> tuple[tuple[Packing | None, int], ...]:
    """How a step's matrices are packed in ``layers`` layers from ``first``, each with a number."""
    found: dict[Packing | None, int] = {}
    for layer in range(first, first + layers):
        packing = storage.of(step, layer, beside=beside)
        found[packing] = found.get(packing, 0) + 1
    return tuple(found.items())


def _packed(
    step: PerToken, packings: tuple[tuple[Packing | None, int], ...], plain: Number
) -> _Matrices:
    """A step's matrices, one or one an expert in each layer, and the bytes of all of them."""
    matrices = step.parameters() / step.weights
    inputs = step.reads / (step.chosen if step.is_expert else 1)
    held: Number = 0
    layers = 0
    for packing, count in packings:
        one = step.weights * plain if packing is None else packing.bytes(step.weights, inputs)
        held, layers = held + count * matrices * one, layers + count
    return _Matrices(step.name, matrices * step.weights * layers, held)


def _alike(one: Block, other: Block) -> bool:
    return same(one.parts, other.parts) and same(one.extra, other.extra)


def _products(block: Block, d: Number) -> tuple[list[PerToken], bool]:
    """The products of a layer, and whether a dense feed-forward is among them."""
    steps = [
        step for part in block.parts for step in (*part.before(d), *part.after(d), *part.mixed)
    ]
    found = [*filter(_is_product, (*steps, *block.extra))]
    return found, any(step.name.startswith("ffn.") for step in found)


def _is_product(step: PerToken) -> bool:
    return step.is_matmul and not is_zero(step.weights)


#: Ops that share a matrix between them.
_HALVES = {"kv_b_proj": ("q_absorb", "v_absorb")}

#: Steps that no format packs: a router is small and decides much, a head's input is no layer.
_NEVER_PACKED = ("router", "shared_gate", "mtp.proj")

_PREFIXES = (
    "model.layers.{i}",
    "model.language_model.layers.{i}",
    "language_model.model.layers.{i}",
    "backbone.layers.{i}",
    "layers.{i}",
)
_ATTENTION = ("self_attn", "mixer", "attn", "attention", "linear_attn", "mamba", "block_sparse_moe")
_FEEDS = ("mlp", "mixer", "ffn", "feed_forward", "block_sparse_moe")
#: What modules are called in checkpoints, by the last part of a step's name.
_SPELLED = {
    "kv_a_proj": ("kv_a_proj_with_mqa",),
    "beta_proj": ("in_proj_b", "b_proj", "in_proj_ba"),
    "decay_proj": ("in_proj_a", "in_proj_ba"),
    "gate": ("gate_proj", "w1"),
    "up": ("up_proj", "w3"),
    "down": ("down_proj", "w2"),
}
_LINEAR = {
    "q_proj": "in_proj_qkv",
    "k_proj": "in_proj_qkv",
    "v_proj": "in_proj_qkv",
    "gate_proj": "in_proj_z",
    "o_proj": "out_proj",
}


@lru_cache(maxsize=512)
def _paths(step: str, beside: bool) -> tuple[str, ...]:
    """The names that checkpoints have for a step's module in layer {i}."""
    group, _, last = step.rpartition(".")
    names = _SPELLED.get(last, (last,))
    if group == "ffn":
        inside = [f"{feed}.{name}" for feed in _FEEDS for name in names]
    elif group == "experts":
        groups = ("experts.0",) if beside else tuple(f"{feed}.experts.0" for feed in _FEEDS)
        inside = [f"{inner}.{name}" for inner in groups for name in names]
    elif group == "shared":
        kinds = ("shared_experts", "shared_expert", "shared_mlp")
        inside = [f"{feed}.{kind}.{name}" for feed in _FEEDS for kind in kinds for name in names]
    elif group == "indexer":
        inside = [f"{kind}.indexer.{name}" for kind in _ATTENTION for name in names]
    else:
        inside = [f"{kind}.{name}" for kind in _ATTENTION for name in names]
        inside += [f"linear_attn.{_LINEAR[last]}"] if last in _LINEAR else []
    return tuple(f"{prefix}.{path}" for prefix in _PREFIXES for path in inside)


def _names(patterns: tuple[str, ...], step: str, layer: int, beside: bool) -> bool:
    """Whether a list of modules names a step's, itself or what it is inside of."""
    if not _plainly(patterns, step, beside).isdisjoint(("", str(layer))):
        return True
    _, _, digits = _compiled(patterns)
    is_told = any(digit in str(layer) for digit in digits)
    return _fits(patterns, step, str(layer) if is_told else "{i}", beside)


@lru_cache(maxsize=4096)
def _fits(patterns: tuple[str, ...], step: str, layer: str, beside: bool) -> bool:
    """Whether an expression of a list means a step's module in a layer."""
    _, pattern, _ = _compiled(patterns)
    paths = (path.replace("{i}", layer) for path in _paths(step, beside))
    return pattern is not None and any(pattern.match(path) for path in paths)


@lru_cache(maxsize=4096)
def _plainly(patterns: tuple[str, ...], step: str, beside: bool) -> frozenset[str]:
    """The layers in which plain names mean a step's module; "" among them: in every layer."""
    named, _, _ = _compiled(patterns)
    paths = _paths(step, beside)
    begun = (name for name in named if name.endswith("*"))
    known = {name for name in begun if any(path.startswith(name[:-1]) for path in paths)}
    return frozenset(layer for name in known | _nested(paths) for layer in named.get(name, ()))


@lru_cache(maxsize=512)
def _nested(paths: tuple[str, ...]) -> frozenset[str]:
    """Every name by which a list could mean one of these: from the front, or without its front."""
    split = [path.split(".") for path in paths]
    return frozenset(
        ".".join(some)
        for parts in split
        for end in range(1, len(parts) + 1)
        for some in (parts[:end], parts[end - 1 :])
    )


@lru_cache(maxsize=4096)
def _compiled(
    patterns: tuple[str, ...],
) -> tuple[dict[str, list[str]], re.Pattern[str] | None, tuple[str, ...]]:
    """Names as `_nested` has them, or begun ones with a star, each with its layers; one regular
    expression for what is left; and digits by which that tells a layer from others, "" for any."""
    named: dict[str, list[str]] = {}
    others, ways = [], 0.0
    for name in patterns:
        expression = name[3:] if name.startswith("re:") else _wildcard(name)
        listed = _LISTED.fullmatch(expression)
        if listed:
            path = f"{listed['front']}{{i}}{listed['rest']}".replace("\\.", ".")
            path = path + "*" if listed["star"] else path
            named.setdefault(path, []).extend(listed["layers"].split("|"))
        elif re.findall(_BEGUN, name):
            whole, *places = _in_each_place(name[:-1])
            for path, layer in places or [whole]:
                named.setdefault(f"{path}*", []).append(layer)
        elif expression == name:
            for path, layer in _in_each_place(name):
                named.setdefault(path, []).append(layer)
        else:
            others.append(expression)
            ways += _ways(expression)
        if ways > _MOST_WAYS:
            shown = name if len(name) <= 60 else f"{name[:59]}…"
            raise ValueError(f"modules are named by {shown!r}: {_TOO_MANY_WAYS}")
    digits = {number for other in others for number in _telling(other)}
    try:
        one = re.compile("|".join(f"(?:{other})" for other in others)) if others else None
    except re.error as problem:
        raise ValueError("a name of modules after 're:' is no regular expression") from problem
    return named, one, tuple(digits)


def _telling(expression: str) -> list[str]:
    r"""The digits by which an expression tells a layer from others; "" if by any number.

    >>> _telling(r"layers\.12\..*"), _telling(r"layers\.12?\..*"), _telling(r"layers\.[0-4]\..*")
    (['12'], ['1', '2'], [''])
    """
    if re.findall(_ANY_NUMBER, expression):
        return [""]
    return re.findall(r"[0-9]" if re.findall(r"[0-9][?*{]", expression) else r"[0-9]+", expression)


def _in_each_place(name: str) -> Iterator[tuple[str, str]]:
    """A plain name, and with each number in it as that of the layer."""
    yield name, ""
    parts = name.split(".")
    for at, part in enumerate(parts):
        if part.isdecimal():
            yield ".".join((*parts[:at], "{i}", *parts[at + 1 :])), part


def _wildcard(pattern: str) -> str:
    """A name with stars, of a module or of what is inside it."""
    if "*" not in pattern:
        return pattern
    inside = "" if pattern.endswith("*") else r"(?:\..*)?$"
    return ".*".join(map(re.escape, pattern.split("*"))) + inside


#: A module in some layers, and what is inside of it or, with a star, begins like it.
_LISTED = re.compile(
    r"(?P<front>(?:\w|\\\.)+\\\.)\(\?:(?P<layers>[0-9|]+)\)(?P<rest>(?:\w|\\\.)+)"
    r"(?:(?P<star>\.\*)|\(\?:\\\.\.\*\)\?\$)"
)
#: The beginning of a name, which is no part of a number.
_BEGUN = r"^(?!re:)[^*]*[^*0-9]\*$"
#: What tells any number from another, beside its digits: a set, or one letter of any kind.
_ANY_NUMBER = r"\\\w|(?<!\\)\[|(?<!\\)\.(?![*+])"

#: An expression is tried on thousands of names: one that goes through each in many ways, as
#: "(a+)+" does, would keep whoever asks waiting for hours.
_MOST_WAYS = 20_000
_TOO_MANY_WAYS = "a repeated group, many stars or rare signs, which could take hours to look for"
_MOST_LETTERS = 1000
_SIGNS = r"\\[\s\S]|\[\^?(?:\\.|[^\[\]\\])+\]|[\s\S]"
#: A repeated group, a repeated repeat, a set or a group of another kind.
_REFUSED = r"\)[*+{]|[*+?}][*+{]|\(\?[^:=!]|[\[\]]"
#: What is repeated, but for the stars that end an expression: these have nothing to try again for.
_REPEATED = r"[^.][*+{]|\.[*+{](?=.*[^.*+?()|$:])"


def _ways(expression: str) -> float:
    r"""In how many ways, about, a name is tried before an expression is known not to fit.

    >>> _ways(r".*mlp\.(gate|up)_proj.*"), _ways(r"layers\.(?:0|1|2)\..*") < _ways("(a+)+b")
    (112.5, True)
    """
    signs = re.findall(_SIGNS, expression)
    text = "".join("x" if len(sign) > 1 else sign for sign in signs)
    if len(expression) > _MOST_LETTERS or re.findall(_REFUSED, text):
        return inf
    repeats = min(len(re.findall(_REPEATED, text)), 9)
    options = min(len(re.findall(r"[^(]\?", text)), 99)
    bars = len(re.findall(r"[^0-9|]\|", text))  # a name has few numbers: theirs are soon tried
    groups = 1 + len(re.findall(r"\(", text))
    alternatives: float = ((bars + groups) / groups) ** groups
    return alternatives * float(50**repeats) * float(2**options)
