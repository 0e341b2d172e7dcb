"""What the search knows: a Sphinx extension that writes the sections of all pages as words.

A section is found by its title, its page's, its text, and by other words that readers use for it
(other_words.txt): titles here ask questions, and readers type the name of a thing. Text is without
code, outputs, TeX and the answers of predictions. Terms of the glossary and exercises are sections
too, and get an address. `book/_static/search/` does the finding.
"""

from __future__ import annotations

import functools
import json
import re
import textwrap
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from docutils import nodes
from sphinx.application import Sphinx

#: What else readers call what a section is about.
OTHER_WORDS = Path(__file__).with_name("other_words.txt")
#: What comes later where words alone decide, by the beginning of a place.
LATER = (
    *(("book/api/", 0.35), ("book/bibliography", 0.3)),
    *(("book/explore_calculator", 1.0), ("book/explore_", 0.5)),
)
LATER_SECTIONS = {"exercises": 0.4, "further-reading": 0.4, "what-this-leaves-out": 0.7}
#: Characters of a docstring that the search knows.
BEGINNING = 320
#: Terms of the glossary and exercises come after the sections that explain.
NAMED = 0.3
#: Questions that the search's own page shows.
EXAMPLES = ("KV cache of Llama 70B", "what limits decode", "MFU", "dollars per million tokens")
NOT_TEXT = (
    *(nodes.literal_block, nodes.math_block, nodes.raw, nodes.image, nodes.section),
    nodes.system_message,  # what docutils says of the source
)
TERM = re.compile(r"[A-Z0-9].*\.$")
EXERCISE = re.compile(r"\d+\. .*\.$")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SIGNS = {"cdot": "·", "times": "×", "le": "≤", "ge": "≥", "approx": "≈", "to": "→", "log": "log"}


def remember(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the words of a page's sections, when it is read."""
    page = app.env.docname
    app.env.metadata[page]["sections"] = list(entries(doctree, page))


@functools.cache
def other_words() -> dict[str, str]:
    """The words beside each section that has some."""
    lines = OTHER_WORDS.read_text("utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


def entries(doctree: nodes.document, page: str) -> Iterator[tuple[str, str, str, float]]:
    """Anchor, title, text and weight of every section of a page."""
    for section in doctree.findall(nodes.section):
        anchor = section["ids"][0]
        title = section[0].astext()
        weight = next((w for start, w in LATER if page.startswith(start)), 1.0)
        weight *= LATER_SECTIONS.get(re.sub(r"-?\d+$", "", anchor), 1.0)
        texts = []
        for part in section.children[1:]:
            named = addressed(part, title)
            if named:
                yield (part["ids"][0], named, words(part), NAMED)  # type: ignore[index]
            else:
                texts.append(words(part))
        said = " ".join(filter(None, texts))
        if page.startswith("book/api/"):  # found by its name: how a docstring begins is enough
            said = textwrap.shorten(said, BEGINNING, placeholder=" …")
        yield anchor, title, said, weight


def addressed(part: nodes.Node, section: str) -> str:
    """The name of a paragraph that is a term of the glossary or an exercise; it gets an address."""
    shape = {"Glossary": TERM, "Exercises": EXERCISE}.get(section)
    if not shape or not isinstance(part, nodes.paragraph):
        return ""
    first = next((child for child in part.children if child.astext()), part)
    if not isinstance(first, nodes.strong) or not shape.match(first.astext()):
        return ""
    name = first.astext().rstrip(".")
    start = "term" if section == "Glossary" else "exercise"
    part["ids"].append(nodes.make_id(f"{start}-{name}"))
    return name if section == "Glossary" else f"Exercise {name}"


def words(node: nodes.Node) -> str:
    """The text of a node, without code, outputs and formulas that are more than letters."""
    if isinstance(node, NOT_TEXT) or "cell_input" in getattr(node, "attributes", {}).get(
        "classes", ()
    ):
        return ""
    if isinstance(node, nodes.math):
        return spoken(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    shown = node.children
    if isinstance(node, nodes.block_quote):  # a prediction's answer is folded, and not told here
        shown = takewhile(lambda child: not isinstance(child, nodes.raw), shown)
    text = "".join(words(child) for child in shown)
    apart = isinstance(node, (nodes.paragraph, nodes.entry, nodes.term, nodes.list_item))
    return re.sub(r"\s+", " ", text).strip() + " " if apart else text


def spoken(tex: str) -> str:
    r"""A short formula as one would type it; nothing of a long one.

    >>> spoken(r"2 \cdot m \cdot k"), spoken(r"10^{12}"), spoken(r"B_\text{r}")
    ('2·m·k', '10¹²', 'Br')
    >>> spoken(r"\frac{a}{b}")
    '…'
    """
    for name, sign in SIGNS.items():
        tex = re.sub(rf"\\{name}(?![a-zA-Z])", sign, tex)
    tex = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}\\]*)\}", r"\1", tex)
    tex = re.sub(r"[\^_]\{([\w,+-]*)\}", lambda m: m[0][0] + m[1], tex).replace("{,}", ",")
    tex = re.sub(r"\^(\d+)", lambda m: m[1].translate(RAISED), tex)
    tex = re.sub(r"(?<=[A-Za-z])_(?=\w)", "", tex)
    tex = re.sub(r"\\[,;: ]|(?<=[·×]) | (?=[·×])", "", tex)
    return tex if len(tex) < 24 and not re.search(r"[\\{}^_]", tex) else "…"


