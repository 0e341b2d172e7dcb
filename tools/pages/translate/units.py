"""The statements at the top of a module: functions, classes and values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tools.pages.translate import names
from tools.pages.translate.calls import is_error
from tools.pages.translate.classes import Field, decorator, is_set, methods
from tools.pages.translate.program import Known, Own, bound_by
from tools.pages.translate.scopes import Scope, is_generator, spelled
from tools.pages.translate.statements import Statements

#: Options of a dataclass that change nothing here, or are minded.
#: Decorators of a class that say more of what is wrong, and change nothing else.
_SILENT = ("suggests",)
_OPTIONS = {"frozen", "slots", "kw_only", "init", "repr"}


@dataclass
class Used:
    """What a piece of text uses."""

    owned: dict[Own, None] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    runtime: set[str] = field(default_factory=set)
    dynamic: set[Own | str] = field(default_factory=set)


@dataclass
class Piece:
    """A printed statement; of a class its head, its methods and what follows, each on its own."""

    text: str
    used: Used
    methods: dict[str, Callable[[], Piece]] = field(default_factory=dict)
    after: str = ""


class Units(Statements):
    """Prints what a module has at its top."""

    def piece(self, statement: ast.stmt) -> Piece:
        """A statement, with what it uses."""
        if isinstance(statement, ast.ClassDef):
            return self._class(statement)
        return Piece(self._top(statement), self._used())

    def _used(self) -> Used:
        """What was used since this was asked last."""
        used = Used(self.owned, self.attributes, self.taken, self.dynamic)
        self.owned, self.attributes, self.taken, self.dynamic = {}, set(), set(), set()
        return used

    def _global(self, name: str) -> str:
        return Own(self.module, name).printed

    def _top(self, statement: ast.stmt) -> str:
        if isinstance(statement, ast.FunctionDef):
            return self._top_function(statement)
        if isinstance(statement, ast.Assign):
            declared = [*dict.fromkeys(bound_by(statement))]
            head = f"let {', '.join(map(self._global, declared))};\n" if declared else ""
            return head + self._Assign(statement)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            return f"let {self._AnnAssign(statement)}"
        if isinstance(statement, ast.AugAssign):
            return self._AugAssign(statement)
        if isinstance(statement, ast.Expr):
            return self._Expr(statement)
        raise self.module.wrong(statement, "nothing like this stands at the top of a module")

    def _top_function(self, node: ast.FunctionDef) -> str:
        name = self._global(node.name)
        decorators = [each for each in node.decorator_list if not self._is_silent(each)]
        if not decorators:
            star = "*" if is_generator(node) else ""
            return f"function{star} {name}{self.function(node)}\n"
        value = f"({self.value_of(node)})"
        for each in reversed(decorators):
            value = f"{self.runtime('call')}({self.expression(each)}, [{value}])"
        return f"let {name} = {value};\n"

    def _is_silent(self, node: ast.expr) -> bool:
        found = self.static(node.func if isinstance(node, ast.Call) else node)
        return isinstance(found, Known) and found.path in names.SILENT_DECORATORS

    # ------------------------------------------------------------ classes

    def _class(self, node: ast.ClassDef) -> Piece:
        own, known = Own(self.module, node.name), decorator(node)
        others = [each for each in node.decorator_list if ast.unparse(each) not in _SILENT]
        if node.keywords or len(others) > (known is not None):
            raise self.module.wrong(node, "a class has no decorator but dataclass")
        if known and (odd := {*known} - _OPTIONS):
            raise self.module.wrong(node, f"a dataclass has no option {odd.pop()}")
        base = self._base(node)
        fields = self.signatures.fields(own) if decorator(node) is not None else []
        signature = self.signatures.of_class(own).text
        marks = " ".join(each.mark for each in fields)
        said = f'"{node.name}", "{marks}", "{signature}"'
        text = f"class {own.printed} extends {base} {{\n"
        after = f"}}\n{self.runtime('class')}({own.printed}, {said});\n"
        after += "".join(self._in_class(own, item) for item in node.body)
        piece = Piece(text, self._used(), after=after)
        for item in methods(own):
            piece.methods[item.name] = partial(self._made, self._method, item)
        options = decorator(node)
        if options is not None and is_set(options, "init", default=True):
            piece.methods["__init__"] = partial(self._made, self._init, own, fields)
        return piece

    def _made(self, printer: Callable[..., str], *what: Any) -> Piece:
        return Piece(printer(*what), self._used())

    def _base(self, node: ast.ClassDef) -> str:
        """What it extends: another class of the program, an error of Python, or nothing."""
        for base in node.bases:
            found = self.static(base.value if isinstance(base, ast.Subscript) else base)
            if isinstance(found, Own):
                return self.own(found)
            if isinstance(found, Known) and is_error(found):
                return self.known(found, node)
        return self.runtime("object")

    def _in_class(self, own: Own, item: ast.stmt) -> str:
        """A value that a class has: another name of a method, or a constant."""
        if not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
            return ""
        name, place = item.targets[0].id, f"{own.printed}.prototype"
        if name == "__slots__":
            return ""
        if isinstance(item.value, ast.Name) and item.value.id in {m.name for m in methods(own)}:
            self.use(item.value.id)
            return f"{place}.{name} = {place}.{item.value.id};\n"
        return f"{place}.{name} = {self.expression(item.value)};\n"

    def _method(self, node: ast.FunctionDef) -> str:
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if unknown := {*decorators} - {"classmethod", "property", "cached_property", "overload"}:
            raise self.module.wrong(node, f"a method has no decorator {unknown.pop()}")
        body = self.function(node, this=True)
        star = "*" if is_generator(node) else ""
        if "classmethod" in decorators:
            return f"static {star}{node.name}{body}\n"
        if "property" in decorators:
            return f"get {node.name}{body}\n"
        if "cached_property" in decorators:
            once = f'{self.runtime("once")}(this, "{node.name}", function {body})'
            return f"get {node.name}() {{\nreturn {once};\n}}\n"
        return f"{star}{node.name}{body}\n"

    def _init(self, own: Own, fields: list[Field]) -> str:
        """What a dataclass writes for itself."""
        lines, passed = [], {}
        for each in fields:
            default = self._default(each)
            if each.made:
                passed[each.name] = spelled(each.name) + (f" = {default}" if default else "")
                lines.append(f"this.{each.name} = {spelled(each.name)};\n")
            elif default:
                lines.append(f"this.{each.name} = {default};\n")
        if any(m.name == "__post_init__" for c in self.signatures.lineage(own) for m in methods(c)):
            lines.append("this.__post_init__();\n")
            self.use("__post_init__")
        order = self.signatures.of_class(own).order
        shown = ", ".join(passed[name] for name in order)
        return f"__init__({shown}) {{\n{''.join(lines)}return this;\n}}\n"

    def _default(self, each: Field) -> str:
        """A default, as the module means it that wrote it."""
        if each.owner is None or not (each.default or each.factory):
            return ""
        mine = self.module
        self.module, self.scope = each.owner.module, Scope()
        if each.factory is not None:
            text = f"{self.runtime('call')}({self.expression(each.factory)}, [])"
        else:
            assert each.default is not None
            text = self.expression(each.default)
        self.module = mine
        return text
