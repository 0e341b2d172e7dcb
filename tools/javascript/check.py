"""Check the scripts that are written by hand: `python -m tools.javascript.check COMMAND`.

`install` fetches the tools once, into _build; everything else needs no network. `format --write`
formats the scripts, and `format` alone says which of them are not formatted. `lint` looks for what
is probably a mistake. `types` compares what the scripts do with their JSDoc types. Names of files
may follow.

Types are checked where they are written: state, controls, tables, charts and their frames (see
explorers.d.ts), that every page exports what frame.js calls, and whatever TypeScript infers. Not
checked: parameters without a type, results of a page's own `compute`, what may be null, and the
types within printed files.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools import ROOT, npm
from tools.site.page_weight import packaged_node

LOCKED = Path(__file__).parent
HOME = ROOT / "_build" / "javascript"
MODULES = HOME / "node_modules"
BIOME = MODULES / "@biomejs" / "biome" / "bin" / "biome"
TSC = MODULES / "typescript" / "bin" / "tsc"
PLACES = ("book/_static", "tests", "tools")
#: Folders of scripts that a program printed, or that came from elsewhere.
NOT_OURS = {"generated", "vendor", "katex"}
LONGEST = 100  # characters of a line, strings and comments included, which a formatter leaves alone


def scripts() -> list[str]:
    """Every script that is written by hand, relative to the root."""
    found = (path for place in PLACES for path in (ROOT / place).rglob("*.js"))
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


def ask(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a tool in node, at the root."""
    node = packaged_node()
    return subprocess.run([node, *command], cwd=ROOT, check=False, encoding="utf-8", **options)


def check_format(files: Sequence[str], *flags: str) -> int:
    """Whether each script is as the formatter writes it, with no line that is too long."""
    status = ask(BIOME, "format", f"--config-path={LOCKED}", *flags, *files).returncode
    texts = {name: (ROOT / name).read_text("utf-8") for name in files}
    lines = [line for name, text in texts.items() for line in long_lines(name, text)]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(status or lines))


def check_types(files: Sequence[str]) -> int:
    """Whether the types agree, and whether each script of an explorer is a page."""
    with tempfile.TemporaryDirectory(dir=HOME) as own:  # others may check at the same time
        pages, config = Path(own) / "pages.ts", Path(own) / "jsconfig.json"
        pages.write_text(as_pages(files or scripts()), "utf-8")
        asked = [*(files or scripts()), LOCKED / "explorers.d.ts", pages]
        every = {"include": [], "files": [str((ROOT / each).resolve()) for each in asked]}
        config.write_text(json.dumps({"extends": str(LOCKED / "jsconfig.json"), **every}), "utf-8")
        done = ask(TSC, "--project", config, "--pretty", "false", stdout=subprocess.PIPE)
    found = messages(done.stdout)
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found) or done.returncode not in range(3))


def as_pages(files: Sequence[str]) -> str:
    """TypeScript that says of each explorer's script, which has controls, that it is a page."""
    addresses = [(ROOT / each).resolve() for each in files]
    shown = [each for each in addresses if "\nexport const controls =" in each.read_text("utf-8")]
    lines = [f"import * as _{at} from {each.as_posix()!r};" for at, each in enumerate(shown)]
    names = ", ".join(f"_{at}" for at, _ in enumerate(shown))
    return "\n".join([*lines, f"export const pages: Page[] = [{names}];", ""])


def messages(said: str) -> list[str]:
    """What tsc says of scripts that are ours, each message with the lines that belong to it.

    >>> messages("a/generated/b.js(1,1): error\\n  so\\na/c.js(2,1): error TS1: one\\n  two")
    ['a/c.js(2,1): error TS1: one\\n  two']
    """
    every = [message for message in re.split(r"\n(?! )", said.strip()) if message]
    return [one for one in every if not NOT_OURS.intersection(Path(one.split("(")[0]).parts)]


def main(command: str = "", *words: str) -> int:
    """Run one command; its exit status."""
    flags = [word for word in words if word.startswith("--")]
    files = [word for word in words if not word.startswith("--")]
    if command == "install":
        npm.install(LOCKED, HOME)
        return 0
    if command in ("format", "lint", "types") and not npm.is_installed(LOCKED, HOME):
        sys.exit("error: the tools are not installed: run python -m tools.javascript.check install")
    if command == "format":
        return check_format(files or scripts(), *flags)
    if command == "lint":
        strict = (f"--config-path={LOCKED}", "--error-on-warnings")
        return ask(BIOME, "lint", *strict, *flags, *(files or scripts())).returncode
    if command == "types":
        return check_types(files)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
