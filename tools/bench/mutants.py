"""`make mutants`: change each formula a little, again and again, and see whether a test notices.

mutmut makes the changes, in an environment and a copy of its own under _build. What survives is
printed as a diff, apart from changed words in names and messages;
tests/surviving_mutants.md explains each that is left. Takes tens of minutes for all modules; name
one to do it alone: `make mutants MODULE=matmul`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tools import ROOT
from tools.packages import PACKAGES

WORK = ROOT / "_build" / "mutants"
NEEDS = ["mutmut==3.8.1", "pytest==9.2.0", "hypothesis==6.168.5", "numpy", "sympy", "pandas<3"]
MODULES = ("matmul", "attention", "transformer", "kvcache", "parallel", "roofline")


def environment() -> Path:
    """The Python that mutmut runs in."""
    home = WORK / "venv"
    python = home / "bin" / "python"
    if not python.exists():
        print("Creating mutmut's environment ...", flush=True)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
    return python


def prepare(module: str) -> Path:
    """A copy of the library and its tests, told what to mutate and which tests to run."""
    copy = WORK / module
    shutil.rmtree(copy, ignore_errors=True)
    for folder in (*PACKAGES, "tests"):
        leave_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=leave_out)
    names = (f"test_{module}.py", "test_arguments.py")
    found = [path for name in names for path in (copy / "tests").rglob(name)]
    tests = [path.relative_to(copy).as_posix() for path in found]
    config = re.sub(r"filterwarnings = .*", "", (ROOT / "pyproject.toml").read_text("utf-8"))
    [source] = (ROOT / "costlib").rglob(f"{module}.py")
    config += f"""
[tool.mutmut]
source_paths = ["{source.relative_to(ROOT).as_posix()}"]
pytest_add_cli_args_test_selection = {tests!r}
also_copy = ["costlib", "costfigures", "tests"]
"""
    (copy / "pyproject.toml").write_text(config, "utf-8")
    return copy


def survivors(python: Path, copy: Path) -> dict[str, list[str]]:
    """The changes that no test noticed: name of the mutant, and its diff."""
    mutmut = [str(python), "-m", "mutmut"]
    subprocess.run([*mutmut, "run"], cwd=copy, check=False, stdout=subprocess.DEVNULL)
    listed = [*mutmut, "results", "--all", "true"]
    results = subprocess.run(listed, cwd=copy, capture_output=True, text=True).stdout
    killed = len(re.findall(r": killed", results))
    if not killed:
        raise SystemExit(
            f"mutmut killed nothing in {copy.name}, so it did not run: {results[:500]}"
        )
    print(f"  {killed} mutants killed")
    found = {}
    for name in re.findall(r"(\S+): survived", results):
        shown = subprocess.run([*mutmut, "show", name], cwd=copy, capture_output=True, text=True)
        diff = [s for s in shown.stdout.splitlines() if re.match(r"[-+](?![-+])", s)]
        if not changes_words_only(diff):
            found[name] = diff
    return found


def changes_words_only(diff: list[str]) -> bool:
    """True if the two sides are equal but for the text inside quotes (names, messages)."""
    sides = [re.sub(r'f?"[^"]*"', '""', line[1:]) for line in diff]
    return len(sides) == 2 and sides[0] == sides[1]


def main() -> None:
    """Each module in turn; ends with a count."""
    python, total = environment(), 0
    for module in sys.argv[1:] or MODULES:
        print(f"costlib/{module}.py ...", flush=True)
        left = survivors(python, prepare(module))
        for name, diff in left.items():
            print(f"  {name}", *diff, sep="\n    ")
        total += len(left)
    print(f"{total} surviving mutants; tests/surviving_mutants.md explains them")


if __name__ == "__main__":
    main()
