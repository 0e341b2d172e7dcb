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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_checks import EXAMPLE

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


def submission(key: Key, answer: str = RIGHT, *more: str, student: str = ADA) -> Submission:
    """Ada's notebook, right but for one answer; more cells at its end."""
    notebook = hand_in(key, student, {"best_seconds": answer})
    notebook.cells += [new_code_cell(code) for code in more]
    return parse(notebook)


def parse(notebook: Any, student: str = ADA) -> Submission:
    cells = tuple((f"cell {i}", c.cell_type, c.source) for i, c in enumerate(notebook.cells, 1))
    return Submission(student, "digest", cells)


def marks(key: Key, handed_in: Submission, sandbox: Sandbox) -> dict[str, Mark]:
    return {mark.question: mark for mark in mark_submission(key, handed_in, sandbox)}


def only_lost(found: dict[str, Mark], question: str = "best_seconds") -> str:
    """The reason why the one question was lost; all others have full marks."""
    for name, mark in found.items():
        assert mark.score == (0 if name == question else mark.out_of), mark
    return found[question].reason


# Right.

VARIANTS = {
    "as it is": [],
    "prints": ["print('x' * 1000)"],
    "an extra cell that fails": ["1 / 0"],
    "an extra cell that never ends": ["while True: pass"],
    "an extra cell that is no Python": ["this is not Python"],
    "magics": ["%time 1 + 1", "!ls", "%%bash\nls", "help?"],
}


@pytest.mark.parametrize("extra", VARIANTS.values(), ids=VARIANTS)
def test_right_gets_full_marks(key: Key, sandbox: Sandbox, extra: list[str]) -> None:
    for mark in marks(key, submission(key, RIGHT, *extra), sandbox).values():
        assert mark.score == mark.out_of, mark


HABITS = {
    "a magic in the cell": "%%time\n" + RIGHT,
    "a line magic": "%matplotlib inline\n" + RIGHT,
    "prints in the answer": RIGHT.replace("    return", "    print('here', m)\n    return"),
    "a check in the cell": RIGHT + "\ncheck(best_seconds)\ndisplay(1)",
    "an assertion that fails": RIGHT + "\nassert best_seconds(1, 1, 1) == 5",
    "NumPy's float": RIGHT.replace(
        "return max(", "import numpy as np\n    return np.float64("
    ).replace("312e12, ", "312e12 if product.flops / 312e12 > product.bytes() / 2039e9 else "),
    "a lambda": "best_seconds = lambda m, k, n: max(2 * m * k * n / 312e12,"
    " 2 * (m * k + k * n + m * n) / 2039e9)",
    "the stub left behind": RIGHT + "\n",
    "an exit after the answer": RIGHT + "\nexit()",
    "a lambda with a type": "best_seconds: object = lambda m, k, n: max(2 * m * k * n / 312e12,"
    " 2 * (m * k + k * n + m * n) / 2039e9)",
    "two names at once": RIGHT.replace("best_seconds", "mine") + "\nbest_seconds, x = mine, 1",
    "a full-width letter in the name": RIGHT.replace("best_seconds", "best_second\uff53"),
    "the mark of another editor": f"\ufeff{RIGHT}",
    "an await": "import asyncio\nwait = await asyncio.sleep(0.001, 1)\n" + RIGHT,
    "a sum of 330 terms": f"from math import *\nx = {' + '.join(['1'] * 330)}\n{RIGHT}",
    "250 calls in a chain": f"from math import *\nx = ''{'.strip()' * 250}\n{RIGHT}",
    "1,200 times elif": "from math import *\nx = 0\nif x == 0: pass\n"
    + "".join(f"elif x == {n}: pass\n" for n in range(1200))
    + RIGHT,
    "90 lambdas in lambdas": f"from math import *\nx = {'lambda: ' * 90}1\n{RIGHT}",
}


@pytest.mark.parametrize("answer", HABITS.values(), ids=HABITS)
def test_right_in_other_habits_gets_full_marks(key: Key, sandbox: Sandbox, answer: str) -> None:
    found = marks(key, submission(key, answer), sandbox)
    assert found["best_seconds"].score == 2, found["best_seconds"]


