"""What every counted algorithm shares: its inputs in slow memory, and the result of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from costlib.iomodel.counting.block_sizes import best_blocks
from costlib.iomodel.memory import Event, HeldBlock, TwoLevelMemory, spans

__all__ = ["Run", "Workplace", "block_size", "reference_attention"]

Array = np.ndarray[Any, Any]
ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What an algorithm computed and what it moved, in entries."""

    output: Any  #: the result, a matrix; a tuple of matrices where there are several
    reads: int
    writes: int
    peak: int
    capacity: int | None
    blocks: Mapping[str, Any] = field(default_factory=dict)  #: the block sizes it ran with
    extras: Mapping[str, Array] = field(
        default_factory=dict
    )  #: other arrays it left in slow memory
    trace: tuple[Event, ...] = ()

    @property
    def total(self) -> int:
        """Reads and writes together."""
        return self.reads + self.writes

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.blocks.items())
        return f"Run({sizes}: {self.reads} reads, {self.writes} writes, peak {self.peak})"


class Workplace:
    """One run on a counted memory: inputs placed, counters read before and after.

    Its arrays are called by their names, and its loops name the steps of the trace.

    >>> work = Workplace(100, A=np.ones((2, 3)), B=np.ones((3, 2)))
    >>> work.arrays["A"], work.memory.capacity
    (SlowArray(A, 2×3), 100)
    """

    def __init__(
        self,
        memory: int | TwoLevelMemory | None,
        *,
        causal: bool = False,
        scale: float = 1.0,
        **inputs: Any,
    ) -> None:
        self.memory = memory if isinstance(memory, TwoLevelMemory) else TwoLevelMemory(memory)
        if self.memory.resident:
            raise ValueError(f"the memory must be empty when a run starts, got {self.memory!r}")
        self.causal, self.scale = causal, scale
        arrays = {name: _matrix(name, values) for name, values in inputs.items()}
        self.memory.dtype = np.result_type(*arrays.values())
        self.arrays = {
            name: self.memory.place(name, values.astype(self.memory.dtype, copy=False))
            for name, values in arrays.items()
        }
        self.length, self.width = next(iter(self.arrays.values())).shape
        self._reads, self._writes = self.memory.reads, self.memory.writes
        self._peak_before, self._events = self.memory.peak, len(self.memory.trace)
        self.memory.peak = 0

    def reserve(self, **shapes: tuple[int, int]) -> None:
        """Room in slow memory for results."""
        for name, shape in shapes.items():
            self.arrays[name] = self.memory.reserve(name, *shape)

    def load(self, name: str, rows: slice = ALL, cols: slice = ALL) -> HeldBlock:
        """A rectangle of an array."""
        return self.memory.load(self.arrays[name], rows, cols)

    @contextmanager
    def loaded(self, rows: slice, *names: str) -> Iterator[list[HeldBlock]]:
        """The same rows of several arrays, for the length of a ``with``."""
        with ExitStack() as stack:
            yield [stack.enter_context(self.load(name, rows)) for name in names]

    def store(self, block: HeldBlock, name: str, rows: slice = ALL, cols: slice = ALL) -> None:
        """Write a block to a rectangle of an array."""
        self.memory.store(block, self.arrays[name], rows, cols)

    def initialise(self, block_rows: int, **values: float) -> None:
        """Fill whole arrays with a value each."""
        for rows in spans(self.length, block_rows):
            self.memory.step("initialise", rows.start)
            for name, value in values.items():
                shape = rows.stop - rows.start, self.arrays[name].shape[1]
                with self.memory.allocate(name, *shape, fill=value) as block:
                    self.store(block, name, rows)

    def blocks(self, name: str, step: int) -> Iterator[tuple[int, slice]]:
        """All rows, so many at a time, with their number."""
        for i, rows in enumerate(spans(self.length, step)):
            self.memory.step(name, i)
            yield i, rows

    def seen(self, i: int, rows: slice, step: int, name: str = "tile") -> Iterator[slice]:
        """The keys that block i of the queries sees, so many at a time."""
        needed = live_columns(rows, step, self.length, self.causal)
        for j, cols in enumerate(spans(needed, step)):
            self.memory.step(name, i, j)
            yield cols

    def seeing(self, j: int, cols: slice, step: int) -> Iterator[slice]:
        """The queries that see a key of block j, so many at a time."""
        for i, rows in enumerate(spans(self.length, step)):
            if not self.causal or rows.stop > cols.start:
                self.memory.step("tile", i, j)
                yield rows

    def finish(self, *outputs: str, blocks: Mapping[str, Any], extras: tuple[str, ...] = ()) -> Run:
        """Read the results out, after the run, at no cost."""
        left = {name: self.memory.contents(self.arrays[name]) for name in (*outputs, *extras)}
        peak = self.memory.peak
        self.memory.peak = max(peak, self._peak_before)
        return Run(
            output=left[outputs[0]] if len(outputs) == 1 else tuple(left[x] for x in outputs),
            reads=self.memory.reads - self._reads,
            writes=self.memory.writes - self._writes,
            peak=peak,
            capacity=self.memory.capacity,
            blocks=dict(blocks),
            extras={name: left[name] for name in extras},
            trace=tuple(self.memory.trace[self._events :]),
        )


