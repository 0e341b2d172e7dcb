"""The key of one assignment: a folder that stays with the instructor.

``key.json`` holds the exercises with their solutions, ``checks.py`` the instructor's own file. Both
are the instructor's code, and run in the grader; nothing here is ever sent to where answers run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.builder.dependencies import slice_of
from course.builder.own_numbers import choose, draw
from course.builder.questions import Plain, Question, as_plain
from course.builder.roster import folded, spellings
from course.builder.rules import Rules
from course.builder.source import Exercise, Piece, Source, statements_of

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
    groups: dict[str, str] = field(default_factory=dict)  # student -> who hands in together
    export: dict[str, Any] = field(default_factory=dict)  # the table that the roster came in
    handed_out: dict[str, dict[str, list[dict[str, Plain]]]] = field(default_factory=dict)
    checks: str = ""  # the instructor's file
    checks_from: str = ""  # where that file lay
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        self._namespace: dict[str, Any] | None = None
        self._answers: dict[str, Plain] = {}

    def unit(self, student: str) -> str:
        """Who has the same numbers: a student, or all who hand in together."""
        group = self.groups.get(student)
        return f"group {group}" if group else student

    def graded(self, student: str = "") -> list[tuple[Exercise, Question]]:
        """The exercises in the notebook's order, each with how it is graded.

        Of a pool a student gets some; nobody ("") gets all, as in a canary.
        """
        every = [(exercise, self.questions[exercise.name]) for exercise in self.source.exercises]
        left_out: set[str] = set()
        if student:
            unit = self.unit(student)
            recorded = self.handed_out.get(unit)
            for pool, wanted in self.rules.pools.items():
                names = [q.name for _, q in every if q.pool == pool]
                given = [name for name in names if recorded and name in recorded]
                chosen = given or choose(names, wanted, self.secret, self.assignment, pool, unit)
                left_out |= set(names) - set(chosen)
        return [
            (exercise, question) for exercise, question in every if question.name not in left_out
        ]

    def by_machine(self, student: str = "") -> list[tuple[Exercise, Question]]:
        """Those of a student's exercises that no person marks."""
        return [(exercise, q) for exercise, q in self.graded(student) if not exercise.by_hand]

    def numbers(self, name: str, student: str) -> dict[str, Plain]:
        """A student's own numbers; the notebook's own for nobody (""), as in a canary."""
        if not student:
            return self.drawn(name, "", 0) | self.exercise(name).example
        given = self.given(name, student)
        return given[-1] if given else self.drawn(name, self.unit(student), 0)

    def given(self, name: str, student: str) -> list[dict[str, Plain]]:
        """All the numbers that a student was ever handed out for a question; the last are current.

        They stay valid whatever was corrected since. A question that has other arguments now is
        another question.
        """
        recorded = self.handed_out.get(self.unit(student), {}).get(name, [])
        question, example = self.questions[name], self.exercise(name).example
        wanted = {*example, *question.numbers}
        return [dict(numbers) for numbers in recorded if set(numbers) == wanted]

    def drawn(self, name: str, unit: str, attempt: int) -> dict[str, Plain]:
        """Numbers that nobody has yet: decided by the secret."""
        seed = self.secret, self.assignment, name, unit, attempt
        return {**self.exercise(name).example, **draw(self.questions[name].numbers, *seed)}

    def exercise(self, name: str) -> Exercise:
        """An exercise by its function's name."""
        return next(e for e in self.source.exercises if e.name == name)

    def cases(self, name: str, student: str) -> list[dict[str, Plain]]:
        """What a function is called with: the numbers that the student sees, then hidden ones."""
        question, seen = self.questions[name], self.numbers(name, student)
        hidden = [
            draw(question.numbers, self.secret, name, self.unit(student), i)
            for i in range(question.hidden)
        ]
        return [seen, *({**seen, **case} for case in (*question.cases, *hidden))]

    def expected(self, name: str, case: dict[str, Plain]) -> Plain:
        """The right answer, by the solution."""
        key = f"{name} {json.dumps(case, sort_keys=True)}"
        if key not in self._answers:
            if self._namespace is None:
                self._namespace = self.source.namespace()
            try:
                with contextlib.redirect_stdout(io.StringIO()):  # some solutions print
                    self._answers[key] = as_plain(self._namespace[name](**case))
            except Exception as error:
                problem = f"{self.assignment}: the solution of {name} fails for {case}"
                raise ValueError(f"{problem}: {type(error).__name__}: {error}") from error
        return self._answers[key]

    def refuse_unknown_extensions(self) -> None:
        """A time of one's own must not be lost to a name that is spelled otherwise."""
        known = spellings(self.roster, self.aliases)
        for name in self.rules.deadline.extended if self.rules.deadline and self.roster else ():
            if name not in self.roster:
                meant = known.get(folded(name))
                hint = f": write {meant}" if meant else ""
                raise ValueError(
                    f"DEADLINE is extended for {name}, which is no id of the roster{hint}"
                )

    @property
    def outdated(self) -> bool:
        """Whether the instructor's file says something else than when the key was made."""
        file = Path(self.checks_from)
        return file.is_file() and file.read_text("utf-8", "replace") != self.checks

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
            "groups": self.groups,
            "export": self.export,
            "handed_out": self.handed_out,
            "source": asdict(self.source),
            "checks_from": self.checks_from,
        }
        text = json.dumps(content, indent=1, ensure_ascii=False)
        write_whole(folder / "key.json", text)
        write_whole(folder / "checks.py", self.checks)


