"""Answers that a person marks: texts, derivations, tables, figures.

For each such question OUT/marking gets a page to read, with what would be right, the rubric and
every answer, and a sheet (CSV) to fill in: points for each line of the rubric (an x for all of
them), or for the whole, and a comment. The next run reads the sheet before it does anything else;
what is filled in stays, until a student hands in another answer.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import csv
import hashlib
import html
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from course.builder.answer_key import Key
from course.builder.assignments import student_notebook
from course.builder.notebooks import answer_mark
from course.builder.questions import Question
from course.builder.source import STATEMENT, Exercise
from course.grader.marking import Graded, Mark, tidy
from course.grader.submission import raw_cells
from course.grader.tables import plain_cell, write_table

__all__ = ["Answer", "Sheet", "Sheets", "answers_in"]

MOST_IMAGES, LARGEST_IMAGE, LONGEST = 8, 3_000_000, 20_000
IMAGES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
IN_TEXT = re.compile(r"data:image/\w+;base64,([A-Za-z0-9+/=]{1,4000000})")
FULL = ("x", "yes", "ja", "oui", "✓")


@dataclass(frozen=True)
class Answer:
    """What a student wrote and drew; images as base64 of what is known to be one."""

    text: str = ""
    images: tuple[tuple[str, str], ...] = ()

    @property
    def version(self) -> str:
        """Other for another answer; never a number, which a spreadsheet would write otherwise."""
        whole = json.dumps([self.text, self.images]).encode()
        return "v" + hashlib.sha256(whole).hexdigest()[:12]


def answers_in(path: Path, key: Key, student: str) -> dict[str, Answer]:
    """The answers of one notebook: from the cell that asks for each on, whatever was added."""
    asked = {e.name: answer_mark(e) for e, _ in key.graded(student) if e.by_hand}
    found: dict[str, Answer] = {}
    if not asked:
        return found
    given = {cell.source.strip() for cell in student_notebook(key, student, checked=False).cells}
    name = ""
    for kind, source, cell in raw_cells(path):
        about = cell.get("metadata")
        says = about.get("exercise") if isinstance(about, dict) else None
        here = next((n for n, mark in asked.items() if mark in source or says == n), "")
        if here:
            name = here
            found.setdefault(name, Answer())
        elif source.strip() in given or STATEMENT.match(source) or isinstance(says, str):
            name = ""
        if name:
            found[name] = _with(found[name], kind, source.replace(asked[name], "").strip(), cell)
    return found


def _with(answer: Answer, kind: str, source: str, cell: Mapping[str, Any]) -> Answer:
    """An answer and one cell more: its words, what it printed, its pictures."""
    images = [*answer.images, *_images(source, cell)][:MOST_IMAGES]
    words = IN_TEXT.sub("(image)", source)
    if kind == "code":
        words += "".join(f"\n\n{text}" for text in _printed(cell))
    text = f"{answer.text}\n\n{words}".strip()[:LONGEST] if words.strip() else answer.text
    return Answer(text, tuple(images))


def _outputs(cell: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield output


def _printed(cell: Mapping[str, Any]) -> Iterator[str]:
    """What a code cell said in plain text, a table for example."""
    for output in _outputs(cell):
        data = output.get("data")
        said = data.get("text/plain") if isinstance(data, dict) else output.get("text")
        if isinstance(data, dict) and any(str(kind).startswith("image/") for kind in data):
            continue
        said = "".join(map(str, said)) if isinstance(said, list) else said
        if isinstance(said, str) and said.strip():
            yield said.strip()[:LONGEST]


def _images(source: str, cell: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pictures of a cell: drawn by its code, pasted into its text, or lying in the text."""
    bundles = [output.get("data") for output in _outputs(cell)]
    attached = cell.get("attachments")
    bundles += list(attached.values()) if isinstance(attached, dict) else []
    coded = [
        "".join(map(str, data)) if isinstance(data, list) else data
        for bundle in bundles
        if isinstance(bundle, dict)
        for kind, data in bundle.items()
        if str(kind).startswith("image/") and "svg" not in str(kind)
    ]
    for text in [*coded, *(match[1] for match in IN_TEXT.finditer(source))]:
        if not isinstance(text, str) or len(text) > 1.4 * LARGEST_IMAGE:
            continue
        try:
            data = base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        for start, kind in IMAGES.items():
            if data.startswith(start):
                yield kind, base64.b64encode(data).decode()


