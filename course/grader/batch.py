"""A class: canary first, then everybody, in parallel; a journal, so that nothing is lost."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from course.builder.answer_key import load_key
from course.grader import cluster
from course.grader.inbox import Inbox, find
from course.grader.journal import Journal
from course.grader.marking import Graded
from course.grader.report import write_reports, write_whole
from course.grader.sandbox import Limits, bubblewrap_works, unguarded
from course.grader.submission import Submission, read_submission
from course.grader.worker import Setting, grade_one

__all__ = ["CanaryError", "canary", "grade"]


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
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
) -> list[Graded]:
    """Grade a folder; everything is in OUT afterwards, and returned."""
    setting = Setting(str(key.resolve()), _sandbox(sandbox, say), limits or Limits())
    if key.stat().st_mode & 0o077:
        key.chmod(0o700)
    out.mkdir(parents=True, exist_ok=True)
    with Journal(out / "journal.jsonl", _digest(key)) as journal:
        opened = load_key(key)
        inbox = find(submissions, opened.assignment, opened.roster, opened.aliases, pattern)
        write_whole(out / "handed-in.md", inbox.report(submissions))
        _tell(inbox, opened.roster, out, say)
        canary(setting)
        say("canary: the solved notebook gets full marks, the blank one none")
        done = _graded(inbox, setting, journal, jobs, scheduler, say)
        flagged = [_flagged(graded, inbox) for graded in done]
        write_reports(opened, flagged, out, inbox.strangers, inbox.missing)
    return flagged


def _graded(
    inbox: Inbox,
    setting: Setting,
    journal: Journal,
    jobs: int,
    scheduler: str | None,
    say: Callable[[str], None],
) -> list[Graded]:
    """Everybody who handed in, those graded before from the journal."""
    digests = {one.student: one.digest for one in inbox.handed}
    todo = [one for one in inbox.handed if (one.student, one.digest) not in journal.done]
    if len(todo) < len(digests):
        say(f"{len(digests) - len(todo)} of {len(digests)} were graded before")
    progress = Progress(len(todo), say)
    reading = (read_submission(one.student, one.path) for one in todo)  # a few at a time
    for graded in _results(setting, reading, jobs, scheduler):
        journal.add(graded)
        digests[graded.student] = graded.digest
        progress.step()
    return [journal.done[at] for at in digests.items()]


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
        say(f"{looked} matched otherwise than by name alone, or twice: see {out / 'handed-in.md'}")


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


def _digest(key: Path) -> str:
    """Changes when anything about the grading changes: then everybody is graded again."""
    digest = hashlib.sha256()
    for name in ("key.json", "checks.py"):
        digest.update((key / name).read_bytes())
    return digest.hexdigest()[:16]


class Progress:
    """A bar with the time left, where somebody looks; a line now and then elsewhere."""

    def __init__(self, total: int, say: Callable[[str], None]) -> None:
        self.total, self.say = total, say
        self.done, self.begin, self.last = 0, time.monotonic(), 0.0

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        now = time.monotonic() - self.begin
        left = now / self.done * (self.total - self.done)
        if sys.stderr.isatty():
            bar = "█" * (30 * self.done // self.total)
            line = f"\r{bar:·<30} {self.done}/{self.total}, {left:.0f} s left "
            with contextlib.suppress(OSError):
                sys.stderr.write(line + ("\n" if self.done == self.total else ""))
                sys.stderr.flush()
        elif now - self.last > 5 or self.done == self.total:
            self.last = now
            self.say(f"{self.done}/{self.total} graded, {left:.0f} s left")
