"""What the explorers run on: costlib's own formulas as JavaScript, and its data.

Each formula is costlib's, called with symbols and printed by SymPy. The files are not committed:
`made` makes them when the site is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import sympy

import costlib
from costfigures.explorers.iomodel import (
    ATTENTIONS,
    BACKWARDS,
    FILM,
    FILM_CAPACITIES,
    FILMED,
    filmed,
)
from costfigures.explorers.lowerbounds import BOARDS
from costfigures.explorers.serving import SERVED, drawn
from costlib import training
from costlib.iomodel import bounds, counts
from costlib.iomodel.counting.block_sizes import plain_blocks
from costlib.iomodel.pebbles import Game
from costlib.layers import Cache
from costlib.layers.attention import pairs
from costlib.model import kvcache
from costlib.model.transformer import PerToken, Transformer
from costlib.parallel import tensor_parallel
from costlib.sources import jamesnulliu
from costlib.units.messages import all_reduces
from costlib.units.precision import Precision, precision_of
from tools import ROOT
from tools.pages import explorer_costlib, explorer_mesh, live
from tools.pages.printing import (
    KINDS,
    constant,
    drawable,
    evaluated,
    family,
    function,
    parts,
    symbolic,
)

#: How a file is made, and of what beside the library.
Maker = tuple[Callable[[], str], str]

FOLDER = ROOT / "book" / "_static" / "explorers" / "generated"
HEAD = "// Made from costlib by `make book`: never edit this.\n"

#: Devices that share a model: those that the page offers.
DEGREES = (1, 2, 4, 8, 16)
#: Ways to store and compute that a server can be asked for.
PRECISIONS = ("16-bit", "fp8", "int8", "int4", "mxfp4", "nvfp4")
#: Fits of the loss, and what the page calls them.
FIT_TITLES = {"besiroglu": "Besiroglu 2024", "hoffmann": "Hoffmann 2022 (Chinchilla)"}


# ---------------------------------------------------------------- models


def families() -> dict[tuple[Any, ...], str]:
    """A short name for every family, after its first model: catalogue.js says which a model has."""
    found: dict[tuple[Any, ...], str] = {}
    for name, model in drawable().items():
        found.setdefault(family(model), "".join(c if c.isalnum() else "_" for c in name))
    return found


def forms(model: Transformer) -> list[tuple[str, str]]:
    """How scores and latents can be treated: each form has formulas of its own."""
    latent = ("naive", "absorbed") if model.mla else ("naive",)
    return [(scores, mla) for scores in ("on-chip", "materialised") for mla in latent]


def ledgers() -> str:
    """For each family and form a function: FLOPs and elements by kind, of each op in turn."""
    written, tables = [], {}
    for each, name in families().items():
        first = next(model for model in drawable().values() if family(model) == each)
        model, sizes = symbolic(first)
        B, C, S = costlib.symbols("B C S")
        for scores, mla in forms(first):
            ledger = model.decode(B, C, S, logits="last", scores=scores, mla=mla)
            ledger = ledger.where(lambda op: op.count != 0)  # global layers where all are local
            key = f"{name}_{scores.replace('-', '')}_{mla}"
            flat = []
            for op in ledger:
                moved = op.elements_read + op.elements_written
                flat += [op.flops, *(getattr(moved, kind) for kind in KINDS)]
            written.append(function(key, (B, C, S, sizes), flat))
            tables[key] = [op.name for op in ledger]
    keys = ", ".join(tables)
    return "".join(written) + f"export const ledgers = {{{keys}}};\n" + constant("ops", tables)


def widest(model: Transformer) -> int:
    """Elements that the widest step reads and writes for a token."""
    held = kvcache.memory(model, 1, 0, Precision.uniform(1))
    return int(held.activations - model.d_model)


def model_entry(name: str, model: Transformer, names: Mapping[Any, str]) -> dict[str, Any]:
    """What the page knows of a model: for every degree that works, sizes of each device's share,
    and its parameters, cache a layer and widest step.
    """
    shares, held = {}, {}
    for devices in DEGREES:
        try:
            share = tensor_parallel(model, devices)
        except ValueError:
            continue
        _, used = symbolic(share)
        sizes = parts(share)
        shares[devices] = [sizes[str(symbol)] for symbol in used]
        held[devices] = [share.params(), share.kv_elements_per_layer(), widest(share)]
    stored = None if costlib.models[name].storage is None else costlib.models[name].weight_bytes()
    return {
        "name": name,
        "family": names[family(model)],
        "params": model.params(),
        "layers": model.layers,
        "d_model": model.d_model,
        "heads": model.heads,
        "kv_heads": 0 if model.mla else model.kv_heads,
        "head_dim": model.mla.head_dim if model.mla else model.head_dim,
        "per_layer": model.kv_elements_per_layer(),
        "global_layers": model.global_layers,
        "local_layers": model.local_layers,
        "window": model.window or 0,
        "widest": widest(model),
        "reduces": 1 if model.parallel else 2,
        "latent": model.mla is not None,
        "trained": costlib.models[name].context_length or 0,
        "learned": costlib.models[name].learned_positions is not None,
        "shares": shares,
        "held": held,
        **({} if stored is None else {"ships": float(stored) / model.params()}),
    }


def device_entry(device: costlib.Device) -> dict[str, Any]:
    """What the page knows of a device."""
    return {
        "name": device.name,
        "flops_per_s": dict(device.flops_per_s),
        "bytes_per_s": device.bytes_per_s,
        "capacity": device.usable,
        "on_chip": device.on_chip,
        "interconnect": device.interconnect,
        "sixteen_bits": device.sixteen_bits,
    }


def recipe_entry(name: str) -> dict[str, Any]:
    """What the page knows of a precision; without a format it computes in 16 bits."""
    recipe = Precision() if name == "16-bit" else precision_of(name)
    return {kind: getattr(recipe, kind) for kind in (*KINDS, "compute")}


def catalogue() -> str:
    """Models, devices and precisions."""
    names = families()
    models = [model_entry(name, model, names) for name, model in drawable().items()]
    devices = [device_entry(device) for device in costlib.devices.values()]
    recipes = {name: recipe_entry(name) for name in PRECISIONS}
    known = {"models": models, "devices": devices, "precisions": recipes}
    return "".join(constant(name, value) for name, value in known.items())


# ---------------------------------------------------------------- formulas


def source_formulas() -> str:
    """The two intensities of the notes, as published and with their own slips corrected."""
    B, S, H, N, Z, S_i, S_c = costlib.symbols("B S H N Z S_i S_c")
    new = {"B": B, "S_i": S_i, "S_c": S_c, "H": H, "N": N, "Z": Z}
    prefill = jamesnulliu.prefill(B, S, H, N, Z)
    return "".join(
        function(name, arguments, [ledger.flops, ledger.bytes()])
        for name, arguments, ledger in (
            ("prefill_published", (B, S, H, N, Z), prefill),
            ("decode_published", tuple(new.values()), jamesnulliu.decode(**new)),
            ("decode_corrected", tuple(new.values()), jamesnulliu.corrected_decode(**new)),
        )
    )


@dataclass(frozen=True)
class StandIn:
    """A model as `kvcache` sees it, each property a symbol."""

    parameters: Any
    per_layer: Any
    global_layers: Any
    local_layers: Any
    window: Any
    d_model: Any
    widest: Any
    layers: Any = 1
    heads: Any = 1
    parallel: bool = False
    learned_positions: None = None

    def check_context(self, tokens: Any) -> None:
        """No position of it is learned, so that any context will do."""

    def params(self) -> Any:
        """Parameters stored."""
        return self.parameters

    @property
    def precision(self) -> Precision:
        """None of its own."""
        return Precision()

    def weight_bytes(self, precision: Precision) -> Any:
        """Bytes of the weights."""
        return self.parameters * precision.weights

    def caches(self) -> tuple[tuple[Cache, Any], ...]:
        """What global and local layers keep."""
        everywhere = Cache(per_token=self.per_layer), self.global_layers
        if self.window is None:
            return (everywhere,)
        return everywhere, (replace(everywhere[0], window=self.window), self.local_layers)

    def steps(self) -> tuple[PerToken, ...]:
        """One step: the widest."""
        return (PerToken("widest", reads=self.widest),)


def memory_formulas() -> str:
    """What is held, and how much of it fits, with a window and without."""
    B, T, C, P, kv, G, L, W, D, A = costlib.symbols(
        "batch context capacity params per_layer global_layers local_layers window d_model widest"
    )
    bytes_per = dict(zip(KINDS, sympy.symbols("e_w e_a e_kv e_s", positive=True), strict=True))
    precision, written = Precision(**bytes_per), []
    given = tuple(bytes_per[kind] for kind in KINDS[:3])
    for name, window in (("", None), ("_window", W)):
        local = 0 if window is None else L
        model: Any = StandIn(P, kv, G, local, window, D, A)
        sizes = (P, kv, G, D, A) if window is None else (P, kv, G, L, W, D, A)
        held = kvcache.memory(model, B, T - 1, precision)
        fit = [kvcache.largest_batch(model, C, T, precision).largest]
        fit += [kvcache.largest_context(model, C, B, precision).largest]
        held_parts = [held.weights, held.kv, held.activations]
        written.append(function(f"memory{name}", (B, T, sizes, given), held_parts))
        written.append(function(f"fits{name}", (B, T, C, sizes, given), fit))
    return "".join(written)


def step_formulas() -> str:
    """The roofline and the messages of tensor parallelism."""
    flops, moved, rate, width, intensity = sympy.symbols(
        "flops bytes rate bandwidth intensity", positive=True
    )
    device = costlib.Device("any", {"any": rate}, width)
    B, S, D, L, G = costlib.symbols("B S d_model layers devices")
    r = costlib.symbols("reduces")
    sent = all_reduces(L * r, B * S * D, G, "tensor").sends
    op = costlib.Op("any", flops, costlib.units.ledger.Elements(weights=moved))
    one = Precision.uniform(1, compute="any")
    return "".join(
        (
            function("ridge", (rate, width), device.ridge("any")),
            function("attainable", (intensity, rate, width), device.attainable(intensity, "any")),
            function(
                "op_time",
                (flops, moved, rate, width),
                costlib.time(op, device, precision=one),
            ),
            function("sent", (B, S, D, L, r, G), sent),
        )
    )


def io_formulas() -> str:
    """Block sizes that fit, what the algorithms move with them, and what all must move."""
    N, d, M = costlib.symbols("N d M")
    written, names = [], (*ATTENTIONS, *BACKWARDS)
    for name in names:
        sizes = plain_blocks(name, d, M)
        letters = {each: costlib.symbols(each) for each in sizes}
        count = getattr(counts, name)(N, d, **letters)
        moved = [count.reads, count.writes, count.peak]
        written.append(function(f"io_{name}_blocks", (d, M), list(sizes.values())))
        written.append(function(f"io_{name}", (N, d, tuple(letters.values())), moved))
    written.append(function("io_bound", (N, d, M), bounds.attention(N, d, M)))
    written.append(function("io_compulsory", (N, d), bounds.compulsory(N, d)))
    written.append(function("io_backward_bound", (N, d, M), bounds.backward(N, d, M)))
    written.append(function("io_backward_compulsory", (N, d), bounds.backward_compulsory(N, d)))
    table = ", ".join(f"{name}: [io_{name}_blocks, io_{name}]" for name in names)
    return "".join(written) + f"export const attentions = {{{table}}};\n"


# ---------------------------------------------------------------- a training budget


@dataclass(frozen=True)
class Trained:
    """A model as `costlib.training` sees it, each number a symbol."""

    matrices: Any
    others: Any
    per_token: Any = 0
    blocks: tuple[Any, ...] = ()
    tied: bool = True

    def params(self) -> Any:
        """Parameters stored."""
        return self.matrices + self.others

    def active_params(self) -> Any:
        """As many as six FLOPs each make what a token takes."""
        return self.per_token / 6

    def steps(self) -> tuple[PerToken, ...]:
        """One product that has all matrices."""
        return (PerToken("matrices", weights=self.matrices, is_matmul=True),)


def trained_entry(name: str, model: Transformer) -> dict[str, Any]:
    """A model's FLOPs of training, for each token and each pair that attends; what it stores."""

    def flops(seq: int) -> int:
        step = model.training_step(1, seq, scores="materialised", masked="skipped")
        return int(step.matmul_flops)

    pair = flops(3) - 2 * flops(2) + flops(1)
    token, narrow = flops(1) - pair, 0
    if model.window and model.local_layers:
        seq = 2 * model.window
        wide, near = pairs(seq, causal=True), pairs(seq, window=model.window)
        narrow = (token * seq + pair * wide - flops(seq)) // (wide - near)
    count = training.params_by_kind(model)
    plain = training.RECIPES["adafactor"]
    factored, without = (
        training.state_bytes(model, each).optimizer for each in (plain, plain.with_(factored=False))
    )
    return {
        "name": name,
        "params": model.params(),
        "active": int(model.active_params()),
        "step": [token, pair - narrow, narrow, model.window or 0],
        "matrices": count["matrices"],
        "others": count["others"],
        "factors": int(factored - without),
    }


