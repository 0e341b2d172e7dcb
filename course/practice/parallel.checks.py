"""How the practice exercises of the chapter on many devices are checked."""

import math
from functools import cache

from costlib import parallel
from course import Mistake, Question

PEAKS = [312e12, 459e12, 989.4e12, 2250e12, 2500e12]
LINKS = [200e9, 300e9, 450e9, 600e9, 900e9]
NETWORKS = [12.5e9, 25e9, 50e9, 100e9]


def tokens(flops_per_s, printed, devices, *, sent=4, products=4, each_way=2, all_but_one=True):
    """The tokens of exercise 1, with what people leave out."""
    share = (devices - 1) / devices if all_but_one else 1
    return sent * share / (printed / each_way) * flops_per_s / products


def tiers(params, inside, nodes, link, network, *, times=2, part=1, each=2, together=max):
    """The two tiers of exercise 3, with what people leave out."""
    value = each * params
    within = times * (inside - 1) / inside * value / link
    share = (nodes - 1) / nodes * value / (inside if part else 1)
    return together(within, times * share / network)


def feed_forward(tokens, d_model, d_ff, devices, *, products=9, cut=1, reduces=2):
    """FLOPs and bytes of exercise 4, with what people leave out."""
    value = 2 * tokens * d_model
    return {
        "flops": products * 2 * tokens * d_model * d_ff / devices**cut,
        "bytes": reduces * 2 * value * (devices - 1) / devices,
    }


def stages(layers, microbatches, chunks, share, *, of_work=False, pieces=None, even=True):
    """The deepest pipeline of exercise 5, with what people leave out."""
    pieces = chunks if pieces is None else pieces
    found = []
    for p in range(1, layers + 1):
        step = pieces * microbatches + (0 if of_work else p - 1)
        fits = layers % (p * chunks) == 0 and (chunks == 1 or microbatches % p == 0)
        if (fits or not even) and p - 1 <= share * step:
            found.append(p)
    return max(found)


