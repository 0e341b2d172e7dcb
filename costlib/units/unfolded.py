"""A ledger whose ops are worked out when somebody first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from costlib.units.ledger import Holding, Ledger, Op
from costlib.units.numbers import set_field


class Unfolded(Ledger):
    """A ledger of long columns whose ops are worked out when somebody first asks for them.

    Whoever knows a shorter way to an answer, as `costlib.time` does, need not ask.
    """

    __slots__ = ("_made", "_make", "held")

    held: Holding
    _make: Callable[[], tuple[Op, ...]]
    _made: tuple[Op, ...] | None

    def __init__(self, make: Callable[[], tuple[Op, ...]], holds: Holding, own: Any) -> None:
        values = {"_make": make, "_made": None, "held": holds, "holds": holds, "own": own}
        for name, value in values.items():
            set_field(self, name, value)

    @property
    def ops(self) -> tuple[Op, ...]:
        """The ops, each with whole columns."""
        if self._made is None:
            set_field(self, "_made", self._make())
        return self._made or ()

    def __reduce__(self) -> Any:
        return partial(Ledger, holds=self.holds, own=self.own), (self.ops,)