def write(app: Sphinx, failed: Exception | None) -> None:
    """Write all sections as one file that the search fetches."""
    if failed or app.builder.name != "html":
        return
    listed = [page for page in sorted(app.env.metadata) if "sections" in app.env.metadata[page]]
    known = {f"{page.removeprefix('book/')}#{each[0]}" for page in listed for each in of(app, page)}
    built = {page.removeprefix("book/") for page in listed}
    gone = {place for place in other_words() if place.partition("#")[0] in built} - known
    if gone:
        raise ValueError(f"other words for sections that no page has: {sorted(gone)}")
    pages = [[page, app.env.titles[page].astext()] for page in listed]
    rows = [[at, *each] for at, page in enumerate(listed) for each in of(app, page)]
    home = Path(app.outdir, "_static", "search")
    home.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"pages": pages, "sections": rows}, ensure_ascii=False, separators=(",", ":"))
    (home / "sections.json").write_text(text, "utf-8")


def of(app: Sphinx, page: str) -> Iterator[tuple[str, str, str, str, float]]:
    """What was kept of a page, and what else readers call its sections today."""
    name = page.removeprefix("book/")
    for anchor, title, said, weight in app.env.metadata[page]["sections"]:
        yield anchor, title, said, other_words().get(f"{name}#{anchor}", ""), weight


def own_page(_: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page of the search; Sphinx's own, with its index, is not written."""
    asked = [f'<a href="search.html?q={quote_plus(text)}">{text}</a>' for text in EXAMPLES]
    body = (
        '<h1>Search</h1><noscript><p>The search needs JavaScript. The <a href="book/glossary.html">'
        'glossary</a> and the <a href="book.md">whole book as text</a> do not.</p></noscript>'
        f"<p>Ask in your own words, for example {', '.join(asked)}.</p>"
        '<form class="bd-search" role="search" action="search.html"><input type="search" name="q" '
        'class="form-control" aria-label="Search this book" autocomplete="off" '
        'autocapitalize="off" spellcheck="false" /></form>'
    )
    yield "search", {"title": "Search", "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_js_file("search/search.js", type="module")
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("doctree-read", remember, priority=900)
    app.connect("html-collect-pages", own_page)
    app.connect("build-finished", write, priority=800)
    # The second form of what is kept of a page: a build that kept the first reads pages again.
    return {
        "version": "1",
        "env_version": 2,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
