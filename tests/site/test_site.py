"""The built site, read as files and then in a real browser with the network cut.

`make test` builds the site first. The browser tests need chromium; where there is none they are
skipped and say so, and REQUIRE_BROWSER=1 (set in CI) makes that an error.
"""

from __future__ import annotations

import functools
import gzip
import re
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from axe_playwright_python import base

import sampling
from browsing import DESK, PHONE, SMALL, TWO_FRAMES, Opened, Visit, scripted
from paths import ROOT, SITE

#: What a page is asked, by the name of a function of looks.js.
ASK = scripted(Path(__file__).with_name("looks"))
PAGES = sorted(SITE.glob("book/**/*.html"))
by_name = {"ids": lambda page: page.stem}
WAYS = [(size, theme) for size in (DESK, PHONE) for theme in ("light", "dark")]
PAIRS = [[WAYS[0], WAYS[3]], [WAYS[1], WAYS[2]]]  # each size and each theme once


def is_new(page: Path) -> bool:
    """Whether what this page is made from has just changed."""
    script = f"book/_static/explorers/{page.stem.removeprefix('explore_')}.js"
    return sampling.touched(f"book/{page.stem}.md", f"book/{page.stem}.ipynb", script)


#: Those that a browser opens: each week all, and each time those that changed. Pages of the API are
#: made by one template.
OPENED = [
    *sampling.some([p for p in PAGES if p.parent.name != "api"], 9, "pages", first=is_new),
    *sampling.some([p for p in PAGES if p.parent.name == "api"], 2, "pages of the API"),
]
IN_EVERY_WAY = sampling.some(OPENED, 2, "pages in every way")


def ways_of(page: Path) -> list[tuple[dict[str, int], str]]:
    """In which sizes and themes a page is looked at; pages of the API are alike."""
    if page in IN_EVERY_WAY:
        return WAYS
    luck = sampling.chance(f"ways of {page.stem}")
    return [luck.choice(WAYS)] if page.parent.name == "api" else luck.choice(PAIRS)


class Page(HTMLParser):
    """The ids, links and loaded resources of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        of = dict(attrs)
        self.ids.update([of["id"]] if of.get("id") else [])
        if tag == "a" and of.get("href"):
            self.links.append(str(of["href"]))
        elif tag == "link" and "stylesheet" in str(of.get("rel")):
            self.loads.append(str(of["href"]))
        elif of.get("src"):
            self.loads.append(str(of["src"]))
        if tag == "img" or (tag == "svg" and "costlib-figure" in str(of.get("class"))):
            self.images.append(of)


@functools.cache
def parsed(path: Path) -> Page:
    """A page, read once however many others link to it."""
    return Page(path)


def test_the_site_is_built() -> None:
    assert PAGES, "run `make book` first"


@pytest.mark.parametrize("page", sorted(SITE.rglob("*.html")), **by_name)
def test_a_page_asks_no_other_host_and_waits_for_one_style_sheet_alone(page: Path) -> None:
    html = page.read_text("utf-8")
    assert [url for url in parsed(page).loads if urlsplit(url).netloc] == []
    assert re.findall(r"unpkg\.com|jsdelivr|cdnjs|googleapis", html) == []
    if "</head>" not in html:
        return  # only leads to another page
    scripted = re.sub("<noscript>.*?</noscript>", "", html)
    sheets = re.findall(r'<link[^>]*rel="stylesheet"[^>]*/(\w+)\.css[^>]*>', scripted)
    assert sheets == ["bundle"]
    scripts = re.findall(r"<script\b[^>]*\bsrc=[^>]*>", html)
    assert [script for script in scripts if "defer" not in script and "module" not in script] == []
    assert re.findall("fontawesome|searchindex", html) == []


@pytest.mark.parametrize("sheet", sorted(SITE.rglob("*.css")), **by_name)
def test_styles_load_nothing_from_another_host(sheet: Path) -> None:
    loads = re.findall(r"(?:@import|url\()\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))
    assert loads == []


def test_roots_are_one_element_each() -> None:
    """As many as formulas have for a screen reader; but for those higher than a line."""
    pages = [page.read_text("utf-8") for page in SITE.glob("book/*.html")]
    said, drawn, left = (
        sum(page.count(each) for page in pages)
        for each in ("<msqrt>", '<span class="root', '<span class="mord sqrt">')
    )
    assert drawn > 200
    assert said == drawn + left
    assert left < 5


def test_the_style_sheet_is_small_and_complete() -> None:
    bundle = (SITE / "_static" / "bundle.css").read_text("utf-8")
    assert len(gzip.compress(bundle.encode())) < 34_000
    files = re.findall(r"url\((?!['\"]?(?:data:|#))['\"]?([^)'\"]+)", bundle)
    assert len([file for file in files if "katex/" in file]) > 10
    assert [file for file in files if not (SITE / "_static" / file).is_file()] == []


def test_no_word_waits_for_its_face() -> None:
    """It is seen in one of the machine's until then."""
    bundle = (SITE / "_static" / "bundle.css").read_text("utf-8")
    faces = [face for face in re.findall(r"@font-face\s*{[^}]*}", bundle) if "url(" in face]
    assert len(faces) > 10
    assert [face for face in faces if not re.search(r"font-display:\s*swap", face)] == []


