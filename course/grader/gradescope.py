"""The zip that Gradescope takes as an autograder, and what it runs there.

Gradescope unpacks it to /autograder/source, calls setup.sh once, and for each submission calls
run_autograder, which leaves /autograder/results/results.json.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from course.builder.roster import folded

if TYPE_CHECKING:
    from course.builder.answer_key import Key

__all__ = ["SETUP", "grade_here", "write_zip"]

ROOT = Path(__file__).parent.parent.parent

SETUP = """\
#!/usr/bin/env bash
set -e
apt-get update -qq
apt-get install -y -qq python3 python3-numpy bubblewrap
chmod -R go-rwx /autograder/source/key
"""

RUN = """\
#!/usr/bin/env bash
# AUTOGRADER and PYTHON are for trying it elsewhere.
export AUTOGRADER="${AUTOGRADER:-/autograder}"
cd "$AUTOGRADER/source" && exec "${PYTHON:-python3}" -m course gradescope
"""


def write_zip(key: Path, out: Path) -> None:
    """The autograder of one assignment; it holds the key, so it goes to Gradescope alone."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", SETUP.encode(), executable=True)
        _add(archive, "run_autograder", RUN.encode(), executable=True)
        for package in ("course", "costlib"):
            for path in sorted((ROOT / package).rglob("*")):
                inside = path.relative_to(ROOT)
                if path.suffix in (".py", ".json") and "example" not in inside.parts:
                    _add(archive, inside.as_posix(), path.read_bytes())
        for path in sorted(key.iterdir()):
            if path.is_file():
                _add(archive, f"key/{path.name}", path.read_bytes())


def _add(archive: zipfile.ZipFile, name: str, data: bytes, *, executable: bool = False) -> None:
    entry = zipfile.ZipInfo(name)  # without a date: the same key gives the same zip
    entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def grade_here() -> None:
    """Grade what Gradescope put in place; results.json is written whatever happens."""
    from course.builder.answer_key import load_key
    from course.grader.batch import canary
    from course.grader.report import gradescope_results
    from course.grader.sandbox import Limits, bubblewrap_works
    from course.grader.submission import read_submission
    from course.grader.worker import Setting, grade_one

    place = Path(os.environ.get("AUTOGRADER", "/autograder"))
    key = place / "source" / "key"
    try:
        opened = load_key(key)
        student = _student(place / "submission_metadata.json", opened)
        submission = read_submission(student, _notebook(place / "submission"))
        if student not in opened.roster and submission.claims in opened.roster:
            submission = replace(submission, student=submission.claims)
        setting = Setting(str(key), bubblewrap_works(), Limits())
        canary(setting)
        content = gradescope_results(opened, grade_one(setting, submission))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        output = str(error) if isinstance(error, ValueError) else "The autograder failed."
        content = {"score": 0, "output": output}
    results = place / "results"
    results.mkdir(exist_ok=True)
    (results / "results.json").write_text(json.dumps(content, indent=1), "utf-8")


def _notebook(folder: Path) -> Path:
    """The one notebook that was handed in; no link, and nothing that a system left lying."""
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.casefold() == ".ipynb"
        and not any(p.startswith(".") or p == "__MACOSX" for p in path.relative_to(folder).parts)
    ]
    if len(found) != 1:
        raise ValueError(f"hand in one notebook; {len(found)} came")
    return found[0]


def _student(path: Path, key: Key) -> str:
    """Who handed in: the id on the roster of whom Gradescope knows by one of their names.

    Where it is none of them, the notebook says for whom it was made.
    """
    from course.grader.inbox import spellings

    users = json.loads(path.read_text("utf-8")).get("users") or [{}] if path.exists() else [{}]
    known = [str(users[0][key]) for key in ("sid", "email", "id", "name") if users[0].get(key)]
    ours = spellings(key.roster, key.aliases)
    found = (ours[folded(name)] for name in known if folded(name) in ours)
    return next(found, known[0] if known else "unknown")
