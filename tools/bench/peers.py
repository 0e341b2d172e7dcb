"""How many decode configurations a second: costlib beside llm-analysis and GenZ, in one run.

    python -m tools.bench.peers FOLDER      # FOLDER gets the peers' own environment, made once

Every tool computes what it computes for one decode step of Llama-2-7B in 16 bits on one A100-80GB:
FLOPs, bytes and a roofline time for each (batch, context). The peers take one configuration a call,
so they are timed on a few seconds of calls; costlib takes a grid of a million at once, and calls.
Not part of the tests: it installs packages and depends on the machine.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from time import perf_counter

PEERS = {"llm-analysis": "llm-analysis==0.2.2", "GenZ": "genz-llm==0.0.16"}
BATCHES, CONTEXTS = 1000, 1000  # a million configurations
SECONDS = 5.0  # that a peer is called for


def configurations() -> Iterator[tuple[int, int]]:
    """(batch, context) pairs that fit the device (the peers refuse others), one at a time."""
    return cycle((1 + 7 * i % 16, 16 * (1 + 11 * i % 256)) for i in range(4096))


def calls_a_second(call: Callable[[int, int], object]) -> float:
    """How often a one-configuration call runs in a second, after one call to warm up."""
    pairs = configurations()
    call(*next(pairs))
    count, start = 0, perf_counter()
    while perf_counter() - start < SECONDS:
        call(*next(pairs))
        count += 1
    return count / (perf_counter() - start)


def llm_analysis() -> float:
    """llm-analysis: its inference summary, whose decode step is part of it."""
    import logging

    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import (
        get_dtype_config_by_name,
        get_gpu_config_by_name,
        get_model_config_by_name,
    )

    logging.disable(logging.CRITICAL)
    analysis = LLMAnalysis(
        get_model_config_by_name("NousResearch_Llama-2-7b-hf"),
        get_gpu_config_by_name("a100-sxm-80gb"),
        get_dtype_config_by_name("w16a16e16"),
        flops_efficiency=1,
        hbm_memory_efficiency=1,
    )
    return calls_a_second(
        lambda batch, context: analysis.inference(
            batch_size_per_gpu=batch, seq_len=context, num_tokens_to_generate=1
        )
    )


def genz() -> float:
    """GenZ: its model of one decode step."""
    from GenZ import decode_moddeling  # the package's own spelling

    return calls_a_second(
        lambda batch, context: decode_moddeling(
            model="llama2_7b",
            batch_size=batch,
            input_tokens=context,
            Bb=1,
            system_name="A100_80GB_GPU",
            bits="bf16",
        )
    )


def costlib_rates() -> dict[str, float]:
    """costlib: the grid at once, and one configuration at a time."""
    import numpy as np

    import costlib

    model, device = costlib.models["llama-2-7b"], costlib.devices["A100-80GB"]
    batch = np.arange(1, BATCHES + 1)[:, None]
    context = 16 * np.arange(1, CONTEXTS + 1)[None, :]

    def step(batch: object, context: object) -> tuple[object, object, object]:
        ledger = model.decode(batch, context)
        return ledger.flops, ledger.bytes(), costlib.roofline.time(ledger, device)

    step(batch, context)
    times = []
    for _ in range(5):
        start = perf_counter()
        step(batch, context)
        times.append(perf_counter() - start)
    return {
        "costlib, the grid at once": BATCHES * CONTEXTS / min(times),
        "costlib, one at a time": calls_a_second(step),
        "costlib, one at a time, FLOPs alone": calls_a_second(
            lambda batch, context: model.decode(batch, context).flops
        ),
    }


def peer_rates(folder: Path) -> dict[str, float]:
    """The peers' rates, measured by this file in their own environment."""
    home = folder / "bench-env"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *PEERS.values()], check=True)
    found: dict[str, float] = {}
    for name in PEERS:
        run = subprocess.run(
            [python, __file__, "--peer", name], capture_output=True, text=True, check=False
        )
        if run.returncode:
            print(f"{name} did not run: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            found[name] = json.loads(run.stdout.strip().splitlines()[-1])
    return found


def main(arguments: list[str]) -> None:
    """Measure everything and print one table."""
    if arguments[:1] == ["--peer"]:
        print(json.dumps({"llm-analysis": llm_analysis, "GenZ": genz}[arguments[1]]()))
        return
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    rates = costlib_rates() | peer_rates(Path(arguments[0]))
    best = max(rates.values())
    print(f"Python {platform.python_version()}, {platform.machine()}, one process\n")
    print("| one decode step: FLOPs, bytes, time | configurations/s | µs each | costlib is |")
    print("|---|---:|---:|---:|")
    for name, rate in rates.items():
        name = PEERS.get(name, name).replace("==", " ")
        print(f"| {name} | {rate:,.0f} | {1e6 / rate:,.3g} | {best / rate:,.0f}× |")


if __name__ == "__main__":
    main(sys.argv[1:])
