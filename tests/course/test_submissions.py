"""What a submission may try, and what it must get: one question lost, the rest graded.

Every row is run in bubblewrap where it works, and without it everywhere.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import platform
import re
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_checks import EXAMPLE, blocks

import sampling
from course.builder.answer_key import Key
from course.builder.assignments import build_one
from course.builder.questions import Question
from course.builder.samples import hand_in
from course.grader import fork_server, marking
from course.grader.folders import held_folder
from course.grader.marking import Graded, Mark, mark_question, mark_submission
from course.grader.report import gradescope_results
from course.grader.sandbox import (
    Failure,
    Limits,
    Sandbox,
    bubblewrap_works,
    landlock_works,
    plain_value,
)
from course.grader.submission import Submission, read_submission
from paths import ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux"),
    pytest.mark.usefixtures("fast_hashes"),
]

ADA = "ada"
MODES = [
    pytest.param(True, id="bubblewrap"),
    pytest.param(False, id="no sandbox"),
]
RIGHT = """\
def best_seconds(m, k, n):
    product = costlib.matmul(m, k, n)
    return max(product.flops / 312e12, product.bytes() / 2039e9)
"""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return build_one(EXAMPLE, tmp_path_factory.mktemp("course"), [ADA, "bob"])


@pytest.fixture(scope="module", params=MODES)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param and not bubblewrap_works():
        pytest.skip("bubblewrap is not here, or may not make namespaces")
    limits = Limits(call=60, question=90)  # what must be cut off is given less
    with Sandbox(["math", "costlib"], bubblewrap=request.param, limits=limits) as sandbox:
        yield sandbox


@dataclass(frozen=True)
class Desk:
    """Where notebooks are handed in: as such, as a file, or as an answer and further cells."""

    key: Key
    sandbox: Sandbox

    def submission(self, *cells: str) -> Submission:
        """Ada's notebook, right but for one answer; more cells at its end."""
        notebook = hand_in(self.key, ADA, {"best_seconds": cells[0]})
        notebook.cells += [new_code_cell(code) for code in cells[1:]]
        return parse(notebook)

    def marks(self, handed_in: Any) -> dict[str, Mark]:
        """What each question gets."""
        if isinstance(handed_in, str):
            handed_in = self.submission(handed_in)
        elif isinstance(handed_in, Path):
            handed_in = read_submission(ADA, handed_in)
        elif not isinstance(handed_in, Submission):
            handed_in = parse(handed_in)
        return {mark.question: mark for mark in mark_submission(self.key, handed_in, self.sandbox)}

    def is_right(self, handed_in: Any) -> None:
        """Every question has full marks."""
        found = self.marks(handed_in).values()
        assert [mark for mark in found if mark.score != mark.out_of] == []
        assert len(found) == len(self.key.questions)

    def lost(self, handed_in: Any, question: str = "best_seconds") -> Mark:
        """The one question that was lost; all others have full marks."""
        found = self.marks(handed_in)
        for name, mark in found.items():
            assert mark.score == (0 if name == question else mark.out_of), mark
        return found[question]


def parse(notebook: Any) -> Submission:
    cells = tuple((f"cell {i}", c.cell_type, c.source) for i, c in enumerate(notebook.cells, 1))
    return Submission(ADA, "digest", cells)


@pytest.fixture
def desk(key: Key, sandbox: Sandbox) -> Desk:
    return Desk(key, sandbox)


ANSWERS = blocks("answers.md")
DEEP = "x = " + "-" * 50_000 + "1\nRIGHT\n"
ANSWERS["Nothing"]["a cell too deep to parse"] = "", DEEP
#: What is too long to be written out, or cannot be seen.
RIGHT_TOO = {
    "the mark of another editor": "\ufeffRIGHT\n",
    "a sum of 330 terms": f"from math import *\nx = {' + '.join(['1'] * 330)}\nRIGHT\n",
    "250 calls in a chain": f"from math import *\nx = ''{'.strip()' * 250}\nRIGHT\n",
    "1,200 times elif": "from math import *\nx = 0\nif x == 0: pass\n"
    + "".join(f"elif x == {n}: pass\n" for n in range(1200))
    + "RIGHT\n",
    "90 lambdas in lambdas": f"from math import *\nx = {'lambda: ' * 90}1\nRIGHT\n",
}
ANSWERS["Full marks"] |= {title: ("", code) for title, code in RIGHT_TOO.items()}


