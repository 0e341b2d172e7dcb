"""The pebble game's board and rules."""

from __future__ import annotations

import re

import pytest
from pebble_graphs import ORACLE, build

from costlib.iomodel.pebbles import Dag, Game, IllegalMove, Move, moves


@pytest.mark.parametrize("graph", ORACLE["graphs"], ids=lambda graph: graph["name"])
def test_every_constructor_builds_the_oracles_graph(graph):
    dag = build(graph["name"])
    assert len(dag.parents) == graph["vertices"]
    assert dag.edges == tuple(sorted(map(tuple, graph["edges"])))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (2, 4, 3), (3, 2, 1)])
def test_matmul_has_its_vertices(m, k, n):
    inputs = m * k + k * n
    product, fused = Dag.matmul(m, k, n), Dag.matmul(m, k, n, fma=True)
    assert len(product.parents) == inputs + m * n * k + m * n * (k - 1)
    assert len(fused.parents) == inputs + m * n * k
    assert product.compulsory == fused.compulsory == inputs + m * n


@pytest.mark.parametrize(("seq", "head_dim"), [(1, 1), (2, 1), (3, 2)])
def test_attention_has_its_vertices(seq, head_dim):
    dag = Dag.attention(seq, head_dim)
    multiply_adds = 2 * seq * seq * head_dim
    others = seq * seq + seq * (seq - 1) + seq * head_dim  # exponentials, sums, divisions
    assert len(dag.parents) == 3 * seq * head_dim + multiply_adds + others
    assert [dag.names[v] for v in dag.outputs] == [
        f"Y[{i},{c}]" for i in range(seq) for c in range(head_dim)
    ]
    unfused = Dag.attention(seq, head_dim, fma=False)
    sums = seq * seq * (head_dim - 1) + seq * head_dim * (seq - 1)
    assert len(unfused.parents) == len(dag.parents) + sums


def test_a_legal_game_is_counted():
    pebbling = Game(Dag.tree(leaves=2), red=3).play("R0 R1 C2 D0 W2 D2 R2")
    assert (pebbling.reads, pebbling.writes, pebbling.cost) == (3, 1, 4)
    assert (pebbling.computations, pebbling.peak, pebbling.complete) == (1, 3, True)
    assert str(pebbling) == "R0 R1 C2 D0 W2 D2 R2"


# A tree 0, 1 -> 4; 2, 3 -> 5; 4, 5 -> 6, and the moves that break each rule on it.
ILLEGAL = {
    "R6": "the vertex has no blue pebble",
    "R0 R0": "the vertex is red already",
    "W0": "the vertex has no red pebble",
    "R0 W0": "the vertex is blue already",
    "D0": "the vertex has no red pebble",
    "E4": "the vertex has no blue pebble",
    "E0 R0": "the vertex has no blue pebble",
    "R0 D0 D0": "the vertex has no red pebble",
    "C0": "an input cannot be computed, only read",
    "R0 C4": "a vertex is computed when all its parents are red, and 1 is not",
    "R0 R1 C4 C4": "the vertex is red already",
    "R0 R1 R2 C4": "all 3 red pebbles are on the board: delete one first",
    "R0 R1 R2 R3": "all 3 red pebbles are on the board: delete one first",
    "R0 R1 C4 D4 C4": "this game lets a vertex be computed once only",
    "R7": "the graph has vertices 0 to 6",
}


@pytest.mark.parametrize("text", ILLEGAL)
def test_an_illegal_move_is_refused_with_its_rule(text):
    game = Game(Dag.tree(leaves=4), red=3, recompute=False)
    *legal, illegal = moves(text)
    boards = list(game.boards(legal))
    with pytest.raises(IllegalMove, match=re.escape(ILLEGAL[text])) as caught:
        game.play(text)
    assert (caught.value.index, caught.value.move) == (len(legal), illegal)
    assert caught.value.board == boards[-1]
    assert f"move {len(legal)}, {illegal} (" in str(caught.value)


def test_recomputing_is_legal_where_the_game_allows_it():
    text = "R0 R1 C4 D4 C4"
    assert Game(Dag.tree(leaves=4), red=3).play(text).computations == 2


def test_the_message_lists_the_pebbles_of_that_moment():
    with pytest.raises(IllegalMove, match=r"Red: 1, 2; blue: 0, 1, 2, 3$"):
        Game(Dag.tree(leaves=4), red=3).play("R1 R2 C4")


@pytest.mark.parametrize("word", ["3R", "X1", "R", "R-1", "", "R1.5"])
def test_a_move_that_is_none_is_refused(word):
    with pytest.raises(ValueError, match="a move must be one of R, W, C, D, E and a vertex"):
        Game(Dag.chain(2), red=2).play([word])


def test_moves_are_read_from_text_and_from_objects():
    game = Game(Dag.chain(2), red=2)
    assert game.play([Move("R", 0), "C1", "W1"]) == game.play("R0 C1 W1")


WRONG = {
    "red must be at least 3": lambda: Game(Dag.tree(leaves=2), red=2),
    "red must be at least 1": lambda: Game(Dag.tree(leaves=2), red=0),
    "neither parents nor children": lambda: Dag(((), (0,), ())),
    "vertex 0 must be vertices numbered before it": lambda: Dag(((1,), ())),
    "must differ": lambda: Dag(((), (0, 0))),
    "vertex 2 must be vertices numbered before it": lambda: Dag(((), (0,), (-1, 1))),
    "points must be a power of two, got 6": lambda: Dag.fft(6),
    "leaves": lambda: Dag.tree(1),
    "length": lambda: Dag.chain(1),
    "name must be one of": lambda: Dag.chain(2).vertex("A"),
    "different names": lambda: Dag(((), (0,)), ("a", "a")),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_game_is_refused(message):
    with pytest.raises(ValueError, match=message):
        WRONG[message]()
