"""Made submissions: a class that hands in right, wrong and blank notebooks, to try the grader with.

They say in their metadata that they were made, so that none of them ever replaces a student's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from course.builder.answer_key import Key
from course.builder.assignments import student_notebook
from course.builder.questions import as_plain
from course.builder.roster import file_name

__all__ = ["hand_in", "write_samples"]

NOBODY_YET = ("student-01", "student-02", "student-03")  # in the place of a roster


def hand_in(
    key: Key, student: str, answers: dict[str, str] | None = None, *, solved: bool = True
) -> Any:
    """A student's notebook, right but for the cells that are given: exercise -> code."""
    notebook = student_notebook(key, student, solved=solved, checked=False)
    notebook.metadata["course"]["made"] = True
    for cell in notebook.cells:
        name = cell.metadata.get("exercise")
        if answers and name in answers:
            cell.source = answers[name]
    return notebook


def write_samples(key: Key, out: Path) -> list[str]:
    """Hand in for the whole roster: one solves all, the next slips once, the next does nothing."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(out.rglob("*")):
        if path.is_file() and not _made(path):
            raise ValueError(f"{path} was not made here: name a folder that holds no submissions")
    students = key.roster or list(NOBODY_YET)
    for number, student in enumerate(students):
        answers = _slip(key, student) if number % 3 == 1 else {}
        notebook = hand_in(key, student, answers, solved=number % 3 < 2)
        nbformat.write(notebook, out / f"{file_name(student)}.ipynb")
    return students


def _slip(key: Key, student: str) -> dict[str, str]:
    """One known mistake, in the first question where it changes the answer."""
    for exercise, question in key.by_machine(student):
        numbers = key.numbers(exercise.name, student)
        expected = key.expected(exercise.name, numbers)
        for mistake in question.mistakes:
            wrong = as_plain(mistake.answer(**numbers))
            if question.judge(numbers, expected, wrong) is not True:
                number = question.kind == "number"
                head = f"def {exercise.name}():" if number else exercise.signature
                return {exercise.name: f"{head}\n    return {wrong!r}"}
    return {}


def _made(path: Path) -> bool:
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception:
        return False
    return bool(notebook.metadata.get("course", {}).get("made"))
