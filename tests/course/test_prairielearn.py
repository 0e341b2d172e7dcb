"""Questions for PrairieLearn: what its server runs, run here, against the key's own answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from notebook_checks import EXAMPLE, a_page, in_words, solved

from course.__main__ import main
from course.builder.answer_key import Key
from course.builder.assignments import build_one
from course.builder.prairielearn import EXACT, write_questions
from paths import ROOT

pytestmark = pytest.mark.usefixtures("fast_hashes")
SQUARE = 'def square_of(n):\n    """n times n."""\n    return n * n\n\nprint(square_of(3))'
HALVES = 'def halves_of(n):\n    """Both."""\n    return [n / 2, n // 2]\n\nprint(halves_of(3))'
CHECKS = """
QUESTIONS = [
    Question("square_of", numbers={"n": range(2, 9)},
        mistakes=[Mistake("twice", lambda n: 2 * n, "Times itself, not times 2.")]),
    Question("halves_of", numbers={"n": range(2, 9)}),
]
"""
EXERCISES = (
    solved("**1. A square.** What is the square of n, as in [[n]]²?", SQUARE),
    solved("**2. A half.** Half of n, and what is below it.", HALVES),
)


def asked(folder: Path, seed: int, said: Any = None) -> dict[str, Any]:
    """What PrairieLearn's data are after its calls of a question's server."""
    space: dict[str, Any] = {}
    exec(compile((folder / "server.py").read_text("utf-8"), "server.py", "exec"), space)
    data: dict[str, Any] = {"variant_seed": str(seed), "params": {}, "correct_answers": {}}
    space["generate"](data)
    data |= {"submitted_answers": {} if said is None else {"answer": said}, "feedback": {}}
    space["grade"](data)
    assert json.loads(json.dumps(data)) == data
    return data


def squares(tmp_path: Path, times: int = 1) -> Key:
    square, halves = EXERCISES
    square = square.replace("n * n", f"n * n * {times}")
    return build_one(a_page(tmp_path, CHECKS, square, halves, name="w"), tmp_path, [])


def test_each_variant_is_right_and_a_known_mistake_is_told(tmp_path: Path) -> None:
    written, others = write_questions(squares(tmp_path), tmp_path / "pl", 120)
    assert (written, others) == (["square_of"], ["halves_of"])
    folder, seen = tmp_path / "pl" / "w" / "square_of", set()
    for seed in range(150):  # of seven numbers one is left out once in 10⁷ runs
        data = asked(folder, seed)
        n = int(data["params"]["given"].removeprefix("n = "))
        assert data["correct_answers"]["answer"] == n * n
        assert f"as in {n}²?" in data["params"]["statement"]
        assert asked(folder, seed, n * n)["feedback"] == asked(folder, seed, n + 70)["feedback"]
        hints = asked(folder, seed, 2 * n)["feedback"]
        assert hints == ({} if n == 2 else {"hint": "Times itself, not times 2."})
        seen.add(n)
    assert len(seen) == 7, "the seed decides, and all numbers come"
    page = (folder / "question.html").read_text("utf-8")
    assert "<pl-integer-input" in page
    assert "{{{params.statement}}}" in page
    assert len(re.findall(r"<(pl-[a-z-]+)", page)) == len(re.findall(r"</(pl-[a-z-]+)", page)) == 3


def test_a_number_that_javascript_would_round_is_asked_for_as_text(tmp_path: Path) -> None:
    write_questions(squares(tmp_path, EXACT), tmp_path / "pl", 5)
    data = asked(tmp_path / "pl" / "w" / "square_of", 1)
    n = int(data["params"]["given"].removeprefix("n = "))
    assert data["correct_answers"]["answer"] == str(n * n * EXACT)
    assert "<pl-string-input" in (tmp_path / "pl/w/square_of/question.html").read_text("utf-8")


def test_the_id_of_a_question_stays_whatever_is_drawn(tmp_path: Path) -> None:
    ids = set()
    for place in ("a", "b"):
        key = build_one(EXAMPLE, tmp_path / place, [])
        written, _ = write_questions(key, tmp_path / place / "pl", 3)
        for name in written:
            about = json.loads((tmp_path / place / "pl/week-1" / name / "info.json").read_text())
            assert {"uuid", "title", "topic", "type"} <= set(about)
            ids.add(about["uuid"])
    assert len(ids) == len(written) > 0


def test_the_command_says_what_it_leaves_to_the_grader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    why = in_words("**3. Why?** Say it in a sentence.", "why", "Because it is.")
    a_page(tmp_path, CHECKS, *EXERCISES, why, name="w")
    asks = ["prairielearn", str(tmp_path), str(tmp_path / "pl"), "--variants"]
    assert main([*asks, "4"]) == 0
    said = capsys.readouterr().out
    assert "w: 1 questions in" in said
    assert "for: halves_of, why\n" in said
    assert main([*asks, "0"]) == 1
    assert (ROOT / "course" / "practice").is_dir()
