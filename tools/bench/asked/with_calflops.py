"""calflops: FLOPs, multiply-adds and parameters of a PyTorch model, counted as it runs.

Models are built from their published configs on torch's meta device, which holds no numbers: by
name it asks a hub for no more than that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]

NEEDS = ["calflops==0.3.2", "transformers==5.23.0"]
_TIMELESS = "it counts FLOPs and parameters: no device, no bytes, no time"
REMARKS = {
    "fits": "the weights alone: of a cache it says nothing",
    "mixture": "all parameters, and no word on which are active",
    "batch": _TIMELESS,
    "decode": _TIMELESS,
    "prefill": "FLOPs of the prompt, and no time",
    "training memory": _TIMELESS,
    "plan": _TIMELESS,
    "quantised": _TIMELESS,
    "price": _TIMELESS,
    "sweep": _TIMELESS,
}
MODELS = Path(__file__).parent  # `ask` says where the configs are


def _params(row: Row) -> float:
    import torch
    from calflops import calculate_flops
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        config = AutoConfig.from_pretrained(MODELS / row["model"])
        model = AutoModelForCausalLM.from_config(config)
        tokens = {"input_ids": torch.ones((1, 16), dtype=torch.long)}
    _, _, params = calculate_flops(
        model, kwargs=tokens, print_results=False, output_as_string=False
    )
    return float(params)


def fits(row: Row) -> float:
    return 2 * _params(row)  # the weights; of the cache it says nothing


def mixture(row: Row) -> float | None:
    return _params(row) if row["which"] == "params" else None
