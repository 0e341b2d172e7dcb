"""costlib, with what is reached of a datasheet by the throughputs that it carries, on the whole."""

from __future__ import annotations

from typing import Any

from tools.bench.asked import with_costlib
from tools.bench.asked.with_costlib import A100, H100, Row, model_of

NEEDS: list[str] = []
_SAME = "counted, with nothing to be reached"
REMARKS = {"fits": _SAME, "batch": _SAME, "training memory": _SAME, "mixture": _SAME}


def _typical(name: str) -> Any:
    import costlib
    from costlib.measured import TYPICAL

    return costlib.devices[name].with_(
        compute_efficiency=TYPICAL.compute,
        bandwidth_efficiency=TYPICAL.memory,
        overhead_per_op=TYPICAL.launch,
        blend=TYPICAL.blend,
    )


def decode(row: Row) -> float:
    return with_costlib.decode(row, _typical(A100))


def prefill(row: Row) -> float:
    return with_costlib.prefill(row, _typical(A100))


def quantised(row: Row) -> float:
    return with_costlib.quantised(row, _typical(A100))


def price(row: Row) -> float:
    return with_costlib.price(row, _typical(H100))


def sweep(rows: list[Row]) -> list[float]:
    return with_costlib.sweep(rows, _typical(A100))


def plan(row: Row) -> float:
    import costlib
    from costlib.measured import PlanRow, plan_seconds

    node = costlib.nodes["DGX-A100"]
    return float(
        plan_seconds(
            PlanRow(
                table="bigscience",
                by="BigScience",
                name="GPT",
                model=model_of(row),
                device=node.device,
                node=node,
                devices=row["devices"],
                tensor=row["tensor"],
                pipeline=row["pipeline"],
                zero=row["zero"],
                microbatch=row["microbatch"],
                batch=row["batch"],
                seq=row["seq"],
                recompute="full",
            )
        )
    )
