"""The modules that are printed: what each name stands for, and where it is bound."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path


class Untranslatable(Exception):
    """What the printer does not understand, with its file and line."""


@dataclass(frozen=True)
class Known:
    """A name that is not the program's own: of a library, or built in."""

    path: str


@dataclass(frozen=True)
class Own:
    """A name that a module of the program binds at its top."""

    module: Module
    name: str

    @property
    def printed(self) -> str:
        """What it is called in JavaScript: no local name has a dollar in it."""
        return f"{self.module.short}${self.name}"

    @property
    def statements(self) -> list[ast.stmt]:
        """What binds it."""
        return [self.module.body[at] for at in self.module.bound[self.name]]

    @property
    def definition(self) -> ast.stmt:
        """The statement that binds it first."""
        return self.statements[0]


@dataclass(eq=False)
class Module:
    """One file."""

    name: str
    path: Path
    short: str
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    bound: dict[str, list[int]] = field(default_factory=dict)

    @cached_property
    def body(self) -> list[ast.stmt]:
        """Its statements."""
        return ast.parse(self.path.read_text("utf-8")).body

    def bind(self) -> None:
        """Note what every statement binds, and what is imported, in functions too."""
        for at, statement in enumerate(self.body):
            for name in bound_by(statement):
                self.bound.setdefault(name, []).append(at)
        for node in ast.walk(ast.Module(self.body, [])):
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.names[0].name == "*":
                    self.stars.append(node.module)
                    continue
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = alias.name

    def wrong(self, node: ast.AST, text: str) -> Untranslatable:
        """An error that names the line."""
        line = getattr(node, "lineno", 0)
        return Untranslatable(f"{self.name.replace('.', '/')}.py:{line}: {text}")


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (name.id for name in names if isinstance(name, ast.Name))
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
        yield from [statement.target.id] if isinstance(statement.target, ast.Name) else []


class Program:
    """A package, file by file."""

    def __init__(self, folder: Path) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            short = "_".join(parts[1:]) or parts[0]
            self.modules[".".join(parts)] = Module(".".join(parts), path, short)
        for module in self.modules.values():
            module.bind()
        for module in self.modules.values():
            for star in module.stars:
                module.imports |= {name: f"{star}.{name}" for name in self.modules[star].bound}

    def named(self, path: str) -> Own:
        """What a dotted path such as costlib.serving.answers.answer stands for."""
        found = self._of_path(path)
        if not isinstance(found, Own):
            raise Untranslatable(f"{path} is not bound by the program")
        return found

    def resolve(self, module: Module, name: str) -> Own | Module | Known | None:
        """What a global name stands for in a module; None if nothing does."""
        if name in module.bound:
            return Own(module, name)
        if name in module.imports:
            return self._of_path(module.imports[name])
        return Known(f"builtins.{name}") if hasattr(builtins, name) else None

    def _of_path(self, path: str) -> Own | Module | Known | None:
        if path in self.modules:
            return self.modules[path]
        front, _, name = path.rpartition(".")
        if front in self.modules:
            return self.resolve(self.modules[front], name)
        return Known(path)

    def in_order(self, first: list[Module]) -> list[Module]:
        """Modules as Python would run them: each after those that it imports at its top."""
        found: dict[Module, None] = {}
        visiting: set[Module] = set()

        def visit(module: Module) -> None:
            if module in visiting:
                return
            visiting.add(module)
            for statement in module.body:
                for path in _imported(statement):
                    target = self._of_path(path)
                    if isinstance(target, Own):
                        visit(self.modules[path.rpartition(".")[0]])
                        visit(target.module)
                    elif isinstance(target, Module):
                        visit(target)
            found[module] = None

        for module in first:
            visit(module)
        return [*found]


def _imported(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.ImportFrom) and statement.module:
        if statement.names[0].name == "*":
            return [statement.module]
        return [f"{statement.module}.{alias.name}" for alias in statement.names]
    return []
