"""Configs of every family, with fields changed: as other people's code read them, or anyhow."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from paths import DATA

ROWS = json.loads((DATA / "families.json").read_text("utf-8"))["rows"]
MUTANTS = json.loads((DATA / "mutants.json").read_text("utf-8"))["rows"]
_BASES = {row["name"]: row["config"] for row in ROWS}

NUMBERS = [0, 1, 2, 3, 5, 7, -1, 10**6, 10**13, 10**400, -(10**400), 0.5, float("nan")]
THINGS = [None, True, False, "", "silu", "x" * 50, [], [1], ["a"], [None], [[1, 2]], [10**400]]
OBJECTS = [{}, {"a": 1}, {"model_type": "llama"}, ["full_attention"], ["linear_attention"] * 4]
WILD = [*NUMBERS, *THINGS, *OBJECTS]


def mutant(row: dict[str, Any]) -> dict[str, Any]:
    """The base's config, or that of its language model, with a row's change made."""
    config = _BASES[row["base"]]
    fields = dict(config.get("text_config", config)) | row.get("with", {})
    fields = {name: value for name, value in fields.items() if name not in row.get("without", ())}
    return {**config, "text_config": fields} if "text_config" in config else fields


def changed(config: dict[str, Any], dice: random.Random) -> dict[str, Any]:
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
