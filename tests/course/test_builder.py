"""Exercises from one source: the student's notebook is the solved one with lines removed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from notebook_checks import (
    EXAMPLE,
    a_page,
    cell,
    holds_no_answer,
    in_words,
    is_the_solved_one_with_lines_removed,
    key_from,
    run,
    solved,
)

from course.__main__ import main
from course.builder import check_cell
from course.builder.answer_key import Key, load_checks, load_key
from course.builder.assignments import build, build_one, hand_out, open_key, student_notebook
from course.builder.dependencies import answer_cells, bound, needed
from course.builder.dry_run import _odd, dry_run
from course.builder.notebooks import checks_for, fill
from course.builder.own_numbers import draw
from course.builder.questions import Mistake, Question, agree
from course.builder.repository import repository
from course.builder.roster import file_name, read_class, read_people, read_roster
from course.builder.source import read_source
from course.grader.marking import _verdict
from course.grader.submission import Submission
from paths import DATA, ROOT


@cache
def key_of(page: Path) -> Key:
    return key_from(page, page.with_suffix(".checks.py"))


@pytest.mark.parametrize("student", ["", "ada"])
def test_a_student_notebook_gives_nothing_away(student: str) -> None:
    is_the_solved_one_with_lines_removed(key_of(EXAMPLE), student)
    holds_no_answer(key_of(EXAMPLE), student)


def test_the_solved_notebook_runs_alone_and_every_check_says_right() -> None:
    said, _ = run(student_notebook(key_of(EXAMPLE), "", solved=True))
    for exercise, question in key_of(EXAMPLE).graded():
        shown = question.shown(secret=True) or question.public
        assert f"{exercise.name}: " + ("right." if shown else "") in said


def test_the_blank_notebook_runs_alone_and_asks_for_answers() -> None:
    said, _ = run(student_notebook(key_of(EXAMPLE), ""))
    for exercise, _ in key_of(EXAMPLE).graded():
        assert f"{exercise.name}: not answered yet." in said


def test_build_writes_what_students_get_and_a_key_that_nobody_else_reads(tmp_path: Path) -> None:
    key = build_one(EXAMPLE, tmp_path, ["ada", "../eve"])
    assert (tmp_path / "student" / "ada" / "week-1.ipynb").exists()
    assert (tmp_path / "student" / file_name("../eve") / "week-1.ipynb").exists()
    if sys.platform != "win32":
        assert (tmp_path / "key" / "week-1").stat().st_mode & 0o077 == 0
    for path in (tmp_path / "student").rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8")
            assert key.secret not in text
            assert "checks.py" not in text
            nbformat.validate(nbformat.read(path, 4))
    again = build_one(EXAMPLE, tmp_path, ["cleo"])
    assert again.secret == key.secret
    assert again.roster == ["ada", "../eve", "cleo"]
    for name in ("product_flops", "cache_bytes"):
        assert again.numbers(name, "ada") == key.numbers(name, "ada")
        loaded = load_key(tmp_path / "key" / "week-1")
        assert loaded.numbers(name, "ada") == key.numbers(name, "ada")


def test_build_of_a_folder_without_exercises_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no notebook"):
        build(tmp_path, tmp_path / "out")


def test_no_two_of_five_hundred_students_share_an_answer() -> None:
    students = [f"student{number}" for number in range(500)]
    key = key_of(EXAMPLE)
    whole = Key("week-1", key.source, key.questions, "secret", students)
    hand_out(whole)
    for name in ("product_flops", "cache_bytes"):
        answers = {whole.expected(name, whole.numbers(name, student)) for student in students}
        assert len(answers) == 500


def copy_of_the_example(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The example in a folder of its own, page and checks, with words replaced."""
    for name in ("week-1.md", "week-1.checks.py"):
        text = EXAMPLE.with_name(name).read_text("utf-8")
        for old, new in changes:
            text = text.replace(old, new)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / "week-1.md"


@pytest.mark.usefixtures("fast")
def test_a_correction_changes_no_number_that_was_handed_out(tmp_path: Path) -> None:
    students = [f"student{number}" for number in range(20)]
    narrow = ("range(211, 990)", "range(200, 203)")
    page = copy_of_the_example(tmp_path, narrow)
    before = build_one(page, tmp_path / "out", students)
    drawn = {s: before.numbers("product_flops", s) for s in students}
    fresh = {s: before.drawn("product_flops", s, 0) for s in students}
    assert drawn != fresh, "some had to be drawn again"
    solution = ("return costlib.matmul(m, k, n).flops", "return m + 100 * k - 7 * n")
    for number, change in enumerate((solution, ("range(211, 990)", "range(500, 600)"))):
        copy_of_the_example(tmp_path, change)
        late = f"late{number}"
        after = build_one(page, tmp_path / "out", [*students, late])
        assert {s: after.numbers("product_flops", s) for s in students} == drawn
        assert late in after.handed_out
    assert after.numbers("product_flops", "late1")["m"] >= 500


