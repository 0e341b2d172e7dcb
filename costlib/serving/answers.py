"""Does a model fit, how fast is it, what binds it, and what does it cost to serve?

`answer` answers these questions from the ledger, each with the sum behind its number and the
section of the book that derives it. The command ``costlib`` prints the same answers.

Left out: whatever `costlib.serving.Server` leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from costlib.model.kvcache import RESERVE, Memory, largest_context, memory
from costlib.model.transformer import Transformer
from costlib.serving.money import per_million
from costlib.serving.server import Server
from costlib.timing.roofline import Limit, limits
from costlib.timing.sweeps import usual_context
from costlib.units.display import facts_html, quantity
from costlib.units.ledger import Ledger
from costlib.units.numbers import amount, is_zero, one_size
from costlib.units.precision import Precision, precision_of

__all__ = ["Answer", "Answers", "answer", "digits"]

_MILLION = 10**6  # below it, counts are shown to the last digit


@dataclass(frozen=True, slots=True)
class Answer:
    """One number: its name for programs and for people, its unit, the sum that made it, and the
    section of the book that derives it.
    """

    key: str
    name: str
    value: Any
    unit: str
    why: str
    where: str

    @property
    def shown(self) -> str:
        """The value as text, with its unit."""
        if isinstance(self.value, (bool, str)):
            return self.value if isinstance(self.value, str) else "yes" if self.value else "no"
        if self.value == inf:
            return "unlimited"
        if self.unit == "$":
            return f"${digits(self.value)}"
        if self.unit == "share":
            return f"{self.value:.1%}"
        if self.unit in ("tokens", "tokens/s") or (self.unit == "" and self.value < _MILLION):
            return f"{digits(self.value)} {self.unit}".strip()
        return quantity(self.value, self.unit)


def digits(value: float) -> str:
    """All digits of a count, four of what is measured.

    >>> digits(12867), digits(25790.3), digits(0.67894)
    ('12,867', '25,790', '0.6789')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


@dataclass(frozen=True, slots=True, repr=False)
class Answers:
    """The answers about a model on a device, in order; ``answers["tpot_s"]`` is one of them."""

    server: Server
    batch: int
    context: int
    prompt: int
    rows: tuple[Answer, ...]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Any:
        for row in self.rows:
            if row.key == name:
                return row.value
        raise KeyError(f"no answer is called {name!r}; there are {', '.join(self.plain())}")

    @property
    def fits(self) -> bool:
        """Whether all sequences of the batch fit in the usable memory."""
        return bool(self["fits"])

    @property
    def charged(self) -> Memory | None:
        """What the engine charges on the fullest device: weights as loaded, KV caches as charged,
        and in ``buffers`` what it keeps for all else; None without an engine.

        >>> found = answer("gemma-3-12b", "A100-80GB", batch=8, context=16384, engine="vllm")
        >>> round(found.charged.kv / 1e9, 1), round(found.server.cache_bytes(16385, 8) / 1e9, 1)
        (16.7, 11.3)
        """
        engine, precision = self.server.engine, self.server.precision
        if engine is None:
            return None
        stage, _ = self.server.fullest(self.batch, self.context)
        capacity, weights = self.server.device.capacity, engine.weights(stage, precision)
        caches = self.batch * engine.charged(stage, self.context + 1, precision)
        left = capacity - weights - engine.given(stage, capacity, precision)
        return Memory(weights=weights, kv=caches, buffers=left)

    def plain(self) -> dict[str, Any]:
        """Values by key, as JSON can hold them; an unlimited value is None."""
        return {row.key: None if row.value == inf else row.value for row in self}

    def __repr__(self) -> str:
        """The same as `print` shows: a line for each answer, of 80 columns at most."""
        about = f"{self.server.machine}: {self.batch:,} × {self.context:,} tokens"
        width = max(len(row.name) for row in self)
        return "\n".join([about, *(f"{row.name.ljust(width)}  {row.shown}" for row in self)])

    def _repr_html_(self) -> str:
        return facts_html((row.name, row.shown, row.why) for row in self)