@dataclass
class Sheet:
    """The marking of one question: rows by student, as they stand in its CSV."""

    exercise: Exercise
    question: Question
    rows: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """A heading for each line of the rubric."""
        return [f"{line.words} ({line.points:g})" for line in self.question.rubric]

    @property
    def heading(self) -> list[str]:
        """The columns."""
        return ["student", *self.lines, "points", "comment", "note", "answer", "version"]

    def read(self, path: Path) -> list[str]:
        """Take what is filled in; every wrong number in a sentence."""
        if not path.exists():
            return []
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not UTF-8: save it as CSV in UTF-8") from None
        begin = re.match(r'"?student"?([,;\t])', text)
        mark = begin[1] if begin else ","
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark)) or [[]]
        heading = [plain_cell(name.strip()) for name in table[0]]
        missing = [name for name in self.heading if name not in heading]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]!r} any more: add it, empty")
        wrong: list[str] = []
        for number, row in enumerate(table[1:], 2):
            cells = {n: plain_cell(c.strip()) for n, c in zip(heading, row, strict=False)}
            if cells.get("student"):
                self.rows[cells["student"]] = cells
                wrong += self._wrong(cells, f"{path}, row {number}, {cells['student']}")
        return wrong

    def _wrong(self, cells: Mapping[str, str], where: str) -> Iterator[str]:
        """Every number that is none, in a sentence."""
        limits = {line: c.points for line, c in zip(self.lines, self.question.rubric, strict=True)}
        for name, most in {**limits, "points": self.question.points}.items():
            said = cells.get(name, "")
            if said and _points(said, most) is None:
                text = f"{where}: {said!r} under {name!r} is neither x nor a number"
                yield f"{text} from 0 to {most:g}"

    def find_owners(self, students: Sequence[str]) -> list[str]:
        """Give rows to students whose ids a spreadsheet took for numbers (00117 became 117).

        Whose rows are nobody's all the same.
        """
        for name in [name for name in self.rows if name not in students]:
            like = [s for s in students if s.lstrip("0") == name.lstrip("0") and s not in self.rows]
            if len(like) == 1 and name.isdigit():
                self.rows[like[0]] = self.rows.pop(name) | {"student": like[0]}
        return [name for name in self.rows if name not in students]

    def mark(self, student: str, answer: Answer | None) -> Mark:
        """A student's mark: as it is filled in, or waiting for a person."""
        question, cells = self.question, self.rows.get(student, {})
        blank = answer is None or not (answer.text or answer.images)
        points, reason = self._filled(cells)
        if points is not None and cells.get("version", "") == (answer or Answer()).version:
            return Mark(question.name, points, question.points, reason, cells.get("comment", ""))
        if blank and points is None:
            return Mark(question.name, 0, question.points, "not answered")
        flag = "answered anew since it was marked" if points is not None else ""
        words = "to be marked by a person"
        return Mark(question.name, 0, question.points, words, "", flag, waits=True)

    def _filled(self, cells: Mapping[str, str]) -> tuple[float | None, str]:
        """The points that were given, and for what; nothing if the row is empty."""
        given = {
            line: _points(cells.get(line, ""), criterion.points)
            for line, criterion in zip(self.lines, self.question.rubric, strict=True)
        }
        whole = _points(cells.get("points", ""), self.question.points)
        said = {line: points for line, points in given.items() if points is not None}
        if whole is None and not said:
            return None, ""
        words = "; ".join(f"{line}: {given[line] or 0:g}" for line in self.lines if said)
        return (sum(said.values()) if whole is None else whole), tidy(words)

    def has(self, student: str) -> bool:
        """Whether a person filled in anything, or did for a former answer."""
        cells = self.rows.get(student, {})
        return any(cells.get(name) for name in (*self.lines, "points", "comment", "note"))

    def row(self, student: str, answer: Answer) -> list[object]:
        """A line of the sheet: what was filled in, unless it was for another answer."""
        cells = self.rows.get(student, {})
        points, _ = self._filled(cells)
        filled = [cells.get(name, "") for name in (*self.lines, "points", "comment")]
        note = cells.get("note", "")
        if points is not None and cells.get("version") != answer.version:
            note = f"answered anew: the former answer got {points:g}"
            filled = [*[""] * (len(filled) - 1), filled[-1]]
        words = answer.text[:1000] or ("(a figure)" if answer.images else "")
        return [student, *filled, note, words, answer.version]


def _points(said: str, most: float) -> float | None:
    """Points as somebody fills them in; None for what says nothing or nonsense."""
    if said.casefold() in FULL:
        return most
    try:
        points = float(said.replace(",", "."))
    except ValueError:
        return None
    return points if 0 <= points <= most else None


