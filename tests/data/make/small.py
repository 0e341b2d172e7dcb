"""extra_models.json: small copies of many families, counted again from the configs in the file."""

import json
from pathlib import Path

import counting

FILE = Path(__file__).parent.parent / "extra_models.json"


def make(names: list[str]) -> None:
    """Count every model of the file again, or those named."""
    held = json.loads(FILE.read_text("utf-8"))
    for row in held["models"]:
        if not names or row["name"] in names:
            count(row)
    FILE.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def count(row: dict) -> None:
    """Renew what was counted: parameters, and FLOPs where the model is small enough to list."""
    model = counting.build(row["config"])
    row["params"], _ = counting.language_params(model)
    if "flops" in row:
        row["flops"] = {
            "prefill_2x20": counting.count(model, 2, 20).get_total_flops(),
            "decode_2x20_new1": counting.count(model, 2, 1, 20).get_total_flops(),
        }
