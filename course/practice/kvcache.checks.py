"""How the practice exercises of chapter 4 are checked."""

import math

import costlib
from costlib import Precision
from costlib.model.kvcache import kv_bytes, largest_batch
from course import Mistake, Question


def slip(published, right):
    """The answer of exercise 3."""
    return {"published": published, "right": right, "ratio": published / right}


def gqa(layers, d_model, heads, kv_heads, tokens):
    """The true cache of exercise 3, in bytes."""
    return 4 * layers * d_model // heads * kv_heads * tokens


def users(model, device, context, kv):
    """Sequences that fit with so many bytes for a cached element."""
    shape, room = costlib.models[model], costlib.devices[device]
    return int(largest_batch(shape, room, context, Precision(kv=kv)).largest)


def users_without_weights(model, device, context, bits, group):
    """What fits if the whole device is cache."""
    precision = Precision(kv=bits / 8 + 2 / group)
    each = kv_bytes(costlib.models[model], 1, context, precision)
    return int(costlib.devices[device].usable // each)


def pages(blocks, lengths, block):
    """The answer of exercise 5."""
    return {"blocks": blocks, "empty": blocks * block - sum(lengths)}


def guesses(accepted, draft_cost, most, *, own=1, step=1):
    """The best number of guesses; ``own`` and ``step`` are what people leave out."""

    def rate(number):
        tokens = own + sum(accepted**k for k in range(1, number + 1))
        return tokens / (step + number * draft_cost) if step + number else 0

    return max(range(most + 1), key=rate)


def serve(requests, capacity, reserve, *, skip=False, whole_batch=False, late=0, room=None):
    """The server of exercise 8, with what people get wrong in it."""
    room = room or (lambda request: sum(request))
    line = [(request[1] + late, reserve or room(request)) for request in requests]
    running, steps, largest = [], 0, 0
    while line or running:
        free = capacity - sum(r for _, r in running)
        for request in [] if whole_batch and running else list(line):
            if request[1] <= free:
                line.remove(request)
                running.append(request)
                free -= request[1]
            elif not skip:
                break
        steps, largest = steps + 1, max(largest, len(running))
        running = [(left - 1, r) for left, r in running if left > 1]
    return {"steps": steps, "largest": largest}


def tables_are_good(tables, lengths, shared, block):
    """True, or what is wrong with block tables. Students get this function too."""
    lists = isinstance(tables, list) and all(isinstance(table, list) for table in tables)
    if not lists or len(tables) != len(lengths):
        return "The answer is a list with one list for each sequence."
    flat = [number for table in tables for number in table]
    if not all(type(number) is int for number in flat):
        return "Block numbers are whole numbers."
    for position, length in enumerate(lengths):
        needs, has = -(-length // block), len(tables[position])
        if needs != has:
            return f"Sequence {position} needs {needs} blocks and has {has}."
    full = shared // block
    if any(table[:full] != tables[0][:full] for table in tables):
        return f"The first {full} blocks hold shared tokens only: all tables name the same."
    own = [number for table in tables for number in table[full:]]
    if len(set(own)) < len(own) or set(own) & set(tables[0][:full]):
        return "A block that is not full of shared tokens is in two places."
    if sorted(set(flat)) != list(range(len(set(flat)))):
        return "The numbers used are not 0, 1, 2, ... without gaps."
    return True


def order_is_good(design, layers, heads, head_dim, users, tokens, window, room):
    """True, or what is wrong with a cache design. Students get this function too."""
    names = ("kv_heads", "local_layers", "bits")
    if not isinstance(design, dict) or any(name not in design for name in names):
        return f"The answer is a dictionary with {', '.join(names)}."
    kv_heads, local, bits = (design[name] for name in names)
    groups = [k for k in range(1, heads + 1) if heads % k == 0]
    if kv_heads not in groups:
        return f"kv_heads must be one of {groups}."
    if local not in range(layers + 1):
        return f"local_layers must be a whole number from 0 to {layers}."
    if bits not in (4, 8, 16):
        return "bits must be 4, 8 or 16."

    def fits(k, n, b):
        kept = (layers - n) * tokens + n * min(tokens, window)
        return users * kept * 2 * k * head_dim * b / 8 <= room

    if not fits(kv_heads, local, bits):
        return "The cache of all users does not fit."
    if local and fits(kv_heads, local - 1, bits):
        return "One more layer could see the whole text, and the cache would still fit."
    if kv_heads < heads and fits(groups[groups.index(kv_heads) + 1], local, bits):
        return "There could be more KV heads, and the cache would still fit."
    if bits < 16 and fits(kv_heads, local, 2 * bits):
        return "An element could have more bits, and the cache would still fit."
    return True


SMALL = [[3, 4], [1, 2], [5, 1], [2, 2], [6, 3], [1, 1], [4, 4]]

QUESTIONS = [
    Question(
        "cache_per_token",
        numbers={
            "layers": range(24, 127),
            "kv_heads": [1, 2, 4, 8],
            "head_dim": [64, 96, 128, 256],
            "bytes_per_element": [1, 2],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "forgot a 2",
                lambda layers, kv_heads, head_dim, bytes_per_element: (
                    layers * kv_heads * head_dim * bytes_per_element
                ),
                "Keys and values are both cached, and every element takes its bytes.",
            ),
            Mistake(
                "query heads for KV heads",
                lambda layers, head_dim, bytes_per_element, **_: (
                    2 * layers * 64 * head_dim * bytes_per_element
                ),
                "The 64 query heads leave nothing behind: only KV heads are cached.",
            ),
            Mistake(
                "KiB for bytes",
                lambda layers, kv_heads, head_dim, bytes_per_element: (
                    2 * layers * kv_heads * head_dim * bytes_per_element / 1024
                ),
                "The question is for bytes; a KiB is 1024 of them.",
            ),
            Mistake(
                "one layer",
                lambda kv_heads, head_dim, bytes_per_element, **_: (
                    2 * kv_heads * head_dim * bytes_per_element
                ),
                "Every layer caches keys and values of its own.",
            ),
        ],
    ),
    Question(
        "crossing_context",
        numbers={
            "weights": range(7 * 10**9, 400 * 10**9, 10**9),
            "bytes_per_weight": [0.5, 1],
            "kv_bytes_per_token": [65_536, 131_072, 327_680],
            "batch": range(4, 65),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "16-bit weights",
                lambda weights, kv_bytes_per_token, batch, **_: math.ceil(
                    2 * weights / (batch * kv_bytes_per_token)
                ),
                "The weights are smaller here; the cache catches up sooner.",
            ),
            Mistake(
                "one user",
                lambda weights, bytes_per_weight, kv_bytes_per_token, **_: math.ceil(
                    weights * bytes_per_weight / kv_bytes_per_token
                ),
                "Weights are read once for all users, but each user has a cache.",
            ),
            Mistake(
                "rounded down",
                lambda weights, bytes_per_weight, kv_bytes_per_token, batch: int(
                    weights * bytes_per_weight / (batch * kv_bytes_per_token)
                ),
                "With so many tokens the cache is still a little smaller; round up.",
            ),
            Mistake(
                "weights for bytes",
                lambda weights, kv_bytes_per_token, batch, **_: math.ceil(
                    weights / (batch * kv_bytes_per_token)
                ),
                "You compare a number of weights with bytes.",
            ),
            Mistake(
                "bits for bytes",
                lambda weights, bytes_per_weight, kv_bytes_per_token, batch: math.ceil(
                    8 * weights * bytes_per_weight / (batch * kv_bytes_per_token)
                ),
                "The cache is given in bytes, so give the weights in bytes too.",
            ),
        ],
    ),
    Question(
        "forgotten_heads",
        numbers={
            "layers": range(16, 127),
            "d_model": range(2048, 16_385, 1024),
            "heads": [16, 32, 64],
            "kv_heads": [2, 4, 8],
            "tokens": range(100, 100_000),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "ratio upside down",
                lambda layers, d_model, heads, kv_heads, tokens: {
                    **slip(
                        4 * layers * d_model * tokens, gqa(layers, d_model, heads, kv_heads, tokens)
                    ),
                    "ratio": kv_heads / heads,
                },
                "Both sizes are right. The ratio is the published one over the right one.",
            ),
            Mistake(
                "query heads for KV heads",
                lambda layers, d_model, tokens, **_: slip(*[4 * layers * d_model * tokens] * 2),
                "That is the slip itself: the cache holds K heads, not H.",
            ),
            Mistake(
                "keys alone",
                lambda layers, d_model, heads, kv_heads, tokens: slip(
                    4 * layers * d_model * tokens,
                    gqa(layers, d_model, heads, kv_heads, tokens) // 2,
                ),
                "Keys and values are both cached; the post has that right.",
            ),
            Mistake(
                "one token",
                lambda layers, d_model, heads, kv_heads, **_: slip(
                    4 * layers * d_model, gqa(layers, d_model, heads, kv_heads, 1)
                ),
                "Both are right for one token; multiply by the number of tokens.",
            ),
        ],
    ),
    Question(
        "users_that_fit",
        numbers={
            "model": ["llama-3.1-8b", "llama-2-7b", "mistral-7b-v0.3"],
            "device": ["H200", "H100-SXM", "A100-80GB"],
            "context": range(2048, 16_385, 512),
            "bits": [4, 8],
            "group": [32, 64, 128],
        },
        hidden=4,
        mistakes=[
            Mistake(
                "no scale",
                lambda model, device, context, bits, **_: users(model, device, context, bits / 8),
                "Each group also stores its scale, two bytes.",
            ),
            Mistake(
                "a 16-bit cache",
                lambda model, device, context, **_: users(model, device, context, 2),
                "The cache is stored in fewer bits: tell `Precision(kv=...)`.",
            ),
            Mistake(
                "no weights",
                users_without_weights,
                "The weights and the activations take room too.",
            ),
            Mistake(
                "a scale for each element",
                lambda model, device, context, bits, **_: users(
                    model, device, context, bits / 8 + 2
                ),
                "One scale serves a whole group, so an element pays 2/group bytes.",
            ),
            Mistake(
                "bits for bytes",
                lambda model, device, context, bits, group: users(
                    model, device, context, bits + 16 / group
                ),
                "`Precision` counts bytes; 8 bits are one.",
            ),
            Mistake(
                "one too many",
                lambda model, device, context, bits, group: (
                    users(model, device, context, bits / 8 + 2 / group) + 1
                ),
                "The last one does not fit any more; round down.",
            ),
        ],
    ),
    Question(
        "paging_waste",
        cases=[
            {"lengths": [1], "block": 16},
            {"lengths": [64, 32, 96], "block": 32},
            {"lengths": [7, 8, 9, 1000, 333], "block": 8},
            {"lengths": [3, 5, 2], "block": 1},
        ],
        mistakes=[
            Mistake(
                "a block too many when it fits",
                lambda lengths, block: pages(sum(n // block + 1 for n in lengths), lengths, block),
                "A sequence that fills its last block needs no further one.",
            ),
            Mistake(
                "rounded down",
                lambda lengths, block: pages(sum(n // block for n in lengths), lengths, block),
                "The tokens left over need a block too.",
            ),
            Mistake(
                "sequences sharing blocks",
                lambda lengths, block: pages(math.ceil(sum(lengths) / block), lengths, block),
                "A block belongs to one sequence; each rounds up by itself.",
            ),
            Mistake(
                "as long as the longest",
                lambda lengths, block: pages(
                    len(lengths) * math.ceil(max(lengths) / block), lengths, block
                ),
                "That is padding; with blocks each sequence takes what it needs.",
            ),
        ],
    ),
    Question(
        "best_guesses",
        numbers={
            "accepted": [0.6, 0.65, 0.7, 0.75, 0.8, 0.85],
            "draft_cost": [0.03, 0.05, 0.08, 0.12],
            "most": [15, 20, 25],
        },
        cases=[
            {"accepted": 0.2, "draft_cost": 0.5, "most": 5},
            {"accepted": 0.85, "draft_cost": 0.03, "most": 3},
        ],
        hidden=4,
        mistakes=[
            Mistake(
                "as many as allowed",
                lambda most, **_: most,
                "Guesses cost time, and the later ones are rarely accepted.",
            ),
            Mistake(
                "only guesses counted",
                lambda accepted, draft_cost, most: guesses(accepted, draft_cost, most, own=0),
                "The checking step writes one token itself: the sum begins with 1.",
            ),
            Mistake(
                "every guess that is likelier than it is dear",
                lambda accepted, draft_cost, most: max(
                    k for k in range(most + 1) if k == 0 or accepted**k >= draft_cost
                ),
                "A guess must beat the rate reached without it, not only its own cost.",
            ),
        ],
    ),
    Question(
        "block_tables",
        cases=[
            {"lengths": [5, 9], "shared": 3, "block": 4},
            {"lengths": [8, 12, 8], "shared": 8, "block": 4},
            {"lengths": [30], "shared": 17, "block": 16},
            {"lengths": [40, 33, 64, 50], "shared": 33, "block": 8},
        ],
        public=tables_are_good,
    ),
    Question(
        "cache_design",
        cases=[
            {"users": 8, "tokens": 8192, "room": 10**10},
            {"heads": 40, "layers": 40, "users": 200, "window": 1024},
            {"users": 1, "tokens": 1000},
        ],
        public=order_is_good,
    ),
    Question(
        "serve",
        points=2,
        cases=[
            {"reserve": 0},
            {"requests": SMALL, "capacity": 10, "reserve": 0},
            {"requests": SMALL, "capacity": 9, "reserve": 9},
            {"requests": [[1, 1]], "capacity": 2, "reserve": 0},
        ],
        mistakes=[
            Mistake(
                "a batch at a time",
                lambda requests, capacity, reserve: serve(
                    requests, capacity, reserve, whole_batch=True
                ),
                "The server admits before every step, not only when all are done.",
            ),
            Mistake(
                "past the front of the line",
                lambda requests, capacity, reserve: serve(requests, capacity, reserve, skip=True),
                "It stops at the first that does not fit, even if a later one would.",
            ),
            Mistake(
                "one step too long",
                lambda requests, capacity, reserve: serve(requests, capacity, reserve, late=1),
                "A request with an answer of n tokens runs for n steps, then leaves.",
            ),
            Mistake(
                "room for the prompt alone",
                lambda requests, capacity, reserve: serve(
                    requests, capacity, reserve, room=lambda request: request[0]
                ),
                "With nothing set to reserve, a request takes its prompt and its answer.",
            ),
            Mistake(
                "room for the answer alone",
                lambda requests, capacity, reserve: serve(
                    requests, capacity, reserve, room=lambda request: request[1]
                ),
                "With nothing set to reserve, a request takes its prompt and its answer.",
            ),
            Mistake(
                "one at a time",
                lambda requests, **_: {"steps": sum(a for _, a in requests), "largest": 1},
                "Requests run together while there is room for what they reserve.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "cache_per_token": 2 * 80 * 8 * 128 * 2,
    "crossing_context": math.ceil(70e9 / 2 / (327_680 * 16)),
    "forgotten_heads": {
        "published": 2 * 32 * 4096 * 2 * 1000,
        "right": 2 * 32 * 8 * 128 * 2 * 1000,
        "ratio": 32 / 8,
    },
    "users_that_fit": 177,
    "paging_waste": {"blocks": 1 + 1 + 2 + 7, "empty": 11 * 16 - (5 + 16 + 17 + 100)},
    "best_guesses": max(range(21), key=lambda k: (1 - 0.8 ** (k + 1)) / (1 + 0.1 * k)),
    "block_tables": [[0, 1, 2], [0, 3], [0, 4, 5, 6]],
    "cache_design": {"kv_heads": 4, "local_layers": 45, "bits": 16},
    "serve": {"steps": 2022, "largest": 4},
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def guesses_while_they_pay(accepted: float, draft_cost: float, most: int) -> int:
    """One guess more, as long as it earns more than a step's average."""
    guesses, tokens = 0, 1.0
    while guesses < most:
        more = accepted ** (guesses + 1)
        if more / draft_cost <= tokens / (1 + guesses * draft_cost):
            break
        guesses, tokens = guesses + 1, tokens + more
    return guesses


APART = {"best_guesses": guesses_while_they_pay}
