"""Where Python and JavaScript would differ, a function each: what it says, it says in both."""
# What a linter would tidy is what is to be printed.
# ruff: noqa: B009, C416, PERF203, SIM222, SIM223, SIM905, UP003

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from itertools import product
from math import ceil, inf, isqrt, log2
from typing import Any

CASES: dict[str, Callable[[], Any]] = {}
CASES["deeds of a module"] = lambda: sorted(CASES)


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a function under its name."""
    CASES[function.__name__] = function
    return function


@dataclass(frozen=True)
class Point:
    """Two numbers; sums, and multiples on either side."""

    x: int
    y: int = 0
    label: str = field(default="", compare=False)
    tags: tuple[str, ...] = field(default=(), repr=False)
    norm: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", abs(self.x) + abs(self.y))

    def __add__(self, other: Point) -> Point:
        return Point(self.x + other.x, self.y + other.y)

    def __mul__(self, times: int) -> Point:
        return Point(self.x * times, self.y * times)

    __rmul__ = __mul__

    @property
    def swapped(self) -> Point:
        """The other way round."""
        return replace(self, x=self.y, y=self.x)

    @classmethod
    def on_axis(cls, x: int, **more: Any) -> Point:
        """With no second number."""
        return cls(x, **more)


@dataclass(frozen=True, kw_only=True)
class Place(Point):
    """A point with a name that is needed."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name} at {(self.x, self.y)}>"


class Refused(KeyError):
    """An error with words of its own."""

    def __str__(self) -> str:
        return f"refused {self.args[0]!r}"


def _many(first: int, *rest: int, scale: int = 1, **named: int) -> list[Any]:
    return [first, rest, scale, sorted(named.items())]


def _counted(to: int) -> Iterator[int]:
    yield 0
    yield from range(1, to)


@lru_cache(maxsize=8)
def _cached(point: Point, by: tuple[int, ...]) -> list[Any]:
    return [point.x, *by]


def _raised(error: Exception) -> str:
    try:
        raise error
    except (ValueError, TypeError) as problem:
        return f"wrong: {problem}"
    except KeyError as problem:
        return f"missing: {problem}"


