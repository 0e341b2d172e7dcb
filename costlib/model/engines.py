"""Chapter 4: what inference engines charge for weights and caches, beside the bytes that they take.

An engine gives its cache a share of the memory, after weights and what a pass needs, and divides it
into pages, windows with room for a prompt's next chunk, and states. `Engine` says how much memory
the caches get and what a sequence is charged; one of `ENGINES` for each of four engines, each a
rule in a sentence about the version that it names.

- vLLM: layers of a kind form groups as large as the rarest kind, the last one padded; every page is
  as large as the largest, and of each group a sequence takes ⌈tokens / block⌉ pages.
- SGLang: one pool of tokens: a token takes its full layers' bytes and 0.8 of its windowed layers';
  states have a pool of their own, 0.9 bytes for every byte of tokens, three for each request.
- llama.cpp: every sequence has its cells from the start: the context in full layers, the window and
  one micro-batch in others, rounded up to 256; states in 32 bits.
- TensorRT-LLM: blocks of 32 tokens from 0.9 of what weights and a pass leave free.

Read in vLLM's vllm/v1/core/kv_cache_utils.py (001cabc1be16) and platforms/interface.py, SGLang's
srt/model_executor/model_runner_kv_cache_mixin.py (001ccef0072a), llama.cpp's
src/llama-kv-cache-iswa.cpp (02c28f533ebb), and of TensorRT-LLM in its log alone.

vLLM's sorting of logits in vllm/v1/sample/ops/topk_topp_sampler.py and its pull requests 26859,
33538 and 40376, its defaults in vllm/engine/arg_utils.py.

Left out: memory that other programs hold; graphs, which newer releases of vLLM take off too;
drafting models; images; caches that keep one entry for several tokens, which each engine lays out
in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.layers.scans import Scan
from costlib.model.catalog.lookup import named
from costlib.units.numbers import Number, ceil_div, is_one, is_zero, maximum, minimum, size
from costlib.units.precision import Precision, precision_of

__all__ = [
    "CONTEXT",
    "DRAWN",
    "ENGINES",
    "SHOWN",
    "SORTED",
    "Engine",
    "LayerKind",
    "engine_of",
    "kinds",
]

#: The share of a device's memory that programs see: 79.18 of an H100's 80 GiB, 39.39 of 40, 23.57
#: of 24, 139.8 of 141. Where it corrects errors in that memory, as on an L40S (44.52 of 48), less.
SHOWN = 0.985

_GIB = 2**30
#: What a process holds on a device before it loads anything: its context and libraries.
CONTEXT = 0.13 * _GIB
#: The same with others to send to: buffers of the collectives too. On AMD's devices, whose
#: libraries are larger, starts of vLLM held as much alone.
_JOINED = 0.55 * _GIB
_AMD = ("AMD", "Radeon", "MI2", "MI3")
#: The same where host and device share a memory: vLLM counts what is free in both as one, and its
#: own process takes some while it starts. Starts on a GB10 took 1.3 GiB and more beside a context.
_HOSTED = CONTEXT + 2 * _GIB
_UNIFIED = ("GB10", "Spark", "Thor", "Orin")
#: Bytes for each logit while vLLM draws tokens from a whole batch: the logit in 16 bits (2) and in
#: 32 (4), and its probability (4). Until 0.16 logits were sorted with their places (4 + 8) through
#: buffers of as much again (4 + 8), beside the places to begin with (8), and no probability was
#: kept, unless FlashInfer drew: starts show both for several vocabularies.
DRAWN, SORTED = 10, 38


@dataclass(frozen=True, slots=True)
class LayerKind:
    """Layers that keep alike of a sequence, each: bytes a token, up to a window, and of a state."""

    layers: Any
    token: Any = 0
    window: Any = None
    state: Any = 0


def kinds(
    model: Any, precision: Precision | str | None = None, *, states: int = 4
) -> list[LayerKind]:
    """The kinds of layers of a model, or of one device's share. ``states``: bytes of an element.

    >>> from costlib import models
    >>> [(each.layers, each.token, each.window) for each in kinds(models["gpt-oss-20b"])]
    [(12, 2048, 128), (12, 2048, None)]
    """
    model = named("model", model)
    width = (model.precision if precision is None else precision_of(precision)).kv
    found: dict[Any, Any] = {}
    for block in model.blocks:
        token: Any = 0
        window: Any = None
        state: Any = 0
        for part in block.parts:
            for cache in part.caches:
                if not is_one(cache.every):
                    raise ValueError(
                        "how engines lay out a cache with one entry for several tokens is not known"
                    )
                if not is_zero(cache.per_token):
                    token = token + cache.per_token * width
                    window = cache.window
            if isinstance(part, Scan):
                kept = part.recurrence
                state = state + kept.state * states
                state = state + kept.channels * maximum(0, kept.kernel - 1) * width
        if not (is_zero(token) and is_zero(state)):
            alike = (token, window, state)
            found[alike] = found.get(alike, 0) + block.layers
    return [LayerKind(layers, *alike) for alike, layers in found.items()]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine with its settings; ``with_`` changes them.

    ``version`` is the one that the rule was read from. ``share`` is its setting for how much of the
    memory it may take, ``setting`` that setting's name; ``block`` the tokens of a page, ``chunk``
    of a prompt that a pass reads at once, ``sequences`` that it may run at once; ``logit`` the
    bytes that each logit takes while tokens are drawn, where the engine reserves them; ``held``
    those that it holds on such a device before it loads anything.
    """

    name: str
    version: str
    setting: str
    share: float
    block: int
    chunk: int
    sequences: int
    logit: int = 0
    held: Any = CONTEXT

    def with_(self, **changes: Any) -> Engine:
        """The same engine with other settings.

        >>> ENGINES["vllm"].with_(share=0.95).share
        0.95
        """
        return replace(self, **changes)

    # ------------------------------------------------------------ memory for caches

    def given(self, model: Any, memory: Any, precision: Precision | str | None = None) -> Any:
        """Bytes of a device's memory that are left for caches, below 0 where weights do not fit.

        >>> from costlib import devices, models
        >>> left = ENGINES["vllm"].given(models["llama-3.1-8b"], devices["A100-40GB"].capacity)
        >>> round(left / 2**30, 1)
        20.1
        """
        model = named("model", model)
        return self.left(memory * SHOWN, model, self.weights(model, precision))

    def weights(self, model: Any, precision: Precision | str | None = None) -> Any:
        """Bytes of the weights as they are loaded: vLLM pads experts in MXFP4, their inputs to
        multiples of 256 and their widths to multiples of 128.

        >>> from costlib import models
        >>> model = models["gpt-oss-20b"]
        >>> round(model.weight_bytes() / 2**30, 2), round(ENGINES["vllm"].weights(model) / 2**30, 2)
        (12.82, 13.67)
        """
        model = named("model", model)
        held = model.weight_bytes(precision)
        storage = model.storage
        packed = storage.experts if storage is not None and precision is None else None
        if self.name != "vllm" or packed is None or packed.beside != 1 / 32:
            return held
        for step in model.steps():
            if step.name.startswith("experts.") and step.is_matmul:
                each = step.weights // step.times
                width = each // model.d_model
                padded = ceil_div(model.d_model, 256) * 256 * ceil_div(width, 128) * 128
                many = step.parameters() // each
                held = held + many * (padded - each) * (packed.bits / 8 + packed.beside)
        return held

    def left(self, shown: Any, model: Any, weights: Any) -> Any:
        """The same, of the memory that programs see and of weights as they were loaded."""
        if self.name == "sglang":  # a share of what was free; what a pass needs is outside of it
            return self.share * (shown - CONTEXT) - weights - self.outside(model)
        rest = shown - weights - self.outside(model) - self.needed(model)
        if self.name == "tensorrt-llm":  # a share of what is still free
            return self.share * rest
        return rest - (1 - self.share) * shown

    def outside(self, model: Any) -> Any:
        """Bytes that a process holds before it loads anything."""
        experts = [
            getattr(part, "expert_parallel", 1) for each in model.blocks for part in each.parts
        ]
        is_alone = all(is_one(many) for many in (model.tensor_parallel, *experts))
        return self.held if is_alone else maximum(self.held, _JOINED)

    def needed(self, model: Any) -> Any:
        """Bytes that a pass needs beside weights and caches."""
        logits = model.vocab * model.tensor_parallel
        if self.name == "llama.cpp":  # of every token of a micro-batch, in 32 bits
            return self.chunk * logits * 4
        wide = self.chunk * (model.d_model + _widest(model)) * 2
        return maximum(wide, self.sequences * logits * self.logit)

    # ------------------------------------------------------------ what a sequence is charged

    def charged(self, model: Any, context: Number, precision: Precision | str | None = None) -> Any:
        """Bytes that a sequence of ``context`` tokens takes of the memory for caches.

        >>> from costlib import models
        >>> gemma = models["gemma-3-27b"]
        >>> exact = gemma.kv_bytes(1, 16384)
        >>> [round(each.charged(gemma, 16384) / exact, 2) for each in ENGINES.values()]
        [1.61, 3.89, 1.12, 1.0]
        """
        found, context = kinds(model, precision), size("context", context)
        if self.name == "vllm":
            layout = paged(found, self.block)
            return layout.bytes * layout.of(context, self.chunk)
        if self.name == "sglang":
            return self._pooled(found, context)
        total: Any = 0
        for each in found:
            held = context
            if each.window is not None:
                held = minimum(context, each.window + self.chunk * (self.name == "llama.cpp"))
            total = total + each.layers * each.token * ceil_div(held, self.block) * self.block
            total = total + each.layers * each.state
        return total

    def _pooled(self, found: list[LayerKind], context: Any) -> Any:
        """SGLang: what binds, tokens of the full layers, of the windows, or states."""
        rate, state = _rates(found)
        tokens = context
        for each in found:
            if each.window is not None:  # a shorter sequence fills the smaller pool first
                tokens = maximum(tokens, minimum(context, each.window) / _WINDOWED)
        if is_zero(state):
            return tokens * rate
        by_states = _STATES_EACH * state * (1 + 1 / _STATES)
        return maximum(tokens * rate * (1 + _STATES), by_states)

    # ------------------------------------------------------------ what it prints

    def tokens(self, model: Any, pool: Any, precision: Precision | str | None = None) -> Any:
        """The tokens that the engine says its cache has, if it has ``pool`` bytes.

        >>> from costlib import models
        >>> ENGINES["vllm"].tokens(models["gpt-oss-20b"], 12.94 * 2**30)
        282672
        """
        found = kinds(model, precision)
        if self.name == "vllm":
            layout = paged(found, self.block)
            return int(pool // layout.bytes) // layout.groups * layout.tokens
        if self.name == "sglang":
            rate, _ = _rates(found)
            return int(pool / rate) // self.block * self.block
        each: Any = 0
        for kind in found:
            each = each + kind.layers * kind.token
        return int(pool / each) // self.block * self.block

    def concurrency(
        self, model: Any, pool: Any, context: Number, precision: Precision | str | None = None
    ) -> Any:
        """Sequences of ``context`` tokens for which a cache of ``pool`` bytes has room, not
        rounded.

        >>> from costlib import models
        >>> pool = 12.94 * 2**30
        >>> round(ENGINES["vllm"].concurrency(models["gpt-oss-20b"], pool, 8192), 1)
        54.4
        """
        return pool / self.charged(model, context, precision)


#: SGLang's --swa-full-tokens-ratio, --mamba-full-memory-ratio, and states kept for each request.
_WINDOWED, _STATES, _STATES_EACH = 0.8, 0.9, 3


def _rates(found: list[LayerKind]) -> tuple[Any, Any]:
    """Bytes that a token takes of SGLang's pools, and a sequence's states."""
    is_mixed = any(each.window is None and each.token for each in found)
    rate: Any = 0
    state: Any = 0
    for each in found:
        share = 1 if each.window is None or not is_mixed else _WINDOWED
        rate = rate + share * each.layers * each.token
        state = state + each.layers * each.state
    return rate, state


def _widest(model: Any) -> Any:
    """The most activations per token that one step inside the layers reads and writes."""
    widest: Any = 0
    for step in model.steps():
        if step.name != "unembedding":
            widest = maximum(widest, (step.reads + step.writes + step.kv_writes) // step.times)
    return widest


@dataclass(frozen=True, slots=True)
class Paged:
    """vLLM's layout: bytes of a page in all layers of a group, how many groups there are, the least
    tokens of a page, and for each kind of layers its groups and the tokens of its pages.
    """

    bytes: Any
    groups: int
    tokens: Any
    each: tuple[tuple[LayerKind, int, Any], ...]

    def of(self, context: Any, chunk: int) -> Any:
        """Pages of a sequence, while the next chunk of its prompt is prefilled."""
        pages: Any = 0
        for kind, groups, tokens in self.each:
            if is_zero(kind.token):
                taken: Any = 1
            elif kind.window is None:
                taken = ceil_div(context, tokens)
            else:
                taken = ceil_div(minimum(context, kind.window - 1 + chunk), tokens) + 1
            pages = pages + groups * taken
        return pages


def paged(found: list[LayerKind], block: int) -> Paged:
    """vLLM's groups and pages for these kinds of layers.

    >>> from costlib import models
    >>> layout = paged(kinds(models["gemma-3-27b"]), 16)  # 10 full layers, and 52 in groups of 10
    >>> layout.groups, layout.bytes == 10 * 16 * 2 * 16 * 128 * 2
    (7, True)
    """
    windows = {each.window for each in found}
    if len(windows) <= 1 and all(is_zero(each.state) for each in found):  # one group, any widths
        whole = sum(each.layers * each.token for each in found)
        return Paged(block * whole, 1, block, ((LayerKind(1, whole, *windows), 1, block),))
    rarest = min(each.layers for each in found)
    most = max(each.layers for each in found)
    group = most if most < 1.5 * rarest else rarest
    widest = max(each.token for each in found)
    if is_zero(widest):  # states alone: a page is one
        page = max(each.state for each in found)
    else:
        of_state = max(each.state for each in found)
        page = widest * block * maximum(1, ceil_div(of_state, widest * block))
    each_kind = []
    for each in found:
        tokens = block if is_zero(each.token) else page // each.token
        each_kind.append((each, ceil_div(each.layers, group), tokens))
    groups = sum(row[1] for row in each_kind)
    fewest = min([tokens for each, _, tokens in each_kind if not is_zero(each.token)] or [block])
    return Paged(page * group, groups, fewest, tuple(each_kind))


#: Engines by name, with the settings that they have unless told.
ENGINES = {
    "vllm": Engine("vllm", "0.20", "--gpu-memory-utilization", 0.9, 16, 2048, 256, DRAWN),
    "sglang": Engine("sglang", "0.5.9", "--mem-fraction-static", 0.88, 1, 8192, 2048),
    "llama.cpp": Engine("llama.cpp", "b8000", "--ctx-size", 1.0, 256, 512, 1),
    "tensorrt-llm": Engine("tensorrt-llm", "1.0", "free_gpu_memory_fraction", 0.9, 32, 8192, 2048),
}


def engine_of(value: Any, memory: Number | None = None, device: str = "") -> Engine:
    """An engine as it came, or by its name: with the settings that it takes on such a device.

    >>> engine_of("vLLM").sequences, engine_of("vllm", 80 * 2**30, "H100-SXM").sequences
    (256, 1024)
    >>> engine_of("vllm", 128 * 2**30, "DGX-Spark").sequences  # vLLM cannot read its memory
    256
    >>> engine_of("ollama")
    Traceback (most recent call last):
        ...
    ValueError: engine must be one of vllm, sglang, llama.cpp, tensorrt-llm, got 'ollama'
    """
    if isinstance(value, Engine):
        return value
    name = value.lower() if isinstance(value, str) else value
    if name not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {value!r:.200}")
    found = ENGINES[name]
    if name != "vllm":
        return found
    if any(each in device for each in _UNIFIED):
        return found.with_(held=_HOSTED)
    if any(each in device for each in _AMD):
        found = found.with_(held=_JOINED)
    if memory is not None and memory >= 70 * _GIB and "A100" not in device:
        return found.with_(chunk=8192, sequences=1024)
    return found
