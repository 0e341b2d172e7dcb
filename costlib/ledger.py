"""The vocabulary of cost: an Op, a Ledger of Ops, and the Precision that turns elements into bytes.

An Op is what one step of a computation costs: the FLOPs it does and the elements it reads and
writes, by kind of tensor. A Ledger is an ordered list of them. Both are immutable values: they add,
repeat (``* layers``) and total, in every reading that ``costlib.numbers`` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from costlib.numbers import Number, is_symbolic, size

__all__ = ["KINDS", "Elements", "Ledger", "Op", "Precision"]

#: The kinds of tensor. Each has its own precision: a cache can be 8-bit where weights are 4-bit.
KINDS = ("weights", "activations", "kv", "scores")


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Bytes per element for each kind of tensor; 16-bit throughout unless said otherwise.

    >>> Precision(weights=0.5).weights  # 4-bit weights
    0.5
    >>> Precision.uniform(4)
    Precision(weights=4, activations=4, kv=4, scores=4)
    """

    weights: Number = 2
    activations: Number = 2
    kv: Number = 2
    scores: Number = 2

    def __post_init__(self) -> None:
        for kind in KINDS:
            _check_bytes(kind, getattr(self, kind))

    @classmethod
    def uniform(cls, bytes_per_element: Number) -> Precision:
        """The same number of bytes for every element."""
        return cls(**dict.fromkeys(KINDS, bytes_per_element))


@dataclass(frozen=True, slots=True)
class Elements:
    """Numbers of elements by kind of tensor.

    >>> moved = Elements(weights=100) + Elements(activations=10) * 2
    >>> moved.total, moved.bytes(Precision(weights=0.5))
    (120, 90.0)
    """

    weights: Number = 0
    activations: Number = 0
    kv: Number = 0
    scores: Number = 0

    @property
    def total(self) -> Number:
        """Elements of every kind together."""
        return _sum((self.weights, self.activations, self.kv, self.scores))

    def bytes(self, precision: Precision | None = None) -> Number:
        """Bytes at a precision: each kind's elements times its bytes per element."""
        precision = precision or _DEFAULT
        return _sum(
            count * getattr(precision, kind)
            for kind in KINDS
            if not _is_zero(count := getattr(self, kind))
        )

    def __add__(self, other: Elements) -> Elements:
        return Elements(
            _sum((self.weights, other.weights)),
            _sum((self.activations, other.activations)),
            _sum((self.kv, other.kv)),
            _sum((self.scores, other.scores)),
        )

    def __mul__(self, times: Number) -> Elements:
        return Elements(
            self.weights * times, self.activations * times, self.kv * times, self.scores * times
        )

    __rmul__ = __mul__


class _Cost:
    """What an Op and a Ledger can both be asked."""

    __slots__ = ()

    flops: Number
    count: Number
    elements_read: Elements
    elements_written: Elements

    @property
    def reads(self) -> Number:
        """Elements read, of every kind."""
        return self.elements_read.total

    @property
    def writes(self) -> Number:
        """Elements written, of every kind."""
        return self.elements_written.total

    @property
    def elements(self) -> Number:
        """Elements moved: read and written."""
        return _sum((self.reads, self.writes))

    def bytes(self, precision: Precision | None = None) -> Number:
        """Bytes moved at a precision (2 bytes per element unless said otherwise)."""
        return _sum((self.elements_read.bytes(precision), self.elements_written.bytes(precision)))

    def intensity(self, precision: Precision | None = None) -> Number:
        """Arithmetic intensity: FLOPs per byte moved; 0 where nothing moves."""
        moved = self.bytes(precision)
        return 0.0 if _is_zero(moved) else self.flops / moved


