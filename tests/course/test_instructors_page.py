"""The instructors' page: its commands, typed as they are printed there, from a clean folder."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest

from course.grader.sandbox import bubblewrap_works
from paths import ROOT

PAGE = (ROOT / "book" / "instructors.md").read_text("utf-8")
PRINTED = re.findall(r"^(?:make (?:course|samples|grade) .*)$", PAGE, re.MULTILINE)
INLINE = re.findall(r"`(make gradescope [^`]+)`", PAGE)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")


def typed(command: str, *more: str, expect: int = 0) -> str:
    """Run one printed command in the repository; what it says."""
    done = subprocess.run(
        [*shlex.split(command), *more], cwd=ROOT, capture_output=True, text=True, check=False
    )
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
