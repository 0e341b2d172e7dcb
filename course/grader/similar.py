"""Functions that are built alike: after renaming, without comments, whatever their spacing.

A list to look at, never a verdict: short functions are alike because there is one way to write
them. Cells are read as tokens, so that none can hold up the reader.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import keyword
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Alike", "shape", "similar"]

LONGEST = 20_000  # characters of a function that anybody wrote by hand
SHORTEST = 40  # tokens; below, one way to write a function is everybody's
WINDOW, ENOUGH = 5, 0.8
KEPT = frozenset(keyword.kwlist) | frozenset(dir(builtins))
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER)


@dataclass(frozen=True)
class Alike:
    """Students whose functions for one question are alike, from 0 to 1."""

    question: str
    students: tuple[str, ...]
    share: float
    tokens: int


def shape(code: str, name: str) -> tuple[str, ...]:
    """A function's tokens, its own names numbered as they come; empty if it is not there.

    >>> shape("def f(a):\\n    return a + 1  # one", "f") == shape("def f(b): return b+1", "f")
    False
    >>> shape("def f(a):\\n  return a+1", "f") == shape("def f(b):\\n    return b + 1", "f")
    True
    """
    found = list(re.finditer(rf"^def {re.escape(name)}\b", code, re.MULTILINE))
    if not found:
        return ()
    names: dict[str, str] = {}
    tokens: list[str] = []
    depth = begun = 0
    try:
        begin = found[-1].start()
        text = io.StringIO(code[begin : begin + LONGEST])
        for token in tokenize.generate_tokens(text.readline):
            depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
            begun |= token.type == tokenize.INDENT
            if len(tokens) > LONGEST or (begun and depth == 0):
                break
            if token.type == tokenize.NAME and token.string not in KEPT:
                tokens.append(names.setdefault(token.string, f"v{len(names)}"))
            elif token.type == tokenize.STRING and tokens and tokens[-1] in (":", "in"):
                continue  # a docstring
            elif token.type not in SKIPPED:
                tokens.append(token.string.strip() or tokenize.tok_name[token.type])
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(tokens)


def similar(
    question: str, functions: Mapping[str, Sequence[str]], given: Sequence[str] = ()
) -> list[Alike]:
    """Those that are alike, most alike and longest first; the model solution's way is no news."""
    shapes: dict[tuple[str, ...], list[str]] = {}
    for student, tokens in functions.items():
        if len(tokens) >= SHORTEST and tuple(tokens) != tuple(given):
            shapes.setdefault(tuple(tokens), []).append(student)
    same = [
        Alike(question, tuple(students), 1.0, len(tokens))
        for tokens, students in shapes.items()
        if len(students) > 1
    ]
    distinct = list(shapes)[:400]
    windows = [_windows(tokens) for tokens in distinct]
    near = []
    for i, tokens in enumerate(distinct):
        for j in range(i):
            both = len(windows[i] & windows[j]) / len(windows[i] | windows[j])
            if both >= ENOUGH:
                students = (shapes[tokens][0], shapes[distinct[j]][0])
                near.append(Alike(question, students, round(both, 2), len(tokens)))
    return sorted([*same, *near], key=lambda alike: (-alike.share, -alike.tokens))


def _windows(tokens: Sequence[str]) -> set[bytes]:
    """Every few tokens in a row, as hashes."""
    return {
        hashlib.blake2b(" ".join(tokens[i : i + WINDOW]).encode(), digest_size=8).digest()
        for i in range(max(len(tokens) - WINDOW + 1, 1))
    }
