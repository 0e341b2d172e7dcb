"""What is published: for whom, where every address leads, and that it is always the same."""

from __future__ import annotations

import os
import re
import shutil
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from bs4 import BeautifulSoup

from browsing import BROWSER, Visit
from paths import ROOT
from tools.packages import PACKAGES
from tools.site import extras, publish, sharing
from tools.site.identity import identity, of

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
COMMIT = {"BOOK_COMMIT": "c0ffee" * 6 + "c0ff", "BOOK_DATE": "2026-11-21"}
PAGES = ("index", "matmul", "notation", "bibliography")
SITE = ROOT / "_build" / "html"


def small_book(folder: Path) -> Path:
    """The repository with four of its pages: what is published of it takes seconds."""
    for name in (*PACKAGES, "course", "tools", "book/_static"):
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    for page in PAGES:
        for path in (ROOT / "book").glob(f"{page}.*"):
            shutil.copy(path, folder / "book")
    shutil.copy(ROOT / "book" / "references.bib", folder / "book")
    for name in ("_config.yml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    chapters = "".join(f"  - file: book/{page}\n" for page in PAGES[1:])
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: book/index\nchapters:\n{chapters}")
    config = folder / "_config.yml"
    redirects = "site_redirects: {book/flops: book/matmul}"
    config.write_text(config.read_text("utf-8").replace("site_redirects: {}", redirects), "utf-8")
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The small book as somebody publishes it, and built once more from another folder."""
    said = {**os.environ, **COMMIT, "BOOK_REPOSITORY": "ada-l/notes"}
    ada, again = (small_book(tmp_path_factory.mktemp(name)) for name in ("ada", "again"))
    out, work = ada.with_name("ada-out"), tmp_path_factory.mktemp("work")
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(publish.publish, out, pdf=False, strict=False, root=ada, environment=said)
        publish.build(work, identity(again, said), again, strict=False, environment=said)
        one.result()
    return {"ada": out, "again": work / "_build" / "html"}


@pytest.fixture(scope="module")
def site(published: dict[str, Path]) -> Path:
    """What somebody published."""
    return published["ada"]


def files(folder: Path) -> dict[str, str]:
    """Every file of a folder: a digest of what is in it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in found
    }


def test_two_builds_are_equal_to_the_last_byte(published: dict[str, Path]) -> None:
    """But for the pictures of pages, which are a browser's and are drawn once here."""
    one, other = files(published["ada"]), files(published["again"])
    assert len(one) > 40
    differ = {name for name in one | other if one.get(name) != other.get(name)}
    pictures = {name for name in one if name.startswith("_static/cards/") and ".png" in name}
    assert differ == {*pictures, ".buildinfo"}


def test_no_trace_of_another_owner(site: Path) -> None:
    """Of the configuration's, for whom the site itself is built here; nor of this machine."""
    url = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
    owner, name = url.removeprefix("https://github.com/").split("/")
    for path in site.rglob("*"):
        if path.is_file():
            held = path.read_bytes()
            traces = f"{owner}/{name}", f"{owner}.github.io"
            assert [trace for trace in traces if trace.encode() in held] == [], path
            assert str(ROOT).encode() not in held, path
            assert b"/tmp/" not in held or path.suffix == ".js", path


def test_addresses_are_this_owners(site: Path) -> None:
    html = (site / "book" / "matmul.html").read_text("utf-8")
    repository, home = "ada-l/notes", "https://ada-l.github.io/notes"
    colab = f"https://colab.research.google.com/github/{repository}/blob/gh-pages"
    for address in (
        f'href="{colab}/colab/matmul.ipynb"',
        f'href="{colab}/exercises/matmul.ipynb"',
        f'href="https://mybinder.org/v2/gh/{repository}/main?urlpath=tree/book/matmul.ipynb"',
        f'href="https://github.com/{repository}"',
        f'href="https://github.com/{repository}/commit/{COMMIT["BOOK_COMMIT"]}"',
        'href="../colab/matmul.ipynb"',
        f'<link rel="canonical" href="{home}/book/matmul.html"',
        f'<meta property="og:image" content="{home}/_static/cards/matmul.png"',
    ):
        assert address in html, address
    for address in re.findall(rf'"{re.escape(colab)}/([^"]+)"', html):
        assert (site / unquote(address)).is_file()
    setup = (site / "colab" / "matmul.ipynb").read_text("utf-8")
    assert f"{home}/" in setup


