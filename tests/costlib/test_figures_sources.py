"""The sources: the words of figures agree with counts made here, the page prints every figure."""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree import ElementTree

import nbformat
import pytest
from bs4 import BeautifulSoup

import costlib
from costfigures import COLOURS, Figure
from costfigures import sources as figures
from costlib.sources import Reconciliation, printed, reconcile
from figure_checks import check_words_apart, figures_of
from paths import ROOT

pytestmark = pytest.mark.slow

LLAMA = costlib.models["llama-2-7b"]
PAGE = ROOT / "book" / "sources.ipynb"
SMALL = Reconciliation(1500, 1000, {"too many": 700, "too few": -200, "alike": 0})
STEP = {"far": (8000, None), "near": (90, 210), "ledger": (100, 200)}
COUNTS = {"low": (10e12, "tool"), "same": (10.001e12, "paper"), "high": (25e12, "paper")}
PARTS = {"layers": (1e9, 1e9), "attention": (0, 2.5e8)}

DRAWINGS = {
    "differences": lambda: figures.differences(SMALL, "From 1500 to 1000", "B"),
    "same_step": lambda: figures.same_step(STEP),
    "answers": lambda: figures.answers(COUNTS, "a small model"),
    "recorded": lambda: figures.recorded(PARTS, ("blind", "seeing"), "operations"),
}


@lru_cache
def drawn(name: str) -> Figure:
    return DRAWINGS[name]()


def test_every_figure_is_tested():
    assert set(DRAWINGS) == figures_of(figures)


@pytest.mark.parametrize("name", DRAWINGS)
def test_words_stand_apart(name):
    check_words_apart(drawn(name))


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_is_one_described_svg(name):
    figure = drawn(name)
    root = ElementTree.fromstring(figure.svg)
    assert root.get("role") == "img"
    assert figure.title.strip()
    assert figure.alt.strip().endswith(".")
    assert any(colour in figure.svg for colour in COLOURS)
    assert float(root.get("width")) <= 6.0 * 72
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", figure.svg)]
    assert sizes
    assert min(sizes) * 375 / float(root.get("width")) >= 9


def test_differences_say_both_totals_and_every_term_with_its_sign():
    alt = drawn("differences").alt
    assert "the source counts 1.5 kB, the ledger 1 kB" in alt
    assert "alike" not in alt
    assert "too many, +700 B; too few, −200 B; together +500 B" in alt


def test_differences_of_a_real_source_sum_to_that_of_the_totals():
    found = reconcile("sparq", LLAMA, B=1, S=2047)["bytes"]
    alt = figures.differences(found, "t", "B").alt
    *terms, told = re.findall(r"([+−])([\d.]+) ([kMG])B(?=[;.])", alt)
    prefix = {"k": 1e3, "M": 1e6, "G": 1e9}
    sizes = [(1 if sign == "+" else -1) * float(n) * prefix[p] for sign, n, p in (*terms, told)]
    assert sum(sizes[:-1]) == pytest.approx(sizes[-1], abs=2e5)
    assert sizes[-1] == pytest.approx(found.difference, rel=1e-3)
    assert "2 smaller ones" in alt  # those below a hundredth of the largest
    assert sum(term != 0 for term in found.terms.values()) == len(terms) + 1


def test_differences_are_bars_from_one_line_to_a_round_multiple_of_the_scale():
    svg = drawn("differences").svg
    assert "the differences, twice as long:" in svg  # from −200 to 700 beside a bar of 1,500
    bars = []
    for path in re.findall(r'<path d="(M[^"]+z)\s*" clip-path', svg):
        across = [float(x) for x in re.findall(r"-?[\d.]+", path)][::2]
        bars.append((min(across), max(across)))
    source, ledger, more, less, together = bars
    unit = (source[1] - source[0]) / 1500
    assert ledger[1] - ledger[0] == pytest.approx(1000 * unit, abs=0.02)
    assert more[1] - more[0] == pytest.approx(2 * 700 * unit, abs=0.02)
    assert less[1] - less[0] == pytest.approx(2 * 200 * unit, abs=0.02)
    assert more[0] == less[1] == together[0]  # the line
    far = reconcile("sparq", LLAMA, B=1, S=2047)["bytes"]
    assert "the differences, 50 times as long:" in figures.differences(far, "t", "B").svg


def test_words_take_no_prefix_of_their_own():
    head = reconcile("saha-ye", N=2048, d=128)["entries"]
    figure = figures.differences(head, "t", "entries")
    assert "4.194 M entries" in figure.alt
    check_words_apart(figure)


def test_same_step_gives_ratios_to_the_ledger():
    figure = drawn("same_step")
    assert "far 80 times the FLOPs;" in figure.alt
    assert "near 0.9 times the FLOPs and 1.05 times the bytes" in figure.alt
    assert figure.title.endswith(f"factor of {8000 / 90:.0f}")


def test_answers_are_ordered_and_counted_to_three_digits():
    figure = drawn("answers")
    assert figure.title == "One model, 2 answers: a factor of 2.5"
    assert figure.alt.index("low") < figure.alt.index("same") < figure.alt.index("high")


