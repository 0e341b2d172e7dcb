"""Copies of the book's notebooks that need nothing around them: for Colab, for a download.

The site reads MyST; Colab, GitHub and an empty folder do not. A copy says everything in plain
Markdown, links to the published site, keeps the outputs, and begins with a cell that makes costlib
importable. A page is parsed with the Markdown parser that the book is built with, and what this
module does not know is an error: nothing is left in a copy that only the site understands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pybtex.database import parse_file

from tools import ROOT
from tools.pages.generated import address
from tools.site.identity import Identity

PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)
DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
TARGET = re.compile(r"^\(([\w:.-]+)\)=[ \t]*\n+", re.MULTILINE)
EQUATION = re.compile(r"\$\$(?P<math>(?:(?!\$\$).)+)\$\$[ \t]*\((?P<label>[\w:.-]+)\)", re.DOTALL)
ROLE = re.compile(r"(?<!`)\{([\w:-]+)\}`([^`]+)`")
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
PROTECTED = re.compile(r"(`+[^`]+`+|\$\$.+?\$\$|(?<!\$)\$[^$\n]+\$)", re.DOTALL)
#: What must not be left: a role, a directive's fence, a target, a label of an equation.
RAW = re.compile(
    r"(?<!`)\{[\w:-]+\}`|^[\s>]*(?:```+|~~~+|:::+)\s*\{|^[\s>]*:::"
    r"|^\([\w:.-]+\)=|\$\$ *\([\w:.-]+\) *$",
    re.MULTILINE,
)
NOTICES = ("note", "tip", "hint", "important", "warning", "caution", "danger", "error", "seealso")


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page is: book/NAME, without the ending; what it refers to is relative to that."""

    name: str
    identity: Identity
    labels: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    works: Mapping[str, tuple[str, str]] = field(default_factory=dict)

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
    """Every page of the table of contents, in its order, knowing the labels of all of them."""
    toc = (root / "_toc.yml").read_text("utf-8")
    names = re.findall(r"(?:root|file): *(\S+)", toc)
    names = [name for name in names if (root / f"{name}.md").is_file()]
    labels = {
        label: (name, number, title)
        for name in names
        for label, number, title in labels_of((root / f"{name}.md").read_text("utf-8"))
    }
    bibliography = root / "book" / "references.bib"
    entries = parse_file(str(bibliography)).entries if bibliography.is_file() else {}
    works = {
        key: (f"{entry.persons['author'][0].last_names[0]}, {entry.fields['year']}", address(entry))
        for key, entry in entries.items()
        if "author" in entry.persons
    }
    return {name: Page(name, identity, labels, works) for name in names}


def labels_of(text: str) -> list[tuple[str, str, str]]:
    """The labels that a page gives: each with its number (of an equation) or title (a heading).

    >>> labels_of("(top)=\\n# Costs\\n\\n$$\\nx\\n$$ (eq-x)\\n")
    [('top', '', 'Costs'), ('eq-x', '1', '')]
    """
    titles = re.findall(r"^\(([\w:.-]+)\)=\s+#+ (.+)$", text, re.MULTILINE)
    equations = [match["label"] for match in EQUATION.finditer(text)]
    equations += re.findall(r"\{math\}\s*\n:label:\s*(\S+)", text)
    equations.sort(key=text.index)
    return [
        *((label, "", title) for label, title in titles),
        *((label, str(number), "") for number, label in enumerate(equations, start=1)),
    ]


# ---------------------------------------------------------------- Markdown


