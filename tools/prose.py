"""What a machine can hold prose to: each function returns what is wrong, an empty list if nothing.

- a number in the text is one that code on the page computed or was given;
- a figure says in words what it shows;
- a page reads well as plain Markdown, without words that talk down.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

import nbformat

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"(?<![\w.,^_-])(\d[\d,]*(?:\.\d+)?)(?![\w]|[.,]\d)(\s*%| per cent)?")
SMALL = 12  # counts up to a dozen are words written as digits
BANNED = ("simply", "obviously", "trivially", "just", "clearly", "of course", "easy to see")
NOT_PROSE = re.compile(
    r"```.*?```|~~~.*?~~~"  # code
    r"|\$\$.*?\$\$|\$[^$\n]+\$"  # math
    r"|`[^`\n]+`|\]\([^)]*\)|<[^>]+>",  # code words, link targets, tags
    re.DOTALL,
)


def figures_without_text(notebook: nbformat.NotebookNode) -> list[str]:
    """Figures whose SVG lacks a title or a description that a screen reader would read."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
            if not svg:
                continue
            root = ElementTree.fromstring(svg)
            texts = [(root.findtext(SVG + part) or "").strip() for part in ("title", "desc")]
            if root.get("role") != "img" or not all(texts) or not root.get("aria-labelledby"):
                found.append(f"cell {cell.execution_count}: a figure without title or description")
    return found


def uncomputed_numbers(notebook: nbformat.NotebookNode) -> list[str]:
    """Numbers in the prose that no cell of the page computed, printed or was given.

    Rounding is allowed (137.4 for 137438953472), and so are prefixes (GFLOP) and per cent. Left
    alone: headings, predictions (wrong numbers on purpose) and further reading.
    """
    known = _known_numbers(notebook)
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text = re.split(r"^## (?:Further reading)", cell.source, flags=re.MULTILINE)[0]
        text = re.sub(r"^(?:#+ |> \*\*Predict).*$|^\*\*\d+\. ", "", text, flags=re.MULTILINE)
        for match in NUMBER.finditer(NOT_PROSE.sub(" ", text)):
            number = match[1].rstrip(",").replace(",", "")
            if not _is_known(number, bool(match[2]), known):
                around = text.replace("\n", " ")
                at = max(around.find(match[1]) - 30, 0)
                found.append(f"{match[1]} in «{around[at : at + 70]}»")
    return found


def _known_numbers(notebook: nbformat.NotebookNode) -> set[float]:
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts.append(cell.source)
            for output in cell.outputs:
                texts.append("".join(output.get("text", "")))
                texts += ["".join(v) for k, v in output.get("data", {}).items() if k[:4] == "text"]
    return {
        float(number.replace(",", ""))
        for text in texts
        for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", text)
        if number.replace(",", "")
    }


def _is_known(number: str, is_percentage: bool, known: set[float]) -> bool:
    value, decimals = float(number), len(number.partition(".")[2])
    if value <= SMALL and not decimals:
        return True
    scales = [1.0, 1e-2] if is_percentage else [1.0]
    scales += [1000.0**power for power in range(-4, 8) if power]
    unit = 10.0**-decimals
    return any(
        abs(candidate / scale - value) <= unit * 0.5000001
        for candidate in known
        for scale in scales
        if candidate
    )


def slips(markdown: str) -> list[str]:
    """Words that talk down, and syntax that only the site could read."""
    text = NOT_PROSE.sub(" ", markdown)
    found = [
        f"{word!r} talks down to the reader"
        for word in BANNED
        if re.search(rf"\b{word}\b", text, re.IGNORECASE)
    ]
    if re.search(r"\b[A-Z]?FLOPS\b", text.replace('"FLOPS"', "")):
        found.append("'FLOPS' could be a count or a rate: FLOPs or FLOP/s")
    if role := re.search(r"\{[a-z:]+\}`", markdown):
        found.append(f"{role[0]} is a role: write a plain link, which Colab and GitHub show too")
    found += [
        f"{fence} is a directive: write plain Markdown, which Colab and GitHub show too"
        for fence in re.findall(r"^(?:```|:::+)\{(?!code-cell)[^}]*\}", markdown, re.MULTILINE)
    ]
    return found
