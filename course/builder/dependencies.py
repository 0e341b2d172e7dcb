"""Which names a piece of Python binds, and which it needs from elsewhere."""

from __future__ import annotations

import ast
import builtins
import functools
import re
import symtable
from collections.abc import Iterable, Sequence

__all__ = ["answer_cells", "bound", "needed", "slice_of"]

_BUILTIN = frozenset(dir(builtins))
STAR = "*"  # what `from x import *` binds: anything


@functools.lru_cache(maxsize=1000)
def bound(code: str) -> frozenset[str]:
    """The names that a piece of code binds at its top level.

    >>> sorted(bound("import numpy as np\\nx, y = 1, 2\\ndef f(a): b = a"))
    ['f', 'np', 'x', 'y']
    """
    if _has_star(code):
        return bound(_without_stars(code)) | {STAR}
    table = symtable.symtable(code, "<cell>", "exec")
    own = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    return frozenset(own | _declared_global(table))


@functools.lru_cache(maxsize=1000)
def needed(code: str) -> frozenset[str]:
    """The names that a piece of code takes from elsewhere: used somewhere, bound nowhere in it.

    >>> sorted(needed("def f(a): return g(a) + len(b)"))
    ['b', 'g']
    """
    if _has_star(code):
        code = _without_stars(code)
    table = symtable.symtable(code, "<cell>", "exec")
    return frozenset(_global_uses(table) - bound(code) - _BUILTIN)


def _declared_global(table: symtable.SymbolTable) -> set[str]:
    """What functions bind with a global statement."""
    found = {s.get_name() for s in table.get_symbols() if s.is_declared_global()}
    return found.union(*map(_declared_global, table.get_children()))


def _global_uses(table: symtable.SymbolTable) -> set[str]:
    top = table.get_type() == "module"
    used = {
        s.get_name()
        for s in table.get_symbols()
        if (s.is_referenced() or s.is_declared_global()) and (top or s.is_global())
    }
    for child in table.get_children():
        used |= _global_uses(child)
    return used


@functools.lru_cache(maxsize=1000)
def _has_star(code: str) -> bool:
    return "*" in code and any(
        isinstance(node, ast.ImportFrom) and node.names[0].name == STAR
        for node in ast.walk(ast.parse(code))
    )


def _without_stars(code: str) -> str:
    class Drop(ast.NodeTransformer):
        def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
            return ast.Pass() if node.names[0].name == STAR else node

    return ast.unparse(ast.fix_missing_locations(Drop().visit(ast.parse(code))))


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
    try:
        compile(code, "<cell>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _mentions(code: str, name: str) -> bool:
    return (
        re.search(rf"^[ \t]*(?:async +)?(?:def|class) +{name}\b|^{name} *=", code, re.M) is not None
    )
