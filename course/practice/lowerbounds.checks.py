"""How the practice exercises on lower bounds are checked."""

import math
from typing import Any

from costlib.iomodel import best_blocks, bounds
from costlib.iomodel.pebbles import Dag, Game, IllegalMove
from course import Mistake, Question


def sums_the_tree(moves, leaves):
    """True, or what is wrong with a pebbling. Students get this function too."""
    red = leaves.bit_length() + 1
    try:
        done = Game(Dag.tree(leaves=leaves), red=red).play(moves)
    except IllegalMove as problem:
        return f"Not legal with {red} red pebbles: {problem}"
    except Exception:
        return 'Moves are a text such as "R0 R1 C4".'
    if not done.complete:
        return "Legal so far, but the root is not written at the end."
    if done.cost != leaves + 1:
        return f"Legal, but it takes {done.cost} I/Os where {leaves + 1} do."
    return True


def tile(M):
    """Side of the largest tile of a product that fits with two thin slices."""
    return math.isqrt(M + 1) - 1


def in_leading_order(d, M):
    """Entries over N² of each order."""
    x = d / math.sqrt(M)
    second = min(k + x * x / k for k in range(1, d + 1))
    return {
        "flash": 6 * x * x,
        "flash2": 4 * x * x,
        "stored_scores": x * x + 1 + second,
        "small_cache": 2 * x + 1 + second,
        "fused": 2 * math.sqrt(6) * x,
    }


def over_bound(name, d, M):
    """An order and its entries over the lower bound, to leading order."""
    x = d / math.sqrt(M)
    return [name, in_leading_order(d, M)[name] / (4 * x * x if x < 0.5 else 4 * x - 1)]


def cheapest(d, M):
    """The order that moves least."""
    moved = in_leading_order(d, M)
    return min(moved, key=lambda name: moved[name])


def moved(name, N, d, M):
    """Entries that an order moves with its best blocks."""
    return best_blocks(name, N, d, M).count.total


