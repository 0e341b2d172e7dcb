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
from typing import TYPE_CHECKING, Any

from course.builder.roster import folded, spellings

if TYPE_CHECKING:
    from course.builder.answer_key import Key

__all__ = ["SETUP", "grade_here", "write_zip"]

ROOT = Path(__file__).parent.parent.parent

SETUP = """\
#!/usr/bin/env bash
set -e
apt-get update -qq
apt-get install -y -qq python3 python3-numpy bubblewrap{packages}
chmod -R go-rwx /autograder/source/key
"""
#: What else an assignment may import, as Ubuntu calls it; what is not here must be costlib's or
#: Python's own.
PACKAGES = ("matplotlib", "networkx", "pandas", "scipy", "sympy")

RUN = """\
#!/usr/bin/env bash
# AUTOGRADER and PYTHON are for trying it elsewhere.
export AUTOGRADER="${AUTOGRADER:-/autograder}"
cd "$AUTOGRADER/source" && exec "${PYTHON:-python3}" -m course gradescope
"""


def write_zip(key: Path, out: Path) -> None:
    """The autograder of one assignment; it holds the key, so it goes to Gradescope alone."""
    from course.builder.answer_key import load_key

    packages = _packages(load_key(key))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", SETUP.format(packages=packages).encode(), executable=True)
        _add(archive, "run_autograder", RUN.encode(), executable=True)
        for package in ("course", "costlib"):
            for path in sorted((ROOT / package).rglob("*")):
                inside = path.relative_to(ROOT)
                if path.suffix in (".py", ".json") and "example" not in inside.parts:
                    _add(archive, inside.as_posix(), path.read_bytes())
        for path in sorted(key.iterdir()):
            if path.is_file():
                _add(archive, f"key/{path.name}", path.read_bytes())


def _packages(key: Key) -> str:
    """What the assignment imports beside NumPy, as Ubuntu's packages."""
    from course.grader.worker import imports_of

    names = dict.fromkeys(name.partition(".")[0] for name in imports_of(key.source.setup))
    return "".join(f" python3-{name}" for name in names if name in PACKAGES)


def _add(archive: zipfile.ZipFile, name: str, data: bytes, *, executable: bool = False) -> None:
    entry = zipfile.ZipInfo(name)  # without a date: the same key gives the same zip
    entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def grade_here() -> None:
    """Grade what Gradescope put in place; results.json is written whatever happens."""
    from course.builder.answer_key import load_key
    from course.grader.batch import canary, with_loss
    from course.grader.report import gradescope_results
    from course.grader.sandbox import Limits, bubblewrap_works
    from course.grader.submission import read_submission
    from course.grader.worker import Setting, grade_one

    place = Path(os.environ.get("AUTOGRADER", "/autograder"))
    key = place / "source" / "key"
    try:
        opened = load_key(key)
        about = _about(place / "submission_metadata.json")
        students = _students(about, opened)
        submission = read_submission(students[0], _notebook(place / "submission"))
        known = [student for student in students if student in opened.roster]
        if submission.claims in (known or opened.roster):
            submission = replace(submission, student=submission.claims)
        setting = Setting(str(key), bubblewrap_works(), Limits())
        canary(setting)
        graded = grade_one(setting, submission)
        graded = with_loss(graded, opened.rules, str(about.get("created_at", "")))
        content = gradescope_results(opened, graded)
        if by_hand := [e.title for e, _ in opened.graded(graded.student) if e.by_hand]:
            said = str(content.get("output", ""))
            content["output"] = f"{said} A person marks: {', '.join(by_hand)}.".strip()
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


def _about(path: Path) -> dict[str, Any]:
    """What Gradescope says of the submission: who, and when."""
    about = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return about if isinstance(about, dict) else {}


def _students(about: dict[str, Any], key: Key) -> list[str]:
    """Who handed in, several in a group, each by the id on the roster; whom nobody knows, last.

    Where the roster knows none of them, the notebook says for whom it was made.
    """
    ours, found, others = spellings(key.roster, key.aliases), [], []
    for user in about.get("users") or [{}]:
        names = [str(user[name]) for name in ("sid", "email", "id", "name") if user.get(name)]
        known = [ours[folded(name)] for name in names if folded(name) in ours]
        (found if known else others).extend((known or names)[:1])
    return [*found, *others] or ["unknown"]
