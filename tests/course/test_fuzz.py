"""Submissions that nobody would think of: names, JSON, cells and sizes, at random but seeded.

Whatever comes, the batch ends, everybody on the roster is in the grades once, who did well keeps
every point, and no process takes a gigabyte. Of 2,000 a run draws 150.
"""

from __future__ import annotations

import copy
import csv
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from notebook_checks import HALF, a_page, in_words, solved

import sampling
from course.builder.assignments import build_one
from course.builder.samples import hand_in
from course.grader.sandbox import bubblewrap_works
from paths import ROOT
from programs import run

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the grader runs on Linux"),
    pytest.mark.usefixtures("fast"),
]
HOW_MANY = sampling.number(150, 2000)
HONEST = ("ada", "bob@example.org", "Zo\u00eb Quine")
CHECKS = """
DEADLINE = Deadline("2026-11-30 12:00Z")
QUESTIONS = [
    Question("half", kind="number", numbers={"x": range(100, 9000)}),
    Question("why", kind="text"),
]
"""
EXERCISES = (
    solved("**1. Half.** Half of [[x]]?", HALF),
    in_words("**2. Why?** Say why.", "why", "Because it is so."),
)
CODE = (
    *("1 / 0", "raise SystemExit", "import os; os._exit(3)", "print('x' * 10**6)", "def half(: 1"),
    *("%%bash\nls", "!ls", "half = None", "half = property(print)", "class half: pass", "del half"),
    *("from math import *", "def half(*a, **k): return [[[[]]]]", "def half(): return 10**5000"),
    *("def half(): return '\\ud800'", "def half(): return {1: 2}", "async def half(): return 1"),
    *("\0", "\ud800", "x = " + "(" * 300, "x = " + "-" * 3000 + "1", "# " + "raise " * 99),
    *("def half():\n\treturn 1\n        return 2", "\u2028def half(): return 1", "half\u0301 = 1"),
    *("def half(): yield 1", "def half(): raise type('\\n=1+1', (Exception,), {})('<b>')"),
)
NAMES = (
    *("ada", "ada.ipynb", "bob@example.org_1_2_w", "Zoe\u0308 Quine", "=1+1", "\uff1d1", "-x"),
    *("a" * 200, "\u202egnp", "a\nb", "\x1b[31m", "..x", " ", "~", "CON", "a`|<b>", "\U0001f600"),
    *("submission_metadata", "timestamp", "grades", "journal.jsonl", "key", "week"),
)
SIZES = ("\n", " ", "x ", "(", "#", "def half", "'''", "\\", "\t\n", "[[", "x=", "%")
ODD: tuple[Any, ...] = (None, True, -1, 1e308, 10**30, "", "x" * 99, [], {}, [[]], {"a": []})


