"""Times on devices: bounds that any roofline must keep, and each reading against the int one."""

import copy
import pickle

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import sampling
from costlib import Elements, Ledger, Op, Precision, linear, matmul, models
from costlib.timing import roofline
from costlib.timing.roofline import Device, limits, table, time

TOY = Device("toy", {"bf16": 100 * 10**12, "fp8": 200 * 10**12}, 10**12)

ops = st.builds(
    lambda flops, reads, writes: Op("op", flops, Elements(weights=reads), Elements(kv=writes)),
    *[st.integers(0, 10**15)] * 3,
)
ledgers = st.lists(ops, min_size=1, max_size=5).map(lambda each: Ledger(tuple(each)))


def test_ridge_separates_memory_from_compute():
    assert TOY.ridge() == 100
    assert TOY.ridge("fp8") == 200
    assert TOY.attainable(99) == 99 * 10**12
    assert TOY.attainable(101) == TOY.attainable(10**6) == 100 * 10**12


@given(ledgers)
def test_op_by_op_is_never_faster_and_no_overlap_at_most_twice_as_slow(ledger):
    step = time(ledger, TOY, granularity="step")
    by_op = time(ledger, TOY)
    none = time(ledger, TOY, overlap="none")
    assert step <= by_op * (1 + 1e-12)
    assert by_op <= none * (1 + 1e-12)
    assert none <= 2 * step * (1 + 1e-12)
    assert time(ledger, TOY, overlap="none", granularity="step") == pytest.approx(none)


@given(ledgers)
def test_step_time_is_the_larger_of_the_two_totals(ledger):
    expected = max(ledger.flops / 100e12, ledger.bytes() / 1e12)
    assert time(ledger, TOY, granularity="step") == pytest.approx(expected)


@given(ledgers, st.floats(0.01, 1), st.floats(0.01, 1))
def test_efficiencies_divide_and_overheads_add(ledger, compute, bandwidth):
    device = TOY.with_(compute_efficiency=compute, bandwidth_efficiency=bandwidth)
    expected = sum(
        max(op.flops / (100e12 * compute), op.bytes() / (1e12 * bandwidth)) for op in ledger
    )
    assert time(ledger, device) == pytest.approx(expected)
    late = device.with_(overhead_per_op=2e-6, overhead_per_step=3e-3)
    assert time(ledger * 7, late) == pytest.approx(7 * expected + 7 * len(ledger) * 2e-6 + 3e-3)
    assert TOY.compute_efficiency == 1  # the catalogue's device is untouched


@pytest.mark.slow
@settings(max_examples=sampling.number(25, 100))
@given(st.lists(st.integers(1, 10**6), min_size=3, max_size=3))
def test_arrays_and_symbols_give_the_times_of_ints(sizes):
    m, k, n = sizes
    names = sympy.symbols("m k n", positive=True, integer=True)
    for options in ({}, {"overlap": "none"}, {"granularity": "step"}):
        exact = time(matmul(m, k, n) + matmul(n, k, 1), TOY, **options)
        arrays = np.array([m, 1]), np.array([k, 1]), np.array([n, 1])
        swept = time(matmul(*arrays) + matmul(arrays[2], arrays[1], 1), TOY, **options)
        assert swept[0] == pytest.approx(exact, rel=1e-12)
        formula = time(matmul(*names) + matmul(names[2], names[1], 1), TOY, **options)
        found = formula.subs(dict(zip(names, sizes, strict=True)))
        assert float(found) == pytest.approx(exact, rel=1e-12)


def test_a_symbolic_device_gives_the_textbook_roofline():
    peak, bandwidth, intensity = sympy.symbols("P W I", positive=True)
    device = Device("any", {"bf16": peak}, bandwidth)
    assert device.ridge() == peak / bandwidth
    assert device.attainable(intensity) == sympy.Min(peak, intensity * bandwidth)


def test_a_grid_of_configurations_broadcasts():
    batch, context = np.arange(1, 5)[:, None], np.arange(1, 7)[None, :]
    ledger = matmul(batch, 4096, 4096, right="weights") + matmul(batch, 128, context, right="kv")
    grid = time(ledger, TOY)
    assert grid.shape == (4, 6)
    single = matmul(3, 4096, 4096, right="weights") + matmul(3, 128, 5, right="kv")
    assert grid[2, 4] == pytest.approx(time(single, TOY), rel=1e-14)


def test_precision_changes_memory_time_alone():
    op = matmul(1, 1000, 1000, right="weights")
    halved = time(op, TOY, precision=Precision(weights=0.5))
    assert halved == pytest.approx((0.5 * 10**6 + 2 * 2000) / 1e12)


