"""Chapter 4: cache and memory against the oracle, against sums over layers, and what fits."""

import json
from math import inf

import numpy as np
import pytest
from examples import LLAMA_2_7B as LLAMA
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import Precision, models, symbols
from costlib.model.kvcache import (
    cached_tokens,
    kv_elements,
    largest_batch,
    largest_context,
    memory,
)
from costlib.model.transformer import Transformer
from paths import DATA

MODELS = json.loads((DATA / "models.json").read_text())["models"]
SMALL = Transformer(
    layers=6,
    d_model=64,
    heads=4,
    d_ff=128,
    vocab=500,
    kv_heads=2,
    head_dim=20,
    window=7,
    local_layers=4,
)
WINDOWED = SMALL.with_(local_layers=6)


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row["model"])
def test_each_layer_caches_what_the_library_caches(row):
    model = Transformer.from_hf(DATA / "configs" / f"{row['model']}.json")
    assert model.kv_elements_per_layer() == row["kv_elements_per_token_per_layer"]
    assert model.global_layers == row["layers_full"]
    assert model.local_layers == row["layers_sliding"]
    assert model.window == row["window"]


@given(st.integers(1, 5), st.integers(0, 40))
def test_the_cache_is_the_sum_over_layers(batch, context):
    layers = [None, None, 7, 7, 7, 7]
    each = [2 * 2 * 20 * (context if w is None else min(context, w)) for w in layers]
    assert kv_elements(SMALL, batch, context) == batch * sum(each)


def test_a_cache_of_8_bits_is_half_one_of_16():
    assert SMALL.kv_bytes(3, 30, Precision(kv=1)) * 2 == SMALL.kv_bytes(3, 30)
    assert cached_tokens(0) == 0


def test_memory_adds_up():
    memory = LLAMA.memory(2, 1000, Precision(weights=0.5, kv=1, activations=2), new=3)
    assert memory.weights == 6738415616 / 2
    assert memory.kv == 2 * 1003 * 32 * 2 * 4096
    assert memory.activations == 2 * 3 * (4096 + 4096 + 32000) * 2
    assert memory.total == memory.weights + memory.kv + memory.activations
    more = LLAMA.memory(2, 1000, Precision(weights=0.5, kv=1), new=3, scores="materialised")
    assert more.activations - memory.activations == 2 * (2 * 32 * 3 * 1003) * 2


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 60), st.integers(0, 400_000))
@pytest.mark.parametrize("model", [SMALL, WINDOWED], ids=["mixed", "all local"])
def test_what_fits_fits_and_one_more_does_not(model, batch, context, spare):
    capacity = model.params() * 2 + spare

    def need(sequences, tokens):
        return model.memory(sequences, tokens - 1).total

    most = largest_batch(model, capacity, context).largest
    assert most == 0 or need(most, context) <= capacity
    assert need(most + 1, context) > capacity
    longest = largest_context(model, capacity, batch).largest
    if longest == inf:
        assert need(batch, 10**6) <= capacity
    else:
        assert longest == 0 or need(batch, longest) <= capacity
        assert need(batch, longest + 1) > capacity


def test_what_fits_sweeps_devices():
    capacities = np.array([1e9, 24e9, 80e9])
    swept = largest_batch(LLAMA, capacities, 4096).largest
    assert [largest_batch(LLAMA, int(c), 4096).largest for c in capacities] == list(swept)


def test_what_fits_at_other_precisions():
    eight = Precision(weights=1, kv=1, activations=1)
    model, capacity = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000), 10**6
    for precision in (Precision(), eight):
        most = largest_batch(model, capacity, 10, precision).largest
        assert memory(model, most, 9, precision).total <= capacity
        assert memory(model, most + 1, 9, precision).total > capacity
        longest = largest_context(model, capacity, 1, precision).largest
        assert memory(model, 1, longest - 1, precision).total <= capacity
        assert memory(model, 1, longest, precision).total > capacity
    assert (
        largest_batch(model, capacity, 10, eight).largest
        > largest_batch(model, capacity, 10).largest
    )


def test_the_inequalities_can_be_read():
    model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    weights, each = memory(model, 1, 9).weights, memory(model, 1, 9)
    batch = largest_batch(model, 10**6, 10)
    per_sequence = each.kv + each.activations
    assert batch.inequality == rf"{weights} + B \cdot {per_sequence} \le 1000000"
    context = largest_context(model, 10**6, 1)
    assert context.inequality == rf"{weights} + {each.activations} + T \cdot 512 \le 1000000"
    assert context._repr_latex_() == f"${context.inequality}$"
    windowed = largest_context(model.with_(window=8, local_layers=1), 10**6, 1)
    bounded = rf"{weights} + {each.activations} + T \cdot 256 + \min(T, 8) \cdot 256 \le 1000000"
    assert windowed.inequality == bounded
    (M,) = symbols("M,")
    assert r"\le M" in largest_batch(model, M, 10).inequality


def test_what_does_not_fit_and_what_always_does():
    model = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    assert largest_batch(model, 10, 10).largest == 0
    assert largest_context(model, 10, 1).largest == 0
    local = model.with_(window=8)
    held = memory(local, 1, 7).total
    assert largest_context(local, held, 1).largest == float("inf")
    assert r"\min(T, 8)" in largest_context(local, held, 1).inequality
    assert largest_context(local, held - 1, 1).largest == 7


def test_a_wrong_option_is_named():
    with pytest.raises(ValueError, match="scores must be"):
        memory(
            Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000),
            1,
            2,
            scores="somewhere",
        )


def test_the_widest_step_is_the_unembedding_or_a_layer():
    wide_vocabulary = Transformer(layers=2, d_model=64, heads=4, d_ff=256, vocab=1000)
    assert memory(wide_vocabulary, 1, 0).activations == (64 + (64 + 1000)) * 2
    wide_layer = Transformer(layers=2, d_model=64, heads=4, d_ff=2048, vocab=10)
    assert memory(wide_layer, 1, 0).activations == (64 + 3 * 2048) * 2
    wide_cache = Transformer(
        layers=2, d_model=8, heads=64, d_ff=8, vocab=10, head_dim=64, kv_heads=64
    )
    rotary = 2 * (64 + 64) * 64  # reads and writes queries and keys
    assert memory(wide_cache, 1, 0).activations == (8 + rotary) * 2


def test_what_fits_is_a_whole_number_beside_packed_weights_too():
    packed = models["gpt-oss-20b"]
    for fit in (largest_batch(packed, 8e10, 4096), largest_context(packed, 8e10, 4)):
        assert type(fit.largest) is int
    assert largest_context(models["mistral-7b-v0.1"], 8e10, 1).largest == inf
