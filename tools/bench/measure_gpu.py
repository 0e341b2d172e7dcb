"""Measure one GPU and write one JSON: copies, products, attention, decode steps.

    python measure_gpu.py gpu.json            # PyTorch and a GPU; nothing is downloaded
    python measure_gpu.py gpu.json --bytes    # and DRAM bytes of attention, by ncu
    python measure_gpu.py dry.json --dry-run  # small sizes on the CPU, with torch or NumPy
    python measure_gpu.py h200.json --predict H200   # costlib's predictions, before any run

A row is a case (what ran, with its sizes) and its seconds: the median of the repeats, the caches
overwritten before each. The file names the device, its driver, the versions, and the date.
Attention is timed forward, not masked, with 16,384 tokens in all; decode steps are a stack of
blocks of Llama 3.1 8B's shape with random weights, replayed as a CUDA graph.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

BLOCK = {"layers": 8, "d_model": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "d_ff": 14336}
SMALL = {"layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "d_ff": 128}
COUNTERS = ("dram__bytes_read.sum", "dram__bytes_write.sum")

Case = dict[str, Any]
Run = Callable[[], Any]


def cases(dry: bool) -> Iterator[Case]:
    """Everything that is measured, in order; dry, the same kinds at sizes that a CPU can do."""
    for mebibytes in (1, 2) if dry else (64, 256, 1024, 4096):
        yield {"kind": "copy", "elements": mebibytes * 2**20 // 2}
    for n in (64, 128) if dry else (4096, 8192, 16384):
        yield {"kind": "gemm", "m": n, "k": n, "n": n}
    shapes = [(64, 96)] if dry else [(4096, 4096), (4096, 12288), (8192, 10240)]
    rows = (1, 33) if dry else (1, 8, 16, 64, 128, 129, 256, 512, 1024, 2048, 4096, 8192)
    for k, n in shapes:
        yield from ({"kind": "gemm", "m": m, "k": k, "n": n} for m in rows)
    tokens, width = (256, 64) if dry else (16384, 2048)
    for d in (16,) if dry else (64, 128):
        for length in (64, 128) if dry else (512, 1024, 2048, 4096, 8192, 16384):
            for how in ("naive", "flash"):
                sizes = {"batch": tokens // length, "heads": width // d, "N": length, "d": d}
                yield {"kind": "attention", "how": how, **sizes}
    for batch in (1, 2) if dry else (1, 8, 64):
        for context in (16, 64) if dry else (512, 4096, 16384):
            yield {
                "kind": "decode",
                "batch": batch,
                "context": context,
                **(SMALL if dry else BLOCK),
            }


class WithTorch:
    """Runs by PyTorch, in bf16 on a GPU or, dry, on the CPU."""

    def __init__(self, torch: Any, device: str) -> None:
        self.torch, self.device = torch, device
        self.is_gpu = device == "cuda"
        self.flush = torch.empty(2**28 if self.is_gpu else 1, dtype=torch.int8, device=device)

    def tensor(self, *shape: int) -> Any:
        """Random numbers: constant ones draw less power, and run faster than real data."""
        made = self.torch.randn(shape, dtype=self.torch.bfloat16, device=self.device)
        return made * shape[-1] ** -0.5

    def copy(self, elements: int) -> Run:
        source, target = self.tensor(elements), self.tensor(elements)
        return lambda: target.copy_(source)

    def gemm(self, m: int, k: int, n: int) -> Run:
        left, right = self.tensor(m, k), self.tensor(k, n)
        return lambda: left @ right

    def attention(self, how: str, batch: int, heads: int, N: int, d: int) -> Run:
        q, k, v = (self.tensor(batch, heads, N, d) for _ in range(3))
        if how == "naive":
            return lambda: self.torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d), -1) @ v
        flash = self.torch.nn.functional.scaled_dot_product_attention
        if not self.is_gpu:
            return lambda: flash(q, k, v)
        attention = import_module("torch.nn.attention")  # that kernel and no other, or an error

        def run() -> Any:
            with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
                return flash(q, k, v)

        return run

    def decode(self, batch: int, context: int, **sizes: int) -> Run:
        step = self.torch.no_grad()(stack(self, batch, context, **sizes))
        if not self.is_gpu:
            return step
        aside = self.torch.cuda.Stream()
        aside.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(aside):
            for _ in range(3):  # libraries allocate on first use, which a graph must not
                step()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            step()
        return graph.replay

    def norm(self, x: Any) -> Any:
        return x * self.torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)

    def gate(self, x: Any, y: Any) -> Any:
        return self.torch.nn.functional.silu(x) * y

    def softmax(self, x: Any) -> Any:
        return self.torch.softmax(x, -1)

    def seconds(self, run: Run) -> float:
        """One run: between two events of the GPU's own clock, its L2 cache overwritten before."""
        if not self.is_gpu:
            start = perf_counter()
            run()
            return perf_counter() - start
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush.zero_()
        begin.record()
        run()
        end.record()
        self.torch.cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3

    def describe(self) -> dict[str, str]:
        torch = self.torch
        about = {"backend": "torch", "torch": torch.__version__, "cuda": str(torch.version.cuda)}
        if not self.is_gpu:
            return {**about, "device": "CPU (dry run)", "driver": ""}
        ask = ["nvidia-smi", "--query-gpu=name,driver_version,power.limit", "--format=csv,noheader"]
        told = subprocess.run(ask, capture_output=True, text=True) if shutil.which(ask[0]) else None
        fields = [*(told.stdout.split("\n")[0].split(", ") if told else []), "", "", ""]
        name = torch.cuda.get_device_name()
        return {**about, "device": name, "driver": fields[1], "power_limit": fields[2]}


