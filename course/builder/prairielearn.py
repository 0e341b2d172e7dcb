"""The exercises that draw numbers, as questions for PrairieLearn: a folder each, three files.

A question is the exercise's statement and numbers of the student's own; the answer is one number.
Variants are drawn and solved here, so that the server needs no costlib: ``server.py`` holds them,
and takes one by the seed that PrairieLearn gives. A known mistake is answered by its hint. What
returns no single number, or is compared by a rule of its own, stays with our grader.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course.builder.answer_key import Key
from course.builder.notebooks import fill
from course.builder.questions import Question, as_plain
from course.builder.source import Exercise

__all__ = ["write_questions"]

EXACT = 2**53  # beyond it a number that passes through JavaScript loses digits
SERVER = '''\
"""Variants that were drawn and solved beforehand: one is taken by the seed."""

STATEMENT = {statement!r}
TOLERANCE = {tolerance!r}
VARIANTS = {variants}


def _variant(data):
    return VARIANTS[int(data["variant_seed"]) % len(VARIANTS)]


def generate(data):
    drawn = _variant(data)
    data["params"]["statement"] = drawn.get("statement", STATEMENT)
    data["params"]["given"] = drawn["given"]
    data["correct_answers"]["answer"] = drawn["answer"]


def _is(said, value):
    if isinstance(value, float) and isinstance(said, (int, float)):
        return abs(said - value) <= TOLERANCE * abs(value)
    return str(said) == str(value)


def grade(data):
    said, drawn = data["submitted_answers"].get("answer"), _variant(data)
    if said is None or _is(said, drawn["answer"]):
        return
    for value, hint in drawn["mistakes"]:
        if _is(said, value):
            data["feedback"]["hint"] = hint
            return
'''
PAGE = """\
<pl-question-panel>
  <markdown>{{{{{{params.statement}}}}}}</markdown>
  <p>What does <code>{name}</code> return for {{{{params.given}}}}?</p>
</pl-question-panel>
{asked}
<pl-submission-panel>{{{{#feedback.hint}}}}<p>{{{{feedback.hint}}}}</p>{{{{/feedback.hint}}}}</pl-submission-panel>
"""
NUMBER = '<pl-number-input answers-name="answer" comparison="relabs" rtol="{rtol}" atol="0">'
NUMBER += "</pl-number-input>"
WHOLE = '<pl-integer-input answers-name="answer"></pl-integer-input>'
LONG = '<pl-string-input answers-name="answer" remove-spaces="true"></pl-string-input>'


def write_questions(key: Key, folder: Path, variants: int = 50) -> tuple[list[str], list[str]]:
    """Write a folder for each question that can be one: the names of these, and of the others."""
    written, others = [], []
    for exercise, question in key.graded():
        drawn = [] if exercise.by_hand else _variants(key, exercise, question, variants)
        if not drawn:
            others.append(exercise.name)
            continue
        place = folder / key.assignment / exercise.name
        place.mkdir(parents=True, exist_ok=True)
        answers = [each["answer"] for each in drawn]
        asked = NUMBER.format(rtol=question.tolerance)
        if all(isinstance(answer, int) for answer in answers):
            asked = WHOLE
        elif any(isinstance(answer, str) for answer in answers):
            asked = LONG
        for name, text in {
            "info.json": json.dumps(_about(key, exercise), indent=2) + "\n",
            "question.html": PAGE.format(name=exercise.name, asked=asked),
            "server.py": _server(question, drawn),
        }.items():
            (place / name).write_text(text, "utf-8")
        written.append(exercise.name)
    return written, others


def _about(key: Key, exercise: Exercise) -> dict[str, Any]:
    """What PrairieLearn wants to know; the same id in each build, so that marks are not lost."""
    made = uuid.uuid5(uuid.NAMESPACE_URL, f"costlib/{key.assignment}/{exercise.name}")
    about = {"uuid": str(made), "title": exercise.title, "topic": key.source.title}
    return {**about, "tags": ["costlib"], "type": "v3"}


def _variants(
    key: Key, exercise: Exercise, question: Question, wanted: int
) -> list[dict[str, Any]]:
    """Numbers, right answer and known mistakes of each variant; nothing if that is no question."""
    if not question.numbers or question.compare is not None or question.public is not None:
        return []
    found: dict[str, dict[str, Any]] = {}
    for place in range(wanted):
        numbers = key.drawn(exercise.name, f"variant {place}", 0)
        answer = key.expected(exercise.name, numbers)
        if isinstance(answer, bool) or not isinstance(answer, (int, float)):
            return []
        given = ", ".join(f"{name} = {value!r}" for name, value in numbers.items())
        made = {"given": given, "answer": answer, "statement": fill(exercise.statement, numbers)}
        found[given] = {**made, "mistakes": [*_mistaken(question, numbers, answer)]}
    return _alike([*found.values()])


def _alike(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers of one kind: long whole numbers are text in all variants or in none."""
    answers = [each["answer"] for each in drawn]
    whole = all(isinstance(answer, int) for answer in answers)
    if whole and any(abs(answer) >= EXACT for answer in answers):
        for each in drawn:
            each["answer"] = str(each["answer"])
            each["mistakes"] = [(str(value), hint) for value, hint in each["mistakes"]]
    elif not whole:
        for each in drawn:
            each["answer"] = float(each["answer"])
    return drawn


def _mistaken(
    question: Question, numbers: dict[str, Any], answer: Any
) -> Iterator[tuple[Any, str]]:
    """What each known mistake gives, where that is a number and not right by chance."""
    for mistake in question.mistakes:
        with contextlib.suppress(Exception):
            value = as_plain(mistake.answer(**numbers))
            if (
                isinstance(value, (int, float))
                and question.judge(numbers, answer, value) is not True
            ):
                yield value, mistake.feedback


def _server(question: Question, drawn: list[dict[str, Any]]) -> str:
    """What draws and grades; the statement once, where all variants have the same."""
    statement = drawn[0]["statement"]
    kept = [{k: v for k, v in each.items() if k != "statement" or v != statement} for each in drawn]
    variants = "[\n" + "".join(f"    {each!r},\n" for each in kept) + "]"
    return SERVER.format(statement=statement, tolerance=question.tolerance, variants=variants)
