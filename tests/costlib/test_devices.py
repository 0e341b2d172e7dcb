"""Devices and nodes: every figure has a source, and agrees with another way of arriving at it.

A peak is cores x FLOPs a cycle x clock, a bandwidth is pins x bits a second: neither is in the data
file, so a figure that is mistyped there has nothing here to agree with.
"""

import re

import pytest

from costlib.model.catalog import Node, Nodes, devices, nodes, prices

WANTED = """
    A10 A40 A100-40GB A100-80GB H100-SXM H100-PCIe H200 B200 B300 GB200 GB300 H20 L4 L20 L40S
    T4 V100 RTX-3060 RTX-4090 RTX-5090 RTX-PRO-6000 DGX-Spark Jetson-Thor Jetson-AGX-Orin
    MI300X MI325X MI350X MI355X TPU-v5e TPU-v5p TPU-v6e TPU7x Trainium2 Trainium3 Gaudi-3
    M1-Max M3-Ultra M4 M4-Pro M4-Max M5 M5-Pro M5-Max EPYC-7763
"""
FIGURES = [
    (catalog, name, figure, about)
    for catalog in (devices, nodes)
    for name in catalog
    for figure, about in catalog.provenance(name).items()
]
#: Cores, FLOPs a cycle and core on 16-bit matrices with fp32 sums, GHz: from the architectures.
CLOCKS = {
    "V100": (80, 1024, 1.53),
    "T4": (40, 1024, 1.59),
    "A10": (72, 1024, 1.695),
    "A30": (56, 2048, 1.44),
    "A40": (84, 1024, 1.74),
    "A100-40GB": (108, 2048, 1.41),
    "A100-80GB": (108, 2048, 1.41),
    "RTX-A6000": (84, 1024, 1.8),
    "RTX-3060": (28, 512, 1.777),
    "RTX-3090": (82, 512, 1.695),
    "H100-SXM": (132, 4096, 1.83),
    "H100-PCIe": (114, 4096, 1.62),
    "H200": (132, 4096, 1.83),
    "GH200-96GB": (132, 4096, 1.83),
    "GH200-144GB": (132, 4096, 1.83),
    "L4": (58, 1024, 2.04),
    "L20": (92, 512, 2.52),
    "L40S": (142, 1024, 2.49),
    "RTX-4090": (128, 512, 2.52),
    "RTX-6000-Ada": (142, 1024, 2.505),
    "RTX-5090": (170, 512, 2.407),
    "RTX-PRO-6000": (188, 1024, 2.617),
    "Jetson-Thor": (20, 8192, 1.575),
    "Jetson-AGX-Orin": (16, 2048, 1.3),
    "MI250X-GCD": (110, 1024, 1.7),
    "MI300X": (304, 2048, 2.1),
    "MI325X": (304, 2048, 2.1),
    "MI350X": (256, 4096, 2.2),
    "MI355X": (256, 4096, 2.4),
    "TPU-v4": (8, 2 * 128**2, 1.05),
    "TPU-v5e": (4, 2 * 128**2, 1.5),
    "TPU-v5p": (8, 2 * 128**2, 1.75),
    "Gaudi-2": (2, 2 * 256**2, 1.65),
    "Gaudi-3": (8, 2 * 256**2, 1.6),
    "M5": (10, 1024, 1.75),
    "M5-Pro": (20, 1024, 1.75),
    "M5-Max": (40, 1024, 1.75),
}
#: Pins of the memory interface and Gbit/s of each; printed bandwidths are rounded from these.
PINS = {
    "V100": (4096, 1.758),
    "T4": (256, 10),
    "A10": (384, 12.5),
    "A30": (3072, 2.43),
    "A40": (384, 14.5),
    "A100-40GB": (5120, 2.43),
    "A100-80GB": (5120, 3.186),
    "RTX-A6000": (384, 16),
    "RTX-3060": (192, 15),
    "RTX-3090": (384, 19.5),
    "H100-SXM": (5120, 5.234),
    "H100-PCIe": (5120, 3.186),
    "H200": (6144, 6.25),
    "L4": (192, 12.5),
    "L20": (384, 18),
    "L40S": (384, 18),
    "RTX-4090": (384, 21),
    "RTX-6000-Ada": (384, 20),
    "RTX-5090": (512, 28),
    "RTX-PRO-6000": (512, 28),
    "DGX-Spark": (256, 8.533),
    "Jetson-Thor": (256, 8.533),
    "Jetson-AGX-Orin": (256, 6.4),
    "MI250X-GCD": (4096, 3.2),
    "MI300X": (8192, 5.2),
    "MI325X": (8192, 6),
    "MI350X": (8192, 8),
    "MI355X": (8192, 8),
    "B200": (8192, 8),
    "GB200": (8192, 8),
    "GB300": (8192, 8),
    "Arc-Pro-B60": (192, 19),
    "M1-Max": (512, 6.4),
    "M1-Ultra": (1024, 6.4),
    "M3-Ultra": (1024, 6.4),
    "M4": (128, 7.5),
    "M4-Pro": (256, 8.533),
    "M4-Max": (512, 8.533),
    "M5": (128, 9.6),
    "M5-Pro": (256, 9.6),
    "M5-Max": (512, 9.6),
    "EPYC-7763": (512, 3.2),
}
#: Rates of other formats over the 16-bit one, where the architecture fixes them.
AMPERE = {"tf32": 0.5, "int8": 2, "int4": 4}
HOPPER = {"tf32": 0.5, "fp8": 2, "int8": 2}
BLACKWELL = {**HOPPER, "fp6": 2, "fp4": 4}
ADA = {"tf32": 0.5, "fp8": 2, "int8": 2, "int4": 4}
GEFORCE = {"fp16-acc16": 2, "tf32": 0.5, "fp8": 2, "fp8-acc16": 4, "int8": 4, "int4": 8, "fp4": 8}
AMD3 = {"tf32": 0.5, "fp8": 2, "int8": 2}
AMD4 = {"fp8": 2, "fp6": 4, "fp4": 4, "int8": 2}
RATIOS = {
    **dict.fromkeys(("A10", "A30", "A40", "A100-40GB", "A100-80GB", "RTX-A6000"), AMPERE),
    **dict.fromkeys(("H100-SXM", "H100-PCIe", "H200", "H20", "GH200-96GB", "GH200-144GB"), HOPPER),
    **dict.fromkeys(("B200", "GB200"), BLACKWELL),
    # Blackwell Ultra gave most of int8 for half as much fp4 again.
    "B300": {**BLACKWELL, "fp4": 14 / 2.25, "int8": 153.5 / 2250},
    "GB300": {**BLACKWELL, "fp4": 6, "int8": 165 / 2500},
    "T4": {"int8": 2, "int4": 4},
    **dict.fromkeys(("L4", "L20", "RTX-6000-Ada"), ADA),
    "L40S": {"tf32": 183 / 362.05, **dict.fromkeys(("fp8", "int8", "int4"), 733 / 362.05)},
    **dict.fromkeys(("RTX-3060", "RTX-3090", "RTX-4090", "RTX-5090"), GEFORCE),
    "RTX-PRO-6000": {"tf32": 0.5, "fp8": 2, "int8": 2, "fp4": 4},
    "DGX-Spark": {"fp8": 1, "int8": 1, "fp4": 500 / 213},
    "Jetson-Thor": {"fp8": 2, "fp4": 4},
    "Jetson-AGX-Orin": {"int8": 2},
    "MI250X-GCD": {"int8": 1},
    **dict.fromkeys(("MI300X", "MI325X"), AMD3),
    **dict.fromkeys(("MI350X", "MI355X"), AMD4),
    "TPU-v4": {"int8": 1},
    "TPU-v5e": {"int8": 2},
    "TPU-v5p": {"fp8": 1, "int8": 2},
    "TPU-v6e": {"fp8": 1, "int8": 2},
    "TPU7x": {"fp8": 2},
    "Trainium": {"tf32": 1, "fp8": 1, "int8": 2},
    "Trainium2": {"tf32": 1, "fp8": 1299 / 667},
    "Trainium3": {"tf32": 1, "fp8": 2517 / 671, "fp4": 2517 / 671},
    "Gaudi-2": {"fp8": 2},
    "Gaudi-3": {"fp8": 1, "fp16": 459 / 1677.7, "tf32": 459 / 1677.7},
    "Arc-Pro-B60": {"int8": 2},
}
#: KiB of shared memory that one multiprocessor's programs manage, by NVIDIA's architectures.
ON_CHIP = {
    96: "V100",
    64: "T4 MI250X-GCD MI300X MI325X",
    100: "A10 A40 L4 L20 L40S RTX-3060 RTX-3090 RTX-4090 RTX-5090 RTX-A6000 RTX-6000-Ada "
    "RTX-PRO-6000 DGX-Spark",
    160: "MI350X MI355X",
    164: "A30 A100-40GB A100-80GB",
    228: "H100-SXM H100-PCIe H200 H20 GH200-96GB GH200-144GB B200 B300 GB200 GB300 Jetson-Thor",
}
#: GB/s each way of each generation of NVLink, as a whole GPU has it, and of a PCIe slot.
LINKS = {
    150: "V100",
    300: "A100-40GB A100-80GB H100-PCIe Gaudi-2",
    450: "H100-SXM H200 H20 GH200-96GB GH200-144GB",
    900: "B200 B300 GB200 GB300",
    56.25: "A40 RTX-3090 RTX-A6000",
    16: "T4",
    32: "A10 L4 L20 L40S RTX-3060 RTX-4090 RTX-6000-Ada Arc-Pro-B60",
    64: "RTX-5090 RTX-PRO-6000",
    448: "MI300X MI325X",
    537.6: "MI350X MI355X",
    600: "TPU-v5p TPU7x Gaudi-3",
}

