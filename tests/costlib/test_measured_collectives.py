"""The tables of collectives that others timed: units, factors, and what they can be held to."""

import itertools
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from costlib import nodes, parallel
from costlib.measured.collectives import bus_factor, collectives, one_rate, read_collectives
from costlib.parallel.network import REACHED, Reached, collective_seconds
from paths import ROOT
from tools.bench import collectives as bench

FILE = json.loads((ROOT / "costlib" / "measured" / "collectives.json").read_text("utf-8"))
NAMES = [row["name"] for row in FILE["tables"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_a_source_and_possible_times(name):
    table = collectives(name)
    assert table.source.startswith("https://")
    assert 0 < table.devices <= table.nodes * table.node.devices
    sizes, seconds = list(table.seconds), list(table.seconds.values())
    assert sizes == sorted(sizes)
    assert all(1e-5 < each < 1 for each in seconds)
    for rate in table.bus_rates.values():  # sums in switches pass the ring's limit, a little
        assert rate < (1.1 if "switches" in table.algorithm else 1) * 450e9 or "GB200" in name
    assert table.by in FILE["sources"]


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


# -------------------------------------------------------------------------------- predictions

TABLES = [collectives(name) for name in NAMES]
ONE = [table for table in TABLES if table.nodes == 1]
SEVERAL = [table for table in TABLES if table.nodes > 1]


def middle(tables, rates=None):
    return float(np.median(bench.errors(tables, rates)))


def test_collectives_are_predicted_better_than_one_rate_a_link():
    assert middle(ONE) < 0.06 < 0.2 < middle(ONE, one_rate(TABLES))
    assert middle(SEVERAL) < 0.14 < 0.2 < middle(SEVERAL, one_rate(TABLES))


#: The module, which a function of its name hides.
MEASURED = sys.modules["costlib.measured.collectives"]


def chosen(tables, monkeypatch):
    """The constants of a coarse grid that suit some tables best, on one node and on several."""

    def off(reached):
        monkeypatch.setattr(MEASURED, "collective_seconds", with_(reached))
        each = [[t for t in tables if (t.nodes > 1) == several] for several in (False, True)]
        found = [np.abs(np.log1p([e for t in some for e in t.errors])) for some in each]
        return sum(float(np.mean(part)) for part in found if part.size)

    grid = itertools.product((30e-6, 40e-6), (0.75, 0.8, 0.85), (0.8, 0.9, 1.0), (1.2, 1.3, 1.4))
    names = ("launch", "share", "network_share", "gain")
    return min((Reached(**dict(zip(names, each, strict=True))) for each in grid), key=off)


def with_(reached):
    return lambda *args, **how: collective_seconds(*args, **how, reached=reached)


@pytest.mark.parametrize(
    ("by", "one", "several"),
    [
        ("ml-engineering", 0.12, 0.25),
        ("coreweave", 0.12, 0.25),
        ("nccl-tests", 0.12, 0.6),
    ],
)
def test_constants_chosen_without_a_publisher_hold_for_it(by, one, several, monkeypatch):
    """The one report of two nodes of A100s is far off: four of their eight cards were missing."""
    found = chosen([table for table in TABLES if table.by != by], monkeypatch)
    monkeypatch.setattr(MEASURED, "collective_seconds", with_(found))
    held = [table for table in TABLES if table.by == by]
    assert middle([table for table in held if table.nodes == 1]) < one
    assert middle([table for table in held if table.nodes > 1]) < several
    assert found.share == REACHED.share


@pytest.mark.parametrize("name", ["DGX-A100", "DGX-H200", "GB200-NVL72", "8xMI300X"])
def test_a_collective_takes_no_less_than_its_bytes_and_no_less_when_longer(name):
    node, ideal = nodes[name], Reached(launch=0, hop=0, network_hop=0, share=1, network_share=1)
    sizes = 2.0 ** np.arange(10, 36)
    for does, many in itertools.product(("all_reduce", "all_gather", "all_to_all"), (1, 2, 16)):
        seconds = collective_seconds(does, sizes, node, nodes=many)
        assert (np.diff(seconds) > 0).all()
        least = collective_seconds(does, sizes, node, nodes=many, sums="none", reached=ideal)
        inside, across = parallel.two_tier_sent(does, 2**34, node=node.devices, nodes=many)
        link = node.link_among(node.devices)
        assert least[24] == pytest.approx(max(inside / link, across / node.network))
        added = collective_seconds(does, sizes, node, nodes=many, sums="none")
        assert (added > least).all()


def test_short_values_take_one_shot_and_long_ones_the_fewest_bytes():
    def seconds(way, size, **how):
        return collective_seconds("all_reduce", size, "DGX-H100", way=way, **how)

    assert seconds("one-shot", 2**10) < seconds("two-shot", 2**10) < seconds("library", 2**10)
    assert seconds("one-shot", 2**24) > seconds("two-shot", 2**24)
    quiet = replace(REACHED, launch=0.0)
    assert seconds("one-shot", 1, reached=quiet) == pytest.approx(REACHED.hop, rel=2e-2)
    assert seconds("two-shot", 1, reached=quiet) == pytest.approx(2 * REACHED.hop, rel=2e-2)


def test_sums_in_switches_never_send_more_and_gain_less_than_two():
    for devices in range(2, 73):
        how = {"value": 2**34, "node": "GB200-NVL72", "per_node": devices}
        plain, added = (collective_seconds("all_reduce", **how, sums=s) for s in ("none", "node"))
        assert 1 <= plain / added <= 1.3001
    for many in (2, 8, 64):
        how = {"value": 2**34, "node": "DGX-A100", "nodes": many, "sums": "none"}
        assert collective_seconds("all_reduce", **{**how, "sums": "network"}) <= (
            collective_seconds("all_reduce", **how) * 1.5
        )


HEAD = "what,model,devices,plan,metric,value,unit,source,read,table\n"


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (
            'all-reduce payload 32MiB,-,"8 x H200, NVLink 4 (NVLS)",x,busbw,275.84,GB/s,,yes,t',
            ("all_reduce", "DGX-H200", 1, 8, 2**25, "sums in the switches"),
        ),
        (
            'all_reduce_perf size 32768 B,-,"8 x A100, NVLink 3",nccl-tests,busbw,1.31,GB/s,,yes,t',
            ("all_reduce", "DGX-A100", 1, 8, 2**15, "not said"),
        ),
        (
            "all-reduce 8 GiB NVLS off,-,4 x H200,Ring,busbw,363.3,GB/s,,yes,t",
            ("all_reduce", "DGX-H200", 1, 4, 2**33, "ring"),
        ),
        (
            "all-reduce large payload,-,32 x H200 (4 nodes),nccl-tests,busbw,369.06,GB/s,,yes,t",
            ("all_reduce", "DGX-H200", 4, 32, 2**34, "not said"),
        ),
        (
            'all_reduce_perf size 512 B,-,"1440 x GB200 (20 racks)",x,time out,90,us,,yes,t',
            ("all_reduce", "GB200-NVL72", 20, 1440, 512, "not said"),
        ),
        (
            "16 GiB all-gather,-,8 x H200,algo Ring,busbw,361.4,GB/s,,yes,t",
            ("all_gather", "DGX-H200", 1, 8, 2**34, "ring"),
        ),
        (
            "all-reduce 4 GiB,-,2 of 8 x MI300X,b,busbw,47.671,GB/s,,yes,t",
            ("all_reduce", "8xMI300X", 1, 2, 2**32, "not said"),
        ),
    ],
)
def test_rows_are_read_as_people_write_them(row, found, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(HEAD + row, encoding="utf-8")
    [table], others = read_collectives(file)
    [size] = table.seconds
    told = (table.does, table.node.name, table.nodes, table.devices, size, table.algorithm)
    assert (told, others) == (found, [])


@pytest.mark.parametrize(
    ("what", "devices", "why"),
    [
        ("average over listed sizes", "2 Racks", "no collective that is known"),
        ("all-reduce, misconfigured", "16 x A100 (2 nodes)", "no one set-up that worked"),
        ("all-reduce 4 GB", "2 x H100 PCIe NVLink bridge", "PCIe"),
        ("all-reduce", "Running Jobs", "which and how many"),
    ],
)
def test_rows_that_do_not_tell_are_refused(what, devices, why, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(f'{HEAD}"{what}",-,{devices},-,busbw,10,GB/s,,yes,t', encoding="utf-8")
    tables, [(_, reason)] = read_collectives(file)
    assert tables == []
    assert why in reason


def test_two_printed_rates_tell_how_many_devices(tmp_path):
    rows = [
        f'all_reduce_perf size 8589934592 B,-,"64 x H100 (8 nodes)",n,{m},{v},GB/s,,yes,t'
        for m, v in (("busbw", 386.56), ("algbw", 195.31))
    ]
    file = tmp_path / "rows.csv"
    file.write_text(HEAD + "\n".join(rows), encoding="utf-8")
    [table], _ = read_collectives(file)
    assert (table.devices, table.nodes) == (96, 12)


def test_the_report_has_the_rival_beside_it(capsys):
    assert bench.main([]) == 0
    told = capsys.readouterr().out
    assert "one constant rate a link" in told
    assert told.count("The rival told without") == 3
