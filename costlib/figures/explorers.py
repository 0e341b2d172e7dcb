"""The explorers: figures that the reader can move on the book's site, and what stands in elsewhere.

On the site a script puts the explorer in the place of these figures and tables. In Colab, on
GitHub, in print and without JavaScript the figure and the table are what there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from costlib import iomodel, kvcache, training
from costlib.answers import answer
from costlib.catalog import devices, models
from costlib.catalog import nodes as catalogued
from costlib.display import quantity
from costlib.figures.canvas import COLOURS, INK, Figure, canvas
from costlib.figures.iomodel import cache_contents, look
from costlib.figures.pebbles import pebbling
from costlib.figures.rooflines import phases
from costlib.figures.serving import frontiers, longest_pause, timelines
from costlib.iomodel import Run, bounds
from costlib.iomodel.counting.block_sizes import largest_plain_size, plain_count
from costlib.iomodel.pebbles import Dag, Game
from costlib.numbers import ceil_div
from costlib.parallel import Cluster, Plan
from costlib.precision import Precision
from costlib.roofline import Device
from costlib.roofline import table as times
from costlib.serving import Requests, Server, best_batch, listed, per_million, poisson, simulate
from costlib.sources import jamesnulliu

__all__ = [
    "Explorer",
    "budget",
    "calculator",
    "film",
    "frontier",
    "io",
    "memory",
    "mesh",
    "pebbles",
    "prefill",
    "serving_film",
    "speculative",
    "step",
]

_DASHES = ("-", "--", ":", "-.")

#: The algorithms that move with the reader's sizes.
ATTENTIONS = ("naive", "flash", "flash2", "small_cache")

#: The parts of a step that are messages which do not hide.
MESSAGES = ("tensor", "sequence", "context", "expert", "pipeline", "data")

#: The film's rows and head dimension, and the fast memories to choose from.
FILM = {"N": 16, "d": 4}
FILM_CAPACITIES = (48, 96, 160)

#: Requests of the film of a server, at most, and its draws of chance.
SERVED = {"most": 48, "seeds": 5}

#: The boards of the pebble game: title, graph, and how many red pebbles to choose from.
BOARDS: dict[str, tuple[str, Dag, tuple[int, ...]]] = {
    "chain": ("chain of 6", Dag.chain(6), (2, 3)),
    "tree": ("sum of 8", Dag.tree(8), (3, 4, 5)),
    "diamond": ("diamond, 3 by 3", Dag.grid(3, 3), (3, 4)),
    "matmul": ("2×2 by 2×2 product", Dag.matmul(2, 2, 2, fma=True), (4, 5, 6)),
    "fft": ("FFT of 4 points", Dag.fft(4), (3, 4, 5)),
}


@dataclass(frozen=True, slots=True)
class Explorer:
    """A figure and a table, and the place on the site's page where they can be moved."""

    name: str
    figure: Figure
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        return (
            f'<div data-explorer="{self.name}">'
            "<p>On the book's page this figure can be moved, in a browser with JavaScript. "
            "Its numbers as it stands here:</p>"
            f"<table><thead>{row(self.columns, 'th')}</thead><tbody>{body}</tbody></table></div>"
        )

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(self.figure, HTML(self._repr_html_()))  # type: ignore[no-untyped-call]


def prefill(model: str = "llama-2-7b", device: str = "A100-80GB") -> Explorer:
    """Arithmetic intensity of prefill against the sequence, published and counted."""
    chosen, seqs = models[model], 2 ** np.arange(0, 18)
    notes = _notes(chosen)
    published = jamesnulliu.prefill(1, seqs, **notes).intensity()
    counted = chosen.prefill(1, seqs, logits="last", scores="on-chip").intensity()
    figure = _against_ridge(
        "tokens in the sequence",
        seqs,
        {"as published": published, "every op counted": counted},
        devices[device],
        f"Prefill of {model}, batch 1",
    )
    rows = [
        [f"{seq:,}", f"{one:,.1f}", f"{other:,.1f}"]
        for seq, one, other in zip(seqs, published, counted, strict=True)
        if seq in (1, 128, 1024, 8192, 131072)
    ]
    columns = ["tokens", "FLOPs per byte, as published", "every op counted"]
    return Explorer("prefill", figure, columns, rows)


