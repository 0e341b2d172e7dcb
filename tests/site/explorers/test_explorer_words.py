"""What is written beside explorers: what stands in for them, and what their suggestions say."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from costfigures import explorers as fallbacks
from costfigures import start as first_figures
from explorer_settings import ASKED, FIRST, NAMES, STAND_INS, asked
from in_node import HERE, in_page
from paths import ROOT


@pytest.mark.parametrize("name", NAMES)
def test_stand_in_says_what_it_is(name: str) -> None:
    own = {f"explore_{name}"}
    assert own <= {*STAND_INS[name]}, "a page of its own, to link to"
    assert {*STAND_INS[name]} - own, "and it stands where the book explains it"
    assert (HERE / f"{name}.js").is_file()
    for page, html in STAND_INS[name].items():
        assert "can be moved" in html
        assert html.count("<tr>") >= 4
        [cell] = [
            cell
            for cell in nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4).cells
            if f'data-explorer="{name}"' in str(cell.get("outputs", ""))
        ]
        figures = ["".join(o.get("data", {}).get("image/svg+xml", "")) for o in cell.outputs]
        assert any(svg.startswith('<svg class="costlib-figure"') for svg in figures)


def test_stand_ins_show_what_the_explorers_show() -> None:
    seen = {
        name: in_page(f"{name}.js", f"page.compute({FIRST})", [0])[0]
        for name in ("prefill", "step", "memory", "io", "mesh")
    }
    rows = {name: getattr(fallbacks, name)().rows for name in seen}
    at_1024 = next(row for row in rows["prefill"] if row[0] == "1,024")
    assert at_1024[1:] == [f"{x:,.1f}" for x in seen["prefill"]["here"]["intensity"]]
    assert rows["step"][-1][-1] == f"{seen['step']['time'] * 1e3:.3f}"
    shown = [f"{row['parts'][1] / 1e9:.2f}" for row in seen["memory"]["rows"]]
    kinds = [row["name"] for row in seen["memory"]["rows"]]
    assert "a KV head for four query heads (GQA)" not in kinds  # it is what this model has
    assert [row[1] for row in rows["memory"]] == [shown[0], shown[1], shown[2], shown[4]]
    for row in fallbacks.frontier().rows:
        s = {"target": float(row[0].split()[0])}
        [best] = in_page("frontier.js", f"page.compute({{...{FIRST}, ...state}}).best", [s])
        assert row[1:4] == [f"{best['batch']:,}", f"{best['throughput']:,.0f}", best["limit"]]
    first, mesh = rows["mesh"][0], seen["mesh"]
    assert first[1:3] == [f"{mesh['total'] / 1e9:.1f}", f"{mesh['step']:.2f}"]
    assert first[-1] == f"{mesh['mfu']:.1%}"
    N, d = 4096, 64
    for row in rows["io"]:
        M = int(row[0].replace(",", ""))
        [found] = in_page("io.js", "page.at(state, state.M)", [{"N": N, "d": d, "M": M}])
        moved = [*(read + written for read, written, *_ in found["runs"]), found["bound"]]
        assert row[1:] == [f"{each:,.0f}" for each in moved]


def test_stand_in_of_a_budget() -> None:
    """And what a button says of its state."""
    [[seen, better, llama, many]] = asked("budget", "budgets", [0])
    shown = [float(row[1].replace(",", "")) for row in fallbacks.budget().rows]
    assert shown == pytest.approx(seen, rel=5e-3)
    assert better[0] == pytest.approx(seen[0], rel=0.01)
    assert round(better[4] / seen[4]) == 9
    assert llama[1] == pytest.approx(184_320, rel=0.02)
    assert many[0] == pytest.approx(seen[0] / 16)
    assert round(50_000 / 16384) == 3


def test_stand_in_of_the_first_page_and_what_its_buttons_say() -> None:
    tried = in_page("users.js", "page.tries.map((one) => one.state)", [0])[0]
    rows = first_figures.users().rows
    counts = [{"users": int(row[0])} for row in rows]
    shown = asked("users", "users", [*counts, *tried, {**tried[-1], "users": 10**6}])
    for row, seen in zip(rows, shown, strict=False):
        decimals = [len(cell.partition(".")[2]) for cell in row]
        assert row == [f"{x:,.{n}f}" for x, n in zip(seen, decimals, strict=False)]
    one, _, _, thirty, full, packed, brief, mixed, more = shown
    assert thirty[3] / one[3] == pytest.approx(2, abs=0.05)
    assert thirty[2] / one[2] == pytest.approx(15, abs=0.5)
    assert max(full[-1], key=full[-1].get) == "caches"
    assert full[6] < full[3] / 2
    assert packed[1] > 3 * one[1]
    assert brief[-1]["arithmetic"] > brief[-1]["weights"]
    assert mixed[1] > 2 * one[1]
    assert more[4] > 5 * mixed[4]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_to_try_can_be_set(name: str) -> None:
    """Three buttons or more, each with a state that the settings allow, and what to see in it."""
    [tries] = asked(name, "tries", [0])
    assert len(tries) >= 3
    for label, said, refused, unknown in tries:
        assert len(label) < 32
        assert said > 60
        assert (refused, unknown) == ([], []), label


#: For each explorer what should come out of what its suggestions say, in the order of asked.js.
SAID: dict[str, list[Any]] = {
    "frontier": [1 / 3, 4.2, 3.0, 1.0, None, "2", True, True],
    "io": [
        *(1.41, 1.09, 1.34, 1.0, 2.0, 1.44, 1.36, 81.0, 33.0, 33.0, 3.9, 3.9),
        *(1.83, 2.69, 1.83, 2.21, 2.21),
    ],
    "memory": [1.1, 4.0, 310, 173, 10, True, 2.0, 1.0],
    "prefill": [0.98, 46.0, True, True],
    "speculative": [9, 3.0, 4, 1.6, 5, 2.7, 3, 1.35, True, 13, 180, 90, 156, 61],
    "step": [7.63, 3.95, 7.0, True],
    "film": [512, 1728, True, 448, 64, 448, 288],
    "serving_film": [True, True, 1.0, True, True],
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_suggestion_says_is_so(name: str) -> None:
    """Each number of its words, and what it says of more or less."""
    [found] = in_page(f"{name}.js", "asked.said(page, state)", [name], asked=ASKED)
    for value, expected in zip(found, SAID[name], strict=True):
        if isinstance(expected, float):
            assert value == pytest.approx(expected, rel=0.05), (name, found)
        else:
            assert value == expected, (name, found)


def test_what_is_suggested_of_a_mesh_is_so() -> None:
    """Each suggestion shows what it says."""
    [[copies, across, bubble, large, long, mixture]] = asked("mesh", "folds", [0])
    assert not copies["it"]["fits"]
    assert copies["zero"]["fits"]
    assert copies["zero"]["parts"]["data"] == 0 < copies["zero"]["sending"]["data.network"]
    assert (across["it"]["binds"], across["folded"]["binds"]) == ("tensor", "products")
    assert bubble["it"]["parts"]["bubble"] > bubble["it"]["step"] / 2
    assert bubble["batch"]["parts"]["bubble"] < bubble["batch"]["step"] / 8
    assert 0.4 < large["whole"]["parts"]["bubble"] / large["whole"]["step"] < 0.5
    assert long["it"]["parts"]["context"] == 0 < long["it"]["sending"]["context.network"]
    assert mixture["it"]["binds"] == "expert" != mixture["near"]["binds"]
    assert all(each["it"]["fits"] for each in (across, bubble, large, long, mixture))
