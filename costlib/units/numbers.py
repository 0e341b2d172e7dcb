"""What a size may be, and the few operations that know every reading of a formula.

A cost formula is written once, with ``+ - * / // **`` and the helpers below. What you pass decides
what you get: Python ints give an exact int, NumPy arrays a sweep, SymPy symbols the formula itself,
Dask arrays a lazy sweep, JAX arrays something that can be differentiated. Only this module knows
that the readings differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from math import ceil, log2
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = [
    "amount",
    "ceil_div",
    "certain",
    "choose",
    "divides",
    "doublings",
    "exact_div",
    "exceeds",
    "extra",
    "flag",
    "is_lazy",
    "is_long",
    "is_one",
    "is_symbolic",
    "is_zero",
    "maximum",
    "minimum",
    "one_size",
    "plus",
    "size",
    "sizes",
    "square_root",
    "suggests",
    "symbols",
    "times",
    "total",
    "triangle",
    "unwrappable",
    "where",
    "whole_number",
    "within_seconds",
]


class Number(Protocol):
    """A size or a count in any reading: int, float, NumPy / Dask / JAX array, SymPy expression.

    What all of them can do and a string cannot, so that a type checker sees the difference.
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...


T = TypeVar("T")

#: Far more than there is of anything; products of such sizes are still numbers to a float.
MOST = 10**30

_WANTED = "a whole number, an array of whole numbers or a SymPy symbol"


_PLAIN = frozenset({int, float})

#: Entries of an array that a processor's cache still holds a few times.
LONG = 32_768


def size(name: str, value: Number, *, least: int = 1) -> Any:
    """Check one size and return it ready for arithmetic that cannot wrap.

    Arrays of integers and of short floats come back as float64, because they wrap or overflow
    where FLOP counts of real sizes do not. Python ints stay ints, up to 1e30.

    >>> size("seq", 128), size("seq", 128.0)
    (128, 128)
    >>> size("seq", np.array([1, 2]))
    array([1., 2.])
    >>> size("seq", 0)
    Traceback (most recent call last):
        ...
    ValueError: seq must be at least 1, got 0
    """
    if type(value) is int:  # the common case first: a scalar call costs microseconds
        if not least <= value <= MOST:
            raise ValueError(_beyond(name, value, least))
        return value
    if is_symbolic(value):
        return _symbolic_size(name, value, least)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be {_WANTED}, got the truth value {value}")
    if isinstance(value, (int, np.integer)):
        return size(name, int(value), least=least)
    if isinstance(value, (float, np.floating)):
        return size(name, whole_number(name, float(value)), least=least)
    if hasattr(value, "dtype") and hasattr(value, "astype"):
        return _array_size(name, value, least)
    raise TypeError(f"{name} must be {_WANTED}, got {_shown(value)}{_hint(value)}")


def _beyond(name: str, value: int, least: int) -> str:
    if value < least:
        return f"{name} must be at least {least}, got {value}"
    return f"{name} must be at most 1e30, got a larger whole number"


def sizes(**named: Number) -> tuple[Any, ...]:
    """Check several sizes of at least 1, in the order given.

    >>> sizes(m=2, k=3.0)
    (2, 3)
    >>> sizes(m=2, k="3")
    Traceback (most recent call last):
        ...
    TypeError: k must be a whole number, an array of whole numbers or a SymPy symbol, got '3' (str)
    """
    return tuple(size(name, value) for name, value in named.items())


def amount(name: str, value: Number, *, least: float | None = None) -> Any:
    """Check a quantity that need not be whole: more than 0, or at least ``least``; as it came.

    >>> amount("watts", 412.5), amount("restart", 0, least=0)
    (412.5, 0)
    >>> amount("watts", -1)
    Traceback (most recent call last):
        ...
    ValueError: watts must be more than 0 and finite, got -1
    """
    if is_symbolic(value) or is_lazy(value):
        return value
    is_plain = type(value) in (int, float)
    if type(value) is int and value > MOST:
        raise ValueError(_beyond(name, value, 0))
    entries: Any = float(value) if is_plain else _entries(name, value)  # an int of any length
    fits = entries > 0 if least is None else entries >= least
    if not bool(np.all(fits & np.isfinite(entries))):
        wanted = "more than 0" if least is None else f"at least {least}"
        raise ValueError(f"{name} must be {wanted} and finite, got {value}")
    return value