def state_formulas() -> str:
    """Bytes of a parameter's state in each recipe: weights, gradients, optimizer; all; saved."""
    matrices, others, factors = costlib.symbols("matrices others factors")
    model: Any = Trained(matrices, others)
    written, names = [], {}
    for name, recipe in training.RECIPES.items():
        held = training.state_bytes(model, recipe.with_(factored=False))
        more = factors if recipe.factored else 0
        results = [held.weights, held.gradients, held.optimizer + more, held.total + more]
        results.append(training.checkpoint_bytes(model, recipe.with_(factored=False)) + more)
        names[name] = f"state_{name.replace('-', '_')}"
        written.append(function(names[name], (matrices, others, factors), results))
    table = ", ".join(f'"{name}": {formula}' for name, formula in names.items())
    return "".join(written) + f"export const states = {{{table}}};\n"


def budget() -> str:
    """What a training run takes, of any model that the page offers."""
    S, W, F, T, n = costlib.symbols("seq window per_token tokens devices")
    token, wide, narrow, rate, used, watts, price = sympy.symbols(
        "token wide narrow rate mfu watts price", positive=True
    )
    met = token * S + wide * pairs(S, causal=True) + narrow * pairs(S, window=W)
    model: Any = Trained(0, 0, F)
    device = costlib.Device("any", {"bf16": rate}, 1e12)
    run = training.TrainingRun(
        model=model, tokens=T, device=device, devices=n, mfu=used, seq=S, convention="6N"
    )
    spent = [run.flops, run.seconds, run.days, run.device_hours]
    spent += [run.energy_kwh(watts=watts), run.dollars(per_device_hour=price), run.tokens_per_s]
    recipes = {
        name: {"compute": recipe.compute, "note": recipe.note}
        for name, recipe in training.RECIPES.items()
    }
    return "".join(
        (
            function("trained", (S, (token, wide, narrow, W)), met / S),
            function("run", (F, T, rate, n, used, watts, price), spent),
            state_formulas(),
            constant("recipes", recipes),
            constant("fits", FIT_TITLES),
            constant("sixteen", {d.name: d.sixteen_bits for d in costlib.devices.values()}),
            constant("models", [trained_entry(*each) for each in drawable().items()]),
        )
    )


