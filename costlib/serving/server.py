"""A server: a model on one device, or on many that share its layers, its experts and its work.

All times of the chapter are two questions to the ledger: how long does a decode step of B
sequences take, and how long a pass over a prompt. `Server` asks them with the precision and the
plan filled in, and knows how much of its memory is left for the cache.

A plan divides a server in four ways, as `costlib.parallel.Plan` divides training:

- `tensor`: devices that share every layer: heads, widths, two sums a layer.
- `pipeline`: stages that have some of the layers each. B sequences go round in as many groups, so
  that a token takes max(Σ t, groups · max t), with t a stage's time for one group of
  ⌈B / pipeline⌉: all stages in turn, or the slowest one once for each group.
- `data`: copies, each with a batch of its own: rates, prices and energy add up.
- `expert`: the number of copies that share one set of experts, each with E/e of every layer's;
  attention and all that is no expert is copied, as copies have tokens of their own.

Beside them ``dcp`` (decode context parallelism) divides the caches alone: ``dcp`` of the devices
that share every layer, and would keep the same keys and values or latents, keep every ``dcp``-th
token of them. It needs no more devices.

Times are the least that a datasheet allows, of one device and of many: however the machine is
named, no round of messages waits. ``latency`` says how long one does; at some microseconds each,
the many rounds of few tokens can take longer than all else.

Left out: sampling, the tokenizer and the network between users and the server; experts that
are divided within a tensor group; experts that get more tokens than others; and that only one
group of a batch has activations at a time (room is kept for those of all).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf
from typing import Any

from costlib.model.catalog import Node, model_of
from costlib.model.engines import engine_of
from costlib.model.kvcache import Memory, kv_bytes, largest_batch, memory
from costlib.model.transformer import BeyondTraining, Transformer
from costlib.parallel import (
    Cluster,
    context_parallel,
    expert_parallel,
    stage_models,
    tensor_parallel,
)
from costlib.parallel.cluster import machine_of
from costlib.parallel.degrees import Degrees
from costlib.parallel.legal import SERVED, broken
from costlib.parallel.mesh import Mesh
from costlib.timing.roofline import check_room, time
from costlib.units.device import Device, Link
from costlib.units.display import quantity
from costlib.units.ledger import Ledger
from costlib.units.numbers import (
    Number,
    ceil_div,
    exceeds,
    is_zero,
    maximum,
    minimum,
    one_size,
    suggests,
    within_seconds,
)
from costlib.units.precision import Precision, precision_of

__all__ = ["CUTS", "BeyondTraining", "OutOfReach", "Server", "server_of"]

#: What does not fit, in the words of a warning.
_STEP = ("a device holds in this step", "weights, caches and activations")
_PREFILL = ("a device holds in this prefill", "weights and caches")
_ROOM = "Server.room tells how many sequences fit, and too_large='ignore' times this nevertheless"

#: The ways in which a server is cut.
CUTS = ("tensor", "pipeline", "expert", "data", "dcp")


class OutOfReach(ValueError):
    """The question is fine, but the server cannot do it: nothing fits, or no batch is fast
    enough."""


@suggests
@dataclass(frozen=True, slots=True, repr=False)
class Server:
    """A model in a precision on tensor·pipeline·data devices: see the top of this module.

    ``device`` is a device, a node or a `costlib.parallel.Cluster`; names of the catalogue will do,
    and "H100-SXMx8" for eight of one. A device has as many others beside it as the plan asks for,
    over its ``interconnect``. Each round of messages in a node waits ``latency`` seconds, or if not
    given, a cluster's own, or not at all; where it waits, so does a network's (see `Cluster`).
    Unless given, ``tensor`` is what the other cuts leave of the devices.
    Without a precision the model's own is meant. Batches are those of one copy. With an ``engine``
    there is room for as many sequences as that engine would take on: see `costlib.model.engines`.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> print(f"{1000 * server.step(1, 1000):.2f} ms a step, {1000 * server.prefill(1000):.1f} ms")
    4.52 ms a step, 16.5 ms
    >>> server.room(8192), Server("llama-3.1-8b", "H100-SXM", "fp8").room(8192)
    (57, 129)
    >>> Server("llama-3.1-70b", "H100-SXM", tensor=4).fits
    True
    >>> pair = Server("llama-3.1-405b", "DGX-H100x2", pipeline=2)
    >>> pair.tensor, pair.machine, pair.room(8192)
    (8, '16 × H100-SXM (tensor=8, pipeline=2)', 100)
    >>> Server("llama-3.1-8b", "H100-SXM", tensor=3)
    Traceback (most recent call last):
        ...
    ValueError: tensor=3 does not divide the model: devices must divide kv_heads=8 or be a \
