"""Run tests again and again beside busy processes: `python -m tools.soak ROUNDS [PATHS]`.

A test that waits for a time, or for something that was already so, is green on a quiet machine.
Each round has a SEED of its own, so that it also draws what others did not.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tools import ROOT

BUSY = 2  # processes beside the tests
#: It ends with the process that began it, however that one ended.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10**5))"
#: More at once than there are processors: each waits for the others, and a round takes less long.
WORKERS = str((os.cpu_count() or 1) * 3 // 2)
PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", WORKERS, "--dist", "loadfile", "--tb=short"]
#: Tests with a browser, with processes of their own, and those of the explorers.
WHICH = [
    *(f"tests/site/{name}" for name in ("explorers", "test_calculator.py", "test_figures.py")),
    *(f"tests/site/test_{name}.py" for name in ("publish", "sentences", "site", "site_search")),
    "tests/course",
    *(f"--ignore=tests/course/test_{name}.py" for name in ("mistakes", "practice")),  # they compute
]


@contextmanager
def busy() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that take all the time they are given."""
    processes = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(BUSY)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def failures(seed: str, words: list[str]) -> tuple[list[str], str]:
    """What fails with a seed, and all that pytest said."""
    environment = {**os.environ, "SEED": seed, "REQUIRE_BROWSER": "1"}
    done = subprocess.run(
        [*PYTEST, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    found = re.findall(r"^(?:FAILED|ERROR) (.+)", done.stdout, re.MULTILINE)
    return found or [f"pytest ended with {done.returncode}"] * bool(done.returncode), done.stdout


def main(rounds: str = "", *words: str) -> int:
    """Run the rounds, say what fails in each; 1 if anything did."""
    if not rounds.isdecimal() or rounds == "0":
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    wrong = []
    with busy():
        for number in range(1, int(rounds) + 1):
            seed, begun = secrets.token_hex(6), time.monotonic()
            found, said = failures(seed, list(words) or WHICH)
            took = f"{(time.monotonic() - begun) / 60:.1f} min"
            result = f"{len(found)} failed" if found else "green"
            print(f"round {number} of {rounds}, SEED={seed}: {result}, {took}", flush=True)
            if found:
                print(said, flush=True)
            wrong += [f"round {number}, SEED={seed}: {each}" for each in found]
    print("\n".join([*wrong, f"failures in {rounds} rounds: {len(wrong)}"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
