"""Check the scripts that are written by hand: `python -m tools.javascript.check COMMAND`.

`install` fetches the tools once, into _build; everything else needs no network. `format --write`
formats the scripts, and `format` alone says which of them are not formatted. `lint` looks for what
is probably a mistake. Files may follow.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT, npm
from tools.site.page_weight import packaged_node

LOCKED = Path(__file__).parent
HOME = ROOT / "_build" / "javascript"
BIOME = HOME / "node_modules" / "@biomejs" / "biome" / "bin" / "biome"
#: Folders of scripts that a program printed, or that came from elsewhere.
NOT_OURS = {"generated", "vendor", "katex"}
LONGEST = 100  # characters of a line, strings and comments included, which a formatter leaves alone


def scripts() -> list[str]:
    """Every script that is written by hand, relative to the root."""
    found = (path for place in ("book/_static", "tools") for path in (ROOT / place).rglob("*.js"))
    relative = (path.relative_to(ROOT) for path in found)
    return sorted(path.as_posix() for path in relative if not NOT_OURS.intersection(path.parts))


def long_lines(name: str, text: str) -> list[str]:
    """The lines of a script that are too long.

    >>> long_lines("a.js", "let a;\\n" + "b" * 101)
    ['a.js:2: 101 characters, and 100 are the most']
    """
    return [
        f"{name}:{number}: {len(line)} characters, and {LONGEST} are the most"
        for number, line in enumerate(text.split("\n"), start=1)
        if len(line) > LONGEST
    ]


def ask(*command: str | Path) -> int:
    """Run a tool in node, at the root; its exit status."""
    if not npm.is_installed(LOCKED, HOME):
        sys.exit("error: the tools are not installed: run python -m tools.javascript.check install")
    return subprocess.run([packaged_node(), *command], cwd=ROOT, check=False).returncode


def check_format(files: Sequence[str], *flags: str) -> int:
    """Whether each script is as the formatter writes it, with no line that is too long."""
    status = ask(BIOME, "format", f"--config-path={LOCKED}", *flags, *files)
    texts = {name: (ROOT / name).read_text("utf-8") for name in files}
    lines = [line for name, text in texts.items() for line in long_lines(name, text)]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(status or lines))


def main(command: str = "", *words: str) -> int:
    """Run one command; its exit status."""
    flags = [word for word in words if word.startswith("--")]
    files = [word for word in words if not word.startswith("--")] or scripts()
    if command == "install":
        npm.install(LOCKED, HOME)
        return 0
    if command == "format":
        return check_format(files, *flags)
    if command == "lint":
        return ask(BIOME, "lint", f"--config-path={LOCKED}", "--error-on-warnings", *flags, *files)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