#: What no formula gives, entered a second time: fp32 in TFLOP/s, memory in GiB, the last cache in
#: MiB, cores, TB/s to memory, GB/s each way over links. A new device need not be here.
TWICE = """
    A10               31.2       24      6    72     0.6     32
    A30               10.3       24      -    56   0.933    100
    A40               37.4       48      6    84   0.696  56.25
    A100-40GB         19.5       40     40   108   1.555    300
    A100-80GB         19.5       80     40   108   2.039    300
    H100-SXM          66.9       80     50   132    3.35    450
    H100-PCIe         51.2       80     50   114   2.039    300
    H200                67      141     60   132     4.8    450
    GH200-96GB          67       96      -   132       4    450
    GH200-144GB         67      141      -   132     4.8    450
    H20                 44       96      -    78       4    450
    B200                75      180    126   148       8    900
    B300                75  268.594      -     -    7.75    900
    GB200               80   185.03    126     -       8    900
    GB300               80  277.547      -     -       8    900
    L4                30.3       24     48    58     0.3     32
    L20              59.35       48     96    92   0.864     32
    L40S              91.6       48     96   142   0.864     32
    T4                 8.1       16      4    40    0.32     16
    V100              15.7       32      6    80     0.9    150
    RTX-3060         12.74       12      3    28    0.36     32
    RTX-3090          35.6       24      6    82   0.936  56.25
    RTX-4090          82.6       24     72   128   1.008     32
    RTX-5090         104.8       32     96   170   1.792     64
    RTX-A6000         38.7       48      6    84   0.768  56.25
    RTX-6000-Ada      91.1       48     96   142    0.96     32
    RTX-PRO-6000    125.95       96    128   188   1.792     64
    DGX-Spark            -      128      -    48   0.273     25
    Jetson-AGX-Orin     5.3       64      4    16  0.2048      -
    Jetson-Thor          -      128     32    20   0.273      -
    MI250X-GCD       47.85       64      8   110  1.6384      -
    MI300X           163.4      192    256   304     5.3    448
    MI325X           163.4      256    256   304       6    448
    MI350X           144.2      288    256   256       8  537.6
    MI355X           157.3      288    256   256       8  537.6
    TPU-v4               -       32      -     -     1.2    270
    TPU-v5e              -       16      -     1   0.819    200
    TPU-v5p              -       95      -     2   2.765    600
    TPU-v6e              -       32      -     1   1.638    400
    TPU7x                -      192      -     2    7.38    600
    Trainium          47.5       32      -     2    0.82    192
    Trainium2          181       96      -     8     2.9    640
    Trainium3          183      144      -     8     4.9   1280
    Gaudi-2              -       96      -     -    2.46    300
    Gaudi-3            229      128     96     -    3.67    600
    Arc-Pro-B60      12.28       24      -     -   0.456     32
    M1-Max            10.4       64      -     -     0.4      -
    M1-Ultra            21      128      -     -     0.8      -
    M3-Ultra          28.4      512      -     -   0.819      -
    M4                 4.6       32      -     -    0.12      -
    M4-Pro             9.2       64      -     -   0.273      -
    M4-Max            18.4      128      -     -   0.546      -
    M5                 5.7       32      -     -   0.153      -
    M5-Pro            11.4       64      -     -   0.307      -
    M5-Max            22.8      128      -     -   0.614      -
    EPYC-7763       5.0176     4096    256    64  0.2048      -
"""


