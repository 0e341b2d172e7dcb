"""How an exercise is graded, as an instructor writes it in a file beside the notebook.

    from course import Mistake, Question

    QUESTIONS = [
        Question(
            "product_flops",                      # the function in the solution cell
            points=2,
            kind="number",                        # each student answers for their own numbers
            numbers={"m": range(200, 900), "k": range(200, 900), "n": range(200, 900)},
            mistakes=[Mistake("forgot the 2", lambda m, k, n: m * k * n, "An FMA is 2 FLOPs.")],
        ),
    ]

Everything in such a file is secret and runs in the grader alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Criterion", "Mistake", "Question", "agree", "as_plain", "committed", "form_of"]

Plain = Any  # int, float, str, bool, or a list or dict of these
Compare = Callable[[dict[str, Plain], Plain, Plain], "bool | str"]

KINDS = ("number", "function", "text", "figure")


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that many give: what it is called, what computes it, what to tell them."""

    name: str
    answer: Callable[..., Plain]
    feedback: str


@dataclass(frozen=True)
class Criterion:
    """A line of a rubric: how many points what earns."""

    points: float
    words: str

    def __post_init__(self) -> None:
        if not (isinstance(self.points, (int, float)) and self.points > 0):
            raise ValueError(f"{self.words!r}: points must be positive, got {self.points!r}")


@dataclass(frozen=True)
class Question:
    """One graded exercise.

    ``kind`` is "number" (the stub takes no argument and returns the answer for the student's own
    numbers), "function" (the stub is the function itself, called with hidden cases), or "text" or
    "figure", which a person marks by the ``rubric``; its points add up to the question's.
    ``numbers`` says what each argument may be: a sequence to draw from, or one fixed value. An
    argument that is not named keeps the value of the notebook's own call. ``cases`` are hidden
    arguments, ``hidden`` says how many more to draw. ``compare(case, expected, answer)`` returns
    True, False, or a sentence that says what is wrong; left out, integers are compared exactly
    and floats to ``tolerance``. ``public(answer, **case)`` is for answers of which many are right:
    it returns True or says what does not hold, and students get it too, to check at once.
    ``unique`` asks that no two students of a roster share an answer. ``partial`` gives a share of
    the points for a share of the cases. ``show`` puts a fingerprint of the answer into the
    notebook, to check at once; left out, a function has one and a number has none, since whoever
    has a notebook can try answers until one fits. ``pool`` names a pool, of which each student
    gets as many questions as POOLS says. ``count(answer, **case)`` says how much a right answer
    takes, and ``least(**case)`` below what none can go: then a board ranks those who need least.
    """

    name: str
    points: float = None  # type: ignore[assignment]  # left out: the rubric's sum, or one
    kind: str = "function"
    numbers: dict[str, Any] = field(default_factory=dict)
    cases: Sequence[dict[str, Plain]] = ()
    hidden: int = 0
    compare: Compare | None = None
    public: Callable[..., bool | str] | None = None
    tolerance: float = 1e-3
    mistakes: Sequence[Mistake] = ()
    unique: bool = True
    show: bool | None = None  # a fingerprint in the student's notebook
    rubric: Sequence[Criterion] = ()
    partial: bool = False
    pool: str = ""
    count: Callable[..., int] | None = None
    least: Callable[..., float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.name}: kind is one of {', '.join(KINDS)}, got {self.kind!r}")
        self._settle_points()
        if self.by_hand and (self.mistakes or self.cases or self.hidden or self.show):
            raise ValueError(f"{self.name}: a {self.kind} is marked by hand, from a rubric alone")
        if self.rubric and not self.by_hand:
            raise ValueError(f"{self.name}: a rubric is for a text or a figure, not a {self.kind}")
        if self.partial and self.kind != "function":
            raise ValueError(f"{self.name}: partial points are for a function with several cases")
        if not 0 < self.tolerance < 0.5:
            raise ValueError(f"{self.name}: a tolerance of {self.tolerance!r} is not in (0, 0.5)")
        if empty := [
            name for name, choices in self.numbers.items() if choices in ([], (), range(0))
        ]:
            raise ValueError(f"{self.name}: nothing to draw {empty[0]} from")
        if self.public is not None and self.compare is not None:
            raise ValueError(f"{self.name}: public and compare exclude each other")
        if (self.count is None) != (self.least is None):
            raise ValueError(f"{self.name}: a board needs both count and least")
        if self.count is not None and (self.kind != "function" or self.numbers):
            raise ValueError(f"{self.name}: a board is for a function with the same cases for all")
        if self.kind == "number" and (self.cases or self.hidden):
            raise ValueError(f"{self.name}: a number is asked once, hidden cases need a function")

    def _settle_points(self) -> None:
        """The points as they are said, or as the rubric adds up."""
        given = self.points is not None
        if given and not (isinstance(self.points, (int, float)) and self.points > 0):
            raise ValueError(f"{self.name}: points must be positive, got {self.points!r}")
        if not all(isinstance(line, Criterion) for line in self.rubric):
            raise ValueError(f"{self.name}: a rubric is a list of Criterion(points, words)")
        words = [line.words for line in self.rubric]
        if twice := [w for w in words if words.count(w) > 1]:
            raise ValueError(f"{self.name}: its rubric says {twice[0]!r} twice")
        together = sum(line.points for line in self.rubric)
        if given and together and not math.isclose(together, self.points):
            raise ValueError(
                f"{self.name}: its rubric adds up to {together:g}, its points are {self.points:g}"
            )
        object.__setattr__(self, "points", self.points if given else together or 1)

    @property
    def by_hand(self) -> bool:
        """Whether a person marks it."""
        return self.kind in ("text", "figure")

    def shown(self, *, secret: bool) -> bool:
        """Whether a notebook holds a fingerprint of the answer; a secret one only if asked."""
        if self.compare is not None or self.public is not None:
            return False
        return bool(self.kind == "function" or not secret) if self.show is None else self.show

    def judge(self, case: dict[str, Plain], expected: Plain, answer: Plain) -> bool | str:
        """True if the answer is right; False, or a sentence, if it is wrong."""
        if self.public is not None:
            return self.public(answer, **case)
        if self.compare is not None:
            return self.compare(case, expected, answer)
        return agree(expected, answer, self.tolerance)


