"""The films of attention and of a token, and the game with pebbles: every step is one that the
library takes.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import sampling
from costlib import models
from costlib.iomodel.pebbles import Game, IllegalMove, Move
from costlib.model.layer_by_layer import layer_by_layer
from costlib.parallel.model_parallel import degrees
from costlib.serving import Server
from explorer_settings import MANY, asked, size
from in_node import same
from tools.pages import explorers


@pytest.mark.parametrize("capacity", explorers.FILM_CAPACITIES)
@pytest.mark.parametrize("algorithm", explorers.FILMED)
def test_film_is_the_simulators_trace(algorithm: str, capacity: int) -> None:
    [shown] = asked("film", "frames", [[algorithm, str(capacity)]])
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
    films = [(name, str(M)) for name in explorers.FILMED for M in explorers.FILM_CAPACITIES]
    for (algorithm, M), (moved, done, tile) in zip(
        films, asked("film", "traces", films), strict=True
    ):
        run = explorers.filmed(algorithm, int(M))
        for array, often in moved.items():
            transfers = [e for e in run.trace if e.array == array and e.kind in ("load", "store")]
            assert sum(often) == sum(event.entries for event in transfers), (algorithm, array)
        assert done == [1] * 16 * 16
        assert 0 <= tile[0] < tile[1] <= 16
        assert 0 <= tile[2] < tile[3] <= 16


def token_settings() -> list[dict[str, Any]]:
    """Models, with what a step has and on how many devices; the film opens with the first."""
    chance = sampling.chance("setting token")
    found = []
    for name in ["llama-3.1-8b", *chance.sample(list(models), sampling.number(8, len(models)))]:
        many = [n for n in degrees(models[name]) if n in (1, 2, 4, 8, 16)]
        sizes = {
            "batch": size(chance, 4096),
            "context": size(chance, models[name].learned_positions or 2**17),
        }
        waits = {"wait": chance.choice([0, 2.5]), "many": str(chance.choice(many))}
        found.append({"model": name, "device": "H200", "precision": "own", **sizes, **waits})
    return found


def test_the_film_of_a_token_is_the_ledgers() -> None:
    """Every op of every layer, and in the end what a server's step takes."""
    settings = token_settings()
    films = asked("token_film", "tokenFilm", settings)
    for s, (time, held, parts, rows) in zip(settings, films, strict=True):
        server = Server(s["model"], "H200", tensor=int(s["many"]), latency=s["wait"] / 1e6 or None)
        batch, context = s["batch"], s["context"]
        passed = layer_by_layer(server.share, batch, context)
        assert parts == server.model.layers + 2
        step = float(server.step(batch, context, too_large="ignore"))
        assert same(time, sum(float(server.seconds(each.work)) for each in passed)), s
        # Where a checkpoint packs alike layers in different ways, a step gives them one roofline at
        # their mean bytes, and a mean of maxima is no less than the maximum of the means.
        assert same(time, step) or (server.model.own is not None and time > step), s
        assert same(held, float(server.fullest(batch, context)[1].total)), s
        expected = []
        for each in passed:
            precision = each.work.at()
            for op in each.work:
                read, wrote = op.elements_read, op.elements_written
                weights = (read.weights + wrote.weights) * precision.weights_in(op.name)
                cache = (read.kv + wrote.kv) * precision.kv
                rest = op.bytes(precision) - weights - cache
                counts = [weights, cache, rest, op.flops, op.bytes_sent(precision)]
                alone = server.seconds(type(each.work)((op,), own=each.work.own))
                expected.append([op.name, *map(float, counts), float(alone)])
        assert [row[0] for row in rows] == [row[0] for row in expected]
        for row, known in zip(rows, expected, strict=True):
            assert row[1:] == pytest.approx(known[1:], rel=1e-9, abs=1e-3), (s, row)


def test_the_film_of_a_token_reads_layers_that_are_alike_once() -> None:
    """The layers, and both ends."""
    assert asked("token_film", "tokenLists", [{"model": "llama-3.1-8b"}]) == [3]


def test_a_moment_of_the_film_is_the_op_that_runs_then() -> None:
    [frames] = asked("token_film", "tokenFrames", [{"model": "gemma-2-2b"}])
    assert len(frames) > 400
    assert all(frame == at for at, (frame, time) in enumerate(frames, 1) if time > 1e-12)


def test_what_the_film_of_a_token_suggests_is_so() -> None:
    [found] = asked("token_film", "tokenTries", [0])

    def seconds(layers: Any, *names: str) -> float:
        ops = [op for layer in layers for op in layer["ops"]]
        return sum(op["time"] for op in ops if not names or op["name"] in names)

    _, layers, time, total = found["A book in the cache"]
    assert seconds(layers, "scores", "values") > time / 2
    assert total["cache"] > total["weights"]
    _, layers, *_ = found["512 users"]
    products = [
        op for op in layers[1]["ops"] if op["name"].endswith(("proj", "gate", "up", "down"))
    ]
    assert {op["bound"] for op in products} == {"compute"}
    _, layers, time, total = found["A mixture of experts"]
    model = models["qwen3-30b-a3b"]
    assert (model.moe.experts, model.moe.per_token) == (128, 8)
    assert total["weights"] / model.weight_bytes() == pytest.approx(0.1, abs=0.005)
    assert 4.5 < (layers[-1]["end"] - layers[-1]["begin"]) / seconds(layers[1:2]) < 5
    now, layers, *_ = found["Windows"]
    assert now["op"]["name"] == "scores"
    assert layers[now["layer"]]["names"][0] == "attention"
    assert seconds(layers[6:7]) > 2 * seconds(layers[5:6])
    now, layers, *_ = found["Eight devices"]
    assert now["op"]["name"] == "all_reduce"
    sent = [at for at, op in enumerate(layers[1]["ops"]) if op["isMessage"]]
    assert [layers[1]["ops"][at - 1]["name"] for at in sent] == ["o_proj", "ffn.down"]
    assert all(layers[1]["ops"][at]["time"] < 1.1 * 6e-6 for at in sent)


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
    found = asked("rules", "played", [setting for setting, _, _ in plays])
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
    for (game, moves, state), found in zip(played, asked("pebbles", "legal", states), strict=True):
        for vertex, offered in enumerate(found):
            legal = {kind for kind in "RCWD" if allowed(game, moves, Move(kind, vertex))}
            assert {*offered} == legal, (state, moves, vertex)


@pytest.mark.parametrize("name", explorers.BOARDS)
def test_replayed_optimum_is_complete(name: str) -> None:
    _, _, reds = explorers.BOARDS[name]
    settings = [{"graph": name, "red": str(red), "tool": "auto", "moves": ""} for red in reds]
    for rule, cost, complete, best, last in asked("pebbles", "replayed", settings):
        assert (rule, complete, cost) == ("", True, best)
        assert last == "W", "nothing is left to do once the last output is written"
