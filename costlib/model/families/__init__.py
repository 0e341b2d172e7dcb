"""A Hugging Face config.json as a Transformer: one short entry for each family.

A config says some things and leaves others to the code of its family: which layers have biases, how
many norms there are, what a missing field means. The entries hold that, and
`costlib.model.families.family` says how to write one. What a config says is checked: a missing
field, a wrong type, two fields that contradict one another, or a variant that would be counted
wrongly is an error that names the field.

Parameters are those of the transformers library's causal language model: buffers (such as
DeepSeek-V3's router correction) and extra prediction heads are left out. A parameter is a parameter
however it is stored: quantization_config sets the bytes of the weights alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from costlib.layers import Block, linear_step
from costlib.layers.parts import same
from costlib.model.families import (  # noqa: F401  (each enters its families)
    decoders,
    encoders,
    latents,
    mixtures,
    older,
    residuals,
    states,
)
from costlib.model.families.config import MOST_BYTES, MOST_OF_A_SIZE, Config, fields_of
from costlib.model.families.family import FAMILIES, WRAPPERS, Family, Sizes, Wrapper, written
from costlib.model.families.quantisation import storage_of

__all__ = ["FAMILIES", "MOST_BYTES", "Config", "Family", "from_hf"]

#: What a config is made into.
Model = TypeVar("Model")

#: Wrappers whose code never ties, whatever a config says.
_NEVER_TIED = ("muse_spark", "qwen2_audio", "voxtral")

#: Fields that no family here has otherwise.
_NEVER = {"is_encoder_decoder": False, "add_cross_attention": False}

#: Where models that also see or hear keep the config of their text model.
_INSIDE = ("text_config", "llm_config", "language_config")
_TIED = "tie_word_embeddings"


def from_hf(
    source: Mapping[str, Any] | str | os.PathLike[str], make: Callable[..., Model]
) -> Model:
    """What ``make`` makes of a config's sizes and blocks: `costlib.Transformer` makes a model.

    The config is a dict, the path of a config.json (or its folder), or JSON text.

    >>> from costlib import Transformer
    >>> config = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
    ...           "n_positions": 1024, "vocab_size": 50257}
    >>> from_hf(config, Transformer).params()
    124439808
    >>> from_hf('{"model_type": "gpt2", "n_embd": 768}', Transformer)
    Traceback (most recent call last):
        ...
    ValueError: gpt2 config: 'vocab_size' is missing
    """
    whole = fields_of(source)
    fields, left_out = _text_fields(whole)
    is_inside = fields is not whole
    name = Config(fields, "the").read("model_type", str)
    if name not in FAMILIES:
        raise ValueError(_unknown(name))
    entry = FAMILIES[name]
    fields = fields if entry.rewrite is None else entry.rewrite(fields)
    row = entry.written
    usual = {**row.usual, **(row.inside if is_inside else {})}
    beside = {"left_out": left_out, "storage": storage_of({**fields, **whole}, name)}
    return _build(Config(fields, name, row.names, usual, entry), entry, partial(make, **beside))


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), FAMILIES, n=1, cutoff=0.85)
    nearest = f"the nearest is {near[0]!r}; " if near else ""
    return (
        f"model_type {name!r} is not one that costlib knows; {nearest}it knows "
        f"{len(FAMILIES)}, as list(costlib.families.FAMILIES) says. A family is one entry: see "
        "help(costlib.families.family)"
    )


def _text_fields(fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The text model's fields, and what of a model that also sees or hears is left out."""
    name = Config(fields, "the").read("model_type", str)
    inside = next((key for key in _INSIDE if isinstance(fields.get(key), Mapping)), None)
    if inside is None and name in WRAPPERS and "hidden_size" in fields:  # older configs are flat
        others = (key for key in fields if key.endswith("_config"))
        return {**fields, "model_type": WRAPPERS[name].text}, tuple(others)
    if inside is None and name in WRAPPERS:
        raise ValueError(f"{name} config: 'text_config' must be an object, the text model's config")
    if inside is None or (name in FAMILIES and name not in WRAPPERS):
        return fields, ()
    inner, wrapper = fields[inside], WRAPPERS.get(name, Wrapper())
    kind = inner.get("model_type") or wrapper.text
    if not isinstance(kind, str):
        raise ValueError(f"{name} config: the model_type of its {inside!r} is missing")
    found = {**written(name).inside, **inner, "model_type": kind}
    if name in WRAPPERS:  # its code makes this text model, whatever class that names
        found.pop("architectures", None)
    tied = False if name in _NEVER_TIED else fields.get(_TIED, wrapper.tied)
    inner_ties = wrapper.tied is None and inner.get(_TIED) is True  # either one ties
    if tied is not None and not inner_ties:  # the head belongs to the outer model
        found[_TIED] = tied
    here = (inside, "quantization_config")
    others = (key for key in fields if key.endswith("_config") and key not in here)
    return found, tuple(key for key in others if isinstance(fields[key], Mapping))