def live_columns(rows: slice, block_cols: int, length: int, causal: bool) -> int:
    """How many columns the tiles cover that these rows need; tiles above the diagonal are skipped.

    >>> live_columns(slice(4, 8), 5, 12, causal=True)
    10
    >>> live_columns(slice(4, 8), 5, 12, causal=False)
    12
    """
    return min(length, -(-rows.stop // block_cols) * block_cols) if causal else length


def reference_attention(
    Q: Any, K: Any, V: Any, *, causal: bool = False, scale: float = 1.0
) -> Array:
    """softmax(scale · Q Kᵀ) V in float64 in one piece, uncounted: what every run must give.

    >>> reference_attention([[1.0]], [[2.0]], [[3.0]])
    array([[3.]])
    """
    weights, values = reference_weights(Q, K, causal, scale), np.asarray(V, dtype=np.float64)
    output: Array = weights @ values
    return output


def reference_weights(Q: Any, K: Any, causal: bool, scale: float) -> Array:
    """softmax(scale · Q Kᵀ) in one piece."""
    queries, keys = (np.asarray(array, dtype=np.float64) for array in (Q, K))
    scores = scale * (queries @ keys.T)
    if causal:
        scores[np.triu_indices(len(queries), 1)] = -np.inf
    weights: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def attention_inputs(
    memory: int | TwoLevelMemory | None, Q: Any, K: Any, V: Any, causal: bool, scale: float
) -> Workplace:
    """The workplace of an attention run: Q, K and V of one shape, N×d."""
    shapes = [np.shape(array) for array in (Q, K, V)]
    if len(set(shapes)) != 1 or len(shapes[0]) != 2:
        raise ValueError(f"Q, K and V must be three N×d matrices of one shape, got {shapes}")
    return Workplace(memory, causal=causal, scale=scale, Q=Q, K=K, V=V)


def block_size(name: str, value: Any, most: int) -> int:
    """A block size as an int between 1 and ``most``; a larger one is cut to ``most``.

    >>> block_size("block_rows", 16, most=10)
    10
    """
    if isinstance(value, (bool, np.bool_)) or int(value) != value or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return min(int(value), most)


def resolved_blocks(
    algorithm: str, work: Workplace, given: Mapping[str, int | None], **options: Any
) -> dict[str, int]:
    """The block sizes of a run: those given, cut to the matrices, or the best that fit."""
    N, d = work.length, work.width
    missing = [name for name, value in given.items() if value is None]
    if not missing:
        most = {
            "value_cols": d,
            "grad_cols": d,
            "inner": N if algorithm in ("naive", "small_cache") else d,
        }
        if algorithm == "naive":  # its tile cuts the width of V too
            most["tile"] = max(N, d)
        return {name: block_size(name, value, most.get(name, N)) for name, value in given.items()}
    if len(missing) < len(given):
        raise ValueError(f"give all of {', '.join(given)} or none: {', '.join(missing)} missing")
    M = math.inf if work.memory.capacity is None else work.memory.capacity
    return dict(best_blocks(algorithm, N, d, M, causal=work.causal, **options).blocks)


@contextmanager
def temporaries(memory: TwoLevelMemory, **shapes: tuple[int, int]) -> Iterator[list[HeldBlock]]:
    """Several blocks for the length of a ``with``."""
    blocks = [memory.allocate(name, *shape) for name, shape in shapes.items()]
    try:
        yield blocks
    finally:
        for block in blocks:
            block.__exit__()


@contextmanager
def row_state(memory: TwoLevelMemory, **shapes: tuple[int, int]) -> Iterator[list[HeldBlock]]:
    """What is carried from tile to tile, before the first: maxima m at −∞, all else at zero."""
    with temporaries(memory, **shapes) as blocks:
        for block in blocks:
            block.fill(-np.inf if block.name == "m" else 0.0)
        yield blocks


def _matrix(name: str, values: Any) -> Array:
    array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with entries, got shape {array.shape}")
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must hold real numbers, got {array.dtype}")
    return array
