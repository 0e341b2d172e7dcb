"""The journal of a run: what is in it need not be graded again.

One line a submission, written whole or not at all; of two lines of one submission the last counts.
The folder is locked while a run writes into it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from course.grader.marking import Graded, Mark

__all__ = ["Journal"]


class Journal:
    """Every submission as it is graded; a context in which no other run may use the folder."""

    def __init__(self, path: Path, key_digest: str) -> None:
        self.path, self.key_digest = path, key_digest
        self._lock: int | None = None
        self.done: dict[tuple[str, str], Graded] = {}
        self._read()

    def _read(self) -> None:
        self.done.clear()
        whole = 0
        for line in self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []:
            graded = _graded(line, self.key_digest)
            if graded is None:
                break  # a run was killed, or the disk was full, while it wrote this
            whole += len(line)
            if isinstance(graded, Graded):
                self.done[graded.student, graded.digest] = graded
        if self.path.exists():
            os.truncate(self.path, whole)

    def __enter__(self) -> Journal:
        lock = self.path.with_name(".lock")
        self._lock = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            import fcntl

            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            folder = self.path.parent
            raise ValueError(f"another run is grading into {folder}: wait for it") from None
        self._read()  # it may have ended a moment ago
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def add(self, graded: Graded) -> None:
        """Record a submission; on disk when this returns, and nothing of it if that fails."""
        entry = {"key": self.key_digest, **asdict(graded)}
        line = json.dumps(entry).encode() + b"\n"
        before = self.path.stat().st_size if self.path.exists() else 0
        try:
            with open(self.path, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(self.path, before)
            raise
        self.done[graded.student, graded.digest] = graded


def _graded(line: bytes, key_digest: str) -> Graded | str | None:
    """A line's submission; None if the line is torn, and a word if it is of another key."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry = json.loads(line, parse_float=_finite, parse_constant=_finite)
        if entry.pop("key") != key_digest:
            return "another key"
        marks = tuple(Mark(**mark) for mark in entry.pop("marks"))
        graded = Graded(**entry, marks=marks)
        return graded if math.isfinite(graded.total + graded.waiting + graded.out_of) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _finite(number: str) -> float:
    if not math.isfinite(float(number)):
        raise ValueError(f"{number} is no mark")
    return float(number)
