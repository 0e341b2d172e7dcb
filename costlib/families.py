"""A Hugging Face config.json as a Transformer: one table of what each family has.

A config says some things and leaves others to the code of its family: which layers have biases,
how many norms there are, what a missing field means. The table holds that. What a config says is
checked: a missing field, a wrong type, two fields that contradict one another, or a variant that
would be counted wrongly is an error that names the field.

Parameters are those of the transformers library's causal language model: buffers (such as
DeepSeek-V3's router correction) and extra prediction heads are left out. So is quantisation: a
parameter is a parameter however it is stored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from costlib.transformer import MLA, MoE, Transformer

__all__ = ["FAMILIES", "Family", "from_hf"]

#: A config is a page of text. Far more than that is something else: weights, or an accident.
MOST_BYTES = 5_000_000

_ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
}


@dataclass(frozen=True, slots=True)
class Family:
    """What a model_type's code fixes, and how its config spells the rest.

    ``more`` derives what not every family has; ``facts`` are fixed fields of the Transformer;
    ``names`` are fields spelled the family's own way; ``kv_heads``, ``head_dim`` and ``tied`` say
    what a missing field means (None: it must be there), ``is_four_wide`` that a missing width is
    4·d_model; ``refuse`` names fields with the only value that the row is right for.
    """

    architecture: str
    more: tuple[Callable[[Config], dict[str, Any]], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    kv_heads: str | None = None  # "heads" where the family has no such field
    head_dim: str | None = "derived"
    tied: bool | None = None
    is_four_wide: bool = False
    refuse: Mapping[str, Any] = field(default_factory=dict)


class Config:
    """A config's fields, read by name and type; an error names the field and the family.

    >>> config = Config({"hidden_size": 64, "bias": "no"}, "llama")
    >>> config.count("hidden_size")
    64
    >>> config.flag("bias")
    Traceback (most recent call last):
        ...
    TypeError: llama config: 'bias' must be true or false, got 'no' (str)
    """

    def __init__(self, fields: Mapping[str, Any], family: str) -> None:
        self.fields, self.family = fields, family

    def error(self, text: str, kind: type[Exception] = ValueError) -> Exception:
        """An error that says whose config it is."""
        return kind(f"{self.family} config: {text}")

    def get(self, name: str) -> Any:
        """A field's value; null and missing are both None."""
        return self.fields.get(name)

    def count(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number; missing is an error unless there is a default."""
        value = self.get(name)
        if value is None:
            if default is None:
                raise self.error(f"{name!r} is missing")
            return default
        if type(value) is not int:
            raise self._wrong(name, "a whole number", value)
        if value < least:
            raise self.error(f"{name!r} must be at least {least}, got {value}")
        return value

    def flag(self, name: str, default: bool | None = None) -> bool:
        """true or false; missing is an error unless there is a default."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if value is None:
            raise self.error(f"{name!r} is missing")
        if type(value) is not bool:
            raise self._wrong(name, "true or false", value)
        return value

    def text(self, name: str) -> str:
        """A string."""
        value = self.get(name)
        if value is None:
            raise self.error(f"{name!r} is missing")
        if not isinstance(value, str):
            raise self._wrong(name, "a string", value)
        return value

    def texts(self, name: str) -> list[str]:
        """A list of strings, or an empty one where it is missing."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self._wrong(name, "a list of strings", value)
        return value

    def same(self, name: str, value: Any, why: str) -> None:
        """A field that may be there, and then must agree with the others."""
        stated = self.get(name)
        if stated is not None and stated != value:
            raise self.error(f"{name!r} is {stated!r}, but {why} makes it {value!r}")

    def _wrong(self, name: str, wanted: str, value: object) -> Exception:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        return self.error(
            f"{name!r} must be {wanted}, got {shown} ({type(value).__name__})", TypeError
        )


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
    name = _model_type(fields)
    if isinstance(fields.get("text_config"), Mapping) and name in _WRAPPERS:
        inner = dict(fields["text_config"])
        inner.setdefault("model_type", _WRAPPERS[name])
        if "tie_word_embeddings" in fields:
            inner.setdefault("tie_word_embeddings", fields["tie_word_embeddings"])
        fields, name = inner, _model_type(inner)
    family = FAMILIES.get(name)
    if family is None:
        known = ", ".join(sorted(FAMILIES))
        raise ValueError(f"model_type {name!r} is not one that costlib knows; it knows {known}")
    return _build(Config(fields, name), family)


def _build(config: Config, family: Family) -> Transformer:
    """Sizes by their names, the family's facts, and what only this family has."""
    _check_variant(config, family)

    def spelled(name: str) -> str:
        return family.names.get(name, name)

    sizes: dict[str, Any] = {
        "layers": config.count(spelled("num_hidden_layers")),
        "d_model": config.count(spelled("hidden_size")),
        "heads": config.count(spelled("num_attention_heads")),
    }
    sizes["d_ff"] = config.count(
        spelled("intermediate_size"), 4 * sizes["d_model"] if family.is_four_wide else None
    )
    sizes["vocab"] = config.count("vocab_size")
    sizes["tied"] = config.flag("tie_word_embeddings", family.tied)
    sizes |= family.facts
    if _mla not in family.more:
        sizes |= _heads(config, family, sizes)
    for part in family.more:
        found = part(config)
        found["biases"] = (*sizes.get("biases", ()), *found.get("biases", ()))
        sizes |= found
    _check_activation(config, sizes)
    try:
        return Transformer(**sizes)
    except (TypeError, ValueError) as problem:
        raise config.error(str(problem), type(problem)) from problem


def _heads(config: Config, family: Family, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """KV heads and head_dim, stated or derived; what the config says must divide."""
    heads, d_model = sizes["heads"], sizes["d_model"]
    found: dict[str, Any] = {}
    if family.kv_heads != "heads" and "kv_heads" not in family.facts:
        if config.get("num_key_value_heads") is None:
            raise config.error(
                "'num_key_value_heads' is missing; if every query head has a KV head of its own, "
                f"add it with the value {heads}"
            )
        found["kv_heads"] = config.count("num_key_value_heads")
        if heads % found["kv_heads"]:
            raise config.error(
                f"'num_key_value_heads' must divide the {heads} heads, got {found['kv_heads']}"
            )
    elif family.kv_heads == "heads":
        config.same("num_key_value_heads", heads, "its family, which has one for each head,")
    if config.get("head_dim") is not None and family.kv_heads != "heads":
        found["head_dim"] = config.count("head_dim")
    elif family.head_dim is None:
        raise config.error("'head_dim' is missing")
    elif d_model % heads:
        raise config.error(f"a width of {d_model} is not a multiple of {heads} heads")
    return found


def _check_variant(config: Config, family: Family) -> None:
    """Refuse what the family's row would count wrongly."""
    stated = config.texts("architectures")
    if stated and family.architecture not in stated:
        raise config.error(
            f"'architectures' is {stated}, but a {config.family} language model is "
            f"{family.architecture}"
        )
    for name, only in (_NEVER | dict(family.refuse)).items():
        value = config.get(name)
        if value is not None and (type(value) is not type(only) or value != only):
            raise config.error(f"{name!r} must be {only!r} to be counted here, got {value!r}")


def _check_activation(config: Config, sizes: dict[str, Any]) -> None:
    """The activation under any of its names; a config without one has its family's."""
    stated = [
        name
        for name in ("hidden_activation", "hidden_act", "activation_function", "ffn_act")
        if config.get(name) is not None
    ]
    for name in stated[:1]:
        value = config.text(name)
        if value not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            raise config.error(f"{name!r} must be one of {known}, got {value!r}")
        sizes["activation"] = _ACTIVATIONS[value]


#: Fields that no family here has otherwise.
_NEVER = {"is_encoder_decoder": False, "add_cross_attention": False}


def _window(config: Config) -> dict[str, Any]:
    """Every layer has the window, where there is one; layer_types may say otherwise."""
    if config.get("sliding_window") is None:
        return {}
    local = _local_layers(config, config.count("num_hidden_layers"))
    return {"window": config.count("sliding_window"), "local_layers": local} if local else {}


def _optional_window(config: Config) -> dict[str, Any]:
    """Qwen: a window only if use_sliding_window, and then from layer max_window_layers on."""
    layers = config.count("num_hidden_layers")
    if not config.flag("use_sliding_window", False) or config.get("sliding_window") is None:
        if "sliding_attention" in config.texts("layer_types"):
            raise config.error("'layer_types' has sliding layers, but 'use_sliding_window' is off")
        return {}
    first = config.count("max_window_layers", least=0)
    local = _local_layers(config, max(0, layers - first))
    return {"window": config.count("sliding_window"), "local_layers": local} if local else {}


def _alternating_window(config: Config) -> dict[str, Any]:
    """Gemma 2 and GPT-OSS: every other layer is local, the first one is."""
    layers = config.count("num_hidden_layers")
    local = _local_layers(config, (layers + 1) // 2)
    return {"window": config.count("sliding_window"), "local_layers": local}


def _patterned_window(config: Config) -> dict[str, Any]:
    """Gemma 3 and Cohere 2: every n-th layer is global."""
    layers = config.count("num_hidden_layers")
    name = "sliding_window_pattern"
    period = config.count(name if config.get(name) is not None else f"_{name}", 0) or None
    if period is None and not config.texts("layer_types"):
        raise config.error(f"'layer_types' is missing, and so is {name!r}")
    local = _local_layers(config, layers - layers // period if period else 0)
    return {"window": config.count("sliding_window"), "local_layers": local}


def _local_layers(config: Config, otherwise: int) -> int:
    """Layers with a window: as layer_types says, or else as the family's rule does."""
    kinds, layers = config.texts("layer_types"), config.count("num_hidden_layers")
    if not kinds:
        return otherwise
    if len(kinds) != layers:
        raise config.error(f"'layer_types' has {len(kinds)} entries for {layers} layers")
    unknown = set(kinds) - {"full_attention", "sliding_attention"}
    if unknown:
        raise config.error(f"'layer_types' has {min(unknown)!r}, which is not counted here")
    return kinds.count("sliding_attention")


def _llama_biases(config: Config) -> dict[str, Any]:
    attention = ("qkv", "o_proj") if config.flag("attention_bias", False) else ()
    return {"biases": (*attention, *(("ffn",) if config.flag("mlp_bias", False) else ()))}


def _all_biases(name: str) -> Callable[[Config], dict[str, Any]]:
    """Biases everywhere or nowhere, as one field says."""

    def part(config: Config) -> dict[str, Any]:
        return {"biases": ("qkv", "o_proj", "ffn") if config.flag(name, True) else ()}

    return part


def _attention_bias(default: bool) -> Callable[[Config], dict[str, Any]]:
    """Biases of attention's four projections, as attention_bias says."""

    def part(config: Config) -> dict[str, Any]:
        return {"biases": ("qkv", "o_proj") if config.flag("attention_bias", default) else ()}

    return part


def _positions(name: str, extra: int = 0) -> Callable[[Config], dict[str, Any]]:
    """A learned position table; OPT's has two rows more than positions."""

    def part(config: Config) -> dict[str, Any]:
        return {"positions": config.count(name) + extra, "rotary_dim": 0}

    return part


def _partial_rotary(names: tuple[str, ...], default: float) -> Callable[[Config], dict[str, Any]]:
    """Only a part of each head is rotated; it costs FLOPs, not parameters."""

    def part(config: Config) -> dict[str, Any]:
        rope = config.get("rope_parameters")
        share: Any = rope.get("partial_rotary_factor") if isinstance(rope, Mapping) else None
        for name in names:
            share = config.get(name) if share is None else share
        share = default if share is None else share
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
            raise config.error(f"{names[0]!r} must be a fraction of 1, got {share!r}")
        width = config.get("head_dim") or (
            config.count("hidden_size") // config.count("num_attention_heads")
        )
        return {"rotary_dim": int(share * width)}

    return part


def _phi_norm(config: Config) -> dict[str, Any]:
    """Phi's optional norms have head_dim weights and biases each for queries and keys."""
    return {"qk_norm": "head" if config.flag("qk_layernorm", False) else None}


def _cohere_norm(config: Config) -> dict[str, Any]:
    """Cohere's optional norms have weights for every head."""
    return {"qk_norm": "full" if config.flag("use_qk_norm", False) else None}


def _rotary_dim(config: Config) -> dict[str, Any]:
    return {"rotary_dim": config.count("rotary_dim", least=0)}


def _mixtral_experts(config: Config) -> dict[str, Any]:
    """All layers have experts of the dense width."""
    width = config.count("intermediate_size")
    return {"moe": _moe(config, "num_local_experts", width)}


def _qwen_experts(config: Config) -> dict[str, Any]:
    """Experts in every decoder_sparse_step-th layer but those of mlp_only_layers."""
    layers, step = config.count("num_hidden_layers"), config.count("decoder_sparse_step", 1)
    dense = config.get("mlp_only_layers") or []
    if not isinstance(dense, list) or not all(type(entry) is int for entry in dense):
        raise config.error(f"'mlp_only_layers' must be a list of layers, got {dense!r}", TypeError)
    plain = sum(i in dense or (i + 1) % step != 0 for i in range(min(layers, 10**5)))
    if layers > 10**5:
        raise config.error(f"'num_hidden_layers' is {layers}, which no model has")
    if config.get("num_experts") is not None and config.get("num_local_experts") is not None:
        config.same("num_experts", config.get("num_local_experts"), "'num_local_experts'")
    name = "num_experts" if config.get("num_experts") is not None else "num_local_experts"
    shared = config.family == "qwen2_moe"
    return {
        "moe": _moe(
            config,
            name,
            config.count("moe_intermediate_size"),
            dense_layers=plain,
            shared_width=config.count("shared_expert_intermediate_size") if shared else 0,
            shared_gate=shared,
        )
    }


def _deepseek_experts(config: Config) -> dict[str, Any]:
    """The first layers are dense; shared experts are one layer of their joint width."""
    width, layers = config.count("moe_intermediate_size"), config.count("num_hidden_layers")
    dense = config.count("first_k_dense_replace", least=0)
    if dense > layers:
        raise config.error(f"'first_k_dense_replace' is {dense}, but there are {layers} layers")
    shared = config.count("n_shared_experts", least=0) * width
    return {"moe": _moe(config, "n_routed_experts", width, dense_layers=dense, shared_width=shared)}


def _moe(config: Config, experts: str, width: int, **more: Any) -> MoE:
    count, chosen = config.count(experts), config.count("num_experts_per_tok")
    if chosen > count:
        raise config.error(f"'num_experts_per_tok' is {chosen}, but {experts!r} is {count}")
    return MoE(experts=count, per_token=chosen, width=width, **more)


def _mla(config: Config) -> dict[str, Any]:
    """Latent widths; fields that repeat one another must agree."""
    nope, rope = config.count("qk_nope_head_dim"), config.count("qk_rope_head_dim")
    config.same("qk_head_dim", nope + rope, "qk_nope_head_dim + qk_rope_head_dim")
    config.same("num_key_value_heads", config.count("num_attention_heads"), "MLA")
    rank = config.get("q_lora_rank")
    if rank is None and config.family == "deepseek_v3" and "q_lora_rank" not in config.fields:
        raise config.error("'q_lora_rank' is missing; null says that there is none")
    return {
        "mla": MLA(
            kv_rank=config.count("kv_lora_rank"),
            nope_dim=nope,
            rope_dim=rope,
            value_dim=config.count("v_head_dim"),
            q_rank=None if rank is None else config.count("q_lora_rank"),
        )
    }


def _opt(config: Config) -> dict[str, Any]:
    """OPT's switches: no bias, or norms without weights."""
    affine = config.flag("layer_norm_elementwise_affine", True)
    config.same("word_embed_proj_dim", config.count("hidden_size"), "a model without projections")
    return {"norm": "layer_norm" if affine else "plain_norm"}


_GPT2_NAMES = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
}
_TANH = {"activation": "gelu_tanh"}
_LAYER_NORM = {"norm": "layer_norm", "gated": False, **_TANH}
_BIASED = {"biases": ("qkv", "o_proj", "ffn")}
_PARALLEL = {"norms": 1, "parallel": True}

# fmt: off
#: The families, by model_type: one row each.
FAMILIES: dict[str, Family] = {
    "llama": Family("LlamaForCausalLM", (_llama_biases,)),
    "granite": Family("GraniteForCausalLM", (_llama_biases,)),
    "smollm3": Family("SmolLM3ForCausalLM", (_llama_biases, _optional_window)),
    "mistral": Family("MistralForCausalLM", (_window,)),
    "mixtral": Family("MixtralForCausalLM", (_window, _mixtral_experts)),
    "phi3": Family("Phi3ForCausalLM", (_window,), refuse={"attention_bias": False}),
    "qwen2": Family("Qwen2ForCausalLM", (_optional_window,), {"biases": ("qkv",)}),
    "qwen2_moe": Family("Qwen2MoeForCausalLM", (_optional_window, _qwen_experts),
                        {"biases": ("qkv",)}),
    "qwen3": Family("Qwen3ForCausalLM", (_attention_bias(False), _optional_window),
                    {"qk_norm": "head"}, head_dim=None),
    "qwen3_moe": Family("Qwen3MoeForCausalLM",
                        (_attention_bias(False), _optional_window, _qwen_experts),
                        {"qk_norm": "head"}, head_dim=None),
    "gemma": Family("GemmaForCausalLM", (_attention_bias(False),),
                    {**_TANH}, head_dim=None, tied=True),
    "gemma2": Family("Gemma2ForCausalLM", (_attention_bias(False), _alternating_window),
                     {**_TANH, "norms": 4}, head_dim=None, tied=True),
    "gemma3_text": Family("Gemma3ForCausalLM", (_attention_bias(False), _patterned_window),
                          {**_TANH, "norms": 4, "qk_norm": "head"}, head_dim=None, tied=True,
                          refuse={"use_bidirectional_attention": False}),
    "gpt_oss": Family("GptOssForCausalLM",
                      (_attention_bias(True), _alternating_window, _mixtral_experts),
                      {"sinks": True, "biases": ("router", "experts")}, head_dim=None),
    "deepseek_v2": Family("DeepseekV2ForCausalLM", (_mla, _deepseek_experts),
                          refuse={"attention_bias": False, "moe_layer_freq": 1, "mlp_bias": False}),
    "deepseek_v3": Family("DeepseekV3ForCausalLM", (_mla, _deepseek_experts),
                          refuse={"attention_bias": False, "moe_layer_freq": 1}),
    "olmo": Family("OlmoForCausalLM", (_attention_bias(False),), {"norm": "plain_norm"}),
    "olmo2": Family("Olmo2ForCausalLM", (_attention_bias(False),), {"qk_norm": "full"}),
    "cohere": Family("CohereForCausalLM", (_attention_bias(False), _cohere_norm),
                     {**_PARALLEL, "norm": "layer_norm_no_bias"}, tied=True),
    "cohere2": Family("Cohere2ForCausalLM", (_attention_bias(False), _patterned_window),
                      {**_PARALLEL, "norm": "layer_norm_no_bias"}, tied=True),
    "starcoder2": Family("Starcoder2ForCausalLM", (_all_biases("use_bias"), _window),
                         _LAYER_NORM, tied=True),
    "nemotron": Family("NemotronForCausalLM", (_partial_rotary(("partial_rotary_factor",), 0.5),),
                       {**_LAYER_NORM, "activation": "relu2"},
                       refuse={"attention_bias": False, "mlp_bias": False}),
    "phi": Family("PhiForCausalLM", (_partial_rotary(("partial_rotary_factor",), 0.5), _phi_norm),
                  {**_LAYER_NORM, **_PARALLEL, "biases": ("qkv", "o_proj", "ffn", "unembedding")}),
    "gpt_neox": Family("GPTNeoXForCausalLM",
                       (_attention_bias(True), _partial_rotary(("rotary_pct",), 0.25)),
                       {**_LAYER_NORM, "biases": ("ffn",), "activation": "gelu"},
                       kv_heads="heads"),
    "gptj": Family("GPTJForCausalLM", (_rotary_dim,),
                   {**_LAYER_NORM, **_PARALLEL, "biases": ("ffn", "unembedding")}, _GPT2_NAMES,
                   is_four_wide=True, kv_heads="heads", tied=False),
    "gpt2": Family("GPT2LMHeadModel", (_positions("n_positions"),), {**_LAYER_NORM, **_BIASED},
                   _GPT2_NAMES, is_four_wide=True, kv_heads="heads", tied=True),
    "opt": Family("OPTForCausalLM",
                  (_positions("max_position_embeddings", 2), _all_biases("enable_bias"), _opt),
                  {"gated": False, "activation": "relu"}, {"intermediate_size": "ffn_dim"},
                  kv_heads="heads", tied=True,
                  refuse={"do_layer_norm_before": True, "_remove_final_layer_norm": False}),
    "bloom": Family("BloomForCausalLM", (),
                    {**_LAYER_NORM, **_BIASED, "embedding_norm": True, "rotary_dim": 0},
                    {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
                    is_four_wide=True, kv_heads="heads", tied=True),
}
# fmt: on

#: Models that see as well, by the family of their text_config: only the text model is counted.
_WRAPPERS = {"gemma3": "gemma3_text"}


def _model_type(fields: Mapping[str, Any]) -> str:
    name = fields.get("model_type")
    if name is None:
        raise ValueError("a config needs a 'model_type', such as 'llama'; it is missing")
    if not isinstance(name, str):
        raise TypeError(f"'model_type' must be a string, got {name!r}")
    return name


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
