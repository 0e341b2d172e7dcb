"""Guess, then check: what a draft is worth, and how long it should be.

A small model, or heads of the large one, propose k tokens; one pass of the large model checks them
all. Each is kept with probability α if those before it were. With drafts that cost c of a step
each, and a check that costs one step,

    tokens = (1 − α^(k+1))/(1 − α)          speed-up = tokens / (1 + c·k)

Left out: acceptance that differs from place to place, and drafts that are trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, log
from typing import Any

import numpy as np

from costlib.model.transformer import Transformer
from costlib.serving.frontier import regimes
from costlib.serving.server import Server, server_of
from costlib.timing.roofline import check_room
from costlib.units.numbers import Number, amount, size

__all__ = ["best_drafts", "best_length", "expected_tokens", "pays_up_to", "speculate", "speed_up"]


def expected_tokens(accepted: Any, drafts: Number | None = None) -> Any:
    """Tokens that one check yields: 1 + α + … + α^k, the large model's own among them.

    A list has one probability for each place, as MTP layers have: then
    1 + α₁ + α₁·α₂ + …

    >>> round(expected_tokens(0.8, 4), 4), expected_tokens(1, 4), expected_tokens([0.5, 0.5])
    (3.3616, 5, 1.75)
    """
    if isinstance(accepted, (list, tuple)):
        if drafts is not None and drafts != len(accepted):
            raise ValueError(
                f"accepted must have one probability for each of {drafts} drafts, "
                f"got {len(accepted)}"
            )
        return 1 + float(np.sum(np.cumprod([_share(each) for each in accepted])))
    accepted, drafts = _share(accepted), _count(drafts)
    if isinstance(accepted, (int, float)) and accepted == 1:
        return drafts + 1
    if isinstance(accepted, np.ndarray):  # at 1 the quotient is 0/0
        less = np.where(accepted == 1, 0.5, accepted)
        return np.where(accepted == 1, drafts + 1, (1 - less ** (drafts + 1)) / (1 - less))
    return (1 - accepted ** (drafts + 1)) / (1 - accepted)


def speed_up(accepted: Any, drafts: Number, draft_cost: Any, check_cost: Any = 1) -> Any:
    """Tokens for each step's time, where a draft costs ``draft_cost`` and the check ``check_cost``.

    >>> round(speed_up(0.8, 4, 0.1), 3)
    2.401
    """
    amount("draft_cost", draft_cost, least=0), amount("check_cost", check_cost)
    return expected_tokens(accepted, drafts) / (check_cost + _count(drafts) * draft_cost)


def best_drafts(accepted: float, draft_cost: float) -> int:
    """The number of drafts with the largest `speed_up`: the first that one more does not raise.

    One more raises it exactly if α^(k+1)·(1 + c·k) > c·tokens(k); once it does not, none does.

    >>> best_drafts(0.8, 0.1), best_drafts(0.8, 0.85)
    (6, 0)
    """
    accepted, draft_cost = _share(accepted), _cost(draft_cost)
    if accepted == 1 and draft_cost < 1:
        raise ValueError("accepted must be less than 1: with 1 ever longer drafts are better")
    if accepted > 0 and draft_cost == 0:
        raise ValueError("draft_cost must be more than 0: for nothing, longer is better")
    drafts = max(0, floor(best_length(accepted, draft_cost)) - 1)
    while drafts and _gain(accepted, draft_cost, drafts - 1) <= 0:
        drafts -= 1
    while _gain(accepted, draft_cost, drafts) > 1e-15:
        drafts += 1
    return drafts


def _gain(accepted: float, cost: float, drafts: int) -> float:
    """Whether one draft more raises the speed-up: its sign."""
    better = accepted ** (drafts + 1) * (1 + cost * drafts)
    return float(better - cost * expected_tokens(accepted, drafts))


def best_length(accepted: float, draft_cost: float) -> float:
    """Where the speed-up is largest if drafts need not be whole: in closed form.

    With u = −ln α: k = ln(−W₋₁(−exp(−1 − u·(1/c − 1))))/u − 1, and 0 where that is negative.

    >>> round(best_length(0.8, 0.1), 3)
    5.756
    """
    accepted, cost = _share(accepted), _cost(draft_cost)
    if not 0 < accepted < 1 or cost == 0:
        return 0.0 if accepted == 0 or cost >= 1 else inf
    u = -log(accepted)
    grown = u * (1 / cost - 1)
    if grown <= 0:
        return 0.0
    return max(0.0, log(-_lower_branch(1 + grown)) / u - 1)


def _lower_branch(s: float) -> float:
    """W₋₁(−exp(−s)): minus the y ≥ 1 with y − ln y = s, by Newton's steps."""
    y = s + log(s) + 1 if s > 1 else 1.0
    for _ in range(100):
        if y <= 1:
            break
        step = (y - log(y) - s) / (1 - 1 / y)
        y = max(1.0, y - step)
        if abs(step) <= 1e-15 * y:
            break
    return -y


