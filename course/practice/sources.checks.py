"""How the practice exercises on the sources are checked."""

import costlib
from costlib.sources import jamesnulliu, reconcile
from course import Mistake, Question


def terms(context):
    """The named terms of exercise 1."""
    model = costlib.models["llama-2-7b"]
    return reconcile("jamesnulliu", model, B=1, Z=7, S_c=context)["bytes"].terms


def chosen(context, key, sign=1):
    """A reason of exercise 1 and its term."""
    found = terms(context)
    reason = max(found, key=lambda name: key(found[name]))
    return [reason, sign * int(found[reason])]


def overstated(ratio, corrected):
    """Fewest cached tokens at which the notes' intensity is so much too high."""
    low, high = 0, 10**8
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if too_high(middle, corrected) >= ratio else (middle, high)
    return high


def too_high(cached, corrected):
    """The notes' intensity over the right one, or over one with bytes alone put right."""
    sizes = dict(B=1, S_i=1, S_c=cached, **jamesnulliu.LLAMA_7B)
    published = jamesnulliu.decode(**sizes)
    if corrected:
        return published.intensity() / jamesnulliu.corrected_decode(**sizes).intensity()
    return 1 + 2 * 32 * 4096 * cached / published.bytes()


def layer(seq, width):
    """FLOPs of a layer in the notes."""
    return 24 * seq * width**2 + 4 * seq**2 * width


def counts(name, seq):
    """All matmul FLOPs with masked pairs, and those of attention's products."""
    counted = costlib.models[name].prefill(1, seq, masked="computed")
    return counted.matmul_flops, counted.only("scores", "values").flops


def explain(published, ledger, reasons, *, sign=1, absolute=False, empty=True, shared=False):
    """Terms by reason, with what people change in them."""
    found = {}
    for reason, ops in reasons.items():
        kept = [op for op in ops if not shared or (op in published and op in ledger)]
        term = sum(published.get(op, 0) - ledger.get(op, 0) for op in kept)
        if empty or any(op in published or op in ledger for op in ops):
            found[reason] = abs(term) if absolute else sign * term
    return found


def is_near(_case, expected, answer):
    """The name is the student's own; what remains must be right, in either sign."""
    if not (isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], str)):
        return "The answer is a list of a name and a number."
    if type(answer[1]) not in (int, float):
        return "The second entry is the relative distance, a number."
    if abs(abs(answer[1]) - 100 * abs(expected[1])) < 1e-2 and abs(expected[1]) > 1e-3:
        return "That is in per cent; the distance is a fraction."
    if abs(abs(answer[1]) - abs(expected[1])) > 5e-4:
        return "Another convention is nearer, or the distance is not that of the nearest one."
    return True


