"""The contest: honest schedules in their order, and no count for anything that is no schedule."""

from __future__ import annotations

import csv
import html
import json
import math
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from notebook_checks import blocks, graded_in

from costlib import iomodel
from costlib.iomodel import Schedule
from costlib.iomodel.memory import spans
from course.builder.answer_key import Key, load_key
from course.builder.assignments import build_one
from course.builder.questions import Question
from course.builder.samples import hand_in
from course.grader.board import places, pseudonym, write_board
from course.grader.marking import Graded, Mark
from paths import ROOT

PAGE = ROOT / "course" / "contest" / "transfers.md"
CASE = {"m": 6, "k": 5, "n": 4, "M": 15}
NEEDS_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux")

#: A product by tiles of C of some side, as a student writes it.
TILED = """\
def product_moves(m, k, n, M):
    schedule = Schedule(M, A=(m, k), B=(k, n))
    schedule.reserve("C", m, n)
    side = SIDE
    for rows in spans(m, side):
        for cols in spans(n, side):
            shape = rows.stop - rows.start, cols.stop - cols.start
            with schedule.allocate("C", *shape, fill=0) as tile:
                for inner in spans(k, 1):
                    with schedule.load("A", rows, inner) as a, schedule.load("B", inner, cols) as b:
                        tile.add_product(a, b)
                schedule.store(tile, "C", rows, cols)
    return schedule.moves
"""
ENTRIES = TILED.replace("SIDE", "1")
THIRDS = TILED.replace("SIDE", "math.isqrt(M // 3)")
BEST = TILED.replace("SIDE", "math.isqrt(M + 1) - 1")
ALL_AT_ONCE = TILED.replace("SIDE", "max(m, n)")


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return build_one(PAGE, tmp_path_factory.mktemp("contest"), [])


@pytest.fixture(scope="module")
def product(key: Key) -> Question:
    return key.questions["product_moves"]


@pytest.fixture(scope="module")
def attention(key: Key) -> Question:
    return key.questions["attention_moves"]


def moves_of(code: str, **sizes: int) -> Any:
    """What an answer returns."""
    space: dict[str, Any] = {"math": math, "Schedule": Schedule, "spans": spans}
    exec(code, space)
    return space["product_moves"](**sizes)


def graded(
    place: Path, answers: dict[str, str], *, roster: list[str] | None = None, **options: Any
) -> dict[str, Mark]:
    """A class that answers the first question only: what each got for it."""
    key = build_one(PAGE, place, list(answers) if roster is None else roster)
    (place / "in").mkdir()
    for number, (student, code) in enumerate(answers.items()):
        notebook = hand_in(key, student, {"product_moves": code}, solved=False)
        nbformat.write(notebook, place / "in" / f"{number}.ipynb")
    results = graded_in(place, "key/transfers", **options)
    return {g.student: m for g in results for m in g.marks if m.question == "product_moves"}


