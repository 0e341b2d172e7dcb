"""How the practice exercises of chapter 6 are checked."""

import math

from costlib.iomodel import best_blocks, bounds
from costlib.iomodel.pebbles import Dag, Game, IllegalMove
from course import Mistake, Question


def moved(name, N, d, M):
    """Entries that an order moves with its best blocks."""
    return best_blocks(name, N, d, M).count.total


def better(N, d, M):
    """Entries of the cheaper of two orders."""
    names = ["small_cache", "flash2"] if M - 3 * d >= 5 else ["small_cache"]
    return min(moved(name, N, d, M) for name in names)


def over_bound(name, N, d, M):
    """An order and its entries over the lower bound."""
    return [name, moved(name, N, d, M) / bounds.attention(N, d, M)]


def cheapest(N, d, M):
    """The order that moves least."""
    return min(("flash", "flash2", "small_cache", "fused"), key=lambda name: moved(name, N, d, M))


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
                lambda N, d, M: moved("small_cache", N, d, M) / moved("small_cache", N, d, 2 * M),
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
        "printed_shortfall",
        numbers={
            "N": [512, 1024, 2048],
            "d": [64, 128],
            "heads": [12, 16, 24],
            "batch": range(32, 129),
            "printed_gflop": [5.0 * x for x in range(10, 15)],
        },
        hidden=3,
        tolerance=5e-3,
        mistakes=[
            Mistake(
                "the forward pass alone",
                lambda N, d, heads, batch, printed_gflop: [
                    4e-9 * N * N * d * heads * batch,
                    4e-9 * N * N * d * heads * batch / printed_gflop,
                ],
                "Two products forward; four more go backward.",
            ),
            Mistake(
                "forgot the 2",
                lambda N, d, heads, batch, printed_gflop: [
                    6e-9 * N * N * d * heads * batch,
                    6e-9 * N * N * d * heads * batch / printed_gflop,
                ],
                "Each of the six products takes 2·N²·d FLOPs.",
            ),
            Mistake(
                "one head",
                lambda N, d, batch, printed_gflop, **_: [
                    12e-9 * N * N * d * batch,
                    12e-9 * N * N * d * batch / printed_gflop,
                ],
                "Each of the heads has all six products.",
            ),
            Mistake(
                "2³⁰ for 10⁹",
                lambda N, d, heads, batch, printed_gflop: [
                    12 * N * N * d * heads * batch / 2**30,
                    12 * N * N * d * heads * batch / 2**30 / printed_gflop,
                ],
                "A GFLOP is 10⁹ FLOPs; powers of two are for memory.",
            ),
            Mistake(
                "one sequence",
                lambda N, d, heads, printed_gflop, **_: [
                    12e-9 * N * N * d * heads,
                    12e-9 * N * N * d * heads / printed_gflop,
                ],
                "The batch holds many sequences.",
            ),
        ],
    ),
    Question(
        "tree_moves",
        cases=[{"leaves": 4}, {"leaves": 8}, {"leaves": 16}, {"leaves": 64}],
        public=sums_the_tree,
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
        "cheapest_order",
        numbers={
            "N": [8192, 16_384, 32_768],
            "d": [128, 256, 512],
            "M": [4096, 8192, 16_384, 32_768, 65_536, 116_736, 262_144],
        },
        cases=[{"d": 128, "M": 116_736}, {"d": 256, "M": 65_536}],
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