@case
def division() -> Any:
    pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (-1, 3)]
    floats = [int(a // b) for a, b in ((0.3, 0.1), (6.0, 0.1), (-1e3, 0.3))]
    return (
        [(a // b, a % b, divmod(a, b)) for a, b in pairs],
        floats,
        -(-7 // 2),
        7 / 2,
        2**-1,
        2**10,
    )


@case
def truths() -> Any:
    empties = [0, "", (), [], {}, set(), None, False, 0.0]
    return [bool(each) for each in empties], [] or "x", () and 1, 0 or None, not [], "a" and (1,)


@case
def equality() -> Any:
    same = (1, [2, {"a": (3,)}]) == (1, [2, {"a": (3,)}])
    return same, [1] == (1,), {1, 2} == {2, 1}, True == 1, "1" == 1, None == 0, (1, 2) < (1, 3)


@case
def entries() -> Any:
    found = {(1, "a"): "tuple", 2: "int", None: "none"}
    found[(1, "a")] += "!"
    kept = {key: value for key, value in found.items() if key is not None}
    return found[1, "a"], list(kept), 2 in found, (1, "a") in found, found.get(9, "no"), len(found)


@case
def membership() -> Any:
    return "ell" in "hello", 3 in (1, 2, 3), None in (None, 1), (1,) in [(1,)], 2 not in {1, 2}


@case
def sets() -> Any:
    one, other = {1, 2, 3}, {2, 3, 4}
    answers = one <= other, {2} <= one, one.isdisjoint({9})
    return sorted(one & other), sorted(one | other), sorted(one - other), answers


@case
def slices() -> Any:
    values, text = [1, 2, 3, 4], "héllo🙂"
    return values[1:], values[:-1], values[-1], text[1:3], text[-1], (1, 2, 3)[::-1], len(text)


@case
def unpacking() -> Any:
    *most, last = [1, 2, 3]
    first, *rest = "abc"
    (a, b), c = (1, 2), 3
    values = same = [0, 0]
    values[0], values[1] = 5, 6
    values[0] += 1
    same += [7]
    return most, last, first, rest, a, b, c, values


@case
def calls() -> Any:
    more = {"b": 2, "scale": 9}
    spread = _many(*[1, 2], **more)
    return _many(1, 2, 3, b=4, scale=5), spread, partial(_many, 1, a=2)(3), partial(_many)(*(4, 5))


@case
def records() -> Any:
    point = Point(1, 2, label="here")
    texts = repr(point), str(3 * point), repr(Place(x=1, name="home"))
    equal = point == Point(1, 2), point == Point(2, 1), point != Place(x=1, y=2, name="n")
    sums = [each.norm for each in (point + point, point * 2, point.swapped, Point.on_axis(7, y=1))]
    return texts, equal, sums, {Point(1): "a"}[Point(1)], point.tags, isinstance(point, Point)


@case
def cached() -> Any:
    return _cached(Point(1), (2, 3)) is _cached(Point(1), (2, 3)), _cached(Point(2), ())


@case
def generators() -> Any:
    squares = (n * n for n in _counted(5) if n % 2)
    first = next(squares)
    nothing = next((n for n in ()), "none")
    return first, list(squares), nothing, [*enumerate("ab", 1)], sum(_counted(4))


@case
def loops() -> Any:
    found = []
    for a, b in zip((1, 2, 3), "xyz", strict=True):
        if a == 2:
            continue
        found.append(f"{a}{b}")
    while len(found) < 4:
        found.append("-")
        if len(found) == 3:
            break
    return found, [x for x in range(6, 0, -2)], [(a, b) for a in range(3) for b in range(a)]


@case
def orders() -> Any:
    words = ["pear", "fig", "apple"]
    by = sorted(words, key=len), sorted(words, reverse=True), max(words, key=len), min(3, 1, 2)
    return by, max([], default=0), sorted({2: "b", 1: "a"}.items())


@case
def texts() -> Any:
    parts = "a.b.c".split("."), "a.b.c".rpartition("."), "a.b.c".partition("-"), "  x ".strip()
    ends = "abc".endswith(("x", "c")), "ab" * 2, "a-b".replace("-", "+")
    return parts, ends, ", ".join(str(n) for n in range(3)), "Straße".casefold(), "٣".isdecimal()


@case
def shown() -> Any:
    odd = ["it's", 'say "x"', "both ' and \"", "tab\t\n\\", "é\u200b\x07🙂", None, True, 1.5]
    odd += [1e-7, 1.5e-300, 12345.6789, -0.1]
    return (
        repr(odd),
        f"{odd[0]!r:.4} {12345!s:.3} {1234567:,} {0.5:.0%} {2.5:g}",
        str((1,)),
        repr({"a": {1}}),
    )


@case
def errors() -> Any:
    kinds = [ValueError("no"), TypeError("what"), KeyError("name"), Refused("it")]
    return [_raised(kind) for kind in kinds]


@case
def wrong_operands() -> Any:
    found = []
    for attempt in (lambda: None + 1, lambda: "a" < 1, lambda: {}["k"], lambda: 1 // 0):
        try:
            attempt()
        except (TypeError, KeyError, ZeroDivisionError) as problem:
            found.append(f"{type(problem).__name__}: {problem}")
    return found


@case
def kinds() -> Any:
    values = [1, 1.5, "a", True, None, (1,), [1], {}, {1}, Point(1)]
    names = [type(each).__name__ for each in values]
    is_int = [isinstance(each, int) for each in values]
    asked = type(1) is int, isinstance("a", (int, str)), getattr(Point(4), "x"), int("7")
    return names, is_int, asked, Point.__name__, _many.__name__


@case
def numbers() -> Any:
    rounded = round(2.5), round(0.125, 2), round(-2.675, 2), int(-2.5), int(7.9), isqrt(17)
    doubled = ceil(2.5), [ceil(log2(n)) for n in (1, 2, 3, 8, 9)]
    return rounded, doubled, reduce(max, [1, 9, 3]), [*product((0, 1), repeat=2)], inf > 10**9


@case
def patterns() -> Any:
    found = re.compile(r"(?P<name>\w+)x(?P<many>\d+)").fullmatch("T4x8")
    return found["name"], found["many"], bool(re.compile("a.c").match("abcd")), re.escape("a.b*")


@case
def closures() -> Any:
    total, add = 5, lambda x, y=10: x + y + total
    values = [add(n) for n in (1, 2)]

    def inner(function: int) -> int:
        return function + total

    total = 6
    return values, inner(1), (lambda: total)(), [*map(inner, [1, 2])], [*filter(None, [0, 1])]
