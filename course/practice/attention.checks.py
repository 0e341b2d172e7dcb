"""How the practice exercises of chapter 2 are checked."""

import math

from costlib.layers.attention import pairs
from course import Mistake, Question


def three_steps(scores, softmax, values):
    """The answer of exercise 1."""
    return {"scores": scores, "softmax": softmax, "values": values}


def slip(published, right, ratio=None):
    """The answer of exercise 4."""
    return {
        "published": published,
        "right": right,
        "ratio": right / published if ratio is None else ratio,
    }


def published_slip(d_model, heads):
    """What the post charges for one token."""
    return 4 * d_model + 2 * d_model * heads


def chunks(prompt, chunk):
    """First and last position of each chunk."""
    return [(start, min(start + chunk, prompt)) for start in range(0, prompt, chunk)]


def merged(left_scores, right_scores, scale):
    """Maximum and sum of two parts, with each sum scaled by a rule."""
    tops = [max(part) for part in (left_scores, right_scores)]
    sums = [
        sum(math.exp(score - top) for score in part)
        for part, top in zip((left_scores, right_scores), tops, strict=True)
    ]
    return [max(tops), sum(z * scale(top, max(tops)) for z, top in zip(sums, tops, strict=True))]


def most(heads, each, budget, divides=True):
    """The most KV heads, each so large, in a budget."""
    fits = [k for k in range(1, heads + 1) if k * each <= budget]
    return max([k for k in fits if not divides or heads % k == 0], default=0)


