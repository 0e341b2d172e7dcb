"""What is written beside explorers: what stands in for them, and what their suggestions say."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from costfigures import explorers as fallbacks
from costfigures import start as first_figures
from explorer_settings import FIRST, NAMES, STAND_INS
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
    keys = "[r.days, r.hours, r.dollars, r.energy / 1e3, r.state.total / 1e9, r.fewest,"
    keys += " r.lost.failures, r.lost.work / 3600, r.best.size / 1e9, r.best.count / 1e9]"
    tried = f"[{{}}, ...page.tries.map((each) => each.state)].map((more) => ((r) => {keys})"
    tried += f"(page.compute({{...{FIRST}, ...more}})))"
    [[seen, better, llama, many]] = in_page("budget.js", tried, [0])
    shown = [float(row[1].replace(",", "")) for row in fallbacks.budget().rows]
    assert shown == pytest.approx(seen, rel=5e-3)
    assert better[0] == pytest.approx(seen[0], rel=0.01)
    assert round(better[4] / seen[4]) == 9
    assert llama[1] == pytest.approx(184_320, rel=0.02)
    assert many[0] == pytest.approx(seen[0] / 16)
    assert round(50_000 / 16384) == 3


def test_stand_in_of_the_first_page_and_what_its_buttons_say() -> None:
    each = "((r) => [r.users, 1 / r.here.seconds, r.users / r.here.seconds, 1e3 * r.here.seconds,"
    each += " ...['weights', 'caches'].map((kind) => 1e3 * r.here.parts[kind]), 1e3 * r.here.busy,"
    each += " (r.keeps.weights + r.users * r.keeps.cache) / 1e9, r.here.parts])"
    body = f"({each})(page.compute({{...{FIRST}, ...state}}))"
    tried = in_page("users.js", "page.tries.map((one) => one.state)", [0])[0]
    rows = first_figures.users().rows
    counts = [{"users": int(row[0])} for row in rows]
    shown = in_page("users.js", body, [*counts, *tried, {**tried[-1], "users": 10**6}])
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


ALLOWED = """page.tries.map(({ label, state, say }) => {
  const whole = { ...Object.fromEntries(page.controls.map((c) => [c.id, c.value])), ...state };
  const choices = (c) => (typeof c.options === 'function' ? c.options(whole) : c.options);
  const allowed = (c, value) => {
    if (c.type === 'number') return value >= c.min && (value <= c.max || c.elsewhere);
    if (c.type === 'hidden') return c.pattern.test(value);
    return choices(c).map(([each]) => each).includes(value);
  };
  const refused = page.controls.filter((c) => !allowed(c, whole[c.id])).map((c) => c.id);
  const unknown = Object.keys(state).filter((id) => !page.controls.some((c) => c.id === id));
  return [label, say.length, refused, unknown];
})"""


@pytest.mark.parametrize("name", NAMES)
def test_what_is_to_try_can_be_set(name: str) -> None:
    """Three buttons or more, each with a state that the settings allow, and what to see in it."""
    [tries] = in_page(f"{name}.js", ALLOWED, [0])
    assert len(tries) >= 3
    for label, said, refused, unknown in tries:
        assert len(label) < 32
        assert said > 60
        assert (refused, unknown) == ([], []), label


#: For each explorer what its suggestions say, as numbers of the states that they set: `at(label)`
#: is what is computed there (of an empty one as it opens); and what should come out.
SAID_OF: dict[str, tuple[str, list[Any]]] = {
    "frontier": (
        """[at('Ask for 6 ms').best.throughput / at('').best.throughput,
        at('').best.perToken / at('Ask for 6 ms').best.perToken,
        at('Weights in 4 bits').best.batch / at('Ask for 6 ms').best.batch,
        top('Weights in 4 bits') / top(''),
        at('Out of reach').best, at('Out of reach').instead.shared,
        ...['A long context', 'A mixture'].map((one) => at(one).lines.bend > at(one).most)]""",
        [1 / 3, 4.2, 3.0, 1.0, None, "2", True, True],
    ),
    "io": (
        """[...['M = d²', '', 'Tiny M', 'Huge M'].map((one) => Math.min(...over(at(one)))),
        Math.max(...at('').points.filter(({ M }) => M >= 4096).map((each) =>
        over({ here: each })[2])),
        over(at('M = d²'))[2], over(at('Tiny M'))[0],
        ...[0, 3, 4].map((which) => over(at('Huge M'))[which]),
        at('Twice the width').overtaken / at('').overtaken,
        moved(at('Twice the width').here.runs[2]) / moved(at('').here.runs[2]),
        ...[4, 2].map((which) => over(at('Backward, M = d²'))[which]),
        Math.min(...over(at('Backward, M = d²'))),
        ...[Math.min, (...all) => all[2]].map((one) =>
        one(...over(at('Backward, M = d²', { M: 16384 }))))]""",
        [
            *(1.41, 1.09, 1.34, 1.0, 2.0, 1.44, 1.36, 81.0, 33.0, 33.0, 3.9, 3.9),
            *(1.83, 2.69, 1.83, 2.21, 2.21),
        ],
    ),
    "memory": (
        """[parts('')[1] / parts('')[0], parts('Four times the context')[1] / parts('')[1],
        most('As it is published'), most('As it is published', { weights: '2' }),
        most('A small device'), parts('A small device', { weights: '2' })[0] > 15.46e9,
        most('A cache in 1 byte') / most(''),
        at('A long context').rows.map((row) => row.parts[1]).sort((a, b) => a - b)[0] / 2 ** 29]""",
        [1.1, 4.0, 310, 173, 10, True, 2.0, 1.0],
    ),
    "prefill": (
        """[counted('A batch of short prompts') / counted(''),
        bytes('Scores in memory') / bytes('A long prompt'),
        counted('Scores in memory') < at('').ridge,
        counted('A mixture') > at('A mixture').here.intensity[0]]""",
        [0.98, 46.0, True, True],
    ),
    "speculative": (
        """[...['', 'Half accepted', 'Short caches, a batch of 32', 'A slow draft'].flatMap((one) =>
        [at(one).best.fresh, at(one).best.faster]), at('').here.intensity[0] > 1.5 *
        Math.max(...at('').here.intensity.slice(1)), at('Short caches, a batch of 32').crossings[2],
        at('One user').crossings[2], ...[0,
        2].map((which) => at('A long cache').crossings[which]),
        at('Shared heads').crossings[2]]""",
        [9, 3.0, 4, 1.6, 5, 2.7, 3, 1.35, True, 13, 180, 90, 156, 61],
    ),
    "step": (
        """[...['2', '1'].map((weights) => 1e3 * at('Weights in 1 byte', { weights }).time),
        at('Eight devices', { shared: '1' }).time / at('Eight devices').time,
        at('The cache in 1 byte').time < at('The cache in 1 byte', { weights: '1',
        kv: '2' }).time]""",
        [7.63, 3.95, 7.0, True],
    ),
    "film": (
        """[...at('Both at the end').standings.map(({ reads, writes }) => reads + writes),
        at('Half the memory').standings[0].reads > at('Both at the end').standings[0].reads,
        ...at('Rows against columns').standings.flatMap(({ reads, writes }) => [reads, writes])]""",
        [512, 1728, True, 448, 64, 448, 288],
    ),
    "serving_film": (
        """[...at('Block by block').both.map(({ runs }) => runs.some(({ back }) =>
        back.length > 0)),
        at('All at once').felt[0].pause / at('All at once').felt[0].slowest,
        at('Tiny chunks').felt[1].first > 10 * at('').felt[1].first,
        at('A quiet hour').felt[0].pause > 10 * at('A quiet hour').felt[1].pause]""",
        [True, True, 1.0, True, True],
    ),
}


SUGGESTED = """(() => {
  const first = Object.fromEntries(page.controls.map((c) => [c.id, c.value]));
  const found = (label) => page.tries.find((one) => one.label === label)?.state;
  const at = (label, more) => page.compute({ ...first, ...found(label), ...more });
  const top = (label) => Math.max(...at(label).frontier.map((each) => each.throughput));
  const moved = (run) => (run ? run[0] + run[1] : Infinity);
  const over = ({ here }) => here.runs.map((run) => moved(run) / here.bound);
  const parts = (label, more) => at(label, more).rows[0].parts;
  const most = (label, more) => at(label, more).rows[0].largestBatch;
  const counted = (label) => at(label).here.intensity[1];
  const bytes = (label) => at(label).here.counted[1];
  return %s;
})()"""


@pytest.mark.parametrize("name", SAID_OF)
def test_what_a_suggestion_says_is_so(name: str) -> None:
    """Each number of its words, and what it says of more or less."""
    body, said = SAID_OF[name]
    [found] = in_page(f"{name}.js", SUGGESTED % body, [0])
    for value, expected in zip(found, said, strict=True):
        if isinstance(expected, float):
            assert value == pytest.approx(expected, rel=0.05), (found, said)
        else:
            assert value == expected, (found, said)


def test_what_is_suggested_of_a_mesh_is_so() -> None:
    """Each suggestion shows what it says."""
    body = """page.tries.map(({ state }) => {
      const whole = { ...Object.fromEntries(page.controls.map((c) => [c.id, c.value])), ...state };
      const at = (changes) => page.compute({ ...whole, ...changes });
      return [at({}), at({ zero: '3' }), at({ batch: '128' }), at({ chunks: '1' }),
        at({ tensor: '8', pipeline: '4' }), whole.expert === '64' ? at({ expert: '8' }) : null];
    })"""
    [found] = in_page("mesh.js", body, [0])
    copies, across, bubble, large, long, mixture = (
        dict(zip(("it", "zero", "batch", "whole", "folded", "near"), each, strict=True))
        for each in found
    )
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
