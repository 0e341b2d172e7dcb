"""A table of answers: every batch, context, precision, device and model that you name, in one call.

`sweep` gives a DataFrame with a row for each configuration; `columns` the same as NumPy arrays. The
formulas are those of a single call. What makes a million rows quick is only the order of the work:
steps that treat all tokens alike are worked out once for each number of tokens, what mixes tokens
in blocks that stay in a processor's cache.

Left out: whatever `costlib.time` leaves out of a single configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from costlib.layers.parts import Pass
from costlib.model.catalog import device_of, model_of
from costlib.model.kvcache import memory
from costlib.timing.limits import DoesNotFit, Limit, as_computed, limits
from costlib.units.device import Device
from costlib.units.display import bar
from costlib.units.ledger import Ledger, Op
from costlib.units.numbers import ceil_div, choose, extra, flag, is_zero, size
from costlib.units.precision import Precision, precision_of
from costlib.units.unfolded import Unfolded

if TYPE_CHECKING:
    from costlib.model.transformer import Transformer

__all__ = ["CONTEXT", "PHASES", "columns", "sweep", "usual_context"]

PHASES = ("decode", "prefill")

#: Rows that are computed at a time: a few arrays of this length stay in a core's own cache.
BLOCK = 16_384

#: Rows that one task of a cluster takes, and that lie in memory at a time.
TASK = 2**20

#: Rows of a table at most, which take 0.7 GB, and twice that while its pieces are put together.
MOST_ROWS = 10_000_000

#: The largest batch and context for which totals are worked out from 1 on, and looked up.
LOOKED_UP = 2**18

#: Tokens of a sequence where nobody says.
CONTEXT = 4096

#: Columns of a table that stand between what a row is of and what binds it.
_FIRST = ["batch", "context", "flops", "bytes", "seconds", "tokens_per_s", "tokens_per_s_per_user"]

#: What binds a row, by its number in `columns`.
BOUND = ("compute", "memory", "overhead")


def sweep(
    model: Transformer | str | Sequence[Transformer | str],
    device: Device | str | Sequence[Device | str],
    *,
    batch: Any = 1,
    context: Any = None,
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

    Without a ``context`` there are `CONTEXT` tokens, or as many as the shortest of the models was
    trained for.

    A sweep too large for memory is worked through in pieces of one model, device and precision, a
    million rows at most: ``keep`` is applied to each, and what it returns is put together. Without
    it `MOST_ROWS` are taken. ``client`` is a Dask cluster's, which then does the pieces;
    ``progress`` shows a bar.

    >>> table = sweep("llama-3-8b", "A100-80GB", batch=[1, 8, 64], context=8192)
    >>> table[["batch", "tokens_per_s_per_user", "bound"]].round(1).values.tolist()
    [[1, 126.7, 'memory'], [8, 86.0, 'memory']]
    >>> sweep("llama-3-8b", ["T4", "L4"], batch=1, context=8192, all_rows=True).fits.tolist()
    [False, True]
    """
    with extra("tables"):
        import pandas as pd

    choose("phase", phase, PHASES)
    models, places, recipes = map(_several, (model, device, precision))
    _check_rows(batch, context, paired, len(models) * len(places) * len(recipes), keep)
    context = _contexts(model, context)
    for name, value in (("paired", paired), ("all_rows", all_rows), ("progress", progress)):
        flag(name, value)
    cases = [
        _Case(model_of(m), device_of(d), _meant(m, d, p), phase, name, _recipe(p), price_per_hour)
        for (name, m), d, p in product(_named(models), places, recipes)
    ]
    pieces = [
        partial(_piece, case, rows, all_rows, keep)
        for case in cases
        for rows in _row_sets(batch, context, paired)
    ]
    found = [*_bar(run_pieces(pieces, client), len(pieces), progress)]
    filled = [table for table in found if len(table)]
    if not filled:
        _say_that_nothing_fits(cases, batch, context)
    tables = filled or found[:1]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _check_rows(batch: Any, context: Any, paired: bool, cases: int, keep: Any) -> None:
    """Refuse a table that would fill the memory, before anything of it is there."""
    axes = {"batch": length_of(batch), "context": length_of(context)}
    for name, length in axes.items():
        within(f"values of {name}", length, "use a step, as in range(1, 4097, 8)")
    if keep is None:
        more = "give keep=, a function that reduces each million rows, or use larger steps"
        rows = max(axes.values()) if paired else prod(axes.values())
        within("rows of a sweep", rows * cases, more)


