"""What every worker does, in this process, in another, or on another machine."""

from __future__ import annotations

import atexit
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from course.builder.answer_key import Key, load_key
from course.grader.marking import Graded, mark_submission, tidy
from course.grader.sandbox import Limits, Sandbox
from course.grader.submission import Submission

__all__ = ["Setting", "grade_one", "imports_of"]


@dataclass(frozen=True)
class Setting:
    """What every worker needs to know; it travels to other machines."""

    key: str  # the folder
    bubblewrap: bool
    limits: Limits


_local = threading.local()  # a worker's own key and sandbox, warm from one student to the next


def grade_one(setting: Setting, submission: Submission) -> Graded:
    """One submission, in this process's sandbox."""
    key, sandbox = _tools(setting)
    marks = mark_submission(key, submission, sandbox)
    flag = ""
    if submission.claims and key.unit(submission.claims) != key.unit(submission.student):
        flag = tidy(f"handed in the notebook of {submission.claims}")
    if submission.assignment and submission.assignment != key.assignment:
        flag = tidy(f"handed in {submission.assignment}, not {key.assignment}")
    return Graded(submission.student, submission.digest, tuple(marks), flag)


def _tools(setting: Setting) -> tuple[Key, Sandbox]:
    """The key and the sandbox, which stays warm for another key that needs the same of it."""
    if getattr(_local, "setting", None) != setting:
        _local.key = load_key(Path(setting.key))
        preload = imports_of(_local.key.source.setup)
        needs = preload, setting.bubblewrap, setting.limits
        if getattr(_local, "needs", None) != needs:
            if hasattr(_local, "sandbox"):
                _local.sandbox.close()
            _local.sandbox = Sandbox(preload, bubblewrap=setting.bubblewrap, limits=setting.limits)
            _local.needs = needs
            atexit.register(_local.sandbox.close)
        _local.setting = setting
    return _local.key, _local.sandbox


def imports_of(setup: str) -> list[str]:
    """What a sandbox imports once, so that no question waits for it.

    >>> imports_of("import math\\nfrom costlib import matmul\\nx = 1")
    ['math', 'costlib']
    """
    return re.findall(r"^ *(?:import|from) ([\w.]+)", setup, re.MULTILINE)
