"""The calculator as one file, to be shown in a frame of any page, or kept: nothing else is loaded.

Its modules stand in the page itself, as an import map of texts: a browser reads no other file, so
that it works from a disk and without network.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from urllib.parse import quote

from tools.site.page_weight import WORD, without_unused

NAME = "embed/calculator.html"
TITLE = "What a model costs to serve"
ENTRY = "embed.js"
IMPORTED = re.compile(r"""((?:from|import) ['"])(\.{1,2}/[^'"]+)(['"])""")
STAND_IN = re.compile(r'<div data-explorer="calculator">.*?</table></div>', re.DOTALL)
#: What a data address may hold as it is; the rest is escaped.
SAFE = " !$&'()*+,-./:;=?@[]^_`{|}~"


def page(static: Path, body: str, home: str) -> str:
    """The whole page: what stands in without scripts, and the scripts; ``home`` is where the pages
    are that it links to."""
    found = modules(static / "explorers", ENTRY)
    style = styles(static, {*WORD.findall(body), *WORD.findall("".join(found.values()))})
    addresses = {name: f"data:text/javascript,{quote(text, SAFE)}" for name, text in found.items()}
    body = body.replace("<div ", f'<div data-home="{escape(home)}" ', 1)
    dark = "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'"
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{TITLE}</title>'
        f"<style>{style}</style>"
        f"<script>document.documentElement.dataset.theme = {dark}</script>"
        f'<script type="importmap">{json.dumps({"imports": addresses})}</script>'
        f'<script type="module">import {ENTRY!r}</script>'
        f'<body><main><h1 class="explorer-offscreen">{TITLE}</h1>{body}</main></body></html>\n'
    )


def modules(folder: Path, *first: str) -> dict[str, str]:
    """Modules after all that they import, by their paths in the folder: these are addresses."""
    found: dict[str, str] = {}

    def read(name: str) -> None:
        if name in found:
            return
        found[name], place, needed = "", (folder / name).parent, list[str]()

        def named(match: re.Match[str]) -> str:
            target = (place / match[2]).resolve().relative_to(folder.resolve()).as_posix()
            needed.append(target)
            return f"{match[1]}{target}{match[3]}"

        text = IMPORTED.sub(named, (folder / name).read_text("utf-8"))
        for each in needed:
            read(each)
        del found[name]
        found[name] = text

    for name in first:
        read(name)
    return found


def styles(static: Path, used: set[str]) -> str:
    """The book's colours, and what the explorer needs of the explorers' style."""
    colours = re.findall(r"^html\[[^{]*\{[^}]*\}", (static / "book.css").read_text("utf-8"), re.M)
    own = "".join(
        (static / "explorers" / name).read_text("utf-8") for name in ("explorers.css", "embed.css")
    )
    return "\n".join(colours) + without_unused(re.sub(r"/\*.*?\*/", "", own, flags=re.DOTALL), used)


def write(site: Path, home: str) -> None:
    """Beside the pages of the finished site, if the calculator's is among them."""
    book = site / "book" / "explore_calculator.html"
    stand_in = STAND_IN.search(book.read_text("utf-8")) if book.is_file() else None
    if stand_in:
        (site / NAME).parent.mkdir(exist_ok=True)
        (site / NAME).write_text(page(site / "_static", stand_in[0], home), "utf-8")
