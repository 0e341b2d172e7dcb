"""Programs that tests run, in the repository's root unless they say where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from paths import ROOT


def ended(*command: object, cwd: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that has ended, well or not, and what it said."""
    words, about = [*map(str, command)], {"capture_output": True, "encoding": "utf-8", **options}
    return subprocess.run(words, cwd=cwd, check=False, **about)


def run(*command: object, cwd: Path = ROOT, **options: Any) -> str:
    """What a tool of this environment says; where it fails, that is the failure's message."""
    done = ended(sys.executable, *command, cwd=cwd, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