def _build(config: Config, entry: Family, make: Callable[..., Model]) -> Model:
    """Sizes by their names, the family's facts, and its layers one by one."""
    _check_variant(config, entry)
    biased = entry.unembedding_bias
    sizes: dict[str, Any] = {
        "d_model": config.d_model,
        "vocab": config.count("vocab_size"),
        "tied": _tied(config, entry),
        "norm": config.norm,
        "final_norm": entry.final_norm,
        "embedding_norm": entry.embedding_norm,
        "biases": ("unembedding",)
        if (biased if isinstance(biased, bool) else biased(config))
        else (),
        "context_length": _trained(config),
    }
    if entry.positions is not None:
        sizes["positions"] = config.count("max_position_embeddings") + entry.positions
    for name in ("first", "last"):
        steps = getattr(entry, name)
        sizes[name] = () if steps is None else steps(config)
    try:
        sizes["blocks"] = _runs(
            (entry.layer(config.at(i), i) for i in range(config.layers)), config.norm
        )
        sizes["mtp_blocks"] = _mtp(config, entry)
        for change in (entry.size, _own_head(config, entry)):
            sizes |= {} if change is None else change(config)
        return make(**sizes)
    except (OverflowError, TypeError, ValueError) as problem:
        if str(problem).startswith(config.family):
            raise
        kind = TypeError if isinstance(problem, TypeError) else ValueError
        raise config.error(str(problem), kind) from problem


def _trained(config: Config) -> int | None:
    """The tokens of a sequence that a model was trained for, where its config says so."""
    stated, scaled = config.get("max_position_embeddings"), config.get("rope_scaling")
    if type(stated) is not int or not 0 < stated < MOST_OF_A_SIZE:
        return None
    found = scaled if isinstance(scaled, Mapping) else {}
    factor, before = found.get("factor"), found.get("original_max_position_embeddings")
    if not isinstance(factor, (int, float)) or type(before) is not int:
        return stated
    scaled_to = float(min(before, MOST_OF_A_SIZE)) * factor  # some say the length before scaling
    return max(stated, round(scaled_to)) if 1 <= scaled_to < MOST_OF_A_SIZE else stated


def _mtp(config: Config, entry: Family) -> tuple[Block, ...]:
    """MTP layers: each has a norm of both inputs and one at its end."""
    mtp = entry.written.mtp
    heads = config.count(mtp, 0, least=0) if mtp else 0
    if not heads:
        return ()
    d, last = config.d_model, config.layers - 1
    one = entry.mtp_layer
    block = entry.layer(config.at(last), last) if one is None else one(config)
    joined = linear_step("mtp.proj", 2 * d, d)
    extra = (*block.extra, *joined)
    norm = _norm(block, config.norm)
    return (replace(block, layers=heads, norms=block.norms + 3, norm=norm, extra=extra),)


def _own_head(config: Config, entry: Family) -> Sizes | None:
    """What a class with a head of its own changes."""
    stated = config.entries("architectures", str)
    return next((entry.heads[name] for name in stated if name in entry.heads), None)


def _tied(config: Config, entry: Family) -> bool:
    stated = config.flag("tie_word_embeddings", entry.tied if entry.always_tied is None else True)
    return stated if entry.always_tied is None else entry.always_tied


def _norm(block: Block, usual: str) -> str:
    """A layer's norm: the family's, unless the entry says otherwise."""
    return usual if block.norm == "rms_norm" else block.norm


def _runs(layers: Any, norm: str) -> tuple[Block, ...]:
    """Layers in order, those alike after one another as one block."""
    kinds: list[Block] = []
    runs: list[tuple[Block, int]] = []
    for one in layers:
        kind = next((known for known in kinds[-8:] if same(known, one)), None)
        if kind is None:
            kinds.append(one)
        if kind is not None and runs[-1][0] is kind:
            runs[-1] = (kind, runs[-1][1] + 1)
        else:
            runs.append((kind or one, 1))
    return tuple(replace(kind, layers=layers, norm=_norm(kind, norm)) for kind, layers in runs)


def _is_named(entry: Family, name: str) -> bool:
    """The class that the entry counts, or a publisher's own name that no other family has."""
    if name in _classes(entry):
        return True
    others = {name for other in FAMILIES.values() for name in _classes(other)}
    return name.endswith(("ForCausalLM", "ForConditionalGeneration")) and name not in others


def _classes(entry: Family) -> set[str]:
    return {entry.architecture, *entry.written.also, *entry.heads}


def _check_variant(config: Config, entry: Family) -> None:
    """Refuse what the family's entry would count wrongly."""
    stated = config.entries("architectures", str)
    text = f"'architectures' is {stated}, but {config.family} is counted as {entry.architecture}"
    config.require(not stated or any(_is_named(entry, name) for name in stated), text)
    for name, only in {**_NEVER, **entry.written.only}.items():
        value = config.stated(name)
        is_right = value is None or (type(value) is type(only) and value == only)
        config.require(is_right, f"{name!r} must be {only!r} to be counted here, got {value!r}")
    for name, other in entry.written.agree.items():
        config.same(name, config.count(other), repr(other))
