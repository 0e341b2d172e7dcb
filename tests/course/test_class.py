"""A class: canary, journal, reports, and the other systems' formats."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import sys
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import nbformat
import pytest
from notebook_checks import EXAMPLE, HALF, a_page, graded_in, in_words, solved

from course.__main__ import main
from course.builder.answer_key import Key, load_key
from course.builder.assignments import build_one
from course.builder.roster import Roster, file_name, read_class
from course.builder.samples import hand_in, write_samples
from course.grader import batch
from course.grader import sandbox as sandbox_module
from course.grader.batch import CanaryError, canary, grade
from course.grader.gradebook import write_gradebook
from course.grader.gradescope import write_zip
from course.grader.journal import Journal
from course.grader.marking import Graded, Mark
from course.grader.report import summary, write_reports
from course.grader.sandbox import Limits, bubblewrap_works
from course.grader.similar import shape, similar
from course.grader.worker import Setting
from paths import ROOT
from programs import ended

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux"),
    pytest.mark.usefixtures("fast_hashes"),
]
NAMES = ["ada", "bob", "cleo", "=cmd()"]
WRONG = "def product_flops(): return 1"
GUARDED = [] if bubblewrap_works() else ["--no-sandbox"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_one(EXAMPLE, folder, ["ada", "bob"])
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    """A key and a folder of four submissions: right, wrong, none, and somebody else's."""
    shutil.copytree(built / "key" / "week-1", tmp_path / "key")
    (tmp_path / "in").mkdir()
    put(tmp_path, "ada")
    best = "def best_seconds(m, k, n): raise E(`|`)"
    put(tmp_path, "bob", {"product_flops": WRONG, "best_seconds": best})
    (tmp_path / "in" / "cleo.zip").write_bytes(b"PK\x03\x04")
    put(tmp_path, "ada", name="=cmd()")
    return tmp_path


def put(place: Path, student: str, *answers: dict[str, str], name: str = "", **how: bool) -> Path:
    """Hand in a student's notebook, right but for some answers."""
    path = place / "in" / f"{name or student}.ipynb"
    nbformat.write(hand_in(load_key(place / "key"), student, *answers, **how), path)
    return path


def run(place: Path, **options: Any) -> dict[str, Graded]:
    """Grade what lies in a place: what each student gets."""
    return {graded.student: graded for graded in graded_in(place, **options)}


