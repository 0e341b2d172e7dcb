"""Pages with fewer parts: what a browser lays out and nobody sees is left out of the HTML.

- code: no element for a name, a bracket or a space, which have the colour of the text anyway; a
  long line is an element of its own, so that on a phone it goes on below, indented, and so is deep
  indentation, which would leave no room there;
- numbers that keep their units where a line ends;
- formulas in few elements (see formulas);
- figures in few bytes (see drawings);
- tables: no style sheet in each, no header row without a word, no paragraph in a cell of one; the
  rest of it in tables;
- what folds says briefly what it holds: code, a solution;
- sections are laid out when they come near the screen, and until then have about their height.
"""

from __future__ import annotations

import re

from tools.site.drawings import FIGURE, brief
from tools.site.formulas import brief_formulas
from tools.site.tables import legible

#: Token classes that both colour schemes of the site show in the colour of all code, and operators.
UNCOLOURED = "n|o|p|w|nn|nf|pre|x"
PLAIN_SPAN = re.compile(rf'<span class="(?:{UNCOLOURED})">([^<]*)</span>')
CODE = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL)
PHONE = 46  # characters of code that fit the width of a phone
SHALLOW, DEEP = 8, 0.25  # there, a space beyond so many is so wide
#: Code in a text: words that a browser would break after a hyphen, and those too long for a line.
INLINE = re.compile(r"(<code [^>]*>)([^<]+)(</code>)")
WORD = re.compile(r"[^ \n]+")
SHORT = 20  # letters of a word that are never parted
TABLE_STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)
EMPTY_HEAD = re.compile(
    r"<thead>\s*<tr[^>]*>(?:\s*<t[hd][^>]*>\s*(?:<p>\s*</p>)?\s*</t[hd]>)*\s*</tr>\s*</thead>\s*"
)
CELL = re.compile(r"(<t[dh][^>]*>)<p>((?:(?!</?p\b).)*)</p>(?=\s*</t[dh]>)", re.DOTALL)
FOLD = re.compile(
    r'(<div class="cell([^"]*)">\s*)<details class="admonition hide above-input">'
    r"\s*<summary[^>]*>.*?</summary>",
    re.DOTALL,
)
#: The folded solutions of one exercise: between them neither another exercise nor a heading.
SOLUTION = "<summary>solution</summary>"
SOLUTIONS = re.compile(
    rf"{SOLUTION}(?:(?:(?!<h[23]\b|<p[^>]*><strong>\d+\.|{SOLUTION}).)*{SOLUTION})+", re.DOTALL
)
#: To be scrolled by keyboard; page.js takes it back from what fits.
MAY_SCROLL = re.compile(
    r'(<div class="(?:pst-scrollable-table-container|(?:output text_latex )?math'
    r'|output text_html(?! tab))")>'
    r"(?!\s*<div data-explorer)"
)
#: What is no running text: other languages, and what a script reads.
NO_TEXT = re.compile(
    r"(<(pre|code|svg|script|style|math|title|select|button)\b.*?</\2>"
    r'|<blockquote class="predict.*?</blockquote>|<span data-live=.*?</span>|<[^>]*>)',
    re.DOTALL,
)
UNIT = re.compile(
    r"(?<=\d) (?=(?:[nµmk]?s|[kMGTPE]?i?B(?:/s)?|[kMGTPEZY]?FLOPs?(?:/s)?|[kM]?Wh?|[pnmk]?J"
    r"|[kMG]?Hz|Gbit/s|per cent)(?![\w]))"
)
#: A day that is not alone in its element.
DATE = re.compile(r"(?<=[ (])\d{4}-\d\d-\d\d(?![\w-])")
#: A part of the side bar: its caption, and its pages, with those of the reference below one.
PART = re.compile(
    r'(<p aria-level="2" class="caption"[^>]*><span class="caption-text">([^<]*)</span></p>)\s*'
    r'(<ul class="[^"]*bd-sidenav">)(.*?)(</ul>)'
    r'(?=\s*(?:<p aria-level|</div>|<details class="nav-part"))',
    re.DOTALL,
)
#: The part that stands above all others, whatever its place in the book; one that is folded.
ABOVE, FOLDED = "Tools", "Look it up"
#: What all pages below the gallery begin with, which its entry says once.
KIND = re.compile(r'(<li class="toctree-l2[^>]*><a class="[^"]*" href="[^"]*">)Explorer: (\w)')
LAUNCH = re.compile(r'aria-label="Launch interactive content">\s*<i class="fas fa-rocket"></i>')
#: A cell, up to the next one or the next heading.
CODE_CELL = re.compile(
    r'<div class="cell((?: [^"]*)?">(?:(?!<div class="cell[ "]|<section|<h[23]).)*)', re.DOTALL
)
SECTION = re.compile(r'<section id="([^"]+)">(?=\s*<h2>)')


