"""The explorers of the chapter on serving: a frontier, all answers at once, requests in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from costfigures.batches import longest_pause
from costfigures.explorers.page import Explorer
from costfigures.serving import frontiers, timelines
from costlib.serving import Requests, Server, best_batch, listed, per_million, poisson, simulate
from costlib.serving.answers import answer

#: Requests of the film of a server, at most, and its draws of chance.
SERVED = {"most": 48, "seeds": 5}


def frontier(
    model: str = "llama-3.1-8b",
    device: str = "H100-SXM",
    context: int = 1000,
    per_hour: float = 3.99,
) -> Explorer:
    """Tokens a second for one user and for all, and the largest batch within some targets."""
    server = Server(model, device)
    rows = []
    for milliseconds in (6, 10, 25, 100):
        best = best_batch(server, context, milliseconds / 1000)
        price = per_million(1 / best.throughput, per_hour * server.devices)
        rows.append(
            [
                f"{milliseconds} ms",
                f"{best.batch:,}",
                f"{best.throughput:,.0f}",
                best.limit,
                f"{price:.3f}",
            ]
        )
    columns = [
        "TPOT at most",
        "batch",
        "tokens/s in total",
        "limited by",
        f"$ per million at ${per_hour}/h",
    ]
    ways = {"16 bits": server, "fp8": Server(model, device, "fp8")}
    return Explorer("frontier", frontiers(ways, context), columns, rows)


def calculator(
    model: str = "llama-3.1-8b", device: str = "H100-SXM", batch: int = 8, context: int = 8000
) -> Explorer:
    """Whether a model fits on a device, how fast it is and what it costs, each number with its
    sum."""
    asked: Any = {"batch": batch, "context": context, "prompt": 7000}
    found = answer(model, device, **asked, price_per_hour=3.99, watts=700)
    rows = [[row.name, row.shown, f"= {row.why}"] for row in found]
    figure = frontiers({model: Server(model, device)}, context)
    return Explorer("calculator", figure, ["answer", "value", "the sum"], rows)


def drawn(seed: int) -> tuple[list[float], list[float], list[float]]:
    """Arrivals at one a second, and for each a share of 1 for its prompt and its answer.

    >>> arrivals, prompts, answers = drawn(1)
    >>> len(arrivals), max(prompts + answers) < 1
    (48, True)
    """
    arrivals = poisson(1, SERVED["most"], prompt=1, answer=1, seed=seed).arrival
    lengths = np.random.default_rng(seed).random((2, SERVED["most"])).round(3)
    return arrivals.tolist(), lengths[0].tolist(), lengths[1].tolist()


def some_requests(rate: float, count: int, prompt: int, answer: int, seed: int) -> Requests:
    """The film's requests: lengths between half and one and a half of the averages."""
    arrivals, *shares = (np.array(each[:count]) for each in drawn(seed))
    mean = zip((prompt, answer), shares, strict=True)
    lengths = [[max(1, int(m * (0.5 + u) + 0.5)) for u in some] for m, some in mean]
    return listed(arrivals / rate, *lengths)


def serving_film(rate: float = 2.5, count: int = 20, piece: int = 256) -> Explorer:
    """Requests on one server in time, with prompts prefilled whole and in chunks."""
    requests = some_requests(rate, count, 2000, 100, seed=1)
    server, runs, rows = Server("llama-3.1-8b", "RTX-4090"), {}, []
    for name, chunk in (("whole", None), (f"chunks of {piece}", piece)):
        runs[name] = run = simulate(requests, server, chunk=chunk, most=32, one_by_one=True)
        half, last = np.percentile(run.ttft, [50, 100], method="inverted_cdf")
        pause = longest_pause(run)
        rows.append([name, *(f"{1000 * each:,.0f}" for each in (half, last, pause))])
    peak = max(run.column("blocks").max() / run.pages.blocks for run in runs.values())
    rows.append(["memory in use, at most", f"{peak:.0%}", "", ""])
    columns = ["prefill", "median TTFT, ms", "longest TTFT, ms", "longest pause, ms"]
    return Explorer("serving_film", timelines(runs, 6), columns, rows)
