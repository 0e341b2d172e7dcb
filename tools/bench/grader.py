"""How fast a class is graded: ``python -m tools.bench.grader [STUDENTS] [JOBS]``.

A made class hands in the example's assignment: most of it right, some of it wrong, a few endless.
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


def main(students: int = 200, jobs: int = 2) -> None:
    """Build, hand in, grade, and say how long the grading took."""
    import resource  # not on Windows

    wrong = {"product_flops": "def product_flops(): return 1"}
    endless = {"best_seconds": "def best_seconds(m, k, n):\n    while True: pass"}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = [f"student-{number:03d}" for number in range(students)]
        key = build_one(EXAMPLE, place)
        (place / "in").mkdir()
        for number, name in enumerate(names):
            answers = endless if number % 100 == 99 else wrong if number % 5 == 0 else {}
            nbformat.write(hand_in(key, name, answers), place / "in" / f"{name}.ipynb")
        begin = time.perf_counter()
        folders = (place / "in", place / "key" / "week-1", place / "out")
        grade(*folders, jobs=jobs, sandbox=bubblewrap_works())
        took = time.perf_counter() - begin
        memory = [resource.getrusage(who).ru_maxrss for who in (0, resource.RUSAGE_CHILDREN)]
    print(f"{students} submissions of 6 questions, {jobs} at a time: {took:.1f} s")
    grader, worker = (size / 1024 for size in memory)
    print(f"largest processes: grader {grader:.0f} MiB, worker {worker:.0f} MiB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
