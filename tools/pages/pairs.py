"""Keep book/NAME.md and book/NAME.ipynb one notebook: `make sync`, and checks for `make test`.

The Markdown is what people edit, the notebook carries the outputs. `sync` brings the two together
and executes what changed; `problems` says what is wrong with a pair without executing anything.

What a page used when it was executed is committed with it, a line for each page, so that nothing
is executed twice for being in a fresh clone. A merge keeps the lines of both sides; one of them is
right where only one side has changed what the page uses, and none where both have: then the page is
executed.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools import ROOT
from tools.pages import claims, dependencies

#: For each page what it used, and a digest of that, of its code and of its outputs.
DONE = ROOT / "book" / "executed.jsonl"


def paired(root: Path = ROOT) -> list[Path]:
    """The Markdown half of every pair: pages that name a kernel."""
    pages = sorted((root / "book").rglob("*.md"))
    return [page for page in pages if "\nkernelspec:" in page.read_text("utf-8")[:1000]]


def orphans(root: Path = ROOT) -> set[str]:
    """Pages that the table of contents does not list, and entries that have no page."""
    listed = set(re.findall(r"(?:root|file): *(\S+)", (root / "_toc.yml").read_text("utf-8")))
    pages = (root / "book").rglob("*.md")
    return listed ^ {page.relative_to(root).with_suffix("").as_posix() for page in pages}


def read_markdown(page: Path) -> nbformat.NotebookNode:
    """The notebook that the Markdown says, without outputs."""
    notebook = jupytext.read(page)
    for number, cell in enumerate(notebook.cells, start=1):
        cell["id"] = f"cell-{number:03d}"  # stable, so that a diff shows what changed
    formats = notebook.metadata.get("jupytext", {})
    formats.get("text_representation", {}).pop("jupytext_version", None)
    return notebook


def read_notebook(page: Path) -> nbformat.NotebookNode | None:
    """The committed notebook beside the Markdown, if there is one."""
    path = page.with_suffix(".ipynb")
    return nbformat.read(path, as_version=4) if path.exists() else None


def sources(notebook: nbformat.NotebookNode) -> list[tuple[str, str, str]]:
    """What must be the same in both halves: kind, text and metadata of every cell."""
    return [
        (cell.cell_type, cell.source.rstrip(), json.dumps(cell.metadata, sort_keys=True))
        for cell in notebook.cells
    ]


def problems(page: Path) -> list[str]:
    """What is wrong with a pair, in words; nothing is executed."""
    notebook, name = read_notebook(page), page.with_suffix(".ipynb").name
    if notebook is None:
        return [f"{name} is missing"]
    found = []
    if sources(read_markdown(page)) != sources(notebook):
        found.append(f"{name} and {page.name} differ")
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        found.append(f"{name} was not executed top to bottom in one go")
    for cell in code:
        tags = cell.metadata.get("tags", [])
        if len(joined(copy.deepcopy(cell.outputs))) != len(cell.outputs):
            found.append(f"{name}: cell {cell.execution_count} has a stream in pieces")
        for output in cell.outputs:
            if output.output_type == "error" and "raises-exception" not in tags:
                found.append(f"{name}: cell {cell.execution_count} failed with {output.ename}")
            data = output.get("data", {})
            if "image/png" in data:
                found.append(f"{name}: cell {cell.execution_count} shows a PNG: use figures.show")
            if output.get("name") == "stderr":
                found.append(f"{name}: cell {cell.execution_count} writes to stderr")
    return found


def sync(page: Path) -> str:
    """Bring one pair together and execute it if anything it depends on changed; what was done."""
    old, new = read_notebook(page), read_markdown(page)
    if old is not None and sources(old) != sources(new) and _notebook_is_newer(page):
        jupytext.write(old, page, fmt="md:myst")
        new = read_markdown(page)
    if old is not None and (record := _record(page, old)):
        _remember(record)
        was_same = sources(old) == sources(new)
        _take_outputs(old, new)
        if was_same and not problems(page):
            return "up to date"
        nbformat.write(new, page.with_suffix(".ipynb"))
        if not problems(page):
            return "its text was brought over"
    library = dependencies.library()  # an edit while the page runs is one that it may have missed
    uses = _execute(new, page)
    _keep_ignored_outputs(old, new)
    nbformat.write(new, page.with_suffix(".ipynb"))
    digest = _digest(new, dependencies.digest(uses, library))
    _remember({"page": page.relative_to(ROOT).as_posix(), "digest": digest, **uses})
    return "executed"


def executed() -> list[dict[str, Any]]:
    """What was executed, by page; after a merge there may be two lines of one."""
    lines = DONE.read_text("utf-8").splitlines() if DONE.exists() else []
    return [json.loads(line) for line in lines]


def _remember(line: dict[str, Any]) -> None:
    """Write a page's line in place of those that it had; pages that are gone have none."""
    name = line["page"]
    others = [e for e in executed() if e["page"] != name and (ROOT / e["page"]).exists()]
    lines = sorted([*others, line], key=lambda each: str(each["page"]))
    if lines == executed():
        return
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    DONE.write_text(text, "utf-8", newline="\n")