@pytest.mark.usefixtures("fast")
def test_a_time_for_nobody_on_the_roster_is_told_before_anything_is_made(tmp_path: Path) -> None:
    rule = 'DEADLINE = Deadline("2026-11-30", extended={"ADA": "2026-12-24"})'
    committed = "from course import Mistake, Question, committed\n"
    page = copy_of_the_example(
        tmp_path, (committed, f"{committed}from course import Deadline\n{rule}\n")
    )
    with pytest.raises(ValueError, match="extended for ADA, which is no id of the roster: write a"):
        build_one(page, tmp_path / "out", ["ada"])
    assert not (tmp_path / "out").exists()
    build_one(page, tmp_path / "out", ["ADA"])


@pytest.mark.usefixtures("fast")
def test_equal_answers_are_told_without_being_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_of_the_example(tmp_path, ("range(211, 990)", "range(1, 2)"))
    (tmp_path / "roster.txt").write_text("\n".join(f"s{number}" for number in range(9)), "utf-8")
    asks = ["build", str(tmp_path), str(tmp_path / "out"), "--students"]
    for more in ([], ["--check"]):
        assert main([*asks, str(tmp_path / "roster.txt"), *more]) == 0
        said = capsys.readouterr().out
        assert said.count("week-1: product_flops: 9 students share an answer with another") == 1


def test_some_exercises_of_some_chapters_are_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = ["build", str(ROOT / "book"), str(tmp_path), "--exercises"]
    asks += ["--checks", str(ROOT / "course" / "practice"), "--only"]
    assert main([*asks, "kvcache", "5", "2", "matmul"]) == 0
    assert sorted(path.name for path in (tmp_path / "key").iterdir()) == ["kvcache", "matmul"]
    key = load_key(tmp_path / "key" / "kvcache")
    assert [exercise.number for exercise, _ in key.graded()] == [2, 5]
    assert set(key.questions) == {exercise.name for exercise, _ in key.graded()}
    assert len(load_key(tmp_path / "key" / "matmul").questions) > 5
    text = sources(nbformat.read(tmp_path / "student" / "kvcache.ipynb", 4))
    assert re.findall(r"^\*\*(\d+)\. ", text, re.MULTILINE) == ["2", "5"]
    solved = nbformat.read(tmp_path / "solved" / "kvcache.ipynb", 4)
    assert run(solved)[0].count(": right.") == 2
    for words, told in (
        (["matmul", "99"], "matmul has no exercise 99; it has 1, 2, 3,"),
        (["matmull", "1"], "no chapter is called matmull; there is agents, attention,"),
        (["1", "matmul"], "no chapter is called 1; there is"),
    ):
        assert main([*asks, *words]) == 1
        assert told in capsys.readouterr().err


@pytest.mark.usefixtures("fast")
def test_how_much_of_a_class_is_made_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_one(EXAMPLE, tmp_path, ["ada", "bob"])
    assert "2/2 of week-1 made, 0 s left" in capsys.readouterr().err


@pytest.mark.usefixtures("fast")
def test_what_was_handed_out_before_is_right_beside_what_is_current(tmp_path: Path) -> None:
    page = copy_of_the_example(tmp_path)
    first = build_one(page, tmp_path / "out", ["ada"]).numbers("product_flops", "ada")
    key = build_one(page, tmp_path / "out", renew=["product_flops"])
    second = key.numbers("product_flops", "ada")
    assert key.given("product_flops", "ada") == [first, second]
    question, handed_in = key.questions["product_flops"], Submission("ada", "1")
    for numbers, right in ((first, True), (second, True), ({**first, "m": 1}, False)):
        answer = key.expected("product_flops", numbers)
        assert _verdict(key, question, handed_in, second, answer) is right
    with pytest.raises(ValueError, match="--renew other: no question is called so"):
        build(tmp_path, tmp_path / "out", renew=["other"])


