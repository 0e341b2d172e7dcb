"""What a fingerprint of an answer is worth: ``python -m tools.bench.fingerprints``.

Takes a student's notebook of the example, once as it is and once with ``show=True``, and does what
a student could do with it: try products of the given numbers, whole numbers one by one, and floats
as near to each other as the tolerance asks.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from course.builder import check_cell
from course.builder.assignments import open_key
from course.builder.dry_run import tries_to_guess
from course.builder.notebooks import checks_for
from tools import ROOT

EXAMPLE = ROOT / "course" / "example" / "week-1.md"
FACTORS = (1, 2, 4, 8, 3, 6, 12, 16, 24, 32, 64)


def formulas(numbers: Iterable[float]) -> Iterator[float]:
    """Products of the given numbers, each left out, once or squared, with a small factor."""
    given = list(numbers)
    powers = sorted(itertools.product((0, 1, 2), repeat=len(given)), key=sum)
    for power, factor in itertools.product(powers, FACTORS):
        yield factor * math.prod(n**p for n, p in zip(given, power, strict=True))


def tries(spec: dict[str, Any], guesses: Iterable[float]) -> int | None:
    """How many guesses it takes; None if none is right."""
    for count, guess in enumerate(guesses, 1):
        if check_cell._stretch(guess, spec, 0, 0).hex() == spec["right"]:
            return count
    return None


def main() -> None:
    """Attack each number of the example, with a fingerprint and without."""
    key = open_key(EXAMPLE, whole=True)
    key.secret = "a secret of this measurement"
    for exercise, question in key.by_machine():
        if question.kind != "number" or question.compare is not None:
            continue
        numbers = key.numbers(exercise.name, "ada")
        expected = key.expected(exercise.name, numbers)
        plain = checks_for(question, numbers, expected, "00" * 8, secret=True)
        print(f"{exercise.name}: as it is, the notebook holds {plain['form']!r}: nothing to try")
        shown = replace(question, show=True, mistakes=())
        spec = checks_for(shown, numbers, expected, "00" * 8, secret=True)
        begin = time.perf_counter()
        found = tries(spec, formulas(numbers.values()))
        took = time.perf_counter() - begin
        each = took / (found or len(FACTORS) * 3 ** len(numbers))
        words = (
            f"found after {found} tries, {took:.1f} s" if found else f"not found in {took:.1f} s"
        )
        print(f"  with show=True, a formula over its numbers: {words}")
        print(
            f"  trying whole numbers: {tries_to_guess(shown, expected) * each / 86_400:,.1f} days"
        )
        blind = tries_to_guess(shown, float(expected)) * each
        print(f"  were it a float, trying all of ten decades: {blind:.0f} s")


if __name__ == "__main__":
    main()
