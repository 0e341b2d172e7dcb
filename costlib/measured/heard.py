"""Models, formats and devices as logs and hub names spell them, in the catalogue's words.

"RedHatAI/Qwen3-14B-FP8-dynamic" is qwen3-14b with 8-bit layers; "Meta Llama 3.1 8B Instruct" is
llama-3.1-8b. A name is known when the words of a catalogue's name stand in it in order, numbers and
sizes equal to the digit, and no other size beside them; of several the longest counts.
"""

from __future__ import annotations

import re
from functools import cache

from costlib.layers.scans import Scan
from costlib.measured.tables import content, model_named
from costlib.model.catalog import models
from costlib.model.checkpoint import Packing, Storage
from costlib.model.transformer import Transformer

__all__ = ["cache_bytes", "in_format", "known_model", "shown_memory"]

_WORDS = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")
_NUMBER = re.compile(r"v?\d+(?:\.\d+)*")
_SIZE = re.compile(r"(?:a|e)?\d+(?:\.\d+)?b|\d+x\d+b")
#: What stands between the words of a name and says nothing of a model's shape.
_SAYS_LITTLE = {"instruct", "it", "chat", "base", "coder", "reranker", "embedding", "thinking"}
_SAYS_LITTLE |= {"meta", "nvidia", "omni", "hf", "exp"}
#: Words by which a name means a model of another family: distilled from one, of the other's shape.
_DISTILLED = {
    "1.5b": "qwen2.5-1.5b",
    "7b": "qwen2.5-7b",
    "8b": "llama-3.1-8b",
    "14b": "qwen2.5-14b",
    "32b": "qwen2.5-32b",
    "70b": "llama-3.3-70b",
}
#: Names of models that have the shape of one in the catalogue.
_ALIKE = {
    "qwen2-7b": "qwen2.5-7b",
    "qwen2-1.5b": "qwen2.5-1.5b",
    "qwen2-0.5b": "qwen2.5-0.5b",
    "qwen2-72b": "qwen2.5-72b",
    "qwq-32b": "qwen2.5-32b",
    "llama-3-70b": "llama-3.1-70b",
    "glm-4-32b": "glm-4-32b-0414",
    "glm-z1-32b": "glm-4-32b-0414",
    "mistral-7b-v0.2": "mistral-7b-v0.3",
}
#: Words that stand for a size, beside which a name without them means another model.
_KIN = {
    "mini",
    "small",
    "nano",
    "tiny",
    "lite",
    "air",
    "flash",
    "medium",
    "large",
    "super",
    "ultra",
}
_KIN |= {"max", "plus", "xs", "next", "vl", "linear", "mamba"}
_BITS = frozenset(("nvfp4", "fp8"))
_LONGEST = 400  # letters of a name that are looked at


def _words(text: str) -> tuple[str, ...]:
    found = _WORDS.findall(text.lower().replace("_", "-"))
    joined: list[str] = []
    for word in found:  # "llama 3.1" and "llama3.1" are one, and so are "qwen 3" and "qwen3"
        if joined and _NUMBER.fullmatch(word) and joined[-1].isalpha():
            joined[-1] += word
        else:
            joined.append(word)
    return tuple(word for word in joined if word not in _SAYS_LITTLE)


@cache
def _known() -> dict[tuple[str, ...], str]:
    names = [*models, *content()["models"]]
    known = {_words(name): name for name in names}
    for name, entry in models.data["models"].items():
        for alias in entry["aliases"]:
            known.setdefault(_words(alias.rpartition("/")[2]), name)
    for name in names:  # what is only there in few bits has its shape all the same
        known.setdefault(tuple(word for word in _words(name) if word not in _BITS), name)
    return known | {_words(old): name for old, name in _ALIKE.items()}


@cache
def known_model(text: str) -> str | None:
    """The catalogue's name of the model that a text names, or None.

    >>> known_model("RedHatAI/Qwen3-14B-FP8-dynamic"), known_model("Meta Llama 3.1 8B Instruct")
    ('qwen3-14b', 'llama-3.1-8b')
    >>> known_model("casperhansen/deepseek-r1-distill-qwen-14b-awq")
    'qwen2.5-14b'
    >>> known_model("google/gemma-4-12B-it") is None  # a size that the catalogue lacks
    True
    """
    words = _words(text[:_LONGEST].rstrip("/").rpartition("/")[2])
    sizes = [word for word in words if _SIZE.fullmatch(word)]
    if "deepseek" in words and sizes and {"distill", "r1"} & {*words} and "qwen3" not in words:
        return _DISTILLED.get(sizes[0])
    best: tuple[int, str] | None = None
    for known, name in _known().items():
        at = _where(known, words)
        if at is None or (name.startswith("deepseek") and "qwen3" in words):
            continue
        rest = {*words[:at], *words[at + len(known) :]}
        if rest & _KIN or any(_SIZE.fullmatch(word) for word in rest):
            continue
        if best is None or len(known) > best[0]:
            best = (len(known), name)
    return best[1] if best else None


def _where(known: tuple[str, ...], words: tuple[str, ...]) -> int | None:
    """The place at which some words stand in others, one after another."""
    for at in range(len(words) - len(known) + 1):
        if words[at : at + len(known)] == known:
            return at
    return None


