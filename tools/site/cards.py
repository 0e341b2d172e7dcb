"""The lists of the front page and of the gallery become cards: a Sphinx extension.

On a card stands the figure that `tools/contents.py` names, as a chapter's cell made it, or what
stands in for an explorer. It is a file beside the page, in light and in dark, that a browser
fetches when the card comes near: the page itself stays as light as its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Any

import nbformat
from sphinx.application import Sphinx

from costfigures.canvas import PAGE
from tools import contents
from tools.site.lettering import lettered

#: Pages whose lists become cards.
FRONT, GALLERY = "book/index", "book/explorers"
FOLDER = "_static/cards"
#: Ink and paper of the two kinds: the first ink is what a figure is born with.
INKS = {"light": "#1f2328", "dark": "#ced6dd"}
PAPERS = {"light": "#ffffff", "dark": "#15181d"}
#: A card where it stands beside another, and what words on it have at least, in pixels.
CARD, LEGIBLE = (308, 224), 9
FONT = r"font(?:-size)?: ?(?:[a-z]+ )*([\d.]+)px"
ITEM = re.compile(r'<li>(?=<p><strong><a class="reference internal" href="(\w+)\.html">)')
LIST = re.compile(r'<(ol|ul) class="([^"]*)"([^>]*)>(?=\s*<li class="page-card">)')


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of a page: its SVG, what it says in words, its width and height."""

    svg: str
    alt: str
    width: float
    height: float

    @classmethod
    def of(cls, svg: str) -> Picture:
        """What a finished figure says of itself."""
        size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        title = re.search(r"<title[^>]*>(.*?)</title>", svg, re.DOTALL)
        if not size or not title:
            raise ValueError(
                "a figure of the book has a title and a viewBox: make it with `canvas`"
            )
        return cls(svg, unescape(title[1]), float(size[1]), float(size[2]))

    def fitting(self) -> Picture:
        """The same, or its top where words of the whole would be too small on a card."""
        wide, high = CARD
        sizes = [float(size) for size in re.findall(FONT, self.svg)]
        if min(sizes) * min(wide / self.width, high / self.height, 1) >= LEGIBLE:
            return self
        lines = [float(y) for y in re.findall(r'<text\b[^>]* y="([\d.]+)"', self.svg)]
        most = int(high * self.width / wide)
        between = (
            y for y in range(most, most // 2, -1) if not any(y - 4 < t < y + 14 for t in lines)
        )
        cut = next(between, most)
        whole = f'height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        top = f'height="{cut}" viewBox="0 0 {self.width:g} {cut}"'
        return replace(self, svg=self.svg.replace(whole, top, 1), height=cut)

    def on(self, kind: str) -> str:
        """The same on a light or dark card, which is its paper."""
        svg = self.svg.replace(f'color="{INKS["light"]}"', f'color="{INKS[kind]}"', 1)
        svg = svg.replace(PAGE, PAPERS[kind])  # a file knows nothing of the page around it
        return re.sub(r'(<rect class="paper"[^>]*fill=")[^"]*"', r'\1none"', svg, count=1)


def picture(page: Path, name: str | None) -> Picture:
    """The figure of that name on an executed page; without a name, the first that it shows."""
    for cell in nbformat.read(page, as_version=4).cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if name is not None and figure.get("name") != name:
            continue
        for output in cell.get("outputs", []):
            if svg := "".join(output.get("data", {}).get("image/svg+xml", "")):
                return Picture.of(svg)
    raise ValueError(f"{page.name} shows no figure {name or 'at all'}: see tools/contents.py")


def pictures(book: Path, page: str = FRONT) -> Iterator[tuple[str, Picture]]:
    """Every page of the build that has a card on this one, and what is on it."""
    shown: dict[str, tuple[str, str | None]] = {
        name: figure or (name, None) for name, figure in contents.CALCULATORS.items()
    }
    if page == FRONT:
        shown |= {chapter.name: (chapter.name, chapter.figure) for chapter in contents.CHAPTERS}
    else:
        names = ("explore_calculator", *contents.BELOW["explorers"])
        shown = {name: shown.get(name, (name, None)) for name in names}
    for name, (where, figure) in shown.items():
        if (path := book / f"{where}.ipynb").is_file():
            yield name, picture(path, figure).fitting()


def made_again(app: Sphinx, *_: Any) -> list[str]:
    """These pages show other pages' figures, so each build makes them again."""
    return [FRONT, GALLERY] if app.builder.name == "html" else []


def deal(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Put its picture on each item of a page's lists."""
    if page not in (FRONT, GALLERY) or app.builder.name != "html":
        return
    found = dict(pictures(Path(app.srcdir) / "book", page))
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, each in found.items():
        each = replace(each, svg=lettered(each.svg))
        for kind in INKS:
            (folder / f"{name}-{kind}.svg").write_text(each.on(kind), "utf-8")

    def card(item: re.Match[str]) -> str:
        return (
            f'<li class="page-card">{images(item[1], found[item[1]])}'
            if item[1] in found
            else item[0]
        )

    body = context["body"].replace("</a>.</strong>", "</a></strong>")
    if page == FRONT:
        body = body.replace('<section class="', '<section class="front-page ', 1)
    body = LIST.sub(r'<\1 class="\2 page-cards"\3>', ITEM.sub(card, body))
    if body.count('<li class="page-card">') != len(found):
        raise ValueError(f"{page} has not one item for each card: run `make sync`")
    context["body"] = body


def images(name: str, drawn: Picture) -> str:
    """The picture in both kinds, of which a page shows one."""
    size = f'width="{drawn.width:.0f}" height="{drawn.height:.0f}"'
    alt = escape(drawn.alt, quote=True)
    return "".join(
        f'<img class="dark-light page-card-{kind}" src="../{FOLDER}/{name}-{kind}.svg" '
        f'alt="{alt}" {size} loading="lazy" decoding="async">'
        for kind in INKS
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_css_file("first.css")
    app.connect("env-get-outdated", made_again)
    app.connect("html-page-context", deal)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