class WithNumpy:
    """The same runs by NumPy in fp32: a dry run needs neither torch nor a GPU."""

    is_gpu = False

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def tensor(self, *shape: int) -> Any:
        return self.random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)

    def copy(self, elements: int) -> Run:
        source = self.tensor(elements)
        return source.copy

    def gemm(self, m: int, k: int, n: int) -> Run:
        left, right = self.tensor(m, k), self.tensor(k, n)
        return lambda: left @ right

    def attention(self, how: str, batch: int, heads: int, N: int, d: int) -> Run:
        q, k, v = (self.tensor(batch, heads, N, d) for _ in range(3))
        if how == "naive":
            return lambda: self.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(d)) @ v
        return lambda: online(q, k, v, max(N // 4, 1))

    def decode(self, batch: int, context: int, **sizes: int) -> Run:
        return stack(self, batch, context, **sizes)

    def norm(self, x: Any) -> Any:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def gate(self, x: Any, y: Any) -> Any:
        return x / (1 + np.exp(-x)) * y

    def softmax(self, x: Any) -> Any:
        weights = np.exp(x - x.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    def seconds(self, run: Run) -> float:
        start = perf_counter()
        run()
        return perf_counter() - start

    def describe(self) -> dict[str, str]:
        return {
            "backend": "numpy",
            "numpy": np.__version__,
            "device": "CPU (dry run)",
            "driver": "",
        }


def online(q: Any, k: Any, v: Any, block: int) -> Any:
    """Attention over blocks of keys with the running maximum and sum of online softmax."""
    top = np.full((*q.shape[:-1], 1), -np.inf, np.float32)
    total, out = np.zeros_like(top), np.zeros_like(q)
    for start in range(0, k.shape[-2], block):
        part = slice(start, start + block)
        scores = q @ k[..., part, :].swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        new = np.maximum(top, scores.max(-1, keepdims=True))
        weights, old = np.exp(scores - new), np.exp(top - new)
        total = total * old + weights.sum(-1, keepdims=True)
        out, top = out * old + weights @ v[..., part, :], new
    return out / total


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
    kv, group = kv_heads * head_dim, heads // kv_heads
    shapes = [(d_model, heads * head_dim + 2 * kv), (heads * head_dim, d_model)]
    shapes += [(d_model, 2 * d_ff), (d_ff, d_model)]
    weights = [[on.tensor(*shape) for shape in shapes] for _ in range(layers)]
    caches = [
        [on.tensor(batch, kv_heads, context, head_dim) for _ in range(2)] for _ in range(layers)
    ]
    start = on.tensor(batch, d_model)

    def step() -> Any:
        x = start
        for (qkv, out, up, down), (keys, values) in zip(weights, caches, strict=True):
            made = on.norm(x) @ qkv
            q = made[:, : heads * head_dim].reshape(batch, kv_heads, group, head_dim)
            scores = q @ keys.swapaxes(-1, -2) / math.sqrt(head_dim)
            x = x + (on.softmax(scores) @ values).reshape(batch, heads * head_dim) @ out
            wide = on.norm(x) @ up
            x = x + on.gate(wide[:, :d_ff], wide[:, d_ff:]) @ down
        return x

    return step


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


def prepare(on: Any, case: Case) -> Run:
    """The callable of a case."""
    sizes = {name: value for name, value in case.items() if name != "kind"}
    run: Run = getattr(on, case["kind"])(**sizes)
    return run


def timed(on: Any, case: Case, repeats: int) -> Case:
    """The case with its median seconds, or with the error that it ran into."""
    try:
        run = prepare(on, case)
        for _ in range(3):
            run()
        times = [on.seconds(run) for _ in range(repeats)]
    except (RuntimeError, MemoryError) as problem:  # torch: out of memory is a RuntimeError
        return {**case, "seconds": None, "error": str(problem).split("\n")[0]}
    return {**case, "seconds": median(times), "fastest": min(times), "repeats": repeats}


def dram_bytes(case: Case) -> dict[str, Any]:
    """Bytes to and from memory in one run of a case, by Nsight Compute in a process of its own."""
    if not shutil.which("ncu"):
        return {"bytes": None, "bytes_note": "ncu is not installed"}
    command = ["ncu", "--csv", "--profile-from-start", "off", "--metrics", ",".join(COUNTERS)]
    command += [sys.executable, __file__, "-", "--profile", json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True)
    return read_counters(done.stdout)


def read_counters(text: str) -> dict[str, Any]:
    """The sum of both counters over all kernels in ncu's CSV, or why there is none."""
    scale = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = [
        r for r in csv.DictReader(io.StringIO("\n".join(lines))) if r["Metric Name"] in COUNTERS
    ]
    if not rows:
        why = next((line for line in text.splitlines() if "ERR" in line), "no counters were read")
        return {"bytes": None, "bytes_note": why.strip("= ")}
    found = (float(r["Metric Value"].replace(",", "")) * scale[r["Metric Unit"]] for r in rows)
    return {"bytes": sum(found)}


def profile(case: Case) -> None:
    """Run a case once between marks that ncu waits for."""
    on = backend(dry=False)
    run = prepare(on, case)
    run()
    on.torch.cuda.synchronize()
    with on.torch.cuda.profiler.profile():
        run()
        on.torch.cuda.synchronize()


def predicted(case: Case, name: str) -> Case:
    """The case with the seconds and bytes of costlib's ideal roofline on a device."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from costlib import Transformer, attention, devices, matmul
    from costlib.measured import fused
    from costlib.measured.timing import copy
    from costlib.roofline import time

    kind, sizes = case["kind"], {k: v for k, v in case.items() if k != "kind"}
    if kind in ("copy", "gemm"):
        work: Any = copy(**sizes) if kind == "copy" else matmul(**sizes)
    elif kind == "attention":
        naive = case["how"] == "naive"
        scores = "materialised" if naive else "on-chip"
        work = attention(case["batch"], case["N"], case["heads"], case["d"], scores=scores)
        work = work if naive else fused(work, "flash")
    else:
        batch, context = sizes.pop("batch"), sizes.pop("context")
        whole = Transformer(vocab=1, rotary_dim=0, **sizes).decode(batch, context - 1)
        work = whole.without("embedding", "unembedding", "final_norm")
    return {**case, "seconds": float(time(work, devices[name])), "bytes": float(work.bytes())}


def written(path: Path, about: dict[str, str], rows: list[Case]) -> None:
    """One JSON: what it was measured on, and a row a line."""
    date = datetime.now(timezone.utc).date().isoformat()
    python = platform.python_version()
    head = json.dumps({"schema": 1, "date": date, "python": python, **about}, indent=1)[:-2]
    body = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    path.write_text(f'{head},\n "rows": [\n{body}\n ]\n}}\n', encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """The command line: see the top of this file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", type=Path, help="where the JSON goes")
    parser.add_argument("--dry-run", action="store_true", help="small sizes, on the CPU")
    parser.add_argument("--bytes", action="store_true", help="DRAM bytes of attention, by ncu")
    parser.add_argument("--predict", metavar="DEVICE", help="costlib's predictions, nothing is run")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--profile", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.profile:
        profile(json.loads(chosen.profile))
        return 0
    if chosen.predict:
        rows = [predicted(case, chosen.predict) for case in cases(chosen.dry_run)]
        written(chosen.file, {"device": chosen.predict, "backend": "costlib"}, rows)
        return 0
    on, rows = backend(chosen.dry_run), []
    for case in cases(chosen.dry_run):
        rows.append(timed(on, case, 2 if chosen.dry_run else chosen.repeats))
        if chosen.bytes and on.is_gpu and case["kind"] == "attention":
            rows[-1] |= dram_bytes(case)
        print(json.dumps(rows[-1]), flush=True)
    written(chosen.file, on.describe(), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
