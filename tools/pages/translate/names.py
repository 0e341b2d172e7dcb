"""What the program takes from Python and its libraries, and what of it a page has no use for.

A name that is in none of these tables is an error.
"""

from __future__ import annotations

import ast
from functools import cache

from tools.pages.translate.signatures import Signature

#: What ``book/_static/explorers/python.js`` exports, by its path in Python. A signature says how
#: a function is called; in JavaScript arguments go by place, and those of ``*`` as one array.
_RUNTIME = """
builtins: abs(x) all(xs) any(xs) bool(x) dict(xs=(), /, **more) divmod(a, b) enumerate(xs, start=0)
builtins: filter(f, xs) float(x) frozenset(xs=()) getattr(x, name, default=0) hasattr(x, name)
builtins: hash(x) int(x) isinstance(x, kind) iter(xs) len(xs) list(xs=()) map(f, *xs)
builtins: max(*xs, key=None, default=None) min(*xs, key=None, default=None)
builtins: next(xs, default=0) object range(start, stop=None, step=1) repr(x) slice
builtins: round(x, digits=0) set(xs=()) sorted(xs, key=None, reverse=False) str(x) sum(xs, start=0)
builtins: tuple(xs=()) type(x) zip(*xs, strict=False) Ellipsis NotImplemented
builtins: Exception(*args) ValueError(*args) TypeError(*args) KeyError(*args) OverflowError(*args)
builtins: UserWarning(*args) RecursionError(*args) ZeroDivisionError(*args)
builtins.object: __setattr__(x, name, value)
builtins.dict: fromkeys(names, value=None)
collections.abc: Mapping
dataclasses: replace(x, /, **changes) fields(x) is_dataclass(x)
difflib: get_close_matches(word, among, n=3, cutoff=0.6)
functools: cache(f) lru_cache(maxsize=128) partial(f, /, *args, **more) reduce(f, xs)
itertools: product(*xs, repeat=1)
math: ceil(x) inf isqrt(n) log2(x)
numpy: all(x) asarray(x) isfinite(x) isin(x, among)
re: compile(pattern) error(*args) escape(text) findall(pattern, text)
types: MappingProxyType(xs)
warnings: warn(text, kind=None, stacklevel=1)
json: loads(text, object_pairs_hook=None, parse_int=None) JSONDecodeError
"""

#: Methods of strings, lists and tuples that JavaScript spells another way.
_METHODS = """
startswith(x, start) endswith(x, end) split(x, at=None, most=-1) partition(x, at)
rpartition(x, at) join(x, parts) strip(x, chars=None) lstrip(x, chars=None) lower(x) casefold(x)
isdecimal(x) is_integer(x)
replace(x, old, new)
"""

_OF_CONTAINERS = "get items keys values pop setdefault update append extend insert add isdisjoint"
#: Methods of dicts, lists and sets that the runtime's own have too.
CONTAINER_METHODS = frozenset(_OF_CONTAINERS.split())

#: Questions with one answer in a page, where every number is a plain one.
SETTLED = {
    "costlib.units.numbers.is_symbolic": False,  # there is no SymPy
    "costlib.units.numbers.is_lazy": False,  # nor Dask, nor JAX
}

#: Types that nothing has in a page: asking for them is answered with no.
ABSENT_TYPES = ("numpy.", "os.PathLike")

#: What a page never comes to: called all the same, it throws.
ABSENT = {
    "costlib.units.display.latex": "formulas of symbols",
    "costlib.units.display.facts_html": "tables of a notebook",
    "costlib.units.display.ledger_html": "tables of a notebook",
    "costlib.units.display.ledger_latex": "tables of a notebook",
    "costlib.timing.sweeps.seconds": "long columns",
    "costlib.units.unfolded.Unfolded": "long columns",
    "costlib.units.numbers._array_size": "arrays",
    "costlib.units.numbers._symbolic_size": "symbols",
    "costlib.units.numbers._namespace": "arrays",
    "costlib.model.families.config._of_path": "files",
    "pathlib.Path": "files",
}

#: What is put in a name's place: a name of the runtime, with its signature.
REPLACED = {
    # the page has the files' contents at hand
    "costlib.model.catalog.lookup.content": "catalogue",
}

#: Decorators that leave nothing to be done here: types alone are declared, or a class is marked
#: for what the printer sees for itself.
SILENT_DECORATORS = ("typing.overload", "dataclasses.dataclass")


@cache
def runtime() -> dict[str, tuple[str, Signature | None]]:
    """For each path what the runtime calls it, and its signature if it is called."""
    found: dict[str, tuple[str, Signature | None]] = {}
    for line in _RUNTIME.strip().splitlines():
        module, _, entries = line.partition(": ")
        for name, signature in _entries(entries).items():
            found[f"{module}.{name}"] = (_exported(module, name), signature)
    return found


@cache
def methods() -> dict[str, Signature]:
    """The methods that are functions of the runtime, each with the object as its first argument."""
    found = _entries(_METHODS.replace("\n", " "))
    return {name: signature for name, signature in found.items() if signature}


def _exported(module: str, name: str) -> str:
    return (
        name if module in ("builtins", "dataclasses", "functools") else f"{_short(module)}_{name}"
    )


def _short(module: str) -> str:
    return module.rpartition(".")[2]


def _entries(text: str) -> dict[str, Signature | None]:
    """Names and signatures of a line, as in ``abs(x) inf``."""
    found: dict[str, Signature | None] = {}
    module = ast.parse("\n".join(_split(text)))
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = Signature.of(statement.args)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name):
            found[statement.value.id] = None
    return found


def _split(text: str) -> list[str]:
    """``abs(x) inf`` as two lines of Python."""
    parts, depth, begun = [], 0, ""
    for letter in text + " ":
        depth += (letter == "(") - (letter == ")")
        if letter == " " and depth == 0:
            parts += [begun] if begun else []
            begun = ""
        else:
            begun += letter
    return [f"def {part}: ..." if "(" in part else part for part in parts]
