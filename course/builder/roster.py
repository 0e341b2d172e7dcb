"""Who takes part: ids from a list or a table, by what other names they go, and their files' names.

A table may be what Moodle, Canvas or Gradescope export: their columns are known by their headings,
rows that are no person are left out, and everything else that names a person is kept as an alias,
so that a file which a system named after it finds its owner.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.builder.own_numbers import salt_of

__all__ = [
    *("Roster", "file_name", "folded", "owners_of"),
    *("read_class", "read_people", "read_roster", "spellings"),
]

#: Headings of a column of ids, the first that is filled counts: Canvas, Moodle, Gradescope, plain.
ID_HEADINGS = (
    *("sis login id", "sis user id", "id number", "sid", "student id", "username"),
    *("student", "id", "email", "email address", "e-mail", "identifier"),
)
FIRST, LAST = ("first name", "firstname", "given name"), ("last name", "lastname", "surname")
WHOLE = ("name", "full name", "student")
GROUP = ("group", "team")
#: What identifies a person in an export, to be written again as it came.
IDENTITY = (*ID_HEADINGS, *FIRST, *LAST, *WHOLE, "integration id", "root account", "section")
#: Rows of an export that are no person, by their name; and no student, by their role.
NOBODY = ("points possible", "student, test")
STAFF = ("instructor", "ta", "reader", "teacher", "non-editing teacher", "observer")


@dataclass(frozen=True)
class Roster:
    """Who takes part: other names of each, who hands in together, and the table it came in."""

    names: dict[str, tuple[str, ...]]
    groups: dict[str, str] = field(default_factory=dict)
    export: dict[str, Any] = field(default_factory=dict)


def read_roster(path: Path) -> list[str]:
    """Student ids: one a line, or a column of a table that Moodle, Canvas or Gradescope write."""
    return list(read_people(path))


def read_people(path: Path) -> dict[str, tuple[str, ...]]:
    """Each student's id, and what else names that student: addresses, numbers, names."""
    return read_class(path).names


def read_class(path: Path) -> Roster:
    """Everything that a roster says."""
    rows = _rows(path)
    if not rows:
        return Roster({})
    heading = [cell.lower() for cell in rows[0]]
    if not any(name in heading for name in ID_HEADINGS):
        _refuse_a_table_without_ids(path, rows, heading)
        return Roster(_unique(path, {i: (row[0], ()) for i, row in enumerate(rows, 1)}))
    people, groups, columns = {}, {}, {}
    ids_first = _filled(heading, rows[1:])
    for number, row in enumerate(rows[1:], 2):
        cells = dict(zip(heading, row, strict=False))
        if _is_nobody(cells, row):
            continue
        ids = [cells[name] for name in ID_HEADINGS if cells.get(name)]
        if not ids:
            raise ValueError(f"{path}, line {number}: no id for {' '.join(row).strip()}")
        chosen = next(cells[n] for n in ids_first if cells.get(n))
        people[number] = (chosen, tuple({*ids, *_names(cells)} - {chosen}))
        if group := next((cells[name] for name in GROUP if cells.get(name)), ""):
            groups[chosen] = group
        given = dict(zip(rows[0], row, strict=False))
        columns[chosen] = {name: cell for name, cell in given.items() if name.lower() in IDENTITY}
    export = {"heading": rows[0], "people": columns}
    return Roster(_unique(path, people), groups, export)


def _refuse_a_table_without_ids(
    path: Path, rows: Sequence[Sequence[str]], heading: Sequence[str]
) -> None:
    if set(heading) & {*FIRST, *LAST, *WHOLE}:
        raise ValueError(
            f"{path} has no column of ids, but {', '.join(rows[0])}: call one of them student"
        )
    if _is_heading(rows):
        raise ValueError(
            f"{path} begins with {', '.join(rows[0])}, and none of them is known as a column "
            "of ids: call one of them student"
        )


