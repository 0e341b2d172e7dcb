"""Small configs of every family with fields turned into anything: a number or a clear error."""

import random

import pytest

import sampling
from costlib.layers import Encoder
from costlib.model.transformer import Transformer
from odd_configs import ROWS, changed

pytestmark = pytest.mark.slow

SMALL = sampling.some([row for row in ROWS if row["params"] < 3_000_000], 40, "wild configs")
TRIES = 12


def use(model):
    """Ask the model for what people ask."""
    assert 0 < model.active_params() <= model.params()
    if model.learned_positions is not None and model.learned_positions < 30:
        return  # too few for the sequences below, which decode() says: test_names
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
