"""Whose book this is: the one place that knows repository, branches, site address and commit.

Environment variables say it, or the address that git cloned from GitHub, or `_config.yml`; git
knows the commit. Nothing else names an owner, so a fork has no file to edit.

| variable | example | without it |
|---|---|---|
| BOOK_REPOSITORY | owner/name | git's origin, or repository.url of _config.yml |
| BOOK_BRANCH | main | repository.branch of _config.yml |
| BOOK_PAGES_BRANCH | gh-pages | gh-pages |
| BOOK_SITE | https://owner.github.io/name | GitHub Pages of the repository |
| BOOK_COMMIT, BOOK_DATE | 3f2a..., 2026-11-21 | git |
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from course.builder.repository import repository
from tools import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose copy of the book, and which: what addresses are made of."""

    repository: str
    branch: str
    pages_branch: str
    site: str
    commit: str
    date: str

    @property
    def url(self) -> str:
        """The repository."""
        return f"https://github.com/{self.repository}"

    @property
    def base(self) -> str:
        """The path of the site on its host: / or /name/."""
        return "/" + re.sub(r"^https?://[^/]*/?", "", self.site + "/").lstrip("/")

    def page(self, name: str) -> str:
        """The address of a page of the site.

        >>> of("ada/book").page("book/matmul.html")
        'https://ada.github.io/book/book/matmul.html'
        """
        return f"{self.site}/{name}"

    def colab(self, path: str) -> str:
        """The address that opens a published notebook in Colab.

        >>> of("ada/book").colab("colab/matmul.ipynb")
        'https://colab.research.google.com/github/ada/book/blob/gh-pages/colab/matmul.ipynb'
        """
        start = f"https://colab.research.google.com/github/{self.repository}"
        return f"{start}/blob/{self.pages_branch}/{path}"


def of(repository: str, *, commit: str = "", date: str = "", **others: str) -> Identity:
    """The identity of owner/name; the rest by GitHub's own rules where it is not given.

    >>> of("ada/ada.github.io").site, of("ada/ada.github.io").base
    ('https://ada.github.io', '/')
    >>> of("Ada/Book").site, of("Ada/Book").base
    ('https://ada.github.io/Book', '/Book/')
    """
    if not re.fullmatch(r"[A-Za-z0-9-]+/[\w.-]+", repository):
        raise ValueError(f"a repository is written owner/name, not {repository!r}")
    owner, name = repository.split("/")
    host = f"https://{owner.lower()}.github.io"
    own = host if name.lower() == f"{owner.lower()}.github.io" else f"{host}/{name}"
    return Identity(
        repository=repository,
        branch=others.get("branch") or "main",
        pages_branch=others.get("pages_branch") or "gh-pages",
        site=(others.get("site") or own).rstrip("/"),
        commit=commit,
        date=date,
    )


def identity(root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Identity:
    """Whose book this checkout is, and which commit."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    said = {
        name: environment.get(f"BOOK_{name.upper()}", "")
        for name in ("repository", "branch", "pages_branch", "site", "commit", "date")
    }
    said["repository"] = said["repository"] or repository(root)
    # A fork's address never comes from the original's _config.yml.
    if config["repository"]["url"] == f"https://github.com/{said['repository']}":
        said["site"] = said["site"] or config.get("html", {}).get("baseurl", "")
    said["branch"] = said["branch"] or config["repository"].get("branch", "")
    if not said["commit"]:
        said["commit"], _, said["date"] = _git(root).partition(" ")
    return of(**said)


def _git(root: Path) -> str:
    """Commit and day of what is checked out; nothing if that is not a repository of its own."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "show", "-s", "--format=%H %cs", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
