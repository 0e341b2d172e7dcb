"""How long a module is, as a reader counts."""

import ast
import io
import tokenize


def code_lines(source: str) -> int:
    """How many lines hold code."""
    held: set[int] = set()
    skipped = {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
        *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            held |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            held -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(held)
