"""What the site has beside its pages: a Sphinx extension that makes it a publication.

- buttons lead to this repository, and to notebooks that stand alone (see colab_copies);
- each page says what it is: address, title, description and picture for whoever shares it;
- the foot of each page says which commit it is, and what its outputs were made with;
- the calculator alone, for frames on other pages (see embed);
- the wheel of costlib, the notebooks, all pages as plain text, a site map, a page for addresses
  that do not exist, and a page at every address that a page once had.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from tools.packages import build
from tools.pages import colab_copies
from tools.site import embed
from tools.site.identity import Identity, identity
from tools.site.policy import with_policy

WHAT = "An executable book on what transformers cost: the arithmetic, the bytes, the time."
#: What made the outputs that pages show.
MADE_WITH = ("numpy", "pandas", "matplotlib", "sympy")
#: 1980-01-01, the first day a zip knows: a wheel's name in our addresses is its content's hash.
WHEEL_EPOCH = "315532800"


def introduce(app: Sphinx, config: Config) -> None:
    """Put this repository's addresses where the theme looks for them."""
    who = identity(Path(app.srcdir))
    options = config.html_theme_options
    options["repository_url"], options["repository_branch"] = who.url, who.branch
    options["extra_footer"] = footer(who)
    config.html_baseurl = f"{who.site}/"
    config.html_copy_source = False  # the notebooks that stand alone are what one can download


def footer(who: Identity) -> str:
    """Which commit this is, and what its outputs were made with."""
    libraries = ", ".join(f"{name} {version(name)}" for name in MADE_WITH)
    python = "Python {}.{}".format(*sys.version_info)
    built = (
        f'Built from <a href="{who.url}/commit/{who.commit}">{who.commit[:10]}</a> of {who.date}. '
        if who.commit
        else ""
    )
    return f"<p>{built}Outputs checked with {python}, {libraries}.</p>"


