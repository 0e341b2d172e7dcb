"""Scores into an nbgrader gradebook, through nbgrader's own API; nbgrader is not needed otherwise.

>>> write_gradebook(key, results, "sqlite:///gradebook.db")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course.builder.answer_key import Key
from course.grader.marking import Graded, Mark

__all__ = ["write_gradebook"]


def write_gradebook(key: Key, results: Sequence[Graded], database: str) -> None:
    """Add the assignment, its questions, the students and their scores; update what is there."""
    from nbgrader.api import Gradebook

    name = key.assignment
    with Gradebook(database) as book:
        book.update_or_create_assignment(name)
        book.update_or_create_notebook(name, name)
        for question in key.questions.values():
            book.update_or_create_grade_cell(
                question.name, name, name, max_score=question.points, cell_type="code"
            )
            book.update_or_create_solution_cell(question.name, name, name)
        for graded in results:
            book.update_or_create_student(graded.student)
            book.update_or_create_submission(name, graded.student)
            for mark in graded.marks:
                _write(book, name, graded.student, mark)
        book.db.commit()


def _write(book: Any, name: str, student: str, mark: Mark) -> None:
    """One score and its comment; the entries exist since the submission was made."""
    grade = book.find_grade(mark.question, name, name, student)
    grade.auto_score = mark.score
    grade.needs_manual_grade = mark.waits
    comment = book.find_comment(mark.question, name, name, student)
    comment.auto_comment = " ".join(part for part in (mark.reason, mark.feedback) if part)
