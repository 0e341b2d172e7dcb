"""Expressions of Python as JavaScript."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tools.pages.translate import names
from tools.pages.translate.program import Known, Module, Own
from tools.pages.translate.scopes import spelled, targets
from tools.pages.translate.truth import Truth

if TYPE_CHECKING:
    from tools.pages.translate.scopes import Scope

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitOr: "or",
    ast.BitAnd: "and",
}
#: Attributes that everything has, or every class and function.
_OF_ALL = {"__class__": "type", "__name__": "called"}
_COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


class Expressions(Truth):
    """Prints an expression; what it does not know is an error."""

    scope: Scope

    def expression(self, node: ast.expr) -> str:
        """Any expression."""
        method: Callable[[Any], str] | None = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.module.wrong(node, f"{type(node).__name__} is not translated")
        return method(node)

    # ------------------------------------------------------------ names and values

    def _Constant(self, node: ast.Constant) -> str:
        value = node.value
        if value is Ellipsis:
            return self.runtime("Ellipsis")
        if isinstance(value, (bool, str, type(None))):
            return json.dumps(value, ensure_ascii=False)
        return repr(value)

    def _Name(self, node: ast.Name) -> str:
        if self.scope.knows(node.id):
            return spelled(node.id)
        found = self.program.resolve(self.module, node.id)
        if isinstance(found, Own):
            return self.own(found)
        if isinstance(found, Known):
            return self.known(found, node)
        raise self.module.wrong(node, f"{node.id} stands for nothing that can be printed")

    def _Attribute(self, node: ast.Attribute) -> str:
        found = self.static(node)
        if isinstance(found, Own):
            return self.own(found)
        if isinstance(found, Known):
            return self.known(found, node)
        if node.attr == "__set__":  # the setter of a slot
            name = self._slot(node)
            return f"(x, value) => {{ x.{name} = value; }}"
        if isinstance(self.static(node.value), Known):
            raise self.module.wrong(node, f"the runtime has no {ast.unparse(node)}")
        if node.attr in _OF_ALL:
            return f"{self.runtime(_OF_ALL[node.attr])}({self.expression(node.value)})"
        self.use(node.attr)
        return f"{self.expression(node.value)}.{node.attr}"

    def _slot(self, node: ast.Attribute) -> str:
        inner = node.value
        if isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
            return str(inner.slice.value)
        raise self.module.wrong(node, "only a slot's own setter has __set__ here")

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        return "`" + "".join(map(self._piece, node.values)) + "`"

    def _piece(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            text = str(node.value).replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")
            return text.replace("\n", "\\n").replace("\r", "\\r")
        if not isinstance(node, ast.FormattedValue):
            raise self.module.wrong(node, "an f-string holds texts and values")
        value = self.expression(node.value)
        if node.conversion == ord("r"):
            value = f"{self.runtime('repr')}({value})"
        elif node.conversion == ord("s"):
            value = f"{self.runtime('str')}({value})"
        if node.format_spec is not None:
            value = f"{self.runtime('format')}({value}, {self.expression(node.format_spec)})"
        elif node.conversion == -1:
            value = f"{self.runtime('str')}({value})"
        return f"${{{value}}}"

    # ------------------------------------------------------------ containers

    def items(self, nodes: list[ast.expr]) -> str:
        """What a list, a tuple or a set is made of."""
        return ", ".join(map(self.expression, nodes))

    def _Starred(self, node: ast.Starred) -> str:
        return f"...{self.expression(node.value)}"

    def _Tuple(self, node: ast.Tuple) -> str:
        return f"[{self.items(node.elts)}]"

    def _List(self, node: ast.List) -> str:
        return f"{self.runtime('list')}([{self.items(node.elts)}])"

    def _Set(self, node: ast.Set) -> str:
        return f"{self.runtime('set')}([{self.items(node.elts)}])"

    def _Dict(self, node: ast.Dict) -> str:
        entries = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                entries.append(f"...{self.expression(value)}.items()")
            else:
                entries.append(f"[{self.expression(key)}, {self.expression(value)}]")
        return f"{self.runtime('dict')}([{', '.join(entries)}])"

    def _GeneratorExp(self, node: ast.GeneratorExp) -> str:
        return f"(function* () {{ {self._loops(node, 'yield {};')} }})()"

    def eager(self, node: ast.expr) -> str:
        """An iterable that is used up at once: no generator is needed."""
        if not isinstance(node, ast.GeneratorExp):
            return self.expression(node)
        return self._array(node)

    def _array(self, node: Any, empty: str = "[]") -> str:
        return f"(() => {{ const $ = {empty}; {self._loops(node, '$.push({});')} return $; }})()"

    def _ListComp(self, node: ast.ListComp) -> str:
        return self._array(node, f"{self.runtime('list')}()")

    def _SetComp(self, node: ast.SetComp) -> str:
        return f"{self.runtime('set')}({self._array(node)})"

    def _DictComp(self, node: ast.DictComp) -> str:
        return f"{self.runtime('dict')}({self._array(node)})"

    def _loops(self, node: Any, does: str) -> str:
        """The loops of a comprehension around what is done with each entry."""
        scope, heads = self.scope, []
        for loop in node.generators:
            over = self.expression(loop.iter)
            self.scope = self.scope.inside(targets(loop.target))
            heads.append(f"for (const {self.expression(loop.target)} of {over}) ")
            heads += [f"if ({self.test(condition)}) " for condition in loop.ifs]
        if isinstance(node, ast.DictComp):
            made = f"[{self.expression(node.key)}, {self.expression(node.value)}]"
        else:
            made = self.expression(node.elt)
        self.scope = scope
        return "".join(heads) + does.replace("{}", made)

    # ------------------------------------------------------------ operators

    def _BinOp(self, node: ast.BinOp) -> str:
        name = _OPERATORS.get(type(node.op))
        if name is None:
            raise self.module.wrong(node, f"{type(node.op).__name__} is not translated")
        return f"{self.runtime(name)}({self.expression(node.left)}, {self.expression(node.right)})"

    def _UnaryOp(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!{self.atom_test(node.operand)}"
        if isinstance(node.op, ast.USub):
            inner = self.expression(node.operand)
            return f"-{inner}" if isinstance(node.operand, ast.Constant) else f"(-{inner})"
        raise self.module.wrong(node, f"{type(node.op).__name__} is not translated")

    def _BoolOp(self, node: ast.BoolOp) -> str:
        left, *rest = node.values
        others = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        is_and = isinstance(node.op, ast.And)
        known = self.settled(left)
        if known is not None:
            return self.expression(others) if known is is_and else str(known).lower()
        right = self.expression(others)
        if self.is_bool(left):
            return f"({self.expression(left)} {'&&' if is_and else '||'} {right})"
        if isinstance(left, ast.Name):
            name, either = self.expression(left), (right, self.expression(left))
            yes, no = either if is_and else either[::-1]
            return f"({self.test(left)} ? {yes} : {no})"
        name = self.runtime("both" if is_and else "either")
        return f"{name}({self.expression(left)}, () => {right})"

    def _IfExp(self, node: ast.IfExp) -> str:
        known = self.settled(node.test)
        if known is not None:
            return self.expression(node.body if known else node.orelse)
        yes, no = self.expression(node.body), self.expression(node.orelse)
        return f"({self.test(node.test)} ? {yes} : {no})"

    def _NamedExpr(self, node: ast.NamedExpr) -> str:
        return f"({self.expression(node.target)} = {self.expression(node.value)})"

    def _Compare(self, node: ast.Compare) -> str:
        sides = [node.left, *node.comparators]
        for middle in sides[1:-1]:
            if not _is_pure(middle):
                raise self.module.wrong(node, "what stands in the middle would be computed twice")
        pairs = zip(sides, node.ops, sides[1:], strict=False)
        found = [self._comparison(left, op, right) for left, op, right in pairs]
        return found[0] if len(found) == 1 else f"({' && '.join(found)})"

    def _comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        one, other = self.expression(left), self.expression(right)
        is_negative = isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn))
        if (
            isinstance(op, (ast.Is, ast.IsNot))
            or self._is_text(left, op)
            or self._is_text(right, op)
        ):
            return f"({one} {'!' if is_negative else '='}== {other})"
        sign = "!" if is_negative else ""
        if isinstance(op, (ast.Eq, ast.NotEq)):
            return f"{sign}{self.runtime('eq')}({one}, {other})"
        if isinstance(op, (ast.In, ast.NotIn)):
            return f"{sign}{self.runtime('has')}({other}, {one})"
        return f"{self.runtime(_COMPARISONS[type(op)])}({one}, {other})"

    @staticmethod
    def _is_text(node: ast.expr, op: ast.cmpop) -> bool:
        """Whether one side of == is a text: equal is then identical."""
        is_equal = isinstance(op, (ast.Eq, ast.NotEq))
        return is_equal and isinstance(node, ast.Constant) and isinstance(node.value, str)

    # ------------------------------------------------------------ parts and functions

    def _Subscript(self, node: ast.Subscript) -> str:
        value = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = [node.slice.lower, node.slice.upper, node.slice.step]
            shown = ", ".join("null" if end is None else self.expression(end) for end in ends)
            return f"{self.runtime('part')}({value}, {shown})"
        self.use("__getitem__")
        return f"{self.runtime('at')}({value}, {self.expression(node.slice)})"

    def _Lambda(self, node: ast.Lambda) -> str:
        shown = self.parameters(node.args)
        scope = self.scope
        self.scope = scope.inside({arg.arg for arg in node.args.args})
        body = self.expression(node.body)
        self.scope = scope
        return f"(({shown}) => {body})"

    def _Yield(self, node: ast.Yield) -> str:
        return f"yield {'null' if node.value is None else self.expression(node.value)}"

    def _YieldFrom(self, node: ast.YieldFrom) -> str:
        return f"yield* {self.expression(node.value)}"

    def parameters(self, args: ast.arguments, *, bound: bool = False) -> str:
        """Parameters by place, as `Signature` orders them; a default is made at each call."""
        defaults = dict(zip(reversed(args.args), reversed(args.defaults), strict=False))
        defaults |= {
            arg: default
            for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if default is not None
        }
        order = [*args.args[bound:], args.vararg, *args.kwonlyargs, args.kwarg]
        shown = []
        for arg in order:
            if arg is None:
                continue
            default = defaults.get(arg)
            if default is not None and any(map(self.scope.knows, targets(default))):
                raise self.module.wrong(default, "a default is made at each call: no local in it")
            name = spelled(arg.arg)
            shown.append(name if default is None else f"{name} = {self.expression(default)}")
        return ", ".join(shown)

    def static(self, node: ast.expr) -> Own | Module | Known | None:
        """What a name or a dotted name stands for, if that is known here."""
        if isinstance(node, ast.Name):
            return None if self.scope.knows(node.id) else self.program.resolve(self.module, node.id)
        if not isinstance(node, ast.Attribute):
            return None
        base = self.static(node.value)
        if isinstance(base, Module):
            return self.program.resolve(base, node.attr)
        if isinstance(base, Known) and f"{base.path}.{node.attr}" in names.runtime():
            return Known(f"{base.path}.{node.attr}")
        return None


def _is_pure(node: ast.expr) -> bool:
    """Whether computing it twice does no harm."""
    is_plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if is_plain and isinstance(node, ast.Call) and ast.unparse(node.func) in ("abs", "len"):
        return all(map(_is_pure, node.args))
    return isinstance(node, (ast.Name, ast.Constant))