def test_there_are_enough():
    assert len(devices) >= 50
    assert len(nodes) >= 12
    assert set(devices) >= set(WANTED.split())


@pytest.mark.parametrize("name", devices)
def test_every_device_is_whole(name):
    device = devices[name]
    assert device.name == name
    assert 1e11 < device.bytes_per_s < 1e13, "bytes/s, decimal"
    assert device.capacity >= 12 * 2**30
    assert all(2e12 < rate <= 15e15 for rate in device.flops_per_s.values())
    figures = set(devices.provenance(name))
    assert {"bytes_per_s", "capacity", *device.flops_per_s} <= figures


def test_every_figure_has_a_source_and_a_date():
    for catalog, name, figure, about in FIGURES:
        source, where = about["source"], (name, figure)
        assert source["title"], where
        assert re.match(r"https?://\w", source["url"]), where
        assert re.fullmatch(r"20\d\d(-\d\d){0,2}", source["date"]), where
        assert isinstance(about["value"], int) or figure == "latency", where
        assert about.get("basis", "estimate") in ("measured", "estimate"), where
        assert "checked" not in about or "read" in catalog.data["sources"][about["checked"]], where


@pytest.mark.parametrize("catalog", [devices, nodes], ids=["devices", "nodes"])
def test_every_source_is_used(catalog):
    used = set()
    for entry in catalog._entries.values():
        for about in (*entry.get("flops_per_s", {}).values(), *entry.values()):
            if isinstance(about, dict) and "value" in about:
                used |= {about["source"], about.get("checked", about["source"])}
    assert used == set(catalog.data["sources"])