def speculative(
    model: str = "llama-2-7b", device: str = "A100-80GB", batch: int = 16, cached: int = 4096
) -> Explorer:
    """Arithmetic intensity of a step against its new tokens, three ways."""
    chosen, new = models[model], 2 ** np.arange(0, 13)
    sizes = {"B": batch, "S_i": new, "S_c": cached, **_notes(chosen)}
    curves = {
        "as published": jamesnulliu.decode(**sizes).intensity(),
        "its slips corrected": jamesnulliu.corrected_decode(**sizes).intensity(),
        "every op counted": chosen.decode(
            batch, cached, new, logits="last", scores="on-chip"
        ).intensity(),
    }
    title = f"A step of {model} against {cached:,} cached tokens, batch {batch}"
    figure = _against_ridge("new tokens a step", new, curves, devices[device], title)
    rows = [
        [f"{count:,}", *(f"{values[at]:,.1f}" for values in curves.values())]
        for at, count in enumerate(new)
        if count in (1, 8, 64, 256, 4096)
    ]
    return Explorer("speculative", figure, ["new tokens", *curves], rows)


def step(
    model: str = "llama-3-8b", device: str = "A100-80GB", batch: int = 64, context: int = 4096
) -> Explorer:
    """Every op of a decode step under the roofline."""
    ledger = models[model].decode(batch, context, logits="last", scores="on-chip")
    spent = times(ledger, devices[device])
    slowest = spent.iloc[:-1].sort_values("time", ascending=False, kind="stable").head(5)
    rows = [
        [
            name,
            quantity(row["flops"], "FLOP"),
            quantity(row["bytes"], "B"),
            f"{row['time'] * 1e3:.3f}",
        ]
        for name, row in [*slowest.iterrows(), ("all ops", spent.iloc[-1])]
    ]
    figure = phases({"time": ledger}, devices[device])
    return Explorer("step", figure, ["op", "work", "moved", "ms"], rows)


def memory(
    model: str = "llama-3-8b", device: str = "A100-80GB", batch: int = 16, context: int = 8192
) -> Explorer:
    """What a device's memory holds with four kinds of cache, and how far each goes."""
    chosen, capacity = models[model], devices[device].usable
    kinds = {
        "as it is": chosen,
        "MHA": chosen.with_(kv_heads=chosen.heads),
        "MQA": chosen.with_(kv_heads=1),
        "window 4,096": chosen.with_(window=4096),
    }
    rows, parts = [], {}
    weights = chosen.params() * Precision().weights
    for name, kind in kinds.items():
        held = kvcache.memory(kind, batch, context - 1)
        longest = kvcache.largest_context(kind, capacity - weights + held.weights, batch).largest
        parts[name] = (weights, held.kv, held.activations)
        rows.append(
            [name, f"{held.kv / 1e9:.2f}", "without end" if longest == np.inf else f"{longest:,}"]
        )
    columns = ["cache", "GB of cache", f"longest context at batch {batch}"]
    figure = _held(parts, capacity, f"{model} on {device}: batch {batch}, {context:,} tokens")
    return Explorer("memory", figure, columns, rows)


def mesh(
    model: str = "llama-3.1-70b",
    node: str = "DGX-H100",
    nodes: int = 16,
    batch: int = 128,
    seq: int = 8192,
) -> Explorer:
    """What a device holds, and where a step's seconds go, for some ways to fold a mesh."""
    cluster, found, rows = Cluster(catalogued[node], nodes), {}, []
    for tensor, pipeline in ((8, 4), (8, 1), (4, 4), (16, 2)):
        data = cluster.devices // (tensor * pipeline)
        plan = Plan(tensor=tensor, pipeline=pipeline, data=data, sequence=True, zero=1)
        one = plan.on(model, cluster, batch=batch, seq=seq)
        name = f"{tensor} × {pipeline} × {data}"
        found[name] = one
        held, parts = one.memory.total, one.parts
        rows.append(
            [
                name,
                f"{held / 1e9:.1f}",
                f"{one.step:.2f}",
                *(f"{parts[each] / one.step:.0%}" for each in ("tensor", "bubble")),
                f"{one.mfu:.1%}",
            ]
        )
    title = f"{model} on {cluster.devices} of {node}: tensor × pipeline × data"
    columns = ["tensor × pipeline × data", "GB a device", "s a step", "tensor", "bubble", "MFU"]
    return Explorer("mesh", _folded(found, title), columns, rows)


