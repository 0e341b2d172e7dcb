"""How many plans a second `costlib.parallel.search` scores.

python -m tools.bench.search
"""

from __future__ import annotations

import os
from time import perf_counter

from costlib import models
from costlib.parallel import Cluster, search
from costlib.parallel.plan import Plan

#: Model, node, nodes, sequences of a batch, tokens of each.
CASES = (
    ("llama-3-8b", "DGX-H100", 8, 256, 8192),
    ("llama-3.1-70b", "DGX-H100", 32, 512, 8192),
    ("llama-3.1-405b", "DGX-H100", 2048, 2048, 8192),
    ("mixtral-8x7b", "DGX-H100", 16, 256, 4096),
    ("deepseek-v3", "DGX-H100", 64, 2048, 4096),
)


def main() -> None:
    """A row for each case, as the table in benchmarks.md has them."""
    print(f"{os.cpu_count()} cores, of which one is used\n")
    print("| model | devices | legal plans | that fit | seconds | plans/s |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, node, nodes, batch, seq in CASES:
        cluster = Cluster(node, nodes=nodes)
        start = perf_counter()
        found = search(name, cluster, batch=batch, seq=seq, all_rows=True)
        took = perf_counter() - start
        fits = int(found["fits"].sum())
        row = (name, f"{cluster.devices:,}", f"{len(found):,}", f"{fits:,}")
        print(f"| {' | '.join(row)} | {took:.1f} | {len(found) / took:,.0f} |")
    model, cluster = models["llama-3-8b"], Cluster("DGX-H100", nodes=8)
    plan, start, many = Plan(tensor=4, pipeline=2, data=8, sequence=True), perf_counter(), 50
    for _ in range(many):
        _ = plan.on(model, cluster, batch=256, seq=8192).step
    print(f"\nplan.on, one at a time: {many / (perf_counter() - start):.0f} a second")


if __name__ == "__main__":
    main()
