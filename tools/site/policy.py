"""What a page may load and run, said in the page itself: a Content-Security-Policy.

The site is served by hosts whose headers are not ours to set. Whatever an address, a paste or a
file brings into a page, a browser runs only the scripts that were built, and asks no other host.
Strings may still be evaluated: no script here does that, and tools that drive a browser do.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape

INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
HANDLER = re.compile(r"""\son[a-z]+="([^"]*)\"""")
POLICY = re.compile(r'\s*<meta http-equiv="Content-Security-Policy"[^>]*>')
CHARSET = re.compile(r'<meta charset="?utf-8"?\s*/?>', re.IGNORECASE)


def with_policy(html: str, *more: str) -> str:
    """The page, which allows its own scripts by what is in them, and those of its own site.

    ``more`` are sources of scripts that it has besides, such as ``"data:"``.
    """
    html = POLICY.sub("", html)
    inline = [*INLINE.findall(html), *map(unescape, HANDLER.findall(html))]
    hashes = sorted({f"'sha256-{digest(text)}'" for text in inline if text.strip()})
    scripts = " ".join(["'self' 'unsafe-eval' 'unsafe-hashes'", *more, *hashes])
    rules = (
        f"default-src 'self'; script-src {scripts}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{rules}" />'
    return CHARSET.sub(lambda found: f"{found[0]}{meta}", html, count=1)


def digest(script: str) -> str:
    """By which a browser knows a script.

    >>> digest("alert('Hello, world.');")
    'qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='
    """
    return b64encode(sha256(script.encode()).digest()).decode()