QUESTIONS = [
    Question(
        "largest_reason",
        numbers={"context": [512, 1024, 1536, *range(5000, 100_000, 500)]},
        cases=[{"context": 1000}, {"context": 150_000}],
        hidden=3,
        mistakes=[
            Mistake(
                "the largest positive term",
                lambda context: chosen(context, lambda term: term),
                "A term below zero can be the largest in absolute value.",
            ),
            Mistake(
                "the smallest term",
                lambda context: chosen(context, lambda term: -abs(term)),
                "The largest in absolute value is asked for.",
            ),
            Mistake(
                "the sign lost",
                lambda context: chosen(context, abs, sign=-1),
                "The reason is right. Return its term as it stands, with its sign.",
            ),
        ],
    ),
    Question(
        "completed_flops",
        numbers={
            "macs": [1e11 * x for x in range(20, 200)],
            "layers": range(16, 81),
            "d_model": range(2048, 8193, 128),
            "seq": range(1024, 8193),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "MACs for FLOPs",
                lambda macs, layers, d_model, seq: int(
                    macs + layers * 2 * seq * (seq + 1) * d_model
                ),
                "Each multiply-add of the linear layers is 2 FLOPs.",
            ),
            Mistake(
                "no mask",
                lambda macs, layers, d_model, seq: int(2 * macs + layers * 4 * seq**2 * d_model),
                "The mask leaves S·(S + 1)/2 of the S² pairs.",
            ),
            Mistake(
                "half of the square",
                lambda macs, layers, d_model, seq: int(2 * macs + layers * 2 * seq**2 * d_model),
                "Nearly. The diagonal is kept in full: S·(S + 1)/2 pairs.",
            ),
            Mistake(
                "one product",
                lambda macs, layers, d_model, seq: int(
                    2 * macs + layers * seq * (seq + 1) * d_model
                ),
                "Attention has two products: the scores, and the values.",
            ),
            Mistake(
                "one layer",
                lambda macs, d_model, seq, **_: int(2 * macs + 2 * seq * (seq + 1) * d_model),
                "Attention takes place in every layer.",
            ),
            Mistake(
                "linear layers alone",
                lambda macs, **_: int(2 * macs),
                "The tool left attention's products out; add them.",
            ),
        ],
    ),
    Question(
        "overstated_from",
        numbers={"ratio": [1.1, 1.2, 1.25, 1.3, 1.4, 1.6, 1.7, 1.75, 1.8]},
        hidden=3,
        mistakes=[
            Mistake(
                "one too few",
                lambda ratio: overstated(ratio, corrected=True) - 1,
                "At that context the ratio is not reached yet; the next one does it.",
            ),
            Mistake(
                "bytes alone",
                lambda ratio: overstated(ratio, corrected=False),
                "Very near. The corrected notes also have the new token see itself: more FLOPs.",
            ),
        ],
    ),
    Question(
        "split_slip",
        numbers={
            "seq": range(1024, 16_385, 128),
            "width": range(2048, 8193, 256),
            "gpus": [2, 4, 8],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the number of GPUs",
                lambda gpus, **_: float(gpus),
                "The term with H² is too low by g, the term with S² is right.",
            ),
            Mistake(
                "upside down",
                lambda seq, width, gpus: layer(seq, width / gpus) * gpus / layer(seq, width),
                "The right count over the published one is more than 1.",
            ),
            Mistake(
                "the whole layer",
                lambda seq, width, gpus: layer(seq, width) / layer(seq, width / gpus),
                "Compare one GPU's share: the whole layer divided by g.",
            ),
            Mistake(
                "g² throughout",
                lambda gpus, **_: float(gpus**2),
                "Only the share of one GPU counts, and attention's term has H once.",
            ),
        ],
    ),
    Question(
        "counter_excess",
        numbers={
            "name": ["llama-2-7b", "llama-2-13b", "llama-3.1-8b"],
            "seq": range(4096, 32_769, 512),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the ratio",
                lambda name, seq: 1 / (1 - counts(name, seq)[1] / 2 / counts(name, seq)[0]),
                "By what fraction larger is the ratio less one.",
            ),
            Mistake(
                "the share of the larger",
                lambda name, seq: counts(name, seq)[1] / 2 / counts(name, seq)[0],
                "Larger than the second: divide by the second count.",
            ),
            Mistake(
                "no attention in the second",
                lambda name, seq: (
                    counts(name, seq)[1] / (counts(name, seq)[0] - counts(name, seq)[1])
                ),
                "The second counts half of the pairs, not none.",
            ),
            Mistake(
                "per cent for a fraction",
                lambda name, seq: (
                    100
                    * (counts(name, seq)[1] / 2)
                    / (counts(name, seq)[0] - counts(name, seq)[1] / 2)
                ),
                "That is in per cent; the function returns the fraction.",
            ),
        ],
    ),
    Question(
        "explained",
        cases=[
            {
                "published": {"a": 7, "b": 1, "c": 100},
                "ledger": {"a": 9, "d": 50},
                "reasons": {"x": ["a"], "y": ["b", "d"], "z": ["c"], "none": ["e"]},
            },
            {"published": {}, "ledger": {"a": 3}, "reasons": {"all": ["a", "b"]}},
            {"published": {"a": 5}, "ledger": {"a": 5}, "reasons": {"same": ["a"]}},
        ],
        mistakes=[
            Mistake(
                "the sign turned",
                lambda **s: explain(**s, sign=-1),
                "The difference is published less ledger.",
            ),
            Mistake(
                "absolute values",
                lambda **s: explain(**s, absolute=True),
                "Terms keep their sign, or they do not sum to the difference.",
            ),
            Mistake(
                "only ops that both have",
                lambda **s: explain(**s, shared=True),
                "An op that one side does not have counts with zero there.",
            ),
            Mistake(
                "a reason left out",
                lambda **s: explain(**s, empty=False),
                "A reason without ops has the term 0, and stays in the answer.",
            ),
        ],
    ),
    Question(
        "tool_gap",
        numbers={
            "layers": range(6, 33),
            "d_model": range(192, 1537, 64),
            "tokens": range(50, 600),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "attention alone",
                lambda layers, d_model, tokens: 2 * layers * tokens**2 * d_model,
                "The tools also charge differently for layer norms.",
            ),
            Mistake(
                "layer norms alone",
                lambda layers, d_model, tokens: (2 * layers + 1) * tokens * d_model,
                "One of the tools also leaves out attention's two products.",
            ),
            Mistake(
                "no final norm",
                lambda layers, d_model, tokens: (
                    2 * layers * tokens**2 * d_model + 2 * layers * tokens * d_model
                ),
                "There is a norm after the last layer too: 2·L + 1 of them.",
            ),
            Mistake(
                "FLOPs for multiply-adds",
                lambda layers, d_model, tokens: (
                    4 * layers * tokens**2 * d_model + (2 * layers + 1) * tokens * d_model
                ),
                "The tools count a multiply-add once.",
            ),
            Mistake(
                "one product",
                lambda layers, d_model, tokens: (
                    layers * tokens**2 * d_model + (2 * layers + 1) * tokens * d_model
                ),
                "Attention has two products: the scores, and the values.",
            ),
            Mistake(
                "D² for D",
                lambda layers, d_model, tokens: (
                    2 * layers * tokens * d_model**2 + (2 * layers + 1) * tokens * d_model
                ),
                "Attention's products have the tokens twice and the width once.",
            ),
        ],
    ),
    Question(
        "nearest_convention",
        points=2,
        cases=[
            {"name": "llama-3.1-8b", "seq": 8192, "published": 6.6e13},
            {"name": "llama-2-13b", "seq": 4096, "published": 1.05e14},
        ],
        compare=is_near,
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "largest_reason": ["one read for cached K and V, none for new ones", -4_295_491_584],
    "completed_flops": 14_300_048_498_688,
    "overstated_from": 53_414,
    "split_slip": 6.25,
    "counter_excess": 0.1397952218,
    "explained": {"blocks": 120 - 50 - 75, "head": 40 - 10},
    "tool_gap": 719_109_888,
    "nearest_convention": ["masked pairs computed, 2", 0.0152],
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def larger_of_two(context: int) -> list[str | int]:
    """Both terms from the model's sizes, in 2-byte entries; the others are far smaller."""
    layers, width, hidden, words = 32, 4096, 11_008, 32_000
    block = 4 * width * width + 3 * width * hidden + 2 * width
    read = layers * block + width + words * width + width  # norms, the head, one row of embeddings
    weights = 14 * 10**9 - 2 * read
    cached = -2 * layers * width * (context + 2)  # of K and V one, and both new ones
    if weights > -cached:
        return ["Z·10⁹ weights instead of those that are read", weights]
    return ["one read for cached K and V, none for new ones", cached]


APART = {"largest_reason": larger_of_two}