def form_of(value: Plain) -> Plain:
    """What an answer must look like, which tells nothing of what it is.

    >>> form_of(7), form_of([1.5, 2]), form_of({"a": True, "b": "x"})
    ('a whole number', [], {'a': 'True or False', 'b': 'a text'})
    """
    if isinstance(value, dict):
        return {key: form_of(each) for key, each in value.items()}
    if isinstance(value, list):
        forms = [form_of(each) for each in value]
        return forms[:1] if all(form == forms[0] for form in forms) else []
    words = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
    return words.get(type(value), "a plain value")


def agree(expected: Plain, answer: Plain, tolerance: float = 1e-3) -> bool:
    """True if two plain values are the same: ints exactly, floats within the relative tolerance.

    >>> agree(48, 48.0), agree(48, 49), agree(0.5, 0.5001), agree(1, True), agree([1, 2], [1, 2])
    (True, False, True, False, True)
    """
    if type(expected) in (int, float) and type(answer) in (int, float):
        if type(expected) is int and (type(answer) is int or abs(expected) < 2**53):
            return bool(expected == answer)
        if type(expected) is int:  # past what a float holds exactly
            tolerance = 1e-12
        return math.isclose(expected, answer, rel_tol=tolerance, abs_tol=0.0)
    if type(expected) is not type(answer):
        return False
    if isinstance(expected, list):
        return len(expected) == len(answer) and all(
            agree(left, right, tolerance) for left, right in zip(expected, answer, strict=True)
        )
    if isinstance(expected, dict):
        return expected.keys() == answer.keys() and all(
            agree(expected[key], answer[key], tolerance) for key in expected
        )
    return bool(expected == answer)


def as_plain(value: Any) -> Plain:
    """An instructor's own value, with NumPy's numbers and tuples as plain Python.

    >>> as_plain(((1, 2), {"a": 0.5}))
    [[1, 2], {'a': 0.5}]
    >>> as_plain({1, 2})
    Traceback (most recent call last):
    ValueError: a set is no plain value: a number, a text, or a list or dictionary of these
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    kind = type(value).__name__
    raise ValueError(
        f"a {kind} is no plain value: a number, a text, or a list or dictionary of these"
    )


def committed(_case: dict[str, Plain], expected: Plain, answer: Plain) -> bool | str:
    """A comparison for predictions: any answer of the right type counts, since it was made.

    >>> committed({}, 26.8, 400), committed({}, 26.8, "many")
    (True, 'Commit to a number.')
    """
    number = type(expected) in (int, float)
    right = type(answer) in (int, float) if number else type(answer) is type(expected)
    return right or ("Commit to a number." if number else f"Commit to a {type(expected).__name__}.")
