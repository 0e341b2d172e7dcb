"""Collectives, run on the counted machine: equal to the mathematics, gloo and closed forms."""

import json

import numpy as np
import pytest

from costlib import parallel
from costlib.parallel.collectives import parts, ring_all_reduce
from costlib.units.messages import all_reduce, collective
from device_programs import two_tier_all_reduce
from paths import ROOT

SIZES = [
    (name, devices)
    for name, way in parallel.ALGORITHMS.items()
    for devices in (1, 2, 3, 4, 5, 8, 16)
    if not (way.powers_of_two and devices & (devices - 1))
]


def begun(does, devices, elements):
    """What the devices hold before a collective; parts of one value for an all-gather."""
    values = [np.arange(elements) * 7 % 11 + 10 * rank**2 for rank in range(devices)]
    return parts(values[-1], devices) if does == "all_gather" else values


def ended(does, values):
    """What they must hold after it: the definition, and no algorithm."""
    devices = len(values)
    if does == "all_reduce":
        return [np.sum(values, axis=0)] * devices
    if does == "all_gather":
        return [np.concatenate(values)] * devices
    if does == "broadcast":
        return [values[0]] * devices
    cut = np.array([parts(value, devices) for value in values])
    return list(
        cut.sum(axis=0) if does == "reduce_scatter" else cut.swapaxes(0, 1).reshape(devices, -1)
    )


@pytest.mark.parametrize(("name", "devices"), SIZES)
@pytest.mark.parametrize("elements", [1, 7, 16, 48])
def test_every_algorithm_does_its_collective_at_its_price(name, devices, elements):
    way = parallel.ALGORITHMS[name]
    machine = parallel.Machine(devices, ports=way.ports)
    values = begun(way.does, devices, elements)
    found = machine.run(way.program, values)
    for one, other in zip(found, ended(way.does, values), strict=True):
        assert np.array_equal(one, other)
    assert machine.busiest == way.sent(elements, devices)
    assert len(machine.rounds) == way.rounds(devices) >= parallel.least_rounds(devices, way.ports)
    if way.does != "broadcast":
        assert machine.busiest >= parallel.least_sent(way.does, elements, devices)


LEAST = ["ring all-reduce", "halving all-reduce", "two-shot all-reduce", "pairwise all-to-all"]


@pytest.mark.parametrize("name", LEAST)
def test_some_send_no_element_more_than_they_must(name):
    way = parallel.ALGORITHMS[name]
    for devices in (2, 4, 8, 64, 1024):
        assert way.sent(3 * devices, devices) == parallel.least_sent(way.does, 3 * devices, devices)


@pytest.mark.parametrize(("inside", "across"), [(8, 1), (1, 8), (8, 4), (4, 16), (2, 2), (1, 1)])
@pytest.mark.parametrize("does", ["all_reduce", "reduce_scatter", "all_gather"])
def test_a_ledgers_bytes_and_rounds_are_of_programs_that_were_run(does, inside, across):
    """Behind a switch all at once, between nodes by halving and doubling."""
    near = {"all_reduce": "two-shot all-reduce", "reduce_scatter": "direct reduce-scatter"}
    far = {"all_reduce": "halving all-reduce", "reduce_scatter": "halving reduce-scatter"}
    ways = near.get(does, "direct all-gather"), far.get(does, "doubling all-gather")
    counted, size = {}, 48 * inside * across
    for axis, name, devices in zip(("x", "x.network"), ways, (inside, across), strict=True):
        way, value = parallel.ALGORITHMS[name], size if axis == "x" else size // inside
        machine = parallel.Machine(devices, ports=way.ports)
        machine.run(way.program, begun(does, devices, value))
        counted[axis] = machine.busiest, len(machine.rounds)
    sent = collective(does, size, inside=inside, across=across, axis="x")
    found = {op.axis: (op.sends, op.rounds) for op in sent}
    assert found == {axis: each for axis, each in counted.items() if each[1]}


def test_the_formula_that_ledgers_use_is_the_ring_that_was_run():
    for devices in (1, 2, 3, 8):
        for elements in (1, 7, 4096):
            machine = parallel.Machine(devices)
            machine.run(ring_all_reduce, [np.arange(elements)] * devices)
            assert machine.busiest == all_reduce(elements, devices)


def test_results_are_those_of_gloo():
    rows = json.loads((ROOT / "tests" / "data" / "collectives.json").read_text("utf-8"))["rows"]
    assert {row["devices"] for row in rows} == {2, 3, 4}
    for row in rows:
        devices = row["devices"]
        for way in parallel.ALGORITHMS.values():
            if way.powers_of_two and devices & (devices - 1):
                continue
            values = [np.array(value) for value in row["values"]]
            if way.does == "all_gather":  # each device gave its first part alone
                values = [value[: row["part"]] for value in values]
            found = parallel.Machine(devices, ports=way.ports).run(way.program, values)
            assert [one.tolist() for one in found] == row["results"][way.does]


