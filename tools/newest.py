"""Tomorrow's packages: the same book and library with the newest of everything.

    make book-next      the site, built by the newest Sphinx, myst-parser, myst-nb and theme
    make libs-next      the library's tests and the notebooks, with the newest NumPy and its like

Each lane has an environment of its own in _build/next, upgraded whenever the lane runs, so that it
needs the package index. What it holds, and what is pinned today, is printed first. jupyter-book
stays what it is: it makes Sphinx's configuration of `_config.yml`, and it is installed without what
it would hold back.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path

from tools import ROOT

HOME = ROOT / "_build" / "next"
TODAY = ROOT / "_build" / "html"
SITE = HOME / "html"
KEPT = "jupyter-book"
#: What uv says when it did not reach the index.
UNREACHED = re.compile(r"error sending request|dns error|[Ff]ailed to (?:fetch|connect)|timed out")
NAME = re.compile(r"[\w.-]+(?:\[[\w,-]+\])?")
#: Tests that ask the built site, most of them through a browser.
OF_THE_SITE = (
    *("tests/site/explorers", "tests/site/test_site.py", "tests/site/test_site_search.py"),
    *("tests/site/test_calculator.py", "tests/site/test_sentences.py"),
)
#: Tests of the library and its figures. Of notebooks every cell must run and every claim hold; what
#: a cell prints and draws may look different from one version to the next.
OF_THE_LIBRARY = ("--nbval-lax", "tests/costlib", "costlib", "costfigures", "book")


def names(lines: Iterable[str]) -> list[str]:
    """The packages that some lines of requirements name, without versions.

    >>> names(["# why", "", "dask[array]==2026.8.0  # on a cluster", "numpy>=2; x < '3'", "numpy"])
    ['dask[array]', 'numpy']
    """
    found = (NAME.match(line) for line in lines)
    return sorted({name[0] for name in found if name})


def packages() -> list[str]:
    """What this repository names and what jupyter-book stands on, but not jupyter-book."""
    below = [line for line in metadata.requires(KEPT) or [] if "extra ==" not in line]
    named = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    return [name for name in names([*named, *below]) if name != KEPT]


def uv(*words: str | Path) -> str:
    """Run uv; what it printed, or an end with the reason."""
    command = [sys.executable, "-m", "uv", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(
            "error: the package index (PyPI) cannot be reached: check the network and run this "
            "again"
            if UNREACHED.search(done.stderr)
            else f"error: the newest packages cannot be installed\n{done.stderr}"
        )
    return done.stdout


def environment() -> Path:
    """The Python of the environment with the newest packages, which are listed."""
    home = HOME / "venv"
    uv("venv", "--quiet", "--allow-existing", "--python", sys.executable, home)
    install = ("pip", "install", "--quiet", "--python", home)
    uv(*install, "--upgrade", "--only-binary", ":all:", *packages())
    uv(*install, "--no-deps", f"{KEPT}=={metadata.version(KEPT)}")
    uv(*install, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    print("\n".join(listed(uv("pip", "freeze", "--python", home).splitlines())), flush=True)
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def listed(frozen: Sequence[str]) -> list[str]:
    """The packages whose version is not today's: name, today's, the newest.

    >>> listed(["pytest==0.1", "not-here==2"])[0].split()[::2]
    ['not-here', '2']
    """
    rows = []
    for line in frozen:
        name, _, version = line.partition("==")
        try:
            today = metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):  # an editable one has no version here
            today = "-"
        if version and version != today:
            rows.append(f"{name:<32} {today:<16} {version}")
    return sorted(rows)


# ---------------------------------------------------------------- the book


def configuration() -> Path:
    """A folder with a conf.py, which jupyter-book makes of _config.yml and _toc.yml."""
    folder = HOME / "conf"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, folder)
    command = "from jupyter_book.cli.main import main; main()"
    words = ["config", "sphinx", str(folder)]
    subprocess.run([sys.executable, "-c", command, *words], cwd=ROOT, check=True, text=True)
    here = f"""
import sys
from pathlib import Path

