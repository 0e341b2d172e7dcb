"""How fast a class is graded: ``python -m tools.bench.grader [STUDENTS] [JOBS]``.

A made class hands in the example's assignment: most of it right, some of it wrong, and every tenth
hostile: endless loops, memory, output and files without end, cells of newlines, a folder in each
other a thousand deep, forged answers, files that are no notebooks.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import nbformat

from course.builder.assignments import build_one
from course.builder.samples import hand_in
from course.grader.batch import grade
from course.grader.sandbox import bubblewrap_works

EXAMPLE = Path(__file__).parents[2] / "course" / "example" / "week-1.md"
HEAD = "def best_seconds(m, k, n):\n    "
WRONG = {"product_flops": "def product_flops(): return 1"}
#: What a hostile submission has in the place of one answer.
HOSTILE = (
    HEAD + "while True: pass",
    "import time\n" + HEAD + "time.sleep(1000)",
    HEAD + "a = []\n    while True: a.append(bytes(10**7))",
    HEAD + "while True: print('x' * 10**5)",
    "import os\n" + HEAD + "for n in range(1000): os.mkdir('d'); os.chdir('d')",
    "import os\n" + HEAD + "while True: os.fork()",
    HEAD + "return 7 ** (10 ** 9)",
    "import os\n" + HEAD + "while True: os.write(3, b'x' * 65536)",
    "\n" * 80_000 + HEAD + "return 1.0",
    HEAD + "return 'x' * 10**7",
)


def main(students: int = 300, jobs: int = 2) -> None:
    """Build, hand in, grade, and say how long the grading took."""
    import resource  # not on Windows

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = [f"student-{number:03d}" for number in range(students)]
        key = build_one(EXAMPLE, place)
        (place / "in").mkdir()
        hostile = 0
        for number, name in enumerate(names):
            answers = WRONG if number % 5 == 0 else {}
            if number % 10 == 9:
                answers = {"best_seconds": HOSTILE[hostile % len(HOSTILE)]}
                hostile += 1
            nbformat.write(hand_in(key, name, answers), place / "in" / f"{name}.ipynb")
        begin = time.perf_counter()
        folders = (place / "in", place / "key" / "week-1", place / "out")
        results = grade(*folders, jobs=jobs, sandbox=bubblewrap_works())
        took = time.perf_counter() - begin
        memory = [resource.getrusage(who).ru_maxrss for who in (0, resource.RUSAGE_CHILDREN)]
    print(
        f"{students} submissions of 6 questions, {hostile} hostile, {jobs} at a time: {took:.1f} s"
    )
    grader, worker = (size / 1024 for size in memory)
    print(f"largest processes: grader {grader:.0f} MiB, worker {worker:.0f} MiB")
    full = sum(graded.total == graded.out_of for graded in results)
    print(f"full marks: {full}, as many as are neither wrong nor hostile")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