def io(N: int = 4096, d: int = 64) -> Explorer:
    """Entries that attention moves against the fast memory it has, and the bound."""
    M = np.geomspace(d * 8, N * d * 4, 97).astype(int)
    curves = {
        name: plain_count(name, N, d, largest_plain_size(name, d, M)).total for name in ATTENTIONS
    }
    bound = bounds.attention(N, d, M)
    figure = _io_figure(N, d, M, curves, bound)
    rows = [
        [f"{M[at]:,}", *(f"{values[at]:,.0f}" for values in curves.values()), f"{bound[at]:,.0f}"]
        for at in range(0, len(M), 16)
    ]
    names = [look(name)["label"] for name in curves]
    return Explorer("io", figure, ["M", *names, "lower bound"], rows)


def budget(
    model: str = "llama-3.1-8b",
    device: str = "H100-SXM",
    tokens: float = 15e12,
    count: int = 1024,
    mfu: float = 0.4,
    seq: int = 8192,
) -> Explorer:
    """A training run's bill, and the size that its FLOPs were best spent on."""
    chosen, machine, fit = models[model], devices[device], training.FITS["besiroglu"]
    run = training.Run(model=chosen, tokens=tokens, device=machine, devices=count, mfu=mfu, seq=seq)
    state, saved = training.state_bytes(chosen).total, training.checkpoint_bytes(chosen)
    between, write = 50_000 / count, saved / 20e9 / 3600
    failures = training.likely_failures(24 * run.days, count, 50_000)
    spent = 6 * chosen.active_params() * tokens
    size, many = fit.best(spent)
    rows = [
        ["days", f"{run.days:.2f}"],
        ["device-hours", f"{run.device_hours:,.0f}"],
        ["dollars, at 2 an hour", f"{run.dollars(per_device_hour=2):,.0f}"],
        ["MWh, at 770 W", f"{run.energy_kwh(watts=770) / 1e3:,.0f}"],
        ["GB of state", f"{state / 1e9:.1f}"],
        ["devices that hold it", f"{ceil_div(state, machine.usable):,}"],
        ["failures, one in 50,000 device-hours", f"{failures:.1f}"],
        ["hours between checkpoints, written at 20 GB/s", f"{training.young(write, between):.2f}"],
        ["best size, 10⁹ parameters", f"{size / 1e9:.1f}"],
        ["best tokens, 10⁹", f"{many / 1e9:,.0f}"],
    ]
    title = f"{model} and {tokens / 1e12:g} trillion tokens"
    figure = _valley(fit, spent, chosen.active_params(), title)
    return Explorer("budget", figure, ["of the run", "it takes"], rows)


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
    columns = ["target", "batch", "tokens/s for all", "ended by", f"price at {per_hour} an hour"]
    ways = {"16 bits": server, "fp8": Server(model, device, "fp8")}
    return Explorer("frontier", frontiers(ways, context), columns, rows)


def calculator(
    model: str = "llama-3.1-8b", device: str = "H100-SXM", batch: int = 8, context: int = 8000
) -> Explorer:
    """All that a model on a device is asked before it is rented, each number with its sum."""
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
    """Requests on one server in time, with prompts read whole and in pieces."""
    requests = some_requests(rate, count, 2000, 100, seed=1)
    server, runs, rows = Server("llama-3.1-8b", "RTX-4090"), {}, []
    for name, chunk in (("whole", None), (f"in pieces of {piece}", piece)):
        runs[name] = run = simulate(requests, server, chunk=chunk, most=32, one_by_one=True)
        half, last = np.percentile(run.time_to_first, [50, 100], method="inverted_cdf")
        pause = longest_pause(run)
        rows.append([name, *(f"{1000 * each:,.0f}" for each in (half, last, pause))])
    peak = max(run.column("blocks").max() / run.pages.blocks for run in runs.values())
    rows.append(["memory taken, at most", f"{peak:.0%}", "", ""])
    columns = ["prompts", "first token, ms, for half", "at worst", "longest pause, ms"]
    return Explorer("serving_film", timelines(runs, 6), columns, rows)


