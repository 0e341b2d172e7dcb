"""Slides: each chapter's own figures, captions and takeaways, under its copy's own name."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from browsing import BROWSER
from paths import ROOT
from tools import contents
from tools.site import decks
from tools.site.identity import of

CHAPTERS = [chapter.name for part in contents.PARTS for chapter in part.chapters]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_deck_has_every_figure_and_takeaway_of_its_chapter(name: str) -> None:
    page = (ROOT / "book" / f"{name}.md").read_text("utf-8").partition("\n## Exercises")[0]
    made = BeautifulSoup(decks.deck(name, of("ada/book"), "Her Book", "Ada"), "html.parser")
    assert len(made.select("section > .takeaway")) == page.count("\n> **Takeaway.** ") > 0
    captions = re.findall(r"^    caption: ", page, re.MULTILINE)
    assert len(made.select("section > .figure > svg")) == len(captions) > 0
    assert len(made.select("section")) == 1 + len(captions) + page.count("\n> **Takeaway.** ")
    assert made.select_one("section p").text.endswith("?")
    for link in made.select("a"):
        assert link["href"].startswith("https://"), link
    words = made.select_one("body").text
    assert "$" not in re.sub(r"\$[\d.,]+", "", words), "a formula that was not read"


def test_a_forks_decks_carry_its_name_and_lead_to_its_site() -> None:
    made = decks.deck("matmul", of("ada/book"), "Her <Book>", "Ada")
    assert "Her &lt;Book&gt; · Ada · https://ada.github.io/book/book/matmul.html" in made
    assert "owner" not in made


def test_a_deck_needs_nothing_else() -> None:
    made = BeautifulSoup(decks.deck("matmul", of("ada/book"), "B", "A"), "html.parser")
    assert not made.select("link, img, script[src], [xlink\\:href^=http]")


@pytest.mark.skipif(not BROWSER, reason="a PDF takes chromium")
def test_one_command_makes_html_and_a_pdf_of_a_page_a_slide(tmp_path: Path) -> None:
    decks.main([str(tmp_path), "agents"])
    notebook = nbformat.read(ROOT / "book" / "agents.ipynb", as_version=4)
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "agents.pdf").read_bytes())
    assert len(pages) == len(list(decks.slides(notebook)))
    assert (tmp_path / "agents.html").exists()
    with pytest.raises(SystemExit):
        decks.main([str(tmp_path), "agentz"])