def said_by(place: Path, name: str) -> str:
    """What a file that grading leaves says."""
    return (place / "out" / name).read_text("utf-8")


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def by_student(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a table that begin with a student, by its columns."""
    heading, *others = rows(path)
    return {row[0]: dict(zip(heading, row, strict=True)) for row in others}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_class_is_graded(place: Path, jobs: int) -> None:
    """And what a run leaves behind."""
    totals = {student: graded.total for student, graded in run(place, jobs=jobs).items()}
    assert totals == {"ada": 9, "bob": 6, "cleo": 0, "=cmd()": 6}
    out = place / "out"
    strangers, grades = (by_student(out / f"{name}.csv") for name in ("strangers", "grades"))
    assert (set(strangers), set(grades)) == ({"cleo", "'=cmd()"}, {"ada", "bob"})
    assert [*grades["ada"]][:3] == ["student", "product_flops", "guessed_slowdown"]
    about = ["total", "out of", "reason", "flag", "late", "to be marked"]
    assert [*grades["ada"]][-len(about) :] == about
    assert (grades["ada"]["total"], grades["ada"]["out of"]) == ("9", "9")
    assert "zip archive" in strangers["cleo"]["reason"]
    assert "SyntaxError" in grades["bob"]["reason"]
    assert "handed in the notebook of ada" in strangers["'=cmd()"]["flag"]
    heading, points, *canvas = rows(out / "canvas.csv")
    assert heading == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "week-1"]
    assert (points[0].strip(), points[5]) == ("Points Possible", "9")
    assert ["", "", "", "ada", "", "9"] in canvas
    heading, *moodle = rows(out / "moodle.csv")
    assert heading == ["ID number", "week-1", "Feedback"]
    assert ["ada", "9", ""] in moodle
    assert "6 of 9 points" in said_by(place, "feedback/bob.md")
    assert (out / "feedback" / f"{file_name('=cmd()')}.md").exists()
    result = json.loads(said_by(place, "gradescope/bob.json"))
    assert result["score"] == 6
    assert [test["max_score"] for test in result["tests"]] == [1, 1, 2, 2, 2, 1]
    summary = said_by(place, "summary.md")
    for words in ("Mean 7.50 of 9 points", "| 90 to 100 % | 1 |", "| product_flops | 1 (50%) |"):
        assert words in summary
    assert "2 who are not on the roster are in strangers.csv" in summary
    assert "notebook of ada" in summary
    tells_nothing(load_key(place / "key"), out)


def tells_nothing(key: Key, out: Path) -> None:
    """No report has an expected answer or a hidden case."""
    text = "".join(path.read_text("utf-8") for path in out.rglob("*") if path.is_file())
    for exercise, question in key.graded():
        for case in key.cases(exercise.name, "bob"):
            if question.compare is question.public is None:
                assert str(key.expected(exercise.name, case)) not in text


def test_the_canary_stops_a_run_before_a_student_is_touched(place: Path) -> None:
    solved = place / "key" / "solved.ipynb"
    solved.write_text(solved.read_text("utf-8").replace("return costlib", "return 2 * costlib"))
    with pytest.raises(CanaryError, match="product_flops"):
        run(place)
    assert not (place / "out" / "journal.jsonl").exists()
    command = ["grade", *(str(place / name) for name in ("in", "key", "out")), *GUARDED]
    assert main(command) == 2
    assert not (place / "out" / "grades.csv").exists()


def test_the_canary_also_sees_a_key_that_says_right_to_everybody(place: Path) -> None:
    shutil.copy(place / "key" / "solved.ipynb", place / "key" / "blank.ipynb")
    setting = Setting(str(place / "key"), bubblewrap_works(), Limits(call=10))
    with pytest.raises(CanaryError, match="the blank notebook"):
        canary(setting)


def test_a_second_run_grades_nobody_twice(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(place)
    journal = (place / "out" / "journal.jsonl").read_bytes()
    asked: list[str] = []
    whole = batch.grade_one

    def counted(setting: Setting, submission: Any) -> Graded:
        asked.append(submission.student)
        return whole(setting, submission)

    monkeypatch.setattr(batch, "grade_one", counted)
    assert run(place) == first
    assert asked == ["", ""]  # the canaries
    assert (place / "out" / "journal.jsonl").read_bytes() == journal
    put(place, "bob")
    assert run(place)["bob"].total == 9
    assert asked[4:] == ["bob"]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """One that holds what two students got."""
    made = Journal(tmp_path / "journal.jsonl", "key")
    made.add(Graded("ada", "1", (Mark("q", 1, 1),)))
    made.add(Graded("bob", "2", (Mark("q", 12321, 1), Mark("r", 0, 1))))
    return made.path


def test_a_torn_journal_is_read_up_to_the_tear(journal: Path) -> None:
    journal.write_bytes(journal.read_bytes()[:-10])
    again = Journal(journal, "key")
    assert list(again.done) == [("ada", "1")]
    again.add(Graded("bob", "2", (Mark("q", 1, 1),)))
    assert set(Journal(journal, "key").done) == {("ada", "1"), ("bob", "2")}
    assert Journal(journal, "another key").done == {}


@pytest.mark.parametrize("score", ["1e999", "-1e999", "NaN", "[" * 100_000])
def test_a_journals_line_that_nobody_can_have_written_is_a_tear(journal: Path, score: str) -> None:
    journal.write_text(journal.read_text("utf-8").replace("12321", score), "utf-8")
    assert list(Journal(journal, "key").done) == [("ada", "1")]


def test_of_two_lines_of_one_submission_the_last_counts_and_none_twice(journal: Path) -> None:
    Journal(journal, "key").add(Graded("ada", "1", (Mark("q", 9, 9),)))
    again = Journal(journal, "key").done
    assert (len(again), again["ada", "1"].total) == (2, 9)


def test_a_full_disk_leaves_no_half_a_line(journal: Path, monkeypatch: Any) -> None:
    before, again = journal.read_bytes(), Journal(journal, "key")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("course.grader.journal.os.fsync", Mock(side_effect=full))
    with pytest.raises(OSError, match="No space left"):
        again.add(Graded("cleo", "3", (Mark("q", 1, 1),)))
    assert journal.read_bytes() == before
    assert ("cleo", "3") not in again.done


def test_two_runs_do_not_write_into_one_folder(place: Path) -> None:
    (place / "out").mkdir()
    busy = pytest.raises(ValueError, match=r"another run is grading into .*out: wait for it")
    with Journal(place / "out" / "journal.jsonl", "key"), busy:
        run(place)
    assert run(place)


def test_who_handed_in_nothing_is_in_every_table(place: Path) -> None:
    (place / "in" / "bob.ipynb").unlink()
    run(place)
    out = place / "out"
    bob = by_student(out / "grades.csv")["bob"]
    assert [*bob.values()][1:7] == ["0"] * 6
    assert "nothing was handed in" in bob["reason"]
    assert ["", "", "", "bob", "", "0"] in rows(out / "canvas.csv")
    assert by_student(out / "moodle.csv")["bob"]["week-1"] == "0"
    for name, words in (
        ("feedback/bob.md", "0 of 9 points"),
        ("summary.md", "Nothing came from 1 on the roster"),
        ("handed-in.md", "Nothing came from: `bob`"),
    ):
        assert words in said_by(place, name)


def test_markup_and_formulas_of_a_student_are_text(built: Path, tmp_path: Path) -> None:
    key = load_key(built / "key" / "week-1")
    evil = "<img src=x onerror=alert(1)>;=1+1"
    marks = tuple(Mark(name, 0, 1, evil) for name in key.questions)
    write_reports(key, [Graded("\n=2+2", "1", marks), Graded("＝3", "2", marks)], tmp_path)
    for name in ("grades.csv", "canvas.csv", "moodle.csv"):
        for row in rows(tmp_path / name):
            for cell in row:
                assert not re.search(r"(^|[;\t\r\n])\s*[=+@\uff1d]", cell), (name, cell)
    assert "<img" not in (tmp_path / "moodle.csv").read_text("utf-8")


def test_a_killed_run_resumes(place: Path) -> None:
    for number in range(4):
        put(place, f"student{number}")
    folders = [str(place / name) for name in ("in", "key", "out")]
    given = ["grade", *folders, "-j", "2", *GUARDED]
    done = ended(sys.executable, "-c", KILLED, *given)
    assert done.returncode == -signal.SIGKILL, done.stderr
    journal = place / "out" / "journal.jsonl"
    before = journal.read_bytes()
    assert (before.count(b"\n"), before.endswith(b"\n")) == (3, False)
    wait_until(lambda: running(str(place)) == [])
    done = ended(sys.executable, "-m", "course", *given)
    assert done.returncode == 0, done.stderr
    assert "3 of 8 were graded before" in done.stderr
    after = journal.read_bytes()
    assert after.startswith(before[: before.rindex(b"\n") + 1])
    entries = [json.loads(line) for line in after.splitlines()]
    assert len({entry["student"] for entry in entries}) == len(entries) == 8
    assert len(rows(place / "out" / "strangers.csv")) == 1 + 6
    wait_until(lambda: running(str(place)) == [])


#: A grader that is killed while it writes the fourth submission into its journal.
KILLED = """
import os, signal, sys
from course.__main__ import main
from course.grader.journal import Journal
add = Journal.add
def add_or_die(self, graded):
    if len(self.done) == 3:
        with self.path.open("ab") as file:
            file.write(b'{"key": ')
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, graded)
if __name__ == "__main__":
    Journal.add = add_or_die
    main(sys.argv[1:])
