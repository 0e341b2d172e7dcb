"""What everybody asks who serves a model: does it fit, how fast, what binds, what does it cost?

`answer` asks the ledger all of it at once, and every number comes with the sum that made it and the
section of the book that derives it. The command ``costlib`` prints the same answers.

Left out: whatever `costlib.serving.Server` leaves out; devices share every layer (tensor
parallelism), and copies of a server add up without a formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from costlib.display import facts_html, quantity
from costlib.kvcache import RESERVE, largest_batch, largest_context, memory
from costlib.ledger import Ledger
from costlib.numbers import amount, size
from costlib.precision import Precision
from costlib.roofline import Limit, limits
from costlib.serving.money import per_million
from costlib.serving.server import Server

__all__ = ["Answer", "Answers", "answer"]

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
        """The value as a reader wants to see it."""
        if isinstance(self.value, (bool, str)):
            return self.value if isinstance(self.value, str) else "yes" if self.value else "no"
        if self.value == inf:
            return "without end"
        if self.unit == "$":
            return f"${self.value:,.4g}"
        if self.unit in ("", "tokens") and self.value < _MILLION:
            digits = "," if isinstance(self.value, int) else ",.4g"
            return f"{self.value:{digits}} {self.unit}".strip()
        return quantity(self.value, self.unit)


@dataclass(frozen=True, slots=True)
class Answers:
    """What is asked, and every answer to it, in order; ``answers["per_token_s"]`` is one."""

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
        """Whether so many sequences of so many tokens lie in the memory that is given out."""
        return bool(self["fits"])

    def plain(self) -> dict[str, Any]:
        """Values by key, as JSON can hold them: what has no end is None."""
        return {row.key: None if row.value == inf else row.value for row in self}

    def _repr_html_(self) -> str:
        return facts_html((row.name, row.shown, row.why) for row in self)


def answer(
    model: Any,
    device: Any,
    *,
    devices: int = 1,
    batch: int = 1,
    context: int = 4096,
    prompt: int | None = None,
    precision: Precision | str | None = None,
    price_per_hour: float | None = None,
    watts: float | None = None,
) -> Answers:
    """All that a model on a device, or on several that share it, is asked before it is rented.

    A step writes one token for each of ``batch`` sequences with ``context`` tokens cached; a prompt
    has as many, or ``prompt``. Price and watts, of one device, are yours.

    >>> found = answer("llama-3.1-8b", "H100-SXM", batch=8, context=8192, price_per_hour=3.99)
    >>> found.fits, found["largest_batch"], round(found["all_tokens_per_s"])
    (True, 57, 1131)
    >>> next(row.why for row in found if row.key == "token_cache_bytes")
    '32 layers × 2,048 elements × 2 bytes'
    """
    server = Server(model, device, precision, int(size("devices", devices)))
    batch, context = int(size("batch", batch)), int(size("context", context))
    prompt = context if prompt is None else int(size("prompt", prompt))
    rows = [*_of_model(server), *_of_memory(server, batch, context)]
    step = _pass(server, batch, context, 1)
    first = _pass(server, 1, 0, prompt)
    rows += _of_time(batch, context, prompt, step, first)
    rows += _of_money(server, batch, prompt, step.seconds, first.seconds, price_per_hour, watts)
    return Answers(server, batch, context, prompt, tuple(rows))


# ---------------------------------------------------------------- the model, and its memory


def _of_model(server: Server) -> Iterator[Answer]:
    model, where = server.model, "transformer.html#to-the-last-parameter"
    params, active = model.params(), model.active_params()
    yield Answer("params", "parameters", params, "", f"{params:,} of {model.layers} layers", where)
    if active != params:
        moe = "transformer.html#mixtures-of-experts-stored-used-read"
        why = f"{active / params:.1%} of them: a token meets the experts it is sent to"
        yield Answer("active_params", "parameters a token uses", active, "", why, moe)
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
        yield Answer(
            "token_cache_bytes", "cache of a token", token, "B", f"{why} × {width:g} bytes", where
        )
    state = server.model.state_elements()
    if state:
        why = f"{state:,} elements × {width:g} bytes, however long the sequence"
        long = "serving.html#a-long-past"
        yield Answer("state_bytes", "state of a sequence", state * width, "B", why, long)


def _kept(cache: Any, layers: int) -> str:
    """What a kind of layer keeps of a token, in words."""
    text = f"{layers} layers × {cache.per_token:,} elements"
    text += f" for every {cache.every} tokens" if cache.every != 1 else ""
    return text + (f" of the last {cache.window:,} tokens" if cache.window else "")


def _of_memory(server: Server, batch: int, context: int) -> Iterator[Answer]:
    where, share = "kvcache.html#what-fits", server.share
    held = memory(share, batch, context, server.precision)
    given, many = server.device.usable, server.tensor
    sums = f"weights {held.weights / 1e9:.4g} + cache {held.kv / 1e9:.4g} + activations "
    sums += f"{held.activations / 1e9:.2g} GB" + (f", each of {many} devices" if many > 1 else "")
    yield Answer("held_bytes", "memory it takes", held.total, "B", sums, where)
    capacity = f"{server.device.capacity / 1e9:.4g} GB less {RESERVE:.0%} for what else needs room"
    yield Answer("given_bytes", "memory given out", given, "B", capacity, where)
    sign = "≤" if held.total <= given else ">"
    why = f"{held.total / 1e9:.4g} {sign} {given / 1e9:.4g} GB"
    yield Answer("fits", "fits", bool(held.total <= given), "", why, where)
    one = memory(share, 1, context, server.precision)
    why = f"({given / 1e9:.4g} − {one.weights / 1e9:.4g} GB) / "
    why += f"{(one.kv + one.activations) / 1e9:.4g} GB a sequence"
    most = largest_batch(share, server.device, context + 1, server.precision).largest
    yield Answer("largest_batch", "largest batch", most, "", why, where)
    long = max(0, largest_context(share, server.device, batch, server.precision).largest - 1)
    each = "a sequence" if batch == 1 else f"each of {batch:,} sequences"
    why = f"as many tokens of {each} as the room beside the weights holds"
    yield Answer("largest_context", "longest context", long, "tokens", why, where)


# ---------------------------------------------------------------- time


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass over the model: its seconds, what most of them are spent on, and the sum in words."""

    work: Ledger
    seconds: float
    binds: str
    why: str


