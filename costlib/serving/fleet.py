"""The fewest devices that serve a number of users within targets for TTFT and TPOT.

Each of N users always has one request, a prompt of S tokens and then an answer of η. Where a copy
serves B of them, the prompts of the others are prefilled between the steps of one's answer, so that
an output token takes on average

    t(B, T̄) + (B − 1)·p(S) / (η − 1)        with T̄ = S + η/2 − 1

which is the step that `Server` knows, and each other user's prefill once an answer. A prompt that
arrives waits at most for the step that runs, so that its first token takes t(B, T̄) + p(S).

Both grow with B, and memory ends it. So each plan has a largest B, found by halving, and needs
⌈N / B⌉ copies; `fewest_devices` takes the plan that needs the fewest devices in all.

Left out: prompts that arrive together and wait for one another, and prefill on devices of its own
(`costlib.serving.simulate` and `disaggregate` have them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from costlib.layers.feed import Mixture
from costlib.model.catalog import Node, model_of, nodes
from costlib.model.transformer import Transformer
from costlib.parallel.cluster import Cluster, machine_of
from costlib.parallel.model_parallel import degrees
from costlib.serving.server import OutOfReach, Server
from costlib.units.display import quantity
from costlib.units.numbers import amount, ceil_div, one_size, within_seconds
from costlib.units.precision import Precision

__all__ = ["ALONE", "LARGEST", "Fleet", "fewest_devices", "fleets"]

#: Devices of the largest group that is tried, which is a copy, or copies that share one set of
#: experts: where a node of the device is known, and where none is.
LARGEST, ALONE = 64, 8


@dataclass(frozen=True, slots=True)
class Fleet:
    """A server that meets the targets for a number of users. ``tpot`` and ``ttft`` are in seconds,
    for the copy that has most users.

    ``limit`` says what keeps one more user out of a copy: "memory", "latency", or "users", as there
    is no other.

    >>> fleet = fewest_devices("llama-3.1-70b", "H100-SXM", users=40, tpot=0.05)
    >>> fleet.server.machine, fleet.batch, fleet.limit, round(fleet.output_tokens_per_s)
    ('4 × H100-SXM', 40, 'users', 1820)
    """

    server: Server
    users: int
    prompt: int
    answer: int
    tpot: float
    ttft: float
    limit: str

    @property
    def devices(self) -> int:
        """Devices of all copies."""
        return self.server.devices

    @property
    def batch(self) -> int:
        """Users of the copy that has most of them."""
        return int(ceil_div(self.users, self.server.data))

    @property
    def output_tokens_per_s(self) -> float:
        """Output tokens a second of all users, with all prompts prefilled meanwhile."""
        return self.users * self.answer / self._cycle

    @property
    def _cycle(self) -> float:
        """Seconds of a user's request, after which the next one begins."""
        return float(self.server.busy(self.prompt)) + (self.answer - 1) * self.tpot

    @property
    def input_seconds(self) -> float:
        """Device seconds of an input token: its share of a prompt's prefill, on every device of the
        copy that does it."""
        return float(self.server.busy(self.prompt)) * self.server.per_copy / self.prompt

    @property
    def output_seconds(self) -> float:
        """Device seconds of an output token: what all prefills leave of every device's time.

        >>> fleet = fewest_devices("llama-3.1-70b", "H100-SXM", users=40, tpot=0.05)
        >>> spent = fleet.prompt * fleet.input_seconds + fleet.answer * fleet.output_seconds
        >>> round(fleet.devices / spent * fleet.answer) == round(fleet.output_tokens_per_s)
        True
        """
        of_all = self.devices * self._cycle / self.users
        return (of_all - self.prompt * self.input_seconds) / self.answer


def fewest_devices(model: Any, device: Any, **asked: Any) -> Fleet:
    """The fewest devices that serve ``users`` concurrent users, and their plan; see `fleets`.

    Of plans with as few devices it is the one with the lowest TPOT.

    >>> fleet = fewest_devices(
    ...     "llama-3.1-8b", "H100-SXM", users=200, prompt=7000, answer=1000, tpot=1 / 30
    ... )
    >>> fleet.server.machine, fleet.batch, round(1000 * fleet.tpot, 1)
    ('4 × H100-SXM (tensor=2, data=2)', 100, 24.5)
    >>> fewest_devices("llama-3.1-8b", "H100-SXM", users=1, tpot=0.0001)
    Traceback (most recent call last):
        ...
    costlib.serving.server.OutOfReach: no plan of up to 64 × H100-SXM has a TPOT of 100 µs: \
the lowest is 160.1 µs
    """
    [*_, best] = fleets(model, device, **asked)
    assert best is not None  # or it was said what is out of reach
    return best


