"""Measure one GPU and write one JSON: memory, launches, copies, products, attention, decode steps.

    python measure_gpu.py gpu.json             # PyTorch, nvidia-ml-py, a GPU; nothing is fetched
    python measure_gpu.py gpu.json --bytes     # and bytes that kernels move, by ncu
    python measure_gpu.py gpu.json --minutes 10    # stops in time; the same line again goes on
    python measure_gpu.py dry.json --dry-run   # small sizes on the CPU, with torch or NumPy
    python measure_gpu.py h200.json --predict H200     # costlib's predictions, before any run
    python measure_gpu.py gpu.json --compare h200.json     # measured beside predicted, misses first

A row is a case (what ran, with its sizes) and what was found: mostly its seconds, the median of the
repeats, with the L2 cache overwritten before each. The file names the device, its driver, clocks
and power limit, the versions, the seed and the date; it is whole after every case. What matters
most comes first, so that a run that is cut short is of use, and a case that fails says why in its
row.

Attention is not masked, with 16,384 tokens in all, forward; and once forward and backward at the
sizes for which FlashAttention's paper prints bytes: op by op ("math"), by FlashAttention, whose
backward pass is one, and by FlexAttention, whose backward pass goes through the keys and through
the queries in turn and so computes scores once more ("flex"). Decode steps are a stack of blocks of
Llama 3.1 8B's shape with random weights, replayed as a CUDA graph, at batches on both sides of the
ridge. A product in fp8 is timed alone, and with the casts of both operands from bf16. Attention and
products are also run by plain kernels with tiles of known sizes ("tiled_kernels.py" beside this
file), because the bytes between L2 and the cores depend on them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np

SCHEMA = 4
SEED = 0
BLOCK = {"layers": 8, "d_model": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "d_ff": 14336}
SMALL = {"layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "d_ff": 128}
#: The batch, heads, length and width for which FlashAttention's paper prints gigabytes moved.
PRINTED = {"batch": 64, "heads": 16, "N": 1024, "d": 64}

#: Attention of one new token over a cache: batch, context, heads, KV heads.
CACHED = [
    *((8, 4096, 32, 8), (64, 4096, 32, 8), (64, 4096, 8, 8), (64, 4096, 64, 8)),
    *((256, 1024, 32, 8), (16, 16384, 32, 8), (64, 4096, 32, 1)),
]

Case = dict[str, Any]
Run = Callable[..., Any]
#: What runs while joules are read; nothing, where the GPU is idle.
BUSY: dict[str, Case] = {
    "copy": {"kind": "copy", "elements": 2**30},
    "read": {"kind": "read", "elements": 2**30},
    "write": {"kind": "write", "elements": 2**30},
    "gemm": {"kind": "gemm", "precision": "bf16", **dict.fromkeys("mkn", 8192)},
    "fp8 gemm": {"kind": "gemm", "precision": "fp8", **dict.fromkeys("mkn", 8192)},
    "decode": {"kind": "decode", "batch": 8, "context": 4096, **BLOCK},
    **{
        f"decode {batch}": {"kind": "decode", "batch": batch, "context": 512, **BLOCK}
        for batch in (1, 64, 256, 1024)
    },
    "decode long": {"kind": "decode", "batch": 32, "context": 16384, **BLOCK},
    "decode many": {"kind": "decode", "batch": 512, "context": 2048, **BLOCK},
    "decode small": {
        "kind": "decode",
        "batch": 128,
        "context": 1024,
        **BLOCK,
        "d_model": 2048,
        "heads": 16,
        "kv_heads": 4,
        "d_ff": 8192,
    },
}


# ---------------------------------------------------------------------------- what is measured


def cases(dry: bool) -> Iterator[Case]:
    """Everything that is measured, in order; dry, the same kinds at sizes that a CPU can do."""
    yield {"kind": "memory"}
    for how in ("eager", "graph"):
        yield {"kind": "launch", "how": how, "kernels": 10 if dry else 1000}
    for mebibytes in (1, 2) if dry else (64, 256, 1024, 4096):
        yield {"kind": "copy", "elements": mebibytes * 2**20 // 2}
    for kind in ("scale", "read", "write"):
        yield {"kind": kind, "elements": 2**16 if dry else 2**29}
    for precision in ("bf16", "fp8"):
        for n in (64, 128) if dry else (4096, 8192, 16384):
            yield {"kind": "gemm", "precision": precision, "m": n, "k": n, "n": n}
    for n in (64,) if dry else (4096, 8192):
        yield {"kind": "gemm", "precision": "fp8", "casts": True, "m": n, "k": n, "n": n}
    for how in ("math", "flash", "flex"):
        sizes = {"batch": 2, "heads": 2, "N": 32, "d": 16} if dry else PRINTED
        yield {"kind": "attention", "how": how, "backward": True, **sizes}
    yield from tiled_cases(dry)
    yield from decode_cases(dry)
    yield from attention_cases(dry)
    yield from product_cases(dry)
    for how in ("idle", *BUSY):
        yield {"kind": "power", "how": how, "loop": 0.05 if dry else 3.0}


def tiled_cases(dry: bool) -> Iterator[Case]:
    """Attention over the rows of queries in a block, and products over the side of a tile."""
    sizes = {"batch": 1, "heads": 2, "N": 64, "d": 16} if dry else PRINTED | {"N": 4096, "batch": 4}
    for rows in (16, 64) if dry else (16, 32, 64, 128):
        yield {"kind": "attention", "how": "tiled", "backward": False, "rows": rows, **sizes}
    for tile in (16, 64) if dry else (32, 64, 128):
        square = dict.fromkeys("mkn", 64 if dry else 4096)
        yield {"kind": "gemm", "precision": "bf16", "tile": tile, **square}


def decode_cases(dry: bool) -> Iterator[Case]:
    """Decode steps over batch and context."""
    beyond = () if dry else (128, 256, 384, 512, 1024)  # the ridge, at the shortest context
    for batch in (1, 2) if dry else (1, 8, 64, *beyond):
        for context in (16, 64) if dry else (512, 4096, 16384)[: 1 if batch in beyond else 3]:
            sizes = SMALL if dry else BLOCK
            yield {"kind": "decode", "batch": batch, "context": context, **sizes}
    for batch, context, heads, kv_heads in [(2, 16, 4, 2)] if dry else CACHED:
        sizes = {"heads": heads, "kv_heads": kv_heads, "head_dim": 16 if dry else 128}
        yield {"kind": "cached_attention", "batch": batch, "context": context, **sizes}


def attention_cases(dry: bool) -> Iterator[Case]:
    """Attention of a prompt over its length, with as many tokens in all."""
    tokens, width = (256, 64) if dry else (16384, 2048)
    for d in (16,) if dry else (64, 128):
        for length in (64, 128) if dry else (512, 1024, 2048, 4096, 8192, 16384):
            sizes = {"batch": tokens // length, "heads": width // d, "N": length, "d": d}
            for how in ("math", "flash", "cudnn"):
                yield {"kind": "attention", "how": how, "backward": False, **sizes}
            for how in ("flash", "cudnn"):
                yield {"kind": "attention", "how": how, "backward": False, "causal": True, **sizes}


def product_cases(dry: bool) -> Iterator[Case]:
    """Products over rows, from one token to thousands, around the edges of tiles too."""
    shapes = [(64, 96)] if dry else [(4096, 4096), (4096, 12288), (8192, 10240)]
    rows = (1, 33) if dry else (1, 8, 16, 64, 128, 129, 256, 512, 1024, 2048, 4096, 8192)
    squares = [] if dry else [(4096, 4096, 4096)]  # measured before
    for precision in ("bf16", "fp8"):
        for m, k, n in ((m, k, n) for k, n in shapes for m in rows):
            if (m, k, n) not in squares:
                yield {"kind": "gemm", "precision": precision, "m": m, "k": k, "n": n}


def is_counted(case: Case) -> bool:
    """Whether ncu counts the bytes of a case: not where squares would fill the memory again for
    each pass of the counters, nor for the many products and steps."""
    if case["kind"] == "attention":
        return case["how"] != "math" or case["N"] <= 4096
    square: bool = case["kind"] == "gemm" and case["m"] == case["k"] == case["n"] < 16384
    return square or case["kind"] in ("scale", "read", "write", "cached_attention")


def sizes_of(case: Case) -> dict[str, Any]:
    """What a case is called with."""
    return {name: value for name, value in case.items() if name != "kind"}


# --------------------------------------------------------------------------------- by PyTorch


class WithTorch:
    """Runs by PyTorch, in bf16 on a GPU or, dry, on the CPU."""

    def __init__(self, torch: Any, device: str) -> None:
        self.torch, self.device = torch, device
        self.is_gpu = device == "cuda"
        if self.is_gpu:
            self.meter = beside("gpu_counters").Meter()
            self.before = self.meter.memory()  # no context exists yet
        torch.manual_seed(SEED)
        self.scratch: Any = None

    def tensor(self, *shape: int) -> Any:
        """Random numbers: constant ones draw less power, and run faster than real data."""
        made = self.torch.randn(shape, dtype=self.torch.bfloat16, device=self.device)
        return made * shape[-1] ** -0.5

    def copy(self, elements: int) -> Run:
        source, target = self.tensor(elements), self.tensor(elements)
        return lambda: target.copy_(source)

    def scale(self, elements: int) -> Run:
        """A copy by a kernel: the other one is the driver's own, whose bytes ncu doesn't count."""
        source, target = self.tensor(elements), self.tensor(elements)
        return lambda: self.torch.mul(source, 2, out=target)

    def read(self, elements: int) -> Run:
        source = self.tensor(elements)
        return lambda: source.amax()

    def write(self, elements: int) -> Run:
        target = self.tensor(elements)
        return lambda: target.fill_(2)

    def gemm(
        self, precision: str, m: int, k: int, n: int, casts: bool = False, tile: int = 0
    ) -> Run:
        left, right = self.tensor(m, k), self.tensor(n, k)  # columns of the right lie together
        if precision == "bf16":
            right = right.t().contiguous()
            if tile and self.is_gpu:
                return right_as(
                    left @ right, lambda: beside("tiled_kernels").multiply(left, right, tile)
                )
            return lambda: left @ right
        multiply, wide = self.torch._scaled_mm, self.torch.bfloat16

        def product(a: Any, b: Any) -> Any:
            return multiply(a[0], b[0].t(), a[1], b[1], out_dtype=wide)

        if casts:
            return lambda: product(self.eight(left), self.eight(right))
        a, b = self.eight(left), self.eight(right)
        return lambda: product(a, b)

    def eight(self, x: Any) -> tuple[Any, Any]:
        """A tensor in fp8 and its scale: read for the largest entry, read again and written."""
        scale = (x.abs().amax() / 448).float()
        return (x / scale).to(self.torch.float8_e4m3fn), scale

    def attention(
        self,
        how: str,
        backward: bool,
        batch: int,
        heads: int,
        N: int,
        d: int,
        rows: int = 0,
        causal: bool = False,
    ) -> Run:
        shape = (batch, heads, N, d)
        q, k, v = (self.tensor(*shape).requires_grad_(backward) for _ in range(3))
        if how == "tiled":
            if not self.is_gpu:
                return lambda: self.math(q, k, v)
            q = q * d  # so that weights differ, and a wrong kernel shows
            return right_as(
                self.flash(q, k, v), lambda: beside("tiled_kernels").attend(q, k, v, rows)
            )
        attend = getattr(self, how)
        if causal:
            return lambda: attend(q, k, v, is_causal=True)
        if not backward:
            return lambda: attend(q, k, v)
        slope = self.tensor(*shape)
        return lambda: self.torch.autograd.grad(attend(q, k, v), (q, k, v), slope)

    def math(self, q: Any, k: Any, v: Any) -> Any:
        """Op by op, the squares between them in memory."""
        return self.torch.softmax(q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2), -1) @ v

    def flash(self, q: Any, k: Any, v: Any, **options: bool) -> Any:
        return self.by("FLASH_ATTENTION", q, k, v, **options)

    def cudnn(self, q: Any, k: Any, v: Any, **options: bool) -> Any:
        return self.by("CUDNN_ATTENTION", q, k, v, **options)

    def by(self, kernel: str, q: Any, k: Any, v: Any, **options: bool) -> Any:
        """Attention by that kernel and no other, or an error; on a CPU, by whichever there is."""
        attend = self.torch.nn.functional.scaled_dot_product_attention
        if not self.is_gpu:
            return attend(q, k, v, **options)
        choice = import_module("torch.nn.attention")
        with choice.sdpa_kernel(getattr(choice.SDPBackend, kernel)):
            return attend(q, k, v, **options)

    @property
    def flex(self) -> Run:
        """FlexAttention, compiled; where there is no GPU, op by op."""
        if not self.is_gpu:
            return self.math
        compiled: Run = self.torch.compile(
            import_module("torch.nn.attention.flex_attention").flex_attention
        )
        return compiled

    def cached_attention(self, batch: int, context: int, **sizes: int) -> Run:
        heads, kv_heads, head_dim = (sizes[k] for k in ("heads", "kv_heads", "head_dim"))
        q, cache = self.tensor(batch, heads, 1, head_dim), (batch, kv_heads, context, head_dim)
        keys, values = self.tensor(*cache), self.tensor(*cache)
        return lambda: self.attend(q, keys, values)

    def decode(self, batch: int, context: int, **sizes: int) -> Run:
        step = self.torch.no_grad()(stack(self, batch, context, **sizes))
        return self.graph(step) if self.is_gpu else step

    def graph(self, step: Run) -> Run:
        """The same work launched at once: a serving system does not launch op by op."""
        aside = self.torch.cuda.Stream()
        aside.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(aside):
            for _ in range(3):  # libraries allocate on first use, which a graph must not
                step()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            step()
        return lambda: graph.replay()

    def norm(self, x: Any) -> Any:
        return x * self.torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)

    def gate(self, x: Any, y: Any) -> Any:
        return self.torch.nn.functional.silu(x) * y

    def attend(self, q: Any, keys: Any, values: Any) -> Any:
        """One new query for each head, over keys that groups of heads share."""
        return self.flash(q, keys, values, enable_gqa=True)

    def launches(self, how: str, kernels: int) -> Run:
        """So many kernels that do next to nothing, one after another."""
        small = self.torch.zeros(1, device=self.device)

        def run() -> Any:
            for _ in range(kernels):
                small.add_(1)

        return self.graph(run) if how == "graph" and self.is_gpu else run

    def seconds(self, run: Run, cold: bool = True) -> float:
        """One run: between two events of the GPU's own clock, its L2 cache overwritten before. That
        takes long enough for Python to have launched the run when it begins."""
        if not self.is_gpu:
            return by_clock(run)
        if self.scratch is None:
            self.scratch = self.torch.empty(2**28, dtype=self.torch.int8, device=self.device)
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(8 if cold else 0):
            self.scratch.zero_()
        begin.record()
        run()
        end.record()
        self.torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3

    def finish(self) -> None:
        """Wait for what was launched, and hand back what a case held."""
        if self.is_gpu:
            self.torch.cuda.synchronize()
            self.torch.cuda.empty_cache()

    def memory(self) -> dict[str, Any]:
        """Bytes that a program cannot use: what the driver keeps, a context, a workspace."""
        if not self.is_gpu:
            return {"total": None, "note": "only a GPU has a memory of its own"}
        cuda = self.torch.cuda
        free, total = cuda.mem_get_info()  # makes the context
        square, product = self.tensor(4096, 4096), self.tensor(4096, 4096)
        cuda.empty_cache()
        reserved, left = cuda.memory_reserved(), cuda.mem_get_info()[0]
        self.torch.mm(square, square, out=product)
        cuda.synchronize()
        more = cuda.memory_reserved() - reserved
        outside = left - cuda.mem_get_info()[0] - more
        told, used = self.before
        found = {"total": total, "driver_total": told, "used_before": used}
        return {**found, "context": total - free, "workspace": more, "loaded_by_product": outside}

    def describe(self) -> dict[str, str]:
        torch = self.torch
        about = {"backend": "torch", "torch": torch.__version__, "cuda": str(torch.version.cuda)}
        if not self.is_gpu:
            return {**about, "device": "CPU (dry run)", "driver": ""}
        library = str(import_module("triton").__version__)
        return {**about, "triton": library, "seed": str(SEED), **self.meter.describe()}


# ----------------------------------------------------------------------------------- by NumPy


class WithNumpy:
    """The same runs by NumPy in fp32: a dry run needs neither torch nor a GPU."""

    is_gpu = False

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def tensor(self, *shape: int) -> Any:
        return self.random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)

    def copy(self, elements: int) -> Run:
        source = self.tensor(elements)
        return lambda: source.copy()

    def cached_attention(self, batch: int, context: int, **sizes: int) -> Run:
        heads, kv_heads, head_dim = (sizes[k] for k in ("heads", "kv_heads", "head_dim"))
        q, cache = self.tensor(batch, heads, 1, head_dim), (batch, kv_heads, context, head_dim)
        keys, values = self.tensor(*cache), self.tensor(*cache)
        return lambda: self.attend(q, keys, values)

    def gemm(self, m: int, k: int, n: int, **_: Any) -> Run:
        left, right = self.tensor(m, k), self.tensor(k, n)
        return lambda: left @ right

    def scale(self, elements: int) -> Run:
        source = self.tensor(elements)
        return lambda: source * 2

    def read(self, elements: int) -> Run:
        return self.tensor(elements).max

    def write(self, elements: int) -> Run:
        target = self.tensor(elements)
        return lambda: target.fill(2)

    def attention(self, batch: int, heads: int, N: int, d: int, **_: Any) -> Run:
        q, k, v = (self.tensor(batch, heads, N, d) for _ in range(3))
        return lambda: self.math(q, k, v)

    def math(self, q: Any, k: Any, v: Any) -> Any:
        return softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) @ v

    def decode(self, batch: int, context: int, **sizes: int) -> Run:
        return stack(self, batch, context, **sizes)

    def norm(self, x: Any) -> Any:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def gate(self, x: Any, y: Any) -> Any:
        return x / (1 + np.exp(-x)) * y

    def attend(self, q: Any, keys: Any, values: Any) -> Any:
        """One new query for each head, over keys that groups of heads share."""
        batch, heads, _, d = q.shape
        grouped = q.reshape(batch, keys.shape[1], -1, d)
        return self.math(grouped, keys, values).reshape(batch, heads, 1, d)

    def launches(self, kernels: int, **_: Any) -> Run:
        small = np.zeros(1)
        return lambda: [np.add(small, 1, out=small) for _ in range(kernels)]

    def seconds(self, run: Run, **_: Any) -> float:
        return by_clock(run)

    def finish(self) -> None:
        """Nothing is left over."""

    def memory(self) -> dict[str, Any]:
        return {"total": None, "note": "only a GPU has a memory of its own"}

    def describe(self) -> dict[str, str]:
        about = {"backend": "numpy", "numpy": np.__version__}
        return {**about, "device": "CPU (dry run)", "driver": ""}


# ------------------------------------------------------------------------------ what both run


def softmax(x: Any) -> Any:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def stack(
    on: Any,
    batch: int,
    context: int,
    *,
    layers: int,
    d_model: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    d_ff: int,
) -> Run:
    """One decode step of blocks like Llama's: norms, grouped attention, a gated layer."""
    kv, width = kv_heads * head_dim, heads * head_dim
    shapes = [(d_model, width + 2 * kv), (width, d_model), (d_model, 2 * d_ff), (d_ff, d_model)]
    weights = [[on.tensor(*shape) for shape in shapes] for _ in range(layers)]
    cache = (batch, kv_heads, context, head_dim)
    caches = [(on.tensor(*cache), on.tensor(*cache)) for _ in range(layers)]
    start = on.tensor(batch, d_model)

    def step() -> Any:
        x = start
        for (qkv, out, up, down), (keys, values) in zip(weights, caches, strict=True):
            q = (on.norm(x) @ qkv)[:, :width].reshape(batch, heads, 1, head_dim)
            x = x + on.attend(q, keys, values).reshape(batch, width) @ out
            wide = on.norm(x) @ up
            x = x + on.gate(wide[:, :d_ff], wide[:, d_ff:]) @ down
        return x

    return step


