"""What is right, and what people make of it, in exercises on serving faster: by other ways."""

import math


def again(prompt, chunk, bytes_per_token, *, terms=None, up=True):
    """The answer of exercise 1; ``terms`` is how many multiples of a chunk are added."""
    pieces = math.ceil(prompt / chunk) if up else prompt // chunk
    count = pieces * (pieces - 1) // 2 if terms is None else terms(pieces)
    return chunk * count * bytes_per_token


def prefilling(prompt_ms, steps, step_ms, batch, decode_servers, *, rounded=math.ceil):
    """The answer of exercise 2."""
    return rounded(decode_servers * batch * prompt_ms / (steps * step_ms))


def bent(weights, bits, group, scale_bits, tera_flops, tera_bytes, *, each=None, half=2):
    """The answer of exercise 3, and what people leave out of it."""
    each = (bits + scale_bits / group) / 8 if each is None else each
    rows = tera_flops / tera_bytes * each / half
    return {"gigabytes": weights * each / 1e9, "rows": rows}


def drafted(kept, drafts, weights, cache, arithmetic, *, own=1, checked=1, shared=True):
    """The answer of exercise 4, and what people leave out of it."""
    tokens = own + sum(kept**k for k in range(1, drafts + 1))
    lost = (drafts + checked) * arithmetic - (tokens - 1 if shared else -1) * cache
    return int(tokens * weights // lost) if lost > 0 else -1


def bends(experts, per_token, tera_flops, tera_bytes, bytes_per_weight, *, half=2, ratio=None):
    """The answer of exercise 5, and what people make of it."""
    published = tera_flops / tera_bytes * bytes_per_weight / half
    ratio = experts / per_token if ratio is None else ratio
    return {"published": published, "right": published * ratio, "ratio": ratio}


def outgrown(
    heads, key_dim, value_dim, kv_heads, head_dim, state_bytes, cache_bytes, *, kept=2, more=1
):
    """The answer of exercise 6, and what people leave out of it."""
    state = heads * key_dim * value_dim * state_bytes
    return state // (kept * kv_heads * head_dim * cache_bytes) + more


def devices_of(layers, wait_us, gigabytes, tera_bytes):
    """The answer of exercise 7."""
    return 1000 * gigabytes / tera_bytes / (4 * layers * wait_us)


def chunked(requests, slots, chunk, prefill, weights, each, *, late=0, alone=False):
    """The server of exercise 15, with what people get wrong in it."""
    now, at, left, line, longest, first = 0, 0, [], list(requests), 0, 0
    while line or left:
        part = min(chunk, line[0][0] - at) if line and len(left) < slots else 0
        spent = weights + each * len(left) + prefill * part
        now, at = now + spent, at + part
        if left or alone:
            longest = max(longest, spent)
        left = [more - 1 for more in left if more > 1]
        if part and at == line[0][0]:
            at, first = 0, now
            left.append(line.pop(0)[1] - 1 + late)
    return {"ttft": first, "itl": longest, "last": now}


def by_tokens(free, kv_bytes, context, dcp, layers, wait_us, bytes_per_s, *, sent=3, up=True):
    """The answer of exercise 8, and what people leave out of it."""
    share = math.ceil(context / dcp) if up else context // dcp
    saved = (context - share) * kv_bytes / bytes_per_s * 1e6
    return [int(free // (share * kv_bytes)), saved - sent * layers * wait_us]


def reduced(batch, d_model, devices, wait_us, gb_per_s, *, each=2, two=2, waits=2):
    """The answer of exercise 9, and what people leave out of it."""
    alone, parts = each * d_model / (gb_per_s * 1e3), two * (devices - 1) / devices
    return {
        "one_shot": wait_us + (devices - 1) * batch * alone,
        "two_shot": waits * wait_us + parts * batch * alone,
        "equal_at": (waits - 1) * wait_us / ((devices - 1 - parts) * alone),
    }


def divided(
    servers,
    prefill_ms,
    busy,
    weights_us,
    each_us,
    itl_ms,
    steps,
    *,
    whole=True,
    both=min,
    one=False,
):
    """The answer of exercise 10, and what people leave out of it."""
    batch = (1000 * itl_ms - weights_us) / each_us
    batch = 1 if one else math.floor(batch)
    decode = batch * 1e6 / (steps * (weights_us + each_us * batch))
    prefill = (busy if whole else 1) / prefill_ms * 1e3
    rates = [both(n * prefill, (servers - n) * decode) for n in range(1, servers)]
    return [rates.index(max(rates)) + 1, max(rates)]


def copied(tokens, devices, limit, *, before=0, grows=False, mean=None):
    """The answer of exercise 11, and what people get wrong in it."""
    count, mean = [1] * len(tokens), sum(tokens) / devices if mean is None else mean(tokens)
    while True:
        load = [many / n for many, n in zip(tokens, count, strict=True)]
        level = sum(t * n for t, n in zip(tokens, count, strict=True)) / devices if grows else mean
        if max(load) <= limit * level:
            return [sum(count) - len(tokens) + before * len(tokens), max(load) / level]
        count[load.index(max(load))] += 1


def overlapped(batch, weights, each, sent, *, reads=2, longer=max):
    """The answer of exercise 12, and what people leave out of it."""
    halves = longer(reads * weights + each * batch, sent * batch)
    gain = (weights + (each + sent) * batch) / halves
    return {"gain": gain, "pays_from": 2 * math.floor(weights / (2 * sent)) + 2}


def indexed(batch, latent, key, chosen, weights, *, shared=True, picked=True):
    """The answer of exercise 13, and what people leave out of it."""
    fixed = weights * (1 if shared else batch) + (batch * chosen * latent if picked else 0)
    return int(fixed // (batch * (latent - key))) + 1


def drafts_of(accepted, cost, *, own=1, chained=True, drafts=None):
    """The answer of exercise 14, and what people leave out of it."""
    gains = [
        (own + sum(math.prod(accepted[: n + 1]) if chained else accepted[n] for n in range(many)))
        / (1 + cost * (many if drafts is None else drafts(many)))
        for many in range(len(accepted) + 1)
    ]
    gains[0] = 1.0
    return [gains.index(max(gains)), max(gains)]


# The same answers by another way, for any numbers: tests compare them with the solutions.


def read_chunk_by_chunk(prompt: int, chunk: int, bytes_per_token: int) -> int:
    """Bytes that each chunk finds in the cache."""
    return sum(range(0, prompt, chunk)) * bytes_per_token


def servers_until_enough(
    prompt_ms: int, steps: int, step_ms: int, batch: int, decode_servers: int
) -> int:
    """Servers until as many prompts are prefilled as answers are completed."""
    servers = 1
    while servers * steps * step_ms < decode_servers * batch * prompt_ms:
        servers += 1
    return servers


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


def devices_by_halving(layers: int, wait_us: float, gigabytes: float, tera_bytes: float) -> float:
    """Where reading a part of the weights takes as long as all waits."""
    waits = 4 * layers * wait_us * 1e-6
    low, high = 1e-6, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        longer = gigabytes * 1e9 / middle / (tera_bytes * 1e12) > waits
        low, high = (middle, high) if longer else (low, middle)
    return low


def cut_token_by_token(
    free: float,
    kv_bytes: int,
    context: int,
    dcp: int,
    layers: int,
    wait_us: float,
    bytes_per_s: float,
) -> list[float]:
    """Device 0 keeps every dcp-th token; one sequence more as long as it fits."""
    mine, fit = len(range(0, context, dcp)) * kv_bytes, 0
    while (fit + 1) * mine <= free:
        fit += 1
    before = context * kv_bytes / bytes_per_s
    after = mine / bytes_per_s + 3e-6 * layers * wait_us
    return [fit, 1e6 * (before - after)]


def both_rounds(
    batch: int, d_model: int, devices: int, wait_us: float, gb_per_s: float
) -> dict[str, float]:
    """A round sends so many vectors; two straight lines cross where their distance is gone."""

    def times(many: float) -> tuple[float, float]:
        vector = many * d_model * 2 / gb_per_s / 1000
        part = vector / devices
        return wait_us + (devices - 1) * vector, 2 * (wait_us + (devices - 1) * part)

    ahead, later = (two - one for one, two in (times(0), times(1)))
    one, two = times(batch)
    return {"one_shot": one, "two_shot": two, "equal_at": ahead / (ahead - later)}


def division_by_trying(
    servers: int,
    prefill_ms: float,
    busy: float,
    weights_us: float,
    each_us: float,
    itl_ms: float,
    steps: int,
) -> list[float]:
    """Requests per second of each division, from the largest batch whose step is in time."""
    batch = 0
    while weights_us + each_us * (batch + 1) <= 1000 * itl_ms:
        batch += 1
    answer = steps * (weights_us + each_us * batch) / 1e6
    best = [0, -1.0]
    for prefill in range(1, servers):
        rate = min(1000 * prefill * busy / prefill_ms, batch * (servers - prefill) / answer)
        best = [prefill, rate] if rate > best[1] else best
    return best


def overlap_by_trying(batch: int, weights: float, each: float, sent: float) -> dict[str, float]:
    """Both steps, and even batches until overlap is the shorter."""

    def both(many: int) -> tuple[float, float]:
        half = max(weights + each * many / 2, sent * many / 2)
        return weights + each * many + sent * many, half + half

    pays = 2
    while both(pays)[0] <= both(pays)[1]:
        pays += 2
    return {"gain": both(batch)[0] / both(batch)[1], "pays_from": pays}


def indexer_token_by_token(batch: int, latent: int, key: int, chosen: int, weights: int) -> int:
    """From what both read at the chosen tokens on, until the sparse step reads less."""
    context = chosen
    while batch * (context * key + chosen * latent) + weights >= batch * context * latent:
        context += 1
    return context


def drafts_by_reach(accepted: list[float], cost: float) -> list[float]:
    """A draft yields a token if all up to it are accepted."""
    best = [0, 1.0]
    for drafts in range(1, len(accepted) + 1):
        reached = [math.prod(accepted[:place]) for place in range(drafts + 1)]
        rate = sum(reached) / (1 + drafts * cost)
        best = [drafts, rate] if rate > best[1] else best
    return best
