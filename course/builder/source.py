"""A notebook as its author wrote it: exercises, and all that stands around them.

A statement begins ``**3. Title.**`` in a Markdown cell; below it, its solution is a cell tagged
``solution``: one function with a docstring and a call of it with the statement's numbers. Or, for
an answer that is marked by hand, a cell with a name (``answer``): Markdown for a text, code for a
figure. What has no solution is text as any other.
"""

from __future__ import annotations

import ast
import base64
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course.builder.dependencies import needed, slice_of
from course.builder.questions import as_plain

__all__ = ["Exercise", "Piece", "Source", "read_source", "statements_of"]

STATEMENT = re.compile(r"^\*\*(\d+)\. (.+?)\*\*", re.MULTILINE)
#: ![words](file) that is no address: a figure that must travel with the notebook.
FIGURE = re.compile(r"!\[([^\]]*)\]\((?!https?:|data:|attachment:)([^)\s]+)\)")
LARGEST_FIGURE = 2_000_000  # bytes


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
    form: str = "function"  # or text, figure: marked by hand
    model: str = ""  # what would be right, where it is marked by hand

    @property
    def by_hand(self) -> bool:
        """Whether a person marks it."""
        return self.form != "function"

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
class Piece:
    """Something of the notebook that students get: text, code, or the name of an exercise."""

    kind: str
    content: str


@dataclass(frozen=True)
class Source:
    """A notebook with exercises, and what of its other code they need to run alone."""

    name: str
    title: str
    setup: str
    exercises: tuple[Exercise, ...]
    pieces: tuple[Piece, ...] = ()  # everything in its order; nothing where exercises stand alone
    left_out: tuple[str, ...] = ()  # the exercises that were not chosen

    def only(self, numbers: Sequence[int]) -> Source:
        """The same with these exercises; with all of them if none is named."""
        there = [exercise.number for exercise in self.exercises]
        if unknown := sorted({*numbers} - {*there}):
            known = ", ".join(map(str, there))
            raise ValueError(f"{self.name} has no exercise {unknown[0]}; it has {known}")
        chosen = tuple(e for e in self.exercises if not numbers or e.number in numbers)
        left_out = tuple(e.name for e in self.exercises if e not in chosen)
        return replace(self, exercises=chosen, left_out=left_out)

    def namespace(self) -> dict[str, Any]:
        """What the solutions define, executed: for instructors' own, trusted notebooks only."""
        namespace: dict[str, Any] = {"__name__": "solutions"}
        exec(compile(self.setup, f"{self.name}: setup", "exec"), namespace)
        for exercise in self.exercises:
            if not exercise.by_hand:
                code = compile(exercise.function, f"{self.name}: {exercise.name}", "exec")
                exec(code, namespace)
        return namespace


@dataclass
class _Draft:
    """An exercise as far as its cells say it."""

    number: int
    title: str
    statement: str
    solution: Any = None  # the cell


def read_source(path: Path, *, whole: bool = False) -> Source:
    """A paired Markdown notebook, or an .ipynb: its exercises alone, or the whole of it."""
    import jupytext

    cells = jupytext.read(path).cells
    headings = [re.match(r"# (.+)", cell.source) for cell in cells]
    title = next((found[1] for found in headings if found), path.stem)
    drafted = _drafted(cells, path)
    drafts = [draft for draft in drafted if isinstance(draft, _Draft)]
    parts = [_split(d.solution, path) for d in drafts]
    codes = [c.source for c in cells if c.cell_type == "code" and not _special(c)]
    setup = _setup(codes, [(f, c) for f, c in parts if f], every_import=whole)
    namespace: dict[str, Any] = {}
    try:
        exec(compile(setup, f"{path.name}: setup", "exec"), namespace)
    except Exception as error:
        problem = f"{path.name}: the cells that its solutions need fail"
        raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error
    exercises = [_exercise(d, *p, namespace, path) for d, p in zip(drafts, parts, strict=True)]
    names = [exercise.name for exercise in exercises]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{path.name}: two exercises are called {repeated.pop()}")
    pieces = _pieces(drafted, names, path) if whole else ()
    return Source(path.stem, title, setup, tuple(exercises), pieces)


def _drafted(cells: Sequence[Any], path: Path) -> list[Piece | _Draft]:
    """Texts, code and exercises in their order; a statement without a solution is a text."""
    found: list[Piece | _Draft] = []
    waiting: _Draft | None = None  # the last statement, until its solution comes
    for cell in cells:
        if "solution" in cell.metadata.get("tags", []):
            if waiting is None:
                raise ValueError(
                    f"{path.name}: a solution cell has no statement '**1. Title.** ...' above it: "
                    + cell.source.strip().partition("\n")[0]
                )
            waiting.solution, waiting = cell, None
        elif cell.cell_type == "markdown":
            starts = [match.start() for match in STATEMENT.finditer(cell.source)]
            before = cell.source[: starts[0] if starts else None].strip()
            if before and waiting and found[-1] is waiting:  # a hint in a cell of its own
                waiting.statement += f"\n\n{before}"
            elif before:
                found.append(Piece("text", before))
            for start, end in zip(starts, [*starts[1:], None], strict=False):
                match = STATEMENT.match(cell.source, start)
                assert match
                text = cell.source[start:end].strip()
                waiting = _Draft(int(match[1]), match[2].rstrip("."), text)
                found.append(waiting)
        elif not _special(cell) and cell.source.strip():
            found.append(Piece("code", cell.source))
    return [
        Piece("text", draft.statement)
        if isinstance(draft, _Draft) and not draft.solution
        else draft
        for draft in found
    ]