# ---------------------------------------------------------------- runs and games


def film() -> str:
    """Every event of every run: kind, array, rows, columns, block; and the run's own totals."""
    kinds = ("load", "store", "alloc", "drop")
    runs = {}
    for capacity in FILM_CAPACITIES:
        for algorithm in FILMED:
            run = filmed(algorithm, capacity)
            arrays = sorted({event.array for event in run.trace})
            shapes = {
                name: [
                    max(e.rows[1] for e in run.trace if e.array == name and e.kind in kinds[:2]),
                    max(e.cols[1] for e in run.trace if e.array == name and e.kind in kinds[:2]),
                ]
                for name in {e.array for e in run.trace if e.kind in kinds[:2]}
            }
            runs[f"{algorithm} {capacity}"] = {
                "arrays": arrays,
                "shapes": {name: shapes[name] for name in arrays if name in shapes},
                "blocks": dict(run.blocks),
                "reads": run.reads,
                "writes": run.writes,
                "peak": run.peak,
                "events": [
                    [kinds.index(e.kind), arrays.index(e.array), *e.rows, *e.cols, e.block]
                    for e in run.trace
                ],
            }
    return constant("sizes", FILM | {"capacities": FILM_CAPACITIES}) + constant("runs", runs)


def arrivals() -> str:
    """When requests come and how long they are, for some draws of chance."""
    return constant("arrivals", {seed: drawn(seed) for seed in range(1, SERVED["seeds"] + 1)})


