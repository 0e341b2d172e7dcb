"""What a page says about its numbers and a cell could refute: asserted in cells nobody is shown.

A claim cell stands right below the sentence, is tagged ``remove-cell`` and ``claim``, and asserts.
It runs when the page is executed and in the tests, and is left out of the site, of the copies for
Colab and of student notebooks. A claim about a timing is tagged ``nbval-skip`` too: it decides
whether an execution may be published, and no other machine's tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

CLAIM = "claim"
HIDDEN = "remove-cell"
#: An output that differs on every machine, by intention.
IGNORED = "nbval-ignore-output"
#: Executed by `make sync`, not by the tests.
ONLY_HERE = "nbval-skip"


def tags(cell: Any) -> set[str]:
    """What a cell is tagged with."""
    return set(cell.metadata.get("tags", []))


def slips(notebook: Any) -> list[str]:
    """Claims that claim nothing, or that readers would see; timings that nothing keeps honest."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = []
    for number, cell in enumerate(code):
        found += [f"{problem}:\n{cell.source}" for problem in _slips_of(cell)]
        before = tags(code[number - 1]) if number else set()
        if ONLY_HERE in tags(cell) and not before & {IGNORED, ONLY_HERE}:
            found.append(f"only a claim below an ignored output may be skipped:\n{cell.source}")
        after = tags(code[number + 1]) if number + 1 < len(code) else set()
        if IGNORED in tags(cell) and not after & {IGNORED, ONLY_HERE}:
            found.append(f"no claim holds this timing to what the page says:\n{cell.source}")
    return found


def _slips_of(cell: Any) -> Iterator[str]:
    """What is wrong with one cell, whatever stands around it."""
    own = tags(cell)
    asserted = [node for node in ast.walk(_parsed(cell)) if isinstance(node, ast.Assert)]
    if CLAIM not in own:
        if own & {HIDDEN, ONLY_HERE}:
            yield "a cell that nobody sees is a claim, and says so in its tags"
        if asserted and "solution" not in own:
            yield "readers see this assert: show what it is about, and claim it below"
        return
    if HIDDEN not in own:
        yield "a claim is hidden: tag it remove-cell too"
    if cell.outputs:
        yield "a claim shows nothing"
    if not asserted:
        yield "a claim asserts something"
    if any(not _asks(node.test) for node in asserted):
        yield "a claim asks for something that was computed"


def _parsed(cell: Any) -> ast.Module:
    return ast.parse(re.sub(r"^[!%].*$", "", cell.source, flags=re.MULTILINE))


def _asks(test: ast.expr) -> bool:
    """Whether something that was computed is compared, or asked by a function."""
    kinds = {*map(type, ast.walk(test))}
    return ast.Name in kinds and bool(kinds & {ast.Compare, ast.Call, ast.Not, ast.Attribute})


def held_to(notebook: Any) -> list[str]:
    """The timings of a page and all that they are held to: what must not change if they are kept.

    >>> from nbformat.v4 import new_code_cell, new_notebook
    >>> held_to(new_notebook(cells=[new_code_cell("1", metadata={"tags": ["claim"]})]))
    ['1']
    """
    return [cell.source for cell in notebook.cells if tags(cell) & {IGNORED, CLAIM}]
