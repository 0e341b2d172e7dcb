"""The figure of the first page: one model on one device, and who gets how many tokens a second."""

from __future__ import annotations

import numpy as np

from costlib import roofline
from costlib.display import quantity
from costlib.figures.canvas import COLOURS, Figure, canvas
from costlib.kvcache import largest_batch
from costlib.roofline import Device
from costlib.transformer import Transformer

__all__ = ["tokens_per_second"]


def tokens_per_second(model: Transformer, device: Device, context: int) -> Figure:
    """Tokens per second of a decode step against batch: for each user, and in all."""
    most = int(largest_batch(model, device, context + 1).largest)  # the new token's too
    if most < 1:
        raise ValueError(
            f"not one user with {context:,} tokens fits on {device.name} beside the weights: put a "
            "smaller model or a larger device into the first cell"
        )
    batch = np.unique(np.geomspace(1, most, 60).astype(int))
    times = roofline.time(model.decode(batch=batch, context=context), device)
    each, every = 1 / times, batch / times
    title = f"{most} users share what one leaves idle: {every[-1] / every[0]:,.0f} times the tokens"
    alt = (
        f"Log-log chart of tokens per second against batch, at {context:,} tokens of context on "
        f"{device.name}. One user gets {each[0]:,.0f} tokens per second. With {most} users, all "
        f"that fit, each gets {each[-1]:,.0f} and all together {every[-1]:,.0f}."
    )
    with canvas(title, alt, width=5.2, height=3.4) as drawing:
        axes = drawing.axes
        axes.loglog(batch, every, color=COLOURS[0])
        axes.loglog(batch, each, "--", color=COLOURS[1])
        axes.text(batch[-1], every[-1] * 1.35, "all users", ha="right", color=COLOURS[0])
        axes.text(40, each[-1] * 0.8, "each user", ha="right", va="top", color=COLOURS[1])
        axes.axhline(every[0], color=COLOURS[4], linewidth=1, linestyle=":")
        axes.text(1, every[0] * 0.55, quantity(every[0], "tokens/s", 3), fontsize=10.5)
        axes.set(xlabel="batch", ylabel="tokens/s", ylim=(each[-1] / 4, every[-1] * 3))
    return drawing.result
