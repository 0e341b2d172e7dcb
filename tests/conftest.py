"""For every test: where the site is served, the browser that looks at it, and no deadlines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from browsing import BROWSER
from paths import ROOT, SITE

collect_ignore = ["data"]  # what makes the oracles needs torch, which the book does not

set_hypothesis_home_dir(ROOT / "_build" / "hypothesis")

# Machines are shared, so no example has a deadline; in CI the same examples each run.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The site on a free port of the loopback."""
    from tools.pages.colab_check import served

    with served(SITE) as found:
        yield found


@pytest.fixture(scope="module")  # not longer: playwright's event loop is in others' way
def browser() -> Iterator[Any]:
    """The system's chromium."""
    if not BROWSER and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no chromium here: the pages were not looked at in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()
