"""Chapter 2: attention against brute force, against other people's counters, and against itself."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlib import Elements, Precision, attention
from costlib.layers.attention import (
    FLOPS_PER_ELEMENT,
    MLA,
    attention_backward,
    keys_read,
    latent_attention,
    pairs,
)
from costlib.units.tally import CountingArray, Tally
from paths import DATA

FLOPS = json.loads((DATA / "flops.json").read_text())
SMALL = st.integers(1, 12)


def visible(seq: int, cached: int, causal: bool, window: int | None) -> np.ndarray:
    """Which key each query sees, written out as a matrix."""
    query = np.arange(cached, cached + seq)[:, None]
    key = np.arange(cached + seq)[None, :]
    seen = np.ones((seq, cached + seq), dtype=bool)
    if causal or window is not None:
        seen &= key <= query
    if window is not None:
        seen &= key > query - window
    return seen


@given(SMALL, st.integers(0, 12), st.booleans(), st.none() | st.integers(1, 15))
def test_pairs_are_the_ones_in_the_mask(seq, cached, causal, window):
    mask = visible(seq, cached, causal, window)
    assert pairs(seq, cached + seq, causal=causal, window=window) == mask.sum()
    assert keys_read(seq, cached + seq, window) == mask.any(axis=0).sum()
    computed = pairs(seq, cached + seq, causal=causal, window=window, masked="computed")
    assert computed == seq * mask.any(axis=0).sum()


@pytest.mark.parametrize("row", [r for r in FLOPS["torch"] if "Sq" in r["params"]], ids=str)
def test_torch_counts_the_same(row):
    p = row["params"]
    ledger = attention(
        p["B"],
        p["Sq"],
        p["H"],
        p["D"],
        kv_heads=p["Hkv"],
        context=p["Sk"],
        value_dim=p["Dv"],
        causal=p.get("is_causal", False),
        masked="computed",
    )
    assert ledger.matmul_flops == row["flops"]


@pytest.mark.parametrize(
    "row", [r for r in FLOPS["xla"] if "attn_stage" in r["id"]], ids=lambda r: r["id"]
)
def test_xla_moves_the_same_bytes_in_each_stage(row):
    p = row["params"]
    width = p.get("D", p.get("Dv"))
    ledger = attention(p["B"], p["Sq"], p["H"], width, context=p["Sk"], scores="materialised")
    stage = ledger["scores" if "stage_qk" in row["id"] else "values"]
    size = {"f32": 4, "bf16": 2}[p["dtype"]]
    assert stage.bytes(Precision.uniform(size)) == row["lowered"]["bytes accessed"]
    assert stage.flops == row["lowered"]["flops"]


@pytest.mark.parametrize(
    "row",
    [r for r in FLOPS["xla"] if "attn_naive.f32" in r["id"]],
    ids=lambda r: r["id"],
)
def test_xla_counts_the_softmax_as_we_do(row):
    """XLA counts exp apart, counts the scale 1/√h, and one addition fewer in the sum of a row.

    It adds its counts up in 32-bit floats, which carry 24 bits.
    """
    p = row["params"]
    ledger = attention(
        p["B"], p["Sq"], p["H"], p["D"], kv_heads=p["Hkv"], context=p["Sk"], value_dim=p["Dv"]
    )
    rows = p["B"] * p["H"] * p["Sq"]
    exp = scale = row["lowered"]["transcendentals"]
    assert exp == rows * p["Sk"]
    ours = ledger.flops - exp + scale - rows
    assert abs(row["lowered"]["flops"] - ours) <= ours * 2**-24


def test_on_chip_scores_leave_only_q_k_v_and_the_output():
    ledger = attention(2, 5, 4, 8, kv_heads=2, context=9, causal=True, scores="on-chip")
    assert ledger.elements_read.scores == ledger.elements_written.scores == 0
    assert ledger.elements_read.kv == 2 * 2 * 9 * (8 + 8)
    assert ledger.elements_read.activations == ledger.elements_written.activations == 2 * 5 * 4 * 8
    assert ledger.flops == attention(2, 5, 4, 8, context=9, causal=True).flops


@given(SMALL, SMALL)
def test_grouping_saves_kv_traffic_and_no_flops(seq, group):
    grouped, full = attention(1, seq, 4 * group, 8, kv_heads=4), attention(1, seq, 4 * group, 8)
    assert grouped.flops == full.flops
    assert grouped.elements_read.kv * group == full.elements_read.kv
    assert grouped.elements_read.scores == full.elements_read.scores


def test_softmax_costs_its_table_entry_counted_one_by_one():
    """Four of the five FLOPs are arithmetic that can be counted; max and exp cannot."""
    tally = Tally()
    rows, width = 3, 7
    scores = CountingArray(np.random.default_rng(0).normal(size=(rows, width)), tally)
    shifted = scores - CountingArray(scores.values.max(axis=1, keepdims=True), tally)
    weights = CountingArray(np.exp(shifted.values), tally)
    total = weights.sum(axis=1)
    inverse = CountingArray(1 / total.values[:, None], tally)
    _ = weights * inverse
    max_and_exp = 2 * rows * width
    assert tally.flops + max_and_exp == FLOPS_PER_ELEMENT["softmax"] * rows * width - rows


def test_softmax_gradient_costs_its_table_entry_and_is_right():
    tally, rng = Tally(), np.random.default_rng(1)
    logits, upstream = rng.normal(size=(2, 6)), rng.normal(size=(2, 6))
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    P, dP = CountingArray(weights, tally), CountingArray(upstream, tally)
    row = (P * dP).sum(axis=1)
    gradient = P * (dP - CountingArray(row.values[:, None], tally))
    assert tally.flops == FLOPS_PER_ELEMENT["softmax.backward"] * 12 - 2  # sums of n: n − 1
    step = 1e-6
    for i in range(6):
        nudged = logits.copy()
        nudged[:, i] += step
        moved = np.exp(nudged) / np.exp(nudged).sum(axis=1, keepdims=True)
        slope = ((moved - weights) * upstream).sum(axis=1) / step
        np.testing.assert_allclose(gradient.values[:, i], slope, atol=1e-5)


@given(SMALL, SMALL, st.sampled_from(["materialised", "on-chip"]), st.booleans())
def test_backward_is_twice_forward_and_one_product_more_on_chip(seq, heads, scores, causal):
    options = {"causal": causal, "scores": scores}
    forward = attention(2, seq, heads, 8, **options)
    backward = attention_backward(2, seq, heads, 8, **options)
    again = forward["scores"].flops if scores == "on-chip" else 0
    assert backward.matmul_flops == 2 * forward.matmul_flops + again


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"heads": 6, "kv_heads": 4}, "kv_heads must divide heads"),
        ({"seq": 8, "context": 4, "causal": True}, "context - seq"),
        ({"scores": "flash"}, "scores must be 'on-chip' or 'materialised', got 'flash'"),
        ({"masked": "yes"}, "masked must be 'skipped' or 'computed'"),
        ({"window": 0}, "window must be at least 1"),
    ],
)
def test_a_wrong_argument_is_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        attention(**{"batch": 1, "seq": 4, "heads": 6, "head_dim": 8} | arguments)


def test_a_cross_attention_may_have_fewer_keys_than_queries():
    assert attention(1, 8, 2, 4, context=4)["scores"].flops == 2 * 2 * 8 * 4 * 4


# Every number of every op, written out once more by hand: B=2, S=3, T=7, H=4, K=2, h=5, v=6.
PAIRS = 3 * 7 - 3  # causal: the first of the three new queries misses two keys, the second one
MATRIX = 2 * 4 * PAIRS  # B·H·pairs
QUERIES, OUTPUTS = 2 * 3 * 4 * 5, 2 * 3 * 4 * 6  # B·S·H·h and B·S·H·v
KEYS, VALUES = 2 * 7 * 2 * 5, 2 * 7 * 2 * 6  # B·T·K·h and B·T·K·v
SHAPE = {"kv_heads": 2, "context": 7, "causal": True, "value_dim": 6}


def everything(op):
    return op.name, op.flops, op.elements_read, op.elements_written, op.is_matmul, op.count


def test_forward_by_hand():
    on_the_way = Elements(scores=MATRIX)
    assert [everything(op) for op in attention(2, 3, 4, 5, scores="materialised", **SHAPE)] == [
        ("scores", 2 * MATRIX * 5, Elements(0, QUERIES, KEYS), on_the_way, True, 1),
        ("softmax", 5 * MATRIX, on_the_way, on_the_way, False, 1),
        ("values", 2 * MATRIX * 6, Elements(0, 0, VALUES, MATRIX), Elements(0, OUTPUTS), True, 1),
    ]


@pytest.mark.parametrize("kept", [MATRIX, 0], ids=["materialised", "on-chip"])
def test_backward_by_hand(kept):
    scores = "materialised" if kept else "on-chip"
    by_head, by_value = 2 * MATRIX * 5, 2 * MATRIX * 6
    queries, outputs = Elements(0, QUERIES), Elements(0, OUTPUTS)
    keys, values, matrix = Elements(kv=KEYS), Elements(kv=VALUES), Elements(scores=kept)
    expected = [
        ("values.grad_values", by_value, matrix + outputs, values, True, 1),
        ("values.grad_scores", by_value, outputs + values, matrix, True, 1),
        ("softmax.backward", 4 * MATRIX, matrix + matrix, matrix, False, 1),
        ("scores.grad_queries", by_head, matrix + keys, queries, True, 1),
        ("scores.grad_keys", by_head, matrix + queries, keys, True, 1),
    ]
    if not kept:
        again = ("scores.recomputed", by_head, queries + keys, matrix, True, 1)
        expected.insert(0, again)
    assert [
        everything(op) for op in attention_backward(2, 3, 4, 5, scores=scores, **SHAPE)
    ] == expected


FEW = {"kv_rank": 8, "nope_dim": 5, "rope_dim": 2, "value_dim": 6, "context": 7}


def test_absorbed_latents_by_hand():
    """Full mask: 2·3 queries of 4 heads meet 7 latents of 8, and 2 rotary entries."""
    met, tokens, latents = 2 * 4 * 3 * 7, 2 * 3, 2 * 7
    moved = Elements(scores=met)
    assert [
        everything(op)
        for op in latent_attention(2, 3, 4, **FEW, form="absorbed", scores="materialised")
    ] == [
        (
            *("q_absorb", 2 * tokens * 4 * 5 * 8, Elements(4 * 5 * 8, tokens * 4 * 5)),
            *(Elements(0, tokens * 4 * 8), True, 1),
        ),
        (
            *("scores", 2 * met * 10, Elements(0, tokens * 4 * 10, latents * 10)),
            *(moved, True, 1),
        ),
        ("softmax", 5 * met, moved, moved, False, 1),
        (
            *("values", 2 * met * 8, Elements(0, 0, latents * 8, met)),
            *(Elements(0, tokens * 4 * 8), True, 1),
        ),
        (
            *("v_absorb", 2 * tokens * 4 * 8 * 6, Elements(4 * 8 * 6, tokens * 4 * 8)),
            *(Elements(0, tokens * 4 * 6), True, 1),
        ),
    ]


def test_naive_latents_by_hand():
    met, tokens, latents = 2 * 4 * 3 * 7, 2 * 3, 2 * 7
    moved, weights = Elements(scores=met), 4 * (5 + 6) * 8
    assert [
        everything(op)
        for op in latent_attention(2, 3, 4, **FEW, form="naive", scores="materialised")
    ] == [
        (
            *("kv_b_proj", 2 * latents * weights, Elements(weights, 0, latents * 10)),
            *(Elements(0, latents * 4 * (5 + 2 + 6)), True, 1),
        ),
        (
            *("scores", 2 * met * 7, Elements(0, (tokens + latents) * 4 * 7)),
            *(moved, True, 1),
        ),
        ("softmax", 5 * met, moved, moved, False, 1),
        (
            *("values", 2 * met * 6, Elements(0, latents * 4 * 6, 0, met)),
            *(Elements(0, tokens * 4 * 6), True, 1),
        ),
    ]


def test_masks_and_windows_reach_the_ops():
    windowed = attention(1, 3, 1, 4, context=9, window=2)
    assert windowed["scores"].flops == 2 * 4 * 6  # two keys each
    assert windowed["scores"].elements_read.kv == 4 * 4  # of four keys in all
    assert attention(1, 3, 1, 4, context=9)["scores"].flops == 2 * 4 * 27  # full unless asked
    assert pairs(3, 9) == 27
    assert latent_attention(1, 3, 1, **{**FEW, "context": 9})["softmax"].flops == 5 * 27
    assert latent_attention(1, 3, 1, **{**FEW, "context": 9}, causal=True)["softmax"].flops == (
        5 * 24
    )


@pytest.mark.parametrize("name", ["kv_rank", "nope_dim", "rope_dim", "value_dim", "q_rank"])
def test_latent_sizes_are_checked(name):
    sizes = {"kv_rank": 8, "nope_dim": 1, "rope_dim": 2, "value_dim": 6, "q_rank": 3}
    assert MLA(**sizes).nope_dim == 1
    least = 0 if name == "rope_dim" else 1  # some have no part that is rotated
    with pytest.raises(ValueError, match=f"{name} must be at least {least}, got {least - 1}"):
        MLA(**{**sizes, name: least - 1})


def test_a_wrong_span_or_option_is_named():
    for call, said in (
        (lambda: pairs(0, 3), "seq must be"),
        (lambda: pairs(1, 0), "context must be"),
        (lambda: pairs(1, 3, masked="maybe"), "masked must be"),
        (lambda: latent_attention(1, 1, 1, **FEW, form="odd"), "form must be"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