def see_faces(page: Any) -> None:
    """Have the faces of code and formulas, which come once a page needs them, there now."""
    page.evaluate(ASK("seeFaces"))


#: A page takes at most a third of a second on a line of 6.4 Mbit/s. Many devices is the heaviest.
HEAVIEST = 270_000
FACES = ("fonts/source-sans-3-latin-wght-normal.woff2", "fonts/inconsolata-latin-400.woff2")
LETTERS = ("katex/fonts/KaTeX_Main-Regular.woff2", "katex/fonts/KaTeX_Math-Italic.woff2")


def loaded(page: Path) -> int:
    """Compressed bytes of a page and what it loads at once, but for the scripts of explorers."""
    html = page.read_text("utf-8")
    asked = re.findall(r'<(?:script|link)\b[^>]*\b(?:src|href)="([^"?]+\.(?:js|css))', html)
    files = {(page.parent / each).resolve() for each in asked if "explorers/" not in each}
    texts = sum(len(gzip.compress(path.read_bytes())) for path in [page, *sorted(files)])
    faces = FACES + (LETTERS if 'class="math' in html else ())
    return texts + sum((SITE / "_static" / face).stat().st_size for face in faces)


@pytest.mark.parametrize("page", sorted(SITE.glob("book/*.html")), **by_name)
def test_a_page_is_light_and_little_of_it_is_laid_out_at_first(page: Path) -> None:
    """Elements that stand before the first section that waits, and in the largest of these."""
    assert loaded(page) <= HEAVIEST
    html = page.read_text("utf-8")
    parts = re.split(r'(?=<section class="later")', html)
    counts = [len(re.findall(r"<[a-z]", part)) for part in parts]
    assert counts[0] <= (3100 if page.stem == "models" else 1500), "one long table"
    # The page of bounds has every proof whole, an instance by hand, and every schedule described.
    longest, whole = (5500, 20_000) if page.stem == "io_bounds" else (4000, 15_000)
    assert max(counts[1:], default=0) <= longest
    assert sum(counts) <= whole


#: All of a page, and not what is near the screen alone.
LAID_OUT = "* { content-visibility: visible !important }"


def test_nothing_is_wider_than_a_phone(browser: Any, address: str) -> None:
    """Code goes on below, indented, and is copied whole; a wide table has its rows below one
    another."""
    pages = sampling.some(sorted(SITE.glob("book/[a-z]*.html")), 3, "code on a phone")
    for page in [SITE / "book" / "kvcache.html", SITE / "book" / "devices.html", *pages]:
        with Visit(browser, address, where(page), viewport=PHONE) as visit:
            see_faces(visit.page)
            visit.page.add_style_tag(content=LAID_OUT)
            wide, cells, below, scrolled, broken = visit.page.evaluate(ASK("onAPhone"))
        assert wide <= 0.05 * cells, page.name
        assert (page.name, below, scrolled) == (page.name, [], [])
        if page.stem == "kvcache":
            [(shown, said)] = broken
            assert shown.strip() == said.strip()


@pytest.mark.parametrize("page", sorted(SITE.glob("book/[a-z]*.html")), **by_name)
def test_figures_are_counted_from_one_on_every_page(page: Path) -> None:
    said = re.findall(r'class="caption-number">Fig\. (?:\d+\.)?(\d+)', page.read_text("utf-8"))
    assert [int(number) for number in said] == list(range(1, len(said) + 1))