def boards() -> str:
    """Graphs, and for each number of red pebbles the solver's own best moves."""
    found = {}
    for name, (title, dag, reds) in BOARDS.items():
        best = {}
        for red in reds:
            optimum = Game(dag, red=red).optimal()
            written = max(at for at, move in enumerate(optimum.moves) if move.kind == "W")
            moves = " ".join(map(str, optimum.moves[: written + 1]))  # up to the last output
            best[red] = {"cost": optimum.cost, "moves": moves, "states": optimum.states}
        found[name] = {
            "title": title,
            "parents": [list(parents) for parents in dag.parents],
            "names": list(dag.names),
            "outputs": list(dag.outputs),
            "compulsory": dag.compulsory,
            "best": best,
        }
    return constant("boards", found)


# ---------------------------------------------------------------- one explorer's own

#: How an explorer's script asks for a formula that nothing else here exports; a long one goes on in
#: lines that are indented.
ASKED = re.compile(r"^// costlib: (\w+)\(([\w, ]*)\) =(.*(?:\n//   .+)*)$", re.MULTILINE)


def asked(script: str) -> str:
    """The formulas that a script asks for, each in a comment of its own.

    >>> print(asked("// costlib: work(m, k, n) =\\n//   matmul(m, k, n).flops"), end="")
    export function work(m, k, n) {
      return 2*k*m*n;
    }
    """
    written = []
    for name, sizes, expression in ASKED.findall(script):
        symbols = {size: costlib.symbols(size) for size in sizes.split(", ")}
        formula = re.sub(r"\n//", "", expression).strip()
        written.append(function(name, tuple(symbols.values()), evaluated(formula, symbols)))
    return "".join(written)