def lean(html: str) -> str:
    """The page with fewer elements, looking the same. Done twice it is done once.

    >>> lean("<td><p>one</p></td><td><p>two</p><p>parts</p></td>")
    '<td>one</td><td><p>two</p><p>parts</p></td>'
    """
    html = CODE.sub(lambda m: m[1] + lines(PLAIN_SPAN.sub(r"\1", m[2])) + m[3], html)
    html = re.sub(
        r"<code [^>]*>(?:(?!</code>).)*</code>", lambda m: PLAIN_SPAN.sub(r"\1", m[0]), html
    )
    html = INLINE.sub(lambda m: m[1] + WORD.sub(parted, m[2]) + m[3], html)
    html = brief_formulas(FIGURE.sub(lambda m: brief(m[0]), html))
    html = CELL.sub(r"\1\2", EMPTY_HEAD.sub("", TABLE_STYLE.sub("", html)))
    html = legible(html)
    html = with_units(html)
    html = SOLUTIONS.sub(in_parts, FOLD.sub(labelled, html))
    html = LAUNCH.sub('title="Open in Colab or Binder">Colab', html)
    html = KIND.sub(lambda m: m[1] + m[2].upper(), with_tools_above(PART.sub(folded, html)))
    html = MAY_SCROLL.sub(r'\1 tabindex="0">', html)
    return with_heights(html)


def folded(part: re.Match[str]) -> str:
    """A long part of the side bar as a fold, open where one is on a page of it.

    >>> caption = '<p aria-level="2" class="caption"><span class="caption-text">{}</span></p>'
    >>> caption = caption.format("Look it up")
    >>> once = lean(f'{caption}<ul class="nav bd-sidenav"><li>Glossary</li></ul></div>')
    >>> once.partition("<ul")[0], once == lean(once)
    ('<details class="nav-part"><summary>Look it up</summary>', True)
    """
    _, name, begin, pages, end = part.groups()
    if name != FOLDED or "nav-part" in pages:  # which it is already
        return part[0]
    fold = '<details class="nav-part"' + (" open" if "current" in pages else "") + "><summary>"
    return f"{fold}{name}</summary>{begin}{pages}{end}</details>"


def with_tools_above(html: str) -> str:
    """The side bar with the calculator and the gallery first, which stand after the chapters in the
    book.

    >>> caption = '<p aria-level="2" class="caption"><span class="caption-text">{}</span></p>'
    >>> pages = '<ul class="nav bd-sidenav"><li>{}</li></ul>'
    >>> parts = (("One device", "Matmul"), ("Tools", "Calculator"), ("Trust", "Sources"))
    >>> bar = "".join(caption.format(name) + pages.format(page) for name, page in parts) + "</div>"
    >>> once = with_tools_above(bar)
    >>> re.findall("<li>(.*?)</li>", once), once == with_tools_above(once)
    (['Calculator', 'Matmul', 'Sources'], True)
    """
    parts = list(PART.finditer(html))
    tools = next((part for part in parts if part[2] == ABOVE), None)
    if tools is None or tools is parts[0]:
        return html
    first = parts[0].start()
    rest = html[first : tools.start()] + html[tools.end() :]
    return html[:first] + tools[0] + "\n" + rest


def parted(word: re.Match[str]) -> str:
    """A word of code as one, or, if it is long, with places where it may go on below.

    >>> WORD.sub(parted, "--on costlib.iomodel.counting.bounds_backward")
    '<span class="whole">--on</span> costlib.<wbr>iomodel.<wbr>counting.<wbr>bounds_<wbr>backward'
    """
    if len(word[0]) > SHORT:
        return re.sub(r"([._/])(?=\w)", r"\1<wbr>", word[0])
    return f'<span class="whole">{word[0]}</span>' if "-" in word[0] else word[0]


