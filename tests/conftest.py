"""For every test: where the site is served, the browser that looks at it, how notebooks are run."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

import sampling
from browsing import BROWSER, FLAGS
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

#: Scripts with an environment of their own: they make the data that tests read.
collect_ignore = ["data"]

#: What takes longest begins first, so that no processor waits at the end: files by the time of a
#: processor that they took, processes of theirs included, then whatever is left.
LONGEST_FIRST = (
    *("tests/site/explorers", "tests/site/test_site.", "tests/site/test_survives"),
    *("tests/course/test_practice", "book/measured", "tests/site/test_publish"),
    *("tests/course/test_submissions", "book/parallel", "tests/course/test_class"),
    *("tests/site/test_colab", "book/serving", "tests/site/test_book", "tests/site/test_gates"),
    *("tests/site/test_sentences", "tests/site/test_style", "tests/costlib/test_command"),
    *("tests/costlib/test_readings", "tests/costlib/test_catalog", "tests/costlib/test_families"),
    *("tests/costlib/iomodel/test_iomodel_figures", "tests/costlib/iomodel/test_pebbles_search"),
    *("book/iomodel", "book/training", "tests/costlib/test_search", "tests/costlib/iomodel"),
    *("book", "tests/course", "tests/site", "tests/costlib/test_figures_"),
    *("tests/costlib/test_bench_prediction", "tests/costlib/test_checkpoint"),
)
#: What `make quick` leaves to `make test`, without as much as importing them: figures, imports by
#: other programs, what is fitted to measurements, and long tables of configs.
SLOW_FILES = (
    *("test_figures_", "test_iomodel_figures", "costfigures/", "costlib/measured/"),
    *("test_imports.py", "test_mutants.py", "test_wild_configs.py", "test_bench_prediction.py"),
    *("test_command.py", "costlib/test_search.py", "parallel/search.py", "test_simulator.py"),
    *("test_served.py", "test_plans.py", "test_plan_rows.py", "test_pebbles_search.py"),
    *("test_readings.py", "test_published.py", "test_iomodel_bounds.py"),
)
#: Tests that it leaves as well: exhaustive searches, and arrays whose library takes longer to load
#: than all formulas take to run.
SLOW = (
    *("::test_jax_", "::test_dask_", "::test_lazy_arrays", "::test_types_travel"),
    *("::test_the_command_prints", "::test_the_module_is_a_command", "::test_what_a_fit_computes"),
    *("::test_any_value_of_any_field", "::test_a_field_of_another_type"),
    *("::test_every_optimum_of_the_oracle", "::test_the_4_by_4_grid", "::test_groups_never"),
    *(
        "::test_a_search_that_gives_up",
        "::test_optimal_pebblings_give",
        "::test_trees_have_a_closed",
    ),
    *("::test_arrays_and_symbols_give_the_times", "::test_symbols_say_what_ints_say"),
    *("::test_the_figures_to_reach", "::test_one_changed_field_is_noticed"),
    *("::test_leading_terms_of_the_backward_passes", "::test_runs_equal_every_attention_row"),
    *("::test_any_pebbling_gives_a_partition", "::test_no_tile_shape_beats_the_bounds"),
    "::test_other_programs_can_read_it",
    *("::test_numpy_alone_answers_everything", "::test_every_legal_plan_is_found_once"),
    *("::test_ints_arrays_and_symbols_agree", "::test_every_checkpoint_of_the_catalogue_can"),
)


#: What `make test` asks for.
WHOLE = ["tests", "costlib", "costfigures", "tools", "book"]


def pytest_report_header() -> str:
    """Which part of what is drawn this run has."""
    return "everything, nothing drawn" if sampling.EVERYTHING else f"drawn by SEED={sampling.SEED}"


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int) -> None:
    """Say how to draw the same again, beside what failed."""
    if exitstatus:
        terminalreporter.write_line(f"to draw the same again: SEED={sampling.SEED} make test")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is slow as a whole is not even imported where slow tests are not asked for."""
    path = f"{collection_path.as_posix()}{'/' if collection_path.is_dir() else ''}"
    is_left = config.option.markexpr == "not slow" and any(part in path for part in SLOW_FILES)
    return True if is_left else None


@functools.cache
def pages_left() -> set[Path]:
    """Notebooks that do not run: neither they nor the library have changed, and not drawn."""
    pages = sorted((ROOT / "book").glob("*.ipynb"))
    run = sampling.some(pages, 6, "notebooks", first=lambda page: sampling.is_new(page.stem))
    return {*pages} - {*run}


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember that everything was green, for the next run."""
    asked, is_worker = session.config.option, hasattr(session.config, "workerinput")
    is_whole = session.config.args == WHOLE and not (asked.keyword or asked.markexpr)
    if exitstatus == 0 and is_whole and not is_worker:
        sampling.is_green()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files whose tests take long at the beginning, and mark what is slow."""
    if "book" in config.args:  # and not one of its pages by name
        config.hook.pytest_deselected(items=[item for item in items if item.path in pages_left()])
        items[:] = [item for item in items if item.path not in pages_left()]

    @functools.cache
    def place(file: Path) -> int:
        path = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else ""
        starts = (n for n, start in enumerate(LONGEST_FIRST) if path.startswith(start))
        return next(starts, len(LONGEST_FIRST))

    @functools.cache
    def is_slow(test: str) -> bool:
        return any(part in test for part in (*SLOW, *SLOW_FILES))

    items.sort(key=lambda item: place(item.path))
    for item in items:
        if is_slow(item.nodeid.partition("[")[0]):
            item.add_marker(pytest.mark.slow)


def pytest_configure(config: pytest.Config) -> None:
    """With --nbval, run every page alone: an empty folder, and costlib as it is published."""
    if config.getoption("nbval", default=False):
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