def board(place: Path) -> list[list[str]]:
    """The rows of board.csv: question, place, student, pseudonym, count, bound."""
    with (place / "out" / "board.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def true_count(key: Key, side: Any) -> int:
    """What the tiled product moves in all cases, by the formula."""
    total = 0
    for case in key.cases("product_moves", ""):
        m, k, n = case["m"], case["k"], case["n"]
        b = side(case["M"])
        total += k * (-(-n // b) * m + -(-m // b) * n) + m * n
    return total


@NEEDS_LINUX
@pytest.mark.usefixtures("fast_hashes")
def test_three_honest_schedules_are_ranked_and_ties_shared(key: Key, tmp_path: Path) -> None:
    answers = {"ada": ENTRIES, "bob": BEST, "cleo": THIRDS, "dan": BEST, "eve": "1 +", "fay": ""}
    found = graded(tmp_path, answers)
    counts = {name: mark.count for name, mark in found.items()}
    best = true_count(key, lambda M: int((M + 1) ** 0.5) - 1)
    assert counts == {
        "ada": true_count(key, lambda _: 1),
        "bob": best,
        "cleo": true_count(key, lambda M: int((M // 3) ** 0.5)),
        "dan": best,
        "eve": None,
        "fay": None,
    }
    shown = [tuple(row[1:3]) for row in board(tmp_path)]
    assert sorted(shown[:2]) == [("1", "bob"), ("1", "dan")]
    assert shown[2:] == [("3", "cleo"), ("4", "ada")]
    assert {mark.score for name, mark in found.items() if name < "e"} == {2}
    page = (tmp_path / "out" / "board.html").read_text("utf-8")
    assert not re.search("ada|bob|cleo|dan", page), "by pseudonyms unless names are asked for"
    least = sum(iomodel.bounds.matmul_total(**case) for case in key.cases("product_moves", ""))
    assert f"less than {int(np.ceil(least)):,}" in page
    own = load_key(tmp_path / "key" / "transfers")
    told = (tmp_path / "out" / "feedback" / "bob.md").read_text("utf-8")
    assert pseudonym(own, "bob") in told
    assert f"{pseudonym(own, 'bob')}</td><td>{best:,}</td>" in page


def written(heading: str) -> dict[str, str]:
    """Answers that stand in moves.md."""
    whole = {"ENTRIES\n": ENTRIES, "BEST\n": BEST}
    found = {title: code for title, (_, code) in blocks("moves.md")[heading].items()}
    for name, code in whole.items():
        found = {title: each.replace(name, code) for title, each in found.items()}
    return found


COUNTERS = "    schedule._hands.memory.reads = 0\n    return"
UNLIMITED = '    schedule._hands.memory.capacity = None\n    schedule.reserve("C"'
UNREAD = "    schedule.moves = [s for s in schedule.moves if s[0] != 'load']\n    return"
LIES = written("Lies about counts")
LIES |= {"sets the counters back": ENTRIES.replace("    return", COUNTERS)}
CHEATS = written("Not a schedule") | {
    "a memory of its own size": ALL_AT_ONCE.replace("Schedule(M,", "Schedule(10**6,"),
    "lifts the capacity": ALL_AT_ONCE.replace('    schedule.reserve("C"', UNLIMITED),
    "the schedule and not its moves": ENTRIES.replace("schedule.moves", "schedule"),
    "loads less than it says": ENTRIES.replace("    return", UNREAD),
}


@NEEDS_LINUX
@pytest.mark.usefixtures("fast_hashes")
def test_whatever_a_process_says_of_itself_only_its_moves_count(key: Key, tmp_path: Path) -> None:
    """In the sandbox: a lie about counts gets the true one, anything else no place."""
    names = [f"student-{i:02}" for i in range(len(LIES) + len(CHEATS))]
    which = dict(zip([*LIES, *CHEATS], names, strict=True))
    answers = {which[title]: code for title, code in (LIES | CHEATS).items()}
    found = graded(tmp_path, answers, jobs=2)
    for title in LIES:
        assert found[which[title]].count == true_count(key, lambda _: 1), title
    for title in CHEATS:
        mark = found[which[title]]
        assert (mark.count, mark.score) == (None, 0), title
        assert mark.reason, title
    assert {row[2] for row in board(tmp_path)} == {which[title] for title in LIES}


def forged(product: Question, moves: Any) -> str:
    """Why moves do not count."""
    verdict = product.judge(CASE, None, json.loads(json.dumps(moves)))
    assert isinstance(verdict, str), "it counts"
    return verdict


def test_moves_that_leave_something_out_are_not_right(product: Question) -> None:
    honest = moves_of(BEST, **CASE)
    assert product.judge(CASE, None, honest) is True
    assert product.count is not None
    assert product.count(honest, **CASE) == 5 * (6 * 2 + 4 * 2) + 24
    assert "not right" in forged(product, [m for m in honest if m[0] != "store"])
    assert "needs" in forged(product, [m for m in honest if m[0] != "drop"])
    last = max(i for i, move in enumerate(honest) if move[0] == "add_product")
    assert "not right" in forged(product, honest[:last] + honest[last + 1 :])
    assert "drop" in forged(product, [*honest, ["load", "A", 0, 1, 0, 1]])
    renamed = [["reserve", "D", 6, 4], *honest[1:]]
    assert "no other array" in forged(product, renamed)
    assert "array C" in forged(product, [])
    assert "array C" in forged(product, [["reserve", "C", 4, 6]])
    assert "form" in forged(product, [*honest, ["drop"]])


def test_two_entries_do_not_fit_into_one(product: Question) -> None:
    """A sum with 2²⁷ rounds a small number: whoever packs two into one keeps half of each."""
    schedule = Schedule(15, A=(6, 5), B=(5, 4))
    schedule.reserve("C", 6, 4)
    for i in range(6):
        for j in range(4):
            row, col = slice(i, i + 1), slice(j, j + 1)
            with schedule.load("A", row) as a, schedule.load("B", slice(None), col) as b:
                b += 2.0**27
                b -= 2.0**27
                with schedule.allocate("c", 1, 1) as c:
                    c.set_product(a, b)
                    schedule.store(c, "C", row, col)
    assert "not right" in forged(product, schedule.moves)


def test_fewer_than_the_bound_is_no_count(product: Question, monkeypatch: Any) -> None:
    honest = moves_of(BEST, **CASE)
    monkeypatch.setattr(iomodel.bounds, "matmul_total", lambda *_: 10_000.0)
    assert "fewer than the bound" in forged(product, honest)


def attention_moves(key: Key, *changes: tuple[str, str], **sizes: int) -> Any:
    """The page's own schedule, with changes of its text; here a row at a time."""
    code = key.exercise("attention_moves").function
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    space: dict[str, Any] = {"math": math, "Schedule": Schedule, "spans": spans}
    exec(code, space)
    return space["attention_moves"](**sizes)


def test_attention_is_whole_and_steady(key: Key, attention: Question) -> None:
    """Without the maxima, or without the last key, it is not attention."""
    case = {"n": 12, "d": 3, "M": 20}
    assert attention.count is not None
    assert attention.least is not None
    honest = attention_moves(key, **case)
    assert attention.judge(case, None, honest) is True
    assert attention.count(honest, **case) == 12 * 3 * (2 + 2 * 12)
    assert attention.count(honest, **case) >= attention.least(**case)
    maxima = ("top.raise_to_row_maxima(score)", "pass"), ("fill=-math.inf", "fill=0")
    for changes in (maxima, [("for key in spans(n, 1)", "for key in spans(n - 1, 1)")]):
        moves = attention_moves(key, *changes, **case)
        assert "not right" in str(attention.judge(case, None, moves))


def test_the_pages_own_schedules_count_what_the_library_counts(key: Key) -> None:
    """Blocks of rows against one key after the other are FlashAttention-2's order."""
    question = key.questions["attention_moves"]
    assert question.count is not None
    for case in key.cases("attention_moves", ""):
        n, d, M = case["n"], case["d"], case["M"]
        moves = key.expected("attention_moves", case)
        x = np.ones((n, d))
        rows = min(n, (M - d) // (2 * d + 4))
        run = iomodel.flash2(x, x, x, None, block_rows=rows, block_cols=1)
        assert question.count(moves, **case) == run.total
        assert len(json.dumps(moves)) < 500_000


HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd|'/c calc'!A1",
    "a\u202eb\x1b[31m",
    "x" * 3000,
    "&amp;\n<b>",
]


@pytest.mark.parametrize("names", [False, True])
def test_names_on_the_board_are_text(key: Key, tmp_path: Path, names: bool) -> None:
    results = [
        Graded(name, "1", (Mark("product_moves", 2, 2, count=4000 + i),))
        for i, name in enumerate(HOSTILE)
    ]
    results.append(Graded("wrong", "1", (Mark("product_moves", 0, 2),)))
    write_board(key, results, tmp_path, names=names)
    page = (tmp_path / "board.html").read_text("utf-8")
    cells = [html.unescape(c) for c in re.findall(r"<td>([^<]*)</td>", page)][1::4]
    assert len(cells) == len(HOSTILE)
    assert not re.search("<script|<b>|\x1b|\u202e", page)
    assert max(map(len, cells)) <= 200
    assert (cells[0] == HOSTILE[0]) is names
    with (tmp_path / "board.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[2][:1] for row in rows[1:3]] == ["<", "'"], "no cell is a formula"
    assert len(rows) == 1 + len(HOSTILE)


def test_a_group_has_one_place_and_one_pseudonym(tmp_path: Path) -> None:
    key = build_one(PAGE, tmp_path, ["ada", "bob", "cleo"])
    key.groups.update({"ada": "red", "bob": "red"})
    results = [
        Graded(name, "1", (Mark("product_moves", 2, 2, count=count),))
        for name, count in (("ada", 900), ("bob", 800), ("cleo", 850))
    ]
    found = places(key, results, "product_moves")
    assert [(p.rank, p.unit, p.count) for p in found] == [(1, "group red", 800), (2, "cleo", 850)]
    assert pseudonym(key, "ada") == pseudonym(key, "bob") != pseudonym(key, "cleo")


@NEEDS_LINUX
@pytest.mark.usefixtures("fast_hashes")
def test_a_board_can_be_made_again_with_names(tmp_path: Path) -> None:
    """From the journal: nobody is graded twice for it."""
    graded(tmp_path, {"ada": THIRDS})
    journal = (tmp_path / "out" / "journal.jsonl").read_bytes()
    graded_in(tmp_path, "key/transfers", names=True)
    assert (tmp_path / "out" / "journal.jsonl").read_bytes() == journal
    assert "<td>ada</td>" in (tmp_path / "out" / "board.html").read_text("utf-8")


def test_a_count_and_its_bound_go_together() -> None:
    with pytest.raises(ValueError, match="both count and least"):
        Question("f", count=len)
    with pytest.raises(ValueError, match="same cases for all"):
        Question("f", count=len, least=len, numbers={"n": [1, 2]})


def test_an_assignment_without_counts_has_no_board(key: Key, tmp_path: Path) -> None:
    plain = Key(key.assignment, key.source, {}, "secret")
    plain.questions.update({e.name: Question(e.name) for e in key.source.exercises})
    write_board(plain, [], tmp_path)
    assert list(tmp_path.iterdir()) == []
    shutil.rmtree(tmp_path)