def test_helpers_in_other_cells_are_found(key: Key, sandbox: Sandbox) -> None:
    answer = "def best_seconds(m, k, n): return worst(one(m, k, n), two(m, k, n))"
    helpers = (
        "from math import *\none = lambda m, k, n: 2 * m * k * n / 312e12",
        "import numpy as np\ndef two(m, k, n):\n    return 2 * np.sum([m*k, k*n, m*n]) / 2039e9",
        "worst = max\n1 / 0",
    )
    found = marks(key, submission(key, answer, *helpers), sandbox)
    assert found["best_seconds"].score == 2, found["best_seconds"]


# Cheats.

CHEATS = {
    "an object that equals everything": (
        "class Yes:\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n"
        "    __lt__ = __gt__ = __sub__ = __rsub__ = __eq__\n"
        "    __float__ = lambda s: 1.0\n    __hash__ = lambda s: 1\n"
        "def best_seconds(m, k, n): return Yes()",
        "not a plain value",
    ),
    "a subclass of float": (
        "class Yes(float):\n    __eq__ = lambda s, o: True\n    __sub__ = lambda s, o: 0.0\n"
        "def best_seconds(m, k, n): return Yes(1)",
        "not a plain value",
    ),
    "a list of such": (
        "class Yes(int):\n    __eq__ = lambda s, o: True\n"
        "def best_seconds(m, k, n): return [Yes(1)]",
        "not a plain value",
    ),
    "patched builtins": (
        "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.all = lambda x: True\n"
        "builtins.isinstance = lambda a, b: True\nbuiltins.type = lambda x: float\n"
        "def best_seconds(m, k, n): return 1.0",
        "",
    ),
    "patched NumPy and math": (
        "import math, numpy\nmath.isclose = numpy.isclose = numpy.allclose = lambda *a, **k: True\n"
        "def best_seconds(m, k, n): return 1.0",
        "wrong",
    ),
    "patched json": (
        'import json\njson.dumps = lambda *a, **k: \'{"score": 2, "value": true}\'\n'
        "def best_seconds(m, k, n): return 1.0",
        "forged",
    ),
    "a forged channel": (
        "import os\ndef best_seconds(m, k, n):\n    for fd in range(64):\n"
        "        try: os.write(fd, b'\\0\\0\\0\\x0e{\"score\": 2.0}')\n"
        "        except OSError: pass\n    return 1.0",
        "forged",
    ),
    "a forged channel, well informed": (
        "import sys, json, struct\ndef best_seconds(m, k, n):\n"
        "    above = sys._getframe(1).f_locals\n    channel = above['channel']\n"
        "    data = json.dumps({'nonce': above['case']['nonce'], 'value': 1.0, 'score': 2,"
        " 'right': True}).encode()\n"
        "    channel.sendall(struct.pack('>I', len(data)) + data)\n    return 1.0",
        "wrong",
    ),
    "nonsense without end": (
        "import os\ndef best_seconds(m, k, n):\n    while True: os.write(3, b'\\xff' * 65536)",
        "forged",
    ),
    "not a number": ("def best_seconds(m, k, n): return float('nan')", "not a plain value"),
    "infinity": ("def best_seconds(m, k, n): return float('inf')", "not a plain value"),
    "an integer without end": ("def best_seconds(m, k, n): return 10**100000", "not a plain value"),
    "a list in itself": (
        "def best_seconds(m, k, n):\n    a = []\n    a.append(a)\n    return a",
        "not a plain value",
    ),
    "True": ("def best_seconds(m, k, n): return True", "wrong"),
    "nothing": ("def best_seconds(m, k, n): print(1)", "nothing returned"),
    "the visible case by heart": (
        "def best_seconds(m, k, n):\n"
        "    if not hasattr(costlib, 'seen'):\n        costlib.seen = 1\n"
        "        return max(2*m*k*n / 312e12, 2 * (m*k + k*n + m*n) / 2039e9)\n    return 1.0",
        "wrong in a hidden case",
    ),
}


