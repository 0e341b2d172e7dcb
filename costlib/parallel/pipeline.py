"""Pipelines: stages that pass microbatches on, in an order; when each is done, and what it holds.

The layers are cut into stages·chunks pieces, and piece j lies on device j mod stages: with one
chunk a stage each, with more the pieces are dealt out in turns ("interleaved", virtual stages). A
task is the forward or the backward pass of one microbatch through one piece. It can begin when its
device is free and the piece before it (after it, going back) is done with that microbatch. An order
says which task a device does next; `played` follows it and gives begin and end of every task.

    gpipe        all forward passes, then all backward passes
    1f1b         as many forward as it takes to reach the last stage, then one of each in turn
    interleaved  1f1b over several chunks a device; microbatches go in rounds of as many as stages

With equal tasks of f and b seconds a piece, every device is busy for m·v·(f + b) seconds, m being
the microbatches and v the chunks, and idle for (p − 1)·(f + b), p being the stages: the `bubble`.
Where stages differ, with T seconds of both passes each, GPipe takes (m − 1)·max T + Σ T, and 1F1B
no longer: as long if the last stage is the slowest, as it mostly is.

Left out: the time that messages take; schedules that cut a backward pass in two, so that gradients
of weights fill the bubble (zero-bubble schedules, Qi et al. 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from costlib.units.numbers import Number, choose, minimum, size

__all__ = ["ORDERS", "Timeline", "Task", "bubble", "in_flight", "order", "played"]

ORDERS = ("gpipe", "1f1b", "interleaved")


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One pass of a microbatch through one piece of the layers."""

    backward: bool
    piece: int
    microbatch: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """When every task began and ended, device by device in the order that they ran."""

    devices: tuple[tuple[tuple[Task, Any, Any], ...], ...]  #: (task, begin, end)

    @property
    def seconds(self) -> Any:
        """From the first begin to the last end."""
        return max(end for done in self.devices for _, _, end in done)

    def idle(self, device: int = 0) -> Any:
        """Seconds in which a device does nothing."""
        return self.seconds - sum(end - begin for _, begin, end in self.devices[device])

    def most_held(self, device: int) -> int:
        """The most microbatches' activations, counted by pieces, that a device holds at once."""
        held = most = 0
        for task, _, _ in self.devices[device]:
            held += -1 if task.backward else 1
            most = max(most, held)
        return most


def bubble(stages: Number, microbatches: Number, chunks: Number = 1) -> Any:
    """The share of time that a device waits: (p − 1) / (v·m + p − 1).

    >>> bubble(4, 12), round(bubble(8, 32), 3), round(bubble(8, 32, chunks=4), 3)
    (0.2, 0.179, 0.052)
    """
    waits = size("stages", stages) - 1
    return waits / (size("chunks", chunks) * size("microbatches", microbatches) + waits)


def in_flight(how: str, device: int, stages: int, microbatches: Number, chunks: int = 1) -> Any:
    """Microbatches, counted by pieces, whose activations a device holds at most.

    GPipe holds all of them. One forward, one backward holds as many as there are stages from here
    on. Interleaved holds more: two for each stage after it, and stages·(chunks − 1) + 1.

    >>> [in_flight("1f1b", device, 4, 32) for device in range(4)]
    [4, 3, 2, 1]
    >>> in_flight("gpipe", 0, 4, 32), in_flight("interleaved", 0, 4, 32, chunks=2)
    (32, 11)
    """
    choose("how", how, ORDERS)
    if how == "gpipe":
        return microbatches
    if how == "1f1b":
        return minimum(microbatches, stages - device)
    begun = 2 * (stages - device - 1) + (chunks - 1) * stages + 1
    return minimum(microbatches * chunks, begun)


