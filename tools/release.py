"""What goes to a package index: `make release REPO=owner/name OUT=folder` builds a wheel and an
sdist of costlib, with the addresses of whoever builds them.

What comes out depends on the commit and on whose repository it is: two runs agree to the last byte.
Nothing is uploaded: the workflow `release` does that, on a tag, by trusted publishing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from course.builder.repository import is_nobody
from tools import ROOT
from tools.packages import PACKAGES, build
from tools.site.identity import Identity, identity

#: What a package is made of, beside the library.
PARTS = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")


def release(out: Path, *, root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Path:
    """Build both files in an empty folder, and return it."""
    who = identity(root, environment)
    if is_nobody(who.repository):
        raise SystemExit(f"error: {who.repository} is no repository: say REPO=owner/name")
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f"error: {out} is not empty: name another folder, or empty it")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        skipped = shutil.ignore_patterns("__pycache__")
        for package in PACKAGES:
            shutil.copytree(root / package, tree / package, ignore=skipped)
        for part in PARTS:
            shutil.copy(root / part, tree)
        about = tree / "pyproject.toml"
        about.write_text(with_addresses(about.read_text("utf-8"), who), "utf-8")
        page = tree / "README.md"
        page.write_text(on_an_index(page.read_text("utf-8"), who), "utf-8")
        for kind in ("wheel", "sdist"):
            build(kind, tree, out, seconds(who.date))
    return out


def with_addresses(project: str, who: Identity) -> str:
    """pyproject.toml with the addresses of a repository and its site.

    >>> from tools.site.identity import of
    >>> print(with_addresses("[project.scripts]", of("ada/book")).splitlines()[1])
    Homepage = "https://ada.github.io/book/"
    """
    named = {
        "Homepage": f"{who.site}/",
        "Source": who.url,
        "Changelog": f"{who.url}/blob/{who.branch}/CHANGELOG.md",
        "Issues": f"{who.url}/issues",
    }
    lines = [f'{name} = "{address}"' for name, address in named.items()]
    table = "\n".join(["[project.urls]", *lines])
    return project.replace("[project.scripts]", f"{table}\n\n[project.scripts]", 1)


def on_an_index(page: str, who: Identity) -> str:
    """README.md for readers who have no checkout: whole links, and the package by its name.

    >>> from tools.site.identity import of
    >>> on_an_index("[a](b.md) [c](https://d.org) pip install .", of("ada/book"))
    '[a](https://github.com/ada/book/blob/main/b.md) [c](https://d.org) pip install costlib'
    """
    start = f"{who.url}/blob/{who.branch}/"
    page = re.sub(r'(pip install "?)\.', r"\1costlib", page)
    return re.sub(r"\]\((?![a-z]+:|#)([^)]+)\)", rf"]({start}\1)", page)


def seconds(day: str) -> str:
    """The commit's day in seconds, which files in an archive are dated by."""
    when = datetime.strptime(day or "1980-01-01", "%Y-%m-%d").replace(tzinfo=timezone.utc)
    return str(int(when.timestamp()))


def check_tag(tag: str, root: Path = ROOT) -> None:
    """A tag names the version that is built, and the changelog says what is in it, with a date."""
    init = (root / "costlib" / "__init__.py").read_text("utf-8")
    [version] = re.findall(r'^__version__ = "([^"]+)"', init, re.M)
    if tag != f"v{version}":
        raise SystemExit(f"error: the tag {tag!r} is not the version: costlib has {version}")
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    dated = re.search(rf"^## {re.escape(version)}, (\S.*)", changes, re.M)
    if not dated:
        raise SystemExit(f"error: CHANGELOG.md says nothing of {version}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", dated[1]):
        raise SystemExit(f"error: CHANGELOG.md calls {version} {dated[1]}: date it first")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build costlib for a package index.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--repository", default="", help="owner/name, where not _config.yml's")
    parser.add_argument("--tag", help="refuse unless it names the version")
    options = parser.parse_args()
    if options.tag:
        check_tag(options.tag)
    environment = dict(os.environ)
    if options.repository:
        environment["BOOK_REPOSITORY"] = options.repository
    for path in sorted(release(options.out, environment=environment).iterdir()):
        print(path)


if __name__ == "__main__":
    sys.exit(main())