def by_clock(run: Run) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def backend(dry: bool) -> Any:
    """torch on a GPU; dry, torch on the CPU or NumPy."""
    try:
        import torch
    except ImportError:
        if dry:
            return WithNumpy()
        raise SystemExit(
            "measure_gpu.py needs torch to measure a GPU; --dry-run does not"
        ) from None
    if not dry and not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU here; --dry-run does without one")
    return WithTorch(torch, "cpu" if dry else "cuda")


# ---------------------------------------------------------------------------- one case, one row


def found(on: Any, case: Case, repeats: int) -> Case:
    """The case and what was found, or the error that it ran into."""
    try:
        if case["kind"] == "memory":
            row = on.memory()
        elif case["kind"] == "power":
            row = power(on, **sizes_of(case))
        elif case["kind"] == "launch":
            row = launch(on, repeats, **sizes_of(case))
        else:
            row = timed(on, case, repeats)
    except Exception as problem:  # of whatever library: the row says which
        row = {"seconds": None, "error": str(problem).strip().split("\n")[0]}
    on.finish()
    return {"case": case, **row}


def prepare(on: Any, case: Case) -> Run:
    """The callable of a case."""
    run: Run = getattr(on, case["kind"])(**sizes_of(case))
    return run


def timed(on: Any, case: Case, repeats: int) -> Case:
    """The median and the fastest of the repeats, after three that do not count, and the clock."""
    run = prepare(on, case)
    for _ in range(3):
        run()
    times, clocks = list[float](), list[int]()
    for _ in range(repeats):
        times.append(on.seconds(run))
        clocks += [on.meter.megahertz()] if on.is_gpu else []
    clock = {"sm_megahertz": median(clocks)} if clocks else {}
    return {"seconds": median(times), "fastest": min(times), "repeats": repeats, **clock}


