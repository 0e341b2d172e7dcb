"""How fast the counted memory and the closed forms are: ``python -m tools.bench.iomodel [quick]``.

Prints one table. The two timings of a ratio are taken turn about in the same process, best of
three, so that a busy machine slows both. Targets: counted FlashAttention-2 under 10 s and within 3
times the same NumPy code without counting; each closed form over a million points under 1 s; 100
random shapes a second in the property tests at N ≤ 64.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from costlib.iomodel import algorithms, best_blocks, bounds, counts

REPEATS = 3


def uncounted_flash2(Q: Any, K: Any, V: Any, block_rows: int, block_cols: int) -> Any:
    """FlashAttention-2's order in plain NumPy: the same blocks, the same steps, nothing counted."""
    length = len(Q)
    output = np.empty_like(Q)
    for row in range(0, length, block_rows):
        query = Q[row : row + block_rows].copy()
        out = np.zeros_like(query)
        top = np.full((len(query), 1), -np.inf, dtype=Q.dtype)
        total = np.zeros_like(top)
        for col in range(0, length, block_cols):
            tile = query @ K[col : col + block_cols].copy().T
            new_top = np.maximum(top, tile.max(axis=1, keepdims=True))
            change = np.exp(top - new_top)
            tile -= new_top
            np.exp(tile, out=tile)
            total *= change
            total += tile.sum(axis=1, keepdims=True)
            out *= change
            out += tile @ V[col : col + block_cols].copy()
            top = new_top
        output[row : row + block_rows] = out / total
    return output


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """The best time of each call, taken turn about."""
    times = [float("inf")] * len(calls)
    for _ in range(REPEATS):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[number] = min(times[number], time.perf_counter() - start)
    return times


def report(what: str, value: str, target: str) -> None:
    print(f"{what:<66} {value:>12}   {target}", flush=True)


def bench_flash2(N: int, d: int, M: int) -> None:
    Q, K, V = np.random.default_rng(0).normal(size=(3, N, d)).astype(np.float32)
    choice = best_blocks("flash2", N, d, M)
    sizes = rows, cols = choice.blocks["block_rows"], choice.blocks["block_cols"]
    counted, plain = fastest(
        lambda: algorithms.flash2(Q, K, V, M, block_rows=rows, block_cols=cols),
        lambda: uncounted_flash2(Q, K, V, *sizes),
    )
    run = algorithms.flash2(Q, K, V, M, block_rows=rows, block_cols=cols)
    error = np.abs(run.output - uncounted_flash2(Q, K, V, *sizes)).max()
    if (run.total, run.peak) != (choice.count.total, choice.count.peak) or error > 1e-5:
        raise SystemExit(f"the run is wrong: {run!r}, error {error}")
    report(f"flash2, N={N}, d={d}, M={M}, float32, blocks {sizes}", f"{counted:.2f} s", "< 10 s")
    report("  against the same NumPy code without counting", f"{counted / plain:.2f}×", "< 3×")
    bound = bounds.attention(N, d, M)
    report("  transfers against the lower bound", f"{run.total / bound:.3f}×", "≥ 1×")


def bench_others(N: int, d: int, M: int) -> None:
    Q, K, V = np.random.default_rng(0).normal(size=(3, N, d)).astype(np.float32) / 4
    for name in ("flash", "fused", "small_cache", "naive"):
        start = time.perf_counter()
        run = getattr(algorithms, name)(Q, K, V, M)
        seconds = time.perf_counter() - start
        report(f"{name}, N={N}, d={d}, M={M}, {run.total:,} transfers", f"{seconds:.1f} s", "")