def within(what: str, count: int, more: str) -> None:
    """Refuse more than a machine has memory for; ``more`` says how to go on.

    >>> within("rows of a sweep", 10**9, "use larger steps")
    Traceback (most recent call last):
        ...
    ValueError: at most 10,000,000 rows of a sweep are taken at once, got 1,000,000,000: \
use larger steps
    """
    if count > MOST_ROWS:
        text = f"at most {MOST_ROWS:,} {what} are taken at once, got {count:,}"
        raise ValueError(f"{text}: {more}")


def length_of(values: Any) -> int:
    """How many values an argument has, without making them.

    >>> length_of(8), length_of([8, 9]), length_of(range(10**30))
    (1, 2, 1000000000000000000000000000000)
    """
    if isinstance(values, range):  # len() knows no numbers as long
        return max(0, int(ceil_div(values.stop - values.start, values.step)))
    if hasattr(values, "size"):
        return int(values.size)
    return len(values) if isinstance(values, Sized) and not isinstance(values, str) else 1


def _contexts(models: Any, context: Any) -> Any:
    """The contexts that are asked for, or the usual one; a model that knows less is named."""
    if context is None:
        return usual_context(*_several(models))
    longest = _axis("context", context).max(initial=0)
    for name, model in _named(_several(models)):
        model_of(model).check_trained(longest, name)
    return context


def usual_context(*models: Transformer | str) -> int:
    """Tokens of a sequence by default: `CONTEXT`, or as many as all models were trained for.

    >>> usual_context("llama-3.1-8b"), usual_context("llama-3.1-8b", "gpt2")
    (4096, 1024)
    """
    known = (model_of(model).context_length for model in models)
    return min([CONTEXT, *(length for length in known if length is not None)])


