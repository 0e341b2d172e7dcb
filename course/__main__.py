"""The command line: ``python -m course build|samples|grade|gradescope-zip ...``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="student notebooks, solved notebooks and keys")
    build.add_argument("course", type=Path, help="a folder of notebooks (.md) with solutions")
    build.add_argument("out", type=Path)
    build.add_argument("--students", type=Path, help="a roster: ids, one a line, or a CSV")
    build.add_argument("--checks", type=Path, help="where the .checks.py are (default: COURSE)")
    build.add_argument("--exercises", action="store_true", help="leave out all that is no exercise")
    build.add_argument(
        "--renew", action="append", default=[], metavar="QUESTION", help="draw new numbers for it"
    )
    build.add_argument(
        "--only", nargs="+", default=[], metavar="WHICH", help="chapters, each with some numbers"
    )
    build.add_argument("--check", action="store_true", help="solve what everybody gets, and say")
    build.set_defaults(run=_build)
    samples = commands.add_parser("samples", help="made submissions, to try the grader with")
    samples.add_argument("key", type=Path, help="the key's folder, as build made it")
    samples.add_argument("out", type=Path)
    samples.set_defaults(run=_samples)
    grade = commands.add_parser("grade", help="grade a folder of notebooks")
    grade.add_argument("submissions", type=Path, help="ID.ipynb, or a folder for each ID")
    grade.add_argument("key", type=Path, help="the key's folder, as build made it")
    grade.add_argument("out", type=Path)
    grade.add_argument("-j", dest="jobs", type=int, default=1, help="how many at a time")
    grade.add_argument("--id", help="regular expression; its first group in the path is the id")
    grade.add_argument("--no-sandbox", action="store_true", help="do without bubblewrap")
    grade.add_argument("--seconds", type=float, default=5, help="for one call (default 5)")
    grade.add_argument("--question-seconds", type=float, default=15, help="(default 15)")
    grade.add_argument("--notebook-seconds", type=float, default=120, help="(default 120)")
    grade.add_argument("--memory", type=float, default=2, help="GiB (default 2)")
    grade.add_argument("--scheduler", help="a dask.distributed scheduler: tcp://...")
    grade.add_argument("--times", default="", help="when: a CSV (student, time), nbgrader or files")
    grade.add_argument("--names", action="store_true", help="on the board, for pseudonyms")
    grade.add_argument("--nbgrader", metavar="DATABASE", help="sqlite:///gradebook.db, too")
    grade.set_defaults(run=_grade)
    archive = commands.add_parser("gradescope-zip", help="an autograder for Gradescope")
    archive.add_argument("key", type=Path)
    archive.add_argument("out", type=Path)
    archive.set_defaults(run=_zip)
    questions = commands.add_parser(
        "prairielearn", help="exercises that draw numbers, as questions"
    )
    questions.add_argument("course", type=Path, help="a folder of notebooks (.md) with solutions")
    questions.add_argument("out", type=Path)
    questions.add_argument("--checks", type=Path, help="where the .checks.py are (COURSE)")
    questions.add_argument("--variants", type=int, default=50, help="of each question (50)")
    questions.set_defaults(run=_questions)
    commands.add_parser("gradescope", help="what that autograder runs").set_defaults(run=_here)
    return parser


def _build(options: argparse.Namespace) -> None:
    from course.builder.assignments import build
    from course.builder.dry_run import dry_run, shared_answers
    from course.builder.repository import is_nobody, repository
    from course.builder.roster import Roster, read_class

    students = read_class(options.students) if options.students else Roster({})
    whole, renew = not options.exercises, options.renew
    where = options.course, options.out, students, options.checks
    keys = build(*where, whole=whole, renew=renew, only=options.only)
    if is_nobody(repository()):
        print(f"Students get costlib from {repository()}, which is no repository: clone your fork")
        print("from GitHub, or say BOOK_REPOSITORY=you/your-fork before make course.")
    for key in keys:
        print(f"{key.assignment}: student/ solved/ key/ in {options.out}")
        for line in (*shared_answers(key), *(dry_run(key) if options.check else ())):
            print(f"{key.assignment}: {line}")


def _samples(options: argparse.Namespace) -> None:
    from course.builder.answer_key import load_key
    from course.builder.samples import write_samples

    students = write_samples(load_key(options.key), options.out)
    print(f"{options.out}: {len(students)} made submissions, right, wrong and blank in turn")


def _grade(options: argparse.Namespace) -> int:
    from course.builder.answer_key import load_key
    from course.grader.batch import CanaryError, grade
    from course.grader.sandbox import Limits

    if not options.submissions.is_dir():
        raise ValueError(f"{options.submissions} is no folder of notebooks")
    limits = Limits(
        options.seconds,
        options.question_seconds,
        options.notebook_seconds,
        int(options.memory * 2**30),
    )
    try:
        results = grade(
            options.submissions,
            options.key,
            options.out,
            jobs=options.jobs,
            sandbox=not options.no_sandbox,
            limits=limits,
            pattern=options.id,
            scheduler=options.scheduler,
            times=options.times,
            names=options.names,
        )
    except CanaryError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.nbgrader:
        from course.grader.gradebook import write_gradebook

        write_gradebook(load_key(options.key), results, options.nbgrader)
    print(f"{len(results)} graded: {options.out / 'grades.csv'}, {options.out / 'summary.md'}")
    return 0


def _zip(options: argparse.Namespace) -> None:
    from course.grader.gradescope import write_zip

    write_zip(options.key, options.out)
    print(f"{options.out}: holds the key, keep it private")


def _questions(options: argparse.Namespace) -> None:
    from course.builder.assignments import build
    from course.builder.prairielearn import write_questions
    from course.builder.roster import Roster

    if options.variants < 1:
        raise ValueError(f"--variants must be at least 1, got {options.variants}")
    with TemporaryDirectory() as place:
        keys = build(options.course, Path(place), Roster({}), options.checks, whole=False)
    for key in keys:
        written, others = write_questions(key, options.out, options.variants)
        print(f"{key.assignment}: {len(written)} questions in {options.out}")
        if others:
            print(f"  not for PrairieLearn, as no single number is drawn for: {', '.join(others)}")


def _here(_: argparse.Namespace) -> None:
    from course.grader.gradescope import grade_here

    grade_here()


if __name__ == "__main__":
    sys.exit(main())
