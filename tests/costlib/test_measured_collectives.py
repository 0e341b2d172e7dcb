"""The tables of collectives that others timed: units, factors, and what they can be held to."""

import json

import pytest

from costlib import parallel
from costlib.measured.collectives import bus_factor, collectives
from paths import ROOT

FILE = json.loads((ROOT / "costlib" / "measured" / "collectives.json").read_text("utf-8"))
NAMES = [row["name"] for row in FILE["tables"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_a_source_and_possible_times(name):
    table = collectives(name)
    assert table.source.startswith("https://")
    assert table.devices == table.nodes * table.node.devices
    sizes, seconds = list(table.seconds), list(table.seconds.values())
    assert sizes == sorted(sizes)
    assert all(1e-5 < each < 1 for each in seconds)
    for rate in table.bus_rates.values():  # sums in switches pass the ring's limit, a little
        assert rate < (1.1 if "switches" in table.algorithm else 1) * 450e9 or "GB200" in name


@pytest.mark.parametrize(
    ("name", "size", "printed"),
    [
        ("8xA100", 32768, 1.31),
        ("8xA100", 2**34, 234.89),
        ("8xH200 ring", 2**34, 367.2),
        ("96xH100", 2**33, 386.56),
        ("72xGB200", 2**32, 839.16),
    ],
)
def test_rates_are_those_that_the_source_prints(name, size, printed):
    assert collectives(name).bus_rates[size] / 1e9 == pytest.approx(
        printed, rel=1e-3 if size > 2**20 else 5e-3
    )


@pytest.mark.parametrize("does", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
def test_the_factor_is_what_every_device_must_send(does):
    for devices in (2, 8, 72):
        assert bus_factor(does, devices) == parallel.least_sent(does, devices, devices) / devices


def test_a_ring_stays_below_its_link():
    for name in NAMES:
        table = collectives(name)
        if table.algorithm == "ring":
            assert max(table.bus_rates.values()) < 0.85 * table.node.link


def test_nonsense_is_named():
    with pytest.raises(ValueError, match=r"name must be one of 8xA100, .*, got '9xA100'"):
        collectives("9xA100")
    with pytest.raises(ValueError, match="does must be one of all_reduce"):
        bus_factor("scan", 8)
    with pytest.raises(ValueError, match="devices must be at least 1, got 0"):
        bus_factor("all_reduce", 0)