def answer(
    model: Any,
    device: Any,
    *,
    tensor: int | None = None,
    pipeline: int = 1,
    expert: int = 1,
    data: int = 1,
    dcp: int = 1,
    latency: float | None = None,
    batch: int = 1,
    context: int | None = None,
    prompt: int | None = None,
    precision: Precision | str | None = None,
    price_per_hour: float | None = None,
    watts: float | None = None,
    engine: Any = None,
) -> Answers:
    """Whether a model fits on one or many devices, how fast it is, what binds it and what it costs.

    Device and degrees are those of `costlib.serving.Server`: "H100-SXMx8" are eight devices with
    tensor parallelism unless told otherwise. A decode step generates one token for each of
    ``batch`` sequences of a copy, with ``context`` tokens cached (4,096, or as many as the model
    was trained for if these are fewer). A prompt has ``prompt`` tokens, or as many as the context.
    ``price_per_hour`` (dollars) and ``watts`` are of one device. With an ``engine`` ("vllm",
    "sglang", "llama.cpp", "tensorrt-llm") memory is counted as that engine does, with its pages and
    what it keeps for itself.

    >>> found = answer("llama-3.1-8b", "H100-SXM", batch=8, context=8192, price_per_hour=3.99)
    >>> found.fits, found["largest_batch"], round(found["output_tokens_per_s"])
    (True, 57, 1131)
    >>> next(row.why for row in found if row.key == "kv_bytes_per_token")
    '32 layers × 2,048 elements × 2 bytes'
    >>> found = answer("llama-3.1-405b", "DGX-H100x2", pipeline=2, batch=64)
    >>> next(row.why for row in found if row.key == "memory_bytes").partition(": ")[2]
    '63 of 126 layers and the unembedding, on the fullest of 16 devices'
    """
    server = Server(model, device, precision, tensor, pipeline, expert, data, latency, engine, dcp)
    context = usual_context(server.model) if context is None else context
    batch, context = one_size("batch", batch), one_size("context", context)
    server.check_trained(context)
    prompt = context if prompt is None else one_size("prompt", prompt)
    rows = [*_of_model(server), *_of_memory(server, batch, context)]
    step, first = _step(server, batch, context), _prompt(server, prompt)
    rows += _of_time(server, batch, context, prompt, step, first)
    rows += _of_money(server, batch, prompt, step.seconds, price_per_hour, watts)
    return Answers(server, batch, context, prompt, tuple(rows))


# ---------------------------------------------------------------- the model, and its memory


def _of_model(server: Server) -> Iterator[Answer]:
    model, where = server.model, "transformer.html#to-the-last-parameter"
    params, active = model.params(), model.active_params()
    why = f"{params:,} in {model.layers} layers and at both ends"
    yield Answer("params", "parameters", params, "", why, where)
    if active != params:
        moe = "transformer.html#mixtures-of-experts-stored-used-read"
        why = f"{active / params:.1%} of them: a token meets the experts it is sent to"
        yield Answer("active_params", "active parameters per token", active, "", why, moe)
    each = model.weight_bytes(server.precision)
    why = f"{params:,} parameters × {each / params:.4g} bytes"
    yield Answer("weight_bytes", "weights", each, "B", why, "kvcache.html#what-fits")
    yield from _of_a_token(server)


def _of_a_token(server: Server) -> Iterator[Answer]:
    width, where = server.element_bytes, "kvcache.html#what-a-token-leaves-behind"
    grows = [(c, layers) for c, layers in server.model.caches() if c.per_token]
    if grows:
        why = " + ".join(_kept(cache, layers) for cache, layers in grows)
        why = f"({why})" if len(grows) > 1 else why
        token = server.model.kv_elements_per_token() * width
        why += f" × {width:g} bytes"
        yield Answer("kv_bytes_per_token", "KV cache per token", token, "B", why, where)
    state = server.model.state_elements()
    if state:
        why = f"{state:,} elements × {width:g} bytes, however long the sequence"
        long = "serving_faster.html#a-long-past"
        yield Answer("state_bytes", "state per sequence", state * width, "B", why, long)


