"""From a folder of notebooks to what students get and what the grader needs.

COURSE holds pairs: ``week-1.md`` with statements and solutions, and (for what is graded) its
secret ``week-1.checks.py``, beside it or in a folder of checks. OUT gets ``student/``,
``solved/`` and ``key/``.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat

from course.builder.answer_key import Key, load_checks
from course.builder.notebooks import Surroundings, checks_for, notebook
from course.builder.own_numbers import salt_of, without_collisions
from course.builder.roster import file_name
from course.builder.source import read_source

__all__ = ["build", "build_one", "open_key", "student_notebook"]

#: Ids, or ids with the other names that each student goes by.
Students = Iterable[str] | Mapping[str, Sequence[str]]


def build(
    course: Path, out: Path, students: Students = (), checks: Path | None = None
) -> list[str]:
    """Build every notebook of a folder that has solutions; the assignments' names."""
    students = dict(students) if isinstance(students, Mapping) else list(students)
    tagged = re.compile(r"^:tags: \[.*solution\]$", re.MULTILINE)
    pages = [p for p in sorted(course.glob("*.md")) if tagged.search(p.read_text("utf-8"))]
    if not pages:
        raise ValueError(f"{course} holds no notebook (.md) with a cell tagged solution")
    return [build_one(page, out, students, checks).assignment for page in pages]


def build_one(page: Path, out: Path, students: Students = (), checks: Path | None = None) -> Key:
    """Build one notebook: blank and solved, one for each student of a roster, and the key."""
    key, folder = open_key(page, checks), out / "key" / page.stem
    old = _old_key(folder)
    key.secret, key.roster = old["secret"], list(dict.fromkeys([*old["roster"], *students]))
    named = students if isinstance(students, Mapping) else {}
    key.aliases = {**old.get("aliases", {}), **{s: list(names) for s, names in named.items()}}
    key.attempts = _attempts(key, old.get("attempts", {}))
    key.save(folder)
    blank, solved = student_notebook(key, ""), student_notebook(key, "", solved=True)
    _write(blank, out / "student" / f"{page.stem}.ipynb")
    _write(solved, out / "solved" / f"{page.stem}.ipynb")
    _write(blank, folder / "blank.ipynb")
    _write(solved, folder / "solved.ipynb")
    for student in key.roster:
        own = out / "student" / file_name(student) / f"{page.stem}.ipynb"
        _write(student_notebook(key, student), own)
    return key


def open_key(page: Path, checks: Path | None = None) -> Key:
    """A key without a secret or a roster: enough for notebooks that anybody may have.

    The checks lie beside the page or in a folder of checks; a page without any is compared with
    its solutions.
    """
    source, beside = read_source(page), (checks or page.parent) / f"{page.stem}.checks.py"
    code = beside.read_text("utf-8") if beside.exists() else "QUESTIONS = []\n"
    return Key(page.stem, source, load_checks(code, source), secret="", checks=code)


def student_notebook(
    key: Key,
    student: str,
    *,
    solved: bool = False,
    checked: bool = True,
    around: Surroundings | None = None,
) -> Any:
    """The notebook of one student, with their own numbers and immediate checks.

    The checks are slow to make, so that they are slow to guess, but where the key has no secret:
    then whoever has the notebook may have the solutions too.
    """
    rounds = None if key.secret else 1
    exercises, checks = [], {}
    for exercise, question in key.graded():
        numbers = key.numbers(exercise.name, student)
        exercises.append((exercise, question, numbers))
        if not checked:
            continue
        expected = key.expected(exercise.name, numbers)
        salt = salt_of(key.secret, exercise.name, student)
        checks[exercise.name] = checks_for(question, numbers, expected, salt, rounds)
    about = {"assignment": key.assignment, "student": student}
    return notebook(
        key.source.title,
        key.source.setup,
        exercises,
        checks,
        key.public() if checked else {},
        solved=solved,
        about=about,
        around=around,
    )


def _attempts(key: Key, handed_out: Mapping[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """For each question, which draw each student of the roster uses: no two share an answer.

    What was handed out stays, whatever was corrected since.
    """
    found = {}
    for question in key.questions.values():
        if question.kind == "number" and question.numbers and question.unique:

            def answer(student: str, attempt: int, name: str = question.name) -> Any:
                return key.expected(name, key.numbers(name, student, attempt))

            found[question.name] = without_collisions(
                answer, key.roster, handed_out.get(question.name, {})
            )
    return found


def _old_key(folder: Path) -> dict[str, Any]:
    """What a rebuild must keep, so that notebooks already handed out stay valid."""
    path = folder / "key.json"
    if path.exists():
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return content
    return {"secret": secrets.token_hex(16), "roster": []}


def _write(content: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, path)
