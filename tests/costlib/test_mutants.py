"""Configs with one field changed: equal to what transformers makes of them, or refused."""

import json
from collections import Counter
from functools import cache

import pytest

from costlib.transformer import Transformer
from paths import DATA

BASES = {r["name"]: r for r in json.loads((DATA / "families.json").read_text("utf-8"))["rows"]}
ROWS = json.loads((DATA / "mutants.json").read_text("utf-8"))["rows"]
AS_RUN = {"masked": "computed", "mla": "naive", "scores": "materialised"}


def mutant(row):
    """The base's config, or that of its language model, with the change made."""
    config = BASES[row["base"]]["config"]
    fields = dict(config.get("text_config", config)) | row.get("with", {})
    fields = {name: value for name, value in fields.items() if name not in row.get("without", ())}
    return {**config, "text_config": fields} if "text_config" in config else fields


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
