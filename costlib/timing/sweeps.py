"""A table of answers: every batch, context, precision, device and model that you name, in one call.

`sweep` gives a DataFrame with a row for each configuration; `columns` the same as NumPy arrays. The
formulas are those of a single call. What makes a million rows quick is only the order of the work:
steps that treat all tokens alike are worked out once for each number of tokens, what mixes tokens
in blocks that stay in a processor's cache.

Left out: whatever `costlib.time` leaves out of a single configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from costlib.layers.parts import Pass
from costlib.model.catalog import device_of, model_of
from costlib.model.kvcache import memory
from costlib.timing.roofline import DoesNotFit, as_computed, limits
from costlib.units.device import Device
from costlib.units.display import bar
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import choose, extra, flag, is_zero, size
from costlib.units.precision import Precision, precision_of

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["PHASES", "columns", "sweep"]

PHASES = ("decode", "prefill")

#: Rows that are worked on at a time: a few arrays of so many numbers stay in a core's own cache.
BLOCK = 32_768

#: Rows that one task of a cluster takes, and that lie in memory at a time.
TASK = 2**20

#: A number of tokens up to which steps are worked out for every number from 1 on, and looked up.
LOOKED_UP = 2**16

#: What binds a row, by its number in `columns`.
BOUND = ("compute", "memory", "overhead")


def sweep(
    model: Transformer | str | Sequence[Transformer | str],
    device: Device | str | Sequence[Device | str],
    *,
    batch: Any = 1,
    context: Any = 4096,
    precision: Precision | str | Sequence[Precision | str | None] | None = None,
    phase: str = "decode",
    paired: bool = False,
    all_rows: bool = False,
    price_per_hour: float | None = None,
    keep: Callable[[Any], Any] | None = None,
    client: Any = None,
    progress: bool = False,
) -> Any:
    """A DataFrame with a row for each configuration: times, rates, what binds, memory, price.

    ``model``, ``device`` and ``precision`` are one or several, names or objects; ``batch`` and
    ``context`` numbers, ranges or arrays. Every combination is a row; with ``paired=True`` batch
    and context are columns of one length, taken row by row. A row is one decode step of each
    sequence, or with ``phase="prefill"`` a prompt of ``context`` tokens. Only what fits the
    device's memory less its reserve is given, unless ``all_rows``. ``price_per_hour`` is yours.

    A sweep too large for memory is worked through in pieces of one model, device and precision, a
    million rows at most: ``keep`` is applied to each, and what it returns is put together.
    ``client`` is a Dask cluster's, which then does the pieces; ``progress`` shows a bar.

    >>> table = sweep("llama-3-8b", "A100-80GB", batch=[1, 8, 64], context=8192)
    >>> table[["batch", "per_user", "bound"]].round(1).values.tolist()
    [[1, 126.7, 'memory'], [8, 86.0, 'memory']]
    >>> sweep("llama-3-8b", ["T4", "L4"], batch=1, context=8192, all_rows=True).fits.tolist()
    [False, True]
    """
    with extra("tables"):
        import pandas as pd

    choose("phase", phase, PHASES)
    for name, value in (("paired", paired), ("all_rows", all_rows), ("progress", progress)):
        flag(name, value)
    cases = [
        _Case(model_of(m), device_of(d), _meant(m, d, p), phase, name, _recipe(p), price_per_hour)
        for name, m in _named(_several(model))
        for d in _several(device)
        for p in _several(precision)
    ]
    pieces = [
        partial(_piece, case, rows, all_rows, keep)
        for case in cases
        for rows in _row_sets(batch, context, paired)
    ]
    found = [*_bar(_run(pieces, client), len(pieces), progress)]
    filled = [table for table in found if len(table)]
    if not filled:
        _say_that_nothing_fits(cases, batch, context)
    return pd.concat(filled or found[:1], ignore_index=True)


def columns(
    model: Transformer | str,
    device: Device | str,
    batch: Any,
    context: Any,
    precision: Precision | str | None = None,
    *,
    phase: str = "decode",
) -> dict[str, Any]:
    """FLOPs, bytes, seconds, what binds and memory of many configurations, as NumPy arrays.

    ``batch`` and ``context`` broadcast: two columns of one length are taken row by row, a column
    and a row make a grid.

    >>> found = columns("llama-3-8b", "A100-80GB", np.array([1, 8]), np.array([100, 4096]))
    >>> found["flops"].tolist()
    [15066899456.0, 137459310592.0]
    """
    choose("phase", phase, PHASES)
    case = _Case(model_of(model), device_of(device), _meant(model, device, precision), phase)
    batch, context = size("batch", np.asarray(batch)), size("context", np.asarray(context))
    return case.columns(np.asarray(batch, dtype=float), np.asarray(context, dtype=float))


@dataclass(frozen=True)
class _Case:
    """One model on one device in one precision, and any number of batches and contexts."""

    model: Transformer
    device: Device
    precision: Precision
    phase: str
    name: str = "model"
    recipe: str = "own"
    price_per_hour: float | None = None

    def columns(self, batch: Any, context: Any) -> dict[str, Any]:
        """Every number of every row, worked out block by block."""
        shape = np.broadcast_shapes(batch.shape, context.shape)
        found = {name: np.empty(shape) for name in ("flops", "bytes", "seconds", "memory")}
        found["bound"] = np.empty(shape, dtype=np.int8)
        alike = self._alike(batch)
        for place in _blocks(shape):
            rows, columns = (_part(each, place, shape) for each in (batch, context))
            for name, values in self._block(rows, columns, alike).items():
                found[name][place] = values
        return found

    def _alike(self, batch: Any) -> Any:
        """Totals of the steps that treat all tokens alike, for each number of tokens from 0 on."""
        most = batch.max(initial=1)
        if self.phase != "decode" or not most <= min(LOOKED_UP, batch.size + 1000):
            return None
        totals = self._totals(chain(*self.model.alike(Pass(np.arange(1.0, most + 1), 1, 2))))
        return [np.concatenate([[0.0], np.broadcast_to(each, int(most))]) for each in totals]

    def _block(self, batch: Any, context: Any, alike: Any) -> dict[str, Any]:
        is_decode = self.phase == "decode"
        run = Pass(batch, 1, context + 1) if is_decode else Pass(batch, context, context)
        if alike is None:
            first = self._totals(chain(*self.model.alike(run)))
        else:
            which = batch.astype(np.intp)
            first = [each[which] for each in alike]
        rest = self._totals(self.model.mixing(run))
        flops, moved, busy, overhead = (a + b for a, b in zip(first, rest, strict=True))
        overhead = overhead + self.device.overhead_per_step
        held, binds = self._held(batch, context), moved * self._ridge > flops
        if not is_zero(overhead):
            binds, busy = np.where(overhead > busy, 2, binds), busy + overhead
        return {"flops": flops, "bytes": moved, "seconds": busy, "memory": held, "bound": binds}

    @cached_property
    def _ridge(self) -> Any:
        """FLOPs per byte from which computing takes longer than moving."""
        return self.device.ridge(self.precision.compute)

    def _totals(self, ops: Iterable[Op]) -> list[Any]:
        """FLOPs, bytes, seconds of computing and moving as they overlap, seconds of calls."""
        sums: list[Any] = [0.0] * 4
        for point in limits(Ledger(tuple(ops)), self.device, self.precision):
            each = (point.flops, point.bytes, point.busy, point.overhead)
            sums = [a if is_zero(b) else a + b for a, b in zip(sums, each, strict=True)]
        return sums

    def _held(self, batch: Any, context: Any) -> Any:
        """What `costlib.model.kvcache.memory` says, which is the same for every sequence."""
        is_decode, (weights, activations) = self.phase == "decode", self._fixed
        tokens = context + 1 if is_decode else context
        kept = sum(layers * cache.elements(tokens) for cache, layers in self.model.caches())
        each = kept * self.precision.kv + (activations if is_decode else activations * context)
        return weights + batch * each

    @cached_property
    def _fixed(self) -> tuple[Any, Any]:
        """Bytes of weights, and of one token's activations."""
        one = memory(self.model, 1, 0, self.precision)
        return one.weights, one.activations

    def frame(self, batch: Any, context: Any) -> Any:
        """The rows as a DataFrame, with what follows from them."""
        import pandas as pd

        found = self.columns(batch, context)
        flat = {name: values.ravel() for name, values in found.items()}
        shape = found["flops"].shape
        sequences = np.broadcast_to(batch, shape).ravel()
        tokens = np.broadcast_to(context, shape).ravel()
        made = sequences if self.phase == "decode" else sequences * tokens
        rate = made / flat["seconds"]
        table = {
            "model": _constant(self.name, len(made)),
            "device": _constant(self.device.name, len(made)),
            "precision": _constant(self.recipe, len(made)),
            "computes_in": _constant(self.precision.compute or self.device.sixteen_bits, len(made)),
            "batch": sequences.astype(np.int64),
            "context": tokens.astype(np.int64),
            "flops": flat["flops"],
            "bytes": flat["bytes"],
            "seconds": flat["seconds"],
            "tokens_per_s": rate,
            "per_user": rate / sequences,
            "bound": pd.Categorical.from_codes(flat["bound"], BOUND),
            "memory": flat["memory"],
            "fits": self._fits(flat["memory"]),
        }
        if self.price_per_hour is not None:
            table["price_per_million"] = self.price_per_hour / 3600 / rate * 1e6
        return pd.DataFrame(table, copy=False)

    def _fits(self, held: Any) -> Any:
        if self.device.capacity is None:
            return np.ones(len(held), dtype=bool)
        return held <= self.device.usable


