"""What engines print of their memory when they start, predicted: weights, tokens of cache.

A row of a table is one start of one engine: its settings, and what it said of weights and cache on
one device. `start_of` reads a row, or says in a sentence what it does not understand; `Start` then
predicts what was printed, by the rules of `costlib.model.engines`,

- the weights, from the model and its format;
- the tokens of the cache where the bytes left for it were printed too;
- and those tokens from the device and the settings alone.

Beside them stand two rivals: exact bytes, which know no pages; and exact bytes of one share of the
memory, the same for every start.

Left out: the layers of drafting models, of which a start says only that there are some.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from costlib.measured.heard import cache_bytes, in_format, known_model, shown_memory
from costlib.measured.tables import Unread
from costlib.model.engines import CONTEXT, DRAWN, ENGINES, SORTED, Engine, engine_of, kinds
from costlib.model.transformer import Transformer
from costlib.parallel import expert_parallel, tensor_parallel
from costlib.parallel.stages import stage_models
from costlib.units.precision import Precision

__all__ = [
    "CONSTANT_SHARE",
    "Pair",
    "Start",
    "carried_starts",
    "read_starts",
    "start_of",
]

_GIB = 2**30
#: The rival's share of the memory: all that is neither weights nor cache, as one number.
CONSTANT_SHARE = 0.85
#: What rows call engines, and the rule that stands for each.
_ENGINES = {"llama.cpp": "llama.cpp", "ik_llama.cpp": "llama.cpp"}
#: From these versions of vLLM on, more of a device is taken unless told, and what is printed as
#: tokens is the sequences that fit times their length.
_SHARE_RAISED, _TOKENS_CHANGED = (0, 22), (0, 20, 1)
#: From this one on logits are not sorted while tokens are drawn.
_DRAWS = (0, 17)


@dataclass(frozen=True, slots=True)
class Pair:
    """A number as it was printed, as it was predicted, and as the simplest rival predicts it."""

    printed: float
    predicted: float
    rival: float

    @property
    def error(self) -> float:
        """How far the prediction is off, as a share of what was printed."""
        return self.predicted / self.printed - 1

    @property
    def rival_error(self) -> float:
        """And the rival."""
        return self.rival / self.printed - 1


@dataclass(frozen=True, slots=True)
class Start:
    """A start of an engine: what a device has of the model, and what was said of it."""

    row: Mapping[str, str]
    engine: Engine
    name: str
    model: Transformer
    share: Transformer
    precision: Precision
    version: tuple[int, ...]

    @property
    def kind(self) -> str:
        """By what makes a cache more than tokens times a rate."""
        found = kinds(self.share, self.precision)
        if any(each.state for each in found):
            return "states"
        if any(each.window for each in found) and len(found) > 1:
            return "windows"
        return "latent" if self.share.mla is not None else "plain"

    @property
    def weights(self) -> float:
        """Bytes of the weights on one device.

        Where SGLang cuts attention by sequences or by tokens, embedding, dense layers and shared
        experts are whole on each device (python/sglang/srt/models/deepseek_v2.py, 0.5.9); the
        output head is cut like attention by sequences (--enable-dp-lm-head), else over all devices.
        """
        held = float(self.engine.weights(self.share, self._own))
        if self.engine.name == "sglang":  # up-projections of a latent once more, in 16 bits
            held += 2 * float(_expanding(self.share))
        many, devices = int(self.share.tensor_parallel), int(_number(self.row, "tp") or 1)
        if many >= devices:
            return held
        each = self.share.precision if self._own is None else self._own
        has_head = "attention" in self.row["ep_dp"] and self.row["dp_lm_head"] != "False"
        for step in self.share.steps():
            kept = float(step.parameters() * each.weights_in(step.name))
            if step.name.startswith(("embedding", "ffn.", "shared.")):
                held += (many - 1) * kept
            if step.name == "unembedding" and not has_head:
                held -= (1 - many / devices) * kept
        return held

    @property
    def _own(self) -> Precision | None:
        return None if self.share.storage is not None else self.precision

    @property
    def length(self) -> int:
        """Tokens that a sequence may have."""
        return max(1, int(_number(self.row, "max_model_len") or 4096))

    @property
    def shown(self) -> float | None:
        """GiB that the engine found: SGLang takes a share of what was free, and prints that."""
        free = re.match(r"before weights ([\d.]+) free", self.row["buffers"])
        if free and self.engine.name == "sglang":
            return float(free[1]) + CONTEXT / _GIB
        return _number(self.row, "total_gpu_gib") or shown_memory(self.row["device"])

    @property
    def share_told(self) -> float | None:
        """The share of the memory that the engine was told to take."""
        return _number(self.row, "memory_fraction")

    @property
    def pool(self) -> float | None:
        """Bytes that the engine had left for caches on one device, as it printed them."""
        left = _number(self.row, "kv_gib_per_gpu")
        return left * _GIB if left and left > 0 else None

    def weights_pair(self) -> Pair | None:
        """Weights of a device; of llama.cpp those of the file, from the bits that it names."""
        if self.engine.name == "llama.cpp":
            bits = re.search(r"\(([\d.]+) BPW\)", self.row["quote"])
            printed = _number(self.row, "file_gib")
            if not (bits and printed):
                return None
            predicted = self.share.params() * float(bits[1]) / 8
            return Pair(printed * _GIB, predicted, predicted)
        printed = _number(self.row, "weights_gib_per_gpu")
        if not printed:
            return None
        loaded = self.weights
        if self.engine.name == "sglang":  # a difference of free memory: the context counts
            loaded += self.engine.outside(self.share)
        return Pair(printed * _GIB, loaded, self.share.params() * 2)

    def tokens_pair(self) -> Pair | None:
        """Tokens of the cache, of the bytes that were left for it."""
        if self.engine.name == "llama.cpp":
            return self._cells()
        pool, printed = self.pool, _number(self.row, "kv_tokens")
        if not (pool and printed):
            return None
        return Pair(printed, self._tokens(pool), pool / self._exact())

    @property
    def unsettled(self) -> str:
        """Why device and settings alone do not say what was left for the cache; "" where they do.

        vLLM does not start where its cache has no room for one sequence of the greatest length.
        """
        engine = self.engine.name
        if engine == "llama.cpp":
            return "llama.cpp takes what the context asks for"
        if self.shown is None:
            return "how much memory the device has is not known"
        if self.share_told is None and engine == "sglang":
            return "SGLang's share follows from settings that are seldom printed"
        if self.share_told is None and engine == "vllm" and self._left < self._least:
            return "it started, which the share that vLLM takes unless told has no room for"
        return ""

    def settings_pair(self) -> Pair | None:
        """The same tokens, or where none were printed the bytes, from device and settings alone."""
        if self.unsettled:
            return None
        pool = max(self._left, self._least)
        plain = CONSTANT_SHARE * (self.shown or 0) * _GIB - self.weights
        tokens = _number(self.row, "kv_tokens")
        if tokens:
            return Pair(tokens, self._tokens(pool), plain / self._exact())
        return Pair(self.pool, pool, plain) if self.pool else None

    @property
    def _left(self) -> float:
        """Bytes that device and settings leave for the cache."""
        return float(self.engine.left((self.shown or 0) * _GIB, self.share, self.weights))

    @property
    def _least(self) -> float:
        """Bytes without which vLLM would not have started."""
        if self.engine.name != "vllm" or not self.row["max_model_len"]:
            return 0.0
        return float(self.engine.charged(self.share, self.length, self.precision))

    def sequences_pair(self) -> Pair | None:
        """Sequences of the greatest length, of the bytes that were left."""
        pool, printed = self.pool, _number(self.row, "max_concurrency")
        if not (pool and printed) or not self.row["max_model_len"]:
            return None
        found = self.engine.concurrency(self.share, pool, self.length, self.precision)
        return Pair(printed, float(found), pool / (self._exact() * self.length))

    def _tokens(self, pool: float) -> float:
        engine, precision = self.engine, self.precision
        if engine.name == "vllm" and self.version >= _TOKENS_CHANGED:
            many = engine.concurrency(self.share, pool, self.length, precision)
            return float(many * self.length)
        return float(engine.tokens(self.share, pool, precision))

    def _exact(self) -> float:
        """Bytes that a token of a sequence of the greatest length takes, on average."""
        return float(self.share.kv_bytes(1, self.length, self.precision)) / self.length

    def _cells(self) -> Pair | None:
        """llama.cpp: cells that a cache of the printed size has."""
        printed = _number(self.row, "kv_gib_total")
        cells = _number(self.row, "kv_tokens")
        if not (printed and cells):
            return None
        quote = self.row["quote"]
        streams = re.search(r"(\d+)/(\d+) seqs", quote)
        many = int(streams[2]) if streams else 1
        held = [each.token * each.layers for each in kinds(self.share, self.precision)]
        if self.share.mla is not None and "c^KV" not in quote:  # expanded keys and values
            mla, heads = self.share.mla, self.share.heads
            wide = heads * (mla.nope_dim + mla.rope_dim + mla.value_dim)
            charged = cells * wide * self.share.layers * self.precision.kv
        elif self.share.mla is not None and "kv^T (" in quote:  # the latent once more, transposed
            rank, rope = self.share.mla.kv_rank, self.share.mla.rope_dim
            charged = cells * sum(held) * (1 + rank / (rank + rope))
        else:
            states = sum(each.state * each.layers for each in kinds(self.share, self.precision))
            charged = self.engine.charged(self.share, cells, self.precision) - states
        exact = self.share.kv_bytes(1, int(cells), self.precision)
        size = printed * _GIB
        return Pair(cells, cells * many * float(charged) / size, cells * float(exact) / size)


@cache
def carried_starts() -> tuple[Mapping[str, str], ...]:
    """The starts that the book carries, each with its source.

    >>> {row["engine"].partition(" ")[0] for row in carried_starts()} >= {"vllm", "sglang"}
    True
    """
    file = Path(__file__).parent / "engines.json"
    return tuple(json.loads(file.read_text("utf-8"))["starts"])


def read_starts(
    rows: Iterable[Mapping[str, str]],
) -> tuple[list[Start], list[tuple[Mapping[str, str], str]]]:
    """Rows that are understood, and the others, each with a sentence that says why not.

    >>> understood, refused = read_starts([{"engine": "abacus", "model": "gpt2"}])
    >>> len(understood), refused[0][1]
    (0, "no rule is known for the engine 'abacus'")
    """
    found = [(row, _start_or_why(row)) for row in rows]
    refused = [(row, why) for row, why in found if isinstance(why, str)]
    return [start for _, start in found if isinstance(start, Start)], refused


def _start_or_why(row: Mapping[str, str]) -> Start | str:
    try:
        return start_of(row)
    except Unread as problem:
        return str(problem)


def start_of(row: Mapping[str, str], model: Transformer | None = None) -> Start:
    """A row as a start, or `costlib.measured.tables.Unread` with a sentence.

    Unless given, the model is the one of the catalogue that the row names.

    >>> row = {"engine": "vllm", "version": "0.12.0", "model": "openai/gpt-oss-20b"}
    >>> start_of(row | {"tp": "1", "kv_gib_per_gpu": "15.37", "kv_tokens": "335664"}).kind
    'windows'
    >>> start_of({"engine": "abacus", "model": "x"})
    Traceback (most recent call last):
        ...
    costlib.measured.tables.Unread: no rule is known for the engine 'abacus'
    """
    row = _filled(row)
    called = row["engine"].lower().partition("(")[0].strip()
    rule = _ENGINES.get(called, called)
    if rule not in ENGINES:
        raise Unread(f"no rule is known for the engine {row['engine']!r:.80}")
    name = known_model(row["model"]) if model is None else "your model"
    if name is None:
        raise Unread(f"no model of the catalogue is {row['model']!r:.120}")
    if row["speculative"] and rule == "vllm":
        raise Unread("a drafting model shares the cache, and its layers are not named")
    version = _version(row["version"])
    if rule == "vllm" and version < (0, 6):
        raise Unread(f"vLLM {row['version']!r:.40} is older than the rule")
    try:
        if model is None:
            model = in_format(name, f"{row['model']} {row['weights_dtype']}")
        share = _cut(model, row)
        kv = cache_bytes(row["kv_dtype"])
        own = model.precision if model.storage is not None else Precision()
        precision = own.with_(kv=2 if rule == "llama.cpp" else own.kv)
        precision = precision if kv is None else precision.with_(kv=kv)
        grows = any(each.token for each in kinds(share, precision))
        share.weight_bytes()
    except ValueError as problem:
        raise Unread(str(problem)) from problem
    if not grows:
        raise Unread("a model of states alone has no tokens of cache to compare")
    return Start(row, _as_told(rule, row, version), name, model, share, precision, version)


def _as_told(rule: str, row: Mapping[str, str], version: tuple[int, ...]) -> Engine:
    """An engine with the settings of a row, and those of its version where a row says nothing.

    Tables seldom say for how many sequences vLLM had room. Whoever fills a small device asks for
    fewer than the 256 that it has unless told: half as many are in the middle of what starts had.
    """
    shown = _number(row, "total_gpu_gib") or shown_memory(row["device"])
    engine = engine_of(rule, shown * _GIB if shown else None, row["device"])
    told: dict[str, Any] = {"share": _number(row, "memory_fraction")}
    if rule == "sglang":
        told["block"] = int(_number(row, "block_size") or 0)
    if rule == "vllm":
        is_small = engine.sequences == 256 and not row["max_num_seqs"]
        usual = engine.sequences // 2 if is_small else engine.sequences
        is_drawn = version >= _DRAWS or row["sampler"] == "FlashInfer"
        engine = engine.with_(
            share=0.92 if version >= _SHARE_RAISED else engine.share,
            logit=DRAWN if is_drawn else SORTED,
            sequences=usual,
        )
        told["sequences"] = int(_number(row, "max_num_seqs") or 0)
        told["chunk"] = int(_number(row, "max_num_batched_tokens") or 0)
    return engine.with_(**{name: value for name, value in told.items() if value and value > 0})


def _expanding(model: Transformer) -> Any:
    """Parameters that make keys and values of latents."""
    if model.mla is None:
        return 0
    each = model.mla.kv_rank * (model.mla.nope_dim + model.mla.value_dim)
    return model.layers * model.heads * each


def _filled(row: Mapping[str, str]) -> Mapping[str, str]:
    """A row with "" for all that it does not say, and flags of vLLM that are only in its notes."""
    notes = str(row.get("notes") or "")[:2000]
    found = re.findall(r"--(max-num-seqs|max-num-batched-tokens)[ =](\d{1,9})\b", notes)
    told = {name.replace("-", "_"): value for name, value in found}
    return defaultdict(str, told | {k: str(v) for k, v in row.items() if k and v})


def _cut(model: Transformer, row: Mapping[str, str]) -> Transformer:
    """What one device has: heads by tensor parallelism, experts by their own, and of a pipeline the
    layers of the last stage, which draws tokens and so has the least room.

    A model with an indexer whose experts SGLang deals to all devices has whole attention on each if
    none is data-parallel: prompts are cut by tokens then (--enable-nsa-prefill-context-parallel).
    """
    tensor, stages = (max(1, int(_number(row, name) or 1)) for name in ("tp", "pp"))
    dealt = re.search(r"ep=(\d+)", row["ep_dp"])
    copies = re.search(r"dp=(\d+) attention", row["ep_dp"])
    attention = max(1, tensor // max(1, int(copies[1]))) if copies else tensor
    experts = int(dealt[1]) if dealt else 1
    is_dealt = "sglang" in row["engine"].lower() and experts == tensor and not copies
    if is_dealt and _indexes(model) and row["by_tokens"] != "False":
        attention = 1
    if experts > attention:  # more devices hold experts than share a head: deal what is left
        model = expert_parallel(model, experts // attention)
    if stages > model.layers:
        raise ValueError(f"{model.layers} layers do not make {stages} stages")
    return stage_models(tensor_parallel(model, attention), stages)[-1][0]


def _indexes(model: Transformer) -> bool:
    """Whether an indexer picks the tokens that attention reads."""
    return any(getattr(part, "indexer", None) for block in model.blocks for part in block.parts)


def _number(row: Mapping[str, str], name: str) -> float | None:
    """The first number of a cell."""
    found = re.match(r"-?\d+(?:\.\d+)?", row[name].strip()[:40])
    return float(found[0]) if found else None


def _version(text: str) -> tuple[int, ...]:
    """The numbers of a version; a build of its makers' main branch is newer than all releases."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?(.{0,9})", text.strip()[:60])
    if not found or re.match(r"0\.1\.dev", text.strip()):
        return (99,) if found else (0, 10)
    numbers = [int(part) for part in found.groups()[:3] if part]
    if found[4].startswith((".dev", "rc")):
        numbers[-1] -= 1
    return tuple(numbers)