def test_a_rent_and_a_power_say_whose_and_of_when():
    data = prices._data()
    rents = {name: entry.get("dollars_per_hour") for name, entry in data["devices"].items()}
    assert {*data["devices"]} <= {*devices}
    assert {rent["source"] for rent in rents.values() if rent} == {*data["sources"]}
    for source in data["sources"].values():
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", source["date"]), "prices are of a day"
        assert source["url"].startswith("https://")
    for name, entry in data["devices"].items():
        watts = entry.get("watts", {"value": 70, "source": "t4"})
        assert watts["source"] in devices.data["sources"], name
        assert 50 < watts["value"] < 1500, name
        known = prices.listed(name)
        assert known.dollars_per_hour is None or 0.1 < known.dollars_per_hour < 15
    assert prices.listed("M4") == prices.Listed()


def test_sparse_figures_are_halved_once_and_say_so():
    halved = [(name, about) for _, name, _, about in FIGURES if "halved_from" in about]
    assert {name for name, _ in halved} >= {"H200", "B200", "L4", "RTX-3060", "Jetson-Thor"}
    for _, about in halved:
        assert 2 * about["value"] == about["halved_from"]


def _sixteen_bit(name):
    rates = devices[name].flops_per_s
    return rates["bf16"] if "bf16" in rates else rates["fp16"]


