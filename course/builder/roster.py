"""Who takes part: ids from a list or a table, and what their files are called."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from course.builder.own_numbers import salt_of

__all__ = ["file_name", "read_roster"]


def read_roster(path: Path) -> list[str]:
    """Student ids: one a line, or the column 'student', 'id' or 'email' of a CSV."""
    rows = list(csv.reader(path.read_text("utf-8-sig").splitlines()))
    rows = [row for row in rows if row and row[0].strip()]
    heading = [cell.strip().lower() for cell in rows[0]] if rows else []
    column = next((heading.index(n) for n in ("student", "id", "email") if n in heading), None)
    return [row[column or 0].strip() for row in rows[0 if column is None else 1 :]]


def file_name(student: str) -> str:
    """A student's id as a file name: it leads out of no folder, and no two ids share one.

    >>> file_name("ada@example.org"), file_name("../eve")
    ('ada@example.org', '_eve-0d5199')
    """
    name = re.sub(r"[^\w@+.-]", "_", student).lstrip(".")[:100]
    return name if name == student else f"{name}-{salt_of(student)[:6]}"
