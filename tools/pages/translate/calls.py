"""Calls: what is passed by name in Python goes by place in JavaScript, wherever it is known who is
called; else the runtime finds out.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from tools.pages.translate import names
from tools.pages.translate.classes import Signatures
from tools.pages.translate.program import Known, Module, Own, Program
from tools.pages.translate.signatures import Signature

if TYPE_CHECKING:
    from tools.pages.translate.scopes import Scope

#: Functions of Python that use up an iterable at once.
_EAGER = frozenset({"tuple", "list", "set", "frozenset", "dict", "sum", "sorted", "max", "min"})


class Calls:
    """Prints calls, and notes what is called."""

    program: Program
    module: Module
    scope: Scope

    if TYPE_CHECKING:  # what the other halves of the printer have

        def expression(self, node: ast.expr) -> str: ...
        def eager(self, node: ast.expr) -> str: ...
        def static(self, node: ast.expr) -> Own | Module | Known | None: ...
        def settled(self, node: ast.expr) -> bool | None: ...

    def __init__(self, program: Program, module: Module, signatures: Signatures) -> None:
        self.program, self.module, self.signatures = program, module, signatures
        self.owned: dict[Own, None] = {}  # what is used: names of the program
        self.attributes: set[str] = set()  # names of attributes, and texts that could be one
        self.taken: set[str] = set()  # names of the runtime
        self.dynamic: set[Own | str] = set()  # functions and methods called by name unseen

    # ------------------------------------------------------------ what is used

    def runtime(self, name: str) -> str:
        """A name of the runtime: with a dollar in front, as no name of Python is."""
        self.taken.add(name)
        return f"${name}"

    def own(self, found: Own) -> str:
        """A name of the program; what a page never comes to throws when it is called."""
        path = f"{found.module.name}.{found.name}"
        if path in names.ABSENT:
            return f'{self.runtime("absent")}("{path}")'
        if path in names.REPLACED:
            return self.runtime(names.REPLACED[path])
        self.owned[found] = None
        return found.printed

    def known(self, found: Known, node: ast.AST) -> str:
        """A name of Python's."""
        if found.path in names.ABSENT:
            return f'{self.runtime("absent")}("{found.path}")'
        if found.path not in names.runtime():
            raise self.module.wrong(node, f"the runtime has no {found.path}")
        return self.runtime(names.runtime()[found.path][0])

    def use(self, attribute: str) -> None:
        """Note an attribute: what is called that is printed."""
        self.attributes.add(attribute)

    def is_class(self, node: ast.expr) -> bool:
        """Whether a name is a class of the program."""
        found = self.static(node)
        return isinstance(found, Own) and isinstance(found.definition, ast.ClassDef)

    # ------------------------------------------------------------ calls

    def _Call(self, node: ast.Call) -> str:
        settled, found = self.settled(node), self.static(node.func)
        if settled is not None:
            return str(settled).lower()
        if isinstance(found, Own):
            return self._own_call(found, node)
        if isinstance(found, Known):
            return self._known_call(found, node)
        if isinstance(node.func, ast.Attribute):
            return self._method_call(node.func, node)
        arguments, named = self._loose(node)
        return f"{self.runtime('call')}({self.expression(node.func)}, [{arguments}], {named})"

    def _own_call(self, found: Own, node: ast.Call) -> str:
        called = self.own(found)
        definition = found.definition
        if isinstance(definition, ast.ClassDef):
            placed = self.placed(self.signatures.of_class(found), node)
            if placed is not None:
                return f"new {called}().__init__({placed})"
        elif isinstance(definition, ast.FunctionDef):
            placed = self.placed(Signature.of(definition.args), node)
            if placed is not None:
                return f"{called}({placed})"
            self.dynamic.add(found)
        elif not node.keywords:
            return f"{called}({self._loose(node)[0]})"
        arguments, named = self._loose(node)
        return f"{self.runtime('call')}({called}, [{arguments}], {named})"

    def _known_call(self, found: Known, node: ast.Call) -> str:
        if found.path == "builtins.isinstance":
            return self._isinstance(node)
        if found.path == "builtins.object.__setattr__":
            return self._set_attribute(node)
        if found.path == "builtins.hasattr" or found.path == "builtins.getattr":
            self._note_text(node.args[1])
        called = self.known(found, node)
        if found.path in names.ABSENT:
            return f"{called}()"
        if is_error(found):
            return f"new {called}().__init__([{self._loose(node)[0]}])"
        signature = names.runtime()[found.path][1]
        placed = None if signature is None else self.placed(signature, node, eager=_is_eager(found))
        if placed is None:
            raise self.module.wrong(node, f"{found.path} cannot be called like this")
        return f"{called}({placed})"

    def _note_text(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant):
            self.use(str(node.value))

    def _isinstance(self, node: ast.Call) -> str:
        value, kinds = self.expression(node.args[0]), self.kinds(node.args[1])
        if len(kinds) == 1 and self.is_class(kinds[0]):
            return f"({value} instanceof {self.expression(kinds[0])})"
        shown = ", ".join(map(self.expression, kinds))
        return f"{self.runtime('isinstance')}({value}, [{shown}])"

    def kinds(self, node: ast.expr) -> list[ast.expr]:
        """The types that something is asked to be one of, but for those that nothing has here."""
        each = node.elts if isinstance(node, ast.Tuple) else [node]
        return [kind for kind in each if not self._is_absent(kind)]

    def _is_absent(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Attribute):
            found = self.static(node)
            return isinstance(found, Own) and f"{found.module.name}.{found.name}" in names.ABSENT
        found = self.static(node.value)
        path = f"{found.path}.{node.attr}" if isinstance(found, Known) else ""
        return path.startswith(names.ABSENT_TYPES)

    def _method_call(self, func: ast.Attribute, node: ast.Call) -> str:
        name = func.attr
        self.use(name)
        if name in names.methods() and not self.signatures.has_method(name):
            of_text = names.methods()[name]
            whole = ast.Call(func, [func.value, *node.args], node.keywords)
            placed = self.placed(of_text, ast.copy_location(whole, node), eager=name == "join")
            if placed is None:
                raise self.module.wrong(node, f"{name} cannot be called like this")
            return f"{self.runtime(f'str_{name}')}({placed})"
        if name in names.CONTAINER_METHODS and not node.keywords:
            return f"{self.expression(func.value)}.{name}({self._loose(node)[0]})"
        signature = self.signatures.of_method(name)
        holder, unbound = self.expression(func.value), self.is_class(func.value)
        if unbound and not self.signatures.is_classmethod(name):
            if node.keywords or self.signatures.takes_many(name):
                raise self.module.wrong(node, f"{name} cannot be called like this")
            return f"{holder}.prototype.{name}.call({self._loose(node)[0]})"
        if signature is not None and _may_fit(signature, node):
            placed = self.placed(signature, node)
            if placed is not None:
                return f"{holder}.{name}({placed})"
        elif not node.keywords and not self.signatures.takes_many(name):
            return f"{holder}.{name}({self._loose(node)[0]})"
        self.dynamic.add(name)
        arguments, named = self._loose(node)
        method = f'{self.runtime("getattr")}({holder}, "{name}")'
        return f"{self.runtime('call')}({method}, [{arguments}], {named})"

    def _set_attribute(self, node: ast.Call) -> str:
        thing, name, value = node.args
        if isinstance(name, ast.Constant):
            return f"{self.expression(thing)}.{name.value!s} = {self.expression(value)}"
        return f"{self.expression(thing)}[{self.expression(name)}] = {self.expression(value)}"

    # ------------------------------------------------------------ arguments

    def placed(self, signature: Signature, node: ast.Call, *, eager: bool = False) -> str | None:
        """Arguments by place; None where a star hides what is passed."""
        show = self.eager if eager else self.expression
        by_place = node.args[: len(signature.places)]
        starred = any(isinstance(each, ast.Starred) for each in by_place)
        if starred or (_is_spread(node) and not self._all_more(signature, node)):
            is_plain = not (node.keywords or signature.many or signature.more)
            return ", ".join(map(show, node.args)) if is_plain else None
        given = dict(zip(signature.places, by_place, strict=False))
        given |= {word.arg: word.value for word in node.keywords if word.arg in signature.named}
        more = [word for word in node.keywords if word.arg not in signature.named]
        rest = node.args[len(signature.places) :]
        needed = {*signature.places, *signature.names} - signature.optional - {*given}
        if needed or (more and not signature.more) or (rest and not signature.many):
            raise self.module.wrong(node, f"the call does not fit {signature.text!r}")
        shown = {name: show(value) for name, value in given.items() if name is not None}
        if signature.many:
            shown[signature.many] = f"[{', '.join(map(show, rest))}]"
        if signature.more:
            shown[signature.more] = self._named(more)
        listed = [shown.get(name, "void 0") for name in signature.order]
        while listed and listed[-1] == "void 0":
            listed.pop()
        return ", ".join(listed)

    @staticmethod
    def _all_more(signature: Signature, node: ast.Call) -> bool:
        """Whether what is spread can only be for ``**``: all other parameters are given."""
        named = {word.arg for word in node.keywords}
        is_given = {*signature.places[len(node.args) :], *signature.names} <= named
        return is_given and signature.more is not None

    def _named(self, keywords: list[ast.keyword]) -> str:
        """What is passed by name, as a dict."""
        entries = []
        for word in keywords:
            value = self.expression(word.value)
            entries.append(
                f"...{value}.items()" if word.arg is None else f'["{word.arg}", {value}]'
            )
        return f"{self.runtime('dict')}([{', '.join(entries)}])"

    def _loose(self, node: ast.Call) -> tuple[str, str]:
        """Arguments by place, and those by name as a dict, if there are any."""
        named = self._named(node.keywords) if node.keywords else "null"
        return ", ".join(map(self.expression, node.args)), named


def is_error(found: Known) -> bool:
    """Whether a name is that of an exception of Python."""
    kind = getattr(builtins, found.path.removeprefix("builtins."), None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _may_fit(signature: Signature, node: ast.Call) -> bool:
    """Whether so many arguments can be meant for it: another thing's method can have its name."""
    return bool(signature.many or node.keywords) or len(node.args) <= len(signature.places)


def _is_spread(node: ast.Call) -> bool:
    return any(word.arg is None for word in node.keywords)


def _is_eager(found: Known) -> bool:
    return found.path.removeprefix("builtins.") in _EAGER