FORGED_PROBLEM = """\
import sys, json, struct
def best_seconds(m, k, n):
    above = sys._getframe(1).f_locals
    data = json.dumps({"nonce": above["case"]["nonce"], "problem": %s}).encode()
    above["channel"].sendall(struct.pack(">I", len(data)) + data)
"""


@pytest.mark.parametrize("problem", ["{'kind': ''}", "[1]", "{'kind': None, 'line': 3}"])
def test_a_problem_without_a_name_is_forged_and_never_reads_right(
    key: Key, sandbox: Sandbox, problem: str
) -> None:
    found = marks(key, submission(key, FORGED_PROBLEM % problem), sandbox)
    assert "forged" in only_lost(found)
    nothing = Graded(ADA, "1", (replace(found["best_seconds"], reason=""),))
    tests: Any = gradescope_results(key, nothing)["tests"]
    assert [test["output"] for test in tests] == ["wrong"]


@pytest.mark.parametrize(("answer", "reason"), CHEATS.values(), ids=CHEATS)
def test_a_cheat_gets_nothing(key: Key, sandbox: Sandbox, answer: str, reason: str) -> None:
    assert reason in only_lost(marks(key, submission(key, answer), sandbox))


# Time.

BODY = "def best_seconds(m, k, n):\n    "
ENDLESS = {
    "a loop": BODY + "while True: pass",
    "a loop outside the function": "while True: pass\n" + RIGHT,
    "a loop that catches everything": BODY
    + "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    "all signals blocked": "import signal\nsignal.pthread_sigmask(0, range(1, 65))\n"
    + BODY
    + "while True: pass",
    "one endless instruction": BODY + "return 7 ** (10 ** 9)",
    "a thread that never ends": "import threading\n"
    + BODY
    + "thread = threading.Thread(target=threading.Event().wait)\n"
    "    thread.start()\n    thread.join()",
    "sleep": "import time\n" + BODY + "time.sleep(1000)",
    "sleep on exit": "import time, os\n" + BODY + "os.close(3)\n    time.sleep(1000)",
}


@pytest.mark.parametrize("kind", sampling.some([*ENDLESS], 8, "endless"))
def test_what_never_ends_is_ended(key: Key, sandbox: Sandbox, kind: str) -> None:
    """In the time that it has, which is short here; the sandbox then grades the rest as ever."""
    handed_in, whole = submission(key, ENDLESS[kind]), sandbox.limits
    sandbox.limits = replace(whole, call=0.4)
    lost = mark_question(key, key.questions["best_seconds"], handed_in, sandbox)
    sandbox.limits = whole
    assert lost[0] == 0
    assert lost[1] in ("time-out", "ended without an answer")
    for name, question in key.questions.items():
        if name != "best_seconds":
            assert mark_question(key, question, handed_in, sandbox)[0] == 1, name


def test_a_notebook_has_its_time_too(key: Key, sandbox: Sandbox) -> None:
    limits = Limits(call=0.6, submission=0.5)
    with Sandbox([], bubblewrap=sandbox.bubblewrap, limits=limits) as short:
        endless = {"product_flops": "def product_flops():\n    while True: pass"}
        found = marks(key, parse(hand_in(key, ADA, endless)), short)
    assert found["product_flops"].reason == "time-out"
    assert "whole notebook" in found["logits_flops"].reason


def test_a_thread_left_behind_does_not_cost_anything(key: Key, sandbox: Sandbox) -> None:
    answer = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n" + RIGHT
    assert marks(key, submission(key, answer), sandbox)["best_seconds"].score == 2


# Limits.

