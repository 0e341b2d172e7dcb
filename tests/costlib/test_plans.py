"""Published training steps, predicted: bounds on the errors as they were measured, both ways."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import median

import pytest

from costlib.measured.plan_rows import plan_rows
from costlib.measured.plans import (
    KNOWN,
    USUAL,
    PlanConstants,
    fit_plans,
    ideal_seconds,
    peak_seconds,
    plan_errors,
    plan_of,
    plan_seconds,
    shares,
    terms,
)
from tools.bench import plans as bench

pytestmark = pytest.mark.slow

#: Median errors of a few tables at each level, as measured: ideal, known, fitted on two rows.
MEASURED = {
    "megatron SC21 table 1": (0.274, 0.129, 0.014),
    "korthikanti table 5": (0.267, 0.139, 0.036),
    "NeMo 24.12 pretrain": (0.364, 0.034, 0.035),
    "bigscience tr11 prequel table 29": (0.372, 0.016, 0.037),
    "llmfoundry: H100 80GB BF16": (0.402, 0.097, 0.054),
    "megatron-bridge 26.04 LLAMA3_70B": (0.405, 0.106, 0.053),
    "megatron-bridge 26.04 LLAMA3.1_405B": (0.384, 0.095, 0.056),
    "megatron-bridge 26.04 DeepSeekV3": (0.463, 0.143, 0.091),
    "megatron-bridge 26.04 Qwen3_30B_a3B": (0.513, 0.029, 0.028),
    "megatron-bridge 25.11 DGX-H100": (0.267, 0.079, 0.193),  # one row twice as slow as before
    "stas H200 vs B200": (0.438, 0.567, 0.055),
}


@pytest.fixture(scope="module")
def found():
    return {name: plan_errors(plan_rows(name))[0] for name in MEASURED}


@pytest.mark.parametrize("name", MEASURED)
def test_errors_are_those_that_were_measured(found, name):
    """Two-sided: an error that shrinks is news as well."""
    table = found[name]
    for level, expected in zip(("ideal", "known", "fitted"), MEASURED[name], strict=True):
        assert table.median(level) == pytest.approx(expected, abs=0.015 + 0.1 * expected), level


def test_two_rows_are_enough_for_most_tables(found):
    fitted = [table.median() for table in found.values()]
    assert median(fitted) < 0.06
    assert sum(each < 0.15 for each in fitted) == len(fitted) - 1
    assert median(table.median("known") for table in found.values()) < 0.12
    assert median(table.median("ideal") for table in found.values()) > 0.3


def test_the_rival_stands_beside_both_levels(found):
    """One share of the peak by format, and one told by the same two rows."""
    for name in ("share", "share_fitted"):
        other = {"share": "known", "share_fitted": "fitted"}[name]
        rival, ours = (
            median(table.median(level) for table in found.values()) for level in (name, other)
        )
        assert rival > 1.5 * ours
    row = plan_rows("korthikanti table 5")[0]
    assert peak_seconds(row) < ideal_seconds(row) < row.seconds
    told = shares(plan_rows("korthikanti table 5"))
    assert list(told) == ["bf16"] or list(told) == ["fp16"]


def test_short_tables_are_counted_and_not_fitted():
    [short] = plan_errors(plan_rows("korthikanti table 5")[:2], least=1)
    assert (len(short.known), short.fitted, short.share_fitted) == (2, (), ())
    assert short.median() != short.median()
    assert plan_errors(plan_rows("korthikanti table 5")[:2]) == []


def test_rows_that_told_the_constants_are_not_among_the_errors(found):
    rows = plan_rows("korthikanti table 5")
    pairs = len([*combinations(rows, 2)])
    assert len(found["korthikanti table 5"].fitted) == pairs * (len(rows) - 2)
    assert len(found["korthikanti table 5"].ideal) == len(rows)


def test_the_fit_finds_constants_that_made_the_rows():
    """Rows that a machine with other constants would print give these constants back."""
    real = PlanConstants(compute=0.5, rest=2.0)
    rows = plan_rows("megatron-bridge 26.04 Qwen3_30B_a3B") + plan_rows("megatron SC21 table 1")
    made = [with_seconds(row, plan_seconds(row, real)) for row in rows]
    fitted = fit_plans(made)
    assert fitted.compute == pytest.approx(real.compute, rel=0.04)
    assert fitted.rest == pytest.approx(real.rest, rel=0.1)
    assert fit_plans([with_seconds(rows[0], plan_seconds(rows[0]))]).compute == pytest.approx(
        USUAL.compute, rel=0.04
    )
    with pytest.raises(ValueError, match="rows must hold at least one row"):
        fit_plans([])


def with_seconds(row, seconds):
    """The same set-up, as if it had taken so long."""
    return replace(row, seconds=seconds)


def test_terms_are_the_plans_own_seconds_where_nothing_is_known(monkeypatch):
    """With every message seen and nothing else added, the prediction is the plan's time."""
    row = plan_rows("megatron SC21 table 1")[-3]
    alone = {**dict.fromkeys(KNOWN, 0.0), "tensor": 1.0, "data": 1.0}
    alone |= dict.fromkeys(("attention", "attention in parts", "logits", "hot", "fp4"), 1.0)
    monkeypatch.setattr("costlib.measured.plans.KNOWN", alone)
    row = with_seconds(row, row.seconds)  # another one: what was found of the first is remembered
    pipeline = float(plan_of(row).parts["pipeline"])  # hidden, as a rule
    seconds = plan_seconds(row, PlanConstants(1.0, 1.0)) + pipeline * terms(row).factor
    assert seconds == pytest.approx(ideal_seconds(row), rel=1e-6)


