"""Copies of the book's notebooks that need nothing around them: for Colab, for a download.

A page is plain Markdown already. Its copy links to the published site, keeps the outputs, and
begins with a cell that makes costlib importable. What only the site understands is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import ROOT
from tools.pages import live
from tools.site.identity import Identity

#: What stays as it is: fenced code, code in a line, formulas.
PROTECTED = re.compile(
    r"(^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[`~]*[ \t]*$|`+[^`]+`+|\$\$.+?\$\$|(?<!\$)\$[^$\n]+\$)",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
#: What only the site would understand: a role, a directive's fence, a target, an equation's label.
RAW = re.compile(
    r"(?<!`)\{[\w:-]+\}`|^[\s>]*(?:```+|~~~+|:::+)\s*\{|^[\s>]*:::"
    r"|^\([\w:.-]+\)=|\$\$ *\([\w:.-]+\) *$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page is: book/NAME, without the ending; what it refers to is relative to that."""

    name: str
    identity: Identity

    @property
    def address(self) -> str:
        """Its address on the site."""
        return self.identity.page(f"{self.name}.html")

    def link(self, target: str) -> str:
        """The published address of what a link of this page leads to.

        >>> from tools.site.identity import of
        >>> page = Page("book/matmul", of("ada/book"))
        >>> page.link("api/index.md#top"), page.link("#fig-one")[-12:], page.link("https://x.org")
        ('https://ada.github.io/book/book/api/index.html#top', 'html#fig-one', 'https://x.org')
        """
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return target
        path, hash_mark, anchor = target.partition("#")
        if not path:
            return f"{self.address}#{anchor}"
        parts = self.name.split("/")[:-1]
        for part in path.split("/"):
            parts = parts[:-1] if part == ".." else parts if part == "." else [*parts, part]
        place = re.sub(r"\.(?:md|ipynb)$", ".html", "/".join(parts))
        is_of_the_site = place.endswith(".html") or place.startswith("book/_static/")
        place = re.sub("^book/_static/", "_static/", place)
        found = (
            self.identity.page(place)
            if is_of_the_site
            else f"{self.identity.url}/blob/{self.identity.branch}/{place}"
        )
        return found + hash_mark + anchor


def pages(identity: Identity, root: Path = ROOT) -> dict[str, Page]:
    """Every page of the table of contents, in its order."""
    names = re.findall(r"(?:root|file): *(\S+)", (root / "_toc.yml").read_text("utf-8"))
    return {name: Page(name, identity) for name in names if (root / f"{name}.md").is_file()}


def flat(text: str, page: Page) -> str:
    """A page's Markdown with links that lead to the site; an error if more than that is needed.

    >>> from tools.site.identity import of
    >>> flat("Mind the [gap](gap.md), `[x](y)`.", Page("book/x", of("ada/book")))
    'Mind the [gap](https://ada.github.io/book/book/gap.html), `[x](y)`.'
    """
    if left := RAW.search(_without_code(text)):
        raise ValueError(
            f"{page.name}: the copy cannot say {left[0].strip()!r}: write plain Markdown"
        )
    text, done, at = live.without(text), [], 0
    for kept in PROTECTED.finditer(text):
        done += [LINK.sub(lambda found: page.link(found[1]), text[at : kept.start()]), kept[0]]
        at = kept.end()
    done.append(LINK.sub(lambda found: page.link(found[1]), text[at:]))
    return "".join(done).strip("\n")


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,}|~{3,})(?! *\{).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


# ---------------------------------------------------------------- notebooks


def setup_cell(page: Page, wheel: str) -> Any:
    """The first cell: costlib, only where it is missing, and nothing else changed."""
    parts = re.split(r"(?<=[/#])(?=wheels/|costlib|sha)", wheel)
    lines = "".join(f'    "{part}"\n' for part in parts)
    return new_code_cell(
        f"# A copy of {page.address}\n"
        "# to run and to change. It needs costlib: where that is missing, this fetches\n"
        "# the version that made the page. Everything else stays as it is.\n"
        "import importlib\n"
        "import importlib.util\n"
        "import sys\n\n"
        f"WHEEL = (\n{lines})\n"
        'if importlib.util.find_spec("costlib") is None:\n'
        '    !"{sys.executable}" -m pip install -q --no-deps --no-input \\\n'
        '        --retries 1 --disable-pip-version-check --root-user-action=ignore "{WHEEL}"\n'
        "    importlib.invalidate_caches()\n"
        '    if importlib.util.find_spec("costlib") is None:\n'
        "        raise ImportError(\n"
        '            "costlib could not be fetched: is there a network? In a clone of the book, "\n'
        '            "`pip install .` installs it, too")'
    )


def copy(notebook: Any, page: Page, wheel: str) -> Any:
    """The notebook of a page as one that stands alone, outputs kept."""
    cells = [setup_cell(page, wheel)]
    for cell in notebook.cells:
        cells += _copied(cell, page)
    figures = 0
    for cell in cells:
        if cell.metadata.pop("caption", False):
            figures += 1
            cell.source = f"**Figure {figures}.** {cell.source}"
    return _finished(cells, page.name.rpartition("/")[2])


def _finished(cells: Iterable[Any], name: str) -> Any:
    cells = list(cells)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "colab": {"name": f"{name}.ipynb", "provenance": []}}
    return new_notebook(cells=cells, metadata=about)


