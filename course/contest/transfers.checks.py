"""How the fewest transfers are counted: whoever wrote the moves, they are made again here.

The data are drawn anew for each grading, after the moves are there, and stay with the grader. The
tolerance leaves no room to keep two entries in one: 36 bits of each must be right, of 64.
"""

import numpy as np

from costlib import iomodel
from course import Question


def right_moves(moves, M, name, expected, bound, inputs):
    """True, or why moves do not count; students get this function as their check."""
    try:
        played = iomodel.play(moves, M, **inputs)
    except ValueError as error:
        return f"{error}."
    found = played.arrays.get(name)
    if found is None or found.shape != expected.shape:
        return f"At the end there must be an array {name} of {expected.shape} in slow memory."
    if not np.allclose(found, expected, rtol=1e-11, atol=1e-11):
        return f"What lies in {name} at the end is not right."
    if played.total < bound:
        return f"{played.total} entries are fewer than the bound of {bound:.1f}: show it to us."
    return True


def product_is_right(moves, m, k, n, M):
    """A random product."""
    draw = np.random.default_rng().standard_normal
    A, B = draw((m, k)), draw((k, n))
    bound = iomodel.bounds.matmul_total(m, k, n, M)
    return right_moves(moves, M, "C", A @ B, bound, {"A": A, "B": B})


def attention_is_right(moves, n, d, M):
    """Random scores around 900 in some rows and around -900 in the others."""
    draw = np.random.default_rng().standard_normal
    Q, K, V = draw((3, n, d))
    axis = draw(d)
    axis /= np.linalg.norm(axis)
    for matrix, along in ((Q, np.where(draw(n) > 0, 30, -30)), (K, 30 + 0.05 * draw(n))):
        matrix += np.outer(along - matrix @ axis, axis)
    expected = iomodel.reference_attention(Q, K, V)
    bound = iomodel.bounds.attention(n, d, M)
    return right_moves(moves, M, "O", expected, bound, {"Q": Q, "K": K, "V": V})


def product_count(moves, m, k, n, M):
    """Entries read and written; they do not depend on the data."""
    return iomodel.play(moves, M, A=np.ones((m, k)), B=np.ones((k, n))).total


def attention_count(moves, n, d, M):
    """The same for attention."""
    return iomodel.play(moves, M, **dict.fromkeys("QKV", np.ones((n, d)))).total


QUESTIONS = [
    Question(
        "product_moves",
        points=2,
        cases=[
            {"m": 17, "k": 9, "n": 13, "M": 25},
            {"m": 6, "k": 20, "n": 25, "M": 160},
            {"m": 14, "k": 14, "n": 14, "M": 80},
        ],
        public=product_is_right,
        count=product_count,
        least=lambda m, k, n, M: iomodel.bounds.matmul_total(m, k, n, M),
    ),
    Question(
        "attention_moves",
        points=4,
        cases=[
            {"n": 21, "d": 5, "M": 29},
            {"n": 24, "d": 4, "M": 150},
            {"n": 20, "d": 6, "M": 400},
        ],
        public=attention_is_right,
        count=attention_count,
        least=lambda n, d, M: iomodel.bounds.attention(n, d, M),
    ),
]
