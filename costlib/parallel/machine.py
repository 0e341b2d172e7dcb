"""A small machine of many devices: each runs the same program, and every element sent is tallied.

A program is a generator. It knows its rank, how many devices there are, and its own value, and
nothing of the others but what arrives. What it yields is what it sends in a round, a dict from the
receiver's rank to an array; what comes back is what arrived in that round, from the sender's rank.
Its return value is the device's result:

    def to_the_right(rank, devices, value):
        arrived = yield {(rank + 1) % devices: value}
        return arrived[(rank - 1) % devices]

A round is one step of the clock for all: messages of a round cross at once, and a device sends and
receives at most one in each (``ports`` changes that).

Left out: messages that are cut into packets, links that are shared, devices that run late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from costlib.units.numbers import one_size

__all__ = ["Machine", "Program", "TooManyMessages", "together", "within"]

Payload = Any  # an array, or a tuple of payloads that travel as one message
Program = Generator[Mapping[int, Payload], Mapping[int, Payload], Any]


class TooManyMessages(RuntimeError):
    """A device sent or received more messages in one round than it has ports."""


class Machine:
    """Devices that hold a value each, the tally of what each link carried, and in which round.

    >>> def to_the_right(rank, devices, value):
    ...     arrived = yield {(rank + 1) % devices: value}
    ...     return arrived[(rank - 1) % devices]
    >>> machine = Machine(3)
    >>> machine.run(to_the_right, [np.array([1]), np.array([2]), np.array([3])])
    [array([3]), array([1]), array([2])]
    >>> machine.sent, len(machine.rounds)
    (Counter({(0, 1): 1, (1, 2): 1, (2, 0): 1}), 1)
    """

    def __init__(self, devices: int, *, ports: int = 1, keep: bool = False) -> None:
        self.devices, self.ports = one_size("devices", devices), one_size("ports", ports)
        #: For each round, the elements that each link (sender, receiver) carried.
        self.rounds: list[dict[tuple[int, int], int]] = []
        #: With ``keep``, what those messages held.
        self.messages: list[dict[tuple[int, int], Payload]] = []
        self._keep = keep

    @property
    def sent(self) -> Counter[tuple[int, int]]:
        """Elements that each link carried in all."""
        total: Counter[tuple[int, int]] = Counter()
        for carried in self.rounds:
            total.update(carried)
        return total

    @property
    def busiest(self) -> int:
        """Elements that the device sent which sent most."""
        each: Counter[int] = Counter()
        for (sender, _), elements in self.sent.items():
            each[sender] += elements
        return max(each.values(), default=0)

    def seconds(
        self, link: Callable[[int, int], tuple[float, float]], bytes_each: float = 2
    ) -> Any:
        """Each round takes as long as its slowest message; a link is (latency, bytes/s).

        >>> machine = Machine(2)
        >>> machine.rounds = [{(0, 1): 500, (1, 0): 100}, {(0, 1): 500}]
        >>> machine.seconds(lambda sender, receiver: (1e-6, 1e9))
        4e-06
        """
        total = 0.0
        for carried in self.rounds:
            links = ((link(*ends), elements) for ends, elements in carried.items())
            total += max((wait + n * bytes_each / rate for (wait, rate), n in links), default=0.0)
        return total

    def run(
        self, program: Callable[..., Program], values: Sequence[Any], **options: Any
    ) -> list[Any]:
        """The results of a program that every device runs on its own value."""
        if len(values) != self.devices:
            text = f"values must be one for each of {self.devices} devices, got {len(values)}"
            raise ValueError(text)
        running = [
            _Running(program(rank, self.devices, value, **options))
            for rank, value in enumerate(values)
        ]
        arrived: list[Any] = [None] * self.devices
        while True:
            sent = [each.go_on(found) for each, found in zip(running, arrived, strict=True)]
            if all(each.is_over for each in running):
                return [each.result for each in running]
            arrived = self._deliver(sent, [not each.is_over for each in running])

    def _deliver(self, sent: Sequence[Mapping[int, Payload]], listens: Sequence[bool]) -> list[Any]:
        """One round: what each device receives, as copies."""
        arrived: list[dict[int, Payload]] = [{} for _ in sent]
        carried: dict[tuple[int, int], int] = {}
        held: dict[tuple[int, int], Payload] = {}
        for sender, messages in enumerate(sent):
            if len(messages) > self.ports:
                raise TooManyMessages(f"device {sender} sent {len(messages)} messages in a round")
            for receiver, payload in messages.items():
                if receiver == sender or not 0 <= receiver < self.devices:
                    raise ValueError(f"device {sender} sent to device {receiver}")
                if not listens[receiver]:
                    raise ValueError(f"device {sender} sent to {receiver}, whose program is over")
                arrived[receiver][sender] = held[sender, receiver] = _copied(payload)
                carried[sender, receiver] = _elements(payload)
        for receiver, found in enumerate(arrived):
            if len(found) > self.ports:
                text = f"device {receiver} received {len(found)} messages in a round"
                raise TooManyMessages(text)
        self.rounds.append(carried)
        if self._keep:
            self.messages.append({ends: _copied(payload) for ends, payload in held.items()})
        return arrived


def within(group: Sequence[int], program: Program) -> Program:
    """A program of some devices, whose ranks are their places in the group.

    >>> def swap(rank, devices, value):
    ...     arrived = yield {1 - rank: value}
    ...     return arrived[1 - rank]
    >>> def neighbours(rank, devices, value):
    ...     pair = [rank // 2 * 2, rank // 2 * 2 + 1]
    ...     return (yield from within(pair, swap(rank % 2, 2, value)))
    >>> [int(found) for found in Machine(4).run(neighbours, [10, 11, 12, 13])]
    [11, 10, 13, 12]
    """
    places = {rank: place for place, rank in enumerate(group)}
    arrived: Any = None
    while True:
        try:
            sends = program.send(arrived)
        except StopIteration as end:
            return end.value
        found = yield {group[place]: payload for place, payload in sends.items()}
        arrived = {places[rank]: payload for rank, payload in found.items()}


def together(one: Program, other: Program) -> Program:
    """Two programs of one device in the same rounds; messages to one receiver travel as one.

    >>> def pass_on(rank, devices, value, places):
    ...     arrived = yield {(rank + places) % devices: value}
    ...     return int(arrived[(rank - places) % devices])
    >>> def both(rank, devices, value):
    ...     ways = (pass_on(rank, devices, value, places) for places in (1, -1))
    ...     return (yield from together(*ways))
    >>> Machine(4, ports=2).run(both, [10, 11, 12, 13])
    [(13, 11), (10, 12), (11, 13), (12, 10)]
    """
    both = [_Running(one), _Running(other)]
    arrived: list[Any] = [None, None]
    while True:
        sends = [program.go_on(found) for program, found in zip(both, arrived, strict=True)]
        if all(program.is_over for program in both):
            return tuple(program.result for program in both)
        receivers = sorted({*sends[0], *sends[1]})
        found = yield {r: (sends[0].get(r), sends[1].get(r)) for r in receivers}
        arrived = [
            {sender: pair[which] for sender, pair in found.items() if pair[which] is not None}
            for which in (0, 1)
        ]


class _Running:
    """A program on one device, and its result once it is over."""

    def __init__(self, program: Program) -> None:
        self.program, self.is_over, self.result = program, False, None

    def go_on(self, arrived: Any) -> Mapping[int, Payload]:
        """What it sends next; nothing once it is over."""
        if not self.is_over:
            try:
                return self.program.send(arrived)
            except StopIteration as end:
                self.is_over, self.result = True, end.value
        return {}


def _elements(payload: Payload) -> int:
    if payload is None:
        return 0
    if isinstance(payload, tuple):
        return sum(map(_elements, payload))
    return int(np.size(payload))


def _copied(payload: Payload) -> Payload:
    if isinstance(payload, tuple):
        return tuple(map(_copied, payload))
    return payload if payload is None else np.array(payload)[()]