def _piece(case: _Case, rows: tuple[Any, Any], all_rows: bool, keep: Any) -> Any:
    """One task: some rows of one case, those that fit, reduced as asked."""
    table = case.frame(*rows)
    if not all_rows and not table["fits"].all():
        table = table[table["fits"]].reset_index(drop=True)
    return table if keep is None else keep(table)


def _row_sets(batch: Any, context: Any, paired: bool) -> Iterator[tuple[Any, Any]]:
    """Batches and contexts in pieces of at most `TASK` rows, shaped so that they broadcast."""
    batches, contexts = _axis("batch", batch), _axis("context", context)
    if paired:
        if len(batches) != len(contexts):
            raise ValueError(
                f"paired=True takes batch and context row by row: {len(batches)} batches and "
                f"{len(contexts)} contexts are not as many"
            )
        for start in range(0, len(batches), TASK):
            yield batches[start : start + TASK], contexts[start : start + TASK]
        return
    width = min(len(contexts), TASK)
    height = max(1, TASK // width)
    for top in range(0, len(batches), height):
        for left in range(0, len(contexts), width):
            yield batches[top : top + height, None], contexts[None, left : left + width]


def _axis(name: str, values: Any) -> Any:
    """The values of one axis: a number is one value, whatever can be iterated is several."""
    if isinstance(values, (str, bytes)) or not (
        isinstance(values, Iterable) or np.isscalar(values)
    ):
        raise TypeError(f"{name} must be a number, a range or an array, got {values!r:.200}")
    entries = np.atleast_1d(np.asarray([values] if np.isscalar(values) else values))
    return np.asarray(size(name, entries), dtype=float)


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, (list, tuple)) else [given]


