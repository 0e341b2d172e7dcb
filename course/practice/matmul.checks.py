"""How the practice exercises of chapter 1 are checked."""

import math
from itertools import pairwise

from course import Mistake, Question


def strassen(n, products=7, additions=18, single=1, side=0.5):
    """The recursion of exercise 8, with what people change in it."""
    if n == 1:
        return single
    smaller = strassen(n // 2, products, additions, single, side)
    return products * smaller + int(additions * (side * n) ** 2)


def one_by_one(lengths):
    """FLOPs of a chain of matrices multiplied from the left."""
    return sum(2 * lengths[0] * k * n for k, n in pairwise(lengths[1:]))


def cheapest(lengths):
    """FLOPs of a chain of matrices in its best order."""
    orders = (
        cheapest(lengths[: i + 1])
        + cheapest(lengths[i:])
        + 2 * lengths[0] * lengths[i] * lengths[-1]
        for i in range(1, len(lengths) - 1)
    )
    return min(orders, default=0)


QUESTIONS = [
    Question(
        "product_counts",
        numbers=dict.fromkeys(("m", "k", "n"), range(3, 60)),
        hidden=3,
        mistakes=[
            Mistake(
                "as many additions as products",
                lambda m, k, n: [m * k * n, m * k * n, 0],
                "A sum of k terms takes k − 1 additions: the first term is there already.",
            ),
            Mistake(
                "one addition saved in all",
                lambda m, k, n: [m * k * n, m * k * n - 1, 1],
                "Each of the m·n entries is a sum of its own, and each saves one addition.",
            ),
            Mistake(
                "the exact count for the excess",
                lambda m, k, n: [m * k * n, m * (k - 1) * n, m * n * (2 * k - 1)],
                "The third number is by how much 2·m·k·n is larger than the two together.",
            ),
            Mistake(
                "two numbers",
                lambda m, k, n: [m * k * n, m * (k - 1) * n],
                "Both are right. The third number is the excess of 2·m·k·n over their sum.",
            ),
        ],
    ),
    Question(
        "flops_of_macs",
        numbers={"macs": range(10**8, 10**10)},
        hidden=3,
        mistakes=[
            Mistake(
                "a MAC as one FLOP",
                lambda macs: macs,
                "A multiply-accumulate is a multiplication and an addition.",
            ),
            Mistake(
                "halved",
                lambda macs: macs / 2,
                "There are more FLOPs than MACs: each MAC holds two of them.",
            ),
        ],
    ),
    Question(
        "contraction_flops",
        numbers={
            "b": range(2, 9),
            "s": range(512, 4097),
            "h": [16, 24, 32, 40],
            "d": [64, 96, 128],
            "e": range(2048, 8193, 128),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "forgot the 2",
                lambda b, s, h, d, e: b * s * h * d * e,
                "Each letter once gives the multiply-adds, and a multiply-add is 2 FLOPs.",
            ),
            Mistake(
                "left out h",
                lambda b, s, d, e, **_: 2 * b * s * d * e,
                "Both h and d are summed away; each letter counts once, h too.",
            ),
            Mistake(
                "left out d",
                lambda b, s, h, e, **_: 2 * b * s * h * e,
                "Both h and d are summed away; each letter counts once, d too.",
            ),
            Mistake(
                "the letters of both inputs",
                lambda b, s, h, d, e: 2 * b * s * (h * d) ** 2 * e,
                "A letter that stands in both inputs is one loop, so it counts once.",
            ),
        ],
    ),
    Question(
        "four_bit_speedup",
        numbers={"d": range(512, 8193, 256)},
        hidden=3,
        tolerance=1e-5,
        mistakes=[
            Mistake(
                "exactly 4",
                lambda **_: 4.0,
                "The weights shrink by 4. The input and the output stay in 16 bits and still move.",
            ),
            Mistake(
                "a byte per weight",
                lambda d: 2 * (d * d + 2 * d) / (d * d + 4 * d),
                "Four bits are half a byte: two weights share one byte.",
            ),
            Mistake(
                "upside down",
                lambda d: (d * d / 2 + 4 * d) / (2 * d * d + 4 * d),
                "A speedup is the old time over the new one, so it is more than 1 here.",
            ),
            Mistake(
                "one of the two vectors",
                lambda d: (2 * d * d + 2 * d) / (d * d / 2 + 2 * d),
                "The product reads one vector of d entries and writes another.",
            ),
        ],
    ),
    Question(
        "first_compute_bound",
        numbers={"d": range(2048, 12289, 512), "ridge": [112.0, 153.0, 206.0, 295.0]},
        hidden=4,
        mistakes=[
            Mistake(
                "the last that is memory bound",
                lambda d, ridge: math.ceil(ridge * d / (d - 2 * ridge)) - 1,
                "That batch is still below the ridge; the next one reaches it.",
            ),
            Mistake(
                "weights alone",
                lambda ridge, **_: math.ceil(ridge),
                "If only the weights moved, that would be it. Inputs and outputs move too.",
            ),
            Mistake(
                "a square product",
                lambda ridge, **_: math.ceil(3 * ridge),
                "Here only the batch grows; the weight matrix keeps its size of d×d.",
            ),
            Mistake(
                "entries for bytes",
                lambda d, ridge: math.ceil(ridge * d / (2 * (d - ridge))),
                "The ridge is in FLOPs per byte, and an entry in 16 bits has two bytes.",
            ),
        ],
    ),
    Question(
        "slip_factor",
        numbers={"d": range(1024, 8193), "V": range(32_000, 160_000)},
        hidden=3,
        mistakes=[
            Mistake(
                "upside down",
                lambda d, **_: 1 / d,
                "The published count is the larger one: put it on top.",
            ),
            Mistake(
                "forgot the 2 of the right count",
                lambda d, **_: 2 * d,
                "The right count is 2·d·V: both have the 2, and it cancels.",
            ),
            Mistake(
                "V for d",
                lambda V, **_: V,
                "The slip has d twice and V once; a vector has one row, not d of them.",
            ),
        ],
    ),
    Question(
        "chain_flops",
        cases=[
            {"lengths": [30, 35, 15, 5, 10, 20, 25]},
            {"lengths": [50, 5, 100, 10]},
            {"lengths": [1024, 8, 1024, 8, 1024]},
            {"lengths": [9, 2, 11, 3, 7]},
        ],
        mistakes=[
            Mistake(
                "from the left",
                one_by_one,
                "That is one order. Here another is cheaper: try every place for the last product.",
            ),
            Mistake(
                "forgot the 2",
                lambda lengths: cheapest(lengths) // 2,
                "The order is right. A multiply-add is 2 FLOPs.",
            ),
            Mistake(
                "one nest of loops",
                lambda lengths: (len(lengths) - 1) * math.prod(lengths),
                "One nest for all of them is right and dear: multiply two matrices at a time.",
            ),
        ],
    ),
    Question(
        "strassen_flops",
        numbers={"n": [4, 8, 16, 32]},
        cases=[{"n": 1}, {"n": 64}, {"n": 1024}],
        mistakes=[
            Mistake(
                "eight products",
                lambda n: strassen(n, products=8),
                "The schoolbook way takes eight; seven are the point of the algorithm.",
            ),
            Mistake(
                "no additions",
                lambda n: strassen(n, additions=0),
                "The seven products are right. The eighteen additions of matrices count as well.",
            ),
            Mistake(
                "fifteen additions",
                lambda n: strassen(n, additions=15),
                "Winograd's variant needs fifteen; this exercise counts Strassen's eighteen.",
            ),
            Mistake(
                "additions of whole matrices",
                lambda n: strassen(n, side=1),
                "What is added are the quarters, of h×h with h = n/2.",
            ),
            Mistake(
                "two operations for a product of numbers",
                lambda n: strassen(n, single=2),
                "A product of two single numbers is one operation: nothing is added to it.",
            ),
            Mistake(
                "one level",
                lambda n: 1 if n == 1 else 7 * (n // 2) ** 2 * (n - 1) + 18 * (n // 2) ** 2,
                "The seven products use the algorithm again, down to single numbers.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "product_counts": [3 * 7 * 2, 3 * 6 * 2, 3 * 2],
    "flops_of_macs": 2 * 4_100_000_000,
    "contraction_flops": 2 * (2 * 1024 * 32 * 128 * 4096),
    "four_bit_speedup": (2 * 4096 + 4) / (4096 / 2 + 4),
    "first_compute_bound": 153 * 4096 // (4096 - 2 * 153) + 1,
    "slip_factor": 4096,
    "chain_flops": 2 * 16 * 4096 * 2048 + 2 * 4096 * 16 * 2048,
    "strassen_flops": 7 + 18,
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def strassen_in_one_line(n: int) -> int:
    """The recursion solved: 7 times as many products a level, and additions that sum up."""
    levels = n.bit_length() - 1
    return 7 * 7**levels - 6 * 4**levels


def bound_one_by_one(d: int, ridge: float) -> int:
    """FLOPs over bytes, batch by batch, in whole numbers."""
    for batch in range(1, 100_001):
        if 2 * batch * d * d >= ridge * 2 * (d * d + 2 * batch * d):
            return batch
    return 0


APART = {"strassen_flops": strassen_in_one_line, "first_compute_bound": bound_one_by_one}

#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {
    "first_compute_bound": [
        {"d": 300, "ridge": 100.0},
        {"d": 200, "ridge": 153.0},
        {"d": 2048, "ridge": 0.4},
    ]
}