@pytest.mark.parametrize(("name", "counted"), CLOCKS.items())
def test_a_peak_is_cores_times_flops_a_cycle_times_the_clock(name, counted):
    cores, flops, gigahertz = counted
    assert _sixteen_bit(name) == pytest.approx(cores * flops * gigahertz * 1e9, rel=0.009)
    if devices[name].cores and name not in ("TPU-v5e", "TPU-v5p"):  # there, matrix units
        assert devices[name].cores == cores


@pytest.mark.parametrize(("name", "pins"), PINS.items())
def test_a_bandwidth_is_pins_times_bits_a_second(name, pins):
    wires, gigabits = pins
    assert devices[name].bytes_per_s == pytest.approx(wires * gigabits * 1e9 / 8, rel=0.025)


@pytest.mark.parametrize(("name", "ratios"), RATIOS.items())
def test_formats_stand_in_the_ratio_of_the_architecture(name, ratios):
    rates = devices[name].flops_per_s
    for dtype in set(rates) - {"bf16", "fp32"}:
        over = rates[dtype] / _sixteen_bit(name)
        assert over == pytest.approx(ratios.get(dtype, 1), rel=9e-3), dtype
    assert set(ratios) >= set(rates) - {"bf16", "fp16", "fp32"}


#: Devices whose 16-bit rate nothing confirms but its ratio to their other formats.
READ_ONCE = ("Arc-Pro-B60", "DGX-Spark", "Trainium", "Trainium3")


@pytest.mark.parametrize("name", devices)
def test_what_no_format_ratio_says_is_said_by_a_clock(name):
    """Every 16-bit rate follows from cores and a clock, was read on a second page (`checked` in
    its entry), or is an Apple GPU's or a processor's. Ratios of formats say nothing of it."""
    entry = devices._entries[name]
    rates = entry["flops_per_s"]
    sixteen = [rates[dtype] for dtype in ("bf16", "fp16") if dtype in rates]
    read_twice = bool(sixteen) and all("checked" in rate for rate in sixteen)
    is_known = name in {*CLOCKS, *READ_ONCE} or entry["vendor"] in ("Apple", "AMD") or read_twice
    assert is_known, f"give {name} a row of CLOCKS, or its bf16 and fp16 rates a second source"


@pytest.mark.parametrize(("kibibytes", "names"), ON_CHIP.items())
def test_shared_memory_of_a_multiprocessor(kibibytes, names):
    for name in names.split():
        assert devices[name].on_chip == kibibytes * 2**10, name


@pytest.mark.parametrize(("gigabytes", "names"), LINKS.items())
def test_links_each_way(gigabytes, names):
    for name in names.split():
        assert devices[name].interconnect == gigabytes * 1e9, name


def test_memory_is_what_is_printed():
    for name in devices:
        about = devices._entries[name]["capacity"]
        printed = re.search(r"printed as (\d+) Gi?B", about.get("note", ""))
        if printed and "driver" not in about["note"]:
            assert about["value"] == pytest.approx(int(printed[1]) * 2**30, rel=0.025), name