def _copied(cell: Any, page: Page) -> list[Any]:
    """What stands in the copy for one cell."""
    if cell.cell_type == "markdown":
        return [new_markdown_cell(flat(cell.source, page))]
    tags = cell.metadata.get("tags", [])
    if "remove-cell" in tags:
        return []
    if "solution" in tags:
        name = re.findall(r"^def (\w+\(.*?\))", cell.source, re.MULTILINE)
        turn = new_code_cell(f"# Your turn: {name[0]}" if name else "# Your turn")
        return [turn, new_markdown_cell(_folded(cell))]
    code = new_code_cell(cell.source, outputs=cell.outputs, execution_count=cell.execution_count)
    if tags:
        code.metadata["tags"] = tags
    made = [code]
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    if "caption" in figure:
        caption = new_markdown_cell(flat(figure["caption"], page))
        caption.metadata["caption"] = True
        made.append(caption)
    if any("data-explorer" in _text(out, "text/html") for out in cell.outputs):
        words = f"Above is how it begins; [on the book's page]({page.address}) you can move it."
        made.append(new_markdown_cell(words))
    return made


def _folded(cell: Any) -> str:
    shown = "".join(_text(out, "text/plain") for out in cell.outputs).strip("\n")
    printed = f"\n\n```text\n{shown}\n```" if shown else ""
    code = f"```python\n{cell.source.strip()}\n```{printed}"
    return f"<details><summary>Solution</summary>\n\n{code}\n\n</details>"


def _text(output: Any, kind: str) -> str:
    """What an output says in one of its kinds; a printed one only says plain text."""
    if output.output_type == "stream":
        return "".join(output.text) if kind == "text/plain" else ""
    return "".join(output.get("data", {}).get(kind, ""))


def blank(markdown: Path, checks: Path, page: Page, wheel: str) -> Any:
    """A chapter's exercises alone, to be filled in and checked: the notebook of no student."""
    from course.builder.assignments import open_key, student_notebook
    from course.builder.notebooks import Surroundings

    around = Surroundings(
        install=setup_cell(page, wheel).source,
        words=f"They belong to [the chapter]({page.address}). Run the next two cells first.",
        plain=lambda text: flat(text, page),
    )
    made = student_notebook(open_key(markdown, checks), "", around=around)
    return _finished(made.cells, f"{markdown.stem}-exercises")


# ---------------------------------------------------------------- everything


def write(out: Path, identity: Identity, wheel: str, root: Path = ROOT) -> dict[str, str]:
    """Every copy into OUT/colab, every chapter's blank exercises into OUT/exercises.

    Answers what each page is in plain Markdown, outputs included, by name.
    """
    written = {}
    for name, page in pages(identity, root).items():
        notebook = root / f"{name}.ipynb"
        if notebook.is_file():
            copied = copy(nbformat.read(notebook, as_version=4), page, wheel)
            _save(copied, out / "colab" / f"{name.removeprefix('book/')}.ipynb")
            written[name] = as_markdown(copied, page)
            if has_exercises(root / f"{name}.md"):
                practice = root / "course" / "practice"
                _save(blank(root / f"{name}.md", practice, page, wheel), out / exercises(name))
        else:
            written[name] = flat((root / f"{name}.md").read_text("utf-8"), page) + "\n"
    return written


def has_exercises(markdown: Path) -> bool:
    """Whether a page has exercises with solutions to cut away."""
    return "solution]" in markdown.read_text("utf-8")


def exercises(name: str) -> str:
    """Where the blank exercises of a page are published."""
    return f"exercises/{name.removeprefix('book/')}.ipynb"


def _save(notebook: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", "utf-8")


def as_markdown(notebook: Any, page: Page) -> str:
    """A copy as one text: code fenced, results below it, figures in words."""
    parts = []
    for cell in notebook.cells[1:]:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.source.strip() and not cell.source.startswith("# Your turn"):
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_shown(output, page) for output in cell.outputs]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _shown(output: Any, page: Page) -> str:
    makers: dict[str, Callable[[str], str]] = {
        "image/svg+xml": lambda _: f"[Figure]({page.address}): {_text(output, 'text/plain')}",
        "text/latex": lambda text: text,
        "text/markdown": lambda text: text,
        "text/html": in_words,
        "text/plain": lambda text: f"```text\n{text.rstrip()}\n```",
    }
    for kind, shown in makers.items():
        if (text := _text(output, kind)) and (said := shown(text)):
            return said
    return ""


def in_words(html: str) -> str:
    """A table of an output as a table of Markdown; of other HTML its text.

    >>> print(in_words("<p>So:</p><table><tr><th>a</th><td>1</td></tr></table>"))
    So:
    <BLANKLINE>
    | a | 1 |
    |---|---|
    """
    soup = BeautifulSoup(html, "html.parser")
    for unseen in soup.select("style, script"):
        unseen.decompose()
    for table in soup.select("table"):
        rows = [
            " | ".join(cell.get_text(" ", strip=True) for cell in row.select("th, td"))
            for row in table.select("tr")
        ]
        rule = "|---" * (rows[0].count(" | ") + 1) + "|" if rows else ""
        lines = [f"| {row} |" for row in rows]
        table.replace_with("\n\n" + "\n".join([*lines[:1], rule, *lines[1:]]) + "\n")
    return re.sub(r"\n{3,}", "\n\n", soup.get_text()).strip()
