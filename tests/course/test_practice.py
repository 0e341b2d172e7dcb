"""The book's practice exercises: each is checked, and each likely mistake is known by its name."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from notebook_checks import holds_no_answer, is_the_solved_one_with_lines_removed, key_from, run
from solution_mutants import LISTED, cases_of, survivors

import programs
import sampling
from course.builder import check_cell, notebooks
from course.builder.answer_key import Key, load_checks
from course.builder.assignments import student_notebook
from course.builder.questions import as_plain
from course.grader.marking import mark_question, mark_submission
from course.grader.sandbox import Failure, Limits, Sandbox, bubblewrap_works, plain_value
from course.grader.submission import Submission
from course.grader.worker import imports_of
from paths import ROOT

PRACTICE = ROOT / "course" / "practice"
TAGGED = re.compile(r"^:tags: \[.*solution\]$", re.MULTILINE)
PAGES = [p for p in sorted((ROOT / "book").glob("*.md")) if p.with_suffix(".ipynb").is_file()]
CHAPTERS = [path.stem for path in PAGES if TAGGED.search(path.read_text("utf-8"))]
by_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


def is_new(chapter: str) -> bool:
    """Whether its exercises may just have changed."""
    checks = f"course/practice/{chapter}"
    return sampling.touched(f"book/{chapter}.md", f"{checks}.checks.py", f"{checks}_ways.py")


#: Hashes are kept whole for the example; here they take a minute.
pytestmark = pytest.mark.usefixtures("fast_hashes", "fits_once")


@cache
def key_of(chapter: str) -> Key:
    return key_from(ROOT / "book" / f"{chapter}.md", PRACTICE / f"{chapter}.checks.py")


class Answering:
    """In the place of a sandbox: an answer that is a function of this process."""

    limits = Limits()

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer

    @contextlib.contextmanager
    def question(self, _setup: str, _cells: Any, _name: str) -> Iterator[Any]:
        yield SimpleNamespace(start=lambda: (True, None), ask=self.ask)

    def ask(self, case: dict[str, Any]) -> Any:
        return plain_value(as_plain(self.answer(**case)))


def key_answer(key: Key, name: str) -> Callable[..., Any]:
    """The solution, computed once."""
    return lambda **case: key.expected(name, case)


def test_every_exercise_of_the_book_is_checked() -> None:
    checked = sorted(path.name for path in PRACTICE.glob("*.checks.py"))
    assert checked == [f"{chapter}.checks.py" for chapter in CHAPTERS]
    names = [exercise.name for c in CHAPTERS for exercise in key_of(c).source.exercises]
    assert len(names) == len(set(names)), "a name is an exercise's id in the whole book"


@by_chapter
def test_every_exercise_is_whole_and_its_notebook_gives_nothing_away(chapter: str) -> None:
    """A number, hidden cases, and words for mistakes."""
    key = key_of(chapter)
    for student in ("", "ada"):
        is_the_solved_one_with_lines_removed(key, student)
    holds_no_answer(key, "")
    assert [e.number for e, _ in key.graded()] == list(range(1, len(key.source.exercises) + 1))
    for exercise, question in key.graded():
        assert f'"{exercise.name}"' in key.checks
        assert question.mistakes or question.public or question.compare
        assert len(key.cases(exercise.name, "")) > 1, f"{exercise.name} has no hidden case"


@by_chapter
def test_the_solved_notebook_gets_full_marks(chapter: str) -> None:
    """By its own checks, which run it; and for hidden cases and other students' numbers."""
    key = key_of(chapter)
    said, _ = run(student_notebook(key, "", solved=True))
    for exercise, question in key.graded():
        assert f"{exercise.name}: " + ("Noted" if question.compare else "right.") in said.replace(
            repr(key.expected(exercise.name, exercise.example)) + ". ", ""
        )
        sandbox: Any = Answering(key_answer(key, exercise.name))
        for student in ("", "ada", "bob"):
            found = mark_question(key, question, Submission(student, "digest"), sandbox)
            assert found[:4] == (1, "", "", ""), f"{exercise.name} {student}"


def is_same(found: Any, worked_out: Any) -> bool:
    """Equal, numbers to nine digits; in lists and by name."""
    if isinstance(worked_out, dict):
        return set(found) == set(worked_out) and all(
            is_same(found[name], each) for name, each in worked_out.items()
        )
    if isinstance(worked_out, list):
        return len(found) == len(worked_out) and all(map(is_same, found, worked_out))
    if isinstance(worked_out, (int, float)):
        return math.isclose(found, worked_out, rel_tol=1e-9)
    return bool(found == worked_out)


@by_chapter
def test_a_solution_gives_what_was_worked_out_apart_from_it(chapter: str) -> None:
    """A solution is the answer to its own checks, so that only this sees a wrong one."""
    key = key_of(chapter)
    answers = runpy.run_path(str(PRACTICE / f"{chapter}.checks.py"))["ANSWERS"]
    names = [exercise.name for exercise, _ in key.graded()]
    assert list(answers) == names, "ANSWERS are in the order of the page"
    for exercise, _ in key.graded():
        found = key.expected(exercise.name, exercise.example)
        assert is_same(found, answers[exercise.name]), f"{exercise.name} gives {found!r}"


