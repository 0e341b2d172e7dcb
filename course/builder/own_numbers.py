"""Each student's own numbers, from a hash: the same on every machine and in every Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["draw", "salt_of", "without_collisions"]


def draw(numbers: dict[str, Any], *seed: str | int) -> dict[str, Any]:
    """One choice for each argument, decided by the seed alone; what is no sequence is kept.

    >>> draw({"m": range(100, 200), "dtype": "bf16"}, "week-1", "ada") == draw(
    ...     {"m": range(100, 200), "dtype": "bf16"}, "week-1", "ada")
    True
    >>> draw({"m": [7], "dtype": "bf16"}, "week-1", "ada")
    {'m': 7, 'dtype': 'bf16'}
    """
    return {
        name: choices[_hash(*seed, name) % len(choices)]
        if isinstance(choices, (range, list, tuple))
        else choices
        for name, choices in numbers.items()
    }


def without_collisions(
    draw_one: Callable[[str, int], Any],
    students: Iterable[str],
    handed_out: Mapping[str, int] | None = None,
    tries: int = 200,
) -> dict[str, int]:
    """Which attempt each student of a roster uses, so that no two share an answer.

    ``draw_one(student, attempt)`` returns the answer. Those who have their notebook keep their
    numbers: their attempt is in ``handed_out``. Where the range is exhausted, answers repeat.

    >>> attempts = without_collisions(lambda s, n: (len(s) + n) % 4, ["a", "b", "cc"])
    >>> attempts
    {'a': 0, 'b': 1, 'cc': 1}
    """

    def answer(student: str, attempt: int) -> str:
        return json.dumps(draw_one(student, attempt), sort_keys=True)

    attempts = dict(handed_out or {})
    taken = {answer(student, attempt) for student, attempt in attempts.items()}
    for student in students:
        if student in attempts:
            continue
        for attempt in range(tries):
            if answer(student, attempt) not in taken:
                break
        else:
            attempt = 0
        taken.add(answer(student, attempt))
        attempts[student] = attempt
    return attempts


def salt_of(*parts: str) -> str:
    """The salt of one check: other for each student, the same in each build.

    >>> len(salt_of("secret", "product_flops", "ada"))
    16
    """
    return format(_hash(*parts), "032x")[:16]


def _hash(*parts: str | int) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:16], "big")
