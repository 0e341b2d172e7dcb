"""How costs show themselves: human units in text, neat tables in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from html import escape
from types import ModuleType
from typing import Any

from costlib.units.numbers import Number, extra, is_symbolic

__all__ = ["bar", "facts_html", "latex", "ledger_html", "ledger_latex", "quantity", "show"]


_SI = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_SMALL = ("", "m", "µ", "n", "p")


def quantity(value: Number, unit: str = "", digits: int = 4) -> str:
    """A number with an SI prefix (powers of 1000).

    >>> quantity(137438953472, "FLOP"), quantity(999, "B"), quantity(0.00034, "s")
    ('137.4 GFLOP', '999 B', '340 µs')
    """
    value = float(value)
    if 0 < abs(value) < 1:
        power = next((p for p in range(1, 4) if abs(value) * 1000**p >= 1), 4)
        return f"{value * 1000**power:.{digits}g} {_SMALL[power]}{unit}"
    power = 0
    while abs(float(f"{value:.{digits}g}")) >= 1000 and power < len(_SI) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.{digits}g} {_SI[power]}{unit}".strip()


def bar(done: int, count: int, what: str) -> None:
    """How much of a long piece of work is done, as a bar on the terminal.

    >>> bar(3, 4, "pieces")  # on standard error: [##############################..........] 3 of 4
    """
    filled = 40 * done // count
    drawn = "#" * filled + "." * (40 - filled)
    end = "\n" if done == count else ""
    print(f"\r[{drawn}] {done:,} of {count:,} {what}", end=end, file=sys.stderr, flush=True)


def show(room: str, *more: str) -> None:
    """Let a room list what it has of its modules' lists, as `help` and a star ask for it.

    >>> import costlib.serving
    >>> "Server" in costlib.serving.__all__, "server" in costlib.serving.__all__
    (True, False)
    """
    has = vars(sys.modules[room])
    names = [name for name, value in has.items() if not isinstance(value, ModuleType)]
    has["__all__"] = sorted([*more, *(name for name in names if name[0] != "_")])


def latex(value: Number) -> str:
    """A symbolic cost as LaTeX, factored as a textbook would print it.

    >>> from costlib.units.numbers import symbols
    >>> m, k, n = symbols("m k n")
    >>> print(latex(2 * m * k * n))
    2 k m n
    """
    with extra("symbols"):
        import sympy

    expression = sympy.factor_terms(sympy.sympify(value))
    return str(sympy.latex(expression))


def facts_html(rows: Iterable[tuple[str, ...]]) -> str:
    """What is said of one thing, as an HTML table: a name, a value, and perhaps a sentence.

    >>> facts_html([("layers", "32")])
    '<table class="costlib-facts"><tbody><tr><th>layers</th><td>32</td></tr></tbody></table>'
    """
    body = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f'<table class="costlib-facts"><tbody>{body}</tbody></table>'


def ledger_html(ledger: Any) -> str | None:
    """A ledger as an HTML table, exact up to a million, then in human units; None if symbolic.

    >>> from costlib.layers.matmul import linear
    >>> "<th>linear</th><td>1</td><td>240</td>" in ledger_html(linear(10, 3, 4))
    True
    """
    if _is_symbolic(ledger):
        return None
    head = "".join(f"<th>{title}</th>" for title in ("op", "times", "FLOPs", "reads", "writes"))
    body = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(
            f"<td>{_cell(value)}</td>" for value in (row.count, row.flops, row.reads, row.writes)
        )
        + "</tr>"
        for name, row in _rows(ledger)
    )
    return (
        f'<table class="costlib-ledger"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def ledger_latex(ledger: Any) -> str | None:
    r"""A symbolic ledger as a LaTeX array, a row for each op; None if it holds numbers.

    >>> from costlib.layers.matmul import linear
    >>> from costlib.units.numbers import symbols
    >>> r"\text{linear} & 2 D T" in ledger_latex(linear(symbols("T"), symbols("D"), 1))
    True
    """
    if not _is_symbolic(ledger):
        return None
    body = r" \\ ".join(
        " & ".join(
            [rf"\text{{{_escaped(name)}}}"]
            + [latex(value) for value in (row.flops, row.reads, row.writes)]
        )
        for name, row in _rows(ledger)
    )
    head = " & ".join(rf"\textbf{{{title}}}" for title in ("op", "FLOPs", "reads", "writes"))
    return rf"$\displaystyle\begin{{array}}{{lrrr}} {head} \\ \hline {body} \end{{array}}$"


def _rows(ledger: Any) -> Iterator[tuple[str, Any]]:
    """Every op by its name, and the total."""
    yield from ((op.name, op) for op in ledger.ops)
    yield "total", ledger


def _escaped(name: str) -> str:
    return name.replace("_", r"\_")


def _is_symbolic(ledger: Any) -> bool:
    return is_symbolic(ledger.flops, ledger.elements)


def _cell(value: Number) -> str:
    if hasattr(value, "shape"):
        return f"array {tuple(value.shape)}"
    return f"{value:,}" if value < 10**6 else quantity(value)
