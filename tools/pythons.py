"""Both commands with every Python that the project names, each in a clone of its own.

    make pythons                         all that this machine has
    make pythons ONLY="3.10 3.13"        these alone
    make pythons ODD=1                   in folders whose path has a space and an umlaut

What is committed is cloned, so that nothing that lies about can help, and every page runs: that
one Python wrote its outputs says nothing about another. A clone that is green is
removed, one that is not is kept beside its log.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

__all__ = ["Outcome", "main", "named", "python_of"]

COMMANDS = ("book", "test")
NAMED = re.compile(r'"Programming Language :: Python :: (3\.\d+)"')
ODD = "für alle Pythons"


@dataclass(frozen=True)
class Outcome:
    """What became of one Python: seconds for each command that passed, and the one that failed."""

    version: str
    seconds: tuple[float, ...] = ()
    failed: str = ""
    log: Path | None = None

    def line(self) -> str:
        """A row of the table."""
        times = [f"{round(s) // 60}:{round(s) % 60:02}" for s in self.seconds]
        cells = [*times, *["-"] * (len(COMMANDS) - len(times))]
        said = "green"
        if self.failed:
            said = f"`make {self.failed}` failed: {self.log}" if self.log else self.failed
        return f"{self.version:<8}" + "".join(f"{cell:>8}" for cell in cells) + f"  {said}"


def named() -> list[str]:
    """The Pythons that the project's metadata names, oldest first."""
    return NAMED.findall((ROOT / "pyproject.toml").read_text("utf-8"))


def python_of(version: str) -> str | None:
    """An interpreter of a version, from the path or from pyenv; one that starts."""
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    tried = [shutil.which(f"python{version}"), *sorted(folder.glob(f"{version}.*/bin/python"))]
    for path in filter(None, tried):
        asked = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True)
        if done.stdout.strip() == version:
            return str(path)
    return None


def run(version: str, python: str, out: Path) -> Outcome:
    """Clone, and run the commands one after another until one fails."""
    clone, log = out / f"python-{version}", out / f"python-{version}.log"
    shutil.rmtree(clone, ignore_errors=True)
    seconds: list[float] = []
    with log.open("w", encoding="utf-8") as file:
        said = {"stdout": file, "stderr": subprocess.STDOUT}
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, **said)
        for command in COMMANDS:
            begin = time.monotonic()
            asked = ["make", command, f"PYTHON={python}", "PAGES=all"]
            made = subprocess.run(asked, cwd=clone, env=apart(), **said)
            if made.returncode:
                return Outcome(version, tuple(seconds), command, log)
            seconds.append(time.monotonic() - begin)
    shutil.rmtree(clone, ignore_errors=True)
    return Outcome(version, tuple(seconds))


def apart() -> dict[str, str]:
    """The environment without what make was told for this command: a clone has words of its own."""
    ours = {"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "OUT", "ONLY", "ODD"}
    return {name: value for name, value in os.environ.items() if name not in ours}


def outcomes(versions: Sequence[str], out: Path) -> Iterator[Outcome]:
    """One after another, since each takes every processor; a Python that is not here is told."""
    for version in versions:
        python = python_of(version)
        if python is None:
            yield Outcome(version, failed="not on this machine")
        else:
            print(f"Python {version}: {python} ...", flush=True)
            yield run(version, python, out)


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a command failed, or if a Python that was asked for by name is not here."""
    parser = argparse.ArgumentParser(prog="make pythons")
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--odd", action="store_true")
    options = parser.parse_args(arguments)
    out = (options.out / ODD if options.odd else options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    found = list(outcomes(options.only or named(), out))
    heading = f"{'Python':<8}" + "".join(f"{command:>8}" for command in COMMANDS)
    print("\n".join([heading, *(outcome.line() for outcome in found)]))
    bad = [outcome for outcome in found if outcome.failed and (outcome.log or options.only)]
    return 1 if bad or not any(outcome.seconds for outcome in found) else 0


if __name__ == "__main__":
    sys.exit(main())
