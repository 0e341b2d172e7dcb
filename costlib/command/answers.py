"""Each question of the command as a function: what was asked in, a table out."""

from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Any

import numpy as np

from costlib import catalog
from costlib.answers import Answer, Answers, answer
from costlib.catalog import lookup
from costlib.command import asked
from costlib.command.table import WIDTH, Table, bold, plain
from costlib.display import quantity
from costlib.numbers import amount
from costlib.parallel import search
from costlib.roofline import limits
from costlib.serving import Best, Saturation, Server, best_batch, saturation
from costlib.serving.money import per_million
from costlib.sweeps import BOUND
from costlib.sweeps import columns as swept
from costlib.transformer import Transformer

__all__ = ["QUESTIONS"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Answers, a line each, with the sums beneath where they are wanted."""

    title: str
    found: Sequence[Answer]
    asked: dict[str, Any]
    why: bool = False

    def text(self) -> str:
        """Names and values; with ``why`` each sum and the section that derives it."""
        width = max(len(row.name) for row in self.found)
        indent = " " * (width + 2)
        wrap = textwrap.TextWrapper(
            WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        lines = [bold(self.title)]
        for row in self.found:
            lines.append(f"{row.name.ljust(width)}  {row.shown}")
            if self.why:
                lines += [*wrap.wrap(f"= {row.why}"), f"{indent}{row.where}"]
        return "\n".join(lines)

    def json(self) -> str:
        """What was asked, and every answer by its key."""
        answers = {row.key: plain(row.value) for row in self.found}
        return json.dumps({"asked": self.asked, "answers": answers}, indent=2)

    def csv(self) -> str:
        """A line for each answer."""
        names = ("key", "value", "unit", "why", "where")
        columns = {name: [getattr(row, name) for row in self.found] for name in names}
        return Table("", columns, {}, {}).csv()


def _asked(given: Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names if getattr(given, name) is not None}


def _answers(given: Namespace, model: Transformer, device: str) -> Answers:
    found, many = asked.machine(device)
    return answer(
        model,
        found,
        devices=many,
        batch=given.batch,
        context=given.context,
        prompt=given.prompt,
        precision=given.precision,
        price_per_hour=given.price,
        watts=given.watts,
    )


_CASE = ("model", "on", "batch", "context", "prompt", "precision", "price", "watts")


def everything(given: Namespace) -> tuple[Any, int]:
    """Does it fit, how fast, what binds, what does it cost?"""
    found = _answers(given, asked.model(given.model), given.on)
    title = f"{given.model} on {given.on}: {given.batch} × {given.context:,} tokens"
    return Sheet(title, found.rows, _asked(given, *_CASE), given.why), 0 if found.fits else 1


def compare(given: Namespace) -> tuple[Any, int]:
    """The same answers for several models or devices, side by side."""
    cases = [*product(given.model, given.on)]
    models = {name: asked.model(name) for name in given.model}
    found = [_named(given, models[name], f"{name} on {on}", on) for name, on in cases]
    longest_first = sorted(found, key=lambda each: -len(each.rows))
    keys = {row.key: row.name for each in longest_first for row in each}
    columns: dict[str, list[Any]] = {"answer": list(keys)}
    shown: dict[str, list[str]] = {"": list(keys.values())}
    for (model, device), each in zip(cases, found, strict=True):
        values, texts = each.plain(), {row.key: row.shown for row in each}
        name = f"{model} on {device}"
        columns[name] = [values.get(key) for key in keys]
        short = device if len(given.model) == 1 else model if len(given.on) == 1 else name
        shown[short] = [texts.get(key, "") for key in keys]
    title = f"{given.batch} × {given.context:,} tokens"
    if len(given.model) == 1 or len(given.on) == 1:
        title = f"{(given.model if len(given.model) == 1 else given.on)[0]}: {title}"
    return Table(title, columns, shown, _asked(given, *_CASE)), 0


def _named(given: Namespace, model: Transformer, case: str, device: str) -> Answers:
    """The answers of one case; what is wrong with it says whose fault it is."""
    try:
        return _answers(given, model, device)
    except ValueError as problem:
        raise ValueError(f"{case}: {problem}") from problem


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
    notes = [f"A token uses {model.active_params():,} of them."]
    notes += [
        f"As {given.precision or 'it ships'}: {model.weight_bytes(given.precision) / 1e9:,.4g} GB."
    ]
    return Table(given.model, columns, shown, _asked(given, "model", "precision"), notes), 0


def memory(given: Namespace) -> tuple[Any, int]:
    """What lies in each device's memory, and how far it goes."""
    device, many = asked.machine(given.on)
    server = Server(asked.model(given.model), device, given.precision, many)
    held = server.share.memory(given.batch, given.context, precision=given.precision)
    parts = {"weights": held.weights, "cache": held.kv, "activations": held.activations}
    parts |= {"total": held.total, "given out": device.usable}
    names, sizes = list(parts), [float(each) for each in parts.values()]
    shown = {"part": names, "bytes": [f"{each:,.0f}" for each in sizes]}
    shown["GB"] = [f"{each / 1e9:,.2f}" for each in sizes]
    found = _answers(given, server.model, given.on)
    verdict = "It fits." if found.fits else "It does not fit."
    long, most = found["largest_context"], found["largest_batch"]
    notes = [f"{verdict} Largest batch {most:,}, longest context {long:,.0f}."]
    title = f"{given.model} on {given.on}: bytes on each device"
    columns: dict[str, list[Any]] = {"part": names, "bytes": sizes}
    return Table(title, columns, shown, _asked(given, *_CASE), notes), 0 if found.fits else 1


def time(given: Namespace) -> tuple[Any, int]:
    """Each op of a step, or of a prompt: what it takes and what binds it."""
    device, many = asked.machine(given.on)
    server = Server(asked.model(given.model), device, given.precision, many)
    new, cached = (given.prompt, 0) if given.prompt else (1, given.context)
    points = limits(
        server.share.decode(given.batch, cached, new, logits="last"), device, given.precision
    )
    points = tuple(point for point in points if point.time)
    names = [point.name for point in points]
    columns: dict[str, list[Any]] = {"op": names}
    for name in ("flops", "bytes", "time", "bound"):
        columns[name] = [getattr(point, name) for point in points]
    whole = float(sum(columns["time"]))
    shown = {
        "op": [*names, "total"],
        "FLOP": [quantity(each) for each in _and_sum(columns["flops"])],
        "bytes": [quantity(each, "B") for each in _and_sum(columns["bytes"])],
        "time": [quantity(each, "s") for each in _and_sum(columns["time"])],
        "share": [f"{each / whole:.1%}" for each in _and_sum(columns["time"])],
        "bound by": [*columns["bound"], ""],
    }
    what = f"a prompt of {new:,}" if given.prompt else f"a step at {cached:,}"
    title = f"{given.model} on {given.on}: {what} tokens, batch {given.batch:,}"
    return Table(title, columns, shown, _asked(given, *_CASE)), 0


def _and_sum(values: Iterable[Any]) -> list[float]:
    each = [float(value) for value in values]
    return [*each, sum(each)]


def plan(given: Namespace) -> tuple[Any, int]:
    """Ways to train a model on a cluster: those that no other one beats in time and memory."""
    where = asked.cluster(given.on)
    found = search(
        asked.model(given.model),
        where,
        batch=given.batch,
        seq=given.context,
        recipe=given.recipe,
        as_arrays=True,
    )
    if not len(found["step"]):
        text = f"no plan lets a batch of {given.batch:,} fit {given.on}: {where.devices:,} devices"
        raise Unmet(f"{text} with {where.device.usable / 1e9:.1f} GB each; take more nodes")
    kept = np.flatnonzero(found["frontier"])[: given.top]
    columns = {name: list(column[kept]) for name, column in found.items() if name not in _UNSEEN}
    shown = {title: [str(each) for each in columns[name]] for title, name in _DEGREES.items()}
    shown = {title: column for title, column in shown.items() if {*column} != {"1"}}
    shown["recompute"] = [str(each or "nothing") for each in columns["recompute"]]
    shown["step"] = [quantity(each, "s") for each in columns["step"]]
    shown["memory"] = [quantity(each, "B", 3) for each in columns["memory"]]
    shown["MFU"] = [f"{each:.1%}" for each in columns["mfu"]]
    notes = [
        f"{len(found['step']):,} legal plans fit; these no other one beats in time and memory."
    ]
    notes += ["Times are a datasheet's: published steps take longer (parallel.html)."]
    title = f"{given.model} on {given.on}: {given.batch:,} sequences of {given.context:,} tokens"
    asks = _asked(given, "model", "on", "batch", "context", "recipe")
    return Table(title, columns, shown, asks, notes), 0


_UNSEEN = ("frontier", "fits", "microbatches")
_DEGREES = {"data": "data", "tensor": "tensor", "pipe": "pipeline", "ring": "context"}
_DEGREES |= {"expert": "expert", "zero": "zero", "micro": "microbatch", "chunks": "chunks"}


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
        if many > 1:
            raise ValueError(f"a sweep is of one device: write {name}, or ask compare for {device}")
        rows_of = _swept(given, models[model], device)
        tables.append({"model": [model] * len(rows_of["batch"]), **rows_of})
    columns = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    shown = {name: [_short(name, each) for each in column] for name, column in columns.items()}
    for name, values in (("model", given.model), ("device", given.on)):
        if len(values) == 1:
            del shown[name]
    title = f"{', '.join(given.model)} on {', '.join(given.on)}"
    return Table(title, columns, shown, _asked(given, "model", "on", "precision")), 0


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
        "per_token_s": table["seconds"].ravel().tolist(),
        "tokens_per_s": (batch / table["seconds"]).ravel().tolist(),
        "bound": [BOUND[which] for which in table["bound"].ravel()],
        "memory_bytes": table["memory"].ravel().tolist(),
        "fits": (table["memory"] <= where.usable).ravel().tolist(),
    }


