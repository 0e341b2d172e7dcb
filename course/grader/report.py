"""What a run leaves behind: grades for the instructor's tables, words for the students.

Whatever a student may have chosen (an exception's message, a name) is tidied, and can be neither
a formula in a spreadsheet nor markup in a page.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from course.builder.answer_key import Key, write_whole
from course.builder.roster import file_name
from course.grader.board import pseudonym, write_board
from course.grader.class_page import class_page, frequent
from course.grader.marking import Graded, Mark, tidy
from course.grader.similar import Alike
from course.grader.tables import write_table

__all__ = ["feedback", "gradescope_results", "summary", "write_reports"]


def write_reports(
    key: Key,
    results: Sequence[Graded],
    out: Path,
    strangers: Container[str] = (),
    missing: Iterable[str] = (),
    alike: Sequence[Alike] = (),
    *,
    names: bool = False,
) -> None:
    """Everything: grades, canvas, moodle and strangers.csv, summary.md, class.html, feedback/,
    gradescope/; board.csv and board.html, with or without names, where a question is counted.

    Who is on the roster stands in every table, with no points where nothing came; who is not
    stands in strangers.csv alone.
    """
    ours = [graded for graded in results if graded.student not in strangers]
    others = [graded for graded in results if graded.student in strangers]
    absent = [_nothing(key, student) for student in missing]
    everybody = sorted([*ours, *absent], key=lambda graded: graded.student)
    write_table(out / "grades.csv", _grades(key, everybody))
    write_table(out / "canvas.csv", _canvas(key, everybody))
    write_table(out / "moodle.csv", _moodle(key, everybody))
    if others:
        write_table(out / "strangers.csv", _grades(key, others))
    else:
        (out / "strangers.csv").unlink(missing_ok=True)
    write_whole(out / "summary.md", summary(key, ours, len(absent), others))
    write_whole(out / "class.html", class_page(key, ours, alike, len(absent)))
    write_board(key, ours, out, names=names)
    for folder in ("feedback", "gradescope"):
        (out / folder).mkdir(exist_ok=True)
    for graded in [*everybody, *others]:
        name = file_name(graded.student)
        write_whole(out / "feedback" / f"{name}.md", feedback(key, graded))
        content = json.dumps(gradescope_results(key, graded), indent=1, ensure_ascii=False)
        write_whole(out / "gradescope" / f"{name}.json", content)


def _nothing(key: Key, student: str) -> Graded:
    """A student of whom nothing came."""
    marks = (Mark(q.name, 0, q.points, "nothing was handed in") for _, q in key.graded(student))
    return Graded(student, "", tuple(marks))


def feedback(key: Key, graded: Graded) -> str:
    """What a student reads: never an expected answer, never a hidden case."""
    titles = {exercise.name: exercise.title for exercise in key.source.exercises}
    lines = [f"# {key.source.title}: {graded.total:g} of {graded.out_of:g} points", ""]
    if graded.late:
        lines += [f"{graded.late}.", ""]
    if graded.waiting:
        lines += [f"Of these, {graded.waiting:g} are not marked yet.", ""]
    for number, mark in enumerate(graded.marks, start=1):
        points = "?" if mark.waits else f"{mark.score:g}"
        lines.append(f"**{number}. {titles[mark.question]}** {points} of {mark.out_of:g}")
        if mark.reason:
            lines.append(f"- {_code(mark.reason)}")
        if mark.feedback:
            lines.append(f"- {mark.feedback}")
        if mark.count is not None:
            lines.append(f"- On the board without names you are {pseudonym(key, graded.student)}.")
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
            "output": _said(mark),
            "visibility": "visible",
        }
        for number, mark in enumerate(graded.marks, start=1)
    ]
    late = {"output": f"{graded.late}."} if graded.late else {}
    return {"score": graded.total, "visibility": "visible", "tests": tests, **late}


def _said(mark: Mark) -> str:
    """What a mark is for, in a line; never that an answer is right which got no points."""
    words = _in_words(mark)
    right = "right" if mark.score == mark.out_of else "wrong"
    return words or ("not marked yet" if mark.waits else right)


def _in_words(mark: Mark) -> str:
    """Why points were lost, and what teaches, as sentences.

    >>> _in_words(Mark("f", 0, 1, "wrong: exactly 4", "The weights shrink by 4."))
    'wrong: exactly 4. The weights shrink by 4.'
    """
    return " ".join(_ended(part) for part in (mark.reason, mark.feedback) if part)


def _ended(text: str) -> str:
    """With a full stop, unless it ends as a sentence does."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def summary(
    key: Key, results: Sequence[Graded], absent: int = 0, strangers: Sequence[Graded] = ()
) -> str:
    """The class at a glance: a histogram, each question's success, what to look into."""
    out_of = sum(question.points for _, question in key.graded(next(iter(key.roster), "")))
    totals = [graded.total for graded in results]
    mean = sum(totals) / len(totals) if totals else 0
    lines = [f"# {key.source.title}: {len(results)} submissions", ""]
    lines.append(f"Mean {mean:.2f} of {out_of:g} points, of those who handed in.")
    if absent:
        lines.append(f"Nothing came from {absent} on the roster: see grades.csv.")
    if waiting := sum(bool(graded.waiting) for graded in results):
        lines.append(f"Answers of {waiting} wait for a person: see the folder marking.")
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
        every = [m for graded in results for m in graded.marks if m.question == name]
        marks = [mark for mark in every if not mark.waits]
        right = sum(mark.score == mark.out_of for mark in marks)
        share = f"{right / len(marks):.0%}" if marks else ""
        found = frequent([mark.reason for mark in marks if mark.reason])
        reasons = "; ".join(f"{count} {_code(reason)}" for reason, count in found)
        said = f"{right} ({share})" if marks else ""
        waiting = f"{len(every) - len(marks)} to be marked" if len(every) > len(marks) else ""
        reasons = "; ".join(part for part in (waiting, reasons) if part)
        lines.append(f"| {name} | {said} | {reasons} |")
    flags = [
        f"- {_code(graded.student)}: {_code(flag)}"
        for graded in [*results, *strangers]
        for flag in dict.fromkeys([graded.flag, *(mark.flag for mark in graded.marks)])
        if flag
    ]
    return "\n".join([*lines, "", *(["To look into:", "", *flags, ""] if flags else [])])


