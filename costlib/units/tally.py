"""An array that counts: run real code on it, then read off how much arithmetic it did.

Formulas can be wrong in the same way as the person who checks them. A count is independent: the
multiplications and additions are done, one ufunc call at a time, and tallied while they happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["CountingArray", "Tally"]

_COUNTED = {
    np.multiply: "multiplications",
    np.add: "additions",
    np.subtract: "additions",  # an adder does both
}


@dataclass(slots=True)
class Tally:
    """How many multiplications and additions have been done so far."""

    multiplications: int = 0
    additions: int = 0

    @property
    def flops(self) -> int:
        """Both together."""
        return self.multiplications + self.additions


class CountingArray(NDArrayOperatorsMixin):
    """A NumPy array that tallies each multiplication, addition and subtraction of its elements.

    Anything else is refused rather than passed uncounted: ``@`` does its work out of sight.

    >>> tally = Tally()
    >>> x = CountingArray([1.0, 2.0, 3.0], tally)
    >>> y = CountingArray([4.0, 5.0, 6.0], tally)
    >>> (x * y).sum().values
    array(32.)
    >>> tally
    Tally(multiplications=3, additions=2)
    """

    def __init__(self, values: Any, tally: Tally) -> None:
        self.values = np.asarray(values)
        self.tally = tally

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.values.shape

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.values if isinstance(x, CountingArray) else np.asarray(x) for x in inputs]
        if ufunc not in _COUNTED or method not in ("__call__", "reduce") or "out" in kwargs:
            raise TypeError(
                f"a CountingArray counts multiply, add and subtract; np.{ufunc.__name__} would do "
                "its work uncounted: write it as multiplications and additions"
            )
        result = getattr(ufunc, method)(*plain, **kwargs)
        done = plain[0].size - np.size(result) if method == "reduce" else np.size(result)
        kind = _COUNTED[ufunc]
        setattr(self.tally, kind, getattr(self.tally, kind) + done)
        return CountingArray(result, self.tally)

    def sum(self, axis: int | None = None) -> CountingArray:
        """The sum of the elements: one addition fewer than there are."""
        add: Any = np.add  # NumPy's stubs do not know arrays that are not its own
        total: CountingArray = add.reduce(self, axis=axis)
        return total

    def __getitem__(self, index: Any) -> CountingArray:
        return CountingArray(self.values[index], self.tally)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[index] = value.values if isinstance(value, CountingArray) else value

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"CountingArray({self.values!r})"
