"""Exercises from one source, and a grader that need not trust what it grades.

Run from the root of the repository: ``python -m course --help``. What is here, in reading order:

- ``builder``: from a chapter's exercises to each student's notebook, and to the key;
- ``grader``: what runs, compares, records and reports;
- ``practice``: how the book's own exercises are checked, one file for each chapter;
- ``example``: a private course folder to start from;
- ``contest``: an assignment whose answers are ranked, the fewest entries moved.

A file of checks says ``from course import Mistake, Question``.
"""

from course.builder.questions import Criterion, Mistake, Question, committed
from course.builder.rules import Deadline

__all__ = ["Criterion", "Deadline", "Mistake", "Question", "committed"]
