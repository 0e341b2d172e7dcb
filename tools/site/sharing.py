"""What a message shows that links to a page: a picture of its title, its question and its figure.

`publish` draws them, as it takes a browser. A chapter shows the figure that stands for it on the
front page, another page its first; where there is none, the words have all of the picture.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape, unescape
from pathlib import Path
from typing import Any

from tools import contents
from tools.site.cards import picture

BROWSERS = ("chromium", "google-chrome", "chrome")
SIZE = {"width": 1200, "height": 630}
SAID = re.compile(r'<meta property="og:([\w:]+)" content="([^"]*)"')
STYLE = """
@font-face { font-family: face; font-weight: 200 900; src: url("%s"); }
* { box-sizing: border-box; margin: 0; }
body { width: 1200px; height: 630px; display: flex; align-items: center; gap: 40px; padding: 0 56px;
  border-left: 24px solid #f0a868; background: #15181d; color: #ced6dd; font-family: face; }
main { flex: 1; }
p:first-child { margin-bottom: 16px; font-size: 30px; color: #7fb9ea; }
h1 { margin-bottom: 28px; font-size: 60px; line-height: 1.1; color: #fff; text-wrap: balance; }
p { font-size: 32px; line-height: 1.35; }
svg { flex: 0 0 520px; max-height: 560px; height: auto; }
svg text, svg tspan { font-family: face !important; }
"""


@contextmanager
def browser(what: str) -> Iterator[Any]:
    """A page of a browser; where there is none, say what there will not be, and go on with None."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        print(f"NO {what}: it takes chromium, and there is none here", file=sys.stderr)
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium.new_page(viewport=SIZE)
        chromium.close()


def draw_cards(site: Path, book: Path) -> None:
    """A picture of each page, where its head says it is."""
    with browser("PICTURES OF PAGES") as page:
        for html in sorted(site.rglob("*.html")) if page else ():
            said = {key: unescape(of) for key, of in SAID.findall(html.read_text("utf-8"))}
            if "image" in said:
                sheet = html.with_name("card-of-a-page.html")
                sheet.write_text(card(said, figure_of(book / html.stem), site), "utf-8")
                page.goto(sheet.as_uri())
                page.evaluate("document.fonts.ready.then(() => true)")
                path = site / "_static" / "cards" / said["image"].rpartition("/")[2]
                page.screenshot(path=path)
                sheet.unlink()


def figure_of(page: Path) -> str:
    """The figure that stands for a page; none where it has none."""
    name = {chapter.name: chapter.figure for chapter in contents.CHAPTERS}.get(page.name)
    try:
        return picture(page.with_suffix(".ipynb"), name).on("dark")
    except (FileNotFoundError, ValueError):
        return ""


def card(said: Mapping[str, str], figure: str, site: Path) -> str:
    """The picture as a page of HTML."""
    face = (site / "_static" / "fonts" / "source-sans-3-latin-wght-normal.woff2").as_uri()
    book = said["site_name"] if said["site_name"] != said["title"] else ""
    words = (("p", book), ("h1", said["title"]), ("p", said["description"]))
    text = "".join(f"<{tag}>{escape(of)}</{tag}>" for tag, of in words)
    return (
        f'<!DOCTYPE html><meta charset="utf-8"><style>{STYLE % face}</style>'
        f"<main>{text}</main>{figure}"
    )
