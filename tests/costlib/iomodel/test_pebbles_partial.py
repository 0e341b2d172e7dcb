"""The game with unfinished sums: against plain search, against the ordinary game, and bounds."""

from __future__ import annotations

import pytest
from partial import ABSENT, PartialGame, _with

from costlib.iomodel import bounds
from costlib.iomodel.pebbles import Dag, Game

pytestmark = pytest.mark.slow


def plain_optimum(game):
    """Every legal move from every position, cheapest first: nothing of the search's normal form."""
    full = [(1 << len(terms)) - 1 for terms in game.terms]
    inputs = tuple(0 if not terms else ABSENT for terms in game.terms)
    level, seen, cost = {((ABSENT,) * len(full), inputs)}, set(), 0
    while True:
        dearer = set()
        while level:
            position = level.pop()
            if position in seen:
                continue
            seen.add(position)
            red, blue = position
            if all(blue[v] == full[v] for v in game.outputs):
                return cost
            room = sum(mask != ABSENT for mask in red) < game.red
            for v, terms in enumerate(game.terms):
                if red[v] != ABSENT:
                    level.add((_with(red, v, ABSENT), blue))
                    if red[v] != blue[v]:
                        dearer.add((red, _with(blue, v, red[v])))
                elif blue[v] != ABSENT and room:
                    dearer.add((_with(red, v, blue[v]), blue))
                for number, term in enumerate(terms):
                    ready = all(red[parent] == full[parent] for parent in term)
                    if ready and (room or red[v] != ABSENT):
                        level.add((_with(red, v, max(red[v], 0) | 1 << number), blue))
        level, cost = dearer, cost + 1


SUM_OF_SUMS = ((), (), (), ((0,), (1,), (2,)), ((0, 1),), ((3,), (4,)))
SHARED = ((), (), ((0,), (1,)), ((0, 1),), ((2, 3),), ((2,), (3,)))


@pytest.mark.parametrize(
    "game",
    [
        PartialGame.matmul(1, 2, 1, red=3),
        PartialGame.matmul(2, 1, 2, red=3),
        PartialGame.matmul(2, 2, 1, red=3),
        PartialGame.attention(1, 2, red=3),
        PartialGame(SUM_OF_SUMS, tuple("abcdef"), 3),
        PartialGame(SHARED, tuple("abcdef"), 3),
    ],
    ids=lambda game: f"{game.names[-1]} of {len(game.names)}",
)
def test_the_optimum_is_that_of_plain_search(game):
    assert game.optimal().cost == plain_optimum(game)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 2, 1), (2, 2, 1), (2, 1, 2), (2, 2, 2)])
def test_an_unfinished_sum_saves_the_pebble_that_does_not_slide(m, k, n):
    """A chain of multiply-adds needs one pebble more for the same I/O; it never needs less I/O."""
    for red in (5, 6) if m * k * n == 8 else (4, 5, 6):
        ordinary = Game(Dag.matmul(m, k, n, fma=True), red).optimal().cost
        partial = [PartialGame.matmul(m, k, n, red=each).optimal().cost for each in (red - 1, red)]
        assert partial[1] <= ordinary
        if k > 1:
            assert partial[0] == ordinary


def test_optima_of_a_product_and_their_bounds():
    """The compulsory traffic is above the bounds here: this shows that none is broken, no more."""
    costs = [PartialGame.matmul(2, 2, 2, red=red).optimal().cost for red in (4, 5, 6)]
    assert costs == [14, 13, 12]
    for red, cost in zip((4, 5, 6), costs, strict=True):
        assert cost >= bounds.matmul_total(2, 2, 2, red)


def test_optima_of_attention_and_their_bounds():
    for d, red, cost in ((1, 3, 4), (2, 3, 10), (2, 4, 8)):
        found = PartialGame.attention(1, d, red=red).optimal()
        assert found.cost == cost
        assert cost >= bounds.attention(1, d, red)


@pytest.mark.parametrize(("d", "reds"), [(1, (3, 4, 5)), (2, (6,))])
def test_optima_of_the_gradients_in_both_games(d, reds):
    for red in reds:
        game = PartialGame.attention_gradients(1, d, red=red)
        found = game.optimal()
        assert found.cost >= bounds.backward(1, d, red)
        chain = game.chained()
        if red > chain.max_in_degree:
            ordinary = Game(chain, red).optimal().cost
            assert ordinary >= found.cost
            assert ordinary >= bounds.backward(1, d, red)


def test_the_chained_graph_of_a_product_is_that_of_multiply_adds():
    chain = PartialGame.matmul(2, 3, 2, red=3).chained()
    assert chain.parents == Dag.matmul(2, 3, 2, fma=True).parents


def test_what_cannot_be_played():
    with pytest.raises(ValueError, match="red must be at least 3"):
        PartialGame.matmul(1, 1, 1, red=2)
    with pytest.raises(ValueError, match="not known after 10 positions"):
        PartialGame.matmul(2, 2, 2, red=3).optimal(states=10)
