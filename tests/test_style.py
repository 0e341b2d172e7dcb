"""The house rules that a machine can check: lint, format, types, imports, doctests, workflows."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import costlib

ROOT = Path(__file__).parent.parent
ROOMS = [
    module.name
    for module in pkgutil.walk_packages(costlib.__path__, "costlib.")
    if not module.name.rpartition(".")[2].startswith("_")
]


def run(*command: str) -> None:
    """Run a tool of this environment; its own words are the failure message."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_lint() -> None:
    run("-m", "ruff", "check", ".")


def test_format() -> None:
    run("-m", "ruff", "format", "--check", ".")


def test_types() -> None:
    run("-m", "mypy")


def test_workflows_follow_the_schema() -> None:
    workflows = [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    assert workflows
    run("-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)


@pytest.mark.parametrize("module", ["costlib", *ROOMS])
def test_importing_costlib_needs_numpy_alone(module: str) -> None:
    heavy = ["pandas", "matplotlib", "sympy", "IPython", "scipy", "dask", "jax"]
    run("-c", f"import sys, {module}; assert not (found := set({heavy}) & set(sys.modules)), found")


def test_importing_costlib_is_light() -> None:
    code = (
        "import sys, numpy; before = set(sys.modules); import costlib; "
        "new = {m for m in sys.modules if m not in before}; "
        "assert len(new) <= 40, sorted(new)"  # NumPy itself brings over a hundred
    )
    run("-c", code)


def public_functions() -> list[tuple[str, object]]:
    """Every function that a room lists in its __all__."""
    found = []
    for name in ROOMS:
        module = importlib.import_module(name)
        assert module.__doc__, f"{name} has no docstring"
        for public in getattr(module, "__all__", []):
            thing = getattr(module, public)
            if inspect.isfunction(thing) and thing.__module__ == name:
                found.append((f"{name}.{public}", thing))
    return found


@pytest.mark.parametrize(("name", "thing"), public_functions())
def test_public_functions_are_documented_with_an_example(name: str, thing: object) -> None:
    doc = inspect.getdoc(thing) or ""
    assert doc, f"{name} has no docstring"
    draws = name.startswith("costlib.figures.")  # a figure's example is its page
    assert draws or ">>>" in doc, f"{name} has no example"


def test_nothing_at_the_top_without_a_reason() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert {path.split("/")[0] for path in listed} <= {
        *(".ci", ".github", ".gitignore", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"),
        *("Makefile", "README.md", "_config.yml", "_toc.yml", "book", "costlib", "course"),
        *("pyproject.toml", "requirements.lock", "requirements.txt", "tests", "tools"),
    }
