"""Before notebooks are handed out: solve what every student gets, and say what is odd.

A solution that fails for some numbers, an answer that two students share, a draw for which a known
mistake is right, or that needs no computing (the answer is zero, or one of the numbers), and how
long a fingerprint of a number would hold.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from course.builder.answer_key import Key
from course.builder.notebooks import ROUNDS, check_cell
from course.builder.questions import Question, as_plain

__all__ = ["dry_run", "shared_answers", "tries_to_guess"]

FORMULAS = 20_000  # products of the given numbers that somebody would try first


def dry_run(key: Key) -> Iterator[str]:
    """A line for each thing that is odd, and one that says how much was solved."""
    students = key.roster or [""]
    solved = 0
    for exercise, question in key.by_machine():
        asked = [s for s in students if question in (q for _, q in key.graded(s))]
        answer: Any = None
        odd: Counter[str] = Counter()
        for student in asked:
            try:
                cases = _solved(key, exercise.name, student)
            except ValueError as error:
                yield str(error)
                continue
            solved += len(cases)
            odd.update(set(_odd(question, cases)))
            answer = cases[0][1]
        for words, count in odd.items():
            yield f"{exercise.name}: {words}, for {count} of {len(asked)}"
        if answer is not None and question.kind == "number" and question.shown(secret=True):
            yield _guessing(question, answer)
    yield f"solved {solved} cases of {len(students)} students"


def _solved(key: Key, name: str, student: str) -> list[tuple[dict[str, Any], Any]]:
    return [(case, key.expected(name, case)) for case in key.cases(name, student)]


def shared_answers(key: Key) -> Iterator[str]:
    """A line for each question of which a student could hand in another's answer."""
    by_answer: dict[str, dict[str, set[str]]] = {}
    for student in key.roster:
        for _, question in key.by_machine(student):
            if question.kind == "number" and question.numbers and question.unique:
                answer = key.expected(question.name, key.numbers(question.name, student))
                units = by_answer.setdefault(question.name, {})
                units.setdefault(json.dumps(answer, sort_keys=True), set()).add(key.unit(student))
    for name, answers in by_answer.items():
        shared = [sorted(units) for units in answers.values() if len(units) > 1]
        if shared:
            yield (
                f"{name}: {sum(map(len, shared))} students share an answer with another "
                f"(such as {', '.join(shared[0][:3])}): draw from wider ranges"
            )


def _odd(question: Question, cases: Sequence[tuple[dict[str, Any], Any]]) -> Iterator[str]:
    """What makes a student's draw easier than others, or unfair."""
    for case, expected in cases:
        number = isinstance(expected, (int, float)) and not isinstance(expected, bool)
        if number and not math.isfinite(expected):
            yield f"the answer is {expected}, which nobody can hand in"
        elif expected in (None, [], {}, ""):
            yield "the answer is empty"
        elif question.compare is None and question.public is None and number:
            if expected == 0:
                yield "the answer is 0"
            elif expected in [v for v in case.values() if isinstance(v, (int, float))]:
                yield "the answer is one of the given numbers"
    for mistake in question.mistakes:
        with contextlib.suppress(Exception):
            if all(question.judge(c, e, as_plain(mistake.answer(**c))) is True for c, e in cases):
                yield f"the mistake {mistake.name!r} is right"


def tries_to_guess(question: Question, expected: Any) -> int:
    """How many answers somebody tries who knows no formula: whole numbers up to this one, or
    floats of ten decades, as near to each other as the tolerance asks."""
    if isinstance(expected, int):
        return abs(expected) + 1
    return round(2 * 10 * math.log(10) / question.tolerance / 5)  # one try covers five steps


def _guessing(question: Question, expected: Any) -> str:
    """What a fingerprint in the notebook is worth."""
    begin = time.perf_counter()
    spec = {"width": 0, "salt": "00" * 8, "rounds": ROUNDS}
    check_cell._stretch(1, spec, 0, 0)
    each = time.perf_counter() - begin
    formulas, blind = FORMULAS * each, tries_to_guess(question, expected) * each
    return (
        f"{question.name}: show=True puts a fingerprint into each notebook; on this machine "
        f"formulas over the given numbers are tried in {_span(formulas)}, all answers in "
        f"{_span(blind)}: for practice, not for marks"
    )


def _span(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:.0f} seconds"
