"""Measurements that others published, each as work that costlib can predict.

The rows are in measurements.json, each with its source. A row says what ran (a model, a
batch, a prompt; or the sizes of one product), on what, and what was measured. Its `measurement` is
the ledger of that work and the seconds it took.

Left out: what the sources leave out. gpt-fast limited the power of its devices, some benchmarks
read their operands again and again from a cache, and one table is rounded to the millisecond.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

from costlib.layers.attention import attention
from costlib.layers.matmul import linear
from costlib.measured.calibration import Measurement, calibrate, error
from costlib.model.catalog import device_of, devices, models
from costlib.model.transformer import Transformer
from costlib.parallel import tensor_parallel
from costlib.units.device import Device
from costlib.units.ledger import Ledger, Op
from costlib.units.precision import Precision, grouped

__all__ = [
    "KEPT",
    "KINDS",
    "REGIMES",
    "Prediction",
    "Row",
    "Split",
    "fused",
    "held_out",
    "published",
    "regime_errors",
    "sources",
    "splits",
]

_FILE = Path(__file__).parent / "measurements.json"
_SECONDS = {"ms": 1e-3, "µs": 1e-6}

#: FLOPs of attention's forward and backward pass together, for each of the forward pass.
ATTENTION_TRAINING = 3.5


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure: ``facts`` as they stand in the file, and the work they describe.

    >>> [row] = published(source="gpt-fast", model="llama-3.1-8b", gpus=1, weight_bits=16)
    >>> row["value"], row["unit"], round(row.measurement.seconds * 1e3, 2)
    (93.89, 'tokens/s', 10.65)
    """

    facts: Mapping[str, Any]
    measurement: Measurement = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A fact, or the default if the row does not have it."""
        return self.facts.get(name, default)

    @property
    def device(self) -> Device:
        """The ideal device of the catalogue."""
        return devices[self.facts["device"]]


def published(kind: str | None = None, **facts: Any) -> list[Row]:
    """The rows of a kind with these facts, in the order of the file; a tuple means any of these.

    >>> len(published("generate", model="gpt-6.7b")), len(published("gemm", device="H100-SXM")) > 30
    (14, True)
    >>> published("generate", model=("gpt-6.7b", "gpt-350m"), batch=64, prompt=128)[0]["value"]
    718.07
    >>> published("speed")
    Traceback (most recent call last):
        ...
    ValueError: kind must be one of decode, generate, prefill, gemm, attention_decode, \
attention_prefill, attention_training, training, got 'speed'
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    wanted = {**facts, **({} if kind is None else {"kind": kind})}

    def fits(row: Row) -> bool:
        return all(
            row.get(name) in value if isinstance(value, tuple) else row.get(name) == value
            for name, value in wanted.items()
        )

    return [row for row in _rows() if fits(row)]


def sources() -> dict[str, dict[str, str]]:
    """Where the rows come from: title, address, version and what to know of each.

    >>> sources()["llama"]["url"]
    'https://arxiv.org/abs/2302.13971'
    """
    found: dict[str, dict[str, str]] = _content()["sources"]
    return found


def fused(ledger: Ledger, name: str) -> Op:
    """The ops of a ledger as one kernel: the same FLOPs and elements, launched once.

    >>> fused(attention(1, 1024, 32, 128, scores="on-chip"), "flash").count
    1
    """
    return Op(
        name,
        ledger.flops,
        ledger.elements_read,
        ledger.elements_written,
        is_matmul=any(op.is_matmul for op in ledger),
    )


@cache
def _content() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


@cache
def _rows() -> tuple[Row, ...]:
    return tuple(Row(facts, KINDS[facts["kind"]](facts)) for facts in _content()["rows"])


@cache
def _model(name: str) -> Transformer:
    """A model of the catalogue, or one of NVIDIA's GPTs, whose tables give its sizes."""
    sizes = _content()["models"].get(name)
    if sizes is None:
        known: Transformer = models[name]
        return known
    return Transformer(
        **sizes,
        gated=False,
        activation="gelu_tanh",
        norm="layer_norm",
        biases=("qkv", "o_proj", "ffn"),
        positions=2048,
        rotary_dim=0,
    )


def _precision(facts: Mapping[str, Any]) -> Precision:
    """16 bits, or fewer for weights; 4-bit ones have two numbers of 16 bits for each 32."""
    bits = facts.get("weight_bits", 16)
    weights = {16: 2, 8: 1, 4: grouped(4, 32, scale_bits=16, zero_bits=16)}[bits]
    return Precision(weights=weights, compute=facts["dtype"])


def _measured(facts: Mapping[str, Any], work: Ledger | Op, seconds: float, steps: int = 1) -> Any:
    names = ("source", "device", "framework", "model", "batch", "prompt", "new", "context", "m")
    name = " ".join(f"{key} {facts[key]}" for key in names if key in facts)
    return Measurement(work, seconds, _precision(facts), steps, name)