def one_size(name: str, value: Number, *, least: int = 1) -> int:
    """Check a size where there can be only one.

    >>> one_size("batch", 8.0)
    8
    >>> one_size("batch", np.array([1, 8]))
    Traceback (most recent call last):
        ...
    TypeError: batch must be one whole number here, got [1. 8.]: call it for each, or ask \
costlib.sweep
    """
    checked: Any = value if isinstance(value, (list, tuple)) else size(name, value, least=least)
    if not isinstance(checked, int):
        text = f"{name} must be one whole number here, got {checked!s:.60}"
        raise TypeError(f"{text}: call it for each, or ask costlib.sweep")
    return checked


def within_seconds(name: str, value: Number, most: float) -> Any:
    """Check a time of at most ``most`` seconds: a larger one was probably given in milliseconds.

    >>> within_seconds("tpot", 0.025, 1)
    0.025
    >>> within_seconds("tpot", 25, 1)
    Traceback (most recent call last):
        ...
    ValueError: tpot is in seconds and at most 1, got 25: 25 ms are 0.025
    """
    amount(name, value, least=0)
    if exceeds(value, most):
        text = f"{name} is in seconds and at most {most:g}, got {value!s:.60}"
        ms = f": {value:g} ms are {value / 1000:g}" if isinstance(value, (int, float)) else ""
        raise ValueError(text + ms)
    return value


