"""Tables as people set them: words left and numbers right, a minus and not a hyphen, no number
apart from its unit, thousands with a comma, no code and no decimals that say nothing; the name of
the rows stands in the corner; wide ones know the names of their columns, which a phone writes
beside each value, row below row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

TABLE = re.compile(r'<table (?:border="1" )?class="dataframe">.*?</table>', re.DOTALL)
ROW = re.compile(r"(<tr[^>]*>)(.*?)(</tr>)", re.DOTALL)
CELL = re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.DOTALL)
#: How a cell begins that holds a number, or nothing.
NUMBER = re.compile(r"[+\-−–~≈<>≤≥$€(]*\s*[\d.]|(?:[–—]|nan|NaN)?$")
MINUS = re.compile(r"(?<![\w.])-(?=\.?\d)")
DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
LETTER = re.compile(r"(?<!\w)([^\W\d_])_(\w{1,3})(?!\w)")
#: Four digits or more that are no part of a name, a date or a decimal, and their decimals.
LONG = re.compile(r"(?<![\w.,/#-])(?<!\d, )(\d{4,})(\.\d+)?(?![\w.]|-\d|, \d)")
YEAR = re.compile(r"19[5-9]\d|20[0-3]\d")
#: A number and nothing else: its sign, its digits, its decimals, and whether it is a share.
PURE = re.compile(r"([+\-−]?)(\d[\d,]*)(\.\d+)?(%?)")
POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?)0*(\d+)(?!\w)")
APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?= )")
TIMES = re.compile(r"(?<=[\w)])\*(?=[\w(])")
#: What stands between tags.
OUTSIDE = re.compile(r"[^<>]+(?![^<>]*>)")
SAID = {"True": "yes", "False": "no", "inf": "∞", "nan": "", "NaN": ""}
#: The names of a table's columns and, in a row of their own below them, those of its rows.
TWO_ROWS = re.compile(
    r"(<tr[^>]*>)((?:(?!</tr>).)*)</tr>\s*<tr[^>]*>((?:(?!</tr>).)*)(</tr>\s*</thead>)", re.DOTALL
)
WITH_UNIT = re.compile(r"(\S*\d\S*) ([^\W\d]\S{0,8})")
#: A number and what is counted, in a name.
OF = re.compile(r"(?<![\w.,])\d[\d,.]* [a-z]{1,8}(?![\w-])(?![^<>]*>)")
Change = Callable[[re.Match[str], Any], str]
#: So many columns do not stand beside one another on a phone: of words, and of numbers.
COLUMNS = {"table": 6, "dataframe": 9}
#: Letters of a row's name that stay on one line.
LONGEST = 12
#: Letters of a cell that stay on one line where there is room, and where such a cell may break.
SENTENCE = 60  # letters that no value has
SHORT, BREAK = 14, re.compile(r"[ /–-]")
#: What a screen reader hears of a formula, and tags.
UNSEEN = re.compile(r'<span class="katex-mathml">.*?</math></span>|<[^>]+>', re.DOTALL)
#: The first cell of a row that was written in Markdown.
FIRST = re.compile(r'(<tr class="row-(?:odd|even)">)<td>((?:(?!</?td\b).)*)</td>', re.DOTALL)
WIDE = re.compile(
    r'<table (?:border="1" )?class="(table|dataframe)">(\s*<thead>.*?</thead>)', re.DOTALL
)


def legible(html: str) -> str:
    """The page with its tables set for a reader. Done twice it is done once.

    >>> row = "<tr><th>{}</th><td>{}</td><td>{}</td></tr>"
    >>> rows = row.format(0, "on a GPU", "-3.5") + row.format(1, "2026-11-27", "16 GB")
    >>> page = f'<table class="dataframe"><tbody>{rows}</tbody></table>'
    >>> once = legible(page)
    >>> [cell[2] for cell in CELL.findall(once)][:3], once == legible(once)
    (['0', 'on a GPU', '−3.5'], True)
    >>> "16&nbsp;GB" in once, '<span class="whole">2026-11-27</span>' in once
    (True, True)
    """
    html = FIRST.sub(lambda m: f"{m[1]}<td{kept(m[2], '')}>{m[2]}</td>", html)
    return WIDE.sub(with_names, TABLE.sub(set_for_a_reader, html))


def kept(text: str, classes: str) -> str:
    """The classes of a cell, and of a short one that it stays on one line where there is room.

    >>> kept("4.7% (19%)", ""), kept("<strong>ZeRO-1</strong>", "words"), kept("2026", "")
    (' class="short"', ' class="words short"', '')
    """
    seen = unescape(UNSEEN.sub("", text)).strip()
    if len(seen) <= SHORT and BREAK.search(seen):
        classes = f"{classes} short".strip()
    return f' class="{classes}"' if classes else ""


def set_for_a_reader(table: re.Match[str]) -> str:
    """A DataFrame whose columns of words begin at the left.

    >>> head = "<thead><tr><th></th><th>what</th><th>rows</th></tr></thead>"
    >>> body = "<tbody><tr><th>a</th><td>A title of many words</td><td>3.0</td></tr></tbody>"
    >>> page = f'<table border="1" class="dataframe">{head}{body}</table>'
    >>> re.findall(r'<t[hd] class="words">(.*?)<', set_for_a_reader(TABLE.match(page)))
    ['what', 'a', 'A title of many words']
    """
    head, begin, body = table[0].partition("<tbody>")
    head = TWO_ROWS.sub(in_one_row, head)
    kinds = [kind(column) for column in columns(body)]
    body = ROW.sub(lambda row: each_cell(row, kinds, said), body)
    words = [is_of_words(column) for column in columns(body)]
    names = body.partition("</tr>")[0].count("<th")
    if names > 1:  # of groups, then of rows
        words[-names:] = names * [True]
    head = ROW.sub(lambda row: each_cell(row, kinds, heading), head)
    return ROW.sub(lambda row: each_cell(row, words, cell), head + begin + body)


def columns(body: str) -> list[list[str]]:
    """What is in each column, from the last to the first: the first row of a group has a name more
    than the others.

    >>> columns("<tr><th>a</th><td>1</td></tr><tr><td>2</td></tr>")
    [['1', '2'], ['a']]
    """
    rows = [[cell[2] for cell in CELL.findall(row[1])] for row in ROW.findall(body)]
    width = max(map(len, rows), default=0)
    return [[row[-n] for row in rows if len(row) >= n] for n in range(1, width + 1)]


def each_cell(row: re.Match[str], of: list[Any], change: Change) -> str:
    """A row whose cells are changed, each by what is known of its column."""
    cells = list(CELL.finditer(row[2]))
    if "colspan" in row[2]:
        return row[0]
    place = {cell.start(): len(cells) - 1 - n for n, cell in enumerate(cells)}
    known = [*of, *(len(cells) - len(of)) * [False]]
    return row[1] + CELL.sub(lambda m: change(m, known[place[m.start()]]), row[2]) + row[3]


def in_one_row(head: re.Match[str]) -> str:
    """The names of columns, and in the corner that of the rows, which pandas writes below them.

    >>> two = "<tr><th></th><th>ms</th></tr><tr><th>batch</th><th></th></tr></thead>"
    >>> TWO_ROWS.sub(in_one_row, two)
    '<tr><th>batch</th><th>ms</th></tr></thead>'
    """
    above, below = (CELL.findall(row) for row in (head[2], head[3]))
    pairs = list(zip(above, below, strict=False))
    if len(above) != len(below) or any(a[2].strip() and b[2].strip() for a, b in pairs):
        return head[0]
    names = (f"<th{a[1]}>{a[2].strip() or b[2]}</th>" for a, b in pairs)
    return head[1] + "".join(names) + head[4]


def kind(column: list[str]) -> str:
    """What the numbers of a column are: years, whole (where two decimals were not meant), anything.

    >>> kind(["2017", "2024"]), kind(["7.0", "−15.0", ""]), kind(["7.0", "1.5"]), kind(["2.00"])
    ('years', 'whole', '', '')
    """
    texts = [text for cell in column if (text := cell.strip())]
    if texts and all(YEAR.fullmatch(text) for text in texts):
        return "years"
    numbers = [PURE.fullmatch(text) for text in texts]
    whole = all(found and found[3] in (None, ".0") for found in numbers)
    return "whole" if texts and whole else ""


def said(found: re.Match[str], kind: str) -> str:
    """A cell that says what it says in the book's signs, whatever Python writes.

    >>> told = lambda text, kind="": said(CELL.match(f"<td>{text}</td>"), kind)[4:-5]
    >>> [told(text) for text in ("-0.0%", "53247", "1024 tokens", "2026-11-27", "True")]
    ['0.0%', '53,247', '1,024 tokens', '2026-11-27', 'yes']
    >>> told("7.0", "whole"), told("127997.0"), told("2024", "years"), told("in 2024")
    ('7', '127,997', '2024', 'in 2024')
    >>> told("3.14e+23"), told("1e-05"), told("5*H*S/(D*G)")
    ('3.14&nbsp;×&nbsp;10<sup>23</sup>', '10<sup>−5</sup>', '5·H·S/(D·G)')
    """
    tag, attributes, text = found.groups()
    text = SAID.get(text.strip(), text)
    if number := PURE.fullmatch(text.strip()):
        sign, digits, decimals, share = (part or "" for part in number.groups())
        if not (digits + decimals).strip("0,."):
            sign = ""
        if not decimals.strip(".0") and (kind == "whole" or len(digits) > 3):
            decimals = ""
        digits = digits if kind == "years" else LONG.sub(with_commas, digits)
        text = sign + digits + decimals + share
    else:
        text = OUTSIDE.sub(lambda m: LONG.sub(with_commas, POWER.sub(power, m[0])), text)
        text = TIMES.sub("·", text)
    return f"<{tag}{attributes}>{text}</{tag}>"


def heading(found: re.Match[str], _: str) -> str:
    """The name of a column, as a cell of words says it."""
    return said(found, "")


def with_commas(number: re.Match[str]) -> str:
    """A number with its thousands apart, where it may not be a year.

    >>> [LONG.sub(with_commas, text) for text in ("1843.3", "SC 2021", "llama-4096", "4096×16384")]
    ['1,843.3', 'SC 2021', 'llama-4096', '4,096×16,384']
    """
    if YEAR.fullmatch(number[0]) and number.string != number[0]:
        return number[0]
    return f"{int(number[1]):,}{number[2] or ''}"


def power(number: re.Match[str]) -> str:
    """A number with a power of ten."""
    times = "" if number[1] == "1" else f"{number[1]}&nbsp;×&nbsp;"
    return f"{times}10<sup>{number[2].replace('-', '−').strip('+')}{number[3]}</sup>"


def is_of_words(column: list[str]) -> bool:
    """Whether no cell begins as a number does, and one has a word; or one is a long sentence.

    >>> [is_of_words(column) for column in (["H100", "A100"], ["3 of 4", "none"], ["", ""])]
    [True, False, False]
    >>> is_of_words(["3 of 4", 8 * "sentence"])
    True
    """
    texts = [re.sub(r"<[^>]+>", "", cell).strip() for cell in column]
    if any(len(text) > SENTENCE for text in texts):
        return True
    dated = [text for text in texts if not DATE.fullmatch(text)]
    return any(texts) and not any(NUMBER.match(text) for text in dated if text)


def cell(found: re.Match[str], words: bool) -> str:
    """A cell, of a column of words or of numbers."""
    kind, attributes, text = found.groups()
    text = LETTER.sub(r"\1<sub>\2</sub>", MINUS.sub("−", text))
    text = OUTSIDE.sub(lambda m: APOSTROPHE.sub("’", m[0]), text)
    if kind == "td":
        text = WITH_UNIT.sub(r"\1&nbsp;\2", text) if WITH_UNIT.fullmatch(text) else text
        text = f'<span class="whole">{text}</span>' if DATE.fullmatch(text) else text
    elif len(text) > LONGEST:  # a phone may part a product where it multiplies
        text = OUTSIDE.sub(lambda m: m[0].replace("×", "×<wbr>"), text)
        text = text if "short" in text else OF.sub(r'<span class="short">\g<0></span>', text)
    if "class=" not in attributes:
        attributes += kept(text, "words" if words and text.strip() else "")
    return f"<{kind}{attributes}>{text}</{kind}>"


def with_names(table: re.Match[str]) -> str:
    """A table that is too wide for a phone, with the names of its columns for a style sheet; not
    one whose rows are in groups, as its cells do not count from the first column.

    >>> cells = 9 * "<th>a</th>"
    >>> head = '<table border="1" class="dataframe"><thead><tr>{}</tr>{}</thead>'
    >>> [with_names(WIDE.match(head.format(cells, more)))[:22] for more in ("", "<tr></tr>")]
    ['<table class="datafram', '<table border="1" clas']
    """
    names = re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", table[2], re.DOTALL)
    if len(names) < COLUMNS[table[1]] or table[2].count("<tr") > 1:  # or of rows in groups
        return table[0]
    words = (" ".join(re.sub(r"<[^>]+>", "", name).replace("'", "’").split()) for name in names)
    style = ";".join(f"--c{n}:'{name}'" for n, name in enumerate(words, 1) if n > 1)
    return f'<table class="{table[1]} rows" style="{style}">{table[2]}'
