"""Diagrams of training, many devices and serving: their numbers are counted here another way."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

import costlib
from costfigures import Figure, batches, cluster, lowerbounds, step
from costfigures import training as charts
from costlib import parallel
from costlib.iomodel import compression
from costlib.serving import Server, disaggregate, listed, poisson, simulate, transfer
from costlib.training import activations, state_bytes
from figure_checks import (
    check_colours,
    check_described,
    check_small_and_readable,
    check_words_apart,
)

pytestmark = pytest.mark.slow

LLAMA = costlib.models["llama-3.1-8b"]
SERVER = Server(LLAMA, costlib.devices["H100-SXM"])
ANSWERS = [40, 160, 60, 100, 120, 40, 80]
LONG = listed(0.1 * np.arange(4), 4000, 40)


@lru_cache
def planned(**plan: int) -> object:
    nodes = parallel.Cluster("DGX-H100", nodes=4)
    return parallel.Plan(**plan).on(LLAMA, nodes, batch=64, seq=4096)


@lru_cache
def run() -> object:
    return simulate(poisson(20, 300, prompt=1000, answer=100, seed=1), SERVER)


DRAWINGS = {
    "three_products": step.three_products,
    "tall_products": lambda: step.three_products(2, 9, 5),
    "lives": lambda: step.lives(LLAMA, 4096),
    "tide": lambda: charts.tide(LLAMA, 4096),
    "ring_rounds": cluster.ring_rounds,
    "experts": cluster.experts,
    "hidden": lambda: cluster.hidden(LLAMA, costlib.nodes["DGX-H100"], 8, [16384, 2048]),
    "folded": lambda: cluster.folded(planned(tensor=4, pipeline=2, data=4, sequence=True)),
    "folded_far": lambda: cluster.folded(planned(tensor=8, pipeline=4)),
    "folded_ring": lambda: cluster.folded(planned(context=4, data=8, zero=3)),
    "filling": lambda: batches.filling(run(), 5),
    "apart": lambda: batches.apart(SERVER, LONG, 50e9),
    "message": lowerbounds.message,
    "longer_message": lambda: lowerbounds.message(8, 3),
    "refilled": lambda: batches.refilled(SERVER, 500, ANSWERS, places=3),
}


@lru_cache
def drawn(name: str) -> Figure:
    return DRAWINGS[name]()


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_described_readable_and_in_the_book_s_colours(name: str) -> None:
    check_described(drawn(name))
    check_small_and_readable(drawn(name))
    check_colours(drawn(name))
    check_words_apart(drawn(name))


def test_three_products_have_the_same_flops() -> None:
    assert drawn("tall_products").svg.count(f">{2 * 2 * 9 * 5} FLOPs<") == 3
    assert "C, 2 by 5, is A, 2 by 9, times B, 9 by 5" in drawn("tall_products").alt


def test_lives_of_activations_are_what_a_layer_keeps() -> None:
    kept = activations(LLAMA, 1, 4096).of_layers() / 32
    again = activations(LLAMA, 1, 4096, recompute="full")
    title = drawn("lives").title
    assert f"keeps {kept / 1e6:.0f} MB for the way back, or {2 * 4096 * 4096 / 1e6:.3g} MB" in title
    assert again.of_layers() / 32 == 2 * 4096 * 4096
    assert f"holds {again.again() / 1e6:.0f} MB meanwhile" in drawn("lives").alt
    assert "in 18 units" in drawn("lives").alt
    assert "in 24 units" in drawn("lives").alt


def test_tide_has_the_state_below_and_the_peaks_of_three_ways() -> None:
    state = state_bytes(LLAMA).total
    assert f"{state / 1e9:.0f} GB of states" in drawn("tide").title
    for name, scores, again in charts.WAYS:
        held = activations(LLAMA, 1, 4096, scores=scores, recompute=again)
        peak = held.of_layers() + max(held.again(), held.outside())
        assert f"{name}, at most {peak / 1e9:.1f} GB" in drawn("tide").alt
    written, _, again = (
        float(peak) for peak in re.findall(r"at most ([\d.]+) GB", charts.tide(LLAMA, 8192).alt)
    )
    assert written > state / 1e9 > 15 * again  # the page: more than double, hardly anything


def test_a_ring_sends_each_part_to_the_next_and_adds_up() -> None:
    rounds = cluster._followed(4)
    assert [len(sent) for _, sent in rounds] == [0] + 6 * [4]
    for (before, _), (after, sent) in pairwise(rounds):
        for device, part in sent.items():
            came, there = before[device, part], before[(device + 1) % 4, part]
            assert after[(device + 1) % 4, part] == (4 if came == 4 else came + there)
    assert (rounds[3][0] == 4).sum() == 4
    assert (rounds[6][0] == 4).all()
    machine = parallel.Machine(4)
    machine.run(parallel.ALGORITHMS["ring all-reduce"].program, [np.arange(8)] * 4)
    assert f"sends {machine.busiest / 8:g} times its tensor" in drawn("ring_rounds").title


def test_no_token_is_lost_on_its_way_to_an_expert() -> None:
    figure = drawn("experts")
    got = re.findall(r"device \d gets ([\d, ]+): ([\d.]+) of its share", figure.alt)
    counts = np.array([[int(each) for each in row.split(",")] for row, _ in got])
    assert (counts.sum(axis=0) == 32).all(), "every device sends all of its own"
    assert [f"{each:.2f}" for each in counts.sum(axis=1) / 32] == [share for _, share in got]
    assert f"{counts.sum(axis=1).max() / 32:.2f}" in figure.title


@pytest.mark.parametrize(
    ("name", "plan", "across"),
    [
        ("folded", {"tensor": 4, "pipeline": 2, "data": 4, "sequence": True}, {"data": 4}),
        ("folded_far", {"tensor": 8, "pipeline": 4}, {"pipeline": 4}),
        ("folded_ring", {"context": 4, "data": 8, "zero": 3}, {"data": 4}),
    ],
)
def test_a_folded_mesh_tells_tiers_and_bytes_of_the_plan(name, plan, across) -> None:
    ledger = planned(**plan).ledger(0)
    for axis in ("tensor", "context", "pipeline", "data"):
        told = re.search(
            rf"{axis} (\d+), (inside a node|across (\d+) nodes): ([\d.]+) ([MG])B", drawn(name).alt
        )
        if axis not in plan:
            assert told is None
            continue
        assert int(told[1]) == plan[axis]
        assert int(told[3] or 1) == across.get(axis, 1)
        sent = float(told[4]) * {"M": 1e6, "G": 1e9}[told[5]]
        assert sent == pytest.approx(ledger.over(axis).bytes_sent(), rel=0.01)


def test_a_mesh_fills_its_cluster() -> None:
    few = parallel.Plan(data=8).on(LLAMA, parallel.Cluster("DGX-H100"), batch=64, seq=4096)
    assert cluster.folded(few).title == "Inside a node: data; across nodes: nothing"
    assert "share each sequence" in drawn("folded_ring").alt
    assert "share each product" in drawn("folded").alt
    assert cluster._coordinates(29, {"tensor": 2, "pipeline": 3, "data": 9}) == {
        "tensor": 1,
        "pipeline": 2,
        "data": 4,
    }


def test_nobody_sits_in_a_place_that_is_taken() -> None:
    found = np.array(batches.seats(run().started, run().finish))
    for place in set(found.tolist()):
        here = np.flatnonzero(found == place)
        order = here[np.argsort(run().started[here])]
        assert np.all(run().finish[order[:-1]] <= run().started[order[1:]] + 1e-9)
    assert found.max() + 1 >= run().column("writing").max()


def test_filling_tells_the_average_and_the_most() -> None:
    assert f"settles about {run().mean('writing'):.0f}" in drawn("filling").title
    first = run().column("writing")[run().column("seconds") <= 5]
    assert f"reach {first.max():.0f};" in drawn("filling").alt


def test_refilled_places_and_batches_are_simulated() -> None:
    soon = simulate(listed(np.zeros(7), 500, ANSWERS), SERVER, most=3).seconds
    last = sum(
        simulate(listed(np.zeros(len(some)), 500, some), SERVER).seconds
        for some in (ANSWERS[:3], ANSWERS[3:6], ANSWERS[6:])
    )
    told = f"Continuous batching: 7 answers in {soon:.2f} s instead of {last:.2f}"
    assert drawn("refilled").title == told
    assert soon < last


def test_a_machine_that_reads_leaves_no_pause_but_the_link() -> None:
    reads = SERVER.prefill(4000)
    longest = f"{1e3 * (reads + SERVER.step(3, 4030)):.0f} ms"
    first = transfer(SERVER, 4000, 50e9) + SERVER.step(3, 4000)
    assert f"falls from {longest} to {1e3 * first:.0f} ms" in drawn("apart").title
    for run in (simulate(LONG, SERVER), disaggregate(LONG, SERVER, SERVER, link=50e9)):
        assert f"done after {run.seconds:.2f} s" in drawn("apart").alt


@pytest.mark.parametrize(("name", "side", "d"), [("message", 6, 2), ("longer_message", 8, 3)])
def test_a_message_is_as_short_as_the_library_makes_it(name: str, side: int, d: int) -> None:
    pairs, prime = compression.square(side**2), 11
    rows = np.arange(2 * side * d).reshape(2, side, d).tolist()
    sent = compression.encode(*rows, pairs, prime)
    least = compression.free_entries(pairs, d)
    assert sent.form == "factors"
    told = (
        f"{side**2} scores from {len(sent)} numbers, in the worst case from no fewer than {least}"
    )
    assert drawn(name).title == told
    assert f"{len(sent)} together" in drawn(name).alt


def test_gradients_hide_behind_what_is_still_to_be_computed() -> None:
    node = costlib.nodes["DGX-H100"]
    tiers = parallel.two_tier_sent("all_reduce", 2 * LLAMA.params(), node=8, nodes=8)
    wires = max(tiers[0] / node.link, tiers[1] / node.network)  # both at once
    for tokens in (16384, 2048):
        backward = 4 * LLAMA.params() * tokens / node.device.compute_rate()
        done, sent = cluster._backward(LLAMA, node, 8, tokens, 8)
        assert done[-1][1] == pytest.approx(backward)
        assert sum(end - begin for begin, end in sent) == pytest.approx(wires)
        late = wires / 8 if backward > wires else wires + backward / 8 - backward
        assert sent[-1][1] - backward == pytest.approx(late)
        told = float(f"{1e3 * late:.2g}")
        assert f"{tokens:,} tokens: {told:g} ms of waiting" in drawn("hidden").title
