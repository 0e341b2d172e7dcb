"""How week 1 is graded. This file stays with the instructor, and so does what `build` makes of it.

An exercise that is not named here gets one point and is compared with its solution.
"""

import math

from course import Mistake, Question, committed


def block_is_good(b, n, M, budget):
    """True, or what is wrong with a block side; students get this function as their check."""
    if type(b) is not int or b < 1:
        return "A block side is a whole number from 1 on."
    if 3 * b * b > M:
        return "Three of your blocks do not fit in M entries."
    if 2 * n * n * math.ceil(n / b) > budget:
        return "Your blocks fit, but they read more than the budget allows."
    return True


QUESTIONS = [
    Question(
        "product_flops",
        points=1,
        kind="number",
        numbers=dict.fromkeys(("m", "k", "n"), range(211, 990)),
        mistakes=[
            Mistake("forgot the 2", lambda m, k, n: m * k * n, "A multiply-add is 2 FLOPs."),
            Mistake(
                "the exact count",
                lambda m, k, n: m * n * (2 * k - 1),
                "Right to the last addition; the convention counts 2 for each multiply-add.",
            ),
        ],
    ),
    Question(
        "guessed_slowdown",
        points=1,
        kind="number",
        numbers={"n": range(2048, 8193, 128)},
        compare=committed,
        unique=False,
    ),
    Question(
        "best_seconds",
        points=2,
        numbers=dict.fromkeys(("m", "k", "n"), range(64, 8192)),
        cases=[{"m": 4096, "k": 4096, "n": 4096}, {"m": 1, "k": 8192, "n": 1}],
        hidden=4,
        mistakes=[
            Mistake(
                "forgot the 2 bytes of an entry",
                lambda m, k, n: max(2 * m * k * n / 312e12, (m * k + k * n + m * n) / 2039e9),
                "Bandwidth counts bytes, and an entry in 16 bits has two.",
            ),
            Mistake(
                "added the two times",
                lambda m, k, n: 2 * m * k * n / 312e12 + 2 * (m * k + k * n + m * n) / 2039e9,
                "If they overlap perfectly, the longer one decides.",
            ),
        ],
    ),
    Question(
        "cache_bytes",
        points=2,
        kind="number",
        numbers={
            "layers": range(24, 97, 2),
            "heads": [24, 40, 56],
            "kv_heads": [4, 8],
            "head_dim": [96, 128, 160],
            "context": range(4000, 33000, 500),
        },
        mistakes=[
            Mistake(
                "query heads for KV heads",
                lambda layers, heads, head_dim, context, **_: (
                    4 * layers * heads * head_dim * context
                ),
                "Only KV heads are cached: that is what sharing them is for.",
            ),
            Mistake(
                "forgot a 2",
                lambda layers, kv_heads, head_dim, context, **_: (
                    2 * layers * kv_heads * head_dim * context
                ),
                "Keys and values are both cached, and each entry takes two bytes.",
            ),
        ],
    ),
    Question(
        "choose_block",
        points=2,
        cases=[
            {"n": 1000, "M": 3000, "budget": 67_000_000},
            {"n": 4096, "M": 49_152, "budget": 1_080_000_000},
            {"n": 64, "M": 1_000_000, "budget": 8192},
        ],
        public=block_is_good,
    ),
    Question(
        "logits_flops",
        points=1,
        numbers={"d": range(1024, 8192), "V": range(30_000, 150_000)},
        hidden=3,
        mistakes=[
            Mistake(
                "the published slip",
                lambda d, V: 2 * d * d * V,
                "A vector has one row: the product is 1×d by d×V.",
            ),
        ],
    ),
]
