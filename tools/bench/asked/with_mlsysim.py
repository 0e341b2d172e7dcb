"""mlsysim: a registry of models and machines, and a solver for each of a book's models.

The compute share is what it is unless told otherwise, 0.5 of a peak; memory gives all of its rate.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
NEEDS = ["mlsysim==0.3.0"]
REMARKS = {
    "fits": "its models have rounded parameters and no vocabulary",
    "training memory": "of recomputation it knows a share of activations, not what is kept",
    "plan": "a device computes half of its peak unless told otherwise",
}
#: Its names of these models.
NAMES = {
    "llama-2-7b": "Llama2_7B",
    "llama-2-70b": "Llama2_70B",
    "llama-3.1-8b": "Llama3_8B",
    "mixtral-8x7b": "Mixtral_8x7B",
}


def model_of(row: Row) -> Any:
    from mlsysim import Models

    return getattr(Models.Language, NAMES[row["model"]])


def served(
    row: Row, context: int, batch: int = 1, precision: str = "fp16", on: str = "A100"
) -> Any:
    from mlsysim import Hardware
    from mlsysim.solvers import ServingModel

    device = getattr(Hardware.Cloud, on)
    return ServingModel().solve(model_of(row), device, context, batch, precision)


def fits(row: Row) -> float:
    return float(served(row, row["context"]).total_memory_required.m_as("byte"))


def batch(row: Row) -> float:
    from mlsysim import Q_, Hardware
    from mlsysim.solvers import ContinuousBatchingModel

    device = Hardware.Cloud.A100
    memory = device.memory.model_copy(update={"capacity": Q_(72 * 2**30, "byte")})
    given = device.model_copy(update={"memory": memory})
    solve = ContinuousBatchingModel().solve
    return float(solve(model_of(row), given, row["context"], None, 10_000).max_active_requests)


def decode(row: Row) -> float:
    return float(1 / served(row, row["context"]).itl.m_as("s"))


def prefill(row: Row) -> float:
    return float(served(row, row["prompt"]).ttft.m_as("ms"))


def trained(row: Row) -> Any:
    """A GPT of these sizes."""
    from mlsysim import Q_
    from mlsysim.models.types import TransformerWorkload

    width = row["width"]
    params = row["layers"] * 12 * width**2 + row["vocab"] * width
    return TransformerWorkload(
        name="gpt",
        architecture="Transformer",
        parameters=Q_(params, "param"),
        layers=row["layers"],
        hidden_dim=width,
        heads=row["heads"],
        vocab_size=row["vocab"],
    )


def training_memory(row: Row) -> float:
    from mlsysim import Hardware
    from mlsysim.solvers import TrainingMemoryModel

    again = row["batch"] // (row["data"] * row["microbatch"])
    found = TrainingMemoryModel().solve(
        trained(row),
        Hardware.Cloud.A100,
        row["batch"],
        row["seq"],
        activation_checkpointing="full",
        tp_size=row["tensor"],
        pp_size=row["pipeline"],
        dp_size=row["data"],
        zero_stage=row["zero"],
        gradient_accumulation_steps=again,
    )
    return float(found.total_memory.m_as("byte"))


def plan(row: Row) -> float:
    from mlsysim import Systems
    from mlsysim.solvers import DistributedModel
    from mlsysim.systems.types import Fleet

    nodes = row["devices"] // 8
    fleet = Fleet(
        name="a100", node=Systems.Nodes.DGX_A100, count=nodes, fabric=Systems.Fabrics.InfiniBand_HDR
    )
    found = DistributedModel().solve(
        trained(row),
        fleet,
        row["batch"],
        tp_size=row["tensor"],
        pp_size=row["pipeline"],
        microbatch_count=row["batch"] // (row["data"] * row["microbatch"]),
        zero_stage=row["zero"],
        activation_recomputation=True,
        seq_len=row["seq"],
    )
    return float(found.step_latency_total.m_as("s"))


def mixture(row: Row) -> float:
    model = model_of(row)
    which = {"params": "parameters", "active": "active_parameters"}[row["which"]]
    return float(getattr(model, which).m_as("param"))


def quantised(row: Row) -> float:
    found = served(row, row["context"], precision=f"int{row['bits']}")
    return float(1 / found.itl.m_as("s"))


def price(row: Row) -> float:
    from mlsysim import Hardware
    from mlsysim.solvers import ContinuousBatchingModel

    model, device = model_of(row), Hardware.Cloud.H100
    whole = row["prompt"] + row["answer"]
    solve = ContinuousBatchingModel().solve
    most = solve(model, device, whole, None, 10_000, precision="fp8").max_active_requests
    rate = throughput(row, most, "fp8", "H100")
    return float(row["per_hour"] / 3600 / rate * 1e6)


def throughput(row: Row, batch: int, precision: str = "fp16", on: str = "A100") -> float:
    """Output tokens/s: all prompts of a batch, then all steps, halfway through the answers."""
    first = served(row, row["prompt"], batch, precision, on).ttft.m_as("s")
    step = served(row, row["prompt"] + row["answer"] // 2, batch, precision, on).itl.m_as("s")
    return float(batch * row["answer"] / (first + row["answer"] * step))


def sweep(rows: list[Row]) -> list[float | None]:
    from mlsysim import Hardware
    from mlsysim.solvers import ContinuousBatchingModel

    found: list[float | None] = []
    solve = ContinuousBatchingModel().solve
    for row in rows:
        whole, most = row["prompt"] + row["answer"], row["batch"]
        fit = solve(model_of(row), Hardware.Cloud.A100, whole, None, most).max_active_requests
        found.append(throughput(row, fit) if fit else None)
    return found
