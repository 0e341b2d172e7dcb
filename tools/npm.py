"""Tools from npm, as a lock file lists them, run by the node that comes as a Python package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.site.page_weight import packaged_node

#: What npm says when it did not reach the registry.
UNREACHED = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH")
FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
PATIENCE = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")  # a minute less without a network


def install(locked: Path, home: Path) -> None:
    """Install into `home` what the lock file in `locked` lists, unless it is there already.

    npm compares every package with its hash in the lock file, and runs no script of a package.
    """
    if is_installed(locked, home):
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(locked / name, home)
    node = packaged_node()
    places = (node.parent.parent / "lib", node.parent)  # the second one on Windows
    scripts = (place / "node_modules" / "npm" / "bin" / "npm-cli.js" for place in places)
    npm = next(script for script in scripts if script.exists())
    done = subprocess.run(
        [str(node), str(npm), "ci", *FLAGS, *PATIENCE],
        cwd=home,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        said = done.stdout + done.stderr
        unreached = any(code in said for code in UNREACHED)
        sys.exit(
            "error: npm's registry cannot be reached: check the network and run this again"
            if unreached
            else f"error: npm cannot install what {locked.name}/package-lock.json lists\n{said}"
        )
    shutil.copy(locked / "package-lock.json", _record(home))


def is_installed(locked: Path, home: Path) -> bool:
    """Whether `home` holds what the lock file lists today."""
    record = _record(home)
    return record.exists() and record.read_bytes() == (locked / "package-lock.json").read_bytes()


def _record(home: Path) -> Path:
    """The lock file of what is installed, written last."""
    return home / "installed.json"