GREEDY = {
    "a 40 GB list": (BODY + "return len([0] * (5 * 10**9))", "out of memory"),
    "memory bit by bit": (BODY + "a = []\n    while True: a.append(bytes(10**7))", "out of memory"),
    "a fork bomb": ("import os\n" + BODY + "while True: os.fork()", "not permitted"),
    "a fork bomb in C": (
        "import ctypes\n" + BODY + "c = ctypes.CDLL(None, use_errno=True)\n"
        "    for i in range(100):\n        if c.fork() < 0: raise OSError(1, 'no fork')",
        "not permitted",
    ),
    "threads without end": (
        "import threading\n" + BODY + "while True:\n"
        "        threading.Thread(target=threading.Event().wait).start()",
        "can't start new thread",
    ),
    "1 GB printed": (BODY + "for i in range(10**4): print('x' * 10**5)", "file limit"),
    "a 10 GB file": (
        "import tempfile\n" + BODY + "with tempfile.TemporaryFile() as file:\n"
        "        for i in range(10**4): file.write(bytes(10**6))",
        "file limit",
    ),
    "a 10 GB file, sparse": (
        "import tempfile\n" + BODY + "with tempfile.TemporaryFile() as file:\n"
        "        file.truncate(10**10)",
        "file limit",
    ),
    "memory that no process owns": (
        "import os\n" + BODY + "fd = os.memfd_create('x')",
        "not permitted",
    ),
    "a reply of 10 MB": (BODY + "return 'x' * 10**7", "forged"),
}


@pytest.mark.parametrize(("answer", "reason"), GREEDY.values(), ids=GREEDY)
def test_what_takes_too_much_is_refused(
    key: Key, sandbox: Sandbox, answer: str, reason: str
) -> None:
    assert reason in only_lost(marks(key, submission(key, answer), sandbox))


# Ends.

ENDS = {
    "os._exit": ("import os\n" + BODY + "os._exit(0)", "ended the process"),
    "os._exit outside": ("import os\nos._exit(0)\n" + RIGHT, "ended the process"),
    "a segfault": ("import ctypes\n" + BODY + "ctypes.string_at(0)", "crashed (SIGSEGV)"),
    "abort": ("import os\n" + BODY + "os.abort()", "crashed"),
    "sys.exit": ("import sys\n" + BODY + "sys.exit(0)", "called exit"),
    "an exception": (BODY + "return {}['size']", "KeyError: 'size' (line 2 of the cell)"),
    "an exception with a bad name": (
        BODY + "class E(Exception):\n        __str__ = None\n    raise E()",
        "E",
    ),
    "recursion": (BODY + "return best_seconds(m, k, n)", "RecursionError"),
    "a syntax error": ("def best_seconds(m, k, n):\n    return (m +", "SyntaxError"),
    "a wrong signature": ("def best_seconds(m): return 1", "TypeError"),
    "a name that is not there": (BODY + "return nowhere", "NameError"),
    "not answered": (BODY + "raise NotImplementedError", "not answered"),
    "a cell too deep to parse": ("x = " + "-" * 50_000 + "1\n" + RIGHT, ""),
}


@pytest.mark.parametrize(("answer", "reason"), ENDS.values(), ids=ENDS)
def test_what_ends_costs_that_question_only(
    key: Key, sandbox: Sandbox, answer: str, reason: str
) -> None:
    assert reason in only_lost(marks(key, submission(key, answer), sandbox))


# What it must not read, and what it must not leave.


