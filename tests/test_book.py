"""The pages: pairs in sync and executed, figures described, prose that keeps its promises."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import pairs  # noqa: E402
import prose  # noqa: E402

PAIRS = pairs.paired()
PAGES = sorted((ROOT / "book").rglob("*.md"))
by_name = {"ids": lambda page: page.stem}


def notebook(page: Path) -> nbformat.NotebookNode:
    """The committed notebook of a page."""
    return nbformat.read(page.with_suffix(".ipynb"), as_version=4)


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_pair_is_in_sync_and_executed(page: Path) -> None:
    assert pairs.problems(page) == [], "run `make sync`"


def test_every_notebook_has_its_markdown() -> None:
    alone = [p for p in (ROOT / "book").rglob("*.ipynb") if p.with_suffix(".md") not in PAIRS]
    assert [p for p in alone if ".ipynb_checkpoints" not in p.parts] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    assert pairs.orphans() == set()


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_figures_have_a_text_alternative(page: Path) -> None:
    assert prose.figures_without_text(notebook(page)) == []


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_numbers_in_prose_come_from_code(page: Path) -> None:
    assert prose.uncomputed_numbers(notebook(page)) == []


@pytest.mark.parametrize("page", PAGES, **by_name)
def test_prose_reads_well_everywhere(page: Path) -> None:
    assert prose.slips(page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_cells_are_short(page: Path) -> None:
    for cell in notebook(page).cells:
        if cell.cell_type == "code":
            lines = [line for line in cell.source.splitlines() if line.strip()]
            assert len(lines) <= 12, cell.source
            assert max(map(len, lines)) <= 80, max(lines, key=len)


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_ignored_outputs_say_so(page: Path) -> None:
    cells = notebook(page).cells
    for number, cell in enumerate(cells):
        tags = cell.metadata.get("tags", [])
        assert not {"nbval-skip", "raises-exception"} & set(tags)
        if pairs.IGNORED in tags:
            before = [c.source for c in cells[:number] if c.cell_type == "markdown"]
            assert "ignore" in before[-1], "the text above an ignored output says why"


def test_citation_file_is_valid() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["title"] == yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    assert {"cff-version", "message", "authors", "license"} <= set(citation)
