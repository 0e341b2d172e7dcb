"""One submission against the key: what each question gets, and the words for it."""

from __future__ import annotations

import contextlib
import ctypes
import math
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

from course.builder.answer_key import Key
from course.builder.questions import Plain, Question
from course.grader.sandbox import Failure, RunningQuestion, Sandbox
from course.grader.submission import Submission

__all__ = ["Graded", "Mark", "mark_question", "mark_submission", "tidy"]

#: Seconds that the instructor's own check of an answer may take: of a processor where that can be
#: told, so that nobody loses a place because the machine was busy.
JUDGING = 10


@dataclass(frozen=True)
class Mark:
    """What one question got. ``reason`` is one line; ``feedback`` is what teaches."""

    question: str
    score: float
    out_of: float
    reason: str = ""
    feedback: str = ""
    flag: str = ""  # for the instructor's eyes
    count: int | None = None  # what a right answer takes, where a board ranks it
    seconds: float = 0.0
    waits: bool = False  # for a person to mark it


@dataclass(frozen=True)
class Graded:
    """One student's marks."""

    student: str
    digest: str
    marks: tuple[Mark, ...]
    flag: str = ""
    loss: float = 0.0  # the share of the points that a late hour costs
    late: str = ""  # and the words for it

    @property
    def total(self) -> float:
        """The points of all questions together, less what came late."""
        return round(sum(mark.score for mark in self.marks) * (1 - self.loss), 4)

    @property
    def waiting(self) -> float:
        """The points that a person has not marked yet."""
        return sum(mark.out_of for mark in self.marks if mark.waits)

    @property
    def out_of(self) -> float:
        """The points that were to be had."""
        return sum(mark.out_of for mark in self.marks)


class Found(NamedTuple):
    """What an answer got, or one case of it."""

    share: float
    reason: str = ""
    feedback: str = ""
    flag: str = ""
    taken: int | None = None  # what a right answer counts


def mark_submission(key: Key, submission: Submission, sandbox: Sandbox) -> list[Mark]:
    """Every question that a machine marks, each by itself."""
    marks, end = [], time.monotonic() + sandbox.limits.submission
    for exercise, question in key.by_machine(submission.student):
        begin = time.monotonic()
        problem = submission.problem or submission.lacks(exercise.name)
        if begin > end:
            problem = "time-out: the time for the whole notebook is used up"
        if problem:
            marks.append(Mark(exercise.name, 0, question.points, tidy(problem)))
            continue
        found = mark_question(key, question, submission, sandbox)
        seconds = round(time.monotonic() - begin, 3)
        score = round(found.share * question.points, 4)
        said = (found.reason, found.feedback, found.flag, found.taken)
        marks.append(Mark(exercise.name, score, question.points, *said, seconds=seconds))
    return marks


def mark_question(key: Key, question: Question, submission: Submission, sandbox: Sandbox) -> Found:
    """The share of the points and the words for it."""
    cells = submission.code()
    try:
        return _run(key, question, submission, sandbox, cells)
    except Failure as failure:
        if failure.early and failure.kind.startswith(("crashed", "out of memory", "ended")):
            # perhaps it was not this answer's cell
            own = [(label, code) for label, code in cells if question.name in code]
            with contextlib.suppress(Failure):
                return _run(key, question, submission, sandbox, own)
        reason = _words(failure)
        return Found(0, reason)


def _run(
    key: Key,
    question: Question,
    submission: Submission,
    sandbox: Sandbox,
    cells: list[tuple[str, str]],
) -> Found:
    """Case by case until one is wrong; to the end where each case earns a share."""
    cases = key.cases(question.name, submission.student)
    found: list[Found] = []  # what each case got, as far as they went
    try:
        with sandbox.question(key.source.setup, cells, question.name) as running:
            there, problem = _started(running)
            if not there:
                raise problem or Failure("exception", f"NameError: {question.name} is not defined")
            for got in _each(key, question, submission, running, cases):
                found.append(got)
                if not got.share and not question.partial:
                    return got
    except Failure as failure:
        if not any(got.share for got in found) or not question.partial:
            raise
        found.append(Found(0, _words(failure)))
    right = sum(got.share for got in found)
    first = next((got for got in found if not got.share), None)
    if first is None:
        return _counted(question, cases, found)
    said = f"; right in {right:g} of {len(cases)} cases" if right else ""
    return first._replace(share=right / len(cases), reason=first.reason + said)


def _counted(question: Question, cases: list[dict[str, Plain]], found: list[Found]) -> Found:
    """An answer that is right in every case, with what it takes in all of them together."""
    taken = [got.taken for got in found if got.taken is not None]
    if question.least is None or len(taken) < len(cases):
        return Found(1)
    total = sum(taken)
    least = math.ceil(sum(question.least(**case) for case in cases))
    return Found(1, "", f"Your count is {total:,}; none can be below {least:,}.", "", total)


def _started(running: RunningQuestion) -> tuple[bool, Failure | None]:
    try:
        return running.start()
    except Failure as failure:
        failure.early = True
        raise


def _each(
    key: Key,
    question: Question,
    submission: Submission,
    running: RunningQuestion,
    cases: list[dict[str, Plain]],
) -> Iterator[Found]:
    """What each case gets; a Failure after which nothing more can be asked ends them."""
    seen: list[tuple[dict[str, Plain], Plain]] = []
    for position, case in enumerate(cases):
        try:
            answer = running.ask({} if question.kind == "number" else case)
        except Failure as failure:
            said = _discreet(failure) if position else failure
            if not question.partial or failure.kind not in GOES_ON:
                raise said from None
            yield Found(0, _words(said))
            continue
        seen.append((case, answer))
        verdict = _verdict(key, question, submission, case, answer)
        if verdict is True:
            yield Found(1, taken=_taken(question, case, answer))
        else:
            yield _wrong(key, question, submission, seen, verdict)


