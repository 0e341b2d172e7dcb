"""Which names a function binds, and what they are called in JavaScript."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_WORDS = """
arguments await break case catch class const continue debugger default delete do double else enum
eval export extends false finally for function if implements import in instanceof interface let new
null package private protected public return static super switch this throw true try typeof
undefined var void while with yield NaN Infinity
"""
_RESERVED = frozenset(_WORDS.split())


def spelled(name: str) -> str:
    """A local name that JavaScript allows."""
    return f"{name}$" if name in _RESERVED else name


@dataclass
class Scope:
    """The local names of a function or of a comprehension, inside those around it."""

    around: Scope | None = None
    names: set[str] = field(default_factory=set)

    def knows(self, name: str) -> bool:
        """Whether a name is local here, or in what is around."""
        return name in self.names or (self.around is not None and self.around.knows(name))

    def inside(self, names: set[str]) -> Scope:
        """A scope within this one."""
        return Scope(self, names)


def parameters(args: ast.arguments) -> set[str]:
    """Names of all parameters."""
    named = (*args.posonlyargs, *args.args, *args.kwonlyargs)
    return {arg.arg for arg in (*named, args.vararg, args.kwarg) if arg is not None}


def bound_in(body: list[ast.stmt]) -> list[str]:
    """What the statements of a function bind, in the order in which they do."""
    return [*dict.fromkeys(name for statement in body for name in _bound(statement))]


def targets(target: ast.expr) -> set[str]:
    """Names in an expression: of a target, those that it binds."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        yield from [node.name] if isinstance(node, ast.FunctionDef) else []
        return
    if isinstance(node, _COMPREHENSIONS):  # its own names are its own, a walrus's are not
        inner = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        yield from (each.target.id for each in inner)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def is_generator(function: ast.FunctionDef) -> bool:
    """Whether a function yields."""
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            stack += ast.iter_child_nodes(node)
    return False
