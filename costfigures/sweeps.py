"""The figure of the page on sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from costfigures.canvas import COLOURS, Figure, canvas

__all__ = ["best_batch"]


def best_batch(
    contexts: Sequence[int],
    most_that_fit: Sequence[int],
    most_in_time: Sequence[int],
    tokens_per_second: Sequence[float],
) -> Figure:
    """The two limits on the batch, and the rate of the best one, against the context length."""
    memory_stops = np.asarray(most_that_fit) < np.asarray(most_in_time)
    first = int(memory_stops.argmax())
    between = [int(each) for each in contexts[first - 1 : first + 1]] if first > 0 else []
    stopped = f"time up to {between[0]:,} tokens, then memory" if between else "one of them alone"
    title = f"What limits the batch: {stopped}"
    at = [list(contexts).index(c) for c in (1024, 4096, 16000) if c in contexts]
    alt = (
        "Two panels, one above the other, against context length on logarithmic axes. "
        + "; ".join(
            f"at {contexts[i]:,} tokens {most_that_fit[i]} sequences fit, {most_in_time[i]} are in "
            f"time, and the best rate is {tokens_per_second[i]:,.0f} tokens per second"
            for i in at
        )
    )
    with canvas(title, alt, rows=2, width=5.2, height=4.6) as drawing:
        above, below = drawing.axes
        best = np.minimum(most_that_fit, most_in_time)
        above.loglog(contexts, best, color=COLOURS[0], linewidth=7, alpha=0.4)
        above.loglog(contexts, most_that_fit, color=COLOURS[4])
        above.loglog(contexts, most_in_time, ":", color=COLOURS[1])
        above.set(ylabel="sequences", xlim=(contexts[0], contexts[-1]))
        place = len(contexts) // 12
        style: dict[str, Any] = {"fontsize": 10.5, "ha": "center"}
        above.text(contexts[place], most_that_fit[place] / 4, "fit in memory", **style)
        above.text(2 * contexts[place], most_in_time[place] * 1.4, "are in time", **style)
        if between:
            line = math.prod(between) ** 0.5
            for axes in drawing.axes:
                axes.axvline(line, color=COLOURS[4], linewidth=1.2, linestyle="--")
            above.text(line * 1.1, max(best), "memory limits", fontsize=10.5, va="top")
        below.loglog(contexts, tokens_per_second, color=COLOURS[0])
        below.set(xlabel="context", ylabel="tokens/s", xlim=(contexts[0], contexts[-1]))
    return drawing.result