def _grades(key: Key, results: Sequence[Graded]) -> list[list[object]]:
    after = ["total", "out of", "reason", "flag", "late", "to be marked"]
    rows: list[list[object]] = [["student", *key.questions, *after]]
    for graded in results:
        reasons = [f"{mark.question}: {mark.reason}" for mark in graded.marks if mark.reason]
        flags = [flag for flag in (graded.flag, *(mark.flag for mark in graded.marks)) if flag]
        scores: dict[str, object] = {m.question: "" if m.waits else m.score for m in graded.marks}
        row = [graded.student, *(scores.get(name, "") for name in key.questions)]
        row += [graded.total, graded.out_of, "; ".join(reasons), "; ".join(flags)]
        rows.append([*row, graded.late, graded.waiting or ""])
    return rows


CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def _canvas(key: Key, results: Sequence[Graded]) -> list[list[object]]:
    """Canvas matches students by the columns before the grade; the second row says the points.

    Where the roster is Canvas's own export, its columns come back as they were, and the grade in
    the column of the assignment that is called so.
    """
    people, heading = _exported(key, ("sis login id", "sis user id"))
    columns = [name for name in heading if name in next(iter(people.values()), {})] or list(CANVAS)
    out_of = sum(question.points for _, question in key.graded(next(iter(key.roster), "")))
    points: list[object] = ["    Points Possible", *[""] * (len(columns) - 1), out_of]
    rows: list[list[object]] = [[*columns, _assignment(key, heading)], points]
    for graded in results:
        known = people.get(graded.student) or {"SIS Login ID": graded.student}
        rows.append([*(known.get(name, "") for name in columns), _final(graded)])
    return rows


def _final(graded: Graded) -> object:
    """What a system is told: a total once a person has marked all, and until then nothing."""
    return "" if graded.waiting else graded.total


def _exported(key: Key, marks: Sequence[str]) -> tuple[Mapping[str, dict[str, str]], list[str]]:
    """The people and the columns of the roster's table, if it is of the system with these marks."""
    heading = list(key.export.get("heading", []))
    if not {name.lower() for name in heading} & set(marks):
        return {}, []
    return key.export["people"], heading


def _assignment(key: Key, heading: Sequence[str]) -> str:
    """The column of this assignment, which Canvas calls by its name and a number."""
    wanted = {re.sub(r"\W", "", name).casefold() for name in (key.assignment, key.source.title)}
    for name in heading:
        found = re.fullmatch(r"(.+) \(\d+\)", name)
        if found and re.sub(r"\W", "", found[1]).casefold() in wanted:
            return name
    return key.assignment


def _moodle(key: Key, results: Sequence[Graded]) -> list[list[object]]:
    """Moodle asks which column is which when a grade file is imported: those that it exported."""
    marks = ("id number", "email address", "username", "identifier")
    people, heading = _exported(key, marks)
    columns = [name for name in heading if name in next(iter(people.values()), {})] or ["ID number"]
    rows: list[list[object]] = [[*columns, key.assignment, "Feedback"]]
    for graded in results:
        words = [f"{m.question}: {_in_words(m)}" for m in graded.marks if m.reason]
        words = [_ended(graded.late), *words] if graded.late else words
        known = people.get(graded.student) or {columns[0]: graded.student}
        said = html.escape(" ".join(words))
        rows.append([*(known.get(name, "") for name in columns), _final(graded), said])
    return rows


def _code(text: str) -> str:
    """Text as code in Markdown, whatever it holds."""
    return "`" + tidy(text).replace("`", "'").replace("|", "/") + "`"
