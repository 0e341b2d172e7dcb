"""The arrows between modules: which imports which, read from the text; no circle, none upward.

An import inside a function or for a type checker alone is an arrow like any other: whoever reads
the module needs to know the other one. Packages of other people are no arrows.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

import pytest

from paths import ROOT
from tools.packages import PACKAGES

pytestmark = pytest.mark.slow

#: The house from the ground up: a module may import its own room and those on floors below.
FLOORS = (
    "costlib.units",  # what a count is
    "costlib.layers",  # one op, one function
    "costlib.model",  # what a model is made of, and what it holds
    "costlib.timing costlib.iomodel costlib.training",  # how long; what moves; what a run computes
    "costlib.parallel costlib.sources",  # many devices; five documents
    "costlib.serving costlib.measured",  # many users; machines as they were measured
    "costlib",  # the library's face
    "costlib.command costfigures",  # its command line; the book's pictures, which it never needs
    "costlib.__main__ course",
    "tools",
)


Arrows = dict[str, set[str]]


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> dict[str, str]:
    """The text of every module of the repository's packages, by its name."""
    return {
        module_name(path.relative_to(ROOT)): path.read_text("utf-8")
        for package in (*PACKAGES, "course", "tools")
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
    reach = {name: reachable(graph, name) & {*graph} for name in graph}
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


def room(name: str) -> str:
    """The folder of a module that others see: a part of costlib, or a package beside it."""
    return ".".join(name.split(".")[: 2 if name.startswith("costlib.") else 1])


def floor(name: str) -> int:
    """The floor that a module's room is on; -1 where nobody has said."""
    return next((at for at, rooms in enumerate(FLOORS) if room(name) in rooms.split()), -1)


def upward(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """The arrows between rooms that do not point downward."""
    return {
        (name, target)
        for name, targets in graph.items()
        for target in targets - {"?"}
        if room(name) != room(target) and floor(target) >= floor(name)
    }


@pytest.fixture(scope="module")
def graph() -> Arrows:
    return arrows(sources())


def test_every_room_has_its_floor(graph: Arrows) -> None:
    assert not {room(name) for name in graph if floor(name) < 0}, "say in FLOORS where these are"


def test_no_arrow_points_upward(graph: Arrows) -> None:
    assert upward(graph) == set()


def test_no_module_imports_itself_through_others(graph: Arrows) -> None:
    assert circles(graph) == []


def test_what_is_imported_is_written_where_it_can_be_read(graph: Arrows) -> None:
    """A name that is put together at run time hides an arrow; only a package's face may do it."""
    hidden = {name for name, found in graph.items() if "?" in found and name.startswith("costlib")}
    assert hidden <= {"costlib"}


MADE_UP = {
    "costlib": "from costlib.layers.matmul import product",
    "costlib.units.numbers": "",
    "costlib.units.ledger": "def show():\n    from costlib.units.display import html",
    "costlib.units.display": "if TYPE_CHECKING:\n    import costlib.units.ledger",
    "costlib.layers.matmul": "import numpy\nfrom costlib.units import ledger, numbers",
    "costlib.layers.attention": "import importlib\nimportlib.import_module('costlib.timing.time')",
    "costlib.timing.time": "import costlib.units.numbers as n\nimport course",
    "costlib.units": "",
    "costfigures": "",
    "costfigures.chart": "from costfigures import canvas\nfrom costlib import symbols",
    "costfigures.canvas": "import importlib\nimportlib.import_module(f'costlib.{name}')",
    "costlib.serving.run": "import costfigures.chart",
    "course": "import costlib.layers.matmul",
}


def test_arrows_are_seen_wherever_they_stand() -> None:
    found = arrows(MADE_UP)
    assert found["costlib.units.ledger"] == {"costlib.units.display"}, "inside a function"
    assert found["costlib.units.display"] == {"costlib.units.ledger"}, "for a type checker"
    both = {"costlib.units.ledger", "costlib.units.numbers"}
    assert found["costlib.layers.matmul"] == both, "a module as a name"
    assert found["costlib.layers.attention"] == {"costlib.timing.time"}, "by its name in a text"
    assert found["costfigures.chart"] == {"costfigures.canvas", "costlib"}
    assert found["costfigures.canvas"] == {"?"}, "hidden"
    with pytest.raises(ValueError, match="write imports from the root"):
        arrows({"costlib.layers.matmul": "from . import ledger"})


def test_circles_and_upward_arrows_are_found() -> None:
    graph = arrows(MADE_UP)
    assert circles(graph) == [("costlib.units.display", "costlib.units.ledger")]
    assert upward(graph) == {
        ("costlib.layers.attention", "costlib.timing.time"),
        ("costlib.timing.time", "course"),
        ("costlib.serving.run", "costfigures.chart"),
    }
    graph["costfigures.canvas"] = {"?", "costfigures.chart"}
    assert ("costfigures.canvas", "costfigures.chart") in circles(graph)
    ring: Mapping[str, set[str]] = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(ring) == [("a", "b", "c")]
