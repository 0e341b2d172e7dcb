"""A step of reinforcement learning: rollout, scoring, update, and shipping the new weights.

GRPO and PPO repeat four phases. The **rollout** generates a group of answers to each prompt, on
copies of a server. **Scoring** passes the answers through models without a backward pass: the
policy that sampled them and a reference model for log-probabilities, for PPO a critic and where a
model gives rewards that one too. The **update** is a training step on the answers, and then the new
weights are **shipped** to the samplers.

In turn, all devices work on each phase. Asynchronously, some only sample and the others only score
and train: with the best split a step takes as long as in turn, but without the tail of the rollout
in which most slots are empty, and answers are some updates old.

Left out: rewards that are computed by running programs, moving states between phases that share
devices, and models of other sizes than the policy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from costlib.serving.requests import listed
from costlib.serving.run import ServingRun
from costlib.serving.server import Server, server_of
from costlib.serving.simulator import simulate
from costlib.units.numbers import Number, amount, one_size, size

__all__ = ["PolicyStep", "full_rate", "policy_step", "rollout"]

#: So many times its slots a rollout is repeated to find the rate of slots that are always full.
_LONG = 6


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """Seconds of each phase of a step, and what is needed to compare both ways to run it.

    ``full`` is what the rollout would take if slots were always full, ``slots`` the number
    of full slots of all copies, and ``longest`` the seconds of the longest answer in one of them.
    """

    rollout: float
    scoring: float
    update: float
    shipping: float
    answers: int
    full: float
    slots: float
    longest: float

    @property
    def seconds(self) -> float:
        """Of a step whose phases take turns."""
        return self.rollout + self.scoring + self.update + self.shipping

    @property
    def asynchronous(self) -> float:
        """Of a step if samplers and trainers work side by side, at the best split of devices."""
        return self.full + self.scoring + self.update

    @property
    def samplers(self) -> float:
        """The share of the devices that samples at this split."""
        return self.full / self.asynchronous

    @property
    def dominates(self) -> str:
        """The phase that takes longest."""
        phases = ("rollout", "scoring", "update", "shipping")
        return max(phases, key=lambda name: getattr(self, name))

    @property
    def staleness(self) -> float:
        """Updates between an answer's first token and its own update, on average, asynchronously:
        by Little's law the answers under way over the answers that a step takes."""
        return self.slots * self.samplers / self.answers

    @property
    def most_stale(self) -> float:
        """The same of the longest answer."""
        return self.longest / self.asynchronous


def rollout(
    server: Server | str,
    lengths: Sequence[int],
    *,
    prompt: int,
    group: int,
    copies: int = 1,
    most: int = 256,
) -> list[ServingRun]:
    """The runs of all copies that answer prompts, each ``group`` times, all there from the start.

    Groups go to the copies in turn. A group's prompt is prefilled once, answers take memory as they
    grow, and whoever finds none waits.

    >>> runs = rollout(Server("llama-3.1-8b", "H100-SXM"), 64 * [500], prompt=200, group=16)
    >>> len(runs), runs[0].written, runs[0].read < 64 * 200
    (1, 32000, True)
    """
    answers = np.asarray(size("lengths", np.asarray(lengths))).astype(int)
    group, copies = one_size("group", group), one_size("copies", copies)
    if len(answers) % group:
        raise ValueError(f"lengths must be whole groups of {group}, got {len(answers)}")
    of = np.arange(len(answers)) // group
    if copies > of[-1] + 1:
        raise ValueError(f"copies must be at most the {of[-1] + 1} groups, got {copies}")
    runs = []
    for copy in range(copies):
        mine = of % copies == copy
        count = int(mine.sum())
        asked = listed(np.zeros(count), prompt, answers[mine], shared=prompt, group=of[mine])
        runs.append(simulate(asked, server, most=most, reserve="blocks", prefix_cache=True))
    return runs


def full_rate(run: ServingRun) -> tuple[float, float]:
    """Tokens per second, and sequences in decode, of a run while requests wait.

    >>> server = Server("llama-3.1-8b", "H100-SXM")
    >>> [run] = rollout(server, range(200, 1224, 2), prompt=200, group=16, most=64)
    >>> rate, batch = full_rate(run)
    >>> 62 < batch < 64, rate > run.throughput
    (True, True)
    """
    seconds, batch, steps = (run.column(name) for name in ("seconds", "writing", "steps"))
    waits, batch = run.column("waiting")[:-1] > 0, batch[:-1]
    spent, made = np.diff(seconds) * waits, batch * np.diff(steps) * waits
    if not made.sum() > 0:
        raise ValueError(
            "no request of this run ever waits: give the rollout more prompts, or fewer slots"
        )
    return float(made.sum() / spent.sum()), float((batch * spent).sum() / spent.sum())


def policy_step(
    server: Server | str,
    lengths: Sequence[int],
    *,
    prompt: int,
    group: int = 16,
    copies: int = 1,
    scored: Number = 2,
    updated: Number = 1,
    mfu: float = 0.4,
    link: float = 50e9,
    most: int = 256,
) -> PolicyStep:
    """The phases of one step on all devices of ``copies`` copies of a server.

    ``scored`` models pass over each answer, and ``updated`` learn from it: 2 and 1 for GRPO with
    rewards by a rule, 4 and 2 for PPO with a reward model and a critic of the policy's size. Both
    run at ``mfu`` of the peak; weights reach each sampler over a link of its own.

    >>> from costlib.serving import lognormal
    >>> drawn = lognormal(2000, 3000, 32768)(np.random.default_rng(1), 512)
    >>> step = policy_step(Server("llama-3.1-8b", "H100-SXM"), drawn, prompt=500, copies=2)
    >>> step.dominates, step.asynchronous < step.seconds
    ('rollout', True)
    """
    server = server_of(server)
    runs = rollout(server, lengths, prompt=prompt, group=group, copies=copies, most=most)
    answers = np.asarray(lengths)
    few = answers[np.arange(len(answers)) // group % copies == 0]
    times = -(-_LONG * most // len(few))
    [long] = rollout(server, np.tile(few, times).tolist(), prompt=prompt, group=group, most=most)
    rate, batch = full_rate(long)
    model, device = server.model, server.device
    peak = amount("mfu", mfu) * device.flops_per_s[device.sixteen_bits] * server.per_copy * copies
    lines, counts = np.unique(prompt + answers, return_counts=True)
    forward = float(np.sum(counts * model.prefill(1, lines.astype(float)).matmul_flops))
    return PolicyStep(
        rollout=max(run.seconds for run in runs),
        scoring=scored * forward / peak,
        update=3 * updated * forward / peak,
        shipping=float(2 * model.params()) / amount("link", link),
        answers=len(answers),
        full=float(answers.sum()) / (rate * copies),
        slots=batch * copies,
        longest=float(answers.max() * batch / rate),
    )
