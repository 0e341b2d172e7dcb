"""Whose is which file: what systems and people make of names, and what is decided in the open."""

from __future__ import annotations

import json
import os
import subprocess
import tracemalloc
import unicodedata
from pathlib import Path

import pytest

from course.builder.roster import file_name, read_class
from course.builder.rules import read_time
from course.grader.exports import times_from
from course.grader.inbox import Inbox, find
from paths import DATA

ROSTER = ["ada", "bob@example.org", "Zo\u00eb Quine", "van Gogh", "u104"]
ALIASES = {"ada": ["1001", "Ada Lovelace"], "u104": ["Dan Dean", "dan@example.org"]}


def put(folder: Path, name: str, *, student: str = "", assignment: str = "w1", at: int = 0) -> Path:
    """A notebook that says for whom it was made; or, by its ending, some other file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"course": {"student": student, "assignment": assignment}}
    path.write_text(json.dumps({"cells": [], "metadata": about}), "utf-8")
    os.utime(path, (1e9 + at, 1e9 + at))
    return path


def look(folder: Path, **options: object) -> Inbox:
    return find(folder, "w1", ROSTER, ALIASES, **options)  # type: ignore[arg-type]


def owners(inbox: Inbox, folder: Path) -> dict[str, str]:
    return {one.path.relative_to(folder).as_posix(): one.student for one in inbox.handed}


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("ada.ipynb", "ada"),
        ("ADA.ipynb", "ada"),
        ("Ada.IPYNB", "ada"),
        ("ada (1).ipynb", "ada"),
        ("ada-2.ipynb", "ada"),
        ("ada/week-1.ipynb", "ada"),
        ("1001.ipynb", "ada"),
        ("Ada Lovelace_12345_assignsubmission_file_/week-1.ipynb", "ada"),  # Moodle
        ("lovelaceada_1001_88412_week-1.ipynb", "ada"),  # Canvas
        ("BOB@example.org.ipynb", "bob@example.org"),
        (unicodedata.normalize("NFD", "Zo\u00eb Quine.ipynb"), "Zo\u00eb Quine"),
        (f"{file_name('van Gogh')}/w1.ipynb", "van Gogh"),  # the folder as it was built
        ("dan@example.org/w1.ipynb", "u104"),
        ("Dean_LATE_u104_9_w1-3.ipynb", "u104"),
        ("vangogh_LATE_7_8_w1.ipynb", "van Gogh"),  # Canvas: letters alone
        ("adalovelace_7_8_bob@example.org.ipynb", "ada"),  # what follows was the student's choice
        ("Ada Lovelace_7_assignsubmission_file_/u104.ipynb", "ada"),
        ("Group 1-Ada Lovelace_7_assignsubmission_file_/w1.ipynb", "ada"),
    ],
)
def test_a_name_is_known_in_every_spelling(tmp_path: Path, name: str, student: str) -> None:
    put(tmp_path, name)
    inbox = look(tmp_path)
    assert owners(inbox, tmp_path) == {name: student}
    assert inbox.strangers == []
    assert set(inbox.missing) == set(ROSTER) - {student}


#: Files, each with whose its notebook says it is, in the order of their hours; then whose they are,
#: and flags.
MORE = "also says it is theirs: "
FOUND: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str]]] = {
    "a name that says nothing": (
        {"homework final.ipynb": "ada"},
        {"homework final.ipynb": "ada"},
        {},
    ),
    # who hands in another's notebook is graded as who they are, and flagged when it is graded
    "a name counts more than what a notebook says": (
        {"u104.ipynb": "ada"},
        {"u104.ipynb": "u104"},
        {},
    ),
    "nobody takes a student's place by saying so": (
        {"ada.ipynb": "ada", "mallory.ipynb": "ada"},
        {"ada.ipynb": "ada", "mallory.ipynb": "mallory"},
        {"ada": f"{MORE}mallory.ipynb"},
    ),
    "another's id in a name takes nothing": (
        {"ada.ipynb": "ada", "mallory_1_2_ada.ipynb": "ada"},
        {"ada.ipynb": "ada"},
        {"ada": f"{MORE}mallory_1_2_ada.ipynb"},
    ),
    "two that say the same": (
        {"x.ipynb": "ada", "y.ipynb": "ada"},
        {"y.ipynb": "ada", "x.ipynb": "x"},
        {"ada": f"{MORE}x.ipynb"},
    ),
    "of two of the assignment the newer counts": (
        {"ada (1).ipynb": "", "ada.ipynb": ""},
        {"ada.ipynb": "ada"},
        {},
    ),
}


@pytest.mark.parametrize("which", FOUND)
def test_whose_a_file_is(tmp_path: Path, which: str) -> None:
    files, owned, flags = FOUND[which]
    for at, (name, student) in enumerate(files.items()):
        put(tmp_path, name, student=student, at=at)
    inbox = look(tmp_path)
    assert (owners(inbox, tmp_path), inbox.flags) == (owned, flags)
    assert inbox.strangers == sorted(set(owned.values()) - {*ROSTER})
    by_notebook = {"homework final.ipynb", "y.ipynb"} & {*owned}  # whose names say nothing
    assert ("by what it says" in str(inbox.notes)) == bool(by_notebook)
    told = inbox.report(tmp_path)
    assert all(f"- `{student}`: `{flag}`" in told for student, flag in flags.items())


def test_an_id_is_not_lost_to_somebody_who_calls_themselves_so(tmp_path: Path) -> None:
    put(tmp_path, "ada.ipynb")
    inbox = find(tmp_path, "w1", ["ada", "eve"], {"eve": ["ada", "Ada"]})
    assert owners(inbox, tmp_path) == {"ada.ipynb": "ada"}


def test_a_systems_number_that_is_somebodys_id_by_chance(tmp_path: Path) -> None:
    """Moodle numbers who takes part: that number stands where an id might."""
    put(tmp_path, "Ada_1002_assignsubmission_file_/w1.ipynb", student="1001")
    put(tmp_path, "1002.ipynb", student="1002")
    handed = find(tmp_path, "w1", ["1001", "1002"]).handed
    found = {one.path.parts[-1]: one.student for one in handed}
    assert found == {"w1.ipynb": "1001", "1002.ipynb": "1002"}


@pytest.mark.parametrize("late", ["", "LATE_"])
def test_of_namesakes_the_systems_number_counts_not_a_copied_notebook(
    tmp_path: Path, late: str
) -> None:
    """Canvas's name is two people's, its number one's: a copy of the other's changes nothing."""
    name = f"lovelaceada_{late}1001_88_w1.ipynb"
    put(tmp_path, name, student="u2")
    namesakes = {"u1": ["1001", "Lovelace, Ada"], "u2": ["1002", "Lovelace, Ada"]}
    inbox = find(tmp_path, "w1", ["u1", "u2"], namesakes)
    assert owners(inbox, tmp_path) == {name: "u1"}


def test_what_a_system_adds_to_an_export_is_nobodys_work(tmp_path: Path) -> None:
    put(tmp_path, "ada.ipynb")
    for name in ("submission_metadata.yml", "readme.txt", "grades.csv"):
        (tmp_path / name).write_text("---\n", "utf-8")
    inbox = look(tmp_path)
    assert inbox.strangers == []
    assert "`readme.txt` is no notebook, and nobody's" in inbox.notes


@pytest.mark.skipif(os.name == "nt", reason="folders have no descriptors there")
def test_folders_without_end_cost_nobody_anything(tmp_path: Path) -> None:
    put(tmp_path, "ada.ipynb")
    here = tmp_path / "u104"
    put(here, "w1.ipynb")
    descriptor = os.open(here, os.O_RDONLY)
    for _ in range(1500):  # one by one: the path is longer than a path may be
        os.mkdir("dd", dir_fd=descriptor)
        inner = os.open("dd", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    try:
        inbox = look(tmp_path)
        assert owners(inbox, tmp_path) == {"ada.ipynb": "ada", "u104/w1.ipynb": "u104"}
        (note,) = [note for note in inbox.notes if "was not looked into" in note]
        assert note.startswith("`u104/dd/dd/")
    finally:
        subprocess.run(["rm", "-rf", str(here)], check=True)


def test_a_notebook_a_hundred_folders_deep_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "ada" / "/".join("d" * 100)).mkdir(parents=True)
    put(tmp_path, f"ada/{'/'.join('d' * 100)}/w1.ipynb")
    assert list(owners(look(tmp_path), tmp_path).values()) == ["ada"]


def test_a_class_is_found_without_holding_its_notebooks(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": "#" * 3_000_000}
    for number in range(20):
        (tmp_path / f"{number}.ipynb").write_text(json.dumps({"cells": [cell]}), "utf-8")
    tracemalloc.start()
    find(tmp_path, "w1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6  # one file at a time, in a few forms


def test_a_name_that_two_share_belongs_to_neither(tmp_path: Path) -> None:
    put(tmp_path, "Kim Lee.ipynb")
    inbox = find(tmp_path, "w1", ["a1", "a2"], {"a1": ["Kim Lee"], "a2": ["Kim Lee"]})
    assert inbox.strangers == ["Kim Lee"]
    assert inbox.missing == ["a1", "a2"]


@pytest.mark.parametrize("other", ["timestamp.txt", "notes.txt", "plot.png", "week-2.ipynb"])
def test_only_notebooks_count_and_the_assignments_own_first(tmp_path: Path, other: str) -> None:
    put(tmp_path, "ada/w1.ipynb", student="ada", at=1)
    newer = put(tmp_path, f"ada/{other}", student="ada", assignment="w2", at=9)
    if not other.endswith("ipynb"):
        newer.write_bytes(b"2026-11-22 10:00")
        os.utime(newer, (2e9, 2e9))
    inbox = look(tmp_path)
    assert owners(inbox, tmp_path) == {"ada/w1.ipynb": "ada"}
    assert f"not `ada/{other}`" in inbox.notes[0]


def test_very_many_files_are_told_in_a_line(tmp_path: Path) -> None:
    for number in range(300):
        put(tmp_path, f"ada/{number}.ipynb", at=number)
    assert look(tmp_path).notes[0].endswith("`ada/294.ipynb` and 294 more")


def test_what_is_no_notebook_is_still_somebodys(tmp_path: Path) -> None:
    (tmp_path / "ada.zip").write_bytes(b"PK\x03\x04")
    inbox = look(tmp_path)
    assert owners(inbox, tmp_path) == {"ada.zip": "ada"}
    assert "ada" not in inbox.missing
    assert inbox.flags["ada"].startswith("cannot be read: ")


def test_without_a_roster_a_files_name_is_the_id(tmp_path: Path) -> None:
    for name in ("ada.ipynb", "bob/hw.ipynb", "cleo_123_hw.zip"):
        put(tmp_path, name)
    for name in (".hidden", "__MACOSX/x"):
        put(tmp_path, name)
    assert [one.student for one in find(tmp_path, "w1").handed] == ["ada", "bob", "cleo_123_hw"]
    found = find(tmp_path, "w1", pattern=r"_(\d+)_")
    assert [one.student for one in found.handed] == ["123", "ada", "bob"]
    assert found.strangers == found.missing == []


def test_an_id_that_a_pattern_finds_is_looked_up_too(tmp_path: Path) -> None:
    put(tmp_path, "export/x_1001_y.ipynb")
    assert owners(look(tmp_path, pattern=r"_(\d+)_"), tmp_path) == {"export/x_1001_y.ipynb": "ada"}


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_name_that_is_no_text_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"Zo\xeb.ipynb")).write_text("{}", "utf-8")
    inbox = look(tmp_path)
    assert len(inbox.strangers) == 1
    inbox.report(tmp_path).encode("utf-8")


def test_the_report_says_who_is_missing_and_who_is_strange(tmp_path: Path) -> None:
    put(tmp_path, "ada.ipynb")
    put(tmp_path, "eve`|.ipynb")
    told = look(tmp_path).report(tmp_path)
    assert "Nothing came from: `bob@example.org`, `Zo\u00eb Quine`, `van Gogh`, `u104`." in told
    assert "Strangers: `eve'/`." in told
    assert "| `ada` | `ada.ipynb` | its name |" in told


# What systems write beside the files.

GRADESCOPE = (DATA / "rosters" / "submission_metadata.yml").read_text("utf-8")


@pytest.mark.parametrize("export", ["", "assignment_9_export/"])
def test_gradescope_says_whose_its_folders_are(tmp_path: Path, export: str) -> None:
    put(tmp_path, f"{export}submission_71/week 1.ipynb", student="u104")
    put(tmp_path, f"{export}submission_72/homework.ipynb")
    (tmp_path / export / "submission_metadata.yml").write_text(GRADESCOPE, "utf-8")
    inbox = look(tmp_path)
    assert {one.student: one.time[:10] for one in inbox.handed} == {
        "ada": "2026-11-30",  # of two who hand in together, both are graded
        "bob@example.org": "2026-11-29",
        "u104": "2026-11-30",
    }
    assert read_time(inbox.handed[0].time) == read_time("2026-11-30 12:06Z")
    assert inbox.strangers == []


def test_nobody_says_whose_a_folder_is_but_the_system(tmp_path: Path) -> None:
    put(tmp_path, "bob@example.org/w1.ipynb")
    (tmp_path / "u104").mkdir()
    stolen = GRADESCOPE.replace("submission_71", "bob@example.org")
    (tmp_path / "u104" / "submission_metadata.yml").write_text(stolen, "utf-8")
    (tmp_path / "u104" / "timestamp.txt").write_text("2001-01-01 00:00 UTC", "utf-8")
    put(tmp_path, "u104/w1.ipynb")
    inbox = look(tmp_path)
    assert owners(inbox, tmp_path) == {
        "bob@example.org/w1.ipynb": "bob@example.org",
        "u104/w1.ipynb": "u104",
    }
    assert [one.time for one in inbox.handed] == ["", ""]
    told = times_from("nbgrader", str)
    assert told
    assert told(tmp_path / "u104" / "w1.ipynb", "u104") == "2001-01-01 00:00 UTC"
    assert told(tmp_path / "bob@example.org" / "w1.ipynb", "bob@example.org") is None


def test_canvas_says_late_and_not_how_late(tmp_path: Path) -> None:
    put(tmp_path, "lovelaceada_LATE_1001_88_w1.ipynb")
    put(tmp_path, "deandan_u104_89_LATE_1.ipynb")
    found = {one.student: one.said_late for one in look(tmp_path).handed}
    assert found == {"ada": True, "u104": False}


def test_the_first_the_last_or_all_of_the_assignment(tmp_path: Path) -> None:
    for at, name in enumerate(("ada.ipynb", "ada (1).ipynb", "ada-2.ipynb")):
        put(tmp_path, name, at=at)
    put(tmp_path, "ada-3.ipynb", assignment="w2", at=9)
    for keep, chosen, also in (
        ("last", "ada-2.ipynb", ()),
        ("first", "ada.ipynb", ()),
        ("best", "ada-2.ipynb", ("ada (1).ipynb", "ada.ipynb")),
    ):
        inbox = look(tmp_path, keep=keep)
        (one,) = inbox.handed
        assert (one.path.name, tuple(other.path.name for other in one.also)) == (chosen, also)
        page = inbox.report(tmp_path)
        assert all(f"| `ada` | `{name}` | its name |" in page for name in (chosen, *also))
        assert page.startswith("# What was handed in: notebooks of 1 student\n")
    assert inbox.notes == [
        "`ada`: the best of `ada-2.ipynb`, `ada (1).ipynb`, `ada.ipynb` counts, not `ada-3.ipynb`"
    ]


def test_of_many_the_best_of_the_newest_counts_and_the_others_are_named(tmp_path: Path) -> None:
    for at in range(7):
        put(tmp_path, f"ada/{at}.ipynb", at=at)
    inbox = look(tmp_path, keep="best")
    assert len(inbox.handed[0].also) == 4
    assert inbox.notes[0].endswith("`ada/2.ipynb` counts, not `ada/1.ipynb`, `ada/0.ipynb`")


@pytest.mark.parametrize(
    "name",
    [
        "ada-3_week-1.ipynb",
        "week-1_ada-3.ipynb",
        "ada-3_LATE_7_8_week-1-2.ipynb",
        "ada-3 (1)_w.ipynb",
    ],
)
def test_an_id_may_end_as_a_second_copy_does(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"cells": []}', "utf-8")
    (one,) = find(tmp_path, "week-1", ["ada", "ada-3", "bob-3"]).handed
    assert (one.student, one.by_name) == ("ada-3", True)


def test_a_name_in_one_column_is_known_in_every_order(tmp_path: Path) -> None:
    """Canvas writes the last name first; whose is first in a roster's name, nobody says."""
    (tmp_path / "roster.csv").write_text(
        "student,name\nu1,Ada Lovelace\nu2,Dora van Gogh\nu3,Kim Lee\nu4,Lee Kim\n", "utf-8"
    )
    people = read_class(tmp_path / "roster.csv").names
    folder = tmp_path / "in"
    folder.mkdir()
    for name, claims in (
        ("lovelaceada_1_2_w.ipynb", ""),
        ("vangoghdora_1_3_w.ipynb", ""),
        ("kimlee_1_4_w.ipynb", "u4"),
    ):
        about = {"course": {"student": claims, "assignment": "w"}}
        (folder / name).write_text(json.dumps({"cells": [], "metadata": about}), "utf-8")
    found = find(folder, "w", list(people), people)
    whose = {one.student: one.path.name[:6] for one in found.handed}
    assert whose == {"u1": "lovela", "u2": "vangog", "u4": "kimlee"}, "of two the notebook decides"
