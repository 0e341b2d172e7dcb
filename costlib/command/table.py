"""A table for a terminal, a program or a spreadsheet: text, JSON or CSV of the same rows."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["WIDTH", "Table", "bold", "plain"]

#: Columns of a terminal that every table keeps to.
WIDTH = 80


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by column: their values, and how a table shows them.

    ``asked`` repeats what was asked, and ``notes`` say what to make of the rows.
    """

    title: str
    columns: Mapping[str, Sequence[Any]]
    shown: Mapping[str, Sequence[str]]
    asked: Mapping[str, Any]
    notes: Sequence[str] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each row, of plain values."""
        names = list(self.columns)
        return [
            {name: plain(value) for name, value in zip(names, row, strict=True)}
            for row in zip(*self.columns.values(), strict=True)
        ]

    def text(self) -> str:
        """Columns side by side, numbers to the right, in blocks that fit; notes beneath.

        >>> print(Table("two", {}, {"n": ["a", "bc"], "m": ["1", "20"]}, {}).text())
        two
        n    m
        a    1
        bc  20
        """
        lines = [bold(line) for line in textwrap.wrap(self.title, WIDTH)]
        head = max(name.count("\n") for name in self.shown)
        for number, block in enumerate(self._blocks(head)):
            lines += [""] * bool(number)
            for place, row in enumerate(zip(*block, strict=True)):
                line = "  ".join(row).rstrip()
                lines.append(bold(line) if place <= head else line)
        lines += [part for note in self.notes for part in textwrap.wrap(note, WIDTH)]
        return "\n".join(lines)

    def _blocks(self, head: int) -> list[list[list[str]]]:
        """Columns of cells as wide as one another, as many to a block as fit beside the first;
        their names take ``head`` lines more than one."""
        cells = [
            [*[""] * (head - name.count("\n")), *name.split("\n"), *column]
            for name, column in self.shown.items()
        ]
        widths = [max(map(len, column)) for column in cells]
        sides = [str.ljust, *[str.rjust] * (len(cells) - 1)]
        first, *rest = (
            [side(cell, width) for cell in column]
            for column, width, side in zip(cells, widths, sides, strict=True)
        )
        blocks, room = [[first]], WIDTH - widths[0]
        for column, width in zip(rest, widths[1:], strict=True):
            if room < width + 2 and len(blocks[-1]) > 1:
                blocks.append([first])
                room = WIDTH - widths[0]
            blocks[-1].append(column)
            room -= width + 2
        return blocks

    def json(self) -> str:
        """What was asked, and a list of rows."""
        return json.dumps({"asked": dict(self.asked), "rows": self.rows}, indent=2)

    def csv(self) -> str:
        """A line for each row, every digit."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(row.values() for row in self.rows)
        return file.getvalue().rstrip("\n")


def plain(value: Any) -> Any:
    """A value as JSON has it: NumPy's numbers are numbers, what has no end is nothing.

    >>> plain(2), plain(float("inf"))
    (2, None)
    """
    value = value.item() if hasattr(value, "item") else value
    return None if value == float("inf") else value


def complain(text: str) -> None:
    """What is wrong, in lines that a terminal has room for."""
    lines = textwrap.wrap(f"costlib: {text}", WIDTH, break_on_hyphens=False)
    print("\n".join(lines), file=sys.stderr)


def bold(text: str) -> str:
    """Emphasis, on a terminal that wants it (https://no-color.org).

    >>> bold("total")  # no terminal
    'total'
    """
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\033[1m{text}\033[0m" if wanted and os.environ.get("TERM") != "dumb" else text
