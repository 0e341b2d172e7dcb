"""A student's notebook and the solved one, cut from the same exercise."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course.builder import check_cell
from course.builder.questions import Mistake, Plain, Question, as_plain, form_of
from course.builder.repository import repository
from course.builder.source import STATEMENT, Exercise, Piece

__all__ = [
    "CHECK_TITLE",
    "STUB",
    "Part",
    "Surroundings",
    "answer_mark",
    "checks_for",
    "fill",
    "notebook",
]

#: How the cell with the checks begins; Colab shows it as a line of text.
CHECK_TITLE = '#@title Checks: run this cell and leave it as it is {display-mode: "form"}'
ROUNDS = 40_000  # some 10 ms: nobody notices once, somebody who tries thousands does
STUB = "    raise NotImplementedError"
SLOT = re.compile(r"\[\[(\w+)(:[^\]]*)?\]\]")


@dataclass(frozen=True)
class Surroundings:
    """What stands around the exercises, which differs where notebooks are published.

    ``install`` is the code that gets the library where there is none, from this repository unless
    it says otherwise; ``words`` lead in; ``plain`` makes Markdown of what only a site can read.
    """

    install: str = ""
    words: str = "Run the next two cells first, then fill in."
    points: bool = True  # say what each is worth
    plain: Callable[[str], str] = str

    @property
    def first_lines(self) -> str:
        """How a notebook gets the library."""
        get = f"%pip install -q --no-deps git+https://github.com/{repository()}"
        return self.install or f"try:\n    import costlib\nexcept ImportError:\n    {get}"


def fill(statement: str, numbers: dict[str, Any], name: str = "the exercise") -> str:
    """A statement with [[name]] and [[name:format]] replaced by the numbers.

    >>> fill("A [[m]]×[[k:,]] matrix", {"m": 3, "k": 4096})
    'A 3×4,096 matrix'
    """

    def value(slot: re.Match[str]) -> str:
        if slot[1] not in numbers:
            known = ", ".join(numbers)
            raise ValueError(f"{name}: the statement asks for [[{slot[1]}]]; there is {known}")
        return format(numbers[slot[1]], (slot[2] or ":")[1:])

    return SLOT.sub(value, statement)


def checks_for(
    question: Question,
    numbers: dict[str, Any],
    expected: Plain,
    salt: str,
    rounds: int | None = None,
    *,
    secret: bool = False,
) -> dict[str, Any]:
    """What the notebook may know to check an answer: hashes or a form, and what it calls with."""
    arguments = {} if question.kind == "number" else numbers
    if question.public is not None:
        return {"arguments": arguments, "numbers": numbers}
    if not question.shown(secret=secret):
        form = form_of(expected) if question.compare is None else None
        return {"arguments": arguments, "form": form}
    width = question.tolerance / 2 if _has_float(expected) else 0
    spec: dict[str, Any] = {"salt": salt, "rounds": rounds or ROUNDS, "width": width, "wrong": {}}
    spec["right"] = check_cell._stretch(expected, spec, 0, 0).hex()
    for mistake in question.mistakes:
        wrong = _slip(question, mistake, numbers)
        text = f"{mistake.name[:1].upper()}{mistake.name[1:]}? {mistake.feedback}".encode()
        key = check_cell._stretch(wrong, spec, 0, len(text))
        if key[:8].hex() != spec["right"]:
            locked = bytes(a ^ b for a, b in zip(text, key[8:], strict=True)).hex()
            spec["wrong"].setdefault(key[:8].hex(), locked)
    return {"arguments": arguments, **spec}


def _slip(question: Question, mistake: Mistake, numbers: dict[str, Any]) -> Plain:
    try:
        return as_plain(mistake.answer(**numbers))
    except Exception as error:
        problem = f"{question.name}: the mistake {mistake.name!r} fails for {numbers}"
        raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error


def _has_float(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_has_float, value)) if isinstance(value, list) else isinstance(value, float)


@dataclass(frozen=True)
class Part:
    """An exercise as one student gets it."""

    exercise: Exercise
    question: Question
    numbers: dict[str, Any]


def notebook(
    title: str,
    setup: str,
    parts: Sequence[Part],
    checks: dict[str, Any],
    public: dict[str, str],
    *,
    pieces: Sequence[Piece] = (),
    solved: bool = False,
    about: dict[str, str] | None = None,
    around: Surroundings | None = None,
) -> Any:
    """The notebook: setup and checks, then statement, answer and check of each exercise.

    With ``pieces`` everything else that its author wrote stands around them, in its place.
    ``public`` holds the code of checks that students may read: exercise -> source.
    """
    from nbformat import NotebookNode

    around = around or Surroundings()
    made = {
        part.exercise.name: _cells(part, place, public, solved, around, bool(pieces))
        for place, part in enumerate(parts, 1)
    }
    checking = code_cell(_check_code(checks))
    if pieces:
        cells = _in_place(pieces, made, checking, around)
    else:
        first = code_cell(f"{around.first_lines}\n\n{setup}".rstrip())
        cells = [markdown_cell(f"# {title}: exercises\n\n{around.words}"), first, checking]
        cells += [cell for each in made.values() for cell in each]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02d}"
    kernel = NotebookNode(display_name="Python 3", language="python", name="python3")
    metadata = NotebookNode(kernelspec=kernel, course=NotebookNode(about or {}))
    return NotebookNode(cells=cells, metadata=metadata, nbformat=4, nbformat_minor=5)


def _in_place(
    pieces: Sequence[Piece], made: dict[str, list[Any]], checking: Any, around: Surroundings
) -> list[Any]:
    """All that an author wrote, in its order, with the checks below the opening words."""
    before = next((i for i, p in enumerate(pieces) if p.kind != "text"), len(pieces))
    cells = [markdown_cell(around.plain(p.content)) for p in pieces[:before]]
    cells += [markdown_cell(around.words), code_cell(around.first_lines), checking]
    for piece in pieces[before:]:
        if piece.kind == "exercise":
            cells += made.get(piece.content, [])
        elif piece.kind == "text":
            cells.append(markdown_cell(around.plain(piece.content)))
        else:
            cells.append(code_cell(piece.content))
    return cells


def code_cell(source: str) -> Any:
    """A cell as nbformat makes it, which checks each against its schema, thousands of times."""
    from nbformat import NotebookNode

    return NotebookNode(
        cell_type="code",
        metadata=NotebookNode(),
        execution_count=None,
        source=source,
        outputs=[],
    )


def markdown_cell(source: str) -> Any:
    """The same for text."""
    from nbformat import NotebookNode

    return NotebookNode(cell_type="markdown", metadata=NotebookNode(), source=source)


def _cells(
    part: Part,
    place: int,
    public: dict[str, str],
    solved: bool,
    around: Surroundings,
    numbered: bool,
) -> list[Any]:
    """Statement, answer, and the check of what a machine marks."""
    exercise, question = part.exercise, part.question
    statement = fill(exercise.statement, part.numbers, exercise.name)
    if numbered:  # of a pool not everybody has all
        stop = "" if exercise.title.endswith(("?", "!", ":")) else "."
        title = f"**{place}. {exercise.title}{stop}**"
        statement = STATEMENT.sub(lambda _: title, statement, count=1)
    if numbered and around.points:
        worth = f"{question.points:g} point" + ("s" if question.points != 1 else "")
        statement = STATEMENT.sub(lambda found: f"{found[0]} *({worth})*", statement, count=1)
    cells = [markdown_cell(around.plain(statement))]
    if exercise.by_hand:
        mark = answer_mark(exercise)
        model = exercise.model
        model = fill(model, part.numbers, exercise.name) if exercise.form == "text" else model
        text = f"{mark}\n\n{model}" if solved else mark
        new = markdown_cell if exercise.form == "text" else code_cell
        cells.append(new(text))
    else:
        cells.append(code_cell(_answer(exercise, question, part.numbers, solved)))
        holds = question.public
        check = f"check({exercise.name}, {holds.__name__})" if holds else f"check({exercise.name})"
        check = f"{public.get(exercise.name, '')}\n\n{check}".strip()
        cells.append(code_cell(check))
    cells[1].metadata["exercise"] = exercise.name
    return cells


def answer_mark(exercise: Exercise) -> str:
    """How an answer's cell begins that a person marks: found again whatever happens around it."""
    if exercise.form == "text":
        return f"*Your answer ({exercise.name}):*"
    return f"# Your figure ({exercise.name}):"


def _answer(exercise: Exercise, question: Question, numbers: dict[str, Any], solved: bool) -> str:
    """The stub, or the solution; the stub is the solution with lines removed, and one added."""
    lines = [exercise.signature, f'    """{exercise.docstring}"""']
    given = [f"    {name} = {value!r}" for name, value in numbers.items()]
    if question.kind == "number":
        lines[0] = f"def {exercise.name}():"
        lines += given
    if not solved:
        return "\n".join([*lines, STUB])
    call = exercise.call if question.kind == "function" else f"print({exercise.name}())"
    return "\n".join([*lines, exercise.body, "", call])


def _check_code(checks: dict[str, Any]) -> str:
    source = inspect.getsource(check_cell)
    source = source.partition('"""\n\n')[2].replace("  # noqa: B905", "")
    table = f"CHECKS = json.loads({json.dumps(checks, ensure_ascii=True)!r})"
    source = re.sub(r"^CHECKS = .*$", lambda _: table, source, flags=re.MULTILINE)
    return f"{CHECK_TITLE}\n{source}".rstrip()
