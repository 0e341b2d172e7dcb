"""The vocabulary of cost: an Op, and a Ledger of Ops.

An Op is what one step of a computation costs: the FLOPs it does, the elements it reads and writes,
by kind of tensor, and the elements it sends to other devices. A Ledger is an ordered list of them.
Both are immutable values: they add, repeat (``* layers``) and total, in every reading that
``costlib.units.numbers`` knows. A `costlib.units.precision.Precision` turns elements into bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, overload

from costlib.units.display import ledger_html, ledger_latex
from costlib.units.numbers import (
    Number,
    extra,
    is_symbolic,
    is_zero,
    plus,
    settle,
    size,
    times,
    total,
)
from costlib.units.precision import KINDS, Precision, precision_of

__all__ = ["Elements", "Holding", "Ledger", "Op"]


@dataclass(frozen=True, slots=True)
class Elements:
    """Numbers of elements by kind of tensor.

    >>> moved = Elements(weights=100) + Elements(activations=10) * 2
    >>> moved.total, moved.bytes(Precision(weights=0.5))
    (120, 90.0)
    """

    weights: Any = 0
    activations: Any = 0
    kv: Any = 0
    scores: Any = 0

    def __post_init__(self) -> None:
        kinds = type(self.weights), type(self.activations), type(self.kv), type(self.scores)
        if kinds != (int, int, int, int):
            settle(self, *KINDS)

    @property
    def total(self) -> Any:
        """Elements of every kind together."""
        return total((self.weights, self.activations, self.kv, self.scores))

    def bytes(self, precision: Precision | str | None = None, step: str = "") -> Any:
        """Bytes at a precision: each kind's elements times its bytes per element.

        ``step`` is the op that moves them, as a packed checkpoint has weights of several sizes.
        """
        each = precision_of(precision)
        weights = self.weights * (each.weights_in(step) if each.by_step else each.weights)
        others = self.activations * each.activations + self.kv * each.kv
        return weights + others + self.scores * each.scores

    def in_bytes(self, precision: Precision | str | None = None, step: str = "") -> Elements:
        """The same by kind: bytes of weights, of activations, of the cache and of scores.

        >>> Elements(weights=100, kv=10).in_bytes(Precision(weights=0.5))
        Elements(weights=50.0, activations=0, kv=20, scores=0)
        """
        each = precision_of(precision)
        weights = self.weights * each.weights_in(step)
        others = (self.activations * each.activations, self.kv * each.kv)
        return Elements(weights, *others, self.scores * each.scores)

    def __add__(self, other: Elements) -> Elements:
        return Elements(
            plus(self.weights, other.weights),
            plus(self.activations, other.activations),
            plus(self.kv, other.kv),
            plus(self.scores, other.scores),
        )

    def __mul__(self, by: Number) -> Elements:
        return Elements(
            times(self.weights, by),
            times(self.activations, by),
            times(self.kv, by),
            times(self.scores, by),
        )

    __rmul__ = __mul__


#: Nothing moved.
NOTHING = Elements()


class _Cost:
    """What an Op and a Ledger can both be asked.

    What depends on nothing else is a property; what depends on a precision is a method.
    """

    __slots__ = ()

    flops: Any
    count: Any
    elements_read: Elements
    elements_written: Elements
    elements_sent: Elements

    @property
    def reads(self) -> Any:
        """Elements read, of every kind."""
        return self.elements_read.total

    @property
    def writes(self) -> Any:
        """Elements written, of every kind."""
        return self.elements_written.total

    @property
    def elements(self) -> Any:
        """Elements moved between memory and chip: read and written."""
        return plus(self.reads, self.writes)

    @property
    def sends(self) -> Any:
        """Elements sent to other devices, of every kind."""
        return self.elements_sent.total

    def bytes(self, precision: Precision | str | None = None) -> Any:
        """Bytes read and written at a precision (2 bytes per element unless said otherwise)."""
        return plus(self.elements_read.bytes(precision), self.elements_written.bytes(precision))

    def bytes_sent(self, precision: Precision | str | None = None) -> Any:
        """Bytes sent to other devices at a precision."""
        return self.elements_sent.bytes(precision)

    def intensity(self, precision: Precision | str | None = None) -> Any:
        """Arithmetic intensity: FLOPs per byte moved; 0 where nothing moves."""
        moved = self.bytes(precision)
        return 0.0 if is_zero(moved) else self.flops / moved


@dataclass(frozen=True, slots=True, repr=False)
class Op(_Cost):
    """One step's cost: FLOPs, and the elements it reads, writes and sends.

    ``count`` is how often the step runs; FLOPs and elements are for all runs together.
    ``is_matmul`` marks what a matmul-only counter counts. ``axis`` names the axis of the mesh that
    an op sends over; such an op is a message, ``count`` of them, which take ``rounds`` rounds in
    all: each waits for a link once.

    >>> op = Op("scale", 10, elements_read=Elements(activations=10),
    ...         elements_written=Elements(activations=10))
    >>> op.reads, op.writes, op.bytes(), op.intensity()
    (10, 10, 40, 0.25)
    >>> (op * 3).flops, (op * 3).count
    (30, 3)
    >>> op.matmul_flops, op.named("shift").name
    (0, 'shift')
    >>> message = Op("all_reduce", 0, elements_sent=Elements(activations=7), axis="tensor")
    >>> message.sends, message.bytes_sent(), message.bytes()
    (7, 14, 0)
    """

    name: str
    flops: Any
    elements_read: Elements = NOTHING
    elements_written: Elements = NOTHING
    is_matmul: bool = False
    count: Any = 1
    _: KW_ONLY
    elements_sent: Elements = NOTHING
    axis: str = ""
    rounds: Any = 0

    def __post_init__(self) -> None:
        if type(self.flops) is not int:
            settle(self, "flops", "count", "rounds")
        if self.elements_sent is not NOTHING and not self.axis:
            raise ValueError(f"op {self.name!r} sends elements: name the axis that it sends over")

    def bytes(self, precision: Precision | str | None = None) -> Any:
        """Bytes read and written at a precision (2 bytes per element unless said otherwise)."""
        each = precision_of(precision)
        read = self.elements_read.bytes(each, self.name)
        return read + self.elements_written.bytes(each, self.name)

    def bytes_sent(self, precision: Precision | str | None = None) -> Any:
        """Bytes sent to other devices at a precision, a step's own for weights where it has one."""
        return self.elements_sent.bytes(precision, self.name)

    @property
    def matmul_flops(self) -> Any:
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
            elements_sent=self.elements_sent * times if self.axis else NOTHING,
            axis=self.axis,
            rounds=self.rounds * times,
        )

    __rmul__ = __mul__

    def __repr__(self) -> str:
        sent = f", sends {_shown(self.sends)} over {self.axis}" if self.axis else ""
        return (
            f"<Op {self.name}: {_shown(self.flops)} FLOPs, "
            f"reads {_shown(self.reads)}, writes {_shown(self.writes)}{sent}>"
        )


