"""The disciplined Python that costlib is written in, printed as one module of JavaScript.

`text` starts from the names that a page asks for and prints what they use, and what that uses, and
nothing else: docstrings, annotations and whatever only arrays and symbols need stay behind. What
Python means by ``==``, ``//``, an empty list or a format is the runtime's business
(``book/_static/explorers/python.js``). A statement or a name that is not understood is an error
with its file and line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.pages.translate import names
from tools.pages.translate.classes import Signatures, methods
from tools.pages.translate.program import Module, Own, Program, Untranslatable
from tools.pages.translate.signatures import Signature
from tools.pages.translate.units import Piece, Units, Used

__all__ = ["Untranslatable", "text"]

_OPERATORS = "__add__ __radd__ __mul__ __rmul__ __getitem__ __contains__ __iter__ __len__"
#: Methods that the runtime calls by itself.
_CALLED = frozenset(f"{_OPERATORS} __init__ __post_init__ __repr__ __str__".split())


def text(
    folder: Path,
    wanted: Iterable[str],
    asked: Iterable[str],
    *,
    entered: str,
    runtime: str,
    data: str,
) -> str:
    """A module that exports what is wanted of a package.

    ``asked``: attributes that the page itself asks for. ``entered``: a package whose modules enter
    things with decorators, which are all kept.
    ``runtime`` and ``data``: where the printed module finds the runtime, and what is put in the
    place of files.
    """
    program = Program(folder)
    exported = [program.named(path) for path in wanted]
    classes: set[Own] = set()
    for module in program.modules.values():
        for item in module.body:
            if isinstance(item, ast.ClassDef):
                classes.add(Own(module, item.name))
    for _ in range(9):  # until the classes that are reached are those whose methods were considered
        printed = Printed(program, Signatures(program, classes), exported, entered, asked)
        reached = printed.classes()
        if reached == classes:
            break
        classes = reached
    if printed.problems:
        raise Untranslatable("\n".join(printed.problems))
    return printed.text(exported, runtime, data)


class Printed:
    """All that is reached from what is wanted."""

    def __init__(
        self,
        program: Program,
        signatures: Signatures,
        wanted: list[Own],
        entered: str,
        asked: Iterable[str],
    ) -> None:
        self.program, self.signatures = program, signatures
        self.pieces: dict[tuple[Module, int], Piece] = {}
        self.problems: list[str] = []
        self.used = Used(attributes={*asked})
        self.kept: dict[tuple[Module, int], dict[str, Piece]] = {}
        for own in wanted:  # the page calls them by name
            self._reach(own)
            if isinstance(own.definition, ast.FunctionDef):
                self.used.dynamic.add(own)
        for module in program.modules.values():
            if module.name.startswith(f"{entered}."):
                for at, statement in enumerate(module.body):
                    if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
                        self._print(module, at)
        while self._reach_methods() or self._reach_deeds():
            pass

    def _reach(self, own: Own) -> None:
        for at in own.module.bound[own.name]:
            self._print(own.module, at)

    def _print(self, module: Module, at: int) -> None:
        if (module, at) in self.pieces:
            return
        units = Units(self.program, module, self.signatures)
        self.pieces[module, at] = Piece("", Used())  # until it is there: it may use itself
        self.pieces[module, at] = piece = self._tried(lambda: units.piece(module.body[at]))
        self._note(piece)

    def _tried(self, printer: Callable[[], Piece]) -> Piece:
        try:
            return printer()
        except Untranslatable as problem:
            self.problems.append(str(problem))
            return Piece("", Used())

    def _note(self, piece: Piece) -> None:
        """Print what a piece uses too."""
        self.used.attributes |= piece.used.attributes
        self.used.runtime |= piece.used.runtime
        self.used.dynamic |= piece.used.dynamic
        for own in piece.used.owned:
            self._reach(own)

    def _reach_methods(self) -> bool:
        """Keep the methods that something asks for; whether there were any new ones."""
        found = False
        for (module, at), piece in list(self.pieces.items()):
            for name, method in piece.methods.items():
                is_asked = name in self.used.attributes or name in _CALLED
                kept = self.kept.setdefault((module, at), {})
                if is_asked and name not in kept:
                    kept[name] = self._tried(method)
                    self._note(kept[name])
                    found = True
        return found

    def _reach_deeds(self) -> bool:
        """Keep what modules do when they are read; whether there was anything new."""
        before = len(self.pieces)
        for module in {module for module, _ in self.pieces}:
            for at, statement in enumerate(module.body):
                if _does(statement):
                    self._print(module, at)
        return len(self.pieces) > before

    def classes(self) -> set[Own]:
        """The classes that are reached."""
        statements = ((module, module.body[at]) for module, at in self.pieces)
        return {Own(module, s.name) for module, s in statements if isinstance(s, ast.ClassDef)}

    def text(self, exported: list[Own], runtime: str, data: str) -> str:
        """The module."""
        modules = self.program.in_order([own.module for own in exported])
        rest = {module for module, _ in self.pieces} - {*modules}
        modules += self.program.in_order(sorted(rest, key=lambda module: module.name))
        order = {module: place for place, module in enumerate(dict.fromkeys(modules))}
        pieces = sorted(self.pieces, key=lambda key: (order[key[0]], key[1]))
        body = "".join(self._piece(module, at) for module, at in pieces)
        beside = {*names.REPLACED.values()} & self.used.runtime
        head = _import(self.used.runtime - beside | {"signed"}, runtime) + _import(beside, data)
        called = [each for each in self.used.dynamic if isinstance(each, Own)]
        signed = "".join(sorted(self._signed(each) for each in called))
        given = ", ".join(f"{own.printed} as {own.name}" for own in exported)
        return f"{head}{signed}{body}export {{ {given} }};\n"

    def _piece(self, module: Module, at: int) -> str:
        piece = self.pieces[module, at]
        kept = self.kept.get((module, at), {})
        signed = [self._signed_method(module, at, name) for name in kept]
        return "".join([piece.text, *(m.text for m in kept.values()), piece.after, *signed])

    def _signed_method(self, module: Module, at: int, name: str) -> str:
        statement = module.body[at]
        if name not in self.used.dynamic or not isinstance(statement, ast.ClassDef):
            return ""
        own = Own(module, statement.name)
        item = next(each for each in methods(own) if each.name == name)
        holder = own.printed if self.signatures.is_classmethod(name) else f"{own.printed}.prototype"
        return f'$signed({holder}.{name}, "{Signature.of(item.args, bound=True).text}");\n'

    def _signed(self, own: Own) -> str:
        """How a function is called, where that is found out in the page."""
        definition = own.definition
        assert isinstance(definition, ast.FunctionDef)
        return f'$signed({own.printed}, "{Signature.of(definition.args).text}");\n'


def _import(taken: set[str], path: str) -> str:
    shown = ", ".join(f"{name} as ${name}" for name in sorted(taken))
    return f'import {{ {shown} }} from "{path}";\n' if taken else ""


def _does(statement: ast.stmt) -> bool:
    """Whether a statement at the top of a module does more than to give something a name."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return not isinstance(statement.targets[0], (ast.Name, ast.Tuple))
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) != "TYPE_CHECKING"
    named = (ast.FunctionDef, ast.ClassDef, ast.AnnAssign, ast.Import, ast.ImportFrom)
    return not isinstance(statement, (*named, ast.AugAssign))