def test_numbers_of_others_cannot_be_told_from_ones_own(tmp_path: Path) -> None:
    first, second = (build_one(EXAMPLE, tmp_path / name, ["ada"]) for name in ("a", "b"))
    assert first.secret != second.secret
    assert first.numbers("product_flops", "ada") != second.numbers("product_flops", "ada")


def test_numbers_come_from_a_hash_that_never_changes() -> None:
    numbers = {"m": range(100, 1000), "k": [64, 128]}
    assert draw(numbers, "week-1", "f", "ada", 0) == draw(numbers, "week-1", "f", "ada", 0)
    assert draw(numbers, "week-1", "f", "ada", 0) == {"m": 703, "k": 128}
    others = {json.dumps(draw(numbers, "week-1", "f", f"s{i}", 0)) for i in range(500)}
    assert len(others) > 350


def test_statements_take_the_students_numbers() -> None:
    key = key_of(EXAMPLE)
    numbers = key.numbers("cache_bytes", "ada")
    text = json.dumps(student_notebook(key, "ada"), ensure_ascii=False)
    assert f"one sequence of {numbers['context']:,} tokens" in text
    assert "[[" not in text
    with pytest.raises(ValueError, match="asks for"):
        fill("[[m]]", {"n": 1})


def test_students_of_a_fork_install_from_the_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    (tmp_path / "_config.yml").write_text("repository:\n  url: https://github.com/ada/book\n")
    assert repository(tmp_path) == "ada/book"
    for number, address in enumerate(
        ("git@github.com:bob/fork.git", "https://github.com/bob/fork")
    ):
        clone = tmp_path / str(number)
        for command in (["init", "-q"], ["remote", "add", "origin", address]):
            clone.mkdir(exist_ok=True)
            subprocess.run(["git", *command], cwd=clone, check=True)
        assert repository(clone) == "bob/fork"
    monkeypatch.setenv("BOOK_REPOSITORY", "cleo/course")
    assert repository(clone) == "cleo/course"
    first = student_notebook(key_of(EXAMPLE), "ada", checked=False).cells[2].source
    assert "git+https://github.com/cleo/course" in first


def test_who_has_no_repository_is_told_where_students_would_install_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, GOOD)
    for name, is_told in (("owner/every-flop", True), ("ada/every-flop", False)):
        monkeypatch.setenv("BOOK_REPOSITORY", name)
        assert main(["build", str(tmp_path), str(tmp_path / name)]) == 0
        said = capsys.readouterr().out
        assert ("costlib from owner/every-flop, which is no repository" in said) == is_told
        assert ("BOOK_REPOSITORY=you/your-fork before make course" in said) == is_told


def check(monkeypatch: pytest.MonkeyPatch, question: Question, right: Any, given: Any) -> Any:
    table = {"f": checks_for(question, {}, right, "00" * 8)}
    assert str(right) not in json.dumps(table)
    monkeypatch.setattr(check_cell, "CHECKS", table)
    return check_cell.verdict("f", given)


GB = Mistake("GB for GiB", lambda: 137.438953472, "A GiB is 2³⁰ bytes.")
#: What is right, what is given, and what the check says at once.
CHECKED = (
    (128.25, 128.25, True),
    (128.25, 128.2501, True),
    (128.25, 128.9, "Not yet."),
    (128.25, -128.25, "Not yet."),
    (128.25, 137.44, "GB for GiB? A GiB is 2³⁰ bytes."),
    (1234567, 1234567.0, True),
    (1234567, 1234568, "Not yet."),
    ([1234567, "yes"], (1234567, "yes"), True),
    ({"unlikely": 1.5}, {"unlikely": 1.5}, True),
    (12345.5, None, "Not yet."),
)


def test_immediate_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    for right, given, said in CHECKED:
        question = Question("f", mistakes=[GB] if right == 128.25 else [])
        assert check(monkeypatch, question, right, given) == said, given
    assert "object" in check(monkeypatch, Question("f"), 12345.5, object())
    assert check(monkeypatch, Question("f"), 12345.5, float("nan")) != True  # noqa: E712


def test_comparison() -> None:
    alike = [(2**60, 2**60), (2**60, float(2**60)), (0.0, 0)]
    other = [(2**60, 2**60 + 1), (2**60, 1.001 * 2**60), (1.0, True), (1, "1"), (0.0, 1e-9)]
    other += [([1, 2], [1, 2, 3]), ({"a": 1}, {"b": 1})]
    assert [pair for pair in alike if not agree(*pair)] == []
    assert [pair for pair in other if agree(*pair)] == []