def filmed(algorithm: str, M: int, N: int = FILM["N"], d: int = FILM["d"]) -> Run:
    """One counted run with its trace, on fixed inputs and its best blocks.

    >>> filmed("flash2", M=96).total
    512
    """
    random = np.random.default_rng(7)
    Q, K, V = (random.standard_normal((N, d)) for _ in range(3))
    run: Run = getattr(iomodel, algorithm)(Q, K, V, iomodel.TwoLevelMemory(M, trace=True))
    return run


def film(N: int = FILM["N"], d: int = FILM["d"], M: int = FILM_CAPACITIES[1]) -> Explorer:
    """What FlashAttention-2 holds, event by event, and what each algorithm moves."""
    runs = {name: filmed(name, M, N, d) for name in ("flash2", "flash", "small_cache", "naive")}
    rows = [[name, f"{run.reads:,}", f"{run.writes:,}"] for name, run in runs.items()]
    return Explorer(
        "film", cache_contents(runs["flash2"]), ["algorithm", "entries read", "written"], rows
    )


def pebbles() -> Explorer:
    """A best pebbling of the diamond, and the optima of the other boards."""
    best = {name: Game(dag, reds[0]).optimal() for name, (_, dag, reds) in BOARDS.items()}
    rows = [
        [title, str(reds[0]), str(best[name].cost), str(dag.compulsory)]
        for name, (title, dag, reds) in BOARDS.items()
    ]
    _, dag, reds = BOARDS["diamond"]
    figure = pebbling(Game(dag, reds[0]), best["diamond"].moves)
    columns = ["graph", "red pebbles", "optimum", "inputs and outputs alone"]
    return Explorer("pebbles", figure, columns, rows)


def _notes(model: Any) -> dict[str, Any]:
    """The sizes that the notes take of a model."""
    return {"H": model.d_model, "N": model.layers, "Z": model.params() / 1e9}


def _against_ridge(
    label: str, across: Any, curves: dict[str, Any], device: Device, title: str
) -> Figure:
    ridge = device.ridge()
    reached = {
        name: next((int(x) for x, y in zip(across, values, strict=True) if y >= ridge), None)
        for name, values in curves.items()
    }
    said = "; ".join(
        f"{name}: from {x:,} on" if x else f"{name}: never" for name, x in reached.items()
    )
    alt = (
        f"Log-log chart of FLOPs per byte against {label}. At these powers of two the ridge of "
        f"{device.name}, {ridge:,.0f} FLOPs per byte, is reached {said}."
    )
    with canvas(title, alt, width=5.6, height=3.8) as drawing:
        for at, (name, values) in enumerate(curves.items()):
            drawing.axes.loglog(across, values, _DASHES[at], color=COLOURS[at], label=name)
        drawing.axes.axhline(ridge, color=INK, linewidth=1, linestyle=":")
        drawing.axes.text(across[0], ridge * 1.1, f"ridge {ridge:,.0f}", fontsize=11)
        drawing.axes.set(xlabel=label, ylabel="FLOPs per byte")
        drawing.axes.set_title(title, fontsize=11)
        drawing.axes.legend(loc="lower right", fontsize=11)
    return drawing.result


def _held(parts: dict[str, Any], capacity: Any, title: str) -> Figure:
    said = "; ".join(f"{name} {sum(values) / 1e9:.1f} GB" for name, values in parts.items())
    alt = f"Bars of memory by kind of cache: {said}. The device gives out {capacity / 1e9:.1f} GB."
    with canvas(title, alt, width=5.6, height=3.2) as drawing:
        left: Any = np.zeros(len(parts))
        for at, kind in enumerate(("weights", "cache", "activations")):
            values = np.array([each[at] for each in parts.values()]) / 1e9
            drawing.axes.barh(
                list(parts),
                values,
                left=left,
                color=COLOURS[at],
                label=kind,
                hatch=("", "//", "")[at],
                edgecolor=COLOURS[at] if at != 1 else "white",
            )
            left = left + values
        drawing.axes.axvline(capacity / 1e9, color=INK, linewidth=1.5)
        drawing.axes.invert_yaxis()
        drawing.axes.set(xlabel=f"GB (the line: {capacity / 1e9:.1f})", title=title)
        drawing.figure.legend(loc="outside lower center", ncols=3, fontsize=11)
    return drawing.result