def test_more_of_either_constant_goes_the_right_way():
    row = plan_rows("megatron-bridge 26.04 DeepSeekV3")[0]
    assert plan_seconds(row, PlanConstants(0.9, 1.0)) < plan_seconds(row) < row.seconds * 2
    assert plan_seconds(row, PlanConstants(0.75, 2.0)) > plan_seconds(row)


def test_every_carried_plan_is_legal():
    reasons = {bench.refusal(row) for row in plan_rows()[::5]} - {None}
    assert all(reason.startswith("its text does not tell how it was cut") for reason in reasons)


HEAD = "what,model,devices,plan,metric,value,unit,source,read,table"


def test_a_file_of_others_is_read_and_told(tmp_path, capsys):
    lines = [HEAD]
    for row in plan_rows("megatron SC21 table 1")[:5]:
        text = f"w,{row.name} ({row.model.layers}L h{row.model.d_model} {row.model.heads} heads)"
        plan = f"{row.devices} x A100,{row.plan},iteration time,{row.seconds},s,x,yes,mine"
        lines.append(f"{text},{plan}")
    lines.append("w,llama-2-7b,8 x H100,QLoRA,tokens/s/GPU,10,tokens/s,x,yes,mine")
    lines.append("w,llama-2-7b,8 x H100,EP64 MBS1 GBS8,tokens/s/GPU,10,tokens/s,x,yes,mine")
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines))
    assert bench.main([str(file)]) == 0
    printed = capsys.readouterr().out
    assert "| mine | 5 |" in printed
    assert "Fitted on two rows, 1 of 1 tables are within 15%." in printed
    assert "QLoRA: unpacking frozen weights is other work" in printed
    assert "expert=64" in printed


def test_memory_of_bigsciences_plans():
    """What nvidia-smi showed is a tenth more than the plan counts; later a third more."""
    rows = [row for row in plan_rows("bigscience") if "memory GB" in row.measured]
    last = tuple(f"table {number}" for number in range(36, 40))
    missing = {row: 1 - plan_of(row).memory.total / 1e9 / row.measured["memory GB"] for row in rows}
    early = [each for row, each in missing.items() if not row.table.endswith(last)]
    assert len(early) == 55
    assert median(early) == pytest.approx(0.10, abs=0.02)
    assert median(missing[row] for row in rows if row.table.endswith(last)) > 0.3


def test_frozen_weights_cost_two_thirds_and_send_nothing():
    row = next(row for row in plan_rows("megatron-bridge 26.06 LoRA") if row.data > 1)
    frozen, trained = terms(row), terms(replace(row, adapters=False))
    assert frozen.data == 0.0 < trained.data
    assert frozen.after == 0.0 < trained.after
    assert 0.65 < frozen.computing / trained.computing < 0.85  # attention and logits are as before
