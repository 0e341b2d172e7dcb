"""A Hugging Face config.json as a Transformer: one table of what each family has.

A config says some things and leaves others to the code of its family: which layers have biases,
how many norms there are, what a missing field means. The table, catalog/families.json, holds that.
What a config says is checked: a missing field, a wrong type, two fields that contradict one
another, or a variant that would be counted wrongly is an error that names the field.

Parameters are those of the transformers library's causal language model: buffers (such as
DeepSeek-V3's router correction) and extra prediction heads are left out. So is quantisation: a
parameter is a parameter however it is stored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from costlib.transformer import MLA, MoE, Transformer

__all__ = ["FAMILIES", "Family", "from_hf"]

#: A config is a page of text. Far more than that is something else: weights, or an accident.
MOST_BYTES = 5_000_000

_KINDS = {int: "a whole number", bool: "true or false", str: "a string", list: "a list"}


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the table, whose first lines say what each column means."""

    architecture: str
    _: KW_ONLY
    facts: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, tuple[bool, Mapping[str, Any]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    agree: Mapping[str, str] = field(default_factory=dict)
    heads: str = "grouped"
    needs_head_dim: bool = False
    tied: bool | None = None
    is_four_wide: bool = False
    parts: Sequence[Sequence[Any]] = ()
    refuse: Mapping[str, Any] = field(default_factory=dict)


_TABLE = json.loads((Path(__file__).parent / "catalog" / "families.json").read_text("utf-8"))

#: The families, by model_type: one row each.
FAMILIES: dict[str, Family] = {name: Family(**row) for name, row in _TABLE["families"].items()}

#: Fields that no family here has otherwise.
_NEVER = {"is_encoder_decoder": False, "add_cross_attention": False}

#: Models that see as well, by the family of their text_config: only the text model is counted.
_WRAPPERS = {"gemma3": "gemma3_text"}


class Config:
    """A config's fields, read by name and type; an error names the field and the family.

    A field is asked for by its usual name; ``names`` has those that the family spells its own way.

    >>> config = Config({"hidden_size": 64, "bias": "no"}, "llama")
    >>> config.count("hidden_size")
    64
    >>> config.flag("bias")
    Traceback (most recent call last):
        ...
    TypeError: llama config: 'bias' must be true or false, got 'no' (str)
    """

    def __init__(
        self, fields: Mapping[str, Any], family: str, names: Mapping[str, str] | None = None
    ) -> None:
        self.fields, self.family, self.names = fields, family, names or {}

    def error(self, text: str, kind: type[Exception] = ValueError) -> Exception:
        """An error that says whose config it is."""
        return kind(f"{self.family} config: {text}")

    def require(self, is_right: bool, text: str) -> None:
        """Stop with an error unless this holds."""
        if not is_right:
            raise self.error(text)

    def spelled(self, name: str) -> str:
        """A field's name in this family."""
        return self.names.get(name, name)

    def get(self, name: str) -> Any:
        """A field's value; null and missing are both None."""
        return self.fields.get(self.spelled(name))

    def read(self, name: str, kind: type, default: Any = None) -> Any:
        """A field of one type; missing is an error unless there is a default."""
        value = default if self.get(name) is None else self.get(name)
        if value is None:
            raise self.error(f"{self.spelled(name)!r} is missing")
        if type(value) is not kind:
            raise self._wrong(name, _KINDS[kind], value)
        return value

    def count(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number."""
        value: int = self.read(name, int, default)
        self.require(
            value >= least, f"{self.spelled(name)!r} must be at least {least}, got {value}"
        )
        return value

    def flag(self, name: str, default: bool | None = None) -> bool:
        """true or false."""
        value: bool = self.read(name, bool, default)
        return value

    def entries(self, name: str, kind: type) -> list[Any]:
        """A list whose entries have one type; empty where it is missing."""
        values: list[Any] = self.read(name, list, [])
        if not all(type(value) is kind for value in values):
            raise self._wrong(name, f"a list, each entry {_KINDS[kind]}", values)
        return values

    def same(self, name: str, value: Any, why: str) -> None:
        """A field that may be there, and then must agree with the others."""
        stated = self.get(name)
        text = f"{name!r} is {stated!r}, but {why} makes it {value!r}"
        self.require(stated is None or stated == value, text)

    def _wrong(self, name: str, wanted: str, value: object) -> Exception:
        shown = repr(value) if len(repr(value)) <= 40 else repr(value)[:37] + "..."
        text = f"{self.spelled(name)!r} must be {wanted}, got {shown} ({type(value).__name__})"
        return self.error(text, TypeError)


def from_hf(source: Mapping[str, Any] | str | os.PathLike[str]) -> Transformer:
    """The model of a config: a dict, the path of a config.json (or its folder), or JSON text.

    >>> from_hf({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
    ...          "n_positions": 1024, "vocab_size": 50257}).params()
    124439808
    >>> from_hf('{"model_type": "gpt2", "n_embd": 768}')
    Traceback (most recent call last):
        ...
    ValueError: gpt2 config: 'n_layer' is missing
    """
    fields = _fields(source)
    name, inner = Config(fields, "the").read("model_type", str), fields.get("text_config")
    if name in _WRAPPERS and isinstance(inner, Mapping):
        outer = {"tie_word_embeddings": fields.get("tie_word_embeddings")}
        fields = {"model_type": _WRAPPERS[name], **outer, **inner}
        name = Config(fields, "the text").read("model_type", str)
    if name not in FAMILIES:
        known = ", ".join(sorted(FAMILIES))
        raise ValueError(f"model_type {name!r} is not one that costlib knows; it knows {known}")
    return _build(Config(fields, name, FAMILIES[name].names), FAMILIES[name])


def _build(config: Config, family: Family) -> Transformer:
    """Sizes by their names, the family's facts, and what only this family has."""
    _check_variant(config, family)
    d_model = config.count("hidden_size")
    sizes: dict[str, Any] = {
        "layers": config.count("num_hidden_layers"),
        "d_model": d_model,
        "heads": config.count("num_attention_heads"),
        "d_ff": config.count("intermediate_size", 4 * d_model if family.is_four_wide else None),
        "vocab": config.count("vocab_size"),
        "tied": config.flag("tie_word_embeddings", family.tied),
    }
    flags = family.flags.items()
    known = [family.facts, *(then for name, (usual, then) in flags if config.flag(name, usual))]
    for facts in known:
        sizes |= facts
    sizes["biases"] = tuple(bias for facts in known for bias in facts.get("biases", ()))
    sizes |= _latent_heads(config) if family.heads == "latent" else _heads(config, family)
    for part, *arguments in family.parts:
        sizes |= _PARTS[part](config, *arguments)
    sizes |= _activation(config)
    try:
        return Transformer(**sizes)
    except (TypeError, ValueError) as problem:
        raise config.error(str(problem), type(problem)) from problem


def _check_variant(config: Config, family: Family) -> None:
    """Refuse what the family's row would count wrongly."""
    stated = config.entries("architectures", str)
    config.require(
        not stated or family.architecture in stated,
        f"'architectures' is {stated}, but {config.family} is counted as {family.architecture}",
    )
    for name, only in {**_NEVER, **family.refuse}.items():
        value = config.get(name)
        is_right = value is None or (type(value) is type(only) and value == only)
        config.require(is_right, f"{name!r} must be {only!r} to be counted here, got {value!r}")
    for name, other in family.agree.items():
        config.same(name, config.count(other), repr(other))


def _activation(config: Config) -> dict[str, Any]:
    """The activation under any of its names; a config without one has its family's."""
    known = _TABLE["activations"]
    for name in ("hidden_activation", "hidden_act", "activation_function", "ffn_act"):
        if config.get(name) is not None:
            value = config.read(name, str)
            text = f"{name!r} must be one of {', '.join(known)}, got {value!r}"
            config.require(value in known, text)
            return {"activation": known[value]}
    return {}


def _heads(config: Config, family: Family) -> dict[str, Any]:
    """KV heads and head_dim, stated or derived; what the config says must divide."""
    heads, d_model = config.count("num_attention_heads"), config.count("hidden_size")
    by = config.spelled("num_attention_heads")
    found = {}
    if family.heads == "one_each":
        config.same("num_key_value_heads", heads, repr(by))
    else:
        text = "'num_key_value_heads' is missing; if every query head has a KV head of its own, "
        is_there = config.get("num_key_value_heads") is not None
        config.require(is_there, f"{text}add it with the value {heads}")
        found["kv_heads"] = kv_heads = config.count("num_key_value_heads")
        text = f"'num_key_value_heads' must divide {by!r} ({heads}), got {kv_heads}"
        config.require(heads % kv_heads == 0, text)
        if family.needs_head_dim or config.get("head_dim") is not None:
            return found | {"head_dim": config.count("head_dim")}
    width = config.spelled("hidden_size")
    text = f"{width!r} is {d_model}, which is not a multiple of {by!r} ({heads})"
    config.require(d_model % heads == 0, text)
    return found


def _latent_heads(config: Config) -> dict[str, Any]:
    """MLA's widths; fields that repeat one another must agree."""
    nope, rope = config.count("qk_nope_head_dim"), config.count("qk_rope_head_dim")
    config.same("qk_head_dim", nope + rope, "qk_nope_head_dim + qk_rope_head_dim")
    config.same("num_key_value_heads", config.count("num_attention_heads"), "'num_attention_heads'")
    if config.family == "deepseek_v3" and "q_lora_rank" not in config.fields:
        raise config.error("'q_lora_rank' is missing; null says that there is none")
    rank = None if config.get("q_lora_rank") is None else config.count("q_lora_rank")
    kv_rank, value_dim = config.count("kv_lora_rank"), config.count("v_head_dim")
    widths = {"nope_dim": nope, "rope_dim": rope, "value_dim": value_dim}
    return {"mla": MLA(kv_rank=kv_rank, q_rank=rank, **widths)}


def _windowed(config: Config, otherwise: int) -> dict[str, Any]:
    """The layers that have a window: as layer_types says, or else as the family's rule does."""
    kinds, layers = config.entries("layer_types", str), config.count("num_hidden_layers")
    text = f"'layer_types' has {len(kinds)} entries, but 'num_hidden_layers' is {layers}"
    config.require(not kinds or len(kinds) == layers, text)
    unknown = set(kinds) - {"full_attention", "sliding_attention"}
    config.require(not unknown, f"'layer_types' has {unknown}, which is not counted here")
    local = kinds.count("sliding_attention") if kinds else otherwise
    if local == 0:
        return {}
    return {"window": config.count("sliding_window"), "local_layers": local}


def _window(config: Config) -> dict[str, Any]:
    """Every layer has the window, where there is one."""
    if config.get("sliding_window") is None:
        return {}
    return _windowed(config, config.count("num_hidden_layers"))


def _optional_window(config: Config) -> dict[str, Any]:
    """Qwen: a window only if use_sliding_window, and then from layer max_window_layers on."""
    if not config.flag("use_sliding_window", False) or config.get("sliding_window") is None:
        text = "'layer_types' has sliding layers, but 'use_sliding_window' is off"
        config.require("sliding_attention" not in config.entries("layer_types", str), text)
        return {}
    first = config.count("max_window_layers", least=0)
    return _windowed(config, max(0, config.count("num_hidden_layers") - first))


def _alternating_window(config: Config) -> dict[str, Any]:
    """Gemma 2 and GPT-OSS: every other layer is local, the first one is."""
    return _windowed(config, (config.count("num_hidden_layers") + 1) // 2)


def _patterned_window(config: Config) -> dict[str, Any]:
    """Gemma 3 and Cohere 2: every n-th layer is global."""
    layers, name = config.count("num_hidden_layers"), "sliding_window_pattern"
    stated = [spelling for spelling in (name, f"_{name}") if config.get(spelling) is not None]
    is_known = bool(stated or config.entries("layer_types", str))
    config.require(is_known, f"'layer_types' is missing, and so is {name!r}")
    return _windowed(config, layers - layers // config.count(stated[0]) if stated else 0)


def _positions(config: Config, extra: int) -> dict[str, Any]:
    """A learned position table; OPT's has two rows more than positions."""
    return {"positions": config.count("max_position_embeddings") + extra, "rotary_dim": 0}


def _partial_rotary(config: Config, name: str, default: float) -> dict[str, Any]:
    """Only a part of each head is rotated; it costs FLOPs, not parameters."""
    rope = config.get("rope_parameters")
    share: Any = rope.get("partial_rotary_factor") if isinstance(rope, Mapping) else None
    for otherwise in (config.get(name), default):
        share = otherwise if share is None else share
    is_share = type(share) in (int, float) and 0 < share <= 1
    config.require(is_share, f"{name!r} must be a fraction of 1, got {share!r}")
    derived = config.count("hidden_size") // config.count("num_attention_heads")
    return {"rotary_dim": int(share * config.count("head_dim", max(1, derived)))}


def _rotary_dim(config: Config) -> dict[str, Any]:
    """GPT-J says how much of each head is rotated."""
    return {"rotary_dim": config.count("rotary_dim", least=0)}


def _mixtral_experts(config: Config) -> dict[str, Any]:
    """All layers have experts of the dense width."""
    return _moe(config, "num_local_experts", "intermediate_size")


def _qwen_experts(config: Config) -> dict[str, Any]:
    """Experts in every decoder_sparse_step-th layer but those of mlp_only_layers."""
    layers, step = config.count("num_hidden_layers"), config.count("decoder_sparse_step", 1)
    plain = {layer for layer in config.entries("mlp_only_layers", int) if 0 <= layer < layers}
    sparse = layers // step - sum((layer + 1) % step == 0 for layer in plain)
    name = "num_local_experts" if config.get("num_experts") is None else "num_experts"
    if config.get("num_local_experts") is not None:
        config.same("num_experts", config.get("num_local_experts"), "'num_local_experts'")
    shared: dict[str, Any] = {}
    if config.family == "qwen2_moe":
        width = config.count("shared_expert_intermediate_size")
        shared = {"shared_width": width, "shared_gate": True}
    return _moe(config, name, dense_layers=layers - sparse, **shared)


def _deepseek_experts(config: Config) -> dict[str, Any]:
    """The first layers are dense; shared experts are one layer of their joint width."""
    layers, dense = (
        config.count("num_hidden_layers"),
        config.count("first_k_dense_replace", least=0),
    )
    text = f"'first_k_dense_replace' is {dense}, but 'num_hidden_layers' is {layers}"
    config.require(dense <= layers, text)
    shared = config.count("n_shared_experts", least=0) * config.count("moe_intermediate_size")
    return _moe(config, "n_routed_experts", dense_layers=dense, shared_width=shared)


def _moe(
    config: Config, experts: str, width: str = "moe_intermediate_size", **more: Any
) -> dict[str, Any]:
    count, chosen = config.count(experts), config.count("num_experts_per_tok")
    text = f"'num_experts_per_tok' is {chosen}, but {experts!r} is {count}"
    config.require(chosen <= count, text)
    return {"moe": MoE(experts=count, per_token=chosen, width=config.count(width), **more)}


#: The functions that the table's column of parts may name.
_PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    part.__name__[1:]: part
    for part in (
        *(_window, _optional_window, _alternating_window, _patterned_window),
        *(_positions, _partial_rotary, _rotary_dim),
        *(_mixtral_experts, _qwen_experts, _deepseek_experts),
    )
}


def _fields(source: Mapping[str, Any] | str | os.PathLike[str]) -> Mapping[str, Any]:
    """The config as a dict, from whatever form it has."""
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        return _parsed(source, "the JSON text")
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a config is a dict, a path or JSON text, got {type(source).__name__}")
    path = Path(source)
    path = path / "config.json" if path.is_dir() else path
    if not path.is_file():
        raise ValueError(f"no config at {str(path)[:200]!r}: give a path, a dict or JSON text")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is {path.stat().st_size:,} bytes: that is not a config.json")
    try:
        return _parsed(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path} is not JSON: it is not even text") from problem


def _parsed(text: str, where: str) -> Mapping[str, Any]:
    if len(text) > MOST_BYTES:
        raise ValueError(f"{where} is {len(text):,} characters: that is not a config.json")
    try:
        fields = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as problem:
        raise ValueError(f"{where} is not valid JSON (cut off?): {problem}") from problem
    except RecursionError as problem:
        raise ValueError(f"{where} is nested too deeply to be a config") from problem
    if not isinstance(fields, dict):
        raise TypeError(f"{where} must hold an object, {{...}}, got a {type(fields).__name__}")
    return fields


def _without_repeats(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in entries:
        if name in fields and fields[name] != value:
            raise ValueError(f"{name!r} is there twice: {fields[name]!r} and {value!r}")
        fields[name] = value
    return fields
