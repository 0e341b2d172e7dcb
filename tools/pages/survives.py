"""A page with another model or device in its first cell: does it work, or say why not?

A chapter's cell of imports assigns what a reader may change: ``model``, ``device``, ``node``.
`problems` puts others there and runs every cell that depends on them. A cell that cannot answer for
the new one may refuse in a sentence, costlib's or its own; what no reader can read (a bare
AssertionError or KeyError, a sum with None) is a problem. Claims are about the page's own case and
exercises about numbers of their own, so they are left out, and so are timings.

``python -m tools.pages.survives NAME`` says how a page fares.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib.figure

from costlib.measured import calibration
from costlib.model import catalog
from tools import ROOT
from tools.packages import PACKAGES
from tools.pages import claims, pairs

KINDS = ("model", "device", "node")
#: A mixture, and a device that shares its memory with a processor; latent attention on a TPU; a
#: hybrid with states, and a device without bf16; what no such device holds; and states alone, with
#: no head of attention and no cache that grows. Nodes: racks, a torus, links to each of the others,
#: one of which no network is published, and switches.
CHANGES = (
    {"model": "mixtral-8x7b", "device": "M4-Max", "node": "GB200-NVL72"},
    {"model": "deepseek-v2-lite", "device": "TPU-v5p", "node": "TPU-v5p-pod"},
    {"model": "zamba2-7b", "device": "T4", "node": "8xMI300X"},
    {"model": "deepseek-v3", "device": "T4", "node": "8xMI355X"},
    {"model": "falcon-mamba-7b", "device": "A100-80GB", "node": "DGX-A100"},
)
LEFT_OUT = {claims.CLAIM, claims.HIDDEN, claims.IGNORED, "solution"}
WORDS_OF_A_SENTENCE = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's code, and the names that it uses and binds."""

    source: str
    uses: frozenset[str]
    binds: frozenset[str]


def cells(page: Path) -> list[Cell]:
    """What a reader would run."""
    code = [cell for cell in pairs.read_markdown(page).cells if cell.cell_type == "code"]
    kept = [cell.source for cell in code if not LEFT_OUT & claims.tags(cell)]
    return [_cell(re.sub(r"^[!%].*$", "", source, flags=re.MULTILINE)) for source in kept]


def _cell(source: str) -> Cell:
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {each.asname or each.name.partition(".")[0] for each in node.names}
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return Cell(source, frozenset(used), frozenset(bound))


def offered(page: Path) -> tuple[str, ...]:
    """What the first cell that assigns any of them offers its reader: model, device, node."""
    for piece in page.read_text("utf-8").split("\n```{code-cell")[1:]:
        code = piece.partition("\n```\n")[0]
        if found := tuple(kind for kind in KINDS if _assignment(kind).search(code)):
            return found
    return ()


def _assignment(kind: str) -> re.Pattern[str]:
    return re.compile(rf'^({kind} = costlib\.{kind}s\[)"[^"]+"(\])', re.MULTILINE)


def changes(page: Path) -> list[dict[str, str]]:
    """What to try on a page: of every change, what its first cell offers."""
    kinds = offered(page)
    each = [{kind: change[kind] for kind in kinds} for change in CHANGES if kinds]
    return [change for n, change in enumerate(each) if change not in each[:n]]


def affected(found: list[Cell]) -> list[int]:
    """The cells that depend on what the first one assigns, and those that they need.

    >>> names = [_cell(code) for code in ("model = 1", "a = 2", "b = model", "c = 3", "a + b")]
    >>> affected(names)
    [0, 1, 2, 4]
    """
    first = _first(found)
    changed, chosen = set(KINDS) & found[first].binds, {first}
    for number, cell in enumerate(found[first + 1 :], start=first + 1):
        if cell.uses & changed:
            chosen.add(number)
            changed |= cell.binds
        else:
            changed -= cell.binds
    needed: set[str] = set()
    for number in range(len(found) - 1, -1, -1):
        if number in chosen or found[number].binds & needed:
            chosen.add(number)
            needed |= found[number].uses
    return sorted(chosen)