@pytest.mark.parametrize(
    ("code", "binds", "needs"),
    [
        ("import numpy as np\nx = np.zeros(n)", {"np", "x"}, {"n"}),
        ("def f(a=b):\n    global g\n    g = h(a)", {"f", "g"}, {"b", "h"}),
        ("for i in range(3): print(i, j)", {"i"}, {"j"}),
        ("class A(B):\n    c = d\n    def m(self): return e", {"A"}, {"B", "d", "e"}),
        ("from math import *\nx = sqrt(2)", {"x", "__everything__"}, {"sqrt"}),
        ("with open(p) as f: t = f.read()", {"f", "t"}, {"p"}),
        ("y = [q for q in r]; z += 1", {"y", "z"}, {"r"}),
    ],
)
def test_names(code: str, binds: set[str], needs: set[str]) -> None:
    assert bound(code) >= binds
    assert needed(code) >= needs
    assert not needed(code) & binds


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["def f(): return 1"], "0"),
        (["def f(): return g()", "while True: pass", "def g(): return 1"], "02"),
        (["%matplotlib inline\ndef f(): return 1", "!ls", "%%bash\nls"], "0"),
        (["def f(): return 1", "def f():\n    raise NotImplementedError"], "0"),
        (["def f():\n    raise NotImplementedError"], "0"),
        (["def f(): return 1", "def f(): return 2"], "01"),
        (["def f(): return np.pi", "import numpy as np; 1 / 0"], "0"),
        (["from math import *", "def f(): return pi"], "01"),
        (["def f(: return 1", "x = 1"], "0"),
        (["f = lambda: 1", "print(f())"], "0"),
        (["k = 1", "k = k + 1", "def f(): return k"], "012"),
        (["(" * 1000, "def f(): return 1"], "1"),
    ],
)
def test_the_cells_of_an_answer(cells: list[str], labels: str) -> None:
    named = [(str(number), cell) for number, cell in enumerate(cells)]
    assert "".join(label for label, _ in answer_cells(named, "f", {"np"})) == labels


SETUP = cell("import math\nimport os\n\nunused = 1 / 1\nradius = 2\narea = math.pi * radius**2")
FIRST = "**1. First.** Half of it?\n\n<details><summary>Hint</summary>\n\nDivide.\n\n</details>"
GOOD = 'def half(x=1.5):\n    """Half."""\n    return x / 2 + area\n\nprint(half(x=3.0))'


def made(tmp_path: Path, solution: str, *more: str, checks: str = "QUESTIONS = []") -> Path:
    exercise = solved(FIRST, solution)
    return a_page(tmp_path, checks, SETUP, "## Exercises\n\nSome words.\n\n", exercise, *more)


def test_a_source_is_read_with_the_setup_it_needs(tmp_path: Path) -> None:
    source = read_source(made(tmp_path, GOOD))
    assert source.title == "A week"
    assert source.setup == "import math\nradius = 2\narea = math.pi * radius**2"
    (exercise,) = source.exercises
    assert (exercise.name, exercise.number, exercise.title) == ("half", 1, "First")
    assert exercise.statement.startswith("**1. First.**")
    assert "Divide." in exercise.statement
    assert exercise.example == {"x": 3.0}
    assert exercise.signature == "def half(x=1.5):"
    assert exercise.body == "    return x / 2 + area"


@pytest.mark.parametrize(
    ("solution", "words"),
    [
        ("print(1)", "one plain function"),
        ("def half(x): return x / 2\n\nprint(half(1))", "docstring"),
        ('def half(x):\n    """Half."""\n    return x / 2', "never calls"),
        (GOOD, "no statement"),
    ],
)
def test_a_source_in_the_wrong_form_is_refused(tmp_path: Path, solution: str, words: str) -> None:
    more = [solved("", solution)] if words == "no statement" else []
    with pytest.raises(ValueError, match=words):
        read_source(made(tmp_path, solution, *more))


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ("QUESTIONS = [Question('other')]", "no exercise other"),
        ("QUESTIONS = [Question('half', numbers={'y': [1]})]", "no argument y"),
        ("QUESTIONS = [Question('half', cases=[{'z': 1}])]", "half has no argument z; it has x"),
        ("QUESTIONS = [Question('half', kind='guess')]", "kind is one of"),
        ("QUESTIONS = [Question('half', points=0)]", "positive"),
        ("QUESTIONS = [Question('half', kind='number', hidden=2)]", "asked once"),
        ("QUESTIONS = [Question('half', numbers={'x': []})]", "half: nothing to draw x from"),
        ("QUESTIONS = [Question('half'), Question('half')]", "half stands there twice"),
        ("QUESTIONS = ['half']", "a list of Question"),
        (
            "QUESTIONS = [\n  Question('half', points=2\n]",
            r"week.checks.py, line \d, at half: Syntax",
        ),
        ("QUESTIONS = [\n  Question('half', points=x)]", "line 3, at half: NameError: name 'x'"),
        (
            "QUESTIONS = [\n  Question('half'),\n  Question(\n  'twice', kind='number', hidden=1)]",
            "line 4, at twice: ValueError: twice: a number is asked once",
        ),
        ("QUESTIONS = [Question('half')]\nPOOLS = 1 / 0", "line 3: ZeroDivisionError"),
    ],
)
def test_checks_in_the_wrong_form_are_refused(tmp_path: Path, checks: str, words: str) -> None:
    twice = solved("**2. Second.** Twice?", GOOD.replace("half", "twice"))
    source = read_source(made(tmp_path, GOOD, twice))
    with pytest.raises(ValueError, match=words):
        load_checks("from course.builder.questions import Question\n" + checks, source)


