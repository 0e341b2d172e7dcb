"""The face of words in a picture that is a file of its own: it sees none of the page's files.

So the file has the letters that it needs, and no others.
"""

from __future__ import annotations

import re
import subprocess
from base64 import b64encode
from functools import cache
from html import unescape
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tools.site.page_weight import FACE, packaged_node

STATIC = Path(__file__).parents[2] / "book" / "_static"
#: The name of the face in a picture: its licence keeps the face's own for the whole of it.
NAME = "Lettering"
FAMILY = re.compile(r"font-family: (?:&quot;|[^;\"])*")
WORDS = re.compile(r"<text\b([^>]*)>([^<]*)</text>")
UNPACK = "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))"


def lettered(svg: str) -> str:
    """The same picture with the letters of its words.

    >>> svg = '<title>A</title><text style="font-family: &quot;Arial&quot;; fill: red">AB</text>'
    >>> lettered(svg).partition("</style>")[2]
    '<text style="font-family: Lettering, sans-serif; fill: red">AB</text>'
    """
    found: dict[int, set[str]] = {}
    for style, words in WORDS.findall(svg):
        weight = 700 if "font-weight: 700" in style else 400
        found.setdefault(weight, set()).update(unescape(words))
    rules = "".join(face(weight, "".join(sorted(letters))) for weight, letters in found.items())
    svg = FAMILY.sub(f"font-family: {NAME}, sans-serif", svg)
    return svg.replace("</title>", f"</title><style>{rules}</style>", 1)


def face(weight: int, letters: str) -> str:
    """A rule of style with these letters of the book's face."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(BytesIO(_whole(weight)), recalcTimestamp=False)
    cut = Subsetter(Options(layout_features=["kern"], name_IDs=[], hinting=False))
    cut.populate(text=letters)
    cut.subset(font)
    font.flavor, file = "woff", BytesIO()
    font.save(file, reorderTables=None)
    data = f"data:font/woff;base64,{b64encode(file.getvalue()).decode()}"
    return f"@font-face{{font-family:{NAME};font-weight:{weight};src:url({data})}}"


@cache
def _whole(weight: int) -> bytes:
    """The face in one weight, unpacked: Python cannot do that by itself, and node can."""
    from fontTools.ttLib import TTFont, woff2
    from fontTools.varLib.instancer import instantiateVariableFont

    def unpacked(packed: bytes) -> bytes:
        command = [str(packaged_node()), "-e", UNPACK]
        return subprocess.run(command, input=packed, stdout=subprocess.PIPE, check=True).stdout

    woff2_module: Any = woff2
    woff2_module.brotli, woff2_module.haveBrotli = SimpleNamespace(decompress=unpacked), True
    font = TTFont(STATIC / FACE, recalcTimestamp=False)
    instantiateVariableFont(font, {"wght": weight}, inplace=True)
    font.flavor, file = None, BytesIO()
    font.save(file)
    return file.getvalue()
