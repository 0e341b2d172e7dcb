"""Everything that is published, in one folder: `make publish-preview REPO=owner/name`.

The site, with notebooks that stand alone, the wheel, plain text and addresses (see extras), a
picture for each page, and the book as a PDF. What comes out depends on the commit and on whose
repository it is, and on nothing else: two runs agree to the last byte.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from tools import ROOT
from tools.contents import PARTS
from tools.site.drawings import strokes
from tools.site.identity import Identity, identity
from tools.site.sharing import browser, draw_cards

#: Not on paper: a reference of 100 pages, explorers, whose figures stand in their chapters, and the
#: tables of the catalogue, thousands of cells to look something up in.
ON_SCREEN = ("/api/", "/explore_", "book/explorers", "book/models", "book/devices")
PAPER = """
body { background: #fff; }
*, ::before, ::after { background-image: none !important; box-shadow: none !important; }
.bd-content { max-width: none; margin: 0; display: block; }
article:not(:last-of-type) { break-after: page; }
pre, figure, svg, .cell_input, .highlight { break-inside: avoid; }
pre { white-space: pre-wrap; }
h1, h2, h3, h4 { break-after: avoid; }
details > summary { font-weight: 600; }
h1.part { margin-top: 40vh; text-align: center; break-before: page; break-after: page; }
article.inner h2 { font-size: 2.25rem; margin-top: 0 !important; }
article.inner h3 { font-size: 1.625rem; }
article.inner h4 { font-size: 1.25rem; }
.cell_output svg.costlib-figure { display: block !important; }
.headerlink, .copybtn, .toggle-details, button { display: none !important; }
"""


def publish(
    out: Path,
    *,
    pdf: bool = True,
    strict: bool = True,
    previous: Path | None = None,
    root: Path = ROOT,
    environment: Mapping[str, str] = os.environ,
) -> Identity:
    """Make the folder that is published; whose it is."""
    who = identity(root, environment)
    if out.exists() and any(out.iterdir()) and not (out / ".nojekyll").exists():
        raise SystemExit(f"error: {out} holds something else: name an empty folder")
    with tempfile.TemporaryDirectory(prefix="book-") as work:
        build(Path(work), who, root, strict=strict, environment=environment)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(Path(work) / "_build" / "html", out)
    (out / ".buildinfo").unlink(missing_ok=True)
    draw_cards(out, root / "book")
    keep_wheels(out, previous)
    if pdf:
        print_book(out, who)
        for name, pdf in ALONE.items():
            print_book(out, who, only=name, name=pdf)
    return who


def build(
    work: Path, who: Identity, root: Path, *, strict: bool, environment: Mapping[str, str]
) -> None:
    """Build the site from scratch, for this repository."""
    said = {
        "BOOK_REPOSITORY": who.repository,
        "BOOK_BRANCH": who.branch,
        "BOOK_PAGES_BRANCH": who.pages_branch,
        "BOOK_SITE": who.site,
        "BOOK_COMMIT": who.commit,
        "BOOK_DATE": who.date,
        "SOURCE_DATE_EPOCH": str(epoch(who)),
        "PYTHONHASHSEED": "0",
    }
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "."]
    command += ["-q", "--all", "-n", "--keep-going", "--path-output", str(work)]
    command += ["-W"] if strict else []
    done = subprocess.run(
        command, cwd=root, env={**environment, **said}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"error: the site was not built\n{done.stdout}{done.stderr}")


def epoch(who: Identity) -> int:
    """The day of the commit, in seconds since 1970: the only date in what is published."""
    day = datetime.fromisoformat(who.date or "2026-01-01")
    return int(day.replace(tzinfo=timezone.utc).timestamp())


def keep_wheels(out: Path, previous: Path | None) -> None:
    """Wheels that were published before stay: notebooks that readers saved install them."""
    for wheel in sorted(previous.glob("wheels/*/*.whl")) if previous else ():
        kept = out / "wheels" / wheel.parent.name / wheel.name
        if not kept.exists():
            kept.parent.mkdir(parents=True)
            shutil.copyfile(wheel, kept)


# ---------------------------------------------------------------- the book on paper


#: Pages that are cited by themselves, and their own PDF.
ALONE = {"book/io_bounds": "io-bounds.pdf"}


def print_book(
    site: Path, who: Identity, *, only: str | None = None, name: str = "book.pdf"
) -> Path | None:
    """The book, or only one page of it, as a PDF; without a browser, say so and go on."""
    sheet, pdf = site / "print.html", site / name
    with browser("PDF") as page:
        if not page:
            return None
        sheet.write_text(one_page(site, who, only), "utf-8")
        page.goto(sheet.as_uri())
        page.evaluate("document.fonts.ready.then(() => true)")
        page.pdf(
            path=str(pdf),
            format="A4",
            margin=dict.fromkeys(("top", "right", "bottom", "left"), "18mm"),
            print_background=True,
            tagged=True,
            outline=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOT,
        )
    sheet.unlink()
    pdf.write_bytes(undated(pdf.read_bytes(), epoch(who)))
    return pdf


FOOT = (
    '<div style="font-size: 8px; width: 100%; text-align: center">'
    '<span class="pageNumber"></span></div>'
)


def undated(pdf: bytes, seconds: int) -> bytes:
    """A PDF that says it was made on the day of the commit; no byte moves."""
    day = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y%m%d%H%M%S").encode()
    return re.sub(rb"(?<=Date \(D:)\d{14}", day, pdf)


def one_page(site: Path, who: Identity, only: str | None = None) -> str:
    """All pages in one, or only one of them; links between those that are there stay inside."""
    order = re.findall(r"<loc>([^<]+)</loc>", (site / "sitemap.xml").read_text("utf-8"))
    listed = (site / "llms.txt").read_text("utf-8")
    names = [address.removeprefix(f"{who.site}/").removesuffix(".html") for address in order]
    names = [name for name in names if not any(part in name for part in ON_SCREEN)]
    names.sort(key=lambda name: listed.index(f"/{name}.md)"))
    names = [name for name in names if only in (None, name)]
    parts = {} if only else begins()
    articles = "\n".join(parts.get(n, "") + article(site, n, names, who) for n in names)
    title = re.search("# (.+)", listed)
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light" data-mode="light"><head>'
        f'<meta charset="utf-8"><title>{title[1] if title else ""}</title>'
        f'<link rel="stylesheet" href="_static/bundle.css"><style>{PAPER}</style></head>'
        f'<body><main class="bd-content">{articles}</main></body></html>'
    )


def begins() -> dict[str, str]:
    """The heading of each part of the book, by the page that it stands before."""
    first = {part.caption: (*(c.name for c in part.chapters), *part.pages)[0] for part in PARTS}
    return {
        f"book/{name}": f'<h1 class="part">{escape(caption)}</h1>'
        for caption, name in first.items()
        if not name.startswith("explore_")
    }


def for_paper(found: Any, address: str) -> None:
    """A page as one reads it on paper: folded text open, explorers as figures with a link."""
    for unseen in found.select("script, button, a.headerlink, .toctree-wrapper"):
        unseen.decompose()
    for details in found.select("details"):
        if details.summary.get_text() == "code":
            details.decompose()  # what draws a figure is on the site
        else:
            details["open"] = ""
    for code in found.select(".highlight pre"):
        code.string = code.get_text()  # each coloured word is an object of the PDF
    for formula in found.select(".katex"):
        if (spoken := formula.select_one(".katex-mathml")) is not None:
            formula["role"], formula["aria-label"] = "math", spoken.get_text()
            spoken.decompose()
    for explorer in found.select("[data-explorer]"):
        place = explorer.find_parent("section")
        link = f"{address}#{place['id']}" if place else address
        lead = BeautifulSoup(f'<p>To be moved at <a href="{link}">{link}</a>.</p>', "html.parser")
        (explorer.p or explorer).replace_with(lead)
    for figure in found.select("svg.costlib-figure"):
        without_patterns(figure)
    if not address.endswith("/index.html"):  # below the heading of its part
        found["class"] = [*found["class"], "inner"]
        for heading in found.select("h1, h2, h3, h4, h5"):
            heading.name = f"h{int(heading.name[1]) + 1}"


def without_patterns(figure: Any) -> None:
    """Hatches as lines within the shapes that have them: a pattern becomes one bitmap a shape."""
    patterns = {pattern["id"]: pattern for pattern in figure.select("pattern")}
    for at, shape in enumerate(figure.select('[fill^="url(#"]')):
        name = shape["fill"][len("url(#") : -len(")")]
        ground, lines = patterns[name].rect, patterns[name].path
        shape["fill"] = ground["fill"]
        places = [place for _, around in strokes(shape.get("d", "")) for place in around]
        if not places:
            continue
        drawn = "".join(tiles(lines, *zip(*places, strict=True)))
        clip, veil = f"{name}-{at}", shape.get("fill-opacity", shape.get("opacity", 1))
        text = (
            f'<clippath id="{clip}"><path d="{shape["d"]}"/></clippath>'
            f'<g clip-path="url(#{clip})" opacity="{veil}">{drawn}</g>'
        )
        shape.insert_after(BeautifulSoup(text, "html.parser"))


def tiles(lines: Any, across: Sequence[float], down: Sequence[float]) -> Iterator[str]:
    """The lines of a pattern, 72 wide and high, that come near a shape with these corners."""
    drawn = [(stroke, *zip(*around, strict=True)) for stroke, around in strokes(lines["d"])]
    for x in range(int(min(across) // 72) * 72, int(max(across)) + 1, 72):
        for y in range(int(min(down) // 72) * 72, int(max(down)) + 1, 72):
            near = [
                stroke
                for stroke, along, below in drawn
                if min(along) + x <= max(across)
                and max(along) + x >= min(across)
                and min(below) + y <= max(down)
                and max(below) + y >= min(down)
            ]
            if near:
                drawn_as = "".join(f' {k}="{v}"' for k, v in lines.attrs.items() if k != "d")
                yield f'<path transform="translate({x} {y})" d="{"".join(near)}"{drawn_as}/>'


def article(site: Path, name: str, names: list[str], who: Identity) -> str:
    """One page's text, its ids and links made unique in the whole."""
    soup = BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser")
    found = soup.select_one("article.bd-article")
    assert found is not None, name
    for_paper(found, who.page(f"{name}.html"))
    own = _tag(name)
    for tag in found.find_all(True):
        for key in ("id", "for", "aria-labelledby", "aria-describedby", "name"):
            if tag.get(key) and (key != "name" or tag.name == "a"):
                tag[key] = " ".join(f"{own}--{each}" for each in str(tag[key]).split())
        for key, value in list(tag.attrs.items()):
            if isinstance(value, str) and "url(#" in value:
                tag[key] = value.replace("url(#", f"url(#{own}--")
        if tag.get("xlink:href", "").startswith("#"):
            tag["xlink:href"] = f"#{own}--{tag['xlink:href'][1:]}"
        if tag.get("href"):
            tag["href"] = _inside(tag["href"], name, names, who)
        if tag.get("src") and "://" not in tag["src"]:
            tag["src"] = os.path.normpath(f"{name}/../{tag['src']}")
    text = str(found).replace("<article", f'<article id="{own}"', 1)
    return re.sub(r"<style>(.*?)</style>", lambda m: m[0].replace("url(#", f"url(#{own}--"), text)


def _tag(name: str) -> str:
    return name.removeprefix("book/").replace("/", "-")


def _inside(href: str, name: str, names: list[str], who: Identity) -> str:
    """A link of a page, as a link within the PDF or to the site."""
    if re.match("[a-z]+:", href):
        return href
    path, _, anchor = href.partition("#")
    target = os.path.normpath(f"{name}/../{path}") if path else f"{name}.html"
    other = target.removesuffix(".html")
    if other in names:
        return f"#{_tag(other)}" + (f"--{anchor}" if anchor else "")
    return who.page(target) + (f"#{anchor}" if anchor else "")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("out", type=Path)
    parser.add_argument("--repository", default="", help="owner/name, where not _config.yml's")
    parser.add_argument("--previous", type=Path, help="what was published before: its wheels stay")
    parser.add_argument("--no-pdf", action="store_true")
    parser.add_argument("--no-strict", action="store_true", help="publish in spite of warnings")
    options = parser.parse_args()
    environment = dict(os.environ)
    if options.repository:
        environment["BOOK_REPOSITORY"] = options.repository
    who = publish(
        options.out,
        pdf=not options.no_pdf,
        strict=not options.no_strict,
        previous=options.previous,
        environment=environment,
    )
    print(f"{options.out} is what {who.repository} publishes at {who.site}/")


if __name__ == "__main__":
    main()
