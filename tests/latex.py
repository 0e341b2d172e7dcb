r"""The formulas of a page as Python: the part of LaTeX that the book writes its formulas in.

>>> python(r"P \, e_w + B \, T \, \kappa")
'times(P, e_w) + times(times(B, T), kappa)'
>>> python(r"\frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}")
'((1 - power(alpha, gamma + 1)) / (1 - alpha))'

Letters keep their subscripts, bold ones are called ``bold_Q``, and a prime is ``_new``. What stands
right behind a slash without a sign is below it, as in M²/4d.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

RELATIONS = ("=", r"\le", r"\ge", r"\approx", "<", ">")
_SPACES = r"(?<!\\)\\[,;:! ]|~|\s|\\(?:left|right|big|Big)(?![A-Za-z])"
_TOKEN = re.compile(
    r"\\(?:text|mathrm|operatorname|mathsf|mathbf|mathcal)\{[^{}]*\}|\\[A-Za-z]+|\\\\"
    r"|\d+(?:\.\d+)?|[^\s\\]"
)
_CODE = re.compile(r"^(`{3,}).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_DISPLAYED, _INLINE = re.compile(r"\$\$(.+?)\$\$", re.DOTALL), re.compile(r"\$([^$\n]+)\$")
#: What ends a product.
_AFTER = {"+", "-", "/", ",", ")", "]", "}", "&", "", r"\rceil", r"\rfloor", r"\\", r"\end"}
_AFTER |= {r"\dots", r"\cdot", r"\times", *RELATIONS}


def formulas(page: Path) -> tuple[list[str], list[str]]:
    """A page's displayed formulas, and those in its sentences."""
    text = _CODE.sub("", page.read_text("utf-8"))
    return _DISPLAYED.findall(text), _INLINE.findall(_DISPLAYED.sub("", text))


def spaceless(latex: str) -> str:
    """Without what only moves letters apart."""
    return re.sub(_SPACES, "", latex)


def statements(latex: str) -> list[list[str]]:
    """What a formula says: for each statement its sides, and between them the signs."""
    rows = re.sub(r"\\(begin|end)\{aligned\}", "", latex)
    if rows != latex:  # a row that starts with a sign goes on with the row before
        rows = re.sub(r"\\\\\s*&?\s*(?=[-+]|\\cdot)", " ", rows).replace("&=", "=")
        rows = re.sub(r"&(?=[^&=]*(?:=|$))(?=[^&]*=)|\\\\", r"\\qquad ", rows).replace("&", " ")
    parts = re.split(r"\\q?quad|\\Longleftrightarrow", rows)
    parts = [re.sub(_SPACES, " ", part).strip(" \n.,:;") for part in parts]
    signs = "|".join(re.escape(sign) + r"(?![A-Za-z])" for sign in RELATIONS)
    whole = [part for part in parts if part and not re.fullmatch(r"\\text\{[^}]*\}", part)]
    return [[side.strip() for side in re.split(f"({signs})", part)] for part in whole]


