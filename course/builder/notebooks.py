"""A student's notebook and the solved one, cut from the same exercise."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course.builder import check_cell
from course.builder.questions import Mistake, Plain, Question, as_plain
from course.builder.repository import repository
from course.builder.source import Exercise

__all__ = ["CHECK_TITLE", "STUB", "Surroundings", "checks_for", "fill", "notebook"]

#: How the cell with the checks begins; Colab shows it as a line of text.
CHECK_TITLE = '#@title Checks: run this cell and leave it as it is {display-mode: "form"}'
ROUNDS = 40_000  # some 10 ms: nobody notices once, somebody who tries a million does
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
) -> dict[str, Any]:
    """What the notebook may know to check an answer: hashes, and the arguments it calls with."""
    arguments = {} if question.kind == "number" else numbers
    if question.public is not None:
        return {"arguments": arguments, "numbers": numbers}
    if not question.show or question.compare is not None:
        return {"arguments": arguments}
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


def notebook(
    title: str,
    setup: str,
    exercises: Sequence[tuple[Exercise, Question, dict[str, Any]]],
    checks: dict[str, Any],
    public: dict[str, str],
    *,
    solved: bool = False,
    about: dict[str, str] | None = None,
    around: Surroundings | None = None,
) -> Any:
    """The notebook: setup, checks, then statement, answer and check of each exercise.

    ``public`` holds the code of checks that students may read: exercise -> source.
    """
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    around = around or Surroundings()
    cells = [
        new_markdown_cell(f"# {title}: exercises\n\n{around.words}"),
        new_code_cell(f"{around.first_lines}\n\n{setup}".rstrip()),
        new_code_cell(_check_code(checks)),
    ]
    for exercise, question, numbers in exercises:
        statement = fill(exercise.statement, numbers, exercise.name)
        cells.append(new_markdown_cell(around.plain(statement)))
        answer = new_code_cell(_answer(exercise, question, numbers, solved))
        answer.metadata["exercise"] = exercise.name
        holds = question.public
        check = f"check({exercise.name}, {holds.__name__})" if holds else f"check({exercise.name})"
        cells += [answer, new_code_cell(f"{public.get(exercise.name, '')}\n\n{check}".strip())]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "course": about or {}}
    return new_notebook(cells=cells, metadata=metadata)


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
