"""Formulas in few elements, looking the same.

KaTeX sets every letter as it would a fraction: ten elements for one letter, eleven more for an
index, three for a sign and the space around it. On a page of proofs that is most of what a phone
has to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TEX = re.compile(r"<semantics>(.*?)<annotation encoding=[^>]*>[^<]*</annotation></semantics>", re.S)
ROW = re.compile(r"(<math [^>]*>)<mrow>((?:(?!</math>).)*)</mrow></math>", re.S)
#: A letter or a number, perhaps primed, as KaTeX says it and as KaTeX draws it.
LETTER = re.compile(
    r'<span class="katex-mathml"><math [^>]*>'
    r"(?:<m[in][^>]*>[^<]*</m[in]>|<msup><mi[^>]*>[^<]*</mi><mo[^>]*>′</mo></msup>)"
    r'</math></span><span class="katex-html" aria-hidden="true"><span class="base">'
    r'(?:<span class="strut" style="[^"]*"></span>)?'
    r'((?:[^<]|<span class="mord[^"]*"(?: style="[^"]*")?>[^<]*</span>|<span class="raised'
    r"[^>]*>[^<]*</span>)*)</span></span>"
)
#: What is read from left to right is heard as it is seen.
FLAT = re.compile(
    r'<span class="katex-mathml"><math [^>]*>(?:<m([ion])[^>]*>[^<]*</m\1>)*</math>'
    r'</span><span class="katex-html" aria-hidden="true">(.*)</span>',
    re.S,
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
#: A root, drawn by a path that is as wide as any page, in a table of two cells.
ROOT = re.compile(
    r'<span class="mord sqrt"><span class="vlist-t vlist-t2"><span class="vlist-r">'
    r'<span class="vlist" style="height:[\d.]+em;"><span class="svg-align" style="top:[-\d.]+em;">'
    r'<span class="pstrut" style="height:(?P<strut>3|3\.2)em;"></span><span class="mord" '
    r'style="padding-left:[\d.]+em;">(?P<inner>(?:(?!<span class="mord sqrt">|"hide-tail").)*?)'
    r'</span></span><span style="top:-(?P<top>[\d.]+)em;"><span class="pstrut" '
    r'style="height:[\d.]+em;"></span><span class="hide-tail" style="[^"]*"><svg .*?</svg></span>'
    r'</span></span><span class="vlist-s">[^<]*</span></span><span class="vlist-r">'
    r'<span class="vlist" style="height:[\d.]+em;"><span></span></span></span></span></span>',
    re.S,
)
SMALL = 0.7  # KaTeX's size of what is raised: `em` are its own
#: One letter that is raised.
ALONE = re.compile(
    r'<span class="mord ?([a-z]*) ?mtight"(?: style="margin-right:([\d.]+)em;")?>([^<]*)</span>'
)
MARGIN = 0.05 / SMALL  # behind it
#: What has the size, the face and the place of all around it, which an element says to nobody.
PLAIN = re.compile(r'<span class="m(?:ord|open|close|punct)(?: mtight)?">([^<]*)</span>')
#: What holds nothing but a letter and its index.
AROUND = re.compile(
    r'<span class="m(?:ord|close)(?: mtight)?">((?:[^<]|<span class="mord[^>]*>[^<]*</span>)*'
    r'<span class="raised[^>]*>(?:[^<]|<span class="mord[^>]*>[^<]*</span>)*</span>)</span>'
)
#: A sign between two spaces of one width, of two widths.
SIGN = re.compile(
    r'<span class="mspace" style="margin-right:(0\.2222|0\.2778)em;"></span>'
    r'<span class="(mbin|mrel)">([^<]*)</span>'
    r'<span class="mspace" style="margin-right:\1em;"></span>'
)
#: What is higher or lower than a line of text, for which KaTeX sets up a strut.
TALL = re.compile(r'class="(?:vlist|delimsizing|[^"]*large-op|[^"]*rule)')
BASE, STRUT = '<span class="base">', re.compile(r'<span class="strut" style="[^"]*"></span>')
BEGIN, END = '<span class="math"><span class="katex">', "</span></span>"
INLINE, TAG = re.compile(r'<span class="math(?: katex)?">'), re.compile(r"<(/?)span\b")
#: What belongs to the formula before it: the end of an ordinal, and a comma.
AFTER = re.compile(r"(?:th\b)?[,.;:?!)”’]?")
WHOLE = ('<span class="whole">', '<span class="whole">(')


def brief_formulas(html: str) -> str:
    """No copy of the TeX, few elements for each sign, and no comma on a line of its own."""
    html = RAISED.sub(raised, ROW.sub(r"\1\2</math>", TEX.sub(r"\1", html)))
    html = ROOT.sub(root, html)
    html = SIGN.sub(
        lambda m: f'<span class="{"sum" if m[2] == "mbin" else "is"}">{m[3]}</span>', html
    )
    html = AROUND.sub(r"\1", PLAIN.sub(r"\1", html))
    parts, at = list[str](), 0
    for start, end in inline(html):
        once = html.endswith(WHOLE, 0, start)
        after = AFTER.match(html, end)
        comma = after[0] if after and not once else ""
        bracket = "(" if html[start - 1] == "(" and html[end] != "<" and not once else ""
        if bracket and len(comma) == 1 and html[end + 1] == "<":
            comma = ""
        formula = bracket + with_end(brief(html[start:end]), comma)
        parts += [html[at : start - len(bracket)], whole(formula) if bracket or comma else formula]
        at = end + len(comma)
    return "".join([*parts, html[at:]])


def inline(html: str) -> Iterator[tuple[int, int]]:
    """Where the formulas of a text begin and end."""
    for found in INLINE.finditer(html):
        depth = 0
        for tag in TAG.finditer(html, found.start()):
            depth += -1 if tag[1] else 1
            if not depth:
                yield found.start(), tag.end() + 1
                break


def brief(formula: str) -> str:
    """A formula in one element; struts only where something is higher than a line.

    >>> said = '<span class="katex-mathml"><math xmlns=""><mi>x</mi></math></span>'
    >>> drawn = '<span class="katex-html" aria-hidden="true"><span class="base">'
    >>> drawn += '<span class="strut" style="height:1em"></span>x</span></span>'
    >>> brief(f"{BEGIN}{said}{drawn}{END}")
    '<span class="math katex">x</span>'
    """
    if not formula.startswith(BEGIN):
        return formula
    inner = formula[len(BEGIN) : -len(END)]
    if letter := LETTER.fullmatch(inner):
        inner = letter[1]
    elif flat := FLAT.fullmatch(inner):
        inner = flat[2]
    first, *bases = inner.split(BASE)
    bases = [base if TALL.search(base) else STRUT.sub("", base) for base in bases]
    return f'<span class="math katex">{BASE.join([first, *bases])}</span>'


def raised(found: re.Match[str]) -> str:
    """What is raised or lowered, as one element as far above the line as KaTeX's.

    >>> one = '<span class="mord mtight">2</span>'
    >>> cell = '<span style="top:-3.063em;margin-right:0.05em;"><span class="pstrut" '
    >>> cell += 'style="height:2.7em;"></span><span class="sizing reset-size6 size3 mtight">'
    >>> table = '<span class="vlist-r"><span class="vlist" style="height:1em;">'
    >>> html = f'<span class="msupsub"><span class="vlist-t">{table}{cell}{one}' + 6 * "</span>"
    >>> print(RAISED.sub(raised, html))
    <span class="raised" style="vertical-align:0.5186em">2</span>
    """
    up = (-float(found["top"]) - float(found["strut"])) / SMALL
    left = float(found["left"] or 0) / SMALL
    style = f"vertical-align:{up:.4g}em" + (f";margin-left:{left:.4g}em" if left else "")
    name, inner = "raised", found["many"] or found["one"]
    if alone := ALONE.fullmatch(inner):
        name, inner = f"raised {alone[1]}".strip(), alone[3]
        style += f";margin-right:{MARGIN + float(alone[2]):.4g}em" if alone[2] else ""
    return f'<span class="{name}" style="{style}">{inner}</span>'


def root(found: re.Match[str]) -> str:
    """A root as one element around what it is of, which the style sheet draws; it reaches as far
    below the line as KaTeX's.

    >>> found = re.match("(?P<strut>.*) (?P<top>.*) (?P<inner>.*)", "3 2.8922 x")
    >>> root(found)
    '<span class="root" style="--below:-0.1078em">x</span>'
    """
    name = "root" if found["strut"] == "3" else "root high"
    below = float(found["top"]) - float(found["strut"])
    return f'<span class="{name}" style="--below:{below:.4g}em">{found["inner"]}</span>'


def with_end(formula: str, comma: str) -> str:
    """A formula and its comma, which stays behind the last part of one that breaks, and so is not
    at the end of the box around all its lines.

    >>> part = '<span class="base">x</span>'
    >>> with_end(f'<span class="math katex">{part}{part}</span>', ",")[-41:]
    'x</span><span class="end">,</span></span>'
    >>> with_end('<span class="math katex">x</span>', ",")
    '<span class="math katex">x</span>,'
    """
    if not comma or formula.count(BASE) < 2:
        return formula + comma
    return f'{formula.removesuffix("</span>")}<span class="end">{comma}</span></span>'


def whole(formula: str) -> str:
    """A formula and its comma as one, which may break between the formula's parts alone.

    >>> x = '<span class="math"><span class="katex">x</span></span>'
    >>> once = brief_formulas(f"{x} ({x} and) ({x}), a {x}th of {x}.")
    >>> [each.count("<") for each in once.split('<span class="whole">')]
    [2, 3, 3, 3, 3]
    >>> once == brief_formulas(once)
    True
    """
    return f'<span class="whole">{formula.replace(f"</span>{BASE}", f"</span><wbr>{BASE}")}</span>'
