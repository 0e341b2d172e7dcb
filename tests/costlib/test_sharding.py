"""Products of matrices that lie cut over devices: every way is run, and sends what it says."""

from itertools import product as pairs

import numpy as np
import pytest

from costlib.parallel import Layout, Machine, all_reduce, cheapest, gradients, product, ways

LAYOUTS = [Layout(*cuts) for cuts in pairs(("m", "k", None), ("k", "n", None), ("m", "n", None))]


def lying(matrix, cut, letters, rank, devices):
    return matrix if cut is None else np.split(matrix, devices, letters.index(cut))[rank]


@pytest.mark.parametrize("devices", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_way_gives_the_product_and_sends_what_it_says(layout, devices):
    sizes = {"m": 2 * devices**2, "k": devices**2, "n": 3 * devices**2}
    chance = np.random.default_rng(devices)
    A = chance.integers(-9, 9, (sizes["m"], sizes["k"]))
    B = chance.integers(-9, 9, (sizes["k"], sizes["n"]))
    found = ways(layout, **sizes, devices=devices)
    assert found
    for way in found:
        machine = Machine(devices)
        for rank, part in enumerate(product(machine, layout, way, A, B)):
            assert np.array_equal(part, lying(A @ B, layout.c, "mn", rank, devices))
        assert machine.busiest == way.sent


@pytest.mark.parametrize(
    ("layout", "collectives"),
    [
        (Layout("m", None, "m"), ()),  # no contracted letter is cut
        (Layout(None, "n", "n"), ()),
        (Layout("m", "k", "m"), ("gather b",)),  # one factor's is: gather it
        (Layout("k", "n", "n"), ("gather a",)),
        (Layout("k", "k", None), ("all_reduce",)),  # both are: partial sums
        (Layout("k", "k", "m"), ("reduce_scatter",)),
        (Layout("m", "n", "m"), ("gather b",)),  # both outer letters: one must be gathered
        (Layout("m", "n", "n"), ("gather a",)),
    ],
    ids=str,
)
def test_the_four_cases(layout, collectives):
    way = cheapest(layout, m=64, k=64, n=64, devices=8)
    assert (*(f"gather {which}" for which in way.gathers), *filter(None, [way.then])) == collectives
    assert way.flops == 2 * 64**3 // 8
    assert way.sent == sum((2 if c == "all_reduce" else 1) * 7 * 64 * 8 for c in collectives)


def test_a_column_and_a_row_cut_pair_sends_one_all_reduce_each_way():
    """Megatron's feed-forward layer: the first weight cut by columns, the second by rows."""
    tokens, width, wide, devices = 48, 16, 64, 4
    first, second = Layout(None, "n", "n"), Layout("k", "k", None)
    up = {"m": tokens, "k": width, "n": wide, "devices": devices}
    down = {"m": tokens, "k": wide, "n": width, "devices": devices}
    assert cheapest(first, **up).sent == 0
    assert cheapest(second, **down).sent == all_reduce(tokens * width, devices)
    to_hidden, to_second = gradients(second)
    to_input, to_first = gradients(first)
    back = {"m": tokens, "k": wide, "n": width, "devices": devices}
    assert cheapest(to_hidden, **{**back, "k": width, "n": wide}).sent == 0
    assert cheapest(to_second, m=wide, k=tokens, n=width, devices=devices).sent == 0
    assert cheapest(to_input, **back).sent == all_reduce(tokens * width, devices)
    assert cheapest(to_first, m=width, k=tokens, n=wide, devices=devices).sent == 0


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_backward_products_lie_where_their_matrices_do(layout):
    """The letters are only renamed: the gradients that come out are those of the whole product."""
    devices, chance = 2, np.random.default_rng(1)
    m, k, n = 8, 4, 12
    A, B, dC = (chance.integers(-9, 9, shape) for shape in ((m, k), (k, n), (m, n)))
    to_a, to_b = gradients(layout)
    way = cheapest(to_a, m=m, k=n, n=k, devices=devices)
    for rank, part in enumerate(product(Machine(devices), to_a, way, dC, B.T)):
        assert np.array_equal(part, lying(dC @ B.T, layout.a, "mk", rank, devices))
    way = cheapest(to_b, m=k, k=m, n=n, devices=devices)
    for rank, part in enumerate(product(Machine(devices), to_b, way, A.T, dC)):
        assert np.array_equal(part, lying(A.T @ dC, layout.b, "kn", rank, devices))


def test_nonsense_is_named():
    with pytest.raises(ValueError, match="a must be 'm' or 'k' or None, got 'n'"):
        Layout("n")
    with pytest.raises(ValueError, match="devices must divide k=6, got 4"):
        ways(Layout(), m=4, k=6, n=8, devices=4)
    with pytest.raises(ValueError, match="devices must be at least 1, got 0"):
        ways(Layout(), m=4, k=6, n=8, devices=0)
