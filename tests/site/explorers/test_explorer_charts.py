"""The charts of explorers as SVG: what is written in them, and what one takes hold of."""

from __future__ import annotations

import re

import pytest

from explorer_settings import ASKED, CHARTS, asked
from in_node import in_page


def pictures(name: str, *, suggested: bool = False) -> list[list[str]]:
    """Each chart of an explorer as SVG for a page and a phone: as it opens, and as it suggests."""
    body = "asked.pictures(page, state, picture)"
    [charts] = in_page(f"{name}.js", body, [suggested], picture="picture.js", asked=ASKED)
    return charts


def test_straight_lines_stay_straight() -> None:
    """A power law is one line: no vertex is further from it than a hundredth of a pixel."""
    spec = "{title: '', alt: '', x: {label: ''}, y: {label: ''}, xs: state, "
    spec += "series: [{label: 'a', ys: state.map((x) => 3 * x ** -0.5)}]}"
    [svg] = in_page("picture.js", f"page.picture({spec}, 700).svg", [[1.1**n for n in range(80)]])
    [path] = re.findall(
        r'd="M([^"]*)" stroke="#2f7fc1" stroke-dasharray="" class="chart-line"', svg
    )
    points = [tuple(map(float, each.split())) for each in path.split("L")]
    (x0, y0), (x1, y1) = points[0], points[-1]
    assert all(abs(y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y) < 0.02 for x, y in points)
    assert len({y % 1 for _, y in points}) > 10  # not whole pixels


@pytest.mark.parametrize(
    ("low", "high", "marked"),
    [
        (42, 50.2, [42, 44, 46, 48, 50]),
        (18, 70, [20, 30, 40, 50, 60, 70]),
        (1, 100, [1, 2, 5, 10, 20, 50, 100]),
    ],
)
def test_a_short_axis_has_more_than_one_value(low: float, high: float, marked: list[float]) -> None:
    body = "page.ticksOf({ low: state[0], high: state[1], linear: false, from: 46, to: 600 }, 44)"
    assert in_page("picture.js", body, [[low, high]]) == [marked]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1, 10, 1000], ["1", "10", "1,000"]),
        ([0.1, 1, 100, 1e4, 1e6], ["0.1", "1", "100", "10 k", "1 M"]),
        ([1000, 2e4, 5e11], ["1 k", "20 k", "500 G"]),
        ([1e-4, 0.01, 1], ["100 µ", "0.01", "1"]),
    ],
)
def test_an_axis_has_one_notation(values: list[float], written: list[str]) -> None:
    """What is large has a prefix as soon as one number of an axis needs it, and never a power."""
    assert in_page("picture.js", "page.ticks(state)", [values]) == [written]


@pytest.mark.parametrize(("x", "y"), [(1, 5000), (100000, 0.01), (30, 30)])
def test_an_axis_reaches_what_is_held(x: float, y: float) -> None:
    """A line that is held is drawn where it is, beyond all values too, and not at the edge."""
    spec = "{{title: '', alt: '', x: {{label: ''}}, y: {{label: ''}}, xs: [20, 200], at: {{{}}}, "
    spec += "series: [{{label: 'a', ys: [2, 50]}}]}}"
    for held, axis in ((f"x: {x}", "x"), (f"y: {y}", "y")):
        body = f"page.frameOf({spec.format(held)}, state)"
        for frame in in_page("picture.js", body, [343, 700]):
            assert frame[axis]["low"] <= {"x": x, "y": y}[axis] <= frame[axis]["high"]


def test_a_leader_runs_through_no_words() -> None:
    """Neither as it opens nor where it suggests to go does the thin line from a dot to its words
    cross those of another."""
    leader = r'd="M([-\d.]+) ([-\d.]+)L([-\d.]+) ([-\d.]+)" class="chart-leader"'
    text = r'<text x="([-\d.]+)" y="([-\d.]+)" class="chart-word[^"]*" text-anchor="(\w+)">([^<]*)<'
    for svg in (each for chart in pictures("step", suggested=True) for each in chart):
        words = re.findall(text, svg)
        [widths] = in_page("picture.js", "state.map(page.widthOf)", [[w[3] for w in words]])
        for path in re.findall(leader, svg):
            x0, y0, x1, y1 = map(float, path)
            for (x, y, anchor, word), width in zip(words, widths, strict=True):
                left = float(x) - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
                for share in (each / 20 for each in range(19)):
                    at = (x0 + share * (x1 - x0), y0 + share * (y1 - y0))
                    across = left < at[0] < left + width
                    assert not (across and float(y) - 9 < at[1] < float(y)), word