def fleets(
    model: Any,
    device: Any,
    *,
    users: int,
    prompt: int = 1000,
    answer: int = 200,
    tpot: float = inf,
    ttft: float = inf,
    precision: Precision | str | None = None,
    latency: float | None = None,
    engine: Any = None,
) -> Iterator[Fleet | None]:
    """The best fleet so far, after each plan that is tried, small groups first; None before one is
    found. A program can do other things in between.

    ``device`` is a device or a node, of which whole ones are taken; a group that is larger than the
    widest node of a device lies on several such nodes, and has 8 at most where no node is known.
    ``tpot`` and ``ttft`` are the targets in seconds. The rest is as in `Server`.

    >>> found = list(fleets("llama-3.1-8b", "H100-SXM", users=200, prompt=7000, answer=1000))
    >>> [None if fleet is None else fleet.devices for fleet in found]
    [4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    """
    asked = _Asked(
        model_of(model),
        one_size("users", users),
        one_size("prompt", prompt),
        one_size("answer", answer),
        _most("tpot", tpot, 1),
        _most("ttft", ttft, 60),
        precision,
        latency,
        engine,
    )
    asked.model.check_context(asked.prompt + asked.answer)
    best: Fleet | None = None
    fastest = (inf, inf)
    for group in _groups(asked.model, device):
        if best is None or group.devices <= best.devices:
            best, fastest = asked.tried(group, best, fastest)
            yield best
    if best is None:
        raise OutOfReach(_nothing_does(asked, device, fastest))


def _most(name: str, seconds: float, most: float) -> float:
    """A target in seconds; no target is one, too."""
    return inf if seconds == inf else float(within_seconds(name, amount(name, seconds), most))


def _better(best: Fleet | None, fleet: Fleet) -> Fleet:
    """The one with fewer devices, or of as many the faster one."""
    if best is None or fleet.devices < best.devices:
        return fleet
    same = fleet.devices == best.devices
    return fleet if same and fleet.tpot < best.tpot else best


