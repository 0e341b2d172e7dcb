"""For the course's tests: hashes that take no time."""

from __future__ import annotations

from typing import Any

import pytest

from course.builder import check_cell, notebooks


@pytest.fixture
def fast_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round in the place of 40,000, here and in every notebook; a few tests keep them all."""
    monkeypatch.setattr(check_cell, "ROUNDS", 1)
    original = notebooks._check_code

    def fast(checks: dict[str, Any]) -> str:
        code = original(checks)
        assert "ROUNDS = 40_000" in code
        return code.replace("ROUNDS = 40_000", "ROUNDS = 1")

    monkeypatch.setattr(notebooks, "_check_code", fast)
