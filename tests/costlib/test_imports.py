"""The arrows between modules: which imports which, read from the text; no circle, none upward.

An import inside a function or for a type checker alone is an arrow like any other: whoever reads
the module needs to know the other one. Packages of other people are no arrows.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import pytest

from paths import ROOT
from tools import contents

#: From the bottom up. A module may import what stands below it, and what is in its own package.
LAYERS = (
    "numbers",
    "precision",
    "display",
    "device",
    "ledger tally",
    "messages",
    "matmul",
    "attention",
    "layers",
    "checkpoint",
    "families",
    "kvcache",
    "transformer",
    "catalog",
    "training",
    "roofline",
    "parallel",
    "sweeps",
    "serving",
    "answers",
    "iomodel",
    "sources",
    "measured",
    "figures",
    "command",
    "__main__",
)
#: Whole packages, from the bottom up: the library knows nothing of the course, nor that of tools.
PACKAGES = ("costlib", "course", "tools")


def with_chapters(layers: tuple[str, ...]) -> tuple[str, ...]:
    """Modules of chapters that are not listed stand above those of the chapter before."""
    found = list(layers)
    for before, chapter in itertools.pairwise(contents.CHAPTERS):
        names = {name.partition(".")[0] for name in chapter.modules}
        if new := names - {name for row in found for name in row.split()}:
            below = {name.partition(".")[0] for name in before.modules}
            top = max(at for at, row in enumerate(found) if below & {*row.split()})
            found.insert(top + 1, " ".join(sorted(new)))
    return tuple(found)


LAYERS = with_chapters(LAYERS)

Arrows = dict[str, set[str]]


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> dict[str, str]:
    """The text of every module of the repository's packages, by its name."""
    return {
        module_name(path.relative_to(ROOT)): path.read_text("utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def imported(node: ast.AST, modules: Container[str]) -> Iterator[str]:
    """The names of what one piece of syntax imports; "?" where they are put together at run time.

    ``from package import thing`` is an arrow to the thing where it is a module, else to the package
    itself; the packages on the way to a module are not counted.
    """
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            for alias in names:
                yield whole if (whole := f"{module}.{alias.name}") in modules else module
        case ast.ImportFrom():
            raise ValueError(f"write imports from the root, not {ast.unparse(node)}")
        case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module")):
            name = node.args[0]
            yield str(name.value) if isinstance(name, ast.Constant) else "?"


def arrows(texts: Mapping[str, str]) -> Arrows:
    """For each module the modules that it imports anywhere in its text."""
    found = {
        name: {target for node in ast.walk(ast.parse(text)) for target in imported(node, texts)}
        for name, text in texts.items()
    }
    return {name: (found[name] & {*texts, "?"}) - {name} for name in texts}


def circles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """The sets of modules in which each can be reached from each, by repeated trimming."""
    reach = {name: reachable(graph, name) for name in graph}
    return sorted(
        {
            tuple(sorted(other for other in reach[name] if name in reach[other]))
            for name in graph
            if name in reach[name]
        }
    )


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph.get(name, set())
    return reached


def layer(name: str) -> int:
    """The layer of a module of costlib; its face, ``costlib`` itself, stands above them all."""
    part = name.split(".")[1] if "." in name else ""
    if not part:
        return len(LAYERS)
    return next((at for at, names in enumerate(LAYERS) if part in names.split()), -1)


def upward(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """The arrows that do not point downward: between packages, and between layers of costlib."""
    wrong = set()
    for name, targets in graph.items():
        for target in targets - {"?"}:
            one, other = (PACKAGES.index(each.split(".")[0]) for each in (name, target))
            inside = name.split(".")[1:2] == target.split(".")[1:2] != []
            if one < other or (one == other == 0 and not inside and layer(target) >= layer(name)):
                wrong.add((name, target))
    return wrong


@pytest.fixture(scope="module")
def graph() -> Arrows:
    return arrows(sources())


def test_every_module_of_the_library_has_its_layer(graph: Arrows) -> None:
    lost = {name for name in graph if name.startswith("costlib") and layer(name) < 0}
    assert not lost, "say in LAYERS what these may import"


def test_no_arrow_points_upward(graph: Arrows) -> None:
    assert upward(graph) == set()


def test_no_module_imports_itself_through_others(graph: Arrows) -> None:
    assert circles(graph) == []


def test_what_is_imported_is_written_where_it_can_be_read(graph: Arrows) -> None:
    """A name that is put together at run time hides an arrow; only a package's face may do it."""
    hidden = {name for name, found in graph.items() if "?" in found and name.startswith("costlib")}
    assert hidden <= {"costlib", "costlib.figures", "costlib.figures.explorers"}


MADE_UP = {
    "costlib": "from costlib.matmul import product",
    "costlib.numbers": "",
    "costlib.ledger": "def show():\n    from costlib.display import html",
    "costlib.display": "if TYPE_CHECKING:\n    import costlib.ledger",
    "costlib.matmul": "import numpy\nfrom costlib import ledger, numbers",
    "costlib.attention": "from importlib import import_module\nimport_module('costlib.roofline')",
    "costlib.roofline": "import costlib.numbers as n\nimport course",
    "costlib.figures": "",
    "costlib.figures.chart": "from costlib.figures import canvas\nfrom costlib import symbols",
    "costlib.figures.canvas": "import importlib\nimportlib.import_module(f'costlib.{name}')",
    "course": "import costlib.matmul",
}


def test_arrows_are_seen_wherever_they_stand() -> None:
    found = arrows(MADE_UP)
    assert found["costlib.ledger"] == {"costlib.display"}, "inside a function"
    assert found["costlib.display"] == {"costlib.ledger"}, "for a type checker"
    assert found["costlib.matmul"] == {"costlib.ledger", "costlib.numbers"}, "a module as a name"
    assert found["costlib.attention"] == {"costlib.roofline"}, "by its name in a text"
    assert found["costlib.figures.chart"] == {"costlib.figures.canvas", "costlib"}
    assert found["costlib.figures.canvas"] == {"?"}, "hidden"
    with pytest.raises(ValueError, match="write imports from the root"):
        arrows({"costlib.matmul": "from . import ledger"})


def test_circles_and_upward_arrows_are_found() -> None:
    graph = arrows(MADE_UP)
    assert circles(graph) == [("costlib.display", "costlib.ledger")]
    assert upward(graph) == {
        ("costlib.display", "costlib.ledger"),
        ("costlib.attention", "costlib.roofline"),
        ("costlib.roofline", "course"),
        ("costlib.figures.chart", "costlib"),
    }
    ring: Mapping[str, set[str]] = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(ring) == [("a", "b", "c")]