def bench_closed_forms(points: int) -> None:
    rng = np.random.default_rng(0)
    N, d = rng.integers(1, 100_000, points), rng.integers(1, 512, points)
    M = rng.integers(1, 1_000_000, points)
    rows, cols = rng.integers(1, 1000, points), rng.integers(1, 1000, points)
    forms: dict[str, Callable[[], Any]] = {
        "flash": lambda: counts.flash(N, d, rows, cols),
        "flash2": lambda: counts.flash2(N, d, rows, cols),
        "small_cache": lambda: counts.small_cache(N, d, rows),
        "fused": lambda: counts.fused(N, d, rows, cols),
        "naive": lambda: counts.naive(N, d, rows),
        "the lower bound": lambda: bounds.attention(N, d, M),
        "flash2, causal": lambda: counts.flash2(N, d, rows, cols, causal=True),
    }
    for (name, _), seconds in zip(forms.items(), fastest(*forms.values()), strict=True):
        report(f"closed form of {name}, {points:,} points", f"{seconds:.2f} s", "< 1 s")


def bench_random_shapes(shapes: int) -> None:
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in range(shapes):
        N, d, rows, cols = (int(rng.integers(1, most + 1)) for most in (64, 16, 64, 64))
        causal = bool(rng.integers(2))
        Q, K, V = rng.normal(size=(3, N, d))
        for name, blocks in (
            ("flash", {"block_rows": rows, "block_cols": cols}),
            ("flash2", {"block_rows": rows, "block_cols": cols}),
            ("fused", {"tile_rows": rows, "tile_cols": cols, "inner": min(4, d)}),
        ):
            count = getattr(counts, name)(N, d, **blocks, causal=causal)
            run = getattr(algorithms, name)(Q, K, V, count.peak, **blocks, causal=causal)
            if (run.total, run.peak) != (count.total, count.peak):
                raise SystemExit(f"{name} at N={N}, d={d}, {blocks}: {run!r} is not {count}")
    rate = shapes / (time.perf_counter() - start)
    report(
        "random shapes, N ≤ 64, three algorithms each, checked", f"{rate:.0f} per s", "> 100 per s"
    )


def drawn(rng: np.random.Generator, most: int, points: int) -> Any:
    """Whole numbers from 1 on, spread over the powers of two up to 2**most."""
    return rng.integers(1, 2 ** rng.integers(1, most + 1, points))


def bench_shapes(points: int) -> None:
    """Masks, groups, widths and latents: how near to its bound a drawn schedule comes, at best."""
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for latent in (False, True):
        for mask in ("full", "causal", "window"):
            N, d = drawn(rng, 17, points), drawn(rng, 9, points)
            width = rng.integers(1, d + 1) if latent else drawn(rng, 9, points)
            shape = {
                "keys": N + drawn(rng, 17, points),
                "value_width": width,
                "heads": drawn(rng, 4, points),
                "group": drawn(rng, 5, points),
                "latent": latent,
                "causal": mask == "causal",
                "window": drawn(rng, 17, points) if mask == "window" else None,
            }
            rows, cols = drawn(rng, 15, points), drawn(rng, 9, points)
            run = counts.streamed(N, d, rows, value_cols=cols, **shape)
            ratio = run.total / bounds.attention(N, d, run.peak, **shape)
            beyond = ratio[ratio > 1].min()
            if not (ratio >= 1).all():
                raise SystemExit(f"{mask}, latent={latent}: a count is {ratio.min()} of its bound")
            name = f"{mask}{' latent' if latent else ''}, {points:,} drawn schedules over the bound"
            report(name, f"{beyond:.6f}×", f"≥ 1×, {(ratio == 1).mean():.0%} equal")
    report("  all of these", f"{time.perf_counter() - start:.1f} s", "")


def main(quick: bool) -> None:
    bench_shapes(100_000 if quick else 2_000_000)
    bench_closed_forms(100_000 if quick else 1_000_000)
    bench_random_shapes(100 if quick else 500)
    bench_flash2(2048 if quick else 8192, 64, 98_304)
    bench_others(*((2048, 64, 98_304) if quick else (16_384, 64, 98_304)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    report("peak memory of this process", f"{peak:.1f} GB", "")


if __name__ == "__main__":
    main("quick" in sys.argv[1:])
