"""The simulated server: what must hold of every run, and formulas that runs must meet."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import Device, devices, serving
from costlib.model.transformer import Transformer

pytestmark = pytest.mark.slow

LLAMA = serving.Server("llama-3.1-8b", "H100-SXM")
TINY = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000, kv_heads=2)
LOCAL = TINY.with_(window=8, local_layers=1)


def small(blocks: int, model: Transformer = TINY, block: int = 4) -> serving.Server:
    """A server whose memory holds so many blocks."""
    toy = Device("toy", {"bf16": 1e10}, 1e9, capacity=10**12, interconnect=1e9)
    whole = serving.Pages(serving.Server(model, toy), block=block, sequences=8)
    held = toy.usable - whole.blocks * whole.block_bytes
    room = (blocks + 0.5) * whole.block_bytes + held % whole.block_bytes
    held = serving.Server(model, toy).device.usable - serving.Server(model, toy).free_bytes(8)
    return serving.Server(model, toy.with_(capacity=(held + room) / 0.9))


lengths = st.integers(1, 20)
requests_of_any_kind = st.lists(
    st.tuples(st.integers(0, 200), lengths, lengths, st.integers(0, 2)), min_size=1, max_size=25
)


def made(rows, common=0):
    arrival, prompt, answer, group = zip(*rows, strict=True)
    shared = [
        min(common, min(p for p, g in zip(prompt, group, strict=True) if g == mine))
        for mine in group
    ]
    return serving.listed(
        np.array(arrival) * 1e-4, list(prompt), list(answer), shared=shared, group=list(group)
    )


policies = st.fixed_dictionaries(
    {
        "most": st.integers(1, 8),
        "chunk": st.sampled_from([None, 1, 3, 8]),
        "reserve": st.sampled_from(["answer", "blocks"]),
        "prefix_cache": st.booleans(),
    }
)


@pytest.mark.filterwarnings("ignore::costlib.serving.load.Overloaded")
@settings(max_examples=60)
@given(requests_of_any_kind, policies, st.integers(11, 40), st.sampled_from([TINY, LOCAL]))
def test_what_must_hold_of_every_run(rows, policy, blocks, model):
    requests, server = made(rows, common=6), small(blocks + 4 * (model is LOCAL), model)
    run = serving.simulate(requests, server, block=4, one_by_one=True, **policy)
    # nobody is lost, and nothing happens before its time
    assert np.all(np.isfinite(run.finish))
    assert np.all(requests.arrival <= run.started)
    assert np.all(run.started < run.first)
    assert np.all(run.first <= run.finish)
    # tokens are conserved
    assert run.written == requests.answer.sum()
    if run.preemptions == 0:
        assert run.read + run.hit == requests.prompt.sum()
    # memory is never exceeded, nor the places
    assert run.column("blocks").max() <= run.pages.blocks
    assert run.column("blocks").min() >= 0
    assert run.column("writing").max() <= policy["most"]
    assert run.column("tokens")[-1] == run.column("waiting")[-1] == 0
    if not policy["prefix_cache"]:
        assert run.column("blocks")[-1] == 0
    # first come, first read; unless somebody was put back
    if policy["reserve"] == "answer":
        assert run.preemptions == 0
        assert np.all(np.diff(run.started) >= 0)
        assert np.all(np.diff(run.first) >= 0)
    # Little's law
    inside, product = run.little()
    assert inside == pytest.approx(product, rel=1e-9)


@pytest.mark.filterwarnings("ignore::costlib.serving.load.Overloaded")
@settings(max_examples=40)
@given(requests_of_any_kind, policies, st.integers(11, 40), st.sampled_from([TINY, LOCAL]))
def test_many_steps_at_once_are_as_many_single_ones(rows, policy, blocks, model):
    requests, server = made(rows, common=6), small(blocks + 4 * (model is LOCAL), model)
    one = serving.simulate(requests, server, block=4, one_by_one=True, **policy)
    many = serving.simulate(requests, server, block=4, **policy)
    assert (many.steps, many.passes, many.read, many.preemptions) == (
        (one.steps, one.passes, one.read, one.preemptions)
    )
    for name in ("started", "first", "finish"):
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), rtol=1e-9)


@pytest.mark.parametrize("chunk", [None, 256, 1000])
@pytest.mark.parametrize("batch", [1, 16, 128])
def test_saturation_is_the_closed_form(batch, chunk):
    prompt, answer = 700, 300
    requests = serving.listed(np.zeros(30 * batch), prompt, answer)
    run = serving.simulate(requests, LLAMA, most=batch, chunk=chunk)
    expected = serving.saturation(LLAMA, prompt, answer, batch=batch, chunk=chunk)
    if chunk is None or batch == 1:  # they come and go in rows: no place is ever empty
        rate, near = len(requests) / run.seconds, 1e-9
    else:  # beginning and end, when places are empty, are not saturation
        done, low, high = np.sort(run.finish), 6 * batch, 26 * batch
        rate, near = (high - low) / (done[high] - done[low]), 0.01
    assert rate == pytest.approx(expected.requests_per_s, rel=near)


def test_pieces_that_are_never_done():
    """Long prompts and short answers in small pieces: fewer write than there are places."""
    requests = serving.listed(np.zeros(400), 4000, 20)
    run = serving.simulate(requests, LLAMA, most=64, chunk=256)
    expected = serving.saturation(LLAMA, 4000, 20, batch=64, chunk=256)
    done = np.sort(run.finish)
    assert 300 / (done[350] - done[50]) == pytest.approx(expected.requests_per_s, rel=0.01)
    assert run.mean("writing") < 5


def test_saturation_of_lengths_that_differ():
    prompt, answer = serving.uniform(100, 1500), serving.uniform(50, 450)
    requests = serving.poisson(1e6, 6000, prompt=prompt, answer=answer, seed=3)
    with pytest.warns(serving.Overloaded, match=r"can be served.*such servers would be enough"):
        run = serving.simulate(requests, LLAMA, most=64)
    expected = serving.saturation(LLAMA, requests.prompt, requests.answer, batch=64)
    done = np.sort(run.finish)
    low, high = 1000, 5000
    rate = (high - low) / (done[high] - done[low])
    assert rate == pytest.approx(expected.requests_per_s, rel=0.01)
    busy = serving.simulate(
        serving.poisson(0.97 * expected.requests_per_s, 2000, prompt=prompt, answer=answer),
        LLAMA,
        most=64,
    )
    assert busy.throughput < expected.output_tokens_per_s


def test_a_load_that_can_be_served_is_served_as_it_comes():
    requests = serving.poisson(5, 2000, prompt=500, answer=100, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = serving.simulate(requests, LLAMA)
    assert len(requests) / run.seconds == pytest.approx(requests.rate, rel=0.01)
    assert np.median(run.ttft) == pytest.approx(LLAMA.prefill(500), rel=0.5)
    assert run.tpot.min() >= LLAMA.step(1, 500) * (1 - 1e-9)


def test_a_request_alone_takes_what_the_ledger_says():
    run = serving.simulate(serving.listed([1.0], 300, 50), LLAMA)
    assert run.ttft[0] == pytest.approx(LLAMA.prefill(300))
    steps = sum(LLAMA.step(1, 300 + k) for k in range(49))
    assert run.latency[0] == pytest.approx(LLAMA.prefill(300) + steps)
    pieces = [LLAMA.prefill(100)] + [LLAMA.prefill(100, cached=at) for at in (100, 200)]
    cut = serving.simulate(serving.listed([1.0], 300, 50), LLAMA, chunk=100)
    assert cut.ttft[0] == pytest.approx(sum(pieces))


def test_chunks_trade_the_first_token_for_the_others():
    requests = serving.poisson(9, 1500, prompt=4000, answer=100, seed=2)
    whole, cut = (serving.simulate(requests, LLAMA, chunk=c) for c in (None, 512))
    longest = [np.max(np.diff(np.sort(run.column("seconds")))) for run in (whole, cut)]
    assert np.percentile(cut.tpot, 99) < np.percentile(whole.tpot, 99)
    assert longest[1] < longest[0]


def test_empty_slots_of_a_run_are_the_closed_form():
    random = np.random.default_rng(5)
    prompt, answer = random.integers(1, 60, 40), random.integers(2, 90, 40)
    requests = serving.listed(np.arange(40) * 1e-3, prompt, answer)
    run = serving.simulate(
        requests, small(4000, block=16), reads=False, reserve="blocks", one_by_one=True
    )
    empty = run.column("blocks") * 16 - run.column("tokens")
    by_hand = sum(
        -(-(p + j) // 16) * 16 - (p + j)
        for p, a in zip(prompt.tolist(), answer.tolist(), strict=True)
        for j in range(1, a - 1)
    )
    assert empty.sum() == by_hand
    assert by_hand / np.sum(answer - 2) == pytest.approx(serving.mean_empty(16), rel=0.1)


def test_what_a_prefix_cache_saves_is_the_closed_form():
    requests = serving.poisson(5, 200, prompt=1200, answer=20, shared=1000, seed=1)
    without, kept = (serving.simulate(requests, LLAMA, prefix_cache=each) for each in (False, True))
    assert without.read - kept.read == kept.hit == serving.prefix_saving(200, 1000, 16)
    assert np.median(kept.ttft) < np.median(without.ttft) / 2
    several = serving.poisson(
        5, 200, prompt=1200, answer=20, shared=1000, group=lambda r, n: r.integers(0, 4, n)
    )
    saved = serving.simulate(several, LLAMA, prefix_cache=True).hit
    assert saved == sum(serving.prefix_saving(int(n), 1000, 16) for n in np.bincount(several.group))


def test_prompts_read_elsewhere():
    requests = serving.poisson(6, 400, prompt=2000, answer=150, seed=4)
    run = serving.disaggregate(
        requests, LLAMA, LLAMA, link=50e9, prefill_servers=2, decode_servers=3, most=32
    )
    assert np.all(run.first >= requests.arrival + LLAMA.prefill(2000) * (1 - 1e-9))
    assert run.written == requests.answer.sum()
    one = serving.disaggregate(serving.listed([0.0], 2000, 3), LLAMA, LLAMA, link=50e9)
    sent = serving.transfer(LLAMA, 2000, 50e9)
    steps = LLAMA.step(1, 2000) + LLAMA.step(1, 2001)
    assert one.finish[0] == pytest.approx(LLAMA.prefill(2000) + sent + steps)
    line = serving.disaggregate(
        serving.listed(np.zeros(5), 2000, 3), LLAMA, LLAMA, link=50e9, prefill_servers=2
    )
    in_turn = np.array([1, 1, 2, 2, 3]) * LLAMA.prefill(2000)
    assert line.first == pytest.approx(in_turn)
    assert line.started == pytest.approx(in_turn - LLAMA.prefill(2000))
    # at the ratio of the formula both kinds of machine are busy: neither has room for more
    ratio = serving.machine_ratio(LLAMA, LLAMA, 2000, 150, 32)
    flood = serving.listed(np.zeros(3000), 2000, 150)
    both = serving.disaggregate(
        flood, LLAMA, LLAMA, link=1e15, prefill_servers=7, decode_servers=round(7 / ratio), most=32
    )
    reading = len(flood) * LLAMA.prefill(2000) / 7
    assert both.seconds == pytest.approx(reading, rel=0.1)


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match=r"45 tokens needs 12 blocks.* up to 44 tokens fit"):
        serving.simulate(serving.listed([0.0], 26, 20), small(11), block=4, most=8)
    assert serving.simulate(serving.listed([0.0], 25, 20), small(11), block=4, most=8).written == 20


def test_memory_runs_out_and_the_newest_is_put_back():
    requests = serving.listed(np.zeros(12), 6, 20)
    run = serving.simulate(requests, small(20), block=4, reserve="blocks", most=8)
    assert run.preemptions > 0
    assert run.read > requests.prompt.sum()  # what they wrote is read again
    assert run.written == requests.answer.sum()


def test_the_same_seed_is_the_same_run():
    draws = [
        serving.poisson(3, 50, prompt=serving.lognormal(100, 150, 900), answer=9, seed=s)
        for s in (1, 1, 2)
    ]
    assert np.array_equal(draws[0].arrival, draws[1].arrival)
    assert np.array_equal(draws[0].prompt, draws[1].prompt)
    assert not np.array_equal(draws[0].arrival, draws[2].arrival)


def test_a_bar_in_a_terminal(capsys):
    serving.simulate(serving.listed(np.arange(50.0), 5, 5), LLAMA, progress=True)
    shown = capsys.readouterr().err
    assert "50 of 50 requests" in shown
    assert shown.count("\r") > 10


def test_steps_are_quick():
    """Far quicker on a machine of its own: tools/bench/serving.py."""
    requests = serving.poisson(
        20, 2000, prompt=serving.uniform(100, 1000), answer=serving.uniform(100, 500), seed=1
    )
    serving.simulate(requests, LLAMA)
    begin = time.process_time()
    run = serving.simulate(requests, LLAMA, one_by_one=True)
    assert run.steps / (time.process_time() - begin) > 10_000


def test_a_calibrated_device_has_its_overheads_once_a_pass():
    slow = serving.Server("llama-3.1-8b", devices["H100-SXM"].with_(overhead_per_step=0.01))
    run, plain = (serving.simulate(serving.listed([0.0], 64, 11), each) for each in (slow, LLAMA))
    assert run.seconds - plain.seconds == pytest.approx(11 * 0.01)