"""


def wait_until(holds: Callable[[], bool]) -> None:
    """As long as it takes; a minute and a half is taken for never."""
    end = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def running(word: str) -> list[str]:
    """Processes whose command line has a word."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue
        if word.encode() in command and entry.parent.name != str(os.getpid()):
            found.append(command.decode("utf-8", "replace"))
    return found


def test_without_bubblewrap_it_says_so_and_stops(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "bubblewrap_works", lambda: False)
    said: list[str] = []
    with pytest.raises(SystemExit, match="--no-sandbox"):
        run(place, sandbox=True)
    run(place, sandbox=False, say=said.append)
    assert any("NO SANDBOX" in line for line in said)


def test_without_bubblewrap_what_cannot_be_closed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(batch, "bubblewrap_works", lambda: True)
    assert batch._sandbox(False, said.append) is False
    assert "NO SANDBOX, although bubblewrap works here." in said[0]
    monkeypatch.setattr(sandbox_module, "_open_to_all", lambda: False)
    monkeypatch.setattr(sandbox_module, "landlock_works", lambda: False)
    with pytest.raises(SystemExit, match=r"no Landlock: student code could read the key.*another"):
        batch._sandbox(False, said.append)


def test_samples_slip_in_functions_too(tmp_path: Path) -> None:
    practice = ROOT / "course" / "practice"
    page = ROOT / "book" / "matmul.md"
    key = build_one(page, tmp_path, ["ada", "bob", "cleo"], practice, whole=False)
    assert write_samples(key, tmp_path / "in") == ["ada", "bob", "cleo"]
    ada, bob, cleo = run(tmp_path, key="key/matmul").values()
    assert (ada.total, bob.total, cleo.total) == (ada.out_of, ada.out_of - 1, 0)
    slip = next(mark for mark in bob.marks if not mark.score)
    assert slip.feedback == key.questions[slip.question].mistakes[0].feedback


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["course", "COURSE=x"], "error: say COURSE=... OUT=..."),
        (["grade", "KEY=k"], "error: say SUBMISSIONS=... KEY=... OUT=..."),
    ],
)
def test_what_is_missing_is_said_before_anything_is_installed(
    tmp_path: Path, typed: list[str], said: str
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    # which folder, one make says within another
    done = ended("make", "--no-print-directory", *typed, cwd=tmp_path)
    assert done.stdout.splitlines() == [said]
    assert done.returncode


def test_an_id_that_cannot_be_found_is_an_error(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["grade", *(str(place / name) for name in ("in", "key", "out")), *GUARDED, "--id"]
    for pattern, words in (
        ("(", "'(' is no regular expression: missing ), unterminated subpattern"),
        ("ada", "'ada' has no group"),
        (r"^(\d+)_", "matches none of 4 files, such as =cmd().ipynb"),
    ):
        assert main([*command, pattern]) == 1
        assert words in capsys.readouterr().err
    assert not (place / "out" / "grades.csv").exists()


@pytest.fixture
def gradescope(built: Path, tmp_path: Path) -> Path:
    """Laid out as Gradescope does: source, submission, results; nothing of this checkout."""
    root = tmp_path / "autograder"
    unpacked(built / "key" / "week-1", root)
    return root


def unpacked(key: Path, root: Path) -> dict[str, int]:
    """The autograder of a key where Gradescope unpacks it; the modes of its files."""
    write_zip(key, root.with_suffix(".zip"))
    for name in ("submission", "results"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(root.with_suffix(".zip")) as archive:
        archive.extractall(root / "source")
        return {item.filename: item.external_attr >> 16 for item in archive.infolist()}


def graded_there(root: Path, notebook: Any = None, **metadata: Any) -> Any:
    """What the autograder says of a notebook, with what Gradescope says of who handed it in."""
    if notebook:
        nbformat.write(notebook, root / "submission" / "my homework.ipynb")
    (root / "submission_metadata.json").write_text(json.dumps(metadata), "utf-8")
    os.chmod(root / "source" / "run_autograder", 0o755)
    (root / "bare.py").write_text(BARE, "utf-8")
    python = root / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{root / "bare.py"}" "$@"\n', "utf-8")
    python.chmod(0o755)
    environment = {**os.environ, "AUTOGRADER": str(root), "PYTHON": str(python), "PYTHONPATH": ""}
    assert ended(root / "source" / "run_autograder", cwd=root, env=environment).returncode == 0
    return json.loads((root / "results" / "results.json").read_text("utf-8"))


def test_the_gradescope_zip_grades_in_a_clean_folder(built: Path, tmp_path: Path) -> None:
    root = tmp_path / "autograder"
    modes = unpacked(built / "key" / "week-1", root)
    assert modes["run_autograder"] & modes["setup.sh"] & 0o111
    assert not any("example" in name for name in modes)
    notebook = hand_in(load_key(built / "key" / "week-1"), "bob", {"product_flops": WRONG})
    users = [{"name": "Bob B", "email": "bob@example.org", "sid": "bob"}]
    found = graded_there(root, notebook, users=users)
    assert found["score"] == 8
    assert [test["score"] for test in found["tests"]] == [0, 1, 2, 2, 2, 1]
    (root / "submission" / "my homework.ipynb").unlink()
    assert graded_there(root) == {"score": 0, "output": "hand in one notebook; 0 came"}


@pytest.mark.parametrize("user", ["BOB", "robert@example.org", "nobody@example.org"])
def test_gradescope_knows_a_student_by_any_name(gradescope: Path, user: str) -> None:
    """In another case, by an alias of the roster, or else by what the notebook says."""
    path = gradescope / "source" / "key" / "key.json"
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**content, "aliases": {"bob": ["robert@example.org"]}}), "utf-8")
    notebook = hand_in(load_key(path.parent), "bob", {})
    if user.startswith("rob"):  # then the notebook need not say it
        notebook.metadata.pop("course", None)
    assert graded_there(gradescope, notebook, users=[{"name": "R", "email": user}])["score"] == 9


