"""A config's quantization_config as a `Storage`: what a checkpoint packs, and how.

Read as publishers write it: fp8 with block scales, compressed-tensors, modelopt (FP8, NVFP4, MXFP4
and mixtures of them), AWQ, GPTQ, bitsandbytes and gpt-oss's MXFP4. What cannot be read is an error
that names it, when the bytes of the weights are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from costlib.model.checkpoint import Packing, Storage
from costlib.model.families.config import Config

__all__ = ["storage_of"]

NVFP4 = Packing(bits=4, beside=1 / 16)  # an 8-bit scale for each 16 weights
MXFP4 = Packing(bits=4, beside=1 / 32)  # an 8-bit power of two for each 32
MXFP8 = Packing(bits=8, beside=1 / 32)
FP8 = Packing(bits=8)  # one scale a tensor


def storage_of(fields: Mapping[str, Any], family: str) -> Storage | None:
    """How the checkpoint of a config holds its weights; None where it packs none.

    >>> storage_of({"quantization_config": {"quant_method": "mxfp4"}}, "gpt_oss").experts
    Packing(bits=4, beside=0.03125, per_row=0, per_column=0)
    """
    stated = fields.get("quantization_config")
    if stated is None:
        return None
    try:
        return _read(stated, fields, family)
    except (TypeError, ValueError) as problem:  # parameters can be counted all the same
        return Storage(name="unread", unread=str(problem))


def _read(stated: Any, fields: Mapping[str, Any], family: str) -> Storage:
    if not isinstance(stated, Mapping):
        raise TypeError(f"{family} config: 'quantization_config' must be an object, got {stated!r}")
    config = Config(stated, f"{family} quantization_config")
    method = _method(config)
    if method not in _METHODS:
        known = ", ".join(sorted(_METHODS))
        raise config.error(f"'quant_method' must be one of {known}, got {method!r}")
    return _METHODS[method](config, fields)


def _method(config: Config) -> str:
    """The method; modelopt's own files may leave it out, and a mixture of its names what it is."""
    method = config.read("quant_method", str, "")
    return "modelopt" if config.has("quant_algo") or not method else method


def _fp8(config: Config, fields: Mapping[str, Any]) -> Storage:
    """8-bit floats, one 32-bit scale for each block, or for each tensor."""
    block = config.entries("weight_block_size", int)
    beside = 4 / (block[0] * block[1]) if len(block) == 2 and min(block) > 0 else 0
    experts = MXFP4 if fields.get("expert_dtype") == "fp4" else None
    return Storage(
        name="fp8" if not block else f"fp8 in blocks of {block[0]} x {block[1]}",
        packing=Packing(bits=8, beside=beside),
        experts=experts,
        compute="fp8",
        kept=_modules(config, "modules_to_not_convert"),
    )


def _compressed(config: Config, fields: Mapping[str, Any]) -> Storage:
    """compressed-tensors: groups of modules, each with its own way."""
    groups = config.read("config_groups", dict)
    usual: Packing | None = None
    special: list[tuple[str, Packing]] = []
    for name, group in groups.items():
        inner = Config(group, f"{config.family} {name}")
        packing = _group_packing(Config(inner.read("weights", dict), inner.family))
        targets = inner.entries("targets", str) or ["Linear"]
        for target in targets:
            if target in ("Linear", "re:.*Linear.*"):
                usual = packing
            else:
                special.append((target, packing))
    computes = _is_wide(config, groups)
    return Storage(
        name=config.read("format", str, "compressed-tensors"),
        packing=usual,
        special=tuple(special),
        kept=_modules(config, "ignore"),
        compute=computes,
        kv="fp8" if config.has("kv_cache_scheme") else None,
    )


def _is_wide(config: Config, groups: Mapping[str, Any]) -> str | None:
    """The format of products: that of inputs, where these are quantised too."""
    for group in groups.values():
        inputs = group.get("input_activations")
        if isinstance(inputs, Mapping):
            known = {"8 float": "fp8", "8 int": "int8", "4 float": "fp4"}
            return known.get(f"{inputs.get('num_bits')} {inputs.get('type')}")
    return None


def _group_packing(weights: Config) -> Packing:
    """Bits of a weight, and its scale: of a group, a block, a row or a tensor."""
    bits, kind = weights.count("num_bits"), weights.read("type", str, "int")
    group = weights.optional("group_size", least=-1)
    block = weights.get("block_structure")
    if kind == "float" and bits == 4:
        return MXFP4 if group == 32 else NVFP4
    zero = 0 if weights.flag("symmetric", True) else bits / 8
    if group is not None and group > 0:
        return Packing(bits=bits, beside=(2 + zero) / group)
    if isinstance(block, list) and len(block) == 2:
        return Packing(bits=bits, beside=4 / (block[0] * block[1]))
    is_row = weights.get("strategy") == "channel"
    return Packing(bits=bits, per_row=2 + zero if is_row else 0)