def seconds(work: Unfolded, device: Device, precision: Precision) -> tuple[Any, float] | None:
    """Seconds of a decode step for long columns, and the most bytes that a row holds.

    None where there is no shorter way than through the step's ops.
    """
    holds = work.held
    model, batch, context = holds.model, np.asarray(holds.batch), np.asarray(holds.context - 1)
    rates = device.compute_rate(precision.compute), device.memory_rate
    sends = any(op.axis for op in model.decode(1, 1))
    if sends or not all(isinstance(rate, (int, float)) for rate in rates):
        return None
    case = _Case(model, device, precision, "decode")
    tables = case.tables(batch, context)
    if tables is None:
        return None
    shape = np.broadcast_shapes(batch.shape, context.shape)
    found, most = np.empty(shape), 0.0
    for place in _blocks(shape):
        sequences, tokens = (_part(each, place, shape) for each in (batch, context))
        each = tables.by_batch[2].at(sequences) + sequences * tables.by_context[2].at(tokens)
        found[place] = each if is_zero(tables.overhead) else each + tables.overhead
        most = max(most, (sequences * tables.kept.at(tokens)).max())
    return found, model.weight_bytes(precision) + most * precision.kv


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
    and a row make a grid, of at most `MOST_ROWS` rows.

    >>> found = columns("llama-3-8b", "A100-80GB", np.array([1, 8]), np.array([100, 4096]))
    >>> found["flops"].tolist()
    [15066899456.0, 137459310592.0]
    """
    choose("phase", phase, PHASES)
    case = _Case(model_of(model), device_of(device), _meant(model, device, precision), phase)
    for axis in (batch, context):
        within("values of an axis", length_of(axis), "ask for a part of them")
    batch, context = size("batch", np.asarray(batch)), size("context", np.asarray(context))
    batch, context = (np.atleast_1d(np.asarray(each, dtype=float)) for each in (batch, context))
    rows = prod(np.broadcast_shapes(batch.shape, context.shape))
    within("rows of a table", rows, "ask for a part of them, or costlib.sweep with keep=")
    return case.columns(batch, context)


class _Table:
    """A value for every number from 1 on, looked up; or the straight line that the values are."""

    def __init__(self, values: Any, numbers: Any) -> None:
        values = np.broadcast_to(values, numbers.shape)
        self.slope = (values[-1] - values[0]) / max(1, len(values) - 1)
        self.start = values[0] - self.slope
        is_line = all(
            (np.abs(self._line(numbers[place]) - values[place]) <= 1e-14 * values[place]).all()
            for place in _blocks(values.shape)
        )
        self.values = None if is_line else np.concatenate([[0.0], values])

    def _line(self, numbers: Any) -> Any:
        return self.start + self.slope * numbers

    def at(self, numbers: Any) -> Any:
        """The values of an array of numbers."""
        if self.values is None:
            return self._line(numbers)
        return self.values.take(numbers.astype(np.intp), mode="clip")


@dataclass(frozen=True, slots=True)
class _Tables:
    """FLOPs, bytes, seconds and seconds of calls, by batch, and what each sequence adds, by
    context; and the elements that it keeps."""

    by_batch: list[_Table]
    by_context: list[_Table]
    kept: _Table
    overhead: Any


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
        """Every number of every row."""
        return self._filled(batch, context, self._block)

    def _filled(self, batch: Any, context: Any, block: Callable[..., Any]) -> dict[str, Any]:
        """What ``block`` says of every row, worked out block by block."""
        self.model.check_context(context)
        shape = np.broadcast_shapes(batch.shape, context.shape)
        tables, found = self.tables(batch, context), dict[str, Any]()
        for place in _blocks(shape):
            rows, columns = (_part(each, place, shape) for each in (batch, context))
            values = block(rows, columns, tables)
            found = found or _space(values, shape)
            for name, each in values.items():
                found[name][place] = each
        return found

    def _block(self, batch: Any, context: Any, tables: _Tables | None) -> dict[str, Any]:
        if tables is None:
            is_decode = self.phase == "decode"
            run = Pass(batch, 1, context + 1) if is_decode else Pass(batch, context, context)
            ops = [*chain(*self.model.alike(run)), *self.model.mixing(run)]
            flops, moved, busy, overhead = _summed(self._limits(ops))
        else:
            flops, moved, busy = (
                fixed.at(batch) + batch * each.at(context)
                for fixed, each in zip(tables.by_batch, tables.by_context, strict=True)
            )
            overhead = tables.overhead
        overhead = overhead + self.device.overhead_per_step
        kept = self._kept(context) if tables is None else tables.kept.at(context)
        held, binds = self._held(batch, context, kept), moved * self._ridge > flops
        if not is_zero(overhead):
            binds, busy = np.where(overhead > busy, 2, binds), busy + overhead
        binds = np.asarray(binds, dtype=np.int8)
        found = {"flops": flops, "bytes": moved, "seconds": busy}
        return found | {"memory_bytes": held, "bound": binds}

    def _row(self, batch: Any, context: Any, tables: _Tables | None) -> dict[str, Any]:
        """What `columns` has of a row, and what follows from it."""
        found = self._block(batch, context, tables)
        shape = found["flops"].shape
        made = batch if self.phase == "decode" else batch * context
        rate = made / found["seconds"]
        found["batch"] = np.broadcast_to(batch, shape).astype(np.int64)
        found["context"] = np.broadcast_to(context, shape).astype(np.int64)
        found["tokens_per_s"], found["tokens_per_s_per_user"] = rate, rate / batch
        found["fits"] = self._fits(found["memory_bytes"])
        if self.price_per_hour is not None:
            found["price_per_million_tokens"] = self.price_per_hour / 3600 / rate * 1e6
        return found

    def tables(self, batch: Any, context: Any) -> _Tables | None:
        """Totals by batch and by context, where they are whole numbers of a moderate size.

        An op of a decode step either treats all sequences alike, and depends on the batch alone,
        or is done for each sequence by itself, and is proportional to the batch. None where an op
        is neither, where a context is empty, or where tables would be longer than the columns.
        """
        most = batch.max(initial=1), context.max(initial=1)
        longest = min(LOOKED_UP, max(batch.size, context.size) + 1000)
        if self.phase != "decode" or not max(most) <= longest or context.min(initial=1) < 1:
            return None
        batches, contexts = (np.arange(1.0, each + 1) for each in most)
        by_batch = [*self._limits(chain(*self.model.alike(Pass(batches, 1, 2))))]
        some, alone = contexts[:: max(1, len(contexts) // 500)], set()
        ops = zip(
            *(self._mixing(each, some) for each in (1.0, 7.0)),
            self._mixing(batches, contexts[-1]),
            strict=True,
        )
        for number, (one, seven, at_batches) in enumerate(ops):
            if _is_multiple(seven, one, 7):
                alone.add(number)
                by_batch.append(Limit(one.name, 0, 0, 0, 0, overhead=one.overhead))
            elif _is_constant(one):
                by_batch.append(at_batches)
            else:
                return None
        fixed, each = _summed(by_batch), [np.empty(len(contexts)) for _ in range(3)]
        for place in _blocks(contexts.shape):
            points = self._mixing(1.0, contexts[place])
            for column, values in zip(each, _summed(points[n] for n in alone), strict=False):
                column[place] = values
        return _Tables(
            [_Table(column, batches) for column in fixed[:3]],
            [_Table(column, contexts) for column in each],
            _Table(self._kept(contexts), contexts),
            fixed[3],
        )

    def _mixing(self, batch: Any, context: Any) -> list[Limit]:
        return [*self._limits(self.model.mixing(Pass(batch, 1, context + 1)))]

    def _limits(self, ops: Iterable[Op]) -> tuple[Limit, ...]:
        return limits(Ledger(tuple(ops)), self.device, self.precision)

    @cached_property
    def _ridge(self) -> Any:
        """FLOPs per byte from which computing takes longer than moving."""
        return self.device.ridge(self.precision.compute)

    def _held(self, batch: Any, context: Any, kept: Any) -> Any:
        """What `costlib.model.kvcache.memory` says, which is the same for every sequence."""
        weights, activations = self._fixed
        if self.phase != "decode":
            activations = activations * context
        return weights + batch * (kept * self.precision.kv + activations)

    def _kept(self, context: Any) -> Any:
        """Elements of one sequence's cache."""
        tokens = context + 1 if self.phase == "decode" else context
        return sum(layers * cache.elements(tokens) for cache, layers in self.model.caches())

    @cached_property
    def _fixed(self) -> tuple[Any, Any]:
        """Bytes of weights, and of one token's activations."""
        one = memory(self.model, 1, 0, self.precision)
        return one.weights, one.activations

    def frame(self, batch: Any, context: Any) -> Any:
        """The rows as a DataFrame, with what follows from them."""
        import pandas as pd

        found = self._filled(batch, context, self._row)
        flat = {name: values.ravel() for name, values in found.items()}
        rows = flat["batch"].size
        table = {
            "model": _constant(self.name, rows),
            "device": _constant(self.device.name, rows),
            "precision": _constant(self.recipe, rows),
            "computes_in": _constant(self.precision.compute or self.device.sixteen_bits, rows),
            **{name: flat[name] for name in _FIRST},
            "bound": pd.Categorical.from_codes(flat["bound"], BOUND),
            **{name: flat[name] for name in ("memory_bytes", "fits")},
        }
        if self.price_per_hour is not None:
            table["price_per_million_tokens"] = flat["price_per_million_tokens"]
        return pd.DataFrame(table, copy=False)

    def _fits(self, held: Any) -> Any:
        if self.device.capacity is None:
            return np.ones(held.shape, dtype=bool)
        return held <= self.device.usable


