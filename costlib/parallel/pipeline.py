"""Pipelines: in which order stages run microbatches, when each is done, and what it holds.

The layers are cut into stages·chunks pieces, and piece j lies on device j mod stages: with one
chunk a stage each, with more the pieces are distributed in turns ("interleaved", virtual stages). A
task is the forward or the backward pass of one microbatch through one piece. It can begin when its
device is free and the piece before it (after it, going back) is done with that microbatch. An order
says which task a device does next; `played` follows it and gives begin and end of every task.

    gpipe        all forward passes, then all backward passes
    1f1b         as many forward as it takes to reach the last stage, then one of each in turn
    interleaved  1f1b over several chunks a device; microbatches go in rounds of as many as stages
    zb-h1        gradients of weights apart, and done when nothing else can be (Qi et al. 2023)
    zb-h2        the same with more forward passes ahead: no device waits once it has begun
    dualpipe     microbatches from both ends, each stage on two devices (DeepSeek-AI 2024)

With equal tasks of f and b seconds a piece, every device is busy for m·v·(f + b) seconds, m being
the microbatches and v the chunks, and idle for (p − 1)·(f + b), p being the stages: the `bubble`.
Where stages differ, with T seconds of both passes each, GPipe takes (m − 1)·max T + Σ T, and 1F1B
no longer: as long if the last stage is the slowest, as it mostly is.

The last three orders cut a backward pass of b seconds in two: the gradients of inputs, for which
the piece before waits, and those of weights, w seconds, for which nothing waits. If w is no longer
than f and b − w, a device idles for (p − 1)·(f + b − 2w) in zb-h1. In zb-h2 it waits for at most
(p − 1)·(f + b − 3w) between its first task and its last. With f = b − w it idles for
(p/2 − 1)·(f + b − 2w) in dualpipe, and for (p/2 − 1)·(o + b − 3w) if it overlaps a forward and a
backward pass in o seconds, at the end of which both are done. But for the fourth, these are the
formulas that the authors print.

Left out: the time that messages take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from costlib.units.numbers import Number, choose, minimum, size

__all__ = ["ORDERS", "Timeline", "Task", "bubble", "in_flight", "order", "played"]

ORDERS = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "dualpipe")


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One pass of a microbatch through one piece of the layers, or a part of a backward pass."""

    backward: bool
    piece: int
    microbatch: int
    of: str = ""  #: the gradients of "inputs" or of "weights" alone


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

    def waits(self, device: int = 0) -> Any:
        """Seconds in which a device does nothing between its first task and its last."""
        tasks = self.devices[device]
        return tasks[-1][2] - tasks[0][1] - sum(end - begin for _, begin, end in tasks)

    def most_held(self, device: int) -> int:
        """The most microbatches' activations, counted by pieces, that a device holds at once."""
        held = most = 0
        for task, _, _ in self.devices[device]:
            held += 0 if task.of == "inputs" else -1 if task.backward else 1
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
    on. Interleaved holds more: two for each stage after it, and stages·(chunks − 1) + 1. On every
    device, zb-h1 holds as many as there are stages, zb-h2 2·stages − 1, dualpipe stages + 1.

    >>> [in_flight("1f1b", device, 4, 32) for device in range(4)]
    [4, 3, 2, 1]
    >>> in_flight("gpipe", 0, 4, 32), in_flight("interleaved", 0, 4, 32, chunks=2)
    (32, 11)
    >>> [in_flight(how, 0, 4, 32) for how in ("zb-h1", "zb-h2", "dualpipe")]
    [4, 7, 5]
    """
    choose("how", how, ORDERS)
    if how == "gpipe":
        return microbatches
    if how in _ROOM:
        return minimum(microbatches, _ROOM[how](stages))
    if how == "1f1b":
        return minimum(microbatches, stages - device)
    begun = 2 * (stages - device - 1) + (chunks - 1) * stages + 1
    return minimum(microbatches * chunks, begun)


def order(how: str, device: int, stages: int, microbatches: int, chunks: int = 1) -> list[Task]:
    """What a device does, in turn.

    >>> [("B" if t.backward else "F") + str(t.microbatch) for t in order("1f1b", 1, 2, 3)]
    ['F0', 'B0', 'F1', 'B1', 'F2', 'B2']
    """
    return [task for step in _steps(how, device, stages, microbatches, chunks) for task in step]


def _steps(
    how: str, device: int, stages: int, microbatches: int, chunks: int = 1
) -> list[tuple[Task, ...]]:
    """What a device does, in turn; of two tasks in one step neither waits for the other."""
    _check(how, device, stages, microbatches, chunks)
    if how == "dualpipe":
        return _both_ends(device, stages, microbatches)
    if how in _ROOM:
        return [(task,) for task in _weights_apart(how, stages, microbatches)[device]]
    return [(task,) for task in _whole(how, device, stages, microbatches, chunks)]


def _whole(how: str, device: int, stages: int, microbatches: int, chunks: int) -> list[Task]:
    """An order of whole backward passes."""
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


#: The microbatches that a device may hold, by stages, if gradients of weights come apart.
_ROOM: dict[str, Callable[[int], int]] = {
    "zb-h1": lambda stages: stages,
    "zb-h2": lambda stages: 2 * stages - 1,
    "dualpipe": lambda stages: stages + 1,
}


@lru_cache(maxsize=16)
def _weights_apart(how: str, stages: int, microbatches: int) -> tuple[tuple[Task, ...], ...]:
    """All devices' tasks: a clock ticks, and in each tick a device does the first of these that it
    can: a forward pass, gradients of inputs, gradients of weights. All take one tick."""
    clock, ends = 0, dict[Task, int]()
    done: list[list[Task]] = [[] for _ in range(stages)]
    while any(len(tasks) < 3 * microbatches for tasks in done):
        for device, tasks in enumerate(done):
            for task in _next_three(how, device, stages, microbatches, tasks):
                needed = _needed(task, stages - 1)
                if needed is None or ends.get(needed, clock + 1) <= clock:
                    tasks.append(task)
                    ends[_result(task)] = clock + 1
                    break
        clock += 1
    return tuple(map(tuple, done))


def _next_three(
    how: str, device: int, stages: int, microbatches: int, done: list[Task]
) -> Iterator[Task]:
    """A device's next task of each kind: of forward passes only as many as its memory has room
    for, and as many ahead as it takes until the gradients of the first are back."""
    forward, inputs, weights = (
        sum((task.backward, task.of) == kind for task in done)
        for kind in ((False, ""), (True, "inputs"), (True, "weights"))
    )
    after = stages - device
    ahead = after if how == "zb-h1" else 2 * after - 1
    is_room = forward - inputs < ahead and forward - weights < _ROOM[how](stages)
    if forward < microbatches and is_room:
        yield Task(False, device, forward)
    if inputs < microbatches:
        yield Task(True, device, inputs, "inputs")
    if weights < microbatches:
        yield Task(True, device, weights, "weights")


def _both_ends(device: int, stages: int, microbatches: int) -> list[tuple[Task, ...]]:
    """DualPipe: half of the microbatches enter at each end.

    F, B and I are passes of the half that enters at the nearer end, f, b and i of the other: a
    forward pass, a backward pass, and its gradients of inputs, whose gradients of weights follow at
    a w. In the middle the first F and b are not one step, as in the authors' program.
    """
    depth = min(device, stages - 1 - device)
    far, rounds = stages // 2 - 1 - depth, microbatches // 2 - stages + depth + 1
    words = "F " * 2 * far + "F f " * (depth + 1) + "i w f " * far
    words += "Fb Bf " * rounds if far else "F b Bf " + "Fb Bf " * (rounds - 1)
    words += "b Bf " * far
    last = ("bB" * (depth + 1))[: depth + 1] + ("iI" * (depth + 1))[depth + 1 :]
    words += " ".join(last) + " w I" * far + " w" * (depth + 1)
    return _read(words.split(), device, stages, microbatches)


def _read(words: list[str], device: int, stages: int, microbatches: int) -> list[tuple[Task, ...]]:
    """The tasks that words of `_both_ends` stand for; gradients of weights come first in, first
    out. The microbatches that enter at the last device have the higher numbers."""
    is_late = device >= stages // 2
    begun, waiting, steps = dict[tuple[bool, bool], int](), list[Task](), list[tuple[Task, ...]]()
    for word in words:
        step = []
        for letter in word:
            if letter == "w":
                step.append(waiting.pop(0))
                continue
            backward, from_end = letter not in "Ff", is_late == letter.isupper()
            number = begun.get((backward, from_end), 0)
            begun[backward, from_end] = number + 1
            piece = stages - 1 - device if from_end else device
            microbatch = number + (microbatches // 2 if from_end else 0)
            step.append(Task(backward, piece, microbatch, "inputs" if letter in "iI" else ""))
            if letter in "iI":
                waiting.append(Task(True, piece, microbatch, "weights"))
        steps.append(tuple(step))
    return steps


def _check(how: str, device: int, stages: int, microbatches: int, chunks: int) -> None:
    choose("how", how, ORDERS)
    for name, value in {"stages": stages, "microbatches": microbatches, "chunks": chunks}.items():
        size(name, value)
    if not 0 <= device < stages:
        raise ValueError(f"device must be from 0 to {stages - 1}, got {device}")
    if how == "dualpipe" and (stages % 2 or microbatches % 2 or microbatches < 2 * stages):
        raise ValueError(
            f"dualpipe needs an even number of stages and of microbatches, and two microbatches or "
            f"more a stage; got stages={stages}, microbatches={microbatches}"
        )
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
    weights: Number | Sequence[Number] = 1,
    together: Number | None = None,
) -> Timeline:
    """When every task begins and ends, with the same seconds for each piece, or a list of them.

    Where an order cuts the backward pass in two, ``weights`` of its seconds go to the gradients of
    weights. ``together``: the seconds of a forward and a backward pass that "dualpipe" overlaps, at
    the end of which both are done; without it they follow one another.

    >>> done = played("1f1b", stages=4, microbatches=8)
    >>> done.seconds, done.idle(), done.idle() / done.seconds == bubble(4, 8)
    (33, 9, True)
    >>> [played(how, stages=4, microbatches=8).idle() for how in ("zb-h1", "zb-h2", "dualpipe")]
    [3, 3, 1]
    """
    _check(how, 0, stages, microbatches, chunks)
    todo = [_steps(how, device, stages, microbatches, chunks) for device in range(stages)]
    if together is None:
        todo = [[(task,) for step in steps for task in step] for steps in todo]
    took = _Seconds(*(_seconds(each, stages * chunks) for each in (forward, backward, weights)))
    last, ends = stages * chunks - 1, dict[Task, Any]()
    done: list[list[tuple[Task, Any, Any]]] = [[] for _ in range(stages)]
    while any(todo):
        moved = False
        for tasks, steps in zip(done, todo, strict=True):
            while steps:
                needed = [each for task in steps[0] if (each := _needed(task, last))]
                if any(each not in ends for each in needed):
                    break
                free = tasks[-1][2] if tasks else 0
                begin = max([free, *(ends[each] for each in needed)])
                tasks += took.from_(begin, step := steps.pop(0), together)
                ends |= dict.fromkeys(map(_result, step), tasks[-1][2])
                moved = True
        if not moved:
            raise RuntimeError(f"{how}: every device waits for another")
    return Timeline(tuple(map(tuple, done)))


@dataclass(frozen=True, slots=True)
class _Seconds:
    """The seconds of each piece."""

    forward: Sequence[Number]
    backward: Sequence[Number]
    weights: Sequence[Number]

    def of(self, task: Task) -> Any:
        if not task.backward:
            return self.forward[task.piece]
        weights = self.weights[task.piece]
        if task.of:
            return weights if task.of == "weights" else self.backward[task.piece] - weights
        return self.backward[task.piece]

    def from_(
        self, begin: Any, step: tuple[Task, ...], together: Number | None
    ) -> Iterator[tuple[Task, Any, Any]]:
        """The tasks of a step one after the other; of two, in as long as they take together."""
        alone = [self.of(task) for task in step]
        share = together / sum(alone) if len(step) > 1 and together is not None else 1
        for task, seconds in zip(step, alone, strict=True):
            yield task, begin, begin + share * seconds
            begin += share * seconds


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
    if task.of == "weights":
        return Task(True, task.piece, task.microbatch)
    if task.piece == last:
        return Task(False, last, task.microbatch)
    return Task(True, task.piece + 1, task.microbatch)


def _result(task: Task) -> Task:
    """What others wait for: of a backward pass, the gradients of inputs."""
    return replace(task, of="") if task.of == "inputs" else task