def test_nothing_of_the_grader_can_be_read(
    key: Key, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not (sandbox.bubblewrap or landlock_works()):
        pytest.skip("no sandbox, and a kernel without Landlock: nothing guards files here")
    folder = tmp_path_factory.getbasetemp()
    key_file = next(folder.rglob("key.json"))
    other = folder / "bob.ipynb"
    other.write_text("secret", "utf-8")
    repository = ROOT
    places = [key_file, other, repository / "course" / "spec.py", Path(__file__), "/etc/passwd"]
    places += ["/proc/1/environ", "/proc/self/maps", "/proc/self/environ"]
    for place in places:
        answer = f"{BODY}return open({str(place)!r}).read()[:5]"
        reason = only_lost(marks(key, submission(key, answer), sandbox))
        assert reason.startswith(("not permitted", "FileNotFoundError")), place
    for place in (key_file.parent, folder, repository, Path.home(), "/"):
        answer = f"import os\n{BODY}return os.listdir({str(place)!r})"
        reason = only_lost(marks(key, submission(key, answer), sandbox))
        assert reason.startswith(("not permitted", "FileNotFoundError")), place


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
    assert held == 0
    assert names == []
    assert not {"PYTHONPATH", "USER", "LOGNAME"} & set(environment)
    assert key.secret not in json.dumps(arguments)


def test_no_network(sandbox: Sandbox) -> None:
    for family in ("AF_INET", "AF_UNIX"):
        code = f"import socket\ndef f(): socket.socket(socket.{family}); return 1"
        with pytest.raises(Failure) as failure:
            ask(sandbox, code)
        assert failure.value.kind == "not permitted"


def test_no_way_to_other_processes_or_namespaces(sandbox: Sandbox) -> None:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("no filter for this processor")
    calls = {"kill(1, 0)", "kill(-1, 0)", "unshare(0x10000000)", "mount(0, b'/', 0, 4096, 0)"}
    calls |= {"ptrace(16, 1, 0, 0)", "chroot(b'/tmp')", "shmget(1, 4096, 512)"}
    for call in calls:
        code = f"import ctypes\ndef f(): return ctypes.CDLL(None).{call}"
        assert ask(sandbox, code) == -1, call


#: What no answer may ask the kernel for, by name; the numbers are those of x86-64. Without a filter
#: each of these fails in another way than "not permitted", or is forbidden twice.
REFUSED = {
    "execve": 59,
    "execveat": 322,
    "socket": 41,
    "socketpair": 53,
    "shmget": 29,
    "shmat": 30,
    "shmctl": 31,
    "semget": 64,
    "memfd_create": 319,
    "memfd_secret": 447,
    "msgget": 68,
    "mq_open": 240,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "unshare": 272,
    "setns": 308,
    "chroot": 161,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsmount": 432,
    "kill": 62,
    "tkill": 200,
    "tgkill": 234,
    "pidfd_send_signal": 424,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "kcmp": 312,
    "setpriority": 141,
    "ioprio_set": 251,
    "sched_setaffinity": 203,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "sched_setattr": 314,
    "migrate_pages": 256,
    "move_pages": 279,
    "process_madvise": 440,
    "process_mrelease": 448,
    "mount_setattr": 442,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
}
#: Where there are no namespaces: what would change other files of the same user.
REFUSED_OUTSIDE = {
    "truncate": 76,
    "chmod": 90,
    "fchmod": 91,
    "fchmodat": 268,
    "fchmodat2": 452,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "fchownat": 260,
    "utime": 132,
    "utimes": 235,
    "futimesat": 261,
    "utimensat": 280,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
    "inotify_init": 253,
    "inotify_init1": 294,
    "inotify_add_watch": 254,
}
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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers are those of x86-64")
def test_every_forbidden_call_is_refused(sandbox: Sandbox) -> None:
    calls: dict[str, tuple[int, ...]] = {name: (n, *[-1] * 6) for name, n in REFUSED.items()}
    calls.update(REFUSED_VALUES)
    if not sandbox.bubblewrap:
        calls.update({name: (n, *[-1] * 6) for name, n in REFUSED_OUTSIDE.items()})
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
    names = re.findall(r"(\w+) (\d+) (?:\d+|-)", fork_server.FORBIDDEN)
    tested = {name: str(number) for name, number in {**REFUSED, "fork": 57, "vfork": 58}.items()}
    assert dict(names) == tested
    outside = re.findall(r"(\w+) (\d+) (?:\d+|-)", fork_server.OUTSIDE_NAMESPACES)
    assert dict(outside) == {name: str(number) for name, number in REFUSED_OUTSIDE.items()}


def test_what_an_answer_does_with_its_own_process_and_pipes_is_allowed(sandbox: Sandbox) -> None:
    code = (
        "import fcntl, os, resource, tempfile, threading\n"
        "def f():\n"
        "    fcntl.fcntl(3, fcntl.F_GETFD), resource.getrlimit(resource.RLIMIT_AS)\n"
        "    thread = threading.Thread(target=print)\n"
        "    thread.start(), thread.join()\n"
        "    with tempfile.TemporaryDirectory() as folder, open(folder + '/a', 'w') as file:\n"
        "        file.write('abc'), file.flush(), file.truncate(2)\n"
        "        os.rename(folder + '/a', folder + '/b')\n"
        "        return os.path.getsize(folder + '/b')"
    )
    assert ask(sandbox, code) == 2


def test_another_file_cannot_be_changed(sandbox: Sandbox, tmp_path: Path) -> None:
    other = tmp_path / "bob.ipynb"
    other.write_text("all that bob did", "utf-8")
    before = other.stat()
    code = (
        "import os\n"
        f"path, refused = {str(other)!r}, 0\n"
        "tries = [lambda: os.truncate(path, 0), lambda: os.chmod(path, 0o777),\n"
        "    lambda: os.utime(path, (0, 0)), lambda: open(path, 'w'), lambda: os.unlink(path),\n"
        "    lambda: os.rename(path, path + 'x'), lambda: os.link(path, 'x'),\n"
        "    lambda: os.symlink('/etc', path + 'y'), lambda: os.setxattr(path, 'user.a', b'1')]\n"
        "def f():\n"
        "    refused = 0\n"
        "    for one in tries:\n"
        "        try: one()\n"
        "        except OSError: refused += 1\n"
        "    return refused"
    )
    assert ask(sandbox, code) == 9
    after = other.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_size) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_size,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["bob.ipynb"]


