"""A number in the text is one that a cell of its page computed or was given.

The fewer digits a number has, the more often a wrong one finds itself in some cell by chance. So a
number of five digits or more may come from any cell of the page, one of three or four from any cell
of its section, and one of two from the cells that touch its text. Any number may come from a cell
elsewhere on the page if the text names it: `<!-- from: decode_time -->`, which no reader sees, adds
the cells in which that name stands. A cell that is added takes no other number's evidence away.

Rounding is allowed (137.4 GFLOP for 137438953472), and so are prefixes that are written (GB, ms,
billion) and per cent for a share. `caught` measures how many wrong digits are noticed.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from tools.pages import claims, live

SMALL = 12  # counts up to a dozen are words written as digits
#: As many digits are looked for in the cells that touch the text, and on the whole page.
TOUCHING, ANYWHERE = 2, 5

PREFIXES = {
    "n": 1e-9,
    "µ": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "milliseconds": 1e-3,
    "microseconds": 1e-6,
    "nanoseconds": 1e-9,
}
NUMBER = re.compile(r"(?<![\w.,^_-])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?!\w|[.,]\d)")
#: In code and what it prints, a number may be a part of a name, but not of a word.
PRINTED = re.compile(r"(?<![A-Za-z_.\d])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)")
UNIT = re.compile(
    r"[ \u00a0-]?(?:"
    r"(?P<symbol>[nµmkKMGTPE]i?)(?=FLOP|B\b|bytes|s\b|W\b|J\b|Hz|/s|entries|tokens)"
    rf"|(?P<word>{'|'.join(name for name in PREFIXES if len(name) > 2)})\b"
    r"|(?P<percent>%|per cent\b))"
)
#: What may stand between two numbers with one unit: 10 to 15 ms.
SHARED = re.compile(r",? ?(?:(?:to|and|or|against|instead of) )?|[–-]")
#: Numbers that are a part of a name, and formats, which have their number of bits for a name.
NAMES = re.compile(
    r"\b(?:Llama|Gemma|Qwen|Phi|RTX|PCIe|Python|CUDA|[Pp]roblem|[Ff]igure|[Tt]able|[Ss]ection|"
    r"[Cc]hapter|[Ee]xercises?|[Pp]roposition|[Tt]heorem|[Ll]emma)[ \u00a0]\d+(?:\.\d+)?"
    r"|\b\d+[- ]bits?\b"
)
#: Numbers that are written out, where they are more than a count up to a dozen.
DIGITS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORDS = dict(zip(TEENS, range(13, 20), strict=True)) | {
    "-".join(filter(None, (word, digit))): 10 * tens + ones
    for tens, word in enumerate(TENS, start=2)
    for ones, digit in enumerate(["", *DIGITS])
}
WRITTEN_OUT = re.compile(
    rf"\b(?:{'|'.join(WORDS)})(?![\w-])(?! (?:thousand|hundred))", re.IGNORECASE
)
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
NOT_PROSE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]+`|\]\([^)]*\)|<[^>]+>", re.DOTALL)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)


@dataclass(slots=True)
class Written:
    """A number as it is written, and the unit that it has or shares with the next one."""

    digits: str
    at: int
    scale: float | None = None
    is_percentage: bool = False

    @property
    def value(self) -> float:
        """What the digits say, without the unit."""
        return float(self.digits)

    @property
    def step(self) -> float:
        """One in its last place."""
        mantissa, _, exponent = self.digits.partition("e")
        return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))

    @property
    def is_checked(self) -> bool:
        """Whether it is more than a word written as digits."""
        return self.value > SMALL or "." in self.digits


@dataclass(frozen=True, slots=True)
class Evidence:
    """What cells computed or were given: bare numbers, those with a prefix, and percentages."""

    bare: list[float] = field(default_factory=list)
    with_unit: list[float] = field(default_factory=list)
    percentages: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, cells: Iterable[Any]) -> Evidence:
        """All that these cells show, sorted."""
        found = cls()
        for cell in cells:
            for text in _shown(cell):
                found.add(written(text, PRINTED), "%" in text)
            given = list(_literals(cell.source))
            found.bare.extend(given)
            if claims.CLAIM in claims.tags(cell):  # round(100 * share) == 12
                found.percentages.extend(given)
        for values in (found.bare, found.with_unit, found.percentages):
            values.sort()
        return found

    def add(self, numbers: Iterable[Written], says_percent: bool) -> None:
        """Sort numbers by what they are; where a text has percentages, a bare one may be one."""
        for number in numbers:
            if number.is_percentage:
                self.percentages.append(number.value)
            elif number.scale:
                self.with_unit.append(number.value * number.scale)
            else:
                self.bare.append(number.value)
                if says_percent:
                    self.percentages.append(number.value)

    def has(self, number: Written) -> bool:
        """Whether the number is one of these, rounded to its last place."""
        value, step = number.value, number.step
        if number.is_percentage:
            share = value / 100, step / 100
            return _near(self.percentages, value, step) or _near(self.bare, *share)
        if _near(self.bare, value, step):
            return True
        scale = number.scale
        return bool(scale) and any(
            _near(values, value * scale, step * scale) for values in (self.bare, self.with_unit)
        )


def _near(values: list[float], value: float, step: float) -> bool:
    low, high = value - step * 0.5000001, value + step * 0.5000001
    at = bisect_left(values, low)
    return at < len(values) and values[at] <= high


def written(text: str, pattern: re.Pattern[str] = NUMBER) -> list[Written]:
    """The numbers of a text, in order.

    >>> [(n.value, n.scale) for n in written("2 to 4 GB, 10,000 tokens and 1.5 billion")]
    [(2.0, 1000000000.0), (4.0, 1000000000.0), (10000.0, None), (1.5, 1000000000.0)]
    >>> [n.value for n in written("A 2D grid of 30 %") if n.is_percentage]
    [30.0]
    """
    found: list[tuple[Written, int]] = []
    for match in pattern.finditer(text):
        digits = match[1].rstrip(",")
        end = match.start(1) + len(digits)
        number = Written(digits.replace(",", ""), match.start(1))
        if unit := UNIT.match(text, end):
            number.is_percentage = bool(unit["percent"])
            number.scale = PREFIXES.get(unit["symbol"] or unit["word"] or "")
        found.append((number, end))
    pairs = zip(found[-2::-1], found[:0:-1], strict=True)
    for (number, end), (following, _) in pairs:
        has_none = not (number.scale or number.is_percentage)
        if has_none and SHARED.fullmatch(text[end : following.at]):
            number.scale, number.is_percentage = following.scale, following.is_percentage
    return [number for number, _ in found]


def _shown(cell: Any) -> Iterator[str]:
    """The texts that a cell's outputs hold; tables without their tags."""
    for output in cell.get("outputs", []):
        yield "".join(output.get("text", ""))
        for kind, text in output.get("data", {}).items():
            if kind == "text/html":
                text = re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", "".join(text), flags=re.S)
            if kind.startswith("text/"):
                yield "".join(text)