def lead_home(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Buttons and descriptions of one page."""
    who = identity_of(app)
    notebook = Path(app.srcdir, f"{page}.ipynb")
    root = "../" * page.count("/")
    if notebook.is_file():
        copy = f"colab/{page.removeprefix('book/')}.ipynb"
        for group in context["header_buttons"]:
            if group.get("label") == "launch-buttons":
                launch(group["buttons"], page, copy, who, notebook.with_suffix(".md"))
            elif group.get("label") == "download-buttons":
                source = next(b for b in group["buttons"] if b["label"] == "download-source-button")
                source |= {"url": root + copy, "tooltip": "Download notebook", "text": ".ipynb"}
    elif page.startswith("book/"):
        for group in context.get("header_buttons", []):
            for button in group.get("buttons", []):
                if button.get("label") == "download-source-button":
                    button["url"] = f"{root}{page}.md"
    if page.startswith("book/") and doctree is not None:
        context["metatags"] = context.get("metatags", "") + described(app, page, doctree, who)
    elif doctree is None:  # the search, the index of names
        context["metatags"] = f'<meta name="description" content="{escape(WHAT)}" />'


def launch(
    buttons: list[dict[str, Any]], page: str, copy: str, who: Identity, markdown: Path
) -> None:
    """The Colab button opens the copy; one more opens the exercises without their solutions."""
    button = next(each for each in buttons if each["text"] == "Colab")
    button["url"] = who.colab(copy)
    if colab_copies.has_exercises(markdown):
        address = who.colab(colab_copies.exercises(page))
        buttons.append({**button, "url": address, "text": "Exercises in Colab"})


def described(app: Sphinx, page: str, doctree: nodes.document, who: Identity) -> str:
    """The head of a page: what a search engine or a message that links to it shows."""
    title = app.env.titles[page].astext()
    first = next(
        (p.astext() for p in doctree.findall(nodes.paragraph) if len(p.astext()) > 30), WHAT
    )
    if page.startswith("book/api/") and not page.endswith("/index"):
        names = [each.astext() for each in doctree.findall(nodes.title) if "." not in each.astext()]
        title, first = f"{title}: reference", f"In costlib: {', '.join(names[1:])}."
    text = re.sub(r"\s+", " ", first)
    if len(text) > 200:
        text = text[:199].rpartition(" ")[0] + "…"
    facts = {
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:site_name": app.config.html_title,
        "og:title": title,
        "og:description": text,
        "og:url": who.page(f"{page}.html"),
        "og:image": who.page(card(page)),
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": f"{title}. {text}",
    }
    named = {"description": text, "twitter:card": "summary_large_image"}
    lines = [f'<meta property="{key}" content="{escape(said)}" />' for key, said in facts.items()]
    lines += [f'<meta name="{key}" content="{escape(said)}" />' for key, said in named.items()]
    return "\n    ".join(["", *lines, ""])


def card(page: str) -> str:
    """Where the picture of a page is, for whoever shares it."""
    return f"_static/cards/{page.removeprefix('book/').replace('/', '-')}.png"


def identity_of(app: Sphinx) -> Identity:
    """Read once for each build."""
    if not hasattr(app, "book_identity"):
        app.book_identity = identity(Path(app.srcdir))  # type: ignore[attr-defined]
    return app.book_identity  # type: ignore[attr-defined, no-any-return]


def missing(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page for addresses that do not exist."""
    body = (
        "<h1>There is no page here</h1><p>The address may be mistyped, or the page may be gone. "
        'Try <a href="book/index.html">the first page</a>, or <a href="search.html">search</a>.</p>'
    )
    yield "404", {"title": "No page here", "body": body}, "page.html"


def publish(app: Sphinx, failed: Exception | None) -> None:
    """What is written once all pages are."""
    if failed or app.builder.name != "html":
        return
    who, site, root = identity_of(app), Path(app.outdir), Path(app.srcdir)
    wheel = build_wheel(Path(app.srcdir), site / "wheels")
    place = who.page(wheel.relative_to(site).as_posix())
    digest = sha256(wheel.read_bytes()).hexdigest()
    texts = colab_copies.write(site, who, f"{place}#sha256={digest}", root)
    for name, text in texts.items():
        (site / f"{name}.md").write_text(text, "utf-8")
    (site / "book.md").write_text("\n\n".join(texts.values()), "utf-8")
    titles = {name: app.env.titles[name].astext() for name in texts}
    (site / "llms.txt").write_text(llms(who, app.config.html_title, titles), "utf-8")
    (site / "sitemap.xml").write_text(site_map(who, list(texts)), "utf-8")
    (site / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {who.page('sitemap.xml')}\n", "utf-8"
    )
    (site / ".nojekyll").touch()  # GitHub Pages: serve folders that begin with _ too
    for old, new in sorted(app.config.site_redirects.items()):
        moved(site / f"{old}.html", who.page(f"{new}.html"))
    rooted(site / "404.html", who.base)
    embed.write(site, who.page("book/"))
    for path in site.rglob("*.html"):
        modules = ["data:"] if path == site / embed.NAME else []
        path.write_text(with_policy(path.read_text("utf-8"), *modules), "utf-8")


def build_wheel(root: Path, out: Path) -> Path:
    """The wheel of costlib, in a folder named for what is in it: equal sources, equal address."""
    out.mkdir(parents=True, exist_ok=True)
    made = build("wheel", root, out, WHEEL_EPOCH)
    folder = out / sha256(made.read_bytes()).hexdigest()[:12]
    folder.mkdir(exist_ok=True)
    return Path(made.replace(folder / made.name))


def llms(who: Identity, book: str, titles: dict[str, str]) -> str:
    """What the book is and where its plain text lies, for a reader that is a program."""
    lines = [f"- [{title}]({who.page(name)}.md)" for name, title in titles.items()]
    return (
        f"# {book}\n\n> {WHAT} Every number is computed by costlib, a small Python library.\n\n"
        f"The whole book is [one Markdown file]({who.page('book.md')}); "
        f"the library is at [{who.repository}]({who.url}).\n\n"
        "## Pages\n\n" + "\n".join(lines) + "\n"
    )


def site_map(who: Identity, names: list[str]) -> str:
    """The addresses of all pages, for search engines."""
    day = f"<lastmod>{who.date}</lastmod>" if who.date else ""
    rows = [f"  <url><loc>{who.page(name)}.html</loc>{day}</url>" for name in sorted(names)]
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n'
    return head + "\n".join(rows) + "\n</urlset>\n"


def moved(path: Path, address: str) -> None:
    """Leave a page at an old address that leads to the new one."""
    if path.exists():
        raise ValueError(f"{path} is a page: it cannot lead elsewhere too")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Moved</title>'
        f'<link rel="canonical" href="{address}">'
        f"<script>location.replace('{address}' + location.hash)</script>"  # keeps the place in it
        f'<meta http-equiv="refresh" content="0;url={address}">'
        f'<p>This page is now at <a href="{address}">{address}</a>.</p></html>\n',
        "utf-8",
    )


def rooted(path: Path, base: str) -> None:
    """Make one page's links right at whatever address it is shown; those within it stay so."""
    path.write_text(RELATIVE.sub(rf'\1="{base}', path.read_text("utf-8")), "utf-8")


#: A link to the site's own files, by its beginning.
RELATIVE = re.compile(r'\b(href|src|action|data-content_root)="(?:\./)*(?![a-z]+:|/|#)')


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("site_redirects", {}, "env")
    app.connect("config-inited", introduce)
    app.connect("html-page-context", lead_home, priority=600)
    app.connect("html-collect-pages", missing)
    app.connect("build-finished", publish, priority=950)  # after page_weight
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