def _pieces(
    drafted: Sequence[Piece | _Draft], names: Sequence[str], path: Path
) -> tuple[Piece, ...]:
    """What students get, figures and all."""
    left = iter(names)
    return tuple(
        Piece("exercise", next(left))
        if isinstance(piece, _Draft)
        else Piece(piece.kind, with_figures(piece.content, path))
        if piece.kind == "text"
        else piece
        for piece in drafted
    )


def with_figures(text: str, path: Path) -> str:
    """Markdown whose figures are in it, because notebooks travel without the files beside them."""

    def inside(figure: re.Match[str]) -> str:
        file = path.parent / figure[2]
        if not file.is_file():
            raise ValueError(f"{path.name}: the figure {figure[2]} is not in {path.parent}")
        data, kind = file.read_bytes(), mimetypes.guess_type(file.name)[0]
        if len(data) > LARGEST_FIGURE or not (kind or "").startswith("image/"):
            raise ValueError(f"{path.name}: {figure[2]} is no image of at most 2 MB")
        return f"![{figure[1]}](data:{kind};base64,{base64.b64encode(data).decode()})"

    return FIGURE.sub(inside, text)


def _exercise(
    draft: _Draft, function: str, call: str, namespace: dict[str, Any], path: Path
) -> Exercise:
    cell, statement = draft.solution, with_figures(draft.statement, path)
    about = draft.number, draft.title, statement
    if function:
        name, example = _example(function, call, namespace, path)
        return Exercise(name, *about, function, call, example)
    name = str(cell.metadata["answer"])
    if not name.isidentifier():
        raise ValueError(f"{path.name}: {name!r} is no name for an answer: letters, digits and _")
    form = "text" if cell.cell_type == "markdown" else "figure"
    return Exercise(name, *about, "", "", {}, form, cell.source)


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


def _split(cell: Any, path: Path) -> tuple[str, str]:
    """The function of a solution cell, and the call that follows; nothing if marked by hand."""
    if "answer" in cell.metadata:
        return "", ""
    code, by_hand = cell.source, "a solution that is marked by hand needs a name: answer"
    if cell.cell_type != "code":
        raise ValueError(f"{path.name}: {by_hand}; got\n{code}")
    try:
        nodes = ast.parse(code).body
    except SyntaxError as error:
        raise ValueError(f"{path.name}: a solution cell: {error.msg}, in\n{code}") from error
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or nodes[0] is not functions[0] or functions[0].decorator_list:
        raise ValueError(
            f"{path.name}: a solution cell is one plain function and a call of it, or {by_hand}; "
            f"got\n{code}"
        )
    function, lines = functions[0], code.splitlines()
    if not ast.get_docstring(function) or len(function.body) < 2:
        raise ValueError(f"{path.name}: {function.name} needs a docstring and a body")
    end = function.end_lineno or len(lines)
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip()


def _setup(pieces: list[str], drafts: list[tuple[str, str]], *, every_import: bool) -> str:
    """The statements of the notebook that the solutions need, transitively, in their order.

    An answer may need an import that no solution does; one that cannot be had is passed over.
    """
    plain = [re.sub(r"^\s*[%!].*$", "", piece, flags=re.MULTILINE) for piece in pieces]
    statements = [statement for piece in plain for statement in statements_of(piece)]
    own = {ast.parse(function).body[0].name for function, _ in drafts}  # type: ignore[attr-defined]
    wanted = set().union(*(needed(f"{function}\n{call}") for function, call in drafts)) - own
    chosen = [statements[i] for i in slice_of(statements, wanted)]
    imports = [s for s in chosen if s.startswith(IMPORT)]
    others = [s for s in statements if s.startswith(IMPORT) and s not in chosen]
    tried = [f"try:\n    {s}\nexcept ImportError:\n    pass" for s in others if "\n" not in s]
    others = list(dict.fromkeys(tried)) if every_import else []
    return "\n".join([*imports, *(s for s in chosen if s not in imports), *others])


IMPORT = ("import ", "from ")


def _example(
    function: str, call: str, namespace: dict[str, Any], path: Path
) -> tuple[str, dict[str, Any]]:
    """The function's name, and the arguments with which the solution cell first calls it."""
    import contextlib
    import inspect
    import io

    exec(compile(function, f"{path.name}: solution", "exec"), namespace)
    name: str = ast.parse(function).body[0].name  # type: ignore[attr-defined]
    solution, called = namespace[name], {}

    def record(*args: Any, **kwargs: Any) -> Any:
        arguments = inspect.signature(solution).bind(*args, **kwargs)
        arguments.apply_defaults()
        called.update({key: as_plain(v) for key, v in arguments.arguments.items()})
        raise _Enough

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(call, f"{path.name}: {name}", "exec"), {**namespace, name: record})
    except _Enough:
        return name, called
    except Exception as error:
        problem = f"{path.name}: the solution cell of {name} fails"
        raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error
    raise ValueError(f"{path.name}: the solution cell of {name} never calls it")


class _Enough(BaseException):
    """The first call is known; what the cell does with it, its page shows."""