def _seconds(facts: Mapping[str, Any], tokens: int = 0) -> float:
    """What a row took: its value, or as long as so many tokens at its rate."""
    value, unit = float(facts["value"]), facts["unit"]
    return tokens / value if unit == "tokens/s" else value * _SECONDS[unit]


def _decode(facts: Mapping[str, Any]) -> Any:
    share = tensor_parallel(_model(facts["model"]), facts["gpus"])
    work = share.decode(facts["batch"], facts["context"], scores="on-chip")
    return _measured(facts, work, _seconds(facts, facts["batch"]))


def _generate(facts: Mapping[str, Any]) -> Any:
    batch, prompt, new = facts["batch"], facts["prompt"], facts["new"]
    share = tensor_parallel(_model(facts["model"]), facts["gpus"])
    work = share.generate(batch, prompt, new, scores="materialised")
    return _measured(facts, work, _seconds(facts, batch * new), new)


def _prefill(facts: Mapping[str, Any]) -> Any:
    share = tensor_parallel(_model(facts["model"]), facts["gpus"])
    work = share.prefill(facts["batch"], facts["prompt"], logits="last", scores="materialised")
    return _measured(facts, work, _seconds(facts))


def _gemm(facts: Mapping[str, Any]) -> Any:
    work = linear(facts["m"], facts["k"], facts["n"], name="gemm")
    return _measured(facts, work, _seconds(facts))


def _attention(facts: Mapping[str, Any], seq: int, context: int) -> Any:
    work = attention(
        facts["batch"],
        seq,
        facts["heads"],
        facts["head_dim"],
        kv_heads=facts["kv_heads"],
        context=context,
        causal=True,
        scores="on-chip",
    )
    return _measured(facts, fused(work, "attention"), _seconds(facts))


def _attention_training(facts: Mapping[str, Any]) -> Any:
    batch, seq, heads, width = (facts[n] for n in ("batch", "prompt", "heads", "head_dim"))
    counted = (
        4 * batch * seq**2 * heads * width * ATTENTION_TRAINING / (2 if facts["causal"] else 1)
    )
    ledger = attention(batch, seq, heads, width, causal=facts["causal"], scores="on-chip")
    once = fused(ledger.where(lambda op: op.is_matmul), "attention")
    reads, writes = once.elements_read * 3, once.elements_written * 3  # forward, and gradients
    work = Op(once.name, once.flops * ATTENTION_TRAINING, reads, writes, is_matmul=True)
    return _measured(facts, work, counted / (facts["value"] * 1e12))


def _training(facts: Mapping[str, Any]) -> Any:
    batch, seq = facts["batch"], facts["prompt"]
    work = _model(facts["model"]).training_step(batch, seq, scores="on-chip")
    share = batch * seq / facts["tokens"]  # of the run, that this work is
    return _measured(facts, work, facts["value"] * 3600 * share)


#: What a row can be, and what makes a measurement of it.
KINDS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "decode": _decode,
    "generate": _generate,
    "prefill": _prefill,
    "gemm": _gemm,
    "attention_decode": lambda facts: _attention(facts, 1, facts["context"] + 1),
    "attention_prefill": lambda facts: _attention(facts, facts["prompt"], facts["prompt"]),
    "attention_training": _attention_training,
    "training": _training,
}

_GPUS = ("A100-80GB", "H100-SXM", "B200")
_NEW = {"A100-80GB": "SGLang 0.5.10", "H100-SXM": "SGLang 0.5.14", "B200": "SGLang 0.5.14"}
_SHORT = ((20, 8), (128, 20), (80, 200))  # prompt and new tokens

#: What single products tell of a device, for fits to whole models at level "shaped".
KEPT = ("overhead_per_op", "blend", "edge")


@dataclass(frozen=True, slots=True, eq=False)  # by identity, so that fits can be remembered
class Split:
    """Rows to fit on and rows to report on, never the same, all on one device.

    ``kept`` is products: what they tell is kept when level "shaped" is fitted to whole models.
    """

    fit: list[Row]
    held: list[Row]
    kept: list[Row] = field(default_factory=list)

    @property
    def swapped(self) -> Split:
        """Fitted on what was held out, and the other way round."""
        return _swapped(self)

    def devices(self) -> dict[str, Device]:
        """The device at each level: ideal, calibrated, shaped."""
        return dict(_levels(self))


@cache
def _swapped(split: Split) -> Split:
    return Split(split.held, split.fit, split.kept)


@cache
def _levels(split: Split) -> dict[str, Device]:
    ideal, rows = split.held[0].device, [row.measurement for row in split.fit]
    plain = calibrate(ideal, rows)
    if not split.kept:
        shaped = calibrate(ideal, rows, level="shaped")
    else:
        told = calibrate(ideal, [row.measurement for row in split.kept], level="shaped")
        shaped = calibrate(told, rows, level="shaped", keep=KEPT)
    return {"ideal": ideal, "calibrated": plain, "shaped": shaped}


@dataclass(frozen=True, slots=True)
class Prediction:
    """One row that was not fitted, and the seconds that each level predicts for it."""

    row: Row
    seconds: Mapping[str, float]

    @property
    def measured(self) -> float:
        """Seconds as published."""
        return self.row.measurement.seconds

    def error(self, level: str) -> float:
        """Predicted over measured, minus 1."""
        return error(self.seconds[level], self.measured)


