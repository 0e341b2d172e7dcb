"""The builder: what students get and what the grader needs, made from one source.

- ``source``: an exercise as its chapter's notebook says it; ``questions``: how it is graded;
- ``rules``: until when, and which of several submissions counts;
- ``dependencies``: which lines of code an answer or a solution needs;
- ``own_numbers``: each student's numbers; ``answer_key``: everything that decides a grade;
- ``check_cell``: what a notebook carries to check an answer at once;
- ``notebooks``: the student's and the solved notebook;
- ``repository``: where it gets the library; ``roster``: who takes part;
- ``assignments``: all of it, for a whole folder; ``dry_run``: a look at it beforehand;
- ``prairielearn``: the same exercises as questions of another system;
- ``samples``: made submissions, to try the grader with.
"""
