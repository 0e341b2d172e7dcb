"""Configs with one field changed: equal to what transformers makes of them, or refused."""

from collections import Counter
from functools import cache

import pytest

from costlib.model.transformer import Transformer
from odd_configs import MUTANTS as ROWS
from odd_configs import mutant

pytestmark = pytest.mark.slow

AS_RUN = {"masked": "computed", "mla": "naive", "scores": "materialised"}


@cache
def counted(number):
    """Parameters, active ones and FLOPs of a prefill; None where the config is refused."""
    row = ROWS[number]
    batch, new, _, *encoded = row["case"]
    more = {"encoded": encoded[0]} if encoded else {}
    try:
        model = Transformer.from_hf(mutant(row))
    except (TypeError, ValueError):
        return None
    flops = model.prefill(batch, new, **AS_RUN, **more).matmul_flops
    return model.params(), model.active_params(), flops


@pytest.mark.parametrize("base", sorted({row["base"] for row in ROWS}))
def test_a_changed_field_is_counted_or_refused(base):
    for number, row in ((n, row) for n, row in enumerate(ROWS) if row["base"] == base):
        ours = counted(number)
        what = row.get("with") or row["without"]
        assert ours in (None, (row["params"], row["active"], row["total"])), what


def test_most_are_counted():
    """What is refused lacks a size, or contradicts itself."""
    answers = Counter(counted(number) is None for number in range(len(ROWS)))
    assert answers[False] > 4 * answers[True]
