"""Programs of this environment, run in the repository's root."""

from __future__ import annotations

import subprocess
import sys

from paths import ROOT


def run(*command: str) -> str:
    """What a tool of this environment says; where it fails, that is the failure's message."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
