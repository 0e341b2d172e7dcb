"""For the course's tests: hashes that take no time."""

from __future__ import annotations

import pytest

from course.builder import notebooks


@pytest.fixture
def fast_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round in the place of many; a few tests keep them all."""
    monkeypatch.setattr(notebooks, "ROUNDS", 1)