def answered(desk: Desk, section: str, title: str) -> tuple[str, Submission]:
    """What an answer should get, and the notebook that has it."""
    expected, *cells = ANSWERS[section][title]
    return expected, desk.submission(*(cell.replace("RIGHT\n", RIGHT) for cell in cells))


@pytest.mark.parametrize("title", ANSWERS["Full marks"])
def test_right_gets_full_marks(desk: Desk, title: str) -> None:
    desk.is_right(answered(desk, "Full marks", title)[1])


@pytest.mark.parametrize("title", ANSWERS["Nothing"])
def test_what_is_not_right_costs_that_question_only(desk: Desk, title: str) -> None:
    expected, handed_in = answered(desk, "Nothing", title)
    lost = desk.lost(handed_in).reason
    found = re.fullmatch if "…" in expected else re.search
    assert found(re.escape(expected).replace("…", r"\w+"), lost), lost


FORGED_PROBLEM = """\
import sys, json, struct
def best_seconds(m, k, n):
    above = sys._getframe(1).f_locals
    data = json.dumps({"nonce": above["case"]["nonce"], "problem": %s}).encode()
    above["channel"].sendall(struct.pack(">I", len(data)) + data)
"""


@pytest.mark.parametrize("problem", ["{'kind': ''}", "[1]", "{'kind': None, 'line': 3}"])
def test_a_problem_without_a_name_is_forged_and_never_reads_right(desk: Desk, problem: str) -> None:
    lost = desk.lost(FORGED_PROBLEM % problem)
    assert "forged" in lost.reason
    tests: Any = gradescope_results(desk.key, Graded(ADA, "1", (replace(lost, reason=""),)))[
        "tests"
    ]
    assert [test["output"] for test in tests] == ["wrong"]


BODY = "def best_seconds(m, k, n):\n    "


@pytest.mark.parametrize("title", sampling.some([*ANSWERS["Never ends"]], 8, "endless"))
def test_what_never_ends_is_ended(desk: Desk, title: str) -> None:
    """In the time that it has, which is short here; the sandbox then grades the rest as ever."""
    key, sandbox, handed_in = desk.key, desk.sandbox, answered(desk, "Never ends", title)[1]
    whole, sandbox.limits = sandbox.limits, replace(sandbox.limits, call=0.4)
    lost = mark_question(key, key.questions["best_seconds"], handed_in, sandbox)
    sandbox.limits = whole
    assert lost[0] == 0
    assert lost[1] in ("time-out", "ended without an answer")
    for name, question in key.questions.items():
        if name != "best_seconds":
            assert mark_question(key, question, handed_in, sandbox)[0] == 1, name


def test_a_notebook_has_its_time_too(desk: Desk) -> None:
    limits = Limits(call=0.6, submission=0.5)
    with Sandbox([], bubblewrap=desk.sandbox.bubblewrap, limits=limits) as short:
        endless = {"product_flops": "def product_flops():\n    while True: pass"}
        found = Desk(desk.key, short).marks(hand_in(desk.key, ADA, endless))
    assert found["product_flops"].reason == "time-out"
    assert "whole notebook" in found["logits_flops"].reason


# What it must not read, and what it must not leave.