def whole_number(name: str, value: float) -> int:
    """The int that a float stands for; a fraction, NaN or infinity is an error.

    >>> whole_number("batch", 8.0)
    8
    >>> whole_number("batch", 2.5)
    Traceback (most recent call last):
        ...
    ValueError: batch must be a whole number, got 2.5: did you mean 2 or 3?
    """
    if not np.isfinite(value):
        raise ValueError(f"{name} must be a finite whole number, got {value}")
    if value != int(value):
        low = int(value // 1)
        raise ValueError(
            f"{name} must be a whole number, got {value}: did you mean {low} or {low + 1}?"
        )
    return int(value)


def choose(name: str, value: Any, among: tuple[Any, ...]) -> None:
    """Check that an option is one of those there are.

    >>> choose("masked", "half", ("computed", "skipped"))
    Traceback (most recent call last):
        ...
    ValueError: masked must be 'computed' or 'skipped', got 'half'
    """
    if value not in among:
        raise ValueError(f"{name} must be {' or '.join(map(repr, among))}, got {value!r:.200}")


def suggests(made: type[T]) -> type[T]:
    """A dataclass that says which fields may be meant where it has none of the name given.

    >>> from dataclasses import dataclass
    >>> @suggests
    ... @dataclass
    ... class Cuts:
    ...     tensor: int = 1
    ...     data: int = 1
    >>> Cuts(dp=8)
    Traceback (most recent call last):
        ...
    TypeError: Cuts has no dp: did you mean data?
    """
    plain: Any = made.__init__
    known = [each.name for each in fields(made) if each.init]  # type: ignore[arg-type]

    @wraps(plain)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        for name in named:
            if name not in known:
                alike = [each for each in known if each[0] == name[0]]  # as in dp and tp
                near = get_close_matches(name, known, cutoff=0.7) if len(name) > 2 else alike
                more = f"did you mean {' or '.join(near)}" if near else f"it has {', '.join(known)}"
                raise TypeError(f"{made.__name__} has no {name}: {more}" + "?" * bool(near))
        plain(self, *given, **named)

    made.__init__ = checked  # type: ignore[method-assign]
    return made


def flag(name: str, value: Any) -> Any:
    """Check a choice between True and False, or an array of such.

    >>> flag("causal", float("nan"))
    Traceback (most recent call last):
        ...
    TypeError: causal must be True or False, got nan
    """
    if not (
        isinstance(value, (bool, np.bool_))
        or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    ):
        raise TypeError(f"{name} must be True or False, got {value!r:.200}")
    return value


def is_zero(value: Number) -> bool:
    """True only for a plain 0: arrays and symbols always count as something.

    >>> is_zero(0), is_zero(0.0), is_zero(np.zeros(2)), is_zero(symbols("S"))
    (True, True, False, False)
    """
    return type(value) in _PLAIN and value == 0


def is_one(value: Number) -> bool:
    """True only for a plain 1.

    >>> is_one(1), is_one(np.ones(2))
    (True, False)
    """
    return type(value) in _PLAIN and value == 1


def plus(a: Number, b: Number) -> Any:
    """a + b, passing over a plain 0: adding it to a big array is not free.

    >>> plus(0, 5), plus(2, 5)
    (5, 7)
    """
    return b if is_zero(a) else a if is_zero(b) else a + b


def times(count: Number, by: Number) -> Any:
    """count · by; a plain zero stays one, however large an array it is multiplied by.

    >>> times(0, np.ones(3)), times(2, 3)
    (0, 6)
    """
    return 0 if is_zero(count) else count * by


def total(values: Iterable[Number]) -> Any:
    """The sum, passing over plain zeros.

    >>> total([1, 0, 2.5])
    3.5
    """
    found: Number = 0
    for value in values:
        found = plus(found, value)
    return found


def set_field(instance: object, name: str, value: Any) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(instance, name, value)


def settle(instance: object, *names: str) -> None:
    """Fields of a frozen dataclass, while it is made, in types that cannot wrap."""
    for name in names:
        value = getattr(instance, name)
        if type(value) not in _PLAIN:
            set_field(instance, name, unwrappable(value))


def minimum(a: Number, b: Number) -> Any:
    """The smaller of two values, elementwise, in any reading.

    >>> minimum(3, 5), minimum(np.array([1.0, 9.0]), 5)
    (3, array([1., 5.]))
    >>> minimum(symbols("S"), symbols("W"))
    Min(S, W)
    """
    return _pick(a, b, "minimum", min, "Min")


def unwrappable(value: Any) -> Any:
    """The same value, in a type whose sums and products cannot wrap around or overflow early.

    >>> unwrappable(np.int64(2**62)) * 4, unwrappable(np.array([2**30], np.int32)) * 4
    (18446744073709551616, array([4.2949673e+09]))
    """
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    is_narrow = kind in ("i", "u") or (kind == "f" and value.dtype.itemsize < 8)
    return value.astype(float) if is_narrow else value


def maximum(a: Number, b: Number) -> Any:
    """The larger of two values, elementwise, in any reading.

    >>> maximum(3, 5), maximum(np.array([1.0, 9.0]), 5)
    (5, array([5., 9.]))
    """
    return _pick(a, b, "maximum", max, "Max")


def ceil_div(a: Number, b: Number) -> Any:
    """a / b rounded up: how many blocks of b cover a.

    >>> ceil_div(10, 4), ceil_div(8, 4), ceil_div(10**30 + 1, 10)
    (3, 2, 100000000000000000000000000001)
    >>> ceil_div(symbols("N"), 4)
    ceiling(N/4)
    """
    if is_symbolic(a, b):
        import sympy

        return sympy.ceiling(a / b)
    return -(-a // b)


def doublings(n: Number) -> Any:
    """⌈log₂ n⌉: how often 1 is doubled until it is at least n.

    >>> doublings(1), doublings(8), doublings(9), doublings(np.array([2, 3, 64]))
    (0, 3, 4, array([1., 2., 6.]))
    >>> doublings(symbols("G"))
    ceiling(log(G)/log(2))
    """
    if is_symbolic(n):
        import sympy

        return sympy.ceiling(sympy.log(n, 2))
    if isinstance(n, (int, float)):
        return ceil(log2(n))
    several = _namespace(n)
    return several.ceil(several.log2(n))


def exact_div(a: Number, b: Number) -> Any:
    """a / b where b is known to divide a: an int stays an int, a symbol makes no floor.

    >>> exact_div(7 * 8, 2)
    28
    >>> S = symbols("S")
    >>> exact_div(S * (S + 1), 2)
    S*(S + 1)/2
    """
    if isinstance(a, int) and isinstance(b, int):
        quotient, rest = divmod(a, b)
        if rest:
            raise ValueError(f"{a} is not a multiple of {b}")
        return quotient
    holds_ints = getattr(getattr(a, "dtype", None), "kind", "") == "O"
    return a // b if holds_ints else a / b


def triangle(n: Number) -> Any:
    """1 + 2 + … + n: what a causal mask leaves of n × n.

    >>> triangle(4), triangle(symbols("S"))
    (10, S*(S + 1)/2)
    """
    return exact_div(n * (n + 1), 2)


def square_root(value: Number) -> Any:
    """The square root in any reading; of a symbol it stays exact.

    >>> square_root(16), square_root(symbols("M"))
    (4.0, sqrt(M))
    """
    if is_symbolic(value):
        import sympy

        return sympy.sqrt(value)
    return value**0.5


def where(condition: Any, yes: Number, no: Number) -> Any:
    """``yes`` where a condition holds and ``no`` elsewhere, in any reading.

    >>> where(3 > 2, 10, 20), where(np.array([1, 3]) > 2, 10, 20)
    (10, array([20, 10]))
    >>> where(symbols("M") > 2, 10, 20)
    Piecewise((10, M > 2), (20, True))
    """
    if is_symbolic(condition):
        import sympy

        return sympy.Piecewise((yes, condition), (no, True))
    if isinstance(condition, (bool, np.bool_)):
        return yes if condition else no
    return _namespace(condition, yes, no).where(condition, yes, no)


def certain(condition: Any) -> bool | None:
    """Whether a condition is known to hold everywhere (True) or nowhere (False); else None.

    >>> certain(3 > 2), certain(np.array([1, 3]) > 5), certain(np.array([1, 3]) > 2)
    (True, False, None)
    """
    if isinstance(condition, (bool, np.bool_)):
        return bool(condition)
    if is_symbolic(condition) or is_lazy(condition):
        return None
    entries = np.asarray(condition)
    return True if entries.all() else None if entries.any() else False


def exceeds(value: Number, most: Number) -> bool:
    """Whether a value, or an entry of it, is known to be more than the most there can be.

    >>> exceeds(5, 4), exceeds(np.array([1, 5]), 4), exceeds(symbols("S"), 4)
    (True, True, False)
    """
    if is_symbolic(value, most) or is_lazy(value) or is_lazy(most):
        return False
    is_more: Any = value > most
    return bool(is_more if isinstance(is_more, bool) else is_more.any())


def divides(divisor: Number, value: Number) -> bool:
    """False only if it is known that divisor leaves a rest in value somewhere.

    >>> divides(4, 32), divides(5, 32), divides(symbols("K"), 32)
    (True, False, True)
    """
    if is_symbolic(divisor, value) or is_lazy(divisor) or is_lazy(value):
        return True
    return bool(np.all(value % divisor == 0))


def symbols(names: str) -> Any:
    """SymPy symbols that stand for sizes: positive integers.

    >>> B, S = symbols("B S")
    >>> (B * S) ** 2 / S
    B**2*S
    """
    with extra("symbols"):
        import sympy

    if not isinstance(names, str):
        raise TypeError(f"symbols are named by a text such as 'm k n', got {names!r:.60}")
    return sympy.symbols(names, positive=True, integer=True)


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around an import that costlib can do without: where it is missing, what to install.

    >>> with extra("tables"):
    ...     import a_package_for_tables
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: this needs a_package_for_tables: pip install "costlib[tables]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        text = f'this needs {error.name}: pip install "costlib[{name}]"'
        raise ModuleNotFoundError(text, name=error.name) from None


def is_symbolic(*values: Number) -> bool:
    """True if any value is a SymPy expression. SymPy is not imported to find out.

    >>> is_symbolic(1, 2), is_symbolic(1, symbols("N"))
    (False, True)
    """
    sympy = sys.modules.get("sympy")
    return sympy is not None and any(isinstance(value, sympy.Basic) for value in values)


def is_long(*values: Number) -> bool:
    """Whether one of these is a NumPy array too long to be gone through again and again.

    >>> is_long(8, np.ones(10)), is_long(np.ones(10**6))
    (False, True)
    """
    return any(isinstance(value, np.ndarray) and value.size > LONG for value in values)


def _pick(a: Number, b: Number, array_name: str, plain: Any, symbolic_name: str) -> Any:
    if is_symbolic(a, b):
        import sympy

        return getattr(sympy, symbolic_name)(a, b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return plain(a, b)
    return getattr(_namespace(a, b), array_name)(a, b)


def _namespace(*values: Number) -> Any:
    """The module whose functions keep these arrays what they are (Dask follows NumPy's own)."""
    for value in values:
        if hasattr(value, "__array_namespace__") and not isinstance(
            value, (np.ndarray, np.generic)
        ):
            return value.__array_namespace__()
    return np


def is_lazy(value: Number) -> bool:
    """An array whose entries cannot be looked at without computing or tracing.

    >>> is_lazy(np.array([1, 2])), is_lazy(3)
    (False, False)
    """
    return hasattr(value, "dtype") and not (
        isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "to_numpy")
    )


def _array_size(name: str, value: Any, least: int) -> Any:
    kind = value.dtype.kind
    if kind == "O" and isinstance(value, np.ndarray):  # exact ints, however large
        flat = [size(f"{name}[{i}]", entry, least=least) for i, entry in enumerate(value.flat)]
        exact = np.empty(value.shape, dtype=object)
        exact.flat[:] = flat
        return exact
    if kind not in "iuf":
        raise TypeError(f"{name} must be {_WANTED}, got an array of {value.dtype}")
    if not is_lazy(value):
        _check_entries(name, np.asarray(value), least)
    return unwrappable(value)


def _entries(name: str, value: Any) -> Any:
    entries = np.asarray(value)
    if entries.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number, got {_shown(value)}{_hint(value)}")
    return entries


def _check_entries(name: str, entries: np.ndarray[Any, Any], least: int) -> None:
    if entries.size == 0:
        raise ValueError(f"{name} must hold at least one size, got an empty array")
    flat = entries.ravel()
    for start in range(0, flat.size, LONG):  # in blocks that stay in a processor's cache
        part = flat[start : start + LONG]
        if part.dtype.kind == "f" and (wrong := (part != np.floor(part)) | np.isinf(part)).any():
            raise ValueError(f"{name} must hold whole numbers only, got {part[wrong][0]}")
        if part.min() < least:
            raise ValueError(f"{name} must be at least {least} everywhere, got {entries.min()}")
        if float(part.max()) > MOST:
            raise ValueError(f"{name} must be at most 1e30 everywhere, got {entries.max()}")


def _symbolic_size(name: str, value: Any, least: int) -> Any:
    if value.is_number:
        if not value.is_finite or value != int(value):
            raise ValueError(f"{name} must be a whole number, got {value}")
        return size(name, int(value), least=least)
    if value.is_integer is False or value.is_negative or not hasattr(value, "is_positive"):
        raise ValueError(f"{name} must be able to stand for a whole number, got {value}")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"


def _hint(value: object) -> str:
    return ": pass np.array(...)" if isinstance(value, (list, tuple, range)) else ""