@pytest.mark.parametrize("name", CHARTS)
def test_words_of_a_chart_stand_apart(name: str) -> None:
    """As it opens, and wherever it suggests to go: beside a dot, at a line's end or on a mark, no
    word is written on another.
    """
    text = r'<text x="([-\d.]+)" y="([-\d.]+)" class="([^"]*)" text-anchor="(\w+)">([^<]*)<'
    for chart in pictures(name, suggested=True):
        for svg in chart:
            words = [each for each in re.findall(text, svg) if "chart-region" not in each[2]]
            [widths] = in_page("picture.js", "state.map(page.widthOf)", [[w[4] for w in words]])
            boxes = []
            for (x, y, kind, anchor, word), width in zip(words, widths, strict=True):
                if kind in ("chart-tick", "chart-axis"):
                    continue
                left = float(x) - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
                boxes.append((word, left, left + width, float(y) - 10, float(y) + 2))
            assert len(boxes) >= 2
            for at, (word, left, right, top, bottom) in enumerate(boxes):
                for other, *box in boxes[:at]:
                    apart = left >= box[1] or right <= box[0] or top >= box[3] or bottom <= box[2]
                    assert apart, (word, other)


def test_words_say_whose_they_are() -> None:
    """Values stand in the order of their dots, dots on one another have one label, and what is held
    is named on top of its line."""
    spec = """{title: '', alt: '', x: {label: ''}, y: {label: ''}, xs: [1, 10, 100], names: state,
      marks: [{x: 9, label: 'mark'}], at: {x: 10, label: 'held'}, drag: () => ({}),
      series: [[11, 12, 13], [90, 80, 70], [10, 10.5, 11], [6, 7, 8]].map((ys, at) =>
        ({label: 'line ' + at, ys})).concat({label: 'dots', ys: [5, null, 40], scatter: true},
        {label: 'others', ys: [5.1, null, null], scatter: true})}"""
    [svg] = in_page("picture.js", f"page.picture({spec}, 700).svg", [["first", "", "last"]])
    texts = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"[^>]*>([^<]*)<', svg)
    at = {words: (float(x), float(y)) for x, y, words in texts}
    values = sorted(
        (y, words) for words, (_, y) in at.items() if words in ("80", "12", "10.5", "7")
    )
    assert [words for _, words in values] == ["80", "12", "10.5", "7"]
    assert sum("first" in words for _, _, words in texts) == 1
    held = float(re.search(r'd="M([\d.]+) [\d.]+V[\d.]+" class="chart-held"', svg)[1])
    assert at["held"] == (pytest.approx(held), 30)
    assert at["mark"][1] > 24
    mark = float(re.search(r'd="M([\d.]+) [\d.]+V[\d.]+" class="chart-rule"', svg)[1])
    assert abs(at["mark"][0] - mark) == 5, "beside its line, on either side"


@pytest.mark.parametrize("name", CHARTS)
def test_nothing_is_hidden_by_what_one_takes_hold_of(name: str) -> None:
    """No number of an axis is under a handle as it opens, and all words are on top of lines."""
    text = r'<text x="([-\d.]+)" y="([-\d.]+)" class="[^"]*" text-anchor="(\w+)">(.*?)</text>'
    for svg in (each for chart in pictures(name) for each in chart):
        [at] = re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)(rotate)?[^>]*><rect", svg)
        x, y, (wide, high) = float(at[0]), float(at[1]), (8, 13) if at[2] else (13, 8)
        words = [(*each[:3], re.sub("<[^>]*>", "", each[3])) for each in re.findall(text, svg)]
        [widths] = in_page("picture.js", "state.map(page.widthOf)", [[each[3] for each in words]])
        for (left, base, anchor, word), width in zip(words, widths, strict=True):
            start = float(left) - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
            beside = start + width <= x - wide or start >= x + wide
            assert beside or float(base) + 2 <= y - high or float(base) - 9 >= y + high, word
        assert svg.rindex('class="chart-held"') < svg.index('class="chart-lines"')
        assert svg.rindex('class="chart-line"') < svg.index('class="chart-word')


def test_charts_can_be_dragged_and_say_so() -> None:
    """Every chart has a point to hold, that lies on it and moves when it is dragged."""
    for name in CHARTS:
        [charts] = asked(name, "held", [0])
        assert charts, name
        assert all(held and moved for held, moved in charts), (name, charts)
