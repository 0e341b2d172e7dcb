"""The book's practice exercises: each is checked, and each likely mistake is known by its name."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from course.builder import check_cell, notebooks
from course.builder.answer_key import Key, load_checks
from course.builder.assignments import student_notebook
from course.builder.questions import as_plain
from course.builder.source import read_source
from course.grader.marking import mark_question, mark_submission
from course.grader.sandbox import Failure, Limits, Sandbox, bubblewrap_works, plain_value
from course.grader.submission import Submission
from paths import ROOT

PRACTICE = ROOT / "course" / "practice"
CHAPTERS = [
    "matmul", "attention", "transformer", "kvcache", "roofline", "iomodel", "sources", "measured",
]  # fmt: skip
by_chapter = pytest.mark.parametrize("chapter", CHAPTERS)
SLOW = {"model_for_budget"}  # a second for each call of its solution


@pytest.fixture(autouse=True)
def fast_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow hash is tested with the example course; here it would take half a minute."""
    monkeypatch.setattr(check_cell, "ROUNDS", 1)
    original = notebooks._check_code

    def fast(checks: dict[str, Any]) -> str:
        return original(checks).replace("ROUNDS = 40_000", "ROUNDS = 1")

    monkeypatch.setattr(notebooks, "_check_code", fast)


@cache
def key_of(chapter: str) -> Key:
    source = read_source(ROOT / "book" / f"{chapter}.md")
    code = (PRACTICE / f"{chapter}.checks.py").read_text("utf-8")
    return Key(chapter, source, load_checks(code, source), "secret", checks=code)


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


def run(notebook: Any) -> tuple[str, dict[str, Any]]:
    """What a notebook prints, and the names it leaves behind."""
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                code = re.sub(r"^( *)%pip.*$", r"\1pass", cell.source, flags=re.MULTILINE)
                exec(compile(code, "<notebook>", "exec"), space)
    return out.getvalue(), space


def test_every_chapter_with_exercises_is_here_and_every_exercise_is_checked() -> None:
    tagged = [
        path.stem
        for path in (ROOT / "book").glob("*.md")
        if "\n:tags: [hide-cell, solution]\n" in path.read_text("utf-8")
    ]
    assert sorted(tagged) == sorted(CHAPTERS)
    assert sorted(p.name for p in PRACTICE.glob("*.py")) == sorted(
        f"{c}.checks.py" for c in CHAPTERS
    )
    for chapter in CHAPTERS:
        key, named = key_of(chapter), key_of(chapter).checks
        assert [e.number for e, _ in key.graded()] == list(range(1, len(key.source.exercises) + 1))
        for exercise, question in key.graded():
            assert f'"{exercise.name}"' in named
            assert question.mistakes or question.public or question.compare
            assert len(key.cases(exercise.name, "")) > 1, f"{exercise.name} has no hidden case"


@by_chapter
def test_the_solved_notebook_gets_full_marks(chapter: str) -> None:
    key = key_of(chapter)
    said, space = run(student_notebook(key, "", solved=True))
    for exercise, question in key.graded():
        assert f"{exercise.name}: " + ("Noted" if question.compare else "right.") in said.replace(
            repr(key.expected(exercise.name, exercise.example)) + ". ", ""
        )
        for student in ("",) if exercise.name in SLOW else ("", "ada", "bob"):
            answer = key_answer(key, exercise.name) if exercise.name in SLOW else None
            sandbox: Any = Answering(answer or space[exercise.name])
            found = mark_question(key, question, Submission(student, "digest"), sandbox)
            assert found == (1, "", "", ""), f"{exercise.name} {student}"


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
        assert found == (0, "not answered", "", "")


@by_chapter
def test_each_mistake_is_known_by_its_name(chapter: str) -> None:
    key = key_of(chapter)
    for _, question in key.graded():
        names = [mistake.name for mistake in question.mistakes]
        assert len(set(names)) == len(names), question.name
        for mistake in question.mistakes:
            sandbox: Any = Answering(mistake.answer)
            found = mark_question(key, question, Submission("", "digest"), sandbox)
            assert found[0] == 0, f"{question.name}: {mistake.name}"
            assert found[1].endswith(f": {mistake.name}"), f"{question.name}: {found}"
            assert found[2] == mistake.feedback
            assert re.search(r"[.?]$", mistake.feedback), mistake.feedback


