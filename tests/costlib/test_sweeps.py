"""A sweep says what single calls say, row by row, however it is worked out."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

from costlib import Device, Precision, devices, models, sweep, time
from costlib.model.kvcache import memory
from costlib.parallel import search
from costlib.timing.roofline import DoesNotFit
from costlib.timing.sweeps import columns

MODELS = ["llama-3-8b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b", "gpt2"]


def single(model, device, batch, context, precision=None, phase="decode"):
    ledger = model.decode(batch, context) if phase == "decode" else model.prefill(batch, context)
    cached, new = (context, 1) if phase == "decode" else (0, context)
    return (
        float(ledger.flops),
        float(ledger.bytes(precision)),
        float(time(ledger, device, precision=precision, too_large="ignore")),
        float(memory(model, batch, cached, precision, new=new).total),
    )


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_what_a_single_call_says(name, phase):
    chance = np.random.default_rng(len(name))
    longest = models[name].learned_positions or 20_000
    batch, context = chance.integers(1, 300, 40), chance.integers(1, longest, 40)
    model, device = models[name], devices["H100-SXM"].with_(overhead_per_op=3e-6)
    for precision in (None, "fp8", Precision(weights="int4", kv=1)):
        found = columns(model, device, batch, context, precision, phase=phase)
        for row in range(len(batch)):
            expected = single(model, device, int(batch[row]), int(context[row]), precision, phase)
            swept = [found[key][row] for key in ("flops", "bytes", "seconds", "memory_bytes")]
            assert swept == pytest.approx(expected, rel=1e-12)


def test_blocks_and_look_ups_change_nothing(monkeypatch):
    chance = np.random.default_rng(1)
    batch, context = chance.integers(1, 500, 3000), chance.integers(1, 9000, 3000)
    whole = columns("llama-3-8b", "A100-80GB", batch, context)
    monkeypatch.setattr("costlib.timing.sweeps.BLOCK", 77)
    monkeypatch.setattr("costlib.timing.sweeps.LOOKED_UP", 0)
    in_pieces = columns("llama-3-8b", "A100-80GB", batch, context)
    for name, values in whole.items():
        np.testing.assert_allclose(in_pieces[name], values, rtol=1e-12, err_msg=name)
    grid = columns("llama-3-8b", "A100-80GB", batch[:50, None], context[None, :70])
    flat = columns("llama-3-8b", "A100-80GB", np.repeat(batch[:50], 70), np.tile(context[:70], 50))
    np.testing.assert_allclose(grid["seconds"].ravel(), flat["seconds"], rtol=1e-12)


def test_a_product_of_everything_named_and_pairs():
    table = sweep(
        ["gpt2", "llama-3-8b"],
        ["H100-SXM", "A100-80GB"],
        batch=[1, 2, 4],
        context=range(100, 300, 100),
        precision=["bf16", "int8"],
    )
    assert len(table) == 2 * 2 * 2 * 3 * 2
    row = table.iloc[-1]
    assert (row.model, row.device, row.precision) == ("llama-3-8b", "A100-80GB", "int8")
    assert sweep([models["gpt2"]], "H100-SXM").model.tolist() == ["model 1"]
    pairs = sweep("gpt2", "H100-SXM", batch=[1, 2, 4], context=[10, 20, 30], paired=True)
    assert pairs[["batch", "context"]].to_numpy().tolist() == [[1, 10], [2, 20], [4, 30]]
    assert pairs.tokens_per_s_per_user.tolist() == pytest.approx(
        (pairs.tokens_per_s / pairs.batch).tolist()
    )


def test_only_what_fits_unless_asked():
    asked = {"batch": [1, 64, 4096], "context": 8192}
    assert sweep("llama-3-8b", "A100-80GB", **asked).batch.tolist() == [1]
    every = sweep("llama-3-8b", "A100-80GB", **asked, all_rows=True)
    assert every.fits.tolist() == [True, False, False]
    with pytest.warns(DoesNotFit, match=r"smallest configuration holds 17\.\d GB, and T4 has"):
        assert len(sweep("llama-3-8b", "T4", **asked)) == 0


def test_columns_are_named_as_the_command_names_its_keys():
    """With their units, where a name alone does not tell them."""
    plans = search("gpt2", "DGX-A100", batch=8, seq=64, microbatch=[1])
    assert {"step_s", "tokens_per_s", "mfu", "memory_bytes"} <= {*plans}
    table = sweep("gpt2", "T4", context=16, price_per_hour=1)
    assert list(table) == [
        *("model", "device", "precision", "computes_in", "batch", "context", "flops", "bytes"),
        *("seconds", "tokens_per_s", "tokens_per_s_per_user", "bound", "memory_bytes", "fits"),
        "price_per_million_tokens",
    ]


def test_what_binds_and_what_it_costs():
    table = sweep("llama-3-8b", "H100-SXM", batch=[1, 1024], context=16, price_per_hour=3.6)
    assert table.bound.tolist() == ["memory", "compute"]
    assert table.price_per_million_tokens.tolist() == pytest.approx(
        (1000 / table.tokens_per_s).tolist()
    )
    slow = devices["H100-SXM"].with_(overhead_per_op=1e-3)
    assert sweep("gpt2", slow, batch=1, context=16).bound.tolist() == ["overhead"]
    assert sweep("gpt2", "T4", context=16).computes_in.tolist() == ["fp16"]


def test_pieces_are_reduced_and_show_their_progress(monkeypatch, capsys):
    monkeypatch.setattr("costlib.timing.sweeps.TASK", 100)
    wide = {"batch": range(1, 21), "context": range(64, 2000, 64)}

    def best(table):
        return table.nlargest(1, "tokens_per_s")

    whole = sweep("llama-3.2-1b", "H100-SXM", **wide)
    assert len(whole) == 20 * 31
    found = sweep("llama-3.2-1b", "H100-SXM", **wide, keep=best, progress=True)
    assert len(found) == 7  # the best of each piece
    assert best(found)[["batch", "context"]].to_numpy().tolist() == [[20, 64]]
    assert "] 7 of 7 pieces\n" in capsys.readouterr().err


def test_a_cluster_does_the_same():
    class Future:
        def __init__(self, value):
            self.value = value

        def result(self):
            return self.value

    class Client:
        def map(self, function, pieces, pure):
            assert pure is False
            return [Future(function(piece)) for piece in pieces]

    here = sweep("gpt2", "H100-SXM", batch=range(1, 9), context=[10, 1000])
    there = sweep("gpt2", "H100-SXM", batch=range(1, 9), context=[10, 1000], client=Client())
    assert there.equals(here)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"batch": [1, 2], "context": [1], "paired": True}, ValueError, "2 batches and 1 contexts"),
        ({"batch": 0}, ValueError, "batch must be at least 1"),
        ({"context": "long"}, TypeError, "context must be a number, a range or an array"),
        ({"phase": "train"}, ValueError, "phase must be 'decode' or 'prefill', got 'train'"),
        (
            {"batch": range(1, 10**9)},
            ValueError,
            "10,000,000 values of batch .*, got 999,999,999: ",
        ),
        ({"batch": range(1, 10**30), "keep": len}, ValueError, "values of batch are taken at once"),
        (
            {"batch": range(1, 10**5), "context": range(1, 10**4)},
            ValueError,
            "10,000,000 rows of a sweep are taken at once, got 999,890,001: give keep=",
        ),
        (
            {"precision": ["bf16"] * 10**7, "batch": [1, 2]},
            ValueError,
            "got 20,000,000: give keep=",
        ),
        ({"precision": "fp7"}, ValueError, "precision must be a Precision or one of"),
    ],
)
def test_nonsense_is_refused_with_a_reason(options, kind, message):
    with pytest.raises(kind, match=message):
        sweep("gpt2", Device("toy", {"bf16": 1e14}, 1e12), **options)


def test_what_would_fill_the_memory_is_refused_before_it_is_there():
    tracemalloc.start()
    long = np.broadcast_to(1.0, 10**6)  # a view of one number
    for refused, what in (
        (lambda: sweep("gpt2", "T4", batch=range(1, 10**9), context=1), "values of batch"),
        (lambda: sweep("gpt2", "T4", batch=long, context=range(1, 100)), "rows of a sweep"),
        (lambda: columns("gpt2", "T4", range(1, 10**9), 1), "values of an axis"),
        (lambda: columns("gpt2", "T4", long[: 10**4, None], long[: 10**4]), "rows of a table"),
        (lambda: search("gpt2", "H100-SXM", batch=8, seq=8, tensor=range(1, 10**9)), "of tensor"),
        (
            lambda: search(
                "gpt2", "H100-SXM", batch=8, seq=8, tensor=[1] * 9999, context=[1] * 999
            ),
            "plans of a search",
        ),
    ):
        with pytest.raises(ValueError, match=rf"10,000,000 .*{what} are taken at once, got"):
            refused()
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    pairs = {"batch": range(1, 4001), "context": [9] * 4000, "paired": True}
    assert len(sweep("gpt2", "H100-SXM", **pairs)) == 4000, "16 million, were they no pairs"


@pytest.mark.slow
def test_lazy_arrays_stay_lazy_through_time():
    da = pytest.importorskip("dask.array")
    width = da.from_array(np.array([2.0, 1.0]))[None, None, :]
    batch = da.arange(1, 5)[:, None, None]
    context = 10_000 * da.arange(1, 4, chunks=2)[None, :, None]
    step = models["llama-3-8b"].decode(batch, context)
    lazy = time(
        step, "T4", precision=Precision(weights=width, kv=width)
    )  # too large: not looked at
    assert isinstance(lazy, da.Array)
    eager = time(
        models["llama-3-8b"].decode(3, 20_000),
        "T4",
        too_large="ignore",
        precision=Precision(weights=1, kv=1),
    )
    assert float(lazy[2, 1, 1]) == pytest.approx(float(eager))


#: Layers of every kind: windows, latents, indexers, mixtures, states, caches of every fourth token.
LONG = (
    *("llama-3-8b", "gemma-3-27b", "deepseek-v3", "deepseek-v3.2", "mixtral-8x7b", "gpt-oss-20b"),
    *("falcon-mamba-7b", "qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "deepseek-v4-flash"),
    *("minimax-m3", "llama-4-scout-17b-16e"),
)


@pytest.mark.parametrize("name", LONG)
def test_long_columns_take_a_shorter_way_to_the_same_times(name):
    chance, model = np.random.default_rng(3), models[name]
    batch, context = chance.integers(1, 400, 40_000), chance.integers(1, 40_000, 40_000)
    ideal = devices["H200"]
    for device in (ideal, ideal.with_(overhead_per_op=2e-6, overhead_per_step=1e-4)):
        work = model.decode(batch, context)
        found = time(work, device, too_large="ignore")
        assert work._made is None, "no op was worked out"
        for row in chance.integers(0, len(batch), 8):
            one = model.decode(int(batch[row]), int(context[row]))
            assert found[row] == pytest.approx(time(one, device, too_large="ignore"), rel=1e-12), (
                batch[row],
                context[row],
            )


def test_long_columns_are_a_ledger_like_any_other():
    batch, context = np.full(40_000, 3), np.arange(40_000)
    work, one = models["llama-3-8b"].decode(batch, context), models["llama-3-8b"].decode(3, 777)
    assert work.flops[777] == one.flops
    assert work["scores"].bytes()[777] == one["scores"].bytes()
    assert pickle.loads(pickle.dumps(work)).names == one.names
    shaped = devices["H100-SXM"].with_(blend=6.0, floor_per_head=1e-9)
    for how in ({"overlap": "none"}, {"granularity": "step"}):  # an empty context has no short way
        whole = time(work, "H200", too_large="ignore", **how)
        assert whole[777] == pytest.approx(time(one, "H200", **how), rel=1e-12)
    assert time(work, shaped, too_large="ignore")[777] == pytest.approx(time(one, shaped))
    with pytest.warns(DoesNotFit, match=r"holds 31\.\d GB of weights and cache, and L4 has"):
        time(models["llama-3-8b"].decode(batch, context + 1), "L4")
