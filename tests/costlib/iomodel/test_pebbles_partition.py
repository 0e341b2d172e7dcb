"""Hong and Kung's partitions, against definitions applied word for word."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pebble_graphs import build, graphs

from costlib.iomodel.pebbles import (
    Dag,
    Game,
    fewest_parts,
    io_bound,
    minimum_dominator,
    minimum_set,
    partition,
    verify,
)


def paths_to(dag, vertex):
    """Every path from an input to a vertex, as a set of vertices."""
    if not dag.parents[vertex]:
        return [{vertex}]
    return [path | {vertex} for parent in dag.parents[vertex] for path in paths_to(dag, parent)]


def dominates(dag, chosen, part):
    return all(path & set(chosen) for vertex in part for path in paths_to(dag, vertex))


@settings(deadline=None, max_examples=60)
@given(graphs(most=7), st.data())
def test_the_dominator_is_one_and_no_smaller_set_is(dag, data):
    everything = range(len(dag.parents))
    part = data.draw(st.sets(st.sampled_from(everything), min_size=1))
    found = minimum_dominator(dag, part)
    assert dominates(dag, found, part)
    assert not any(
        dominates(dag, chosen, part) for chosen in combinations(everything, len(found) - 1)
    )


@given(graphs(most=7), st.data())
def test_the_minimum_set_has_no_child_in_the_part(dag, data):
    part = data.draw(st.sets(st.sampled_from(range(len(dag.parents)))))
    expected = [v for v in sorted(part) if not part & set(dag.children[v])]
    assert list(minimum_set(dag, part)) == expected


def wasteful(game, seed):
    """A complete pebbling with random detours: values read, computed and dropped for nothing."""
    rng = random.Random(seed)
    moves, red, blue = [], set(), set(game.dag.inputs)
    for target in range(len(game.dag.parents)):
        for _ in range(rng.randrange(4)):
            detour(game, rng, moves, red, blue)
        for vertex in sorted(red - set(game.dag.parents[target])):
            moves.append(f"D{vertex}")
            red.remove(vertex)
        for vertex in (*game.dag.parents[target], target):
            if vertex not in red:
                moves.append(f"{'R' if vertex in blue else 'C'}{vertex}")
                red.add(vertex)
        if target not in blue:
            moves.append(f"W{target}")
            blue.add(target)
    return moves


def detour(game, rng, moves, red, blue):
    """One legal move that need not help."""
    if len(red) == game.red:
        vertex = rng.choice(sorted(red))
        moves.append(f"D{vertex}")
        red.remove(vertex)
        return
    ready = [v for v, parents in enumerate(game.dag.parents) if parents and red.issuperset(parents)]
    choices = [f"R{v}" for v in sorted(blue - red)] + [f"C{v}" for v in ready if v not in red]
    if choices:
        moves.append(rng.choice(choices))
        red.add(int(moves[-1][1:]))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(graphs(most=9), st.integers(0, 2), st.integers(0, 10**6))
def test_any_pebbling_gives_a_partition_with_limit_2m(dag, spare, seed):
    game = Game(dag, red=dag.max_in_degree + 1 + spare)
    for moves in (wasteful(game, seed), game.optimal().moves):
        parts = partition(game, moves)
        assert verify(dag, [part.vertices for part in parts], limit=2 * game.red) == ()
        cost = game.play(moves).cost
        assert game.red * len(parts) >= cost >= game.red * (len(parts) - 1)
        for part in parts:
            assert len(part.dominator) <= 2 * game.red
            assert dominates(dag, part.dominator, part.vertices)
            assert part.minimum == minimum_set(dag, part.vertices)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "red"), [("fft4", 3), ("grid3x3", 3), ("matmul2x2x2", 3), ("attention_N2_d1", 5)]
)
def test_optimal_pebblings_give_partitions(name, red):
    game = Game(build(name), red)
    best = game.optimal()
    parts = game.partition(best.moves)
    assert verify(game.dag, [part.vertices for part in parts], limit=2 * red) == ()
    assert len(parts) == -(-best.cost // red)


def test_each_condition_can_fail():
    fft = Dag.fft(4)
    whole = [tuple(range(12))]
    assert verify(fft, whole, limit=4) == ()
    assert verify(fft, whole, limit=3) == (
        "dominator: part 0 needs 4, limit 3",
        "minimum set: part 0 has 4, limit 3",
    )
    assert verify(fft, [range(11)], limit=4) == ("partition: vertex 11 is in 0 parts",)
    assert "partition: vertex 3 is in 2 parts" in verify(fft, [range(12), (3,)], limit=4)
    circle = [(0, 1, 2, 3, 8), (4, 5, 6, 7, 9, 10, 11)]
    assert verify(fft, circle, limit=5) == ("circle: parts 0, 1 depend on one another",)
    outputs_apart = [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)]
    assert verify(fft, outputs_apart, limit=4) == ()


def test_an_incomplete_pebbling_gives_none():
    with pytest.raises(ValueError, match="must leave every output blue"):
        partition(Game(Dag.chain(2), red=2), "R0 C1")


def every_partition(vertices):
    """Every way to put the vertices into parts: each joins a part there is, or begins one."""
    if not vertices:
        yield []
        return
    *before, last = vertices
    for parts in every_partition(before):
        for index, part in enumerate(parts):
            yield [*parts[:index], [*part, last], *parts[index + 1 :]]
        yield [*parts, [last]]


@settings(deadline=None, max_examples=40)
@given(graphs(most=6), st.integers(1, 3))
def test_the_fewest_parts_by_trying_every_partition(dag, limit):
    everything = list(every_partition(range(len(dag.parents))))
    smallest = min(len(parts) for parts in everything if not verify(dag, parts, limit))
    assert fewest_parts(dag, limit) == smallest


def test_every_partition_is_tried():
    assert [len(list(every_partition(range(n)))) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203]


def test_the_bound_holds_and_is_empty_on_the_smallest_graphs():
    for name, red in (("fft4", 3), ("grid3x3", 3), ("bintree_h3", 3), ("matmul2x1x2", 3)):
        dag = build(name)
        assert io_bound(dag, red) <= Game(dag, red).optimal().cost
    assert io_bound(Dag.fft(4), 3) == 0
    assert io_bound(Dag.tree(8), 3) == 3
