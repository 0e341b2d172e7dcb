"""How the practice exercises of the chapter on agents are checked."""

import math

from course import Mistake, Question


def saved(calls, first, answer, result, *, kept=1, of=None, grows=None):
    """The answer of exercise 1; ``kept`` is what is new of an answer."""
    grows = answer + result if grows is None else grows
    whole = calls * first + grows * (calls * (calls - 1) // 2 if of is None else of)
    return whole - first - (calls - 1) * (result + kept)


def even(bytes_per_token, giga_flops, mega_flops, prefix, tera_flops, *, seen=0.5):
    """The answer of exercise 2; ``seen`` is the share of the prefix that a token attends to."""
    flops = 1e9 * giga_flops + 1e6 * mega_flops * prefix * seen
    return bytes_per_token * 1e3 * tera_flops / flops


def kept_for(prefill_ms, prefix_gb, room_gb, weights_ms, caches_ms, *, elasticity=None):
    """The answer of exercise 3, and what people take for the elasticity."""
    lost = weights_ms / (weights_ms + caches_ms) if elasticity is None else elasticity
    return prefill_ms * room_gb / (1000 * prefix_gb * lost)


def found(new, mean_prompt, fresh):
    """The answer of exercise 4."""
    return {"hit_rate": 1 - new / mean_prompt, "times": new / fresh}


def experts(layers, millions, per_token, bits, link, rest_ms):
    """The answer of exercise 5."""
    return 1000 / (layers * per_token * millions * bits / 8 / link + rest_ms)


def wins_from(active, bits, prompt, wide, fast, *, flops=2, first=1):
    """The answer of exercise 9, and what people leave out of it."""
    lost = flops * active * prompt * (1 / wide[1] - 1 / fast[1]) / 1000
    won = active * bits / 8 * (1 / fast[0] - 1 / wide[0])
    return int(lost // won) + first + 1


def filled(lengths, slots, step_ms):
    """The answer of exercise 6."""
    free = [0] * slots
    for length in lengths:
        free[free.index(min(free))] += length
    return {"seconds": max(free) * step_ms / 1000, "used": sum(lengths) / slots / max(free)}


def in_batches(lengths, slots, step_ms):
    """Slots that are all refilled at once, when the longest answer is complete."""
    steps = sum(max(lengths[at : at + slots]) for at in range(0, len(lengths), slots))
    return {"seconds": steps * step_ms / 1000, "used": sum(lengths) / slots / steps}


def learned(
    answers,
    tokens,
    billions,
    scored,
    updated,
    peta_flops,
    rollout_s,
    full_s,
    *,
    look=2,
    learn=6,
    hidden=False,
):
    """The answer of exercise 7, and what people take for FLOPs or for the asynchronous step."""
    each = (look * scored + learn * updated) * billions * 1e9
    seconds = each * answers * tokens / peta_flops / 1e15
    side = max(full_s, seconds) if hidden else full_s + seconds
    return {"in_turn": rollout_s + seconds, "asynchronous": side}


def stale(samplers, slots, mean, longest, step_ms, answers, *, alone=1, most=None):
    """The answer of exercise 8, and what people take for the rate or for the longest answer."""
    seconds = answers * mean * step_ms / 1000 / (samplers * slots) * alone
    most = longest if most is None else most
    rate = samplers * slots / answers / alone
    return {"seconds": seconds, "mean": rate, "longest": most * step_ms / 1000 / seconds}


def hits(calls, capacity, *, victim=lambda kept: next(iter(kept)), whole=False, all_but=1):
    """The cache of exercise 9, and what people do otherwise."""
    kept, here, asked = {}, 0, 0
    for session, prompt in calls:
        here += min(kept.pop(session, 0), prompt - all_but)
        asked += prompt
        while (over := sum(kept.values()) + prompt - capacity) > 0:
            name = victim(kept)
            left = 0 if whole else max(0, kept.pop(name) - over)
            kept.pop(name, None)
            kept = {name: left, **kept} if left else kept
        kept[session] = prompt
    return {"found": here, "asked": asked}


MANY = [[i * i % 7, 20 + 10 * (i % 5) + 3 * i] for i in range(40)]
TURNS = [[i % 5, 60 + 4 * i] for i in range(30)]

QUESTIONS = [
    Question(
        "tokens_saved",
        numbers={
            "calls": range(10, 200),
            "first": range(1000, 9000, 100),
            "answer": range(50, 500, 10),
            "result": range(200, 3000, 100),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "answers are all cached",
                lambda **of: saved(kept=0, **of),
                "No step has processed the last token of an answer, so it is new in the next call.",
            ),
            Mistake(
                "answers are prefilled again",
                lambda calls, first, answer, result: saved(
                    calls, first, answer, result, kept=answer
                ),
                "Decode has computed keys and values of all tokens of an answer but its last.",
            ),
            Mistake(
                "results alone grow",
                lambda calls, first, answer, result: saved(
                    calls, first, answer, result, grows=result
                ),
                "The answer is a part of the next prompt too.",
            ),
            Mistake(
                "one call too many",
                lambda calls, first, answer, result: saved(
                    calls, first, answer, result, of=calls * (calls + 1) // 2
                ),
                "The first prompt has not grown: 0 + 1 + ... up to n − 1 is half of n·(n − 1).",
            ),
        ],
    ),
    Question(
        "even_gigabytes",
        numbers={
            "bytes_per_token": [70_272, 131_072, 327_680],
            "giga_flops": range(10, 150, 7),
            "mega_flops": [0.5, 1.3, 2.6],
            "prefix": range(2000, 90_000, 1000),
            "tera_flops": [312, 989, 2250],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "attention forgotten",
                lambda **of: even(seen=0, **of),
                "A prefill also attends to the tokens before it.",
            ),
            Mistake(
                "the whole prefix for every token",
                lambda **of: even(seen=1, **of),
                "A causal mask leaves half of the pairs: the first tokens have few before them.",
            ),
            Mistake(
                "the wrong way",
                lambda **of: 1 / even(**of),
                "Bandwidth is bytes over seconds.",
            ),
        ],
    ),
    Question(
        "hold_seconds",
        numbers={
            "prefill_ms": range(100, 3000, 37),
            "prefix_gb": [1.3, 4.2, 8.4],
            "room_gb": [40, 61, 100],
            "weights_ms": [2.5, 4.5, 9],
            "caches_ms": range(5, 40),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "throughput falls as much as memory",
                lambda **of: kept_for(elasticity=1, **of),
                "Fewer sequences also make a step shorter, so throughput falls by less.",
            ),
            Mistake(
                "the share of the caches",
                lambda weights_ms, caches_ms, **of: kept_for(
                    weights_ms=weights_ms,
                    caches_ms=caches_ms,
                    elasticity=caches_ms / (weights_ms + caches_ms),
                    **of,
                ),
                "Sequences share what reads the weights: that part of a step is what is lost.",
            ),
            Mistake(
                "weights over caches",
                lambda weights_ms, caches_ms, **of: kept_for(
                    weights_ms=weights_ms,
                    caches_ms=caches_ms,
                    elasticity=weights_ms / caches_ms,
                    **of,
                ),
                "A share is a part of the whole step.",
            ),
            Mistake(
                "milliseconds",
                lambda **of: 1000 * kept_for(**of),
                "The answer is in seconds.",
            ),
        ],
    ),
    Question(
        "routed",
        numbers={
            "servers": range(2, 9),
            "grows": range(300, 2000, 100),
            "mean_prompt": range(20_000, 60_000, 1000),
            "fresh": range(101, 301, 20),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "as many calls as servers",
                lambda servers, grows, mean_prompt, fresh: found(
                    fresh + servers * grows, mean_prompt, fresh
                ),
                "What this call adds is counted already: servers − 1 calls went elsewhere.",
            ),
            Mistake(
                "as with one server",
                lambda mean_prompt, fresh, **_: found(fresh, mean_prompt, fresh),
                "Calls that went to other servers have added tokens that this one has not seen.",
            ),
            Mistake(
                "results alone",
                lambda servers, mean_prompt, fresh, **_: found(servers * fresh, mean_prompt, fresh),
                "A call that went elsewhere adds its answer too.",
            ),
        ],
    ),
    Question(
        "expert_rate",
        numbers={
            "layers": range(30, 95),
            "millions": [4.7, 18.9, 44],
            "per_token": [2, 4, 6],
            "bits": [4.125, 4.25, 16],
            "link": [32, 64, 90],
            "rest_ms": range(2, 20),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one expert",
                lambda **of: experts(**of | {"per_token": 1}),
                "Every token uses several experts in each layer.",
            ),
            Mistake(
                "one layer",
                lambda **of: experts(**of | {"layers": 1}),
                "Each layer has experts of its own.",
            ),
            Mistake(
                "bits for bytes",
                lambda bits, **of: experts(bits=8 * bits, **of),
                "A byte has 8 bits.",
            ),
            Mistake(
                "the link alone",
                lambda **of: experts(**of | {"rest_ms": 0}),
                "Everything else in a step takes its time too.",
            ),
        ],
    ),
    Question(
        "rollout_time",
        cases=[
            {"lengths": [120, 3000, 90, 75, 410, 260, 800, 55, 640, 95], "slots": 3, "step_ms": 12},
            {"lengths": [40 + 37 * i % 900 for i in range(60)], "slots": 8, "step_ms": 5},
            {"lengths": [500, 100], "slots": 4, "step_ms": 20},
        ],
        mistakes=[
            Mistake(
                "static batches",
                in_batches,
                "A slot is refilled as soon as its own answer is complete.",
            ),
            Mistake(
                "no tail",
                lambda lengths, slots, step_ms: {
                    "seconds": sum(lengths) / slots * step_ms / 1000,
                    "used": 1.0,
                },
                "At the end some slots are empty while the last answers go on.",
            ),
            Mistake(
                "milliseconds",
                lambda lengths, slots, step_ms: filled(lengths, slots, 1000 * step_ms),
                "The answer is in seconds.",
            ),
        ],
    ),
    Question(
        "policy_times",
        numbers={
            "answers": [512, 1024, 4096],
            "tokens": range(500, 6000, 100),
            "billions": [4, 14, 70],
            "scored": [2, 3, 4],
            "updated": [1, 2],
            "peta_flops": [3.2, 12.8, 50],
            "rollout_s": range(300, 900, 10),
            "full_s": range(50, 250, 10),
        },
        hidden=3,
        mistakes=[
            Mistake(
                "two FLOPs to learn",
                lambda **of: learned(learn=2, **of),
                "A training step has a forward pass and a backward pass of twice its FLOPs.",
            ),
            Mistake(
                "six FLOPs to score",
                lambda **of: learned(look=6, **of),
                "Scoring has no backward pass.",
            ),
            Mistake(
                "both phases on all devices at once",
                lambda **of: learned(hidden=True, **of),
                "Devices that sample do not train: with fewer devices each phase takes longer.",
            ),
            Mistake(
                "the tail stays",
                lambda **of: learned(**of | {"full_s": of["rollout_s"]}),
                "Asynchronous samplers begin new answers in the slots that become free.",
            ),
        ],
    ),
    Question(
        "staleness_of",
        numbers={
            "samplers": range(2, 40),
            "slots": [64, 128, 250],
            "mean": range(400, 6000, 100),
            "longest": [8192, 16_384, 32_768],
            "step_ms": range(8, 30),
            "answers": [512, 1024, 4096],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one sampler",
                lambda **of: stale(**of | {"samplers": 1}),
                "All samplers generate answers at the same time.",
            ),
            Mistake(
                "the mean for the longest",
                lambda **of: stale(most=of["mean"], **of),
                "The longest answer needs more steps than the mean one.",
            ),
            Mistake(
                "the mean the wrong way",
                lambda **of: stale(**of) | {"mean": 1 / stale(**of)["mean"]},
                "By Little's law it is answers in generation over answers for each update.",
            ),
        ],
    ),
    Question(
        "wide_wins_from",
        numbers={
            "active": [3.3, 12, 22],
            "bits": [4.125, 4.5, 8],
            "prompt": range(501, 9000, 250),
            "wide": [[546, 18.4], [819, 36]],
            "fast": [[273, 213], [256, 110]],
        },
        hidden=3,
        mistakes=[
            Mistake(
                "one FLOP a parameter",
                lambda **of: wins_from(**of, flops=1),
                "A multiply-add is 2 FLOPs.",
            ),
            Mistake(
                "bits for bytes",
                lambda bits, **of: wins_from(bits=8 * bits, **of),
                "A byte has 8 bits.",
            ),
            Mistake(
                "a step for the first token",
                lambda **of: wins_from(**of, first=0),
                "Prefill yields the first token, so an answer takes one step fewer than tokens.",
            ),
        ],
    ),
    Question(
        "lru_hits",
        points=2,
        cases=[
            {"calls": MANY, "capacity": 300},
            {"calls": TURNS, "capacity": 500},
            {"calls": MANY, "capacity": 10_000},
            {"calls": [[0, 5], [0, 5], [1, 9], [0, 7]], "capacity": 10},
        ],
        mistakes=[
            Mistake(
                "no limit",
                lambda calls, **_: hits(calls, 10**9),
                "The cache holds at most `capacity` tokens.",
            ),
            Mistake(
                "the longest first",
                lambda calls, capacity: hits(
                    calls, capacity, victim=lambda kept: max(kept, key=kept.get)
                ),
                "The session whose last call is longest ago loses its end, however short it is.",
            ),
            Mistake(
                "whole prefixes",
                lambda calls, capacity: hits(calls, capacity, whole=True),
                "Only as much of the oldest prefix is cut as is needed.",
            ),
            Mistake(
                "the whole prompt found",
                lambda calls, capacity: hits(calls, capacity, all_but=0),
                "The last token of a prompt is always processed, to get the next one.",
            ),
        ],
    ),
]

