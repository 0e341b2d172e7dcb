"""A notebook of unknown origin, read with care: it is data here, never code."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.builder.notebooks import CHECK_TITLE

__all__ = ["Submission", "raw_cells", "read_submission"]

LARGEST = 20_000_000  # bytes
NESTED, VALUES = 500_000, 3_000_000  # brackets and commas: what is read takes up to 40 times more


@dataclass(frozen=True)
class Submission:
    """What a student handed in: code cells, or a problem that leaves nothing to grade."""

    student: str
    digest: str
    cells: tuple[tuple[str, str, str], ...] = ()  # label, kind, source
    claims: str = ""  # the student whose notebook it says it is
    assignment: str = ""
    problem: str = ""

    def code(self) -> list[tuple[str, str]]:
        """The code cells, in their order, without the notebook's own checks."""
        return [
            (label, source.removeprefix("\ufeff"))  # a mark that an editor left
            for label, kind, source in self.cells
            if kind == "code" and not source.startswith(CHECK_TITLE)
        ]

    def lacks(self, name: str) -> str:
        """Why there is nothing to run for an exercise; empty if there is."""
        where = {kind: label for label, kind, source in self.cells if _defines(source, name, kind)}
        if "code" in where:
            return ""
        if where:
            kind, label = next(iter(where.items()))
            return f"{name} is in {label}, which is of type {kind}: make it a code cell again"
        return f"no cell defines {name}"


#: What gives a name a value in Python; a code cell may, where one of its lines has both.
GIVES = re.compile(r"=|\b(?:def|class|import|as|for)\b")


def _defines(source: str, name: str, kind: str) -> bool:
    """Whether a cell may define a name: text is not parsed here, since that may end a process."""
    source = unicodedata.normalize("NFKC", source)  # as Python reads names
    if kind == "code":
        word = re.compile(rf"\b{name}\b")
        return any(word.search(line) and GIVES.search(line) for line in source.splitlines())
    plain = rf"^[ \t]*(?:async +)?(?:def|class) +{name}\b|\b{name}[ \t]*="
    return re.search(plain, source, re.MULTILINE) is not None


def read_submission(student: str, path: Path) -> Submission:
    """The cells, or what is wrong with the file; never an exception."""
    try:
        digest, data = _read(path)
    except OSError as error:
        why = "a link: hand in the notebook itself" if error.errno == errno.ELOOP else ""
        why = why or f"cannot be read: {error.strerror}"
        return Submission(student, "unreadable", problem=why)
    except ValueError as error:
        return Submission(student, f"refused {path.lstat().st_size}", problem=str(error))
    try:
        cells, metadata = _parse(data)
    except (ValueError, RecursionError, MemoryError) as error:
        problem = str(error) if type(error) is ValueError else "not a notebook: no valid JSON"
        return Submission(student, digest, problem=problem)
    about = metadata.get("course")
    about = about if isinstance(about, dict) else {}
    said = (about.get(key) for key in ("student", "assignment"))
    claims, assignment = (_text(v[:200]) if isinstance(v, str) else "" for v in said)
    return Submission(student, digest, tuple(cells), claims, assignment)


def raw_cells(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Every cell's kind and source, and the cell itself: for answers that a person marks."""
    try:
        content = _notebook(_read(path)[1])
    except (OSError, ValueError, RecursionError, MemoryError):
        return []
    return [(kind, source, cell) for _, kind, source, cell in _cells(content)]


def _read(path: Path) -> tuple[str, bytes]:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a file")
        if status.st_size > LARGEST:
            size = status.st_size / 1e6
            raise ValueError(f"{size:.0f} MB, and no more than {LARGEST / 1e6:.0f} are read")
        data = file.read(LARGEST + 1)
    return hashlib.sha256(data).hexdigest(), data


def _parse(data: bytes) -> tuple[list[tuple[str, str, str]], dict[str, Any]]:
    content = _notebook(data)
    metadata = content.get("metadata")
    cells = [(label, kind, source) for label, kind, source, _ in _cells(content)]
    return cells, metadata if isinstance(metadata, dict) else {}


def _notebook(data: bytes) -> dict[str, Any]:
    """What a file holds, if it is a notebook; a ValueError with the reason if it is none."""
    if not data.strip():
        raise ValueError("an empty file")
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        raise ValueError("a zip archive: hand in the .ipynb itself")
    text = data.decode(json.detect_encoding(data), "replace")  # of a byte that is no text, a mark
    if text.count("[") + text.count("{") > NESTED or text.count(",") > VALUES:
        raise ValueError("too many values for a notebook: clear its outputs and hand it in again")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("not a notebook: no valid JSON") from None
    if isinstance(content, dict) and isinstance(content.get("worksheets"), list):  # nbformat 3
        sheets = [sheet for sheet in content["worksheets"] if isinstance(sheet, dict)]
        lists = [sheet["cells"] for sheet in sheets if isinstance(sheet.get("cells"), list)]
        content["cells"] = [cell for cells in lists for cell in cells]
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise ValueError("not a notebook: JSON, but without cells")
    return content


def _cells(content: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """The cells that have a type and a text: label, type, text, and the cell itself."""
    for number, cell in enumerate(content["cells"], start=1):
        cell = cell if isinstance(cell, dict) else {}
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(str(line) for line in source)
        kind = cell.get("cell_type")
        if isinstance(source, str) and isinstance(kind, str):
            yield f"cell {number}", _text(kind[:20]), _text(source), cell


def _text(value: str) -> str:
    """Text that can be written anywhere: half a character becomes a question mark."""
    return value.encode("utf-8", "replace").decode()
