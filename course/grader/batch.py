"""A class: canary first, then everybody, in parallel; a journal, so that nothing is lost."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from course.builder.answer_key import Key, load_key, write_whole
from course.builder.progress import Progress
from course.builder.roster import folded, spellings
from course.builder.rules import Rules, read_time
from course.grader import cluster
from course.grader.by_hand import Sheets
from course.grader.exports import times_from
from course.grader.inbox import Handed, Inbox, find
from course.grader.journal import Journal
from course.grader.marking import Graded
from course.grader.report import write_reports
from course.grader.sandbox import Limits, bubblewrap_works, unguarded
from course.grader.similar import Alike, shape, similar
from course.grader.submission import Submission, read_submission
from course.grader.worker import Setting, grade_one

__all__ = ["CanaryError", "canary", "grade", "with_loss"]


class CanaryError(Exception):
    """The grader itself is not right: nobody was graded."""


def canary(setting: Setting) -> None:
    """The solved notebook must get full marks and the blank one none, or nothing is graded."""
    folder = Path(setting.key)
    for name, share in (("solved", 1), ("blank", 0)):
        submission = read_submission("", folder / f"{name}.ipynb")
        for mark in grade_one(setting, submission).marks:
            if mark.score != share * mark.out_of:
                raise CanaryError(
                    f"the {name} notebook gets {mark.score:g} of {mark.out_of:g} for "
                    f"{mark.question} ({mark.reason or 'right'}): nobody was graded"
                )


def grade(
    submissions: Path,
    key: Path,
    out: Path,
    *,
    jobs: int = 1,
    sandbox: bool = True,
    limits: Limits | None = None,
    pattern: str | None = None,
    scheduler: str | None = None,
    times: str = "",
    names: bool = False,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
) -> list[Graded]:
    """Grade a folder; everything is in OUT afterwards, and returned.

    ``times`` says where the hours of handing in are from: a CSV, "nbgrader" or "files"; those that
    Gradescope's export says are known without it. ``names`` puts them on the board.
    """
    opened = load_key(key)  # first of all: it says which folder was meant
    setting = Setting(str(key.resolve()), _sandbox(sandbox, say), limits or Limits())
    if key.stat().st_mode & 0o077:
        key.chmod(0o700)
    out.mkdir(parents=True, exist_ok=True)
    if opened.outdated:
        say(
            f"WARNING: {opened.checks_from} has changed since the key was made: run make course "
            "again, or the changes have no effect"
        )
    with Journal(out / "journal.jsonl", _digest(key, setting.limits)) as journal:
        sheets = Sheets(opened, out / "marking")
        inbox = _found(submissions, opened, pattern, times)
        write_whole(out / "handed-in.md", inbox.report(submissions))
        _tell(inbox, opened.roster, out, say)
        canary(setting)
        say("canary: the solved notebook gets full marks, the blank one none")
        every = _graded(inbox, setting, journal, jobs, scheduler, say)
        counts, paths = _one_each(inbox, every, opened.rules)
        merged = sheets.merged(counts, paths)
        for name, rows in sheets.lost.items():
            say(f"marking/{name}.csv: nobody is called {', '.join(rows)}: those rows do not count")
        results = [_flagged(graded, inbox) for graded in merged]
        alike = _alike(opened, paths)
        write_reports(opened, results, out, inbox.strangers, inbox.missing, alike, names=names)
    return results


def _found(submissions: Path, key: Key, pattern: str | None, times: str) -> Inbox:
    """Whose is what, and when it came."""
    inbox = find(
        submissions,
        key.assignment,
        key.roster,
        key.aliases,
        pattern,
        groups=key.groups,
        keep=key.rules.keep,
    )
    known = spellings(key.roster, key.aliases)
    key.refuse_unknown_extensions()
    told = times_from(times, lambda name: known.get(folded(name)))
    if told:
        inbox.handed = [_at(one, told) for one in inbox.handed]
    if key.rules.deadline:
        unknown = [one.student for one in inbox.handed if not one.time and not one.said_late]
        if unknown:
            inbox.notes.append(
                f"there is a deadline, and nothing says when {len(unknown)} of "
                f"{len(inbox.handed)} were handed in: say --times"
            )
    return inbox


def _at(one: Handed, told: Callable[[Path, str], str | None]) -> Handed:
    """With the hour that somebody says, for each notebook of several."""
    also = tuple(_at(other, told) for other in one.also)
    return replace(one, time=told(one.path, one.student) or one.time, also=also)


def _one_each(
    inbox: Inbox, graded: Mapping[tuple[str, str], Graded], rules: Rules
) -> tuple[list[Graded], dict[str, Path]]:
    """For each student the submission that counts, with what its hour costs, and where it lies."""
    counts, paths = [], {}
    for one in inbox.handed:
        of_student = (g for (student, _), g in graded.items() if student == one.student)
        now = graded.get((one.student, one.digest)) or next(of_student)  # it may have changed
        tried = [(_late(now, one, rules), one.path)]
        for other in one.also:
            digest = read_submission(one.student, other.path).digest
            if (one.student, digest) in graded:
                tried.append((_late(graded[one.student, digest], other, rules), other.path))
        best, paths[one.student] = max(tried, key=lambda pair: (pair[0].total, not pair[0].flag))
        counts.append(best)
    return counts, paths


def _late(graded: Graded, handed: Handed, rules: Rules) -> Graded:
    """With what the hour costs at which this notebook came."""
    if not rules.deadline or not (handed.time or handed.said_late):
        return graded
    if not handed.time:
        flag = "late, as Canvas says, which does not say how late: nothing was taken off"
        return replace(graded, flag="; ".join(filter(None, [graded.flag, flag])))
    return with_loss(graded, rules, handed.time)


def with_loss(graded: Graded, rules: Rules, time: str) -> Graded:
    """With what the hour costs at which it was handed in."""
    if not rules.deadline or not time:
        return graded
    days = rules.deadline.days_late(graded.student, read_time(time))
    if not days:
        return graded
    loss = rules.deadline.loss(graded.student, read_time(time))
    words = f"{days} day{'s' if days > 1 else ''} late: {loss:.0%} less"
    return replace(graded, loss=loss, late=words)


def _alike(key: Key, paths: Mapping[str, Path]) -> list[Alike]:
    """Functions of different students, or groups, that are built alike."""
    names = [q.name for e, q in key.by_machine() if q.kind == "function"]
    shapes: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in names}
    for student, path in paths.items():
        code = "\n\n".join(source for _, source in read_submission(student, path).code())
        for name in names:
            shapes[name].setdefault(key.unit(student), shape(code, name))
    found = []
    for name in names:
        model = shape(key.exercise(name).function, name)
        found += similar(name, shapes[name], model)
    return sorted(found, key=lambda alike: (-alike.share, -alike.tokens))


def _graded(
    inbox: Inbox,
    setting: Setting,
    journal: Journal,
    jobs: int,
    scheduler: str | None,
    say: Callable[[str], None],
) -> Mapping[tuple[str, str], Graded]:
    """Every submission of everybody, by student and content; those graded before too."""
    digests = {(one.student, one.digest): one.path for one in inbox.handed}
    for one in inbox.handed:
        for other in one.also:
            digest = read_submission(one.student, other.path).digest
            digests.setdefault((one.student, digest), other.path)
    todo = [(s, path) for (s, digest), path in digests.items() if (s, digest) not in journal.done]
    if len(todo) < len(digests):
        say(f"{len(digests) - len(todo)} of {len(digests)} were graded before")
    progress = Progress(len(todo), "graded", say)
    reading = (read_submission(student, path) for student, path in todo)  # a few at a time
    done = {at: journal.done[at] for at in digests if at in journal.done}
    for graded in _results(setting, reading, jobs, scheduler):
        journal.add(graded)
        done[graded.student, graded.digest] = graded
        progress.step()
    return done


def _flagged(graded: Graded, inbox: Inbox) -> Graded:
    """With what the inbox has to say of the student."""
    flags = [graded.flag, inbox.flags.get(graded.student, "")]
    return replace(graded, flag="; ".join(flag for flag in flags if flag))


def _tell(inbox: Inbox, roster: list[str], out: Path, say: Callable[[str], None]) -> None:
    """What was decided before anybody is graded, in a line or two."""
    ours = len(inbox.handed) - len(inbox.strangers)
    if roster:
        say(
            f"{ours} of {len(roster)} on the roster handed in; {len(inbox.missing)} did not, "
            f"{len(inbox.strangers)} are not on it"
        )
    looked = len(inbox.notes) + len(inbox.flags)
    if looked:
        notes = "1 note" if looked == 1 else f"{looked} notes"
        say(f"{notes} on files, their owners or their times: see {out / 'handed-in.md'}")


def _sandbox(wanted: bool, say: Callable[[str], None]) -> bool:
    """Whether student code runs in bubblewrap; refuses where the key could be read."""
    if sys.platform == "win32":
        raise SystemExit("error: the grader runs on Linux (or in WSL)")
    here = bubblewrap_works()
    if here and wanted:
        return True
    if wanted:
        raise SystemExit(
            "error: bubblewrap is not here, or may not make namespaces. Install it "
            "(apt install bubblewrap), or accept weaker guards with --no-sandbox"
        )
    if missing := unguarded():
        raise SystemExit(
            f"error: --no-sandbox, and {missing}: student code could read the key and change "
            "marks. Install bubblewrap, or run the grader as an administrator with a Python that "
            "everybody may run, so that student code runs as another user"
        )
    say("WARNING: NO SANDBOX" + (", although bubblewrap works here." if here else "."))
    say("WARNING: Student code runs as a process of this system, with limits on time, memory and")
    say(
        "WARNING: processes. Of files that it may not open it may still see the size, and faults of"
    )
    say("WARNING: the kernel are within its reach. Use a machine that holds nothing else.")
    return False


def _results(
    setting: Setting, todo: Iterable[Submission], jobs: int, scheduler: str | None
) -> Iterator[Graded]:
    if scheduler:
        yield from cluster.results(setting, todo, scheduler)
    elif jobs == 1:
        yield from (grade_one(setting, submission) for submission in todo)
    else:
        yield from _in_processes(setting, todo, jobs)


def _in_processes(setting: Setting, todo: Iterable[Submission], jobs: int) -> Iterator[Graded]:
    """A few submissions ahead of the workers, so that memory does not grow with the class."""
    waiting = iter(todo)
    with ProcessPoolExecutor(jobs, get_context("spawn"), _end_with_parent, (os.getpid(),)) as pool:
        running = {pool.submit(grade_one, setting, s) for s in islice(waiting, 2 * jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(grade_one, setting, s) for s in islice(waiting, len(done))}
            yield from (future.result() for future in done)


def _end_with_parent(parent: int) -> None:
    """A worker whose grader was killed ends too, and its sandbox with it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _digest(key: Path, limits: Limits) -> str:
    """Changes when anything about the grading changes: then everybody is graded again."""
    digest = hashlib.sha256(repr(limits).encode())
    for name in ("key.json", "checks.py"):
        digest.update((key / name).read_bytes())
    return digest.hexdigest()[:16]
