"""A thousand million configurations on a cluster: `costlib.sweep`, with a client and what to keep.

    python -m tools.bench.sweep                        # a cluster of this machine's cores
    python -m tools.bench.sweep --scheduler tcp://...  # a real cluster: nothing else changes

Models × devices × precisions × batches × contexts; of each piece the best row for every context is
kept. costlib itself does not depend on Dask.
"""

from __future__ import annotations

import argparse
import os
import warnings
from time import perf_counter
from typing import Any

MODELS = (
    "llama-2-7b",
    "llama-2-13b",
    "llama-3.1-8b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "mistral-7b-v0.3",
    "qwen2.5-7b",
    "qwen3-8b",
    "qwen3-14b",
    "opt-6.7b",
)
DEVICES = (
    "A10",
    "A40",
    "A100-40GB",
    "A100-80GB",
    "H100-SXM",
    "H100-PCIe",
    "H200",
    "B200",
    "L4",
    "L40S",
    "RTX-3060",
    "RTX-3090",
    "RTX-4090",
    "RTX-A6000",
    "MI250X-GCD",
    "MI300X",
    "TPU-v4",
    "TPU-v5e",
    "TPU-v5p",
    "TPU-v6e",
)
PRECISIONS = ("bf16", "int4", "mxfp4", "nf4")
BATCHES, CONTEXTS = range(1, 501), range(16, 40_001, 16)
MEMORY = 2e9  # bytes, for all processes on this machine


def best_of_each_context(table: Any) -> Any:
    """Of the rows that fit, the one with the most tokens a second for every context."""
    best = table.loc[table.groupby("context")["tokens_per_s"].idxmax()]
    return best[["context", "batch", "tokens_per_s", "model", "device", "precision"]]


def sweep(scheduler: str | None) -> None:
    """Run the sweep with a progress bar, then print the best batch for each device."""
    from distributed import Client, LocalCluster

    import costlib

    cluster = None
    if scheduler is None:
        here = os.cpu_count() or 1
        share = int(MEMORY / (here + 1))  # the last share is this process's: client and scheduler
        cluster = LocalCluster(here, threads_per_worker=1, memory_limit=share, silence_logs=50)
    client = Client(scheduler or cluster)
    cases = len(MODELS) * len(DEVICES) * len(PRECISIONS)
    count = cases * len(BATCHES) * len(CONTEXTS)
    print(f"{count:,} configurations on {client}")
    start = perf_counter()
    best = costlib.sweep(
        MODELS,
        DEVICES,
        batch=BATCHES,
        context=CONTEXTS,
        precision=PRECISIONS,
        keep=best_of_each_context,
        client=client,
        progress=True,
    )
    taken = perf_counter() - start
    memory = [*client.run(_peak_memory).values(), _peak_memory()]
    print(
        f"{taken:.0f} s: {count / taken / 1e6:.1f} million a second; peak memory "
        f"{sum(memory) / 1e9:.2f} GB in {len(memory)} processes"
    )
    print(f"\n{MODELS[0]}, 16 bits, context 4096: the best batch that fits, and its tokens/s")
    rows = best[(best["context"] == 4096) & (best["precision"] == "bf16")]
    for row in rows[rows["model"] == MODELS[0]].itertuples():
        print(f"  {row.device:12} {row.batch:4} {row.tokens_per_s:10,.0f}")
    client.close()
    if cluster:
        cluster.close()


def _peak_memory() -> int:
    """Bytes this process has held at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run the sweep on this machine's cores, or on the cluster whose scheduler is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheduler", help="the address of a running cluster")
    warnings.filterwarnings("ignore", module="distributed")
    sweep(parser.parse_args().scheduler)


if __name__ == "__main__":
    main()
