"""A search finds every legal plan, and of each what the plan says by itself."""

import itertools
import pickle
import random

import numpy as np
import pytest

from costlib import models
from costlib.model.transformer import MoE, Transformer
from costlib.parallel import Cluster, Plan, plan_of, search

pytestmark = pytest.mark.slow

H100 = Cluster("DGX-H100", nodes=2, per_node=4)
TINY = Transformer(layers=6, d_model=64, heads=8, d_ff=256, vocab=1024)
EXPERTS = TINY.with_(moe=MoE(experts=4, per_token=2, width=96))
SIZES = {"batch": 32, "seq": 256}


@pytest.fixture(scope="module")
def found():
    return search(EXPERTS, H100, **SIZES, all_rows=True)


def degrees(plan):
    names = ("tensor", "context", "expert", "pipeline", "data", "zero", "microbatch", "chunks")
    more = ("sequence", "schedule", "recompute")
    return tuple(int(getattr(plan, name)) for name in names) + tuple(getattr(plan, n) for n in more)


def test_every_legal_plan_is_found_once(found):
    """All plans, one by one: those that check() lets pass, and that are not another by name."""
    few = (1, 2, 4, 8)
    expected = set()
    for t, c, e, p, b, v in itertools.product(few, few, (1, 2, 4), few, (1, 4), (1, 2)):
        if t * c * p > 8:
            continue
        for zero, sequence, order in itertools.product(range(4), (False, True), ("1f1b", "gpipe")):
            data = 8 // (t * c * p)
            same = (
                (zero and data * c == 1) or (sequence and t == 1) or (p == 1 and order == "gpipe")
            )
            if same:
                continue
            plan = Plan(tensor=t, context=c, expert=e, pipeline=p, data=data, zero=zero)
            plan = plan.with_(microbatch=b, chunks=v, sequence=sequence, schedule=order)
            try:
                plan.check(EXPERTS, H100, *SIZES.values())
            except ValueError:
                continue
            expected.add(degrees(plan))
    some = found[found["recompute"].isna() & found["microbatch"].isin([1, 4])]
    some = some[some["chunks"] < 4]
    rows = [degrees(plan_of(row)) for _, row in some.iterrows()]
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    assert len(found) > 3 * len(expected)


@pytest.mark.parametrize(
    ("name", "context_by"), [("llama-3-8b", "ring"), ("mixtral-8x7b", "all_to_all")]
)
def test_rows_are_what_the_plans_say(name, context_by):
    model, cluster = models[name], Cluster("GB200-NVL72", nodes=2, per_node=8)
    few = {"microbatch": [1, 4], "chunks": [1, 2], "zero": [0, 3], "context_by": [context_by]}
    few |= {"pipeline": [1, 2, 8], "recompute": [None, "selective"]}
    table = search(model, cluster, batch=64, seq=4096, all_rows=True, **few)
    for at in random.Random(0).sample(range(len(table)), 15):
        row = table.iloc[at]
        alone = plan_of(row).on(model, cluster, batch=64, seq=4096)
        assert (alone.step, alone.memory.total) == (row["step_s"], row["memory_bytes"])
        assert (alone.fits, alone.binds) == (row["fits"], row["binds"])
        assert alone.mfu == pytest.approx(row["mfu"])
        assert alone.microbatches == row["microbatches"]


def test_the_frontier_is_what_nobody_beats(found):
    fitting = found[found["fits"]]
    for at in random.Random(1).sample(range(len(found)), 60):
        row = found.iloc[at]
        no_slower, no_fuller = (
            fitting["step_s"] <= row["step_s"],
            fitting["memory_bytes"] <= row["memory_bytes"],
        )
        better = (fitting["step_s"] < row["step_s"]) | (
            fitting["memory_bytes"] < row["memory_bytes"]
        )
        is_beaten = bool((no_slower & no_fuller & better).any())
        if row["frontier"]:
            assert not is_beaten
        elif row["fits"] and not is_beaten:  # as good as another row, which is marked
            twin = (fitting["step_s"] == row["step_s"]) & (
                fitting["memory_bytes"] == row["memory_bytes"]
            )
            assert fitting[twin]["frontier"].any()
    assert found["frontier"].any()
    assert found["step_s"].is_monotonic_increasing


def test_what_does_not_fit_is_left_out():
    small = search("llama-3-8b", Cluster("DGX-A100"), batch=8, seq=8192, recompute=[None])
    every = search(
        "llama-3-8b", Cluster("DGX-A100"), batch=8, seq=8192, recompute=[None], all_rows=True
    )
    assert small["fits"].all()
    assert 0 < len(small) < len(every)
    assert len(small) == every["fits"].sum()
    none = search("llama-3.1-70b", Cluster("DGX-H100"), batch=8, seq=8192, recompute=[None])
    assert len(none) == 0
    assert list(none.columns) == list(every.columns)


def test_a_cluster_of_workers_finds_the_same():
    class Client:
        """What of Dask's client is used."""

        def map(self, function, pieces, pure):
            class Future:
                def __init__(self, piece):
                    sent = pickle.dumps(piece)  # a worker is another process
                    self.result = lambda: function(pickle.loads(sent))

            assert not pure
            return [Future(piece) for piece in pieces]

    here = search(TINY, H100, **SIZES, recompute=[None], zero=[1])
    there = search(TINY, H100, **SIZES, recompute=[None], zero=[1], client=Client())
    both = ["step_s", "memory_bytes"]  # rows that are as good come in another order
    assert here[both].equals(there[both])
    key = list(here.columns.drop("frontier"))
    assert here[key].sort_values(key).values.tolist() == there[key].sort_values(key).values.tolist()


def test_what_may_be_is_named():
    table = search(TINY, H100, **SIZES, tensor=[2, 4], pipeline=[2], zero=(0,), sequence=[True])
    assert set(table["tensor"]) == {2, 4}
    assert set(table["pipeline"]) == {2}
    assert table["sequence"].all()
    with pytest.raises(ValueError, match=r"no plan is legal: of the first, tensor=3 does not .* 2"):
        search(TINY, H100, **SIZES, tensor=[3])
    with pytest.raises(TypeError, match=r"tensor must be a list .* got 8: write \[8\]"):
        search(TINY, H100, **SIZES, tensor=8)
    with pytest.raises(TypeError, match=r"schedule must be a list .* write \['1f1b'\]"):
        search(TINY, H100, **SIZES, schedule="1f1b")
    with pytest.raises(ValueError, match="pipeline must have at least one value"):
        search(TINY, H100, **SIZES, pipeline=[])
    with pytest.raises(TypeError, match=r"tensor must be a whole number, .* got 'a'"):
        search(TINY, H100, **SIZES, tensor=["a"])
    with pytest.raises(ValueError, match=r"zero must be 0, 1, 2 or 3, got 4$"):
        search(TINY, H100, **SIZES, zero=[4])
    with pytest.raises(ValueError, match="microbatch must be at least 1"):
        search(TINY, H100, **SIZES, microbatch=[0])
    with pytest.raises(ValueError, match="batch must be at least 1"):
        search(TINY, H100, batch=0, seq=256)


def test_times_are_positive_and_shares_of_one(found):
    assert (found["step_s"] > 0).all()
    assert found["bubble"].between(0, 1).all()
    assert found["mfu"].between(0, 1).all()
    assert np.isfinite(found["memory_bytes"]).all()