@dataclass(frozen=True, slots=True, repr=False)
class Op(_Cost):
    """One step's cost: FLOPs, and the elements it reads and writes.

    ``count`` is how often the step runs; FLOPs and elements are for all runs together.
    ``is_matmul`` marks what a matmul-only counter counts.

    >>> op = Op("scale", 10, elements_read=Elements(activations=10),
    ...         elements_written=Elements(activations=10))
    >>> op.reads, op.writes, op.bytes(), op.intensity()
    (10, 10, 40, 0.25)
    >>> (op * 3).flops, (op * 3).count
    (30, 3)
    >>> op.matmul_flops, op.named("shift").name
    (0, 'shift')
    """

    name: str
    flops: Number
    elements_read: Elements = Elements()
    elements_written: Elements = Elements()
    is_matmul: bool = False
    count: Number = 1

    @property
    def matmul_flops(self) -> Number:
        """FLOPs if this is a matmul, else 0."""
        return self.flops if self.is_matmul else 0

    def named(self, name: str) -> Op:
        """The same cost under another name."""
        return replace(self, name=name)

    def __add__(self, other: Op | Ledger) -> Ledger:
        return Ledger((self,)) + other

    def __mul__(self, times: Number) -> Op:
        times = size("times", times, least=0)
        return Op(
            self.name,
            self.flops * times,
            self.elements_read * times,
            self.elements_written * times,
            self.is_matmul,
            self.count * times,
        )

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return (
            f"<Op {self.name}: {_shown(self.flops)} FLOPs, "
            f"reads {_shown(self.reads)}, writes {_shown(self.writes)}>"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Ledger(_Cost):
    """An ordered list of Ops that adds up.

    >>> ledger = Ledger((Op("a", 6, is_matmul=True), Op("b", 1))) * 2
    >>> ledger.flops, ledger.matmul_flops, ledger["b"].flops, len(ledger)
    (14, 12, 2, 2)
    >>> ledger
    <Ledger: 2 ops, 14 FLOPs, 0 elements moved>
    >>> ledger.names, ledger.count, ledger.elements_read == ledger.elements_written == Elements()
    (('a', 'b'), 4, True)
    """

    ops: tuple[Op, ...] = ()

    @property
    def flops(self) -> Number:
        """FLOPs of every op."""
        return _sum(op.flops for op in self.ops)

    @property
    def matmul_flops(self) -> Number:
        """FLOPs of the matmuls alone: what a matmul-only counter reports."""
        return _sum(op.matmul_flops for op in self.ops)

    @property
    def elements_read(self) -> Elements:  # type: ignore[override]
        """Elements read by every op, by kind."""
        return sum((op.elements_read for op in self.ops), Elements())

    @property
    def elements_written(self) -> Elements:  # type: ignore[override]
        """Elements written by every op, by kind."""
        return sum((op.elements_written for op in self.ops), Elements())

    @property
    def count(self) -> Number:
        """How many times an op runs, all together."""
        return _sum(op.count for op in self.ops)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the ops, in order."""
        return tuple(op.name for op in self.ops)

    def where(self, keep: Callable[[Op], bool]) -> Ledger:
        """The ops for which ``keep(op)`` is true.

        >>> Ledger((Op("a", 6), Op("b", 1))).where(lambda op: op.flops > 2).names
        ('a',)
        """
        return Ledger(tuple(op for op in self.ops if keep(op)))

    def only(self, *names: str) -> Ledger:
        """The ops with these names; an unknown name is an error. ``ledger[name]`` is short for it.

        >>> Ledger((Op("a", 6), Op("b", 1))).only("b").flops
        1
        """
        for name in names:
            if name not in self.names:
                raise KeyError(f"no op named {name!r}; the ops are {', '.join(self.names)}")
        return self.where(lambda op: op.name in names)

    def without(self, *names: str) -> Ledger:
        """The other ops; an unknown name is an error.

        >>> Ledger((Op("a", 6), Op("b", 1))).without("b").names
        ('a',)
        """
        dropped = self.only(*names).names
        return self.where(lambda op: op.name not in dropped)

    def __getitem__(self, name: str) -> Ledger:
        return self.only(name)

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)

    def __len__(self) -> int:
        return len(self.ops)

    def __add__(self, other: Op | Ledger | Iterable[Op]) -> Ledger:
        return Ledger(self.ops + ((other,) if isinstance(other, Op) else tuple(other)))

    def __radd__(self, other: Any) -> Ledger:
        return self if _is_zero(other) else NotImplemented  # 0: so that sum(ledgers) works

    def __mul__(self, times: Number) -> Ledger:
        return Ledger(tuple(op * times for op in self.ops))

    __rmul__ = __mul__

    def table(self, precision: Precision | None = None) -> Any:
        """A DataFrame with a row for each op; the last row is the total.

        >>> Ledger((Op("a", 6), Op("b", 1))).table()["flops"].tolist()
        [6, 1, 7]
        """
        import pandas as pd

        rows = [*self.ops, self]
        return pd.DataFrame(
            {
                "count": [row.count for row in rows],
                "flops": [row.flops for row in rows],
                "reads": [row.reads for row in rows],
                "writes": [row.writes for row in rows],
                "bytes": [row.bytes(precision) for row in rows],
                "intensity": [row.intensity(precision) for row in rows],
            },
            index=pd.Index([*self.names, "total"], name="op"),
        )

    def __repr__(self) -> str:
        return (
            f"<Ledger: {len(self)} op{'s' * (len(self) != 1)}, {_shown(self.flops)} FLOPs, "
            f"{_shown(self.elements)} elements moved>"
        )

    def _repr_html_(self) -> str | None:
        from costlib.display import ledger_html

        return ledger_html(self)

    def _repr_latex_(self) -> str | None:
        from costlib.display import ledger_latex

        return ledger_latex(self)


def _is_zero(value: Number) -> bool:
    return type(value) is int and value == 0


def _sum(values: Iterable[Number]) -> Number:
    """The sum, passing over literal zeros: adding 0 to a big array is not free."""
    total: Number = 0
    for value in values:
        if _is_zero(total):
            total = value
        elif not _is_zero(value):
            total = total + value
    return total


def _shown(value: Number) -> str:
    if is_symbolic(value):
        return str(value)
    return f"{value:,}" if isinstance(value, (int, float)) else f"array{value.shape}"


def _check_bytes(kind: str, value: Number) -> None:
    if is_symbolic(value) or hasattr(value, "dtype"):
        return
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float)):
        raise TypeError(f"{kind} must be a number of bytes per element, got {value!r}")
    if not 0 < value < float("inf"):
        raise ValueError(f"{kind} must be a positive number of bytes per element, got {value}")


_DEFAULT = Precision()