def order(how: str, device: int, stages: int, microbatches: int, chunks: int = 1) -> list[Task]:
    """What a device does, in turn.

    >>> [("B" if t.backward else "F") + str(t.microbatch) for t in order("1f1b", 1, 2, 3)]
    ['F0', 'B0', 'F1', 'B1', 'F2', 'B2']
    """
    _check(how, device, stages, microbatches, chunks)
    forward, backward = (list(_passes(b, device, stages, microbatches, chunks)) for b in (0, 1))
    if how == "gpipe":
        return forward + [Task(True, task.piece, task.microbatch) for task in reversed(forward)]
    ahead = in_flight(how, device, stages, microbatches, chunks) - 1
    tasks = forward[:ahead]
    for new, old in zip(forward[ahead:], backward, strict=False):
        tasks += [new, old]
    return tasks + backward[len(forward) - ahead :]


def _passes(
    backward: int, device: int, stages: int, microbatches: int, chunks: int
) -> Iterator[Task]:
    """All passes of one direction: in rounds of as many microbatches as stages, chunk by chunk."""
    each = stages if chunks > 1 else microbatches
    for first in range(0, microbatches, each):
        for chunk in reversed(range(chunks)) if backward else range(chunks):
            for microbatch in range(first, min(first + each, microbatches)):
                yield Task(bool(backward), chunk * stages + device, microbatch)


def _check(how: str, device: int, stages: int, microbatches: int, chunks: int) -> None:
    choose("how", how, ORDERS)
    for name, value in {"stages": stages, "microbatches": microbatches, "chunks": chunks}.items():
        size(name, value)
    if not 0 <= device < stages:
        raise ValueError(f"device must be from 0 to {stages - 1}, got {device}")
    if chunks > 1 and how != "interleaved":
        raise ValueError(f"{how} has one chunk a device, got {chunks}: 'interleaved' has more")
    if how == "interleaved" and microbatches % stages:
        nearest = max(stages, round(microbatches / stages) * stages)
        text = f"microbatches must be a multiple of the {stages} stages, got {microbatches}"
        raise ValueError(f"{text}; the nearest is {nearest}")


def played(
    how: str,
    *,
    stages: int,
    microbatches: int,
    chunks: int = 1,
    forward: Number | Sequence[Number] = 1,
    backward: Number | Sequence[Number] = 2,
) -> Timeline:
    """Begin and end of every task, with so many seconds for each piece, or a list of each one's.

    >>> done = played("1f1b", stages=4, microbatches=8)
    >>> done.seconds, done.idle(), done.idle() / done.seconds == bubble(4, 8)
    (33, 9, True)
    """
    _check(how, 0, stages, microbatches, chunks)
    todo = [order(how, device, stages, microbatches, chunks) for device in range(stages)]
    took = _seconds(forward, stages * chunks), _seconds(backward, stages * chunks)
    last, ends, free = stages * chunks - 1, dict[Task, Any](), [0] * stages
    done: list[list[tuple[Task, Any, Any]]] = [[] for _ in range(stages)]
    while any(len(one) < len(all_) for one, all_ in zip(done, todo, strict=True)):
        moved = False
        for device in range(stages):
            while len(done[device]) < len(todo[device]):
                task = todo[device][len(done[device])]
                needed = _needed(task, last)
                if needed is not None and needed not in ends:
                    break
                begin = max(free[device], ends[needed] if needed else 0)
                ends[task] = free[device] = begin + took[task.backward][task.piece]
                done[device].append((task, begin, ends[task]))
                moved = True
        if not moved:
            raise RuntimeError(f"{how}: every device waits for another")
    return Timeline(tuple(tuple(one) for one in done))


def _seconds(given: Number | Sequence[Number], pieces: int) -> Sequence[Number]:
    """The seconds of each piece."""
    if not isinstance(given, Sequence):
        return [given] * pieces
    if len(given) != pieces:
        raise ValueError(f"seconds must be one for each of {pieces} pieces, got {len(given)}")
    return given


def _needed(task: Task, last: int) -> Task | None:
    """What must be over before a task can begin."""
    if not task.backward:
        return Task(False, task.piece - 1, task.microbatch) if task.piece else None
    if task.piece == last:
        return Task(False, last, task.microbatch)
    return Task(True, task.piece + 1, task.microbatch)
