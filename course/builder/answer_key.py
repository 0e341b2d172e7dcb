"""The key of one assignment: a folder that stays with the instructor.

``key.json`` holds the exercises with their solutions, ``checks.py`` the instructor's own file. Both
are the instructor's code, and run in the grader; nothing here is ever sent to where answers run.
"""

from __future__ import annotations

import json
import re
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.builder.dependencies import slice_of
from course.builder.own_numbers import draw
from course.builder.questions import Plain, Question, as_plain
from course.builder.source import Exercise, Source, statements_of

__all__ = ["Key", "load_checks", "load_key"]


@dataclass
class Key:
    """Everything that decides a grade."""

    assignment: str
    source: Source
    questions: dict[str, Question]
    secret: str
    roster: list[str] = field(default_factory=list)
    aliases: dict[str, list[str]] = field(default_factory=dict)  # student -> other names
    attempts: dict[str, dict[str, int]] = field(default_factory=dict)  # question -> student -> n
    checks: str = ""  # the instructor's file

    def __post_init__(self) -> None:
        self._namespace: dict[str, Any] | None = None
        self._answers: dict[str, Plain] = {}

    def graded(self) -> list[tuple[Exercise, Question]]:
        """The exercises in the notebook's order, each with how it is graded."""
        return [(exercise, self.questions[exercise.name]) for exercise in self.source.exercises]

    def numbers(self, name: str, student: str, attempt: int | None = None) -> dict[str, Plain]:
        """A student's own numbers; the notebook's own for nobody (""), as in a canary."""
        exercise = next(e for e in self.source.exercises if e.name == name)
        if not student:
            return dict(exercise.example)
        if attempt is None:
            attempt = self.attempts.get(name, {}).get(student, 0)
        seed = self.secret, self.assignment, name, student, attempt
        own = draw(self.questions[name].numbers, *seed)
        return {**exercise.example, **own}

    def cases(self, name: str, student: str) -> list[dict[str, Plain]]:
        """What a function is called with: the numbers that the student sees, then hidden ones."""
        question, seen = self.questions[name], self.numbers(name, student)
        hidden = [
            draw(question.numbers, self.secret, name, student, i) for i in range(question.hidden)
        ]
        return [seen, *({**seen, **case} for case in (*question.cases, *hidden))]

    def expected(self, name: str, case: dict[str, Plain]) -> Plain:
        """The right answer, by the solution."""
        key = f"{name} {json.dumps(case, sort_keys=True)}"
        if key not in self._answers:
            if self._namespace is None:
                self._namespace = self.source.namespace()
            try:
                self._answers[key] = as_plain(self._namespace[name](**case))
            except Exception as error:
                problem = f"{self.assignment}: the solution of {name} fails for {case}"
                raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error
        return self._answers[key]

    def public(self) -> dict[str, str]:
        """The code of the checks that students get too: exercise -> the function and its needs."""
        pieces = statements_of(self.checks)
        pieces = [piece for piece in pieces if not re.match(r"(from|import) course\b", piece)]
        return {
            name: "\n\n".join(pieces[i] for i in slice_of(pieces, {question.public.__name__}))
            for name, question in self.questions.items()
            if question.public is not None
        }

    def save(self, folder: Path) -> None:
        """Write the key where only its owner can read it."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        content = {
            "assignment": self.assignment,
            "secret": self.secret,
            "roster": self.roster,
            "aliases": self.aliases,
            "attempts": self.attempts,
            "source": asdict(self.source),
        }
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (folder / "key.json").write_text(text, "utf-8")
        (folder / "checks.py").write_text(self.checks, "utf-8")


def load_key(folder: Path) -> Key:
    """The key in a folder."""
    if not (folder / "key.json").exists():
        inside = sorted(path.parent.as_posix() for path in folder.glob("**/key.json"))
        hint = f"; did you mean {' or '.join(inside)}?" if inside else ""
        raise ValueError(f"{folder.as_posix()} holds no key.json, as `build` makes it{hint}")
    content = json.loads((folder / "key.json").read_text("utf-8"))
    exercises = tuple(Exercise(**exercise) for exercise in content["source"].pop("exercises"))
    source = Source(**content["source"], exercises=exercises)
    checks = (folder / "checks.py").read_text("utf-8")
    questions = load_checks(checks, source)
    names = ("assignment", "secret", "roster", "aliases", "attempts")
    given = {name: content[name] for name in names if name in content}
    return Key(source=source, questions=questions, checks=checks, **given)


def load_checks(code: str, source: Source) -> dict[str, Question]:
    """How each exercise is graded; those that the instructor's file does not name, by default."""
    names = [exercise.name for exercise in source.exercises]
    questions = _questions_in(code, source.name, names)
    given = {question.name: question for question in questions}
    if len(given) < len(questions):
        twice = next(name for name in given if sum(q.name == name for q in questions) > 1)
        raise ValueError(f"{source.name}.checks.py: {twice} stands there twice")
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"{source.name} has no exercise {unknown[0]}; it has {', '.join(names)}")
    for exercise in source.exercises:
        question = given.get(exercise.name)
        if question and (extra := set(question.numbers) - set(exercise.example)):
            raise ValueError(f"{exercise.name} has no argument {extra.pop()}")
    return {name: given.get(name) or Question(name) for name in names}


def _questions_in(code: str, page: str, names: list[str]) -> list[Question]:
    """What QUESTIONS of a checks file holds; a sentence with the question's name if it does not."""
    file = f"{page}.checks.py"
    namespace: dict[str, Any] = {"__name__": "checks"}
    try:
        exec(compile(code, file, "exec"), namespace)
    except Exception as error:
        own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
        line = error.lineno if isinstance(error, SyntaxError) else own[1] if own[1:] else 0
        before = "\n".join(code.splitlines()[: line or 0])
        near = max(names, key=before.rfind) if any(name in before for name in names) else ""
        where = f"{file}, line {line}" + (f", at {near}" if near else "")
        words = error.msg if isinstance(error, SyntaxError) else error
        raise ValueError(f"{where}: {type(error).__name__}: {words}") from error
    questions = namespace.get("QUESTIONS", [])
    if not isinstance(questions, list) or not all(isinstance(q, Question) for q in questions):
        raise ValueError(f"{file}: QUESTIONS is a list of Question(...), got {questions!r}")
    return questions