def test_gradescope_knows_groups_and_hours(gradescope: Path) -> None:
    """The notebook of one of those who hand in together is right for them; late it loses."""
    with_rules(gradescope / "source", 'DEADLINE = Deadline("2026-11-30T12:00Z", per_day=10)')
    notebook = hand_in(load_key(gradescope / "source" / "key"), "bob")
    users = [{"email": "eve@example.org"}, {"sid": "ada"}, {"email": "BOB"}]
    late = "2026-12-01T04:00:00.365935-07:00"
    found = graded_there(gradescope, notebook, users=users, created_at=late)
    assert (found["score"], found["output"]) == (8.1, "1 day late: 10% less.")


def test_the_autograder_installs_what_the_page_imports(built: Path, tmp_path: Path) -> None:
    place = tmp_path / "key"
    shutil.copytree(built / "key" / "week-1", place)
    text = (place / "key.json").read_text("utf-8")
    more = '"setup": "import scipy.stats as st\\ntry:\\n    import pandas\\nexcept ImportError:'
    (place / "key.json").write_text(text.replace('"setup": "', more + "\\n    pass\\n", 1), "utf-8")
    unpacked(place, tmp_path / "autograder")
    setup = (tmp_path / "autograder" / "source" / "setup.sh").read_text("utf-8")
    assert "python3-numpy bubblewrap python3-scipy python3-pandas\n" in setup


@pytest.mark.parametrize("name", ["../../x", "..", "/etc/x", ".bob"])
def test_gradescope_follows_no_link_and_no_name(
    gradescope: Path, tmp_path: Path, name: str
) -> None:
    (gradescope / "submission" / ".ipynb_checkpoints").mkdir(parents=True)
    (gradescope / "submission" / ".ipynb_checkpoints" / "old.ipynb").write_text("{}", "utf-8")
    (gradescope / "submission" / "hw.ipynb").symlink_to(gradescope / "source/key/solved.ipynb")

    def files() -> set[str]:
        paths = (p for p in tmp_path.rglob("*") if not {"results", "__pycache__"} & {*p.parts})
        return {path.relative_to(tmp_path).as_posix() for path in paths}

    before = files()
    found = graded_there(gradescope, users=[{"name": name, "sid": name}])
    assert found["score"] == 0
    assert "a link: hand in the notebook itself" in found["tests"][0]["output"]
    made = {"bare.py", "python", "submission_metadata.json"}
    assert files() - before == {f"autograder/{each}" for each in made}


#: A Python that has what the autograder's setup.sh installs, NumPy, and nothing else.
BARE = """\
import os, runpy, sys
allowed = {*sys.stdlib_module_names, "numpy", "course", "costlib"}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, os.getcwd())
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_grades(place: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        assert run(place, scheduler=cluster.scheduler_address)["ada"].total == 9


def graded_class() -> list[Graded]:
    marks = (Mark("product_flops", 0, 1, "wrong", "A hint."), Mark("cache_bytes", 2, 2))
    return [Graded("ada", "1", marks)]


def test_scores_go_into_a_gradebook(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the calls that nbgrader's has."""
    kept = defaultdict[tuple[str, ...], Any](SimpleNamespace)
    calls = ("assignment", "notebook", "student", "submission", "solution_cell", "grade_cell")
    book = Mock(
        spec=["db", "find_grade", "find_comment", *(f"update_or_create_{c}" for c in calls)]
    )
    book.find_grade.side_effect = book.find_comment.side_effect = lambda *names: kept[names]
    api = ModuleType("nbgrader.api")
    api.Gradebook = lambda _: nullcontext(book)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nbgrader", ModuleType("nbgrader"))
    monkeypatch.setitem(sys.modules, "nbgrader.api", api)
    write_gradebook(load_key(built / "key" / "week-1"), graded_class(), "sqlite://")
    cells = {call.args[0]: call.kwargs for call in book.update_or_create_grade_cell.mock_calls}
    assert cells["cache_bytes"]["max_score"] == 2
    found = {names[0]: vars(each) for names, each in kept.items() if names[-1] == "ada"}
    assert found["product_flops"]["auto_comment"] == "wrong A hint."
    assert {name: each["auto_score"] for name, each in found.items()} == {
        "product_flops": 0,
        "cache_bytes": 2,
    }


