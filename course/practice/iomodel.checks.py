"""How the practice exercises on how attention moves are checked."""

import math
from collections.abc import Callable

from course import Mistake, Question


def written(N, d, M):
    """Entries of the small-cache algorithm with the largest square tile that fits."""
    b = int(math.sqrt(4 * M + 9) - 3) // 2
    return 3 * math.ceil(N / b) * N * d + (1 + math.ceil(d / b)) * N**2 + N * (d + 2)


def kept(N, d, M):
    """Entries of FlashAttention-2's order with one key at a time; none where it does not fit."""
    rows = (M - d) // (2 * d + 5)
    return 2 * N * d * (1 + math.ceil(N / rows)) if rows > 0 else math.inf


def better(N, d, M):
    """Entries of the cheaper of the two."""
    return min(written(N, d, M), kept(N, d, M))


def in_tiles(N, d, b, reads=2):
    """Standard attention in tiles of side b, over N²."""
    moved = 3 * math.ceil(N / b) * N * d + (reads + math.ceil(d / b)) * N**2 + 2 * N**2 + N * d
    return moved / N**2


def side(M):
    """The largest tile that fits with two slices one entry thin."""
    return math.isqrt(M + 1) - 1


def full(N, d, rows):
    """FlashAttention-2's order with a block of so many queries."""
    return 2 * N * d * (1 + math.ceil(N / rows))


def one(queries, keys, d, rows):
    """A run over some queries and some keys, a block of rows at a time."""
    return 2 * queries * d + 2 * math.ceil(queries / rows) * keys * d


def fitting(d, M):
    """The largest block of queries with one key at a time."""
    return (M - d) // (2 * d + 5)