def ring(seq, heads, kv_heads, flops_per_s, rate, *, factor=2):
    """The devices of exercise 6, with what people leave out."""
    return int(seq // (factor * kv_heads / heads * flops_per_s / rate))


def exposed(
    tokens, d_model, width, chosen, copies, flops_per_s, network, *, ways=4, products=9, floor=True
):
    """The milliseconds of exercise 7, with what people leave out."""
    sending = ways * 2 * copies * tokens * d_model / network
    working = products * 2 * chosen * tokens * d_model * width / flops_per_s
    found = 1e3 * (sending - working)
    return max(0.0, found) if floor else found


def gather(devices, *, rounds=None, sent=None, right=True):
    """The three numbers of exercise 8, with what people leave out."""
    fewest = (devices - 1).bit_length()
    return [
        fewest if rounds is None else rounds,
        5 * (devices - 1) if sent is None else sent,
        right,
    ]


def split(layer_params, d_model, tokens, group, *, stays=1, minus=1, moved=6, sums=16):
    """The two numbers of exercise 9, with what people leave out."""
    found = {}
    for t in (2**i for i in range(20)):
        if group % t == 0:
            weights = moved * layer_params / t * (1 - stays * t / group)
            found[t] = weights + sums * d_model * tokens * (t - minus)
    best = min(found, key=found.get)
    return [best, found[best]]


@cache
def microbatches(stages, forward, inputs, weights, share, *, apart=2, of_step=True):
    """The microbatches of exercise 10, with what people leave out."""
    work, found = forward + inputs + weights, []
    for one in (work, work - apart * weights):
        needed = (stages - 1) * one * ((1 - share) if of_step else 1) / (share * work)
        found.append(max(stages, math.ceil(needed)))
    return found


def planned(model, node, nodes, batch, seq, hides=1.0):
    """Every plan of exercise 11, the fastest first, whether it fits or not."""
    return parallel.search(
        model,
        parallel.Cluster(node, nodes=nodes),
        batch=batch,
        seq=seq,
        tensor=(1, 2, 4, 8),
        pipeline=(1, 2, 4, 8),
        zero=(1, 3),
        context=(1,),
        microbatch=(1,),
        chunks=(1,),
        schedule=("1f1b",),
        recompute=(None,),
        hides=dict.fromkeys(parallel.price.HIDES, 0.0) if not hides else None,
        all_rows=True,
    )


def best(*, fits=True, unit=1e3, by="step", hides=1.0, **case):
    """The plan of exercise 11, with what people leave out."""
    rows = planned(**case, hides=hides)
    rows = rows[rows["fits"]] if fits else rows
    if not len(rows):
        return [0, 0, 0, 0]
    row = rows.sort_values([by, "memory"], kind="stable").iloc[0]
    return [*(int(row[name]) for name in ("tensor", "pipeline", "zero")), round(unit * row["step"])]


QUESTIONS = [
    Question(
        "hiding_tokens",
        numbers={"flops_per_s": PEAKS, "printed": LINKS, "devices": [2, 4, 8, 16, 72]},
        hidden=3,
        mistakes=[
            Mistake(
                "half",
                lambda **s: tokens(**s, each_way=1),
                "Half: is the rate that of both directions, or are gradients sent round only once?",
            ),
            Mistake(
                "the forward pass too",
                lambda **s: tokens(**s, products=6),
                "There are no gradients to send before the backward pass: 4 FLOPs, not 6.",
            ),
            Mistake(
                "all parts",
                lambda **s: tokens(**s, all_but_one=False),
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
                lambda **s: tiers(**s, times=1),
                "Half: sums are made on one tour and handed out on another, 2 bytes a gradient.",
            ),
            Mistake(
                "the whole value across",
                lambda **s: tiers(**s, part=0),
                "After the reduce-scatter a device has only its part to send across.",
            ),
            Mistake(
                "one after the other",
                lambda **s: tiers(**s, together=lambda *both: sum(both)),
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
                lambda **s: feed_forward(**s, cut=2),
                "Only the width of the layer is divided: d_model stays whole on every device.",
            ),
            Mistake(
                "no messages in the backward pass",
                lambda **s: feed_forward(**s, reduces=1),
                "The gradient of what came in is a sum too: two all-reduces, each of 2(n − 1)/n.",
            ),
            Mistake(
                "forward alone",
                lambda **s: feed_forward(**s, products=3),
                "Each product has two more in the backward pass.",
            ),
            Mistake(
                "two matrices",
                lambda **s: feed_forward(**s, products=6),
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
                lambda **s: stages(**s, of_work=True),
                "The share is of the step, which is work and bubble: m·v + p − 1.",
            ),
            Mistake(
                "one piece",
                lambda **s: stages(**s, pieces=1),
                "With several chunks a device the wait is shorter: v·m + p − 1 below the line.",
            ),
            Mistake(
                "any number of stages",
                lambda **s: stages(**s, even=False),
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
                lambda **s: ring(**s, factor=1),
                "A causal mask leaves half of the pairs, and the messages as they are.",
            ),
            Mistake(
                "all heads have keys",
                lambda **s: ring(**{**s, "kv_heads": s["heads"]}),
                "Only KV heads travel; every query head computes with them.",
            ),
            Mistake(
                "heads upside down",
                lambda **s: ring(**{**s, "heads": s["kv_heads"], "kv_heads": s["heads"]}),
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
                lambda **s: exposed(**s, ways=2),
                "Gradients go to the experts and back too: four crossings of every copy.",
            ),
            Mistake(
                "one way",
                lambda **s: exposed(**s, ways=1),
                "There and back, forward and backward: four crossings.",
            ),
            Mistake(
                "a copy for every expert",
                lambda **s: exposed(**{**s, "copies": s["chosen"]}),
                "One copy leaves for each node that is visited, however many experts it has.",
            ),
            Mistake(
                "the forward pass's products",
                lambda **s: exposed(**s, products=3),
                "Messages of the whole step hide behind the products of the whole step: nine.",
            ),
            Mistake(
                "two matrices",
                lambda **s: exposed(**s, products=6),
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
                lambda devices: gather(devices, rounds=devices - 1),
                "Right, and not an element too many, but in as many rounds as a ring.",
            ),
            Mistake(
                "all of it each time",
                lambda devices: gather(devices, sent=5 * (2 ** (devices - 1).bit_length() - 1)),
                "In the last round, send no more parts than the receiver lacks.",
            ),
            Mistake(
                "in the order of arrival",
                lambda devices: gather(devices, right=devices == 1),
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
                lambda **s: split(**s, stays=0),
                "FSDP keeps a part on each device: (G_d − 1)/G_d of the weights travel.",
            ),
            Mistake(
                "all parts of the activations",
                lambda **s: split(**s, minus=0),
                "An all-reduce over G_t devices sends (G_t − 1)/G_t of twice the value.",
            ),
            Mistake(
                "weights gathered once",
                lambda **s: split(**s, moved=4),
                "Weights are gathered twice, forward and backward, and gradients scattered once.",
            ),
            Mistake(
                "the forward pass alone",
                lambda **s: split(**s, sums=8),
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
                lambda **of: microbatches(**of, apart=1),
                "Gradients of weights leave the longest path and fill the wait: they count twice.",
            ),
            Mistake(
                "share of the work",
                lambda **of: microbatches(**of, of_step=False),
                "The share is of the step, which is work and idle time.",
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
                lambda **s: best(**s, fits=False),
                "The fastest of all holds more than a device gives out.",
            ),
            Mistake(
                "the least memory",
                lambda **s: best(**s, by="memory"),
                "That is the plan that holds least: of those that fit, take the fastest.",
            ),
            Mistake(
                "nothing hides",
                lambda **s: best(**s, hides=0.0),
                "Messages may hide behind work, as the plan's own rules have it.",
            ),
            Mistake(
                "seconds",
                lambda **s: best(**s, unit=1),
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
    "best_plan": [4, 1, 3, 4584],
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def deepest_by_counting(layers: int, microbatches: int, chunks: int, share: float) -> int:
    """From the deepest down: what a device does in a step, and how long it waits."""
    for stages in range(layers, 0, -1):
        pieces, left = divmod(layers, stages)
        if left or pieces % chunks or (chunks > 1 and microbatches % stages):
            continue
        works, waits = microbatches * chunks, stages - 1
        if waits / (works + waits) <= share:
            return stages
    raise AssertionError("one stage never waits")


def devices_one_by_one(seq: int, heads: int, kv_heads: int, flops_per_s: float, rate: float) -> int:
    """One more device as long as a step of the ring computes longer than it sends."""
    for devices in range(1, seq):
        tokens = seq / devices
        computing = 4 * tokens * tokens / 2 * heads / flops_per_s
        sending = 2 * 2 * tokens * kv_heads / rate  # keys and values, 2 bytes each
        if computing < sending:
            return devices - 1
    return seq


def outlasting(
    tokens: int,
    d_model: int,
    width: int,
    chosen: int,
    copies: int,
    flops_per_s: float,
    network: float,
) -> float:
    """Per token, there and back for what goes forward and for gradients, in milliseconds."""
    there_and_back = 2 * (copies * d_model) * 2  # bytes
    seconds = 2 * there_and_back / network
    matrices = 3 * (2 * d_model * width)  # gate, up and down, forward
    seconds -= chosen * (matrices + 2 * matrices) / flops_per_s
    return max(tokens * seconds * 1000, 0.0)


def gathered_at_best(devices: int) -> list[int | bool]:
    """Nobody can have more than twice as much after a round, and each part is sent on once."""
    rounds = 0
    while 2**rounds < devices:
        rounds += 1
    return [rounds, 5 * (devices - 1), True]


def counted_up(stages: int, forward: int, inputs: int, weights: int, share: float) -> list[int]:
    """One more microbatch until the idle time is a small enough part of the step."""
    found = []
    for kept in (weights, -weights):
        idle, many = (stages - 1) * (forward + inputs + kept), stages
        while idle > share * (idle + many * (forward + inputs + weights)):
            many += 1
        found.append(many)
    return found


APART = {
    "fewest_microbatches": counted_up,
    "most_stages": deepest_by_counting,
    "ring_devices": devices_one_by_one,
    "exposed_ms": outlasting,
    "quick_gather": gathered_at_best,
}