@dataclass(frozen=True, slots=True)
class Holding:
    """What lies in a device's memory while a pass runs: a model, and its cache of these tokens."""

    model: Any
    batch: Number
    context: Number
    encoded: Number = 0


@dataclass(frozen=True, slots=True, repr=False)
class Ledger(_Cost):
    """An ordered list of Ops that adds up.

    ``holds`` is what must lie in memory while they run, where that is known: so that
    `costlib.time` can say that it does not fit. ``own`` is the precision of a model whose
    checkpoint is packed; it is meant wherever none is named.

    >>> ledger = Ledger((Op("a", 6, is_matmul=True), Op("b", 1))) * 2
    >>> ledger.flops, ledger.matmul_flops, ledger["b"].flops, len(ledger)
    (14, 12, 2, 2)
    >>> ledger
    <Ledger: 2 ops, 14 FLOPs, 0 elements moved>
    >>> ledger.names, ledger.count, ledger.elements_read == ledger.elements_written == Elements()
    (('a', 'b'), 4, True)
    >>> ledger["a"].names, ledger[0].name, ledger[1:].names
    (('a',), 'a', ('b',))
    """

    ops: tuple[Op, ...] = ()
    _: KW_ONLY
    holds: Holding | None = field(default=None, compare=False)
    own: Precision | None = field(default=None, compare=False)

    @property
    def flops(self) -> Any:
        """FLOPs of every op."""
        return total(op.flops for op in self.ops)

    @property
    def matmul_flops(self) -> Any:
        """FLOPs of the matmuls alone: what a matmul-only counter reports."""
        return total(op.matmul_flops for op in self.ops)

    @property
    def elements_read(self) -> Elements:  # type: ignore[override]
        """Elements read by every op, by kind."""
        return _all(op.elements_read for op in self.ops)

    @property
    def elements_written(self) -> Elements:  # type: ignore[override]
        """Elements written by every op, by kind."""
        return _all(op.elements_written for op in self.ops)

    @property
    def elements_sent(self) -> Elements:  # type: ignore[override]
        """Elements sent by every op, by kind; `over` has those of one axis."""
        return _all(op.elements_sent for op in self.ops)

    def at(self, precision: Precision | str | None = None) -> Precision:
        """The precision that is meant: the one named, else the model's own, else 16 bits.

        >>> Ledger().at("fp8").weights, Ledger().at().weights
        (1, 2)
        """
        return precision_of(self.own if precision is None else precision)

    def bytes(self, precision: Precision | str | None = None) -> Any:
        """Bytes read and written at a precision."""
        each = self.at(precision)
        if each.by_step:
            return total(op.bytes(each) for op in self.ops)
        return plus(self.elements_read.bytes(each), self.elements_written.bytes(each))

    def bytes_sent(self, precision: Precision | str | None = None) -> Any:
        """Bytes sent to other devices at a precision."""
        each = self.at(precision)
        if each.by_step:
            return total(op.bytes_sent(each) for op in self.ops)
        return self.elements_sent.bytes(each)

    @property
    def count(self) -> Any:
        """How many times an op runs, all together."""
        return total(op.count for op in self.ops)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the ops, in order."""
        return tuple(op.name for op in self.ops)

    def where(self, keep: Callable[[Op], bool]) -> Ledger:
        """The ops for which ``keep(op)`` is true.

        >>> Ledger((Op("a", 6), Op("b", 1))).where(lambda op: op.flops > 2).names
        ('a',)
        """
        return Ledger(tuple(op for op in self.ops if keep(op)), own=self.own)

    def over(self, axis: str) -> Ledger:
        """The messages over one axis of the mesh, on links of every tier ("data", "data.network").

        >>> sent = Op("all_reduce", 0, elements_sent=Elements(activations=7), axis="tensor")
        >>> Ledger((Op("a", 6), sent)).over("tensor").sends
        7
        """
        return self.where(lambda op: op.axis == axis or op.axis.startswith(f"{axis}."))

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

    @overload
    def __getitem__(self, which: int) -> Op: ...
    @overload
    def __getitem__(self, which: str | slice) -> Ledger: ...
    def __getitem__(self, which: str | int | slice) -> Op | Ledger:
        if isinstance(which, str):
            return self.only(which)
        return (
            Ledger(self.ops[which], own=self.own) if isinstance(which, slice) else self.ops[which]
        )

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)

    def __len__(self) -> int:
        return len(self.ops)

    def __add__(self, other: Op | Ledger | Iterable[Op]) -> Ledger:
        more = (other,) if isinstance(other, Op) else tuple(other)
        if not isinstance(other, Ledger):
            return Ledger(self.ops + more, holds=self.holds, own=self.own)
        later, own = other.holds or self.holds, other.own or self.own  # a cache only grows
        return Ledger(self.ops + more, holds=later, own=own)

    def __radd__(self, other: Any) -> Ledger:
        return self if is_zero(other) else NotImplemented  # 0: so that sum(ledgers) works

    def __mul__(self, times: Number) -> Ledger:
        return Ledger(tuple(op * times for op in self.ops), holds=self.holds, own=self.own)

    __rmul__ = __mul__

    def table(self, precision: Precision | str | None = None) -> Any:
        """A DataFrame with a row for each op; the last row is the total.

        >>> Ledger((Op("a", 6), Op("b", 1))).table()["flops"].tolist()
        [6, 1, 7]
        """
        with extra("tables"):
            import pandas as pd

        rows, precision = [*self.ops, self], self.at(precision)
        columns = {
            "count": [row.count for row in rows],
            "flops": [row.flops for row in rows],
            "reads": [row.reads for row in rows],
            "writes": [row.writes for row in rows],
            "bytes": [row.bytes(precision) for row in rows],
            "intensity": [row.intensity(precision) for row in rows],
        }
        if any(op.axis for op in self.ops):
            columns["axis"] = [*(op.axis for op in self.ops), ""]
            columns["sends"] = [row.sends for row in rows]
        return pd.DataFrame(columns, index=pd.Index([*self.names, "total"], name="op"))

    def __repr__(self) -> str:
        return (
            f"<Ledger: {len(self)} op{'s' * (len(self) != 1)}, {_shown(self.flops)} FLOPs, "
            f"{_shown(self.elements)} elements moved>"
        )

    def _repr_html_(self) -> str | None:
        return ledger_html(self)

    def _repr_latex_(self) -> str | None:
        return ledger_latex(self)


def _all(parts: Iterable[Elements]) -> Elements:
    """The elements of all parts together, each kind by itself."""
    return sum(parts, NOTHING)


def _shown(value: Any) -> str:
    if is_symbolic(value):
        return str(value)
    return f"{value:,}" if isinstance(value, (int, float)) else f"array{value.shape}"
