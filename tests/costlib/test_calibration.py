"""Calibration finds the constants that times were made with, and keeps held-out errors small."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costlib import Device, Elements, Op, attention, devices, linear, matmul, models
from costlib.measured import (
    Empirical,
    Measurement,
    calibrate,
    error,
    fused,
    held_out,
    interval,
    median_error,
    parts,
)
from costlib.measured.calibration import _constants, _flat, _predictions
from costlib.timing.roofline import TILES, heads_served, limits, product_shape, time

TOY = Device("toy", {"bf16": 100e12, "fp8": 200e12}, 1e12, cores=100, interconnect=1e11)
SHAPES = [(1, 4096, 4096), (1, 512, 512), (64, 4096, 4096), (512, 4096, 4096), (4096, 4096, 4096)]
OPS = [matmul(*shape) for shape in SHAPES]


@settings(max_examples=25, deadline=None)
@given(st.floats(0.4, 0.95), st.floats(0.4, 0.95), st.floats(1e-6, 2e-5))
def test_it_finds_the_constants_that_the_times_were_made_with(compute, bandwidth, overhead):
    real = TOY.with_(
        compute_efficiency=compute, bandwidth_efficiency=bandwidth, overhead_per_op=overhead
    )
    found = calibrate(TOY, [(op, time(op, real)) for op in OPS])
    assert found.compute_efficiency == pytest.approx(compute, rel=0.03)
    assert found.bandwidth_efficiency == pytest.approx(bandwidth, rel=0.05)
    assert found.overhead_per_op == pytest.approx(overhead, rel=0.08)
    assert found.median_error < 0.01
    assert len(found.residuals) == len(OPS)


def test_what_comes_back_is_a_device_for_every_call():
    found = calibrate(TOY, [(op, 2 * time(op, TOY) + 5e-6) for op in OPS])
    assert isinstance(found, Device)
    assert isinstance(found, Empirical)
    assert found.ridge() == found.compute_rate() / found.memory_rate
    assert copy.deepcopy(found) == pickle.loads(pickle.dumps(found)) == found
    assert found.with_(name="other").residuals == found.residuals


def test_one_wild_row_does_not_move_the_fit():
    rows = [(op, time(op, TOY.with_(compute_efficiency=0.7))) for op in OPS * 3]
    rows[2] = (rows[2][0], 20 * rows[2][1])
    found = calibrate(TOY, rows)
    assert found.compute_efficiency == pytest.approx(0.7, rel=0.02)
    assert found.residuals[2] == pytest.approx(1 / 20 - 1, abs=0.02)


def test_a_rate_that_no_row_depends_on_stays_ideal():
    memory_bound = [(matmul(1, k, 4096), 1.3 * time(matmul(1, k, 4096), TOY)) for k in (64, 4096)]
    assert calibrate(TOY, memory_bound).compute_efficiency == pytest.approx(1, abs=0.01)


def test_few_rows_are_enough_for_an_answer():
    [row] = calibrate(TOY, [(OPS[0], 1e-3)]).residuals
    assert abs(row) < 0.05


def test_the_same_rows_give_the_same_constants():
    rows = [(op, 1.7 * time(op, TOY) + 3e-6) for op in OPS]
    assert calibrate(TOY, rows) == calibrate(TOY, iter(rows))


def test_the_precision_of_a_row_counts():
    op = matmul(4096, 4096, 4096)
    found = calibrate(TOY, [(op, 2 * time(op, TOY, precision="fp8"), "fp8")])
    assert found.compute_efficiency == pytest.approx(0.5, rel=0.05)


@pytest.mark.slow
def test_what_a_fit_computes_with_is_time():
    """All ops of all rows at once, while constants are tried; one by one, once they are found."""
    for regime in ("decode, batch 1", "GPT 20B requests", "products", "attention of a step"):
        rows = [prediction.row.measurement for prediction in held_out(regime)][:12]
        ideal = held_out(regime)[0].row.device
        for device in (
            ideal,
            ideal.with_(compute_efficiency=0.6, overhead_per_op=5e-6, overhead_per_step=1e-4),
            ideal.with_(blend=3.0, edge=12.0, overhead_per_message=2e-5),
            ideal.with_(floor_per_head=4e-6),
        ):
            [at_once] = _predictions(_flat(rows, device), _constants(device))
            assert at_once == pytest.approx([row.predicted(device) for row in rows], rel=1e-12)


def test_messages_have_a_time_and_a_rate_of_their_own():
    real = TOY.with_(overhead_per_message=2e-5, interconnect_efficiency=0.3)
    rows = []
    for number in (1, 10, 100):
        for elements in (10**3, 10**7):
            work = OPS[2] + sent(number, elements * number)
            expected = time(OPS[2], real) + number * 2e-5 + 2 * elements * number / 3e10
            assert time(work, real) == pytest.approx(expected)
            rows.append((work, time(work, real)))
    found = calibrate(TOY, rows)
    assert found.overhead_per_message == pytest.approx(2e-5, rel=0.05)
    assert found.interconnect_efficiency == pytest.approx(0.3, rel=0.05)


def sent(count: int, elements: int) -> Op:
    moved = Elements(activations=elements)
    return Op("all_reduce", 0, count=count, elements_sent=moved, axis="tensor")


def test_waves_of_tiles_are_paid_in_full():
    shaped = TOY.with_(blend=50.0, edge=0.0)
    # 100 cores and tiles of at most 256×128: 100 of the largest make one wave of 3.2 M outputs
    one = time(matmul(2560, 8192, 1280), shaped)
    assert one == pytest.approx(2 * 2560 * 8192 * 1280 / 100e12, rel=1e-3)
    assert time(matmul(2561, 8192, 1280), shaped) > 1.05 * one
    assert time(matmul(2561, 8192, 1280), TOY) < 1.01 * one
    # one output computes a tile of the smallest kind, on a core of its own
    smallest = min(rows * columns for rows, columns in TILES)
    few = matmul(1, 10**6, 1)
    assert parts(few, shaped)["ideal"] == pytest.approx(few.bytes() / 1e12)
    assert smallest == 16 * 128


def test_edges_make_small_tiles_dearer():
    cheap = TOY.with_(blend=50.0, edge=0.0)
    dear = cheap.with_(edge=20.0)
    ratio = time(OPS[-1], dear) / time(OPS[-1], cheap)
    assert ratio * 1.01 >= 1 + 20 * (1 / 256 + 1 / 128)
    assert ratio < 1.5


@given(*[st.integers(1, 5000)] * 3)
def test_the_shape_of_a_product_is_read_off_its_costs(m, k, n):
    assert product_shape(linear(m, k, n).ops[0] * 3) == pytest.approx((m, k, n))
    found = product_shape(matmul(m, k, n))
    assert found == pytest.approx((max(m, n), k, min(m, n)), rel=1e-4)


def test_what_is_no_plain_product_has_no_shape():
    assert product_shape(Op("copy", 0, Elements(activations=10))) is None
    ledger = models["llama-2-7b"].decode(1, 100)
    assert product_shape(ledger["scores"].ops[0]) is None
    assert product_shape(ledger["q_proj"].ops[0]) == (1, 4096, 4096)


def test_parts_add_up_to_the_prediction():
    fitted = {"compute_efficiency": 0.7, "overhead_per_op": 4e-6, "overhead_per_message": 1e-5}
    device = TOY.with_(**fitted, blend=4.0, edge=10.0)
    alone = models["gpt2"].generate(1, 10, 3)
    row = Measurement(alone + sent(7, 10**6), 1, steps=3)
    found = parts(row, device)
    assert sum(found.values()) == pytest.approx(time(row.work, device, steps=3))
    assert found["ideal"] == pytest.approx(time(alone, TOY))
    assert found["launches"] == pytest.approx(alone.count * 4e-6)
    assert found["messages"] == pytest.approx(7e-5 + 2e6 / 1e11)
    assert min(found.values()) >= 0


def test_shaped_fits_at_least_as_well_and_keeps_what_it_is_told():
    hidden = TOY.with_(compute_efficiency=0.8, overhead_per_op=4e-6, blend=3.0, edge=12.0)
    ops = [linear(m, k, 4096) for m in (1, 64, 129, 700, 2561, 5000) for k in (512, 4096)]
    rows = [Measurement(op, time(op, hidden)) for op in ops]
    shaped = calibrate(TOY, rows, level="shaped")
    assert shaped.median_error < 0.02 < calibrate(TOY, rows).median_error
    kept = calibrate(hidden, rows, level="shaped", keep=("blend", "edge", "overhead_per_op"))
    assert (kept.blend, kept.edge) == pytest.approx((3.0, 12.0))
    assert kept.overhead_per_op == pytest.approx(4e-6)
    assert kept.compute_efficiency == pytest.approx(0.8, rel=0.01)


def step(batch: int, context: int, kv_heads: int = 8) -> Op:
    sizes = {"kv_heads": kv_heads, "context": context, "scores": "on-chip"}
    return fused(attention(batch, 1, 32, 128, **sizes), "attention")


STEPS = [step(batch, context) for batch in (1, 16, 256, 1024) for context in (16, 128, 4096)]


@given(st.integers(1, 64), st.integers(1, 8), st.sampled_from([1, 2, 4, 8]), st.integers(64, 999))
def test_heads_are_read_off_the_costs_of_a_step(batch, kv_heads, group, context):
    sizes = {"kv_heads": kv_heads, "context": context, "scores": "on-chip"}
    ops = attention(batch, 1, kv_heads * group, 128, **sizes)
    assert sum(heads_served(op) for op in ops) == pytest.approx(batch * kv_heads)
    assert heads_served(fused(ops, "all")) == pytest.approx(batch * kv_heads, rel=0.01)
    assert sum(heads_served(op) for op in ops * 7) == pytest.approx(7 * batch * kv_heads)


def test_a_prompts_heads_are_those_of_its_queries():
    prompt = attention(3, 500, 32, 128, kv_heads=8, causal=False, scores="on-chip")
    assert sum(heads_served(op) for op in prompt) == pytest.approx(3 * 32)
    assert heads_served(matmul(64, 64, 64)) == 0
    batches = np.array([1, 2, 300])
    many = attention(batches, 1, 32, 128, kv_heads=8, context=99, scores="on-chip")
    assert sum(heads_served(op) for op in many) == pytest.approx(8 * batches)


def test_a_step_takes_at_least_the_floor_of_its_heads():
    floor = TOY.with_(floor_per_head=4e-6)  # and 100 cores
    assert time(step(256, 16), floor) == pytest.approx(256 * 8 * 4e-6 / 100, rel=0.01)
    assert time(step(256, 10**6), floor) == time(step(256, 10**6), TOY)
    assert time(step(256, 16), floor.with_(cores=None)) == time(step(256, 16), TOY)
    [point] = limits(step(256, 16), floor)
    assert point.bound == "floor"
    assert point.time == point.floor == time(step(256, 16), floor, granularity="step")
    assert time(step(256, 16), floor, overlap="none") == point.floor
    assert parts(step(256, 16), floor)["shapes"] == pytest.approx(
        point.floor - time(step(256, 16), TOY)
    )


def test_a_floor_is_found_where_there_is_one_and_only_there():
    real = TOY.with_(overhead_per_op=8e-6, bandwidth_efficiency=0.8)
    found = calibrate(TOY, [(op, time(op, real)) for op in STEPS], level="shaped")
    assert (found.floor_per_head, found.blend, found.edge) == (0, np.inf, 0)
    real = real.with_(floor_per_head=4e-6)
    found = calibrate(TOY, [(op, time(op, real)) for op in STEPS], level="shaped")
    assert found.floor_per_head == pytest.approx(4e-6, rel=0.05)
    assert "floor_per_head" in found.fitted
    assert "edge" not in found.fitted  # no row is a product


def test_an_interval_holds_what_the_rows_allow():
    real = TOY.with_(overhead_per_op=8e-6, bandwidth_efficiency=0.8, floor_per_head=4e-6)
    noise = np.exp(0.03 * np.sin(np.arange(len(STEPS))))
    rows = [(op, time(op, real) * each) for op, each in zip(STEPS, noise, strict=True)]
    found = calibrate(TOY, rows, level="shaped")
    for name, ratio in (("floor_per_head", 1.3), ("overhead_per_op", 1.3)):
        low, high = interval(found, rows, name)
        assert low <= getattr(real, name) <= high < ratio * low
    low, high = interval(found, rows, "compute_efficiency")  # nothing here depends on it
    assert high == 1
    assert low < 0.2
    with pytest.raises(ValueError, match="got 'edge'"):
        interval(found, rows, "edge")


def test_an_error_has_a_sign():
    assert error(5, 10) == -0.5
    rows = [Measurement(OPS[-1], time(OPS[-1], TOY) * factor) for factor in (0.5, 1.25, 2)]
    assert median_error(rows, TOY) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([], ValueError, "at least one row"),
        ([(OPS[0], 0)], ValueError, "seconds must be a positive number, got 0"),
        ([(OPS[0], float("nan"))], ValueError, "positive number, got nan"),
        ([(OPS[0], "1 ms")], TypeError, "seconds must be a number, got '1 ms'"),
        ([(OPS[0], True)], TypeError, "seconds must be a number, got True"),
        ([("matmul", 1)], TypeError, "work must be a Ledger or an Op, got 'matmul'"),
        ([OPS[0]], TypeError, "at place 0"),
        ([(OPS[0], 1, "fp4")], ValueError, "precision must be a Precision or one of"),
        ([(Op("nothing", 0), 1)], ValueError, "measurement 0 does nothing"),
    ],
)
def test_nonsense_is_refused_with_a_reason(rows, kind, message):
    with pytest.raises(kind, match=message):
        calibrate(TOY, rows)


def test_options_are_refused_with_what_there_is():
    with pytest.raises(ValueError, match="level must be 'calibrated' or 'shaped', got 'ideal'"):
        calibrate(TOY, [(OPS[0], 1)], level="ideal")
    with pytest.raises(ValueError, match="got 'speed'"):
        calibrate(TOY, [(OPS[0], 1)], keep=("speed",))
    with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
        Measurement(OPS[0], 1, steps=0)


def test_a_device_of_the_catalogue_with_numpy_seconds():
    rows = [(op, np.float64(1.4) * time(op, devices["H100-SXM"])) for op in OPS]
    assert calibrate(devices["H100-SXM"], rows).median_error < 0.02