class Fuzz:
    """One student's folder, made odd in a few ways."""

    def __init__(self, seed: str) -> None:
        self.luck = random.Random(seed)

    def submission(self, notebook: Any) -> bytes:
        """A notebook after one to four changes."""
        for _ in range(self.luck.randint(0, 3)):
            self.luck.choice([self.cells, self.node, self.code, self.size])(notebook)
        data = json.dumps(notebook).encode("utf-8", "surrogatepass")
        return self.luck.choice([self.torn, self.flipped, self.coded, bytes, bytes, bytes])(data)

    def cells(self, notebook: Any) -> None:
        """Dropped, doubled, in another order, of another kind."""
        cells = notebook.get("cells")
        if not isinstance(cells, list) or not cells:
            return
        at = self.luck.randrange(len(cells))
        what = self.luck.randrange(4)
        if what == 0:
            del cells[at]
        elif what == 1:
            cells.append(cells[at])
        elif what == 2:
            self.luck.shuffle(cells)
        elif isinstance(cells[at], dict):
            cells[at]["cell_type"] = self.luck.choice(["raw", "markdown", "code", "", 7, None])

    def node(self, notebook: Any) -> None:
        """Something somewhere is of another type."""
        place: Any = notebook
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                return
            key = self.luck.choice(keys)
            inner = place[key]
            if not isinstance(inner, (dict, list)) or not inner or self.luck.random() < 0.2:
                place[key] = copy.deepcopy(self.luck.choice(ODD))  # what goes into it is its own
                return
            place = inner

    def code(self, notebook: Any) -> None:
        """A cell of somebody who tries things, with what may lie in a cell."""
        cell = {"cell_type": "code", "source": self.luck.choice(CODE)}
        cell["metadata"] = self.luck.choice([{}, {"exercise": "half"}, {"exercise": ["why"]}, 7])
        cell["outputs"] = self.luck.choice(
            [[], None, [{"data": {"image/png": "AA=="}}], [{"data": {"image/png": 7}}], ["x"]]
        )
        if isinstance(notebook.get("cells"), list):
            notebook["cells"].insert(self.luck.randint(0, 9), cell)

    def size(self, notebook: Any) -> None:
        """A cell as no person writes them."""
        source = self.luck.choice(SIZES) * self.luck.choice([100, 10_000, 100_000])
        cell = {"cell_type": self.luck.choice(["code", "markdown"]), "source": source}
        if isinstance(notebook.get("cells"), list):
            notebook["cells"].append(cell)

    def torn(self, data: bytes) -> bytes:
        """Cut short."""
        return data[: self.luck.randrange(len(data) + 1)]

    def flipped(self, data: bytes) -> bytes:
        """A few bytes are others."""
        changed = bytearray(data)
        for _ in range(self.luck.randint(1, 9)):
            if changed:
                changed[self.luck.randrange(len(changed))] = self.luck.randrange(256)
        return bytes(changed)

    def coded(self, data: bytes) -> bytes:
        """In another encoding, or in an archive's."""
        text = data.decode("utf-8", "replace")
        kinds = ("utf-16", "utf-8-sig", "utf-7")
        return self.luck.choice([text.encode(self.luck.choice(kinds)), b"PK\x03\x04" + data])

    def name(self) -> str:
        """A file's name."""
        end = self.luck.choice([".ipynb", ".ipynb", ".IPYNB", ".ipynb.txt", "", ".yml", ".zip"])
        return self.luck.choice(NAMES).replace("/", "") + end


def test_whatever_comes_the_batch_ends_and_takes_nothing_from_others(tmp_path: Path) -> None:
    students = [f"s{number}" for number in range(HOW_MANY)]
    page = a_page(tmp_path, CHECKS, *EXERCISES)
    key = build_one(page, tmp_path, [*HONEST, *students])
    for number, student in enumerate(students):
        fuzz, folder = Fuzz(f"{sampling.SEED}: {number}"), tmp_path / "in" / student
        folder.mkdir(parents=True)
        for _ in range(fuzz.luck.choice([1, 1, 1, 2])):
            notebook = json.loads(nbformat.writes(hand_in(key, student)))
            try:
                (folder / fuzz.name()).write_bytes(fuzz.submission(notebook))
            except OSError:  # a name that no file may have
                (folder / "w.ipynb").write_bytes(b"{")
    for student in HONEST:
        nbformat.write(hand_in(key, student), tmp_path / "in" / f"{student}.ipynb")
    command = ["grade", "in", "key/week", "out", "-j", "2"]
    command += [] if bubblewrap_works() else ["--no-sandbox"]
    said = run("-c", MEASURED, *command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    with (tmp_path / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        found = {row["student"]: row for row in csv.DictReader(file)}
    assert sorted(found) == sorted([*HONEST, *students])
    for student in HONEST:
        assert (found[student]["half"], found[student]["to be marked"]) == ("1", "1")
        assert found[student]["flag"] == ""
    ways = {row["reason"] for row in found.values()}
    assert len(ways) > sampling.number(5, 10), "they fail in many ways"
    assert int(said.split()[-1]) < 2**20, "kibibytes of the largest process"


#: The grader's own peak is the kernel's: `ru_maxrss` of a process that was started by exec starts
#: at the peak of the one that started it, here a worker of pytest.
MEASURED = """
import re, resource, sys
from pathlib import Path
from course.__main__ import main
code = main(sys.argv[1:])
own = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(max(int(own[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""