ROOT = Path({str(ROOT)!r})
sys.path.insert(0, str(ROOT))  # local_extensions, which the command above leaves out
html_static_path = [str(ROOT / place) for place in html_static_path]  # paths from the root, not
html_favicon = str(ROOT / html_favicon)  # from this file
"""
    with (folder / "conf.py").open("a", encoding="utf-8") as file:
        file.write(here)
    return folder


def build(python: Path) -> int:
    """Build the site from scratch, every warning an error."""
    for place in (SITE, HOME / "doctrees"):
        shutil.rmtree(place, ignore_errors=True)
    flags = ["-b", "html", "-W", "-n", "--keep-going", "-q", "-c", configuration()]
    places = ["-d", HOME / "doctrees", ROOT, SITE]
    return subprocess.run(
        [python, "-m", "sphinx", *flags, *places], cwd=ROOT, check=False
    ).returncode


#: Tags within a line, as colours of code, of which one version makes more than another.
INLINE = ("a", "b", "code", "em", "i", "mark", "small", "span", "strong", "sub", "sup")


class Article(HTMLParser):
    """The words of a page's article, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.depth = 0  # of the article, 0 outside
        self.left_out = 0  # in a script or a style

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each tag that opens."""
        if tag == "article" and (self.depth or ("class", "bd-article") in attrs):
            self.depth += 1
        self.left_out += tag in ("script", "style")
        self.part(tag)

    def handle_endtag(self, tag: str) -> None:
        """Called for each tag that closes."""
        self.depth -= tag == "article" and self.depth > 0
        self.left_out -= tag in ("script", "style")
        self.part(tag)

    def part(self, tag: str) -> None:
        """Words on two sides of a tag are two, unless it stands within a line."""
        self.texts += [] if tag in INLINE else [" "]

    def handle_data(self, data: str) -> None:
        """Called for each text between tags."""
        if self.depth and not self.left_out:
            self.texts.append(data)


def article(html: str) -> list[str]:
    """The words of a page's article.

    >>> article('no<article class="bd-article"><p>On<b>e</b><p>two<style>no</style></article>no')
    ['One', 'two']
    """
    parser = Article()
    parser.feed(html)
    return "".join(parser.texts).split()


def differences(one: Path, other: Path) -> list[str]:
    """What the articles of two sites say differently, page by page."""
    pages = [{page.relative_to(site) for page in site.rglob("*.html")} for site in (one, other)]
    found = [f"{page.as_posix()}: in one of them alone" for page in sorted(pages[0] ^ pages[1])]
    said = 0
    for page in sorted(pages[0] & pages[1]):
        texts = [article((site / page).read_text("utf-8")) for site in (one, other)]
        said += len(texts[0])
        if texts[0] == texts[1]:
            continue
        matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
        for kind, i, j, k, m in matcher.get_opcodes():
            if kind != "equal":
                was, now = (" ".join(words) for words in (texts[0][i:j], texts[1][k:m]))
                found.append(f"{page.as_posix()}: «{was}» is «{now}»")
    if not said:
        found.append(f"no page of {one} has an article: nothing was compared")
    return found


def book() -> int:
    """Build the site with the newest packages, compare it with today's, and test it."""
    if not (TODAY / "book").is_dir():
        sys.exit("error: there is no site to compare with: run make book")
    if build(environment()):
        return 1
    found = differences(TODAY, SITE)
    print("\n".join(found) or "Every article says what it says today.", flush=True)
    return int(bool(found)) or run_tests(sys.executable, *OF_THE_SITE, SITE=str(SITE))


def libs() -> int:
    """Run the library's tests and the notebooks with the newest packages."""
    return run_tests(str(environment()), "--doctest-modules", *OF_THE_LIBRARY)


def run_tests(python: str, *words: str, **variables: str) -> int:
    """Run pytest on every core."""
    flags = ["-n", "auto", "--dist", "loadfile", "-q"]
    return subprocess.run(
        [python, "-m", "pytest", *flags, *words],
        cwd=ROOT,
        env={**os.environ, **variables},
        check=False,
    ).returncode


def main(lane: str = "", *sites: str) -> int:
    """Run a lane; `articles ONE OTHER` compares two built sites alone."""
    if lane == "articles" and len(sites) == 2:
        found = differences(*map(Path, sites))
        print("\n".join(found) or "Every article is the same.")
        return int(bool(found))
    lanes = {"book": book, "libs": libs}
    return lanes[lane]() if lane in lanes else sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
