"""How the practice exercises of the chapter on many devices are checked."""

import math

from course import Mistake, Question
from course.practice import parallel_ways as ways

PEAKS = [312e12, 459e12, 989.4e12, 2250e12, 2500e12]
LINKS = [200e9, 300e9, 450e9, 600e9, 900e9]
NETWORKS = [12.5e9, 25e9, 50e9, 100e9]

QUESTIONS = [
    Question(
        "hiding_tokens",
        numbers={"flops_per_s": PEAKS, "printed": LINKS, "devices": [2, 4, 8, 16, 72]},
        hidden=3,
        mistakes=[
            Mistake(
                "half",
                lambda **s: ways.tokens(**s, each_way=1),
                "Half: is the rate that of both directions, or are gradients sent round only once?",
            ),
            Mistake(
                "the forward pass too",
                lambda **s: ways.tokens(**s, products=6),
                "There are no gradients to send before the backward pass: 4 FLOPs, not 6.",
            ),
            Mistake(
                "all parts",
                lambda **s: ways.tokens(**s, all_but_one=False),
                "A device keeps one part: (n − 1)/n of the value goes round.",
            ),
        ],
    ),
    Question(
        "link_share",
        numbers={
            "size": [2**k for k in range(20, 36)],
            "seconds": [1e-5 * k for k in range(100, 9000, 7)],
            "devices": [4, 8, 16, 64, 72],
            "link": LINKS,
        },
        hidden=3,
        mistakes=[
            Mistake(
                "algbw",
                lambda size, seconds, link, **_: size / seconds / link,
                "Bytes over seconds is algbw. A ring sends 2(n − 1)/n bytes for each of them.",
            ),
            Mistake(
                "one tour",
                lambda size, seconds, devices, link: (
                    (devices - 1) / devices * size / seconds / link
                ),
                "That is an all-gather. An all-reduce goes round twice.",
            ),
            Mistake(
                "both directions",
                lambda size, seconds, devices, link: (
                    4 * (devices - 1) / devices * size / seconds / link
                ),
                "What arrives is not sent as well: the link's rate is for each way.",
            ),
            Mistake(
                "all parts",
                lambda size, seconds, link, **_: 2 * size / seconds / link,
                "One part of n never leaves its device, in either tour.",
            ),
        ],
    ),
    Question(
        "gradient_seconds",
        numbers={
            "params": [10**9 * k for k in range(1, 200)],
            "inside": [4, 8],
            "nodes": [2, 3, 4, 16, 64],
            "link": LINKS,
            "network": NETWORKS,
        },
        cases=[{"nodes": 1}, {"inside": 1}],
        hidden=3,
        mistakes=[
            Mistake(
                "one tour",
                lambda **s: ways.tiers(**s, times=1),
                "Half: sums are made on one tour and handed out on another, 2 bytes a gradient.",
            ),
            Mistake(
                "the whole value across",
                lambda **s: ways.tiers(**s, part=0),
                "After the reduce-scatter a device has only its part to send across.",
            ),
            Mistake(
                "one after the other",
                lambda **s: ways.tiers(**s, together=lambda *both: sum(both)),
                "While one piece is inside the nodes another crosses: the longer tier decides.",
            ),
        ],
    ),
    Question(
        "feed_forward_share",
        numbers={
            "tokens": range(1024, 16385, 1024),
            "d_model": range(2048, 16385, 1024),
            "d_ff": range(8192, 57345, 2048),
            "devices": [2, 4, 8],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "divided twice",
                lambda **s: ways.feed_forward(**s, cut=2),
                "Only the width of the layer is divided: d_model stays whole on every device.",
            ),
            Mistake(
                "no messages in the backward pass",
                lambda **s: ways.feed_forward(**s, reduces=1),
                "The gradient of what came in is a sum too: two all-reduces, each of 2(n − 1)/n.",
            ),
            Mistake(
                "forward alone",
                lambda **s: ways.feed_forward(**s, products=3),
                "Each product has two more in the backward pass.",
            ),
            Mistake(
                "two matrices",
                lambda **s: ways.feed_forward(**s, products=6),
                "A gated layer has three matrices, each with three products.",
            ),
        ],
    ),
    Question(
        "most_stages",
        numbers={
            "layers": [48, 64, 80, 96, 120],
            "microbatches": [16, 32, 64, 96],
            "chunks": [2, 4],
            "share": [0.02, 0.05, 0.08, 0.12],
        },
        cases=[
            {"chunks": 1},
            {"chunks": 1, "share": 0.3},
            {"layers": 8, "microbatches": 7, "chunks": 1, "share": 0.5},
            {"layers": 8, "microbatches": 7, "chunks": 1, "share": 0.45},
            {"chunks": 1, "share": 0.0},
        ],
        hidden=5,
        mistakes=[
            Mistake(
                "share of the work",
                lambda **s: ways.stages(**s, of_work=True),
                "The share is of the step, which is work and bubble: m·v + p − 1.",
            ),
            Mistake(
                "one piece",
                lambda **s: ways.stages(**s, pieces=1),
                "With several chunks a device the wait is shorter: v·m + p − 1 below the line.",
            ),
            Mistake(
                "any number of stages",
                lambda **s: ways.stages(**s, even=False),
                "Stages times chunks must divide the layers, and stages the microbatches.",
            ),
        ],
    ),
    Question(
        "ring_devices",
        numbers={
            "seq": range(100_000, 2_000_001, 50_000),
            "heads": [32, 64],
            "kv_heads": [4, 8, 16],
            "flops_per_s": PEAKS,
            "rate": NETWORKS,
        },
        hidden=4,
        mistakes=[
            Mistake(
                "no mask",
                lambda **s: ways.ring(**s, factor=1),
                "A causal mask leaves half of the pairs, and the messages as they are.",
            ),
            Mistake(
                "all heads have keys",
                lambda **s: ways.ring(**{**s, "kv_heads": s["heads"]}),
                "Only KV heads travel; every query head computes with them.",
            ),
            Mistake(
                "heads upside down",
                lambda **s: ways.ring(**{**s, "heads": s["kv_heads"], "kv_heads": s["heads"]}),
                "Fewer KV heads make messages smaller, and slices shorter.",
            ),
        ],
    ),
    Question(
        "exposed_ms",
        numbers={
            "tokens": range(1024, 8193, 512),
            "d_model": range(2048, 8193, 512),
            "width": [1024, 1408, 1536, 2048],
            "chosen": [6, 8],
            "copies": [3, 4, 5],
            "flops_per_s": [989.4e12, 2250e12],
            "network": [12.5e9, 25e9],
        },
        cases=[{"width": 14336, "network": 100e9}],
        hidden=3,
        mistakes=[
            Mistake(
                "no messages in the backward pass",
                lambda **s: ways.exposed(**s, ways=2),
                "Gradients go to the experts and back too: four crossings of every copy.",
            ),
            Mistake(
                "one way",
                lambda **s: ways.exposed(**s, ways=1),
                "There and back, forward and backward: four crossings.",
            ),
            Mistake(
                "a copy for every expert",
                lambda **s: ways.exposed(**{**s, "copies": s["chosen"]}),
                "One copy leaves for each node that is visited, however many experts it has.",
            ),
            Mistake(
                "the forward pass's products",
                lambda **s: ways.exposed(**s, products=3),
                "Messages of the whole step hide behind the products of the whole step: nine.",
            ),
            Mistake(
                "two matrices",
                lambda **s: ways.exposed(**s, products=6),
                "A gated expert has three matrices, with three products each.",
            ),
        ],
    ),
    Question(
        "quick_gather",
        points=2,
        numbers={"devices": [5, 6, 7, 9, 10, 11, 12, 13]},
        cases=[{"devices": 1}, {"devices": 16}],
        hidden=3,
        mistakes=[
            Mistake(
                "a ring",
                lambda devices: ways.gather(devices, rounds=devices - 1),
                "Right, and not an element too many, but in as many rounds as a ring.",
            ),
            Mistake(
                "all of it each time",
                lambda devices: ways.gather(
                    devices, sent=5 * (2 ** (devices - 1).bit_length() - 1)
                ),
                "In the last round, send no more parts than the receiver lacks.",
            ),
            Mistake(
                "in the order of arrival",
                lambda devices: ways.gather(devices, right=devices == 1),
                "Everybody has all parts, but they begin with one's own: put them in order.",
            ),
        ],
    ),
    Question(
        "best_tensor_degree",
        numbers={
            "layer_params": [218_103_808, 855_638_016, 3_187_671_040],
            "d_model": [4096, 8192],
            "tokens": [128, 256, 512, 1024],
            "group": [16, 32, 64, 72, 128],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "all parts of the weights",
                lambda **s: ways.split(**s, stays=0),
                "FSDP keeps a part on each device: (G_d − 1)/G_d of the weights travel.",
            ),
            Mistake(
                "all parts of the activations",
                lambda **s: ways.split(**s, minus=0),
                "An all-reduce over G_t devices sends (G_t − 1)/G_t of twice the value.",
            ),
            Mistake(
                "weights gathered once",
                lambda **s: ways.split(**s, moved=4),
                "Weights are gathered twice, forward and backward, and gradients scattered once.",
            ),
            Mistake(
                "the forward pass alone",
                lambda **s: ways.split(**s, sums=8),
                "A layer has four all-reduces: two in the forward and two in the backward pass.",
            ),
        ],
    ),
    Question(
        "fewest_microbatches",
        numbers={
            "stages": [4, 9, 12, 24],
            "forward": [9, 11, 13],
            "inputs": [9, 10, 14],
            "weights": [3, 5, 8],
            "share": [0.017, 0.07, 0.13],
        },
        cases=[{"share": 0.7}],
        hidden=4,
        mistakes=[
            Mistake(
                "weights taken once",
                lambda **of: ways.microbatches(**of, apart=1),
                "Gradients of weights leave the longest path and fill the wait: they count twice.",
            ),
            Mistake(
                "share of the work",
                lambda **of: ways.microbatches(**of, of_step=False),
                "The share is of the step, which is work and idle time.",
            ),
        ],
    ),
    Question(
        "copies_across",
        numbers={
            "experts": [64, 128, 256],
            "chosen": [4, 6, 8],
            "nodes": [4, 8],
            "limit": [2, 3],
        },
        cases=[{"experts": 160, "nodes": 16, "limit": 1}],
        hidden=3,
        mistakes=[
            Mistake(
                "the token's own node too",
                lambda **s: ways.crossing(**s, others=False),
                "A copy for the token's own node does not cross the network.",
            ),
            Mistake(
                "an expert twice",
                lambda **s: ways.crossing(**s, distinct=False),
                "The experts of a token are different: count sets of them.",
            ),
            Mistake(
                "a copy for each expert",
                lambda **s: ways.crossing(**s, merged=False),
                "One copy serves all chosen experts of a node.",
            ),
            Mistake(
                "as many nodes as allowed",
                lambda **s: ways.crossing(**s, full=True),
                "The limit is a maximum: some of the nodes may have none of the chosen experts.",
            ),
        ],
    ),
    Question(
        "best_plan",
        points=2,
        numbers={
            "model": ["llama-3.1-70b", "llama-2-70b"],
            "node": ["DGX-H100", "DGX-A100"],
            "nodes": [8, 16],
            "batch": [128, 256],
        },
        cases=[{"nodes": 1}],
        hidden=1,
        mistakes=[
            Mistake(
                "it does not fit",
                lambda **s: ways.best(**s, fits=False),
                "The fastest of all plans holds more than the usable memory of a device.",
            ),
            Mistake(
                "the least memory",
                lambda **s: ways.best(**s, by="memory_bytes"),
                "That is the plan that holds least: of those that fit, take the fastest.",
            ),
            Mistake(
                "nothing hides",
                lambda **s: ways.best(**s, hides=0.0),
                "Messages may hide behind work, as the plan's own rules have it.",
            ),
            Mistake(
                "seconds",
                lambda **s: ways.best(**s, unit=1),
                "The plan is right. Its time is asked in milliseconds.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "hiding_tokens": 989.4e12 / 450e9 * 7 / 8,
    "link_share": 1.75 * 2**34 / 0.128 / 300e9,
    "gradient_seconds": 140e9 * max(2 * 7 / 8 / 450e9, 2 * 15 / 16 / 8 / 50e9),
    "feed_forward_share": {
        "flops": 18 * 8192 * 8192 * 28672 / 8,
        "bytes": 8 * 8192 * 8192 * 7 / 8,
    },
    "most_stages": 8,
    "ring_devices": math.floor(10**6 / (989.4e12 / 50e9 / 2)),
    "exposed_ms": 1e3 * 4096 * 7168 * (4 * 2 * 4 / 50e9 - 18 * 8 * 2048 / 989.4e12),
    "quick_gather": [3, 30, True],
    "best_tensor_degree": [4, 6 * 218_103_808 * 15 / 64 + 16 * 4096 * 1024 * 3],
    "fewest_microbatches": [math.ceil(15 * 93 / 7), math.ceil(15 * 13 * 93 / 7 / 29)],
    "copies_across": [
        (nodes - nodes * math.comb(32 * nodes - 32, 8) / math.comb(32 * nodes, 8)) * 7 / 8
        for nodes in (8, 4)
    ],
    "best_plan": [4, 1, 3, 4584],
}

# The same answers by another way, for any numbers: tests compare them with the solutions.
APART = {
    "gradient_seconds": ways.gradients_round_by_round,
    "fewest_microbatches": ways.counted_up,
    "most_stages": ways.deepest_by_counting,
    "ring_devices": ways.devices_one_by_one,
    "exposed_ms": ways.outlasting,
    "quick_gather": ways.gathered_at_best,
    "copies_across": ways.node_by_node,
}
