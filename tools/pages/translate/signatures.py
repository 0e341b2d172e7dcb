"""How a function is called: in Python by place and by name, in JavaScript by place alone."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """Names in JavaScript's order: by place, those of ``*``, by name alone, those of ``**``.

    >>> function = ast.parse("def f(a, b=1, *c, d, **e): ...").body[0]
    >>> Signature.of(function.args).text
    'a b= *c d **e'
    """

    places: tuple[str, ...]
    names: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    many: str | None = None
    more: str | None = None
    unnamed: frozenset[str] = frozenset()  # of places, those that no name is for

    @classmethod
    def of(cls, args: ast.arguments, *, bound: bool = False) -> Signature:
        """The signature of a definition; ``bound``: without its self."""
        places = [arg.arg for arg in (*args.posonlyargs, *args.args)]
        optional = set(places[len(places) - len(args.defaults) :]) if args.defaults else set()
        names = [arg.arg for arg in args.kwonlyargs]
        given = zip(names, args.kw_defaults, strict=True)
        optional |= {name for name, default in given if default is not None}
        return cls(
            tuple(places[1:] if bound else places),
            tuple(names),
            frozenset(optional),
            args.vararg.arg if args.vararg else None,
            args.kwarg.arg if args.kwarg else None,
            frozenset(arg.arg for arg in args.posonlyargs),
        )

    @property
    def named(self) -> set[str]:
        """What can be passed by name."""
        return {*self.places, *self.names} - self.unnamed

    @property
    def order(self) -> tuple[str, ...]:
        """All of them, as JavaScript has them."""
        many = (self.many,) if self.many else ()
        more = (self.more,) if self.more else ()
        return (*self.places, *many, *self.names, *more)

    @property
    def text(self) -> str:
        """As the runtime reads it: ``=`` marks what can be left out."""
        marked = [f"{name}=" if name in self.optional else name for name in self.places]
        marked += [f"*{self.many}"] if self.many else ["/"]
        marked += [f"{name}=" if name in self.optional else name for name in self.names]
        return " ".join([*marked, *([f"**{self.more}"] if self.more else [])]).removesuffix(" /")
