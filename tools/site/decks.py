"""Slides of each chapter, made of its own figures, captions and takeaways: ``make decks``.

A slide for the question that the chapter asks, one for each figure with its caption, one for each
takeaway, in the page's order, and the title of their section above. A deck is one HTML file that
needs nothing else; arrows turn its slides. With chromium there is a PDF too, a page a slide. Whose
book it is says `tools.site.identity`, and its title and author `_config.yml`, so a fork's decks
carry the fork's name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools import ROOT, contents
from tools.site.extension import MathRenderer
from tools.site.identity import Identity, identity
from tools.site.sharing import browser

__all__ = ["Slide", "deck", "slides"]

TAKEAWAY = re.compile(r"^> \*\*Takeaway\.\*\* ((?:.+\n?)(?:>.*\n?)*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([\w-]*)(?:\.ipynb|\.md)?(#[\w-]+)?\)")
STYLE = """
@page { size: 1280px 720px; margin: 0; }
* { box-sizing: border-box; margin: 0; }
html { scroll-snap-type: y mandatory; font: 28px/1.4 "Source Sans 3", system-ui, sans-serif; }
section { height: 100vh; padding: 48px 72px; display: flex; flex-direction: column; gap: 20px;
  scroll-snap-align: start; break-after: page; overflow: hidden; background: #fff; color: #22252b; }
@media print { section { height: 720px; } }
h1 { font-size: 64px; line-height: 1.1; margin-top: auto; }
h2 { font-size: 24px; font-weight: 600; color: #1d5f96; }
.figure { flex: 1; min-height: 0; display: flex; justify-content: center; }
.figure svg { width: 100%; height: 100%; }
.caption { font-size: 22px; }
.takeaway { margin: auto 0; font-size: 38px; border-left: 8px solid #a8480a; padding-left: 32px; }
footer { margin-top: auto; font-size: 16px; color: #585c64; }
"""
TURN = """
addEventListener("keydown", event => {
  const by = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1,
    PageUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const here = Math.round(scrollY / innerHeight);
  document.querySelectorAll("section")[here + by]?.scrollIntoView();
});
"""


@dataclass(frozen=True, slots=True)
class Slide:
    """One slide: the section that it belongs to, words in Markdown, and perhaps a figure."""

    kind: str  # question, figure or takeaway
    section: str
    words: str
    figure: str = ""


def slides(notebook: Any) -> Iterator[Slide]:
    """What a chapter shows and concludes, in its order; exercises and what follows are no slides.

    >>> cell = nbformat.v4.new_markdown_cell("# Heat\\n\\n**Why?**\\n\\n> **Takeaway.** So.")
    >>> [(slide.kind, slide.words) for slide in slides(nbformat.v4.new_notebook(cells=[cell]))]
    [('question', 'Why?'), ('takeaway', 'So.')]
    """
    section, asked = "", False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for block in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
                if heading := re.match(r"## (.+)", block):
                    section = heading[1]
                    if section == "Exercises":
                        return
                question = None if asked else re.search(r"^\*\*(.+\?)\*\*", block, re.MULTILINE)
                if question:
                    asked = True
                    yield Slide("question", section, question[1])
                for said in TAKEAWAY.finditer(block):
                    words = re.sub(r"^> ?", "", said[1], flags=re.MULTILINE).strip()
                    yield Slide("takeaway", section, words)
        caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption")
        if caption and (drawn := _drawing(cell)):
            yield Slide("figure", section, caption, drawn)


def _drawing(cell: Any) -> str:
    """The SVG that a cell drew."""
    for output in cell.get("outputs", ()):
        if svg := output.get("data", {}).get("image/svg+xml"):
            return "".join(svg)
    return ""


def deck(name: str, whose: Identity, title: str, author: str) -> str:
    """The slides of a chapter as one HTML file that needs nothing else."""
    notebook = nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4)
    heading = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
    with _math() as math:
        read = _reader(whose, name, math)
        made = [_shown(slide, read) for slide in slides(notebook)]
    question, *rest = made
    address = escape(whose.page(f"book/{name}.html"))
    named = f"{escape(title)} · {escape(author)} · {address} · CC BY 4.0"
    first = f"<section><h1>{escape(heading)}</h1>{question}<footer>{named}</footer></section>"
    every = "\n".join([first, *(f"<section>{each}</section>" for each in rest)])
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(heading)}: {escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{every}\n<script>{TURN}</script></body></html>\n"
    )


def _shown(slide: Slide, read: Callable[..., str]) -> str:
    """A slide's inside."""
    section = f"<h2>{read(slide.section, inline=True)}</h2>" if slide.section else ""
    words = read(slide.words)
    if slide.kind == "figure":
        return (
            f'{section}<div class="figure">{slide.figure}</div><div class="caption">{words}</div>'
        )
    return section + (f'<div class="takeaway">{words}</div>' if slide.kind == "takeaway" else words)


@contextmanager
def _math() -> Iterator[MathRenderer]:
    """KaTeX, which ends with its deck."""
    math = MathRenderer()
    yield math
    if math.node is not None:
        math.node.communicate()


def _reader(whose: Identity, page: str, math: MathRenderer) -> Callable[..., str]:
    """Markdown with formulas as MathML, which needs no fonts, and links that lead to the site."""

    def formula(content: str, options: dict[str, Any]) -> str:
        how = {"output": "mathml", "displayMode": bool(options.get("display_mode"))}
        return math.render(content, how)

    made = MarkdownIt("commonmark").use(dollarmath_plugin, renderer=formula)

    def read(text: str, *, inline: bool = False) -> str:
        whole = LINK.sub(
            lambda at: f"]({whose.page(f'book/{at[1] or page}.html')}{at[2] or ''})", text
        )
        return str(made.renderInline(whole) if inline else made.render(whole))

    return read


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the decks of all chapters, or of those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", help="chapters (all)")
    given = parser.parse_args(arguments)
    known = [chapter.name for part in contents.PARTS for chapter in part.chapters]
    if wrong := [name for name in given.names if name not in known]:
        parser.error(f"{wrong[0]!r} is no chapter: there are {', '.join(known)}")
    whose, config = identity(), yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    given.out.mkdir(parents=True, exist_ok=True)
    with browser("PDF") as page:
        for name in given.names or known:
            file = given.out / f"{name}.html"
            file.write_text(deck(name, whose, config["title"], config["author"]), "utf-8")
            if page:
                page.goto(file.resolve().as_uri())
                page.pdf(path=file.with_suffix(".pdf"), prefer_css_page_size=True)
            print(file)


if __name__ == "__main__":
    main()
