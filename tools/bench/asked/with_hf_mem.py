"""hf-mem: what the files of a model on the hub hold, by their headers, and the cache beside them.

It reads the hub, which is not asked here: `hub` stands in for it, with the published config and a
header that names every tensor as the published files do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]

NEEDS = ["hf-mem==0.5.6"]
_TIMELESS = "it adds up bytes: no device, no time"
REMARKS = {
    "fits": "it reads the published files themselves, over the network; here a stand-in for the "
    "hub had their headers, so that a call is without the network",
    "batch": "bytes of a batch, and no device that they must fit on",
    "decode": _TIMELESS,
    "prefill": _TIMELESS,
    "training memory": "weights and cache of inference, as its README says",
    "plan": _TIMELESS,
    "quantised": "bytes of a quantised checkpoint, to the last one; no time",
    "price": _TIMELESS,
    "sweep": _TIMELESS,
}
MODELS = Path(__file__).parent  # `ask` says where the configs are


def prepare() -> None:
    from tools.bench.asked import hub

    hub.stand_in(MODELS)


def fits(row: Row) -> float:
    from hf_mem import run

    found = run(row["model"], experimental=True, max_model_len=row["context"])
    return float(found.total_memory)


def mixture(row: Row) -> float:
    from hf_mem import run

    found = run(row["model"], experimental=True)
    if row["which"] == "params":
        return float(found.safetensors.param_count)
    parts = found.moe_metadata
    each = parts.expert_template.param_count
    return float(parts.base_model.param_count + parts.active_expert_count * each)
