"""Counted runs on real arrays, replayed as pebble moves: legal, and of the same cost."""

from __future__ import annotations

import numpy as np
import pytest

from costlib.iomodel import TwoLevelMemory, flash2
from costlib.iomodel.pebbles import Dag, Game, replay
from schedules import matmul


@pytest.mark.parametrize(("m", "k", "n"), [(2, 2, 2), (3, 4, 2), (4, 3, 5)])
@pytest.mark.parametrize(("tile_rows", "tile_cols", "inner"), [(1, 1, 1), (2, 2, 1), (2, 1, 2)])
def test_a_tiled_product_is_a_pebbling(m, k, n, tile_rows, tile_cols, inner):
    rng = np.random.default_rng(0)
    memory = TwoLevelMemory(None, trace=True)
    run = matmul(
        rng.normal(size=(m, k)),
        rng.normal(size=(k, n)),
        memory,
        tile_rows=tile_rows,
        tile_cols=tile_cols,
        inner=inner,
    )
    dag = Dag.matmul(m, k, n, fma=True)
    game = Game(dag, red=run.peak + 1)  # one more, because no pebble slides
    pebbling = game.play(replay(dag, memory.trace, {"C": f"C[{{row}},{{col}},{k - 1}]"}))
    assert pebbling.complete
    assert (pebbling.reads, pebbling.writes) == (run.reads, run.writes)
    assert pebbling.computations == m * k * n
    assert pebbling.reads == -(-n // tile_cols) * m * k + -(-m // tile_rows) * k * n


@pytest.mark.parametrize(("length", "width"), [(2, 1), (2, 2), (4, 2), (5, 3)])
@pytest.mark.parametrize(("block_rows", "block_cols"), [(1, 1), (2, 1), (2, 2)])
def test_flash_attention_2_is_a_pebbling(length, width, block_rows, block_cols):
    Q, K, V = np.random.default_rng(0).normal(size=(3, length, width))
    memory = TwoLevelMemory(None, trace=True)
    run = flash2(Q, K, V, memory, block_rows=block_rows, block_cols=block_cols)
    dag = Dag.attention(length, width)
    game = Game(dag, red=run.peak + 1)
    pebbling = game.play(replay(dag, memory.trace, {"O": "Y[{row},{col}]"}))
    assert pebbling.complete
    assert (pebbling.reads, pebbling.writes) == (run.reads, run.writes)
    row_blocks = -(-length // block_rows)
    assert pebbling.cost == 2 * length * width + 2 * row_blocks * length * width


def test_no_blocked_run_beats_the_optimum():
    memory = TwoLevelMemory(None, trace=True)
    run = matmul(np.eye(2), np.eye(2), memory, tile_rows=1, tile_cols=2)
    dag = Dag.matmul(2, 2, 2, fma=True)
    optimum = Game(dag, red=run.peak + 1).optimal().cost
    assert optimum <= run.total


def test_a_trace_of_another_calculation_is_refused():
    memory = TwoLevelMemory(None, trace=True)
    matmul(np.eye(2), np.eye(2), memory, tile_rows=1, tile_cols=1)
    with pytest.raises(ValueError, match="do not belong together"):
        replay(Dag.matmul(2, 3, 2, fma=True), memory.trace, {"C": "C[{row},{col},2]"})
