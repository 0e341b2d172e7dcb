"""Drawings: things stand where they were put, and the check of words sees what it is for."""

from __future__ import annotations

import re

import pytest

from costfigures import COLOURS, Figure, canvas
from costfigures.sketch import Sketch, sketch
from figure_checks import check_colours, check_described, check_words_apart

pytestmark = pytest.mark.slow

ALT = "What is drawn here is told at twice the length of the title, and once more."


def drawn(*words: tuple[tuple[float, float], str], **style: object) -> Figure:
    with sketch("Words", ALT, width=300, height=100) as drawing:
        for at, text in words:
            drawing.text(at, text, **style)
    return drawing.result


def paths(draw: object, *arguments: object, **style: object) -> list[str]:
    with sketch("Shapes", ALT, width=300, height=100) as drawing:
        draw(drawing, *arguments, **style)
    figure = drawing.result
    check_described(figure)
    check_colours(figure)
    found = re.findall(r'<path d="([^"]+)"', figure.svg)[1:]  # the first is the paper
    return [" ".join(path.split()) for path in found]


def test_a_point_is_a_pixel_and_down_is_down() -> None:
    assert paths(Sketch.box, (10, 20), 100, 30) == ["M 10 20 L 110 20 L 110 50 L 10 50 L 10 20 z"]
    assert 'viewBox="0 0 300 100"' in drawn(((10, 10), "a")).svg


def test_an_arrow_ends_where_it_points() -> None:
    shaft, head = paths(Sketch.arrow, (10, 50), (40, 50), (40, 90), colour=COLOURS[1])
    assert head.startswith("M 40 90 ")
    assert shaft.startswith("M 10 50 L 40 50 L 40 8")


def test_a_grid_is_one_element() -> None:
    (grid,) = paths(Sketch.cells, (10, 10), 3, 5, 12)
    assert grid.count("M") == 4 + 6
    (cells,) = paths(Sketch.fill, (10, 10), [(0, 0), (2, 4)], 12, COLOURS[0])
    assert cells.count("z") == 2
    assert "M 58 34" in cells
    assert paths(Sketch.fill, (10, 10), [], 12, COLOURS[0]) == []


def test_a_dimension_is_level_or_upright() -> None:
    ends = paths(Sketch.dimension, (10, 50), (90, 50), "k")
    assert ends == ["M 10 47 L 10 53", "M 90 47 L 90 53", "M 10 50 L 90 50"]
    ends = paths(Sketch.dimension, (10, 50), (10, 90), "m")
    assert ends == ["M 7 50 L 13 50", "M 7 90 L 13 90", "M 10 50 L 10 90"]


@pytest.mark.parametrize("style", [{}, {"align": "middle"}, {"align": "right"}, {"upright": True}])
def test_words_apart(style: dict[str, object]) -> None:
    check_words_apart(drawn(((150, 50), "here"), ((190, 80), "there"), **style))
    with pytest.raises(AssertionError, match=r"'there' on 'here'|'here' on 'there'"):
        check_words_apart(drawn(((150, 50), "here"), ((152, 52), "there"), **style))


@pytest.mark.parametrize("at", [(290, 50), (-10, 50), (150, -5), (150, 105)])
def test_words_inside(at: tuple[float, float]) -> None:
    with pytest.raises(AssertionError, match="'beyond' leaves"):
        check_words_apart(drawn((at, "beyond")))


def test_words_of_a_chart() -> None:
    with canvas("Words", ALT) as paper:
        paper.axes.plot([1, 2])
        paper.axes.set(xlabel="below", ylabel="beside")
    check_words_apart(paper.result)
    with canvas("Words", ALT) as paper:
        paper.axes.set(xlabel="a label as long as can be, " * 5)
    with pytest.raises(AssertionError, match="leaves"):
        check_words_apart(paper.result)


def test_lines_of_words_end_together_in_any_face() -> None:
    with canvas("Words", ALT) as paper:
        paper.axes.set_yticks([0, 1], ["one", "two\nand more"])
        paper.axes.text(0.5, 0.5, "three\nand still more", ha="center", gid="halo")
    found = re.findall(r"text-anchor: (\w+).*?translate\((\S+) [^>]*>([^<]+)<", paper.result.svg)
    places = {words: (anchor, float(x)) for anchor, x, words in found}
    assert places["two"] == places["and more"]
    assert places["and more"][0] == "end"
    assert places["three"] == places["and still more"]
    assert places["three"][0] == "middle"
    assert paper.result.svg.count("paint-order") == 1
    check_words_apart(paper.result)


@pytest.mark.parametrize(
    ("most", "words"), [(3000, "1,500"), (2e-7, "1e−7"), (5e8, "1e8"), (2, "0.50")]
)
def test_thousands_of_an_axis_have_commas(most: float, words: str) -> None:
    with canvas("Words", ALT) as paper:
        paper.axes.plot([0, most])
    assert f">{words}</text>" in paper.result.svg
