"""Solve the pebble game on the test data's graphs: time, positions and memory, as a table.

    python -m tools.bench.pebbles            every graph of the test data, and the 4x4 grid
    python -m tools.bench.pebbles fft4 grid  those whose name begins with one of these words
    python -m tools.bench.pebbles --partial  the game with unfinished sums, beside the ordinary one

Each row is a fresh process, so its memory is its own. Exits with 1 if an optimum differs.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from tools import ROOT

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests" / "costlib" / "iomodel"))

from partial import PartialGame, PartialOptimum
from pebble_graphs import build, optima

from costlib.iomodel import bounds
from costlib.iomodel.pebbles import Dag, Game, Progress

FORMAT = "{:22} {:>2} {:>9} {:>7} {:>9} {:>8} {:>7}"
FORMS = {"recompute": True, "once": False}


def solve(name: str, red: int, form: str) -> None:
    """Print the row of one game."""
    started = time.process_time()
    found = Game(build(name), red, FORMS[form]).optimal(progress=on_stderr)
    seconds = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(found.cost, found.states, f"{seconds:.2f}", f"{megabytes:.0f}")


def on_stderr(progress: Progress) -> None:
    """Where a long search is."""
    print(
        f"\r{progress.states} positions, at least {progress.lower_bound}", end="", file=sys.stderr
    )


def rows(words: list[str]) -> list[tuple[str, int, str, int]]:
    """The games to solve, with their known optima."""
    listed = [(name, red, form, cost) for form in FORMS for name, red, cost in optima(FORMS[form])]
    listed += [("grid4x4", 3, "recompute", 11), ("grid4x4", 3, "once", 14)]
    return sorted(row for row in listed if not words or row[0].startswith(tuple(words)))


def main(words: list[str]) -> int:
    """Solve every game in a process of its own; the number of wrong optima."""
    print(FORMAT.format("graph", "M", "form", "optimum", "positions", "seconds", "MB"))
    wrong = 0
    for name, red, form, cost in rows(words):
        call = [sys.executable, "-m", "tools.bench.pebbles", "--solve", name, str(red), form]
        done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
        found, *measured = done.stdout.split()
        print(FORMAT.format(name, red, form, found, *measured), flush=True)
        if int(found) != cost:
            print(f"wrong: {cost} is known")
            wrong += 1
    return wrong


def partial() -> None:
    """Optima with unfinished sums, with the multiply-adds of the ordinary game, and bounds."""
    print(
        "{:18} {:>2} {:>8} {:>9} {:>6} {:>10}".format(
            "graph", "M", "partial", "ordinary", "bound", "positions"
        )
    )
    for m, k, n in ((1, 2, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)):
        for red in (3, 4, 5, 6):
            found = PartialGame.matmul(m, k, n, red=red).optimal()
            dag = Dag.matmul(m, k, n, fma=True)
            chain = Game(dag, red).optimal().cost if red > dag.max_in_degree else "-"
            bound = bounds.matmul_total(m, k, n, red)
            _partial_row(f"matmul {m}x{k}x{n}", red, found, chain, bound)
    for seq, width, memories in ((1, 2, (3, 4)), (1, 3, (3, 4)), (2, 1, (3, 4, 5, 6, 7))):
        for red in memories:
            found = PartialGame.attention(seq, width, red=red).optimal()
            bound = bounds.attention(seq, width, red)
            _partial_row(f"attention N{seq} d{width}", red, found, "-", bound)
    for width, memories in ((1, (3, 4, 5)), (2, (3, 4, 5, 6))):
        for red in memories:
            game = PartialGame.attention_gradients(1, width, red=red)
            dag = game.chained()
            chain = Game(dag, red).optimal().cost if red > dag.max_in_degree else "-"
            bound = bounds.backward(1, width, red)
            _partial_row(f"gradients N1 d{width}", red, game.optimal(), chain, bound)


def _partial_row(
    name: str, red: int, found: PartialOptimum, chain: int | str, bound: float
) -> None:
    print(
        f"{name:18} {red:>2} {found.cost:>8} {chain:>9} {bound:>6.1f} {found.states:>10}",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--partial"]:
        partial()
    elif sys.argv[1:2] == ["--solve"]:
        solve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(bool(main(sys.argv[1:])))