#: What is right for the statement's numbers, apart from the solutions: by arithmetic where a line
#: is enough, recorded where it is not.
ANSWERS = {
    "tokens_saved": 1_670_000 - 53_049,
    "even_gigabytes": 131_072 / (19e9 / 989e12) / 1e9,
    "hold_seconds": 0.78 * 61 / 4.2 * 5,
    "routed": {"hit_rate": 1 - 4601 / 33_000, "times": 4601 / 1001},
    "expert_rate": 1 / (94 * 8 * 18.9e6 * 4.125 / 8 / 32e9 + 0.005),
    "rollout_time": {"seconds": 91.0, "used": 13_900 / 36_400},
    "policy_times": {"in_turn": 118 + 204.8, "asynchronous": 32 + 204.8},
    "staleness_of": {
        "seconds": 2048 * 1500 * 0.015 / 2040,
        "mean": 2040 / 2048,
        "longest": 16_384 / (2048 * 1500 / 2040),
    },
    "wide_wins_from": 818,  # 4.052 s of prefill, 4.962 ms of each later token
    "lru_hits": {"found": 40 + 30 + 20, "asked": 330},
}

# The same answers by another way, for any numbers: tests compare them with the solutions.


def saved_call_by_call(calls: int, first: int, answer: int, result: int) -> int:
    """Each prompt finds what the call before it has left in the cache."""
    prompt, total = first, 0
    for _ in range(calls - 1):
        total += prompt + answer - 1
        prompt += answer + result
    return total


