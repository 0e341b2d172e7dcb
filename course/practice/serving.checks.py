"""How the practice exercises of the chapter on serving are checked."""

import math

from costlib.serving import Server, saturation
from course import Mistake, Question


def within(target, weights, cache, arithmetic, places):
    """The answer of exercise 1."""
    both = (target - weights) // cache, target // (cache + arithmetic), places
    return max(0, min(both))


def again(prompt, chunk, bytes_per_token, *, terms=None, up=True):
    """The answer of exercise 2; ``terms`` is how many multiples of a piece are added."""
    pieces = math.ceil(prompt / chunk) if up else prompt // chunk
    count = pieces * (pieces - 1) // 2 if terms is None else terms(pieces)
    return chunk * count * bytes_per_token


def bent(weights, bits, group, scale_bits, tera_flops, tera_bytes, *, each=None, half=2):
    """The answer of exercise 4, and what people leave out of it."""
    each = (bits + scale_bits / group) / 8 if each is None else each
    rows = tera_flops / tera_bytes * each / half
    return {"gigabytes": weights * each / 1e9, "rows": rows}


def drafted(kept, drafts, weights, cache, arithmetic, *, own=1, checked=1, shared=True):
    """The answer of exercise 5, and what people leave out of it."""
    tokens = own + sum(kept**k for k in range(1, drafts + 1))
    lost = (drafts + checked) * arithmetic - (tokens - 1 if shared else -1) * cache
    return int(tokens * weights // lost) if lost > 0 else -1


def bends(published, right):
    """The answer of exercise 6."""
    return {"published": published, "right": right, "ratio": right / published}


def outgrown(state, each):
    """The answer of exercise 7."""
    return state // each + 1


def paid(batch, step_ms, per_hour, watts, utilisation, *, drawn=None):
    """The answer of exercise 8."""
    seconds = 1000 * step_ms / batch
    on = seconds / utilisation
    return {
        "dollars": on * per_hour / 3600,
        "joules": (on if drawn is None else drawn(seconds)) * watts,
    }


def timed(requests, places, read, weights, each, *, late=0, alone=False):
    """The server of exercise 10, with what people get wrong in it."""
    now, waits, left, line = 0, [], [], sorted(requests)
    while line or left:
        here = line and line[0][0] <= now and len(left) < places
        if here and not (alone and left):
            arrival, prompt, answer = line.pop(0)
            now += read * prompt
            left.append(answer - 1 + late)
            waits.append(now - arrival)
        else:
            now += weights + each * len(left) if left else line[0][0] - now
            left = [more - 1 for more in left if more > 1]
    return {"last": now, "longest": max(waits)}


def service_is_good(order, rate, prompt, answer, target_ms):
    """True, or what is wrong with a service. Students get this function too."""
    names = ("tensor", "batch", "copies")
    if not isinstance(order, dict) or any(name not in order for name in names):
        return f"The answer is a dictionary with {', '.join(names)}."
    tensor, batch, copies = (order[name] for name in names)
    if tensor not in (1, 2, 4, 8):
        return "tensor must be 1, 2, 4 or 8."
    if not all(isinstance(number, int) and number > 0 for number in (batch, copies)):
        return "batch and copies are whole numbers from 1 on."
    one = Server("llama-3.1-8b", "H100-SXM", tensor=tensor)
    if batch > one.room(prompt + answer + 1):
        return "That many sequences do not fit."
    if one.step(batch, prompt + answer) > target_ms / 1000:
        return "A step of that batch takes longer than the target."
    most = saturation(one, prompt, answer, batch=batch).requests_per_s
    if copies * most < rate:
        return "More requests arrive than these copies can take."
    if (copies - 1) * most >= rate:
        return "One copy fewer could take them too."
    return True


MANY = [[9000 * i, 200 + 50 * (i % 7), 20 + 15 * (i % 4)] for i in range(40)]

QUESTIONS = [
    Question(
        "readers_within",
        numbers={
            "target": range(20_000, 60_000, 500),
            "weights": range(3000, 8000, 10),
            "cache": range(35, 60),
            "arithmetic": range(10, 30),
            "places": [1000, 2000],
        },
        cases=[
            {"target": 4000, "weights": 4480, "cache": 43, "arithmetic": 13, "places": 465},
            {"target": 60_000, "weights": 4480, "cache": 43, "arithmetic": 13, "places": 465},
            {"target": 9000, "weights": 4480, "cache": 43, "arithmetic": 13, "places": 465},
        ],
        hidden=3,
        mistakes=[
            Mistake(
                "no arithmetic",
                lambda target, weights, cache, places, **_: max(
                    0, min((target - weights) // cache, places)
                ),
                "From some batch on arithmetic takes longer than the weights.",
            ),
            Mistake(
                "no memory",
                lambda target, weights, cache, arithmetic, **_: max(
                    0, min((target - weights) // cache, target // (cache + arithmetic))
                ),
                "No more sequences than fit can be served.",
            ),
            Mistake(
                "weights and arithmetic one after the other",
                lambda target, weights, cache, arithmetic, places: max(
                    0, min((target - weights) // (cache + arithmetic), places)
                ),
                "Arithmetic hides behind the weights until there is more of it.",
            ),
            Mistake(
                "fewer than none",
                lambda target, weights, cache, arithmetic, places: min(
                    (target - weights) // cache, target // (cache + arithmetic), places
                ),
                "A target shorter than the weights take leaves nobody, not fewer.",
            ),
        ],
    ),
    Question(
        "read_again",
        numbers={
            "prompt": range(3001, 30_000, 10),
            "chunk": [256, 512, 1024],
            "bytes_per_token": [36_864, 131_072],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "pieces rounded down",
                lambda prompt, chunk, bytes_per_token: again(
                    prompt, chunk, bytes_per_token, up=False
                ),
                "The last piece may be short, and reads all before it too.",
            ),
            Mistake(
                "the piece itself too",
                lambda prompt, chunk, bytes_per_token: again(
                    prompt, chunk, bytes_per_token, terms=lambda n: n * (n + 1) // 2
                ),
                "A piece's own tokens are read once in any case.",
            ),
            Mistake(
                "no half",
                lambda prompt, chunk, bytes_per_token: again(
                    prompt, chunk, bytes_per_token, terms=lambda n: n * (n - 1)
                ),
                "0 + 1 + 2 + ... up to n − 1 is half of n·(n − 1).",
            ),
            Mistake(
                "each piece reads the one before it",
                lambda prompt, chunk, bytes_per_token: again(
                    prompt, chunk, bytes_per_token, terms=lambda n: n - 1
                ),
                "A piece meets all tokens before it, not only the last piece.",
            ),
        ],
    ),
    Question(
        "readers_needed",
        numbers={
            "prompt_ms": range(20, 300, 7),
            "steps": range(50, 500, 7),
            "step_ms": range(10, 40),
            "batch": range(32, 200, 3),
            "writers": range(2, 9),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one at a time",
                lambda prompt_ms, steps, step_ms, writers, **_: math.ceil(
                    writers * prompt_ms / (steps * step_ms)
                ),
                "A machine that writes finishes a whole batch in the time of one answer.",
            ),
            Mistake(
                "rounded down",
                lambda prompt_ms, steps, step_ms, batch, writers: (
                    writers * batch * prompt_ms // (steps * step_ms)
                ),
                "Part of a machine is a machine, or writers wait.",
            ),
            Mistake(
                "for one writer",
                lambda prompt_ms, steps, step_ms, batch, **_: math.ceil(
                    batch * prompt_ms / (steps * step_ms)
                ),
                "All of the writers are to be kept busy.",
            ),
            Mistake(
                "rounded for each writer",
                lambda prompt_ms, steps, step_ms, batch, writers: (
                    writers * math.ceil(batch * prompt_ms / (steps * step_ms))
                ),
                "Readers serve all writers: round up once, at the end.",
            ),
        ],
    ),
    Question(
        "bits_and_bend",
        numbers={
            "weights": [8e9, 32e9, 120e9],
            "bits": [3, 4, 6],
            "group": [16, 64, 128],
            "scale_bits": [8, 16],
            "tera_flops": [312, 989, 2250],
            "tera_bytes": [2.04, 3.35, 8.0],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "no scales",
                lambda bits, **of: bent(bits=bits, each=bits / 8, **of),
                "Every group also stores its scale.",
            ),
            Mistake(
                "a scale for each weight",
                lambda bits, scale_bits, **of: bent(
                    bits=bits, scale_bits=scale_bits, each=(bits + scale_bits) / 8, **of
                ),
                "A whole group shares one scale.",
            ),
            Mistake(
                "one FLOP a weight",
                lambda **of: bent(half=1, **of),
                "A multiply-add is 2 FLOPs, so that half as many rows are needed.",
            ),
            Mistake(
                "16-bit weights at the bend",
                lambda **of: bent(**of) | {"rows": of["tera_flops"] / of["tera_bytes"]},
                "The arithmetic is in 16 bits, the bytes that are read are not.",
            ),
        ],
    ),
    Question(
        "last_batch",
        numbers={
            "kept": [0.6, 0.7, 0.75],
            "drafts": [2, 3, 5],
            "weights": range(3000, 9000, 10),
            "cache": range(3, 10),
            "arithmetic": range(14, 30),
        },
        cases=[
            {"kept": 0.9, "drafts": 3, "weights": 4480, "cache": 100, "arithmetic": 14},
        ],
        hidden=4,
        mistakes=[
            Mistake(
                "drafts alone",
                lambda **of: drafted(own=0, **of),
                "The check writes a token of its own.",
            ),
            Mistake(
                "not the token itself",
                lambda **of: drafted(checked=0, **of),
                "One token more than the drafts goes through the check.",
            ),
            Mistake(
                "caches forgotten",
                lambda **of: drafted(**{**of, "cache": 0}),
                "Plain steps read each cache once a token, a check once for all of its tokens.",
            ),
            Mistake(
                "caches of the check alone",
                lambda **of: drafted(shared=False, **of),
                "The plain steps that a check replaces read the caches too.",
            ),
        ],
    ),
    Question(
        "expert_bend",
        numbers={
            "experts": [64, 128, 256],
            "per_token": [2, 4, 6],
            "tera_flops": [989, 1979, 4500],
            "tera_bytes": [3.35, 4.8, 8.0],
            "bytes_per_weight": [0.5, 1, 2],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "all experts",
                lambda experts, tera_flops, tera_bytes, bytes_per_weight, **_: bends(
                    tera_flops / tera_bytes * bytes_per_weight / 2,
                    tera_flops / tera_bytes * bytes_per_weight / 2 * experts,
                ),
                "Each token uses several experts, so that each sees more of them.",
            ),
            Mistake(
                "the wrong way",
                lambda experts, per_token, tera_flops, tera_bytes, bytes_per_weight: bends(
                    tera_flops / tera_bytes * bytes_per_weight / 2,
                    tera_flops / tera_bytes * bytes_per_weight / 2 * per_token / experts,
                ),
                "An expert sees fewer tokens than there are: it takes more of them.",
            ),
            Mistake(
                "one FLOP a weight",
                lambda experts, per_token, tera_flops, tera_bytes, bytes_per_weight: bends(
                    tera_flops / tera_bytes * bytes_per_weight,
                    tera_flops / tera_bytes * bytes_per_weight * experts / per_token,
                ),
                "A multiply-add is 2 FLOPs, so that half as many rows are needed.",
            ),
        ],
    ),
    Question(
        "cache_outgrows",
        numbers={
            "heads": [16, 32, 64],
            "key_dim": [64, 128, 192],
            "value_dim": [128, 256],
            "kv_heads": [2, 4, 8],
            "head_dim": [64, 128],
            "state_bytes": [2, 4],
            "cache_bytes": [1, 2],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "keys alone",
                lambda heads, key_dim, value_dim, kv_heads, head_dim, state_bytes, cache_bytes: (
                    outgrown(
                        heads * key_dim * value_dim * state_bytes,
                        kv_heads * head_dim * cache_bytes,
                    )
                ),
                "A token leaves a key and a value.",
            ),
            Mistake(
                "one head's state",
                lambda key_dim, value_dim, kv_heads, head_dim, state_bytes, cache_bytes, **_: (
                    outgrown(
                        key_dim * value_dim * state_bytes, 2 * kv_heads * head_dim * cache_bytes
                    )
                ),
                "Every head has a state of its own.",
            ),
            Mistake(
                "not more yet",
                lambda heads, key_dim, value_dim, kv_heads, head_dim, state_bytes, cache_bytes: (
                    heads
                    * key_dim
                    * value_dim
                    * state_bytes
                    // (2 * kv_heads * head_dim * cache_bytes)
                ),
                "There the cache takes at most as many bytes; one token later it takes more.",
            ),
            Mistake(
                "elements for bytes",
                lambda heads, key_dim, value_dim, kv_heads, head_dim, **_: outgrown(
                    heads * key_dim * value_dim, 2 * kv_heads * head_dim
                ),
                "State and cache may have elements of different sizes.",
            ),
        ],
    ),
    Question(
        "million_tokens",
        numbers={
            "batch": [16, 64, 100, 200],
            "step_ms": [5, 12, 20, 35],
            "per_hour": [1.79, 2.5, 6.88],
            "watts": [400, 1000],
            "utilisation": [0.3, 0.6, 0.8],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "always busy",
                lambda **of: paid(**{**of, "utilisation": 1}),
                "Hours in which nobody asks are paid too.",
            ),
            Mistake(
                "a reader alone",
                lambda **of: paid(**{**of, "batch": 1}),
                "A step writes a token for each sequence of the batch.",
            ),
            Mistake(
                "idle for free",
                lambda **of: paid(drawn=lambda seconds: seconds, **of),
                "The device is powered all of the time here, idle or not.",
            ),
            Mistake(
                "seconds for hours",
                lambda **of: paid(**{**of, "per_hour": 3600 * of["per_hour"]}),
                "The price is for an hour, which has 3600 seconds.",
            ),
        ],
    ),
    Question(
        "order_service",
        cases=[
            {"rate": 400, "prompt": 500, "answer": 500, "target_ms": 10},
            {"rate": 12, "prompt": 8000, "answer": 300, "target_ms": 20},
            {"rate": 30, "prompt": 2000, "answer": 100, "target_ms": 4},
        ],
        public=service_is_good,
    ),
    Question(
        "serve_timed",
        points=2,
        cases=[
            {"requests": MANY, "places": 8},
            {"requests": MANY, "places": 3},
            {"requests": [[0, 10, 2]], "places": 1},
            {"requests": [[50_000, 100, 5], [0, 900, 8], [1, 20, 30]], "places": 2},
        ],
        mistakes=[
            Mistake(
                "one step too many",
                lambda **of: timed(late=1, **of),
                "Reading the prompt writes the first token: steps write the others.",
            ),
            Mistake(
                "a batch at a time",
                lambda **of: timed(alone=True, **of),
                "A prompt is read as soon as there is a place, not only when all are done.",
            ),
            Mistake(
                "no limit",
                lambda **of: timed(**{**of, "places": 10**9}),
                "At most so many sequences write at once.",
            ),
            Mistake(
                "in the order of the list",
                lambda requests, **of: timed(
                    requests=[[0, prompt, answer] for _, prompt, answer in requests], **of
                ),
                "A request is not there before it arrives.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "readers_within": 25_000 // 56,
    "read_again": 1024 * 45 * 131_072,
    "readers_needed": math.ceil(3 * 100 * 68 / (199 * 21)),
    "bits_and_bend": {"gigabytes": 70 * 4.25 / 8, "rows": 989 / 3.35 * 4.25 / 16},
    "last_batch": math.floor(3.3616 * 4480 / (5 * 14 - 2.3616 * 9)),
    "expert_bend": {"published": 1979 / 6.7, "right": 1979 / 6.7 * 32, "ratio": 32},
    "cache_outgrows": 513,
    "million_tokens": {
        "dollars": 1e6 * 0.016 / 256 * 3.99 / 1800,
        "joules": 1e6 * 0.016 / 256 * 1400,
    },
    "order_service": {"tensor": 1, "batch": 207, "copies": 4},
    "serve_timed": {"last": 52_958, "longest": 25_700},
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def readers_one_by_one(target: int, weights: int, cache: int, arithmetic: int, places: int) -> int:
    """One more reader as long as the step of all of them is in time."""
    batch = 0
    while batch < places:
        more = batch + 1
        if max(weights + more * cache, more * (cache + arithmetic)) > target:
            return batch
        batch = more
    return batch


def read_piece_by_piece(prompt: int, chunk: int, bytes_per_token: int) -> int:
    """Bytes that each piece finds in the cache."""
    return sum(range(0, prompt, chunk)) * bytes_per_token


def machines_until_enough(
    prompt_ms: int, steps: int, step_ms: int, batch: int, writers: int
) -> int:
    """Machines until as many prompts are read as answers are written."""
    machines = 1
    while machines * steps * step_ms < writers * batch * prompt_ms:
        machines += 1
    return machines


def last_batch_by_halving(
    kept: float, drafts: int, weights: int, cache: int, arithmetic: int
) -> int:
    """Rates of both ways, compared at a batch; no limit if drafts gain even at a huge one."""

    def gains(batch: int) -> bool:
        tokens = sum(kept**place for place in range(drafts + 1))
        check = batch * (arithmetic * (drafts + 1) + cache)
        return tokens * (weights + batch * cache) >= check

    low, high = 0, 10**9
    if gains(high):
        return -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gains(middle) else (low, middle)
    return low


def outgrown_token_by_token(
    heads: int,
    key_dim: int,
    value_dim: int,
    kv_heads: int,
    head_dim: int,
    state_bytes: int,
    cache_bytes: int,
) -> int:
    """Tokens until the cache is the larger of the two."""
    tokens = 0
    while tokens * 2 * kv_heads * head_dim * cache_bytes <= (
        heads * key_dim * value_dim * state_bytes
    ):
        tokens += 1
    return tokens


def reads_of_an_expert(
    experts: int, per_token: int, tera_flops: float, tera_bytes: float, bytes_per_weight: float
) -> dict[str, float]:
    """Of a batch an expert sees a share; its weights take bytes, and 2 FLOPs for each of it."""
    dense = tera_flops / 2 / (tera_bytes / bytes_per_weight)
    share = per_token / experts
    return {"published": dense, "right": dense / share, "ratio": 1 / share}


APART = {
    "expert_bend": reads_of_an_expert,
    "readers_within": readers_one_by_one,
    "read_again": read_piece_by_piece,
    "readers_needed": machines_until_enough,
    "last_batch": last_batch_by_halving,
    "cache_outgrows": outgrown_token_by_token,
}

#: On an edge, where a student's rounding may differ: for the solutions alone.
EDGES = {
    "last_batch": [
        {"kept": 0.5, "drafts": 1, "cache": 40, "arithmetic": 10},
        {"kept": 0.5, "drafts": 1, "cache": 39, "arithmetic": 10},
    ]
}