def splits(regime: str, device: Device | str | None = None) -> list[Split]:
    """The splits of a regime, one for each device; they are fixed, and say what was held out.

    With a device, its own split alone.

    >>> [split] = splits("GPT 20B requests")
    >>> sorted({(row["prompt"], row["new"]) for row in split.held})
    [(60, 20), (200, 200)]
    >>> [len(split.fit) for split in splits("products")]
    [21, 22, 20]
    >>> splits("products", "T4")
    Traceback (most recent call last):
        ...
    ValueError: products were measured on A100-80GB, H100-SXM, B200, not on T4
    """
    if regime not in REGIMES:
        raise ValueError(f"regime must be one of {', '.join(REGIMES)}, got {regime!r}")
    found = _splits(regime)
    if device is None:
        return [*found.values()]
    name = device_of(device).name
    if name not in found:
        raise ValueError(f"{regime} were measured on {', '.join(found)}, not on {name}")
    return [found[name]]


@cache
def _splits(regime: str) -> dict[str, Split]:
    return {split.held[0]["device"]: split for split in REGIMES[regime]()}


def held_out(regime: str, swapped: bool = False) -> list[Prediction]:
    """Every row of a regime that was not fitted, with its prediction at each level.

    Swapped, the rows that were fitted, with what the others tell.

    >>> first = held_out("training")[0]
    >>> first.row["model"], round(first.error("ideal"), 2)
    ('llama-7b', -0.53)
    """
    splits(regime)  # refuses a name that is none
    return list(_held_out(regime, swapped))


@cache
def _held_out(regime: str, swapped: bool) -> tuple[Prediction, ...]:
    found = []
    for one_way in splits(regime):
        split = one_way.swapped if swapped else one_way
        levels = split.devices()
        for row in split.held:
            seconds = {name: row.measurement.predicted(device) for name, device in levels.items()}
            found.append(Prediction(row, seconds))
    return tuple(found)


def regime_errors(regime: str) -> dict[str, float]:
    """The median error without its sign at each level, on the rows that were not fitted.

    >>> regime_errors("products")["calibrated"] < 0.15
    True
    """
    found = held_out(regime)
    return {level: median(abs(each.error(level)) for each in found) for level in found[0].seconds}


def _products(device: str, k: int | tuple[int, ...]) -> list[Row]:
    return published("gemm", device=device, framework=_NEW[device], k=k)


def _split_products() -> list[Split]:
    return [Split(_products(device, 4096), _products(device, 8192)) for device in _GPUS]


def _split_older() -> list[Split]:
    older = published("gemm", device="H100-SXM", framework="SGLang 0.5.6.post2")
    return [Split(_products("H100-SXM", (4096, 8192)), older)]


def _split_attention(kind: str) -> list[Split]:
    return [
        Split(*(published(kind, device=device, heads=heads) for heads in (32, 64)))
        for device in _GPUS
    ]


def _split_flash() -> list[Split]:
    short = published("attention_training", prompt=(512, 1024, 2048))
    return [Split(short, published("attention_training", prompt=(4096, 8192, 16384)))]


def _on_a100(fit: list[Row], held: list[Row]) -> list[Split]:
    return [Split(fit, held, _products("A100-80GB", 4096))]


def _split_decode() -> list[Split]:
    rows = published("decode", source="gpt-fast", device="A100-80GB")
    known = [row for row in rows if row["model"] == "llama-2-7b"]
    return _on_a100(known, [row for row in rows if row["model"] != "llama-2-7b"])


def _gpt_20b(is_short: bool) -> list[Row]:
    rows = published("generate", model="gpt-20b")
    return [row for row in rows if ((row["prompt"], row["new"]) in _SHORT) == is_short]


def _split_requests() -> list[Split]:
    return _on_a100(_gpt_20b(True), _gpt_20b(False))


def _split_carried(model: str) -> list[Split]:
    return _on_a100(_gpt_20b(True), published("generate", model=model))


def _from_products(held: list[Row]) -> list[Split]:
    return [Split(_products("A100-80GB", (4096, 8192)), held)]


def _split_tensorrt() -> list[Split]:
    return _from_products(published(source="tensorrt-llm"))


#: Every regime that the chapter reports on, and what makes its splits.
REGIMES: dict[str, Callable[[], list[Split]]] = {
    "products": _split_products,
    "products, other version": _split_older,
    "attention of a prompt": partial(_split_attention, "attention_prefill"),
    "attention of a step": partial(_split_attention, "attention_decode"),
    "flash attention, training": _split_flash,
    "decode, batch 1": _split_decode,
    "GPT 20B requests": _split_requests,
    "carried to GPT 6.7B": partial(_split_carried, "gpt-6.7b"),
    "carried to GPT 350M": partial(_split_carried, "gpt-350m"),
    "TensorRT-LLM": _split_tensorrt,
    "training": lambda: _from_products(published("training")),
}
