"""A named mistake is the solution with that mistake in it, and not another wrong number.

``slips.json`` says for each mistake what of the solution it changes, as ``old -> new`` in the form
that Python prints the function in. So a mistake is computed in two ways, by its own function in
``course/practice`` and by the changed solution, and the two must agree.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_practice import CHAPTERS, key_of

import sampling
from course.builder.answer_key import Key
from course.builder.questions import Mistake, as_plain

LISTED = Path(__file__).with_name("slips.json")
SLIPS: dict[str, dict[str, list[str]]] = json.loads(LISTED.read_text("utf-8"))


def named(chapter: str) -> list[tuple[str, Mistake]]:
    """Each mistake of a chapter, with its exercise."""
    graded = key_of(chapter).graded()
    return [(question.name, each) for _, question in graded for each in question.mistakes]


def unparsed(code: str) -> str:
    """Code in one form: Python 3.10 puts names that are bound together in parentheses."""
    bound = r"(^ *|\bfor )\((\w+(?:, \w+)+)\)(?= in | = )"
    return re.sub(bound, r"\1\2", ast.unparse(ast.parse(code)), flags=re.MULTILINE)


@cache
def changed(chapter: str, name: str, mistake: str) -> Any:
    """A solution with the changes that its mistake is."""
    key = key_of(chapter)
    code = unparsed(key.exercise(name).function)
    for change in SLIPS[name][mistake]:
        old, new = change.split(" -> ")
        assert old in code, f"{name}, {mistake}: the solution has no {old!r}"
        code = code.replace(old, new, 1)
    space = {"math": math, **key.source.namespace()}
    exec(compile(code, name, "exec"), space)
    return space[name]


def is_it(found: Any, said: Any) -> bool:
    """Equal, whole numbers exactly and others but for the order of their arithmetic."""
    if isinstance(said, dict):
        return set(found) == set(said) and all(is_it(found[k], said[k]) for k in said)
    if isinstance(said, list):
        return len(found) == len(said) and all(map(is_it, found, said))
    if isinstance(said, (int, float)):
        return found == said or math.isclose(found, said, rel_tol=1e-14, abs_tol=1e-14)
    return bool(found == said)


def problem(chapter: str, name: str, mistake: Mistake) -> str:
    """How a mistake is not the changed solution; nothing where it is."""
    key, slip = key_of(chapter), changed(chapter, name, mistake.name)
    for case in cases(key, name):
        try:
            said = as_plain(mistake.answer(**case))
        except ArithmeticError:  # it would end so in a notebook, too
            continue
        found = as_plain(slip(**case))
        if not is_it(found, said):
            return f"{name}, {mistake.name}: {said!r}, the changed solution {found!r} for {case}"
    return ""


def cases(key: Key, name: str) -> list[dict[str, Any]]:
    """The statement's numbers, and those of two students."""
    return [key.exercise(name).example, *key.cases(name, ""), *key.cases(name, "ada")]


def test_every_mistake_has_its_slip() -> None:
    known = {(name, mistake.name) for c in CHAPTERS for name, mistake in named(c)}
    listed = {(name, mistake) for name, slips in SLIPS.items() for mistake in slips}
    assert known == listed, f"say in {LISTED.name} what these change: {known ^ listed}"


EVERY = [(chapter, *each) for chapter in CHAPTERS for each in named(chapter)]


def is_written_anew(of: tuple[str, str, Mistake]) -> bool:
    """Whether the exercise, its checks or what its mistakes change are not what they were."""
    chapter = of[0]
    checks = f"course/practice/{chapter}"
    files = f"book/{chapter}.md", f"{checks}.checks.py", f"{checks}_ways.py"
    return sampling.touched(*files, "tests/course/slips.json")


def in_words(each: Any) -> str:
    """What a drawn mistake is called where tests are listed."""
    return each.name if isinstance(each, Mistake) else each


@pytest.mark.parametrize(
    ("chapter", "name", "mistake"),
    sampling.some(EVERY, 80, "slips", first=is_written_anew),
    ids=in_words,
)
def test_a_mistake_is_the_solution_with_what_it_names_changed(
    chapter: str, name: str, mistake: Mistake
) -> None:
    assert problem(chapter, name, mistake) == ""


def off_by_one(answer: Any) -> Iterator[Any]:
    """An answer with one of its numbers one more."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield from ({**answer, key: other} for other in off_by_one(value))
    elif isinstance(answer, list):
        for n, value in enumerate(answer):
            yield from ([*answer[:n], other, *answer[n + 1 :]] for other in off_by_one(value))
    elif type(answer) in (int, float):
        yield answer + 1


@pytest.mark.parametrize(
    ("chapter", "name", "mistake"),
    sampling.some(EVERY, 30, "mistakes", first=is_written_anew),
    ids=in_words,
)
def test_a_mistake_off_by_one_is_noticed(chapter: str, name: str, mistake: Mistake) -> None:
    """One more in any of its numbers, for all that it is asked."""
    example = key_of(chapter).exercise(name).example
    for place, wrong in enumerate(off_by_one(as_plain(mistake.answer(**example)))):

        def planted(_place: int = place, **case: Any) -> Any:
            return [*off_by_one(as_plain(mistake.answer(**case)))][_place]

        assert problem(chapter, name, replace(mistake, answer=planted)), f"{wrong!r} passes"