def launch(on: Any, repeats: int, how: str, kernels: int) -> Case:
    """Seconds for each kernel of many that do nothing: what starting one costs."""
    run = on.launches(how=how, kernels=kernels)
    run()
    times = [on.seconds(run, cold=False) / kernels for _ in range(repeats)]
    return {"seconds": median(times), "fastest": min(times), "repeats": repeats}


def power(on: Any, how: str, loop: float) -> Case:
    """Watts and clock while one thing runs for some seconds, and the seconds of one of it."""
    if not on.is_gpu:
        return {"watts": None, "note": "only a GPU is asked for its watts"}
    run = prepare(on, BUSY[how]) if how in BUSY else (lambda: sleep(0.01))
    kept_busy(on, run, loop / 2)  # until it is warm and its clock has settled
    before, (seconds, runs, clocks) = on.meter.joules(), kept_busy(on, run, loop)
    spent = on.meter.joules() - before
    found = {"watts": spent / seconds, "joules": spent / runs, "sm_megahertz": median(clocks)}
    for _ in range(8):
        run()
    health = on.meter.health()  # while it runs
    on.torch.cuda.synchronize()
    return {"seconds": seconds / runs, **found, "runs": runs, **health}


def kept_busy(on: Any, run: Run, loop: float) -> tuple[float, int, list[int]]:
    """Seconds, runs and clocks while something runs for that long."""
    runs, clocks, begun = 0, list[int](), perf_counter()
    while perf_counter() - begun < loop:
        for _ in range(8):
            run()
        clocks.append(on.meter.megahertz())  # while it runs
        on.torch.cuda.synchronize()
        runs += 8
    return perf_counter() - begun, runs, clocks


