"""Small configs of every family with fields turned into anything: a number or a clear error."""

import copy
import json
import random

import pytest

from costlib.layers import Encoder
from costlib.transformer import Transformer
from paths import DATA

ROWS = json.loads((DATA / "families.json").read_text("utf-8"))["rows"]
SMALL = [row for row in ROWS if row["params"] < 3_000_000]
TRIES = 12

NUMBERS = [0, 1, 2, 3, 5, 7, -1, 10**6, 10**13, 10**400, -(10**400), 0.5, float("nan")]
THINGS = [None, True, False, "", "silu", "x" * 50, [], [1], ["a"], [None], [[1, 2]], [10**400]]
OBJECTS = [{}, {"a": 1}, {"model_type": "llama"}, ["full_attention"], ["linear_attention"] * 4]
WILD = [*NUMBERS, *THINGS, *OBJECTS]


def changed(config, dice):
    """The config with one field, or a few, replaced, dropped, nudged, or changed inside."""
    config = copy.deepcopy(config)
    for _ in range(dice.choice([1, 1, 2, 3])):
        inner = config.get("text_config")
        inside = isinstance(inner, dict) and inner and dice.random() < 0.8
        fields = inner if inside else config
        name = dice.choice(sorted(set(fields) - {"model_type"}))
        value, roll = fields[name], dice.random()
        if roll < 0.1:
            del fields[name]
        elif roll < 0.3 and type(value) is int:
            fields[name] = value + dice.choice([-1, 1, 3, value, -value])
        elif roll < 0.5 and isinstance(value, dict) and value:
            fields[name] = value | {dice.choice(sorted(value)): copy.deepcopy(dice.choice(WILD))}
        elif roll < 0.5 and isinstance(value, list) and value:
            value.insert(dice.randrange(len(value)), copy.deepcopy(dice.choice(WILD)))
        else:
            fields[name] = copy.deepcopy(dice.choice(WILD))
    return config


def use(model):
    """Ask the model for what people ask."""
    assert 0 < model.active_params() <= model.params()
    parts = [part for block in model.blocks for part in block.parts]
    more = {"encoded": 7} if any(isinstance(part, Encoder) for part in parts) else {}
    assert float(model.prefill(2, 9, **more).flops) > 0
    assert model.training_step(1, 5, **more).flops > model.prefill(1, 5, **more).flops
    assert model.memory(1, 30).total > 0
    if all(getattr(part, "causal", True) for part in parts):
        assert model.decode(1, 20, **more).bytes() > 0


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row["name"])
def test_a_wild_config_is_a_model_or_an_error_that_names_something(row):
    dice = random.Random(row["name"])
    for _ in range(TRIES):
        config = changed(row["config"], dice)
        model, problem = None, ""
        try:
            model = Transformer.from_hf(config)
        except (TypeError, ValueError) as found:
            problem = str(found)
        if model is None:
            assert "'" in problem
        else:
            use(model)
