"""Classes: their fields where they are dataclasses, and how they and their methods are called."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from tools.pages.translate.program import Own, Program
from tools.pages.translate.signatures import Signature


@dataclass(frozen=True)
class Field:
    """One field of a dataclass."""

    name: str
    default: ast.expr | None = None
    factory: ast.expr | None = None
    owner: Own | None = None  # whose module the default is written in
    by_name: bool = False
    made: bool = True  # passed when an instance is made
    shown: bool = True
    compared: bool = True

    @property
    def mark(self) -> str:
        """As the runtime reads it: what repr and == leave out is marked."""
        flags = [("!", self.made), ("^", self.shown), ("~", self.compared)]
        return self.name + "".join(sign for sign, usual in flags if not usual)


def decorator(definition: ast.ClassDef) -> dict[str, ast.expr] | None:
    """The options of a dataclass; None if it is none."""
    for each in definition.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        if isinstance(called, ast.Name) and called.id == "dataclass":
            keywords = each.keywords if isinstance(each, ast.Call) else []
            return {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
    return None


def is_set(options: dict[str, ast.expr], name: str, default: bool) -> bool:
    """An option that is True or False."""
    value = options.get(name)
    return bool(value.value) if isinstance(value, ast.Constant) else default


class Signatures:
    """How the program's classes and their methods are called."""

    def __init__(self, program: Program, classes: Iterable[Own]) -> None:
        self.program = program
        self.methods: dict[str, list[tuple[Signature, bool]]] = {}
        for each in classes:
            for item in methods(each):
                decorators = [ast.unparse(one) for one in item.decorator_list]
                if not {"property", "cached_property", "overload"} & set(decorators):
                    entry = Signature.of(item.args, bound=True), "classmethod" in decorators
                    self.methods.setdefault(item.name, []).append(entry)

    def has_method(self, name: str) -> bool:
        """Whether any class of the program has a method of that name."""
        return name in self.methods

    def of_method(self, name: str) -> Signature | None:
        """How the methods of that name are called, if all of them are called alike."""
        found = {signature for signature, _ in self.methods.get(name, ())}
        return found.pop() if len(found) == 1 else None

    def takes_many(self, name: str) -> bool:
        """Whether one of the methods of that name takes any number of arguments."""
        return any(each.many or each.more for each, _ in self.methods.get(name, ()))

    def is_classmethod(self, name: str) -> bool:
        """Whether a method of that name is called on a class."""
        return any(is_of_class for _, is_of_class in self.methods.get(name, ()))

    def bases(self, found: Own) -> list[Own]:
        """The classes of the program that one is made from: one at most."""
        definition = found.definition
        named = definition.bases if isinstance(definition, ast.ClassDef) else []
        bare = (base.value if isinstance(base, ast.Subscript) else base for base in named)
        known = (
            self.program.resolve(found.module, base.id)
            for base in bare
            if isinstance(base, ast.Name)
        )
        return [each for each in known if isinstance(each, Own)]

    def lineage(self, found: Own) -> list[Own]:
        """A class and all it is made from, itself first."""
        return [found, *(each for base in self.bases(found) for each in self.lineage(base))]

    def fields(self, found: Own) -> list[Field]:
        """The fields of a dataclass, those of its bases first."""
        fields: dict[str, Field] = {}
        for each in reversed(self.lineage(found)):
            definition = each.definition
            assert isinstance(definition, ast.ClassDef)
            if (options := decorator(definition)) is not None:
                by_name = is_set(options, "kw_only", default=False)
                fields |= {field.name: field for field in _fields(each, definition, by_name)}
        return list(fields.values())

    def of_class(self, found: Own) -> Signature:
        """How a class is called: as its __init__ is, or by the fields of a dataclass."""
        for each in self.lineage(found):
            own = [item for item in methods(each) if item.name == "__init__"]
            if own:
                return Signature.of(own[0].args, bound=True)
            if isinstance(each.definition, ast.ClassDef) and decorator(each.definition) is not None:
                return self._of_fields(each)
        is_error = self.lineage(found)[-1].definition
        named = is_error.bases if isinstance(is_error, ast.ClassDef) else []
        return Signature((), many="args") if named else Signature(())

    def _of_fields(self, found: Own) -> Signature:
        made = [field for field in self.fields(found) if field.made]
        return Signature(
            tuple(field.name for field in made if not field.by_name),
            tuple(field.name for field in made if field.by_name),
            frozenset(field.name for field in made if field.default or field.factory),
        )


def methods(found: Own) -> list[ast.FunctionDef]:
    """The functions that a class defines; of overloads the last."""
    definition = found.definition
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    named = {item.name: item for item in body if isinstance(item, ast.FunctionDef)}
    return list(named.values())


def _fields(owner: Own, definition: ast.ClassDef, by_name: bool) -> list[Field]:
    found = []
    for item in definition.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        if item.target.id == "_":  # from here on by name
            by_name = True
            continue
        found.append(_field(item.target.id, item.value, owner, by_name))
    return found


def _field(name: str, value: ast.expr | None, owner: Own, by_name: bool) -> Field:
    is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
    if not (is_call and isinstance(value, ast.Call) and ast.unparse(value.func) == "field"):
        return Field(name, value, None, owner, by_name)
    given = {keyword.arg or "": keyword.value for keyword in value.keywords}
    return Field(
        name,
        given.get("default"),
        given.get("default_factory"),
        owner,
        is_set(given, "kw_only", default=by_name),
        made=is_set(given, "init", default=True),
        shown=is_set(given, "repr", default=True),
        compared=is_set(given, "compare", default=True),
    )
