"""What is right, and what people make of it, in exercises on training."""

DAY = 86400


def layers(batch, seq, d_model, heads, *, scores=5, linear=34, kept=2):
    """The answer of exercise 2."""
    tokens = batch * seq
    each = linear * tokens * d_model
    return [each + scores * tokens * heads * seq, each, kept * tokens * d_model]


def uses(mfu, layers, d_model, vocab, seq, *, logits=True, again=1):
    """The answer of exercise 3."""
    matrices, core = 24 * layers * d_model**2, 4 * layers * d_model * seq
    out = 2 * d_model * vocab
    needed = 3 * (matrices + core + (out if logits else 0))
    return [mfu * (1 + again * more / needed) for more in (core, matrices + core)]


def days(params, tokens, devices, sparse_peak, mfu, *, flops=6, halved=True, unit=DAY):
    """The answer of exercise 4."""
    return flops * params * tokens / (devices * sparse_peak / (2 if halved else 1) * mfu) / unit


def reach(params, tokens, device_hours, peak, again, *, flops=6, hour=3600):
    """The answer of exercise 5."""
    mfu = flops * params * tokens / (device_hours * hour * peak)
    return [mfu, mfu * (1 + again)]


def thin(d_model, d_ff, rank, *, frozen=4, own=6, one_side=False, gate=True):
    """The answer of exercise 6."""
    feeds = 3 if gate else 2
    weights = 4 * d_model**2 + feeds * d_model * d_ff
    sides = 4 * 2 * d_model + feeds * (d_model + d_ff)
    added = rank * (4 * d_model + feeds * d_model if one_side else sides)
    return [added, frozen * weights + own * added]


def interval(params, bytes_per_s, hours_between, devices, *, each=14, two=2, share=True):
    """The answer of exercise 7."""
    write = each * params / bytes_per_s / 60
    between = 60 * hours_between / (devices if share else 1)
    return (two * write * between) ** 0.5


def split(flops, a, b, alpha, gamma, *, each=6, power=None):
    """The answer of exercise 8."""
    balance = (alpha * a / (gamma * b)) ** (1 / (alpha + gamma))
    power = gamma / (alpha + gamma) if power is None else power
    params = balance * (flops / each) ** power
    return [params, flops / each / params]


def balanced(flops, a, b, alpha, gamma):
    """Parameters and tokens by halving an interval until both terms fall equally fast."""
    low, high = 1.0, flops
    while high / low > 1 + 1e-14:
        middle = (low * high) ** 0.5
        tokens = flops / 6 / middle
        if alpha * a / middle**alpha > gamma * b / tokens**gamma:
            low = middle
        else:
            high = middle
    return [low, flops / 6 / low]


def faster_with_casts(
    k, n, flops_per_s, bytes_per_s, faster, bytes_each, *, products=3, written=2, sides=None
):
    """The gain of exercise 10."""
    usual = products * 2 * k * n / flops_per_s
    elements = k + n if sides is None else sides * k
    casts = elements * (2 + written * bytes_each) / bytes_per_s
    return usual / (usual / faster + casts)


def run_at(devices, per_device, tokens_per_s, fewest_steps, critical, *, how="steps"):
    """The two numbers of exercise 11."""
    batch = per_device if how == "one device" else devices * per_device
    more = batch / critical if how == "upside down" else critical / batch
    steps = fewest_steps * (more if how == "no minimum" else 1 + more)
    steps = fewest_steps if how == "the fewest" else steps
    hours = steps * per_device / tokens_per_s / 3600
    return [hours, devices * hours]


def ended(work, interval, write, restart, failures, *, last=True, keeps=False, again=True):
    """The answer of exercise 13; the words are what people get wrong."""
    now, safe, ahead = 0, 0, list(failures)
    while safe < work:
        piece = min(interval, work - safe)
        is_last = safe + piece >= work
        done = now + piece + (write if last or not is_last else 0)
        if not ahead or ahead[0] >= done:
            now, safe = done, safe + piece
            continue
        failed = ahead.pop(0)
        if keeps and failed >= now + piece:
            safe += piece
        now = failed + restart
        while ahead and ahead[0] < now:
            now = ahead.pop(0) + restart if again else (ahead.pop(0), now)[1]
    return now


def state(params, gradient_bytes, *, weights=2, optimizer=12, giga=10**9):
    """The answer of exercise 1."""
    return [params * size / giga for size in (weights, gradient_bytes, optimizer)]


def newton_schulz(rows, columns, tokens, repeats, *, step=6, shorter=min, longer=max):
    """The answer of exercise 12, and what people leave out of it."""
    k, n = shorter(rows, columns), longer(rows, columns)
    return repeats * 5 * (4 * k**2 * n + 2 * k**3) / (step * tokens * k * n)


# The same answer by another way, for any numbers.


def casts_of_a_token(
    k: int, n: int, flops_per_s: float, bytes_per_s: float, faster: float, bytes_each: float
) -> float:
    """What one token takes: three products, and every element in, twice out."""
    products = sum(2 * k * n / flops_per_s for _ in ("forward", "inputs", "weights"))
    casts = sum((2 + bytes_each + bytes_each) / bytes_per_s for _ in range(k + n))
    return products / (products / faster + casts)