def _is_nobody(cells: Mapping[str, str], row: Sequence[str]) -> bool:
    """A row that a system puts among the people: points, what is hidden, a made student, staff."""
    whole = ", ".join(next((cells[n] for n in kind if cells.get(n)), "") for kind in (LAST, FIRST))
    if row[0].lower() in NOBODY or whole.lower() in NOBODY:
        return True
    if "manual posting" in (cell.lower() for cell in row):  # Canvas: above the points
        return not any(cells.get(name) for name in (*ID_HEADINGS, *FIRST, *LAST, *WHOLE))
    return cells.get("role", "").lower() in STAFF


def _is_heading(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names columns in words that are not known, above people's rows."""

    def tells(cell: str) -> bool:
        return "@" in cell or cell.isdigit()

    head, people = rows[0], rows[1:]
    if len(head) < 2 or not people or any(tells(cell) for cell in head):
        return False
    return any(all(at < len(r) and tells(r[at]) for r in people) for at in range(len(head)))


def _rows(path: Path) -> list[list[str]]:
    """The filled rows of a table, cells trimmed; commas, semicolons or tabs between them."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8: export it as CSV in UTF-8") from None
    first = text.strip().partition("\n")[0]
    mark = max(",;\t", key=first.count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        rows = [[cell.strip() for cell in row] for row in table]
    except csv.Error as error:
        raise ValueError(f"{path}, line {table.line_num}: no table: {error}") from None
    return [row for row in rows if any(row)]


def _filled(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The columns of ids, those first that have one for every person."""
    found = [name for name in ID_HEADINGS if name in heading]
    people = [r for r in rows if not _is_nobody(dict(zip(heading, r, strict=False)), r)]

    def holes(name: str) -> int:
        at = heading.index(name)
        return sum(not (at < len(row) and row[at]) for row in people)

    return sorted(found, key=lambda name: holes(name) > 0)


def _names(cells: Mapping[str, str]) -> set[str]:
    """A person's name, as systems put it into a file's name."""
    first, last = (next((cells[n] for n in kind if cells.get(n)), "") for kind in (FIRST, LAST))
    names = {cells.get(name, "") for name in WHOLE}
    for name in [name for name in names if "," not in name]:  # which part is the last is not said
        parts = name.split()
        names |= {" ".join(parts[at:] + parts[:at]) for at in range(1, min(len(parts), 5))}
    if first and last:
        names |= {f"{first} {last}", f"{last} {first}", f"{last}, {first}", f"{last}{first}"}
    number = re.fullmatch(r"participant (\d+)", cells.get("identifier", "").lower())
    if number:  # Moodle writes it without the word behind a name
        names.add(number[1])
    return {name for name in names if name}


def _unique(
    path: Path, people: Mapping[int, tuple[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    spelled: dict[str, str] = {}
    for number, (student, others) in people.items():
        if not student:
            raise ValueError(f"{path}, line {number}: no id in the first column")
        if student in found:
            raise ValueError(f"{path}, line {number}: {student} stands there twice")
        other = spelled.setdefault(folded(student), student)
        if other != student:
            raise ValueError(f"{path}, line {number}: {student} is {other} in another spelling")
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


def spellings(roster: Sequence[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Every spelling that means one student and no other; an id is its student's, whoever else
    calls themselves so, but for numbers: those of two kinds may be equal by chance.
    """
    found = owners_of(roster, aliases)
    exact = {folded(student): student for student in roster}
    alone = {name: who.pop() for name, who in found.items() if len(who) == 1 and name}
    return {**alone, **{name: s for name, s in exact.items() if not name.isdigit()}}


def owners_of(roster: Sequence[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Every spelling of a name or an id, and whose it is."""
    found: dict[str, set[str]] = {}
    for student in roster:
        for name in (student, file_name(student), *aliases.get(student, ())):
            for spelling in (folded(name), re.sub(r"\W", "", folded(name))):  # as Canvas writes it
                found.setdefault(spelling, set()).add(student)
    return found
