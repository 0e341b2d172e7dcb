"""What the tests of the pebble game share: the oracle's graphs and random ones."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

from costlib.iomodel.pebbles import Dag
from paths import DATA

ORACLE = json.loads((DATA / "pebbles.json").read_text("utf-8"))


def build(name: str) -> Dag:
    """The library's own graph for a name of the oracle, such as grid3x4 or matmul2x2x2_fma."""
    kind = re.match("[a-z]+", name)
    sizes = [int(digits) for digits in re.findall(r"\d+", name)]
    makers: dict[str, Any] = {
        "chain": Dag.chain,
        "bintree": lambda height: Dag.tree(2**height),
        "grid": Dag.grid,
        "pyramid": Dag.pyramid,
        "fft": Dag.fft,
        "matmul": lambda m, n, k: Dag.matmul(m, k, n, fma=name.endswith("_fma")),
        "attention": Dag.attention,
    }
    assert kind
    dag: Dag = makers[kind.group()](*sizes)
    return dag


def optima(recompute: bool, leave_out: tuple[str, ...] = ()) -> list[tuple[str, int, int]]:
    """The oracle's (graph, M, optimum) of one form of the game."""
    form = "recompute" if recompute else "once"
    return [
        (graph["name"], row["M"], row[form])
        for graph in ORACLE["graphs"]
        if graph["name"] not in leave_out
        for row in graph["optima"]
        if form in row
    ]


@st.composite
def graphs(draw: st.DrawFn, most: int = 7) -> Dag:
    """Small graphs of any shape, with up to three parents to a vertex."""
    count = draw(st.integers(2, most))
    parents: list[tuple[int, ...]] = [()]
    for vertex in range(1, count):
        chosen = draw(st.sets(st.integers(0, vertex - 1), max_size=3))
        parents.append(tuple(sorted(chosen)))
    used = {parent for each in parents for parent in each}
    if 0 not in used:
        parents[1] = (0,)
    for vertex in range(1, count):
        if not parents[vertex] and vertex not in used:
            parents[vertex] = (vertex - 1,)
    return Dag(tuple(parents))