def test_nothing_of_the_grader_can_be_read(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not (desk.sandbox.bubblewrap or landlock_works()):
        pytest.skip("no sandbox, and a kernel without Landlock: nothing guards files here")
    folder = tmp_path_factory.getbasetemp()
    key_file, other = next(folder.rglob("key.json")), folder / "bob.ipynb"
    other.write_text("secret", "utf-8")
    files = [key_file, other, ROOT / "course" / "spec.py", Path(__file__), "/etc/passwd"]
    files += ["/proc/1/environ", "/proc/self/maps", "/proc/self/environ"]
    ways = [f"{BODY}return open({str(place)!r}).read()[:5]" for place in files]
    folders = (key_file.parent, folder, ROOT, Path.home(), "/")
    ways += [f"import os\n{BODY}return os.listdir({str(place)!r})" for place in folders]
    for way in ways:
        assert desk.lost(way).reason.startswith(("not permitted", "FileNotFoundError")), way


def ask(sandbox: Sandbox, code: str) -> Any:
    with sandbox.question("import costlib", [("cell 1", code)], "f") as question:
        question.start()
        return question.ask({})


def test_no_answer_is_in_the_process(key: Key, sandbox: Sandbox) -> None:
    code = (
        "import sys, gc, os\ndef f():\n"
        "    held = [o for o in gc.get_objects() if isinstance(o, dict) and 'attempts' in o]\n"
        "    names = [m for m in sys.modules if m.startswith('course')]\n"
        "    return [len(held), names, sorted(os.environ), sys.argv]"
    )
    held, names, environment, arguments = ask(sandbox, code)
    assert (held, names) == (0, [])
    assert not {"PYTHONPATH", "USER", "LOGNAME"} & set(environment)
    assert key.secret not in json.dumps(arguments)


@pytest.mark.parametrize("title", ANSWERS["In its own process"])
def test_what_a_process_may_do(sandbox: Sandbox, title: str, tmp_path: Path) -> None:
    """Folders of others, which it may not even watch, are classmates' names and work."""
    (tmp_path / "bob.ipynb").write_text("all that bob did", "utf-8")
    before = (tmp_path / "bob.ipynb").stat()
    expected, code = ANSWERS["In its own process"][title]
    try:
        said, detail = repr(ask(sandbox, code.replace("FOLDER", repr(str(tmp_path))))), ""
    except Failure as failure:
        said, detail = failure.kind, failure.detail
    assert any(words == said or words in detail for words in expected.split(", or ")), said
    after = (tmp_path / "bob.ipynb").stat()
    kept = ("st_mode", "st_mtime_ns", "st_size")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert [path.name for path in tmp_path.iterdir()] == ["bob.ipynb"]


#: What no answer may ask the kernel for, by name; the numbers are those of x86-64. Without a filter
#: each of these fails in another way than "not permitted", or is forbidden twice.
REFUSED = """
execve 59, execveat 322, socket 41, socketpair 53, shmget 29, shmat 30, shmctl 31, semget 64,
memfd_create 319, memfd_secret 447, msgget 68, mq_open 240, ptrace 101, process_vm_readv 310,
process_vm_writev 311, unshare 272, setns 308, chroot 161, mount 165, umount2 166,
pivot_root 155, add_key 248, request_key 249, keyctl 250, bpf 321, perf_event_open 298,
userfaultfd 323, io_uring_setup 425, io_uring_enter 426, io_uring_register 427, open_tree 428,
move_mount 429, fsopen 430, fsmount 432, kill 62, tkill 200, tgkill 234, pidfd_send_signal 424,
rt_sigqueueinfo 129, rt_tgsigqueueinfo 297, pidfd_open 434, pidfd_getfd 438, kcmp 312,
setpriority 141, ioprio_set 251, sched_setaffinity 203, sched_setparam 142,
sched_setscheduler 144, sched_setattr 314, migrate_pages 256, move_pages 279,
process_madvise 440, process_mrelease 448, mount_setattr 442, fanotify_init 300,
name_to_handle_at 303, open_by_handle_at 304
"""
#: Where there are no namespaces: what would change other files of the same user.
REFUSED_OUTSIDE = """
truncate 76, chmod 90, fchmod 91, fchmodat 268, fchmodat2 452, chown 92, fchown 93, lchown 94,
fchownat 260, utime 132, utimes 235, futimesat 261, utimensat 280, setxattr 188, lsetxattr 189,
fsetxattr 190, removexattr 197, lremovexattr 198, fremovexattr 199, setxattrat 463,
removexattrat 466, file_setattr 469, inotify_init 253, inotify_init1 294,
inotify_add_watch 254
"""
#: Calls that are harmless but for some of their arguments.
REFUSED_VALUES = {
    "fcntl F_SETOWN": (72, 3, 8, 1),
    "fcntl F_SETSIG": (72, 3, 10, 9),
    "fcntl F_SETOWN_EX": (72, 3, 15, 0),
    "fcntl F_SETLEASE": (72, 3, 1024, 2),
    "fcntl F_NOTIFY": (72, 3, 1026, 1),
    "ioctl FIOSETOWN": (16, 3, 0x8901, 0),
    "ioctl SIOCSPGRP": (16, 3, 0x8902, 0),
    "ioctl FIOASYNC": (16, 3, 0x5452, 0),
    "ioctl TIOCSTI": (16, 3, 0x5412, 0),
    "prlimit64 of another": (302, 1, 7, 0, 0),
}


def numbered(calls: str) -> dict[str, int]:
    """Calls by name, with their numbers."""
    return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", calls)}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers are those of x86-64")