def test_what_an_instructor_gets_wrong_is_a_sentence_with_the_questions_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = GOOD.replace(
        "return x / 2 + area", "import pandas; return pandas.DataFrame({'x': [x]})"
    )
    slip = "[Question('half', mistakes=[Mistake('none', lambda y: y, 'No y.')])]"
    for solution, checks, words in (
        (table, "", "half fails for {'x': 3.0}: ValueError: a DataFrame is no plain value"),
        (GOOD.replace("x / 2", "x / 0"), "", "half fails for {'x': 3.0}: ZeroDivisionError"),
        (GOOD.replace("x / 2 + area", "x /"), "", "a solution cell: invalid syntax"),
        (GOOD, f"QUESTIONS = {slip}", "half: the mistake 'none' fails"),
    ):
        made(tmp_path, solution, checks=checks or "QUESTIONS = []")
        assert main(["build", str(tmp_path), str(tmp_path / "out")]) == 1
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert words in said


def test_a_question_without_a_check_is_compared_with_its_solution(tmp_path: Path) -> None:
    key = open_key(made(tmp_path, GOOD))
    assert run(student_notebook(key, "", solved=True))[0].endswith("half: right.\n")
    wrong = student_notebook(key, "", solved=True)
    wrong.cells[-2].source = "def half(x): return x / 2"
    assert run(wrong)[0].endswith("half: 1.5. Not yet.\n")


def test_a_solution_that_prints_prints_nothing_where_pages_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = open_key(made(tmp_path, GOOD.replace("return x / 2", "print(x)\n    return x / 2")))
    assert key.expected("half", {"x": 3.0}) == pytest.approx(1.5 + 4 * math.pi)
    assert capsys.readouterr().out == ""


#: Lists of a class, as somebody wrote them, or as a system exports them in data/rosters: ids, each
#: with other words that are known for the same student.
ROSTERS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "lines": ("ada\n\nbob\n", {"ada": ()}),
    "a table": ("Name,Email\nAda L,ada@example.org\n", {"ada@example.org": ("Ada L",)}),
    "odd marks in a name": ("student,name\nada,A\u2028L\nbob,B\x1cB\n", {"ada": (), "bob": ()}),
    "canvas": ("", {"ada": ("101", "u1"), "vgogh": ("102", "u2", "van Gogh, Vincent")}),
    "canvas_hidden": ("", {"ada": ("101", "Ada Lovelace"), "vgogh": ("van Gogh, Vincent",)}),
    "moodle_sheet": ("", {"ada@example.org": ("Ada Lovelace", "4711")}),
    "moodle_blind": ("", {"Participant 4711": ("4711",), "Participant 4712": ()}),
    "staff": ("", {"ada@example.org": (), "bob@example.org": ()}),
    "moodle": ("", {"ada@example.org": ("u1", "Ada Lovelace"), "zoe@example.org": ()}),
    "gradescope": ("", {"u1": ("Ada Lovelace", "ada@example.org")}),
}


