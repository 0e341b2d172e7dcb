"""The instructors' page: its commands, typed as they are printed there, from a clean folder."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import nbformat
import pytest

from paths import ROOT

PAGE = (ROOT / "book" / "instructors.md").read_text("utf-8")
PRINTED = re.findall(r"^(?:make (?:course|grade) .*)$", PAGE, re.MULTILINE)
INLINE = re.findall(r"`(make gradescope [^`]+)`", PAGE)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")


def typed(command: str, *more: str) -> str:
    """Run one printed command in the repository; what it says."""
    done = subprocess.run(
        [*shlex.split(command), *more], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_from_source_to_grades_with_the_printed_commands() -> None:
    from course.builder.answer_key import load_key
    from course.builder.assignments import student_notebook
    from course.grader.sandbox import bubblewrap_works

    for folder in ("week", "inbox", "graded"):
        shutil.rmtree(ROOT / "_build" / folder, ignore_errors=True)
    build, grade = PRINTED
    typed(build)
    names = ["student-01", "student-02", "student-03"]
    inbox, key = ROOT / "_build" / "inbox", load_key(ROOT / "_build" / "week" / "key" / "week-1")
    inbox.mkdir()
    for name in names[:2]:
        nbformat.write(student_notebook(key, name, solved=True), inbox / f"{name}.ipynb")
    handed_out = ROOT / "_build" / "week" / "student" / names[2] / "week-1.ipynb"
    shutil.copy(handed_out, inbox / f"{names[2]}.ipynb")  # handed in as it was given out
    without = [] if bubblewrap_works() else ["ARGS=--no-sandbox"]
    typed(grade, *without)
    with open(ROOT / "_build" / "graded" / "grades.csv", encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert [rows[name]["total"] for name in names] == ["9", "9", "0"]
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