def test_recorded_names_every_part():
    figure = drawn("recorded")
    assert figure.title.startswith("Two tools, 25% apart")
    assert "seeing: layers 1 G operations, attention 250 M operations" in figure.alt


# ---------------------------------------------------------------- the page


@lru_cache
def outputs() -> str:
    """All text and tables that the page printed."""
    found = []
    for cell in nbformat.read(PAGE, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" not in data:
                found += ["".join(output.get("text", "")), "".join(data.get("text/html", ""))]
    return "\n".join(found)


PUBLISHED = {
    "deepml": "320 340 1.0625 4,456,448 302,645,248 67.9118 1,375,731,712 344,268,472,320 250.2439",
    "sparq": "0.002 0.344 0.042 8.596 0.215 43.019 0.0 3.8 0.5 95.7 0.4 82.9 0.1 16.6",
    "suresh": "40 48 0.260 0.307 4.307 0.524 69.53 8.25 101 23 30",
    "jamesnulliu": "153 13743895347200 14536870912 945.45 117.85 13421772800 14269484032 0.9406"
    " 27.4904",
    "saha-ye": "",
}
RESULTS = {"deepml": 9, "sparq": 16, "suresh": 10, "jamesnulliu": 9, "saha-ye": 0}
INPUTS = {
    "deepml": "",
    "sparq": "125 TFLOP/s 600 GB/s 24 GB 312 TFLOP/s 1.56 TB/s 40 GB",
    "suresh": "101",
    "jamesnulliu": "",
    "saha-ye": "19 TB/s 20 MB 1.5 TB/s 40 GB 12.8 GB/s 1 TB",
}


@pytest.mark.parametrize("source", PUBLISHED)
def test_every_published_figure_is_what_its_formula_gives(source):
    rows = printed(source)
    assert [row.printed for row in rows] == [row.computed for row in rows]
    assert set(PUBLISHED[source].split()) <= {row.printed for row in rows}
    inputs = [row.printed for row in rows if row.is_input]
    assert " ".join(inputs) == INPUTS[source]
    found = (RESULTS[source], RESULTS[source], len(inputs))
    assert len(rows) - len(inputs) == RESULTS[source]
    assert re.search(rf"<th>{source}</th>" + "".join(rf"\s*<td>{n}</td>" for n in found), outputs())


@pytest.mark.parametrize(
    "corrected",
    ["3.11", "13.93", "815.94", "84", "309", "85", "131.1 MB", "516.1 MB", "4", "16"],
)
def test_corrected_figures_of_the_post_are_on_the_page(corrected):
    assert f"<td>{corrected}</td>" in outputs()


@pytest.mark.parametrize(
    "size",
    [
        "softmax | 0.19%",
        "1,024 cached | 8.984 | 8.940 | 0.168",
        "both, with the softmax | 58.82",
        "scores | 1000",
        "values | 31.25",
        "sparse | 101 | 7,249",
        "dense | 50.5 | 3,624",
        "memory, 360 GB/s over 16 GB | | 22.5",
        "1 new, 1,000,000 cached | 1.95 | 0.0%",
        "512 new, 1,024 cached | 1.01 | 20.0%",
        "131,072 tokens | 129,305 | 3,981 | 87",
        "feed-forward FLOPs of a GPU | 137.4 GFLOP | 1.1 TFLOP",
    ],
)
def test_every_erratum_has_its_size_on_the_page(size):
    assert [each.strip() for each in size.split("|")] in rows()


def test_what_the_library_says_of_two_parts_is_on_the_page():
    assert "circle: parts 0, 1 depend on one another" in outputs()


def rows() -> list[list[str]]:
    """Every row of every table that the page printed."""
    found = BeautifulSoup(outputs(), "html.parser").find_all("tr")
    return [[each.get_text().strip() for each in row.find_all(["th", "td"])] for row in found]


def test_conventions_by_hand():
    """The answers of the page, from the sizes of Llama 2 7B alone."""
    layers, width, wide, vocab, heads, tokens = 32, 4096, 11008, 32000, 32, 2048
    blocks = layers * (4 * width**2 + 3 * width * wide)
    linear = 2 * tokens * (blocks + vocab * width)
    full = layers * 4 * tokens**2 * width
    params = blocks + 2 * vocab * width + (2 * layers + 1) * width
    logits = 2 * tokens * vocab * width
    expected = {
        "thop": linear / 2,
        "fvcore, plain attention": (linear + full) / 2,
        "calflops": linear + tokens * layers * wide,
        "2 per parameter": 2 * params * tokens,
        "Kaplan": 2 * blocks * tokens + full / 2,
        "Megatron-LM": linear + full / 2,
        "FlopCounterMode": linear + full,
        "PaLM": 2 * params * tokens + full,
        "Chinchilla": linear + logits + full + 3 * layers * heads * tokens**2,
    }
    printed = {
        row[0]: float(row[1])
        for row in rows()
        if re.fullmatch(r"[+-][\d.]+%", row[-1])
        if len(row) == 3
    }
    assert len(printed) == 12  # and this book itself, of which nothing differs
    for name, value in expected.items():
        assert printed[name] == pytest.approx(value / 1e12, abs=0.0051), name
