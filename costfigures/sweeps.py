"""The figure of the page on sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from costfigures.canvas import COLOURS, Figure, canvas
from costfigures.chart import mark, note


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
    stopped = (
        f"time up to {between[0]:,} tokens, then memory"
        if between
        else "memory"
        if memory_stops.all()
        else "time"
    )
    title = f"What limits the batch: {stopped}"
    at = [list(contexts).index(c) for c in (1024, 4096, 16000) if c in contexts]
    told = "; ".join(
        f"at {contexts[i]:,} tokens {most_that_fit[i]} sequences fit, {most_in_time[i]} are in "
        f"time, and the best rate is {tokens_per_second[i]:,.0f} tokens per second"
        for i in at
    )
    alt = f"Two panels, one above the other, by context length on logarithmic axes. {told}."
    with canvas(title, alt, rows=2, height=4.6) as drawing:
        above, below = drawing.axes
        best = np.minimum(most_that_fit, most_in_time)
        above.loglog(contexts, best, color=COLOURS[0], linewidth=7, alpha=0.4)
        above.loglog(contexts, most_that_fit, color=COLOURS[4])
        above.loglog(contexts, most_in_time, ":", color=COLOURS[1])
        place = int(np.searchsorted(contexts, contexts[-1] / 8))
        note(above, (contexts[place], most_that_fit[place]), "fit in memory", (-7, -7))
        note(above, (contexts[place], most_in_time[place]), "are in time", (7, 7))
        below.loglog(contexts, tokens_per_second, color=COLOURS[0])
        below.set_xlabel("context")
        for axes, words, what in ((above, "memory limits", "sequences"), (below, "", "tokens/s")):
            axes.set(xlim=(contexts[0], contexts[-1]), ylabel=what)
            if between:
                mark(axes, words, x=math.prod(between) ** 0.5, at=0.9)
    return drawing.result