def speculate(
    server: Server | str,
    draft: Server | Transformer | str | None,
    *,
    batch: Number,
    context: Number,
    accepted: float | Sequence[float],
    drafts: int,
) -> Any:
    """The speed-up on a server, by the ledger: checks and drafts as long as they take.

    Drafts are steps of a ``draft`` server, of a model on the same devices, or with None of the
    model's own MTP layers: then a check is a pass of the model with them, and drafts
    cost nothing else.

    >>> server, small = (Server(name, "H100-SXM") for name in ("llama-3.1-8b", "llama-3.2-1b"))
    >>> cases = ((1, 2048), (128, 2048))
    >>> [round(speculate(server, small, batch=b, context=c, accepted=0.8, drafts=4), 2)
    ...  for b, c in cases]
    [2.02, 1.46]
    """
    drafts, server = size("drafts", drafts, least=0), server_of(server)
    asks: tuple[Number, Number, Number] = (batch, context, drafts + 1)
    plain = server.step(batch, context, too_large="ignore")
    if draft is None:
        server = server.with_(model=server.model.with_mtp_layers())
    held, spent = server.held_bytes(*asks), server.step(*asks, too_large="ignore")
    more = "the speed-up is that of devices with more memory"
    if draft is not None:
        small = _drafting(draft, server)
        spent = spent + drafts * small.step(batch, context, too_large="ignore")
        if _is_server(draft):
            check_room(small.held_bytes(*asks), small.device, "warn", *_DRAFTS, more)
        else:  # on the same devices
            held = held + small.held_bytes(*asks)
    check_room(held, server.device, "warn", *_CHECKS, more)
    return expected_tokens(accepted, drafts) * plain / spent


#: What does not fit, in the words of a warning.
_DRAFTS = ("a device holds for drafts", "weights, caches and activations")
_CHECKS = ("a device holds for checks and drafts beside them", _DRAFTS[1])


def _is_server(draft: Any) -> bool:
    """Whether drafts have devices of their own."""
    return isinstance(draft, Server) or (isinstance(draft, str) and " on " in draft)


def _drafting(draft: Any, server: Server) -> Server:
    """The server of drafts; of a model alone, on the same devices."""
    if not _is_server(draft):
        draft = server.with_(model=draft)
    small = server_of(draft, "draft")
    one, other = server.model.vocab, small.model.vocab
    if abs(one - other) > _PADDED * one:
        raise ValueError(
            f"draft must have the model's vocabulary of {one:,}, got a model of {other:,}: "
            "tokens of another vocabulary cannot be checked one by one"
        )
    return small


#: The share by which two tables of one vocabulary may differ, as each is padded by its own rule.
_PADDED = 0.01


def pays_up_to(
    server: Server | str, context: Number, *, accepted: float, drafts: int, draft_cost: float = 0
) -> float:
    """The batch beyond which drafts cost more than they bring, by the straight lines; or infinity.

    A step takes W + r·B, and its check of k + 1 tokens a sequence, once arithmetic binds,
    ((k + 1)·a + r)·B, with a the seconds of arithmetic of a token and r those of reading its
    sequence's cache. With E tokens a check, less c·k for drafts: B = E·W / ((k + 1)·a − (E − 1)·r).
    If that is beyond W/a, where a plain step is bound by arithmetic too, caches are so long that no
    batch is too large.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> round(pays_up_to(server, 128, accepted=0.8, drafts=4)), pays_up_to(
    ...     server, 16384, accepted=0.8, drafts=4)
    (230, inf)
    """
    server = server_of(server)
    lines = regimes(server, context)
    brought = expected_tokens(accepted, drafts) - _count(drafts) * _cost(draft_cost)
    each = server.share.prefill(_MANY, 1)  # a token's arithmetic, without a cache to read
    arithmetic = server.seconds(each) / _MANY
    if brought <= 1:  # not even where the check takes no longer than a step
        return 0.0
    rest = (drafts + 1) * arithmetic - (brought - 1) * lines.reading
    found = brought * lines.weights / rest if rest > 0 else inf
    return found if found * arithmetic <= lines.weights else inf


_MANY = 2**20


def _share(value: Any) -> Any:
    if isinstance(value, (int, float, np.ndarray)) and not np.all((value >= 0) & (value <= 1)):
        raise ValueError(f"accepted must be a probability from 0 to 1, got {value}")
    return amount("accepted", value, least=0)


def _cost(value: float) -> float:
    return float(amount("draft_cost", value, least=0))


def _count(drafts: Number | None) -> Any:
    if drafts is None:
        raise ValueError("drafts must be given where accepted is one number")
    return size("drafts", drafts, least=0)
