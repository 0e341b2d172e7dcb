"""Each question of the command as a function: what was asked in, a table out."""

from __future__ import annotations

import json
import sys
import textwrap
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, metadata
from itertools import product
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np

from costlib.command import asked
from costlib.command.table import WIDTH, Table, bold, plain
from costlib.model import catalog
from costlib.model.catalog import lookup
from costlib.model.catalog.prices import listed
from costlib.model.transformer import BeyondTraining, Transformer
from costlib.serving import Saturation, Server, best_batch, room_gain, saturation
from costlib.serving.answers import Answer, Answers, answer, digits
from costlib.serving.fleet import Fleet, fewest_devices
from costlib.serving.money import per_million
from costlib.serving.server import OutOfReach
from costlib.timing.roofline import limits
from costlib.timing.sweeps import BOUND
from costlib.timing.sweeps import columns as swept
from costlib.units.display import quantity
from costlib.units.numbers import amount

__all__ = ["QUESTIONS", "Sheet", "Unmet", "asked_for", "device_in", "rents"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Answers, a line each, with the sums beneath where they are wanted."""

    title: str
    found: Sequence[Answer]
    asked: dict[str, Any]
    why: bool = False
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Names and values; with ``why`` each sum and the section that derives it."""
        width = max(len(row.name) for row in self.found)
        indent = " " * (width + 2)
        wrap = textwrap.TextWrapper(
            WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        lines = [bold(line) for line in textwrap.wrap(self.title, WIDTH)]
        for row in self.found:
            lines.append(f"{row.name.ljust(width)}  {row.shown}")
            if self.why:
                lines += [*wrap.wrap(f"= {row.why}"), f"{indent}{_book()}{row.where}"]
        notes = [line for note in self.notes for line in textwrap.wrap(note, WIDTH)]
        return "\n".join([*lines, *notes])

    def json(self) -> str:
        """What was asked, and every answer by its key; with ``why`` its sum and section too."""
        told: dict[str, Any] = {"asked": self.asked}
        told["answers"] = {row.key: plain(row.value) for row in self.found}
        if self.why:
            told |= {name: {row.key: getattr(row, name) for row in self.found} for name in _REASONS}
        return json.dumps(told, indent=2)

    def csv(self) -> str:
        """A line for each answer, with its sum and section if ``why``."""
        names = ("key", "value", "unit", *(_REASONS if self.why else ()))
        columns = {name: [getattr(row, name) for row in self.found] for name in names}
        return Table("", columns, {}, {}).csv()


_REASONS = ("why", "where")


def _book() -> str:
    """The address of the book's pages, as an installed package knows it."""
    try:
        addresses = metadata("costlib").get_all("Project-URL") or []
    except PackageNotFoundError:  # a checkout that is not installed
        return ""
    named = dict(each.split(", ", 1) for each in addresses)
    return f"{named['Homepage'].rstrip('/')}/book/" if "Homepage" in named else ""


def asked_for(given: Namespace, *names: str) -> dict[str, Any]:
    """What was asked, by its key: the field's word with its unit.

    >>> asked_for(Namespace(on="T4", tpot=25.0, rate=None), "on", "tpot", "rate")
    {'device': 'T4', 'tpot_ms': 25.0}
    """
    told = {_KEYS.get(name, name): getattr(given, name, None) for name in names}
    return {key: value for key, value in told.items() if value is not None}


#: Keys of what was asked, where the name in the parser says neither kind nor unit.
_KEYS = {
    "on": "device",
    "wait": "wait_us",
    "prompt": "input_tokens",
    "answer": "output_tokens",
    "tpot": "tpot_ms",
    "ttft": "ttft_ms",
    "rate": "requests_per_s",
    "price": "usd_per_device_hour",
    "watts": "watts_per_device",
}


def _answers(
    given: Namespace, model: Transformer, device: str, plan: dict[str, Any], price: Any = None
) -> Answers:
    price = getattr(given, "price", None) if price is None else price
    step: dict[str, Any] = {"batch": given.batch, "context": given.context}
    step |= {"prompt": getattr(given, "prompt", None), "watts": getattr(given, "watts", None)}
    return answer(model, device, **plan, **_how(given), **step, price_per_hour=price)


def _how(given: Namespace) -> dict[str, Any]:
    """Precision, waits in seconds and engine, as every server takes them."""
    wait = getattr(given, "wait", None)
    found = {"precision": given.precision, "engine": getattr(given, "engine", None)}
    return {**found, "latency": None if wait is None else wait / 1e6}


_OF_SERVERS = ("model", "on", "plan", "wait", "precision", "engine", "price", "watts")
_CASE = (*_OF_SERVERS, "batch", "context", "prompt")


def everything(given: Namespace) -> tuple[Any, int]:
    """Does it fit, how fast, what binds, what does it cost?"""
    found = _answers(given, asked.model(given.model), given.on, given.plan)
    title = f"{_title(given)}: {_load(given, [given.plan])}"
    would = _what_would_do(found.server, found.context + 1, found.batch)
    notes = (would, asked.more_than_a_node(given.on))
    sheet = Sheet(title, found.rows, asked_for(given, *_CASE), given.why, notes)
    return sheet, 0 if found.fits else 1


def _what_would_do(server: Server, context: int, batch: int) -> str:
    """Of what does not fit, what would."""
    try:
        server.check(context, batch)
    except OutOfReach as problem:
        said = str(problem)
        return f"{said[0].upper()}{said[1:]}."
    return ""


def _load(given: Namespace, plans: Iterable[dict[str, int]]) -> str:
    """What is asked of a step, in words."""
    is_copied = any(plan.get("data", 1) > 1 for plan in plans)
    return f"{given.batch:,} × {given.context:,} tokens" + " in each copy" * is_copied


def _title(given: Namespace) -> str:
    return _told(given, _case(given.model, given.on, _cuts(given.plan)))


def _told(given: Namespace, case: str) -> str:
    """A case, and what else was asked for that changes its numbers."""
    precision = f"in {given.precision}" if given.precision else ""
    wait = f"{given.wait:g} µs a round" if getattr(given, "wait", None) else ""
    engine = f"as {given.engine} counts" if getattr(given, "engine", None) else ""
    return ", ".join(part for part in (case, precision, wait, engine) if part)


def _cuts(plan: dict[str, int]) -> str:
    return " ".join(f"{name}={many}" for name, many in plan.items())


def _case(model: str, device: str, cuts: str) -> str:
    """What is asked about, or what of it is said."""
    where = f"{model} on {device}" if model and device else model or device
    return f"{where}, {cuts}" if where and cuts else where or cuts


def compare(given: Namespace) -> tuple[Any, int]:
    """The same answers for several models or devices, side by side."""
    models = {name: asked.model(name) for name in given.model}
    asks = {"model": given.model, "on": given.on, "plan": [_cuts(plan) for plan in given.plan]}
    cases = [*product(*asks.values())]
    plans = dict(zip(asks["plan"], given.plan, strict=True))
    found = [_named(given, model, models[model], on, plans[plan]) for model, on, plan in cases]
    longest_first = sorted(found, key=lambda each: -len(each.rows))
    keys = {row.key: row.name for each in longest_first for row in each}
    columns: dict[str, list[Any]] = {"answer": list(keys)}
    shown: dict[str, list[str]] = {"": list(keys.values())}
    differ = [len(values) > 1 for values in asks.values()]
    for case, each in zip(cases, found, strict=True):
        paid = [row for row in each if each.fits or not row.key.startswith("usd")]
        values, texts = each.plain(), {row.key: _in_a_column(row) for row in paid}
        values = {row.key: values[row.key] for row in paid}
        columns[_case(*case)] = [values.get(key) for key in keys]
        told = (part if new else "" for part, new in zip(case, differ, strict=True))
        shown["\n".join(" ".join(told).split())] = [texts.get(key, "") for key in keys]
    same = ("" if new else values[0] for values, new in zip(asks.values(), differ, strict=True))
    about = _told(given, _case(*same))
    title = f"{about}: " * bool(about) + _load(given, given.plan)
    notes = rents(given.on) if given.price is None else []
    code = 0 if any(each.fits for each in found) else 1
    return Table(title, columns, shown, asked_for(given, *_CASE), notes), code


def _in_a_column(row: Answer) -> str:
    """What is shown beside others, where the row's name says of what it is."""
    return row.shown.removesuffix(row.unit).strip() if row.unit.startswith("token") else row.shown


def _named(given: Namespace, name: str, model: Transformer, device: str, plan: Any) -> Answers:
    """The answers of one case; what is wrong with it says whose fault it is."""
    model.check_trained(given.context, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BeyondTraining)  # just said, of the model by its name
            return _answers(given, model, device, plan, _paid(given, device))
    except ValueError as problem:
        raise ValueError(f"{_case(name, device, _cuts(plan))}: {problem}") from problem


def _paid(given: Namespace, place: str) -> float | None:
    """Dollars for an hour of one device: as was said, for all or for each, or its dated rent."""
    if given.price is None:
        return listed(device_in(place)).dollars_per_hour
    if len(given.price) not in (1, len(given.on)):
        count = f"{len(given.price)} prices for {len(given.on)} devices"
        raise ValueError(f"--price takes one for all devices, or one for each, got {count}")
    prices: list[float] = given.price
    return prices[given.on.index(place)] if prices[1:] else prices[0]


def device_in(place: str) -> str:
    """The name of the device that a place is made of.

    >>> device_in("DGX-H100x2"), device_in("T4x4")
    ('H100-SXM', 'T4')
    """
    name, _ = asked.times(place)
    return catalog.nodes[name].device.name if name in catalog.nodes else name


def params(given: Namespace) -> tuple[Any, int]:
    """Parameters by what they are for."""
    model = asked.model(given.model)
    parts: dict[str, int] = {}
    for step in model.steps():
        if not (model.tied and step.name == "unembedding"):
            parts[step.name] = parts.get(step.name, 0) + step.parameters()
    parts = {name: count for name, count in parts.items() if count}
    total = model.params()
    rest = total - sum(parts.values())
    parts |= {"other": rest} if rest else {}
    names, counts = [*parts, "total"], [*parts.values(), total]
    columns: dict[str, list[Any]] = {"part": names, "parameters": counts}
    columns["share"] = [each / total for each in counts]
    shown = {
        "part": names,
        "parameters": [f"{each:,}" for each in counts],
        "share": [f"{each / total:.1%}" for each in counts],
    }
    notes = [f"Active parameters per token: {model.active_params():,}."]
    size = model.weight_bytes(given.precision) / 1e9
    notes += [f"In {given.precision or 'the formats it ships in'}: {size:,.4g} GB."]
    return Table(given.model, columns, shown, asked_for(given, "model", "precision"), notes), 0


def memory(given: Namespace) -> tuple[Any, int]:
    """What lies in each device's memory, and how far it goes."""
    server = _server(given)
    _, held = server.fullest(given.batch, given.context)
    found = _answers(given, server.model, given.on, given.plan)
    parts = {"weights": held.weights, "cache": held.kv, "activations": held.activations}
    parts |= {"total": held.total, "usable": server.device.usable}
    if (charged := found.charged) is not None:
        parts = {"weights as loaded": charged.weights, "KV cache as charged": charged.kv}
        parts["total"] = charged.weights + charged.kv
        parts["usable for both"] = server.device.capacity - charged.buffers
    names, sizes = list(parts), [float(each) for each in parts.values()]
    shown = {"part": names, "bytes": [f"{each:,.0f}" for each in sizes]}
    shown["GB"] = [f"{each / 1e9:,.2f}" for each in sizes]
    verdict = "It fits." if found.fits else "It does not fit."
    long, most = found["largest_context"], found["largest_batch"]
    of = " in each copy" if server.data > 1 else ""
    notes = [f"{verdict} Largest batch{of} {most:,}, longest context {long:,.0f}."]
    notes += [_what_would_do(server, given.context + 1, given.batch)]
    which = "the fullest" if server.pipeline > 1 else "each"
    title = f"{_title(given)}: bytes on {which} device"
    columns: dict[str, list[Any]] = {"part": names, "bytes": sizes}
    return Table(title, columns, shown, asked_for(given, *_CASE), notes), 0 if found.fits else 1


def time(given: Namespace) -> tuple[Any, int]:
    """Each op of a step, or of a prompt: what it takes and what binds it."""
    server = _server(given)
    server.check_trained(given.prompt or given.context)
    new, cached = (given.prompt, 0) if given.prompt else (1, given.context)
    _, each = (1, given.batch) if given.prompt else server.groups(given.batch)
    passes = [work for work, _ in server.passes(each, cached, new, logits="last")]
    points = limits(max(passes, key=server.seconds), server.device, given.precision)
    points = tuple(point for point in points if point.time)
    names = [point.name for point in points]
    columns: dict[str, list[Any]] = {"op": names}
    for key, name in _POINT.items():
        columns[key] = [getattr(point, name) for point in points]
    whole = float(sum(columns["time_s"]))
    shown = {
        "op": [*names, "total"],
        "FLOP": [quantity(each) for each in _and_sum(columns["flops"])],
        "bytes": [quantity(each, "B") for each in _and_sum(columns["bytes"])],
        "time": [quantity(each, "s") for each in _and_sum(columns["time_s"])],
        "share": [f"{each / whole:.1%}" for each in _and_sum(columns["time_s"])],
        "bound by": [*columns["bound"], ""],
    }
    what = f"a prompt of {new:,}" if given.prompt else f"a step at {cached:,}"
    title = f"{_title(given)}: {what} tokens, batch {each:,}"
    title += ", the slowest stage" if server.pipeline > 1 else ""
    asks = (given.prompt, 1) if given.prompt else (given.context + 1, given.batch)
    notes = [_what_would_do(server, *asks)]
    return Table(title, columns, shown, asked_for(given, *_CASE), notes), 1 if notes[0] else 0


#: What is said of an op, by its key.
_POINT = {"flops": "flops", "bytes": "bytes", "time_s": "time", "bound": "bound"}


def _server(given: Namespace) -> Server:
    return Server(asked.model(given.model), given.on, **given.plan, **_how(given))


def _and_sum(values: Iterable[Any]) -> list[float]:
    each = [float(value) for value in values]
    return [*each, sum(each)]


def sweep(given: Namespace) -> tuple[Any, int]:
    """A row for each batch and context, of every model and device that is named."""
    rows = len(given.batch) * len(given.context) * len(given.model) * len(given.on)
    if rows > asked.MOST:
        raise ValueError(
            f"{rows:,} rows are more than {asked.MOST:,}: ask costlib.sweep, in Python"
        )
    tables = []
    models = {name: asked.model(name) for name in given.model}
    for model, device in product(given.model, given.on):
        name, many = asked.times(device)
        one = catalog.nodes[name].device.name if name in catalog.nodes else name
        if (many or 1) > 1 or name != one:
            raise ValueError(f"a sweep is of one device: write {one}, or ask compare for {device}")
        models[model].check_trained(max(given.context), model)
        rows_of = _swept(given, models[model], device)
        tables.append({"model": [model] * len(rows_of["batch"]), **rows_of})
    columns = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    shown = {name: [_short(name, each) for each in column] for name, column in columns.items()}
    for name, values in (("model", given.model), ("device", given.on)):
        if len(values) == 1:
            del shown[name]
    title = _told(given, f"{', '.join(given.model)} on {', '.join(given.on)}")
    code = 0 if any(columns["fits"]) else 1
    return Table(title, columns, shown, asked_for(given, "model", "on", "precision")), code


def _swept(given: Namespace, model: Transformer, device: str) -> dict[str, list[Any]]:
    where = catalog.devices[device]
    batch, context = np.array(given.batch)[:, None], np.array(given.context)[None, :]
    table = swept(model, where, batch, context, given.precision)
    many = table["seconds"].size
    batch, context = (np.broadcast_to(each, table["seconds"].shape) for each in (batch, context))
    return {
        "device": [device] * many,
        "batch": batch.ravel().tolist(),
        "context": context.ravel().tolist(),
        "tpot_s": table["seconds"].ravel().tolist(),
        "output_tokens_per_s": (batch / table["seconds"]).ravel().tolist(),
        "bound": [BOUND[which] for which in table["bound"].ravel()],
        "memory_bytes": table["memory_bytes"].ravel().tolist(),
        "fits": (table["memory_bytes"] <= where.usable).ravel().tolist(),
    }


def _short(name: str, value: Any) -> str:
    if name == "fits":
        return "yes" if value else "no"
    units = {"tpot_s": "s", "memory_bytes": "B", "output_tokens_per_s": ""}
    return quantity(value, units[name]) if name in units else f"{value}"


def serve(given: Namespace) -> tuple[Any, int]:
    """The batch, the machines and the price of a latency target."""
    if given.users is not None:
        return _fewest(given)
    if given.ttft is not None:
        raise ValueError("--ttft needs the number of users: add --users")
    if len(given.on) > 1:
        raise ValueError("comparing several devices needs the number of users: add --users")
    [given.on] = given.on
    server = _server(given)
    context = given.prompt + given.answer // 2
    target = inf if given.tpot is None else given.tpot / 1000
    best = best_batch(server, context, target)
    batch = max(1, min(best.batch, int(server.room(given.prompt + given.answer))))
    full = saturation(server, given.prompt, given.answer, batch=batch)
    title = f"{_title(given)}: {given.prompt:,} input and {given.answer:,} output tokens"
    names = (*_OF_SERVERS, "prompt", "answer", "tpot", "rate")
    found = [*_served(given, server, batch, full), *_rented(given, server, full)]
    return Sheet(title, found, asked_for(given, *names), given.why), 0


def _fewest(given: Namespace) -> tuple[Any, int]:
    """The fewest devices of each kind that serve --users users in time, the cheapest kind first."""
    if given.plan or given.rate is not None:
        raise ValueError("--users finds the plan and the rate: leave out --plan and --rate")
    targets = {"tpot": given.tpot, "ttft": given.ttft}
    how: dict[str, Any] = {name: ms / 1000 for name, ms in targets.items() if ms is not None}
    how |= {name: getattr(given, name) for name in ("users", "prompt", "answer")} | _how(given)
    model, found, notes = asked.model(given.model), list[dict[str, Any]](), list[str]()
    for on in given.on:
        with _noted(notes, on):
            found.append(_of_fleet(on, fewest_devices(model, on, **how), given.price))
    if not found:
        raise Unmet(" ".join(notes).removesuffix("."))
    found.sort(key=lambda row: (row["usd_per_hour"] or inf, row["devices"]))
    shown = {"": list(_FLEET.values())}
    for row in found:
        shown[row["device"]] = [_of_a_fleet(name, row[name]) for name in _FLEET]
    columns = {name: [row[name] for row in found] for name in found[0]}
    notes += rents(given.on) if given.price is None else []
    title = f"{_told(given, given.model)}: {given.users:,} concurrent users, {given.prompt:,} "
    title += f"input and {given.answer:,} output tokens"
    names = (*_OF_SERVERS, "users", "prompt", "answer", "tpot", "ttft")
    return Table(title, columns, shown, asked_for(given, *names), notes), 0


@contextmanager
def _noted(notes: list[str], place: str) -> Iterator[None]:
    """What is out of a device's reach is a note: another may do."""
    try:
        yield
    except OutOfReach as problem:
        notes.append(f"{place}: {problem}.")


#: What is said of a fleet, by its key.
_FLEET = {
    "devices": "devices",
    "plan": "plan",
    "users_per_copy": "users in each copy",
    "ttft_s": "time to first token (TTFT)",
    "tpot_s": "time per output token (TPOT)",
    "output_tokens_per_s": "output tokens a second",
    "limit": "what limits users of a copy",
    "usd_per_hour": "$ an hour, all devices",
    "usd_per_million_output_tokens": "$ a million output tokens",
}


def _of_fleet(on: str, fleet: Fleet, price: float | None) -> dict[str, Any]:
    """A row for a kind of device, with its dated rent where no price was given."""
    paid = listed(fleet.server.device.name).dollars_per_hour if price is None else price
    rent = None if paid is None else paid * fleet.devices
    values = (
        fleet.devices,
        _cuts({name: many for name, many in fleet.server.plan.items() if many > 1}),
        fleet.batch,
        fleet.ttft,
        fleet.tpot,
        fleet.output_tokens_per_s,
        fleet.limit,
        rent,
        None if rent is None else per_million(1 / fleet.output_tokens_per_s, rent),
    )
    return {"device": on, **dict(zip(_FLEET, values, strict=True))}


def _of_a_fleet(name: str, value: Any) -> str:
    """A value of a fleet as a column shows it."""
    if name in ("ttft_s", "tpot_s"):
        return quantity(value, "s")
    if value is None:
        return "not known"
    return digits(value) if isinstance(value, (int, float)) else value or "one device each"


def rents(places: Iterable[str]) -> list[str]:
    """Whose rents are taken of which day, of the devices that were named.

    >>> rents(["H200x8", "T4"])
    ['H200: $3.99 an hour (Hyperstack, one device on demand, 2026-08-26).']
    """
    inside = sorted({device_in(place) for place in places})
    return [f"{name}: {listed(name).why}." for name in inside if listed(name).why]


def _served(given: Namespace, server: Server, batch: int, full: Saturation) -> Iterator[Answer]:
    gives, load = "serving.html#what-one-gives-up-all-get", "serving.html#requests-come-and-go"
    context, end = given.prompt + given.answer // 2, given.prompt + given.answer
    why = f"{batch + 1:,} sequences have a TPOT above {given.tpot or 0:g} ms"
    if batch >= server.room(end):
        why = f"as many as fit to the end of their output, {end:,} tokens each"
        packed = room_gain(server, end)
        if packed.after > packed.before:
            why += f" (weights in int4 would leave room for {packed.after:,})"
    why += ", in each copy" if server.data > 1 else ""
    name = "batch in each copy" if server.data > 1 else "batch"
    yield Answer("batch", name, batch, "", why, gives)
    why = f"a decode step of {batch:,} sequences with {context:,} tokens each, halfway"
    step = server.step(batch, context)
    yield Answer("tpot_s", "TPOT of a decode step alone", step, "s", why, gives)
    why = f"{server.data * batch:,} sequences / output tokens a second in all"
    among = server.data * batch / full.output_tokens_per_s
    yield Answer("tpot_full_load_s", "TPOT with the prefills of others", among, "s", why, load)
    why = f"one prompt of {given.prompt:,} tokens and an empty queue"
    first = float(server.prefill(given.prompt))
    yield Answer("ttft_s", "time to first token (TTFT)", first, "s", why, gives)
    why = f"prefill takes {full.reading:.0%} of the time, decoding {batch:,} at once the rest"
    why += f"; {server.data} copies" if server.data > 1 else ""
    yield Answer("requests_per_s", "requests/s", full.requests_per_s, "", why, load)
    why = f"{full.requests_per_s:.4g} requests a second × {given.answer:,} tokens"
    yield Answer(
        "output_tokens_per_s", "output tokens/s in total", full.output_tokens_per_s, "", why, load
    )


def _rented(given: Namespace, server: Server, full: Saturation) -> Iterator[Answer]:
    if given.rate is not None:
        where = "serving.html#requests-come-and-go"
        servers = ceil(amount("rate", given.rate) / full.requests_per_s)
        why = f"{given.rate:g} requests a second / {full.requests_per_s:.4g}, "
        why += f"each of {server.machine}"
        yield Answer("servers", "servers", servers, "", why, where)
    if given.price is not None:
        paid = per_million(1 / full.output_tokens_per_s, given.price * server.devices)
        of = "1 device" if server.devices == 1 else f"{server.devices} devices"
        why = f"10⁶ × ${given.price:g} an hour × {of} / "
        why += f"{full.output_tokens_per_s:,.0f} tokens a second"
        key, name = "usd_per_million_output_tokens", "price per million output tokens"
        yield Answer(key, name, paid, "$", why, "serving.html#what-a-million-tokens-cost")


def explained(given: Namespace) -> tuple[Any, int]:
    """A log of an engine beside what was to be expected."""
    from costlib.command.explained import explain  # nobody else needs the published tables
    from costlib.measured.logs import read_log

    model = asked.model(given.config) if given.config else None
    place = catalog.devices.resolve(given.place) if given.place else ""
    if given.log == "-":
        log = read_log(sys.stdin.buffer)
    else:
        with Path(given.log).open("rb") as file:
            log = read_log(file)
    found = explain(log, place, model)
    columns = {name: [getattr(line, name) for line in found.lines] for name in _EXPLAINED}
    shown = {"": [line.what for line in found.lines]}
    for name in ("printed", "expected"):
        shown[name] = [_of_unit(getattr(line, name), line.unit) for line in found.lines]
    shown["off"] = ["" if line.off is None else f"{line.off:+.1%}" for line in found.lines]
    notes = [*found.doubts, f"Binds: {found.binds} ({found.why})."]
    notes += [f"One setting: {found.change}."]
    notes += ["Only the beginning of the log was read: it is very long."] if log.is_cut else []
    asks = {"log": given.log, "device": given.place or None, "config": given.config}
    asks = {name: value for name, value in asks.items() if value}
    told = {"found": found.found, "binds": found.binds, "why": found.why, "change": found.change}
    told["doubts"] = list(found.doubts)
    return Report(found.about, columns, shown, asks, notes, told), 0


@dataclass(frozen=True, slots=True)
class Report(Table):
    """A table with what else was found, for programs."""

    told: Mapping[str, Any] = field(default_factory=dict)

    def json(self) -> str:
        """What was asked, what was found, and the rows."""
        whole = {"asked": dict(self.asked), **self.told, "rows": self.rows}
        return json.dumps(whole, indent=2)


_EXPLAINED = ("what", "unit", "printed", "expected", "off", "why")


def _of_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "B":
        return f"{value / 2**30:.2f} GiB"
    return f"{value:,.0f}" if unit == "tokens" or value >= 1000 else f"{value:.4g}"


def names(given: Namespace) -> tuple[Any, int]:
    """Names of the catalogue that have a text in them."""
    kind: Any = getattr(catalog, given.command)
    sought = lookup.plain(given.pattern or "")
    names = [name for name in kind if sought in lookup.plain(name)]
    if not names:
        raise Unmet(f"none of the {len(kind)} {given.command} has {given.pattern!r} in its name")
    counted = given.command if len(names) != 1 else given.command[:-1]
    return Table(f"{len(names)} {counted}", {"name": names}, {"name": names}, {}), 0


class Unmet(Exception):
    """No plan fits, or no name is like it: no fault of the asking, so the exit code is its own."""


QUESTIONS = {
    "answer": everything,
    "params": params,
    "memory": memory,
    "time": time,
    "compare": compare,
    "sweep": sweep,
    "serve": serve,
    "explain": explained,
    "models": names,
    "devices": names,
    "nodes": names,
}
