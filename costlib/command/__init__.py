"""The command line: ``costlib MODEL --on DEVICE``, or ``python -m costlib``.

``costlib --help`` lists what can be asked, ``costlib COMMAND --help`` how. MODEL is a name of the
catalogue, a ``config.json``, its folder, or ``-`` to read one; DEVICE may be several, as
``H100-SXMx8``, or a node, as ``DGX-H100``. ``--json`` and ``--csv`` are for programs. The exit code
is 0 for an answer, 1 where the answer is no (it does not fit, or no choice does, no batch meets the
target, no name is like it), 2 for a wrong question.

It reads what was asked (`asked`, `parser`), asks costlib (`answers`, `trained`), and writes
(`table`).
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Sequence

from costlib.command import asked, trained
from costlib.command.answers import QUESTIONS, Unmet
from costlib.command.completion import script
from costlib.command.parser import COMMANDS, flags, parser
from costlib.command.table import complain
from costlib.serving.server import BeyondTraining, OutOfReach

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer what was asked: the exit code.

    >>> main(["models", "gpt2-x"])
    1 model
    name
    gpt2-xl
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # an old terminal has no ×
        sys.stdout.reconfigure(errors="replace")
    try:
        return _printed(sys.argv[1:] if arguments is None else list(arguments))
    except (Unmet, OutOfReach) as problem:
        complain(str(problem))
        return 1
    except (ValueError, TypeError, LookupError, OSError, RuntimeError, ImportError) as problem:
        said = str(problem) or type(problem).__name__
        if isinstance(problem, OSError) and problem.filename:
            said = f"{problem.filename}: {problem.strerror}"
        for in_python, here in _TYPED.items():
            said = re.sub(in_python, here, said)
        complain(said)
        return 2


#: What would be written in Python, and what is typed here in its place.
_TYPED = {
    r"list\(costlib\.(\w+)\)": r"costlib \1",
    r"give it one with with_\(\)": "copies alone (--plan data=2) need none",
    r": give one with node\.with_\(.*?\)": "",
}


def _printed(arguments: list[str]) -> int:
    """Run, and be rid of all output: what cannot be written is not tried again at the end."""
    try:
        try:
            return _run(arguments)
        finally:  # help ends by an exception
            sys.stdout.flush()
    except OSError as problem:
        if problem.filename:  # it was a config that could not be read
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(problem, BrokenPipeError):  # whoever read has enough
            return 0
        raise OSError(f"nowhere to print to: {problem.strerror}") from problem


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    if arguments and arguments[0] not in (*COMMANDS, "-h", "--help", "--version"):
        asked.no_command(arguments, COMMANDS)
        arguments = ["answer", *arguments]
    if not arguments:
        parser().print_help()
        return 0
    given, unknown = parser().parse_known_args(arguments)
    if unknown:
        asked.no_flag(given.command, unknown, flags())
    asked.spell(given)
    asked.fill_context(given)
    if given.command == "measure":
        return _measure(given.device, 1 if given.quick else 7)
    if given.command == "completion":
        print(script(given.shell), end="")
        return 0
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("ignore")  # what does not fit is an answer here, and an exit code
        warnings.simplefilter("always", BeyondTraining)
        found, code = (QUESTIONS | trained.QUESTIONS)[given.command](given)
    print(getattr(found, given.form)())
    for said in dict.fromkeys(str(each.message) for each in warned):
        complain(said)
    return code


def _measure(device: str, repeats: int) -> int:
    from costlib.measured.timing import measure, report

    print(report(measure(device=device, repeats=repeats)))
    return 0
