"""Chapter 1: formulas against counts, limits and each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import costlib
from costlib.layers.matmul import einsum, exact, linear, linear_backward, matmul, matmul_backward
from costlib.units.ledger import Elements, Ledger, Op
from costlib.units.precision import Precision
from costlib.units.tally import CountingArray, Tally

small = st.integers(1, 9)
large = st.integers(1, 10**6)


def counted_product(m: int, k: int, n: int, *, start_at_zero: bool) -> Tally:
    """The tally of a matrix product written as three loops over numbers."""
    tally = Tally()
    a = CountingArray(np.arange(m * k).reshape(m, k), tally)
    b = CountingArray(np.arange(k * n).reshape(k, n), tally)
    out = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            terms = [a[i, p] * b[p, j] for p in range(k)]
            total = CountingArray(0, tally) if start_at_zero else terms.pop(0)
            for term in terms:
                total = total + term
            out[i, j] = total.values
    assert np.array_equal(out, a.values @ b.values)
    return tally


@settings(max_examples=25)
@given(small, small, small)
def test_exact_count_equals_what_a_loop_does(m: int, k: int, n: int) -> None:
    tally, formula = counted_product(m, k, n, start_at_zero=False), exact(m, k, n)
    assert (tally.multiplications, tally.additions) == (formula.multiplications, formula.additions)
    assert formula.total == (2 * k - 1) * m * n


@settings(max_examples=25)
@given(small, small, small)
def test_rounded_count_equals_a_loop_that_starts_at_zero(m: int, k: int, n: int) -> None:
    assert counted_product(m, k, n, start_at_zero=True).flops == matmul(m, k, n).flops


def test_the_published_worked_example() -> None:
    # Varun Suresh, "Transformers FLOPS and memory usage" (2025): 2×3 by 3×4
    assert exact(2, 3, 4).total == 40
    assert matmul(2, 3, 4).flops == 48


@given(large, large, large, st.integers(1, 64))
def test_matmul(m: int, k: int, n: int, batch: int) -> None:
    op = matmul(m, k, n, batch=batch)
    assert op.flops == 2 * batch * m * k * n
    assert op.reads == batch * (m * k + k * n)
    assert op.writes == batch * m * n
    assert op.matmul_flops == op.flops


@given(large, large, large)
def test_every_reading_agrees(m: int, k: int, n: int) -> None:
    x, y, z = costlib.symbols("x y z")
    at = {x: m, y: k, z: n}
    numbers, arrays, formula = matmul(m, k, n), matmul(np.array([m]), k, n), matmul(x, y, z)
    for quantity in ("flops", "reads", "writes"):
        expected = getattr(numbers, quantity)
        assert getattr(arrays, quantity)[0] == pytest.approx(expected, rel=1e-14)
        assert getattr(formula, quantity).subs(at) == expected
    assert formula.intensity().subs(at) == pytest.approx(numbers.intensity(), rel=1e-12)


def test_counts_beyond_64_bits() -> None:
    assert matmul(10**8, 10**8, 10**8).flops == 2 * 10**24
    assert matmul(np.array([10**8]), 10**8, 10**8).flops[0] == 2e24


def test_textbook_limits() -> None:
    n = costlib.symbols("n")
    assert sympy.simplify(matmul(n, n, n).intensity() - n / 3) == 0
    assert sympy.limit(matmul(n, n, 1).intensity(), n, sympy.oo) == 1


@given(large, large, large)
def test_backward_is_twice_forward(m: int, k: int, n: int) -> None:
    assert matmul_backward(m, k, n).flops == 2 * matmul(m, k, n).flops
    left, right = matmul_backward(m, k, n)
    assert left.writes == m * k
    assert right.writes == k * n
    assert left.reads == m * n + k * n
    assert right.reads == m * k + m * n


@given(large, large, large)
def test_training_a_linear_layer_is_six_per_parameter_and_token(t: int, i: int, o: int) -> None:
    assert (linear(t, i, o) + linear_backward(t, i, o)).flops == 6 * t * (i * o)


def test_linear_moves_weights_as_weights() -> None:
    op = linear(10, 3, 4).ops[0]
    assert op.elements_read == Elements(weights=12, activations=30)
    assert op.elements_written == Elements(activations=40)
    to_input, to_weights, to_bias = linear_backward(10, 3, 4, bias=True)
    assert to_input.elements_read == Elements(weights=12, activations=40)
    assert to_input.elements_written == Elements(activations=30)
    assert to_weights.elements_read == Elements(activations=70)
    assert to_weights.elements_written == Elements(weights=12)
    assert to_bias.elements_read == Elements()
    assert to_bias.elements_written == Elements(weights=4)


def test_ops_are_named() -> None:
    assert matmul(1, 1, 1).name == "matmul"
    assert linear(1, 1, 1, bias=True).names == ("linear", "linear.bias")
    assert linear(1, 1, 1, name="up").names == ("up",)
    assert matmul_backward(1, 1, 1).names == ("matmul.grad_left", "matmul.grad_right")
    gradients = ("up.grad_input", "up.grad_weights", "up.grad_bias")
    assert linear_backward(1, 1, 1, bias=True, name="up").names == gradients
    assert einsum("m, k -> mk", m=1, k=1).name == "m, k -> mk"


@given(large, large, large)
def test_bias_is_an_op_of_its_own(t: int, i: int, o: int) -> None:
    biased = linear(t, i, o, bias=True)
    assert biased.flops == linear(t, i, o).flops + t * o
    assert biased.matmul_flops == linear(t, i, o).flops
    assert biased.reads == linear(t, i, o).reads + o
    assert linear_backward(t, i, o, bias=True)["linear.grad_bias"].flops == (t - 1) * o


@pytest.mark.parametrize(
    ("equation", "lengths", "flops"),
    [
        ("k,k->", {"k": 7}, 14),
        ("m,n->mn", {"m": 3, "n": 5}, 15),
        ("mk,kn->mn", {"m": 2, "k": 3, "n": 4}, 48),
        ("bmk,bkn->bmn", {"b": 5, "m": 2, "k": 3, "n": 4}, 240),
        ("a,ab,b->", {"a": 3, "b": 4}, 36),  # two multiplications and one addition each
        ("mk->m", {"m": 3, "k": 4}, 12),  # a sum: no multiplication
    ],
)
def test_einsum(equation: str, lengths: dict[str, int], flops: int) -> None:
    assert einsum(equation, **lengths).flops == flops


@st.composite
def equations(draw: st.DrawFn) -> tuple[list[str], str]:
    """Up to four operands of up to three letters, and a result with some of their letters."""
    names = st.permutations("abcd").flatmap(lambda p: st.integers(1, 3).map(lambda n: p[:n]))
    operands = ["".join(name) for name in draw(st.lists(names, min_size=1, max_size=4))]
    letters = sorted(set("".join(operands)))
    return operands, "".join(draw(st.lists(st.sampled_from(letters), unique=True)))


@settings(max_examples=50)
@given(equations(), st.fixed_dictionaries(dict.fromkeys("abcd", st.integers(1, 3))))
def test_einsum_is_what_one_nest_of_loops_does(
    equation: tuple[list[str], str], sizes: dict[str, int]
) -> None:
    operands, result = equation
    letters = list(dict.fromkeys("".join(operands)))
    shapes = [[sizes[letter] for letter in operand] for operand in operands]
    arrays = [np.arange(1, np.prod(shape) + 1).reshape(shape) for shape in shapes]
    tally, text = Tally(), f"{','.join(operands)}->{result}"
    counting = [CountingArray(array, tally) for array in arrays]
    out = CountingArray(np.zeros([sizes[letter] for letter in result]), tally)
    for values in product(*(range(sizes[letter]) for letter in letters)):
        at = dict(zip(letters, values, strict=True))
        first, *others = (
            array[tuple(at[letter] for letter in operand)]
            for array, operand in zip(counting, operands, strict=True)
        )
        for other in others:
            first = first * other
        place = tuple(at[letter] for letter in result)
        out[place] = out[place] + first if set(letters) - set(result) else first
    assert np.array_equal(out.values, np.einsum(text, *arrays))
    assert einsum(text, **{letter: sizes[letter] for letter in letters}).flops == tally.flops


def test_einsum_moves_each_operand_once() -> None:
    op = einsum("bmk,bkn->bmn", b=5, m=2, k=3, n=4)
    assert (op.reads, op.writes) == (5 * (6 + 12), 5 * 8)
    assert op.is_matmul
    assert not einsum("m,n->mn", m=2, n=2).is_matmul
    assert not einsum("mk->m", m=2, k=2).is_matmul
    assert einsum("mk->mk", m=2, k=3).flops == 0  # a copy


@pytest.mark.parametrize(
    ("equation", "lengths", "said"),
    [
        ("mk,kn", {"m": 1, "k": 1, "n": 1}, "looks like"),
        ("mk,kn->m->n", {"m": 1, "k": 1, "n": 1}, "output letter"),
        ("mk,kn->mq", {"m": 1, "k": 1, "n": 1}, "output letter"),
        ("mm->m", {"m": 2}, "none twice"),
        ("mk,kn->mn", {"m": 1}, "each of m, k, n; missing k, n$"),
        ("mk,kn->mn", {"m": 1, "k": 1, "n": 1, "q": 2, "r": 1}, "; unknown q, r$"),
        ("mk,kn->mn", {"m": 1, "k": 0, "n": 1}, "k must be at least 1"),
        ("", {}, "looks like"),
    ],
)
def test_einsum_says_what_is_wrong(equation: str, lengths: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        einsum(equation, **lengths)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="one of weights, activations"):
        matmul(2, 2, 2, right="wieghts")


def test_counting_array_refuses_hidden_work() -> None:
    x = CountingArray(np.ones((2, 2)), Tally())
    with pytest.raises(TypeError, match="uncounted"):
        x @ x
    with pytest.raises(TypeError, match=r"np.exp"):
        np.exp(x)
    with pytest.raises(TypeError, match="uncounted"):
        np.multiply.outer(x, x)


def test_counting_array_counts_broadcasting_and_reductions() -> None:
    tally = Tally()
    x = CountingArray(np.ones((3, 4)), tally)
    assert (x * x[0]).shape == (3, 4)
    assert tally == Tally(multiplications=12)
    assert (x - 1.0).sum(axis=0).shape == (4,)
    assert tally == Tally(multiplications=12, additions=12 + 8)
    x[0, 0] = x[1, 1] + 1
    assert x.values[0, 0] == 2
    assert len(x) == 3


def test_costs_add_repeat_and_total() -> None:
    ledger = matmul(2, 3, 4, name="a") + Op("b", 5, elements_written=Elements(scores=2))
    assert ledger.names == ("a", "b")
    assert (ledger * 3).flops == 3 * 53
    assert (ledger * 3).matmul_flops == 3 * 48
    assert (3 * ledger).count == 6
    assert sum([ledger, ledger]).flops == 106
    assert ledger["b"].writes == 2
    assert ledger.without("b").flops == 48
    assert (ledger * 0).flops == 0
    with pytest.raises(KeyError, match="the ops are a, b"):
        ledger.only("c")


@given(st.lists(st.tuples(large, large, large), min_size=1, max_size=5))
def test_a_ledger_is_the_sum_of_its_ops(shapes: list[tuple[int, int, int]]) -> None:
    ledger = Ledger(tuple(matmul(*shape) for shape in shapes))
    assert ledger.flops == sum(op.flops for op in ledger)
    assert ledger.bytes() == sum(op.bytes() for op in ledger) == 2 * ledger.elements
    table = ledger.table()
    assert table["flops"].iloc[-1] == ledger.flops
    assert list(table.index) == [*ledger.names, "total"]


def test_precision_is_by_kind() -> None:
    op = linear(1, 8, 8).ops[0]
    assert op.bytes(Precision(weights=0.5)) == 64 * 0.5 + 16 * 2
    assert op.bytes(Precision.uniform(4)) == 80 * 4
    assert Op("nothing", 5).intensity() == 0
    for wrong in (0, -1, float("inf")):
        with pytest.raises(ValueError, match="kv must be a positive"):
            Precision(kv=wrong)
    with pytest.raises(TypeError, match="scores must be a number"):
        Precision(scores=True)
    with pytest.raises(ValueError, match=r"scores must be bytes per element or one of .*int4"):
        Precision(scores="2")


def test_costs_are_immutable() -> None:
    with pytest.raises(AttributeError):
        matmul(2, 3, 4).flops = 0  # type: ignore[misc]


def test_how_costs_show_themselves() -> None:
    ledger = Ledger((matmul(4096, 4096, 4096, name="<big>"),))
    assert repr(ledger) == "<Ledger: 1 op, 137,438,953,472 FLOPs, 50,331,648 elements moved>"
    assert "&lt;big&gt;" in ledger._repr_html_()
    assert "137.4 G" in ledger._repr_html_()
    symbolic = Ledger((matmul(*costlib.symbols("m k n")),))
    assert symbolic._repr_html_() is None
    assert "2 k m n" in symbolic._repr_latex_()
    assert ledger._repr_latex_() is None
