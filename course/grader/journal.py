"""The journal of a run: what is in it need not be graded again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from course.grader.marking import Graded, Mark

__all__ = ["Journal"]


class Journal:
    """Every mark as it is given: one line each, written once, never changed."""

    def __init__(self, path: Path, key_digest: str) -> None:
        self.path, self.key_digest = path, key_digest
        self.done: dict[tuple[str, str], Graded] = {}
        marks: dict[tuple[str, str], tuple[list[Mark], str]] = {}
        whole = 0
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
            try:
                entry = json.loads(line)
                if not line.endswith(b"\n"):
                    break
            except ValueError:
                break  # a run was killed while it wrote this
            whole += len(line)
            if entry["key"] == key_digest:
                at = entry["student"], entry["digest"]
                marks.setdefault(at, ([], entry["flag"]))[0].append(Mark(**entry["mark"]))
                if entry["last"]:
                    found, flag = marks[at]
                    self.done[at] = Graded(*at, tuple(found), flag)
        if path.exists():
            os.truncate(path, whole)

    def add(self, graded: Graded) -> None:
        """Record a submission; on disk when this returns."""
        lines = []
        for mark in graded.marks:
            last = mark is graded.marks[-1]
            who = {"key": self.key_digest, "student": graded.student, "digest": graded.digest}
            entry = {**who, "flag": graded.flag, "mark": asdict(mark), "last": last}
            lines.append(json.dumps(entry) + "\n")
        with open(self.path, "ab") as file:
            file.write("".join(lines).encode())
            file.flush()
            os.fsync(file.fileno())
        self.done[graded.student, graded.digest] = graded