@by_chapter
def test_each_mistake_is_named_at_once(chapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the student's notebook too, where the statement's numbers tell it from what is right."""
    key = key_of(chapter)
    for exercise, question in key.graded():
        example = exercise.example
        expected = key.expected(exercise.name, example)
        spec = notebooks.checks_for(question, example, expected, "00" * 8)
        monkeypatch.setattr(check_cell, "CHECKS", {exercise.name: spec})
        for mistake in question.mistakes:
            wrong = as_plain(mistake.answer(**example))
            if question.judge(example, expected, wrong) is True:
                continue
            said = check_cell.verdict(exercise.name, wrong)
            assert said.lower().startswith(f"{mistake.name}? ".lower()), f"{mistake.name}: {said}"
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


@by_chapter
def test_a_student_notebook_holds_no_solution_no_answer_and_no_hidden_case(chapter: str) -> None:
    key = key_of(chapter)
    text = json.dumps(student_notebook(key, ""), ensure_ascii=False)
    statements = "".join(exercise.statement for exercise in key.source.exercises)
    given = key.source.setup + statements + "".join(key.public().values())
    for exercise, question in key.graded():
        for line in f"{exercise.body}\n{exercise.call}".splitlines():
            line = line.split("#")[0].strip()
            if len(line) > 12 and line not in given:
                assert json.dumps(line)[1:-1] not in text, line
        for mistake in question.mistakes:
            assert mistake.feedback not in text
        cases = [exercise.example] if exercise.name in SLOW else key.cases(exercise.name, "")
        for position, case in enumerate(cases):
            assert not position or json.dumps(case) not in text
            for number in long_numbers(key.expected(exercise.name, case)):
                assert number in given or number not in text, f"{exercise.name}: {number}"


def long_numbers(value: Any) -> list[str]:
    """The numbers of an answer that are too long to stand somewhere by chance."""
    if isinstance(value, (list, dict)):
        items = value.values() if isinstance(value, dict) else value
        return [number for item in items for number in long_numbers(item)]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return []
    return [text for text in (str(value), f"{value:,}") if sum(map(str.isdigit, text)) > 6]


@pytest.mark.parametrize(
    ("chapter", "name", "answer", "words"),
    [
        ("iomodel", "tree_moves", "R0 R1 C2 D0 D1 W2", ""),
        ("iomodel", "tree_moves", "R1 R0 C2 W2", ""),  # another way is right as well
        ("iomodel", "tree_moves", "R0 R1 C2", "not written"),
        ("iomodel", "tree_moves", "R0 C2 W2", "Not legal"),
        ("iomodel", "tree_moves", "R0 R1 C2 D0 R0 W2", "4 I/Os"),
        ("iomodel", "tree_moves", 7, "text"),
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


MODEL = {"layers": 37, "d_model": 2432, "heads": 19, "d_ff": 6656,
         "tokens": 56_559_905_280, "share": 0.9966}  # fmt: skip


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
    done = subprocess.run(
        [sys.executable, "alone.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("not answered yet.") == 8


@pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")
def test_the_grader_itself_gives_full_marks_and_names_a_mistake() -> None:
    key = key_of("matmul")
    notebook = student_notebook(key, "", solved=True)
    cells = tuple((f"cell {i}", c.cell_type, c.source) for i, c in enumerate(notebook.cells))
    slip = ("cell 99", "code", "def flops_of_macs(macs):\n    return macs")
    with Sandbox(["costlib", "numpy"], bubblewrap=bubblewrap_works()) as sandbox:
        marks = mark_submission(key, Submission("ada", "digest", cells), sandbox)
        assert [mark.score for mark in marks] == [1] * 7, marks
        slipped = Submission("ada", "digest", (*cells, slip))
        found = mark_question(key, key.questions["flops_of_macs"], slipped, sandbox)
    assert found[:2] == (0, "wrong for the numbers of your notebook: a MAC as one FLOP")
