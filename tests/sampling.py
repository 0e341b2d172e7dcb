"""What a run of the tests draws from more than it has time for.

``make test`` draws by the commit, so that the same commit is tested alike everywhere and the next
one elsewhere. What the commit itself changed, or the working tree, is never left to chance where a
test asks for it by ``first``. ``make test EVERYTHING=1``, each week in CI, leaves nothing out. A
failure says the seed that it had: ``SEED=... make test`` draws the same again.
"""

from __future__ import annotations

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


try:  # pytest's workers get the environment of the one that starts them
    SEED = os.environ.setdefault("SEED", os.environ.get("SEED") or _commit())
    CHANGED = os.environ.setdefault("CHANGED", _git("diff", "--name-only", "HEAD~1"))
except FileNotFoundError:
    SEED, CHANGED = os.environ.setdefault("SEED", "no git"), ""


def changed(*paths: str) -> bool:
    """Whether one of these files is not what it was before the last commit."""
    return not {*paths}.isdisjoint(CHANGED.splitlines())


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
