"""For every test: where the site is served, the browser that looks at it, how notebooks are run."""

from __future__ import annotations

import functools
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

import sampling
from browsing import BROWSER, FLAGS, Opened, Visit
from paths import ROOT, SITE

#: Tests run on every core already; products that take all of them only wait for each other, and a
#: page that asks for one core (its clock is for one) is forked from what has NumPy already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: A run of thousands of tests keeps much and makes more: looking for cycles among all of it, as
#: often as Python does by itself, is a tenth of its time.
gc.set_threshold(200_000, 50, 100)

set_hypothesis_home_dir(ROOT / "_build" / "hypothesis")

# Machines are shared, so no example has a deadline; in CI the same examples each run, but for
# the weekly one.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.load_profile("ci" if os.environ.get("CI") and not sampling.EVERYTHING else "here")

#: Scripts with an environment of their own, which make the data that tests read, and a plugin.
collect_ignore = ["data", "seconds.py"]

#: Folders whose files take seconds each begin, so that no processor waits for one at the end.
LONG_FIRST = ("tests/site", "tests/course", "book")
#: The line by which a file says that all of its tests are slow.
ALL_SLOW = "\npytestmark = pytest.mark.slow\n"

#: How often a cell takes a timing, and how often where its outputs are not compared: fifty runs,
#: for a page to show, were a quarter of what its tests took.
TIMING, ONCE = re.compile(r"\brepeats=\d+"), "repeats=1"

#: What `make test` asks for, and `make quick`.
WHOLE = ["tests", "costlib", "costfigures", "tools", "book"]
QUICK = ["tests/costlib", "costlib"]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More than there are cores: a test with a browser or a process waits for it half of its time,
    and two workers left a third of two cores idle. Those that are quick wait for nothing."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return cores if config.option.markexpr == "not slow" else cores + max(1, cores // 2)


def pytest_report_header() -> str:
    """Which part of what is drawn this run has."""
    if sampling.EVERYTHING:
        return "everything, nothing drawn"
    left = ", ".join(Path(file).stem.removeprefix("test_") for file in sorted(sampling.left_out()))
    return f"drawn by SEED={sampling.SEED}; of a whole run another commit has: {left}"


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int) -> None:
    """Say how to draw the same again, beside what failed."""
    if exitstatus:
        terminalreporter.write_line(f"to draw the same again: SEED={sampling.SEED} make test")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Not even imported: a file that is slow as a whole where slow tests are not asked for, and one
    that a whole run leaves to another commit."""
    if collection_path.suffix != ".py":
        return None
    if is_whole(config) and collection_path.relative_to(ROOT).as_posix() in sampling.left_out():
        return True
    is_quick = config.option.markexpr == "not slow"
    return True if is_quick and ALL_SLOW in collection_path.read_text("utf-8") else None


def is_whole(config: pytest.Config) -> bool:
    """Whether all tests are asked for, as `make test` does, or all quick ones."""
    asked = {"": WHOLE, "not slow": QUICK}.get(config.option.markexpr)
    return bool(config.args == asked and not config.option.keyword)


@functools.cache
def pages_left() -> set[Path]:
    """Notebooks that do not run: their outputs are of what they use now, and they are not drawn."""
    pages, new = sorted((ROOT / "book").glob("*.ipynb")), sampling.new_pages()
    run = sampling.some(pages, 6, "notebooks", first=lambda page: page.stem in new)
    return {*pages} - {*run}


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember that everything was green, for the next run."""
    config = session.config
    is_looked_at = config.option.collectonly or hasattr(config, "workerinput")
    if exitstatus == 0 and is_whole(config) and config.args == WHOLE and not is_looked_at:
        sampling.is_green()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the pages that are not drawn, and put files that take long at the beginning."""
    if "book" in config.args:  # and not one of its pages by name
        config.hook.pytest_deselected(items=[item for item in items if item.path in pages_left()])
        items[:] = [item for item in items if item.path not in pages_left()]

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
        starts = (n for n, start in enumerate(LONG_FIRST) if path.startswith(start))
        return next(starts, len(LONG_FIRST))

    items.sort(key=place)
    for item in items:
        cell = getattr(item, "cell", None)  # of a notebook
        if cell is not None and "nbval-ignore-output" in cell.metadata.get("tags", []):
            cell.source = TIMING.sub(ONCE, cell.source)


def pytest_configure(config: pytest.Config) -> None:
    """With --nbval, run every page alone: an empty folder, and costlib as it is published."""
    if config.getoption("nbval", default=False):
        sampling.new_pages()
        from nbval import plugin

        import kernels

        plugin.RunningKernel = kernels.Forked if sys.platform == "linux" else kernels.Alone


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The site on a free port of the loopback."""
    from tools.pages.colab_check import served

    if not (SITE / "book").is_dir():
        pytest.fail("the site is not built: run `make book` first")
    with served(SITE) as found:
        yield found


@pytest.fixture(scope="module")  # not longer: playwright's event loop is in others' way
def browser() -> Iterator[Any]:
    """The system's chromium."""
    if not BROWSER and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no chromium here: the pages were not looked at in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=[*FLAGS])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Opened]:
    """Opens pages of the site; on none may anything have gone wrong when the test ends."""
    with ExitStack() as visits:
        yield (
            lambda path, **options: (
                visits.enter_context(Visit(browser, address, path, **options)).page
            )
        )
