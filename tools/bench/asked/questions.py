"""The ten questions, the rows that each is asked for, and what others measured or counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from costlib.measured import plan_rows, published, served_rows
from costlib.model.catalog import models
from tools import ROOT

Row = dict[str, Any]

#: What a card of 80 GiB gives out, once a tenth is kept back, as servers do unless told otherwise.
GIVEN = 72 * 2**30
PRICE = 3.99  # dollars for an hour of an H100, as good as any other


@dataclass(frozen=True)
class Question:
    """One question: in words, the unit of its answer, its rows, and who says what is right.

    A row holds what a program is told, and under ``value`` what was measured or counted of it. All
    rows ``at_once``, if the question is for a table.
    """

    key: str
    words: str
    unit: str
    source: str
    make: Callable[[], list[Row]]
    at_once: bool = False

    @property
    def rows(self) -> list[Row]:
        """What is asked, and what is right."""
        return _rows_of(self.key)


@cache
def _rows_of(key: str) -> list[Row]:
    return QUESTIONS[key].make()


@cache
def _counted() -> Mapping[str, Any]:
    """Parameters that transformers counted, of models of the catalogue."""
    found: Mapping[str, Any] = json.loads((ROOT / "tests/data/released.json").read_text("utf-8"))
    return found


def _kept(model: str) -> int:
    """Bytes of cache of a token in 16 bits, by the published config alone: keys and values."""
    config = models.provenance(model)["config"]["value"]
    heads = config["num_key_value_heads"] * config["hidden_size"] // config["num_attention_heads"]
    return int(2 * 2 * config["num_hidden_layers"] * heads)


def _fits() -> list[Row]:
    asked = [("llama-2-7b", 4096), ("llama-3.1-8b", 8192), ("mixtral-8x7b", 8192)]
    return [
        {
            "model": model,
            "context": context,
            "value": 2 * _counted()[model]["params"] + context * _kept(model),
        }
        for model, context in asked
    ]


def _batch() -> list[Row]:
    return [
        row | {"value": (GIVEN - 2 * _counted()[row["model"]]["params"]) // of_one}
        for row in _fits()[:2]
        if (of_one := row["context"] * _kept(row["model"]))
    ]


def _decode() -> list[Row]:
    return [row for row in _steps() if row["bits"] == 16]


def _quantised() -> list[Row]:
    return [row for row in _steps() if row["bits"] < 16]


def _steps() -> list[Row]:
    rows = published("decode", source="gpt-fast", device="A100-80GB")
    return [
        {
            "model": row["model"],
            "context": row["context"],
            "bits": row["weight_bits"],
            "value": row["value"],
        }
        for row in rows
        if row["gpus"] == 1
    ]


def _prefill() -> list[Row]:
    rows = published("prefill", source="tensorrt-llm")
    return [{"model": "llama-2-7b", "prompt": row["prompt"], "value": row["value"]} for row in rows]


def _training(metric: str) -> list[Row]:
    """BigScience's rows that say what lay in memory: those that are shared evenly."""
    rows = [row for row in plan_rows("bigscience") if "memory GB" in row.measured]
    return [
        {
            "layers": row.model.layers,
            "width": row.model.d_model,
            "heads": row.model.heads,
            "vocab": row.model.vocab,
            "devices": row.devices,
            "tensor": row.tensor,
            "pipeline": row.pipeline,
            "data": row.data,
            "zero": row.zero,
            "microbatch": row.microbatch,
            "batch": row.batch,
            "seq": row.seq,
            "value": row.measured[metric] * (1e9 if metric == "memory GB" else 1),
        }
        for row in rows
        if row.batch % (row.data * row.microbatch) == 0
        and row.model.layers % row.pipeline == 0
        and row.model.d_model % row.model.heads == 0
    ]


def _mixture() -> list[Row]:
    return [
        {"model": "mixtral-8x7b", "which": which, "value": _counted()["mixtral-8x7b"][which]}
        for which in ("params", "active")
    ]


def _price() -> list[Row]:
    rows = served_rows("TRT-LLM perf overview v1.0: Llama 3.1 8B")
    return [
        {
            "model": "llama-3.1-8b",
            "prompt": int(row.facts["input_len"]),
            "answer": int(row.facts["output_len"]),
            "per_hour": PRICE,
            "value": PRICE / 3600 / row.value * 1e6,
        }
        for row in rows
        if row.facts["device"].startswith("H100")
    ]


def _sweep() -> list[Row]:
    return [
        {
            "model": "llama-2-7b",
            "batch": int(row.facts["load"].removeprefix("batch ")),
            "prompt": int(row.facts["input_len"]),
            "answer": int(row.facts["output_len"]),
            "value": row.value,
        }
        for row in served_rows("LMDeploy A100 static")
    ]


_OF_A100 = "an A100 of 80 GB"
_ALL = [
    Question(
        "fits",
        "How many bytes must a card hold for these weights in 16 bits and one full sequence?",
        "bytes",
        "parameters that transformers counted, and the published configs",
        _fits,
    ),
    Question(
        "batch",
        f"How many such sequences fit on {_OF_A100}, a tenth of which is kept back?",
        "sequences",
        "the same counts",
        _batch,
    ),
    Question(
        "decode",
        f"How many tokens a second does one sequence get on {_OF_A100}?",
        "tokens/s",
        "gpt-fast, 16 bits",
        _decode,
    ),
    Question(
        "prefill",
        f"How long is a prompt read on {_OF_A100}?",
        "ms",
        "TensorRT-LLM, Llama 7B",
        _prefill,
    ),
    Question(
        "training memory",
        "How many bytes lie on the fullest device while this plan trains?",
        "bytes",
        "BigScience's trials of plans for 176 billion parameters",
        lambda: _training("memory GB"),
    ),
    Question(
        "plan",
        "How long is a step of training under this plan?",
        "s",
        "the same trials",
        lambda: _training("iteration time"),
    ),
    Question(
        "mixture",
        "How many parameters has Mixtral 8x7B, and how many does a token use?",
        "parameters",
        "transformers' count",
        _mixture,
    ),
    Question(
        "quantised",
        f"How many tokens a second does one sequence get on {_OF_A100}, weights in 8 or 4 bits?",
        "tokens/s",
        "gpt-fast, 8 and 4 bits",
        _quantised,
    ),
    Question(
        "price",
        f"What do a million tokens cost on a full H100 in FP8, at ${PRICE} an hour?",
        "$",
        "TensorRT-LLM's throughputs of Llama 3.1 8B",
        _price,
    ),
    Question(
        "sweep",
        "A table: tokens a second for each batch, length of prompt and length of answer.",
        "tokens/s",
        f"LMDeploy's table of Llama 2 7B on {_OF_A100}",
        _sweep,
        at_once=True,
    ),
]
QUESTIONS = {question.key: question for question in _ALL}
