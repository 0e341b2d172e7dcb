"""What systems write beside the submissions that they export: who sent each, and when.

Gradescope numbers the folders and says in ``submission_metadata.yml`` whose they are; Canvas puts
``LATE`` into a file's name, and no time; nbgrader leaves a ``timestamp.txt`` in each folder, which
a student may have written, so that it counts only where the instructor says that nbgrader did.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from course.builder.rules import read_time

__all__ = ["Sent", "sent_by_folder", "times_from", "when"]

LARGEST = 20_000_000  # bytes that are read of what an export says
GRADESCOPE = "submission_metadata.yml"
EXPORT = re.compile(r"assignment_\d+_export")  # how its folder is called, if not by us
ENTRY = re.compile(r"^['\"]?(submission_\d+)['\"]?:\s*$")
SENDER = re.compile(r"^\s*(?:- )?:?(name|sid|email):\s*(.*)$")
CREATED = re.compile(r"^\s*:?created_at:\s*(.*)$")


@dataclass
class Sent:
    """Who a system says handed in a folder, each by all the names that it gives, and when."""

    senders: list[list[str]] = field(default_factory=list)
    time: str = ""


def sent_by_folder(folder: Path) -> dict[str, Sent]:
    """What Gradescope's export says of its folders; nothing for other exports.

    Lines are read one by one, so that a file made to hurt takes no more than its length.
    """
    found: dict[str, Sent] = {}
    inside = [p for p in folder.glob(f"*/{GRADESCOPE}") if EXPORT.fullmatch(p.parent.name)]
    for path in sorted([*folder.glob(GRADESCOPE), *inside]):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            continue
        here: Sent | None = None
        for line in path.read_text("utf-8", "replace").splitlines():
            if entry := ENTRY.match(line):
                here = found.setdefault(entry[1], Sent())
            elif here is not None and (sender := SENDER.match(line)):
                if line.lstrip().startswith("- ") or not here.senders:
                    here.senders.append([])
                here.senders[-1].append(sender[2].strip().strip("'\""))
            elif here is not None and not here.time and (created := CREATED.match(line)):
                here.time = created[1].strip().strip("'\"")
    return found


def when(path: Path, folder: Path, sent: Mapping[str, Sent]) -> tuple[str, bool]:
    """When a file was handed in, as far as its system says so; and whether it says late."""
    parts = path.relative_to(folder).parts
    for part in parts[:-1]:
        if part in sent and _is_time(sent[part].time):
            return sent[part].time, False
    return "", bool(re.match(r"[^_]+_LATE_\d", parts[0]))


def times_from(
    said: str, key: Callable[[str], str | None]
) -> Callable[[Path, str], str | None] | None:
    """What ``--times`` means: a table of students and times, nbgrader's, or the files' own."""
    if not said:
        return None
    if said == "nbgrader":
        return lambda path, _: _stamp(path.with_name("timestamp.txt"))
    if said == "files":
        return lambda path, _: _changed(path)
    table = Path(said)
    if not table.is_file():
        raise ValueError(
            f"--times {said!r} is no file of students and times, nor is it nbgrader or files"
        )
    times: dict[str, str] = {}
    rows = csv.reader(io.StringIO(table.read_text("utf-8-sig"), newline=""))
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and len(cells) > 1 and not _is_time(cells[1])):
            continue
        student = key(cells[0])
        if student is None or len(cells) < 2:
            raise ValueError(f"{table}, line {number}: {cells[0]!r} is nobody on the roster")
        read_time(cells[1])
        times[student] = cells[1]
    return lambda _, student: times.get(student)


def _stamp(path: Path) -> str | None:
    if not path.is_file() or path.is_symlink():
        return None
    with path.open("rb") as file:
        text = file.read(100).decode("utf-8", "replace").strip()
    return text if _is_time(text) else None


def _changed(path: Path) -> str | None:
    try:
        return datetime.fromtimestamp(path.lstat().st_mtime, tz=timezone.utc).isoformat()
    except (ValueError, OverflowError, OSError):  # a year that no clock has
        return None


def _is_time(text: str) -> bool:
    try:
        read_time(text)
    except ValueError:
        return False
    return True
