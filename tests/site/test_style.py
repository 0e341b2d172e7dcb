"""The house rules that a machine can check: lint, format, imports, doctests, workflows."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil

import costlib
from code_lines import code_lines
from paths import ROOT
from programs import ended, run
from tools.packages import PACKAGES

ROOMS = [
    module.name
    for module in pkgutil.walk_packages(costlib.__path__, "costlib.")
    if not module.name.rpartition(".")[2].startswith("_")
]


def test_lint() -> None:
    run("-m", "ruff", "check", ".")


def test_format() -> None:
    run("-m", "ruff", "format", "--check", ".")


def test_workflows_follow_the_schema() -> None:
    workflows = [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    assert workflows
    run("-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)


def test_importing_costlib_needs_numpy_alone() -> None:
    """Every module; one that an earlier one brings along is named by that."""
    run("-c", IMPORTS, "costlib", *ROOMS)


IMPORTS = """
import sys, importlib, numpy
asked = []
class Refuse:
    def find_spec(name, path=None, target=None):
        top = name.partition('.')[0]
        # ('org' is where the standard library's pickle asks whether this is Jython)
        known = sys.stdlib_module_names | {'costlib', 'numpy', 'org'}
        if top not in known and not top.startswith('_'):
            asked.append(name)
            raise ImportError(f'{name} is not here')
        return None
sys.meta_path.insert(0, Refuse)
wrong = {}
for module in sys.argv[1:]:
    asked.clear()
    try:
        importlib.import_module(module)
    except ImportError as error:
        asked.append(str(error))
    if asked:
        wrong[module] = list(asked)
sys.exit(str(wrong) if wrong else 0)
"""


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


def test_public_functions_are_documented_with_an_example() -> None:
    """An example, or for a figure words: its example is its page."""
    found = {name: inspect.getdoc(thing) or "" for name, thing in public_functions()}
    assert len(found) > 300
    assert [name for name, doc in found.items() if not doc] == []
    drawn = {name for name in found if name.startswith("costfigures.")}
    assert [name for name, doc in found.items() if ">>>" not in doc and name not in drawn] == []


def test_nothing_at_the_top_without_a_reason() -> None:
    listed = {path.split("/")[0] for path in ended("git", "ls-files").stdout.split()}
    assert "costlib" in listed
    assert listed <= {
        ".binder",  # what Binder installs; it may not stand deeper
        *(".ci", ".gitattributes", ".github", ".gitignore"),
        *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"),
        *("Makefile", "README.md", "_config.yml", "_toc.yml", "book", "costfigures", "costlib"),
        "course",
        *("pyproject.toml", "requirements.lock", "requirements.txt", "tests", "tools"),
    }


def functions() -> list[tuple[str, ast.FunctionDef]]:
    """Every function of the library, with the file it is in."""
    return [
        (path.name, node)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def test_no_function_is_over_forty_lines() -> None:
    """Docstrings aside: an example in one should never be what makes a function long."""
    too_long = []
    for file, node in functions():
        doc = node.body[0] if ast.get_docstring(node) else None
        lines = node.end_lineno - node.lineno + 1
        if doc is not None:
            lines -= doc.end_lineno - doc.lineno + 1
        if lines > 40:
            too_long.append(f"{file}: {node.name} has {lines}")
    assert too_long == []


OWN = [path for place in (*PACKAGES, "course", "tools") for path in (ROOT / place).rglob("*.py")]
#: Lines of code (no docstrings, comments, blank lines) that a reader can follow in one sitting.
A_SITTING = 530


def test_every_file_can_be_read_in_one_sitting() -> None:
    """Not one is exempt."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in OWN}
    long = {name: code_lines(text) for name, text in texts.items() if text.count("\n") > A_SITTING}
    assert {name: n for name, n in long.items() if n > A_SITTING} == {}


def test_layout_is_rarely_left_to_hand() -> None:
    """What is laid out by hand is asked for in so many words, at most ten times in all."""
    places = [*OWN, *(ROOT / "tests").rglob("*.py")]
    by_hand = "fmt: " + "skip"
    asked = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8").count(by_hand) for path in places
    }
    assert sum(asked.values()) <= BY_HAND, {name: n for name, n in asked.items() if n}


BY_HAND = 10


def test_no_two_classes_have_one_name() -> None:
    """Whoever reads of a Run or a Block knows which; what begins with _ is a module's own."""
    places: dict[str, list[str]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