@pytest.mark.parametrize("which", ROSTERS)
def test_a_roster_is_lines_or_what_a_system_exports(tmp_path: Path, which: str) -> None:
    path, (text, wanted) = DATA / "rosters" / f"{which}.csv", ROSTERS[which]
    if text:
        path = tmp_path / "roster.csv"
        path.write_text(text, "utf-8")
    found = read_people(path)
    assert list(found) == read_roster(path)
    assert set(wanted) <= set(found)
    assert len(found) == (1 if which in ("a table", "gradescope") else 2)
    for student, others in wanted.items():
        assert set(others) <= set(found[student])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("First name,Last name\nAda,Lovelace\n", "no column of ids, but First name, Last name"),
        ("student,name\nada,A\n,B\n", "line 3: no id for B"),
        ("ada\nbob\nada\n", "line 3: ada stands there twice"),
        ("Vorname,Nachname,E-Mail-Adresse\nA,L,a@x.org\n", "none of them is known as a column"),
        ("Ada\nada\n", "line 2: ada is Ada in another spelling"),
        ("Zoe\u0308\nZo\u00eb\n", "in another spelling"),
        ("student,n\nada," + "x" * 200_000 + "\n", "line 2: no table: field larger"),
        (",Ada\nbob,Bob\n", "line 1: no id in the first column"),
    ],
)
def test_a_roster_that_names_nobody_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=why):
        read_roster(path)
    path.write_bytes("Zo\u00eb\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not UTF-8: export it as CSV in UTF-8"):
        read_roster(path)


def test_a_student_notebook_runs_in_jupyter(tmp_path: Path) -> None:
    """Cell by cell in a kernel, as in Colab: magics, output and all."""
    from nbclient import NotebookClient

    notebook = student_notebook(key_of(EXAMPLE), "ada", solved=True)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute(cwd=str(tmp_path))
    said = "".join(o.get("text", "") for c in notebook.cells for o in c.get("outputs", []))
    assert said.count(": right.") == 3
    assert said.count("Noted; the grader looks at it.") == 3


def test_the_commands_explain_themselves() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "course", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("build", "grade", "gradescope-zip"))


def test_doctests() -> None:
    import doctest
    import importlib
    import pkgutil

    import course

    modules = [found.name for found in pkgutil.walk_packages(course.__path__, "course.")]
    assert {"course.builder.source", "course.grader.marking"} <= set(modules)
    for module in modules:
        assert doctest.testmod(importlib.import_module(module)).failed == 0, module


# The whole of what an author wrote.

WHOLE = (
    "Hand in by Friday. ![a curve](curve.png)\n\n",
    cell("import numpy as np\nimport nowhere_to_be_had\n\nrate = 2.0\ndata = [1, 2, 3]"),
    "## Counting\n\nRead this first.\n\n**1. Double.** Twice [[x]]?\n\n",
    cell(
        "import statistics  # a helper for the next answer\n\n"
        "def middle(values):\n    return statistics.median(values)"
    ),
    cell(
        'def double(x):\n    """Twice the number."""\n    return rate * x\n\nprint(double(3))',
        ":tags: [hide-cell, solution]\n",
    ),
    "**2. Think.** No solution stands below, and it stays all the same.\n\n## Writing\n\n",
    in_words(
        "**3. Why?** Why does it level off at [[n]]?",
        "why",
        "Because of the bandwidth, at [[n]].",
    ),
    solved(
        "**4. Draw.** Draw the data.",
        "import matplotlib.pyplot as plt\n\nplt.plot(data);",
        "drawing",
    ),
    "Thank you.\n",
)
BY_HAND = """
QUESTIONS = [
    Question("double", kind="number", numbers={"x": range(100, 900)}, points=2),
    Question("why", kind="text", numbers={"n": range(10, 99)},
        rubric=[Criterion(2, "names the bandwidth"), Criterion(1, "says at which n")]),
    Question("drawing", kind="figure", points=3),
]
"""
CURVE = b"\x89PNG\r\n\x1a\n" + bytes(20)


def a_week(folder: Path, change: tuple[str, str] = ("", ""), checks: str = BY_HAND) -> Path:
    """A whole page with its checks, and words replaced in both."""
    (folder / "curve.png").write_bytes(CURVE)
    return a_page(folder, checks.replace(*change), *(part.replace(*change) for part in WHOLE))


def sources(notebook: Any) -> str:
    return "\n".join(cell.source for cell in notebook.cells)


