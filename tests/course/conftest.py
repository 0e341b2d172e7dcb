"""For the course's tests: hashes that take no time, and fits that take theirs once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from costlib.measured import calibration
from course.builder import notebooks
from tools.pages import survives


@pytest.fixture(scope="module")
def fast_hashes() -> Iterator[None]:
    """One round in the place of many, for a module that asks; the builder's own keeps them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "ROUNDS", 1)
        yield


@pytest.fixture(scope="module")
def fits_once() -> Iterator[None]:
    """A solution, each mistake and each blank notebook of a page fit the same rows again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "_best", survives.found_once)
        yield


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for one test."""
    monkeypatch.setattr(notebooks, "ROUNDS", 1)