@pytest.mark.filterwarnings("ignore")
def test_scores_go_into_the_real_gradebook(built: Path, tmp_path: Path) -> None:
    api = pytest.importorskip("nbgrader.api")
    key = load_key(built / "key" / "week-1")
    database = f"sqlite:///{tmp_path / 'gradebook.db'}"
    for _ in range(2):  # the second time updates
        write_gradebook(key, graded_class(), database)
    with api.Gradebook(database) as book:
        assert book.find_submission("week-1", "ada").score == 2
        assert book.find_submission("week-1", "ada").max_score == 9
        comment = book.find_comment("product_flops", "week-1", "week-1", "ada")
        assert comment.comment == "wrong A hint."


def test_an_empty_class_has_a_summary(built: Path) -> None:
    key: Key = load_key(built / "key" / "week-1")
    assert "0 submissions" in summary(key, [])


# Answers that a person marks.

CHECKS = """
QUESTIONS = [
    Question("half", points=4, partial=True, cases=[{"x": 4}, {"x": -6}, {"x": 0}]),
    Question("why", kind="text", numbers={"n": range(3, 9)},
        rubric=[Criterion(2, "a reason"), Criterion(1, "short, or not")]),
    Question("drawing", kind="figure", points=2),
]
"""
EXERCISES = (
    solved("**1. Half.** Half of x?", HALF),
    in_words("**2. Why?** Say why, in [[n]] words.", "why", "Because it is so."),
    solved("**3. Draw.** Draw it.", "1 + 1", "drawing"),
)
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """A week with a function, a text and a figure, of which three students hand in two."""
    made = tmp_path / "made"
    made.mkdir()
    key = build_one(a_page(made, CHECKS, *EXERCISES), made, ["ada", "bob", "cleo"])
    (made / "key" / "week").rename(tmp_path / "key")
    (tmp_path / "in").mkdir()
    for student in ("ada", "bob"):
        nbformat.write(answered(key, student), tmp_path / "in" / f"{student}.ipynb")
    return tmp_path


def answered(key: Key, student: str, words: str = "It is <b>so</b>.") -> Any:
    """A notebook with words, a picture in a text, a figure, and a cell of the student's own."""
    notebook = hand_in(key, student)
    at = {c.metadata.get("exercise"): i for i, c in enumerate(notebook.cells)}
    text, figure = notebook.cells[at["why"]], notebook.cells[at["drawing"]]
    text.source = text.source.partition("\n")[0] + f"\n\n{words} ![](attachment:a.png)"
    text.attachments = {"a.png": {"image/png": PIXEL}}
    drawn = {"image/png": PIXEL, "image/svg+xml": "<svg onload='x()'/>"}
    said = nbformat.v4.new_output("stream", text="<script>alert(1)</script>")
    figure.outputs = [nbformat.v4.new_output("display_data", drawn), said]
    more = nbformat.v4.new_markdown_cell("And one thing more.")
    notebook.cells.insert(at["why"] + 1, more)
    return notebook


def filled(path: Path, student: str, **cells: str) -> None:
    """Fill in a student's row, as a spreadsheet would save it: with semicolons and a mark."""
    heading, *others = rows(path)
    for row in others:
        if row[0] == student:
            for name, value in cells.items():
                row[next(i for i, n in enumerate(heading) if n.startswith(name))] = value
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        quoting = csv.QUOTE_ALL if "comment" in cells else csv.QUOTE_MINIMAL
        csv.writer(file, delimiter=";", quoting=quoting).writerows([heading, *others])


def test_a_persons_marks_are_asked_for_read_and_kept(week: Path) -> None:
    found = run(week)
    assert [mark.question for mark in found["ada"].marks] == ["half", "why", "drawing"]
    assert (found["ada"].total, found["ada"].waiting, found["ada"].out_of) == (4, 5, 9)
    out = week / "out"
    page = (out / "marking" / "why.html").read_text("utf-8")
    assert "It is &lt;b&gt;so&lt;/b&gt;." in page
    assert "And one thing more." in page
    assert page.count(f"data:image/png;base64,{PIXEL}") == 2
    assert "Because it is so." in page
    drawn = (out / "marking" / "drawing.html").read_text("utf-8")
    assert "svg" not in drawn
    assert "<script>" not in drawn
    assert "Of these, 5 are not marked yet." in (out / "feedback" / "ada.md").read_text("utf-8")
    sheet = out / "marking" / "why.csv"
    assert rows(sheet)[0][:4] == ["student", "a reason (2)", "short, or not (1)", "points"]
    filled(sheet, "ada", **{"a reason": "x", "short": "0,5", "comment": "- well said"})
    filled(out / "marking" / "drawing.csv", "ada", points="1")
    for _ in range(2):  # what is filled in stays
        found = run(week)
        assert (found["ada"].total, found["ada"].waiting, found["bob"].waiting) == (7.5, 0, 5)
    why = found["ada"].marks[1]
    assert (why.score, why.feedback) == (2.5, "- well said")
    assert why.reason == "a reason (2): 2; short, or not (1): 0.5"
    assert "- well said" in (out / "feedback" / "ada.md").read_text("utf-8")
    key = load_key(week / "key")
    nbformat.write(answered(key, "ada", "Quite another reason."), week / "in" / "ada.ipynb")
    ada = run(week)["ada"]
    assert (ada.waiting, ada.marks[1].flag) == (3, "answered anew since it was marked")
    row = [*by_student(sheet)["ada"].values()]
    assert row[1:4] == ["", "", ""]
    assert "the former answer got 2.5" in row[5]
    assert ada.marks[2].score == 1, "the figure is the same"


