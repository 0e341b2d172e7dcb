"""released.json: parameters of every model of the catalogue, counted from its config alone."""

import json
from pathlib import Path
from typing import Any

import counting

DATA = Path(__file__).parent.parent
NESTED = {"step3p7"}  # published flat; transformers looks for the text in a config of its own
CATALOGUE = DATA.parents[1] / "costlib" / "model" / "catalog" / "models.json"  # data, and no code


def make(names: list[str]) -> None:
    """Count every model again, or those named; a model that is not built says why."""
    file = DATA / "released.json"
    held = json.loads(file.read_text("utf-8")) if file.exists() else {}
    entries = json.loads(CATALOGUE.read_text("utf-8"))["models"]
    for name, entry in entries.items():
        if not names or name in names:
            held[name] = counted(entry["config"]["value"])
            print(name, held[name], flush=True)
    lines = (f" {json.dumps(name)}: {json.dumps(held[name])}" for name in entries if name in held)
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def counted(config: dict) -> dict[str, Any]:
    """Parameters, and those that one token uses where experts are routed."""
    if config["model_type"] in NESTED and "text_config" not in config:
        config = {"model_type": config["model_type"], "text_config": config}
    try:
        model = counting.build(config)
    except (ImportError, KeyError, LookupError, TypeError, ValueError) as problem:
        return {"not_built": f"{type(problem).__name__}: {problem}".split("\n")[0][:120]}
    params, _ = counting.language_params(model)
    try:
        held, used = counting.routed_params(model, counting.count(model, 1, 8))
    except RuntimeError:  # not on `meta`: it looks for the experts of a token in values
        return {"params": params}
    return {"params": params, "active": params - held + used}
