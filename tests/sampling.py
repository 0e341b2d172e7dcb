"""What a run of the tests draws from more than it has time for.

``make test`` draws by the commit, so that the same commit is tested alike everywhere and the next
one elsewhere. What has changed since the last whole run that was green here is not left to chance
where a test asks for that: since the commit before, where none is known, or since the one that CI
names in TESTED. Where nobody knows, as in a shallow clone, what is not committed counts as changed.
``make test EVERYTHING=1``, each week in CI, leaves nothing out. A failure says the seed that it
had: ``SEED=... make test`` draws the same again.
"""

from __future__ import annotations

import functools
import os
import random
import subprocess
from collections.abc import Callable, Sequence
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


def _since_green() -> str:
    """The files that are known to have changed, a line each."""
    known = GREEN.read_text("utf-8") if GREEN.is_file() else "HEAD~1"
    base = _git("rev-parse", "--verify", "-q", f"{os.environ.get('TESTED') or known}^{{commit}}")
    edited = _git("diff", "--name-only", base or "HEAD")
    found = [edited, _git("ls-files", "-o", "--exclude-standard")]
    return "" if len("".join(found)) > 50_000 else "\n".join(found)  # it is told processes


try:  # pytest's workers get the environment of the one that starts them
    SEED = os.environ.setdefault("SEED", os.environ.get("SEED") or _commit())
    CHANGED = os.environ.setdefault("CHANGED", _since_green()).split("\n")
except FileNotFoundError:
    SEED, CHANGED = os.environ.setdefault("SEED", "no git"), []


def touched(*paths: str) -> bool:
    """Whether one of these files is known not to be what it was."""
    return not {*paths}.isdisjoint(CHANGED)


#: Files of tests that take long, and what they are about: all of them run where that was touched,
#: and a third of the others. The first line that a file begins with is its own.
SUBJECTS = {
    "tests/course/": ("course/",),
    "tests/costlib/test_bench_prediction.py": ("tools/bench/", "costlib/measured/"),
    "tests/costlib/test_core.py": ("",),  # of the whole house, like the next: always
    "tests/costlib/test_imports.py": ("",),
    "tests/costlib/test_figures_": ("costfigures/",),
    "tests/costlib/iomodel/": ("costlib/iomodel/", "costfigures/"),
    "tests/costlib/": ("costlib/", "pyproject.toml", "requirements"),
    "tests/site/explorers/": ("book/_static/", "tools/javascript/", "tools/pages/explorers"),
    "tests/site/test_calculator.py": ("book/_static/", "tools/", "costlib/"),
    "tests/site/test_colab.py": ("tools/pages/", "pyproject.toml", "requirements"),
    "tests/site/test_figures.py": ("costfigures/", "tools/site/"),
    "tests/site/test_gates.py": ("tools/", "tests/conftest.py", "_config.yml", "Makefile"),
    "tests/site/test_printed.py": ("book/_static/", "tools/javascript/", "costlib/"),
    "tests/site/test_publish.py": ("tools/", "book/_static/", "_config.yml", "requirements"),
    "tests/site/test_release.py": ("tools/", "pyproject.toml", "README.md", "requirements"),
    "tests/site/test_scripts.py": ("book/_static/", "tools/"),
    "tests/site/test_soak.py": ("tools/",),
    "tests/site/test_sync.py": ("tools/pages/", "requirements"),
    "tests/site/test_types.py": ("costlib/", "costfigures/", "pyproject.toml", "requirements"),
}


def subject(file: str) -> tuple[str, ...]:
    """What touches a file of tests: nothing known where it always runs.

    >>> subject("tests/costlib/test_figures_matmul.py"), subject("tests/site/test_site.py")
    (('costfigures/',), ('',))
    """
    return next((about for start, about in SUBJECTS.items() if file.startswith(start)), ("",))


@functools.cache
def left_out() -> set[str]:
    """The files of tests that wait for another commit, or for their subject to be touched."""
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    drawn = sorted(file for file in files if subject(file) != ("",))
    shared = any(path.startswith("tests/") and path not in files for path in CHANGED)

    def is_touched(file: str) -> bool:
        return shared or any(path.startswith((file, *subject(file))) for path in CHANGED)

    return {*drawn} - {*some(drawn, len(drawn) // 3, "files", first=is_touched)}


def is_green() -> None:
    """Note that a whole run of this commit, and of nothing else, was green."""
    head = _git("rev-parse", "HEAD")
    if head and not _git("status", "--porcelain"):
        GREEN.write_text(head, "utf-8")


#: What runs a page.
KERNELS = ("tests/kernels.py", "tests/nursery.py")


def new_pages() -> set[str]:
    """Pages with code that are not what they were when their outputs were written, or whose
    library is not: `make sync` would execute them. All of them where what runs them has changed,
    and with PAGES=all, as on a Python that did not write the outputs.
    """
    if os.environ.setdefault("PAGES", "stale") in ("stale", "all"):
        from tools.pages import pairs  # once: workers are told

        found, is_all = pairs.paired(), os.environ["PAGES"] == "all" or touched(*KERNELS)
        stale = found if is_all else [page for page in found if not pairs.is_current(page)]
        os.environ["PAGES"] = " ".join(["these:", *(page.stem for page in stale)])
    return {*os.environ["PAGES"].split()[1:]}


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