class Reader:
    """Reads one side of a formula, and remembers where its letters and numbers stand."""

    def __init__(self, latex: str, dots: tuple[str, int] = ("", 0)) -> None:
        found = list(_TOKEN.finditer(latex))
        self.tokens = [token[0] for token in found]
        self.spans = [token.span() for token in found]
        self.place, self.dots = 0, dots
        self.letters: list[tuple[int, int]] = []

    @property
    def next(self) -> str:
        """The token that comes; none at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        """The token that comes, and on to the one behind it."""
        token = self.next
        if not token or expected not in (None, token):
            raise SyntaxError(f"{expected or 'more'} expected, got {token!r} in {self.tokens}")
        self.place += 1
        return token

    def whole(self) -> str:
        """All of it."""
        found = self.sum()
        if self.next:
            raise SyntaxError(f"{self.next!r} is not understood in {self.tokens}")
        return found

    def sum(self) -> str:
        """Terms with their signs; dots stand for terms like the last one."""
        found = self.take() if self.next == "-" else ""
        found += self.product()
        while self.next in ("+", "-"):
            sign = self.take()
            if self.next == r"\dots":
                self.take(), self.take("+")
                letter, first = self.dots
                term = f"total({self.product()} for {letter} in range({first}, {letter} + 1))"
            else:
                term = self.product()
            found += f" {sign} {term}"
        return found

    def product(self) -> str:
        """Factors, side by side or with a sign; one behind a slash divides."""
        found = self.power()
        while self.next in ("/", r"\cdot", r"\times") or self.next not in _AFTER:
            if self.next == "/":
                self.take()
                below = self.power()
                while self.next not in _AFTER:
                    below = f"times({below}, {self.power()})"
                found = f"({found} / {below})"
            else:
                if self.next in (r"\cdot", r"\times"):
                    self.take()
                found = f"times({found}, {self.power()})"
        return found

    def power(self) -> str:
        """A factor with its exponent; a matrix may be transposed."""
        found = self.factor()
        if self.next == "^":
            self.take()
            if self.next in (r"\top", r"\mathsf{T}"):
                self.take()
                return f"transposed({found})"
            found = f"power({found}, {self.group()})"
        return found

    def group(self) -> str:
        """What stands in braces, or one factor without."""
        if self.next != "{":
            return self.factor()
        self.take()
        found = self.sum()
        self.take("}")
        return found

    def raw(self) -> list[str]:
        """The tokens in braces, or one token, as they are."""
        if self.next != "{":
            return [self.take()]
        self.take()
        found = []
        while self.next != "}":
            found.append(self.take())
        self.take()
        return found

    def factor(self) -> str:
        """A number, a letter, what brackets hold, or a function of what follows."""
        start, token = self.place, self.take()
        if token in ("(", "["):
            found = self.sum()
            while self.next == ",":
                self.take()
                found += f", {self.sum()}"
            self.take(")" if token == "(" else "]")
            return f"({found})"
        if token in (r"\lceil", r"\lfloor"):
            found = self.sum()
            self.take(token.replace("l", "r", 1))
            return f"{token[2:]}({found})"
        if token == r"\frac":
            return f"(({self.group()}) / ({self.group()}))"
        if token == r"\sqrt":
            return f"sqrt({self.group()})"
        if token == r"\underbrace":
            found = self.group()
            self.take("_"), self.raw()
            return f"({found})"
        if token in (r"\exp", r"\ln", r"\log", r"\operatorname{W}", r"\operatorname{softmax}"):
            below = "".join(self.raw()) if self.next == "_" and self.take() else ""
            name = re.sub(r"\W|operatorname", "", token)
            return f"{name}({self.power()}{below and ', ' + below})"
        if token in (r"\sum", r"\max", r"\min"):
            return self.over(token[1:])
        return self.name(start, token)

    def over(self, name: str) -> str:
        """A sum, a maximum or a minimum: over an index, of a list, or of cases."""
        name = "total" if name == "sum" else name
        if self.next == "_":
            self.take()
            index = self.take()
            body = self.product() if name == "total" else self.power()
            return f"{name}({body} for {index} in every)"
        if self.next == r"\begin":
            self.take(), self.raw()
            cases = [self.sum()]
            while self.next == r"\\":
                self.take()
                if self.next != r"\end":
                    cases.append(self.sum())
            self.take(r"\end"), self.raw()
            return f"{name}({', '.join(cases)})"
        return f"{name}{self.factor()}"

    def name(self, start: int, token: str) -> str:
        """A number or a letter, with its prime and its subscript."""
        if not re.fullmatch(r"[\d.]+|[A-Za-z]|\\[a-z]+(\{[^}]*\})?", token):
            raise SyntaxError(f"{token!r} is not understood in {self.tokens}")
        name = re.sub(r"\W+", "_", re.sub(r"^\\(text|mathrm)?|[{}]", "", token)).strip("_")
        name = re.sub(r"^math(bf|cal)", lambda m: {"bf": "bold_", "cal": "cal_"}[m[1]], name)
        name = "lambda_" if name == "lambda" else name
        if token == r"\mathrm{d}":  # a gradient
            found = self.name(start, self.take())
            return found.replace("bold", "d_bold")
        if self.next == "'":
            self.take()
            name += "_new"
        if self.next == "_":
            self.take()
            below = self.raw()
            if name.startswith("bold") or set(below) <= {"i", "j"}:
                name = f"at({', '.join([name, *below])})"
            else:
                name += "_" + re.sub(r"\W|text", "", "".join(below))
        self.letters.append((self.spans[start][0], self.spans[self.place - 1][1]))
        return name


def python(latex: str, dots: tuple[str, int] = ("", 0)) -> str:
    """One side of a formula as a Python expression."""
    return Reader(re.sub(_SPACES, " ", latex), dots).whole()


def value(latex: str, letters: dict[str, Any], dots: tuple[str, int] = ("", 0)) -> Any:
    """What one side of a formula is where its letters have these values."""
    return eval(python(latex, dots), {**_KNOWN, **letters})


def mutants(latex: str, dots: tuple[str, int] = ("", 0)) -> Iterator[str]:
    """One side with one symbol left out or doubled, or one sign turned round."""
    reader = Reader(latex, dots)
    reader.whole()
    for start, end in reader.letters:
        yield latex[:start] + latex[end:]
        yield f"{latex[:start]}(2 {latex[start:end]}){latex[end:]}"
    turned = {"+": "-", "-": "+", r"\max": r"\min", r"\min": r"\max"}
    for (start, end), token in zip(reader.spans, reader.tokens, strict=True):
        if token in turned:
            yield latex[:start] + turned[token] + latex[end:]


def _times(a: Any, b: Any) -> Any:
    if callable(a):
        return a(*b)
    return np.dot(a, b) if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else a * b


def _softmax(scores: Any) -> Any:
    grown = np.exp(scores)
    return grown / grown.sum(axis=-1, keepdims=True)


_KNOWN: dict[str, Any] = {
    "at": lambda values, *places: values[tuple(place - 1 for place in places)],
    "ceil": math.ceil,
    "exp": np.exp,
    "floor": math.floor,
    "ln": math.log,
    "log": math.log,
    "power": lambda a, b: a**b,
    "softmax": _softmax,
    "sqrt": math.sqrt,
    "times": _times,
    "total": sum,
    "transposed": np.transpose,
}
