"""How the practice exercises of chapter 5 are checked."""

import math

import numpy as np

import costlib
from costlib import parallel
from costlib.timing import roofline
from course import Mistake, Question

MODELS = ["llama-2-7b", "llama-2-13b", "llama-3.1-8b"]
DEVICES = ["A100-80GB", "H100-SXM", "H200"]


def step_time(model, device, batch, cached, scores="on-chip"):
    """Seconds of a decode step."""
    step = costlib.models[model].decode(batch, cached, scores=scores)
    return roofline.time(step, costlib.devices[device])


def weights_and_cache(model, batch, cached, **_):
    """The two large parts of a step's bytes, for a batch over those for one."""
    shape = costlib.models[model]
    weights = shape.decode(1, 0).without("scores", "values").matmul_flops
    cache = shape.kv_bytes(1, cached + 1)
    return (weights + batch * cache) / (weights + cache)


def keys(params, layers, heads, kv_heads, head_dim, ridge, cache_bytes, *, flops=4, both=2):
    """The last context of exercise 3, with what people leave out."""
    needed = ridge * both * kv_heads * cache_bytes - flops * heads
    return int(2 * params / (layers * head_dim * needed)) if needed > 0 else 0


def cache_over(batch, cached, weights=14e9, rest=1):
    """Bytes with K and V read over bytes with K alone read."""
    cache = 2 * 32 * batch * cached * 4096
    others = weights + rest * 8 * 32 * batch * 4096
    return (others + 2 * cache) / (others + cache)


def to_ridge(params, layers, heads, kv_heads, head_dim, ridge, batch, cached, *, both=2, less=0):
    """The first pass that reaches the ridge, or 0, with what people leave out."""
    for new in range(1, 1025):
        pairs = new * cached + new * (new + 1) / 2
        flops = 2 * params * new + 4 * layers * heads * head_dim * pairs
        kept = both * layers * kv_heads * head_dim * (cached + new)
        if batch * flops >= ridge * 2 * (params + batch * kept):
            return new - less
    return 0


def wave_share(rows, columns, tile, cores):
    """The answer of exercise 6."""
    tiles = math.ceil(rows / tile) * math.ceil(columns / tile)
    return rows * columns / (math.ceil(tiles / cores) * cores * tile**2)


def split(model, device, seq, limit_ms, *, network=1, cost=lambda n, t: n * t):
    """The split of exercise 7, with what people leave out."""
    whole, device, costs = costlib.models[model], costlib.devices[device], {}
    for n in (1, 2, 4, 8):
        part = parallel.tensor_parallel(whole, n)
        work = part.prefill(1, seq)
        sending = roofline.time(work.over("tensor"), device)
        alone = work.where(lambda op: not op.axis)
        seconds = roofline.time(alone, device) + network * sending
        if 1e3 * seconds <= limit_ms:
            costs[n] = cost(n, seconds)
    return min(costs, key=costs.get) if costs else 0


def plan(model, device, cached, limit_ms, *, room=True, in_time=True, rate=lambda b, s: b / s):
    """The plan of exercise 8, with what people leave out."""
    model, device = costlib.models[model], costlib.devices[device]
    batch = np.arange(1, 1025)
    seconds = roofline.time(model.decode(batch, cached), device, too_large="ignore")
    fits = (model.memory(batch, cached).total <= device.usable) | (not room)
    kept = np.flatnonzero(fits & ((1e3 * seconds <= limit_ms) | (not in_time)))
    if not len(kept):
        return {"batch": 0, "rate": 0}
    best = kept[-1]
    return {"batch": int(batch[best]), "rate": round(float(rate(batch[best], seconds[best])))}