def _named(models: Sequence[Transformer | str]) -> Iterator[tuple[str, Transformer | str]]:
    """Each model with what the table calls it: its name, or its place among those without one."""
    for place, model in enumerate(models, start=1):
        yield (model if isinstance(model, str) else f"model {place}"), model


def _meant(
    model: Transformer | str, device: Device | str, precision: Precision | str | None
) -> Precision:
    """The precision named, or what the model is shipped in, computed as the device can."""
    if precision is not None:
        return precision_of(precision)
    return as_computed(model_of(model).precision, device_of(device))


def _recipe(precision: Precision | str | None) -> str:
    return precision if isinstance(precision, str) else "as shipped" if precision is None else "own"


def _blocks(shape: tuple[int, ...]) -> Iterator[Any]:
    """Places that together cover an array of this shape, each of about `BLOCK` numbers."""
    if len(shape) < 2:
        length = shape[0] if shape else 1
        for start in range(0, length, BLOCK):
            yield (slice(start, start + BLOCK),) if shape else ()
        return
    rows = max(1, BLOCK // max(1, int(np.prod(shape[1:]))))
    for start in range(0, shape[0], rows):
        yield (slice(start, start + rows),)


def _part(values: Any, place: Any, shape: tuple[int, ...]) -> Any:
    """What of an array that broadcasts to a shape belongs to this place."""
    is_whole = values.ndim < len(shape) or not place or values.shape[0] == 1
    return values if is_whole else values[place]


def _constant(value: str, rows: int) -> Any:
    import pandas as pd

    return pd.Categorical.from_codes(np.zeros(rows, dtype=np.int8), [value])


def _run(pieces: Sequence[Callable[[], Any]], client: Any) -> Iterator[Any]:
    """Each piece's table, in order: one after another here, or on a cluster."""
    if client is None:
        for piece in pieces:
            yield piece()
        return
    for future in client.map(_called, pieces, pure=False):
        yield future.result()


def _called(piece: Callable[[], Any]) -> Any:
    return piece()


def _bar(tables: Iterator[Any], count: int, progress: bool) -> Iterator[Any]:
    """The tables as they come, with a bar on the terminal."""
    for done, table in enumerate(tables, start=1):
        if progress:
            bar(done, count, "pieces")
        yield table


def _say_that_nothing_fits(cases: Sequence[_Case], batch: Any, context: Any) -> None:
    least = (np.min(_axis("batch", batch)), np.min(_axis("context", context)))
    needs = [float(case.columns(*map(np.atleast_1d, least))["memory"][0]) for case in cases]
    case, held = min(zip(cases, needs, strict=True), key=lambda pair: pair[1])
    warn(
        f"nothing fits: the smallest configuration holds {held / 1e9:.1f} GB, and "
        f"{case.device.name} gives out {case.device.usable / 1e9:.1f} GB (all_rows=True shows it)",
        DoesNotFit,
        stacklevel=3,
    )
