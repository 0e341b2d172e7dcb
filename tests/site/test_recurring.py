"""One number for one case: what several pages state is the same on all of them.

A page's own cells make its numbers right for the page. That two pages mean the same case, with the
same reserve, rate and count of tokens, is said here: whatever is written with these words and lies
near the value is the value, rounded.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pytest

import costlib
from costlib.model.kvcache import largest_batch
from tools.pages import numbers, pairs

LLAMA = costlib.models["llama-3-8b"]
A100, H100 = costlib.devices["A100-80GB"], costlib.devices["H100-SXM"]


RIDGE = r"ridge(?: of (?:an |the )?[A-Z]+\d+)?\D{0,30}#"


@dataclass(frozen=True)
class Case:
    """What a number is, its values (more than one where pages mean different cases), its words."""

    about: str
    values: tuple[float, ...]
    said: str
    near: float = 0.015


CASES = (
    Case("A100: FLOPs per byte at the ridge", (A100.ridge(),), RIDGE),
    Case("H100: FLOPs per byte at the ridge", (H100.ridge(),), RIDGE),
    Case("A100: TB/s", (A100.bytes_per_s / 1e12,), r"# TB/s"),
    Case("H100: TB/s", (H100.bytes_per_s / 1e12,), r"# TB/s"),
    Case("A100: TFLOP/s", (A100.flops_per_s["bf16"] / 1e12,), r"# TFLOP/s"),
    Case(
        "users of Llama 3 8B on an A100, with 4,096 and with 4,095 cached tokens and a new one",
        tuple(int(largest_batch(LLAMA, A100, context).largest) for context in (4097, 4096)),
        r"# users",
        near=0.16,
    ),
)


def stated(case: Case, text: str) -> list[numbers.Written]:
    """The numbers with a case's words that lie near one of its values."""
    pattern = case.said.replace("#", r"(?<![\d.,])(\d[\d,]*(?:\.\d+)?)(?![\d]|\.\d)")
    found = (
        numbers.Written(match[1].replace(",", ""), match.start(1))
        for match in re.finditer(pattern, text)
    )
    return [n for n in found if any(abs(n.value - v) <= case.near * v for v in case.values)]


def is_right(case: Case, number: numbers.Written) -> bool:
    """Whether it is a value of the case, rounded as it is written."""
    return any(abs(number.value - value) <= number.step * 0.5000001 for value in case.values)


@functools.cache
def texts() -> list[tuple[str, str]]:
    """Everything that pages say: in words, in print and of their figures."""
    found = []
    for page in pairs.paired():
        notebook = pairs.read_notebook(page)
        assert notebook is not None
        for cell in notebook.cells:
            said = cell.source if cell.cell_type == "markdown" else ""
            said = re.sub(r"^> - .*$", "", said, flags=re.MULTILINE)  # guesses
            found += [(page.stem, text) for text in (said, *numbers._shown(cell))]
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.about)
def test_every_page_states_the_same(case: Case) -> None:
    found = [(page, number) for page, text in texts() for number in stated(case, text)]
    wrong = [(page, number.digits) for page, number in found if not is_right(case, number)]
    assert wrong == [], f"{case.about}: {case.values}"
    assert len({page for page, _ in found}) > 1, "pages that state it; without two, drop the case"


def test_another_number_for_the_same_case_is_seen() -> None:
    case = CASES[0]
    (right,), (wrong,) = stated(case, "the ridge of an A100 is 153.0"), stated(case, "ridge: 154")
    assert is_right(case, right)
    assert not is_right(case, wrong)
    assert stated(case, "the ridge of an H100 is 295") == []
