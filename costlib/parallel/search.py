"""All legal plans of a model on a cluster: time, memory, and the frontier of both.

Every way to write the number of devices as tensor·context·pipeline·data, with every microbatch,
stage of ZeRO, order of the pipeline and policy of recomputation. The formulas are those of
`Plan.on`, read over arrays: layers are priced once for each way to divide them, and a pipeline's
arithmetic is done for all its plans at a time.

Left out: orders of the mesh other than the usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from costlib.layers import Mixture
from costlib.model.catalog import model_of
from costlib.parallel import price
from costlib.parallel.cluster import Cluster, cluster_of
from costlib.parallel.legal import Asked, legal, why_not_cut
from costlib.parallel.plan import Plan, Planned
from costlib.timing.sweeps import length_of, run_pieces, within
from costlib.training import Recipe, flops_per_token, recipe_of
from costlib.units.numbers import Number, extra, one_size

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["plan_of", "search"]

_ARRAYS = ("tensor", "context", "expert", "data", "zero", "microbatch")
_SHAPE = ("tensor", "context", "expert", "microbatch")  # what a layer's price depends on
_REST = ("pipeline", "chunks", "schedule", "sequence", "recompute", "context_by")


def search(
    model: Transformer | str,
    cluster: Cluster | str,
    *,
    batch: Number,
    seq: Number,
    tensor: Iterable[int] | None = None,
    context: Iterable[int] | None = None,
    expert: Iterable[int] | None = None,
    pipeline: Iterable[int] | None = None,
    microbatch: Iterable[int] | None = None,
    zero: Iterable[int] = (0, 1, 2, 3),
    sequence: Iterable[bool] = (False, True),
    chunks: Iterable[int] = (1, 2, 4),
    schedule: Iterable[str] = ("1f1b", "gpipe"),
    recompute: Iterable[str | None] = (None, "selective", "full"),
    recipe: Recipe | str | None = None,
    context_by: Iterable[str] = ("ring",),
    whole_experts: bool = False,
    imbalance: Number = 1,
    hides: Mapping[str, float] | None = None,
    masked: str = "skipped",
    all_rows: bool = False,
    client: Any = None,
    as_arrays: bool = False,
) -> Any:
    """A DataFrame with a row for each legal plan, the fastest first.

    Each argument of a plan is what it may be: all divisors, or those that you name. Rows are plans
    whose fullest device has room, unless ``all_rows``. ``frontier`` marks those that no other one
    beats in both memory and time; `plan_of` makes the `Plan` of a row. ``client`` is a Dask
    cluster's, which then does a part of the plans each. With ``as_arrays`` columns come as NumPy
    arrays by name, which needs no pandas.

    >>> found = search("llama-3-8b", Cluster("DGX-H100"), batch=64, seq=8192)
    >>> len(found) > 100, bool(found["step_s"].is_monotonic_increasing)
    (True, True)
    >>> plan_of(found.iloc[0]).devices
    8
    """
    made = dict if as_arrays else _table()
    model, cluster = model_of(model), cluster_of(cluster)
    batch, seq = one_size("batch", batch), one_size("seq", seq)
    fixed = {"whole_experts": whole_experts, "imbalance": imbalance}
    hidden = {**price.HIDES, **(hides or {})}
    given = {"tensor": tensor, "context": context, "expert": expert, "microbatch": microbatch}
    axes = _axes(model, cluster, batch, {**given, "zero": zero})
    case = _Case(model, cluster, batch, seq, recipe_of(recipe), fixed, hidden, masked, axes)
    ways = list(_ways(_sizes("pipeline", pipeline, _divisors(cluster.devices)), chunks, schedule))
    named = {"sequence": sequence, "recompute": recompute, "context_by": context_by}
    shapes = _choices(named)
    pieces = case.pieces(shapes, [ways] if client is None else [[way] for way in ways])
    found = [table for table in run_pieces(pieces, client) if table]
    return made(_gathered(found or case.refused(ways[0], shapes[0]), all_rows))


def plan_of(row: Any, **changes: Any) -> Plan:
    """The plan of a row that `search` found; what was fixed for all (a recipe) is named again.

    >>> found = search("gpt2", Cluster("DGX-H100"), batch=64, seq=1024, tensor=[1, 2])
    >>> plan_of(found.iloc[0]).tensor
    1
    """
    named: dict[str, Any] = {name: int(row[name]) for name in (*_ARRAYS, "pipeline", "chunks")}
    named |= {"sequence": bool(row["sequence"]), "schedule": row["schedule"]}
    named |= {"recompute": row["recompute"] or None, "context_by": row["context_by"]}
    return Plan(**named, **changes)


def _divisors(whole: int) -> list[int]:
    """Every number that divides it.

    >>> _divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    low = [each for each in range(1, isqrt(whole) + 1) if whole % each == 0]
    return sorted({*low, *(whole // each for each in low)})


def _axes(
    model: Transformer, cluster: Cluster, batch: int, given: Mapping[str, Iterable[int] | None]
) -> dict[str, list[int]]:
    """What each degree may be; of tensors those that the model can be divided by."""
    parts = (part for block in model.blocks for part in block.parts)
    devices, has_experts = _divisors(cluster.devices), any(isinstance(p, Mixture) for p in parts)
    usual = {"tensor": devices, "context": devices, "expert": devices if has_experts else [1]}
    usual["microbatch"] = _divisors(batch)
    found = {name: _sizes(name, given[name], values) for name, values in usual.items()}
    found["zero"] = [one_size("zero", each, least=0) for each in _listed("zero", given["zero"])]
    if wrong := [each for each in found["zero"] if each > 3]:
        raise ValueError(f"zero must be 0, 1, 2 or 3, got {wrong[0]}")
    within("plans of a search", prod(map(len, found.values())), "name fewer values to try")
    shared = [each for each in found["tensor"] if not why_not_cut(model, each)]
    return {**found, "tensor": shared or found["tensor"]}


def _listed(name: str, values: Any) -> list[Any]:
    """What an argument may be: several values, even where it is one.

    >>> _listed("tensor", 8)
    Traceback (most recent call last):
        ...
    TypeError: tensor must be a list of values to try, got 8: write [8]
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        text = f"{name} must be a list of values to try"
        raise TypeError(f"{text}, got {values!r}: write [{values!r}]")
    within(f"values of {name}", length_of(values), "name fewer")
    if not (found := list(values)):
        raise ValueError(f"{name} must have at least one value to try, got {values!r}")
    return found


def _sizes(name: str, values: Iterable[int] | None, usual: list[int]) -> list[int]:
    """The degrees that are named, or the usual ones."""
    if values is None:
        return usual
    return [one_size(name, each) for each in _listed(name, values)]


def _choices(named: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of what arguments may be."""
    each = product(*(_listed(name, values) for name, values in named.items()))
    return [dict(zip(named, values, strict=True)) for values in each]


def _ways(
    pipeline: Iterable[int], chunks: Iterable[int], schedule: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Pipelines: chunks are of 1F1B, and one stage has no order."""
    schedules = _listed("schedule", schedule)
    for stages, pieces, order in product(pipeline, _sizes("chunks", chunks, [1]), schedules):
        is_plain = stages == 1 and (pieces > 1 or order != schedules[0])
        if not is_plain and not (pieces > 1 and order == "gpipe"):
            yield {"pipeline": stages, "chunks": pieces, "schedule": order}


@dataclass(frozen=True)
class _Case:
    """What all plans of a search have in common."""

    model: Transformer
    cluster: Cluster
    batch: int
    seq: int
    recipe: Recipe
    fixed: Mapping[str, Any]
    hides: Mapping[str, float]
    masked: str
    axes: Mapping[str, list[int]] = field(repr=False)

    def pieces(self, shapes: Sequence[Any], tasks: Sequence[Any]) -> list[Callable[[], Any]]:
        """The tables of all plans, each to be made by itself."""
        return [partial(self.table, how, some) for how in shapes for some in tasks]

    def table(self, named: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Columns of all plans with one way to divide the stream and to recompute."""
        found = []
        for way in ways:
            columns = self._columns({**way, **named})
            if len(columns["tensor"]):
                found.append((way, columns))
        if not found:
            return {}
        shapes = np.concatenate([np.stack([c[n] for n in _SHAPE]) for _, c in found], axis=1)
        unique, which = np.unique(shapes, axis=1, return_inverse=True)
        priced = {tied: self._priced(unique, named, tied=tied) for tied in (True, False)}
        rows, start = [], 0
        for way, columns in found:
            many = len(columns["tensor"])
            here = np.reshape(which, -1)[start : start + many]
            start += many
            each, first, last = priced[way["pipeline"] == 1]
            known = (tuple(k.take(here) for k in each), first.take(here), last.take(here))
            rows.append(self._scored({**way, **named}, columns, known))
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def _columns(self, way: Mapping[str, Any]) -> dict[str, Any]:
        """The legal plans of one pipeline, as columns of degrees."""
        names = ("tensor", "context", "expert", "microbatch", "zero")
        grids = np.meshgrid(*(np.array(self.axes[name]) for name in names), indexing="ij")
        columns = {name: grid.ravel() for name, grid in zip(names, grids, strict=True)}
        each = self._deal(columns, way["pipeline"])
        kept = each * columns["data"] == self.cluster.devices
        kept &= self.batch % (columns["data"] * columns["microbatch"]) == 0
        kept &= (columns["zero"] == 0) | (columns["data"] * columns["context"] > 1)
        if way["sequence"]:
            kept &= columns["tensor"] > 1
        columns = {name: column[kept] for name, column in columns.items()}
        if not kept.any():
            return columns
        asked = Asked(self._plan(way, columns), self.model, self.cluster, self.batch, self.seq)
        is_legal = np.broadcast_to(legal(asked), columns["tensor"].shape)
        return {name: column[is_legal] for name, column in columns.items()}

    def _plan(self, way: Mapping[str, Any], columns: Mapping[str, Any]) -> Plan:
        return Plan(**way, **columns, recipe=self.recipe, **self.fixed)

    def _deal(self, columns: dict[str, Any], pipeline: int) -> Any:
        """Copies for all devices that the other degrees leave; how many one copy has."""
        each = columns["tensor"] * columns["context"] * pipeline
        columns["data"] = np.maximum(self.cluster.devices // each, 1)
        return each

    def refused(self, way: Mapping[str, Any], named: Mapping[str, Any]) -> NoReturn:
        """No plan is legal: say why the first of them is not."""
        first: dict[str, Any] = {name: values[0] for name, values in self.axes.items()}
        self._deal(first, way["pipeline"])
        why = "name other degrees, or ask Plan(...).check(...) why one is not"
        try:
            self._plan({**way, **named}, first).check(
                self.model, self.cluster, self.batch, self.seq
            )
        except ValueError as problem:
            why = f"of the first, {problem}"
        raise ValueError(f"no plan is legal: {why}")

    def _priced(self, shapes: Any, named: Mapping[str, Any], *, tied: bool) -> Any:
        """Layers and ends, for every way to divide them."""
        columns = dict(zip(_SHAPE, shapes, strict=True))
        self._deal(columns, 1)
        found = self._planned(self._plan(named, columns))
        return price.kinds(self.model, found.cut, found.device, self.recipe, self.hides, tied=tied)

    def _planned(self, plan: Plan, known: Any = None) -> Planned:
        asked = (plan, self.model, self.cluster, self.batch, self.seq)
        return Planned(*asked, masked=self.masked, hides=self.hides, known=known)

    def _scored(
        self, way: Mapping[str, Any], columns: Mapping[str, Any], known: Any
    ) -> dict[str, Any]:
        found, many = self._planned(self._plan(way, columns), known), len(columns["tensor"])
        held, tokens = found.memory, self.batch * self.seq
        peak = self.cluster.device.with_(compute_efficiency=1).compute_rate(self.recipe.compute)
        flops = flops_per_token(self.model, self.seq) * tokens / (peak * self.cluster.devices)
        row = {
            **columns,
            **{name: np.full(many, way[name]) for name in _REST},
            "microbatches": found.microbatches.astype(int),
            "step_s": found.step,
            "tokens_per_s": tokens / found.step,
            "mfu": flops / found.step,
            "bubble": found.bubble,
            "memory_bytes": held.total,
            "binds": found.binds,
            "fits": held.total <= self.cluster.device.usable,
        }
        return {name: np.broadcast_to(value, many) for name, value in row.items()}


def _gathered(tables: Sequence[Mapping[str, Any]], all_rows: bool) -> dict[str, Any]:
    """Columns of all plans, the fastest first, and of those as fast the one that holds least."""
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    order = np.lexsort((columns["memory_bytes"], columns["step_s"]))
    if not all_rows:
        order = order[columns["fits"][order]]
    columns = {name: column[order] for name, column in columns.items()}
    least = np.minimum.accumulate(np.where(columns["fits"], columns["memory_bytes"], np.inf))
    before = np.concatenate([[np.inf], least])[: len(order)]
    columns["frontier"] = columns["fits"] & (columns["memory_bytes"] < before)
    return columns


def _table() -> Any:
    """What makes a table, asked for before the search."""
    with extra("tables"):
        import pandas as pd

    def table(columns: Mapping[str, Any]) -> Any:
        # Beside words pandas 3 makes NaN of None, which is one of the choices of `recompute`.
        kept = {
            name: pd.Series(column, dtype=object) if column.dtype == object else column
            for name, column in columns.items()
        }
        return pd.DataFrame(kept)

    return table