DEEP = """\
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
        assert ask(sandbox, DEEP) == 1
    if sandbox._folder:
        assert os.listdir(sandbox._folder[0]) == []
    assert ask(sandbox, "def f(): return 2") == 2


def test_a_full_folder_ends_the_question(sandbox: Sandbox) -> None:
    code = (
        "import os, time\ndef f():\n    for n in range(200):\n"
        "        with open(str(n), 'wb') as file: file.write(bytes(15_000_000))\n"
        "    time.sleep(9)\n    return 1"
    )
    with pytest.raises(Failure) as failure:
        ask(sandbox, code)
    assert failure.value.kind in ("file limit", "exception")  # in bubblewrap: no space left
    assert "No space" in failure.value.detail or failure.value.kind == "file limit"


HELD = {
    "open": "held.append(file)",
    "mapped": "held.append(mmap.mmap(file.fileno(), 4096)); file.close()",
}


@pytest.mark.parametrize("how", HELD)
def test_removed_files_that_are_still_held_fill_the_disk_too(sandbox: Sandbox, how: str) -> None:
    code = (
        "import mmap, os, time\nheld = []\ndef f():\n    for n in range(40):\n"
        "        file = open(str(n), 'w+b')\n        file.write(bytes(15_000_000)); file.flush()\n"
        f"        os.unlink(str(n)); {HELD[how]}\n"
        "    while True: time.sleep(1)"
    )
    with pytest.raises(Failure) as failure:
        ask(sandbox, code)
    assert failure.value.kind in ("file limit", "exception")  # in bubblewrap: no space left
    assert "No space" in failure.value.detail or failure.value.kind == "file limit"


def test_other_folders_cannot_be_watched(sandbox: Sandbox, tmp_path: Path) -> None:
    """Where there are no namespaces: names of files in the feedback folder are classmates'."""
    code = (
        "import ctypes\ndef f():\n    libc = ctypes.CDLL(None)\n"
        f"    return libc.inotify_add_watch(libc.inotify_init1(0), {str(tmp_path).encode()!r}, 256)"
    )
    assert ask(sandbox, code) == -1


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
    left = ask(sandbox, look)
    assert left[:2] == [False, False]
    assert left[2] is False


def test_a_daemon_is_refused_and_nothing_is_left_running(key: Key, sandbox: Sandbox) -> None:
    answer = (
        "import os, subprocess, sys\n" + BODY + "subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(1000)'], start_new_session=True)\n    return 1.0"
    )
    ask(sandbox, "def f(): return 1")
    before = descendants(sandbox._process.pid)
    assert "not permitted" in only_lost(marks(key, submission(key, answer), sandbox))
    start = "threading.Thread(target=threading.Event().wait).start()"
    threads = f"import threading\n{BODY}{start}"
    marks(key, submission(key, threads), sandbox)
    assert descendants(sandbox._process.pid) == before


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