def even_by_halving(
    bytes_per_token: int, giga_flops: float, mega_flops: float, prefix: int, tera_flops: float
) -> float:
    """The rate at which the bytes of the prefix take as long as its FLOPs."""
    flops = prefix * giga_flops * 1e9 + mega_flops * 1e6 * prefix * prefix / 2
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        longer = prefix * bytes_per_token / (middle * 1e9) > flops / (tera_flops * 1e12)
        low, high = (middle, high) if longer else (low, middle)
    return low


def hold_by_sequences(
    prefill_ms: float, prefix_gb: float, room_gb: float, weights_ms: float, caches_ms: float
) -> float:
    """Throughput with a little more and a little less memory tells what a share of it is worth."""
    small = 1e-5
    full = 1 / (weights_ms + caches_ms)
    more, fewer = (by / (weights_ms + by * caches_ms) for by in (1 + small, 1 - small))
    lost = (more - fewer) / full / (2 * small) * prefix_gb / room_gb
    return prefill_ms / lost / 1000


def prefilled_since(servers: int, grows: int, mean_prompt: int, fresh: int) -> dict[str, float]:
    """Calls one after another that other servers got, and this one."""
    new = fresh
    for _ in range(1, servers):
        new += grows
    return {"hit_rate": (mean_prompt - new) / mean_prompt, "times": new / fresh}


