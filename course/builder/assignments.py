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

from course.builder.answer_key import Key, load_checks
from course.builder.notebooks import Part, Surroundings, checks_for, notebook
from course.builder.own_numbers import salt_of
from course.builder.progress import Progress
from course.builder.questions import as_plain
from course.builder.roster import Roster, file_name
from course.builder.source import read_source

__all__ = ["build", "build_one", "hand_out", "has_solutions", "open_key", "student_notebook"]

#: Ids, ids with the other names that each student goes by, or all that a roster says.
Students = Iterable[str] | Mapping[str, Sequence[str]] | Roster
ATTEMPTS = 200  # to find numbers whose answer nobody has


def build(
    course: Path,
    out: Path,
    students: Students = (),
    checks: Path | None = None,
    *,
    whole: bool = True,
    renew: Sequence[str] = (),
    only: Sequence[str] = (),
) -> list[Key]:
    """Build every notebook of a folder that has solutions; the assignments' keys.

    ``only`` names some of them, each with the numbers of its exercises, or alone for all.
    """
    roster = _roster(students)
    pages = [page for page in sorted(course.glob("*.md")) if has_solutions(page)]
    if not pages:
        raise ValueError(f"{course} holds no notebook (.md) with a cell tagged solution")
    chosen = _chosen(only, [page.stem for page in pages])
    keys = [
        build_one(p, out, roster, checks, whole=whole, renew=renew, only=chosen[p.stem])
        for p in pages
        if p.stem in chosen
    ]
    known = {name for key in keys for name in key.questions}
    if unknown := [name for name in renew if name not in known]:
        there = ", ".join(sorted(known))
        raise ValueError(f"--renew {unknown[0]}: no question is called so; there is {there}")
    return keys


def _chosen(words: Sequence[str], pages: Sequence[str]) -> dict[str, list[int]]:
    """Pages, each with the numbers of exercises that follow it; all pages if none is named.

    >>> _chosen(["matmul", "1", "3", "kvcache"], ["attention", "kvcache", "matmul"])
    {'matmul': [1, 3], 'kvcache': []}
    """
    found: dict[str, list[int]] = {}
    for word in words or pages:
        if word in pages:
            numbers = found.setdefault(word, [])
        elif word.isdecimal() and found:
            numbers.append(int(word))
        else:
            raise ValueError(f"no chapter is called {word}; there is {', '.join(pages)}")
    return found


def has_solutions(page: Path) -> bool:
    """Whether a page is a notebook with a solution, and not a text that shows how one looks."""
    tagged = r"""^:tags: \[.*solution\]$|^\+\+\+ .*"solution\""""
    text = page.read_text("utf-8")
    return text.startswith("---") and bool(re.search(tagged, text, re.MULTILINE))


def build_one(
    page: Path,
    out: Path,
    students: Students = (),
    checks: Path | None = None,
    *,
    whole: bool = True,
    renew: Sequence[str] = (),
    only: Sequence[int] = (),
) -> Key:
    """Build one notebook: blank and solved, one for each student of a roster, and the key.

    Numbers that were handed out stay, but for the questions to ``renew``: there the old ones stay
    valid beside the new.
    """
    roster = _roster(students)
    key, folder = open_key(page, checks, whole=whole, only=only), out / "key" / page.stem
    old = _old_key(folder)
    key.secret, key.roster = old["secret"], list(dict.fromkeys([*old["roster"], *roster.names]))
    named = {student: list(names) for student, names in roster.names.items() if names}
    key.aliases = {**old["aliases"], **named}
    key.groups = {**old["groups"], **roster.groups}
    key.export = roster.export or old["export"]
    key.handed_out = old["handed_out"]
    key.refuse_unknown_extensions()
    hand_out(key, renew)
    key.save(folder)
    blank, solved = student_notebook(key, ""), student_notebook(key, "", solved=True)
    _write(blank, out / "student" / f"{page.stem}.ipynb")
    _write(solved, out / "solved" / f"{page.stem}.ipynb")
    _write(blank, folder / "blank.ipynb")
    _write(solved, folder / "solved.ipynb")
    progress = Progress(len(key.roster), f"of {page.stem} made")
    for student in key.roster:
        own = out / "student" / file_name(student) / f"{page.stem}.ipynb"
        _write(student_notebook(key, student), own)
        progress.step()
    return key


