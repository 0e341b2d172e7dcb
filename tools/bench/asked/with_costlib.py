"""costlib, by its datasheets alone."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
NEEDS: list[str] = []
REMARKS: dict[str, str] = {}
A100, H100 = "A100-80GB", "H100-SXM"


def fits(row: Row) -> float:
    import costlib

    return float(costlib.models[row["model"]].memory(1, row["context"] - 1).total)


def batch(row: Row) -> float:
    import costlib

    model, device = costlib.models[row["model"]], costlib.devices[A100]
    return float(costlib.model.kvcache.largest_batch(model, device, row["context"]).largest)


def decode(row: Row, device: Any = A100) -> float:
    import costlib

    step = costlib.models[row["model"]].decode(1, row["context"])
    return float(1 / costlib.time(step, device))


def prefill(row: Row, device: Any = A100) -> float:
    import costlib

    prompt = costlib.models[row["model"]].prefill(1, row["prompt"], logits="last")
    return float(1000 * costlib.time(prompt, device))


def training_memory(row: Row) -> float:
    return float(_planned(row).memory.total)


def plan(row: Row) -> float:
    return float(_planned(row).step)


def _planned(row: Row) -> Any:
    from costlib.parallel import Cluster, Plan

    plan = Plan(
        tensor=row["tensor"],
        pipeline=row["pipeline"],
        data=row["data"],
        zero=row["zero"],
        microbatch=row["microbatch"],
        recompute="full",
        recipe="bf16-fp32-grads",
    )
    return plan.on(
        model_of(row),
        Cluster("DGX-A100", nodes=row["devices"] // 8),
        batch=row["batch"],
        seq=row["seq"],
        scores="materialised",
    )


def model_of(row: Row) -> Any:
    from costlib import Transformer

    return Transformer(
        layers=row["layers"],
        d_model=row["width"],
        heads=row["heads"],
        d_ff=4 * row["width"],
        vocab=row["vocab"],
        gated=False,
        tied=True,
    )


def mixture(row: Row) -> float:
    import costlib

    model = costlib.models[row["model"]]
    return float({"params": model.params(), "active": model.active_params()}[row["which"]])


def quantised(row: Row, device: Any = A100) -> float:
    import costlib

    step = costlib.models[row["model"]].decode(1, row["context"])
    return float(
        1 / costlib.time(step, device, precision=costlib.Precision(weights=f"int{row['bits']}"))
    )


def price(row: Row, device: Any = H100) -> float:
    from costlib.serving import Server, per_million

    server = Server(row["model"], device, "fp8")
    most = server.room(row["prompt"] + row["answer"])
    steps = row["answer"] * server.step(most, row["prompt"] + row["answer"] / 2)
    seconds = steps + server.prefill(row["prompt"], batch=most)
    return float(per_million(seconds / (most * row["answer"]), row["per_hour"]))


def sweep(rows: list[Row], device: Any = A100) -> list[float]:
    import numpy as np

    from costlib.serving import Server

    server = Server(rows[0]["model"], device)
    batch, prompt, answer = np.array(
        [[row["batch"], row["prompt"], row["answer"]] for row in rows]
    ).T
    batch = np.minimum(batch, server.room(prompt + answer))
    seconds = answer * server.step(batch, prompt + answer / 2) + server.prefill(prompt, batch=batch)
    return list(batch * answer / seconds)
