"""Statements and functions of Python as JavaScript."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from tools.pages.translate.classes import Signatures
from tools.pages.translate.expressions import Expressions
from tools.pages.translate.program import Known, Module, Program
from tools.pages.translate.scopes import Scope, bound_in, is_generator, parameters, spelled

#: Statements that say the same wherever they stand; what is imported is found where it is used.
_PLAIN = {ast.Pass: "", ast.ImportFrom: "", ast.Break: "break;\n", ast.Continue: "continue;\n"}
_IN_PLACE = {ast.Add: "iadd", ast.BitOr: "ior"}


class Statements(Expressions):
    """Prints statements, each on lines of its own."""

    def __init__(self, program: Program, module: Module, signatures: Signatures) -> None:
        super().__init__(program, module, signatures)
        self.scope = Scope()
        self.caught: list[str] = []

    def block(self, body: Sequence[ast.stmt]) -> str:
        """Statements in braces."""
        return "{\n" + self.lines(body) + "}\n"

    def lines(self, body: Sequence[ast.stmt]) -> str:
        """Statements, up to one that no page comes behind: a library is imported, or it returns."""
        text = ""
        for each in body:
            inner = each.body[0] if isinstance(each, ast.With) else each
            if isinstance(inner, ast.Import):
                return f'{text}{self.runtime("absent")}("{inner.names[0].name}")();\n'
            text += self.statement(each)
            if isinstance(each, ast.If) and self.settled(each.test) and _ends(each.body):
                break
        return text

    def statement(self, node: ast.stmt) -> str:
        """Any statement."""
        if type(node) in _PLAIN:
            return _PLAIN[type(node)]
        method: Callable[[Any], str] | None = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.module.wrong(node, f"{type(node).__name__} is not translated")
        return method(node)

    # ------------------------------------------------------------ functions

    def function(self, node: ast.FunctionDef, *, this: bool = False) -> str:
        """Parameters and body; ``this``: of a method, whose first parameter is not passed."""
        scope, self.scope = self.scope, self.scope.inside(parameters(node.args))
        shown = self.parameters(node.args, bound=this)
        own = [name for name in bound_in(node.body) if name not in self.scope.names]
        self.scope.names |= set(own)
        first = f"const {spelled(node.args.args[0].arg)} = this;\n" if this else ""
        first += f"let {', '.join(map(spelled, own))};\n" if own else ""
        body = self.lines(node.body)
        self.scope = scope
        if node.name == "__init__":
            body += "return this;\n"
        elif _gives(node) and not _ends(node.body):
            body += "return null;\n"
        return f"({shown}) {{\n{first}{body}}}"

    def _FunctionDef(self, node: ast.FunctionDef) -> str:
        if node.decorator_list:
            raise self.module.wrong(node, "a decorated function stands at the top of a module")
        return f"{spelled(node.name)} = {self.value_of(node)};\n"

    def value_of(self, node: ast.FunctionDef) -> str:
        """A function as a value."""
        star = "*" if is_generator(node) else ""
        return f"function{star} {spelled(node.name)}{self.function(node)}"

    def _Return(self, node: ast.Return) -> str:
        if node.value is None:
            return "return null;\n"
        return f"return {self.expression(node.value)};\n"

    def _Expr(self, node: ast.Expr) -> str:
        if isinstance(node.value, ast.Constant):  # a docstring
            return ""
        return f"{self.expression(node.value)};\n"

    # ------------------------------------------------------------ names and places

    def _Assign(self, node: ast.Assign) -> str:
        value = self.expression(node.value)
        if len(node.targets) == 1:
            return self.assignment(node.targets[0], value)
        each = "".join(self.assignment(target, "$value") for target in node.targets)
        return f"{{\nconst $value = {value};\n{each}}}\n"

    def _AnnAssign(self, node: ast.AnnAssign) -> str:
        if node.value is None:
            return ""
        return self.assignment(node.target, self.expression(node.value))

    def assignment(self, target: ast.expr, value: str) -> str:
        """One target gets a value."""
        if isinstance(target, ast.Subscript):
            place = f"{self.expression(target.value)}, {self.expression(target.slice)}"
            return f"{self.runtime('put')}({place}, {value});\n"
        if isinstance(target, ast.Attribute):
            return f"{self.expression(target.value)}.{target.attr} = {value};\n"
        if isinstance(target, ast.Tuple) and any(isinstance(e, ast.Subscript) for e in target.elts):
            each = [self.assignment(one, f"$[{at}]") for at, one in enumerate(target.elts)]
            return f"{{\nconst $ = [...{value}];\n{''.join(each)}}}\n"
        if isinstance(target, ast.Tuple):
            stars = [at for at, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
            if stars:
                before, after = stars[0], len(target.elts) - stars[0] - 1
                bare = [e.value if isinstance(e, ast.Starred) else e for e in target.elts]
                inner = ", ".join(map(self.expression, bare))
                return f"[{inner}] = {self.runtime('spread')}({value}, {before}, {after});\n"
        return f"{self.expression(target)} = {value};\n"

    def _AugAssign(self, node: ast.AugAssign) -> str:
        plain = ast.BinOp(node.target, node.op, node.value)
        if isinstance(node.target, ast.Subscript):
            place = f"{self.expression(node.target.value)}, {self.expression(node.target.slice)}"
            return f"{self.runtime('put')}({place}, {self.expression(plain)});\n"
        name = _IN_PLACE.get(type(node.op))
        if name is None:
            value = self.expression(ast.copy_location(plain, node))
        else:
            sides = f"{self.expression(node.target)}, {self.expression(node.value)}"
            value = f"{self.runtime(name)}({sides})"
        return f"{self.expression(node.target)} = {value};\n"

    def _Delete(self, node: ast.Delete) -> str:
        shown = []
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                raise self.module.wrong(node, "only an entry is deleted")
            shown.append(f"{self.expression(target.value)}.pop({self.expression(target.slice)});\n")
        return "".join(shown)

    def _If(self, node: ast.If) -> str:
        known = self.settled(node.test)
        if known is not None:
            return self.lines(node.body if known else node.orelse)
        text = f"if ({self.test(node.test)}) {self.block(node.body)}"
        if not node.orelse:
            return text
        return f"{text.rstrip()} else {self.block(node.orelse)}"

    def _For(self, node: ast.For) -> str:
        if node.orelse:
            raise self.module.wrong(node, "a loop has no else")
        head = f"for ({self.expression(node.target)} of {self.expression(node.iter)}) "
        return head + self.block(node.body)

    def _While(self, node: ast.While) -> str:
        return f"while ({self.test(node.test)}) {self.block(node.body)}"

    def _Raise(self, node: ast.Raise) -> str:
        if node.exc is None:
            return f"throw {self.caught[-1]};\n"
        return f"throw {self.expression(node.exc)};\n"

    def _Try(self, node: ast.Try) -> str:
        if node.orelse or node.finalbody:
            raise self.module.wrong(node, "try has no else and no finally")
        name = f"$problem{len(self.caught)}"
        text = f"try {self.block(node.body).rstrip()} catch ({name}) {{\n"
        self.caught.append(name)
        handlers = [self._handler(handler, name) for handler in node.handlers]
        self.caught.pop()
        return f"{text}{' else '.join(handlers)} else throw {name};\n}}\n"

    def _handler(self, node: ast.ExceptHandler, name: str) -> str:
        if node.type is None:
            raise self.module.wrong(node, "except names what it catches")
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        shown = ", ".join(self.expression(kind) for kind in kinds if not self._never(kind))
        held = f"{spelled(node.name)} = {name};\n" if node.name else ""
        body = self.lines(node.body)
        return f"if ({self.runtime('caught')}({name}, [{shown}])) {{\n{held}{body}}}"

    def _never(self, kind: ast.expr) -> bool:
        found = self.static(kind)
        return isinstance(found, Known) and found.path in ("builtins.OSError",)


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether statements certainly end in a return or an error."""
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return _ends(last.body) and bool(last.orelse) and _ends(last.orelse)
    return False


def _gives(node: ast.FunctionDef) -> bool:
    """Whether a function returns values, so that None is one of them."""
    inner = [each for each in ast.walk(node) if isinstance(each, ast.Return)]
    return any(each.value is not None for each in inner) and not is_generator(node)