def _literals(source: str) -> Iterator[float]:
    """The numbers that code was given, in its strings too."""
    code = re.sub(r"^[!%].*$", "", source, flags=re.MULTILINE)
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NUMBER and re.fullmatch(r"[\d_.]+(e[+-]?\d+)?", token.string):
            yield float(token.string)
        elif token.type == tokenize.STRING:
            yield from (number.value * (number.scale or 1) for number in written(token.string))


def prose(markdown: str) -> str:
    """What of a Markdown cell is held to the code: formulas too, but no names of others.

    Left alone are headings, numbers of a list, predictions and their options (wrong numbers on
    purpose), and further reading; an answer is not.

    >>> prose(r"In Llama 3.1, $6.7 \\times 10^{9}$ of `8` [are](x.org/9) in 16 bits.").split()
    ['In', ',', '6.7e9', 'of', '[are', 'in', '.']
    >>> prose("three times eighty per cent of sixty-one sixteen-bit keys")
    'three times 80 per cent of 61 sixteen-bit keys'
    """
    text = re.split(r"^## (?:Further reading)", live.without(markdown), flags=re.MULTILINE)[0]
    text = re.sub(
        r"^(?:#+ |> \*\*Predict|> - ).*$|^\*\*\d+\. [^*]*|^\d+\. ", "", text, flags=re.MULTILINE
    )
    text = FORMULA.sub(lambda formula: _plain(formula[0]), NOT_PROSE.sub(" ", text))
    return WRITTEN_OUT.sub(_in_digits, NAMES.sub(" ", text))


def _in_digits(found: re.Match[str]) -> str:
    return str(WORDS[found[0].lower()])