def _pass(server: Server, batch: int, context: int, new: int) -> _Pass:
    work = server.share.decode(batch, context, new, logits="last")
    seconds, device = server.seconds(work), server.device
    points = limits(work, device, server.precision)
    spent: dict[str, float] = {}
    for point in points:
        for name, time in _spent(point):
            spent[name] = spent.get(name, 0) + time
    computing = sum(float(point.compute_time) for point in points)
    moving = sum(float(point.memory_time) for point in points)
    moved = sum(float(point.bytes) for point in points)
    rate = max(points, key=lambda point: point.flops).compute
    why = f"{quantity(work.flops, 'FLOP')} in {rate} take {quantity(computing, 's')}, "
    why += f"{quantity(moved, 'B')} take {quantity(moving, 's')}"
    sending = spent.get("sending", 0)
    why += f", messages {quantity(sending, 's')}" if sending else ""
    return _Pass(work, float(seconds), max(spent, key=lambda name: spent[name]), why)


def _spent(point: Limit) -> Iterator[tuple[str, float]]:
    """Seconds of one op, by what they are spent on."""
    busy = "compute" if point.is_compute_bound else "memory"
    yield busy, float(point.busy)
    yield "overhead", float(point.overhead)
    yield "sending", float(point.sending_time)


def _of_time(batch: int, context: int, prompt: int, step: _Pass, first: _Pass) -> Iterator[Answer]:
    where, roof = "serving.html#one-step-four-limits", "roofline.html#every-op-is-a-point"
    why = f"a prompt of {prompt:,} tokens: {first.why}; the longer of the two, op by op"
    yield Answer("first_token_s", "time to first token", first.seconds, "s", why, where)
    yield Answer(
        "first_token_bound", "a prompt is bound by", first.binds, "", "the most of that time", roof
    )
    why = f"{batch:,} × {context:,} tokens: {step.why}; the longer of the two, op by op"
    yield Answer("per_token_s", "time per token", step.seconds, "s", why, where)
    yield Answer(
        "per_token_bound", "a step is bound by", step.binds, "", "the most of that time", roof
    )
    each, gives = 1 / step.seconds, "serving.html#what-one-gives-up-all-get"
    why = f"1 / {quantity(step.seconds, 's')}"
    yield Answer("one_tokens_per_s", "tokens a second, one", each, "tokens/s", why, gives)
    why = f"{batch:,} / {quantity(step.seconds, 's')}"
    yield Answer("all_tokens_per_s", "tokens a second, all", batch * each, "tokens/s", why, gives)


# ---------------------------------------------------------------- money and energy


def _of_money(
    server: Server,
    batch: int,
    prompt: int,
    step: float,
    first: float,
    price: float | None,
    watts: float | None,
) -> Iterator[Answer]:
    where = "serving.html#what-a-million-tokens-cost"
    read, written = first / prompt, step / batch
    for name, seconds in (("read", read), ("written", written)):
        each = f"{quantity(seconds, 's')} a token"
        if price is not None:
            paid = per_million(seconds, amount("price_per_hour", price, least=0) * server.tensor)
            why = f"10⁶ × {each} × ${price:g} an hour × {server.tensor}"
            yield Answer(f"dollars_per_million_{name}", f"a million {name}", paid, "$", why, where)
        if watts is not None:
            joules = 1e6 * seconds * amount("watts", watts, least=0) * server.tensor
            why = f"10⁶ × {each} × {watts:g} W × {server.tensor}"
            yield Answer(
                f"joules_per_million_{name}", f"energy of a million {name}", joules, "J", why, where
            )