def flat(text: str, page: Page) -> str:
    """MyST as plain Markdown.

    >>> from tools.site.identity import of
    >>> flat(":::{note}\\nMind the [gap](gap.md).\\n:::", Page("book/x", of("ada/book")))
    '> **Note.** Mind the [gap](https://ada.github.io/book/book/gap.html).'
    """
    done, at, lines = [], 0, text.split("\n")
    for token in PARSER.parse(text):
        if token.type not in ("fence", "colon_fence", "code_block") or token.level:
            continue
        first, last = token.map
        done.append(_inline("\n".join(lines[at:first]), page))
        found = DIRECTIVE.fullmatch(token.info.strip())
        if found and found[1] != "code-cell":
            done.append(_directive(found[1], found[2], token.content, page))
        else:
            done.append("\n".join(lines[first:last]))
        at = last
    done.append(_inline("\n".join(lines[at:]), page))
    result = "\n".join(done).strip("\n")
    if left := RAW.search(_without_code(result)):
        raise ValueError(f"{page.name}: {left[0].strip()!r} is left in the copy")
    return result


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,}|~{3,})(?! *\{).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


def _inline(text: str, page: Page) -> str:
    """Text between blocks of code: targets, numbered equations, roles, links."""
    text = TARGET.sub("", text)
    text = EQUATION.sub(
        lambda m: f"$$\n{m['math'].strip()} \\tag{{{page.labels[m['label']][1]}}}\n$$", text
    )
    text = ROLE.sub(lambda found: _role(found[1], found[2], page), text)
    parts = PROTECTED.split(text)
    parts[::2] = [LINK.sub(lambda found: page.link(found[1]), part) for part in parts[::2]]
    return "".join(parts)


def _role(role: str, content: str, page: Page) -> str:
    titled = re.fullmatch(r"(.+?)\s*<([^>]+)>", content, re.DOTALL)
    text, target = (titled[1], titled[2]) if titled else ("", content)
    if role == "math":
        return f"${content}$"
    if role in ("cite", "cite:p", "cite:t"):
        cited = [page.works[key.strip()] for key in content.split(",")]
        return "(" + "; ".join(f"[{who}]({where})" for who, where in cited) + ")"
    if role == "doc":
        return f"[{text or target.rpartition('/')[2]}]({page.link(target + '.md')})"
    if role in ("ref", "numref", "eq"):
        name, number, title = page.labels[target]
        return f"[{text or title or f'({number})'}]({page.identity.page(name)}.html#{target})"
    raise ValueError(f"{page.name}: the copy cannot say {{{role}}}`{content}`")


def _directive(name: str, argument: str, content: str, page: Page) -> str:
    options, body = _options(content)
    if name == "math":
        tag = f" \\tag{{{page.labels[options['label']][1]}}}" if "label" in options else ""
        return f"$$\n{body}{tag}\n$$"
    if name in ("figure", "image"):
        shown = f"![{options.get('alt', '')}]({page.link(argument)})"
        return f"{shown}\n\n{flat(body, page)}".strip()
    inner = flat(body, page)
    if name == "exercise":
        return f"### Exercise{f': {argument}' if argument else ''}\n\n{inner}"
    if name in ("solution", "dropdown"):
        title = argument if name == "dropdown" else "Solution"
        return f"<details><summary>{title}</summary>\n\n{inner}\n\n</details>"
    if name == "admonition" or name in NOTICES:
        title = argument or ("See also" if name == "seealso" else name.capitalize())
        quoted = f"**{title.rstrip('.')}.** {inner}".split("\n")
        return "\n".join(f"> {line}".rstrip() for line in quoted)
    raise ValueError(f"{page.name}: the copy cannot say the directive {{{name}}}")


def _options(content: str) -> tuple[dict[str, str], str]:
    lines, options = content.strip("\n").split("\n"), {}
    while lines and (found := OPTION.fullmatch(lines[0].strip())):
        options[found[1]] = found[2]
        lines.pop(0)
    return options, "\n".join(lines).strip("\n")


# ---------------------------------------------------------------- notebooks


def setup_cell(page: Page, wheel: str) -> Any:
    """The first cell: costlib, only where it is missing, and nothing else changed."""
    parts = re.split(r"(?<=[/#])(?=wheels/|costlib|sha)", wheel)
    lines = "".join(f'    "{part}"\n' for part in parts)
    return new_code_cell(
        f"# A copy of {page.address}\n"
        "# to run and to change. It needs costlib: where that is missing, this fetches\n"
        "# the version that made the page. Everything else stays as it is.\n"
        "import importlib.util\n"
        "import sys\n\n"
        f"WHEEL = (\n{lines})\n"
        'if importlib.util.find_spec("costlib") is None:\n'
        '    !"{sys.executable}" -m pip install -q --no-deps --no-input \\\n'
        '        --disable-pip-version-check --root-user-action=ignore "{WHEEL}"'
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
        "text/plain": lambda text: f"```text\n{text.rstrip()}\n```",
    }
    for kind, shown in makers.items():
        if text := _text(output, kind):
            return shown(text)
    return ""