QUESTIONS = [
    Question(
        "flash2_entries",
        numbers={"N": range(1000, 20_000), "d": [32, 64, 96, 128], "block_rows": range(33, 300)},
        hidden=3,
        mistakes=[
            Mistake(
                "keys and values read once",
                lambda N, d, **_: [3 * N * d, N * d],
                "Each block of queries reads all keys and values again.",
            ),
            Mistake(
                "keys alone",
                lambda N, d, block_rows: [N * d + math.ceil(N / block_rows) * N * d, N * d],
                "A round reads the values as well as the keys.",
            ),
            Mistake(
                "queries read in each round",
                lambda N, d, block_rows: [3 * math.ceil(N / block_rows) * N * d, N * d],
                "A round reads its own block of queries, and each block has one round.",
            ),
            Mistake(
                "outputs written in each round",
                lambda N, d, block_rows: [
                    N * d + 2 * math.ceil(N / block_rows) * N * d,
                    math.ceil(N / block_rows) * N * d,
                ],
                "The reads are right. A block of outputs stays until it is done, then goes once.",
            ),
            Mistake(
                "rounds rounded down",
                lambda N, d, block_rows: [N * d + 2 * (N // block_rows) * N * d, N * d],
                "The queries left over make a round of their own.",
            ),
            Mistake(
                "bytes for entries",
                lambda N, d, block_rows: [
                    2 * (N * d + 2 * math.ceil(N / block_rows) * N * d),
                    2 * N * d,
                ],
                "This chapter counts entries, of whatever size.",
            ),
        ],
    ),
    Question(
        "doubling_gain",
        numbers={
            "N": [8192, 12_288, 16_384],
            "d": [64, 128],
            "M": [512, 1024, 2048, 65_536, 131_072, 196_608],
        },
        cases=[{"N": 16_384, "d": 128, "M": 1024}],
        hidden=3,
        tolerance=4e-3,
        mistakes=[
            Mistake(
                "exactly 2",
                lambda **_: 2.0,
                "The leading term halves. Queries, outputs and statistics do not shrink.",
            ),
            Mistake(
                "the square root of 2",
                lambda **_: math.sqrt(2),
                "That is the small cache's leading term; which order is the cheaper one here?",
            ),
            Mistake(
                "upside down",
                lambda N, d, M: better(N, d, 2 * M) / better(N, d, M),
                "The traffic falls: entries at M over entries at 2M is more than 1.",
            ),
            Mistake(
                "small_cache throughout",
                lambda N, d, M: written(N, d, M) / written(N, d, 2 * M),
                "With so much memory FlashAttention-2's order moves less.",
            ),
        ],
    ),
    Question(
        "d2_over_M",
        numbers={
            "kilobytes": [100, 128, 164, 192, 228],
            "d": [128, 160, 192, 256],
            "bytes_per_entry": [2, 4],
        },
        hidden=3,
        tolerance=5e-3,
        mistakes=[
            Mistake(
                "M in bytes",
                lambda kilobytes, d, **_: d**2 / (kilobytes * 1024),
                "M is a number of entries: divide the bytes by those of an entry.",
            ),
            Mistake(
                "as published",
                lambda kilobytes, d, **_: d**2 / (kilobytes * 1000),
                "That has M in bytes, as the post has; M counts entries.",
            ),
            Mistake(
                "1000 for 1024",
                lambda kilobytes, d, bytes_per_entry: d**2 * bytes_per_entry / (kilobytes * 1000),
                "Nearly. The exercise says 1 KB = 1024 bytes.",
            ),
            Mistake(
                "multiplied by the bytes",
                lambda kilobytes, d, bytes_per_entry: d**2 / (kilobytes * 1024 * bytes_per_entry),
                "There are fewer entries than bytes, so M is smaller and d²/M larger.",
            ),
            Mistake(
                "with the constant 4",
                lambda kilobytes, d, bytes_per_entry: (
                    4 * d**2 * bytes_per_entry / (kilobytes * 1024)
                ),
                "That is the traffic in units of N²; the function returns d²/M alone.",
            ),
            Mistake(
                "upside down",
                lambda kilobytes, d, bytes_per_entry: kilobytes * 1024 / bytes_per_entry / d**2,
                "That is M/d².",
            ),
        ],
    ),
    Question(
        "two_pass_gain",
        numbers={
            "d": [64, 96, 128, 256, 512],
            "M": [32_768, 51_200, 83_968, 116_736],
            "flops_per_s": [125e12, 312e12, 989.4e12],
            "bytes_per_s": [0.9e12, 2.039e12, 3.35e12, 5.5e12, 8.9856e12],
        },
        hidden=3,
        tolerance=5e-3,
        mistakes=[
            Mistake(
                "entries for bytes",
                lambda d, M, flops_per_s, bytes_per_s: d * flops_per_s / (2 * M * bytes_per_s),
                "An entry is 2 bytes, and the rate is in bytes a second.",
            ),
            Mistake(
                "one product more",
                lambda d, M, flops_per_s, bytes_per_s: 2 * d * flops_per_s / (M * bytes_per_s),
                "Two products are made twice, each of 2·N²·d FLOPs.",
            ),
            Mistake(
                "upside down",
                lambda d, M, flops_per_s, bytes_per_s: M * bytes_per_s / (d * flops_per_s),
                "Seconds saved over seconds added.",
            ),
        ],
    ),
    Question(
        "memory_for",
        numbers={
            "N": range(4096, 32_769, 8),
            "d": [64, 96, 128, 256],
            "factor": [2, 2.5, 3, 4, 5],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "no scores, no statistics",
                lambda N, d, factor: 2 * math.ceil(N / int(2 * factor - 1)) * d + d,
                "Queries, outputs and a key are there; scores and statistics take room too.",
            ),
            Mistake(
                "rows rounded down",
                lambda N, d, factor: N // int(2 * factor - 1) * (2 * d + 5) + d,
                "With rows rounded down one more round is needed for what is left over.",
            ),
            Mistake(
                "rounds without the first term",
                lambda N, d, factor: math.ceil(N / int(2 * factor)) * (2 * d + 5) + d,
                "Queries are read and outputs written besides: 2·N·d·(1 + T_r) in all.",
            ),
            Mistake(
                "the leading term",
                lambda N, d, factor: N * d / factor,
                "N·d/factor is where 4·N²·d²/M gets there; the exact count needs more room.",
            ),
        ],
    ),
    Question(
        "standard_entries",
        numbers={
            "N": [4096, 8192, 16_384],
            "d": [64, 96, 128],
            "M": [1500, 3000, 6000, 10_000, 65_536],
        },
        hidden=3,
        tolerance=4e-3,
        mistakes=[
            Mistake(
                "a tile of √M",
                lambda N, d, M: [math.isqrt(M), in_tiles(N, d, math.isqrt(M))],
                "The two slices take room beside the tile.",
            ),
            Mistake(
                "three square tiles",
                lambda N, d, M: [math.isqrt(M // 3), in_tiles(N, d, math.isqrt(M // 3))],
                "Slices one entry thin are enough: b² + 2·b, not 3·b².",
            ),
            Mistake(
                "scores read once by the softmax",
                lambda N, d, M: [side(M), in_tiles(N, d, side(M), reads=1)],
                "The tile is right. The softmax of the text reads each score twice.",
            ),
        ],
    ),
    Question(
        "causal_entries",
        numbers={"N": [8192, 16_384, 32_768], "d": [64, 128], "block": [128, 256, 512, 1024]},
        hidden=3,
        tolerance=2e-3,
        mistakes=[
            Mistake(
                "half of the keys and values",
                lambda N, d, block: [
                    2 * N * d + N // block * N * d,
                    (2 * N * d + N // block * N * d) / full(N, d, block),
                ],
                "Nearly: block i needs i blocks of keys, the one on the diagonal included.",
            ),
            Mistake(
                "the diagonal left out",
                lambda N, d, block: [
                    2 * N * d + N // block * (N // block - 1) * block * d,
                    (2 * N * d + N // block * (N // block - 1) * block * d) / full(N, d, block),
                ],
                "That is exactly half of the full count; tiles on the diagonal are needed whole.",
            ),
        ],
    ),
    Question(
        "grouped_entries",
        points=2,
        numbers={
            "group": [4, 8, 16],
            "queries": [1, 100, 4096, 16_384],
            "keys": [8192, 16_384, 32_768],
            "d": [64, 128],
            "M": [65_536, 116_736],
        },
        cases=[{"queries": 100}, {"queries": 16_384, "group": 4}],
        hidden=3,
        mistakes=[
            Mistake(
                "stacked, but each head reads its keys",
                lambda group, queries, keys, d, M: [
                    group * one(queries, keys, d, fitting(d, M)),
                    group * one(queries, keys, d, fitting(d, M)),
                ],
                "Stacked, a block of keys is read once for a block of queries of any heads.",
            ),
            Mistake(
                "keys and values read once in all",
                lambda group, queries, keys, d, M: [
                    group * one(queries, keys, d, fitting(d, M)),
                    2 * group * queries * d + 2 * keys * d,
                ],
                "The stack may be taller than a block: then there are several rounds.",
            ),
            Mistake(
                "the other way round",
                lambda group, queries, keys, d, M: [
                    one(group * queries, keys, d, fitting(d, M)),
                    group * one(queries, keys, d, fitting(d, M)),
                ],
                "First each head by itself, then stacked.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "flash2_entries": [4096 * 64 + 2 * 4096 * 4096 * 64 // 128, 4096 * 64],
    "d2_over_M": 0.195,  # 128² over 164·512 entries
    "standard_entries": [255, 6.53],
    "causal_entries": [140_509_184, 0.515],
    "doubling_gain": 1.89,
    "memory_for": 1_425_710,
    "two_pass_gain": 0.121,
    "grouped_entries": [1_275_068_416, 1_266_679_808],
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def largest(fits: Callable[[int], bool]) -> int:
    """The largest whole number that fits, found by doubling and halving."""
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def gain_by_search(N: int, d: int, M: int) -> float:
    """Both orders, their blocks found by trying sizes, their passes counted block by block."""

    def entries(room: int) -> int:
        side = largest(lambda b: b * b + 3 * b <= room)
        strips = len(range(0, N, side))
        scores = 2 * strips * N * d + N * N  # slices of Q and K, scores out
        output = N * N * len(range(0, d, side)) + strips * N * d  # scores in, slices of V
        small = scores + output + N * d + 2 * N
        rows = largest(lambda r: d + r * (2 * d + 5) <= room)
        if not rows:
            return small
        return min(small, 2 * N * d + sum(2 * N * d for _ in range(0, N, rows)))

    return round(entries(M) / entries(2 * M), 2)


def heads_one_by_one(group: int, queries: int, keys: int, d: int, M: int) -> list[int]:
    """Each block of rows streams all keys and values once."""
    rows = largest(lambda r: d + r * (2 * d + 5) <= M)

    def run(count: int) -> int:
        return sum(2 * keys * d for _ in range(0, count, rows)) + 2 * count * d

    return [sum(run(queries) for _ in range(group)), run(group * queries)]


def share_of_squares(kilobytes: int, d: int, bytes_per_entry: int) -> float:
    """The bytes of a d×d block over the bytes there are."""
    return round(d * d * bytes_per_entry / (kilobytes << 10), 3)


def tile_by_tile(N: int, d: int, M: int) -> list[float]:
    """Each tile of scores reads its strips and is written; the other product reads them again."""
    side = largest(lambda b: b * b + 2 * b <= M)
    strips, columns = len(range(0, N, side)), len(range(0, d, side))
    moved = 2 * strips * N * d + N * N  # Q and K, scores out
    moved += 3 * N * N  # the softmax: in for its sums, in again, out
    moved += columns * N * N + strips * N * d + N * d  # scores and V in, results out
    return [side, round(moved / N**2, 2)]


APART = {
    "d2_over_M": share_of_squares,
    "standard_entries": tile_by_tile,
    "doubling_gain": gain_by_search,
    "grouped_entries": heads_one_by_one,
}

#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {
    "standard_entries": [{"N": 4096, "M": 65_534}],
    "doubling_gain": [
        {"N": 60, "d": 8, "M": 25},
        {"N": 60, "d": 8, "M": 40},
        {"N": 64, "d": 8, "M": 200},
        {"N": 13, "d": 4, "M": 17},
        {"N": 24, "d": 2, "M": 10},
        {"N": 24, "d": 3, "M": 14},
    ],
}