def _modelopt(config: Config, fields: Mapping[str, Any]) -> Storage:
    """modelopt: one way for all, or a list of modules with each one's."""
    layers = config.read("quantized_layers", dict, {})
    algorithm = config.read("quant_algo", str, "")
    if not algorithm and config.has("config_groups"):
        return _compressed(config, fields)
    kept = (*_modules(config, "exclude_modules"), *_modules(config, "ignore"))
    kv = config.get("kv_cache_quant_algo") or config.get("kv_cache_scheme")
    cache = "fp8" if kv is not None else None
    if not layers:
        packing = _algorithm(config, algorithm)
        compute = "fp4" if "NVFP4" in algorithm else "fp8"
        return Storage(name=algorithm, packing=packing, kept=kept, kv=cache, compute=compute)
    special = []
    for module, about in layers.items():
        inner = Config(about, f"{config.family} {module}")
        # experts are all alike: one of them stands for the others
        if ".experts." in module and ".experts.0." not in module:
            continue
        special.append((module, _algorithm(inner, inner.read("quant_algo", str))))
    method = fields.get("quantization_config", {}).get("quant_method")
    others = _fp8(config, {}).packing if method == "fp8" else None
    return Storage(
        name=algorithm, packing=others, special=tuple(special), kept=kept, kv=cache, compute="fp8"
    )


def _algorithm(config: Config, name: str) -> Packing:
    known = {"FP8": FP8, "NVFP4": NVFP4, "W4A16_NVFP4": NVFP4, "MXFP4": MXFP4}
    known |= {"W4A8_NVFP4_FP8": NVFP4, "MXFP8": MXFP8}
    known |= {"FP8_PB_WO": Packing(bits=8, beside=4 / 128**2)}
    known |= {"W4A16_AWQ": _integers(4, config.count("group_size", 128))}
    known |= {"W8A8_SQ_PER_CHANNEL": Packing(bits=8, per_row=4), "INT8": Packing(bits=8, per_row=4)}
    config.require(name in known, f"'quant_algo' must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def _integers(bits: int, group: int, *, has_zeros: bool = False) -> Packing:
    """Groups along the input with a 16-bit scale each, and perhaps a zero point."""
    zero = bits / 8 if has_zeros else 0
    return Packing(bits=bits, beside=(2 + zero) / group if group > 0 else 0)


def _awq(config: Config, fields: Mapping[str, Any]) -> Storage:
    """Activation-aware: 4 bits in groups with zero points."""
    bits = config.count("bits" if config.has("bits") else "w_bit")
    group = config.count("group_size" if config.has("group_size") else "q_group_size", 128)
    packing = _integers(bits, group, has_zeros=True)
    kept = _modules(config, "modules_to_not_convert")
    return Storage(name=f"AWQ, {bits} bits", packing=packing, kept=kept)


def _gptq(config: Config, fields: Mapping[str, Any]) -> Storage:
    """GPTQ: groups with zero points, and the group of each input."""
    bits, group = config.count("bits"), config.count("group_size", 128, least=-1)
    packing = _integers(bits, group, has_zeros=True)
    indexed = Packing(bits=bits, beside=packing.beside, per_column=4)
    kept = _modules(config, "modules_in_block_to_not_quantize")
    return Storage(name=f"GPTQ, {bits} bits", packing=indexed, kept=kept)


def _bitsandbytes(config: Config, fields: Mapping[str, Any]) -> Storage:
    """4 bits with a scale for each 64, perhaps quantised again; or 8 with one for each row."""
    kept = _modules(config, "llm_int8_skip_modules")
    if config.flag("load_in_8bit", False):
        return Storage(name="int8", packing=Packing(bits=8, per_row=4), kept=kept, compute="int8")
    text = "'load_in_4bit' or 'load_in_8bit' must be true"
    config.require(config.flag("load_in_4bit", False), text)
    is_double = config.flag("bnb_4bit_use_double_quant", False)
    beside = (1 + 4 / 256) / 64 if is_double else 4 / 64
    kind = config.read("bnb_4bit_quant_type", str, "fp4")
    return Storage(name=kind, packing=Packing(bits=4, beside=beside), kept=kept)


def _mxfp4(config: Config, fields: Mapping[str, Any]) -> Storage:
    """gpt-oss: the routed experts alone."""
    return Storage(name="MXFP4", experts=MXFP4)


def _modules(config: Config, name: str) -> tuple[str, ...]:
    return tuple(config.entries(name, str))


_METHODS: dict[str, Callable[[Config, Mapping[str, Any]], Storage]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "awq": _awq,
    "gptq": _gptq,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": _mxfp4,
}