QUESTIONS = [
    Question(
        "dense_ridge",
        numbers={
            "sparse_flops_per_s": [1e12 * x for x in range(600, 5000, 7)],
            "bytes_per_s": [1e10 * x for x in range(150, 800)],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "the sparse peak",
                lambda sparse_flops_per_s, bytes_per_s: sparse_flops_per_s / bytes_per_s,
                "Your matrices are dense: halve the printed peak first.",
            ),
            Mistake(
                "halved twice",
                lambda sparse_flops_per_s, bytes_per_s: sparse_flops_per_s / 4 / bytes_per_s,
                "Once is enough: the printed figure is twice the dense one.",
            ),
            Mistake(
                "upside down",
                lambda sparse_flops_per_s, bytes_per_s: bytes_per_s / (sparse_flops_per_s / 2),
                "The ridge is in FLOPs per byte: the peak over the bandwidth.",
            ),
        ],
    ),
    Question(
        "batch_slowdown",
        numbers={
            "model": MODELS,
            "device": DEVICES,
            "batch": range(8, 17),
            "cached": range(1023, 3584, 512),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "sixteen times the bytes",
                lambda batch, **_: float(batch),
                "The weights are read once for the whole batch; only the caches multiply.",
            ),
            Mistake(
                "weights alone",
                lambda **_: 1.0,
                "The weights are read once, but every sequence has a cache of its own.",
            ),
            Mistake(
                "upside down",
                lambda model, device, batch, cached: (
                    step_time(model, device, 1, cached) / step_time(model, device, batch, cached)
                ),
                "How many times longer is the batch's time over that of one.",
            ),
            Mistake(
                "weights and caches only",
                weights_and_cache,
                "A good estimate. The ledger has norms, activations and logits besides.",
            ),
            Mistake(
                "scores in memory",
                lambda model, device, batch, cached: (
                    step_time(model, device, batch, cached, "materialised")
                    / step_time(model, device, 1, cached, "materialised")
                ),
                'The exercise keeps the scores on chip: scores="on-chip".',
            ),
        ],
    ),
    Question(
        "last_context",
        numbers={
            "params": range(6 * 10**9, 80 * 10**9, 10**8),
            "layers": range(32, 81, 4),
            "heads": [32, 64],
            "kv_heads": [8, 16],
            "ridge": [142.0, 153.0, 206.0, 295.0],
            "cache_bytes": [1, 2],
        },
        cases=[{"ridge": 1.5}],
        hidden=3,
        mistakes=[
            Mistake(
                "attention without FLOPs",
                lambda **s: keys(**s, flops=0),
                "Scores and values are arithmetic too, and it grows with the context.",
            ),
            Mistake(
                "keys alone",
                lambda **s: keys(**s, both=1),
                "A sequence's cache holds keys and values: twice the bytes.",
            ),
            Mistake(
                "scores without values",
                lambda **s: keys(**s, flops=2),
                "Each key takes part in two products, 4 FLOPs for each column.",
            ),
            Mistake(
                "query heads in the cache",
                lambda **s: keys(**{**s, "kv_heads": s["heads"]}),
                "The cache holds KV heads.",
            ),
            Mistake(
                "one FLOP per parameter",
                lambda **s: keys(**{**s, "params": s["params"] / 2}),
                "Each parameter is a multiply-add per token, and that is 2 FLOPs.",
            ),
            Mistake(
                "one too many",
                lambda **s: keys(**s) + 1,
                "That context is past the limit; take the whole number below it.",
            ),
        ],
    ),
    Question(
        "cache_slip",
        numbers={"batch": range(8, 129), "cached": range(1024, 16_385)},
        hidden=3,
        mistakes=[
            Mistake(
                "the cache alone",
                lambda **_: 2.0,
                "The cache doubles, but weights and activations are moved as before.",
            ),
            Mistake(
                "upside down",
                lambda batch, cached: 1 / cache_over(batch, cached),
                "The published intensity is the higher one, so the factor is above 1.",
            ),
            Mistake(
                "one byte for a weight",
                lambda batch, cached: cache_over(batch, cached, weights=7e9),
                "Weights in 16 bits take two bytes each: 14 GB.",
            ),
            Mistake(
                "one layer of cache",
                lambda batch, cached: cache_over(batch, cached / 32),
                "The cache is read in all 32 layers.",
            ),
            Mistake(
                "one byte for an element",
                lambda batch, cached: cache_over(batch, cached / 2),
                "Elements of the cache have 16 bits, two bytes.",
            ),
        ],
    ),
    Question(
        "guesses_to_ridge",
        numbers={
            "params": range(6 * 10**9, 80 * 10**9, 10**8),
            "layers": range(32, 81, 4),
            "heads": [32, 64],
            "kv_heads": [8, 16],
            "ridge": [142.0, 153.0, 206.0, 295.0],
            "batch": range(2, 9),
            "cached": range(4096, 32_769, 1024),
        },
        cases=[{"batch": 1, "ridge": 5000.0}, {"batch": 1, "ridge": 0.5}],
        hidden=3,
        mistakes=[
            Mistake(
                "one too few",
                lambda **s: to_ridge(**s, less=1),
                "That pass is still below the ridge. Mind that counting begins at 1.",
            ),
            Mistake(
                "no cache",
                lambda **s: to_ridge(**{**s, "cached": 0}),
                "The cache is read as well, so more tokens are needed.",
            ),
            Mistake(
                "keys alone",
                lambda **s: to_ridge(**s, both=1),
                "A sequence's cache holds keys and values: twice the bytes.",
            ),
            Mistake(
                "query heads in the cache",
                lambda **s: to_ridge(**{**s, "kv_heads": s["heads"]}),
                "The cache holds KV heads.",
            ),
            Mistake(
                "one sequence",
                lambda **s: to_ridge(**{**s, "batch": 1}),
                "All sequences of the batch are checked in the same pass.",
            ),
            Mistake(
                "ridge over batch",
                lambda ridge, batch, **_: math.ceil(ridge / batch),
                "That is for weights alone; the cache adds bytes, and its products FLOPs.",
            ),
        ],
    ),
    Question(
        "useful_share",
        numbers={
            "rows": range(1000, 5000),
            "columns": range(1000, 6000),
            "tile": [64, 128, 256],
            "cores": [108, 132, 148],
        },
        hidden=4,
        mistakes=[
            Mistake(
                "no waves",
                lambda rows, columns, tile, **_: (
                    rows * columns / (math.ceil(rows / tile) * math.ceil(columns / tile) * tile**2)
                ),
                "The tiles are whole. The last wave may leave cores without one.",
            ),
            Mistake(
                "no ragged tiles",
                lambda rows, columns, tile, cores: (
                    rows * columns / (math.ceil(rows * columns / tile**2 / cores) * cores * tile**2)
                ),
                "A tile at the edge is computed whole: round up along rows and along columns.",
            ),
            Mistake(
                "full tiles counted as useful",
                lambda rows, columns, tile, cores: wave_share(
                    math.ceil(rows / tile) * tile, math.ceil(columns / tile) * tile, tile, cores
                ),
                "Outputs beyond the edge of the matrix are of no use to anybody.",
            ),
            Mistake(
                "waves rounded down",
                lambda rows, columns, tile, cores: (
                    rows
                    * columns
                    / (
                        (math.ceil(rows / tile) * math.ceil(columns / tile) // cores or 1)
                        * cores
                        * tile**2
                    )
                ),
                "A wave that is not full takes as long as one that is; round up.",
            ),
            Mistake(
                "upside down",
                lambda **s: 1 / wave_share(**s),
                "A share of the peak is at most 1.",
            ),
        ],
    ),
    Question(
        "cheapest_split",
        numbers={
            "model": ["llama-3.1-70b", "llama-2-70b"],
            "device": ["H100-SXM", "H200"],
            "seq": range(4096, 8193, 512),
            "limit_ms": range(230, 700, 10),
        },
        cases=[{"limit_ms": 1}, {"limit_ms": 10_000}],
        hidden=3,
        mistakes=[
            Mistake(
                "the fastest",
                lambda **s: split(**s, cost=lambda _, t: t),
                "It is in time, but fewer devices do it for fewer device-seconds.",
            ),
            Mistake(
                "no limit",
                lambda **s: split(**{**s, "limit_ms": math.inf}),
                "The cheapest of all, but it takes longer than allowed.",
            ),
            Mistake(
                "seconds for milliseconds",
                lambda limit_ms, **s: split(limit_ms=limit_ms / 1000, **s),
                "The limit is in milliseconds, and the time of a step in seconds.",
            ),
        ],
    ),
    Question(
        "serving_plan",
        points=2,
        numbers={
            "model": ["llama-3.1-8b", "mistral-7b-v0.3"],
            "device": ["A100-80GB", "H100-SXM"],
            "cached": range(4095, 8192, 512),
            "limit_ms": range(14, 23),
        },
        cases=[{"limit_ms": 1}, {"limit_ms": 1000}, {"cached": 500, "limit_ms": 25}],
        hidden=2,
        mistakes=[
            Mistake(
                "no limit on time",
                lambda **s: plan(**s, in_time=False),
                "It fits in memory, but its step takes longer than promised.",
            ),
            Mistake(
                "no limit on memory",
                lambda **s: plan(**s, room=False),
                "It is in time, but weights, caches and activations do not fit.",
            ),
            Mistake(
                "steps for tokens",
                lambda **s: plan(**s, rate=lambda _, seconds: 1 / seconds),
                "The batch is right. A step writes one token for every sequence in it.",
            ),
            Mistake(
                "tokens per millisecond",
                lambda **s: plan(**s, rate=lambda b, seconds: b / seconds / 1000),
                "The batch is right. The rate is in tokens per second.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "dense_ridge": 1979e12 / 2 / 3.35e12,
    "batch_slowdown": 2.1383503050,
    "last_context": 333,
    "cache_slip": 1.8300798522,
    "guesses_to_ridge": 39,
    "useful_share": 16 * 18 / (3 * 132),
    "cheapest_split": 4,
    "serving_plan": {"batch": 46, "rate": 2329},
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def context_by_halving(
    params: int,
    layers: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    ridge: float,
    cache_bytes: int,
) -> int:
    """A batch without end has a sequence's FLOPs over its cache's bytes: where does that fall?"""

    def reaches(keys: int) -> bool:
        flops = 2 * params + layers * heads * (2 * head_dim * keys + 2 * head_dim * keys)
        return flops >= ridge * (keys * layers * kv_heads * head_dim * cache_bytes * 2)

    low, high = 0, 10**15
    if reaches(high):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def guesses_one_by_one(
    params: int,
    layers: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    ridge: float,
    batch: int,
    cached: int,
) -> int:
    """Token by token: what it multiplies, what it sees, what it leaves in the cache."""
    flops, pairs, kept = 0, 0, batch * 2 * layers * kv_heads * head_dim * cached
    for tokens in range(1, 1025):
        pairs += batch * (cached + tokens)
        flops = batch * 2 * params * tokens + pairs * 4 * layers * heads * head_dim
        kept += batch * 2 * layers * kv_heads * head_dim
        if flops / (2 * params + 2 * kept) >= ridge:
            return tokens
    return 0


def half_the_cache(batch: int, cached: int) -> float:
    """In numbers of a 7B's cache: K alone, or K and V, beside all else that is moved."""
    keys = sum(32 * 4096 * 2 * cached for _ in range(batch))
    rest = 14 * 10**9 + batch * 32 * 8 * 4096
    return (rest + keys + keys) / (rest + keys)


def split_by_halves(model: str, device: str, seq: int, limit_ms: float) -> int:
    """Twice the devices cost less if they take less than half the time."""

    def seconds(devices: int) -> float:
        part = parallel.tensor_parallel(costlib.models[model], devices)
        machine = costlib.devices[device]
        return float(roofline.time(part.prefill(1, seq), machine, too_large="ignore"))

    allowed = [devices for devices in (1, 2, 4, 8) if not seconds(devices) * 1000 > limit_ms]
    cheapest = allowed[0] if allowed else 0
    for devices in allowed[1:]:
        if seconds(devices) < seconds(cheapest) / (devices / cheapest):
            cheapest = devices
    return cheapest


def plan_by_halving(model: str, device: str, cached: int, limit_ms: float) -> dict[str, int]:
    """A larger batch takes longer and more room: the last that does is found by halving."""
    transformer, machine = costlib.models[model], costlib.devices[device]

    def seconds(batch: int) -> float:
        step = transformer.decode(batch, cached, scores="on-chip")
        return float(roofline.time(step, machine, too_large="ignore"))

    low, high = 0, 1025
    while high - low > 1:
        batch = (low + high) // 2
        room = machine.usable - transformer.memory(batch, cached).total
        fine = room >= 0 and seconds(batch) * 1000 <= limit_ms
        low, high = (batch, high) if fine else (low, batch)
    return {"batch": low, "rate": round(low / seconds(low)) if low else 0}


APART = {
    "cheapest_split": split_by_halves,
    "serving_plan": plan_by_halving,
    "last_context": context_by_halving,
    "cache_slip": half_the_cache,
    "guesses_to_ridge": guesses_one_by_one,
}

_SMALL = {"layers": 2, "head_dim": 3, "ridge": 4.0, "cached": 1}
#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {
    "last_context": [{"heads": 32, "kv_heads": 32, "cache_bytes": 1, "ridge": 2.0}],
    "guesses_to_ridge": [
        {**_SMALL, "params": 6, "heads": 16, "kv_heads": 4, "batch": 4},
        {**_SMALL, "params": 5, "heads": 4, "kv_heads": 3, "batch": 2, "ridge": 3.0, "cached": 9},
        {**_SMALL, "params": 72, "heads": 28, "kv_heads": 1, "batch": 1, "cached": 0, "layers": 1},
        {**_SMALL, "params": 1000, "heads": 8, "kv_heads": 1, "batch": 2, "ridge": 2.0},
    ],
    "cheapest_split": [{"seq": 512, "limit_ms": 10_000}, {"seq": 16_384, "limit_ms": 10_000}],
    "serving_plan": [{"cached": 400_000, "limit_ms": 100}],
}