def test_a_hidden_case_is_not_told_by_an_exception(key: Key, sandbox: Sandbox) -> None:
    seen = key.numbers("best_seconds", ADA)["m"]
    ways = ("raise ValueError(f'm was {m}')", "raise type(f'M{m}', (Exception,), {})()")
    for way in (*ways, "raise KeyError", "import os; os._exit(m % 200)", "return [None] * m"):
        answer = f"{RIGHT.rstrip()} if m == {seen} else leak(m)\ndef leak(m): {way}"
        reason = only_lost(marks(key, submission(key, answer), sandbox))
        assert reason == "no answer in a hidden case"


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
    key: Key, sandbox: Sandbox, tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(data)
    found = marks(key, read_submission("ada", path), sandbox)
    assert len(found) == 6
    for mark in found.values():
        assert mark.score == 0
        assert reason in mark.reason


def test_files_that_hurt_are_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.ipynb", "w") as archive:
        archive.writestr("a.ipynb", "{}")
    assert "zip" in read_submission("a", tmp_path / "a.ipynb").problem
    with (tmp_path / "b.ipynb").open("wb") as file:
        file.truncate(200_000_000)
    assert "200 MB" in read_submission("b", tmp_path / "b.ipynb").problem
    (tmp_path / "c.ipynb").symlink_to("/etc/passwd")
    assert "a link" in read_submission("c", tmp_path / "c.ipynb").problem
    os.mkfifo(tmp_path / "d.ipynb")
    assert "not a file" in read_submission("d", tmp_path / "d.ipynb").problem


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


def test_a_number_of_a_million_digits_is_no_notebook(tmp_path: Path) -> None:
    path = tmp_path / "long.ipynb"
    path.write_text('{"cells": [], "metadata": ' + "9" * 1_000_000 + "}")
    assert read_submission("x", path).problem == "not a notebook: no valid JSON"


def worded(key: Key) -> Any:
    """Ada's notebook with a letter that encodings write differently."""
    return hand_in(key, ADA, {"best_seconds": RIGHT + "# déjà vu"})


ENCODINGS = ("cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_another_encoding_is_no_reason_to_lose_marks(
    key: Key, sandbox: Sandbox, tmp_path: Path, encoding: str
) -> None:
    path = tmp_path / "ada.ipynb"
    path.write_bytes(json.dumps(worded(key), ensure_ascii=False).encode(encoding, "replace"))
    found = marks(key, read_submission(ADA, path), sandbox)
    assert all(mark.score == mark.out_of for mark in found.values()), found


def test_a_notebook_of_the_third_format_is_read(key: Key, sandbox: Sandbox, tmp_path: Path) -> None:
    path, old = tmp_path / "ada.ipynb", nbformat.convert(worded(key), 3)
    path.write_text(json.dumps(old), "utf-8")
    assert "worksheets" in old
    found = marks(key, read_submission(ADA, path), sandbox)
    assert all(mark.score == mark.out_of for mark in found.values()), found


# Cells that are not where they were.


def test_a_missing_cell_costs_that_question(key: Key, sandbox: Sandbox) -> None:
    notebook = hand_in(key, ADA)
    notebook.cells = [c for c in notebook.cells if c.metadata.get("exercise") != "best_seconds"]
    found = marks(key, parse(notebook), sandbox)
    assert only_lost(found) == "no cell defines best_seconds"


def test_a_cell_of_another_type_costs_that_question(key: Key, sandbox: Sandbox) -> None:
    notebook = hand_in(key, ADA)
    notebook.cells = [
        new_markdown_cell(c.source) if c.metadata.get("exercise") == "best_seconds" else c
        for c in notebook.cells
    ]
    assert "code cell again" in only_lost(marks(key, parse(notebook), sandbox))


def test_cells_in_another_order_without_metadata_lose_nothing(key: Key, sandbox: Sandbox) -> None:
    notebook = hand_in(key, ADA)
    notebook.cells.reverse()
    for cell in notebook.cells:
        cell.metadata.clear()
    assert all(mark.score for mark in marks(key, parse(notebook), sandbox).values())