def test_no_line_begins_with_a_comma(visit: Opened) -> None:
    """A formula is one box to a browser, or several, and it would break the line after each."""
    page = visit("book/lowerbounds.html", viewport=PHONE)
    see_faces(page)
    formulas, broken = page.evaluate(ASK("commas"))
    assert formulas > 20
    assert broken == []


def test_a_dark_page_is_printed_in_light(visit: Opened) -> None:
    page = visit("book/glossary.html", color_scheme="dark")
    for event, theme in (("beforeprint", "light"), ("afterprint", "dark")):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert page.evaluate("document.documentElement.dataset.theme") == theme


@pytest.mark.parametrize("name", ["devices", "models"])
def test_a_wide_table_is_printed_whole(visit: Opened, name: str) -> None:
    """On a sheet of A4 with the browser's margins, and from its page's first sheet on."""
    sheet = {"width": 718, "height": 1000}
    page = visit(f"book/{name}.html", viewport=sheet)
    page.emulate_media(media="print")
    right, inside = page.evaluate(ASK("tables"))
    page.emulate_media(media="screen")
    assert right <= sheet["width"]
    assert set(inside) == {"auto"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "serving", "serving_faster"])
def test_words_in_the_hue_of_a_line_can_be_read(visit: Opened, name: str, scheme: str) -> None:
    found = visit(f"book/{name}.html", color_scheme=scheme).evaluate(ASK("ink"))
    assert len(found) > 1
    assert min(found) >= 4.5


def test_a_page_that_is_opened_as_a_file_shows_a_figure_above_its_table(browser: Any) -> None:
    """No script of an explorer comes from a disk, so what stands in for it stays."""
    page = browser.new_page()
    page.goto((SITE / "book" / "explore_users.html").as_uri())
    page.wait_for_selector(".explorers-lost", state="attached")
    edges = "(one) => { const { top, bottom } = document.querySelector(one)"
    edges += ".getBoundingClientRect(); return [top, bottom]; }"
    figure = page.evaluate(edges, "svg.explorer-stand-in")
    rows = page.evaluate(edges, "[data-explorer] table")
    page.close()
    assert figure[1] - figure[0] > 100
    assert rows[1] - rows[0] > 50
    assert rows[0] >= figure[1] or figure[0] >= rows[1]


def test_on_a_phone_nothing_lies_on_what_one_reads(visit: Opened) -> None:
    page = visit("book/matmul.html", viewport=SMALL)
    for place in (3000, 2500):  # upwards is when the theme offers to go to the top
        # what is laid out on the way there moves the page, so that one scroll may not arrive;
        # two frames later the theme has heard of it
        page.wait_for_function(
            f"""(place) => {{
              scrollTo({{ top: place, behavior: 'instant' }});
              return {TWO_FRAMES}.then(() => scrollY === place);
            }}""",
            arg=place,
        )
    assert not page.locator("#pst-back-to-top").is_visible()


@pytest.mark.parametrize("page", PAGES, **by_name)
def test_links_lead_somewhere_images_are_described_and_no_id_stands_twice(page: Path) -> None:
    dead, here = [], parsed(page.resolve())
    for link in here.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
        if not target.is_file():
            dead.append(link)
        elif parts.fragment and target.suffix == ".html":
            dead += [link] if unquote(parts.fragment) not in parsed(target).ids else []
    assert dead == []
    for image in here.images:
        assert (image.get("alt") or "").strip() or image.get("aria-labelledby"), image
    assert [name for name, times in here.ids.items() if times > 1] == []


def where(page: Path) -> str:
    """A page's path in the site."""
    return page.relative_to(SITE).as_posix()


@pytest.mark.parametrize("page", OPENED, **by_name)
def test_page_shows(visit: Opened, page: Path) -> None:
    """Wide and as narrow as a phone, in light and dark; then axe-core looks at it."""
    ways = ways_of(page)
    size, theme = ways[0]
    opened = visit(where(page), viewport=size, color_scheme=theme)
    assert seen(opened, ways) == []


PUT_UP = (
    ("color-contrast", "<p id=wrong-0 style='color: #999; background: #fff'>faint</p>"),
    ("color-contrast", "<pre>one <span id=wrong-1 style='color: #888'>faint</span></pre>"),
    (
        "link-in-text-block",
        "<p>Words <a id=wrong-2 href='#' style='color: #444; text-decoration: none'>here</a></p>",
    ),
    ("image-alt", "<img id=wrong-3 src='favicon.svg'>"),
    ("button-name", "<button id=wrong-4></button>"),
)


