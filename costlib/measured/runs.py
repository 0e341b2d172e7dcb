"""Whole training runs, as their makers published them: tokens, device-hours, and what they imply.

A run is compared at three depths. 6PT: six FLOPs for each parameter that a token uses, and token.
The ledger: three times the forward pass, attention and logits with it, and only what a causal mask
leaves. And the share of the peak that the published hours leave for either: an implied MFU, which
holds all that a run lost to messages, waiting, failures and repeated steps.

Left out: research and runs that failed, the training that follows pre-training (where it was told
apart), changes of batch and sequence on the way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from costlib.model.catalog import devices, models
from costlib.model.transformer import Transformer
from costlib.units.device import Device

__all__ = ["PublishedRun", "run_sources", "runs"]

_FILE = Path(__file__).parent / "runs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """One run: what was printed of it, and what that implies.

    ``hours`` are device-hours, ``mfu`` the lowest and highest share of the peak that was printed,
    ``tflops`` TFLOP/s of a device as printed, in the convention of its source (``recompute`` says
    whether work done twice is in it), ``flops`` those of the whole run as printed. What nobody
    printed is None.

    >>> run = runs("LLaMA 65B")
    >>> f"{run.six_p_t:.3g}", f"{run.ledger_flops:.3g}", round(run.implied_mfu, 3)
    ('5.48e+23', '5.57e+23', 0.485)
    >>> runs("GPT-3 175B").implied_mfu is None
    True
    """

    name: str
    model: Transformer
    seq: int
    tokens: float | None
    source: str
    device: Device | None = None
    devices: int | None = None
    hours: float | None = None
    mfu: tuple[float, float] | None = None
    tflops: float | None = None
    flops: float | None = None
    megawatt_hours: float | None = None
    precision: str = "bf16"
    recompute: str | None = None
    tokens_per_second: float | None = None

    @property
    def active(self) -> float:
        """Parameters that one token uses: all of a dense model."""
        return float(self.model.active_params())

    @property
    def six_p_t(self) -> float | None:
        """6 · parameters a token uses · tokens."""
        return None if self.tokens is None else 6 * self.active * self.tokens

    @property
    def flops_per_token(self) -> float:
        """Forward and backward by the ledger, once each, under a causal mask: matmuls alone."""
        return 3 * float(self.model.prefill(1, self.seq).matmul_flops) / self.seq

    @property
    def ledger_flops(self) -> float | None:
        """The ledger's FLOPs of the whole run, nothing counted twice."""
        return None if self.tokens is None else self.flops_per_token * self.tokens

    @property
    def device_hours(self) -> float | None:
        """Device-hours as printed; or tokens over the printed rate of a device."""
        if self.hours is None and self.tokens and self.tokens_per_second:
            return self.tokens / self.tokens_per_second / 3600
        return self.hours

    @property
    def peak(self) -> float | None:
        """FLOP/s of one device at 16 bits, which shares are shares of."""
        return None if self.device is None else float(self.device.compute_rate("bf16"))

    @property
    def implied_mfu(self) -> float | None:
        """The ledger's FLOPs over what the device-hours could have computed at 16 bits."""
        if self.ledger_flops is None or self.device_hours is None or self.peak is None:
            return None
        return self.ledger_flops / (self.device_hours * 3600 * self.peak)

    @property
    def printed_mfu(self) -> tuple[float, float] | None:
        """The share of the peak while it ran, lowest and highest, in this module's convention.

        TFLOP/s with recomputation in them are three quarters of that without it, as good as.

        >>> runs("OPT-175B").printed_mfu[0] < 0.36 < runs("BLOOM 176B").printed_mfu[0]
        True
        """
        if self.mfu is not None or self.tflops is None or self.peak is None:
            return self.mfu
        share = self.tflops * 1e12 / self.peak * (3 / 4 if self.recompute == "full" else 1)
        return share, share

    def hours_at(self, mfu: float) -> float:
        """Device-hours that the ledger's FLOPs take at a share of the peak.

        >>> run = runs("Llama 3.1 405B")
        >>> round(run.hours_at(0.40) / 1e6, 1), run.hours / 1e6
        (27.6, 30.84)
        """
        if self.ledger_flops is None or self.peak is None:
            raise ValueError(f"{self.name} was published without its tokens or its devices")
        return self.ledger_flops / (mfu * self.peak * 3600)


def runs(name: str | None = None) -> Any:
    """All published runs, or the one of a name.

    >>> [run.name for run in runs()][:3]
    ['GPT-3 175B', 'OPT-175B', 'PaLM 540B']
    >>> runs("GPT-5")
    Traceback (most recent call last):
        ...
    ValueError: name must be one of GPT-3 175B, OPT-175B, PaLM 540B, GPT-NeoX 20B, BLOOM 176B, \
LLaMA 7B, LLaMA 13B, LLaMA 33B, LLaMA 65B, Llama 2 7B, Llama 2 13B, Llama 2 70B, Llama 3.1 8B, \
Llama 3.1 70B, Llama 3.1 405B, DeepSeek-V3, OLMo 2 32B, gpt-oss-120b, got 'GPT-5'
    """
    found = _runs()
    if name is None:
        return list(found.values())
    if name not in found:
        raise ValueError(f"name must be one of {', '.join(found)}, got {name!r}")
    return found[name]


def run_sources() -> dict[str, dict[str, str]]:
    """Where the runs come from: title, address, date, whether it was read itself, what to know.

    >>> run_sources()["deepseek-v3"]["url"]
    'https://github.com/deepseek-ai/DeepSeek-V3'
    """
    found: dict[str, dict[str, str]] = _content()["sources"]
    return found


@cache
def _content() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


@cache
def _runs() -> dict[str, PublishedRun]:
    return {facts["name"]: _run(facts) for facts in _content()["runs"]}


def _run(facts: Mapping[str, Any]) -> PublishedRun:
    shape = _content()["models"].get(facts["model"])
    model = models[facts["model"]] if shape is None else Transformer(**shape)
    device = devices[facts["device"]] if "device" in facts else None
    mfu = tuple(facts["mfu"]) if "mfu" in facts else None
    told = {"tokens": None, **facts, "model": model, "device": device, "mfu": mfu}
    return PublishedRun(**told)
