"""The pages: pairs in sync and executed, figures described, prose that keeps its promises."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pybtex.database import parse_file

import costlib
import programs
from paths import ROOT
from tools import contents
from tools.pages import claims, generated, numbers, pairs, prose

PAIRS = pairs.paired()
PAGES = sorted((ROOT / "book").rglob("*.md"))
CHAPTERS = [ROOT / "book" / f"{chapter.name}.md" for chapter in contents.CHAPTERS]
WRITTEN = [page for page in PAGES if "api" not in page.parts]  # the rest is made from docstrings
NOTATION = (ROOT / "book" / "notation.md").read_text("utf-8")
by_name = {"ids": lambda page: page.stem}


def notebook(page: Path) -> nbformat.NotebookNode:
    """The committed notebook of a page."""
    return nbformat.read(page.with_suffix(".ipynb"), as_version=4)


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_a_page_keeps_its_promises(page: Path) -> None:
    """In sync and executed; figures described and mentioned; numbers from code, also where readers
    add cells; claims asserted and timings held to them."""
    assert pairs.problems(page) == [], "run `make sync`"
    cells = notebook(page)
    assert prose.figures_without_text(cells) == []
    assert prose.unmentioned_figures(page.read_text("utf-8")) == []
    assert numbers.uncomputed(cells) == []
    assert numbers.uncomputed(with_more(cells)) == []
    assert claims.slips(cells) == []


@pytest.mark.parametrize("page", PAIRS, **by_name)
def test_cells_are_short_and_ignored_outputs_say_so(page: Path) -> None:
    said = ""
    for cell in notebook(page).cells:
        if cell.cell_type == "code":
            lines = [line for line in cell.source.splitlines() if line.strip()]
            assert len(lines) <= 12, cell.source
            assert max(map(len, lines)) <= 80, max(lines, key=len)
        elif cell.cell_type == "markdown":
            said = cell.source
        assert "raises-exception" not in claims.tags(cell)
        if claims.IGNORED in claims.tags(cell):
            assert "ignore" in said, "the text above an ignored output says why"


def test_every_notebook_has_its_markdown() -> None:
    alone = [p for p in (ROOT / "book").rglob("*.ipynb") if p.with_suffix(".md") not in PAIRS]
    assert [p for p in alone if ".ipynb_checkpoints" not in p.parts] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    assert pairs.orphans() == set()


def with_more(page: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same with a cell more below each, and before each exercise another one."""
    exercise = "**9. Another.** Write `another()`."
    made = []
    for cell in page.cells:
        if re.match(r"\*\*\d+\. ", cell.source):
            made += [new_markdown_cell(exercise), new_code_cell("pass")]
        made += [cell, new_code_cell("pass")]
    return new_notebook(cells=made)


def test_another_last_digit_is_noticed() -> None:
    """On all pages together; that some wrong number is right near it is chance, and rare."""
    noticed, tried = map(sum, zip(*(numbers.caught(notebook(page)) for page in PAIRS), strict=True))
    assert tried > 4000
    assert noticed >= 0.93 * tried


@pytest.mark.parametrize("page", PAGES, **by_name)
def test_prose_reads_well(page: Path) -> None:
    """Its letters are on the notation page. What is made from docstrings has a style of its own."""
    text = page.read_text("utf-8")
    assert prose.slips(text) == []
    if page in WRITTEN:
        assert prose.style_slips(text) == []
        assert prose.unknown_letters(text, prose.known_letters(NOTATION)) == set()


def test_spelling() -> None:
    files = [str(page) for page in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]]
    programs.run("-m", "codespell_lib", "-L", "ege", "--ignore-regex", r"\$[^$]+\$", *files)


def test_no_letter_has_two_meanings() -> None:
    known = prose.known_letters(NOTATION)
    assert len(known) > 30
    assert sorted({letter for letter in known if known.count(letter) > 1}) == []


@pytest.mark.parametrize("page", CHAPTERS, **by_name)
def test_chapter_is_complete(page: Path) -> None:
    text = page.read_text("utf-8")
    assert prose.missing_parts(text) == []
    assert prose.words(text) >= 2500
    assert len(re.findall(r"^ +name: fig-", text, re.MULTILINE)) >= 5


@pytest.mark.parametrize("chapter", range(1, len(CHAPTERS) + 1))
def test_a_figure_is_cited_by_the_number_that_the_site_gives_it(chapter: int) -> None:
    text = CHAPTERS[chapter - 1].read_text("utf-8")
    names = re.findall(r"^ +name: (fig-[\w-]+)$", text, re.MULTILINE)
    given = {name: f"Figure {chapter}.{number}" for number, name in enumerate(names, start=1)}
    cited = re.findall(r"\[(Figure [\d.]+)\]\(#(fig-[\w-]+)\)", text)
    assert [(words, name) for words, name in cited if given[name] != words] == []