def test_every_page_says_what_it_is(site: Path) -> None:
    for page in PAGES:
        html = (site / "book" / f"{page}.html").read_text("utf-8")
        said = dict(re.findall(r'<meta property="og:([\w:]+)" content="([^"]*)"', html))
        assert {"title", "description", "url", "image", "type"} <= set(said)
        assert 20 < len(said["description"]) <= 200
        picture = site / said["image"].removeprefix("https://ada-l.github.io/notes/")
        assert picture.is_file() == bool(BROWSER)
        assert 'name="description"' in html
        assert 'c0ffeec0ff</a> of <span class="whole">2026-11-21</span>' in html
        assert re.search(r"Python 3\.\d+, numpy \d", html)


def test_a_picture_shows_the_figure_of_its_page_and_says_nothing_twice(site: Path) -> None:
    said = {"site_name": "A book", "title": "A page", "description": "What is on it & why?"}
    figure = sharing.figure_of(ROOT / "book" / "matmul")
    assert "5 multiply-adds make one output" in figure
    assert sharing.figure_of(ROOT / "book" / "glossary") == ""
    shown = BeautifulSoup(sharing.card(said, figure, site), "html.parser")
    assert [each.text for each in shown.main.children] == [*said.values()]
    assert shown.svg
    front = BeautifulSoup(sharing.card({**said, "title": "A book"}, "", site), "html.parser")
    assert front.main.text.count("A book") == 1


def test_beside_the_pages(site: Path) -> None:
    for name in ("llms.txt", "book.md", "sitemap.xml", "404.html", "robots.txt", ".nojekyll"):
        assert (site / name).is_file()
    for list_, link in (("sitemap.xml", "<loc>{}(.+?)</loc>"), ("llms.txt", r"\({}([^)]+)\)")):
        start, text = r"https://ada-l\.github\.io/notes/", (site / list_).read_text("utf-8")
        named = re.findall(link.format(start), text)
        assert named
        assert [name for name in named if not (site / name).is_file()] == []
    assert "costlib.matmul(m, k, n).flops" in (site / "book.md").read_text("utf-8")
    assert len(list(site.glob("wheels/*/costlib-*.whl"))) == 1


def test_a_renamed_page_leads_to_the_new_one(site: Path) -> None:
    html = (site / "book" / "flops.html").read_text("utf-8")
    assert 'content="0;url=https://ada-l.github.io/notes/book/matmul.html"' in html


def test_a_page_cannot_also_lead_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("")
    with pytest.raises(ValueError, match="is a page"):
        extras.moved(tmp_path / "page.html", "https://example.org")


def test_an_address_that_is_not_there(site: Path) -> None:
    html = (site / "404.html").read_text("utf-8")
    links = re.findall(r'(?:href|src)="(?!https?:|data:|#)([^"#?]+)', html)
    assert len(links) > 12
    assert [link for link in links if not link.startswith("/notes/")] == []
    files = [site / link.removeprefix("/notes/") for link in links]
    assert [file for file in files if not file.exists()] == []
    within = re.findall(r'href="#([^"]+)"', html)
    assert within, "the link past the bars"
    assert [name for name in within if f'id="{name}"' not in html] == []