def _kept(cache: Any, layers: int) -> str:
    """What a kind of layer keeps of a token, in words."""
    text = f"{layers} layers × {cache.per_token:,} elements"
    text += f" for every {cache.every} tokens" if cache.every != 1 else ""
    return text + (f" of the last {cache.window:,} tokens" if cache.window else "")


def _of_memory(server: Server, batch: int, context: int) -> Iterator[Answer]:
    where = "kvcache.html#what-fits"
    share, held = server.fullest(batch, context)
    given, precision = server.device.usable, server.precision
    sums = f"weights {held.weights / 1e9:.4g} + cache {held.kv / 1e9:.4g} + activations "
    sums += f"{held.activations / 1e9:.2g} GB{_which(server, share)}"
    yield Answer("memory_bytes", "memory needed per device", held.total, "B", sums, where)
    if server.engine is not None:
        yield from _as_charged(server, batch, context)
        return
    capacity = f"{server.device.capacity / 1e9:.4g} GB less {RESERVE:.0%} for what else needs room"
    yield Answer("usable_bytes", "usable memory per device", given, "B", capacity, where)
    sign = "≤" if held.total <= given else ">"
    why = f"{held.total / 1e9:.4g} {sign} {given / 1e9:.4g} GB"
    yield Answer("fits", "fits", bool(held.total <= given), "", why, where)
    stages = [stage for stage, _ in server.stages]
    least = min(stages, key=lambda stage: server.room_of(stage, context + 1))
    one = memory(least, 1, context, precision)
    why = f"({given / 1e9:.4g} − {one.weights / 1e9:.4g} GB) / "
    why += f"{(one.kv + one.activations) / 1e9:.4g} GB a sequence"
    why += ", in each copy" if server.data > 1 else ""
    most = server.room(context + 1)
    yield Answer("largest_batch", "largest batch", most, "", why, where)
    longest = [largest_context(each, server.device, batch, precision) for each in stages]
    each = "one sequence" if batch == 1 else f"each of {batch:,} sequences"
    room = max(0, given - one.weights) / 1e9
    why = f"this many cached tokens and a new one of {each} fit in the {room:.4g} GB "
    why += "beside the weights"
    long = max(0, min(each.largest for each in longest) - 1)
    yield Answer("largest_context", "longest context", long, "tokens", why, where)


def _as_charged(server: Server, batch: int, context: int) -> Iterator[Answer]:
    """What an engine gives its caches, and charges for them, on the fullest device."""
    engine, precision, capacity = server.engine, server.precision, server.device.capacity
    where = "kvcache.html#what-engines-charge"
    stages = [stage for stage, _ in server.stages]
    least = min(stages, key=lambda stage: server.room_of(stage, context + 1))
    given = max(0, engine.given(least, capacity, precision))
    loaded = engine.weights(least, precision) / 1e9
    why = f"{engine.share:.0%} of the memory ({engine.setting} of {engine.name} {engine.version}) "
    why += f"less weights, {loaded:.4g} GB as loaded, and what a pass needs"
    yield Answer("kv_cache_capacity_bytes", "memory for KV caches", given, "B", why, where)
    each = engine.charged(least, context + 1, precision)
    exact = least.kv_bytes(1, context + 1, precision)
    times = f", {each / exact:.2f} times the {exact / 1e9:.4g} GB that it fills" if exact else ""
    why = f"a sequence of {context + 1:,} tokens in the pages of {engine.name}{times}"
    yield Answer(
        "charged_kv_bytes_per_sequence", "KV cache per sequence, as charged", each, "B", why, where
    )
    most = server.room(context + 1)
    sign = "≤" if batch <= most else ">"
    why = f"{batch:,} × {each / 1e9:.4g} GB {sign} {given / 1e9:.4g} GB"
    yield Answer("fits", "fits", bool(batch <= most), "", why, where)
    why = f"{given / 1e9:.4g} GB / {each / 1e9:.4g} GB a sequence"
    why += ", in each copy" if server.data > 1 else ""
    yield Answer("largest_batch", "largest batch", most, "", why, where)
    each = "one sequence" if batch == 1 else f"each of {batch:,} sequences"
    why = f"this many cached tokens and a new one of {each} fit in the pages of {engine.name}"
    long = _longest_charged(server, batch)
    yield Answer("largest_context", "longest context", long, "tokens", why, where)