@dataclass(frozen=True, slots=True)
class _Group:
    """A way to cut a model over devices of ``place``; ``copies`` are the fewest that share their
    experts evenly and fill whole nodes, where nodes are taken."""

    place: Any
    tensor: int
    pipeline: int
    expert: int
    dcp: int

    @property
    def copies(self) -> int:
        """The fewest copies; every number of them that can be had is a multiple."""
        copies = self.expert
        width = self.place.devices if isinstance(self.place, Node) else 1
        while copies * self.tensor * self.pipeline % width:
            copies += self.expert
        return copies

    @property
    def devices(self) -> int:
        """Devices of all copies."""
        return self.copies * self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of every plan."""

    model: Transformer
    users: int
    prompt: int
    answer: int
    tpot: float
    ttft: float
    precision: Any
    latency: Any
    engine: Any

    @property
    def end(self) -> int:
        """Tokens of a request when its answer is done."""
        return self.prompt + self.answer

    def server(self, group: _Group, copies: int) -> Server:
        """So many copies of a group's plan."""
        place = group.place
        if isinstance(place, Node):
            place = Cluster(place, copies * group.tensor * group.pipeline // place.devices)
        return Server(
            self.model,
            place,
            self.precision,
            tensor=group.tensor,
            pipeline=group.pipeline,
            expert=group.expert,
            data=copies,
            latency=self.latency,
            engine=self.engine,
            dcp=group.dcp,
        )

    def seconds(self, server: Server, batch: int) -> tuple[float, float]:
        """Seconds per output token, and to the first, with ``batch`` users on each copy."""
        how: Any = {"too_large": "ignore"}  # what does not fit is left out
        step = float(server.step(batch, self.prompt + self.answer / 2 - 1, **how))
        others = (batch - 1) * float(server.busy(self.prompt)) / max(1, self.answer - 1)
        return step + others, step + float(server.prefill(self.prompt, **how))

    def tried(
        self, group: _Group, best: Fleet | None, fastest: tuple[float, float]
    ) -> tuple[Fleet | None, tuple[float, float]]:
        """The best fleet and the fastest seconds once a group's plan was looked at."""
        try:
            server = self.server(group, group.copies)
            token, first = self.seconds(server, 1)
        except ValueError:  # it cannot be cut like that, or nothing joins the devices
            return best, fastest
        if server.room(self.end) < 1:
            return best, fastest
        batch = self.largest(server, 0 if best is None else best.devices // group.devices)
        if batch > 0:
            best = _better(best, self.fleet(group, server, batch))
        return best, (min(fastest[0], token), min(fastest[1], first))

    def serves(self, server: Server, batch: int) -> bool:
        """Whether ``batch`` users on each copy are served in time."""
        token, first = self.seconds(server, batch)
        return token <= self.tpot and first <= self.ttft

    def largest(self, server: Server, groups: int) -> int:
        """The most users of each copy, none if more than ``groups`` groups would be needed; with 0
        any number of groups will do."""
        room = server.room(self.end)
        most = int(min(room, ceil_div(self.users, server.data)))
        least = ceil_div(self.users, groups * server.data) if groups else 1
        if most < least or not self.serves(server, least):
            return 0
        low, high = least, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.serves(server, middle) else (low, middle)
        return low

    def fleet(self, group: _Group, server: Server, batch: int) -> Fleet:
        """As many groups as serve everybody, with at most ``batch`` users on each copy."""
        groups = ceil_div(self.users, batch * server.data)
        limit = "memory" if batch >= server.room(self.end) else "latency"
        limit = "users" if groups == 1 and batch * server.data >= self.users else limit
        whole = self.server(group, groups * group.copies)
        users = ceil_div(self.users, whole.data)
        token, first = self.seconds(whole, users)
        return Fleet(whole, self.users, self.prompt, self.answer, token, first, limit)


def _groups(model: Transformer, device: Any) -> Iterator[_Group]:
    """Every way that is tried, small groups first."""
    place, wide = _standing(device)
    shared = [each for each in degrees(model) if each <= LARGEST]
    experts = [p.experts for block in model.blocks for p in block.parts if isinstance(p, Mixture)]
    for devices in _SIZES:
        if devices > _most_of(place, wide):
            return
        stand = place if wide is None or devices <= wide.devices else wide
        for tensor in shared:
            if devices % tensor:
                continue
            rest = devices // tensor
            heads = model.kv_heads or tensor  # of a latent, each device has all
            for dcp in sorted({1, tensor, max(1, tensor // heads)}):
                yield _Group(stand, tensor, rest, 1, dcp)
                if rest > 1 and experts and all(each % rest == 0 for each in experts):
                    yield _Group(stand, tensor, 1, rest, dcp)


#: Sizes of a group: all that a node of eight has, then powers of two and three times such a power.
_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, LARGEST)


def _most_of(place: Any, wide: Node | None) -> int:
    """Devices of the largest group that is tried."""
    return ALONE if wide is None and not isinstance(place, Node) else LARGEST


def _standing(device: Any) -> tuple[Any, Node | None]:
    """A device or a node, and for a device the widest node that has it."""
    place, many = machine_of(device)
    if many is not None or (isinstance(place, Cluster) and place.nodes > 1):
        raise ValueError(
            "device must be a single device or node, because their number is what is asked, "
            f"got {device!r:.60}"
        )
    if isinstance(place, Cluster):
        return place.node, None
    wide = None
    for name in nodes:
        node = nodes[name]
        alike = node.device.name == place.name
        if alike and (wide is None or node.devices > wide.devices):
            wide = node
    return place, wide


def _nothing_does(asked: _Asked, device: Any, fastest: tuple[float, float]) -> str:
    """What the best plan can do where it is not enough."""
    name = device if isinstance(device, str) else device.name
    plans = f"no plan of up to {_most_of(*_standing(device))} × {name}"
    if fastest[0] == inf:
        text = f"{plans} holds the weights and a sequence of {asked.end:,} tokens"
        return f"{text}: fewer bits or a device with more memory would help"
    token, first = fastest
    if token > asked.tpot:
        text = f"{plans} has a TPOT of {quantity(asked.tpot, 's')}"
        return f"{text}: the lowest is {quantity(token, 's')}"
    text = f"{plans} has a TTFT of {quantity(asked.ttft, 's')}"
    if first > asked.ttft:
        text += f" with a prompt of {asked.prompt:,} tokens"
        return f"{text}: the lowest is {quantity(first, 's')}"
    text += f" and a TPOT of {quantity(asked.tpot, 's')}"
    return f"{text} at once: each target alone can be met"
