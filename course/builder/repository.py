"""From which copy of this repository students install costlib: this one, also if it is a fork."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["is_nobody", "repository"]

ROOT = Path(__file__).parent.parent.parent


def repository(root: Path = ROOT) -> str:
    """Owner and name: as BOOK_REPOSITORY says, as git cloned it from GitHub, or _config.yml's.

    >>> repository().count("/")
    1
    """
    return os.environ.get("BOOK_REPOSITORY") or _cloned_from(root) or _configured(root)


def is_nobody(name: str) -> bool:
    """Whether a repository is what stands in _config.yml until somebody's is known.

    >>> is_nobody("owner/book"), is_nobody("ada/owner")
    (True, False)
    """
    return name.startswith("owner/")


@cache
def _cloned_from(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    command = ["git", "remote", "get-url", "origin"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:  # no git here
        return ""
    found = re.search(r"github\.com[:/]([\w-]+/[\w.-]+?)(?:\.git)?/?$", done.stdout.strip())
    return found[1] if found else ""


@cache
def _configured(root: Path) -> str:
    text = (root / "_config.yml").read_text("utf-8")
    found = re.search(r"url: *https://github\.com/(\S+)", text)
    if not found:
        raise ValueError("_config.yml names no GitHub repository: say BOOK_REPOSITORY=owner/name")
    return found[1]
