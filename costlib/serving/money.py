"""Dollars and joules per million tokens, from a price an hour and the power of a device.

A device costs the same whether it works or not. So a token costs what its seconds cost, of all
devices, over the share of time in which they are used.

Prices in `RENTALS` are examples with a date and a source, not advice.

Left out: what people, networks and empty nights cost, and cooling, which your watts may include.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costlib.serving.server import Server, server_of
from costlib.units.numbers import Number, amount, size

__all__ = ["RENTALS", "Bill", "Rental", "bill", "per_million"]

_MILLION = 1e6
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Rental:
    """What somebody asked for an hour of one device, on demand, on a day."""

    device: str
    provider: str
    per_hour: float
    date: str
    source: str


_DATA = "datareceipts/data-receipts, 109-gpu-pricing"
_PLANS = "api-evangelist, provider plans, transcribed"
#: Asking prices on the day given, in dollars for one device and hour.
RENTALS = (
    Rental("A100-80GB", "RunPod", 1.79, "2026-11-09", _DATA),
    Rental("A100-80GB", "AWS p4de.24xlarge, us-east-1", 3.4309, "2026-11-09", _DATA),
    Rental("H100-SXM", "RunPod", 3.99, "2026-11-09", _DATA),
    Rental("H100-SXM", "AWS p5.48xlarge, us-east-1", 6.88, "2026-11-09", _DATA),
    Rental("H100-SXM", "Lambda, 8 at once", 3.99, "2026-09-20", _PLANS),
    Rental("H200", "Hyperstack", 3.99, "2026-08-26", _PLANS),
    Rental("B200", "Lambda, 8 at once", 6.69, "2026-09-20", _PLANS),
    Rental("RTX-4090", "OpenRelay", 0.29, "2026-09-20", _PLANS),
)


@dataclass(frozen=True, slots=True)
class Bill:
    """Dollars, and joules, for a million tokens of each kind."""

    input: float
    cached: float
    output: float
    joules_input: float
    joules_cached: float
    joules_output: float


def per_million(seconds: Number, per_hour: Number, *, utilisation: Number = 1) -> Any:
    """Dollars for a million tokens that take ``seconds`` each, at a price an hour.

    >>> per_million(0.001, 3.6)  # 1000 tokens a second for 3.60 an hour
    1.0
    """
    if amount("utilisation", utilisation) > 1:
        raise ValueError(f"utilisation must be a share of the time up to 1, got {utilisation}")
    amount("seconds", seconds, least=0), amount("per_hour", per_hour, least=0)
    return seconds * _MILLION * per_hour / _HOUR / utilisation


def bill(
    server: Server | str,
    *,
    prompt: Number,
    answer: Number,
    batch: Number,
    per_hour: float,
    watts: float = 0,
    utilisation: float = 1,
) -> Bill:
    """What a million input tokens, cached input tokens and output tokens cost, at a price an hour
    for each device.

    An input token takes its share of the prefill. A cached one takes the time that a pass
    over the second half of the prompt is longer for finding the first half there: its keys are
    read, and met. An output token takes its share of a step of ``batch`` sequences, at the answer's
    mean context.

    >>> cost = bill(Server("llama-3.1-8b", "H100-SXM"), prompt=2000, answer=500, batch=128,
    ...             per_hour=3.99, watts=700)
    >>> [round(each, 4) for each in (cost.input, cost.cached, cost.output)]
    [0.0184, 0.0006, 0.1404]
    >>> round(cost.joules_output)
    88689
    """
    amount("per_hour", per_hour, least=0), amount("watts", watts, least=0)
    prompt, answer = size("prompt", prompt, least=2), size("answer", answer)
    server, batch = server_of(server), size("batch", batch)
    if all(isinstance(each, int) for each in (prompt, answer, batch)):
        server.check(int(prompt + answer // 2), max(1, int(batch)))
    half, copy = prompt // 2, server.per_copy
    found = server.busy(half, cached=prompt - half) - server.busy(half)
    seconds = (
        server.busy(prompt) / prompt,
        found / (prompt - half),
        server.step(batch, prompt + answer // 2) / batch,
    )
    dollars = [per_million(each, per_hour * copy, utilisation=utilisation) for each in seconds]
    joules = [each * _MILLION * watts * copy / utilisation for each in seconds]
    return Bill(*dollars, *joules)
