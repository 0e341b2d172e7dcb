"""An exercise as its notebook says it: statement, hints, one solution cell.

The statement is a Markdown cell that begins ``**3. Title.**``; a solution cell is tagged
``solution``, defines one function with a docstring, and calls it with the statement's numbers.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.builder.dependencies import needed, slice_of
from course.builder.questions import as_plain

__all__ = ["Exercise", "Source", "read_source", "statements_of"]

STATEMENT = re.compile(r"^\*\*(\d+)\. (.+?)\*\*", re.MULTILINE)


@dataclass(frozen=True)
class Exercise:
    """One exercise: ``name`` is its function's name and its id in the whole book."""

    name: str
    number: int
    title: str
    statement: str
    function: str  # the source of the solution function
    call: str  # what follows it in the solution cell
    example: dict[str, Any]  # the statement's numbers, argument by argument

    @property
    def node(self) -> ast.FunctionDef:
        """The solution function, parsed."""
        node = ast.parse(self.function).body[0]
        assert isinstance(node, ast.FunctionDef)
        return node

    @property
    def signature(self) -> str:
        """The first line of the function, annotations included."""
        node = self.node
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"def {self.name}({ast.unparse(node.args)}){returns}:"

    @property
    def docstring(self) -> str:
        """What the function returns, in a line."""
        return ast.get_docstring(self.node) or ""

    @property
    def body(self) -> str:
        """The lines that are the solution, indented as they stand."""
        first = self.node.body[1] if self.docstring else self.node.body[0]
        return "\n".join(self.function.splitlines()[first.lineno - 1 :])


@dataclass(frozen=True)
class Source:
    """A notebook with exercises, and what of its other code they need to run alone."""

    name: str
    title: str
    setup: str
    exercises: tuple[Exercise, ...]

    def namespace(self) -> dict[str, Any]:
        """What the solutions define, executed: for instructors' own, trusted notebooks only."""
        namespace: dict[str, Any] = {"__name__": "solutions"}
        exec(compile(self.setup, f"{self.name}: setup", "exec"), namespace)
        for exercise in self.exercises:
            exec(compile(exercise.function, f"{self.name}: {exercise.name}", "exec"), namespace)
        return namespace


def read_source(path: Path) -> Source:
    """The exercises of a paired Markdown notebook, or of an .ipynb."""
    import jupytext

    cells = jupytext.read(path).cells
    headings = [re.match(r"# (.+)", cell.source) for cell in cells]
    title = next((found[1] for found in headings if found), path.stem)
    drafts = [
        (_statement(cells, position, path), *_split(cell.source, path))
        for position, cell in enumerate(cells)
        if "solution" in cell.metadata.get("tags", [])
    ]
    setup = _setup([c.source for c in cells if c.cell_type == "code" and not _special(c)], drafts)
    namespace: dict[str, Any] = {}
    try:
        exec(compile(setup, f"{path.name}: setup", "exec"), namespace)
    except Exception as error:
        problem = f"{path.name}: the cells that its solutions need fail"
        raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error
    exercises = []
    for (number, heading, statement), function, call in drafts:
        name, example = _example(function, call, namespace, path)
        exercises.append(Exercise(name, number, heading, statement, function, call, example))
    names = [exercise.name for exercise in exercises]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{path.name}: two exercises are called {repeated.pop()}")
    return Source(path.stem, title, setup, tuple(exercises))


def statements_of(code: str) -> list[str]:
    """The top-level statements of a piece of code, with decorators and a comment at the end.

    >>> statements_of("a = 1; b = 2  # two\\nc = 3  # three")
    ['a = 1', 'b = 2', 'c = 3  # three']
    """
    lines, nodes = code.splitlines(), ast.parse(code).body
    shared = [node.lineno for node in nodes] + [node.end_lineno for node in nodes]
    found = []
    for node in nodes:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        alone = shared.count(node.lineno) == 1 + (node.lineno == node.end_lineno)
        whole = "\n".join(lines[first - 1 : node.end_lineno])
        found.append(whole if alone else ast.get_source_segment(code, node) or "")
    return found


def _special(cell: Any) -> bool:
    return bool({"solution", "remove-cell"} & set(cell.metadata.get("tags", [])))


def _statement(cells: list[Any], position: int, path: Path) -> tuple[int, str, str]:
    """Number, title and text of the statement: the Markdown above, up to where it begins."""
    texts: list[str] = []
    for cell in reversed(cells[:position]):
        if cell.cell_type != "markdown":
            break
        starts = list(STATEMENT.finditer(cell.source))
        texts.insert(0, cell.source[starts[-1].start() :] if starts else cell.source)
        if starts:
            return int(starts[-1][1]), starts[-1][2].rstrip("."), "\n\n".join(texts).strip()
    raise ValueError(f"{path.name}: a solution cell has no statement '**1. Title.** ...' above it")


def _split(code: str, path: Path) -> tuple[str, str]:
    """The function of a solution cell, and the call that follows."""
    try:
        nodes = ast.parse(code).body
    except SyntaxError as error:
        raise ValueError(f"{path.name}: a solution cell: {error.msg}, in\n{code}") from error
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or nodes[0] is not functions[0] or functions[0].decorator_list:
        raise ValueError(
            f"{path.name}: a solution cell is one plain function and a call of it; got\n{code}"
        )
    function, lines = functions[0], code.splitlines()
    if not ast.get_docstring(function) or len(function.body) < 2:
        raise ValueError(f"{path.name}: {function.name} needs a docstring and a body")
    end = function.end_lineno or len(lines)
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip()


def _setup(pieces: list[str], drafts: list[tuple[Any, str, str]]) -> str:
    """The statements of the notebook that the solutions need, transitively, in their order."""
    plain = [re.sub(r"^\s*[%!].*$", "", piece, flags=re.MULTILINE) for piece in pieces]
    statements = [statement for piece in plain for statement in statements_of(piece)]
    own = {ast.parse(function).body[0].name for _, function, _ in drafts}  # type: ignore[attr-defined]
    wanted = set().union(*(needed(f"{function}\n{call}") for _, function, call in drafts)) - own
    chosen = [statements[i] for i in slice_of(statements, wanted)]
    imports = [s for s in chosen if s.startswith(("import ", "from "))]
    return "\n".join([*imports, *(s for s in chosen if s not in imports)])


def _example(
    function: str, call: str, namespace: dict[str, Any], path: Path
) -> tuple[str, dict[str, Any]]:
    """The function's name, and the arguments with which the solution cell first calls it."""
    import contextlib
    import inspect
    import io

    exec(compile(function, f"{path.name}: solution", "exec"), namespace)
    name: str = ast.parse(function).body[0].name  # type: ignore[attr-defined]
    solution, calls = namespace[name], []

    def record(*args: Any, **kwargs: Any) -> Any:
        arguments = inspect.signature(solution).bind(*args, **kwargs)
        arguments.apply_defaults()
        calls.append({key: as_plain(v) for key, v in arguments.arguments.items()})
        return solution(*args, **kwargs)

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(call, f"{path.name}: {name}", "exec"), {**namespace, name: record})
    except Exception as error:
        problem = f"{path.name}: the solution cell of {name} fails"
        raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error
    if not calls:
        raise ValueError(f"{path.name}: the solution cell of {name} never calls it")
    return name, calls[0]