def test_of_two_cells_the_last_counts_and_a_stub_never_does(key: Key, sandbox: Sandbox) -> None:
    stub = BODY + "raise NotImplementedError"
    found = marks(key, submission(key, RIGHT, stub), sandbox)
    assert found["best_seconds"].score == 2
    found = marks(key, submission(key, BODY + "return 1.0", RIGHT), sandbox)
    assert found["best_seconds"].score == 2
    found = marks(key, submission(key, RIGHT, BODY + "return 1.0"), sandbox)
    assert "wrong" in only_lost(found)


def test_a_stubs_line_that_was_left_as_a_comment_costs_nothing(key: Key, sandbox: Sandbox) -> None:
    kept = RIGHT.rstrip() + "  # raise NotImplementedError\n    # raise NotImplementedError"
    found = marks(key, submission(key, BODY + "return 1.0", kept), sandbox)
    assert found["best_seconds"].score == 2


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


def test_the_setup_is_the_graders_own(key: Key, sandbox: Sandbox) -> None:
    notebook = hand_in(key, ADA)
    notebook.cells[1].source = "peak = bandwidth = costlib = None"
    assert all(mark.score for mark in marks(key, parse(notebook), sandbox).values())
    notebook.cells[1].source = "raise SystemExit"
    assert all(mark.score for mark in marks(key, parse(notebook), sandbox).values())


# Somebody else's numbers, and mistakes with a name.


def test_somebody_elses_numbers_get_nothing_and_a_flag(key: Key, sandbox: Sandbox) -> None:
    copied = parse(hand_in(key, "bob"), student=ADA)
    found = marks(key, copied, sandbox)
    for name in ("product_flops", "cache_bytes"):
        assert found[name].score == 0
        assert "somebody else's numbers" in found[name].reason
        assert found[name].flag == "has the answer of bob"
    assert found["logits_flops"].score == 1  # a function is right for everybody's numbers


def test_a_likely_mistake_is_named(key: Key, sandbox: Sandbox) -> None:
    answer = BODY + "return 2*m*k*n / 312e12 + 2 * (m*k + k*n + m*n) / 2039e9"
    found = marks(key, submission(key, answer), sandbox)
    assert only_lost(found).endswith("added the two times")
    assert found["best_seconds"].feedback == "If they overlap perfectly, the longer one decides."
    notebook = hand_in(key, ADA, {"logits_flops": "def logits_flops(d, V): return 2 * d * d * V"})
    found = marks(key, parse(notebook), sandbox)
    assert only_lost(found, "logits_flops").endswith("the published slip")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("return 10**9", "Three of your blocks do not fit"),
        ("return 2", "more than the budget allows"),
        ("return 0.5", "a whole number"),
        ("return {'b': 1}", "a whole number"),
    ],
)
def test_a_property_says_what_does_not_hold(
    key: Key, sandbox: Sandbox, answer: str, words: str
) -> None:
    cell = f"def choose_block(n, M, budget): {answer}"
    found = marks(key, parse(hand_in(key, ADA, {"choose_block": cell})), sandbox)
    only_lost(found, "choose_block")
    assert words in found["choose_block"].feedback


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


def test_while_others_have_the_processor_no_time_of_a_check_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marking, "JUDGING", 0.05)
    checked = Question("f", public=lambda _: time.sleep(0.2) is None)
    assert marking._judge(checked, {}, 1, 1) is True


def test_looking_for_whose_answer_it_is_has_an_end(
    key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_syntax_error_is_told_once(key: Key, sandbox: Sandbox) -> None:
    found = marks(key, submission(key, "def best_seconds(m, k, n):\n    return (m +"), sandbox)
    words = only_lost(found)
    assert re.fullmatch(
        r"SyntaxError: '\(' was never closed in cell \d+ \(line 2 of the cell\)", words
    )


def test_a_value_of_another_kind_is_called_so(key: Key, sandbox: Sandbox) -> None:
    for value, words in (("'12'", "Your answer is a text, and not a number."), ("12.5", "")):
        found = marks(key, submission(key, BODY + f"return {value}"), sandbox)
        only_lost(found)
        assert found["best_seconds"].feedback == words