def test_a_barrier_is_seen(visit: Opened) -> None:
    page = visit("book/glossary.html", sound=False, viewport=DESK)
    add = "(html) => document.querySelector('article').insertAdjacentHTML('beforeend', html)"
    page.evaluate(add, "".join(html for _, html in PUT_UP))
    found = "\n".join(seen(page, WAYS))
    for number, (rule, _) in enumerate(PUT_UP):
        assert re.search(f'^{rule}: .*id="wrong-{number}"', found, re.MULTILINE), found
    assert {each.partition(":")[0] for each in found.splitlines()} == {rule for rule, _ in PUT_UP}


def seen(page: Any, ways: Sequence[tuple[dict[str, int], str]]) -> list[str]:
    """Check how the page looks in these ways, and answer what axe-core finds in the last.

    Where these are all ways, it looks at the contrast in both themes, and at what is folded and
    what predictions answer.
    """
    see_faces(page)
    if ways == WAYS:
        page.evaluate(ASK("unfold"))
    page.add_style_tag(content=f"{LAID_OUT} * {{ transition: none !important }}")
    for size, theme in ways:
        page.set_viewport_size(size)
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        check_look(page.evaluate(ASK("look")), size["width"], theme)
        page.evaluate(ASK("markTexts"))
    page.evaluate(ASK("emptyWhatIsAlike"))
    page.wait_for_function(ASK("isScrollableByKeyboard"))
    page.evaluate(AXE)
    violations = page.evaluate(BARRIERS)
    if ways == WAYS:
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        violations += page.evaluate(CONTRAST)
    return [f"{v['id']}: {node['html'][:200]}" for v in violations for node in v["nodes"]]


#: axe-core, told to look at the colours of marked texts alone.
AXE = (
    base.AXE_FILE_PATH.read_text("utf-8")
    + """;
axe.configure({ rules: [{ id: 'color-contrast', selector: '[data-looked]' },
  { id: 'link-in-text-block', selector: 'a[href][data-looked]' }] })"""
)
#: Styles are on the page: axe-core would copy all of them for a rule that nobody asks for.
OPTIONS = "resultTypes: ['violations'], preload: { assets: ['media'] }"
BARRIERS = f"() => axe.run(document, {{ {OPTIONS} }}).then((r) => r.violations)"
CONTRAST = f"""() => axe.run(document, {{ {OPTIONS},
  runOnly: ['color-contrast', 'link-in-text-block'] }}).then((r) => r.violations)"""


def check_look(look: dict[str, Any], width: int, scheme: str) -> None:
    """Nothing sticks out, is left raw, or is hard to see."""
    assert look["scrollWidth"] <= width, "the page scrolls sideways"
    assert look["theme"] == scheme
    assert look["unrenderedMath"] == []
    assert not look["math"] or look["mathFont"], "math is shown in the wrong font"
    for smallest, largest, contrast in look["figures"]:
        assert smallest >= 11
        assert largest <= 17
        assert contrast > 7


def test_what_goes_wrong_is_seen_and_no_other_host_is_found(browser: Any, address: str) -> None:
    """By the visit that it happened to, and not by the next one, which has the same tab."""
    with Visit(browser, address, "book/glossary.html", sound=False, locale="en") as visit:
        reached = "fetch('https://example.org').then(() => true, () => false)"
        assert visit.page.evaluate(f"localStorage.mine = 1, {reached}") is False
        assert visit.elsewhere == [], "the page's policy lets no script ask"
        assert any("Content Security Policy" in error for error in visit.errors)
        with visit.page.expect_event("pageerror"):
            visit.page.evaluate("setTimeout(() => { throw new Error('thrown') }), void 0")
        visit.page.goto(f"{address}/llms.txt")  # has no policy
        assert visit.page.evaluate(reached) is False
    assert any("thrown" in error for error in visit.errors)
    assert visit.elsewhere == ["https://example.org/"]
    with Visit(browser, address, "book/glossary.html", locale="en") as again:
        assert again.page is visit.page
        assert again.page.evaluate("[localStorage.mine, innerWidth]") == [None, 1280]
    with pytest.raises(AssertionError, match="thrown"), Visit(browser, address, "404.html") as left:
        left.errors.append("thrown")


