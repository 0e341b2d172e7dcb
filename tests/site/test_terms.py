"""The field's terms stand where they are treated, and no page has private words for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import DATA, ROOT


def listed() -> Iterator[dict[str, str]]:
    """The tables of terms.txt: what each chapter treats, and words with what to say instead."""
    text = (DATA / "terms.txt").read_text("utf-8").replace("\n    ", " ")
    for table in re.split(r"\n\n(?=[A-Z])", text):
        rows = table.split("\n\n")[1].strip().splitlines()
        yield dict(re.split(" -> |: ", row, maxsplit=1) for row in rows)


TREATED, PRIVATE, IN_INTERFACES = listed()
NOT_TEXT = re.compile(r"```.*?```|`[^`\n]+`|<!--.*?-->|<[^>]+>|\]\([^)]*\)", re.DOTALL)
MADE = ("bibliography", "devices", "models")
#: Strings of a script that have a space in them.
QUOTED = re.compile(r"'[^'\n]* [^'\n]*'|`[^`\n]* [^`\n]*`")
SHOWING = [
    *sorted((ROOT / "book" / "_static" / "explorers").glob("*.js")),
    *sorted((ROOT / "costfigures").rglob("*.py")),
    *sorted((ROOT / "course").rglob("*.py")),
    *sorted((ROOT / "costlib").rglob("*.py")),
]
PAGES = [page for page in sorted((ROOT / "book").glob("*.md")) if page.stem not in MADE]


@pytest.mark.parametrize("chapter", TREATED)
def test_a_chapter_names_what_it_treats(chapter: str) -> None:
    text = (ROOT / "book" / f"{chapter}.md").read_text("utf-8")
    shown = re.findall(r"^#+ (.+)$|\*\*([^*\n]+)\*\*", text, re.MULTILINE)
    named = " ".join(heading + bold for heading, bold in shown).lower()
    assert [term for term in TREATED[chapter].split(", ") if term.lower() not in named] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_a_page_has_no_private_words(page: Path) -> None:
    assert private(NOT_TEXT.sub(" ", page.read_text("utf-8"))) == {}


@pytest.mark.parametrize("file", SHOWING, ids=lambda file: file.name)
def test_what_is_shown_has_no_private_words(file: Path) -> None:
    """Labels, sentences, help and errors. The library's docstrings are a reference, so they are
    read too."""
    text = file.read_text("utf-8")
    if file.suffix == ".js":
        shown = QUOTED.findall(text)
    elif "costlib" in file.relative_to(ROOT).parts:
        shown = list(texts(ast.parse(text), docstrings=True))
    else:
        shown = list(texts(ast.parse(text)))
    assert private("\n".join(shown), PRIVATE | IN_INTERFACES) == {}


def private(text: str, words: dict[str, str] | None = None) -> dict[str, str]:
    """The private words of a text, and what to say instead.

    >>> private("What the device gives out, by its links.")
    {'gives out': 'say usable memory'}
    """
    return {
        match[0]: f"say {term}"
        for pattern, term in (PRIVATE if words is None else words).items()
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    }


def texts(tree: ast.AST, *, docstrings: bool = False) -> Iterator[str]:
    """The strings of some Python, without docstrings unless they are asked for.

    >>> list(texts(ast.parse("'said'; x = 'shown'; y = f'{x} too'")))
    ['shown', ' too']
    """
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    said = set() if docstrings else said
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value