@by_chapter
def test_a_solution_gives_what_another_way_gives(chapter: str) -> None:
    """For any numbers, by a function that was written without looking at it."""
    key = key_of(chapter)
    known = runpy.run_path(str(PRACTICE / f"{chapter}.checks.py"))
    assert set(known.get("EDGES", {})) <= set(known.get("APART", {}))
    for name, another in known.get("APART", {}).items():
        for case in cases_of(key, name, known, ("", "ada", "bob", "cleo")):
            found, right = key.expected(name, case), as_plain(another(**case))
            assert is_same(found, right), f"{name}: {found!r}, not {right!r}, for {case}"


@by_chapter
def test_a_changed_solution_is_noticed_or_listed(chapter: str) -> None:
    """An exercise that is new may leave a few; then they are listed."""
    listed = json.loads(LISTED.read_text("utf-8"))
    found = survivors(key_of(chapter), PRACTICE / f"{chapter}.checks.py", is_same)
    for name, left in found.items():
        news = [what for what in left if what not in listed.get(name, ())]
        assert not news or (name not in listed and len(news) <= 5), (
            f"no answer notices these changes of {name}: {news}. Give it another way in APART, or "
            f"list them, with a reason: python tests/course/solution_mutants.py {name}"
        )


def test_the_changes_of_one_exercise_are_listed_as_contributing_says() -> None:
    said = programs.run("tests/course/solution_mutants.py", "chain_flops")
    assert said == "every change of chain_flops is noticed or listed\n"
    with pytest.raises(AssertionError, match="no exercise is called no_such"):
        programs.run("tests/course/solution_mutants.py", "no_such")


def test_every_change_that_is_listed_has_a_reason() -> None:
    listed = json.loads(LISTED.read_text("utf-8"))
    assert not [(name, what) for name, left in listed.items() for what in left if not left[what]]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    limits = Limits(call=60, question=90)
    needed = {module for c in CHAPTERS for module in imports_of(key_of(c).source.setup)}
    with Sandbox(sorted(needed), bubblewrap=bubblewrap_works(), limits=limits) as made:
        yield made


@pytest.mark.parametrize("chapter", sampling.some(CHAPTERS, 4, "solutions", first=is_new))
@pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")
def test_solutions_answer_in_the_sandbox(chapter: str, sandbox: Sandbox) -> None:
    """As a student's answer would, to the numbers of the notebook."""
    key = key_of(chapter)
    alone = Key(chapter, key.source, load_checks("", key.source)[0], key.secret)
    alone._answers = key._answers  # computed once
    notebook = student_notebook(alone, "", solved=True, checked=False)
    cells = tuple((f"cell {i}", c.cell_type, c.source) for i, c in enumerate(notebook.cells))
    for mark in mark_submission(alone, Submission("", "digest", cells), sandbox):
        assert mark.score == 1, mark


@by_chapter
def test_a_blank_notebook_gets_nothing_and_a_kind_word(chapter: str) -> None:
    key = key_of(chapter)
    said, space = run(student_notebook(key, ""))

    def missing(**_: Any) -> Any:
        raise Failure("exception", "NotImplementedError: ")

    for exercise, question in key.graded():
        assert f"{exercise.name}: not answered yet." in said
        with pytest.raises(NotImplementedError):
            space[exercise.name](**exercise.example)
        sandbox: Any = Answering(missing)
        found = mark_question(key, question, Submission("", "digest"), sandbox)
        assert found[:4] == (0, "not answered", "", "")


