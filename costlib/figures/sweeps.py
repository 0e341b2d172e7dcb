"""The figure of the page on sweeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costlib.figures.canvas import COLOURS, Figure, canvas

__all__ = ["best_batch"]


def best_batch(
    contexts: Sequence[int],
    most_that_fit: Sequence[int],
    most_in_time: Sequence[int],
    tokens_per_second: Sequence[float],
) -> Figure:
    """The two limits on the batch, and the rate of the best one, against the context length."""
    memory_stops = np.asarray(most_that_fit) < np.asarray(most_in_time)
    crossing = int(contexts[int(memory_stops.argmax())]) if memory_stops.any() else None
    stopped = "time" if crossing is None else f"time below {crossing:,} tokens, then memory"
    title = f"What limits the batch: {stopped}"
    at = [list(contexts).index(c) for c in (1024, 4096, 16000) if c in contexts]
    alt = "Two panels against context length on logarithmic axes. " + "; ".join(
        f"at {contexts[i]:,} tokens {most_that_fit[i]} sequences fit, {most_in_time[i]} are in "
        f"time, and the best rate is {tokens_per_second[i]:,.0f} tokens per second"
        for i in at
    )
    with canvas(title, alt, columns=2, height=3.3) as drawing:
        left, right = drawing.axes
        left.loglog(contexts, most_that_fit, color=COLOURS[4], label="fit")
        left.loglog(contexts, most_in_time, ":", color=COLOURS[1], label="in time")
        best = np.minimum(most_that_fit, most_in_time)
        left.loglog(contexts, best, color=COLOURS[0], linewidth=3, alpha=0.5, label="best")
        left.set(xlabel="context", title="sequences")
        left.legend(fontsize=10)
        right.loglog(contexts, tokens_per_second, color=COLOURS[0])
        right.set(xlabel="context", title="tokens/s")
    return drawing.result
