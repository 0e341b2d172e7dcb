"""How the practice exercises of the chapter on training are checked."""

from itertools import combinations

from course import Mistake, Question
from course.practice import training_ways as ways


def choice_is_good(positions, memory, flops, room):
    """True, or what is wrong with a choice of what to drop. Students get this function too."""
    if not isinstance(positions, (list, tuple, set)):
        return "The answer is a list of positions."
    if any(position not in range(len(memory)) for position in positions):
        return f"Positions are whole numbers from 0 to {len(memory) - 1}."
    if len(set(positions)) != len(positions):
        return "A position stands there twice."

    def kept(dropped):
        return sum(size for i, size in enumerate(memory) if i not in dropped)

    if kept(positions) > room:
        return "What is kept does not fit."
    spent = sum(flops[i] for i in positions)
    for number in range(len(memory) + 1):
        for other in combinations(range(len(memory)), number):
            if kept(other) <= room and sum(flops[i] for i in other) < spent:
                return "Another choice fits and needs fewer FLOPs."
    return True


QUESTIONS = [
    Question(
        "training_state",
        numbers={
            "params": [n * 10**9 for n in (1, 3, 7, 8, 13, 30, 34, 65, 175, 405)],
            "gradient_bytes": [4, 6],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "no master copy",
                lambda **of: ways.state(**of, optimizer=8),
                "Beside two moments the optimizer keeps a copy of each weight, in 32 bits.",
            ),
            Mistake(
                "gradients in 16 bits",
                lambda params, **_: ways.state(params, 2),
                "The gradients are added up in more than 16 bits here.",
            ),
            Mistake(
                "no gradients",
                lambda params, **_: ways.state(params, 0),
                "Every parameter has a gradient, and it takes room until the update.",
            ),
            Mistake(
                "weights in 32 bits",
                lambda **of: ways.state(**of, weights=4),
                "What a pass reads is in 16 bits; the copy in 32 bits is the optimizer's.",
            ),
            Mistake(
                "GiB for GB",
                lambda **of: ways.state(**of, giga=2**30),
                "A GB is 10⁹ bytes.",
            ),
        ],
    ),
    Question(
        "layer_memory",
        numbers={
            "batch": range(1, 9),
            "seq": [1024, 2048, 4096, 8192],
            "d_model": range(1024, 20481, 1024),
            "heads": [16, 32, 64, 128],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "scores once",
                lambda **of: ways.layers(**of, scores=2),
                "Softmax's output, the mask and what the mask left are kept: 2 + 1 + 2 bytes.",
            ),
            Mistake(
                "no masks",
                lambda **of: ways.layers(**of, scores=4, linear=32),
                "Dropout keeps its masks, a byte for each element.",
            ),
            Mistake(
                "elements for bytes",
                lambda **of: [count / 2 for count in ways.layers(**of)],
                "An element of 16 bits is two bytes.",
            ),
            Mistake(
                "one head",
                lambda **of: ways.layers(**{**of, "heads": 1}),
                "Each head has scores of its own.",
            ),
            Mistake(
                "only inputs of matrices",
                lambda **of: ways.layers(**of, linear=14),
                "Queries, keys, values, the activation function and the norms need theirs too.",
            ),
        ],
    ),
    Question(
        "hardware_use",
        numbers={
            "mfu": [0.3, 0.35, 0.4, 0.5, 0.55],
            "layers": range(24, 127),
            "d_model": range(2048, 20481, 1024),
            "vocab": [32000, 50304, 128256, 256000],
            "seq": [1024, 4096, 8192],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "four thirds",
                lambda **of: [ways.uses(**of)[0], of["mfu"] * 4 / 3],
                "The logits are computed once: 4/3 is the limit without them.",
            ),
            Mistake(
                "logits forgotten",
                lambda **of: ways.uses(**of, logits=False),
                "The useful work has the logits in it.",
            ),
            Mistake(
                "recomputed twice",
                lambda **of: ways.uses(**of, again=2),
                "What is computed again is a forward pass, once.",
            ),
            Mistake(
                "of the forward pass",
                lambda **of: ways.uses(**of, again=3),
                "The useful work is three forward passes, not one.",
            ),
            Mistake(
                "divided",
                lambda **of: [of["mfu"] ** 2 / use for use in ways.uses(**of)],
                "HFU counts more work than MFU, so it is larger.",
            ),
        ],
    ),
    Question(
        "run_days",
        numbers={
            "params": [n * 10**9 for n in (1, 3, 7, 34, 70, 405)],
            "tokens": [n * 10**11 for n in (3, 14, 20, 60, 150)],
            "devices": [64, 256, 1024, 4096],
            "sparse_peak": [1979e12, 624e12, 4500e12],
            "mfu": [0.3, 0.35, 0.45, 0.5],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "sparse peak",
                lambda **of: ways.days(**of, halved=False),
                "Training multiplies dense matrices: half of the printed rate.",
            ),
            Mistake(
                "the forward pass alone",
                lambda **of: ways.days(**of, flops=2),
                "Gradients take two more products for each: 6P and not 2P.",
            ),
            Mistake(
                "hours",
                lambda **of: ways.days(**of, unit=3600),
                "The question is for days.",
            ),
            Mistake(
                "at the peak",
                lambda **of: ways.days(**{**of, "mfu": 1}),
                "The devices reach only a share of their peak.",
            ),
            Mistake(
                "recomputation counted",
                lambda **of: ways.days(**of, flops=8),
                "MFU counts useful work, 6P, whatever is done twice.",
            ),
            Mistake(
                "one device",
                lambda **of: ways.days(**{**of, "devices": 1}),
                "All devices work at the same time.",
            ),
        ],
    ),
    Question(
        "reached",
        numbers={
            "params": [n * 10**9 for n in (7, 13, 34, 70)],
            "tokens": [n * 10**12 for n in (1, 2, 5)],
            "device_hours": range(500_000, 4_000_000, 12_345),
            "peak": [312e12, 989e12, 459e12],
            "again": [0.25, 0.3, 0.33],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "recomputation in MFU",
                lambda **of: [ways.reach(**of)[1], ways.reach(**of)[1]],
                "MFU leaves out what was computed again; HFU has it in.",
            ),
            Mistake(
                "four thirds",
                lambda **of: [ways.reach(**of)[0], ways.reach(**of)[0] * 4 / 3],
                "How much was done again is given; 4/3 is only the limit.",
            ),
            Mistake(
                "sparse peak",
                lambda **of: [use / 2 for use in ways.reach(**of)],
                "The peak that is given is dense: do not double it.",
            ),
            Mistake(
                "hours for seconds",
                lambda **of: ways.reach(**of, hour=1),
                "The peak is per second: an hour has 3600.",
            ),
            Mistake(
                "the forward pass alone",
                lambda **of: ways.reach(**of, flops=2),
                "Training takes 6P per token.",
            ),
        ],
    ),
    Question(
        "low_rank",
        numbers={
            "d_model": range(1024, 8193, 1024),
            "d_ff": range(3072, 28673, 1280),
            "rank": [4, 8, 32, 64],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "6 for frozen weights",
                lambda **of: ways.thin(**of, frozen=6),
                "Frozen weights have no gradient of their own: two of the three products remain.",
            ),
            Mistake(
                "2 for frozen weights",
                lambda **of: ways.thin(**of, frozen=2),
                "Gradients must pass through the frozen weights, which is another product.",
            ),
            Mistake(
                "one thin matrix",
                lambda **of: ways.thin(**of, one_side=True),
                "An adapter is two thin matrices: rank times the sum of both sides.",
            ),
            Mistake(
                "adapters frozen too",
                lambda **of: ways.thin(**of, own=4),
                "Adapters are trained: all three products.",
            ),
            Mistake(
                "no gate",
                lambda **of: ways.thin(**of, gate=False),
                "A gated feed-forward layer has three matrices.",
            ),
        ],
    ),
    Question(
        "save_every",
        numbers={
            "params": [n * 10**9 for n in (7, 70, 175, 671)],
            "bytes_per_s": [10**11, 2 * 10**11, 10**12],
            "hours_between": [20_000, 35_000, 60_000],
            "devices": [256, 2048, 8192],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "weights alone",
                lambda **of: ways.interval(**of, each=2),
                "To go on, a run needs the master copy and the moments too.",
            ),
            Mistake(
                "gradients too",
                lambda **of: ways.interval(**of, each=16),
                "Gradients are made anew: 14 bytes are written, not 16.",
            ),
            Mistake(
                "one device's failures",
                lambda **of: ways.interval(**of, share=False),
                "Any device stops all of them: divide the hours by the devices.",
            ),
            Mistake(
                "forgot the 2",
                lambda **of: ways.interval(**of, two=1),
                "A failure loses half an interval on average: the root of twice the product.",
            ),
            Mistake(
                "seconds",
                lambda **of: 60 * ways.interval(**of),
                "The question is for minutes.",
            ),
        ],
    ),
    Question(
        "best_split",
        numbers={
            "flops": [1e20, 5e21, 3e22, 2e24, 5e25],
            "a": [406.4, 450.0],
            "b": [410.7, 1500.0],
            "alpha": [0.33, 0.34],
            "gamma": [0.28, 0.37],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "twenty tokens per parameter",
                lambda flops, **_: [(flops / 120) ** 0.5, 20 * (flops / 120) ** 0.5],
                "That is what one fit says near some budgets, not what these constants say.",
            ),
            Mistake(
                "exponents exchanged",
                lambda **of: ways.split(**of, power=of["alpha"] / (of["alpha"] + of["gamma"])),
                "Size grows with the exponent of tokens over the sum of both.",
            ),
            Mistake(
                "forgot the 6",
                lambda **of: ways.split(**of, each=1),
                "A token costs 6 FLOPs per parameter.",
            ),
            Mistake(
                "half for each",
                lambda **of: ways.split(**of, power=0.5),
                "Only if the exponents are equal do size and tokens grow alike.",
            ),
        ],
    ),
    Question(
        "what_to_drop",
        cases=[
            {"memory": [5, 4, 3], "flops": [10, 7, 2], "room": 12},
            {"memory": [10, 6, 6], "flops": [9, 5, 5], "room": 12},
            {"memory": [7, 7, 7, 7], "flops": [3, 1, 4, 1], "room": 0},
            {
                "memory": [16, 8, 2, 2, 8, 29, 29, 29],
                "flops": [1, 3, 3, 3, 9, 90, 90, 5],
                "room": 70,
            },
        ],
        public=choice_is_good,
    ),
    Question(
        "cast_gain",
        numbers={
            "k": [512, 1024, 4096, 8192],
            "n": [768, 2048, 14336, 28672],
            "flops_per_s": [989.4e12, 2250e12],
            "bytes_per_s": [3.35e12, 8e12],
            "faster": [2, 4],
            "bytes_each": [0.5625, 1, 1.03125],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "written once",
                lambda **of: ways.faster_with_casts(**of, written=1),
                "Each operand enters two products, with scales along another direction: two casts.",
            ),
            Mistake(
                "the forward pass alone",
                lambda **of: ways.faster_with_casts(**of, products=1),
                "A training step has three products, one forward and two backward.",
            ),
            Mistake(
                "no gradients cast",
                lambda **of: ways.faster_with_casts(**of, sides=1),
                "The gradients of the outputs are cast too: k + n elements for each token.",
            ),
        ],
    ),
    Question(
        "run_hours",
        numbers={
            "devices": [64, 256, 512, 4096],
            "per_device": [4096, 8192, 16384],
            "tokens_per_s": [2500, 8000, 14000],
            "fewest_steps": range(10_000, 60_000, 1000),
            "critical": [1_000_000, 3_000_000, 4_000_000, 16_000_000],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the batch of one device",
                lambda **of: ways.run_at(**of, how="one device"),
                "The batch is that of all devices together.",
            ),
            Mistake(
                "upside down",
                lambda **of: ways.run_at(**of, how="upside down"),
                "Steps fall as the batch grows: 1 + critical / batch. Tokens grow.",
            ),
            Mistake(
                "the fewest steps",
                lambda **of: ways.run_at(**of, how="the fewest"),
                "Only a huge batch needs no more than the fewest steps.",
            ),
            Mistake(
                "no fewest steps",
                lambda **of: ways.run_at(**of, how="no minimum"),
                "Even with a huge batch there are the fewest steps: add 1.",
            ),
        ],
    ),
    Question(
        "muon_share",
        numbers={
            "rows": [2048, 4096, 7168],
            "columns": [1024, 8192, 14336],
            "tokens": [1e6, 4e6, 16e6],
            "repeats": [1, 8, 64],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the longer side squared",
                lambda **of: ways.newton_schulz(**of, shorter=max, longer=min),
                "The matrix is transposed so that the product with itself is the smaller one.",
            ),
        ],
    ),
    Question(
        "finish",
        points=2,
        cases=[
            {"work": 100, "interval": 20, "write": 2, "restart": 5, "failures": []},
            {"work": 50, "interval": 20, "write": 4, "restart": 3, "failures": [21, 30, 31]},
            {"work": 60, "interval": 30, "write": 1, "restart": 10, "failures": [31, 45, 50, 61]},
            {"work": 40, "interval": 40, "write": 5, "restart": 2, "failures": [42, 43]},
            {"work": 30, "interval": 7, "write": 1, "restart": 4, "failures": [8, 23, 24, 60]},
        ],
        mistakes=[
            Mistake(
                "no checkpoint at the end",
                lambda **of: ways.ended(**of, last=False),
                "The last piece of work is written down as well.",
            ),
            Mistake(
                "half a checkpoint kept",
                lambda **of: ways.ended(**of, keeps=True),
                "A checkpoint that is not complete is lost, with the work in it.",
            ),
            Mistake(
                "restarts never fail",
                lambda **of: ways.ended(**of, again=False),
                "Failures come during restarts too, and each begins the restart anew.",
            ),
            Mistake(
                "all work lost",
                lambda **of: ways.ended(**{**of, "interval": of["work"]}),
                "Only work since the last checkpoint is lost, and checkpoints take time.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions.
ANSWERS = {
    "training_state": [140.0, 280.0, 840.0],
    "layer_memory": [
        34 * 2048 * 12288 + 5 * 96 * 2048**2,
        34 * 2048 * 12288,
        2 * 2048 * 12288,
    ],
    "hardware_use": [
        0.45 * (1 + 4 * 2048 / (72 * 12288 + 12 * 2048 + 6 * 51200 / 96)),
        0.45 * (1 + (24 * 12288 + 4 * 2048) / (72 * 12288 + 12 * 2048 + 6 * 51200 / 96)),
    ],
    "run_days": 6 * 13e9 * 2e12 / (512 * 989.5e12 * 0.4) / 86400,
    "reached": [
        6 * 68_976_648_192 * 2e12 / (1_720_320 * 3600 * 312e12),
        6 * 68_976_648_192 * 2e12 / (1_720_320 * 3600 * 312e12) * 1.32,
    ],
    "low_rank": [
        16 * (8 * 4096 + 3 * 15104),
        4 * (4 * 4096**2 + 3 * 4096 * 11008) + 6 * 16 * (8 * 4096 + 3 * 15104),
    ],
    "save_every": (2 * (14 * 405e9 / 2e12 / 60) * (60 * 50000 / 16384)) ** 0.5,
    "best_split": ways.balanced(1e23, 482.01, 2085.43, 0.3478, 0.3658),
    "what_to_drop": [0, 5],  # 22 bytes for 12 FLOPs
    "cast_gain": 1 / (1 / 2 + (1 / 4096 + 1 / 14336) * 4 / 6 * 989.4 / 3.35),
    "run_hours": [
        20000 * (512 * 8192 + 4e6) / 512 / 8000 / 3600,
        20000 * (512 * 8192 + 4e6) / 8000 / 3600,
    ],
    "muon_share": (20 * 4096 + 10 * 4096**2 / 14336) / 6e6,
    "finish": 139,  # 22, then 38 after two failures, 60, 82, then 95, 117, 139
}

# The same answers by another way, for any numbers: tests compare them with the solutions.
APART = {"cast_gain": ways.casts_of_a_token}
