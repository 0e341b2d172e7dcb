"""Environments of other people's packages, each of its own: made once, then as they are."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT


def python_with(home: Path, packages: Sequence[str]) -> Path:
    """The Python of an environment that has these packages; made anew if it has others."""
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp, wanted = home / "installed.txt", "\n".join(packages)
    if not (stamp.exists() and stamp.read_text("utf-8") == wanted):
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *packages], check=True)
        stamp.write_text(wanted, "utf-8")
    return python


def printed_by(python: Path, module: str, *words: str) -> str | None:
    """What a module of this repository prints there; None, and why on stderr, if it stops."""
    run = subprocess.run(
        [python, "-m", module, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
    )
    if run.returncode:
        why = (run.stderr.strip().splitlines() or ["no word"])[-1]
        print(f"{module} {' '.join(words)} did not run: {why}", file=sys.stderr)
        return None
    return run.stdout
