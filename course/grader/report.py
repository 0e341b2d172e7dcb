"""What a run leaves behind: grades for the instructor's tables, words for the students.

Whatever a student may have chosen (an exception's message, a name) is tidied, and can be neither
a formula in a spreadsheet nor markup in a page.
"""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from course.builder.answer_key import Key
from course.builder.roster import file_name
from course.grader.marking import Graded, Mark, tidy

__all__ = ["feedback", "gradescope_results", "summary", "write_reports", "write_whole"]


def write_reports(
    key: Key,
    results: Sequence[Graded],
    out: Path,
    strangers: Container[str] = (),
    missing: Iterable[str] = (),
) -> None:
    """Everything: grades, canvas, moodle and strangers.csv, summary.md, feedback/, gradescope/.

    Who is on the roster stands in every table, with no points where nothing came; who is not
    stands in strangers.csv alone.
    """
    ours = [graded for graded in results if graded.student not in strangers]
    others = [graded for graded in results if graded.student in strangers]
    absent = [_nothing(key, student) for student in missing]
    everybody = sorted([*ours, *absent], key=lambda graded: graded.student)
    _table(out / "grades.csv", _grades(key, everybody))
    _table(out / "canvas.csv", _canvas(key, everybody))
    _table(out / "moodle.csv", _moodle(key, everybody))
    if others:
        _table(out / "strangers.csv", _grades(key, others))
    else:
        (out / "strangers.csv").unlink(missing_ok=True)
    write_whole(out / "summary.md", summary(key, ours, len(absent), others))
    for folder in ("feedback", "gradescope"):
        (out / folder).mkdir(exist_ok=True)
    for graded in [*everybody, *others]:
        name = file_name(graded.student)
        write_whole(out / "feedback" / f"{name}.md", feedback(key, graded))
        content = json.dumps(gradescope_results(key, graded), indent=1, ensure_ascii=False)
        write_whole(out / "gradescope" / f"{name}.json", content)


def write_whole(path: Path, text: str) -> None:
    """A file that is there as a whole or as it was; a name's odd bytes become question marks."""
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(text.encode("utf-8", "replace"))
    os.replace(aside, path)


def _nothing(key: Key, student: str) -> Graded:
    """A student of whom nothing came."""
    marks = (Mark(q.name, 0, q.points, "nothing was handed in") for _, q in key.graded())
    return Graded(student, "", tuple(marks))


def feedback(key: Key, graded: Graded) -> str:
    """What a student reads: never an expected answer, never a hidden case."""
    titles = {exercise.name: exercise.title for exercise in key.source.exercises}
    lines = [f"# {key.source.title}: {graded.total:g} of {graded.out_of:g} points", ""]
    for number, mark in enumerate(graded.marks, start=1):
        lines.append(f"**{number}. {titles[mark.question]}** {mark.score:g} of {mark.out_of:g}")
        if mark.reason:
            lines.append(f"- {_code(mark.reason)}")
        if mark.feedback:
            lines.append(f"- {mark.feedback}")
        lines.append("")
    return "\n".join(lines)


def gradescope_results(key: Key, graded: Graded) -> dict[str, object]:
    """The results.json that Gradescope reads."""
    titles = {exercise.name: exercise.title for exercise in key.source.exercises}
    tests = [
        {
            "number": str(number),
            "name": titles[mark.question],
            "score": mark.score,
            "max_score": mark.out_of,
            "output": " ".join(part for part in (mark.reason, mark.feedback) if part) or "right",
            "visibility": "visible",
        }
        for number, mark in enumerate(graded.marks, start=1)
    ]
    return {"score": graded.total, "visibility": "visible", "tests": tests}