@pytest.mark.parametrize(("node", "nodes"), [(2, 3), (4, 4), (3, 2), (8, 1), (1, 4)])
def test_two_tiers_send_little_between_nodes(node, nodes):
    devices, elements = node * nodes, 24
    values = begun("all_reduce", devices, elements)
    machine = parallel.Machine(devices)
    found = machine.run(two_tier_all_reduce, values, node=node)
    assert all(np.array_equal(one, np.sum(values, axis=0)) for one in found)

    part = -(-elements // node)
    counted = parallel.two_tier_sent("all_reduce", elements, node=node, nodes=nodes)
    assert sent_by_tier(machine, node) == counted
    assert counted == (2 * (node - 1) * part, all_reduce(part, nodes))


def sent_by_tier(machine, node):
    """Elements that the busiest device sent inside its node, and to others."""
    most = {True: [0] * machine.devices, False: [0] * machine.devices}
    for (sender, receiver), elements in machine.sent.items():
        most[sender // node == receiver // node][sender] += elements
    return max(most[True]), max(most[False])


@pytest.mark.parametrize(("node", "nodes"), [(2, 3), (4, 4), (8, 1), (1, 4)])
def test_an_all_to_all_over_two_tiers(node, nodes):
    machine = parallel.Machine(node * nodes)
    machine.run(parallel.ALGORITHMS["pairwise all-to-all"].program, [np.arange(48)] * node * nodes)
    counted = parallel.two_tier_sent("all_to_all", 48, node=node, nodes=nodes)
    assert sent_by_tier(machine, node) == counted
    assert sum(counted) == parallel.least_sent("all_to_all", 48, node * nodes)


@pytest.mark.parametrize("does", ["all_reduce", "all_gather", "reduce_scatter"])
def test_two_tiers_send_what_one_would_when_either_is_alone(does):
    for devices in (1, 2, 8):
        alone = parallel.least_sent(does, 48 * devices, devices)
        assert parallel.two_tier_sent(does, 48 * devices, node=devices, nodes=1) == (alone, 0)
        assert parallel.two_tier_sent(does, 48 * devices, node=1, nodes=devices) == (0, alone)
    with pytest.raises(ValueError, match="does must be one of all_reduce, all_gather"):
        parallel.two_tier_sent("broadcast", 8, node=2, nodes=2)


def test_a_machine_keeps_what_its_messages_held():
    machine = parallel.Machine(2, keep=True)
    machine.run(ring_all_reduce, [np.array([1, 2]), np.array([10, 20])])
    assert [{ends: value.tolist() for ends, value in one.items()} for one in machine.messages] == [
        {(0, 1): [2], (1, 0): [10]},
        {(0, 1): [11], (1, 0): [22]},
    ]
    assert parallel.Machine(2).messages == []


def test_the_flat_ring_sends_as_much_over_the_slow_tier_as_over_the_fast():
    values = begun("all_reduce", 8, 64)
    flat, tiers = parallel.Machine(8), parallel.Machine(8)
    flat.run(ring_all_reduce, values)
    tiers.run(two_tier_all_reduce, values, node=4)

    def link(sender, receiver):
        return 0.0, 450e9 if sender // 4 == receiver // 4 else 50e9

    assert flat.seconds(link) == pytest.approx(2 * 7 * 8 * 2 / 50e9)
    fast, slow = 2 * 3 * 16 * 2 / 450e9, 2 * 8 * 2 / 50e9
    assert tiers.seconds(link) == pytest.approx(fast + slow)


def test_both_ways_round_halves_the_time_of_a_long_message():
    value = np.arange(64)
    one, both = parallel.Machine(8), parallel.Machine(8, ports=2)
    one.run(ring_all_reduce, [value] * 8)
    both.run(parallel.ALGORITHMS["two-way ring all-reduce"].program, [value] * 8)

    def link(*_):
        return 0.0, 1e9

    assert both.seconds(link) == one.seconds(link) / 2


# ------------------------------------------------------------------ what a program cannot do


def sends(*messages):
    """A program whose rank-0 device sends so in one round; the others listen."""

    def program(rank, *_):
        arrived = yield (dict(messages) if rank == 0 else {})
        return arrived

    return program


def test_what_arrives_is_a_copy():
    def program(rank, _, value):
        arrived = yield {1 - rank: value}
        value += 100
        yield {}
        return arrived[1 - rank]

    found = parallel.Machine(2).run(program, [np.array([1]), np.array([2])])
    assert [one.tolist() for one in found] == [[2], [1]]


def test_one_message_a_round_and_port():
    with pytest.raises(parallel.TooManyMessages, match="device 0 sent 2 messages in a round"):
        parallel.Machine(3).run(sends((1, 5), (2, 5)), [0] * 3)
    parallel.Machine(3, ports=2).run(sends((1, 5), (2, 5)), [0] * 3)

    def all_to_zero(rank, _, value):
        yield {0: value} if rank else {}

    with pytest.raises(parallel.TooManyMessages, match="device 0 received 2 messages in a round"):
        parallel.Machine(3).run(all_to_zero, [0] * 3)


@pytest.mark.parametrize("receiver", [0, 3, -1])
def test_nobody_sends_to_itself_or_to_no_one(receiver):
    with pytest.raises(ValueError, match=f"device 0 sent to device {receiver}"):
        parallel.Machine(3).run(sends((receiver, 5)), [0] * 3)


def test_nobody_sends_to_a_program_that_is_over():
    def program(rank, _, value):
        yield {}
        if rank == 0:
            yield {1: value}

    with pytest.raises(ValueError, match="device 0 sent to 1, whose program is over"):
        parallel.Machine(2).run(program, [0, 0])


def test_a_value_for_each_device():
    with pytest.raises(ValueError, match="one for each of 3 devices, got 2"):
        parallel.Machine(3).run(ring_all_reduce, [np.arange(3)] * 2)
    with pytest.raises(ValueError, match="devices must be at least 1, got 0"):
        parallel.Machine(0)


def test_a_group_is_a_machine_of_its_own():
    def program(rank, devices, value):
        group = range(rank % 2, devices, 2)
        return (yield from parallel.within(group, ring_all_reduce(rank // 2, len(group), value)))

    values = begun("all_reduce", 6, 6)
    machine = parallel.Machine(6)
    found = machine.run(program, values)
    for rank, one in enumerate(found):
        assert np.array_equal(one, np.sum(values[rank % 2 :: 2], axis=0))
    assert all((sender - receiver) % 2 == 0 for sender, receiver in machine.sent)
