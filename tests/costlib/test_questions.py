"""The page of ten questions: it is what was said, and costlib says it still."""

from __future__ import annotations

import json
from math import prod

import pytest

from costlib.model.catalog import models
from paths import ROOT
from tools.bench.asked import hub, table
from tools.bench.asked.questions import QUESTIONS
from tools.bench.asked.words import WHY_NOT

RECORD = table.said()
AGAIN = 'ask costlib again: make bench-questions WHICH="costlib typical"'


def test_the_page_is_what_was_said() -> None:
    assert table.PAGE.read_text("utf-8") == table.table(RECORD), AGAIN


@pytest.mark.parametrize("tool", table.OURS)
@pytest.mark.parametrize("key", QUESTIONS)
def test_costlib_says_so_today(tool: str, key: str) -> None:
    question, program = QUESTIONS[key], table.program(tool, key)
    if program is None:
        assert key in table.programs(tool).REMARKS
        return
    rows = question.rows
    found = program(rows) if question.at_once else [program(row) for row in rows]
    written = RECORD["answers"][tool][key]["answers"]
    assert list(found) == pytest.approx(written, rel=1e-9), AGAIN


@pytest.mark.parametrize("tool", table.TOOLS)
def test_every_question_has_an_answer_or_a_reason(tool: str) -> None:
    assert len(QUESTIONS) == 10
    for key, question in QUESTIONS.items():
        if table.program(tool, key) is None:
            assert table.programs(tool).REMARKS[key].strip()
        else:
            assert len(RECORD["answers"][tool][key]["answers"]) == len(question.rows)


def test_it_says_why_wherever_costlib_is_not_among_the_first() -> None:
    behind = {
        key
        for key, question in QUESTIONS.items()
        if table.is_behind([table.cell(tool, question, RECORD) for tool in table.TOOLS])
    }
    assert behind == set(WHY_NOT)


def test_errors_of_few_rows_are_level_within_a_tenth() -> None:
    cells = [
        table.Cell("costlib", (0.5, -0.5), 2, statements=2, seconds=1e-4),
        table.Cell("typical", (0.10, -0.10), 2, statements=4, seconds=1.15e-4),
        table.Cell("genz", (0.108, 0.108), 2, statements=2, seconds=1e-2),
        table.Cell("calflops", (0.0,), 2, statements=1, seconds=1e-5),  # of one row alone
    ]
    assert table.firsts(cells) == {
        "nearest": ["typical", "genz"],
        "shortest": ["costlib", "genz"],
        "fastest": ["costlib", "typical"],
    }
    assert not table.is_behind(cells)
    assert table.is_behind([*cells, table.Cell("hf_mem", (0.0, 0.0), 2, 9, 1.0)])


def test_the_stand_in_of_the_hub_has_whole_models() -> None:
    counted = json.loads((ROOT / "tests/data/released.json").read_text("utf-8"))
    for model in ("llama-2-7b", "llama-3.1-8b", "mixtral-8x7b"):
        config = models.provenance(model)["config"]["value"]
        assert sum(prod(shape) for _, shape in hub.tensors(config)) == counted[model]["params"]
