"""What is right, and what people make of it, in exercises on many devices: by other ways."""

import math
from functools import cache

from costlib import parallel


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
    return max(1, int(seq // (factor * kv_heads / heads * flops_per_s / rate)))


def exposed(
    tokens, d_model, width, chosen, copies, flops_per_s, network, *, ways=4, products=9, floor=True
):
    """The milliseconds of exercise 7, with what people leave out."""
    sending = ways * 2 * copies * tokens * d_model / network
    working = products * 2 * chosen * tokens * d_model * width / flops_per_s
    found = 1e3 * (sending - working)
    return max(0.0, found) if floor else found


def crossing(experts, chosen, nodes, limit, *, others=True, distinct=True, merged=True, full=False):
    """The copies of exercise 11, with what people leave out."""

    def reached(among):
        here, all_of_them = experts // nodes * (among - 1), experts // nodes * among
        missed = (here / all_of_them) ** chosen
        if distinct:
            missed = math.comb(here, chosen) / math.comb(all_of_them, chosen)
        return among * (1 - missed)

    counts = [reached(nodes), limit if full else reached(limit)]
    if not merged:
        counts = [chosen, chosen]
    return [count * ((nodes - 1) / nodes if others else 1) for count in counts]


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


def best(*, fits=True, unit=1e3, by="step_s", hides=1.0, **case):
    """The plan of exercise 11, with what people leave out."""
    rows = planned(**case, hides=hides)
    rows = rows[rows["fits"]] if fits else rows
    if not len(rows):
        return [0, 0, 0, 0]
    row = rows.sort_values([by, "memory_bytes"], kind="stable").iloc[0]
    return [
        *(int(row[name]) for name in ("tensor", "pipeline", "zero")),
        round(unit * row["step_s"]),
    ]


# The same answers by another way, for any numbers.


def gradients_round_by_round(
    params: float, inside: int, nodes: int, link: float, network: float
) -> float:
    """Rings of the node and of the network: a round sends one part, and there are two tours."""
    within = sum(2 * params / inside / link for _ in range(2 * (inside - 1)))
    between = sum(2 * params / inside / nodes / network for _ in range(2 * (nodes - 1)))
    return max(within, between)


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


def node_by_node(experts: int, chosen: int, nodes: int, limit: int) -> list[float]:
    """Expert after expert: how likely it is the first one on its node."""
    found = []
    for among in (nodes, limit):
        each, reached = experts // nodes, 0.0
        alone = 1.0  # that no expert so far is on a node
        for drawn in range(chosen):
            left = each * among - drawn
            reached += among * alone * each / left
            alone *= (left - each) / left
        found.append(reached - reached / nodes)
    return found
