"""The fewest devices for so many users: against every plan with fewer, and against simulation."""

from contextlib import suppress
from itertools import product
from math import inf

import numpy as np
import pytest

from costlib import devices
from costlib.serving import Server, bill, fewest_devices, fleets, listed, saturation, simulate
from costlib.serving.server import OutOfReach

pytestmark = pytest.mark.slow

CASES = [
    ("llama-3.1-8b", "H100-SXM", 300, 7000, 1000, 1 / 30, inf),
    ("llama-3.1-70b", "H100-SXM", 60, 2000, 500, 0.02, 0.5),
    ("llama-3.1-70b", "DGX-H100", 200, 2000, 500, 0.05, inf),
    ("llama-3.1-8b", "A100-80GB", 3000, 8000, 500, 0.3, inf),
    ("gpt-oss-120b", "H100-SXM", 100, 4000, 400, 0.02, 1.0),
    ("deepseek-v2-lite", "RTX-4090", 50, 4000, 400, 0.05, inf),
    ("falcon-mamba-7b", "A100-80GB", 200, 1000, 200, 0.05, 1.0),
]


def told(case):
    """A case as it is asked."""
    names = ("users", "prompt", "answer", "tpot", "ttft")
    return case[:2], dict(zip(names, case[2:], strict=True))


def seconds(server, users, prompt, answer):
    """Seconds of an output token and to the first, of the fullest copy, written down again."""
    batch = -(-users // server.data)
    if server.room(prompt + answer) < batch:
        return inf, inf
    step = server.step(batch, prompt + answer / 2 - 1, too_large="ignore")
    prompts = (batch - 1) * server.busy(prompt)
    return step + prompts / (answer - 1), step + server.prefill(prompt, too_large="ignore")


def plans(model, device, most):
    """Every legal plan of fewer devices."""
    sizes = range(1, most)
    for tensor, pipeline, data in product(sizes, sizes, sizes):
        if tensor * pipeline * data >= most:
            continue
        for expert, dcp in product((1, data), {1, tensor}):
            place = f"{device}x{tensor * pipeline * data}" if device in devices else device
            cut = {"tensor": tensor, "pipeline": pipeline, "data": data}
            with suppress(ValueError):  # it cannot be cut like that
                yield Server(model, place, expert=expert, dcp=dcp, **cut)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_it_serves_all_in_time_and_no_smaller_plan_does(case):
    (model, device), asked = told(case)
    load = (asked["users"], asked["prompt"], asked["answer"])
    fleet = fewest_devices(model, device, **asked)
    token, first = seconds(fleet.server, *load)
    assert (token, first) == pytest.approx((fleet.tpot, fleet.ttft), rel=1e-12)
    assert token <= asked["tpot"]
    assert first <= asked["ttft"]
    for server in plans(model, device, min(fleet.devices, 8)):
        token, first = seconds(server, *load)
        assert token > asked["tpot"] or first > asked["ttft"], server.machine


def test_a_fuller_copy_would_break_what_limits_it():
    """One user more has no room, or is served too late."""
    limits = set()
    for case in CASES:
        (model, device), asked = told(case)
        fleet = fewest_devices(model, device, **asked)
        copy, load = fleet.server, (asked["prompt"], asked["answer"])
        more = (fleet.users // copy.data + 1) * copy.data
        while copy.data > 1 and fleet.limit != "users":
            token, first = seconds(copy, more, *load)
            if token > asked["tpot"] or first > asked["ttft"]:
                break
            more += copy.data
        full = copy.room(asked["prompt"] + asked["answer"]) == more // copy.data - 1
        if fleet.limit != "users":
            assert full == (fleet.limit == "memory"), (case, more)
        limits.add(fleet.limit)
    assert limits == {"users", "memory", "latency"}


def test_rates_are_those_of_saturation_and_of_a_simulation():
    """With every place taken, in closed form and request by request."""
    fleet = fewest_devices("llama-3.1-8b", "H100-SXM", users=64, prompt=2000, answer=400)
    assert fleet.devices == 1
    full = saturation(fleet.server, 2000, 400, batch=64)
    assert fleet.output_tokens_per_s == pytest.approx(full.output_tokens_per_s, rel=0.01)
    answers = np.random.default_rng(1).integers(200, 601, 640)  # so that they end one by one
    run = simulate(listed([0.0] * 640, 2000, answers), fleet.server, most=64)
    steady = slice(64, -64)  # the first and the last 64 have fewer beside them
    spent = np.sum((run.finish - run.first)[steady]) / np.sum(answers[steady] - 1)
    assert fleet.tpot == pytest.approx(spent, rel=0.05)
    assert fleet.server.step(64, 2199) < 0.9 * spent, "prompts are a share of it"


def test_more_users_or_less_time_never_take_fewer():
    asked = {"prompt": 2000, "answer": 500}
    for device in ("H100-SXM", "DGX-H100"):
        counts = [
            [
                fewest_devices("llama-3.1-70b", device, users=users, tpot=most, **asked).devices
                for most in (inf, 0.1, 0.04, 0.02)
            ]
            for users in (1, 10, 100, 1000)
        ]
        assert all(row == sorted(row) for row in counts)
        assert all([*column] == sorted(column) for column in zip(*counts, strict=True))
        assert device != "DGX-H100" or all(each % 8 == 0 for row in counts for each in row)


def test_the_best_so_far_only_gets_better():
    found = [*fleets("deepseek-v3", "H100-SXM", users=100, tpot=0.05)]
    known = [(each.devices, each.tpot) for each in found if each is not None]
    assert found[0] is None, "one device holds none of it"
    assert known == sorted(known, reverse=True)


@pytest.mark.parametrize(
    ("model", "device", "asked", "says"),
    [
        ("llama-3.1-8b", "H100-SXM", {"tpot": 1e-4}, "has a TPOT of 100 µs: the lowest"),
        ("llama-3.1-8b", "T4", {"ttft": 0.01}, "has a TTFT of 10 ms with a prompt of 1,000"),
        ("kimi-k2", "T4", {}, "holds the weights and a sequence of 1,200 tokens"),
        ("llama-3.1-8b", "T4", {"users": 0}, "users"),
        ("llama-3.1-8b", "H100-SXMx8", {}, "their number is what is asked"),
        ("llama-3.1-8b", "DGX-H100x2", {}, "their number is what is asked"),
        ("llama-3.1-8b", "H100-SXM", {"tpot": 0}, "tpot must be"),
        ("llama-3.1-8b", "H100-SXM", {"tpot": float("nan")}, "tpot must be"),
    ],
)
def test_what_cannot_be_is_said(model, device, asked, says):
    with pytest.raises(ValueError, match=says) as problem:
        fewest_devices(model, device, **{"users": 10, **asked})
    assert isinstance(problem.value, OutOfReach) == ("no plan" in str(problem.value))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_input_and_output_tokens_share_all_device_seconds(case):
    """An input token is a share of a prefill, as it is on a bill; the rest is the output's."""
    (model, device), asked = told(case)
    fleet = fewest_devices(model, device, **asked)
    cost = bill(fleet.server, prompt=fleet.prompt, answer=2, batch=1, per_hour=3600)
    assert fleet.input_seconds == pytest.approx(cost.input / 1e6)
    requests = fleet.output_tokens_per_s / fleet.answer
    spent = fleet.prompt * fleet.input_seconds + fleet.answer * fleet.output_seconds
    assert requests * spent == pytest.approx(fleet.devices)
    assert fleet.output_seconds > 0