def _first(found: list[Cell]) -> int:
    """The cell that assigns a model or a device before any other does."""
    return next(number for number, cell in enumerate(found) if set(KINDS) & cell.binds)


def problems(page: Path, change: dict[str, str]) -> list[str]:
    """What a reader who makes this change would see and could not read."""
    return [said for said, is_clear in run(page, change) if not is_clear]


def run(page: Path, change: dict[str, str]) -> Iterator[tuple[str, bool]]:
    """What cells raise with this change, and whether it is a sentence."""
    found = cells(page)
    namespace: dict[str, Any] = {"__name__": "__main__", "display": _show}
    lost: set[str] = set()
    for number in affected(found):
        source = found[number].source
        if number == _first(found):
            for kind, name in change.items():
                assert name in getattr(catalog, f"{kind}s")
                source = _assignment(kind).sub(rf'\g<1>"{name}"\g<2>', source)
        try:
            with _quietly():
                _execute(source, f"<cell {number}>", namespace)
        except Exception as error:
            if not (isinstance(error, NameError) and error.name in lost):
                shown = f"{type(error).__name__}: {error}"
                is_clear = _is_sentence(error, source)
                yield f"{change} in «{source.splitlines()[-1]}»: {shown}", is_clear
            lost |= found[number].binds
            for name in found[number].binds:
                namespace.pop(name, None)
        else:
            lost -= found[number].binds


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Nothing printed, NumPy's nan and division by 0 as errors, figures made but not laid out.

    The layout is most of a figure's time, and knows nothing of models and devices. A search for
    constants is made once for the same rows, which most of those on a page are for every reader.
    """
    with (
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
        mock.patch.object(matplotlib.figure.Figure, "savefig", _blank),
        mock.patch.object(calibration, "_best", found_once),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


_best = calibration._best
_found: dict[Any, Any] = {}


def found_once(search: Any, flat: Any, measured: Any, enough: float = 0.0) -> Any:
    """In the place of a search for constants: the same question is answered once in a process."""
    columns = (measured, *(getattr(flat, each.name) for each in fields(flat)))
    key = (search, enough, *((column.shape, column.tobytes()) for column in columns))
    if key not in _found:
        _found[key] = _best(search, flat, measured, enough)
    return _found[key]


def _blank(_: Any, file: Any, **__: Any) -> None:
    file.write('<svg viewBox="0 0 1 1"></svg>')


def _execute(source: str, name: str, namespace: dict[str, Any]) -> None:
    """Run a cell as a notebook does: what its last line says is shown."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last is not None:
        _show(eval(compile(ast.Expression(last.value), name, "eval"), namespace))


def _show(*things: Any) -> None:
    for thing in things:
        for way in ("_repr_mimebundle_", "_repr_html_", "_repr_latex_", "__repr__"):
            if shown := getattr(thing, way, None):
                shown()
                break


def _is_sentence(error: Exception, source: str) -> bool:
    """Whether somebody wrote this for a reader: raised on purpose, in words."""
    if isinstance(error, AssertionError) or len(str(error).split()) < WORDS_OF_A_SENTENCE:
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1]
    in_a_cell = frame.filename.startswith("<cell")
    if not (
        in_a_cell or any(Path(frame.filename).is_relative_to(ROOT / each) for each in PACKAGES)
    ):
        return False
    return frame.lineno in _raises(source if in_a_cell else Path(frame.filename).read_text("utf-8"))


@functools.cache
def _raises(source: str) -> set[int]:
    """The lines of a source that raise something."""
    raising = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)]
    return {n for node in raising for n in range(node.lineno, (node.end_lineno or 0) + 1)}


def main() -> None:
    """What happens on the pages that are named, or on all that offer a change."""
    pages = [page for page in pairs.paired() if page.stem in sys.argv[1:] or not sys.argv[1:]]
    for page in pages:
        for change in changes(page):
            for said, is_clear in run(page, change):
                print(f"{page.name}: {'' if is_clear else 'UNREADABLE: '}{said}")


if __name__ == "__main__":
    main()
