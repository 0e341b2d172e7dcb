"""A plan: how one model's training is divided over the devices of a cluster.

>>> from costlib.parallel import Cluster
>>> plan = Plan(tensor=8, pipeline=4, data=4, sequence=True, zero=1)
>>> found = plan.on("llama-3.1-70b", Cluster("DGX-H100", nodes=16), batch=128, seq=8192)
>>> found.fits, found.binds
(True, 'products')

Every field may be an array, for many plans at once, but for the pipeline's own (``pipeline``,
``chunks``, ``schedule``) and what is not a number: `search` reads the same formulas that way.

Left out: offloading, and layers that are cut otherwise than their neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from costlib.model.catalog import model_of
from costlib.model.kvcache import Memory
from costlib.parallel import price
from costlib.parallel.cluster import Cluster, cluster_of
from costlib.parallel.degrees import ORDER, Degrees
from costlib.parallel.legal import broken
from costlib.parallel.mesh import Mesh
from costlib.parallel.stages import Stage, stages
from costlib.parallel.training_step import whole_step
from costlib.parallel.work import Cut
from costlib.training import Recipe, flops_per_token, hfu_over_mfu, recipe_of
from costlib.units.device import Device
from costlib.units.display import facts_html, quantity
from costlib.units.ledger import Ledger
from costlib.units.numbers import Number, ceil_div, choose, extra, is_symbolic, suggests

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["ORDER", "Plan", "Planned"]


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Degrees):
    """Degrees of parallelism, and how each is done: tensor·context·pipeline·data devices.

    ``expert`` devices share the experts of a layer; they are taken from ``data`` (and ``context``;
    with ``whole_experts`` from ``tensor`` too, and then no expert's width is divided).
    ``sequence`` divides between the products what tensor parallelism leaves whole. ``zero`` is the
    stage of ZeRO (3 is FSDP) over the replicas of a weight, or over groups of ``shard`` of them.
    ``microbatch`` is sequences at a time; ``chunks`` are the pieces of a pipeline's stage, and more
    than one interleaves them. ``recompute`` is "selective", "full" or None, ``recipe`` one of
    `costlib.training.RECIPES`. ``context_by`` is "ring" or "all_to_all". The busiest expert has
    ``imbalance`` times the average's tokens; a token's copies are on at most ``nodes_per_token``
    nodes, and it crosses the network once for each. ``order`` is that of the mesh, innermost first.

    >>> Plan(tensor=8, data=16).devices
    128
    >>> Plan(microbatch=0)
    Traceback (most recent call last):
        ...
    ValueError: microbatch must be at least 1, got 0
    """

    def check(
        self,
        model: Transformer | str,
        cluster: Cluster | str,
        batch: Number,
        seq: Number,
        *,
        strict: bool = True,
    ) -> None:
        """Raise a ValueError that names what is not legal, and the nearest value that is.

        Not ``strict``: sequences need not divide evenly, and the last microbatch may be smaller.

        >>> Plan(tensor=3, data=8).check("llama-3-8b", Cluster("DGX-H100", nodes=3), 32, 8192)
        Traceback (most recent call last):
            ...
        ValueError: tensor=3 does not divide the model: devices must divide kv_heads=8 or be a \
multiple, got 3; the nearest is 2
        """
        model, cluster = model_of(model), cluster_of(cluster)
        for rule in broken(self, model, cluster, batch, seq, strict=strict):
            raise ValueError(rule)

    def on(
        self,
        model: Transformer | str,
        cluster: Cluster | str,
        *,
        batch: Number,
        seq: Number,
        masked: str = "skipped",
        scores: str = "on-chip",
        hides: Mapping[str, float] | None = None,
        strict: bool = True,
        **changes: Any,
    ) -> Planned:
        """A training step of ``batch`` sequences of ``seq`` tokens: memory, time, and why.

        ``changes`` are to the plan: ``recompute``, ``recipe`` and so on. ``hides`` says which share
        of what it could hide behind each axis' messages do hide behind: see
        `costlib.parallel.price`. ``masked`` and ``scores`` are as in `Transformer.training_step`.

        >>> found = Plan(data=8, zero=3).on("llama-3-8b", Cluster("DGX-H100"), batch=8, seq=8192)
        >>> round(found.memory.weights / 1e9, 2), found.binds
        (2.01, 'products')
        """
        plan: Plan = self.with_(**changes)
        model, cluster = model_of(model), cluster_of(cluster)
        plan.check(model, cluster, batch, seq, strict=strict)
        hidden = _hidden(hides)
        return Planned(plan, model, cluster, batch, seq, masked, scores, hidden)


def _hidden(hides: Mapping[str, float] | None) -> Mapping[str, float]:
    """The shares that are meant; an axis that there is not is an error."""
    for axis, share in (hides or {}).items():
        choose("hides", axis, tuple(price.HIDES))
        if not 0 <= share <= 1:
            raise ValueError(f"hides[{axis!r}] must be a share from 0 to 1, got {share!r}")
    return {**price.HIDES, **(hides or {})}


@dataclass(frozen=True)
class Planned:
    """What a plan takes on a cluster: see `Plan.on`.

    ``parts`` are seconds that add up to a step, ``sending`` seconds of all messages of one device
    and step by axis and tier, whether they hide or not; ``memories`` are of every kind of stage.
    """

    plan: Plan
    model: Transformer
    cluster: Cluster
    batch: Number
    seq: Number
    masked: str = "skipped"
    scores: str = "on-chip"
    hides: Mapping[str, float] = field(default_factory=lambda: price.HIDES)
    known: Any = field(default=None, repr=False)  # `kinds`, where they are priced already

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe of the plan."""
        return recipe_of(self.plan.recipe)

    @cached_property
    def mesh(self) -> Mesh:
        """Where its axes lie."""
        return Mesh(self.plan, self.cluster)

    @cached_property
    def microbatches(self) -> Any:
        """How many go through each pipeline in a step."""
        return ceil_div(self.batch, self.plan.data * self.plan.microbatch)

    @cached_property
    def cut(self) -> Cut:
        """How a layer and a microbatch are divided."""
        names = ["microbatch", "tensor", "context", "expert", "sequence", "whole_experts"]
        names += ["context_by", "recompute", "imbalance", "nodes_per_token"]
        axes = self.mesh.axes
        tiers = {"tensor": axes["tensor"], "context": axes["context"], "expert": self.mesh.expert}
        own: dict[str, Any] = {name: getattr(self.plan, name) for name in names}
        return Cut(seq=self.seq, masked=self.masked, scores=self.scores, tiers=tiers, **own)

    @cached_property
    def device(self) -> Device:
        """A device with the links that its axes have."""
        return self.cluster.device_on({**self.mesh.axes, "expert": self.mesh.expert})

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The pipeline's stages, those alike as one."""
        return stages(self.model, self.plan.pipeline, self.plan.chunks)

    @cached_property
    def kinds(self) -> Any:
        """A layer of each kind, and the ends, in seconds and bytes."""
        if self.known is not None:
            return self.known
        tied = self.plan.pipeline == 1
        return price.kinds(self.model, self.cut, self.device, self.recipe, self.hides, tied=tied)

    @cached_property
    def layout(self) -> price.StepLayout:
        """What the step follows from beside those."""
        plan, mesh = self.plan, self.mesh
        return price.StepLayout(
            stages=self.stages,
            pipeline=plan.pipeline,
            chunks=plan.chunks,
            schedule=plan.ordered,
            microbatches=self.microbatches,
            zero=plan.zero,
            stream=self.cut.between * self.model.d_model,
            neighbour=mesh.neighbour,
            replicas=mesh.sharded(mesh.replicas),
            expert_replicas=mesh.sharded(mesh.expert_replicas),
            device=self.device,
            recipe=self.recipe,
            hides=self.hides,
        )

    @cached_property
    def _seconds(self) -> Any:
        return price.seconds(self.kinds, self.layout)

    @property
    def parts(self) -> Mapping[str, Any]:
        """Seconds of a step by where they go."""
        found: Mapping[str, Any] = self._seconds[0]
        return found

    @property
    def sending(self) -> Mapping[str, Any]:
        """Seconds of messages by axis and tier, before any of them hides."""
        found: Mapping[str, Any] = self._seconds[1]
        return found

    @cached_property
    def step(self) -> Any:
        """Seconds of a training step."""
        return sum(self.parts.values())

    @property
    def tokens_per_s(self) -> Any:
        """Tokens a second, of all devices together."""
        return self.batch * self.seq / self.step

    @property
    def mfu(self) -> Any:
        """Model FLOPs utilisation, by the ledger: masked pairs and recomputation left out."""
        return self.utilisation("ledger")

    @property
    def hfu(self) -> Any:
        """Hardware FLOPs utilisation: what is computed again counts."""
        again = self.plan.recompute
        return self.mfu * hfu_over_mfu(self.model, self.seq, recompute=again)

    def utilisation(self, convention: str = "ledger") -> Any:
        """Model FLOPs by one of `costlib.training.CONVENTIONS`, over what all devices could do."""
        device = self.cluster.device.with_(compute_efficiency=1)
        peak = self.cluster.devices * device.compute_rate(self.recipe.compute)
        return flops_per_token(self.model, self.seq, convention) * self.tokens_per_s / peak

    @property
    def bubble(self) -> Any:
        """The share of a step that the pipeline waits to fill and to drain."""
        return self.parts["bubble"] / self.step

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """What a device holds, for each of `stages`."""
        return tuple(price.memory(self.kinds, self.layout))

    @cached_property
    def memory(self) -> Memory:
        """What a device of the fullest stage holds."""
        return price.fullest(self.memories)

    @property
    def fits(self) -> Any:
        """Whether the fullest device has room for it, with the reserve that every device keeps."""
        return self.memory.total <= self.cluster.device.usable

    @property
    def binds(self) -> Any:
        """Where most of the time goes."""
        names = list(self.parts)
        if not isinstance(self.step, np.ndarray):
            return max(names, key=lambda name: self.parts[name])
        rows = np.broadcast_arrays(self.step, *(self.parts[name] for name in names))[1:]
        return np.array(names)[np.argmax(rows, axis=0)]

    def table(self) -> Any:
        """A DataFrame of where a step's seconds go, and its share; the last row is the step.

        >>> found = Plan(data=8).on("gpt2", Cluster("DGX-H100"), batch=64, seq=1024)
        >>> float(found.table()["seconds"].iloc[-1]) == found.step
        True
        """
        with extra("tables"):
            import pandas as pd

        rows = {name: seconds for name, seconds in self.parts.items() if seconds}
        rows["step"] = self.step
        index = pd.Index([*rows], name="part")
        share = [seconds / self.step for seconds in rows.values()]
        return pd.DataFrame({"seconds": [*rows.values()], "share": share}, index)

    def ledger(self, stage: int = 0) -> Ledger:
        """All that one device of a stage computes and sends in a step.

        Gradients and gathered weights have bytes of their own: the ledger's precision knows them.

        >>> found = Plan(data=8, zero=1).on("gpt2", Cluster("DGX-H100"), batch=64, seq=1024)
        >>> [op.name for op in found.ledger().over("data")]
        ['gradients.reduce_scatter', 'weights.all_gather']
        """
        return whole_step(self.model, self.cut, self.kinds, self.layout, stage)

    def _repr_html_(self) -> str | None:
        if isinstance(self.step, np.ndarray) or is_symbolic(self.step):
            return None
        rows = [("a step", quantity(self.step, "s")), ("MFU", f"{self.mfu:.1%}")]
        rows += [
            (f"of it {name}", quantity(each, "s")) for name, each in self.parts.items() if each
        ]
        rows.append(("memory of the fullest device", quantity(self.memory.total, "B")))
        rows.append(("fits", "yes" if self.fits else "no"))
        return facts_html([*rows, ("binds", str(self.binds))])

    def __repr__(self) -> str:
        if isinstance(self.step, np.ndarray):
            return f"<Planned: {self.step.size} plans>"
        if is_symbolic(self.step):
            return f"<Planned: a formula of {', '.join(map(str, self.step.free_symbols))}>"
        held, usable = (each / 1e9 for each in (self.memory.total, self.cluster.device.usable))
        text = f"<Planned: {self.step:.3g} s a step, {self.mfu:.1%} MFU, {held:.1f} GB a device"
        return text + ("" if self.fits else f", which does not fit {usable:.1f} GB") + ">"
