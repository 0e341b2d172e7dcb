"""For the course's tests: hashes that take no time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from course.builder import notebooks


@pytest.fixture(scope="module")
def fast_hashes() -> Iterator[None]:
    """One round in the place of many, for a module that asks; the builder's own keeps them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "ROUNDS", 1)
        yield


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for one test."""
    monkeypatch.setattr(notebooks, "ROUNDS", 1)
