"""A thousand million configurations on a cluster: the same calls on Dask arrays.

    python -m tools.bench.sweep                        # a cluster of this machine's cores
    python -m tools.bench.sweep --scheduler tcp://...  # a real cluster: nothing else changes

Models × devices × batch × context × precision; for each the tokens a second of a decode step, 0
where weights and cache do not fit; reduced to the best batch. costlib does not depend on Dask.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter
from typing import Any

MODELS = ("llama-2-7b", "llama-2-13b", "llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b",
          "mistral-7b-v0.3", "qwen2.5-7b", "qwen3-8b", "qwen3-14b", "opt-6.7b")  # fmt: skip
DEVICES = ("A10", "A40", "A100-40GB", "A100-80GB", "H100-SXM", "H100-PCIe", "H200", "B200", "L4",
           "L40S", "RTX-3060", "RTX-3090", "RTX-4090", "RTX-A6000", "MI250X-GCD", "MI300X",
           "TPU-v4", "TPU-v5e", "TPU-v5p", "TPU-v6e")  # fmt: skip
BYTES = (2.0, 1.0, 0.5, 0.25, 4.0)  # per element of weights and cache
MEMORY = 2e9  # bytes, for all processes on this machine
BATCHES, CONTEXTS = 400, 2500  # batch 1, 2, ...; context 16, 32, ...


def best_batches(model: Any, devices: list[Any], contexts_a_chunk: int = 20) -> Any:
    """Lazily, over (device, context, precision): the best tokens/s and the batch that gives it."""
    import dask.array as da
    import numpy as np

    from costlib import Device, Precision, roofline

    def axis(values: Any, place: int, chunks: Any = -1) -> Any:
        shape = [1, 1, 1, 1]
        shape[place] = -1
        lazy = da.from_array(np.asarray(values, dtype=float), chunks=chunks)
        return lazy.reshape(shape)

    fleet = Device(
        "fleet",
        {"bf16": axis([device.compute_rate() for device in devices], 0)},
        axis([device.memory_rate for device in devices], 0),
    )
    capacity = axis([device.capacity for device in devices], 0)
    batch = axis(np.arange(1, BATCHES + 1), 1)
    context = axis(16 * np.arange(1, CONTEXTS + 1), 2, contexts_a_chunk)
    width = axis(BYTES, 3)
    precision = Precision(weights=width, kv=width)
    seconds = roofline.time(
        model.decode(batch, context), fleet, precision=precision, granularity="step"
    )
    held = model.params() * width + model.kv_bytes(batch, context, precision)
    rate = da.where(held <= capacity, batch / seconds, 0.0)
    return rate.max(axis=1), 1 + rate.argmax(axis=1)


def sweep(scheduler: str | None) -> None:
    """Run the sweep with a progress bar, then print the best batch for each device."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, progress, wait

    from costlib import devices, models

    cluster = None
    if scheduler is None:
        here = os.cpu_count() or 1
        share = int(MEMORY / (here + 1))  # the last share is this process's: client and scheduler
        cluster = LocalCluster(here, threads_per_worker=1, memory_limit=share, silence_logs=50)
    client = Client(scheduler or cluster)
    fleet = [devices[name] for name in DEVICES]
    start = perf_counter()
    pairs = [best_batches(models[name], fleet) for name in MODELS]
    lazy = [da.stack(each) for each in zip(*pairs, strict=True)]
    count = len(MODELS) * len(DEVICES) * BATCHES * CONTEXTS * len(BYTES)
    print(f"{count:,} configurations on {client}")
    futures = client.persist(lazy)
    progress(futures, notebook=False)
    wait(futures)
    rate, batch = dask.compute(*futures)
    taken = perf_counter() - start
    memory = [*client.run(_peak_memory).values(), _peak_memory()]
    print(f"\n{taken:.0f} s: {count / taken / 1e6:.1f} million a second; peak memory "
          f"{sum(memory) / 1e9:.2f} GB in {len(memory)} processes")  # fmt: skip
    print(f"\n{MODELS[0]}, 16 bits, context 4096: the best batch that fits, and its tokens/s")
    at = (0, slice(None), 4096 // 16 - 1, 0)
    for name, best, fastest in zip(DEVICES, batch[at], rate[at], strict=True):
        print(f"  {name:12} {best if fastest else 0:4.0f} {fastest:10,.0f}")
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
    sweep(parser.parse_args().scheduler)


if __name__ == "__main__":
    main()