def tiles(seq, window, tile, *, seen=None, extra=0, whole=False, needed=None):
    """The answer of exercise 9, with what people get wrong in it."""
    seen, count, computed = seen or window, 0, 0
    for top in range(0, seq, tile):
        end = min(top + tile, seq)
        left = max(0, top - seen + 1 - extra) // tile * tile
        row = -(-(end - left) // tile)
        count += row
        computed += row * tile**2 if whole else (end - top) * (end - left)
    needed = needed or pairs(seq, window=window)
    return {"tiles": count, "computed": computed, "needed": needed, "waste": computed / needed}


QUESTIONS = [
    Question(
        "head_flops",
        numbers={"seq": range(16, 400), "head_dim": [8, 24, 48, 64, 96, 128]},
        hidden=3,
        mistakes=[
            Mistake(
                "forgot the 2",
                lambda seq, head_dim: three_steps(seq**2 * head_dim, 5 * seq**2, seq**2 * head_dim),
                "Scores and values are products of matrices: a multiply-add is 2 FLOPs.",
            ),
            Mistake(
                "one FLOP for a score's softmax",
                lambda seq, head_dim: three_steps(
                    2 * seq**2 * head_dim, seq**2, 2 * seq**2 * head_dim
                ),
                "The book's convention is 5: maximum, subtract, exponential, sum, divide.",
            ),
            Mistake(
                "one query",
                lambda seq, head_dim: three_steps(2 * seq * head_dim, 5 * seq, 2 * seq * head_dim),
                "Every token is a query and meets every key: S² pairs, not S.",
            ),
            Mistake(
                "a causal mask",
                lambda seq, head_dim: three_steps(
                    seq * (seq + 1) * head_dim,
                    5 * seq * (seq + 1) // 2,
                    seq * (seq + 1) * head_dim,
                ),
                "Right under a causal mask. This head has none: all S² pairs count.",
            ),
            Mistake(
                "the exact count",
                lambda seq, head_dim: three_steps(
                    seq**2 * (2 * head_dim - 1), 5 * seq**2, seq * head_dim * (2 * seq - 1)
                ),
                "Right to the last addition; the convention counts 2 for each multiply-add.",
            ),
        ],
    ),
    Question(
        "score_matrix_bytes",
        numbers={
            "batch": range(2, 17),
            "seq": range(1024, 16_385),
            "heads": [8, 16, 32, 40, 64],
            "bytes_per_score": [2, 4],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one head",
                lambda batch, seq, bytes_per_score, **_: batch * seq**2 * bytes_per_score,
                "Each head has a score matrix of its own.",
            ),
            Mistake(
                "scores for bytes",
                lambda batch, seq, heads, **_: batch * heads * seq**2,
                "That is how many scores there are; each takes some bytes.",
            ),
            Mistake(
                "the mask left out",
                lambda batch, seq, heads, bytes_per_score: (
                    batch * heads * seq * (seq + 1) // 2 * bytes_per_score
                ),
                "The masked scores are stored too: this exercise counts the whole square.",
            ),
            Mistake(
                "GiB for bytes",
                lambda batch, seq, heads, bytes_per_score: (
                    batch * heads * seq**2 * bytes_per_score / 2**30
                ),
                "The question is for bytes; a GiB is 2³⁰ of them.",
            ),
            Mistake(
                "S for S²",
                lambda batch, seq, heads, bytes_per_score: batch * heads * seq * bytes_per_score,
                "A score matrix has a row for each query and a column for each key.",
            ),
        ],
    ),
    Question(
        "window_saving",
        numbers={"seq": range(65_536, 262_145, 4096), "window": [1024, 2048, 4096, 8192]},
        hidden=3,
        mistakes=[
            Mistake(
                "prompt over window",
                lambda seq, window: seq / window,
                "The causal mask has removed about half of the pairs before the window comes.",
            ),
            Mistake(
                "half of prompt over window",
                lambda seq, window: seq / window / 2,
                "Close. The first tokens see fewer keys than a window holds: count the pairs.",
            ),
            Mistake(
                "full over window",
                lambda seq, window: seq**2 / pairs(seq, window=window),
                "The comparison is with plain causal attention, not with no mask at all.",
            ),
            Mistake(
                "upside down",
                lambda seq, window: pairs(seq, window=window) / pairs(seq, causal=True),
                "A saving by a factor is what it was, over what it is.",
            ),
        ],
    ),
    Question(
        "attention_slip",
        numbers={
            "context": range(100, 20_000),
            "d_model": range(1200, 8001, 400),
            "heads": [16, 20, 25, 40],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one head",
                lambda context, d_model, heads: slip(
                    published_slip(d_model, heads), 4 * context * d_model // heads
                ),
                "All H heads together are D wide: H·(2·T·h + 2·T·h) is 4·T·D.",
            ),
            Mistake(
                "one product",
                lambda context, d_model, heads: slip(
                    published_slip(d_model, heads), 2 * context * d_model
                ),
                "The query meets T keys, and the weights meet T values: two products.",
            ),
            Mistake(
                "only the keys put right",
                lambda context, d_model, heads: slip(
                    published_slip(d_model, heads), 2 * context * d_model * (1 + heads)
                ),
                "The second slip stands: a head's values are h wide, not D.",
            ),
            Mistake(
                "only the width put right",
                lambda d_model, heads, **_: slip(published_slip(d_model, heads), 4 * d_model),
                "The first slip stands: a token meets all keys, not one.",
            ),
            Mistake(
                "the softmax counted too",
                lambda context, d_model, heads: slip(
                    published_slip(d_model, heads), 4 * context * d_model + 5 * heads * context
                ),
                "A fair count, but the exercise asks for the matmul FLOPs alone.",
            ),
            Mistake(
                "ratio upside down",
                lambda context, d_model, heads: slip(
                    published_slip(d_model, heads),
                    4 * context * d_model,
                    published_slip(d_model, heads) / (4 * context * d_model),
                ),
                "The ratio is the right count divided by the published one.",
            ),
        ],
    ),
    Question(
        "chunked_pairs",
        numbers={"prompt": range(5000, 20_000), "chunk": range(512, 4097)},
        cases=[{"prompt": 7, "chunk": 10}, {"prompt": 12, "chunk": 4}],
        hidden=3,
        mistakes=[
            Mistake(
                "no cache",
                lambda prompt, chunk: [
                    (e - s) * (e - s + 1) // 2 for s, e in chunks(prompt, chunk)
                ],
                "A chunk sees what is in the cache too, not only itself.",
            ),
            Mistake(
                "no mask",
                lambda prompt, chunk: [(e - s) * e for s, e in chunks(prompt, chunk)],
                "Within the chunk a token does not see those after it.",
            ),
            Mistake(
                "half of the rectangle",
                lambda prompt, chunk: [(e - s) * e / 2 for s, e in chunks(prompt, chunk)],
                "The cached part is seen in full; the triangle is the chunk's own square alone.",
            ),
            Mistake(
                "a full last chunk",
                lambda prompt, chunk: [
                    pairs(chunk, s + chunk, causal=True) for s, _ in chunks(prompt, chunk)
                ],
                "The last chunk is shorter: the prompt ends before it is full.",
            ),
            Mistake(
                "the pairs so far",
                lambda prompt, chunk: [e * (e + 1) // 2 for _, e in chunks(prompt, chunk)],
                "That is everything up to the chunk's end; earlier chunks have done their part.",
            ),
        ],
    ),
    Question(
        "merged_softmax",
        cases=[
            {"left_scores": [4.5, -1.0, 0.25], "right_scores": [2.0]},
            {"left_scores": [0.5, 2.0], "right_scores": [2.0, 2.0, -3.0]},
            {"left_scores": [1000.0, 1001.0], "right_scores": [1002.5, 998.0]},
            {"left_scores": [-7.0], "right_scores": [-9.5, -6.0, -8.0]},
        ],
        mistakes=[
            Mistake(
                "added without rescaling",
                lambda left_scores, right_scores: merged(left_scores, right_scores, lambda *_: 1.0),
                "The two sums are measured from different maxima; bring both to the common one.",
            ),
            Mistake(
                "the sign reversed",
                lambda left_scores, right_scores: merged(
                    left_scores, right_scores, lambda top, common: math.exp(common - top)
                ),
                "A sum measured from a smaller maximum must shrink: exp(own − common).",
            ),
            Mistake(
                "measured from zero",
                lambda left_scores, right_scores: [
                    max(left_scores + right_scores),
                    sum(math.exp(score) for score in left_scores + right_scores),
                ],
                "The sum is measured from the maximum, so that large scores do not overflow.",
            ),
            Mistake(
                "sum first",
                lambda left_scores, right_scores: merged(
                    left_scores, right_scores, lambda top, common: math.exp(top - common)
                )[::-1],
                "Both numbers are right. The maximum comes first, then the sum.",
            ),
            Mistake(
                "divided at the end",
                lambda left_scores, right_scores: merged(
                    left_scores, right_scores, lambda top, common: math.exp(top - common) / 2
                ),
                "The merged sum is the sum of both, not their mean.",
            ),
        ],
    ),
    Question(
        "most_kv_heads",
        numbers={
            "layers": range(16, 81),
            "heads": [32, 48, 64],
            "head_dim": [64, 96, 128],
            "budget": range(60_000, 400_000, 1000),
            "bytes_per_element": [1, 2],
        },
        cases=[
            {"budget": 1000},
            {"budget": 10**9},
            {"layers": 32, "heads": 64, "head_dim": 128, "budget": 8192, "bytes_per_element": 1},
        ],
        hidden=4,
        mistakes=[
            Mistake(
                "does not divide the heads",
                lambda layers, heads, head_dim, budget, bytes_per_element: most(
                    heads, 2 * layers * head_dim * bytes_per_element, budget, divides=False
                ),
                "So many would fit, but query heads share KV heads evenly.",
            ),
            Mistake(
                "forgot a 2",
                lambda layers, heads, head_dim, budget, **_: most(
                    heads, 2 * layers * head_dim, budget
                ),
                "Keys and values are both cached, and each element takes its bytes.",
            ),
            Mistake(
                "one layer",
                lambda heads, head_dim, budget, bytes_per_element, **_: most(
                    heads, 2 * head_dim * bytes_per_element, budget
                ),
                "Each layer has a cache of its own, and the budget is for all of them.",
            ),
            Mistake(
                "query heads per KV head",
                lambda layers, heads, head_dim, budget, bytes_per_element: (
                    heads // (most(heads, 2 * layers * head_dim * bytes_per_element, budget) or 1)
                ),
                "That is how many query heads share one; the question is for the KV heads.",
            ),
        ],
    ),
    Question(
        "absorb_break_even",
        numbers={
            "kv_rank": [384, 512, 640, 768],
            "nope_dim": [96, 128, 160],
            "value_dim": [96, 128],
            "context": range(256, 8192),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the limit for many keys",
                lambda kv_rank, nope_dim, value_dim, **_: (
                    kv_rank * (nope_dim + value_dim) / (2 * kv_rank - nope_dim - value_dim)
                ),
                "The absorbed form also moves queries and outputs; with few keys that matters.",
            ),
            Mistake(
                "r for 2·r",
                lambda kv_rank, nope_dim, value_dim, context: (
                    kv_rank
                    * (nope_dim + value_dim)
                    * context
                    / (
                        kv_rank * (nope_dim + value_dim)
                        + (kv_rank - nope_dim - value_dim) * context
                    )
                ),
                "Absorbed, a score is r wide and a value is r wide too: 2·r together.",
            ),
            Mistake(
                "values left out",
                lambda kv_rank, nope_dim, context, **_: (
                    kv_rank
                    * nope_dim
                    * context
                    / (kv_rank * nope_dim + (kv_rank - nope_dim) * context)
                ),
                "Keys alone: the values are expanded, or their outputs moved, as well.",
            ),
        ],
    ),
    Question(
        "tile_waste",
        numbers={
            "seq": range(1000, 5000),
            "window": range(100, 900),
            "tile": [32, 48, 64, 96, 128],
        },
        cases=[
            {"seq": 1000, "window": 129, "tile": 128},
            {"seq": 300, "window": 300, "tile": 64},
            {"seq": 50, "window": 7, "tile": 1},
        ],
        hidden=2,
        mistakes=[
            Mistake(
                "no window",
                lambda seq, window, tile: tiles(seq, window, tile, seen=seq),
                "These are the tiles of a plain causal mask; those left of the window are empty.",
            ),
            Mistake(
                "the ragged end counted",
                lambda seq, window, tile: tiles(seq, window, tile, whole=True),
                "Scores beyond the end of the prompt do not exist and are not counted.",
            ),
            Mistake(
                "a key too many",
                lambda seq, window, tile: tiles(seq, window, tile, extra=1),
                "A window of w keys ends with the query's own: row i begins at i − w + 1.",
            ),
            Mistake(
                "full windows needed",
                lambda seq, window, tile: tiles(seq, window, tile, needed=seq * window),
                "The first tokens have fewer keys than a window holds.",
            ),
            Mistake(
                "causal pairs needed",
                lambda seq, window, tile: tiles(seq, window, tile, needed=seq * (seq + 1) // 2),
                "The mask leaves the pairs within the window, not all before the query.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "head_flops": {"scores": 2 * 2 * 2 * 4, "softmax": 5 * 2 * 2, "values": 2 * 2 * 2 * 4},
    "score_matrix_bytes": 4 * 32 * 4096**2 * 2,
    "window_saving": (131072 * 131073 / 2) / (4096 * 4097 / 2 + (131072 - 4096) * 4096),
    "attention_slip": {
        "published": 4 * 1600 + 2 * 1600 * 25,
        "right": 4 * 1000 * 1600,
        "ratio": 6_400_000 / 86_400,
    },
    "chunked_pairs": [
        4096 * 4097 // 2,
        8192 * 8193 // 2 - 4096 * 4097 // 2,
        10000 * 10001 // 2 - 8192 * 8193 // 2,
    ],
    "merged_softmax": [5.0, 1 + math.exp(-2) + math.exp(-3) + math.exp(-4)],
    "most_kv_heads": 4,  # 6.1 would do, and 64 heads must divide
    "absorb_break_even": 128,
    "tile_waste": {
        "tiles": 1 + 2 + 3 + 4 + 28 * 5,
        "computed": 150 * 128**2,
        "needed": 512 * 513 // 2 + (4096 - 512) * 512,
        "waste": 2_457_600 / 1_966_336,
    },
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def kv_heads_from_the_top(
    layers: int, heads: int, head_dim: int, budget: int, bytes_per_element: int
) -> int:
    """Groups from the smallest on, so that the first that fits has the most KV heads."""
    for group in range(1, heads + 1):
        kept = sum(2 * (heads // group) * head_dim * bytes_per_element for _ in range(layers))
        if heads % group == 0 and kept <= budget:
            return heads // group
    return 0


def tiles_one_by_one(seq: int, window: int, tile: int) -> dict[str, float]:
    """Every tile is asked whether a row of it sees one of its columns."""
    tiles = computed = 0
    for top in range(0, seq, tile):
        rows = range(top, min(top + tile, seq))
        for left in range(0, seq, tile):
            columns = range(left, min(left + tile, seq))
            if columns[0] <= rows[-1] and columns[-1] > rows[0] - window:
                tiles += 1
                computed += len(rows) * len(columns)
    needed = sum(min(row + 1, window) for row in range(seq))
    return {"tiles": tiles, "computed": computed, "needed": needed, "waste": computed / needed}


APART = {"most_kv_heads": kv_heads_from_the_top, "tile_waste": tiles_one_by_one}
