"""Pipeline schedules, played task by task: idle time and activations held, by closed forms."""

import random
from fractions import Fraction
from itertools import pairwise, product

import pytest

from costlib.parallel import ORDERS, Task, bubble, in_flight, order, played

WHOLE = ("gpipe", "1f1b", "interleaved")  # orders of whole backward passes
APART = ("zb-h1", "zb-h2", "dualpipe")  # those that cut them in two
SHAPES = [
    (how, stages, microbatches, chunks)
    for how in WHOLE
    for stages in (1, 2, 3, 4, 8)
    for microbatches in (1, 2, 3, 4, 6, 8, 16, 24)
    for chunks in ((1, 2, 3) if how == "interleaved" else (1,))
    if how != "interleaved" or microbatches % stages == 0
]


@pytest.mark.parametrize(("how", "stages", "microbatches", "chunks"), SHAPES)
def test_every_device_waits_as_long_and_holds_as_much_as_the_formulas_say(
    how, stages, microbatches, chunks
):
    sizes = {"stages": stages, "microbatches": microbatches, "chunks": chunks}
    for forward, backward in ((1, 2), (3, 4)):
        done = played(how, **sizes, forward=forward, backward=backward)
        for device in range(stages):
            assert done.idle(device) == (stages - 1) * (forward + backward)
            assert done.most_held(device) == in_flight(how, device, **sizes)
        share = Fraction(done.idle(), done.seconds)
        assert float(share) == pytest.approx(bubble(**sizes), abs=1e-15)


def test_every_order_is_looked_at():
    assert (*WHOLE, *APART) == ORDERS


@pytest.mark.parametrize("how", WHOLE)
def test_every_pass_is_done_once_and_after_what_it_needs(how):
    chunks = 2 if how == "interleaved" else 1
    done = played(how, stages=4, microbatches=8, chunks=chunks)
    when = {task: (begin, end) for one in done.devices for task, begin, end in one}
    everything = {Task(b, p, m) for b in (False, True) for p in range(4 * chunks) for m in range(8)}
    assert set(when) == everything
    for (backward, piece, microbatch), (begin, _) in (
        ((t.backward, t.piece, t.microbatch), w) for t, w in when.items()
    ):
        if not backward and piece:
            assert when[Task(False, piece - 1, microbatch)][1] <= begin
        if backward and piece < 4 * chunks - 1:
            assert when[Task(True, piece + 1, microbatch)][1] <= begin
        if backward:
            assert when[Task(False, piece, microbatch)][1] <= begin
    for device, one in enumerate(done.devices):
        assert [task for task, _, _ in one] == order(how, device, 4, 8, chunks)
        assert all(task.piece % 4 == device for task, _, _ in one)
        assert all(before[2] <= after[1] for before, after in pairwise(one))


@pytest.mark.parametrize("how", APART)
@pytest.mark.parametrize(("stages", "microbatches"), [(2, 4), (4, 8), (4, 10), (8, 16)])
@pytest.mark.parametrize("times", [(1, 2, 1), (3, 5, 2), (4, 9, 4)])
def test_every_part_of_a_pass_is_done_once_and_after_what_it_needs(
    how, stages, microbatches, times
):
    forward, backward, weights = times
    for together in (None, forward + backward - 1):
        done = played(
            how,
            stages=stages,
            microbatches=microbatches,
            forward=forward,
            backward=backward,
            weights=weights,
            together=together if how == "dualpipe" else None,
        )
        begins, ends, where = {}, {}, {}
        for device, tasks in enumerate(done.devices):
            assert all(one[2] <= next_[1] + 1e-9 for one, next_ in pairwise(tasks))
            for task, begin, end in tasks:
                for of in ("inputs", "weights") if task.backward and not task.of else (task.of,):
                    key = (task.backward, task.piece, task.microbatch, of)
                    assert key not in begins
                    begins[key], ends[key], where[key] = begin, end, device
        passes = [(False, ""), (True, "inputs"), (True, "weights")]
        assert begins.keys() == {
            (b, p, m, of) for b, of in passes for p in range(stages) for m in range(microbatches)
        }
        for back, piece, micro, of in begins:
            key, least = (back, piece, micro, of), begins[back, piece, micro, of] + 1e-9
            assert where[key] == where[False, piece, micro, ""], "a microbatch stays on a device"
            if not back and piece:
                assert ends[False, piece - 1, micro, ""] <= least
            if of == "inputs":
                after = (
                    (True, piece + 1, micro, of)
                    if piece < stages - 1
                    else (False, piece, micro, "")
                )
                assert ends[after] <= least