def seconds_of_experts(
    layers: int, millions: float, per_token: int, bits: float, link: float, rest_ms: float
) -> float:
    """Each expert crosses the link by itself."""
    seconds = rest_ms * 1e-3
    for _ in range(layers * per_token):
        seconds += millions * bits / 8 * 1e-3 / link
    return 1 / seconds


def slots_step_by_step(lengths: list[int], slots: int, step_ms: float) -> dict[str, float]:
    """Steps, each of which takes a token off every slot."""
    waiting, left, steps, used = list(lengths), [0] * slots, 0, 0
    while waiting or any(left):
        for slot in range(slots):
            if not left[slot] and waiting:
                left[slot] = waiting.pop(0)
        used += sum(more > 0 for more in left)
        left = [max(0, more - 1) for more in left]
        steps += 1
    return {"seconds": steps * step_ms * 1e-3, "used": used / (steps * slots)}


def best_of_all_splits(
    answers: int,
    tokens: int,
    billions: float,
    scored: int,
    updated: int,
    peta_flops: float,
    rollout_s: float,
    full_s: float,
) -> dict[str, float]:
    """The share of samplers at which both sides take equally long, by halving."""
    passes = scored + 3 * updated
    learn = 2e-6 * passes * billions * answers * tokens / peta_flops
    low, high = 0.0, 1.0
    for _ in range(200):
        share = (low + high) / 2
        longer = full_s * (1 - share) > learn * share
        low, high = (share, high) if longer else (low, share)
    return {"in_turn": rollout_s + learn, "asynchronous": full_s / high}


