"""What a size may be, and that every reading of a helper agrees with the int reading."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from costlib.units.numbers import (
    ceil_div,
    divides,
    doublings,
    exact_div,
    is_symbolic,
    maximum,
    minimum,
    size,
    sizes,
    square_root,
    symbols,
    where,
)

whole = st.integers(1, 10**9)


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (0, ValueError, "at least 1, got 0"),
        (-3, ValueError, "at least 1, got -3"),
        (2.5, ValueError, "did you mean 2 or 3"),
        (float("nan"), ValueError, "finite"),
        (float("inf"), ValueError, "finite"),
        ("8", TypeError, "'8' (str)"),
        (True, TypeError, "truth value True"),
        (np.True_, TypeError, "truth value True"),
        (None, TypeError, "None"),
        (1j, TypeError, "complex"),
        ([1, 2], TypeError, "np.array"),
        (np.array([4, -1]), ValueError, "got -1"),
        (np.array([1.0, 1.5]), ValueError, "got 1.5"),
        (np.array([1.0, np.nan]), ValueError, "got nan"),
        (np.array([True]), TypeError, "array of bool"),
        (np.array(["a"]), TypeError, "array of <U1"),
        (np.array([]), ValueError, "empty"),
        (np.array([3, "x"], dtype=object), TypeError, "seq[1]"),
        (sympy.Rational(1, 2), ValueError, "whole number"),
        (sympy.Integer(-2), ValueError, "at least 1"),
        (sympy.oo, ValueError, "whole number"),
        (-sympy.Symbol("x", positive=True), ValueError, "stand for"),
    ],
)
def test_a_wrong_size_is_named(wrong: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        size("seq", wrong)
    assert "seq" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "right", [7, 7.0, np.int32(7), np.float32(7), np.array(7), sympy.Integer(7)]
)
def test_scalars_become_ints(right: object) -> None:
    assert size("seq", right) == 7
    assert type(size("seq", right)) is int


def test_least_allows_zero_where_asked() -> None:
    assert size("cached", 0, least=0) == 0


def test_sizes_keep_their_order() -> None:
    assert sizes(b=2, a=1) == (2, 1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
def test_integer_arrays_cannot_wrap(dtype: type) -> None:
    huge = size("seq", np.array([100], dtype=dtype)) ** 20
    assert huge[0] == pytest.approx(1e40)


def test_object_arrays_stay_exact() -> None:
    exact = size("seq", np.array([10**30, 3], dtype=object))
    assert exact[0] * exact[0] == 10**60


@given(whole, whole)
def test_helpers_agree_in_every_reading(a: int, b: int) -> None:
    x, y = symbols("x y")
    for helper in (minimum, maximum, ceil_div):
        expected = helper(a, b)
        assert isinstance(expected, int)
        assert helper(np.array([a], dtype=float), b)[0] == expected
        assert helper(np.array([a], dtype=object), b)[0] == expected
        assert helper(x, y).subs({x: a, y: b}) == expected
    assert ceil_div(a, b) == (a + b - 1) // b


def test_doublings_are_how_often_one_doubles() -> None:
    for n in range(1, 200):
        found = doublings(n)
        assert 2**found >= n > (2**found) // 2
        assert doublings(np.array([n]))[0] == found
        assert doublings(symbols("x")).subs({symbols("x"): n}) == found


@given(whole, whole)
def test_exact_division(a: int, b: int) -> None:
    assert exact_div(a * b, b) == a
    assert exact_div(np.array([a * b], dtype=object), b)[0] == a
    assert exact_div(symbols("x") * b, b) == symbols("x")
    if b > 1:
        with pytest.raises(ValueError, match="not a multiple"):
            exact_div(a * b + 1, b)


def test_divides_looks_only_where_it_can() -> None:
    assert divides(8, np.array([16, 32]))
    assert not divides(8, np.array([16, 33]))
    assert divides(symbols("K"), 3)


def test_symbolic_is_recognised() -> None:
    assert is_symbolic(1, symbols("x"))
    assert not is_symbolic(1, np.array([2]), "x")


@given(whole, whole)
def test_roots_and_choices_agree_in_every_reading(a: int, b: int) -> None:
    x, y = symbols("x y")
    assert square_root(a) == pytest.approx(float(square_root(x).subs(x, a)))
    root = pytest.approx(square_root(a), rel=3e-16)  # of an array the last bit may be another
    assert square_root(np.array([float(a)]))[0] == root
    assert square_root(a) ** 2 == pytest.approx(a)
    expected = where(a > b, a, b)
    assert expected == max(a, b)
    assert where(np.array([a]) > b, a, b)[0] == expected
    assert where(x > y, x, y).subs({x: a, y: b}) == expected


def test_costs_made_of_small_integers_cannot_wrap() -> None:
    from costlib import Elements, Ledger, Op

    assert Elements(weights=np.int32([2**30])).bytes() == 2**31
    ops = (Op("a", np.int64(2**62)), Op("b", np.int64(2**62), count=np.int8(100)))
    assert Ledger(ops).flops == 2**63
    assert (ops[1] * 3).count == 300


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_neither_overflow_nor_round(dtype: type) -> None:
    seq = size("seq", np.array([2001], dtype=dtype))
    assert seq.dtype == np.float64
    assert (seq**6)[0] == 2001**6 if dtype is np.float32 else np.isfinite(seq**6)[0]