def test_a_wrong_number_in_a_sheet_is_named_before_anything_is_graded(week: Path) -> None:
    run(week)
    sheet = week / "out" / "marking" / "why.csv"
    filled(sheet, "bob", **{"a reason": "3"})
    words = r"why.csv, row 3, bob: '3' under 'a reason \(2\)' is neither x nor a number from 0 to 2"
    with pytest.raises(ValueError, match=words):
        run(week)
    sheet.write_text(sheet.read_text("utf-8-sig").replace("ada;;", "ada;9;", 1), "utf-8")
    filled(week / "out" / "marking" / "drawing.csv", "ada", points="lots")
    with pytest.raises(ValueError, match=r"why\.csv, row 2") as told:
        run(week)
    assert [line.split("'")[1] for line in str(told.value).splitlines()] == ["9", "3", "lots"]
    sheet.write_text(sheet.read_text("utf-8-sig").replace("comment", "remark"), "utf-8")
    with pytest.raises(ValueError, match="has no column 'comment' any more"):
        run(week)


def test_no_system_is_told_a_total_that_is_half_marked(week: Path) -> None:
    run(week)
    for name in ("why", "drawing"):
        filled(week / "out" / "marking" / f"{name}.csv", "ada", points="2")
    run(week)
    for table, at in (("canvas.csv", -1), ("moodle.csv", -2)):
        told = {row[0] or row[3]: row[at] for row in rows(week / "out" / table)[1:]}
        told = {name: total for name, total in told.items() if name in ("ada", "bob")}
        assert told == {"ada": "8", "bob": ""}, table


def test_who_wrote_nothing_is_not_waited_for(week: Path) -> None:
    put(week, "cleo", solved=False)
    cleo = run(week)["cleo"]
    assert [mark.reason for mark in cleo.marks] == ["not answered"] * 3
    assert cleo.waiting == 0


def test_cases_that_are_right_earn_their_share(week: Path) -> None:
    for student, answer, score, words in (
        ("ada", "return abs(x) / 2", 3, "wrong in a hidden case; right in 3 of 4 cases"),
        ("bob", "return 8 / x if x else 1 / 0", 1, "right in 1 of 4 cases"),
        ("cleo", "import os; os._exit(0)", 0, "ended the process"),
    ):
        put(week, student, {"half": f"def half(x): {answer}"})
        mark = run(week)[student].marks[0]
        assert (mark.score, words in mark.reason) == (score, True), mark


# When, which of several, and together.


def with_rules(place: Path, rules: str) -> None:
    checks = place / "key" / "checks.py"
    checks.write_text(f"from course import Deadline\n{rules}\n{checks.read_text('utf-8')}", "utf-8")


def test_what_comes_late_loses_what_the_rule_says(place: Path) -> None:
    rule = 'Deadline("2026-11-30 12:00 +00:00", per_day=10, at_most=30, grace=5'
    with_rules(place, f'DEADLINE = {rule}, extended={{"bob": "2026-12-24T12:00Z"}})')
    times = place / "times.csv"
    for at, total, words in (
        ("2026-11-30 12:04Z", 9, ""),
        ("2026-11-30 12:06Z", 8.1, "1 day late: 10% less"),
        ("2026-12-30 12:00Z", 6.3, "30 days late: 30% less"),
    ):
        times.write_text(f"student,time\nADA,{at}\nbob,2026-12-24 11:00Z\n", "utf-8")
        found = run(place, times=str(times))
        assert (found["ada"].total, found["ada"].late) == (total, words)
        assert found["bob"].late == ""
    assert "30 days late" in (place / "out" / "feedback" / "ada.md").read_text("utf-8")
    page = (place / "out" / "handed-in.md").read_text("utf-8")
    assert "nothing says when 2 of 4" in page
    noted = sum(line.startswith("- ") for line in page.splitlines())
    said: list[str] = []
    run(place, say=said.append)
    assert any(line.startswith(f"{noted} notes on files, their owners or their") for line in said)
    times.write_text("eve,2026-11-30 12:04Z\n", "utf-8")
    with pytest.raises(ValueError, match="line 1: 'eve' is nobody on the roster"):
        run(place, times=str(times))
    with pytest.raises(ValueError, match="'yesterday' is no file of students and times"):
        run(place, times="yesterday")
    os.utime(place / "in" / "ada.ipynb", (2e9, 2e9))
    assert run(place, times="files")["ada"].total == 6.3


@pytest.mark.parametrize("stamp", ["0001-01-01 00:00:00 +23:59", "9999-12-31 23:59:59 -23:59"])
def test_an_hour_that_no_clock_has_stops_nobody(place: Path, stamp: str) -> None:
    with_rules(place, 'DEADLINE = Deadline("2026-11-30 12:00Z", per_day=50)')
    for name in ("ada", "bob"):
        (place / "in" / name).mkdir()
        (place / "in" / f"{name}.ipynb").rename(place / "in" / name / "week-1.ipynb")
    (place / "in" / "bob" / "timestamp.txt").write_text(stamp, "utf-8")
    assert run(place, times="nbgrader")["bob"].late == ""
    assert "there is a deadline, and nothing says when" in said_by(place, "handed-in.md")
    metadata = f"submission_1:\n  :created_at: {stamp}\n"
    (place / "in" / "submission_metadata.yml").write_text(metadata, "utf-8")
    assert run(place)


