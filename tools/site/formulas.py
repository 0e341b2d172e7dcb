"""Formulas in few elements, looking the same.

KaTeX sets every letter as it would a fraction: ten elements for one letter, eleven more for an
index. On a page of proofs that is most of what a phone has to read.
"""

from __future__ import annotations

import re

TEX = re.compile(r"<semantics>(.*?)<annotation encoding=[^>]*>[^<]*</annotation></semantics>", re.S)
#: A letter or a number, perhaps primed, as KaTeX says it and as KaTeX draws it.
LETTER = re.compile(
    r'<span class="math"><span class="katex"><span class="katex-mathml"><math [^>]*><mrow>'
    r"(?:<m[in][^>]*>[^<]*</m[in]>|<msup><mi[^>]*>[^<]*</mi><mo[^>]*>′</mo></msup>)"
    r'</mrow></math></span><span class="katex-html" aria-hidden="true"><span class="base">'
    r'<span class="strut" style="[^"]*"></span>'
    r'(<span class="mord[^"]*"(?: style="[^"]*")?>(?:[^<]|<span [^>]*>[^<]*</span>)*</span>)'
    r"</span></span></span></span>"
)
#: What is read from left to right is heard as it is seen.
FLAT = re.compile(
    r'<span class="katex-mathml"><math [^>]*><mrow>(?:<m([ion])[^>]*>[^<]*</m\1>)*</mrow></math>'
    r'</span><span class="katex-html" aria-hidden="true">'
)
#: An index or an exponent in one line: in KaTeX a table of one cell, moved by a strut.
LINE = r'(?:<span class="mord[^"]*"(?: style="[^"]*")?>[^<]*</span>)+'
RAISED = re.compile(
    r'<span class="msupsub"><span class="vlist-t(?: vlist-t2)?"><span class="vlist-r">'
    r'<span class="vlist" style="height:[\d.]+em;"><span style="top:(?P<top>-[\d.]+)em;'
    r'(?:margin-left:(?P<left>-?[\d.]+)em;)?margin-right:0.05em;">'
    r'<span class="pstrut" style="height:(?P<strut>[\d.]+)em;"></span>'
    rf'<span class="sizing reset-size6 size3 mtight">(?:<span class="mord mtight">(?P<many>{LINE})'
    rf"</span>|(?P<one>{LINE}))</span></span></span>"
    r'(?:<span class="vlist-s">[^<]*</span></span><span class="vlist-r">'
    r'<span class="vlist" style="height:[\d.]+em;"><span></span></span>)?</span></span></span>'
)
SMALL = 0.7  # KaTeX's size of what is raised: `em` are its own
FORMULA = r'<span class="math">(?:(?!<span class="math">).)*?</span></span></span>'
#: A formula with a bracket before it or a comma after it, which stay on one line.
WITH_COMMA = re.compile(
    r'(?<!<span class="whole">)(?<!<span class="whole">\()'
    rf"(?:\({FORMULA}[,.;:?!)”’]?(?=[^<])|{FORMULA}[,.;:?!)”’])",
    re.DOTALL,
)


def brief_formulas(html: str) -> str:
    """No copy of the TeX in each, nor of what needs none, and one element for an index."""
    html = RAISED.sub(raised, TEX.sub(r"\1", html))
    html = LETTER.sub(r'<span class="math"><span class="katex">\1</span></span>', html)
    html = FLAT.sub('<span class="katex-html">', html)
    return WITH_COMMA.sub(whole, html)


def raised(found: re.Match[str]) -> str:
    """What is raised or lowered, as one element as far above the line as KaTeX's.

    >>> one = '<span class="mord mtight">2</span>'
    >>> cell = '<span style="top:-3.063em;margin-right:0.05em;"><span class="pstrut" '
    >>> cell += 'style="height:2.7em;"></span><span class="sizing reset-size6 size3 mtight">'
    >>> table = '<span class="vlist-r"><span class="vlist" style="height:1em;">'
    >>> html = f'<span class="msupsub"><span class="vlist-t">{table}{cell}{one}' + 6 * "</span>"
    >>> print(RAISED.sub(raised, html).replace(one, "2"))
    <span class="raised" style="vertical-align:0.5186em">2</span>
    """
    up = (-float(found["top"]) - float(found["strut"])) / SMALL
    left = float(found["left"] or 0) / SMALL
    style = f"vertical-align:{up:.4g}em" + (f";margin-left:{left:.4g}em" if left else "")
    return f'<span class="raised" style="{style}">{found["many"] or found["one"]}</span>'


def whole(formula: re.Match[str]) -> str:
    """A formula and its comma as one, which may break between the formula's parts alone.

    >>> x = '<span class="math"><span><span>x</span></span></span>'
    >>> once = brief_formulas(f"{x} ({x} and) ({x}), {x}.")
    >>> [each.count("<") for each in once.split('<span class="whole">')]
    [6, 7, 7, 7]
    >>> once == brief_formulas(once)
    True
    """
    parts = formula[0].replace('</span><span class="base">', '</span><wbr><span class="base">')
    return f'<span class="whole">{parts}</span>'
