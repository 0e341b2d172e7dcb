"""Every figure of every page, a reader's own among them, as the notebooks have it."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from costlib.figures import Figure
from figure_checks import check_readable_on_a_phone, check_words_apart

BOOK = Path(__file__).parents[2] / "book"


def figures(page: Path) -> list[Figure]:
    cells = json.loads(page.read_text("utf-8"))["cells"]
    shown = [
        "".join(output["data"]["image/svg+xml"])
        for cell in cells
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
def test_words_stand_apart_and_are_legible_on_a_phone(page: Path) -> None:
    for figure in figures(page):
        check_words_apart(figure)
        check_readable_on_a_phone(figure)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_caption_begins_with_what_the_figure_says(page: Path) -> None:
    for caption in captions(page):
        assert (message := re.match(r"\*\*(.+?[.:,])\*\*", caption)), caption
        assert 25 < len(message[1]) < 130, message[1]
