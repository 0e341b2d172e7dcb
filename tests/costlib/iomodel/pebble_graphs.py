"""What the tests of the pebble game share: the oracle's graphs, random ones, the plain rules."""

from __future__ import annotations

import json
import re
from collections import deque
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


def plain_optimum(dag: Dag, red: int, recompute: bool) -> int:
    """The least I/O by breadth-first search over single moves, with no shortcut whatever."""
    everything = range(len(dag.parents))
    once = frozenset() if recompute else frozenset(everything)
    inputs, outputs = frozenset(dag.inputs), frozenset(dag.outputs)
    start = (frozenset[int](), inputs, frozenset[int]())
    cost = {start: 0}
    waiting = deque([start])
    done = set()
    while waiting:
        position = waiting.popleft()
        if position in done:
            continue
        done.add(position)
        pebbled, blue, computed = position
        if outputs <= blue:
            return cost[position]
        after: list[tuple[int, tuple[frozenset[int], frozenset[int], frozenset[int]]]] = []
        for v in everything:
            if v in pebbled:
                after.append((0, (pebbled - {v}, blue, computed)))
                after.append((1, (pebbled, blue | {v}, computed)))
            elif len(pebbled) < red:
                if v in blue:
                    after.append((1, (pebbled | {v}, blue, computed)))
                if v not in inputs and pebbled.issuperset(dag.parents[v]) and v not in computed:
                    after.append((0, (pebbled | {v}, blue, computed | once & {v})))
        for price, reached in after:
            if cost[position] + price < cost.get(reached, 10**9):
                cost[reached] = cost[position] + price
                (waiting.append if price else waiting.appendleft)(reached)
    raise AssertionError("no pebbling at all")
