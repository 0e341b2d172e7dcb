"""What is made and not committed: `make book` and the like see to it that it is there, and current.

The pages of the API reference, of models, devices and works cited are made by `generated`, the
explorers' formulas and data by `explorers` and `live`. Each file is made again when the library,
the tools or what it is made of besides has changed, and not otherwise.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools import ROOT
from tools.packages import PACKAGES

#: For each file what it was made of, and what was in it.
RECORD = ROOT / "_build" / "made.json"
#: What every file is made of.
FOLDERS = (*PACKAGES, "tools/pages")
FILES = ("requirements.lock", "tools/contents.py")
#: How a file is made, and what of besides.
Maker = tuple[Callable[[], str], str]


def make() -> list[Path]:
    """Make what is missing or no longer current; which files."""
    known = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    state = _state()
    if known.get("state") == state and all(map(_is_kept, known["files"].items())):
        return []
    ground, before = _ground(), known.get("files", {})
    makers = _makers()
    made_of = {path: _digest(ground, besides) for path, (_, besides) in makers.items()}
    names = {path: path.relative_to(ROOT).as_posix() for path in makers}
    stale = [
        path
        for path, name in names.items()
        if name not in before
        or before[name][0] != made_of[path]
        or not _is_kept((name, before[name]))
    ]
    for path, text in _texts({path: makers[path][0] for path in stale}):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        fresh.write_text(text, "utf-8", newline="\n")
        fresh.replace(path)  # whole for whoever reads it meanwhile
    for name in before.keys() - names.values():
        (ROOT / name).unlink(missing_ok=True)
    files = {name: [made_of[path], _content(path)] for path, name in names.items()}
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps({"state": state, "files": files}, indent=1), "utf-8")
    return stale


def _makers() -> dict[Path, Maker]:
    """Every file, and how it is made; only imported where something is."""
    from tools.pages import explorers, generated

    return {**explorers.makers(), **generated.makers()}


def _texts(makers: Mapping[Path, Callable[[], str]]) -> Iterator[tuple[Path, str]]:
    """What belongs in each file, by as many processes as there are processors."""
    several = "fork" in multiprocessing.get_all_start_methods() and len(makers) > 1
    if not several:
        yield from ((path, make()) for path, make in makers.items())
        return
    global _asked
    _asked = makers
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(8, os.cpu_count() or 1), fork) as pool:
        yield from zip(makers, pool.map(_text, makers), strict=True)


_asked: Mapping[Path, Callable[[], str]] = {}


def _text(path: Path) -> str:
    return _asked[path]()


def _ground() -> str:
    """Changes when the library, the tools or the pinned environment do."""
    found = [ROOT / name for name in FILES]
    for folder in FOLDERS:
        found += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".json", ".csv")]
    return _digest(*(f"{path.relative_to(ROOT)} {_content(path)}" for path in sorted(found)))


def _state() -> str:
    """Changes when anything does of which some file is made."""
    written = [*(ROOT / "book").glob("*.md"), *(ROOT / "book/_static/explorers").glob("*.js")]
    written += [ROOT / "book" / "references.bib"]
    made = {"models.md", "devices.md", "bibliography.md", "explorers.md"}
    texts = sorted(path for path in written if path.name not in made)
    return _digest(_ground(), *(f"{path.name} {_content(path)}" for path in texts))


def _is_kept(entry: tuple[str, list[str]]) -> bool:
    """Whether a file is as it was made."""
    name, (_, content) = entry
    path = ROOT / name
    return path.exists() and _content(path) == content


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def main() -> None:
    """Make it, and say how much."""
    if made := make():
        print(f"Made {len(made)} files of the library: API reference, catalogues, explorers")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
