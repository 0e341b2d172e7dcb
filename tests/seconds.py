"""Processor seconds of tests and their files, with the processes that they started and ended.

    PYTHONPATH=tests PYTEST_ADDOPTS="-p seconds" make test

Wall-clock time says on a busy machine how busy it is; this says what a test takes. Importing and
collecting the tests, twice for two workers, comes on top: `/usr/bin/time -v make test` has it all.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest


def seconds() -> float:
    """What this process and those that it waited for have used."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Remember when it began."""
    item.stash[BEGUN] = seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Note what it took where a worker's report takes it along."""
    try:
        return (yield)
    finally:
        item.user_properties.append(("seconds", seconds() - item.stash[BEGUN]))


BEGUN = pytest.StashKey[float]()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The files and the tests, the longest first."""
    files, tests = Counter[str](), Counter[str]()
    for report in (report for each in terminalreporter.stats.values() for report in each):
        if getattr(report, "when", "") == "teardown":
            file, test = report.nodeid.partition("[")[0].split("::")[:2]
            files[file] += dict(report.user_properties)["seconds"]
            tests[f"{file}::{test}"] += dict(report.user_properties)["seconds"]
    terminalreporter.write_line(f"{sum(files.values()):8.1f} s of a processor in all tests")
    for name, each in (*files.most_common(60), *tests.most_common(80)):
        terminalreporter.write_line(f"{each:8.1f} {name}")