def test_every_forbidden_call_is_refused(sandbox: Sandbox) -> None:
    listed = numbered(REFUSED if sandbox.bubblewrap else REFUSED + REFUSED_OUTSIDE)
    calls: dict[str, tuple[int, ...]] = {name: (n, *[-1] * 6) for name, n in listed.items()}
    calls.update(REFUSED_VALUES)
    code = (
        "import ctypes\n"
        "def f():\n"
        "    libc, said = ctypes.CDLL(None, use_errno=True), {}\n"
        f"    for name, (number, *given) in {calls}.items():\n"
        "        libc.syscall(number, *map(ctypes.c_long, given))\n"
        "        said[name] = ctypes.get_errno()\n"
        "    return said"
    )
    assert ask(sandbox, code) == dict.fromkeys(calls, errno.EPERM)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers are those of x86-64")
def test_the_filter_holds_no_call_that_is_not_tested() -> None:
    assert numbered(fork_server.FORBIDDEN) == {**numbered(REFUSED), "fork": 57, "vfork": 58}
    assert numbered(fork_server.OUTSIDE_NAMESPACES) == numbered(REFUSED_OUTSIDE)


ENDLESS_FOLDERS = """\
import os
def f():
    os.mkdir("shut", 0o000)
    for n in range(1200):
        os.mkdir("d", 0o300)
        open("f", "w").close()
        os.chdir("d")
    return 1
"""


def test_folders_without_end_are_cleaned_up(sandbox: Sandbox) -> None:
    with contextlib.nullcontext() if sandbox.bubblewrap else contextlib.suppress(Failure):
        assert ask(sandbox, ENDLESS_FOLDERS) == 1
    if sandbox._folder:
        assert os.listdir(sandbox._folder[0]) == []
    assert ask(sandbox, "def f(): return 2") == 2


def test_what_a_killed_grader_left_is_removed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "grader-left" / "a").mkdir(parents=True)
    (tmp_path / "grader-busy").mkdir()
    (tmp_path / "others").mkdir()
    busy = os.open(tmp_path / "grader-busy", os.O_RDONLY)
    fcntl.flock(busy, fcntl.LOCK_EX)
    mine, lock = held_folder()
    assert {path.name for path in tmp_path.iterdir()} == {"grader-busy", "others", Path(mine).name}
    os.close(busy)
    os.close(lock)


def test_nothing_of_one_student_reaches_the_next(sandbox: Sandbox) -> None:
    leave = (
        "import os, builtins, costlib\nbuiltins.left = costlib.left = 1\n"
        "def f():\n    open('left', 'w').write('secret'); return os.path.exists('left')"
    )
    look = (
        "import os, builtins, costlib\ndef f():\n"
        "    return [hasattr(builtins, 'left'), hasattr(costlib, 'left'), os.path.exists('left')]"
    )
    assert ask(sandbox, leave) is True
    assert ask(sandbox, look) == [False, False, False]


def test_a_daemon_is_refused_and_nothing_is_left_running(desk: Desk) -> None:
    answer = (
        "import os, subprocess, sys\n" + BODY + "subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(1000)'], start_new_session=True)\n    return 1.0"
    )
    ask(desk.sandbox, "def f(): return 1")
    before = descendants(desk.sandbox._process.pid)
    assert "not permitted" in desk.lost(answer).reason
    start = "threading.Thread(target=threading.Event().wait).start()"
    desk.marks(f"import threading\n{BODY}{start}")
    assert descendants(desk.sandbox._process.pid) == before


