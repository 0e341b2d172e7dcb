"""The optimum: against an oracle, against a table of single moves, against closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pebble_graphs import build, graphs, optima

import sampling
from costlib.iomodel.pebbles import Dag, Game, Progress, search
from costlib.iomodel.pebbles.projection import Projection, projections
from costlib.iomodel.pebbles.search import Position, _NormalForm, _Search

pytestmark = pytest.mark.slow

#: tools/bench/pebbles.py solves these, and fails if an optimum differs.
MINUTES = ("attention_N2_d2_fma", "attention_N3_d1_fma")

#: These take seconds, so that a run of drawn tests leaves them out.
SECONDS = ("attention_N2_d1_fma", "matmul2x3x2_fma")
#: Positions that a search needs at most. A weaker estimate would show, on any machine.
FEW = 12_000

GRAPHS = sorted({name for name, _, _ in optima(recompute=True, leave_out=MINUTES)})


@pytest.mark.parametrize("name", [g for g in GRAPHS if g not in SECONDS or sampling.EVERYTHING])
def test_every_optimum_of_the_oracle(name):
    dag = build(name)
    rows = [
        (red, recompute, cost)
        for recompute in (True, False)
        for graph, red, cost in optima(recompute)
        if graph == name
    ]
    for red, recompute, cost in sorted(rows):
        game = Game(dag, red, recompute)
        found = game.optimal()
        assert (found.cost, found.proved) == (cost, True), (red, recompute)
        assert found.states < FEW
        played = game.play(found.moves)
        assert played.complete
        assert played.cost == cost
        assert played == found.pebbling


def test_the_oracle_is_all_there():
    assert len(GRAPHS) == 28
    assert [len(optima(form, leave_out=MINUTES)) for form in (True, False)] == [62, 62]


@settings(deadline=None, max_examples=60)
@given(graphs(most=10), st.integers(0, 2))
def test_the_optimum_is_that_of_the_whole_graphs_table(dag, spare):
    """The table plays single moves on every position, without the search's normal form."""
    red = dag.max_in_degree + 1 + spare
    table = Projection(dag, red, range(len(dag.parents)))
    assert Game(dag, red).optimal().cost == table.bound(0, 0)


@settings(deadline=None, max_examples=40)
@given(graphs(most=8), st.integers(0, 2), st.data())
def test_groups_never_estimate_more_than_the_whole(dag, spare, data):
    """Admissible from every position, for any way to group."""
    red = dag.max_in_degree + 1 + spare
    count = len(dag.parents)
    colours = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    groups = [[v for v in range(count) if colours[v] == colour] for colour in range(3)]
    tables = [Projection(dag, red, group) for group in groups if group]
    whole = Projection(dag, red, range(count))
    rules = _NormalForm(dag, red, recompute=True)
    inner = [v for v in range(count) if dag.parents[v]]
    for _ in range(20):
        chosen = data.draw(st.sets(st.integers(0, count - 1), max_size=red))
        written = data.draw(st.sets(st.sampled_from(inner)))
        position = Position(sum(1 << v for v in chosen), sum(1 << v for v in written), 0)
        optimum = whole.bound(position.red, position.blue)
        assert sum(table.bound(position.red, position.blue) for table in tables) <= optimum
        assert rules.due(position) <= optimum


@pytest.mark.parametrize("recompute", [True, False])
@pytest.mark.parametrize(("name", "red"), [("fft4", 3), ("grid3x4", 3), ("matmul2x1x2", 3)])
def test_no_step_lowers_the_estimate_by_more_than_its_cost(name, red, recompute):
    dag = build(name)
    search = _Search(_NormalForm(dag, red, recompute), projections(dag, red), None)
    waiting, seen = [search.start], {search.start}
    while waiting and len(seen) < 3_000:
        position = waiting.pop(0)
        for step in search.rules.steps(position):
            assert search.estimate(position) <= step.cost + search.estimate(step.after)
            if step.after not in seen:
                seen.add(step.after)
                waiting.append(step.after)
    assert len(seen) > 30


@pytest.mark.parametrize(
    ("height", "red"), [(1, 3), (2, 3), (2, 4), (3, 3), (3, 4), (3, 5), (4, 4)]
)
def test_trees_have_a_closed_form(height, red):
    """2^h + 2^(h + 3 - M) - 1 for a complete binary tree with 2^h leaves."""
    optimum = Game(Dag.tree(2**height), red, recompute=False).optimal().cost
    assert optimum == 2**height + 2 ** (height + 3 - red) - 1


def test_more_red_pebbles_never_cost_more():
    """In the oracle's own rows, each of which is solved above."""
    for form in (True, False):
        for name in GRAPHS:
            costs = [cost for graph, _, cost in optima(form) if graph == name]
            assert costs == sorted(costs, reverse=True)
            assert min(costs) >= build(name).compulsory


def test_the_4_by_4_grid_by_its_whole_table():
    """22 million positions, each solved by single moves: what the search found is the optimum."""
    found = Game(Dag.grid(4, 4), 3).optimal()
    assert found.cost == Projection(Dag.grid(4, 4), 3, range(16)).bound(0, 0) == 11
    assert found.states < FEW


def test_a_search_that_gives_up_says_so():
    game = Game(Dag.grid(4, 4), red=3)
    optimum = game.optimal().cost
    for states in (1, 20, 300, 1000):
        stopped = game.optimal(states=states)
        assert not stopped.proved
        assert stopped.states <= states
        assert stopped.lower_bound <= optimum
        with pytest.raises(ValueError, match=f"not known: after {stopped.states} positions"):
            _ = stopped.cost
        if stopped.pebbling:
            assert game.play(stopped.moves).cost >= optimum
        else:
            assert stopped.moves == ()
    assert game.optimal(states=1000).lower_bound > game.optimal(states=1).lower_bound


def test_progress_is_reported_and_its_bound_only_rises(monkeypatch):
    monkeypatch.setattr(search, "REPORT_EVERY", 50)
    seen: list[Progress] = []
    found = Game(Dag.grid(4, 4), red=3).optimal(progress=seen.append)
    assert len(seen) > 20
    bounds = [report.lower_bound for report in seen]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= found.cost, "also while the search still computes everything once only"
    assert [report.states for report in seen] == sorted(report.states for report in seen)