@by_chapter
def test_each_mistake_is_known_by_its_name(chapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the grader; in the student's notebook too, where the statement's numbers tell it from what
    is right."""
    key = key_of(chapter)
    for exercise, question in key.graded():
        example, name = exercise.example, exercise.name
        expected = key.expected(name, example)
        spec = notebooks.checks_for(question, example, expected, "00" * 8)
        monkeypatch.setattr(check_cell, "CHECKS", {name: spec})
        names = [mistake.name for mistake in question.mistakes]
        assert len(set(names)) == len(names), name
        for mistake in question.mistakes:
            sandbox: Any = Answering(mistake.answer)
            found = mark_question(key, question, Submission("", "digest"), sandbox)
            assert (found[0], found[2]) == (0, mistake.feedback), f"{name}: {mistake.name}"
            assert found[1].endswith(f": {mistake.name}"), f"{name}: {found}"
            assert re.search(r"[.?]$", mistake.feedback), mistake.feedback
            wrong = as_plain(mistake.answer(**example))
            if question.judge(example, expected, wrong) is not True:
                said = check_cell.verdict(name, wrong)
                assert said.lower().startswith(f"{mistake.name}? ".lower()), said
                assert said.endswith(mistake.feedback)


@pytest.mark.parametrize(
    ("chapter", "name", "answer"),
    [
        ("measured", "two_constants", lambda right: (np.float64(right[0]), np.float64(right[1]))),
        ("attention", "head_flops", lambda right: {k: np.int64(v) for k, v in right.items()}),
        ("attention", "chunked_pairs", np.array),
    ],
)
def test_numpys_numbers_are_as_good(
    chapter: str, name: str, answer: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(chapter)
    example = key.numbers(name, "")
    expected = key.expected(name, example)
    spec = notebooks.checks_for(key.questions[name], example, expected, "00" * 8)
    monkeypatch.setattr(check_cell, "CHECKS", {name: spec})
    assert check_cell.verdict(name, answer(expected)) is True


@pytest.mark.parametrize(
    ("chapter", "name", "answer", "words"),
    [
        ("lowerbounds", "tree_moves", "R0 R1 C2 D0 D1 W2", ""),
        ("lowerbounds", "tree_moves", "R1 R0 C2 W2", ""),  # another way is right as well
        ("lowerbounds", "tree_moves", "R0 R1 C2", "not written"),
        ("lowerbounds", "tree_moves", "R0 C2 W2", "Not legal"),
        ("lowerbounds", "tree_moves", "R0 R1 C2 D0 R0 W2", "4 I/Os"),
        ("lowerbounds", "tree_moves", 7, "text"),
        ("kvcache", "block_tables", [[0, 1, 2], [0, 3], [0, 4, 5, 6]], ""),
        ("kvcache", "block_tables", [[6, 1, 2], [6, 3], [6, 4, 5, 0]], ""),
        ("kvcache", "block_tables", [[0, 1, 2], [3, 4], [5, 6, 7, 8]], "shared tokens only"),
        ("kvcache", "block_tables", [[0, 1, 2], [0, 1], [0, 4, 5, 6]], "two places"),
        ("kvcache", "block_tables", [[0, 1, 2], [0, 3], [0, 4, 5, 7]], "gaps"),
        ("kvcache", "block_tables", [[0, 1], [0, 3], [0, 4, 5, 6]], "needs 3 blocks"),
        ("kvcache", "block_tables", [], "one list"),
        ("kvcache", "block_tables", [1, 2, 3], "one list"),
        ("sources", "nearest_convention", ["all pairs, a multiply-add is two", -0.0152], ""),
        ("sources", "nearest_convention", ["all pairs", 1.52], "per cent"),
        ("sources", "nearest_convention", ["none", 0.3], "nearer"),
        ("sources", "nearest_convention", 0.0152, "list"),
    ],
)
def test_an_answer_of_which_many_are_right(
    chapter: str, name: str, answer: Any, words: str
) -> None:
    key = key_of(chapter)
    example = key.numbers(name, "")
    found = key.questions[name].judge(example, key.expected(name, example), answer)
    assert found is True if not words else words in str(found)


MODEL = {"layers": 37, "d_model": 2432, "heads": 19, "d_ff": 6656}
MODEL |= {"tokens": 56_559_905_280, "share": 0.9966}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"share": 0.997}, ""),
        ({"layers": 38}, "not 20"),
        ({"d_model": 2400}, "128 times heads"),
        ({"d_ff": 6657}, "multiple of 256"),
        ({"tokens": 5e10}, "not 20"),
        ({"share": 0.5}, "share is not that"),
        ({"layers": 0}, "whole numbers"),
        ({"layers": 10**9}, "No model"),
    ],
)
def test_a_model_for_a_budget_is_judged_by_what_it_spends(
    change: dict[str, Any], words: str
) -> None:
    question = key_of("transformer").questions["model_for_budget"]
    example = {"budget": 10**21, "seq": 2048, "vocab": 32_000}
    found = question.judge(example, None, {**MODEL, **change})
    assert found is True if not words else words in str(found)
    for budget, word in ((10**20, "more than there is"), (10**22, "only")):
        assert word in str(question.judge({**example, "budget": budget}, None, MODEL))


def test_it_runs_alone_in_an_empty_folder(tmp_path: Path) -> None:
    """With costlib at hand and nothing of this repository in sight."""
    notebook = student_notebook(key_of("kvcache"), "")
    code = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    (tmp_path / "alone.py").write_text(code.replace("%pip", "pass  # "), "utf-8")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "costlib").symlink_to(ROOT / "costlib", target_is_directory=True)
    about = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    said = programs.run("alone.py", cwd=tmp_path, env=about)
    assert said.count("not answered yet.") == len(key_of("kvcache").graded())


@pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")
def test_the_grader_itself_gives_full_marks_and_names_a_mistake() -> None:
    key = key_of("matmul")
    notebook = student_notebook(key, "", solved=True)
    cells = tuple((f"cell {i}", c.cell_type, c.source) for i, c in enumerate(notebook.cells))
    slip = ("cell 99", "code", "def flops_of_macs(macs):\n    return macs")
    with Sandbox(["costlib", "numpy"], bubblewrap=bubblewrap_works()) as sandbox:
        marks = mark_submission(key, Submission("ada", "digest", cells), sandbox)
        assert all(mark.score == 1 for mark in marks), marks
        slipped = Submission("ada", "digest", (*cells, slip))
        found = mark_question(key, key.questions["flops_of_macs"], slipped, sandbox)
    assert found[:2] == (0, "wrong for the numbers of your notebook: a MAC as one FLOP")