def _space(values: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Whole columns to be filled. Those of one kind lie together: so they fill large pages of
    memory, and asking the system for small ones is what takes longest in a table."""
    found: dict[str, Any] = {}
    for kind in {each.dtype for each in values.values()}:
        names = [name for name, each in values.items() if each.dtype == kind]
        found |= dict(zip(names, np.empty((len(names), *shape), kind), strict=True))
    return found


def _summed(points: Iterable[Limit]) -> list[Any]:
    """FLOPs, bytes, seconds of computing and moving as they overlap, seconds of calls."""
    sums: list[Any] = [0.0] * 4
    for point in points:
        each = (point.flops, point.bytes, point.busy, point.overhead)
        sums = [a if is_zero(b) else a + b for a, b in zip(sums, each, strict=True)]
    return sums


def _is_multiple(point: Limit, one: Limit, times: float) -> bool:
    """Whether one op takes ``times`` times as much as another, at every context."""
    pairs: Any = ((point.flops, one.flops), (point.bytes, one.bytes), (point.busy, one.busy))
    return all(np.allclose(a, np.multiply(b, times), rtol=1e-13, atol=0) for a, b in pairs)


def _is_constant(point: Limit) -> bool:
    """Whether an op does not depend on the context."""
    values: Any = (point.flops, point.bytes, point.busy)
    return all(np.ptp(np.atleast_1d(each)) == 0 for each in values)


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
    found = given if isinstance(given, (list, tuple)) else [given]
    if not found:
        raise ValueError("a sweep needs at least one model, one device and one precision, got none")
    return found


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


def run_pieces(pieces: Sequence[Callable[[], Any]], client: Any) -> Iterator[Any]:
    """What each piece makes, in order: one after another here, or on a cluster."""
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
    needs = [float(case.columns(*map(np.atleast_1d, least))["memory_bytes"][0]) for case in cases]
    case, held = min(zip(cases, needs, strict=True), key=lambda pair: pair[1])
    warn(
        f"nothing fits: the smallest configuration holds {held / 1e9:.1f} GB, and "
        f"{case.device.name} has {case.device.usable / 1e9:.1f} GB of usable memory "
        "(all_rows=True shows it)",
        DoesNotFit,
        stacklevel=3,
    )
