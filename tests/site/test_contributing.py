"""What CONTRIBUTING and other pages print: their commands exist, and examples work as copied."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import test_sentences

from costlib.layers.matmul import matmul
from course.builder.assignments import build_one
from course.builder.questions import as_plain
from in_node import answers
from paths import ROOT
from tools.pages import explorers, live

PAGES = ("CONTRIBUTING.md", "README.md", "book/instructors.md", "book/sweeps.md", "book/tested.md")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
#: What make is told and its tests ask, not the Makefile.
OF_TESTS = {"SEED", "EVERYTHING", "BOOK_REPOSITORY"}


@cache
def commands(page: str) -> list[str]:
    """What a page tells people to type: lines of a block without a language, and words in code."""
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.split("#")[0] for block in blocks for line in block.splitlines()]
    return [
        *lines,
        *re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_make_knows_its_targets_and_their_variables(page: str) -> None:
    found = [
        re.fullmatch(r"(?:(\w+)=\S+ )?make ([a-z-]+)(.*)", each.strip()) for each in commands(page)
    ]
    made = [match for match in found if match]
    assert made, "the page prints no command"
    for match in made:
        rules = re.findall(rf"^{match[2]}:.*\n(?:\t.*\n|  .*\n)*", MAKEFILE, re.MULTILINE)
        assert rules, match[0]
        asked = {match[1], *re.findall(r"\b([A-Z_]+)=", match[3])} - {None, *OF_TESTS}
        assert [name for name in asked if f"$({name})" not in "".join(rules)] == [], match[0]


@pytest.mark.parametrize("page", PAGES)
def test_programs_and_files_that_are_named_exist(page: str) -> None:
    for command in commands(page):
        if module := re.search(r"python -m ([\w.]+)", command):
            assert importlib.util.find_spec(module[1]), command
        for path in re.findall(
            r"\b(?:tests|tools|course|costlib|costfigures|book)/[\w/.-]+", command
        ):
            assert "NAME" in path or "square" in path or (ROOT / path).exists(), command


def printed(section: str) -> list[str]:
    """The examples of a section of CONTRIBUTING, in their order."""
    text = re.split(rf"^## {section}\n", CONTRIBUTING, flags=re.MULTILINE)[1].split("\n## ")[0]
    return [
        code for _, code in re.findall(r"^(`{3,4})\w+\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL)
    ]


def test_the_prediction_is_one() -> None:
    [box] = test_sentences.BOXES.findall(printed("A prediction")[0])
    box = re.sub(r"^> ?", "", box, flags=re.MULTILINE)
    test_sentences.test_a_prediction_is_answered_in_its_box(box)


def test_the_number_moves() -> None:
    [comment] = printed("A number that moves")
    spans = re.findall(r"<span.*?</span>", CONTRIBUTING)
    page = live.of(f'{spans[0]} <span data-live="dtype">bf16</span>\n\n{comment.rstrip()}')
    assert page
    [size, dtype] = page.moved
    work, seconds, bound = page.shown
    rate = dict(dtype.stops)["bf16"]
    assert (size.stops[0], size.stops[-1], live.number(spans[0][23:])) == (16, 65536, 4096)
    assert work.value(size=4096) == 2 * 4096**3 == seconds.value(size=4096, dtype=rate) * rate
    assert bound.words == ("memory", "arithmetic")


def test_the_family_is_the_one_of_the_library() -> None:
    [code] = printed("A family")
    assert code in (ROOT / "costlib/model/families/decoders.py").read_text("utf-8")


def test_the_explorer_computes_and_stands_in(tmp_path: Path) -> None:
    script, module = printed("An explorer")
    shutil.copy(explorers.FOLDER.parent / "numbers.js", tmp_path)
    (tmp_path / "square.js").write_text(script, "utf-8")
    (tmp_path / "generated").mkdir()
    (tmp_path / "generated" / "of_square.js").write_text(explorers.asked(script), "utf-8")
    body = "[page.compute(state), page.charts(state, page.compute(state))[0].title, page.tries]"
    [[flops, title, tries]] = answers(tmp_path, {"page": "square.js"}, body, [{"n": 1024}])
    assert flops == matmul(1024, 1024, 1024).flops
    assert title == "2.147 GFLOP for 1024 rows"
    assert len(tries) == 3
    space: dict[str, Any] = {}
    exec(compile(module, "costfigures/explorers/matmul.py", "exec"), space)
    made = space["square"]()
    assert made.name == "square"
    assert made.rows[1] == ["1,024", f"{flops:,}"]


def test_the_exercise_is_built_and_graded(tmp_path: Path) -> None:
    statement, question, answer, slips = printed("An exercise")
    head = (ROOT / "course/example/week-1.md").read_text("utf-8").split("\n# ")[0]
    (tmp_path / "own.md").write_text(f"{head}\n# A page\n\n{statement}", "utf-8")
    checks = f"from course import Mistake, Question\n\nQUESTIONS = [{question.rstrip()}]"
    (tmp_path / "own.checks.py").write_text(checks, "utf-8")
    key = build_one(tmp_path / "own.md", tmp_path / "out", ["ada"])
    [(exercise, graded)] = key.graded()
    [mistake] = graded.mistakes
    page = (ROOT / "book" / "matmul.md").read_text("utf-8")
    assert f"**{exercise.number}. Project" in page, "its number is the project's until it is there"
    assert exercise.name not in page
    [(name, changes)] = ast.literal_eval(f"{{{slips}}}")[exercise.name].items()
    old, new = changes[0].split(" -> ")
    code = ast.unparse(ast.parse(exercise.function))
    assert (mistake.name, code.count(old)) == (name, 1)
    space: dict[str, Any] = {}
    exec(code.replace(old, new), space)
    right = ast.literal_eval(f"{{{answer}}}".replace("2**28", str(2**28)))
    assert right == {exercise.name: key.expected(exercise.name, exercise.example)}
    for case in key.cases(exercise.name, "ada"):
        assert as_plain(mistake.answer(**case)) == space[exercise.name](**case)