def test_front_page_leads_to_the_book(visit: Opened) -> None:
    page = visit("")
    page.wait_for_url("**/book/index.html")
    assert yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"] in page.title()


@pytest.mark.parametrize("name", ["index", "measured", "explorers", "glossary"])
def test_the_side_bar_is_short_and_begins_with_the_tools(visit: Opened, name: str) -> None:
    """At most twenty entries are seen on opening but for what one is in, title and search too."""
    bar = visit(f"book/{name}.html").locator(".bd-sidebar-primary")
    seen = "(all) => all.filter((e) => e.checkVisibility()).map((e) => e.innerText.trim())"
    entries = bar.locator("nav a").evaluate_all(seen)
    assert entries[1].startswith("Calculator: ")
    assert entries[2] == "Explorers"
    if name in ("index", "measured"):
        assert len(entries) <= 20, entries
    assert [each for each in entries if each.startswith("Explorer:")] == []
    assert len(entries) == len({*entries})
    assert ("Play the pebble game" in entries) == (name == "explorers")
    assert ("Glossary" in entries) == (name == "glossary")
    below = bar.locator(".sidebar-primary-item:has(> .bd-docs-nav)")
    assert below.evaluate("(each) => (each.scrollTo(0, each.scrollHeight), each.scrollTop > 0)")
    for what in (".navbar-brand", ".search-button-field"):
        box = bar.locator(what).bounding_box()
        assert 0 <= box["y"] < box["y"] + box["height"] <= below.bounding_box()["y"], what


def test_the_gallery_shows_every_explorer(visit: Opened) -> None:
    """Each with a picture of its own that is there, and a link."""
    cards = visit("book/explorers.html").locator(".page-card")
    links = cards.locator("strong a").evaluate_all("(all) => all.map((e) => e.href)")
    names = sorted(link.rpartition("/")[2].removesuffix(".html") for link in links)
    assert names == sorted(page.stem for page in (ROOT / "book").glob("explore_*.md"))
    for card in cards.all():
        card.scroll_into_view_if_needed()
        picture = card.locator("img.page-card-light")
        assert picture.get_attribute("alt")
        assert picture.evaluate("(one) => one.decode().then(() => one.naturalWidth > 0)")


def test_code_is_hidden_on_every_page_until_it_is_asked_for(visit: Opened, address: str) -> None:
    """Solutions of exercises are folded already, and stay."""
    shown = ASK("shownCode")
    page = visit("book/matmul.html")
    assert {seen for _, seen in page.evaluate(shown)} == {True}
    page.click("text=Hide code")
    assert {solution == seen for solution, seen in page.evaluate(shown)} == {True}
    page.goto(f"{address}/book/attention.html")
    page.wait_for_selector("text=Show code")
    assert {solution == seen for solution, seen in page.evaluate(shown)} == {True}
    page.click("text=Show code")
    assert {seen for _, seen in page.evaluate(shown)} == {True}
    page.goto(f"{address}/book/glossary.html")
    assert page.locator(".code-switch").count() == 0


def test_icons_are_drawn(visit: Opened) -> None:
    shapes = visit("book/matmul.html").evaluate(ASK("icons"))
    assert len(shapes) > 8
    assert [name for name, length in shapes if length < 50] == []


def test_the_list_of_headings_says_where_one_is(visit: Opened) -> None:
    # what lies above is laid out as it is passed, so that one scroll may end short of it
    heading = "#capacity-the-largest-batch-and-the-longest-context"
    visit("book/kvcache.html", viewport=DESK).wait_for_function(ASK("isAt"), arg=heading)


def test_an_aside_stands_in_the_margin_and_on_a_phone_below_its_paragraph(visit: Opened) -> None:
    opacity_is = """(wanted) =>
      getComputedStyle(document.querySelector('.bd-sidebar-secondary')).opacity === wanted"""
    page = visit("book/parallel.html", viewport=DESK)
    text, aside = page.evaluate(ASK("besideAside"))
    assert text["right"] < aside["left"] < aside["right"] < DESK["width"]
    assert abs(text["top"] - aside["top"]) < 12
    page.wait_for_function(opacity_is, arg="0")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(opacity_is, arg="1")
    text, aside = visit("book/parallel.html", viewport=PHONE).evaluate(ASK("besideAside"))
    assert aside["top"] >= text["bottom"]
    assert aside["right"] <= PHONE["width"]
