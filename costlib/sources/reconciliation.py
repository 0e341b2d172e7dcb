"""A source set against this book's ledger: the difference, as named terms that sum to it exactly.

Both sides are ledgers. Every FLOP and every byte of both is sorted by its op and kind under exactly
one reason; a reason's term is what the source counts under it less what the ledger counts. What no
reason claims is an error, so the terms always sum to the whole difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from costlib.sources import deepml, jamesnulliu, saha_ye, sparq, suresh
from costlib.units.ledger import Elements, Ledger
from costlib.units.numbers import Number, choose
from costlib.units.precision import KINDS, Precision

__all__ = ["Reconciliation", "reconcile"]

SOURCES = {
    "deepml": deepml,
    "jamesnulliu": jamesnulliu,
    "saha-ye": saha_ye,
    "sparq": sparq,
    "suresh": suresh,
}

#: Pairs of a reason and a pattern for "op kind"; the first pattern that matches claims it.
Reasons = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """One quantity of a source and of the ledger, and the terms of the difference, in order."""

    published: Number
    ledger: Number
    terms: Mapping[str, Number]

    @property
    def difference(self) -> Any:
        """Published − ledger."""
        return self.published - self.ledger


def reconcile(source: str | Any, *model: Any, **sizes: Number) -> Mapping[str, Reconciliation]:
    """What a source counts, what this book's ledger counts, and why they differ, by quantity.

    The arguments are those of the source's function ``sides``: where it speaks of whole models, a
    `costlib.Transformer` first; then sizes in its own letters.

    >>> bytes_moved = reconcile("deepml", B=1, S=128, H=8, D=64)["bytes"]
    >>> bytes_moved.difference, sum(bytes_moved.terms.values())
    (-262144, -262144)
    """
    if isinstance(source, str):
        choose("source", source, tuple(SOURCES))
        source = SOURCES[source]
    published, ledger, precision = source.sides(*model, **sizes)
    return {
        quantity: _reconciled(published, ledger, source.REASONS[quantity], quantity, precision)
        for quantity in source.REASONS
    }


def _reconciled(
    published: Ledger, ledger: Ledger, reasons: Reasons, quantity: str, precision: Precision
) -> Reconciliation:
    terms: dict[str, Number] = {}
    totals: list[Number] = []
    for sign, side in ((1, published), (-1, ledger)):
        total: Number = 0
        for label, amount in _amounts(side, quantity, precision):
            reason = _claim(label, reasons)
            terms[reason] = terms.get(reason, 0) + sign * amount
            total = total + amount
        totals.append(total)
    in_order = {reason: terms[reason] for reason, _ in reasons if reason in terms}
    return Reconciliation(totals[0], totals[1], in_order)


def _amounts(side: Ledger, quantity: str, precision: Precision) -> Iterator[tuple[str, Number]]:
    for op in side:
        if quantity == "flops":
            yield f"{op.name} flops", op.flops
            continue
        for verb, moved in (("read", op.elements_read), ("written", op.elements_written)):
            for kind in KINDS:
                count = getattr(moved, kind)
                if not (isinstance(count, int) and count == 0):
                    only = Elements(**{kind: count})
                    yield f"{op.name} {kind} {verb}", only.bytes(precision)


def _claim(label: str, reasons: Reasons) -> str:
    for reason, pattern in reasons:
        if re.fullmatch(pattern, label):
            return reason
    named = "; ".join(name for name, _ in reasons)
    raise LookupError(
        f"no reason claims {label!r}, so the source does not describe this model: its reasons are "
        f"{named}"
    )