multiple, got 3; the nearest is 2
    """

    model: Any  # a Transformer; its name while it is made
    device: Any  # a Device; a name, a node or a cluster while it is made
    precision: Precision | str | None = None
    tensor: Any = None  # an int; unless given, found while it is made
    pipeline: int = 1
    expert: int = 1
    data: int = 1
    latency: Number | None = None
    engine: Any = None  # an Engine; its name while it is made
    dcp: int = 1
    #: What a device of each kind of stage holds and computes, and how many stages are of a kind.
    stages: tuple[tuple[Transformer, int], ...] = field(init=False, repr=False, compare=False)
    #: The cluster it is cut for, or the device of which there are as many as the plan needs.
    place: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        model, (place, many) = model_of(self.model), machine_of(self.device)
        if self.precision is not None:
            precision_of(self.precision)
        put = object.__setattr__
        many = place.devices if isinstance(place, Cluster) else many
        for name in ("pipeline", "expert", "data", "dcp"):
            put(self, name, one_size(name, getattr(self, name)))
        rest = max(1, (many or 1) // (self.pipeline * self.data))
        put(self, "tensor", rest if self.tensor is None else one_size("tensor", self.tensor))
        put(self, "model", model)
        put(self, "place", place)
        if self.engine is not None:
            inside = place.node.device if isinstance(place, Cluster) else place
            put(self, "engine", engine_of(self.engine, inside.capacity, inside.name))
        cluster = place if isinstance(place, Cluster) else _of_one_node(place, many or self.devices)
        plan = Degrees(**{name: many for name, many in self.plan.items() if name != "dcp"})
        for wrong in broken(plan, model, cluster, self.data, 1, rules=SERVED):
            raise ValueError(wrong)
        mesh = Mesh(plan, cluster)
        axes = {**mesh.axes, "expert": mesh.expert}
        given = cluster.latency if self.latency is None else self.latency
        waits = 0 if given is None else within_seconds("latency", given, 0.1)
        if isinstance(place, Cluster):
            put(self, "device", place.device_on(axes, waits))
        else:
            put(self, "device", _waiting(place, waits))
        share = tensor_parallel(model, self.tensor, nodes=axes["tensor"].across)
        share = context_parallel(share, model, self.dcp)
        share = expert_parallel(share, self.expert, nodes=mesh.expert.across)
        axis = "pipeline.network" if mesh.neighbour.across > 1 else "pipeline"
        put(self, "stages", stage_models(share, self.pipeline, axis=axis))

    @property
    def plan(self) -> dict[str, Any]:
        """The degrees by name."""
        return {name: getattr(self, name) for name in CUTS}

    @property
    def devices(self) -> int:
        """Devices in all copies."""
        return int(self.per_copy * self.data)

    @property
    def per_copy(self) -> int:
        """Devices of one copy."""
        return int(self.tensor * self.pipeline)

    @property
    def machine(self) -> str:
        """The devices in words, and the plan where it is more than sharing layers."""
        cut = ", ".join(f"{name}={many}" for name, many in self.plan.items() if many > 1)
        told = f" ({cut})" if self.devices != self.tensor else ""
        return f"{self.devices} × {self.device.name}{told}"

    @property
    def _each(self) -> str:
        return self.machine if self.devices == 1 else f"each of {self.machine}"

    def __repr__(self) -> str:
        told = f", in {self.precision}" if isinstance(self.precision, str) else ""
        return f"<Server: {quantity(self.model.params())} parameters on {self.machine}{told}>"

    @property
    def share(self) -> Transformer:
        """What each device holds and computes, where all have the same: without a pipeline."""
        if self.pipeline > 1:
            raise ValueError(
                f"pipeline={self.pipeline} is not supported here: use tensor=... instead"
            )
        return self.stages[0][0]

    def with_(self, **changes: Any) -> Server:
        """The same server with another model, precision or plan.

        >>> Server("llama-3.1-70b", "H100-SXM", tensor=4).with_(data=2).devices
        8
        """
        return replace(self, **{"device": self.place, **changes})

    def seconds(self, work: Ledger) -> Any:
        """Seconds of a pass of one device's part."""
        return time(work, self.device, precision=self.precision, too_large="ignore")

    def passes(
        self, batch: Number, context: Number, new: Number, **options: Any
    ) -> list[tuple[Ledger, int]]:
        """What each kind of stage does of a pass of `costlib.Transformer.decode`, and how many
        stages are of the kind."""
        return [(stage.decode(batch, context, new, **options), n) for stage, n in self.stages]

    def groups(self, batch: Number) -> tuple[Any, Any]:
        """Groups that a batch goes through the stages in, and sequences of the largest."""
        if self.pipeline == 1:
            return 1, batch
        return minimum(batch, self.pipeline), ceil_div(batch, self.pipeline)

    def step(
        self, batch: Number, context: Number, new: Number = 1, *, too_large: str = "warn"
    ) -> Any:
        """Seconds of a decode step of ``batch`` sequences, each with ``context`` tokens cached.

        As by `costlib.time`, a step for which there is no memory is timed with a warning.
        """
        if too_large != "ignore" and not self._engine_takes(batch, context, new):
            held = self.held_bytes(batch, context, new)
            check_room(held, self.device, too_large, *_STEP, _ROOM)
        groups, each = self.groups(batch)
        return self._in_turn(self.passes(each, context, new), groups)

    def prefill(
        self, prompt: Number, *, cached: Number = 0, batch: Number = 1, too_large: str = "warn"
    ) -> Any:
        """Seconds of a prefill, up to its first output token; ``cached`` tokens come before it."""
        if too_large != "ignore" and not self._engine_takes(batch, cached, prompt):
            held = self._largest(batch, cached, prompt, lambda each: each.weights + each.kv)
            check_room(held, self.device, too_large, *_PREFILL, _ROOM)
        return self._in_turn(self.passes(batch, cached, prompt, logits="last"), 1)

    def _engine_takes(self, batch: Number, context: Number, new: Number) -> bool:
        """Whether an engine is known to have room, which may use what is a reserve here."""
        return self.engine is not None and not exceeds(batch, self.room(context + new))

    def held_bytes(self, batch: Number, context: Number, new: Number = 1) -> Any:
        """What the fullest device holds in such a step: weights, caches and activations.

        >>> server = Server("llama-3.1-8b", "H100-SXM")
        >>> [server.held_bytes(batch, 8191) <= server.device.usable for batch in (57, 58)]
        [True, False]
        """
        return self._largest(batch, context, new, lambda each: each.total)

    def _largest(
        self, batch: Number, context: Number, new: Number, of: Callable[[Memory], Any]
    ) -> Any:
        """The most of something that a device holds in a pass."""
        held = [memory(s, batch, context, self.precision, new=new) for s, _ in self.stages]
        return reduce(maximum, map(of, held))

    def busy(self, prompt: Number, *, cached: Number = 0) -> Any:
        """Seconds until the next prompt can follow: of a pipeline those of the slowest stage."""
        seconds = [self.seconds(work) for work, _ in self.passes(1, cached, prompt, logits="last")]
        return reduce(maximum, seconds)

    def _in_turn(self, passes: list[tuple[Ledger, int]], groups: Number) -> Any:
        """Seconds until groups have been through all stages, and the first can begin again."""
        seconds = [self.seconds(work) for work, _ in passes]
        if len(passes) == 1:
            return seconds[0]
        through = sum(alike * spent for spent, (_, alike) in zip(seconds, passes, strict=True))
        return maximum(through, groups * reduce(maximum, seconds))

    def room(self, context: Number) -> Any:
        """Sequences of ``context`` tokens that fit beside the weights, on the fullest device of a
        copy; 0 where the weights do not."""
        return reduce(minimum, [self.room_of(stage, context) for stage, _ in self.stages])

    def room_of(self, stage: Transformer, context: Number) -> Any:
        """The same of a device that has one of `stages`."""
        each = self.precision
        return largest_batch(stage, self.device, context, each, engine=self.engine).largest

    @property
    def fits(self) -> bool:
        """Whether the weights leave room for any sequence at all."""
        return bool(self.room(1) > 0)

    def fullest(self, batch: Number, context: Number) -> tuple[Transformer, Memory]:
        """The stage whose devices hold most in a step of ``batch`` sequences, and what each
        holds."""
        held = [(s, memory(s, batch, context, self.precision)) for s, _ in self.stages]
        return max(held, key=lambda each: each[1].total)

    def cache_bytes(self, context: Number, batch: Number = 1) -> Any:
        """Bytes of the caches of ``batch`` sequences, on all devices of a copy together."""
        caches = (n * kv_bytes(s, batch, context, self.precision) for s, n in self.stages)
        return self.tensor * sum(caches)

    @property
    def element_bytes(self) -> Any:
        """Bytes of one cached element."""
        own: Precision = self.stages[0][0].precision
        return (own if self.precision is None else precision_of(self.precision)).kv

    def free_bytes(self, tokens: Number = 1) -> Any:
        """Bytes of each device that weights and a pass over ``tokens`` tokens leave for the
        cache."""
        held = memory(self.share, 1, 0, self.precision, new=tokens)
        return self.device.usable - held.weights - held.activations

    def check_trained(self, context: int) -> None:
        """Warn of more tokens than the model was trained for: the costs hold, the answers may be
        poor.

        >>> Server("llama-3.1-8b", "H100-SXM").check_trained(128_000)
        """
        self.model.check_trained(context)

    def check(self, context: int = 1, batch: int = 1) -> None:
        """Raise an error that says what would fit, if ``batch`` sequences of ``context`` tokens do
        not.

        >>> Server("llama-3.1-8b", "H100-SXM").check(8192, batch=100)
        Traceback (most recent call last):
            ...
        costlib.serving.server.OutOfReach: batch must be at most 57, as many sequences \
of 8,192 tokens as fit beside the weights on 1 × H100-SXM, got 100
        """
        self.check_trained(context)
        room = self.room(context)
        if room >= batch:
            return
        if room > 0:
            raise OutOfReach(
                f"batch must be at most {room:,}, as many sequences of {context:,} tokens as fit "
                f"beside the weights on {self.machine}, got {batch:,}"
            )
        if self.engine is not None:
            stage = min((each for each, _ in self.stages), key=lambda each: self.room_of(each, 1))
            given = self.engine.given(stage, self.device.capacity, self.precision) / 1e9
            each = self.engine.charged(stage, context, self.precision) / 1e9
            raise OutOfReach(
                f"a sequence of {context:,} tokens does not fit: {self.engine.name} charges "
                f"{each:.1f} GB for its cache and has {max(0, given):.1f} GB for caches on "
                f"{self._each}; {self._devices_that_do(context)}"
            )
        one, given = self.fullest(1, context - 1)[1].total, self.device.usable
        text = (
            f"a sequence of {context:,} tokens does not fit: weights and its cache take "
            f"{one / 1e9:.1f} GB on {self._each}, and {given / 1e9:.1f} GB are usable"
        )
        raise OutOfReach(f"{text}; {self._devices_that_do(context)}")

    def _devices_that_do(self, context: int) -> str:
        for name in ("tensor", "pipeline"):
            for more in (2, 4, 8, 16, 32, 64):
                many = more * getattr(self, name)
                try:
                    found = self.with_(**{name: many}, data=self._fewer(more))
                except ValueError:  # cannot be cut any further, or there are no more devices
                    break
                if found.room(context) > 0:
                    copies = f", data={found.data}" if found.data != self.data else ""
                    return f"{name}={many}{copies} would do"
        if nodes := self._nodes_that_do(context):
            return f"{nodes} nodes would do"
        return "fewer bits, or a device with more memory, would do"

    def _nodes_that_do(self, context: int) -> int | None:
        """More of a cluster's nodes, with every layer shared by more devices."""
        for more in (2, 4, 8) if isinstance(self.place, Cluster) else ():
            nodes: int = more * self.place.nodes
            try:
                wide = self.with_(device=self.place.with_(nodes=nodes), tensor=more * self.tensor)
            except ValueError:  # cannot be cut any further
                break
            if wide.room(context) > 0:
                return nodes
        return None

    def _fewer(self, more: int) -> int:
        """Copies, if each is to have ``more`` times the devices: a cluster has no others."""
        return max(1, self.data // more) if isinstance(self.place, Cluster) else self.data


def _of_one_node(device: Device, many: int) -> Cluster:
    """As many of a device as a plan needs, next to one another; their links are the device's own,
    which are asked for when something is sent."""
    return Cluster(Node(name=device.name, device=device, devices=many, link=inf))


def _waiting(device: Device, waits: Number) -> Device:
    """A device over whose interconnect each round of messages waits."""
    if is_zero(waits) or device.interconnect is None:
        return device
    return device.with_(links={**device.links, "node": Link(device.interconnect, waits)})


def server_of(value: Any, name: str = "server") -> Server:
    """A server, or the one that a text such as "llama-3.1-8b on H100-SXM" stands for.

    >>> server_of("llama-3.1-70b on H100-SXMx4").machine
    '4 × H100-SXM'
    >>> server_of("H100-SXM")
    Traceback (most recent call last):
        ...
    TypeError: server must be a Server(model, device) or 'MODEL on DEVICE', got 'H100-SXM'
    """
    if isinstance(value, str) and " on " in value:
        model, _, device = value.partition(" on ")
        return Server(model.strip(), device.strip())
    if not isinstance(value, Server):
        text = f"{name} must be a Server(model, device) or 'MODEL on DEVICE'"
        raise TypeError(f"{text}, got {value!r:.60}")
    return value
