"""The explorers of the chapter on I/O: curves against fast memory, and a film of runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from costfigures.canvas import INK, Figure, canvas
from costfigures.chart import legend, mark
from costfigures.explorers.page import Explorer
from costfigures.iomodel import cache_contents, look
from costlib import iomodel
from costlib.iomodel import Run, bounds, counts
from costlib.iomodel.counting.block_sizes import plain_blocks

#: The algorithms that a film shows, and those whose curves move with the reader's sizes.
FILMED = ("naive", "flash", "flash2", "small_cache")
ATTENTIONS = (*FILMED, "stored_scores")
BACKWARDS = tuple(
    f"{order}_backward" for order in ("flash", "flash2", "two_pass", "stored", "four_pass")
)

#: The film's rows and head dimension, and the fast memories to choose from.
FILM = {"N": 16, "d": 4}
FILM_CAPACITIES = (48, 96, 160)


def io(N: int = 4096, d: int = 64) -> Explorer:
    """Entries that attention moves against the fast memory it has, and the bound."""
    M = np.geomspace(d * 8, N * d * 4, 97).astype(int)
    curves = {
        name: getattr(counts, name)(N, d, **plain_blocks(name, d, M)).total for name in ATTENTIONS
    }
    bound = bounds.attention(N, d, M)
    figure = _io_figure(N, d, M, curves, bound)
    rows = [
        [f"{M[at]:,}", *(f"{values[at]:,.0f}" for values in curves.values()), f"{bound[at]:,.0f}"]
        for at in range(0, len(M), 16)
    ]
    names = [look(name)["label"] for name in curves]
    return Explorer("io", figure, ["M", *names, "lower bound"], rows)


def _io_figure(N: int, d: int, M: Any, curves: dict[str, Any], bound: Any) -> Figure:
    title = f"I/O of attention, N = {N:,}, d = {d}"
    at = int(np.searchsorted(M, d * d))
    said = ", ".join(f"{look(name)['label']} {of[at] / 1e6:.1f}" for name, of in curves.items())
    alt = (
        f"Log-log chart of entries moved against fast memory. Near M = d², in millions: {said}; "
        f"the lower bound is {bound[at] / 1e6:.1f}."
    )
    with canvas(title, alt, height=3.9) as drawing:
        for name, values in curves.items():
            drawing.axes.loglog(M, values, **look(name))
        drawing.axes.loglog(M, bound, color=INK, linewidth=1.2, label="lower bound")
        mark(drawing.axes, "M = d²", x=d * d, at=0.9)
        drawing.axes.set(xlabel="fast memory M, entries", ylabel="entries moved", title=title)
        legend(drawing.axes, 2)
    return drawing.result


def filmed(algorithm: str, M: int, N: int = FILM["N"], d: int = FILM["d"]) -> Run:
    """One counted run with its trace, on fixed inputs and its best blocks.

    >>> filmed("flash2", M=96).total
    512
    """
    random = np.random.default_rng(7)
    Q, K, V = (random.standard_normal((N, d)) for _ in range(3))
    run: Run = getattr(iomodel, algorithm)(Q, K, V, iomodel.TwoLevelMemory(M, trace=True))
    return run


def film(N: int = FILM["N"], d: int = FILM["d"], M: int = FILM_CAPACITIES[1]) -> Explorer:
    """What FlashAttention-2 holds, event by event, and what each algorithm moves."""
    runs = {name: filmed(name, M, N, d) for name in ("flash2", "flash", "small_cache", "naive")}
    rows = [[name, f"{run.reads:,}", f"{run.writes:,}"] for name, run in runs.items()]
    return Explorer(
        "film", cache_contents(runs["flash2"]), ["algorithm", "entries read", "written"], rows
    )