#: Formats of weights by what names say, first match first: how the matrices of layers are packed.
_FORMATS: tuple[tuple[str, str | None, Packing | None], ...] = (
    ("nvfp4", "fp4", Packing(bits=4, beside=1 / 16)),
    ("mxfp4", None, Packing(bits=4, beside=1 / 32)),
    ("modelslim", "fp8", Packing(bits=8, per_row=2)),
    ("fp8|w8a8|int8", "fp8", Packing(bits=8, per_row=2)),
    ("(cpatonn|cyankiwi)/.*awq", None, Packing(bits=4, beside=2.5 / 32)),  # in groups of 32
    ("awq|gptq|int4|w4a16|4-?bit|bitsandbytes|bnb", None, Packing(bits=4, beside=2.5 / 128)),
)
#: What is left in 16 bits: attention of models with states by those who pack to 4 bits, and by
#: ModelSlim what expands latents.
_LEFT, _LATENTS = ("re:.*linear_attn.*",), ("re:.*kv_b_proj.*",)


def in_format(name: str, told: str) -> Transformer:
    """A model of the catalogue in the format that a name or a log tells; else as it ships.

    >>> round(in_format("qwen3-14b", "FP8-dynamic").weight_bytes() / 2**30, 1)
    15.2
    >>> round(in_format("llama-3.1-8b", "bfloat16").weight_bytes() / 2**30, 2)
    14.96
    """
    model, told = model_named(name), told.lower()
    for pattern, computes, packing in _FORMATS:
        if re.search(pattern, told):
            is_own = model.storage is not None and model.storage.name != "plain"
            is_left = pattern == "modelslim" and model.mla is not None
            is_told = pattern in name or pattern == "mxfp4" or _as_packed(model, packing)
            if is_own and is_told and not is_left:
                return model
            left = _LEFT if packing is not None and packing.bits == 4 and _has_states(model) else ()
            left = _LATENTS if is_left else left
            storage = Storage(name=pattern, packing=packing, compute=computes, kept=left)
            return model.with_(storage=storage)
    if re.search("bf16|bfloat16|f16|float16|fp16", told) and "quantization" not in told:
        return model.with_(storage=None)
    return model


def _has_states(model: Transformer) -> bool:
    """Whether some layers keep a state instead of a cache."""
    return any(isinstance(part, Scan) for block in model.blocks for part in block.parts)


def _as_packed(model: Transformer, packing: Packing | None) -> bool:
    """Whether the model ships in about as many bits as a format has."""
    if packing is None or _has_states(model):
        return False
    return bool(abs(model.weight_bytes() / model.params() * 8 - packing.bits) < 2)


def cache_bytes(told: str) -> float | None:
    """Bytes of a cached element, as engines name its type; None where they leave it to the model.

    >>> cache_bytes("q8_0"), cache_bytes("iq4_nl/f16"), cache_bytes("fp8_e4m3"), cache_bytes("auto")
    (1.0625, 1.28125, 1.0, None)
    """
    kinds = [each.strip() for each in told.lower().split("/") if each.strip()]
    sizes = [size for each in kinds for pattern, size in _CACHED if re.match(pattern, each)]
    return sum(sizes) / len(sizes) if sizes and len(sizes) == len(kinds) else None


_CACHED = (
    ("q8_0", 34 / 32),
    ("q4_0|iq4_nl", 18 / 32),
    ("q5_1", 24 / 32),
    ("q5_0", 22 / 32),
    ("q4_1", 20 / 32),
    ("(torch.)?float8|fp8", 1.0),
    ("(torch.)?float4|fp4|nvfp4", 9 / 16),
    ("(torch.)?(bfloat16|float16|half)|bf16|fp16|f16", 2.0),
    ("f32|(torch.)?float32|fp32", 4.0),
)

#: Memory that programs see, in GiB, where it is not the share of `costlib.model.engines.SHOWN`: by
#: pattern of a device's name. As engines' own logs print them; see engines.json for each source.
_SEEN = (
    (r"h100.*(80|sxm|pcie)?", 79.2),
    (r"h200", 139.8),
    (r"b200", 178.4),
    (r"l40s?\b", 44.5),
    (r"\bl20\b", 44.5),
    (r"gb10|dgx spark", 119.7),
    (r"a100.*40", 39.4),
    (r"a100", 79.2),
    (r"3090|4090", 23.55),
    (r"5090", 31.4),
    (r"r9700", 31.86),
    (r"rtx 5000 ada", 31.5),
    (r"1650", 4.0),
    (r"9070 xt", 15.9),
    (r"v100.*32", 31.7),
    (r"ascend 910", 61.0),
    (r"t4\b", 14.6),
    (r"a6000", 47.4),
    (r"mi300x", 191.7),
)


def shown_memory(device: str) -> float | None:
    """GiB that programs see of a device as a log names it; None where it is not known.

    >>> shown_memory("NVIDIA H100 80GB HBM3"), shown_memory("abacus") is None
    (79.2, True)
    """
    text = device.lower()[:_LONGEST]
    return next((size for pattern, size in _SEEN if re.search(pattern, text)), None)