#: Failures after which the next case can be asked.
GOES_ON = ("exception", "not a plain value", "nothing returned", "called exit")


def _verdict(
    key: Key, question: Question, submission: Submission, case: dict[str, Plain], answer: Plain
) -> bool | str:
    """Whether an answer is right; a number may be for those that were handed out before."""
    verdict = _judge(question, case, key.expected(question.name, case), answer)
    if verdict is True or question.kind != "number":
        return verdict
    for old in key.given(question.name, submission.student)[:-1]:
        if _judge(question, old, key.expected(question.name, old), answer) is True:
            return True
    return verdict


def _wrong(
    key: Key,
    question: Question,
    submission: Submission,
    seen: list[tuple[dict[str, Plain], Plain]],
    verdict: bool | str,
) -> Found:
    where = "for the numbers of your notebook" if len(seen) == 1 else "in a hidden case"
    if isinstance(verdict, str):
        return Found(0, f"wrong {where}", verdict)
    for mistake in question.mistakes:
        with contextlib.suppress(Exception):
            if all(question.judge(c, mistake.answer(**c), a) is True for c, a in seen):
                return Found(0, f"wrong {where}: {mistake.name}", mistake.feedback)
    owner = _owner(key, question, submission, seen[0][1]) if question.kind == "number" else ""
    if owner:
        text = "This is the answer for other numbers than those of your notebook."
        flag = f"has the answer of {owner}"
        return Found(0, "the answer to somebody else's numbers", text, flag)
    said = _other_form(key, question, *seen[0]) if len(seen) == 1 else ""
    return Found(0, f"wrong {where}", said)


def _other_form(key: Key, question: Question, case: dict[str, Plain], answer: Plain) -> str:
    """What kind of value came in the place of another, a text of digits for a number."""
    if question.compare or question.public:
        return ""
    words = [KINDS.get(type(v), "a number") for v in (answer, key.expected(question.name, case))]
    return "" if words[0] == words[1] else f"Your answer is {words[0]}, and not {words[1]}."


def _owner(key: Key, question: Question, submission: Submission, answer: Plain) -> str:
    """Whose numbers a wrong answer is right for, as far as there is time to look."""
    unit = key.unit(submission.student)
    with contextlib.suppress(_TooSlow), _no_longer_than(JUDGING):
        for student in ["", submission.claims, *key.roster]:
            if key.unit(student) != unit:
                case = key.numbers(question.name, student)
                if question.judge(case, key.expected(question.name, case), answer) is True:
                    return student or "the blank notebook"
    return ""


#: What a plain value is called, if it is no number.
KINDS = {bool: "True or False", str: "a text", list: "a list", dict: "a dictionary"}


class _TooSlow(Exception):
    pass


def _judge(question: Question, case: dict[str, Plain], expected: Plain, answer: Any) -> bool | str:
    """The comparison, which an answer made to hurt must not hold up or bring down."""
    try:
        with _no_longer_than(JUDGING):
            return question.judge(case, expected, answer)
    except _TooSlow:
        return "Your answer is too large to be checked."
    except Exception:
        return "Your answer does not have the form that was asked for."


def _taken(question: Question, case: dict[str, Plain], answer: Plain) -> int | None:
    """What a right answer counts; nothing where nothing is counted, or that takes too long."""
    if question.count is None:
        return None
    with contextlib.suppress(Exception), _no_longer_than(JUDGING):
        return int(question.count(answer, **case))
    return None


def _no_longer_than(seconds: float) -> contextlib.AbstractContextManager[None]:
    """An alarm: by a signal where one can be had, and by another thread on a cluster's workers."""
    if threading.current_thread() is threading.main_thread() and sys.platform != "win32":
        return _by_signal(seconds)
    return _by_thread(seconds)


@contextlib.contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    """It stops Python; a call into C that never returns it does not stop."""
    here, over = ctypes.c_ulong(threading.get_ident()), threading.Lock()
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def stop() -> None:
        if over.acquire(blocking=False):
            raise_in(here, ctypes.py_object(_TooSlow))

    alarm = threading.Timer(seconds, stop)
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        if not over.acquire(blocking=False):
            raise_in(here, None)  # it rang: what has not been raised yet must not be
        alarm.cancel()


def _discreet(failure: Failure) -> Failure:
    """What may be said of a failure in a hidden case: not what student code chose to say, and no
    name of an exception or way to end either, which could spell the case letter by letter."""
    known = failure.kind if failure.kind == "time-out" else "no answer"
    return Failure(f"{known} in a hidden case", "", None)


def _words(failure: Failure) -> str:
    """A failure as one line."""
    if failure.kind == "exception" and failure.detail.startswith("NotImplementedError"):
        return "not answered"
    detail = failure.detail
    if failure.line is not None:
        detail += f" (line {failure.line} of the cell)"
    words = detail if failure.kind == "exception" else f"{failure.kind}: {detail}"
    return tidy(words.removesuffix(": "))


def tidy(text: str) -> str:
    """Text that a student may have chosen, made harmless: one short line without controls.

    >>> tidy("a\\nb\\x1b[31m")
    'a b [31m'
    """
    text = "".join(c if c.isprintable() else " " for c in text[:2000])
    return re.sub(r"\s+", " ", text).strip()[:200]