def stale_by_rates(
    samplers: int, slots: int, mean: int, longest: int, step_ms: float, answers: int
) -> dict[str, float]:
    """Tokens of all slots in a second give answers and updates in a second."""
    tokens = samplers * slots / (step_ms * 1e-3)
    updates = tokens / mean / answers
    return {
        "seconds": 1 / updates,
        "mean": mean * step_ms * 1e-3 * updates,
        "longest": longest * step_ms * 1e-3 * updates,
    }


def lru_token_by_token(calls: list[list[int]], capacity: int) -> dict[str, int]:
    """Tokens in the order of their last use; of one session the last token is the oldest."""
    kept: list[tuple[int, int]] = []
    found = asked = 0
    for session, prompt in calls:
        here = {at for who, at in kept if who == session}
        start = next((at for at in range(prompt) if at not in here), prompt)
        found, asked = found + min(start, prompt - 1), asked + prompt
        kept = [each for each in kept if each[0] != session]
        kept = (kept + [(session, at) for at in reversed(range(prompt))])[-capacity:]
    return {"found": found, "asked": asked}


def wide_token_by_token(
    active: float, bits: float, prompt: int, wide: list[float], fast: list[float]
) -> int:
    """One token more until the machine that was later is the earlier one."""

    def clock(machine: list[float], steps: int) -> float:
        prefill = 2e9 * active * prompt / (machine[1] * 1e12)
        return prefill + steps * active * bits / 8 / machine[0]

    steps = 0
    while clock(wide, steps) >= clock(fast, steps):
        steps += 1
    return steps + 1


APART = {
    "tokens_saved": saved_call_by_call,
    "even_gigabytes": even_by_halving,
    "hold_seconds": hold_by_sequences,
    "routed": prefilled_since,
    "expert_rate": seconds_of_experts,
    "rollout_time": slots_step_by_step,
    "policy_times": best_of_all_splits,
    "staleness_of": stale_by_rates,
    "wide_wins_from": wide_token_by_token,
    "lru_hits": lru_token_by_token,
}
