"""Whether the site that stands in `_build/html` is what a build from scratch would make again.

`make test` asks, and builds where it is not. Noted after a build from scratch that went well are
what it was made of (every file of this checkout that git does not ignore, whose book it is, which
Python) and what came out. While both are as they were, a build would make the same: after any edit,
or another commit, or a change of a page that was built, it is made again.

    python -m tools.site.built            exits with 0 where it need not be built, with 1 where so
    python -m tools.site.built --note     after a build from scratch
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from tools import ROOT
from tools.site.identity import identity


def state(root: Path = ROOT) -> str:
    """What a build is made of and what came out, in a few letters; none where nobody can say."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    made_of = {root / name for name in done.stdout.decode("utf-8").split("\0") if name}
    made = {path for path in (root / "_build" / "html").rglob("*") if path.is_file()}
    if not made_of or not made:
        return ""
    about = f"{sys.version} {sys.prefix} {identity(root)}".encode()
    return sha256(about + digest(made_of) + digest(made)).hexdigest()


def digest(files: Iterable[Path]) -> bytes:
    """Of what is in files, and of which there are."""
    found = sha256()
    for path in sorted(files):
        held = sha256(path.read_bytes()).digest() if path.is_file() else b"gone"
        found.update(str(path).encode() + b"\0" + held)
    return found.digest()


def main() -> int:
    """The command line."""
    note = ROOT / "_build" / "built"
    found = state()
    if "--note" in sys.argv:
        note.write_text(found, "utf-8")
        return 0
    return 0 if found and note.is_file() and note.read_text("utf-8") == found else 1


if __name__ == "__main__":
    sys.exit(main())
