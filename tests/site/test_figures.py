"""Every figure of every page, a reader's own among them, as the notebooks and the site have it."""

from __future__ import annotations

import json
import re
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import sampling
from browsing import Visit
from costfigures import Figure, canvas
from figure_checks import (
    check_colours,
    check_legends_beside_what_is_drawn,
    check_readable,
    check_words_apart,
)
from tools.site import cards
from tools.site.drawings import brief, strokes
from tools.site.drawings import path as brief_path
from tools.site.lettering import lettered

BOOK = Path(__file__).parents[2] / "book"


def figures(page: Path) -> list[Figure]:
    cells = json.loads(page.read_text("utf-8"))["cells"]
    return [figure for cell in cells for figure in shown_by(cell)]


def shown_by(cell: dict[str, Any]) -> list[Figure]:
    shown = [
        "".join(output["data"]["image/svg+xml"])
        for output in cell.get("outputs", [])
        if "image/svg+xml" in output.get("data", {})
    ]
    titles = [unescape(re.search(r"<title[^>]*>(.*?)</title>", svg)[1]) for svg in shown]
    return [Figure(svg, title, "") for svg, title in zip(shown, titles, strict=True)]


def captions(page: Path) -> list[str]:
    cells = json.loads(page.read_text("utf-8"))["cells"]
    found = [cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in cells]
    return [figure["caption"] for figure in found if "caption" in figure]


PAGES = sorted(BOOK.glob("*.ipynb"))


def test_chapters_have_figures() -> None:
    counts = [len(figures(page)) for page in PAGES]
    assert sum(count > 0 for count in counts) > 12
    assert sum(counts) > 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_words_stand_apart_and_are_legible_on_a_phone_in_the_books_colours(page: Path) -> None:
    for figure in figures(page):
        check_colours(figure)
        check_words_apart(figure)
        check_legends_beside_what_is_drawn(figure)
        check_readable(figure)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_caption_begins_with_what_the_figure_says(page: Path) -> None:
    for caption in captions(page):
        assert (message := re.match(r"\*\*(.+?[.:,])\*\*", caption)), caption
        assert 25 < len(message[1]) < 130, message[1]


@pytest.mark.parametrize("place", [(0.5, 0.5), (0.5, 0.9)])
def test_a_legend_over_a_marker_or_a_word_is_found(place: tuple[float, float]) -> None:
    with canvas("A legend in the middle", "It covers what is there.") as drawing:
        drawing.axes.plot([0, 0.5, 1], [0, place[1], 1], "o", label="dots")
        drawing.axes.text(*place, "a word that is wider than the legend is", ha="center")
        drawing.axes.legend(loc="center")
    if place[1] == 0.5:
        with pytest.raises(AssertionError, match="covers"):
            check_legends_beside_what_is_drawn(drawing.result)
    else:
        check_legends_beside_what_is_drawn(drawing.result)


SHADE = r"\b(dark|pale|light|bright|faint)(er|est)?\b"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_said_of_a_figure_holds_on_light_and_dark_pages(page: Path) -> None:
    """What is dark on white paper is bright on black: name a hue, a frame or a hatch."""
    for told in (*captions(page), *(figure.svg for figure in figures(page))):
        assert not re.search(SHADE, told), re.search(f".{{0,60}}{SHADE}", told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_figure_with_a_caption_has_no_second_title(page: Path) -> None:
    for cell in json.loads(page.read_text("utf-8"))["cells"]:
        if "figure" in cell["metadata"].get("mystnb", {}):
            for figure in shown_by(cell):
                words = ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}text")
                assert figure.title not in [text.text for text in words]


@pytest.mark.parametrize("page", [cards.FRONT, cards.GALLERY])
def test_words_on_a_card_can_be_read_and_none_is_cut(page: str) -> None:
    """Where it stands beside another card, 308 px wide and 224 high."""
    for name, drawn in cards.pictures(BOOK, page):
        scale = min(1, 308 / drawn.width, 224 / drawn.height)
        sizes = re.findall(r"font(?:-size)?: ?(?:[a-z]+ )*([\d.]+)px", drawn.svg)
        assert scale * min(map(float, sizes)) >= 9, name
        assert f'viewBox="0 0 {drawn.width:g} {drawn.height:g}"' in drawn.svg
        lines = map(float, re.findall(r'<text[^>]* y="([\d.]+)"', drawn.svg))
        assert not [y for y in lines if y - 10 < drawn.height < y + 2], name
        assert "var(" not in drawn.on("light") + drawn.on("dark"), "a file has no page around it"


def test_a_picture_in_a_file_has_the_letters_of_its_words_and_no_others() -> None:
    with canvas("Two weights", "Letters of a title and of numbers.") as drawing:
        drawing.axes.set_title("AB", weight="bold")
    bare = drawing.result.svg
    found = lettered(bare)
    assert found == lettered(bare)
    assert re.findall(r"@font-face.*?weight:(\d+)", found) == ["400", "700"]
    assert set(re.findall(r"font-family: ([^;]*)", found)) == {"Lettering, sans-serif"}
    assert len(found) < len(bare) + 8_000


PLACES = st.tuples(*[st.integers(-50_000, 50_000).map(lambda n: n / 100)] * 2)


@given(st.lists(st.tuples(st.lists(PLACES, min_size=2), st.booleans()), min_size=1))
def test_a_brief_path_goes_through_the_same_places(drawn: list[tuple[Any, bool]]) -> None:
    long = ""
    for places, closed in drawn:
        steps = ["{:g} {:g}".format(*place) for place in places]
        long += "M " + "\nL ".join(steps) + (" \nz\n" if closed else " \n")
    found = list(strokes(brief_path(long)))
    assert [text.endswith("z") for text, _ in found] == [closed for _, closed in drawn]
    for (_, around), (places, _) in zip(found, drawn, strict=True):
        np.testing.assert_allclose(around, places, atol=1e-6)


ALL = [figure.svg for page in PAGES for figure in figures(page)]
DOTTED = max(ALL, key=lambda svg: svg.count("\nC "))


def seen(page: Any, svg: str) -> np.ndarray:
    """How a figure looks with the style of the site, where nothing that scrolls lies on it."""
    page.evaluate("(svg) => { document.body.innerHTML = `<article>${svg}</article>`; }", svg)
    shot = page.locator("svg.costlib-figure").screenshot()
    return np.asarray(Image.open(BytesIO(shot)).convert("L"), dtype=int)


DRAWN = [DOTTED, *sampling.some(ALL, 4, "brief figures")]


@pytest.mark.parametrize("svg", DRAWN, ids=lambda svg: re.search(r"f\w{8}(?=-title)", svg)[0])
def test_a_brief_figure_looks_the_same(browser: Any, address: str, svg: str) -> None:
    """But for edges of dots, which are now round; words in a hue are mixed with ink in both."""
    hues = re.sub(r"(<text )(?=[^>]*fill: (#\w+))", r'\1fill="\2" ', svg)
    with Visit(browser, address, "book/glossary.html") as visit:
        visit.page.add_style_tag(content="text { font-family: inherit !important; }")
        before, after = seen(visit.page, hues), seen(visit.page, brief(svg))
    assert len(brief(svg)) < 0.7 * len(svg)
    assert before.std() > 1, "there is something to see"
    assert np.mean(np.abs(before - after) > 32) < 5e-4