class Sheets:
    """All questions of an assignment that a person marks, and their folder."""

    def __init__(self, key: Key, folder: Path) -> None:
        self.key, self.folder = key, folder
        self.sheets = {e.name: Sheet(e, q) for e, q in key.graded() if e.by_hand}
        read = (sheet.read(folder / f"{name}.csv") for name, sheet in self.sheets.items())
        if wrong := [words for each in read for words in each]:  # all at once: each costs a run
            raise ValueError("\n".join(wrong))
        self.lost: dict[str, list[str]] = {}  # rows that are nobody's: they stay in the sheet

    def merged(self, results: Sequence[Graded], paths: Mapping[str, Path]) -> list[Graded]:
        """The machine's marks and the person's, in the notebook's order; sheets and pages anew."""
        if not self.sheets:
            return list(results)
        self.folder.mkdir(parents=True, exist_ok=True)
        known = [*dict.fromkeys([*self.key.roster, *(graded.student for graded in results)])]
        found = {name: sheet.find_owners(known) for name, sheet in self.sheets.items()}
        self.lost = {name: lost for name, lost in found.items() if lost}
        tables: dict[str, list[list[object]]] = {n: [s.heading] for n, s in self.sheets.items()}
        with contextlib.ExitStack() as stack:
            pages = {n: stack.enter_context(self._page(n)) for n in self.sheets}
            merged = [self._with(graded, paths, tables, pages) for graded in results]
        for name, table in tables.items():
            os.replace(self.folder / f".{name}.html.part", self.folder / f"{name}.html")
            lost = [self.sheets[name].rows[row] for row in self.lost.get(name, ())]
            table += [[row.get(column, "") for column in table[0]] for row in lost]
            write_table(self.folder / f"{name}.csv", table)
        return merged

    def _page(self, name: str) -> IO[str]:
        """A page that is written as answers come: a class's pictures would fill the memory."""
        page = (self.folder / f".{name}.html.part").open("w", encoding="utf-8", errors="replace")
        page.write(_head(self.key, self.sheets[name]))
        return page

    def _with(
        self,
        graded: Graded,
        paths: Mapping[str, Path],
        tables: Mapping[str, list[list[object]]],
        pages: Mapping[str, IO[str]],
    ) -> Graded:
        """One student's marks; what is to be read goes into the tables and pages."""
        here = graded.student in paths
        answers = answers_in(paths[graded.student], self.key, graded.student) if here else {}
        marks = {mark.question: mark for mark in graded.marks}
        for name, sheet in self.sheets.items():
            marks[name] = sheet.mark(graded.student, answers.get(name))
            answer = answers.get(name, Answer())
            if answer.text or answer.images or sheet.has(graded.student):
                tables[name].append(sheet.row(graded.student, answer))
                pages[name].write(_shown(graded.student, answer) + "\n")
        order = [e.name for e, _ in self.key.graded(graded.student)]
        return replace(graded, marks=tuple(marks[n] for n in order if n in marks))


HEAD = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif }}
pre {{ white-space: pre-wrap; padding: 1rem; border: 1px solid #999 }}
img {{ max-width: 100% }}
</style>
<h1>{title}</h1>"""


def _head(key: Key, sheet: Sheet) -> str:
    """What was asked, what would be right, and the rubric."""
    exercise, safe = sheet.exercise, html.escape
    rubric = "".join(f"<li>{safe(line)}</li>" for line in sheet.lines)
    return "\n".join(
        [
            HEAD.format(title=safe(f"{key.source.title}: {exercise.title}")),
            f"<p>{sheet.question.points:g} points; fill in <code>{exercise.name}.csv</code>.</p>",
            f"<h2>Asked</h2><pre>{safe(exercise.statement)}</pre>",
            f"<h2>What would be right</h2><pre>{safe(exercise.model)}</pre>",
            f"<h2>Rubric</h2><ul>{rubric}</ul>" if rubric else "",
            "<h2>Answers</h2>\n",
        ]
    )


def _shown(student: str, answer: Answer) -> str:
    """One answer: text as text, whatever it holds, and pictures as nothing but pictures."""
    name = html.escape(student.encode("utf-8", "replace").decode())
    drawn = "".join(
        f'<p><img src="data:{kind};base64,{data}" alt="an image of this answer"></p>'
        for kind, data in answer.images
    )
    text = html.escape(answer.text)
    return f"<h3>{name}</h3>" + (f"<pre>{text}</pre>" if text else "") + drawn