def test_students_get_everything_but_the_solutions(tmp_path: Path) -> None:
    key = open_key(a_week(tmp_path), whole=True)
    blank = student_notebook(key, "ada")
    text, numbers = sources(blank), {n: key.numbers(n, "ada") for n in ("double", "why")}
    for kept in (
        "Hand in by Friday. ![a curve](data:image/png;base64,",
        "## Counting\n\nRead this first.",
        "import numpy as np\nimport nowhere_to_be_had\n\nrate = 2.0\ndata = [1, 2, 3]",
        "def middle(values):",
        "**2. Think.** No solution stands below",
        "Thank you.",
        f"**1. Double.** *(2 points)* Twice {numbers['double']['x']}?",
        f"**2. Why?** *(3 points)* Why does it level off at {numbers['why']['n']}?",
        "*Your answer (why):*",
        "# Your figure (drawing):",
    ):
        assert kept in text, kept
    kinds = [c.cell_type for c in blank.cells if "exercise" in c.metadata]
    assert kinds == ["code", "markdown", "code"]
    solved_text = sources(student_notebook(key, "ada", solved=True))
    for hidden in ("rate * x", "Because of the bandwidth", "plt.plot"):
        assert hidden not in text
        assert hidden in solved_text
    assert f"Because of the bandwidth, at {numbers['why']['n']}" in solved_text


def test_a_title_may_hold_a_formula(tmp_path: Path) -> None:
    page = a_week(tmp_path, ("**3. Why?", r"**3. $\alpha$ \1!"))
    text = sources(student_notebook(open_key(page, whole=True), "ada"))
    assert r"**2. $\alpha$ \1!** *(3 points)*" in text


