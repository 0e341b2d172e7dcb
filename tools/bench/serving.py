"""How fast serving is worked out: a frontier of 10⁴ points, and a simulated day.

    python -m tools.bench.serving

The frontier is the ledger's own times, so this is also how fast `costlib.time` is on arrays. The
simulator is timed with every step taken by itself, and as it is used, with a bar on the terminal.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from costlib.serving import Server, frontier, poisson, simulate, uniform

MODELS = ("llama-3.1-8b", "gemma-2-9b", "qwen3-30b-a3b", "deepseek-v3", "qwen3-next-80b-a3b")
POINTS = 10_000
REQUESTS = 100_000


def best_of(work: object, repeats: int = 7) -> float:
    """Seconds of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()  # type: ignore[operator]
        times.append(perf_counter() - begin)
    return min(times)


def main() -> None:
    """Print a line for each thing that is timed."""
    for name in MODELS:
        server = Server(name, "H200", tensor=8)
        spent = best_of(lambda on=server: frontier(on, 4096, np.arange(1, POINTS + 1)))
        print(f"frontier of {POINTS:,} batches, {name}: {1000 * spent:.1f} ms")
    server = Server("llama-3.1-8b", "H100-SXM")
    lengths = {"prompt": uniform(100, 1000), "answer": uniform(100, 500)}
    few, many = (poisson(20, count, seed=1, **lengths) for count in (5000, REQUESTS))
    for how in ({}, {"chunk": 512}, {"reserve": "blocks"}):
        begin = perf_counter()
        run = simulate(few, server, one_by_one=True, **how)
        spent = perf_counter() - begin
        print(f"one step at a time, {how or 'prompts whole'}: {run.steps / spent:,.0f} steps/s")
    begin = perf_counter()
    run = simulate(many, server, progress=True)
    spent = perf_counter() - begin
    print(f"{REQUESTS:,} requests, {run.steps:,} steps: {spent:.1f} s")


if __name__ == "__main__":
    main()
