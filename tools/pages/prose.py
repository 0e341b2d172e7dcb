"""What a machine can hold prose to: each function returns what is wrong, an empty list if nothing.

Its numbers are held to the code in `numbers`, and what it says of them in `claims`. Here:

- a figure says in words what it shows;
- a page reads well as plain Markdown, without words that talk down;
- a letter in a formula is on the notation page;
- a chapter has all its parts: question, prediction, takeaways, exercises, what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

import nbformat

SVG = "{http://www.w3.org/2000/svg}"
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


def slips(markdown: str) -> list[str]:
    """Words that talk down, paragraphs lost in a list, and syntax that only the site could read."""
    text = NOT_PROSE.sub(" ", markdown)
    found = [
        f"{word!r} talks down to the reader"
        for word in BANNED
        if re.search(rf"\b{word}\b", text, re.IGNORECASE)
    ]
    found += [
        f"{start!r} needs an empty line before it, or belongs to the list above it"
        for start in re.findall(
            r"^(?:[-*]|\d+\.) [^\n]*\n([A-Z$`\[*](?! ).{0,20})", text, re.MULTILINE
        )
    ]
    own = re.sub(r"\[[^\]]*\]\(https?:[^)]*\)", " ", markdown)  # titles of others are as they are
    if re.search(r"\b[A-Z]?FLOPS\b", NOT_PROSE.sub(" ", own).replace('"FLOPS"', "")):
        found.append("'FLOPS' could be a count or a rate: FLOPs or FLOP/s")
    if role := re.search(r"\{[a-z:]+\}`", markdown):
        found.append(f"{role[0]} is a role: write a plain link, which Colab and GitHub show too")
    found += [
        f"{fence} is a directive: write plain Markdown, which Colab and GitHub show too"
        for fence in re.findall(r"^(?:```|:::+)\{(?!code-cell)[^}]*\}", markdown, re.MULTILINE)
    ]
    return found


# ---------------------------------------------------------------- notation

MATH = re.compile(r"\$\$(.*?)\$\$|(?<![\w\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)", re.DOTALL)
WORDS = re.compile(  # in formulas: text, names of functions, environments
    r"\\(?:text|mathrm|operatorname|begin|end|tag|label)\*?\{[^}]*\}|\\\\|\\[,;:!{}|% ]"
)
LETTER = re.compile(
    r"(\\(?:mathbf|mathcal|mathbb|hat|tilde|bar)\{[A-Za-z]\}|\\[A-Za-z]+|[A-Za-z])"
    r"(?:_(\{[^{}]*\}|\w))?"
)
GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|"
    "tau|phi|varphi|chi|psi|omega|ell|Gamma|Delta|Lambda|Xi|Pi|Sigma|Phi|Psi"
)  # but not Theta and Omega, which say how fast something grows
INDICES = set("ijl0123456789")


def known_letters(notation: str) -> list[str]:
    """The symbols in the first column of the notation page's tables, once for each row."""
    cells = re.findall(r"^\| (\$[^|]+\$) \|", notation, re.MULTILINE)
    return [
        symbol
        for cell in cells
        for formula in re.findall(r"\$([^$]+)\$", cell)
        for symbol in letters(formula)
    ]


def letters(formula: str) -> list[str]:
    """The letters of a formula, subscripts and decorations included; no words, no functions."""
    found = []
    for match in LETTER.finditer(WORDS.sub(" ", formula)):
        base, subscript = match[1], (match[2] or "").strip("{}")
        if base.startswith("\\") and "{" not in base and not GREEK.fullmatch(base[1:]):
            found += letters(subscript)  # a command: only its limits can hold letters
            continue
        found.append(f"{base}_{subscript}" if subscript else base)
    return found


def unknown_letters(markdown: str, known: Iterable[str]) -> set[str]:
    """Letters that formulas use and the notation page does not explain.

    A subscript that counts (i, j, l, a size, a digit) needs no row of its own.
    """
    listed = set(known)
    text = re.sub(r"```.*?```|`[^`\n]+`", " ", markdown, flags=re.DOTALL)
    used = {
        letter for display, inline in MATH.findall(text) for letter in letters(display or inline)
    }
    return {letter for letter in used if not _is_explained(letter, listed)}


def _is_explained(letter: str, listed: set[str]) -> bool:
    base, _, subscript = letter.partition("_")
    if letter in listed or base in INDICES or base in {"e", "O", "o"}:
        return True  # e of exp, O and o of growth
    parts = set(re.findall(r"\w+", subscript))
    counts = all(part in listed or set(part) <= INDICES | listed for part in parts)
    return base in listed and bool(subscript) and counts


# ---------------------------------------------------------------- chapters


def missing_parts(markdown: str) -> list[str]:
    """What a chapter should have and has not."""
    text = re.sub(r"^---.*?^---$", "", markdown, count=1, flags=re.DOTALL | re.MULTILINE)
    found = []
    opening = text.split("\n## ")[0]
    if not re.search(r"^\*\*[^*]+\?\*\*$", opening, re.MULTILINE):
        found.append("it does not open with a question")
    if "> **Predict.**" not in opening:
        found.append("no prediction before the first section")
    if "you can" not in opening:
        found.append("no learning goals")
    sections = [section.partition("\n") for section in text.split("\n## ")[1:]]
    ends = ["What this leaves out", "Exercises", "Further reading"]
    if [title for title, _, _ in sections][-3:] != ends:
        found.append(f"it does not end with {', '.join(ends)}")
    for title, _, body in sections[:-3]:
        if "> **Takeaway.**" not in body:
            found.append(f"no takeaway in {title!r}")
    return found


def words(markdown: str) -> int:
    """Words of prose: code, formulas and the exercises' solutions left out."""
    text = re.sub(r"^---.*?^---$", "", markdown, count=1, flags=re.DOTALL | re.MULTILINE)
    return len(re.findall(r"[A-Za-z’']{1,}", NOT_PROSE.sub(" ", text)))


def unmentioned_figures(markdown: str) -> list[str]:
    """Figures with a name that no text links to, and links to figures that are not there."""
    named = re.findall(r"^\s+name: (fig-[\w-]+)$", markdown, re.MULTILINE)
    linked = re.findall(r"\]\(#(fig-[\w-]+)\)", markdown)
    return sorted(set(named) ^ set(linked))


#: What proselint looks for; its other checks argue with mathematics or with British spelling.
CHECKS = (
    *("cliches", "lexical_illusions", "malapropisms", "mixed_metaphors", "needless_variants"),
    *("nonwords", "oxymorons", "redundancy", "terms"),
)


def style_slips(markdown: str) -> list[str]:
    """Clichés, doubled words and the like, as proselint finds them."""
    from proselint.config import DEFAULT
    from proselint.registry import CheckRegistry
    from proselint.tools import LintFile

    if not CheckRegistry().checks:
        from proselint.checks import __register__

        CheckRegistry().register_many(__register__)
    config = {**DEFAULT, "checks": dict.fromkeys(CHECKS, True)}
    found = LintFile("page", NOT_PROSE.sub(" ", markdown)).lint(config)
    return [f"{each.check_result.check_path}: {each.check_result.message}" for each in found]
