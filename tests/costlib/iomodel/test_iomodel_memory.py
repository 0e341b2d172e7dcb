"""The counted memory: what it counts, what it refuses, and what it records."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from costlib.iomodel import CapacityError, ResidencyError, TwoLevelMemory, flash2
from costlib.iomodel.memory import spans
from paths import ROOT
from schedules import matmul


@pytest.fixture
def memory():
    return TwoLevelMemory(10)


def test_every_entry_is_counted(memory):
    slow = memory.place("A", np.arange(12.0).reshape(4, 3))
    block = memory.load(slow, slice(1, 3), slice(0, 2))
    temporary = memory.allocate("x", 2, 3, fill=7.0)
    assert repr(temporary) == "Block(x, 2×3)", "a text shows no data"
    assert (memory.reads, memory.writes, memory.resident, memory.peak) == (4, 0, 10, 10)
    memory.store(temporary, slow, slice(2, 4))
    memory.drop(block, temporary)
    assert (memory.reads, memory.writes, memory.resident, memory.peak) == (4, 6, 0, 10)
    np.testing.assert_array_equal(memory.contents(slow)[:, 0], [0, 3, 7, 7])


def test_a_step_that_exceeds_the_capacity_names_step_sizes_and_capacity(memory):
    slow = memory.place("K", np.ones((4, 3)))
    memory.load(slow, slice(0, 3))
    memory.step("scores", 1, 2)
    with pytest.raises(CapacityError) as caught:
        memory.load(slow, slice(2, 4))
    message = str(caught.value)
    for part in ("scores (1, 2)", "K[2:4, 0:3]", "6 entries", "1 of 10", "K 3×3"):
        assert part in message
    with pytest.raises(CapacityError, match=r"allocating S\[0:2, 0:1\] needs 2 entries"):
        memory.allocate("S", 2)
    assert (memory.reads, memory.resident, memory.peak) == (9, 9, 9), "a refused step costs nothing"


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True])
def test_capacity_must_be_a_whole_number_of_entries(capacity):
    with pytest.raises((ValueError, TypeError), match="capacity must be"):
        TwoLevelMemory(capacity)


def test_without_capacity_only_the_counting_remains():
    memory = TwoLevelMemory(None)
    memory.allocate("x", 1000, 1000)
    assert memory.peak == 10**6


def test_uninitialised_memory_is_nan_in_both_levels(memory):
    slow = memory.reserve("O", 2, 2)
    assert np.isnan(memory.contents(slow)).all()
    block = memory.allocate("x", 2, 2)
    memory.store(block, slow)
    memory.drop(block)
    assert np.isnan(memory.contents(slow)).all()


READERS = {
    "asarray": np.asarray,
    "array": np.array,
    "index": lambda x: x[0, 0],
    "iterate": list,
    "float": float,
    "bool": bool,
    "len": len,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "exp without out": np.exp,
    "where": lambda x: np.where(True, x, 0.0),
    "sum": np.sum,
    "comparison": lambda x: x > 0,
    "new array": lambda x: x + 1,
    "operand of an array": lambda x: np.ones((2, 2)) @ x,
    "concatenate": lambda x: np.concatenate([x, x]),
    "out is an array": lambda x: np.exp(x, out=np.empty((2, 2))),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_data_cannot_leave_either_level(memory, reader):
    for held in (
        memory.allocate("x", 2, 2, fill=1.0),
        memory.place("A", np.ones((2, 2))),
    ):
        with pytest.raises((ResidencyError, TypeError)):
            reader(held)


def test_arrays_cannot_enter_through_a_computation(memory):
    block = memory.allocate("x", 2, 2, fill=1.0)
    for attempt in (
        lambda: np.add(block, np.ones((2, 2)), out=block),
        lambda: block.__iadd__(np.ones((2, 2))),
        lambda: block.copy_from(np.ones((2, 2))),
        lambda: block.set_product(np.ones((2, 2)), np.ones((2, 2))),
        lambda: block.fill(np.ones((2, 2))),
        lambda: np.add(block, 1.0, out=block, where=np.eye(2, dtype=bool)),
        lambda: np.add.at(block, 0, 1.0),
    ):
        with pytest.raises((ResidencyError, TypeError, AttributeError)):
            attempt()


USES = {
    "add": lambda x, y: y.__iadd__(x),
    "ufunc": lambda x, y: np.exp(x, out=y),
    "product": lambda x, y: y.add_product(x, x),
    "row sums": lambda x, y: y.add_row_sums(x),
    "view": lambda x, _: x.T,
    "in place": lambda x, _: x.__imul__(2.0),
    "exp": lambda x, _: x.exp(),
    "mask": lambda x, _: x.mask_future(0, 0),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_dropped_block_refuses(memory, use):
    dropped, other = memory.allocate("x", 2, 2, fill=1.0), memory.allocate("y", 2, 2, fill=1.0)
    memory.drop(dropped)
    with pytest.raises(ResidencyError, match=r"x \(2×2\) was dropped"):
        use(dropped, other)
    with pytest.raises(ResidencyError, match="was dropped"):
        memory.store(dropped, memory.reserve("O", 2, 2))
    with pytest.raises(ResidencyError, match="was dropped"):
        memory.drop(dropped)


def test_views_die_with_their_block(memory):
    block = memory.allocate("x", 2, 2, fill=1.0)
    transposed, corner = block.T, block.part(slice(0, 1), slice(0, 1))
    with pytest.raises(ResidencyError, match="drop the whole block"):
        memory.drop(corner)
    smuggled = block._data
    memory.drop(block)
    assert np.isnan(smuggled).all(), "even the hidden array is worthless"
    for view in (transposed, corner):
        with pytest.raises(ResidencyError, match="was dropped"):
            view.exp()


def test_a_load_is_a_copy_and_placing_is_one_too(memory):
    original = np.ones((2, 2))
    slow = memory.place("A", original)
    original[:] = 9.0
    block = memory.load(slow)
    block *= 5.0
    memory.drop(block)
    np.testing.assert_array_equal(memory.contents(slow), 1.0)


def test_what_a_memory_refuses(memory):
    other, slow = TwoLevelMemory(10), memory.place("A", np.ones((2, 2)))
    with memory.load(slow), pytest.raises(ResidencyError, match="when fast memory is empty"):
        memory.contents(slow)
    with pytest.raises(ValueError, match="another memory"):
        memory.load(other.place("A", np.ones((2, 2))))
    with pytest.raises(ValueError, match="does not fit"):
        memory.store(other.allocate("x", 2, 2), memory.reserve("O", 2, 2))


@pytest.mark.parametrize("rows", [slice(0, 5), slice(-1, 2), slice(0, 4, 2), slice(3, 1)])
def test_a_region_must_lie_within_the_array(memory, rows):
    with pytest.raises(ValueError, match="rows of SlowArray"):
        memory.load(memory.place("A", np.ones((4, 2))), rows)


def test_a_product_cannot_be_formed_over_its_factor(memory):
    block = memory.allocate("x", 2, 2, fill=1.0)
    for attempt in (
        lambda: block.set_product(block, block),
        lambda: block.add_product(block.T, block),
        lambda: np.matmul(block, block, out=block),
    ):
        with pytest.raises(ResidencyError, match="one of its factors"):
            attempt()


def test_the_trace_tells_the_whole_story():
    rng = np.random.default_rng(1)
    Q, K, V = rng.normal(size=(3, 9, 3))
    memory = TwoLevelMemory(60, trace=True)
    run = flash2(Q, K, V, memory, block_rows=4, block_cols=2)
    events = run.trace
    assert sum(e.entries for e in events if e.kind == "load") == run.reads
    assert sum(e.entries for e in events if e.kind == "store") == run.writes
    assert max(e.resident for e in events) == run.peak
    resident, held = 0, {}
    for event in events:
        rows, cols = event.region
        assert (rows.stop - rows.start) * (cols.stop - cols.start) == event.entries
        if event.kind in ("load", "alloc"):
            resident += event.entries
            assert event.block not in held
            held[event.block] = event.array
        elif event.kind == "drop":
            resident -= event.entries
            assert held.pop(event.block) == event.array
        else:
            assert event.kind == "store"
            assert event.block in held
        assert event.resident == resident
    assert not held
    loaded = [(e.array, e.rows) for e in events if e.kind == "load"][:5]
    assert loaded == [("Q", (0, 4)), ("K", (0, 2)), ("V", (0, 2)), ("K", (2, 4)), ("V", (2, 4))]
    assert events[-1].step == "output (2)"


def test_a_memory_counts_on_through_several_runs():
    x = np.eye(4)
    memory = TwoLevelMemory(48, trace=True)
    first = matmul(x, x, memory, tile_rows=4, tile_cols=4, inner=4)
    second = matmul(x, x, memory, tile_rows=1, tile_cols=1)
    assert (first.peak, second.peak, memory.peak) == (48, 3, 48)
    assert memory.reads == first.reads + second.reads
    assert len(memory.trace) == len(first.trace) + len(second.trace)
    leak = memory.allocate("x", 1)
    with pytest.raises(ValueError, match="must be empty"):
        matmul(x, x, memory, tile_rows=1, tile_cols=1)
    memory.drop(leak)
    assert matmul(x, x, 12, tile_rows=2, tile_cols=2).trace == ()


def test_spans_cover_without_overlap():
    for length in range(1, 20):
        for step in range(1, 22):
            pieces = list(spans(length, step))
            assert [i for s in pieces for i in range(s.start, s.stop)] == list(range(length))
            assert len(pieces) == math.ceil(length / step)


def test_the_package_opens_without_heavy_libraries():
    code = (
        "import sys, costlib.iomodel\n"
        "heavy = {'sympy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