def test_an_answer_may_use_an_import_that_no_solution_uses(tmp_path: Path) -> None:
    key = open_key(a_week(tmp_path), whole=True)
    assert "import numpy as np" in key.source.setup
    space = key.source.namespace()  # what is not installed is passed over
    assert {"np", "double", "rate"} <= set(space)
    assert "nowhere_to_be_had" not in space
    student = student_notebook(key, "ada")
    cells = [(str(i), c.source) for i, c in enumerate(student.cells) if c.cell_type == "code"]
    answer = ("own", "def double(): return middle([rate * 3])")
    chosen = answer_cells([*cells, answer], "double", bound(key.source.setup))
    assert any("def middle" in code for _, code in chosen)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("curve.png", "missing.png"), "the figure missing.png is not in"),
        (('"answer": "why"', '"other": "why"'), "marked by hand needs a name: answer"),
        (('"answer": "why"', '"answer": "why not"'), "'why not' is no name for an answer"),
        (('Question("drawing", kind="figure"', 'Question("drawing"'), "drawing is a function"),
        (("Criterion(2,", "Criterion(0,"), "points must be positive"),
        (('kind="text", ', 'kind="text", points=9, '), "adds up to 3, its points are 9"),
        (
            ('"says at which n"', '"names the bandwidth"'),
            "its rubric says 'names the bandwidth' twice",
        ),
        (('kind="figure"', 'kind="figure", hidden=1'), "marked by hand, from a rubric alone"),
        (("points=2", "points=2, pool='p'"), "POOLS does not say how many of 'p' to give"),
        (("QUESTIONS = [", "POOLS = {'p': 2}\nQUESTIONS = ["), "'p' has 0 questions, not 2"),
        (("QUESTIONS = [", "KEEP = 'worst'\nQUESTIONS = ["), "KEEP is one of last, first, best"),
        (("QUESTIONS = [", "DEADLINE = 'soon'\nQUESTIONS = ["), "DEADLINE is a Deadline"),
        (("points=2", "points=2, partial=True"), "double: partial points are for a function"),
    ],
)
def test_a_whole_page_in_the_wrong_form_is_refused(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    page = a_week(tmp_path, change)
    with pytest.raises(ValueError, match=words):
        open_key(page, whole=True)


POOLED = """
POOLS = {"one": 1}
QUESTIONS = [
    Question("double", kind="number", numbers={"x": range(100, 900)}, pool="one"),
    Question("drawing", kind="figure", pool="one"),
    Question("why", kind="text", numbers={"n": range(10, 99)}),
]
"""


@pytest.mark.usefixtures("fast")
def test_of_a_pool_each_student_gets_some_and_keeps_them(tmp_path: Path) -> None:
    students = [f"s{number}" for number in range(30)]
    key = build_one(a_week(tmp_path, checks=POOLED), tmp_path / "out", students)
    given = {s: [e.name for e, _ in key.graded(s)] for s in students}
    assert {tuple(names) for names in given.values()} == {("double", "why"), ("why", "drawing")}
    assert [e.name for e, _ in key.graded()] == ["double", "why", "drawing"]
    for student in students[:9]:
        path = tmp_path / "out" / "student" / student / "week.ipynb"
        text = sources(nbformat.read(path, 4))
        assert ("def double" in text) == ("double" in given[student])
        assert "**1. " in text
        assert "**2. Draw" in text or "**2. Why?" in text
    again = build_one(tmp_path / "week.md", tmp_path / "out", ["late"])
    assert {s: [e.name for e, _ in again.graded(s)] for s in students} == given


@pytest.mark.usefixtures("fast")
def test_who_hands_in_together_has_the_same_numbers(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("student,group\nada,A\nbob,A\ncleo,B\ndan,\n", "utf-8")
    key = build_one(EXAMPLE, tmp_path / "out", read_class(roster))
    numbers = {s: key.numbers("product_flops", s) for s in ("ada", "bob", "cleo", "dan")}
    assert numbers["ada"] == numbers["bob"]
    assert len({json.dumps(n) for n in numbers.values()}) == 3
    assert set(key.handed_out) == {"group A", "group B", "dan"}
    groups = load_key(tmp_path / "out" / "key" / "week-1").groups
    assert groups == {"ada": "A", "bob": "A", "cleo": "B"}


# What a notebook says of an answer, and what that is worth.


def test_a_number_has_no_fingerprint_unless_it_is_asked_for(monkeypatch: Any) -> None:
    key = key_of(EXAMPLE)
    text = sources(student_notebook(key, "ada"))
    table = json.loads(text.split("CHECKS = json.loads('")[1].split("')")[0].replace("\\\\", "\\"))
    for name in ("product_flops", "cache_bytes"):
        assert table[name] == {"arguments": {}, "form": "a whole number"}
    assert "right" in table["best_seconds"]
    practice = student_notebook(open_key(EXAMPLE), "")
    assert '"product_flops": {"arguments": {}, "salt"' in sources(practice)
    monkeypatch.setattr(check_cell, "CHECKS", table)
    for given, words in ((7, ""), (7.0, ""), (7.5, "A whole number"), ("7", "A whole number")):
        assert check_cell.misfit(given, "a whole number")[:14] == words
    assert check_cell.misfit([1, "x"], ["a number"]) == "A number was asked for."
    assert check_cell.misfit((1, 2.5), ["a number"]) == ""
    assert check_cell.misfit({"a": 1}, {"a": "a number", "b": "a text"}).startswith("A dictionary")
    assert check_cell.misfit({"a": 1}, {"a": "True or False"}) == "True or False was asked for."


def test_a_check_says_what_is_asked_for_of_a_wrong_signature_and_of_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def area(a: int, c: int) -> None:
        print(a * c)

    table = {"area": {"arguments": {"a": 2, "b": 3}, "form": "a whole number"}}
    monkeypatch.setattr(check_cell, "CHECKS", table)
    check_cell.check(area)
    said = capsys.readouterr().out
    assert said.startswith("area: ")
    assert said.endswith(". The statement asks for area(a, b).\n")
    table["area"]["arguments"] = {"a": 2, "c": 3}
    check_cell.check(area)
    assert capsys.readouterr().out.endswith(
        "it returned nothing. An answer is returned, not printed.\n"
    )


def test_a_dry_run_solves_what_everybody_gets_and_says_what_is_odd(tmp_path: Path) -> None:
    narrow = ("range(211, 990)", "range(1, 3)")
    shown = ('points=1,\n        kind="number"', 'points=1, show=True, kind="number"')
    page = copy_of_the_example(tmp_path, narrow, shown)
    key = open_key(page, whole=True)
    key.secret, key.roster = "secret", [f"s{number}" for number in range(40)]
    hand_out(key)
    said = "\n".join(dry_run(key))
    mistake = Mistake("none", lambda x: 0 * x, "It matters.")
    question = Question("f", mistakes=[mistake])
    for cases, words in (
        ([({"x": 3}, 0)], ["the answer is 0", "the mistake 'none' is right"]),
        ([({"x": 3}, 0), ({"x": 4}, 4)], ["the answer is 0", "the answer is one of the given"]),
        ([({"x": 3}, float("inf"))], ["the answer is inf, which nobody can hand in"]),
        ([({"x": 3}, [])], ["the answer is empty"]),
    ):
        assert [line[:30] for line in _odd(question, cases)] == [line[:30] for line in words]
    assert "show=True puts a fingerprint into each notebook; on this machine formulas" in said
    assert re.search(r"solved \d+ cases of 40 students", said)
    fine = key_of(EXAMPLE)
    fine.roster = key.roster
    assert list(dry_run(fine)) == ["solved 720 cases of 40 students"]
