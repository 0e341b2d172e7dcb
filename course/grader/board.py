"""The board: whose right answers count least, for each question that is counted.

Who is on it stands there by a pseudonym, which their feedback tells them, or by name. A group has
one place. What a student may have chosen is text here, never markup and never a formula.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course.builder.answer_key import Key, write_whole
from course.grader.class_page import HEAD
from course.grader.marking import Graded, tidy
from course.grader.tables import write_table

__all__ = ["Place", "places", "pseudonym", "write_board"]


@dataclass(frozen=True)
class Place:
    """One place on the board; those who count the same share it."""

    rank: int
    unit: str  #: a student, or a group
    pseudonym: str
    count: int


def places(key: Key, results: Sequence[Graded], question: str) -> list[Place]:
    """Everybody whose answer is right, the least first; of a group its best."""
    counts: dict[str, tuple[int, str]] = {}
    for graded in results:
        for mark in graded.marks:
            if mark.question == question and mark.count is not None:
                mine = (mark.count, pseudonym(key, graded.student))
                unit = key.unit(graded.student)
                counts[unit] = min(counts.get(unit, mine), mine)
    ordered = sorted(counts.items(), key=lambda item: (*item[1], item[0]))
    every = [count for count, _ in counts.values()]
    return [
        Place(1 + sum(other < count for other in every), unit, name, count)
        for unit, (count, name) in ordered
    ]


def pseudonym(key: Key, student: str) -> str:
    """Six letters and digits that only the key's owner can tell from a name.

    All who hand in together have the same.
    """
    said = f"board {key.assignment} {key.unit(student)}".encode("utf-8", "surrogatepass")
    digest = hmac.new(key.secret.encode(), said, hashlib.sha256).digest()
    return base64.b32encode(digest)[:6].decode()


def write_board(key: Key, results: Sequence[Graded], out: Path, *, names: bool = False) -> None:
    """board.csv, for you, with names; board.html, for the class, with them only if asked."""
    counted = [(e, q) for e, q in key.by_machine() if q.count is not None]
    if not counted:
        return
    rows: list[list[object]] = [["question", "place", "student", "pseudonym", "count", "bound"]]
    parts = [HEAD.format(title=html.escape(key.source.title)).replace(": the class", ": the board")]
    for exercise, question in counted:
        cases = key.cases(question.name, "")
        least = math.ceil(sum(question.least(**case) for case in cases)) if question.least else 0
        found = places(key, results, question.name)
        rows += [[question.name, p.rank, p.unit, p.pseudonym, p.count, least] for p in found]
        parts.append(_table(exercise.title, found, least, names))
    write_table(out / "board.csv", rows)
    write_whole(out / "board.html", "\n".join([*parts, "</html>\n"]))


def _table(title: str, found: Sequence[Place], least: int, names: bool) -> str:
    """One question's board."""
    rows = [
        f"<tr><td>{p.rank}</td><td>{_text(p.unit if names else p.pseudonym)}</td>"
        f"<td>{p.count:,}</td><td>{p.count / max(least, 1):.2f}</td></tr>"
        for p in found
    ]
    return "\n".join(
        [
            f"<h2>{html.escape(title)}</h2>",
            f"<p>No answer can count less than {least:,}"
            f"{'.' if found else '; none has been right yet.'}</p>",
            "<table><tr><th>place</th><th>who</th><th>count</th><th>times the bound</th></tr>",
            *rows,
            "</table>",
        ]
    )


def _text(name: str) -> str:
    """A name as text of a page, whatever it holds."""
    return html.escape(tidy(name).encode("utf-8", "replace").decode())