def _roster(students: Students) -> Roster:
    if isinstance(students, Roster):
        return students
    if isinstance(students, Mapping):
        return Roster({student: tuple(names) for student, names in students.items()})
    return Roster(dict.fromkeys(students, ()))


def open_key(
    page: Path, checks: Path | None = None, *, whole: bool = False, only: Sequence[int] = ()
) -> Key:
    """A key without a secret or a roster: enough for notebooks that anybody may have.

    The checks lie beside the page or in a folder of checks; a page without any is compared with
    its solutions. Of a chapter the exercises stand alone; an assignment is taken as a whole.
    """
    source = read_source(page, whole=whole).only(only)
    beside = (checks or page.parent) / f"{page.stem}.checks.py"
    code = beside.read_text("utf-8") if beside.exists() else "QUESTIONS = []\n"
    questions, rules = load_checks(code, source)
    origin = str(beside.resolve()) if beside.exists() else ""
    return Key(page.stem, source, questions, "", checks=code, checks_from=origin, rules=rules)


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
    parts, checks = [], {}
    for exercise, question in key.graded(student):
        numbers = key.numbers(exercise.name, student)
        parts.append(Part(exercise, question, numbers))
        if checked and not exercise.by_hand:
            expected = key.expected(exercise.name, numbers)
            salt = salt_of(key.secret, exercise.name, key.unit(student))
            secret = bool(key.secret)
            spec = checks_for(question, numbers, expected, salt, rounds, secret=secret)
            checks[exercise.name] = spec
    return notebook(
        key.source.title,
        key.source.setup,
        parts,
        checks,
        key.public() if checked else {},
        pieces=key.source.pieces,
        solved=solved,
        about={"assignment": key.assignment, "student": student},
        around=around,
    )


def hand_out(key: Key, renew: Sequence[str] = ()) -> None:
    """Record what each student gets: what they have, or new numbers that nobody else has.

    What was recorded stays first in the list; a correction that changes a number adds another.
    """
    taken: dict[str, set[str]] = {}
    for student in key.roster:
        for exercise, _ in key.graded(student):
            if given := key.given(exercise.name, student):
                taken.setdefault(exercise.name, set()).add(_answer(key, exercise.name, given[-1]))
    renewed: set[tuple[str, str]] = set()
    for student in key.roster:
        unit = key.unit(student)
        recorded = key.handed_out.setdefault(unit, {})
        for exercise, question in key.graded(student):
            name = exercise.name
            known = recorded.setdefault(name, [])
            if known and (name not in renew or (unit, name) in renewed):
                kept = {k: v for k, v in known[-1].items() if k in question.numbers}
                numbers = {**as_plain(key.drawn(name, unit, 0)), **kept}
            else:
                numbers = _new(key, name, student, taken.setdefault(name, set()), len(known))
                renewed.add((unit, name))
            if numbers not in known[-1:]:
                known.append(numbers)


def _new(key: Key, name: str, student: str, taken: set[str], first: int) -> dict[str, Any]:
    """Numbers whose answer nobody has; where the range is exhausted, answers repeat."""
    unit, question = key.unit(student), key.questions[name]
    numbers = as_plain(key.drawn(name, unit, first))
    if question.kind != "number" or not question.numbers or not question.unique:
        return numbers
    for attempt in range(first, first + ATTEMPTS):
        tried = as_plain(key.drawn(name, unit, attempt))
        if _answer(key, name, tried) not in taken:
            numbers = tried
            break
    taken.add(_answer(key, name, numbers))
    return numbers


def _answer(key: Key, name: str, numbers: dict[str, Any]) -> str:
    question = key.questions[name]
    if question.kind != "number" or not question.unique:
        return ""
    return json.dumps(key.expected(name, numbers), sort_keys=True)


def _old_key(folder: Path) -> dict[str, Any]:
    """What a rebuild must keep, so that notebooks already handed out stay valid."""
    path = folder / "key.json"
    if path.exists():
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return content
    empty = {"roster": [], "aliases": {}, "groups": {}, "export": {}, "handed_out": {}}
    return {"secret": secrets.token_hex(16), **empty}


def _write(content: Any, path: Path) -> None:
    import nbformat

    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, path)
