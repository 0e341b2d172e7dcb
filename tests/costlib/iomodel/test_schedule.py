"""Schedules as plain data: what one writes down another plays, and anything else is refused."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
import pytest

from costlib.iomodel import CapacityError, ResidencyError, Schedule, play
from costlib.iomodel.memory import spans
from schedules import matmul_outer

A = np.arange(12.0).reshape(3, 4)


def product(m: int, k: int, n: int, capacity: int, side: int) -> Schedule:
    """C = A·B by square tiles of C."""
    schedule = Schedule(capacity, A=(m, k), B=(k, n))
    schedule.reserve("C", m, n)
    for rows in spans(m, side):
        for cols in spans(n, side):
            shape = rows.stop - rows.start, cols.stop - cols.start
            with schedule.allocate("C", *shape, fill=0) as tile:
                for inner in spans(k, 1):
                    with (
                        schedule.load("A", rows, inner) as column,
                        schedule.load("B", inner, cols) as row,
                    ):
                        tile.add_product(column, row)
                schedule.store(tile, "C", rows, cols)
    return schedule


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 4), (6, 6, 6), (7, 2, 9)])
def test_a_schedule_counts_what_the_counted_algorithm_does(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    schedule = product(m, k, n, 15, 3)
    moves = json.loads(json.dumps(schedule.moves))
    for seed in range(3):  # data that were not known when the moves were written
        rng = np.random.default_rng(seed)
        left, right = rng.normal(size=(m, k)), rng.normal(size=(k, n))
        run = matmul_outer(left, right, 15)
        played = play(moves, 15, A=left, B=right)
        assert np.allclose(played.arrays["C"], left @ right)
        assert (played.reads, played.writes, played.peak) == (run.reads, run.writes, run.peak)
        assert (schedule.reads, schedule.writes) == (played.reads, played.writes)


def test_parts_and_transposes_are_those_of_numpy() -> None:
    rows, cols = slice(1, 3), slice(0, 3)
    for take in (
        lambda x: x,
        lambda x: x.T,
        lambda x: x.part(rows, cols) if hasattr(x, "part") else x[rows, cols],
        lambda x: x.T.part(cols, rows) if hasattr(x, "part") else x.T[cols, rows],
        lambda x: x.T.part(cols, rows).T if hasattr(x, "part") else x.T[cols, rows].T,
        lambda x: (
            x.part(rows, cols).T.part(slice(1, 3)) if hasattr(x, "part") else x[rows, cols].T[1:3]
        ),
    ):
        schedule = Schedule(24, A=A.shape)
        wanted = take(A)
        schedule.reserve("B", *wanted.shape)
        with schedule.load("A") as block:
            tile = take(block)
            assert tile.shape == wanted.shape
            schedule.store(tile, "B")
        assert np.array_equal(play(schedule.moves, 24, A=A).arrays["B"], wanted)


def test_every_step_does_what_its_name_says() -> None:
    schedule = Schedule(60, A=A.shape)
    schedule.reserve("B", 3, 4)
    with (
        schedule.load("A") as x,
        schedule.allocate("y", 3, 4) as y,
        schedule.allocate("column", 3, fill=-math.inf) as column,
        schedule.allocate("square", 3, 3, fill=0) as square,
    ):
        y.copy_from(x)
        y -= 3
        y.exp()
        y.log()
        y += 3
        y.set_maximum(y, x)
        column.raise_to_row_maxima(x)
        y -= column
        column.set_row_maxima(x)
        y += column
        column.set_row_sums(x)
        column.add_row_sums(x)
        y /= column
        square.set_product(x, x.T)
        square.add_product(x, y.T)
        y *= square.part(cols=slice(0, 1))
        schedule.store(y, "B")
    sums = A.sum(axis=1, keepdims=True)
    wanted = A / (2 * sums)
    wanted = wanted * (A @ A.T + A @ wanted.T)[:, :1]
    assert np.allclose(play(schedule.moves, 60, A=A).arrays["B"], wanted)


def test_what_is_not_legal_is_refused_where_it_is_written() -> None:
    schedule = Schedule(12, A=(3, 4))
    block = schedule.load("A")
    with pytest.raises(CapacityError, match="0 of 12 are free"):
        schedule.allocate("x", 1)
    with pytest.raises(ResidencyError, match="whole"):
        block.part(slice(0, 2)).copy_from(block.part(slice(1, 3)))
    with pytest.raises(ResidencyError, match="drop the whole block"):
        schedule.drop(block.part(slice(0, 1)))
    with pytest.raises(ValueError, match="another schedule"):
        block += Schedule(12, A=(3, 4)).load("A")
    with pytest.raises(ValueError, match="within 3×4"):
        block.part(slice(0, 9))
    with pytest.raises(ValueError, match="no stride"):
        block.part(slice(0, 3, 2))
    schedule.drop(block)
    with pytest.raises(ResidencyError, match="dropped"):
        block.exp()
    assert len(schedule.moves) == 2, "what was refused is not in it"


LOAD = ["load", "A", 0, 3, 0, 4]
ILLEGAL: dict[str, Any] = {
    "no list": "load",
    "a tuple": (LOAD,),
    "a move that is no list": ["load A"],
    "no move": [[]],
    "a kind of a list": [[["load"], 0]],
    "another kind": [["make", 0]],
    "a name of Python's": [["__init__", 0]],
    "a method of the memory": [["place", "A", [[1]]]],
    "too few words": [["load", "A"]],
    "too many words": [[*LOAD, 1]],
    "an array that is not there": [["load", "B", 0, 1, 0, 1]],
    "an array that is a list": [["load", ["A"], 0, 1, 0, 1]],
    "before the array": [["load", "A", -1, 3, 0, 4]],
    "beyond the array": [["load", "A", 0, 4, 0, 4]],
    "nothing": [["load", "A", 1, 1, 0, 4]],
    "backwards": [["load", "A", 3, 0, 4, 0]],
    "a float for a number": [["load", "A", 0.0, 3, 0, 4]],
    "True for a number": [["load", "A", 0, True, 0, 4]],
    "no end": [["load", "A", 0, 10**4000, 0, 4]],
    "two loads in room for one": [LOAD, LOAD],
    "a negative temporary": [["allocate", "x", -3, -4]],
    "an empty temporary": [["allocate", "x", 0, 4]],
    "too large a temporary": [["allocate", "x", 13, 1]],
    "an odd name": [["allocate", "<b>", 1, 1]],
    "a fill that is a text": [["allocate", "x", 1, 1, "nan"]],
    "a fill that is a block": [["allocate", "x", 1, 1, [0]]],
    "too much slow memory": [["reserve", "x", 10**6, 10**6]],
    "an input made anew": [["reserve", "A", 3, 4]],
    "a block that is not there": [["exp", [0]]],
    "a block from behind": [LOAD, ["exp", [-1]]],
    "a dropped block": [LOAD, ["drop", 0], ["exp", [0]]],
    "dropped twice": [LOAD, ["drop", 0], ["drop", 0]],
    "not dropped": [LOAD],
    "stored after it was dropped": [LOAD, ["drop", 0], ["store", [0], "A", 0, 3, 0, 4]],
    "stored in another shape": [LOAD, ["store", [0], "A", 0, 3, 0, 3]],
    "a number for a block": [LOAD, ["exp", 0]],
    "a part beyond the block": [LOAD, ["exp", [0, 0, 4, 0, 4]]],
    "a part that overlaps": [LOAD, ["copy_from", [0, 0, 2, 0, 4], [0, 1, 3, 0, 4]]],
    "a part of itself": [LOAD, ["add", [0], [0, 0, 1, 0, 4]]],
    "a product in place": [LOAD, ["set_product", [0], [0], [0]]],
    "an array for a scalar": [LOAD, ["fill", [0], [[1.0]]]],
    "a scalar without end": [LOAD, ["add", [0], 10**400]],
    "a scalar for a block": [LOAD, ["copy_from", [0], 1]],
    "an operand too many": [LOAD, ["exp", [0], [0]]],
    "shapes that do not match": [LOAD, ["set_row_sums", [0], [0]]],
}


@pytest.mark.parametrize("moves", ILLEGAL.values(), ids=ILLEGAL)
def test_moves_of_anybody_are_legal_or_a_sentence(moves: Any) -> None:
    with pytest.raises(ValueError, match=r"^(move [01234]|a schedule|at the end)") as refused:
        play(moves, 12, A=A)
    assert len(str(refused.value)) < 400
    assert "<" not in str(refused.value)


def test_a_list_made_to_hurt_is_refused_at_once() -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match="at most 200,000"):
        play([LOAD] * 200_001, 12, A=A)
    with pytest.raises(ValueError, match="may reserve"):
        play([["reserve", f"x{i}", 1000, 100] for i in range(1000)], 12, A=A)
    assert time.process_time() - begin < 10
