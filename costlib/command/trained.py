"""What training costs: plans of a cluster, a whole run, adapters on one device."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from costlib.command import asked
from costlib.command.answers import Sheet, Unmet, asked_for, device_in, rents
from costlib.command.table import Table
from costlib.model import catalog
from costlib.model.catalog.prices import listed
from costlib.model.kvcache import Memory
from costlib.model.transformer import Transformer
from costlib.parallel import plan_of, search
from costlib.parallel.cluster import Cluster, cluster_of
from costlib.serving.answers import Answer
from costlib.timing.roofline import time
from costlib.training import TrainingRun, adapter_params, adapter_step, lora, training_memory
from costlib.training.run import DAY, HOUR
from costlib.units.device import Device
from costlib.units.display import quantity
from costlib.units.numbers import one_size

__all__ = ["QUESTIONS", "searched", "usual_mfu"]

_RUN = "training.html#gpu-hours-days-and-dollars-of-a-run"
_LORA = "training.html#lora-and-qlora-fine-tuning-at-low-rank"
_PLANS = "parallel.html#device-meshes-combining-the-cuts"


def searched(given: Namespace) -> tuple[Cluster, dict[str, Any]]:
    """The cluster, and every plan that fits it, the fastest first.

    >>> given = Namespace(model="gpt2", on="H100-SXM", batch=8, context=1024, recipe=None)
    >>> where, found = searched(given)
    >>> where.devices, len(found["step_s"]) > 5
    (1, True)
    """
    where = cluster_of(given.on)
    asks = {"batch": given.batch, "seq": given.context, "recipe": given.recipe}
    found = search(asked.model(given.model), where, **asks, as_arrays=True)
    if not len(found["step_s"]):
        text = f"no plan lets a batch of {given.batch:,} fit {given.on}: {where.devices:,} of"
        raise Unmet(f"{text} {where.device.usable / 1e9:.1f} GB each; use more devices")
    return where, found


def usual_mfu() -> tuple[float, int]:
    """The median share of the peak that published runs reached, and how many there are.

    >>> share, count = usual_mfu()
    >>> 0.35 < share < 0.42, count > 10
    (True, True)
    """
    from costlib.measured import runs  # nobody else needs the published tables

    reached = [run.implied_mfu for run in runs() if run.implied_mfu is not None]
    return median(reached), len(reached)


def plan(given: Namespace) -> tuple[Any, int]:
    """Ways to train a model on a cluster that no other plan beats in both time and memory."""
    most = one_size("top", given.top)
    _, found = searched(given)
    kept = np.flatnonzero(found["frontier"])[:most]
    columns = {name: list(each[kept]) for name, each in found.items() if name not in _UNSEEN}
    shown = {title: [str(each) for each in columns[name]] for title, name in _DEGREES.items()}
    shown = {title: column for title, column in shown.items() if {*column} != {"1"}}
    shown["recompute"] = [str(each or "nothing") for each in columns["recompute"]]
    shown["step"] = [quantity(each, "s", 3) for each in columns["step_s"]]
    shown["memory"] = [quantity(each, "B", 3) for each in columns["memory_bytes"]]
    shown["MFU"] = [f"{each:.1%}" for each in columns["mfu"]]
    notes = [f"{len(found['step_s']):,} legal plans fit; none beats these in both time and memory."]
    notes += ["Times are those of the datasheet: published steps take longer (parallel.html)."]
    many = "1 sequence" if given.batch == 1 else f"{given.batch:,} sequences"
    title = f"{given.model} on {given.on}: {many} of {given.context:,} tokens"
    asks = asked_for(given, "model", "on", "batch", "context", "recipe")
    return Table(title, columns, shown, asks, notes), 0


_UNSEEN = ("frontier", "fits", "microbatches")
#: How a table heads the degrees of a plan.
_DEGREES = {"DP": "data", "TP": "tensor", "PP": "pipeline", "CP": "context", "EP": "expert"}
_DEGREES |= {"ZeRO": "zero", "microbatch": "microbatch", "chunks": "chunks"}


def train(given: Namespace) -> tuple[Any, int]:
    """How long a training run takes, in what memory and at what price."""
    where, found = searched(given)
    model, row = asked.model(given.model), {name: each[0] for name, each in found.items()}
    run = TrainingRun(
        model=model,
        tokens=given.tokens,
        device=where.device,
        devices=where.devices,
        mfu=1.0,
        seq=given.context,
    )
    share, of = _mfu(given, float(run.days) / _days(given, row))
    run = replace(run, mfu=share)
    cost = _paid(given)
    case = _Case(given, run, where, row, of, cost)
    title = f"{given.model} on {given.on}: {given.tokens:,} tokens, {given.batch:,} sequences of "
    title += f"{given.context:,} a step"
    names = ("model", "on", "tokens", "batch", "context", "recipe", "mfu", "price", "watts")
    notes = tuple(rents([given.on])) if given.price is None else ()
    return Sheet(title, [*case.rows()], asked_for(given, *names), given.why, notes), 0


def _days(given: Namespace, row: dict[str, Any]) -> float:
    """Days of a run whose steps all take as long as those of the fastest plan."""
    return float(row["step_s"] * given.tokens / (given.batch * given.context) / DAY)


def _mfu(given: Namespace, most: float) -> tuple[float, str]:
    """The MFU that is asked or usual, at most what the fastest plan reaches; and whose it is."""
    share, count = usual_mfu()
    if given.mfu is not None and given.mfu > most:
        text = f"mfu must be at most {most:.1%}, which the fastest plan reaches at the datasheet's"
        raise ValueError(f"{text} rates, got {given.mfu:.0%}")
    if given.mfu is not None:
        return given.mfu, "as asked"
    if share > most:
        return most, f"what the fastest plan reaches, below the median of {count} published runs"
    return share, f"the median of {count} published runs"


def _paid(given: Namespace) -> float | None:
    """Dollars for an hour of one device: as was said, or its dated rent."""
    known: float | None = listed(device_in(given.on)).dollars_per_hour
    return known if given.price is None else float(given.price)


@dataclass(frozen=True, slots=True)
class _Case:
    """A run, and the fastest plan of it."""

    given: Namespace
    run: TrainingRun
    where: Cluster
    row: dict[str, Any]
    of: str
    cost: float | None

    def rows(self) -> Iterator[Answer]:
        """What is answered, in order."""
        run, given, peak = self.run, self.given, self.where.device.name
        each = run.flops / run.tokens
        why = f"{given.tokens:,} tokens × {each:.4g} FLOPs of the model's products"
        yield Answer("flops", "FLOPs of the run", float(run.flops), "FLOP", why, _RUN)
        yield from self.planned()
        why = f"{self.of}, of {peak}'s dense peak in 16 bits"
        yield Answer("mfu", "MFU", float(run.mfu), "share", why, _RUN)
        why = f"FLOPs / ({run.devices:,} devices × the peak × {run.mfu:.1%})"
        yield Answer("days", "days at that MFU", float(run.days), "", why, _RUN)
        why = f"{run.days:.4g} days × 24 × {run.devices:,} devices"
        yield Answer("device_hours", "device hours", float(run.device_hours), "", why, _RUN)
        if given.watts is not None:
            energy = float(run.energy_kwh(watts=given.watts)) * 1000
            why = f"device hours × {given.watts:g} W"
            yield Answer("watt_hours", "energy", energy, "Wh", why, _RUN)
        if self.cost is not None:
            why = f"device hours × ${self.cost:g}"
            price = float(run.dollars(per_device_hour=self.cost))
            yield Answer("usd", "price of the run", price, "$", why, _RUN)

    def planned(self) -> Iterator[Answer]:
        """The fastest plan that fits, and what a datasheet lets it reach."""
        row = self.row
        best = plan_of(row)
        cuts = ("data", "tensor", "pipeline", "context", "expert", "zero")
        least = {"zero": 0}
        degrees = {name: int(getattr(best, name)) for name in cuts}
        told = [f"{name}={n}" for name, n in degrees.items() if n > least.get(name, 1)]
        told += [f"microbatch={int(best.microbatch)}"]
        told += [f"recompute={best.recompute}"] if best.recompute else []
        why = f"the fastest of those that fit: costlib plan {self.given.model} has others"
        yield Answer("plan", "fastest plan", " ".join(told), "", why, _PLANS)
        memory, usable = float(row["memory_bytes"]), self.where.device.usable
        why = f"weights, gradients, optimizer and activations, of {usable / 1e9:.4g} GB"
        yield Answer("memory_bytes", "memory of the fullest device", memory, "B", why, _PLANS)
        step = float(row["step_s"])
        why = f"of {self.given.batch * self.given.context:,} tokens, by the datasheet's rates"
        yield Answer("step_s", "step, at best", step, "s", why, _PLANS)
        days = _days(self.given, row)
        yield Answer("days_at_best", "days, at best", days, "", "steps × the step", _PLANS)


def adapt(given: Namespace) -> tuple[Any, int]:
    """Whether adapters beside a frozen model fit one device, and how fast they are trained."""
    name, many = asked.times(given.on)
    if (many or 1) > 1 or name in catalog.nodes:
        one = catalog.nodes[name].device.name if name in catalog.nodes else name
        raise ValueError(f"adapters are trained on one device here: write --on {one}")
    model, device = asked.model(given.model), catalog.devices[given.on]
    held = _held(given, model, given.base, given.recompute)
    fits = held.total <= device.usable
    found = [*_memory(given, model, held, device), *_speed(given, model, device)]
    names = ["model", "on", "rank", "targets", "base", "recompute", "batch", "context"]
    names += ["tokens", "price"]
    notes = [] if fits else [_instead(given, model, device)]
    if given.price is None and given.tokens is not None:
        notes += rents([given.on])
    title = f"{given.model} on {given.on}, adapters of rank {given.rank:,} beside {given.base}: "
    title += f"{given.batch:,} × {given.context:,} tokens"
    return Sheet(title, found, asked_for(given, *names), given.why, tuple(notes)), 0 if fits else 1


def _recipe(given: Namespace, base: str) -> Any:
    return lora(given.rank, tuple(given.targets), base=base)


def _held(given: Namespace, model: Transformer, base: str, recompute: str | None) -> Memory:
    asks = (model, given.batch, given.context, _recipe(given, base))
    return training_memory(*asks, recompute=recompute)


def _memory(given: Namespace, model: Transformer, held: Memory, device: Device) -> Iterator[Answer]:
    trained = int(adapter_params(model, _recipe(given, given.base)))
    why = f"rank × (rows + columns) of {', '.join(given.targets)}: {trained / model.params():.2%}"
    yield Answer("trained_params", "trained parameters", trained, "", f"{why} of the model", _LORA)
    said = {
        "weights": f"frozen matrices in {given.base}, the rest in 16 bits, adapters in 32",
        "gradients": "of the adapters alone",
        "optimizer": "two moments of each parameter of the adapters",
        "activations": f"recompute {given.recompute or 'nothing'}",
    }
    for name, why in said.items():
        yield Answer(f"{name}_bytes", name, float(getattr(held, name)), "B", why, _LORA)
    yield Answer("memory_bytes", "memory needed", float(held.total), "B", "their sum", _LORA)
    why = "the device's memory less its reserve"
    yield Answer("usable_bytes", "usable memory", float(device.usable), "B", why, _LORA)
    why, room = "memory needed ≤ usable memory", bool(held.total <= device.usable)
    yield Answer("fits", "fits", room, "", why, _LORA)
    most = max(
        0, int((device.usable - held.total + held.activations) * given.batch // held.activations)
    )
    yield Answer("largest_batch", "largest batch", most, "", "activations grow with it", _LORA)


def _speed(given: Namespace, model: Transformer, device: Device) -> Iterator[Answer]:
    recipe = _recipe(given, given.base)
    asks: dict[str, Any] = {"recompute": given.recompute}
    step = adapter_step(model, given.batch, given.context, recipe, **asks)
    whole = model.training_step(given.batch, given.context, **asks)
    share = float(step.matmul_flops / whole.matmul_flops)
    why = "frozen matrices have no gradients of weights"
    yield Answer("flops_share", "FLOPs, of training all", share, "share", why, _LORA)
    seconds = float(time(step, device, precision=recipe.precision))
    why = "every op at the datasheet's rates"
    yield Answer("step_s", "step, at best", seconds, "s", why, _LORA)
    speed = given.batch * given.context / seconds
    yield Answer("tokens_per_s", "tokens/s, at best", speed, "", "tokens / step", _LORA)
    if given.tokens is None:
        return
    hours = given.tokens / speed / HOUR
    why = f"{given.tokens:,} tokens / {speed:,.0f} a second"
    yield Answer("hours", "hours, at best", hours, "", why, _LORA)
    if (cost := _paid(given)) is not None:
        yield Answer("usd", "price", hours * cost, "$", f"hours × ${cost:g}", _LORA)


def _instead(given: Namespace, model: Transformer, device: Device) -> str:
    """What would fit, if this does not."""
    ways = {
        "--recompute full": (given.base, "full"),
        "--base nf4": ("nf4", given.recompute),
        "--base nf4 --recompute full": ("nf4", "full"),
    }
    for flags, way in ways.items():
        total = _held(given, model, *way).total
        if total <= device.usable:
            return f"With {flags} it takes {total / 1e9:.4g} GB, and fits."
    return f"With --base nf4 --recompute full it takes {total / 1e9:.4g} GB, and does not fit."


QUESTIONS = {"plan": plan, "train": train, "lora": adapt}
