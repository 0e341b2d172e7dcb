"""The hand-written scripts: how they are laid out, what a linter says, and their types."""

from __future__ import annotations

import pytest

from programs import run


@pytest.mark.parametrize("command", ["format", "lint", "types"])
def test_scripts(command: str) -> None:
    run("-m", "tools.javascript.check", command)
