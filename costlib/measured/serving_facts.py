"""Facts about serving that others published: layouts of packed weights, drafts that were accepted,
lengths of prompts and answers in recorded traces, and what a million tokens cost on a day.

Each stands in serving_facts.json with its source. Nothing here is fitted, and prices are examples
and no advice.

Left out: rows that nobody has read in their source, and traces whose files could not be had.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from costlib.units.numbers import one_size

__all__ = [
    "Acceptance",
    "PackedBlock",
    "TokenPrice",
    "Trace",
    "acceptance",
    "layouts",
    "token_prices",
    "traces",
]

_FILE = Path(__file__).parent / "serving_facts.json"
_QUANTILES = {"min": 0.0, "max": 1.0, **{f"p{n}": n / 100 for n in (10, 25, 50, 75, 90, 95, 99)}}


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """A block of packed weights: ``bits`` of each weight's code, and bytes ``beside`` the codes.

    ``published`` is the bytes of the whole block as its source states them.

    >>> layouts()["GGUF Q4_K"].bytes, layouts()["GGUF Q4_K"].bits_per_weight
    (144.0, 4.5)
    """

    weights: int
    bits: float
    beside: float
    published: float
    source: str = field(repr=False)

    @property
    def bytes(self) -> float:
        """Of a block: codes, and what stands beside them."""
        return self.weights * self.bits / 8 + self.beside

    @property
    def bits_per_weight(self) -> float:
        """Of a block, spread over its weights."""
        return 8 * self.bytes / self.weights


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One published figure about drafts: tokens a step, or how much faster.

    "Acceptance rate" is used for a probability and for a number of tokens: ``metric`` says which.
    """

    what: str
    model: str
    device: str
    method: str
    load: str
    workload: str
    metric: str
    value: float
    source: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """What a provider asked for a million tokens on a day, in dollars; None where it has no price
    for cached input."""

    model: str
    provider: str
    input: float
    cached: float | None
    output: float
    date: str
    source: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Trace:
    """Lengths of recorded requests: statistics of prompts and answers, in tokens.

    ``rate`` is requests a second; ``variation`` the coefficient of variation of the time between
    two (1 for Poisson's), ``correlation`` that of the two lengths and ``prefix_hits`` the share of
    blocks that a boundless prefix cache would have held, each where the source lets one tell.
    """

    name: str
    title: str
    prompt: Mapping[str, float]
    answer: Mapping[str, float]
    source: str
    licence: str
    rate: float | None = None
    variation: float | None = None
    correlation: float | None = None
    prefix_hits: float | None = None

    def draw(self, count: int, seed: int = 0) -> tuple[Any, Any]:
        """Lengths of ``count`` prompts and answers in tokens, with the trace's quantiles.

        Between two quantiles the logarithm of a length is spread evenly; prompts and answers are
        drawn apart.

        >>> prompts, answers = traces()["azure-conversation"].draw(100_000)
        >>> round(float(np.mean(prompts <= 1020)), 2), round(float(np.mean(answers <= 424)), 2)
        (0.5, 0.9)
        """
        random, count = np.random.default_rng(seed), one_size("count", count)
        return _drawn(self.prompt, random.random(count)), _drawn(self.answer, random.random(count))


def _drawn(of: Mapping[str, float], shares: Any) -> Any:
    known = {share: of[name] for name, share in _QUANTILES.items() if name in of}
    at = sorted(known)
    lengths = np.exp(np.interp(shares, at, np.log([known[share] for share in at])))
    return np.maximum(1, lengths.round()).astype(int)


@cache
def _content() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


def layouts() -> dict[str, PackedBlock]:
    """How formats lay packed weights, by name.

    >>> [name for name, layout in layouts().items() if layout.bits_per_weight == 4.25]
    ['GGUF IQ4_XS', 'GGUF MXFP4', 'compressed-tensors MXFP4', 'ModelOpt MXFP4', 'gpt-oss MXFP4']
    """
    return {name: PackedBlock(*values) for name, *values in _content()["layouts"]}


def acceptance(what: str = "", **facts: str) -> list[Acceptance]:
    """Published figures about drafts, of sources whose name begins so, with these facts.

    >>> [round(row.value, 2) for row in acceptance("TRT-LLM blog1 MTP depth", metric="speed-up")]
    [1.0, 1.78, 2.25, 2.28, 2.21, 2.15]
    """
    found: list[Acceptance] = []
    for each in _content()["acceptance"]:
        if each["what"].startswith(what):
            rows = ([each["what"], *row, each["source"]] for row in each["rows"])
            found += (Acceptance(*row) for row in rows)
    return [row for row in found if all(getattr(row, key) == facts[key] for key in facts)]


def traces() -> dict[str, Trace]:
    """Recorded traces, by name.

    >>> {name: round(trace.prompt["mean"]) for name, trace in traces().items()}
    {'azure-code': 2048, 'azure-conversation': 1155, 'mooncake-conversation': 12035, \
'mooncake-synthetic': 15325, 'arxiv-summaries': 2588}
    """
    found = {}
    for name, entry in _content()["traces"].items():
        known = {key.replace(" ", "_"): value for key, value in entry.items()}
        found[name] = Trace(name, **known)
    return found


def token_prices(model: str | None = None) -> list[TokenPrice]:
    """What was asked for a million tokens of open models: examples with a date, and no advice.

    >>> [(price.provider, price.output, price.date) for price in token_prices("gpt-oss-120b")]
    [('Fireworks', 0.6, '2026-08-04'), ('Groq', 0.6, '2025-08-06')]
    """
    found = [TokenPrice(*row) for row in _content()["token_prices"]]
    return [price for price in found if model is None or price.model == model]