def _longest_charged(server: Server, batch: int) -> Any:
    """The longest context at which ``batch`` sequences fit, by halving; one token is written."""
    most = server.model.learned_positions
    low, high = 0, most or 2**26
    if server.room(high) >= batch:
        return most or inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if server.room(middle) >= batch else (low, middle)
    return max(0, low - 1)


def _which(server: Server, stage: Transformer) -> str:
    """Which devices hold so much, in words."""
    if server.devices == 1:
        return ""
    if server.pipeline == 1:
        return f", each of {server.devices} devices"
    ends = "" if stage.sends_over else " and the unembedding"
    ends = " and the embedding" if stage.is_first else ends
    of = f"{stage.layers} of {server.model.layers} layers{ends}"
    return f": {of}, on the fullest of {server.devices} devices"


# ---------------------------------------------------------------- time


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass over the model: its seconds, what most of them are spent on, and the sum in words."""

    seconds: float
    binds: str
    why: str


def _step(server: Server, batch: int, context: int) -> _Pass:
    """A step of a batch, in groups where there are stages."""
    groups, each = server.groups(batch)
    passes = server.passes(each, context, 1, logits="last")
    if server.pipeline == 1:
        return _spent_on(server, passes, _on_each(server))
    of = f"{server.pipeline} stages"
    seconds = [float(server.seconds(work)) for work, _ in passes]
    slowest = max(range(len(passes)), key=lambda which: seconds[which])
    through = sum(spent * n for spent, (_, n) in zip(seconds, passes, strict=True))
    if through >= groups * seconds[slowest]:
        return _spent_on(server, passes, _through_all(server))
    found = _spent_on(server, [(passes[slowest][0], 1)], _on_each(server))
    stage = server.stages[slowest][0]
    told = f"{groups} groups of {each:,}, {quantity(found.seconds, 's')} each in the slowest of "
    told += f"{of}, {stage.layers} of {server.model.layers} layers: {found.why}"
    return replace(found, seconds=groups * found.seconds, why=told)


def _prompt(server: Server, prompt: int) -> _Pass:
    """A prompt alone, through all stages."""
    told = _through_all(server) if server.pipeline > 1 else _on_each(server)
    return _spent_on(server, server.passes(1, 0, prompt, logits="last"), told)


def _on_each(server: Server) -> str:
    return "on each device " if server.devices > 1 else ""


def _through_all(server: Server) -> str:
    return f"through one device of each of {server.pipeline} stages: "


def _spent_on(server: Server, passes: list[tuple[Ledger, int]], told: str = "") -> _Pass:
    """Passes one after another, each with how often it runs."""
    device, precision = server.device, server.precision
    points = [(point, n) for work, n in passes for point in limits(work, device, precision)]
    spent: dict[str, float] = {}
    for point, n in points:
        for name, time in _parts(point):
            spent[name] = spent.get(name, 0) + n * time
    computing = sum(n * float(point.compute_time) for point, n in points)
    moving = sum(n * float(point.memory_time) for point, n in points)
    moved = sum(n * float(point.bytes) for point, n in points)
    flops = sum(n * work.flops for work, n in passes)
    rate = max((point for point, _ in points), key=lambda point: point.flops).compute
    why = f"{told}computing {quantity(flops, 'FLOP')} in {rate} takes {quantity(computing, 's')}, "
    why += f"moving {quantity(moved, 'B')} takes {quantity(moving, 's')}"
    sending = spent.get("sending", 0)
    waiting = spent.get("waiting", 0)
    why += f", sending takes {quantity(sending, 's')}" if sending else ""
    why += f", waiting for messages {quantity(waiting, 's')}" if waiting else ""
    why += "; op by op, the longer of computing and moving counts"
    seconds = sum(n * float(server.seconds(work)) for work, n in passes)
    return _Pass(seconds, max(spent, key=lambda name: spent[name]), why)


def _parts(point: Limit) -> Iterator[tuple[str, float]]:
    """Seconds of one op, by what they are spent on."""
    busy = "compute" if point.is_compute_bound else "memory"
    yield busy, float(point.busy)
    yield "overhead" if is_zero(point.sending_time) else "waiting", float(point.overhead)
    yield "sending", float(point.sending_time)


def _of_time(
    server: Server, batch: int, context: int, prompt: int, step: _Pass, first: _Pass
) -> Iterator[Answer]:
    where, roof = "serving.html#one-step-four-limits", "roofline.html#every-op-is-a-point"
    why = f"a prompt of {prompt:,} tokens: {first.why}"
    yield Answer("ttft_s", "time to first token (TTFT)", first.seconds, "s", why, where)
    most = "what most of that time goes into"
    yield Answer("prefill_bound", "prefill is bound by", first.binds, "", most, roof)
    why = f"{batch:,} × {context:,} tokens: {step.why}"
    yield Answer("tpot_s", "time per output token (TPOT)", step.seconds, "s", why, where)
    yield Answer("decode_bound", "decode is bound by", step.binds, "", most, roof)
    each, gives = 1 / step.seconds, "serving.html#what-one-gives-up-all-get"
    why = f"1 / {quantity(step.seconds, 's')}"
    yield Answer(
        "output_tokens_per_s_per_user", "output tokens/s per user", each, "tokens/s", why, gives
    )
    many = server.data * batch
    why = f"{batch:,} / {quantity(step.seconds, 's')}"
    why += f" × {server.data} copies" if server.data > 1 else ""
    yield Answer(
        "output_tokens_per_s", "output tokens/s in total", many * each, "tokens/s", why, gives
    )
    yield from _when_full(server, context)


def _when_full(server: Server, context: int) -> Iterator[Answer]:
    """As many sequences as fit; and with weights in 4 bits, which leave room for more of them."""
    where = "serving.html#fewer-bits-make-room"
    own: Precision = server.model.precision
    if server.precision is not None:
        own = precision_of(server.precision)
    names = [("full_batch_output_tokens_per_s", "output tokens/s, full batch", server)]
    if own.weights > 1:
        packed = server.with_(precision=own.with_(weights="int4"))
        name = "output tokens/s, full batch, int4"
        names.append(("int4_full_batch_output_tokens_per_s", name, packed))
    for key, name, each in names:
        most = each.room(context + 1)
        if 0 < most < inf:
            rate = float(each.data * most / each.step(most, context))
            why = f"as many as fit: {most:,} sequences of {context:,} tokens"
            why += ", in each copy" if each.data > 1 else ""
            yield Answer(key, name, rate, "tokens/s", why, where)


# ---------------------------------------------------------------- money and energy


def _of_money(
    server: Server, batch: int, prompt: int, step: float, price: float | None, watts: float | None
) -> Iterator[Answer]:
    where, many = "serving.html#what-a-million-tokens-cost", server.devices
    of = "1 device" if many == 1 else f"{many} devices"
    read = float(server.busy(prompt)) / (prompt * server.data)
    written = step / (batch * server.data)
    for kind, seconds in (("input", read), ("output", written)):
        each = f"{quantity(seconds, 's')} a token"
        if price is not None:
            paid = per_million(seconds, amount("price_per_hour", price, least=0) * many)
            why = f"10⁶ × {each} × ${price:g} an hour × {of}"
            told = f"price per million {kind} tokens"
            yield Answer(f"usd_per_million_{kind}_tokens", told, paid, "$", why, where)
        if watts is not None:
            joules = 1e6 * seconds * amount("watts", watts, least=0) * many
            why = f"10⁶ × {each} × {watts:g} W × {of}"
            told = f"energy per million {kind} tokens"
            yield Answer(f"joules_per_million_{kind}_tokens", told, joules, "J", why, where)
