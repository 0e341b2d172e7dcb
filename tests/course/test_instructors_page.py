"""The instructors' page: its commands, typed as they are printed there, from a clean folder."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import sys
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import nbformat
import pytest
from notebook_checks import EXAMPLE, HEAD

from course import Deadline
from course.builder.assignments import build_one, open_key, student_notebook
from course.builder.notebooks import checks_for
from course.builder.questions import Question
from course.grader.batch import grade
from course.grader.sandbox import bubblewrap_works
from paths import ROOT
from programs import ended, run

PAGE = (ROOT / "book" / "instructors.md").read_text("utf-8")
BLOCKS = re.findall(r"^(`{3,4})(\w*)\n(.*?)^\1$", PAGE, re.MULTILINE | re.DOTALL)
PRINTED = re.findall(r"^(?:make (?:course|samples|grade) .*)$", PAGE, re.MULTILINE)
INLINE = re.findall(r"`(make gradescope [^`]+)`", PAGE)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")


def typed(command: str, *more: str, expect: int = 0) -> str:
    """Run one printed command in the repository; what it says. The environment is this Python's,
    which make would make anew for another."""
    python = shlex.quote(getattr(sys, "_base_executable", sys.executable))
    done = ended(*shlex.split(command), *more, env={**os.environ, "PYTHON": python})
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_same_commands_stand_wherever_a_course_begins() -> None:
    assert [command.split()[1] for command in PRINTED] == ["course", "samples", "grade"]
    for place in ("README.md", "course/example/README.md"):
        assert "\n".join(PRINTED) in (ROOT / place).read_text("utf-8"), place


def test_from_source_to_grades_with_the_printed_commands() -> None:
    for folder in ("week", "inbox", "graded"):
        shutil.rmtree(ROOT / "_build" / folder, ignore_errors=True)
    build, samples, grade = PRINTED
    names = ["student-01", "student-02", "student-03"]
    inbox = ROOT / "_build" / "inbox"
    typed(build)
    typed(samples)
    typed(samples)  # its own work it may replace
    handed_out = ROOT / "_build" / "week" / "student" / names[2] / "week-1.ipynb"
    shutil.copy(handed_out, inbox / f"{names[2]}.ipynb")  # handed in as it was given out
    assert "student-03.ipynb was not made here" in typed(samples, expect=2)
    typed(grade, *([] if bubblewrap_works() else ["ARGS=--no-sandbox"]))
    with open(ROOT / "_build" / "graded" / "grades.csv", encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert [rows[name]["total"] for name in names] == ["9", "8", "0"]
    assert "forgot the 2" in rows[names[1]]["reason"]
    assert "not answered" in rows[names[2]]["reason"]
    for left in ("summary.md", "canvas.csv", "moodle.csv", f"feedback/{names[0]}.md"):
        assert (ROOT / "_build" / "graded" / left).stat().st_size > 0


def test_the_autograder_is_made_with_the_printed_command() -> None:
    typed(PRINTED[0])
    typed(INLINE[0])
    with zipfile.ZipFile(ROOT / "_build" / "autograder.zip") as archive:
        assert {"setup.sh", "run_autograder"} <= set(archive.namelist())


def test_what_the_page_names_exists() -> None:
    named = re.findall(r"`(course/[\w/.-]+)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.usefixtures("fast")
def test_the_exercises_that_the_page_shows_are_built_and_graded(tmp_path: Path) -> None:
    """A number, a function, a text and a figure, by copying what stands there; and the rules."""
    pages = [code for _, kind, code in BLOCKS if (kind == "" and "**1." in code) or "**2." in code]
    pages += [code for _, kind, code in BLOCKS if "+++" in code]
    checks = [code for _, kind, code in BLOCKS if kind == "python"]
    assert (len(pages), len(checks)) == (3, 4)
    rules = next(code for code in checks if "DEADLINE" in code)
    others = "\n".join(code for code in checks if code != rules)
    (tmp_path / "own.md").write_text(f"{HEAD}# A week of one's own\n\n" + "\n".join(pages), "utf-8")
    pool = others.replace('"rate_figure"', '"rate_figure", pool="bandwidth"')
    (tmp_path / "own.checks.py").write_text(f"{pool}\n{rules}", "utf-8")
    key = build_one(tmp_path / "own.md", tmp_path, ["ada"])
    assert [(q.kind, q.points) for _, q in key.graded("ada")] == [
        ("number", 2),
        ("function", 3),
        ("text", 3),
        ("figure", 2),
    ]
    assert key.rules.keep == "best"
    (tmp_path / "in").mkdir()
    notebook = student_notebook(key, "ada", solved=True)
    nbformat.write(notebook, tmp_path / "in" / "ada.ipynb")
    folders = (tmp_path / "in", tmp_path / "key" / "own", tmp_path / "out")
    (ada,) = grade(*folders, sandbox=bubblewrap_works(), say=lambda _: None)
    assert (ada.total, ada.waiting) == (5, 5)


def test_every_option_and_every_word_stands_on_the_page() -> None:
    words = [f"{field.name}" for of in (Question, Deadline) for field in fields(of)]
    words += ["Criterion", "committed", "POOLS", "KEEP", '"first"', "CHECK=1", "remove-cell"]
    missing = [w for w in words if w not in PAGE and w not in ("name", "until")]
    for command in ("build", "grade"):
        said = run("-m", "course", command, "--help")
        missing += [o for o in re.findall(r"(?<=[ \[])--[a-z-]+", said) if o not in PAGE]
    # ROSTER, CHECK, practice, WHICH
    by_make = {"--help", "--students", "--checks", "--exercises", "--check", "--only"}
    assert set(missing) <= by_make, missing


def test_what_the_page_says_of_fingerprints_is_what_is_measured() -> None:
    from tools.bench import fingerprints

    key = open_key(EXAMPLE, whole=True)
    question = key.questions["product_flops"]
    numbers = key.numbers("product_flops", "ada")
    right = key.expected("product_flops", numbers)
    assert "right" not in checks_for(question, numbers, right, "00" * 8, secret=True)
    shown = replace(question, show=True)
    spec = checks_for(shown, numbers, right, "00" * 8, 1, secret=True)
    found = fingerprints.tries(spec, fingerprints.formulas(numbers.values()))
    assert found
    assert found < 500, "a few hundred tries"