def descendants(pid: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, todo = set(), [pid]
    while todo:
        new = children.get(todo.pop(), [])
        found |= set(new)
        todo += new
    return found


def test_a_hidden_case_is_not_told_by_an_exception(desk: Desk) -> None:
    seen = desk.key.numbers("best_seconds", ADA)["m"]
    ways = ("raise ValueError(f'm was {m}')", "raise type(f'M{m}', (Exception,), {})()")
    for way in (*ways, "raise KeyError", "import os; os._exit(m % 200)", "return [None] * m"):
        answer = f"{RIGHT.rstrip()} if m == {seen} else leak(m)\ndef leak(m): {way}"
        assert desk.lost(answer).reason == "no answer in a hidden case"


# Files that are no notebooks.

FILES = {
    "empty": (b"", "empty"),
    "blank": (b" \n", "empty"),
    "not JSON": (b"def f(): return 1", "no valid JSON"),
    "cut short": (b'{"cells": [', "no valid JSON"),
    "JSON, no notebook": (b"[1, 2]", "without cells"),
    "cells of no form": (b'{"cells": [1, null, {"source": 5}]}', "no cell defines"),
    "a cell without end": (b'{"cells": ' + b"[" * 100_000, "no valid JSON"),
    "UTF-16 without cells": ("{}".encode("utf-16"), "without cells"),
    "half a character": (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "no cell"),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no valid JSON"),
}


@pytest.mark.parametrize(("data", "reason"), FILES.values(), ids=FILES)
def test_no_notebook_gets_nothing_and_a_reason(
    desk: Desk, tmp_path: Path, data: bytes, reason: str
) -> None:
    (tmp_path / "ada.ipynb").write_bytes(data)
    found = desk.marks(tmp_path / "ada.ipynb")
    assert len(found) == 6
    for mark in found.values():
        assert (mark.score, reason in mark.reason) == (0, True), mark


def test_files_that_hurt_are_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a.ipynb", "{}")
    with (tmp_path / "200 MB").open("wb") as file:
        file.truncate(200_000_000)
    (tmp_path / "a link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "not a file")
    digits = '{"cells": [], "metadata": ' + "9" * 1_000_000 + "}"
    (tmp_path / "not a notebook: no valid JSON").write_text(digits)
    for path in tmp_path.iterdir():
        assert path.name in read_submission("a", path).problem


@pytest.mark.parametrize("unit", ["[[[]]],", '{"":{}},', "1.5,"])
def test_a_small_file_of_very_many_values_is_not_read(tmp_path: Path, unit: str) -> None:
    """It would take gigabytes and seconds, and a student may hand in a hundred of them."""
    path = tmp_path / "many.ipynb"
    path.write_text('{"cells": [], "metadata": [' + unit * (18_000_000 // len(unit)) + "0]}")
    tracemalloc.start()
    found = read_submission("x", path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "too many values" in found.problem
    assert peak < 100e6


ENCODINGS = ("cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "the third format")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_another_encoding_or_format_is_no_reason_to_lose_marks(
    desk: Desk, tmp_path: Path, encoding: str
) -> None:
    notebook = hand_in(desk.key, ADA, {"best_seconds": RIGHT + "# déjà vu"})
    if encoding.startswith("the"):
        notebook, encoding = nbformat.convert(notebook, 3), "utf-8"
        assert "worksheets" in notebook
    text = json.dumps(notebook, ensure_ascii=False)
    (tmp_path / "ada.ipynb").write_bytes(text.encode(encoding, "replace"))
    desk.is_right(tmp_path / "ada.ipynb")


# Cells that are not where they were.


def is_asked(cell: Any) -> bool:
    return bool(cell.metadata.get("exercise") == "best_seconds")


#: What somebody does to the cells, and why the question is lost, if it is.
CHANGED: dict[str, tuple[Callable[[list[Any]], list[Any]], str]] = {
    "missing": (
        lambda cells: [c for c in cells if not is_asked(c)],
        "no cell defines best_seconds",
    ),
    "of another type": (
        lambda cells: [new_markdown_cell(c.source) if is_asked(c) else c for c in cells],
        "code cell again",
    ),
    "in another order, without metadata": (
        lambda cells: [
            new_code_cell(c.source) if c.cell_type == "code" else c for c in cells[::-1]
        ],
        "",
    ),
    "with a setup of one's own": (
        lambda cells: [cells[0], new_code_cell("peak = bandwidth = costlib = None"), *cells[2:]],
        "",
    ),
    "with a setup that ends": (
        lambda cells: [cells[0], new_code_cell("raise SystemExit"), *cells[2:]],
        "",
    ),
}


@pytest.mark.parametrize(("change", "reason"), CHANGED.values(), ids=CHANGED)
def test_cells_that_are_not_what_they_were(
    desk: Desk, change: Callable[[list[Any]], list[Any]], reason: str
) -> None:
    """The setup is the grader's own."""
    notebook = hand_in(desk.key, ADA)
    notebook.cells = change(notebook.cells)
    if reason:
        assert reason in desk.lost(notebook).reason
    else:
        desk.is_right(notebook)


def test_reading_a_cell_takes_time_in_proportion_to_its_length() -> None:
    """Quadratic, it would take minutes for each."""
    for text in ("\n" * 400_000 + "x " * 400_000, "best_seconds " * 100_000):
        for kind in ("code", "markdown"):
            assert Submission("eve", "1", (("cell 1", kind, text),)).lacks("best_seconds")


def test_half_a_character_in_metadata_is_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "ada.ipynb"
    about = '{"course": {"student": "\\ud800", "assignment": "\\udfff"}}'
    path.write_text('{"cells": [], "metadata": ' + about + "}", "utf-8")
    found = read_submission("ada", path)
    assert (found.claims, found.assignment) == ("?", "?")


# Somebody else's numbers, and mistakes with a name.


def test_somebody_elses_numbers_get_nothing_and_a_flag(desk: Desk) -> None:
    found = desk.marks(hand_in(desk.key, "bob"))
    for name in ("product_flops", "cache_bytes"):
        assert (found[name].score, found[name].flag) == (0, "has the answer of bob")
        assert "somebody else's numbers" in found[name].reason
    assert found["logits_flops"].score == 1  # a function is right for everybody's numbers


#: Answers to a question, how the reason ends, and what is said beside it.
SAID = (
    (
        "best_seconds(m, k, n)",
        "2*m*k*n / 312e12 + 2 * (m*k + k*n + m*n) / 2039e9",
        "added the two times",
        "If they overlap perfectly, the longer one decides.",
    ),
    ("best_seconds(m, k, n)", "'12'", "", "Your answer is a text, and not a number."),
    ("best_seconds(m, k, n)", "12.5", "", None),
    ("logits_flops(d, V)", "2 * d * d * V", "the published slip", ""),
    ("choose_block(n, M, budget)", "10**9", "", "Three of your blocks do not fit"),
    ("choose_block(n, M, budget)", "2", "", "more than the budget allows"),
    ("choose_block(n, M, budget)", "0.5", "", "a whole number"),
    ("choose_block(n, M, budget)", "{'b': 1}", "", "a whole number"),
)


@pytest.mark.parametrize(("function", "answer", "reason", "words"), SAID)
def test_a_likely_mistake_is_named_and_a_property_says_what_does_not_hold(
    desk: Desk, function: str, answer: str, reason: str, words: str | None
) -> None:
    name = function.partition("(")[0]
    handed_in = hand_in(desk.key, ADA, {name: f"def {function}: return {answer}"})
    lost = desk.lost(handed_in, name)
    assert lost.reason.endswith(reason)
    assert (words or "") in lost.feedback
    assert words is not None or lost.feedback == ""


@pytest.mark.parametrize("in_a_thread", [False, True])
def test_an_answer_made_to_hurt_does_not_hold_up_the_grader(
    monkeypatch: pytest.MonkeyPatch, in_a_thread: bool
) -> None:
    """A cluster's worker grades in another thread than the main one."""

    def endless(answer: Any) -> bool:
        while answer:
            pass
        raise ZeroDivisionError

    monkeypatch.setattr(marking, "JUDGING", 0.2)
    question = Question("f", public=endless)

    def judge() -> list[str]:
        return [str(marking._judge(question, {}, 1, answer)) for answer in (1, 0, 1)]

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(judge).result(timeout=60) if in_a_thread else judge()
    assert ["too large" in found[0], "form" in found[1], "too large" in found[2]] == [True] * 3


def test_while_others_have_the_processor_no_time_of_a_check_passes(monkeypatch: Any) -> None:
    monkeypatch.setattr(marking, "JUDGING", 0.05)
    checked = Question("f", public=lambda _: time.sleep(0.2) is None)
    assert marking._judge(checked, {}, 1, 1) is True


def test_looking_for_whose_answer_it_is_has_an_end(key: Key, monkeypatch: Any) -> None:
    """Without it the third comparison would never end."""
    judged = []

    def slow(answer: Any, **_: Any) -> bool:
        judged.append(answer)
        while len(judged) == 3:
            pass
        return False

    monkeypatch.setattr(marking, "JUDGING", 0.3)
    many = replace(key, roster=[f"student{n}" for n in range(1000)])
    question = replace(key.questions["product_flops"], public=slow)
    assert marking._owner(many, question, Submission(ADA, "1"), 1) == ""
    assert len(judged) <= 3


def test_plain_values_are_checked_again_by_the_grader() -> None:
    for bad in (float("nan"), float("inf"), None, object(), (1,), [None], {"a": object()}):
        with pytest.raises(Failure):
            plain_value(bad)
