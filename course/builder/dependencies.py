"""Which names a piece of Python binds, and which it needs from elsewhere."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import io
import re
import symtable
import tokenize
from collections.abc import Iterable, Sequence

__all__ = ["answer_cells", "bound", "needed", "slice_of"]

_BUILTIN = frozenset(dir(builtins))
STAR = "__everything__"  # what `from x import *` binds: anything


@functools.lru_cache(maxsize=1000)
def bound(code: str) -> frozenset[str]:
    """The names that a piece of code binds at its top level.

    >>> sorted(bound("import numpy as np\\nx, y = 1, 2\\ndef f(a): b = a"))
    ['f', 'np', 'x', 'y']
    """
    top, *inner = _tables(code)
    own = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    in_functions = (s for table in inner for s in table.get_symbols() if s.is_declared_global())
    return frozenset(own.union(s.get_name() for s in in_functions))


@functools.lru_cache(maxsize=1000)
def needed(code: str) -> frozenset[str]:
    """The names that a piece of code takes from elsewhere: used somewhere, bound nowhere in it.

    >>> sorted(needed("def f(a): return g(a) + len(b)"))
    ['b', 'g']
    """
    top, *inner = _tables(code)
    used = {s.get_name() for s in top.get_symbols() if s.is_referenced() or s.is_declared_global()}
    for table in inner:
        used |= {
            s.get_name()
            for s in table.get_symbols()
            if s.is_global() and (s.is_referenced() or s.is_declared_global())
        }
    return frozenset(used - bound(code) - _BUILTIN)


@functools.lru_cache(maxsize=1000)
def _tables(code: str) -> tuple[symtable.SymbolTable, ...]:
    """What a piece of code binds and uses: the whole, then each function and class in it.

    Nothing here recurses: a sum of hundreds of terms and lambdas in lambdas are read like others.
    """
    found = [symtable.symtable(_named_stars(code), "<cell>", "exec")]
    for table in found:
        found += table.get_children()
    return tuple(found)


def _named_stars(code: str) -> str:
    """The code with the name of everything where it imports everything."""
    if "*" not in code or "import" not in code:
        return code
    lines, stars, before = code.split("\n"), [], ""
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.string == "*" and before == "import":
                stars.append(token.start)
            before = token.string
    for row, at in reversed(stars):
        line = lines[row - 1]
        if line[at : at + 1] == "*":
            lines[row - 1] = f"{line[:at]}{STAR}{line[at + 1 :]}"
    return "\n".join(lines)


def slice_of(pieces: Sequence[str], wanted: Iterable[str], given: Iterable[str] = ()) -> list[int]:
    """The pieces, in order, that are needed to bind the wanted names, and those that these need.

    Where a name is bound in several places all of them count, since one may build on another.
    Names that are given from elsewhere are not followed.

    >>> slice_of(["a = 1", "b = 2", "c = a + 1", "print(b)"], {"c"})
    [0, 2]
    >>> slice_of(["a = 1", "b = 2", "c = a + 1", "print(b)"], {"c"}, given={"a"})
    [2]
    """
    given = set(given)
    wanted = set(wanted) - given | {STAR}
    binds = [bound(piece) for piece in pieces]
    chosen: set[int] = set()
    while found := {i for i, names in enumerate(binds) if i not in chosen and names & wanted}:
        chosen |= found
        wanted |= set().union(*(needed(pieces[i]) for i in found)) - given
    return sorted(chosen)


STUB = re.compile(r"^[ \t]*raise NotImplementedError", re.MULTILINE)  # not in a comment
MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|.*=[ \t]*[%!].*|.+\?)$", re.MULTILINE)
LARGEST = 200_000  # characters of a cell that anybody wrote by hand


def answer_cells(
    cells: Sequence[tuple[str, str]], name: str, given: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Of a student's cells, those that the answer ``name`` needs, in their order.

    All cells that define the answer count, so that the last one wins as it does in Jupyter, but a
    stub left behind never replaces an answer. What the grader's setup gives is not looked up.

    >>> cells = [("1", "k = 2"), ("2", "while True: pass"), ("3", "%time\\ndef f(): return k")]
    >>> [label for label, code in answer_cells(cells, "f")]
    ['1', '3']
    """
    pieces = [(label, _python(code)) for label, code in cells]
    kept = [(label, code) for label, code in pieces if _parses(code) or _mentions(code, name)]
    codes = [code if _parses(code) else "" for _, code in kept]
    own = [
        i
        for i, (_, code) in enumerate(kept)
        if (name in bound(codes[i]) if codes[i] else _mentions(code, name))
    ]
    answered = [i for i in own if not STUB.search(kept[i][1])]
    if len(answered) < len(own) and answered:
        own = answered
    others = [code if i not in own else "" for i, code in enumerate(codes)]
    wanted = set().union(*(needed(codes[i]) for i in own)) - {name}
    return [kept[i] for i in sorted({*own, *slice_of(others, wanted, given)})]


def _python(code: str) -> str:
    """A cell as Python: shell lines and magics aside, but only if it is no Python as it stands."""
    if len(code) > LARGEST:
        return ""
    if _parses(code):
        return code
    if re.match(r"%%(?!time|capture|timeit)", code):
        return ""
    return MAGIC.sub(r"\1pass", code)


@functools.lru_cache(maxsize=1000)
def _parses(code: str) -> bool:
    try:  # Jupyter's cells may await
        compile(code, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _mentions(code: str, name: str) -> bool:
    return (
        re.search(rf"^[ \t]*(?:async +)?(?:def|class) +{name}\b|^{name} *=", code, re.M) is not None
    )