def _plain(formula: str) -> str:
    """A formula with nothing left but letters, numbers and what stands between them."""
    text = formula.replace("{,}", "").replace(r"\%", "%")
    text = re.sub(r"\\(?:text|mathrm|operatorname|tag|label)\{([^}]*)\}", r" \1 ", text)
    text = re.sub(r"\\(?:times|cdot)(?![a-z])", "·", text)
    text = re.sub(r"(?<![\d.])(?:(\d[\d.]*) *·? *)?10\^(?:\{(\d+)\}|(\d))", _power, text)
    return re.sub(r"\\[A-Za-z]+|\\.|[{}^_$]", " ", text)


def _power(found: re.Match[str]) -> str:
    return f"{found[1] or 1}e{found[2] or found[3]}"


@dataclass(frozen=True, slots=True)
class Text:
    """A Markdown cell, or the part of it that lies in one section, and what cells say for it."""

    source: str
    touching: Evidence
    section: Evidence
    page: Evidence
    named: Evidence
    unknown: list[str]

    def has(self, number: Written) -> bool:
        """Whether a cell shows the number, the nearer the fewer digits it has."""
        digits = len(number.digits.partition("e")[0].replace(".", ""))
        if digits <= TOUCHING:
            found = self.touching.has(number)
        else:
            found = (self.page if digits >= ANYWHERE else self.section).has(number)
        return found or self.named.has(number)


def texts(cells: list[Any]) -> Iterator[Text]:
    """The texts of a page in order, cut where a section begins."""
    parts: list[tuple[str, int, list[Any]]] = []
    sections: list[list[Any]] = [[]]
    for position, cell in enumerate(cells):
        if cell.cell_type == "code":
            sections[-1].append(cell)
            continue
        first, *others = SECTION.split(cell.source)
        above = _run(reversed(cells[:position]))
        below = _run(cells[position + 1 :])
        parts.append((first, len(sections) - 1, above if others else above + below))
        for number, part in enumerate(others, start=1):
            sections.append([])
            parts.append((part, len(sections) - 1, below if number == len(others) else []))
    code = [cell for section in sections for cell in section]
    page, of_section = Evidence.of(code), [Evidence.of(section) for section in sections]
    for source, section, touching in parts:
        names = re.findall(r"\w+", " ".join(live.FROM.findall(source)))
        having = {
            name: [cell for cell in code if re.search(rf"\b{name}\b", cell.source)]
            for name in names
        }
        yield Text(
            source,
            Evidence.of(touching),
            of_section[section],
            page,
            Evidence.of(cell for found in having.values() for cell in found),
            [name for name, found in having.items() if not found],
        )


def _run(cells: Iterable[Any]) -> list[Any]:
    """The code cells before the next text."""
    return list(takewhile(lambda cell: cell.cell_type == "code", cells))


def uncomputed(notebook: Any) -> list[str]:
    """Numbers in the prose that no cell near enough computed, printed or was given."""
    found = []
    for text in texts(notebook.cells):
        found += [f"no cell has the name {name!r} of a comment" for name in text.unknown]
        said = prose(text.source)
        for number in written(said):
            if number.is_checked and not text.has(number):
                around = said.replace("\n", " ")[max(number.at - 30, 0) : number.at + 40]
                found.append(f"{number.digits} in «{around}»")
    return found


def caught(notebook: Any) -> tuple[int, int]:
    """Of numbers with another last digit, small ones aside: how many are noticed, of how many."""
    noticed = tried = 0
    for text in texts(notebook.cells):
        for number in written(prose(text.source)):
            if number.is_checked and text.has(number):
                for wrong in _wrong(number):
                    noticed, tried = noticed + (not text.has(wrong)), tried + 1
    return noticed, tried


def _wrong(number: Written) -> Iterator[Written]:
    """A number beyond the small ones with each other last digit."""
    if number.value <= SMALL:
        return
    mantissa, power, exponent = number.digits.partition("e")
    for digit in "0123456789".replace(mantissa[-1], ""):
        changed = f"{mantissa[:-1]}{digit}{power}{exponent}"
        wrong = Written(changed, number.at, number.scale, number.is_percentage)
        if wrong.is_checked:
            yield wrong


def main() -> None:
    """What is not computed on pages, by name or on all; and how much would be noticed."""
    from tools.pages import pairs

    counts = [(0, 0)]
    for page in pairs.paired():
        notebook = pairs.read_notebook(page)
        if notebook is not None and (page.stem in sys.argv[1:] or not sys.argv[1:]):
            counts.append(caught(notebook))
            for problem in uncomputed(notebook):
                print(f"{page.name}: {problem}")
    noticed, tried = map(sum, zip(*counts, strict=True))
    print(f"of {tried} numbers with another last digit {noticed / max(tried, 1):.1%} are noticed")


if __name__ == "__main__":
    main()
