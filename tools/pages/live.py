"""Numbers in sentences that a reader can move, and those that answer: what a page says of them.

In the text such a number is `<span data-live="size">4096</span>`: plain words wherever no script
runs. Below its paragraph a comment, which nobody is shown, says what it is:

    <!-- live
    size = 16 to 65536 by doubling # rows of a matrix
    dtype = devices["A100-80GB"].flops_per_s # number format
    work(size) = matmul(size, size, size).flops
    bound(size) = matmul(size, size, size).intensity() / 153; memory | compute
    -->

A name with a range (by doubling, by a step, or else by two digits) or with a mapping of names to
numbers is moved. One with arguments is costlib's formula of those, printed by SymPy for the page;
where words follow it, the first is said while it is below 1. How an answer is written follows from
how it stands in the text. `made` writes the formulas, a test compares them with the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import costlib
from tools import ROOT
from tools.pages.printing import constant, evaluated, function

COMMENT = re.compile(r"^<!-- live\n(.*?)\n-->$", re.DOTALL | re.MULTILINE)
#: Says of which cell a number is; `numbers` reads it.
FROM = re.compile(r" ?<!-- from: (.+?) -->")
SPAN = re.compile(r'<span data-live="(\w+)">(.*?)</span>', re.DOTALL)
MOVED = re.compile(r"(\w+) = (\S+) to (\S+?)(?: by (\S+))?(?: # (.+))?")
CHOSEN = re.compile(r"(\w+) = (.+?)(?: # (.+))?")
SHOWN = re.compile(r"(\w+)\(([\w, ]+)\) = (.+?)(?:; (.+) \| (.+))?")


@dataclass(frozen=True, slots=True)
class Moved:
    """A number to be dragged: the values at which it can stop, or names with their values."""

    name: str
    label: str
    stops: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer: costlib's formula of what is moved; words, if it says one of two."""

    name: str
    arguments: tuple[str, ...]
    formula: str
    words: tuple[str, ...] = ()

    def value(self, **arguments: Any) -> Any:
        """What the library says for these numbers, or symbols."""
        return evaluated(self.formula, arguments)


@dataclass(frozen=True, slots=True)
class Live:
    """All that moves on a page."""

    moved: tuple[Moved, ...]
    shown: tuple[Shown, ...]
    spans: tuple[tuple[str, str], ...]

    def script(self) -> str:
        """The module that the page loads."""
        written = []
        for each in self.shown:
            symbols = {name: costlib.symbols(name) for name in each.arguments}
            written.append(function(each.name, tuple(symbols.values()), each.value(**symbols)))
        moved = {each.name: [each.label, each.stops] for each in self.moved}
        answers = ", ".join(
            f"{each.name}: [{each.name}, {[*each.arguments]}, {[*each.words]}]"
            for each in self.shown
        )
        start = "import { start } from '../../live.js';\n"
        written += [constant("$moved", moved), f"export const $shown = {{{answers}}};\n"]
        return start + "".join(written) + "start($moved, $shown);\n"


def of(markdown: str) -> Live | None:
    """What moves on a page, or None.

    >>> page = 'Of <span data-live="n">8</span> is <span data-live="w">1 kFLOP</span>.\\n\\n'
    >>> page += "<!-- live\\nn = 1 to 16 by doubling\\nw(n) = matmul(n, n, n).flops\\n-->"
    >>> found = of(page)
    >>> found.moved[0].stops, found.shown[0].value(n=8)
    ((1, 2, 4, 8, 16), 1024)
    """
    moved, shown = [], []
    spans = tuple((name, re.sub(r"\s+", " ", text)) for name, text in SPAN.findall(markdown))
    for block in COMMENT.findall(markdown):
        for line in block.splitlines():
            if found := SHOWN.fullmatch(line):
                name, arguments, formula, *words = found.groups()
                said = tuple(word for word in words if word)
                shown.append(Shown(name, tuple(arguments.split(", ")), formula, said))
            else:
                moved.append(_moved(line, dict(spans)))
    return Live(tuple(moved), tuple(shown), spans) if spans or moved or shown else None


def number(text: str) -> float:
    """The number with which a text begins.

    >>> number("8,192 tokens")
    8192.0
    """
    return float(re.split(r"[^\d,.]", text)[0].replace(",", ""))


def _moved(line: str, spans: Mapping[str, str]) -> Moved:
    """What a line says that can be moved, its number in the text among the stops."""
    if found := MOVED.fullmatch(line):
        name, low, high, step, label = found.groups()
        here = number(spans[name])
        stops = sorted({*_stops(float(low), float(high), step), here})
        exact = tuple(int(stop) if stop == int(stop) else stop for stop in stops)
        return Moved(name, label or name, exact)
    if found := CHOSEN.fullmatch(line):
        name, mapping, label = found.groups()
        return Moved(name, label or name, tuple(dict(evaluated(mapping, {})).items()))
    raise ValueError(f"{line!r} says neither a range, nor a mapping, nor a formula")


def _stops(low: float, high: float, step: str | None) -> list[float]:
    if step == "doubling":
        return [low * 2**n for n in range(100) if low * 2**n <= high]
    if step:
        count = round((high - low) / float(step))
        return [round(low + n * float(step), 9) for n in range(count + 1)]
    tens = [digits * 10**power for power in range(-3, 16) for digits in range(10, 100)]
    return [round(ten / 10, 9) for ten in tens if low <= ten / 10 <= high and _is_round(ten, low)]


def _is_round(ten: float, low: float) -> bool:
    """Whole numbers only, where the range begins with one."""
    return low != int(low) or ten % 10 == 0


def without(markdown: str) -> str:
    """The same text for places where nothing moves: no spans, no comments for us.

    >>> without('Of <span data-live="n">8</span> rows.\\n\\n<!-- live\\nn = 1 to 9\\n-->\\n\\nThen')
    'Of 8 rows.\\n\\nThen'
    >>> without("Of 8 rows. <!-- from: rows -->")
    'Of 8 rows.'
    """
    text = re.sub(r"\n*" + COMMENT.pattern, "", markdown, flags=COMMENT.flags)
    return SPAN.sub(r"\2", FROM.sub("", text))


def pages(root: Path = ROOT) -> dict[str, Live]:
    """Every page with something to move, by name."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted((root / "book").glob("*.md"))}
    found = {name: of(text) for name, text in texts.items() if "data-live=" in text}
    return {name: live for name, live in found.items() if live}


def makers() -> dict[str, tuple[Callable[[], str], str]]:
    """For each such page its script, live_NAME.js: how it is made, and of what."""
    return {f"live_{name}.js": (live.script, repr(live)) for name, live in pages().items()}
