"""Who takes part: ids from a list or a table, by what other names they go, and their files' names.

A table may be what Moodle, Canvas or Gradescope export: their columns are known by their headings,
rows that are no person are left out, and everything else that names a person is kept as an alias,
so that a file which a system named after it finds its owner.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.builder.own_numbers import salt_of

__all__ = ["file_name", "folded", "read_people", "read_roster"]

#: Headings of a column of ids, the first that is filled counts: Canvas, Moodle, Gradescope, plain.
ID_HEADINGS = (
    *("sis login id", "sis user id", "id number", "sid", "student id", "username"),
    *("student", "id", "email", "email address", "e-mail"),
)
FIRST, LAST, WHOLE = ("first name", "given name"), ("last name", "surname"), ("name", "student")
#: Rows of an export that are no person.
NOBODY = ("points possible", "student, test")


def read_roster(path: Path) -> list[str]:
    """Student ids: one a line, or a column of a table that Moodle, Canvas or Gradescope write."""
    return list(read_people(path))


def read_people(path: Path) -> dict[str, tuple[str, ...]]:
    """Each student's id, and what else names that student: addresses, numbers, names."""
    rows = _rows(path)
    if not rows:
        return {}
    heading = [cell.lower() for cell in rows[0]]
    if not any(name in heading for name in ID_HEADINGS):
        if set(heading) & {*FIRST, *LAST, *WHOLE}:
            raise ValueError(
                f"{path} has no column of ids, but {', '.join(rows[0])}: call one of them student"
            )
        return _unique(path, {i: (row[0], ()) for i, row in enumerate(rows, 1)})
    people = {}
    for number, row in enumerate(rows[1:], 2):
        cells = dict(zip(heading, row, strict=False))
        if row[0].lower() in NOBODY:
            continue
        ids = [cells[name] for name in ID_HEADINGS if cells.get(name)]
        if not ids:
            raise ValueError(f"{path}, line {number}: no id for {' '.join(row).strip()}")
        chosen = next(cells[n] for n in _filled(heading, rows[1:]) if cells.get(n))
        people[number] = (chosen, tuple({*ids, *_names(cells)} - {chosen}))
    return _unique(path, people)


def _rows(path: Path) -> list[list[str]]:
    """The filled rows of a table, cells trimmed; commas, semicolons or tabs between them."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8: export it as CSV in UTF-8") from None
    lines = [line for line in text.splitlines() if line.strip()]
    mark = max(",;\t", key=lines[0].count) if lines else ","
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
    return [row for row in rows if any(row)]


def _filled(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The columns of ids, those first that have one for every person."""
    found = [name for name in ID_HEADINGS if name in heading]
    people = [row for row in rows if row[0].lower() not in NOBODY]

    def holes(name: str) -> int:
        at = heading.index(name)
        return sum(not (at < len(row) and row[at]) for row in people)

    return sorted(found, key=lambda name: holes(name) > 0)


def _names(cells: Mapping[str, str]) -> set[str]:
    """A person's name, as systems put it into a file's name."""
    first, last = (next((cells[n] for n in kind if cells.get(n)), "") for kind in (FIRST, LAST))
    names = {cells.get(name, "") for name in WHOLE}
    if first and last:
        names |= {f"{first} {last}", f"{last} {first}", f"{last}, {first}", f"{last}{first}"}
    return {name for name in names if name}


def _unique(
    path: Path, people: Mapping[int, tuple[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for number, (student, others) in people.items():
        if not student:
            raise ValueError(f"{path}, line {number}: no id in the first column")
        if student in found:
            raise ValueError(f"{path}, line {number}: {student} stands there twice")
        found[student] = tuple(sorted(others))
    return found


def folded(name: str) -> str:
    """A name as it is compared: case, accents' form and spaces at the ends do not count.

    >>> folded(" Zoe\\u0308@Example.org ") == folded("zo\\u00eb@example.org")
    True
    """
    return unicodedata.normalize("NFC", name).casefold().strip()


def file_name(student: str) -> str:
    """A student's id as a file name: it leads out of no folder, and no two ids share one.

    >>> file_name("ada@example.org"), file_name("../eve")
    ('ada@example.org', '_eve-0d5199')
    """
    name = re.sub(r"[^\w@+.-]", "_", student).lstrip(".")[:100]
    return name if name == student else f"{name}-{salt_of(student)[:6]}"