def _short(name: str, value: Any) -> str:
    if name == "fits":
        return "yes" if value else "no"
    units = {"per_token_s": "s", "memory_bytes": "B", "tokens_per_s": ""}
    return quantity(value, units[name]) if name in units else f"{value}"


def serve(given: Namespace) -> tuple[Any, int]:
    """The batch, the machines and the price of a latency target."""
    device, many = asked.machine(given.on)
    server = Server(asked.model(given.model), device, given.precision, many)
    context = given.prompt + given.answer // 2
    target = float("inf") if given.within is None else given.within / 1000
    best = best_batch(server, context, target)
    full = saturation(server, given.prompt, given.answer, batch=_places(server, given, best.batch))
    title = f"{given.model} on {given.on}: prompts of {given.prompt:,}, answers of {given.answer:,}"
    asks = _asked(given, "model", "on", "prompt", "answer", "within", "rate", "precision", "price")
    return Sheet(title, [*_served(given, server, best, full)], asks, given.why), 0


def _served(given: Namespace, server: Server, best: Best, full: Saturation) -> Iterator[Answer]:
    gives, load = "serving.html#what-one-gives-up-all-get", "serving.html#requests-come-and-go"
    machine = f"{server.tensor} × {server.device.name}"
    why = f"a larger one has no room: {best.limit}"
    if best.limit == "latency":
        why = f"{best.batch + 1:,} take longer than {given.within:g} ms"
    yield Answer("batch", "batch", best.batch, "", why, gives)
    why = (
        f"a step of {best.batch:,} sequences with {given.prompt + given.answer // 2:,} tokens each"
    )
    yield Answer("per_token_s", "time per token", best.per_token, "s", why, gives)
    why = f"one prompt of {given.prompt:,} tokens, nobody before it"
    first = float(server.prefill(given.prompt))
    yield Answer("first_token_s", "time to first token", first, "s", why, gives)
    why = f"{full.batch:,} places, {full.reading:.0%} of the time prompts are read"
    yield Answer("requests_per_s", "requests a second", full.requests_per_s, "", why, load)
    yield Answer("tokens_per_s", "tokens a second", full.tokens_per_s, "", why, load)
    if given.rate is not None:
        servers = ceil(amount("rate", given.rate) / full.requests_per_s)
        why = f"{given.rate:g} requests a second / {full.requests_per_s:.4g}, each of {machine}"
        yield Answer("servers", "servers", servers, "", why, load)
    if given.price is not None:
        paid = per_million(1 / full.tokens_per_s, given.price * server.tensor)
        why = (
            f"10⁶ × ${given.price:g} an hour × {server.tensor} / {full.tokens_per_s:,.0f} a second"
        )
        where = "serving.html#what-a-million-tokens-cost"
        yield Answer("dollars_per_million", "a million tokens written", paid, "$", why, where)


def _places(server: Server, given: Namespace, batch: int) -> int:
    """The batch, or as many as memory has when every answer is at its end."""
    return max(1, min(batch, int(server.room(given.prompt + given.answer))))


def listed(given: Namespace) -> tuple[Any, int]:
    """Names of the catalogue that have a text in them."""
    kind: Any = getattr(catalog, given.command)
    sought = lookup.plain(given.pattern or "")
    names = [name for name in kind if sought in lookup.plain(name)]
    if not names:
        raise Unmet(f"no name among {len(kind)} {given.command} has {given.pattern!r} in it")
    counted = given.command if len(names) != 1 else given.command[:-1]
    return Table(f"{len(names)} {counted}", {"name": names}, {"name": names}, {}), 0


class Unmet(Exception):
    """No plan fits, or no name is like it: no fault of the asking, so the exit code is its own."""


QUESTIONS = {
    "answer": everything,
    "params": params,
    "memory": memory,
    "time": time,
    "plan": plan,
    "compare": compare,
    "sweep": sweep,
    "serve": serve,
    "models": listed,
    "devices": listed,
    "nodes": listed,
}