def is_current(page: Path) -> bool:
    """True if neither the page nor anything it used has changed since it was executed."""
    notebook = read_notebook(page)
    return notebook is not None and _record(page, notebook) is not None


def _record(page: Path, notebook: nbformat.NotebookNode) -> dict[str, Any] | None:
    """The line that says that a page's notebook is of what the page uses now, if there is one."""
    if _code(notebook) != _code(read_markdown(page)):
        return None
    name = page.relative_to(ROOT).as_posix()
    return next(
        (
            about
            for about in executed()
            if about["page"] == name
            and about["digest"] == _digest(notebook, dependencies.digest(about))
        ),
        None,
    )


def _code(notebook: nbformat.NotebookNode) -> list[str]:
    """What a kernel is given."""
    return [cell.source.rstrip() for cell in _run(notebook)]


def _run(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _take_outputs(old: nbformat.NotebookNode, new: nbformat.NotebookNode) -> None:
    """Give each cell the outputs that the same code had."""
    for was, cell in zip(_run(old), _run(new), strict=True):
        cell.outputs, cell.execution_count = was.outputs, was.execution_count


def _notebook_is_newer(page: Path) -> bool:
    """True if only the notebook was edited since the last commit: then it is the one to follow."""
    return _edited(page.with_suffix(".ipynb")) and not _edited(page)


def _edited(path: Path) -> bool:
    status = subprocess.run(
        ["git", "status", "--porcelain", "--", str(path)], cwd=ROOT, capture_output=True, text=True
    )
    return bool(status.stdout.strip())


def _execute(notebook: nbformat.NotebookNode, page: Path) -> dict[str, list[str]]:
    """Run every cell in order; what of the library it used."""
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        ours = {**os.environ, "PYTHONPATH": str(ROOT)}  # the costlib beside this page, no other
        with client.setup_kernel(cwd=str(page.parent), env=ours):
            _ask(client, dependencies.WATCH)
            number = 0
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code" and cell.source.strip():
                    number += 1
                    client.execute_cell(cell, index, execution_count=number)
                    cell.outputs = joined(cell.outputs)
            uses = dependencies.tidied(_ask(client, dependencies.TELL))
    except CellExecutionError as failure:
        is_claim = claims.CLAIM in claims.tags(cell)
        how = "says something that does not hold" if is_claim else "failed"
        raise SystemExit(f"{page.name} {how}:\n{failure}") from None
    notebook.metadata.pop("language_info", None)  # names the Python of whoever executed
    return uses


def _ask(client: NotebookClient, code: str) -> str:
    """What a kernel prints when it runs code that is no cell of the page and leaves no count."""
    cell = nbformat.v4.new_code_cell(code)
    client.nb.cells.append(cell)
    client.execute_cell(cell, len(client.nb.cells) - 1, store_history=False)
    client.nb.cells.pop()
    return "".join(output.text for output in cell.outputs)


def joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Outputs with neighbouring pieces of one stream in one: where it is cut is chance."""
    made: list[nbformat.NotebookNode] = []
    for output in outputs:
        before = made[-1] if made else None
        if output.output_type == "stream" and before and before.get("name") == output.name:
            before.text += output.text
        else:
            made.append(output)
    return made


def _keep_ignored_outputs(old: nbformat.NotebookNode | None, new: nbformat.NotebookNode) -> None:
    """A timing that nobody compares should not change with every sync either.

    All of a page's or none, and only while it is held to the same claims: those were asked of the
    outputs that are kept.
    """
    if old is None or claims.held_to(old) != claims.held_to(new):
        return
    kept = {cell.source: cell.outputs for cell in old.cells if cell.get("outputs")}
    for cell in new.cells:
        if claims.IGNORED in claims.tags(cell) and cell.source in kept:
            cell.outputs = kept[cell.source]


def _digest(notebook: nbformat.NotebookNode, used: str) -> str:
    """Changes when a page's code does, its outputs, or what it used."""
    outputs = [cell.outputs for cell in _run(notebook)]
    said = json.dumps([_code(notebook), outputs, used], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def main() -> None:
    """The command line: every pair, or those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="NAME", help="as in book/NAME.md; all if none")
    wanted = {f"book/{name}.md" for name in parser.parse_args().pages}
    found = {page.relative_to(ROOT).as_posix(): page for page in paired()}
    if unknown := sorted(wanted - set(found)):
        parser.error(f"{unknown[0]} is no pair")
    for name in sorted(wanted) or found:
        print(f"  {name}: ", end="", flush=True)
        print(sync(found[name]), flush=True)


if __name__ == "__main__":
    main()
