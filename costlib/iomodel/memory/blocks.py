"""Arrays in slow memory and blocks in fast memory: handles that keep their data to themselves.

A `SlowArray` gives its data to nobody but the memory. A `HeldBlock` never hands out a NumPy
array: one computes on it with its methods, or with NumPy's own functions and ``out=``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["Array", "CapacityError", "HeldBlock", "ResidencyError", "SlowArray", "Steps"]

Array = np.ndarray[Any, Any]

#: What a masked score becomes. Finite, because a row that is masked throughout a tile would meet
#: −∞ − (−∞); half of the least number, because a maximum will still be subtracted from it.
MASKED_SHARE_OF_LEAST = 0.5


class CapacityError(ValueError):
    """A step wanted more entries in fast memory than are free."""


class ResidencyError(RuntimeError):
    """A step touched data that is not in fast memory."""


class FastMemory(Protocol):
    """What a handle needs of the memory that it belongs to."""

    _resident_blocks: dict[int, HeldBlock]

    def holds(self, block: HeldBlock) -> bool:
        """True while a block is resident."""

    def drop(self, *blocks: HeldBlock) -> None:
        """Free what resident blocks take."""


class SlowArray:
    """A matrix in slow memory: its name and shape are known, its data only to the memory."""

    __slots__ = ("_data", "_memory", "name", "shape")

    def __init__(self, memory: FastMemory, name: str, data: Array) -> None:
        self.name = name
        self.shape: tuple[int, int] = (data.shape[0], data.shape[1])
        self._memory = memory
        self._data = data

    def __repr__(self) -> str:
        return f"SlowArray({self.name}, {self.shape[0]}×{self.shape[1]})"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ResidencyError(
            f"{self.name} is in slow memory: load the part you need with memory.load({self.name}, "
            "rows, cols)"
        )

    __array__ = __getitem__ = __setitem__ = __iter__ = __len__ = __float__ = __bool__ = _refuse
    __array_ufunc__ = __copy__ = __deepcopy__ = __reduce_ex__ = _refuse


#: The steps of arithmetic: what each does to entries, and whether it takes blocks (t), scalars (s)
#: or either (e).
STEPS: dict[str, tuple[Callable[..., Any], str]] = {
    "fill": (lambda x, value: x.fill(value), "s"),
    "copy_from": (np.copyto, "t"),
    "exp": (lambda x: np.exp(x, out=x), ""),
    "log": (lambda x: np.log(x, out=x), ""),
    "set_maximum": (lambda x, left, right: np.maximum(left, right, out=x), "tt"),
    "set_product": (lambda x, left, right: np.matmul(left, right, out=x), "tt"),
    "add_product": (lambda x, left, right: np.add(x, left @ right, out=x), "tt"),
    "set_row_sums": (lambda x, rows: np.add.reduce(rows, axis=1, keepdims=True, out=x), "t"),
    "add_row_sums": (lambda x, rows: np.add(x, rows.sum(axis=1, keepdims=True), out=x), "t"),
    "set_row_maxima": (lambda x, rows: np.max(rows, axis=1, keepdims=True, out=x), "t"),
    "raise_to_row_maxima": (
        lambda x, rows: np.maximum(x, np.max(rows, axis=1, keepdims=True), out=x),
        "t",
    ),
    "add": (lambda x, other: np.add(x, other, out=x), "e"),
    "subtract": (lambda x, other: np.subtract(x, other, out=x), "e"),
    "multiply": (lambda x, other: np.multiply(x, other, out=x), "e"),
    "divide": (lambda x, other: np.divide(x, other, out=x), "e"),
}


class Steps:
    """What a block computes; ``+=``, ``-=``, ``*=`` and ``/=`` take a block or a scalar."""

    __slots__ = ()

    def _do(self, name: str, *operands: Any) -> Any:
        raise NotImplementedError

    def fill(self, value: float) -> None:
        """Set every entry to a scalar."""
        self._do("fill", value)

    def copy_from(self, other: Steps) -> None:
        """Copy a resident block of the same shape into this one."""
        self._do("copy_from", other)

    def exp(self) -> None:
        """Replace every entry by its exponential."""
        self._do("exp")

    def log(self) -> None:
        """Replace every entry by its logarithm."""
        self._do("log")

    def set_maximum(self, left: Steps, right: Steps) -> None:
        """Make each entry the larger of two others."""
        self._do("set_maximum", left, right)

    def set_product(self, left: Steps, right: Steps) -> None:
        """Make this block the matrix product left · right."""
        self._do("set_product", left, right)

    def add_product(self, left: Steps, right: Steps) -> None:
        """Add the matrix product left · right, one multiply-add at a time."""
        self._do("add_product", left, right)

    def set_row_sums(self, other: Steps) -> None:
        """Make this column the sum of each row of another block."""
        self._do("set_row_sums", other)

    def add_row_sums(self, other: Steps) -> None:
        """Add the sum of each row of another block to this column."""
        self._do("add_row_sums", other)

    def set_row_maxima(self, other: Steps) -> None:
        """Make this column the largest entry of each row of another block."""
        self._do("set_row_maxima", other)

    def raise_to_row_maxima(self, other: Steps) -> None:
        """Make this column at least the largest entry of each row of another block."""
        self._do("raise_to_row_maxima", other)

    def __iadd__(self, other: Any) -> Any:
        return self._do("add", other)

    def __isub__(self, other: Any) -> Any:
        return self._do("subtract", other)

    def __imul__(self, other: Any) -> Any:
        return self._do("multiply", other)

    def __itruediv__(self, other: Any) -> Any:
        return self._do("divide", other)


class HeldBlock(Steps, NDArrayOperatorsMixin):
    """A matrix in fast memory, on which NumPy's elementwise functions work with ``out=``.

    >>> from costlib.iomodel import TwoLevelMemory
    >>> memory = TwoLevelMemory(8)
    >>> with memory.allocate("x", 2, 2, fill=1.0) as x:
    ...     x *= 3
    ...     _ = np.exp(x, out=x)
    >>> x *= 3
    Traceback (most recent call last):
        ...
    costlib.iomodel.memory.blocks.ResidencyError: x (2×2) was dropped: load it again
    """

    __slots__ = ("_data", "_memory", "_number", "_owner", "_region", "name", "shape")
    __hash__ = object.__hash__

    def __init__(
        self,
        memory: FastMemory,
        name: str,
        data: Array,
        number: int,
        owner: HeldBlock | None = None,
    ) -> None:
        self.name = name
        self.shape: tuple[int, int] = (data.shape[0], data.shape[1])
        self._memory = memory
        self._data = data
        self._number = number
        self._owner = self if owner is None else owner
        self._region = slice(0, data.shape[0]), slice(0, data.shape[1])

    @property
    def entries(self) -> int:
        """How many entries of fast memory the block takes."""
        return self.shape[0] * self.shape[1]

    @property
    def T(self) -> HeldBlock:
        """The same entries with rows and columns exchanged; takes no room."""
        return self._view(opened(self).T)

    def part(self, rows: slice = slice(None), cols: slice = slice(None)) -> HeldBlock:
        """Some rows and columns of the block, without a copy; takes no room."""
        return self._view(opened(self)[rows, cols])

    def mask_future(self, first_row: int, first_col: int) -> None:
        """Mask the scores above the diagonal, where the key comes after the query.

        Which entries are masked follows from the two positions alone, so no mask is stored.
        """
        data = opened(self)
        if first_row >= first_col + data.shape[1] - 1:
            return
        rows = np.arange(first_row, first_row + data.shape[0])
        cols = np.arange(first_col, first_col + data.shape[1])
        data[rows[:, None] < cols] = np.finfo(data.dtype).min * MASKED_SHARE_OF_LEAST

    def __enter__(self) -> HeldBlock:
        return self

    def __exit__(self, *_: object) -> None:
        if self._memory.holds(self):
            self._memory.drop(self)

    def __repr__(self) -> str:
        return f"Block({self.name}, {self.shape[0]}×{self.shape[1]})"

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> HeldBlock:
        if len(out) != 1 or not isinstance(out[0], HeldBlock):
            raise ResidencyError(
                f"numpy.{ufunc.__name__} would make an array outside the counted memory: "
                "pass out= with a resident block"
            )
        if method not in ("__call__", "reduce") or not options.keys() <= {"axis", "keepdims"}:
            raise ResidencyError(f"numpy.{ufunc.__name__} is not counted with {method}, {options}")
        target: HeldBlock = out[0]
        if ufunc is np.matmul:
            target._check_factors(*inputs)
        getattr(ufunc, method)(*map(_operand, inputs), out=opened(target), **options)
        return target

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ResidencyError(
            f"the entries of {self.name} cannot leave the counted memory: compute on the block "
            "with out=, and store it"
        )

    __array__ = __getitem__ = __setitem__ = __iter__ = __len__ = __float__ = __bool__ = _refuse
    __copy__ = __deepcopy__ = __reduce_ex__ = _refuse

    def _do(self, name: str, *operands: Any) -> HeldBlock:
        does, takes = STEPS[name]
        if name.endswith("product"):
            self._check_factors(*operands)
        data = opened(self)
        does(data, *(_TAKEN[kind](each) for kind, each in zip(takes, operands, strict=True)))
        return self

    def _check_factors(self, *factors: object) -> None:
        """A product needs its factors to the end, so it cannot be formed in their place."""
        if any(isinstance(one, HeldBlock) and one._owner is self._owner for one in factors):
            raise ResidencyError(f"a product cannot be written to {self.name}, one of its factors")

    def _view(self, data: Array) -> HeldBlock:
        return HeldBlock(self._memory, self.name, data, self._number, self._owner)


def opened(block: HeldBlock) -> Array:
    """The entries of a block, or an error if it is no longer resident."""
    if block._owner._number not in block._memory._resident_blocks:
        rows, cols = block.shape
        raise ResidencyError(f"{block.name} ({rows}×{cols}) was dropped: load it again")
    data: Array = block._data
    return data


def _operand(operand: object) -> Any:
    """What a compute step may read: a resident block or a scalar, nothing else."""
    if isinstance(operand, HeldBlock):
        return opened(operand)
    if isinstance(operand, (int, float, np.generic)):
        return operand
    raise ResidencyError(
        f"a compute step reads resident blocks and scalars, got {type(operand).__name__}"
    )


_TAKEN: dict[str, Callable[[Any], Any]] = {"t": opened, "s": float, "e": _operand}
