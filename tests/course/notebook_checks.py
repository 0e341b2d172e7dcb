"""What every student notebook must be, whichever assignment it belongs to."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

from course.builder.answer_key import Key, load_checks
from course.builder.assignments import student_notebook
from course.builder.notebooks import STUB
from course.builder.source import read_source
from course.grader.batch import grade
from course.grader.marking import Graded
from course.grader.sandbox import Limits, bubblewrap_works
from paths import ROOT

EXAMPLE = ROOT / "course" / "example" / "week-1.md"
#: How a page begins that a test writes.
HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

"""
HALF = 'def half(x):\n    """Half of it."""\n    return x / 2\n\nprint(half(3))'


def cell(code: str, tags: str = "") -> str:
    """A cell of a page."""
    return f"```{{code-cell}} ipython3\n{tags}\n{code}\n```\n\n"


def solved(statement: str, code: str, answer: str = "") -> str:
    """An exercise of a page, with the cell that solves it; a figure's has a name."""
    named = f":answer: {answer}\n" if answer else ""
    return f"{statement}\n\n" + cell(code, f":tags: [hide-cell, solution]\n{named}")


def in_words(statement: str, answer: str, words: str) -> str:
    """An exercise that is answered by a text."""
    tags = f'{{"tags": ["solution"], "answer": "{answer}"}}'
    return f"{statement}\n\n+++ {tags}\n\n{words}\n\n+++\n\n"


def a_page(folder: Path, checks: str, *exercises: str, name: str = "week") -> Path:
    """A page with these exercises, and its checks, where they may be built."""
    (folder / f"{name}.checks.py").write_text(f"from course import *\n{checks}", "utf-8")
    (folder / f"{name}.md").write_text(f"{HEAD}# A week\n\n{''.join(exercises)}", "utf-8")
    return folder / f"{name}.md"


def blocks(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """What a file of Markdown has under each heading: titles, with what follows their colon, and
    with their blocks of code."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    text = Path(__file__).with_name(name).read_text("utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, *entries = re.split(r"^### ", section, flags=re.MULTILINE)
        for entry in entries:
            title, _, expected = entry.partition("\n")[0].partition(": ")
            code = re.findall(r"^```python\n(.*?)^```$", entry, re.MULTILINE | re.DOTALL)
            found.setdefault(heading.strip(), {})[title] = (expected, *code)
    return found


def graded_in(place: Path, key: str = "key", **options: Any) -> list[Graded]:
    """Grade what lies in a place, quietly, in the sandbox that there is."""
    folders, limits = (place / name for name in ("in", key, "out")), Limits(call=10, question=30)
    options = {"sandbox": bubblewrap_works(), "limits": limits, "say": lambda _: None, **options}
    return grade(*folders, **options)


def key_from(page: Path, checks: Path) -> Key:
    """The key of a page, as a build makes it, but with a secret that is known here."""
    source, code = read_source(page, whole=page == EXAMPLE), checks.read_text("utf-8")
    questions, rules = load_checks(code, source)
    return Key(page.stem, source, questions, "secret", ["ada", "bob"], checks=code, rules=rules)


def run(notebook: Any) -> tuple[str, dict[str, Any]]:
    """What a notebook prints, run in order as plain Python, and the names it leaves behind."""
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                code = re.sub(r"^( *)%pip.*$", r"\1pass", cell.source, flags=re.MULTILINE)
                exec(compile(code, "<notebook>", "exec"), space)
    return out.getvalue(), space


def is_the_solved_one_with_lines_removed(key: Key, student: str) -> None:
    """Cell by cell; the one line that is added says that nothing is there yet."""
    blank = student_notebook(key, student, checked=False)
    solved = student_notebook(key, student, solved=True, checked=False)
    for stub, answer in zip(blank.cells, solved.cells, strict=True):
        assert stub.cell_type == answer.cell_type
        lines, kept = iter(answer.source.splitlines()), stub.source.splitlines()
        if "exercise" in stub.metadata:
            assert kept.pop() == STUB
        assert all(line in lines for line in kept)  # in this order: `in` uses the iterator up
        if "exercise" not in stub.metadata:
            assert stub.source == answer.source


def holds_no_answer(key: Key, student: str) -> None:
    """No line of a solution, no long expected number, no hidden case, no words for a mistake."""
    text = json.dumps(student_notebook(key, student), ensure_ascii=False)
    given = key.source.setup + "".join(e.statement for e in key.source.exercises)
    given += "".join(key.public().values())
    for exercise, question in key.graded():
        for line in f"{exercise.body}\n{exercise.call}".splitlines():
            line = line.split("#")[0].strip()
            if len(line) > 12 and line not in given:
                assert json.dumps(line)[1:-1] not in text, line
        assert question.name in text
        for mistake in question.mistakes:
            assert mistake.feedback not in text
        cases = key.cases(exercise.name, student)
        assert (_as_written(cases[0]) in text) == (question.kind == "function" or not cases[0])
        for case in cases[1:]:
            assert case == cases[0] or _as_written(case) not in text, f"{exercise.name}: {case}"
        for case in cases:
            for number in _long_numbers(key.expected(exercise.name, case)):
                assert number in given or number not in text, f"{exercise.name}: {number}"


def _as_written(case: dict[str, Any]) -> str:
    """A case as the checks of a notebook would hold it, in the notebook's own JSON."""
    return json.dumps(json.dumps(case)[1:-1])[1:-1]


def _long_numbers(value: Any) -> list[str]:
    """The numbers of an answer that are too long to stand somewhere by chance."""
    if isinstance(value, (list, dict)):
        items = value.values() if isinstance(value, dict) else value
        return [number for item in items for number in _long_numbers(item)]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return []
    return [text for text in (str(value), f"{value:,}") if sum(map(str.isdigit, text)) > 6]