def beside(module: str) -> Any:
    """A module beside this file: "gpu_counters" of NVIDIA's tools, "tiled_kernels" in Triton."""
    folder = str(Path(__file__).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return import_module(module)


def right_as(wanted: Any, run: Run) -> Run:
    """A run whose result was first compared with what it must be."""
    got = run()
    off = float((got - wanted).float().norm() / wanted.float().norm())
    if not off < 0.02:  # a few roundings of bf16
        raise ValueError(f"the kernel is wrong: relative error {off:.3g}")
    return run


def profile(cases: list[Case]) -> None:
    """Run each case once between marks that ncu waits for."""
    on = backend(dry=False)
    for case in cases:
        run = prepare(on, case)
        run()
        on.torch.cuda.synchronize()
        with on.torch.cuda.profiler.profile():
            run()
            on.torch.cuda._sleep(1)
            on.torch.cuda.synchronize()
        del run
        on.finish()


# ------------------------------------------------------------------------------------ the file


def written(path: Path, about: dict[str, str], rows: list[Case]) -> None:
    """One JSON: what it was measured on, and a row a line; whole, or as it was before."""
    date = datetime.now(timezone.utc).date().isoformat()
    python = platform.python_version()
    head = json.dumps({"schema": SCHEMA, "date": date, "python": python, **about}, indent=1)[:-2]
    body = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    aside = path.with_name(path.name + ".part")
    aside.write_text(f'{head},\n "rows": [\n{body}\n ]\n}}\n', encoding="utf-8")
    os.replace(aside, path)


def earlier(path: Path, about: dict[str, str]) -> list[Case]:
    """The rows that a run before this one left, if it was on the same device and versions."""
    if not path.exists():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    other = {k: content.get(k) for k in about if content.get(k) != about[k]}
    if content.get("schema") != SCHEMA or other:
        was = ", ".join(f"{k} {v}" for k, v in other.items()) or f"schema {content.get('schema')}"
        raise SystemExit(f"{path} is of another run ({was}): name another file, or move it away")
    rows: list[Case] = content["rows"]
    return rows


def run_all(path: Path, *, dry: bool, repeats: int, minutes: float, with_bytes: bool) -> int:
    """Measure what the file lacks, until the time is over; the file is whole after each case."""
    on, begun = backend(dry), perf_counter()
    about = on.describe()
    rows, todo = earlier(path, about), list(cases(dry))
    for case in todo:
        if any(row["case"] == case for row in rows):
            continue
        if perf_counter() - begun > 60 * minutes:
            print(f"{len(rows)} of {len(todo)} cases in {path}; the same line again goes on")
            return 0
        rows.append(found(on, case, repeats))
        print(json.dumps(rows[-1]), flush=True)
        written(path, about, rows)
    if with_bytes and on.is_gpu:
        wanted = [row for row in rows if is_counted(row["case"]) and not row.get("bytes")]
        told = beside("gpu_counters").counted(__file__, [row["case"] for row in wanted])
        for row, bytes_ in zip(wanted, told, strict=True):
            row.update(bytes_)
        written(path, about, rows)
    print(f"all {len(todo)} cases in {path}")
    return 0


def on_paper(chosen: argparse.Namespace) -> int:
    """Predictions into a file, or a file's rows beside predictions; nothing is run."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tools.bench.predicted_gpu import compared, predictions

    try:
        if chosen.predict:
            about = {"device": chosen.predict, "backend": "costlib"}
            written(chosen.file, about, predictions(chosen.predict, cases(chosen.dry_run)))
        else:
            rows = json.loads(chosen.file.read_text(encoding="utf-8"))["rows"]
            told = json.loads(Path(chosen.compare).read_text(encoding="utf-8"))
            print(compared(rows, told["rows"], told["device"]))
    except (OSError, LookupError, ValueError) as problem:  # no such file, device or rate
        raise SystemExit(f"measure_gpu.py: {problem}") from None
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", type=Path, help="where the JSON goes, and an earlier one is")
    parser.add_argument("--dry-run", action="store_true", help="small sizes, on the CPU")
    parser.add_argument("--bytes", action="store_true", help="bytes that kernels move, by ncu")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many")
    parser.add_argument("--predict", metavar="DEVICE", help="costlib's predictions, nothing is run")
    parser.add_argument(
        "--compare", metavar="FILE", help="the rows beside predictions as they stood"
    )
    parser.add_argument("--repeats", type=int, help="runs that are timed (20; 2 if dry)")
    parser.add_argument("--profile", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.profile:
        profile(json.load(sys.stdin))
        return 0
    if chosen.predict or chosen.compare:
        return on_paper(chosen)
    repeats = chosen.repeats or (2 if chosen.dry_run else 20)
    return run_all(
        chosen.file,
        dry=chosen.dry_run,
        repeats=repeats,
        minutes=chosen.minutes,
        with_bytes=chosen.bytes,
    )


if __name__ == "__main__":
    sys.exit(main())
