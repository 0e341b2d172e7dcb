"""aiconfigurator: times of kernels, measured on the device, put together as a server would.

Models are folders with a ``config.json``, as published. Backends and modes are what they are unless
told otherwise: TensorRT-LLM, its newest measured version, and nothing but measured kernels, except
where a shape was not measured (``HYBRID``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

Row = dict[str, Any]

NEEDS = ["aiconfigurator==0.12.0"]
REMARKS = {
    "batch": "it keeps 4.5 GB more, for activations and its server's runtime, which the count "
    "here does not: a server's own answer may well be nearer to it",
    "mixture": "bytes of weights tell how many there are; of active ones there is no word",
    "price": "no prices: a division is the user's",
    "training memory": "it configures servers: inference alone",
    "plan": "of training nothing; `cli default` searches how to share a server, prompts apart or "
    "together, under limits of latency, and writes the files that start it",
}
MODELS = Path(__file__).parent  # `ask` says where the configs are


def _estimate(row: Row, mode: str, **more: Any) -> Any:
    from aiconfigurator.cli.api import cli_estimate

    found = {"database_mode": "HYBRID", "isl": row.get("context", 1), "batch_size": 1} | more
    return cli_estimate(str(MODELS / row["model"]), "a100_sxm", mode=mode, **found)


def fits(row: Row) -> float:
    tp = {"moe_tp_size": 1, "moe_ep_size": 1} if row["model"].startswith("mixtral") else {}
    memory = _estimate(row, "static", osl=1, **tp).summary.get_memory()
    return float(2**30 * (memory["weights"] + memory["kvcache"]))


def batch(row: Row) -> float:
    from aiconfigurator_core.sdk.memory import estimate_kv_cache

    found = estimate_kv_cache(
        str(MODELS / row["model"]),
        "a100_sxm",
        "vllm",
        "0.14.0",
        max_num_tokens=row["context"],
        max_batch_size=64,
        memory_fraction_kind="of_total",
        memory_fraction_value=0.9,
    )
    return float(found["total_kv_size_tokens"] // row["context"])


def decode(row: Row) -> float:
    return float(1000 / _estimate(row, "static", osl=2).tpot)


def prefill(row: Row) -> float:
    return float(_estimate(row, "static_ctx", isl=row["prompt"], osl=1).ttft)


def mixture(row: Row) -> float | None:
    if row["which"] == "active":
        return None
    memory = _estimate(row, "static", osl=1, moe_tp_size=1, moe_ep_size=1).summary.get_memory()
    return float(2**30 * memory["weights"] / 2)


def quantised(row: Row) -> float:
    return float(
        1000 / _estimate(row, "static", osl=2, gemm_quant_mode=f"int{row['bits']}_wo").tpot
    )


def price(row: Row) -> float:
    from aiconfigurator.cli import cli_default

    found = cli_default(
        str(MODELS / f"{row['model']}-fp8"),
        total_gpus=1,
        system="h100_sxm",
        isl=row["prompt"],
        osl=row["answer"],
        ttft=1e6,
        tpot=1e6,
    )
    return float(row["per_hour"] / 3600 / max(found.best_throughputs.values()) * 1e6)


def sweep(rows: list[Row]) -> list[float]:
    found = []
    for row in rows:
        each = _estimate(
            row, "static", isl=row["prompt"], osl=row["answer"], batch_size=row["batch"]
        )
        found.append(each.raw["tokens/s"])
    return found