def test_limits_name_what_binds_and_are_the_points_of_the_figure():
    ledger = matmul(1, 1000, 1000) + matmul(4096, 4096, 4096) + Op("nothing", 0)
    slow, fast, nothing = limits(ledger, TOY)
    assert (slow.bound, fast.bound) == ("memory", "compute")
    assert fast.rate == pytest.approx(100e12)
    assert slow.rate == pytest.approx(slow.attainable) == pytest.approx(slow.intensity * 1e12)
    assert not slow.is_compute_bound
    assert fast.is_compute_bound
    assert (nothing.intensity, nothing.rate, nothing.time) == (0, 0, 0)
    assert limits(ledger, TOY.with_(overhead_per_op=1))[0].bound == "overhead"
    assert sum(point.time for point in limits(ledger, TOY)) == pytest.approx(time(ledger, TOY))
    at_the_ridge = limits(Op("tie", 200, Elements(kv=1)), TOY)[0]
    assert at_the_ridge.is_compute_bound
    assert at_the_ridge.bound == "compute"
    late = limits(ledger, TOY.with_(overhead_per_op=1e-3))[1]
    assert late.rate < late.attainable == pytest.approx(100e12)
    assert late.time == pytest.approx(fast.time + 1e-3)


def test_table_adds_up():
    ledger = matmul(1, 1000, 1000, name="a") + matmul(4096, 4096, 4096, name="b")
    rows = table(ledger, TOY)
    assert rows.index.tolist() == ["a", "b", "total"]
    assert rows.loc["total", "time"] == pytest.approx(time(ledger, TOY))
    assert rows.loc["total", "flops"] == ledger.flops
    assert rows.loc["total", "intensity"] == pytest.approx(ledger.intensity())
    assert rows["share"].tolist()[-1] == 1
    assert rows["share"][:-1].sum() == pytest.approx(1)
    assert rows["bound"].tolist() == ["memory", "compute", ""]


def test_a_device_is_a_value():
    assert pickle.loads(pickle.dumps(TOY)) == TOY == copy.deepcopy(TOY)
    with pytest.raises(AttributeError):
        TOY.bytes_per_s = 1
    with pytest.raises(TypeError):
        TOY.flops_per_s["bf16"] = 1
    assert TOY.with_(bytes_per_s=2e12).bytes_per_s == 2e12
    assert isinstance(hash(TOY), int)


def test_whether_a_model_fits_is_asked_of_its_batch_and_context():
    for batch, context in ((1, 4096), (8, 4096), (1, 100_000)):
        step = models["llama-2-7b"].decode(batch, context)
        asked = roofline.fits("llama-2-7b", "RTX-4090", batch=batch, context=context)
        assert asked == roofline.fits(step, "RTX-4090") == (batch * context == 4096)
    with pytest.raises(ValueError, match="batch and context belong to a model"):
        roofline.fits(step, "RTX-4090", batch=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TOY.compute_rate("fp4"), "toy has no peak rate for 'fp4'; it has bf16, fp8"),
        (
            lambda: time(Op("x", 1), TOY, overlap="some"),
            "overlap must be 'perfect' or 'none', got 'some'",
        ),
        (lambda: time(Op("x", 1), TOY, granularity="layer"), "granularity must be 'op' or 'step'"),
        (lambda: Device("x", {}, 1), "at least one number format"),
        (lambda: Device("x", {"bf16": 0}, 1), r"flops_per_s\['bf16'\] must be between 1"),
        (lambda: Device("x", {"bf16": 1e12}, float("inf")), "bytes_per_s must be between"),
        (
            lambda: TOY.with_(compute_efficiency=1.5),
            "compute_efficiency must be between 1e-09 and 1, got 1.5",
        ),
        (lambda: TOY.with_(overhead_per_op=-1), "overhead_per_op must be between 0"),
    ],
)
def test_errors_say_what_would_be_right(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_rate_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="bytes_per_s must be a number, got '1 TB/s'"):
        roofline.Device("x", {"bf16": 1e12}, "1 TB/s")


def test_table_has_rates_at_the_precision_asked_for():
    ledger = linear(1, 1000, 1000)
    rows = table(ledger, TOY, precision=Precision(weights=1))
    assert rows.index.name == "op"
    assert rows["bytes"].iloc[0] == 1000 * 1000 + 2 * 2000
    assert rows["rate"].iloc[0] == rows["flops"].iloc[0] / rows["time"].iloc[0]
    assert rows["share"].tolist() == [1, 1]