@pytest.mark.parametrize("line", TWICE.split("\n")[1:-1])
def test_figures_are_the_same_both_times(line):
    name, *entered = line.split()
    device = devices[name]
    units = (1e12, 2**30, 2**20, 1, 1e12, 1e9)
    rate = device.flops_per_s.get("fp32")
    figures = (rate, device.capacity, device.cache, device.cores, device.bytes_per_s)
    for figure, unit, text in zip((*figures, device.interconnect), units, entered, strict=True):
        assert (figure is None) == (text == "-")
        assert figure is None or figure / unit == pytest.approx(float(text), rel=1e-4)


def test_apple_prints_no_rate_of_halves_before_the_m5():
    for name in ["M1-Max", "M1-Ultra", "M3-Ultra", "M4", "M4-Pro", "M4-Max"]:
        rates = devices[name].flops_per_s
        assert rates["fp16"] == rates["fp32"]


def test_the_last_cache_before_memory_is_named():
    levels = {name: devices._entries[name].get("cache", {}).get("level") for name in devices}
    assert {name: level for name, level in levels.items() if level} == {
        **dict.fromkeys(("MI300X", "MI325X", "MI350X", "MI355X"), "Infinity Cache"),
        "EPYC-7763": "L3",
        "Gaudi-3": "L2 or L3",
    }
    assert devices["H100-SXM"].cache == 50 * 2**20
    assert devices["H200"].cache == 60 * 2**20


def test_the_two_a100_differ():
    small, large = devices["A100-40GB"], devices["A100-80GB"]
    assert (small.bytes_per_s, large.bytes_per_s) == (1555 * 10**9, 2039 * 10**9)
    assert (small.capacity, large.capacity) == (40 * 2**30, 80 * 2**30)
    with pytest.raises(KeyError, match="'a100' could be A100-40GB or A100-80GB"):
        devices["a100"]


@pytest.mark.parametrize("name", nodes)
def test_every_node_is_whole(name):
    node = nodes[name]
    assert (node.name, node.devices > 1) == (name, True)
    assert node.topology in ("switch", "mesh", "torus")
    assert (node.axes > 1) == (node.topology == "torus")
    assert node.network is None or node.network < node.link
    assert {"devices", "link"} <= set(node.provenance)
    # What a device sends within its node is all that its links carry; a Gaudi keeps three ports.
    share = 21 / 24 if name == "8xGaudi-3" else 1
    assert node.link == node.device.interconnect * share


def test_known_nodes():
    found = {name: (n.device.name, n.devices, n.link, n.network) for name, n in nodes.items()}
    assert found["DGX-H100"] == ("H100-SXM", 8, 450 * 10**9, 50 * 10**9)
    assert found["GB200-NVL72"] == ("GB200", 72, 900 * 10**9, 50 * 10**9)
    assert nodes["8xH100"] is nodes["DGX H100"]
    assert nodes["v5e pod"].link_per_axis == 100e9
    assert nodes["DGX-A100"].link_per_axis == 300e9
    assert sum(node.link * node.devices * 2 for node in (nodes["NVL72"],)) == pytest.approx(
        130e12, rel=0.01
    )


def test_a_node_of_ones_own_and_what_it_must_be():
    mine = Nodes("node", nodes._build, "link")
    pair = Node(name="pair", device=devices["RTX-4090"], devices=2, link=32e9)
    assert mine.register(pair) is mine["Pair"]
    with pytest.raises(TypeError, match="takes a Node, got 'pair'"):
        mine.register("pair")
    with pytest.raises(ValueError, match="devices of a node must be a whole number from 1, got 0"):
        Node(name="none", device=devices["T4"], devices=0, link=1e9)
    with pytest.raises(ValueError, match="link of dead must be a positive number or None, got 0"):
        Node(name="dead", device=devices["T4"], devices=2, link=0)
    with pytest.raises(KeyError, match="no node named 'DGX-H1000'; the nearest is DGX-H100"):
        nodes["DGX-H1000"]
