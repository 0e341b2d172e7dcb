"""What a run of the tests draws from more than it has time for.

``make test`` draws by the commit, so that the same commit is tested alike everywhere and the next
one elsewhere. What has changed since the last whole run that was green here is not left to chance
where a test asks for that: since the commit before, where none is known, or since the one that CI
names in TESTED. ``make test EVERYTHING=1``, each week in CI, leaves nothing out. A failure says the
seed that it had: ``SEED=... make test`` draws the same again.
"""

from __future__ import annotations

import functools
import os
import random
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from paths import ROOT

Thing = TypeVar("Thing")
EVERYTHING = bool(os.environ.get("EVERYTHING"))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def _commit() -> str:
    return _git("rev-parse", "--short=12", "HEAD") or "no commit"


#: Holds the commit at which a whole run was green.
GREEN = ROOT / "_build" / "green"
UNKNOWN = "unknown"


def _since_green() -> str:
    """The files that have changed, a line each; or that nobody knows."""
    known = GREEN.read_text("utf-8") if GREEN.is_file() else "HEAD~1"
    base = _git("rev-parse", "--verify", "-q", f"{os.environ.get('TESTED') or known}^{{commit}}")
    if not base:
        return UNKNOWN
    found = [_git("diff", "--name-only", base), _git("ls-files", "-o", "--exclude-standard")]
    return UNKNOWN if len("".join(found)) > 50_000 else "\n".join(found)  # it is told processes


try:  # pytest's workers get the environment of the one that starts them
    SEED = os.environ.setdefault("SEED", os.environ.get("SEED") or _commit())
    CHANGED = os.environ.setdefault("CHANGED", _since_green()).split("\n")
except FileNotFoundError:
    SEED, CHANGED = os.environ.setdefault("SEED", "no git"), [UNKNOWN]


def touched(*paths: str) -> bool:
    """Whether one of these files is known not to be what it was."""
    return not {*paths}.isdisjoint(CHANGED)


def changed(*paths: str) -> bool:
    """Whether one of these files is, or may be, not what it was."""
    return CHANGED == [UNKNOWN] or touched(*paths)


def is_green() -> None:
    """Note that a whole run of this commit, and of nothing else, was green."""
    head = _git("rev-parse", "HEAD")
    if head and not _git("status", "--porcelain"):
        GREEN.write_text(head, "utf-8")


#: What every page stands on, beside the library.
GROUND = ("requirements", "pyproject.toml", "tests/kernels.py", "tests/nursery.py")


@functools.cache
def drawers() -> set[str] | None:
    """The modules of figures that have changed, if nothing else has that every page stands on."""
    found = set()
    for path in CHANGED:
        if path == UNKNOWN or path.startswith(GROUND):
            return None
        if path.startswith("costlib/"):
            return None
        if path.startswith("costfigures/"):
            found.add(Path(path).stem)
    users = "\n".join(path.read_text("utf-8") for path in (ROOT / "costfigures").rglob("*.py"))
    shared = re.findall(r"(?:costfigures\.|costfigures import .*?)\b(\w+)", users)
    return None if found & {*shared, "__init__"} else found


def is_new(page: str) -> bool:
    """Whether a page of the book, or what it runs on, is or may be not what it was."""
    modules, written = drawers(), ROOT / "book" / f"{page}.md"
    if modules is None or changed(f"book/{page}.md", f"book/{page}.ipynb"):
        return True
    named = {*re.findall(r"\w+", written.read_text("utf-8"))} if written.is_file() else set()
    return bool(modules & named)


def chance(of: str) -> random.Random:
    """What draws for one test: the same for a commit, whatever other tests draw."""
    return random.Random(f"{SEED}: {of}")


def number(few: int, all_of_them: int) -> int:
    """How many are drawn."""
    return all_of_them if EVERYTHING else few


def some(
    things: Sequence[Thing], few: int, of: str, first: Callable[[Thing], bool] = lambda _: False
) -> list[Thing]:
    """A few of them, in their order, and those that come first in any case; or all."""
    if EVERYTHING or few >= len(things):
        return list(things)
    drawn = chance(of).sample(range(len(things)), few)
    return [thing for n, thing in enumerate(things) if n in drawn or first(thing)]
