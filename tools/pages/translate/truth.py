"""Conditions: what is true of an expression, and what is settled before any page is open."""

from __future__ import annotations

import ast

from tools.pages.translate import names
from tools.pages.translate.calls import Calls
from tools.pages.translate.program import Known, Own


class Truth(Calls):
    """Prints conditions."""

    def test(self, node: ast.expr) -> str:
        """A condition, true or false."""
        known = self.settled(node)
        if known is not None:
            return str(known).lower()
        if isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            parts = [each for each in node.values if self.settled(each) is not is_and]
            return (" && " if is_and else " || ").join(map(self.atom_test, parts))
        if self.is_bool(node):
            return self.expression(node)
        return f"{self.runtime('truth')}({self.expression(node)})"

    def atom_test(self, node: ast.expr) -> str:
        """A condition that an operator can stand beside."""
        text = self.test(node)
        return f"({text})" if isinstance(node, (ast.BoolOp, ast.NamedExpr)) else text

    def settled(self, node: ast.expr) -> bool | None:
        """What a condition is wherever numbers are plain, if that is certain."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.settled(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            known = [self.settled(each) for each in node.values]
            decides = isinstance(node.op, ast.Or)
            if decides in known[:1] or (decides in known and None not in known):
                return decides
            return (not decides) if set(known) == {not decides} else None
        if not isinstance(node, ast.Call):
            return None
        found = self.static(node.func)
        if isinstance(found, Own):
            return names.SETTLED.get(f"{found.module.name}.{found.name}")
        is_question = found == Known("builtins.isinstance")
        return False if is_question and not self.kinds(node.args[1]) else None

    def is_bool(self, node: ast.expr) -> bool:
        """Whether an expression is certainly True or False."""
        if isinstance(node, (ast.Compare,)):
            return True
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        if isinstance(node, ast.BoolOp):
            return all(map(self.is_bool, node.values))
        if isinstance(node, ast.Constant):
            return isinstance(node.value, bool)
        if not isinstance(node, ast.Call):
            return False
        found = self.static(node.func)
        if isinstance(found, Own) and isinstance(found.definition, ast.FunctionDef):
            returns = found.definition.returns
            return isinstance(returns, ast.Name) and returns.id == "bool"
        questions = ("isinstance", "any", "all", "bool", "hasattr")
        return isinstance(found, Known) and found.path in {f"builtins.{each}" for each in questions}
