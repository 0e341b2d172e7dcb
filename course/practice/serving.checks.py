"""How the practice exercises of the chapter on latency, throughput and price are checked."""

from costlib.serving import Server, saturation
from course import Mistake, Question


def within(target, weights, cache, arithmetic, slots):
    """The answer of exercise 1."""
    both = (target - weights) // cache, target // (cache + arithmetic), slots
    return max(0, min(both))


def fitting(weights, usable, cache):
    """The answer of exercise 2, for weights of so many GB."""
    return max(0, int((usable - weights) // cache))


def settled(rate, prefill_ms, steps, weights_us, cache_us):
    """The answer of exercise 3; below 0 where no batch is large enough."""
    asked = rate * steps / (1 - rate * prefill_ms / 1000)
    return asked * weights_us / (1e6 - asked * cache_us)


def saturated(prefill_ms, steps, step_ms, slots):
    """The answer of exercise 4."""
    return 1000 / (prefill_ms + steps * step_ms / slots)


def met(rate, good):
    """The answer of exercise 5, for what counts as good."""
    return rate * sum(good) / len(good)


def owned(bought, years, busy_kw, idle_kw, overhead, per_kwh, rent):
    """The answer of exercise 8."""
    hour = bought / years / 8760
    return (hour + overhead * per_kwh * idle_kw) / (rent - overhead * per_kwh * (busy_kw - idle_kw))


def paid(batch, step_ms, per_hour, watts, utilisation, *, drawn=None):
    """The answer of exercise 6."""
    seconds = 1000 * step_ms / batch
    on = seconds / utilisation
    return {
        "dollars": on * per_hour / 3600,
        "joules": (on if drawn is None else drawn(seconds)) * watts,
    }


def timed(requests, slots, prefill, weights, each, *, late=0, alone=False):
    """The server of exercise 8, with what people get wrong in it."""
    now, waits, left, line = 0, [], [], sorted(requests, key=lambda one: one[0])
    while line or left:
        here = line and line[0][0] <= now and len(left) < slots
        if here and not (alone and left):
            arrival, prompt, answer = line.pop(0)
            now += prefill * prompt
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
        "batch_within",
        numbers={
            "target": range(20_000, 60_000, 500),
            "weights": range(3000, 8000, 10),
            "cache": range(35, 60),
            "arithmetic": range(10, 30),
            "slots": [1000, 2000],
        },
        cases=[
            {"target": 4000, "weights": 4480, "cache": 43, "arithmetic": 13, "slots": 465},
            {"target": 60_000, "weights": 4480, "cache": 43, "arithmetic": 13, "slots": 465},
            {"target": 9000, "weights": 4480, "cache": 43, "arithmetic": 13, "slots": 465},
        ],
        hidden=3,
        mistakes=[
            Mistake(
                "no arithmetic",
                lambda target, weights, cache, slots, **_: max(
                    0, min((target - weights) // cache, slots)
                ),
                "Beyond the critical batch size arithmetic takes longer than the weights.",
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
                lambda target, weights, cache, arithmetic, slots: max(
                    0, min((target - weights) // (cache + arithmetic), slots)
                ),
                "Arithmetic overlaps with the weights until it takes longer than they do.",
            ),
            Mistake(
                "fewer than none",
                lambda target, weights, cache, arithmetic, slots: min(
                    (target - weights) // cache, target // (cache + arithmetic), slots
                ),
                "If the weights alone take longer than the target, no sequence is in time.",
            ),
        ],
    ),
    Question(
        "sequences_that_fit",
        numbers={
            "billions": [8, 32, 70, 120],
            "bits": [4.5, 6, 8, 16],
            "usable": [145, 290, 430],
            "cache": [0.13, 0.37, 1.1],
        },
        cases=[{"billions": 405, "bits": 8, "usable": 145, "cache": 0.5}],
        hidden=3,
        mistakes=[
            Mistake(
                "bits for bytes",
                lambda billions, bits, **of: fitting(billions * bits, **of),
                "A byte has 8 bits.",
            ),
            Mistake(
                "no weights",
                lambda usable, cache, **_: fitting(0, usable, cache),
                "The weights take their part of the memory first.",
            ),
            Mistake(
                "fewer than none",
                lambda billions, bits, usable, cache: int((usable - billions * bits / 8) // cache),
                "If the weights do not fit, no sequence does, and not fewer.",
            ),
        ],
    ),
    Question(
        "settled_batch",
        numbers={
            "rate": [5, 10, 15],
            "prefill_ms": [8, 16, 30],
            "steps": [99, 149, 249],
            "weights_us": [4000, 5100],
            "cache_us": [21, 47, 60],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "prefill takes no time",
                lambda **of: settled(**{**of, "prefill_ms": 0}),
                "While a prompt is prefilled, no sequence decodes.",
            ),
            Mistake(
                "caches forgotten",
                lambda **of: settled(**{**of, "cache_us": 0}),
                "A larger batch has longer steps: each sequence adds its cache.",
            ),
            Mistake(
                "milliseconds for seconds",
                lambda prefill_ms, **of: settled(prefill_ms=1000 * prefill_ms, **of),
                "Requests per second times milliseconds is not a share of the time.",
            ),
        ],
    ),
    Question(
        "saturation_rate",
        numbers={
            "prefill_ms": [9, 30, 68],
            "steps": [99, 149, 499],
            "step_ms": [8, 20, 35],
            "slots": [32, 100, 200],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one at a time",
                lambda **of: saturated(**{**of, "slots": 1}),
                "A decode step serves all slots at once.",
            ),
            Mistake(
                "no prefill",
                lambda **of: saturated(**{**of, "prefill_ms": 0}),
                "The server also spends time on the prefill of each request.",
            ),
            Mistake(
                "per millisecond",
                lambda **of: saturated(**of) / 1000,
                "The times are in milliseconds, and a second has 1000 of them.",
            ),
        ],
    ),
    Question(
        "goodput_of",
        numbers={
            "rate": [4, 12, 30],
            "ttfts": [[40, 250, 90, 120, 60], [100, 130, 90, 500, 20]],
            "tpots": [[18, 15, 31, 20, 33], [33, 12, 40, 19, 35]],
            "ttft": [150, 200],
            "tpot": [20, 25],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "TTFT alone",
                lambda rate, ttfts, ttft, **_: met(rate, [each <= ttft for each in ttfts]),
                "A request counts only if it also meets the target for TPOT.",
            ),
            Mistake(
                "TPOT alone",
                lambda rate, tpots, tpot, **_: met(rate, [each <= tpot for each in tpots]),
                "A request counts only if it also meets the target for TTFT.",
            ),
            Mistake(
                "either target",
                lambda rate, ttfts, tpots, ttft, tpot: met(
                    rate, [a <= ttft or b <= tpot for a, b in zip(ttfts, tpots, strict=True)]
                ),
                "A request counts only if it meets both targets.",
            ),
            Mistake(
                "a share",
                lambda ttfts, tpots, ttft, tpot, **_: met(
                    1, [a <= ttft and b <= tpot for a, b in zip(ttfts, tpots, strict=True)]
                ),
                "Goodput is a rate: multiply the share by the requests per second.",
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
                "Hours without requests are paid too.",
            ),
            Mistake(
                "one sequence",
                lambda **of: paid(**{**of, "batch": 1}),
                "A step generates a token for each sequence of the batch.",
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
        "own_from",
        numbers={
            "bought": range(20_000, 50_000, 900),
            "years": [3, 4, 5],
            "busy_kw": [1, 1.4, 1.8],
            "idle_kw": [0.3, 0.5, 0.6],
            "overhead": [1.25, 1.4, 1.6],
            "per_kwh": [0.15, 0.25, 0.4],
            "rent": [2, 3, 6.88],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "always busy",
                lambda **of: owned(**of | {"idle_kw": of["busy_kw"]}),
                "While nobody needs an owned device, it draws less.",
            ),
            Mistake(
                "idle for free",
                lambda **of: owned(**of | {"idle_kw": 0}),
                "An owned device draws power in the other hours too.",
            ),
            Mistake(
                "no cooling",
                lambda **of: owned(**of | {"overhead": 1}),
                "Cooling and conversion multiply the power.",
            ),
            Mistake(
                "no power at all",
                lambda **of: owned(**of | {"per_kwh": 0}),
                "The power of an owned device is paid beside its purchase.",
            ),
        ],
    ),
    Question(
        "serve_timed",
        points=2,
        cases=[
            {"requests": MANY, "slots": 8},
            {"requests": MANY, "slots": 3},
            {"requests": [[0, 10, 2]], "slots": 1},
            {"requests": [[50_000, 100, 5], [0, 900, 8], [1, 20, 30]], "slots": 2},
        ],
        mistakes=[
            Mistake(
                "one step too many",
                lambda **of: timed(late=1, **of),
                "Prefill produces the first token, and decode steps produce the others.",
            ),
            Mistake(
                "a batch at a time",
                lambda **of: timed(alone=True, **of),
                "A prompt is prefilled as soon as there is a slot, not only when all are done.",
            ),
            Mistake(
                "no limit",
                lambda **of: timed(**{**of, "slots": 10**9}),
                "At most this many sequences are in decode at once.",
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
    "batch_within": 25_000 // 56,
    "sequences_that_fit": 314,  # 140 - 36.09375 = 103.90625 = 314 * 0.33 + 0.28625
    "settled_batch": 3980 * 4480 / (670_000 - 3980 * 47),
    "saturation_rate": 1000 / (16.5 + 12.4375),
    "goodput_of": 4.0,
    "million_tokens": {
        "dollars": 1e6 * 0.016 / 256 * 3.99 / 1800,
        "joules": 1e6 * 0.016 / 256 * 1400,
    },
    "order_service": {"tensor": 1, "batch": 207, "copies": 4},
    "own_from": (40_000 / 35_040 + 0.104) / (3.99 - 0.208),
    "serve_timed": {"last": 52_958, "longest": 25_700},
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def batch_one_by_one(target: int, weights: int, cache: int, arithmetic: int, slots: int) -> int:
    """One more sequence as long as the step of all of them is in time."""
    batch = 0
    while batch < slots:
        more = batch + 1
        if max(weights + more * cache, more * (cache + arithmetic)) > target:
            return batch
        batch = more
    return batch


def settled_by_trying(
    rate: float, prefill_ms: float, steps: int, weights_us: float, cache_us: float
) -> float:
    """The batch that stays what it is, from an empty server on."""
    batch = 0.0
    for _ in range(5000):
        step = (weights_us + batch * cache_us) / 1e6
        batch = rate * steps * step / (1 - rate * prefill_ms / 1e3)
    return batch


def served_in_a_round(prefill_ms: float, steps: int, step_ms: float, slots: int) -> float:
    """All slots take a request, and all their steps follow."""
    seconds = (slots * prefill_ms + steps * step_ms) / 1e3
    return slots / seconds


def good_one_by_one(
    rate: float, ttfts: list[float], tpots: list[float], ttft: float, tpot: float
) -> float:
    """The requests that miss neither target, each with its part of the rate."""
    part, total = rate / len(ttfts), 0.0
    for place, first in enumerate(ttfts):
        total += part * (not first > ttft and not tpots[place] > tpot)
    return total


def room_one_by_one(billions: float, bits: float, usable: float, cache: float) -> int:
    """One more sequence as long as there is memory for it."""
    left, many = usable - billions * bits / 8, 0
    while left >= cache * (many + 1):
        many += 1
    return many


def owned_by_halving(
    bought: float,
    years: float,
    busy_kw: float,
    idle_kw: float,
    overhead: float,
    per_kwh: float,
    rent: float,
) -> float:
    """Both bills of all hours of the device's life, for one share after another."""
    hours, low, high = years * 365 * 24, 0.0, 100.0
    for _ in range(100):
        share = (low + high) / 2
        energy = hours * (share * busy_kw + (1 - share) * idle_kw) * overhead
        rented = share * hours * rent > bought + energy * per_kwh
        low, high = (low, share) if rented else (share, high)
    return low


APART = {
    "batch_within": batch_one_by_one,
    "sequences_that_fit": room_one_by_one,
    "settled_batch": settled_by_trying,
    "saturation_rate": served_in_a_round,
    "goodput_of": good_one_by_one,
    "own_from": owned_by_halving,
}
