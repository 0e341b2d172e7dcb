"""Tables as people set them: words left and numbers right, a minus and not a hyphen, no number
apart from its unit; wide ones know the names of their columns, which a phone writes beside each
value, row below row.
"""

from __future__ import annotations

import re

TABLE = re.compile(r'<table (?:border="1" )?class="dataframe">.*?</table>', re.DOTALL)
ROW = re.compile(r"(<tr[^>]*>)(.*?)(</tr>)", re.DOTALL)
CELL = re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.DOTALL)
#: How a cell begins that holds a number, or nothing.
NUMBER = re.compile(r"[+\-−–~≈<>≤≥$€(]*\s*[\d.]|(?:[–—]|nan|NaN)?$")
MINUS = re.compile(r"(?<![\w.])-(?=\.?\d)")
DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
LETTER = re.compile(r"(\w)_(\w{1,3})")
WITH_UNIT = re.compile(r"(\S*\d\S*) ([^\W\d]\S{0,8})")
#: So many columns do not stand beside one another on a phone: of words, and of numbers.
COLUMNS = {"table": 6, "dataframe": 9}
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
    return WIDE.sub(with_names, TABLE.sub(set_for_a_reader, html))


def set_for_a_reader(table: re.Match[str]) -> str:
    """A DataFrame whose columns of words begin at the left.

    >>> head = "<thead><tr><th></th><th>title</th><th>rows</th></tr></thead>"
    >>> body = "<tbody><tr><th>a</th><td>A long title</td><td>3</td></tr></tbody>"
    >>> page = f'<table border="1" class="dataframe">{head}{body}</table>'
    >>> re.findall(r'<t[hd] class="words">(.*?)<', set_for_a_reader(TABLE.match(page)))
    ['title', 'a', 'A long title']
    """
    head, begin, body = table[0].partition("<tbody>")
    rows = [[cell[2] for cell in CELL.findall(row[1])] for row in ROW.findall(body)]
    # Counted from the right, since the first row of a group has a name more than the others.
    width = max(map(len, rows), default=0)
    columns = [[row[-n] for row in rows if len(row) >= n] for n in range(1, width + 1)]
    words = {n for n, column in enumerate(columns, 1) if is_of_words(column)}

    def aligned(row: re.Match[str]) -> str:
        cells = list(CELL.finditer(row[2]))
        if "colspan" in row[2]:
            return row[0]
        place = {cell.start(): len(cells) - n for n, cell in enumerate(cells)}
        return row[1] + CELL.sub(lambda m: cell(m, place[m.start()] in words), row[2]) + row[3]

    return ROW.sub(aligned, head + begin + body)


def is_of_words(column: list[str]) -> bool:
    """Whether no cell begins as a number does, and one has a word.

    >>> [is_of_words(column) for column in (["H100", "A100"], ["3 of 4", "none"], ["", ""])]
    [True, False, False]
    """
    texts = [re.sub(r"<[^>]+>", "", cell).strip() for cell in column]
    dated = [text for text in texts if not DATE.fullmatch(text)]
    return any(texts) and not any(NUMBER.match(text) for text in dated if text)


def cell(found: re.Match[str], words: bool) -> str:
    """A cell, of a column of words or of numbers."""
    kind, attributes, text = found.groups()
    if words and "class=" not in attributes and text.strip():
        attributes += ' class="words"'
    text = MINUS.sub("−", text)
    if letter := LETTER.fullmatch(text):
        text = f"{letter[1]}<sub>{letter[2]}</sub>"
    if kind == "td":
        text = WITH_UNIT.sub(r"\1&nbsp;\2", text) if WITH_UNIT.fullmatch(text) else text
        text = f'<span class="whole">{text}</span>' if DATE.fullmatch(text) else text
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