@pytest.mark.parametrize("page", CHAPTERS, **by_name)
def test_exercises_are_functions_with_plain_answers(page: Path) -> None:
    section = page.read_text("utf-8").split("\n## Exercises\n")[1].split("\n## ")[0]
    titles = re.findall(r"^\*\*(\d+)\. (.+?)\*\* ", section, re.MULTILINE)
    assert [int(number) for number, _ in titles] == list(range(1, len(titles) + 1))
    assert len(titles) >= 7
    assert titles[-1][1].startswith("Project")
    solutions = [
        cell.source for cell in notebook(page).cells if "solution" in cell.metadata.get("tags", [])
    ]
    names = [re.findall(r"^def (\w+)\(", source, re.MULTILINE) for source in solutions]
    assert [len(each) for each in names] == [1] * len(titles)
    assert all(f"`{name}(" in section for (name,) in names), "the text names the function"


GLOSSARY = re.findall(
    r"^\*\*(.+?)\.?\*\* (.+)$", (ROOT / "book" / "glossary.md").read_text("utf-8"), re.MULTILINE
)


def test_glossary_is_in_order() -> None:
    terms = [re.sub(r"[^a-z0-9 ]", "", term.lower()) for term, _ in GLOSSARY]
    assert terms == sorted(set(terms))


@pytest.mark.parametrize(("term", "entry"), GLOSSARY, ids=[term for term, _ in GLOSSARY])
def test_a_term_stands_on_the_pages_that_explain_it(term: str, entry: str) -> None:
    stems = [word[:6] for word in re.findall(r"[a-z-]{3,}", re.split(r"[,(]", term.lower())[0])]
    pages = re.findall(r"\]\((\w+)\.ipynb\)", entry)
    assert pages, "an entry says where its term is explained"
    for page in pages:
        text = (ROOT / "book" / f"{page}.md").read_text("utf-8").lower()
        assert all(stem in text for stem in stems), page


def cited() -> dict[str, set[str]]:
    """The papers that pages link to, by page."""
    paper = re.compile(r"\]\((https://(?:doi\.org/|arxiv\.org/(?:abs|pdf)/)[^)\s]+)\)")
    pages = [page for page in WRITTEN if page.stem not in ("bibliography", "devices", "models")]
    return {page.stem: set(paper.findall(page.read_text("utf-8"))) for page in pages}


def test_every_cited_paper_is_in_the_bibliography() -> None:
    listed = {generated.address(entry) for entry in REFERENCES.values()}
    assert {name: links - listed for name, links in cited().items() if links - listed} == {}


def test_every_work_of_the_bibliography_is_cited() -> None:
    text = "".join(page.read_text("utf-8") for page in WRITTEN if page.stem != "bibliography")
    assert [key for key, e in REFERENCES.items() if generated.address(e) not in text] == []


REFERENCES = parse_file(str(ROOT / "book" / "references.bib")).entries


@pytest.mark.parametrize("key", REFERENCES)
def test_bibliography_entry_is_complete(key: str) -> None:
    entry = REFERENCES[key]
    assert re.fullmatch(r"[a-z]+(19|20)\d\d[a-z]+", key)
    assert entry.persons.get("author") or entry.persons.get("editor")
    assert entry.fields["title"]
    assert "\\" not in str(entry.fields), "accents are written as they are"
    assert entry.fields["year"] == re.findall(r"\d{4}", key)[0]
    assert generated.address(entry).startswith("https://")
    if "eprint" in entry.fields:
        assert entry.fields["archiveprefix"] == "arXiv"
        assert re.fullmatch(r"\d{4}\.\d{4,5}|[a-z-]+/\d{7}", entry.fields["eprint"])


def test_generated_pages_are_up_to_date() -> None:
    for path, text in generated.pages().items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date: run `make sync`"


def test_every_module_is_in_the_reference() -> None:
    described = tuple(f"costlib.{each}" for named in contents.REFERENCE.values() for each in named)
    inside = [info.name for info in pkgutil.walk_packages(costlib.__path__, "costlib.")]
    public = [name for name in inside if not name.rpartition(".")[2].startswith("_")]
    rooms = {name.rpartition(".")[0] for name in public}
    lost = {name for name in public if not f"{name}.".startswith(tuple(f"{d}." for d in described))}
    assert lost <= rooms, "name these in tools/contents.py"


def test_citation_file_is_valid() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    assert citation["title"] == config["title"]
    assert [author["name"] for author in citation["authors"]] == [config["author"]]
    front = (ROOT / "book" / "index.md").read_text("utf-8")
    assert f"# {config['title']}\n" in front, "the front page has the book's title"
    assert config["author"] in front, "the front page says who is to be cited"
    assert {"cff-version", "message", "authors", "license"} <= set(citation)
