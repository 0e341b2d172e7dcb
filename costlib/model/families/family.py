"""A family: what the code of one model_type fixes, and how its config.json spells the rest.

An entry is a function of a config and the number of a layer that returns that layer, under a
decorator that says what holds for the whole model. It reads as documentation, and a new one takes
ten minutes:

    @family("mymodel", "MyModelForCausalLM", tied=False)
    def mymodel(c: Config, i: int) -> Block:
        \"\"\"Llama with a norm of each head's queries and keys, and a window in odd layers.\"\"\"
        window = c.count("sliding_window") if i % 2 else None
        return layer(grouped(c, qk_norm="head", window=window), mlp(c))

How its configs spell their fields and what they leave out is a row of `catalog/configs.json`,
where that is not what is usual. Fields are read through `Config`, so that a missing one or a wrong
type is an error that names it; `families.readers` has what many families share. The kinds of layer
are in `costlib.layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from costlib.layers import Block, PerToken
from costlib.model.catalog.lookup import content
from costlib.model.families.config import Config

__all__ = ["FAMILIES", "WRAPPERS", "Family", "Wrapper", "Written", "family", "written"]

Steps = Callable[[Config], tuple[PerToken, ...]]
Sizes = Callable[[Config], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How the configs of one model_type are written: a row of `catalog/configs.json`.

    ``also``: classes that 'architectures' may name beside the one that is counted, with the same
    layers and another head. ``wrapped_by``: the model_types of models that also see or hear and
    have this one inside, each with what holds for its unembedding (see `Wrapper`). ``names``:
    fields that the family spells its own way, by their usual name, with a dot where one stands in
    an object. ``kinds``: other words for kinds of layer. ``mtp``: the field that says how many MTP
    layers there are. ``agree``: fields that may be there, and then must equal another.
    ``only``: fields with the only value that is counted. ``usual``: what the family's code takes
    for a field that is not there; ``inside``: more of them for a config inside that of a model that
    also sees or hears, as libraries write those without what is usual.
    """

    also: Sequence[str] = ()
    wrapped_by: Mapping[str, bool | None] = field(default_factory=dict)
    names: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    mtp: str | None = None
    agree: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, Any] = field(default_factory=dict)
    usual: Mapping[str, Any] = field(default_factory=dict)
    inside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One model_type: what its code fixes, and how its configs are ``written``.

    ``architecture``: the language model's class, which 'architectures' must name if it is there.
    ``layer``: layer i of a config. ``tied``: what a missing tie_word_embeddings means (None: it
    must be there); ``always_tied``: what holds whatever it says. ``norm`` is that of layers (but
    those that say otherwise) and of the end; ``positions``: rows of a learned table beyond
    max_position_embeddings (None: there is no table). ``rewrite``: the fields as they are spelled
    now, given those of an older form. ``first`` and ``last``: further steps beside the embedding
    and before the unembedding. ``mtp_layer``: an MTP layer where it is not like the last one.
    ``heads``: classes with a head of their own, and what it changes of the model. ``size`` can
    change anything of the finished model.
    """

    architecture: str
    layer: Callable[[Config, int], Block]
    written: Written
    tied: bool | None = None
    always_tied: bool | None = None
    norm: str | Callable[[Config], str] = "rms_norm"
    final_norm: bool = True
    embedding_norm: bool = False
    positions: int | None = None
    unembedding_bias: bool | Callable[[Config], bool] = False
    rewrite: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    first: Steps | None = None
    last: Steps | None = None
    mtp_layer: Callable[[Config], Block] | None = None
    heads: Mapping[str, Sizes] = field(default_factory=dict)
    size: Sizes | None = None

    @property
    def about(self) -> str:
        """What the entry says of itself."""
        return (self.layer.__doc__ or "").strip()


#: The families, by model_type. An entry's module adds it.
FAMILIES: dict[str, Family] = {}


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A model_type that also sees or hears, with a text model inside.

    ``text`` is the text model's type where its own config does not say. ``tied``: what a missing
    tie_word_embeddings of the outer config means; None: what the inner one says.
    """

    text: str | None = None
    tied: bool | None = None


#: The models that also see or hear, by model_type.
WRAPPERS: dict[str, Wrapper] = {}


def family(
    model_type: str, architecture: str, row: Written | None = None, **facts: Any
) -> Callable[[Callable[[Config, int], Block]], Callable[[Config, int], Block]]:
    """Enter a function of a config and a layer's number as a family.

    ``row`` says how its configs are written where `catalog/configs.json` has none of that name.

    >>> from costlib.model.families.decoders import llama
    >>> FAMILIES["llama"].layer is llama, FAMILIES["llama"].architecture
    (True, 'LlamaForCausalLM')
    """

    def enter(layer: Callable[[Config, int], Block]) -> Callable[[Config, int], Block]:
        known = written(model_type) if row is None else row
        entry = Family(architecture=architecture, layer=layer, written=known, **facts)
        FAMILIES[model_type] = entry
        for name, tied in known.wrapped_by.items():
            WRAPPERS[name] = Wrapper(model_type, tied)
        return layer

    return enter


@cache
def _rows() -> Mapping[str, Any]:
    found: Mapping[str, Any] = content("config")["configs"]
    return found


def written(model_type: str) -> Written:
    """How the configs of a model_type are written.

    >>> written("glm").usual, written("llama4_text").inside["hidden_size"]
    ({'head_dim': 128}, 5120)
    """
    return Written(**_rows().get(model_type, {}))
