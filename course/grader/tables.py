"""CSV that a spreadsheet takes as text, whatever a student chose to put into it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from course.builder.answer_key import write_whole

__all__ = ["as_cell", "plain_cell", "write_table"]

#: What a spreadsheet takes for the beginning of a formula, in full width too; and where it may
#: see a cell begin: at the front, and after what another country's table has between cells.
FORMULA = re.compile(r"(^|[;\t\r\n])([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def write_table(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """A CSV whose cells a spreadsheet takes as text, not as formulas."""
    text = io.StringIO(newline="")
    for row in rows:
        csv.writer(text).writerow([as_cell(value) for value in row])
    write_whole(path, text.getvalue())


def as_cell(value: object) -> object:
    r"""A cell's content; a formula is made text by an apostrophe, and lines become one.

    >>> [as_cell(text) for text in ("=1+1", "a;=1+1", "\n＝1", "-5", "a - b", 2.0)]
    ["'=1+1", "a;'=1+1", " '＝1", "'-5", 'a - b', '2']
    """
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return re.sub(r"[\r\n\t]", " ", FORMULA.sub(r"\1\2'", value))
    return value


def plain_cell(text: str) -> str:
    """A cell as it was before it was guarded.

    >>> plain_cell("'=1+1"), plain_cell("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if text[:1] == "'" and FORMULA.match(text[1:]) else text
