"""How many decode configurations a second: costlib beside llm-analysis and GenZ, in one run.

    python -m tools.bench.peers FOLDER      # FOLDER gets the peers' own environments, made once

Every tool computes what it computes for one decode step of Llama-2-7B in 16 bits on one A100-80GB:
FLOPs, bytes and a roofline time for each (batch, context). The peers take one configuration a call,
so they are timed on a few seconds of calls. costlib takes a million at once, as two columns or as a
grid, beside a loop over blocks of NumPy arrays in which the step's one closed form is written out.
Not part of the tests: it installs packages and depends on the machine.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

from tools.bench.asked import with_genz, with_llm_analysis
from tools.bench.environments import printed_by, python_with

PEERS = {"llm_analysis": with_llm_analysis.NEEDS, "genz": with_genz.NEEDS}
CONFIGURATIONS = 10**6
BY_HAND, TIMED = "NumPy by hand, one closed form", "costlib, time(decode)"
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


def best_seconds(run: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of so many runs, after one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def by_hand(batch: Any, context: Any) -> Any:
    """FLOPs, bytes and time of a step of Llama-2-7B, its ops added up on paper: a·B + c·B·T.

    Not op by op: whatever binds one op binds all. It shows what NumPy can do at most.
    """
    import numpy as np

    params, width, layers = 6_607_343_616, 4096, 32  # parameters that multiply; K or V of a layer
    out = np.empty((3, len(batch)))
    for start in range(0, len(batch), 16_384):
        b, t = batch[start : start + 16_384], context[start : start + 16_384] + 1.0
        flops = b * (2.0 * params + 4.0 * layers * width * t)
        moved = 2.0 * params + b * (4.0 * layers * width * t)
        out[0, start : start + 16_384] = flops
        out[1, start : start + 16_384] = moved
        out[2, start : start + 16_384] = np.maximum(flops / 312e12, moved / 2.039e12)
    return out


def costlib_rates() -> dict[str, float]:
    """costlib: a million at once as columns, as a grid and as a table, and one at a time."""
    import numpy as np

    import costlib
    from costlib.timing.sweeps import columns

    model, device = costlib.models["llama-2-7b"], costlib.devices["A100-80GB"]
    chance = np.random.default_rng(0)
    batch, context = (chance.integers(1, most, CONFIGURATIONS) * 1.0 for most in (513, 131_073))
    side = int(CONFIGURATIONS**0.5)
    grid = np.arange(1.0, side + 1)[:, None], 16 * np.arange(1.0, side + 1)[None, :]
    paired = {"batch": batch, "context": context, "paired": True, "all_rows": True}
    time = partial(costlib.time, device=device, too_large="ignore")
    at_once: dict[str, Callable[[], object]] = {
        f"{BY_HAND}, two columns": lambda: by_hand(batch, context),
        f"{TIMED}, two columns": lambda: time(model.decode(batch, context)),
        "costlib, op by op, two columns": lambda: columns(model, device, batch, context),
        "costlib, op by op, a grid": lambda: columns(model, device, *grid),
        "costlib, a DataFrame of two columns": lambda: costlib.sweep(model, device, **paired),
    }
    rates = {name: CONFIGURATIONS / best_seconds(run) for name, run in at_once.items()}

    def step(batch: int, context: int) -> tuple[object, object, object]:
        ledger = model.decode(batch, context)
        return ledger.flops, ledger.bytes(), costlib.time(ledger, device)

    return rates | {
        "costlib, one at a time, time": calls_a_second(
            lambda batch, context: costlib.time(model.decode(batch, context), device)
        ),
        "costlib, one at a time, all three": calls_a_second(step),
    }


def peak_megabytes() -> float:
    """What a table of a million rows takes while it is made, the table included."""
    import tracemalloc

    import numpy as np

    import costlib

    chance = np.random.default_rng(0)
    batch, context = (chance.integers(1, most, CONFIGURATIONS) * 1.0 for most in (513, 131_073))
    tracemalloc.start()
    costlib.sweep(
        "llama-2-7b", "A100-80GB", batch=batch, context=context, paired=True, all_rows=True
    )
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak


def peer_rates(folder: Path) -> dict[str, float]:
    """The peers' rates, measured by this file in environments of their own."""
    found: dict[str, float] = {}
    for name, needs in PEERS.items():
        python = python_with(folder / name, needs)
        if rate := printed_by(python, "tools.bench.peers", "--peer", name):
            found[needs[0].replace("==", " ")] = json.loads(rate.strip().splitlines()[-1])
    return found


def main(arguments: list[str]) -> None:
    """Measure everything and print one table."""
    if arguments[:1] == ["--peer"]:
        print(json.dumps({"llm_analysis": llm_analysis, "genz": genz}[arguments[1]]()))
        return
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    rates = costlib_rates() | peer_rates(Path(arguments[0]))
    best, by_hand_rate = (rates[f"{name}, two columns"] for name in (TIMED, BY_HAND))
    print(f"Python {platform.python_version()}, {platform.machine()}, one process\n")
    print("| one decode step: FLOPs, bytes, time | configurations/s | µs each | time(decode) is |")
    print("|---|---:|---:|---:|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,.0f} | {1e6 / rate:,.3g} | {best / rate:,.3g}× |")
    print(f"\nOf the loop by hand, time(decode) reaches {best / by_hand_rate:.2f}.")
    print(f"A table of a million rows takes {peak_megabytes():.0f} MB of memory.")


if __name__ == "__main__":
    main(sys.argv[1:])