def summary(
    key: Key, results: Sequence[Graded], absent: int = 0, strangers: Sequence[Graded] = ()
) -> str:
    """The class at a glance: a histogram, each question's success, what to look into."""
    out_of = sum(question.points for question in key.questions.values())
    totals = [graded.total for graded in results]
    mean = sum(totals) / len(totals) if totals else 0
    lines = [f"# {key.source.title}: {len(results)} submissions", ""]
    lines.append(f"Mean {mean:.2f} of {out_of:g} points, of those who handed in.")
    if absent:
        lines.append(f"Nothing came from {absent} on the roster: see grades.csv.")
    if strangers:
        lines.append(f"{len(strangers)} who are not on the roster are in strangers.csv.")
    lines += ["", "| points | students | |"]
    lines.append("|---|---|---|")
    for low in range(0, 100, 10):
        held = [t for t in totals if low <= min(100 * t / out_of, 99.999) < low + 10]
        bar = "█" * round(40 * len(held) / max(len(totals), 1))
        lines.append(f"| {low} to {low + 10} % | {len(held)} | {bar} |")
    lines += ["", "| question | right | most frequent reasons otherwise |", "|---|---|---|"]
    for name in key.questions:
        marks = [m for graded in results for m in graded.marks if m.question == name]
        right = sum(mark.score == mark.out_of for mark in marks)
        share = f"{right / len(marks):.0%}" if marks else ""
        reasons = _frequent(mark.reason for mark in marks if mark.reason)
        lines.append(f"| {name} | {right} ({share}) | {reasons} |")
    flags = [
        f"- {_code(graded.student)}: {_code(flag)}"
        for graded in [*results, *strangers]
        for flag in dict.fromkeys([graded.flag, *(mark.flag for mark in graded.marks)])
        if flag
    ]
    return "\n".join([*lines, "", *(["To look into:", "", *flags, ""] if flags else [])])


def _frequent(reasons: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
    return "; ".join(f"{count} {_code(reason)}" for reason, count in first)


def _grades(key: Key, results: Sequence[Graded]) -> list[list[object]]:
    rows: list[list[object]] = [["student", *key.questions, "total", "out of", "reason", "flag"]]
    for graded in results:
        reasons = [f"{mark.question}: {mark.reason}" for mark in graded.marks if mark.reason]
        flags = [flag for flag in (graded.flag, *(mark.flag for mark in graded.marks)) if flag]
        scores = [mark.score for mark in graded.marks]
        row = [graded.student, *scores, graded.total, graded.out_of]
        rows.append([*row, "; ".join(reasons), "; ".join(flags)])
    return rows


def _canvas(key: Key, results: Sequence[Graded]) -> list[list[object]]:
    """Canvas matches students by the columns before the grade; the second row says the points."""
    heading = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", key.assignment]
    out_of = sum(question.points for question in key.questions.values())
    points: list[object] = ["    Points Possible", "", "", "", "", out_of]
    rows = [["", "", "", graded.student, "", graded.total] for graded in results]
    return [list(heading), points, *[list(row) for row in rows]]


def _moodle(key: Key, results: Sequence[Graded]) -> list[list[object]]:
    """Moodle asks which column is which when a grade file is imported."""
    rows: list[list[object]] = [["ID number", key.assignment, "Feedback"]]
    for graded in results:
        words = [f"{m.question}: {m.reason} {m.feedback}".strip() for m in graded.marks if m.reason]
        rows.append([graded.student, graded.total, html.escape("; ".join(words))])
    return rows


def _table(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """A CSV whose cells a spreadsheet takes as text, not as formulas."""
    text = io.StringIO(newline="")
    for row in rows:
        csv.writer(text).writerow([_cell(value) for value in row])
    write_whole(path, text.getvalue())


#: What a spreadsheet takes for the beginning of a formula, in full width too; and where it may
#: see a cell begin: at the front, and after what another country's table has between cells.
FORMULA = re.compile(r"(^|[;\t\r\n])([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def _cell(value: object) -> object:
    r"""A cell's content; a formula is made text by an apostrophe, and lines become one.

    >>> [_cell(text) for text in ("=1+1", "a;=1+1", "\n＝1", "-5", "a - b", 2.0)]
    ["'=1+1", "a;'=1+1", " '＝1", "'-5", 'a - b', '2']
    """
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return re.sub(r"[\r\n\t]", " ", FORMULA.sub(r"\1\2'", value))
    return value


def _code(text: str) -> str:
    """Text as code in Markdown, whatever it holds."""
    return "`" + tidy(text).replace("`", "'").replace("|", "/") + "`"
