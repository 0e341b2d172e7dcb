"""What a run of the tests draws from more than it has time for.

``make test`` draws by the commit, so that the same commit is tested alike everywhere and the next
one elsewhere. ``make test EVERYTHING=1``, each week in CI, leaves nothing out. A failure says the
seed that it had: ``SEED=... make test`` draws the same again.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from typing import TypeVar

from paths import ROOT

Thing = TypeVar("Thing")
EVERYTHING = bool(os.environ.get("EVERYTHING"))


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "no commit"


try:  # pytest's workers get the environment of the one that starts them
    SEED = os.environ.setdefault("SEED", os.environ.get("SEED") or _commit())
except FileNotFoundError:
    SEED = os.environ.setdefault("SEED", "no git")


def chance(of: str) -> random.Random:
    """What draws for one test: the same for a commit, whatever other tests draw."""
    return random.Random(f"{SEED}: {of}")


def number(few: int, all_of_them: int) -> int:
    """How many are drawn."""
    return all_of_them if EVERYTHING else few


def some(things: Sequence[Thing], few: int, of: str) -> list[Thing]:
    """A few of them, in their order; or all."""
    if EVERYTHING or few >= len(things):
        return list(things)
    return [things[n] for n in sorted(chance(of).sample(range(len(things)), few))]