@pytest.mark.parametrize(("keep", "total"), [("last", 8), ("first", 0), ("best", 9)])
def test_of_several_the_one_counts_that_the_rule_says(place: Path, keep: str, total: int) -> None:
    with_rules(place, f"KEEP = {keep!r}")
    for name, answers, is_solved, at in (
        ("ada (1)", {"product_flops": WRONG}, True, 3),
        ("ada", {}, True, 2),
        ("ada-2", {}, False, 1),
    ):
        path = put(place, "ada", answers, name=name, solved=is_solved)
        os.utime(path, (1e9 + at, 1e9 + at))
    assert run(place)["ada"].total == total


@pytest.mark.parametrize(("early", "total"), [(True, 9), (False, 8)])
def test_the_best_is_judged_by_its_own_hour(place: Path, early: bool, total: int) -> None:
    """Of a right notebook in time and a worse one that came late, nothing is late."""
    with_rules(place, 'KEEP = "best"\nDEADLINE = Deadline("2026-11-30 12:00Z", per_day=50)')
    folder = place / "in"
    (folder / "ada.ipynb").unlink()
    before, after = (datetime.fromisoformat(f"2026-11-30T{h}:00+00:00") for h in (11, 13))
    worse = {"product_flops": WRONG}
    for name, answers, at in (
        ("ada", {} if early else worse, before),
        ("ada-2", worse if early else {}, after),
    ):
        os.utime(put(place, "ada", answers, name=name), (at.timestamp(), at.timestamp()))
    ada = run(place, times="files")["ada"]
    assert (ada.total, ada.late) == (total, "")
    for name in ("ada", "ada-2"):
        (folder / f"{name}.ipynb").rename(folder / f"ada_{'LATE_' * (name != 'ada')}7_8_w.ipynb")
    assert ("late, as Canvas says" in run(place)["ada"].flag) != early


def test_a_group_hands_in_once(tmp_path: Path) -> None:
    roster = Roster(dict.fromkeys(("ada", "bob", "cleo"), ()), {"ada": "A", "bob": "A"})
    key = build_one(EXAMPLE, tmp_path, roster)
    (tmp_path / "in").mkdir()
    nbformat.write(hand_in(key, "bob"), tmp_path / "in" / "bob.ipynb")
    found = run(tmp_path, key="key/week-1")
    told = {student: (each.total, each.flag) for student, each in found.items()}
    assert told == {"ada": (9, ""), "bob": (9, "")}
    assert "`ada` handed in together with `bob`" in said_by(tmp_path, "handed-in.md")


# What systems read.


def test_canvas_gets_its_columns_and_its_assignment_back(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Root Account,Section,Week 1 (812),Final Score\n"
        "    Points Possible,,,,,,9,(read only)\n"
        '"Lovelace, Ada",101,u1,ada,canvas.example.org,S1,,\n',
        "utf-8",
    )
    key = build_one(EXAMPLE, tmp_path, read_class(roster))
    write_reports(key, [Graded("ada", "1", (Mark("product_flops", 1, 1),))], tmp_path)
    heading = ["Student", "ID", "SIS User ID", "SIS Login ID", "Root Account", "Section"]
    assert rows(tmp_path / "canvas.csv") == [
        [*heading, "Week 1 (812)"],
        ["    Points Possible", "", "", "", "", "", "9"],
        ["Lovelace, Ada", "101", "u1", "ada", "canvas.example.org", "S1", "1"],
    ]