def test_only_built_scripts_run_and_only_from_here(site: Path) -> None:
    """What stands in a page is known by its digest: a script put into it would not be."""
    texts = {page: page.read_text("utf-8") for page in site.rglob("*.html")}
    pages = {page: html for page, html in texts.items() if "<html" in html and "<script" in html}
    assert len(pages) > len(PAGES)
    for page, html in pages.items():
        (rules,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', html)
        assert html.index("Content-Security-Policy") < html.index("<script"), page
        asked = dict(rule.strip().split(" ", 1) for rule in rules.split(";"))
        assert asked["default-src"] == "'self'"
        assert asked["object-src"] == asked["base-uri"] == "'none'"
        assert "unsafe-inline" not in asked["script-src"]
        assert not re.search(r"https?:|\*", rules), page
        soup = BeautifulSoup(html, "html.parser")
        for script in soup.find_all("script", src=False):
            known = b64encode(sha256(script.encode_contents()).digest()).decode()
            assert not script.string or f"'sha256-{known}'" in asked["script-src"], page


def test_wheels_that_saved_notebooks_need_stay(tmp_path: Path) -> None:
    old = tmp_path / "old" / "wheels" / "abc" / "costlib-0.0.1-py3-none-any.whl"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    publish.keep_wheels(tmp_path / "new", tmp_path / "old")
    publish.keep_wheels(tmp_path / "new", tmp_path / "old")
    publish.keep_wheels(tmp_path / "new", None)
    assert set(files(tmp_path / "new")) == {"wheels/abc/costlib-0.0.1-py3-none-any.whl"}


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(SystemExit, match="holds something else"):
        publish.publish(tmp_path)


def test_wheel_depends_on_the_library_alone(tmp_path: Path) -> None:
    one = extras.build_wheel(ROOT, tmp_path / "one")
    os.utime(ROOT / "costlib" / "__init__.py")
    other = extras.build_wheel(ROOT, tmp_path / "other")
    assert (one.parent.name, one.read_bytes()) == (other.parent.name, other.read_bytes())


# ---------------------------------------------------------------- addresses that stay


def test_no_address_is_lost() -> None:
    """Every address that a page once had is a page, or leads to one (site_redirects)."""
    toc = (ROOT / "_toc.yml").read_text("utf-8")
    pages = set(re.findall(r"(?:root|file): *(\S+)", toc))
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    moved = config["sphinx"]["config"]["site_redirects"]
    known = set((ROOT / "tests" / "data" / "addresses.txt").read_text("utf-8").split())
    assert known - pages - set(moved) == set(), "a renamed page leaves a redirect in _config.yml"
    assert pages - known == set(), "a new page: add its address to tests/data/addresses.txt"
    assert set(moved.values()) <= pages


def test_exceptions_of_the_link_check_are_explained() -> None:
    text = (ROOT / "_config.yml").read_text("utf-8")
    ignored = re.findall(r"^ +- (https:.*)$", text, re.MULTILINE)
    config = yaml.safe_load(text)["sphinx"]["config"]
    assert len(ignored) == len(config["linkcheck_ignore"])
    assert [line for line in ignored if " # " not in line] == []


# ---------------------------------------------------------------- the book on paper


@pytest.fixture(scope="module")
def paper(site: Path) -> bytes:
    """The small book, printed."""
    made = publish.print_book(site, of("ada-l/notes", date="2026-11-21"))
    if made is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no chromium here: no PDF was made")
    assert made is not None
    return made.read_bytes()


def test_pdf_has_pages_links_and_no_date_of_its_own(paper: bytes) -> None:
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", paper)) > 10
    assert set(re.findall(rb"Date \(D:(\d{14})", paper)) == {b"20261121000000"}
    outside = set(re.findall(rb"/URI \((.*?)\)", paper))
    assert outside
    assert not [address for address in outside if not address.startswith(b"http")]
    assert re.search(rb"/S /GoTo|/Dest ", paper), "links within the book stay within it"


def test_the_page_of_bounds_is_a_pdf_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has every statement and its proof, in a few pages, and nothing of the rest of the book."""
    [(page, name)] = publish.ALONE.items()
    site, who = tmp_path, identity(ROOT, {**os.environ, **COMMIT})
    (site / "book").mkdir()
    (site / "_static").symlink_to(SITE / "_static")
    for file in ("sitemap.xml", "llms.txt", f"{page}.html"):
        shutil.copy(SITE / file, site / file)
    html = publish.one_page(site, who, page)
    monkeypatch.setattr(publish, "one_page", lambda *_: html)  # which takes seconds
    text = BeautifulSoup(html, "html.parser").get_text(" ")
    assert text.count("Statement.") == 6
    assert text.count("∎") >= 8
    assert "Predict." not in text, "which every chapter has"
    made = publish.print_book(site, who, only=page, name=name)
    if made is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no chromium here: no PDF was made")
    assert made == site / "io-bounds.pdf"
    pdf = made.read_bytes()
    assert pdf.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type /Page\b", pdf)) < 40
    titles = b"".join(re.findall(rb"/Title \(([^)]*)\)", pdf))
    for letter in "ABCDEFG":
        assert f"Theorem {letter}:".encode() in titles


def test_pages_of_the_pdf_share_no_id(site: Path) -> None:
    html = publish.one_page(site, of("ada-l/notes"))
    ids = re.findall(r'<[^>]+\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'href="#([^"]+)"', html))
    kept = {target for target in targets if not re.search(r"\.(ipynb|md)(#|$)", target)}
    assert len(kept) > 10
    assert kept <= set(ids), "the others lead to pages that the small book lacks"
    assert "katex" in html


def test_on_paper_hatches_are_lines_and_code_that_draws_is_left_out() -> None:
    page = BeautifulSoup(
        '<article class="bd-article"><details class="quiet"><summary>code</summary>x</details>'
        '<details class="quiet"><summary>solution</summary>y</details>'
        '<svg class="costlib-figure"><pattern id="h"><rect fill="#d0640c"></rect>'
        '<path d="M0 72l72-72" stroke="red"></path></pattern>'
        '<path d="M10 10l90 10" fill="url(#h)" fill-opacity="0.5"></path></svg>'
        '<section id="here"><div data-explorer="io"><p>On the page</p></div></section></article>',
        "html.parser",
    ).article
    publish.for_paper(page, "https://a.org/book/x.html")
    assert [each["open"] for each in page.select("details")] == [""], "the solution alone"
    shape = page.select_one("svg > path")
    assert shape["fill"] == "#d0640c"
    lines = shape.find_next_sibling("g")
    assert lines["opacity"] == "0.5"
    assert len(lines.select("path")) == 2, "one for each tile that the shape reaches into"
    assert {each["stroke"] for each in lines.select("path")} == {"red"}
    assert page.select_one("[data-explorer] a")["href"] == "https://a.org/book/x.html#here"


def test_without_a_browser_there_is_no_pdf_and_no_picture_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sharing.shutil, "which", lambda _: None)
    assert publish.print_book(tmp_path, of("a/b")) is None
    sharing.draw_cards(tmp_path, tmp_path)
    said = capsys.readouterr().err
    assert "NO PDF" in said
    assert "NO PICTURES" in said


# ---------------------------------------------------------------- in a browser, network cut


def test_published_site_works_under_its_own_path(browser: Any, site: Path, tmp_path: Path) -> None:
    from tools.pages.colab_check import served

    shutil.copytree(site, tmp_path / "notes")
    with served(tmp_path) as address, Visit(browser, address, "notes/", sound=False) as visit:
        page = visit.page
        for path in ("book/matmul.html", "404.html", "book/flops.html"):
            page.goto(f"{address}/notes/{path}", wait_until="networkidle")
        assert [url for url in visit.elsewhere if "book/matmul.html" not in url] == []
        page.goto(f"{address}/notes/404.html")
        page.click("article a:has-text('first page')")
        page.wait_for_url("**/notes/book/index.html")
        page.goto(f"{address}/notes/book/matmul.html")
        with page.expect_download() as download:
            page.evaluate("document.querySelector('a[href=\"../colab/matmul.ipynb\"]').click()")
        copy = (site / "colab" / "matmul.ipynb").read_bytes()
        assert Path(download.value.path()).read_bytes() == copy
        assert [each for each in visit.errors if "ERR_" not in each] == []


# ---------------------------------------------------------------- workflows


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_tokens_are_small(workflow: Path) -> None:
    text = workflow.read_text("utf-8")
    used = re.findall(r"uses: *(\S+)(.*)", text)
    loose = [action for action, _ in used if not re.search(r"@[0-9a-f]{40}$", action)]
    assert loose == [], "an action is pinned by its commit"
    assert [action for action, version in used if "# v" not in version] == []
    said = yaml.safe_load(text)
    assert said["permissions"] in ({}, {"contents": "read"})
    for job in said["jobs"].values():
        for step in job["steps"]:
            if "actions/checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
    assert not re.search(r"run:.*\$\{\{ *github\.(event|head_ref)", text)


def test_sources_name_no_owner_but_the_configuration() -> None:
    url = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
    owner, name = url.removeprefix("https://github.com/").split("/")
    traces = (f"{owner}/{name}", f"{owner}.github.io/{name}")
    places = [ROOT / name for name in (*PACKAGES, "course", "book", "tools", ".github")]
    named = [
        path.relative_to(ROOT).as_posix()
        for place in places
        for path in place.rglob("*")
        if path.suffix in (".py", ".md", ".ipynb", ".js", ".yml", ".bib")
        and any(trace in path.read_text("utf-8") for trace in traces)
    ]
    assert named == []


def test_what_is_built_is_locked_with_hashes() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    pinned = re.findall(r"^([\w.\[\]-]+)==\S+.*\\$", lock, re.MULTILINE)
    assert len(pinned) > 100
    assert lock.count("--hash=sha256:") >= len(pinned)
