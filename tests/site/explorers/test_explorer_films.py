"""The film of attention and the game with pebbles: every step is one that the library takes."""

from __future__ import annotations

import random
from typing import Any

import pytest

import sampling
from costlib.iomodel.pebbles import Game, IllegalMove, Move
from explorer_settings import MANY
from in_node import in_page
from tools.pages import explorers


@pytest.mark.parametrize("capacity", explorers.FILM_CAPACITIES)
@pytest.mark.parametrize("algorithm", explorers.FILMED)
def test_film_is_the_simulators_trace(algorithm: str, capacity: int) -> None:
    body = f"page.runOf('{algorithm}', '{capacity}').events.map((_, at) => "
    body += f"page.standing(page.runOf('{algorithm}', '{capacity}'), at + 1))"
    [shown] = in_page("film.js", body, [0])
    run = explorers.filmed(algorithm, capacity)
    reads = writes = 0
    for event, frame in zip(run.trace, shown, strict=True):
        reads += event.entries if event.kind == "load" else 0
        writes += event.entries if event.kind == "store" else 0
        assert (frame["reads"], frame["writes"], frame["held"]) == (reads, writes, event.resident)
    assert (reads, writes) == (run.reads, run.writes)
    assert max(frame["held"] for frame in shown) == run.peak <= capacity


def test_traces_of_the_film_add_up() -> None:
    """Each entry is as dark as often as it moved, and in the end every score was computed."""
    names = [f"{name} {M}" for name in explorers.FILMED for M in explorers.FILM_CAPACITIES]
    body = "((run) => { const t = page.traces(run, run.events.length); return [Object.fromEntries("
    body += (
        "Object.entries(t.moved).map(([name, { counts }]) => [name, [...counts]])), [...t.done],"
    )
    body += " t.tile]; })(page.runOf(...state.split(' ')))"
    for name, (moved, done, tile) in zip(names, in_page("film.js", body, names), strict=True):
        algorithm, M = name.split()
        run = explorers.filmed(algorithm, int(M))
        for array, often in moved.items():
            transfers = [e for e in run.trace if e.array == array and e.kind in ("load", "store")]
            assert sum(often) == sum(event.entries for event in transfers), (name, array)
        assert done == [1] * 16 * 16
        assert 0 <= tile[0] < tile[1] <= 16
        assert 0 <= tile[2] < tile[3] <= 16


def random_play(chance: random.Random) -> tuple[dict[str, Any], list[str], int]:
    """A board, what the library says to some random moves, and the I/O of the legal ones."""
    name = chance.choice(list(explorers.BOARDS))
    _, dag, reds = explorers.BOARDS[name]
    red = chance.choice(reds)
    game, legal, said, tried = Game(dag, red), [], [], []
    for _ in range(40):
        move = Move(chance.choice("RRCCCWDE"), chance.randrange(len(dag.parents)))
        tried.append(str(move))
        try:
            game.play([*legal, move])
            legal.append(move)
            said.append("")
        except IllegalMove as refusal:
            said.append(refusal.rule)
    parents = [list(each) for each in dag.parents]
    return {"parents": parents, "most": red, "tried": tried}, said, game.play(legal).cost


def test_rules_of_the_game() -> None:
    chance = sampling.chance("setting 8")
    plays = [random_play(chance) for _ in range(MANY)]
    body = """((game) => {
      let board = page.opening(game.parents);
      const said = game.tried.map((text) => {
        const [[kind, vertex]] = page.parse(text);
        const rule = page.broken(game, board, kind, vertex);
        if (!rule) board = page.after(board, kind, vertex);
        return rule;
      });
      return [said, board.cost];
    })(state)"""
    found = in_page("rules.js", body, [setting for setting, _, _ in plays])
    assert found == [[said, cost] for _, said, cost in plays]
    rules = {rule.split(",")[0] for _, said, _ in plays for rule in said}
    assert len(rules) >= 8, "random play meets every rule"


def allowed(game: Game, moves: list[Move], move: Move) -> bool:
    """Whether the library takes a move after others."""
    try:
        game.play([*moves, move])
    except IllegalMove:
        return False
    return True


def test_a_tap_offers_what_is_legal() -> None:
    """And nothing else, but for erasing, which never helps."""
    chance, played = sampling.chance("setting 14"), []
    for _ in range(60):
        name = chance.choice(list(explorers.BOARDS))
        _, dag, reds = explorers.BOARDS[name]
        game, moves = Game(dag, chance.choice(reds)), []
        for _ in range(20):
            move = Move(chance.choice("RRCCCWD"), chance.randrange(len(dag.parents)))
            if allowed(game, moves, move):
                moves.append(move)
        played.append((game, moves, {"graph": name, "red": str(game.red)}))
    states = [{**state, "moves": "".join(map(str, moves))} for _, moves, state in played]
    body = "((r) => r.graph.parents.map((_, vertex) => page.legal(r, vertex)))(page.compute(state))"
    for (game, moves, state), found in zip(
        played, in_page("pebbles.js", body, states), strict=True
    ):
        for vertex, offered in enumerate(found):
            legal = {kind for kind in "RCWD" if allowed(game, moves, Move(kind, vertex))}
            assert {*offered} == legal, (state, moves, vertex)


@pytest.mark.parametrize("name", explorers.BOARDS)
def test_replayed_optimum_is_complete(name: str) -> None:
    _, _, reds = explorers.BOARDS[name]
    settings = [{"graph": name, "red": str(red), "tool": "auto", "moves": ""} for red in reds]
    body = """((first) => {
      const {board, complete} = page.compute({...state, moves: first.moves.replaceAll(' ', '')});
      return [board.rule ?? '', board.cost, complete, first.cost, board.moves.at(-1)[0]];
    })(page.compute(state).best)"""
    for rule, cost, complete, best, last in in_page("pebbles.js", body, settings):
        assert (rule, complete, cost) == ("", True, best)
        assert last == "W", "nothing is left to do once the last output is written"