def lines(code: str) -> str:
    """Code whose lines are elements where a phone has to break them, and deep indentation is."""
    if 'class="long"' in code or 'class="deep"' in code:
        return code
    made = []
    for line in code.splitlines(keepends=True):
        text = re.sub(r"<[^>]+>", "", line).replace("&quot;", '"').rstrip("\n")
        indent = len(text) - len(text.lstrip(" "))
        deep = max(0, indent - SHALLOW)
        shown = indent - deep + DEEP * deep
        line = re.sub(rf"^( {{{SHALLOW}}})( +)", r'\1<span class="deep">\2</span>', line)
        if shown + len(re.sub(r"&\w+;", "&", text.lstrip(" "))) > PHONE:
            bare = line.rstrip("\n")
            end = line[len(bare) :]
            line = f'<span class="long" style="--in:{shown + 4:g}ch">{bare}</span>{end}'
        made.append(line)
    return "".join(made)


def labelled(fold: re.Match[str]) -> str:
    """A folded cell with a quiet label."""
    what = "code" if "tag_hide-input" in fold[2] else "solution"
    return f'{fold[1]}<details class="quiet">\n<summary>{what}</summary>'


def with_units(html: str) -> str:
    """A page whose numbers are not parted from their units at the end of a line.

    >>> with_units('<p title="7 W">It takes 23 ms and 700 W, <code>2 GB</code> in 5 waves.</p>')
    '<p title="7 W">It takes 23&nbsp;ms and 700&nbsp;W, <code>2 GB</code> in 5 waves.</p>'
    >>> (once := with_units("Read 2026-11-21.")), with_units(once) == once
    ('Read <span class="whole">2026-11-21</span>.', True)
    """
    at = max(0, html.find("<article"))
    parts = [html[:at]]
    for found in NO_TEXT.finditer(html, at):
        parts += [joined(html[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*parts, joined(html[at:])])


def joined(text: str) -> str:
    """Running text whose numbers and dates stay on one line."""
    text = UNIT.sub("&nbsp;", text)
    return DATE.sub(r'<span class="whole">\g<0></span>', text)


def in_parts(solutions: re.Match[str]) -> str:
    """Several folds with the solution of one exercise, which say which part of it they are.

    >>> two = "<summary>solution</summary>a<summary>solution</summary>b"
    >>> once = SOLUTIONS.sub(in_parts, two + "<p><strong>2. Next.</strong></p>" + SOLUTION)
    >>> re.findall("<summary>(.*?)</summary>", once)
    ['solution, part 1', 'solution, part 2', 'solution']
    """
    first, *others = solutions[0].split(SOLUTION)
    parts = (f"<summary>solution, part {n}</summary>{rest}" for n, rest in enumerate(others, 1))
    return first + "".join(parts)


def with_heights(html: str) -> str:
    """Each section of a long page with about the height that it will have, for a wide screen."""
    starts = [m.start() for m in SECTION.finditer(html)]
    if len(starts) < 4:
        return html
    ends = [*starts[1:], html.find("</article>")]
    parts = [html[: starts[0]]]
    for start, end in zip(starts, ends, strict=True):
        part = CODE_CELL.sub(with_height, html[start:end])
        style = f'<section class="later" style="--tall:{height(part)}px" id='
        parts.append(part.replace("<section id=", style, 1))
    return "".join([*parts, html[ends[-1] :]])


def with_height(cell: re.Match[str]) -> str:
    """A cell with its own height, as a phone waits to lay it out too.

    >>> with_height(CODE_CELL.match('<div class="cell docutils"><pre>a\\nb</pre>'))
    '<div style="--tall:128px" class="cell docutils"><pre>a\\nb</pre>'
    """
    return f'<div style="--tall:{height(cell[0])}px" class="cell{cell[1]}'


def height(part: str) -> int:
    """Roughly how high a section will be where a line holds ninety letters.

    >>> height("<h2>Title</h2><p>" + 90 * "word " + "</p>")
    265
    """
    figures = re.findall(
        r'<svg class="costlib-figure"[^>]* width="([\d.]+)" height="([\d.]+)"', part
    )
    high = sum(float(h) * min(528 / float(w), 1.5) + 60 for w, h in figures)
    high += 500 * part.count("data-explorer=")
    bare = re.sub(r"<(svg|math|details|table)\b.*?</\1>", "", part, flags=re.DOTALL)
    code = re.findall(r"<pre>(.*?)</pre>", bare, re.DOTALL)
    high += sum(18 * each.count("\n") + 50 for each in code)
    high += (
        35 * part.count("<tr") + 50 * part.count("<details") + 70 * part.count('<div class="math')
    )
    text = re.sub(r"<[^>]+>", "", re.sub(r"<pre>.*?</pre>", "", bare, flags=re.DOTALL))
    letters = len(text) / 90
    return int(high + 30 * letters + 18 * bare.count("<p>") + 60 + 36 * bare.count("<h2>"))