def write_whole(path: Path, text: str) -> None:
    """A file that is there as a whole or as it was; a name's odd bytes become question marks."""
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(text.encode("utf-8", "replace"))
    os.replace(aside, path)


def load_key(folder: Path) -> Key:
    """The key in a folder."""
    if not (folder / "key.json").exists():
        inside = sorted(path.parent.as_posix() for path in folder.glob("**/key.json"))
        hint = f"; did you mean {' or '.join(inside)}?" if inside else ""
        raise ValueError(f"{folder.as_posix()} holds no key.json, as `build` makes it{hint}")
    content = json.loads((folder / "key.json").read_text("utf-8"))
    said = content["source"]
    exercises = tuple(Exercise(**exercise) for exercise in said.pop("exercises"))
    pieces = tuple(Piece(**piece) for piece in said.pop("pieces"))
    source = Source(**said, exercises=exercises, pieces=pieces)
    checks = (folder / "checks.py").read_text("utf-8")
    questions, rules = load_checks(checks, source)
    names = ("assignment", "secret", "roster", "aliases", "groups", "export", "handed_out")
    given = {name: content[name] for name in names}
    given["checks_from"] = content.get("checks_from", "")  # a key may be older than this
    return Key(source=source, questions=questions, checks=checks, rules=rules, **given)


def load_checks(code: str, source: Source) -> tuple[dict[str, Question], Rules]:
    """How each exercise is graded, those that the instructor's file does not name by default; and
    the assignment's rules."""
    names = [exercise.name for exercise in source.exercises]
    namespace = _executed(code, source.name, names)
    questions = [q for q in _questions_in(namespace, source.name) if q.name not in source.left_out]
    given = {question.name: question for question in questions}
    if len(given) < len(questions):
        twice = next(name for name in given if sum(q.name == name for q in questions) > 1)
        raise ValueError(f"{source.name}.checks.py: {twice} stands there twice")
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"{source.name} has no exercise {unknown[0]}; it has {', '.join(names)}")
    for exercise in source.exercises:
        question = given.get(exercise.name)
        if question and not exercise.by_hand:
            named = set(question.numbers).union(*question.cases) - set(exercise.example)
            if named:
                raise ValueError(
                    f"{exercise.name} has no argument {min(named)}; it has "
                    + ", ".join(exercise.example)
                )
    found = {e.name: given.get(e.name) or Question(e.name, kind=e.form) for e in source.exercises}
    for exercise in source.exercises:
        question = found[exercise.name]
        if exercise.by_hand != question.by_hand or (
            exercise.by_hand and exercise.form != question.kind
        ):
            raise ValueError(
                f"{source.name}.checks.py: {question.name} is a {question.kind}, and its solution "
                f"on the page is a {exercise.form}"
            )
    return found, _rules_of(namespace, source.name, list(found.values()))


def _rules_of(namespace: dict[str, Any], page: str, questions: list[Question]) -> Rules:
    """The assignment's rules, as far as they fit its questions."""
    try:
        rules = Rules.of(namespace)
    except ValueError as error:
        raise ValueError(f"{page}.checks.py: {error}") from error
    pooled = {q.pool: [p for p in questions if p.pool == q.pool] for q in questions if q.pool}
    for pool, members in pooled.items():
        if pool not in rules.pools:
            raise ValueError(f"{page}.checks.py: POOLS does not say how many of {pool!r} to give")
        if len({question.points for question in members}) > 1:
            raise ValueError(f"{page}.checks.py: questions of pool {pool!r} differ in points")
    for pool, wanted in rules.pools.items():
        if wanted > len(pooled.get(pool, [])):
            there = len(pooled.get(pool, []))
            raise ValueError(f"{page}.checks.py: pool {pool!r} has {there} questions, not {wanted}")
    return rules


def _executed(code: str, page: str, names: list[str]) -> dict[str, Any]:
    """What a checks file defines; a sentence with the question's name if it fails."""
    file = f"{page}.checks.py"
    namespace: dict[str, Any] = {"__name__": "checks"}
    try:
        exec(compile(code, file, "exec"), namespace)
    except Exception as error:
        own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)]
        line = error.lineno if isinstance(error, SyntaxError) else own[1] if own[1:] else 0
        near = _question_at(code, line or 0, names)
        where = f"{file}, line {line}" + (f", at {near}" if near else "")
        words = error.msg if isinstance(error, SyntaxError) else error
        raise ValueError(f"{where}: {type(error).__name__}: {words}") from error
    return namespace


def _question_at(code: str, line: int, names: list[str]) -> str:
    """The question in whose entry a line stands; where the code cannot be read, the last before it.

    >>> _question_at("[\\n    Question(\\n        'b', points=0)]", 2, ["a", "b"])
    'b'
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        before = "\n".join(code.splitlines()[:line])
        return max(names, key=before.rfind) if any(name in before for name in names) else ""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    here = [call for call in calls if call.lineno <= line <= (call.end_lineno or 0)]
    first = [call.args[0] for call in here]
    said = [word.value for word in first if isinstance(word, ast.Constant) and word.value in names]
    return str(said[0]) if said else ""


def _questions_in(namespace: dict[str, Any], page: str) -> list[Question]:
    file = f"{page}.checks.py"
    questions = namespace.get("QUESTIONS", [])
    if not isinstance(questions, list) or not all(isinstance(q, Question) for q in questions):
        raise ValueError(f"{file}: QUESTIONS is a list of Question(...), got {questions!r}")
    return questions