QUESTIONS = [
    Question(
        "tree_moves",
        cases=[{"leaves": 4}, {"leaves": 8}, {"leaves": 16}, {"leaves": 64}],
        public=sums_the_tree,
    ),
    Question(
        "tree_ios",
        numbers={"leaves": [32, 64, 128, 256], "red": [3, 4, 5]},
        cases=[{"leaves": 8, "red": 5}, {"leaves": 16, "red": 3}],
        hidden=3,
        mistakes=[
            Mistake(
                "enough pebbles",
                lambda leaves, **_: leaves + 1,
                "That takes two pebbles more than the tree is high; here there are fewer.",
            ),
            Mistake(
                "written and not read",
                lambda leaves, red: leaves + max(1, leaves >> (red - 2)),
                "A sum that is written has to be read again: two I/Os.",
            ),
            Mistake(
                "the last sum as well",
                lambda leaves, red: leaves + 2 * max(1, leaves >> (red - 2)) + 1,
                "Nearly: the last subtree's sum can stay where it is.",
            ),
            Mistake(
                "subtrees of one level more",
                lambda leaves, red: leaves + 2 * max(0, (leaves >> (red - 1)) - 1) + 1,
                "A subtree of 2**i leaves needs i + 2 pebbles.",
            ),
        ],
    ),
    Question(
        "most_scores",
        numbers={"M": range(16, 200), "d": [2, 3, 4, 8, 16]},
        cases=[{"M": 16, "d": 3}, {"M": 100, "d": 16}],
        hidden=3,
        mistakes=[
            Mistake(
                "rows alone",
                lambda M, d: (2 * M // d // 2) * (2 * M // d - 2 * M // d // 2),
                "Where d is large against √M, vertices of score trees are worth more than rows.",
            ),
            Mistake(
                "M for 2M",
                lambda M, d: max(
                    M - d * rows + rows // 2 * (rows - rows // 2) for rows in range(M // d + 1)
                ),
                "The dominator has up to 2M vertices: M that were there and M that were read.",
            ),
            Mistake(
                "the estimate",
                lambda M, d: max(2 * M, M * M / (d * d)),
                "That is the estimate; how many scores do whole rows give?",
            ),
        ],
    ),
    Question(
        "product_gap",
        numbers={"n": [1024, 2048, 4096, 8192], "M": [1023, 4095, 16_384, 65_536]},
        hidden=3,
        tolerance=2e-3,
        mistakes=[
            Mistake(
                "reads alone",
                lambda n, M: 2 * n * n * math.ceil(n / tile(M)) / (2 * n**3 / math.sqrt(M) - 2 * M),
                "The result has to be written too.",
            ),
            Mistake(
                "one factor",
                lambda n, M: (
                    (n * n * math.ceil(n / tile(M)) + n * n) / (2 * n**3 / math.sqrt(M) - 2 * M)
                ),
                "Both factors are read again for each tile.",
            ),
            Mistake(
                "three square tiles",
                lambda n, M: (
                    (2 * n * n * math.ceil(n / math.isqrt(M // 3)) + n * n)
                    / (2 * n**3 / math.sqrt(M) - 2 * M)
                ),
                "Square slices waste room: one entry thin is enough.",
            ),
            Mistake(
                "upside down",
                lambda n, M: (
                    (2 * n**3 / math.sqrt(M) - 2 * M) / (2 * n * n * math.ceil(n / tile(M)) + n * n)
                ),
                "The entries moved over the bound: at least 1.",
            ),
        ],
    ),
    Question(
        "speaks_until",
        numbers={"N": range(1000, 40_000), "d": [64, 96, 128, 256]},
        hidden=3,
        mistakes=[
            Mistake(
                "without the −M",
                lambda N, d: N * d,
                "That is where 4·N²·d²/M alone equals 4·N·d; the bound takes M away besides.",
            ),
            Mistake(
                "without the 4",
                lambda N, d: int(N * d * (math.sqrt(5) - 2)),
                "The bound is four times N²·d²/M, less M.",
            ),
        ],
    ),
    Question(
        "cheapest_order",
        numbers={
            "d": [128, 192, 256, 512],
            "M": [3000, 8192, 12_000, 32_768, 50_000, 116_736, 250_000],  # no ties, as at M = d²
        },
        cases=[{"d": 128, "M": 116_736}, {"d": 256, "M": 60_000}],
        hidden=3,
        tolerance=4e-3,
        mistakes=[
            Mistake(
                "always FlashAttention-2",
                lambda **s: over_bound("flash2", **s),
                "It is the best order for large M; is M large against d² here?",
            ),
            Mistake(
                "always FlashAttention",
                lambda **s: over_bound("flash", **s),
                "FlashAttention-2's order never moves more than that one.",
            ),
            Mistake(
                "always the small cache",
                lambda **s: over_bound("small_cache", **s),
                "It is the best order for small M; is M small against d² here?",
            ),
            Mistake(
                "the bound over the entries",
                lambda **s: [cheapest(**s), 1 / over_bound(cheapest(**s), **s)[1]],
                "The order is right. The ratio is its entries over the bound, at least 1.",
            ),
        ],
    ),
    Question(
        "shared_kv_entries",
        points=2,
        numbers={
            "N": [8192, 16_384, 32_768],
            "d": [64, 96, 128],
            "M": [65_536, 98_304, 131_072, 262_144],
        },
        hidden=3,
        tolerance=4e-3,
        mistakes=[
            Mistake(
                "keys and values read apart",
                lambda N, d, M: [
                    moved("flash2", N, d, M),
                    moved("flash2", N, d, M) / bounds.large_cache(N, d, M),
                ],
                "That is the usual order: a block of K serves as the block of V, without a read.",
            ),
            Mistake(
                "reads without writes",
                lambda N, d, M: [
                    (moved("flash2", N, d, M) - 2 * N * d) // 2 + N * d,
                    ((moved("flash2", N, d, M) - 2 * N * d) // 2 + N * d)
                    / bounds.large_cache(N, d, M),
                ],
                "Queries and outputs move as before, outputs too: only keys and values halve.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "tree_moves": "R0 R1 C2 D0 D1 W2",
    "tree_ios": 47,
    "most_scores": 16**2 // (2 * 2),
    "product_gap": 1.094,
    "speaks_until": 1_737_337,
    "cheapest_order": ["stored_scores", 1.28],
    "shared_kv_entries": [73_400_320, 0.547],
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def gap_by_strips(n: int, M: int) -> float:
    """Every tile reads its strips of both matrices; every result is written."""
    side = 1
    while (side + 1) ** 2 + 2 * (side + 1) <= M:
        side += 1
    strips = [min(side, n - start) for start in range(0, n, side)]
    moved = sum(n * (height + width) for height in strips for width in strips) + n * n
    return round(moved / (2 * n * n * n / math.sqrt(M) - 2 * M), 3)


def cheapest_by_trying(d: int, M: int) -> list[Any]:
    """The five orders as the hint lists them, and the bound of the side on which d² lies."""
    square = d * d / M
    second = min(k + square / k for k in range(1, 4 * d))
    orders = [
        (6 * square, "flash"),
        (4 * square, "flash2"),
        (1 + square + second, "stored_scores"),
        (1 + 2 * math.sqrt(square) + second, "small_cache"),
        (math.sqrt(24 * square), "fused"),
    ]
    bound = max(4 * square if 4 * square < 1 else 0, 4 * math.sqrt(square) - 1)
    moved, name = min(orders)
    return [name, round(moved / bound, 2)]


def tree_by_hand(leaves: int, red: int) -> int:
    """Either keep the left half's sum while the right is summed, or write it and read it back."""

    def ios(size: int, free: int) -> float:
        if size == 1:
            return 1 if free else math.inf
        if free < 3:
            return math.inf
        left = ios(size // 2, free)
        return min(left + ios(size // 2, free - 1), 2 * left + 2)

    return int(ios(leaves, red)) + 1


APART = {
    "tree_ios": tree_by_hand,
    "product_gap": gap_by_strips,
    "cheapest_order": cheapest_by_trying,
}

#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {
    "product_gap": [{"n": 1024, "M": 1022}],
    "cheapest_order": [
        {"d": 256, "M": 38_779},
        {"d": 8, "M": 15},
        {"d": 1, "M": 53},
        {"d": 128, "M": 65_536},
    ],
}
