"""The same grading on a dask.distributed cluster: ``--scheduler tcp://...``.

The workers need this package, costlib, and the key at the same path; submissions travel to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from course.grader.marking import Graded
from course.grader.submission import Submission
from course.grader.worker import Setting, grade_one

__all__ = ["results"]


AHEAD = 64  # submissions on their way at any time


def results(setting: Setting, todo: Iterable[Submission], scheduler: str) -> Iterator[Graded]:
    """Each result as it comes."""
    from distributed import Client, as_completed

    waiting = iter(todo)
    with Client(scheduler) as client:
        send = lambda submission: client.submit(grade_one, setting, submission, pure=False)  # noqa: E731
        running = as_completed([send(s) for s in islice(waiting, AHEAD)])
        for future in running:
            for submission in islice(waiting, 1):
                running.add(send(submission))
            yield future.result()
