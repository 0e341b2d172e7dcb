"""One package's answers and how long they take, in its own environment: nothing of costlib runs.

python -m tools.bench.asked.ask MODULE ROWS.json MODELS OUT.json
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

PASSES, SECONDS = 7, 10.0  # over the rows of a question: at most so many, for at most so long


def answered(program: Callable[[Any], Any], rows: list[Any], at_once: bool) -> dict[str, Any]:
    """What a program says of each row; a question's seconds, and those of its first call.

    >>> answered(lambda row: row["n"] / row["n"], [{"n": 2}, {"n": 0}], at_once=False)["answers"]
    [1.0, None]
    >>> answered(lambda rows: [1.0, None], [{}, {}], at_once=True)["answers"]
    [1.0, None]
    """
    calls: list[Any] = [rows] if at_once else rows
    refused = ""

    def one(call: Any) -> Any:
        nonlocal refused
        try:
            return program(call)
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            refused = refused or lines[0][:200]
            return None

    start = perf_counter()
    found = [one(calls[0])]
    first, times, begun = perf_counter() - start, [], perf_counter()
    while not times or (len(times) < PASSES and perf_counter() - begun < SECONDS):
        start = perf_counter()
        found = [one(call) for call in calls]
        times.append((perf_counter() - start) / len(calls))
    answers = (found[0] or [None] * len(rows)) if at_once else found
    plain = [None if each is None else float(each) for each in answers]
    return {"answers": plain, "seconds": median(times), "first": first, "refused": refused}


def main(module: str, rows: str, models: str, out: str) -> None:
    """Ask everything that the package has a program for."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    programs: Any = importlib.import_module(f"tools.bench.asked.{module}")
    programs.MODELS = Path(models)
    if hasattr(programs, "prepare"):
        programs.prepare()
    found = {}
    for key, asked in json.loads(Path(rows).read_text("utf-8")).items():
        program = getattr(programs, key.replace(" ", "_"), None)
        if program:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                found[key] = answered(program, asked["rows"], asked["at_once"])
    Path(out).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