def _folded(found: dict[str, Any], title: str) -> Figure:
    kinds = {
        "computing": ("products", "attention", "logits", "elementwise", "optimizer"),
        "messages": MESSAGES,
        "bubble": ("bubble",),
    }
    spent = {
        name: [sum(one.parts[part] for part in parts) for parts in kinds.values()]
        for name, one in found.items()
    }
    said = "; ".join(
        f"{name}: " + ", ".join(f"{s:.1f} s {kind}" for kind, s in zip(kinds, each, strict=True))
        for name, each in spent.items()
    )
    alt = f"Bars of the seconds of a step, for four folds. {said}."
    with canvas(title, alt, width=5.6, height=3.2) as drawing:
        left: Any = np.zeros(len(found))
        for at, kind in enumerate(kinds):
            values = np.array([each[at] for each in spent.values()])
            style = {"hatch": ("", "//", "..")[at], "edgecolor": (COLOURS[0], "white", "white")[at]}
            colour = (COLOURS[0], COLOURS[1], COLOURS[4])[at]
            drawing.axes.barh(list(found), values, left=left, color=colour, label=kind, **style)
            left = left + values
        drawing.axes.invert_yaxis()
        drawing.axes.set(xlabel="seconds of a step", title=title.replace(": ", ":\n"))
        drawing.figure.legend(loc="outside lower center", ncols=3, fontsize=11)
    return drawing.result


def _valley(fit: training.Fit, spent: float, chosen: float, title: str) -> Figure:
    size, tokens = fit.best(spent)
    sizes = np.geomspace(min(size / 20, chosen / 2), max(size * 20, chosen * 2), 97)
    here, least = fit.loss(chosen, spent / 6 / chosen), fit.loss(size, tokens)
    alt = (
        f"Fitted loss against parameters for {spent:.2e} FLOPs, a valley: {chosen / 1e9:.1f} "
        f"billion parameters reach {here:.3f}, the best size, {size / 1e9:.1f} billion, "
        f"{least:.3f}."
    )
    with canvas(title, alt, width=5.6, height=3.4) as drawing:
        axes = drawing.axes
        axes.semilogx(sizes, fit.loss(sizes, spent / 6 / sizes), color=COLOURS[0])
        axes.plot([chosen], [here], "o", color=COLOURS[1], label="this run")
        axes.plot([size], [least], "s", color=COLOURS[2], label="the best size")
        axes.set(xlabel="parameters", ylabel="loss that the fit promises", title=title)
        axes.legend(loc="upper center", fontsize=11)
    return drawing.result


def _io_figure(N: int, d: int, M: Any, curves: dict[str, Any], bound: Any) -> Figure:
    title = f"I/O of attention, N = {N:,}, d = {d}"
    at = int(np.searchsorted(M, d * d))
    said = ", ".join(f"{look(name)['label']} {of[at] / 1e6:.1f}" for name, of in curves.items())
    alt = (
        f"Log-log chart of entries moved against fast memory. Near M = d², in millions: {said}; "
        f"the lower bound is {bound[at] / 1e6:.1f}."
    )
    with canvas(title, alt, width=5.6, height=4.2) as drawing:
        for name, values in curves.items():
            drawing.axes.loglog(M, values, **look(name))
        drawing.axes.loglog(M, bound, color=INK, linewidth=1.2, label="lower bound")
        drawing.axes.axvline(d * d, color=COLOURS[4], linewidth=1, linestyle=":")
        drawing.axes.set(xlabel="fast memory M, entries", ylabel="entries moved", title=title)
        drawing.figure.legend(loc="outside lower center", ncols=2, fontsize=11)
    return drawing.result
