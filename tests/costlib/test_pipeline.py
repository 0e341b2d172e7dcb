"""Pipeline schedules, played task by task: idle time and activations held, by closed forms."""

import random
from fractions import Fraction
from itertools import pairwise, product

import pytest

from costlib.parallel import ORDERS, Task, bubble, in_flight, order, played

SHAPES = [
    (how, stages, microbatches, chunks)
    for how in ORDERS
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


@pytest.mark.parametrize("how", ORDERS)
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