def test_moodle_gets_its_columns_back(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    text = "First name;Last name;ID number;Email address\nAda;Lovelace;;ada@example.org\n"
    roster.write_text(f"\ufeff{text}", "utf-8")
    key = build_one(EXAMPLE, tmp_path, read_class(roster))
    marks = (
        Mark("product_flops", 0.5, 1, "wrong: exactly 4", "The weights shrink by 4."),
        Mark("cache_bytes", 0, 2, "not answered"),
    )
    write_reports(key, [Graded("ada@example.org", "1", marks)], tmp_path)
    words = "wrong: exactly 4. The weights shrink by 4."
    said = f"product_flops: {words} cache_bytes: not answered."
    assert rows(tmp_path / "moodle.csv") == [
        ["First name", "Last name", "ID number", "Email address", "week-1", "Feedback"],
        ["Ada", "Lovelace", "", "ada@example.org", "0.5", said],
    ]
    result = json.loads((tmp_path / "gradescope" / "ada@example.org.json").read_text("utf-8"))
    assert [test["output"] for test in result["tests"]] == [words, "not answered."]


# After grading.


def test_the_class_is_on_one_page(built: Path, tmp_path: Path) -> None:
    key = load_key(built / "key" / "week-1")

    def graded(number: int) -> Graded:
        good = number % 3 > 0
        marks = [
            Mark(q.name, q.points * (good or i > 3), q.points, "" if good else "<b>late</b>")
            for i, q in enumerate(key.questions.values())
        ]
        return Graded(f"s{number}", "1", tuple(marks))

    functions = {"ada": LONG, "bob": LONG.replace("total", "sum_"), "cleo": "def f(x): return x"}
    alike = similar("f", {who: shape(code, "f") for who, code in functions.items()})
    write_reports(key, [graded(n) for n in range(12)], tmp_path, (), ["zoe"], alike)
    page = (tmp_path / "class.html").read_text("utf-8")
    assert "12 handed in, 1 did not; mean 78%, median 100%." in page
    assert 'aria-label="Students by their share of the points: 4 from 30 %, 8 from 90 %"' in page
    assert "<td>67%</td><td>1.00</td>" in page
    assert "<td>100%</td><td></td>" in page
    assert "4 × &lt;b&gt;late&lt;/b&gt;" in page
    assert "<td>ada, bob</td>" in page
    assert "cleo" not in page
    assert "http" not in page.replace("http-equiv", "")


LONG = """
def f(x):
    \"\"\"Of mine.\"\"\"
    total = 0  # begin
    for step in range(10):
        if step % 2 == 0:
            total += x * step + 3
        else:
            total -= x // (step + 1)
    return [total, total * 2, max(total, 0)]
"""


def test_functions_are_alike_by_how_they_are_built() -> None:
    renamed = LONG.replace("total", "t").replace("step", "i").replace("# begin", "# or not")
    near = LONG.replace("+ 3", "+ 4")
    other = "def f(x):\n    return [sum(x * k for k in range(9) if k % 3), x**2, -x, abs(x), 7, 8]"
    shapes = {n: shape(c, "f") for n, c in zip("abcd", (LONG, renamed, near, other), strict=True)}
    found = [(alike.students, alike.share == 1) for alike in similar("f", shapes)]
    assert found == [(("a", "b"), True), (("c", "a"), False)]
    assert similar("f", shapes, shapes["a"]) == [], "the model's way is no news"
    for hostile in ("def f(" + "(" * 20_000, "def f(x):\n" + "    '''", "x = 1", "def f(x): \x00"):
        assert len(shape(hostile, "f")) <= 20_001


def excel(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """A sheet as a spreadsheet saves it after somebody changed its rows."""
    heading, *others = rows(path)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";").writerows([heading, *map(change, others)])


def numbered_week(week: Path) -> None:
    """The same week with ids that are numbers, and a rubric of formulas."""
    checks = week / "key" / "checks.py"
    rubric = (
        checks.read_text("utf-8").replace("a reason", "=a reason").replace("short,", "- short,")
    )
    checks.write_text(rubric, "utf-8")
    key = json.loads((week / "key" / "key.json").read_text("utf-8"))
    key["roster"] = ["007", "0080", "cleo"]
    (week / "key" / "key.json").write_text(json.dumps(key), "utf-8")
    for old, new in (("ada", "007"), ("bob", "0080")):
        (week / "in" / f"{old}.ipynb").rename(week / "in" / f"{new}.ipynb")


def test_a_sheet_survives_a_spreadsheet(week: Path) -> None:
    """Formulas as a rubric, and ids that a spreadsheet takes for numbers."""
    numbered_week(week)
    run(week)
    sheet = week / "out" / "marking" / "why.csv"
    assert rows(sheet)[0][1].startswith("'=a reason")
    assert all(row[-1].startswith("v") for row in rows(sheet)[1:]), "never a number"
    excel(sheet, lambda row: [row[0].lstrip("0"), "x", *row[2:]])
    for _ in range(2):
        found = {student: graded.marks[1].score for student, graded in run(week).items()}
        assert found == {"007": 2, "0080": 2}


def test_what_a_person_filled_in_is_never_thrown_away(week: Path) -> None:
    """Rows of an id that nobody has stay and are told; so do points of an answer that is gone."""
    run(week)
    sheet = week / "out" / "marking" / "why.csv"
    excel(sheet, lambda row: [row[0].replace("ada", "adda"), "x", *row[2:]])
    said: list[str] = []
    run(week, say=said.append)
    assert "marking/why.csv: nobody is called adda: those rows do not count" in said
    assert [*by_student(sheet)["adda"].values()][1] == "x"
    put(week, "bob", solved=False)
    run(week)
    assert "the former answer got 2" in [*by_student(sheet)["bob"].values()][5]
    excel(sheet, lambda row: [row[0].replace("adda", "ada"), *row[1:]])
    bob = run(week)["bob"].marks[1]
    assert (bob.score, bob.reason) == (0, "not answered")


def test_a_time_of_ones_own_is_not_lost_to_a_spelling(place: Path) -> None:
    with_rules(place, 'DEADLINE = Deadline("2026-11-30", extended={"ADA": "2026-12-24"})')
    with pytest.raises(
        ValueError, match="extended for ADA, which is no id of the roster: write ada"
    ):
        run(place)


def test_what_was_changed_since_the_key_was_made_is_told(tmp_path: Path) -> None:
    for name in ("week-1.md", "week-1.checks.py"):
        shutil.copy(EXAMPLE.with_name(name), tmp_path)
    key = build_one(tmp_path / "week-1.md", tmp_path / "out", ["ada"])
    (tmp_path / "in").mkdir()
    nbformat.write(hand_in(key, "ada"), tmp_path / "in" / "ada.ipynb")

    def warned() -> bool:
        said: list[str] = []
        run(tmp_path, key="out/key/week-1", say=said.append)
        return any("has changed since the key was made: run make course" in line for line in said)

    assert not warned()
    checks = tmp_path / "week-1.checks.py"
    checks.write_text(checks.read_text("utf-8") + "KEEP = 'best'\n", "utf-8")
    assert warned()
    checks.unlink()
    assert not warned(), "a key may be on another machine than its source"


def test_a_folder_above_the_key_is_told_before_anything_is_touched(week: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no key.json, as `build` makes it; did you mean"):
        grade(week / "in", week, week / "out")
    assert not (week / "out").exists()


def test_gradescope_says_what_a_person_marks(week: Path) -> None:
    unpacked(week / "key", week / "autograder")
    shutil.copy(week / "in" / "ada.ipynb", week / "autograder" / "submission")
    found = graded_there(week / "autograder")
    assert (found["score"], found["output"]) == (4, "A person marks: Why?, Draw.")