TIMES = [(f, f + w, w) for f in range(1, 6) for w in range(1, f + 1)]  # F, B and W of f, f and w


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 4), (4, 10), (8, 18)])
@pytest.mark.parametrize(("f", "b", "w"), TIMES)
def test_orders_that_cut_a_backward_pass_wait_as_published(stages, microbatches, f, b, w):
    """Qi et al. 2023, table 2 (their B is b − w), and table 2 of DeepSeek-V3, with the memory that
    both print, in microbatches of all stages: the peak is on the first device or on each."""
    sizes = {"stages": stages, "microbatches": microbatches}
    times = {"forward": f, "backward": b, "weights": w}
    h1, h2, dual = (played(how, **sizes, **times) for how in APART)
    everywhere = range(stages)
    assert {h1.idle(device) for device in everywhere} == {(stages - 1) * (f + b - 2 * w)}
    assert max(h2.waits(device) for device in everywhere) == (stages - 1) * (f + b - 3 * w)
    assert {dual.idle(device) for device in everywhere} == {(stages // 2 - 1) * (f + b - 2 * w)}
    for how, done in zip(APART, (h1, h2, dual), strict=True):
        most = {done.most_held(device) for device in everywhere}
        assert most == {in_flight(how, 0, stages, microbatches)}
    for together in (f + b, f + b - Fraction(w, 2), b):
        done = played("dualpipe", **sizes, **times, together=Fraction(together))
        right = (stages // 2 - 1) * (together + b - 3 * w)
        assert max(done.idle(device) for device in everywhere) == right


def test_no_order_waits_less_than_one_pass_through_all_stages():
    """The last device can begin when a forward pass has come through, and so on back."""
    least = (4 - 1) * (1 + 2)
    assert played("gpipe", stages=4, microbatches=8).idle() == least
    assert played("1f1b", stages=4, microbatches=8).idle() == least
    assert (
        played("interleaved", stages=4, microbatches=8, chunks=2, forward=0.5, backward=1).idle()
        == least / 2
    )


@pytest.mark.parametrize(
    ("how", "sizes", "why"),
    [
        ("zigzag", {}, "how must be 'gpipe' or '1f1b' or 'interleaved'"),
        ("1f1b", {"chunks": 2}, "1f1b has one chunk a device, got 2: 'interleaved' has more"),
        ("gpipe", {"microbatches": 0}, "microbatches must be at least 1, got 0"),
        ("gpipe", {"stages": 0}, "stages must be at least 1, got 0"),
        ("dualpipe", {"microbatches": 6}, "two microbatches or more a stage; got stages=4, micro"),
        ("dualpipe", {"stages": 3}, "dualpipe needs an even number of stages"),
        ("zb-h1", {"chunks": 2}, "zb-h1 has one chunk a device, got 2: 'interleaved' has more"),
        (
            "interleaved",
            {"microbatches": 9, "chunks": 2},
            "microbatches must be a multiple of the 4 stages, got 9; the nearest is 8",
        ),
    ],
)
def test_what_cannot_be_played_says_so(how, sizes, why):
    with pytest.raises(ValueError, match=why):
        played(how, **{"stages": 4, "microbatches": 8, **sizes})


@pytest.mark.parametrize("how", ["gpipe", "1f1b"])
@pytest.mark.parametrize("slowest", ["anywhere", "last"])
def test_stages_that_differ_wait_for_the_slowest(how, slowest):
    """(m − 1)·max T + Σ T: exactly with GPipe, and with 1F1B if the last stage is the slowest."""
    drawn = random.Random(0)
    for stages, microbatches in product((2, 3, 4, 8), (2, 4, 8, 24)):
        each = [drawn.randint(70, 130) for _ in range(stages)]
        each = [*each[:-1], 131] if slowest == "last" else each
        both = [3 * seconds for seconds in each]
        sizes = {"stages": stages, "microbatches": microbatches}
        done = played(how, **sizes, forward=each, backward=[2 * seconds for seconds in each])
        formula = (microbatches - 1) * max(both) + sum(both)
        assert done.seconds <= formula
        if how == "gpipe" or slowest == "last":
            assert done.seconds == formula
        assert done.seconds > 0.8 * formula


def test_seconds_are_one_for_each_piece():
    with pytest.raises(ValueError, match="one for each of 4 pieces, got 3"):
        played("1f1b", stages=4, microbatches=4, forward=[1, 2, 3])
    sizes = {"stages": 4, "microbatches": 8, "chunks": 2}
    one = played("interleaved", **sizes)
    assert played("interleaved", **sizes, forward=[1] * 8, backward=[2] * 8) == one