def own() -> dict[str, Maker]:
    """For each script that asks for formulas the file it imports: of_NAME.js."""
    scripts = {path.stem: path.read_text("utf-8") for path in FOLDER.parent.glob("*.js")}
    asks = {name: "\n".join(m[0] for m in ASKED.finditer(text)) for name, text in scripts.items()}
    return {f"of_{name}.js": (partial(asked, text), text) for name, text in asks.items() if text}


def makers() -> dict[Path, Maker]:
    """Every generated file: how it is made, and of what beside the library."""
    made = {
        "costlib.js": explorer_costlib.program,
        "ledgers.js": ledgers,
        "mesh.js": explorer_mesh.text,
        "catalogue.js": catalogue,
        "formulas.js": lambda: source_formulas() + memory_formulas() + step_formulas(),
        "io.js": io_formulas,
        "film.js": film,
        "boards.js": boards,
        "arrivals.js": arrivals,
        "budget.js": budget,
        "entries.js": explorer_costlib.entries,
    }
    all_of_them = {**{name: (make, "") for name, make in made.items()}, **own(), **live.makers()}
    return {
        FOLDER / name: (partial(_headed, make), besides)
        for name, (make, besides) in all_of_them.items()
    }


def _headed(make: Callable[[], str]) -> str:
    return HEAD + make()
