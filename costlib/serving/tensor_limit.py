"""How far sharing every layer takes a decode step: what no number of devices gets below.

On n devices weights and the caches of heads are read in 1/n of the time. Each of the R sums over
all of them sends 2(n − 1)/n of B·D elements over links of λ bytes a second and, behind a switch,
waits twice for a message, however many there are:

    t(n) = divided/n + kept + waits + (1 − 1/n)·sent      for n > 1

with waits = 2R·α and sent = 2R·B·D·e/λ. What is kept every device reads whole: a latent, routers,
what makes latents. Two devices show how much: what both read together, less what one reads alone.
So a step falls to the floor kept + waits + sent, and the n at which what is divided takes as long
as the floor,

    n = (divided − sent) / floor

is where half of that gain is used up: twice as many devices make a step a quarter shorter.

Left out: arithmetic, which in decode is the shorter; heads that are fewer than the devices, from
which on their caches are kept too; more nodes than one, between which waits grow by doublings.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from costlib.serving.server import Server, server_of
from costlib.units.numbers import one_size, within_seconds

__all__ = ["TensorLimit", "tensor_limit"]


@dataclass(frozen=True, slots=True)
class TensorLimit:
    """Seconds of a step by what becomes of them when more devices share it.

    >>> limit = TensorLimit(divided=8e-3, kept=0.0, waits=9e-4, sent=1e-4)
    >>> limit.floor, limit.devices, round(float(limit.step(8)), 7)
    (0.001, 7.9, 0.0019875)
    """

    divided: float
    kept: float
    waits: float
    sent: float

    def step(self, devices: Any) -> Any:
        """Seconds of a step on each number of devices."""
        several = np.asarray(devices) > 1
        sums = several * (self.waits + (1 - 1 / np.asarray(devices)) * self.sent)
        return self.divided / devices + self.kept + sums

    @property
    def floor(self) -> float:
        """Seconds that no number of devices gets below."""
        return self.kept + self.waits + self.sent

    @property
    def devices(self) -> float:
        """The number at which what is divided takes as long as the floor, not rounded."""
        return max(0.0, self.divided - self.sent) / self.floor if self.floor else inf


def tensor_limit(
    server: Server | str, context: int, batch: int = 1, *, latency: float = 0
) -> TensorLimit:
    """The closed form of a model on one of a server's devices, and more that wait ``latency``.

    >>> found = tensor_limit(Server("llama-3.1-70b", "H100-SXM"), 4000, latency=3e-6)
    >>> round(1000 * found.floor, 2), round(found.devices), round(1000 * float(found.step(8)), 2)
    (0.98, 43, 6.21)
    """
    server, batch = server_of(server), one_size("batch", batch)
    context, latency = one_size("context", context), within_seconds("latency", latency, 0.1)
    one, two = (server.with_(tensor=n, pipeline=1, expert=1, data=1, dcp=1) for n in (1, 2))
    model, device, precision = one.model, one.device, one.precision
    read = []
    for each in (one, two):
        work = each.share.decode(batch, context, logits="last")
        read.append(float(work.bytes(precision)) / device.memory_rate)
    kept = max(0.0, 2 * read[1] - read[0])
    sums = sum(b.layers * (1 if b.parallel else b.added) for b in model.blocks)
    activations = model.decode(1, 1).at(precision).activations
    sent = float(2 * sums * batch * model.d_model * activations) / device.link_rate
    return TensorLimit(read[0] - kept, kept, 2 * float(sums) * latency, sent)
