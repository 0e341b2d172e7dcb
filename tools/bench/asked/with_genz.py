"""GenZ: its models of a prompt and of a step, each a table of layers and its summary.

``Bb`` is the number of beams, which is 4 unless told otherwise.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

NEEDS = ["genz-llm==0.0.16"]
REMARKS = {
    "fits": "the table of input embeddings is left out",
    "mixture": "bytes of weights tell how many there are; of active ones there is no word",
    "price": "no prices: a division is the user's",
    "training memory": "it is about serving: its README has inference alone",
    "plan": "of training nothing; `get_best_parallization_strategy` shares a server by tensor and "
    "pipeline",
}
NAMES = {
    "llama-2-7b": "llama2_7b",
    "llama-2-70b": "llama2_70b",
    "llama-3.1-8b": "llama3_8b",
    "mixtral-8x7b": "mixtral_8x7b",
}
A100, H100 = "A100_80GB_GPU", "H100_GPU"


def _held(row: Row, bits: str = "bf16") -> tuple[float, float]:
    """MiB of weights, and of one sequence's cache."""
    from GenZ import decode_moddeling

    _, summary = decode_moddeling(
        model=NAMES[row["model"]],
        batch_size=1,
        Bb=1,
        input_tokens=row.get("context") or row["prompt"] + row["answer"],
        system_name=A100,
        bits=bits,
        model_profilling=True,
    )
    return summary["Total Weights (MB)"][0], summary["KV Cache (MB)"][0]


def _step(row: Row, batch: int, context: int, system: str, bits: str) -> Any:
    from GenZ import decode_moddeling

    return decode_moddeling(
        model=NAMES[row["model"]],
        batch_size=batch,
        Bb=1,
        input_tokens=context,
        system_name=system,
        bits=bits,
    )


def _prompt(row: Row, batch: int, system: str, bits: str) -> Any:
    from GenZ import prefill_moddeling

    return prefill_moddeling(
        model=NAMES[row["model"]],
        batch_size=batch,
        input_tokens=row["prompt"],
        system_name=system,
        bits=bits,
    )


def fits(row: Row) -> float:
    weights, cache = _held(row)
    return float(2**20 * (weights + cache))


def batch(row: Row) -> float:
    weights, cache = _held(row)
    return float((72 * 1024 - weights) // cache)


def decode(row: Row) -> float:
    return float(_step(row, 1, row["context"], A100, "bf16")["Throughput"])


def prefill(row: Row) -> float:
    return float(_prompt(row, 1, A100, "bf16")["Latency"])


def mixture(row: Row) -> float | None:
    from GenZ import decode_moddeling

    if row["which"] == "active":
        return None
    _, summary = decode_moddeling(
        model=NAMES[row["model"]],
        batch_size=1,
        Bb=1,
        input_tokens=1,
        system_name=A100,
        bits="int8",
        model_profilling=True,
    )
    return float(2**20 * summary["Total Weights (MB)"][0])


def quantised(row: Row) -> float:
    return float(_step(row, 1, row["context"], A100, f"int{row['bits']}")["Throughput"])


def price(row: Row) -> float:
    weights, cache = _held(row, "fp8")
    most = int((72 * 1024 - weights) // cache)
    step = _step(row, most, row["prompt"] + row["answer"] // 2, H100, "fp8")["Latency"]
    first = _prompt(row, most, H100, "fp8")["Latency"]
    a_second = 1000 * most * row["answer"] / (row["answer"] * step + first)
    return float(row["per_hour"] / 3600 / a_second * 1e6)


def sweep(rows: list[Row]) -> list[float | None]:
    return [_throughput(row) for row in rows]


def _throughput(row: Row) -> float | None:
    try:
        step = _step(row, row["batch"], row["prompt"] + row["answer"] // 2, A100, "bf16")
        first = _prompt(row, row["batch"], A100, "bf16")
    except ValueError:  # it does not fit
        return None
    seconds = (row["answer"] * step["Latency"] + first["Latency"]) / 1000
    return float(row["batch"] * row["answer"] / seconds)
