"""How the practice exercises of chapter 3 are checked."""

import math

import costlib
from costlib import Transformer
from costlib.model.transformer import experts_expected
from course import Mistake, Question


def block_weights(d_model, heads, kv_heads, head_dim, d_ff, matrices=3):
    """Weights of a block's matrices."""
    return 2 * d_model * head_dim * (heads + kv_heads) + matrices * d_model * d_ff


def keys_to_cross(
    layers, d_model, heads, kv_heads, d_ff, vocab, *, matrices=3, per_key=None, rounded=math.ceil
):
    """The answer of exercise 3, with what people get wrong in it."""
    block = block_weights(d_model, heads, kv_heads, d_model // heads, d_ff, matrices)
    return rounded((layers * block + d_model * vocab) / (per_key or 2 * layers * d_model))


def both(scores, cache):
    """The answer of exercise 4."""
    return {"score_flops": scores, "cache_bytes": cache}


def true_cache(layers, d_model, heads, kv_heads, tokens):
    """Bytes of the cache in 16 bits."""
    return 4 * layers * d_model // heads * kv_heads * tokens


def first_to_reach(experts, share, chosen):
    """The first number of tokens that chooses a share of the experts."""
    return next(tokens for tokens in range(1, 10_000) if chosen(tokens) >= share * experts)


def busy(name, tokens, seq, gpu_hours, flops_per_s):
    """The utilisation of exercise 8."""
    step = costlib.models[name].training_step(1, seq, scores="materialised")
    needed = step.flops / seq * tokens
    return needed / (gpu_hours * 3600 * flops_per_s)


def spends_the_budget(model, budget, seq, vocab):
    """True, or what is wrong with a model for a budget. Students get this function too."""
    names = ("layers", "d_model", "heads", "d_ff", "tokens", "share")
    if not isinstance(model, dict) or any(name not in model for name in names):
        return f"The answer is a dictionary with {', '.join(names)}."
    layers, d_model, heads, d_ff, tokens, share = (model[name] for name in names)
    sizes = (layers, d_model, heads, d_ff, tokens)
    if not all(isinstance(x, (int, float)) and x >= 1 and x == int(x) for x in sizes):
        return "Sizes and tokens are whole numbers from 1 on."
    if d_model != 128 * heads:
        return "A head is 128 wide, so d_model is 128 times heads."
    if d_ff % 256:
        return "d_ff is not a multiple of 256."
    if max(layers, d_model, d_ff) > 10**6:
        return "No model is that large."
    layers, d_model, heads, d_ff = map(int, (layers, d_model, heads, d_ff))
    shape = Transformer(layers=layers, d_model=d_model, heads=heads, d_ff=d_ff, vocab=vocab)
    if abs(tokens / (20 * shape.params()) - 1) > 1e-3:
        return f"Your shape has {shape.params():,} parameters; tokens is not 20 for each."
    step = shape.training_step(1, seq, scores="materialised")
    spent = 20 * shape.params() * step.flops / seq / budget
    if spent > 1:
        return f"The run takes {spent:.4f} of the budget, which is more than there is."
    if spent <= 0.9:
        return f"The run is within the budget, but spends only {spent:.4f} of it."
    if not isinstance(share, (int, float)) or abs(share - spent) > 1e-3:
        return f"The shape is good. It spends {spent:.4f} of the budget, and share is not that."
    return True


def reads_cheaper(model, layers, heads, d_ff, vocab, seq):
    """True, or what is wrong with a cheaper model. Students get this function too."""
    names = ("layers", "heads", "d_ff")
    if not isinstance(model, dict) or any(name not in model for name in names):
        return f"The answer is a dictionary with {', '.join(names)}."
    new = [model[name] for name in names]
    if not all(isinstance(x, (int, float)) and x >= 1 and x == int(x) for x in new):
        return "Sizes are whole numbers from 1 on."
    if max(new) > 10**6:
        return "No model is that large."
    if new[2] % 256:
        return "d_ff is not a multiple of 256."
    shapes = [
        Transformer(layers=int(n), d_model=128 * int(k), heads=int(k), d_ff=int(f), vocab=vocab)
        for n, k, f in (new, (layers, heads, d_ff))
    ]
    params = shapes[0].params() / shapes[1].params()
    if abs(params - 1) > 0.02:
        return f"Your model has {params:.3f} times the parameters of the old one."
    work = shapes[0].prefill(1, seq).flops / shapes[1].prefill(1, seq).flops
    if work > 0.85:
        return f"A prompt still takes {work:.3f} of the old model's FLOPs."
    return True


QUESTIONS = [
    Question(
        "block_cost",
        numbers={
            "d_model": range(64, 1025, 64),
            "heads": [4, 8, 16],
            "kv_heads": [1, 2],
            "head_dim": [18, 22, 26, 30, 34],
            "d_ff": range(100, 3000, 4),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "query heads for KV heads",
                lambda d_model, heads, head_dim, d_ff, **_: [
                    k * block_weights(d_model, heads, heads, head_dim, d_ff) for k in (1, 2)
                ],
                "Keys and values have K heads; only queries and outputs have H.",
            ),
            Mistake(
                "two matrices in the feed-forward layer",
                lambda **sizes: [k * block_weights(**sizes, matrices=2) for k in (1, 2)],
                "A gated layer has a third matrix, the gate's.",
            ),
            Mistake(
                "one FLOP per weight",
                lambda **sizes: [block_weights(**sizes)] * 2,
                "Each weight is used in one multiply-add per token, and that is 2 FLOPs.",
            ),
            Mistake(
                "no output projection",
                lambda d_model, heads, kv_heads, head_dim, d_ff: [
                    k * (d_model * head_dim * (heads + 2 * kv_heads) + 3 * d_model * d_ff)
                    for k in (1, 2)
                ],
                "Attention has a fourth matrix: it takes the heads' outputs back to width D.",
            ),
            Mistake(
                "D/H for the width of a head",
                lambda d_model, heads, kv_heads, d_ff, **_: [
                    k * block_weights(d_model, heads, kv_heads, d_model // heads, d_ff)
                    for k in (1, 2)
                ],
                "The width of a head is given; it need not be D/H.",
            ),
        ],
    ),
    Question(
        "tying_saves",
        numbers={"d_model": range(1024, 8193, 128), "vocab": range(32_000, 160_000)},
        hidden=3,
        mistakes=[
            Mistake(
                "FLOPs saved too",
                lambda d_model, vocab: [d_model * vocab, 2 * d_model * vocab],
                "The unembedding still multiplies; tying changes what is stored, not the work.",
            ),
            Mistake(
                "both tables saved",
                lambda d_model, vocab: [2 * d_model * vocab, 0],
                "One of the two tables stays, and serves both ends.",
            ),
            Mistake(
                "bytes for parameters",
                lambda d_model, vocab: [2 * d_model * vocab, 2 * d_model * vocab],
                "The question is for parameters and FLOPs, and one table of D·V goes.",
            ),
        ],
    ),
    Question(
        "crossing",
        numbers={
            "layers": range(24, 127, 2),
            "d_model": range(4096, 16_385, 1024),
            "heads": [32, 64, 128],
            "kv_heads": [4, 8],
            "d_ff": range(8192, 57_345, 1024),
            "vocab": range(32_000, 160_000, 1000),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one FLOP per weight",
                lambda **s: keys_to_cross(**s, per_key=4 * s["layers"] * s["d_model"]),
                "You compare FLOPs of attention with numbers of weights; a weight costs 2 FLOPs.",
            ),
            Mistake(
                "scores without values",
                lambda **s: keys_to_cross(**s, per_key=s["layers"] * s["d_model"]),
                "Each key takes part in two products: its score, and its value's weight.",
            ),
            Mistake(
                "KV heads for query heads",
                lambda **s: keys_to_cross(
                    **s,
                    per_key=2 * s["layers"] * s["d_model"] // s["heads"] * s["kv_heads"],
                ),
                "Sharing keys and values saves bytes, not FLOPs: every query head has its scores.",
            ),
            Mistake(
                "unembedding left out",
                lambda **s: keys_to_cross(**{**s, "vocab": 0}),
                "The unembedding is a GEMM with weights too: D·V of them.",
            ),
            Mistake(
                "rounded down",
                lambda **s: keys_to_cross(**s, rounded=int),
                "With so many keys attention is still a little behind; one more does it.",
            ),
            Mistake(
                "query heads in the projections",
                lambda **s: keys_to_cross(**{**s, "kv_heads": s["heads"]}),
                "The projections of keys and values have K heads.",
            ),
            Mistake(
                "two matrices in the feed-forward layer",
                lambda **s: keys_to_cross(**s, matrices=2),
                "A gated layer has a third matrix, the gate's.",
            ),
            Mistake(
                "one layer's attention",
                lambda **s: keys_to_cross(**s, per_key=2 * s["d_model"]),
                "Attention takes place in every layer.",
            ),
        ],
    ),
    Question(
        "scores_and_cache",
        numbers={
            "layers": range(24, 127, 2),
            "d_model": range(4096, 16_385, 1024),
            "heads": [32, 64, 128],
            "kv_heads": [4, 8],
            "tokens": range(500, 50_000),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "as published",
                lambda layers, d_model, tokens, **_: both(
                    2 * d_model * layers, 4 * layers * d_model * tokens
                ),
                "These are the numbers as claimed: a token meets all keys, and K heads are cached.",
            ),
            Mistake(
                "query heads in the cache",
                lambda layers, d_model, tokens, **_: both(
                    2 * layers * d_model * tokens, 4 * layers * d_model * tokens
                ),
                "The scores are right. Only KV heads are cached: K/H of the width.",
            ),
            Mistake(
                "one key",
                lambda layers, d_model, **s: both(
                    2 * layers * d_model, true_cache(layers, d_model, **s)
                ),
                "The cache is right. A new token has a score with each key, not with one.",
            ),
            Mistake(
                "one layer's scores",
                lambda layers, d_model, tokens, **s: both(
                    2 * d_model * tokens, true_cache(layers, d_model, tokens=tokens, **s)
                ),
                "The cache is right. The scores are asked for all layers.",
            ),
            Mistake(
                "scores with KV heads",
                lambda layers, d_model, heads, kv_heads, tokens: both(
                    2 * layers * d_model // heads * kv_heads * tokens,
                    true_cache(layers, d_model, heads, kv_heads, tokens),
                ),
                "The cache is right. Every query head has its own scores; sharing saves bytes.",
            ),
            Mistake(
                "elements for bytes",
                lambda layers, d_model, tokens, **s: both(
                    2 * layers * d_model * tokens,
                    true_cache(layers, d_model, tokens=tokens, **s) // 2,
                ),
                "The scores are right. A cached number in 16 bits takes two bytes.",
            ),
            Mistake(
                "values counted as scores",
                lambda layers, d_model, tokens, **s: both(
                    4 * layers * d_model * tokens, true_cache(layers, d_model, tokens=tokens, **s)
                ),
                "The cache is right. The scores are one product; the values are another.",
            ),
        ],
    ),
    Question(
        "selective_overhead",
        numbers={"d_model": range(2048, 16_385, 512), "seq": range(1024, 8193, 256)},
        hidden=3,
        mistakes=[
            Mistake(
                "as published",
                lambda d_model, seq: seq / (6 * d_model),
                "That is attention over the weights; a step has three passes, and attention in it.",
            ),
            Mistake(
                "one pass",
                lambda d_model, seq: seq / (6 * d_model + seq),
                "The share of one pass; the step has three, and one of attention is added.",
            ),
            Mistake(
                "attention left out of the whole",
                lambda d_model, seq: seq / (18 * d_model),
                "A third is right, but the step's products include attention itself.",
            ),
            Mistake(
                "four passes in the step",
                lambda d_model, seq: seq / (24 * d_model + 4 * seq),
                "What is added is compared with the step as it was: three passes.",
            ),
            Mistake(
                "per cent for a fraction",
                lambda d_model, seq: 100 * seq / (18 * d_model + 3 * seq),
                "That is in per cent; the function returns the fraction.",
            ),
        ],
    ),
    Question(
        "tokens_to_reach",
        numbers={
            "experts": [64, 128, 256],
            "per_token": [2, 4, 6, 8],
            "share": [0.9, 0.95, 0.99],
        },
        hidden=4,
        mistakes=[
            Mistake(
                "one too few",
                lambda experts, per_token, share: (
                    first_to_reach(
                        experts, share, lambda n: experts_expected(experts, per_token, n)
                    )
                    - 1
                ),
                "With so many tokens the share is not reached yet; the next one does it.",
            ),
            Mistake(
                "as if no expert were chosen twice",
                lambda experts, per_token, share: math.ceil(share * experts / per_token),
                "Tokens choose independently, so many choose an expert that is already chosen.",
            ),
            Mistake(
                "one expert a token",
                lambda experts, share, **_: first_to_reach(
                    experts, share, lambda n: experts * (1 - (1 - 1 / experts) ** n)
                ),
                "Each token chooses several experts.",
            ),
            Mistake(
                "one more",
                lambda experts, per_token, share: (
                    first_to_reach(
                        experts, share, lambda n: experts_expected(experts, per_token, n)
                    )
                    + 1
                ),
                "One token fewer reaches the share already.",
            ),
        ],
    ),
    Question(
        "widest_layer",
        numbers={
            "d_model": range(2048, 8193, 512),
            "heads": [16, 32],
            "kv_heads": [2, 4, 8],
            "multiple": [64, 128, 256],
        },
        hidden=4,
        mistakes=[
            Mistake(
                "rounded up",
                lambda d_model, heads, kv_heads, multiple: (
                    math.ceil((10 - 2 * kv_heads / heads) * d_model / 3 / multiple) * multiple
                ),
                "With that width the block has more than 12·D² weights; round down.",
            ),
            Mistake(
                "query heads for KV heads",
                lambda d_model, multiple, **_: 8 * d_model // 3 // multiple * multiple,
                "Keys and values have K heads, so attention leaves more room than 8·D².",
            ),
            Mistake(
                "two matrices",
                lambda d_model, heads, kv_heads, multiple: (
                    int((10 - 2 * kv_heads / heads) * d_model / 2) // multiple * multiple
                ),
                "A gated layer has three matrices of D×F.",
            ),
            Mistake(
                "not a multiple",
                lambda d_model, heads, kv_heads, **_: int(
                    (10 - 2 * kv_heads / heads) * d_model / 3
                ),
                "The widest that fits, but F must be a multiple of the given number.",
            ),
        ],
    ),
    Question(
        "utilisation",
        numbers={
            "name": ["llama-2-7b", "llama-2-13b", "llama-2-70b"],
            "tokens": range(10**12, 2 * 10**12, 10**10),
            "seq": [2048, 4096],
            "gpu_hours": range(1_500_000, 3_000_000, 10_000),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the forward pass alone",
                lambda **s: busy(**s) / 3,
                "Training also goes backward, and that is twice the forward pass.",
            ),
            Mistake(
                "hours for seconds",
                lambda **s: busy(**s) * 3600,
                "The peak is per second, and an hour has 3600 of them.",
            ),
            Mistake(
                "per cent for a fraction",
                lambda **s: busy(**s) * 100,
                "That is in per cent; the function returns the fraction.",
            ),
            Mistake(
                "the rule of 6",
                lambda name, tokens, gpu_hours, flops_per_s, **_: (
                    6 * costlib.models[name].params() * tokens / (gpu_hours * 3600 * flops_per_s)
                ),
                "A good estimate. The ledger also has attention, and no arithmetic in lookups.",
            ),
            Mistake(
                "a step for each token",
                lambda seq, **s: busy(seq=seq, **s) * seq,
                "`training_step(1, seq)` is a whole sequence; divide by its tokens.",
            ),
        ],
    ),
    Question(
        "cheaper_prefill",
        cases=[{"heads": 40, "d_ff": 13824, "layers": 40, "seq": 49152}],
        public=reads_cheaper,
    ),
    Question(
        "model_for_budget",
        points=2,
        cases=[{"budget": 3 * 10**20, "vocab": 50_000}],
        public=spends_the_budget,
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "block_cost": [2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 12, 2 * 480],
    "tying_saves": [4096 * 128256, 0],
    "crossing": math.ceil(
        (126 * (2 * 16384**2 + 2 * 16384 * 1024 + 3 * 16384 * 53248) + 16384 * 128256)
        / (2 * 126 * 16384)
    ),
    "scores_and_cache": {
        "score_flops": 126 * 2 * 16384 * 1000,
        "cache_bytes": 126 * 2 * 1024 * 2000,
    },
    "selective_overhead": 2048 / (3 * (6 * 12288 + 2048)),
    "tokens_to_reach": math.ceil(math.log(1 - 0.95) / math.log(1 - 8 / 384)),
    "widest_layer": 12800,
    "utilisation": 0.4435635837,
    "cheaper_prefill": {"layers": 8, "heads": 64, "d_ff": 20736},
    "model_for_budget": {
        "layers": 37,
        "d_model": 2432,
        "heads": 19,
        "d_ff": 6656,
        "tokens": 56559905280,
        "share": 0.9966,
    },
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def tokens_in_one_line(experts: int, per_token: int, share: float) -> int:
    """An expert sleeps through all tokens with (1 - k/E)^n: solved for n."""
    return math.ceil(math.log(1 - share) / math.log(1 - per_token / experts))


def tied_by_hand(d_model: int, vocab: int) -> list[int]:
    """One matrix of the two; both are used as before."""
    return [vocab * d_model, 0]


APART = {"tokens_to_reach": tokens_in_one_line, "tying_saves": tied_by_hand}

#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {"tokens_to_reach": [{"experts": 8, "per_token": 2, "share": 0.25}, {"share": 0.01}]}
